package store

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// An entry is a key with its value, at an 8-byte boundary of its segment's arena:
//
//	offset  size
//	0       4     access: when it was last used, or how often (frequency.go); the one word that readers change, atomically
//	4       2     length of the key field
//	6       2     length of the value field
//	8       2     capacity of the whole entry, in units of 8 bytes
//	10      1     kind: type and encoding of the value
//	11      1     flags
//	12      …     key field: the key, or the 4-byte number of an object that holds it
//	…       8     deadline: Unix time in milliseconds, present only if hasDeadline is set
//	…       …     value field: the value, a 64-bit integer, or the 4-byte number of an object
//
// The deadline follows the key, so that setting or dropping it in place moves the value and never the key.
const (
	accessAt   = 0
	keyLenAt   = 4
	valueLenAt = 6
	capacityAt = 8
	kindAt     = 10
	flagsAt    = 11
	headerSize = 12

	deadlineSize = 8
	numberSize   = 4 // of an object
	unit         = 8 // what entries are aligned to and capacities counted in
)

// inlineMax is the longest key, and the longest value, that is kept inside an entry, in bytes.
const inlineMax = 1024

// Flags of an entry.
const (
	hasDeadline = 1 << iota
	keyOutside  // the key is an object
	valueOutside
)

// A kind is the type of a value in its high four bits and the encoding in its low four.
type kind uint8

// Types.
const (
	typeString kind = iota << 4
	typeList
	typeSet
	typeZset
	typeHash
	typeStream

	typeMask = 0xf0
)

// Encodings. Packed values are bytes without pointers, in the formats of Redis (listpack, intset); the large ones are
// collections.
const (
	kindInt    = typeString | iota // a 64-bit integer that stands for its canonical decimal form
	kindEmbstr                     // a string that Redis would keep in one allocation with its object
	kindRaw                        // any other string

	kindListPacked = typeList
	kindList       = typeList | 1
	kindSetInts    = typeSet
	kindSetPacked  = typeSet | 1
	kindSet        = typeSet | 2
	kindZsetPacked = typeZset
	kindZset       = typeZset | 1
	kindHashPacked = typeHash
	kindHash       = typeHash | 1
	kindStream     = typeStream
)

var typeNames = [...]string{"string", "list", "set", "zset", "hash", "stream"}

var encodingNames = [256]string{
	kindInt: "int", kindEmbstr: "embstr", kindRaw: "raw",
	kindListPacked: "listpack", kindList: "quicklist",
	kindSetInts: "intset", kindSetPacked: "listpack", kindSet: "hashtable",
	kindZsetPacked: "listpack", kindZset: "skiplist",
	kindHashPacked: "listpack", kindHash: "hashtable",
	kindStream: "stream",
}

// typeName returns the name that the TYPE command gives.
func (k kind) typeName() string { return typeNames[k>>4] }

// encodingName returns the name that OBJECT ENCODING gives.
func (k kind) encodingName() string { return encodingNames[k] }

func (k kind) isString() bool { return k&typeMask == typeString }

// Entry refers to an entry in the store, or to none. It is valid until the view unlocks or writes.
type Entry struct {
	seg *segment
	off uint32
}

// Exists reports whether the entry refers to a key that exists.
func (e Entry) Exists() bool { return e.seg != nil }

// Type returns the type as the TYPE command names it: "none" for a missing key.
func (e Entry) Type() string {
	if e.seg == nil {
		return "none"
	}
	return e.kind().typeName()
}

// Encoding returns the encoding as OBJECT ENCODING names it. The key must exist.
func (e Entry) Encoding() string { return e.kind().encodingName() }

// ExpireAt returns the Unix time in milliseconds at which the key expires, or -1 if it does not.
func (e Entry) ExpireAt() int64 {
	if e.seg == nil || e.flags()&hasDeadline == 0 {
		return -1
	}
	return e.deadline()
}

// AccessWord returns when the key was last used, or how often, as frequency.go says. The low 24 bits of the former are those of
// the Unix time in seconds.
func (e Entry) AccessWord() uint32 { return atomic.LoadUint32(e.access()) &^ heldMark }

// setAccessWord says when the key was last used, or how often. Whether it is held is another matter.
func (e Entry) setAccessWord(word uint32) {
	atomic.StoreUint32(e.access(), word|atomic.LoadUint32(e.access())&heldMark)
}

// Key returns the key. It aliases the store.
func (e Entry) Key() []byte {
	field := e.keyField()
	if e.flags()&keyOutside != 0 {
		return e.seg.objects.get(field).bytes
	}
	return field
}

// Size returns the bytes that the key and its value take, without its share of the segment's index.
func (e Entry) Size() int64 {
	n := int64(e.capacity())
	if e.flags()&keyOutside != 0 {
		n += e.seg.objects.get(e.keyField()).size()
	}
	if e.flags()&valueOutside != 0 {
		o := e.seg.objects.get(e.valueField())
		if n += o.size(); o.coll != nil {
			n += o.coll.footprint()
		}
	}
	return n
}

func (e Entry) at(i uint32) unsafe.Pointer { return unsafe.Add(e.seg.base, e.off+i) }

func (e Entry) access() *uint32    { return (*uint32)(e.at(accessAt)) }
func (e Entry) keyLen() uint32     { return uint32(*(*uint16)(e.at(keyLenAt))) }
func (e Entry) valueLen() uint32   { return uint32(*(*uint16)(e.at(valueLenAt))) }
func (e Entry) capacity() uint32   { return uint32(*(*uint16)(e.at(capacityAt))) * unit }
func (e Entry) kind() kind         { return *(*kind)(e.at(kindAt)) }
func (e Entry) flags() uint8       { return *(*uint8)(e.at(flagsAt)) }
func (e Entry) deadlineAt() uint32 { return headerSize + e.keyLen() }

func (e Entry) valueAt() uint32 {
	at := headerSize + e.keyLen()
	if e.flags()&hasDeadline != 0 {
		at += deadlineSize
	}
	return at
}

// bytes returns n bytes of the entry from offset i.
func (e Entry) bytes(i, n uint32) []byte {
	if invariants && n == 0 { // they may lie behind the arena, where the race detector allows no pointer
		return nil
	}
	return unsafe.Slice((*byte)(e.at(i)), n)
}

func (e Entry) keyField() []byte   { return e.bytes(headerSize, e.keyLen()) }
func (e Entry) valueField() []byte { return e.bytes(e.valueAt(), e.valueLen()) }

func (e Entry) deadline() int64 {
	return int64(binary.LittleEndian.Uint64(e.bytes(e.deadlineAt(), deadlineSize)))
}

// expired: a key lives to the end of the millisecond of its deadline, as in Redis.
func (e Entry) expired(nowMs int64) bool {
	return e.flags()&hasDeadline != 0 && e.deadline() < nowMs
}

// need returns the bytes that the entry is worth: what its fields take, rounded up to units, and of a packed collection
// some room to grow, if it has that. It is at most the capacity.
func (e Entry) need() uint32 {
	n := roundUp(e.valueAt()+e.valueLen(), unit)
	if !e.kind().isString() && e.flags()&valueOutside == 0 {
		return min(n+roomFor(n), e.capacity())
	}
	return n
}

// roomFor returns the room that a packed collection of an entry of n bytes is given when it has outgrown its entry. Without
// it every element that is added would write the entry anew.
func roomFor(n uint32) uint32 { return roundUp(n/8, unit) }

// integer returns the value of an entry of kind int.
func (e Entry) integer() int64 { return int64(binary.LittleEndian.Uint64(e.valueField())) }

// text returns the bytes of a string that is not of kind int, or of a packed value.
func (e Entry) text() []byte {
	if e.flags()&valueOutside != 0 {
		return e.seg.objects.get(e.valueField()).bytes
	}
	return e.valueField()
}

// roundUp returns n rounded up to a multiple of m, a power of two.
func roundUp(n, m uint32) uint32 { return (n + m - 1) &^ (m - 1) }
