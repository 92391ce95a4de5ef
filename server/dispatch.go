package server

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"kvserver/server/transport"
)

// dispatch takes one command through the gates, in Redis's order, and runs it. It returns false if the client
// must wait before this command can run: the transport gives the same bytes again.
func (c *client) dispatch(args [][]byte) bool {
	cmd, known := c.findCommand(args)
	switch {
	case cmd == nil && isHTTP(args[0]):
		c.dropHTTP()
		return true
	case cmd == nil:
		c.reject(nil, unknownCommand(args))
		return true
	case !known:
		c.reject(cmd, unknownSubcommand(cmd, args[1]))
		return true
	case !cmd.arityOK(len(args)) || cmd.handle == nil:
		c.reject(cmd, arityError(cmd))
		return true
	}
	if cmd.flags&protected != 0 && !c.mayUseProtected(cmd) {
		return true
	}
	if !c.authed && cmd.flags&noAuth == 0 && c.s.authRequired() {
		c.reject(cmd, errNoAuth)
		return true
	}
	if c.multi != nil && cmd.flags&noMulti != 0 {
		c.reject(cmd, "ERR Command not allowed inside a transaction")
		return true
	}
	if !c.user.Unrestricted && c.refused(cmd, args) {
		return true
	}
	if c.s.memory.limit != 0 && !c.slot.busy && c.lacksMemory(cmd) {
		c.reject(cmd, errOutOfMemory)
		return true
	}
	if cmd.flags&(subscribes|whileSubscribed) == 0 && c.inSubscribeMode() {
		c.reject(cmd, fmt.Sprintf(errSubscribeMode, cmd.fullName))
		return true
	}
	if c.monitoring && cmd.flags&(write|readonly|mayReplicate) != 0 {
		c.reject(cmd, errKeysWhileMonitoring)
		return true
	}
	if c.slot.busy && cmd.flags&allowBusy == 0 {
		c.reject(cmd, c.s.busyText())
		return true
	}
	if c.slot.busy && (cmd.flags&locksForWriting != 0 || c.monitoring || c.cacher != nil && cmd.flags&whileSubscribed != 0) {
		c.slot.afterBusy = append(c.slot.afterBusy, c.conn.Resume)
		return false
	}
	if c.s.pause.holds(c, cmd, args) {
		c.s.pause.park(c)
		return false
	}
	if c.multi != nil && cmd.flags&notQueued == 0 {
		c.queue(cmd, args)
		return true
	}
	c.run(cmd, args)
	return true
}

// isHTTP tells whether a line is the beginning of an HTTP request, or its header that always comes. A web page can make
// the browser of somebody who may reach this server send one, whose body then holds commands.
func isHTTP(name []byte) bool {
	return bytes.EqualFold(name, []byte("POST")) || bytes.EqualFold(name, []byte("Host:"))
}

// warnEverySec keeps a client that is refused over and over from filling the log.
const warnEverySec = 60

// dropHTTP closes the connection before anything that follows is run.
func (c *client) dropHTTP() {
	c.cmd, c.verdict = nil, transport.Abort
	if nowSec := c.slot.clock.unixMs() / 1000; nowSec-c.slot.warnedSec >= warnEverySec {
		c.slot.warnedSec = nowSec
		c.s.log.Warn("possible attack: a client speaks HTTP to this server, as a web page may make a browser do; closed", "client", c.describe())
	}
}

// findCommand is table.find behind a memory of the slot's latest command.
func (c *client) findCommand(args [][]byte) (cmd *command, known bool) {
	if bytes.Equal(args[0], c.slot.lastName) {
		return c.slot.last, true
	}
	cmd, known = c.s.table.find(args)
	if known && cmd.parent == nil && cmd.subByName == nil {
		c.slot.lastName, c.slot.last = append(c.slot.lastName[:0], args[0]...), cmd
	}
	return cmd, known
}

// reject answers a command that is not run; inside MULTI it also spoils the transaction, and a rejected EXEC ends
// it.
func (c *client) reject(cmd *command, text string) {
	if c.multi != nil {
		c.multi.spoiled = true
	}
	if cmd != nil {
		c.slot.stats.commands[cmd.id].rejected++
		if cmd.name == "exec" {
			c.discardMulti()
			text = "EXECABORT Transaction discarded because of: " + strings.TrimPrefix(text, "ERR ")
		}
	}
	c.cmd = cmd
	c.fail(text)
}

// run executes a command that passed the gates: it takes the locks the row calls for, and nothing else does.
func (c *client) run(cmd *command, args [][]byte) {
	switch {
	case c.slot.busy && cmd.flags&allowBusy == 0: // since the command before, in a row
		c.reject(cmd, c.s.busyText())
		return
	case cmd.flags&runsScripts != 0:
		c.runAside(cmd, args, func(args [][]byte) { c.runExclusive(cmd, args) })
		return
	case cmd.flags&exclusive != 0:
		c.runExclusive(cmd, args)
		return
	case c.multi != nil && c.multi.scripts && cmd.name == "exec":
		c.runAside(cmd, args, func(args [][]byte) { c.call(cmd, args) })
		return
	}
	c.bindView()
	sl := c.slot
	switch {
	case cmd.oneKey:
		c.view.LockKey(args[1], cmd.lockWrite)
	case cmd.keys != nil:
		sl.keys = cmd.appendKeys(sl.keys[:0], args)
		c.view.LockKeys(sl.keys, cmd.lockWrite)
		clear(sl.keys)
	}
	if cmd.lockWrite && c.view.Awaited() {
		c.view.Unlock()
		c.runExclusive(cmd, args)
		return
	}
	c.call(cmd, args)
	c.view.Unlock()
}

// bindView makes the slot's view work for this client, now.
func (c *client) bindView() {
	nowMs := c.slot.clock.unixMs()
	c.slot.client = c
	c.view.Bind(c.db, nowMs, c.slot.rec)
	c.view.SetNoTouch(c.noTouch)
	c.view.KeepExpired(c.s.keepsKeys(nowMs))
	if c.importSource && c.s.importing {
		c.view.ShowExpired()
	}
}

// runExclusive runs a command with the gate closed, and serves those who wait for what it wrote, which is nothing if it
// waits itself. The slot is let go in between and its scratch memory with it, so that permissions may change.
func (c *client) runExclusive(cmd *command, args [][]byte) {
	args = slices.Clone(args)
	ran := c.withGate(func() {
		if !c.user.Unrestricted && c.refused(cmd, args) {
			return
		}
		c.call(cmd, args)
		if cmd.flags&(write|runsScripts) != 0 && c.waiting == nil && c.s.store.Waiting() {
			keys := c.awaitedKeys(cmd, args)
			c.view.Unlock()
			c.s.serveWaiters(c.view, keys)
		}
	})
	if !ran {
		c.turnAway(cmd)
	}
}

// withGate runs fn with the gate closed and the view bound accordingly, and reports false if it could not: see gate.exclusive.
func (c *client) withGate(fn func()) bool {
	c.tellMonitors()    // of what came before
	if c.aside != nil { // it is closed already
		c.whileClosed(fn)
		return true
	}
	return c.s.gate.exclusive(c.slot, func() {
		if c.closed { // killed while it waited
			c.verdict = transport.Abort
			return
		}
		c.slot.clock.start() // waiting took time
		c.whileClosed(fn)
	})
}

// underGate runs fn with the gate closed, now or when what has it ends.
func (c *client) underGate(fn func()) {
	if !c.withGate(fn) {
		c.slot.afterBusy = append(c.slot.afterBusy, fn)
	}
}

// whileClosed runs fn with the view bound to the whole store.
func (c *client) whileClosed(fn func()) {
	c.bindView()
	c.view.Exclusive()
	defer c.view.Unlock()
	fn()
	c.slot.countAccesses()
}

// call runs the handler and accounts for it.
func (c *client) call(cmd *command, args [][]byte) {
	c.cmd, c.failed = cmd, false
	clock := &c.slot.clock
	began, from := clock.atNs, len(c.buf)
	cmd.handle(c, args)
	clock.advance()
	if c.cacher != nil && cmd.flags&readonly != 0 {
		c.remember(cmd, args)
	}
	ns, replyBytes := clock.atNs-began, len(c.buf)-from
	if rec := c.slot.rec; rec != nil && rec.Recorded() {
		rec.Charge(int(requestBytes(args)), replyBytes, ns)
	}
	if c.waiting != nil {
		c.waiting.ns += ns
		ns = c.waiting.ns
	}
	if ns >= c.lookNs || replyBytes >= c.s.observe.replyBytes {
		c.look(cmd, args, ns, replyBytes)
	}
	if c.waiting != nil && c.waiting.idle {
		return // it counts when the wait ends
	}
	c.record(cmd, ns)
}

// record counts a command that took ns nanoseconds and failed if c.failed says so.
func (c *client) record(cmd *command, ns int64) {
	c.commandTotal++
	c.slot.stats.commands[cmd.id].record(ns, c.failed, c.s.params.latencyTracking.Get())
}

// closeAfterReply ends the connection once the reply of this command is out.
func (c *client) closeAfterReply() { c.verdict = transport.Close }
