package server

import (
	"bufio"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kvserver/hotkeys"
	"kvserver/hotkeys/control"
)

// controlled is a server with a controller, whose windows end when the test says so.
type controlled struct {
	*Server
	t     *testing.T
	c     *client // whose commands are the load
	sub   *client // subscribed to all events, in RESP2
	heard int     // bytes of events looked at
	ns    int64
}

// newControlled starts a server that counts every access in windows of one second, with H = 100, L = 50, K = 2, M = 2 and a
// hold of 3 s, unless the parameters say otherwise.
func newControlled(t *testing.T, args ...string) *controlled {
	t.Helper()
	h := &controlled{Server: newTestServer(t, append([]string{"--hotkeys-top-k", "100", "--hotkeys-sampling-percentage", "100",
		"--hotkeys-promote-qps", "100", "--hotkeys-demote-qps", "50", "--hotkeys-promote-windows", "2",
		"--hotkeys-demote-windows", "2", "--hotkeys-min-hold-seconds", "3"}, args...)...), t: t}
	h.tracker = hotkeys.New(len(h.gate.slots), func() int64 { return h.ns }, 1)
	h.tracker.OnWindow(h.windowEnded)
	h.control.now = func() int64 { return h.ns }
	if err := h.configureTracking(); err != nil {
		t.Fatal(err)
	}
	h.c, h.sub = newTestClient(t, h.Server), newTestClient(t, h.Server)
	do(h.sub, "PSUBSCRIBE", "__hotkeys__:*")
	return h
}

// window ends the live window after n accesses of a key, and returns the events of that.
func (h *controlled) window(key string, n int) string {
	h.t.Helper()
	for range n {
		do(h.c, "GET", key)
	}
	return h.pass(time.Second)
}

// pass lets time pass, rotates, and returns the events of that.
func (h *controlled) pass(d time.Duration) string {
	h.t.Helper()
	h.ns += int64(d)
	h.tracker.Rotate()
	return h.events()
}

// events are those published since the last look, "event db demand key", separated by semicolons.
func (h *controlled) events() string {
	h.t.Helper()
	posted := string(connOf(h.sub).posted[h.heard:])
	h.heard += len(posted)
	var list []string
	for in := bufio.NewReader(strings.NewReader(posted)); ; {
		if _, err := in.Peek(1); err != nil {
			break
		}
		r := readReply(h.t, in)
		if len(r.items) != 4 || r.items[0].text != "pmessage" || r.items[1].text != "__hotkeys__:*" {
			h.t.Fatalf("not an event: %v", r)
		}
		list = append(list, strings.TrimPrefix(r.items[2].text, "__hotkeys__:")+" "+r.items[3].text)
	}
	return strings.Join(list, "; ")
}

// states are those of HOTKEYS STATES, "key@db state windows hold" each.
func (h *controlled) states(args ...string) string {
	h.t.Helper()
	var list []string
	for _, e := range decoded(h.t, do(h.c, append([]string{"HOTKEYS", "STATES"}, args...)...)).items {
		f := map[string]string{}
		for i := 0; i+1 < len(e.items); i += 2 {
			f[e.items[i].text] = e.items[i+1].text
		}
		list = append(list, fmt.Sprintf("%s@%s %s %s %s", f["key"], f["db"], f["state"], f["windows"], f["hold-remaining-ms"]))
	}
	return strings.Join(list, "; ")
}

// want compares, and says what was looked at.
func (h *controlled) want(what, got, want string) {
	h.t.Helper()
	if got != want {
		h.t.Errorf("%s\n got  %s\n want %s", what, got, want)
	}
}

// heat makes a key hot, and looks away from the events.
func (h *controlled) heat(key string) {
	h.t.Helper()
	h.window(key, 200)
	h.want("heated", h.window(key, 200), "hot 0 200 "+key)
}

func (h *controlled) info(name string) int64 {
	h.t.Helper()
	for line := range strings.SplitSeq(decoded(h.t, do(h.c, "INFO", "hotkeys")).text, "\r\n") {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil {
				h.t.Fatal(err)
			}
			return n
		}
	}
	h.t.Fatalf("INFO has no %s", name)
	return 0
}

func TestControlFromWindowsToEvents(t *testing.T) {
	h := newControlled(t)
	h.want("below H", h.window("k", 99), "")
	h.want("nothing", h.states(), "")
	h.want("first window", h.window("k", 100), "warming 0 100 k")
	h.want("warming", h.states(), "k@0 warming 1 0")
	h.want("second window", h.window("k", 150), "hot 0 150 k")
	h.want("hot", h.states(), "k@0 hot 0 3000")
	for range 3 {
		h.want("in the hold", h.window("k", 10), "")
	}
	h.want("after the hold", h.window("k", 50), "")
	h.want("one low window", h.states(), "k@0 hot 1 0")
	h.want("in the band", h.window("k", 51), "")
	h.want("counts anew", h.states(), "k@0 hot 0 0")
	h.want("low", h.window("k", 0), "")
	h.want("low again", h.window("k", 0), "normal 0 0 k")
	h.want("nothing left", h.states(), "")
	for name, want := range map[string]int64{
		"hotkeys_promotions": 1, "hotkeys_demotions": 1, "hotkeys_aborted_warmups": 0, "hotkeys_emergency_trips": 0,
		"hotkeys_time_in_hot_ms": 7000, "hotkeys_false_promotions": 0, "hotkeys_hot_keys": 0, "hotkeys_warming_keys": 0,
	} {
		if got := h.info(name); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
}

func TestWarmupNeedsReadiness(t *testing.T) {
	h := newControlled(t, "--hotkeys-warmup-ack", "yes")
	h.want("not warming", do(h.c, "HOTKEYS", "READY", "k"), "-ERR the key is neither warming nor hot\r\n")
	h.want("first", h.window("k", 200), "warming 0 200 k")
	for range 3 {
		h.want("waits", h.window("k", 200), "")
	}
	h.want("warming", h.states("STATE", "warming"), "k@0 warming 4 0")
	h.want("not the other database's", do(h.c, "HOTKEYS", "READY", "k", "DB", "1"), "-ERR the key is neither warming nor hot\r\n")
	h.ns += int64(time.Second / 2)
	h.want("ready", do(h.c, "HOTKEYS", "READY", "k"), "+OK\r\n")
	h.want("hot at once", h.events(), "hot 0 200 k")
	h.want("the hold counts from readiness", h.states("STATE", "HOT"), "k@0 hot 0 3000")
	h.want("again", do(h.c, "HOTKEYS", "READY", "k"), "+OK\r\n")
	h.want("nothing", h.events(), "")
	h.want("none warming", h.states("STATE", "WARMING"), "")

	h.pass(time.Second / 2)
	h.want("another", h.window("l", 200), "warming 0 200 l")
	h.want("cools", h.window("l", 99), "aborted 0 99 l")
	if n := h.info("hotkeys_aborted_warmups"); n != 1 {
		t.Errorf("%d aborted", n)
	}
}

func TestPinAndDemote(t *testing.T) {
	h := newControlled(t)
	h.want("pin", do(h.c, "HOTKEYS", "PIN", "k", "db", "3"), "+OK\r\n")
	h.want("hot at once", h.events(), "hot 3 0 k")
	for range 8 {
		h.want("no demand", h.window("other", 1), "")
	}
	h.want("still hot", h.states(), "k@3 hot 0 0")
	if n := h.info("hotkeys_pinned_keys"); n != 1 {
		t.Errorf("%d pinned", n)
	}
	h.want("unpin another", do(h.c, "HOTKEYS", "UNPIN", "k"), "-ERR the key is not pinned\r\n")
	do(h.c, "SELECT", "3")
	h.want("unpin", do(h.c, "HOTKEYS", "UNPIN", "k"), "+OK\r\n")
	h.want("low", h.window("other", 1), "")
	h.want("low again", h.window("other", 1), "normal 3 0 k")

	do(h.c, "SELECT", "0")
	h.heat("k")
	h.want("demote", do(h.c, "HOTKEYS", "DEMOTE", "k"), "+OK\r\n")
	h.want("normal at once", h.events(), "normal 0 200 k")
	h.want("demote again", do(h.c, "HOTKEYS", "DEMOTE", "k"), "-ERR the key is neither warming nor hot\r\n")
	h.window("k", 200)
	h.want("demote warming", do(h.c, "HOTKEYS", "DEMOTE", "k"), "+OK\r\n")
	h.want("cancelled", h.states(), "")
	h.want("pin", do(h.c, "HOTKEYS", "PIN", "k"), "+OK\r\n")
	h.want("demote pinned", do(h.c, "HOTKEYS", "DEMOTE", "k"), "+OK\r\n")
	h.want("gone", h.states(), "")
}

func TestEmergencies(t *testing.T) {
	h := newControlled(t, "--hotkeys-emergency-qps", "1000", "--hotkeys-emergency-share", "30")
	h.want("one window", h.window("k", 1000), "emergency 0 1000 k; warming 0 1000 k; hot 0 1000 k")
	do(h.c, "HOTKEYS", "DEMOTE", "k")
	h.events()

	top := func(accesses ...string) string {
		h.pass(time.Second) // in a window of its own
		for _, key := range accesses {
			do(h.c, "GET", key)
		}
		h.ns += int64(100 * time.Millisecond)
		h.promoteTop(97, 0)
		return h.events()
	}
	h.want("too few accesses", top(slices.Repeat([]string{"a"}, emergencySamples-1)...), "")
	h.want("too small a share", top(append(slices.Repeat([]string{"a"}, 20), strings.Fields(strings.Repeat("b c d e ", 15))...)...), "")
	h.want("enough", top(append(slices.Repeat([]string{"a"}, 60), strings.Fields(strings.Repeat("b c d e ", 15))...)...),
		"emergency 0 600 a; warming 0 600 a; hot 0 600 a")
	h.want("hot already", top(slices.Repeat([]string{"a"}, 60)...), "")
	if n := h.info("hotkeys_emergency_trips"); n != 2 {
		t.Errorf("%d trips", n)
	}
}

// TestEmergencyWaitsForReadiness: an emergency stands for windows only.
func TestEmergencyWaitsForReadiness(t *testing.T) {
	h := newControlled(t, "--hotkeys-emergency-qps", "1000", "--hotkeys-warmup-ack", "yes")
	h.want("one window", h.window("k", 1000), "emergency 0 1000 k; warming 0 1000 k")
	do(h.c, "HOTKEYS", "READY", "k")
	h.want("ready", h.events(), "hot 0 1000 k")
}

func TestReportedAccesses(t *testing.T) {
	h := newControlled(t)
	for _, test := range []struct{ args, want string }{
		{"k", "-ERR wrong number of arguments for 'hotkeys|report' command\r\n"},
		{"k x", "-ERR value is not an integer or out of range\r\n"},
		{"k -1", "-ERR accesses must be between 0 and 1000000000000\r\n"},
		{"k 1000000000001", "-ERR accesses must be between 0 and 1000000000000\r\n"},
		{"k 1 DB", "-ERR syntax error\r\n"},
		{"k 1 DB 16", "-ERR DB index is out of range\r\n"},
		{"k 1 DB x", "-ERR value is not an integer or out of range\r\n"},
		{"k 1 DB 1 x", "-ERR syntax error\r\n"},
		{"k 0", "+OK\r\n"},
	} {
		h.want(test.args, do(h.c, append([]string{"HOTKEYS", "REPORT"}, strings.Fields(test.args)...)...), test.want)
	}
	report := func(key string, n int, rest ...string) {
		h.want("report", do(h.c, append([]string{"HOTKEYS", "REPORT", key, strconv.Itoa(n)}, rest...)...), "+OK\r\n")
	}
	report("k", 60)
	h.want("server and client together", h.window("k", 40), "warming 0 100 k")
	report("k", 50)
	report("k", 60)
	h.want("clients alone", h.window("other", 1), "hot 0 110 k")
	for range 3 {
		h.window("other", 1)
	}
	for range 5 {
		report("k", 51)
		h.want("served by clients", h.window("other", 1), "")
	}
	h.want("hot for good", h.states(), "k@0 hot 0 0")
	report("k", 500, "DB", "1")
	h.want("a key of another database", h.window("other", 1), "warming 1 500 k")
	report("other", 70)
	h.window("other", 1)
	stats := decoded(t, do(h.c, "HOTKEYS", "GET", "WITHSTATS")).items[0]
	if n, _ := stats.field("reported-qps"); n.text != "70" {
		t.Errorf("HOTKEYS GET WITHSTATS has %v reported", n)
	}

	do(h.c, "HOTKEYS", "DEMOTE", "k", "DB", "1")
	h.events()
	report("l", 500)
	do(h.c, "HOTKEYS", "RESET")
	h.want("discarded with its window", h.window("other", 1), "")
	report("l", 500)
	h.want("window of unknown length", h.pass(2*time.Second), "")
	h.want("discarded with that", h.window("other", 1), "")

	do(h.c, "CONFIG", "SET", "hotkeys-top-k", "0")
	h.want("off", do(h.c, "HOTKEYS", "REPORT", "k", "1"), "-ERR hot key tracking is off (hotkeys-top-k is 0)\r\n")
}

func TestReportsAreBounded(t *testing.T) {
	h := newControlled(t)
	for i := range reportedKeysMax {
		if got := do(h.c, "HOTKEYS", "REPORT", strconv.Itoa(i), "1"); got != "+OK\r\n" {
			t.Fatalf("%d: %s", i, got)
		}
	}
	const tooMany = "-ERR too many keys are reported in this window: at most 4096, with names of 4194304 bytes together\r\n"
	h.want("one more", do(h.c, "HOTKEYS", "REPORT", "x", "1"), tooMany)
	h.want("none of the limits", do(h.c, "HOTKEYS", "REPORT", "x", "0"), "+OK\r\n")
	h.want("one that is there", do(h.c, "HOTKEYS", "REPORT", "7", "1000000000000"), "+OK\r\n")
	h.want("the next window", h.pass(time.Second), "warming 0 1000000000001 7")
	h.want("has room", do(h.c, "HOTKEYS", "REPORT", "x", "1"), "+OK\r\n")
	long := strings.Repeat("n", reportedNameBytesMax)
	h.want("a long name", do(h.c, "HOTKEYS", "REPORT", long, "1"), tooMany)
	h.want("as long as there is room", do(h.c, "HOTKEYS", "REPORT", long[1:], "1"), "+OK\r\n")
	h.want("none left", do(h.c, "HOTKEYS", "REPORT", "y", "1"), tooMany)
}

// TestReportedAccessesDoNotOverflow: a sum that has no room stays at the end of it.
func TestReportedAccessesDoNotOverflow(t *testing.T) {
	var r hotReports
	key := control.Key{Name: "k"}
	for range 3 {
		r.add(key, 1<<63)
	}
	if n := r.live[key].accesses; n != 1<<64-1 {
		t.Error(n)
	}
}

// TestUnknownWindows: what empties the windows leaves the states, and the evidence for a change begins anew.
func TestUnknownWindows(t *testing.T) {
	for _, what := range []string{"FLUSHALL", "FLUSHDB", "HOTKEYS RESET", "CONFIG SET hotkeys-top-k 50", "CONFIG SET hotkeys-window-seconds 2",
		"stall", "off and on"} {
		t.Run(what, func(t *testing.T) {
			h := newControlled(t)
			h.window("k", 200)
			h.unknown(what)
			h.want("warming still", h.states(), "k@0 warming 0 0")
			h.want("first of K", h.window("k", 200), "")
			h.want("second of K", h.window("k", 200), "hot 0 200 k")
			for range 3 {
				h.window("k", 0)
			}
			h.want("first of M", h.window("k", 0), "")
			h.want("hot, with evidence", h.states(), "k@0 hot 1 0")
			h.unknown(what)
			h.want("hot, without", h.states(), "k@0 hot 0 0")
			h.want("first of M", h.window("k", 0), "")
			h.want("second of M", h.window("k", 0), "normal 0 0 k")
		})
	}
}

// unknown makes something happen to a window that makes it unknown.
func (h *controlled) unknown(what string) {
	h.t.Helper()
	h.ns += int64(time.Second / 2)
	switch what {
	case "stall":
		h.pass(5 * time.Second)
	case "off and on":
		do(h.c, "CONFIG", "SET", "hotkeys-top-k", "0")
		h.ns += int64(3 * time.Second)
		do(h.c, "CONFIG", "SET", "hotkeys-top-k", "100")
		h.unknown("HOTKEYS RESET")
	default:
		h.want(what, do(h.c, strings.Fields(what)...), "+OK\r\n")
		if what == "FLUSHDB" { // which the window outlives
			h.pass(time.Second / 2)
		}
	}
	do(h.c, "CONFIG", "SET", "hotkeys-window-seconds", "1", "hotkeys-top-k", "100")
	h.want("unknown", h.events(), "")
}

// TestSwapDBLeavesStates: a key is its name and the number of its database, which is what clients go on to ask for.
func TestSwapDBLeavesStates(t *testing.T) {
	h := newControlled(t)
	h.heat("k")
	do(h.c, "SWAPDB", "0", "1")
	h.want("states", h.states(), "k@0 hot 0 3000")
	h.want("its demand is known", h.window("k", 200), "")
}

func TestControlParameters(t *testing.T) {
	h := newControlled(t)
	refused := func(name, why string, pairs ...string) {
		t.Helper()
		h.want(strings.Join(pairs, " "), do(h.c, append([]string{"CONFIG", "SET"}, pairs...)...),
			"-ERR CONFIG SET failed (possibly related to argument '"+name+"') - "+why+"\r\n")
	}
	const thresholds = "hotkeys-demote-qps must be at least 1 and below hotkeys-promote-qps"
	refused("hotkeys-demote-qps", thresholds, "hotkeys-demote-qps", "100")
	refused("hotkeys-demote-qps", thresholds, "hotkeys-demote-qps", "0")
	refused("hotkeys-promote-qps", thresholds, "hotkeys-promote-qps", "50")
	for _, p := range []struct {
		name    string
		lo, hi  int64
		initial string
	}{
		{"hotkeys-promote-qps", 0, 1e9, "100"}, {"hotkeys-promote-windows", 1, 1000, "2"}, {"hotkeys-demote-qps", 0, 1e9, "50"},
		{"hotkeys-demote-windows", 1, 1000, "2"}, {"hotkeys-min-hold-seconds", 0, 86400, "3"}, {"hotkeys-emergency-qps", 0, 1e9, "0"},
		{"hotkeys-emergency-cpu-percent", 0, 100, "0"}, {"hotkeys-emergency-latency-ms", 0, 60000, "0"},
		{"hotkeys-emergency-share", 0, 100, "10"}, {"hotkeys-alert-cooldown-seconds", 0, 86400, "300"},
	} {
		why := fmt.Sprintf("argument must be between %d and %d inclusive", p.lo, p.hi)
		refused(p.name, why, p.name, strconv.FormatInt(p.lo-1, 10))
		refused(p.name, why, p.name, strconv.FormatInt(p.hi+1, 10))
		h.want(p.name, do(h.c, "CONFIG", "GET", p.name), request(p.name, p.initial))
	}
	h.heat("k")
	h.window("l", 200)
	h.want("both thresholds at once", do(h.c, "CONFIG", "SET", "hotkeys-promote-qps", "50", "hotkeys-demote-qps", "25"), "+OK\r\n")
	h.want("states stay", h.states(), "l@0 warming 0 0; k@0 hot 0 2000")
	h.want("another metric", do(h.c, "CONFIG", "SET", "hotkeys-control-metric", "bytes"), "+OK\r\n")
	h.want("states stay", h.states("STATE", "hot"), "k@0 hot 0 2000")
	h.events()
	do(h.c, "CONFIG", "SET", "hotkeys-promote-qps", "0")
	for _, event := range strings.Split(h.events(), "; ") {
		if event != "aborted 0 200 l" && event != "normal 0 0 k" {
			t.Errorf("turned off: %s", event)
		}
	}
	h.want("off", h.states(), "")
	for _, sub := range []string{"READY", "DEMOTE", "PIN", "UNPIN"} {
		h.want(sub, do(h.c, "HOTKEYS", sub, "k"), "-ERR hot key control is off\r\n")
	}
	h.want("nothing happens", h.window("k", 500), "")
}

// TestControlByBytes: thresholds in bytes, with replies of 1000 bytes and a little more.
func TestControlByBytes(t *testing.T) {
	h := newControlled(t, "--hotkeys-control-metric", "bytes", "--hotkeys-promote-qps", "100000", "--hotkeys-demote-qps", "60000",
		"--hotkeys-measures", "no")
	do(h.c, "SET", "large", strings.Repeat("v", 1000))
	do(h.c, "SET", "small", "v")
	h.pass(time.Second)
	request, reply := len(request("GET", "large")), len("$1000\r\n\r\n")+1000
	each := request + reply
	h.want("many small ones", h.window("small", 1000), "")
	h.want("too few", h.window("large", 100000/each), "")
	demand := func(event string, accesses int) string { return fmt.Sprintf("%s 0 %d large", event, accesses*each) }
	h.want("enough", h.window("large", 100), demand("warming", 100))
	do(h.c, "HOTKEYS", "REPORT", "large", "60")
	h.want("what clients serve costs the same", h.window("large", 50), demand("hot", 110))
	for range 10 {
		do(h.c, "HOTKEYS", "REPORT", "large", "100")
		h.want("also when they serve all", h.window("small", 1), "")
	}
	h.want("hot for good", h.states(), "large@0 hot 0 0")
	do(h.c, "HOTKEYS", "REPORT", "large", "10")
	h.want("little", h.window("small", 1), "")
	h.want("little", h.window("small", 1), "normal 0 0 large")
	if len(h.control.costs) > 0 {
		t.Errorf("costs are kept: %v", h.control.costs)
	}
}

func TestControlByCPU(t *testing.T) {
	h := newControlled(t, "--hotkeys-control-metric", "cpu", "--hotkeys-promote-qps", "2", "--hotkeys-demote-qps", "1")
	h.c.slot.clock.start()
	if events := h.window("k", 1000); !strings.HasPrefix(events, "warming 0 ") {
		t.Errorf("a thousand commands took no time: %s", events)
	}
	h.want("nothing took none", h.window("k", 0), "aborted 0 0 k")
}

// TestRefusedChangeLeavesStates: no state is lost to a CONFIG SET that fails for another of its parameters.
func TestRefusedChangeLeavesStates(t *testing.T) {
	h := newControlled(t)
	if err := h.fitMaxClients(); err != nil {
		t.Fatal(err)
	}
	h.heat("k")
	reply := do(h.c, "CONFIG", "SET", "hotkeys-promote-qps", "0", "maxclients", strconv.Itoa(math.MaxUint32))
	if !strings.HasPrefix(reply, "-ERR CONFIG SET failed (possibly related to argument 'maxclients')") {
		t.Fatal(reply)
	}
	h.want("states", h.states(), "k@0 hot 0 3000")
	h.want("events", h.events(), "")
}

// TestReadinessNeededLater: a key that waits only for readiness is hot when that is no more asked for.
func TestReadinessNeededLater(t *testing.T) {
	h := newControlled(t, "--hotkeys-warmup-ack", "yes")
	h.window("k", 200)
	h.window("k", 200)
	do(h.c, "CONFIG", "SET", "hotkeys-warmup-ack", "no")
	h.want("hot", h.events(), "hot 0 200 k")
}

func TestControlCommandErrors(t *testing.T) {
	h := newControlled(t)
	for _, test := range []struct{ command, want string }{
		{"STATES x", "-ERR syntax error\r\n"},
		{"STATES STATE", "-ERR syntax error\r\n"},
		{"STATES STATE normal", "-ERR STATE must be WARMING or HOT\r\n"},
		{"STATES STATE hot x", "-ERR syntax error\r\n"},
		{"PIN", "-ERR wrong number of arguments for 'hotkeys|pin' command\r\n"},
		{"PIN k x", "-ERR syntax error\r\n"},
		{"PIN k DB", "-ERR syntax error\r\n"},
		{"PIN k DB -1", "-ERR DB index is out of range\r\n"},
		{"READY k DB 1 x", "-ERR syntax error\r\n"},
		{"DEMOTE k DB 16", "-ERR DB index is out of range\r\n"},
		{"UNPIN k DB x", "-ERR value is not an integer or out of range\r\n"},
	} {
		h.want(test.command, do(h.c, append([]string{"HOTKEYS"}, strings.Fields(test.command)...)...), test.want)
	}
	h.want("nothing happened", h.states()+h.events(), "")
}

// TestEventsOfBinaryNames: the name is the rest of the message, whatever it is made of.
func TestEventsOfBinaryNames(t *testing.T) {
	h := newControlled(t)
	const name = "a b\r\n*1\x00\xff 3"
	do(h.c, "HOTKEYS", "PIN", name, "DB", "15")
	h.want("event", h.events(), "hot 15 0 "+name)
	h.want("state", h.states(), name+"@15 hot 0 3000")
}

// TestEventsForTheirCause: who causes an event and is subscribed hears of it like everybody.
func TestEventsForTheirCause(t *testing.T) {
	h := newControlled(t)
	do(h.c, "HELLO", "3")
	do(h.c, "SUBSCRIBE", "__hotkeys__:hot")
	h.want("reply", do(h.c, "HOTKEYS", "PIN", "k"), "+OK\r\n")
	h.want("event", string(connOf(h.c).posted), ">3\r\n$7\r\nmessage\r\n$15\r\n__hotkeys__:hot\r\n$5\r\n0 0 k\r\n")
	do(h.c, "HOTKEYS", "DEMOTE", "k")
	do(h.c, "MULTI")
	do(h.c, "HOTKEYS", "PIN", "k")
	h.want("in a transaction", do(h.c, "EXEC"), "*1\r\n+OK\r\n")
}

// TestAlertCooldown: what somebody must act on is always published.
func TestAlertCooldown(t *testing.T) {
	h := newControlled(t, "--hotkeys-promote-windows", "1", "--hotkeys-alert-cooldown-seconds", "100")
	h.want("first time", h.window("k", 200), "warming 0 200 k; hot 0 200 k")
	do(h.c, "HOTKEYS", "DEMOTE", "k")
	h.want("over", h.events(), "normal 0 200 k")
	h.want("second time", h.window("k", 200), "hot 0 200 k")
	if n := h.info("hotkeys_muted_alerts"); n != 1 {
		t.Errorf("%d muted", n)
	}
}

func TestHotStateReply(t *testing.T) {
	h := newControlled(t)
	do(h.c, "HOTKEYS", "PIN", "k")
	text := do(h.c, "HOTKEYS", "STATES")
	since := decoded(t, text).items[0].items[7].text
	const form = "\r\n$3\r\nkey\r\n$1\r\nk\r\n$2\r\ndb\r\n:0\r\n$5\r\nstate\r\n$3\r\nhot\r\n$5\r\nsince\r\n:%s\r\n$6\r\ndemand\r\n:0\r\n" +
		"$7\r\nwindows\r\n:0\r\n$17\r\nhold-remaining-ms\r\n:3000\r\n$6\r\npinned\r\n:1\r\n"
	h.want("RESP2", text, fmt.Sprintf("*1\r\n*16"+form, since))
	do(h.c, "HELLO", "3")
	text = do(h.c, "HOTKEYS", "STATES")
	since = decoded(t, text).items[0].items[7].text
	h.want("RESP3", text, fmt.Sprintf("*1\r\n%%8"+form, since))
	ms, _ := strconv.ParseInt(since, 10, 64)
	if off := time.Since(time.UnixMilli(ms)); off < 0 || off > time.Minute {
		t.Errorf("since is %v ago", off)
	}
}

// BenchmarkControlWindow is what the controller adds to the end of a window, in which as many keys are tracked as there are counters.
func BenchmarkControlWindow(b *testing.B) {
	for _, metric := range []string{"qps", "cpu"} {
		for _, counters := range []string{"1024", "8000", "65536"} {
			b.Run(metric+"/"+counters, func(b *testing.B) {
				s := newTestServer(b, "--hotkeys-top-k", "100", "--hotkeys-sampling-percentage", "100", "--hotkeys-counters", counters,
					"--hotkeys-promote-qps", "100000", "--hotkeys-demote-qps", "50000", "--hotkeys-control-metric", metric, "--hotkeys-history-length", "0")
				var ns int64
				s.tracker = hotkeys.New(len(s.gate.slots), func() int64 { return ns }, 1)
				s.control.now = func() int64 { return ns }
				if err := s.configureTracking(); err != nil {
					b.Fatal(err)
				}
				c := newTestClient(b, s)
				n, _ := strconv.Atoi(counters)
				for i := range n {
					do(c, "GET", "key:"+strconv.Itoa(i))
				}
				ns += int64(time.Second)
				s.tracker.Rotate()
				s.tracker.Report(hotkeys.Query{DB: -1})
				at := int64(0)
				b.ResetTimer()
				b.ReportAllocs()
				for b.Loop() {
					s.controlWindow(hotkeys.Window{Begin: at, End: at + 1e9})
					at += 1e9
				}
			})
		}
	}
}
