// Package zipf draws keys by Zipf's law, for any exponent: math/rand has only
// those above 1, and traffic to caches is often a little below.
package zipf

import (
	"math"
	"math/rand/v2"
)

// Law is the distribution of keys 0 … n-1, key k with probability proportional
// to 1/(k+1)^exponent. It inverts the cumulated distribution by a table. guide
// has the place to start looking for each of n equal parts of [0, 1), which
// leaves one or two steps on average.
type Law struct {
	cumulative []float64 // of keys up to and with this one; the last is 1
	guide      []int32   // first key whose cumulative is above i/n
}

// New makes the law of n keys, 1 or more. O(n), 12 bytes a key.
func New(exponent float64, n int) *Law {
	l := &Law{cumulative: make([]float64, n), guide: make([]int32, n)}
	sum := 0.0
	for k := range l.cumulative {
		sum += math.Pow(float64(k+1), -exponent)
		l.cumulative[k] = sum
	}
	for k := range l.cumulative {
		l.cumulative[k] /= sum
	}
	k := int32(0)
	for i := range l.guide {
		for l.cumulative[k] <= float64(i)/float64(n) {
			k++
		}
		l.guide[i] = k
	}
	return l
}

// Draw returns a key. It changes nothing but random: goroutines may share a law.
func (l *Law) Draw(random *rand.Rand) int {
	u := random.Float64()
	k := l.guide[int(u*float64(len(l.guide)))]
	for l.cumulative[k] <= u {
		k++
	}
	return int(k)
}
