package lua

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// The library struct is Roberto Ierusalimschy's struct 0.2 as Redis has it: values in the layout of C's structs. A format is
// a row of options:
//
//	b B h H l L T i I  integers of 1, 2, 8, 8 and, with a number behind i or I, 1 to 32 bytes; signed if the letter is small
//	f d                floating point numbers of 4 and 8 bytes
//	s cn c0            a string with a zero behind it; n bytes of a string; a whole string, whose length was just unpacked
//	x                  a zero byte
//	> < !n             big endian from here, little endian from here (the default), alignment to at most n bytes (default 1)

// openStruct makes the global table struct.
func openStruct(L *lua.LState) {
	L.SetGlobal("struct", newModule(L, map[string]lua.LGFunction{
		"pack": structPack, "unpack": structUnpack, "size": structSize,
	}))
}

const (
	structIntegerMax = 32 // bytes
	structAlignment  = 8  // bytes, of "!" without a number
)

// byteOrder is both of what encoding/binary can do with an order.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// layout reads a format.
type layout struct {
	L      *lua.LState
	format string
	order  byteOrder
	align  int
}

func newLayout(L *lua.LState) *layout {
	format, _, _ := strings.Cut(stringArg(L, 1), "\x00") // where it ends for C
	return &layout{L: L, format: format, order: binary.LittleEndian, align: 1}
}

// next returns the next option, the size in bytes that it names, and the padding before it if it comes at pos.
func (l *layout) next(pos int) (option byte, size, padding int) {
	option = l.format[0]
	l.format = l.format[1:]
	size = l.size(option)
	if size == 0 || option == 'c' {
		return option, size, 0
	}
	aligned := min(size, l.align)
	return option, size, (aligned - pos&(aligned-1)) & (aligned - 1)
}

func (l *layout) size(option byte) int {
	switch option {
	case 'b', 'B', 'x':
		return 1
	case 'h', 'H':
		return 2
	case 'f':
		return 4
	case 'l', 'L', 'T', 'd':
		return 8
	case 'c':
		return l.number(1)
	case 'i', 'I':
		size := l.number(4)
		if size > structIntegerMax {
			raise(l.L, "integral size %d is larger than limit of %d", size, structIntegerMax)
		}
		return size
	}
	return 0
}

// number reads the number behind an option.
func (l *layout) number(absent int) int {
	if l.format == "" || !isDigit(l.format[0]) {
		return absent
	}
	n := 0
	for l.format != "" && isDigit(l.format[0]) {
		digit := int(l.format[0] - '0')
		if n > (math.MaxInt32-digit)/10 {
			raise(l.L, "integral size overflow")
		}
		n = n*10 + digit
		l.format = l.format[1:]
	}
	return n
}

// control obeys an option that stands for no value.
func (l *layout) control(option byte) {
	switch option {
	case ' ':
	case '>':
		l.order = binary.BigEndian
	case '<':
		l.order = binary.LittleEndian
	case '!':
		align := l.number(structAlignment)
		if bits.OnesCount(uint(align)) != 1 {
			raise(l.L, "alignment %d is not a power of 2", align)
		}
		l.align = align
	default:
		raiseArg(l.L, 1, "invalid format option '%s'", string([]byte{option}))
	}
}

// structPack is pack(format, values...).
func structPack(L *lua.LState) int {
	l := newLayout(L)
	top := L.GetTop()
	L.Push(lua.LNil) // which stands in the place of the first value that is missing, as errors say
	var out []byte
	arg := 2
	for l.format != "" {
		option, size, padding := l.next(len(out))
		if option != 'c' { // whose size the string bounds
			charge(L, padding+size)
		}
		for range padding {
			out = append(out, 0)
		}
		switch option {
		case 'b', 'B', 'h', 'H', 'l', 'L', 'T', 'i', 'I':
			out = appendInteger(out, wholeBits(numberArg(L, arg)), size, l.order)
			arg++
		case 'f':
			out = l.order.AppendUint32(out, math.Float32bits(float32(numberArg(L, arg))))
			arg++
		case 'd':
			out = l.order.AppendUint64(out, math.Float64bits(numberArg(L, arg)))
			arg++
		case 'x':
			out = append(out, 0)
		case 's', 'c':
			s := stringArg(L, arg)
			arg++
			if size == 0 {
				size = len(s)
			}
			if len(s) < size {
				raiseArg(L, arg, "string too short")
			}
			charge(L, size)
			out = append(out, s[:size]...)
			if option == 's' {
				out = append(out, 0)
			}
		default:
			l.control(option)
		}
	}
	L.SetTop(top)
	L.Push(lua.LString(out))
	return 1
}

// structUnpack is unpack(format, data, position): the values and the position behind them.
func structUnpack(L *lua.LState) int {
	l := newLayout(L)
	data := stringArg(L, 2)
	from := integerArgOr(L, 3, 1)
	if from == 0 {
		raiseArg(L, 3, "offset must be 1 or greater")
	}
	pos := int(from - 1) // a negative one is beyond the end, as it is for C
	var values []lua.LValue
	for l.format != "" {
		option, size, padding := l.next(pos)
		pos += padding
		if pos < 0 || pos > len(data) || size > len(data)-pos {
			raiseArg(L, 2, "data string too short")
		}
		if len(values)+4 > stackSlotsMax {
			raise(L, "stack overflow (too many results)")
		}
		switch option {
		case 'b', 'B', 'h', 'H', 'l', 'L', 'T', 'i', 'I':
			values = append(values, integerOf(data[pos:pos+size], option >= 'a', l.order))
		case 'f':
			values = append(values, lua.LNumber(math.Float32frombits(l.order.Uint32([]byte(data[pos:pos+size])))))
		case 'd':
			values = append(values, lua.LNumber(math.Float64frombits(l.order.Uint64([]byte(data[pos:pos+size])))))
		case 'x':
		case 'c':
			if size == 0 {
				values, size = takeLength(L, values, len(data)-pos)
			}
			values = append(values, lua.LString(data[pos:pos+size])) // shares the bytes of data
		case 's':
			size = strings.IndexByte(data[pos:], 0) + 1
			if size == 0 {
				raise(L, "unfinished string in data")
			}
			values = append(values, lua.LString(data[pos:pos+size-1]))
		default:
			l.control(option)
		}
		pos += size
	}
	for _, v := range values {
		L.Push(v)
	}
	L.Push(lua.LNumber(pos + 1))
	return len(values) + 1
}

// takeLength takes the length of a string from the values before it.
func takeLength(L *lua.LState, values []lua.LValue, most int) ([]lua.LValue, int) {
	if len(values) > 0 {
		last := values[len(values)-1]
		n, ok := last.(lua.LNumber)
		if s, isString := last.(lua.LString); isString {
			var f float64
			f, ok = readNumber(string(s))
			n = lua.LNumber(f)
		}
		if ok {
			size := wholeBits(float64(n))
			if size > uint64(most) {
				raiseArg(L, 2, "data string too short")
			}
			return values[:len(values)-1], int(size)
		}
	}
	raise(L, "format 'c0' needs a previous size")
	return nil, 0
}

// structSize is size(format).
func structSize(L *lua.LState) int {
	l := newLayout(L)
	pos := 0
	for l.format != "" {
		option, size, padding := l.next(pos)
		switch {
		case option == 's':
			raiseArg(L, 1, "option 's' has no fixed size")
		case option == 'c' && size == 0:
			raiseArg(L, 1, "option 'c0' has no fixed size")
		case !isDigit(option) && (option|0x20 < 'a' || option|0x20 > 'z'):
			l.control(option)
		}
		pos += padding + size
	}
	L.Push(lua.LNumber(pos))
	return 1
}

// wholeBits converts as C does on amd64: negative numbers by way of signed ones, and what does not fit to an end.
func wholeBits(f float64) uint64 {
	switch {
	case f < 0, math.IsNaN(f):
		return uint64(truncate(f))
	case f < 1<<63:
		return uint64(f)
	}
	return uint64(truncate(f-1<<63)) ^ 1<<63
}

// appendInteger appends the low bytes of v; a size beyond eight bytes is filled up with zeros.
func appendInteger(b []byte, v uint64, size int, order byteOrder) []byte {
	at := len(b)
	b = append(b, make([]byte, size)...)
	for i := range size {
		if order == byteOrder(binary.LittleEndian) {
			b[at+i] = byte(v)
		} else {
			b[at+size-1-i] = byte(v)
		}
		v >>= 8
	}
	return b
}

// integerOf reads an integer, of which the low eight bytes count.
func integerOf(b string, signed bool, order byteOrder) lua.LNumber {
	var v uint64
	for i := range len(b) {
		at := i
		if order == byteOrder(binary.LittleEndian) {
			at = len(b) - 1 - i
		}
		v = v<<8 | uint64(b[at])
	}
	if !signed {
		return lua.LNumber(v)
	}
	// The sign is where amd64 finds it for C: beyond eight bytes the distance is taken modulo 64.
	if above := ^uint64(0) << uint((8*len(b)-1)&63); v&above != 0 {
		v |= above
	}
	return lua.LNumber(int64(v))
}
