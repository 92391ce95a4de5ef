package tests

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Libraries of scripts are given what is nearly right, and what they answer or
// say of it is compared with redis-server.

// pieces are what inputs are put together from.
var (
	jsonPieces = []string{"[", "]", "{", "}", ",", ":", `"a"`, `"\u00e9"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\x"`, `"`, "1", "-0.5e3", "0x1F", "1e400",
		"true", "false", "null", "nul", "nan", "-inf", "Infinity", " ", "\t\r\n", "+1", "012", "-", ".5", "5.", "\x00", "\xff", "/", "'", "é", "\x1f"}
	msgPieces = []string{"\x00", "\x7f", "\xe0", "\xff", "\xcc\x80", "\xcd\x01\x00", "\xce\x00\x01\x00\x00", "\xcf\xff\xff\xff\xff\xff\xff\xff\xff",
		"\xd0\x80", "\xd1\x80\x00", "\xd2\x80\x00\x00\x00", "\xd3\x80\x00\x00\x00\x00\x00\x00\x00", "\xca\x3f\xc0\x00\x00", "\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a",
		"\xc0", "\xc1", "\xc2", "\xc3", "\xa1a", "\xa5a", "\xd9\x01b", "\xda\x00\x01c", "\xdb\x00\x00\x00\x01d", "\xc4\x01e", "\xd4\x01\x01", "\x90", "\x92", "\x81",
		"\xdc\x00\x01", "\xdd\x00\x00\x00\x01", "\xde\x00\x01", "\xdf\x00\x00\x00\x01", "\xdd\xff\xff\xff\xff"}
	structPieces = []string{"b", "B", "h", "H", "l", "L", "T", "i", "I", "i3", "I7", "i8", "I16", "i32", "i33", "i0", "f", "d", "s", "c", "c3", "c0", "x",
		">", "<", "!", "!2", "!4", "!16", "!3", " ", "q", "-", "i99999999999"}
	luaNumbers = []string{"0", "1", "-1", "127.5", "-128", "255", "2^31", "-2^31", "2^32-1", "2^52+0.5", "2^53", "-2^63", "1e300", "1/0", "0/0", "'12'", "'0x1f'", "' 7 '", "'x'", "nil", "true", "{}"}
)

// joined puts up to most pieces together.
func joined(r *rand.Rand, most int, pieces []string) string {
	var b strings.Builder
	for range r.IntN(most) + 1 {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

// librarySrcs make scripts of one expression, of which KEYS[1] is the input.
var librarySrcs = []func(r *rand.Rand) (script, input string){
	func(r *rand.Rand) (string, string) {
		return "return show(cjson.decode(KEYS[1]))", joined(r, 8, jsonPieces)
	},
	func(r *rand.Rand) (string, string) {
		return "return show(cmsgpack.unpack(KEYS[1]))", joined(r, 6, msgPieces)
	},
	func(r *rand.Rand) (string, string) {
		return fmt.Sprintf("return show(cmsgpack.unpack_limit(KEYS[1], %d, %d))", r.IntN(4)-1, r.IntN(6)-1), joined(r, 6, msgPieces)
	},
	func(r *rand.Rand) (string, string) {
		return fmt.Sprintf("return show(struct.unpack(KEYS[1], %s, %d))", "'\\1\\2\\255\\0\\0abc\\0\\128\\127xyzuvw'", r.IntN(4)), joined(r, 4, structPieces)
	},
	func(r *rand.Rand) (string, string) {
		return fmt.Sprintf("return show(struct.size(KEYS[1])) .. show(struct.pack(KEYS[1], %s, %s, 'abcd', 5))", luaNumbers[r.IntN(12)], luaNumbers[r.IntN(12)]), joined(r, 4, structPieces)
	},
	func(r *rand.Rand) (string, string) {
		names := []string{"tobit", "tohex", "bnot", "band", "bor", "bxor", "lshift", "rshift", "arshift", "rol", "ror", "bswap"}
		return fmt.Sprintf("return show(bit.%s(%s, %s))", names[r.IntN(len(names))], luaNumbers[r.IntN(len(luaNumbers))], luaNumbers[r.IntN(len(luaNumbers))]), ""
	},
	func(r *rand.Rand) (string, string) {
		return fmt.Sprintf("return cjson.encode({%s, '%s', {a = %s}})", luaNumbers[r.IntN(16)], "\\1/\\\\\\127é", luaNumbers[r.IntN(16)]), ""
	},
	func(r *rand.Rand) (string, string) {
		return fmt.Sprintf("return cmsgpack.pack(%s, {%s, [3] = %s}, {['1'] = 5})", luaNumbers[r.IntN(len(luaNumbers))], luaNumbers[r.IntN(16)], luaNumbers[r.IntN(16)]), ""
	},
}

// showSource defines a function that writes values in one way, the keys of tables
// in order.
const showSource = `
local show
function show(...)
	local out = {}
	for i = 1, select('#', ...) do
		local v = select(i, ...)
		if type(v) == 'table' then
			local members = {}
			for k, e in pairs(v) do members[#members + 1] = show(k) .. '=' .. show(e) end
			table.sort(members)
			v = '{' .. table.concat(members, ' ') .. '}'
		elseif type(v) == 'number' then
			v = string.format('%.17g', v)
		end
		out[#out + 1] = tostring(v)
	end
	return table.concat(out, ' ')
end
`

func TestLuaLibrariesAreThoseOfRedis(t *testing.T) {
	ours, theirs := startServer(t).dial(), startPeer(t).dial()
	t.Logf("-seed=%d", *seed)
	r := rand.New(rand.NewPCG(*seed, 44))
	source := strings.ReplaceAll(strings.TrimSpace(showSource), "\n", " ") + " "
	for range scaled(3000) {
		script, input := librarySrcs[r.IntN(len(librarySrcs))](r)
		args := []string{"EVAL", source + script, "1", input}
		if got, want := ours.do(args...), theirs.do(args...); got != want {
			t.Errorf("%s with %q:\n got %q\nwant %q", script, input, got, want)
		}
		if t.Failed() {
			return
		}
	}
}
