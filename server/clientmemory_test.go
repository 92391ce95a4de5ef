package server

import (
	"strings"
	"testing"
	"time"

	"kvserver/server/transport"
)

// hoard makes a client hold about n bytes, queued in MULTI.
func hoard(c *client, n int) {
	if c.multi == nil {
		do(c, "MULTI")
	}
	do(c, "SET", "k", strings.Repeat("x", n))
}

// sweep is what the periodic work does at the next beat.
func sweep(s *Server) { s.evictClients(s.clientMemory.sweptAt.Add(time.Second)) }

func TestEvictsLargestClientsFirst(t *testing.T) {
	s := newTestServer(t, "--maxmemory-clients", "1mb")
	admin := newTestClient(t, s)
	small, medium, large, kept := newTestClient(t, s), newTestClient(t, s), newTestClient(t, s), newTestClient(t, s)
	do(kept, "CLIENT", "NO-EVICT", "ON")
	hoard(small, 100_000)
	hoard(medium, 300_000)
	hoard(large, 400_000)
	if sweep(s); connOf(large).closed {
		t.Fatal("evicted below the limit")
	}
	hoard(kept, 500_000)
	if sweep(s); !connOf(large).closed || connOf(medium).closed || connOf(small).closed {
		t.Errorf("beyond the limit: large %v, medium %v, small %v", connOf(large).closed, connOf(medium).closed, connOf(small).closed)
	}
	if got, v := feed(large, request("EXEC")); v != transport.Abort {
		t.Errorf("an evicted client was answered %q, verdict %v", got, v)
	}
	hoard(kept, 2_000_000)
	if sweep(s); connOf(kept).closed || !connOf(medium).closed || !connOf(small).closed || !connOf(admin).closed {
		t.Error("all but the one that may not be evicted should be")
	}
	if n := s.counters.evictedClients.Load(); n != 4 {
		t.Errorf("%d evicted", n)
	}
	large.Closed()
	if other := newTestClient(t, s); infoField(t, other, "stats", "evicted_clients") != "4" {
		t.Error("INFO does not say so")
	}
}

// TestSessionAsksForSweep: what passes the limit within a batch is not left to the next beat.
func TestSessionAsksForSweep(t *testing.T) {
	s := newTestServer(t, "--maxmemory-clients", "1mb")
	asked := func() bool {
		select {
		case <-s.clientMemory.wake:
			return true
		default:
			return false
		}
	}
	if !asked() {
		t.Error("a limit that is set is not looked at")
	}
	c := newTestClient(t, s)
	if hoard(c, 500_000); asked() {
		t.Error("woken below the limit")
	}
	if hoard(c, 600_000); !asked() {
		t.Error("not woken beyond the limit")
	}
	do(c, "DISCARD")
	if hoard(c, 500_000); asked() {
		t.Error("woken though what was held is gone")
	}
	do(newTestClient(t, s), "CONFIG", "SET", "maxmemory-clients", "0")
	asked()
	if hoard(c, 2_000_000); asked() {
		t.Error("woken without a limit")
	}
	if sweep(s); connOf(c).closed {
		t.Error("evicted without a limit")
	}
}

func TestClientLimit(t *testing.T) {
	for _, test := range []struct {
		value     string
		maxMemory int64
		want      int64
	}{
		{"0", 1 << 30, 0}, {"1", 0, clientLimitMin}, {"10485760", 0, 10 << 20},
		{"5%", 0, 0}, {"0%", 1 << 30, 0}, {"50%", 1 << 30, 1 << 29}, {"1%", 1 << 20, clientLimitMin}, {"100%", 1<<63 - 1, 1<<63 - 1},
	} {
		if got := clientLimit(test.value, test.maxMemory); got != test.want {
			t.Errorf("%s of %d: %d, want %d", test.value, test.maxMemory, got, test.want)
		}
	}
}
