package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kvserver/store/stream"
)

// streamView is a view with all of a store, for tests of streams.
func streamView(t *testing.T) *View {
	s := New(Options{Databases: 2})
	t.Cleanup(s.Close)
	v := s.NewView()
	v.Bind(0, testNow, nil)
	v.Exclusive()
	return v
}

func pairsOf(words string) (pairs [][]byte) {
	for w := range strings.FieldsSeq(words) {
		pairs = append(pairs, []byte(w))
	}
	return pairs
}

func (v *View) mustStream(t *testing.T, key string) Stream {
	t.Helper()
	s, err := v.WriteStream([]byte(key))
	if err != nil || !s.Exists() {
		t.Fatalf("no stream at %q: %v", key, err)
	}
	return s
}

func TestStreamAdd(t *testing.T) {
	v := streamView(t)
	key, now := []byte("s"), uint64(testNow)
	top := stream.ID{Ms: stream.Max.Ms - 1, Seq: stream.Max.Seq}
	for i, c := range []struct {
		o    StreamAdd
		want stream.ID
		err  error
	}{
		{StreamAdd{ID: stream.ID{}}, stream.ID{}, ErrIDTooSmall},
		{StreamAdd{AutoSeq: true}, stream.ID{Seq: 1}, nil},
		{StreamAdd{ID: stream.ID{Ms: 5, Seq: 3}}, stream.ID{Ms: 5, Seq: 3}, nil},
		{StreamAdd{ID: stream.ID{Ms: 5, Seq: 3}}, stream.ID{}, ErrIDTooSmall},
		{StreamAdd{ID: stream.ID{Ms: 4}, AutoSeq: true}, stream.ID{}, ErrIDTooSmall},
		{StreamAdd{ID: stream.ID{Ms: 5}, AutoSeq: true}, stream.ID{Ms: 5, Seq: 4}, nil},
		{StreamAdd{ID: stream.ID{Ms: 6}, AutoSeq: true}, stream.ID{Ms: 6}, nil},
		{StreamAdd{AutoID: true}, stream.ID{Ms: now}, nil},
		{StreamAdd{AutoID: true}, stream.ID{Ms: now, Seq: 1}, nil},
		{StreamAdd{ID: stream.ID{Ms: now + 7, Seq: 7}}, stream.ID{Ms: now + 7, Seq: 7}, nil},
		{StreamAdd{AutoID: true}, stream.ID{Ms: now + 7, Seq: 8}, nil},
		{StreamAdd{ID: top}, top, nil},
		{StreamAdd{ID: stream.ID{Ms: top.Ms}, AutoSeq: true}, stream.ID{}, ErrIDTooSmall},
		{StreamAdd{AutoID: true}, stream.ID{Ms: top.Ms + 1}, nil},
		{StreamAdd{ID: stream.Max}, stream.Max, nil},
		{StreamAdd{AutoID: true}, stream.ID{}, ErrStreamExhausted},
	} {
		id, ok, err := v.StreamAdd(key, pairsOf("f v"), &c.o)
		if ok != (c.err == nil) || !errors.Is(err, c.err) || ok && id != c.want {
			t.Errorf("%d: %+v gave %v %v %v, want %v %v", i, c.o, id, ok, err, c.want, c.err)
		}
		if i == 0 && v.Peek(key).Exists() {
			t.Error("a refused entry made a stream")
		}
	}
	if _, ok, err := v.StreamAdd([]byte("none"), pairsOf("f v"), &StreamAdd{AutoID: true, NoCreate: true}); ok || err != nil || v.Peek([]byte("none")).Exists() {
		t.Error("NoCreate:", ok, err)
	}
	v.Set([]byte("str"), []byte("x"), SetOptions{})
	if _, _, err := v.StreamAdd([]byte("str"), pairsOf("f v"), &StreamAdd{AutoID: true}); err != ErrWrongType {
		t.Error(err)
	}
	if _, err := v.ReadStream([]byte("str")); err != ErrWrongType {
		t.Error(err)
	}
	sane(t, v.store)
}

// TestStreamState: what XSETID sets must fit the entries.
func TestStreamState(t *testing.T) {
	v := streamView(t)
	id := func(ms uint64) stream.ID { return stream.ID{Ms: ms} }
	for ms := range uint64(5) {
		v.StreamAdd([]byte("s"), pairsOf("f v"), &StreamAdd{ID: id(ms + 1)})
	}
	s := v.mustStream(t, "s")
	s.Delete([]stream.ID{id(5), id(2)})
	for _, c := range []struct {
		to   StreamState
		want error
	}{
		{StreamState{id(4), stream.ID{}, -1}, ErrIDBelowDeleted},
		{StreamState{id(5), stream.ID{}, 2}, ErrAddedBelowLength},
		{StreamState{id(5), stream.ID{}, 3}, nil},
		{StreamState{id(9), id(8), -1}, nil},
		{StreamState{id(7), stream.ID{}, -1}, ErrIDBelowDeleted},
	} {
		if err := s.Set(c.to); err != c.want {
			t.Errorf("%+v: %v, want %v", c.to, err, c.want)
		}
	}
	if s.Last() != id(9) || s.MaxDeleted() != id(8) || s.Added() != 3 || s.Len() != 3 {
		t.Error(s.Last(), s.MaxDeleted(), s.Added(), s.Len())
	}
	v.StreamAdd([]byte("u"), pairsOf("f v"), &StreamAdd{ID: id(5)})
	if err := v.mustStream(t, "u").Set(StreamState{id(4), stream.ID{}, -1}); err != ErrIDBelowTop {
		t.Error(err)
	}
}

// TestStreamClaims claims in all ways.
func TestStreamClaims(t *testing.T) {
	v := streamView(t)
	var ids []stream.ID
	for ms := range uint64(6) {
		id, _, _ := v.StreamAdd([]byte("s"), pairsOf("f v"), &StreamAdd{ID: stream.ID{Ms: ms + 1}})
		ids = append(ids, id)
	}
	s := v.mustStream(t, "s")
	if !s.CreateGroup([]byte("g"), stream.ID{}, false, 0) || s.CreateGroup([]byte("g"), stream.ID{}, false, 0) {
		t.Fatal("creating a group")
	}
	g := s.Group([]byte("g"))
	a := s.Seen(g, []byte("a"))
	if n := s.Deliver(g, a, 4, false, func(*stream.Range) bool { return true }); n != 4 || g.Last != ids[3] || !s.Undelivered(g) {
		t.Fatal(n, g.Last)
	}
	var claimed []stream.ID
	emit := func(id stream.ID, r *stream.Range) {
		if r != nil && r.ID() != id {
			t.Fatalf("%v is claimed as %v", r.ID(), id)
		}
		claimed = append(claimed, id)
	}
	v.Bind(v.db, v.nowMs+1000, v.rec)
	s.Delete(ids[1:2])
	s.Claim(g, &Claim{IDs: []stream.ID{ids[0], ids[1], ids[4]}, Consumer: []byte("b"), MinIdleMs: 1000, DeliveredMs: v.nowMs, Deliveries: -1}, emit)
	if !slices.Equal(claimed, ids[:1]) || g.Pending() != 3 || g.Consumer([]byte("b")).ActiveMs != v.nowMs {
		t.Fatal(claimed, g.Pending())
	}
	claimed = nil
	s.Claim(g, &Claim{IDs: ids, Consumer: []byte("c"), MinIdleMs: 1000, DeliveredMs: v.nowMs, Deliveries: 9, Force: true, JustID: true, LastID: ids[5]}, emit)
	if !slices.Equal(claimed, ids[2:]) || g.Last != ids[5] {
		t.Fatal(claimed, g.Last)
	}
	if p, _ := g.Find(ids[2]); p.Deliveries != 9 || g.Owner(p).Name != "c" {
		t.Fatal(p)
	}
	claimed = nil
	s.Delete(ids[3:4])
	deleted, next := s.AutoClaim(g, &AutoClaim{Consumer: []byte("d"), Count: 3}, emit)
	if !slices.Equal(claimed, []stream.ID{ids[0], ids[2]}) || !slices.Equal(deleted, ids[3:4]) || next != ids[4] {
		t.Fatal(claimed, deleted, next)
	}
	claimed = nil
	deleted, next = s.AutoClaim(g, &AutoClaim{From: next, Consumer: []byte("d"), Count: 3, MinIdleMs: 1}, emit)
	if claimed != nil || deleted != nil || next != (stream.ID{}) {
		t.Fatal(claimed, deleted, next)
	}
	if n := s.Acknowledge(g, ids); n != 4 || g.Pending() != 0 {
		t.Fatal(n, g.Pending())
	}
	sane(t, v.store)
}

// TestStreamAccounts fills streams with everything, copies, moves, expires and removes them: the store's accounts stay right.
func TestStreamAccounts(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	v := streamView(t)
	base := v.store.UsedBytes()
	key := func() []byte { return fmt.Appendf(nil, "s%d", rng.IntN(4)) }
	for i := range 20000 {
		k := key()
		v.Bind(v.db, v.nowMs+1, v.rec)
		switch n := rng.IntN(1000); {
		case n < 900:
			o := StreamAdd{AutoID: true, Trimmed: rng.IntN(50) == 0}
			o.Trim = stream.Trim{MaxLen: rng.Int64N(2000), Approx: rng.IntN(2) == 0}
			v.StreamAdd(k, pairsOf(fmt.Sprint("f ", strings.Repeat("v", rng.IntN(200)), i)), &o)
		case n < 995:
			if s, _ := v.WriteStream(k); s.Exists() {
				useGroup(s, rng)
			}
		case n < 997:
			v.Copy(k, key(), 1, true)
		case n < 998:
			v.Move(k, 1)
		case n < 999:
			v.Rename(k, key(), false)
		default:
			v.Expire(k, v.nowMs+rng.Int64N(1000), 0)
		}
		if i%1000 == 0 {
			settle(t, v)
		}
	}
	for db := range 2 {
		v.Select(db)
		for i := range 4 {
			v.Remove(fmt.Appendf(nil, "s%d", i))
		}
	}
	settle(t, v)
	if used := v.store.UsedBytes(); used > base+100<<10 {
		t.Errorf("%d bytes are used where nothing is left, %d at first", used, base)
	}
}

// settle lets go of what is no longer in the store, and checks its accounts.
func settle(t *testing.T, v *View) {
	t.Helper()
	v.Unlock()
	v.store.releasing.Wait()
	sane(t, v.store)
	v.Exclusive()
}

func useGroup(s Stream, rng *rand.Rand) {
	name := []byte{'a' + byte(rng.IntN(3))}
	g := s.Group(name)
	if g == nil {
		s.CreateGroup(name, stream.ID{}, rng.IntN(2) == 0, stream.Unknown)
		return
	}
	c := s.Seen(g, name)
	switch rng.IntN(8) {
	case 0:
		s.DeleteConsumer(g, name)
	case 1:
		if rng.IntN(10) == 0 {
			s.DestroyGroup(name)
		}
	case 2:
		s.AutoClaim(g, &AutoClaim{Consumer: []byte("z"), Count: 10}, func(stream.ID, *stream.Range) {})
	case 3:
		if g.Pending() > 0 {
			first, last := g.PendingRange()
			s.Acknowledge(g, []stream.ID{first, last})
			s.Delete([]stream.ID{first, last})
		}
	default:
		s.Deliver(g, c, 10, false, func(*stream.Range) bool { return true })
	}
}
