package lua

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
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

func TestTry(t *testing.T) {
	rt := New(&testHost{})
	for _, code := range []string{
		"return 1", "return {1,'a',{2.9,true,false}}", "return foo", "x=1", "string.x=1", "redis.call=1", "local a; a.b=1", "local a; return a.b.c",
		"foo()", "return {}+1", "return redis.call('a','b')", "return redis.call('fail')", "return redis.pcall('fail')", "return {pcall(redis.call,'fail')}",
		"local n=0; local function inc() n=n+1 end; pcall(error,'x'); inc(); return n",
		"local ok,e=pcall(function() local x; return x.y end) return e", "error('x')", "error({err='My x'})", "error({})",
		"local function f() return f()+1 end return f()", "local function f() return pcall(f) end return f()",
		"return 10/3 .. ' ' .. 1e15 .. ' ' .. 2^53", "return string.format('%5.2f|%-5d|%05d|%x|%s',1.5,2,3,255,'x')",
		"local co=coroutine.wrap(function(a) local b=coroutine.yield(a+1) return b*2 end) return {co(1),co(10)}",
		"local co=coroutine.create(function() error('x') end) local ok,e=coroutine.resume(co) return {tostring(ok),e,coroutine.status(co)}",
		"coroutine.yield()", "return {string.find('hello world','(o)( )')}", "return (string.gsub('hello','l','%0%0'))",
		"return math.random(1,100)..' '..math.random(1,100)", "return cjson.encode({1,2,{a=1}})", "return {xpcall(function() error('x') end, function(e) return e..'!' end)}",
		"rawset(_G,'x',1)", "setmetatable(_G,{})", "getmetatable('').__index=1", "table.insert(string,1)",
		"return loadstring('return 7')()", "return {loadstring('x = = 1')}", "x = = 1", "return (", "local a = 'abc", "for k in pairs(nil) do end", "for i=1,'x' do end",
		"setmetatable({},{__newindex=string}).x=1", "setmetatable({},{__newindex=_G}).x=1", "return 'x' < 1", "return nil .. 'x'", "return #nil", "local t={} t:foo()", "local t={} t.x.y.z()",
		"return tostring(0/0)", "local t = {} for i=1,10 do t[#t+1]=i end return #t",
		"return redis.call('panic')",
	} {
		func() {
			defer func() {
				if r := recover(); r != nil {
					t.Logf("%-60s PANIC %.60v", code, r)
				}
			}()
			t.Logf("%-60s %s", code, runScript(t, rt, code))
		}()
	}
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
