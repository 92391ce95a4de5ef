package server

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"kvserver/glob"
	"kvserver/store"
)

const (
	scanCountDefault = 10
	// scanCountMax is the largest COUNT that is honoured; it is a hint, and greater ones are taken for this. A call that
	// finds nothing looks at ten times as many keys, which holds up the other clients of its loop for some 0.1 s.
	scanCountMax = 1 << 18
)

// keysCommand runs under the gate: its reply is the keyspace at one moment.
func keysCommand(c *client, args [][]byte) {
	mark := len(c.buf)
	f := scanFilter{pattern: args[1]}
	n := 0
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		cursor = c.view.Scan(cursor, scanCountMax, func(key []byte, e store.Entry) bool {
			if f.takes(key, e) {
				c.bulk(key)
				n++
			}
			return true
		})
	}
	var head writer
	head.array(n)
	c.buf = slices.Insert(c.buf, mark, head.buf...)
}

// scanFilter is what a scan returns of what it sees.
type scanFilter struct {
	pattern  []byte // nil: any
	typeName []byte // nil: any
}

func (f *scanFilter) takes(key []byte, e store.Entry) bool {
	return (f.pattern == nil || glob.Match(f.pattern, key)) &&
		(f.typeName == nil || strings.EqualFold(e.Type(), string(f.typeName)))
}

func scan(c *client, args [][]byte) {
	cursor, ok := parseCursor(args[1])
	if !ok {
		c.fail(errInvalidCursor)
		return
	}
	var f scanFilter
	count := int64(scanCountDefault)
	for i := 2; i < len(args); i += 2 {
		if i+1 == len(args) {
			c.fail(errSyntax)
			return
		}
		switch option := args[i]; {
		case bytes.EqualFold(option, []byte("COUNT")):
			if count, ok = parseInt(args[i+1]); !ok {
				c.fail(errNotInteger)
				return
			}
			if count < 1 {
				c.fail(errSyntax)
				return
			}
		case bytes.EqualFold(option, []byte("MATCH")):
			f.pattern = args[i+1]
		case bytes.EqualFold(option, []byte("TYPE")):
			f.typeName = args[i+1]
		default:
			c.fail(errSyntax)
			return
		}
	}
	c.scanFrom(cursor, int(min(count, scanCountMax)), f)
}

// scanFrom answers with the cursor to go on from and the keys found.
func (c *client) scanFrom(cursor uint64, count int, f scanFilter) {
	mark := len(c.buf)
	n := 0
	next := c.view.Scan(cursor, count, func(key []byte, e store.Entry) bool {
		takes := f.takes(key, e)
		if takes {
			c.bulk(key)
			n++
		}
		return takes
	})
	var head writer
	head.array(2)
	head.bulkString(strconv.FormatUint(next, 10))
	head.array(n)
	c.buf = slices.Insert(c.buf, mark, head.buf...)
}

// parseCursor reads a cursor as Redis does, with strtoul: up to a zero byte, with a sign if need be (-1 is the largest
// one), and nothing at all is 0.
func parseCursor(arg []byte) (cursor uint64, ok bool) {
	text, _, _ := strings.Cut(string(arg), "\x00")
	if text == "" {
		return 0, true
	}
	digits := strings.TrimPrefix(text, "-")
	if len(digits) == len(text) {
		digits = strings.TrimPrefix(text, "+")
	}
	cursor, err := strconv.ParseUint(digits, 10, 64)
	if len(digits) < len(text) && text[0] == '-' {
		cursor = -cursor
	}
	return cursor, err == nil
}
