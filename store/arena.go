package store

import (
	"math/bits"
	"unsafe"

	"kvserver/store/pages"
)

// An arena is the memory of a segment: one run without pointers, addressed by offsets.
//
//	| bucket 0 | bucket 1 | … | bucket 2^bucketBits-1 | entries and overflow buckets, as they came | free |
//	0                                                                                              used   size
//
// A bucket is one cache line: 15 slots and a word with the number of slots filled and the overflow bucket, if any. A slot
// is 16 bits of the key's position (the tag) and the offset of the entry in units of 8 bytes, which 16 bits hold since an
// arena is at most 512 KiB. All buckets of a chain but the last are full. Offset 0 is a bucket and so never an entry.
type arena struct {
	base unsafe.Pointer
	size uint32 // bytes
	used uint32 // bytes from the front that were handed out
	dead uint32 // of those, the bytes that nothing live needs
	run  pages.Run
	// bucketBits is the logarithm of the number of buckets.
	bucketBits uint8
}

const (
	bucketSlots   = 15
	bucketSize    = 64
	bucketBitsMax = 6

	// arenaMax is the largest arena, in bytes: what 16 bits can address in units of 8.
	arenaMax = pages.RunMax * pages.Size
	// arenaMin is the smallest arena, in bytes.
	arenaMin = 192
)

type bucket [bucketSlots + 1]uint32

func (b *bucket) count() uint32    { return b[bucketSlots] >> 16 }
func (b *bucket) overflow() uint32 { return b[bucketSlots] & 0xffff * unit }

func (b *bucket) setCount(n uint32)      { b[bucketSlots] = b[bucketSlots]&0xffff | n<<16 }
func (b *bucket) setOverflow(off uint32) { b[bucketSlots] = b[bucketSlots]&^0xffff | off/unit }

func slotOf(tag uint16, off uint32) uint32 { return uint32(tag)<<16 | off/unit }
func tagOf(slot uint32) uint16             { return uint16(slot >> 16) }
func offsetOf(slot uint32) uint32          { return slot & 0xffff * unit }

// newArena returns an arena of at least n bytes with 2^bucketBits empty buckets. Arenas below a page come from the Go
// heap, since a page each would make databases of a few keys expensive.
func (s *Store) newArena(n uint32, bucketBits uint8) arena {
	a := arena{bucketBits: bucketBits, used: bucketSize << bucketBits}
	if n < pages.Size {
		a.size = max(roundUp(n, bucketSize), arenaMin)
		a.base = unsafe.Pointer(unsafe.SliceData(make([]uint64, a.size/8)))
		s.heapBytes.Add(int64(a.size))
		return a
	}
	var mem []byte
	mem, a.run = s.pool.Alloc(int((n + pages.Size - 1) / pages.Size))
	a.base, a.size = unsafe.Pointer(unsafe.SliceData(mem)), uint32(len(mem))
	clear(mem[:a.used])
	return a
}

// live returns the bytes that would remain after compaction.
func (a *arena) live() uint32 { return a.used - a.dead }

func (a *arena) bucketAt(off uint32) *bucket { return (*bucket)(unsafe.Add(a.base, off)) }

func (a *arena) bytes(off, n uint32) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(a.base, off)), n)
}

// take hands out n bytes, which must be free.
func (a *arena) take(n uint32) uint32 {
	off := a.used
	a.used += n
	if a.used > a.size {
		panic("store: arena overrun")
	}
	return off
}

// last returns the last bucket of the chain that begins with bucket home.
func (a *arena) last(home uint32) *bucket {
	b := a.bucketAt(home * bucketSize)
	for b.overflow() != 0 {
		b = a.bucketAt(b.overflow())
	}
	return b
}

// fits reports whether an entry of n bytes can be added to bucket home.
func (a *arena) fits(home, n uint32) bool {
	if a.last(home).count() == bucketSlots {
		n += 2*bucketSize - 1
	}
	return a.size-a.used >= n
}

// place adds a slot to the chain of bucket home, which must have room for an overflow bucket if it is full.
func (a *arena) place(home, slot uint32) {
	b := a.bucketAt(home * bucketSize)
	for b.count() == bucketSlots {
		if b.overflow() == 0 {
			a.chain(b)
		}
		b = a.bucketAt(b.overflow())
	}
	n := b.count()
	b[n] = slot
	b.setCount(n + 1)
}

// chain appends an empty overflow bucket to b.
func (a *arena) chain(b *bucket) {
	gap := roundUp(a.used, bucketSize) - a.used
	a.take(gap)
	a.dead += gap
	off := a.take(bucketSize)
	*a.bucketAt(off) = bucket{}
	b.setOverflow(off)
}

// unplace removes *slot from the chain of bucket home: the last slot of the chain takes its place.
func (a *arena) unplace(home uint32, slot *uint32) {
	var before *bucket
	b := a.bucketAt(home * bucketSize)
	for b.overflow() != 0 {
		before, b = b, a.bucketAt(b.overflow())
	}
	n := b.count() - 1
	*slot = b[n]
	b.setCount(n)
	if n == 0 && before != nil {
		before.setOverflow(0)
		a.dead += bucketSize
	}
}

// each calls fn with every slot of the chain of bucket home. fn must not change the chain.
func (a *arena) each(home uint32, fn func(slot uint32)) {
	for off := home * bucketSize; ; {
		b := a.bucketAt(off)
		for i := range b.count() {
			fn(b[i])
		}
		if off = b.overflow(); off == 0 {
			return
		}
	}
}

// capacityOf returns the number of entries that 2^bucketBits buckets take before there must be more of them: a single
// bucket is filled, several are filled to nine on average, at which one chain in forty has an overflow bucket.
func capacityOf(bucketBits uint8) uint32 {
	if bucketBits == 0 {
		return bucketSlots
	}
	return 9 << bucketBits
}

// bucketBitsFor returns the bucketBits with which n entries have some room to grow.
func bucketBitsFor(n uint32) uint8 {
	if n < bucketSlots {
		return 0
	}
	return min(uint8(bits.Len32((n-1)/8)), bucketBitsMax)
}
