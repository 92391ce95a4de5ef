package server

import (
	"runtime"
	"syscall"
	"time"

	"kvserver/hotkeys"
)

// serverLoad is how busy the server is, for the hard limits at which a hot key is promoted before a window is over.
type serverLoad struct {
	at  time.Time // of the latest look; zero: there was none
	cpu time.Duration
}

// processorTime is what the process has used of processors, or its children have; who says which, as getrusage has it.
func processorTime(who int) (user, sys time.Duration) {
	var usage syscall.Rusage
	_ = syscall.Getrusage(who, &usage) // it cannot fail with these arguments
	return time.Duration(usage.Utime.Nano()), time.Duration(usage.Stime.Nano())
}

// look returns what part of the processor time that the process could have had since the latest look it has used, in percent.
// The first look returns 0.
func (l *serverLoad) look(now time.Time) (cpuPercent float64) {
	user, sys := processorTime(syscall.RUSAGE_SELF)
	cpu := user + sys
	if passed := now.Sub(l.at); !l.at.IsZero() && passed > 0 {
		cpuPercent = 100 * float64(cpu-l.cpu) / float64(passed) / float64(runtime.GOMAXPROCS(0))
	}
	l.at, l.cpu = now, cpu
	return cpuPercent
}

// emergencySamples is how many accesses of a key must be recorded in the live window before it can be promoted by a limit of
// the server. Of the first few of a window any key may have most; the look a tenth of a second later has more.
const emergencySamples = 10

// watchLoad promotes the live window's top key if the server is beyond a limit.
func (s *Server) watchLoad(now time.Time) {
	settings := s.params.control.settings()
	if !settings.Watches() {
		s.control.load = serverLoad{}
		return
	}
	cpuPercent := s.control.load.look(now)
	latencyMs := float64(s.transport.LongestIteration()) / nsPerMs
	if settings.Exceeded(cpuPercent, latencyMs) {
		s.gate.exclusive(nil, func() { s.promoteTop(cpuPercent, latencyMs) })
	}
}

// promoteTop promotes the key that has the most accesses of the live window, if it has enough of them. The caller holds the gate.
func (s *Server) promoteTop(cpuPercent, latencyMs float64) {
	s.tracker.Rotate()
	live := s.tracker.Live(hotkeys.Query{DB: hotkeys.AllDBs, Count: 1})
	if len(live.Entries) == 0 {
		return
	}
	top := live.Entries[0]
	m := live.Measure(top)
	if m.Samples < emergencySamples {
		return
	}
	d := demands{s: s, set: s.control.controller.Settings()}
	list := s.control.controller.Emergency(keyOf(top), d.amount(&live, top), 100*m.Share, s.control.now())
	s.tellOf(list, "cpu-percent", int64(cpuPercent), "latency-ms", int64(latencyMs))
}
