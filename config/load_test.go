package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writeFiles makes files under a new directory, which becomes the working directory, and returns it.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var goodFiles = map[string]string{
	"kv.conf": "# first\r\n\r\nPort 7000\r\nsave 900 1\r\n  loglevel \"debug\"  \r\nsave 300 10 60 1000\r\n" +
		"client-output-buffer-limit replica 1 1 1\r\nclient-output-buffer-limit normal 2 2 2\nslave-priority 4\nport 7001\r\n" +
		"bind 127.0.0.1 -::1\nproto-max-bulk-len 2mb\nrequirepass 'a # \"b\"'",
	"reset.conf": "save 900 1\nsave \"\"\nsave 2 2\nsave 3 3\n",
	"none.conf":  "save \"\"",
	"outer.conf": "port 1\ninclude inner.conf\nhotkeys-top-k 3\n",
	"inner.conf": "port 2\nhotkeys-top-k 2\nsave 1 1\n",
	"globs.conf": "INCLUDE none-*.txt\ninclude x*.inc\n",
	"x2.inc":     "port 12\nsave 2 2\n",
	"x1.inc":     "port 11\nsave 1 1\n",
}

var goodCommandLines = []struct {
	args string // separated by blanks; "_" is the empty one
	want string // what differs from the defaults
}{
	{"", ""},
	{"kv.conf", "port=7001|save=900 1 300 10 60 1000|loglevel=debug|replica-priority=4|bind=127.0.0.1 -::1|" +
		"proto-max-bulk-len=2097152|requirepass=a # \"b\"|client-output-buffer-limit=normal 2 2 2 slave 1 1 1 pubsub 32 8 60"},
	{"reset.conf", "save=2 2 3 3"},
	{"none.conf", "save="},
	{"outer.conf", "port=2|hotkeys-top-k=3|save=1 1"},
	{"globs.conf", "port=12|save=1 1 2 2"},
	{"-", "port=5|loglevel=warning"},
	{"- --port 6", "port=6|loglevel=warning"},
	{"outer.conf --hotkeys-top-k 9 --PORT=8", "port=8|hotkeys-top-k=9|save=1 1"},
	{"--save 9 9 8 8 --bind ::1 127.0.0.1", "save=9 9 8 8|bind=::1 127.0.0.1"},
	{"reset.conf --save 9 9 --save 8 8", "save=9 9 8 8"},
	{"reset.conf --save _", "save="},
	{"--requirepass=--x=y", "requirepass=--x=y"},
	{"--requirepass _ --logfile=", ""},
	{"--appendonly --port 7", "appendonly=yes|port=7"},
	{"--appendonly yes --appendonly no", ""},
	{"--slave-priority 3", "replica-priority=3"},
	{"--client-output-buffer-limit pubsub 1 2 3", "client-output-buffer-limit=normal 0 0 0 slave 256 64 60 pubsub 1 2 3"},
	{"--hotkeys-top-k 16 --hotkeys-counters 16", "hotkeys-top-k=16|hotkeys-counters=16"},
	{"--hotkeys-counters 16 --hotkeys-top-k 16", "hotkeys-top-k=16|hotkeys-counters=16"},
}

// commandLine cuts a line at its blanks; "_" stands for the empty argument.
func commandLine(line string) []string {
	args := strings.Fields(line)
	for i := range args {
		args[i] = strings.TrimPrefix(args[i], "_")
	}
	return args
}

func TestLoad(t *testing.T) {
	dir := writeFiles(t, goodFiles)
	const stdin = "port 5\nloglevel warning"
	for _, c := range goodCommandLines {
		s := newSample()
		s.OnChange([]string{"port", "save"}, func() error { t.Error("Load ran a hook"); return nil })
		want := values(s.Registry)
		for pair := range strings.SplitSeq(c.want, "|") {
			if name, value, ok := strings.Cut(pair, "="); ok {
				want[name] = value
			}
		}
		args := commandLine(c.args)
		if err := s.Load(args, strings.NewReader(stdin)); err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		for name, value := range values(s.Registry) {
			if value != want[name] {
				t.Errorf("%s: %s is %q, want %q", c.args, name, value, want[name])
			}
		}
		file := ""
		if len(args) > 0 && strings.HasSuffix(args[0], ".conf") {
			file = filepath.Join(dir, args[0])
		}
		if got := s.ConfigFile(); got != file {
			t.Errorf("%s: ConfigFile = %q, want %q", c.args, got, file)
		}
	}
}

// TestLoadLines: a flag and its values may be one argument, as in Redis, and are then read like a line of the file.
func TestLoadLines(t *testing.T) {
	s := newSample()
	if err := s.Load([]string{"--port 6", "--bind\t::1 '127.0.0.1'", "--requirepass \"--a b\"", "--save 9 9", "8", "8", "--logfile=a b"}, nil); err != nil {
		t.Fatal(err)
	}
	got := values(s.Registry)
	for name, want := range map[string]string{"port": "6", "bind": "::1 127.0.0.1", "requirepass": "--a b", "save": "9 9 8 8", "logfile": "a b"} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	for arg, want := range map[string]string{
		"--requirepass 'hunter2": "--requirepass: unbalanced quotes", "--port 1 2": `--port "1 2": takes exactly one value, which must be between 0 and 65535`,
		"--nosuch 1": `unknown option "--nosuch"`, "-- port 1": `unknown option "--"`,
	} {
		if err := newSample().Load([]string{arg}, nil); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", arg, err, want)
		}
	}
}

var longLine = strings.Repeat("x", lineBytesMax)

var badFiles = map[string]string{
	"range.conf":   "port 1\n\n# c\nhotkeys-top-k 1001\nport x\n",
	"over.conf":    "port x\nport 1\n",
	"unknown.conf": "requirepas hunter2\n",
	"quotes.conf":  "port 1\r\nrequirepass \"hunter2\r\n",
	"count.conf":   "port 1 2\n",
	"short.conf":   "loglevel\n",
	"many.conf":    "bind\n",
	"custom.conf":  "save 1\n",
	"secret.conf":  "requirepass hunter2 hunter3\n",
	"rule.conf":    "hotkeys-counters 15\nloglevel debug\nhotkeys-top-k 16\n",
	"long.conf":    "port 1\nlogfile " + longLine + "\n",
	"value.conf":   "logfile " + longLine[:valueBytesMax+1] + "\n",
	"loop.conf":    "port 1\ninclude loop2.conf\n",
	"loop2.conf":   "include ./loop.conf\n",
	"missing.conf": "include nowhere.conf\n",
	"two.conf":     "include a b\n",
	"glob.conf":    "include [x\n",
	"dir.conf":     "include .\n",
	"deep.conf":    "\ninclude bad.inc\n",
	"bad.inc":      "\n\nappendonly 1\n",
}

const sizeRange = "a size between 1048576 and 1099511627776 bytes, such as 64mb"

// DIR stands for the directory of the files.
var badCommandLines = []struct {
	args string
	want string
}{
	{"range.conf", `range.conf:4: hotkeys-top-k "1001": must be between 0 and 1000`},
	{"DIR/over.conf", `DIR/over.conf:1: port "x": must be between 0 and 65535`},
	{"unknown.conf", `unknown.conf:1: unknown directive "requirepas"`},
	{"quotes.conf", `quotes.conf:2: "requirepass": unbalanced quotes`},
	{"count.conf", `count.conf:1: port "1 2": takes exactly one value, which must be between 0 and 65535`},
	{"short.conf", `short.conf:1: loglevel: takes exactly one value, which must be one of debug, verbose, notice, warning`},
	{"many.conf", `many.conf:1: bind: takes a value`},
	{"custom.conf", `custom.conf:1: save "1": Invalid save parameters`},
	{"secret.conf", `secret.conf:1: requirepass (value not shown): takes exactly one value`},
	{"rule.conf", `rule.conf:3: hotkeys-top-k "16": hotkeys-counters must be 0 or at least hotkeys-top-k`},
	{"rule.conf --hotkeys-top-k 17", `--hotkeys-top-k "17": hotkeys-counters must be 0 or at least hotkeys-top-k`},
	{"long.conf", `long.conf:2: line is longer than 131072 bytes`},
	{"value.conf", `value.conf:1: logfile "` + longLine[:shownBytesMax] + `"…: argument must be at most 16384 bytes long`},
	{"loop.conf", `DIR/loop2.conf:1: include "./loop.conf": file includes itself`},
	{"missing.conf", `missing.conf:1: include "nowhere.conf": no such file or directory`},
	{"two.conf", `two.conf:1: include "a b": takes exactly one path`},
	{"glob.conf", `glob.conf:1: include "[x": syntax error in pattern`},
	{"dir.conf", `dir.conf:1: include ".": is a directory`},
	{"deep.conf", `DIR/bad.inc:3: appendonly "1": must be yes or no`},
	{"nowhere.conf", `nowhere.conf: no such file or directory`},
	{"-", `<stdin>:2: proto-max-bulk-len "1q": must be ` + sizeRange},
	{"--port x", `--port "x": must be between 0 and 65535`},
	{"--port", `--port: takes exactly one value, which must be between 0 and 65535`},
	{"--port --loglevel debug", `--port: takes exactly one value, which must be between 0 and 65535`},
	{"--port 1 2", `--port "1 2": takes exactly one value, which must be between 0 and 65535`},
	{"--proto-max-bulk-len=1", `--proto-max-bulk-len "1": must be ` + sizeRange},
	{"--appendonly=1", `--appendonly "1": must be yes or no`},
	{"--bind", `--bind: takes a value`},
	{"--nosuch 1", `unknown option "--nosuch"`},
	{"--", `unknown option "--"`},
	{"--=x", `unknown option "--"`},
	{"---port 1", `unknown option "---port"`},
	{"-p 1", `unknown option "-p"`},
	{"rule.conf x", `unexpected argument "x"`},
	{"_", `the path of the configuration file is empty`},
}

func TestLoadErrors(t *testing.T) {
	dir := writeFiles(t, badFiles)
	for _, c := range badCommandLines {
		s := newSample()
		before := values(s.Registry)
		want := strings.ReplaceAll(c.want, "DIR", dir)
		args := commandLine(strings.ReplaceAll(c.args, "DIR", dir))
		err := s.Load(args, strings.NewReader("port 3\nproto-max-bulk-len 1q"))
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", c.args, err, want)
		}
		for name, value := range values(s.Registry) {
			if value != before[name] {
				t.Errorf("%s failed and yet set %s to %q", c.args, name, value)
			}
		}
	}
}

func TestHelpAndVersion(t *testing.T) {
	for args, want := range map[string]error{
		"-h":                           ErrHelp,
		"--help":                       ErrHelp,
		"nowhere.conf --port x --Help": ErrHelp,
		"-v":                           ErrVersion,
		"--version":                    ErrVersion,
		"--port 1 --version":           ErrVersion,
	} {
		if err := newSample().Load(strings.Fields(args), nil); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", args, err, want)
		}
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("input broke") }

func TestReadingIsBounded(t *testing.T) {
	writeFiles(t, map[string]string{
		"wide.conf": strings.Repeat("include one.inc\n", readFilesMax),
		"one.inc":   "",
		"deep.conf": "include d*.inc\n",
		"big.conf":  strings.Repeat("\n", readBytesMax+1),
	})
	for i := range includeDepthMax + 1 {
		name := "d" + string(rune('a'+i)) + ".inc"
		next := "include d" + string(rune('b'+i)) + ".inc\n"
		if err := os.WriteFile(name, []byte(next), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{
		"wide.conf": "more than 1024 files included",
		"deep.conf": "files include each other more than 16 deep",
		"big.conf":  "configuration is longer than 16777216 bytes",
	} {
		if err := newSample().Load([]string{file}, nil); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %.200v, want %s", file, err, want)
		}
	}
	if err := newSample().Load([]string{"-"}, failingReader{}); err == nil || err.Error() != "<stdin>: input broke" {
		t.Errorf("failing stdin: %v", err)
	}
}

func TestUsage(t *testing.T) {
	s := newSample()
	if err := s.Load([]string{"--requirepass", "hunter2"}, nil); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	s.Usage(&b)
	var names []string
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "  --") {
			names = append(names, line)
		}
		if len(line) > usageWidth+1 {
			t.Errorf("a line of %d bytes: %s", len(line), line)
		}
	}
	if want := len(s.params); len(names) != want {
		t.Errorf("%d parameters, want %d:\n%s", len(names), want, b.String())
	}
	if !slices.IsSorted(names) {
		t.Errorf("not sorted:\n%s", b.String())
	}
	if strings.Contains(b.String(), "9223372036854775807") {
		t.Errorf("a range without an end has one:\n%s", b.String())
	}
	fold := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{
		"--hotkeys-top-k int number of hot keys reported; 0: off (default 0; between 0 and 1000)",
		"--port int TCP port (default 6379; between 0 and 65535; only at start)",
		"--appendonly yes|no log writes (default no)",
		"--loglevel debug|verbose|notice|warning (default notice)",
		"--proto-max-bulk-len size (default 512mb; ",
		"--bind words (default * -::*)",
	} {
		if !strings.Contains(fold, want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(fold, "hunter2") {
		t.Errorf("shows what it must not:\n%s", b.String())
	}
}
