package server

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// loggedCommands are the arguments of the entries of a log, the latest command first.
func loggedCommands(s *Server, kind logKind) (commands []string) {
	for _, e := range s.observe.logs[kind].latest(1000) {
		commands = append(commands, strings.Join(e.args, " "))
	}
	return commands
}

func wantLogged(t *testing.T, s *Server, kind logKind, want ...string) {
	t.Helper()
	if got := loggedCommands(s, kind); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("logged:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	s.observe.logs[kind].reset()
}

func TestSlowlogShowsNoPassword(t *testing.T) {
	s := newTestServer(t, "--slowlog-log-slower-than", "0", "--requirepass", "hunter2")
	c := newTestClient(t, s)
	for _, args := range [][]string{
		{"GET", "k"}, // refused: not run
		{"AUTH", "hunter1"},
		{"AUTH", "default", "hunter2", "hunter3"},
		{"HELLO", "3", "AUTH", "default", "hunter2", "SETNAME", "me"},
		{"HELLO", "3", "SETNAME", "me", "auth", "default", "hunter2", "hunter3"},
		{"CONFIG", "SET", "maxclients", "20", "RequirePass", "hunter3"},
		{"CONFIG", "SET", "nosuch", "x", "requirepass", "hunter3"},
		{"CONFIG", "SET", "requirepass", "hunter2", "timeout"},
		{"MULTI"},
		{"AUTH", "hunter2"},
		{"GET", "k"},
		{"EXEC"},
	} {
		do(c, args...)
	}
	wantLogged(t, s, slowLog,
		"GET k",
		"AUTH (redacted)",
		"MULTI",
		"CONFIG SET requirepass (redacted) timeout",
		"CONFIG SET nosuch x requirepass (redacted)",
		"CONFIG SET maxclients 20 RequirePass (redacted)",
		"HELLO 3 SETNAME me auth (redacted) (redacted) hunter3", // as Redis: that is no password's place
		"HELLO 3 AUTH (redacted) (redacted) SETNAME me",
		"AUTH (redacted) (redacted) (redacted)",
		"AUTH (redacted)")
}

func TestSlowlogCutsArguments(t *testing.T) {
	s := newTestServer(t, "--slowlog-log-slower-than", "0")
	c := newTestClient(t, s)
	full := strings.Repeat("x", loggedBytesMax)
	do(c, "SET", "k", full)
	do(c, "SET", "k", full+"yz")
	keys := strings.Fields(strings.Repeat("k ", 40))
	do(c, append([]string{"EXISTS"}, keys[:31]...)...)
	do(c, append([]string{"EXISTS"}, keys...)...)
	wantLogged(t, s, slowLog,
		"EXISTS "+strings.Join(keys[:30], " ")+" ... (10 more arguments)",
		"EXISTS "+strings.Join(keys[:31], " "),
		"SET k "+full+"... (2 more bytes)",
		"SET k "+full)
}

var slowlogEntry = regexp.MustCompile(`^\*1\r\n\*6\r\n:2\r\n:\d{10}\r\n:\d+\r\n\*2\r\n\$4\r\nECHO\r\n\$2\r\nhi\r\n\$15\r\n127.0.0.1:40001\r\n\$2\r\nme\r\n$`)

// TestSlowlogFollowsItsParameters: a change is in force at once, in the same pipeline and for other clients.
func TestSlowlogFollowsItsParameters(t *testing.T) {
	s := newTestServer(t, "--slowlog-log-slower-than", "-1")
	c, other := newTestClient(t, s), newTestClient(t, s)
	feed(c, request("CLIENT", "SETNAME", "me")+request("CONFIG", "SET", "slowlog-log-slower-than", "0", "slowlog-max-len", "2")+
		request("PING")+request("ECHO", "hi"))
	if got := do(c, "SLOWLOG", "GET", "1"); !slowlogEntry.MatchString(got) {
		t.Errorf("SLOWLOG GET 1: %q", got)
	}
	do(other, "PING")
	wantLogged(t, s, slowLog, "PING", "SLOWLOG GET 1")
	feed(c, request("CONFIG", "SET", "commandlog-execution-slower-than", "-1")+request("PING"))
	do(other, "PING")
	wantLogged(t, s, slowLog)
	do(c, "CONFIG", "SET", "slowlog-log-slower-than", "9223372036854775807")
	do(c, "PING")
	do(c, "CONFIG", "SET", "slowlog-log-slower-than", "0", "slowlog-max-len", "0")
	do(c, "PING")
	wantLogged(t, s, slowLog)
	do(c, "CONFIG", "SET", "slowlog-max-len", "3")
	for i := range 5 {
		do(c, "ECHO", strconv.Itoa(i))
	}
	do(c, "CONFIG", "SET", "slowlog-max-len", "1", "slowlog-log-slower-than", "1000000")
	wantLogged(t, s, slowLog, "ECHO 4")
}

// TestSlowlogOfBlockedCommand: it is logged when it has done something, not when it begins to wait.
func TestSlowlogOfBlockedCommand(t *testing.T) {
	s := newTestServer(t, "--slowlog-log-slower-than", "0")
	c, other := newTestClient(t, s), newTestClient(t, s)
	do(c, "BLPOP", "k", "0")
	wantLogged(t, s, slowLog)
	do(other, "RPUSH", "k", "v")
	wantLogged(t, s, slowLog, "BLPOP k 0", "RPUSH k v")
}

func TestCommandlogOfLargeRequests(t *testing.T) {
	s := newTestServer(t, "--commandlog-request-larger-than", "1000", "--slowlog-log-slower-than", "3600000000") // no machine is that slow
	c := newTestClient(t, s)
	// $3, SET, $1, k, $963 and 963 bytes, with their line ends.
	const overhead = len("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$975\r\n\r\n")
	do(c, "SET", "k", strings.Repeat("x", 999-overhead))
	feed(c, strings.Repeat(request("PING"), 100)+request("SET", "k", strings.Repeat("y", 1000-overhead)))
	if e := s.observe.logs[largeRequestLog].latest(9); len(e) != 1 || e[0].value != 1000 {
		t.Errorf("%+v", e)
	}
	s.observe.logs[largeRequestLog].reset()
	do(c, "MULTI")
	do(c, "ECHO", strings.Repeat("x", 1000))
	do(c, "PING")
	wantLogged(t, s, largeRequestLog)
	do(c, "EXEC")
	if e := s.observe.logs[largeRequestLog].latest(9); len(e) != 1 || e[0].args[0] != "ECHO" {
		t.Errorf("of a transaction: %+v", e)
	}
	if n := s.observe.logs[slowLog].len(); n != 0 {
		t.Errorf("%d of them are slow", n)
	}
}

func TestCommandlogOfLargeReplies(t *testing.T) {
	s := newTestServer(t, "--commandlog-reply-larger-than", "100")
	c := newTestClient(t, s)
	do(c, "SET", "k", strings.Repeat("x", 92))
	feed(c, request("GET", "k")+request("APPEND", "k", "x")+request("GET", "k"))
	if e := s.observe.logs[largeReplyLog].latest(9); len(e) != 1 || e[0].value != 100 || e[0].id != 0 {
		t.Errorf("%+v", e)
	}
}

func TestRequestBytes(t *testing.T) {
	for _, n := range []int{0, 1, 9, 10, 99, 100, 12345} {
		args := []string{"ECHO", strings.Repeat("x", n)}
		if got, want := requestBytes([][]byte{[]byte(args[0]), []byte(args[1])}), len(request(args...)); got != int64(want) {
			t.Errorf("%d bytes: %d, not %d", n, got, want)
		}
	}
}
