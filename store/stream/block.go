package stream

import (
	"slices"

	"kvserver/store/listpack"
)

// A block is one listpack with some entries, in Redis's layout of elements:
//
//	master entry   live │ deleted │ n │ field 1 … field n │ 0
//	entry          flags │ ms │ seq │ value 1 … value n │ pieces             if its fields are those of the master entry
//	entry          flags │ ms │ seq │ m │ field 1 │ value 1 … │ pieces       if not
//
// The master entry counts the entries and has the field names of the first one. ms and seq are the differences to the ID
// of the block, which was that of its first entry. pieces is the number of elements of the entry before it, for walking
// backwards; the 0 of the master entry ends such a walk. An entry is deleted by a flag; its block goes when no live entry
// is left in it.
//
// For example the entries 5-1 and 7-0 with a field "t", after the second was deleted, in a block with ID 5-1:
//
//	1 1 1 "t" 0   2 0 0 "20.5" 4   3 2 -1 "21" 4
const (
	flagDeleted = 1 << iota
	flagSameFields
)

const (
	// liveAt is where the first element of a listpack is: the number of live entries.
	liveAt = 6
	// entryPieces are the elements of every entry: flags and the two halves of the ID.
	entryPieces = 3
)

// integer returns the integer at off, which every block has where one belongs.
func integer(b []byte, off int) int64 {
	_, n, _ := listpack.Get(b, off)
	return n
}

// skip returns the offset n elements after off.
func skip(b []byte, off, n int) int {
	for range n {
		off = listpack.After(b, off)
	}
	return off
}

// live returns the number of live entries of a block.
func live(b []byte) int64 { return integer(b, liveAt) }

// deleted returns the number of deleted entries of a block.
func deleted(b []byte) int64 { return integer(b, listpack.After(b, liveAt)) }

// withCounts writes the numbers of live and deleted entries. The block may be moved.
func withCounts(b []byte, live, deleted int64) []byte {
	b = listpack.ReplaceInt(b, liveAt, live)
	return listpack.ReplaceInt(b, listpack.After(b, liveAt), deleted)
}

// newBlock writes the master entry of a block, for an entry with these fields and values, into b, whose contents are lost.
func newBlock(b []byte, pairs [][]byte) []byte {
	b = listpack.AppendInt(slices.Grow(b[:0], newBlockSize(pairs)), 0)
	b = listpack.AppendInt(b, 0)
	b = listpack.AppendInt(b, int64(len(pairs)/2))
	for i := 0; i < len(pairs); i += 2 {
		b = listpack.Append(b, pairs[i])
	}
	return listpack.AppendInt(b, 0)
}

// newBlockSize returns enough bytes for a block of one entry, if that is small.
func newBlockSize(pairs [][]byte) int {
	n := 24
	for _, p := range pairs {
		n += len(p) + 2
	}
	return n
}

// appendEntry writes an entry at the end of a block. The counts stay as they are.
func appendEntry(b []byte, first, id ID, pairs [][]byte, same bool) []byte {
	flags, pieces := int64(0), entryPieces+1+len(pairs)
	if same {
		flags, pieces = flagSameFields, entryPieces+len(pairs)/2
	}
	ms, seq := id.since(first)
	b = listpack.AppendInt(b, flags)
	b = listpack.AppendInt(b, ms)
	b = listpack.AppendInt(b, seq)
	if same {
		for i := 1; i < len(pairs); i += 2 {
			b = listpack.Append(b, pairs[i])
		}
	} else {
		b = listpack.AppendInt(b, int64(len(pairs)/2))
		for _, p := range pairs {
			b = listpack.Append(b, p)
		}
	}
	return listpack.AppendInt(b, int64(pieces))
}

// cursor is a place in a block: an entry, deleted or not, or the place before all or after all of them.
type cursor struct {
	b         []byte
	first     ID
	fields    int // of the master entry
	fieldsAt  int
	entriesAt int
	startAt   int // where to begin: entriesAt, or behind entries that are known to be deleted

	at       int // the entry's flags; 0 before the first entry, len(b) after the last
	flags    int64
	id       ID
	n        int // fields of the entry
	valuesAt int // behind the ID and the number of fields
}

// set puts the cursor before the first entry of a block.
func (c *cursor) set(first ID, b []byte) {
	at := skip(b, liveAt, 2)
	*c = cursor{b: b, first: first, fields: int(integer(b, at)), fieldsAt: listpack.After(b, at)}
	c.entriesAt = skip(b, c.fieldsAt, c.fields+1)
	c.startAt = c.entriesAt
}

// setEnd puts the cursor after the last entry of a block.
func (c *cursor) setEnd(first ID, b []byte) {
	c.set(first, b)
	c.at = len(b)
}

// next goes to the next entry and reports whether there is one.
func (c *cursor) next() bool {
	off := c.startAt
	if c.at != 0 {
		off = listpack.After(c.b, c.piecesAt())
	}
	if off == len(c.b)-1 {
		c.at = len(c.b)
		return false
	}
	c.decode(off)
	return true
}

// prev goes to the entry before and reports whether there is one.
func (c *cursor) prev() bool {
	off := c.at
	if off == len(c.b) {
		off-- // the end mark
	}
	off = listpack.Prev(c.b, off)
	pieces := integer(c.b, off)
	if pieces == 0 {
		c.at = 0
		return false
	}
	for range pieces {
		off = listpack.Prev(c.b, off)
	}
	c.decode(off)
	return true
}

func (c *cursor) decode(off int) {
	b := c.b
	c.at = off
	c.flags = integer(b, off)
	off = listpack.After(b, off)
	ms := integer(b, off)
	off = listpack.After(b, off)
	c.id = c.first.plus(ms, integer(b, off))
	off = listpack.After(b, off)
	c.n = c.fields
	if c.flags&flagSameFields == 0 {
		c.n = int(integer(b, off))
		off = listpack.After(b, off)
	}
	c.valuesAt = off
}

// piecesAt returns the offset of the last element of the entry.
func (c *cursor) piecesAt() int {
	if c.flags&flagSameFields != 0 {
		return skip(c.b, c.valuesAt, c.n)
	}
	return skip(c.b, c.valuesAt, 2*c.n)
}

func (c *cursor) deleted() bool { return c.flags&flagDeleted != 0 }

// delete marks the entry. The flags are one byte before and after, so the block stays where it is; the counts are left
// as they are.
func (c *cursor) delete() {
	c.flags |= flagDeleted
	c.b = listpack.ReplaceInt(c.b, c.at, c.flags)
}

// lastID returns the ID of the last entry of a block, deleted or not.
func lastID(first ID, b []byte) ID {
	var c cursor
	c.setEnd(first, b)
	c.prev()
	return c.id
}
