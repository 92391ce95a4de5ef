package server

import (
	"sync"
	"time"

	"kvserver/server/transport"
)

// Scripts may run for as long as they like, so they run aside: under the gate, but on a goroutine and with a slot of their
// own, while the client's loop waits. Nothing else runs meanwhile, as with all exclusive work. Only when a script is past
// its time (busy-reply-threshold) are the other slots let go, marked busy: their loops go on, and all they do is to answer
// that the server is busy, to take the commands that may end the script, and to let others wait. The turn at the gate
// stays taken. When the script ends the slots are taken back, and the gate is closed as if it had been all the time.
//
// A loop whose client is past its time is let go, too: the client is parked, and what comes of its command is posted.

// aside is the work of one client that runs so. It is used again for the next, unless the loop has gone on without it.
type aside struct {
	c     *client
	fn    func()
	timer *time.Timer
	left  chan struct{} // one signal: the work is over, or the loop shall go on without it

	mu sync.Mutex
	// mu guards the following, which the end of the time and the end of the work both want to change.
	until   time.Time // when what runs will be past its time; zero: never
	yielded bool      // the slots are let go
	apart   bool      // the loop has gone on without it

	before []byte // what the client's batch has appended before
	args   [][]byte
	bytes  []byte // of args
}

func newAside() *aside {
	a := &aside{left: make(chan struct{}, 1)}
	a.timer = time.AfterFunc(time.Hour, a.pastTime)
	a.timer.Stop()
	return a
}

// keptArgBytes bounds the memory for arguments that is kept for the next work.
const keptArgBytes = 16 << 10

// keep copies the arguments of a command, which alias the input that the loop may go on from.
func (a *aside) keep(args [][]byte) [][]byte {
	a.args, a.bytes = a.args[:0], a.bytes[:0]
	total := 0
	for _, arg := range args {
		total += len(arg)
	}
	if cap(a.bytes) < total {
		a.bytes = make([]byte, 0, total)
	}
	for _, arg := range args {
		from := len(a.bytes)
		a.bytes = append(a.bytes, arg...)
		a.args = append(a.args, a.bytes[from:len(a.bytes):len(a.bytes)])
	}
	return a.args
}

// runAside runs fn on a copy of the arguments of a command, under the gate and aside. If it returns with c.aside still set, the
// command is not over: nothing of the client may be touched but that.
func (c *client) runAside(cmd *command, args [][]byte, fn func(args [][]byte)) {
	c.tellMonitors() // of what came before
	home, s := c.slot, c.s
	if !s.gate.close(home) {
		c.turnAway(cmd)
		return
	}
	if c.closed { // killed while it waited
		s.gate.open(home)
		c.verdict = transport.Abort
		return
	}
	a := s.asides.take()
	own := a.keep(args)
	a.c, a.fn, a.before = c, func() { fn(own) }, c.buf
	c.aside = a
	c.slot, c.view = s.scriptSlot, s.scriptSlot.view
	c.buf, c.mark = s.asides.out[:0], 0
	c.slot.clock.start()
	s.asides.work <- a
	<-a.left
	if a.apart { // which does not change any more
		return
	}
	a.settle()
	s.asides.giveBack(a)
	s.gate.open(home)
	home.clock.start() // it took time
}

// turnAway answers a command that could not wait for the gate any longer, since what has it is past its time.
func (c *client) turnAway(cmd *command) {
	if c.closed { // killed while it waited
		c.verdict = transport.Abort
		return
	}
	c.reject(cmd, c.s.busyText())
}

// settle gives the client back to its slot. The gate is closed.
func (a *aside) settle() {
	c := a.c
	c.slot.countAccesses()
	c.tellMonitors()
	c.slot.tellChanges()
	c.slot, c.view = c.home, c.home.view
	c.aside = nil
	if !a.apart {
		c.s.asides.out = c.buf
		c.mark += len(a.before)
		c.buf = append(a.before, c.buf...)
		return
	}
	c.slot.clock.start()
	c.endReply()
	if over := c.overHardLimit(); over || c.closed {
		if over {
			c.s.cutOff(c)
		}
		c.buf = nil
		return
	}
	c.post()
	c.activeNs = time.Now().UnixNano()
	if c.verdict == transport.Close {
		c.conn.Close(true)
	}
	c.conn.Resume()
}

// run does the work on the goroutine for it.
func (a *aside) run() {
	c := a.c
	func() {
		defer func() {
			if fault := recover(); fault != nil {
				c.afterPanic(fault)
				c.verdict = transport.Close
			}
		}()
		a.fn()
	}()
	a.mu.Lock()
	a.takeBackLocked() // a panic may have left it
	apart := a.apart
	a.mu.Unlock()
	if !apart {
		a.left <- struct{}{}
		return
	}
	a.settle()
	c.s.gate.open(nil)
}

// takes runs fn, which may take long: when it is past its time, others are told that the server is busy until it ends.
// No limit on the time is 0. fn must touch nothing that is not the script slot's, the store's, or safe for all.
func (a *aside) takes(limit time.Duration, fn func()) {
	if limit <= 0 {
		fn()
		return
	}
	a.mu.Lock()
	a.until = time.Now().Add(limit)
	a.mu.Unlock()
	a.timer.Reset(limit)
	fn()
	a.timer.Stop()
	a.mu.Lock()
	a.takeBackLocked()
	a.mu.Unlock()
}

// pastTime lets the slots go, and the loop that waits go on. It may come late, when something else runs.
func (a *aside) pastTime() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.until.IsZero() || a.yielded || time.Now().Before(a.until) {
		return
	}
	a.yielded = true
	a.c.s.gate.yield(a.c.s.scriptSlot, a.c.home, !a.apart)
	if !a.apart {
		a.apart = true
		a.left <- struct{}{}
	}
}

// takeBackLocked ends what pastTime began, or will not begin any more. a.mu must be held.
func (a *aside) takeBackLocked() {
	a.until = time.Time{}
	if a.yielded {
		a.yielded = false
		a.c.s.gate.takeBack(a.c.s.scriptSlot)
	}
}

// asides is the goroutine on which work runs aside. It keeps its stack, which a script makes grow. The other fields belong
// to who has closed the gate.
type asides struct {
	work  chan *aside // nil before the first
	spare *aside
	out   []byte // the buffer for replies
	ended sync.WaitGroup
}

func (as *asides) take() *aside {
	if as.work == nil {
		as.work = make(chan *aside)
		as.ended.Go(func() {
			for a := range as.work {
				a.run()
			}
		})
	}
	if a := as.spare; a != nil {
		as.spare = nil
		return a
	}
	return newAside()
}

// giveBack keeps what the next work can use.
func (as *asides) giveBack(a *aside) {
	if cap(as.out) > transport.HighWater {
		as.out = nil
	}
	if cap(a.bytes) > keptArgBytes || cap(a.args) > keptArgs {
		a.bytes, a.args = nil, nil
	}
	a.c, a.fn, a.before = nil, nil, nil
	as.spare = a
}

// end waits until the goroutine is gone. No loop runs any more.
func (as *asides) end() {
	if as.work != nil {
		close(as.work)
	}
	as.ended.Wait()
}
