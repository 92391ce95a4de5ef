package main

import (
	"math"
	"math/rand/v2"
)

// zipf draws keys 0 … n-1, key k with probability proportional to
// 1/(k+1)^exponent, for any exponent: math/rand has only those above 1. It
// inverts the cumulated distribution by a table. guide has the place to start
// looking for each of n equal parts of [0, 1), which leaves one or two steps on
// average.
type zipf struct {
	rng        *rand.Rand
	cumulative []float64 // of keys up to and with this one; the last is 1
	guide      []int32   // first key whose cumulative is above i/n
}

func newZipf(exponent float64, n int, seed uint64) *zipf {
	z := &zipf{
		rng:        rand.New(rand.NewPCG(seed, math.Float64bits(exponent))),
		cumulative: make([]float64, n),
		guide:      make([]int32, n),
	}
	sum := 0.0
	for k := range z.cumulative {
		sum += math.Pow(float64(k+1), -exponent)
		z.cumulative[k] = sum
	}
	for k := range z.cumulative {
		z.cumulative[k] /= sum
	}
	k := int32(0)
	for i := range z.guide {
		for z.cumulative[k] <= float64(i)/float64(n) {
			k++
		}
		z.guide[i] = k
	}
	return z
}

func (z *zipf) draw() int {
	u := z.rng.Float64()
	k := z.guide[int(u*float64(len(z.guide)))]
	for z.cumulative[k] <= u {
		k++
	}
	return int(k)
}
