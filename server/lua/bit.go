package lua

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// The library bit is Lua BitOp as Redis has it: operations on 32 bits whose results are signed numbers. See
// https://bitop.luajit.org/semantics.html.

// openBit makes the global table bit.
func openBit(L *lua.LState) {
	L.SetGlobal("bit", newModule(L, map[string]lua.LGFunction{
		"tobit":   func(L *lua.LState) int { return pushBits(L, bitsArg(L, 1)) },
		"bnot":    func(L *lua.LState) int { return pushBits(L, ^bitsArg(L, 1)) },
		"bswap":   func(L *lua.LState) int { return pushBits(L, bits.ReverseBytes32(bitsArg(L, 1))) },
		"band":    foldBits(func(a, b uint32) uint32 { return a & b }),
		"bor":     foldBits(func(a, b uint32) uint32 { return a | b }),
		"bxor":    foldBits(func(a, b uint32) uint32 { return a ^ b }),
		"lshift":  shiftBits(func(b uint32, n int) uint32 { return b << n }),
		"rshift":  shiftBits(func(b uint32, n int) uint32 { return b >> n }),
		"arshift": shiftBits(func(b uint32, n int) uint32 { return uint32(int32(b) >> n) }),
		"rol":     shiftBits(bits.RotateLeft32),
		"ror":     shiftBits(func(b uint32, n int) uint32 { return bits.RotateLeft32(b, -n) }),
		"tohex":   bitToHex,
	}))
}

// bitsArg returns the low 32 bits of argument n, rounded to the nearest integer. Beyond 2^51 they are what the addition
// of a large number leaves of it, as in the original.
func bitsArg(L *lua.LState, n int) uint32 {
	const shiftOut = 1<<52 + 1<<51 // leaves the integer in the low bits of the mantissa
	return uint32(math.Float64bits(numberArg(L, n) + shiftOut))
}

func pushBits(L *lua.LState, b uint32) int {
	L.Push(lua.LNumber(int32(b)))
	return 1
}

func foldBits(op func(a, b uint32) uint32) lua.LGFunction {
	return func(L *lua.LState) int {
		b := bitsArg(L, 1)
		for n := L.GetTop(); n > 1; n-- {
			b = op(b, bitsArg(L, n))
		}
		return pushBits(L, b)
	}
}

// shiftBits makes a function of an operation that shifts or rotates by 0 to 31 bits.
func shiftBits(op func(b uint32, n int) uint32) lua.LGFunction {
	return func(L *lua.LState) int {
		b := bitsArg(L, 1)
		return pushBits(L, op(b, int(bitsArg(L, 2)&31)))
	}
}

// bitToHex is tohex(number, digits): capital letters if digits is negative.
func bitToHex(L *lua.LState) int {
	b, digits := bitsArg(L, 1), 8
	if L.GetTop() >= 2 {
		digits = int(int32(bitsArg(L, 2)))
	}
	text := fmt.Sprintf("%08x", b)
	if digits < 0 {
		text, digits = strings.ToUpper(text), -digits
	}
	L.Push(lua.LString(text[8-min(digits, 8):]))
	return 1
}
