package judge

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"kvserver/cmd/kvhot/node"
	"kvserver/hotkeys/control"
)

var start = time.Unix(1000, 0)

// judged feeds reports and writes down what follows, as "seconds event".
type judged struct {
	t *testing.T
	*Judge
	seen []string
}

func judgeOf(t *testing.T) *judged {
	t.Helper()
	s := control.Defaults()
	s.Promote, s.Demote, s.HoldNs = 1000, 700, 2*int64(time.Second)
	j, err := New(s, start)
	if err != nil {
		t.Fatal(err)
	}
	return &judged{t: t, Judge: j}
}

// report is one of a Valkey server, in whose list there is room, so many seconds after the start.
func (j *judged) report(seconds, qps float64) {
	j.t.Helper()
	nan := math.NaN()
	at := start.Add(time.Duration(seconds * float64(time.Second)))
	r := node.Report{At: at, TopK: 16, Samples: qps, WindowMs: 1000, LengthMs: 1000, Percentage: 100, Floor: nan, Completed: nan}
	if qps > 0 {
		r.Entries = []node.Entry{node.Unknown("k", 0, qps)}
	}
	for _, e := range j.Take(r) {
		j.seen = append(j.seen, fmt.Sprintf("%g %s", e.At.Sub(start).Seconds(), e.Name))
	}
}

func (j *judged) want(events string) {
	j.t.Helper()
	if got := strings.Join(j.seen, ", "); got != events {
		j.t.Errorf("%q, want %q", got, events)
	}
}

func TestPromotesAndDemotes(t *testing.T) {
	j := judgeOf(t)
	for i, qps := range []float64{1200, 1300, 1100, 50, 51, 0, 0, 1} {
		j.report(float64(i+1), qps)
	}
	j.want("1 warming, 2 hot, 7 normal") // the hold ends at 4, the windows after it end at 5, 6 and 7
}

// TestTheSameWindowTwice is one window of evidence.
func TestTheSameWindowTwice(t *testing.T) {
	j := judgeOf(t)
	j.report(1, 1200)
	j.report(1.5, 1200)
	j.report(1.9, 1200)
	j.want("1 warming")
	if s := j.States(start.Add(2 * time.Second)); len(s) != 1 || s[0].State != "warming" || s[0].Since != start.Add(time.Second) {
		t.Errorf("%+v", s)
	}
	j.report(2.1, 1200) // equal by chance: the window must be over
	j.want("1 warming, 2.1 hot")
}

// TestWindowsAreNumbered: a server that counts its windows says which are new.
func TestWindowsAreNumbered(t *testing.T) {
	j := judgeOf(t)
	for i, completed := range []float64{7, 7, 8} {
		r := node.Report{At: start.Add(time.Duration(i+1) * 400 * time.Millisecond), TopK: 1, WindowMs: 1000, LengthMs: 1000, Completed: completed,
			Entries: []node.Entry{node.Unknown("k", 0, 2000)}}
		for _, e := range j.Take(r) {
			j.seen = append(j.seen, fmt.Sprint(completed, " ", e.Name))
		}
	}
	j.want("7 warming, 8 hot")
}

// TestSilenceIsUnknown: reports that were missed are no evidence, for either.
func TestSilenceIsUnknown(t *testing.T) {
	j := judgeOf(t)
	j.report(1, 1200)
	j.report(9, 1210)
	j.want("1 warming")
	j.report(10, 1220)
	j.want("1 warming, 10 hot")
	for i := 20.0; i < 40; i += 4 {
		j.report(i, i)
	}
	j.want("1 warming, 10 hot")
}

func TestCollects(t *testing.T) {
	var c Collector
	if !c.Empty() {
		t.Error("something was collected of nothing")
	}
	take := func(seconds float64, entries ...node.Entry) {
		c.Take(node.Report{At: start.Add(time.Duration(seconds * float64(time.Second))), TopK: 16, WindowMs: 1000, LengthMs: 1000, Completed: math.NaN(), Entries: entries})
	}
	k, other := node.Unknown("k", 0, 10), node.Unknown("other", 1, 7)
	take(1, k, other)
	take(1.5, k, other)
	take(2)
	take(6, k)
	c.Take(node.Report{At: start.Add(7 * time.Second), WindowMs: 1000, LengthMs: 1000, Completed: math.NaN()}) // tracking was turned off
	text := func(q node.HistoryQuery) string {
		var b strings.Builder
		for _, w := range c.Windows(q) {
			fmt.Fprintf(&b, "%g+%g", w.Begin.Sub(start).Seconds(), w.Duration.Seconds())
			if w.Discarded {
				b.WriteString(" unknown")
			}
			for _, e := range w.Entries {
				b.WriteString(" " + e.Key)
			}
			b.WriteString(", ")
		}
		return b.String()
	}
	for _, tt := range []struct {
		q    node.HistoryQuery
		want string
	}{
		{node.HistoryQuery{DB: -1}, "0+1 k other, 1+1, 2+3 unknown, 5+1 k, 6+1 unknown, "},
		{node.HistoryQuery{DB: -1, Key: "k", Named: true}, "0+1 k, 1+1, 2+3 unknown, 5+1 k, 6+1 unknown, "},
		{node.HistoryQuery{DB: 0, Key: "other", Named: true, Windows: 2}, "5+1, 6+1 unknown, "},
	} {
		if got := text(tt.q); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.q, got, tt.want)
		}
	}
	for i := range 2 * collectedMax {
		take(float64(10+i), k)
	}
	if n := len(c.Windows(node.HistoryQuery{DB: -1})); n != collectedMax {
		t.Errorf("%d windows are kept", n)
	}
}

func TestFloor(t *testing.T) {
	nan := math.NaN()
	full := []node.Entry{node.Unknown("a", 0, 900), node.Unknown("b", 0, 800)}
	for _, c := range []struct {
		name string
		r    node.Report
		want float64
	}{
		{"told", node.Report{Floor: 42, TopK: 16}, 42},
		{"everything is recorded", node.Report{Floor: nan, Percentage: 100, TopK: 16}, 0},
		{"sampled", node.Report{Floor: nan, Percentage: 1, LengthMs: 2000, TopK: 16}, 150},
		{"how much is not told", node.Report{Floor: nan, Percentage: nan, LengthMs: 1000, TopK: nan}, 300},
		{"a full list", node.Report{Floor: nan, Percentage: 100, TopK: 2, Entries: full}, 800},
		{"perhaps a full list", node.Report{Floor: nan, Percentage: 100, TopK: nan, Entries: full}, 800},
		{"a list with room", node.Report{Floor: 5, Percentage: 100, TopK: 3, Entries: full}, 5},
	} {
		if got := floor(c.r); got != c.want {
			t.Errorf("%s: the floor is %g, want %g", c.name, got, c.want)
		}
	}
}

func TestReportedAccessesAreDemand(t *testing.T) {
	e := node.Unknown("k", 0, 10)
	if demand(e) != 10 {
		t.Error("what is not told is added")
	}
	e.Reported = 500
	if demand(e) != 510 {
		t.Errorf("demand %g", demand(e))
	}
}

// TestLength: whatever a server says of its windows, it is asked neither all the time nor never.
func TestLength(t *testing.T) {
	for ms, want := range map[float64]time.Duration{1000: time.Second, 1: 100 * time.Millisecond, 1e15: 24 * time.Hour, math.NaN(): time.Second} {
		if got := Length(node.Report{LengthMs: ms, WindowMs: math.NaN()}); got != want {
			t.Errorf("windows of %g ms are taken for %v, want %v", ms, got, want)
		}
	}
}
