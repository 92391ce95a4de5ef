package store

import "kvserver/store/stream"

// A stream is a collection from its first entry on, and the one type that may be empty: its last ID and its groups are worth
// keeping. The structure is package stream's; here are the commands.

// largeStream is the collection.
type largeStream struct {
	*stream.Stream
	counted int64 // of the store's objectBytes
}

func (l *largeStream) footprint() int64 { return l.Footprint() }

func (l *largeStream) release(s *Store) {
	l.Release()
	s.objectBytes.Add(-l.counted)
}

func (l *largeStream) clone(v *View) collection {
	c := &largeStream{Stream: l.Clone()}
	v.recount(c)
	return c
}

// recount brings the store's account of a stream up to date.
func (v *View) recount(l *largeStream) {
	if n := l.HeapBytes(); n != l.counted {
		v.store.objectBytes.Add(n - l.counted)
		l.counted = n
	}
}

// Stream is the stream at a key. What package stream offers for reading may be called on it; to write there are the
// methods of this package. It is valid until the view unlocks, or removes or replaces the key.
type Stream struct {
	*stream.Stream // nil: there is none
	v              *View
	key            []byte
	large          *largeStream
}

// Exists reports whether there is a stream at the key.
func (s Stream) Exists() bool { return s.large != nil }

func (v *View) streamOf(key []byte, e Entry, err error) (Stream, error) {
	if err != nil || !e.Exists() {
		return Stream{v: v, key: key}, err
	}
	large := e.collection().(*largeStream)
	return Stream{large.Stream, v, key, large}, nil
}

// ReadStream finds the stream at a key: one access, and a hit or a miss. The view may write to it all the same if it has
// locked the key for writing.
func (v *View) ReadStream(key []byte) (Stream, error) {
	e, err := v.readAs(key, typeStream)
	return v.streamOf(key, e, err)
}

// WriteStream finds the stream at a key in order to change it: one access.
func (v *View) WriteStream(key []byte) (Stream, error) {
	e, err := v.writeAs(key, typeStream)
	return v.streamOf(key, e, err)
}

// PeekStream finds the stream at a key without any trace.
func (v *View) PeekStream(key []byte) (Stream, error) {
	e, err := v.Peek(key).as(typeStream)
	return v.streamOf(key, e, err)
}

// StreamAdd says how StreamAdd adds an entry.
type StreamAdd struct {
	ID       stream.ID
	AutoID   bool // ID is to be found from the time
	AutoSeq  bool // ID.Seq is to be found
	NoCreate bool // do nothing if there is no stream
	Trimmed  bool
	Trim     stream.Trim // with Trimmed: what follows
}

// id returns the ID of the entry to be added to a stream.
func (o *StreamAdd) id(s *stream.Stream, nowMs int64) (stream.ID, error) {
	last := s.Last()
	id, ok := o.ID, true
	switch {
	case last == stream.Max:
		return id, ErrStreamExhausted
	case o.AutoID:
		id, ok = s.NextID(nowMs)
	case o.AutoSeq && id.Ms == last.Ms:
		id, ok = last.Next()
		ok = ok && id.Ms == last.Ms
	}
	if !ok || !last.Less(id) {
		return id, ErrIDTooSmall
	}
	return id, nil
}

// StreamAdd adds an entry to the stream at a key, made if there is none. pairs are its fields and values in turn, at least
// one of each. ok is false if NoCreate kept it from doing so.
func (v *View) StreamAdd(key []byte, pairs [][]byte, o *StreamAdd) (id stream.ID, ok bool, err error) {
	e, err := v.writeAs(key, typeStream)
	if err != nil || !e.Exists() && o.NoCreate {
		return id, false, err
	}
	var l *largeStream
	if e.Exists() {
		l = e.collection().(*largeStream)
	} else {
		l = v.newStream()
	}
	if id, err = o.id(l.Stream, v.nowMs); err != nil {
		return id, false, err
	}
	if !stream.Fits(pairs) {
		return id, false, ErrEntryTooLarge
	}
	l.Append(id, pairs, v.streamLimits())
	trimmed := int64(0)
	if o.Trimmed {
		trimmed = l.Trim(o.Trim)
	}
	v.recount(l)
	if e.Exists() {
		v.changed(key)
	} else {
		v.saveCollection(key, e, kindStream, l)
	}
	v.event(ClassStream, "xadd", key)
	if trimmed > 0 {
		v.event(ClassStream, "xtrim", key)
	}
	return id, true, nil
}

func (v *View) newStream() *largeStream { return &largeStream{Stream: stream.New(v.store.pool)} }

func (v *View) streamLimits() stream.Limits {
	return stream.Limits{Bytes: v.store.encodings.StreamNodeBytes, Entries: v.store.encodings.StreamNodeEntries}
}

// TrimLimit returns how many entries an approximate trim removes at most if it is not said, so that it does not take long:
// a hundred blocks.
func (v *View) TrimLimit() int64 {
	const blocks, unlimited, most = 100, 10000, 1000000
	entries := int64(v.store.encodings.StreamNodeEntries)
	switch {
	case entries <= 0:
		return unlimited
	case entries > most/blocks:
		return most
	}
	return blocks * entries
}

// changed marks the key as changed and brings the account up to date. event is the name of the change.
func (s Stream) changed(event string) {
	s.v.recount(s.large)
	s.v.changed(s.key)
	s.event(event)
}

func (s Stream) event(name string) { s.v.event(ClassStream, name, s.key) }

// Delete deletes entries and returns how many there were.
func (s Stream) Delete(ids []stream.ID) (deleted int64) {
	for _, id := range ids {
		if s.Stream.Delete(id) {
			deleted++
		}
	}
	if deleted > 0 {
		s.changed("xdel")
	}
	return deleted
}

// Trim removes entries from the beginning and returns how many.
func (s Stream) Trim(t stream.Trim) (removed int64) {
	if removed = s.Stream.Trim(t); removed > 0 {
		s.changed("xtrim")
	}
	return removed
}

// StreamState is what XSETID sets.
type StreamState struct {
	Last       stream.ID
	MaxDeleted stream.ID // the zero ID: as it is
	Added      int64     // -1: as it is
}

// Set sets the state. It refuses one that contradicts the entries.
func (s Stream) Set(to StreamState) error {
	if to.Last.Less(s.MaxDeleted()) {
		return ErrIDBelowDeleted
	}
	if top, ok := s.LastEntry(); ok {
		switch {
		case to.Last.Less(top):
			return ErrIDBelowTop
		case to.Added != -1 && to.Added < s.Len():
			return ErrAddedBelowLength
		}
	}
	s.SetLast(to.Last)
	if to.MaxDeleted != (stream.ID{}) {
		s.SetMaxDeleted(to.MaxDeleted)
	}
	if to.Added != -1 {
		s.SetAdded(to.Added)
	}
	s.event("xsetid")
	return nil
}
