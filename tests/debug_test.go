package tests

import "testing"

// TestDebugPauseCronKeepsExpiredKeys: only the housekeeping removes keys that nobody asks for.
func TestDebugPauseCronKeepsExpiredKeys(t *testing.T) {
	s := ownServer(t, "--enable-debug-command", "yes")
	c := s.dial()
	c.ok("DEBUG", "PAUSE-CRON", "1")
	c.ok("SET", "unseen", "v", "PX", "1")
	c.ok("SET", "asked", "v", "PX", "1")
	eventually(t, "the keys are expired", func() bool { return c.do("EXISTS", "asked") == ":0\r\n" })
	c.ok("DEBUG", "SLEEP", "0.3") // beats of the housekeeping
	c.do("PING")
	c.want(":1\r\n", "DBSIZE")
	c.ok("DEBUG", "PAUSE-CRON", "0")
	eventually(t, "the key is removed", func() bool { return c.do("DBSIZE") == ":0\r\n" })
}

// TestDebugDigestOverASocket: two keys with the same value have the same digest in both protocols.
func TestDebugDigestOverASocket(t *testing.T) {
	s := startServer(t, "--enable-debug-command", "yes")
	c := s.dial()
	c.ok("SET", "a", "v")
	c.ok("SET", "b", "v")
	resp2 := c.do("DEBUG", "DIGEST-VALUE", "a", "b")
	c.do("HELLO", "3")
	c.want(resp2, "DEBUG", "DIGEST-VALUE", "b", "a")
	before := c.do("DEBUG", "DIGEST")
	c.ok("SET", "c", "v")
	c.want(":1\r\n", "DEL", "c")
	c.want(before, "DEBUG", "DIGEST")
}
