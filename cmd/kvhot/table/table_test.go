package table

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kvserver/cmd/kvhot/merge"
	"kvserver/cmd/kvhot/node"
	"kvserver/cmd/kvhot/quote"
)

func TestRate(t *testing.T) {
	for n, want := range map[float64]string{0: "0", 0.04: "0", 3: "3", 3.14: "3.1", 9.96: "10", 42: "42", 9999: "9999", 9999.6: "10.0k", 12345: "12.3k",
		123456: "123k", 999600: "1.00M", 4.56e6: "4.56M", 1e9: "1.00G", 9e12: "9.00T", math.NaN(): "–"} {
		if got := Rate(n); got != want {
			t.Errorf("Rate(%g) = %q, want %q", n, got, want)
		}
	}
}

func TestBarAndSparkline(t *testing.T) {
	for _, c := range []struct {
		fraction float64
		want     string
	}{{0, ""}, {1, "████"}, {2, "████"}, {0.5, "██"}, {0.001, "▏"}, {0.97, "███▉"}, {math.NaN(), ""}} {
		if got := Bar(c.fraction, 4); got != c.want {
			t.Errorf("Bar(%g) = %q, want %q", c.fraction, got, c.want)
		}
	}
	if got := Sparkline([]float64{0, 5, math.NaN(), 10, 11, -3}, 10); got != "▁▅ ██▁" {
		t.Errorf("Sparkline = %q", got)
	}
	if got := Sparkline([]float64{0, -1}, 0); got != "▁▁" {
		t.Errorf("Sparkline of nothing = %q", got)
	}
}

// told is an entry of which everything is known.
func told(key string, qps float64) node.Entry {
	return node.Entry{Key: key, QPS: qps, Samples: qps / 10, Low: qps * 0.9, High: qps * 1.1, Reads: qps * 0.75, Writes: qps * 0.25, Misses: 1,
		InBytes: qps * 30, OutBytes: qps * 400, CPUMicros: qps * 2, Share: qps / 20000, Certain: 1, Type: "string"}
}

func viewOf(reports ...node.Report) merge.View {
	var results []merge.Result
	for i, r := range reports {
		results = append(results, merge.Result{Address: fmt.Sprintf("10.0.0.%d:6379", i+1), Report: r})
	}
	return merge.Of(time.Unix(0, 0), node.ByAll, results, 0)
}

// TestWhatIsToldIsShown: a server that tells all has all columns, one that tells key, db and qps those.
func TestWhatIsToldIsShown(t *testing.T) {
	nan := math.NaN()
	full := viewOf(node.Report{Accesses: 20000, Commands: 21000, CPU: 45, Samples: 2000, WindowMs: 1000, Floor: 3, TopK: 16,
		Entries: []node.Entry{told("user:1", 12345), told("user:2", 800)}, States: []node.State{{Key: "user:1", State: "hot"}}})
	want := `node           accesses/s  commands/s  cpu  samples  window  floor
10.0.0.1:6379       20.0k       21.0k  45%     2000   1.0 s      3

#  key       qps                state      between  share  reads  miss/s  in B/s  out B/s   cpu  type
1  user:1  12.3k  ████████████  hot    11.1k–13.6k    62%    75%       1    370k    4.94M  2.5%  string
2  user:2    800  ▊                        720–880   4.0%    75%       1   24.0k     320k  0.2%  string
`
	if got := Text(full, 0); got != want {
		t.Errorf("all that can be told:\n%s\nwant\n%s", got, want)
	}
	little := viewOf(node.Report{Accesses: nan, Commands: nan, CPU: nan, Samples: nan, WindowMs: nan, Floor: nan, TopK: nan,
		Entries: []node.Entry{node.Unknown("user:1", 0, 10), node.Unknown("other", 2, 5)}})
	want = `node
10.0.0.1:6379

#  key     db  qps
1  user:1   0   10  ████████████
2  other    2    5  ██████
`
	if got := Text(little, 0); got != want {
		t.Errorf("the least that can be told:\n%s\nwant\n%s", got, want)
	}
}

func TestSeveralNodes(t *testing.T) {
	v := viewOf(
		node.Report{Accesses: 1000, Commands: 1, CPU: math.NaN(), TopK: 16, WindowMs: 1000, Samples: 10, Floor: 1, Entries: []node.Entry{node.Unknown("a", 0, 10)}},
		node.Report{Accesses: 9000, Commands: 1, CPU: math.NaN(), TopK: 16, WindowMs: 1000, Samples: 90, Floor: 1, Entries: []node.Entry{node.Unknown("h", 0, 8000), node.Unknown("a", 0, 30)}},
	)
	want := `node           accesses/s  commands/s  share  × average               samples  window  floor
10.0.0.1:6379        1000           1    10%       0.20  █▎                10   1.0 s      1
10.0.0.2:6379        9000           1    90%     ▲ 1.80  ██████████▊       90   1.0 s      1

#  key   qps                share  nodes
1  h    8000  ████████████    80%  10.0.0.2:6379
2  a      40  ▏              0.4%  10.0.0.2:6379 75%, +1
`
	if got := Text(v, 0); got != want {
		t.Errorf("two nodes:\n%s\nwant\n%s", got, want)
	}
}

// TestNothing: the table of no keys has the columns that all servers tell.
func TestNothing(t *testing.T) {
	v := viewOf(node.Report{})
	v.Nodes[0].Err = errors.New("connection refused")
	want := "node\n10.0.0.1:6379\n\nkey  qps\n\n10.0.0.1:6379: connection refused\n"
	if got := Text(v, 0); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNarrow: whatever the width, no line is longer, and the name and the rate are there.
func TestNarrow(t *testing.T) {
	v := viewOf(node.Report{Accesses: 20000, Commands: 21000, CPU: 45, Samples: 2000, WindowMs: 1000, Floor: 3, TopK: 16,
		Entries: []node.Entry{told("session:"+strings.Repeat("0123456789", 10), 12345), told("user:2", 800)}})
	for width := 24; width < 250; width++ {
		for i, line := range strings.Split(strings.TrimSuffix(Keys(v, nil, width).String(), "\n"), "\n") {
			if quote.Width(line) > width {
				t.Errorf("width %d: a line of %d: %q", width, quote.Width(line), line)
			}
			if want := []string{"qps", "12.3k", "800"}[i]; !strings.Contains(line, want) {
				t.Errorf("width %d: no %s in %q", width, want, line)
			}
		}
	}
}

// TestNoControlCharacters: whatever keys and errors are made of, the text is printable.
func TestNoControlCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := told(string(rapid.SliceOf(rapid.Byte()).Draw(t, "key")), 10)
		e.Type = string(rapid.SliceOf(rapid.Byte()).Draw(t, "type"))
		state := node.State{Key: e.Key, State: string(rapid.SliceOf(rapid.Byte()).Draw(t, "state"))}
		v := viewOf(node.Report{Entries: []node.Entry{e}, States: []node.State{state}})
		v.Nodes = append(v.Nodes, merge.Load{Result: merge.Result{Address: "b", Err: errors.New(string(rapid.SliceOf(rapid.Byte()).Draw(t, "error")))}})
		for _, r := range Text(v, rapid.IntRange(0, 200).Draw(t, "width")) {
			if r < ' ' && r != '\n' || r == 0x7f || r == '\u202e' {
				t.Fatalf("%q in the text", r)
			}
		}
	})
}

func TestNotes(t *testing.T) {
	noise := told("k", 10)
	noise.Certain = 0
	v := viewOf(node.Report{TopK: 0}, node.Report{TopK: 16, WindowMs: 0}, node.Report{TopK: 16, WindowMs: 1000, Samples: 0},
		node.Report{TopK: 16, WindowMs: 1000, Samples: 5, Entries: []node.Entry{noise}})
	v.Nodes[0].Err = errors.New("refused\x1b[0m")
	v.Nodes = append(v.Nodes, merge.Load{Result: merge.Result{Address: "last"}})
	got := strings.Join(Notes(v), "\n")
	want := `10.0.0.1:6379: refused\x1b[0m
10.0.0.2:6379: no window is complete yet, or it was discarded
10.0.0.3:6379: no key was accessed in the window
last: tracking is off; CONFIG SET hotkeys-top-k 16 turns it on
~ may be noise: no hotter than keys that are not tracked`
	if got != want {
		t.Errorf("notes:\n%s\nwant\n%s", got, want)
	}
}
