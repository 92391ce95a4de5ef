package server

import (
	"bytes"
	"math"
	"strings"

	"kvserver/store"
)

// bitmapRows follow the order of Redis's documentation.
var bitmapRows = []row{
	{"bitcount", -2, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "2.6.0", "Counts the set bits of a string.", bitCount},
	{"bitfield", -2, write | denyoom, specs{varying(keysAt(kRW|kAccess|kUpdate, 1, 1, 1), bitFieldKeyFlags)}, "3.2.0", "Works on integers of any width within a string.", bitField},
	{"bitfield_ro", -2, readonly | fast, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "6.0.0", "Reads integers of any width within a string.", bitFieldRO},
	{"bitop", -4, write | denyoom, specs{keysAt(kOW|kUpdate, 2, 2, 1), keysAt(kRO|kAccess, 3, -1, 1)}, "2.6.0", "Combines strings bit by bit and stores the result.", bitOp},
	{"bitpos", -3, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "2.8.7", "Finds the first set or clear bit of a string.", bitPos},
	{"getbit", 3, readonly | fast, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "2.2.0", "Returns a bit of a string by its offset.", getBit},
	{"setbit", 4, write | denyoom, specs{keysAt(kRW|kAccess|kUpdate, 1, 1, 1)}, "2.2.0", "Sets or clears a bit of a string by its offset. Creates the key if it doesn't exist.", setBit},
}

// bitFieldKeyFlags: BITFIELD that only reads could as well be BITFIELD_RO.
func bitFieldKeyFlags(args [][]byte) keyFlags {
	for _, a := range args[min(2, len(args)):] {
		if bytes.EqualFold(a, []byte("SET")) || bytes.EqualFold(a, []byte("INCRBY")) {
			return kRW | kAccess | kUpdate
		}
	}
	return kRO | kAccess
}

const errBitOffset = "ERR bit offset is not an integer or out of range"

// bitOffset reads where a bit is. Where fields have a width, "#n" stands for the nth field of that width; 0: no such form.
// No offset lies beyond what the longest string may have.
func (c *client) bitOffset(arg []byte, width int) (off int64, ok bool) {
	scale := int64(1)
	if rest, found := bytes.CutPrefix(arg, []byte("#")); found && width > 0 {
		arg, scale = rest, int64(width)
	}
	off, ok = parseInt(arg)
	if ok && off >= 0 && off <= (math.MaxInt64-64)/scale && off*scale/8 < c.s.params.protoMaxBulkLen.Get() {
		return off * scale, true
	}
	c.fail(errBitOffset)
	return 0, false
}

func setBit(c *client, args [][]byte) {
	off, ok := c.bitOffset(args[2], 0)
	if !ok {
		return
	}
	bit, ok := parseInt(args[3])
	if !ok || bit != 0 && bit != 1 {
		c.fail("ERR bit is not an integer or out of range")
		return
	}
	was, err := c.view.SetBit(args[1], off, bit == 1)
	c.flagOr(was, err)
}

func getBit(c *client, args [][]byte) {
	off, ok := c.bitOffset(args[2], 0)
	if !ok {
		return
	}
	on, err := c.view.GetBit(args[1], off)
	c.flagOr(on, err)
}

// flagOr answers with 1 or 0, or with the store's error.
func (c *client) flagOr(yes bool, err error) {
	if err != nil {
		c.failWith(err)
		return
	}
	c.flag(yes)
}

// bitRange reads "start [end [BYTE|BIT]]", or nothing. Of several faults Redis names the first it meets; BITPOS reads the
// unit before the end.
func (c *client) bitRange(args [][]byte, unitBeforeEnd bool) (r store.BitRange, ok bool) {
	r = store.WholeBitmap
	if len(args) > 3 {
		c.fail(errSyntax)
		return r, false
	}
	r.EndGiven = len(args) > 1
	for i := range args {
		if unitBeforeEnd && len(args) == 3 && i > 0 {
			i = 3 - i
		}
		fault := errNotInteger
		switch i {
		case 0:
			r.Start, ok = parseInt(args[0])
		case 1:
			r.End, ok = parseInt(args[1])
		case 2:
			fault = errSyntax
			r.InBits = bytes.EqualFold(args[2], []byte("BIT"))
			ok = r.InBits || bytes.EqualFold(args[2], []byte("BYTE"))
		}
		if !ok {
			c.fail(fault)
			return r, false
		}
	}
	return r, true
}

func bitCount(c *client, args [][]byte) {
	if len(args) == 3 {
		c.fail(errSyntax)
		return
	}
	r, ok := c.bitRange(args[2:], false)
	if !ok {
		return
	}
	c.intOr(c.view.BitCount(args[1], r))
}

func bitPos(c *client, args [][]byte) {
	bit, ok := parseInt(args[2])
	if !ok {
		c.fail(errNotInteger)
		return
	}
	if bit != 0 && bit != 1 {
		c.fail("ERR The bit argument must be 1 or 0.")
		return
	}
	r, ok := c.bitRange(args[3:], true)
	if !ok {
		return
	}
	c.intOr(c.view.BitPos(args[1], bit == 1, r))
}

// bitOps are the operations of BITOP, and how many sources each may have; the last four are those of Redis 8.2.
var bitOps = []struct {
	name     string
	op       store.BitOp
	min, max int
}{
	{"AND", store.BitAnd, 1, math.MaxInt},
	{"OR", store.BitOr, 1, math.MaxInt},
	{"XOR", store.BitXor, 1, math.MaxInt},
	{"NOT", store.BitNot, 1, 1},
	{"DIFF", store.BitDiff, 2, math.MaxInt},
	{"DIFF1", store.BitDiff1, 2, math.MaxInt},
	{"ANDOR", store.BitAndOr, 2, math.MaxInt},
	{"ONE", store.BitOne, 1, math.MaxInt},
}

func bitOp(c *client, args [][]byte) {
	name, sources := strings.ToUpper(string(clip(args[1], 8))), args[3:]
	for _, o := range bitOps {
		switch {
		case o.name != name:
			continue
		case len(sources) > o.max:
			c.fail("ERR BITOP NOT must be called with a single source key.")
		case len(sources) < o.min:
			c.failf("ERR BITOP %s must be called with at least two source keys.", name)
		default:
			c.intOr(c.view.BitOp(o.op, args[2], sources))
		}
		return
	}
	c.fail(errSyntax)
}

func bitField(c *client, args [][]byte) { c.runBitFields(args, false) }

func bitFieldRO(c *client, args [][]byte) { c.runBitFields(args, true) }

func (c *client) runBitFields(args [][]byte, onlyGet bool) {
	ops, ok := c.bitFields(args[2:])
	if !ok {
		return
	}
	for i := range ops {
		if onlyGet && ops[i].Kind != store.BitFieldGet {
			c.fail("ERR BITFIELD_RO only supports the GET subcommand")
			return
		}
	}
	if err := c.view.BitFields(args[1], ops); err != nil {
		c.failWith(err)
		return
	}
	c.array(len(ops))
	for i := range ops {
		if ops[i].Failed {
			c.null()
		} else {
			c.int(ops[i].Result)
		}
	}
}

// bitFields reads the operations of BITFIELD. OVERFLOW holds for those that follow it.
func (c *client) bitFields(args [][]byte) (ops []store.BitField, ok bool) {
	overflow := store.WrapOverflow
	for len(args) > 0 {
		o := store.BitField{Overflow: overflow}
		words := 4
		switch name := strings.ToUpper(string(clip(args[0], 10))); {
		case name == "GET" && len(args) >= 3:
			o.Kind, words = store.BitFieldGet, 3
		case name == "SET" && len(args) >= 4:
			o.Kind = store.BitFieldSet
		case name == "INCRBY" && len(args) >= 4:
			o.Kind = store.BitFieldIncrBy
		case name == "OVERFLOW" && len(args) >= 2:
			if overflow, ok = c.bitOverflow(args[1]); !ok {
				return nil, false
			}
			args = args[2:]
			continue
		default:
			c.fail(errSyntax)
			return nil, false
		}
		if !c.bitFieldPlace(&o, args) {
			return nil, false
		}
		if words == 4 {
			if o.Operand, ok = parseInt(args[3]); !ok {
				c.fail(errNotInteger)
				return nil, false
			}
		}
		ops, args = append(ops, o), args[words:]
	}
	return ops, true
}

func (c *client) bitOverflow(arg []byte) (o store.BitOverflow, ok bool) {
	switch strings.ToUpper(string(clip(arg, 5))) {
	case "WRAP":
		return store.WrapOverflow, true
	case "SAT":
		return store.SaturateOverflow, true
	case "FAIL":
		return store.FailOnOverflow, true
	}
	c.fail("ERR Invalid OVERFLOW type specified")
	return 0, false
}

// bitFieldPlace reads the type, i or u and the width, and the offset of a field.
func (c *client) bitFieldPlace(o *store.BitField, args [][]byte) bool {
	kind := clip(args[1], 3)
	if len(kind) > 0 {
		o.Signed = kind[0] == 'i'
		width, ok := parseInt(kind[1:])
		if ok && width >= 1 && (kind[0] == 'i' && width <= 64 || kind[0] == 'u' && width <= 63) && len(args[1]) <= 3 {
			o.Bits = int(width)
			o.Offset, ok = c.bitOffset(args[2], o.Bits)
			return ok
		}
	}
	c.fail("ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.")
	return false
}
