package server

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"kvserver/hotkeys"
)

// watched is a server that counts every access, in windows that end when the test says so.
type watched struct {
	*Server
	c  *client
	ns int64
}

func newWatched(t *testing.T, args ...string) *watched {
	t.Helper()
	s := newTestServer(t, append([]string{"--hotkeys-top-k", "10", "--hotkeys-sampling-percentage", "100"}, args...)...)
	w := &watched{Server: s, ns: s.monotonicNs()}
	s.tracker = hotkeys.New(len(s.gate.slots), func() int64 { return w.ns }, 1)
	s.tracker.OnWindow(s.windowEnded)
	if err := s.configureTracking(); err != nil {
		t.Fatal(err)
	}
	w.c = newTestClient(t, s)
	return w
}

// run runs commands given as "GET a; GET b", and wants no error.
func (w *watched) run(t *testing.T, commands string) {
	t.Helper()
	for command := range strings.SplitSeq(commands, "; ") {
		if reply := do(w.c, strings.Fields(command)...); strings.HasPrefix(reply, "-") {
			t.Fatalf("%s: %s", command, reply)
		}
	}
}

// pass lets time pass and ends the window.
func (w *watched) pass(d time.Duration) {
	w.ns += int64(d)
	w.tracker.Rotate()
}

// traffic is 14 accesses in a window of two seconds: 8 of s, of which 3 write; 4 of a key that does not exist; 2 of l in
// database 1, which write.
func (w *watched) traffic(t *testing.T) {
	t.Helper()
	w.run(t, "SET s v; SET s v; SET s v; GET s; GET s; GET s; GET s; GET s; GET n; GET n; GET n; GET n; SELECT 1; LPUSH l x; LPUSH l x; SELECT 0")
	w.pass(2*time.Second - 1)
}

// nobodyKnows replaces what differs from run to run: times.
func nobodyKnows(reply string) string {
	reply = regexp.MustCompile(`(cpu-usec\r\n:)\d+`).ReplaceAllString(reply, "${1}CPU")
	return regexp.MustCompile(`(begin\r\n:)\d+`).ReplaceAllString(reply, "${1}BEGIN")
}

// wire writes a reply as the protocol has it: each word is a line, "'" before one stands for a bulk string.
func wire(words string) string {
	var b strings.Builder
	for word := range strings.FieldsSeq(words) {
		if text, isBulk := strings.CutPrefix(word, "'"); isBulk {
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(text), text)
		} else {
			b.WriteString(word + "\r\n")
		}
	}
	return b.String()
}

// TestHotkeysReplies pins the bytes of HOTKEYS GET and HOTKEYS HISTORY. In RESP2 a map is an array.
func TestHotkeysReplies(t *testing.T) {
	w := newWatched(t)
	w.traffic(t)
	const (
		s = "%3 'key 's 'db :0 'qps :4 "
		n = "%3 'key 'n 'db :0 'qps :2 "
		l = "%3 'key 'l 'db :1 'qps :1 "
	)
	for _, test := range []struct{ command, want string }{
		{"HOTKEYS GET", "*3 " + s + n + l},
		{"HOTKEYS GET COUNT 2", "*2 " + s + n},
		{"HOTKEYS GET COUNT 1000000", "*3 " + s + n + l},
		{"HOTKEYS GET DB 1", "*1 " + l},
		{"hotkeys get db 0 count 1", "*1 " + s},
		{"HOTKEYS GET DB 2", "*0"},
		{"HOTKEYS GET TYPE ALL", "*3 " + s + n + l},
		{"HOTKEYS GET TYPE READ", "*2 %3 'key 's 'db :0 'qps :3 " + n},
		{"HOTKEYS GET TYPE write", "*2 %3 'key 's 'db :0 'qps :2 " + l},
		{"HOTKEYS GET TYPE READ TYPE WRITE DB 1", "*1 " + l},
		{"HOTKEYS GET WITHSTATS", `*3
			%16 'key 's 'db :0 'qps :4 'samples :8 'qps-low :4 'qps-high :5 'certain :1 'read-qps :3 'write-qps :2 'miss-qps :0
			'in-bytes :91 'out-bytes :25 'cpu-usec :CPU 'share ,0.571429 'reported-qps :0 'type 'string
			%16 'key 'n 'db :0 'qps :2 'samples :4 'qps-low :2 'qps-high :3 'certain :1 'read-qps :2 'write-qps :0 'miss-qps :2
			'in-bytes :40 'out-bytes :10 'cpu-usec :CPU 'share ,0.285714 'reported-qps :0 'type 'none
			%16 'key 'l 'db :1 'qps :1 'samples :2 'qps-low :1 'qps-high :2 'certain :1 'read-qps :0 'write-qps :1 'miss-qps :0
			'in-bytes :29 'out-bytes :4 'cpu-usec :CPU 'share ,0.142857 'reported-qps :0 'type 'list`},
		{"HOTKEYS GET DB 0 TYPE WRITE WITHSTATS", `*1
			%16 'key 's 'db :0 'qps :2 'samples :3 'qps-low :1 'qps-high :2 'certain :1 'read-qps :3 'write-qps :2 'miss-qps :0
			'in-bytes :91 'out-bytes :25 'cpu-usec :CPU 'share ,0.214286 'reported-qps :0 'type 'string`},
		{"HOTKEYS HISTORY", `*1
			%8 'begin :BEGIN 'duration :1999 'discarded :0 'samples :14 'percentage :100 'qps :7 'floor-qps :0 'entries *3
			%7 'key 's 'db :0 'qps :4 'qps-low :4 'qps-high :5 'read-qps :3 'write-qps :2
			%7 'key 'n 'db :0 'qps :2 'qps-low :2 'qps-high :3 'read-qps :2 'write-qps :0
			%7 'key 'l 'db :1 'qps :1 'qps-low :1 'qps-high :2 'read-qps :0 'write-qps :1`},
		{"HOTKEYS HISTORY KEY l DB 1 COUNT 1", `*1
			%8 'begin :BEGIN 'duration :1999 'discarded :0 'samples :14 'percentage :100 'qps :7 'floor-qps :0 'entries *1
			%7 'key 'l 'db :1 'qps :1 'qps-low :1 'qps-high :2 'read-qps :0 'write-qps :1`},
		{"HOTKEYS HISTORY KEY l DB 0", `*1
			%8 'begin :BEGIN 'duration :1999 'discarded :0 'samples :14 'percentage :100 'qps :7 'floor-qps :0 'entries *0`},
	} {
		protocols(t, func(t *testing.T, version string) {
			do(w.c, "HELLO", version)
			want := wire(test.want)
			if version == "2" {
				want = regexp.MustCompile(`%\d+`).ReplaceAllStringFunc(want, func(m string) string {
					pairs := 0
					fmt.Sscan(m[1:], &pairs)
					return fmt.Sprintf("*%d", 2*pairs)
				})
				want = regexp.MustCompile(`,(0\.\d+)`).ReplaceAllString(want, "$$8\r\n$1")
			}
			if got := nobodyKnows(do(w.c, strings.Fields(test.command)...)); got != want {
				t.Errorf("%s:\n%q, want\n%q", test.command, got, want)
			}
		})
	}
}

// field is what a reply in RESP2, of which the strings have no line ends, has after the n-th occurrence of a name.
func field(t *testing.T, reply, name string, n int) string {
	t.Helper()
	lines := strings.Split(reply, "\r\n")
	for i, l := range lines {
		if l != name {
			continue
		}
		if n--; n > 0 {
			continue
		}
		if strings.HasPrefix(lines[i+1], "$") && lines[i+1] != "$-1" {
			return lines[i+2]
		}
		return lines[i+1]
	}
	t.Fatalf("no %s in %q", name, reply)
	return ""
}

// TestHotkeysUnknownIsNull: what accesses cost is not zero when nobody looked.
func TestHotkeysUnknownIsNull(t *testing.T) {
	w := newWatched(t, "--hotkeys-measures", "no")
	w.traffic(t)
	protocols(t, func(t *testing.T, version string) {
		do(w.c, "HELLO", version)
		null := map[string]string{"2": "$-1", "3": "_"}[version]
		reply := do(w.c, "HOTKEYS", "GET", "COUNT", "1", "WITHSTATS")
		for _, name := range []string{"miss-qps", "in-bytes", "out-bytes", "cpu-usec"} {
			if got := field(t, reply, name, 1); got != null {
				t.Errorf("%s is %s", name, got)
			}
		}
		if got := field(t, reply, "read-qps", 1); got != ":3" {
			t.Errorf("read-qps is %s", got)
		}
	})
}

// TestHotkeysBand has two counters for a hundred keys that are as hot as each other.
func TestHotkeysBand(t *testing.T) {
	w := newWatched(t, "--hotkeys-top-k", "2", "--hotkeys-counters", "2")
	for i := range 100 {
		w.run(t, fmt.Sprintf("GET k%d", i))
	}
	w.pass(time.Second)
	reply := do(w.c, "HOTKEYS", "GET", "WITHSTATS")
	for i := 1; i <= 2; i++ {
		if certain, low, high := field(t, reply, "certain", i), field(t, reply, "qps-low", i), field(t, reply, "qps-high", i); certain != ":0" || low != ":1" || high != ":50" {
			t.Errorf("certain %s, from %s to %s, want noise of one access each at least, and of 50 at most", certain, low, high)
		}
	}
	if got := do(w.c, "INFO", "hotkeys"); !strings.Contains(got, "hotkeys_detection_floor_qps:50\r\n") || !strings.Contains(got, "hotkeys_tracked_counters:2\r\n") {
		t.Errorf("INFO hotkeys: %s", got)
	}
}

// TestHotkeysTypeLeavesNoTrace: to be told the type of a key is no access to it, and an expired key has none.
func TestHotkeysTypeLeavesNoTrace(t *testing.T) {
	w := newWatched(t)
	w.run(t, "SET gone v PXAT 1; SELECT 3; HSET h f v; SELECT 0; ZADD z 1 m; XADD x * f v; SADD e m")
	w.pass(time.Second)
	reply := do(w.c, "HOTKEYS", "GET", "WITHSTATS")
	types := map[string]string{}
	for i := 1; i <= 5; i++ {
		types[field(t, reply, "key", i)] = field(t, reply, "type", i)
	}
	if got, want := fmt.Sprint(types), "map[e:set gone:none h:hash x:stream z:zset]"; got != want {
		t.Errorf("types %s, want %s", got, want)
	}
	w.pass(time.Second)
	if samples, _ := w.tracker.LastWindow(); samples != 0 {
		t.Errorf("%d accesses by asking", samples)
	}
	if got := do(w.c, "GET", "h"); got != "$-1\r\n" {
		t.Errorf("the database is another afterwards: %q", got)
	}
}

// TestHotkeysInfo follows the fields through windows completed and discarded.
func TestHotkeysInfo(t *testing.T) {
	w := newWatched(t)
	check := func(want string) {
		t.Helper()
		info := do(w.c, "INFO", "hotkeys")
		for line := range strings.FieldsSeq(want) {
			if !strings.Contains(info, "\r\nhotkeys_"+line+"\r\n") {
				t.Errorf("INFO hotkeys has no hotkeys_%s:\n%s", line, info)
			}
		}
	}
	check("windows_completed:0 windows_discarded:0 tracked_counters:0 detection_floor_qps:0")
	w.traffic(t)
	check("last_window_samples:14 last_window_duration_ms:1999 windows_completed:1 windows_discarded:0 tracked_counters:3 detection_floor_qps:0")
	w.pass(2 * time.Second) // a stall
	check("last_window_samples:0 windows_completed:1 windows_discarded:1 tracked_counters:0")
	w.run(t, "HOTKEYS RESET; CONFIG SET hotkeys-sampling-percentage 50")
	check("windows_completed:1 windows_discarded:3")
	w.run(t, "GET a")
	w.pass(time.Second)
	if floor := do(w.c, "INFO", "hotkeys"); strings.Contains(floor, "detection_floor_qps:0\r\n") {
		t.Errorf("every key is tracked, though half of the accesses were not seen:\n%s", floor)
	}
	if w.hotkeysBytes() <= 0 {
		t.Errorf("%d bytes", w.hotkeysBytes())
	}
	w.run(t, "CONFIG SET hotkeys-top-k 0")
	check("last_window_duration_ms:0 tracked_counters:0 memory_bytes:0 detection_floor_qps:0")
}
