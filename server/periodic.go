package server

import (
	"runtime/debug"
	"time"
)

// periodicEvery is the beat of the housekeeping, ten times a second as Redis's default hz.
const periodicEvery = 100 * time.Millisecond

// periodic does what must happen without traffic: hot key windows rotate, keys expire, idle clients are closed,
// pauses end, rates are sampled, memory that was freed in bulk goes back to the system.
func (s *Server) periodic() {
	defer s.stopped.Done()
	sl := s.houseSlot
	timer := time.NewTimer(periodicEvery)
	defer timer.Stop()
	next := time.Now().Add(periodicEvery)
	for {
		select {
		case <-s.stop:
			return
		case <-timer.C:
		case <-s.clientMemory.wake:
			s.evictClients(time.Now())
		case <-s.memory.wake:
			s.evictOn(sl)
		}
		s.rotateWindows(sl)
		s.endDueSession(sl)
		if now := time.Now(); !now.Before(next) {
			s.housekeeping(sl, now)
			next = now.Add(periodicEvery)
		}
		timer.Reset(s.untilNextWork(sl, next))
	}
}

// untilNextWork is the time to the next beat or the end of the hot key window or session, whichever comes first.
func (s *Server) untilNextWork(sl *slot, next time.Time) time.Duration {
	wait := time.Until(next)
	s.gate.enter(sl)
	defer sl.mu.Unlock()
	if due := s.tracker.NextRotation(); due != 0 {
		wait = min(wait, time.Duration(due-s.monotonicNs()))
	}
	if due := s.sessionDueNs(); due != 0 {
		wait = min(wait, time.Duration(due-s.monotonicNs()))
	}
	return max(wait, 0)
}

// rotateWindows closes the gate only when a window has ended.
func (s *Server) rotateWindows(sl *slot) {
	s.gate.enter(sl)
	due := s.tracker.NextRotation()
	sl.mu.Unlock()
	if due != 0 && s.monotonicNs() >= due {
		s.gate.exclusive(nil, s.tracker.Rotate)
	}
}

// housekeeping ends client pauses and evicts clients also while DEBUG PAUSE-CRON lasts, as in Redis, where that is no part of
// the cron. Nor are windows of hot keys: a window has the length that it says.
func (s *Server) housekeeping(sl *slot, now time.Time) {
	s.endPause(now)
	s.evictClients(now)
	s.watchLoad(now)
	if s.cronPaused.Load() {
		return
	}
	s.expire(sl, now)
	s.restCaching(sl)
	s.closeStale(now)
	s.rates.sample(s, now)
	s.boundResident(now)
	s.evictOn(sl)
	s.notePeak()
	s.pauses.watch(&s.observe.latency, now)
	s.returnMemory(now)
}

// expireBudget bounds one beat's share of the active expiry cycle: a quarter of the beat, as Redis allows.
const expireBudget = periodicEvery / 4

// expireSegments are looked into before the clock is read again: each takes some microseconds.
const expireSegments = 64

func (s *Server) expire(sl *slot, now time.Time) {
	if !s.activeExpire.Load() {
		return
	}
	more, removed, longest := true, int64(0), time.Duration(0)
	for more && time.Since(now) < expireBudget {
		began := time.Now()
		s.gate.enter(sl) // let go between rounds, so that nobody waits at the gate for long
		sl.clock.start()
		nowMs := sl.clock.unixMs()
		if more = !s.keepsKeys(nowMs); more {
			sl.view.Bind(0, nowMs, nil)
			var n int64
			n, more = sl.view.ExpireCycle(expireSegments)
			removed += n
			sl.tellChanges()
		}
		sl.mu.Unlock()
		took := time.Since(began)
		longest = max(longest, took)
		s.counters.expireNs.Add(int64(took))
	}
	if more {
		s.counters.expireCapped.Add(1)
	}
	s.observe.latency.note(eventExpireCycle, longest, now.Unix())
	if s.blockedWhileThere.Load() > 0 && (removed > 0 || now.Sub(s.toldAt) >= tellEvery) {
		s.toldAt = now
		s.tellOfExpired(sl.view)
	}
}

// tellEvery is how often those who want to hear that their key has vanished are looked after even if the cycle has removed
// nothing: a reader may have come upon the expired key first.
const tellEvery = time.Second

func (s *Server) endPause(now time.Time) {
	due := false
	sl := s.gate.slots[0]
	s.gate.enter(sl)
	due = s.pause.untilMs != 0 && now.UnixMilli() >= s.pause.untilMs
	sl.mu.Unlock()
	if !due {
		return
	}
	s.gate.exclusive(nil, func() {
		if now.UnixMilli() >= s.pause.untilMs {
			s.pause.untilMs = 0
		}
	})
	s.pause.resume()
}

// closeStale looks once a second, under the gate, for clients that said nothing for `timeout` seconds or do not
// take their replies.
func (s *Server) closeStale(now time.Time) {
	timeout := s.params.timeout.Get()
	if timeout == 0 && !s.softLimited() || now.Sub(s.staleChecked) < time.Second {
		return
	}
	s.staleChecked = now
	s.gate.exclusive(nil, func() {
		s.closeSlow(now)
		for _, c := range s.clients.all() {
			if timeout != 0 && c.waiting == nil && !c.subscribed() && !c.monitoring && !s.pause.waits(c) && now.UnixNano()-c.activeNs > timeout*1e9 {
				s.log.Log(ctx, levelVerbose, "closing idle client", "client", c.describe())
				c.conn.Close(false)
			}
		}
	})
}

// returnBytes is how much memory must have been dropped before the collector is asked to give it back: a
// collection costs a few milliseconds of one core.
const (
	returnBytes = 16 << 20
	returnEvery = 5 * time.Second
)

// returnMemory hands memory of dropped buffers and values back to the system. The collector runs by itself only
// when as much again is allocated, which on a server that fell quiet is never. What was dropped is known of values and
// of buffers of connections; for all else, such as a large reply, the queue of a MULTI or the table of an LCS, the Go
// runtime must hold more, by what its collector leaves lying between two runs, than the latest time that all was
// returned.
func (s *Server) returnMemory(now time.Time) {
	used, released := s.store.UsedBytes(), s.transport.ReleasedBytes()
	s.dropped += max(s.lastUsed-used, 0) + released - s.lastReleased
	s.lastUsed, s.lastReleased = used, released
	_, held := goBytes()
	garbage := held > s.kept+s.kept/4*3+returnBytes
	asked := s.memory.purge.Swap(false)
	if !asked && (s.dropped < returnBytes && !garbage || now.Sub(s.returnedAt) < returnEvery) {
		return
	}
	s.returnAll(now)
}

// returnAll returns all that is free.
func (s *Server) returnAll(now time.Time) {
	s.dropped, s.returnedAt = 0, now
	debug.FreeOSMemory()
	_, s.kept = goBytes()
}
