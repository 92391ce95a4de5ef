package acl

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// testCatalog is a small world: two containers, one of which is itself a command, and plain commands.
func testCatalog() *Catalog {
	const read, write, fast, slow, admin = 0, 1, 2, 3, 4
	return NewCatalog([]string{"read", "write", "fast", "slow", "admin"}, []Command{
		{"get", -1, []int{read, fast}},
		{"set", -1, []int{write, slow}},
		{"select", -1, []int{fast}},
		{"config", -1, []int{slow}},
		{"config|get", 3, []int{admin, slow}},
		{"config|set", 3, []int{admin, slow}},
		{"command", -1, []int{slow}},
		{"command|count", 6, []int{slow}},
		{"getbit", -1, []int{read, fast}},
	})
}

func newUser(t testing.TB, rules ...string) *User {
	t.Helper()
	u := testCatalog().NewUser("u")
	if err := u.Apply(rules...); err != nil {
		t.Fatalf("%q: %v", rules, err)
	}
	return u
}

// mayRun asks with the command line as a client would write it.
func mayRun(u *User, line string) bool {
	words := strings.Fields(line)
	call := Call{Command: u.catalog.byName[words[0]]}
	if id, ok := u.catalog.byName[words[0]+"|"+strings.Join(words[1:min(2, len(words))], "")]; ok {
		call.Command = id
	}
	if len(words) > 1 {
		call.FirstArg = []byte(words[1])
	}
	v, _ := u.Check(&call)
	return v == Allowed
}

func TestDescribe(t *testing.T) {
	const prefix = "off sanitize-payload "
	for _, c := range []struct{ rules, want string }{
		{"", prefix + "resetchannels -@all"},
		{"on nopass ~* &* +@all", "on nopass sanitize-payload ~* &* +@all"},
		{"+get -get +GET", prefix + "resetchannels -@all +get"},
		{"+config|set +config|get -config", prefix + "resetchannels -@all -config"},
		{"+@all -@admin +config|get", prefix + "resetchannels +@all -@admin +config|get"},
		{"+get +@read -get +@READ", prefix + "resetchannels -@all -get +@read"},
		{"+get +@all", prefix + "resetchannels +@all"},
		{"+select|0 +select|1 +select|0", prefix + "resetchannels -@all +select|1 +select|0"},
		{"+select|0 -select", prefix + "resetchannels -@all -select"},
		{"+getbit -get", prefix + "resetchannels -@all +getbit -get"},
		{"~a %R~b %w~c %Wr~d %R~a", prefix + "~a %R~b %W~c ~d resetchannels -@all"},
		{"%R~x %W~x", prefix + "~x resetchannels -@all"},
		{"%RW~* ~a", prefix + "%RW~* ~a resetchannels -@all"},
		{"&a &b &a", prefix + "resetchannels &a &b -@all"},
		{"&a allchannels", prefix + "&* -@all"},
		{"(~a +get) (&* %R~* +@all -set)", prefix + "resetchannels -@all (~a resetchannels -@all +get) (%R~* &* +@all -set)"},
		{"(~a) clearselectors", prefix + "resetchannels -@all"},
		{"()", prefix + "resetchannels -@all (resetchannels -@all)"},
		{"skip-sanitize-payload", "off skip-sanitize-payload resetchannels -@all"},
		{">a nopass", "off nopass sanitize-payload resetchannels -@all"},
		{">a nopass resetpass", prefix + "resetchannels -@all"},
		{">", prefix + "#e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 resetchannels -@all"},
		{">a >b <a", prefix + "#3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d resetchannels -@all"},
		{"on >a ~* &* +@all (+get) skip-sanitize-payload reset", prefix + "resetchannels -@all"},
	} {
		rules, open := MergeSelectors(strings.Fields(c.rules))
		if open >= 0 {
			t.Fatalf("%s: no end", c.rules)
		}
		if got := newUser(t, rules...).Describe(); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.rules, got, c.want)
		}
	}
}

func TestRuleErrors(t *testing.T) {
	for rules, want := range map[string]error{
		"+nosuch":                     ErrUnknown,
		"-nosuch":                     ErrUnknown,
		"+@nosuch":                    ErrUnknown,
		"+":                           ErrUnknown,
		"+@":                          ErrUnknown,
		"+config|nosuch":              ErrUnknown,
		"-config|nosuch":              ErrUnknown,
		"-select|0":                   ErrUnknown,
		"+nosuch|x":                   ErrUnknown,
		"+|x":                         ErrUnknown,
		"+get|":                       ErrSyntax,
		"+config|":                    ErrSyntax,
		"+config|set|port":            ErrFirstArg,
		"+get|a\tb":                   ErrSyntax,
		"%~x":                         ErrSyntax,
		"%RR~x":                       ErrSyntax,
		"%X~x":                        ErrSyntax,
		"%~":                          ErrSyntax,
		"~a\x00b":                     ErrSyntax,
		"&a\nb":                       ErrSyntax,
		"nosuch":                      ErrSyntax,
		"(":                           ErrSyntax,
		"(on)":                        ErrSyntax,
		"(>x)":                        ErrSyntax,
		"(\"\")":                      ErrSyntax,
		"reſet":                       ErrSyntax,
		"allkeys ~a":                  ErrAfterAllKeys,
		"~* %R~a":                     ErrAfterAllKeys,
		"allchannels &a":              ErrAfterAllChannel,
		"<x":                          ErrNoPassword,
		"!" + digest{}.String():       ErrNoPassword,
		"#12":                         ErrDigest,
		"!12":                         ErrDigest,
		"#" + strings.Repeat("A", 64): ErrDigest,
		"#" + strings.Repeat("g", 64): ErrDigest,
	} {
		list := strings.Split(rules, " ")
		err := testCatalog().NewUser("u").Apply(list...)
		fault, ok := errors.AsType[*RuleError](err)
		if !ok || fault.Err != want || fault.Index != len(list)-1 || fault.Rule != list[len(list)-1] {
			t.Errorf("%q: %#v, want %v", rules, err, want)
		}
	}
}

func TestCommands(t *testing.T) {
	for _, c := range []struct{ rules, allowed, denied string }{
		{"+get", "get a", "set a,getbit a,config get"},
		{"+config", "config get,config set", "get a"},
		{"+config|get", "config get", "config set"},
		{"+config -config|get", "config set", "config get"},
		{"+config|get -config", "", "config get,config set"},
		{"+@admin", "config get,config set", "get,set"},
		{"+@all -@slow", "get,select 0", "config get,command,command count,set"},
		{"+command|count", "command count", "command"},
		{"+select|0", "select 0", "select 1,select"},
		{"+getbit|FOO", "getbit foo,getbit Foo", "getbit fo,getbit"},
		{"+select|0 +select", "select 0,select 1", ""},
		{"+select +select|0", "select 0,select 1", ""},
		{"+select|0 -select", "", "select 0,select 1"},
		{"+select|0 -@fast", "", "select 0,select 1"},
		{"+@all -@all", "", "get a"},
		{"+@all -get +get", "get a,set b", ""},
		{"allcommands", "get a,set b", ""},
		{"+@all nocommands", "", "get a,set b"},
		{"(+get) +set", "get a,set b", "select 0"},
		{"(+get) clearselectors", "", "get a"},
	} {
		rules, _ := MergeSelectors(strings.Fields(c.rules))
		u := newUser(t, rules...)
		for line := range strings.SplitSeq(c.allowed, ",") {
			if line != "" && !mayRun(u, line) {
				t.Errorf("%s: %s is denied", c.rules, line)
			}
		}
		for line := range strings.SplitSeq(c.denied, ",") {
			if line != "" && mayRun(u, line) {
				t.Errorf("%s: %s is allowed", c.rules, line)
			}
		}
	}
}

func TestKeysAndChannels(t *testing.T) {
	const none, both = Access(0), Read | Write
	u := newUser(t, "+@all", "~rw:*", "%R~r:?", "%W~w:[ab]", "~exact", "&news:*", "&on", "(%R~rw2:* %W~rw2:* +get)")
	for _, c := range []struct {
		key    string
		access Access
		want   Verdict
	}{
		{"rw:", both, Allowed}, {"rw:x", both, Allowed}, {"rw", both, DeniedKey},
		{"r:1", Read, Allowed}, {"r:1", none, Allowed}, {"r:1", Write, DeniedKey}, {"r:12", Read, DeniedKey},
		{"w:a", Write, Allowed}, {"w:c", Write, DeniedKey}, {"w:a", both, DeniedKey},
		{"exact", both, Allowed}, {"exactly", both, DeniedKey}, {"rw2:", both, Allowed},
	} {
		if v, _ := u.Check(&Call{Command: 0, Keys: []Key{{[]byte(c.key), c.access}}}); v != c.want {
			t.Errorf("%s, access %d: %d, want %d", c.key, c.access, v, c.want)
		}
	}
	for _, c := range []struct {
		channel  string
		patterns bool
		want     Verdict
	}{
		{"news:a", false, Allowed}, {"news", false, DeniedChannel}, {"on", false, Allowed},
		{"news:*", true, Allowed}, {"news:a", true, DeniedChannel}, {"on", true, Allowed}, {"*", true, DeniedChannel},
	} {
		if v, _ := u.Check(&Call{Command: 0, Channels: [][]byte{[]byte(c.channel)}, Patterns: c.patterns}); v != c.want {
			t.Errorf("channel %s: %d, want %d", c.channel, v, c.want)
		}
	}
	if v, at := u.Check(&Call{Keys: []Key{{Name: []byte("exact")}, {Name: []byte("no")}, {Name: []byte("none")}}}); v != DeniedKey || at != 1 {
		t.Errorf("the second of three keys: %d at %d", v, at)
	}
}

// One selector must allow all of a call: what two allow together is denied.
func TestSelectorsDoNotAddUp(t *testing.T) {
	u := newUser(t, "+get", "~a", "(+set ~b)")
	for _, c := range []struct {
		command int
		key     string
		want    Verdict
	}{{0, "a", Allowed}, {1, "b", Allowed}, {0, "b", DeniedKey}, {1, "a", DeniedKey}, {2, "a", DeniedCommand}} {
		if v, _ := u.Check(&Call{Command: c.command, Keys: []Key{{[]byte(c.key), Read}}}); v != c.want {
			t.Errorf("command %d on %s: %d, want %d", c.command, c.key, v, c.want)
		}
	}
}

func TestAuthenticate(t *testing.T) {
	u := newUser(t, "on", ">one", ">two", "#"+digest{}.String())
	for password, want := range map[string]bool{"one": true, "two": true, "": false, "three": false, ">one": false} {
		if u.Authenticate([]byte(password)) != want {
			t.Errorf("%q: %v", password, !want)
		}
	}
	if u := newUser(t, ">one"); u.Authenticate([]byte("one")) {
		t.Error("a user who is off was let in")
	}
	if u := newUser(t, "on", "nopass"); !u.Authenticate([]byte("whatever")) {
		t.Error("nopass refused a password")
	}
	if u := newUser(t, "on"); u.Authenticate(nil) {
		t.Error("a user without passwords was let in")
	}
}

func TestCloneIsApart(t *testing.T) {
	u := newUser(t, "on", ">one", "~a", "&a", "+get", "+select|0", "(+set ~b)")
	before := u.Describe()
	c := u.Clone()
	if err := c.Apply("resetpass", ">two", "%R~c", "resetkeys", "~d", "&x", "+@all", "clearselectors", "(~z)", "+select|1"); err != nil {
		t.Fatal(err)
	}
	if u.Describe() != before || mayRun(u, "set x") != true || mayRun(u, "select 1") {
		t.Errorf("the original changed: %s", u.Describe())
	}
}

func TestExtendsChannels(t *testing.T) {
	for _, c := range []struct {
		before, after string
		want          bool
	}{
		{"&a", "&a &b", true}, {"&a &b", "&a", false}, {"allchannels", "&a", false}, {"&a", "allchannels", true},
		{"&a", "(&a)", true}, {"(&a)", "&b", false}, {"", "", true}, {"&*x", "&*", true},
	} {
		before, after := newUser(t, strings.Fields(c.before)...), newUser(t, strings.Fields(c.after)...)
		if got := after.ExtendsChannelsOf(before); got != c.want {
			t.Errorf("%s after %s: %v", c.after, c.before, got)
		}
	}
}

// drawRules draws rules, most of which are valid.
func drawRules(t *rapid.T, nested bool) []string {
	word := rapid.SampledFrom([]string{"a", "b*", "*", "a\"b", "c'", "d)", "(e", "\\f", "\"", "x\xff", ""})
	command := rapid.SampledFrom([]string{"get", "SET", "select", "select|0", "select|x\"y", "getbit|)", "config", "config|get", "config|set", "command", "command|count", "@read", "@write", "@slow", "@all", "@admin"})
	var rules []string
	for range rapid.IntRange(0, 8).Draw(t, "rules") {
		switch kind := rapid.IntRange(0, 11).Draw(t, "kind"); {
		case kind < 2:
			rules = append(rules, rapid.SampledFrom([]string{"~", "%R~", "%W~", "%RW~", "%r~"}).Draw(t, "keys")+word.Draw(t, "pattern"))
		case kind < 4:
			rules = append(rules, "&"+word.Draw(t, "channel"))
		case kind < 8:
			rules = append(rules, rapid.SampledFrom([]string{"+", "-"}).Draw(t, "sign")+command.Draw(t, "command"))
		case kind < 9:
			rules = append(rules, rapid.SampledFrom([]string{"resetkeys", "resetchannels", "allkeys", "allchannels", "nocommands"}).Draw(t, "reset"))
		case nested:
			rules = append(rules, rapid.SampledFrom([]string{"on", "off", "nopass", "resetpass", ">p", ">q\"", "<p", "reset", "clearselectors", "skip-sanitize-payload", "sanitize-payload"}).Draw(t, "flag"))
			words := drawRules(t, false)
			for i, w := range words {
				words[i] = quote(w)
			}
			rules = append(rules, "("+strings.Join(words, " ")+")")
		}
	}
	return rules
}

// What is printed makes the same user again, as words of one line and as the arguments they were.
func TestCanonicalText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := testCatalog()
		k.AllChannels = rapid.Bool().Draw(t, "all channels")
		u := k.NewUser("u")
		for _, rule := range drawRules(t, true) {
			changed := u.Clone()
			if changed.Apply(rule) == nil {
				u = changed
			}
		}
		checkText(t, u)
	})
}

// checkText reads a user's text back, as a file does it.
func checkText(t interface{ Fatalf(string, ...any) }, u *User) {
	users, faults := ParseFile("f", []byte(u.Line()+"\n"), u.catalog)
	if len(faults) > 0 {
		t.Fatalf("%s: %v", u.Line(), faults)
	}
	again := users[0]
	if again.Describe() != u.Describe() {
		t.Fatalf("printed %s\nread    %s", u.Describe(), again.Describe())
	}
	for _, line := range []string{"get", "set", "select 0", "select 1", "select x\"y", "getbit )", "config get", "config set", "command", "command count"} {
		if mayRun(u, line) != mayRun(again, line) {
			t.Fatalf("%s: %s is allowed on one side only", u.Describe(), line)
		}
	}
	for _, name := range []string{"", "a", "bx", "a\"b", "c'", "d)", "(e", "f", "z"} {
		for _, access := range []Access{0, Read, Write, Read | Write} {
			for i := range u.selectors {
				key := Key{[]byte(name), access}
				if u.selectors[i].allKeys != again.selectors[i].allKeys || u.selectors[i].allowsKey(&key) != again.selectors[i].allowsKey(&key) {
					t.Fatalf("%s: key %q", u.Describe(), name)
				}
			}
		}
		if u.AllowsChannel([]byte(name), false) != again.AllowsChannel([]byte(name), false) {
			t.Fatalf("%s: channel %q", u.Describe(), name)
		}
	}
	if u.Unrestricted && !again.Unrestricted {
		t.Fatalf("%s: not unrestricted any more", u.Describe())
	}
}

func FuzzRules(f *testing.F) {
	for _, seed := range []string{
		"on >p ~* &* +@all", "(~a +get) (", "%RW~a\x00%R~\"", "+config|set|x", "(\"~a\\x29\" +get)", "+select|0 -select +select|1",
		"!", "#", "<", "(\"", "(')", "%", "&", "~", "reset clearselectors",
	} {
		f.Add(seed)
	}
	k := testCatalog()
	f.Fuzz(func(t *testing.T, text string) {
		u := k.NewUser("u")
		rules, _ := MergeSelectors(strings.Split(text, " "))
		for _, rule := range rules {
			changed := u.Clone()
			if changed.Apply(rule) == nil {
				u = changed
			}
		}
		checkText(t, u)
	})
}

func TestFile(t *testing.T) {
	k := testCatalog()
	users, faults := ParseFile("f", []byte("\n  user a on >p ~x +get\r\nuser b (~y +set) (~z +get)\n"), k)
	if len(faults) > 0 || len(users) != 2 || users[0].Name != "a" || !mayRun(users[1], "set") {
		t.Fatalf("%v %v", users, faults)
	}
	for text, want := range map[string]string{
		"# a comment":                "f:1 should start with user keyword followed by the username. ",
		"\nuser":                     "f:2 should start with user keyword followed by the username. ",
		"user a\nuser b\nuser a":     "WARNING: Duplicate user 'a' found on line 3. ",
		"user a +nosuch ~x bad":      "f:1: Unknown command or category name in ACL. f:1: Syntax error. ",
		"user a (~x\nuser b +nosuch": "f:1: Unmatched parenthesis in selector definition.f:2: Unknown command or category name in ACL. ",
		"user a\tb on":               "'f:1: username 'a\tb' contains invalid characters. ",
	} {
		if _, faults := ParseFile("f", []byte(text), k); faults != want {
			t.Errorf("%q:\n got %s\nwant %s", text, faults, want)
		}
	}
}
