package node

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"kvserver/cmd/kvhot/valkeytest"
)

// patience bounds waits for what must happen.
const patience = 20 * time.Second

func open(t *testing.T, address string, protocol int) *Node {
	t.Helper()
	n, err := New(address, Options{Protocol: protocol, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

func names(entries []Entry) string {
	var list []string
	for _, e := range entries {
		list = append(list, fmt.Sprintf("%s@%d=%g", e.Key, e.DB, e.QPS))
	}
	return strings.Join(list, " ")
}

var all = Query{By: ByAll, DB: -1}

// TestOnlyValkeysShape: key, db and qps are read in both protocols, the rest is unknown, and COUNT and DB are done here.
func TestOnlyValkeysShape(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		s := valkeytest.New(t)
		s.Window(300, 1500, valkeytest.Entry{Key: "a\xff", DB: 0, QPS: 1000}, valkeytest.Entry{Key: "b", DB: 3, QPS: 500}, valkeytest.Entry{Key: "c", DB: 3, QPS: 1})
		n := open(t, s.Addr, protocol)
		r, err := n.Hot(t.Context(), all)
		if err != nil {
			t.Fatal(err)
		}
		if got := names(r.Entries); got != "a\xff@0=1000 b@3=500 c@3=1" || r.Stats || !math.IsNaN(r.Entries[0].Low) || r.Entries[0].Type != "" {
			t.Errorf("RESP%d: %q %+v", protocol, got, r)
		}
		if r.Samples != 300 || r.WindowMs != 1500 || r.Percentage != 10 || r.TopK != 16 || r.LengthMs != 1000 || r.Accesses != 2000 || r.Commands != 77 ||
			!math.IsNaN(r.CPU) || !math.IsNaN(r.Floor) || !math.IsNaN(r.Completed) || r.States != nil {
			t.Errorf("RESP%d: %+v", protocol, r)
		}
		s.Commands()
		r, err = n.Hot(t.Context(), Query{By: ByAll, DB: 3, Count: 1})
		if err != nil || names(r.Entries) != "b@3=500" || r.CPU != 0 {
			t.Errorf("RESP%d: %+v, %v", protocol, r, err)
		}
		// What was refused is not asked for again.
		if got := strings.Join(s.Commands(), ", "); got != "HOTKEYS GET, INFO HOTKEYS STATS CPU, CONFIG GET HOTKEYS-*" {
			t.Errorf("RESP%d: it was asked %s", protocol, got)
		}
		if _, err := n.Hot(t.Context(), Query{By: ByReads, DB: -1}); !errors.Is(err, ErrNoStats) {
			t.Errorf("RESP%d: reads of a server that does not tell them: %v", protocol, err)
		}
		if _, err := n.History(t.Context(), HistoryQuery{DB: -1}); !errors.Is(err, ErrNoHistory) {
			t.Errorf("RESP%d: %v", protocol, err)
		}
		if _, err := n.States(t.Context()); !errors.Is(err, ErrNoControl) {
			t.Errorf("RESP%d: %v", protocol, err)
		}
	}
}

// TestAfterALossEverythingIsAskedAgain: the server may have been replaced by one that can more.
func TestAfterALossEverythingIsAskedAgain(t *testing.T) {
	s := valkeytest.New(t)
	n := open(t, s.Addr, 3)
	if _, err := n.Hot(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	s.Drop()
	deadline := time.Now().Add(patience)
	for failed := false; !failed; {
		_, err := n.Hot(t.Context(), all)
		failed = err != nil || slices.Contains(s.Commands(), "HOTKEYS GET TYPE ALL WITHSTATS")
		if time.Now().After(deadline) {
			t.Fatal("the loss was not seen")
		}
	}
	s.Reply("HOTKEYS GET TYPE ALL WITHSTATS", "*1\r\n*10\r\n$3\r\nkey\r\n$1\r\nk\r\n$2\r\ndb\r\n:0\r\n$3\r\nqps\r\n:7\r\n$7\r\nqps-low\r\n$3\r\n6.5\r\n$7\r\ncertain\r\n:0\r\n")
	r, err := n.Hot(t.Context(), all)
	if err == nil && !r.Stats { // the first of two connections was lost only now
		n.lost()
		r, err = n.Hot(t.Context(), all)
	}
	if err != nil || !r.Stats || r.Entries[0].Low != 6.5 || r.Entries[0].Certain != 0 || !math.IsNaN(r.Entries[0].High) {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestHugeLengths: a server that announces more than there can be does not end the program.
func TestHugeLengths(t *testing.T) {
	for _, reply := range []string{"*9223372036854775807\r\n", "$9223372036854775800\r\n", "%4611686018427387903\r\n"} {
		s := valkeytest.New(t)
		s.Reply("HOTKEYS GET TYPE ALL WITHSTATS", reply)
		s.Reply("HOTKEYS HISTORY", reply)
		s.Reply("HOTKEYS STATES", reply)
		n, err := New(s.Addr, Options{Protocol: 3, Timeout: 300 * time.Millisecond}) // some it waits for
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { n.Close() })
		if _, err := n.Hot(t.Context(), all); err == nil {
			t.Errorf("%q: hot keys", reply)
		}
		if _, err := n.History(t.Context(), HistoryQuery{DB: -1}); err == nil {
			t.Errorf("%q: a history", reply)
		}
		if _, err := n.States(t.Context()); err == nil {
			t.Errorf("%q: states", reply)
		}
	}
}

// TestPermissions: what a user may not do is left out, and asked once; hot keys he must be allowed to see.
func TestPermissions(t *testing.T) {
	s := valkeytest.New(t)
	const noperm = "-NOPERM User u has no permissions to run the '%s' command\r\n"
	s.Reply("INFO HOTKEYS STATS CPU", fmt.Sprintf(noperm, "info"))
	s.Reply("CONFIG GET HOTKEYS-*", fmt.Sprintf(noperm, "config|get"))
	s.Window(1, 1000, valkeytest.Entry{Key: "k", QPS: 5})
	n := open(t, s.Addr, 3)
	for range 2 {
		if r, err := n.Hot(t.Context(), all); err != nil || names(r.Entries) != "k@0=5" || !math.IsNaN(r.TopK) || !math.IsNaN(r.Accesses) || !math.IsNaN(r.WindowMs) {
			t.Errorf("%+v, %v", r, err)
		}
	}
	asked := 0
	for _, c := range s.Commands() {
		if strings.HasPrefix(c, "INFO") {
			asked++
		}
	}
	if asked > 2 { // the first time twice, since WITHSTATS is not known
		t.Errorf("INFO was asked for %d times", asked)
	}
	s.Reply("HOTKEYS GET", fmt.Sprintf(noperm, "hotkeys|get"))
	if _, err := n.Hot(t.Context(), all); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
		t.Errorf("%v", err)
	}
}

// TestGreetingRefused: a wrong password is what is told, not what follows from it.
func TestGreetingRefused(t *testing.T) {
	s := valkeytest.New(t)
	const refused = "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
	s.Reply("HELLO 3 AUTH DEFAULT WRONG SETNAME KVHOT", refused)
	s.Reply("AUTH WRONG", refused)
	n, err := New(s.Addr, Options{Protocol: 3, Timeout: patience, Password: "wrong"})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if _, err := n.Hot(t.Context(), all); err == nil || !strings.HasPrefix(err.Error(), "WRONGPASS") {
		t.Errorf("%v", err)
	}
}

// TestOtherReplies are explained, and never half-read.
func TestOtherReplies(t *testing.T) {
	session := "$15\r\ntracking-active\r\n:1\r\n$12\r\nsample-ratio\r\n:1\r\n"
	for _, c := range []struct {
		name, raw string
		want      error
	}{
		{"a session's map", "%2\r\n" + session, ErrSession},
		{"a session's flat array", "*4\r\n" + session, ErrSession},
		{"a session's map in an array", "*1\r\n%2\r\n" + session, ErrSession},
		{"a session's array in an array", "*1\r\n*4\r\n" + session, ErrSession},
		{"no session", "_\r\n", ErrSession},
		{"no such command", "-ERR unknown command 'HOTKEYS', with args beginning with: 'GET' \r\n", ErrNoHotKeys},
		{"odd fields", "*1\r\n*1\r\n$3\r\nkey\r\n", nil},
		{"no key", "*1\r\n*4\r\n$2\r\ndb\r\n:0\r\n$3\r\nqps\r\n:1\r\n", nil},
		{"no rate", "*1\r\n*4\r\n$3\r\nkey\r\n$1\r\nk\r\n$2\r\ndb\r\n:0\r\n", nil},
		{"a negative database", "*1\r\n*6\r\n$3\r\nkey\r\n$1\r\nk\r\n$2\r\ndb\r\n:-1\r\n$3\r\nqps\r\n:1\r\n", nil},
		{"numbers", "*1\r\n:5\r\n", nil},
		{"a rate below 0", "*1\r\n*6\r\n$3\r\nkey\r\n$1\r\nk\r\n$2\r\ndb\r\n:0\r\n$3\r\nqps\r\n:-1\r\n", nil},
		{"a rate beyond all", "*1\r\n*6\r\n$3\r\nkey\r\n$1\r\nk\r\n$2\r\ndb\r\n:0\r\n$3\r\nqps\r\n$5\r\n1e308\r\n", nil},
	} {
		s := valkeytest.New(t)
		s.Reply("HOTKEYS GET", c.raw)
		s.Reply("HOTKEYS GET TYPE ALL WITHSTATS", c.raw)
		_, err := open(t, s.Addr, 3).Hot(t.Context(), all)
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestHistory(t *testing.T) {
	s := valkeytest.New(t)
	window := func(begin, duration int, discarded int, rest string) string {
		return fmt.Sprintf("*10\r\n$5\r\nbegin\r\n:%d\r\n$8\r\nduration\r\n:%d\r\n$9\r\ndiscarded\r\n:%d\r\n%s", begin, duration, discarded, rest)
	}
	const entry = "*6\r\n$3\r\nkey\r\n$1\r\n%s\r\n$2\r\ndb\r\n:%d\r\n$3\r\nqps\r\n:%d\r\n"
	s.Reply("HOTKEYS HISTORY COUNT 2 KEY K DB 1", "*2\r\n"+window(2000, 500, 1, "$7\r\nsamples\r\n$-1\r\n$7\r\nentries\r\n*-1\r\n")+
		window(1000, 1000, 0, "$7\r\nsamples\r\n:50\r\n$7\r\nentries\r\n*2\r\n"+fmt.Sprintf(entry, "k", 1, 40)+fmt.Sprintf(entry, "k", 0, 30)))
	windows, err := open(t, s.Addr, 2).History(t.Context(), HistoryQuery{Windows: 2, Key: "k", DB: 1, Named: true})
	if err != nil || len(windows) != 2 {
		t.Fatalf("%+v, %v", windows, err)
	}
	if w := windows[0]; w.Begin != time.UnixMilli(1000) || w.End() != time.UnixMilli(2000) || w.Samples != 50 || w.Discarded || names(w.Entries) != "k@1=40" {
		t.Errorf("%+v", w)
	}
	if w := windows[1]; w.Begin != time.UnixMilli(2000) || !w.Discarded || !math.IsNaN(w.Samples) || w.Entries != nil {
		t.Errorf("%+v", w)
	}
}

func TestStates(t *testing.T) {
	s := valkeytest.New(t)
	s.Reply("HOTKEYS STATES", "*2\r\n%6\r\n$3\r\nkey\r\n$3\r\na b\r\n$2\r\ndb\r\n:1\r\n$5\r\nstate\r\n$3\r\nhot\r\n$5\r\nsince\r\n:5000\r\n$6\r\ndemand\r\n:4600\r\n$17\r\nhold-remaining-ms\r\n:1500\r\n"+
		"%1\r\n$3\r\nkey\r\n$1\r\nx\r\n")
	states, err := open(t, s.Addr, 3).States(t.Context())
	if err != nil || len(states) != 1 || states[0].Key != "a b" || states[0].DB != 1 || states[0].State != "hot" || states[0].Since != time.UnixMilli(5000) ||
		states[0].Demand != 4600 || states[0].Hold != 1500*time.Millisecond {
		t.Errorf("%+v, %v", states, err)
	}
}

func TestEvents(t *testing.T) {
	at := time.Now()
	for payload, want := range map[string]Event{
		"0 4600 k":         {at, "hot", "k", 0, 4600},
		"12 0.5 a  b\r\n ": {at, "hot", "a  b\r\n ", 12, 0.5},
		"1 2 ":             {at, "hot", "", 1, 2},
		"1 2":              {}, "1 -2 k": {}, "1 inf k": {}, "1 1e308 k": {}, "": {}, "x 1 k": {}, "-1 1 k": {}, "1 x k": {},
	} {
		got, err := eventOf("__hotkeys__:hot", payload, at)
		if got != want || (err != nil) != (want == Event{}) {
			t.Errorf("%q is %+v (%v), want %+v", payload, got, err, want)
		}
	}
	if _, err := eventOf("other", "0 1 k", at); err == nil {
		t.Error("a message of another channel is an event")
	}
}

// TestListen: messages are told as they come, silence longer than the time-out is no failure, and a loss ends it.
func TestListen(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		s := valkeytest.New(t)
		if protocol == 2 { // a PING of a subscriber of RESP2 answers so
			s.Reply("PING", "*2\r\n$4\r\npong\r\n$0\r\n\r\n")
		}
		n, err := New(s.Addr, Options{Protocol: protocol, Timeout: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		defer n.Close()
		subscribed, events, ended := make(chan bool, 1), make(chan Event, 10), make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		go func() {
			ended <- n.Listen(ctx, func() error { subscribed <- true; return nil }, func(e Event) { events <- e })
		}()
		<-subscribed
		for pings := 0; pings < 3; {
			for _, c := range s.Commands() {
				if strings.HasPrefix(c, "PING") {
					pings++
				}
			}
			if err := ctx.Err(); err != nil {
				t.Fatal(err)
			}
		}
		kind := "*"
		if protocol == 3 {
			kind = ">"
		}
		s.Send(kind + "4\r\n$8\r\npmessage\r\n$13\r\n__hotkeys__:*\r\n$15\r\n__hotkeys__:hot\r\n$8\r\n2 4600 k\r\n")
		select {
		case e := <-events:
			if e.Name != "hot" || e.Key != "k" || e.DB != 2 || e.Demand != 4600 {
				t.Errorf("RESP%d: %+v", protocol, e)
			}
		case err := <-ended:
			t.Fatalf("RESP%d: %v", protocol, err)
		}
		s.Drop()
		if err := <-ended; err == nil || ctx.Err() != nil {
			t.Errorf("RESP%d: the loss is %v", protocol, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"host": "tcp host:6379", "host:7000": "tcp host:7000", ":7000": "tcp 127.0.0.1:7000", "10.0.0.1": "tcp 10.0.0.1:6379",
		"::1": "tcp [::1]:6379", "[::1]": "tcp [::1]:6379", "[::1]:7000": "tcp [::1]:7000", "/run/kv.sock": "unix /run/kv.sock",
		"redis://host:7000/3": "tcp host:7000", "rediss://host": "tcp host:6379 TLS", "unix:///run/kv.sock": "unix /run/kv.sock",
		"redis://u:p@host": "tcp host:6379 u:p", "": "tcp 127.0.0.1:6379",
	} {
		var opts redis.Options
		secure, err := address(text, &opts)
		got := opts.Network + " " + opts.Addr
		if secure {
			got += " TLS"
		}
		if opts.Username != "" {
			got += " " + opts.Username + ":" + opts.Password
		}
		if err != nil || got != want {
			t.Errorf("%q is %s (%v), want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"host:x", "host:0", "host:65536", "a:b:c", "http://host", "redis://u:secret@host:port"} {
		if _, err := address(text, &redis.Options{}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestAnyReply: whatever a server answers, it is read or refused.
func TestAnyReply(t *testing.T) {
	name := rapid.SampledFrom([]any{"key", "db", "qps", "state", "begin", "duration", "entries", "share", "tracking-active", nil, int64(1)})
	leaf := rapid.OneOf(rapid.Just(any(nil)), rapid.Map(rapid.Int64(), func(n int64) any { return n }), rapid.Map(rapid.Float64(), func(n float64) any { return n }),
		rapid.Map(rapid.String(), func(s string) any { return s }), rapid.Just(any(true)), rapid.Just(any(math.Inf(1))), rapid.Just(any("inf")))
	value := func(inner *rapid.Generator[any]) *rapid.Generator[any] {
		return rapid.OneOf(leaf, rapid.Map(rapid.SliceOfN(inner, 0, 4), func(s []any) any { return s }), rapid.Custom(func(t *rapid.T) any {
			m := map[any]any{}
			flat := []any{}
			for range rapid.IntRange(0, 6).Draw(t, "fields") {
				n, v := name.Draw(t, "name"), inner.Draw(t, "value")
				m[n] = v
				flat = append(flat, n, v)
			}
			if rapid.Bool().Draw(t, "flat") {
				return flat
			}
			return m
		}))
	}
	any3 := value(value(value(leaf)))
	rapid.Check(t, func(t *rapid.T) {
		v := any3.Draw(t, "reply")
		entries, err := hotEntries(v)
		for _, e := range entries {
			if err != nil || math.IsNaN(e.QPS) || e.QPS < 0 || e.QPS > countMax || e.Share < 0 || math.IsInf(e.Share, 0) || e.DB < 0 {
				t.Fatalf("%+v, %v", e, err)
			}
		}
		for _, s := range statesOf(v) {
			if s.Hold < 0 {
				t.Fatalf("%+v", s)
			}
		}
		if w, err := windowOf(v, -1); err == nil && w.Duration < 0 {
			t.Fatalf("%+v", w)
		}
	})
}
