package lua

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// baseFunctions are the functions that are no library's. What reaches files, the loader or other environments is not there.
var baseFunctions = map[string]lua.LGFunction{
	"assert": baseAssert, "collectgarbage": baseCollect, "error": baseError, "gcinfo": baseGCInfo,
	"getmetatable": baseGetMetatable, "load": baseLoad, "loadstring": baseLoadString, "next": baseNext,
	"pcall": basePCall, "rawequal": baseRawEqual, "rawget": baseRawGet, "rawset": baseRawSet, "select": baseSelect,
	"setmetatable": baseSetMetatable, "tonumber": baseToNumber, "tostring": baseToString, "type": baseType,
	"unpack": baseUnpack, "xpcall": baseXPCall,
}

// openBase makes the base functions and the iterators, which share theirs.
func openBase(L *lua.LState) {
	for name, fn := range baseFunctions {
		L.SetGlobal(name, L.NewFunction(fn))
	}
	next := L.NewFunction(baseNext)
	L.SetGlobal("next", next)
	L.SetGlobal("pairs", L.NewFunction(func(L *lua.LState) int {
		t := tableArg(L, 1)
		L.Push(next)
		L.Push(t)
		L.Push(lua.LNil)
		return 3
	}))
	step := L.NewFunction(ipairsStep)
	L.SetGlobal("ipairs", L.NewFunction(func(L *lua.LState) int {
		t := tableArg(L, 1)
		L.Push(step)
		L.Push(t)
		L.Push(lua.LNumber(0))
		return 3
	}))
	L.SetGlobal("_VERSION", lua.LString("Lua 5.1"))
}

// tableArg returns argument n, a table.
func tableArg(L *lua.LState, n int) *lua.LTable {
	t, isTable := L.Get(n).(*lua.LTable)
	if !isTable {
		raiseArgType(L, n, "table")
	}
	return t
}

// functionArg returns argument n, a function.
func functionArg(L *lua.LState, n int) *lua.LFunction {
	fn, isFunction := L.Get(n).(*lua.LFunction)
	if !isFunction {
		raiseArgType(L, n, "function")
	}
	return fn
}

// anyArg raises an error if argument n is not there.
func anyArg(L *lua.LState, n int) lua.LValue {
	if n > L.GetTop() {
		raiseArg(L, n, "value expected")
	}
	return L.Get(n)
}

func ipairsStep(L *lua.LState) int {
	i := int(integerArg(L, 2)) + 1
	v := tableArg(L, 1).RawGet(lua.LNumber(i))
	if v == lua.LNil {
		L.Push(lua.LNil)
		return 1
	}
	L.Push(lua.LNumber(i))
	L.Push(v)
	return 2
}

func baseNext(L *lua.LState) int {
	key, value := tableArg(L, 1).Next(L.Get(2))
	L.Push(key)
	if key == lua.LNil {
		return 1
	}
	L.Push(value)
	return 2
}

func baseAssert(L *lua.LState) int {
	if lua.LVAsBool(anyArg(L, 1)) {
		return L.GetTop()
	}
	if L.GetTop() < 2 {
		raise(L, "assertion failed!")
	}
	raise(L, "%s", stringArg(L, 2))
	return 0
}

// baseError adds the position to a string, unless the level is 0.
func baseError(L *lua.LState) int {
	level := int(integerArgOr(L, 2, 1))
	v := L.Get(1)
	if s, isText := textOf(v); isText && level > 0 {
		if at := L.Where(level); at != "" && !strings.HasPrefix(at, "[G]") {
			s = at + " " + s
		}
		v = lua.LString(s)
	}
	L.Error(v, 0)
	return 0
}

// textOf returns a string, or how a number is written.
func textOf(v lua.LValue) (string, bool) {
	switch v := v.(type) {
	case lua.LString:
		return string(v), true
	case lua.LNumber:
		return formatNumber(v), true
	}
	return "", false
}

func baseCollect(L *lua.LState) int {
	what := "collect"
	if L.Get(1) != lua.LNil {
		what = stringArg(L, 1)
	}
	switch what {
	case "count":
		L.Push(lua.LNumber(float64(watchOf(L).rt.spent) / 1024))
	case "collect", "stop", "restart", "step", "setpause", "setstepmul":
		L.Push(lua.LNumber(0))
	default:
		raiseArg(L, 1, "invalid option '%s'", what)
	}
	return 1
}

func baseGCInfo(L *lua.LState) int {
	L.Push(lua.LNumber(watchOf(L).rt.spent / 1024))
	return 1
}

func baseGetMetatable(L *lua.LState) int {
	anyArg(L, 1)
	meta := L.GetMetatable(L.Get(1))
	if _, hidden := meta.(readOnly); hidden {
		meta = lua.LNil
	}
	L.Push(meta)
	return 1
}

func baseSetMetatable(L *lua.LState) int {
	t := tableArg(L, 1)
	meta := L.Get(2)
	if _, isTable := meta.(*lua.LTable); !isTable && (meta != lua.LNil || L.GetTop() < 2) {
		raiseArg(L, 2, "nil or table expected")
	}
	if old, isTable := t.Metatable.(*lua.LTable); isTable && old.RawGetString("__metatable") != lua.LNil {
		raise(L, "cannot change a protected metatable")
	}
	refuseFrozen(L, t)
	t.Metatable = meta
	L.Push(t)
	return 1
}

// refuseFrozen raises an error if a table is read-only.
func refuseFrozen(L *lua.LState, t *lua.LTable) {
	if frozen(t) {
		L.Error(lua.LString(errReadOnly), 0)
	}
}

func baseRawEqual(L *lua.LState) int {
	L.Push(lua.LBool(L.RawEqual(anyArg(L, 1), anyArg(L, 2))))
	return 1
}

func baseRawGet(L *lua.LState) int {
	L.Push(tableArg(L, 1).RawGet(anyArg(L, 2)))
	return 1
}

func baseRawSet(L *lua.LState) int {
	t := tableArg(L, 1)
	key, value := anyArg(L, 2), anyArg(L, 3)
	refuseFrozen(L, t)
	if n, isNumber := key.(lua.LNumber); isNumber {
		watchOf(L).rt.chargeGap(L, t, n)
	}
	charge(L, int(instructionCost[opSetTable]))
	L.RawSet(t, key, value)
	L.Push(t)
	return 1
}

func baseSelect(L *lua.LState) int {
	if s, isString := L.Get(1).(lua.LString); isString && s == "#" {
		L.Push(lua.LNumber(L.GetTop() - 1))
		return 1
	}
	n, top := integerArg(L, 1), int64(L.GetTop())
	switch {
	case n < 0:
		n += top
	case n > top:
		n = top
	}
	if n < 1 {
		raiseArg(L, 1, "index out of range")
	}
	return int(top - n)
}

func baseToNumber(L *lua.LState) int {
	base := integerArgOr(L, 2, 10)
	if base == 10 {
		if f, isNumber := asNumber(anyArg(L, 1)); isNumber {
			L.Push(lua.LNumber(f))
		} else {
			L.Push(lua.LNil)
		}
		return 1
	}
	s := strings.Trim(stringArg(L, 1), spaces)
	if base < 2 || base > 36 {
		raiseArg(L, 2, "base out of range")
	}
	negative := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(s, "-")
	if base == 16 && hasPrefixFold(s, "0x") {
		s = s[2:]
	}
	u, err := strconv.ParseUint(s, int(base), 64)
	switch {
	case err != nil && u != math.MaxUint64:
		L.Push(lua.LNil)
	case negative:
		L.Push(lua.LNumber(float64(-u)))
	default:
		L.Push(lua.LNumber(float64(u)))
	}
	return 1
}

func baseToString(L *lua.LState) int {
	v := anyArg(L, 1)
	if fn, hasMeta := L.GetMetatable(v).(*lua.LTable); hasMeta {
		if f, isFunction := fn.RawGetString("__tostring").(*lua.LFunction); isFunction {
			L.Push(f)
			L.Push(v)
			L.Call(1, 1)
			return 1
		}
	}
	L.Push(lua.LString(display(v)))
	return 1
}

// display is what tostring makes of a value without a metatable.
func display(v lua.LValue) string {
	if u, isUserData := v.(*lua.LUserData); isUserData && u.Value == nil {
		return "userdata: (nil)" // cjson.null
	}
	if s, isText := textOf(v); isText {
		return s
	}
	return v.String()
}

func baseType(L *lua.LState) int {
	L.Push(lua.LString(typeName(anyArg(L, 1))))
	return 1
}

func baseUnpack(L *lua.LState) int {
	t := tableArg(L, 1)
	from := integerArgOr(L, 2, 1)
	to := integerArgOr(L, 3, int64(t.Len()))
	if from > to {
		return 0
	}
	if n := to - from; n < 0 || n >= stackSlotsMax || !hasRoom(L, n+1) {
		raise(L, "too many results to unpack")
	}
	for i := from; i <= to; i++ {
		L.Push(t.RawGet(lua.LNumber(i)))
	}
	return int(to - from + 1)
}

// baseLoadString compiles source text. Compiled code, which could do anything, does not exist here.
func baseLoadString(L *lua.LState) int {
	code := stringArg(L, 1)
	name := code
	if L.Get(2) != lua.LNil {
		name = stringArg(L, 2)
	}
	return pushLoaded(L, code, name)
}

func baseLoad(L *lua.LState) int {
	fn := functionArg(L, 1)
	name := "=(load)"
	if L.Get(2) != lua.LNil {
		name = stringArg(L, 2)
	}
	var code strings.Builder
	for {
		L.Push(fn)
		L.Call(0, 1)
		piece := L.Get(-1)
		L.Pop(1)
		s, isString := piece.(lua.LString)
		if piece != lua.LNil && !isString {
			L.Push(lua.LNil)
			L.Push(lua.LString("reader function must return a string"))
			return 2
		}
		if len(s) == 0 {
			break
		}
		charge(L, len(s)+code.Len())
		code.WriteString(string(s))
	}
	return pushLoaded(L, code.String(), name)
}

// pushLoaded answers as load does: with a function, or nil and what is wrong.
func pushLoaded(L *lua.LState, code, name string) int {
	rt := watchOf(L).rt
	charge(L, len(code)*sourceCost)
	fn, err := rt.load(sourceName(name), code, rt.globals)
	if err != nil {
		L.Push(lua.LNil)
		L.Push(lua.LString(err.Error()))
		return 2
	}
	if caller := (*frameOf(L)).Parent; caller != nil && caller.Fn.Env != nil {
		fn.Env = caller.Fn.Env
	}
	L.Push(fn)
	return 1
}

// sourceName is how errors name a chunk, as Lua shortens it.
func sourceName(name string) string {
	const shown = 60
	if name != "" && (name[0] == '=' || name[0] == '@') {
		return name[1:min(len(name), shown)]
	}
	line, _, cut := strings.Cut(name, "\n")
	if limit := shown - len(`[string "..."]`) - 1; len(line) > limit {
		line, cut = line[:limit], true
	}
	if cut {
		line += "..."
	}
	return `[string "` + line + `"]`
}

// sourceOf is the name that a chunk was given: what was loaded from a string is called by its text.
func sourceOf(name string) string {
	if text, isString := strings.CutPrefix(name, `[string "`); isString {
		return strings.TrimSuffix(text, `"]`)
	}
	return "@" + name
}

// protectedMax is how deep protected calls and coroutines nest, as calls through C do in Lua 5.1.
const protectedMax = 195

// newHandler makes a handler of errors for protect. It is given the frame in which the error was raised, which is still there.
func newHandler(L *lua.LState, handle func(L *lua.LState, raised *frame, v lua.LValue) lua.LValue) *lua.LFunction {
	return L.NewFunction(func(L *lua.LState) int {
		w := watchOf(L)
		v := L.Get(1)
		raised := (*w.frame).Parent
		if s, isString := v.(lua.LString); isString && raised != nil && !raised.Fn.IsG {
			v = lua.LString(machineError(w, raised, string(s)))
		}
		v = handle(L, raised, v)
		closeUpvalues(L, w.from)
		L.Push(v)
		return 1
	})
}

// protect calls the function below nargs arguments on the stack. It returns what the handler makes of an error.
func protect(L *lua.LState, nargs int, handler *lua.LFunction) (v lua.LValue, ok bool) {
	w := watchOf(L)
	rt := w.rt
	if rt.nested >= protectedMax {
		raise(L, "C stack overflow")
	}
	nested, protects, before := rt.nested, w.protects, w.from
	thread, base, own := L.G.CurrentThread, L.GetTop()-nargs-1, registryOf(L).top-nargs-1
	rt.nested, w.protects, w.from = nested+1, protects+1, own
	err := L.PCall(nargs, lua.MultRet, handler)
	rt.nested, w.protects, w.from = nested, protects, before
	*hasErrorFunc(L) = protects > 0 // see closeUpvalues
	if err == nil {
		return nil, true
	}
	closeUpvalues(L, own) // if the handler did not come so far
	L.G.CurrentThread = thread
	L.SetTop(base)
	fault, isLua := err.(*lua.ApiError)
	if !isLua {
		return lua.LString(err.Error()), false
	}
	return fault.Object, false
}

// basePCall answers with the text of an error that is a table of ours, as Redis does for scripts older than such tables.
func basePCall(L *lua.LState) int {
	anyArg(L, 1)
	v, ok := protect(L, L.GetTop()-1, watchOf(L).rt.passOn)
	if ok {
		L.Insert(lua.LTrue, 1)
		return L.GetTop()
	}
	if t, isTable := v.(*lua.LTable); isTable {
		if text, isText := textOf(t.RawGetString("err")); isText {
			v = lua.LString(text)
		}
	}
	L.Push(lua.LFalse)
	L.Push(v)
	return 2
}

func baseXPCall(L *lua.LState) int {
	anyArg(L, 2)
	handler := L.Get(2)
	L.SetTop(1)
	v, ok := protect(L, 0, newHandler(L, func(L *lua.LState, _ *frame, v lua.LValue) lua.LValue {
		L.Push(handler)
		L.Push(v)
		L.Call(1, 1)
		v = L.Get(-1)
		L.Pop(1)
		return v
	}))
	if ok {
		L.Insert(lua.LTrue, 1)
		return L.GetTop()
	}
	L.Push(lua.LFalse)
	L.Push(v)
	return 2
}
