package acl

import (
	"errors"
	"strings"
)

// Describe returns the rules that make the user what it is, in Redis's order: flags, passwords, keys, channels, commands,
// further selectors. Passwords are shown as their digests.
func (u *User) Describe() string {
	words := u.Flags()
	for _, d := range u.passwords {
		words = append(words, "#"+d.String())
	}
	words = append(words, u.selectors[0].words()...)
	for _, s := range u.selectors[1:] {
		words = append(words, s.describe())
	}
	return strings.Join(words, " ")
}

// Line is how a user stands in a file.
func (u *User) Line() string { return "user " + u.Name + " " + u.Describe() }

// Flags returns what the user is apart from selectors and passwords, in the words of the rules.
func (u *User) Flags() (words []string) {
	if words = append(words, "off"); u.enabled {
		words[0] = "on"
	}
	if u.anyPassword {
		words = append(words, "nopass")
	}
	if u.unsanitized {
		return append(words, "skip-sanitize-payload")
	}
	return append(words, "sanitize-payload")
}

// Permissions are those of one selector as text.
type Permissions struct{ Commands, Keys, Channels string }

// Permissions returns those of all selectors, the first of which is the user's own.
func (u *User) Permissions() (list []Permissions) {
	for _, s := range u.selectors {
		p := Permissions{Commands: s.commandRules()}
		if p.Keys = strings.Join(s.keyRules(), " "); s.allKeys {
			p.Keys = "~*"
		}
		if p.Channels = strings.Join(s.channelRules(), " "); s.allChannels {
			p.Channels = "&*"
		}
		list = append(list, p)
	}
	return list
}

func (s *selector) commandRules() string {
	base := "-@all"
	if s.fromAll {
		base = "+@all"
	}
	return strings.Join(append([]string{base}, s.rules...), " ")
}

func (s *selector) keyRules() (rules []string) {
	for _, p := range s.keys {
		prefix := map[Access]string{Read: "%R~", Write: "%W~", Read | Write: "~"}[p.access]
		if p.access == Read|Write && p.text == "*" {
			prefix = "%RW~" // "~*" is not one pattern of several, so that none could follow
		}
		rules = append(rules, prefix+p.text)
	}
	return rules
}

func (s *selector) channelRules() (rules []string) {
	for _, p := range s.channels {
		rules = append(rules, "&"+p.text)
	}
	return rules
}

// words are the rules that make the selector what it is.
func (s *selector) words() (words []string) {
	if s.allKeys {
		words = append(words, "~*")
	}
	words = append(words, s.keyRules()...)
	if s.allChannels {
		words = append(words, "&*")
	} else {
		words = append(words, "resetchannels")
	}
	words = append(words, s.channelRules()...)
	return append(words, strings.Split(s.commandRules(), " ")...)
}

// describe is one rule that makes the selector. Redis prints its words as they are, also if they then mean something else:
// here those with quotes, and those that would look like the end, are quoted.
func (s *selector) describe() string {
	words := s.words()
	for i, w := range words {
		if strings.ContainsAny(w, `"'`) || strings.HasSuffix(w, ")") {
			words[i] = quote(w)
		}
	}
	return "(" + strings.Join(words, " ") + ")"
}

// quote puts a word in quotes so that neither splitWords nor who looks for the end of a selector misreads it.
func quote(word string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(word) {
		if word[i] == '"' || word[i] == '\\' {
			b.WriteByte('\\')
		}
		b.WriteByte(word[i])
	}
	b.WriteByte('"')
	return b.String()
}

var errQuotes = errors.New("unbalanced quotes")

// splitWords cuts a line into words as Redis does in its configuration: at blanks, but in double quotes, which know
// escapes, and in single quotes, which know \' only. What follows the end of a quote must be a blank.
func splitWords(line string) (words []string, err error) {
	for {
		line = strings.TrimLeft(line, " \t\n\v\f\r")
		if line == "" || line[0] == 0 {
			return words, nil
		}
		word, rest, ok := cutWord(line)
		if !ok {
			return nil, errQuotes
		}
		words, line = append(words, word), rest
	}
}

// cutWord cuts the first word off a line that does not begin with a blank.
func cutWord(line string) (word, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case strings.IndexByte(" \t\n\v\f\r\x00", c) >= 0:
			return b.String(), line[i:], true
		case c == '"' || c == '\'':
			n, ok := appendQuoted(&b, line[i:])
			if rest := line[i+n:]; !ok || rest != "" && !hasBlanks(rest[:1]) {
				return "", "", false
			}
			return b.String(), line[i+n:], true
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), "", true
}

// appendQuoted appends what stands in the quotes at the beginning of text, and returns the length with them.
func appendQuoted(b *strings.Builder, text string) (n int, ok bool) {
	q := text[0]
	for i := 1; i < len(text); i++ {
		c := text[i]
		switch {
		case c == q:
			return i + 1, true
		case c == '\\' && q == '\'' && i+1 < len(text) && text[i+1] == '\'':
			i++
			c = '\''
		case c == '\\' && q == '"' && i+1 < len(text):
			var taken int
			c, taken = unescape(text[i+1:])
			i += taken
		}
		b.WriteByte(c)
	}
	return len(text), false
}

// unescape reads what follows a backslash in double quotes.
func unescape(text string) (c byte, taken int) {
	if text[0] == 'x' && len(text) >= 3 {
		hi, lo := strings.IndexByte(hexDigits, text[1]|0x20), strings.IndexByte(hexDigits, text[2]|0x20)
		if isHex(text[1]) && isHex(text[2]) {
			return byte(hi<<4 | lo), 3
		}
	}
	if i := strings.IndexByte("nrtba", text[0]); i >= 0 {
		return "\n\r\t\b\a"[i], 1
	}
	return text[0], 1
}

const hexDigits = "0123456789abcdef"

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}
