package tests

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sameScripts are scripts whose replies, errors included, are those of
// redis-server 7.0, one a line. Some leave something for the next.
const sameScripts = `
error()
error(1)
error('x', 0)
error('x', 2)
error({err='My x'})
error({err='x\r\ny'})
return {err='x'}
return {err='My x\r\nfoo'}
return {ok='a\r\nb'}
return {err=1}
return redis.error_reply('My x')
return redis.error_reply('-My x')
return redis.error_reply('-My')
return redis.error_reply('My')
return redis.error_reply(1)
return redis.error_reply()
return redis.error_reply('x','y')
return redis.status_reply('x')
return redis.status_reply(1)
return redis.setresp(4)
return redis.setresp()
return redis.setresp('x')
return redis.log(1)
return redis.log('a','b')
return redis.log(9,'b')
return redis.log(-1,'b')
return redis.log(1,2,3)
return redis.sha1hex()
return redis.sha1hex(1)
return redis.sha1hex(nil)
return redis.sha1hex('abc')
return redis.acl_check_cmd()
return redis.acl_check_cmd('nope')
return redis.acl_check_cmd({})
return redis.acl_check_cmd('get','a')
return redis.breakpoint()
return redis.debug('a')
return redis.set_repl(redis.REPL_ALL)
return redis.set_repl(9)
return redis.set_repl()
return redis.replicate_commands()
return redis.call()
return redis.pcall()
return redis.call({})
return redis.call('get',{})
return redis.call('get',nil)
return redis.call('get',true)
return redis.call('set','a',1.5)
return redis.call('get','a')
return redis.call('set','a',1e300)
return redis.call('get','a')
return redis.call('set','a',3.0)
return redis.call('get','a')
return redis.call('set','a',2^53)
return redis.call('get','a')
return redis.call('lpush','a','a')
return redis.pcall('lpush','a','a')
local ok,e=pcall(redis.call,'lpush','a','a') return {tostring(ok),type(e),e}
local e=redis.pcall('lpush','a','a') return {type(e), e.err, tostring(e.ignore_error_stats_update)}
local ok,e=pcall(redis.call,'lpush','a','a') error(e)
local r = redis.pcall('lpush','a','a') r.err = 'Other text' return r
local e = redis.pcall('lpush','a','a') error(e)
return redis.call('multi')
return redis.call('subscribe','a')
return redis.call('eval','return 1',0)
return redis.call('script','load','return 1')
return redis.call('config','nope')
return redis.call('config','get','maxmemory')
return redis.call('debug','jmap')
return redis.call('select',99)
return redis.call('auth','x')
return redis.call('hello','3')
return redis.call('client','id')
return redis.call('monitor')
return redis.call('watch','a')
return redis.call('nope')
return redis.call('set')
return redis.call('')
return redis.call(1)
return redis.pcall('nope')
return redis.pcall('set','x')
return redis.call('get','nokey')
return redis.call('del','l','h','s','z')
return redis.call('rpush','l','a','b','c')
return redis.call('lrange','l',0,-1)
return redis.call('hset','h','f','v')
return redis.call('hgetall','h')
return redis.call('zadd','z',1.5,'m')
return redis.call('zscore','z','m')
return redis.call('zrange','z',0,-1,'withscores')
return redis.call('sadd','s','m')
return redis.call('smembers','s')
return redis.call('ping')
return redis.call('echo','x').ok
return redis.call('ping').ok
return type(redis.call('get','nokey'))
redis.setresp(3) return type(redis.call('get','nokey'))
redis.setresp(3) return redis.call('hgetall','h')
redis.setresp(3) return redis.call('smembers','s')
redis.setresp(3) return redis.call('zscore','z','m')
redis.setresp(3) return {type(redis.call('zscore','z','m').double), redis.call('hgetall','h').map.f, tostring(redis.call('smembers','s').set.m)}
redis.setresp(3) return true
redis.setresp(3) return false
redis.setresp(3) return {true,false}
redis.setresp(3) return nil
return redis.call('select',1)
return redis.call('get','a')
return tostring(1e15)..' '..tostring(2^53)..' '..tostring(0.1)..' '..(10/3)..' '..1e100
return 2^63 .. ' ' .. -2^63 .. ' ' .. 1e14 .. ' ' .. 123456789012345 .. ' ' .. 0.1+0.2
return {1,2.9,-2.9,'a',true,false,nil,5}
return {1,{2,{3}}}
return {a=1}
return {double=3.5}
return {map={a=1}}
return {set={a=true}}
return {big_number='123'}
return {verbatim_string={string='x',format='txt'}}
return {verbatim_string={string='x'}}
return 1e20
return -1e20
return 3.99
return -3.99
return function() end
return nil
return true
return false
return 'x'
return ''
return
return cjson.null
return coroutine.create(function() end)
return {1,redis.call,2}
local function f() return f() + 1 end return f()
return string.format('%d', 'x')
return ('x'):bad()
return #nil
return nil .. 'x'
local x return 'a' .. x
local x = {} return 'a' .. x.y
return {} < {}
return 1 < 'x'
return nil < 1
return {} + 1
return 'x' + 1
return '10' + 1
return '0x10' + 1
return -{}
return 2^{}
local t = {} t.x.y = 1
local t = {} t.x.y.z()
local t = {} t.foo()
local t = {} t:foo()
local a; a()
local a = {} ; a.b.c.d = 1
local a = {} ; a.b()
local a = 1; a.b = 2
local a = 1; return a.b
a.b.c = 1
foo()
string.foo()
redis.foo()
redis.foo = 1
_G.foo = 1
foo = 1
function foo() end
string.foo = 1
rawset(_G,'foo',1)
rawset(redis,'call',1)
setmetatable(_G,{})
setmetatable(string,{})
getmetatable(_G).__index = nil
getmetatable('').__index = nil
getmetatable('').__index.foo = 1
table.insert(redis, 1)
table.remove(redis)
table.sort(redis)
setmetatable({},{__newindex=_G}).foo = 1
string.rep()
string.rep('x')
string.rep('x', {})
('x'):rep({})
return tonumber('0x10') .. ' ' .. tonumber('10', 2) .. ' ' .. tostring(tonumber('z')) .. tostring(tonumber('z',36)) .. tostring(tonumber(''))
return tonumber('10', 99)
return tonumber()
return load('return 1')
return type(load(function() return nil end))
return loadstring('return 1')()
return {loadstring('return redis.call("ping")')()}
return loadstring('x = 1')()
return {type(loadstring(string.char(27)..'Lua')), 1}
return table.concat({1,2,{}})
return table.concat({1,2,3}, ', ')
return table.concat({1,2,3}, ', ', 2, 3)
return table.concat({1,2,3}, ', ', 2, 9)
return {unpack({1,2,3})}
return {unpack({1,2,3}, 2)}
return {unpack({1,2,3}, 2, 5)}
return unpack({},1,1e8)
return select('#', unpack({},1,7000))
return select('#', 1, 2, 3)
return {select(-1, 1, 2, 3)}
return {select(2, 1, 2, 3)}
return select(0)
return select(-9, 1)
return math.random(1,100)..' '..math.random(1,100)..' '..math.random(10)..' '..math.random()
return math.random(0)
return math.random(3,1)
return math.random(1,2,3)
math.randomseed(5) return math.random(1,100)..' '..math.random(1,100)
return setmetatable({}, 1)
return setmetatable(1, {})
return type(getmetatable(_G))
return getmetatable(redis)
return assert(false)
return assert(false, 'x')
return assert(nil, {err='Some x'})
return assert(1==1, 'x')
return assert()
return rawget(_G,'nope')
return rawset({},1,2)
return next({})
return {next({5})}
for k in pairs(nil) do end
for k in pairs() do end
for k in ipairs() do end
for k in 5 do end
for i=1,'x' do end
for i='a',2 do end
for i=1,2,{} do end
return collectgarbage('count') > 0
return collectgarbage('nope')
return _VERSION
return {tostring(xpcall(function() error('x') end, function(e) return e..'!' end))}
return {select(2, xpcall(function() error('x') end, function(e) return e..'!' end))}
return {select(2, pcall(error,'a'))}
return {select(2, pcall(error,'a',0))}
return {select(2, pcall(error,{err='Some x'}))}
return {select(2, pcall(function() error('a',2) end))}
return {select(2, pcall(function() local x = nil; return x.y end))}
return coroutine.wrap(function() error('x') end)()
return {select(2, coroutine.resume(coroutine.create(function() error('x') end)))}
return {select(2, coroutine.resume(coroutine.create(function() return redis.call('get','nokey') end)))}
local co = coroutine.wrap(function() coroutine.yield(1) coroutine.yield(2) end) return {co(),co()}
local co = coroutine.wrap(function() return 1 end) co() return co()
local co = coroutine.create(function() end) coroutine.resume(co) return {select(2, coroutine.resume(co))}
local co co = coroutine.create(function() return coroutine.status(co) end) return {coroutine.status(co), select(2, coroutine.resume(co))}
coroutine.yield()
coroutine.wrap(function() pcall(coroutine.yield) return 1 end)()
return tostring(coroutine.running())
local n=0; local function inc() n=n+1 end; pcall(error,'x'); inc(); return n
local f = {} for i=1,3 do f[i] = function() return i end end pcall(error,'x') return {f[1](), f[2](), f[3]()}
local t=setmetatable({},{__index=function(t,k) return k end}) return t.abc
local t=setmetatable({},{__call=function(self,a) return a end}) return t(5)
local t=setmetatable({},{__tostring=function() return 'shown' end}) return tostring(t)
local t=setmetatable({},{__concat=function(a,b) return 'joined' end}) return t..'x'
local t=setmetatable({},{__metatable='locked'}) return getmetatable(t)
local t=setmetatable({},{__metatable='locked'}) return setmetatable(t,{})
local t=setmetatable({},{__lt=function() return true end}) return t < t
local t={} t[nil]=1
local t={} t[0/0]=1
print('x')
setfenv(1,{})
getfenv()
newproxy()
dofile('x')
require('x')
debug.getinfo(1)
io.write('x')
package.loaded()
return tostring(rawequal('a','a'))
return {string.find('abc','b')}
return {string.find('abc','(b)(c)')}
return {string.find('abc','b',1,true)}
return {string.find('a.c','.',1,true)}
return {string.find('abc','',10)}
return {string.find('abc','^b')}
return {string.match('key = value','^(%w+)%s*=%s*(%w+)$')}
return {string.match('2024-01-02','(%d+)-(%d+)-(%d+)')}
return {string.match('abc','()b()')}
return {string.match('THE (quick) fox','%((%a+)%)')}
return {string.match('f(a(b)c)d','%b()')}
return {string.match('hello world','%f[%w]%w+')}
return {string.gsub('hello world','o','0')}
return {string.gsub('hello','','-')}
return {string.gsub('hello world','%w+','%0 %0',1)}
return {string.gsub('$name is','%$(%w+)',{name='x'})}
return {string.gsub('abc','%w',function(c) if c=='b' then return 'B' end end)}
return {string.gsub('abc','%w',function(c) return {} end)}
return string.gsub('abc','%w','%9')
return string.gsub('abc','(','')
return string.gsub('abc','b')
return string.find('a','[a')
return string.find('a','%')
return string.find('a','(a')
return string.find('a','a)')
return string.find('a','%1')
return string.find('a','%f')
local t = {} for k in string.gmatch('one two','%a+') do t[#t+1]=k end return t
local t = {} for k,v in string.gmatch('a=1, b=2','(%w+)=(%w+)') do t[#t+1]=k..v end return t
return string.format('%q','a\nb\0c"\\\r')
return string.format('%5.2f|%-5d|%05d|%x|%s|%c|%i|%u|%e|%g',1.234,5,6,255,'z',65,7,8,1.5,2.5)
return string.format('%+d|% d|%#x|%#o|%X|%.3s|%10s|%-10s|%%',5,5,255,8,255,'abcdef','r','l')
return string.format('%.3d|%08.3f|%g|%g|%g',5,3.14159,1e20,100000,1e-5)
return string.format('%s %s','x',1.5)
return string.format('%s')
return string.format('%y',1)
return string.format('%200d',1)
return string.format('%d',3.99)
return string.format('%s',nil)
return table.insert({}, 1, 2, 3)
table.insert({})
table.insert(nil, 1)
local t={1,3} table.insert(t,2,2) return t
local t={1,2,3} table.remove(t,1) return t
local t={1,2,3} return {table.remove(t), #t, table.remove({})}
local t={3,1,2} table.sort(t) return t
local t={3,1,2} table.sort(t, function(a,b) return a > b end) return t
table.sort({3,'a',1})
local t={'b','a'} table.sort(t) return t
return table.getn({1,2})
table.setn({},1)
return table.maxn({1,2,[10]=3})
local n=0 table.foreach({1,2},function(k,v) n=n+v end) return n
return string.char(256)
return string.char(-1)
return string.char(104,105)
return ('x'):rep(-1)
return ('abc'):sub(-2)
return ('abc'):sub(2,2)
return ('abc'):upper()..('ABC'):lower()..('abc'):reverse()..('abc'):len()
return {('abc'):byte(1,-1)}
return string.byte(string.rep('x',10000),1,-1)
return math.floor('a')
return math.floor()
return math.max()
return math.max(1,5,3)..' '..math.min(4,2,8)
return math.floor(3.7)..' '..math.ceil(3.2)..' '..math.abs(-4)..' '..math.fmod(7,3)..' '..math.sqrt(16)..' '..math.pow(2,10)
return {math.modf(3.7)}
return {math.frexp(8)}
return math.ldexp(1,4)
return tostring(math.huge)..tostring(-math.huge)
return 5 % 3 .. ' ' .. -5 % 3 .. ' ' .. 5 % -3 .. ' ' .. 5.5 % 2
local function f() error('deep') end f()
local function f() local x = nil; return x() end f()
local function f() redis.call('nope') end f()
local f = function() return redis.call('nope') end return f()
return {pcall(string.rep)}
local s = 0 for i = 10, 1, -2 do s = s + i end return s
local a, b, c = (function(...) return ... end)(1, 2) return {a, b, tostring(c)}
local t = {n = 1, [2] = 'b', 'a'; 'c'} return {t.n, t[1], t[2]}
return #{1, 2, nil, 4} > 0
do local x <const> = 1 end
x = = 1
return (
return )
for
local a = 'abc
return 1 return 2
`

// TestScriptsAnswerAsThePeers runs the same scripts here and there.
func TestScriptsAnswerAsThePeers(t *testing.T) {
	ours, peer := startServer(t).dial(), startPeer(t).dial()
	for _, version := range []string{"2", "3"} {
		ours.do("HELLO", version)
		peer.do("HELLO", version)
		for _, script := range strings.Split(strings.Trim(sameScripts, "\n"), "\n") {
			got, want := ours.do("EVAL", script, "0"), peer.do("EVAL", script, "0")
			if got != want && !intendedInScripts(script, got, want) {
				t.Errorf("RESP%s %s\nours %.300q\npeer %.300q", version, script, got, want)
			}
		}
	}
}

var syntaxFault = regexp.MustCompile(`^-ERR Error compiling script \(new function\): user_script:1: `)

// intendedInScripts tells whether an answer may differ: the compiler of
// gopher-lua has words of its own for faults of syntax, and big numbers differ in
// the last digits that the machine prints.
func intendedInScripts(script, got, want string) bool {
	return syntaxFault.MatchString(got) && syntaxFault.MatchString(want)
}

// TestEvalArguments: what is around the script.
func TestEvalArguments(t *testing.T) {
	ours, peer := startServer(t).dial(), startPeer(t).dial()
	for _, command := range [][]string{
		{"EVAL", "return 1"}, {"EVAL", "return 1", "x"}, {"EVAL", "return 1", "-1"}, {"EVAL", "return 1", "1"}, {"EVAL", "return 1", "0", "x"},
		{"EVAL", "return {KEYS[1],KEYS[2],ARGV[1],ARGV[2]}", "2", "a", "b", "c", "d"}, {"EVAL", "return #KEYS + #ARGV", "1", "a", "b"},
		{"EVAL", "KEYS[1] = 'x' return KEYS[1]", "1", "a"}, {"EVAL", "KEYS = 1", "0"}, {"EVAL_RO", "return redis.call('set','a',1)", "0"},
		{"EVAL_RO", "return redis.call('get','a')", "0"}, {"EVALSHA", "x", "0"}, {"EVALSHA", strings.Repeat("a", 40), "0"}, {"EVALSHA", strings.Repeat("a", 40), "x"},
		{"SCRIPT", "LOAD", "return 1"}, {"EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0"}, {"EVALSHA", "E0E1F9FABFC9D4800C877A703B823AC0578FF8DB", "0"},
		{"EVALSHA_RO", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0"}, {"SCRIPT", "EXISTS", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "x"},
		{"SCRIPT", "FLUSH", "X"}, {"SCRIPT", "FLUSH", "SYNC", "X"}, {"SCRIPT", "FLUSH", "ASYNC"}, {"SCRIPT", "EXISTS", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"},
		{"SCRIPT", "LOAD", "x = = 1"}, {"SCRIPT", "KILL"}, {"SCRIPT", "DEBUG", "x"}, {"SCRIPT", "DEBUG", "NO"}, {"SCRIPT", "NOPE"}, {"SCRIPT"}, {"SCRIPT", "LOAD"},
		{"EVAL", "#!lua", "0"}, {"EVAL", "#!\nreturn 1", "0"}, {"EVAL", "#!js\nreturn 1", "0"}, {"EVAL", "#!lua\nreturn 1", "0"}, {"EVAL", "#!lua x=1\nreturn 1", "0"},
		{"EVAL", "#!lua flags=no-writes\nreturn 1", "0"}, {"EVAL", "#!lua flags=no-writes,nope\nreturn 1", "0"}, {"EVAL", "#!lua flags=\nreturn 1", "0"},
		{"EVAL", "#!lua flags=no-writes\nreturn redis.call('set','a',1)", "0"}, {"EVAL", "#!lua\nreturn redis.call('set','a',1)", "0"},
		{"EVAL", "#!lua flags=allow-oom,allow-stale,no-cluster\n\n\nreturn nope", "0"}, {"EVAL_RO", "#!lua\nreturn 1", "0"}, {"EVAL_RO", "#!lua flags=no-writes\nreturn 1", "0"},
		{"EVAL", "redis.call('select',3) redis.call('set','in3',1) return redis.call('get','in3')", "0"}, {"GET", "in3"}, {"SELECT", "3"}, {"GET", "in3"},
		{"MULTI"}, {"EVAL", "return redis.call('incr','n')", "0"}, {"EVAL", "return redis.call('nope')", "0"}, {"INCR", "n"}, {"EXEC"},
		{"EVAL", "return redis.call('publish','ch','x')", "0"}, {"EVAL", "return redis.call('sort','l','by','nosort')", "0"},
		{"EVAL", "redis.call('set','w',1) error('x')", "0"}, {"GET", "w"}, {"COMMAND", "GETKEYS", "EVAL", "return 1", "2", "a", "b", "c"},
		{"COMMAND", "GETKEYS", "EVAL", "return 1", "0"}, {"EVAL", "return redis.call('flushall')", "0"}, {"DBSIZE"},
	} {
		got, want := ours.do(command...), peer.do(command...)
		if got != want && !(syntaxFault.MatchString(got) && syntaxFault.MatchString(want)) {
			t.Errorf("%q\nours %.300q\npeer %.300q", command, got, want)
		}
	}
}

// TestRunawayScripts: a script past its time is told of and killed; one that has
// written is not; pcall does not help it.
func TestRunawayScripts(t *testing.T) {
	s := startServer(t, "--busy-reply-threshold", "20")
	c, other := s.dial(), s.dial()
	busy := func(script string) {
		t.Helper()
		c.send(string(encode("EVAL", script, "0")))
		eventually(t, "the server is busy", func() bool { return strings.HasPrefix(other.do("PING"), "-BUSY Redis is busy running a script.") })
	}
	for _, script := range []string{
		"while true do end", "while true do pcall(error) end", "local function f() while true do pcall(f) end end f()",
		"local t = {} while true do t[1] = redis.call('get', 'a') end", "return string.rep('a', 1e5):find('.-.-.-b')",
	} {
		busy(script)
		other.ok("SCRIPT", "KILL")
		if got := c.reply(); !strings.HasPrefix(got, "-ERR Script killed by user with SCRIPT KILL... script: ") {
			t.Errorf("%s: %q", script, got)
		}
		other.want("$-1\r\n", "GET", "a")
	}
	other.want("-NOTBUSY No scripts in execution right now.\r\n", "SCRIPT", "KILL")

	busy("redis.call('set', 'a', 1) while redis.call('get', 'a') do end")
	if got := other.do("SCRIPT", "KILL"); !strings.HasPrefix(got, "-UNKILLABLE Sorry the script already executed write commands") {
		t.Errorf("killing one that has written: %q", got)
	}
	if got := other.do("FUNCTION", "KILL"); !strings.HasPrefix(got, "-UNKILLABLE") {
		t.Errorf("as a function: %q", got)
	}
	s.stop() // ends it
}

// TestScriptsServeWaiters: who waits for what a script pushes is served when it
// is over, and sees it as one step.
func TestScriptsServeWaiters(t *testing.T) {
	s := startServer(t)
	c, waiter := s.dial(), s.dial()
	waiter.send(string(encode("BLPOP", "l", "0")))
	wantBlocked(c, 1)
	c.want(":2\r\n", "EVAL", "redis.call('lpush', 'l', 'a') redis.call('lpush', 'l', 'b') return redis.call('llen', 'l')", "0")
	if got := waiter.reply(); got != "*2\r\n$1\r\nl\r\n$1\r\nb\r\n" {
		t.Errorf("served %q", got)
	}
	waiter.send(string(encode("BLPOP", "m", "0")))
	wantBlocked(c, 1)
	c.ok("MULTI")
	c.want("+QUEUED\r\n", "EVAL", "return redis.call('rpush', KEYS[1], 'x')", "1", "m")
	c.want("*1\r\n:1\r\n", "EXEC")
	if got := waiter.reply(); got != "*2\r\n$1\r\nm\r\n$1\r\nx\r\n" {
		t.Errorf("from a transaction: served %q", got)
	}
	if got := c.do("EVAL", "return redis.call('xread', 'block', 0, 'streams', 's', '$')", "0"); !strings.HasPrefix(got, "-ERR xread command is not allowed with BLOCK option from scripts") {
		t.Errorf("a script that wants to wait: %q", got)
	}
}

// TestScriptsSpoilWatch: what a script writes, WATCH sees.
func TestScriptsSpoilWatch(t *testing.T) {
	s := startServer(t)
	c, other := s.dial(), s.dial()
	c.ok("WATCH", "k")
	other.ok("EVAL", "return redis.call('set', 'k', 1)", "0")
	c.ok("MULTI")
	c.want("+QUEUED\r\n", "GET", "k")
	c.want("*-1\r\n", "EXEC")
}

// TestMonitorShowsScripts: the script first, then what it calls, which comes
// from "lua".
func TestMonitorShowsScripts(t *testing.T) {
	s := startServer(t)
	watcher, c := s.dial(), s.dial()
	watcher.ok("MONITOR")
	c.ok("EVAL", "redis.call('select', 2) return redis.call('set', 'k', 'v')", "0")
	for _, want := range []string{`"EVAL" "redis.call(`, `[2 lua] "select" "2"`, `[2 lua] "set" "k" "v"`} {
		if got := watcher.reply(); !strings.Contains(got, want) {
			t.Errorf("shown %q, want %s", got, want)
		}
	}
}

// TestScriptCacheIsBounded: scripts that come with EVAL go when there are many,
// loaded ones stay.
func TestScriptCacheIsBounded(t *testing.T) {
	c := startServer(t).dial()
	c.want("$40\r\ne0e1f9fabfc9d4800c877a703b823ac0578ff8db\r\n", "SCRIPT", "LOAD", "return 1")
	commands := make([][]string, 600)
	for i := range commands {
		commands[i] = []string{"EVAL", fmt.Sprintf("return %d + 0", i), "0"}
	}
	c.pipeline(commands)
	if n := infoInt(c, "memory", "number_of_cached_scripts"); n != 501 {
		t.Errorf("%d scripts are kept", n)
	}
	if n := infoInt(c, "stats", "evicted_scripts"); n != 100 {
		t.Errorf("%d scripts have gone", n)
	}
	c.want(":1\r\n", "EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0")
}

// TestErrorsOfScriptsAreCounted once, and as those of the commands that failed.
func TestErrorsOfScriptsAreCounted(t *testing.T) {
	ours, peer := startServer(t).dial(), startPeer(t).dial()
	for _, c := range []*conn{ours, peer} {
		c.do("SET", "k", "v")
		for _, script := range []string{
			"return redis.call('lpush','k',1)", "return redis.pcall('lpush','k',1)", "redis.pcall('lpush','k',1) return 1", "error('x')",
			"return {err='MINE x'}", "return redis.error_reply('OTHER x')", "return redis.call('nope')", "return redis.call('get')", "nope()",
		} {
			c.do("EVAL", script, "0")
		}
	}
	for _, section := range []string{"errorstats", "commandstats"} {
		got, want := ours.value("INFO", section).text, peer.value("INFO", section).text
		got, want = statTimes.ReplaceAllString(got, ""), statTimes.ReplaceAllString(want, "")
		if sorted(got) != sorted(want) {
			t.Errorf("%s\nours\n%s\npeer\n%s", section, sorted(got), sorted(want))
		}
	}
}

// statTimes is what two servers never agree on, and the INFO that asks.
var statTimes = regexp.MustCompile(`usec=\d+,|usec_per_call=[0-9.]+,|cmdstat_(info|hello|client|ping|command).*\r\n`)

func sorted(text string) string {
	lines := strings.Fields(text)
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestTimeStandsStill: all that a script or a transaction does happens at one time, so that what it has just seen does not
// expire under its hands.
func TestTimeStandsStill(t *testing.T) {
	c := startServer(t, "--enable-debug-command", "yes").dial()
	c.ok("DEBUG", "SET-DISABLE-DENY-SCRIPTS", "1")
	c.want("*4\r\n:1\r\n:1\r\n:1\r\n:1\r\n", "EVAL", `
		local before = redis.call('time')
		redis.call('set', 'short', 'v', 'px', 1)
		redis.call('set', 'long', 'v', 'px', 60000)
		redis.call('debug', 'sleep', 0.003)
		redis.call('set', 'later', 'v')
		redis.call('pexpire', 'later', 60000)
		local after = redis.call('time')
		return {redis.call('exists', 'short'), before[1] == after[1] and before[2] == after[2],
			redis.call('pttl', 'long') == 60000, redis.call('pexpiretime', 'long') == redis.call('pexpiretime', 'later')}`, "0")
	c.want(":0\r\n", "EXISTS", "short")

	c.ok("MULTI")
	for _, command := range [][]string{
		{"SET", "short", "v", "PX", "1"}, {"DEBUG", "SLEEP", "0.003"}, {"EXISTS", "short"},
		{"EVAL", "return redis.call('exists','short')", "0"}, {"EXISTS", "short"},
	} {
		c.want("+QUEUED\r\n", command...)
	}
	c.want("*5\r\n+OK\r\n+OK\r\n:1\r\n:1\r\n:1\r\n", "EXEC")
	c.want(":0\r\n", "EXISTS", "short")
}

// TestSlowlogShowsWhatScriptsCall: each command for itself, before the script, and as the caller's.
func TestSlowlogShowsWhatScriptsCall(t *testing.T) {
	c := startServer(t, "--slowlog-log-slower-than", "0").dial()
	c.ok("CLIENT", "SETNAME", "caller")
	c.ok("SLOWLOG", "RESET")
	c.want("$4\r\nPONG\r\n", "EVAL", "return redis.call('ping', 'PONG')", "0")
	list := c.value("SLOWLOG", "GET", "2").elems
	if len(list) != 2 || list[0].elems[3].elems[0].text != "EVAL" || list[1].elems[3].elems[0].text != "ping" {
		t.Fatalf("logged %v", list)
	}
	if script, call := list[0].elems, list[1].elems; call[4].text != script[4].text || call[5].text != "caller" {
		t.Errorf("the call is %v's, the script %v's", call[4:], script[4:])
	}
}
