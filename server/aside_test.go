package server

import (
	"testing"
	"time"

	"kvserver/server/transport"
)

// runEchoAside makes ECHO run as scripts do, past its time until release is closed if it is asked to echo "long".
func runEchoAside(s *Server, release <-chan struct{}) {
	echo := s.table.byName["echo"]
	echo.flags |= runsScripts | exclusive
	echo.handle = func(c *client, args [][]byte) {
		if string(args[1]) == "panic" {
			panic("as asked")
		}
		limit := time.Hour
		if string(args[1]) == "long" {
			limit = time.Microsecond
		}
		c.aside.takes(limit, func() {
			if string(args[1]) == "long" {
				<-release
			}
		})
		c.bulk(args[1])
	}
}

// TestAsideAnswersInOrder: what runs aside and ends in time looks like any other command.
func TestAsideAnswersInOrder(t *testing.T) {
	s := newTestServer(t)
	runEchoAside(s, nil)
	c := newTestClient(t, s)
	reply, v := feed(c, request("PING")+request("ECHO", "a")+request("ECHO", "b")+request("PING"))
	if want := "+PONG\r\n$1\r\na\r\n$1\r\nb\r\n+PONG\r\n"; reply != want || v != transport.More {
		t.Errorf("got %q, verdict %d", reply, v)
	}
	reply, _ = feed(c, request("MULTI")+request("SET", "k", "1")+request("ECHO", "a")+request("GET", "k")+request("EXEC"))
	if want := "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n+OK\r\n$1\r\na\r\n$1\r\n1\r\n"; reply != want {
		t.Errorf("in a transaction: %q", reply)
	}
	if reply, v := feed(c, request("PING")+request("ECHO", "panic")); reply != "+PONG\r\n-"+errInternal+"\r\n" || v != transport.Close {
		t.Errorf("after a panic: %q, verdict %d", reply, v)
	}
	if got := do(newTestClient(t, s), "GET", "k"); got != "$1\r\n1\r\n" {
		t.Errorf("another client after it: %q", got)
	}
}

// TestAsidePastItsTime: others, of the same loop too, are told that the server is busy, may do what needs no data, and leave;
// the command itself ends as if nothing had been.
func TestAsidePastItsTime(t *testing.T) {
	s := newTestServer(t)
	release := make(chan struct{})
	runEchoAside(s, release)
	c, other, leaver := newTestClient(t, s), newTestClient(t, s), newTestClient(t, s)
	do(leaver, "WATCH", "k")
	do(other, "WATCH", "k")
	reply, v := feed(c, request("PING")+request("MULTI")+request("SET", "k", "1")+request("ECHO", "long")+request("ECHO", "long")+request("EXEC"))
	if reply != "+PONG\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n" || v != transport.Park {
		t.Fatalf("got %q, verdict %d", reply, v)
	}
	if reply, v := feed(c, request("PING")); reply != "" || v != transport.Park {
		t.Errorf("fed while it runs: %q, verdict %d", reply, v)
	}
	for _, step := range []struct{ command, want string }{
		{"GET", "-" + errBusyScript + "\r\n"}, {"MULTI", "+OK\r\n"}, {"PING", "-" + errBusyScript + "\r\n"},
		{"EXEC", "-EXECABORT Transaction discarded because of: " + errBusyScript + "\r\n"},
		{"SHUTDOWN", "-" + errBusyScript + "\r\n"}, {"UNWATCH", "+OK\r\n"}, {"MULTI", "+OK\r\n"}, {"DISCARD", "+OK\r\n"}, {"RESET", "+RESET\r\n"},
	} {
		args := []string{step.command}
		if step.command == "GET" {
			args = append(args, "k")
		}
		if got := do(other, args...); got != step.want {
			t.Errorf("%s: %q, want %q", step.command, got, step.want)
		}
	}
	if _, v := feed(other, request("WATCH", "k")); v != transport.Park {
		t.Errorf("WATCH: verdict %d", v)
	}
	leaver.Closed()
	close(release)
	s.gate.enter(c.home)
	posted := string(connOf(c).posted)
	c.home.mu.Unlock()
	if want := "*3\r\n+OK\r\n$4\r\nlong\r\n$4\r\nlong\r\n"; posted != want || connOf(c).resumed == 0 {
		t.Errorf("posted %q, resumed %d times", posted, connOf(c).resumed)
	}
	if connOf(other).resumed == 0 || other.watcher.Watching() {
		t.Errorf("who had to wait was resumed %d times, and watches %d keys", connOf(other).resumed, other.watcher.Len())
	}
	if got := do(c, "GET", "k"); got != "$1\r\n1\r\n" {
		t.Errorf("afterwards: %q", got)
	}
	if s.clients.find(leaver.id) != nil {
		t.Error("who left meanwhile is still there")
	}
}
