package lua

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Lua's patterns, matched as lstrlib.c of Lua 5.1 does it: by backtracking. What a match may cost is bounded in depth, and
// its steps ask now and then whether the script was killed.

const (
	capturesMax  = 32
	matchDepth   = 2000 // nested calls; the C library has the stack of its thread
	stepsPerLook = 1 << 14
)

// Lengths of captures that are none.
const (
	captureOpen     = -1
	capturePosition = -2
)

type capture struct{ from, length int }

type matcher struct {
	L        *lua.LState
	src, pat string
	level    int
	depth    int
	steps    int
	captures [capturesMax]capture
}

func (m *matcher) step() { m.work(1) }

// work counts so many steps.
func (m *matcher) work(steps int) {
	if m.steps += steps; m.steps >= stepsPerLook {
		m.steps = 0
		heed(m.L)
	}
}

// match returns where a match that begins at s ends, with the pattern from p on, or -1.
func (m *matcher) match(s, p int) int {
	if m.depth++; m.depth > matchDepth {
		raise(m.L, "pattern too complex")
	}
	defer func() { m.depth-- }()
	for {
		m.step()
		if p == len(m.pat) {
			return s
		}
		switch m.pat[p] {
		case '(':
			if p+1 < len(m.pat) && m.pat[p+1] == ')' {
				return m.open(s, p+2, capturePosition)
			}
			return m.open(s, p+1, captureOpen)
		case ')':
			return m.shut(s, p+1)
		case '$':
			if p+1 == len(m.pat) {
				if s == len(m.src) {
					return s
				}
				return -1
			}
		case '%':
			if next, after, is := m.special(s, p); is {
				if next < 0 {
					return -1
				}
				s, p = next, after
				continue
			}
		}
		end := m.classEnd(p)
		fits := s < len(m.src) && m.single(m.src[s], p, end)
		suffix := byte(0)
		if end < len(m.pat) {
			suffix = m.pat[end]
		}
		switch suffix {
		case '?':
			if fits {
				if r := m.match(s+1, end+1); r >= 0 {
					return r
				}
			}
			p = end + 1
		case '*':
			return m.most(s, p, end)
		case '+':
			if !fits {
				return -1
			}
			return m.most(s+1, p, end)
		case '-':
			return m.least(s, p, end)
		default:
			if !fits {
				return -1
			}
			s++
			p = end
		}
	}
}

// special matches what begins with % and is no class: %bxy, %f[set] and %1. It returns where the match, -1 if there is none, and
// the item end.
func (m *matcher) special(s, p int) (next, after int, is bool) {
	if p+1 == len(m.pat) {
		return 0, 0, false
	}
	switch c := m.pat[p+1]; {
	case c == 'b':
		return m.balance(s, p+2), p + 4, true
	case isDigit(c):
		return m.again(s, c), p + 2, true
	case c != 'f':
		return 0, 0, false
	}
	if p += 2; p >= len(m.pat) || m.pat[p] != '[' {
		raise(m.L, "missing '[' after '%%f' in pattern")
	}
	end := m.classEnd(p)
	m.work(end - p)
	var before, here byte
	if s > 0 {
		before = m.src[s-1]
	}
	if s < len(m.src) {
		here = m.src[s]
	}
	if m.inSet(before, p, end-1) || !m.inSet(here, p, end-1) {
		s = -1
	}
	return s, end, true
}

// most takes as many as it can, then fewer.
func (m *matcher) most(s, p, end int) int {
	n := 0
	for s+n < len(m.src) && m.single(m.src[s+n], p, end) {
		m.step()
		n++
	}
	for ; n >= 0; n-- {
		if r := m.match(s+n, end+1); r >= 0 {
			return r
		}
	}
	return -1
}

// least takes as few as it can, then more.
func (m *matcher) least(s, p, end int) int {
	for {
		if r := m.match(s, end+1); r >= 0 {
			return r
		}
		if s >= len(m.src) || !m.single(m.src[s], p, end) {
			return -1
		}
		s++
	}
}

func (m *matcher) open(s, p, length int) int {
	if m.level >= capturesMax {
		raise(m.L, "too many captures")
	}
	m.captures[m.level] = capture{s, length}
	m.level++
	r := m.match(s, p)
	if r < 0 {
		m.level--
	}
	return r
}

func (m *matcher) shut(s, p int) int {
	l := m.level - 1
	for l >= 0 && m.captures[l].length != captureOpen {
		l--
	}
	if l < 0 {
		raise(m.L, "invalid pattern capture")
	}
	m.captures[l].length = s - m.captures[l].from
	r := m.match(s, p)
	if r < 0 {
		m.captures[l].length = captureOpen
	}
	return r
}

// again matches what a capture has matched.
func (m *matcher) again(s int, digit byte) int {
	l := int(digit) - '1'
	if l < 0 || l >= m.level || m.captures[l].length == captureOpen {
		raise(m.L, "invalid capture index")
	}
	c := m.captures[l]
	m.work(max(c.length, 0))
	if text := m.src[c.from : c.from+max(c.length, 0)]; strings.HasPrefix(m.src[s:], text) {
		return s + len(text)
	}
	return -1
}

// balance matches what two characters enclose.
func (m *matcher) balance(s, p int) int {
	if p+1 >= len(m.pat) {
		raise(m.L, "unbalanced pattern")
	}
	if s >= len(m.src) || m.src[s] != m.pat[p] {
		return -1
	}
	depth := 1
	for i := s + 1; i < len(m.src); i++ {
		m.step()
		switch m.src[i] {
		case m.pat[p+1]:
			if depth--; depth == 0 {
				return i + 1
			}
		case m.pat[p]:
			depth++
		}
	}
	return -1
}

// classEnd returns where the class that begins at p ends.
func (m *matcher) classEnd(p int) int {
	c, from := m.pat[p], p
	p++
	switch c {
	case '%':
		if p >= len(m.pat) {
			raise(m.L, "malformed pattern (ends with '%%')")
		}
		return p + 1
	case '[':
		if p < len(m.pat) && m.pat[p] == '^' {
			p++
		}
		for first := true; first || p >= len(m.pat) || m.pat[p] != ']'; first = false {
			if p >= len(m.pat) {
				raise(m.L, "malformed pattern (missing ']')")
			}
			if p++; m.pat[p-1] == '%' {
				p++
			}
		}
		m.work(p + 1 - from)
		return p + 1
	}
	return p
}

// single tells whether a character is in the class from p to end.
func (m *matcher) single(c byte, p, end int) bool {
	switch m.pat[p] {
	case '.':
		return true
	case '%':
		return inClass(c, m.pat[p+1])
	case '[':
		m.work(end - p)
		return m.inSet(c, p, end-1)
	}
	return m.pat[p] == c
}

// inSet tells whether a character is in the set whose brackets are at p and end.
func (m *matcher) inSet(c byte, p, end int) bool {
	in := true
	if p+1 < len(m.pat) && m.pat[p+1] == '^' {
		in = false
		p++
	}
	for p++; p < end; p++ {
		switch {
		case m.pat[p] == '%':
			if p++; inClass(c, m.pat[p]) {
				return in
			}
		case p+2 < end && m.pat[p+1] == '-':
			if m.pat[p] <= c && c <= m.pat[p+2] {
				return in
			}
			p += 2
		case m.pat[p] == c:
			return in
		}
	}
	return !in
}

// inClass tells whether a character is in a class that a letter names; other characters stand for themselves.
func inClass(c, class byte) (in bool) {
	letter := c|0x20 >= 'a' && c|0x20 <= 'z'
	switch class | 0x20 {
	case 'a':
		in = letter
	case 'c':
		in = c < 32 || c == 127
	case 'd':
		in = isDigit(c)
	case 'l':
		in = letter && c >= 'a'
	case 'p':
		in = c > 32 && c < 127 && !letter && !isDigit(c)
	case 's':
		in = strings.IndexByte(spaces, c) >= 0
	case 'u':
		in = letter && c < 'a'
	case 'w':
		in = letter || isDigit(c)
	case 'x':
		in = isHex(c)
	case 'z':
		in = c == 0
	default:
		return class == c
	}
	if class >= 'A' && class <= 'Z' {
		return !in
	}
	if class < 'A' || class > 'z' {
		return class == c // not a letter
	}
	return in
}

// value is what a capture gives; the whole match if there are none.
func (m *matcher) value(i, from, to int) lua.LValue {
	if i >= m.level {
		if i != 0 {
			raise(m.L, "invalid capture index")
		}
		return lua.LString(m.src[from:to])
	}
	switch c := m.captures[i]; c.length {
	case captureOpen:
		raise(m.L, "unfinished capture")
	case capturePosition:
		return lua.LNumber(c.from + 1)
	default:
		return lua.LString(m.src[c.from : c.from+c.length])
	}
	return lua.LNil
}

// push pushes the captures, or the whole match if there are none and whole asks for it.
func (m *matcher) push(from, to int, whole bool) int {
	n := m.level
	if n == 0 && whole {
		n = 1
	}
	for i := range n {
		m.L.Push(m.value(i, from, to))
	}
	return n
}
