package tests

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// blockedClients returns how many clients wait.
func blockedClients(c *conn) int64 { return infoInt(c, "clients", "blocked_clients") }

// wantBlocked waits until n clients wait.
func wantBlocked(c *conn, n int64) {
	c.t.Helper()
	eventually(c.t, fmt.Sprintf("%d clients wait", n), func() bool { return blockedClients(c) == n })
}

// blocked sends a command over a new connection, and returns when one client more waits. Watcher is another connection.
func (s *server) blocked(watcher *conn, args ...string) *conn {
	s.t.Helper()
	before := blockedClients(watcher)
	c := s.dial()
	c.send(string(encode(args...)))
	wantBlocked(watcher, before+1)
	return c
}

// served reads the reply to a command that was sent before.
func (c *conn) served(want string) {
	c.t.Helper()
	if got := c.reply(); got != want {
		c.t.Errorf("got %q, want %q", got, want)
	}
}

// bulks is an array of strings as RESP2 writes it.
func bulks(elems ...string) string { return string(encode(elems...)) }

func bulk(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }

// TestBlockedAreServedInOrder: whoever began to wait first is served first, whatever it waits with.
func TestBlockedAreServedInOrder(t *testing.T) {
	s := startServer(t)
	w := s.dial()
	const rounds = 5
	type waiter struct {
		c    *conn
		want func(elem string) string
	}
	var waiters []waiter
	popped := func(elem string) string { return bulks("l", elem) }
	for range rounds {
		waiters = append(waiters,
			waiter{s.blocked(w, "BLPOP", "l", "0"), popped},
			waiter{s.blocked(w, "BLPOP", "other", "l", "0"), popped},
			waiter{s.blocked(w, "BLMOVE", "l", "taken", "LEFT", "RIGHT", "0"), bulk},
			waiter{s.blocked(w, "BLMPOP", "0", "2", "other", "l", "LEFT"), func(elem string) string {
				return "*2\r\n" + bulk("l") + bulks(elem)
			}})
	}
	push := []string{"RPUSH", "l"}
	for i := range waiters {
		push = append(push, strconv.Itoa(i))
	}
	w.want(fmt.Sprintf(":%d\r\n", len(waiters)), push...)
	w.want(":0\r\n", "EXISTS", "l")
	for i, waiter := range waiters {
		waiter.c.served(waiter.want(strconv.Itoa(i)))
	}
	w.want(fmt.Sprintf(":%d\r\n", rounds), "LLEN", "taken")
	wantBlocked(w, 0)
}

// TestBlockedFromTheTail: BRPOP and its relatives take the last element of what was pushed at once.
func TestBlockedFromTheTail(t *testing.T) {
	s := startServer(t)
	w := s.dial()
	first := s.blocked(w, "BRPOP", "l", "0")
	second := s.blocked(w, "BRPOPLPUSH", "l", "to", "0")
	third := s.blocked(w, "BLMPOP", "0", "1", "l", "RIGHT", "COUNT", "2")
	w.want(":5\r\n", "RPUSH", "l", "a", "b", "c", "d", "e")
	first.served(bulks("l", "e"))
	second.served(bulk("d"))
	third.served("*2\r\n" + bulk("l") + bulks("c", "b"))
	w.want(bulks("a"), "LRANGE", "l", "0", "-1")
	w.want(bulks("d"), "LRANGE", "to", "0", "-1")
}

// TestBlockingTimeouts: when the time is over the reply is null, and the client goes on.
func TestBlockingTimeouts(t *testing.T) {
	s := startServer(t)
	for _, protocol := range []string{"2", "3"} {
		c := s.dial()
		c.do("HELLO", protocol)
		null := "*-1\r\n"
		if protocol == "3" {
			null = "_\r\n"
		}
		for _, args := range [][]string{
			{"BLPOP", "l", "0.001"}, {"BRPOP", "l", "m", "0.01"}, {"BLMOVE", "l", "m", "LEFT", "LEFT", "0.002"},
			{"BRPOPLPUSH", "l", "m", "0.001"}, {"BLMPOP", "0.001", "1", "l", "LEFT"}, {"BLPOP", "l", "0.0000001"},
		} {
			c.want(null, args...)
			c.want("+PONG\r\n", "PING")
		}
		c.want(":0\r\n", "EXISTS", "l", "m")
		wantBlocked(c, 0)
	}
}

// TestClientUnblock: one client ends the wait of another.
func TestClientUnblock(t *testing.T) {
	s := startServer(t)
	w := s.dial()
	wait := func(args ...string) (c *conn, id string) {
		c = s.dial()
		id = strings.Trim(c.do("CLIENT", "ID"), ":\r\n")
		before := blockedClients(w)
		c.send(string(encode(args...)))
		wantBlocked(w, before+1)
		return c, id
	}
	c, id := wait("BLPOP", "l", "0")
	w.want(":1\r\n", "CLIENT", "UNBLOCK", id)
	c.served("*-1\r\n")
	w.want(":0\r\n", "CLIENT", "UNBLOCK", id)

	c, id = wait("BLMOVE", "l", "m", "LEFT", "LEFT", "0")
	w.want(":1\r\n", "CLIENT", "UNBLOCK", id, "timeout")
	c.served("*-1\r\n")

	c, id = wait("BRPOP", "l", "0")
	w.want(":1\r\n", "CLIENT", "UNBLOCK", id, "ERROR")
	c.served("-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n")
	c.want("+PONG\r\n", "PING")

	w.want(":0\r\n", "CLIENT", "UNBLOCK", "999999")
	w.want("-ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR\r\n", "CLIENT", "UNBLOCK", id, "bogus")
	w.want("-ERR value is not an integer or out of range\r\n", "CLIENT", "UNBLOCK", "x")
	w.want(":1\r\n", "RPUSH", "l", "kept")
	w.want(":1\r\n", "LLEN", "l")
	wantBlocked(w, 0)
}

// TestBlockedCommandsCountOnce: in the statistics a command that waited counts when its wait has ended, however it did.
func TestBlockedCommandsCountOnce(t *testing.T) {
	s := startServer(t)
	w := s.dial()
	wantCalls := func(calls, failed int) {
		t.Helper()
		stat, counted := infoField(w, "commandstats", "cmdstat_brpop")
		if !counted && calls == 0 {
			return
		}
		if !strings.HasPrefix(stat, fmt.Sprintf("calls=%d,", calls)) || !strings.HasSuffix(stat, fmt.Sprintf("failed_calls=%d", failed)) {
			t.Errorf("BRPOP counts as %q, want %d calls, %d failed", stat, calls, failed)
		}
	}
	c := s.blocked(w, "BRPOP", "l", "0")
	wantCalls(0, 0)
	w.do("RPUSH", "l", "a")
	c.served(bulks("l", "a"))
	wantCalls(1, 0)

	c.want("*-1\r\n", "BRPOP", "l", "0.001")
	wantCalls(2, 0)

	id := strings.Trim(c.do("CLIENT", "ID"), ":\r\n")
	for i, how := range []string{"TIMEOUT", "ERROR"} {
		c.send(string(encode("BRPOP", "l", "0")))
		wantBlocked(w, 1)
		w.want(":1\r\n", "CLIENT", "UNBLOCK", id, how)
		wantCalls(3+i, i)
		c.reply()
	}
}

// TestBlockingInMulti: in a transaction nobody waits, also for what another command of it takes away.
func TestBlockingInMulti(t *testing.T) {
	s := startServer(t)
	c := s.dial()
	c.ok("MULTI")
	for _, args := range [][]string{{"BLPOP", "l", "0"}, {"RPUSH", "l", "a"}, {"BLPOP", "l", "0"}, {"BLMOVE", "l", "m", "LEFT", "LEFT", "0"}} {
		c.want("+QUEUED\r\n", args...)
	}
	c.want("*4\r\n*-1\r\n:1\r\n"+bulks("l", "a")+"$-1\r\n", "EXEC")
	c.want("+PONG\r\n", "PING")
}

// TestBlockedClientsGo: of a client that goes away while it waits nothing is left.
func TestBlockedClientsGo(t *testing.T) {
	s := startServer(t)
	w := s.dial()
	gone := s.blocked(w, "BLPOP", "l", "m", "0")
	killed := s.blocked(w, "BLMOVE", "l", "m", "LEFT", "LEFT", "0")
	stays := s.blocked(w, "BLPOP", "n", "l", "0")
	gone.nc.Close()
	wantBlocked(w, 2)
	laddr := killed.nc.LocalAddr().String()
	w.ok("CLIENT", "KILL", laddr)
	wantBlocked(w, 1)
	w.want(":2\r\n", "RPUSH", "l", "a", "b")
	stays.served(bulks("l", "a"))
	w.want(bulks("b"), "LRANGE", "l", "0", "-1")
	w.want(":0\r\n", "EXISTS", "m")
	wantBlocked(w, 0)

	many := make([]*conn, 200)
	for i := range many {
		many[i] = s.dial()
		many[i].send(string(encode("BLPOP", "crowd", "0")))
	}
	wantBlocked(w, int64(len(many)))
	w.want(":1\r\n", "RPUSH", "crowd", "x")
	w.want(":0\r\n", "EXISTS", "crowd")
	for _, c := range many {
		c.nc.Close()
	}
	wantBlocked(w, 0)
	w.want(":1\r\n", "RPUSH", "crowd", "x")
	w.want(":1\r\n", "LLEN", "crowd")
}

// TestBlockedChain: serving one client may make the key ready that another one waits for, however they came.
func TestBlockedChain(t *testing.T) {
	s := startServer(t)
	w := s.dial()
	last := s.blocked(w, "BLPOP", "d", "0")
	third := s.blocked(w, "BLMOVE", "c", "d", "LEFT", "RIGHT", "0")
	second := s.blocked(w, "BRPOPLPUSH", "b", "c", "0")
	first := s.blocked(w, "BLMOVE", "a", "b", "RIGHT", "LEFT", "0")
	if replies := w.pipeline([][]string{{"RPUSH", "a", "x"}, {"EXISTS", "a", "b", "c", "d"}}); replies[0] != ":1\r\n" || replies[1] != ":0\r\n" {
		t.Errorf("the writer got %q", replies)
	}
	first.served(bulk("x"))
	second.served(bulk("x"))
	third.served(bulk("x"))
	last.served(bulks("d", "x"))
	wantBlocked(w, 0)

	circle := s.blocked(w, "BLMOVE", "ring", "ring", "LEFT", "RIGHT", "0")
	w.want(":2\r\n", "RPUSH", "ring", "1", "2")
	circle.served(bulk("1"))
	w.want(bulks("2", "1"), "LRANGE", "ring", "0", "-1")
}

// TestBlockedBeforeTheNextCommand: a writer's next command, in the same pipeline, comes after the clients it woke; so does
// that of any other client. In a transaction they are served after all of it.
func TestBlockedBeforeTheNextCommand(t *testing.T) {
	s := startServer(t)
	w := s.dial()
	for range 20 {
		c := s.blocked(w, "BLPOP", "l", "0")
		replies := w.pipeline([][]string{{"RPUSH", "l", "a", "b"}, {"LRANGE", "l", "0", "-1"}, {"LPOP", "l"}, {"EXISTS", "l"}})
		if want := []string{":2\r\n", bulks("b"), bulk("b"), ":0\r\n"}; fmt.Sprint(replies) != fmt.Sprint(want) {
			t.Fatalf("got %q, want %q", replies, want)
		}
		c.served(bulks("l", "a"))
	}
	c := s.blocked(w, "BLPOP", "l", "0")
	replies := w.pipeline([][]string{{"MULTI"}, {"RPUSH", "l", "a", "b"}, {"LLEN", "l"}, {"LPUSH", "l", "z"}, {"EXEC"}, {"LLEN", "l"}})
	if want := "*3\r\n:2\r\n:2\r\n:3\r\n"; replies[4] != want || replies[5] != ":2\r\n" {
		t.Errorf("got %q", replies)
	}
	c.served(bulks("l", "z"))
}

// TestBlockedAndNothingLeft: a key that comes and goes within one transaction wakes nobody.
func TestBlockedAndNothingLeft(t *testing.T) {
	s := startServer(t)
	w := s.dial()
	c := s.blocked(w, "BLPOP", "l", "0")
	for _, undo := range [][]string{{"DEL", "l"}, {"LPOP", "l"}, {"RENAME", "l", "elsewhere"}, {"SET", "l", "v"}} {
		w.ok("MULTI")
		w.want("+QUEUED\r\n", "RPUSH", "l", "a")
		w.want("+QUEUED\r\n", undo...)
		w.do("EXEC")
		if n := blockedClients(w); n != 1 {
			t.Fatalf("after %s %d clients wait", undo, n)
		}
	}
	w.want(":1\r\n", "DEL", "l")
	w.want(":1\r\n", "RPUSH", "l", "b")
	c.served(bulks("l", "b"))
}

// TestBlockedAndTypes: a value of another type wakes nobody; a destination of another type is an error for the one that
// waits, and its element stays.
func TestBlockedAndTypes(t *testing.T) {
	s := startServer(t)
	w := s.dial()
	c := s.blocked(w, "BLPOP", "l", "m", "0")
	w.ok("SET", "l", "v")
	w.want(":1\r\n", "SADD", "m", "x")
	wantBlocked(w, 1)
	w.want(":2\r\n", "DEL", "l", "m")
	w.want(":1\r\n", "RPUSH", "m", "a")
	c.served(bulks("m", "a"))

	c = s.blocked(w, "BLMOVE", "from", "to", "LEFT", "LEFT", "0")
	next := s.blocked(w, "BLPOP", "from", "0")
	w.ok("SET", "to", "v")
	w.want(":1\r\n", "RPUSH", "from", "a")
	c.served("-WRONGTYPE Operation against a key holding the wrong kind of value\r\n")
	next.served(bulks("from", "a"))
	wantBlocked(w, 0)
}

// TestBlockedUntilAnyWrite: it does not matter which command gives the key a list.
func TestBlockedUntilAnyWrite(t *testing.T) {
	s := ownServer(t)
	w := s.dial()
	payload := func() string {
		w.want(":1\r\n", "RPUSH", "source", "a")
		_, rest, _ := strings.Cut(w.do("DUMP", "source"), "\r\n")
		w.want(":1\r\n", "DEL", "source")
		return strings.TrimSuffix(rest, "\r\n")
	}()
	for _, writes := range [][][]string{
		{{"RPUSH", "source", "a"}, {"RENAME", "source", "l"}},
		{{"RPUSH", "source", "a"}, {"RENAMENX", "source", "l"}},
		{{"RPUSH", "source", "a"}, {"COPY", "source", "l"}},
		{{"RPUSH", "source", "a"}, {"LMOVE", "source", "l", "LEFT", "LEFT"}},
		{{"RPUSH", "source", "a"}, {"RPOPLPUSH", "source", "l"}},
		{{"RPUSH", "source", "a"}, {"SORT", "source", "ALPHA", "STORE", "l"}},
		{{"RESTORE", "l", "0", payload}},
		{{"MULTI"}, {"SET", "l", "v"}, {"DEL", "l"}, {"RPUSH", "l", "a"}, {"EXEC"}},
		{{"SELECT", "1"}, {"RPUSH", "l", "a"}, {"MOVE", "l", "0"}, {"SELECT", "0"}},
		{{"SELECT", "1"}, {"RPUSH", "l", "a"}, {"SWAPDB", "0", "1"}, {"SELECT", "0"}},
		{{"SELECT", "1"}, {"RPUSH", "l", "a"}, {"SELECT", "0"}, {"COPY", "l", "l"}, {"SWAPDB", "1", "0"}},
		{{"SELECT", "1"}, {"RPUSH", "l", "a"}, {"COPY", "l", "l", "DB", "0"}, {"SELECT", "0"}},
	} {
		c := s.blocked(w, "BLPOP", "l", "0")
		for _, args := range writes {
			w.do(args...)
		}
		c.served(bulks("l", "a"))
		w.want(":0\r\n", "EXISTS", "l")
		w.ok("FLUSHALL")
	}
	wantBlocked(w, 0)
}

// TestBlockedInTheirDatabase: the same name in another database is another key.
func TestBlockedInTheirDatabase(t *testing.T) {
	s := ownServer(t)
	w := s.dial()
	c := s.dial()
	c.ok("SELECT", "1")
	c.send(string(encode("BLPOP", "l", "0")))
	wantBlocked(w, 1)
	zero := s.blocked(w, "BLPOP", "l", "0")
	w.want(":2\r\n", "RPUSH", "l", "a", "b")
	zero.served(bulks("l", "a"))
	wantBlocked(w, 1)
	w.ok("SWAPDB", "0", "1")
	c.served(bulks("l", "b"))
	wantBlocked(w, 0)
}

// TestBlockedOnSeveralKeys: of keys that become ready together the first among the arguments is taken, since Redis 7.2 runs
// the command anew. Before, it was the one pushed to first.
func TestBlockedOnSeveralKeys(t *testing.T) {
	s := startServer(t)
	w := s.dial()
	c := s.blocked(w, "BLPOP", "k1", "k2", "k3", "k2", "0")
	w.ok("MULTI")
	w.do("RPUSH", "k3", "c")
	w.do("RPUSH", "k2", "b")
	w.want("*2\r\n:1\r\n:1\r\n", "EXEC")
	c.served(bulks("k2", "b"))
	w.want(":1\r\n", "EXISTS", "k2", "k3")
	w.want(":1\r\n", "RPUSH", "k1", "a")
	w.want(":1\r\n", "LLEN", "k1")
	wantBlocked(w, 0)
}

// TestBlockedInput: what a client sends while it waits runs after it was served.
func TestBlockedInput(t *testing.T) {
	s := startServer(t)
	w := s.dial()
	c := s.dial()
	c.send(string(encode("RPUSH", "before", "x")) + string(encode("BLPOP", "l", "0")) + string(encode("LLEN", "l")) + string(encode("BLPOP", "m", "0")))
	c.served(":1\r\n")
	wantBlocked(w, 1)
	c.send(string(encode("PING")))
	w.want(":3\r\n", "RPUSH", "l", "a", "b", "c")
	c.served(bulks("l", "a"))
	c.served(":2\r\n")
	wantBlocked(w, 1)
	w.want(":1\r\n", "LPUSH", "m", "z")
	c.served(bulks("m", "z"))
	c.served("+PONG\r\n")
	wantBlocked(w, 0)
}

// TestBlockedLoseNothing: with many who wait, give up, are unblocked and push at the same time, every element comes to
// exactly one of them or stays.
func TestBlockedLoseNothing(t *testing.T) {
	const consumers, producers, pushes = 6, 3, 300
	s := startServer(t)
	conns := make([]*conn, consumers+producers)
	ids := make([]string, consumers)
	for i := range conns {
		conns[i] = s.dial()
		if i < consumers {
			ids[i] = strings.Trim(conns[i].do("CLIENT", "ID"), ":\r\n")
		}
	}
	var producing atomic.Int64
	producing.Store(producers)
	taken := make([][]string, consumers)
	together(t, len(conns), func(worker int) error {
		c, r := conns[worker], rand.New(rand.NewPCG(uint64(worker), 1))
		if worker >= consumers {
			defer producing.Add(-1)
			for i := range pushes {
				elem := fmt.Sprintf("%d-%d", worker, i)
				if _, err := c.tryAll([]string{"RPUSH", fmt.Sprintf("l%d", r.IntN(2)), elem}, []string{"CLIENT", "UNBLOCK", ids[r.IntN(consumers)]}); err != nil {
					return err
				}
			}
			return nil
		}
		for empty := 0; producing.Load() > 0 || empty < 2; {
			b, err := c.try([]string{"BLPOP", "BRPOP"}[r.IntN(2)], "l0", "l1", []string{"0.001", "0.05"}[r.IntN(2)])
			if err != nil {
				return err
			}
			if v := parseReply(string(b)); len(v.elems) == 2 {
				taken[worker] = append(taken[worker], v.elems[1].text)
				empty = 0
			} else {
				empty++
			}
		}
		return nil
	})
	seen := map[string]bool{}
	for _, elems := range taken {
		for _, elem := range elems {
			if seen[elem] {
				t.Errorf("%s came twice", elem)
			}
			seen[elem] = true
		}
	}
	w := s.dial()
	if left := parseReply(w.do("EXISTS", "l0", "l1")); len(seen) != producers*pushes {
		t.Errorf("%d elements of %d came, and lists are left: %v", len(seen), producers*pushes, left)
	}
	wantBlocked(w, 0)
}
