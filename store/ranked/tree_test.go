package ranked

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"kvserver/store/pages"
)

type element struct {
	score  float64
	member string
}

func order(a, b element) int {
	if c := cmp.Compare(a.score, b.score); c != 0 {
		return c
	}
	return cmp.Compare(a.member, b.member)
}

// model is the tree as a sorted slice, beside the tree.
type model struct {
	t      *testing.T
	random *rand.Rand
	pool   *pages.Pool
	heap   atomic.Int64
	tree   *Tree
	want   []element

	scores  int // as many different ones
	lengths int // of members, in bytes, at most
}

func newModel(t *testing.T, seed uint64, scores, lengths int) *model {
	t.Logf("seed %d, scores %d, lengths %d", seed, scores, lengths)
	m := &model{t: t, random: rand.New(rand.NewPCG(seed, 0)), pool: pages.New(), scores: scores, lengths: lengths}
	t.Cleanup(m.pool.Close)
	m.tree = New(m.pool, &m.heap)
	t.Cleanup(func() {
		m.tree.Release()
		if n := m.heap.Load(); n != 0 {
			t.Errorf("%d bytes counted on the Go heap after Release", n)
		}
	})
	return m
}

func (m *model) element() element {
	score := float64(m.random.IntN(m.scores) - m.scores/2)
	switch m.random.IntN(100) {
	case 0:
		score = math.Inf(1)
	case 1:
		score = math.Inf(-1)
	case 2:
		score = m.random.NormFloat64()
	}
	length := m.random.IntN(m.lengths + 1)
	if m.random.IntN(200) == 0 {
		length = inlineMax - 2 + m.random.IntN(5)
	}
	member := []byte(fmt.Sprintf("m:%09d", m.random.IntN(1e9)))
	for len(member) < length {
		member = append(member, byte(m.random.IntN(3)))
	}
	return element{score, string(member[:length])}
}

func (m *model) insert(e element) {
	at, found := slices.BinarySearchFunc(m.want, e, order)
	if rank := m.tree.Rank(e.score, []byte(e.member)); found != (rank >= 0) {
		m.t.Fatalf("Rank of %v: %d, present: %v", e, rank, found)
	}
	if !found {
		m.tree.Insert(e.score, []byte(e.member))
		m.want = slices.Insert(m.want, at, e)
	}
}

func (m *model) step(growing bool) {
	n := len(m.want)
	switch k := m.random.IntN(1000); {
	case k == 0:
		m.deleteRange(m.random.IntN(n+2)-1, m.random.IntN(n+2))
	case k < 10:
		from := m.random.IntN(n + 1)
		m.deleteRange(from, from+m.random.IntN(300))
	case k < 20:
		e := m.element()
		if _, found := slices.BinarySearchFunc(m.want, e, order); !found && m.tree.Delete(e.score, []byte(e.member)) {
			m.t.Fatalf("deleted %v, which is not there", e)
		}
	case n > 0 && growing != (k < 800):
		i := m.random.IntN(n)
		if e := m.want[i]; !m.tree.Delete(e.score, []byte(e.member)) {
			m.t.Fatalf("%v is not there", e)
		}
		m.want = slices.Delete(m.want, i, i+1)
	default:
		m.insert(m.element())
	}
}

func (m *model) deleteRange(from, to int) {
	var got []element
	m.tree.DeleteRange(from, to, func(score float64, member []byte) { got = append(got, element{score, string(member)}) })
	from, to = max(from, 0), min(to, len(m.want))
	if from > to {
		to = from
	}
	if !slices.Equal(got, m.want[from:to]) {
		m.t.Fatalf("DeleteRange(%d, %d) visited %d elements, or others", from, to, len(got))
	}
	m.want = slices.Delete(m.want, from, to)
}

func (m *model) check() {
	t, tree := m.t, m.tree
	sane(t, tree)
	if tree.Len() != len(m.want) {
		t.Fatalf("Len is %d, want %d", tree.Len(), len(m.want))
	}
	i := 0
	for c := tree.At(0); c.Valid(); c.Next() {
		if got := (element{c.Score(), string(c.Member())}); got != m.want[i] || c.Rank() != i {
			t.Fatalf("element %d is %v at rank %d, want %v", i, got, c.Rank(), m.want[i])
		}
		i++
	}
	for c := tree.At(tree.Len() - 1); c.Valid(); c.Prev() {
		if i--; string(c.Member()) != m.want[i].member || c.Rank() != i {
			t.Fatalf("element %d from behind is %q", i, c.Member())
		}
	}
	if i != 0 {
		t.Fatalf("%d elements were not seen from behind", i)
	}
	for range 20 {
		m.checkRanks()
	}
}

func (m *model) checkRanks() {
	e := m.element()
	if n := len(m.want); n > 0 && m.random.IntN(2) == 0 {
		i := m.random.IntN(n)
		e = m.want[i]
		if rank := m.tree.Rank(e.score, []byte(e.member)); rank != i {
			m.t.Fatalf("Rank of %v is %d, want %d", e, rank, i)
		}
		c := m.tree.At(i)
		if !c.Valid() || string(c.Member()) != e.member {
			m.t.Fatalf("At(%d) is %q, want %v", i, c.Member(), e)
		}
	}
	below, upTo := 0, 0
	for _, w := range m.want {
		if w.score < e.score {
			below++
		}
		if w.score <= e.score {
			upTo++
		}
	}
	if got := m.tree.CountBelowScore(e.score, false); got != below {
		m.t.Fatalf("%d elements below %v, want %d", got, e.score, below)
	}
	if got := m.tree.CountBelowScore(e.score, true); got != upTo {
		m.t.Fatalf("%d elements up to %v, want %d", got, e.score, upTo)
	}
}

// sane walks the whole tree and checks what must hold between its parts.
func sane(t *testing.T, tree *Tree) {
	t.Helper()
	if tree.root == nil {
		if tree.length != 0 || tree.long != nil {
			t.Fatalf("empty, but %d elements and %d long members", tree.length, len(tree.long))
		}
		return
	}
	w := walker{t: t, tree: tree, depth: -1}
	if n := w.node(tree.root, 0); n != tree.length {
		t.Fatalf("%d elements, Len is %d", n, tree.length)
	}
	if inUse := tree.pool.InUse(); inUse != w.pages*pages.Size {
		t.Fatalf("%d bytes of pages in use, %d pages in leaves", inUse, w.pages)
	}
	if w.longBytes != tree.longBytes {
		t.Fatalf("%d bytes of long members, counted %d", w.longBytes, tree.longBytes)
	}
}

type walker struct {
	t         *testing.T
	tree      *Tree
	depth     int // of leaves
	pages     int64
	longBytes int64
}

func (w *walker) node(n *node, depth int) int {
	t := w.t
	size := len(n.keys)
	if size == 0 || size > fanout || len(n.counts) != size || len(n.nodes)+len(n.leaves) != size || n.nodes != nil && n.leaves != nil {
		t.Fatalf("node of %d keys, %d counts, %d nodes, %d leaves", size, len(n.counts), len(n.nodes), len(n.leaves))
	}
	if n.leaves != nil {
		if w.depth >= 0 && w.depth != depth {
			t.Fatalf("leaves at depths %d and %d", depth, w.depth)
		}
		w.depth = depth
	}
	sum := 0
	for i := range size {
		first := n.first(i)
		if k := keyOf(first.score(0), w.tree.member(first, 0)); k != n.keys[i] {
			t.Fatalf("key %v of a child that begins with %v", n.keys[i], k)
		}
		count := 0
		if n.nodes != nil {
			count = w.node(n.nodes[i], depth+1)
		} else {
			count = w.leaf(n.leaves[i])
		}
		if count != n.counts[i] || count == 0 {
			t.Fatalf("count %d of a child with %d elements", n.counts[i], count)
		}
		sum += count
	}
	return sum
}

func (w *walker) leaf(l leaf) int {
	if l.run != 0 {
		w.pages++
	}
	used, bytes := make([]bool, len(l.mem)), 0
	for i := range l.len() {
		field, _ := l.field(i)
		off := l.word(headerSize + recordSize*i + 8)
		if off < l.membersAt() {
			w.t.Fatalf("member at %d, members begin at %d", off, l.membersAt())
		}
		for k := range field {
			if used[off+k] {
				w.t.Fatalf("members overlap at %d", off+k)
			}
			used[off+k] = true
		}
		bytes += len(field)
		if m := w.tree.member(l, i); len(m) > inlineMax {
			w.longBytes += int64(len(m))
		}
	}
	if l.free() < 0 || len(l.mem)-l.membersAt() != bytes+l.dead() {
		w.t.Fatalf("leaf of %d bytes: %d of members, %d dead, %d free", len(l.mem), bytes, l.dead(), l.free())
	}
	return l.len()
}

func TestAgainstModel(t *testing.T) {
	for _, lengths := range []int{11, 60, 700} {
		for _, scores := range []int{1, 10, 1e6} {
			t.Run(fmt.Sprintf("lengths %d scores %d", lengths, scores), func(t *testing.T) {
				m := newModel(t, rand.Uint64(), scores, lengths)
				for _, growing := range []bool{true, false, true, false} {
					for i := range 6000 {
						m.step(growing)
						if i%1000 == 0 {
							m.check()
						}
					}
					m.check()
				}
				m.deleteRange(0, len(m.want))
				m.check()
				if m.pool.InUse() != 0 {
					t.Fatalf("empty, with %d bytes in use", m.pool.InUse())
				}
			})
		}
	}
}

// TestInOrder builds trees from sorted elements: they must come out packed, and depth must not suffer.
func TestInOrder(t *testing.T) {
	const n = 200_000
	for _, name := range []string{"upwards", "downwards"} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, 1, 1, 1)
			for i := range n {
				k := i
				if name == "downwards" {
					k = n - i
				}
				m.tree.Insert(float64(k), fmt.Appendf(nil, "member:%05d", k%1e5))
			}
			sane(t, m.tree)
			if perElement := float64(m.tree.Bytes()) / n; perElement > 26 {
				t.Errorf("%.1f bytes per element of 24", perElement)
			}
			for m.tree.Len() > 0 {
				c := m.tree.At(0)
				if !m.tree.Delete(c.Score(), bytes.Clone(c.Member())) {
					t.Fatal("the first element is not there")
				}
			}
			sane(t, m.tree)
		})
	}
}

func TestCountBelowMember(t *testing.T) {
	m := newModel(t, rand.Uint64(), 1, 20)
	for len(m.want) < 5000 {
		if e := m.element(); e.score == 0 {
			m.insert(e)
		}
	}
	for range 2000 {
		member := m.element().member
		if m.random.IntN(2) == 0 {
			member = m.want[m.random.IntN(len(m.want))].member
		}
		at, found := slices.BinarySearchFunc(m.want, element{0, member}, order)
		if got := m.tree.CountBelowMember([]byte(member), false); got != at {
			t.Fatalf("%d elements below %q, want %d", got, member, at)
		}
		if found {
			at++
		}
		if got := m.tree.CountBelowMember([]byte(member), true); got != at {
			t.Fatalf("%d elements up to %q, want %d", got, member, at)
		}
	}
}

func TestSignedZeros(t *testing.T) {
	m := newModel(t, 1, 1, 1)
	zero, minus := 0.0, math.Copysign(0, -1)
	m.tree.Insert(zero, []byte("b"))
	m.tree.Insert(minus, []byte("a"))
	m.tree.Insert(minus, []byte("c"))
	for i, want := range []string{"a", "b", "c"} {
		c := m.tree.At(i)
		if string(c.Member()) != want || math.Signbit(c.Score()) != (want != "b") {
			t.Errorf("rank %d is %q with score %v", i, c.Member(), c.Score())
		}
	}
	if !m.tree.Delete(minus, []byte("b")) || m.tree.Rank(zero, []byte("c")) != 1 {
		t.Error("0 and -0 are not the same score")
	}
}

func TestClone(t *testing.T) {
	m := newModel(t, rand.Uint64(), 100, 600)
	for range 5000 {
		m.step(true)
	}
	before := m.pool.InUse()
	other := pages.New()
	defer other.Close()
	copied := &model{t: t, random: m.random, pool: other, tree: m.tree.Clone(other), want: slices.Clone(m.want), scores: 100, lengths: 600}
	for range 1000 {
		m.step(false)
		copied.step(true)
	}
	m.check()
	copied.check()
	copied.tree.Release()
	if other.InUse() != 0 || copied.tree.Len() != 0 || m.pool.InUse() > before {
		t.Errorf("%d bytes in use after Release", other.InUse())
	}
}

func TestSmallTreeTakesNoPage(t *testing.T) {
	m := newModel(t, 1, 1, 1)
	for i := range 20 {
		m.tree.Insert(float64(i), bytes.Repeat([]byte{byte(i)}, 80))
	}
	sane(t, m.tree)
	if m.pool.InUse() != 0 || m.tree.Bytes() > 3000 {
		t.Errorf("%d bytes, %d of pages", m.tree.Bytes(), m.pool.InUse())
	}
}
