package web

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// displayed makes a text of a key's name that can be read, copied and told apart from that of any other name: what is
// printable stays, and every other byte, as well as the backslash, is escaped as redis-cli and Go do. Among what is not
// printable are the characters that reverse the direction of text or have no width, with which one name could be made to look
// like another.
func displayed(name string) string {
	if plain(name) {
		return name
	}
	var b strings.Builder
	for len(name) > 0 {
		r, size := utf8.DecodeRuneInString(name)
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case r == utf8.RuneError && size == 1 || !unicode.IsPrint(r):
			for _, c := range []byte(name[:size]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		default:
			b.WriteString(name[:size])
		}
		name = name[size:]
	}
	return b.String()
}

// plain tells whether a name is displayed as it is without looking at more than its bytes, as most are.
func plain(name string) bool {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c >= 0x7f || c == '\\' {
			return false
		}
	}
	return true
}

// labelBytesMax bounds the values of the label "key": a scraper keeps each that it has ever seen.
const labelBytesMax = 128

// label is displayed, cut to what fits a label. A name that is cut ends in a digest of all that is known of it, since two
// series must not have the same labels.
func label(name string, length int) string {
	text := displayed(name)
	if len(text) <= labelBytesMax && length == len(name) {
		return text
	}
	digest := sha256.Sum256(fmt.Appendf(nil, "%d %s", length, name))
	head := text[:min(len(text), labelBytesMax)]
	for !utf8.ValidString(head) {
		head = head[:len(head)-1]
	}
	return head + "…" + hex.EncodeToString(digest[:4])
}
