// Package pages hands out runs of 4 KiB pages that lie outside the Go heap, so that the collector neither scans nor
// counts them and so that what is freed can go back to the operating system.
//
// Memory is reserved in chunks of 16 MiB. Inside a chunk a run of 1 to RunMax pages is found by best fit, and a freed run
// coalesces with its free neighbours. A page is *dirty* from the moment it is handed out until the system takes it back;
// free dirty runs are preferred when handing out, since they cost no page fault. When the free dirty pages exceed 1/32 of
// the pages in use, Free returns some of them, largest runs first, in steps of bounded size. A chunk without any run in
// use is unmapped, except one that is kept as a spare.
//
//	chunk   |run in use|free, dirty|run in use|run in use|free, clean ............|
//	state    size……size size……size                        size                 size
//
// The size of a run is written at its first and its last page, in a table of the chunk's own: that is all that coalescing
// needs. The tables hold no pointers and take 0.3 % of the chunk.
//
// Under the race detector, and where there is no mmap, chunks come from the Go heap: the detector sees only Go's memory.
package pages

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

const (
	// Size is the size of a page in bytes.
	Size = 4096
	// RunMax is the length of the longest run, in pages: 512 KiB.
	RunMax = 128

	chunkPages = 4096
	chunkBytes = chunkPages * Size

	// dirtyFreePagesMin is the number of free dirty pages below which none is returned: 2 MiB.
	dirtyFreePagesMin = 512
	// dirtyFreeShare is the share of the pages in use, 1/32, above which free dirty pages are returned.
	dirtyFreeShare = 32
	// returnPagesMax bounds what one Free gives back, and so how long it holds the lock: 1 MiB, some 50 µs.
	returnPagesMax = 256

	// bigBin lists the free runs longer than RunMax; bin n below it those of n pages.
	bigBin   = RunMax + 1
	binCount = bigBin + 1
	none     = 0
)

// Run names a run of pages in a Pool. The zero Run names none.
type Run uint32

// A Run's number is chunk index × chunkPages + page + 1.
func runAt(chunk int, page int) Run { return Run(chunk*chunkPages + page + 1) }

func (r Run) chunk() int { return int(r-1) / chunkPages }
func (r Run) page() int  { return int(r-1) % chunkPages }

// Pool is an allocator of page runs. Its methods may be called from any goroutine; its lock is a leaf: nothing is called
// under it but the operating system.
type Pool struct {
	inUse    atomic.Int64 // pages
	reserved atomic.Int64 // pages

	mu struct {
		sync.Mutex
		chunks    []*chunk // by index; nil where a chunk was unmapped
		lists     [2]freeLists
		dirtyFree int // pages
		spare     *chunk
	}
}

// The two sets of free lists.
const (
	clean = 0
	dirty = 1
)

type freeLists struct {
	head     [binCount]Run
	nonEmpty [(binCount + 63) / 64]uint64
}

type chunk struct {
	mem   []byte
	index int
	inUse int // pages

	next, prev [chunkPages]Run    // links of a free run, at its first page
	size       [chunkPages]uint16 // pages of the run that begins or ends here
	free       [chunkPages]bool   // at the first and last page of a free run
	dirty      [chunkPages / 64]uint64
}

// New makes a Pool that holds no memory yet.
func New() *Pool { return &Pool{} }

// InUse returns the bytes of all runs handed out and not freed.
func (p *Pool) InUse() int64 { return p.inUse.Load() * Size }

// Reserved returns the bytes of address space held, most of which need not be resident.
func (p *Pool) Reserved() int64 { return p.reserved.Load() * Size }

// Alloc hands out a run of n pages, 1 to RunMax, with undefined contents. It panics when the system has no memory left,
// as the Go runtime does.
func (p *Pool) Alloc(n int) ([]byte, Run) {
	if n < 1 || n > RunMax {
		panic("pages: run length out of range")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r, kind := p.bestFitLocked(n)
	if r == none {
		r, kind = p.addChunkLocked(), clean
	}
	c := p.mu.chunks[r.chunk()]
	at := r.page()
	length := int(c.size[at])
	p.unlinkLocked(c, at, kind)
	if length > n {
		p.linkLocked(c, at+n, length-n)
	}
	c.mark(at, n, false)
	c.setDirty(at, n)
	if c.inUse == 0 && p.mu.spare == c {
		p.mu.spare = nil
	}
	c.inUse += n
	p.inUse.Add(int64(n))
	return c.mem[at*Size : (at+n)*Size : (at+n)*Size], r
}

// Free takes a run back. Its bytes must not be used afterwards.
func (p *Pool) Free(r Run) {
	if gone := p.free(r); gone != nil {
		unmap(gone.mem)
	}
}

// free returns a chunk to be unmapped outside the lock, or nil.
func (p *Pool) free(r Run) *chunk {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.mu.chunks[r.chunk()]
	at := r.page()
	n := int(c.size[at])
	if n == 0 || c.free[at] {
		panic("pages: freed a run that is not in use")
	}
	poison(c.mem[at*Size : (at+n)*Size])
	c.inUse -= n
	p.inUse.Add(-int64(n))
	if at > 0 && c.free[at-1] {
		before := int(c.size[at-1])
		p.unlinkLocked(c, at-before, c.kind(at-before))
		at, n = at-before, n+before
	}
	if end := at + n; end < chunkPages && c.free[end] {
		after := int(c.size[end])
		p.unlinkLocked(c, end, c.kind(end))
		n += after
	}
	p.linkLocked(c, at, n)
	if c.inUse == 0 {
		return p.retireLocked(c)
	}
	p.returnDirtyLocked()
	return nil
}

// retireLocked keeps the empty chunk c as the spare, its memory returned, or takes it out of the pool if there is one.
func (p *Pool) retireLocked(c *chunk) *chunk {
	if p.mu.spare == nil {
		p.mu.spare = c
		p.cleanLocked(c, 0)
		return nil
	}
	p.unlinkLocked(c, 0, c.kind(0))
	p.mu.chunks[c.index] = nil
	p.reserved.Add(-chunkPages)
	return c
}

// returnDirtyLocked gives free dirty pages back to the system if there are too many of them.
func (p *Pool) returnDirtyLocked() {
	limit := max(dirtyFreePagesMin, int(p.inUse.Load())/dirtyFreeShare)
	if p.mu.dirtyFree <= limit {
		return
	}
	for left := returnPagesMax; left > 0 && p.mu.dirtyFree > limit/2; {
		r := p.mu.lists[dirty].largest()
		if r == none {
			return
		}
		c := p.mu.chunks[r.chunk()]
		left -= max(p.cleanLocked(c, r.page()), 1)
	}
}

// cleanLocked returns the memory of the free run at page at and reports how many of its pages were dirty.
func (p *Pool) cleanLocked(c *chunk, at int) int {
	n := int(c.size[at])
	count := c.dirtyPages(at, n)
	if count == 0 {
		return 0
	}
	p.unlinkLocked(c, at, dirty)
	release(c.mem[at*Size : (at+n)*Size])
	c.clearDirty(at, n)
	p.linkLocked(c, at, n)
	return count
}

// addChunkLocked reserves a chunk and returns its one free run.
func (p *Pool) addChunkLocked() Run {
	c := &chunk{mem: reserve(chunkBytes), index: len(p.mu.chunks)}
	for i, old := range p.mu.chunks {
		if old == nil {
			c.index = i
			break
		}
	}
	if c.index == len(p.mu.chunks) {
		p.mu.chunks = append(p.mu.chunks, nil)
	}
	p.mu.chunks[c.index] = c
	p.reserved.Add(chunkPages)
	p.linkLocked(c, 0, chunkPages)
	return runAt(c.index, 0)
}

// Close returns all memory. No run may be used afterwards.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.mu.chunks {
		if c != nil {
			unmap(c.mem)
		}
	}
	p.mu.chunks, p.mu.spare, p.mu.dirtyFree = nil, nil, 0
	p.mu.lists = [2]freeLists{}
	p.inUse.Store(0)
	p.reserved.Store(0)
}

// bestFitLocked returns the shortest free run of at least n pages and the set of lists it is in. Dirty runs come first,
// unless only a long one is left and a clean one fits better: splitting long runs is what fragments a chunk.
func (p *Pool) bestFitLocked(n int) (Run, int) {
	d := p.mu.lists[dirty].atLeast(n)
	c := p.mu.lists[clean].atLeast(n)
	if d != binCount && (d <= 2*n || d <= c) {
		return p.mu.lists[dirty].head[d], dirty
	}
	if c != binCount {
		return p.mu.lists[clean].head[c], clean
	}
	return none, clean
}

// linkLocked makes the n pages from page at one free run.
func (p *Pool) linkLocked(c *chunk, at, n int) {
	c.mark(at, n, true)
	count := c.dirtyPages(at, n)
	kind := clean
	if count > 0 {
		kind = dirty
	}
	p.mu.dirtyFree += count
	r := runAt(c.index, at)
	list := &p.mu.lists[kind]
	b := binOf(n)
	head := list.head[b]
	c.next[at], c.prev[at] = head, none
	if head != none {
		p.mu.chunks[head.chunk()].prev[head.page()] = r
	}
	list.head[b] = r
	list.nonEmpty[b/64] |= 1 << (b % 64)
}

// unlinkLocked takes the free run at page at out of its list; its pages belong to the caller.
func (p *Pool) unlinkLocked(c *chunk, at, kind int) {
	n := int(c.size[at])
	p.mu.dirtyFree -= c.dirtyPages(at, n)
	next, prev := c.next[at], c.prev[at]
	if next != none {
		p.mu.chunks[next.chunk()].prev[next.page()] = prev
	}
	if prev != none {
		p.mu.chunks[prev.chunk()].next[prev.page()] = next
		return
	}
	list := &p.mu.lists[kind]
	b := binOf(n)
	list.head[b] = next
	if next == none {
		list.nonEmpty[b/64] &^= 1 << (b % 64)
	}
}

func binOf(n int) int { return min(n, bigBin) }

// atLeast returns the lowest bin from n on that is not empty, or binCount.
func (l *freeLists) atLeast(n int) int {
	b := binOf(n)
	w := b / 64
	word := l.nonEmpty[w] >> (b % 64) << (b % 64)
	for word == 0 {
		if w++; w == len(l.nonEmpty) {
			return binCount
		}
		word = l.nonEmpty[w]
	}
	return w*64 + bits.TrailingZeros64(word)
}

// largest returns a run of the highest bin that is not empty.
func (l *freeLists) largest() Run {
	for w := len(l.nonEmpty) - 1; w >= 0; w-- {
		if word := l.nonEmpty[w]; word != 0 {
			return l.head[w*64+63-bits.LeadingZeros64(word)]
		}
	}
	return none
}

// mark writes the length of a run, and whether it is free, at both its ends.
func (c *chunk) mark(at, n int, free bool) {
	end := at + n - 1
	c.size[at], c.size[end] = uint16(n), uint16(n)
	c.free[at], c.free[end] = free, free
}

func (c *chunk) kind(at int) int {
	if c.dirtyPages(at, int(c.size[at])) > 0 {
		return dirty
	}
	return clean
}

// eachWord calls fn with every word of the dirty bitmap that holds bits of the n pages from page at, and their mask.
func (c *chunk) eachWord(at, n int, fn func(word *uint64, mask uint64)) {
	for end := at + n; at < end; {
		low := at % 64
		count := min(64-low, end-at)
		mask := ^uint64(0) >> (64 - count) << low
		fn(&c.dirty[at/64], mask)
		at += count
	}
}

func (c *chunk) dirtyPages(at, n int) int {
	count := 0
	c.eachWord(at, n, func(word *uint64, mask uint64) { count += bits.OnesCount64(*word & mask) })
	return count
}

func (c *chunk) setDirty(at, n int) {
	c.eachWord(at, n, func(word *uint64, mask uint64) { *word |= mask })
}

func (c *chunk) clearDirty(at, n int) {
	c.eachWord(at, n, func(word *uint64, mask uint64) { *word &^= mask })
}
