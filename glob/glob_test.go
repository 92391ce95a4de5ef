package glob

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// The answers are those of redis-server 7.0.15.
func TestMatch(t *testing.T) {
	const empty = "\x00empty"
	for _, c := range []struct{ pattern, matches, others string }{
		{"", empty, "a"},
		{"*", empty + " a ab \xff", ""},
		{"**", "a ab", empty},
		{"a", "a", "A b aa " + empty},
		{"?", "a * \xff", "ab é " + empty},
		{"a*", "a ab a*", "ba"},
		{"*a", "a ba aa baa", "ab"},
		{"a*b", "ab acb abb a*b", "a b abc"},
		{"a?b", "acb a?b a*b", "ab accb"},
		{"*ab*cd*", "abcd xabxcdx ababcd", "acbd cdab abc"},
		{"*aab", "aaab aab", "aabb"},
		{"*a?a*", "aba xabax", "aa aab"},
		{"h[ae]llo", "hello hallo", "hillo hllo h[ae]llo"},
		{"h[^e]llo", "hallo h^llo", "hello"},
		{"[a-c]", "a b c", "d -"},
		{"[c-a]", "a b c", "d -"},
		{"[a-cx-z]1", "b1 y1", "d1 -1"},
		{"[abc-]", "a b c", "- ab"}, // a range to "]", and then no end
		{"[-a]", "- a", "b"},
		{"[]a", "", "a ]a []a"},
		{"[]", "", "a ] []"},
		{"[^]", "a ]", "ab"},
		{"[^]b", "ab ]b", "b"},
		{"[", "", "a ["},
		{"[^", "a [ ^", "ab"},
		{"[a", "a", "[ b [a"},
		{"[a-", "a -", "b"},
		{"[a-c", "a b c", "-"},
		{"[\\]]", "]", "\\ a"},
		{"[\\a-c]", "a - c", "b \\"},
		{"[\\", "\\", "a ["},
		{"[a\\", "a \\", "["},
		{"[a*]b", "ab *b", "aab"},
		{"[[]", "[", "a ]"},
		{"a^b", "a^b", "ab"},
		{"a]", "a]", "a"},
		{"\\*", "*", "a \\*"},
		{"\\a", "a", "\\a"},
		{"\\", "\\", "a"},
		{"a\\", "a\\", "a"},
		{"\\\\", "\\", "\\\\"},
		{"*\\", "\\ a\\", "a"},
		{"\xc3?", "é", "e"},
	} {
		for _, want := range []bool{true, false} {
			names := c.others
			if want {
				names = c.matches
			}
			for _, name := range strings.Fields(names) {
				name = strings.TrimSuffix(name, empty)
				if got := Match([]byte(c.pattern), []byte(name)); got != want {
					t.Errorf("Match(%q, %q) = %v", c.pattern, name, got)
				}
			}
		}
	}
}

// A matcher that tries all ways would not return from any of these in the lifetime of the machine.
func TestManyStars(t *testing.T) {
	name := bytes.Repeat([]byte("a"), 100_000)
	for _, pattern := range []string{
		strings.Repeat("a*", 1000) + "b",
		strings.Repeat("*a", 1000) + "b",
		strings.Repeat("*a?[^b]", 1000) + "*b*",
		strings.Repeat("*", 100_000) + "b",
		"*" + strings.Repeat("a", 50_000) + "b*",
	} {
		if Match([]byte(pattern), name) {
			t.Errorf("%.20q... matches", pattern)
		}
		if pattern = strings.ReplaceAll(pattern, "b", "[ab]"); strings.Count(pattern, "?") == 0 && !Match([]byte(pattern), name) {
			t.Errorf("%.20q... does not match", pattern)
		}
	}
}

// TestLongPatterns: a pattern much longer than the names is given up as soon as it is wider than they are.
func TestLongPatterns(t *testing.T) {
	name := []byte("name")
	for _, p := range []string{strings.Repeat("?", 1<<20), strings.Repeat("[a-z]", 1<<18), "n*" + strings.Repeat("\\x", 1<<19)} {
		if at, _, _ := cut(bytes.TrimLeft([]byte(p), "n*"), len(name)); at.width > len(name)+1 {
			t.Errorf("%.10s…: %d bytes wide at a name of %d", p, at.width, len(name))
		}
		if Match([]byte(p), name) {
			t.Errorf("%.10s… matches %s", p, name)
		}
	}
	if _, rest, _ := cut([]byte(strings.Repeat("*", 1<<20)+"e"), len(name)); string(rest) != "e" {
		t.Errorf("after many stars: %d bytes", len(rest))
	}
}

func TestTooManyStars(t *testing.T) {
	name := bytes.Repeat([]byte("a"), 2*starsMax)
	for _, c := range []struct {
		stars string
		want  bool
	}{
		{strings.Repeat("*?", starsMax), true},
		{strings.Repeat("**?", starsMax) + "*", true},
		{strings.Repeat("*?", starsMax+1), false},
		{strings.Repeat("*a", starsMax) + "*[^b]", false},
	} {
		if Match([]byte(c.stars), name) != c.want {
			t.Errorf("%d stars: %v", strings.Count(c.stars, "*"), !c.want)
		}
	}
}

// model tries all ways to lay the pattern over the name.
type model struct {
	pattern, name string
	tried         map[[2]int]bool
}

func (m model) match(at, from int) bool {
	state := [2]int{at, from}
	if m.tried[state] {
		return false
	}
	m.tried[state] = true
	if at == len(m.pattern) {
		return from == len(m.name)
	}
	if m.pattern[at] == '*' {
		return m.match(at+1, from) || from < len(m.name) && m.match(at, from+1)
	}
	members, n := element(m.pattern[at:])
	return from < len(m.name) && members[m.name[from]] && m.match(at+n, from+1)
}

// element returns the bytes that the first element of a pattern stands for, and its length.
func element(p string) (members [256]bool, n int) {
	switch {
	case p[0] == '?':
		for i := range members {
			members[i] = true
		}
		return members, 1
	case p[0] == '\\' && len(p) > 1:
		members[p[1]] = true
		return members, 2
	case p[0] != '[':
		members[p[0]] = true
		return members, 1
	}
	body, not := strings.CutPrefix(p[1:], "^")
	for body != "" && body[0] != ']' {
		if body[0] == '\\' && len(body) > 1 {
			members[body[1]] = true
			body = body[2:]
		} else if len(body) > 2 && body[1] == '-' {
			for c := int(min(body[0], body[2])); c <= int(max(body[0], body[2])); c++ {
				members[c] = true
			}
			body = body[3:]
		} else {
			members[body[0]] = true
			body = body[1:]
		}
	}
	for i := range members {
		members[i] = members[i] != not
	}
	return members, len(p) - len(strings.TrimPrefix(body, "]"))
}

func compare(t *testing.T, pattern, name string) {
	t.Helper()
	if name == "" {
		return // TestMatch has the rule of its own
	}
	want := model{pattern, name, map[[2]int]bool{}}.match(0, 0)
	if got := Match([]byte(pattern), []byte(name)); got != want {
		t.Fatalf("Match(%q, %q) = %v", pattern, name, got)
	}
}

func TestModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	word := func(alphabet string, most int) string {
		b := make([]byte, random.IntN(most+1))
		for i := range b {
			b[i] = alphabet[random.IntN(len(alphabet))]
		}
		return string(b)
	}
	for range 100_000 {
		compare(t, word("ab**??[]^-\\c", 12), word("abc]-^\\", 10))
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("h[^a-c]llo*\\?", "hello?")
	f.Add("[\\", "\\")
	f.Add("*a*a*a*b", "aaaaaaaaaaaa")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern)*len(name) < 1<<16 {
			compare(t, pattern, name)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	for _, pattern := range []string{"user:*", "*:1234", "*ser:??0*", "user:[0-9]*4"} {
		b.Run(pattern, func(b *testing.B) {
			p, name := []byte(pattern), []byte("user:000:1234")
			for range b.N {
				if !Match(p, name) {
					b.Fatalf("%s does not match", p)
				}
			}
		})
	}
}
