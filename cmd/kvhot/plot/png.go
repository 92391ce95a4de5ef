package plot

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"kvserver/cmd/kvhot/quote"
	"kvserver/cmd/kvhot/table"
)

// The size of a picture: 1152 by 576 points at the library's 96 to the inch.
const (
	pictureWidth  = 12 * vg.Inch
	pictureHeight = 6 * vg.Inch
)

// PictureCells is how many cells a chart should have for a picture: one a point of its width, about.
const PictureCells = 1000

// palette is that of Okabe and Ito, which people with any colour vision can tell apart (Color Universal Design, 2008).
var palette = []color.NRGBA{{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}, {230, 159, 0, 255}, {86, 180, 233, 255}, {0, 0, 0, 255}}

// unknownShade is behind times of which nothing is known.
var unknownShade = color.NRGBA{0, 0, 0, 24}

// PNG draws a chart as a picture: lines, the band that each rate is in, grey where nothing is known.
func PNG(w io.Writer, c Chart, title string) error {
	p := plot.New()
	p.Title.Text = title
	p.Y.Label.Text = "accesses per second"
	p.Y.Min = 0
	p.Y.Tick.Marker = plot.TickerFunc(rateTicks)
	p.X.Tick.Marker = plot.TimeTicks{Format: "15:04:05", Time: func(t float64) time.Time { return time.UnixMilli(int64(t * 1000)) }}
	p.X.Min, p.X.Max = seconds(c.Begin), seconds(c.End)
	p.Legend.Top, p.Legend.XOffs, p.Legend.Padding = true, -vg.Points(8), vg.Points(2)
	p.Add(plotter.NewGrid())
	for i, s := range c.Series {
		if err := addSeries(p, c, s, i); err != nil {
			return fmt.Errorf("plot %s: %w", quote.Text(s.Key), err)
		}
	}
	if len(c.Series) > 0 {
		if err := addUnknown(p, c); err != nil {
			return fmt.Errorf("plot unknown times: %w", err)
		}
	}
	picture, err := p.WriterTo(pictureWidth, pictureHeight, "png")
	if err != nil {
		return err
	}
	_, err = picture.WriteTo(w)
	return err
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// rateTicks writes the numbers of the axis as the tables do.
func rateTicks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i := range ticks {
		if ticks[i].Label != "" {
			ticks[i].Label = table.Rate(ticks[i].Value)
		}
	}
	return ticks
}

// at is where a cell begins.
func (c Chart) at(cell, cells int) float64 {
	return seconds(c.Begin) + float64(cell)/float64(cells)*c.End.Sub(c.Begin).Seconds()
}

// addSeries adds a line and its band, anew after every gap.
func addSeries(p *plot.Plot, c Chart, s Series, i int) error {
	shade := palette[i%len(palette)]
	name := quote.Fit(quote.Text(s.Key), 48)
	if s.DB != 0 {
		name += fmt.Sprintf(" (db %d)", s.DB)
	}
	for _, run := range runs(s.QPS) {
		line, err := plotter.NewLine(c.steps(s.QPS, run))
		if err != nil {
			return err
		}
		line.Color, line.Width = shade, vg.Points(1.5)
		if i >= len(palette) { // the second time around
			line.Dashes = []vg.Length{vg.Points(4), vg.Points(2)}
		}
		p.Add(line)
		if name != "" {
			p.Legend.Add(name, line)
			name = ""
		}
	}
	shade.A = 40
	both := make([]float64, len(s.Low))
	for cell := range both {
		both[cell] = s.Low[cell] + s.High[cell]
	}
	for _, run := range runs(both) {
		edge := c.steps(s.High, run)
		low := c.steps(s.Low, run)
		for k := len(low) - 1; k >= 0; k-- {
			edge = append(edge, low[k])
		}
		if err := addArea(p, edge, shade); err != nil {
			return err
		}
	}
	return nil
}

func addArea(p *plot.Plot, edge plotter.XYs, shade color.Color) error {
	area, err := plotter.NewPolygon(edge)
	if err != nil {
		return err
	}
	area.Color, area.LineStyle.Width = shade, 0
	p.Add(area)
	return nil
}

// addUnknown shades the times of which no series knows anything.
func addUnknown(p *plot.Plot, c Chart) error {
	cells := len(c.Series[0].QPS)
	gaps := make([]float64, cells)
	for cell := range gaps {
		for _, s := range c.Series {
			if !math.IsNaN(s.QPS[cell]) {
				gaps[cell] = math.NaN()
			}
		}
	}
	for _, run := range runs(gaps) {
		from, to := c.at(run[0], cells), c.at(run[1], cells)
		if err := addArea(p, plotter.XYs{{X: from, Y: 0}, {X: from, Y: p.Y.Max}, {X: to, Y: p.Y.Max}, {X: to, Y: 0}}, unknownShade); err != nil {
			return err
		}
	}
	return nil
}

// runs returns the ranges of cells that are known without a gap.
func runs(values []float64) [][2]int {
	var list [][2]int
	from := -1
	for i := 0; i <= len(values); i++ {
		switch is := i < len(values) && !math.IsNaN(values[i]); {
		case is && from < 0:
			from = i
		case !is && from >= 0:
			list = append(list, [2]int{from, i})
			from = -1
		}
	}
	return list
}

// steps is a run of cells as a line with a step at each: a rate is that of a whole window.
func (c Chart) steps(values []float64, run [2]int) plotter.XYs {
	var xys plotter.XYs
	for cell := run[0]; cell < run[1]; cell++ {
		xys = append(xys, plotter.XY{X: c.at(cell, len(values)), Y: values[cell]}, plotter.XY{X: c.at(cell+1, len(values)), Y: values[cell]})
	}
	return xys
}

// Title says what a chart is of.
func Title(addresses []string) string { return "hot keys of " + strings.Join(addresses, ", ") }
