package stream

import (
	"errors"

	"kvserver/store/listpack"
)

// ErrCorrupt is what the functions that read a dump return for one that no stream has.
var ErrCorrupt = errors.New("stream: corrupt")

// EachBlock calls fn with every block, in order: the ID of its first entry and the listpack. LoadBlock takes them.
func (s *Stream) EachBlock(fn func(first ID, b []byte)) {
	if s.blocks != nil {
		s.blocks.Scan(func(at sealed) bool {
			fn(at.first, s.block(at))
			return true
		})
	}
	if len(s.open) > 0 {
		fn(s.openFirst, s.open)
	}
}

// Blocks returns the number of blocks.
func (s *Stream) Blocks() int {
	n := 0
	if s.blocks != nil {
		n = s.blocks.Len()
	}
	if len(s.open) > 0 {
		n++
	}
	return n
}

// LoadBlock adds a block of unknown origin at the end of a stream to which nothing else is added meanwhile. It copies it, and
// refuses what is not a block or does not follow those before.
func (s *Stream) LoadBlock(first ID, b []byte) error {
	last, count, dead, err := check(first, b)
	if err != nil || s.Blocks() > 0 && !s.last.Less(first) || first == (ID{}) {
		return ErrCorrupt
	}
	s.last = last
	if count == 0 {
		return nil
	}
	if len(s.open) > 0 {
		s.seal()
	}
	s.setOpen(first, append(s.open[:0], b...))
	s.length += count
	s.added += count + dead
	if s.length == count {
		s.findFirst()
	}
	return nil
}

// Loaded ends the loading of blocks with what else a dump says of the entries; it is refused where it contradicts them.
func (s *Stream) Loaded(length int64, last, maxDeleted ID, added int64) error {
	if length != s.length || last.Less(s.last) || last.Less(maxDeleted) || added < length {
		return ErrCorrupt
	}
	s.last, s.maxDeleted, s.added = last, maxDeleted, added
	return nil
}

// nobody is the number of the consumer of what LoadPending has added.
const nobody = ^uint32(0)

// LoadPending adds what is pending in a group, for nobody yet. LoadOwner and LoadedGroup must follow.
func (g *Group) LoadPending(id ID, deliveredMs, deliveries int64) error {
	if _, ok := g.pending.Load(Pending{id, deliveredMs, deliveries, nobody}); ok {
		return ErrCorrupt
	}
	g.of.groupBytes += pendingBytes
	return nil
}

// LoadOwner gives a consumer what LoadPending has added.
func (g *Group) LoadOwner(c *Consumer, id ID) error {
	p, ok := g.Find(id)
	if !ok || p.consumer != nobody {
		return ErrCorrupt
	}
	p.consumer = c.number
	g.pending.Set(p)
	c.pending.Load(id)
	return nil
}

// LoadedGroup ends the loading of a group: what is pending must be so for somebody.
func (g *Group) LoadedGroup() error {
	owned := 0
	for _, c := range g.consumers {
		owned += c.pending.Len()
	}
	if owned != g.pending.Len() {
		return ErrCorrupt
	}
	return nil
}

// reader reads the elements of a listpack that holds whatever somebody put into it.
type reader struct {
	b      []byte
	off    int
	failed bool
}

// integer returns the next element, which must be an integer.
func (r *reader) integer() int64 {
	if r.done() {
		r.failed = true
		return 0
	}
	_, n, ok := listpack.Get(r.b, r.off)
	r.failed = r.failed || !ok
	r.off = listpack.After(r.b, r.off)
	return n
}

// skip passes n elements.
func (r *reader) skip(n int64) {
	for ; n > 0 && !r.failed; n-- {
		if r.done() {
			r.failed = true
			return
		}
		r.off = listpack.After(r.b, r.off)
	}
}

func (r *reader) done() bool { return r.off == len(r.b)-1 }

// check tells whether b is a block that the functions of this package can work on, and returns the ID of its last entry and
// the numbers of live and deleted ones.
func check(first ID, b []byte) (last ID, count, dead int64, err error) {
	if listpack.Validate(b) != nil {
		return ID{}, 0, 0, ErrCorrupt
	}
	r := reader{b: b, off: liveAt}
	count, dead = r.integer(), r.integer()
	fields := r.integer()
	if r.failed || count < 0 || dead < 0 || fields < 1 {
		return ID{}, 0, 0, ErrCorrupt
	}
	r.skip(fields)
	r.failed = r.integer() != 0 || r.failed
	seen, seenDead := int64(0), int64(0)
	for !r.failed && !r.done() {
		id, flags := r.entry(first, fields)
		if seen+seenDead > 0 && !last.Less(id) || id.Less(first) {
			return ID{}, 0, 0, ErrCorrupt
		}
		last = id
		if flags&flagDeleted != 0 {
			seenDead++
		} else {
			seen++
		}
	}
	if r.failed || seen != count || seenDead != dead || seen+seenDead == 0 {
		return ID{}, 0, 0, ErrCorrupt
	}
	return last, count, dead, nil
}

// entry passes an entry and checks that its number of pieces is right.
func (r *reader) entry(first ID, fields int64) (id ID, flags int64) {
	if flagsAt := r.off; r.b[flagsAt] > flagDeleted|flagSameFields {
		r.failed = true
		return ID{}, 0
	}
	flags = r.integer()
	ms := r.integer()
	id = first.plus(ms, r.integer())
	pieces := fields + entryPieces
	if flags&flagSameFields == 0 {
		fields = r.integer()
		if fields < 1 || fields > int64(len(r.b)) {
			r.failed = true
			return ID{}, 0
		}
		fields *= 2
		pieces = fields + entryPieces + 1
	}
	r.skip(fields)
	r.failed = r.integer() != pieces || r.failed
	return id, flags
}
