package server

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/tidwall/redcon"

	"kvserver/store"
)

// writer appends replies to one buffer in the client's protocol version. What RESP2 has no type for is written
// as Redis writes it there: maps as flat arrays, sets as arrays, doubles, booleans and big numbers as their
// nearest relatives. The formats are those of the protocol specification (RESP3).
type writer struct {
	buf   []byte
	resp3 bool

	bytesMax int  // what buf may grow to; 0: no limit
	over     bool // it would have grown further: strings are left out, and the reply must not be sent
}

// bulk appends a bulk string. Only strings are held against the limit: all else in a reply is of the size of the
// request, while one short request can ask for the same large string many times.
func (w *writer) bulk(b []byte) {
	if w.bytesMax > 0 && len(w.buf)+len(b) > w.bytesMax {
		w.over = true
		return
	}
	w.buf = redcon.AppendBulk(w.buf, b)
}

// bulkString is bulk for a Go string.
func (w *writer) bulkString(s string) { w.buf = redcon.AppendBulkString(w.buf, s) }

// simple appends a simple string, which must have no line ends.
func (w *writer) simple(s string) {
	w.buf = append(w.buf, '+')
	w.buf = append(w.buf, s...)
	w.buf = append(w.buf, '\r', '\n')
}

// ok appends the reply of most commands that only do something.
func (w *writer) ok() { w.buf = append(w.buf, "+OK\r\n"...) }

// int appends an integer.
func (w *writer) int(n int64) { w.buf = redcon.AppendInt(w.buf, n) }

// appendInt appends n in decimal.
func appendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

// flag appends 1 or 0, the way commands older than RESP3 answer yes and no.
func (w *writer) flag(yes bool) {
	if yes {
		w.buf = append(w.buf, ":1\r\n"...)
	} else {
		w.buf = append(w.buf, ":0\r\n"...)
	}
}

func (w *writer) header(kind byte, n int) {
	w.buf = append(w.buf, kind)
	w.buf = strconv.AppendInt(w.buf, int64(n), 10)
	w.buf = append(w.buf, '\r', '\n')
}

// array begins an array of n elements.
func (w *writer) array(n int) { w.header('*', n) }

// deferred appends an array whose length is known only at its end: fn appends the elements and returns their number.
func (w *writer) deferred(fn func() (n int)) { w.headLater(w.array, fn) }

// deferredSet is deferred for a set, deferredMap for a map of n pairs.
func (w *writer) deferredSet(fn func() (n int)) { w.headLater(w.set, fn) }

func (w *writer) deferredMap(fn func() (n int)) { w.headLater(w.mapping, fn) }

// headBytesMax is more than any header that headLater is given takes.
const headBytesMax = 128

// headLater puts a header, of at most headBytesMax bytes, before what fn appends.
func (w *writer) headLater(head func(n int), fn func() (n int)) {
	from := len(w.buf)
	n := fn()
	body := len(w.buf)
	head(n)
	size := len(w.buf) - body
	var header [headBytesMax]byte
	copy(header[:size], w.buf[body:])
	copy(w.buf[from+size:], w.buf[from:body])
	copy(w.buf[from:], header[:size])
}

// mapping begins a map of n pairs.
func (w *writer) mapping(n int) {
	if w.resp3 {
		w.header('%', n)
	} else {
		w.header('*', 2*n)
	}
}

// set begins a set of n elements.
func (w *writer) set(n int) {
	if w.resp3 {
		w.header('~', n)
	} else {
		w.header('*', n)
	}
}

// push begins an out-of-band message of n elements.
func (w *writer) push(n int) {
	if w.resp3 {
		w.header('>', n)
	} else {
		w.header('*', n)
	}
}

// attribute begins n pairs of attributes of the reply that follows; RESP3 only.
func (w *writer) attribute(n int) { w.header('|', n) }

// null appends the absent value where a bulk string was possible.
func (w *writer) null() {
	if w.resp3 {
		w.buf = append(w.buf, "_\r\n"...)
	} else {
		w.buf = append(w.buf, "$-1\r\n"...)
	}
}

// nullArray appends the absent value where an array was possible.
func (w *writer) nullArray() {
	if w.resp3 {
		w.buf = append(w.buf, "_\r\n"...)
	} else {
		w.buf = append(w.buf, "*-1\r\n"...)
	}
}

// bool appends a boolean.
func (w *writer) bool(yes bool) {
	switch {
	case !w.resp3:
		w.flag(yes)
	case yes:
		w.buf = append(w.buf, "#t\r\n"...)
	default:
		w.buf = append(w.buf, "#f\r\n"...)
	}
}

// double appends a floating point number.
func (w *writer) double(f float64) {
	var digits [32]byte
	text := store.AppendDouble(digits[:0], f)
	if !w.resp3 {
		w.bulk(text)
		return
	}
	w.buf = append(w.buf, ',')
	w.buf = append(w.buf, text...)
	w.buf = append(w.buf, '\r', '\n')
}

// bigNumber appends an integer of any size.
func (w *writer) bigNumber(n *big.Int) {
	if !w.resp3 {
		w.bulkString(n.String())
		return
	}
	w.buf = append(w.buf, '(')
	w.buf = n.Append(w.buf, 10)
	w.buf = append(w.buf, '\r', '\n')
}

// verbatim appends text meant to be shown as it is; format has three letters ("txt", "mkd").
func (w *writer) verbatim(format, text string) {
	if !w.resp3 {
		w.bulkString(text)
		return
	}
	w.header('=', len(text)+4)
	w.buf = append(w.buf, format...)
	w.buf = append(w.buf, ':')
	w.buf = append(w.buf, text...)
	w.buf = append(w.buf, '\r', '\n')
}

// errorLine appends an error. text begins with its code ("ERR ..."); line ends in it, which may come from a
// client's own arguments, become blanks; those at its end go.
func (w *writer) errorLine(text string) {
	w.buf = append(w.buf, '-')
	if strings.ContainsAny(text, "\r\n") {
		text = strings.NewReplacer("\r", " ", "\n", " ").Replace(strings.TrimRight(text, "\r\n"))
	}
	w.buf = append(w.buf, text...)
	w.buf = append(w.buf, '\r', '\n')
}
