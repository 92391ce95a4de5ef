package lua

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// bombs are scripts that ask for more than there is. Each ends with an error that says so, or with a reply.
var bombs = map[string]string{
	"doubled string":      `local s = 'x' while true do s = s .. s end`,
	"many operands":       `local s = string.rep('x', 1e7) while true do s = s..s..s..s..s..s..s..s end`,
	"repeated string":     `return string.rep('x', 1e10)`,
	"repeated again":      `local t = {} for i = 1, 1e9 do t[i] = string.rep('x', 1e6) end`,
	"many short strings":  `local t = {} for i = 1, 1e9 do t[i] = 'k' .. i end`,
	"array":               `local t = {} for i = 1, 1e9 do t[i] = true end`,
	"array by insert":     `local t = {} while true do table.insert(t, 1) end`,
	"gap":                 `local t = {} t[67108863] = 1`,
	"gaps":                `local t = {} for i = 1, 1e9 do t[i] = {} t[i][1000000] = 1 end`,
	"gap by insert":       `local t = {} for i = 1, 1e9 do t[i] = {} table.insert(t[i], 1000000, 1) end`,
	"gap by rawset":       `local t = {} for i = 1, 1e9 do t[i] = {} rawset(t[i], 1000000, 1) end`,
	"gap by newindex":     `local t = {} for i = 1, 1e9 do t[i] = {} setmetatable({}, {__newindex = t[i]})[1000000] = 1 end`,
	"hash":                `local t = {} for i = 1, 1e9 do t['k' .. i] = i end`,
	"nested tables":       `local t = {} while true do t = {t, a = 1} end`,
	"closures":            `local t = {} for i = 1, 1e9 do t[i] = function() return i end end`,
	"coroutines":          `local t = {} for i = 1, 1e9 do t[i] = coroutine.create(function() end) end`,
	"started coroutines":  `local t = {} for i = 1, 1e9 do t[i] = coroutine.wrap(function() coroutine.yield() end) t[i]() end`,
	"nested coroutines":   `local function f() return coroutine.wrap(f)() end f()`,
	"concatenated table":  `local t = {} for i = 1, 1000 do t[i] = string.rep('x', 1e5) end local s = {} while true do s[#s + 1] = table.concat(t) end`,
	"joined range":        `return table.concat({}, string.rep('x', 1e8), 1, 0) .. table.concat(setmetatable({}, {}), 'x', 1, 1e15)`,
	"replaced":            `local s = string.rep('x', 1e6) while true do s = string.gsub(s, 'x', 'xxxxxxxxxxxxxxxx') end`,
	"replaced by capture": `local s = string.rep('x', 1e5) return string.gsub(s, '^.*$', string.rep('%0', 1e5))`,
	"formatted":           `local s = string.rep('x', 1e7) while true do s = string.format('%s%s', s, s) end`,
	"uppercase":           `local s, t = string.rep('x', 1e7), {} for i = 1, 1e9 do t[i] = s:upper() t[i + 1] = s:reverse() end`,
	"recursion":           `local function f() return f() + 1 end f()`,
	"many registers":      `local function f(...) return f(1, ...) + 1 end f()`,
	"unpacked":            `local t = {} for i = 1, 7000 do t[i] = i end local function f(...) return f(unpack(t)) + 1 end f()`,
	"protected":           `local function f() pcall(f) end f() return 1`,
	"protected handler":   `local function f() xpcall(f, f) end f() return 1`,
	"metamethods":         `local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k .. 'x'] end return t.a`,
	"tostring":            `local t = setmetatable({}, {}) getmetatable(t).__tostring = tostring return tostring(t)`,
	"replacing itself":    `local function f(s) return string.gsub(s, '.', f) end return f('xxx')`,
	"sorting itself":      `local function f() table.sort({3, 2, 1}, f) end f()`,
	"pattern depth":       `return string.find(string.rep('a', 1e6), string.rep('a?', 1e5) .. 'b')`,
	"pattern captures":    `return string.find('a', string.rep('()', 100))`,
	"loaded":              `local n = 0 return load(function() n = n + 1 return string.rep('x = 1 ', 1e6) end)`,
	"argument list":       `local t = {} for i = 1, 1e6 do t[i] = 'x' end return redis.call('echo', unpack(t, 1, 7000))`,
	"json":                `local t = {} for i = 1, 1e5 do t[i] = 'x' end local r = {} while true do r[#r + 1] = cjson.encode(t) end`,
	"json read":           `local s, t = '[' .. string.rep('1,', 1e6) .. '1]', {} while true do t[#t + 1] = cjson.decode(s) end`,
	"msgpack":             `local t = {} for i = 1, 1e5 do t[i] = 'x' end local r = {} while true do r[#r + 1] = cmsgpack.pack(t) end`,
	"json of one table":   `local t = {} for i = 1, 100 do t = {t, t} end return cjson.encode(t)`,
	"msgpack of one":      `local t = {} for i = 1, 15 do t = {t, t, t, t} end return cmsgpack.pack(t)`,
	"reply of one table":  `local t = {1} for i = 1, 100 do t = {t, t} end return t`,
	"reply of maps":       `local t = {map = {1}} for i = 1, 100 do t = {map = {t, t}} end return t`,
	"reply of a string":   `local s, t = string.rep('x', 1e6), {} for i = 1, 1e4 do t[i] = s end return t`,
	"reply of a status":   `local s, t = {ok = string.rep('x', 1e6)}, {} for i = 1, 1e4 do t[i] = s end return t`,
}

// TestBombs: a script cannot take more than it may, however it tries, and the next one runs.
func TestBombs(t *testing.T) {
	rt := New(&testHost{})
	rt.bytesMax, rt.every = 24<<20, 4<<20
	var most atomic.Uint64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { // the largest heap that there was
		defer close(stopped)
		var m memory
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				most.Store(max(most.Load(), uint64(m.heapNow())))
			}
		}
	}()
	for name, code := range bombs {
		runtime.GC()
		most.Store(0)
		began := time.Now()
		got := runScript(t, rt, code)
		t.Logf("%-20s %6d ms, heap %4d MiB: %.120s", name, time.Since(began).Milliseconds(), most.Load()>>20, got)
		if most.Load() > BytesMax {
			t.Errorf("%s: the heap grew to %d MiB", name, most.Load()>>20)
		}
		if got := runScript(t, rt, "return 1"); got != ":1" {
			t.Fatalf("after %s: %s", name, got)
		}
	}
	close(stop)
	<-stopped
}
