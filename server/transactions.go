package server

import (
	"unsafe"
)

// transactionRows follow the order of Redis's documentation.
var transactionRows = []row{
	{"discard", 1, noscript | loading | stale | fast | allowBusy | notQueued, nil, "2.0.0", "Discards a transaction.", discard},
	{"exec", 1, noscript | loading | stale | skipSlowlog | notQueued, nil, "1.2.0", "Executes all commands in a transaction.", exec},
	{"multi", 1, noscript | loading | stale | fast | allowBusy | notQueued, nil, "1.2.0", "Starts a transaction.", multi},
	{"unwatch", 1, noscript | loading | stale | fast | allowBusy, nil, "2.2.0", "Forgets about watched keys of a transaction.", unwatch},
	{"watch", -2, noscript | loading | stale | fast | allowBusy | notQueued | locksForWriting, specs{keysAt(kRO, 1, -1, 1)}, "2.2.0", "Monitors changes to keys to determine the execution of a transaction.", watch},
}

// queuedCommand waits for EXEC; its arguments are copies.
type queuedCommand struct {
	cmd  *command
	args [][]byte
}

type multiState struct {
	queue     []queuedCommand
	argBytes  int  // for CLIENT LIST
	heldBytes int  // with what is kept about each argument and command, which for short ones is most of it
	spoiled   bool // a command was refused while queueing: EXEC will abort
	exclusive bool // a queued command needs the gate, so EXEC does
	scripts   bool // a queued command runs aside, so EXEC does
	writes    bool // for CLIENT PAUSE WRITE
	denyOOM   bool // a queued command is refused when memory is full, so EXEC is

	locksForWriting bool
}

func (c *client) queue(cmd *command, args [][]byte) {
	m := c.multi
	argBytes := 0
	for _, a := range args {
		argBytes += len(a)
	}
	m.argBytes += argBytes
	m.heldBytes += argBytes + len(args)*int(unsafe.Sizeof(args[0])) + int(unsafe.Sizeof(queuedCommand{}))
	m.queue = append(m.queue, queuedCommand{cmd, cloneAll(args)})
	m.exclusive = m.exclusive || cmd.flags&(exclusive|walksKeyspace|subscribes) != 0
	m.scripts = m.scripts || cmd.flags&runsScripts != 0
	m.writes = m.writes || c.s.mayWrite(cmd, args)
	m.denyOOM = m.denyOOM || cmd.flags&denyoom != 0
	m.locksForWriting = m.locksForWriting || cmd.lockWrite
	c.cmd = cmd
	c.simple("QUEUED")
}

func multi(c *client, _ [][]byte) {
	if c.multi != nil {
		c.fail("ERR MULTI calls can not be nested")
		return
	}
	c.multi = &multiState{}
	c.ok()
}

func discard(c *client, _ [][]byte) {
	if c.multi == nil {
		c.fail("ERR DISCARD without MULTI")
		return
	}
	c.discardMulti()
	c.ok()
}

// discardMulti leaves MULTI and forgets watched keys.
func (c *client) discardMulti() {
	c.multi = nil
	c.forgetWatched()
}

// forgetWatched ends WATCH. What keeps the server busy has the shards that know of it, without their locks, so that they are
// told afterwards: nobody sees a difference, since neither WATCH nor EXEC is taken before that.
func (c *client) forgetWatched() {
	switch {
	case !c.slot.busy || !c.watcher.Watching():
		c.view.Unwatch(&c.watcher)
	case !c.unwatch:
		c.unwatch = true
		c.slot.afterBusy = append(c.slot.afterBusy, func() {
			c.unwatch = false
			c.view.Unwatch(&c.watcher)
		})
	}
}

// watch runs under the lock of its keys, in which the store registers the watcher.
func watch(c *client, args [][]byte) {
	if c.multi != nil {
		c.fail("ERR WATCH inside MULTI is not allowed")
		return
	}
	for _, key := range args[1:] {
		c.view.Watch(&c.watcher, key)
	}
	c.ok()
}

// unwatch has nothing to do inside EXEC, which forgets all watched keys once its locks are released.
func unwatch(c *client, _ [][]byte) {
	if !c.inExec {
		c.forgetWatched()
	}
	c.ok()
}

// exec locks the union of its commands' keys and the watched keys, so that the test of WATCH and all commands
// are one step for everybody else; if a command needs the gate, the gate is that lock.
func exec(c *client, _ [][]byte) {
	m := c.multi
	switch {
	case m == nil:
		c.fail("ERR EXEC without MULTI")
		return
	case m.spoiled:
		c.discardMulti()
		c.fail(errExecAbort)
		return
	}
	c.multi = nil
	if !m.exclusive {
		c.lockForExec(m)
		if m.exclusive = m.writes && c.view.Awaited(); m.exclusive {
			c.view.Unlock()
		} else {
			c.execQueue(m)
			c.view.Unlock()
		}
	}
	if m.exclusive && !c.withGate(func() { c.execExclusive(m) }) {
		c.turnAway(c.cmd)
	}
	c.forgetWatched()
}

// execExclusive runs the transaction under the gate, and serves those who wait for what it wrote.
func (c *client) execExclusive(m *multiState) {
	c.execQueue(m)
	if !m.writes || !c.s.store.Waiting() {
		return
	}
	var keys [][]byte
	for _, q := range m.queue {
		if q.cmd.flags&(write|runsScripts) != 0 {
			keys = append(keys, c.awaitedKeys(q.cmd, q.args)...)
		}
	}
	c.view.Unlock()
	c.s.serveWaiters(c.view, keys)
}

func (c *client) lockForExec(m *multiState) {
	var keys [][]byte
	for _, q := range m.queue {
		keys = q.cmd.appendKeys(keys, q.args)
	}
	c.watcher.Names(func(_ int, key string) { keys = append(keys, []byte(key)) })
	c.view.LockKeys(keys, m.locksForWriting)
}

// execQueue runs the transaction under its locks.
func (c *client) execQueue(m *multiState) {
	if c.view.Dirty(&c.watcher) {
		c.nullArray()
		return
	}
	execRow := c.cmd
	c.lookNs = min(c.lookNs, c.s.observe.lookFrom(m.heldBytes)) // these came in earlier batches
	c.inExec = true
	before := c.slot.clock.hold()
	c.array(len(m.queue))
	for _, q := range m.queue {
		c.bindView()
		if !c.user.Unrestricted && c.refusedInExec(q.cmd, q.args) {
			continue
		}
		c.call(q.cmd, q.args)
	}
	c.slot.clock.heldUs = before
	c.inExec = false
	c.cmd, c.failed = execRow, false
}
