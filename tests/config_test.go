package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// writeConf writes a configuration file and returns its path.
func writeConf(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// configValue asks for one parameter.
func configValue(c *conn, name string) string {
	c.t.Helper()
	v := c.value("CONFIG", "GET", name)
	if len(v.elems) != 2 {
		c.t.Fatalf("CONFIG GET %s: %s", name, v)
	}
	return v.elems[1].text
}

func wantConfig(t testing.TB, c *conn, want map[string]string) {
	t.Helper()
	for name, w := range want {
		if got := configValue(c, name); got != w {
			t.Errorf("%s is %q, want %q", name, got, w)
		}
	}
}

func TestConfigFile(t *testing.T) {
	dir := t.TempDir()
	writeConf(t, dir, "included.conf", "hotkeys-window-seconds 7\nmaxclients 77\n")
	conf := writeConf(t, dir, "kv.conf", `# A comment.

timeout 11
TCP-KeepAlive   13
   hotkeys-top-k "16"   
hotkeys-sampling-percentage '50'
requirepass "a \"quoted\" \x41 word"
include `+filepath.Join(dir, "included.conf")+`
client-output-buffer-limit pubsub 1mb 1kb 60
client-output-buffer-limit normal 0 0 0
client-query-buffer-limit 2mb
maxclients 88
save ""
appendonly no
`)
	s := ownServer(t, conf)
	c := s.dial()
	c.ok("AUTH", `a "quoted" A word`)
	wantConfig(t, c, map[string]string{
		"timeout": "11", "tcp-keepalive": "13", "hotkeys-top-k": "16", "hotkeys-sampling-percentage": "50",
		"hotkeys-window-seconds": "7", "maxclients": "88", "client-query-buffer-limit": "2097152",
		"requirepass": `a "quoted" A word`, "save": "", "appendonly": "no",
	})
	if got := configValue(c, "client-output-buffer-limit"); !strings.Contains(got, "pubsub 1048576 1024 60") {
		t.Errorf("client-output-buffer-limit is %q", got)
	}
}

func TestFlagsOverFile(t *testing.T) {
	conf := writeConf(t, t.TempDir(), "kv.conf", "timeout 11\nmaxclients 99\n")
	s := ownServer(t, conf, "--timeout", "22", "--hotkeys-top-k=33", "--loglevel", "debug")
	wantConfig(t, s.dial(), map[string]string{"timeout": "22", "maxclients": "99", "hotkeys-top-k": "33", "loglevel": "debug"})
}

// runToEnd starts the server with arguments that make it stop by itself, and returns
// its exit code and what it printed.
func runToEnd(t *testing.T, stdin string, args ...string) (code int, out string) {
	t.Helper()
	if os.Getenv("KVSERVER_ADDR") != "" {
		t.Skip("needs the binary of the server, and KVSERVER_ADDR gives only an address")
	}
	bin, err := serverBinary()
	if err != nil {
		t.Fatal(err)
	}
	log := new(output)
	cmd := exec.Command(bin, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), log, log
	cmd.Stdin = strings.NewReader(stdin)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		cmd.Wait()
		close(done)
	}()
	if !poll(patience, func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	}) {
		cmd.Process.Kill()
		<-done
		t.Fatalf("%q did not stop the start:\n%s", args, log)
	}
	return cmd.ProcessState.ExitCode(), log.String()
}

func TestConfigFromStandardInput(t *testing.T) {
	bin, err := serverBinary()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, dir: t.TempDir(), log: new(output), done: make(chan struct{})}
	port := freePort(t)
	s.addr = "127.0.0.1:" + port
	s.stdin = "port " + port + "\nbind 127.0.0.1\ntimeout 17\nsave \"\"\n"
	s.launch(bin, []string{"-", "--maxclients", "55"})
	t.Cleanup(s.cleanup)
	eventually(t, "the server answers", func() bool { return s.ended() || s.answersTCP() })
	wantConfig(t, s.dial(), map[string]string{"timeout": "17", "maxclients": "55"})
}

// TestBadConfigStopsTheStart: one line that names file, line, directive, value
// and the allowed range, and exit code 1.
func TestBadConfigStopsTheStart(t *testing.T) {
	for _, bad := range []struct {
		text string
		line int
		want []string
	}{
		{"timeout 0\nhotkeys-top-k 1001\n", 2, []string{"hotkeys-top-k", "1001", "0", "1000"}},
		{"hotkeys-sampling-percentage 0\n", 1, []string{"hotkeys-sampling-percentage", "0", "1", "100"}},
		{"\n# x\n\nhotkeys-window-seconds abc\n", 4, []string{"hotkeys-window-seconds", "abc"}},
		{"nosuch-directive 5\n", 1, []string{"nosuch-directive"}},
		{"timeout\n", 1, []string{"timeout"}},
		{"timeout 1 2\n", 1, []string{"timeout"}},
		{"timeout -1\n", 1, []string{"timeout", "-1"}},
		{"timeout \"1\n", 1, []string{"timeout", "quotes"}},
		{"port 65536\n", 1, []string{"port", "65536", "65535"}},
		{"loglevel loud\n", 1, []string{"loglevel", "loud", "notice"}},
		{"protected-mode maybe\n", 1, []string{"protected-mode", "maybe", "yes"}},
		{"client-query-buffer-limit 1x\n", 1, []string{"client-query-buffer-limit", "1x"}},
		{"include nosuch-file.conf\n", 1, []string{"nosuch-file.conf"}},
		{"databases 0\n", 1, []string{"databases", "0"}},
		{"appendonly yes\n", 1, []string{"appendonly", "yes"}},
		{"save 60 1\n", 1, []string{"save"}},
		{"hotkeys-top-k 16\nhotkeys-counters 8\n", 0, []string{"hotkeys-counters", "8", "16"}},
		{"hotkeys-counters 8\nhotkeys-top-k 16\n", 2, []string{"hotkeys-top-k", "16", "hotkeys-counters must be"}},
		{"hotkeys-promote-qps 100\n", 1, []string{"hotkeys-promote-qps", "100", "hotkeys-demote-qps must be"}},
		{"hotkeys-promote-qps 100\nhotkeys-demote-qps 100\n", 0, []string{"100", "below hotkeys-promote-qps"}},
	} {
		t.Run(strings.TrimSpace(bad.text), func(t *testing.T) {
			dir := t.TempDir()
			conf := writeConf(t, dir, "bad.conf", bad.text)
			code, out := runToEnd(t, "", conf, "--port", freePort(t))
			checkRefusal(t, code, out, append(bad.want, "bad.conf"))
			if bad.line > 0 && !regexp.MustCompile(fmt.Sprintf(`bad\.conf(:| line |, line )%d\b`, bad.line)).MatchString(out) {
				t.Errorf("line %d is not named: %s", bad.line, out)
			}
		})
	}
	for _, args := range [][]string{
		{"--hotkeys-top-k", "1001"}, {"--hotkeys-top-k=-1"}, {"--nosuch-flag", "1"}, {"--timeout", "abc"}, {"nosuch.conf"},
		{"--hotkeys-window-seconds", "301"}, {"--loglevel", "loud"}, {"--port", "0"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			code, out := runToEnd(t, "", args...)
			checkRefusal(t, code, out, []string{strings.TrimLeft(strings.Split(args[0], "=")[0], "-")})
		})
	}
	t.Run("standard input", func(t *testing.T) {
		code, out := runToEnd(t, "timeout 1\ntimeout abc\n", "-")
		checkRefusal(t, code, out, []string{"timeout", "abc", "2"})
	})
}

// checkRefusal looks at how a start that was refused ended.
func checkRefusal(t *testing.T, code int, out string, want []string) {
	t.Helper()
	out = strings.TrimSuffix(out, "\n")
	if code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if strings.Contains(out, "\n") || out == "" {
		t.Errorf("not one line:\n%s", out)
	}
	for _, w := range want {
		if !strings.Contains(out, w) {
			t.Errorf("%q is not named: %s", w, out)
		}
	}
}

// TestPortInUse: the start fails with a line that says why.
func TestPortInUse(t *testing.T) {
	s := ownServer(t)
	_, port, _ := strings.Cut(s.addr, ":")
	code, out := runToEnd(t, "", "--port", port, "--bind", "127.0.0.1", "--save", "")
	if code != 1 || !strings.Contains(strings.ToLower(out), "address already in use") || !strings.Contains(out, port) {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// TestConfigSetIsAllOrNothing: one bad value among several changes nothing.
func TestConfigSetIsAllOrNothing(t *testing.T) {
	s := ownServer(t, "--timeout", "3", "--maxclients", "50")
	c := s.dial()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"timeout", "9", "maxclients", "0"}, "-ERR CONFIG SET failed (possibly related to argument 'maxclients') - argument must be between 1 and 4294967295 inclusive\r\n"},
		{[]string{"maxclients", "60", "timeout", "x"}, "-ERR CONFIG SET failed (possibly related to argument 'timeout') - argument couldn't be parsed into an integer\r\n"},
		{[]string{"timeout", "9", "nosuch", "1"}, "-ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'\r\n"},
		{[]string{"timeout", "9", "timeout", "8"}, "-ERR CONFIG SET failed (possibly related to argument 'timeout') - duplicate parameter\r\n"},
		{[]string{"timeout", "9", "databases", "3"}, "-ERR CONFIG SET failed (possibly related to argument 'databases') - can't set immutable config\r\n"},
	} {
		c.want(test.want, append([]string{"CONFIG", "SET"}, test.args...)...)
		wantConfig(t, c, map[string]string{"timeout": "3", "maxclients": "50"})
	}
	for _, args := range [][]string{
		{"timeout", "9", "save", "60 1"}, {"appendonly", "yes", "timeout", "9"}, {"timeout", "9", "loglevel", "loud"},
		{"timeout", "9", "hotkeys-top-k", "100", "hotkeys-counters", "50"},
	} {
		if got := c.do(append([]string{"CONFIG", "SET"}, args...)...); !strings.HasPrefix(got, "-ERR CONFIG SET failed (possibly related to argument '") {
			t.Errorf("CONFIG SET %q: %q", args, got)
		}
		wantConfig(t, c, map[string]string{"timeout": "3", "hotkeys-top-k": "0", "loglevel": configValue(c, "loglevel")})
	}
	c.ok("CONFIG", "SET", "timeout", "9", "maxclients", "60")
	wantConfig(t, c, map[string]string{"timeout": "9", "maxclients": "60"})
}

func TestConfigGetPatterns(t *testing.T) {
	c := ownServer(t).dial()
	all := c.value("CONFIG", "GET", "*")
	seen := map[string]bool{}
	for i := 0; i+1 < len(all.elems); i += 2 {
		if name := all.elems[i].text; seen[name] {
			t.Errorf("%s came twice", name)
		}
		seen[all.elems[i].text] = true
	}
	for _, name := range strings.Fields(`bind port unixsocket timeout tcp-keepalive maxclients protected-mode requirepass tls-port
		tls-cert-file tls-key-file tls-ca-cert-file tls-auth-clients databases save appendonly dir logfile loglevel
		proto-max-bulk-len client-query-buffer-limit client-output-buffer-limit enable-debug-command
		hotkeys-top-k hotkeys-sampling-percentage hotkeys-window-seconds hotkeys-counters`) {
		if !seen[name] {
			t.Errorf("CONFIG GET * lacks %s", name)
		}
	}
	some := c.value("CONFIG", "GET", "hotkeys-top*", "hotkeys-top-?", "tcp-keepaliv[aeiou]", "nosuch*")
	if len(some.elems) != 2*2 {
		t.Errorf("several patterns gave %s", some)
	}
	three := ownServer(t).dial()
	three.do("HELLO", "3")
	if v := three.value("CONFIG", "GET", "hotkeys-top-k"); v.kind != '%' || len(v.elems) != 2 {
		t.Errorf("in RESP3 CONFIG GET gave %s", v)
	}
}

// TestConfigRewrite keeps comments and order, changes what was changed, adds
// what is new, and replaces the file in one step.
func TestConfigRewrite(t *testing.T) {
	dir := t.TempDir()
	before := `# Above.
timeout 11

# Between: a comment with # signs and "quotes".
hotkeys-top-k 16
maxclients 99
# Below.
`
	conf := writeConf(t, dir, "kv.conf", before)
	s := ownServer(t, conf)
	c := s.dial()
	inode := fileID(t, conf)
	c.ok("CONFIG", "SET", "timeout", "22", "hotkeys-window-seconds", "5", "requirepass", `p"w \x`)
	c.ok("CONFIG", "REWRITE")
	text := readFile(t, conf)
	if fileID(t, conf) == inode {
		t.Error("the file was written in place, so a crash could leave half of it")
	}
	last := -1
	for _, line := range []string{"# Above.", "timeout 22", `# Between: a comment with # signs and "quotes".`, "hotkeys-top-k 16", "maxclients 99", "# Below."} {
		at := strings.Index(text, line+"\n")
		if at <= last {
			t.Errorf("%q is missing or out of order in:\n%s", line, text)
		}
		last = at
	}
	if !strings.Contains(text, "hotkeys-window-seconds 5\n") || strings.Contains(text, "timeout 11") {
		t.Errorf("the changes are not in:\n%s", text)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("CONFIG REWRITE left %d files behind", len(entries))
	}
	c.ok("CONFIG", "REWRITE")
	if again := readFile(t, conf); again != text {
		t.Errorf("a second CONFIG REWRITE changed\n%s\nto\n%s", text, again)
	}
	// What was written must be read back as it was meant.
	second := ownServer(t, conf).dial()
	second.ok("AUTH", `p"w \x`)
	wantConfig(t, second, map[string]string{"timeout": "22", "hotkeys-window-seconds": "5", "hotkeys-top-k": "16", "maxclients": "99"})
}

func TestConfigRewriteWithoutAFile(t *testing.T) {
	c := ownServer(t).dial()
	c.want("-ERR The server is running without a config file\r\n", "CONFIG", "REWRITE")
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func fileID(t testing.TB, path string) uint64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Ino
}
