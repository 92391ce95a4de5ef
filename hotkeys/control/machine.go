package control

// machine is the state of a key that is warming or hot.
type machine struct {
	key       Key
	state     State
	sinceNs   int64
	seen      float64 // demand in the window at hand
	listed    bool    // the window at hand lists the key; else seen is a bound
	demand    float64 // the last of seen that is a finite number
	high      int     // warming: consecutive windows at or above H
	tripped   bool    // warming: an emergency stands for the K windows
	trippedNs int64   // when it began to
	ready     bool    // warming: acknowledged
	told      bool    // warming: was alerted
	low       int     // hot: consecutive windows at or below L since the hold's end
	confirmed bool    // hot: had a window above L since the hold's end, or was pinned
	pinned    bool
	alerts    alerts
}

// alerts are a key's last ones of those that a cooldown limits.
type alerts struct{ warming, tripped alert }

type alert struct {
	given bool
	atNs  int64
}

// mutes reports whether another alert has to be kept back.
func (a alert) mutes(nowNs, cooldownNs int64) bool { return a.given && nowNs-a.atNs < cooldownNs }

// rise is a normal key with a window that makes it warming.
type rise struct {
	key    Key
	demand float64
}

// observe takes a demand, or a bound on it.
func (m *machine) observe(demand float64) {
	m.seen = demand
	if demand-demand == 0 {
		m.demand = max(0, demand)
	}
}

// reset makes the dwell counts begin anew.
func (m *machine) reset() { m.high, m.low, m.tripped = 0, 0, false }

// qualifies reports whether a demand is evidence for hot. An emergency is, even
// below an H that was set above it.
func (c *Controller) qualifies(demand float64) bool {
	return demand >= float64(c.set.Promote) || c.urgent(demand)
}

func (c *Controller) urgent(demand float64) bool {
	return c.set.Emergency > 0 && demand >= float64(c.set.Emergency)
}

// rise makes a normal key warming.
func (c *Controller) rise(r rise, w Window) {
	if c.keys[r.key] != nil {
		return // listed twice
	}
	m := c.add(r.key)
	if m == nil {
		c.totals.Refused++
		return
	}
	m.observe(r.demand)
	m.high = 1
	if c.urgent(r.demand) {
		c.trip(m, w.EndNs)
		return
	}
	c.warm(m, w.EndNs)
	c.settle(m, w.EndNs)
}

// step takes a known window of a key that is warming or hot. Of a key that the
// window does not list it knows the most that the demand can have been, which
// is evidence against the key and never for it. The comparisons are such that a
// demand which is not a number is no evidence at all.
func (c *Controller) step(m *machine, w Window) {
	if m.state == Hot {
		c.stepHot(m, w)
		return
	}
	switch {
	case m.listed && c.urgent(m.seen):
		m.high++
		if !m.tripped {
			c.trip(m, w.EndNs)
		}
	case m.listed && c.qualifies(m.seen):
		m.high++
		c.settle(m, w.EndNs)
	case m.seen < float64(c.set.Promote):
		// A window that began before an emergency of the server's averages
		// over a time before it.
		if !m.tripped || w.BeginNs >= m.trippedNs {
			c.release(m, w.EndNs)
		}
	default:
		m.reset()
	}
}

func (c *Controller) stepHot(m *machine, w Window) {
	held := w.BeginNs-m.sinceNs < c.set.HoldNs
	if m.seen <= float64(c.set.Demote) && !held && !m.pinned {
		m.low++
		c.settle(m, w.EndNs)
		return
	}
	m.low = 0
	if m.listed && m.seen > float64(c.set.Demote) && !held {
		m.confirmed = true
	}
}

// settle takes the transition that a machine's evidence asks for, if any.
func (c *Controller) settle(m *machine, nowNs int64) {
	switch {
	case m.state == Warming:
		if (m.tripped || m.high >= c.set.PromoteWindows) && (m.ready || !c.set.WarmupAck) {
			c.promote(m, nowNs)
		}
	case m.low >= c.set.DemoteWindows && !m.pinned:
		if !m.confirmed {
			c.totals.FalsePromotions++
		}
		c.release(m, nowNs)
	}
}

// trip lets an emergency stand for the K windows of a key that is not hot, and
// for which none does.
func (c *Controller) trip(m *machine, nowNs int64) {
	c.totals.Emergencies++
	told := !m.alerts.tripped.mutes(nowNs, c.set.CooldownNs)
	if told {
		m.alerts.tripped = alert{true, nowNs}
	}
	c.tell(m, Tripped, nowNs, told)
	if m.state == Normal {
		c.warm(m, nowNs)
	}
	m.tripped, m.trippedNs = true, nowNs
	c.settle(m, nowNs)
}

// warm makes a normal key warming.
func (c *Controller) warm(m *machine, nowNs int64) {
	m.state, m.sinceNs = Warming, nowNs
	c.announce(m, nowNs)
}

// announce tells that a key is warming, with an alert if it is time for one.
func (c *Controller) announce(m *machine, nowNs int64) {
	m.told = c.set.WarmupAck || !m.alerts.warming.mutes(nowNs, c.set.CooldownNs)
	if m.told {
		m.alerts.warming = alert{true, nowNs}
	}
	c.tell(m, ToWarming, nowNs, m.told)
}

// promote makes a key hot.
func (c *Controller) promote(m *machine, nowNs int64) {
	m.state, m.sinceNs = Hot, nowNs
	m.ready, m.confirmed = false, false
	c.totals.Promotions++
	c.tell(m, ToHot, nowNs, true)
}

// release makes a key normal.
func (c *Controller) release(m *machine, nowNs int64) {
	if m.state == Hot {
		c.totals.Demotions++
		c.totals.HotNs += max(0, nowNs-m.sinceNs)
		c.tell(m, ToNormal, nowNs, true)
	} else {
		c.totals.Aborted++
		c.tell(m, Aborted, nowNs, m.told)
	}
	c.remove(m, nowNs)
}

func (c *Controller) tell(m *machine, e Event, nowNs int64, alert bool) {
	if !alert {
		c.totals.Muted++
	}
	c.out = append(c.out, Transition{Key: m.key, Event: e, Demand: m.demand, AtNs: nowNs, Alert: alert})
}

func (c *Controller) status(m *machine, nowNs int64) Status {
	s := Status{Key: m.key, State: m.state, SinceNs: m.sinceNs, Demand: m.demand, Ready: m.ready, Pinned: m.pinned}
	if m.state == Hot {
		s.Evidence = m.low
		s.HoldNs = max(0, c.set.HoldNs-max(0, nowNs-m.sinceNs))
		return s
	}
	s.Evidence = m.high
	if m.tripped {
		s.Evidence = max(m.high, c.set.PromoteWindows)
	}
	return s
}
