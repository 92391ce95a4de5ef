package lua

import (
	"fmt"
	"reflect"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// What gopher-lua v1.1.2 has inside, as far as the watch looks at it. The types have the fields of the library's in its order;
// checkMirrors compares them field by field.

// frame mirrors callFrame.
type frame struct {
	Idx        int
	Fn         *lua.LFunction
	Parent     *frame
	Pc         int // of the instruction after the one that runs
	Base       int
	LocalBase  int // register 0
	ReturnBase int
	NArgs      int
	NRet       int
	TailCall   int
}

// registry mirrors the beginning of registry.
type registry struct {
	array []lua.LValue
	top   int
}

// upvalue mirrors Upvalue.
type upvalue struct {
	next   *upvalue
	reg    *registry
	index  int
	value  lua.LValue
	closed bool
}

// offsets of fields of LState.
var stateOffsets = func() (o struct{ frame, reg, upvalues, hasErrorFunc uintptr }) {
	state := reflect.TypeFor[lua.LState]()
	field := func(name, typ string) uintptr {
		f, ok := state.FieldByName(name)
		if !ok || f.Type.String() != typ {
			panic(fmt.Sprintf("lua: gopher-lua's LState has no field %s of type %s", name, typ))
		}
		return f.Offset
	}
	o.frame = field("currentFrame", "*lua.callFrame")
	o.reg = field("reg", "*lua.registry")
	o.upvalues = field("uvcache", "*lua.Upvalue")
	o.hasErrorFunc = field("hasErrorFunc", "bool")
	frameType, _ := state.FieldByName("currentFrame")
	checkMirror(frameType.Type.Elem(), reflect.TypeFor[frame]())
	regType, _ := state.FieldByName("reg")
	checkMirror(regType.Type.Elem(), reflect.TypeFor[registry]())
	checkMirror(reflect.TypeFor[lua.Upvalue](), reflect.TypeFor[upvalue]())
	return o
}()

// checkMirror panics, at the start of the program, unless the first fields of a type are those of its mirror.
func checkMirror(typ, mirror reflect.Type) {
	for i := range mirror.NumField() {
		theirs, ours := typ.Field(i), mirror.Field(i)
		if theirs.Name != ours.Name || theirs.Offset != ours.Offset || theirs.Type.Kind() != ours.Type.Kind() || theirs.Type.Size() != ours.Type.Size() {
			panic(fmt.Sprintf("lua: field %d of gopher-lua's %s is not what this package expects", i, typ))
		}
	}
}

// frameOf is where a state keeps its current frame.
func frameOf(L *lua.LState) **frame {
	return (**frame)(unsafe.Add(unsafe.Pointer(L), stateOffsets.frame))
}

func registryOf(L *lua.LState) *registry {
	return *(**registry)(unsafe.Add(unsafe.Pointer(L), stateOffsets.reg))
}

func upvaluesOf(L *lua.LState) **upvalue {
	return (**upvalue)(unsafe.Add(unsafe.Pointer(L), stateOffsets.upvalues))
}

func hasErrorFunc(L *lua.LState) *bool {
	return (*bool)(unsafe.Add(unsafe.Pointer(L), stateOffsets.hasErrorFunc))
}

// closeUpvalues closes the variables from a register on that functions have captured: the frames they lie in are about to
// go. When an error is raised gopher-lua closes those of all frames, also of those that the error does not end, which then
// no longer share their variables with their closures; where a handler is set it closes none.
func closeUpvalues(L *lua.LState, from int) {
	head := upvaluesOf(L)
	for head != nil && *head != nil {
		if uv := *head; uv.index >= from {
			if uv.reg.array[uv.index] == nil { // the stack above its top
				uv.reg.array[uv.index] = lua.LNil
			}
			(*lua.Upvalue)(unsafe.Pointer(uv)).Close()
			*head = uv.next
			continue
		}
		head = &(*head).next
	}
}

// The parts of an instruction, and the instructions that the watch and the messages look at (opcode.go of gopher-lua).
const (
	opMove       = 0
	opMoveN      = 1
	opLoadK      = 2
	opLoadNil    = 4
	opGetUpval   = 5
	opGetGlobal  = 6
	opGetTable   = 7
	opGetTableKS = 8
	opSetGlobal  = 9
	opSetTable   = 11
	opSetTableKS = 12
	opNewTable   = 13
	opSelf       = 14
	opAdd        = 15
	opPow        = 20
	opUnm        = 21
	opLen        = 23
	opConcat     = 24
	opEq         = 26
	opLT         = 27
	opLE         = 28
	opTest       = 29
	opTestSet    = 30
	opCall       = 31
	opTailCall   = 32
	opForLoop    = 34
	opForPrep    = 35
	opTForLoop   = 36
	opSetList    = 37
	opClosure    = 39
	opVararg     = 40

	constantBit = 256 // an operand with it is a constant
)

func opcode(inst uint32) int    { return int(inst >> 26) }
func operandA(inst uint32) int  { return int(inst>>18) & 0xff }
func operandB(inst uint32) int  { return int(inst & 0x1ff) }
func operandC(inst uint32) int  { return int(inst>>9) & 0x1ff }
func operandBx(inst uint32) int { return int(inst & 0x3ffff) }
