// Package plot draws the history of hot keys, in the terminal and as PNG.
//
// Windows of several servers begin at different times, so all are put on one grid. A cell has the mean rate of the windows
// that lie in it, each weighted by the time it has there. A window without the key counts as zero: the key was not among
// the hottest. A time of which nothing is known, because its window was discarded or no history reaches so far, is a gap.
// The rates of a key's servers are added where all of them are known; a server that never listed the key does not count.
package plot

import (
	"cmp"
	"math"
	"slices"
	"time"

	"kvserver/cmd/kvhot/node"
)

// Past is the history of one node, oldest window first.
type Past struct {
	Address string
	Windows []node.Window
}

// Series is one key's rate in each cell of the grid; NaN is unknown.
type Series struct {
	Key       string
	DB        int
	QPS       []float64
	Low, High []float64 // NaN also where servers do not tell them
}

// Chart is what is drawn.
type Chart struct {
	Begin, End time.Time
	Series     []Series // the key with most accesses first; of each something is known
}

// identity is what makes a key one.
type identity struct {
	key string
	db  int
}

// Of puts the keys with most accesses, so many at most, on a grid of so many cells.
func Of(pasts []Past, keys, cells int) Chart {
	c := Chart{}
	accesses := map[identity]float64{}
	for _, p := range pasts {
		for _, w := range p.Windows {
			if c.Begin.IsZero() || w.Begin.Before(c.Begin) {
				c.Begin = w.Begin
			}
			if w.End().After(c.End) {
				c.End = w.End()
			}
			for _, e := range w.Entries {
				accesses[identity{e.Key, e.DB}] += e.QPS * w.Duration.Seconds()
			}
		}
	}
	ids := make([]identity, 0, len(accesses))
	for id := range accesses {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b identity) int {
		return cmp.Or(cmp.Compare(accesses[b], accesses[a]), cmp.Compare(a.key, b.key), cmp.Compare(a.db, b.db))
	})
	for _, id := range ids[:min(len(ids), keys)] {
		if s := c.series(id, pasts, cells); len(known(s.QPS)) > 0 {
			c.Series = append(c.Series, s)
		}
	}
	return c
}

// series is one key's line: the sum over the nodes that listed it.
func (c Chart) series(id identity, pasts []Past, cells int) Series {
	s := Series{id.key, id.db, make([]float64, cells), make([]float64, cells), make([]float64, cells)}
	for _, p := range pasts {
		if !slices.ContainsFunc(p.Windows, func(w node.Window) bool { return find(w, id) != nil }) {
			continue
		}
		lines := [3]line{newLine(cells), newLine(cells), newLine(cells)}
		for _, w := range p.Windows {
			if w.Discarded {
				continue
			}
			values := [3]float64{}
			if e := find(w, id); e != nil {
				values = [3]float64{e.QPS, e.Low, e.High}
			}
			for i := range lines {
				lines[i].add(c.position(w.Begin, cells), c.position(w.End(), cells), values[i])
			}
		}
		for i, sum := range [][]float64{s.QPS, s.Low, s.High} {
			for cell := range sum {
				sum[cell] += lines[i].mean(cell)
			}
		}
	}
	return s
}

// position is where in the grid, in cells, a moment lies.
func (c Chart) position(t time.Time, cells int) float64 {
	return float64(t.Sub(c.Begin)) / float64(c.End.Sub(c.Begin)) * float64(cells)
}

func find(w node.Window, id identity) *node.Entry {
	for i, e := range w.Entries {
		if e.Key == id.key && e.DB == id.db {
			return &w.Entries[i]
		}
	}
	return nil
}

// line sums up values by the part of each cell that they cover.
type line struct{ sum, covered []float64 }

func newLine(cells int) line { return line{make([]float64, cells), make([]float64, cells)} }

func (l line) add(from, to, value float64) {
	for cell := max(int(from), 0); cell < len(l.sum) && float64(cell) < to; cell++ {
		part := min(to, float64(cell+1)) - max(from, float64(cell))
		l.sum[cell] += part * value
		l.covered[cell] += part
	}
}

// mean is NaN for a cell of which hardly anything is covered, such as by the rounding of a window's end.
func (l line) mean(cell int) float64 {
	if l.covered[cell] < 0.01 {
		return math.NaN()
	}
	return l.sum[cell] / l.covered[cell]
}

// known returns the values that are.
func known(values []float64) []float64 {
	var k []float64
	for _, v := range values {
		if !math.IsNaN(v) {
			k = append(k, v)
		}
	}
	return k
}
