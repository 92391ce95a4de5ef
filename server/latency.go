package server

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"kvserver/config"
)

// latencyRows are the container only.
var latencyRows = []row{
	{"latency", -2, 0, nil, "2.8.13", "A container for latency diagnostics commands.", nil},
}

// HISTOGRAM runs with the gate closed, since it sums the counters of all slots.
var latencySubRows = []row{
	{"doctor", 2, admin | noscript | loading | stale, nil, "2.8.13", "Returns a human-readable latency analysis report.", latencyDoctor},
	{"graph", 3, admin | noscript | loading | stale, nil, "2.8.13", "Returns a latency graph for an event.", latencyGraph},
	{"help", 2, loading | stale, nil, "2.8.13", "Returns helpful text about the different subcommands.", latencyHelp},
	{"histogram", -2, admin | noscript | loading | stale | exclusive, nil, "7.0.0", "Returns the cumulative distribution of latencies of a subset or all commands.", latencyHistogram},
	{"history", 3, admin | noscript | loading | stale, nil, "2.8.13", "Returns timestamp-latency samples for an event.", latencyHistory},
	{"latest", 2, admin | noscript | loading | stale, nil, "2.8.13", "Returns the latest latency samples for all events.", latencyLatest},
	{"reset", -2, admin | noscript | loading | stale, nil, "2.8.13", "Resets the latency data for one or more events.", latencyReset},
}

const (
	everyNode       = "request_policy:all_nodes "
	specialResponse = "response_policy:special"
)

var latencyDocs = map[string]doc{
	"latency":           {complexity: dependsOnSub},
	"latency|doctor":    {complexity: "O(1)", tips: unstable + " " + everyNode + specialResponse},
	"latency|graph":     {complexity: "O(1)", syntax: "event", tips: unstable + " " + everyNode + specialResponse},
	"latency|help":      {complexity: "O(1)"},
	"latency|histogram": {complexity: "O(N) where N is the number of commands with latency information.", syntax: "[command...]", tips: unstable + " " + everyNode + specialResponse},
	"latency|history":   {complexity: "O(1)", syntax: "event", tips: unstable + " " + everyNode + specialResponse},
	"latency|latest":    {complexity: "O(1)", tips: unstable + " " + everyNode + specialResponse},
	"latency|reset":     {complexity: "O(1)", syntax: "[event...]", tips: everyNode + "response_policy:all_succeeded"},
}

// Events whose duration is watched. The first five are Redis's.
const (
	eventCommand       = "command"
	eventFastCommand   = "fast-command"
	eventExpireCycle   = "expire-cycle"    // the longest step of an expiry cycle, in which it held locks
	eventEvictionCycle = "eviction-cycle"  // evicting keys on behalf of one command, or a step of the periodic work
	eventEvictionDel   = "eviction-del"    // the longest that one key took of it
	eventGate          = "gate"            // from when the first slot was closed until all were open again
	eventPause         = "collector-pause" // the longest in which the Go collector stopped everything, a bucket's lower bound
)

// latencySamplesMax is how many samples of an event are kept, as in Redis: one for each second in which it was slow.
const latencySamplesMax = 160

// latencySample is the worst duration of an event in one second.
type latencySample struct{ unixSec, ms int64 }

// latencyEvent is what is known of an event.
type latencyEvent struct {
	samples []latencySample // the oldest first
	worstMs int64           // ever
}

// latencyMonitor keeps samples of events that took latency-monitor-threshold or longer.
type latencyMonitor struct {
	thresholdMs *config.Int // 0: nothing is watched

	mu sync.Mutex
	// mu guards all of the following.
	events map[string]*latencyEvent
}

// on tells whether it is worth measuring.
func (m *latencyMonitor) on() bool { return m.thresholdMs.Get() > 0 }

// note takes a sample of an event that ended at unixSec.
func (m *latencyMonitor) note(name string, took time.Duration, unixSec int64) {
	ms, threshold := took.Milliseconds(), m.thresholdMs.Get()
	if threshold == 0 || ms < threshold {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.events[name]
	if e == nil {
		e = &latencyEvent{}
		if m.events == nil {
			m.events = make(map[string]*latencyEvent)
		}
		m.events[name] = e
	}
	e.worstMs = max(e.worstMs, ms)
	if n := len(e.samples); n > 0 && e.samples[n-1].unixSec == unixSec {
		e.samples[n-1].ms = max(e.samples[n-1].ms, ms)
		return
	}
	if len(e.samples) == latencySamplesMax {
		e.samples = slices.Delete(e.samples, 0, 1)
	}
	e.samples = append(e.samples, latencySample{unixSec, ms})
}

// find returns a copy of what is known of an event; without samples if that is nothing.
func (m *latencyMonitor) find(name string) latencyEvent {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.events[name]; e != nil {
		return latencyEvent{slices.Clone(e.samples), e.worstMs}
	}
	return latencyEvent{}
}

// names are the events that there are samples of, in alphabetical order.
func (m *latencyMonitor) names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.events))
}

// forget drops what is known of an event.
func (m *latencyMonitor) forget(name string) (known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, known = m.events[name]
	delete(m.events, name)
	return known
}

func latencyLatest(c *client, _ [][]byte) {
	m := &c.s.observe.latency
	c.deferred(func() (n int) {
		for _, name := range m.names() {
			e := m.find(name)
			if len(e.samples) == 0 { // forgotten meanwhile
				continue
			}
			last := e.samples[len(e.samples)-1]
			n++
			c.array(4)
			c.bulkString(name)
			c.int(last.unixSec)
			c.int(last.ms)
			c.int(e.worstMs)
		}
		return n
	})
}

func latencyHistory(c *client, args [][]byte) {
	e := c.s.observe.latency.find(string(args[2]))
	c.array(len(e.samples))
	for _, sample := range e.samples {
		c.array(2)
		c.int(sample.unixSec)
		c.int(sample.ms)
	}
}

func latencyReset(c *client, args [][]byte) {
	m := &c.s.observe.latency
	names := m.names()
	if len(args) > 2 {
		names = nil
		for _, a := range args[2:] {
			names = append(names, string(a))
		}
	}
	n := int64(0)
	for _, name := range names {
		if m.forget(name) {
			n++
		}
	}
	c.int(n)
}

// latencyHistogram shows the commands that have a histogram: all, or those that are named, a container standing for its
// subcommands.
func latencyHistogram(c *client, args [][]byte) {
	totals := c.s.commandTotals()
	show := func(wanted func(cmd *command) bool) (n int) {
		for _, t := range totals {
			if wanted(t.cmd) && t.latency != nil && t.latency.TotalCount() > 0 {
				c.bulkString(t.cmd.fullName)
				c.histogram(t.latency)
				n++
			}
		}
		return n
	}
	c.deferredMap(func() (n int) {
		if len(args) == 2 {
			return show(func(*command) bool { return true })
		}
		for _, a := range args[2:] {
			if cmd := c.s.table.named(a); cmd != nil {
				n += show(func(other *command) bool { return other == cmd || other.parent == cmd })
			}
		}
		return n
	})
}

// The first limit that a histogram is shown for is a microsecond; each one that follows is twice as high. Both are Redis's,
// and so is that a limit includes the histogram's step that begins there: two significant digits are 128 steps from one
// power of two to the next.
const (
	histogramFromNs = 1024
	histogramOctave = 128
)

// histogram answers with the number of calls, and with how many of them took at most so many microseconds, for limits
// that double.
func (c *client) histogram(h *hdrhistogram.Histogram) {
	c.mapping(2)
	c.bulkString("calls")
	c.int(h.TotalCount())
	c.bulkString("histogram_usec")
	bars := h.Distribution()
	c.deferredMap(func() (n int) {
		calls, shown := int64(0), int64(0)
		for limitNs := int64(histogramFromNs); shown < h.TotalCount(); limitNs *= 2 {
			upToNs := limitNs + limitNs/histogramOctave - 1
			if limitNs > latencyMaxNs {
				upToNs = limitNs - 1 // as far as the histogram goes
			}
			for len(bars) > 0 && bars[0].To <= upToNs {
				calls += bars[0].Count
				bars = bars[1:]
			}
			if calls > shown {
				c.int(upToNs / nsPerUs)
				c.int(calls)
				n++
			}
			shown = calls
		}
		return n
	})
}

func latencyGraph(c *client, args [][]byte) {
	e := c.s.observe.latency.find(string(args[2]))
	if len(e.samples) == 0 {
		c.failf("ERR No samples available for event '%s'", clip(args[2], 128))
		return
	}
	c.verbatim("txt", e.graph(strings.ToLower(string(args[2])), c.slot.clock.unixMs()/1000))
}

func latencyDoctor(c *client, _ [][]byte) {
	c.verbatim("txt", c.s.observe.latency.report(c.slot.clock.unixMs()/1000))
}

func latencyHelp(c *client, _ [][]byte) {
	c.help("latency",
		"DOCTOR",
		"    Return a report about slow events, and what to do about them.",
		"GRAPH <event>",
		"    Return a drawing of the samples of <event>.",
		"HISTOGRAM [<command> ...]",
		"    Return how many calls of the commands (default: all) took at most so many microseconds.",
		"HISTORY <event>",
		"    Return the samples of <event>: Unix time and milliseconds.",
		"LATEST",
		"    Return, for each event, time and milliseconds of the latest sample, and the most it ever took.",
		"RESET [<event> ...]",
		"    Forget the samples of the events (default: of all).")
}
