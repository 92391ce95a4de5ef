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

// Text returns the name with all but printable characters escaped. Different names have different texts.
func Text(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		switch escape := escapes[r]; {
		case escape != "":
			b.WriteString(escape)
		case r == utf8.RuneError && size == 1, !unicode.IsPrint(r):
			for _, c := range []byte(name[i : i+size]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// Cell is Text for a cell of a CSV file. What spreadsheets take for a formula has its first character escaped, since clients
// choose the names of keys.
func Cell(name string) string {
	text := Text(name)
	if text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
		return fmt.Sprintf(`\x%02x`, text[0]) + text[1:]
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
