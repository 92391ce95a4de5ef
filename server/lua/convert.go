package lua

import (
	lua "github.com/yuin/gopher-lua"
)

// value makes of a reply in RESP what scripts get: see "Conversion of data types" in docs/scripting.md.
func (rt *Runtime) value(L *lua.LState, reply []byte) lua.LValue {
	r := replyReader{rt: rt, L: L, in: reply}
	return r.next()
}

type replyReader struct {
	rt *Runtime
	L  *lua.LState
	in []byte
}

// line takes the rest of a line.
func (r *replyReader) line() []byte {
	for i := range r.in {
		if r.in[i] == '\r' {
			line := r.in[:i]
			r.in = r.in[i+2:]
			return line
		}
	}
	panic("lua: a reply without an end")
}

// number takes a line with an integer.
func (r *replyReader) number() int64 {
	line := r.line()
	negative := len(line) > 0 && line[0] == '-'
	if negative {
		line = line[1:]
	}
	n := int64(0)
	for _, c := range line {
		n = 10*n + int64(c-'0')
	}
	if negative {
		return -n
	}
	return n
}

// text takes n bytes and the end of the line.
func (r *replyReader) text(n int) lua.LString {
	r.rt.charge(r.L, n)
	s := lua.LString(r.in[:n])
	r.in = r.in[n+2:]
	return s
}

// wrapped is a table with one field, which stands for a type that Lua does not have.
func (r *replyReader) wrapped(field string, v lua.LValue) *lua.LTable {
	t := r.L.CreateTable(0, 1)
	t.RawSetString(field, v)
	return t
}

func (r *replyReader) next() lua.LValue {
	kind := r.in[0]
	r.in = r.in[1:]
	switch kind {
	case ':':
		return lua.LNumber(r.number())
	case '$':
		n := int(r.number())
		if n < 0 {
			return lua.LFalse
		}
		return r.text(n)
	case '+':
		return r.wrapped("ok", lua.LString(r.line()))
	case '-':
		t := errorTable(r.L, string(r.line()))
		t.RawSetString(countedField, lua.LTrue)
		return t
	case '*', '>':
		return r.array()
	case '_':
		r.line()
		return lua.LNil
	case '#':
		return lua.LBool(r.line()[0] == 't')
	case ',':
		f, _ := leadingNumber(string(r.line()))
		return r.wrapped("double", lua.LNumber(f))
	case '(':
		return r.wrapped("big_number", lua.LString(r.line()))
	case '=':
		s := r.text(int(r.number()))
		t := r.L.CreateTable(0, 2)
		t.RawSetString("format", s[:3])
		t.RawSetString("string", s[4:])
		return r.wrapped("verbatim_string", t)
	case '%':
		return r.mapping()
	case '~':
		return r.set()
	case '|': // attributes are left out
		r.mapping()
		return r.next()
	}
	panic("lua: a reply of a type that is not known: " + string(kind))
}

func (r *replyReader) array() lua.LValue {
	n := int(r.number())
	if n < 0 {
		return lua.LFalse
	}
	r.rt.charge(r.L, 2*valueBytes*n)
	t := r.L.CreateTable(n, 0)
	for i := range n {
		t.RawSetInt(i+1, r.next())
	}
	return t
}

func (r *replyReader) mapping() lua.LValue {
	n := int(r.number())
	r.rt.charge(r.L, 16*valueBytes*n)
	t := r.L.CreateTable(0, n)
	for range n {
		key := r.next()
		t.RawSet(key, r.next())
	}
	return r.wrapped("map", t)
}

func (r *replyReader) set() lua.LValue {
	n := int(r.number())
	r.rt.charge(r.L, 16*valueBytes*n)
	t := r.L.CreateTable(0, n)
	for range n {
		t.RawSet(r.next(), lua.LTrue)
	}
	return r.wrapped("set", t)
}

// Reply takes what a script returns, in the protocol version of the caller.
type Reply interface {
	Bulk(s string)
	Int(n int64)
	Null()
	Bool(yes bool)
	Status(s string)
	Error(text string, counted bool)
	Double(f float64)
	BigNumber(digits string)
	Verbatim(format, s string)
	Array(n int)
	Map(n int)
	Set(n int)
}

// valueDepthMax is how deep arrays nest in a reply, as deep as Redis's stack allows.
const valueDepthMax = stackSlotsMax - 7

// answer gives what a function returns to a reply, until there is a reason not to. A table may be in what is returned any
// number of times, so that a script of a few instructions can return more than there is.
type answer struct {
	rt      *Runtime
	reply   Reply
	refused string // an error
}

// takes is asked before so many bytes are given to the reply, which may have to grow for them.
func (a *answer) takes(bytes int) bool {
	switch ended := a.rt.ended.Load(); {
	case a.refused != "":
	case ended != nil:
		a.refused = *ended
	case a.rt.spend(2*bytes) && !a.rt.fits(2*int64(bytes)):
		a.refused = "ERR " + errMemory
	}
	return a.refused == ""
}

// appendValue gives a value to the reply.
func (a *answer) appendValue(v lua.LValue, depth int) {
	if !a.takes(0) {
		return
	}
	switch v := v.(type) {
	case lua.LString:
		if a.takes(len(v)) {
			a.reply.Bulk(string(v))
		}
	case lua.LNumber:
		a.reply.Int(truncate(float64(v)))
	case lua.LBool:
		switch {
		case a.rt.resp3:
			a.reply.Bool(bool(v))
		case bool(v):
			a.reply.Int(1)
		default:
			a.reply.Null()
		}
	case *lua.LTable:
		if depth >= valueDepthMax {
			a.reply.Error("ERR reached lua stack limit", false)
			return
		}
		if !a.appendWrapped(v, depth) {
			a.appendArray(v, depth)
		}
	default:
		a.reply.Null()
	}
}

// appendArray gives the elements before the first that is nil.
func (a *answer) appendArray(t *lua.LTable, depth int) {
	n := 0
	for t.RawGet(lua.LNumber(n+1)) != lua.LNil {
		n++
	}
	a.reply.Array(n)
	for i := 0; i < n && a.refused == ""; i++ {
		a.appendValue(t.RawGet(lua.LNumber(i+1)), depth+1)
	}
}

// appendWrapped gives a value of a type that Lua does not have. It reports whether the table stands for one.
func (a *answer) appendWrapped(t *lua.LTable, depth int) bool {
	if text, isString := t.RawGetString("err").(lua.LString); isString {
		if a.takes(len(text)) {
			a.reply.Error(oneLine(string(text)), lua.LVAsBool(t.RawGetString(countedField)))
		}
		return true
	}
	if text, isString := t.RawGetString("ok").(lua.LString); isString {
		if a.takes(len(text)) {
			a.reply.Status(oneLine(string(text)))
		}
		return true
	}
	if f, isNumber := t.RawGetString("double").(lua.LNumber); isNumber {
		a.reply.Double(float64(f))
		return true
	}
	if m, isTable := t.RawGetString("map").(*lua.LTable); isTable {
		a.reply.Map(entries(m))
		for key, value := m.Next(lua.LNil); key != lua.LNil && a.refused == ""; key, value = m.Next(key) {
			a.appendValue(key, depth+1)
			a.appendValue(value, depth+1)
		}
		return true
	}
	if m, isTable := t.RawGetString("set").(*lua.LTable); isTable {
		a.reply.Set(entries(m))
		for key, _ := m.Next(lua.LNil); key != lua.LNil && a.refused == ""; key, _ = m.Next(key) {
			a.appendValue(key, depth+1)
		}
		return true
	}
	if digits, isString := t.RawGetString("big_number").(lua.LString); isString {
		if a.takes(len(digits)) {
			a.reply.BigNumber(oneLine(string(digits)))
		}
		return true
	}
	if v, isTable := t.RawGetString("verbatim_string").(*lua.LTable); isTable {
		format, hasFormat := v.RawGetString("format").(lua.LString)
		text, hasText := v.RawGetString("string").(lua.LString)
		if hasFormat && hasText {
			if a.takes(len(text)) {
				a.reply.Verbatim(string(format), string(text))
			}
			return true
		}
	}
	return false
}

func entries(t *lua.LTable) (n int) {
	for key, _ := t.Next(lua.LNil); key != lua.LNil; key, _ = t.Next(key) {
		n++
	}
	return n
}
