package tests

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// aclDuel compares users of two servers.
type aclDuel struct {
	t            *testing.T
	ours, theirs *conn
	calls        [][]string // one of each command that both have
}

func newACLDuel(t *testing.T) *aclDuel {
	d := &aclDuel{t: t, ours: startServer(t).dial(), theirs: startPeer(t).dial()}
	known := d.ours.value("COMMAND", "LIST").texts()
	for _, name := range d.theirs.value("COMMAND", "LIST").texts() {
		if !slices.Contains(known, name) {
			continue
		}
		container, sub, isSub := strings.Cut(name, "|")
		info, _ := askCommandInfo(d.theirs, container)
		args := []string{container}
		if isSub {
			info = info.subcommands[name]
			args = append(args, sub)
		}
		n, _ := strconv.Atoi(strings.TrimPrefix(info.arity, "-"))
		for len(args) < n {
			args = append(args, "1")
		}
		if name == "pfmerge" {
			args = append(args, "1") // Redis checks no key at all if there is no source, though it writes the destination
		}
		if len(info.subcommands) == 0 {
			d.calls = append(d.calls, args)
		}
	}
	return d
}

// both sends a command to both and compares the replies, in which the peer need not name the user.
func (d *aclDuel) both(args ...string) (reply string) {
	d.t.Helper()
	ours, theirs := d.ours.do(args...), d.theirs.do(args...)
	if ours != theirs {
		d.t.Errorf("%s:\nours:   %q\ntheirs: %q", quoteArgs(args), ours, theirs)
	}
	return ours
}

// sameVerdicts compares what a user may run.
func (d *aclDuel) sameVerdicts(user string, rules []string) {
	d.t.Helper()
	var dryRuns [][]string
	for _, call := range d.calls {
		dryRuns = append(dryRuns, append([]string{"ACL", "DRYRUN", user}, call...))
	}
	ours, theirs := d.ours.pipeline(dryRuns), d.theirs.pipeline(dryRuns)
	for i := range ours {
		if o, p := verdictOf(ours[i]), verdictOf(theirs[i]); o != p {
			d.t.Errorf("%s after %s:\nours:   %q\ntheirs: %q", quoteArgs(dryRuns[i]), quoteArgs(rules), ours[i], theirs[i])
		}
	}
}

// verdictOf is a reply to ACL DRYRUN without what Redis 7.2 and 7.0 say differently.
func verdictOf(reply string) string {
	if _, after, ok := strings.Cut(reply, " has no permissions "); ok {
		return after
	}
	return reply
}

// aclRules draws rules of every form. Some are wrong.
func aclRules(rng *rand.Rand, names, categories []string) (rules []string) {
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	word := func() string { return pick("1", "x", "?", "*", "[0-2]", "1*", "\\1", "", "a b", "é") }
	for range 1 + rng.IntN(8) {
		switch rng.IntN(14) {
		case 0, 1, 2:
			rules = append(rules, pick("+", "-")+pick(names...))
		case 3, 4, 5:
			rules = append(rules, pick("+", "-")+"@"+pick(categories...))
		case 6:
			rules = append(rules, pick("+", "-")+pick("select", "getbit", "config", "config|get", "nosuch", "object")+"|"+strings.ReplaceAll(word(), " ", "")) // blanks are refused on purpose: see package acl
		case 7, 8:
			rules = append(rules, pick("~", "%R~", "%W~", "%RW~", "%r~", "%~", "%x~")+word())
		case 9:
			rules = append(rules, "&"+word())
		case 10:
			rules = append(rules, pick("on", "off", "nopass", "resetpass", ">p", "<p", ">q", "!00", "reset", "RESET", "sanitize-payload", "skip-sanitize-payload"))
		case 11:
			rules = append(rules, pick("allkeys", "resetkeys", "allchannels", "resetchannels", "allcommands", "nocommands", "AllCommands", "+@ALL"))
		case 12:
			rules = append(rules, "("+pick("+get", "+@read", "+@all", "nosuch")+" "+pick("~*", "~1", "%R~*", "allkeys", "~x")+" "+pick("&1", "&*", "-get", "on"), pick(")", "-ping)", "+ping"))
		case 13:
			rules = append(rules, pick("clearselectors", "()", "(", ")", "", "nosuch"))
		}
	}
	return rules
}

// TestACLDifferential: rules of every form are taken or refused as redis-server does, and allow the same commands.
func TestACLDifferential(t *testing.T) {
	d := newACLDuel(t)
	categories := d.ours.value("ACL", "CAT").texts()
	if theirs := d.theirs.value("ACL", "CAT").texts(); !slices.Equal(categories, theirs) {
		t.Errorf("categories:\nours:   %q\ntheirs: %q", categories, theirs)
	}
	var names []string
	for _, call := range d.calls {
		names = append(names, strings.ToUpper(call[0]), call[0])
	}
	names = append(names, "config|get", "object|freq", "client|kill", "nosuch")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range 40 {
		user := fmt.Sprintf("u%d", i%4)
		rules := aclRules(rng, names, append(categories, "all", "nosuch"))
		d.both(append([]string{"ACL", "SETUSER", user}, rules...)...)
		for _, name := range []string{"passwords", "keys", "channels"} {
			ours, _ := d.ours.value("ACL", "GETUSER", user).field(name)
			theirs, _ := d.theirs.value("ACL", "GETUSER", user).field(name)
			// Of a pattern for everything that is no rule for all keys, 7.0 prints what is one.
			if o := strings.ReplaceAll(ours.String(), "%RW~*", "~*"); o != theirs.String() {
				t.Errorf("%s of %s after %s:\nours:   %s\ntheirs: %s", name, user, quoteArgs(rules), ours, theirs)
			}
		}
		d.sameVerdicts(user, rules)
		if t.Failed() {
			return
		}
	}
	d.both("ACL", "DELUSER", "u0", "u1", "u2", "u3", "u4")
}

// TestACLCategories: a category has the commands that redis-server has in it, as far as both know them.
func TestACLCategories(t *testing.T) {
	d := newACLDuel(t)
	ourNames, theirNames := d.ours.value("COMMAND", "LIST").texts(), d.theirs.value("COMMAND", "LIST").texts()
	both := func(name string) bool { return slices.Contains(ourNames, name) && slices.Contains(theirNames, name) }
	for _, category := range d.ours.value("ACL", "CAT").texts() {
		list := func(c *conn) []string {
			names := slices.DeleteFunc(c.value("ACL", "CAT", category).texts(), func(name string) bool { return !both(name) })
			slices.Sort(names)
			return names
		}
		if ours, theirs := list(d.ours), list(d.theirs); !slices.Equal(ours, theirs) {
			t.Errorf("%s:\nours:   %q\ntheirs: %q", category, ours, theirs)
		}
	}
}

// aclEntry reads an entry of ACL LOG into a map.
func aclEntry(v value) map[string]string {
	fields := make(map[string]string)
	for i := 0; i+1 < len(v.elems); i += 2 {
		fields[v.elems[i].text] = v.elems[i+1].text
	}
	return fields
}

func TestACLLog(t *testing.T) {
	s := ownServer(t, "--acllog-max-len", "3")
	admin, c := s.dial(), s.dial()
	admin.ok("ACL", "SETUSER", "bob", "on", ">pw", "+@all", "-keys", "~a", "resetchannels")
	c.ok("CLIENT", "SETNAME", "it's-bob")
	for _, password := range []string{"no", "hunter2"} {
		c.do("AUTH", "bob", password)
	}
	c.ok("AUTH", "bob", "pw")
	c.do("GET", "secret-key")
	c.do("KEYS", "*")
	c.ok("MULTI")
	c.do("GET", "secret-key")
	c.do("DISCARD")
	c.do("PUBLISH", "ch", "m")
	for range 3 {
		c.do("KEYS", "x")
	}
	entries := admin.value("ACL", "LOG").elems
	want := []map[string]string{
		{"count": "4", "reason": "command", "context": "toplevel", "object": "keys", "username": "bob", "entry-id": "2"},
		{"count": "1", "reason": "channel", "context": "toplevel", "object": "ch", "username": "bob", "entry-id": "4"},
		{"count": "1", "reason": "key", "context": "multi", "object": "secret-key", "username": "bob", "entry-id": "3"},
	}
	if len(entries) != len(want) {
		t.Fatalf("%d entries, want the latest %d", len(entries), len(want))
	}
	for i, entry := range entries {
		fields := aclEntry(entry)
		for name, text := range want[i] {
			if fields[name] != text {
				t.Errorf("entry %d: %s is %q, want %q", i, name, fields[name], text)
			}
		}
		if age, err := strconv.ParseFloat(fields["age-seconds"], 64); err != nil || age < 0 || age > patience.Seconds() {
			t.Errorf("entry %d: age-seconds %q", i, fields["age-seconds"])
		}
		created, _ := strconv.ParseInt(fields["timestamp-created"], 10, 64)
		updated, _ := strconv.ParseInt(fields["timestamp-last-updated"], 10, 64)
		if now := time.Now().UnixMilli(); created > updated || updated > now+1000 || created < now-patience.Milliseconds() {
			t.Errorf("entry %d: created %d, updated %d, now %d", i, created, updated, now)
		}
		if info := fields["client-info"]; !strings.Contains(info, " name=it's-bob ") || !strings.Contains(info, " user=bob ") || strings.Contains(info, "\n") {
			t.Errorf("entry %d: client-info %q", i, info)
		}
	}
	if log := admin.do("ACL", "LOG", "1"); strings.Count(log, "entry-id") != 1 {
		t.Errorf("one entry asked for: %q", log)
	}
	for name, n := range map[string]int64{"auth": 2, "cmd": 4, "key": 2, "channel": 1} {
		if got := infoInt(admin, "stats", "acl_access_denied_"+name); got != n {
			t.Errorf("acl_access_denied_%s: %d, want %d", name, got, n)
		}
	}
	admin.ok("ACL", "LOG", "RESET")
	c.do("AUTH", "bob", "hunter2")
	fields := aclEntry(admin.value("ACL", "LOG").elems[0])
	if fields["reason"] != "auth" || fields["object"] != "AUTH" || fields["username"] != "bob" || fields["count"] != "1" {
		t.Errorf("a wrong password: %v", fields)
	}
	admin.ok("CONFIG", "SET", "acllog-max-len", "0")
	if n := len(admin.value("ACL", "LOG").elems); n != 1 {
		t.Errorf("%d entries after the limit was set, want the one that was there", n)
	}
	c.do("AUTH", "bob", "hunter2")
	admin.want("*0\r\n", "ACL", "LOG")
}

// TestACLKeepsPasswords: neither logs nor MONITOR show what a rule or AUTH says.
func TestACLKeepsPasswords(t *testing.T) {
	s := ownServer(t, "--slowlog-log-slower-than", "0", "--commandlog-request-larger-than", "0")
	c, m := s.dial(), s.dial()
	m.ok("MONITOR")
	c.ok("ACL", "SETUSER", "bob", "on", ">hunter2", "<hunter2", ">hunter2", "(~a)")
	c.do("ACL", "SETUSER", "bob", "<hunter22")
	c.do("ACL", "SETUSER", "bob", "#hunter2")
	c.do("AUTH", "bob", "hunter2")
	c.do("RESET")
	c.do("AUTH", "bob", "hunter222")
	c.do("HELLO", "3", "AUTH", "bob", "hunter2222")
	c.ok("MULTI")
	c.do("ACL", "SETUSER", "bob", ">hunter2")
	c.do("EXEC")
	c.do("ECHO", "the end")
	var shown strings.Builder
	for line := ""; !strings.Contains(line, "the end"); {
		line = m.reply()
		shown.WriteString(line)
	}
	for _, args := range [][]string{{"SLOWLOG", "GET", "-1"}, {"COMMANDLOG", "GET", "-1", "large-request"}, {"ACL", "LOG"}, {"ACL", "LIST"}, {"CLIENT", "LIST"}, {"INFO", "everything"}} {
		shown.WriteString(c.do(args...))
	}
	if strings.Contains(shown.String(), "hunter2") {
		t.Errorf("a password is shown:\n%s", shown.String())
	}
	if !strings.Contains(shown.String(), "(redacted)") {
		t.Errorf("nothing is redacted:\n%s", shown.String())
	}
	s.stop()
	if log := s.log.String(); strings.Contains(log, "hunter2") {
		t.Errorf("a password is in the log:\n%s", log)
	}
}

// TestACLStranger: where the default user needs a password or is off, nothing can be done but authenticate.
func TestACLStranger(t *testing.T) {
	for _, rules := range [][]string{{"resetpass", ">pw"}, {"off"}, {"reset"}} {
		s := ownServer(t)
		admin := s.dial()
		admin.ok("ACL", "SETUSER", "bob", "on", ">pw", "+@all", "~*")
		admin.ok("AUTH", "bob", "pw")
		admin.ok(append([]string{"ACL", "SETUSER", "default"}, rules...)...)
		c := s.dial()
		for _, name := range admin.value("COMMAND", "LIST").texts() {
			info, ok := askCommandInfo(admin, name)
			if !ok || strings.Contains(name, "|") || slices.Contains([]string{"auth", "hello", "quit", "reset"}, name) {
				continue
			}
			if got := c.do(smallestCall(name, info)...); !strings.Contains(got, "NOAUTH Authentication required.") && !strings.Contains(got, "DEBUG command not allowed") {
				t.Errorf("%q, %s: %q", rules, name, got)
			}
		}
		if got := c.do("AUTH", "bob", "no"); !strings.HasPrefix(got, "-WRONGPASS ") {
			t.Errorf("%q: %q", rules, got)
		}
		c.ok("AUTH", "bob", "pw")
		c.want("+PONG\r\n", "PING")
		c.want("+RESET\r\n", "RESET")
		if got := c.do("PING"); !strings.HasPrefix(got, "-NOAUTH ") {
			t.Errorf("%q, after RESET: %q", rules, got)
		}
		c.send("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$20000\r\n")
		c.wantClosed("-ERR Protocol error: unauthenticated bulk length\r\n")
	}
}

// TestACLDefaultUser: the default user's rules hold for who has not authenticated, and requirepass is its password.
func TestACLDefaultUser(t *testing.T) {
	s := ownServer(t, "--requirepass", "first")
	c := s.dial()
	c.ok("AUTH", "first")
	c.ok("ACL", "SETUSER", "default", ">second")
	for _, password := range []string{"first", "second"} {
		s.dial().ok("AUTH", password)
	}
	c.ok("CONFIG", "SET", "requirepass", "third")
	s.dial().want("-WRONGPASS invalid username-password pair or user is disabled.\r\n", "AUTH", "second")
	s.dial().ok("AUTH", "default", "third")
	if got := configValue(c, "requirepass"); got != "third" {
		t.Errorf("requirepass is %q", got)
	}
	c.ok("ACL", "SETUSER", "default", "nopass", "-keys")
	late := s.dial()
	late.want("+PONG\r\n", "PING")
	late.want("-NOPERM User default has no permissions to run the 'keys' command\r\n", "KEYS", "*")
	c.ok("CONFIG", "SET", "requirepass", "")
	s.dial().want("-NOPERM User default has no permissions to run the 'keys' command\r\n", "KEYS", "*")
}

// TestACLClosesClients: whose user is gone, or may not have a subscription any more, is closed.
func TestACLClosesClients(t *testing.T) {
	s := ownServer(t)
	admin := s.dial()
	admin.ok("ACL", "SETUSER", "bob", "on", "nopass", "+@all", "~*", "&a", "&b*")
	login := func() *conn {
		c := s.dial()
		c.ok("AUTH", "bob", "x")
		return c
	}
	keeps, loses, pattern, shard, idle := login(), login(), login(), login(), login()
	keeps.do("SUBSCRIBE", "bx")
	loses.do("SUBSCRIBE", "a")
	pattern.do("PSUBSCRIBE", "a")
	shard.do("SSUBSCRIBE", "a")
	admin.ok("ACL", "SETUSER", "bob", "resetchannels", "&a", "&b*", "&c")
	for _, c := range []*conn{keeps, loses, pattern, shard} {
		c.do("PING")
	}
	admin.ok("ACL", "SETUSER", "bob", "resetchannels", "&b*")
	for _, c := range []*conn{loses, pattern, shard} {
		c.wantClosed("")
	}
	keeps.do("PING")
	idle.want("+PONG\r\n", "PING")
	self := login()
	blocked := login()
	blocked.send("*3\r\n$5\r\nBLPOP\r\n$1\r\nl\r\n$1\r\n0\r\n")
	eventually(t, "one waits", func() bool { return infoInt(admin, "clients", "blocked_clients") == 1 })
	self.want(":1\r\n", "ACL", "DELUSER", "bob", "nobody")
	for _, c := range []*conn{self, keeps, idle, blocked} {
		c.wantClosed("")
	}
	if got := admin.do("ACL", "USERS"); got != "*1\r\n$7\r\ndefault\r\n" {
		t.Errorf("users: %q", got)
	}
}

// TestACLAfterWaiting: a command that waited is not run if its client may not any more, and the next one is served.
func TestACLAfterWaiting(t *testing.T) {
	s := ownServer(t)
	admin := s.dial()
	admin.ok("ACL", "SETUSER", "bob", "on", "nopass", "+@all", "~*")
	c, other := s.dial(), s.dial()
	c.ok("AUTH", "bob", "x")
	for i, waits := range []*conn{c, other} {
		waits.send("*3\r\n$5\r\nBLPOP\r\n$1\r\nl\r\n$1\r\n0\r\n")
		eventually(t, "they wait", func() bool { return infoInt(admin, "clients", "blocked_clients") == int64(i+1) })
	}
	admin.ok("ACL", "SETUSER", "bob", "resetkeys", "~other")
	admin.want(":1\r\n", "RPUSH", "l", "x")
	if got := c.reply(); got != "-NOPERM No permissions to access a key\r\n" {
		t.Errorf("after the permission was taken: %q", got)
	}
	if got := other.reply(); got != "*2\r\n$1\r\nl\r\n$1\r\nx\r\n" {
		t.Errorf("the next one: %q", got)
	}
	c.want("$-1\r\n", "GET", "other")
}

// TestACLInPipelines: each command of a pipeline is judged by itself.
func TestACLInPipelines(t *testing.T) {
	s := ownServer(t)
	admin, c := s.dial(), s.dial()
	admin.ok("ACL", "SETUSER", "bob", "on", "nopass", "+get", "+set", "+auth", "+ping", "~a*", "%R~r*")
	c.ok("AUTH", "bob", "x")
	commands := [][]string{
		{"SET", "a1", "1"}, {"SET", "b", "1"}, {"GET", "a1"}, {"GET", "b"}, {"GET", "r"}, {"SET", "r", "1"}, {"DEL", "a1"}, {"GET", "a1"},
		{"SET", "a2", "1", "GET"}, {"PING"}, {"SET", "r", "1", "GET"}, {"AUTH", "default", "x"}, {"SET", "b", "2"}, {"GET", "b"},
	}
	const key = "-NOPERM No permissions to access a key\r\n"
	want := []string{"+OK\r\n", key, "$1\r\n1\r\n", key, "$-1\r\n", key, "-NOPERM User bob has no permissions to run the 'del' command\r\n", "$1\r\n1\r\n",
		"$-1\r\n", "+PONG\r\n", key, "+OK\r\n", "+OK\r\n", "$1\r\n2\r\n"}
	if got := c.pipeline(commands); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestACLFile: users come from a file, LOAD takes all of it or nothing, SAVE replaces it in one step.
func TestACLFile(t *testing.T) {
	dir := t.TempDir()
	path := writeConf(t, dir, "users.acl", "user default on nopass ~* &* +@all\n\nuser bob on >pw ~b:* +@all (~s +get)\n")
	s := ownServer(t, "--aclfile", path)
	admin, bob := s.dial(), s.dial()
	bob.ok("AUTH", "bob", "pw")
	bob.want("$-1\r\n", "GET", "s")
	admin.ok("ACL", "SETUSER", "carol", "on", "nopass", "(~x +set)")
	admin.ok("ACL", "SAVE")
	saved, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := "user carol on nopass sanitize-payload resetchannels -@all (~x resetchannels -@all +set)\n"; !strings.Contains(string(saved), want) || strings.Count(string(saved), "\n") != 3 {
		t.Errorf("saved:\n%s", saved)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("files: %q", left)
	}
	before := admin.do("ACL", "LIST")
	writeConf(t, dir, "users.acl", "user bob on nopass +@all ~*\nuser bob on\nuser dora +nosuch (\n")
	want := "-ERR WARNING: Duplicate user 'bob' found on line 2. " + path + ":3: Unmatched parenthesis in selector definition." +
		"WARNING: ACL errors detected, no change to the previously active ACL rules was performed\r\n"
	admin.want(want, "ACL", "LOAD")
	if after := admin.do("ACL", "LIST"); after != before {
		t.Errorf("a file with faults changed something: %s", after)
	}
	carol := s.dial()
	carol.ok("AUTH", "carol", "x")
	writeConf(t, dir, "users.acl", "user bob on >pw ~new +@all\n")
	admin.ok("ACL", "LOAD")
	carol.wantClosed("")
	bob.want("-NOPERM No permissions to access a key\r\n", "GET", "s")
	bob.want("$-1\r\n", "GET", "new")
	admin.want("*2\r\n$3\r\nbob\r\n$7\r\ndefault\r\n", "ACL", "USERS")
	os.Remove(path)
	admin.want("-ERR Error loading ACLs, opening file '"+path+"': No such file or directory\r\n", "ACL", "LOAD")
	admin.ok("ACL", "SAVE")
}

// TestACLFileAtStart: what is wrong with users stops the start, with one line that shows no password.
func TestACLFileAtStart(t *testing.T) {
	dir := t.TempDir()
	good := writeConf(t, dir, "good.acl", "user bob on\n")
	bad := writeConf(t, dir, "bad.acl", "user bob on >hunter2\nuser bob <hunter2\n\nuser carol on >hunter2 +nosuch\n")
	for _, c := range []struct {
		conf string
		want []string
	}{
		{"aclfile " + dir + "/none.acl\n", []string{"none.acl", "No such file or directory"}},
		{"aclfile " + dir + "\n", []string{dir, "Not a regular file"}},
		{"aclfile " + bad + "\n", []string{"Duplicate user 'bob' found on line 2", "bad.acl:4: Unknown command"}},
		{"aclfile " + good + "\nuser carol on >hunter2\n", []string{"aclfile"}},
		{"port 0\nuser carol >hunter2 +nosuch\n", []string{"a.conf:2: user", "rule 2: Unknown command"}},
		{"user carol >hunter2\nuser carol on\n", []string{"a.conf:2: user", "Duplicate user"}},
		{"user \"a b\" on\n", []string{"a.conf:1: user"}},
		{"user carol (+get\n", []string{"a.conf:1: user", "parenthesis"}},
		{"user\n", []string{"a.conf:1: user"}},
	} {
		code, out := runToEnd(t, "", writeConf(t, dir, "a.conf", c.conf), "--port", freePort(t))
		checkRefusal(t, code, out, c.want)
		if strings.Contains(out, "hunter2") {
			t.Errorf("a password is shown: %s", out)
		}
	}
}

// TestACLInTheConfiguration: user lines are read, and CONFIG REWRITE replaces them.
func TestACLInTheConfiguration(t *testing.T) {
	dir := t.TempDir()
	conf := writeConf(t, dir, "a.conf", "# users\nuser bob on >pw ~b:* +@all (~s +get)\nacl-pubsub-default allchannels\nuser carol off\n# the end\n")
	s := ownServer(t, conf)
	c := s.dial()
	c.ok("CONFIG", "REWRITE")
	text, _ := os.ReadFile(conf)
	for _, part := range []string{"# users\nuser bob on sanitize-payload #", " &* +@all (~s &* -@all +get)\n", "\nuser carol off sanitize-payload &* -@all\n", "# the end"} {
		if !strings.Contains(string(text), strings.ReplaceAll(part, "(~s &* -@all +get)", "\"(~s\" &* -@all +get)")) && !strings.Contains(string(text), part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
	before := c.do("ACL", "LIST")
	c.ok("ACL", "SETUSER", "default", "-keys")
	c.ok("ACL", "SETUSER", "dora", "on", "~a\"b", "(~'q +get)")
	c.want(":1\r\n", "ACL", "DELUSER", "carol")
	changed := c.do("ACL", "LIST")
	if changed == before {
		t.Fatal("nothing changed")
	}
	c.ok("CONFIG", "REWRITE")
	s.stop()
	again := ownServer(t, conf).dial()
	if got := again.do("ACL", "LIST"); got != changed {
		t.Errorf("after a restart:\n%s\nwant:\n%s", got, changed)
	}
	again.ok("CONFIG", "REWRITE")
	text, _ = os.ReadFile(conf)
	again.ok("CONFIG", "REWRITE")
	if twice, _ := os.ReadFile(conf); string(twice) != string(text) {
		t.Errorf("rewritten twice:\n%s\nonce:\n%s", twice, text)
	}
}

// TestACLWhileUsersChange: pipelines of a user whose permissions come and go get an answer or a refusal to each command.
func TestACLWhileUsersChange(t *testing.T) {
	s := ownServer(t)
	admin := s.dial()
	admin.ok("ACL", "SETUSER", "bob", "on", "nopass", "+@all", "~a")
	var commands [][]string
	for range 50 {
		commands = append(commands, []string{"SET", "a", "1"}, []string{"GET", "a"}, []string{"MULTI"}, []string{"GET", "a"}, []string{"EXEC"}, []string{"KEYS", "a"})
	}
	done := make(chan struct{})
	for range 3 {
		c := s.dial()
		c.ok("AUTH", "bob", "x")
		go func() {
			defer func() { done <- struct{}{} }()
			for range scaled(40) {
				for i, reply := range c.pipeline(commands) {
					if strings.HasPrefix(reply, "-") && !strings.HasPrefix(reply, "-NOPERM ") && !strings.HasPrefix(reply, "-EXECABORT ") {
						t.Errorf("%s: %q", quoteArgs(commands[i]), reply)
					}
				}
			}
		}()
	}
	for left := 3; left > 0; {
		select {
		case <-done:
			left--
		default:
			admin.ok("ACL", "SETUSER", "bob", "resetkeys", "~b", "-keys", "%R~a")
			admin.ok("ACL", "SETUSER", "bob", "resetkeys", "~a", "+keys")
		}
	}
}

// TestACLInScripts: a script may do what its client may, asks with redis.acl_check_cmd, and what it is denied is logged.
func TestACLInScripts(t *testing.T) {
	s := ownServer(t)
	admin, c := s.dial(), s.dial()
	const library = "#!lua name=l\nredis.register_function('f', function(keys, args) return redis.call(unpack(args)) end)"
	admin.want("$1\r\nl\r\n", "FUNCTION", "LOAD", library)
	admin.ok("ACL", "SETUSER", "bob", "on", "nopass", "+@all", "-keys", "~a*", "%R~r", "resetchannels", "&ch")
	c.ok("AUTH", "bob", "x")
	run := func(args ...string) (got []string) {
		const code = "return redis.call(unpack(ARGV))"
		got = append(got, c.do(append([]string{"EVAL", code, "0"}, args...)...))
		got = append(got, c.do(append([]string{"FCALL", "f", "0"}, args...)...))
		c.ok("MULTI")
		c.do(append([]string{"EVAL", code, "0"}, args...)...)
		return append(got, c.value("EXEC").elems[0].text)
	}
	for _, test := range []struct{ call, want string }{
		{"SET a 1", "OK"}, {"GET r", ""}, {"PUBLISH ch m", "0"},
		{"SET b 1", "ACL failure in script: No permissions to access a key"},
		{"SET r 1", "ACL failure in script: No permissions to access a key"},
		{"KEYS *", "ACL failure in script: User bob has no permissions to run the 'keys' command"},
		{"PUBLISH other m", "ACL failure in script: No permissions to access a channel"},
		{"ACL WHOAMI", "not allowed from script"},
	} {
		for _, got := range run(strings.Fields(test.call)...) {
			if !strings.Contains(got, test.want) {
				t.Errorf("%s: %q, want %q", test.call, got, test.want)
			}
		}
	}
	admin.want("*0\r\n", "KEYS", "[br]")
	for _, command := range []string{"exec", "eval"} { // who has run the script, and how
		fields := aclEntry(admin.value("ACL", "LOG", "1").elems[0])
		if fields["context"] != "lua" || fields["reason"] != "channel" || fields["object"] != "other" || !strings.Contains(fields["client-info"], " cmd="+command+" user=bob ") {
			t.Errorf("the latest denial: %v", fields)
		}
		c.do("EVAL", "return redis.call('PUBLISH', 'other', 'm')", "0")
	}
	admin.ok("ACL", "LOG", "RESET")
	for call, want := range map[string]string{"'set', 'a', '1'": ":1\r\n", "'set', 'b', '1'": "$-1\r\n", "'keys', '*'": "$-1\r\n"} {
		c.want(want, "EVAL", "return redis.acl_check_cmd("+call+")", "0")
	}
	c.want("-NOPERM No permissions to access a key\r\n", "EVAL", "return 1", "1", "b")
	c.want("-NOPERM No permissions to access a key\r\n", "FCALL", "f", "1", "b")
	admin.ok("ACL", "SETUSER", "bob", "-@scripting")
	c.want("-NOPERM User bob has no permissions to run the 'eval' command\r\n", "EVAL", "return 1", "0")
}
