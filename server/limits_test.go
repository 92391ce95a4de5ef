package server

import (
	"strings"
	"testing"
	"time"

	"kvserver/server/transport"
)

// TestHardOutputLimitBoundsAReply: the limit holds while a reply is made, not only for what waits afterwards, and what
// an EXEC has begun it finishes.
func TestHardOutputLimitBoundsAReply(t *testing.T) {
	const limitBytes, names = 1 << 20, 1000
	s := newTestServer(t)
	admin := newTestClient(t, s)
	do(admin, "SET", "big", strings.Repeat("x", 100_000))
	do(admin, "CONFIG", "SET", "client-output-buffer-limit", "normal 1048576 0 0")
	mget := append([]string{"MGET"}, strings.Split(strings.Repeat("big ", names-1)+"big", " ")...)
	exec := request("MULTI") + strings.Repeat(request("GET", "big"), names) + request("SET", "end", "reached") + request("EXEC")
	for name, input := range map[string]string{"MGET": request(mget...), "EXEC": exec} {
		c := newTestClient(t, s)
		reply, v := feed(c, input)
		if v != transport.Abort || !connOf(c).closed {
			t.Errorf("%s beyond the limit: verdict %v, closed %v", name, v, connOf(c).closed)
		}
		if len(reply) > limitBytes {
			t.Errorf("%s made %d bytes of replies, limit %d", name, len(reply), limitBytes)
		}
	}
	if got := do(admin, "GET", "end"); got != "$7\r\nreached\r\n" {
		t.Errorf("the last command of the EXEC was not run: %q", got)
	}
	do(admin, "CONFIG", "SET", "client-output-buffer-limit", "normal 10 0 0")
	if got := do(admin, "CONFIG", "SET", "client-output-buffer-limit", "normal 1048576 0 0"); got != "+OK\r\n" || connOf(admin).closed {
		t.Errorf("a limit too small for any reply was not taken back: %q", got)
	}
	silent := newTestClient(t, s)
	do(silent, "CLIENT", "REPLY", "OFF")
	if reply, v := feed(silent, request(mget...)); v != transport.More || reply != "" {
		t.Errorf("a client without replies: verdict %v, %d bytes", v, len(reply))
	}
}

// TestQueryLimitCountsWhatShortArgumentsTake: arguments without bytes are no way around the limit.
func TestQueryLimitCountsWhatShortArgumentsTake(t *testing.T) {
	s := newTestServer(t, "--client-query-buffer-limit", "1mb")
	mget := request(append([]string{"MGET"}, make([]string, 1000)...)...)
	c := newTestClient(t, s)
	do(c, "MULTI")
	verdict := transport.More
	for n := 0; verdict == transport.More && n < 100; n++ {
		_, verdict = feed(c, mget)
	}
	if verdict != transport.Abort {
		t.Errorf("100 commands of 1000 empty arguments were queued, which take 2.4 MB: verdict %v", verdict)
	}
	c = newTestClient(t, s)
	if _, v := feed(c, "*100000\r\n"+strings.Repeat("$0\r\n\r\n", 90_000)); v != transport.Abort {
		t.Errorf("a half-sent frame of 540 kB with 90,000 arguments: verdict %v", v)
	}
}

// TestLengthsDoNotOverflow: no length is believed that a sum with it could turn negative, whatever the parameters say.
func TestLengthsDoNotOverflow(t *testing.T) {
	s := newTestServer(t, "--proto-max-bulk-len", "9223372036854775807", "--client-query-buffer-limit", "9223372036854775807")
	for _, length := range []string{"9223372036854775807", "9223372036854775806", "4611686018427387904"} {
		c := newTestClient(t, s)
		const want = "-ERR Protocol error: invalid bulk length\r\n"
		if got, _ := feed(c, "*1\r\n$"+length+"\r\n"); got != want {
			t.Errorf("$%s: %q", length, got)
		}
	}
	if n := s.counters.panics.Load(); n != 0 {
		t.Errorf("%d panics", n)
	}
}

// TestHTTPIsDropped: what a web page can make a browser send must not run the commands in its body.
func TestHTTPIsDropped(t *testing.T) {
	for _, head := range []string{"POST / HTTP/1.1\r\n", "post /\r\n", "GET / HTTP/1.1\r\nhost: localhost:6379\r\n", request("POST", "/")} {
		s := newTestServer(t)
		c := newTestClient(t, s)
		if _, v := feed(c, head+"\r\nSET k v\r\n"); v != transport.Abort {
			t.Errorf("%q: verdict %v", head, v)
		}
		if got := do(newTestClient(t, s), "EXISTS", "k"); got != ":0\r\n" {
			t.Errorf("%q: the body was run", head)
		}
	}
}

// TestSlotForgetsArguments: a command that is done holds on to no input, and to no room for very many arguments.
func TestSlotForgetsArguments(t *testing.T) {
	s := newTestServer(t)
	c := newTestClient(t, s)
	for _, n := range []int{3, 1000} {
		do(c, append([]string{"DEL"}, make([]string, n)...)...)
		args := c.slot.args[:cap(c.slot.args)]
		if len(args) > keptArgs || cap(c.slot.keys) > keptArgs {
			t.Errorf("after %d keys: room for %d arguments and %d keys", n, len(args), cap(c.slot.keys))
		}
		for i, a := range args {
			if a != nil {
				t.Errorf("after %d keys: argument %d is still there", n, i)
			}
		}
	}
}

// TestGarbageIsReturned: memory that nobody counted as dropped goes back to the system as well.
func TestGarbageIsReturned(t *testing.T) {
	const garbageBytes = 256 << 20
	s := newTestServer(t)
	now := time.Now()
	s.kept = garbageBytes // collect first, whatever other tests have left
	s.dropped = returnBytes
	s.returnMemory(now)
	garbage := make([]byte, garbageBytes)
	for i := 0; i < len(garbage); i += 4096 {
		garbage[i] = 1
	}
	_, before := goBytes()
	s.returnMemory(now.Add(returnEvery))
	if _, held := goBytes(); held > before-garbageBytes/2 {
		t.Errorf("%d MiB were held, and %d MiB still are", before>>20, held>>20)
	}
}
