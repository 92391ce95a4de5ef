package stream

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"kvserver/store/listpack"
	"kvserver/store/pages"
)

// modelEntry is an entry of the plain model that streams are compared with.
type modelEntry struct {
	id    ID
	pairs []string
}

type model struct {
	entries          []modelEntry
	last, maxDeleted ID
	added            int64
}

func (m *model) find(id ID) (int, bool) {
	return slices.BinarySearchFunc(m.entries, id, func(e modelEntry, id ID) int {
		switch {
		case e.id.Less(id):
			return -1
		case id.Less(e.id):
			return 1
		}
		return 0
	})
}

// sane walks all of a stream and checks what must hold of it.
func sane(t *testing.T, s *Stream) {
	t.Helper()
	if s.blocks != nil && s.blocks.Len() > 0 && len(s.open) == 0 {
		t.Fatal("full blocks and no open one")
	}
	live, before := int64(0), ID{}
	s.EachBlock(func(first ID, b []byte) {
		last, n, _, err := check(first, b)
		if err != nil || n == 0 || !before.Less(first) {
			t.Fatalf("block %v after %v: %v, %d live", first, before, err, n)
		}
		before = last
		live += n
		if first == s.gone.block {
			saneGone(t, s, first, b)
		}
	})
	if live != s.length || s.last.Less(before) {
		t.Fatalf("%d entries up to %v, counted %d up to %v", live, before, s.length, s.last)
	}
	if len(s.open) > 0 {
		at := skip(s.open, liveAt, 2)
		if s.fields != int(integer(s.open, at)) || s.fieldsAt != listpack.After(s.open, at) ||
			s.openCount != integer(s.open, liveAt)+deleted(s.open) {
			t.Fatal("what is known of the open block is wrong")
		}
	}
	saneChunks(t, s)
	bytes := int64(0)
	for _, g := range s.groups {
		saneGroup(t, g)
		bytes += g.bytes()
	}
	if bytes != s.groupBytes {
		t.Fatalf("groups of %d bytes, counted %d", bytes, s.groupBytes)
	}
}

func saneGone(t *testing.T, s *Stream, first ID, b []byte) {
	t.Helper()
	var c cursor
	c.set(first, b)
	for c.next() && c.at < c.entriesAt+s.gone.bytes {
		if !c.deleted() {
			t.Fatalf("%v is taken for deleted", c.id)
		}
	}
	if c.at != c.entriesAt+s.gone.bytes {
		t.Fatal("no entry begins where the deleted ones are said to end")
	}
}

func saneChunks(t *testing.T, s *Stream) {
	t.Helper()
	type extent struct{ chunk, from, to uint32 }
	var extents []extent
	if s.blocks != nil {
		s.blocks.Scan(func(at sealed) bool {
			extents = append(extents, extent{at.chunk, at.off, at.off + at.size})
			return true
		})
	}
	slices.SortFunc(extents, func(a, b extent) int {
		if a.chunk != b.chunk {
			return int(a.chunk) - int(b.chunk)
		}
		return int(a.from) - int(b.from)
	})
	live := make([]int, len(s.table))
	for i, e := range extents {
		if i > 0 && extents[i-1].chunk == e.chunk && extents[i-1].to > e.from || int(e.to) > s.table[e.chunk].used {
			t.Fatalf("blocks overlap or leave their chunk: %v", extents)
		}
		live[e.chunk] += int(e.to - e.from)
	}
	bytes, heap, unused := int64(0), int64(0), 0
	for i, c := range s.table {
		bytes += int64(cap(c.mem))
		if c.run == 0 {
			heap += int64(cap(c.mem))
		}
		if c.mem == nil {
			unused++
		}
		if c.live != live[i] || c.mem != nil && c.live == 0 {
			t.Fatalf("chunk %d has %d bytes of blocks, counted %d", i, live[i], c.live)
		}
	}
	if bytes != s.bytes || heap != s.heap || unused != len(s.free) {
		t.Fatalf("%d bytes, %d chunks unused; counted %d, %d", bytes, unused, s.bytes, len(s.free))
	}
}

func saneGroup(t *testing.T, g *Group) {
	t.Helper()
	owned := 0
	for i, c := range g.consumers {
		if i > 0 && g.consumers[i-1].Name >= c.Name || g.numbered[c.number] != c {
			t.Fatalf("consumer %q out of place", c.Name)
		}
		c.pending.Scan(func(id ID) bool {
			owned++
			if p, ok := g.Find(id); !ok || g.Owner(p) != c {
				t.Fatalf("%v is pending for %q and not in the group", id, c.Name)
			}
			return true
		})
	}
	if owned != g.pending.Len() {
		t.Fatalf("%d are pending for consumers, %d in the group", owned, g.pending.Len())
	}
	if len(g.consumers)+len(g.unused) != len(g.numbered) {
		t.Fatalf("%d consumers, %d numbers of which %d unused", len(g.consumers), len(g.numbered), len(g.unused))
	}
}

// rangeOf collects what a walk gives.
func rangeOf(s *Stream, from, to ID, reverse bool) (list []modelEntry) {
	for r := s.Range(from, to, reverse); r.Next(); {
		e := modelEntry{id: r.ID()}
		for range r.Fields() {
			field, value := r.Pair()
			e.pairs = append(e.pairs, string(field), string(value))
		}
		list = append(list, e)
	}
	return list
}

func sameEntries(a, b []modelEntry) bool {
	return slices.EqualFunc(a, b, func(x, y modelEntry) bool { return x.id == y.id && slices.Equal(x.pairs, y.pairs) })
}

func compare(t *testing.T, s *Stream, m *model, rng *rand.Rand) {
	t.Helper()
	sane(t, s)
	first := ID{}
	if len(m.entries) > 0 {
		first = m.entries[0].id
	}
	if s.Len() != int64(len(m.entries)) || s.First() != first || s.Last() != m.last || s.Added() != m.added || s.MaxDeleted() != m.maxDeleted {
		t.Fatalf("%d entries from %v, last %v, added %d, deleted %v; want %d %v %v %d %v", s.Len(), s.First(), s.Last(), s.Added(), s.MaxDeleted(),
			len(m.entries), first, m.last, m.added, m.maxDeleted)
	}
	from, to := ID{}, Max
	if rng.IntN(3) > 0 {
		from, to = m.someID(rng), m.someID(rng)
	}
	i, _ := m.find(from)
	j, ok := m.find(to)
	if ok {
		j++
	}
	want := slices.Clone(m.entries[i:max(i, j)])
	if got := rangeOf(s, from, to, false); !sameEntries(got, want) {
		t.Fatalf("%v to %v: %d entries, want %d", from, to, len(got), len(want))
	}
	slices.Reverse(want)
	if got := rangeOf(s, from, to, true); !sameEntries(got, want) {
		t.Fatalf("%v down to %v: %d entries, want %d", to, from, len(got), len(want))
	}
}

// someID returns an ID at or near one of the stream's.
func (m *model) someID(rng *rand.Rand) ID {
	if len(m.entries) == 0 {
		return ID{rng.Uint64N(5), 0}
	}
	id := m.entries[rng.IntN(len(m.entries))].id
	switch rng.IntN(4) {
	case 0:
		id, _ = id.Next()
	case 1:
		id, _ = id.Prev()
	}
	return id
}

// text returns a field or value: mostly short, sometimes a number, rarely long.
func text(rng *rand.Rand) string {
	switch rng.IntN(40) {
	case 0:
		return fmt.Sprint(rng.Int64())
	case 1:
		return string(make([]byte, rng.IntN([]int{100, 6000, 200000}[rng.IntN(3)])))
	case 2:
		return ""
	}
	return "abc123"[rng.IntN(3):][:1+rng.IntN(3)]
}

func somePairs(rng *rand.Rand) []string {
	if rng.IntN(10) > 0 {
		return []string{"field", text(rng)}
	}
	var pairs []string
	for range 1 + rng.IntN(4) {
		pairs = append(pairs, text(rng), text(rng))
	}
	return pairs
}

func byteSlices(list []string) (out [][]byte) {
	for _, s := range list {
		out = append(out, []byte(s))
	}
	return out
}

func (m *model) nextID(rng *rand.Rand) ID {
	switch rng.IntN(4) {
	case 0:
		return ID{m.last.Ms, m.last.Seq + 1 + rng.Uint64N(3)}
	case 1:
		return ID{m.last.Ms + 1 + rng.Uint64N(100000), rng.Uint64()}
	}
	return ID{m.last.Ms + 1 + rng.Uint64N(5), rng.Uint64N(3)}
}

func (m *model) trim(t Trim) {
	if t.ByID {
		i, _ := m.find(t.MinID)
		m.entries = m.entries[i:]
	} else if n := int64(len(m.entries)) - t.MaxLen; n > 0 {
		m.entries = m.entries[n:]
	}
}

// step does one random thing to a stream and its model.
func step(t *testing.T, s *Stream, m *model, limits Limits, rng *rand.Rand) {
	t.Helper()
	switch n := rng.IntN(100); {
	case n < 80:
		id, pairs := m.nextID(rng), somePairs(rng)
		s.Append(id, byteSlices(pairs), limits)
		m.entries = append(m.entries, modelEntry{id, pairs})
		m.last, m.added = id, m.added+1
	case n < 98:
		for range rng.IntN(10) {
			id := m.someID(rng)
			i, ok := m.find(id)
			if s.Has(id) != ok || s.Delete(id) != ok {
				t.Fatalf("deleting %v: there is one: %v", id, ok)
			}
			if ok {
				m.entries = slices.Delete(m.entries, i, i+1)
				if m.maxDeleted.Less(id) {
					m.maxDeleted = id
				}
			}
		}
	default:
		trim := Trim{ByID: rng.IntN(2) == 0, MinID: m.someID(rng), MaxLen: rng.Int64N(int64(len(m.entries)) + 2)}
		if rng.IntN(2) == 0 {
			before := int64(len(m.entries))
			m.trim(trim)
			if removed := s.Trim(trim); removed != before-int64(len(m.entries)) {
				t.Fatalf("%+v removed %d of %d, want %d left", trim, removed, before, len(m.entries))
			}
			return
		}
		trim.Approx, trim.Limit = true, rng.Int64N(50)
		m.followTrim(t, s, trim)
	}
}

// followTrim checks that an approximate trim removes no more than asked for, from the beginning, and does the same.
func (m *model) followTrim(t *testing.T, s *Stream, trim Trim) {
	t.Helper()
	before := int64(len(m.entries))
	exact := model{entries: m.entries}
	exact.trim(trim)
	removed := s.Trim(trim)
	if removed > before-int64(len(exact.entries)) || trim.Limit > 0 && removed > trim.Limit {
		t.Fatalf("%+v removed %d of %d", trim, removed, before)
	}
	m.entries = m.entries[removed:]
}

func TestAgainstModel(t *testing.T) {
	for _, limits := range []Limits{{4096, 100}, {200, 0}, {0, 3}, {0, 300}, {0, 0}} {
		t.Run(fmt.Sprint(limits), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			rng := rand.New(rand.NewPCG(seed, 0))
			pool := pages.New()
			defer pool.Close()
			s, m := New(pool), &model{}
			for range 6 {
				for range 600 {
					step(t, s, m, limits, rng)
				}
				compare(t, s, m, rng)
				copied := s.Clone()
				compare(t, copied, m, rng)
				copied.Release()
			}
			for len(m.entries) > 0 {
				i := rng.IntN(len(m.entries))
				if !s.Delete(m.entries[i].id) {
					t.Fatal("an entry is not there")
				}
				if m.maxDeleted.Less(m.entries[i].id) {
					m.maxDeleted = m.entries[i].id
				}
				m.entries = slices.Delete(m.entries, i, i+1)
				if rng.IntN(100) == 0 {
					compare(t, s, m, rng)
				}
			}
			compare(t, s, m, rng)
			s.Release()
			if pool.InUse() != 0 {
				t.Fatalf("%d bytes of pages left", pool.InUse())
			}
		})
	}
}

// TestSparse deletes most of a stream everywhere: memory follows.
func TestSparse(t *testing.T) {
	pool := pages.New()
	defer pool.Close()
	s := New(pool)
	pairs := byteSlices([]string{"field", "some value of a few bytes"})
	const entries = 100000
	for i := range uint64(entries) {
		s.Append(ID{i + 1, 0}, pairs, Limits{4096, 100})
	}
	full := s.bytes
	for i := range uint64(entries) {
		if i%2000 >= 100 {
			s.Delete(ID{i + 1, 0})
		}
	}
	sane(t, s)
	if s.bytes > full/8 {
		t.Errorf("%d bytes for a twentieth of what had %d", s.bytes, full)
	}
	s.Release()
}

func TestFits(t *testing.T) {
	mb := make([]byte, 1<<20)
	pairs := slices.Repeat([][]byte{mb}, 1022)
	if !Fits(pairs) || Fits(append(pairs, mb, mb, mb)) {
		t.Error("an entry has at most 1 GiB")
	}
}

// TestRadixNodes counts the nodes of a tree without compression, chains as one.
func TestRadixNodes(t *testing.T) {
	type node map[byte]node
	var count func(n node) int
	count = func(n node) int {
		if len(n) != 1 {
			nodes := 1
			for _, child := range n {
				nodes += count(child)
			}
			return nodes
		}
		for len(n) == 1 {
			for _, child := range n {
				n = child
			}
		}
		return 1 + count(n)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		s, root := New(pages.New()), node{}
		id := ID{1, 0}
		for range rng.IntN(40) {
			id = ID{id.Ms + rng.Uint64N(3)<<(8*rng.IntN(7)), id.Seq + 1 + rng.Uint64N(2)<<(8*rng.IntN(7))}
			s.Append(id, byteSlices([]string{"f", "v"}), Limits{0, 1})
			n := root
			for _, b := range binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, id.Ms), id.Seq) {
				if n[b] == nil {
					n[b] = node{}
				}
				n = n[b]
			}
		}
		if got, want := s.RadixNodes(), count(root); got != want {
			t.Fatalf("%d nodes for %d blocks, want %d", got, s.Blocks(), want)
		}
	}
}

func TestIDs(t *testing.T) {
	for _, c := range []struct{ id, next ID }{
		{ID{0, 0}, ID{0, 1}}, {ID{1, 1<<64 - 1}, ID{2, 0}}, {ID{1<<64 - 1, 5}, ID{1<<64 - 1, 6}},
	} {
		next, ok := c.id.Next()
		prev, ok2 := next.Prev()
		if next != c.next || prev != c.id || !ok || !ok2 || !c.id.Less(next) || next.Less(c.id) {
			t.Errorf("after %v comes %v, before that %v", c.id, next, prev)
		}
	}
	if _, ok := Max.Next(); ok {
		t.Error("something after the greatest")
	}
	if _, ok := (ID{}).Prev(); ok {
		t.Error("something before zero")
	}
	if s := Max.String(); s != "18446744073709551615-18446744073709551615" || len(s) != IDLenMax {
		t.Error(s)
	}
}

func TestNextID(t *testing.T) {
	s := New(pages.New())
	for _, c := range []struct {
		last  ID
		nowMs int64
		want  ID
		ok    bool
	}{
		{ID{}, 5, ID{5, 0}, true}, {ID{5, 3}, 5, ID{5, 4}, true}, {ID{9, 3}, 5, ID{9, 4}, true}, {ID{9, 3}, -5, ID{9, 4}, true},
		{ID{5, 1<<64 - 1}, 5, ID{6, 0}, true}, {Max, 5, ID{}, false},
	} {
		s.SetLast(c.last)
		if id, ok := s.NextID(c.nowMs); id != c.want || ok != c.ok {
			t.Errorf("after %v at %d: %v %v", c.last, c.nowMs, id, ok)
		}
	}
}

// TestAppendAllocates nothing once the first block is as large as blocks get.
func TestAppendAllocates(t *testing.T) {
	pool := pages.New()
	defer pool.Close()
	s := New(pool)
	pairs := byteSlices([]string{"field", "value"})
	id := ID{1, 0}
	add := func() {
		id, _ = id.Next()
		s.Append(id, pairs, Limits{4096, 100})
	}
	for range 100000 {
		add()
	}
	if n := testing.AllocsPerRun(20000, add); n > 0.1 {
		t.Errorf("%v allocations per entry", n)
	}
	if n := testing.AllocsPerRun(1000, func() {
		for r := s.Range(ID{1, 500}, ID{1, 1500}, false); r.Next(); {
			r.Pair()
		}
	}); n > 1 {
		t.Errorf("%v allocations to read 1000 entries", n)
	}
	s.Release()
}

func BenchmarkAppend(b *testing.B) {
	pool := pages.New()
	defer pool.Close()
	s := New(pool)
	pairs := byteSlices([]string{"myfield", "value"})
	id := ID{1, 0}
	for b.Loop() {
		id.Seq++
		s.Append(id, pairs, Limits{4096, 100})
	}
	b.ReportMetric(float64(s.Footprint())/float64(s.Len()), "bytes/entry")
}

func BenchmarkAppendTrimmed(b *testing.B) {
	pool := pages.New()
	defer pool.Close()
	s := New(pool)
	pairs := byteSlices([]string{"myfield", "value"})
	id := ID{1, 0}
	for b.Loop() {
		id.Seq++
		s.Append(id, pairs, Limits{4096, 100})
		s.Trim(Trim{MaxLen: 1000})
	}
}

func BenchmarkRange(b *testing.B) {
	pool := pages.New()
	defer pool.Close()
	s := New(pool)
	pairs := byteSlices([]string{"myfield", "value"})
	for i := range uint64(100000) {
		s.Append(ID{i + 1, 0}, pairs, Limits{4096, 100})
	}
	for b.Loop() {
		n := 0
		for r := s.Range(ID{5000, 0}, Max, false); n < 100 && r.Next(); n++ {
			r.Pair()
		}
	}
}

// TestReadersTogether: reading writes nothing, as the race detector sees.
func TestReadersTogether(t *testing.T) {
	s := New(pages.New())
	for i := range uint64(2000) {
		s.Append(ID{i + 1, 0}, byteSlices([]string{"field", fmt.Sprint(i)}), Limits{4096, 100})
	}
	s.Delete(ID{1, 0})
	g := s.NewGroup([]byte("g"), ID{}, 0)
	c := g.NewConsumer([]byte("c"), 0)
	for i := range uint64(1000) {
		g.Assign(c, ID{i + 1, 0}, 1, 1)
	}
	s.Clone()
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			if n := len(rangeOf(s, ID{5, 0}, Max, true)); n != 1996 {
				t.Errorf("%d entries", n)
			}
			_, ok := s.LastEntry()
			pending := 0
			g.EachPendingOf(c, ID{}, func(Pending) bool { pending++; return true })
			if !ok || s.Has(ID{1, 0}) || !s.Has(ID{2, 0}) || pending != 1000 || s.RadixNodes() < s.Blocks() {
				t.Error("not as it was written")
			}
		})
	}
	readers.Wait()
}
