package quote

import (
	"encoding/base64"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestText(t *testing.T) {
	for name, want := range map[string]string{
		"user:1":                          `user:1`,
		"":                                ``,
		"grüße €":                         `grüße €`,
		"a\x1b[31mb":                      `a\x1b[31mb`,
		"line\r\n\ttab":                   `line\r\n\ttab`,
		`back\slash "quoted"`:             `back\\slash \"quoted\"`,
		"\xff\xfe":                        `\xff\xfe`,
		"right\u202eleft":                 `right\xe2\x80\xaeleft`,
		"no\u200bwidth":                   `no\xe2\x80\x8bwidth`,
		"\x00\a\b":                        `\x00\a\b`,
		"a\ufe0fb\U000e0101":              `a\xef\xb8\x8fb\xf3\xa0\x84\x81`,
		"\u3164\u115f\uffa0":              `\xe3\x85\xa4\xe1\x85\x9f\xef\xbe\xa0`,
		"हिन्दी":                          "हिन्दी",
		"\u0301e\u0301":                   `\xcc\x81` + "e\u0301",
		"a" + strings.Repeat("\u0301", 6): "a" + strings.Repeat("\u0301", 4) + `\xcc\x81\xcc\x81`,
		"the char of bad \ufffd":          "the char of bad \ufffd",
	} {
		if got := Text(name); got != want {
			t.Errorf("Text(%q) = %s, want %s", name, got, want)
		}
	}
}

func TestCellIsNoFormula(t *testing.T) {
	for name, want := range map[string]string{"=1+1": `\x3d1+1`, "+1": `\x2b1`, "-1": `\x2d1`, "@a": `\x40a`, "a=1": "a=1", "": "", "\t=1": `\t=1`,
		"＝1": `\xef\xbc\x9d1`, "＠": `\xef\xbc\xa0`} {
		if got := Cell(name); got != want {
			t.Errorf("Cell(%q) = %s, want %s", name, got, want)
		}
	}
}

func TestSentence(t *testing.T) {
	if got, want := Sentence("ERR \x1b[2J 'a' \"b\" c:\\d é\u009b\r\n\xff"), `ERR \x1b[2J 'a' "b" c:\d é\xc2\x9b\x0d`+"\n\ufffd"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestTextIsPrintableAndExact: any bytes become printable text from which they can be read again.
func TestTextIsPrintableAndExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := string(rapid.SliceOf(rapid.Byte()).Draw(t, "name"))
		for _, text := range []string{Text(name), Cell(name)} {
			for _, r := range text {
				if !Printable(r) {
					t.Fatalf("%q in the text of %q", r, name)
				}
			}
			back, err := strconv.Unquote(`"` + text + `"`)
			if err != nil || back != name {
				t.Fatalf("%q is read as %q (%v)", name, back, err)
			}
		}
		text, raw := JSON(name)
		if back, _ := base64.StdEncoding.DecodeString(raw); (text == name) == (string(back) == name) && name != "" {
			t.Fatalf("JSON(%q) = %q, %q", name, text, raw)
		}
		if !utf8.ValidString(text) {
			t.Fatalf("JSON(%q) is not UTF-8", name)
		}
	})
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"short", 5, "short"}, {"session:0000001", 9, "sess…0001"}, {"abcdef", 2, "ab"}, {"abcdef", 0, ""}, {"abcdef", -1, ""},
		{"日本語日本語", 7, "日…本語"},
	} {
		if got := Fit(c.text, c.columns); got != c.want {
			t.Errorf("Fit(%q, %d) = %q, want %q", c.text, c.columns, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text, columns := rapid.StringMatching(`[a-z日本\\]*`).Draw(t, "text"), rapid.IntRange(0, 40).Draw(t, "columns")
		if got := Fit(text, columns); Width(got) > columns {
			t.Fatalf("Fit(%q, %d) = %q takes %d columns", text, columns, got, Width(got))
		}
		if got := Cut(text, columns); Width(got) > columns {
			t.Fatalf("Cut(%q, %d) = %q takes %d columns", text, columns, got, Width(got))
		}
		if got := Pad(text, columns); Width(got) != columns {
			t.Fatalf("Pad(%q, %d) takes %d columns", text, columns, Width(got))
		}
	})
	if got := Cut("a sentence", 8); got != "a sente…" {
		t.Errorf("Cut = %q", got)
	}
	if got := Pad("a", 3); got != "a  " || strings.TrimSpace(got) != "a" {
		t.Errorf("Pad = %q", got)
	}
}
