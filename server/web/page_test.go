package web

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"kvserver/tests/browser"
)

// patience bounds every wait for something that a page must come to show.
const patience = 20 * time.Second

// TestPage looks at the page in a browser. One is enough for all: to start it takes longer than to use it.
func TestPage(t *testing.T) {
	b := browser.Open(t)
	for name, test := range map[string]func(t *testing.T, b *browser.Browser){
		"names": pageNamesAreText, "windows": pageWindows, "keyboard": pageKeyboard, "order": pageOrder, "widths": pageWidths,
		"contrast": pageContrast, "hearing": pageHearing, "lost": pageLost, "refused": pageRefused, "rankings": pageRankings, "asks": pageAsks,
	} {
		t.Run(name, func(t *testing.T) {
			b.Use(t)
			b.Emulate(1280, 900, "light")
			test(t, b)
			complaints := slices.DeleteFunc(b.Complaints(), func(c string) bool {
				return strings.Contains(c, "Failed to load resource") // what a test means to happen
			})
			if len(complaints) > 0 {
				t.Errorf("the page complains: %q", complaints)
			}
		})
	}
}

// open shows the page of a fake, and waits for its first answer.
func (f *fake) open(t *testing.T, b *browser.Browser) (address string) {
	t.Helper()
	_, address = f.serve(t)
	b.Go("http://" + address + "/")
	b.Eventually(patience, "an answer is shown", `return document.getElementById("status").dataset.state === "live"`)
	return address
}

// pageNamesAreText: whatever a key is called, the page shows that, and nothing else comes of it.
func pageNamesAreText(t *testing.T, b *browser.Browser) {
	f := sample(40)
	f.open(t, b)
	b.Run(nil, `document.querySelectorAll("#rows .open").forEach(button => button.click())`)
	var names []string
	b.Run(&names, `return [...document.querySelectorAll("#rows .open")].map(button => button.textContent)`)
	for i, name := range hostileNames {
		want := displayed(name)
		if want == "" {
			want = "(empty name)"
		}
		if names[9+i] != want {
			t.Errorf("%q is shown as %q", name, names[9+i])
		}
	}
	var title string
	if b.Run(&title, `return document.title`); strings.Contains(title, "stolen") || !strings.Contains(title, "user:1000") {
		t.Errorf("the title is %q", title)
	}
	var foreign int
	if b.Run(&foreign, `return document.querySelectorAll("main script, main img, main h1, main b:not([class])").length`); foreign != 0 {
		t.Errorf("%d elements come from names", foreign)
	}
	var refused bool
	b.Run(&refused, `try { document.createElement("div").innerHTML = "<b>markup</b>"; return false } catch { return true }`)
	if !refused {
		t.Error("the browser lets scripts of the page make markup of a string")
	}
	b.Complaints() // about that
}

// pageWindows: what is not known, or not there, is said, and how to change that.
func pageWindows(t *testing.T, b *browser.Browser) {
	f := sample(3)
	f.open(t, b)
	wait := func(what, want string) {
		t.Helper()
		b.Eventually(patience, what, `return document.body.innerText.includes(arguments[0])`, want)
	}
	full := f.snap
	for _, step := range []struct {
		name, want string
		snap       Snapshot
	}{
		{"off", "CONFIG SET hotkeys-top-k 16", Snapshot{}},
		{"first window", "The first window is being counted", Snapshot{Tracking: Tracking{On: true, Length: time.Minute}}},
		{"session", "A tracking session takes the place of windows", Snapshot{Tracking: Tracking{Session: true}}},
		{"discarded", "The last window was discarded", Snapshot{Tracking: Tracking{On: true, Discarded: 1}, History: full.History[20:22]}},
		{"silence", "No key was accessed in the last window", Snapshot{Tracking: full.Tracking, Window: Window{Length: time.Second}}},
		{"all", "user:1000:profile", *full},
	} {
		f.set(func(f *fake) { f.snap = &step.snap })
		wait(step.name, step.want)
	}
	if text := b.Text("#notice"); text != "" {
		t.Errorf("a notice stays: %q", text)
	}
	if text := b.Text("#rate-note"); text != "grey: not known" {
		t.Errorf("a discarded window in the history: %q", text)
	}
}

// Keys of WebDriver.
const (
	enter, escape = "\uE007", "\uE00C"
	up, down, tab = "\uE013", "\uE015", "\uE004"
)

func pageKeyboard(t *testing.T, b *browser.Browser) {
	f := sample(20)
	f.open(t, b)
	focus := func() (text string) {
		t.Helper()
		b.Run(&text, `return document.activeElement.id || document.activeElement.textContent`)
		return text
	}
	b.Press(down, down)
	if got := focus(); got != "session:0000040d" {
		t.Errorf("two keys down is %q", got)
	}
	b.Press(enter)
	b.Eventually(patience, "details open", `return document.querySelectorAll("tr.details:not([hidden])").length === 1 &&
		document.activeElement.getAttribute("aria-expanded") === "true"`)
	b.Press(up, "/")
	if got := focus(); got != "filter" {
		t.Errorf("/ leads to %q", got)
	}
	b.Press("f", "e", "e", "d")
	b.Eventually(patience, "the list is filtered", `return [...document.querySelectorAll("#rows > tr:not(.details):not([hidden]) .open")].every(e => e.textContent.includes("feed"))`)
	b.Press(down)
	if got := focus(); !strings.HasPrefix(got, "feed:") {
		t.Errorf("down from the filter is %q", got)
	}
	b.Press("/", escape, "p")
	b.Eventually(patience, "paused", `return document.getElementById("pause").getAttribute("aria-pressed") === "true"`)
	f.set(func(f *fake) { f.taken = 0 })
	b.Press("p")
	b.Eventually(patience, "not paused", `return document.getElementById("status-text").textContent === "Live"`)
	b.Press(tab)
	var visible bool
	if b.Run(&visible, `return getComputedStyle(document.activeElement).outlineStyle !== "none"`); !visible {
		t.Error("one does not see where the focus is")
	}
}

// pageOrder: rows change places, but not while somebody is among them.
func pageOrder(t *testing.T, b *browser.Browser) {
	f := sample(9)
	f.open(t, b)
	first := `return document.querySelector("#rows .open").textContent`
	swap := func() {
		f.set(func(f *fake) {
			snap := *f.snap
			keys := slices.Clone(snap.Keys[ByAccesses])
			keys[0], keys[1] = keys[1], keys[0]
			keys[0].Rate, keys[0].Samples = keys[1].Rate+1000, keys[0].Samples+1
			snap.Keys[ByAccesses] = keys
			f.snap = &snap
		})
	}
	swap()
	b.Eventually(patience, "the second is the first", strings.Replace(first, "return ", "return 'session:0000040d' === ", 1))
	b.Press(down)
	swap()
	b.Eventually(patience, "ranks change", `return document.querySelector("#rows .rank").textContent === "2"`)
	var name string
	if b.Run(&name, first); name != "session:0000040d" || b.Text("#still") == "" {
		t.Errorf("the order changes under the focus, and %q is first", name)
	}
	f.set(func(f *fake) {
		snap := *f.snap
		snap.Keys[ByAccesses] = nil
		for i := range 300 {
			name := fmt.Sprint("newcomer", i)
			snap.Keys[ByAccesses] = append(snap.Keys[ByAccesses], Key{Name: name, Length: len(name), Rate: 1})
		}
		f.snap = &snap
	})
	b.Run(nil, `document.getElementById("count").value = "500"; document.getElementById("count").dispatchEvent(new Event("change", {bubbles: true}))`)
	b.Eventually(patience, "newcomers", `return document.querySelectorAll("#rows .open").length === 309`)
	f.set(func(f *fake) {
		snap := *f.snap
		snap.Keys[ByAccesses] = sampleSnapshot(9, rand.New(rand.NewPCG(1, 2))).Keys[ByAccesses]
		f.snap = &snap
	})
	b.Eventually(patience, "most of those that went are forgotten", `return document.querySelectorAll("#rows .open").length === 9 + 50`)
	b.Run(nil, `document.activeElement.blur()`)
	b.Eventually(patience, "the order is that of the ranks again", `return document.querySelector("#rows .rank").textContent === "1"`)
}

func pageRankings(t *testing.T, b *browser.Browser) {
	f := sample(9)
	f.open(t, b)
	b.Run(nil, `document.querySelector("#ranking input[value=write]").click()`)
	b.Eventually(patience, "keys ranked by writes", `return document.querySelectorAll("#rows .open").length === 2 &&
		document.querySelector("#rows .open").textContent === "session:0000040d"`)
	f.set(func(f *fake) {
		snap := *f.snap
		key := snap.Keys[ByWrites][0]
		key.Measured = false
		snap.Keys[ByWrites] = []Key{key}
		f.snap = &snap
	})
	b.Eventually(patience, "what is not measured is not shown as nothing", `return document.querySelector("#rows .cpu").textContent === "–"`)
}

// pageWidths: nothing sticks out of the page, from the smallest phone to a large screen.
func pageWidths(t *testing.T, b *browser.Browser) {
	f := sample(40)
	long := strings.Repeat("a-name-without-an-end", 30)
	f.snap.Keys[ByAccesses][2].Name, f.snap.Keys[ByAccesses][2].Length = long[:NameBytesMax], len(long)
	f.snap.Control.States[1].Name = long[:NameBytesMax]
	f.open(t, b)
	b.Run(nil, `document.querySelectorAll("#rows .open").forEach(button => button.click())`)
	for _, width := range []int{320, 390, 700, 820, 1100, 1280, 1920} {
		b.Emulate(width, 800, "light")
		var widest struct {
			Name  string
			Right float64
			Page  float64
		}
		b.Run(&widest, `
			let widest = {Name: "", Right: 0, Page: document.documentElement.clientWidth};
			for (const e of document.querySelectorAll("header *, main *, footer *")) {
				if (e.closest(".unseen, svg, .open, bdi")) continue;
				const r = e.getBoundingClientRect();
				if (r.width > 0 && r.right > widest.Right) widest = {...widest, Name: e.tagName + "." + e.className + " in " + e.parentElement.className + ": " + e.textContent.slice(0, 40), Right: r.right};
			}
			return widest`)
		if widest.Right > widest.Page+0.5 {
			t.Errorf("at %d pixels %s reaches to %.0f of %.0f", width, widest.Name, widest.Right, widest.Page)
		}
	}
}

// pageContrast: all text can be read, in both colour schemes, by the rule of WCAG 2 AA, 4.5 to 1.
func pageContrast(t *testing.T, b *browser.Browser) {
	f := sample(40)
	f.open(t, b)
	b.Run(nil, `document.querySelector("#rows .open").click()`)
	for _, scheme := range []string{"light", "dark"} {
		b.Emulate(1280, 900, scheme)
		var faint []string
		b.Run(&faint, `
			const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
			const rgba = (color) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); return canvas.getImageData(0, 0, 1, 1).data };
			const light = (c) => { const [r, g, b] = [...c].map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b };
			const ground = (e) => { for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c } return rgba("white") };
			const found = new Set();
			for (const e of document.querySelectorAll("body *")) {
				if (![...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.data.trim()) || e.closest(".unseen, .skip, noscript, option") || e.offsetParent === null) continue;
				const a = light(rgba(getComputedStyle(e).color)), b = light(ground(e));
				const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
				if (ratio < 4.5) found.add(e.tagName + "." + e.className + " " + ratio.toFixed(2));
			}
			return [...found]`)
		if len(faint) > 0 {
			t.Errorf("%s: too faint: %q", scheme, faint)
		}
	}
	b.Run(nil, `document.getElementById("theme").click()`)
	var scheme string
	if b.Run(&scheme, `return getComputedStyle(document.documentElement).colorScheme`); scheme != "light" {
		t.Errorf("the theme chosen against the system's setting is %q", scheme)
	}
}

// pageHearing: what a screen reader has to go by.
func pageHearing(t *testing.T, b *browser.Browser) {
	f := sample(9)
	f.open(t, b)
	roles := map[string]int{}
	named := []string{"button", "image", "img", "radio", "searchbox", "combobox", "table", "link", "columnheader", "region"}
	list := b.Accessibility()
	for _, n := range list {
		roles[n.Role]++
		if slices.Contains(named, n.Role) && n.Name == "" {
			t.Errorf("a %s has no name", n.Role)
		}
	}
	for role, least := range map[string]int{"banner": 1, "main": 1, "contentinfo": 1, "heading": 3, "table": 1, "columnheader": 8, "row": 10, "cell": 72, "radio": 3, "searchbox": 1, "status": 1} {
		if roles[role] < least {
			t.Errorf("%d elements are a %s, want %d", roles[role], role, least)
		}
	}
	if !slices.ContainsFunc(list, func(n browser.Accessible) bool {
		return strings.Contains(n.Name, "reads") && strings.Contains(n.Name, "between")
	}) {
		t.Error("a bar does not say what it shows")
	}
	b.Eventually(patience, "the hottest key is announced", `return document.getElementById("news").textContent.includes("Hottest is user:1000:profile")`)
	f.set(func(f *fake) {
		snap := *f.snap
		snap.Control.States = slices.Clone(snap.Control.States)
		snap.Control.States[1].State = "hot"
		f.snap = &snap
	})
	b.Eventually(patience, "a transition is announced", `return document.getElementById("news").textContent.includes("session:0000040d is hot.")`)
}

// pageLost: a page whose server is gone says so, and goes on when it is back.
func pageLost(t *testing.T, b *browser.Browser) {
	f := sample(9)
	s, address := f.serve(t)
	b.Go("http://" + address + "/")
	live := `return document.getElementById("status-text").textContent === "Live"`
	b.Eventually(patience, "live", live)
	s.Serve(nil)
	b.Eventually(patience, "lost", `return document.getElementById("status-text").textContent.startsWith("Not reachable") && document.body.classList.contains("is-stale")`)
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("somebody else has taken the address: %v", err)
	}
	f.set(func(f *fake) {
		snap := *f.snap
		snap.Node.Started = time.Now()
		f.snap = &snap
	})
	s.Serve([]net.Listener{l})
	b.Eventually(patience, "live again", live)
	b.Eventually(patience, "the restart is announced", `return document.getElementById("news").textContent.includes("restarted")`)
	f.set(func(f *fake) { f.err = ErrBusy })
	b.Eventually(patience, "busy", `return document.getElementById("status-text").textContent.startsWith("Busy")`)
}

// pageRefused: a password that is changed while the page is open.
func pageRefused(t *testing.T, b *browser.Browser) {
	f := sample(9)
	f.open(t, b)
	f.set(func(f *fake) { f.verdict = func(Login) Verdict { return Forbidden } })
	b.Eventually(patience, "refused", `return document.getElementById("notice").innerText.includes("no permission")`)
	f.set(func(f *fake) { f.verdict = nil })
	b.Eventually(patience, "let in again", `return document.getElementById("notice").hidden`)
}

// pageAsks: a page asks once a window, at most twice a second.
func pageAsks(t *testing.T, b *browser.Browser) {
	f := sample(9)
	f.snap.Tracking.Next = 0
	f.open(t, b)
	asked := `performance.getEntriesByType("resource").filter(e => e.name.includes("api/hotkeys")).map(e => e.startTime)`
	b.Eventually(patience, "six requests", `return `+asked+`.length >= 6`)
	var at []float64
	if b.Run(&at, `return `+asked); at[5]-at[0] < 5*490 {
		t.Errorf("six requests in %.0f ms", at[5]-at[0])
	}
}
