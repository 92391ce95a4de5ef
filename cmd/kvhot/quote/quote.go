// Package quote writes key names, which are arbitrary bytes, so that a terminal shows them and does nothing else, and so
// that a reader of the text gets the bytes back.
//
// A name whose bytes reached the terminal as they are could move its cursor, colour or retitle it, or pass for another name
// by characters without width or that turn the direction of writing. Everything but printable characters is therefore
// escaped as redis-cli does: \n, \r, \t, \a, \b, \\, \" and \xHH for each byte of the rest.
package quote

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// terminal measures text the same in every locale: East Asian ones would count our own lines and dots as two columns.
var terminal = &runewidth.Condition{StrictEmojiNeutral: true}

// escapes are the characters that redis-cli writes with a letter.
var escapes = map[rune]string{'\n': `\n`, '\r': `\r`, '\t': `\t`, '\a': `\a`, '\b': `\b`, '\\': `\\`, '"': `\"`}

// Printable reports whether a character is seen and does nothing else. Among those that Unicode calls printable are some
// without a shape, such as variation selectors and the fillers of Hangul.
func Printable(r rune) bool {
	return unicode.IsPrint(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// marksMax is how many marks a character may carry, as many as any language needs. They have no width of their own: more
// would cover the lines around, and a name of a megabyte of them would pass for a short one.
const marksMax = 4

// Text returns the name with all but printable characters escaped. Different names have different texts.
func Text(name string) string {
	var b strings.Builder
	marks := marksMax // of the last character; the first of a name must be none, it would be put on what stands before
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		if unicode.In(r, unicode.Mn, unicode.Me) {
			marks++
		} else {
			marks = 0
		}
		switch escape := escapes[r]; {
		case escape != "":
			b.WriteString(escape)
		case r == utf8.RuneError && size == 1, !Printable(r), marks > marksMax:
			b.WriteString(escaped(name[i : i+size]))
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// Sentence returns a text of several words, such as an error that a server answered with, in which all is escaped that a
// terminal would not just show, but for the ends of lines.
func Sentence(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || Printable(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(escaped(string(r)))
		}
	}
	return b.String()
}

// escaped writes each byte as \xHH.
func escaped(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, `\x%02x`, c)
	}
	return b.String()
}

// Cell is Text for a cell of a CSV file. What spreadsheets take for a formula, some of them also by the wide
// forms of its first character, has that escaped, since clients choose the names of keys.
func Cell(name string) string {
	text := Text(name)
	if r, size := utf8.DecodeRuneInString(text); strings.ContainsRune("=+-@＝＋－＠", r) {
		return escaped(text[:size]) + text[size:]
	}
	return text
}

// JSON returns what JSON can hold of a name: the name itself where it is UTF-8, else its Text and the bytes in base64.
func JSON(name string) (text, bytes string) {
	if utf8.ValidString(name) {
		return name, ""
	}
	return Text(name), base64.StdEncoding.EncodeToString([]byte(name))
}

// Width returns the columns that a text takes in a terminal.
func Width(text string) int { return terminal.StringWidth(text) }

// Fit cuts a text in its middle so that it takes at most so many columns: names of keys differ at their ends.
func Fit(text string, columns int) string {
	if Width(text) <= columns {
		return text
	}
	if columns < 3 {
		return terminal.Truncate(text, max(columns, 0), "")
	}
	head := terminal.Truncate(text, columns/2, "")
	rest := columns - Width(head) - 1
	tail := terminal.TruncateLeft(text, Width(text)-rest, "")
	return head + "…" + tail
}

// Cut cuts a text at its end so that it takes at most so many columns: sentences are read from their beginning.
func Cut(text string, columns int) string {
	if columns < 1 {
		return ""
	}
	return terminal.Truncate(text, columns, "…")
}

// Pad fits a text and fills it with blanks to exactly so many columns.
func Pad(text string, columns int) string {
	text = Fit(text, columns)
	return text + strings.Repeat(" ", max(columns-Width(text), 0))
}
