package server

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kvserver/server/transport"
)

// clientReplies are what Redis 7.0 answers, for commands that leave the next ones alone.
var clientReplies = []struct{ command, want string }{
	{"CLIENT", "-ERR wrong number of arguments for 'client' command\r\n"},
	{"CLIENT nosuch", "-ERR unknown subcommand 'nosuch'. Try CLIENT HELP.\r\n"},
	{"CLIENT ID x", "-ERR wrong number of arguments for 'client|id' command\r\n"},
	{"CLIENT LIST TYPE", "-ERR syntax error\r\n"},
	{"CLIENT LIST TYPE Foo", "-ERR Unknown client type 'Foo'\r\n"},
	{"CLIENT LIST TYPE slave", "$0\r\n\r\n"},
	{"CLIENT LIST ID", "-ERR syntax error\r\n"},
	{"CLIENT LIST ID abc", "-ERR Invalid client ID\r\n"},
	{"CLIENT LIST ID 99999", "$0\r\n\r\n"},
	{"CLIENT LIST x", "-ERR syntax error\r\n"},
	{"CLIENT SETNAME a\x80", "-ERR Client names cannot contain spaces, newlines or special characters.\r\n"},
	{"CLIENT GETNAME", "$-1\r\n"},
	{"CLIENT SETNAME ab", "+OK\r\n"},
	{"CLIENT GETNAME", "$2\r\nab\r\n"},
	{"CLIENT REPLY x", "-ERR syntax error\r\n"},
	{"CLIENT REPLY on", "+OK\r\n"},
	{"CLIENT NO-EVICT x", "-ERR syntax error\r\n"},
	{"CLIENT NO-EVICT off", "+OK\r\n"},
	{"CLIENT KILL 1.2.3.4:5", "-ERR No such client\r\n"},
	{"CLIENT KILL ID", "-ERR No such client\r\n"},
	{"CLIENT KILL ID 0", "-ERR client-id should be greater than 0\r\n"},
	{"CLIENT KILL ID abc", "-ERR client-id should be greater than 0\r\n"},
	{"CLIENT KILL ID 99999", ":0\r\n"},
	{"CLIENT KILL ADDR 1:1", ":0\r\n"},
	{"CLIENT KILL TYPE foo", "-ERR Unknown client type 'foo'\r\n"},
	{"CLIENT KILL TYPE slave", ":0\r\n"},
	{"CLIENT KILL USER foo", "-ERR No such user 'foo'\r\n"},
	{"CLIENT KILL USER default", ":0\r\n"},
	{"CLIENT KILL SKIPME x", "-ERR syntax error\r\n"},
	{"CLIENT KILL SKIPME yes", ":0\r\n"},
	{"CLIENT KILL foo bar", "-ERR syntax error\r\n"},
	{"CLIENT KILL ID 1 ADDR", "-ERR syntax error\r\n"},
	{"CLIENT PAUSE x", "-ERR timeout is not an integer or out of range\r\n"},
	{"CLIENT PAUSE 1.5", "-ERR timeout is not an integer or out of range\r\n"},
	{"CLIENT PAUSE -1", "-ERR timeout is negative\r\n"},
	{"CLIENT PAUSE 0", "+OK\r\n"},
	{"CLIENT PAUSE 1 x", "-ERR CLIENT PAUSE mode must be WRITE or ALL\r\n"},
	{"CLIENT PAUSE 1 x x", "-ERR unknown subcommand or wrong number of arguments for 'PAUSE'. Try CLIENT HELP.\r\n"},
	{"CLIENT UNPAUSE", "+OK\r\n"},
	{"CLIENT UNPAUSE x", "-ERR wrong number of arguments for 'client|unpause' command\r\n"},
}

// newerClientReplies are what Redis 7.2 and 7.4 answer, by their documentation.
var newerClientReplies = []struct{ command, want string }{
	{"CLIENT SETINFO lib-name go-redis", "+OK\r\n"},
	{"CLIENT SETINFO LIB-VER 9.0", "+OK\r\n"},
	{"CLIENT SETINFO lib-ver \t", "-ERR lib-ver cannot contain spaces, newlines or special characters.\r\n"},
	{"CLIENT SETINFO nosuch x", "-ERR Unrecognized option 'nosuch'\r\n"},
	{"CLIENT NO-TOUCH on", "+OK\r\n"},
	{"CLIENT NO-TOUCH x", "-ERR syntax error\r\n"},
	{"CLIENT KILL MAXAGE x SKIPME yes", "-ERR maxage is not an integer or out of range\r\n"},
	{"CLIENT KILL MAXAGE 0 SKIPME yes", "-ERR maxage should be greater than 0\r\n"},
	{"CLIENT KILL MAXAGE 100000", ":0\r\n"},
	{"CLIENT KILL MAXAGE 100000 ID 1", ":0\r\n"},
	{"CLIENT PAUSE 9223372036854775807", "-ERR timeout is out of range\r\n"},
}

func TestClientReplies(t *testing.T) {
	c := newTestClient(t, newTestServer(t))
	for _, test := range slices.Concat(clientReplies, newerClientReplies) {
		if got := do(c, strings.Split(test.command, " ")...); got != test.want {
			t.Errorf("%s\n got  %q\n want %q", test.command, got, test.want)
		}
	}
	p := startPeer(t)
	for _, test := range clientReplies {
		want := decoded(t, test.want)
		if got := p.do(strings.Split(test.command, " ")...); got.String() != want.String() {
			t.Errorf("%s: Redis answers %v, the table says %v", test.command, got, want)
		}
	}
}

// listFields are the fields of CLIENT LIST in the order of Redis 7.2, with those of later versions.
const listFields = "id addr laddr fd name age idle flags db sub psub ssub multi watch qbuf qbuf-free argv-mem multi-mem " +
	"rbs rbp obl oll omem tot-mem events cmd user redir resp lib-name lib-ver tot-net-in tot-net-out tot-cmds"

var listField = regexp.MustCompile(`^([a-z-]+)=(.*)$`)

// fieldsOf reads a line of CLIENT LIST and checks its form.
func fieldsOf(t *testing.T, line string) map[string]string {
	t.Helper()
	fields := make(map[string]string)
	var names []string
	for word := range strings.SplitSeq(line, " ") {
		m := listField.FindStringSubmatch(word)
		if m == nil {
			t.Fatalf("no field: %q in %q", word, line)
		}
		names = append(names, m[1])
		fields[m[1]] = m[2]
	}
	if got := strings.Join(names, " "); got != listFields {
		t.Errorf("fields\n got  %s\n want %s", got, listFields)
	}
	return fields
}

func infoOf(t *testing.T, c *client) map[string]string {
	t.Helper()
	line, found := strings.CutSuffix(decoded(t, do(c, "CLIENT", "INFO")).text, "\n")
	if !found {
		t.Errorf("no line: %q", line)
	}
	return fieldsOf(t, line)
}

func TestClientInfo(t *testing.T) {
	c := newTestClient(t, newTestServer(t))
	do(c, "CLIENT", "SETNAME", "me")
	do(c, "CLIENT", "SETINFO", "lib-name", "lib(x_v1)")
	do(c, "CLIENT", "SETINFO", "lib-ver", "1.2")
	do(c, "SELECT", "3")
	do(c, "WATCH", "a", "b", "a")
	got := infoOf(t, c)
	for name, want := range map[string]string{
		"id": "1", "addr": "127.0.0.1:40001", "laddr": "127.0.0.1:6379", "fd": "7", "name": "me", "age": "0", "idle": "0",
		"flags": "N", "db": "3", "sub": "0", "multi": "-1", "qbuf": "26", "argv-mem": "10", "multi-mem": "0",
		"obl": "0", "events": "r", "cmd": "client|info", "user": "default", "redir": "-1", "resp": "2",
		"lib-name": "lib(x_v1)", "lib-ver": "1.2",
	} {
		if got[name] != want {
			t.Errorf("%s=%s, want %s", name, got[name], want)
		}
	}
	if n, err := strconv.Atoi(got["tot-mem"]); err != nil || n < 26 {
		t.Errorf("tot-mem=%s", got["tot-mem"])
	}
}

func TestClientFlags(t *testing.T) {
	s := newTestServer(t)
	c := connect(t, s, &fakeConn{remote: "/tmp/s:0", local: "/tmp/s:0", unix: true})
	other := newTestClient(t, s)
	if got := infoOf(t, c)["flags"]; got != "U" {
		t.Errorf("flags=%s on a Unix socket", got)
	}
	do(c, "CLIENT", "NO-EVICT", "ON")
	do(c, "CLIENT", "NO-TOUCH", "ON")
	do(c, "WATCH", "k")
	do(other, "SET", "k", "v")
	do(c, "MULTI")
	do(c, "SET", "kk", "vv")
	line, _, _ := strings.Cut(decoded(t, do(other, "CLIENT", "LIST", "ID", strconv.FormatInt(c.id, 10))).text, "\n")
	got := fieldsOf(t, line)
	for name, want := range map[string]string{"flags": "xdUeT", "multi": "1", "multi-mem": "7", "cmd": "set"} {
		if got[name] != want {
			t.Errorf("%s=%s, want %s", name, got[name], want)
		}
	}
	do(c, "RESET")
	if got := infoOf(t, c)["flags"]; got != "U" {
		t.Errorf("flags=%s after RESET", got)
	}
}

func TestClientList(t *testing.T) {
	s := newTestServer(t)
	a, b := newTestClient(t, s), newTestClient(t, s)
	do(b, "nosuch")
	lines := strings.Split(strings.TrimSuffix(decoded(t, do(a, "CLIENT", "LIST")).text, "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines: %q", len(lines), lines)
	}
	if f := fieldsOf(t, lines[0]); f["id"] != "1" || f["cmd"] != "client|list" {
		t.Errorf("first line: %s", lines[0])
	}
	if f := fieldsOf(t, lines[1]); f["id"] != "2" || f["cmd"] != "NULL" || f["qbuf"] != "0" {
		t.Errorf("second line: %s", lines[1])
	}
	twice := decoded(t, do(a, "CLIENT", "LIST", "ID", "2", "7", "2")).text
	if strings.Count(twice, "id=2 ") != 2 || strings.Count(twice, "\n") != 2 {
		t.Errorf("CLIENT LIST ID 2 7 2: %q", twice)
	}
	do(a, "HELLO", "3")
	if got := do(a, "CLIENT", "LIST", "TYPE", "normal"); !strings.HasPrefix(got, "=") || !strings.Contains(got, "\r\ntxt:id=1 ") {
		t.Errorf("RESP3: %q", got)
	}
}

func TestClientReplyMode(t *testing.T) {
	c := newTestClient(t, newTestServer(t))
	for _, step := range []struct{ command, want string }{
		{"CLIENT REPLY SKIP", ""},
		{"PING", ""},
		{"PING", "+PONG\r\n"},
		{"CLIENT REPLY OFF", ""},
		{"PING", ""},
		{"nosuch", ""},
		{"CLIENT REPLY SKIP", ""},
		{"PING", ""},
		{"CLIENT REPLY ON", "+OK\r\n"},
		{"PING", "+PONG\r\n"},
		{"CLIENT REPLY SKIP", ""},
		{"CLIENT REPLY ON", "+OK\r\n"},
		{"PING", "+PONG\r\n"},
		{"CLIENT REPLY SKIP", ""},
		{"CLIENT REPLY SKIP", ""},
		{"PING", ""},
		{"PING", "+PONG\r\n"},
	} {
		if got := do(c, strings.Fields(step.command)...); got != step.want {
			t.Fatalf("%s: %q, want %q", step.command, got, step.want)
		}
	}
	// All of it in one batch: what is skipped is cut out of the middle.
	batch := request("PING") + request("CLIENT", "REPLY", "SKIP") + request("ECHO", "x") + request("ECHO", "y")
	if got, _ := feed(c, batch); got != "+PONG\r\n$1\r\ny\r\n" {
		t.Errorf("in one batch: %q", got)
	}
}

func TestClientKill(t *testing.T) {
	s := newTestServer(t)
	c := newTestClient(t, s)
	victim, bystander := newTestClient(t, s), newTestClient(t, s)
	victim.name = "victim"
	if got := do(c, "CLIENT", "KILL", victim.conn.RemoteAddr()); got != "+OK\r\n" {
		t.Fatalf("old form: %q", got)
	}
	if !connOf(victim).closed || connOf(bystander).closed {
		t.Error("not the one asked for was closed")
	}
	if list := do(c, "CLIENT", "LIST"); strings.Contains(list, "name=victim") {
		t.Error("a killed client is still listed")
	}
	// What it sent before its connection closes is not run any more.
	if got, v := feed(victim, request("SET", "k", "v")); got != "" || v != transport.Abort {
		t.Errorf("a killed client was answered %q, verdict %d", got, v)
	}
	victim.Closed()
	if got := do(c, "GET", "k"); got != "$-1\r\n" {
		t.Errorf("a killed client wrote: %q", got)
	}
	if got := do(c, "CLIENT", "KILL", "ID", strconv.FormatInt(bystander.id, 10), "TYPE", "normal"); got != ":1\r\n" {
		t.Errorf("new form: %q", got)
	}
	if !connOf(bystander).closed {
		t.Error("the client was not closed")
	}
	if got := do(c, "CLIENT", "KILL", "LADDR", "127.0.0.1:6379"); got != ":0\r\n" {
		t.Errorf("it does not spare itself: %q", got)
	}
	if got, v := feed(c, request("CLIENT", "KILL", "SKIPME", "no")+request("PING")); got != ":1\r\n" || v != transport.Close {
		t.Errorf("killing oneself: %q, verdict %d", got, v)
	}
}

func TestClientKillInExec(t *testing.T) {
	c := newTestClient(t, newTestServer(t))
	do(c, "MULTI")
	do(c, "CLIENT", "KILL", "SKIPME", "no")
	do(c, "PING")
	if got, v := feed(c, request("EXEC")); got != "*2\r\n:1\r\n+PONG\r\n" || v != transport.Close {
		t.Errorf("%q, verdict %d", got, v)
	}
}

func TestClientPause(t *testing.T) {
	s := newTestServer(t)
	c, other := newTestClient(t, s), newTestClient(t, s)
	parks := func(args ...string) bool {
		t.Helper()
		reply, v := feed(other, request(args...))
		if v == transport.Park && reply != "" {
			t.Errorf("parked after %q", reply)
		}
		return v == transport.Park
	}
	if got := do(c, "CLIENT", "PAUSE", "100000", "WRITE"); got != "+OK\r\n" {
		t.Fatal(got)
	}
	if parks("GET", "k") || !parks("SET", "k", "v") {
		t.Error("PAUSE WRITE lets reads through and holds writes")
	}
	if !parks("PUBLISH", "ch", "x") || !parks("SPUBLISH", "ch", "x") || !parks("PFCOUNT", "k") {
		t.Error("PAUSE WRITE holds what reaches replicas")
	}
	if got := infoField(t, c, "clients", "blocked_clients"); got != "1" {
		t.Errorf("blocked_clients:%s while one waits", got)
	}
	line, _, _ := strings.Cut(decoded(t, do(c, "CLIENT", "LIST", "ID", "2")).text, "\n")
	if got := fieldsOf(t, line)["flags"]; got != "b" {
		t.Errorf("flags=%s while it waits", got)
	}
	if got := do(c, "CLIENT", "UNPAUSE"); got != "+OK\r\n" || connOf(other).resumed != 1 {
		t.Errorf("UNPAUSE: %q, resumed %d times", got, connOf(other).resumed)
	}
	if parks("SET", "k", "v") {
		t.Error("parked after UNPAUSE")
	}
	if got := infoField(t, c, "clients", "blocked_clients"); got != "0" {
		t.Errorf("blocked_clients:%s after UNPAUSE", got)
	}
	do(other, "MULTI")
	do(other, "SET", "k", "v")
	do(c, "CLIENT", "PAUSE", "100000", "WRITE")
	if parks("PING") || !parks("EXEC") {
		t.Error("a transaction that writes waits at EXEC")
	}
	until := s.pause.untilMs
	do(c, "CLIENT", "PAUSE", "1", "ALL")
	if s.pause.untilMs != until || s.pause.writesOnly {
		t.Errorf("until %d, was %d; writes only: %v", s.pause.untilMs, until, s.pause.writesOnly)
	}
	if !parks("PING") {
		t.Error("ALL widens a pause of WRITE")
	}
}

// TestPauseKeepsExpiredKeys: nothing changes during a pause, so a key whose time is over is missing and stays.
func TestPauseKeepsExpiredKeys(t *testing.T) {
	s := newTestServer(t)
	c := newTestClient(t, s)
	storeAt(s, 1, "k", 2)
	do(c, "CLIENT", "PAUSE", "100000", "WRITE")
	s.expire(s.houseSlot, c.slot.clock.now())
	if got := do(c, "GET", "k") + do(c, "EXISTS", "k") + do(c, "SCAN", "0"); got != "$-1\r\n:0\r\n*2\r\n$1\r\n0\r\n*0\r\n" {
		t.Errorf("an expired key answers %q", got)
	}
	if got := do(c, "RANDOMKEY"); got != "$1\r\nk\r\n" {
		t.Errorf("RANDOMKEY, while no key may be removed: %q", got)
	}
	if keys, expired := do(c, "DBSIZE"), infoField(t, c, "stats", "expired_keys"); keys != ":1\r\n" || expired != "0" {
		t.Errorf("during the pause: DBSIZE %q, expired_keys:%s", keys, expired)
	}
	do(c, "CLIENT", "UNPAUSE")
	if got := do(c, "RANDOMKEY") + do(c, "GET", "k"); got != "$-1\r\n$-1\r\n" {
		t.Errorf("after the pause: %q", got)
	}
	if keys, expired := do(c, "DBSIZE"), infoField(t, c, "stats", "expired_keys"); keys != ":0\r\n" || expired != "1" {
		t.Errorf("after the pause: DBSIZE %q, expired_keys:%s", keys, expired)
	}
}

func TestPauseAfterPause(t *testing.T) {
	var p pause
	p.extend(1000, 2000, false)
	p.extend(2000, 2500, true) // the first one is over
	if p.untilMs != 2500 || !p.writesOnly {
		t.Errorf("until %d, writes only: %v", p.untilMs, p.writesOnly)
	}
	p.extend(2100, 2200, true)
	if p.untilMs != 2500 {
		t.Error("a shorter pause wins")
	}
}

func TestDescribe(t *testing.T) {
	c := newTestClient(t, newTestServer(t))
	do(c, "CLIENT", "SETNAME", "me")
	if got := c.describe(); got != "id=1 addr=127.0.0.1:40001 name=me" {
		t.Error(got)
	}
}

// TestAvailabilityZone: clients are told where the server stands, if it was told.
func TestAvailabilityZone(t *testing.T) {
	s := newTestServer(t)
	c := newTestClient(t, s)
	zone := func(version string) string {
		text, _ := decoded(t, do(c, "HELLO", version)).field("availability_zone")
		return text.text
	}
	for _, want := range []string{"eu-1 b", ""} {
		do(c, "CONFIG", "SET", "availability-zone", want)
		if two, three := zone("2"), zone("3"); two != want || three != want {
			t.Errorf("HELLO 2 tells %q and HELLO 3 %q, want %q", two, three, want)
		}
		if got := decoded(t, do(c, "INFO", "server")).text; !strings.Contains(got, "\r\navailability_zone:"+want+"\r\n") {
			t.Errorf("INFO does not tell %q: %s", want, got)
		}
	}
	if reply := do(c, "HELLO", "3"); strings.Contains(reply, "zone") || !strings.HasPrefix(reply, "%7\r\n") {
		t.Errorf("HELLO without a zone: %q", reply)
	}
}

// TestPauseOfWritesLetsReadingScriptsRun: a script that is declared not to write is run while writes wait, also in a transaction.
func TestPauseOfWritesLetsReadingScriptsRun(t *testing.T) {
	const reads, writes = "#!lua flags=no-writes\nreturn 1", "#!lua\nreturn 1"
	s := newTestServer(t)
	admin, c := newTestClient(t, s), newTestClient(t, s)
	const library = "#!lua name=l\nredis.register_function{function_name='reads', callback=function() return 1 end, flags={'no-writes'}}"
	do(admin, "FUNCTION", "LOAD", library)
	do(admin, "CLIENT", "PAUSE", "1000000", "WRITE")
	sha := decoded(t, do(c, "SCRIPT", "LOAD", reads)).text
	for _, args := range [][]string{{"EVAL", reads, "0"}, {"EVALSHA", strings.ToUpper(sha), "0"}, {"FCALL", "READS", "0"}, {"EVAL_RO", "return 1", "0"}} {
		if got := do(c, args...); got != ":1\r\n" {
			t.Errorf("%q: %q", args, got)
		}
		if got, _ := feed(c, request("MULTI")+request(args...)+request("EXEC")); got != "+OK\r\n+QUEUED\r\n*1\r\n:1\r\n" {
			t.Errorf("%q in a transaction: %q", args, got)
		}
	}
	for _, args := range [][]string{{"EVAL", "return 1", "0"}, {"EVAL", writes, "0"}, {"EVAL", "#!lua flags=no-writes,nosuch\n", "0"}, {"EVALSHA", "none", "0"}, {"FCALL", "none", "0"}} {
		if got, v := feed(newTestClient(t, s), request(args...)); got != "" || v != transport.Park {
			t.Errorf("%q is not held: %q", args, got)
		}
	}
}
