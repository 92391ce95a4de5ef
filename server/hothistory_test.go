package server

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"kvserver/server/transport"
)

// history is what HOTKEYS HISTORY answers, as "a@1 b; ?; c", where ? is a window of which nothing is known and @1 stands for a
// database other than 0.
func (w *watched) history(t *testing.T, options ...string) string {
	t.Helper()
	r := decoded(t, do(w.c, append([]string{"HOTKEYS", "HISTORY"}, options...)...))
	var windows []string
	for _, window := range r.items {
		entries := window.items[len(window.items)-1]
		if window.items[5].text == "1" {
			windows = append(windows, "?")
			continue
		}
		var keys []string
		for _, e := range entries.items {
			key := e.items[1].text
			if db := e.items[3].text; db != "0" {
				key += "@" + db
			}
			keys = append(keys, key)
		}
		windows = append(windows, strings.Join(keys, " "))
	}
	return strings.Join(windows, "; ")
}

func (w *watched) expectHistory(t *testing.T, want string, options ...string) {
	t.Helper()
	if got := w.history(t, options...); got != want {
		t.Errorf("HISTORY %q is %q, want %q", options, got, want)
	}
}

func TestHotkeysHistory(t *testing.T) {
	w := newWatched(t)
	w.expectHistory(t, "")
	w.run(t, "GET a; GET a; GET b; SELECT 1; GET a; SELECT 0")
	w.pass(time.Second)
	w.pass(time.Second)
	w.run(t, "GET b")
	w.pass(time.Second)
	w.expectHistory(t, "b; ; a a@1 b")
	w.expectHistory(t, "b", "COUNT", "1")
	w.expectHistory(t, "b; ; b", "KEY", "b")
	w.expectHistory(t, "; ; a a@1", "KEY", "a")
	w.expectHistory(t, "; ; a@1", "KEY", "a", "DB", "1")
	w.expectHistory(t, "; ; a@1", "DB", "1")
	w.expectHistory(t, "; ", "KEY", "nosuch", "COUNT", "2")
	w.expectHistory(t, "; ; ", "KEY", "")
}

// TestHotkeysHistoryOfUnknown: a stall and a change of parameters leave windows of which nothing is known. Those that follow
// each other are one.
func TestHotkeysHistoryOfUnknown(t *testing.T) {
	w := newWatched(t)
	w.run(t, "GET a")
	w.pass(time.Second)
	w.run(t, "GET b")
	w.pass(2 * time.Second)
	w.expectHistory(t, "?; a")
	w.run(t, "GET c")
	w.ns += int64(time.Second) / 2
	w.run(t, "CONFIG SET hotkeys-window-seconds 2; CONFIG SET hotkeys-window-seconds 1")
	w.expectHistory(t, "?; a")
	w.expectHistory(t, "?", "KEY", "a", "COUNT", "1")
	w.run(t, "GET d")
	w.pass(time.Second)
	w.expectHistory(t, "d; ?; a")
	for version, want := range map[string]string{
		"2": "*16 'begin :BEGIN 'duration :2500 'discarded :1 'samples $-1 'percentage $-1 'qps $-1 'floor-qps $-1 'entries *-1",
		"3": "%8 'begin :BEGIN 'duration :2500 'discarded :1 'samples _ 'percentage _ 'qps _ 'floor-qps _ 'entries _",
	} {
		do(w.c, "HELLO", version)
		if reply := nobodyKnows(do(w.c, "HOTKEYS", "HISTORY")); !strings.Contains(reply, wire(want)) {
			t.Errorf("RESP%s: %q\nlacks %q", version, reply, wire(want))
		}
	}
}

// TestHotkeysHistoryEnds with what ends the windows themselves.
func TestHotkeysHistoryEnds(t *testing.T) {
	for _, test := range []struct{ commands, want string }{
		{"PING", "b a; a b@1"},
		{"HOTKEYS RESET", ""},
		{"FLUSHALL", ""},
		{"FLUSHDB", "; b@1"},
		{"SELECT 1; FLUSHDB; SELECT 0", "b a; a"},
		{"SWAPDB 0 1", "b a; a b@1"},
		{"DEL a b", "b a; a b@1"},
		{"CONFIG SET hotkeys-history-length 60", "b a; a b@1"},
		{"CONFIG SET hotkeys-history-length 1", "b a"},
		{"CONFIG SET hotkeys-history-length 1; CONFIG SET hotkeys-history-length 60", "b a"},
		{"CONFIG SET hotkeys-history-length 0", ""},
		{"CONFIG SET hotkeys-history-length 0; CONFIG SET hotkeys-history-length 60", ""},
		{"CONFIG SET hotkeys-top-k 1", "?; b a; a b@1"},
		{"CONFIG SET hotkeys-top-k 0", ""},
		{"CONFIG SET hotkeys-top-k 0; CONFIG SET hotkeys-top-k 10", ""},
	} {
		t.Run(test.commands, func(t *testing.T) {
			w := newWatched(t)
			w.run(t, "GET a; GET a; SELECT 1; GET b; SELECT 0")
			w.pass(time.Second)
			w.run(t, "GET b; GET b; GET a")
			w.pass(time.Second)
			w.run(t, test.commands)
			w.expectHistory(t, test.want)
		})
	}
}

// TestHotkeysHistoryKeepsNoMore than it was told to, and nothing while it is off.
func TestHotkeysHistoryKeepsNoMore(t *testing.T) {
	w := newWatched(t, "--hotkeys-history-length", "3")
	for i := range 5 {
		w.run(t, "GET k"+strconv.Itoa(i))
		w.pass(time.Second)
	}
	w.expectHistory(t, "k4; k3; k2")
	w.run(t, "CONFIG SET hotkeys-history-length 0; GET k")
	w.pass(time.Second)
	w.expectHistory(t, "")
	if n := w.Server.history.MemoryBytes(); n != 0 {
		t.Errorf("%d bytes while off", n)
	}
}

// TestHotkeysHistoryInTransaction: the accesses of a transaction stay in one window, whatever the transaction asks for.
func TestHotkeysHistoryInTransaction(t *testing.T) {
	w := newWatched(t)
	w.run(t, "GET a")
	w.ns += int64(time.Second)
	w.run(t, "MULTI; GET b; HOTKEYS HISTORY; GET c")
	if got := do(w.c, "EXEC"); got != "*3\r\n$-1\r\n*0\r\n$-1\r\n" {
		t.Errorf("EXEC: %q", got)
	}
	w.expectHistory(t, "a b c")
}

// TestHotkeysHistoryOfAnyName: names are bytes, and may be empty.
func TestHotkeysHistoryOfAnyName(t *testing.T) {
	w := newWatched(t)
	names := []string{"", "\r\n", "\x00\xff", "*1\r\n"}
	for _, name := range names {
		do(w.c, "GET", name)
		do(w.c, "GET", name+"x")
	}
	w.pass(time.Second)
	for _, name := range names {
		if got := w.history(t, "KEY", name); got != name {
			t.Errorf("the history of %q is of %q", name, got)
		}
	}
}

// TestHotkeysHistoryIsLimited: one name may be in many windows, and a short request must not make a reply that is larger than
// the client is allowed.
func TestHotkeysHistoryIsLimited(t *testing.T) {
	w := newWatched(t, "--client-output-buffer-limit", "normal 4mb 0 0", "--hotkeys-history-length", "100")
	name := strings.Repeat("n", 1<<20)
	for range 50 {
		do(w.c, "GET", name)
		w.pass(time.Second)
	}
	if n := len(do(w.c, "HOTKEYS", "HISTORY", "COUNT", "3")); n < 3<<20 {
		t.Errorf("%d bytes for three windows", n)
	}
	if reply, v := feed(w.c, request("HOTKEYS", "HISTORY")); v != transport.Abort || len(reply) > 4<<20 {
		t.Errorf("verdict %v on a reply that was made to %d bytes; 4 MiB are allowed", v, len(reply))
	}
}
