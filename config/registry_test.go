package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// sample is a registry with a parameter of each kind.
type sample struct {
	*Registry
	topK, counters, port, proto *Int
	memory                      *Int
	appendonly                  *Bool
	password, logfile, level    *String
	bind                        *Strings
	save, limits                *String
}

func newSample() *sample {
	r := New()
	s := &sample{
		Registry:   r,
		topK:       r.Int("hotkeys-top-k", 0, 0, 1000, Doc("number of hot keys reported; 0: off")),
		counters:   r.Int("hotkeys-counters", 0, 0, 65536),
		port:       r.Int("port", 6379, 0, 65535, Immutable(), Doc("TCP port")),
		proto:      r.Memory("proto-max-bulk-len", 512<<20, 1<<20, 1<<40),
		memory:     r.Memory("maxmemory", 0, 0, 1<<62),
		appendonly: r.Bool("appendonly", false, Doc("log writes")),
		password:   r.String("requirepass", "", Secret()),
		logfile:    r.String("logfile", ""),
		level:      r.Enum("loglevel", "notice", []string{"debug", "verbose", "notice", "warning"}),
		bind:       r.Strings("bind", []string{"*", "-::*"}),
		save:       r.Custom("save", "3600 1", checkSave, Repeats(2)),
		limits: r.Custom("client-output-buffer-limit", "normal 0 0 0 slave 256 64 60 pubsub 32 8 60", checkLimits,
			Repeats(4), Partial()),
	}
	r.Int("replica-priority", 100, 0, 1000, Alias("slave-priority"))
	r.Rule([]string{"hotkeys-counters", "hotkeys-top-k"}, func(v Values) error {
		if n := v.Int("hotkeys-counters"); n != 0 && n < v.Int("hotkeys-top-k") {
			return errors.New("hotkeys-counters must be 0 or at least hotkeys-top-k")
		}
		return nil
	})
	return s
}

func checkSave(value string) (string, error) {
	words := strings.Fields(value)
	if len(words)%2 != 0 {
		return "", errors.New("Invalid save parameters")
	}
	for _, word := range words {
		if n, err := strconv.ParseUint(word, 10, 31); err != nil || n == 0 {
			return "", errors.New("Invalid save parameters")
		}
	}
	return strings.Join(words, " "), nil
}

func checkLimits(value string) (string, error) {
	limits := make(map[string]string)
	words := strings.Fields(value)
	if len(words)%4 != 0 || len(words) == 0 {
		return "", errors.New("Wrong number of arguments in buffer limit configuration.")
	}
	for limit := range slices.Chunk(words, 4) {
		if limit[0] == "replica" {
			limit[0] = "slave"
		}
		limits[limit[0]] = strings.Join(limit, " ")
	}
	if len(limits) != 3 {
		return "", errors.New("Invalid client class specified in buffer limit configuration.")
	}
	return limits["normal"] + " " + limits["slave"] + " " + limits["pubsub"], nil
}

// values returns every parameter with its value.
func values(r *Registry) map[string]string {
	found := make(map[string]string)
	for _, p := range r.params {
		found[p.name] = p.value()
	}
	return found
}

func TestDefaults(t *testing.T) {
	s := newSample()
	if s.topK.Get() != 0 || s.port.Get() != 6379 || s.proto.Get() != 512<<20 || s.appendonly.Get() ||
		s.level.Get() != "notice" || s.password.Get() != "" || s.save.Get() != "3600 1" {
		t.Errorf("handles hold other values than the defaults: %v", values(s.Registry))
	}
	if got := s.bind.Get(); !slices.Equal(got, []string{"*", "-::*"}) {
		t.Errorf("bind = %q", got)
	}
}

func TestSetChangesTextAndHandle(t *testing.T) {
	s := newSample()
	for _, c := range []struct{ name, value, text string }{
		{"hotkeys-top-k", "1000", "1000"},
		{"HOTKEYS-Top-K", "0", "0"},
		{"proto-max-bulk-len", "2MB", "2097152"},
		{"proto-max-bulk-len", "2m", "2000000"},
		{"maxmemory", "1k", "1000"},
		{"maxmemory", "1kb", "1024"},
		{"maxmemory", "1Gb", "1073741824"},
		{"maxmemory", "3g", "3000000000"},
		{"maxmemory", "17b", "17"},
		{"maxmemory", "0", "0"},
		{"appendonly", "YES", "yes"},
		{"loglevel", "Debug", "debug"},
		{"bind", "  127.0.0.1   ::1 ", "127.0.0.1 ::1"},
		{"bind", "", ""},
		{"requirepass", "a b\n\"\x00", "a b\n\"\x00"},
		{"save", "900 1  300 10", "900 1 300 10"},
		{"save", "", ""},
		{"client-output-buffer-limit", "replica 1 2 3", "normal 0 0 0 slave 1 2 3 pubsub 32 8 60"},
		{"client-output-buffer-limit", "pubsub 4 5 6 normal 7 8 9", "normal 7 8 9 slave 1 2 3 pubsub 4 5 6"},
		{"client-output-buffer-limit", "", "normal 7 8 9 slave 1 2 3 pubsub 4 5 6"}, // no part is named: nothing changes
		{"slave-priority", "7", "7"},
	} {
		if err := s.Set([2]string{c.name, c.value}); err != nil {
			t.Errorf("SET %s %q: %v", c.name, c.value, err)
		}
		if got := s.find(c.name).value(); got != c.text {
			t.Errorf("SET %s %q left %q, want %q", c.name, c.value, got, c.text)
		}
	}
	if s.proto.Get() != 2000000 || !s.appendonly.Get() || s.level.Get() != "debug" || len(s.bind.Get()) != 0 {
		t.Errorf("handles do not follow: %v", values(s.Registry))
	}
}

// The texts are those of redis-server 7.0.15, without the error code.
func TestSetErrors(t *testing.T) {
	related := func(name, reason string) string {
		return "CONFIG SET failed (possibly related to argument '" + name + "') - " + reason
	}
	unknown := func(name string) string {
		return "Unknown option or number of arguments for CONFIG SET - '" + name + "'"
	}
	const notInt = "argument couldn't be parsed into an integer"
	for _, c := range []struct {
		pairs string // name value name value …, "_" for the empty value
		want  string
	}{
		{"hotkeys-top-k 1001", related("hotkeys-top-k", "argument must be between 0 and 1000 inclusive")},
		{"HOTKEYS-TOP-K -1", related("hotkeys-top-k", "argument must be between 0 and 1000 inclusive")},
		{"hotkeys-top-k x", related("hotkeys-top-k", notInt)},
		{"hotkeys-top-k _", related("hotkeys-top-k", notInt)},
		{"hotkeys-top-k +1", related("hotkeys-top-k", notInt)},
		{"hotkeys-top-k 01", related("hotkeys-top-k", notInt)},
		{"hotkeys-top-k -0", related("hotkeys-top-k", notInt)},
		{"hotkeys-top-k 0x1", related("hotkeys-top-k", notInt)},
		{"hotkeys-top-k 9223372036854775808", related("hotkeys-top-k", notInt)},
		{"slave-priority x", related("slave-priority", notInt)},
		{"appendonly maybe", related("appendonly", "argument must be 'yes' or 'no'")},
		{"loglevel x", related("loglevel", "argument(s) must be one of the following: debug, verbose, notice, warning")},
		{"maxmemory -1", related("maxmemory", "argument must be a memory value")},
		{"maxmemory 1.5k", related("maxmemory", "argument must be a memory value")},
		{"maxmemory 10%", related("maxmemory", "argument must be a memory value")},
		{"maxmemory 5000000000000000000000", related("maxmemory", "argument must be a memory value")},
		{"maxmemory 9223372036854775807gb", related("maxmemory", "argument must be a memory value")},
		{"proto-max-bulk-len 1", related("proto-max-bulk-len", "argument must be between 1048576 and 1099511627776 inclusive")},
		{"save foo", related("save", "Invalid save parameters")},
		{"port 1", related("port", "can't set immutable config")},
		{"NoSuch 1", unknown("NoSuch")},
		{"loglevel debug loglevel debug", related("loglevel", "duplicate parameter")},
		{"loglevel debug LOGLEVEL debug", related("LOGLEVEL", "duplicate parameter")},
		{"replica-priority 1 slave-priority 2", related("slave-priority", "duplicate parameter")},
		{"port 1 nosuch 1", related("port", "can't set immutable config")},
		{"nosuch 1 port 1", unknown("nosuch")},
		{"loglevel x port 1", related("port", "can't set immutable config")},
		{"hotkeys-top-k 16 appendonly x", related("appendonly", "argument must be 'yes' or 'no'")},
		{"hotkeys-counters 5 hotkeys-top-k 6", related("hotkeys-counters", "hotkeys-counters must be 0 or at least hotkeys-top-k")},
		{"logfile " + strings.Repeat("x", valueBytesMax+1), related("logfile", "argument must be at most 16384 bytes long")},
	} {
		s := newSample()
		s.OnChange([]string{"hotkeys-top-k", "logfile"}, func() error { t.Errorf("hook ran for %s", c.pairs); return nil })
		before := values(s.Registry)
		var pairs [][2]string
		for pair := range slices.Chunk(strings.Fields(c.pairs), 2) {
			pairs = append(pairs, [2]string{pair[0], strings.TrimPrefix(pair[1], "_")})
		}
		err := s.Set(pairs...)
		if err == nil || err.Error() != c.want {
			t.Errorf("SET %.60s: %v\nwant %s", c.pairs, err, c.want)
		}
		if after := values(s.Registry); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("SET %.60s failed and yet changed %v to %v", c.pairs, before, after)
		}
	}
}

// TestSetPinned: what CONFIG GET has shown can be written back.
func TestSetPinned(t *testing.T) {
	s := newSample()
	s.Int("tls-port", 0, 0, 65535, Pinned())
	if err := s.Set([2]string{"tls-port", "0"}, [2]string{"loglevel", "debug"}); err != nil || s.level.Get() != "debug" {
		t.Errorf("the same value: %v, loglevel %s", err, s.level.Get())
	}
	err := s.Set([2]string{"loglevel", "notice"}, [2]string{"tls-port", "1"})
	if err == nil || err.Error() != "CONFIG SET failed (possibly related to argument 'tls-port') - can't set immutable config" || s.level.Get() != "debug" {
		t.Errorf("another value: %v, loglevel %s", err, s.level.Get())
	}
}

func TestSetErrorTypes(t *testing.T) {
	s := newSample()
	if _, ok := errors.AsType[*UnknownError](s.Set([2]string{"x", ""})); !ok {
		t.Error("not an UnknownError")
	}
	refused := errors.New("refused")
	s.OnChange([]string{"logfile"}, func() error { return refused })
	err := s.Set([2]string{"logfile", "x"})
	if set, ok := errors.AsType[*SetError](err); !ok || set.Name != "logfile" || !errors.Is(err, refused) {
		t.Errorf("%#v does not carry name and reason", err)
	}
}

func TestRuleSeesAllNewValues(t *testing.T) {
	s := newSample()
	for _, c := range []struct {
		pairs [][2]string
		ok    bool
	}{
		{[][2]string{{"hotkeys-top-k", "16"}}, true},
		{[][2]string{{"hotkeys-counters", "15"}}, false},
		{[][2]string{{"hotkeys-counters", "16"}}, true},
		{[][2]string{{"hotkeys-top-k", "17"}}, false},
		{[][2]string{{"hotkeys-top-k", "20"}, {"hotkeys-counters", "20"}}, true},
		{[][2]string{{"hotkeys-counters", "0"}}, true},
	} {
		if err := s.Set(c.pairs...); (err == nil) != c.ok {
			t.Errorf("SET %v: %v", c.pairs, err)
		}
	}
}

func TestCustomRefuses(t *testing.T) {
	r := New()
	h := r.Custom("save", "", func(value string) (string, error) {
		if value != "" {
			return "", errors.New("persistence is not supported")
		}
		return value, nil
	})
	err := r.Set([2]string{"save", "1 1"})
	if err == nil || !strings.HasSuffix(err.Error(), "- persistence is not supported") || h.Get() != "" {
		t.Errorf("%v, save = %q", err, h.Get())
	}
}

func TestHooksRunOncePerChange(t *testing.T) {
	s := newSample()
	var ran []string
	s.OnChange([]string{"hotkeys-top-k", "hotkeys-counters"}, func() error {
		ran = append(ran, fmt.Sprintf("tracker %d %d", s.topK.Get(), s.counters.Get()))
		return nil
	})
	s.OnChange([]string{"loglevel"}, func() error { ran = append(ran, "log "+s.level.Get()); return nil })
	set := func(want []string, pairs ...[2]string) {
		t.Helper()
		ran = nil
		if err := s.Set(pairs...); err != nil || !slices.Equal(ran, want) {
			t.Errorf("SET %v: %v, hooks %q, want %q", pairs, err, ran, want)
		}
	}
	set([]string{"tracker 4 8", "log debug"}, [2]string{"loglevel", "debug"}, [2]string{"hotkeys-counters", "8"}, [2]string{"hotkeys-top-k", "4"})
	set(nil, [2]string{"loglevel", "DEBUG"}, [2]string{"hotkeys-top-k", "4"})
	set([]string{"tracker 5 8"}, [2]string{"loglevel", "debug"}, [2]string{"hotkeys-top-k", "5"})
	set(nil, [2]string{"appendonly", "yes"})
	set(nil)
}

func TestFailedHookRollsBack(t *testing.T) {
	s := newSample()
	var ran []string
	restoreErr := error(nil)
	s.OnChange([]string{"hotkeys-top-k"}, func() error {
		ran = append(ran, s.find("hotkeys-top-k").value())
		if s.topK.Get() == 0 {
			return restoreErr
		}
		return nil
	})
	s.OnChange([]string{"bind"}, func() error { return errors.New("Failed to bind to specified addresses.") })
	s.OnChange([]string{"hotkeys-top-k"}, func() error { t.Error("a hook after the failed one ran"); return nil })
	before := values(s.Registry)
	pairs := [][2]string{{"hotkeys-top-k", "9"}, {"appendonly", "yes"}, {"bind", "1.2.3.4"}}
	const want = "CONFIG SET failed (possibly related to argument 'bind') - Failed to bind to specified addresses."
	if err := s.Set(pairs...); err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
	if !slices.Equal(ran, []string{"9", "0"}) {
		t.Errorf("first hook saw %q", ran)
	}
	if after := values(s.Registry); fmt.Sprint(after) != fmt.Sprint(before) || s.topK.Get() != 0 || s.appendonly.Get() {
		t.Errorf("values left: %v", after)
	}
	restoreErr = errors.New("stuck")
	if err := s.Set(pairs...); err == nil || err.Error() != want+"; restoring 'hotkeys-top-k' failed: stuck" {
		t.Errorf("error %v", err)
	}
}

func TestGet(t *testing.T) {
	s := newSample()
	for _, c := range []struct{ patterns, want string }{
		{"port", "port=6379"},
		{"PORT", "PORT=6379"},
		{"PORT port", "PORT=6379"},
		{"nosuch", ""},
		{"*nosuch*", ""},
		{"hotkeys-*", "hotkeys-counters=0 hotkeys-top-k=0"},
		{"HOT*", "hotkeys-counters=0 hotkeys-top-k=0"},
		{"hotkeys-* port *top*", "hotkeys-counters=0 hotkeys-top-k=0 port=6379"},
		{"p?rt", "port=6379"},
		{"[op]ort", "port=6379"},
		{"[^a-o]ort", "port=6379"},
		{"[port", ""},
		{"slave-priority", "slave-priority=100"},
		{"*-priority", "replica-priority=100 slave-priority=100"},
		{"replica-priority slave-priority", "replica-priority=100 slave-priority=100"},
		{"secret-*", ""},
		{"requirepass", "requirepass="},
	} {
		var got []string
		for _, pair := range s.Get(strings.Fields(c.patterns)...) {
			got = append(got, pair[0]+"="+pair[1])
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("GET %s = %q, want %q", c.patterns, got, c.want)
		}
	}
	if got, want := len(s.Get("*")), len(s.params)+1; got != want { // one alias more
		t.Errorf("GET * returns %d, want %d", got, want)
	}
}

func TestRegistrationMistakesPanic(t *testing.T) {
	for what, register := range map[string]func(r *Registry){
		"twice":              func(r *Registry) { r.Bool("a", true); r.Bool("a", true) },
		"alias of another":   func(r *Registry) { r.Bool("a", true); r.Bool("b", true, Alias("a")) },
		"capitals":           func(r *Registry) { r.Bool("A", true) },
		"blank":              func(r *Registry) { r.Bool("a b", true) },
		"empty":              func(r *Registry) { r.Bool("", true) },
		"dash":               func(r *Registry) { r.Bool("-a", true) },
		"include":            func(r *Registry) { r.Bool("include", true) },
		"help":               func(r *Registry) { r.Bool("help", true) },
		"default off range":  func(r *Registry) { r.Int("a", 0, 1, 2) },
		"default not listed": func(r *Registry) { r.Enum("a", "x", []string{"y"}) },
		"hook of unknown":    func(r *Registry) { r.OnChange([]string{"a"}, nil) },
		"rule of unknown":    func(r *Registry) { r.Rule([]string{"a"}, nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", what)
				}
			}()
			register(New())
		}()
	}
}

func TestReadersDuringSet(t *testing.T) {
	s := newSample()
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if k := s.topK.Get(); k < 0 || k > 100 {
					t.Errorf("topK = %d", k)
				}
				if n := len(s.bind.Get()); n != 1 && n != 2 {
					t.Errorf("bind has %d words", n)
				}
				s.Get("*")
			}
		})
	}
	for i := range 100 {
		if err := s.Set([2]string{"hotkeys-top-k", strconv.Itoa(i)}, [2]string{"bind", "::" + strconv.Itoa(i)}); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	readers.Wait()
}
