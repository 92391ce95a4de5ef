package hotkeys

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"
)

// keyspace is what a server has: it bears the marks of keys that are held.
type keyspace struct {
	*fixture
	marks map[key]bool
}

func newKeyspace(t testing.TB, o Options) *keyspace {
	return &keyspace{newFixture(t, 2, o), map[key]bool{}}
}

func holding(percentage int) Options {
	return Options{TopK: 16, Percentage: percentage, Window: time.Second, Hold: true, Measures: true}
}

// use accesses a key that exists.
func (ks *keyspace) use(recorder int, k key, op Op) {
	r := ks.Recorder(recorder)
	ks.marks[k] = r.AccessMarkable(hashName(k.name), []byte(k.name), k.db, op, ks.marks[k])
}

func (ks *keyspace) entry(k key) (Report, Entry) {
	ks.Helper()
	r := ks.Report(Query{DB: AllDBs})
	for _, e := range r.Entries {
		if (key{string(e.Key), e.DB}) == k {
			return r, e
		}
	}
	ks.Fatalf("%v is not reported: %+v", k, r.Entries)
	return Report{}, Entry{}
}

// Once a key is discovered each access counts, whoever makes it; in the next window it does from the beginning, and there is
// nothing left to estimate.
func TestHeldKeysAreCounted(t *testing.T) {
	ks := newKeyspace(t, holding(10))
	a := key{"a", 0}
	for range 5000 {
		ks.use(0, a, Read)
		ks.use(1, a, Write)
	}
	ks.pass(time.Second)
	r, e := ks.entry(a)
	m := r.Measure(e)
	if e.Count != 1 || e.Error != 0 || e.Held < 9000 || e.Held > 9999 {
		t.Fatalf("first window: %+v", e)
	}
	if rate := r.Rate(e); rate != float64(e.Held)+10 || m.Low > 10_000 || m.High < 10_000 || !m.Certain {
		t.Errorf("first window: rate %v of 10000, %+v", rate, m)
	}

	for i := range 3210 {
		ks.use(i%2, a, Read)
	}
	ks.pass(time.Second)
	r, e = ks.entry(a)
	m = r.Measure(e)
	if e.Count != 0 || e.Held != 3210 || r.QPS(e) != 3210 || m.Low != 3210 || m.High != 3210 || m.Reads != 3210 || m.Writes != 0 || m.Share != 1 || m.Samples != 3210 {
		t.Errorf("second window: %+v, %+v", e, m)
	}
	if r.Samples < 200 || r.Samples > 450 {
		t.Errorf("%d of 3210 accesses recorded at 10 %%", r.Samples)
	}

	// A window without an access to it, and it is held no longer.
	ks.pass(time.Second)
	ks.pass(time.Second)
	if r := ks.Report(Query{DB: AllDBs}); len(r.Entries) != 0 {
		t.Errorf("nothing accessed, reported %+v", r.Entries)
	}
	stale := 0
	for i := range 100 {
		k := key{fmt.Sprint(i), 0}
		ks.marks[k] = true
		if ks.use(0, k, Read); ks.marks[k] {
			stale++
		}
	}
	if stale > 30 { // a tenth is discovered, and marked again
		t.Errorf("%d of 100 keys that are not held keep their marks", stale)
	}
}

// The estimate is unbiased and its interval holds the truth, also of keys that lose their marks all the time.
func TestHoldIsUnbiased(t *testing.T) {
	const windows, accesses = 2000, 700
	for name, lose := range map[string]float64{"held": 0, "deleted": 0.02} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			sum, covered := 0.0, 0
			ks := newKeyspace(t, holding(1))
			for i := range windows {
				ks.Reset()
				k := key{fmt.Sprint(i), 3}
				for range accesses {
					if lose > 0 && rng.Float64() < lose {
						delete(ks.marks, k)
					}
					ks.use(0, k, Read)
				}
				ks.pass(time.Second)
				r := ks.Report(Query{DB: AllDBs})
				if len(r.Entries) == 0 {
					continue // not discovered: an estimate of zero
				}
				sum += r.Rate(r.Entries[0])
				if m := r.Measure(r.Entries[0]); m.Low <= accesses && accesses <= m.High {
					covered++
				}
			}
			// One window deviates by less than √accesses/p: the mean by less than 5 of these in four deviations.
			deviation := math.Sqrt(accesses*0.99/0.01) / math.Sqrt(windows)
			if mean := sum / windows; math.Abs(mean-accesses) > 4.5*deviation {
				t.Errorf("mean %.1f of %d, deviation %.1f", mean, accesses, deviation)
			}
			if float64(covered) < 0.94*windows {
				t.Errorf("%d of %d intervals hold the truth", covered, windows)
			}
		})
	}
}

// A key that cannot bear a mark is sampled.
func TestHoldWithoutMark(t *testing.T) {
	ks := newKeyspace(t, holding(50))
	missing := key{"missing", 0}
	for range 10_000 {
		ks.Recorder(0).Access(hashName(missing.name), []byte(missing.name), 0, Miss)
	}
	ks.pass(time.Second)
	r, e := ks.entry(missing)
	if m := r.Measure(e); e.Held != 0 || e.Count < 4500 || e.Count > 5500 || m.Low > 10_000 || m.High < 10_000 {
		t.Errorf("%+v, %+v", e, m)
	}
	// It is created: what follows is counted in the same entry.
	for range 1000 {
		ks.use(0, missing, Write)
	}
	for range 1000 {
		ks.Recorder(0).Access(hashName(missing.name), []byte(missing.name), 0, Miss)
	}
	ks.pass(time.Second)
	if _, e := ks.entry(missing); e.Held < 900 || e.Count < 400 || e.Error != 0 {
		t.Errorf("%+v", e)
	}
}

// When all places are taken, keys are sampled; the hottest have places in the next window.
func TestHoldIsBounded(t *testing.T) {
	ks := newKeyspace(t, holding(99))
	const keys = 3 * holdsMin
	for round := range 3 {
		for i := range keys {
			ks.use(0, key{fmt.Sprint(i), 0}, Read)
		}
		hot := key{"hot", 0}
		for range 5000 {
			ks.use(0, hot, Read)
		}
		ks.Recorder(0).Flush()
		if taken := len(ks.holds.keys); taken != holdsMin {
			t.Errorf("round %d: %d keys held", round, taken)
		}
		ks.pass(time.Second)
		r, e := ks.entry(hot)
		if m := r.Measure(e); m.Low > 5000 || m.High < 5000 {
			t.Errorf("round %d: %+v, %+v", round, e, m)
		}
		if round == 1 && e.Held < 4000 {
			t.Errorf("round %d: hot, and not held: %+v", round, e)
		}
		if carried := len(ks.holds.keys); carried != holdsMin/2 || ks.holds.carried != carried {
			t.Errorf("round %d: %d keys carried over", round, carried)
		}
	}
}

func TestHoldForgets(t *testing.T) {
	ks := newKeyspace(t, holding(50))
	load := func() {
		for range 200 {
			ks.use(0, key{"a", 0}, Read)
			ks.use(1, key{"b", 1}, Read)
		}
	}
	load()
	ks.FlushDB(1)
	ks.pass(time.Second)
	if r := ks.Report(Query{DB: AllDBs}); len(r.Entries) != 1 || string(r.Entries[0].Key) != "a" {
		t.Errorf("after FlushDB of the live window: %+v", r.Entries)
	}
	load()
	ks.pass(time.Second)
	ks.FlushDB(1)
	if r := ks.Report(Query{DB: AllDBs}); len(r.Entries) != 1 || string(r.Entries[0].Key) != "a" {
		t.Errorf("after FlushDB of the frozen window: %+v", r.Entries)
	}
	ks.Reset()
	ks.pass(time.Second)
	if r := ks.Report(Query{DB: AllDBs}); len(r.Entries) != 0 {
		t.Errorf("after Reset: %+v", r.Entries)
	}
	o := holding(50)
	o.Hold = false
	load()
	ks.configure(o)
	if ks.use(0, key{"a", 0}, Read); ks.marks[key{"a", 0}] {
		t.Error("holding is off and the mark stays")
	}
	if before := ks.MemoryBytes(); before > 1<<20 {
		t.Errorf("%d bytes after holding", before)
	}
	o.TopK = 0
	ks.configure(o)
	if ks.MemoryBytes() != 0 {
		t.Errorf("%d bytes when off", ks.MemoryBytes())
	}
}

// What MemoryBytes says of held keys is what the heap grows by.
func TestHoldMemory(t *testing.T) {
	before := live()
	ks := newKeyspace(t, holding(99))
	name := make([]byte, 200)
	for range 2 {
		for i := range uint64(5000) {
			ks.Recorder(0).AccessMarkable(keyOf(name, i), name, 0, Read, false)
			ks.Recorder(0).Flush()
		}
		ks.pass(time.Second)
	}
	said, grown := ks.MemoryBytes(), live()-before
	runtime.KeepAlive(ks)
	if grown > said*11/10+32<<10 || grown < said*9/10 {
		t.Errorf("%d bytes said, %d taken", said, grown)
	}
}

// Recorders discover, count and mark at the same time.
func TestHoldConcurrently(t *testing.T) {
	const recorders, keys, each = 8, 500, 20_000
	f := newFixture(t, recorders, holding(20))
	type marked struct {
		sync.Mutex
		is bool
	}
	marks := make([]marked, keys)
	for window := range 3 {
		var group sync.WaitGroup
		for i := range recorders {
			group.Go(func() {
				for n := range each {
					k := (n*n + i) % keys
					name := fmt.Append(nil, k)
					marks[k].Lock()
					was := marks[k].is
					marks[k].Unlock()
					is := f.Recorder(i).AccessMarkable(hashName(string(name)), name, 0, Read, was)
					marks[k].Lock()
					marks[k].is = is
					marks[k].Unlock()
				}
				f.Recorder(i).Flush()
			})
		}
		group.Wait()
		f.pass(time.Second)
		total := 0.0
		f.Each(func(r *Report, e Entry) bool {
			total += r.Rate(e)
			return true
		})
		if math.Abs(total-recorders*each) > 0.02*recorders*each {
			t.Errorf("window %d: %v accesses of %d", window, total, recorders*each)
		}
	}
}
