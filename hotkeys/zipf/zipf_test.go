package zipf

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Draws have the frequencies of the law, each within 6 standard deviations: of
// 1,000 keys and 3 exponents that rejects a right sampler with probability
// 6e-6, were the seed random.
func TestFrequencies(t *testing.T) {
	const n, draws = 1000, 2_000_000
	for _, exponent := range []float64{0.5, 0.99, 1.5} {
		law, random := New(exponent, n), rand.New(rand.NewPCG(1, math.Float64bits(exponent)))
		var counts [n]float64
		for range draws {
			counts[law.Draw(random)]++
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

func TestOneKey(t *testing.T) {
	if k := New(1, 1).Draw(rand.New(rand.NewPCG(1, 2))); k != 0 {
		t.Errorf("drawn %d of one key", k)
	}
}
