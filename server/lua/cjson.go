package lua

import (
	"fmt"
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// The library cjson is Lua CJSON 2.1.0 as Redis has it, with the switch decode_array_with_array_mt that newer versions of
// Redis took over from OpenResty. Its texts and its liberties (strings need not be UTF-8, numbers may be hexadecimal) are
// not those of encoding/json, so it reads and writes JSON itself.

// openCJSON makes the global table cjson.
func openCJSON(L *lua.LState) {
	L.SetGlobal("cjson", newJSON(L, L.NewUserData()))
}

// jsonDepthMax is the default of the options that limit the nesting.
const jsonDepthMax = 1000

// jsonCodec is one instance of the library: its options, and the values that it knows.
type jsonCodec struct {
	null    *lua.LUserData
	arrayMT *lua.LTable // of decoded arrays, if they are marked

	sparseConvert, sparseRatio, sparseSafe int
	encodeDepth, decodeDepth               int
	digits                                 int
	encodeInvalid, decodeInvalid           int // 0 off, 1 on, 2 null
	keepBuffer                             int
	markArrays                             int
}

// newJSON returns an instance with options of its own.
func newJSON(L *lua.LState, null *lua.LUserData) *lua.LTable {
	j := &jsonCodec{
		null: null, arrayMT: L.CreateTable(0, 0),
		sparseRatio: 2, sparseSafe: 10,
		encodeDepth: jsonDepthMax, decodeDepth: jsonDepthMax,
		digits: numberDigits, decodeInvalid: 1, keepBuffer: 1,
	}
	t := newModule(L, map[string]lua.LGFunction{
		"encode":                     j.encode,
		"decode":                     j.decode,
		"encode_sparse_array":        j.setSparse,
		"encode_max_depth":           integerOption(&j.encodeDepth, 1, math.MaxInt32),
		"decode_max_depth":           integerOption(&j.decodeDepth, 1, math.MaxInt32),
		"encode_number_precision":    integerOption(&j.digits, 1, numberDigits),
		"encode_keep_buffer":         choiceOption(&j.keepBuffer, "off", "on"),
		"encode_invalid_numbers":     choiceOption(&j.encodeInvalid, "off", "on", "null"),
		"decode_invalid_numbers":     choiceOption(&j.decodeInvalid, "off", "on"),
		"decode_array_with_array_mt": choiceOption(&j.markArrays, "off", "on"),
		"new": func(L *lua.LState) int {
			L.Push(newJSON(L, null))
			return 1
		},
	})
	t.RawSetString("null", null)
	t.RawSetString("_NAME", lua.LString("cjson"))
	t.RawSetString("_VERSION", lua.LString("2.1.0"))
	return t
}

// atMost checks the number of arguments.
func atMost(L *lua.LState, n int) {
	if L.GetTop() > n {
		raiseArg(L, n+1, "found too many arguments")
	}
}

// setInteger sets an option to argument n if it is there, and pushes the option. Whatever the argument, the original blames
// the first.
func setInteger(L *lua.LState, n int, option *int, least, most int64) {
	if L.Get(n) != lua.LNil {
		v := integerArg(L, n)
		if v < least || v > most {
			raiseArg(L, 1, "expected integer between %d and %d", least, most)
		}
		*option = int(v)
	}
	L.Push(lua.LNumber(*option))
}

// setChoice sets an option to the choice that argument n names, if it is there, and pushes the option. The first two choices
// are also called false and true.
func setChoice(L *lua.LState, n int, option *int, choices ...string) {
	switch v := L.Get(n); v {
	case lua.LNil:
	case lua.LFalse:
		*option = 0
	case lua.LTrue:
		*option = 1
	default:
		name, found := stringArg(L, n), false
		for i, choice := range choices {
			if name == choice {
				*option, found = i, true
			}
		}
		if !found {
			raiseArg(L, n, "invalid option '%s'", name)
		}
	}
	if *option < 2 {
		L.Push(lua.LBool(*option == 1))
	} else {
		L.Push(lua.LString(choices[*option]))
	}
}

func integerOption(option *int, least, most int64) lua.LGFunction {
	return func(L *lua.LState) int {
		atMost(L, 1)
		setInteger(L, 1, option, least, most)
		return 1
	}
}

func choiceOption(option *int, choices ...string) lua.LGFunction {
	return func(L *lua.LState) int {
		atMost(L, 1)
		setChoice(L, 1, option, choices...)
		return 1
	}
}

// setSparse is encode_sparse_array(convert, ratio, safe).
func (j *jsonCodec) setSparse(L *lua.LState) int {
	atMost(L, 3)
	L.SetTop(3)
	setChoice(L, 1, &j.sparseConvert, "off", "on")
	setInteger(L, 2, &j.sparseRatio, 0, math.MaxInt32)
	setInteger(L, 3, &j.sparseSafe, 0, math.MaxInt32)
	return 3
}

// oneArgument checks that there is one argument.
func oneArgument(L *lua.LState) {
	if L.GetTop() != 1 {
		raiseArg(L, 1, "expected 1 argument")
	}
}

// jsonWriter writes one document.
type jsonWriter struct {
	*jsonCodec
	L       *lua.LState
	out     []byte
	charged int // so much of out, in bytes
}

func (j *jsonCodec) encode(L *lua.LState) int {
	oneArgument(L)
	w := jsonWriter{jsonCodec: j, L: L}
	w.value(L.Get(1), 0)
	L.Push(lua.LString(w.out))
	return 1
}

// chargeEvery is how much output is charged for at a time, in bytes.
const chargeEvery = 16 << 10

// charge charges for what was written, and for what is about to be: twice, since the buffer becomes a string in the end.
func (w *jsonWriter) charge(more int) {
	if n := len(w.out) + more; n-w.charged > chargeEvery {
		charge(w.L, 2*(n-w.charged))
		w.charged = n
	}
}

// refuse raises the error that a value cannot be written.
func (w *jsonWriter) refuse(v lua.LValue, why string) {
	raise(w.L, "Cannot serialise %s: %s", v.Type(), why)
}

// value writes a value that lies in depth tables.
func (w *jsonWriter) value(v lua.LValue, depth int) {
	heed(w.L)
	w.charge(0)
	switch v := v.(type) {
	case lua.LString:
		w.string(string(v))
	case lua.LNumber:
		w.number(v)
	case lua.LBool:
		w.out = append(w.out, v.String()...)
	case *lua.LTable:
		w.table(v, depth+1)
	case *lua.LNilType:
		w.out = append(w.out, "null"...)
	default:
		if v != w.null {
			w.refuse(v, "type not supported")
		}
		w.out = append(w.out, "null"...)
	}
}

// jsonEscapes are the bytes that are written with a backslash and a letter.
const jsonEscapes, jsonEscapeLetters = "\"\\/\b\t\n\f\r", `"\/btnfr`

func (w *jsonWriter) string(s string) {
	w.charge(len(s))
	w.out = append(w.out, '"')
	done := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c != '/' && c != 127 {
			continue
		}
		w.out = append(w.out, s[done:i]...)
		done = i + 1
		if at := strings.IndexByte(jsonEscapes, c); at >= 0 {
			w.out = append(w.out, '\\', jsonEscapeLetters[at])
		} else {
			w.out = fmt.Appendf(w.out, `\u%04x`, c)
		}
	}
	w.out = append(append(w.out, s[done:]...), '"')
}

func (w *jsonWriter) number(v lua.LNumber) {
	f := float64(v)
	switch nan := math.IsNaN(f); {
	case !nan && !math.IsInf(f, 0):
	case w.encodeInvalid == 0:
		w.refuse(v, "must not be NaN or Inf")
	case w.encodeInvalid == 2:
		w.out = append(w.out, "null"...)
		return
	case nan:
		w.out = append(w.out, "nan"...)
		return
	}
	w.out = appendNumber(w.out, f, w.digits)
}

// table writes a table as an array, if it has something in it and all of its keys are positive integers, and as an object
// otherwise.
func (w *jsonWriter) table(t *lua.LTable, depth int) {
	// Objects take two places per level of the stack of Lua.
	if depth > w.encodeDepth || 2*depth > stackSlotsMax {
		raise(w.L, "Cannot serialise, excessive depth (%d)", depth)
	}
	marked := t.Metatable == lua.LValue(w.arrayMT)
	length := t.Len()
	if !marked {
		length = w.arrayLen(t)
	}
	if length <= 0 && !marked {
		w.object(t, depth)
		return
	}
	w.out = append(w.out, '[')
	for i := 1; i <= length; i++ {
		if i > 1 {
			w.out = append(w.out, ',')
		}
		w.value(t.RawGetInt(i), depth)
	}
	w.out = append(w.out, ']')
}

// arrayLen returns the largest key if all keys are positive integers, otherwise -1.
func (w *jsonWriter) arrayLen(t *lua.LTable) int {
	largest, keys := lua.LNumber(0), 0
	for k, _ := t.Next(lua.LNil); k != lua.LNil; k, _ = t.Next(k) {
		n, ok := k.(lua.LNumber)
		if !ok || n < 1 || n > math.MaxInt32 || n != lua.LNumber(int(n)) {
			return -1
		}
		largest = max(largest, n)
		keys++
	}
	length := int(largest)
	if w.sparseRatio > 0 && length > keys*w.sparseRatio && length > w.sparseSafe {
		if w.sparseConvert == 0 {
			w.refuse(t, "excessively sparse array")
		}
		return -1
	}
	return length
}

func (w *jsonWriter) object(t *lua.LTable, depth int) {
	w.out = append(w.out, '{')
	first := true
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		if !first {
			w.out = append(w.out, ',')
		}
		first = false
		switch k := k.(type) {
		case lua.LNumber:
			w.out = append(w.out, '"')
			w.number(k)
			w.out = append(w.out, '"')
		case lua.LString:
			w.string(string(k))
		default:
			w.refuse(k, "table key must be a number or string")
		}
		w.out = append(w.out, ':')
		w.value(v, depth)
	}
	w.out = append(w.out, '}')
}
