package config

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

var errQuotes = errors.New("unbalanced quotes")

// splitWords cuts a line of the configuration file into words, with the quoting of redis.conf. Words are separated by
// blanks. "…" may hold \n \r \t \b \a, \xHH and any other character after a backslash for itself; '…' knows only \'.
// A quote may begin inside a word, but after its end the word must end too.
func splitWords(line string) ([]string, error) {
	var words []string
	for i := 0; ; {
		for i < len(line) && isBlank(line[i]) {
			i++
		}
		if i == len(line) {
			return words, nil
		}
		word, n, err := scanWord(line[i:])
		if err != nil {
			return nil, err
		}
		words = append(words, word)
		i += n
	}
}

// scanWord reads the word at the begin of text and returns it with the number of bytes it took.
func scanWord(text string) (word string, n int, err error) {
	var b strings.Builder
	for n < len(text) && !isBlank(text[n]) {
		c := text[n]
		if c != '"' && c != '\'' {
			b.WriteByte(c)
			n++
			continue
		}
		quoted, err := scanQuoted(&b, text[n+1:], c)
		if err != nil {
			return "", 0, err
		}
		n += 1 + quoted
		if n < len(text) && !isBlank(text[n]) {
			return "", 0, errQuotes
		}
	}
	return b.String(), n, nil
}

// scanQuoted reads from after a quote to its end, and returns the number of bytes read, the ending quote included.
func scanQuoted(b *strings.Builder, text string, quote byte) (n int, err error) {
	for n < len(text) {
		c := text[n]
		switch {
		case c == quote:
			return n + 1, nil
		case c != '\\' || n+1 == len(text):
			b.WriteByte(c)
			n++
		case quote == '\'':
			if text[n+1] == '\'' {
				c = '\''
				n++
			}
			b.WriteByte(c)
			n++
		default:
			c, taken := unescape(text[n+1:])
			b.WriteByte(c)
			n += 1 + taken
		}
	}
	return 0, errQuotes
}

// unescape reads what follows a backslash, at least one byte, and returns the byte meant and how many it took.
func unescape(text string) (c byte, taken int) {
	switch text[0] {
	case 'n':
		return '\n', 1
	case 'r':
		return '\r', 1
	case 't':
		return '\t', 1
	case 'b':
		return '\b', 1
	case 'a':
		return '\a', 1
	case 'x':
		if len(text) >= 3 {
			high, low := hexDigit(text[1]), hexDigit(text[2])
			if high >= 0 && low >= 0 {
				return byte(high<<4 | low), 3
			}
		}
	}
	return text[0], 1
}

// hexDigit returns the value of a hexadecimal digit, or -1.
func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func isBlank(c byte) bool {
	return c == ' ' || c >= '\t' && c <= '\r'
}

var escapes = map[rune]string{'\\': `\\`, '"': `\"`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\a': `\a`}

// quoteWord writes word so that splitWords reads it back: as it is where that is possible, else in double quotes.
func quoteWord(word string) string {
	if word != "" && strings.IndexFunc(word, needsQuotes) < 0 && utf8.ValidString(word) {
		return word
	}
	const hex = "0123456789abcdef"
	var b strings.Builder
	b.WriteByte('"')
	for len(word) > 0 {
		c, size := utf8.DecodeRuneInString(word)
		switch escape := escapes[c]; {
		case escape != "":
			b.WriteString(escape)
		case c == utf8.RuneError || !unicode.IsPrint(c):
			for i := range size {
				b.WriteString(`\x`)
				b.WriteByte(hex[word[i]>>4])
				b.WriteByte(hex[word[i]&15])
			}
		default:
			b.WriteString(word[:size])
		}
		word = word[size:]
	}
	b.WriteByte('"')
	return b.String()
}

func needsQuotes(c rune) bool {
	return c == ' ' || c == '"' || c == '\'' || c == '\\' || !unicode.IsPrint(c)
}

// quoteWords writes words as one line, or a part of one.
func quoteWords(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quoteWord(word)
	}
	return strings.Join(quoted, " ")
}
