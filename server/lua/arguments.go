package lua

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// The libraries check their arguments and raise errors as C functions of Lua 5.1 do, whose texts scripts and their callers
// match on. gopher-lua's own checks word them differently, and name the line of a caller further up when a library is
// called through pcall.

// stackSlotsMax is the size of the stack of a C function in Lua 5.1, in values: what recursive libraries can nest there.
const stackSlotsMax = 8000

// hasRoom reports whether the stack of the running function takes n values more: its arguments take places there, too.
func hasRoom(L *lua.LState, n int64) bool { return n <= stackSlotsMax-int64(L.GetTop()) }

// raise raises an error of the running function, at the line of the script that called it.
func raise(L *lua.LState, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if at := L.Where(1); at != "" && !strings.HasPrefix(at, "[G]") {
		text = at + " " + text
	}
	L.Error(lua.LString(text), 0)
}

// raiseArg raises an error about argument n of the running function.
func raiseArg(L *lua.LState, n int, format string, args ...any) {
	name := "?"
	if frame, ok := L.GetStack(0); ok {
		if _, err := L.GetInfo("n", frame, nil); err == nil && frame.Name != "" && frame.Name[0] != '(' {
			name = frame.Name[strings.LastIndexAny(frame.Name, ".:")+1:]
		}
	}
	if calledAsMethod(L) {
		if n--; n == 0 {
			raise(L, "calling '%s' on bad self (%s)", name, fmt.Sprintf(format, args...))
		}
	}
	raise(L, "bad argument #%d to '%s' (%s)", n, name, fmt.Sprintf(format, args...))
}

// raiseArgType raises the error that argument n is not of the type.
func raiseArgType(L *lua.LState, n int, want string) {
	got := "no value"
	if n <= L.GetTop() {
		got = L.Get(n).Type().String()
	}
	raiseArg(L, n, "%s expected, got %s", want, got)
}

// numberArg returns argument n, a number or a string that reads as one.
func numberArg(L *lua.LState, n int) float64 {
	switch v := L.Get(n).(type) {
	case lua.LNumber:
		return float64(v)
	case lua.LString:
		if f, ok := readNumber(string(v)); ok {
			return f
		}
	}
	raiseArgType(L, n, "number")
	return 0
}

// integerArg returns argument n without its fraction.
func integerArg(L *lua.LState, n int) int64 { return truncate(numberArg(L, n)) }

// integerArgOr is integerArg with a default for an argument that is not there.
func integerArgOr(L *lua.LState, n int, absent int64) int64 {
	if L.Get(n) == lua.LNil {
		return absent
	}
	return integerArg(L, n)
}

// stringArg returns argument n, a string or a number.
func stringArg(L *lua.LState, n int) string {
	switch v := L.Get(n).(type) {
	case lua.LString:
		return string(v)
	case lua.LNumber:
		return string(appendNumber(nil, float64(v), numberDigits))
	}
	raiseArgType(L, n, "string")
	return ""
}

// truncate converts as the machine does for C: what has no place in 64 bits becomes the smallest number.
func truncate(f float64) int64 {
	if f >= -(1<<63) && f < 1<<63 {
		return int64(f)
	}
	return math.MinInt64
}

// numberDigits is the precision with which Lua prints numbers.
const numberDigits = 14

// appendNumber appends a number as C's "%.*g" prints it.
func appendNumber(b []byte, f float64, digits int) []byte {
	switch {
	case math.IsNaN(f):
		if math.Signbit(f) {
			b = append(b, '-')
		}
		return append(b, "nan"...)
	case math.IsInf(f, 0):
		if f < 0 {
			b = append(b, '-')
		}
		return append(b, "inf"...)
	case f == math.Trunc(f) && math.Abs(f) < math.Pow10(digits) && (f != 0 || !math.Signbit(f)):
		return strconv.AppendInt(b, int64(f), 10)
	}
	var scratch [32]byte
	e := strconv.AppendFloat(scratch[:0], f, 'e', digits-1, 64)
	mark := strings.LastIndexByte(string(e), 'e')
	exponent, err := strconv.Atoi(string(e[mark+1:]))
	if err != nil {
		panic("lua: a number without an exponent")
	}
	if exponent < -4 || exponent >= digits {
		return append(append(b, trimZeros(e[:mark])...), e[mark:]...)
	}
	return append(b, trimZeros(strconv.AppendFloat(nil, f, 'f', digits-1-exponent, 64))...)
}

// trimZeros removes the zeros at the end of a fraction, and the point if nothing follows it.
func trimZeros(b []byte) []byte {
	s := string(b)
	if !strings.Contains(s, ".") {
		return b
	}
	return b[:len(strings.TrimSuffix(strings.TrimRight(s, "0"), "."))]
}

// readNumber reads a string as Lua does where it wants a number: the whole of it, but for spaces around it.
func readNumber(s string) (float64, bool) {
	s = strings.TrimLeft(s, spaces)
	f, n := leadingNumber(s)
	return f, n > 0 && strings.Trim(s[n:], spaces) == ""
}

// spaces are what C takes for white space.
const spaces = " \t\n\v\f\r"

// leadingNumber reads the number with which s begins, as C's strtod does, and returns its length: 0 if there is none.
func leadingNumber(s string) (f float64, n int) {
	if n < len(s) && (s[n] == '-' || s[n] == '+') {
		n++
	}
	negative := n == 1 && s[0] == '-'
	switch rest := s[n:]; {
	case hasPrefixFold(rest, "infinity"):
		return math.Inf(sign(negative)), n + len("infinity")
	case hasPrefixFold(rest, "inf"):
		return math.Inf(sign(negative)), n + len("inf")
	case hasPrefixFold(rest, "nan"):
		return math.Copysign(math.NaN(), float64(sign(negative))), n + nanLen(rest)
	case hasPrefixFold(rest, "0x"):
		if digits := mantissaLen(rest[2:], isHex); digits > 0 {
			return leadingHex(s, n+2+digits)
		}
		return math.Copysign(0, float64(sign(negative))), n + 1
	}
	digits := mantissaLen(s[n:], isDigit)
	if digits == 0 {
		return 0, 0
	}
	n += digits
	n += exponentLen(s[n:], 'e')
	f, _ = strconv.ParseFloat(s[:n], 64) // a number out of range is infinite, or zero, as in C
	return f, n
}

// leadingHex reads the hexadecimal number whose mantissa ends at n.
func leadingHex(s string, n int) (float64, int) {
	number := s[:n] + "p0"
	if e := exponentLen(s[n:], 'p'); e > 0 {
		n += e
		number = s[:n]
	}
	f, _ := strconv.ParseFloat(number, 64)
	return f, n
}

func sign(negative bool) int {
	if negative {
		return -1
	}
	return 1
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// nanLen returns the length of "nan" or "nan(anything)" at the beginning of s.
func nanLen(s string) int {
	if len(s) < 4 || s[3] != '(' {
		return 3
	}
	for i := 4; i < len(s); i++ {
		switch c := s[i]; {
		case c == ')':
			return i + 1
		case c != '_' && !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z'):
			return 3
		}
	}
	return 3
}

// mantissaLen returns the length of the digits, with at most one point among them, at the beginning of s: 0 without digits.
func mantissaLen(s string, digit func(byte) bool) int {
	n, digits, point := 0, 0, false
	for ; n < len(s) && (digit(s[n]) || s[n] == '.' && !point); n++ {
		if s[n] == '.' {
			point = true
		} else {
			digits++
		}
	}
	if digits == 0 {
		return 0
	}
	return n
}

// exponentLen returns the length of the exponent at the beginning of s, which the letter begins.
func exponentLen(s string, letter byte) int {
	if s == "" || s[0]|0x20 != letter {
		return 0
	}
	n := 1
	if n < len(s) && (s[n] == '-' || s[n] == '+') {
		n++
	}
	first := n
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	if n == first {
		return 0
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// newModule returns a table with the functions.
func newModule(L *lua.LState, functions map[string]lua.LGFunction) *lua.LTable {
	t := L.CreateTable(0, len(functions)+4)
	for name, fn := range functions {
		t.RawSetString(name, L.NewFunction(fn))
	}
	return t
}
