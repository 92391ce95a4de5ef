package web

import (
	"strings"
	"testing"
	"testing/quick"
)

func TestDisplayed(t *testing.T) {
	for name, want := range map[string]string{
		"user:1":                          "user:1",
		"":                                "",
		`back\slash`:                      `back\\slash`,
		"a\x00\r\n\x1b[31m":               `a\x00\x0d\x0a\x1b[31m`,
		"\xff\xfe":                        `\xff\xfe`,
		"ключ ☃":                          "ключ ☃",
		"user:\u202e4321":                 `user:\xe2\x80\xae4321`,
		"zero\u200bwidth\u00a0":           `zero\xe2\x80\x8bwidth\xc2\xa0`,
		"\u2028":                          `\xe2\x80\xa8`,
		"a\ufe0fb\U000e0101":              `a\xef\xb8\x8fb\xf3\xa0\x84\x81`,
		"\u3164\u115f\uffa0":              `\xe3\x85\xa4\xe1\x85\x9f\xef\xbe\xa0`,
		"\u0301e\u0301 हिन्दी":            `\xcc\x81` + "e\u0301 हिन्दी",
		"a" + strings.Repeat("\u0301", 6): "a" + strings.Repeat("\u0301", 4) + `\xcc\x81\xcc\x81`,
		"<script>alert(1)":                "<script>alert(1)",
		"replacement \ufffd too":          "replacement \ufffd too",
	} {
		if got := displayed(name); got != want {
			t.Errorf("displayed(%q) is %q, want %q", name, got, want)
		}
	}
}

// TestDisplayedTellsApart: escaping can be undone, so no two names look the same.
func TestDisplayedTellsApart(t *testing.T) {
	undo := func(text string) string {
		var b strings.Builder
		for i := 0; i < len(text); i++ {
			switch {
			case text[i] != '\\':
				b.WriteByte(text[i])
			case text[i+1] == '\\':
				b.WriteByte('\\')
				i++
			default:
				digit := func(c byte) byte { return byte(strings.IndexByte("0123456789abcdef", c)) }
				b.WriteByte(digit(text[i+2])<<4 | digit(text[i+3]))
				i += 3
			}
		}
		return b.String()
	}
	if err := quick.Check(func(name []byte) bool { return undo(displayed(string(name))) == string(name) }, nil); err != nil {
		t.Error(err)
	}
}

func TestLabel(t *testing.T) {
	long := strings.Repeat("n", labelBytesMax)
	labelOf := func(name string) string {
		cut, digest := Cut(name)
		return label(&Key{Name: cut, Digest: digest, Length: len(name)})
	}
	if got := labelOf(long); got != long {
		t.Errorf("a name that fits is changed: %q", got)
	}
	seen := map[string]bool{}
	for _, name := range []string{long + "a", long + "b", long + "aa", strings.Repeat("\x00", labelBytesMax), strings.Repeat("☃", labelBytesMax)} {
		got := labelOf(name)
		if len(got) > labelBytesMax+len("…0123456789abcdef") || !strings.Contains(got, "…") || seen[got] {
			t.Errorf("label(%q) is %q", name, got)
		}
		seen[got] = true
	}
	longer := strings.Repeat("n", NameBytesMax)
	for _, pair := range [][2]string{{longer + "a", longer + "b"}, {longer + "a", longer + "aa"}} {
		if a, b := labelOf(pair[0]), labelOf(pair[1]); a == b {
			t.Errorf("%q and %q have the same label %q", pair[0], pair[1], a)
		}
	}
}
