package lua

import (
	"strings"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"
)

// jsonToken is what a reader finds next. The names of the types are in the texts of errors.
type jsonToken string

const (
	jsonObjectBegin jsonToken = "T_OBJ_BEGIN"
	jsonObjectEnd   jsonToken = "T_OBJ_END"
	jsonArrayBegin  jsonToken = "T_ARR_BEGIN"
	jsonArrayEnd    jsonToken = "T_ARR_END"
	jsonString      jsonToken = "T_STRING"
	jsonNumber      jsonToken = "T_NUMBER"
	jsonBoolean     jsonToken = "T_BOOLEAN"
	jsonNull        jsonToken = "T_NULL"
	jsonColon       jsonToken = "T_COLON"
	jsonComma       jsonToken = "T_COMMA"
	jsonEnd         jsonToken = "T_END"

	// Faults take the place of a token.
	jsonBadToken   jsonToken = "invalid token"
	jsonBadNumber  jsonToken = "invalid number"
	jsonUnfinished jsonToken = "unexpected end of string"
	jsonBadUnicode jsonToken = "invalid unicode escape code"
	jsonBadEscape  jsonToken = "invalid escape code"
)

// jsonReader reads one document. To tables it gives the room that they need and no more: the elements of an open array or
// object wait in pending until it ends.
type jsonReader struct {
	*jsonCodec
	L     *lua.LState
	in    string // up to the first zero byte, which is the end for C
	pos   int
	depth int
	slots int // what the open arrays and objects take of the stack of Lua

	token  jsonToken
	at     int // where it begins, or where its fault is
	text   string
	number float64
	truth  bool

	pending []lua.LValue
}

func (j *jsonCodec) decode(L *lua.LState) int {
	oneArgument(L)
	in := stringArg(L, 1)
	if len(in) >= 2 && (in[0] == 0 || in[1] == 0) {
		raise(L, "JSON parser does not support UTF-16 or UTF-32")
	}
	in, _, _ = strings.Cut(in, "\x00")
	r := jsonReader{jsonCodec: j, L: L, in: in}
	r.next()
	v := r.value()
	r.next()
	if r.token != jsonEnd {
		r.fail("the end")
	}
	L.Push(v)
	return 1
}

// fail raises the error that something else should be where the token is.
func (r *jsonReader) fail(expected string) {
	raise(r.L, "Expected %s but found %s at character %d", expected, string(r.token), r.at+1)
}

// value returns the value that begins with the token.
func (r *jsonReader) value() lua.LValue {
	heed(r.L)
	switch r.token {
	case jsonString:
		return lua.LString(r.text)
	case jsonNumber:
		return lua.LNumber(r.number)
	case jsonBoolean:
		return lua.LBool(r.truth)
	case jsonNull:
		return r.null
	case jsonObjectBegin:
		r.descend(3)
		t := r.object()
		r.depth--
		r.slots -= 2
		return t
	case jsonArrayBegin:
		r.descend(2)
		t := r.array()
		r.depth--
		r.slots--
		return t
	}
	r.fail("value")
	return lua.LNil
}

// descend goes one level deeper, where the original needs so many places of the stack of Lua, and keeps all but one.
func (r *jsonReader) descend(slots int) {
	r.depth++
	if r.depth > r.decodeDepth || 1+r.slots+slots > stackSlotsMax {
		raise(r.L, "Found too many nested data structures (%d) at character %d", r.depth, r.pos)
	}
	r.slots += slots - 1
}

// appendCharged appends a value, and charges for the room that it needs.
func appendCharged(L *lua.LState, values []lua.LValue, v lua.LValue) []lua.LValue {
	if len(values) == cap(values) {
		charge(L, 2*valueBytes*len(values))
	}
	return append(values, v)
}

// arrayBytes and hashBytes are about what a table with n elements takes.
func arrayBytes(n int) int { return 128 + valueBytes*n }

func hashBytes(n int) int { return 512 + 192*n }

// another reads on after an element, and reports whether another one begins: after a comma one must. separator and element are
// what errors say was expected.
func (r *jsonReader) another(end jsonToken, separator, element string) bool {
	switch r.next(); r.token {
	case end:
		return false
	case jsonComma:
	default:
		r.fail(separator)
	}
	if r.next(); r.token == end {
		r.fail(element)
	}
	return true
}

func (r *jsonReader) array() *lua.LTable {
	first := len(r.pending)
	r.next()
	for more := r.token != jsonArrayEnd; more; more = r.another(jsonArrayEnd, "comma or array end", "value") {
		v := r.value()
		r.pending = appendCharged(r.L, r.pending, v)
	}
	elements := r.pending[first:]
	charge(r.L, arrayBytes(len(elements)))
	t := r.L.CreateTable(len(elements), 0)
	for i, v := range elements {
		t.RawSetInt(i+1, v)
	}
	r.pending = r.pending[:first]
	if r.markArrays == 1 {
		t.Metatable = r.arrayMT
	}
	return t
}

func (r *jsonReader) object() *lua.LTable {
	first := len(r.pending)
	r.next()
	for more := r.token != jsonObjectEnd; more; more = r.another(jsonObjectEnd, "comma or object end", "object key string") {
		if r.token != jsonString {
			r.fail("object key string")
		}
		key := lua.LString(r.text)
		r.next()
		if r.token != jsonColon {
			r.fail("colon")
		}
		r.next()
		v := r.value()
		r.pending = appendCharged(r.L, appendCharged(r.L, r.pending, key), v)
	}
	members := r.pending[first:]
	charge(r.L, hashBytes(len(members)/2))
	t := r.L.CreateTable(0, len(members)/2)
	for i := 0; i < len(members); i += 2 {
		t.RawSetString(string(members[i].(lua.LString)), members[i+1])
	}
	r.pending = r.pending[:first]
	return t
}

// next reads the next token.
func (r *jsonReader) next() {
	for r.pos < len(r.in) && strings.IndexByte(" \t\n\r", r.in[r.pos]) >= 0 {
		r.pos++
	}
	r.at = r.pos
	if r.pos == len(r.in) {
		r.token = jsonEnd
		return
	}
	rest := r.in[r.pos:]
	switch c := rest[0]; {
	case c == '{':
		r.take(jsonObjectBegin, 1)
	case c == '}':
		r.take(jsonObjectEnd, 1)
	case c == '[':
		r.take(jsonArrayBegin, 1)
	case c == ']':
		r.take(jsonArrayEnd, 1)
	case c == ',':
		r.take(jsonComma, 1)
	case c == ':':
		r.take(jsonColon, 1)
	case c == '"':
		r.readString()
	case c == '-' || isDigit(c):
		if r.decodeInvalid == 0 && !isPlainNumber(rest) {
			r.token = jsonBadNumber
			return
		}
		r.readNumber(rest)
	case strings.HasPrefix(rest, "true"):
		r.truth = true
		r.take(jsonBoolean, len("true"))
	case strings.HasPrefix(rest, "false"):
		r.truth = false
		r.take(jsonBoolean, len("false"))
	case strings.HasPrefix(rest, "null"):
		r.take(jsonNull, len("null"))
	case r.decodeInvalid == 1 && strings.IndexByte("+iInN", c) >= 0 && !isPlainNumber(rest):
		r.readNumber(rest)
	default:
		r.token = jsonBadToken
	}
}

func (r *jsonReader) take(t jsonToken, n int) {
	r.token = t
	r.pos += n
}

// isPlainNumber tells if what begins like a number is neither signed with a plus nor hexadecimal, has no zeros before it, and
// is finite.
func isPlainNumber(s string) bool {
	if s[0] == '+' {
		return false
	}
	s = strings.TrimPrefix(s, "-")
	if strings.HasPrefix(s, "0") {
		return len(s) == 1 || s[1]|0x20 != 'x' && !isDigit(s[1])
	}
	return !hasPrefixFold(s, "inf") && !hasPrefixFold(s, "nan")
}

func (r *jsonReader) readNumber(rest string) {
	f, n := leadingNumber(rest)
	if n == 0 {
		r.token = jsonBadNumber
		return
	}
	r.number = f
	r.take(jsonNumber, n)
}

// readString reads a string, of which only those parts are copied that come between escapes.
func (r *jsonReader) readString() {
	r.pos++
	var text []byte
	for {
		plain := strings.IndexAny(r.in[r.pos:], `"\`)
		if plain < 0 {
			r.pos = len(r.in)
			r.at, r.token = r.pos, jsonUnfinished
			return
		}
		part := r.in[r.pos : r.pos+plain]
		r.pos += plain
		if r.in[r.pos] == '"' {
			if text == nil {
				charge(r.L, len(part))
				r.text = strings.Clone(part) // the document is not kept for it
			} else {
				charge(r.L, 2*(len(text)+len(part)))
				r.text = string(append(text, part...))
			}
			r.take(jsonString, 1)
			return
		}
		text = append(text, part...)
		var fault jsonToken
		if text, fault = r.appendEscape(text); fault != "" {
			r.at, r.token = r.pos, fault
			return
		}
	}
}

// appendEscape appends what the escape sequence stands for.
func (r *jsonReader) appendEscape(text []byte) ([]byte, jsonToken) {
	rest := r.in[r.pos+1:]
	if rest == "" {
		return nil, jsonBadEscape
	}
	if at := strings.IndexByte(jsonEscapeLetters, rest[0]); at >= 0 {
		r.pos += 2
		return append(text, jsonEscapes[at]), ""
	}
	if rest[0] != 'u' {
		return nil, jsonBadEscape
	}
	code, ok := hexCode(rest)
	length := 6
	switch {
	case !ok || code&0xfc00 == 0xdc00:
		return nil, jsonBadUnicode
	case code&0xfc00 == 0xd800:
		low, ok := rune(0), false
		if len(rest) > 5 && rest[5] == '\\' {
			low, ok = hexCode(rest[6:])
		}
		if !ok || low&0xfc00 != 0xdc00 {
			return nil, jsonBadUnicode
		}
		code = 0x10000 + code&0x3ff<<10 + low&0x3ff
		length = 12
	}
	r.pos += length
	return utf8.AppendRune(text, code), ""
}

// hexCode reads the letter u and four hexadecimal digits.
func hexCode(s string) (code rune, ok bool) {
	if len(s) < 5 || s[0] != 'u' {
		return 0, false
	}
	for _, c := range []byte(s[1:5]) {
		switch {
		case isDigit(c):
			code = code<<4 | rune(c-'0')
		case isHex(c):
			code = code<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return code, true
}
