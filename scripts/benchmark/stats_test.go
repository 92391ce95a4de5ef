//go:build linux

package main

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestMedianOfEvenAndOdd(t *testing.T) {
	if got := median([]float64{3, 1, 2}); got != 2 {
		t.Errorf("got %v", got)
	}
	if got := median([]float64{4, 1, 2, 3}); got != 2.5 {
		t.Errorf("got %v", got)
	}
}

// The interval must cover the true median about 95 times in 100; below 85 of 200 misses by 15 standard deviations.
func TestMedianIntervalCovers(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	covered := 0
	const trials = 40
	for range trials {
		values := make([]float64, 31)
		for i := range values {
			values[i] = random.NormFloat64()
		}
		interval := medianInterval(values)
		if interval.low > interval.median || interval.high < interval.median {
			t.Fatalf("median outside its interval: %+v", interval)
		}
		if interval.low <= 0 && 0 <= interval.high {
			covered++
		}
	}
	if covered < trials*3/4 {
		t.Errorf("covered %d of %d", covered, trials)
	}
}

func TestRatiosArePaired(t *testing.T) {
	got := ratios([]float64{2, 9}, []float64{1, 3})
	if math.Abs(got[0]-2) > 1e-12 || math.Abs(got[1]-3) > 1e-12 {
		t.Errorf("got %v", got)
	}
}
