package lua

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
)

// testHost echoes its arguments; "fail" answers with an error.
type testHost struct{ logged []string }

func (h *testHost) Call(args [][]byte, _ bool) []byte {
	switch string(args[0]) {
	case "fail":
		return []byte("-WRONGTYPE no\r\n")
	case "raw":
		return args[1]
	case "panic":
		panic("as asked")
	}
	out := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		out = fmt.Appendf(out, "$%d\r\n%s\r\n", len(a), a)
	}
	return out
}

func (h *testHost) Log(level int, text string) { h.logged = append(h.logged, strconv.Itoa(level)+text) }

func (h *testHost) MayRun(args [][]byte) (known, allowed bool) {
	return string(args[0]) != "nope", string(args[0]) != "denied"
}

// testReply writes what it is given as RESP3 in one line.
type testReply struct{ strings.Builder }

func (r *testReply) Bulk(s string)             { fmt.Fprintf(r, "%q ", s) }
func (r *testReply) Int(n int64)               { fmt.Fprintf(r, ":%d ", n) }
func (r *testReply) Null()                     { r.WriteString("_ ") }
func (r *testReply) Bool(yes bool)             { fmt.Fprintf(r, "#%t ", yes) }
func (r *testReply) Status(s string)           { fmt.Fprintf(r, "+%s ", s) }
func (r *testReply) Error(text string, _ bool) { fmt.Fprintf(r, "-%s ", text) }
func (r *testReply) Double(f float64)          { fmt.Fprintf(r, ",%g ", f) }
func (r *testReply) BigNumber(digits string)   { fmt.Fprintf(r, "(%s ", digits) }
func (r *testReply) Verbatim(format, s string) { fmt.Fprintf(r, "=%s:%s ", format, s) }
func (r *testReply) Array(n int)               { fmt.Fprintf(r, "*%d ", n) }
func (r *testReply) Map(n int)                 { fmt.Fprintf(r, "%%%d ", n) }
func (r *testReply) Set(n int)                 { fmt.Fprintf(r, "~%d ", n) }

// runScript returns the reply of a script, or its error.
func runScript(t testing.TB, rt *Runtime, code string, args ...string) string {
	t.Helper()
	fn, err := rt.Load("user_script", []byte(code), nil)
	if err != nil {
		return "compile: " + err.Error()
	}
	call := Call{}
	for _, a := range args {
		call.Args = append(call.Args, []byte(a))
	}
	rt.Revive()
	var reply testReply
	if fault := rt.Run(fn, call, &reply); fault != nil {
		return "error: " + fault.Reply("f")
	}
	if rt.state.GetTop() != 0 || rt.nested != 0 {
		t.Errorf("%s: left %d values and %d calls", code, rt.state.GetTop(), rt.nested)
	}
	return strings.TrimSpace(reply.String())
}

// TestRun: what scripts answer, and the errors that end them.
func TestRun(t *testing.T) {
	rt := New(&testHost{})
	const at = " script: f, on @user_script:1."
	for _, c := range []struct{ code, want string }{
		{"return {1, 'a', {2.9, true, false}}", `*3 :1 "a" *3 :2 :1 _`},
		{"return {1, nil, 3}", "*1 :1"},
		{"return {ok = 'a\\nb'}", "+a b"},
		{"return {double = 3.5}", ",3.5"},
		{"return {map = {a = 1}}", `%1 "a" :1`},
		{"return {set = {a = true}}", `~1 "a"`},
		{"return {big_number = '12'}", "(12"},
		{"return {verbatim_string = {format = 'txt', string = 'x'}}", "=txt:x"},
		{"redis.setresp(3) return {true, false}", "*2 #true #false"},
		{"return redis.call('a', 1.5, 'b')", `*3 "a" "1.5" "b"`},
		{"return redis.call('raw', '+OK\\r\\n').ok", `"OK"`},
		{"return redis.call('raw', '%1\\r\\n+k\\r\\n,1.5\\r\\n')", "%1 +k ,1.5"},
		{"return redis.call('raw', '~1\\r\\n:5\\r\\n')", "~1 :5"},
		{"return redis.call('raw', '*3\\r\\n_\\r\\n#t\\r\\n(99\\r\\n')", "*0"},
		{"return redis.call('raw', '=5\\r\\ntxt:x\\r\\n').verbatim_string.string", `"x"`},
		{"return redis.call('raw', '|1\\r\\n+k\\r\\n+v\\r\\n:7\\r\\n')", ":7"},
		{"return redis.call('fail')", "error: WRONGTYPE no" + at},
		{"return redis.pcall('fail')", "-WRONGTYPE no"},
		{"return {pcall(redis.call, 'fail')}", `*2 _ "WRONGTYPE no"`},
		{"return nope", "error: ERR user_script:1: Script attempted to access nonexistent global variable 'nope'" + at},
		{"error({})", "error: ERR unknown error" + at},
		{"error({err = 'MY x'})", "error: MY x" + at},
		{"local t = {} t.x.y = 1", "error: ERR user_script:1: attempt to index field 'x' (a nil value)" + at},
		{"local n = 0; local function inc() n = n + 1 end; pcall(error, 'x'); inc(); return n", ":1"},
		{"local f; pcall(function() local x = 5; f = function() return x end; error('x') end) return f()", ":5"},
		{"local f; xpcall(function() local x = 5; f = function() return x end; error('x') end, tostring) return f()", ":5"},
		{"return 10/3 .. ' ' .. 1e15 .. ' ' .. 2^53", `"3.3333333333333 1e+15 9.007199254741e+15"`},
		{"local co = coroutine.wrap(function(a) local b = coroutine.yield(a + 1) return b * 2 end) return {co(1), co(10)}", "*2 :2 :20"},
		{"local co = coroutine.create(function() local x = 1 pcall(error) error('x') end) coroutine.resume(co) return coroutine.status(co)", `"dead"`},
		{"return {redis.acl_check_cmd('a'), redis.acl_check_cmd('denied')}", "*2 :1 _"},
		{"return redis.sha1hex('')", `"da39a3ee5e6b4b0d3255bfef95601890afd80709"`},
		{"return redis.REDIS_VERSION_NUM", ":459268"},
		{"return server.call('a')", `*1 "a"`},
		{"x = = 1", "compile: user_script:1: unexpected symbol near '='"},
	} {
		if got := runScript(t, rt, c.code); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.code, got, c.want)
		}
	}
}

// TestParameters: what scripts and functions are given.
func TestParameters(t *testing.T) {
	rt := New(&testHost{})
	fn, err := rt.Load("user_script", []byte("return {#KEYS, KEYS[1], ARGV[2], ...}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	call := Call{Keys: [][]byte{[]byte("k")}, Args: [][]byte{[]byte("a"), []byte("b")}}
	var reply testReply
	if fault := rt.Run(fn, call, &reply); fault != nil || reply.String() != `*3 :1 "k" "b" ` {
		t.Errorf("as globals: %s, %v", reply.String(), fault)
	}
	call.AsParameters = true
	reply.Reset()
	if fault := rt.Run(fn, call, &reply); fault != nil || reply.String() != `*5 :1 "k" "b" *1 "k" *2 "a" "b" ` {
		t.Errorf("as parameters: %s, %v", reply.String(), fault)
	}
}

// TestSandbox: nothing of what all scripts share can be changed, and nothing else is there.
func TestSandbox(t *testing.T) {
	rt := New(&testHost{})
	for _, code := range []string{
		"x = 1", "_G.x = 1", "function f() end", "string.x = 1", "redis.call = 1", "server.x = 1", "cjson.x = 1", "cmsgpack.x = 1", "bit.x = 1", "struct.x = 1",
		"rawset(_G, 'x', 1)", "rawset(redis, 'call', 1)", "setmetatable(_G, {})", "setmetatable(string, {})", "setmetatable(redis, nil)",
		"getmetatable(_G).__index = nil", "getmetatable('').__index = nil", "getmetatable('').__index.x = 1", "rawset(getmetatable(_G), '__index', nil)",
		"table.insert(redis, 1)", "setmetatable({}, {__newindex = _G}).x = 1", "setmetatable({}, {__newindex = redis}).x = 1",
		"setmetatable({}, {__newindex = setmetatable({}, {__newindex = string})}).x = 1", "loadstring('x = 1')()", "load(function() return nil end); _G.x = 1",
		"coroutine.wrap(function() x = 1 end)()", "pcall(rawset, _G, 'x', 1) x = 1", "for i = 1, 2 do _G[i] = i end",
	} {
		if got := runScript(t, rt, code); !strings.Contains(got, errReadOnly) {
			t.Errorf("%s: %s", code, got)
		}
	}
	for _, name := range []string{
		"io", "os.execute", "os.getenv", "os.exit", "debug", "package", "require", "module", "dofile", "loadfile", "print", "setfenv", "getfenv", "newproxy", "channel",
		"_printregs", "x",
	} {
		got := runScript(t, rt, "return type("+name+")")
		if !strings.Contains(got, "nonexistent global") && got != `"nil"` {
			t.Errorf("%s is there: %s", name, got)
		}
	}
	if got := runScript(t, rt, "return {type(loadstring('\\27Lua')), type(loadstring(string.char(27, 76, 117, 97, 81, 0)))}"); got != `*2 "nil" "nil"` {
		t.Errorf("compiled code: %s", got)
	}
	if got := runScript(t, rt, "local n = 0 for k in pairs(string) do n = n + 1 end return n"); got != ":15" {
		t.Errorf("functions of string: %s", got)
	}
}

// TestKill: what was killed ends, whatever it does about it, and the next one runs.
func TestKill(t *testing.T) {
	rt := New(&testHost{})
	for _, code := range []string{
		"while true do end", "while true do pcall(error) end", "local function f() while true do end end while true do pcall(f) end",
		"while true do xpcall(error, function() while true do end end) end", "repeat until false", "for i = 1, 1/0 do end",
		"local co = coroutine.wrap(function() while true do end end) while true do pcall(co) end",
		"while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
		"table.sort({3, 2, 1}, function() while true do end end)", "string.gsub('x', '.', function() while true do end end)",
		"setmetatable({}, {__index = function() while true do end end}).x.y = 1",
		"return string.find(string.rep('a', 3000), '.-.-.-.-.-.-.-b')", "return string.rep('a', 200000):find('.-.-b')",
	} {
		fn, err := rt.Load("user_script", []byte(code), nil)
		if err != nil {
			t.Fatalf("%s: %v", code, err)
		}
		rt.Revive()
		ended := make(chan *Error)
		go func() { ended <- rt.Run(fn, Call{}, &testReply{}) }()
		rt.Kill("ERR killed")
		if fault := <-ended; fault == nil || fault.Text != "ERR killed" {
			t.Errorf("%s: %+v", code, fault)
		}
		if got := runScript(t, rt, "return 1"); got != ":1" {
			t.Fatalf("after %s: %s", code, got)
		}
	}
}

// TestKillInLibrary: functions that do the work of many instructions in one notice in the middle of it that the script was killed.
func TestKillInLibrary(t *testing.T) {
	rt := New(&testHost{})
	for _, call := range []string{
		"cjson.encode, {1, {}}", "cjson.decode, '[1, {}]'", "cmsgpack.pack, {1, {}}", "cmsgpack.unpack, '\\1'", "table.sort, {'b', 'a'}", "string.rep, 'x', 2",
		"string.gsub, 'x', 'x', string.rep('%0', 20000)", "string.gsub, string.rep('x', 20000), 'x', ''", "string.find, 'x', '['..string.rep('a', 20000)..']'",
		"string.find, 'x', 'x%f['..string.rep('a', 20000)..']'", "string.find, string.rep('x', 40000), '^('..string.rep('x', 20000)..')%1'",
	} {
		fn, err := rt.Load("user_script", []byte("return {"+call+"}"), nil)
		if err != nil {
			t.Fatalf("%s: %v", call, err)
		}
		rt.Revive()
		v, raised := rt.enter(fn)
		if raised != nil {
			t.Fatalf("%s: %v", call, errorOf(raised))
		}
		parts := v.(*lua.LTable)
		rt.Kill("ERR killed")
		L := rt.State()
		L.Push(parts.RawGetInt(1))
		for i := 2; i <= parts.Len(); i++ {
			L.Push(parts.RawGetInt(i))
		}
		fault, _ := L.PCall(parts.Len()-1, 0, nil).(*lua.ApiError)
		if fault == nil || errorOf(fault.Object).Text != "ERR killed" {
			t.Errorf("%s: %v", call, fault)
		}
		L.SetTop(0)
		var reply testReply
		if a := (&answer{rt: rt, reply: &reply}); a.takes(0) || a.refused != "ERR killed" {
			t.Errorf("the reply was not refused: %q", a.refused)
		}
	}
	rt.Revive()
	if got := runScript(t, rt, "return 1"); got != ":1" {
		t.Fatalf("afterwards: %s", got)
	}
}

// TestSourceBounds: source text cannot exhaust the compiler.
func TestSourceBounds(t *testing.T) {
	rt := New(&testHost{})
	many := func(n int, s string) string { return strings.Repeat(s, n) }
	for name, code := range map[string]string{
		"parentheses": "return " + many(1e6, "("), "tables": "return " + many(1e6, "{"), "functions": many(1e5, "function f() "), "blocks": many(1e6, "do "),
		"negations": "return " + many(1e6, "- "), "nots": "return " + many(1e6, "not "), "powers": "return 1" + many(1e6, "^1"), "joined": "return ''" + many(1e5, "..''"),
		"sums": "return 1" + many(1e5, "+1"), "fields": "return a" + many(1e5, ".a"), "calls": "return a" + many(1e5, "()"), "indexes": "return a" + many(1e5, "[1]"),
		"text calls": "return a" + many(1e5, "''"), "elseifs": "if a then " + many(1e5, "elseif a then "), "ands": "return 1" + many(1e5, " and 1"),
		"long": many(5<<20, " "), "instructions": many(1e5, "a=1 "), "many functions": many(3000, "f=function() end "), "words": counted(1e4, "f'%d' "),
	} {
		if _, err := rt.Load("user_script", []byte(code), nil); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for name, code := range map[string]string{
		"statements": many(20000, "f(1)\n") + many(10000, "x = -1 y = a.b.c "), "lists": "return {" + many(20000, "-1, ") + "}",
		"separate ifs": many(10000, "if a then b() elseif c then d() else e() end\n"), "comments": "--[==[ ((((" + many(1e5, "(") + "]==] return [[" + many(1e5, "(") + "]]",
		"strings": `return '` + many(1e5, `(\'`) + `'`, "nested": many(100, "if a then ") + many(100, "end "),
		"functions": many(2000, "f=function() end "), "constants": counted(5000, "f'%d' "),
	} {
		fn, err := rt.Load("user_script", []byte(code), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, proto := range append(fn.Proto.FunctionPrototypes, fn.Proto) {
			if n := len(proto.Code); cap(proto.Code) > 2*n+8 || cap(proto.DbgSourcePositions) > 2*n+8 {
				t.Fatalf("%s: room for %d and %d instructions is kept, there are %d", name, cap(proto.Code), cap(proto.DbgSourcePositions), n)
			}
		}
	}
}

// counted repeats a form with the numbers from 0 up.
func counted(n int, form string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, form, i)
	}
	return b.String()
}

// TestHostPanics: a fault of the host ends the script and comes out of Run.
func TestHostPanics(t *testing.T) {
	rt := New(&testHost{})
	func() {
		defer func() {
			if fault := recover(); fault == nil || !strings.HasPrefix(fault.(string), "as asked") {
				t.Errorf("recovered %v", fault)
			}
		}()
		runScript(t, rt, "while true do pcall(redis.call, 'panic') end")
	}()
	if got := runScript(t, rt, "return 1"); got != ":1" {
		t.Errorf("afterwards: %s", got)
	}
}

// TestLog: what reaches the log.
func TestLog(t *testing.T) {
	host := &testHost{}
	runScript(t, New(host), "redis.log(redis.LOG_WARNING, 'a', 1.5, {}, 'b')")
	if len(host.logged) != 1 || host.logged[0] != "3a 1.5 b" {
		t.Errorf("logged %q", host.logged)
	}
}

// FuzzLoad compiles anything.
func FuzzLoad(f *testing.F) {
	for _, code := range []string{"return 1", "for i=1,2 do local a = {b=function(...) return ... end} end", "goto x ::x::", "a.b:c'd'{e}[f]=g", "--[[", "\"\\065\\x"} {
		f.Add(code)
	}
	rt := New(&testHost{})
	f.Fuzz(func(_ *testing.T, code string) { _, _ = rt.Load("user_script", []byte(code), nil) })
}

// FuzzMatch matches anything with any pattern, and finds what strings.Index finds where the pattern is plain.
func FuzzMatch(f *testing.F) {
	for _, c := range [][2]string{{"hello", "l+"}, {"a(b)c", "%b()"}, {"x = 1", "^(%w+)%s*=%s*(%d+)$"}, {"THE", "%f[%a]%a+"}, {"aa", "(a)%1"}, {"]", "[]]"}, {"-", "[a-]"}} {
		f.Add(c[0], c[1])
	}
	rt := New(&testHost{})
	fn, err := rt.Load("user_script", []byte("local s, p = ARGV[1], ARGV[2] pcall(string.find, s, p) pcall(string.gsub, s, p, '%0') for w in string.gmatch('', '') do end return string.find(s, p, 1, true) or 0"), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s, pattern string) {
		if len(s) > 100 || strings.Count(pattern, "-")+strings.Count(pattern, "*")+strings.Count(pattern, "+") > 4 {
			t.Skip("takes long")
		}
		var reply testReply
		if fault := rt.Run(fn, Call{Args: [][]byte{[]byte(s), []byte(pattern)}}, &reply); fault != nil {
			t.Fatalf("%q %q: %+v", s, pattern, fault)
		}
		if want := fmt.Sprintf(":%d ", strings.Index(s, pattern)+1); reply.String() != want {
			t.Errorf("%q in %q: %s, want %s", pattern, s, reply.String(), want)
		}
	})
}

func BenchmarkEval(b *testing.B) {
	rt := New(&testHost{})
	code := `local v = redis.call('a', KEYS[1])
local n = tonumber(ARGV[1]) or 0
if n > 10 then n = n + 1 else n = n - 1 end
redis.call('b', KEYS[1], n)
return n`
	fn, err := rt.Load("user_script", []byte(code), nil)
	if err != nil {
		b.Fatal(err)
	}
	call := Call{Keys: [][]byte{[]byte("key")}, Args: [][]byte{[]byte("12")}}
	var reply testReply
	for b.Loop() {
		reply.Reset()
		if e := rt.Run(fn, call, &reply); e != nil {
			b.Fatal(e)
		}
	}
}

func BenchmarkLoop(b *testing.B) {
	rt := New(&testHost{})
	fn, err := rt.Load("user_script", []byte("local s=0 for i=1,1000000 do s = s + i % 7 end return s"), nil)
	if err != nil {
		b.Fatal(err)
	}
	var reply testReply
	for b.Loop() {
		rt.Run(fn, Call{}, &reply)
	}
}
