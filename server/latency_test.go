package server

import (
	"math"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"
)

// wantReplies compares with what is written down here only: the samples are made up.
func wantReplies(t *testing.T, c *client, cases []replyCase) {
	t.Helper()
	for _, r := range cases {
		if got := do(c, strings.Fields(r.command)...); got != r.want {
			t.Errorf("%s:\n got %q\nwant %q", r.command, got, r.want)
		}
	}
}

func TestLatencyEvents(t *testing.T) {
	s := newTestServer(t, "--latency-monitor-threshold", "10000") // what the commands here take is far below
	c := newTestClient(t, s)
	m := &s.observe.latency
	m.note(eventCommand, 9*time.Second, 100)
	m.note(eventCommand, 30*time.Second, 100)
	m.note(eventCommand, 20*time.Second, 100) // within the second of a worse one
	m.note(eventFastCommand, 10*time.Second, 100)
	m.note(eventCommand, 15*time.Second, 101)
	wantReplies(t, c, []replyCase{
		{"LATENCY LATEST", "*2\r\n*4\r\n$7\r\ncommand\r\n:101\r\n:15000\r\n:30000\r\n*4\r\n$12\r\nfast-command\r\n:100\r\n:10000\r\n:10000\r\n"},
		{"LATENCY HISTORY command", "*2\r\n*2\r\n:100\r\n:30000\r\n*2\r\n:101\r\n:15000\r\n"},
		{"LATENCY RESET nosuch command command", ":1\r\n"},
		{"LATENCY HISTORY command", "*0\r\n"},
		{"LATENCY RESET", ":1\r\n"},
		{"LATENCY LATEST", "*0\r\n"},
	})
	for i := range int64(2 * latencySamplesMax) {
		m.note(eventGate, time.Duration(10+i)*time.Second, i)
	}
	if e := m.find(eventGate); len(e.samples) != latencySamplesMax || e.samples[0].unixSec != latencySamplesMax {
		t.Errorf("%d samples, the oldest of second %d", len(e.samples), e.samples[0].unixSec)
	}
	do(c, "CONFIG", "SET", "latency-monitor-threshold", "0")
	do(c, "LATENCY", "RESET")
	m.note(eventCommand, time.Hour, 100)
	if got := do(c, "LATENCY", "LATEST"); got != "*0\r\n" {
		t.Errorf("while it is off: %q", got)
	}
}

// TestLatencyOfCommands: a slow command is an event, and so is the gate that it keeps closed.
func TestLatencyOfCommands(t *testing.T) {
	s := newTestServer(t, "--latency-monitor-threshold", "5", "--slowlog-log-slower-than", "-1", "--enable-debug-command", "yes")
	c := newTestClient(t, s)
	do(c, "DEBUG", "SLEEP", "0.01")
	if got := s.observe.latency.names(); strings.Join(got, " ") != "command gate" {
		t.Errorf("events: %q", got)
	}
	if n := s.observe.logs[slowLog].len(); n != 0 {
		t.Errorf("%d entries in a log that is off", n)
	}
}

// TestLatencyGraph: the drawing of one sample is a recording of Redis, those of more follow its rules.
func TestLatencyGraph(t *testing.T) {
	rule := strings.Repeat("-", 80)
	one := latencyEvent{[]latencySample{{100, 30}}, 40}
	if got, want := one.graph("command", 100), "command - high 30 ms, low 30 ms (all time high 40 ms)\n"+rule+"\n \n \n \n_\n \n0\ns\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	two := latencyEvent{[]latencySample{{100, 50}, {102, 80}}, 80}
	if got, want := two.graph("command", 102), "command - high 80 ms, low 50 ms (all time high 80 ms)\n"+rule+"\n #\n |\n |\n_|\n  \n20\nss\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	many := latencyEvent{worstMs: 99}
	for i := range int64(82) {
		many.samples = append(many.samples, latencySample{i * 60, 10 + i%2})
	}
	lines := strings.Split(many.graph("e", 81*60), "\n")
	if len(lines) != 2+8+1+7+1 || lines[2] != strings.Repeat(" #", 40) || lines[len(lines)-3] != "10" || lines[len(lines)-2] != "ms" {
		t.Errorf("%d lines:\n%s", len(lines), strings.Join(lines, "\n"))
	}
}

func TestLatencyDoctor(t *testing.T) {
	s := newTestServer(t)
	c := newTestClient(t, s)
	if got := do(c, "LATENCY", "DOCTOR"); !strings.Contains(got, "not being watched") {
		t.Error(got)
	}
	do(c, "CONFIG", "SET", "latency-monitor-threshold", "7000")
	if got := do(c, "LATENCY", "DOCTOR"); !strings.Contains(got, "Nothing took 7000 ms") {
		t.Error(got)
	}
	now := time.Now().Unix()
	s.observe.latency.note(eventFastCommand, 10*time.Second, now-10)
	s.observe.latency.note(eventFastCommand, 20*time.Second, now)
	got := do(c, "LATENCY", "DOCTOR")
	for _, want := range []string{"fast-command: 15000 ms on average (mean deviation 5000 ms, samples: 2, one in ", "worst ever took 20000 ms", "\n- fast-command: "} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

func TestLatencyHistogram(t *testing.T) {
	s := newTestServer(t)
	c := newTestClient(t, s)
	stat := func(name string) *commandStat { return &c.slot.stats.commands[s.table.named([]byte(name)).id] }
	for _, ns := range []int64{1, 1031, 1032, 2063, 2064, 40_000_000, 1e10} {
		stat("get").record(ns, false, true)
	}
	stat("config|get").record(5000, false, true)
	stat("config|set").record(5000, false, true)
	get := "$3\r\nget\r\n*4\r\n$5\r\ncalls\r\n:7\r\n$14\r\nhistogram_usec\r\n*10\r\n:1\r\n:2\r\n:2\r\n:4\r\n:4\r\n:5\r\n:67633\r\n:6\r\n:1073741\r\n:7\r\n"
	config := func(name string) string {
		return "$10\r\nconfig|" + name + "\r\n*4\r\n$5\r\ncalls\r\n:1\r\n$14\r\nhistogram_usec\r\n*2\r\n:8\r\n:1\r\n"
	}
	wantReplies(t, c, []replyCase{
		{"LATENCY HISTOGRAM get nosuch", "*2\r\n" + get},
		{"LATENCY HISTOGRAM CONFIG", "*4\r\n" + config("get") + config("set")},
		{"LATENCY HISTOGRAM config|set", "*2\r\n" + config("set")},
		{"LATENCY HISTOGRAM dbsize", "*0\r\n"},
	})
	do(c, "HELLO", "3")
	if got, want := do(c, "LATENCY", "HISTOGRAM", "config|get"), strings.ReplaceAll(strings.ReplaceAll("%1\r\n"+config("get"), "*4", "%2"), "*2", "%1"); got != want {
		t.Errorf("in RESP3: %q", got)
	}
	if got := do(c, "LATENCY", "HISTOGRAM"); !strings.HasPrefix(got, "%5\r\n$10\r\nconfig|get") { // with HELLO and LATENCY HISTOGRAM
		t.Errorf("all: %q", got)
	}
}

func TestLongestPause(t *testing.T) {
	h := &metrics.Float64Histogram{Counts: []uint64{5, 3, 1, 0}, Buckets: []float64{math.Inf(-1), 0.001, 0.01, 0.1, 1}}
	for _, test := range []struct {
		seen []uint64
		want time.Duration
	}{
		{[]uint64{5, 3, 1, 0}, 0}, {[]uint64{4, 3, 1, 0}, 0}, {[]uint64{4, 2, 1, 0}, time.Millisecond}, {[]uint64{5, 3, 0, 0}, 10 * time.Millisecond},
	} {
		if got := longestPause(test.seen, h); got != test.want {
			t.Errorf("%v: %v, want %v", test.seen, got, test.want)
		}
	}
	s := newTestServer(t, "--latency-monitor-threshold", "100000")
	for range 2 {
		runtime.GC()
		s.pauses.watch(&s.observe.latency, time.Now())
	}
	if s.pauses.seen == nil || len(s.observe.latency.names()) > 0 {
		t.Error("no histogram, or a pause of more than a minute")
	}
}
