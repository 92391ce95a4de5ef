package stream

import (
	"unsafe"

	"github.com/tidwall/btree"

	"kvserver/store/pages"
)

// Blocks that are full are never appended to again, so they are packed without gaps into chunks: runs of pages outside the
// Go heap. What comes first is deleted first, in nearly every use of a stream; so a chunk mostly becomes free as a whole.
// One that does not is compacted when half of it is gone. Streams of a few blocks, and very large blocks, have blocks on
// the Go heap, each a chunk of its own and just as large as it must be.
const (
	// heapBytesMax is up to which size in all a stream has its blocks on the Go heap.
	heapBytesMax = 8 * pages.Size
	// sharedBytesMax is the largest block that shares a chunk with others.
	sharedBytesMax = 8 * pages.Size
	// chunkPagesMin and chunkPagesMax bound the chunks; in between they are a quarter of what the stream has.
	chunkPagesMin = 4
	chunkPagesMax = 32
)

// sealed says where a full block is.
type sealed struct {
	first ID
	chunk uint32 // index
	off   uint32
	size  uint32
}

func sealedLess(a, b sealed) bool { return a.first.Less(b.first) }

type chunk struct {
	mem  []byte
	run  pages.Run // 0: on the Go heap
	used int
	live int // bytes of blocks that are still there
}

// chunks are the chunks of a stream.
type chunks struct {
	pool    *pages.Pool
	table   []chunk
	free    []uint32 // indexes of table not in use
	current uint32   // the index of the chunk to put blocks into, plus 1; 0: none
	bytes   int64    // of all of them
	heap    int64    // of those on the Go heap
}

// block returns the bytes of a block.
func (m *chunks) block(at sealed) []byte {
	end := at.off + at.size
	return m.table[at.chunk].mem[at.off:end:end]
}

// put copies a block. It returns where, but for the ID.
func (m *chunks) put(b []byte) sealed {
	if len(b) > sharedBytesMax || m.bytes+int64(len(b)) <= heapBytesMax {
		return m.own(append(make([]byte, 0, len(b)), b...))
	}
	if m.current == 0 || len(m.table[m.current-1].mem)-m.table[m.current-1].used < len(b) {
		n := min(max(int(m.bytes/4/pages.Size), chunkPagesMin), chunkPagesMax)
		m.current = m.alloc(max(n, pagesFor(len(b)))) + 1
	}
	return m.putIn(m.current-1, b)
}

// putIn copies a block into a chunk that has the room.
func (m *chunks) putIn(index uint32, b []byte) sealed {
	c := &m.table[index]
	at := sealed{chunk: index, off: uint32(c.used), size: uint32(len(b))}
	copy(c.mem[c.used:], b)
	c.used += len(b)
	c.live += len(b)
	return at
}

// own makes a block on the Go heap, which the caller gives up, a chunk of its own.
func (m *chunks) own(b []byte) sealed {
	m.bytes += int64(cap(b))
	m.heap += int64(cap(b))
	index := m.add(chunk{mem: b, used: len(b), live: len(b)})
	return sealed{chunk: index, size: uint32(len(b))}
}

func pagesFor(size int) int { return (size + pages.Size - 1) / pages.Size }

func (m *chunks) alloc(n int) uint32 {
	mem, run := m.pool.Alloc(n)
	m.bytes += int64(len(mem))
	return m.add(chunk{mem: mem, run: run})
}

func (m *chunks) add(c chunk) uint32 {
	if n := len(m.free); n > 0 {
		index := m.free[n-1]
		m.free = m.free[:n-1]
		m.table[index] = c
		return index
	}
	m.table = append(m.table, c)
	return uint32(len(m.table) - 1)
}

// drop gives the bytes of a block back. It reports whether the rest of its chunk had better be moved.
func (m *chunks) drop(at sealed) (sparse bool) {
	c := &m.table[at.chunk]
	c.live -= int(at.size)
	if c.live == 0 {
		m.release(at.chunk)
		return false
	}
	return c.run != 0 && at.chunk+1 != m.current && pagesFor(c.live) <= len(c.mem)/pages.Size/2
}

func (m *chunks) release(index uint32) {
	c := &m.table[index]
	m.bytes -= int64(cap(c.mem))
	if c.run != 0 {
		m.pool.Free(c.run)
	} else {
		m.heap -= int64(cap(c.mem))
	}
	if index+1 == m.current {
		m.current = 0
	}
	*c = chunk{}
	m.free = append(m.free, index)
	if len(m.free) == len(m.table) {
		m.table, m.free = nil, nil
	}
}

// releaseAll gives everything back.
func (m *chunks) releaseAll() {
	for i := range m.table {
		if m.table[i].run != 0 {
			m.pool.Free(m.table[i].run)
		}
	}
	*m = chunks{pool: m.pool}
}

// itemShare is how much of the memory of a tree's nodes items take when they come in order: nodes stay half full.
const itemShare = 2

const (
	treeBytes    = int64(unsafe.Sizeof(btree.BTreeG[ID]{}))
	sealedBytes  = itemShare * int64(unsafe.Sizeof(sealed{}))
	pendingBytes = itemShare * int64(unsafe.Sizeof(Pending{})+unsafe.Sizeof(ID{}))
)

// HeapBytes returns what the stream takes on the Go heap, trees estimated. O(1).
func (s *Stream) HeapBytes() int64 {
	n := int64(unsafe.Sizeof(*s)) + int64(cap(s.open)) + s.heap + s.groupBytes +
		int64(cap(s.table))*int64(unsafe.Sizeof(chunk{})) + 4*int64(cap(s.free))
	if s.blocks != nil {
		n += treeBytes + int64(s.blocks.Len())*sealedBytes
	}
	return n
}

// Footprint returns all the bytes that the stream holds. O(1).
func (s *Stream) Footprint() int64 { return s.HeapBytes() + s.bytes - s.heap }

func (g *Group) bytes() int64 {
	n := int64(unsafe.Sizeof(*g)) + int64(len(g.Name)) + treeBytes + int64(g.pending.Len())*pendingBytes
	for _, c := range g.consumers {
		n += c.bytes()
	}
	return n
}

// bytes returns what a consumer takes, apart from what is pending for it.
func (c *Consumer) bytes() int64 { return int64(unsafe.Sizeof(*c)) + int64(len(c.Name)) + treeBytes }

// compact moves the blocks that are left in a sparse chunk to one that they fill. The blocks of a chunk follow each other in
// the order of IDs, but for blocks on the Go heap between them, so only those around id are looked at.
func (s *Stream) compact(index uint32, id ID) {
	var left []sealed
	take := func(at sealed) bool {
		if at.chunk == index {
			left = append(left, at)
		}
		return at.chunk == index || s.table[at.chunk].run == 0
	}
	s.blocks.Descend(sealed{first: id}, take)
	s.blocks.Ascend(sealed{first: id}, take)
	to := s.alloc(pagesFor(s.table[index].live))
	for _, at := range left {
		moved := s.putIn(to, s.block(at))
		moved.first = at.first
		s.blocks.Set(moved)
	}
	s.release(index)
}
