package server

import (
	"bytes"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"

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

// memoryUse is what INFO memory compares the present with.
type memoryUse struct {
	startupBytes int64
	peakBytes    atomic.Int64
	purge        atomic.Bool // MEMORY PURGE waits for the periodic work
}

// usedBytes is the memory that the process holds and needs: the store's pages outside the Go heap, and what the
// Go runtime has taken from the system, without what it keeps for later or has given back. Garbage counts until it
// is collected, since it is held until then.
func (s *Server) usedBytes() int64 {
	used, _ := goBytes()
	return s.store.PageBytes() + used
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

// sampleMemory notes the peak. It returns the memory in use.
func (s *Server) sampleMemory() int64 {
	used := s.usedBytes()
	for {
		peak := s.memory.peakBytes.Load()
		if used <= peak || s.memory.peakBytes.CompareAndSwap(peak, used) {
			return used
		}
	}
}

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
	w.Int("maxmemory", 0)
	w.Str("maxmemory_human", "0B")
	w.Str("maxmemory_policy", "noeviction")
	w.Float("mem_fragmentation_ratio", float64(rss)/float64(used), 2)
	w.Int("mem_fragmentation_bytes", rss-used)
	w.Int("mem_clients_normal", s.clientBytes())
	w.Int("mem_hotkeys", s.tracker.MemoryBytes())
	w.Str("mem_allocator", "go-"+strings.TrimPrefix(runtime.Version(), "go"))
	w.Int("active_defrag_running", 0)
	pending, freed := s.store.Freeing()
	w.Int("lazyfree_pending_objects", pending)
	w.Int("lazyfreed_objects", freed)
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
