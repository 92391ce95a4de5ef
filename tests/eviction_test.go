package tests

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// TestMemoryRepliesAreThePeers: the same commands under the same limits are answered alike by both servers.
func TestMemoryRepliesAreThePeers(t *testing.T) {
	if raceEnabled {
		t.Skip("the peer is compared with elsewhere")
	}
	// The limit of a byte is below what either uses when it is empty.
	steps := [][]string{
		{"SET", "k", "v", "EX", "1000"}, {"SET", "stays", "v"},
		{"CONFIG", "SET", "maxmemory-policy", "allkeys-lfu"}, {"SET", "fresh", "v"}, {"OBJECT", "FREQ", "fresh"}, {"OBJECT", "IDLETIME", "fresh"},
		{"CONFIG", "SET", "maxmemory-policy", "nosuch"}, {"CONFIG", "SET", "maxmemory", "10%"}, {"CONFIG", "SET", "maxmemory-samples", "0"},
		{"CONFIG", "SET", "maxmemory-policy", "volatile-lru"}, {"OBJECT", "FREQ", "stays"}, {"OBJECT", "FREQ", "nosuch"}, {"OBJECT", "IDLETIME", "nosuch"},
		{"MULTI"}, {"SET", "a", "1"},
		{"CONFIG", "SET", "maxmemory-policy", "noeviction"}, {"EXEC"},
		{"CONFIG", "SET", "maxmemory", "1"},
		{"SET", "a", "1"}, {"GET", "stays"}, {"LPUSH", "l", "1"}, {"EXPIRE", "stays", "1000"}, {"DEL", "a"}, {"PUBLISH", "c", "m"},
		{"SET", "a"}, {"MULTI"}, {"GET", "stays"}, {"EXEC"}, {"MULTI"}, {"DISCARD"}, {"WATCH", "stays"}, {"UNWATCH"},
		{"EVAL", "return redis.call('get','stays')", "1", "stays"}, {"EVAL", "return redis.call('del','nosuch')", "1", "nosuch"},
		{"EVAL", "#!lua\nreturn 1", "0"}, {"EVAL", "#!lua flags=no-writes\nreturn 1", "0"}, {"EVAL", "#!lua flags=allow-oom\nreturn redis.call('set','a','1')", "1", "a"},
		{"CONFIG", "SET", "maxmemory-policy", "volatile-ttl"}, {"SET", "a", "1"}, {"EXISTS", "k"}, {"DBSIZE"},
		{"CONFIG", "SET", "maxmemory", "0"}, {"SET", "a", "1"},
	}
	answers := func(c *conn) (replies []string) {
		for _, s := range steps {
			replies = append(replies, c.do(s...))
		}
		return replies
	}
	ours, theirs := answers(ownServer(t).dial()), answers(startPeer(t).dial())
	for i, s := range steps {
		if ours[i] != theirs[i] {
			t.Errorf("%q: %q, redis-server answers %q", s, ours[i], theirs[i])
		}
	}
}

// TestEvictionOverSockets: a cache under a limit stays at it, tells whom it evicts, and evicts at once when the limit falls.
func TestEvictionOverSockets(t *testing.T) {
	s := ownServer(t, "--maxmemory-policy", "allkeys-lru", "--notify-keyspace-events", "Ee")
	c, listener := s.dial(), s.dial()
	listener.do("SUBSCRIBE", "__keyevent@0__:evicted")
	keys := scaled(50_000)
	room := int64(keys) * 100 // for less than half of them
	limit := infoInt(c, "memory", "used_memory") + room
	c.ok("CONFIG", "SET", "maxmemory", strconv.FormatInt(limit, 10))
	loadKeys(c, keys, 200)
	const step = 256 << 10 // what a pipeline's row may write, and the clients' buffers
	if used := infoInt(c, "memory", "used_memory"); used > limit+step {
		t.Errorf("used_memory is %d, maxmemory %d", used, limit)
	}
	if n := infoInt(c, "stats", "evicted_keys"); n < int64(keys)/3 {
		t.Errorf("%d keys were evicted", n)
	}
	if got := listener.reply(); !strings.Contains(got, "__keyevent@0__:evicted") || !strings.Contains(got, "key:") {
		t.Errorf("published: %s", got)
	}
	if raceEnabled {
		return // the race detector's memory counts as used, as far as it is not to be explained
	}
	lower := limit - room/2
	c.ok("CONFIG", "SET", "maxmemory", strconv.FormatInt(lower, 10))
	eventually(t, "a lower limit is reached without a write", func() bool { return infoInt(c, "memory", "used_memory") <= lower })
	if c.do("DBSIZE") == ":0\r\n" {
		t.Error("everything was evicted")
	}
	for i := range 100 {
		c.ok("SET", fmt.Sprintf("after:%d", i), strings.Repeat("v", 5000))
	}
}
