package ranked

import (
	"bytes"
	"encoding/binary"
)

// A node has leaves below it, or nodes: one of the two slices is nil. For every child it knows the number of elements
// under it and its first element, as far as a key tells it.
type node struct {
	keys   []key
	counts []int
	leaves []leaf
	nodes  []*node
}

// fanout is the greatest number of children of a node.
const fanout = 64

// A key stands for the first element below a child: its score and the first 8 bytes of its member, as a big-endian number,
// which orders as the bytes do. Elements that this does not tell apart are compared with the child's first element itself.
type key struct {
	score  float64
	prefix uint64
}

func keyOf(score float64, member []byte) key {
	if len(member) >= 8 {
		return key{score, binary.BigEndian.Uint64(member)}
	}
	var padded [8]byte
	copy(padded[:], member)
	return key{score, binary.BigEndian.Uint64(padded[:])}
}

func (n *node) len() int { return len(n.keys) }

// first returns the leaf that holds the first element below child i.
func (n *node) first(i int) leaf {
	for n.nodes != nil {
		n, i = n.nodes[i], 0
	}
	return n.leaves[i]
}

// childFor returns the child below which (score, member) is or would be: the last one that does not begin after it.
func (t *Tree) childFor(n *node, score float64, prefix uint64, member []byte) int {
	low, high := 0, len(n.keys)
	for low < high {
		mid := int(uint(low+high) / 2)
		k := &n.keys[mid]
		after := k.score > score
		if k.score == score {
			after = k.prefix > prefix || k.prefix == prefix && bytes.Compare(t.member(n.first(mid), 0), member) > 0
		}
		if after {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return max(low-1, 0)
}

// rekey brings the key of child i in line with its first element.
func (t *Tree) rekey(n *node, i int) {
	if n.nodes != nil {
		n.keys[i] = n.nodes[i].keys[0]
		return
	}
	n.keys[i] = keyOf(n.leaves[i].score(0), t.member(n.leaves[i], 0))
}

// count returns the number of elements below n.
func (n *node) count() int {
	sum := 0
	for _, c := range n.counts {
		sum += c
	}
	return sum
}

// insertLeaf makes l, which is not empty, child i.
func (t *Tree) insertLeaf(n *node, i int, l leaf) {
	n.leaves = insertAt(n.leaves, i, l)
	n.keys = insertAt(n.keys, i, key{})
	n.counts = insertAt(n.counts, i, l.len())
	t.rekey(n, i)
}

// insertNode makes c child i.
func (t *Tree) insertNode(n *node, i int, c *node) {
	n.nodes = insertAt(n.nodes, i, c)
	n.keys = insertAt(n.keys, i, c.keys[0])
	n.counts = insertAt(n.counts, i, c.count())
}

// removeChildren takes children i to j, excluding j, out of n.
func (n *node) removeChildren(i, j int) {
	n.keys = cutOut(n.keys, i, j)
	n.counts = cutOut(n.counts, i, j)
	if n.nodes != nil {
		n.nodes = cutOut(n.nodes, i, j)
	} else {
		n.leaves = cutOut(n.leaves, i, j)
	}
}

// divide moves the children from i on into a new node.
func (n *node) divide(i int) *node {
	right := &node{
		keys:   append(make([]key, 0, fanout), n.keys[i:]...),
		counts: append(make([]int, 0, fanout), n.counts[i:]...),
	}
	if n.nodes != nil {
		right.nodes = append(make([]*node, 0, fanout), n.nodes[i:]...)
	} else {
		right.leaves = append(make([]leaf, 0, fanout), n.leaves[i:]...)
	}
	n.removeChildren(i, n.len())
	return right
}

// join moves the children of right to the end of n.
func (n *node) join(right *node) {
	n.keys = append(n.keys, right.keys...)
	n.counts = append(n.counts, right.counts...)
	n.nodes = append(n.nodes, right.nodes...)
	n.leaves = append(n.leaves, right.leaves...)
}

// insertAt is slices.Insert with a capacity that never passes fanout by much.
func insertAt[T any](s []T, i int, x T) []T {
	if len(s) == cap(s) {
		s = append(make([]T, 0, min(max(2*len(s), 2), fanout)), s...)
	}
	s = s[:len(s)+1]
	copy(s[i+1:], s[i:])
	s[i] = x
	return s
}

// cutOut is slices.Delete, which clears what it leaves behind the end.
func cutOut[T any](s []T, i, j int) []T {
	end := i + copy(s[i:], s[j:])
	clear(s[end:])
	return s[:end]
}
