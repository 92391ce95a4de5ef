package control

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

const second = int64(time.Second)

// worked are the settings of the traces, with windows of ten seconds.
func worked() Settings {
	s := Defaults()
	s.Promote, s.Demote = 4600, 3500
	return s
}

// play runs a trace for the key "k" and returns the transitions as text, each as
// "seconds event". A trace is a list of words. A number is a window with that
// demand, "-n" one that does not list the key, with floor n, "?" one that is not
// known, and "gap" one that nobody tells of; "×n" after one repeats it. Another
// word is a call at the end of the last window, or with "@n" at n seconds:
// ready, pin, unpin, demote, trip (an emergency of the server's), or a setting.
func play(t *testing.T, s Settings, words string) string {
	t.Helper()
	p := player{t: t, s: s}
	p.keep(p.c.Configure(s, 0))
	for _, word := range strings.Fields(words) {
		word, times, _ := strings.Cut(word, "×")
		n := 1
		if times != "" {
			n = number(t, times)
		}
		for range n {
			p.word(word)
		}
	}
	return strings.Join(p.out, ", ")
}

type player struct {
	t   *testing.T
	c   Controller
	s   Settings
	now int64 // seconds
	out []string
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (p *player) word(word string) {
	p.t.Helper()
	switch {
	case word == "gap":
		p.now += 10
	case word == "?":
		p.window(Window{})
	case word[0] == '-':
		p.window(Window{Known: true, Floor: float64(number(p.t, word[1:])), Demands: demands{}.all})
	case word[0] >= '0' && word[0] <= '9':
		d := demands{{Name: "other"}: 10, {Name: "k"}: float64(number(p.t, word))}
		p.window(Window{Known: true, Floor: 100, Demands: d.all})
	default:
		p.call(word)
	}
}

func (p *player) window(w Window) {
	w.BeginNs, w.EndNs = p.now*second, (p.now+10)*second
	p.now += 10
	p.keep(p.c.Window(w), nil)
}

func (p *player) call(word string) {
	p.t.Helper()
	name, at, _ := strings.Cut(word, "@")
	now := p.now * second
	if at != "" {
		now = int64(number(p.t, at)) * second
	}
	key := Key{Name: "k"}
	switch name, value, _ := strings.Cut(name, "="); name {
	case "ready":
		p.keep(p.c.Ready(key, now))
	case "demote":
		p.keep(p.c.Demote(key, now))
	case "pin":
		p.keep(p.c.Pin(key, now))
	case "unpin":
		p.keep(nil, p.c.Unpin(key))
	case "trip":
		p.keep(p.c.Emergency(key, 900, float64(number(p.t, value)), now), nil)
	default:
		n := number(p.t, value)
		switch name {
		case "H":
			p.s.Promote = int64(n)
		case "L":
			p.s.Demote = int64(n)
		case "K":
			p.s.PromoteWindows = n
		case "M":
			p.s.DemoteWindows = n
		case "hold":
			p.s.HoldNs = int64(n) * second
		case "ack":
			p.s.WarmupAck = n == 1
		case "metric":
			p.s.Metric = Metric(n)
		default:
			p.t.Fatalf("unknown word %q", word)
		}
		p.keep(p.c.Configure(p.s, now))
	}
}

func (p *player) keep(list []Transition, err error) {
	p.t.Helper()
	if err != nil {
		p.out = append(p.out, fmt.Sprintf("%d %v", p.now, err))
	}
	for _, tr := range list {
		mute := ""
		if !tr.Alert {
			mute = " (muted)"
		}
		p.out = append(p.out, fmt.Sprintf("%d %s%s", tr.AtNs/second, tr.Event, mute))
	}
}

type demands map[Key]float64

func (d demands) all(yield func(Key, float64) bool) {
	for key, demand := range d {
		if !yield(key, demand) {
			return
		}
	}
}

type trace struct{ name, words, want string }

func check(t *testing.T, s Settings, traces []trace) {
	t.Helper()
	for _, tr := range traces {
		t.Run(tr.name, func(t *testing.T) {
			if got := play(t, s, tr.words); got != tr.want {
				t.Errorf("%s\n got %s\nwant %s", tr.words, got, tr.want)
			}
		})
	}
}

// TestWorkedTraces has H = 4600, L = 3500, K = 2, M = 3, a hold of 60 s and
// windows of 10 s.
func TestWorkedTraces(t *testing.T) {
	check(t, worked(), []trace{
		{"steady below L", "3400×30", ""},
		{"steady in the band", "4599×30", ""},
		{"step above H", "3000×3 5000×10", "40 warming, 50 hot"},
		{"exactly H", "4600×2", "10 warming, 20 hot"},
		{"burst shorter than K", "3000 9000 3000×5", "20 warming, 30 aborted"},
		{"bursts with a window between", "9000 4599 9000 4599", "10 warming, 20 aborted, 30 warming (muted), 40 aborted (muted)"},
		{"oscillation inside the band", "5000×2 3501 4599 3600 4500 3501×20", "10 warming, 20 hot"},
		{"the band ends a warm-up", "5000 4000 5000", "10 warming, 20 aborted, 30 warming (muted)"},

		// Hot at 20, the hold ends at 80: windows begun at 80, 90 and 100 count.
		{"low from the start of the hold", "5000×2 1000×8", "10 warming, 20 hot"},
		{"low through M windows after the hold", "5000×2 1000×30", "10 warming, 20 hot, 110 normal"},
		{"exactly L", "5000×2 3500×30", "10 warming, 20 hot, 110 normal"},
		{"low for M - 1 windows and a rebound to H", "5000×2 4000×6 1000×2 5000 1000×2", "10 warming, 20 hot"},
		{"low for M - 1 windows and a rebound to the band", "5000×2 4000×6 1000×2 3501 1000×2", "10 warming, 20 hot"},
		{"the rebound goes away", "5000×2 4000×6 1000×2 3501 1000×9", "10 warming, 20 hot, 140 normal"},
		{"hot again", "5000×2 1000×9 5000×2", "10 warming, 20 hot, 110 normal, 120 warming (muted), 130 hot"},
		{"after the cooldown", "5000×2 1000×29 5000×2", "10 warming, 20 hot, 110 normal, 320 warming, 330 hot"},
	})
}

func TestUnknownWindows(t *testing.T) {
	for _, unknown := range []string{"?", "gap", "? gap ?"} {
		n := int64(len(strings.Fields(unknown))) * 10
		at := func(format string, args ...int64) string {
			list := make([]any, len(args))
			for i, s := range args {
				list[i] = s + n
			}
			return fmt.Sprintf(format, list...)
		}
		check(t, worked(), []trace{
			{"normal " + unknown, unknown + " 4000 " + unknown + " 4000", ""},
			{"warming " + unknown, "5000 " + unknown + " 5000×2", at("10 warming, %d hot", 30)},
			{"warming, then below H " + unknown, "5000 " + unknown + " 4000", at("10 warming, %d aborted", 20)},
			{"hot and held " + unknown, "5000×2 1000×2 " + unknown + " 1000×6", "10 warming, 20 hot, 110 normal"},
			{"hot and low " + unknown, "5000×2 4000×6 1000×2 " + unknown + " 1000×2", "10 warming, 20 hot"},
			{"then low " + unknown, "5000×2 4000×6 1000×2 " + unknown + " 1000×3", at("10 warming, 20 hot, %d normal", 130)},
			{"pinned " + unknown, "pin 1000×9 " + unknown + " 1000×9", "0 hot"},
		})
	}
	// Nothing but unknown windows keeps a key hot for as long as they go on.
	check(t, worked(), []trace{
		{"for ever", "5000×2 ?×1000", "10 warming, 20 hot"},
		{"warming for ever", "5000 ?×1000", "10 warming"},
	})
}

func TestAbsentKeys(t *testing.T) {
	check(t, worked(), []trace{
		{"never seen", "-9000×5", ""},
		{"warming, floor below H", "5000 -4599", "10 warming, 20 aborted"},
		{"warming, floor at H", "5000 -4600×3 5000×2", "10 warming, 60 hot"},
		{"hot, floor at L", "5000×2 -3500×30", "10 warming, 20 hot, 110 normal"},
		{"hot, floor above L", "5000×2 -3501×30", "10 warming, 20 hot"},
		{"hot, floor above L begins the count anew", "5000×2 4000×6 1000×2 -3501 1000×2 -100", "10 warming, 20 hot, 140 normal"},
	})
}

func TestReadiness(t *testing.T) {
	s := worked()
	s.WarmupAck = true
	check(t, s, []trace{
		{"never acknowledged", "5000×20", "10 warming"},
		{"late", "5000×4 ready 5000", "10 warming, 40 hot"},
		{"early", "5000 ready 5000", "10 warming, 20 hot"},
		{"in time, too cold", "5000 ready 4000 5000×2", "10 warming, 20 aborted, 30 warming"},
		{"cold while it waits", "5000×4 4000", "10 warming, 50 aborted"},
		{"too late", "5000×4 4000 ready", "10 warming, 50 aborted, 50 the key is neither warming nor hot"},
		{"twice", "5000×2 ready ready", "10 warming, 20 hot"},
		{"unknown while it waits", "5000×2 ? ready 5000×2", "10 warming, 50 hot"},

		// Crossed H at 10, ready at 45: the hold ends at 105, so the windows
		// begun at 110, 120 and 130 count.
		{"the hold begins with readiness", "5000×4 ready@45 1000×20", "10 warming, 45 hot, 140 normal"},
		{"an order is always told", "5000 4000 5000 4000", "10 warming, 20 aborted, 30 warming, 40 aborted"},
	})
}

func TestEmergencies(t *testing.T) {
	s := worked()
	s.Emergency = 20000
	check(t, s, []trace{
		{"one window", "3000 20000", "20 emergency, 20 warming, 20 hot"},
		{"just below", "3000 19999", "20 warming"},
		{"while warming", "5000 20000", "10 warming, 20 emergency, 20 hot"},
		{"while hot", "5000×2 20000×3", "10 warming, 20 hot"},
		{"its hold", "20000 1000×20", "10 emergency, 10 warming, 10 hot, 100 normal"},
		{"again within the cooldown", "20000 1000×10 20000", "10 emergency, 10 warming, 10 hot, 100 normal, 120 emergency (muted), 120 warming (muted), 120 hot"},

		{"the server's, with the least share", "trip=10", "0 emergency, 0 warming, 0 hot"},
		{"the server's, with too little", "trip=9", ""},
		{"the server's, while warming", "5000 trip=50@13", "10 warming, 13 emergency, 13 hot"},
		{"the server's, while hot", "5000×2 trip=50", "10 warming, 20 hot"},
	})
	s.WarmupAck = true
	check(t, s, []trace{
		{"never replaces readiness", "20000 5000×5 ready", "10 emergency, 10 warming, 60 hot"},
		{"never replaces readiness, twice", "20000×5 ready", "10 emergency, 10 warming, 50 hot"},
		{"below H ends the warm-up", "20000 4000", "10 emergency, 10 warming, 20 aborted"},
		{"unknown resets it", "20000 ? ready 5000×2", "10 emergency, 10 warming, 40 hot"},
		{"again after unknown", "20000 ? 20000 ready", "10 emergency, 10 warming, 30 emergency (muted), 30 hot"},
		{"the window it fell into does not end it", "trip=50@7 1000 ready", "7 emergency, 7 warming, 10 hot"},
		{"the one after it does", "trip=50@7 1000×2", "7 emergency, 7 warming, 20 aborted"},
		{"tells once", "trip=50@7 trip=50@8 20000", "7 emergency, 7 warming"},
	})
	s.Emergency = 4000 // below H
	check(t, s, []trace{{"below H", "4000×3 ready", "10 emergency, 10 warming, 30 hot"}})
}

func TestOperator(t *testing.T) {
	check(t, worked(), []trace{
		{"pin", "3000 pin 1000×100", "10 hot"},
		{"pin while warming", "5000 pin 4000", "10 warming, 10 hot"},
		{"pin while hot", "5000×2 pin 1000×100", "10 warming, 20 hot"},
		{"unpin after the hold", "pin 1000×20 unpin 1000×5", "0 hot, 230 normal"},
		{"unpin within the hold", "pin 1000 unpin 1000×20", "0 hot, 90 normal"},
		{"pin and unpin within a window", "5000×2 4000×6 1000×2 pin unpin 1000×3", "10 warming, 20 hot, 130 normal"},
		{"unpin what is not pinned", "unpin 5000×2 unpin", "0 the key is not pinned, 10 warming, 20 hot, 20 the key is not pinned"},
		{"demote", "5000×2 demote 5000", "10 warming, 20 hot, 20 normal, 30 warming (muted)"},
		{"demote while warming", "5000 demote", "10 warming, 10 aborted"},
		{"demote while pinned", "pin demote 1000", "0 hot, 0 normal"},
		{"demote what is normal", "demote", "0 the key is neither warming nor hot"},
		{"ready without being asked", "ready 5000 ready 5000", "0 the key is neither warming nor hot, 10 warming, 20 hot"},
	})
	check(t, Defaults(), []trace{
		{"off", "9000×5 pin unpin ready demote trip=50",
			strings.Repeat(", 50 hot key control is off", 4)[2:]},
	})
}

func TestConfigure(t *testing.T) {
	refused := ErrThresholds.Error()
	check(t, worked(), []trace{
		{"off", "5000×2 H=0 5000×3", "10 warming, 20 hot, 20 normal"},
		{"off while warming", "5000 H=0", "10 warming, 10 aborted"},
		{"off while pinned", "pin H=0 unpin", "0 hot, 0 normal, 0 hot key control is off"},
		{"on again", "5000×2 H=0 H=4600 5000×2", "10 warming, 20 hot, 20 normal, 30 warming, 40 hot"},
		{"L at H", "L=4600 5000×2", "0 " + refused + ", 10 warming, 20 hot"},
		{"L missing", "L=0", "0 " + refused},
		{"H at L", "H=3500", "0 " + refused},
		{"another H", "5000 H=4800 5000×2", "10 warming, 30 hot"},
		{"another metric", "5000 metric=1 5000×2", "10 warming, 30 hot"},
		{"another L", "5000×2 4000×6 1000×2 L=3000 1000×3", "10 warming, 20 hot, 130 normal"},
		{"smaller K", "K=5 5000×3 K=2", "10 warming, 30 hot"},
		{"greater K", "5000 K=3 5000×2", "10 warming, 30 hot"},
		{"smaller M", "5000×2 4000×6 1000×2 M=2", "10 warming, 20 hot, 100 normal"},
		{"greater M", "5000×2 4000×6 1000×2 M=4 1000×2", "10 warming, 20 hot, 120 normal"},
		{"shorter hold", "5000×2 1000×2 hold=0 1000×3", "10 warming, 20 hot, 70 normal"},
		{"longer hold", "5000×2 1000×8 hold=120 1000×20", "10 warming, 20 hot, 170 normal"},
		{"longer hold, low already", "5000×2 1000×8 hold=61 1000×3", "10 warming, 20 hot, 130 normal"},
		{"acknowledgement off", "ack=1 5000×4 ack=0", "10 warming, 40 hot"},
		{"acknowledgement on", "5000 ack=1 5000×3 ready", "10 warming, 40 hot"},
		{"acknowledgement on, muted", "5000 4000 5000 ack=1 5000 ready",
			"10 warming, 20 aborted, 30 warming (muted), 30 warming, 40 hot"},
		{"acknowledgement on, muted, told once", "5000 4000 5000 ack=1 M=9 4000",
			"10 warming, 20 aborted, 30 warming (muted), 30 warming, 40 aborted"},
		{"the cooldown begins with the alert that was due", "5000 4000 5000 ack=1 ack=0 4000×28 5000",
			"10 warming, 20 aborted, 30 warming (muted), 30 warming, 40 aborted, 320 warming (muted)"},
		{"acknowledgement on, hot", "5000×2 ack=1 5000", "10 warming, 20 hot"},
	})
	one := worked()
	one.PromoteWindows, one.DemoteWindows, one.HoldNs, one.CooldownNs = 1, 1, 0, 0
	check(t, one, []trace{
		{"K, M = 1, no hold, no cooldown", "5000 1000 5000 1000",
			"10 warming, 10 hot, 20 normal, 30 warming, 30 hot, 40 normal"},
	})
}
