package tests

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// bothProtocols asks a server in both versions of the protocol.
func (s *hotServer) bothProtocols(ask func(t *testing.T, c *conn)) {
	s.t.Helper()
	for _, version := range []string{"2", "3"} {
		c := s.dial()
		c.do("HELLO", version)
		s.t.(*testing.T).Run("RESP"+version, func(t *testing.T) { ask(t, c) })
	}
}

// number reads a field that must be an integer.
func number(t testing.TB, v value, name string) int64 {
	t.Helper()
	f, _ := v.field(name)
	n, ok := f.int()
	if !ok {
		t.Errorf("%s is no integer:\n%s", name, v)
	}
	return n
}

// entryOf finds a key in a report or a window.
func entryOf(t testing.TB, list value, id identity) value {
	t.Helper()
	for _, e := range list.elems {
		key, _ := e.field("key")
		if key.text == id.key && number(t, e, "db") == int64(id.db) {
			return e
		}
	}
	t.Errorf("no entry of %q in database %d:\n%s", id.key, id.db, list)
	return value{}
}

// wantRate fails unless a field is the rate of so many events in the window.
func (r hotReport) wantRate(t testing.TB, e value, name string, events float64) {
	t.Helper()
	got, want := float64(number(t, e, name)), events*1000/float64(r.durationMs)
	if math.Abs(got-want) > 1+want/500 {
		t.Errorf("%s is %v, want %v:\n%s", name, got, want, e)
	}
}

// TestHotKeysEvidence records one window at 100 % and asks everything about it.
func TestHotKeysEvidence(t *testing.T) {
	s := startHot(t)
	before := time.Now().UnixMilli()
	load := slices.Concat(times(200, "SET a v"), times(300, "GET a"), [][]string{{"SELECT", "2"}}, times(100, "RPUSH b x"), times(50, "GET none"))
	r := s.record(1, func() { s.transaction(load...) })
	a, b, none := identity{"a", 0}, identity{"b", 2}, identity{"none", 2}
	s.bothProtocols(func(t *testing.T, c *conn) {
		list := c.value("HOTKEYS", "GET", "WITHSTATS")
		for _, want := range []struct {
			id                    identity
			reads, writes, misses float64
			in, out               float64 // bytes
			kind                  string
		}{
			{a, 300, 200, 0, 300*20 + 200*27, 300*7 + 200*5, "string"},
			{b, 0, 100, 0, 100 * 29, 9*4 + 90*5 + 6, "list"},
			{none, 50, 0, 50, 50 * 23, 50 * 5, "none"},
		} {
			e := entryOf(t, list, want.id)
			all := want.reads + want.writes
			if n := number(t, e, "samples"); float64(n) != all {
				t.Errorf("%q: %d samples, want %v", want.id.key, n, all)
			}
			for name, events := range map[string]float64{
				"qps": all, "qps-low": all, "qps-high": all, "read-qps": want.reads, "write-qps": want.writes, "miss-qps": want.misses,
				"in-bytes": want.in, "out-bytes": want.out, "reported-qps": 0,
			} {
				r.wantRate(t, e, name, events)
			}
			if low, qps, high := number(t, e, "qps-low"), number(t, e, "qps"), number(t, e, "qps-high"); low > qps || qps > high {
				t.Errorf("%q: %d is not from %d to %d", want.id.key, qps, low, high)
			}
			if n := number(t, e, "certain"); n != 1 {
				t.Errorf("%q is not certain", want.id.key)
			}
			if n := number(t, e, "cpu-usec"); n < 0 {
				t.Errorf("%q took %d µs", want.id.key, n)
			}
			share, _ := e.field("share")
			if f, err := strconv.ParseFloat(share.text, 64); err != nil || math.Abs(f-all/651) > 1e-6 {
				t.Errorf("%q has %s of the accesses, want %v", want.id.key, share, all/651)
			}
			if kind, _ := e.field("type"); kind.text != want.kind {
				t.Errorf("%q is a %s, want %s", want.id.key, kind, want.kind)
			}
		}
		wantKeys(t, c.value("HOTKEYS", "GET", "TYPE", "WRITE"), "a", "b")
		wantKeys(t, c.value("HOTKEYS", "GET", "TYPE", "READ", "COUNT", "2"), "a", "none")
		wantKeys(t, c.value("HOTKEYS", "GET", "DB", "2"), "b", "none")
		s.wantPast(t, c.value("HOTKEYS", "HISTORY"), r, before)
	})
	s.goRedisReads(t)
}

// wantKeys fails unless a report has these keys in this order.
func wantKeys(t testing.TB, list value, want ...string) {
	t.Helper()
	var got []string
	for _, e := range list.elems {
		key, _ := e.field("key")
		got = append(got, key.text)
	}
	if !slices.Equal(got, want) {
		t.Errorf("keys %q, want %q", got, want)
	}
}

// wantPast fails unless a history has the window of a report, between windows that were cut short.
func (s *hotServer) wantPast(t testing.TB, history value, r hotReport, notBefore int64) {
	t.Helper()
	completed := 0
	for _, w := range history.elems {
		begin := number(t, w, "begin")
		if begin < notBefore-1 || begin > time.Now().UnixMilli()+1 {
			t.Errorf("a window began at %d ms, which is not during the test", begin)
		}
		entries, _ := w.field("entries")
		if number(t, w, "discarded") == 1 {
			if samples, _ := w.field("samples"); len(entries.elems) != 0 || samples.kind == ':' {
				t.Errorf("something is known of a window that was discarded:\n%s", w)
			}
			continue
		}
		completed++
		if ms, n := number(t, w, "duration"), number(t, w, "samples"); ms != r.durationMs || n != r.samples+1 {
			t.Errorf("a window of %d ms with %d samples, want %d ms and %d", ms, n, r.durationMs, r.samples+1)
		}
		r.wantRate(t, w, "qps", float64(r.samples+1))
		r.wantRate(t, entryOf(t, entries, identity{"a", 0}), "read-qps", 300)
		r.wantRate(t, entryOf(t, entries, identity{"b", 2}), "write-qps", 100)
	}
	if completed != 1 {
		t.Errorf("%d windows were completed, want 1:\n%s", completed, history)
	}
}

// goRedisReads asks with go-redis, to which maps and null are Go values.
func (s *hotServer) goRedisReads(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: s.addr, Protocol: 3})
	defer client.Close()
	list, err := client.Do(ctx, "HOTKEYS", "GET", "COUNT", 1, "WITHSTATS").Slice()
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	e := list[0].(map[any]any)
	if e["key"] != "a" || e["samples"] != int64(500) || len(e) != 16 {
		t.Errorf("WITHSTATS by go-redis: %v", e)
	}
	if _, isDouble := e["share"].(float64); !isDouble {
		t.Errorf("the share is a %T", e["share"])
	}
	windows, err := client.Do(ctx, "HOTKEYS", "HISTORY", "KEY", "a", "COUNT", 2).Slice()
	if err != nil || len(windows) != 2 {
		t.Fatalf("%v, %v", windows, err)
	}
	if newest := windows[0].(map[any]any); newest["discarded"] != int64(1) || newest["entries"] != nil {
		t.Errorf("the window cut short: %v", newest)
	}
	if older := windows[1].(map[any]any); len(older["entries"].([]any)) != 1 {
		t.Errorf("the completed window: %v", older)
	}
}

// TestHotKeysHistoryGoesOn: windows follow each other without a gap, with and without traffic, and no more are kept than were
// asked for.
func TestHotKeysHistoryGoesOn(t *testing.T) {
	s := startHot(t, "--hotkeys-history-length", "3")
	var windows []value
	eventually(t, "four windows are over", func() bool {
		s.c.do("GET", "k")
		windows = s.c.value("HOTKEYS", "HISTORY").elems
		return infoInt(s.c, "hotkeys", "hotkeys_windows_completed")+infoInt(s.c, "hotkeys", "hotkeys_windows_discarded") >= 5
	})
	if len(windows) == 0 || len(windows) > 3 {
		t.Fatalf("%d windows", len(windows))
	}
	for i := 1; i < len(windows); i++ {
		newer, older := windows[i-1], windows[i]
		end := number(t, older, "begin") + number(t, older, "duration")
		if gap := number(t, newer, "begin") - end; gap < -3 || gap > 3 {
			t.Errorf("a window begins %d ms after the end of the one before:\n%s\n%s", gap, newer, older)
		}
	}
	info := s.c.value("INFO", "hotkeys", "memory").text
	if n := infoNumber(t, info, "hotkeys_memory_bytes"); n <= 0 || n != infoNumber(t, info, "mem_hotkeys") {
		t.Errorf("not the same memory, or none:\n%s", info)
	}
	s.c.ok("CONFIG", "SET", "hotkeys-top-k", "0")
	if got := fmt.Sprint(s.c.value("HOTKEYS", "HISTORY")); got != fmt.Sprint(s.c.value("HOTKEYS", "GET")) {
		t.Errorf("off, the history is %s", got)
	}
}
