package rdb

import (
	"math"
	"sync"
)

// LZF (Marc Lehmann's liblzf) is a byte-wise LZ77. Compressed text is a row of literal runs and references to what came
// before:
//
//	000nnnnn                     n+1 bytes follow as they are: 1 to 32
//	nnnooooo oooooooo            n+2 bytes, 3 to 8, from o+1 bytes back: 1 to 8192
//	111ooooo nnnnnnnn oooooooo   n+9 bytes, 9 to 264
//
// A reference may reach into what it produces, which repeats it. For example 40 times "a" is 00 61 e0 1e 00: one letter as
// it is, then 39 bytes from one back.
const (
	lzfLiteralMax = 32
	lzfOffsetMax  = 1 << 13
	lzfMatchMin   = 3
	lzfMatchMax   = 264
	lzfShort      = 7 // the value of n that says that its own byte follows
	// lzfRatioMax is how many bytes one compressed byte stands for at most.
	lzfRatioMax = lzfMatchMax / lzfMatchMin
)

// decompressed returns the n bytes that src stands for; ok is false if it does not stand for exactly n.
func decompressed(src []byte, n int) (dst []byte, ok bool) {
	if n/lzfRatioMax > len(src) {
		return nil, false
	}
	dst = make([]byte, 0, n)
	for i := 0; i < len(src); {
		control := int(src[i])
		i++
		if control < lzfLiteralMax {
			run := control + 1
			if run > len(src)-i || run > n-len(dst) {
				return nil, false
			}
			dst = append(dst, src[i:i+run]...)
			i += run
			continue
		}
		size := control >> 5
		if size == lzfShort {
			if i == len(src) {
				return nil, false
			}
			size += int(src[i])
			i++
		}
		size += lzfMatchMin - 1
		if i == len(src) {
			return nil, false
		}
		from := len(dst) - 1 - (control&0x1f)<<8 - int(src[i])
		i++
		if from < 0 || size > n-len(dst) {
			return nil, false
		}
		for end := from + size; from < end; {
			// Where the reference overlaps itself, each round copies what is there, twice as much as the last.
			part := dst[from:min(end, len(dst))]
			dst = append(dst, part...)
			from += len(part)
		}
	}
	return dst, len(dst) == n
}

// lzfSaving is how many bytes compression must save to be used, as in Redis.
const lzfSaving = 4

// compressor finds for every three bytes the last place where others of the same hash were: one pass, no search. Places of
// texts compressed before are known by being too low, so that the table need not be cleared for each of a million short
// texts.
type compressor struct {
	seen [1 << lzfHashBits]uint32 // base + place + 1
	base uint32
}

const lzfHashBits = 12

var compressors = sync.Pool{New: func() any { return new(compressor) }}

// compressed returns s compressed; ok is false if that is not worth it.
func compressed(s []byte) (dst []byte, ok bool) {
	c := compressors.Get().(*compressor)
	dst, ok = c.compress(s)
	compressors.Put(c)
	return dst, ok
}

// lzfHash is of the three bytes at s[i].
func lzfHash(s []byte, i int) uint32 {
	return (uint32(s[i])<<16 | uint32(s[i+1])<<8 | uint32(s[i+2])) * 2654435761 >> (32 - lzfHashBits)
}

func (c *compressor) compress(s []byte) (dst []byte, ok bool) {
	if uint64(len(s)) >= math.MaxUint32-uint64(c.base) {
		if *c = (compressor{}); uint64(len(s)) >= math.MaxUint32 {
			return nil, false
		}
	}
	limit := len(s) - lzfSaving
	dst = make([]byte, 0, limit)
	literal := 0 // where the bytes begin that are not written yet
	for i := 0; i+lzfMatchMin <= len(s) && len(dst) <= limit; {
		place := &c.seen[lzfHash(s, i)]
		ref := int(int64(*place) - int64(c.base) - 1)
		*place = c.base + uint32(i) + 1
		if ref < 0 || i-ref > lzfOffsetMax || string(s[ref:ref+lzfMatchMin]) != string(s[i:i+lzfMatchMin]) {
			i++
			continue
		}
		size := lzfMatchMin
		for size < lzfMatchMax && i+size < len(s) && s[ref+size] == s[i+size] {
			size++
		}
		dst = appendLiterals(dst, s[literal:i])
		dst = appendReference(dst, i-ref-1, size-lzfMatchMin+1)
		i += size
		literal = i
	}
	c.base += uint32(len(s))
	dst = appendLiterals(dst, s[literal:])
	return dst, len(dst) <= limit
}

func appendLiterals(dst, s []byte) []byte {
	for len(s) > 0 {
		run := s[:min(len(s), lzfLiteralMax)]
		dst = append(append(dst, byte(len(run)-1)), run...)
		s = s[len(run):]
	}
	return dst
}

// appendReference appends one to the bytes that begin offset+1 bytes back; n is their number less two.
func appendReference(dst []byte, offset, n int) []byte {
	if n < lzfShort {
		return append(dst, byte(n<<5|offset>>8), byte(offset))
	}
	return append(dst, byte(lzfShort<<5|offset>>8), byte(n-lzfShort), byte(offset))
}
