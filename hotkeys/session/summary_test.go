package session

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"testing"
)

var testSeed = maphash.MakeSeed()

func (s *summary) addName(name string, weight uint64) {
	s.add(maphash.String(testSeed, name), []byte(name), weight)
}

// sane fails the test if the structure contradicts itself.
func (s *summary) sane(t *testing.T) {
	t.Helper()
	if len(s.heap) != len(s.counters) || len(s.counters) > s.capacity {
		t.Fatalf("%d places for %d counters of %d", len(s.heap), len(s.counters), s.capacity)
	}
	names := int64(0)
	for i, p := range s.heap {
		if above := (i - 1) / 2; i > 0 && s.heap[above].weight > p.weight {
			t.Fatalf("the heap has %d above %d", s.heap[above].weight, p.weight)
		}
		k := &s.counters[p.c]
		if int(k.at) != i {
			t.Fatalf("counter %d says it is at %d, and is at %d", p.c, k.at, i)
		}
		if _, c := s.find(k.hash, k.name); c != p.c {
			t.Fatalf("the index has counter %d for %q of counter %d", c, k.name, p.c)
		}
		names += int64(cap(k.name))
	}
	used := 0
	for _, ref := range s.slots {
		if ref != 0 {
			used++
		}
	}
	if used != len(s.counters) || names != s.nameBytes {
		t.Fatalf("%d slots in use for %d counters, %d bytes of names counted as %d", used, len(s.counters), names, s.nameBytes)
	}
}

// bounded fails the test if a bound of the algorithm does not hold for what was added.
func (s *summary) bounded(t *testing.T, truth map[string]uint64) {
	t.Helper()
	total, counts := uint64(0), uint64(0)
	for _, w := range truth {
		total += w
	}
	for i := range s.counters {
		k := &s.counters[i]
		count := s.heap[k.at].weight
		counts += count
		if f := truth[string(k.name)]; count < f || count-k.err > f {
			t.Fatalf("%q took %d: counted %d, error %d", k.name, f, count, k.err)
		}
	}
	if counts != total {
		t.Fatalf("counts add up to %d of %d", counts, total)
	}
	if s.bound() > total/uint64(s.capacity) {
		t.Fatalf("the bound is %d of %d with %d counters", s.bound(), total, s.capacity)
	}
	for name, f := range truth {
		if _, c := s.find(maphash.String(testSeed, name), []byte(name)); c == none && f > s.bound() {
			t.Fatalf("%q took %d, above the bound %d, and has no counter", name, f, s.bound())
		}
	}
}

func TestSummaryHoldsItsBounds(t *testing.T) {
	for _, capacity := range []int{1, 2, 7, 64, 1024} {
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, 0))
		t.Logf("seed %d", seed)
		s := summary{capacity: capacity}
		truth := map[string]uint64{}
		for i := range 20_000 {
			// Small keys are common and light, some rare ones are very heavy: the order of the heap changes everywhere.
			name, weight := fmt.Sprint("k", rng.Uint64()>>(rng.IntN(12)+48)), rng.Uint64N(100)
			if rng.IntN(500) == 0 {
				weight <<= rng.IntN(20)
			}
			s.addName(name, weight)
			truth[name] += weight
			if i%2000 == 0 {
				s.sane(t)
				s.bounded(t, truth)
			}
		}
		s.sane(t)
		s.bounded(t, truth)
	}
}

func TestSummaryOfFewKeysIsExact(t *testing.T) {
	s := summary{capacity: 8}
	for i := range 8 {
		s.addName(fmt.Sprint(i), uint64(i+1))
		s.addName(fmt.Sprint(i), 10)
	}
	s.addName("nothing", 0)
	for i := range s.counters {
		k := &s.counters[i]
		if got := s.heap[k.at].weight; k.err != 0 || got != uint64(i+11) {
			t.Errorf("%q: %d, error %d", k.name, got, k.err)
		}
	}
	if len(s.counters) != 8 {
		t.Errorf("%d counters", len(s.counters))
	}
}

// TestEqualHashes makes all keys collide: the names alone tell them apart.
func TestEqualHashes(t *testing.T) {
	s := summary{capacity: 5}
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	truth := map[string]uint64{}
	for range 2000 {
		name, weight := fmt.Sprint(rng.IntN(12)), rng.Uint64N(50)
		s.add(^uint64(0), []byte(name), weight)
		truth[name] += weight
		s.sane(t)
	}
	for i := range s.counters {
		k := &s.counters[i]
		if f, count := truth[string(k.name)], s.heap[k.at].weight; count < f || count-k.err > f {
			t.Errorf("%q took %d: counted %d, error %d", k.name, f, count, k.err)
		}
	}
}

func TestAddAllocatesNothing(t *testing.T) {
	s := summary{capacity: 64}
	names := make([][]byte, 256)
	for i := range names {
		names[i] = fmt.Appendf(nil, "%016d", i)
	}
	add := func() {
		for _, name := range names {
			s.add(maphash.Bytes(testSeed, name), name, 3)
		}
	}
	add()
	if n := testing.AllocsPerRun(20, add); n != 0 {
		t.Errorf("%v allocations in %d additions", n, len(names))
	}
}
