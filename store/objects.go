package store

import (
	"encoding/binary"
	"unsafe"
)

// An object is what does not lie inside an entry: a long key or value, or a collection. It lives on the Go heap and
// belongs to its segment.
type object struct {
	bytes []byte
	coll  collection // nil: bytes
}

// size is what the object takes on the Go heap, what a collection accounts for itself apart.
func (o *object) size() int64 { return int64(cap(o.bytes)) + int64(unsafe.Sizeof(*o)) }

// objects are the objects of a segment, found by number. The entry's field holds the number.
type objects struct {
	table []object
	free  []uint32 // numbers not in use
}

func (t *objects) get(field []byte) *object { return &t.table[binary.LittleEndian.Uint32(field)] }

func (t *objects) add(o object) uint32 {
	if n := len(t.free); n > 0 {
		number := t.free[n-1]
		t.free = t.free[:n-1]
		t.table[number] = o
		return number
	}
	t.table = append(t.table, o)
	return uint32(len(t.table) - 1)
}

// take removes an object and returns it.
func (t *objects) take(field []byte) object {
	number := binary.LittleEndian.Uint32(field)
	o := t.table[number]
	t.table[number] = object{}
	t.free = append(t.free, number)
	if len(t.free) == len(t.table) {
		t.table, t.free = nil, nil
	}
	return o
}
