package server

import (
	"bytes"
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
	f := scanOptions{pattern: args[1]}
	c.deferred(func() (n int) {
		for cursor, more := uint64(0), true; more; more = cursor != 0 {
			cursor = c.view.Scan(cursor, scanCountMax, func(key []byte, e store.Entry) bool {
				if f.takes(key, e) {
					c.bulk(key)
					n++
				}
				return true
			})
		}
		return n
	})
}

// scanOptions are what a scan returns of what it sees, and how much of it.
type scanOptions struct {
	pattern  []byte // nil: any
	typeName []byte // nil: any; SCAN only
	noValues bool   // HSCAN only
	count    int
}

func (o *scanOptions) matches(name []byte) bool {
	return o.pattern == nil || glob.Match(o.pattern, name)
}

func (o *scanOptions) takes(key []byte, e store.Entry) bool {
	return o.matches(key) && (o.typeName == nil || strings.EqualFold(e.Type(), string(o.typeName)))
}

// scanOptions reads the cursor and the options of SCAN, HSCAN, SSCAN or ZSCAN; args begin with the cursor. It answers itself
// if something is wrong.
func (c *client) scanOptions(args [][]byte) (cursor uint64, o scanOptions, ok bool) {
	if cursor, ok = parseCursor(args[0]); !ok {
		c.fail(errInvalidCursor)
		return 0, o, false
	}
	o.count = scanCountDefault
	for i := 1; i < len(args); i += 2 {
		problem := errSyntax
		switch {
		case bytes.EqualFold(args[i], []byte("NOVALUES")):
			o.noValues, problem = true, ""
			if c.cmd.name != "hscan" {
				problem = "ERR NOVALUES option can only be used in HSCAN"
			}
			i--
		case i+1 == len(args):
		case bytes.EqualFold(args[i], []byte("COUNT")):
			count, isInt := parseInt(args[i+1])
			switch {
			case !isInt:
				problem = errNotInteger
			case count >= 1:
				o.count, problem = int(min(count, scanCountMax)), ""
			}
		case bytes.EqualFold(args[i], []byte("MATCH")):
			o.pattern, problem = args[i+1], ""
		case c.cmd.name == "scan" && bytes.EqualFold(args[i], []byte("TYPE")):
			o.typeName, problem = args[i+1], ""
		}
		if problem != "" {
			c.fail(problem)
			return 0, o, false
		}
	}
	return cursor, o, true
}

// scanReply answers with the cursor to go on from, which fn returns, and the elements that fn appends and counts.
func (c *client) scanReply(fn func() (next uint64, n int)) {
	var next uint64
	c.headLater(func(n int) {
		c.array(2)
		c.bulkString(strconv.FormatUint(next, 10))
		c.array(n)
	}, func() (n int) {
		next, n = fn()
		return n
	})
}

func scan(c *client, args [][]byte) {
	cursor, o, ok := c.scanOptions(args[1:])
	if !ok {
		return
	}
	c.scanReply(func() (next uint64, n int) {
		next = c.view.Scan(cursor, o.count, func(key []byte, e store.Entry) bool {
			takes := o.takes(key, e)
			if takes {
				c.bulk(key)
				n++
			}
			return takes
		})
		return next, n
	})
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
