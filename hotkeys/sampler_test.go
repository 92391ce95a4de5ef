package hotkeys

import (
	"math"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
)

// The tests of the sampler ask whether its output could come from independent
// tosses. For a seed picked at random, one rejects tossing itself with
// probability below 1e-6; there are 12 of them, so 1.2e-5 in all. The seeds are
// fixed, and an outcome is the same at every run.
const sigmas = 4.9 // P(|normal| > 4.9) < 1e-6

func newSampler(percentage int, stream uint64) *sampler {
	s := &sampler{rng: *rand.NewPCG(20, stream)}
	s.set(percentage)
	return s
}

// chiSquared fails if the observed counts are too far from the expected. The
// critical value is Wilson and Hilferty's approximation, above the true one in
// this tail.
func chiSquared(t *testing.T, what string, observed []uint64, expected []float64) {
	t.Helper()
	x := 0.0
	for i := range observed {
		if expected[i] < 5 {
			t.Fatalf("%s: bin %d expects %.1f, too few", what, i, expected[i])
		}
		d := float64(observed[i]) - expected[i]
		x += d * d / expected[i]
	}
	freedom := float64(len(observed) - 1)
	v := 2 / (9 * freedom)
	critical := freedom * math.Pow(1-v+sigmas*math.Sqrt(v), 3)
	if x > critical {
		t.Errorf("%s: chi-squared %.1f with %v degrees of freedom, critical %.1f", what, x, freedom, critical)
	}
}

var percentages = []int{1, 10, 50}

func TestSamplesArePercentage(t *testing.T) {
	const accesses = 4_000_000
	for _, percentage := range percentages {
		s := newSampler(percentage, 1)
		samples := 0
		for at := s.gap(); at < accesses; at += 1 + s.gap() {
			samples++
		}
		p := float64(percentage) / 100
		if d := (float64(samples) - accesses*p) / math.Sqrt(accesses*p*(1-p)); math.Abs(d) > sigmas {
			t.Errorf("%d %%: %d samples of %d accesses, %.1f standard deviations off", percentage, samples, accesses, d)
		}
	}
}

func TestGapsAreGeometric(t *testing.T) {
	const gaps = 400_000
	for _, percentage := range percentages {
		s := newSampler(percentage, 2)
		p := float64(percentage) / 100

		// Bins for each k while they expect enough, the rest in the last.
		tail := float64(gaps)
		var expected []float64
		for tail*p > 50 && len(expected) < 300 {
			expected = append(expected, tail*p)
			tail *= 1 - p
		}
		expected = append(expected, tail)
		observed := make([]uint64, len(expected))
		for range gaps {
			observed[min(int(s.gap()), len(observed)-1)]++
		}
		chiSquared(t, "gaps", observed, expected)
	}
}

// Neighbouring gaps are uncorrelated: in the product of n pairs of standard
// scores the sum is normal with variance n.
func TestGapsAreIndependent(t *testing.T) {
	const gaps = 400_000
	for _, percentage := range percentages {
		s := newSampler(percentage, 3)
		p := float64(percentage) / 100
		mean, deviation := (1-p)/p, math.Sqrt(1-p)/p
		sum := 0.0
		last := (float64(s.gap()) - mean) / deviation
		for range gaps {
			score := (float64(s.gap()) - mean) / deviation
			sum += last * score
			last = score
		}
		if d := sum / math.Sqrt(gaps); math.Abs(d) > sigmas {
			t.Errorf("%d %%: correlation %.1f standard deviations off 0", percentage, d)
		}
	}
}

// Traffic with a rhythm, as commands with several keys make it, is sampled
// evenly: each place of a period of 10 has the same share.
func TestRhythmIsSampledEvenly(t *testing.T) {
	const accesses, period = 4_000_000, 10
	for _, percentage := range percentages {
		tr := New(1, func() int64 { return 0 }, 21)
		if err := tr.Configure(Options{TopK: period, Percentage: percentage, Window: WindowMin}); err != nil {
			t.Fatal(err)
		}
		r := tr.Recorder(0)
		for i := range accesses {
			r.Access(scramble(uint64(i%period)), []byte{byte(i % period)}, 0, Read)
		}
		observed, expected := make([]uint64, period), make([]float64, period)
		for k, count := range r.live.classes[reads][0].all() {
			observed[k.name()[0]] = count
		}
		for i := range expected {
			expected[i] = float64(r.live.samples[reads]) / period
		}
		chiSquared(t, "places of a period", observed, expected)
	}
}

func TestHundredPercentSkipsNothing(t *testing.T) {
	s := newSampler(100, 4)
	for range 1000 {
		if gap := s.gap(); gap != 0 {
			t.Fatalf("gap %d", gap)
		}
	}
}

// Every percentage gives gaps that can occur, at the ends of the random
// number's range too.
func TestGapsAreInRange(t *testing.T) {
	for percentage := 1; percentage <= 100; percentage++ {
		s := newSampler(percentage, 5)
		for _, u := range []float64{0x1p-53, 1} {
			gap := int64(math.Log(u) * s.scale)
			if gap < 0 || gap > 3655 || u == 1 && gap != 0 {
				t.Errorf("%d %%: u %g gives gap %d", percentage, u, gap)
			}
		}
	}
}

// Recorders must not sample in step: what one leaves out another must be free
// to take.
func TestRecordersHaveTheirOwnRandomness(t *testing.T) {
	tr := New(2, func() int64 { return 0 }, 1)
	if err := tr.Configure(Options{TopK: 1, Percentage: 1, Window: WindowMin}); err != nil {
		t.Fatal(err)
	}
	a, b := &tr.Recorder(0).sampler, &tr.Recorder(1).sampler
	equal := 0
	for range 100 {
		if a.gap() == b.gap() {
			equal++
		}
	}
	if equal > 10 {
		t.Errorf("%d of 100 gaps are equal", equal)
	}
}

// What runs at every access must be inlined, where it is a decrement and a
// branch; the call would cost several times as much.
func TestAccessIsInlined(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package")
	}
	out, err := exec.Command("go", "build", "-gcflags=-m", ".").CombinedOutput()
	if err != nil {
		t.Skipf("go build: %v", err)
	}
	if !strings.Contains(string(out), "can inline (*Recorder).Access") {
		t.Error("(*Recorder).Access is not inlined")
	}
}
