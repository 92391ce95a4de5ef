package lua

import (
	"math"
	"slices"

	lua "github.com/yuin/gopher-lua"
)

func openTable(L *lua.LState) {
	L.SetGlobal("table", newModule(L, map[string]lua.LGFunction{
		"concat": tableConcat, "foreach": tableForEach, "foreachi": tableForEachI, "getn": tableGetN, "insert": tableInsert,
		"maxn": tableMaxN, "remove": tableRemove, "setn": tableSetN, "sort": tableSort,
	}))
}

func tableConcat(L *lua.LState) int {
	t := tableArg(L, 1)
	separator := ""
	if L.Get(2) != lua.LNil {
		separator = stringArg(L, 2)
	}
	from := integerArgOr(L, 3, 1)
	to := integerArgOr(L, 4, int64(t.Len()))
	size := 0
	for i := from; i <= to; i++ {
		s, isText := textOf(t.RawGet(lua.LNumber(i)))
		if !isText {
			raise(L, "invalid value (%s) at index %d in table for 'concat'", typeName(t.RawGet(lua.LNumber(i))), i)
		}
		if size += len(s) + len(separator); size > BytesMax {
			L.Error(lua.LString(errMemory), 0)
		}
		if i == math.MaxInt64 {
			break
		}
	}
	charge(L, 2*size)
	out := make([]byte, 0, size)
	for i := from; i <= to; i++ {
		s, _ := textOf(t.RawGet(lua.LNumber(i)))
		out = append(out, s...)
		if i == to {
			break
		}
		out = append(out, separator...)
	}
	return pushString(L, string(out))
}

// each calls a function and reports whether it answered, with the answer on the stack.
func each(L *lua.LState, fn *lua.LFunction, key, value lua.LValue) bool {
	L.Push(fn)
	L.Push(key)
	L.Push(value)
	L.Call(2, 1)
	if L.Get(-1) != lua.LNil {
		return true
	}
	L.Pop(1)
	return false
}

func tableForEach(L *lua.LState) int {
	t, fn := tableArg(L, 1), functionArg(L, 2)
	for key, value := t.Next(lua.LNil); key != lua.LNil; key, value = t.Next(key) {
		if each(L, fn, key, value) {
			return 1
		}
	}
	return 0
}

func tableForEachI(L *lua.LState) int {
	t, fn := tableArg(L, 1), functionArg(L, 2)
	for i := range t.Len() {
		if each(L, fn, lua.LNumber(i+1), t.RawGetInt(i+1)) {
			return 1
		}
	}
	return 0
}

func tableGetN(L *lua.LState) int {
	L.Push(lua.LNumber(tableArg(L, 1).Len()))
	return 1
}

func tableSetN(L *lua.LState) int {
	tableArg(L, 1)
	raise(L, "'setn' is obsolete")
	return 0
}

func tableMaxN(L *lua.LState) int {
	t := tableArg(L, 1)
	most := lua.LNumber(t.MaxN())
	t.ForEach(func(key, _ lua.LValue) {
		if n, isNumber := key.(lua.LNumber); isNumber {
			most = max(most, n)
		}
	})
	L.Push(most)
	return 1
}

func tableInsert(L *lua.LState) int {
	t := tableArg(L, 1)
	refuseFrozen(L, t)
	length := int64(t.Len())
	charge(L, int(instructionCost[opSetTable]))
	switch L.GetTop() {
	case 2:
		t.RawSet(lua.LNumber(length+1), L.Get(2))
	case 3:
		at := integerArg(L, 2)
		if at < 1 || at > length {
			watchOf(L).rt.chargeGap(L, t, lua.LNumber(at))
			t.RawSet(lua.LNumber(at), L.Get(3))
			break
		}
		t.Insert(int(at), L.Get(3))
	default:
		raise(L, "wrong number of arguments to 'insert'")
	}
	return 0
}

func tableRemove(L *lua.LState) int {
	t := tableArg(L, 1)
	length := int64(t.Len())
	at := integerArgOr(L, 2, length)
	if at < 1 || at > length {
		return 0
	}
	refuseFrozen(L, t)
	removed := t.RawGetInt(int(at))
	for i := int(at); i < int(length); i++ {
		t.RawSetInt(i, t.RawGetInt(i+1))
	}
	t.RawSetInt(int(length), lua.LNil)
	L.Push(removed)
	return 1
}

func tableSort(L *lua.LState) int {
	t := tableArg(L, 1)
	var less *lua.LFunction
	if L.GetTop() > 1 && L.Get(2) != lua.LNil {
		less = functionArg(L, 2)
	}
	if t.Len() < 2 {
		return 0
	}
	refuseFrozen(L, t)
	values := make([]lua.LValue, t.Len())
	charge(L, 2*valueBytes*len(values))
	for i := range values {
		values[i] = t.RawGetInt(i + 1)
	}
	slices.SortFunc(values, func(a, b lua.LValue) int {
		switch {
		case comesBefore(L, less, a, b):
			return -1
		case less == nil && a == b:
			return 0
		case comesBefore(L, less, b, a):
			return 1
		}
		return 0
	})
	for i, v := range values {
		t.RawSetInt(i+1, v)
	}
	return 0
}

// comesBefore compares as < does, or as the function says.
func comesBefore(L *lua.LState, less *lua.LFunction, a, b lua.LValue) bool {
	heed(L) // long strings take their time
	if less != nil {
		L.Push(less)
		L.Push(a)
		L.Push(b)
		L.Call(2, 1)
		before := lua.LVAsBool(L.Get(-1))
		L.Pop(1)
		return before
	}
	if x, isNumber := a.(lua.LNumber); isNumber {
		if y, isNumber := b.(lua.LNumber); isNumber {
			return x < y
		}
	}
	if x, isString := a.(lua.LString); isString {
		if y, isString := b.(lua.LString); isString {
			return x < y
		}
	}
	left, right := typeName(a), typeName(b)
	meta, _ := L.GetMetatable(a).(*lua.LTable)
	switch {
	case left == right && meta != nil && meta.RawGetString("__lt") != lua.LNil:
		return L.LessThan(a, b)
	case left == right:
		L.Error(lua.LString("attempt to compare two "+left+" values"), 0)
	}
	L.Error(lua.LString("attempt to compare "+left+" with "+right), 0)
	return false
}
