package tests

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// commandInfo is one row of COMMAND INFO, what has no order brought into one.
type commandInfo struct {
	name              string
	arity             string
	flags             string
	first, last, step string
	categories        string
	keySpecs          string
	subcommands       map[string]commandInfo
}

// readCommandInfo takes one element of the reply to COMMAND INFO apart.
func readCommandInfo(v value) commandInfo {
	e := v.elems
	info := commandInfo{
		name: e[0].text, arity: e[1].text, flags: unordered(e[2]),
		first: e[3].text, last: e[4].text, step: e[5].text,
		categories: unordered(e[6]), subcommands: map[string]commandInfo{},
	}
	var specs []string
	for _, spec := range e[8].elems {
		specs = append(specs, printSpec(spec))
	}
	info.keySpecs = strings.Join(specs, "; ")
	for _, sub := range e[9].elems {
		s := readCommandInfo(sub)
		info.subcommands[s.name] = s
	}
	return info
}

// askCommandInfo returns the row of a command, and false if there is none.
func askCommandInfo(c *conn, name string) (commandInfo, bool) {
	c.t.Helper()
	v := c.value("COMMAND", "INFO", name)
	if len(v.elems) != 1 || len(v.elems[0].elems) != 10 {
		return commandInfo{}, false
	}
	return readCommandInfo(v.elems[0]), true
}

func unordered(v value) string {
	texts := v.texts()
	slices.Sort(texts)
	return strings.Join(texts, " ")
}

// printSpec prints a key specification with its flags in order. What a map says
// for people only ("notes") is left out.
func printSpec(v value) string {
	var parts []string
	for i := 0; i+1 < len(v.elems); i += 2 {
		switch name, content := v.elems[i].text, v.elems[i+1]; name {
		case "notes":
		case "flags":
			parts = append(parts, "flags: "+unordered(content))
		default:
			parts = append(parts, name+": "+flatten(content))
		}
	}
	return strings.Join(parts, ", ")
}

func flatten(v value) string {
	if v.elems == nil {
		return v.text
	}
	var parts []string
	for _, e := range v.elems {
		parts = append(parts, flatten(e))
	}
	return "(" + strings.Join(parts, " ") + ")"
}

// differs lists the fields in which two rows are not the same, as "field: ours,
// not theirs".
func (c commandInfo) differs(peer commandInfo) []string {
	var out []string
	for _, f := range []struct{ name, ours, theirs string }{
		{"arity", c.arity, peer.arity}, {"flags", c.flags, peer.flags}, {"first key", c.first, peer.first},
		{"last key", c.last, peer.last}, {"step", c.step, peer.step}, {"categories", c.categories, peer.categories},
		{"key specs", c.keySpecs, peer.keySpecs},
	} {
		if f.ours != f.theirs {
			out = append(out, fmt.Sprintf("%s: %s, not %s", f.name, f.ours, f.theirs))
		}
	}
	return out
}

// onlyOurs are the commands that Redis 7.0 has not, and where they come from.
var onlyOurs = map[string]string{
	"commandlog":           "Valkey 8.1",
	"delifeq":              "Valkey 9.0",
	"hotkeys":              "Valkey's, and the point of this server",
	"client|capa":          "Valkey 8.0",
	"client|import-source": "Valkey 8.1",
	"client|setinfo":       "Redis 7.2",
	"script|show":          "Valkey 8.0",
	"client|no-touch":      "Redis 7.2",
	"hexpire":              "Redis 7.4",
	"hexpireat":            "Redis 7.4",
	"hexpiretime":          "Redis 7.4",
	"hpersist":             "Redis 7.4",
	"hpexpire":             "Redis 7.4",
	"hpexpireat":           "Redis 7.4",
	"hpexpiretime":         "Redis 7.4",
	"hpttl":                "Redis 7.4",
	"httl":                 "Redis 7.4",
	"hgetdel":              "Redis 8.0",
	"hgetex":               "Redis 8.0",
	"hsetex":               "Redis 8.0",
}

// infoDiffers are intended differences of COMMAND INFO from Redis 7.0, by
// command and field, with the reason.
var infoDiffers = map[string]string{
	"blmove: flags":                  "allowed in scripts since Redis 7.2, where it does not wait",
	"blpop: flags":                   "allowed in scripts since Redis 7.2, where it does not wait",
	"brpop: flags":                   "allowed in scripts since Redis 7.2, where it does not wait",
	"brpoplpush: flags":              "allowed in scripts since Redis 7.2, where it does not wait",
	"bzpopmax: flags":                "allowed in scripts since Redis 7.2, where it does not wait",
	"bzpopmin: flags":                "allowed in scripts since Redis 7.2, where it does not wait",
	"command|getkeys: arity":         "-3 since Redis 7.2: a command may have no arguments",
	"command|getkeysandflags: arity": "-3 since Redis 7.2: a command may have no arguments",
	"zrank: arity":                   "-3 since Redis 7.2: WITHSCORE",
	"zrevrank: arity":                "-3 since Redis 7.2: WITHSCORE",
}

func TestCommandInfo(t *testing.T) {
	ours, theirs := startServer(t).dial(), startPeer(t).dial()
	names := ours.value("COMMAND", "LIST").texts()
	if len(names) < 60 {
		t.Errorf("COMMAND LIST names only %d commands", len(names))
	}
	if n := ours.do("COMMAND", "COUNT"); n != fmt.Sprintf(":%d\r\n", topLevel(names)) {
		t.Errorf("COMMAND COUNT is %q, and COMMAND LIST has %d commands", n, topLevel(names))
	}
	for _, name := range names {
		if strings.Contains(name, "|") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			info, ok := askCommandInfo(ours, name)
			if !ok {
				t.Fatal("listed, but COMMAND INFO knows nothing of it")
			}
			peer, ok := askCommandInfo(theirs, name)
			if !ok {
				if onlyOurs[name] == "" {
					t.Error("the peer has no such command, and it is not among onlyOurs")
				}
				return
			}
			compareCommandInfo(t, info, peer)
		})
	}
}

func topLevel(names []string) int {
	n := 0
	for _, name := range names {
		if !strings.Contains(name, "|") {
			n++
		}
	}
	return n
}

func compareCommandInfo(t *testing.T, ours, theirs commandInfo) {
	t.Helper()
	for _, d := range ours.differs(theirs) {
		field, _, _ := strings.Cut(d, ": ")
		if infoDiffers[ours.name+": "+field] == "" {
			t.Errorf("%s: %s", ours.name, d)
		}
	}
	for name, sub := range ours.subcommands {
		peer, ok := theirs.subcommands[name]
		if !ok {
			if onlyOurs[name] == "" {
				t.Errorf("the peer has no %s, and it is not among onlyOurs", name)
			}
			continue
		}
		compareCommandInfo(t, sub, peer)
	}
}

// TestCommandInfoOfOurOwn pins the rows that no redis-server can confirm.
func TestCommandInfoOfOurOwn(t *testing.T) {
	c := startServer(t).dial()
	hotkeys, _ := askCommandInfo(c, "hotkeys")
	if hotkeys.arity != "-2" || hotkeys.first != "0" {
		t.Errorf("hotkeys: arity %s, first key %s", hotkeys.arity, hotkeys.first)
	}
	for name, want := range map[string]struct{ arity, categories string }{
		"hotkeys|get":     {"-2", "@admin @dangerous @slow"},
		"hotkeys|history": {"-2", "@admin @dangerous @slow"},
		"hotkeys|reset":   {"2", "@admin @dangerous @slow"},
		"hotkeys|help":    {"2", "@slow"},
		"hotkeys|states":  {"-2", "@admin @dangerous @slow"},
		"hotkeys|ready":   {"-3", "@admin @dangerous @slow"},
		"hotkeys|demote":  {"-3", "@admin @dangerous @slow"},
		"hotkeys|pin":     {"-3", "@admin @dangerous @slow"},
		"hotkeys|unpin":   {"-3", "@admin @dangerous @slow"},
		"hotkeys|report":  {"-4", "@fast"},
	} {
		sub, ok := hotkeys.subcommands[name]
		if !ok || sub.arity != want.arity || sub.categories != want.categories {
			t.Errorf("%s: arity %s, categories %q; want %s, %q", name, sub.arity, sub.categories, want.arity, want.categories)
		}
		if !slices.Contains(strings.Fields(sub.flags), "loading") {
			t.Errorf("%s: flags %q lack loading", name, sub.flags)
		}
	}
	delifeq, _ := askCommandInfo(c, "delifeq")
	if delifeq.arity != "3" || delifeq.first != "1" || delifeq.last != "1" || delifeq.step != "1" ||
		!slices.Contains(strings.Fields(delifeq.flags), "write") {
		t.Errorf("delifeq: %+v", delifeq)
	}
}

// TestEveryCommandIsThere sees that every command promised is there.
func TestEveryCommandIsThere(t *testing.T) {
	const promised = `get set setnx setex psetex getset getdel getex mget mset msetnx append strlen incr decr incrby decrby
		incrbyfloat getrange substr setrange lcs delifeq del unlink exists type ttl pttl expire pexpire expireat pexpireat expiretime
		pexpiretime persist rename renamenx copy move randomkey keys scan touch object swapdb select dbsize flushdb flushall
		ping echo auth hello quit reset client multi exec discard watch unwatch command config info time memory shutdown lolwut
		debug hotkeys subscribe unsubscribe psubscribe punsubscribe ssubscribe sunsubscribe publish spublish pubsub`
	const subcommands = `object|encoding object|refcount object|idletime object|freq object|help client|id client|info client|list
		client|kill client|getname client|setname client|setinfo client|no-touch client|no-evict client|reply client|pause client|unpause
		client|capa client|import-source client|help command|count command|list command|info command|docs command|getkeys command|getkeysandflags command|help config|get
		config|set config|rewrite config|resetstat config|help memory|usage memory|stats memory|doctor memory|malloc-stats memory|purge memory|help
		slowlog|get slowlog|len slowlog|reset slowlog|help commandlog|get commandlog|len commandlog|reset commandlog|help latency|latest
		latency|history latency|reset latency|graph latency|histogram latency|doctor latency|help hotkeys|get hotkeys|reset hotkeys|history hotkeys|start hotkeys|stop hotkeys|help
		hotkeys|states hotkeys|ready hotkeys|demote hotkeys|pin hotkeys|unpin hotkeys|report
		pubsub|channels pubsub|numsub pubsub|numpat pubsub|shardchannels pubsub|shardnumsub pubsub|help`
	c := startServer(t).dial()
	for _, name := range strings.Fields(promised + " " + subcommands) {
		if _, ok := askCommandInfo(c, name); !ok {
			t.Errorf("there is no %s", name)
		}
	}
}

// TestEveryCommandHasAGoldenCase sees that a command that is added gets a script.
func TestEveryCommandHasAGoldenCase(t *testing.T) {
	used := map[string]bool{}
	for _, s := range readScripts(t) {
		for _, sec := range s.sections {
			for _, b := range sec.blocks {
				for _, line := range b.commands {
					words := strings.Fields(strings.ToLower(line))
					for i := range words {
						used[words[i]] = true
						if i > 0 {
							used[words[i-1]+"|"+words[i]] = true
						}
					}
				}
			}
		}
	}
	// Their replies are about the server itself and are tested as Go code.
	elsewhere := map[string]string{
		"command|docs": "TestCommandDocs", "command|count": "TestCommandInfo",
		"client|help": "TestHelp", "command|help": "TestHelp", "config|help": "TestHelp", "object|help": "TestHelp",
		"memory|help": "TestHelp", "debug|help": "TestHelp", "function|help": "TestHelp",
		"commandlog|help": "TestHelp", "slowlog|help": "TestHelp", "latency|help": "TestHelp",
		"pubsub|help": "TestHelp", "acl|help": "TestHelp",
	}
	for _, name := range startServer(t).dial().value("COMMAND", "LIST").texts() {
		if !used[name] && elsewhere[name] == "" {
			t.Errorf("no golden script has %s", name)
		}
	}
}

// TestHelp checks the form of HELP texts, not their words: a heading, indented
// explanations, HELP itself at the end.
func TestHelp(t *testing.T) {
	check := func(t *testing.T, c *conn, container string) {
		v := c.value(container, "HELP")
		lines := v.texts()
		heading := container + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"
		if v.kind != '*' || len(lines) < 5 || lines[0] != heading || lines[len(lines)-2] != "HELP" || lines[len(lines)-1] != "    Prints this help." {
			t.Fatalf("%s HELP:\n%s", container, v)
		}
		for i, e := range v.elems {
			if e.kind != '+' {
				t.Errorf("%s HELP: line %d is of type %c, not a simple string", container, i, e.kind)
			}
		}
	}
	s := startServer(t)
	for _, container := range []string{
		"ACL", "CLIENT", "COMMAND", "CONFIG", "FUNCTION", "OBJECT", "HOTKEYS", "MEMORY", "PUBSUB", "COMMANDLOG", "SCRIPT", "SLOWLOG", "LATENCY", "XGROUP", "XINFO",
	} {
		t.Run(container, func(t *testing.T) { check(t, s.dial(), container) })
	}
	t.Run("names every subcommand", func(t *testing.T) {
		lines := s.dial().value("HOTKEYS", "HELP").texts()
		rows, _ := askCommandInfo(s.dial(), "hotkeys")
		for name := range rows.subcommands {
			want := strings.ToUpper(strings.TrimPrefix(name, "hotkeys|"))
			if !slices.ContainsFunc(lines, func(l string) bool { return l == want || strings.HasPrefix(l, want+" ") }) {
				t.Errorf("HOTKEYS HELP has no line for %s: %q", want, lines)
			}
		}
	})
	t.Run("the peer", func(t *testing.T) {
		p := startPeer(t).dial()
		for _, container := range []string{"CLIENT", "COMMAND", "CONFIG", "OBJECT", "PUBSUB"} {
			check(t, p, container)
		}
	})
}

func TestCommandDocs(t *testing.T) {
	c := startServer(t).dial()
	c.do("HELLO", "3")
	docs := c.value("COMMAND", "DOCS", "get", "config", "nosuch")
	if docs.kind != '%' || len(docs.elems) != 4 {
		t.Fatalf("COMMAND DOCS get config nosuch:\n%s", docs)
	}
	get, ok := docs.field("get")
	if !ok || get.kind != '%' {
		t.Fatalf("no docs of GET:\n%s", docs)
	}
	for name, want := range map[string]string{"since": "1.0.0", "group": "string"} {
		if v, _ := get.field(name); v.text != want {
			t.Errorf("GET: %s is %q, want %q", name, v.text, want)
		}
	}
	if v, _ := get.field("summary"); v.text == "" {
		t.Error("GET has no summary")
	}
	config, _ := docs.field("config")
	if subs, ok := config.field("subcommands"); !ok || len(subs.elems) == 0 {
		t.Error("CONFIG has no subcommands in its docs")
	}
	// redis-cli asks for the docs of everything when it starts.
	all := c.value("COMMAND", "DOCS")
	if len(all.elems)/2 != topLevel(c.value("COMMAND", "LIST").texts()) {
		t.Errorf("COMMAND DOCS has %d commands", len(all.elems)/2)
	}
	for i := 0; i < len(all.elems); i += 2 {
		for _, field := range []string{"summary", "since", "group"} {
			if v, _ := all.elems[i+1].field(field); v.text == "" {
				t.Errorf("%s has no %s", all.elems[i].text, field)
			}
		}
	}
}

// TestCommandListFilters compares what is selected with what COMMAND INFO says.
func TestCommandListFilters(t *testing.T) {
	c := startServer(t).dial()
	fast := c.value("COMMAND", "LIST", "FILTERBY", "ACLCAT", "fast").texts()
	if !slices.Contains(fast, "get") || slices.Contains(fast, "keys") {
		t.Errorf("FILTERBY ACLCAT fast: %q", fast)
	}
	for _, name := range c.value("COMMAND", "LIST", "FILTERBY", "PATTERN", "*ex*").texts() {
		if !strings.Contains(name, "ex") {
			t.Errorf("FILTERBY PATTERN *ex* gave %s", name)
		}
	}
}
