package control

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The law that the thresholds rest on. Of a key's qW accesses in a window of W
// seconds each is recorded with probability p, so the number recorded is
// binomial, and the estimate of q is that number / (pW), with the standard
// deviation
//
//	sqrt(q (1 - p) / (p W))
//
// The tests draw windows from one seed, so that they always see the same.

// estimate draws the estimate of a window: the accesses between two recorded
// ones are geometric.
func estimate(r *rand.Rand, accesses int, p, seconds float64) float64 {
	scale := 1 / math.Log1p(-p)
	recorded, left := 0, accesses
	for {
		left -= 1 + int(math.Log(1-r.Float64())*scale)
		if left < 0 {
			return float64(recorded) / (p * seconds)
		}
		recorded++
	}
}

func TestSamplingLaw(t *testing.T) {
	const q, p, windows = 4000, 0.01, 20000
	for _, c := range []struct{ seconds, want float64 }{{10, 199}, {1, 629}} {
		r := rand.New(rand.NewPCG(2002, uint64(c.seconds)))
		var sum, squares float64
		for range windows {
			e := estimate(r, int(q*c.seconds), p, c.seconds) - q
			sum += e
			squares += e * e
		}
		mean := sum / windows
		deviation := math.Sqrt(squares/windows - mean*mean)
		law := math.Sqrt(q * (1 - p) / (p * c.seconds))
		if math.Abs(law-c.want) > 1 {
			t.Errorf("W = %v s: the law says %.1f, want %v", c.seconds, law, c.want)
		}
		if math.Abs(deviation/law-1) > 0.03 {
			t.Errorf("W = %v s: deviation %.1f, the law says %.1f", c.seconds, deviation, law)
		}
		// The mean of so many windows has a hundredth of that deviation.
		if math.Abs(mean) > 4*law/math.Sqrt(windows) {
			t.Errorf("W = %v s: the mean is off by %.1f", c.seconds, mean)
		}
		t.Logf("W = %v s: mean %+.1f, deviation %.1f, the law says %.1f", c.seconds, mean, deviation, law)
	}
}

// TestThresholds feeds the controller the noise of the law: a key that wants
// 4000/s, between the thresholds 3500 and 4600. With windows of ten seconds
// these are 2.5 and 3 deviations away, and nothing happens in two days; with
// windows of one second they are less than one away, and the key is promoted
// and demoted for nothing.
func TestThresholds(t *testing.T) {
	const q, p, windows = 4000, 0.01, 17280
	promotions := func(seconds int64) uint64 {
		r := rand.New(rand.NewPCG(2002, uint64(seconds)))
		var c Controller
		if _, err := c.Configure(worked(), 0); err != nil {
			t.Fatal(err)
		}
		for i := range int64(windows) {
			d := demands{{Name: "k"}: estimate(r, int(q*seconds), p, float64(seconds))}
			c.Window(Window{BeginNs: i * seconds * second, EndNs: (i + 1) * seconds * second, Known: true, Demands: d.all})
		}
		return c.Totals(windows * seconds * second).Promotions
	}
	if n := promotions(10); n != 0 {
		t.Errorf("windows of 10 s: %d promotions", n)
	}
	if n := promotions(1); n < 10 {
		t.Errorf("windows of 1 s: %d promotions, want many", n)
	}
}
