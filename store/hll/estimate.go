package hll

import "math"

// A histogram counts the registers of each rank. A corrupt sketch may have ranks up to 63, which are left out.
type histogram [1 << regBits]int

// estimate returns the number of elements. Conversions keep products and sums apart: fused, as some machines do it, they
// would be rounded differently, and the estimate is kept in the sketch.
func (h *histogram) estimate() int64 {
	const m = float64(Registers)
	z := m * tau((m-float64(h[rankMax]))/m)
	for k := rankMax - 1; k >= 1; k-- {
		z = (z + float64(h[k])) * 0.5
	}
	z += float64(m * sigma(float64(h[0])/m))
	const alpha = 0.721347520444481703680 // 1/(2·ln 2)
	if n := math.Round(alpha * m * m / z); n < math.MaxInt64 {
		return int64(n)
	}
	return math.MaxInt64 // every register is at its limit
}

// sigma returns x + Σ x^(2^k)·2^(k-1) for k ≥ 1, 0 ≤ x ≤ 1.
func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	y, z := 1.0, x
	for {
		x *= x
		before := z
		z += float64(x * y)
		y += y
		if z == before {
			return z
		}
	}
}

// tau returns (1 - x - Σ (1 - x^(2^-k))²·2^-k)/3 for k ≥ 1, 0 ≤ x ≤ 1.
func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	y, z := 1.0, 1-x
	for {
		x = math.Sqrt(x)
		before := z
		y *= 0.5
		z -= float64((1 - x) * (1 - x) * y)
		if z == before {
			return z / 3
		}
	}
}
