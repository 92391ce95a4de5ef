package server

import (
	"sync"
	"time"
)

// rateSamples are averaged for the instantaneous_ fields of INFO: 1.6 s at ten samples a second, as in Redis.
const rateSamples = 16

// What rates are kept of.
const (
	rateCommands = iota
	rateInBytes
	rateOutBytes
	rateKinds
)

// rates turn counters that only grow into "per second, lately".
type rates struct {
	mu sync.Mutex
	// mu guards all of the following.
	perSecond [rateSamples][rateKinds]float64
	next      int
	last      [rateKinds]int64
	lastAt    time.Time
}

// sample is called at each beat of the periodic work.
func (r *rates) sample(s *Server, now time.Time) {
	counts := s.trafficSoFar()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.lastAt.IsZero() && now.After(r.lastAt) && counts[rateCommands] >= r.last[rateCommands] {
		seconds := now.Sub(r.lastAt).Seconds()
		for kind, n := range counts {
			r.perSecond[r.next][kind] = max(float64(n-r.last[kind]), 0) / seconds
		}
		r.next = (r.next + 1) % rateSamples
	}
	r.last, r.lastAt = counts, now
}

// of is the rate per second of one kind.
func (r *rates) of(kind int) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := 0.0
	for i := range r.perSecond {
		sum += r.perSecond[i][kind]
	}
	return sum / rateSamples
}

func (r *rates) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.perSecond, r.last, r.lastAt = [rateSamples][rateKinds]float64{}, [rateKinds]int64{}, time.Time{}
}

// trafficSoFar locks one slot after the other: good enough for a rate, and nobody is stopped for it.
func (s *Server) trafficSoFar() (counts [rateKinds]int64) {
	for _, sl := range s.gate.slots {
		sl.mu.Lock()
		for i := range sl.stats.commands {
			counts[rateCommands] += sl.stats.commands[i].calls
		}
		counts[rateInBytes] += sl.stats.inBytes
		counts[rateOutBytes] += sl.stats.outBytes
		sl.mu.Unlock()
	}
	return counts
}
