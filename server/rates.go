package server

import (
	"sync"
	"time"
)

// rateSamples are averaged for instantaneous_ops_per_sec: 1.6 s at ten samples a second, as in Redis.
const rateSamples = 16

// rates turn counters that only grow into "per second, lately".
type rates struct {
	mu sync.Mutex
	// mu guards all of the following.
	perSecond [rateSamples]float64
	next      int
	lastCount int64
	lastAt    time.Time
}

// sample is called at each beat of the periodic work.
func (r *rates) sample(s *Server, now time.Time) {
	commands := s.commandsProcessed()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.lastAt.IsZero() && now.After(r.lastAt) && commands >= r.lastCount {
		r.perSecond[r.next] = float64(commands-r.lastCount) / now.Sub(r.lastAt).Seconds()
		r.next = (r.next + 1) % rateSamples
	}
	r.lastCount, r.lastAt = commands, now
}

func (r *rates) opsPerSecond() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := 0.0
	for _, f := range r.perSecond {
		sum += f
	}
	return int64(sum / rateSamples)
}

func (r *rates) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.perSecond, r.lastCount, r.lastAt = [rateSamples]float64{}, 0, time.Time{}
}

// commandsProcessed locks one slot after the other: good enough for a rate, and nobody is stopped for it.
func (s *Server) commandsProcessed() (n int64) {
	for _, sl := range s.gate.slots {
		sl.mu.Lock()
		for i := range sl.stats.commands {
			n += sl.stats.commands[i].calls
		}
		sl.mu.Unlock()
	}
	return n
}
