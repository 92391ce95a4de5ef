package config

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const marker = "\n" + rewriteMarker + "\n"

var rewrites = []struct {
	what   string
	before string
	flags  string
	set    string // name=value|name=value
	after  string
}{
	{"nothing changed", "# c\n\n  PORT   7000 \nloglevel 'debug'", "", "", "# c\n\n  PORT   7000 \nloglevel 'debug'"},
	{"one value", "# c\nport 7000\nloglevel debug\n# d\nhotkeys-top-k 3\n", "", "loglevel=notice", "# c\nport 7000\nloglevel notice\n# d\nhotkeys-top-k 3\n"},
	{"same value written otherwise", "proto-max-bulk-len 2048kb\n", "", "proto-max-bulk-len=2mb|loglevel=debug", "proto-max-bulk-len 2048kb\n" + marker + "loglevel debug\n"},
	{"size", "maxmemory 1024\n", "", "maxmemory=3gb", "maxmemory 3gb\n"},
	{"odd size", "maxmemory 1024\n", "", "maxmemory=1000001", "maxmemory 1000001\n"},
	{"added below a marker", "port 1", "", "loglevel=debug|requirepass=a \"b\"\n", "port 1\n" + marker + "requirepass \"a \\\"b\\\"\\n\"\nloglevel debug\n"},
	{"marker is there", "port 1\n" + marker + "loglevel debug\n", "", "hotkeys-top-k=3", "port 1\n" + marker + "loglevel debug\nhotkeys-top-k 3\n"},
	{"flags are kept", "port 1\n", "--port 2 --loglevel debug", "", "port 2\n" + marker + "loglevel debug\n"},
	{"empty file", "", "", "loglevel=debug", strings.TrimPrefix(marker, "\n") + "loglevel debug\n"},
	{"duplicates, value kept", "port 1\nloglevel debug\nport 2\n", "", "", "loglevel debug\nport 2\n"},
	{"duplicates, value changed", "hotkeys-top-k 1\nport 2\nhotkeys-top-k 2 \n# e\n", "", "hotkeys-top-k=5", "port 2\nhotkeys-top-k 5\n# e\n"},
	{"alias", "slave-priority 3\n", "", "replica-priority=4", "replica-priority 4\n"},
	{"alias and name", "slave-priority 3\nreplica-priority 4\n", "", "", "replica-priority 4\n"},
	{"CRLF", "# c\r\nloglevel debug\r\nport 1\r\n", "", "loglevel=notice|hotkeys-top-k=2", "# c\r\nloglevel notice\r\nport 1\r\n" + strings.ReplaceAll(marker, "\n", "\r\n") + "hotkeys-top-k 2\r\n"},
	{"words", "bind ::1\n", "", "bind=127.0.0.1 ::1", "bind 127.0.0.1 ::1\n"},
	{"no words", "bind ::1\n", "", "bind=", "bind \"\"\n"},
	{"save fewer", "save 900 1\nport 1\nsave  300 10\n", "", "save=900 1", "save 900 1\nport 1\n"},
	{"save more", "save 900 1\nport 1\n", "", "save=900 1 300 10 60 5", "save 900 1\nsave 300 10\nsave 60 5\nport 1\n"},
	{"save others", "save 900 1\nport 1\nsave  300 10\n", "", "save=1 1 300 10", "save 1 1\nport 1\nsave  300 10\n"},
	{"save none", "save 900 1 300 10\nsave 1 1\n", "", "save=", "save \"\"\n"},
	{"save added", "port 1\n", "", "save=1 1 2 2", "port 1\n" + marker + "save 1 1\nsave 2 2\n"},
	{"save default not repeated", "port 1\n", "", "save=1 1|save=3600 1", "port 1\n"},
	{"limits", "client-output-buffer-limit pubsub 1 1 1\nport 1\nclient-output-buffer-limit normal  2 2 2\n", "",
		"client-output-buffer-limit=pubsub 3 3 3", "client-output-buffer-limit pubsub 3 3 3\nport 1\nclient-output-buffer-limit normal  2 2 2\n"},
	{"limits added", "port 1\n", "", "client-output-buffer-limit=pubsub 3 3 3", "port 1\n" + marker + "client-output-buffer-limit pubsub 3 3 3\n"},
	{"include kept, not copied", "include a.inc\nport 1\n", "", "", "include a.inc\nport 1\n"},
	{"value before an include that overrules it", "loglevel debug\ninclude a.inc\n", "", "loglevel=notice", "include a.inc\n" + marker + "loglevel notice\n"},
	{"value after an include", "include a.inc\nloglevel debug\n", "", "loglevel=notice", "include a.inc\nloglevel notice\n"},
	{"value of an include changed", "include a.inc\n", "", "hotkeys-top-k=8", "include a.inc\n" + marker + "hotkeys-top-k 8\n"},
	{"value of an include back to the default", "include a.inc\n", "", "hotkeys-top-k=0", "include a.inc\n" + marker + "hotkeys-top-k 0\n"},
	{"adding lines of an include", "include a.inc\nsave 5 5\n", "", "save=5 5", "include a.inc\n" + marker + "save \"\"\nsave 5 5\n"},
	{"adding lines of an include, none left", "include a.inc\nsave 5 5\n", "", "save=", "include a.inc\n" + marker + "save \"\"\n"},
	{"parts before and after an include", "client-output-buffer-limit normal 0 0 0\ninclude a.inc\nclient-output-buffer-limit pubsub 1 1 1\n", "",
		"client-output-buffer-limit=normal 0 0 0", "include a.inc\n" + marker +
			"client-output-buffer-limit normal 0 0 0\nclient-output-buffer-limit slave 256 64 60\nclient-output-buffer-limit pubsub 1 1 1\n"},
	{"parts of an include", "include a.inc\n", "", "client-output-buffer-limit=normal 0 0 0", "include a.inc\n" + marker +
		"client-output-buffer-limit normal 0 0 0\nclient-output-buffer-limit slave 256 64 60\nclient-output-buffer-limit pubsub 32 8 60\n"},
}

func TestRewrite(t *testing.T) {
	for _, c := range rewrites {
		t.Run(c.what, func(t *testing.T) {
			writeFiles(t, map[string]string{
				"kv.conf": c.before,
				"a.inc":   "loglevel warning\nhotkeys-top-k 7\nsave 4 4\nclient-output-buffer-limit normal 9 9 9\n",
			})
			s := newSample()
			if err := s.Load(append([]string{"kv.conf"}, strings.Fields(c.flags)...), nil); err != nil {
				t.Fatal(err)
			}
			for pair := range strings.SplitSeq(c.set, "|") {
				if name, value, ok := strings.Cut(pair, "="); ok {
					if err := s.Set([2]string{name, value}); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, pass := range []string{"first", "second"} { // the second has nothing left to do
				if err := s.Rewrite(); err != nil {
					t.Fatal(err)
				}
				if got, err := os.ReadFile("kv.conf"); err != nil || string(got) != c.after {
					t.Errorf("%s rewrite gives %q, %v\nwant %q", pass, got, err, c.after)
				}
			}
			again := newSample()
			if err := again.Load([]string{"kv.conf"}, nil); err != nil {
				t.Fatal(err)
			}
			sameValues(t, s.Registry, again.Registry)
		})
	}
}

func TestRewriteWithoutFile(t *testing.T) {
	s := newSample()
	if err := s.Rewrite(); !errors.Is(err, ErrNoFile) || err.Error() != "The server is running without a config file" {
		t.Errorf("never loaded: %v", err)
	}
	if err := s.Load([]string{"-"}, strings.NewReader("port 1")); err != nil {
		t.Fatal(err)
	}
	if err := s.Rewrite(); !errors.Is(err, ErrNoFile) {
		t.Errorf("from standard input: %v", err)
	}
}

func mustLoad(t *testing.T, s *sample, args ...string) {
	t.Helper()
	if err := s.Load(args, nil); err != nil {
		t.Fatal(err)
	}
}

func fileNames(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return strings.Join(names, " ")
}

func TestRewriteReplacesTheFile(t *testing.T) {
	dir := writeFiles(t, map[string]string{"real.conf": "port 1\n"})
	if err := os.Chmod("real.conf", 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.conf", "kv.conf"); err != nil {
		t.Fatal(err)
	}
	s := newSample()
	mustLoad(t, s, "kv.conf", "--port", "2")
	old, err := os.Open("real.conf")
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	t.Chdir("/") // as a server does that has a dir of its own
	if err := s.Rewrite(); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 100)
	if n, _ := old.Read(text); string(text[:n]) != "port 1\n" {
		t.Errorf("the old file was written into: %q", text[:n])
	}
	if got, err := os.ReadFile(filepath.Join(dir, "real.conf")); err != nil || string(got) != "port 2\n" {
		t.Errorf("new text %q, %v", got, err)
	}
	if info, err := os.Lstat(filepath.Join(dir, "real.conf")); err != nil || info.Mode() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if info, err := os.Lstat(filepath.Join(dir, "kv.conf")); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("the link became %v, %v", info.Mode(), err)
	}
	if got := fileNames(t, dir); got != "kv.conf real.conf" {
		t.Errorf("files left: %s", got)
	}
}

func TestRewriteOfMissingFileMakesIt(t *testing.T) {
	dir := writeFiles(t, map[string]string{"kv.conf": "port 1\n"})
	s := newSample()
	mustLoad(t, s, "kv.conf")
	if err := os.Remove("kv.conf"); err != nil {
		t.Fatal(err)
	}
	if err := s.Rewrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile("kv.conf"); err != nil || string(got) != rewriteMarker+"\nport 1\n" {
		t.Errorf("%q, %v", got, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "kv.conf")); err != nil || info.Mode() != newFileMode {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestFailedRewriteLeavesTheFile(t *testing.T) {
	dir := writeFiles(t, map[string]string{"kv.conf": "port 1\n"})
	s := newSample()
	mustLoad(t, s, "kv.conf", "--port", "2")
	const spoiled = "port 1\nport x\n"
	if err := os.WriteFile("kv.conf", []byte(spoiled), 0o600); err != nil {
		t.Fatal(err)
	}
	want := dir + `/kv.conf:2: port "x": must be between 0 and 65535`
	if err := s.Rewrite(); err == nil || err.Error() != want {
		t.Errorf("file spoiled meanwhile: %v, want %s", err, want)
	}
	if got, _ := os.ReadFile("kv.conf"); string(got) != spoiled {
		t.Errorf("file is now %q", got)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := s.Rewrite(); err == nil {
		t.Error("rewrite in a directory that is gone succeeded")
	}
}

func TestReplaceFileFailureLeavesNothing(t *testing.T) {
	dir := writeFiles(t, map[string]string{})
	target := filepath.Join(dir, "kv.conf")
	if err := os.Mkdir(target, 0o700); err != nil { // a rename over a directory fails, at the last moment
		t.Fatal(err)
	}
	if err := replaceFile(target, []byte("port 1\n"), 0o600); err == nil {
		t.Error("no error")
	}
	if got := fileNames(t, dir); got != "kv.conf" {
		t.Errorf("files left: %s", got)
	}
}

// randomValues returns a source of good values for each of some parameters, by name or alias.
func randomValues() map[string]*rapid.Generator[string] {
	text := rapid.OneOf(rapid.StringN(0, 20, 40), rapid.SampledFrom([]string{"", "\"", "\\", "a b", " ", "#", "\x00\xff\r\n"}))
	point := rapid.SampledFrom([]string{"900 1", "300 10", "60 1000"})
	return map[string]*rapid.Generator[string]{
		"hotkeys-top-k":  rapid.SampledFrom([]string{"0", "1", "1000"}),
		"slave-priority": rapid.SampledFrom([]string{"0", "100", "1000"}),
		"maxmemory":      rapid.SampledFrom([]string{"0", "1kb", "1024", "1001", "4gb", "3mb"}),
		"appendonly":     rapid.SampledFrom([]string{"yes", "no", "YES"}),
		"requirepass":    text,
		"loglevel":       rapid.SampledFrom([]string{"debug", "Notice", "warning"}),
		"bind":           rapid.SampledFrom([]string{"", "::1", "127.0.0.1 -::1", "\" '"}),
		"save":           rapid.Map(rapid.SliceOfN(point, 0, 3), func(s []string) string { return strings.Join(s, " ") }),
		"client-output-buffer-limit": rapid.Map(rapid.Permutation([]string{"normal", "replica", "pubsub"}), func(s []string) string {
			return s[0] + " 1 2 3 " + s[1] + " 0 0 0"
		}),
	}
}

// TestRewriteKeepsEveryValue loads random files, with an include and flags, changes values at random, and rewrites:
// loading the result must give every value, and a second rewrite must find nothing to do.
func TestRewriteKeepsEveryValue(t *testing.T) {
	writeFiles(t, nil)
	value := randomValues()
	names := slices.Sorted(maps.Keys(value)) // in one order, so that a seed draws the same again
	rapid.Check(t, func(t *rapid.T) {
		draw := func() (name, text string) {
			name = rapid.SampledFrom(names).Draw(t, "name")
			return name, value[name].Draw(t, "value")
		}
		lines := func(label string) string {
			var b strings.Builder
			for range rapid.IntRange(0, 6).Draw(t, label) {
				name, text := draw()
				b.WriteString(name + " " + quoteWord(text) + "\n")
			}
			return b.String()
		}
		write := func(file, text string) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("a.inc", lines("included"))
		write("kv.conf", lines("before")+"# c\ninclude a.inc\n"+lines("after"))
		args := []string{"kv.conf"}
		for range rapid.IntRange(0, 2).Draw(t, "flags") {
			name, text := draw()
			args = append(args, "--"+name+"="+text)
		}
		s := newSample()
		if err := s.Load(args, nil); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 4).Draw(t, "sets") {
			name, text := draw()
			if err := s.Set([2]string{name, text}); err != nil {
				t.Fatal(err)
			}
		}
		rewriteTwice(t, s)
	})
}

// rewriteTwice rewrites kv.conf for s, and again after it was loaded anew.
func rewriteTwice(t *rapid.T, s *sample) {
	if err := s.Rewrite(); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile("kv.conf")
	if err != nil {
		t.Fatal(err)
	}
	again := newSample()
	if err := again.Load([]string{"kv.conf"}, nil); err != nil {
		t.Fatalf("%v in %q", err, first)
	}
	sameValues(t, s.Registry, again.Registry)
	if err := again.Rewrite(); err != nil {
		t.Fatal(err)
	}
	if second, err := os.ReadFile("kv.conf"); err != nil || string(second) != string(first) {
		t.Fatalf("second rewrite made %q of %q, %v", second, first, err)
	}
	if !strings.Contains(string(first), "# c\ninclude a.inc\n") {
		t.Fatalf("comment or include lost: %q", first)
	}
}

// Lines of a state are replaced by those that describe it now. Those that still hold stay, and accept hears of them once.
func TestRewriteState(t *testing.T) {
	for _, c := range []struct {
		before  string
		current [][]string
		after   string // empty: an error
	}{
		{"user a on\n# c\nUSER  b 'x y'\n", [][]string{{"a", "on"}, {"b", "x y"}}, "user a on\n# c\nUSER  b 'x y'\n"},
		{"user a on\nport 1\nuser b on\n", [][]string{{"a", "off"}, {"b", "on"}}, "user a off\nport 1\nuser b on\n"},
		{"user a on\nport 1\nuser b on\n", [][]string{{"b", "on"}}, "port 1\nuser b on\n"},
		{"user a on\nport 1\n", nil, "port 1\n"},
		{"port 1\n", [][]string{{"a", "\"q"}, {"b"}}, "port 1\n" + marker + "user a \"\\\"q\"\nuser b\n"},
		{"include u.inc\nuser a on\n", [][]string{{"a", "off"}, {"i", "on"}}, "include u.inc\nuser a off\n"},
		{"include u.inc\nuser a on\n", [][]string{{"a", "on"}, {"i", "off"}}, ""},
		{"include u.inc\n", nil, ""},
	} {
		writeFiles(t, map[string]string{"kv.conf": c.before, "u.inc": "user i on\n"})
		s := newSample()
		heard := 0
		s.State("user", func([]string) error { heard++; return nil }, func() [][]string { return c.current })
		mustLoad(t, s, "kv.conf")
		want := heard
		err := s.Rewrite()
		got, _ := os.ReadFile("kv.conf")
		switch {
		case c.after == "" && (err == nil || string(got) != c.before):
			t.Errorf("%q: %q, %v; want an error", c.before, got, err)
		case c.after != "" && (err != nil || string(got) != c.after):
			t.Errorf("%q gives %q, %v\nwant %q", c.before, got, err, c.after)
		}
		if heard != want {
			t.Errorf("%q: a rewrite told of %d lines", c.before, heard-want)
		}
	}
}
