//go:build unix && !race

package pages

import "golang.org/x/sys/unix"

// reserve maps n bytes, none of which is resident until it is touched. Huge pages are not asked for: returning a run of
// small ones breaks them up again (2 MiB of 13 remained huge after a load of 100,000 keys), and lookups became no faster.
func reserve(n int) []byte {
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		panic("pages: out of memory: mmap: " + err.Error())
	}
	return mem
}

// unmap undoes reserve.
func unmap(mem []byte) {
	if err := unix.Munmap(mem); err != nil {
		panic("pages: munmap: " + err.Error())
	}
}

// release gives the memory of whole pages back to the system; they stay mapped. A refusal costs memory and nothing else.
func release(mem []byte) { _ = unix.Madvise(mem, unix.MADV_DONTNEED) }

// poison does nothing: see map_heap.go.
func poison([]byte) {}
