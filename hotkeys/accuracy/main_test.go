package main

import (
	"math"
	"testing"
)

// The figures promised for Zipf 0.99. The program measures 100 windows at 1 %;
// a quarter of them bounds the mean nearly as well, and takes a second. The seed
// is fixed, so that the figures come out the same at every run.
func TestTargets(t *testing.T) {
	full := &subject{percentage: 100, windows: 2}
	sampled := &subject{percentage: 1, windows: windowsSampled / 4}
	if err := measure([]*subject{full, sampled}, 0.99); err != nil {
		t.Fatal(err)
	}
	if full.measured != 2 || full.meanRecall() != 1 || full.meanError() > 0.005 {
		t.Errorf("100 %%: recall %.3f, error %.4f; want 1, at most 0.005", full.meanRecall(), full.meanError())
	}
	if sampled.measured != windowsSampled/4 || sampled.meanRecall() < 0.82 {
		t.Errorf("1 %%: recall %.3f, want 0.82", sampled.meanRecall())
	}
}

// Draws have the frequencies of the distribution, each within 6 standard
// deviations: of 1,000 keys and 3 exponents that rejects a right sampler with
// probability 6e-6, were the seed random.
func TestZipf(t *testing.T) {
	const n, draws = 1000, 2_000_000
	for _, exponent := range []float64{0.5, 0.99, 1.5} {
		z := newZipf(exponent, n, seed)
		var counts [n]float64
		for range draws {
			counts[z.draw()]++
		}
		sum := 0.0
		for k := range n {
			sum += math.Pow(float64(k+1), -exponent)
		}
		for k := range n {
			mean := draws * math.Pow(float64(k+1), -exponent) / sum
			if math.Abs(counts[k]-mean) > 6*math.Sqrt(mean) {
				t.Errorf("exponent %v: key %d drawn %v times, expected %.0f", exponent, k, counts[k], mean)
			}
		}
	}
}
