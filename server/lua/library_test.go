package lua

import (
	"fmt"
	"strings"
	"testing"
)

func load(t *testing.T, ll *LibraryLoader, body string) (*Library, string) {
	t.Helper()
	l, err := ll.Load("lib", "#!lua name=lib\n"+body)
	if ll.rt.state.GetTop() != 0 || ll.rt.nested != 0 {
		t.Errorf("%s: left %d values and %d calls", body, ll.rt.state.GetTop(), ll.rt.nested)
	}
	if err != nil {
		return nil, err.Error()
	}
	return l, ""
}

func TestLibraryIsRefused(t *testing.T) {
	ll := NewLibraryLoader(New(&testHost{}))
	const registering = "Error registering functions: ERR "
	for _, c := range []struct{ body, want string }{
		{"", "No functions registered"},
		{"return return", "Error compiling function: user_function:2: unexpected symbol near 'return'"},
		{"error('x')", registering + "user_function:2: Script attempted to access nonexistent global variable 'error'"},
		{"\nredis.call('ping')", registering + "user_function:3: Script attempted to access nonexistent global variable 'call'"},
		{"x = 1", registering + "user_function:2: Attempt to modify a readonly table"},
		{"redis.x = 1", registering + "user_function:2: Attempt to modify a readonly table"},
		{"local y = x", registering + "user_function:2: Script attempted to access nonexistent global variable 'x'"},
		{"while true do end", registering + "FUNCTION LOAD timeout"},
		{"redis.register_function()", registering + "wrong number of arguments to redis.register_function"},
		{"redis.register_function('f-', function() end)", registering + ErrName},
		{"redis.register_function('f', function() end) redis.register_function('F', function() end)", registering + "Function already exists in the library"},
		{"redis.register_function{function_name='f'}", registering + "redis.register_function must get a callback argument"},
		{"redis.register_function{callback=function() end}", registering + "redis.register_function must get a function name argument"},
		{"redis.register_function{function_name='f', callback=function() end, flags={'x'}}", registering + "unknown flag given"},
	} {
		l, problem := load(t, ll, c.body)
		if l != nil || problem != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.body, problem, c.want)
		}
	}
}

func TestFunctionsKeepWhatTheyReferTo(t *testing.T) {
	rt := New(&testHost{})
	ll := NewLibraryLoader(rt)
	l, problem := load(t, ll, `
		local calls, atLoad = 0, redis
		redis.register_function('count', function(keys, args) calls = calls + 1 return {calls, keys[1], args[1], #keys, #args} end)
		server.register_function{function_name='call', callback=function(keys) return redis.call('a', keys[1]) end, flags={'No-Writes', 'allow-oom'}, description='d'}
		redis.register_function('old', function() return atLoad.call('a') end)
		redis.register_function('again', function() return redis.register_function('x', function() end) end)
		redis.register_function('later', function() return atLoad.register_function('x', function() end) end)
		redis.register_function('keys', function() return KEYS end)
		redis.register_function('set', function() calls2 = 1 end)
		redis.register_function('debug', function() return redis.breakpoint end)
		redis.register_function('tables', function() return cjson.encode({math.floor(1.5)}) end)`)
	if l == nil {
		t.Fatal(problem)
	}
	var set Libraries
	if err := set.Add(false, l); err != nil {
		t.Fatal(err)
	}
	run := func(name string) string {
		f := set.Function(name)
		var reply testReply
		call := Call{Keys: [][]byte{[]byte("k")}, Args: [][]byte{[]byte("a"), []byte("b")}, AsParameters: true}
		if e := rt.Run(f.Callback(), call, &reply); e != nil {
			return e.Reply(f.Name)
		}
		return strings.TrimSpace(reply.String())
	}
	for _, c := range []struct{ name, want string }{
		{"count", `*5 :1 "k" "a" :1 :2`},
		{"COUNT", `*5 :2 "k" "a" :1 :2`},
		{"call", `*2 "a" "k"`},
		{"old", "ERR user_function:6: Script attempted to access nonexistent global variable 'call' script: old, on @user_function:6."},
		{"again", "ERR user_function:7: attempt to call field 'register_function' (a nil value) script: again, on @user_function:7."},
		{"later", "ERR redis.register_function can only be called on FUNCTION LOAD command script: later, on @user_function:8."},
		{"keys", "ERR user_function:9: Script attempted to access nonexistent global variable 'KEYS' script: keys, on @user_function:9."},
		{"set", "ERR user_function:10: Attempt to modify a readonly table script: set, on @user_function:10."},
		{"debug", "_"},
		{"tables", `"[1]"`},
	} {
		if got := run(c.name); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
	if f := set.Function("call"); fmt.Sprint(f.Flags.Names()) != "[no-writes allow-oom]" || f.Description != "d" {
		t.Errorf("%+v", f)
	}
	if got := runScript(t, rt, "return type(redis.breakpoint)"); got != `"function"` {
		t.Errorf("scripts lost a function: %s", got)
	}
}

func TestLibrariesAreReplacedAsAWhole(t *testing.T) {
	library := func(name string, functions ...string) *Library {
		l := &Library{Name: name}
		for _, f := range functions {
			l.Functions = append(l.Functions, &Function{Name: f, Library: l})
		}
		return l
	}
	var set Libraries
	add := func(want string, replace bool, libraries ...*Library) {
		t.Helper()
		got := ""
		if err := set.Add(replace, libraries...); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	has := func(want string) {
		t.Helper()
		var b strings.Builder
		for _, l := range set.All() {
			for _, f := range l.Functions {
				fmt.Fprintf(&b, "%s.%s ", l.Name, f.Name)
				if set.Function(strings.ToUpper(f.Name)) != f {
					t.Errorf("%s.%s is not found", l.Name, f.Name)
				}
			}
		}
		if got := strings.TrimSpace(b.String()); got != want {
			t.Errorf("there are %q, want %q", got, want)
		}
	}
	add("", false, library("a", "f", "g"))
	add("Library a already exists", false, library("c", "h"), library("a", "i"))
	add("Function F already exists", true, library("b", "F"))
	has("a.f a.g")
	add("", true, library("b", "F"), library("a", "h"))
	has("a.h b.F")
	if set.Delete("A") || !set.Delete("a") {
		t.Error("the wrong library was removed")
	}
	has("b.F")
}
