// Package stream is the data structure behind the type stream: entries in the order of their IDs, each some fields with
// values, and the consumer groups that read them. It knows neither keys nor clients.
//
// # Layout
//
// Some hundred entries at a time are packed into a block (block.go), which is exactly the listpack that Redis packs them
// into, so that a dump of a stream is a copy of its blocks.
//
//	Stream ── the last block, which entries are appended to: on the Go heap, and not in the tree
//	       ── B-tree, by the ID of their first entry, of the full blocks
//	            └─ chunks outside the Go heap that hold the blocks one behind the other (memory.go)
//	       ── groups (groups.go) ── a B-tree of what is pending, and one of IDs per consumer
//
// Appending looks nothing up: the last block is at hand, and with the fields of the block's first entry, only the values are
// written. An entry with one field costs some 8 bytes and the value; the tree, 32 bytes per block, hardly counts.
//
// # Why not
//
// Redis's radix tree saves the common beginnings of IDs, which with one key per hundred entries is nothing. A plain sorted
// list of blocks would do for streams that are only trimmed from the front, but deleting from the middle would move it.
//
// # Whose bytes
//
// What is passed in is copied. What is handed out, fields, values and blocks, aliases the stream and is good until it
// changes. A Stream is not safe for use by several goroutines, except that several may read at once.
package stream

import (
	"unsafe"

	"github.com/tidwall/btree"

	"kvserver/store/listpack"
	"kvserver/store/pages"
)

// Limits say when a block is full.
type Limits struct {
	Bytes   int // 0: no limit but that of a listpack
	Entries int // live or deleted; 0: no limit
}

// entryBytesMax is the most that the fields and values of one entry may have together, in bytes, as in Redis.
const entryBytesMax = listpack.SizeMax

// Fits reports whether an entry with these fields and values is small enough to be added.
func Fits(pairs [][]byte) bool {
	size, room := entrySize(pairs)
	return size <= entryBytesMax && room <= listpack.SizeMax
}

// entrySize returns the bytes of fields and values, and at least those that they take as an entry of a new block.
func entrySize(pairs [][]byte) (size, room int) {
	const perElement, perBlock = 5 + 5, 64
	for _, p := range pairs {
		size += len(p)
	}
	return size, size + perElement*len(pairs) + perBlock
}

// Stream is a stream. Make one with New.
type Stream struct {
	chunks
	blocks *btree.BTreeG[sealed] // nil: none is full yet

	open      []byte // the last block; empty if there are no entries
	openFirst ID
	fieldsAt  int // where the fields of the open block's master entry are
	fields    int
	openCount int64 // entries of the open block, deleted ones included

	length     int64
	first      ID // of the live entries; zero if there are none
	last       ID
	maxDeleted ID
	added      int64

	// In block gone.block the first so many bytes of entries are deleted ones. It saves walking over them again and again
	// where entries are deleted one by one from the beginning.
	gone struct {
		block ID
		bytes int
	}

	groups     []*Group // by name
	groupBytes int64    // of them
}

// New makes an empty stream. Its full blocks lie in pages of the pool until Release.
func New(pool *pages.Pool) *Stream { return &Stream{chunks: chunks{pool: pool}} }

// Release gives the pages back. The stream must not be used afterwards.
func (s *Stream) Release() { s.releaseAll() }

// Len returns the number of entries.
func (s *Stream) Len() int64 { return s.length }

// First returns the ID of the first entry, the zero ID if there is none.
func (s *Stream) First() ID { return s.first }

// Last returns the last ID that was given to an entry, which may have been deleted since, or set by SetLast.
func (s *Stream) Last() ID { return s.last }

// MaxDeleted returns the greatest ID of an entry that was deleted, trimming apart, or the zero ID.
func (s *Stream) MaxDeleted() ID { return s.maxDeleted }

// Added returns the number of entries that were ever added.
func (s *Stream) Added() int64 { return s.added }

// SetLast sets the last ID, which must not be below that of the last entry.
func (s *Stream) SetLast(id ID) {
	s.last = id
	s.gone.block = ID{} // an ID may come again
}

// SetMaxDeleted sets what MaxDeleted returns.
func (s *Stream) SetMaxDeleted(id ID) { s.maxDeleted = id }

// SetAdded sets what Added returns.
func (s *Stream) SetAdded(n int64) { s.added = n }

// NextID returns the ID for an entry that is added at this time; ok is false if there are no greater IDs than the last.
func (s *Stream) NextID(nowMs int64) (id ID, ok bool) {
	if nowMs > 0 && uint64(nowMs) > s.last.Ms {
		return ID{uint64(nowMs), 0}, true
	}
	return s.last.Next()
}

// Append adds an entry: pairs are fields and values in turn, at least one of each, and Fits must be true of them. The ID
// must be greater than the last one.
func (s *Stream) Append(id ID, pairs [][]byte, limits Limits) {
	if len(s.open) > 0 && s.full(pairs, limits) {
		s.seal()
	}
	same := true
	if len(s.open) == 0 {
		s.setOpen(id, newBlock(s.open, pairs))
	} else {
		same = s.sameFields(pairs)
	}
	s.openCount++
	before := len(s.open)
	s.open = listpack.ReplaceInt(s.open, liveAt, live(s.open)+1)
	s.fieldsAt += len(s.open) - before
	s.open = appendEntry(s.open, s.openFirst, id, pairs, same)
	if s.length == 0 {
		s.first = id
	}
	s.length++
	s.added++
	s.last = id
}

// full tells whether an entry opens a new block, by Redis's rule.
func (s *Stream) full(pairs [][]byte, limits Limits) bool {
	size, room := entrySize(pairs)
	if limits.Bytes <= 0 || limits.Bytes > entryBytesMax {
		limits.Bytes = entryBytesMax
	}
	return len(s.open)+size >= limits.Bytes || limits.Entries > 0 && s.openCount >= int64(limits.Entries) ||
		len(s.open)+room > listpack.SizeMax
}

// sameFields tells whether an entry has the fields of the open block's master entry.
func (s *Stream) sameFields(pairs [][]byte) bool {
	if len(pairs) != 2*s.fields {
		return false
	}
	off := s.fieldsAt
	for i := 0; i < len(pairs); i += 2 {
		if !listpack.Equal(s.open, off, pairs[i]) {
			return false
		}
		off = listpack.After(s.open, off)
	}
	return true
}

// setOpen makes b the open block.
func (s *Stream) setOpen(first ID, b []byte) {
	s.open, s.openFirst = b, first
	at := skip(b, liveAt, 2)
	s.fields, s.fieldsAt = int(integer(b, at)), listpack.After(b, at)
	s.openCount = live(b) + deleted(b)
}

// openKept is the largest capacity, in bytes, that the buffer of the open block keeps when that is full.
const openKept = 2 * pages.Size

// seal puts the open block to the full ones.
func (s *Stream) seal() {
	if s.blocks == nil {
		s.blocks = btree.NewBTreeGOptions(sealedLess, btree.Options{NoLocks: true})
	}
	var at sealed
	if len(s.open) > sharedBytesMax && cap(s.open)-len(s.open) < len(s.open)/4 {
		at = s.own(s.open)
		s.open = nil
	} else {
		at = s.put(s.open)
		s.open = s.open[:0]
		if cap(s.open) > openKept {
			s.open = nil
		}
	}
	at.first = s.openFirst
	s.blocks.Load(at)
}

// reopen makes the last full block the open one, after the open one has lost its last entry.
func (s *Stream) reopen() {
	s.open = s.open[:0]
	if s.blocks == nil {
		return
	}
	at, ok := s.blocks.PopMax()
	if !ok {
		return
	}
	s.setOpen(at.first, append(s.open, s.block(at)...))
	if s.drop(at) {
		s.compact(at.chunk, at.first)
	}
}

// blockAt returns the last block whose ID is at most id, as what sealed says; or the open one.
func (s *Stream) blockAt(id ID) (at sealed, isOpen, ok bool) {
	if len(s.open) > 0 && !id.Less(s.openFirst) {
		return sealed{}, true, true
	}
	if s.blocks == nil {
		return sealed{}, false, false
	}
	s.blocks.Descend(sealed{first: id}, func(found sealed) bool {
		at, ok = found, true
		return false
	})
	return at, false, ok
}

// Has reports whether there is an entry with this ID.
func (s *Stream) Has(id ID) bool {
	r := s.Range(id, id, false)
	return r.Next()
}

// LastEntry returns the ID of the last entry; ok is false if there is none.
func (s *Stream) LastEntry() (id ID, ok bool) {
	r := s.Range(ID{}, Max, true)
	ok = r.Next()
	return r.ID(), ok
}

// Delete deletes the entry with this ID and reports whether there was one.
func (s *Stream) Delete(id ID) bool {
	at, isOpen, ok := s.blockAt(id)
	if !ok {
		return false
	}
	var c cursor
	if isOpen {
		s.begin(&c, s.openFirst, s.open)
	} else {
		s.begin(&c, at.first, s.block(at))
	}
	for c.next() && c.id.Less(id) {
	}
	if c.at == len(c.b) || c.id != id || c.deleted() {
		return false
	}
	c.delete()
	if isOpen {
		s.countOpen(1)
	} else {
		s.count(at, 1)
	}
	if s.maxDeleted.Less(id) {
		s.maxDeleted = id
	}
	if id == s.first {
		s.findFirst()
	}
	return true
}

// begin puts a cursor before the first entry of a block that may be alive.
func (s *Stream) begin(c *cursor, first ID, b []byte) {
	c.set(first, b)
	if first == s.gone.block {
		c.startAt += s.gone.bytes
	}
}

// findFirst brings the ID of the first entry up to date after those up to some ID were deleted.
func (s *Stream) findFirst() {
	r := s.Range(s.first, Max, false)
	s.first = ID{}
	if r.Next() {
		s.first = r.ID()
		s.gone.block, s.gone.bytes = r.block, r.cursor.at-r.cursor.entriesAt
	}
}

// countOpen notes that n more entries of the open block are deleted.
func (s *Stream) countOpen(n int64) {
	s.length -= n
	left := live(s.open) - n
	if left == 0 {
		s.reopen()
		return
	}
	s.setOpen(s.openFirst, withCounts(s.open, left, deleted(s.open)+n))
}

// count notes that n more entries of a full block are deleted. With the last live one the block goes.
func (s *Stream) count(at sealed, n int64) {
	s.length -= n
	b := s.block(at)
	left := live(b) - n
	if left == 0 {
		s.remove(at)
		return
	}
	changed := withCounts(b, left, deleted(b)+n)
	if len(changed) == len(b) {
		return
	}
	if unsafe.SliceData(changed) == unsafe.SliceData(b) {
		s.table[at.chunk].live += len(changed) - len(b)
		at.size = uint32(len(changed))
		s.blocks.Set(at)
		return
	}
	moved := s.own(changed)
	moved.first = at.first
	s.drop(at)
	s.blocks.Set(moved)
}

// remove takes a full block out.
func (s *Stream) remove(at sealed) {
	s.blocks.Delete(at)
	if s.drop(at) {
		s.compact(at.chunk, at.first)
	}
}
