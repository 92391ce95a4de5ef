package lua

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
	lua "github.com/yuin/gopher-lua"
)

// The library cmsgpack is lua-cmsgpack 0.4.0 as Redis has it: MessagePack without binary strings and extensions. Numbers are
// written as integers if they are, then as 32-bit floating point numbers if these are exact. Tables are arrays if their keys
// are 1 to n, so the empty table is one.

// openCMsgpack makes the global table cmsgpack.
func openCMsgpack(L *lua.LState) {
	t := newModule(L, map[string]lua.LGFunction{
		"pack": msgPack, "unpack": msgUnpack, "unpack_one": msgUnpackOne, "unpack_limit": msgUnpackLimit,
	})
	t.RawSetString("_NAME", lua.LString("cmsgpack"))
	t.RawSetString("_VERSION", lua.LString("lua-cmsgpack 0.4.0"))
	t.RawSetString("_COPYRIGHT", lua.LString("Copyright (C) 2012, Salvatore Sanfilippo"))
	t.RawSetString("_DESCRIPTION", lua.LString("MessagePack C implementation for Lua"))
	L.SetGlobal("cmsgpack", t)
}

// msgDepthMax is how many tables may lie in each other; deeper ones are written as nil.
const msgDepthMax = 16

// msgWriter writes values one after the other.
type msgWriter struct {
	L       *lua.LState
	out     bytes.Buffer
	to      *msgpack.Encoder
	charged int // so much of out, in bytes
}

// charge charges for what was written, and for what is about to be: twice, since the buffer becomes a string in the end.
func (w *msgWriter) charge(more int) {
	if n := w.out.Len() + more; n-w.charged > chargeEvery {
		charge(w.L, 2*(n-w.charged))
		w.charged = n
	}
}

// msgPack is pack(values...).
func msgPack(L *lua.LState) int {
	if L.GetTop() == 0 {
		raiseArg(L, 0, "MessagePack pack needs input.")
	}
	w := &msgWriter{L: L}
	w.to = msgpack.NewEncoder(&w.out)
	for i := 1; i <= L.GetTop(); i++ {
		w.value(L.Get(i), 0)
	}
	L.Push(lua.LString(w.out.String()))
	return 1
}

// value writes a value that lies in depth tables.
func (w *msgWriter) value(v lua.LValue, depth int) {
	heed(w.L)
	w.charge(0)
	var err error
	switch v := v.(type) {
	case lua.LString:
		w.charge(len(v))
		err = w.to.EncodeString(string(v))
	case lua.LBool:
		err = w.to.EncodeBool(bool(v))
	case lua.LNumber:
		err = w.number(float64(v))
	case *lua.LTable:
		if depth == msgDepthMax {
			err = w.to.EncodeNil()
		} else {
			err = w.table(v, depth+1)
		}
	default:
		err = w.to.EncodeNil()
	}
	if err != nil {
		panic("lua: a buffer refused a value: " + err.Error())
	}
}

func (w *msgWriter) number(f float64) error {
	if n := truncate(f); float64(n) == f {
		return w.to.EncodeInt(n)
	}
	if single := float32(f); float64(single) == f {
		return w.to.EncodeFloat32(single)
	}
	return w.to.EncodeFloat64(f)
}

func (w *msgWriter) table(t *lua.LTable, depth int) error {
	keys, isArray := tableKeys(t)
	if isArray {
		n := t.Len()
		err := w.to.EncodeArrayLen(n)
		for i := 1; i <= n; i++ {
			w.value(t.RawGetInt(i), depth)
		}
		return err
	}
	err := w.to.EncodeMapLen(keys)
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		w.value(k, depth)
		w.value(v, depth)
	}
	return err
}

// tableKeys counts the keys of a table, and tells if they are the numbers from 1 up.
func tableKeys(t *lua.LTable) (keys int, isArray bool) {
	largest := lua.LNumber(0)
	isArray = true
	for k, _ := t.Next(lua.LNil); k != lua.LNil; k, _ = t.Next(k) {
		keys++
		n, ok := k.(lua.LNumber)
		if !ok || n < 1 || n > math.MaxInt32 || n != lua.LNumber(int(n)) {
			isArray = false
		}
		largest = max(largest, n)
	}
	return keys, isArray && largest == lua.LNumber(keys)
}

// errMsgFormat is what a reader returns of a byte that begins no value.
var errMsgFormat = errors.New("Bad data format in input.")

// msgReader reads values one after the other. As in the original, what is open takes places of the stack of Lua, which bounds
// the nesting.
type msgReader struct {
	L       *lua.LState
	in      strings.Reader
	from    *msgpack.Decoder
	pending []lua.LValue // what lies in tables that have not ended
}

// msgUnpack is unpack(data): all values.
func msgUnpack(L *lua.LState) int { return msgUnpackFrom(L, 0, 0) }

// msgUnpackOne is unpack_one(data, offset): the offset behind the value, or -1 at the end, and the value.
func msgUnpackOne(L *lua.LState) int {
	return msgUnpackFrom(L, 1, integerArgOr(L, 2, 0))
}

// msgUnpackLimit is unpack_limit(data, limit, offset): the offset behind the values, or -1 at the end, and the values.
func msgUnpackLimit(L *lua.LState) int {
	limit := integerArg(L, 2)
	return msgUnpackFrom(L, limit, integerArgOr(L, 3, 0))
}

// msgUnpackFrom pushes at most limit values. If both numbers are zero, it pushes all of them and no offset.
func msgUnpackFrom(L *lua.LState, limit, offset int64) int {
	data := stringArg(L, 1)
	switch {
	case offset < 0 || limit < 0: // the second number is not the limit in the original either
		raise(L, "Invalid request to unpack with offset of %d and limit of %d.", int32(offset), int32(len(data)))
	case offset > int64(len(data)):
		raise(L, "Start offset %d greater than input length %d.", int32(offset), int32(len(data)))
	}
	all := limit == 0 && offset == 0
	r := msgReader{L: L}
	r.in.Reset(data[offset:])
	r.from = msgpack.NewDecoder(&r.in)
	var values []lua.LValue
	for r.in.Len() > 0 && (all || int64(len(values)) < limit) {
		v, err := r.value(1 + len(values))
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			raise(L, "Missing bytes in input.")
		case err != nil:
			raise(L, "%s", errMsgFormat)
		}
		values = appendCharged(L, values, v)
	}
	count := len(values)
	if !all {
		next := len(data) - r.in.Len()
		if r.in.Len() == 0 {
			next = -1
		}
		L.Push(lua.LNumber(next))
		count++
	}
	for _, v := range values {
		L.Push(v)
	}
	return count
}

// value reads a value while slots places of the stack of Lua are taken.
func (r *msgReader) value(slots int) (lua.LValue, error) {
	heed(r.L)
	code, err := r.from.PeekCode()
	if err != nil {
		return nil, err
	}
	if slots+1 > stackSlotsMax {
		raise(r.L, "stack overflow (too many return values at once; use unpack_one or unpack_limit instead.)")
	}
	switch {
	case code == msgpcode.Nil:
		return lua.LNil, r.from.DecodeNil()
	case code == msgpcode.False, code == msgpcode.True:
		b, err := r.from.DecodeBool()
		return lua.LBool(b), err
	case code == msgpcode.Float, code == msgpcode.Double:
		f, err := r.from.DecodeFloat64()
		return lua.LNumber(f), err
	case msgpcode.IsFixedNum(code), code >= msgpcode.Uint8 && code <= msgpcode.Int64:
		n, err := r.from.DecodeInt64() // the largest unsigned numbers are negative in the original, too
		return lua.LNumber(n), err
	case msgpcode.IsFixedString(code), code == msgpcode.Str8, code == msgpcode.Str16, code == msgpcode.Str32:
		n, err := r.from.DecodeBytesLen()
		if err != nil {
			return nil, err
		}
		return r.bytes(n)
	case msgpcode.IsFixedArray(code), code == msgpcode.Array16, code == msgpcode.Array32:
		return r.array(slots)
	case msgpcode.IsFixedMap(code), code == msgpcode.Map16, code == msgpcode.Map32:
		return r.table(slots)
	}
	return nil, errMsgFormat
}

// bytes returns the next n bytes.
func (r *msgReader) bytes(n int) (lua.LValue, error) {
	if n > r.in.Len() {
		return nil, io.ErrUnexpectedEOF
	}
	charge(r.L, 2*n)
	b := make([]byte, n)
	if err := r.from.ReadFull(b); err != nil {
		return nil, err
	}
	return lua.LString(b), nil
}

func (r *msgReader) array(slots int) (lua.LValue, error) {
	n, err := r.from.DecodeArrayLen()
	if err != nil {
		return nil, err
	}
	if slots+2 > stackSlotsMax {
		raise(r.L, "stack overflow (in function mp_decode_to_lua_array)")
	}
	first := len(r.pending)
	for range n {
		v, err := r.value(slots + 2)
		if err != nil {
			return nil, err
		}
		r.pending = appendCharged(r.L, r.pending, v)
	}
	elements := r.pending[first:]
	charge(r.L, arrayBytes(len(elements)))
	t := r.L.CreateTable(len(elements), 0)
	for i, v := range elements {
		t.RawSetInt(i+1, v)
	}
	r.pending = r.pending[:first]
	return t, nil
}

func (r *msgReader) table(slots int) (lua.LValue, error) {
	n, err := r.from.DecodeMapLen()
	if err != nil {
		return nil, err
	}
	first := len(r.pending)
	for range n {
		k, err := r.value(slots + 1)
		if err != nil {
			return nil, err
		}
		v, err := r.value(slots + 2)
		if err != nil {
			return nil, err
		}
		number, isNumber := k.(lua.LNumber)
		switch {
		case k == lua.LNil:
			r.L.Error(lua.LString("table index is nil"), 0)
		case isNumber && math.IsNaN(float64(number)):
			r.L.Error(lua.LString("table index is NaN"), 0)
		}
		r.pending = appendCharged(r.L, appendCharged(r.L, r.pending, k), v)
	}
	members := r.pending[first:]
	charge(r.L, hashBytes(len(members)/2))
	t := r.L.CreateTable(0, len(members)/2)
	for i := 0; i < len(members); i += 2 {
		if n, isNumber := members[i].(lua.LNumber); isNumber {
			chargeGap(r.L, t, n)
		}
		t.RawSet(members[i], members[i+1])
	}
	r.pending = r.pending[:first]
	return t, nil
}

// chargeGap charges for an array that must grow to have an element n.
func chargeGap(L *lua.LState, t *lua.LTable, n lua.LNumber) {
	if w := watchOf(L); w != nil {
		w.rt.chargeGap(L, t, n)
	}
}
