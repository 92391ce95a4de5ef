package rdb

import (
	"encoding/binary"
	"math"
	"strconv"
)

// Reader reads what Open returned, or a part of a file. After the first thing that is not as it should be, everything
// reads as zero or empty, and Err returns an error: so callers check once, at the end or before they do something that
// cannot be taken back. Whatever the bytes say, no more is allocated than they can stand for.
type Reader struct {
	rest     []byte
	bytesMax int
	failed   bool
	text     []byte // decimal forms handed out; replaced by a new block when it is full
}

// NewReader returns a reader of b. Strings longer than bytesMax bytes are refused.
func NewReader(b []byte, bytesMax int) *Reader { return &Reader{rest: b, bytesMax: bytesMax} }

// Err returns ErrFormat if something could not be read.
func (r *Reader) Err() error {
	if r.failed {
		return ErrFormat
	}
	return nil
}

// Fail makes Err return an error: what was read cannot be part of a value.
func (r *Reader) Fail() { r.failed, r.rest = true, nil }

// Rest returns the number of bytes not read yet.
func (r *Reader) Rest() int { return len(r.rest) }

// Type reads the type of a value.
func (r *Reader) Type() Type { return Type(r.byte()) }

// Bytes reads n bytes. They alias what is read from.
func (r *Reader) Bytes(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.Fail()
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *Reader) byte() byte {
	b := r.Bytes(1)
	if b == nil {
		return 0
	}
	return b[0]
}

// Length reads a length that does not say how many bytes or elements follow, such as a part of a stream's ID.
func (r *Reader) Length() uint64 {
	n, isLength := r.lengthOrEncoding()
	if !isLength {
		r.Fail()
		return 0
	}
	return n
}

// lengthOrEncoding reads a length, or the encoding of a string.
func (r *Reader) lengthOrEncoding() (n uint64, isLength bool) {
	first := r.byte()
	switch {
	case first&kindMask == 0:
		return uint64(first), true
	case first&kindMask == length14:
		if b := r.Bytes(1); b != nil {
			return uint64(first&valueMask)<<8 | uint64(b[0]), true
		}
	case first == length32:
		if b := r.Bytes(4); b != nil {
			return uint64(binary.BigEndian.Uint32(b)), true
		}
	case first == length64:
		if b := r.Bytes(8); b != nil {
			return binary.BigEndian.Uint64(b), true
		}
	case first&kindMask == encoded:
		return uint64(first & valueMask), false
	default:
		r.Fail()
	}
	return 0, true
}

// Count reads the number of elements that follow, each of which takes at least the given number of bytes.
func (r *Reader) Count(elementBytes int) int {
	n := r.Length()
	if n > uint64(len(r.rest)/elementBytes) {
		r.Fail()
		return 0
	}
	return int(n)
}

// String reads a string. Its bytes may alias what is read from.
func (r *Reader) String() []byte {
	n, isLength := r.lengthOrEncoding()
	if isLength {
		if n > uint64(min(len(r.rest), r.bytesMax)) {
			r.Fail()
			return nil
		}
		return r.Bytes(int(n))
	}
	switch n {
	case encInt8:
		return r.decimal(int64(int8(r.byte())))
	case encInt16:
		if b := r.Bytes(2); b != nil {
			return r.decimal(int64(int16(binary.LittleEndian.Uint16(b))))
		}
	case encInt32:
		if b := r.Bytes(4); b != nil {
			return r.decimal(int64(int32(binary.LittleEndian.Uint32(b))))
		}
	case encLZF:
		return r.compressed()
	default:
		r.Fail()
	}
	return nil
}

const (
	decimalLenMax = len("-2147483648")
	textBlockSize = 1024
)

func (r *Reader) decimal(n int64) []byte {
	if cap(r.text)-len(r.text) < decimalLenMax {
		r.text = make([]byte, 0, textBlockSize)
	}
	from := len(r.text)
	r.text = strconv.AppendInt(r.text, n, 10)
	return r.text[from:len(r.text):len(r.text)]
}

func (r *Reader) compressed() []byte {
	packedLen, n := r.Length(), r.Length()
	if packedLen > uint64(len(r.rest)) || n > uint64(r.bytesMax) {
		r.Fail()
		return nil
	}
	b, ok := decompressed(r.Bytes(int(packedLen)), int(n))
	if !ok {
		r.Fail()
		return nil
	}
	return b
}

// Double reads what AppendDouble writes. NaN is not refused.
func (r *Reader) Double() float64 {
	b := r.Bytes(8)
	if b == nil {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// The lengths of a decimal number that stand for what has none.
const (
	textNaN         = 253
	textInfinite    = 254
	textNegInfinite = 255
)

// TextDouble reads a score of a ZsetText: a length of one byte and a decimal number. NaN is refused.
func (r *Reader) TextDouble() float64 {
	n := r.byte()
	switch n {
	case textInfinite:
		return math.Inf(1)
	case textNegInfinite:
		return math.Inf(-1)
	case textNaN:
		r.Fail()
		return 0
	}
	f, err := strconv.ParseFloat(string(r.Bytes(int(n))), 64)
	if err != nil || math.IsNaN(f) {
		r.Fail()
		return 0
	}
	return f
}

// Time reads what AppendTime writes.
func (r *Reader) Time() int64 {
	b := r.Bytes(8)
	if b == nil {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(b))
}

// Node reads a node of a ListQuicklist: a listpack, or one element if it is plain.
func (r *Reader) Node() (b []byte, plain bool) {
	switch r.Length() {
	case quicklistPlain:
		return r.String(), true
	case quicklistPacked:
		return r.String(), false
	}
	r.Fail()
	return nil, false
}
