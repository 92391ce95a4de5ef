package server

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// limitTo sets maxmemory so many bytes above what is used.
func limitTo(t *testing.T, c *client, more int64) (limit int64) {
	t.Helper()
	limit = infoInt(t, c, "memory", "used_memory") + more
	if got := do(c, "CONFIG", "SET", "maxmemory", strconv.FormatInt(limit, 10)); got != "+OK\r\n" {
		t.Fatal(got)
	}
	return limit
}

// checkOwn is checkReplies for a server whose parameters redis-server does not have.
func checkOwn(t *testing.T, c *client, cases []replyCase) {
	t.Helper()
	for _, rc := range cases {
		if got := do(c, strings.Fields(rc.command)...); got != rc.want {
			t.Errorf("%s: %q, want %q", rc.command, got, rc.want)
		}
	}
}

// fillMemory writes until a write is refused.
func fillMemory(t *testing.T, c *client) {
	t.Helper()
	for i := 0; do(c, "SET", fmt.Sprintf("fill:%d", i), strings.Repeat("x", 900)) == "+OK\r\n"; i++ {
		if i == 100_000 {
			t.Fatal("nothing is refused")
		}
	}
}

const oomReply = "-OOM command not allowed when used memory > 'maxmemory'.\r\n"

// TestNoEvictionRefuses: what may need memory is refused, one by one, in a pipeline, in MULTI, at EXEC, and in scripts; the
// rest goes through.
func TestNoEvictionRefuses(t *testing.T) {
	s := newTestServer(t)
	c, other := newTestClient(t, s), newTestClient(t, s)
	do(c, "SET", "k", "1")
	do(other, "MULTI")
	do(other, "INCR", "k")
	early := newTestClient(t, s)
	do(early, "MULTI")
	do(early, "GET", "k")
	limitTo(t, c, 500_000)
	fillMemory(t, c)
	checkOwn(t, c, []replyCase{
		{"SET k 2", oomReply},
		{"INCR k", oomReply},
		{"SET nosuch", "-ERR wrong number of arguments for 'set' command\r\n"},
		{"GET k", "$1\r\n1\r\n"},
		{"PING", "+PONG\r\n"},
		{"EXPIRE k 100", ":1\r\n"},
		{"MULTI", "+OK\r\n"},
		{"GET k", oomReply},
		{"EXEC", "-EXECABORT Transaction discarded because of previous errors.\r\n"},
		{"MULTI", "+OK\r\n"},
		{"DISCARD", "+OK\r\n"},
	})
	if got := do(other, "EXEC"); got != "-EXECABORT Transaction discarded because of: "+oomReply[1:] {
		t.Errorf("EXEC of a write: %q", got)
	}
	if got := do(early, "EXEC"); got != "*1\r\n$1\r\n1\r\n" {
		t.Errorf("EXEC of a read: %q", got)
	}
	pipeline := request("GET", "k") + request("SET", "k", "2") + request("INCR", "k") + request("GET", "k") + request("DEL", "k")
	if got, _ := feed(c, pipeline); got != "$1\r\n1\r\n"+oomReply+oomReply+"$1\r\n1\r\n:1\r\n" {
		t.Errorf("a pipeline: %q", got)
	}
	if n := infoField(t, c, "commandstats", "cmdstat_incr"); !strings.Contains(n, "rejected_calls=2,") {
		t.Errorf("INCR was refused twice: %s", n)
	}
	if infoInt(t, c, "stats", "current_eviction_exceeded_time") < 0 || s.memory.fullSince.Load() == 0 {
		t.Error("INFO does not say that memory is full")
	}
	do(c, "FLUSHALL")
	if got := do(c, "SET", "k", "2"); got != "+OK\r\n" || s.memory.fullSince.Load() != 0 {
		t.Errorf("after FLUSHALL: %q", got)
	}
	if n := infoInt(t, c, "stats", "evicted_keys"); n != 0 {
		t.Errorf("%d keys were evicted", n)
	}
}

// TestScriptsWithoutMemory: a script is refused what it calls, as of its beginning, and one with flags as a whole.
func TestScriptsWithoutMemory(t *testing.T) {
	c := newTestClient(t, newTestServer(t))
	do(c, "SET", "k", "1")
	limitTo(t, c, 500_000)
	fillMemory(t, c)
	const set, get = "return redis.call('set','k','2')", "return redis.call('get','k')"
	if got := do(c, "EVAL", set, "1", "k"); !strings.HasPrefix(got, "-OOM command not allowed when used memory > 'maxmemory'.") {
		t.Errorf("a script that writes: %q", got)
	}
	if got := do(c, "EVAL", get, "1", "k"); got != "$1\r\n1\r\n" {
		t.Errorf("a script that reads: %q", got)
	}
	if got := do(c, "EVAL", "redis.call('del','k') "+set, "1", "k"); got != "+OK\r\n" {
		t.Errorf("a script that has written: %q", got)
	}
	if got := do(c, "EVAL", "#!lua\n"+get, "1", "k"); got != "-OOM command not allowed when used memory > 'maxmemory'.\r\n" {
		t.Errorf("a script with a line of flags: %q", got)
	}
	if got := do(c, "EVAL", "#!lua flags=allow-oom\n"+set, "1", "k"); got != "+OK\r\n" {
		t.Errorf("a script that may: %q", got)
	}
	if got := do(c, "EVAL", "#!lua flags=no-writes\n"+get, "1", "k"); got != "$1\r\n2\r\n" {
		t.Errorf("a script that only reads: %q", got)
	}
}

// TestUsedStaysBelowMaxmemory under each policy that evicts any key, whatever is written: never is more used after a command
// than maxmemory and what that command wrote.
func TestUsedStaysBelowMaxmemory(t *testing.T) {
	for _, policy := range []string{"allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-ttl"} {
		t.Run(policy, func(t *testing.T) {
			s := newTestServer(t, "--maxmemory-policy", policy, "--maxmemory-eviction-tenacity", "100")
			c := newTestClient(t, s)
			limit := limitTo(t, c, 4<<20)
			for i := range 6000 {
				size := []int{10, 100, 1000, 3000, 20_000}[i%5]
				value := strings.Repeat("x", size)
				key := strconv.Itoa(i)
				switch i % 7 {
				case 0:
					do(c, "HSET", "h"+key, "a", value, "b", value, "c", "1")
					do(c, "PEXPIRE", "h"+key, strconv.Itoa(1e6+i))
				case 1:
					do(c, "RPUSH", "l"+key, value, value)
					do(c, "PEXPIRE", "l"+key, strconv.Itoa(1e6+i))
				default:
					do(c, "SET", key, value, "PX", strconv.Itoa(1e6+i))
				}
				if used := s.usedBytes(); used > limit+128<<10 {
					t.Fatalf("after command %d %d bytes are used, %d more than maxmemory", i, used, used-limit)
				}
			}
			if n := infoInt(t, c, "stats", "evicted_keys"); n < 1000 {
				t.Errorf("%d keys were evicted", n)
			}
			if used := infoInt(t, c, "memory", "used_memory"); used > limit+128<<10 {
				t.Errorf("used_memory is %d, the limit %d", used, limit)
			}
		})
	}
}

// TestLoweredLimit: a lower maxmemory evicts without any command, in steps, until there is room.
func TestLoweredLimit(t *testing.T) {
	s := newTestServer(t, "--maxmemory-policy", "allkeys-lru")
	c := newTestClient(t, s)
	for i := range 5000 {
		do(c, "SET", strconv.Itoa(i), strings.Repeat("x", 500))
	}
	limit := limitTo(t, c, -1<<20)
	select {
	case <-s.memory.wake: // which the periodic work would hear
	default:
		t.Fatal("nobody was woken")
	}
	s.evictOn(s.houseSlot)
	for len(s.memory.wake) > 0 {
		<-s.memory.wake
		s.evictOn(s.houseSlot)
	}
	if used := s.usedBytes(); used > limit {
		t.Errorf("%d bytes are used, %d more than maxmemory", used, used-limit)
	}
	if got := do(c, "GET", "0"); got != "$-1\r\n" && do(c, "DBSIZE") == ":5000\r\n" {
		t.Error("nothing was evicted")
	}
}

// TestPausesKeepKeys: during CLIENT PAUSE nothing is evicted, and nothing refused.
func TestPausesKeepKeys(t *testing.T) {
	s := newTestServer(t, "--maxmemory-policy", "allkeys-lru")
	c := newTestClient(t, s)
	do(c, "SET", "k", strings.Repeat("x", 100_000))
	do(c, "CLIENT", "PAUSE", "100000", "WRITE")
	limitTo(t, c, -50_000)
	s.evictOn(s.houseSlot)
	if got := do(c, "EXISTS", "k"); got != ":1\r\n" {
		t.Errorf("the key was evicted: %q", got)
	}
	do(c, "CLIENT", "UNPAUSE")
	s.evictOn(s.houseSlot)
	if got := do(c, "EXISTS", "k"); got != ":0\r\n" {
		t.Errorf("the key is still there: %q", got)
	}
}

// TestObjectFreqAndIdleTime: each is told under its policy and refused under the other.
func TestObjectFreqAndIdleTime(t *testing.T) {
	c := newTestClient(t, newTestServer(t, "--maxmemory-policy", "allkeys-lfu", "--lfu-log-factor", "0"))
	const notIdle = "-ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.\r\n"
	checkOwn(t, c, []replyCase{
		{"SET k v", "+OK\r\n"},
		{"OBJECT FREQ k", ":5\r\n"},
		{"OBJECT FREQ k", ":5\r\n"},
		{"GET k", "$1\r\nv\r\n"},
		{"OBJECT FREQ k", ":6\r\n"},
		{"SET k w", "+OK\r\n"},
		{"APPEND k x", ":2\r\n"},
		{"OBJECT FREQ k", ":8\r\n"},
		{"CLIENT NO-TOUCH ON", "+OK\r\n"},
		{"GET k", "$2\r\nwx\r\n"},
		{"SET k w", "+OK\r\n"},
		{"OBJECT FREQ k", ":8\r\n"},
		{"TOUCH k", ":1\r\n"},
		{"OBJECT FREQ k", ":9\r\n"},
		{"CLIENT NO-TOUCH OFF", "+OK\r\n"},
		{"RENAME k other", "+OK\r\n"},
		{"OBJECT FREQ other", ":10\r\n"},
		{"COPY other k", ":1\r\n"},
		{"OBJECT FREQ k", ":5\r\n"},
		{"OBJECT IDLETIME k", notIdle},
		{"OBJECT IDLETIME nosuch", "$-1\r\n"},
		{"OBJECT FREQ nosuch", "$-1\r\n"},
		{"CONFIG SET maxmemory-policy allkeys-lru", "+OK\r\n"},
		{"OBJECT FREQ nosuch", "$-1\r\n"},
	})
	if got := do(c, "OBJECT", "FREQ", "k"); !strings.HasPrefix(got, "-ERR An LFU maxmemory policy is not selected") {
		t.Errorf("OBJECT FREQ: %q", got)
	}
	if got := do(c, "OBJECT", "IDLETIME", "k"); got[0] != ':' || len(got) > len(":119\r\n") {
		t.Errorf("OBJECT IDLETIME of a key used within the minute: %q", got)
	}
}

// TestEvictionStep is Redis's scale of tenacity.
func TestEvictionStep(t *testing.T) {
	for tenacity, want := range map[int64]time.Duration{0: 0, 1: 50 * time.Microsecond, 10: 500 * time.Microsecond, 11: 575 * time.Microsecond, 100: 1<<63 - 1} {
		if got := evictionStep(tenacity); got != want {
			t.Errorf("%d: %v, want %v", tenacity, got, want)
		}
	}
	if got := evictionStep(99); got < 90*time.Second || got > 200*time.Second {
		t.Errorf("99: %v", got)
	}
}

// TestEvictionAfterImport: what was kept beyond its time while keys were imported goes first afterwards, and is not taken for room
// that was made while it stays.
func TestEvictionAfterImport(t *testing.T) {
	s := newTestServer(t)
	c := newTestClient(t, s)
	checkOwn(t, c, []replyCase{
		{"CONFIG SET import-mode yes", "+OK\r\n"},
		{"CLIENT IMPORT-SOURCE ON", "+OK\r\n"},
		{"SET k v PXAT 1", "+OK\r\n"},
		{"CLIENT IMPORT-SOURCE OFF", "+OK\r\n"},
		{"CONFIG SET import-mode no maxmemory 1 maxmemory-policy allkeys-lru", "+OK\r\n"},
		{"SET a 1", oomReply},
		{"DBSIZE", ":0\r\n"},
	})
}
