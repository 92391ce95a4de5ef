package tests

import (
	"fmt"
	"strings"
	"testing"
)

// TestClientEviction: whatever makes a client hold much, it is the one that is closed, and the others go on.
func TestClientEviction(t *testing.T) {
	const limitBytes, muchBytes = 2 << 20, 20 << 20 // more than sockets take on top
	much := strings.Repeat("x", muchBytes)
	halfSent := fmt.Sprintf("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n%s", 2*muchBytes, much[:2*limitBytes])
	for name, hoard := range map[string]func(c *conn) error{
		"half a command": func(c *conn) error {
			_, err := c.nc.Write([]byte(halfSent))
			return err
		},
		"queued commands": func(c *conn) error {
			c.ok("MULTI")
			_, err := c.nc.Write(encode("SET", "k", much[:2*limitBytes]))
			return err
		},
		"a reply that is not read": func(c *conn) error {
			_, err := c.nc.Write(encode("GET", "big"))
			return err
		},
		"messages that are not read": func(c *conn) error {
			c.do("SUBSCRIBE", "ch")
			return nil
		},
		"keys watched": func(c *conn) error {
			args := []string{"WATCH"}
			for i := range 2000 {
				args = append(args, fmt.Sprint(i, much[:1000]))
			}
			_, err := c.nc.Write(encode(args...))
			return err
		},
		"prefixes of keys that it caches": func(c *conn) error {
			var err error
			for i := 0; i < 400 && err == nil; i++ {
				_, err = c.try("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", fmt.Sprintf("%04d%s", i, much[:10000]))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := ownServer(t, "--client-output-buffer-limit", "pubsub 0 0 0")
			admin, bystander, spared := s.dial(), s.dial(), s.dial()
			admin.ok("SET", "big", much)
			admin.ok("CONFIG", "SET", "maxmemory-clients", fmt.Sprint(limitBytes))
			spared.ok("CLIENT", "NO-EVICT", "ON")
			spared.send(halfSent[:limitBytes/2])
			c := s.dial()
			if err := hoard(c); err != nil {
				t.Logf("it was closed while it wrote: %v", err)
			}
			if name == "messages that are not read" {
				for range muchBytes >> 16 {
					admin.do("PUBLISH", "ch", much[:1<<16])
				}
			}
			eventually(t, "a client is evicted", func() bool { return infoInt(admin, "stats", "evicted_clients") > 0 })
			for {
				if _, err := c.r.Discard(1 << 16); err != nil {
					break
				}
			}
			bystander.want("+PONG\r\n", "PING")
			if n := infoInt(admin, "stats", "evicted_clients"); n != 1 {
				t.Errorf("evicted_clients:%d", n)
			}
			if n := infoInt(admin, "clients", "connected_clients"); n != 3 {
				t.Errorf("connected_clients:%d", n)
			}
			eventually(t, "its memory is free", func() bool { return infoInt(admin, "memory", "mem_clients_normal") < limitBytes })
		})
	}
}

// TestClientEvictionLimits: CONFIG SET of a limit acts on who is there already, and none means none.
func TestClientEvictionLimits(t *testing.T) {
	s := ownServer(t)
	admin, c := s.dial(), s.dial()
	c.ok("MULTI")
	c.want("+QUEUED\r\n", "SET", "k", strings.Repeat("x", 1<<20))
	for _, limit := range []string{"0", "10mb", "50%", "0%"} {
		admin.ok("CONFIG", "SET", "maxmemory-clients", limit)
	}
	c.want("+QUEUED\r\n", "GET", "k")
	admin.ok("CONFIG", "SET", "maxmemory-clients", "1") // taken for 128 KiB
	if got, err := c.readAll(); err != nil && got != "" {
		t.Errorf("it was sent %q, %v", got, err)
	}
	admin.want("+PONG\r\n", "PING")
	admin.want("*2\r\n$17\r\nmaxmemory-clients\r\n$1\r\n1\r\n", "CONFIG", "GET", "maxmemory-clients")
	if n := infoInt(admin, "stats", "evicted_clients"); n != 1 {
		t.Errorf("evicted_clients:%d", n)
	}
}
