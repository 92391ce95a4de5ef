package table

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"kvserver/cmd/kvhot/merge"
	"kvserver/cmd/kvhot/node"
	"kvserver/cmd/kvhot/quote"
)

// barColumns is the length of the longest bar.
const barColumns = 12

// FarAbove is how many times the average a node's load is to be pointed out.
const FarAbove = 1.5

// column makes one of a cell per row, none if all cells are empty or unknown.
func column(columns []Column, c Column, rows int, cell func(i int) string) []Column {
	told := false
	for i := range rows {
		text := cell(i)
		told = told || text != "" && text != unknown
		c.Cells = append(c.Cells, text)
	}
	if !told && c.weight > 0 {
		return columns
	}
	return append(columns, c)
}

// Keys is the table of the hot keys. trend may be nil; it gives the past rates of a row, oldest first.
func Keys(v merge.View, trend func(r merge.Row) []float64, width int) Table {
	var columns []Column
	add := func(c Column, cell func(r merge.Row) string) {
		columns = column(columns, c, len(v.Rows), func(i int) string { return cell(v.Rows[i]) })
	}
	highest := 0.0
	for _, r := range v.Rows {
		highest = max(highest, merge.Rate(r.Entry, v.By))
	}
	columns = column(columns, Column{Head: "#", Right: true, weight: 95}, len(v.Rows), func(i int) string { return strconv.Itoa(i + 1) })
	add(Column{Head: "key", Role: Key}, func(r merge.Row) string { return quote.Text(r.Key) })
	if slices.ContainsFunc(v.Rows, func(r merge.Row) bool { return r.DB != 0 }) {
		add(Column{Head: "db", Right: true, weight: 90}, func(r merge.Row) string { return strconv.Itoa(r.DB) })
	}
	add(Column{Head: rateHead(v.By), Role: Main, Right: true}, func(r merge.Row) string { return noise(r) + Rate(merge.Rate(r.Entry, v.By)) })
	add(Column{Head: "", Role: Graph, weight: 55}, func(r merge.Row) string {
		if highest == 0 {
			return ""
		}
		return Bar(merge.Rate(r.Entry, v.By)/highest, barColumns)
	})
	if trend != nil {
		add(Column{Head: "trend", Role: Graph, weight: 45}, func(r merge.Row) string { return Sparkline(trend(r), highest) })
	}
	addMeasures(add, v)
	return fit(columns, width)
}

// addMeasures adds the columns of what only some servers tell.
func addMeasures(add func(Column, func(merge.Row) string), v merge.View) {
	add(Column{Head: "state", Role: State, weight: 85}, func(r merge.Row) string { return quote.Text(r.State) })
	add(Column{Head: "between", Right: true, weight: 50}, func(r merge.Row) string {
		if math.IsNaN(r.Low) || math.IsNaN(r.High) {
			return unknown
		}
		return Rate(r.Low) + "–" + Rate(r.High)
	})
	add(Column{Head: "share", Right: true, weight: 80}, func(r merge.Row) string { return Percent(r.Share) })
	add(Column{Head: "reads", Right: true, weight: 70}, func(r merge.Row) string { return Percent(r.Reads / (r.Reads + r.Writes)) })
	add(Column{Head: "miss/s", Right: true, weight: 30}, func(r merge.Row) string { return Rate(r.Misses) })
	add(Column{Head: "in B/s", Right: true, weight: 40}, func(r merge.Row) string { return Rate(r.InBytes) })
	add(Column{Head: "out B/s", Right: true, weight: 60}, func(r merge.Row) string { return Rate(r.OutBytes) })
	add(Column{Head: "cpu", Right: true, weight: 65}, func(r merge.Row) string { return Percent(r.CPUMicros / 1e6) })
	add(Column{Head: "reported", Right: true, weight: 35}, func(r merge.Row) string {
		if r.Reported == 0 {
			return ""
		}
		return Rate(r.Reported)
	})
	add(Column{Head: "type", weight: 25}, func(r merge.Row) string { return quote.Text(r.Type) })
	if len(v.Nodes) > 1 {
		add(Column{Head: "nodes", weight: 75}, func(r merge.Row) string { return nodesOf(v, r) })
	}
}

// rateHead says what rows are ordered by.
func rateHead(by node.Ranking) string {
	switch by {
	case node.ByReads:
		return "reads/s"
	case node.ByWrites:
		return "writes/s"
	}
	return "qps"
}

// noise marks a row whose place among the hottest may be chance.
func noise(r merge.Row) string {
	if r.Certain == 0 {
		return "~"
	}
	return ""
}

// nodesOf names the node with most of a row, and how much that is if others have some.
func nodesOf(v merge.View, r merge.Row) string {
	most := r.Parts[0]
	for _, p := range r.Parts {
		if p.QPS > most.QPS {
			most = p
		}
	}
	name := v.Nodes[most.Node].Address
	if len(r.Parts) == 1 {
		return name
	}
	return fmt.Sprintf("%s %s, +%d", name, Percent(most.QPS/r.QPS), len(r.Parts)-1)
}

// Nodes is the table of the nodes and their loads.
func Nodes(v merge.View, width int) Table {
	var columns []Column
	add := func(c Column, cell func(n merge.Load) string) {
		columns = column(columns, c, len(v.Nodes), func(i int) string { return cell(v.Nodes[i]) })
	}
	number := func(head string, weight int, of func(n merge.Load) float64) {
		add(Column{Head: head, Right: true, weight: weight}, func(n merge.Load) string {
			if n.Err != nil {
				return ""
			}
			return Rate(of(n))
		})
	}
	add(Column{Head: "node", Role: Key}, func(n merge.Load) string { return n.Address })
	number("accesses/s", 90, func(n merge.Load) float64 { return n.Report.Accesses })
	number("commands/s", 60, func(n merge.Load) float64 { return n.Report.Commands })
	if len(v.Nodes) > 1 {
		add(Column{Head: "share", Right: true, weight: 85}, func(n merge.Load) string { return Percent(n.Share) })
		add(Column{Head: "× average", Role: Main, Right: true, weight: 95}, func(n merge.Load) string { return times(n.Times) })
		add(Column{Head: "", Role: Graph, weight: 70}, func(n merge.Load) string { return Bar(n.Share, barColumns) })
	}
	add(Column{Head: "cpu", Right: true, weight: 65}, func(n merge.Load) string {
		if n.Err != nil {
			return ""
		}
		return Percent(n.Report.CPU / 100)
	})
	number("samples", 40, func(n merge.Load) float64 { return n.Report.Samples })
	add(Column{Head: "window", Right: true, weight: 30}, func(n merge.Load) string { return seconds(n.Report.WindowMs) })
	number("floor", 35, func(n merge.Load) float64 { return n.Report.Floor })
	return fit(columns, width)
}

// times is a load in averages, with a mark far above it.
func times(n float64) string {
	if math.IsNaN(n) {
		return unknown
	}
	mark := ""
	if n >= FarAbove {
		mark = "▲ "
	}
	return fmt.Sprintf("%s%.2f", mark, n)
}

func seconds(ms float64) string {
	if math.IsNaN(ms) || ms == 0 {
		return unknown
	}
	return fmt.Sprintf("%.1f s", ms/1000)
}

// Notes say what the tables do not.
func Notes(v merge.View) []string {
	var notes []string
	for _, n := range v.Nodes {
		switch r := n.Report; {
		case n.Err != nil:
			notes = append(notes, n.Address+": "+quote.Text(n.Err.Error()))
		case r.TopK == 0:
			notes = append(notes, n.Address+": tracking is off; CONFIG SET hotkeys-top-k 16 turns it on")
		case r.WindowMs == 0:
			notes = append(notes, n.Address+": no window is complete yet, or it was discarded")
		case len(r.Entries) == 0 && r.Samples == 0:
			notes = append(notes, n.Address+": no key was accessed in the window")
		}
	}
	if slices.ContainsFunc(v.Rows, func(r merge.Row) bool { return r.Certain == 0 }) {
		notes = append(notes, "~ may be noise: no hotter than keys that are not tracked")
	}
	return notes
}

// Text is all of it as text.
func Text(v merge.View, width int) string {
	var b strings.Builder
	b.WriteString(Nodes(v, width).String() + "\n" + Keys(v, nil, width).String())
	if notes := Notes(v); len(notes) > 0 {
		b.WriteString("\n" + strings.Join(notes, "\n") + "\n")
	}
	return b.String()
}
