// Package listpack packs a list of short strings and integers into one block of bytes, byte for byte as Redis does, so that
// the block of a small collection is what DUMP writes and RESTORE reads.
//
//	listpack  bytes in all 4 │ elements 2 │ element │ element │ … │ 0xFF
//	element   encoding and data │ length of these, readable from its end (backlen) 1…5
//
// Numbers are little-endian, backlen is not: seven bits to a byte, the most significant first, and every byte but the first
// has its high bit set, so that it is read from the right. The count of elements is 65535 where there are too many to count;
// then Len walks.
//
// An element that is an integer in canonical decimal form is kept as one, whoever stored it:
//
//	0xxxxxxx                    0…127
//	110xxxxx + 1 byte           13 bits, signed, the high ones first
//	11110001 + 2 bytes          16 bits; 11110010: 24, 11110011: 32, 11110100: 64
//	10xxxxxx + data             string of up to 63 bytes
//	1110xxxx + 1 byte + data    up to 4095, the high bits first
//	11110000 + 4 bytes + data   longer
//
// For example "a" and 1024 make
//
//	0f 00 00 00  02 00  81 61 02  c4 00 02  ff         (with 13 for the first byte: it has 13 bytes)
//
// Elements are named by their offset in the block. Functions that change a listpack return it, as append does: they change
// the block they were given and may move it, so the caller must own it, and offsets and elements got before are no longer
// good. Where a listpack is wanted, a slice without bytes stands for an empty one. What is passed in must be a listpack that
// this package made or Validate accepted; anything else panics or reads nonsense.
//
// The format: listpack.c of Redis 7 and the specification by S. Sanfilippo, github.com/antirez/listpack.
package listpack

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
)

const (
	headerSize = 6
	countAt    = 4
	end        = 0xff
	uncounted  = math.MaxUint16 // the count of more elements than the header can hold
)

// SizeMax is how large a listpack may become, in bytes, as in Redis. Growing it further panics: ask Fits.
const SizeMax = 1 << 30

// None is the offset of no element.
const None = -1

// IntegerLenMax is the length in bytes of the longest integer in decimal, the sign included.
const IntegerLenMax = 20

// New returns an empty listpack, which has 7 bytes.
func New() []byte { return begin(nil) }

// begin makes lp an empty listpack if it has no bytes yet.
func begin(lp []byte) []byte {
	if len(lp) == 0 {
		return append(lp, headerSize+1, 0, 0, 0, 0, 0, end)
	}
	return lp
}

// Fits reports whether lp may grow by n bytes.
func Fits(lp []byte, n int) bool { return len(lp)+n <= SizeMax }

// Size returns the bytes that elem will take as an element.
func Size(elem []byte) int {
	e := textElement(elem)
	return e.size + backlenSize(e.size)
}

// Len returns the number of elements. It walks them if there are 65535 or more.
func Len(lp []byte) int {
	if len(lp) == 0 {
		return 0
	}
	if n := count(lp); n != uncounted {
		return n
	}
	n := 0
	for off := headerSize; lp[off] != end; off = After(lp, off) {
		n++
	}
	return n
}

func count(lp []byte) int { return int(binary.LittleEndian.Uint16(lp[countAt:])) }

// First returns the offset of the first element, None if there is none.
func First(lp []byte) int {
	if len(lp) == 0 || lp[headerSize] == end {
		return None
	}
	return headerSize
}

// Last returns the offset of the last element, None if there is none.
func Last(lp []byte) int {
	if len(lp) == 0 {
		return None
	}
	return Prev(lp, len(lp)-1)
}

// Next returns the offset of the element after the one at off, None if that is the last.
func Next(lp []byte, off int) int {
	off = After(lp, off)
	if lp[off] == end {
		return None
	}
	return off
}

// Prev returns the offset of the element before the one at off, None if that is the first.
func Prev(lp []byte, off int) int {
	if off == headerSize {
		return None
	}
	size, shift := 0, 0
	for i := off - 1; ; i-- {
		size |= int(lp[i]&0x7f) << shift
		if lp[i] < 0x80 {
			break
		}
		shift += 7
	}
	return off - size - backlenSize(size)
}

// After returns the offset just behind the element at off: of the next one or, unlike Next, of the end of the list. It
// serves InsertAt.
func After(lp []byte, off int) int {
	if n := spans[lp[off]]; n != 0 {
		return off + int(n)
	}
	size := sizeAt(lp, off)
	return off + size + backlenSize(size)
}

// Seek returns the offset of the element with this index, counted from 0, or from the end if negative: -1 is the last. It
// returns None if there is no such element. It walks from the nearer end.
func Seek(lp []byte, index int) int {
	if len(lp) == 0 {
		return None
	}
	if n := count(lp); n != uncounted {
		if index < -n || index >= n {
			return None
		}
		if index < 0 {
			index += n
		}
		if index >= n/2 {
			index -= n
		}
	}
	if index < 0 {
		off := Last(lp)
		for ; index < -1 && off != None; index++ {
			off = Prev(lp, off)
		}
		return off
	}
	off := First(lp)
	for ; index > 0 && off != None; index-- {
		off = Next(lp, off)
	}
	return off
}

// Get returns the element at off: its bytes, which alias lp, or the integer that it is.
func Get(lp []byte, off int) (text []byte, n int64, isInt bool) {
	c := lp[off]
	switch {
	case c < 0x80:
		return nil, int64(c), true
	case c < 0xc0:
		from := off + 1
		to := from + int(c&0x3f)
		return lp[from:to:to], 0, false
	case c < 0xe0:
		// The highest of the 13 bits is the sign.
		return nil, int64(int16(uint16(c)<<11|uint16(lp[off+1])<<3)) >> 3, true
	case c < 0xf0:
		from := off + 2
		to := from + int(c&0x0f)<<8 + int(lp[off+1])
		return lp[from:to:to], 0, false
	}
	switch c {
	case 0xf0:
		from := off + 5
		to := from + int(binary.LittleEndian.Uint32(lp[off+1:]))
		return lp[from:to:to], 0, false
	case 0xf1:
		return nil, int64(int16(binary.LittleEndian.Uint16(lp[off+1:]))), true
	case 0xf2:
		return nil, int64(int32(uint32(lp[off+1])<<8|uint32(lp[off+2])<<16|uint32(lp[off+3])<<24) >> 8), true
	case 0xf3:
		return nil, int64(int32(binary.LittleEndian.Uint32(lp[off+1:]))), true
	case 0xf4:
		return nil, int64(binary.LittleEndian.Uint64(lp[off+1:])), true
	}
	panic("store: no element of a listpack")
}

// Text returns the element at off as bytes. They alias lp or, if it is an integer, buf.
func Text(lp []byte, off int, buf *[IntegerLenMax]byte) []byte {
	text, n, isInt := Get(lp, off)
	if isInt {
		return strconv.AppendInt(buf[:0], n, 10)
	}
	return text
}

// Equal reports whether the element at off is elem.
func Equal(lp []byte, off int, elem []byte) bool {
	text, n, isInt := Get(lp, off)
	if isInt {
		m, ok := ParseInteger(elem)
		return ok && m == n
	}
	return string(text) == string(elem)
}

// Find returns the offset of the first element equal to elem, beginning with the one at off and passing over skip elements
// after each that it compares. It returns None if it finds none, and for an off of None.
func Find(lp []byte, off int, elem []byte, skip int) int {
	if off == None {
		return None
	}
	n, isInt := ParseInteger(elem)
	// A short string begins with its length. Of two of the same length the last byte tells them apart more often than the
	// first: fields are numbered.
	head, last := byte(end), byte(0)
	if len(elem) < 1<<6 {
		head = 0x80 | byte(len(elem))
		if last = head; len(elem) > 0 {
			last = elem[len(elem)-1]
		}
	}
	for {
		switch c := lp[off]; {
		case c == end:
			return None
		case c == head:
			if lp[off+len(elem)] == last && string(lp[off+1:off+1+len(elem)]) == string(elem) {
				return off
			}
		case c < 0x80 || c >= 0xc0:
			if (isInt || c >= 0xe0) && equalTo(lp, off, elem, n, isInt) {
				return off
			}
		}
		off = After(lp, off)
		for i := 0; i < skip && lp[off] != end; i++ {
			off = After(lp, off)
		}
	}
}

// equalTo is Equal with elem parsed.
func equalTo(lp []byte, off int, elem []byte, n int64, isInt bool) bool {
	text, m, ok := Get(lp, off)
	if ok {
		return isInt && m == n
	}
	return string(text) == string(elem)
}

// Append adds an element at the end.
func Append(lp, elem []byte) []byte {
	lp = begin(lp)
	return insert(lp, len(lp)-1, textElement(elem))
}

// AppendInt adds an integer at the end.
func AppendInt(lp []byte, n int64) []byte {
	lp = begin(lp)
	return insert(lp, len(lp)-1, intElement(n))
}

// Prepend adds an element at the beginning. It must not alias lp.
func Prepend(lp, elem []byte) []byte { return insert(begin(lp), headerSize, textElement(elem)) }

// InsertAt adds an element, which must not alias lp, before the one at off; or, with an offset from After, behind another.
// It will be at off.
func InsertAt(lp []byte, off int, elem []byte) []byte { return insert(lp, off, textElement(elem)) }

// InsertIntAt is InsertAt for an integer.
func InsertIntAt(lp []byte, off int, n int64) []byte { return insert(lp, off, intElement(n)) }

// Replace puts elem, which must not alias lp, in the place of the element at off.
func Replace(lp []byte, off int, elem []byte) []byte { return replace(lp, off, textElement(elem)) }

// ReplaceInt puts an integer in the place of the element at off.
func ReplaceInt(lp []byte, off int, n int64) []byte { return replace(lp, off, intElement(n)) }

// Delete takes n elements out, beginning with the one at off, or all that follow if there are fewer. The element behind
// them, if there is one, is then at off.
func Delete(lp []byte, off, n int) []byte {
	to, deleted := off, 0
	for deleted < n && lp[to] != end {
		to = After(lp, to)
		deleted++
	}
	lp = append(lp[:off], lp[to:]...)
	return finish(lp, -deleted)
}

// Join adds the elements of another listpack, which must not be lp, at the end.
func Join(lp, other []byte) []byte {
	lp = begin(lp)
	if First(other) == None {
		return lp
	}
	lp = append(lp[:len(lp)-1], other[headerSize:]...)
	if n := count(other); n != uncounted {
		return finish(lp, n)
	}
	return finish(lp, uncounted)
}

// finish brings the header up to date after the number of elements changed by delta. A count that is lost stays so.
func finish(lp []byte, delta int) []byte {
	if len(lp) > SizeMax {
		panic("store: listpack too large")
	}
	binary.LittleEndian.PutUint32(lp, uint32(len(lp)))
	if n := count(lp); n != uncounted {
		binary.LittleEndian.PutUint16(lp[countAt:], uint16(min(n+delta, uncounted)))
	}
	return lp
}

func insert(lp []byte, off int, e element) []byte {
	n := e.size + backlenSize(e.size)
	old := len(lp)
	lp = slices.Grow(lp, n)[:old+n]
	copy(lp[off+n:], lp[off:old])
	e.put(lp[off : off+n])
	return finish(lp, 1)
}

func replace(lp []byte, off int, e element) []byte {
	n := e.size + backlenSize(e.size)
	after := After(lp, off)
	if grow := n - (after - off); grow > 0 {
		old := len(lp)
		lp = slices.Grow(lp, grow)[:old+grow]
		copy(lp[off+n:], lp[after:old])
	} else if grow < 0 {
		lp = append(lp[:off+n], lp[after:]...)
	}
	e.put(lp[off : off+n])
	return finish(lp, 0)
}
