package listpack

import (
	"encoding/binary"
	"math"
)

// element is one that is about to be stored.
type element struct {
	text  []byte // nil if it is an integer
	n     int64
	isInt bool
	size  int // of encoding and data, in bytes
}

func textElement(text []byte) element {
	if n, ok := ParseInteger(text); ok {
		return intElement(n)
	}
	size := len(text)
	switch {
	case size < 1<<6:
		size++
	case size < 1<<12:
		size += 2
	default:
		size += 5
	}
	return element{text: text, size: size}
}

func intElement(n int64) element {
	size := 9
	switch {
	case n >= 0 && n <= 127:
		size = 1
	case n >= -1<<12 && n < 1<<12:
		size = 2
	case n >= -1<<15 && n < 1<<15:
		size = 3
	case n >= -1<<23 && n < 1<<23:
		size = 4
	case n >= -1<<31 && n < 1<<31:
		size = 5
	}
	return element{n: n, isInt: true, size: size}
}

// put writes the element and its backlen to dst, which has just the room.
func (e element) put(dst []byte) {
	if e.isInt {
		e.putInt(dst)
	} else {
		head := e.size - len(e.text)
		switch n := len(e.text); head {
		case 1:
			dst[0] = 0x80 | byte(n)
		case 2:
			dst[0] = 0xe0 | byte(n>>8)
			dst[1] = byte(n)
		default:
			dst[0] = 0xf0
			binary.LittleEndian.PutUint32(dst[1:], uint32(n))
		}
		copy(dst[head:], e.text)
	}
	putBacklen(dst[e.size:], e.size)
}

func (e element) putInt(dst []byte) {
	switch e.size {
	case 1:
		dst[0] = byte(e.n)
	case 2:
		dst[0] = 0xc0 | byte(e.n>>8)&0x1f
		dst[1] = byte(e.n)
	case 3:
		dst[0] = 0xf1
		binary.LittleEndian.PutUint16(dst[1:], uint16(e.n))
	case 4:
		dst[0] = 0xf2
		binary.LittleEndian.PutUint16(dst[1:], uint16(e.n))
		dst[3] = byte(e.n >> 16)
	case 5:
		dst[0] = 0xf3
		binary.LittleEndian.PutUint32(dst[1:], uint32(e.n))
	default:
		dst[0] = 0xf4
		binary.LittleEndian.PutUint64(dst[1:], uint64(e.n))
	}
}

// backlenSize returns the bytes that the length of an element of this size takes. The limits are Redis's: the largest
// number that would fit goes into the next size.
func backlenSize(size int) int {
	switch {
	case size <= 1<<7-1:
		return 1
	case size < 1<<14-1:
		return 2
	case size < 1<<21-1:
		return 3
	case size < 1<<28-1:
		return 4
	}
	return 5
}

// putBacklen fills dst, which has backlenSize(size) bytes.
func putBacklen(dst []byte, size int) {
	for i := len(dst) - 1; i > 0; i-- {
		dst[i] = byte(size) | 0x80
		size >>= 7
	}
	dst[0] = byte(size)
}

// spans are what elements take, backlen included, by their first byte; 0 for strings of 64 bytes and more. Looking that up
// is faster than telling the encodings apart where they mix.
var spans = func() (table [256]uint8) {
	for c := range table {
		switch {
		case c < 0x80:
			table[c] = 2
		case c < 0xc0:
			table[c] = uint8(c&0x3f) + 2
		case c < 0xe0:
			table[c] = 3
		}
	}
	table[0xf1], table[0xf2], table[0xf3], table[0xf4] = 4, 5, 6, 10
	return table
}()

// sizeAt returns the size of encoding and data of the element at off.
func sizeAt(lp []byte, off int) int {
	c := lp[off]
	switch {
	case c < 0x80:
		return 1
	case c < 0xc0:
		return 1 + int(c&0x3f)
	case c < 0xe0:
		return 2
	case c < 0xf0:
		return 2 + int(c&0x0f)<<8 + int(lp[off+1])
	}
	switch c {
	case 0xf0:
		return 5 + int(binary.LittleEndian.Uint32(lp[off+1:]))
	case 0xf1:
		return 3
	case 0xf2:
		return 4
	case 0xf3:
		return 5
	case 0xf4:
		return 9
	}
	panic("store: no element of a listpack")
}

// ParseInteger returns the integer that s is the canonical decimal form of: no plus sign, no leading zeros, no "-0", no
// blanks.
func ParseInteger(s []byte) (int64, bool) {
	if len(s) == 0 || len(s) > IntegerLenMax {
		return 0, false
	}
	digits := s
	if s[0] == '-' {
		digits = s[1:]
	}
	if len(digits) == 0 || digits[0] == '0' && len(s) > 1 {
		return 0, false
	}
	n := uint64(0)
	for _, c := range digits {
		d := uint64(c - '0')
		if d > 9 || n > (math.MaxUint64-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	if s[0] == '-' {
		return -int64(n), n <= 1<<63
	}
	return int64(n), n <= math.MaxInt64
}
