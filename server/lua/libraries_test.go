package lua

import (
	"math"
	"strconv"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
)

// newLibraries returns a state with the four libraries and as much of Lua's own as the tests need.
func newLibraries(t testing.TB) *lua.LState {
	t.Helper()
	L := lua.NewState(lua.Options{SkipOpenLibs: true, RegistrySize: 1 << 10, RegistryMaxSize: 1 << 20})
	t.Cleanup(L.Close)
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenString, lua.OpenTable} {
		open(L)
		L.SetTop(0)
	}
	openBit(L)
	openCJSON(L)
	openCMsgpack(L)
	openStruct(L)
	return L
}

// eval returns what an expression gives, as tostring shows it, or the text of the error.
func eval(t testing.TB, L *lua.LState, expression string) string {
	t.Helper()
	fn, err := L.Load(strings.NewReader("return "+expression), "user_script")
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	top := L.GetTop()
	defer L.SetTop(top)
	L.Push(fn)
	if err := L.PCall(0, lua.MultRet, nil); err != nil {
		fault, ok := err.(*lua.ApiError)
		if !ok || fault.Type != lua.ApiErrorRun {
			t.Fatalf("%s: %v", expression, err)
		}
		return "error: " + fault.Object.String()
	}
	var values []string
	for i := top + 1; i <= L.GetTop(); i++ {
		if n, ok := L.Get(i).(lua.LNumber); ok {
			values = append(values, string(appendNumber(nil, float64(n), numberDigits)))
		} else {
			values = append(values, L.Get(i).String())
		}
	}
	return strings.Join(values, " ")
}

type libraryCase struct{ expression, want string }

func checkCases(t *testing.T, cases []libraryCase) {
	t.Helper()
	L := newLibraries(t)
	for _, c := range cases {
		if got := eval(t, L, c.expression); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.expression, got, c.want)
		}
	}
}

func TestBit(t *testing.T) {
	checkCases(t, []libraryCase{
		{"bit.tobit(2^31)", "-2147483648"},
		{"bit.tobit(1e300)", "-2013235812"},
		{"bit.tobit(2^53+1)", "0"},
		{"bit.tobit(1.5), bit.tobit(0.5), bit.tobit(-0.5)", "2 0 0"},
		{"bit.tobit(' 12 '), bit.band('0x10', 1.5)", "12 0"},
		{"bit.bnot(0), bit.bnot(-1)", "-1 0"},
		{"bit.band(255, 15, 6), bit.bor(1, 2, 4), bit.bxor(5, 1)", "6 7 4"},
		{"bit.lshift(1, 31), bit.rshift(-1, 28), bit.arshift(-16, 2)", "-2147483648 15 -4"},
		{"bit.rol(1, 33), bit.ror(1, 1), bit.lshift(1, -1)", "2 -2147483648 -2147483648"},
		{"bit.bswap(0x12345678)", "2018915346"},
		{"bit.tohex(255), bit.tohex(255, 2), bit.tohex(-1, -4), bit.tohex(1, 99), bit.tohex(1, 0)", "000000ff ff FFFF 00000001 "},
		{"bit.tohex(65535, -2147483648)", "0000FFFF"},
		{"bit.band()", "error: user_script:1: bad argument #1 to 'band' (number expected, got no value)"},
		{"bit.band(nil, {})", "error: user_script:1: bad argument #1 to 'band' (number expected, got nil)"},
		{"bit.band(1, {})", "error: user_script:1: bad argument #2 to 'band' (number expected, got table)"},
		{"bit.lshift(1)", "error: user_script:1: bad argument #2 to 'lshift' (number expected, got no value)"},
		{"bit.tohex(1, nil)", "error: user_script:1: bad argument #2 to 'tohex' (number expected, got nil)"},
		{"pcall(bit.tobit, 'x')", "false bad argument #1 to '?' (number expected, got string)"},
	})
}

func TestStruct(t *testing.T) {
	checkCases(t, []libraryCase{
		{"struct.pack('i3<', 1) .. struct.pack('>!4bi', 1, 2)", "\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x02"},
		{"struct.pack('I', -1), struct.pack('I', 2^64), struct.pack('L', 2^63)", "\xff\xff\xff\xff \x00\x00\x00\x00 \x00\x00\x00\x00\x00\x00\x00\x80"},
		{"struct.pack('i10', -2)", "\xfe\xff\xff\xff\xff\xff\xff\xff\x00\x00"},
		{"struct.pack('s', 'a\\0b'), struct.pack('c2', 'abc'), struct.pack('c0', 'abc'), struct.pack('x')", "a\x00b\x00 ab abc \x00"},
		{"struct.pack('>f', 1.5), struct.pack('<d', 1.5)", "\x3f\xc0\x00\x00 \x00\x00\x00\x00\x00\x00\xf8\x3f"},
		{"struct.unpack('bBhH', struct.pack('bBhH', -1, 255, -2, 65534))", "-1 255 -2 65534 7"},
		{"struct.unpack('fd', struct.pack('fd', 1.5, 2.5))", "1.5 2.5 13"},
		{"struct.unpack('bc0', '\\3abc')", "abc 5"},
		{"struct.unpack('s', 'ab\\0cd', 2)", "b 4"},
		{"struct.unpack('i16', '1234567890123456')", "4.05076599198e+18 17"},
		{"struct.unpack('', 'abcd', 9)", "9"},
		{"struct.size('cx!i'), struct.size('!4bd'), struct.size('i0'), struct.size('q')", "8 12 0 0"},
		{"struct.pack('i33', 1)", "error: user_script:1: integral size 33 is larger than limit of 32"},
		{"struct.pack('c5', 'abc')", "error: user_script:1: bad argument #3 to 'pack' (string too short)"},
		{"struct.pack('q')", "error: user_script:1: bad argument #1 to 'pack' (invalid format option 'q')"},
		{"struct.pack('bb', 1)", "error: user_script:1: bad argument #3 to 'pack' (number expected, got nil)"},
		{"struct.unpack('c0', 'abc')", "error: user_script:1: format 'c0' needs a previous size"},
		{"struct.unpack('bc0', '\\9abc')", "error: user_script:1: bad argument #2 to 'unpack' (data string too short)"},
		{"struct.unpack('s', 'abc')", "error: user_script:1: unfinished string in data"},
		{"struct.unpack('i', 'abc', 0)", "error: user_script:1: bad argument #3 to 'unpack' (offset must be 1 or greater)"},
		{"struct.unpack('i', 'abcd', -1)", "error: user_script:1: bad argument #2 to 'unpack' (data string too short)"},
		{"struct.unpack('i', 'abcd', 2^62)", "error: user_script:1: bad argument #2 to 'unpack' (data string too short)"},
		{"struct.size('s')", "error: user_script:1: bad argument #1 to 'size' (option 's' has no fixed size)"},
		{"struct.size('c0')", "error: user_script:1: bad argument #1 to 'size' (option 'c0' has no fixed size)"},
		{"struct.size('?')", "error: user_script:1: bad argument #1 to 'size' (invalid format option '?')"},
		{"struct.size('!3')", "error: user_script:1: alignment 3 is not a power of 2"},
		{"struct.size('i99999999999')", "error: user_script:1: integral size overflow"},
		{"struct.unpack(string.rep('b', 9000), string.rep('a', 9000))", "error: user_script:1: stack overflow (too many results)"},
	})
}

func TestCJSONEncode(t *testing.T) {
	checkCases(t, []libraryCase{
		{"cjson.encode({1, 'a', true, cjson.null, {}, {x = 1}})", `[1,"a",true,null,{},{"x":1}]`},
		{"cjson.encode({[1] = 1, [3] = 3}), cjson.encode({[2.5] = 1}), cjson.encode({[0] = 1})", `[1,null,3] {"2.5":1} {"0":1}`},
		{"cjson.encode('/\\127\\1\\\\\"\\n\\255')", `"\/\u007f\u0001\\\"\n` + "\xff\""},
		{"cjson.encode(1e14), cjson.encode(1e13), cjson.encode(-0.1), cjson.encode(1/3), cjson.encode(1e-7)", "1e+14 10000000000000 -0.1 0.33333333333333 1e-07"},
		{"cjson.encode(nil)", "null"},
		{"cjson.encode()", "error: user_script:1: bad argument #1 to 'encode' (expected 1 argument)"},
		{"cjson.encode(print)", "error: user_script:1: Cannot serialise function: type not supported"},
		{"cjson.encode({[true] = 1})", "error: user_script:1: Cannot serialise boolean: table key must be a number or string"},
		{"cjson.encode({[100] = 1})", "error: user_script:1: Cannot serialise table: excessively sparse array"},
		{"cjson.encode(0/0)", "error: user_script:1: Cannot serialise number: must not be NaN or Inf"},
		{"(function() local t = {} t[1] = t return cjson.encode(t) end)()", "error: user_script:1: Cannot serialise, excessive depth (1001)"},
		{"cjson.encode_invalid_numbers('null'), cjson.encode(1/0)", "null null"},
		{"cjson.encode_invalid_numbers(true), cjson.encode(-1/0)", "true -inf"},
		{"cjson.encode_sparse_array(true), cjson.encode({[100] = 1})", `true {"100":1}`},
		{"cjson.encode_sparse_array(nil, 0, 5)", "true 0 5"},
		{"cjson.encode_number_precision(3), cjson.encode(math or 1234.5)", "3 1.23e+03"},
		{"cjson.encode_max_depth(1), cjson.encode({{}})", "error: user_script:1: Cannot serialise, excessive depth (2)"},
		{"cjson.encode_max_depth(2^31 - 1)", "2147483647"},
		{"(function() local t = {} t[1] = t return cjson.encode(t) end)()", "error: user_script:1: Cannot serialise, excessive depth (4001)"},
		{"cjson.encode_number_precision(17)", "error: user_script:1: bad argument #1 to 'encode_number_precision' (expected integer between 1 and 14)"},
		{"cjson.encode_sparse_array(1, 2, 3, 4)", "error: user_script:1: bad argument #4 to 'encode_sparse_array' (found too many arguments)"},
		{"cjson.encode_sparse_array('x')", "error: user_script:1: bad argument #1 to 'encode_sparse_array' (invalid option 'x')"},
		{"cjson.encode_keep_buffer({})", "error: user_script:1: bad argument #1 to 'encode_keep_buffer' (string expected, got table)"},
		{"cjson.encode_max_depth('a')", "error: user_script:1: bad argument #1 to 'encode_max_depth' (number expected, got string)"},
		{"cjson.new().encode({{}}), cjson.new().null == cjson.null", "[{}] true"},
	})
}

func TestCJSONDecode(t *testing.T) {
	checkCases(t, []libraryCase{
		{`cjson.encode(cjson.decode('[1, -2.5e3 ,"a",true,false,null,{},[],{"a":[{}]}]'))`, `[1,-2500,"a",true,false,null,{},{},{"a":[{}]}]`},
		{`cjson.decode('"\\u0041\\u00e9\\ud83d\\ude00\\u0000\\n\\/x"')`, "Aé😀\x00\n/x"},
		{`cjson.decode('0x1p4'), cjson.decode('0x10'), cjson.decode('+1'), cjson.decode('012'), cjson.decode('1e999')`, "16 16 1 12 inf"},
		{`cjson.decode('nan(12)'), cjson.decode('-Infinity'), cjson.decode('-iNf')`, "nan -inf -inf"},
		{`cjson.decode(12), cjson.decode('[1]\0abc')[1]`, "12 1"},
		{`cjson.decode('')`, "error: user_script:1: Expected value but found T_END at character 1"},
		{`cjson.decode('[1,')`, "error: user_script:1: Expected value but found T_END at character 4"},
		{`cjson.decode('[1,]')`, "error: user_script:1: Expected value but found T_ARR_END at character 4"},
		{`cjson.decode('[1 2]')`, "error: user_script:1: Expected comma or array end but found T_NUMBER at character 4"},
		{`cjson.decode('{1}')`, "error: user_script:1: Expected object key string but found T_NUMBER at character 2"},
		{`cjson.decode('{"a":1,}')`, "error: user_script:1: Expected object key string but found T_OBJ_END at character 8"},
		{`cjson.decode('{"a" 1}')`, "error: user_script:1: Expected colon but found T_NUMBER at character 6"},
		{`cjson.decode('{"a":1]')`, "error: user_script:1: Expected comma or object end but found T_ARR_END at character 7"},
		{`cjson.decode('1 2')`, "error: user_script:1: Expected the end but found T_NUMBER at character 3"},
		{`cjson.decode('nullx')`, "error: user_script:1: Expected the end but found invalid token at character 5"},
		{`cjson.decode('"\\q"')`, "error: user_script:1: Expected value but found invalid escape code at character 2"},
		{`cjson.decode('"\\uD800"')`, "error: user_script:1: Expected value but found invalid unicode escape code at character 2"},
		{`cjson.decode('"ab')`, "error: user_script:1: Expected value but found unexpected end of string at character 4"},
		{`cjson.decode('-')`, "error: user_script:1: Expected value but found invalid number at character 1"},
		{`cjson.decode('a\0')`, "error: user_script:1: JSON parser does not support UTF-16 or UTF-32"},
		{`cjson.decode({})`, "error: user_script:1: bad argument #1 to 'decode' (string expected, got table)"},
		{`pcall(cjson.decode, 'x')`, "false Expected value but found invalid token at character 1"},
		{`cjson.decode(string.rep('[', 1001))`, "error: user_script:1: Found too many nested data structures (1001) at character 1001"},
		{`cjson.decode_max_depth(10000)`, "10000"},
		{`cjson.decode(string.rep('[', 10000))`, "error: user_script:1: Found too many nested data structures (7999) at character 7999"},
		{`cjson.decode_invalid_numbers(false)`, "false"},
		{`cjson.decode('0x10')`, "error: user_script:1: Expected value but found invalid number at character 1"},
		{`cjson.decode('nan')`, "error: user_script:1: Expected value but found invalid token at character 1"},
		{`cjson.decode_array_with_array_mt(true), cjson.encode(cjson.decode('[[],{}]'))`, "true [[],{}]"},
	})
}

func TestCMsgpack(t *testing.T) {
	checkCases(t, []libraryCase{
		{`cmsgpack.pack(1, -1, 255, -129, 65536, 2^40, -2^40, 1.5, 0.1)`, "\x01\xff\xcc\xff\xd1\xff\x7f\xce\x00\x01\x00\x00\xcf\x00\x00\x01\x00\x00\x00\x00\x00" +
			"\xd3\xff\xff\xff\x00\x00\x00\x00\x00\xca\x3f\xc0\x00\x00\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a"},
		{`cmsgpack.pack({}, {1, 2}, {a = 1}, {[1] = 1, [3] = 3}, nil, true, cjson.null, print)`, "\x90\x92\x01\x02\x81\xa1a\x01\x82\x01\x01\x03\x03\xc0\xc3\xc0\xc0"},
		{`cmsgpack.pack({['1'] = 'a'})`, "\x81\xa11\xa1a"},
		{`cmsgpack.pack(string.rep('a', 32)):sub(1, 2)`, "\xd9\x20"},
		{`(function() local t = {} t[1] = t return cmsgpack.pack(t) end)()`, strings.Repeat("\x91", 16) + "\xc0"},
		{`cmsgpack.unpack(cmsgpack.pack(1, 'a', false, 1.5, nil))`, "1 a false 1.5 nil"},
		{`cjson.encode(cmsgpack.unpack(cmsgpack.pack({1, {a = {2}}, 'x'})))`, `[1,{"a":[2]},"x"]`},
		{`cmsgpack.unpack('\207\255\255\255\255\255\255\255\255')`, "-1"},
		{`cmsgpack.unpack_one(''), cmsgpack.unpack_one('\1'), cmsgpack.unpack_one('\1\2', 1)`, "-1 -1 -1 2"},
		{`cmsgpack.unpack_limit('\1\2\3', 2)`, "2 1 2"},
		{`cmsgpack.unpack_limit('\1\2\3', 0)`, "1 2 3"},
		{`cmsgpack.unpack_limit('\1\2\3', 0, 1)`, "1"},
		{`cmsgpack.unpack('\196\1a')`, "error: user_script:1: Bad data format in input."},
		{`cmsgpack.unpack('\193')`, "error: user_script:1: Bad data format in input."},
		{`cmsgpack.unpack('\199\1\1\1')`, "error: user_script:1: Bad data format in input."},
		{`cmsgpack.unpack('\217\5a')`, "error: user_script:1: Missing bytes in input."},
		{`cmsgpack.unpack('\221\255\255\255\255\1')`, "error: user_script:1: Missing bytes in input."},
		{`cmsgpack.unpack(string.rep('\223\255\255\255\255', 5000))`, "error: user_script:1: Missing bytes in input."},
		{`cmsgpack.unpack('\129\192\1')`, "error: table index is nil"},
		{`cmsgpack.unpack('\129\203\127\248\0\0\0\0\0\0\1')`, "error: table index is NaN"},
		{`cmsgpack.unpack(string.rep('\145', 3999))`, "error: user_script:1: Missing bytes in input."},
		{`cmsgpack.unpack(string.rep('\145', 4000))`, "error: user_script:1: stack overflow (in function mp_decode_to_lua_array)"},
		{`cmsgpack.unpack(string.rep('\129\1', 5000))`, "error: user_script:1: stack overflow (too many return values at once; use unpack_one or unpack_limit instead.)"},
		{`cmsgpack.pack()`, "error: user_script:1: bad argument #0 to 'pack' (MessagePack pack needs input.)"},
		{`cmsgpack.unpack(nil)`, "error: user_script:1: bad argument #1 to 'unpack' (string expected, got nil)"},
		{`cmsgpack.unpack_limit('a')`, "error: user_script:1: bad argument #2 to 'unpack_limit' (number expected, got no value)"},
		{`cmsgpack.unpack_one('a', -1)`, "error: user_script:1: Invalid request to unpack with offset of -1 and limit of 1."},
		{`cmsgpack.unpack_one('a', 5)`, "error: user_script:1: Start offset 5 greater than input length 1."},
	})
}

// TestLibrariesAreChargedFor asks the libraries for more than a script may have.
func TestLibrariesAreChargedFor(t *testing.T) {
	rt := New(&testHost{})
	for _, code := range []string{
		`local t = {string.rep('x', 1000000)} for i = 1, 16 do t = {t, t, t, t} end return #cjson.encode(t)`,
		`return cmsgpack.unpack('\129\206\3\147\135\0\1')`,
		`return #cmsgpack.unpack('\221\0\255\255\255' .. string.rep('\129\1\1', 2000000))`,
	} {
		if got, want := runScript(t, rt, code), "error: ERR "+errMemory; !strings.HasPrefix(got, want) && !strings.HasPrefix(got, "error: ERR user_script:1: "+errMemory) {
			t.Errorf("%s: %s", code, got)
		}
	}
}

func TestAppendNumber(t *testing.T) {
	for _, c := range []struct {
		f      float64
		digits int
		want   string
	}{
		{0, 14, "0"}, {math.Copysign(0, -1), 14, "-0"}, {100, 14, "100"}, {1e13, 14, "10000000000000"}, {1e14, 14, "1e+14"},
		{123456789012345, 14, "1.2345678901234e+14"}, {0.0001, 14, "0.0001"}, {0.00001, 14, "1e-05"}, {3.14159, 3, "3.14"},
		{99.96, 3, "100"}, {999.6, 3, "1e+03"}, {math.Inf(-1), 14, "-inf"}, {1e300, 14, "1e+300"}, {-2.5, 1, "-2"},
	} {
		if got := string(appendNumber(nil, c.f, c.digits)); got != c.want {
			t.Errorf("%v with %d digits: %q, want %q", c.f, c.digits, got, c.want)
		}
	}
}

// FuzzCJSON reads anything, and what was read is read the same after it was written.
func FuzzCJSON(f *testing.F) {
	for _, seed := range []string{`[1,2,{"a":null}]`, `"\ud83d\ude00"`, "[[[[", `{"a":`, "-0x1p", "nan(", `"\`, "1e400", "\"\xff\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		L := newLibraries(t)
		L.SetGlobal("input", lua.LString(in))
		first := eval(t, L, "cjson.encode(cjson.decode(input))")
		if strings.HasPrefix(first, "error: ") {
			return
		}
		L.SetGlobal("input", lua.LString(first))
		if again := eval(t, L, "cjson.encode(cjson.decode(input))"); again != first {
			t.Errorf("%q, then %q", first, again)
		}
	})
}

// FuzzCMsgpack reads anything, and finds again what it has written.
func FuzzCMsgpack(f *testing.F) {
	for _, seed := range []string{"\x01\x02", "\x93\x01\x02\xa1a", "\x81\xa1a\x90", "\xdd\xff\xff\xff\xff", "\xdf\x00\x00\x00\x01\x01", "\xdb\xff\xff\xff\xffa", "\xc4\x01a", "\xca\x7f"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		L := newLibraries(t)
		L.SetGlobal("input", lua.LString(in))
		first := eval(t, L, "cmsgpack.pack(cmsgpack.unpack(input))")
		if strings.HasPrefix(first, "error: ") {
			return
		}
		L.SetGlobal("input", lua.LString(first))
		if again := eval(t, L, "cmsgpack.pack(cmsgpack.unpack(input))"); len(again) > len(first) {
			t.Errorf("%q, then %q", first, again)
		}
	})
}

// FuzzStruct unpacks anything by any format; what was unpacked fits where it was.
func FuzzStruct(f *testing.F) {
	for _, format := range []string{"bBhHlLTiI", ">!4bd", "s", "bc0", "i32I9", "c4x", "!99i3"} {
		f.Add(format, strings.Repeat("\x01\x02\x00", 40), 1)
	}
	f.Fuzz(func(t *testing.T, format, data string, from int) {
		L := newLibraries(t)
		L.SetGlobal("format", lua.LString(format))
		L.SetGlobal("data", lua.LString(data))
		L.SetGlobal("from", lua.LNumber(from))
		size := eval(t, L, "struct.size(format)")
		end := eval(t, L, "(function(...) return (select(select('#', ...), ...)) end)(struct.unpack(format, data, from))")
		eval(t, L, "struct.pack(format, struct.unpack(format, data))")
		n, err := strconv.Atoi(size)
		if err != nil || strings.HasPrefix(end, "error: ") || from != 1 {
			return
		}
		if got, err := strconv.Atoi(end); err != nil || got != n+1 {
			t.Errorf("size %s, but the end is at %s", size, end)
		}
	})
}
