package quicklist

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"kvserver/store/listpack"
	"kvserver/store/pages"
)

// sane walks all nodes of a list and checks what must hold of them.
func sane(t *testing.T, l *List) {
	t.Helper()
	if n := len(l.nodes); n&(n-1) != 0 || l.used > n || n > nodesMin && l.used <= n/8 {
		t.Fatalf("directory of %d places for %d nodes", n, l.used)
	}
	sum := New(nil, new(atomic.Int64))
	for i := range l.used {
		n := l.at(i)
		if n.count == 0 {
			t.Fatalf("node %d of %d is empty", i, l.used)
		}
		sum.account(n, 1)
		if n.plain() {
			if n.count != 1 || len(n.block) <= packedMax {
				t.Fatalf("plain node of %d elements, %d bytes", n.count, len(n.block))
			}
			continue
		}
		if size := len(n.block); size&(size-1) != 0 || size < blockMin || size > blockMax || (n.run == 0) != (size < pages.Size) ||
			n.from > n.to || int(n.to) > size {
			t.Fatalf("node %d: listpack [%d, %d) in %d bytes", i, n.from, n.to, len(n.block))
		}
		if err := listpack.Validate(n.listpack()); err != nil || listpack.Len(n.listpack()) != int(n.count) {
			t.Fatalf("node %d: %d elements, says %d, %v", i, listpack.Len(n.listpack()), n.count, err)
		}
	}
	for i := l.used; i < len(l.nodes); i++ {
		if l.at(i).block != nil || l.at(i).run != 0 {
			t.Fatalf("place %d beyond %d nodes is not empty", i, l.used)
		}
	}
	if sum.count != l.count || sum.packed != l.packed || sum.pages != l.pages || sum.outside != l.outside {
		t.Fatalf("accounts: %d elements, %d bytes, %d pages, %d outside; in fact %d, %d, %d, %d",
			l.count, l.packed, l.pages, l.outside, sum.count, sum.packed, sum.pages, sum.outside)
	}
}

// contents returns the elements, and checks that walking backwards gives the same.
func contents(t *testing.T, l *List) (elems []string) {
	t.Helper()
	var buf [listpack.IntegerLenMax]byte
	l.Walk(0, Head, func(e Element) bool { elems = append(elems, string(e.Text(&buf))); return true })
	var back []string
	l.Walk(l.Len()-1, Tail, func(e Element) bool { back = append(back, string(e.Text(&buf))); return true })
	slices.Reverse(back)
	if !slices.Equal(elems, back) {
		t.Fatal("backwards the list is another")
	}
	for _, from := range []int{0, len(elems) / 3} {
		var some []string
		count := (len(elems) - from + 1) / 2
		l.Each(from, count, func(elem []byte) { some = append(some, string(elem)) })
		if !slices.Equal(some, elems[from:from+count]) {
			t.Fatalf("%d elements from %d on are others", count, from)
		}
	}
	return elems
}

// randomElement makes elements of all encodings and sizes. Few of them are long.
func randomElement(random *rand.Rand) []byte {
	switch random.IntN(10) {
	case 0:
		return fmt.Append(nil, random.Int64()>>random.IntN(64))
	case 1:
		return bytes.Repeat([]byte{'l'}, random.IntN(packedMax+1))
	case 2:
		if random.IntN(4) == 0 {
			return bytes.Repeat([]byte{'p'}, packedMax+random.IntN(4*packedMax))
		}
	case 3:
		return fmt.Append(nil, random.IntN(5))
	}
	return fmt.Appendf(nil, "element:%d", random.IntN(50))
}

// A model is a list beside the plain slice that it must equal.
type model struct {
	t      *testing.T
	random *rand.Rand
	l      *List
	want   []string
}

// step does one random operation. grow is the share in a hundred of those that add.
func (m *model) step(grow int) {
	r, n := m.random, len(m.want)
	elem := randomElement(r)
	if r.IntN(100) < grow || n == 0 {
		switch i := r.IntN(n + 1); r.IntN(4) {
		case 0:
			m.l.Push(Head, elem)
			m.want = slices.Insert(m.want, 0, string(elem))
		case 1:
			m.l.Push(Tail, elem)
			m.want = append(m.want, string(elem))
		default:
			m.l.Insert(i, elem)
			m.want = slices.Insert(m.want, i, string(elem))
		}
		return
	}
	switch r.IntN(12) {
	case 0, 1:
		d := 1 + r.IntN(3)
		m.l.Drop(Head, d)
		m.want = m.want[min(d, n):]
	case 2, 3:
		d := 1 + r.IntN(3)
		m.l.Drop(Tail, d)
		m.want = m.want[:max(0, n-d)]
	case 4, 5:
		i := r.IntN(n)
		m.l.Set(i, elem)
		m.want[i] = string(elem)
	case 6, 7:
		i := r.IntN(n)
		m.l.delete(i)
		m.want = slices.Delete(m.want, i, i+1)
	case 8:
		m.remove(elem, Head)
	case 9:
		m.remove([]byte(m.want[r.IntN(n)]), Tail)
	case 10:
		if r.IntN(10) == 0 {
			from := r.IntN(min(n, 20))
			keep := max(0, n-from-r.IntN(20))
			var gone *List
			if r.IntN(2) == 0 {
				gone = New(m.l.pool, m.l.heap)
			}
			m.l.Trim(from, keep, gone)
			m.want = m.want[from : from+keep]
			if gone != nil {
				sane(m.t, gone)
				gone.Release()
			}
		}
	case 11:
		i := r.IntN(n)
		m.l.Walk(i, Head, func(e Element) bool {
			if !e.Equal([]byte(m.want[i])) || e.Equal([]byte("no such element")) {
				m.t.Fatalf("element %d is not %.20q", i, m.want[i])
			}
			return false
		})
	}
}

func (m *model) remove(elem []byte, from End) {
	most := 1 + m.random.IntN(4)
	if m.random.IntN(4) == 0 {
		most = len(m.want)
	}
	removed := 0
	left := make([]string, 0, len(m.want))
	for i := range m.want {
		at := i
		if from == Tail {
			at = len(m.want) - 1 - i
		}
		if removed < most && m.want[at] == string(elem) {
			removed++
		} else {
			left = append(left, m.want[at])
		}
	}
	if from == Tail {
		slices.Reverse(left)
	}
	m.want = left
	if got := m.l.Remove(elem, most, from); got != removed {
		m.t.Fatalf("removed %d, want %d", got, removed)
	}
}

func TestModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	pool := pages.New()
	defer pool.Close()
	var heap atomic.Int64
	m := &model{t: t, random: rand.New(rand.NewPCG(seed, 0)), l: New(pool, &heap)}
	for round := range 60 {
		grow := 75
		if round%4 == 3 {
			grow = 20
		}
		for range 200 {
			m.step(grow)
		}
		sane(t, m.l)
		if got := contents(t, m.l); !slices.Equal(got, m.want) {
			t.Fatalf("round %d: list of %d elements differs from the model of %d", round, len(got), len(m.want))
		}
		if pool.InUse() != m.l.PageBytes() || heap.Load() != m.l.HeapBytes() {
			t.Fatalf("%d bytes of pages, %d on the heap; the list has %d, %d", pool.InUse(), heap.Load(), m.l.PageBytes(), m.l.HeapBytes())
		}
		c := m.l.Clone()
		sane(t, c)
		m.l.Release()
		if m.l = c; !slices.Equal(contents(t, c), m.want) {
			t.Fatal("the clone differs")
		}
		packed := c.AppendTo(nil)
		if len(packed) != c.PackedBytes() && c.Len() > 0 {
			t.Fatalf("as one listpack %d bytes, not %d", len(packed), c.PackedBytes())
		}
		unpacked := New(pool, &heap)
		unpacked.Append(packed)
		if sane(t, unpacked); !slices.Equal(contents(t, unpacked), m.want) {
			t.Fatal("the list from one listpack differs")
		}
		unpacked.Release()
	}
	m.l.Release()
	if pool.InUse() != 0 || heap.Load() != 0 {
		t.Fatalf("%d bytes of pages, %d on the heap after the release", pool.InUse(), heap.Load())
	}
}

// TestEnds: at both ends alike, nodes fill up, and what is pushed comes back in order.
func TestEnds(t *testing.T) {
	const count = 100_000
	elem := func(i int) []byte { return fmt.Appendf(nil, "elem%06d", i) }
	var buf [listpack.IntegerLenMax]byte
	for _, in := range []End{Head, Tail} {
		for _, out := range []End{Head, Tail} {
			pool := pages.New()
			l := New(pool, new(atomic.Int64))
			for i := range count {
				l.Push(in, elem(i))
			}
			sane(t, l)
			if most := int64(count * 12 * 103 / 100); l.Footprint() > most {
				t.Errorf("%d elements take %d bytes, more than %d", count, l.Footprint(), most)
			}
			for i := range count {
				want := elem(i)
				if in == out {
					want = elem(count - 1 - i)
				}
				index := 0
				if out == Tail {
					index = l.Len() - 1
				}
				l.Walk(index, out, func(e Element) bool {
					if !e.Equal(want) {
						t.Fatalf("popped %q, want %q", e.Text(&buf), want)
					}
					return false
				})
				l.Drop(out, 1)
			}
			if sane(t, l); l.Len() != 0 || pool.InUse() != 0 {
				t.Fatalf("%d elements, %d bytes left", l.Len(), pool.InUse())
			}
			pool.Close()
		}
	}
}

// TestQueue: a queue of constant length stays in its pages.
func TestQueue(t *testing.T) {
	for _, in := range []End{Head, Tail} {
		pool := pages.New()
		l := New(pool, new(atomic.Int64))
		for i := range 500 {
			l.Push(in, fmt.Appendf(nil, "elem%06d", i))
		}
		for i := range 20_000 {
			l.Push(in, fmt.Appendf(nil, "elem%06d", i))
			l.Drop(1-in, 1)
			if l.pages > 4 {
				t.Fatalf("%d pages for %d elements", l.pages, l.Len())
			}
		}
		sane(t, l)
		l.Release()
		pool.Close()
	}
}

// TestShort: a list that is not long does not take much more than its elements.
func TestShort(t *testing.T) {
	pool := pages.New()
	defer pool.Close()
	for _, end := range []End{Head, Tail} {
		l := New(pool, new(atomic.Int64))
		for i := range 2000 {
			l.Push(end, fmt.Appendf(nil, "elem%06d", i))
			sane(t, l)
			if most := int64(2*l.PackedBytes() + 2*blockMin); l.Footprint() > most {
				t.Fatalf("%d bytes of elements take %d", l.PackedBytes(), l.Footprint())
			}
		}
		l.Release()
	}
}

// TestBothEnds: pushes to both ends in turn do not move the node each time.
func TestBothEnds(t *testing.T) {
	pool := pages.New()
	defer pool.Close()
	l := New(pool, new(atomic.Int64))
	moved, from := 0, uint32(0)
	for i := range 500 {
		l.Push(End(i%2), []byte("element"))
		if now := l.at(0).from; now != from && now != from-9 {
			moved++
		}
		from = l.at(0).from
	}
	if sane(t, l); moved > 50 {
		t.Fatalf("moved %d times", moved)
	}
	l.Release()
}

// TestMiddle: a list that grew by insertions in its middle does not consist of nearly empty nodes.
func TestMiddle(t *testing.T) {
	pool := pages.New()
	defer pool.Close()
	l := New(pool, new(atomic.Int64))
	for i := range 20_000 {
		l.Insert(l.Len()/2, fmt.Appendf(nil, "elem%06d", i))
	}
	sane(t, l)
	if most := int64(3 * l.PackedBytes()); l.Footprint() > most {
		t.Fatalf("%d bytes of elements take %d", l.PackedBytes(), l.Footprint())
	}
	for l.Len() > 100 {
		l.delete(l.Len() / 2)
	}
	if sane(t, l); l.used > 2 {
		t.Fatalf("%d nodes for %d elements", l.used, l.Len())
	}
	l.Release()
}

func BenchmarkPush(b *testing.B) {
	for _, bench := range []struct {
		name string
		end  End
	}{{"head", Head}, {"tail", Tail}} {
		b.Run(bench.name, func(b *testing.B) {
			pool := pages.New()
			l := New(pool, new(atomic.Int64))
			elem := []byte("element:123")
			for b.Loop() {
				l.Push(bench.end, elem)
			}
			b.ReportMetric(float64(l.Footprint())/float64(l.Len()), "B/elem")
			for l.Len() > 0 {
				l.Drop(bench.end, 1)
			}
			pool.Close()
		})
	}
}

func BenchmarkWalk100(b *testing.B) {
	pool := pages.New()
	l := New(pool, new(atomic.Int64))
	for range 1_000_000 {
		l.Push(Tail, []byte("element:123"))
	}
	var buf [listpack.IntegerLenMax]byte
	reply := make([]byte, 0, 4096)
	for b.Loop() {
		reply = reply[:0]
		n := 0
		l.Walk(0, Head, func(e Element) bool {
			reply = append(reply, e.Text(&buf)...)
			n++
			return n < 100
		})
	}
	pool.Close()
}

func BenchmarkInsertMiddle(b *testing.B) {
	pool := pages.New()
	l := New(pool, new(atomic.Int64))
	for range 1_000_000 {
		l.Push(Tail, []byte("element:123"))
	}
	for b.Loop() {
		l.Insert(l.Len()/2, []byte("element:123"))
	}
	pool.Close()
}
