package server

import (
	"strconv"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func TestMemoryReplies(t *testing.T) {
	tests := []replyCase{
		{"MEMORY USAGE nosuch", "$-1\r\n"},
		{"MEMORY USAGE nosuch SAMPLES -1", "-ERR syntax error\r\n"},
		{"MEMORY USAGE nosuch SAMPLES", "-ERR syntax error\r\n"},
		{"MEMORY USAGE nosuch SAMPLES x", "-ERR value is not an integer or out of range\r\n"},
		{"MEMORY USAGE nosuch SAMPLES 5", "$-1\r\n"},
		{"MEMORY USAGE nosuch x", "-ERR syntax error\r\n"},
		{"MEMORY USAGE nosuch x 1", "-ERR syntax error\r\n"},
		{"MEMORY USAGE", "-ERR wrong number of arguments for 'memory|usage' command\r\n"},
		{"MEMORY x", "-ERR unknown subcommand 'x'. Try MEMORY HELP.\r\n"},
		{"MEMORY", "-ERR wrong number of arguments for 'memory' command\r\n"},
		{"MEMORY HELP x", "-ERR wrong number of arguments for 'memory|help' command\r\n"},
	}
	c := newTestClient(t, newTestServer(t))
	checkReplies(t, c, tests)
}

func TestMemoryUsageGrowsWithTheValue(t *testing.T) {
	c := newTestClient(t, newTestServer(t))
	for _, length := range []int{1, 100, 1000, 100_000} {
		do(c, "SET", "k", strings.Repeat("x", length))
		reply := do(c, "MEMORY", "USAGE", "k")
		n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(reply, ":"), "\r\n"))
		if err != nil || n < length || n > 2*length+100 {
			t.Errorf("a value of %d bytes: %q", length, reply)
		}
	}
}

// infoField reads a field of INFO's reply.
func infoField(t *testing.T, c *client, section, name string) string {
	t.Helper()
	_, rest, found := strings.Cut(do(c, "INFO", section), "\r\n"+name+":")
	if !found {
		t.Fatalf("INFO %s has no field %s", section, name)
	}
	value, _, _ := strings.Cut(rest, "\r\n")
	return value
}

func infoInt(t *testing.T, c *client, section, name string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(infoField(t, c, section, name), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestInfoMemoryCountsValues(t *testing.T) {
	c := newTestClient(t, newTestServer(t))
	before := infoInt(t, c, "memory", "used_memory_dataset")
	const keys, length = 100, 50_000
	for i := range keys {
		do(c, "SET", "k"+strconv.Itoa(i), strings.Repeat("x", length))
	}
	used, peak := infoInt(t, c, "memory", "used_memory"), infoInt(t, c, "memory", "used_memory_peak")
	dataset := infoInt(t, c, "memory", "used_memory_dataset")
	if grown := dataset - before; grown < keys*length || grown > 2*keys*length {
		t.Errorf("%d bytes of values: the dataset grew by %d", keys*length, grown)
	}
	if overhead := infoInt(t, c, "memory", "used_memory_overhead"); used < dataset || peak < used || overhead <= 0 {
		t.Errorf("used %d, dataset %d, peak %d, overhead %d", used, dataset, peak, overhead)
	}
	if got := infoField(t, c, "memory", "mem_allocator"); !strings.HasPrefix(got, "go-1.") {
		t.Errorf("mem_allocator: %s", got)
	}
	if got := infoField(t, c, "memory", "maxmemory_human"); got != "0B" {
		t.Errorf("maxmemory_human: %s", got)
	}
	for _, name := range []string{"used_memory_rss", "total_system_memory", "mem_clients_normal", "used_memory_startup"} {
		if infoInt(t, c, "memory", name) <= 0 {
			t.Errorf("%s is not positive", name)
		}
	}
}

func TestMergedHistograms(t *testing.T) {
	a := hdrhistogram.New(latencyMinNs, latencyMaxNs, latencyDigits)
	b := hdrhistogram.New(latencyMinNs, latencyMaxNs, latencyDigits)
	a.RecordValue(10)
	b.RecordValue(1000)
	b.RecordValue(2000)
	sum := merged(merged(nil, a), b)
	if a.TotalCount() != 1 || b.TotalCount() != 2 || sum.TotalCount() != 3 || sum.Min() != 10 {
		t.Errorf("%d and %d values make %d", a.TotalCount(), b.TotalCount(), sum.TotalCount())
	}
	if merged(nil, nil) != nil {
		t.Error("nothing and nothing is something")
	}
}
