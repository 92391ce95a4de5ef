package plot

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/guptarohit/asciigraph"

	"kvserver/cmd/kvhot/quote"
	"kvserver/cmd/kvhot/table"
)

// labelColumns is the width of the numbers at the vertical axis. axisColumns is that, the axis, and half of the time below
// the last column.
const (
	labelColumns = 6
	axisColumns  = labelColumns + 2 + 5
)

// colors of the series in terminals, of the 16 that suit any background.
var colors = []asciigraph.AnsiColor{asciigraph.Red, asciigraph.Blue, asciigraph.Green, asciigraph.Magenta, asciigraph.Cyan, asciigraph.Olive, asciigraph.Navy, asciigraph.Maroon}

// marks of the series where there are no colours.
const marks = "123456789"

// SeriesMax is how many series can be told apart.
const SeriesMax = len(marks)

// Columns is how many cells a chart should have to be drawn in a terminal of a width.
func Columns(width int) int { return max(width-axisColumns, 10) }

// Terminal draws a chart of a width and height in characters, with a legend below.
func Terminal(c Chart, width, height int, colored bool) string {
	if len(c.Series) == 0 {
		return "no key was listed in this time\n"
	}
	var data [][]float64
	var colorOf []asciigraph.AnsiColor
	var markOf []asciigraph.CharSet
	for i, s := range slices.Backward(c.Series) { // the last is drawn over the others
		data = append(data, s.QPS)
		colorOf = append(colorOf, colors[i%len(colors)])
		markOf = append(markOf, asciigraph.CreateCharSet(mark(i)))
	}
	options := []asciigraph.Option{
		asciigraph.Height(max(height-len(c.Series)-4, 3)), asciigraph.LowerBound(0),
		asciigraph.YAxisValueFormatter(func(v float64) string { return fmt.Sprintf("%*s", labelColumns, table.Rate(v)) }),
		asciigraph.XAxisRange(0, c.End.Sub(c.Begin).Seconds()),
		asciigraph.XAxisValueFormatter(func(s float64) string {
			return c.Begin.Add(time.Duration(s * float64(time.Second))).Format("15:04:05")
		}),
		asciigraph.XAxisTickCount(max(Columns(width)/20, 2)),
	}
	if colored {
		options = append(options, asciigraph.SeriesColors(colorOf...))
	} else if len(data) > 1 {
		options = append(options, asciigraph.SeriesChars(markOf...))
	}
	return asciigraph.PlotMany(data, options...) + "\n\n" + legend(c, width, colored)
}

func mark(series int) string { return string(marks[series%len(marks)]) }

// legend names the series and what can be read from them.
func legend(c Chart, width int, colored bool) string {
	var b strings.Builder
	for i, s := range c.Series {
		sign := mark(i)
		if colored {
			sign = colors[i%len(colors)].String() + "■" + asciigraph.Default.String()
		}
		values := known(s.QPS)
		peak, sum := 0.0, 0.0
		for _, v := range values {
			peak, sum = max(peak, v), sum+v
		}
		facts := fmt.Sprintf("  db %d  peak %s  mean %s  last %s", s.DB, table.Rate(peak), table.Rate(sum/float64(len(values))), table.Rate(values[len(values)-1]))
		fmt.Fprintf(&b, "%s %s%s\n", sign, quote.Fit(quote.Text(s.Key), max(width-2-quote.Width(facts), 8)), facts)
	}
	return b.String()
}
