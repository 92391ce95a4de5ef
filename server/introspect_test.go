package server

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// differentRows are the commands whose rows differ from Redis 7.0's on purpose.
var differentRows = map[string]string{
	"blmove":     "allowed in scripts since Redis 7.2",
	"blpop":      "allowed in scripts since Redis 7.2",
	"brpop":      "allowed in scripts since Redis 7.2",
	"brpoplpush": "allowed in scripts since Redis 7.2",
	"bzpopmax":   "allowed in scripts since Redis 7.2",
	"bzpopmin":   "allowed in scripts since Redis 7.2",
	"zrank":      "WITHSCORE, of Redis 7.2",
	"zrevrank":   "WITHSCORE, of Redis 7.2",
}

// differentDocs are the commands whose arguments differ from those of Redis 7.0.
var differentDocs = map[string]string{
	"set":          "Valkey's IFEQ",
	"client|kill":  "MAXAGE, of Redis 7.4, and the options of Valkey 9",
	"client|list":  "the options of Valkey 9",
	"hscan":        "NOVALUES, of Redis 7.4",
	"bitop":        "the operations of Redis 8.2",
	"zrank":        "WITHSCORE, of Redis 7.2",
	"zrevrank":     "WITHSCORE, of Redis 7.2",
	"pfmerge":      "sources may be left out, as Redis has documented since 7.2",
	"pfdebug":      "a system command, as debug",
	"pfselftest":   "a system command, as debug",
	"script|flush": "the name of the argument, of Redis 7.2",
	"debug":        "Redis marks it as a system command, which no client looks at",
}

// newerCommands are not in Redis 7.0.
var newerCommands = []string{"client|capa", "client|import-source", "script|show", "client|no-touch", "client|setinfo", "delifeq", "hotkeys", "hotkeys|get", "hotkeys|help", "hotkeys|history", "hotkeys|reset", "hotkeys|demote", "hotkeys|pin", "hotkeys|ready", "hotkeys|report", "hotkeys|states", "hotkeys|unpin", "hotkeys|start", "hotkeys|stop",
	"hexpire", "hexpireat", "hexpiretime", "hgetdel", "hgetex", "hpersist", "hpexpire", "hpexpireat", "hpexpiretime", "hpttl", "hsetex", "httl",
	"commandlog", "commandlog|get", "commandlog|help", "commandlog|len", "commandlog|reset"}

// protocols runs a test in both versions of the protocol.
func protocols(t *testing.T, test func(t *testing.T, version string)) {
	for _, version := range []string{"2", "3"} {
		t.Run("RESP"+version, func(t *testing.T) { test(t, version) })
	}
}

func TestRowsAreThoseOfRedis(t *testing.T) {
	p := startPeer(t)
	s := newTestServer(t)
	protocols(t, func(t *testing.T, version string) {
		c := newTestClient(t, s)
		p.do("HELLO", version)
		do(c, "HELLO", version)
		for _, cmd := range s.table.all {
			theirs := p.do("COMMAND", "INFO", cmd.fullName).items[0]
			if theirs.items == nil {
				if !slices.Contains(newerCommands, cmd.fullName) {
					t.Errorf("%s: not in Redis, nor in newerCommands", cmd.fullName)
				}
				continue
			}
			ours := decoded(t, do(c, "COMMAND", "INFO", cmd.fullName)).items[0]
			// The subcommands have their own turns; the notes of key specifications are prose.
			ours.items[9], theirs.items[9] = reply{}, reply{}
			for i, spec := range theirs.items[8].items {
				theirs.items[8].items[i] = spec.without("notes")
				if version == "3" {
					theirs.items[8].items[i].kind = '%'
				}
			}
			_, mayDiffer := differentRows[cmd.fullName]
			if same := ours.String() == theirs.String(); same == mayDiffer {
				t.Errorf("%s\n ours   %v\n theirs %v", cmd.fullName, ours, theirs)
			}
		}
	})
}

func TestDocsAreThoseOfRedis(t *testing.T) {
	p := startPeer(t)
	s := newTestServer(t)
	protocols(t, func(t *testing.T, version string) {
		c := newTestClient(t, s)
		p.do("HELLO", version)
		do(c, "HELLO", version)
		for _, cmd := range s.table.all {
			if slices.Contains(newerCommands, cmd.fullName) {
				continue
			}
			ours, ok := decoded(t, do(c, "COMMAND", "DOCS", cmd.fullName)).field(cmd.fullName)
			theirs, found := p.do("COMMAND", "DOCS", cmd.fullName).field(cmd.fullName)
			if !ok || !found {
				t.Fatalf("%s: no documentation: ours %v, theirs %v", cmd.fullName, ours, theirs)
			}
			prose := []string{"summary", "complexity", "history", "subcommands"}
			ours, theirs = ours.without(prose...), theirs.without(prose...)
			_, mayDiffer := differentDocs[cmd.fullName]
			if same := ours.String() == theirs.String(); same == mayDiffer {
				t.Errorf("%s\n ours   %v\n theirs %v", cmd.fullName, ours, theirs)
			}
		}
	})
}

func TestEveryCommandIsDocumented(t *testing.T) {
	s := newTestServer(t)
	for _, cmd := range s.table.all {
		d, ok := docs[cmd.fullName]
		if !ok || d.complexity == "" || cmd.summary == "" || cmd.since == "" {
			t.Errorf("%s: documentation is incomplete", cmd.fullName)
		}
		d.arguments(len(cmd.keys)) // panics on a syntax it cannot read
	}
	for name := range docs {
		if s.table.named([]byte(name)) == nil {
			t.Errorf("%s is documented and does not exist", name)
		}
	}
}

func TestSyntax(t *testing.T) {
	for _, test := range []struct{ syntax, want string }{
		{"key:key", "key:key#0"},
		{"a:key b:key c:key", "a:key#0 b:key#1 c:key#1"},
		{"ip:port@1.2.3", "ip:port:string@1.2.3"},
		{"[NX@2.6.12] [value...]", "nx:pure-token=NX@2.6.12? value:string?+"},
		{"EX seconds:integer!2.0.0", "seconds:integer=EX!2.0.0"},
		{"how=[NX|XX|EX seconds:integer]@2.6.12...", "how:oneof(nx:pure-token=NX xx:pure-token=XX seconds:integer=EX)@2.6.12?+"},
		{"pair=(a b)", "pair:block(a:string b:string)"},
		{"[BY pattern+...] [GET pair=(a b)+...]", "pattern:string=BY?+= pair:block(a:string b:string)=GET?+="},
		{"[AUTH who=(user [pass])]", "who:block(user:string pass:string?)=AUTH?"},
	} {
		var shown []string
		for _, a := range (doc{syntax: test.syntax}).arguments(2) {
			shown = append(shown, a.String())
		}
		if got := strings.Join(shown, " "); got != test.want {
			t.Errorf("%s\n got  %s\n want %s", test.syntax, got, test.want)
		}
	}
	for _, malformed := range []string{"(a", "a)", "[a b]", "x=(a", "x=(a|", "=(a)", "a@1 |b", "x=(a)b"} {
		func() {
			defer func() { recover() }()
			(doc{syntax: malformed}).arguments(1)
			t.Errorf("%q was read", malformed)
		}()
	}
}

func (a argument) String() string {
	text := a.name + ":" + a.kind
	if a.keySpec >= 0 {
		text += "#" + strconv.Itoa(a.keySpec)
	}
	if a.parts != nil {
		var parts []string
		for _, part := range a.parts {
			parts = append(parts, part.String())
		}
		text += "(" + strings.Join(parts, " ") + ")"
	}
	for _, attached := range []struct{ mark, value string }{{"=", a.token}, {"@", a.since}, {"!", a.deprecated}} {
		if attached.value != "" {
			text += attached.mark + attached.value
		}
	}
	if a.optional {
		text += "?"
	}
	if a.multiple {
		text += "+"
	}
	if a.eachToken {
		text += "="
	}
	return text
}

// commandReplies are what Redis 7.0 answers.
var commandReplies = []struct {
	command string
	want    string
}{
	{"COMMAND GETKEYS get k", "*1\r\n$1\r\nk\r\n"},
	{"COMMAND GETKEYS get k k", "-ERR Invalid number of arguments specified for command\r\n"},
	{"COMMAND GETKEYS nosuch x", "-ERR Invalid command specified\r\n"},
	{"COMMAND GETKEYS client x", "-ERR Invalid command specified\r\n"},
	{"COMMAND GETKEYS client list", "-ERR The command has no key arguments\r\n"},
	{"COMMAND GETKEYS ping 1 2 3 4", "-ERR The command has no key arguments\r\n"},
	{"COMMAND GETKEYS mset a 1 b 2", "*2\r\n$1\r\na\r\n$1\r\nb\r\n"},
	{"COMMAND GETKEYS mset a 1 b", "*2\r\n$1\r\na\r\n$1\r\nb\r\n"},
	{"COMMAND GETKEYS memory usage k", "*1\r\n$1\r\nk\r\n"},
	{"COMMAND GETKEYS get", "-ERR wrong number of arguments for 'command|getkeys' command\r\n"},
	{"COMMAND GETKEYSANDFLAGS get x", "*1\r\n*2\r\n$1\r\nx\r\n*2\r\n+RO\r\n+access\r\n"},
	{"COMMAND GETKEYSANDFLAGS set a b", "*1\r\n*2\r\n$1\r\na\r\n*2\r\n+OW\r\n+update\r\n"},
	{"COMMAND GETKEYSANDFLAGS set a get", "*1\r\n*2\r\n$1\r\na\r\n*2\r\n+OW\r\n+update\r\n"},
	{"COMMAND GETKEYSANDFLAGS set a b get", "*1\r\n*2\r\n$1\r\na\r\n*3\r\n+RW\r\n+access\r\n+update\r\n"},
	{"COMMAND GETKEYSANDFLAGS lcs a b", "*2\r\n*2\r\n$1\r\na\r\n*2\r\n+RO\r\n+access\r\n*2\r\n$1\r\nb\r\n*2\r\n+RO\r\n+access\r\n"},
	{"COMMAND INFO nosuch", "*1\r\n$-1\r\n"},
	{"COMMAND INFO client|nosuch", "*1\r\n$-1\r\n"},
	{"COMMAND INFO get|x", "*1\r\n$-1\r\n"},
	{"COMMAND DOCS nosuch", "*0\r\n"},
	{"COMMAND DOCS get|x", "*0\r\n"},
	{"COMMAND LIST FILTERBY PATTERN GETS*", "*1\r\n$6\r\ngetset\r\n"},
	{"COMMAND LIST FILTERBY ACLCAT nosuch", "*0\r\n"},
	{"COMMAND LIST FILTERBY ACLCAT @fast", "*0\r\n"},
	{"COMMAND LIST FILTERBY MODULE x", "*0\r\n"},
	{"COMMAND LIST FILTERBY x y", "-ERR syntax error\r\n"},
	{"COMMAND LIST FILTERBY PATTERN", "-ERR syntax error\r\n"},
	{"COMMAND LIST x", "-ERR syntax error\r\n"},
	{"COMMAND nosuch", "-ERR unknown subcommand 'nosuch'. Try COMMAND HELP.\r\n"},
	{"COMMAND COUNT x", "-ERR wrong number of arguments for 'command|count' command\r\n"},
}

func TestCommandReplies(t *testing.T) {
	s := newTestServer(t)
	c := newTestClient(t, s)
	for _, test := range commandReplies {
		if got := do(c, strings.Fields(test.command)...); got != test.want {
			t.Errorf("%s\n got  %q\n want %q", test.command, got, test.want)
		}
	}
	p := startPeer(t)
	for _, test := range commandReplies {
		want := decoded(t, test.want)
		if got := p.do(strings.Fields(test.command)...); got.String() != want.String() {
			t.Errorf("%s: Redis answers %v, the table says %v", test.command, got, want)
		}
	}
}

func TestCommandListsAgree(t *testing.T) {
	s := newTestServer(t)
	c := newTestClient(t, s)
	all := decoded(t, do(c, "COMMAND"))
	if count := do(c, "COMMAND", "COUNT"); count != ":"+strconv.Itoa(len(all.items))+"\r\n" {
		t.Errorf("COMMAND has %d rows, COMMAND COUNT says %q", len(all.items), count)
	}
	if got := decoded(t, do(c, "COMMAND", "INFO")); got.String() != all.String() {
		t.Error("COMMAND INFO without names differs from COMMAND")
	}
	if got := len(decoded(t, do(c, "COMMAND", "LIST")).items); got != len(s.table.all) {
		t.Errorf("COMMAND LIST names %d of %d commands and subcommands", got, len(s.table.all))
	}
	if got := len(decoded(t, do(c, "COMMAND", "DOCS")).items); got != 2*len(s.table.top) {
		t.Errorf("COMMAND DOCS has %d items for %d commands", got, len(s.table.top))
	}
	fastOnes := len(decoded(t, do(c, "COMMAND", "LIST", "FILTERBY", "ACLCAT", "FAST")).items)
	slowOnes := len(decoded(t, do(c, "COMMAND", "LIST", "FILTERBY", "ACLCAT", "slow")).items)
	if fastOnes == 0 || slowOnes == 0 || fastOnes+slowOnes != len(s.table.all) {
		t.Errorf("%d fast and %d slow commands of %d", fastOnes, slowOnes, len(s.table.all))
	}
}
