package server

import (
	"fmt"
	"runtime/debug"
	"time"

	"kvserver/server/acl"
	"kvserver/server/transport"
	"kvserver/store"
)

// client is one connection's session: a state machine that is fed bytes and appends reply bytes. It belongs to
// the slot of its loop: its fields are touched only with that slot's mutex held, or under the gate.
type client struct {
	writer
	s      *Server
	conn   transport.Conn
	home   *slot       // its loop's
	slot   *slot       // home, but for work that runs aside
	view   *store.View // the slot's
	parser parser

	id         int64
	name       string
	libName    string
	libVersion string
	user       *acl.User
	db         int
	authed     bool
	noTouch    bool
	noEvict    bool
	memoryFull bool // when the command being run began, if that matters to it
	redirects  bool // CLIENT CAPA REDIRECT

	importSource bool // CLIENT IMPORT-SOURCE

	created   time.Time
	slowSince time.Time // since when its waiting replies are above the soft limit
	activeNs  int64     // when the latest command ended, Unix nanoseconds, for idle times

	cmd      *command // being run, or the latest
	failed   bool     // it answered with an error
	verdict  transport.Verdict
	mark     int // where the reply of the command being run begins in buf
	replyOff bool
	skipNext bool // CLIENT REPLY SKIP: the next command's reply is dropped
	skipThis bool

	sub    *subscriber // nil if it has never subscribed
	pushes []byte      // messages that follow the reply of the command being run

	cacher           *cacher // nil unless it tracks keys
	cachingGiven     bool    // CLIENT CACHING was the latest command
	hearing          hearing // guarded by caching.mu, like the next
	invalidatedBytes int64   // messages about keys that it was sent

	monitoring bool // MONITOR

	lookNs int64 // calls that take this long are looked at, in the batch being run
	secret []int // indexes of arguments of the command being run that nobody shall see

	waiting  *waiting    // nil unless a blocking command waits
	aside    *aside      // nil unless a command of it runs aside
	multi    *multiState // nil outside MULTI
	inExec   bool
	inScript bool // it runs what scripts call
	watcher  store.Watcher
	unwatch  bool // its keys are forgotten once the server is no longer busy

	queryBytes int  // input of the batch being run, or what the latest one left
	closed     bool // killed, or gone

	noted             int64 // bytes held, as noteMemory last said
	inTotal, outTotal int64 // bytes that it sent and was answered, without messages
	commandTotal      int64 // commands it has run
	replyPeak         int   // the most that one batch was answered
}

// Feed is the transport's entry: see transport.Session.
func (c *client) Feed(in, out []byte) (used, need int, reply []byte, v transport.Verdict) {
	c.home.mu.Lock()
	defer c.home.mu.Unlock()
	if c.closed {
		return 0, 0, out, transport.Abort
	}
	if c.aside != nil || c.waiting != nil {
		return 0, 0, out, transport.Park
	}
	c.slot.clock.start()
	c.buf = out
	c.mark = len(out)
	c.claimMessages()
	before := len(c.buf)
	c.lookNs = c.s.observe.lookFrom(len(in))
	c.limitOutput()
	used, need, v = c.runBatch(in)
	c.home.stats.inBytes += int64(used)
	c.inTotal += int64(used)
	if a := c.aside; a != nil { // it goes on without this loop
		c.answered(c.home, len(a.before)-before)
		c.home.forgetArgs()
		return used, 0, a.before, transport.Park
	}
	c.slot.tellChanges()
	c.appendPushes()
	c.answered(c.slot, len(c.buf)-before)
	c.slot.forgetArgs()
	c.tellMonitors()
	c.slot.countAccesses()
	c.queryBytes = len(in) - used
	c.activeNs = c.slot.clock.unixUs() * 1e3
	if v == transport.More && c.overQueryLimit(len(in)-used+need) {
		v = transport.Abort
	}
	if c.overHardLimit() {
		c.s.cutOff(c)
		v = transport.Abort
	}
	reply, c.buf = c.buf, nil
	if c.s.clientMemory.limitBytes.Load() != 0 {
		c.noteMemory(len(reply))
	}
	return used, need, reply, v
}

// answered counts replies.
func (c *client) answered(sl *slot, bytes int) {
	sl.stats.outBytes += int64(bytes)
	c.outTotal += int64(bytes)
	c.replyPeak = max(c.replyPeak, bytes)
}

// post sends what was appended outside of a batch.
func (c *client) post() {
	if len(c.buf) > 0 {
		c.conn.Post(c.buf)
		c.answered(c.slot, len(c.buf))
	}
	c.buf = nil
}

// runBatch runs the complete commands at the head of in, until the output is worth a write.
func (c *client) runBatch(in []byte) (used, need int, v transport.Verdict) {
	defer func() {
		if fault := recover(); fault != nil {
			c.afterPanic(fault)
			v = transport.Close
		}
	}()
	c.queryBytes = len(in)
	for {
		ahead := c.parseAhead(in[used:])
		ran, full := c.runRow(ahead.row)
		used += ran
		switch {
		case full:
			c.parser.reset() // what was parsed and not run comes again
			return used, 0, transport.Flush
		case ahead.err == errNeedMore:
			return used, ahead.need, transport.More
		case ahead.err != nil:
			c.protocolError(ahead.err)
			return used, 0, transport.Close
		case len(ahead.next.args) > 0:
			c.begin()
			if !c.dispatch(ahead.next.args) {
				c.parser.reset()
				return used, 0, transport.Park
			}
			if c.aside != nil {
				return used + ahead.next.bytes, 0, transport.Park
			}
			c.endReply()
			used += ahead.next.bytes
			if c.verdict != transport.More {
				return used, 0, c.verdict
			}
		default:
			used += ahead.next.bytes
		}
		if c.outputFull() {
			return used, 0, transport.Flush
		}
	}
}

// begin prepares for the next command.
func (c *client) begin() {
	c.mark = len(c.buf)
	c.verdict = transport.More
}

// outputFull tells whether the output is worth a write.
func (c *client) outputFull() bool { return len(c.buf) >= transport.HighWater || c.over }

// overQueryLimit tells whether waiting input, with what is known to follow it and what is known about its arguments, and
// the commands queued in MULTI are beyond client-query-buffer-limit. A frame that will be too large is not waited for.
func (c *client) overQueryLimit(inputBytes int) bool {
	total := int64(inputBytes) + c.parser.heldBytes()
	if c.multi != nil {
		total += int64(c.multi.heldBytes)
	}
	limit := c.s.params.queryBufferLimit.Get()
	if total <= limit {
		return false
	}
	c.s.log.Warn("closing client that reached max query buffer length", "client", c.describe(), "limit", limit)
	c.s.counters.queryBufferDisconnects.Add(1)
	return true
}

// limits for the parser at this moment.
func (c *client) limits() limits {
	return limits{
		bulkBytesMax: int(min(c.s.params.protoMaxBulkLen.Get(), bulkBytesMax)),
		argsMax:      argsMax,
		unauth:       !c.authed && c.s.authRequired(),
	}
}

// silent tells whether the client asked for no reply to the command being run.
func (c *client) silent() bool { return c.replyOff || c.skipThis }

// endReply takes back the reply of a command whose client asked for silence, and appends the messages that follow it.
func (c *client) endReply() {
	if c.silent() {
		c.buf, c.over = c.buf[:c.mark], false
	}
	c.skipThis, c.skipNext = c.skipNext, false
	if c.cachingGiven {
		c.endCaching()
	}
	c.appendPushes()
}

// appendPushes appends the messages that follow a reply.
func (c *client) appendPushes() {
	if len(c.pushes) > 0 {
		c.buf = append(c.buf, c.pushes...)
		c.pushes = nil
	}
}

func (c *client) protocolError(err error) {
	c.s.log.Log(ctx, levelVerbose, "protocol error", "client", c.describe(), "error", err)
	c.slot.stats.countError("ERR")
	c.errorLine("ERR Protocol error: " + err.Error())
}

// afterPanic keeps a fault of ours from reaching the process: the locks are released, this client gets an
// error instead of a half-written reply and is closed, and the fault is logged and counted.
func (c *client) afterPanic(fault any) {
	c.view.Unlock()
	name := "none"
	if c.cmd != nil {
		name = c.cmd.fullName
	}
	c.s.log.Error("panic while running a command", "command", name, "fault", fmt.Sprint(fault), "stack", string(debug.Stack()))
	c.s.counters.panics.Add(1)
	c.buf = c.buf[:min(c.mark, len(c.buf))]
	c.inExec, c.pushes = false, nil
	c.fail(errInternal)
}

// Closed is the transport's last call: see transport.Session.
func (c *client) Closed() {
	c.home.mu.Lock()
	defer c.home.mu.Unlock()
	c.closed = true
	if c.home.busy {
		c.home.afterBusy = append(c.home.afterBusy, c.leave)
		return
	}
	c.leave()
}

// leave takes a client that is gone out of everything that knows it.
func (c *client) leave() {
	c.stopWaiting()
	c.discardMulti()
	c.leaveChannels()
	c.leaveMonitors()
	c.stopTracking()
	c.s.pause.forget(c)
	c.s.clients.remove(c)
	c.s.clientMemory.total.Add(-c.noted)
}
