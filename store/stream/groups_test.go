package stream

import (
	"math/rand/v2"
	"slices"
	"testing"

	"kvserver/store/pages"
)

// TestGroupAgainstModel delivers, claims, acknowledges and removes at random.
func TestGroupAgainstModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	s := New(pages.New())
	g := s.NewGroup([]byte("g"), ID{}, 0)
	type owned struct {
		by string
		Pending
	}
	want := map[ID]owned{}
	names := []string{"", "a", "b", "ba", "c\x00"}
	for i := range 5000 {
		id, name := ID{rng.Uint64N(300), rng.Uint64N(2)}, names[rng.IntN(len(names))]
		c := g.Consumer([]byte(name))
		switch n := rng.IntN(20); {
		case n == 0 && c != nil && rng.IntN(8) == 0:
			count := g.RemoveConsumer(c)
			for id, p := range want {
				if p.by == name {
					delete(want, id)
					count--
				}
			}
			if count != 0 || g.Consumer([]byte(name)) != nil {
				t.Fatalf("consumer %q left %d behind", name, count)
			}
		case n < 12:
			if c == nil {
				c = g.NewConsumer([]byte(name), int64(i))
			}
			if g.NewConsumer([]byte(name), 0) != nil || c.SeenMs > int64(i) || c.ActiveMs != -1 {
				t.Fatal("a second consumer of one name")
			}
			p := Pending{ID: id, DeliveredMs: int64(i), Deliveries: int64(n), consumer: c.number}
			g.Assign(c, id, p.DeliveredMs, p.Deliveries)
			want[id] = owned{name, p}
		default:
			_, had := want[id]
			if g.Acknowledge(id) != had {
				t.Fatalf("%v was pending: %v", id, had)
			}
			delete(want, id)
		}
	}
	sane(t, s)
	if g.Pending() != len(want) {
		t.Fatalf("%d pending, want %d", g.Pending(), len(want))
	}
	other := s.Clone()
	copied := other.Group([]byte("g"))
	sane(t, other)
	var before ID
	g.EachPending(ID{}, func(p Pending) bool {
		w := want[p.ID]
		if w.Pending != p || g.Owner(p).Name != w.by || !before.Less(p.ID) && before != (ID{}) {
			t.Fatalf("%+v after %v, want %+v", p, before, w)
		}
		before = p.ID
		q, ok := copied.Find(p.ID)
		copied.Acknowledge(p.ID)
		if r, still := g.Find(p.ID); !ok || !still || q != p || r != p {
			t.Fatal("the copy is not independent")
		}
		return true
	})
	sane(t, other)
	if first, last := g.PendingRange(); before != last || first.Less(ID{}) || copied.Pending() != 0 {
		t.Fatal(first, last, copied.Pending())
	}
	mine := 0
	c := g.Consumers()[0]
	for p, ok := g.PendingOfFrom(c, ID{}); ok; p, ok = g.PendingOfFrom(c, p.ID.after()) {
		mine++
	}
	if mine != c.Pending() {
		t.Fatalf("walked %d of %d", mine, c.Pending())
	}
}

func (id ID) after() ID {
	next, _ := id.Next()
	return next
}

func TestGroupsAreInOrder(t *testing.T) {
	s := New(pages.New())
	for _, name := range []string{"b", "", "a", "\xff", "ab"} {
		if s.NewGroup([]byte(name), ID{}, Unknown) == nil || s.NewGroup([]byte(name), ID{}, Unknown) != nil {
			t.Fatalf("group %q", name)
		}
	}
	var names []string
	for _, g := range s.Groups() {
		names = append(names, g.Name)
	}
	if !slices.Equal(names, []string{"", "a", "ab", "b", "\xff"}) {
		t.Fatalf("%q", names)
	}
	if !s.RemoveGroup([]byte("a")) || s.RemoveGroup([]byte("a")) || s.Group([]byte("a")) != nil || s.Group([]byte("b")) == nil {
		t.Fatal("removing a group")
	}
}

// TestLag follows Redis's tests of XINFO GROUPS: entries 1-0 to 5-0, some deleted or trimmed.
func TestLag(t *testing.T) {
	type answer struct {
		read, lag int64 // Unknown: it cannot be told
	}
	for _, c := range []struct {
		name    string
		deletes []uint64
		trim    int64 // entries left
		deliver int
		want    answer
	}{
		{"new", nil, 5, 0, answer{Unknown, 5}},
		{"read one", nil, 5, 1, answer{1, 4}},
		{"read all", nil, 5, 5, answer{5, 0}},
		{"trimmed before", nil, 3, 1, answer{3, 2}},
		{"deleted ahead", []uint64{3}, 5, 1, answer{Unknown, Unknown}},
		{"deleted ahead, all read", []uint64{3}, 5, 4, answer{5, 0}},
		{"first deleted", []uint64{1}, 5, 0, answer{Unknown, 4}},
		{"first deleted, one read", []uint64{1}, 5, 1, answer{2, 3}},
		{"all deleted", []uint64{1, 2, 3, 4, 5}, 5, 0, answer{Unknown, 0}},
	} {
		s := New(pages.New())
		for i := range uint64(5) {
			s.Append(ID{i + 1, 0}, byteSlices([]string{"f", "v"}), Limits{0, 100})
		}
		g := s.NewGroup([]byte("g"), ID{}, Unknown)
		for _, ms := range c.deletes {
			s.Delete(ID{ms, 0})
		}
		s.Trim(Trim{MaxLen: c.trim})
		r := s.Range(ID{}, Max, false)
		for n := 0; n < c.deliver && r.Next(); n++ {
			g.Delivered(r.ID())
		}
		lag, ok := g.Lag()
		if !ok {
			lag = Unknown
		}
		if got := (answer{g.Read, lag}); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
