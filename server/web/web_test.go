package web

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// client asks without keeping connections, so that nothing is left of it.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}

// get asks for a path; change may change the request.
func get(t testing.TB, address, path string, change func(r *http.Request)) (status int, body string, header http.Header) {
	t.Helper()
	r, err := http.NewRequest("GET", "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(b), response.Header
}

func sample(keys int) *fake {
	return &fake{snap: sampleSnapshot(keys, rand.New(rand.NewPCG(1, 2))), labels: true}
}

// TestHeaders: every answer, also one that refuses, keeps a browser from doing more with it than it is for.
func TestHeaders(t *testing.T) {
	f := sample(3)
	_, address := f.serve(t)
	for _, path := range []string{"/", "/page.css", "/page.js", "/icon.svg", "/api/hotkeys", "/metrics", "/healthz", "/nowhere", "/page/page.js", "/api/hotkeys?count=0"} {
		_, _, h := get(t, address, path, nil)
		for name, want := range map[string]string{
			"Content-Security-Policy": contentPolicy, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin", "Access-Control-Allow-Origin": "",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
	}
}

func TestPaths(t *testing.T) {
	f := sample(3)
	_, address := f.serve(t)
	for path, want := range map[string]struct {
		status int
		kind   string
	}{
		"/":                      {200, "text/html; charset=utf-8"},
		"/page.css":              {200, "text/css; charset=utf-8"},
		"/page.js":               {200, "text/javascript; charset=utf-8"},
		"/icon.svg":              {200, "image/svg+xml"},
		"/healthz":               {200, "text/plain; charset=utf-8"},
		"/api/hotkeys":           {200, "application/json"},
		"/api/hotkeys?count=2":   {200, "application/json"},
		"/api/hotkeys?type=READ": {200, "application/json"},
		"/api/hotkeys?count=0":   {400, "application/json"},
		"/api/hotkeys?count=1x":  {400, "application/json"},
		"/api/hotkeys?type=some": {400, "application/json"},
		"/api/hotkeys?db=1":      {400, "application/json"},
		"/api/hotkeys?count=%zz": {400, "application/json"},
		"/api/hotkeys?count=1;a": {400, "application/json"},
		"/index.html":            {404, "text/plain; charset=utf-8"},
		"/../web.go":             {404, "text/plain; charset=utf-8"},
		"/favicon.ico":           {404, "text/plain; charset=utf-8"},
	} {
		status, _, h := get(t, address, path, nil)
		if status != want.status || h.Get("Content-Type") != want.kind {
			t.Errorf("%s: %d %q, want %d %q", path, status, h.Get("Content-Type"), want.status, want.kind)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "CONNECT"} {
		if status, _, _ := get(t, address, "/api/hotkeys", func(r *http.Request) { r.Method = method }); status != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, status)
		}
	}
	_, _, h := get(t, address, "/page.js", nil)
	if status, _, _ := get(t, address, "/page.js", func(r *http.Request) { r.Header.Set("If-None-Match", h.Get("ETag")) }); status != http.StatusNotModified {
		t.Errorf("an unchanged file is sent again: %d", status)
	}
}

// TestNoBodies: a body is neither read nor waited for.
func TestNoBodies(t *testing.T) {
	_, address := sample(3).serve(t)
	for _, request := range []string{"Content-Length: 9\r\n\r\n", "Content-Length: 99999999\r\n\r\nsome", "Transfer-Encoding: chunked\r\n\r\n5\r\n"} {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n"+request); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusRequestEntityTooLarge || !response.Close {
			t.Errorf("%q: %v, closed %v", request, response.Status, response.Close)
		}
	}
}

// TestEveryFileIsServed: the page consists of the files that are there.
func TestEveryFileIsServed(t *testing.T) {
	files, err := os.ReadDir("page")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(pageNames)+1 {
		t.Errorf("%d files, and %d are served", len(files), len(pageNames)+1)
	}
}

// TestNoMarkupFromStrings: the scripts of the page do not even contain the ways of making markup, or code, of a string.
func TestNoMarkupFromStrings(t *testing.T) {
	for _, name := range pageNames {
		content, err := pages.ReadFile("page/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, way := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "srcdoc", "DOMParser", "createContextualFragment", "setHTML"} {
			if strings.Contains(string(content), way) {
				t.Errorf("%s has %s", name, way)
			}
		}
	}
}

// TestVerdicts: who is let in, and what the others read.
func TestVerdicts(t *testing.T) {
	f := sample(3)
	_, address := f.serve(t)
	for verdict, want := range map[Verdict]int{
		Admitted: 200, Open: 200, Unknown: 401, Forbidden: 403, Protected: 403, Busy: 503,
	} {
		f.set(func(f *fake) { f.verdict = func(Login) Verdict { return verdict } })
		for _, path := range []string{"/", "/page.js", "/api/hotkeys", "/metrics"} {
			status, body, h := get(t, address, path, nil)
			if status != want || (status == 401) != (h.Get("WWW-Authenticate") != "") {
				t.Errorf("verdict %d, %s: %d %q", verdict, path, status, h.Get("WWW-Authenticate"))
			}
			if status != 200 && strings.Contains(body, "user:") {
				t.Errorf("verdict %d, %s tells of keys", verdict, path)
			}
		}
		if status, _, _ := get(t, address, "/healthz", nil); (status == 200) != (verdict != Busy) {
			t.Errorf("verdict %d: /healthz says %d", verdict, status)
		}
	}
}

func TestLogin(t *testing.T) {
	f := sample(3)
	var got Login
	f.verdict = func(l Login) Verdict { got = l; return Admitted }
	_, address := f.serve(t)
	local := netip.MustParseAddr("127.0.0.1")
	for _, test := range []struct {
		header string
		want   Login
	}{
		{"", Login{Remote: local}},
		{"Basic dXNlcjpwYTpzcw==", Login{local, true, "user", "pa:ss"}},
		{"Basic OnBhc3M=", Login{local, true, "", "pass"}},
		{"Basic not base64", Login{Remote: local}},
		{"Bearer dXNlcjpwYTpzcw==", Login{Remote: local}},
	} {
		get(t, address, "/", func(r *http.Request) {
			if test.header != "" {
				r.Header.Set("Authorization", test.header)
			}
		})
		if got != test.want {
			t.Errorf("%q: %+v, want %+v", test.header, got, test.want)
		}
	}
}

// TestHosts: a page of the Web that gives its own name another meaning does not get to read anything.
func TestHosts(t *testing.T) {
	f := sample(3)
	f.hosts = []string{"cache.example"}
	_, address := f.serve(t)
	_, port, _ := net.SplitHostPort(address)
	own, _ := os.Hostname()
	for host, want := range map[string]int{
		address: 200, "localhost:" + port: 200, "LOCALHOST": 200, "[::1]:" + port: 200, "10.1.2.3": 200, "a.localhost": 200,
		"cache.example": 200, "CACHE.example:80": 200, "cache.example.": 200, own: 200,
		"evil.example": 421, "evil.example:" + port: 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421, "notlocalhost": 421,
		"cache.example.evil.example": 421, "a.cache.example": 421,
	} {
		if status, _, _ := get(t, address, "/api/hotkeys", func(r *http.Request) { r.Host = host }); status != want {
			t.Errorf("Host %q: %d, want %d", host, status, want)
		}
	}
	f.set(func(f *fake) { f.verdict = func(Login) Verdict { return Admitted } })
	if status, _, _ := get(t, address, "/", func(r *http.Request) { r.Host = "evil.example" }); status != 200 {
		t.Errorf("with a password: %d", status)
	}
}

// TestOneSnapshotForAll: however many ask, snapshots are taken at most twice a second, and none when nobody asks.
func TestOneSnapshotForAll(t *testing.T) {
	var mu sync.Mutex
	now, taken := time.Unix(1000, 0), 0
	r := recent{
		take: func(bool) (*Snapshot, error) { taken++; return &Snapshot{Taken: now}, nil },
		now:  func() time.Time { mu.Lock(); defer mu.Unlock(); return now },
	}
	for range 4 {
		var asking sync.WaitGroup
		for range 20 {
			asking.Go(func() {
				if snap, err := r.get(true); snap == nil || err != nil {
					t.Errorf("%v %v", snap, err)
				}
			})
		}
		asking.Wait()
		mu.Lock()
		now = now.Add(takenEvery / 2)
		mu.Unlock()
	}
	if taken != 2 {
		t.Errorf("%d snapshots in 1.5 periods, want 2", taken)
	}
	r.drop()
	if r.latest != nil {
		t.Error("a snapshot is kept that nobody asks for")
	}
	if _, err := r.get(true); err != nil || taken != 3 {
		t.Errorf("after it was dropped: %v, %d taken", err, taken)
	}
}

// TestScrapesTakeLess: what only pages need is taken while somebody looks at one.
func TestScrapesTakeLess(t *testing.T) {
	now, asked := time.Unix(1000, 0), ""
	r := recent{
		take: func(all bool) (*Snapshot, error) {
			asked += map[bool]string{true: "all ", false: "less "}[all]
			return &Snapshot{}, nil
		},
		now: func() time.Time { return now },
	}
	for _, step := range []struct {
		after time.Duration
		all   bool
		want  string
	}{
		{0, false, "less "}, {0, false, ""}, {0, true, "all "}, {0, false, ""}, {0, true, ""},
		{takenEvery, false, "all "}, {0, true, ""}, {keptFor, false, "less "}, {takenEvery, true, "all "},
	} {
		now, asked = now.Add(step.after), ""
		if r.get(step.all); asked != step.want {
			t.Errorf("%+v: took %q", step, asked)
		}
	}
	r.forget.Stop()
}

// TestBusy: while the server cannot look at its data everybody is told so, at once.
func TestBusy(t *testing.T) {
	f := sample(3)
	f.err = ErrBusy
	_, address := f.serve(t)
	status, body, _ := get(t, address, "/api/hotkeys", nil)
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "SCRIPT KILL") {
		t.Errorf("%d %s", status, body)
	}
	if status, _, _ := get(t, address, "/metrics", nil); status != http.StatusServiceUnavailable {
		t.Errorf("/metrics without a snapshot: %d", status)
	}
}

// TestFault: a panic costs one request its answer, and nobody else anything.
func TestFault(t *testing.T) {
	f := sample(3)
	o := f.options()
	o.Snapshot = func(bool) (*Snapshot, error) { panic("of the test") }
	s := New(o)
	if _, err := s.snapshot(true); !errors.Is(err, errFault) {
		t.Errorf("%v", err)
	}
	if _, err := ask(s, func() (bool, error) { return true, nil }); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	s.Wait()
}

// TestServeElsewhere: addresses may change while requests come, and nothing is left at the end.
func TestServeElsewhere(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	f := sample(3)
	s := New(f.options())
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first, second, third := listen(), listen(), listen()
	s.Serve([]net.Listener{first, second})
	for _, l := range []net.Listener{first, second} {
		if status, _, _ := get(t, l.Addr().String(), "/", nil); status != 200 {
			t.Errorf("%v: %d", l.Addr(), status)
		}
	}
	idle, err := net.Dial("tcp", first.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	s.Serve([]net.Listener{third})
	if again, err := net.Listen("tcp", second.Addr().String()); err != nil {
		t.Errorf("an address that was given up is still taken: %v", err)
	} else {
		again.Close()
	}
	if status, _, _ := get(t, third.Addr().String(), "/", nil); status != 200 {
		t.Errorf("%d", status)
	}
	s.Serve(nil)
	s.Wait()
	if _, err := ask(s, func() (bool, error) { return true, nil }); err == nil {
		t.Error("something began after the end")
	}
}

// TestConnectionLimit: more connections than there may be wait until others have ended.
func TestConnectionLimit(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	bounded := &limited{l, newPlaces(1)}
	accepted := make(chan net.Conn)
	go func() {
		for {
			c, err := bounded.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	for range 2 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	first := <-accepted
	select {
	case <-accepted:
		t.Error("two connections at a time")
	default:
	}
	first.Close()
	first.Close()
	second := <-accepted
	second.Close()
	l.Close()
	if _, more := <-accepted; more {
		t.Error("a third connection")
	}
}

// TestIdleConnectionsMakeRoom: those who keep their connections between requests do not keep others out.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	_, address := sample(3).serve(t)
	for range connectionsMax + 10 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if response.StatusCode != 200 || response.Close {
			t.Errorf("%v, closed %v", response.Status, response.Close)
		}
	}
	if status, _, _ := get(t, address, "/healthz", nil); status != 200 {
		t.Errorf("who comes after them: %d", status)
	}
}

func TestAnswer(t *testing.T) {
	f := sample(40)
	_, address := f.serve(t)
	_, body, _ := get(t, address, "/api/hotkeys?count=25&type=all", nil)
	var a answer
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		t.Fatal(err)
	}
	if len(a.Keys) != 25 || len(a.History) != 46 || len(a.Keys[0].History) != 46 || a.Window == nil || len(a.Controller.States) != 3 {
		t.Fatalf("%d keys, %d windows, %d states", len(a.Keys), len(a.History), len(a.Controller.States))
	}
	for i, name := range hostileNames {
		k := a.Keys[9+i]
		if string(k.Bytes) != name || k.Key != displayed(name) || k.Length != len(name) {
			t.Errorf("%q: %+v", name, k.answerName)
		}
	}
	first := a.Keys[0]
	if first.State != "hot" || first.History[20] != nil || first.History[19] == nil || first.QPS != 24000 || first.Misses == nil {
		t.Errorf("%+v", first)
	}
	if a.History[20].Known || !a.History[19].Known {
		t.Error("a discarded window must be told from one that is known")
	}
	f.set(func(f *fake) {
		empty := Snapshot{Tracking: Tracking{On: true}}
		f.snap = &empty
	})
	_, address = f.serve(t)
	_, body, _ = get(t, address, "/api/hotkeys", nil)
	for _, want := range []string{`"window":null`, `"keys":[]`, `"history":[]`, `"states":[]`} {
		if !strings.Contains(body, want) {
			t.Errorf("a snapshot with nothing in it lacks %s: %s", want, body)
		}
	}
}

func BenchmarkScrape(b *testing.B) {
	for _, keys := range []int{0, 100, 1000} {
		b.Run(fmt.Sprint(keys), func(b *testing.B) {
			f := sample(keys)
			s := New(f.options())
			handler := s.metrics()
			for b.Loop() {
				handler.ServeHTTP(discard{http.Header{}}, &http.Request{Method: "GET", Header: http.Header{}})
			}
		})
	}
}

// discard is where a benchmark's answers go.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}
