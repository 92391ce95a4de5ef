package server

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Clients can take any amount of memory, each within its own limits, by sending half a command, queueing in MULTI, or not
// taking their replies. maxmemory-clients bounds what they take together: beyond it those that hold most are closed. What a
// connection holds changes outside of commands as well, so at each beat of the periodic work all are asked. In between each
// session says by how much a batch has changed what it holds, and if that may have passed the limit the periodic work is
// woken. Redis keeps the clients in buckets of powers of two instead, and evicts from the largest; here the order is exact,
// and nothing is to be maintained while there is room.

// clientMemory is the state of that.
type clientMemory struct {
	limitBytes atomic.Int64  // 0: none
	total      atomic.Int64  // what all clients hold, as last asked and said
	wake       chan struct{} // has room for one

	// The periodic work's own memory.
	sweptAt time.Time
	told    bool // that the rest may not be evicted
}

const (
	// clientLimitMin is what smaller limits are taken for, in bytes, as in Redis: with less nobody could take them back.
	clientLimitMin = 128 << 10
	// sweepEvery is the least time between two sweeps: with ten thousand clients one takes a fraction of a millisecond.
	sweepEvery = 10 * time.Millisecond
)

// applyClientLimit computes the limit of maxmemory-clients, which may be a part of maxmemory.
func (s *Server) applyClientLimit() error {
	m := &s.clientMemory
	m.limitBytes.Store(clientLimit(s.params.maxMemoryClients.Get(), s.params.eviction.maxMemory.Get()))
	if m.limitBytes.Load() != 0 {
		m.askForSweep()
	}
	return nil
}

// clientLimit is the limit in bytes that a canonical value stands for; 0 is none.
func clientLimit(value string, maxMemory int64) (bytes int64) {
	digits, percent := strings.CutSuffix(value, "%")
	n, _ := strconv.ParseInt(digits, 10, 64) // canonical: sizeOrPercent made it
	if percent {
		hi, lo := bits.Mul64(uint64(maxMemory), uint64(n))
		part, _ := bits.Div64(hi, lo, 100) // fits: n is at most 100
		n = int64(part)
	}
	if n == 0 {
		return 0
	}
	return max(n, clientLimitMin)
}

func (m *clientMemory) askForSweep() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// noteMemory is called at the end of a batch, with what it was answered and will be sent, while there is a limit.
func (c *client) noteMemory(replyBytes int) {
	m := &c.s.clientMemory
	n := c.parser.heldBytes() + int64(c.queryBytes+replyBytes)
	if c.multi != nil {
		n += int64(c.multi.heldBytes)
	}
	grown := n - c.noted
	c.noted = n
	if m.total.Add(grown) > m.limitBytes.Load() && grown > 0 {
		m.askForSweep()
	}
}

// evictClients closes the clients that hold most, until the others hold no more than the limit.
func (s *Server) evictClients(now time.Time) {
	m := &s.clientMemory
	if m.limitBytes.Load() == 0 || now.Sub(m.sweptAt) < sweepEvery { // then the next beat will do
		return
	}
	m.sweptAt = now
	s.gate.exclusive(nil, s.sweepClients)
}

// sweepClients runs under the gate.
func (s *Server) sweepClients() {
	type held struct {
		c     *client
		bytes int64
	}
	m, limit, total := &s.clientMemory, s.clientMemory.limitBytes.Load(), int64(0)
	if limit == 0 { // it was taken away in between
		return
	}
	var list []held
	for _, c := range s.clients.unordered() {
		bytes := c.memoryBytes()
		total += bytes
		if !c.noEvict && !c.closed {
			list = append(list, held{c, bytes})
		}
	}
	if total > limit {
		slices.SortFunc(list, func(a, b held) int { return cmp.Compare(b.bytes, a.bytes) })
	}
	for ; total > limit && len(list) > 0; list = list[1:] {
		s.log.Info("evicting client", "client", list[0].c.describe(), "bytes", list[0].bytes)
		s.counters.evictedClients.Add(1)
		list[0].c.kill()
		total -= list[0].bytes
	}
	over := total > limit
	if over && !m.told {
		s.log.Warn("over maxmemory-clients after all evictable clients are evicted", "bytes", total, "limit", limit)
	}
	m.told = over
	m.total.Store(total)
}

// clientBytes is what all sessions hold.
func (s *Server) clientBytes() (n int64) {
	for _, c := range s.clients.unordered() {
		n += c.memoryBytes()
	}
	return n
}
