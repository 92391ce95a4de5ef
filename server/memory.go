package server

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"kvserver/info"
)

var memorySubRows = []row{
	{"doctor", 2, exclusive, nil, "4.0.0", "Outputs a memory problems report.", memoryDoctor},
	{"help", 2, loading | stale, nil, "4.0.0", "Returns helpful text about the different subcommands.", memoryHelp},
	{"malloc-stats", 2, 0, nil, "4.0.0", "Returns the allocator statistics.", memoryMallocStats},
	{"purge", 2, 0, nil, "4.0.0", "Asks the allocator to release memory.", memoryPurge},
	{"stats", 2, exclusive, nil, "4.0.0", "Returns details about memory usage.", memoryStats},
	{"usage", -3, readonly, specs{keysAt(kRO, 2, 2, 1)}, "4.0.0", "Estimates the memory usage of a key.", memoryUsage},
}

// memoryUsage accepts SAMPLES, which says how much of a collection to look at; the size of a string is known.
func memoryUsage(c *client, args [][]byte) {
	for i := 3; i < len(args); i += 2 {
		if !bytes.EqualFold(args[i], []byte("SAMPLES")) || i+1 == len(args) {
			c.fail(errSyntax)
			return
		}
		switch samples, ok := parseInt(args[i+1]); {
		case !ok:
			c.fail(errNotInteger)
			return
		case samples < 0:
			c.fail(errSyntax)
			return
		}
	}
	e := c.view.Peek(args[2])
	if !e.Exists() {
		c.null()
		return
	}
	c.int(e.Size())
}

func memoryHelp(c *client, _ [][]byte) {
	c.help("memory",
		"DOCTOR",
		"    Return a report about what looks wrong with the memory.",
		"MALLOC-STATS",
		"    Return the counters of the allocators.",
		"PURGE",
		"    Give free memory back to the system, within a fraction of a second.",
		"STATS",
		"    Return what the memory is used for.",
		"USAGE <key> [SAMPLES <count>]",
		"    Return the bytes that <key> and its value take.")
}

// memoryUse is what is known of the memory, and its limit. What keys and values take the store knows exactly at any moment;
// all else changes slowly, or is bounded elsewhere, and is counted at each beat of the periodic work while there is a limit, and
// for each report. Garbage of the collector is not counted: it would make the figure jump, and evict keys for nothing. What
// it takes is bounded instead, see boundHeap.
type memoryUse struct {
	startupBytes int64        // on the Go heap
	other        atomic.Int64 // all that is not keys and values: that, clients, hot keys, slack
	peakBytes    atomic.Int64
	purge        atomic.Bool // MEMORY PURGE waits for the periodic work

	// These change only under the gate.
	limit  int64         // maxmemory; 0: none
	evicts bool          // the policy is another than noeviction
	step   time.Duration // how long one command may evict

	wake      chan struct{} // asks the periodic work to evict; has room for one
	fullSince atomic.Int64  // monotonic, ns; 0: there is room
	fullNs    atomic.Int64  // for how long there was none before

	slack     atomic.Int64 // what the process takes beyond what may be
	heapMax   int64        // bound of the Go heap that the process was started with
	heapBound int64        // that which follows from maxmemory, 0: none. Changes only under the gate
}

// usedBytes is the memory that counts for maxmemory and that INFO tells: keys and values with their index, what clients hold
// and wait for, the hot keys, what the server takes by itself, and the least garbage and gaps that must be put up with.
func (s *Server) usedBytes() int64 {
	heap := s.store.HeapBytes()
	return s.store.UsedBytes() + heap/gapShare + min(heap/garbageShare, overshootBytes) + s.memory.other.Load()
}

// goBytes is what the Go runtime uses and what it holds, which is that and what it keeps for later. It reads four
// counters; runtime.ReadMemStats would stop the world for them.
func goBytes() (used, held int64) {
	samples := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
	}
	metrics.Read(samples)
	bytes := func(i int) int64 { return int64(samples[i].Value.Uint64()) }
	held = bytes(0) - bytes(2)
	return held - bytes(1) - bytes(3), held
}

// heapBytes is what lies on the Go heap, garbage included, and what the latest collection left of it.
func heapBytes() (all, live int64) {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64()), int64(samples[1].Value.Uint64())
}

// countMemory counts what is not keys and values. The caller holds the gate.
func (s *Server) countMemory() {
	m := &s.memory
	m.other.Store(m.startupBytes + s.clientBytes() + s.hotkeysBytes() + s.caching.table.Bytes() + s.scriptBytes() + m.slack.Load())
}

// sampleMemory counts and notes the peak. It returns the memory in use. The caller holds the gate.
func (s *Server) sampleMemory() int64 {
	s.countMemory()
	return s.notePeak()
}

// notePeak returns the memory in use.
func (s *Server) notePeak() int64 {
	used := s.usedBytes()
	for {
		peak := s.memory.peakBytes.Load()
		if used <= peak || s.memory.peakBytes.CompareAndSwap(peak, used) {
			return used
		}
	}
}

// scriptBytes is what the scripts and functions take that are kept. The caller holds the gate.
func (s *Server) scriptBytes() int64 { return s.scripts.bytes + s.functions.libraries.Bytes() }

// memoryInfo is INFO memory. Overhead is all that is not keys and values with their index.
func (s *Server) memoryInfo(w *info.Writer) {
	used, rss, total := s.sampleMemory(), residentBytes(), systemBytes()
	peak, startup := s.memory.peakBytes.Load(), s.memory.startupBytes
	dataset := min(s.store.UsedBytes(), used)
	percent := func(part, of int64) float64 { return float64(part) * 100 / float64(max(of, 1)) }
	w.Int("used_memory", used)
	w.Human("used_memory_human", used)
	w.Int("used_memory_rss", rss)
	w.Human("used_memory_rss_human", rss)
	w.Int("used_memory_peak", peak)
	w.Human("used_memory_peak_human", peak)
	w.Percent("used_memory_peak_perc", percent(used, peak), 2)
	w.Int("used_memory_overhead", used-dataset)
	w.Int("used_memory_startup", startup)
	w.Int("used_memory_dataset", dataset)
	w.Percent("used_memory_dataset_perc", min(100, percent(dataset, used-startup)), 2)
	w.Int("total_system_memory", total)
	w.Human("total_system_memory_human", total)
	s.scripts.memoryInfo(w)
	s.functions.memoryInfo(w)
	w.Int("used_memory_scripts", s.scriptBytes())
	w.Human("used_memory_scripts_human", s.scriptBytes())
	w.Int("maxmemory", s.memory.limit)
	w.Human("maxmemory_human", s.memory.limit)
	w.Str("maxmemory_policy", s.params.eviction.policy.Get())
	w.Float("mem_fragmentation_ratio", float64(rss)/float64(used), 2)
	w.Int("mem_fragmentation_bytes", rss-used)
	w.Int("mem_not_counted_for_evict", 0)
	w.Int("mem_clients_normal", s.clientBytes())
	w.Int("mem_hotkeys", s.hotkeysBytes())
	w.Str("mem_allocator", "go-"+strings.TrimPrefix(runtime.Version(), "go"))
	w.Int("active_defrag_running", 0)
	pending, freed := s.store.Freeing()
	w.Int("lazyfree_pending_objects", pending)
	w.Int("lazyfreed_objects", freed)
}

// What the process takes is more than what is used: garbage that waits for the collector, free pages kept for the next, gaps,
// the program itself. Under a limit all of that together is to stay below a quarter of maxmemory.
const (
	// spareShare is the part of maxmemory, 16 in a hundred, and spareMin the least number of bytes, by which the process may
	// exceed it before something is done at once. The Go heap is bounded for that.
	spareShare = 16
	spareMin   = 16 << 20
	// programBytes is about what the program takes, of which most is its code.
	programBytes = 10 << 20
	// heapRoomMin is what the Go heap may grow by between two collections in any case: with less they would never end.
	heapRoomMin = 4 << 20
	// garbageShare is the part, 1/16, of what lies on the Go heap by which it may grow, if it takes up so much of the memory that
	// there is no room for more. The collector then runs often, but values are without pointers, and it is done soon.
	garbageShare = 16
	// gapShare is the part of it, 1/8, that counts as used for that garbage and for the gaps between values. To that comes what
	// is allocated while the collector runs, another 1/16 but no more than 8 MiB: it matters where maxmemory is small.
	gapShare       = 8
	overshootBytes = 8 << 20
)

// residentGoal is what the process may take under a limit.
func residentGoal(limit int64) int64 { return limit + max(limit/100*spareShare, spareMin) }

// boundHeap makes the collector run early enough, while there is a limit. Values above 1 KiB lie on the Go heap, so that its
// share of the memory may be anything. The caller holds the gate.
func (s *Server) boundHeap() {
	m, bound := &s.memory, int64(0)
	if m.limit != 0 {
		pageBytes := s.store.PageBytes()
		bound = residentGoal(m.limit) - pageBytes - pageBytes/32 - programBytes
		used, _ := goBytes()
		all, live := heapBytes()
		live = max(live, s.store.HeapBytes())
		bound = max(bound, used-all+live+live/garbageShare+heapRoomMin)
	}
	if change := bound - m.heapBound; max(change, -change) <= m.heapBound/64 {
		return // it is not worth the runtime's while
	}
	if m.heapBound = bound; bound == 0 {
		bound = m.heapMax
	}
	debug.SetMemoryLimit(min(bound, m.heapMax))
}

// boundResident sees to it that the process stays within its bounds where what is counted does not tell all: it collects and
// returns what is free; what is still too much then counts as used, so that keys are evicted for it, until it is gone.
func (s *Server) boundResident(now time.Time) {
	var limit int64
	s.gate.exclusive(nil, func() {
		if limit = s.memory.limit; limit != 0 {
			s.countMemory()
			s.boundHeap()
		}
	})
	slack := &s.memory.slack
	if limit == 0 {
		slack.Store(0)
		return
	}
	switch resident, goal := residentBytes(), residentGoal(limit); {
	case resident > goal && now.Sub(s.returnedAt) >= returnEvery:
		s.returnAll(now)
		if excess := residentBytes() - goal; excess > 0 {
			slack.Store(min(slack.Load()+excess, limit/4))
		}
	case resident < goal-goal/20:
		slack.Store(slack.Load() / 8 * 7)
	}
}

// residentBytes is the size of the process in memory as the system sees it; 0 where there is no /proc.
func residentBytes() int64 {
	statm, _ := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(statm)
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}

// systemBytes is the memory of the machine; 0 where there is no /proc.
func systemBytes() int64 {
	meminfo, _ := os.ReadFile("/proc/meminfo")
	_, rest, _ := bytes.Cut(meminfo, []byte("MemTotal:"))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(string(fields[0]), 10, 64)
	return kib << 10
}
