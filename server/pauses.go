package server

import (
	"runtime/metrics"
	"slices"
	"time"
)

// pauseWatch finds the pauses of the Go collector since it last looked, which is what the event collector-pause is about.
type pauseWatch struct {
	sample [1]metrics.Sample
	seen   []uint64 // how many there had been, by bucket; nil: it did not look
}

// watch notes the longest pause since the latest call. It costs microseconds, and nothing while the monitor is off.
func (p *pauseWatch) watch(m *latencyMonitor, now time.Time) {
	if !m.on() {
		p.seen = nil
		return
	}
	p.sample[0].Name = "/sched/pauses/total/gc:seconds"
	metrics.Read(p.sample[:])
	if p.sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return // a later version of Go may have dropped it
	}
	h := p.sample[0].Value.Float64Histogram()
	if p.seen != nil {
		m.note(eventPause, longestPause(p.seen, h), now.Unix())
	}
	p.seen = append(p.seen[:0], h.Counts...)
}

// longestPause is how long the longest pause was, at least, that h has counted and seen has not.
func longestPause(seen []uint64, h *metrics.Float64Histogram) time.Duration {
	for i, n := range slices.Backward(h.Counts) {
		if i < len(seen) && n > seen[i] {
			return time.Duration(max(h.Buckets[i], 0) * float64(time.Second)) // the first bucket has no beginning
		}
	}
	return 0
}
