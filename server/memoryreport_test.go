package server

import (
	"strings"
	"testing"
	"time"
)

// TestMemoryStats sees that the figures agree with each other and with what was stored.
func TestMemoryStats(t *testing.T) {
	s := newTestServer(t)
	c := newTestClient(t, s)
	do(c, "SET", "k", strings.Repeat("x", 100_000))
	do(c, "SELECT", "3")
	do(c, "SET", "l", "v")
	protocols(t, func(t *testing.T, version string) {
		do(c, "HELLO", version)
		stats := decoded(t, do(c, "MEMORY", "STATS"))
		number := func(name string) int64 {
			v, ok := stats.field(name)
			if !ok {
				t.Fatalf("there is no %s in %v", name, stats)
			}
			n, ok := parseInt([]byte(v.text))
			if !ok {
				t.Errorf("%s is %q", name, v.text)
			}
			return n
		}
		if n := number("keys.count"); n != 2 {
			t.Errorf("%d keys", n)
		}
		used, dataset := number("total.allocated"), number("dataset.bytes")
		if dataset < 100_000 || used < dataset || number("peak.allocated") < used || number("overhead.total") != used-dataset {
			t.Errorf("they contradict each other: %v", stats)
		}
		if v, _ := stats.field("peak.percentage"); version == "3" && v.kind != ',' {
			t.Errorf("a percentage is of type %c", v.kind)
		}
	})
}

func TestMemoryDoctor(t *testing.T) {
	const mb = 1 << 20
	for _, test := range []struct {
		figures memoryFigures
		want    string
	}{
		{memoryFigures{used: mb, held: mb, peak: 9 * mb}, "too little to tell"},
		{memoryFigures{used: 50 * mb, held: 51 * mb, resident: 52 * mb, peak: 60 * mb}, "Nothing looks wrong"},
		{memoryFigures{used: 50 * mb, held: 50 * mb, resident: 50 * mb, peak: 100 * mb}, "once held 100 MB, 2.0 times"},
		{memoryFigures{used: 50 * mb, held: 80 * mb, resident: 80 * mb, peak: 50 * mb}, "keeps 30 MB that are free"},
		{memoryFigures{used: 50 * mb, held: 50 * mb, resident: 90 * mb, peak: 50 * mb}, "has 40 MB in memory"},
		{memoryFigures{used: 50 * mb, held: 50 * mb, peak: 50 * mb, clients: 30 * mb, clientCount: 30}, "take 1024 KB on average"},
	} {
		if got := test.figures.report(); !strings.Contains(got, test.want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%+v:\n%s", test.figures, got)
		}
	}
	c := newTestClient(t, newTestServer(t))
	if got := do(c, "MEMORY", "DOCTOR"); !strings.HasPrefix(got, "$") {
		t.Errorf("%q", got)
	}
}

func TestMemoryMallocStats(t *testing.T) {
	c := newTestClient(t, newTestServer(t))
	got := do(c, "MEMORY", "MALLOC-STATS")
	for _, want := range []string{"pages outside the Go heap, in use: ", "\n/memory/classes/total:bytes: "} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

func TestMemoryPurge(t *testing.T) {
	s := newTestServer(t)
	c := newTestClient(t, s)
	now := time.Now()
	s.returnedAt = now // too short ago for it to happen by itself
	if got := do(c, "MEMORY", "PURGE"); got != "+OK\r\n" {
		t.Errorf("%q", got)
	}
	later := now.Add(time.Millisecond)
	if s.returnMemory(later); s.returnedAt != later {
		t.Error("it did not purge")
	}
	if s.returnMemory(later.Add(time.Millisecond)); s.returnedAt != later {
		t.Error("it purged twice")
	}
}
