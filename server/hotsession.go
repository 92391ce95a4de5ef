package server

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"syscall"
	"time"

	"kvserver/config"
	"kvserver/hotkeys/session"
	"kvserver/info"
)

// Tracking sessions are what HOTKEYS is in Redis 8.6: from START until STOP every command with keys is charged to them, by
// time and by bytes. While one runs, all calls are looked at as for MONITOR (observe.go), so that without one there is not
// even a test. Subcommands, errors and the reply are those of Redis's documentation and of its src/hotkeys.c.
//
// Continuous tracking (hotkeys-top-k) and sessions exclude each other, since HOTKEYS GET answers in one form or the other.

// hotSession is the session that runs, or has ended and is kept for HOTKEYS GET. It changes only under the gate.
type hotSession struct {
	*session.Session
	running bool
	beganMs int64 // Unix time
	dueNs   int64 // when it ends by itself, by monotonicNs; 0: never
	took    sessionTimes
}

// sessionTimes is what is measured of the process: at the beginning of a session as of then, and once it has ended what it
// took from beginning to end.
type sessionTimes struct{ ns, userNs, sysNs int64 }

func (s *Server) sessionTimes() sessionTimes {
	user, sys := processorTime(syscall.RUSAGE_SELF)
	return sessionTimes{s.monotonicNs(), int64(user), int64(sys)}
}

func (t sessionTimes) since(began sessionTimes) sessionTimes {
	return sessionTimes{t.ns - began.ns, t.userNs - began.userNs, t.sysNs - began.sysNs}
}

const (
	sessionTopKMax     = 64
	sessionTopKDefault = 10
	sessionSecondsMax  = 1_000_000
)

// hotkeysStart begins a session, in place of one that has ended.
func hotkeysStart(c *client, args [][]byte) {
	if st := c.s.currentSession(); st != nil && st.running {
		c.fail("ERR hotkey tracking session already in progress")
		return
	}
	if c.s.params.hotkeysTopK.Get() > 0 {
		c.fail("ERR hot keys are tracked continuously, and GET answers for that: CONFIG SET hotkeys-top-k 0 before a session")
		return
	}
	o, seconds, problem := parseSession(args[2:])
	if problem != "" {
		c.fail(problem)
		return
	}
	c.s.startSession(o, seconds, c.slot.clock.unixMs())
	c.ok()
}

// parseSession reads METRICS and what follows it. seconds is the length of the session, 0: until it is told.
func parseSession(args [][]byte) (o session.Options, seconds int64, problem string) {
	o.Metrics, args, problem = parseMetrics(args)
	if problem != "" {
		return o, 0, problem
	}
	topK := int64(sessionTopKDefault)
	o.Ratio = 1
	for ; len(args) > 0; args = args[2:] {
		if len(args) == 1 {
			return o, 0, errSyntax
		}
		switch name, value := args[0], args[1]; {
		case bytes.EqualFold(name, []byte("COUNT")):
			topK, problem = within(value, 1, sessionTopKMax, "ERR COUNT must be between 1 and 64")
		case bytes.EqualFold(name, []byte("DURATION")):
			seconds, problem = within(value, 1, sessionSecondsMax, "ERR DURATION must be between 1 and 1000000")
		case bytes.EqualFold(name, []byte("SAMPLE")):
			o.Ratio, problem = within(value, 1, math.MaxInt32, "ERR SAMPLE ratio must be positive")
		case bytes.EqualFold(name, []byte("SLOTS")):
			problem = "ERR SLOTS parameter cannot be used in non-cluster mode"
		default:
			problem = errSyntax
		}
		if problem != "" {
			return o, 0, problem
		}
	}
	o.TopK = int(topK)
	return o, seconds, ""
}

// parseMetrics reads METRICS, a count and so many names, and returns what follows. As in Redis, unknown names are let pass
// beside known ones: later versions may have more.
func parseMetrics(args [][]byte) (m session.Metrics, rest [][]byte, problem string) {
	if len(args) < 2 || !bytes.EqualFold(args[0], []byte("METRICS")) {
		return 0, nil, "ERR METRICS parameter is required"
	}
	n, problem := within(args[1], 1, 2, "ERR METRICS count must be > 0 and <= 2")
	if problem != "" {
		return 0, nil, problem
	}
	names := args[2:]
	for _, name := range names[:min(int(n), len(names))] {
		var metric session.Metrics
		switch {
		case bytes.EqualFold(name, []byte("CPU")):
			if metric = session.CPU; m&metric != 0 {
				return 0, nil, "ERR METRICS CPU defined more than once!"
			}
		case bytes.EqualFold(name, []byte("NET")):
			if metric = session.Net; m&metric != 0 {
				return 0, nil, "ERR METRICS NET defined more than once!"
			}
		}
		m |= metric
	}
	switch {
	case len(names) < int(n):
		return 0, nil, "ERR METRICS count does not match number of metric types provided"
	case m == 0:
		return 0, nil, "ERR METRICS no valid metrics passed. Supported: CPU|NET"
	}
	return m, names[n:], ""
}

// within reads an integer from least to most; anything else is the problem given.
func within(arg []byte, least, most int64, otherwise string) (n int64, problem string) {
	n, ok := parseInt(arg)
	if !ok || n < least || n > most {
		return 0, otherwise
	}
	return n, ""
}

// hotkeysStop ends the session; what it has found is kept.
func hotkeysStop(c *client, _ [][]byte) {
	st := c.s.currentSession()
	if st == nil || !st.running {
		c.null()
		return
	}
	c.s.endSession(st)
	c.ok()
}

// freeSession forgets a session that has ended, for HOTKEYS RESET. It reports false, and has answered, if it runs.
func (c *client) freeSession() bool {
	if st := c.s.currentSession(); st != nil && st.running {
		c.fail("ERR hotkey tracking session in progress, stop tracking first")
		return false
	}
	c.s.session = nil
	return true
}

// startSession has every call looked at, from now on. The caller holds the gate.
func (s *Server) startSession(o session.Options, seconds, nowMs int64) {
	st := &hotSession{Session: session.New(len(s.gate.slots), o, rand.Uint64()), running: true, beganMs: nowMs, took: s.sessionTimes()}
	if seconds > 0 {
		st.dueNs = st.took.ns + seconds*int64(time.Second)
	}
	for _, sl := range s.gate.slots {
		sl.session = st.Recorder(sl.index)
	}
	s.session, s.observe.session = st, true
	s.lookAtAll()
}

// endSession ends it. The caller holds the gate.
func (s *Server) endSession(st *hotSession) {
	st.running, st.took = false, s.sessionTimes().since(st.took)
	for _, sl := range s.gate.slots {
		sl.session = nil
	}
	s.observe.session = false
}

// currentSession is the session, ended if its time is over, or nil. The caller holds the gate.
func (s *Server) currentSession() *hotSession {
	if st := s.session; st != nil && st.due(s.monotonicNs()) {
		s.endSession(st)
	}
	return s.session
}

func (st *hotSession) due(nowNs int64) bool { return st.running && st.dueNs != 0 && nowNs >= st.dueNs }

// endDueSession is the periodic work's: a session ends in time also if nobody asks.
func (s *Server) endDueSession(sl *slot) {
	s.gate.enter(sl)
	due := s.session != nil && s.session.due(s.monotonicNs())
	sl.mu.Unlock()
	if due {
		s.gate.exclusive(nil, func() { s.currentSession() })
	}
}

// sessionDueNs is when the session ends by itself, 0: it does not. The caller holds a slot.
func (s *Server) sessionDueNs() int64 {
	if s.session == nil || !s.session.running {
		return 0
	}
	return s.session.dueNs
}

// excludeSession keeps the two ways of tracking apart: continuous tracking is not turned on during a session, and frees
// one that has ended.
func (s *Server) excludeSession(r *config.Registry) {
	r.Rule([]string{"hotkeys-top-k"}, func(v config.Values) error {
		if st := s.currentSession(); st != nil && st.running && v.Int("hotkeys-top-k") > 0 {
			return errors.New("a tracking session is in progress: HOTKEYS STOP ends it")
		}
		return nil
	})
}

// dropSession is the second half of excludeSession, when the new value is in force.
func (s *Server) dropSession() error {
	if s.params.hotkeysTopK.Get() > 0 {
		s.session = nil
	}
	return nil
}

// sessionInfo is Redis's field, which is there as long as there is something to report.
func (s *Server) sessionInfo(w *info.Writer) {
	switch st := s.currentSession(); {
	case st == nil:
	case st.running:
		w.Int("hotkeys-tracking-active", 1)
	default:
		w.Int("hotkeys-tracking-active", 0)
	}
}

// sessionBytes is what the session holds.
func (s *Server) sessionBytes() int64 {
	if s.session == nil {
		return 0
	}
	return s.session.MemoryBytes()
}

// charge gives the session what a call took. A reply that the client asked not to get is none.
func (c *client) charge(cmd *command, args [][]byte, ns int64, replyBytes int) {
	if cmd.keys == nil {
		return
	}
	if c.silent() {
		replyBytes = 0
	}
	sl := c.slot
	sl.keys = cmd.appendKeys(sl.keys[:0], args)
	sl.session.Record(sl.keys, uint64(ns), uint64(requestBytes(args)+int64(replyBytes)))
	clear(sl.keys)
}

// sessionReport answers HOTKEYS GET if there is a session, and reports whether there is.
func (c *client) sessionReport(args [][]byte) bool {
	st := c.s.currentSession()
	if st == nil {
		return false
	}
	if len(args) > 2 {
		c.fail(arityError(c.cmd))
		return true
	}
	took := st.took
	if st.running {
		took = c.s.sessionTimes().since(took)
	}
	o, rep := st.Options(), st.Report()
	c.array(1) // one map per node, for those who ask several
	c.deferredMap(func() int {
		f := fields{c: c}
		f.name("tracking-active")
		c.flag(st.running)
		f.int("sample-ratio", o.Ratio)
		f.name("selected-slots")
		c.array(1)
		c.array(2)
		c.int(0)
		c.int(slotsOfKeys - 1)
		f.int("all-commands-all-slots-us", wholeUs(rep.All.Ns))
		f.int("net-bytes-all-commands-all-slots", int64(rep.All.Bytes))
		f.int("collection-start-time-unix-ms", st.beganMs)
		f.int("collection-duration-ms", took.ns/nsPerMs)
		if o.Metrics&session.CPU != 0 {
			f.int("total-cpu-time-user-ms", took.userNs/nsPerMs)
			f.int("total-cpu-time-sys-ms", took.sysNs/nsPerMs)
		}
		if o.Metrics&session.Net != 0 {
			f.int("total-net-bytes", int64(rep.Recorded.Bytes))
		}
		if o.Metrics&session.CPU != 0 {
			f.name("by-cpu-time-us")
			c.ranking(rep.ByCPU, wholeUs)
		}
		if o.Metrics&session.Net != 0 {
			f.name("by-net-bytes")
			c.ranking(rep.ByNet, func(bytes uint64) int64 { return int64(bytes) })
		}
		return f.n
	})
	return true
}

// slotsOfKeys is how many slots a cluster divides its keys into. Alone a server has them all.
const slotsOfKeys = 16384

// wholeUs rounds up, so that what was found has taken something.
func wholeUs(ns uint64) int64 { return int64((ns + nsPerUs - 1) / nsPerUs) }

// ranking appends names and figures.
func (c *client) ranking(list []session.Entry, figure func(weight uint64) int64) {
	c.array(2 * len(list))
	for _, e := range list {
		c.bulk(e.Key)
		c.int(figure(e.Weight()))
	}
}

// fields counts the pairs of a map while they are appended.
type fields struct {
	c *client
	n int
}

func (f *fields) name(name string) {
	f.n++
	f.c.bulkString(name)
}

func (f *fields) int(name string, value int64) {
	f.name(name)
	f.c.int(value)
}
