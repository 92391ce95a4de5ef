package lua

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// The compiler of gopher-lua calls itself as deep as the source text nests, looks again at every part of a chain of operators for
// each of its links, and keeps what it has not understood yet on a stack: a megabyte of "(((" would end the process. So
// a text is measured before it is compiled.

const (
	nestingMax = 190     // as deep as the C compiler goes (LUAI_MAXCCALLS, less what it needs itself)
	chainMax   = 4000    // links of a.b.c, a+b+c, elseif ... elseif
	sourceMax  = 4 << 20 // bytes of a script; the tree of one takes about sourceCost times as much
	sourceCost = 40

	// Nothing else runs while a text is compiled, and nothing ends it: these bounds make that a second at most.
	tokensMax    = 1 << 18 // words and symbols: some 4 µs each
	wordsMax     = 1 << 13 // different ones: the compiler compares each constant with all others
	functionsMax = 1 << 11 // the compiler takes some 25 KB for each
)

var (
	errTooDeep      = errors.New("chunk has too many syntax levels")
	errTooManyWords = errors.New("constant table overflow")
	errTooLong      = errors.New("chunk has too many instructions or functions")
)

// load compiles a chunk.
func (rt *Runtime) load(name, code string, env *lua.LTable) (fn *lua.LFunction, err error) {
	if len(code) > sourceMax {
		return nil, fmt.Errorf("%s:1: the script is longer than %d bytes", name, sourceMax)
	}
	if line, err := checkNesting(code); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, line, err)
	}
	defer func() {
		if fault := recover(); fault != nil { // gopher-lua's way to say that something has no place in its code
			fn, err = nil, fmt.Errorf("%s:1: %v", name, fault)
		}
	}()
	chunk, err := parse.Parse(strings.NewReader(code), name)
	if err != nil {
		return nil, syntaxError(name, err)
	}
	proto, err := lua.Compile(chunk, name)
	if err != nil {
		return nil, compileError(name, err)
	}
	trim(proto)
	proto.IsVarArg &^= lua.VarArgNeedsArg // a chunk has no variable arg
	fn = rt.state.NewFunctionFromProto(proto)
	fn.Env = env
	return fn, nil
}

// trim lets go of the room that the compiler has left in a function, for a thousand instructions each, and in those in it.
func trim(proto *lua.FunctionProto) {
	proto.Code, proto.DbgSourcePositions = slices.Clone(proto.Code), slices.Clone(proto.DbgSourcePositions)
	for _, p := range proto.FunctionPrototypes {
		trim(p)
	}
}

// syntaxError says as much as is known in the form of the C compiler.
func syntaxError(name string, err error) error {
	var at *parse.Error
	if !errors.As(err, &at) {
		return fmt.Errorf("%s:1: %v", name, err)
	}
	near, line := at.Token, at.Pos.Line
	if near == "" || at.Pos.Line == parse.EOF {
		near = "<eof>"
	}
	what := strings.TrimSpace(at.Message)
	switch {
	case what == "syntax error" && near == "<eof>":
		what = "unexpected symbol"
	case what == "syntax error":
		what = "unexpected symbol"
	case what == "unterminated string":
		what, near = "unfinished string", "<eof>"
	}
	return fmt.Errorf("%s:%d: %s near '%s'", name, max(line, 1), what, near)
}

// compileErrorForm is how gopher-lua words what its compiler refuses.
var compileErrorForm = regexp.MustCompile(`^compile error near line\((\d+)\) .*?: (.*)$`)

func compileError(name string, err error) error {
	if m := compileErrorForm.FindStringSubmatch(strings.TrimSpace(err.Error())); m != nil {
		return fmt.Errorf("%s:%s: %s", name, m[1], m[2])
	}
	return fmt.Errorf("%s:1: %v", name, err)
}

// nesting is what is open in a source text: how long the chains of the expressions in it are.
type nesting struct {
	rights   int // operators that wait for what is to the right of them
	links    int // of a chain
	elses    int
	operand  bool // an operand has just ended
	line     int
	brackets []level
}

type level struct{ rights, links, elses int }

// checkNesting refuses a text that nests too deep, with the line where it does.
func checkNesting(code string) (line int, err error) {
	n := nesting{line: 1}
	words := map[string]struct{}{}
	tokens, functions := 0, 0
	for i := 0; i < len(code); {
		size, word := n.token(code[i:])
		if word != "" {
			if !n.take(word) {
				return n.line, errTooDeep
			}
			if words[code[i:i+size]] = struct{}{}; len(words) > wordsMax {
				return n.line, errTooManyWords
			}
			if word == "function" {
				functions++
			}
			if tokens++; tokens > tokensMax || functions > functionsMax {
				return n.line, errTooLong
			}
		}
		n.line += strings.Count(code[i:i+size], "\n")
		i += size
	}
	return 0, nil
}

// token returns the length of what s begins with and what it is: a word or symbol, "1" for a number or a string, "" for what
// does not matter.
func (n *nesting) token(s string) (size int, word string) {
	switch c := s[0]; {
	case strings.HasPrefix(s, "--"):
		if long := longBracket(s[2:]); long > 0 {
			return 2 + long, ""
		}
		end := strings.IndexByte(s, '\n')
		if end < 0 {
			end = len(s)
		}
		return end, ""
	case c == '\'' || c == '"':
		return quotedLen(s), "1"
	case c == '[':
		if long := longBracket(s); long > 0 {
			return long, "1"
		}
		return 1, "["
	case isDigit(c) || c == '.' && len(s) > 1 && isDigit(s[1]):
		size = 1
		for size < len(s) && (isWord(s[size]) || s[size] == '.' || (s[size] == '-' || s[size] == '+') && s[size-1]|0x20 == 'e') {
			size++
		}
		return size, "1"
	case isWord(c):
		size = 1
		for size < len(s) && isWord(s[size]) {
			size++
		}
		return size, s[:size]
	case strings.IndexByte(spaces, c) >= 0:
		return 1, ""
	}
	for _, symbol := range []string{"...", "..", "==", "~=", "<=", ">="} {
		if strings.HasPrefix(s, symbol) {
			return len(symbol), symbol
		}
	}
	return 1, s[:1]
}

func isWord(c byte) bool {
	return isDigit(c) || c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}

// longBracket returns the length of a long string such as [==[ ... ]==] at the beginning of s, or 0.
func longBracket(s string) int {
	if s == "" || s[0] != '[' {
		return 0
	}
	n := 1
	for n < len(s) && s[n] == '=' {
		n++
	}
	if n == len(s) || s[n] != '[' {
		return 0
	}
	closing := "]" + s[1:n] + "]"
	if end := strings.Index(s[n+1:], closing); end >= 0 {
		return n + 1 + end + len(closing)
	}
	return len(s)
}

// quotedLen returns the length of a quoted string, which ends at the end of the line at the latest.
func quotedLen(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		case '\n':
			return i
		}
	}
	return len(s)
}

// take follows one token. It reports whether the text is still within bounds.
func (n *nesting) take(word string) bool {
	wasOperand := n.operand
	n.operand = false
	switch word {
	case "(", "{", "[":
		if wasOperand {
			n.links++
		}
		return n.open()
	case "function", "do", "then", "repeat":
		return n.open()
	case ")", "}", "]":
		n.close()
		n.operand = true
	case "end", "until":
		n.close()
		n.operand = word == "end"
	case "elseif":
		n.close()
		n.elses++
	case "else":
		n.close()
		return n.open()
	case "if":
		n.rights, n.links, n.elses = 0, 0, 0
	case "..", "^", "not", "#":
		n.rights++
	case "-":
		if wasOperand {
			n.links++
		} else {
			n.rights++
		}
	case "+", "*", "/", "%", "==", "~=", "<", ">", "<=", ">=", "and", "or", ".", ":":
		n.links++
	case ",", ";", "=", "while", "for", "in", "return", "local", "break":
		n.rights, n.links = 0, 0
	default: // an operand
		if word != "1" && wasOperand {
			n.rights, n.links = 0, 0 // a statement begins
		} else if wasOperand {
			n.links++ // f "text"
		}
		n.operand = true
	}
	return n.rights <= nestingMax && n.links <= chainMax && n.elses <= chainMax
}

func (n *nesting) open() bool {
	n.brackets = append(n.brackets, level{n.rights, n.links, n.elses})
	n.rights, n.links, n.elses = 0, 0, 0
	return len(n.brackets) <= nestingMax
}

func (n *nesting) close() {
	if last := len(n.brackets) - 1; last >= 0 {
		l := n.brackets[last]
		n.brackets = n.brackets[:last]
		n.rights, n.links, n.elses = l.rights, l.links, l.elses
	}
}
