//go:build linux

package main

import (
	"math/rand/v2"
	"slices"
)

// spread is what a row of a table shows of several rounds.
type spread struct{ median, low, high float64 }

func spreadOf(values []float64) spread {
	return spread{median(values), slices.Min(values), slices.Max(values)}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// ratios divides a by b, round by round: neighbours in time share what the machine did to both.
func ratios(a, b []float64) []float64 {
	result := make([]float64, len(a))
	for i := range a {
		result[i] = a[i] / b[i]
	}
	return result
}

// medianInterval is the median with the 95 % percentile-bootstrap interval of the median, from a fixed seed so that
// the same rounds always print the same interval.
func medianInterval(values []float64) spread {
	const resamples = 10_000
	random := rand.New(rand.NewPCG(1, 2))
	medians := make([]float64, resamples)
	sample := make([]float64, len(values))
	for i := range medians {
		for j := range sample {
			sample[j] = values[random.IntN(len(values))]
		}
		medians[i] = median(sample)
	}
	slices.Sort(medians)
	return spread{median(values), medians[resamples*25/1000], medians[resamples*975/1000]}
}
