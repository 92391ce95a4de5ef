package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"kvserver/cmd/kvhot/valkeytest"
)

// patience bounds waits for what must happen.
const patience = 20 * time.Second

// text collects what a command writes. Reading while it writes is fine.
type text struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}

// kvhot runs a command to its end.
func kvhot(t *testing.T, args ...string) (code int, out, errors string) {
	t.Helper()
	var stdout, stderr text
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	code = run(ctx, args, output{&stdout, &stderr})
	if err := ctx.Err(); err != nil {
		t.Fatalf("kvhot %q: %v\n%s%s", args, err, stdout.String(), stderr.String())
	}
	return code, stdout.String(), stderr.String()
}

// running is a command that goes on until it is ended.
type running struct {
	t           *testing.T
	out, errors text
	cancel      context.CancelFunc
	code        chan int
}

func start(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{t: t, code: make(chan int, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go func() { r.code <- run(ctx, args, output{&r.out, &r.errors}) }()
	t.Cleanup(cancel)
	return r
}

// until waits for the output to have a text.
func (r *running) until(want string) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); !strings.Contains(r.out.String(), want); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("no %q in\n%s%s", want, r.out.String(), r.errors.String())
		}
	}
}

// end interrupts the command, which is an orderly end.
func (r *running) end() {
	r.t.Helper()
	r.cancel()
	select {
	case code := <-r.code:
		if code != 0 {
			r.t.Errorf("status %d: %s", code, r.errors.String())
		}
	case <-time.After(patience):
		r.t.Fatal("it does not end")
	}
}

// TestArguments: what is wrong is said in one line before any server is asked, with status 2.
func TestArguments(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "no.pem"), []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"", "Usage: kvhot command"},
		{"nosuch", `there is no command "nosuch"`},
		{"top --nosuch", "unknown flag: --nosuch"},
		{"top key", `what is "key"?`},
		{"history a b", `what is "b"?`},
		{"top --json --csv", "--json or --csv, not both"},
		{"top -2 -3", "-2 or -3, not both"},
		{"top -i 0", "--interval 0: from 0.1 to 3600 seconds"},
		{"top -i NaN", "--interval NaN: from 0.1 to 3600 seconds"},
		{"top --timeout 1e9", "--timeout 1e+09: from 0.1 to 3600 seconds"},
		{"top --count 1001", "--count 1001: from 0 to 1000"},
		{"top -n -2", "--db -2: want a database, or -1 for all"},
		{"top --type both", "--type both: all, read or write"},
		{"top -a host:x", `address "host:x": port "x" is not from 1 to 65535`},
		{"top -u redis://u:secret@h:x", `address "redis://`},
		{"top --user u", "--user needs a password"},
		{"top --cacert " + dir + "/nosuch", "no such file or directory"},
		{"top --cacertdir " + dir + "/nosuch", "there is no file"},
		{"top --cacertdir " + dir, "there is no certificate in what"},
		{"top --cert a", "--cert needs --key"},
		{"top --cert a --key b", "client's certificate: open a"},
		{"watch --promote-qps 100 --demote-qps 100", "the demotion threshold must be at least 1 and below the promotion threshold"},
		{"watch --promote-qps -1", "a setting of the controller is out of range"},
		{"watch --promote-qps 10 --once", "--once tells what servers know"},
		{"history --count 10", "--count 10: from 1 to 9"},
		{"history --height 1", "--height 1: from 4 to 200"},
		{"history --windows -1", "--windows -1: not below 0"},
		{"history --collect -1s", "--collect -1s: at most 24h0m0s"},
		{"history --png x --json", "--png goes without --json and --csv"},
		{`history --quoted-input \xf`, `key \xf: not as kvhot shows keys`},
	} {
		code, out, errors := kvhot(t, strings.Fields(c.args)...)
		if code != 2 || out != "" || !strings.Contains(errors, c.want) || strings.Contains(errors, "secret") {
			t.Errorf("kvhot %s: status %d, %q, %q, want %q", c.args, code, out, errors, c.want)
		}
	}
	for _, args := range []string{"help", "--help", "top --help", "watch --help", "history --help"} {
		if code, out, errors := kvhot(t, strings.Fields(args)...); code != 0 || !strings.HasPrefix(out, "Usage: kvhot") || errors != "" {
			t.Errorf("kvhot %s: status %d, %q, %q", args, code, out, errors)
		}
	}
}

// TestTopOfValkey shows two servers that only tell key, db and qps: one of them is far above the mean.
func TestTopOfValkey(t *testing.T) {
	a, b := valkeytest.New(t), valkeytest.New(t)
	a.Window(10, 1000, valkeytest.Entry{Key: "user:1", QPS: 60})
	b.Window(90, 1000, valkeytest.Entry{Key: "hot\x1b]0;owned\a", DB: 2, QPS: 800}, valkeytest.Entry{Key: "user:1", QPS: 40})
	for _, protocol := range []string{"-2", "-3"} {
		code, out, errors := kvhot(t, "top", "--once", protocol, "-a", a.Addr, "-a", b.Addr)
		if code != 0 || errors != "" {
			t.Fatalf("status %d: %s", code, errors)
		}
		for _, want := range []string{`hot\x1b]0;owned\a`, "▲ 1.80", "0.20", " 90%", "800", "100"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
	}
	code, out, errors := kvhot(t, "top", "--once", "--json", "-a", a.Addr, "-a", b.Addr, "--count", "1")
	var view struct {
		Nodes []struct {
			Node  string
			Times float64 `json:"times_average"`
		}
		Keys []struct {
			Key string
			DB  int
			QPS float64
			Low *float64 `json:"qps_low"`
		}
	}
	if err := json.Unmarshal([]byte(out), &view); err != nil || code != 0 {
		t.Fatalf("%v, status %d: %s%s", err, code, out, errors)
	}
	if len(view.Keys) != 1 || view.Keys[0].QPS != 800 || view.Keys[0].DB != 2 || view.Keys[0].Low != nil || view.Nodes[1].Times != 1.8 {
		t.Errorf("%+v", view)
	}
	if code, out, _ := kvhot(t, "top", "--once", "--csv", "-n", "0", "-a", b.Addr); code != 0 || strings.Count(out, "\n") != 2 || !strings.Contains(out, ",user:1,0,40,,") {
		t.Errorf("status %d: %s", code, out)
	}
}

// TestOneOfTwoFails: what there is is shown, and the status says that it is not all.
func TestOneOfTwoFails(t *testing.T) {
	a, b := valkeytest.New(t), valkeytest.New(t)
	a.Window(10, 1000, valkeytest.Entry{Key: "user:1", QPS: 60})
	b.Reply("HOTKEYS GET", "-NOPERM no permissions to run the 'hotkeys|get' command\r\n")
	for _, format := range []string{"--csv", "--json", "-3"} {
		code, out, errors := kvhot(t, "top", "--once", format, "-a", a.Addr, "-a", b.Addr)
		if code != 1 || !strings.Contains(out, "user:1") || !strings.Contains(errors, b.Addr+": NOPERM") {
			t.Errorf("%s: status %d: %s%s", format, code, out, errors)
		}
	}
	if code, _, errors := kvhot(t, "top", "--once", "--type", "read", "-a", a.Addr); code != 1 || !strings.Contains(errors, "cannot rank by reads") {
		t.Errorf("status %d: %s", code, errors)
	}
}

// TestOneHangs: the others are seen meanwhile.
func TestOneHangs(t *testing.T) {
	s := valkeytest.New(t)
	s.Window(100, 1000, valkeytest.Entry{Key: "k", QPS: 90})
	hangs, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hangs.Close()
	r := start(t, "top", "--json", "-i", "0.1", "--timeout", "3600", "-a", hangs.Addr().String(), "-a", s.Addr)
	r.until(`"error":"no answer yet"`)
	r.until(`"key":"k"`)
	r.end()
	code, _, errors := kvhot(t, "top", "--once", "--timeout", "0.1", "-a", hangs.Addr().String())
	if want := "kvhot: " + hangs.Addr().String() + ": no answer within 100ms\n"; code != 1 || errors != want {
		t.Errorf("%d %q, want %q", code, errors, want)
	}
}

// TestErrorsDoNothing: what a server answers with an error is shown, and does nothing to the terminal.
func TestErrorsDoNothing(t *testing.T) {
	s := valkeytest.New(t)
	s.Reply("HOTKEYS GET", "-ERR \x1b[2J\x9b gone\r\n")
	for _, args := range [][]string{{"top", "--once"}, {"top", "--once", "--csv"}, {"history", "--collect", "1s"}} {
		code, out, errors := kvhot(t, append(args, "-a", s.Addr)...)
		if code != 1 || strings.Contains(out+errors, "\x1b") || !strings.Contains(errors, `ERR \x1b[2J`) {
			t.Errorf("%q: %d %q %q", args, code, out, errors)
		}
	}
}

// TestTopGoesOn: a table, a line of JSON or rows a refresh, also while a server is away.
func TestTopGoesOn(t *testing.T) {
	for _, format := range []string{"--json", "--csv", "-3"} {
		s := valkeytest.New(t)
		s.Window(10, 1000, valkeytest.Entry{Key: "first", QPS: 60})
		r := start(t, "top", "-i", "0.1", format, "-a", s.Addr)
		r.until("first")
		s.Reply("HOTKEYS GET", "-LOADING server is loading the dataset in memory\r\n")
		if format == "--csv" {
			r.errorsUntil("LOADING")
		} else {
			r.until("LOADING")
		}
		s.Window(10, 1000, valkeytest.Entry{Key: "second", QPS: 60})
		s.Reply("HOTKEYS GET", "*1\r\n%3\r\n$3\r\nkey\r\n$6\r\nsecond\r\n$2\r\ndb\r\n:0\r\n$3\r\nqps\r\n:60\r\n")
		r.until("second")
		r.end()
	}
}

func (r *running) errorsUntil(want string) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); !strings.Contains(r.errors.String(), want); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("no %q in\n%s", want, r.errors.String())
		}
	}
}

// TestWatchDecides: for a server without a controller kvhot's own thresholds decide.
func TestWatchDecides(t *testing.T) {
	s := valkeytest.New(t)
	if code, _, errors := kvhot(t, "watch", "-a", s.Addr); code != 1 || !strings.Contains(errors, "--promote-qps lets kvhot decide") {
		t.Errorf("status %d: %s", code, errors)
	}
	s.Window(100, 1000, valkeytest.Entry{Key: "hot key", QPS: 1000})
	r := start(t, "watch", "--promote-qps", "500", "--promote-windows", "1", "--demote-windows", "1", "--hold", "0s", "-a", s.Addr)
	r.until("warming     1000  db 0  hot key\n")
	r.until("hot         1000  db 0  hot key\n")
	s.Window(90, 1001)
	r.until("normal")
	r.end()
}

// TestWatchListens: transitions are told as they are published, and after a loss what changed meanwhile.
func TestWatchListens(t *testing.T) {
	const state = "%%3\r\n$3\r\nkey\r\n$1\r\n%s\r\n$2\r\ndb\r\n:0\r\n$5\r\nstate\r\n$3\r\nhot\r\n"
	s := valkeytest.New(t)
	s.Reply("HOTKEYS STATES", "*1\r\n"+fmt.Sprintf(state, "a"))
	if code, out, _ := kvhot(t, "watch", "--once", "--csv", "-a", s.Addr); code != 0 || !strings.Contains(out, ",hot,0,,a,true\n") {
		t.Errorf("status %d: %s", code, out)
	}
	r := start(t, "watch", "--json", "-a", s.Addr)
	r.until(`"event":"hot","key":"a","db":0,"current":true}`)
	s.Send(">4\r\n$8\r\npmessage\r\n$13\r\n__hotkeys__:*\r\n$19\r\n__hotkeys__:warming\r\n$10\r\n0 4600 b c\r\n")
	r.until(`"event":"warming","key":"b c","db":0,"demand":4600}`)
	s.Reply("HOTKEYS STATES", "*1\r\n"+fmt.Sprintf(state, "d"))
	s.Drop()
	r.errorsUntil("trying again")
	r.until(`"event":"hot","key":"d","db":0,"current":true}`)
	r.until(`"event":"normal","key":"a","db":0,"current":true}`)
	r.until(`"event":"normal","key":"b c","db":0,"current":true}`)
	if n := strings.Count(r.out.String(), "\n"); n != 5 {
		t.Errorf("%d events:\n%s", n, r.out.String())
	}
	r.end()
}

func TestHistoryIsCollected(t *testing.T) {
	s := valkeytest.New(t)
	s.Window(100, 1000, valkeytest.Entry{Key: "hot", QPS: 1000}, valkeytest.Entry{Key: "other", QPS: 10})
	if code, _, errors := kvhot(t, "history", "-a", s.Addr); code != 1 || !strings.Contains(errors, "--collect 60s collects windows now") {
		t.Errorf("status %d: %s", code, errors)
	}
	code, out, errors := kvhot(t, "history", "--collect", "100ms", "--json", "-a", s.Addr)
	if code != 0 || !strings.Contains(out, `"known":true,"samples":100,"keys":[{"key":"hot"`) {
		t.Errorf("status %d: %s%s", code, out, errors)
	}
	if code, out, _ := kvhot(t, "history", `h\x6ft`, "--quoted-input", "--collect", "100ms", "-a", s.Addr); code != 0 || !strings.Contains(out, "hot  db 0  peak 1000") || strings.Contains(out, "other") {
		t.Errorf("status %d: %s", code, out)
	}
	file := filepath.Join(t.TempDir(), "plot.png")
	if code, out, errors := kvhot(t, "history", "--collect", "100ms", "--png", file, "-a", s.Addr); code != 0 || out != "" {
		t.Errorf("status %d: %s%s", code, out, errors)
	}
	picture, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(picture)); err != nil {
		t.Error(err)
	}
	if code, out, _ := kvhot(t, "history", "--collect", "100ms", "--png", "-", "-a", s.Addr); code != 0 || !strings.HasPrefix(out, "\x89PNG") {
		t.Errorf("status %d, %d bytes", code, len(out))
	}
	if code, _, errors := kvhot(t, "history", "--collect", "100ms", "-a", "127.0.0.1:1"); code != 1 || !strings.Contains(errors, "127.0.0.1:1: ") {
		t.Errorf("status %d: %s", code, errors)
	}
}

// TestDocumented: docs/kvhot.md knows every option.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/kvhot.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commands {
		fs, _ := flagsOf(c)
		fs.VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(string(page), "`--"+f.Name) {
				t.Errorf("docs/kvhot.md does not tell of --%s of %s", f.Name, c.name)
			}
		})
	}
}
