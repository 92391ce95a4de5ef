package lua

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// gopher-lua has words of its own for the errors of the machine. Scripts, tests and logs know those of the C machine, which
// name the variable: "attempt to index local 'a' (a nil value)". They are made here from the instruction that failed, as
// ldebug.c of Lua 5.1 does it, while the frame is still there.

const errStack = "stack overflow"

// machineError returns the C machine's text for an error that gopher-lua raised in f, with its position.
func machineError(w *watch, f *frame, text string) string {
	at := w.state.Where(1)
	body := strings.TrimPrefix(text, at+" ")
	switch {
	case body == "registry overflow":
		return at + " " + errStack
	case strings.HasPrefix(body, "for statement init"):
		return at + " 'for' initial value must be a number"
	case strings.HasPrefix(body, "for statement "):
		word := strings.Fields(body)[2]
		return at + " 'for' " + word + " must be a number"
	case body == "too many recursions in gettable", body == "too many recursions in settable":
		return at + " loop in " + body[len("too many recursions in "):]
	case strings.HasPrefix(body, "attempt to index a non-table object"), strings.HasPrefix(body, "attempt to call a non-function object"),
		strings.HasPrefix(body, "cannot perform "), strings.HasPrefix(body, "attempt to compare "), strings.HasSuffix(body, " undefined"):
		if better := w.describeFault(f); better != "" {
			return at + " " + better
		}
	}
	return text
}

// describeFault says what is wrong with the operands of the instruction that failed, or "" if nothing is.
func (w *watch) describeFault(f *frame) string {
	pc := f.Pc - 1
	inst := f.Fn.Proto.Code[pc]
	a, b, c := operandA(inst), operandB(inst), operandC(inst)
	switch op := opcode(inst); {
	case op == opGetTable || op == opGetTableKS || op == opSelf:
		return w.typeFault(f, pc, b, "index")
	case op == opSetTable || op == opSetTableKS:
		return w.typeFault(f, pc, a, "index")
	case op == opCall || op == opTailCall:
		return w.typeFault(f, pc, a, "call")
	case op == opTForLoop:
		return "attempt to call a " + typeName(w.operand(f, a)) + " value"
	case op >= opAdd && op <= opPow:
		if _, isNumber := asNumber(w.operand(f, b)); isNumber {
			b = c
		}
		return w.typeFault(f, pc, b, "perform arithmetic on")
	case op == opUnm:
		return w.typeFault(f, pc, b, "perform arithmetic on")
	case op == opLen:
		return w.typeFault(f, pc, b, "get length of")
	case op == opConcat:
		for i := c; i >= b; i-- {
			if !lua.LVCanConvToString(w.operand(f, i)) {
				return w.typeFault(f, pc, i, "concatenate")
			}
		}
	case op == opLT || op == opLE:
		left, right := typeName(w.operand(f, b)), typeName(w.operand(f, c))
		if left == right {
			return "attempt to compare two " + left + " values"
		}
		return "attempt to compare " + left + " with " + right
	}
	return ""
}

// typeFault is what is said of a value that is of the wrong type, with the name of its variable if it has one.
func (w *watch) typeFault(f *frame, pc, operand int, what string) string {
	typ := typeName(w.operand(f, operand))
	if operand&constantBit == 0 {
		if kind, name := variableName(f.Fn, pc, operand, 0); kind != "" {
			return "attempt to " + what + " " + kind + " '" + name + "' (a " + typ + " value)"
		}
	}
	return "attempt to " + what + " a " + typ + " value"
}

func typeName(v lua.LValue) string { return v.Type().String() }

// asNumber returns a number, or what a string that reads as one is.
func asNumber(v lua.LValue) (float64, bool) {
	switch v := v.(type) {
	case lua.LNumber:
		return float64(v), true
	case lua.LString:
		return readNumber(string(v))
	}
	return 0, false
}

// calledAsMethod tells whether the running function was called as x:f(), so that its arguments count from the one after x.
func calledAsMethod(L *lua.LState) bool {
	f := (*frameOf(L)).Parent
	if f == nil || f.Fn.IsG {
		return false
	}
	pc := f.Pc - 1
	if op := opcode(f.Fn.Proto.Code[pc]); op != opCall && op != opTailCall {
		return false
	}
	kind, _ := variableName(f.Fn, pc, operandA(f.Fn.Proto.Code[pc]), 0)
	return kind == "method"
}

// movesMax is how often a value is followed from register to register.
const movesMax = 4

// variableName tells what the value in a register is called at an instruction: the local variable that lives there, or what
// the instruction that put it there names.
func variableName(fn *lua.LFunction, pc, register, moves int) (kind, name string) {
	proto := fn.Proto
	if name := localName(proto, register, pc); name != "" {
		return "local", name
	}
	for at := pc - 1; at >= 0; at-- {
		inst := proto.Code[at]
		op, a := opcode(inst), operandA(inst)
		if !setsRegister(op, a, inst, register) {
			continue
		}
		switch op {
		case opMove, opMoveN:
			if moves < movesMax && operandB(inst) < a {
				return variableName(fn, at, operandB(inst), moves+1)
			}
		case opGetGlobal:
			return "global", constantName(proto, operandBx(inst)|constantBit)
		case opGetUpval:
			if up := operandB(inst); up < len(proto.DbgUpvalues) {
				return "upvalue", proto.DbgUpvalues[up]
			}
		case opGetTable, opGetTableKS:
			return "field", constantName(proto, operandC(inst))
		case opSelf:
			return "method", constantName(proto, operandC(inst))
		}
		return "", ""
	}
	return "", ""
}

// localName is the local variable that lives in a register at an instruction, or "".
func localName(proto *lua.FunctionProto, register, pc int) string {
	for _, local := range proto.DbgLocals {
		if local.StartPc > pc {
			break
		}
		if pc < local.EndPc {
			if register == 0 {
				return local.Name
			}
			register--
		}
	}
	return ""
}

// setsRegister tells whether an instruction puts something into a register.
func setsRegister(op, a int, inst uint32, register int) bool {
	switch op {
	case opLoadNil:
		return a <= register && register <= operandB(inst)
	case opSelf:
		return a == register || a+1 == register
	case opCall, opTForLoop:
		return register >= a
	case opSetGlobal, opSetTable, opSetTableKS, opSetList, opEq, opLT, opLE, opTest:
		return false
	}
	return a == register
}

// constantName is the constant that names a field, "?" if it is no string.
func constantName(proto *lua.FunctionProto, operand int) string {
	if operand&constantBit != 0 {
		if s, isString := proto.Constants[operand&^constantBit].(lua.LString); isString {
			return string(s)
		}
	}
	return "?"
}
