package server

import (
	"fmt"
	"runtime/metrics"
	"strings"
)

// memoryFigures are what MEMORY STATS and DOCTOR go by. They are taken under the gate.
type memoryFigures struct {
	used, peak, startup int64
	dataset             int64 // keys and values with their index
	held                int64 // used, and what the Go runtime keeps for later
	resident            int64 // 0: the system does not tell
	keys                int64
	clients             int64 // bytes of all sessions
	clientCount         int64
}

func (s *Server) memoryFigures() memoryFigures {
	f := memoryFigures{used: s.sampleMemory(), resident: residentBytes(), startup: s.memory.startupBytes,
		clients: s.clientBytes(), clientCount: int64(s.clients.len())}
	f.peak = s.memory.peakBytes.Load()
	f.dataset = min(s.store.UsedBytes(), f.used)
	_, held := goBytes()
	f.held = max(s.store.PageBytes()+held, f.used)
	for db := range int(s.params.databases.Get()) {
		keys, _ := s.store.Keys(db)
		f.keys += keys
	}
	return f
}

func ratio(a, b int64) float64 { return float64(a) / float64(max(b, 1)) }

// memoryStats leaves out what Redis tells about things that this server does not have.
func memoryStats(c *client, _ [][]byte) {
	f := c.s.memoryFigures()
	figures := []struct {
		name  string
		value any // int64 or float64
	}{
		{"peak.allocated", f.peak},
		{"total.allocated", f.used},
		{"startup.allocated", f.startup},
		{"clients.normal", f.clients},
		{"overhead.total", f.used - f.dataset},
		{"keys.count", f.keys},
		{"keys.bytes-per-key", max(f.used-f.startup, 0) / max(f.keys, 1)},
		{"dataset.bytes", f.dataset},
		{"dataset.percentage", min(100, 100*ratio(f.dataset, f.used-f.startup))},
		{"peak.percentage", 100 * ratio(f.used, f.peak)},
		{"allocator.allocated", f.used},
		{"allocator.active", f.held},
		{"allocator.resident", f.resident},
		{"allocator-fragmentation.ratio", ratio(f.held, f.used)},
		{"allocator-fragmentation.bytes", f.held - f.used},
		{"allocator-rss.ratio", ratio(f.resident, f.held)},
		{"allocator-rss.bytes", f.resident - f.held},
		{"fragmentation", ratio(f.resident, f.used)},
		{"fragmentation.bytes", f.resident - f.used},
		{"hotkeys.allocated", c.s.hotkeysBytes()},
	}
	c.mapping(len(figures))
	for _, figure := range figures {
		c.bulkString(figure.name)
		switch v := figure.value.(type) {
		case int64:
			c.int(v)
		case float64:
			c.double(v)
		}
	}
}

func memoryDoctor(c *client, _ [][]byte) {
	f := c.s.memoryFigures()
	c.verbatim("txt", f.report())
}

// From here on something is worth a word. The bounds are Redis's.
const (
	doctorUsedBytes     = 5 << 20 // below it everything is a share of little
	doctorPeakRatio     = 1.5
	doctorHeldRatio     = 1.4
	doctorHeldBytes     = 10 << 20
	doctorClientAverage = 200 << 10
)

// report says what looks wrong with the memory, and what to do.
func (f *memoryFigures) report() string {
	if f.used < doctorUsedBytes {
		return "The server holds less than 5 MB: too little to tell anything.\n"
	}
	const mb = 1 << 20
	var b strings.Builder
	if peak := ratio(f.peak, f.used); peak > doctorPeakRatio {
		fmt.Fprintf(&b, "- Peak: the server once held %d MB, %.1f times what it holds now. Freed memory goes back to the system, "+
			"so this costs nothing; it tells how much room a peak needs.\n", f.peak/mb, peak)
	}
	if held := ratio(f.held, f.used); held > doctorHeldRatio && f.held-f.used > doctorHeldBytes {
		fmt.Fprintf(&b, "- Kept for later: the Go runtime keeps %d MB that are free. It gives them back by itself within "+
			"seconds; MEMORY PURGE does it at once.\n", (f.held-f.used)/mb)
	}
	if resident := ratio(f.resident, f.held); resident > doctorHeldRatio && f.resident-f.held > doctorHeldBytes {
		fmt.Fprintf(&b, "- Resident: the process has %d MB in memory that it does not hold. They are pages that were given "+
			"back and that the system has not taken yet.\n", (f.resident-f.held)/mb)
	}
	if average := f.clients / max(f.clientCount, 1); average > doctorClientAverage {
		fmt.Fprintf(&b, "- Clients: their buffers take %d KB on average. CLIENT LIST tells who sends large requests (qbuf) or "+
			"does not take replies (omem); client-output-buffer-limit bounds the latter.\n", average>>10)
	}
	if b.Len() == 0 {
		return "Nothing looks wrong with the memory.\n"
	}
	return b.String()
}

// memoryMallocStats shows the counters of the two allocators, by the names that package runtime/metrics gives those of the
// Go runtime.
func memoryMallocStats(c *client, _ [][]byte) {
	var samples []metrics.Sample
	for _, d := range metrics.All() {
		if d.Kind == metrics.KindUint64 && (strings.HasPrefix(d.Name, "/memory/classes/") || strings.HasPrefix(d.Name, "/gc/")) {
			samples = append(samples, metrics.Sample{Name: d.Name})
		}
	}
	metrics.Read(samples)
	var b strings.Builder
	fmt.Fprintf(&b, "pages outside the Go heap, in use: %d bytes\n", c.s.store.PageBytes())
	for _, sample := range samples {
		fmt.Fprintf(&b, "%s: %d\n", sample.Name, sample.Value.Uint64())
	}
	c.verbatim("txt", b.String())
}

// memoryPurge leaves the work, a collection, to the periodic goroutine: a loop has clients to serve.
func memoryPurge(c *client, _ [][]byte) {
	c.s.memory.purge.Store(true)
	c.ok()
}
