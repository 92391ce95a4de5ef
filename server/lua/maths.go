package lua

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

func openMath(L *lua.LState) {
	one := func(f func(float64) float64) lua.LGFunction {
		return func(L *lua.LState) int {
			L.Push(lua.LNumber(f(numberArg(L, 1))))
			return 1
		}
	}
	two := func(f func(x, y float64) float64) lua.LGFunction {
		return func(L *lua.LState) int {
			x := numberArg(L, 1)
			L.Push(lua.LNumber(f(x, numberArg(L, 2))))
			return 1
		}
	}
	t := newModule(L, map[string]lua.LGFunction{
		"abs": one(math.Abs), "acos": one(math.Acos), "asin": one(math.Asin), "atan": one(math.Atan), "atan2": two(math.Atan2),
		"ceil": one(math.Ceil), "cos": one(math.Cos), "cosh": one(math.Cosh), "deg": one(func(x float64) float64 { return x / (math.Pi / 180) }),
		"exp": one(math.Exp), "floor": one(math.Floor), "fmod": two(math.Mod), "log": one(math.Log), "log10": one(math.Log10),
		"mod": two(math.Mod), "pow": two(math.Pow), "rad": one(func(x float64) float64 { return x * (math.Pi / 180) }),
		"sin": one(math.Sin), "sinh": one(math.Sinh), "sqrt": one(math.Sqrt), "tan": one(math.Tan), "tanh": one(math.Tanh),
		"frexp": mathFrexp, "ldexp": mathLdexp, "max": mathMax, "min": mathMin, "modf": mathModf,
		"random": mathRandom, "randomseed": mathRandomSeed,
	})
	t.RawSetString("pi", lua.LNumber(math.Pi))
	t.RawSetString("huge", lua.LNumber(math.Inf(1)))
	L.SetGlobal("math", t)
}

func mathFrexp(L *lua.LState) int {
	fraction, exponent := math.Frexp(numberArg(L, 1))
	L.Push(lua.LNumber(fraction))
	L.Push(lua.LNumber(exponent))
	return 2
}

func mathLdexp(L *lua.LState) int {
	x := numberArg(L, 1)
	L.Push(lua.LNumber(math.Ldexp(x, int(integerArg(L, 2)))))
	return 1
}

func mathModf(L *lua.LState) int {
	x := numberArg(L, 1)
	whole := math.Trunc(x)
	fraction := x - whole
	if math.IsInf(x, 0) {
		fraction = 0
	}
	L.Push(lua.LNumber(whole))
	L.Push(lua.LNumber(fraction))
	return 2
}

func mathMax(L *lua.LState) int {
	return extreme(L, func(x, y float64) bool { return x > y })
}

func mathMin(L *lua.LState) int {
	return extreme(L, func(x, y float64) bool { return x < y })
}

func extreme(L *lua.LState, better func(x, y float64) bool) int {
	best := numberArg(L, 1)
	for i := 2; i <= L.GetTop(); i++ {
		if x := numberArg(L, i); better(x, best) {
			best = x
		}
	}
	L.Push(lua.LNumber(best))
	return 1
}

// random is the generator of drand48, with which Redis makes the same numbers on every machine.
type random uint64

// randomAtFirst is where it begins.
const randomAtFirst random = 0x1234abcd330e

// seed begins a sequence, as srand48 does.
func (r *random) seed(n int32) { *r = random(uint64(uint32(n))<<16 | 0x330e) }

// next returns the next number of 31 bits, as lrand48 does.
func (r *random) next() int32 {
	*r = (*r*0x5deece66d + 0xb) & (1<<48 - 1)
	return int32(*r >> 17)
}

func mathRandom(L *lua.LState) int {
	f := float64(watchOf(L).rt.random.next()%math.MaxInt32) / math.MaxInt32
	switch L.GetTop() {
	case 0:
		L.Push(lua.LNumber(f))
	case 1:
		most := integerArg(L, 1)
		if most < 1 {
			raiseArg(L, 1, "interval is empty")
		}
		L.Push(lua.LNumber(math.Floor(f*float64(most)) + 1))
	case 2:
		least, most := integerArg(L, 1), integerArg(L, 2)
		if least > most {
			raiseArg(L, 2, "interval is empty")
		}
		L.Push(lua.LNumber(math.Floor(f*float64(most-least+1)) + float64(least)))
	default:
		raise(L, "wrong number of arguments")
	}
	return 1
}

func mathRandomSeed(L *lua.LState) int {
	watchOf(L).rt.random.seed(int32(integerArg(L, 1)))
	return 0
}
