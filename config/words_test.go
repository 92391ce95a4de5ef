package config

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSplitWords(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
	}{
		{"", nil},
		{" \t\v\f\r ", nil},
		{"port 6379", []string{"port", "6379"}},
		{"a # b", []string{"a", "#", "b"}},
		{`save ""`, []string{"save", ""}},
		{`a ''`, []string{"a", ""}},
		{`a "b c" 'd e'`, []string{"a", "b c", "d e"}},
		{`a "\n\r\t\b\a\x41\xfF\\\"\q\x4\xzz"`, []string{"a", "\n\r\t\b\aA\xff\\\"qx4xzz"}},
		{"a \"\\x\x14\x14\"", []string{"a", "x\x14\x14"}},
		{`a '\n\'\x\ '`, []string{"a", `\n'\x\ `}},
		{`a\nb`, []string{`a\nb`}},
		{`a"b c"`, []string{"ab c"}},
		{`a'b c' d`, []string{"ab c", "d"}},
		{"grüße", []string{"grüße"}},
	} {
		got, err := splitWords(c.line)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("splitWords(%q) = %q, %v; want %q", c.line, got, err, c.want)
		}
	}
	for _, line := range []string{`"`, `'`, `a "b`, `a "b\"`, `a "b\`, `a 'b\'`, `a 'b\\'`, `a "b"c`, `a 'b'c`, `a "b""c"`} {
		if got, err := splitWords(line); err == nil {
			t.Errorf("splitWords(%q) = %q, want an error", line, got)
		}
	}
}

func TestQuoteWord(t *testing.T) {
	for word, want := range map[string]string{
		"":          `""`,
		"plain":     "plain",
		"#x":        "#x",
		"/tmp/grün": "/tmp/grün",
		"a b":       `"a b"`,
		`a"b\`:      `"a\"b\\"`,
		"it's":      `"it's"`,
		"\n\x00":    `"\n\x00"`,
		"\xff":      `"\xff"`,
		"\u00a0":    `"\xc2\xa0"`,
	} {
		if got := quoteWord(word); got != want {
			t.Errorf("quoteWord(%q) = %s, want %s", word, got, want)
		}
	}
}

func TestQuotedWordsSplitAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		words := rapid.SliceOf(word).Draw(t, "words")
		line := quoteWords(words)
		got, err := splitWords(line)
		if err != nil || !slices.Equal(got, words) {
			t.Fatalf("%q, written %s, reads %q, %v", words, line, got, err)
		}
	})
}

// FuzzConf reads any bytes as a configuration file. What the reader takes apart must survive being written and read
// again, and a file that loads must load to the same values after a rewrite of its text.
func FuzzConf(f *testing.F) {
	for _, seed := range []string{
		"port 1\n# c\nsave 900 1\r\nsave \"\"\n",
		"requirepass \"\\x00\\\"'\"\nbind '127.0.0.1' ::1",
		"client-output-buffer-limit replica 1 2 3\nmaxmemory 1gb\nMAXMEMORY 5\n",
		"include /nonexistent/*.conf\nloglevel \"debug",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 || bytes.Contains(bytes.ToLower(data), []byte(includeDirective)) {
			return // files of the machine that runs this are none of its business
		}
		var printed strings.Builder
		for raw := range bytes.SplitSeq(data, []byte("\n")) {
			words, err := parseLine(string(raw))
			if err != nil || len(words) == 0 || strings.HasPrefix(words[0], "#") {
				continue
			}
			line := quoteWords(words)
			again, err := parseLine(line)
			if err != nil || !slices.Equal(again, words) {
				t.Fatalf("%q, written %s, reads %q, %v", words, line, again, err)
			}
			printed.WriteString(line + "\n")
		}
		first, second := newSample(), newSample()
		if first.Load([]string{"-"}, bytes.NewReader(data)) != nil {
			return
		}
		if err := second.Load([]string{"-"}, strings.NewReader(printed.String())); err != nil {
			t.Fatalf("written again it does not load: %v", err)
		}
		sameValues(t, first.Registry, second.Registry)
		third := newSample()
		l := newLoader(first.Registry, "/")
		if err := l.parse(data, "conf", true); err != nil {
			t.Fatal(err)
		}
		edited, err := first.edit(l, data)
		if err != nil {
			t.Fatal(err)
		}
		if err := third.Load([]string{"-"}, bytes.NewReader(edited)); err != nil {
			t.Fatalf("rewritten it does not load: %v", err)
		}
		sameValues(t, first.Registry, third.Registry)
	})
}

// fataler is what testing.T and rapid.T share here.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func sameValues(t fataler, a, b *Registry) {
	t.Helper()
	other := values(b)
	for name, value := range values(a) {
		if other[name] != value {
			t.Fatalf("%s is %q in one and %q in the other", name, value, other[name])
		}
	}
}
