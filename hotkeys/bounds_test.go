package hotkeys

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// floorCase accesses keys of two recorders, and fails if one that was accessed more
// often than the floor says is not visited.
func floorCase(t *testing.T, o Options, feed func(access func(recorder, k int, op Op, times int))) {
	t.Helper()
	f := newFixture(t, 2, o)
	truth := map[string]int{}
	feed(func(recorder, k int, op Op, times int) {
		name := fmt.Sprintf("key %d", k)
		truth[name] += times
		for range times {
			f.Recorder(recorder).Access(hashName(name), []byte(name), 0, op)
			f.Recorder(recorder).Flush() // the name is not kept
		}
	})
	f.pass(time.Second)
	visited := map[string]bool{}
	f.Each(func(_ *Report, e Entry) bool {
		visited[string(e.Key)] = true
		return true
	})
	floor := f.Report(Query{DB: AllDBs}).Floor
	for name, n := range truth {
		if !visited[name] && float64(n) > floor {
			t.Errorf("%s was accessed %d times, the floor is %v, and it is not tracked", name, n, floor)
		}
	}
}

// Each summary has one cold counter, so that what a key without one can have had is
// little; and both together have more hot keys than are kept.
func TestFloorOfKeysNotKept(t *testing.T) {
	const counters = 8
	o := Options{TopK: 4, Percentage: 100, Window: time.Second, Counters: counters}
	floorCase(t, o, func(access func(recorder, k int, op Op, times int)) {
		for k := range counters {
			times := 100
			if k == 0 {
				times = 1
			}
			access(0, k, Read, times)
			access(0, 100+k, Write, times)
			access(1, 200+k, Read, times)
		}
	})
}

func TestFloorOfAnyTraffic(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		o := Options{TopK: 4, Percentage: 100, Window: time.Second, Counters: 4 + random.IntN(12)}
		t.Logf("seed %d", seed)
		floorCase(t, o, func(access func(recorder, k int, op Op, times int)) {
			for range 200 {
				k := int(random.ExpFloat64() * 10)
				access(random.IntN(2), k, Op(random.IntN(3)), 1+random.IntN(3))
			}
		})
	}
}

// A hash may be 0, which stands for an empty place: such a key is sampled only, and
// its accesses do not go to another key.
func TestHoldOfHashZero(t *testing.T) {
	f := newFixture(t, 1, Options{TopK: 4, Percentage: 50, Window: time.Second, Hold: true})
	if hashOf(0, 0) != 0 {
		t.Fatal("the hash of this test is not 0")
	}
	r := f.Recorder(0)
	otherMarked, zeroMarked := false, false
	for range 1000 {
		otherMarked = r.AccessMarkable(1, []byte("other"), 0, Read, otherMarked)
		zeroMarked = r.AccessMarkable(0, []byte("zero"), 0, Read, zeroMarked)
	}
	f.pass(time.Second)
	for _, e := range f.Report(Query{DB: AllDBs}).Entries {
		switch name := string(e.Key); {
		case name == "other" && e.Held < 900:
			t.Errorf("other: held %d of 1000", e.Held)
		case name == "zero" && (e.Held != 0 || e.Count < 300):
			t.Errorf("zero: held %d, recorded %d of 1000", e.Held, e.Count)
		}
	}
}

// A key that is discovered by a read was written before that as well: the bounds of
// its writes must not be those of a key that was held from the first moment.
func TestBoundsOfOneKind(t *testing.T) {
	f := newFixture(t, 1, Options{TopK: 4, Percentage: 1, Window: time.Second, Hold: true})
	r, name := f.Recorder(0), []byte("key")
	const accesses = 400
	for _, by := range []Ranking{All, Reads, Writes} {
		listed, covered := 0, 0
		for range 500 {
			f.Reset()
			marked := false
			for i := range accesses {
				marked = r.AccessMarkable(hashName("key"), name, 0, []Op{Read, Write}[i%2], marked)
			}
			f.pass(time.Second)
			truth := float64(accesses)
			if by != All {
				truth /= 2
			}
			report := f.Report(Query{By: by, DB: AllDBs})
			for _, e := range report.Entries {
				listed++
				if m := report.Measure(e); m.Low <= truth && truth <= m.High {
					covered++
				}
			}
		}
		if listed < 400 || covered < listed*95/100 {
			t.Errorf("ranking %d: listed %d times, within its bounds %d", by, listed, covered)
		}
	}
}
