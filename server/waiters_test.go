package server

import "testing"

// TestManyWaitersAreLookedAtOnce: with n clients that wait for one stream, what is looked at is of the order of n, not of
// its square, which took a server with 4000 of them seconds.
func TestManyWaitersAreLookedAtOnce(t *testing.T) {
	const n = 50
	s := newTestServer(t)
	writer := newTestClient(t, s)
	do(writer, "XGROUP", "CREATE", "stream", "group", "$", "MKSTREAM")
	looks := 0
	for range n {
		c := newTestClient(t, s)
		do(c, "XREADGROUP", "GROUP", "group", "consumer", "BLOCK", "0", "STREAMS", "stream", ">")
		ready := c.waiting.ready
		c.waiting.ready = func(c *client) bool {
			looks++
			return ready(c)
		}
	}
	s.tellOfExpired(writer.view)
	if looks != 0 {
		t.Errorf("to see that the stream is there, %d waiters were looked at", looks)
	}
	do(writer, "MULTI")
	for range n {
		do(writer, "XADD", "stream", "*", "field", "value")
	}
	do(writer, "EXEC")
	if looks == 0 || looks > 2*n {
		t.Errorf("after one transaction of %d writes, waiters were looked at %d times", n, looks)
	}
	if waiting := s.blocked.Load(); waiting != n-1 {
		t.Errorf("%d clients wait, want all but the one that got the entries", waiting)
	}
}
