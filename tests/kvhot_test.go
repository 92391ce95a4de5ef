package tests

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// kvhotBinary returns the path of kvhot, building it at the first call.
var kvhotBinary = sync.OnceValues(func() (string, error) { return build("kvhot") })

// kvhotCommand is a command of kvhot, without a password in its environment.
func kvhotCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	bin, err := kvhotBinary()
	if err != nil {
		t.Fatalf("building kvhot: %v", err)
	}
	cmd := exec.Command(bin, args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "REDISCLI_AUTH=") })
	return cmd
}

// runKvhot runs a command to its end and returns its status and what it wrote.
func runKvhot(t *testing.T, cmd *exec.Cmd) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// kvhotView is a line of kvhot top --json.
type kvhotView struct {
	Nodes []struct {
		Tracking *bool
		Share    float64
	}
	Keys []kvhotKey
}

type kvhotKey struct {
	Key, Type      string
	QPS            float64
	Low            *float64 `json:"qps_low"`
	Reads          *float64 `json:"read_qps"`
	Out            *float64 `json:"out_bytes"`
	Share, Certain *float64
}

// hotKey is a name that is no text.
const hotKey = "hot\x00\xff\x1b[31m key"

// kvhotShows reads a key until what kvhot says of the window that it was read in has all the texts.
func kvhotShows(t *testing.T, c *conn, args []string, texts ...string) string {
	t.Helper()
	var status int
	var out, errs string
	missing := func(text string) bool { return !strings.Contains(out, text) }
	if !poll(patience, func() bool {
		c.pipeline(times(200, "GET other"))
		for range 1000 {
			c.do("GET", hotKey)
		}
		status, out, errs = runKvhot(t, kvhotCommand(t, args...))
		return status == 0 && !slices.ContainsFunc(texts, missing)
	}) {
		t.Fatalf("kvhot %q: status %d, no %q in\n%s%s", args, status, texts, out, errs)
	}
	return out
}

// TestKvhot looks at a server with all that it tells of a key, in every form.
func TestKvhot(t *testing.T) {
	s := startServer(t, "--hotkeys-top-k", "16", "--hotkeys-sampling-percentage", "100")
	c := s.dial()
	c.ok("SET", hotKey, strings.Repeat("v", 100))
	for _, protocol := range []string{"-2", "-3"} {
		line := kvhotShows(t, c, []string{"top", "--once", "--json", protocol, "-a", s.addr}, `"key":"hot\\x00\\xff`, `"key":"other"`)
		var view kvhotView
		if err := json.Unmarshal([]byte(line), &view); err != nil {
			t.Fatal(err)
		}
		if len(view.Nodes) != 1 || view.Nodes[0].Tracking == nil || !*view.Nodes[0].Tracking || view.Nodes[0].Share != 1 {
			t.Errorf("nodes %+v", view.Nodes)
		}
		i := slices.IndexFunc(view.Keys, func(k kvhotKey) bool { return strings.HasPrefix(k.Key, "hot") })
		k := view.Keys[i]
		if k.Low == nil || k.Reads == nil || *k.Reads == 0 || *k.Reads > k.QPS || k.Out == nil || *k.Out < 100**k.Reads || k.Share == nil || k.Certain == nil || *k.Certain != 1 || k.Type != "string" {
			t.Errorf("RESP%s: %s", protocol, line)
		}
	}
	kvhotShows(t, c, []string{"top", "--once", "-a", s.addr, "-a", s.addr}, `hot\x00\xff\x1b[31m key`, "string", "50%", "1.00")
	kvhotShows(t, c, []string{"top", "--once", "--csv", "--type", "read", "-a", s.addr}, `,hot\x00\xff\x1b[31m key,0,`)
	kvhotShows(t, c, []string{"history", "-a", s.addr}, `1 hot\x00\xff\x1b[31m key  db 0  peak `, "┤")
	kvhotShows(t, c, []string{"history", "--quoted-input", `hot\x00\xff\x1b[31m key`, "--csv", "-a", s.addr}, `,true,`, `,1,hot\x00\xff\x1b[31m key,0,`)
	file := filepath.Join(t.TempDir(), "plot.png")
	kvhotShows(t, c, []string{"history", "--png", file, "-a", s.addr})
	if picture, err := os.ReadFile(file); err != nil || !bytes.HasPrefix(picture, []byte("\x89PNG")) {
		t.Errorf("%d bytes of a picture, %v", len(picture), err)
	}
	c.ok("CONFIG", "SET", "hotkeys-top-k", "0")
	if status, out, errs := runKvhot(t, kvhotCommand(t, "top", "--once", "-a", s.addr)); status != 0 || !strings.Contains(out, "tracking is off") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
}

// TestKvhotWatch sees what the controller of a server does, also in the time between two connections.
func TestKvhotWatch(t *testing.T) {
	s := startServer(t, "--hotkeys-top-k", "16", "--hotkeys-promote-qps", "1000000", "--hotkeys-demote-qps", "1")
	c := s.dial()
	c.ok("HOTKEYS", "PIN", "pinned before")
	cmd := kvhotCommand(t, "watch", "--json", "-a", s.addr)
	shown := new(output)
	cmd.Stdout, cmd.Stderr = shown, shown
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
	})
	see := func(text string) {
		t.Helper()
		if !poll(patience, func() bool { return strings.Contains(shown.String(), text) }) {
			t.Fatalf("no %s in\n%s", text, shown.String())
		}
	}
	see(`"event":"hot","key":"pinned before","db":0,"demand":0,"current":true}`)
	c.ok("SELECT", "3")
	c.ok("HOTKEYS", "PIN", hotKey)
	see(`"event":"hot","key":"hot\\x00\\xff\\x1b[31m key","key_base64":"aG90AP8bWzMxbSBrZXk=","db":3,"demand":0}`)
	c.ok("HOTKEYS", "DEMOTE", hotKey)
	see(`"event":"normal","key":"hot\\x00\\xff\\x1b[31m key","key_base64":"aG90AP8bWzMxbSBrZXk=","db":3,"demand":0}`)
	c.want(":1\r\n", "CLIENT", "KILL", "TYPE", "pubsub")
	c.ok("HOTKEYS", "PIN", "pinned meanwhile")
	see("trying again")
	see(`"event":"hot","key":"pinned meanwhile","db":3,`)
	if status, out, _ := runKvhot(t, kvhotCommand(t, "watch", "--once", "-a", s.addr, "-n", "3")); status != 0 || strings.Count(out, "\n") != 1 || !strings.Contains(out, "pinned meanwhile  (found)") {
		t.Errorf("status %d: %s", status, out)
	}
	cmd.Process.Signal(syscall.SIGINT)
	select {
	case <-ended:
		if code := cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("interrupted, it ends with status %d", code)
		}
	case <-time.After(patience):
		t.Error("interrupted, it does not end")
	}
}

// TestKvhotConnects: passwords, users, TLS, client certificates and sockets are given as to redis-cli.
func TestKvhotConnects(t *testing.T) {
	a := newAuthority(t, "the authority")
	a.issue("client")
	s, addr := a.startTLS(t, "--tls-auth-clients", "yes", "--hotkeys-top-k", "3", "--unixsocket", "s")
	c := s.dial()
	c.ok("ACL", "SETUSER", "op", "on", ">secret", "-@all", "+hotkeys|get", "+info", "+client", "+hello", "+auth")
	c.ok("CONFIG", "SET", "requirepass", "main")
	tls := []string{"--cacert", a.path("ca.pem"), "--cert", a.path("client.pem"), "--key", a.path("client.key")}
	for _, test := range []struct {
		args     []string
		password string // in the environment
		fails    string
	}{
		{[]string{"-a", s.addr, "--pass", "main"}, "", ""},
		{[]string{"-a", s.addr}, "main", ""},
		{[]string{"-a", s.addr, "--user", "op"}, "secret", ""},
		{[]string{"-a", s.addr, "--user", "op", "--pass", "secret", "-2"}, "", ""},
		{[]string{"-s", s.socketPath(), "--pass", "main"}, "", ""},
		{[]string{"-u", "redis://op:secret@" + s.addr}, "", ""},
		{append([]string{"-a", addr, "--tls", "--pass", "main"}, tls...), "", ""},
		{append([]string{"-a", "rediss://op:secret@" + addr}, tls...), "", ""},
		{[]string{"-a", addr, "--tls", "--insecure", "--pass", "main"}, "", "certificate"},
		{append([]string{"-a", addr, "--tls", "--sni", "elsewhere", "--pass", "main"}, tls...), "", "certificate is not valid"},
		{[]string{"-a", addr, "--tls", "--pass", "main"}, "", "certificate signed by unknown authority"},
		{[]string{"-a", s.addr}, "", "NOAUTH"},
		{[]string{"-a", s.addr, "--pass", "wrong"}, "", "WRONGPASS"},
	} {
		cmd := kvhotCommand(t, append([]string{"top", "--once", "--json"}, test.args...)...)
		if test.password != "" {
			cmd.Env = append(cmd.Env, "REDISCLI_AUTH="+test.password)
		}
		status, out, errs := runKvhot(t, cmd)
		if (status == 0) != (test.fails == "") || !strings.Contains(errs, test.fails) || strings.Contains(out+errs, "secret") {
			t.Errorf("%q: status %d: %s%s", test.args, status, out, errs)
		}
	}
}
