//go:build !unix || race

package pages

import "unsafe"

// reserve takes n bytes from the Go heap, aligned for words.
func reserve(n int) []byte {
	words := make([]uint64, n/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n)
}

func unmap([]byte) {}

// release does nothing: a chunk on the Go heap stays resident as a whole.
func release([]byte) {}

// poison overwrites a run that is being freed, so that bytes kept too long are noticed by tests under the race detector.
func poison(mem []byte) {
	mem[0] = 0xdb
	for n := 1; n < len(mem); n *= 2 {
		copy(mem[n:], mem[:n])
	}
}
