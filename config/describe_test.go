package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// newKnown is a registry with parameters that nothing depends on.
func newKnown() *Registry {
	r := New()
	r.Int("threads", 1, 1, 8, Inert("one is enough"), Alias("old-threads"), Immutable())
	r.Bool("persist", false, Fixed("nothing is kept"))
	r.Memory("limit", 1<<20, 0, 1<<40, Fixed("there is none"))
	r.String("dir", "here", Guarded(), Inert("nothing is written"))
	r.Custom("pace", "10", func(v string) (string, error) { return v, nil }, Allowed("a pace"), Doc("how fast"))
	r.Int("port", 1, 0, 9, Pinned())
	r.Directive("module", func([]string) error { return errors.New("no modules") })
	r.Directive("old_words", func(args []string) error {
		if len(args) != 1 {
			return errors.New("takes exactly one value")
		}
		return nil
	})
	return r
}

func TestDescribe(t *testing.T) {
	want := []Description{
		{Name: "threads", Aliases: []string{"old-threads"}, Type: "int", Allowed: "between 1 and 8", Default: "1", AtStart: true, Inert: "one is enough"},
		{Name: "persist", Type: "yes|no", Allowed: "yes or no", Default: "no", Fixed: "nothing is kept"},
		{Name: "limit", Type: "size", Allowed: "a size between 0 and 1099511627776 bytes, such as 64mb", Default: "1mb", Fixed: "there is none"},
		{Name: "dir", Type: "text", Default: "here", Guarded: true, Inert: "nothing is written"},
		{Name: "pace", Type: "value", Allowed: "a pace", Default: "10", Doc: "how fast"},
		{Name: "port", Type: "int", Allowed: "between 0 and 9", Default: "1", AtStart: true},
	}
	if got := newKnown().Describe(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestIneffective(t *testing.T) {
	r := newKnown()
	if err := r.Load(strings.Fields("--old-threads 4 --pace 3"), nil); err != nil {
		t.Fatal(err)
	}
	if got := r.Ineffective(); !slices.Equal(got, []string{"threads"}) {
		t.Errorf("without effect: %q", got)
	}
	for name, want := range map[string]string{"OLD-threads": "one is enough", "pace": "", "nosuch": ""} {
		if got := r.WhyInert(name); got != want {
			t.Errorf("WhyInert(%s) = %q, want %q", name, got, want)
		}
	}
}

func TestFixed(t *testing.T) {
	r := newKnown()
	for _, good := range [][2]string{{"persist", "NO"}, {"limit", "1024kb"}} {
		if err := r.Set(good); err != nil {
			t.Errorf("SET %q: %v", good, err)
		}
	}
	for _, bad := range []struct{ name, value, want string }{
		{"persist", "yes", `nothing is kept: only "no" is accepted`},
		{"persist", "maybe", "argument must be 'yes' or 'no'"},
		{"limit", "2mb", `there is none: only "1mb" is accepted`},
	} {
		want := "CONFIG SET failed (possibly related to argument '" + bad.name + "') - " + bad.want
		if err := r.Set([2]string{bad.name, bad.value}); err == nil || err.Error() != want {
			t.Errorf("SET %s %s: %v, want %s", bad.name, bad.value, err, want)
		}
	}
	if err := newKnown().Load([]string{"--limit", "0"}, nil); err == nil || err.Error() != `--limit "0": there is none: only "1mb" is accepted` {
		t.Errorf("at start: %v", err)
	}
}

func TestGuarded(t *testing.T) {
	r := newKnown()
	err := r.Set([2]string{"pace", "5"}, [2]string{"dir", "there"})
	if err == nil || !strings.HasSuffix(err.Error(), "'dir') - can't set protected config") {
		t.Errorf("Set: %v", err)
	}
	if got := r.Get("pace", "dir"); got[0][1] != "here" || got[1][1] != "10" {
		t.Errorf("the refusal left %v", got)
	}
	if err := r.SetGuarded([2]string{"dir", "there"}); err != nil {
		t.Errorf("SetGuarded: %v", err)
	}
	if err := r.SetGuarded([2]string{"threads", "2"}); err == nil {
		t.Error("SetGuarded changed what is immutable")
	}
}

func TestDirective(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kv.conf")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []struct{ text, want string }{
		{"pace 1\nModule /x.so secret\n", ":2: module: no modules"},
		{"old_words\n", ":1: old_words: takes exactly one value"},
		{"nosuch 1\n", `:1: unknown directive "nosuch"`},
	} {
		write(bad.text)
		if err := newKnown().Load([]string{path}, nil); err == nil || err.Error() != path+bad.want {
			t.Errorf("%q: %v, want …%s", bad.text, err, bad.want)
		}
	}
	if err := newKnown().Load([]string{"--module", "x"}, nil); err == nil || err.Error() != "--module: no modules" {
		t.Errorf("as a flag: %v", err)
	}
	write("OLD_words 5\npace 1\n")
	r := newKnown()
	if err := r.Load([]string{path, "--old_words", "7", "--pace", "2"}, nil); err != nil {
		t.Fatal(err)
	}
	if err := r.Rewrite(); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(path); string(text) != "OLD_words 5\npace 2\n" {
		t.Errorf("Rewrite left %q", text)
	}
	if got := r.Get("*"); len(got) != 7 {
		t.Errorf("CONFIG GET * shows %v", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a directive was registered under the name of a parameter")
		}
	}()
	r.Directive("pace", nil)
}

func TestUsageGroups(t *testing.T) {
	var b bytes.Buffer
	newKnown().Usage(&b)
	text := b.String()
	if strings.Contains(text, "--threads") || strings.Contains(text, "--limit") || strings.Contains(text, "door") || !strings.Contains(text, "--pace value") {
		t.Errorf("the first part is not about what has an effect:\n%s", text)
	}
	const want = "\nKnown, and refused with any value but the default:\n  limit persist\n\nAccepted, and without effect:\n  dir threads\n"
	if !strings.HasSuffix(text, want) {
		t.Errorf("ends otherwise than\n%s:\n%s", want, text)
	}
	b.Reset()
	var names []string
	for range 40 {
		names = append(names, "twelve-bytes")
	}
	listNames(&b, "", names)
	for line := range strings.Lines(b.String()) {
		if len(line) > 103 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	if got := strings.Count(b.String(), "twelve-bytes"); got != len(names) {
		t.Errorf("%d names of %d", got, len(names))
	}
}
