// Package glob matches names against patterns with exactly the rules of Redis, which KEYS, SCAN, CONFIG GET and the like
// share:
//
//	?       any one byte
//	*       any bytes, also none
//	[abc]   one of these bytes; [a-c] a range, in either direction; [^abc] any other byte
//	\x      the byte x itself, also inside brackets
//
// There is no malformed pattern. A class that is not closed ends with the pattern ("a[b" matches "ab"), an empty one
// matches nothing ("[]") or any byte ("[^]"), "]" and "-" are members where they cannot end a class or span a range, and a
// backslash at the end stands for itself. Bytes are bytes: "?" is half of "é". To match without regard to case, give
// pattern and name in small letters.
//
// github.com/tidwall/match has no classes, its "?" is a rune, and "**" matches the empty name for it but not for Redis.
package glob

import "bytes"

// starsMax is how many stars with something after each a pattern may have: one with more matches nothing. That is Redis's
// limit, to which its matcher calls itself; its suite has a test for it (pattern matching very long nested loops).
const starsMax = 1000

// Match reports whether name matches pattern.
//
// Stars cut a pattern into pieces. The first must stand at the begin of the name and the last at its end; each of the
// others is taken where it is first found after the one before, and never moved again: a piece further to the right
// would only leave less to the pieces after it. So many stars do not multiply the work, as they do in a matcher that
// tries all ways. It is linear in the length of the name if the pieces in the middle are plain bytes; each such piece
// with a class or a "?" may take the product of its own length and the name's.
func Match(pattern, name []byte) bool {
	if len(name) == 0 {
		return len(pattern) == 0 || string(pattern) == "*"
	}
	p, rest, star := cut(pattern, len(name))
	if !star {
		return len(name) == p.width && p.at(name)
	}
	if !p.at(name) {
		return false
	}
	for stars := 0; ; {
		name = name[p.width:]
		p, rest, star = cut(rest, len(name))
		if p.width > 0 {
			stars++
		}
		if stars > starsMax {
			return false
		}
		if !star {
			return len(name) >= p.width && p.at(name[len(name)-p.width:])
		}
		i := p.index(name)
		if i < 0 {
			return false
		}
		name = name[i:]
	}
}

// A piece is a part of a pattern without stars.
type piece struct {
	text  []byte
	width int  // bytes of a name that it matches
	plain bool // text has no special characters: it matches itself
}

// cut returns what stands before the first stars of a pattern, what stands after them, and whether there are any. It stops
// at a piece too wide for a name of nameBytes: a pattern of a megabyte is not walked to its end for each of a million
// short names.
func cut(pattern []byte, nameBytes int) (p piece, rest []byte, star bool) {
	p.plain = true
	for i := 0; i < len(pattern); p.width++ {
		if p.width > nameBytes {
			p.text = pattern[:i]
			return p, nil, false
		}
		switch pattern[i] {
		case '*':
			p.text = pattern[:i]
			return p, bytes.TrimLeft(pattern[i+1:], "*"), true
		case '?', '[', '\\':
			n, _ := step(pattern[i:], 0)
			i += n
			p.plain = false
		default:
			i++
		}
	}
	p.text = pattern
	return p, nil, false
}

// at reports whether the piece matches the first bytes of name.
func (p piece) at(name []byte) bool {
	if p.plain {
		return bytes.HasPrefix(name, p.text)
	}
	if len(name) < p.width {
		return false
	}
	for i, at := 0, 0; i < p.width; i++ {
		n, ok := step(p.text[at:], name[i])
		if !ok {
			return false
		}
		at += n
	}
	return true
}

// index returns where the piece first matches in name, or -1.
func (p piece) index(name []byte) int {
	if p.plain {
		return bytes.Index(name, p.text)
	}
	for i := 0; i+p.width <= len(name); i++ {
		if p.at(name[i:]) {
			return i
		}
	}
	return -1
}

// step returns the length of the first element of a pattern, which is not a star, and whether it matches c.
func step(pattern []byte, c byte) (n int, ok bool) {
	switch {
	case pattern[0] == '?':
		return 1, true
	case pattern[0] == '[':
		return class(pattern, c)
	case pattern[0] == '\\' && len(pattern) > 1:
		return 2, pattern[1] == c
	}
	return 1, pattern[0] == c
}

// class is step for an element in brackets. Redis compares the ends of ranges as the platform's char, which on most has a
// sign; here bytes from 0x80 are above the others everywhere.
func class(pattern []byte, c byte) (n int, ok bool) {
	n = 1
	not := len(pattern) > 1 && pattern[1] == '^'
	if not {
		n++
	}
	for ; n < len(pattern) && pattern[n] != ']'; n++ {
		switch left := len(pattern) - n; {
		case pattern[n] == '\\' && left >= 2:
			n++
			ok = ok || pattern[n] == c
		case left >= 3 && pattern[n+1] == '-':
			a, b := pattern[n], pattern[n+2]
			ok = ok || min(a, b) <= c && c <= max(a, b)
			n += 2
		default:
			ok = ok || pattern[n] == c
		}
	}
	return min(n+1, len(pattern)), ok != not
}
