package screen

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gdamore/tcell/v2"

	"kvserver/cmd/kvhot/merge"
	"kvserver/cmd/kvhot/quote"
	"kvserver/cmd/kvhot/table"
)

// The styles. Colours only repeat what characters say, and the 16 of them that every terminal has suit dark and light
// backgrounds as its user set them.
var (
	plain    = tcell.StyleDefault
	title    = plain.Bold(true)
	head     = plain.Underline(true)
	faint    = plain.Dim(true)
	graph    = plain.Foreground(tcell.ColorTeal)
	alarming = plain.Foreground(tcell.ColorMaroon).Bold(true)
	warning  = plain.Foreground(tcell.ColorOlive)
	chosen   = plain.Reverse(true)
)

const keysHelp = "q quit  space pause  a all  r reads  w writes  ↑↓ select  ? help"

var helpLines = []string{
	"q, Esc, Ctrl-C   quit",
	"space, p         pause and go on",
	"a  r  w          order by all accesses, by reads, by writes",
	"↑ ↓ j k          select a key; its details are at the bottom",
	"PgUp PgDn        a page up or down",
	"Home End         the first and the last key",
	"Ctrl-L           draw the screen anew",
	"?, h             this help and back",
	"",
	"qps       accesses per second in the last completed window",
	"between   what qps is between, with 95 % confidence",
	"share     of the accesses of all nodes",
	"reads     of the key's accesses; the rest writes",
	"cpu       of one core, spent for the key",
	"~         may be noise: no hotter than what is not tracked",
	"× average a node's load against the mean; ▲ from 1.5: a hot key is probably there",
}

// put writes a text at a place and returns the column after it.
func (s *screen) put(x, y int, text string, style tcell.Style) int {
	s.PutStrStyled(x, y, text, style)
	return x + quote.Width(text)
}

// draw draws everything.
func (s *screen) draw() {
	s.Clear()
	width, height := s.Size()
	s.title(width)
	switch {
	case s.help:
		for i, line := range helpLines {
			s.put(0, i+2, quote.Cut(line, width), plain)
		}
	case s.asked:
		nodes := s.view
		nodes.Nodes = busiest(s.view.Nodes, max(height/3, 3))
		y := s.table(table.Nodes(nodes, width), 1, 0, len(nodes.Nodes), func(row int, role table.Role) tcell.Style {
			return nodeStyle(nodes.Nodes[row], role)
		}) + 1
		notes := table.Notes(nodes)
		if hidden := len(s.view.Nodes) - len(nodes.Nodes); hidden > 0 {
			notes = append(notes, fmt.Sprintf("%d nodes with less load are not shown", hidden))
		}
		for i, note := range notes {
			s.put(0, y+i, quote.Cut(note, width), warning)
		}
		if len(notes) > 0 {
			y += len(notes) + 1
		}
		lines := max(height-y-2-s.detailLines(), 0)
		s.top = max(min(s.top, s.row, len(s.view.Rows)-lines), s.row-lines+1, 0)
		if len(s.view.Rows) > 0 {
			s.table(table.Keys(s.view, s.trend, width), y, s.top, lines, s.keyStyle)
		}
		s.details(width, height)
	}
	s.put(0, height-1, quote.Cut(keysHelp, width), faint)
	s.Show()
}

func (s *screen) title(width int) {
	x := s.put(0, 0, "kvhot", title)
	what := fmt.Sprintf("  %s  every %v", strings.ToLower(string(s.by)), s.interval)
	switch {
	case s.paused:
		what += "  paused"
	case !s.asked || s.view.By != s.by:
		what += "  asking …"
	}
	if s.asked {
		what += "  " + s.view.At.Format("15:04:05")
	}
	s.put(x, 0, quote.Cut(what, max(width-x, 0)), plain)
}

func (s *screen) trend(r merge.Row) []float64 { return s.trends[identity{r.Key, r.DB}] }

// table draws lines of a table from row first, below its head, and returns the line after them.
func (s *screen) table(t table.Table, y, first, lines int, style func(row int, role table.Role) tcell.Style) int {
	x := 0
	for i, c := range t.Columns {
		s.put(x, y, t.Cell(i, -1), head)
		for line := range min(lines, t.Rows()-first) {
			s.put(x, y+1+line, t.Cell(i, first+line), style(first+line, c.Role))
		}
		x += c.Width + 2
	}
	return y + 1 + min(lines, t.Rows()-first)
}

// busiest returns the nodes with most load, in the order they had; those that failed count as busy.
func busiest(nodes []merge.Load, most int) []merge.Load {
	if len(nodes) <= most {
		return nodes
	}
	order := make([]int, len(nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(load(nodes[b]), load(nodes[a])) })
	order = order[:most]
	slices.Sort(order)
	shown := make([]merge.Load, most)
	for i, n := range order {
		shown[i] = nodes[n]
	}
	return shown
}

func load(n merge.Load) float64 {
	if n.Err != nil {
		return math.Inf(1)
	}
	return n.PerSecond
}

func nodeStyle(n merge.Load, role table.Role) tcell.Style {
	switch {
	case n.Err != nil:
		return warning
	case role == table.Main && n.Times >= table.FarAbove:
		return alarming
	case role == table.Graph:
		return graph
	}
	return plain
}

func (s *screen) keyStyle(row int, role table.Role) tcell.Style {
	r := s.view.Rows[row]
	switch {
	case row == s.row && role == table.Key:
		return chosen
	case role == table.Graph:
		return graph
	case role == table.State && r.State == "hot":
		return alarming
	case role == table.State:
		return warning
	case r.Certain == 0:
		return faint
	case role == table.Main:
		return title
	}
	return plain
}

// keyLines is how many keys are shown on a page, about.
func (s *screen) keyLines() int {
	_, height := s.Size()
	return height - 5 - min(len(s.view.Nodes), max(height/3, 3)) - s.detailLines()
}

// detailLines is the room for the selected key, none on a low screen.
func (s *screen) detailLines() int {
	if _, height := s.Size(); height < 16 {
		return 0
	}
	return 3
}

// details tells all about the selected key.
func (s *screen) details(width, height int) {
	if s.detailLines() == 0 || s.row >= len(s.view.Rows) {
		return
	}
	r := s.view.Rows[s.row]
	y := height - 1 - s.detailLines()
	s.put(0, y, quote.Cut(fmt.Sprintf("%s  db %d  %d bytes", quote.Fit(quote.Text(r.Key), max(width-24, 8)), r.DB, len(r.Key)), width), title)
	var facts []string
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"qps", r.QPS}, {"samples", r.Samples}, {"low", r.Low}, {"high", r.High}, {"reads/s", r.Reads}, {"writes/s", r.Writes},
		{"misses/s", r.Misses}, {"in B/s", r.InBytes}, {"out B/s", r.OutBytes}, {"cpu µs/s", r.CPUMicros}, {"reported/s", r.Reported},
	} {
		if !math.IsNaN(f.value) {
			facts = append(facts, f.name+" "+table.Rate(f.value))
		}
	}
	s.put(0, y+1, quote.Cut(strings.Join(facts, "  "), width), plain)
	if len(s.view.Nodes) == 1 {
		return
	}
	var parts []string
	for _, p := range r.Parts {
		parts = append(parts, fmt.Sprintf("%s %s", s.view.Nodes[p.Node].Address, table.Rate(p.QPS)))
	}
	s.put(0, y+2, quote.Cut(strings.Join(parts, "  "), width), plain)
}
