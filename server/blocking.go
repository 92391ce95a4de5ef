package server

import (
	"bytes"
	"math"
	"time"

	"kvserver/server/transport"
	"kvserver/store"
)

// Blocking commands park the session, not a thread. One that finds nothing to do registers its client as a waiter with the
// shards of its keys, under their locks. Whoever then locks one of these keys in order to write closes the gate instead
// (dispatch), does its work, and runs the commands of the waiters again, in the order in which they began to wait, before
// the gate opens: nobody can come between a write and those who waited for it. What ends a wait (being served, the
// timeout, CLIENT UNBLOCK, CLIENT KILL, the end of the connection) holds the mutex of the client's slot, so that exactly
// one of them does.

// wait is what a command that found nothing to do waits for.
type wait struct {
	keys      [][]byte           // any of which may become ready
	typ       string             // of the values that make a key ready, as TYPE names it
	timeoutMs int64              // 0: none
	timedOut  func(c *client)    // the reply when the time is over
	args      [][]byte           // what to run again; nil: the command as it came
	ready     func(*client) bool // whether running again will do something, without a trace; nil: always
	gone      bool               // run again, too, when a key has vanished or become something else
}

// waiting is the state of a client that waits.
type waiting struct {
	wait
	cmd    *command
	waiter store.Waiter
	timer  *time.Timer // nil: no timeout
	silent bool        // CLIENT REPLY dropped the reply when the command came
	idle   bool        // the latest run found nothing to do
	again  bool        // it is, or was, run again
	ns     int64       // what the runs took
}

// block makes the client wait. A handler calls it last, under the locks of the keys; args are those of the command. Inside a
// transaction nobody waits: the time is over at once.
func (c *client) block(args [][]byte, w wait) {
	switch {
	case c.waiting != nil: // it is being run again
		c.waiting.idle = true
		return
	case c.inExec:
		w.timedOut(c)
		return
	}
	if w.args == nil {
		w.args = args
	}
	w.args, w.keys = cloneAll(w.args), cloneAll(w.keys)
	st := &waiting{wait: w, cmd: c.cmd, silent: c.silent(), idle: true}
	st.waiter.Owner = c
	c.view.Wait(&st.waiter, w.keys)
	c.waiting, c.verdict = st, transport.Park
	c.s.blocked.Add(1)
	if w.gone {
		c.s.blockedWhileThere.Add(1)
	}
	if w.timeoutMs > 0 {
		st.timer = time.AfterFunc(time.Duration(w.timeoutMs)*time.Millisecond, func() { c.timeOut(st) })
	}
}

func cloneAll(list [][]byte) [][]byte {
	copied := make([][]byte, len(list))
	for i, b := range list {
		copied[i] = bytes.Clone(b)
	}
	return copied
}

// timeOut runs on a goroutine of its own.
func (c *client) timeOut(st *waiting) {
	c.s.gate.enter(c.home)
	defer c.home.mu.Unlock()
	if c.waiting == st && !c.closed {
		c.endWait(st.timedOut)
	}
}

// endWait lets a client that waits go on with a reply other than that of its command. The caller holds the client's slot or
// the gate, and no locks of shards.
func (c *client) endWait(reply func(c *client)) {
	st := c.waiting
	c.stopWaiting()
	c.buf, c.mark, c.failed = nil, 0, false
	reply(c)
	if c.slot.session != nil {
		c.charge(st.cmd, st.args, st.ns, len(c.buf))
	}
	c.record(st.cmd, st.ns)
	c.postReply(st)
}

// stopWaiting takes the client, if it waits, out of everything that may wake it.
func (c *client) stopWaiting() {
	st := c.waiting
	if st == nil {
		return
	}
	c.waiting = nil
	if st.timer != nil {
		st.timer.Stop()
	}
	c.view.StopWaiting(&st.waiter)
	c.s.blocked.Add(-1)
	if st.gone {
		c.s.blockedWhileThere.Add(-1)
	}
}

// postReply sends what the end of a wait has appended, and has the client's further input run.
func (c *client) postReply(st *waiting) {
	if st.silent {
		c.buf = c.buf[:c.mark]
	}
	c.appendPushes()
	c.post()
	c.activeNs = time.Now().UnixNano()
	c.conn.Resume()
}

// serveWaiters runs the commands of those who wait for keys that may have become ready. It runs under the gate; v is any
// view without locks. Serving one may make other keys ready, whose waiters follow. A key is in the queue once, however many
// have been served who name it: each turn of a key looks at all who wait for it.
func (s *Server) serveWaiters(v *store.View, keys [][]byte) {
	var ws []*store.Waiter
	var queue [][]byte
	queued := map[string]bool{}
	add := func(keys [][]byte) {
		for _, key := range keys {
			if !queued[string(key)] {
				queued[string(key)] = true
				queue = append(queue, key)
			}
		}
	}
	for add(keys); len(queue) > 0 && s.store.Waiting(); {
		key := queue[0]
		queue = queue[1:]
		delete(queued, string(key))
		v.Exclusive()
		ws = v.WaitersOf(key, ws[:0])
		v.Unlock()
		var look glance
		for _, w := range ws {
			waiter := w.Owner.(*client)
			if waiter.waiting == nil || waiter.closed || !waiter.mayBeServed(key, &look) {
				continue
			}
			cmd, args := waiter.waiting.cmd, waiter.waiting.args
			if waiter.serve() {
				look = glance{}
				add(cmd.appendKeys(nil, args))
			}
		}
	}
}

// tellOfExpired serves those who want to hear that their key has vanished: when it expires, no command tells them. It looks
// at each key once, however many wait for it.
func (s *Server) tellOfExpired(v *store.View) {
	type name struct {
		db  int
		key string
	}
	s.gate.exclusive(nil, func() {
		var vanished [][]byte
		seen := map[name]bool{}
		for _, c := range s.clients.all() {
			if c.waiting == nil || !c.waiting.gone {
				continue
			}
			for _, key := range c.waiting.keys {
				n := name{c.db, string(key)}
				if seen[n] {
					continue
				}
				seen[n] = true
				if c.typeNow(key) != c.waiting.typ {
					vanished = append(vanished, key)
				}
			}
		}
		s.serveWaiters(v, vanished)
	})
}

// typeNow is the type of the value at a key, looked at without a trace.
func (c *client) typeNow(key []byte) string {
	c.bindToLook()
	c.view.Exclusive()
	defer c.view.Unlock()
	return c.view.Peek(key).Type()
}

// glance remembers the type of the key that is being served, so that a thousand waiters for a key that is empty again
// cost one look.
type glance struct {
	taken bool
	db    int
	typ   string
}

// mayBeServed tells whether running the command again would do something, without a trace.
func (c *client) mayBeServed(key []byte, look *glance) bool {
	st := c.waiting
	if !look.taken || look.db != c.db {
		*look = glance{true, c.db, c.typeNow(key)}
	}
	if look.typ != st.typ {
		return st.gone
	}
	if st.ready == nil {
		return true
	}
	c.bindToLook()
	c.view.Exclusive()
	defer c.view.Unlock()
	return st.ready(c)
}

// bindToLook is bindView for a look at keys while no command of the client runs: what has expired is then not its doing.
func (c *client) bindToLook() {
	c.bindView()
	c.slot.client = nil
}

// serve runs the command of a client that waits again, and reports whether that ended the wait.
func (c *client) serve() bool {
	st := c.waiting
	st.idle, st.again = false, true
	c.buf = nil
	c.limitOutput()
	c.lookNs = c.s.observe.lookFrom(int(requestBytes(st.args)))
	c.begin()
	c.claimMessages()
	c.slot.clock.start()
	if !c.user.Unrestricted && c.refused(st.cmd, st.args) { // it was allowed when it came
		c.stopWaiting()
		c.postReply(st)
		return true
	}
	c.bindView()
	c.view.Exclusive()
	c.call(st.cmd, st.args)
	c.view.Unlock()
	c.slot.countAccesses()
	c.slot.tellChanges()
	if st.idle {
		c.buf = c.buf[:c.mark]
		c.appendPushes()
		c.post()
		return false
	}
	c.stopWaiting()
	if c.overHardLimit() {
		c.s.cutOff(c)
		c.closed = true
		c.conn.Close(false)
		return true
	}
	c.postReply(st)
	return true
}

// awaitedKeys are the keys of a command that somebody may wait for: all there are if the command does not say which it
// changes.
func (c *client) awaitedKeys(cmd *command, args [][]byte) [][]byte {
	if cmd.keys == nil || cmd.flags&exclusive != 0 {
		return c.view.AwaitedKeys(nil)
	}
	return cloneAll(cmd.appendKeys(nil, args))
}

// timeoutMsMax is the longest timeout, some 290 years: 64 bits of nanoseconds hold it.
const timeoutMsMax = math.MaxInt64 / int64(time.Millisecond)

// parseTimeout reads a timeout in seconds, which may have a fraction. One too short for the clock is a millisecond.
func parseTimeout(arg []byte) (ms int64, problem string) {
	seconds, ok := store.ParseDouble(arg)
	switch {
	case !ok:
		return 0, "ERR timeout is not a float or out of range"
	case seconds < 0:
		return 0, "ERR timeout is negative"
	case seconds*1000 > float64(timeoutMsMax):
		return 0, "ERR timeout is out of range"
	}
	return int64(math.Ceil(seconds * 1000)), ""
}

// parseTimeoutMs reads a timeout in milliseconds.
func parseTimeoutMs(arg []byte) (ms int64, problem string) {
	ms, ok := parseInt(arg)
	switch {
	case !ok:
		return 0, "ERR timeout is not an integer or out of range"
	case ms < 0:
		return 0, "ERR timeout is negative"
	case ms > timeoutMsMax:
		return 0, "ERR timeout is out of range"
	}
	return ms, ""
}

// clientUnblock ends the wait of a client as if its time were over, or with an error.
func clientUnblock(c *client, args [][]byte) {
	withError := false
	switch {
	case len(args) > 4:
		c.fail(subcommandSyntax(c.cmd.parent, args[1]))
		return
	case len(args) == 4 && bytes.EqualFold(args[3], []byte("ERROR")):
		withError = true
	case len(args) == 4 && !bytes.EqualFold(args[3], []byte("TIMEOUT")):
		c.fail("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
		return
	}
	id, ok := parseInt(args[2])
	if !ok {
		c.fail(errNotInteger)
		return
	}
	target := c.s.clients.find(id)
	if target == nil || target.waiting == nil || target.closed {
		c.flag(false)
		return
	}
	reply := target.waiting.timedOut
	if withError {
		reply = func(t *client) { t.fail("UNBLOCKED client unblocked via CLIENT UNBLOCK") }
	}
	target.endWait(reply)
	c.flag(true)
}

// blockingKeys counts, for INFO, the keys that somebody waits for, and those of them waited for by a client that wants to
// hear when they vanish. It runs under the gate.
func (s *Server) blockingKeys() (total, onNoKey int64) {
	type name struct {
		db  int
		key string
	}
	seen := map[name]bool{} // whether somebody wants to hear
	for _, c := range s.clients.all() {
		if c.waiting == nil {
			continue
		}
		db, keys := c.waiting.waiter.Keys()
		for _, key := range keys {
			seen[name{db, key}] = seen[name{db, key}] || c.waiting.gone
		}
	}
	for _, gone := range seen {
		if total++; gone {
			onNoKey++
		}
	}
	return total, onNoKey
}
