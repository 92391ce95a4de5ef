package server

import (
	"regexp"
	"strings"
	"testing"
)

// monitored is what a client that monitors was told, without the times.
func monitored(c *client) string {
	conn := connOf(c)
	text := regexp.MustCompile(`(?m)^\+\d{10}\.\d{6} `).ReplaceAllString(string(conn.posted), "")
	conn.posted = nil
	return text
}

func wantMonitored(t *testing.T, m *client, lines ...string) {
	t.Helper()
	want := ""
	for _, l := range lines {
		want += l + "\r\n"
	}
	if got := monitored(m); got != want {
		t.Errorf("MONITOR shows\n%s\nwant\n%s", got, want)
	}
}

// TestMonitor compares with recordings of Redis 7.0.
func TestMonitor(t *testing.T) {
	s := newTestServer(t)
	m, c, other := newTestClient(t, s), newTestClient(t, s), newTestClient(t, s)
	do(c, "PING")
	if got := do(m, "MONITOR"); got != "+OK\r\n" {
		t.Errorf("MONITOR: %q", got)
	}
	const from = "[0 127.0.0.1:40002] "
	do(c, "set", "a", "x\"\\y\n\t\r\a\b\x01\xff")
	wantMonitored(t, m, from+`"set" "a" "x\"\\y\n\t\r\a\b\x01\xff"`)
	feed(c, request("GET", "a")+request("GET", "b")+request("nosuch")+request("GET")+request("CONFIG", "GET", "x")+"PING\r\n")
	wantMonitored(t, m, from+`"GET" "a"`, from+`"GET" "b"`, from+`"PING"`)

	do(c, "auth", "secret")
	do(c, "AUTH", "default", "secret")
	do(c, "hello", "2", "auth", "default", "secret", "setname", "bla")
	wantMonitored(t, m, from+`"auth" "(redacted)"`, from+`"AUTH" "(redacted)" "(redacted)"`,
		from+`"hello" "2" "auth" "(redacted)" "(redacted)" "setname" "bla"`)
	for _, refused := range [][]string{
		{"hello", "9", "auth", "u", "secret"}, {"hello", "x", "AUTH", "u", "secret"}, {"hello", "3", "auth", "secret"}, {"hello", "3", "bogus", "auth", "u", "secret"},
		{"hello", "3", "setname", "auth", "auth", "u", "secret"},
	} {
		do(c, refused...)
	}
	wantMonitored(t, m, from+`"hello" "9" "auth" "(redacted)" "(redacted)"`, from+`"hello" "x" "AUTH" "(redacted)" "(redacted)"`,
		from+`"hello" "3" "auth" "(redacted)"`, from+`"hello" "3" "bogus" "auth" "(redacted)" "(redacted)"`,
		from+`"hello" "3" "setname" "auth" "(redacted)" "(redacted)" "(redacted)"`)

	const from3 = "[3 127.0.0.1:40002] "
	for _, args := range [][]string{{"SELECT", "3"}, {"MULTI"}, {"SET", "a", "b"}, {"FLUSHDB"}, {"AUTH", "secret"}, {"MONITOR"}, {"EXEC"}} {
		do(c, args...)
	}
	wantMonitored(t, m, from3+`"SELECT" "3"`, from3+`"MULTI"`, from3+`"SET" "a" "b"`, from3+`"FLUSHDB"`, from3+`"AUTH" "(redacted)"`, from3+`"EXEC"`)

	do(other, "BLPOP", "k", "0")
	do(c, "SELECT", "0")
	do(c, "RPUSH", "k", "v")
	wantMonitored(t, m, `[0 127.0.0.1:40003] "BLPOP" "k" "0"`, from+`"SELECT" "0"`, from+`"RPUSH" "k" "v"`)

	do(c, "CLIENT", "PAUSE", "100000", "WRITE")
	do(other, "SET", "k", "v")
	wantMonitored(t, m)
	do(c, "CLIENT", "UNPAUSE")
	do(other, "SET", "k", "v")
	wantMonitored(t, m, `[0 127.0.0.1:40003] "SET" "k" "v"`)
}

func TestMonitoringClient(t *testing.T) {
	s := newTestServer(t)
	m, c := newTestClient(t, s), newTestClient(t, s)
	for _, r := range []replyCase{
		{"MULTI", "+OK\r\n"},
		{"MONITOR", "+QUEUED\r\n"},
		{"EXEC", "*1\r\n-ERR MONITOR isn't allowed for DENY BLOCKING client\r\n"},
		{"MONITOR x", "-ERR wrong number of arguments for 'monitor' command\r\n"},
		{"MONITOR", "+OK\r\n"},
		{"MONITOR", ""},
		{"GET a", "-ERR Replica can't interact with the keyspace\r\n"},
		{"SET a b", "-ERR Replica can't interact with the keyspace\r\n"},
		{"DBSIZE", "-ERR Replica can't interact with the keyspace\r\n"},
		{"PING", "+PONG\r\n"},
	} {
		if got := do(m, strings.Fields(r.command)...); got != r.want {
			t.Errorf("%s: %q, want %q", r.command, got, r.want)
		}
	}
	wantMonitored(t, m, `[0 127.0.0.1:40001] "PING"`)
	if got := do(c, "CLIENT", "LIST", "ID", "1"); !strings.Contains(got, " flags=O ") {
		t.Errorf("CLIENT LIST: %q", got)
	}
	wantMonitored(t, m)
	if got := do(m, "RESET"); got != "+RESET\r\n" {
		t.Errorf("RESET: %q", got)
	}
	do(c, "PING")
	wantMonitored(t, m)
	if got := do(m, "GET", "a"); got != "$-1\r\n" || s.observe.monitors.any() {
		t.Errorf("after RESET: %q", got)
	}
	for _, end := range []func(){func() { do(m, "QUIT") }, m.Closed} {
		do(m, "MONITOR")
		if end(); s.observe.monitors.any() {
			t.Error("it still monitors")
		}
	}
	do(c, "PING")
	if n := len(c.slot.shown); n != 0 {
		t.Errorf("%d bytes are kept for nobody", n)
	}
}

func TestMonitorOverUnixSocket(t *testing.T) {
	s := newTestServer(t, "--unixsocket", "/tmp/s")
	m := newTestClient(t, s)
	do(m, "MONITOR")
	do(connect(t, s, &fakeConn{remote: "/tmp/s:0", local: "/tmp/s:0", unix: true}), "PING")
	wantMonitored(t, m, `[0 unix:/tmp/s] "PING"`)
}
