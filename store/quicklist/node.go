package quicklist

import (
	"kvserver/store/listpack"
	"kvserver/store/pages"
)

// A node is a listpack in a block, which is a run of pages or, while it is small, on the Go heap; or it is plain: one long
// element on the Go heap.
type node struct {
	block    []byte
	run      pages.Run // 0: on the Go heap
	from, to uint32    // where the listpack lies in the block; 0 if the block is the element
	count    uint32    // elements
}

const (
	// packedMax is the length of the longest element that lies in a listpack, in bytes.
	packedMax = 1024
	// blockMin and blockMax are the sizes of the smallest and the largest block, in bytes; others are twice one another.
	blockMin = 512
	blockMax = 2 * pages.Size
	// emptyBytes is the size of a listpack without elements.
	emptyBytes = 7

	// roomShare is the part of a block, 1/16, below which free bytes are no longer moved from one end to the other:
	// that would be done again and again for a few elements.
	roomShare = 16
	// otherShare is the part of the free bytes, 1/8, that the other end keeps at most when they are moved.
	otherShare = 8
)

func plainNode(elem []byte) node {
	return node{block: append([]byte(nil), elem...), count: 1}
}

// newNode makes a node with room for a listpack of size bytes, with an empty one that is to grow at an end. A small one
// takes less than a page if that will do.
func newNode(pool *pages.Pool, size int, end End, small bool) node {
	blockSize := pages.Size
	if small {
		blockSize = blockMin
	}
	for blockSize < size {
		blockSize *= 2
	}
	var n node
	n.block, n.run = newBlock(pool, blockSize)
	if end == Head {
		n.from = uint32(len(n.block)) - emptyBytes
	}
	n.fill(empty)
	return n
}

func newBlock(pool *pages.Pool, size int) ([]byte, pages.Run) {
	if size < pages.Size {
		return make([]byte, size), 0
	}
	return pool.Alloc(size / pages.Size)
}

var empty = listpack.New()

func (n *node) plain() bool { return n.to == 0 }

// size returns the size of the listpack.
func (n *node) size() int { return int(n.to - n.from) }

// packedBytes returns the bytes that the elements take, or would take, in a listpack.
func (n *node) packedBytes() int {
	if n.plain() {
		return listpack.Size(n.block)
	}
	return max(n.size()-emptyBytes, 0)
}

func (n *node) pages() int {
	if n.run == 0 {
		return 0
	}
	return len(n.block) / pages.Size
}

// heapBytes returns the bytes that the node takes on the Go heap.
func (n *node) heapBytes() int64 {
	if n.run != 0 {
		return 0
	}
	return int64(cap(n.block))
}

// listpack returns the listpack, which may grow to the end of the block.
func (n *node) listpack() []byte { return n.block[n.from:n.to] }

// bytes returns the listpack, or the element of a plain node.
func (n *node) bytes() []byte {
	if n.plain() {
		return n.block
	}
	return n.listpack()
}

// fill copies a listpack into the block, where it is to begin at from.
func (n *node) fill(lp []byte) {
	n.to = n.from + uint32(copy(n.block[n.from:], lp))
	n.count = uint32(listpack.Len(lp))
}

// fit notes the size of the listpack after it was changed where it lies.
func (n *node) fit(lp []byte) {
	n.to = n.from + uint32(len(lp))
	if int(n.to) > len(n.block) {
		panic("store: a list's node has outgrown its pages")
	}
}

func (n *node) free(pool *pages.Pool) {
	if n.run != 0 {
		pool.Free(n.run)
	}
}

// push adds an element at an end, and reports false if there are too few free bytes.
func (n *node) push(end End, elem []byte) bool {
	if end == Tail {
		lp, ok := listpack.AppendWithin(n.listpack(), elem)
		if !ok {
			return false
		}
		n.to = n.from + uint32(len(lp))
	} else {
		from, ok := listpack.PrependWithin(n.block, int(n.from), int(n.to), elem)
		if !ok {
			return false
		}
		n.from = uint32(from)
	}
	n.count++
	return true
}

// drop removes c elements, fewer than there are, from an end.
func (n *node) drop(end End, c int) {
	lp := n.listpack()
	if end == Head {
		off := listpack.Seek(lp, c)
		n.from += uint32(len(lp) - len(listpack.DeleteFront(lp, off, c)))
	} else {
		n.to = n.from + uint32(len(listpack.DeleteBack(lp, listpack.Seek(lp, -c), c)))
	}
	n.count -= uint32(c)
}

// makeRoom sees to it that need more bytes are free at an end of the listpack. It reports false if the node is full.
func (n *node) makeRoom(pool *pages.Pool, end End, need int) bool {
	other, own := int(n.from), len(n.block)-int(n.to)
	if end == Head {
		other, own = own, other
	}
	if own >= need {
		return true
	}
	size := len(n.block)
	if free := own + other; free < max(need, size/roomShare) {
		for size = min(2*size, blockMax); size < n.size()+need && size < blockMax; {
			size *= 2
		}
		if size == len(n.block) || size < n.size()+need {
			return false
		}
	}
	other = min(other, (size-n.size()-need)/otherShare)
	from := other
	if end == Head {
		from = size - n.size() - other
	}
	n.move(pool, size, from)
	return true
}

// move takes the listpack to offset from of a block of that size, in bytes: its own, or a new one.
func (n *node) move(pool *pages.Pool, size, from int) {
	lp := n.listpack()
	n.from, n.to = uint32(from), uint32(from+len(lp))
	if size == len(n.block) {
		copy(n.block[from:], lp)
		return
	}
	old := *n
	n.block, n.run = newBlock(pool, size)
	copy(n.block[from:], lp)
	old.free(pool)
}
