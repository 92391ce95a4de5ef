// Package quicklist keeps a long list as a row of nodes, each of which packs some hundreds of elements.
//
//	directory   │node│node│node│node│          a ring: nodes come and go at both ends
//	node        │  free  │listpack: header, element, …, element, end│  free  │      1 or 2 pages of store/pages
//	            0        from                                       to
//
// The first two nodes begin with 512 bytes on the Go heap, so that short lists do not take pages for a few elements.
//
// The listpack of a node, in Redis's format, has free bytes at both ends and grows into either: a push moves nothing but
// the six bytes of the header, at the head of the list as at its tail, and a pop moves a boundary. When one end has no room
// the listpack is moved so that most of the free bytes lie there, or goes from one page to two, or is left as it is, full,
// and a new node begins. So pushes, and pops, cost O(1), a few copies of each node over its life included.
//
// An element over 1 KiB is a node of its own, on the Go heap: several of them would leave much of a node unused. Redis draws
// this line at the size of a node, which list-max-listpack-size sets. Here that parameter decides only which lists are
// packed into one listpack and do not come here; a larger node would save nothing, and its elements would take longer to
// walk and to move.
//
// In the middle an insertion moves part of a node, and sometimes makes two nodes of one; a removal makes one of two that
// are small. What walks to an index looks at the directory from the nearer end: 40 bytes for each node that it skips.
//
// Elements of 10 bytes take 12 bytes each, plus 0.5 % for the directory and 1 % for what is left free.
//
// A list is not safe for use by several goroutines while one of them changes it.
package quicklist

import (
	"sync/atomic"
	"unsafe"

	"kvserver/store/listpack"
	"kvserver/store/pages"
)

// List is a list. The zero List is not usable: see New.
type List struct {
	pool *pages.Pool
	heap *atomic.Int64 // bytes that this and other lists hold on the Go heap

	// The ring of nodes: node i is nodes[(head+i) mod len(nodes)], of which there are a power of two or none.
	nodes []node
	head  int
	used  int

	count   int   // elements
	packed  int   // bytes of all elements as listpacks keep them
	pages   int   // of all nodes
	outside int64 // bytes of nodes on the Go heap
}

// New makes an empty list whose nodes come from the pool. What it takes on the Go heap, in bytes, is added to heap.
func New(pool *pages.Pool, heap *atomic.Int64) *List { return &List{pool: pool, heap: heap} }

// Len returns the number of elements.
func (l *List) Len() int { return l.count }

// PackedBytes returns the size that one listpack of all elements would have, in bytes.
func (l *List) PackedBytes() int { return l.packed + emptyBytes }

// Footprint returns the bytes that the list takes, all included. O(1).
func (l *List) Footprint() int64 { return int64(unsafe.Sizeof(*l)) + l.PageBytes() + l.HeapBytes() }

// PageBytes returns the part of the footprint that comes from the pool.
func (l *List) PageBytes() int64 { return int64(l.pages) * pages.Size }

// HeapBytes returns what the list has added to the bytes on the Go heap.
func (l *List) HeapBytes() int64 { return int64(len(l.nodes))*nodeSize + l.outside }

// nodeSize is the size of a node's place in the directory.
const nodeSize = int64(unsafe.Sizeof(node{}))

// Release gives all pages back. The list must not be used afterwards.
func (l *List) Release() {
	for i := range l.used {
		l.at(i).free(l.pool)
	}
	l.heap.Add(-l.HeapBytes())
	*l = List{}
}

// Clone returns a copy that shares nothing with the list.
func (l *List) Clone() *List {
	c := New(l.pool, l.heap)
	for i := range l.used {
		n := l.at(i)
		if n.plain() {
			c.insertNode(i, plainNode(n.block))
			continue
		}
		copied := newNode(l.pool, n.size(), Tail, n.run == 0)
		copied.fill(n.listpack())
		c.insertNode(i, copied)
	}
	return c
}

func (l *List) at(i int) *node { return &l.nodes[(l.head+i)&(len(l.nodes)-1)] }

// insertNode makes n node i of the list; the nodes of the shorter side move.
func (l *List) insertNode(i int, n node) {
	if l.used == len(l.nodes) {
		l.resize(max(2*len(l.nodes), nodesMin))
	}
	mask := len(l.nodes) - 1
	l.used++
	if i < l.used/2 {
		l.head = (l.head - 1) & mask
		for j := range i {
			*l.at(j) = *l.at(j + 1)
		}
	} else {
		for j := l.used - 1; j > i; j-- {
			*l.at(j) = *l.at(j - 1)
		}
	}
	*l.at(i) = n
	l.account(&n, 1)
}

// removeNode takes node i and its elements out of the list.
func (l *List) removeNode(i int) {
	l.discard(l.at(i))
	l.closeGap(i, i+1)
}

// discard frees a node and its elements. Its place in the directory is a gap from then on.
func (l *List) discard(n *node) {
	l.account(n, -1)
	n.free(l.pool)
}

// closeGap takes the places [from, to) out of the directory; the nodes of the shorter side move.
func (l *List) closeGap(from, to int) {
	gap := to - from
	if from < l.used-to {
		for i := from - 1; i >= 0; i-- {
			*l.at(i + gap) = *l.at(i)
		}
		for i := range gap {
			*l.at(i) = node{}
		}
		l.head = (l.head + gap) & (len(l.nodes) - 1)
	} else {
		for i := to; i < l.used; i++ {
			*l.at(i - gap) = *l.at(i)
		}
		for i := l.used - gap; i < l.used; i++ {
			*l.at(i) = node{}
		}
	}
	l.used -= gap
	for len(l.nodes) > nodesMin && l.used <= len(l.nodes)/8 {
		l.resize(len(l.nodes) / 4)
	}
}

// account adds a node to the totals of the list, times sign.
func (l *List) account(n *node, sign int) {
	l.count += sign * int(n.count)
	l.packed += sign * n.packedBytes()
	l.pages += sign * n.pages()
	l.addHeap(int64(sign) * n.heapBytes())
}

func (l *List) addHeap(bytes int64) {
	if bytes != 0 {
		l.outside += bytes
		l.heap.Add(bytes)
	}
}

// nodesMin is the size of the smallest directory, in nodes.
const nodesMin = 4

func (l *List) resize(size int) {
	nodes := make([]node, size)
	for i := range l.used {
		nodes[i] = *l.at(i)
	}
	l.heap.Add(int64(size-len(l.nodes)) * nodeSize)
	l.nodes, l.head = nodes, 0
}

// End is one of the two ends of a list.
type End int

const (
	Head End = iota
	Tail
)

// Push adds an element at an end. It is copied.
func (l *List) Push(end End, elem []byte) {
	i := 0
	if end == Tail {
		i = l.used
	}
	if len(elem) > packedMax {
		l.insertNode(i, plainNode(elem))
		return
	}
	if l.used > 0 {
		at := max(0, i-1)
		if l.extend(at, end, elem) {
			return
		}
	}
	l.insertNode(i, newNode(l.pool, emptyBytes+listpack.Size(elem), end, l.short()))
	l.extend(i, end, elem)
}

// extend adds an element at an end of node i, and reports false if it has no room.
func (l *List) extend(i int, end End, elem []byte) bool {
	n := l.at(i)
	if n.plain() {
		return false
	}
	before := n.size()
	if !n.push(end, elem) {
		if !l.makeRoom(n, end, listpack.Size(elem)) {
			return false
		}
		if !n.push(end, elem) {
			panic("store: no room in a list's node")
		}
	}
	l.count++
	l.packed += n.size() - before
	return true
}

// short reports whether a new node had better be small, since it may be a third of the list.
func (l *List) short() bool { return l.used <= 1 }

// makeRoom is node.makeRoom.
func (l *List) makeRoom(n *node, end End, need int) bool {
	before := *n
	ok := n.makeRoom(l.pool, end, need)
	l.pages += n.pages() - before.pages()
	l.addHeap(n.heapBytes() - before.heapBytes())
	return ok
}

// Append adds the elements of a listpack, which it copies, at the tail.
func (l *List) Append(lp []byte) {
	var buf [listpack.IntegerLenMax]byte
	for off := listpack.First(lp); off != listpack.None; off = listpack.Next(lp, off) {
		l.Push(Tail, listpack.Text(lp, off, &buf))
	}
}

// AppendTo adds all elements to the end of a listpack.
func (l *List) AppendTo(lp []byte) []byte {
	for i := range l.used {
		if n := l.at(i); n.plain() {
			lp = listpack.Append(lp, n.block)
		} else {
			lp = listpack.Join(lp, n.listpack())
		}
	}
	return lp
}

// Nodes calls fn for every node, in order, until it returns false: with a listpack or, if plain, with one element. The
// bytes alias the list.
func (l *List) Nodes(fn func(plain bool, bytes []byte) bool) {
	for i := range l.used {
		if n := l.at(i); !fn(n.plain(), n.bytes()) {
			return
		}
	}
}

// Drop removes n elements, at most all, from an end.
func (l *List) Drop(end End, n int) { l.Cut(end, n, nil) }

// Cut is Drop, but whole nodes go to another list, if there is one, which the caller releases when it suits: that takes much
// longer than cutting them off.
func (l *List) Cut(end End, n int, to *List) {
	for n = min(n, l.count); n > 0; {
		i := 0
		if end == Tail {
			i = l.used - 1
		}
		at := l.at(i)
		c := int(at.count)
		switch {
		case c > n:
			before := at.size()
			at.drop(end, n)
			l.count -= n
			l.packed -= before - at.size()
			return
		case to == nil:
			l.removeNode(i)
		default:
			to.insertNode(to.used, *at)
			l.account(at, -1)
			l.closeGap(i, i+1)
		}
		n -= c
	}
}

// Trim cuts off all elements but n that begin with index from. Both must lie in the list. See Cut for to.
func (l *List) Trim(from, n int, to *List) {
	l.Cut(Tail, l.count-from-n, to)
	l.Cut(Head, from, to)
	if l.used > 0 {
		l.settle(l.used - 1)
		l.settle(0)
	}
}

// seek returns the node that the element with this index, which exists, is in, and how many elements of the node are
// before it.
func (l *List) seek(index int) (i, rest int) {
	if index < l.count/2 {
		for ; index >= int(l.at(i).count); i++ {
			index -= int(l.at(i).count)
		}
		return i, index
	}
	after := l.count - index // with the element itself
	for i = l.used - 1; after > int(l.at(i).count); i-- {
		after -= int(l.at(i).count)
	}
	return i, int(l.at(i).count) - after
}

// Insert adds an element so that it has this index, which is at most Len. It is copied, and must not alias the list.
func (l *List) Insert(index int, elem []byte) {
	switch index {
	case 0:
		l.Push(Head, elem)
		return
	case l.count:
		l.Push(Tail, elem)
		return
	}
	i, rest := l.seek(index)
	if len(elem) > packedMax {
		l.insertNode(l.split(i, rest), plainNode(elem))
		return
	}
	if rest == 0 {
		l.insertBetween(i, elem)
		return
	}
	if n := l.at(i); l.makeRoom(n, Tail, listpack.Size(elem)) {
		before := n.size()
		lp := n.listpack()
		n.fit(listpack.InsertAt(lp, listpack.Seek(lp, rest), elem))
		n.count++
		l.count++
		l.packed += n.size() - before
		return
	}
	l.insertBetween(l.split(i, rest), elem)
}

// insertBetween adds an element between nodes i-1 and i.
func (l *List) insertBetween(i int, elem []byte) {
	if l.extend(i-1, Tail, elem) || l.extend(i, Head, elem) {
		return
	}
	l.insertNode(i, newNode(l.pool, emptyBytes+listpack.Size(elem), Tail, l.short()))
	l.extend(i, Tail, elem)
}

// split makes two nodes of node i so that the second begins with what was its element number rest, and returns the index
// of that second node. With rest 0 there is nothing to do.
func (l *List) split(i, rest int) int {
	if rest == 0 {
		return i
	}
	n := l.at(i)
	lp := n.listpack()
	off := listpack.Seek(lp, rest)
	moved := int(n.count) - rest
	right := newNode(l.pool, emptyBytes+len(lp)-1-off, Tail, l.short())
	front, back := listpack.Split(lp, off, moved, right.block[:0])
	right.to, right.count = uint32(len(back)), uint32(moved)
	n.to, n.count = n.from+uint32(len(front)), uint32(rest)
	l.count -= moved // insertNode counts them again
	l.packed -= right.packedBytes()
	l.insertNode(i+1, right)
	return i + 1
}

// Set replaces the element with this index, which exists. elem is copied, and must not alias the list.
func (l *List) Set(index int, elem []byte) {
	i, rest := l.seek(index)
	n := l.at(i)
	if !n.plain() && len(elem) <= packedMax {
		off := listpack.Seek(n.listpack(), rest)
		old := listpack.After(n.listpack(), off) - off
		if grow := listpack.Size(elem) - old; grow <= 0 || l.makeRoom(n, Tail, grow) {
			before := n.size()
			n.fit(listpack.Replace(n.listpack(), listpack.Seek(n.listpack(), rest), elem))
			l.packed += n.size() - before
			return
		}
	}
	l.Insert(index, elem)
	l.delete(index + 1)
}

// delete removes the element with this index.
func (l *List) delete(index int) {
	i, rest := l.seek(index)
	n := l.at(i)
	if n.count == 1 {
		l.removeNode(i)
		return
	}
	before := n.size()
	lp := n.listpack()
	n.fit(listpack.Delete(lp, listpack.Seek(lp, rest), 1))
	n.count--
	l.count--
	l.packed -= before - n.size()
	l.settle(i)
}

// Remove removes up to countMax elements equal to elem, the first or the last ones, and returns their number. Nodes that
// become small are joined on the way, and the directory moves once.
func (l *List) Remove(elem []byte, countMax int, from End) (removed int) {
	kept, i := 0, 0
	if from == Head {
		for ; i < l.used && removed < countMax; i++ {
			n := l.at(i)
			removed += l.removeIn(n, elem, countMax-removed, from)
			switch {
			case n.count == 0:
				l.discard(n)
			case kept > 0 && l.join(l.at(kept-1), n):
				n.free(l.pool)
			default:
				*l.at(kept) = *n
				kept++
			}
		}
		l.closeGap(kept, i)
		return removed
	}
	for ; i < l.used && removed < countMax; i++ {
		n := l.at(l.used - 1 - i)
		removed += l.removeIn(n, elem, countMax-removed, from)
		switch last := l.used - kept; {
		case n.count == 0:
			l.discard(n)
		case kept > 0 && l.join(n, l.at(last)):
			l.at(last).free(l.pool)
			*l.at(last) = *n
		default:
			*l.at(last - 1) = *n
			kept++
		}
	}
	l.closeGap(l.used-i, l.used-kept)
	return removed
}

// removeIn is Remove in one node, which it may leave empty.
func (l *List) removeIn(n *node, elem []byte, countMax int, from End) (removed int) {
	if n.plain() {
		if string(n.block) != string(elem) {
			return 0
		}
		n.count = 0
		l.count--
		return 1
	}
	skip := 0
	if from == Tail {
		skip = max(0, listpack.CountEqual(n.listpack(), elem)-countMax)
	}
	before := n.size()
	lp, removed := listpack.DeleteEqual(n.listpack(), elem, skip, countMax)
	n.fit(lp)
	n.count -= uint32(removed)
	l.count -= removed
	l.packed -= before - n.size()
	if removed > 0 {
		l.fitPages(n)
	}
	return removed
}

// settle gives back what node i does not need after elements were taken from it, and joins it with a neighbour if both
// are small.
func (l *List) settle(i int) {
	l.fitPages(l.at(i))
	for left := max(0, i-1); left <= i && left+1 < l.used; left++ {
		if n := l.at(left + 1); l.join(l.at(left), n) {
			n.free(l.pool)
			l.closeGap(left+1, left+2)
			return
		}
	}
}

// join moves the elements of right into left if they leave a quarter of the largest node free. The caller frees right,
// which is no longer accounted for.
func (l *List) join(left, right *node) bool {
	if left.plain() || right.plain() || left.size()+right.packedBytes() > blockMax/4*3 {
		return false
	}
	if !l.makeRoom(left, Tail, right.packedBytes()) {
		return false
	}
	left.fit(listpack.Join(left.listpack(), right.listpack()))
	left.count += right.count
	l.pages -= right.pages()
	l.addHeap(-right.heapBytes())
	return true
}

// fitPages moves a node that needs no more than three quarters of a page out of its two pages.
func (l *List) fitPages(n *node) {
	if !n.plain() && n.pages() > 1 && n.size() <= pages.Size/4*3 {
		n.move(l.pool, pages.Size, 0)
		l.pages--
	}
}
