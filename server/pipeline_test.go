package server

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"kvserver/hotkeys"
	"kvserver/server/transport"
)

// pipelineCommands are drawn from for random pipelines: those that join a row, with one lock mode or the other, those
// that do not, and some that are refused.
var pipelineCommands = []string{
	"GET %s", "SET %s v%d", "INCR %s", "STRLEN %s", "APPEND %s x", "TTL %s", "EXPIRE %s 100", "GETDEL %s", "TYPE %s",
	"PERSIST %s", "SET %s", "GET", "NOSUCH %s", "MGET %s a b", "DEL %s", "PING", "MSET %s 1 b 2", "DBSIZE", "SELECT 0",
	"MULTI", "EXEC", "DISCARD", "WATCH %s", "EXISTS %s", "GETRANGE %s 0 -1", "CLIENT REPLY SKIP", "OBJECT ENCODING %s",
}

// A pipeline answers what its commands answer one by one, however they are grouped.
func TestPipelineEqualsSingleCommands(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	one := newTestClient(t, newTestServer(t))
	many := newTestClient(t, newTestServer(t))
	for round := range 200 {
		var commands []string
		for n := 1 + random.IntN(60); n > 0; n-- {
			line := pipelineCommands[random.IntN(len(pipelineCommands))]
			key := string(rune('a' + random.IntN(4)))
			if strings.Contains(line, "%d") {
				line = fmt.Sprintf(line, key, n)
			} else if strings.Contains(line, "%s") {
				line = fmt.Sprintf(line, key)
			}
			commands = append(commands, request(strings.Fields(line)...))
		}
		want := ""
		for _, command := range commands {
			got, _ := feed(one, command)
			want += got
		}
		if got, _ := feed(many, strings.Join(commands, "")); got != want {
			t.Fatalf("seed %d, round %d: %q\n together %q\n one by one %q", seed, round, commands, got, want)
		}
	}
}

// A row stops where the output is worth a write, and what was parsed beyond comes again.
func TestRowStopsAtHighWater(t *testing.T) {
	c := newTestClient(t, newTestServer(t))
	value := strings.Repeat("v", transport.HighWater/2)
	do(c, "SET", "big", value)
	in := []byte(strings.Repeat(request("GET", "big"), 5) + "*2\r\n$3\r\nGET\r\n$3\r\nbi")
	reply := fmt.Sprintf("$%d\r\n%s\r\n", len(value), value)
	for _, want := range []struct {
		replies int
		verdict transport.Verdict
	}{{2, transport.Flush}, {2, transport.Flush}, {1, transport.More}} {
		used, _, out, v := c.Feed(in, nil)
		if string(out) != strings.Repeat(reply, want.replies) || v != want.verdict {
			t.Fatalf("%d bytes of replies, verdict %v; want %d replies, %v", len(out), v, want.replies, want.verdict)
		}
		in = in[used:]
	}
	if got, _ := feed(c, string(in)+"g\r\n"); got != reply {
		t.Fatalf("the frame that came in two parts: %.40q", got)
	}
}

// Names of sampled accesses lie in the input until they are counted: a row, a transaction and exclusive commands in
// one batch are all counted, exactly once.
func TestPipelineCountsAccesses(t *testing.T) {
	s := newTestServer(t, "--hotkeys-top-k", "10", "--hotkeys-sampling-percentage", "100")
	clock := int64(0)
	s.tracker = hotkeys.New(len(s.gate.slots), func() int64 { return clock }, 1)
	if err := s.configureTracking(); err != nil {
		t.Fatal(err)
	}
	c := newTestClient(t, s)
	feed(c, strings.Repeat(request("GET", "a"), 100)+request("MULTI")+request("GET", "b")+request("KEYS", "*")+request("EXEC")+
		request("INFO")+request("MGET", "a", "b")+request("FLUSHDB")+request("GET", "c"))
	clock = int64(time.Second)
	s.tracker.Rotate()
	if got, _ := s.tracker.LastWindow(); got != 104 {
		t.Fatalf("%d accesses, want 104", got)
	}
}
