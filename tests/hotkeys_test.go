package tests

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// rounds is how often each row of the access table runs: an access too many or
// too few then changes a rate by far more than rounding can.
const rounds = 100

// TestHotKeysAccesses holds the whole access table against one window per
// client library and protocol: the rate of every key and the exact number of
// accesses.
func TestHotKeysAccesses(t *testing.T) {
	t.Parallel() // it waits for windows
	s := startHot(t)
	for _, client := range hotClients(t, s) {
		t.Run(client.name, func(t *testing.T) {
			r := s.checkAccesses(t, accessTable, 2, func(commands [][]string) {
				client.exec(t, append(commands, []string{"SELECT", "0"}, []string{"GET", marker}))
			})
			if got := client.hotkeys(t); len(got) != len(r.entries)+1 {
				t.Errorf("%s reads %d entries of %d", client.name, len(got), len(r.entries)+1)
			}
		})
	}
}

// checkAccesses runs the rows of a table in a window of so many seconds and
// compares what was counted. exec sends commands as one transaction that ends
// with an access to marker.
func (s *hotServer) checkAccesses(t *testing.T, table []accessRow, seconds int, exec func(commands [][]string)) hotReport {
	t.Helper()
	var setup, commands [][]string
	want, total := map[identity]int{}, 0
	for i, row := range table {
		setup = append(setup, commandsOf(row.setup, i)...)
		for range rounds {
			commands = append(commands, commandsOf(row.commands, i)...)
		}
		for id, n := range row.wanted(i) {
			want[id] = n * rounds
			total += n * rounds
		}
	}
	r := s.record(seconds, func() {
		s.c.ok("FLUSHALL")
		s.c.pipeline(append(setup, []string{"SELECT", "0"}))
		s.c.ok("HOTKEYS", "RESET")
		exec(commands)
	})
	for i, row := range table {
		for id := range row.wanted(i) {
			if !r.is(id, float64(want[id])) {
				qps, _ := r.rate(id)
				t.Errorf("%s (after %q): %s@%d was counted %.2f times, want %s", row.commands, row.setup, id.key, id.db,
					float64(qps)*float64(r.durationMs)/1000/rounds, row.want)
			}
		}
	}
	for _, e := range r.entries {
		if want[e.identity] == 0 {
			var i int
			fmt.Sscanf(e.key, "row%d:", &i)
			t.Errorf("%s (after %q): %s@%d was counted and should not be", table[i].commands, table[i].setup, e.key, e.db)
		}
	}
	if r.samples != int64(total) {
		t.Errorf("%d accesses in the window, want %d", r.samples, total)
	}
	return r
}

// TestHotKeysOfExpiredKeys counts commands that meet a key which is expired but
// still there: the lookup counts, the expiry does not.
func TestHotKeysOfExpiredKeys(t *testing.T) {
	t.Parallel() // it waits for windows
	s := startHot(t)
	s.c.ok("DEBUG", "SET-ACTIVE-EXPIRE", "0")
	rows := []struct {
		command  string // %s is the key
		accesses int
	}{
		{"GET %s", 1}, {"EXISTS %s", 1}, {"TTL %s", 1}, {"SET %s v", 1}, {"SETNX %s v", 1}, {"INCR %s", 1}, {"APPEND %s x", 1},
		{"GETDEL %s", 1}, {"DEL %s", 0}, {"UNLINK %s", 0}, {"EXPIRE %s 100", 1}, {"PERSIST %s", 1}, {"RENAME %s other", 1},
		{"COPY %s other", 1}, {"MOVE %s 1", 1}, {"DELIFEQ %s v", 1}, {"TYPE %s", 1}, {"GETEX %s", 1},
	}
	// One access each: in a window of one second the rate of a key is the number
	// of its accesses.
	const each = 50
	var setup, commands [][]string
	want, total := map[identity]int{}, 0
	for i, row := range rows {
		for k := range each {
			key := fmt.Sprintf("expired:%d:%d", i, k)
			setup = append(setup, []string{"SET", key, "v", "PX", "1"})
			commands = append(commands, times(1, fmt.Sprintf(row.command, key))...)
			if row.accesses > 0 {
				want[identity{key, 0}] = row.accesses
			}
			total += row.accesses
		}
	}
	r := s.record(1, func() {
		s.park()
		s.c.ok("FLUSHALL")
		s.c.pipeline(setup)
		s.c.ok("SET", "the last of them", "v", "PX", "1")
		eventually(t, "the keys are expired", func() bool { return s.c.do("EXISTS", "the last of them") == ":0\r\n" })
		s.c.ok("CONFIG", "SET", "hotkeys-window-seconds", "1")
		s.transaction(commands...)
	})
	r.wantCounts(t, want)
	if r.samples != int64(total) {
		t.Errorf("%d accesses in the window, want %d", r.samples, total)
	}
}

// TestHotKeysIgnoresTheServersOwnWork lets keys expire in the background.
func TestHotKeysIgnoresTheServersOwnWork(t *testing.T) {
	t.Parallel() // it waits for windows
	s := startHot(t)
	r := s.record(2, func() {
		s.park()
		for i := range 300 {
			s.c.ok("SET", fmt.Sprintf("k%d", i), "v", "PX", "1")
		}
		s.c.ok("CONFIG", "SET", "hotkeys-window-seconds", "2")
		eventually(t, "the active expiry has removed the keys", func() bool {
			return s.c.value("DBSIZE").text == "0"
		})
		s.transaction()
	})
	if r.samples != 0 || len(r.entries) != 0 {
		t.Errorf("the expiry of keys was counted: %d accesses, %q", r.samples, r.keys())
	}
	if n := infoInt(s.c, "stats", "expired_keys"); n < 300 {
		t.Errorf("expired_keys is %d, so nothing was tested", n)
	}
}

// TestHotKeysRefusedCommandsCountNothing covers the refusals that a transaction
// cannot hold: arity, unknown commands, authentication.
func TestHotKeysRefusedCommandsCountNothing(t *testing.T) {
	t.Parallel() // it waits for windows
	s := startHot(t, "--requirepass", "secret")
	s.c.ok("AUTH", "secret")
	stranger := s.dial()
	r := s.record(3, func() {
		for range 50 {
			s.c.do("GET")
			s.c.do("GET", "refused", "x")
			s.c.do("INCR")
			s.c.do("SET", "refused")
			s.c.do("NOSUCH", "refused")
			s.c.do("MSET", "refused")
			if got := stranger.do("GET", "refused"); !strings.HasPrefix(got, "-NOAUTH ") {
				t.Fatalf("GET without a password: %q", got)
			}
			stranger.do("SET", "refused", "x")
		}
		// Queued commands of a transaction that is given up count nothing either.
		s.c.ok("MULTI")
		s.c.do("GET", "refused")
		s.c.ok("DISCARD")
		s.c.ok("MULTI")
		s.c.do("GET", "refused")
		s.c.do("GET")
		s.c.do("EXEC")
		s.c.ok("WATCH", "watched")
		s.c.ok("MULTI")
		s.c.do("GET", "watched")
		stranger.do("AUTH", "secret")
		stranger.do("SET", "watched", "changed")
		if got := s.c.do("EXEC"); got != "*-1\r\n" {
			t.Fatalf("EXEC after a change of the watched key: %q", got)
		}
		s.transaction()
		stranger.do("RESET")
	})
	r.wantCounts(t, map[identity]int{{"watched", 0}: 1})
	if r.samples != 1 {
		t.Errorf("%d accesses, want only the SET of the watched key", r.samples)
	}
}

// TestHotKeysNothingAtAll runs what must not count alone, WATCH and the big
// walks with it, in a window of their own.
func TestHotKeysNothingAtAll(t *testing.T) {
	t.Parallel() // it waits for windows
	s := startHot(t)
	r := s.record(3, func() {
		s.park()
		s.c.ok("MSET", "a", "1", "b", "2")
		s.c.ok("CONFIG", "SET", "hotkeys-window-seconds", "3")
		for range 100 {
			s.c.ok("WATCH", "a", "b", "missing")
			s.c.do("KEYS", "*")
			s.c.do("SCAN", "0")
			s.c.do("RANDOMKEY")
			s.c.do("MEMORY", "USAGE", "a")
			s.c.do("OBJECT", "ENCODING", "a")
			s.c.do("DEBUG", "OBJECT", "a")
			s.c.do("COMMAND", "GETKEYS", "GET", "a")
			s.c.ok("UNWATCH")
		}
		s.transaction()
	})
	if r.samples != 0 {
		t.Errorf("%d accesses of %q", r.samples, r.keys())
	}
}

// TestHotKeysOfATransaction is about EXEC as a whole: attributed, and in one
// window whatever its length.
func TestHotKeysOfATransaction(t *testing.T) {
	t.Parallel() // it waits for windows
	s := startHot(t)
	t.Run("each command counts", func(t *testing.T) {
		r := s.record(1, func() {
			s.transaction(append(times(100, "GET a"), times(200, "INCR b")...)...)
		})
		r.wantCounts(t, map[identity]int{{"a", 0}: 100, {"b", 0}: 200})
	})
	t.Run("rotation waits for its end", func(t *testing.T) {
		r := s.record(2, func() {
			commands := append(times(300, "GET before"), []string{"DEBUG", "SLEEP", "2.3"})
			s.transaction(append(commands, times(300, "GET after")...)...)
		})
		r.wantCounts(t, map[identity]int{{"before", 0}: 300, {"after", 0}: 300})
		if r.durationMs < 2300 {
			t.Errorf("a window that held a transaction of 2.3 s was %d ms long", r.durationMs)
		}
	})
	t.Run("HOTKEYS GET inside does not rotate", func(t *testing.T) {
		r := s.record(2, func() {
			commands := append(times(300, "GET a"), []string{"DEBUG", "SLEEP", "2.3"}, []string{"HOTKEYS", "GET"}, []string{"INFO", "hotkeys"})
			replies := s.transaction(append(commands, times(300, "GET b")...)...)
			if got := replies[301]; got.kind != '*' || len(got.elems) != 0 {
				t.Errorf("HOTKEYS GET inside a transaction saw its own window:\n%s", got)
			}
			if n := infoNumber(t, replies[302].text, "hotkeys_last_window_duration_ms"); n != 0 {
				t.Errorf("INFO hotkeys inside a transaction saw a window of %d ms", n)
			}
		})
		r.wantCounts(t, map[identity]int{{"a", 0}: 300, {"b", 0}: 300})
	})
}

// TestHotKeysNoTouch: a client that leaves no traces in LRU still makes keys hot.
func TestHotKeysNoTouch(t *testing.T) {
	t.Parallel() // it waits for windows
	s := startHot(t)
	s.c.ok("SET", "h", "v")
	s.c.ok("CLIENT", "NO-TOUCH", "ON")
	r := s.record(1, func() { s.transaction(times(300, "GET h", "GET m", "EXISTS h", "TOUCH h")...) })
	r.wantCounts(t, map[identity]int{{"h", 0}: 900, {"m", 0}: 300})
}

// TestHotKeysLocks: keys set and deleted thousands of times are the classic
// incident, and are hot although they do not exist.
func TestHotKeysLocks(t *testing.T) {
	t.Parallel() // it waits for windows
	s := startHot(t)
	r := s.record(1, func() { s.transaction(times(300, "SET lock 1", "DEL lock")...) })
	r.wantCounts(t, map[identity]int{{"lock", 0}: 600})
	s.c.want(":0\r\n", "EXISTS", "lock")
}

// TestHotKeysIdentity: a key is its name and its database, and no command moves
// counts from one identity to another.
func TestHotKeysIdentity(t *testing.T) {
	t.Parallel() // it waits for windows
	s := startHot(t)
	clean := func() {
		s.park()
		s.c.ok("FLUSHALL")
		s.c.ok("SET", "a", "v")
	}
	resume := func() { s.c.ok("CONFIG", "SET", "hotkeys-window-seconds", "1") }
	for _, test := range []struct {
		name     string
		commands [][]string
		want     map[identity]int
	}{
		{
			"two databases", append(append(times(300, "GET x"), times(1, "SELECT 2")...), times(200, "GET x")...),
			map[identity]int{{"x", 0}: 300, {"x", 2}: 200},
		},
		{
			"RENAME", append(append(times(300, "GET a"), times(1, "RENAME a b")...), times(300, "GET b")...),
			map[identity]int{{"a", 0}: 302, {"b", 0}: 301},
		},
		{
			"MOVE", append(append(times(300, "GET a"), times(1, "MOVE a 1", "SELECT 1")...), times(300, "GET a")...),
			map[identity]int{{"a", 0}: 302, {"a", 1}: 301},
		},
		{
			"SWAPDB", append(append(times(300, "GET a"), times(1, "SWAPDB 0 1")...), times(100, "GET a")...),
			map[identity]int{{"a", 0}: 400},
		},
		{
			"names of every kind", times(100, `GET ""`, `GET "bin\x00\xff\r\n"`, "GET "+strings.Repeat("long", 5000)),
			map[identity]int{{"", 0}: 100, {"bin\x00\xff\r\n", 0}: 100, {strings.Repeat("long", 5000), 0}: 100},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := s.record(1, func() {
				clean()
				resume()
				s.transaction(test.commands...)
			})
			r.wantCounts(t, test.want)
		})
	}
}

// TestHotKeysWindows is about time: the length of windows, silence, and reports
// that age out.
func TestHotKeysWindows(t *testing.T) {
	t.Parallel() // it waits for windows
	s := startHot(t)
	t.Run("a silent key leaves the report", func(t *testing.T) {
		s.record(1, func() { s.transaction(times(300, "GET a")...) })
		s.c.ok("CONFIG", "SET", "hotkeys-window-seconds", "1")
		eventually(t, "the report is empty", func() bool { return s.c.do("HOTKEYS", "GET") == "*0\r\n" })
		r := s.report()
		if r.samples != 0 || r.durationMs < 1000 {
			t.Errorf("an idle window has %d samples and a length of %d ms", r.samples, r.durationMs)
		}
	})
	t.Run("rotation needs no traffic", func(t *testing.T) {
		s.park()
		s.c.ok("HOTKEYS", "RESET")
		s.c.ok("CONFIG", "SET", "hotkeys-window-seconds", "2")
		// Nobody asks for two windows and a half. A server that rotated only when
		// asked would then find a window of 5 s, and discard it as stalled.
		elapse(5 * time.Second)
		r := s.report()
		if r.durationMs < 2000 || r.durationMs >= 4000 {
			t.Errorf("after 5 s of silence the last window of 2 s is %d ms long", r.durationMs)
		}
		t.Logf("rotated %d ms late", r.durationMs-2000)
	})
	t.Run("never shorter than configured", func(t *testing.T) {
		s.c.ok("CONFIG", "SET", "hotkeys-window-seconds", "1")
		s.c.ok("HOTKEYS", "RESET")
		seen := map[int64]bool{}
		poll(4*time.Second, func() bool {
			ms := infoInt(s.c, "hotkeys", "hotkeys_last_window_duration_ms")
			if ms != 0 && ms < 1000 {
				t.Errorf("a window of one second was %d ms long", ms)
			}
			seen[ms] = true
			return false
		})
		if len(seen) < 2 {
			t.Errorf("no window was completed in 4 s: %v", seen)
		}
	})
	t.Run("rates divide by the measured length", func(t *testing.T) {
		r := s.record(3, func() { s.transaction(times(3000, "GET a")...) })
		r.wantCounts(t, map[identity]int{{"a", 0}: 3000})
		if r.durationMs < 3000 {
			t.Errorf("a window of 3 s was %d ms long", r.durationMs)
		}
	})
	for _, question := range [][]string{{"HOTKEYS", "GET"}, {"INFO", "hotkeys"}} {
		t.Run(strings.Join(question, " ")+" rotates before it answers", func(t *testing.T) {
			// The sleep keeps the periodic task out, and the question is asked before
			// that task has its turn.
			s.park()
			s.c.ok("HOTKEYS", "RESET")
			s.c.ok("CONFIG", "SET", "hotkeys-window-seconds", "1")
			replies := s.c.pipeline([][]string{{"GET", "a"}, {"DEBUG", "SLEEP", "1.2"}, question})
			got := parseReply(replies[2])
			if question[0] == "HOTKEYS" && len(got.elems) != 1 {
				t.Errorf("1.2 s after the begin of a window of 1 s: %s", got)
			}
			if question[0] == "INFO" && infoNumber(t, got.text, "hotkeys_last_window_samples") != 1 {
				t.Errorf("1.2 s after the begin of a window of 1 s: %q", got.text)
			}
		})
	}
	t.Run("only the frozen window is reported", func(t *testing.T) {
		s.park()
		s.c.ok("HOTKEYS", "RESET")
		s.transaction(times(300, "GET live")...)
		s.c.want("*0\r\n", "HOTKEYS", "GET")
	})
}

// TestHotKeysAfterAStall stops the whole process, as a hypervisor does.
func TestHotKeysAfterAStall(t *testing.T) {
	t.Parallel() // it waits for windows
	s := startHot(t)
	ask := string(encode("HOTKEYS", "GET")) + string(encode("INFO", "hotkeys"))
	t.Run("twice the length discards both windows", func(t *testing.T) {
		s.record(1, func() { s.transaction(times(300, "GET a")...) })
		s.c.ok("CONFIG", "SET", "hotkeys-window-seconds", "1")
		s.transaction(times(300, "GET b")...)
		s.stop()
		// The questions wait in the socket, so that they are the first thing the
		// server hears.
		s.c.send(ask)
		elapse(2500 * time.Millisecond)
		s.signal(syscall.SIGCONT)
		if got := s.c.reply(); got != "*0\r\n" {
			t.Errorf("HOTKEYS GET after a stall of 2.5 windows: %s", printRaw(got))
		}
		info := parseReply(s.c.reply()).text
		if ms := infoNumber(t, info, "hotkeys_last_window_duration_ms"); ms != 0 {
			t.Errorf("after a stall the last window is %d ms long", ms)
		}
		if n := infoNumber(t, info, "hotkeys_last_window_samples"); n != 0 {
			t.Errorf("after a stall the last window has %d samples", n)
		}
	})
	t.Run("the next window is valid", func(t *testing.T) {
		r := s.record(1, func() { s.transaction(times(300, "GET c")...) })
		r.wantCounts(t, map[identity]int{{"c", 0}: 300})
	})
	t.Run("less than twice the length freezes", func(t *testing.T) {
		s.park()
		s.c.ok("HOTKEYS", "RESET")
		s.c.ok("CONFIG", "SET", "hotkeys-window-seconds", "3")
		s.transaction(times(3000, "GET d")...)
		s.stop()
		s.c.send(ask)
		elapse(4 * time.Second)
		s.signal(syscall.SIGCONT)
		entries := parseReply(s.c.reply())
		r := hotReport{durationMs: infoNumber(t, parseReply(s.c.reply()).text, "hotkeys_last_window_duration_ms")}
		for _, e := range entries.elems {
			r.entries = append(r.entries, readHotkey(t, e))
		}
		r = r.withoutMarker()
		if r.durationMs < 4000 || r.durationMs >= 6000 {
			t.Fatalf("a window of 3 s with a stall of 4 s was %d ms long", r.durationMs)
		}
		r.wantCounts(t, map[identity]int{{"d", 0}: 3000})
	})
	t.Run("a late rotation does not shorten the next window", func(t *testing.T) {
		var next int64
		eventually(t, "the window after the late one is complete", func() bool {
			next = infoInt(s.c, "hotkeys", "hotkeys_last_window_duration_ms")
			return next < 4000
		})
		if next < 3000 {
			t.Errorf("the window of 3 s after a late rotation was %d ms long", next)
		}
	})
}

// TestHotKeysParameterChanges: a change discards the live window, keeps the
// frozen one readable, and a refused or empty one does nothing.
func TestHotKeysParameterChanges(t *testing.T) {
	t.Parallel() // it waits for windows
	s := startHot(t)
	for _, change := range [][]string{
		{"hotkeys-sampling-percentage", "50"},
		{"hotkeys-top-k", "999"},
		{"hotkeys-counters", "2000"},
		{"hotkeys-window-seconds", "299"},
		{"hotkeys-top-k", "500", "hotkeys-sampling-percentage", "99"},
	} {
		t.Run(strings.Join(change, " "), func(t *testing.T) {
			s.record(1, func() { s.transaction(times(300, "GET frozen")...) })
			frozen := s.c.do("HOTKEYS", "GET")
			s.c.pipeline(times(300, "GET live"))
			s.c.ok(append([]string{"CONFIG", "SET"}, change...)...)
			if got := s.c.do("HOTKEYS", "GET"); got != frozen {
				t.Errorf("the frozen window was %s, and is now %s", printRaw(frozen), printRaw(got))
			}
			s.c.ok("CONFIG", "SET", "hotkeys-top-k", "1000", "hotkeys-sampling-percentage", "100", "hotkeys-counters", "0")
		})
	}
	t.Run("a change discards the live window", func(t *testing.T) {
		r := s.record(2, func() {
			s.c.pipeline(times(300, "GET discarded"))
			s.c.ok("CONFIG", "SET", "hotkeys-top-k", "998")
			s.c.pipeline(times(300, "GET discarded"))
			s.c.ok("CONFIG", "SET", "hotkeys-counters", "3000")
			s.c.pipeline(times(300, "GET discarded"))
			s.c.ok("CONFIG", "SET", "hotkeys-sampling-percentage", "99")
			s.c.pipeline(times(300, "GET discarded"))
			s.c.ok("CONFIG", "SET", "hotkeys-top-k", "1000", "hotkeys-sampling-percentage", "100", "hotkeys-counters", "0")
			s.transaction(times(300, "GET kept")...)
		})
		r.wantCounts(t, map[identity]int{{"kept", 0}: 300})
	})
	t.Run("what fails or changes nothing leaves both alone", func(t *testing.T) {
		var frozen string
		r := s.record(3, func() {
			s.c.pipeline(times(300, "GET kept"))
			s.c.ok("CONFIG", "SET", "hotkeys-top-k", "1000")
			s.c.ok("CONFIG", "SET", "hotkeys-window-seconds", "3", "hotkeys-sampling-percentage", "100", "hotkeys-counters", "0")
			for _, bad := range [][]string{
				{"hotkeys-top-k", "1001"}, {"hotkeys-top-k", "-1"}, {"hotkeys-top-k", "5", "hotkeys-sampling-percentage", "101"},
				{"hotkeys-sampling-percentage", "50", "hotkeys-window-seconds", "0"}, {"hotkeys-top-k", "5", "nosuch", "1"},
				{"hotkeys-counters", "999"}, {"hotkeys-counters", "65537"}, {"hotkeys-top-k", "5", "timeout", "abc"},
			} {
				if got := s.c.do(append([]string{"CONFIG", "SET"}, bad...)...); got[0] != '-' {
					t.Errorf("CONFIG SET %q: %q", bad, got)
				}
			}
			s.transaction()
		})
		r.wantCounts(t, map[identity]int{{"kept", 0}: 300})
		frozen = s.c.do("HOTKEYS", "GET")
		s.c.do("CONFIG", "SET", "hotkeys-top-k", "1001")
		s.c.ok("CONFIG", "SET", "hotkeys-top-k", "1000")
		if got := s.c.do("HOTKEYS", "GET"); got != frozen {
			t.Errorf("a refused change altered the frozen window to %s", printRaw(got))
		}
		for name, want := range map[string]string{"hotkeys-top-k": "1000", "hotkeys-sampling-percentage": "100", "hotkeys-window-seconds": "300"} {
			if v := s.c.value("CONFIG", "GET", name); len(v.elems) != 2 || v.elems[1].text != want {
				t.Errorf("%s is now %s, want %s", name, v, want)
			}
		}
	})
}

// TestHotKeysPercentage: the sampled counts are scaled by the percentage they
// were sampled under.
func TestHotKeysPercentage(t *testing.T) {
	t.Parallel() // it waits for windows
	accesses := scaled(100_000)
	s := startHot(t, "--hotkeys-sampling-percentage", "10")
	r := s.recordWhole(2, func() { s.transaction(times(accesses, "GET k")...) },
		func(r hotReport) bool { return r.samples > int64(accesses)/20 })
	// A binomial count lies further than six standard deviations from its mean
	// once in 5·10⁸ runs.
	mean, deviation := float64(accesses)*0.1, math.Sqrt(float64(accesses)*0.1*0.9)
	if math.Abs(float64(r.samples)-mean) > 6*deviation {
		t.Errorf("%d of %d accesses were sampled at 10 %%", r.samples, accesses)
	}
	// The access to the marker may be one of the samples.
	if !r.is(identity{"k", 0}, float64(r.samples)*10) && !r.is(identity{"k", 0}, float64(r.samples-1)*10) {
		qps, _ := r.rate(identity{"k", 0})
		t.Errorf("%d samples at 10 %% in %d ms give a rate of %d", r.samples, r.durationMs, qps)
	}
	before := s.c.do("HOTKEYS", "GET")
	s.c.ok("CONFIG", "SET", "hotkeys-sampling-percentage", "100")
	if after := s.c.do("HOTKEYS", "GET"); after != before {
		t.Errorf("raising the percentage changed the frozen window from %s to %s", printRaw(before), printRaw(after))
	}
}

// TestHotKeysTopK: a smaller top-k cuts to the hottest, a larger keeps all, and
// only zero frees everything.
func TestHotKeysTopK(t *testing.T) {
	t.Parallel() // it waits for windows
	s := startHot(t, "--hotkeys-top-k", "16")
	var load [][]string
	for i := range 8 {
		load = append(load, times(100*(i+1), fmt.Sprintf("GET k%d", i+1))...)
	}
	r := s.record(1, func() { s.transaction(load...) })
	want := map[identity]int{}
	for i := range 8 {
		want[identity{fmt.Sprintf("k%d", i+1), 0}] = 100 * (i + 1)
	}
	r.wantCounts(t, want)
	if got := r.keys(); !slices.Equal(got, []string{"k8", "k7", "k6", "k5", "k4", "k3", "k2", "k1"}) {
		t.Errorf("not the hottest first: %q", got)
	}
	all := s.c.value("HOTKEYS", "GET")
	s.c.ok("CONFIG", "SET", "hotkeys-top-k", "3")
	three := s.c.value("HOTKEYS", "GET")
	if len(three.elems) != 3 || three.String() != (value{kind: '*', elems: all.elems[:3]}).String() {
		t.Errorf("cut to three:\n%s", three)
	}
	s.c.ok("CONFIG", "SET", "hotkeys-top-k", "100")
	if more := s.c.value("HOTKEYS", "GET"); len(more.elems) < 3 || (value{kind: '*', elems: more.elems[:3]}).String() != three.String() {
		t.Errorf("raised to 100 after a cut to three:\n%s", more)
	}
	s.c.ok("CONFIG", "SET", "hotkeys-top-k", "0")
	s.c.want("*0\r\n", "HOTKEYS", "GET")
	if n := infoInt(s.c, "hotkeys", "hotkeys_last_window_duration_ms"); n != 0 {
		t.Errorf("off, and the last window is %d ms long", n)
	}
	s.c.ok("HOTKEYS", "RESET")
	s.c.ok("CONFIG", "SET", "hotkeys-top-k", "16")
	s.c.want("*0\r\n", "HOTKEYS", "GET")
	r = s.record(1, func() { s.transaction(times(300, "GET again")...) })
	r.wantCounts(t, map[identity]int{{"again", 0}: 300})
}

// TestHotKeysWhatClears: RESET and FLUSHALL clear both windows, FLUSHDB one
// database in both, anything else nothing.
func TestHotKeysWhatClears(t *testing.T) {
	t.Parallel() // it waits for windows
	s := startHot(t)
	load := append(append(times(300, "GET x", "SET stays v"), times(1, "SELECT 2")...), times(200, "GET x", "SET stays v")...)
	both := map[identity]int{{"x", 0}: 300, {"stays", 0}: 300, {"x", 2}: 200, {"stays", 2}: 200}
	onlyZero := map[identity]int{{"x", 0}: 300, {"stays", 0}: 300}
	other := s.dial()
	for _, test := range []struct {
		name     string
		commands [][]string // run on another connection
		want     map[identity]int
		samples  int64
		duration bool // a completed window is still there
	}{
		{"DEL RENAME MOVE SWAPDB", times(1, "DEL x stays", "SET a 1", "RENAME a b", "MOVE b 1", "SWAPDB 0 2", "SWAPDB 0 2"), both, 1001, true},
		{"FLUSHDB of another database", times(1, "SELECT 5", "FLUSHDB"), both, 1001, true},
		{"FLUSHDB", times(1, "SELECT 2", "FLUSHDB"), onlyZero, 1001, true},
		{"FLUSHDB ASYNC", times(1, "SELECT 2", "FLUSHDB ASYNC"), onlyZero, 1001, true},
		{"FLUSHALL", times(1, "FLUSHALL"), map[identity]int{}, 0, false},
		{"FLUSHALL ASYNC", times(1, "SELECT 3", "FLUSHALL ASYNC"), map[identity]int{}, 0, false},
		{"HOTKEYS RESET", times(1, "HOTKEYS RESET"), map[identity]int{}, 0, false},
		{"CONFIG RESETSTAT", times(1, "CONFIG RESETSTAT"), both, 1001, true},
	} {
		t.Run("frozen/"+test.name, func(t *testing.T) {
			s.record(1, func() { s.transaction(load...) })
			other.ok("SELECT", "0")
			other.pipeline(test.commands)
			r := s.report()
			if r.samples != test.samples || (r.durationMs > 0) != test.duration {
				t.Errorf("%d samples in %d ms, want %d samples", r.samples, r.durationMs, test.samples)
			}
			if test.duration {
				r = r.withoutMarker()
			}
			r.wantCounts(t, test.want)
		})
		if len(test.want) == len(both) || strings.HasSuffix(test.name, "ASYNC") {
			continue // what is left alone accesses keys itself, and would be counted
		}
		t.Run("live/"+test.name, func(t *testing.T) {
			// The marker's own access comes after the clearing, in the same window.
			r := s.record(2, func() {
				s.c.pipeline(append(load, []string{"SELECT", "0"}))
				other.ok("SELECT", "0")
				other.pipeline(test.commands)
				s.transaction()
			})
			r.wantCounts(t, test.want)
			if r.samples != max(test.samples-1, 0) {
				t.Errorf("%d samples, want %d", r.samples, max(test.samples-1, 0))
			}
		})
	}
}

// TestHotKeysReply pins the bytes of the report in both protocols.
func TestHotKeysReply(t *testing.T) {
	t.Parallel() // it waits for windows
	s := startHot(t)
	r := s.record(1, func() {
		s.transaction(append(append(times(500, `GET "k\r\n"`), times(1, "SELECT 15")...), times(300, "GET z")...)...)
	})
	first, _ := r.rate(identity{"k\r\n", 0})
	second, _ := r.rate(identity{"z", 15})
	last := int64(math.Round(1000 / float64(r.durationMs)))
	body := func(open string) string {
		b := "*3\r\n"
		for _, e := range []hotkey{{identity{"k\r\n", 0}, first}, {identity{"z", 15}, second}, {identity{marker, 0}, last}} {
			b += open + fmt.Sprintf("$3\r\nkey\r\n$%d\r\n%s\r\n$2\r\ndb\r\n:%d\r\n$3\r\nqps\r\n:%d\r\n", len(e.key), e.key, e.db, e.qps)
		}
		return b
	}
	s.c.want(body("*6\r\n"), "HOTKEYS", "GET")
	three := s.dial()
	three.do("HELLO", "3")
	three.want(body("%3\r\n"), "HOTKEYS", "GET")
	three.ok("HOTKEYS", "RESET")
	three.want("*0\r\n", "HOTKEYS", "GET")
}

// TestHotKeysOrder: by the unrounded estimate, then by name, then by database.
func TestHotKeysOrder(t *testing.T) {
	t.Parallel() // it waits for windows
	s := startHot(t)
	t.Run("unrounded", func(t *testing.T) {
		// In a window of three seconds neighbours round to the same rate, and names
		// are in the opposite order of counts.
		const n = 40
		var load [][]string
		for i := range n {
			load = append(load, times(n-i+2, fmt.Sprintf("GET k%02d", n-i))...)
		}
		r := s.record(3, func() { s.transaction(load...) })
		equal := 0
		for i := range n {
			if want := fmt.Sprintf("k%02d", n-i); i >= len(r.entries) || r.entries[i].key != want {
				t.Fatalf("entry %d is not %s: %v", i, want, r.entries)
			}
			if i > 0 && r.entries[i].qps == r.entries[i-1].qps {
				equal++
			}
		}
		if equal == 0 {
			t.Error("no two rates round to the same, so nothing was tested")
		}
	})
	t.Run("ties", func(t *testing.T) {
		r := s.record(1, func() {
			load := times(50, "GET b", "GET a", "GET ab", "GET B")
			load = append(load, append(times(1, "SELECT 3"), times(50, "GET a", "GET c")...)...)
			s.transaction(append(load, append(times(1, "SELECT 1"), times(50, "GET a")...)...)...)
		})
		want := []identity{{"B", 0}, {"a", 0}, {"a", 1}, {"a", 3}, {"ab", 0}, {"b", 0}, {"c", 3}}
		for i, id := range want {
			if i >= len(r.entries) || r.entries[i].identity != id {
				t.Fatalf("entry %d is not %v: %v", i, id, r.entries)
			}
		}
	})
}

// TestHotKeysCounters: with as many counters as keys reported the answers are
// those of plain Space-Saving; with more they are better.
func TestHotKeysCounters(t *testing.T) {
	t.Parallel() // it waits for windows
	s := startHot(t, "--hotkeys-top-k", "16")
	// The marker would displace a counter, so here the number of samples tells
	// that a window has the whole load.
	run := func(topK, counters int, load [][]string) hotReport {
		s.t.Helper()
		s.c.ok("CONFIG", "SET", "hotkeys-top-k", strconv.Itoa(topK), "hotkeys-counters", strconv.Itoa(counters))
		return s.recordWhole(1, func() { s.c.pipeline(slices.Concat([][]string{{"MULTI"}}, load, [][]string{{"EXEC"}})) },
			func(r hotReport) bool { return r.samples == int64(len(load)) })
	}
	check := func(t *testing.T, r hotReport, want map[string]float64) {
		t.Helper()
		if len(r.entries) != len(want) {
			t.Errorf("entries %v, want %v", r.entries, want)
		}
		for key, n := range want {
			if !r.is(identity{key, 0}, n) {
				t.Errorf("%s is not the middle of its band, %.1f: %v in %d ms", key, n, r.entries, r.durationMs)
			}
		}
	}
	t.Run("a newcomer inherits", func(t *testing.T) {
		check(t, run(1, 1, append(times(1000, "GET A"), times(1, "GET B")...)), map[string]float64{"B": 501})
	})
	t.Run("three counters", func(t *testing.T) {
		load := slices.Concat(times(200, "GET X"), times(300, "GET Y"), times(300, "GET Z"), times(100, "GET B"))
		check(t, run(3, 3, load), map[string]float64{"Y": 300, "Z": 300, "B": 200})
	})
	t.Run("two counters", func(t *testing.T) {
		load := slices.Concat(times(500, "GET A"), times(300, "GET B"), times(100, "GET C"))
		check(t, run(2, 2, load), map[string]float64{"A": 500, "C": 250})
	})
	t.Run("the minimum itself grows", func(t *testing.T) {
		load := slices.Concat(times(123, "GET a"), times(99, "GET d"), times(87, "GET e"), times(45, "GET b"), times(42, "GET c"),
			times(6, "GET c"), times(1, "GET f"))
		check(t, run(5, 5, load), map[string]float64{"a": 123, "d": 99, "e": 87, "c": 48, "f": 23.5})
	})
	t.Run("more counters find the true one", func(t *testing.T) {
		check(t, run(1, 0, append(times(1000, "GET A"), times(1, "GET B")...)), map[string]float64{"A": 1000})
	})
	t.Run("at least top-k", func(t *testing.T) {
		s.c.ok("CONFIG", "SET", "hotkeys-top-k", "16", "hotkeys-counters", "16")
		for _, bad := range [][]string{
			{"hotkeys-counters", "15"}, {"hotkeys-top-k", "17"}, {"hotkeys-top-k", "20", "hotkeys-counters", "19"},
		} {
			if got := s.c.do(append([]string{"CONFIG", "SET"}, bad...)...); !strings.HasPrefix(got, "-ERR CONFIG SET failed") {
				t.Errorf("CONFIG SET %q: %q", bad, got)
			}
		}
		s.c.ok("CONFIG", "SET", "hotkeys-top-k", "20", "hotkeys-counters", "20")
		s.c.ok("CONFIG", "SET", "hotkeys-counters", "10", "hotkeys-top-k", "5")
		s.c.ok("CONFIG", "SET", "hotkeys-counters", "0", "hotkeys-top-k", "1000")
	})
}

// TestHotKeysInfo: the section is there when it is asked for, and only then.
func TestHotKeysInfo(t *testing.T) {
	s := ownServer(t)
	c := s.dial()
	for _, test := range []struct {
		args []string
		want bool
	}{
		{[]string{"INFO"}, false},
		{[]string{"INFO", "default"}, false},
		{[]string{"INFO", "server"}, false},
		{[]string{"INFO", "all"}, true},
		{[]string{"INFO", "everything"}, true},
		{[]string{"INFO", "hotkeys"}, true},
		{[]string{"INFO", "HotKeys"}, true},
		{[]string{"INFO", "clients", "hotkeys"}, true},
		{[]string{"INFO", "default", "hotkeys"}, true},
	} {
		if got := strings.Contains(c.do(test.args...), "# Hotkeys\r\n"); got != test.want {
			t.Errorf("%q has the section: %v, want %v", test.args, got, test.want)
		}
	}
	want := "# Hotkeys\r\nhotkeys_last_window_samples:0\r\nhotkeys_last_window_duration_ms:0\r\n"
	if got := c.value("INFO", "hotkeys").text; !strings.HasPrefix(got, want) {
		t.Errorf("INFO hotkeys while off:\n%q, want it to begin with\n%q", got, want)
	}
}

// TestHotKeysMemory: what the tracker holds is accounted for, bounded, and freed.
func TestHotKeysMemory(t *testing.T) {
	t.Parallel() // it waits for windows
	s := startHot(t)
	s.c.ok("CONFIG", "SET", "hotkeys-top-k", "0")
	used := func() int64 { return infoInt(s.c, "memory", "used_memory") }
	before := used()
	s.c.ok("CONFIG", "SET", "hotkeys-top-k", "1000", "hotkeys-window-seconds", "300")
	var load [][]string
	for i := range 1000 {
		load = append(load, []string{"GET", fmt.Sprintf("%d:%s", i, strings.Repeat("n", 10_000))})
	}
	s.c.pipeline(load)
	grown := used() - before
	t.Logf("used_memory grew by %d bytes for 1000 names of 10 KB", grown)
	if grown <= 0 {
		t.Errorf("used_memory grew by %d bytes while the tracker took 1000 names", grown)
	}
	s.c.ok("CONFIG", "SET", "hotkeys-top-k", "0")
	eventually(t, "used_memory is back where it was", func() bool { return used()-before < grown/4 })
}
