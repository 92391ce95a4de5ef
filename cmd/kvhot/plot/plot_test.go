package plot

import (
	"bytes"
	"fmt"
	"image/png"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kvserver/cmd/kvhot/node"
	"kvserver/cmd/kvhot/quote"
)

var begin = time.Date(2026, 5, 1, 12, 0, 0, 0, time.Local)

// windows are of one second each; a rate of -1 is a discarded one.
func windows(key string, from int, rates ...float64) []node.Window {
	var ws []node.Window
	for i, qps := range rates {
		w := node.Window{Begin: begin.Add(time.Duration(from+i) * time.Second), Duration: time.Second}
		switch {
		case qps < 0:
			w.Discarded = true
		case qps > 0:
			e := node.Unknown(key, 0, qps)
			e.Low, e.High = 0.9*qps, 1.1*qps
			w.Entries = []node.Entry{e}
		}
		ws = append(ws, w)
	}
	return ws
}

func text(values []float64) string {
	var b strings.Builder
	for _, v := range values {
		if math.IsNaN(v) {
			b.WriteString("- ")
		} else {
			fmt.Fprintf(&b, "%.4g ", v)
		}
	}
	return strings.TrimSpace(b.String())
}

func TestGrid(t *testing.T) {
	for _, c := range []struct {
		name  string
		pasts []Past
		cells int
		want  string
	}{
		{"a cell a window", []Past{{"a", windows("k", 0, 10, 20, 0, 30)}}, 4, "10 20 0 30"},
		{"fewer cells", []Past{{"a", windows("k", 0, 10, 20, 0, 30)}}, 2, "15 15"},
		{"more cells", []Past{{"a", windows("k", 0, 10, 20)}}, 6, "10 10 10 20 20 20"},
		{"unknown is a gap", []Past{{"a", windows("k", 0, 10, -1, 0, 30)}}, 4, "10 - 0 30"},
		{"half of a cell is unknown", []Past{{"a", windows("k", 0, 10, -1, 0, 30)}}, 2, "10 15"},
		{"a missing window", []Past{{"a", append(windows("k", 0, 10), windows("k", 2, 30)...)}}, 3, "10 - 30"},
		{"two nodes", []Past{{"a", windows("k", 0, 10, 20)}, {"b", windows("k", 0, 1, 2)}}, 2, "11 22"},
		{"two nodes, out of step", []Past{{"a", windows("k", 0, 10, 20)}, {"b", windows("k", 1, 2, 4)}}, 3, "- 22 -"},
		{"a node without the key", []Past{{"a", windows("k", 0, 10, 20)}, {"b", windows("k", 0, -1, 0)}}, 2, "10 20"},
		{"one of two is unknown", []Past{{"a", windows("k", 0, 10, 20)}, {"b", windows("k", 0, -1, 3)}}, 2, "- 23"},
	} {
		chart := Of(c.pasts, 1, c.cells)
		if got := text(chart.Series[0].QPS); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if c := Of(nil, 3, 10); len(c.Series) != 0 {
		t.Errorf("a chart of nothing: %v", c)
	}
}

func TestKeysWithMostAccesses(t *testing.T) {
	c := Of([]Past{{"a", slices.Concat(windows("steady", 0, 50, 50, 50), windows("burst", 3, 100), windows("rare", 4, 1))}}, 2, 10)
	if len(c.Series) != 2 || c.Series[0].Key != "steady" || c.Series[1].Key != "burst" {
		t.Errorf("%+v", c.Series)
	}
}

func TestTerminal(t *testing.T) {
	c := Of([]Past{{"a", slices.Concat(windows("user:\x1b[2J", 0, 1000, 4000, -1, 2000), windows("other", 0, 500))}}, 5, Columns(60))
	got := Terminal(c, 60, 16, false)
	for _, want := range []string{`1 user:\x1b[2J`, "peak 4000", "last 2000", "2 other", "12:00:00", "4000"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for line := range strings.Lines(got) {
		if width := quote.Width(strings.TrimRight(line, " \n")); width > 60 {
			t.Errorf("a line of %d columns: %q", width, line)
		}
	}
	if strings.Contains(got, "\x1b") {
		t.Errorf("colours, or a control sequence of a key, in\n%q", got)
	}
	if colored := Terminal(c, 60, 16, true); !strings.Contains(colored, "\x1b[91m") {
		t.Errorf("no colours in\n%q", colored)
	}
	if got := Terminal(Of([]Past{{"a", windows("k", 0, 0, -1)}}, 5, 50), 60, 16, true); got != "no key was listed in this time\n" {
		t.Errorf("a plot of nothing: %q", got)
	}
}

func TestPNG(t *testing.T) {
	var pasts []Past
	for i := range 9 {
		rates := []float64{0, 4000, -1, -1, 2000, 2500}
		rates[0] = float64(1 + i)
		pasts = append(pasts, Past{"a", windows(fmt.Sprintf("key:%d", i), 0, rates...)})
	}
	var b bytes.Buffer
	if err := PNG(&b, Of(pasts, 9, PictureCells), Title([]string{"a:1", "b:1"})); err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(b.Bytes()))
	if err != nil || picture.Bounds().Dx() != 1152 || picture.Bounds().Dy() != 576 {
		t.Fatalf("%v, %v", picture.Bounds(), err)
	}
	colors := map[any]bool{}
	for y := range 576 {
		for x := range 1152 {
			colors[picture.At(x, y)] = true
		}
	}
	for _, want := range palette {
		if r, g, b, _ := want.RGBA(); !slices.ContainsFunc(keysOf(colors), func(c [3]uint32) bool { return c == [3]uint32{r, g, b} }) {
			t.Errorf("no line in the colour %v", want)
		}
	}
	if path := os.Getenv("KVHOT_PICTURE"); path != "" {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := PNG(&b, Chart{Begin: begin, End: begin.Add(time.Second)}, "nothing"); err != nil {
		t.Errorf("a picture of nothing: %v", err)
	}
}

func keysOf(colors map[any]bool) [][3]uint32 {
	var list [][3]uint32
	for c := range colors {
		r, g, b, _ := c.(interface {
			RGBA() (r, g, b, a uint32)
		}).RGBA()
		list = append(list, [3]uint32{r, g, b})
	}
	return list
}

// TestAnyHistory: whatever a server says of its past can be drawn.
func TestAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window := rapid.Custom(func(t *rapid.T) node.Window {
			w := node.Window{Begin: begin.Add(time.Duration(rapid.IntRange(-1e6, 1e6).Draw(t, "begin")) * time.Millisecond),
				Duration: time.Duration(rapid.IntRange(0, 1e6).Draw(t, "duration")) * time.Millisecond, Discarded: rapid.Bool().Draw(t, "discarded")}
			for range rapid.IntRange(0, 3).Draw(t, "keys") {
				w.Entries = append(w.Entries, node.Unknown(rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "key"), 0, rapid.Float64Range(0, 1e12).Draw(t, "qps")))
			}
			return w
		})
		pasts := []Past{{"a", rapid.SliceOf(window).Draw(t, "a")}, {"b", rapid.SliceOf(window).Draw(t, "b")}}
		c := Of(pasts, 2, Columns(rapid.IntRange(0, 80).Draw(t, "width")))
		Terminal(c, rapid.IntRange(0, 80).Draw(t, "width"), rapid.IntRange(0, 40).Draw(t, "height"), rapid.Bool().Draw(t, "colored"))
		for _, s := range c.Series {
			if len(known(s.QPS)) == 0 {
				t.Fatal("a key of which nothing is known")
			}
		}
	})
}
