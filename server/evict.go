package server

import (
	"math"
	"slices"
	"time"

	"kvserver/config"
	"kvserver/store"
)

// Whoever wants to write while more than maxmemory is used evicts keys first, before any lock is taken, for as long as
// maxmemory-eviction-tenacity lets one command. What is left to do goes on with the next commands and in the periodic work,
// and the command runs. Only if there is no key that the policy allows to remove is a command refused that may need memory.
// Which keys are evicted is the store's business (store/evict.go); what counts as used is in memory.go.

// evictionParams are the parameters of that.
type evictionParams struct {
	maxMemory, samples, tenacity, logFactor, decayMinutes *config.Int
	policy                                                *config.String
}

// evictionNames are the parameters that applyEviction puts into force.
var evictionNames = []string{"maxmemory", "maxmemory-policy", "maxmemory-samples", "maxmemory-eviction-tenacity", "lfu-log-factor", "lfu-decay-time"}

// evictionPolicies are in Redis's order.
var evictionPolicies = []struct {
	name string
	store.Eviction
}{
	{"volatile-lru", store.Eviction{Order: store.LeastRecent, VolatileOnly: true}},
	{"volatile-lfu", store.Eviction{Order: store.LeastOften, VolatileOnly: true}},
	{"volatile-random", store.Eviction{Order: store.AnyKey, VolatileOnly: true}},
	{"volatile-ttl", store.Eviction{Order: store.SoonestToDie, VolatileOnly: true}},
	{"allkeys-lru", store.Eviction{Order: store.LeastRecent}},
	{"allkeys-lfu", store.Eviction{Order: store.LeastOften}},
	{"allkeys-random", store.Eviction{Order: store.AnyKey}},
	{"noeviction", store.Eviction{}},
}

func (p *Parameters) registerEviction(r *config.Registry) {
	e := &p.eviction
	var names []string
	for _, policy := range evictionPolicies {
		names = append(names, policy.name)
	}
	e.maxMemory = r.Memory("maxmemory", 0, 0, math.MaxInt64, config.Doc("memory beyond which keys are evicted, or writes refused; 0: no limit"))
	e.policy = r.Enum("maxmemory-policy", "noeviction", names, config.Doc("which keys are evicted"))
	e.samples = r.Int("maxmemory-samples", 5, 1, math.MaxInt32, config.Doc("keys that are compared to evict one; more than 64 make no difference"))
	e.tenacity = r.Int("maxmemory-eviction-tenacity", 10, 0, 100, config.Doc("how long one command may evict: 0 hardly, 10 half a millisecond, 100 until there is room"))
	e.logFactor = r.Int("lfu-log-factor", 10, 0, math.MaxInt32, config.Doc("the greater, the more uses it takes to fill a key's counter of uses"))
	e.decayMinutes = r.Int("lfu-decay-time", 1, 0, math.MaxInt32, config.Doc("minutes after which a counter of uses loses one; 0: never"))
}

// applyEviction puts the parameters into force. The caller holds the gate.
func (s *Server) applyEviction() error {
	p, m := &s.params.eviction, &s.memory
	name := p.policy.Get()
	at := slices.IndexFunc(evictionPolicies, func(policy struct {
		name string
		store.Eviction
	}) bool {
		return policy.name == name
	})
	set := evictionPolicies[at].Eviction
	set.Samples = int(min(p.samples.Get(), math.MaxInt32))
	set.Frequency = store.Frequency{LogFactor: p.logFactor.Get(), DecayMinutes: p.decayMinutes.Get()}
	s.store.SetEviction(set)
	m.evicts = set.Order != store.NoOrder
	m.step = evictionStep(p.tenacity.Get())
	lowered := p.maxMemory.Get() != 0 && (m.limit == 0 || p.maxMemory.Get() < m.limit)
	m.limit = p.maxMemory.Get()
	s.countMemory()
	if used := s.usedBytes(); lowered && used > m.limit {
		s.log.Warn("maxmemory is below the memory in use: keys will be evicted or writes refused, as maxmemory-policy says",
			"maxmemory", m.limit, "used", used)
	}
	s.boundHeap()
	m.askForEviction()
	return nil
}

// evictionStep is how long one command may evict, as in Redis.
func evictionStep(tenacity int64) time.Duration {
	const unit = 50 * time.Microsecond
	switch {
	case tenacity <= 10:
		return time.Duration(tenacity) * unit
	case tenacity < 100:
		return time.Duration(float64(10*unit) * math.Pow(1.15, float64(tenacity-10)))
	}
	return math.MaxInt64
}

// askForEviction wakes the periodic work, for what commands leave to it.
func (m *memoryUse) askForEviction() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// lacksMemory is the gate of maxmemory, while there is one: it evicts on behalf of a command that may need memory, and reports
// whether the command is to be refused. Inside MULTI all that is queued needs memory.
func (c *client) lacksMemory(cmd *command) (refused bool) {
	needs := cmd.flags&denyoom != 0
	if c.multi != nil {
		needs = needs || cmd.flags&notQueued == 0 || cmd.name == "exec" && c.multi.denyOOM
	}
	if !needs && cmd.flags&runsScripts == 0 && (c.multi == nil || !c.multi.scripts) {
		return false
	}
	c.memoryFull = c.s.makeRoom(c.slot)
	return needs && c.memoryFull
}

// outOfMemory tells whether a script that c runs must not call cmd, since memory was full when it began. What it has itself
// written since is not held against it.
func (c *client) outOfMemory(cmd *command) bool {
	return c.s.memory.limit != 0 && c.memoryFull && cmd.flags&denyoom != 0
}

// evictEvery is how many keys are evicted before the clock is read again.
const evictEvery = 16

// makeRoom evicts keys until there is room, for one step at most, and reports whether memory stays full because there is
// nothing to evict. The slot's view must hold no locks.
func (s *Server) makeRoom(sl *slot) (full bool) {
	m := &s.memory
	if s.usedBytes() <= m.limit {
		if m.fullSince.Load() != 0 {
			s.endFull()
		}
		return false
	}
	if nowMs := sl.clock.unixMs(); s.keepsKeys(nowMs) {
		return false
	} else if m.evicts {
		sl.client = nil // it is not the client that removes the keys
		sl.view.Bind(0, nowMs, nil)
		sl.view.KeepExpired(false) // as it may have done for the command before
		full = !s.evictStep(sl.view)
	} else {
		full = true
	}
	switch {
	case full || s.usedBytes() > m.limit:
		m.fullSince.CompareAndSwap(0, max(s.monotonicNs(), 1))
		if !full {
			m.askForEviction()
		}
	default:
		s.endFull()
	}
	return full
}

// evictStep evicts until there is room or the time for a step is over, and reports false if it found nothing to evict.
func (s *Server) evictStep(v *store.View) bool {
	m, monitor := &s.memory, &s.observe.latency
	began, worst, found := time.Now(), time.Duration(0), true
	for n := 1; found && s.usedBytes() > m.limit; n++ {
		if !monitor.on() {
			found = v.Evict()
		} else {
			from := time.Now()
			found = v.Evict()
			worst = max(worst, time.Since(from))
		}
		if n%evictEvery == 0 && time.Since(began) > m.step {
			break
		}
	}
	if monitor.on() {
		now := time.Now()
		monitor.note(eventEvictionDel, worst, now.Unix())
		monitor.note(eventEvictionCycle, now.Sub(began), now.Unix())
	}
	return found
}

// endFull notes that there is room again.
func (s *Server) endFull() {
	if since := s.memory.fullSince.Swap(0); since != 0 {
		s.memory.fullNs.Add(s.monotonicNs() - since)
	}
}

// fullMs is how long memory has been full, in milliseconds: this time, and in all.
func (s *Server) fullMs() (current, total int64) {
	ns := int64(0)
	if since := s.memory.fullSince.Load(); since != 0 {
		ns = s.monotonicNs() - since
	}
	return ns / 1e6, (ns + s.memory.fullNs.Load()) / 1e6
}

// evictBudget bounds what the periodic work evicts before it does other things.
const evictBudget = periodicEvery / 4

// evictOn goes on with what commands left to do.
func (s *Server) evictOn(sl *slot) {
	for began := time.Now(); ; {
		s.gate.enter(sl) // let go between steps, so that nobody waits at the gate for long
		sl.clock.start()
		over := s.memory.limit != 0 && !s.makeRoom(sl) && s.usedBytes() > s.memory.limit && !s.keepsKeys(sl.clock.unixMs())
		sl.mu.Unlock()
		if !over {
			return
		}
		if time.Since(began) > evictBudget {
			s.memory.askForEviction()
			return
		}
	}
}
