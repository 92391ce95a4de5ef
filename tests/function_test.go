package tests

import (
	"fmt"
	"strings"
	"testing"
)

// functionLibraries are libraries of various sizes, by what else than functions
// they have.
var functionLibraries = map[string]string{
	"short":      "#!lua name=short\nredis.register_function('f', function() return 'short' end)",
	"blanks":     "#!lua   name=blanks  \n\n\nredis.register_function('f', function() return 'blanks' end)",
	"quoted":     "#!lua \"name=quo\\x74ed\"\nredis.register_function('f', function() return 'quoted' end)",
	"repetitive": "#!lua name=repetitive\n" + strings.Repeat("-- the same line over and over\n", 500) + "redis.register_function('f', function() return 'repetitive' end)",
	"bytes":      "#!lua name=bytes\nlocal s = '\xff\xfe'\nredis.register_function('f', function() return s end)",
}

// TestFunctionDumpTravels dumps libraries on each server and restores them on the
// other, and on the same one.
func TestFunctionDumpTravels(t *testing.T) {
	ours, theirs := startServer(t).dial(), startPeer(t).dial()
	for name, code := range functionLibraries {
		t.Run(name, func(t *testing.T) {
			for _, from := range []*conn{ours, theirs} {
				from.ok("FUNCTION", "FLUSH")
				from.do("FUNCTION", "LOAD", code)
				payload := from.value("FUNCTION", "DUMP").text
				list := from.do("FUNCTION", "LIST", "WITHCODE")
				answer := from.do("FCALL", "f", "0")
				for _, to := range []*conn{ours, theirs} {
					to.ok("FUNCTION", "RESTORE", payload, "FLUSH")
					to.want(list, "FUNCTION", "LIST", "WITHCODE")
					to.want(answer, "FCALL", "f", "0")
					if back := to.value("FUNCTION", "DUMP").text; to == from && back != payload { // compressors differ
						t.Errorf("dumped again: %q, not %q", back, payload)
					}
				}
			}
		})
	}
}

// TestFunctionRestorePolicies restores libraries among others.
func TestFunctionRestorePolicies(t *testing.T) {
	library := func(name, function string) string {
		return fmt.Sprintf("#!lua name=%s\nredis.register_function('%s', function() return '%s of %s' end)", name, function, function, name)
	}
	commands := func(payloads map[string]string) [][]string {
		return [][]string{
			{"FUNCTION", "FLUSH"}, {"FUNCTION", "LOAD", library("a", "f")},
			{"FUNCTION", "RESTORE", payloads["bf"]}, {"FUNCTION", "RESTORE", payloads["bf"], "REPLACE"},
			{"FUNCTION", "RESTORE", payloads["af"]}, {"FUNCTION", "RESTORE", payloads["bg"], "append"}, {"FCALL", "G", "0"},
			{"FUNCTION", "RESTORE", payloads["ag"], "REPLACE"}, {"FUNCTION", "RESTORE", payloads["ah"], "replace"},
			{"FCALL", "h", "0"}, {"FCALL", "f", "0"},
			{"FUNCTION", "RESTORE", payloads["af bg"], "REPLACE"}, {"FCALL", "f", "0"}, {"FCALL", "h", "0"},
			{"FUNCTION", "RESTORE", payloads["ah"], "FLUSH"}, {"FCALL", "g", "0"}, {"FUNCTION", "LIST", "WITHCODE"},
			{"FUNCTION", "RESTORE", payloads["none"], "FLUSH"}, {"FUNCTION", "LIST"},
			{"FUNCTION", "RESTORE", payloads["af"] + "x", "FLUSH"}, {"FUNCTION", "RESTORE", payloads["af"][1:], "FLUSH"},
		}
	}
	ours, theirs := startServer(t).dial(), startPeer(t).dial()
	payloads := map[string]string{}
	for _, set := range []string{"none", "af", "ag", "ah", "bf", "bg", "af bg"} {
		theirs.ok("FUNCTION", "FLUSH")
		for _, l := range strings.Fields(set) {
			if l != "none" {
				theirs.do("FUNCTION", "LOAD", library(l[:1], l[1:]))
			}
		}
		payloads[set] = theirs.value("FUNCTION", "DUMP").text
	}
	for _, command := range commands(payloads) {
		if got, want := ours.do(command...), theirs.do(command...); got != want {
			t.Errorf("%s:\n got %q\nwant %q", quoteArgs(command), got, want)
		}
	}
}

// callLibrary has functions that run until they are killed, and one that others
// wait for.
const callLibrary = "#!lua name=calls\n" + `
redis.register_function('loop', function() while true do end end)
redis.register_function('stubborn', function() while true do pcall(redis.call, 'GET', 'k') end end)
redis.register_function('writer', function(keys) redis.call('SET', keys[1], 'v') while true do end end)
redis.register_function('push', function(keys, args) redis.call('RPUSH', keys[1], unpack(args)) return redis.call('LLEN', keys[1]) end)
redis.register_function('failing', function(keys) redis.call('SET', keys[1], 'kept') error('after a write') end)
`

// TestFunctionKill kills functions that are past their time. What others hear in
// the meantime and what the caller is told is what redis-server says.
func TestFunctionKill(t *testing.T) {
	for _, start := range []func(t testing.TB, args ...string) *server{ownServer, startPeer} {
		s := start(t, "--busy-reply-threshold", "1")
		c, other := s.dial(), s.dial()
		c.want("$5\r\ncalls\r\n", "FUNCTION", "LOAD", callLibrary)
		for _, call := range [][]string{{"FCALL", "loop", "1", "k", "argument"}, {"FCALL", "STUBBORN", "0"}, {"EVAL", "while true do end", "0"}} {
			c.send(string(encode(call...)))
			eventually(t, "the server is busy", func() bool { return strings.HasPrefix(other.do("GET", "k"), "-BUSY") })
			kill, wrong := "FUNCTION", "SCRIPT"
			if call[0] == "EVAL" {
				kill, wrong = wrong, kill
				other.want("-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n", "FUNCTION", "STATS")
			} else {
				checkRunning(t, other.value("FUNCTION", "STATS"), call)
			}
			busy := fmt.Sprintf("-BUSY Redis is busy running a script. You can only call %s KILL or SHUTDOWN NOSAVE.\r\n", kill)
			other.want(busy, wrong, "KILL")
			other.want(busy, "FUNCTION", "LIST")
			other.ok(kill, "KILL")
			if got, want := c.reply(), "-ERR Script killed by user with SCRIPT KILL... script: "; !strings.HasPrefix(got, want) {
				t.Errorf("%s: the caller is told %q, want %q", quoteArgs(call), got, want)
			}
			other.want("-NOTBUSY No scripts in execution right now.\r\n", kill, "KILL")
		}
	}
}

func checkRunning(t *testing.T, stats value, call []string) {
	t.Helper()
	running, _ := stats.field("running_script")
	name, _ := running.field("name")
	command, _ := running.field("command")
	if !strings.EqualFold(name.text, call[1]) || fmt.Sprint(command.texts()) != fmt.Sprint(call) {
		t.Errorf("%s is said to run as %s of %s", call[1], running, stats)
	}
	if duration, ok := running.field("duration_ms"); !ok || duration.kind != ':' {
		t.Errorf("no duration in %s", running)
	}
}

// TestFunctionsThatWroteAreNotKilled: they end when they end, here with the server.
func TestFunctionsThatWroteAreNotKilled(t *testing.T) {
	s := ownServer(t, "--busy-reply-threshold", "1")
	c, other := s.dial(), s.dial()
	c.do("FUNCTION", "LOAD", callLibrary)
	c.send(string(encode("FCALL", "writer", "1", "k")))
	eventually(t, "the server is busy", func() bool { return strings.HasPrefix(other.do("GET", "k"), "-BUSY") })
	if got := other.do("FUNCTION", "KILL"); !strings.HasPrefix(got, "-UNKILLABLE Sorry the script already executed write commands") {
		t.Errorf("FUNCTION KILL: %q", got)
	}
}

// TestFunctionsAreOneStep: those who wait for keys, transactions and errors see a
// function as a whole.
func TestFunctionsAreOneStep(t *testing.T) {
	s := ownServer(t)
	c, waiter := s.dial(), s.dial()
	c.do("FUNCTION", "LOAD", callLibrary)
	waiter.send(string(encode("BLPOP", "list", "0")))
	eventually(t, "the waiter waits", func() bool { n, _ := infoField(c, "clients", "blocked_clients"); return n == "1" })
	c.want(":3\r\n", "FCALL", "push", "1", "list", "a", "b", "c")
	if got := waiter.reply(); got != "*2\r\n$4\r\nlist\r\n$1\r\na\r\n" {
		t.Errorf("who waited got %q", got)
	}
	c.want(":2\r\n", "LLEN", "list")

	c.ok("MULTI")
	c.want("+QUEUED\r\n", "FCALL", "push", "1", "list", "d")
	c.want("+QUEUED\r\n", "FUNCTION", "DELETE", "calls")
	c.want("+QUEUED\r\n", "FCALL", "push", "1", "list", "e")
	c.want("*3\r\n:3\r\n+OK\r\n-ERR Function not found\r\n", "EXEC")

	c.do("FUNCTION", "LOAD", callLibrary)
	if got := c.do("FCALL", "failing", "1", "k"); !strings.HasPrefix(got, "-ERR user_function:7: after a write script: failing") {
		t.Errorf("failing: %q", got)
	}
	c.want("$4\r\nkept\r\n", "GET", "k")

	watcher := s.dial()
	watcher.ok("WATCH", "list")
	c.want(":4\r\n", "FCALL", "push", "1", "list", "f")
	watcher.ok("MULTI")
	watcher.want("*-1\r\n", "EXEC")
}

// TestFunctionsAreForThosePermitted: a user who may call functions can do in them
// what that user may do.
func TestFunctionsAreForThosePermitted(t *testing.T) {
	s := ownServer(t)
	admin, user := s.dial(), s.dial()
	admin.do("FUNCTION", "LOAD", callLibrary)
	admin.ok("ACL", "SETUSER", "user", "on", "nopass", "+fcall", "+rpush", "~list")
	user.ok("AUTH", "user", "x")
	for _, c := range []struct {
		want string
		args []string
	}{
		{"-NOPERM", []string{"FUNCTION", "LIST"}},
		{"-NOPERM", []string{"FCALL_RO", "push", "1", "list", "a"}},
		{"-NOPERM", []string{"FCALL", "push", "1", "other", "a"}},
		{"-ERR ACL failure in script", []string{"FCALL", "push", "1", "list", "a"}}, // LLEN
	} {
		if got := user.do(c.args...); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", quoteArgs(c.args), got, c.want)
		}
	}
	admin.want(":1\r\n", "LLEN", "list")
}

// TestFunctionsWithoutMemory: which functions run while memory is full.
func TestFunctionsWithoutMemory(t *testing.T) {
	const library = "#!lua name=lib\n" + `
local function set(keys) return redis.call('SET', keys[1], 1) end
local function get(keys) return redis.call('GET', keys[1]) end
redis.register_function('set', set)
redis.register_function('get', get)
redis.register_function{function_name='set_anyway', callback=set, flags={'allow-oom'}}
redis.register_function{function_name='get_only', callback=get, flags={'no-writes'}}`
	ours, theirs := ownServer(t).dial(), startPeer(t).dial()
	for _, command := range [][]string{
		{"FUNCTION", "LOAD", library}, {"SET", "k", "v"}, {"CONFIG", "SET", "maxmemory", "1"},
		{"FCALL", "set", "1", "k"}, {"FCALL", "get", "1", "k"}, {"FCALL", "get_only", "1", "k"}, {"FCALL_RO", "get_only", "1", "k"},
		{"FCALL", "set_anyway", "1", "k"}, {"FUNCTION", "LOAD", "REPLACE", library}, {"FUNCTION", "RESTORE", "x"},
		{"FUNCTION", "DELETE", "lib"}, {"FUNCTION", "FLUSH"}, {"CONFIG", "SET", "maxmemory", "0"},
	} {
		if got, want := ours.do(command...), theirs.do(command...); got != want {
			t.Errorf("%s:\n got %q\nwant %q", quoteArgs(command), got, want)
		}
	}
}
