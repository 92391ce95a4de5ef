package session

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func keys(names ...string) (list [][]byte) {
	for _, n := range names {
		list = append(list, []byte(n))
	}
	return list
}

// shown prints a ranking as name=weight, with the error behind a slash if there is any.
func shown(list []Entry) string {
	var parts []string
	for _, e := range list {
		part := fmt.Sprintf("%s=%d", e.Key, e.Weight())
		if e.Error != 0 {
			part += fmt.Sprintf("/%d", e.Error)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}

func TestReport(t *testing.T) {
	s := New(3, Options{Metrics: CPU | Net, TopK: 3, Ratio: 1}, 1)
	s.Recorder(0).Record(keys("a"), 100, 7)
	s.Recorder(1).Record(keys("a", "b"), 11, 20)
	s.Recorder(2).Record(keys("c", "c", "d"), 8, 300)
	s.Recorder(2).Record(nil, 1000, 1000)
	rep := s.Report()
	if want := (Cost{119, 327}); rep.All != want || rep.Recorded != want {
		t.Errorf("all %v, recorded %v, want %v", rep.All, rep.Recorded, want)
	}
	if got := shown(rep.ByCPU); got != "a=106 c=6 b=5" {
		t.Errorf("by time: %s", got)
	}
	if got := shown(rep.ByNet); got != "c=200 d=100 a=17" {
		t.Errorf("by bytes: %s", got)
	}
}

func TestOneMetric(t *testing.T) {
	for metrics, want := range map[Metrics]string{CPU: "a=5 | ", Net: " | a=9"} {
		s := New(1, Options{Metrics: metrics, TopK: 10, Ratio: 1}, 1)
		s.Recorder(0).Record(keys("a"), 5, 9)
		rep := s.Report()
		if got := shown(rep.ByCPU) + " | " + shown(rep.ByNet); got != want {
			t.Errorf("%b: %s", metrics, got)
		}
		if rep.All != (Cost{5, 9}) {
			t.Errorf("%b: all %v", metrics, rep.All)
		}
	}
}

// TestSharesAddUp holds what keys are given against what the commands took.
func TestSharesAddUp(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 7, 1000} {
		for _, weight := range []uint64{0, 1, 2, 999, 1000, 1001, 1 << 40} {
			sum, least, most := uint64(0), uint64(math.MaxUint64), uint64(0)
			for i := range n {
				part := share(weight, i, n)
				sum, least, most = sum+part, min(least, part), max(most, part)
			}
			if sum != weight || most-least > 1 {
				t.Errorf("%d in %d parts: %d, from %d to %d", weight, n, sum, least, most)
			}
		}
	}
}

// TestSampling wants one command in ten, within five standard deviations.
func TestSampling(t *testing.T) {
	const commands, ratio = 100_000, 10
	seed := rand.Uint64()
	s := New(2, Options{Metrics: Net, TopK: 1, Ratio: ratio}, seed)
	for i := range commands {
		s.Recorder(i%2).Record(keys("k"), 1, 1)
	}
	rep := s.Report()
	mean, deviation := commands/float64(ratio), math.Sqrt(commands/float64(ratio)*(1-1/float64(ratio)))
	if rep.All.Bytes != commands || math.Abs(float64(rep.Recorded.Bytes)-mean) > 5*deviation {
		t.Errorf("seed %d: %d of %d recorded, want %.0f ± %.0f", seed, rep.Recorded.Bytes, rep.All.Bytes, mean, 5*deviation)
	}
	if rep.ByNet[0].Weight() != rep.Recorded.Bytes {
		t.Errorf("the key has %d of %d", rep.ByNet[0].Weight(), rep.Recorded.Bytes)
	}
}

// TestMergedBounds spreads a stream with a long tail over recorders and holds each merged count against the truth.
func TestMergedBounds(t *testing.T) {
	const recorders = 3
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	s := New(recorders, Options{Metrics: Net, TopK: math.MaxInt, Ratio: 1}, seed)
	truth, total := map[string]uint64{}, uint64(0)
	for range 60_000 {
		name, weight := fmt.Sprint(rng.Uint64()>>(rng.IntN(16)+44)), rng.Uint64N(1000)+1
		s.Recorder(rng.IntN(recorders)).Record(keys(name), 1, weight)
		truth[name] += weight
		total += weight
	}
	limit := total / shortCounters
	merged := map[string]bool{}
	for _, e := range s.Report().ByNet {
		name := string(e.Key)
		if merged[name] {
			t.Fatalf("%q is there twice", name)
		}
		merged[name] = true
		if f := truth[name]; e.Count < f || e.Count-e.Error > f || e.Error > limit {
			t.Fatalf("%q took %d: counted %d, error %d, of %d at most", name, f, e.Count, e.Error, limit)
		}
	}
	for name, f := range truth {
		if f > limit && !merged[name] {
			t.Fatalf("%q took %d, above %d, and is not there", name, f, limit)
		}
	}
}

// TestLongNames have counters of their own, up to a length.
func TestLongNames(t *testing.T) {
	s := New(1, Options{Metrics: Net, TopK: 10_000, Ratio: 1}, 1)
	r := s.Recorder(0)
	name := bytes.Repeat([]byte("x"), longBytesMax+1)
	r.Record([][]byte{name}, 1, 1000)
	r.Record([][]byte{name[:longBytesMax]}, 1, 500)
	r.Record([][]byte{name[:shortBytesMax]}, 1, 50)
	for i := range 10 * longCounters {
		copy(name, fmt.Sprintf("%08d", i))
		r.Record([][]byte{name[:shortBytesMax+1]}, 1, 1)
	}
	rep := s.Report()
	if len(rep.ByNet) != longCounters+1 || len(rep.ByNet[0].Key) != longBytesMax || len(rep.ByNet[1].Key) != shortBytesMax {
		t.Errorf("%d keys, the first of %d and %d bytes", len(rep.ByNet), len(rep.ByNet[0].Key), len(rep.ByNet[1].Key))
	}
	if rep.Recorded.Bytes != 1550+10*longCounters {
		t.Errorf("%d bytes recorded", rep.Recorded.Bytes)
	}
}

// TestMemory holds the figures of the package comment.
func TestMemory(t *testing.T) {
	full := func(nameBytes int, counters int) int64 {
		s := New(1, Options{Metrics: Net, TopK: 1, Ratio: 1}, 1)
		before := s.MemoryBytes()
		name := make([]byte, nameBytes)
		for i := range 3 * counters {
			copy(name, fmt.Sprintf("%08d", i))
			s.Recorder(0).Record([][]byte{name}, 1, 1)
		}
		return s.MemoryBytes() - before
	}
	for _, c := range []struct {
		nameBytes, counters int
		most                int64
	}{{16, shortCounters, 96 << 10}, {shortBytesMax, shortCounters, 11 << 20 / 10}, {longBytesMax, longCounters, 41 << 20 / 10}} {
		if got := full(c.nameBytes, c.counters); got > c.most || got < c.most*9/10 {
			t.Errorf("names of %d bytes: %d bytes, want %d", c.nameBytes, got, c.most)
		}
	}
}

// TestHeaviestAreFound replays a Zipf-like load with weights.
func TestHeaviestAreFound(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	zipf := rand.NewZipf(rng, 1.1, 1, 100_000)
	s := New(2, Options{Metrics: CPU, TopK: 10, Ratio: 1}, seed)
	truth := map[string]uint64{}
	for i := range 200_000 {
		name := fmt.Sprint(zipf.Uint64())
		ns := 500 + rng.Uint64N(1000)
		s.Recorder(i%2).Record(keys(name), ns, 1)
		truth[name] += ns
	}
	var names []string
	for name := range truth {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return int(int64(truth[b]) - int64(truth[a])) })
	found := 0
	for _, e := range s.Report().ByCPU {
		if slices.Contains(names[:10], string(e.Key)) {
			found++
		}
		if f := float64(truth[string(e.Key)]); math.Abs(float64(e.Weight())-f) > f/20 {
			t.Errorf("seed %d: %s took %.0f, estimated %d", seed, e.Key, f, e.Weight())
		}
	}
	if found < 9 {
		t.Errorf("seed %d: %d of the 10 heaviest found", seed, found)
	}
}

func BenchmarkRecord(b *testing.B) {
	for _, metrics := range []Metrics{CPU, CPU | Net} {
		for _, spread := range []int{1000, 1 << 20} {
			b.Run(fmt.Sprintf("metrics=%b/keys=%d", metrics, spread), func(b *testing.B) {
				s := New(1, Options{Metrics: metrics, TopK: 10, Ratio: 1}, 1)
				r, rng := s.Recorder(0), rand.New(rand.NewPCG(1, 1))
				name := make([]byte, 16)
				list := [][]byte{name}
				record := func() {
					k := rng.IntN(spread)
					for i := range 8 {
						name[i] = byte(k >> (4 * i))
					}
					r.Record(list, 500, 100)
				}
				for range 100_000 {
					record()
				}
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					record()
				}
			})
		}
	}
}
