package listpack

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// ErrCorrupt is what Validate returns.
var ErrCorrupt = errors.New("listpack: corrupt")

// Validate checks bytes of unknown origin: it returns nil if they are a listpack, all of it and nothing else, in which
// every function of this package works. What the elements mean is left to the caller. O(elements).
func Validate(b []byte) error {
	if len(b) < headerSize+1 || len(b) > SizeMax || uint64(binary.LittleEndian.Uint32(b)) != uint64(len(b)) ||
		b[len(b)-1] != end {
		return ErrCorrupt
	}
	off, n := headerSize, 0
	for off < len(b)-1 {
		after := afterChecked(b[:len(b)-1], off)
		if after == None {
			return ErrCorrupt
		}
		off = after
		n++
	}
	if c := count(b); c != uncounted && c != n {
		return ErrCorrupt
	}
	return nil
}

// afterChecked is After for bytes that may be anything; None if no element of b begins at off, which is in b.
func afterChecked(b []byte, off int) int {
	if b[off] > 0xf4 {
		return None
	}
	head := 1
	switch c := b[off]; {
	case c >= 0xe0 && c < 0xf0:
		head = 2
	case c == 0xf0:
		head = 5
	}
	if len(b)-off < head {
		return None
	}
	size := sizeAt(b, off)
	n := backlenSize(size)
	if size > len(b)-off-n {
		return None
	}
	var want [5]byte
	putBacklen(want[:n], size)
	if !bytes.Equal(b[off+size:off+size+n], want[:n]) {
		return None
	}
	return off + size + n
}
