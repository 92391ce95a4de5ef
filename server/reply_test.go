package server

import (
	"math"
	"math/big"
	"testing"
)

// Golden bytes of every reply type in both protocol versions, from the specifications of RESP2 and RESP3.
func TestWriterBytes(t *testing.T) {
	huge, _ := new(big.Int).SetString("3492890328409238509324850943850943825024385", 10)
	for _, tc := range []struct {
		name         string
		write        func(w *writer)
		resp2, resp3 string
	}{
		{"bulk", func(w *writer) { w.bulk([]byte("a\r\nb")) }, "$4\r\na\r\nb\r\n", "$4\r\na\r\nb\r\n"},
		{"simple", func(w *writer) { w.simple("PONG") }, "+PONG\r\n", "+PONG\r\n"},
		{"int", func(w *writer) { w.int(-5) }, ":-5\r\n", ":-5\r\n"},
		{"array", func(w *writer) { w.array(2) }, "*2\r\n", "*2\r\n"},
		{"mapping", func(w *writer) { w.mapping(2) }, "*4\r\n", "%2\r\n"},
		{"set", func(w *writer) { w.set(2) }, "*2\r\n", "~2\r\n"},
		{"push", func(w *writer) { w.push(2) }, "*2\r\n", ">2\r\n"},
		{"null", func(w *writer) { w.null() }, "$-1\r\n", "_\r\n"},
		{"nullArray", func(w *writer) { w.nullArray() }, "*-1\r\n", "_\r\n"},
		{"true", func(w *writer) { w.bool(true) }, ":1\r\n", "#t\r\n"},
		{"false", func(w *writer) { w.bool(false) }, ":0\r\n", "#f\r\n"},
		{"double", func(w *writer) { w.double(1.5) }, "$3\r\n1.5\r\n", ",1.5\r\n"},
		{"infinity", func(w *writer) { w.double(math.Inf(-1)) }, "$4\r\n-inf\r\n", ",-inf\r\n"},
		{"nan", func(w *writer) { w.double(math.NaN()) }, "$3\r\nnan\r\n", ",nan\r\n"},
		{"bigNumber", func(w *writer) { w.bigNumber(huge) }, "$43\r\n" + huge.String() + "\r\n", "(" + huge.String() + "\r\n"},
		{"verbatim", func(w *writer) { w.verbatim("txt", "hi") }, "$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n"},
		{"error", func(w *writer) { w.errorLine("ERR bad\r\nthing") }, "-ERR bad  thing\r\n", "-ERR bad  thing\r\n"},
		{"error that ends in a line", func(w *writer) { w.errorLine("ERR bad\xff\n\r\n") }, "-ERR bad\xff\r\n", "-ERR bad\xff\r\n"},
	} {
		two, three := writer{}, writer{resp3: true}
		tc.write(&two)
		tc.write(&three)
		if string(two.buf) != tc.resp2 || string(three.buf) != tc.resp3 {
			t.Errorf("%s: RESP2 %q, RESP3 %q; want %q, %q", tc.name, two.buf, three.buf, tc.resp2, tc.resp3)
		}
	}
}
