// Package intset is Redis's intset: a sorted array of distinct integers as one block of bytes, as it stands in memory
// and in the payloads of DUMP and RDB files:
//
//	offset  size
//	0       4     width of a value in bytes: 2, 4 or 8
//	4       4     number of values
//	8       …     the values, ascending, signed
//
// All numbers are little-endian. The width is that of the widest value that was ever added: a value that does not fit
// widens all others, and removing it does not narrow them. Example: {-1, 300} is
//
//	02 00 00 00  02 00 00 00  ff ff  2c 01
//
// Contains is O(log n), Add and Remove move the values behind: O(n), with n below a thousand in practice, where that is
// some tens of nanoseconds.
//
// A set is a []byte; an empty or nil one is the empty set, so that no constructor is needed. Except for Validate, the
// functions trust their argument: bytes from outside must have passed Validate.
package intset

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sort"
)

const (
	widthAt    = 0
	lenAt      = 4
	headerSize = 8
)

// ErrInvalid is what Validate returns for bytes that are not an intset.
var ErrInvalid = errors.New("intset: invalid encoding")

// widthOf returns the bytes that a value takes.
func widthOf(n int64) int {
	switch {
	case n >= math.MinInt16 && n <= math.MaxInt16:
		return 2
	case n >= math.MinInt32 && n <= math.MaxInt32:
		return 4
	}
	return 8
}

func width(set []byte) int { return int(set[widthAt]) }

func setLen(set []byte, n int) { binary.LittleEndian.PutUint32(set[lenAt:], uint32(n)) }

// Len returns the number of values.
func Len(set []byte) int {
	if len(set) == 0 {
		return 0
	}
	return int(binary.LittleEndian.Uint32(set[lenAt:]))
}

// At returns the value of rank i, counted from 0 for the smallest.
func At(set []byte, i int) int64 { return load(set[headerSize:], width(set), i) }

// load returns the i-th value of the given width.
func load(values []byte, width, i int) int64 {
	switch width {
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(values[2*i:])))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(values[4*i:])))
	}
	return int64(binary.LittleEndian.Uint64(values[8*i:]))
}

func store(values []byte, width, i int, n int64) {
	switch width {
	case 2:
		binary.LittleEndian.PutUint16(values[2*i:], uint16(n))
	case 4:
		binary.LittleEndian.PutUint32(values[4*i:], uint32(n))
	default:
		binary.LittleEndian.PutUint64(values[8*i:], uint64(n))
	}
}

// find returns the rank of n, or the one that it would have.
func find(set []byte, n int64) (rank int, found bool) {
	size := Len(set)
	// Values that are added in ascending order, such as IDs, are the most frequent case.
	if size == 0 || n > At(set, size-1) {
		return size, false
	}
	rank = sort.Search(size-1, func(i int) bool { return At(set, i) >= n })
	return rank, At(set, rank) == n
}

// Contains reports whether n is in the set.
func Contains(set []byte, n int64) bool {
	_, found := find(set, n)
	return found
}

// Add returns the set with n, and whether n is new. Like append it works in the array of set if the capacity suffices.
func Add(set []byte, n int64) ([]byte, bool) {
	if len(set) == 0 {
		set = append(set, byte(widthOf(n)), 0, 0, 0, 0, 0, 0, 0)
	}
	if widthOf(n) > width(set) {
		return widen(set, n), true
	}
	rank, found := find(set, n)
	if found {
		return set, false
	}
	size, w := Len(set), width(set)
	set = slices.Grow(set, w)[:len(set)+w]
	values := set[headerSize:]
	copy(values[(rank+1)*w:], values[rank*w:size*w])
	store(values, w, rank, n)
	setLen(set, size+1)
	return set, true
}

// widen returns the set with n, which does not fit its width: it is beyond all others, at one end or the other.
func widen(set []byte, n int64) []byte {
	size, from, to := Len(set), width(set), widthOf(n)
	set = slices.Grow(set, headerSize+(size+1)*to-len(set))[:headerSize+(size+1)*to]
	values := set[headerSize:]
	shift := 0
	if n < 0 {
		shift = 1
	}
	// From the end, since the wider values reach over narrower ones that lie behind.
	for i := size - 1; i >= 0; i-- {
		store(values, to, i+shift, load(values, from, i))
	}
	if n < 0 {
		store(values, to, 0, n)
	} else {
		store(values, to, size, n)
	}
	set[widthAt] = byte(to)
	setLen(set, size+1)
	return set
}

// Remove returns the set without n, and whether n was in it. It works in the array of set.
func Remove(set []byte, n int64) ([]byte, bool) {
	rank, found := find(set, n)
	if !found {
		return set, false
	}
	return RemoveAt(set, rank), true
}

// RemoveAt returns the set without the value of rank i. It works in the array of set.
func RemoveAt(set []byte, i int) []byte {
	size, w := Len(set), width(set)
	values := set[headerSize:]
	copy(values[i*w:], values[(i+1)*w:size*w])
	setLen(set, size-1)
	return set[:len(set)-w]
}

// Validate returns ErrInvalid unless the bytes, which may come from anywhere, are a set with at least one value: the
// length is as the header says, the values ascend.
func Validate(set []byte) error {
	if len(set) < headerSize {
		return ErrInvalid
	}
	w := binary.LittleEndian.Uint32(set[widthAt:])
	if w != 2 && w != 4 && w != 8 {
		return ErrInvalid
	}
	size := uint64(binary.LittleEndian.Uint32(set[lenAt:]))
	if size == 0 || uint64(len(set)) != headerSize+size*uint64(w) {
		return ErrInvalid
	}
	for i := 1; i < int(size); i++ {
		if At(set, i-1) >= At(set, i) {
			return ErrInvalid
		}
	}
	return nil
}
