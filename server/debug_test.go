package server

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"kvserver/server/transport"
)

func TestDebugIsProtected(t *testing.T) {
	remote := &fakeConn{remote: "10.0.0.1:5", local: "10.0.0.2:6379"}
	local := &fakeConn{remote: "127.0.0.1:5", local: "127.0.0.1:6379"}
	socket := &fakeConn{remote: "/s:0", local: "/s:0", unix: true}
	const refusal = "-ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can run it " +
		"from a local connection, otherwise you need to set this option in the configuration file, and then restart the server.\r\n"
	for _, test := range []struct {
		setting string
		conn    *fakeConn
		allowed bool
	}{
		{"no", local, false}, {"no", socket, false}, {"local", local, true}, {"local", socket, true},
		{"local", remote, false}, {"yes", remote, true},
	} {
		s := newTestServer(t, "--enable-debug-command", test.setting, "--protected-mode", "no")
		c := connect(t, s, test.conn)
		if got := do(c, "DEBUG", "JMAP"); test.allowed && got != "+OK\r\n" || !test.allowed && got != refusal {
			t.Errorf("%s, from %s: %q", test.setting, test.conn.remote, got)
		}
		// Redis counts arguments first.
		if got := do(c, "DEBUG"); got != "-ERR wrong number of arguments for 'debug' command\r\n" {
			t.Errorf("%s: %q", test.setting, got)
		}
		if test.allowed {
			continue
		}
		do(c, "MULTI")
		do(c, "DEBUG", "JMAP")
		if got := do(c, "EXEC"); got != "-"+errExecAbort+"\r\n" {
			t.Errorf("the refusal does not spoil the transaction: %q", got)
		}
	}
}

func newDebugClient(t *testing.T) *client {
	return newTestClient(t, newTestServer(t, "--enable-debug-command", "yes"))
}

func TestDebugReplies(t *testing.T) {
	tests := []replyCase{
		{"DEBUG SLEEP 0", "+OK\r\n"},
		{"DEBUG SLEEP abc", "+OK\r\n"},
		{"DEBUG SLEEP nan", "+OK\r\n"},
		{"DEBUG SLEEP -1", "+OK\r\n"},
		{"DEBUG SLEEP", "-ERR unknown subcommand or wrong number of arguments for 'SLEEP'. Try DEBUG HELP.\r\n"},
		{"DEBUG nosuch", "-ERR unknown subcommand or wrong number of arguments for 'nosuch'. Try DEBUG HELP.\r\n"},
		{"DEBUG SET-ACTIVE-EXPIRE x", "+OK\r\n"},
		{"DEBUG SET-ACTIVE-EXPIRE 1", "+OK\r\n"},
		{"DEBUG SET-ACTIVE-EXPIRE", "-ERR unknown subcommand or wrong number of arguments for 'SET-ACTIVE-EXPIRE'. Try DEBUG HELP.\r\n"},
		{"DEBUG OBJECT nosuch", "-ERR no such key\r\n"},
		{"DEBUG OBJECT a b", "-ERR unknown subcommand or wrong number of arguments for 'OBJECT'. Try DEBUG HELP.\r\n"},
		{"DEBUG HELP x", "-ERR unknown subcommand or wrong number of arguments for 'HELP'. Try DEBUG HELP.\r\n"},
	}
	c := newDebugClient(t)
	checkReplies(t, c, tests)
}

var objectLine = regexp.MustCompile(`^\+Value at:0x[0-9a-f]+ refcount:\d+ encoding:(\w+) serializedlength:(\d+) lru:\d+ lru_seconds_idle:\d+`)

// TestDebugObject compares with a real server. Texts that repeat are left out: they are compressed by another compressor.
func TestDebugObject(t *testing.T) {
	commands := [][]string{{"ZADD", "k", "1", "a", "2.5", "b"}, {"HSET", "k", "f", "v"}, {"SADD", "k", "1", "2"}, {"XADD", "k", "1-1", "f", "v"}}
	for _, v := range []string{"", "0", "127", "-128", "128", "-129", "32767", "-32768", "32768", "2147483647", "-2147483648",
		"2147483648", "9223372036854775807", "01", "-0", "hello", "3.0", strings.Repeat("x", 20)} {
		commands = append(commands, []string{"SET", "k", v})
	}
	c, p := newDebugClient(t), startPeer(t)
	for _, command := range commands {
		do(c, "DEL", "k")
		p.do("DEL", "k")
		do(c, command...)
		p.do(command...)
		ours := objectLine.FindStringSubmatch(strings.TrimSuffix(do(c, "DEBUG", "OBJECT", "k"), "\r\n"))
		theirs := objectLine.FindStringSubmatch(p.do("DEBUG", "OBJECT", "k").String())
		if ours == nil || theirs == nil || ours[1] != theirs[1] || ours[2] != theirs[2] {
			t.Errorf("%q: ours %q, theirs %q", command, ours, theirs)
		}
	}
}

func TestDebugObjectIsNoAccess(t *testing.T) {
	c := newDebugClient(t)
	do(c, "SET", "k", "v")
	before := c.view.Stats()
	do(c, "DEBUG", "OBJECT", "k")
	do(c, "MEMORY", "USAGE", "k")
	if after := c.view.Stats(); after != before {
		t.Errorf("hits and misses went from %+v to %+v", before, after)
	}
}

func TestDebugSleepEndsAtShutdown(t *testing.T) {
	c := newDebugClient(t)
	answered := make(chan string)
	go func() { answered <- do(c, "DEBUG", "SLEEP", "1e300") }()
	close(c.s.stop)
	if got := <-answered; got != "+OK\r\n" {
		t.Error(got)
	}
	c.s.stop = make(chan struct{}) // for the shutdown at the end of the test
}

func TestPanicIsAnsweredAndSurvived(t *testing.T) {
	c := newDebugClient(t)
	other := newTestClient(t, c.s)
	got, v := feed(c, request("PING")+request("DEBUG", "PANIC")+request("PING"))
	if want := "+PONG\r\n-" + errInternal + "\r\n"; got != want || v != transport.Close {
		t.Errorf("%q, verdict %d", got, v)
	}
	if got := do(other, "SET", "k", "v"); got != "+OK\r\n" {
		t.Errorf("another client after the panic: %q", got)
	}
	if got := do(other, "INFO", "stats"); !strings.Contains(got, "\r\nhandler_panics:1\r\n") {
		t.Errorf("the panic is not counted: %q", got)
	}
	// Inside a transaction the half-written reply is taken back.
	do(other, "MULTI")
	do(other, "PING")
	do(other, "DEBUG", "PANIC")
	if got := do(other, "EXEC"); got != "-"+errInternal+"\r\n" {
		t.Errorf("in EXEC: %q", got)
	}
}

// TestDebugProtocol shows a client every reply type. The bytes were compared with those of a real server.
func TestDebugProtocol(t *testing.T) {
	for _, test := range []struct{ kind, resp2, resp3 string }{
		{"string", "$11\r\nHello World\r\n", "$11\r\nHello World\r\n"},
		{"integer", ":12345\r\n", ":12345\r\n"},
		{"double", "$5\r\n3.141\r\n", ",3.141\r\n"},
		{"null", "$-1\r\n", "_\r\n"},
		{"array", "*3\r\n:0\r\n:1\r\n:2\r\n", "*3\r\n:0\r\n:1\r\n:2\r\n"},
		{"set", "*3\r\n:0\r\n:1\r\n:2\r\n", "~3\r\n:0\r\n:1\r\n:2\r\n"},
		{"map", "*6\r\n:0\r\n:0\r\n:1\r\n:1\r\n:2\r\n:0\r\n", "%3\r\n:0\r\n#f\r\n:1\r\n#t\r\n:2\r\n#f\r\n"},
		{"push", "-ERR RESP2 is not supported by this command\r\n",
			">2\r\n$16\r\nserver-cpu-usage\r\n:42\r\n$40\r\nSome real reply following the push reply\r\n"},
		{"verbatim", "$25\r\nThis is a verbatim\nstring\r\n", "=29\r\ntxt:This is a verbatim\nstring\r\n"},
		{"TRUE", ":1\r\n", "#t\r\n"},
		{"false", ":0\r\n", "#f\r\n"},
		{"bignum", "$37\r\n1234567999999999999999999999999999999\r\n", "(1234567999999999999999999999999999999\r\n"},
		{"attrib", "$39\r\nSome real reply following the attribute\r\n",
			"|1\r\n$14\r\nkey-popularity\r\n*2\r\n$7\r\nkey:123\r\n:90\r\n$39\r\nSome real reply following the attribute\r\n"},
	} {
		c := newDebugClient(t)
		if got := do(c, "DEBUG", "PROTOCOL", test.kind); got != test.resp2 {
			t.Errorf("%s in RESP2: %q", test.kind, got)
		}
		do(c, "HELLO", "3")
		if got := do(c, "DEBUG", "PROTOCOL", test.kind); got != test.resp3 {
			t.Errorf("%s in RESP3: %q", test.kind, got)
		}
	}
}

// TestDebugPauseCron looks at a beat an hour later, at which clients that said nothing are closed.
func TestDebugPauseCron(t *testing.T) {
	s := newTestServer(t, "--enable-debug-command", "yes", "--timeout", "60")
	c, idle := newTestClient(t, s), newTestClient(t, s)
	do(idle, "PING")
	sl := s.houseSlot
	do(c, "CLIENT", "PAUSE", "1000", "WRITE")
	do(c, "DEBUG", "PAUSE-CRON", "1")
	s.housekeeping(sl, time.Now().Add(time.Hour))
	if connOf(idle).closed {
		t.Error("the housekeeping went on")
	}
	if s.pause.untilMs != 0 {
		t.Error("CLIENT PAUSE did not end while the housekeeping is paused")
	}
	do(c, "DEBUG", "PAUSE-CRON", "0")
	s.housekeeping(sl, time.Now().Add(time.Hour))
	if !connOf(idle).closed {
		t.Error("the housekeeping did not go on again")
	}
}

// TestDebugStringMatch: Redis 7.0 has no such subcommand.
func TestDebugStringMatch(t *testing.T) {
	c := newDebugClient(t)
	for _, test := range []struct{ pattern, text, want string }{
		{"a*c", "abc", ":1\r\n"}, {"a*c", "abd", ":0\r\n"}, {"", "", ":1\r\n"}, {"[a-c]?", "bx", ":1\r\n"}, {"A", "a", ":0\r\n"},
	} {
		if got := do(c, "DEBUG", "STRINGMATCH-LEN", test.pattern, test.text); got != test.want {
			t.Errorf("%q %q: %q", test.pattern, test.text, got)
		}
	}
	for _, command := range []string{"DICT-RESIZING 0", "SET-DISABLE-DENY-SCRIPTS 1", "CHANGE-REPL-ID", "JMAP"} {
		if got := do(c, strings.Fields("DEBUG "+command)...); got != "+OK\r\n" {
			t.Errorf("%s: %q", command, got)
		}
	}
}
