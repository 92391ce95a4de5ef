package lua

import (
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

func openString(L *lua.LState) {
	t := newModule(L, map[string]lua.LGFunction{
		"byte": stringByte, "char": stringChar, "dump": stringDump, "find": stringFind, "format": stringFormat,
		"gfind": stringGFind, "gmatch": stringGMatch, "gsub": stringGSub, "len": stringLen, "lower": stringLower,
		"match": stringMatch, "rep": stringRep, "reverse": stringReverse, "sub": stringSub, "upper": stringUpper,
	})
	L.SetGlobal("string", t)
	meta := L.CreateTable(0, 1)
	meta.RawSetString("__index", t)
	Freeze(meta)
	L.SetMetatable(lua.LString(""), meta)
}

// position makes an index from the end one from the beginning.
func position(i int64, length int) int64 {
	switch {
	case i >= 0:
		return i
	case -i > int64(length):
		return 0
	}
	return int64(length) + i + 1
}

func stringByte(L *lua.LState) int {
	s := stringArg(L, 1)
	from := position(integerArgOr(L, 2, 1), len(s))
	to := position(integerArgOr(L, 3, from), len(s))
	from, to = max(from, 1), min(to, int64(len(s)))
	if from > to {
		return 0
	}
	if !hasRoom(L, to-from+1) {
		raise(L, "stack overflow (string slice too long)")
	}
	for i := from; i <= to; i++ {
		L.Push(lua.LNumber(s[i-1]))
	}
	return int(to - from + 1)
}

func stringChar(L *lua.LState) int {
	b := make([]byte, L.GetTop())
	for i := range b {
		c := integerArg(L, i+1)
		if c < 0 || c > 255 {
			raiseArg(L, i+1, "invalid value")
		}
		b[i] = byte(c)
	}
	return pushString(L, string(b))
}

func pushString(L *lua.LState, s string) int {
	L.Push(lua.LString(s))
	return 1
}

// stringDump answers with what compiled code begins with, and no more of it: loading it is refused.
func stringDump(L *lua.LState) int {
	if functionArg(L, 1).IsG {
		raise(L, "unable to dump given function")
	}
	return pushString(L, "\x1bLuaQ\x00\x01\x04\x08\x04\x08\x00")
}

func stringLen(L *lua.LState) int {
	L.Push(lua.LNumber(len(stringArg(L, 1))))
	return 1
}

// mapped answers with a string of the argument's length.
func mapped(L *lua.LState, f func(b byte) byte) int {
	s := stringArg(L, 1)
	charge(L, len(s))
	b := []byte(s)
	for i, c := range b {
		b[i] = f(c)
	}
	return pushString(L, string(b))
}

func stringLower(L *lua.LState) int {
	return mapped(L, func(b byte) byte {
		if b >= 'A' && b <= 'Z' {
			b |= 0x20
		}
		return b
	})
}

func stringUpper(L *lua.LState) int {
	return mapped(L, func(b byte) byte {
		if b >= 'a' && b <= 'z' {
			b &^= 0x20
		}
		return b
	})
}

func stringRep(L *lua.LState) int {
	s, n := stringArg(L, 1), integerArg(L, 2)
	if n <= 0 || s == "" {
		return pushString(L, "")
	}
	if n > int64(BytesMax/len(s)) {
		L.Error(lua.LString(errMemory), 0)
	}
	charge(L, len(s)*int(n))
	return pushString(L, strings.Repeat(s, int(n)))
}

func stringReverse(L *lua.LState) int {
	s := stringArg(L, 1)
	charge(L, len(s))
	b := make([]byte, len(s))
	for i := range len(s) {
		b[len(s)-1-i] = s[i]
	}
	return pushString(L, string(b))
}

func stringSub(L *lua.LState) int {
	s := stringArg(L, 1)
	from := max(position(integerArg(L, 2), len(s)), 1)
	to := min(position(integerArgOr(L, 3, -1), len(s)), int64(len(s)))
	if from > to {
		return pushString(L, "")
	}
	return pushString(L, s[from-1:to])
}

func stringFind(L *lua.LState) int  { return find(L, true) }
func stringMatch(L *lua.LState) int { return find(L, false) }

func find(L *lua.LState, wantsPlace bool) int {
	s, pattern := stringArg(L, 1), stringArg(L, 2)
	from := position(integerArgOr(L, 3, 1), len(s)) - 1
	from = min(max(from, 0), int64(len(s)))
	start := int(from)
	if wantsPlace && (lua.LVAsBool(L.Get(4)) || !strings.ContainsAny(pattern, "^$*+?.([%-")) {
		at := strings.Index(s[start:], pattern)
		if at < 0 {
			L.Push(lua.LNil)
			return 1
		}
		L.Push(lua.LNumber(start + at + 1))
		L.Push(lua.LNumber(start + at + len(pattern)))
		return 2
	}
	m := matcher{L: L, src: s, pat: pattern}
	p := 0
	if strings.HasPrefix(pattern, "^") {
		p = 1
	}
	for ; start <= len(s); start++ {
		m.level = 0
		if end := m.match(start, p); end >= 0 {
			if wantsPlace {
				L.Push(lua.LNumber(start + 1))
				L.Push(lua.LNumber(end))
				return 2 + m.push(start, end, false)
			}
			return m.push(start, end, true)
		}
		if p == 1 {
			break
		}
	}
	L.Push(lua.LNil)
	return 1
}

func stringGMatch(L *lua.LState) int {
	s, pattern := stringArg(L, 1), stringArg(L, 2)
	next := 0
	L.Push(L.NewFunction(func(L *lua.LState) int {
		m := matcher{L: L, src: s, pat: pattern}
		for start := next; start <= len(s); start++ {
			m.level = 0
			end := m.match(start, 0)
			if end < 0 {
				continue
			}
			if next = end; end == start {
				next++
			}
			return m.push(start, end, true)
		}
		next = len(s) + 1
		L.Push(lua.LNil)
		return 1
	}))
	return 1
}

func stringGFind(L *lua.LState) int {
	raise(L, "'string.gfind' was renamed to 'string.gmatch'")
	return 0
}

func stringGSub(L *lua.LState) int {
	s, pattern, with := stringArg(L, 1), stringArg(L, 2), L.Get(3)
	switch with.(type) {
	case lua.LString, lua.LNumber, *lua.LTable, *lua.LFunction:
	default:
		raiseArg(L, 3, "string/function/table expected")
	}
	most := integerArgOr(L, 4, int64(len(s))+1)
	m := matcher{L: L, src: s, pat: pattern}
	p := 0
	if strings.HasPrefix(pattern, "^") {
		p = 1
	}
	var out []byte
	n, at := int64(0), 0
	for n < most {
		m.level = 0
		end := m.match(at, p)
		if end >= 0 {
			n++
			out = m.replace(out, with, at, end)
			chargeGrowth(L, out)
		}
		switch {
		case end > at:
			at = end
		case at < len(s):
			out = append(out, s[at])
			at++
		default:
			at = len(s) + 1
		}
		if at > len(s) || p == 1 {
			break
		}
	}
	if at < len(s) {
		out = append(out, s[at:]...)
	}
	charge(L, len(out))
	pushString(L, string(out))
	L.Push(lua.LNumber(n))
	return 2
}

// chargeGrowth charges for a buffer before its next growth, which takes about as much again.
func chargeGrowth(L *lua.LState, b []byte) {
	if len(b) > cap(b)/2 && len(b) > 1<<16 {
		charge(L, 2*len(b))
	}
}

// replace appends what comes in the place of a match.
func (m *matcher) replace(out []byte, with lua.LValue, from, to int) []byte {
	L := m.L
	var v lua.LValue
	switch w := with.(type) {
	case *lua.LTable:
		v = L.GetTable(w, m.value(0, from, to))
	case *lua.LFunction:
		L.Push(w)
		n := m.push(from, to, true)
		L.Call(n, 1)
		v = L.Get(-1)
		L.Pop(1)
	default:
		text, _ := textOf(with)
		return m.expand(out, text, from, to)
	}
	if !lua.LVAsBool(v) {
		return append(out, m.src[from:to]...)
	}
	text, isText := textOf(v)
	if !isText {
		raise(L, "invalid replacement value (a %s)", typeName(v))
	}
	return append(out, text...)
}

// expand appends a text in which %1 stands for a capture.
func (m *matcher) expand(out []byte, text string, from, to int) []byte {
	m.work(len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '%' || i+1 == len(text) {
			if c != '%' {
				out = append(out, c)
			}
			continue
		}
		i++
		switch c = text[i]; {
		case !isDigit(c):
			out = append(out, c)
		case c == '0':
			out = append(out, m.src[from:to]...)
		default:
			value, _ := textOf(m.value(int(c)-'1', from, to))
			out = append(out, value...)
		}
		chargeGrowth(m.L, out)
	}
	return out
}

// Flags, width and precision of a format, as Lua 5.1 limits them.
const (
	formatFlags    = "-+ #0"
	formatDigitMax = 2
)

func stringFormat(L *lua.LState) int {
	format := stringArg(L, 1)
	var out []byte
	arg := 1
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			out = append(out, format[i])
			continue
		}
		if i++; i < len(format) && format[i] == '%' {
			out = append(out, '%')
			continue
		}
		from := i
		i += formatSpecLen(L, format[i:])
		conversion := byte(0)
		if i < len(format) {
			conversion = format[i]
		}
		if arg++; arg > L.GetTop() {
			raiseArg(L, arg, "no value")
		}
		out = appendFormatted(L, out, "%"+format[from:i], conversion, arg)
		chargeGrowth(L, out)
	}
	charge(L, len(out))
	return pushString(L, string(out))
}

// formatSpecLen returns the length of flags, width and precision.
func formatSpecLen(L *lua.LState, s string) int {
	n := len(s) - len(strings.TrimLeft(s, formatFlags))
	if n > len(formatFlags) {
		raise(L, "invalid format (repeated flags)")
	}
	digits := func() {
		for range formatDigitMax {
			if n < len(s) && isDigit(s[n]) {
				n++
			}
		}
	}
	digits()
	if n < len(s) && s[n] == '.' {
		n++
		digits()
	}
	if n < len(s) && isDigit(s[n]) {
		raise(L, "invalid format (width or precision too long)")
	}
	return n
}

func appendFormatted(L *lua.LState, out []byte, spec string, conversion byte, arg int) []byte {
	switch conversion {
	case 'c':
		return append(out, pad(spec, string([]byte{byte(integerArg(L, arg))}))...)
	case 'd', 'i':
		return append(out, formatInteger(spec, integerArg(L, arg))...)
	case 'u':
		return fmt.Appendf(out, unsignedSpec(spec)+"d", uint64(integerArg(L, arg)))
	case 'o', 'x', 'X':
		return fmt.Appendf(out, unsignedSpec(spec)+string(conversion), uint64(integerArg(L, arg)))
	case 'e', 'E', 'f', 'g', 'G':
		return append(out, formatFloat(spec, conversion, numberArg(L, arg))...)
	case 'q':
		return appendQuotedLua(out, stringArg(L, arg))
	case 's':
		s := stringArg(L, arg)
		if !strings.Contains(spec, ".") && len(s) >= 100 {
			return append(out, s...) // no padding, as in C
		}
		if _, precision, found := strings.Cut(spec, "."); found {
			n := 0
			for _, c := range precision {
				n = 10*n + int(c-'0')
			}
			s = s[:min(n, len(s))]
			spec = spec[:strings.IndexByte(spec, '.')]
		}
		return append(out, pad(spec, s)...)
	}
	raise(L, "invalid option '%%%c' to 'format'", conversion)
	return nil
}

// pad fills a text up to the width of a format. Go counts characters where C counts bytes.
func pad(spec, s string) string {
	left, width := false, 0
	for _, c := range spec[1:] {
		switch {
		case c == '-':
			left = true
		case c == '.':
		case width > 0 || c >= '1' && c <= '9':
			width = 10*width + int(c-'0')
		}
	}
	fill := strings.Repeat(" ", max(0, width-len(s)))
	if left {
		return s + fill
	}
	return fill + s
}

// unsignedSpec is a format without the flags for a sign, which C ignores for numbers that have none.
func unsignedSpec(spec string) string {
	return withoutZero(strings.NewReplacer("+", "", " ", "").Replace(spec))
}

// withoutZero drops the flag 0 where a precision, as in C, or the flag - takes its effect away.
func withoutZero(spec string) string {
	flags := len(spec) - len(strings.TrimLeft(spec[1:], formatFlags))
	if strings.Contains(spec, ".") || strings.Contains(spec[:flags], "-") {
		return strings.ReplaceAll(spec[:flags], "0", "") + spec[flags:]
	}
	return spec
}

func formatInteger(spec string, n int64) string {
	return fmt.Sprintf(strings.ReplaceAll(withoutZero(spec), "#", "")+"d", n)
}

// formatFloat formats as C does, which writes infinity and what is no number in small letters.
func formatFloat(spec string, conversion byte, f float64) string {
	if f-f != 0 {
		text := string(appendNumber(nil, f, numberDigits))
		if conversion < 'a' {
			text = strings.ToUpper(text)
		}
		if strings.Contains(spec, "+") && text[0] != '-' {
			text = "+" + text
		}
		if i := strings.IndexByte(spec, '.'); i >= 0 {
			spec = spec[:i]
		}
		return pad(strings.ReplaceAll(spec, "0", ""), text)
	}
	spec = strings.Replace(spec, "-0", "-", 1)
	if (conversion == 'g' || conversion == 'G') && !strings.Contains(spec, ".") {
		spec += ".6"
	}
	return fmt.Sprintf(spec+string(conversion), f)
}

// appendQuotedLua writes a string so that Lua reads it back.
func appendQuotedLua(out []byte, s string) []byte {
	out = append(out, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\', '\n':
			out = append(out, '\\', c)
		case '\r':
			out = append(out, `\r`...)
		case 0:
			out = append(out, `\000`...)
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}
