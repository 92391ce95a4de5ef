package store

// A collection is a value with a structure of its own outside the entry: a large list, hash, set or sorted set, or a
// stream. Its entry's object refers to it. What it keeps lies in page runs wherever that grows with the number of
// elements, so that the Go collector has little to look at, and accounts for itself.
type collection interface {
	// footprint returns the bytes it holds. It may look at every block, but not at every element.
	footprint() int64
	// release frees what lies outside the Go heap. Nothing may use the collection afterwards. It may run on a goroutine of
	// its own.
	release(s *Store)
	// clone returns an independent copy.
	clone(v *View) collection
}

// Encodings are the limits up to which collections are packed: the parameters of these names.
type Encodings struct {
	ListMaxSize       int // list-max-listpack-size: elements, or -1 … -5 for 4 … 64 KiB
	HashEntries       int // hash-max-listpack-entries
	HashValue         int // hash-max-listpack-value, bytes
	SetInts           int // set-max-intset-entries
	SetEntries        int // set-max-listpack-entries
	SetValue          int // set-max-listpack-value, bytes
	ZsetEntries       int // zset-max-listpack-entries
	ZsetValue         int // zset-max-listpack-value, bytes
	HLLSparseBytes    int // hll-sparse-max-bytes
	StreamNodeBytes   int // stream-node-max-bytes; 0: no limit
	StreamNodeEntries int // stream-node-max-entries; 0: no limit
}

// DefaultEncodings are those of Redis 7.2.
var DefaultEncodings = Encodings{
	ListMaxSize: -2, HashEntries: 512, HashValue: 64, SetInts: 512, SetEntries: 128, SetValue: 64,
	ZsetEntries: 128, ZsetValue: 64, HLLSparseBytes: 3000, StreamNodeBytes: 4096, StreamNodeEntries: 100,
}

// SetEncodings changes the limits for what is written from now on. No view may be in use meanwhile.
func (s *Store) SetEncodings(e Encodings) { s.encodings = e }

// readAs is Lookup for a type.
func (v *View) readAs(key []byte, typ kind) (Entry, error) { return v.Lookup(key).as(typ) }

// writeAs is LookupWrite for a type.
func (v *View) writeAs(key []byte, typ kind) (Entry, error) { return v.LookupWrite(key).as(typ) }

// as returns an entry that is missing or of the type, or else ErrWrongType.
func (e Entry) as(typ kind) (Entry, error) {
	if e.Exists() && e.kind()&typeMask != typ {
		return Entry{}, ErrWrongType
	}
	return e, nil
}

// packed returns the bytes of a packed value. They alias the store.
func (e Entry) packed() []byte { return e.text() }

// collection returns the collection of an entry whose kind is one of those that have one.
func (e Entry) collection() collection { return e.seg.objects.get(e.valueField()).coll }

// outside returns the object of an entry's value, or nil.
func (e Entry) outside() *object {
	if !e.Exists() || e.flags()&valueOutside == 0 {
		return nil
	}
	return e.seg.objects.get(e.valueField())
}

// disown takes a collection away from an entry that is about to be removed while another one has it, too.
func (e Entry) disown(c collection) {
	if o := e.outside(); c != nil && o != nil && o.coll == c {
		o.coll = nil
	}
}

// edit returns the packed value of an entry, to be changed in place and appended to, or an empty slice if there is no
// entry. The next write of the view must be save, of what became of it, or the removal or replacement of the key.
func (v *View) edit(e Entry) []byte {
	switch {
	case !e.Exists():
		return v.scratch[:0]
	case e.flags()&valueOutside != 0:
		return e.text()
	}
	v.scratch = append(v.scratch[:0], e.valueField()...)
	return v.scratch
}

// save gives a key the packed value that came from edit. e is the key's entry, which may be missing. The deadline stays.
func (v *View) save(key []byte, e Entry, k kind, b []byte) {
	if cap(b) > cap(v.scratch) && e.outside() == nil {
		v.scratch = b // it has grown
	}
	pos := v.position(key)
	if o := e.outside(); o != nil && o.coll == nil && len(b) > inlineMax {
		v.touchWatched(pos, key)
		v.store.objectBytes.Add(int64(cap(b) - cap(o.bytes)))
		o.bytes = b
		*(*kind)(e.at(kindAt)) = k
		return
	}
	v.put(pos, key, value{kind: k, bytes: b}, deadlineOf(e))
}

// saveCollection gives a key a collection in place of its packed value, or of nothing. The deadline stays.
func (v *View) saveCollection(key []byte, e Entry, k kind, c collection) {
	v.put(v.position(key), key, value{kind: k, coll: c}, deadlineOf(e))
}

// changed marks those who watch a key whose collection was changed in place.
func (v *View) changed(key []byte) { v.touchWatched(v.position(key), key) }

// replace gives a key a packed value, or a collection if c is not nil, whatever it held before and without a deadline. It
// is one access: the end of the commands that store a result.
func (v *View) replace(key []byte, k kind, b []byte, c collection) {
	pos := v.position(key)
	v.countWrite(pos, key)
	v.put(pos, key, value{kind: k, bytes: b, coll: c}, noDeadline)
}

// doom notes a collection that is no longer in the store. What was returned of it stays valid as other bytes do.
func (v *View) doom(c collection) {
	if c != nil {
		v.work.doomed = append(v.work.doomed, c)
	}
}

// buryMax is the size, in bytes, up to which a collection is freed at once, some 100 µs. Beyond, a goroutine does it.
const buryMax = 1 << 20

// bury frees a collection that nothing refers to any more; nil is none.
func (s *Store) bury(c collection) {
	if c == nil {
		return
	}
	bytes := c.footprint()
	if bytes <= buryMax {
		c.release(s)
		return
	}
	s.freeing.Add(1)
	s.doomedBytes.Add(bytes)
	s.releasing.Go(func() {
		c.release(s)
		s.doomedBytes.Add(-bytes)
		s.freeing.Add(-1)
		s.freed.Add(1)
	})
}

// Freeing returns how many collections are being freed in the background, and how many have been.
func (s *Store) Freeing() (now, before int64) { return s.freeing.Load(), s.freed.Load() }

// ResetFreed counts anew how many have been freed in the background.
func (s *Store) ResetFreed() { s.freed.Store(0) }
