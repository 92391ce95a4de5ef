package hotkeys

import (
	"math"
	"math/rand/v2"
)

// sampler decides which accesses are recorded: each with probability p,
// independently of the others.
//
// It does not toss a coin at each access but draws how many accesses to leave
// out until the next one recorded. In a row of independent tosses that number
// is geometric, P(k) = (1-p)^k p, and the gaps are independent of each other,
// so recorded accesses have the same law either way; an access left out costs
// one decrement in place of a random number. k is found by inversion: with u
// uniform in (0, 1],
//
//	floor(ln u / ln(1-p)) >= k  <=>  u <= (1-p)^k
//
// u has 53 bits. That cuts off gaps of probability 2^-53, which at 1 % are
// those beyond 3,655 accesses.
type sampler struct {
	rng   rand.PCG
	scale float64 // 1 / ln(1-p); 0 means that every access is recorded
}

// set changes the percentage, 1 … 100.
func (s *sampler) set(percentage int) {
	s.scale = 0
	if percentage < 100 {
		s.scale = 1 / math.Log1p(-float64(percentage)/100)
	}
}

// gap draws the number of accesses to leave out before the next one recorded.
func (s *sampler) gap() int64 {
	if s.scale == 0 {
		return 0
	}
	u := float64(s.rng.Uint64()>>11+1) * 0x1p-53
	return int64(math.Log(u) * s.scale)
}
