package ranked

import (
	"bytes"
	"sync/atomic"
	"unsafe"

	"kvserver/store/pages"
)

// Tree is a sorted set: members with scores, ordered by score and, where scores are equal, by the bytes of the member. No
// score may be NaN. Whether a member occurs with another score is the caller's business. Methods that change nothing may
// run at the same time.
type Tree struct {
	pool   *pages.Pool
	heap   *atomic.Int64 // bytes that this and other trees hold on the Go heap, nearly
	root   *node         // nil: empty
	length int

	// long are the members too long for a leaf, by number.
	long      [][]byte
	longFree  []uint32
	longBytes int64
}

// New makes an empty Tree whose leaves come from pool. What it takes on the Go heap, in bytes, is added to heap: long members,
// small leaves, and leaves' share of their nodes.
func New(pool *pages.Pool, heap *atomic.Int64) *Tree { return &Tree{pool: pool, heap: heap} }

// Len returns the number of elements.
func (t *Tree) Len() int { return t.length }

// Insert adds an element that must be absent. member is copied.
func (t *Tree) Insert(score float64, member []byte) {
	if t.root == nil {
		t.begin(score, member)
		return
	}
	t.length++
	if t.root.len() == fanout {
		old := t.root
		t.root = &node{nodes: []*node{}}
		t.insertNode(t.root, 0, old)
		t.splitNode(t.root, 0, fanout/2)
	}
	prefix := keyOf(score, member).prefix
	n, first, last := t.root, true, true
	for {
		i := t.childFor(n, score, prefix, member)
		first, last = first && i == 0, last && i == n.len()-1
		if n.nodes == nil {
			t.insertInto(n, i, place{score, member, first, last})
			return
		}
		if n.nodes[i].len() == fanout {
			// Elements that come in order leave full nodes behind.
			at := fanout / 2
			if last {
				at = fanout - 1
			} else if first {
				at = 1
			}
			t.splitNode(n, i, at)
			i = t.childFor(n, score, prefix, member)
			first, last = first && i == 0, last && i == n.len()-1
		}
		n.counts[i]++
		n = n.nodes[i]
	}
}

func (t *Tree) begin(score float64, member []byte) {
	l := t.newLeaf(leafMin)
	field, long := t.keep(member)
	if l.free() < recordSize+len(field) {
		t.freeLeaf(l)
		l = t.newLeaf(2 * leafMin)
	}
	l.put(0, score, field, long)
	t.root = &node{}
	t.insertLeaf(t.root, 0, l)
	t.length = 1
}

// place is an element to be inserted, and whether its leaf is the first or the last one of the tree.
type place struct {
	score       float64
	member      []byte
	first, last bool
}

// insertInto adds an element to leaf i of n, which has room for another leaf.
func (t *Tree) insertInto(n *node, i int, p place) {
	l := n.leaves[i]
	at := t.search(l, p.score, p.member)
	field, long := t.keep(p.member)
	need := recordSize + len(field)
	if l.free() < need && !t.makeRoom(n, i, need) {
		switch {
		case p.last && at == l.len():
			t.addLeaf(n, i+1, p.score, field, long)
			return
		case p.first && at == 0:
			t.addLeaf(n, 0, p.score, field, long)
			t.rekeyFirst()
			return
		}
		middle := t.splitLeaf(n, i)
		if at > middle {
			i, at = i+1, at-middle
		}
	}
	l = n.leaves[i]
	l.put(at, p.score, field, long)
	n.counts[i]++
	if at == 0 { // then it is the first of all
		t.rekey(n, i)
		t.rekeyFirst()
	}
}

// makeRoom sees to it that leaf i of n has room for need bytes, unless it must be split for that.
func (t *Tree) makeRoom(n *node, i, need int) bool {
	l := n.leaves[i]
	if l.room()-l.live() >= need {
		l.compact()
		return true
	}
	for size := len(l.mem) * 2; size <= leafMax; size *= 2 {
		if size-headerSize-l.live() < need {
			continue
		}
		wide := t.newLeaf(size)
		wide.fill(l, 0, l.len())
		t.freeLeaf(l)
		n.leaves[i] = wide
		return true
	}
	return false
}

// addLeaf makes a leaf of one element child i of n. Elements that come in order, upwards or downwards, thus leave full
// leaves behind.
func (t *Tree) addLeaf(n *node, i int, score float64, field []byte, long bool) {
	l := t.newLeaf(leafMax)
	l.put(0, score, field, long)
	t.insertLeaf(n, i, l)
}

// splitLeaf moves the upper half of leaf i of n, a page, into a leaf of its own and returns how many elements stay.
func (t *Tree) splitLeaf(n *node, i int) (middle int) {
	l := n.leaves[i]
	middle = l.middle()
	right := t.newLeaf(leafMax)
	right.fill(l, middle, l.len())
	l.cut(middle, l.len())
	l.compact()
	n.counts[i] = middle
	t.insertLeaf(n, i+1, right)
	return middle
}

// splitNode moves the children of child i of n from at on into a node of their own.
func (t *Tree) splitNode(n *node, i, at int) {
	left := n.nodes[i]
	right := left.divide(at)
	n.counts[i] = left.count()
	t.insertNode(n, i+1, right)
}

// rekeyFirst brings the keys above the first leaf in line with it.
func (t *Tree) rekeyFirst() {
	n := t.root
	for n.nodes != nil {
		n = n.nodes[0]
	}
	first := n.keys[0]
	for n = t.root; n.nodes != nil; n = n.nodes[0] {
		n.keys[0] = first
	}
}

// Delete removes an element and reports whether it was there.
func (t *Tree) Delete(score float64, member []byte) bool {
	if t.root == nil || !t.deleteBelow(t.root, score, keyOf(score, member).prefix, member) {
		return false
	}
	t.length--
	t.lower()
	return true
}

func (t *Tree) deleteBelow(n *node, score float64, prefix uint64, member []byte) bool {
	i := t.childFor(n, score, prefix, member)
	if n.nodes != nil {
		if !t.deleteBelow(n.nodes[i], score, prefix, member) {
			return false
		}
		n.counts[i]--
		t.mend(n, i)
		return true
	}
	l := n.leaves[i]
	at := t.search(l, score, member)
	if !t.has(l, at, score, member) {
		return false
	}
	t.cutFrom(n, i, at, at+1)
	t.mend(n, i)
	return true
}

// cutFrom removes records a to b, excluding b, from leaf i of n.
func (t *Tree) cutFrom(n *node, i, a, b int) {
	l := n.leaves[i]
	t.drop(l, a, b)
	l.cut(a, b)
	n.counts[i] -= b - a
	if a == 0 && l.len() > 0 {
		t.rekey(n, i)
	}
}

const (
	// A leaf with less than leafLow live bytes, and a node with fewer than nodeLow children, is joined with a neighbour
	// if that leaves room for more.
	leafLow  = leafMax / 4
	leafHigh = leafMax * 3 / 4
	nodeLow  = fanout / 4
	nodeHigh = fanout * 3 / 4
)

// mend restores order in n after elements were removed below child i: a child without elements goes, a small one is joined
// with a neighbour, the key is what the first element says.
func (t *Tree) mend(n *node, i int) {
	if n.counts[i] == 0 {
		if n.nodes == nil {
			t.freeLeaf(n.leaves[i])
		}
		n.removeChildren(i, i+1)
		return
	}
	if n.nodes != nil {
		t.rekey(n, i)
	}
	if !n.small(i) {
		return
	}
	if i > 0 && t.join(n, i-1) {
		return
	}
	if i+1 < n.len() {
		t.join(n, i)
	}
}

func (n *node) small(i int) bool {
	if n.nodes != nil {
		return n.nodes[i].len() < nodeLow
	}
	return n.leaves[i].live() < leafLow
}

// join makes children i and i+1 of n one, if that one is not too full.
func (t *Tree) join(n *node, i int) bool {
	if n.nodes != nil {
		left, right := n.nodes[i], n.nodes[i+1]
		if left.len()+right.len() > nodeHigh {
			return false
		}
		left.join(right)
	} else {
		left, right := n.leaves[i], n.leaves[i+1]
		if left.live()+right.live() > leafHigh {
			return false
		}
		if left.free() < right.live() {
			left.compact()
		}
		left.fill(right, 0, right.len())
		t.freeLeaf(right)
	}
	n.counts[i] += n.counts[i+1]
	n.removeChildren(i+1, i+2)
	return true
}

// lower takes away nodes on top that have become useless.
func (t *Tree) lower() {
	for t.root.nodes != nil && t.root.len() == 1 {
		t.root = t.root.nodes[0]
	}
	if t.root.len() == 0 {
		t.root = nil
	}
}

// DeleteRange removes the elements of ranks from to to, excluding to, and calls each with all of them in order. each must
// not use the tree; its member is valid during the call. The cost is that of the elements removed, plus O(log n).
func (t *Tree) DeleteRange(from, to int, each func(score float64, member []byte)) {
	from, to = max(from, 0), min(to, t.length)
	if from >= to {
		return
	}
	t.deleteRange(t.root, from, to, each)
	t.length -= to - from
	t.lower()
}

func (t *Tree) deleteRange(n *node, from, to int, each func(score float64, member []byte)) {
	start, i := 0, 0 // the rank of child i's first element
	for ; start+n.counts[i] <= from; i++ {
		start += n.counts[i]
	}
	first := i
	gone, goneEnd := i, i // children that lose all
	for ; i < n.len() && start < to; i++ {
		count := n.counts[i]
		a, b := max(from-start, 0), min(to-start, count)
		start += count
		switch {
		case b-a == count:
			if gone == goneEnd {
				gone = i
			}
			goneEnd = i + 1
			t.discard(n, i, each)
		case n.nodes != nil:
			t.deleteRange(n.nodes[i], a, b, each)
			n.counts[i] -= b - a
			t.rekey(n, i)
		default:
			t.visit(n.leaves[i], a, b, each)
			t.cutFrom(n, i, a, b)
		}
	}
	n.removeChildren(gone, goneEnd)
	for i := min(first+1, n.len()-1); i >= first; i-- {
		t.mend(n, i)
	}
}

// discard frees what is below child i of n, calling each with the elements.
func (t *Tree) discard(n *node, i int, each func(score float64, member []byte)) {
	if n.nodes == nil {
		l := n.leaves[i]
		t.visit(l, 0, l.len(), each)
		t.drop(l, 0, l.len())
		t.freeLeaf(l)
		return
	}
	for k := range n.nodes[i].len() {
		t.discard(n.nodes[i], k, each)
	}
}

func (t *Tree) visit(l leaf, a, b int, each func(score float64, member []byte)) {
	for i := a; i < b; i++ {
		each(l.score(i), t.member(l, i))
	}
}

// Rank returns the number of elements before an element, or -1 if it is absent.
func (t *Tree) Rank(score float64, member []byte) int {
	if t.root == nil {
		return -1
	}
	prefix, rank, n := keyOf(score, member).prefix, 0, t.root
	for {
		i := t.childFor(n, score, prefix, member)
		for _, c := range n.counts[:i] {
			rank += c
		}
		if n.nodes != nil {
			n = n.nodes[i]
			continue
		}
		at := t.search(n.leaves[i], score, member)
		if !t.has(n.leaves[i], at, score, member) {
			return -1
		}
		return rank + at
	}
}

// CountBelowScore returns how many elements have a score less than the given one, or equal to it if inclusive.
func (t *Tree) CountBelowScore(score float64, inclusive bool) int {
	return t.countWhile(func(n *node, i int) bool {
		return n.keys[i].score < score || inclusive && n.keys[i].score == score
	}, func(l leaf, i int) bool {
		return l.score(i) < score || inclusive && l.score(i) == score
	})
}

// CountBelowMember returns how many elements have a member less than the given one, or equal to it if inclusive. All
// scores must be equal; otherwise the number is between 0 and Len and means nothing.
func (t *Tree) CountBelowMember(member []byte, inclusive bool) int {
	below := func(l leaf, i int) bool {
		order := bytes.Compare(t.member(l, i), member)
		return order < 0 || inclusive && order == 0
	}
	prefix := keyOf(0, member).prefix
	return t.countWhile(func(n *node, i int) bool {
		if n.keys[i].prefix != prefix {
			return n.keys[i].prefix < prefix
		}
		return below(n.first(i), 0)
	}, below)
}

// countWhile returns the number of elements at the front for which a condition holds; child and record tell it for the
// first element of a child and for an element of a leaf.
func (t *Tree) countWhile(child func(n *node, i int) bool, record func(l leaf, i int) bool) int {
	if t.root == nil {
		return 0
	}
	count := 0
	for n := t.root; ; {
		i := countTrue(n.len(), func(i int) bool { return child(n, i) }) - 1
		if i < 0 {
			return count
		}
		for _, c := range n.counts[:i] {
			count += c
		}
		if n.nodes == nil {
			l := n.leaves[i]
			return count + countTrue(l.len(), func(i int) bool { return record(l, i) })
		}
		n = n.nodes[i]
	}
}

// countTrue returns how many of 0 … n-1 fulfil a condition that holds up to some number and not from there on.
func countTrue(n int, holds func(i int) bool) int {
	low, high := 0, n
	for low < high {
		mid := int(uint(low+high) / 2)
		if holds(mid) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// Clone returns an independent copy, with leaves from pool.
func (t *Tree) Clone(pool *pages.Pool) *Tree {
	c := &Tree{pool: pool, heap: t.heap, length: t.length, longBytes: t.longBytes, longFree: append([]uint32(nil), t.longFree...)}
	c.long = append(c.long, t.long...) // members are never changed
	t.heap.Add(t.longBytes)
	if t.root != nil {
		c.root = c.cloneNode(t.root)
	}
	return c
}

func (t *Tree) cloneNode(n *node) *node {
	c := &node{keys: append([]key(nil), n.keys...), counts: append([]int(nil), n.counts...)}
	if n.nodes != nil {
		c.nodes = make([]*node, len(n.nodes))
		for i := range c.nodes {
			c.nodes[i] = t.cloneNode(n.nodes[i])
		}
		return c
	}
	c.leaves = make([]leaf, len(n.leaves))
	for i, l := range n.leaves {
		c.leaves[i] = t.newLeaf(len(l.mem))
		copy(c.leaves[i].mem, l.mem)
	}
	return c
}

// Release frees the memory outside the Go heap and leaves the tree empty.
func (t *Tree) Release() {
	if t.root != nil {
		t.releaseNode(t.root)
	}
	t.heap.Add(-t.longBytes)
	*t = Tree{pool: t.pool, heap: t.heap}
}

func (t *Tree) releaseNode(n *node) {
	for _, l := range n.leaves {
		t.freeLeaf(l)
	}
	for _, c := range n.nodes {
		t.releaseNode(c)
	}
}

// Bytes returns the memory that the tree takes, in bytes. It walks the nodes, not the leaves.
func (t *Tree) Bytes() int64 {
	n := int64(unsafe.Sizeof(*t)) + t.longBytes + int64(cap(t.long))*int64(unsafe.Sizeof(t.long[0])) + int64(cap(t.longFree))*4
	if t.root != nil {
		n += t.root.bytes()
	}
	return n
}

func (n *node) bytes() int64 {
	sum := int64(unsafe.Sizeof(*n)) + int64(cap(n.keys))*int64(unsafe.Sizeof(key{})) + int64(cap(n.counts))*8 +
		int64(cap(n.leaves))*int64(unsafe.Sizeof(leaf{})) + int64(cap(n.nodes))*8
	for _, l := range n.leaves {
		sum += int64(len(l.mem))
	}
	for _, c := range n.nodes {
		sum += c.bytes()
	}
	return sum
}
