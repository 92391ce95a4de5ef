package server

import (
	"strings"
	"testing"
)

// TestImportMode: keys whose time is over stay, for the source as if they were alive, for others as if they were not there;
// afterwards they expire.
func TestImportMode(t *testing.T) {
	s := newTestServer(t)
	source, other := newTestClient(t, s), newTestClient(t, s)
	if got := do(source, "CLIENT", "IMPORT-SOURCE", "ON"); got != "-ERR Server is not in import mode\r\n" {
		t.Errorf("outside of import mode: %q", got)
	}
	do(other, "CONFIG", "SET", "import-mode", "yes")
	do(source, "CLIENT", "IMPORT-SOURCE", "ON")
	if got := infoOf(t, source)["flags"]; got != "I" {
		t.Errorf("flags=%s", got)
	}
	storeAt(s, 1, "k", 2)
	do(source, "SET", "late", "v", "PXAT", "1000")
	do(source, "HSET", "h", "f", "v", "g", "w")
	do(source, "HPEXPIREAT", "h", "1000", "FIELDS", "1", "f")
	do(source, "SET", "past", "v")
	do(source, "EXPIRE", "past", "-1")
	s.expire(s.houseSlot, source.slot.clock.now())
	for _, test := range []struct{ command, source, other string }{
		{"EXISTS k", ":1\r\n", ":0\r\n"},
		{"GET late", "$1\r\nv\r\n", "$-1\r\n"},
		{"GET past", "$1\r\nv\r\n", "$-1\r\n"},
		{"TTL past", ":0\r\n", ":-2\r\n"},
		{"PEXPIRETIME late", ":1000\r\n", ":-2\r\n"},
		{"HGET h f", "$1\r\nv\r\n", "$-1\r\n"},
		{"HPTTL h FIELDS 1 f", "*1\r\n:0\r\n", "*1\r\n:-2\r\n"},
		{"APPEND past !", ":2\r\n", ""},
		{"GET past", "$2\r\nv!\r\n", "$-1\r\n"},
		{"DBSIZE", ":4\r\n", ":4\r\n"},
	} {
		if got := do(source, strings.Fields(test.command)...); got != test.source {
			t.Errorf("%s by the source: %q, want %q", test.command, got, test.source)
		}
		if test.other == "" {
			continue
		}
		if got := do(other, strings.Fields(test.command)...); got != test.other {
			t.Errorf("%s by another: %q, want %q", test.command, got, test.other)
		}
	}
	if n := infoField(t, other, "stats", "expired_keys"); n != "0" {
		t.Errorf("expired_keys:%s", n)
	}
	// Others may give the name a new value.
	if got := do(other, "INCR", "late") + do(source, "GET", "late"); got != ":1\r\n$1\r\n1\r\n" {
		t.Errorf("INCR by another: %q", got)
	}
	do(other, "CONFIG", "SET", "import-mode", "no")
	s.expire(s.houseSlot, source.slot.clock.now())
	if got := do(source, "EXISTS", "k", "past", "late", "h") + do(source, "DBSIZE") + do(source, "HLEN", "h"); got != ":2\r\n:2\r\n:1\r\n" {
		t.Errorf("afterwards: %q", got)
	}
	if n := infoField(t, other, "stats", "expired_keys"); n != "3" { // the one that was written over is one

		t.Errorf("afterwards expired_keys:%s", n)
	}
}

// TestImportIsTraffic: keys that are imported are hot like any others.
func TestImportIsTraffic(t *testing.T) {
	s := newTestServer(t, "--import-mode", "yes")
	c := newTestClient(t, s)
	window := trackAll(t, s)
	do(c, "CLIENT", "IMPORT-SOURCE", "ON")
	for range 3 {
		do(c, "SET", "hot", "v", "PXAT", "1000")
		do(c, "GET", "hot")
	}
	if got := window(); got != "hot=6" {
		t.Errorf("accesses: %s", got)
	}
}
