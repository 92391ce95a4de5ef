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

// TestOneVolatileKeyAmongMany: a key that expires is found among many that do
// not, though nobody asks for it.
func TestOneVolatileKeyAmongMany(t *testing.T) {
	s := ownServer(t)
	c := s.dial()
	loadKeys(c, scaled(200_000), 10)
	c.ok("SET", "volatile", "v", "PX", "50")
	eventually(t, "the only volatile key has expired", func() bool { return infoInt(c, "stats", "expired_keys") == 1 })
}

// TestIdleTime: what resets the clock of a key, and what only looks.
func TestIdleTime(t *testing.T) {
	touching := []string{"GET %s", "STRLEN %s", "TOUCH %s", "GETRANGE %s 0 1", "MGET %s", "SET %s v", "APPEND %s x", "GETEX %s", "COPY %s copy"}
	looking := []string{"EXISTS %s", "TTL %s", "PTTL %s", "TYPE %s", "EXPIRETIME %s", "OBJECT ENCODING %s", "OBJECT IDLETIME %s",
		"MEMORY USAGE %s", "SCAN 0 MATCH %s", "KEYS %s"}
	check := func(t *testing.T, c *conn, noTouch bool) {
		args := []string{"MSET", "waits", "v"}
		for _, line := range append(touching, looking...) {
			args = append(args, line, "v")
		}
		c.ok(args...)
		idle := func(key string) int64 {
			n, _ := c.value("OBJECT", "IDLETIME", key).int()
			return n
		}
		eventually(t, "the keys are idle", func() bool { return idle("waits") >= 2 })
		run := func(lines []string) {
			for _, line := range lines {
				words := strings.Fields(line)
				for i, w := range words {
					if w == "%s" {
						words[i] = line // the key is named as its command
					}
				}
				c.do(words...)
			}
		}
		run(looking)
		if noTouch {
			c.ok("CLIENT", "NO-TOUCH", "ON")
			run([]string{"GET %s", "STRLEN %s", "MGET %s"})
			for _, key := range []string{"GET %s", "STRLEN %s", "MGET %s"} {
				if idle(key) < 2 {
					t.Errorf("%s reset the idle time although NO-TOUCH is on", key)
				}
			}
			run([]string{"TOUCH %s"})
			if idle("TOUCH %s") >= 2 {
				t.Error("TOUCH did not touch with NO-TOUCH on")
			}
			c.ok("CLIENT", "NO-TOUCH", "OFF")
		}
		run(touching)
		for _, line := range looking {
			if idle(line) < 2 {
				t.Errorf("%s reset the idle time", line)
			}
		}
		for _, line := range touching {
			if idle(line) >= 2 {
				t.Errorf("%s did not reset the idle time", line)
			}
		}
	}
	t.Run("ours", func(t *testing.T) { check(t, startServer(t).dial(), true) })
	t.Run("the peer", func(t *testing.T) { check(t, startPeer(t).dial(), false) })
}
