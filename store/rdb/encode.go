package rdb

import (
	"encoding/binary"
	"math"
	"strconv"
)

// The first byte of lengths and of encoded strings.
const (
	length14  = 0x40
	length32  = 0x80
	length64  = 0x81
	encoded   = 0xc0 // or one of the next four
	encInt8   = 0
	encInt16  = 1
	encInt32  = 2
	encLZF    = 3
	kindMask  = 0xc0
	valueMask = 0x3f
)

// AppendLength appends a length, or another number that is written as one.
func AppendLength(dst []byte, n uint64) []byte {
	switch {
	case n < 1<<6:
		return append(dst, byte(n))
	case n < 1<<14:
		return append(dst, length14|byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, length32), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, length64), n)
}

// compressFrom is the length in bytes from which a string is worth compressing, as in Redis.
const compressFrom = 21

// AppendString appends a string in the shortest form: as an integer, compressed, or as it is.
func AppendString(dst, s []byte) []byte {
	if n, ok := smallInteger(s); ok {
		return appendInt32(dst, n)
	}
	if len(s) >= compressFrom {
		if packed, ok := compressed(s); ok {
			dst = AppendLength(append(dst, encoded|encLZF), uint64(len(packed)))
			dst = AppendLength(dst, uint64(len(s)))
			return append(dst, packed...)
		}
	}
	return append(AppendLength(dst, uint64(len(s))), s...)
}

// AppendInteger appends the string that is the decimal form of n.
func AppendInteger(dst []byte, n int64) []byte {
	if n == int64(int32(n)) {
		return appendInt32(dst, int32(n))
	}
	var digits [20]byte
	text := strconv.AppendInt(digits[:0], n, 10)
	return append(AppendLength(dst, uint64(len(text))), text...)
}

func appendInt32(dst []byte, n int32) []byte {
	switch {
	case n == int32(int8(n)):
		return append(dst, encoded|encInt8, byte(n))
	case n == int32(int16(n)):
		return binary.LittleEndian.AppendUint16(append(dst, encoded|encInt16), uint16(n))
	}
	return binary.LittleEndian.AppendUint32(append(dst, encoded|encInt32), uint32(n))
}

// smallInteger returns the integer of 32 bits that s is the canonical decimal form of.
func smallInteger(s []byte) (int32, bool) {
	if len(s) == 0 || len(s) > len("-2147483648") || s[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(string(s), 10, 32)
	if err != nil {
		return 0, false
	}
	var digits [11]byte
	return int32(n), string(strconv.AppendInt(digits[:0], n, 10)) == string(s)
}

// AppendDouble appends a floating point number, 8 bytes.
func AppendDouble(dst []byte, f float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
}

// AppendTime appends a time in ms, 8 bytes.
func AppendTime(dst []byte, ms int64) []byte {
	return binary.LittleEndian.AppendUint64(dst, uint64(ms))
}

// AppendPacked appends a node of a ListQuicklist that is a listpack.
func AppendPacked(dst, listpack []byte) []byte {
	return AppendString(AppendLength(dst, quicklistPacked), listpack)
}

// AppendPlain appends a node of a ListQuicklist that is one element.
func AppendPlain(dst, element []byte) []byte {
	return AppendString(AppendLength(dst, quicklistPlain), element)
}
