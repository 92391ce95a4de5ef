// Package browser lets tests look at pages with a headless Chromium. It speaks WebDriver, the W3C's protocol for that, with
// Debian's chromedriver, which is always of the same version as its chromium; a library that speaks Chromium's own protocol
// would have to follow that.
package browser

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"
)

// Required is the environment variable that makes tests fail instead of being skipped where there is no Chromium.
const Required = "BROWSER_REQUIRED"

const (
	startTimeout   = time.Minute
	requestTimeout = time.Minute
)

// Browser is a running Chromium with one page open.
type Browser struct {
	t       testing.TB
	session string // URL of the WebDriver session
	http    http.Client
}

// Open starts a Chromium that ends with the test. Where there is none the test is skipped, and says so.
func Open(t testing.TB) *Browser {
	t.Helper()
	driver, err := exec.LookPath("chromedriver")
	chromium, errChromium := exec.LookPath("chromium")
	if err != nil || errChromium != nil {
		const message = "NOT LOOKED AT in a browser: chromium and chromedriver are needed; Debian's packages are chromium and chromium-driver"
		if os.Getenv(Required) != "" {
			t.Fatal(message)
		}
		fmt.Fprintln(os.Stderr, t.Name()+": "+message)
		t.Skip(message)
	}
	b := &Browser{t: t, http: http.Client{Timeout: requestTimeout}}
	address := startDriver(t, driver)
	var created struct {
		SessionID string `json:"sessionId"`
	}
	b.call("POST", address+"/session", map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{
		"browserName":       "chrome",
		"goog:loggingPrefs": map[string]string{"browser": "ALL"},
		"goog:chromeOptions": map[string]any{"binary": chromium, "args": []string{
			"--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--user-data-dir=" + t.TempDir(),
		}},
	}}}, &created)
	b.session = address + "/session/" + created.SessionID
	t.Cleanup(func() {
		if err := b.try("DELETE", b.session, nil, nil); err != nil {
			t.Logf("end of the browser: %v", err)
		}
	})
	return b
}

// startDriver returns the address of a chromedriver on a port of its choice.
func startDriver(t testing.TB, path string) string {
	t.Helper()
	cmd := exec.Command(path, "--port=0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	found := make(chan string, 1)
	go func() {
		port := regexp.MustCompile(`started successfully on port (\d+)`)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if m := port.FindStringSubmatch(lines.Text()); m != nil {
				found <- m[1]
			}
		}
	}()
	select {
	case port := <-found:
		return "http://127.0.0.1:" + port
	case <-time.After(startTimeout):
		t.Fatal("chromedriver does not tell its port")
		return ""
	}
}

// Use lets a test, or a part of one, use the browser: failures are its own.
func (b *Browser) Use(t testing.TB) { b.t = t }

// call sends a request of WebDriver and decodes what it answers into into, unless that is nil.
func (b *Browser) call(method, url string, body, into any) {
	b.t.Helper()
	if err := b.try(method, url, body, into); err != nil {
		b.t.Fatal(err)
	}
}

func (b *Browser) try(method, url string, body, into any) error {
	var payload io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		payload = bytes.NewReader(encoded)
	}
	request, err := http.NewRequest(method, url, payload)
	if err != nil {
		return err
	}
	response, err := b.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer := struct {
		Value json.RawMessage `json:"value"`
	}{}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, url, answer.Value)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer.Value, into)
}

// Go opens a page and waits until it is loaded.
func (b *Browser) Go(url string) {
	b.t.Helper()
	b.call("POST", b.session+"/url", map[string]any{"url": url}, nil)
}

// Run runs a script in the page, the body of a function with the arguments given, and decodes what it returns into into,
// unless that is nil.
func (b *Browser) Run(into any, script string, args ...any) {
	b.t.Helper()
	if args == nil {
		args = []any{}
	}
	b.call("POST", b.session+"/execute/sync", map[string]any{"script": script, "args": args}, into)
}

// Text is what somebody reads who looks at the elements that match a selector of CSS.
func (b *Browser) Text(selector string) string {
	b.t.Helper()
	var text string
	b.Run(&text, `return [...document.querySelectorAll(arguments[0])].map(e => e.innerText).join("\n")`, selector)
	return text
}

// Eventually waits until a script, the body of a function, returns true.
func (b *Browser) Eventually(limit time.Duration, what, script string, args ...any) {
	b.t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		var holds bool
		if b.Run(&holds, "return !!(() => {"+script+"})()", args...); holds {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("the page does not get there in %v: %s\n%s", limit, what, b.Text("body"))
		}
	}
}

// Press types into what has the focus. Special keys are those of WebDriver, such as "\uE007" for Enter.
func (b *Browser) Press(keys ...string) {
	b.t.Helper()
	var actions []map[string]string
	for _, key := range keys {
		actions = append(actions, map[string]string{"type": "keyDown", "value": key}, map[string]string{"type": "keyUp", "value": key})
	}
	b.call("POST", b.session+"/actions", map[string]any{"actions": []any{
		map[string]any{"type": "key", "id": "keyboard", "actions": actions},
	}}, nil)
}

// Emulate makes the page as wide and high as a screen, in CSS pixels, with a colour scheme, light or dark.
func (b *Browser) Emulate(width, height int, scheme string) {
	b.t.Helper()
	b.devtools("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
	b.devtools("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}})
}

// devtools calls a method of Chromium's own protocol, for the little that WebDriver does not have.
func (b *Browser) devtools(method string, params map[string]any) {
	b.t.Helper()
	b.call("POST", b.session+"/goog/cdp/execute", map[string]any{"cmd": method, "params": params}, nil)
}

// Screenshot returns what is to be seen, as PNG.
func (b *Browser) Screenshot() []byte {
	b.t.Helper()
	var encoded string
	b.call("GET", b.session+"/screenshot", nil, &encoded)
	png, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		b.t.Fatal(err)
	}
	return png
}

// Accessible is a node of the tree that screen readers go by.
type Accessible struct {
	Role, Name string
}

// Accessibility returns the nodes of that tree that are not left out, in the order of the page.
func (b *Browser) Accessibility() []Accessible {
	b.t.Helper()
	type value struct {
		Value any `json:"value"`
	}
	var tree struct {
		Nodes []struct {
			Ignored    bool  `json:"ignored"`
			Role, Name value `json:",omitzero"`
		} `json:"nodes"`
	}
	b.call("POST", b.session+"/goog/cdp/execute", map[string]any{"cmd": "Accessibility.getFullAXTree", "params": map[string]any{}}, &tree)
	var list []Accessible
	for _, n := range tree.Nodes {
		if !n.Ignored {
			list = append(list, Accessible{fmt.Sprint(n.Role.Value), fmt.Sprint(n.Name.Value)})
		}
	}
	return list
}

// Complaints returns what the page has written to the console since the last call as errors and warnings: faults of scripts,
// and what its content security policy kept it from.
func (b *Browser) Complaints() []string {
	b.t.Helper()
	var entries []struct{ Level, Message string }
	b.call("POST", b.session+"/se/log", map[string]any{"type": "browser"}, &entries)
	var list []string
	for _, e := range entries {
		if e.Level == "SEVERE" || e.Level == "WARNING" {
			list = append(list, e.Level+": "+e.Message)
		}
	}
	return list
}
