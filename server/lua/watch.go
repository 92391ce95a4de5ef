package lua

import (
	"context"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// watch is the context of a state: gopher-lua calls Done before each instruction, and is never told to be done.
type watch struct {
	rt    *Runtime
	state *lua.LState
	frame **frame
	reg   *registry

	depthMax int // of frames
	topMax   int // of values on the stack
	protects int // protected calls that run
	from     int // where the values of the latest of them begin on the stack

	body *lua.LFunction // a coroutine's
}

// watchState puts a state, the main one or a coroutine's, under the watch of its runtime.
func (rt *Runtime) watchState(L *lua.LState) {
	L.SetContext(&watch{rt: rt, state: L, frame: frameOf(L), reg: registryOf(L), depthMax: L.Options.CallStackSize - spareFrames, topMax: L.Options.RegistryMaxSize - spareValues})
}

// watchOf finds the watch of a state.
func watchOf(L *lua.LState) *watch {
	w, _ := L.Context().(*watch)
	return w
}

// Done looks at the instruction that comes next.
func (w *watch) Done() <-chan struct{} {
	rt := w.rt
	if rt.ended.Load() != nil {
		w.end()
	}
	f := *w.frame
	inst := f.Fn.Proto.Code[f.Pc-1]
	rt.spent += int64(instructionCost[opcode(inst)&63])
	if rt.spent > rt.measureAt {
		rt.measure(w.state, 0)
	}
	switch opcode(inst) {
	case opConcat:
		w.concat(f, inst)
	case opSetTable, opSetTableKS:
		w.setTable(f, inst)
	case opSetGlobal:
		if frozen(f.Fn.Env) {
			w.fail(errReadOnly)
		}
	case opCall:
		if f.Idx >= w.depthMax || w.reg.top >= w.topMax {
			w.fail(errStack)
		}
	}
	return nil
}

// Deadline, Err and Value make a watch a context.
func (w *watch) Deadline() (time.Time, bool) { return time.Time{}, false }

// Err is never asked for: Done never says that it is over.
func (w *watch) Err() error { return context.Canceled }

// Value holds nothing.
func (w *watch) Value(any) any { return nil }

// end raises the error of a script that was killed, at each of its instructions: pcall may catch it, and has gained nothing.
func (w *watch) end() { w.state.Error(errorTable(w.state, *w.rt.ended.Load()), 0) }

// fail raises an error at the instruction that comes next.
func (w *watch) fail(text string) { w.state.Error(lua.LString(w.state.Where(0)+" "+text), 0) }

// instructionCost is about what an instruction may allocate at most, in bytes, but for what the watch looks at itself and
// library functions charge: a table with a first entry is some two kilobytes here.
var instructionCost = func() (cost [64]int32) {
	for i := range cost {
		cost[i] = 16 // numbers
	}
	cost[opSetTable], cost[opSetTableKS], cost[opNewTable] = 2048, 2048, 256
	cost[opClosure], cost[opVararg], cost[opSetList] = 256, 4096, 4096
	cost[opCall], cost[opTailCall], cost[opSelf] = 64, 64, 64
	return cost
}()

// operand returns what an operand of an instruction denotes, a register or a constant.
func (w *watch) operand(f *frame, operand int) lua.LValue {
	if operand&constantBit != 0 {
		return f.Fn.Proto.Constants[operand&^constantBit]
	}
	return w.reg.array[f.LocalBase+operand]
}

// concat makes strings of the numbers in a concatenation, as Lua writes them, and charges for the result. The operands lie in
// registers of their own.
func (w *watch) concat(f *frame, inst uint32) {
	total := 0
	for i := operandB(inst); i <= operandC(inst); i++ {
		switch v := w.reg.array[f.LocalBase+i].(type) {
		case lua.LString:
			total += len(v)
		case lua.LNumber:
			s := formatNumber(v)
			w.reg.array[f.LocalBase+i] = lua.LString(s)
			total += len(s)
		}
	}
	w.rt.charge(w.state, total)
}

// setTable refuses writes to what is read-only, and charges for arrays that would begin with a long gap.
func (w *watch) setTable(f *frame, inst uint32) {
	t, isTable := w.reg.array[f.LocalBase+operandA(inst)].(*lua.LTable)
	if !isTable {
		return
	}
	if t.Metatable == lua.LNil {
		if opcode(inst) == opSetTable {
			if n, isNumber := w.operand(f, operandB(inst)).(lua.LNumber); isNumber {
				w.rt.chargeGap(w.state, t, n)
			}
		}
		return
	}
	w.setIndirectly(t, w.operand(f, operandB(inst)))
}

// newIndexMax is how far gopher-lua follows __newindex.
const newIndexMax = 100

// setIndirectly follows __newindex to the table that will be written to.
func (w *watch) setIndirectly(t *lua.LTable, key lua.LValue) {
	for range newIndexMax {
		if frozen(t) {
			w.fail(errReadOnly)
		}
		if n, isNumber := key.(lua.LNumber); isNumber {
			w.rt.chargeGap(w.state, t, n)
		}
		meta, isTable := t.Metatable.(*lua.LTable)
		if !isTable || t.RawGet(key) != lua.LNil {
			return
		}
		if t, isTable = meta.RawGetString("__newindex").(*lua.LTable); !isTable {
			return
		}
	}
}

// frozen tells whether a table is read-only.
func frozen(t *lua.LTable) bool {
	switch meta := t.Metatable.(type) {
	case readOnly:
		return true
	case *lua.LTable:
		return meta.Metatable == lua.LValue(guard)
	}
	return false
}

// readOnly is the metatable of a read-only table, which for gopher-lua is none. A read-only table that needs a metatable, as
// the globals do, has one whose own metatable is guard.
type readOnly struct{ kind string }

func (readOnly) String() string       { return "nil" }
func (readOnly) Type() lua.LValueType { return lua.LTNil }

var (
	plain = readOnly{"plain"}
	guard = readOnly{"guard"}
)

const errReadOnly = "Attempt to modify a readonly table"

// Freeze makes a table read-only.
func Freeze(t *lua.LTable) {
	if meta, isTable := t.Metatable.(*lua.LTable); isTable {
		meta.Metatable = guard
		return
	}
	t.Metatable = plain
}
