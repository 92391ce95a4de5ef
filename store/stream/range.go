package stream

import "kvserver/store/listpack"

// Range walks the entries of a range of IDs, in their order or backwards:
//
//	r := s.Range(from, to, false)
//	for r.Next() {
//		for range r.Fields() {
//			field, value := r.Pair()
//		}
//	}
//
// It is good until the stream changes.
type Range struct {
	s        *Stream
	from, to ID
	reverse  bool
	begun    bool
	ended    bool
	block    ID // which the cursor is in
	cursor   cursor

	// The pair to come: where its field is in the master entry, if it is there, and where the rest is.
	fieldAt, at        int
	fieldText, valText [listpack.IntegerLenMax]byte
}

// Range returns a walk over the entries with IDs from from to to, both included.
func (s *Stream) Range(from, to ID, reverse bool) Range {
	return Range{s: s, from: from, to: to, reverse: reverse}
}

// ID returns the ID of the entry.
func (r *Range) ID() ID { return r.cursor.id }

// Fields returns the number of fields of the entry.
func (r *Range) Fields() int { return r.cursor.n }

// Next goes to the next entry and reports whether there is one.
func (r *Range) Next() bool {
	if r.ended {
		return false
	}
	if !r.begun {
		r.begun = true
		if r.ended = r.to.Less(r.from) || !r.seek(); r.ended {
			return false
		}
	}
	for {
		for r.step() {
			id := r.cursor.id
			switch {
			case r.reverse && id.Less(r.from), !r.reverse && r.to.Less(id):
				r.ended = true
				return false
			case r.cursor.deleted(), r.reverse && r.to.Less(id), id.Less(r.from):
				continue
			}
			r.fieldAt, r.at = r.cursor.fieldsAt, r.cursor.valuesAt
			return true
		}
		if !r.nextBlock() {
			r.ended = true
			return false
		}
	}
}

func (r *Range) step() bool {
	if r.reverse {
		return r.cursor.prev()
	}
	return r.cursor.next()
}

// seek goes to the block where the walk begins.
func (r *Range) seek() bool {
	id := r.from
	if r.reverse {
		id = r.to
	}
	at, isOpen, ok := r.s.blockAt(id)
	switch {
	case isOpen:
		return r.enterOpen()
	case ok:
		return r.enter(at)
	case r.reverse:
		return false
	}
	r.block = ID{}
	if r.s.blocks != nil {
		if at, ok := r.s.blocks.Min(); ok {
			return r.enter(at)
		}
	}
	return r.enterOpen()
}

// nextBlock goes to the block after the one that the walk is in.
func (r *Range) nextBlock() bool {
	s := r.s
	beyond := r.block
	if s.blocks != nil {
		var at sealed
		ok := false
		take := func(found sealed) bool {
			at, ok = found, found.first != beyond
			return !ok
		}
		if r.reverse {
			s.blocks.Descend(sealed{first: beyond}, take)
		} else {
			s.blocks.Ascend(sealed{first: beyond}, take)
		}
		if ok {
			return r.enter(at)
		}
	}
	return !r.reverse && beyond != s.openFirst && r.enterOpen()
}

func (r *Range) enter(at sealed) bool {
	r.enterBlock(at.first, r.s.block(at))
	return true
}

func (r *Range) enterOpen() bool {
	if len(r.s.open) == 0 {
		return false
	}
	r.enterBlock(r.s.openFirst, r.s.open)
	return true
}

func (r *Range) enterBlock(first ID, b []byte) {
	r.block = first
	if r.reverse {
		r.cursor.setEnd(first, b)
	} else {
		r.s.begin(&r.cursor, first, b)
	}
}

// Pair returns the next field of the entry and its value, which are good until the next call. There are as many as Fields
// says.
func (r *Range) Pair() (field, value []byte) {
	b := r.cursor.b
	if r.cursor.flags&flagSameFields != 0 {
		field = listpack.Text(b, r.fieldAt, &r.fieldText)
		r.fieldAt = listpack.After(b, r.fieldAt)
	} else {
		field = listpack.Text(b, r.at, &r.fieldText)
		r.at = listpack.After(b, r.at)
	}
	value = listpack.Text(b, r.at, &r.valText)
	r.at = listpack.After(b, r.at)
	return field, value
}
