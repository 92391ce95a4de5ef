package rdb

import (
	"encoding/binary"
	"iter"
	"strconv"
)

// A ziplist is what servers before Redis 7.0 packed small collections in:
//
//	bytes 4 │ offset of the last entry 4 │ entries 2 │ entry … │ ff
//
// all numbers little-endian unless said otherwise. 65535 entries stand for that or more. An entry begins with the length
// of the one before it, 1 byte, or fe and 4 bytes from 254 on, and goes on with
//
//	00nnnnnn                   string of n bytes, which follow
//	01nnnnnn nnnnnnnn          the same, n big-endian
//	10······ + 4 bytes         the same, n in the 4 bytes, big-endian
//	11000000 11010000 11100000 integer of 2, 4, 8 bytes
//	11110000 11111110          integer of 3, 1 bytes
//	1111nnnn                   the integer n-1, 0 to 12
//
// For example {"2", "hi"} is 11000000 0d000000 0200 | 00 f3 | 02 02 68 69 | ff.
const (
	ziplistHeader  = 10
	ziplistEnd     = 0xff
	ziplistLong    = 0xfe // the length of the entry before takes 4 bytes
	ziplistManyMin = 65535
)

// Ziplist checks a ziplist as a whole and returns its elements and their number. What it yields is valid as long as b.
func Ziplist(b []byte) (elements iter.Seq[[]byte], n int, err error) {
	size := len(b)
	if size < ziplistHeader+1 || uint64(binary.LittleEndian.Uint32(b)) != uint64(size) || b[size-1] != ziplistEnd {
		return nil, 0, ErrFormat
	}
	at, last := ziplistHeader, ziplistHeader
	for before := 0; at < size-1; n++ {
		e, ok := readZiplistEntry(b[at : size-1])
		if !ok || e.before != before {
			return nil, 0, ErrFormat
		}
		last, before = at, e.size
		at += e.size
	}
	count := int(binary.LittleEndian.Uint16(b[8:]))
	if uint64(binary.LittleEndian.Uint32(b[4:])) != uint64(last) || count != ziplistManyMin && count != n {
		return nil, 0, ErrFormat
	}
	return func(yield func([]byte) bool) {
		for at := ziplistHeader; at < size-1; {
			e, _ := readZiplistEntry(b[at : size-1])
			if !yield(e.text()) {
				return
			}
			at += e.size
		}
	}, n, nil
}

// ziplistEntry is one that was read: a string, or an integer if bytes is nil.
type ziplistEntry struct {
	before int // the length of the entry before, as it says
	size   int
	bytes  []byte
	number int64
}

func (e ziplistEntry) text() []byte {
	if e.bytes != nil {
		return e.bytes
	}
	return strconv.AppendInt(nil, e.number, 10)
}

// readZiplistEntry reads the entry at the beginning of b; ok is false if b has none.
func readZiplistEntry(b []byte) (e ziplistEntry, ok bool) {
	r := Reader{rest: b}
	switch first := r.byte(); first {
	case ziplistEnd:
		return e, false
	case ziplistLong:
		if long := r.Bytes(4); long != nil {
			e.before = int(binary.LittleEndian.Uint32(long))
		}
	default:
		e.before = int(first)
	}
	encoding := r.byte()
	switch encoding & kindMask {
	case 0:
		e.bytes = r.Bytes(int(encoding))
	case length14:
		e.bytes = r.Bytes(int(encoding&valueMask)<<8 | int(r.byte()))
	case length32:
		if n := r.Bytes(4); n != nil {
			e.bytes = r.Bytes(int(binary.BigEndian.Uint32(n)))
		}
	default:
		e.number = r.ziplistInteger(encoding)
	}
	e.size = len(b) - len(r.rest)
	return e, !r.failed
}

func (r *Reader) ziplistInteger(encoding byte) int64 {
	width := 0
	switch encoding {
	case 0xc0:
		width = 2
	case 0xd0:
		width = 4
	case 0xe0:
		width = 8
	case 0xf0:
		width = 3
	case 0xfe:
		width = 1
	default:
		if encoding < 0xf1 || encoding > 0xfd {
			r.Fail()
		}
		return int64(encoding&0x0f) - 1
	}
	n := uint64(0)
	for i, c := range r.Bytes(width) {
		n |= uint64(c) << (8 * i)
	}
	unused := 64 - 8*width
	return int64(n<<unused) >> unused
}

// A zipmap is what servers before Redis 2.6 packed small hashes in: the number of pairs, 254 for that or more, then fields
// and values in turn, then ff. Each is a length, 1 byte, or fe and 4 bytes little-endian, and as many bytes; between
// the length of a value and its bytes stands the number of unused bytes after it.
const (
	zipmapEnd     = 0xff
	zipmapLong    = 0xfe
	zipmapManyMin = 254
)

// Zipmap checks a zipmap as a whole and returns its fields and values and the number of both. What it yields aliases b.
func Zipmap(b []byte) (elements iter.Seq[[]byte], n int, err error) {
	if len(b) < 2 || b[len(b)-1] != zipmapEnd {
		return nil, 0, ErrFormat
	}
	r := Reader{rest: b[1 : len(b)-1]}
	for len(r.rest) > 0 {
		r.zipmapElement(n%2 == 1)
		n++
	}
	if r.failed || n%2 != 0 || b[0] < zipmapManyMin && int(b[0]) != n/2 {
		return nil, 0, ErrFormat
	}
	return func(yield func([]byte) bool) {
		r := Reader{rest: b[1 : len(b)-1]}
		for i := 0; len(r.rest) > 0; i++ {
			if !yield(r.zipmapElement(i%2 == 1)) {
				return
			}
		}
	}, n, nil
}

func (r *Reader) zipmapElement(value bool) []byte {
	n := int(r.byte())
	switch n {
	case zipmapEnd:
		r.Fail()
	case zipmapLong:
		if long := r.Bytes(4); long != nil {
			n = int(binary.LittleEndian.Uint32(long))
		}
	}
	unused := 0
	if value {
		unused = int(r.byte())
	}
	b := r.Bytes(n)
	r.Bytes(unused)
	return b
}
