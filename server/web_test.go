package server

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"kvserver/config"
	"kvserver/hotkeys"
	"kvserver/server/web"
)

// TestMayLook: who may look over HTTP is who may say HOTKEYS GET.
func TestMayLook(t *testing.T) {
	local, remote := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("192.0.2.7")
	s := newTestServer(t)
	c := newTestClient(t, s)
	want := func(what string, l web.Login, want web.Verdict) {
		t.Helper()
		if got := s.mayLook(l); got != want {
			t.Errorf("%s: verdict %d, want %d", what, got, want)
		}
	}
	as := func(user, password string) web.Login {
		return web.Login{Remote: local, Given: true, User: user, Password: password}
	}
	want("without a password", web.Login{Remote: local}, web.Open)
	want("with one that nobody asked for", as("", "any"), web.Open)
	want("of another machine", web.Login{Remote: remote}, web.Protected)
	do(c, "CONFIG", "SET", "protected-mode", "no")
	want("of another machine, unprotected", web.Login{Remote: remote}, web.Open)
	do(c, "CONFIG", "SET", "protected-mode", "yes")

	do(c, "CONFIG", "SET", "requirepass", "secret")
	want("nothing given", web.Login{Remote: local}, web.Unknown)
	want("a wrong password", as("default", "Secret"), web.Unknown)
	want("an empty password", as("", ""), web.Unknown)
	want("the password", as("", "secret"), web.Admitted)
	want("the password, by name", web.Login{Remote: remote, Given: true, User: "default", Password: "secret"}, web.Admitted)

	do(c, "ACL", "SETUSER", "looker", "on", ">look", "+hotkeys|get")
	do(c, "ACL", "SETUSER", "reader", "on", ">read", "+@all", "-hotkeys", "~*")
	do(c, "ACL", "SETUSER", "away", "off", ">away", "+@all")
	do(c, "ACL", "SETUSER", "guest", "on", "nopass", "+@all")
	do(c, "ACL", "LOG", "RESET")
	want("with that permission alone", as("looker", "look"), web.Admitted)
	want("without it", as("reader", "read"), web.Forbidden)
	want("a user that is off", as("away", "away"), web.Unknown)
	want("no such user", as("nobody", "x"), web.Unknown)
	want("a user without a password", as("guest", "x"), web.Open)
	log := do(c, "ACL", "LOG")
	for _, part := range []string{"hotkeys|get", "reader", "addr=127.0.0.1", "away", "nobody", "http", "cmd=http"} {
		if !strings.Contains(log, part) {
			t.Errorf("ACL LOG lacks %q: %s", part, log)
		}
	}
	if got := s.accounts.denied[deniedAuth].Load(); got != 4 {
		t.Errorf("%d refused logins are counted, want 4", got)
	}
}

// TestWebSnapshot: what the pages get is what the commands tell.
func TestWebSnapshot(t *testing.T) {
	h := newControlled(t)
	do(h.c, "SET", "hot", "value")
	do(h.c, "SELECT", "3")
	do(h.c, "HSET", "other", "f", "v")
	do(h.c, "SELECT", "0")
	for range 149 {
		do(h.c, "GET", "hot")
	}
	h.pass(time.Second)
	for range 40 {
		do(h.c, "GET", "absent")
	}
	h.pass(3 * time.Second) // discarded: it is too long
	long := strings.Repeat("n", 2*web.NameBytesMax)
	do(h.c, "GET", long)
	do(h.c, "HOTKEYS", "REPORT", "hot", "50")
	for range 120 {
		do(h.c, "GET", "hot")
		do(h.c, "SET", "hot", "value")
	}
	h.pass(time.Second)
	snap, err := h.webSnapshot(true)
	if err != nil {
		t.Fatal(err)
	}
	keys := snap.Keys[web.ByAccesses]
	if len(keys) != 2 || len(snap.Keys[web.ByWrites]) == 0 || snap.Window.Samples != 241 || snap.Window.Rate != 241 {
		t.Fatalf("%+v, %+v", keys, snap.Window)
	}
	hot := keys[0]
	if hot.Name != "hot" || hot.DB != 0 || hot.Type != "string" || hot.Rate != 240 || hot.Reads != 120 || hot.Writes != 120 || hot.Low != 240 || hot.High != 240 ||
		hot.Reported != 50 || !hot.Measured || hot.State != "warming" {
		t.Errorf("%+v", hot)
	}
	if k := keys[1]; k.Length != len(long) || k.Name != long[:web.NameBytesMax] || k.Type != "none" || len(k.Past) != 3 || !math.IsNaN(k.Past[0]) || k.Past[2] != 1 {
		t.Errorf("a long name: %+v", k)
	}
	if len(hot.Past) != 3 || hot.Past[0] != 150 || !math.IsNaN(hot.Past[1]) || hot.Past[2] != 240 {
		t.Errorf("the past of a key: %v", hot.Past)
	}
	if p := snap.History; len(p) != 3 || !p[0].Known || p[1].Known || !p[2].Known || p[0].Rate != 151 || p[0].Samples != 151 {
		t.Errorf("history: %+v", p)
	}
	c := snap.Control
	if !c.On || c.Metric != "qps" || c.Promote != 100 || c.Demote != 50 || c.Hold != 3*time.Second || len(c.States) != 1 || c.Warming != 1 {
		t.Fatalf("%+v", c)
	}
	if st := c.States[0]; st.Name != "hot" || st.State != "warming" || st.Demand != 290 || st.Evidence != 1 {
		t.Errorf("%+v", st)
	}
	if n := snap.Node; n.Clients != 2 || n.Hits == 0 || n.Misses != 41 || len(n.Databases) != 2 || n.Databases[1] != (web.Database{Index: 3, Keys: 1}) {
		t.Errorf("%+v", n)
	}
	for _, use := range snap.Commands {
		if use.Name == "get" && use.Calls != 310 {
			t.Errorf("%+v", use)
		}
	}
}

// TestWebChanges: where it listens changes with the parameters, or not at all.
func TestWebChanges(t *testing.T) {
	s := newTestServer(t)
	if err := s.openWeb(); err != nil {
		t.Fatal(err)
	}
	defer s.web.server.Wait()
	defer s.closeWeb()
	c := newTestClient(t, s)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	answers := func(port int) bool {
		r, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/healthz", port))
		if err == nil {
			r.Body.Close()
		}
		return err == nil && r.StatusCode == http.StatusOK
	}
	ports := freePorts(t, 3)
	first, second, taken := ports[0], ports[1], ports[2]
	other, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", taken))
	if err != nil {
		t.Skipf("somebody else has taken the port: %v", err)
	}
	defer other.Close()
	set := func(want string, pairs ...string) {
		t.Helper()
		if got := do(c, append([]string{"CONFIG", "SET"}, pairs...)...); !strings.HasPrefix(got, want) {
			t.Errorf("CONFIG SET %q: %q, want %q", pairs, got, want)
		}
	}
	set("+OK", "http-port", fmt.Sprint(first))
	if !answers(first) {
		t.Error("it is not served")
	}
	set("-ERR CONFIG SET failed (possibly related to argument 'http-port') - http-port: listen tcp4", "http-port", fmt.Sprint(taken))
	if !answers(first) {
		t.Error("after a change that failed it is not served where it was")
	}
	set("+OK", "http-bind", "127.0.0.1 -::1")
	set("+OK", "http-port", fmt.Sprint(second))
	if answers(first) || !answers(second) {
		t.Error("it is not served at the new port alone")
	}
	for _, bad := range []string{"localhost", "127.0.0.1:80", "1.2.3", "--1.2.3.4"} {
		set("-ERR CONFIG SET failed (possibly related to argument 'http-bind') - must be IP addresses", "http-bind", bad)
	}
	set("+OK", "http-bind", "*")
	if !answers(second) {
		t.Error("all addresses")
	}
	set("+OK", "http-port", "0")
	if answers(second) {
		t.Error("it is served at port 0")
	}
}

// freePorts are ports that nobody listens on.
func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// TestWebEnds: a server whose pages are being looked at, or for which somebody keeps a connection, ends and leaves nothing.
func TestWebEnds(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	port := freePorts(t, 1)[0]
	registry := config.New()
	params := RegisterParameters(registry)
	if err := registry.Load([]string{"--port", "0", "--unixsocket", t.TempDir() + "/s", "--hotkeys-top-k", "10", "--http-port", fmt.Sprint(port)}, nil); err != nil {
		t.Fatal(err)
	}
	s, err := New(params, NewLogger(io.Discard, params))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	conns := make([]net.Conn, 8)
	for i := range conns {
		if conns[i], err = net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			fmt.Fprintf(conns[i], "GET /api/hotkeys HTTP/1.1\r\nHost: localhost\r\n\r\n")
		}
	}
	if _, err := io.ReadFull(conns[1], make([]byte, len("HTTP/1.1 200"))); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	for _, conn := range conns {
		conn.Close()
	}
}

// BenchmarkWebSnapshot is how long everything stands still when somebody looks, which is twice a second at most.
func BenchmarkWebSnapshot(b *testing.B) {
	for _, run := range []struct {
		name string
		keys int
		all  bool
	}{{"page/16", 16, true}, {"page/1000", 1000, true}, {"scrape/16", 16, false}, {"scrape/1000", 1000, false}} {
		b.Run(run.name, func(b *testing.B) {
			keys := run.keys
			s := newTestServer(b, "--metrics-hotkeys", "yes", "--hotkeys-top-k", fmt.Sprint(keys), "--hotkeys-sampling-percentage", "100")
			now := int64(0)
			s.tracker = hotkeys.New(len(s.gate.slots), func() int64 { return now }, 1)
			s.tracker.OnWindow(s.windowEnded)
			if err := s.configureTracking(); err != nil {
				b.Fatal(err)
			}
			c := newTestClient(b, s)
			for range 60 {
				for i := range 2 * keys {
					do(c, "SET", fmt.Sprintf("user:%08d:profile", i), "v")
				}
				now += int64(time.Second)
				s.tracker.Rotate()
			}
			for b.Loop() {
				if _, err := s.webSnapshot(run.all); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
