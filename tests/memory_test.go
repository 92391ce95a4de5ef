package tests

import (
	"fmt"
	"strings"
	"testing"
)

// loadKeys sets n keys with values of some size in pipelines.
func loadKeys(c *conn, n, valueBytes int) {
	c.t.Helper()
	const batch = 2000
	value := strings.Repeat("v", valueBytes)
	for from := 0; from < n; from += batch {
		var commands [][]string
		for i := from; i < min(from+batch, n); i++ {
			commands = append(commands, []string{"SET", fmt.Sprintf("key:%012d", i), value})
		}
		c.pipeline(commands)
	}
}

// TestMemoryIsGivenBack: a cache lives by its memory figure. What FLUSHALL,
// deleting and expiry free goes back to the system, and used_memory with it.
func TestMemoryIsGivenBack(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector's memory is not the server's")
	}
	const keys, valueBytes, slackBytes = 100_000, 200, 24 << 20
	for name, free := range map[string]func(c *conn){
		"FLUSHALL":       func(c *conn) { c.ok("FLUSHALL") },
		"FLUSHALL ASYNC": func(c *conn) { c.ok("FLUSHALL", "ASYNC") },
		"DEL": func(c *conn) {
			var commands [][]string
			for i := range keys {
				commands = append(commands, []string{"DEL", fmt.Sprintf("key:%012d", i)})
			}
			c.pipeline(commands)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := ownServer(t)
			c := s.dial()
			loadKeys(c, 1000, valueBytes)
			c.ok("FLUSHALL")
			resident, used := s.residentBytes(), infoInt(c, "memory", "used_memory")
			loadKeys(c, keys, valueBytes)
			full, fullUsed := s.residentBytes(), infoInt(c, "memory", "used_memory")
			if full-resident < keys*valueBytes || fullUsed-used < keys*valueBytes {
				t.Fatalf("%d bytes of values made the process grow by %d and used_memory by %d", keys*valueBytes, full-resident, fullUsed-used)
			}
			free(c)
			eventually(t, "the memory is given back", func() bool {
				return s.residentBytes() < resident*13/10+slackBytes && infoInt(c, "memory", "used_memory") < used+(fullUsed-used)/20
			})
		})
	}
}

// TestOverwritesDoNotGrow: values written over and over, in sizes that come and
// go, take no more than they did.
func TestOverwritesDoNotGrow(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector's memory is not the server's")
	}
	const keys = 30_000
	s := ownServer(t)
	c := s.dial()
	loadKeys(c, keys, 100)
	loadKeys(c, keys, 120)
	once := s.residentBytes()
	for i := range 6 {
		loadKeys(c, keys, 100+2*i)
	}
	eventually(t, "six rounds of overwriting take no more than half as much again", func() bool {
		return s.residentBytes() < once*3/2
	})
}

// TestShortLivedKeys: keys that expire make room for the next.
func TestShortLivedKeys(t *testing.T) {
	const rounds = 20
	keys := scaled(10_000)
	s := ownServer(t)
	c := s.dial()
	for round := range rounds {
		var commands [][]string
		for i := range keys {
			commands = append(commands, []string{"SET", fmt.Sprintf("short:%d:%d", round, i), "v", "PX", "20"})
		}
		c.pipeline(commands)
	}
	eventually(t, "all keys have expired without being asked for", func() bool { return c.do("DBSIZE") == ":0\r\n" })
	if n := infoInt(c, "stats", "expired_keys"); n != int64(rounds*keys) {
		t.Errorf("expired_keys is %d, want %d", n, rounds*keys)
	}
}
