package server

import (
	"sync"
	"time"

	"kvserver/hotkeys"
	"kvserver/hotkeys/session"
	"kvserver/server/acl"
	"kvserver/store"
)

// slot is what one event loop owns. Its mutex is held while a batch of commands runs; everything below it is
// touched only by the holder, so that none of it needs atomics.
type slot struct {
	mu sync.Mutex
	// mu guards all of the following.
	index    int
	view     *store.View
	observer observer          // of what the view does
	client   *client           // whose commands the view works for; nil: the server's own work
	rec      *hotkeys.Recorder // nil while hot key tracking is off
	session  *session.Recorder // nil unless a tracking session runs
	args     [][]byte          // arguments of the command being run; they alias the input
	argsUsed int               // most arguments that args has held since it was cleared
	keys     [][]byte          // its keys, for commands that have several
	aclKeys  [][]byte          // likewise, while permissions are tested
	acl      acl.Call          // likewise
	row      []frame           // neighbours in a pipeline that run together
	clock    clock
	stats    slotStats
	shown    []byte // for monitors

	busy      bool     // something that is past its time has the store: see aside.go
	afterBusy []func() // to be done under the gate when that is over

	lastName []byte   // spelling of the latest command name seen here, as the client wrote it
	last     *command // its row: a pipeline mostly repeats itself, and this spares the map

	warnedSec int64 // when an attack was last logged, Unix seconds

	_ [64]byte // keeps the next slot's mutex off this slot's cache lines
}

// countAccesses counts the hot key accesses of the commands run so far, whose names lie in the input. It comes
// before the slot is let go: who rotates the windows then finds nothing waiting.
func (sl *slot) countAccesses() {
	if sl.rec != nil {
		sl.rec.Flush()
	}
}

// keptArgs is the most arguments a slot keeps room for between batches: 24 bytes each.
const keptArgs = 512

// forgetArgs lets go of what the arguments of the latest commands alias, which may be the buffer of a frame of
// hundreds of megabytes whose client has given it up, and of the room that a command with very many took.
func (sl *slot) forgetArgs() {
	if cap(sl.args) > keptArgs {
		sl.args = nil
	}
	clear(sl.args[:min(sl.argsUsed, cap(sl.args))])
	sl.argsUsed = 0
	clear(sl.row)
	if cap(sl.keys) > keptArgs {
		sl.keys = nil // cleared after each command
	}
}

// clock gives each command its time at the cost of one monotonic reading per command: the end of one command
// is the start of the next in a batch.
type clock struct {
	origin time.Time // when the server started; atNs counts from here on the monotonic clock
	atNs   int64     // the latest reading
	wallUs int64     // what makes a reading, in microseconds, a Unix time
	heldUs int64     // the wall clock while it stands still; zero: it runs
}

// start reads both clocks; it is called at the beginning of a batch, since the wall clock may be set.
func (c *clock) start() {
	now := time.Now()
	c.atNs = int64(now.Sub(c.origin))
	c.wallUs, c.heldUs = now.UnixMicro()-c.atNs/1e3, 0
}

// hold makes the wall clock stand still, so that all that a transaction or a script does happens at one time: what it can
// read does not expire under its hands. The caller sets heldUs to what was held before when that is over; if it panics, the
// next start does.
func (c *clock) hold() (before int64) {
	before, c.heldUs = c.heldUs, c.unixUs()
	return before
}

// advance reads the monotonic clock.
func (c *clock) advance() { c.atNs = int64(time.Since(c.origin)) }

// now is the wall clock at the latest reading.
func (c *clock) now() time.Time { return time.UnixMicro(c.unixUs()) }

// unixMs is the wall clock at the latest reading, in milliseconds since 1970.
func (c *clock) unixMs() int64 { return c.unixUs() / 1e3 }

// unixUs is the wall clock at the latest reading, in microseconds since 1970.
func (c *clock) unixUs() int64 {
	if c.heldUs != 0 {
		return c.heldUs
	}
	return c.wallUs + c.atNs/1e3
}

// gate closes over all slots for exclusive work.
type gate struct {
	turn  turn
	slots []*slot

	latency  *latencyMonitor // nil: nobody wants to know how long it is closed
	closedAt time.Time       // zero: likewise
}

// exclusive runs fn while no slot runs anything. own is the caller's slot, whose mutex the caller holds, or nil. The mutex is
// released until the gate is closed, so the caller must not rely on what it read from shared state before; from then on
// the caller holds it, also when fn panics: what fn leaves half-done of the caller's session, such as a wait that began
// while replies are still in its buffer, nobody else gets to see.
// It returns false, and fn was not run, if what has the gate is past its time: own is held again, and busy.
func (g *gate) exclusive(own *slot, fn func()) bool {
	if !g.close(own) {
		return false
	}
	defer g.open(own)
	fn()
	return true
}

// close is the beginning of exclusive, open its end. They need not be called by the same goroutine.
func (g *gate) close(own *slot) bool {
	if own != nil {
		own.countAccesses()
		own.mu.Unlock()
	}
	for !g.turn.take(own != nil) {
		own.mu.Lock()
		if own.busy {
			return false
		}
		own.mu.Unlock() // it has just ended
	}
	if g.latency != nil && g.latency.on() {
		g.closedAt = time.Now()
	}
	for _, sl := range g.slots {
		sl.mu.Lock()
	}
	return true
}

func (g *gate) open(own *slot) {
	for _, sl := range g.slots {
		if sl != own {
			sl.mu.Unlock()
		}
	}
	if !g.closedAt.IsZero() {
		g.latency.note(eventGate, time.Since(g.closedAt), time.Now().Unix())
		g.closedAt = time.Time{}
	}
	g.turn.give()
}

// yield lets go of the slots, but for keep, while the gate's turn stays taken: their holders find them busy. The slot given
// stays locked, for another goroutine to let go, if held is set.
func (g *gate) yield(keep, given *slot, held bool) {
	for _, sl := range g.slots {
		if sl == keep {
			continue
		}
		sl.busy = true
		if sl != given || !held {
			sl.mu.Unlock()
		}
	}
	g.turn.setPast(true) // loops that wait for it find their slots busy
}

// takeBack ends what yield began, and does what had to wait.
func (g *gate) takeBack(keep *slot) {
	g.turn.setPast(false)
	for _, sl := range g.slots {
		if sl != keep {
			sl.mu.Lock()
			sl.busy = false
		}
	}
	for _, sl := range g.slots {
		for _, fn := range sl.afterBusy {
			fn()
		}
		sl.afterBusy = nil
	}
}

// enter locks a slot for one that may wait as long as others keep it busy. No loop may.
func (g *gate) enter(sl *slot) {
	for sl.mu.Lock(); sl.busy; sl.mu.Lock() {
		sl.mu.Unlock()
		g.turn.take(false) // which takes until the gate opens
		g.turn.give()
	}
}
