//go:build !unix || race

package pages

import "unsafe"

// reserve takes n bytes from the Go heap, aligned for words.
func reserve(n int) []byte {
	words := make([]uint64, n/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n)
}

func unmap([]byte) {}

// release clears the pages, as the system would by the time they are used again.
func release(mem []byte) { clear(mem) }

// poison overwrites a run that is being freed, so that bytes kept too long are noticed by tests under the race detector.
func poison(mem []byte) {
	mem[0] = 0xdb
	for n := 1; n < len(mem); n *= 2 {
		copy(mem[n:], mem[:n])
	}
}
