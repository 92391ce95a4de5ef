package server

import "sync"

// pause is CLIENT PAUSE: until a moment, commands wait, or only those that may write. until and writesOnly
// change only under the gate, so dispatch reads them holding its slot.
type pause struct {
	untilMs    int64 // Unix milliseconds; 0: no pause
	writesOnly bool

	mu sync.Mutex
	// mu guards the clients that wait.
	parked map[*client]struct{}
}

// extend begins a pause or extends the one there is: the later end and the wider scope win. The caller holds the
// gate.
func (p *pause) extend(nowMs, untilMs int64, writesOnly bool) {
	if nowMs < p.untilMs {
		untilMs, writesOnly = max(untilMs, p.untilMs), writesOnly && p.writesOnly
	}
	p.untilMs, p.writesOnly = untilMs, writesOnly
}

// end lets everybody go on. The caller holds the gate: those who wait look again when it opens.
func (p *pause) end() {
	p.untilMs = 0
	p.resume()
}

// holds tells whether cmd must wait. A transaction that writes waits as a whole, at EXEC.
func (p *pause) holds(c *client, cmd *command, args [][]byte) bool {
	if !p.lasts(c.slot.clock.unixMs()) {
		return false
	}
	if !p.writesOnly {
		return true
	}
	return c.s.mayWrite(cmd, args) || cmd.name == "exec" && c.multi != nil && c.multi.writes
}

// lasts tells whether a pause, of whatever scope, is on. Keys do not expire meanwhile.
func (p *pause) lasts(nowMs int64) bool { return p.untilMs != 0 && nowMs < p.untilMs }

func (p *pause) park(c *client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.parked == nil {
		p.parked = make(map[*client]struct{})
	}
	p.parked[c] = struct{}{}
}

// waiting returns how many clients wait.
func (p *pause) waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.parked)
}

// waits tells whether c is one of them.
func (p *pause) waits(c *client) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, waits := p.parked[c]
	return waits
}

// forget drops a client that went away.
func (p *pause) forget(c *client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.parked, c)
}

// resume lets all waiting clients go on.
func (p *pause) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.parked {
		c.conn.Resume()
	}
	clear(p.parked)
}
