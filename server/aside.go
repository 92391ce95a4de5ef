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

// aside is the work of one client that runs so.
type aside struct {
	c    *client
	fn   func()
	done chan struct{} // the work is over, and the loop still waits for it

	mu sync.Mutex
	// mu guards the following, which the end of the time and the end of the work both want to change.
	long     bool // a part of it runs that may be past its time
	yielded  bool // the slots are let go
	detached chan struct{}
	apart    bool // detached is closed: the loop has gone on without it

	before []byte // what the client's batch has appended before
}

// runAside runs fn, which belongs to the command being run, under the gate and aside. If it returns with c.aside still set,
// the command is not over: nothing of the client may be touched but that.
func (c *client) runAside(fn func()) {
	c.tellMonitors() // of what came before
	home, s := c.slot, c.s
	s.gate.close(home)
	if c.closed { // killed while it waited
		s.gate.open(home)
		c.verdict = transport.Abort
		return
	}
	a := &aside{c: c, fn: fn, done: make(chan struct{}, 1), detached: make(chan struct{}), before: c.buf}
	c.aside = a
	c.slot, c.view = s.scriptSlot, s.scriptSlot.view
	c.buf, c.mark = nil, 0
	c.slot.clock.start()
	s.asides.start(s)
	s.asides.work <- a
	select {
	case <-a.done:
		a.settle()
		s.gate.open(home)
		home.clock.start() // it took time
	case <-a.detached:
	}
}

// settle gives the client back to its slot. The gate is closed.
func (a *aside) settle() {
	c := a.c
	c.slot.countAccesses()
	c.tellMonitors()
	c.slot, c.view = c.home, c.home.view
	c.aside = nil
	if !a.apart {
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
	if len(c.buf) > 0 {
		c.conn.Post(c.buf)
		c.slot.stats.outBytes += int64(len(c.buf))
	}
	c.buf = nil
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
		a.done <- struct{}{}
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
	a.long = true
	a.mu.Unlock()
	timer := time.AfterFunc(limit, a.pastTime)
	fn()
	timer.Stop()
	a.mu.Lock()
	a.takeBackLocked()
	a.mu.Unlock()
}

// pastTime lets the slots go, and the loop that waits go on.
func (a *aside) pastTime() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.long || a.yielded {
		return
	}
	a.yielded = true
	a.c.s.gate.yield(a.c.s.scriptSlot, a.c.home, !a.apart)
	if !a.apart {
		a.apart = true
		close(a.detached)
	}
}

// takeBackLocked ends what pastTime began, or will not begin any more. a.mu must be held.
func (a *aside) takeBackLocked() {
	a.long = false
	if a.yielded {
		a.yielded = false
		a.c.s.gate.takeBack(a.c.s.scriptSlot)
	}
}

// asides is the goroutine on which work runs aside. It keeps its stack, which a script makes grow.
type asides struct {
	once  sync.Once
	work  chan *aside
	ended sync.WaitGroup
}

func (as *asides) start(s *Server) {
	as.once.Do(func() {
		as.work = make(chan *aside)
		as.ended.Go(func() {
			for a := range as.work {
				a.run()
			}
		})
	})
}

// end waits until the goroutine is gone. No loop runs any more.
func (as *asides) end() {
	as.once.Do(func() {})
	if as.work != nil {
		close(as.work)
	}
	as.ended.Wait()
}

// busyText answers commands that come while a script is past its time.
func (s *Server) busyText() string { return errBusyScript }
