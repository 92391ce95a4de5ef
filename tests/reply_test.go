package tests

import (
	"bufio"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// value is a reply taken apart.
type value struct {
	kind  byte // the type byte of the protocol: '+', '$', '*', '%', …
	text  string
	null  bool // a nil bulk string or a nil array of RESP2
	elems []value
}

// parseReply takes apart the bytes of one whole reply.
func parseReply(raw string) value {
	r := bufio.NewReader(strings.NewReader(raw))
	v := parseValue(r)
	if r.Buffered() > 0 {
		panic(fmt.Sprintf("more than one reply in %q", raw))
	}
	return v
}

// parseValue may trust its input: readReply has checked the frame.
func parseValue(r *bufio.Reader) value {
	line, _ := r.ReadString('\n')
	v := value{kind: line[0], text: line[1 : len(line)-2]}
	if strings.IndexByte("+-:,#_(", v.kind) >= 0 {
		return v
	}
	n, _ := strconv.Atoi(v.text)
	if v.null = n < 0; v.null {
		v.text = ""
		return v
	}
	switch v.kind {
	case '$', '=', '!':
		body := make([]byte, n+2)
		for read := 0; read < len(body); {
			k, err := r.Read(body[read:])
			if err != nil {
				panic(err)
			}
			read += k
		}
		v.text = string(body[:n])
		return v
	case '%', '|':
		n *= 2
	}
	v.text = ""
	for range n {
		v.elems = append(v.elems, parseValue(r))
	}
	return v
}

// int returns the number an integer reply holds.
func (v value) int() (int64, bool) {
	n, err := strconv.ParseInt(v.text, 10, 64)
	return n, v.kind == ':' && err == nil
}

// field returns the value that stands after a key in a map of RESP3 or in the
// flat array that RESP2 has instead.
func (v value) field(name string) (value, bool) {
	for i := 0; i+1 < len(v.elems); i += 2 {
		if v.elems[i].text == name {
			return v.elems[i+1], true
		}
	}
	return value{}, false
}

// texts returns the elements of an array of strings.
func (v value) texts() []string {
	out := make([]string, len(v.elems))
	for i, e := range v.elems {
		out[i] = e.text
	}
	return out
}

// sorted returns an array with its elements in the order of their printed form.
func (v value) sorted() value {
	v.elems = slices.Clone(v.elems)
	slices.SortFunc(v.elems, func(a, b value) int { return strings.Compare(a.String(), b.String()) })
	return v
}

// plainStatus is what may be printed of a simple string without quotes and
// still be told from everything else.
var plainStatus = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9 _.:-]*$`)

// String prints a reply the way redis-cli does, except that nothing is lost: a
// different reply always prints differently.
func (v value) String() string {
	switch v.kind {
	case '+':
		if plainStatus.MatchString(v.text) {
			return v.text
		}
		return "(status) " + quote(v.text)
	case '-':
		return "(error) " + printable(v.text)
	case ':':
		return "(integer) " + printable(v.text)
	case ',':
		return "(double) " + printable(v.text)
	case '(':
		return "(big number) " + printable(v.text)
	case '#':
		return map[string]string{"t": "(true)", "f": "(false)"}[v.text]
	case '_':
		return "(null)"
	case '!':
		return "(bulk error) " + quote(v.text)
	case '=':
		return "(verbatim) " + quote(v.text)
	case '$':
		if v.null {
			return "(nil)"
		}
		return quote(v.text)
	}
	if v.null {
		return "(nil array)"
	}
	return v.list()
}

// list prints what has elements: one a line, the lines of a nested one indented.
func (v value) list() string {
	form := map[byte]struct{ name, mark string }{
		'*': {"array", ")"}, '%': {"map", "#"}, '~': {"set", "~"}, '>': {"push", ">"}, '|': {"attributes", "|"},
	}[v.kind]
	if len(v.elems) == 0 {
		return "(empty " + form.name + ")"
	}
	step := 1
	if v.kind == '%' || v.kind == '|' {
		step = 2
	}
	var b strings.Builder
	width := len(strconv.Itoa(len(v.elems) / step))
	for i := 0; i < len(v.elems); i += step {
		head := fmt.Sprintf("%*d%s ", width, i/step+1, form.mark)
		if step == 2 {
			head += indent(v.elems[i].String(), len(head)) + " => "
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(head)
		b.WriteString(indent(v.elems[i+step-1].String(), len(head)-1-strings.LastIndexByte(head, '\n')))
	}
	return b.String()
}

// indent moves all lines but the first to the right.
func indent(s string, columns int) string {
	return strings.ReplaceAll(s, "\n", "\n"+strings.Repeat(" ", columns))
}

// quote writes a string as redis-cli prints it: in double quotes, whatever is
// not printable ASCII escaped.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		case '\a':
			b.WriteString(`\a`)
		case '\b':
			b.WriteString(`\b`)
		default:
			if c < ' ' || c > '~' {
				fmt.Fprintf(&b, `\x%02x`, c)
				continue
			}
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// printable is quote without the quotes, for text that ends with its line.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) || s == "" || s[0] == '"' {
		return quote(s)
	}
	return s
}

// quoteArgs writes a command so that splitArgs reads it back.
func quoteArgs(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = a
		if a == "" || strings.ContainsFunc(a, func(r rune) bool {
			return r <= ' ' || r > '~' || r == '"' || r == '\'' || r == '\\'
		}) || a[0] == '@' || a[0] == '#' {
			words[i] = quote(a)
		}
	}
	return strings.Join(words, " ")
}

// splitArgs reads a command as redis-cli does: words apart by blanks, double
// quotes with escapes, single quotes in which only \' means something.
func splitArgs(line string) ([]string, error) {
	var args []string
	for i := 0; ; {
		for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
			i++
		}
		if i == len(line) {
			return args, nil
		}
		word, end, err := splitWord(line, i)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		args, i = append(args, word), end
	}
}

// splitWord reads the word that begins at i and returns where it ends.
func splitWord(line string, i int) (string, int, error) {
	mark := line[i]
	if mark != '"' && mark != '\'' {
		end := i
		for end < len(line) && line[end] != ' ' && line[end] != '\t' {
			end++
		}
		return line[i:end], end, nil
	}
	var b strings.Builder
	for i++; i < len(line); i++ {
		switch c := line[i]; {
		case c == mark:
			if i+1 < len(line) && line[i+1] != ' ' && line[i+1] != '\t' {
				return "", 0, fmt.Errorf("text right after a closing quote")
			}
			return b.String(), i + 1, nil
		case c == '\\' && mark == '\'' && strings.HasPrefix(line[i:], `\'`):
			b.WriteByte('\'')
			i++
		case c == '\\' && mark == '"' && i+1 < len(line):
			n := unescape(&b, line[i+1:])
			i += n
		default:
			b.WriteByte(c)
		}
	}
	return "", 0, fmt.Errorf("a quote is not closed")
}

// unescape writes what an escape stands for and returns how many bytes of it
// follow the backslash.
func unescape(b *strings.Builder, s string) int {
	if s[0] == 'x' && len(s) >= 3 {
		if c, err := strconv.ParseUint(s[1:3], 16, 8); err == nil {
			b.WriteByte(byte(c))
			return 3
		}
	}
	c := s[0]
	if i := strings.IndexByte("nrtab", c); i >= 0 {
		c = "\n\r\t\a\b"[i]
	}
	b.WriteByte(c)
	return 1
}

func TestReplyNotationLosesNothing(t *testing.T) {
	raws := []string{
		"+OK\r\n", "+\r\n", "+(nil)\r\n", "+1) x\r\n", "$2\r\nOK\r\n", "$0\r\n\r\n", "$-1\r\n", "*-1\r\n", "_\r\n", "*0\r\n",
		"%0\r\n", "~0\r\n", ":1\r\n", "$1\r\n1\r\n", ",1\r\n", "(1\r\n", "#t\r\n", "#f\r\n", "-OK\r\n", "!2\r\nOK\r\n",
		"=6\r\ntxt:OK\r\n", "*1\r\n*1\r\n$1\r\na\r\n", "*2\r\n*0\r\n$1\r\na\r\n", "*1\r\n*2\r\n*0\r\n$1\r\na\r\n",
		"%1\r\n$1\r\na\r\n:1\r\n", "*2\r\n$1\r\na\r\n:1\r\n", ">1\r\n$1\r\na\r\n", "~1\r\n$1\r\na\r\n", "$4\r\n\x00\r\n\xff\r\n",
	}
	seen := map[string]string{}
	for _, raw := range raws {
		text := parseReply(raw).String()
		if other, dup := seen[text]; dup {
			t.Errorf("%q and %q both print as %s", raw, other, text)
		}
		seen[text] = raw
	}
	for _, args := range [][]string{{"SET", "", "a b"}, {"\x00\xff\"'\\\n\r\t", "@x", "#y"}, {"a'b", "a\"b"}} {
		back, err := splitArgs(quoteArgs(args))
		if err != nil || !slices.Equal(back, args) {
			t.Errorf("%q came back as %q (%v)", args, back, err)
		}
	}
}
