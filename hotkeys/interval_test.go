package hotkeys

import (
	"math"
	"testing"
)

// mass returns P(Bin(trials, p) = n).
func mass(n, trials int, p float64) float64 {
	lgamma := func(x int) float64 { l, _ := math.Lgamma(float64(x)); return l }
	return math.Exp(lgamma(trials+1) - lgamma(n+1) - lgamma(trials-n+1) +
		float64(n)*math.Log(p) + float64(trials-n)*math.Log1p(-p))
}

// within returns the values of Bin(trials, p) but for those of a probability
// that does not matter.
func within(trials int, p float64) (from, to int) {
	mean, spread := float64(trials)*p, 9*math.Sqrt(float64(trials)*p*(1-p))+20
	return max(0, int(mean-spread)), min(trials, int(mean+spread))
}

// atMost returns P(Bin(trials, p) <= n).
func atMost(n, trials int, p float64) (sum float64) {
	from, to := within(trials, p)
	for i := from; i <= min(n, to); i++ {
		sum += mass(i, trials, p)
	}
	return sum
}

// The ends are where the probabilities cross 1 % and 4 %: to the access where
// the search is exact, else up to two accesses and a thousandth of the width
// further out.
func TestIntervalEnds(t *testing.T) {
	for _, percentage := range []int{1, 2, 5, 10, 25, 50, 75, 90, 98, 99} {
		p := float64(percentage) / 100
		for _, n := range []int{0, 1, 2, 3, 5, 8, 13, 21, 39, 40, 41, 60, 100, 300, 2000} {
			low, high := interval(uint64(n), percentage)
			slack := 0
			if n >= recordedExactMax {
				slack = 2 + int((high-low)/1000)
			}
			isBelow := func(N int) bool {
				return N < n || 1-atMost(n-1, N, p) < tailLow*(1-mass(0, N, p))
			}
			isAbove := func(N int) bool { return atMost(n, N, p) < tailHigh }
			if N := int(low); n > 0 && !isBelow(N-1) || isBelow(N+slack) {
				t.Errorf("%d recorded at %d %%: the low end is %v", n, percentage, low)
			}
			if N := int(high); !isAbove(N+1) || isAbove(N-slack) {
				t.Errorf("%d recorded at %d %%: the high end is %v", n, percentage, high)
			}
		}
	}
}

// However often a key was accessed, the interval made from what is recorded of
// it contains that number with a probability of 95 %, which is summed and not
// tried; and so it does if one knows that something is recorded of it.
func TestIntervalCoverage(t *testing.T) {
	for _, percentage := range []int{1, 3, 10, 33, 50, 80, 95, 99} {
		p := float64(percentage) / 100
		for _, accesses := range []int{1, 2, 3, 7, 20, 50, 99, 250, 777, 2000, 4000, 12_345, 100_000} {
			covered, unseen := 0.0, mass(0, accesses, p)
			from, to := within(accesses, p)
			for n := from; n <= to; n++ {
				low, high := interval(uint64(n), percentage)
				if low <= float64(accesses) && float64(accesses) <= high {
					covered += mass(n, accesses, p)
				}
			}
			listed := covered / (1 - unseen)
			if _, high := interval(0, percentage); float64(accesses) <= high {
				listed = (covered - unseen) / (1 - unseen)
			}
			if min(covered, listed) < 0.95-1e-9 {
				t.Errorf("%d accesses at %d %%: covered with probability %.4f, if any is recorded %.4f",
					accesses, percentage, covered, listed)
			}
		}
	}
}

// The sampler's own counts: 4,000 windows of 400 accesses, each covered with a
// probability of 97.4 % (summed as above). Four standard deviations below that
// are 96.4 %.
func TestIntervalOfSampler(t *testing.T) {
	const windows, accesses = 4000, 400
	s := newSampler(1, 40)
	covered := 0
	skip := s.gap()
	for range windows {
		n := uint64(0)
		for range accesses {
			if skip--; skip < 0 {
				n++
				skip = s.gap()
			}
		}
		if low, high := interval(n, 1); low <= accesses && accesses <= high {
			covered++
		}
	}
	if covered < windows*964/1000 {
		t.Errorf("%d of %d windows", covered, windows)
	}
}

// Nothing that a counter can hold makes an end that is no number, and a larger
// count never makes a smaller end.
func TestIntervalOfAnyCount(t *testing.T) {
	for percentage := PercentageMin; percentage <= PercentageMax; percentage++ {
		lowBefore, highBefore := -1.0, -1.0
		step := func(n uint64) {
			low, high := interval(n, percentage)
			if !(low >= float64(n) && high >= low && low >= lowBefore && high >= highBefore && !math.IsInf(high, 0)) {
				t.Fatalf("%d recorded at %d %%: [%v, %v], one less: [%v, %v]",
					n, percentage, low, high, lowBefore, highBefore)
			}
			lowBefore, highBefore = low, high
		}
		for n := range uint64(500) {
			step(n)
		}
		for n := uint64(512); n != 0; n <<= 1 {
			step(n)
		}
		step(math.MaxUint64)
	}
}

func BenchmarkInterval(b *testing.B) {
	sum := 0.0
	for i := range b.N {
		low, high := interval(uint64(i)%128, 1)
		sum += high - low
	}
	b.ReportMetric(sum/float64(b.N), "mean-width")
}
