package server

import (
	"math"
	"time"

	"kvserver/config"
)

// What an operator may want to know of single calls (the command logs, the latency monitor, MONITOR) is decided in one
// place, after the call: dispatch compares the time that the call took, which it measures anyway, and the size of its
// reply with the least that anybody asks for, and only then looks closer. MONITOR and a tracking session of HOTKEYS ask for
// everything, that is for calls of no time at all.

// observation is what calls are held against.
type observation struct {
	// The thresholds change only under the gate.
	tookNs       int64 // calls that took at least this long are looked at
	requestBytes int   // likewise all of a batch with at least so much input
	replyBytes   int   // likewise calls whose replies have at least so much
	logs         [logKinds]commandLog
	latency      latencyMonitor
	monitors     monitors
	session      bool // a tracking session runs
}

const (
	nsPerUs = 1000
	nsPerMs = 1000 * nsPerUs
)

// observeParams are the parameters that make up the thresholds, and observeNames their names.
type observeParams struct {
	logs      [logKinds]struct{ atLeast, entriesMax *config.Int }
	latencyMs *config.Int
}

var observeNames = []string{
	"commandlog-execution-slower-than", "commandlog-slow-execution-max-len",
	"commandlog-request-larger-than", "commandlog-large-request-max-len",
	"commandlog-reply-larger-than", "commandlog-large-reply-max-len", "latency-monitor-threshold",
}

func (p *Parameters) registerObservation(r *config.Registry) {
	const entriesMax, bytesLarge, slowUs = 128, 1 << 20, 10000
	logs := &p.observe.logs
	logs[slowLog].atLeast = r.Int("commandlog-execution-slower-than", slowUs, -1, math.MaxInt64,
		config.Alias("slowlog-log-slower-than"), config.Doc("microseconds from which a command is in SLOWLOG; -1: none is"))
	logs[slowLog].entriesMax = r.Int("commandlog-slow-execution-max-len", entriesMax, 0, math.MaxInt64,
		config.Alias("slowlog-max-len"), config.Doc("commands that SLOWLOG remembers"))
	logs[largeRequestLog].atLeast = r.Int("commandlog-request-larger-than", bytesLarge, -1, math.MaxInt64,
		config.Doc("bytes from which a request is in COMMANDLOG; -1: none is"))
	logs[largeRequestLog].entriesMax = r.Int("commandlog-large-request-max-len", entriesMax, 0, math.MaxInt64,
		config.Doc("large requests that COMMANDLOG remembers"))
	logs[largeReplyLog].atLeast = r.Int("commandlog-reply-larger-than", bytesLarge, -1, math.MaxInt64,
		config.Doc("bytes from which a reply is in COMMANDLOG; -1: none is"))
	logs[largeReplyLog].entriesMax = r.Int("commandlog-large-reply-max-len", entriesMax, 0, math.MaxInt64,
		config.Doc("large replies that COMMANDLOG remembers"))
	p.observe.latencyMs = r.Int("latency-monitor-threshold", 0, 0, math.MaxInt64,
		config.Doc("milliseconds from which LATENCY has samples of what took so long; 0: never"))
}

// applyObservation sets the thresholds. The caller holds the gate. What runs already is looked at until its batch ends,
// the CONFIG SET that changed them included.
func (s *Server) applyObservation() error {
	o := &s.observe
	for i := range o.logs {
		p := &s.params.observe.logs[i]
		o.logs[i].limit(p.atLeast.Get(), p.entriesMax.Get())
	}
	o.tookNs = min(o.logs[slowLog].atLeast, math.MaxInt64/nsPerUs) * nsPerUs
	if ms := s.params.observe.latencyMs.Get(); ms > 0 {
		o.tookNs = min(o.tookNs, min(ms, math.MaxInt64/nsPerMs)*nsPerMs)
	}
	o.requestBytes, o.replyBytes = int(o.logs[largeRequestLog].atLeast), int(o.logs[largeReplyLog].atLeast)
	s.lookAtAll()
	return nil
}

// lookAtAll looks at what runs until the batches that have begun end. The caller holds the gate.
func (s *Server) lookAtAll() {
	for _, c := range s.clients.all() {
		c.lookNs = 0
	}
}

// lookFrom is the time from which the calls of a batch are looked at.
func (o *observation) lookFrom(inputBytes int) int64 {
	if inputBytes >= o.requestBytes || o.monitors.any() || o.session {
		return 0
	}
	return o.tookNs
}

// look shows a call to those who want to know of it. It comes after the call.
func (c *client) look(cmd *command, args [][]byte, tookNs int64, replyBytes int) {
	o := &c.s.observe
	secret := c.secret
	c.secret = c.secret[:0]
	st := c.waiting
	if o.monitors.any() && cmd.flags&(skipMonitor|admin) == 0 && (st == nil || !st.again) {
		c.show(args, secret)
	}
	if st != nil && st.idle {
		return // it is not over yet
	}
	if c.slot.session != nil {
		c.charge(cmd, args, tookNs, replyBytes)
	}
	event := eventCommand
	if cmd.flags&fast != 0 {
		event = eventFastCommand
	}
	o.latency.note(event, time.Duration(tookNs), c.slot.clock.unixMs()/1000)
	if cmd.flags&skipSlowlog == 0 {
		o.logs[slowLog].note(c, args, secret, tookNs/nsPerUs)
		o.logs[largeRequestLog].note(c, args, secret, requestBytes(args))
		o.logs[largeReplyLog].note(c, args, secret, int64(replyBytes))
	}
}

// redacted stands for an argument that nobody shall see.
const redacted = "(redacted)"

// redact keeps an argument of the command being run out of the logs and away from MONITOR. Handlers call it before they
// can fail.
func (c *client) redact(i int) {
	c.secret = append(c.secret, i)
	c.lookNs = 0 // what is kept in c.secret, the look after this call takes away
}

// requestBytes is the length of a request in the usual form, an array of bulk strings.
func requestBytes(args [][]byte) int64 {
	size := headerBytes(len(args))
	for _, a := range args {
		size += headerBytes(len(a)) + int64(len(a)) + 2
	}
	return size
}

// headerBytes is the length of a line such as "*3\r\n".
func headerBytes(n int) int64 {
	size := int64(4)
	for ; n > 9; n /= 10 {
		size++
	}
	return size
}
