package lua

import (
	"slices"

	lua "github.com/yuin/gopher-lua"
)

func openCoroutine(L *lua.LState) {
	L.SetGlobal("coroutine", newModule(L, map[string]lua.LGFunction{
		"create": coroutineCreate, "resume": coroutineResume, "running": coroutineRunning, "status": coroutineStatus,
		"wrap": coroutineWrap, "yield": coroutineYield,
	}))
}

// Sizes of a coroutine's stacks: in frames and in values, at first and at most.
const (
	coroutineFrames    = 200 + spareFrames
	coroutineValues    = 256
	coroutineValuesMax = 1 << 16
	coroutineBytes     = coroutineFrames*88 + coroutineValues*valueBytes + 1024
)

func newCoroutine(L *lua.LState) *lua.LState {
	fn := functionArg(L, 1)
	rt := watchOf(L).rt
	rt.charge(L, coroutineBytes)
	options := L.Options
	L.Options = lua.Options{
		CallStackSize: coroutineFrames, RegistrySize: coroutineValues, RegistryMaxSize: coroutineValuesMax, RegistryGrowStep: coroutineValues,
	}
	watching := L.RemoveContext() // which NewThread would ask whether it is done
	thread, _ := L.NewThread()
	L.SetContext(watching)
	L.Options = options
	rt.watchState(thread)
	watchOf(thread).body = fn
	return thread
}

func coroutineCreate(L *lua.LState) int {
	L.Push(newCoroutine(L))
	return 1
}

// resume runs a coroutine until it yields, ends or fails. Its values are pushed.
func resume(L, thread *lua.LState, args int) (fault lua.LValue) {
	rt := watchOf(L).rt
	if status := statusOf(L, thread); status != "suspended" {
		return lua.LString("cannot resume " + status + " coroutine")
	}
	if rt.nested >= protectedMax {
		return lua.LString("C stack overflow")
	}
	values := make([]lua.LValue, args)
	for i := range values {
		values[i] = L.Get(L.GetTop() - args + 1 + i)
	}
	rt.nested++
	rt.resuming = append(rt.resuming, thread)
	_, err, results := L.Resume(thread, watchOf(thread).body, values...)
	rt.resuming = rt.resuming[:len(rt.resuming)-1]
	rt.nested--
	if err != nil {
		thread.Dead = true
		L.G.CurrentThread = L
		if fault, isLua := err.(*lua.ApiError); isLua {
			return fault.Object
		}
		return lua.LString(err.Error())
	}
	for _, v := range results {
		L.Push(v)
	}
	return nil
}

func threadArg(L *lua.LState, n int) *lua.LState {
	thread, isThread := L.Get(n).(*lua.LState)
	if !isThread {
		raiseArg(L, n, "coroutine expected")
	}
	return thread
}

func coroutineResume(L *lua.LState) int {
	thread := threadArg(L, 1)
	top := L.GetTop()
	if fault := resume(L, thread, top-1); fault != nil {
		L.Push(lua.LFalse)
		L.Push(fault)
		return 2
	}
	L.Insert(lua.LTrue, top+1)
	return L.GetTop() - top
}

func coroutineWrap(L *lua.LState) int {
	thread := newCoroutine(L)
	L.Push(L.NewFunction(func(L *lua.LState) int {
		top := L.GetTop()
		if fault := resume(L, thread, top); fault != nil {
			if s, isText := textOf(fault); isText {
				raise(L, "%s", s)
			}
			L.Error(fault, 0)
		}
		return L.GetTop() - top
	}))
	return 1
}

func coroutineRunning(L *lua.LState) int {
	if L == watchOf(L).rt.state {
		L.Push(lua.LNil)
	} else {
		L.Push(L)
	}
	return 1
}

func coroutineStatus(L *lua.LState) int { return pushString(L, statusOf(L, threadArg(L, 1))) }

func statusOf(L, thread *lua.LState) string {
	rt := watchOf(L).rt
	switch {
	case thread == L:
		return "running"
	case thread.Dead:
		return "dead"
	case thread == rt.state || slices.Contains(rt.resuming, thread):
		return "normal"
	}
	return "suspended"
}

// coroutineYield refuses to leave calls that go through Go, metamethods and iterators among them, as through C in Lua 5.1:
// gopher-lua would go on in the middle of them.
func coroutineYield(L *lua.LState) int {
	w := watchOf(L)
	across := L == w.rt.state
	for f := (*w.frame).Parent; f != nil && !across; f = f.Parent {
		if f.Fn.IsG {
			across = true
		} else if op := opcode(f.Fn.Proto.Code[f.Pc-1]); op != opCall && op != opTailCall {
			across = true
		}
	}
	if across {
		L.Error(lua.LString("attempt to yield across metamethod/C-call boundary"), 0)
	}
	return -1
}
