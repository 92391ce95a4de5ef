package web

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"strings"
	"unicode"
	"unicode/utf8"
)

// displayed makes a text of a key's name that can be read, copied and told apart from that of any other name: what is
// printable stays, and every other byte, as well as the backslash, is escaped as redis-cli and Go do. Among what is not
// printable are the characters that reverse the direction of text or have no width, with which one name could be made to look
// like another, and so are some that Unicode calls printable although they have no shape: variation selectors, the fillers of
// Hangul, and marks that no character carries, or more than four.
func displayed(name string) string {
	if plain(name) {
		return name
	}
	var b strings.Builder
	marks := marksMax // of the last character; the first of a name must be none, it would be put on what stands before
	for len(name) > 0 {
		r, size := utf8.DecodeRuneInString(name)
		if unicode.In(r, unicode.Mn, unicode.Me) {
			marks++
		} else {
			marks = 0
		}
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case r == utf8.RuneError && size == 1 || !unicode.IsPrint(r) || unicode.In(r, shapeless...) || marks > marksMax:
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

// shapeless are the tables of characters of which nothing is seen, besides those that are not printable.
var shapeless = []*unicode.RangeTable{unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector}

// marksMax is how many marks a character may carry, as many as any language needs: more would cover the lines around.
const marksMax = 4

// plain tells whether a name is displayed as it is without looking at more than its bytes, as most are.
func plain(name string) bool {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c >= 0x7f || c == '\\' {
			return false
		}
	}
	return true
}

// castagnoli is the polynomial of which processors have an instruction: names of a megabyte are digested where nothing else runs.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Cut returns of a key's name what the pages need, its first NameBytesMax bytes, and what tells it apart from others that
// begin so: its CRC-32C, 0 if nothing was cut.
func Cut[T string | []byte](key T) (name string, digest uint32) {
	if len(key) <= NameBytesMax {
		return string(key), 0
	}
	return string(key[:NameBytesMax]), crc32.Checksum([]byte(key), castagnoli)
}

// labelBytesMax bounds the values of the label "key": a scraper keeps each that it has ever seen.
const labelBytesMax = 128

// label is displayed, cut to what fits a label. A name that is cut ends in a digest of the whole, since two series must not
// have the same labels.
func label(k *Key) string {
	text := displayed(k.Name)
	if len(text) <= labelBytesMax && k.Length == len(k.Name) {
		return text
	}
	digest := sha256.Sum256(fmt.Appendf(nil, "%d %d %s", k.Length, k.Digest, k.Name))
	head := text[:min(len(text), labelBytesMax)]
	for !utf8.ValidString(head) {
		head = head[:len(head)-1]
	}
	return head + "…" + hex.EncodeToString(digest[:8])
}
