package stream

import (
	"math/rand/v2"
	"testing"

	"kvserver/store/listpack"
	"kvserver/store/pages"
)

// reload makes a stream of the blocks of another.
func reload(t testing.TB, s *Stream) *Stream {
	t.Helper()
	c := New(s.pool)
	s.EachBlock(func(first ID, b []byte) {
		if err := c.LoadBlock(first, b); err != nil {
			t.Fatalf("block %v: %v", first, err)
		}
	})
	if err := c.Loaded(s.Len(), s.Last(), s.MaxDeleted(), s.Added()); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReload(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	pool := pages.New()
	defer pool.Close()
	s, m := New(pool), &model{}
	for range 5000 {
		step(t, s, m, Limits{300, 20}, rng)
	}
	c := reload(t, s)
	compare(t, c, m, rng)
	if c.Blocks() != s.Blocks() {
		t.Fatalf("%d blocks of %d", c.Blocks(), s.Blocks())
	}
	for range 1000 {
		step(t, c, m, Limits{300, 20}, rng)
	}
	compare(t, c, m, rng)
	for _, err := range []error{
		c.Loaded(c.Len()+1, Max, ID{}, 1<<62), c.Loaded(c.Len(), ID{1, 0}, ID{}, 1<<62), c.Loaded(c.Len(), Max, ID{}, c.Len()-1),
		c.Loaded(c.Len(), c.Last(), Max, 1<<62),
	} {
		if err == nil {
			t.Error("what contradicts the entries was accepted")
		}
	}
}

func TestLoadGroup(t *testing.T) {
	s := New(pages.New())
	g := s.NewGroup([]byte("g"), ID{5, 0}, 3)
	c := g.NewConsumer([]byte("c"), 7)
	if g.LoadPending(ID{1, 0}, 10, 2) != nil || g.LoadPending(ID{1, 0}, 10, 2) == nil {
		t.Fatal("pending twice")
	}
	if g.LoadedGroup() == nil {
		t.Fatal("pending for nobody")
	}
	if g.LoadOwner(c, ID{2, 0}) == nil || g.LoadOwner(c, ID{1, 0}) != nil || g.LoadOwner(c, ID{1, 0}) == nil {
		t.Fatal("owner")
	}
	if g.LoadedGroup() != nil {
		t.Fatal("all is well")
	}
	saneGroup(t, g)
}

// blockOf packs integers and texts.
func blockOf(elements ...any) []byte {
	b := listpack.New()
	for _, e := range elements {
		switch e := e.(type) {
		case int:
			b = listpack.AppendInt(b, int64(e))
		case string:
			b = listpack.Append(b, []byte(e))
		}
	}
	return b
}

func TestLoadBlockRefuses(t *testing.T) {
	for name, b := range map[string][]byte{
		"nothing":               nil,
		"no entry":              blockOf(0, 0, 1, "f", 0),
		"no terminator":         blockOf(1, 0, 1, "f", 2, 0, 0, "v", 4),
		"too few fields":        blockOf(1, 0, 1000000, "f", 0, 2, 0, 0, "v", 4),
		"no field":              blockOf(1, 0, 0, 0, 2, 0, 0, 3),
		"wrong count":           blockOf(2, 0, 1, "f", 0, 2, 0, 0, "v", 4),
		"wrong count deleted":   blockOf(1, 1, 1, "f", 0, 2, 0, 0, "v", 4),
		"deleted and counted":   blockOf(1, 0, 1, "f", 0, 3, 0, 0, "v", 4),
		"unknown flag":          blockOf(1, 0, 1, "f", 0, 6, 0, 0, "v", 4),
		"flags in two bytes":    blockOf(1, 0, 1, "f", 0, 130, 0, 0, "v", 4),
		"text for flags":        blockOf(1, 0, 1, "f", 0, "x", 0, 0, "v", 4),
		"text for ID":           blockOf(1, 0, 1, "f", 0, 2, 0, "x", "v", 4),
		"wrong pieces":          blockOf(1, 0, 1, "f", 0, 2, 0, 0, "v", 5),
		"truncated":             blockOf(1, 0, 1, "f", 0, 2, 0, 0, "v"),
		"before the block":      blockOf(1, 0, 1, "f", 0, 2, -1, 0, "v", 4),
		"not in order":          blockOf(2, 0, 1, "f", 0, 2, 0, 1, "v", 4, 2, 0, 1, "v", 4),
		"own fields, too few":   blockOf(1, 0, 1, "f", 0, 0, 0, 0, 2, "a", "b", "c", 7),
		"own fields, negative":  blockOf(1, 0, 1, "f", 0, 0, 0, 0, -1, 2),
		"own fields, very many": blockOf(1, 0, 1, "f", 0, 0, 0, 0, 1<<62, "a", "b", 2),
	} {
		if New(pages.New()).LoadBlock(ID{5, 5}, b) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	good := blockOf(1, 1, 1, "f", 0, 3, 0, 0, "v", 4, 0, 1, -5, 2, "a", "b", "c", "d", 8)
	s := New(pages.New())
	if s.LoadBlock(ID{5, 5}, good) != nil || s.LoadBlock(ID{6, 0}, good) == nil || s.LoadBlock(ID{6, 1}, good) != nil {
		t.Error("good blocks")
	}
	if New(pages.New()).LoadBlock(ID{}, good) == nil {
		t.Error("a block with no ID")
	}
	sane(t, s)
}

// FuzzLoadBlock: whatever is accepted can be read, changed and loaded again.
func FuzzLoadBlock(f *testing.F) {
	f.Add(blockOf(1, 1, 1, "f", 0, 3, 0, 0, "v", 4, 0, 1, -5, 2, "a", "b", "c", "d", 8), uint64(5))
	f.Add(blockOf(2, 0, 2, "f", "17", 0, 2, 0, 0, "v", 400, 5, 2, 70000, 1, "v", "w", 5), uint64(1))
	f.Add(blockOf(0, 1, 1, "f", 0, 3, 0, 0, "v", 4), uint64(1))
	f.Fuzz(func(t *testing.T, b []byte, seq uint64) {
		s := New(pages.New())
		if s.LoadBlock(ID{1 << 40, seq}, b) != nil {
			return
		}
		if s.Loaded(s.Len(), s.Last(), ID{}, s.Added()) != nil {
			t.Fatal("counted wrongly")
		}
		sane(t, s)
		all := rangeOf(s, ID{}, Max, false)
		if int64(len(all)) != s.Len() || len(rangeOf(s, ID{}, Max, true)) != len(all) {
			t.Fatalf("%d entries of %d", len(all), s.Len())
		}
		c := reload(t, s)
		if next, ok := c.NextID(0); ok {
			c.Append(next, byteSlices([]string{"f", "v"}), Limits{4096, 100})
		}
		for i, e := range all {
			if i%2 == 0 && !c.Delete(e.id) {
				t.Fatalf("%v is not there", e.id)
			}
		}
		sane(t, c)
		s.Trim(Trim{MaxLen: s.Len() / 2})
		sane(t, s)
	})
}
