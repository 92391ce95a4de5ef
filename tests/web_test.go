package tests

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"kvserver/tests/browser"
)

// webServer is a server whose pages are looked at.
type webServer struct {
	*server
	c    *conn
	http string // host:port
	args []string
}

func startWeb(t *testing.T, args ...string) *webServer {
	t.Helper()
	address := net.JoinHostPort("127.0.0.1", freePort(t))
	_, port, _ := net.SplitHostPort(address)
	args = append([]string{"--http-port", port, "--hotkeys-top-k", "16", "--hotkeys-sampling-percentage", "100"}, args...)
	s := ownServer(t, args...)
	return &webServer{server: s, c: s.dial(), http: address, args: args}
}

// get asks for a page; user is "name:password", or empty.
func (s *webServer) get(path, user string) (status int, body string) {
	s.t.Helper()
	r, err := http.NewRequest("GET", "http://"+s.http+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if name, password, given := strings.Cut(user, ":"); given {
		r.SetBasicAuth(name, password)
	}
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(b)
}

// hotAnswer is the part of /api/hotkeys that tests look at.
type hotAnswer struct {
	Tracking struct {
		Completed int64 `json:"windows_completed"`
		Discarded int64 `json:"windows_discarded"`
	}
	Keys []struct {
		Key   string
		Bytes []byte  `json:"key_base64"`
		Reads float64 `json:"read_qps"`
		QPS   float64
		State string
	}
}

func (s *webServer) answer() (a hotAnswer) {
	s.t.Helper()
	status, body := s.get("/api/hotkeys", "")
	if status != http.StatusOK {
		s.t.Fatalf("/api/hotkeys: %d %s", status, body)
	}
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		s.t.Fatal(err)
	}
	return a
}

// load reads a key over and over until the end of the test, or until stop is called.
func load(t *testing.T, addr, key string) (stop func()) {
	var over atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		defer c.Close()
		request := string(encode("GET", key))
		for !over.Load() {
			if _, err := io.WriteString(c, request); err != nil {
				return
			}
			if _, err := io.ReadFull(c, make([]byte, len("$-1\r\n"))); err != nil {
				return
			}
		}
	}()
	stop = func() { over.Store(true); <-done }
	t.Cleanup(stop)
	return stop
}

// TestWebPage: the page shows the hot key of a running load within two windows, goes on to show what is hot, and survives that
// the server is restarted.
func TestWebPage(t *testing.T) {
	b := browser.Open(t)
	s := startWeb(t)
	b.Go("http://" + s.http + "/")
	shows := `return document.querySelector("#rows .open")?.textContent === arguments[0] && document.getElementById("status-text").textContent === "Live"`
	b.Eventually(patience, "the page is there", `return document.getElementById("status").dataset.state === "live"`)

	const name = `<b>hot</b>`
	stop := load(t, s.addr, name)
	eventually(t, "the load runs", func() bool { return infoInt(s.c, "stats", "keyspace_misses") > 0 })
	before := s.answer().Tracking
	eventually(t, "two windows are over", func() bool {
		a := s.answer()
		shown := len(a.Keys) > 0 && a.Keys[0].Key == name
		if a.Tracking.Completed == before.Completed+2 && a.Tracking.Discarded == before.Discarded && !shown {
			t.Errorf("after two windows: %+v", a)
		}
		return a.Tracking.Completed >= before.Completed+2 && shown
	})
	b.Eventually(patience, "the hot key", shows, name)
	if text := b.Text("#rows"); !strings.Contains(text, name) || !strings.Contains(text, "no value") {
		t.Errorf("the list says %q", text)
	}

	stop()
	stop = load(t, s.addr, "another")
	b.Eventually(patience, "another hot key", shows, "another")

	stop()
	s.signal(15)
	s.waitExit()
	b.Eventually(patience, "the page says that the server is gone", `return document.getElementById("status-text").textContent.startsWith("Not reachable")`)
	again := s.again()
	load(t, again.addr, "after")
	b.Eventually(patience, "a hot key of the new server", shows, "after")
	if complaints := slices.DeleteFunc(b.Complaints(), func(c string) bool { return strings.Contains(c, "ERR_CONNECTION_REFUSED") }); len(complaints) > 0 {
		t.Errorf("the page complains: %q", complaints)
	}
}

// again starts the server anew, with the same arguments, on another port for clients.
func (s *webServer) again() *server {
	s.t.Helper()
	return ownServer(s.t, s.args...)
}

// TestWebUsers: with a password the pages are for those who may say HOTKEYS GET, in a browser too.
func TestWebUsers(t *testing.T) {
	s := startWeb(t)
	s.c.ok("CONFIG", "SET", "requirepass", "se:cret")
	s.c.ok("ACL", "SETUSER", "looker", "on", ">look", "+hotkeys|get")
	s.c.ok("ACL", "SETUSER", "reader", "on", ">read", "+@all", "-hotkeys", "~*")
	for user, want := range map[string]int{
		"": 401, "default:se:cret": 200, ":se:cret": 200, "default:wrong": 401, "looker:look": 200, "looker:read": 401, "reader:read": 403, "nobody:x": 401,
	} {
		for _, path := range []string{"/", "/page.js", "/api/hotkeys", "/metrics"} {
			if status, _ := s.get(path, user); status != want {
				t.Errorf("%s as %q: %d, want %d", path, user, status, want)
			}
		}
		if status, _ := s.get("/healthz", user); status != 200 {
			t.Errorf("/healthz as %q: %d", user, status)
		}
	}
	if log := s.c.do("ACL", "LOG"); !strings.Contains(log, "cmd=http") {
		t.Errorf("ACL LOG: %s", log)
	}
	b := browser.Open(t)
	b.Go("http://looker:look@" + s.http + "/")
	b.Eventually(patience, "the page is there", `return document.getElementById("status").dataset.state === "live"`)
}

// TestWebBusy: while a script is past its time the pages say so, and nothing waits for it.
func TestWebBusy(t *testing.T) {
	s := startWeb(t, "--busy-reply-threshold", "100")
	script := s.dial()
	script.send(string(encode("EVAL", "while true do end", "0")))
	eventually(t, "the server is busy", func() bool { return strings.HasPrefix(s.c.do("PING"), "-BUSY") })
	for path, want := range map[string]string{"/healthz": "busy", "/api/hotkeys": "SCRIPT KILL", "/": "SCRIPT KILL"} {
		if status, body := s.get(path, ""); status != http.StatusServiceUnavailable || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	s.c.ok("SCRIPT", "KILL")
	eventually(t, "the pages are back", func() bool {
		status, _ := s.get("/healthz", "")
		return status == http.StatusOK
	})
	s.answer()
}

// TestWebMetrics: Prometheus can read the metrics, and they tell what INFO tells.
func TestWebMetrics(t *testing.T) {
	s := startWeb(t, "--metrics-hotkeys", "yes", "--hotkeys-promote-qps", "1000000", "--hotkeys-demote-qps", "1")
	for range 20 {
		s.c.ok("SET", "k\xff", "v")
		s.c.do("GET", "k\xff")
	}
	s.c.ok("HOTKEYS", "PIN", "pinned")
	value := func(name string, labels ...string) (v float64, found bool) {
		t.Helper()
		status, body := s.get("/metrics", "")
		if status != http.StatusOK {
			t.Fatalf("/metrics: %d %s", status, body)
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range families[name].GetMetric() {
			var have []string
			for _, l := range m.Label {
				have = append(have, l.GetName()+"="+l.GetValue())
			}
			if slices.Equal(have, labels) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue(), true
			}
		}
		return 0, false
	}
	for _, want := range []struct {
		name   string
		labels []string
		value  float64
	}{
		{"kvserver_commands_total", []string{"command=set"}, 20},
		{"kvserver_commands_total", []string{"command=hotkeys|pin"}, 1},
		{"kvserver_keyspace_hits_total", nil, 20},
		{"kvserver_database_keys", []string{"db=0"}, 1},
		{"kvserver_hotkeys_state_keys", []string{"state=hot"}, 1},
		{"kvserver_hotkeys_sampling_ratio", nil, 1},
		{"kvserver_build_info", []string{"version=" + infoText(s.c, "kvserver_version")}, 1},
	} {
		if v, found := value(want.name, want.labels...); !found || v != want.value {
			t.Errorf("%s%q is %v, %v, want %v", want.name, want.labels, v, found, want.value)
		}
	}
	load(t, s.addr, "k\xff\xfe")
	eventually(t, "the hot key is a label", func() bool {
		v, found := value("kvserver_hotkey_accesses_per_second", "db=0", `key=k\xff\xfe`)
		return found && v > 0
	})
	s.c.ok("CONFIG", "SET", "metrics-hotkeys", "no")
	if _, body := s.get("/metrics", ""); strings.Contains(body, "kvserver_hotkey_") {
		t.Error("hot keys are labels though metrics-hotkeys is no")
	}
}

func infoText(c *conn, name string) string {
	text, _ := infoField(c, "server", name)
	return text
}

// TestWebProtocol: what is no HTTP, or too much of it, is refused, and costs others nothing.
func TestWebProtocol(t *testing.T) {
	s := startWeb(t)
	for what, request := range map[string]string{
		"RESP":         string(encode("SET", "k", "v")),
		"no host":      "GET / HTTP/1.1\r\n\r\n",
		"long headers": "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n",
		"long path":    "GET /" + strings.Repeat("x", 64<<10) + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"a body":       "POST /api/hotkeys HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n",
	} {
		c, err := net.Dial("tcp", s.http)
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(patience))
		io.WriteString(c, request)
		reply := make([]byte, len("HTTP/1.1 400"))
		if _, err := io.ReadFull(c, reply); err != nil || !strings.HasPrefix(string(reply), "HTTP/1.1 4") {
			t.Errorf("%s: %q, %v", what, reply, err)
		}
		c.Close()
	}
	s.answer()
	s.c.want("$-1\r\n", "GET", "k")
}
