package server

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestSessionEndsWithoutBeingAsked is about the periodic work; what clients see is in package tests.
func TestSessionEndsWithoutBeingAsked(t *testing.T) {
	s := newTestServer(t)
	c := newTestClient(t, s)
	if got := do(c, "HOTKEYS", "START", "METRICS", "1", "CPU", "DURATION", "3600"); got != "+OK\r\n" {
		t.Fatal(got)
	}
	s.endDueSession(s.houseSlot)
	if !s.session.running || c.slot.session == nil {
		t.Fatal("it ended before its time")
	}
	s.session.dueNs = s.monotonicNs() + int64(time.Millisecond)
	if wait := s.untilNextWork(s.houseSlot, time.Now().Add(time.Hour)); wait > time.Millisecond {
		t.Errorf("the periodic work would rest for %v", wait)
	}
	s.session.dueNs = 1
	s.endDueSession(s.houseSlot)
	if s.session.running || c.slot.session != nil || s.observe.session {
		t.Error("it did not end in time")
	}
	if got := s.untilNextWork(s.houseSlot, time.Now().Add(time.Hour)); got < time.Minute {
		t.Errorf("the periodic work would rest for %v", got)
	}
}

// TestSessionLeavesNoTrace: without a session calls are not looked at.
func TestSessionLeavesNoTrace(t *testing.T) {
	s := newTestServer(t)
	c := newTestClient(t, s)
	do(c, "SET", "k", "v")
	before := c.lookNs
	do(c, "HOTKEYS", "START", "METRICS", "1", "CPU")
	do(c, "GET", "k")
	if c.lookNs != 0 || before == 0 {
		t.Errorf("calls of %d ns are looked at without a session, of %d with one", before, c.lookNs)
	}
	do(c, "HOTKEYS", "STOP")
	do(c, "GET", "k")
	if c.lookNs != before {
		t.Errorf("calls of %d ns are looked at after the session, of %d before", c.lookNs, before)
	}
}

// TestSessionSurvivesARefusal: a CONFIG SET that fails for another reason frees nothing.
func TestSessionSurvivesARefusal(t *testing.T) {
	s := newTestServer(t)
	c := newTestClient(t, s)
	do(c, "HOTKEYS", "START", "METRICS", "1", "CPU")
	do(c, "HOTKEYS", "STOP")
	if got := do(c, "CONFIG", "SET", "hotkeys-top-k", "10", "hotkeys-counters", "5"); !strings.HasPrefix(got, "-ERR CONFIG SET failed") {
		t.Errorf("fewer counters than keys: %q", got)
	}
	if s.session == nil {
		t.Error("the session is gone")
	}
	if got := do(c, "CONFIG", "SET", "hotkeys-top-k", "10"); got != "+OK\r\n" || s.session != nil {
		t.Errorf("%q, and the session is there: %v", got, s.session != nil)
	}
}

func BenchmarkSession(b *testing.B) {
	for _, start := range []string{"", "METRICS 1 CPU", "METRICS 2 CPU NET", "METRICS 2 CPU NET SAMPLE 100"} {
		b.Run(strings.ReplaceAll("session "+start, " ", "-"), func(b *testing.B) {
			s := newTestServer(b)
			c := newTestClient(b, s)
			const pipeline, keys = 16, 10_000
			var batches []string
			for i := 0; i < keys; i += pipeline {
				var batch strings.Builder
				for j := range pipeline {
					batch.WriteString(request("GET", fmt.Sprintf("key:%012d", (i+j)*7919%keys)))
				}
				batches = append(batches, batch.String())
			}
			if start != "" {
				if got := do(c, append([]string{"HOTKEYS", "START"}, strings.Fields(start)...)...); got != "+OK\r\n" {
					b.Fatal(got)
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N / pipeline {
				feed(c, batches[i%len(batches)])
			}
		})
	}
}
