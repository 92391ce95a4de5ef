package tests

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// hotServer is a server that tracks hot keys, with a connection to ask it.
type hotServer struct {
	*server
	c *conn
}

// startHot starts a server that reports up to 1000 keys, records every access
// and has windows of one second, unless the arguments say otherwise.
func startHot(t testing.TB, args ...string) *hotServer {
	t.Helper()
	s := ownServer(t, append([]string{"--hotkeys-top-k", "1000", "--hotkeys-sampling-percentage", "100",
		"--hotkeys-window-seconds", "1", "--enable-debug-command", "yes"}, args...)...)
	return &hotServer{s, s.dial()}
}

// hotkey is one entry of a report.
type hotkey struct {
	identity
	qps int64
}

// hotReport is a frozen window.
type hotReport struct {
	entries    []hotkey
	samples    int64
	durationMs int64
}

// report reads the frozen window. The two commands go in one packet inside a
// transaction, so that no rotation can come between them.
func (s *hotServer) report() hotReport {
	s.t.Helper()
	replies := s.c.pipeline([][]string{{"MULTI"}, {"HOTKEYS", "GET"}, {"INFO", "hotkeys"}, {"EXEC"}})
	exec := parseReply(replies[3])
	if len(exec.elems) != 2 {
		s.t.Fatalf("EXEC: %s", exec)
	}
	r := hotReport{
		samples:    infoNumber(s.t, exec.elems[1].text, "hotkeys_last_window_samples"),
		durationMs: infoNumber(s.t, exec.elems[1].text, "hotkeys_last_window_duration_ms"),
	}
	for _, e := range exec.elems[0].elems {
		r.entries = append(r.entries, readHotkey(s.t, e))
	}
	return r
}

// readHotkey reads an entry in the form of either protocol.
func readHotkey(t testing.TB, v value) hotkey {
	t.Helper()
	key, ok1 := v.field("key")
	db, ok2 := v.field("db")
	qps, ok3 := v.field("qps")
	index, isInt := db.int()
	rate, isInt2 := qps.int()
	if !ok1 || !ok2 || !ok3 || !isInt || !isInt2 || len(v.elems) != 6 {
		t.Fatalf("not an entry of HOTKEYS GET:\n%s", v)
	}
	return hotkey{identity{key.text, int(index)}, rate}
}

// rate returns the qps of a key, and whether it is in the report.
func (r hotReport) rate(id identity) (int64, bool) {
	for _, e := range r.entries {
		if e.identity == id {
			return e.qps, true
		}
	}
	return 0, false
}

// is reports whether a key's rate is that of so many accesses in the window.
// The rate is rounded to a whole number, and the window's length to a
// millisecond.
func (r hotReport) is(id identity, accesses float64) bool {
	qps, _ := r.rate(id)
	if r.durationMs == 0 {
		return false
	}
	shortest, longest := float64(r.durationMs-1)/1000, float64(r.durationMs+1)/1000
	return float64(qps) >= math.Floor(accesses/longest) && float64(qps) <= math.Ceil(accesses/shortest) &&
		math.Abs(float64(qps)-accesses*1000/float64(r.durationMs)) <= 0.5+accesses*(1/shortest-1/longest)
}

// wantCounts fails the test unless the report has exactly these keys with these
// numbers of accesses.
func (r hotReport) wantCounts(t testing.TB, want map[identity]int) {
	t.Helper()
	for id, n := range want {
		if !r.is(id, float64(n)) {
			qps, listed := r.rate(id)
			t.Errorf("%q in database %d: %d per second in %d ms (listed: %v), want %d accesses", id.key, id.db, qps, r.durationMs, listed, n)
		}
	}
	for _, e := range r.entries {
		if want[e.identity] == 0 {
			t.Errorf("%q in database %d is listed with %d per second and had no access", e.key, e.db, e.qps)
		}
	}
}

func (r hotReport) keys() []string {
	keys := make([]string, len(r.entries))
	for i, e := range r.entries {
		keys[i] = e.key
	}
	return keys
}

// park stops rotation for as long as any test takes. It is a change of a
// parameter, which leaves the frozen window readable.
func (s *hotServer) park() { s.c.ok("CONFIG", "SET", "hotkeys-window-seconds", "300") }

// marker is a key that every recorded load touches once more at its end. A
// report that lacks it is not that of the window that was meant.
const marker = "the-load-ended-here"

// recordTries bounds how often a window is recorded anew because the machine
// was too slow to keep the load, or the look at its report, in one.
const recordTries = 10

// record runs a load alone in a window of so many seconds and returns that
// window frozen, without the marker, with rotation parked. The load must end
// with an access to marker.
func (s *hotServer) record(seconds int, load func()) hotReport {
	s.t.Helper()
	return s.recordWhole(seconds, load, func(r hotReport) bool {
		_, ok := r.rate(identity{marker, 0})
		return ok
	}).withoutMarker()
}

// recordWhole is record with another way to tell that the window has the whole
// load.
func (s *hotServer) recordWhole(seconds int, load func(), whole func(hotReport) bool) hotReport {
	s.t.Helper()
	for range recordTries {
		s.park()
		s.c.ok("HOTKEYS", "RESET")
		s.c.ok("CONFIG", "SET", "hotkeys-window-seconds", strconv.Itoa(seconds))
		load()
		eventually(s.t, "a window is complete", func() bool { return infoInt(s.c, "hotkeys", "hotkeys_last_window_duration_ms") > 0 })
		s.park()
		if r := s.report(); whole(r) {
			return r
		}
	}
	s.t.Fatalf("in %d tries no window had the whole load", recordTries)
	return hotReport{}
}

// withoutMarker takes the marker and its one access out of a report.
func (r hotReport) withoutMarker() hotReport {
	kept := r.entries[:0]
	for _, e := range r.entries {
		if e.identity != (identity{marker, 0}) {
			kept = append(kept, e)
		}
	}
	r.entries = kept
	r.samples--
	return r
}

// transaction sends commands, and the access to the marker, as one EXEC.
func (s *hotServer) transaction(commands ...[]string) []value {
	s.t.Helper()
	all := append([][]string{{"MULTI"}}, commands...)
	all = append(all, []string{"SELECT", "0"}, []string{"GET", marker}, []string{"EXEC"})
	replies := s.c.pipeline(all)
	exec := parseReply(replies[len(replies)-1])
	if len(exec.elems) != len(commands)+2 {
		s.t.Fatalf("EXEC: %s", tail(exec.String(), 1000))
	}
	return exec.elems
}

// times repeats commands, all of them in each round.
func times(n int, commands ...string) [][]string {
	var all [][]string
	for range n {
		for _, c := range commands {
			args, err := splitArgs(c)
			if err != nil {
				panic(err)
			}
			all = append(all, args)
		}
	}
	return all
}

// hotClient is a client library in one version of the protocol.
type hotClient struct {
	name string
	// exec sends commands as one transaction.
	exec func(t testing.TB, commands [][]string)
	// hotkeys asks for the report the way a program would.
	hotkeys func(t testing.TB) []hotkey
}

// hotClients are the clients that people use, each in both protocols.
func hotClients(t testing.TB, s *hotServer) []hotClient {
	return []hotClient{
		goRedisClient(t, s, 2), goRedisClient(t, s, 3), rueidisClient(t, s, 2), rueidisClient(t, s, 3),
	}
}

func goRedisClient(t testing.TB, s *hotServer, protocol int) hotClient {
	client := redis.NewClient(&redis.Options{Addr: s.addr, Protocol: protocol, ReadTimeout: patience})
	t.Cleanup(func() { client.Close() })
	ctx := context.Background()
	return hotClient{
		name: fmt.Sprintf("go-redis RESP%d", protocol),
		exec: func(t testing.TB, commands [][]string) {
			t.Helper()
			// The error is that of the first command refused, which some are meant
			// to be; a transaction that did not run leaves no marker.
			client.TxPipelined(ctx, func(p redis.Pipeliner) error {
				for _, args := range commands {
					p.Do(ctx, anys(args)...)
				}
				return nil
			})
		},
		hotkeys: func(t testing.TB) []hotkey {
			t.Helper()
			reply, err := client.Do(ctx, "HOTKEYS", "GET").Result()
			if err != nil {
				t.Fatal(err)
			}
			return hotkeysOf(t, reply)
		},
	}
}

func rueidisClient(t testing.TB, s *hotServer, protocol int) hotClient {
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{s.addr}, DisableCache: true, AlwaysRESP2: protocol == 2, ForceSingleClient: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	ctx := context.Background()
	return hotClient{
		name: fmt.Sprintf("rueidis RESP%d", protocol),
		exec: func(t testing.TB, commands [][]string) {
			t.Helper()
			dedicated, release := client.Dedicate()
			defer release()
			batch := []rueidis.Completed{client.B().Multi().Build()}
			for _, args := range commands {
				batch = append(batch, client.B().Arbitrary(args...).Build())
			}
			batch = append(batch, client.B().Exec().Build())
			replies := dedicated.DoMulti(ctx, batch...)
			if err := replies[len(replies)-1].Error(); err != nil {
				t.Fatal(err)
			}
		},
		hotkeys: func(t testing.TB) []hotkey {
			t.Helper()
			reply, err := client.Do(ctx, client.B().Arbitrary("HOTKEYS", "GET").Build()).ToAny()
			if err != nil {
				t.Fatal(err)
			}
			return hotkeysOf(t, reply)
		},
	}
}

func anys(args []string) []any {
	out := make([]any, len(args))
	for i, a := range args {
		out[i] = a
	}
	return out
}

// hotkeysOf reads what a client library made of the report: lists of flat lists
// in RESP2, lists of maps in RESP3.
func hotkeysOf(t testing.TB, reply any) []hotkey {
	t.Helper()
	list, ok := reply.([]any)
	if !ok {
		t.Fatalf("HOTKEYS GET came as %T", reply)
	}
	var out []hotkey
	for _, e := range list {
		fields := map[string]any{}
		switch e := e.(type) {
		case []any:
			for i := 0; i+1 < len(e); i += 2 {
				fields[fmt.Sprint(e[i])] = e[i+1]
			}
		case map[any]any:
			for k, v := range e {
				fields[fmt.Sprint(k)] = v
			}
		case map[string]any:
			fields = e
		default:
			t.Fatalf("an entry came as %T", e)
		}
		db, ok1 := fields["db"].(int64)
		qps, ok2 := fields["qps"].(int64)
		key, ok3 := fields["key"].(string)
		if !ok1 || !ok2 || !ok3 || len(fields) != 3 {
			t.Fatalf("an entry came as %#v", fields)
		}
		out = append(out, hotkey{identity{key, int(db)}, qps})
	}
	return out
}
