package table

import (
	"fmt"
	"math"
	"strings"
)

// Unknown stands for a number that was not told.
const unknown = "–"

// Rate writes a rate in at most five characters and a unit: 9999, 12.3k, 4.56M.
func Rate(n float64) string {
	switch {
	case math.IsNaN(n):
		return unknown
	case n > 0 && n < 9.95:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0")
	case n < 9999.5:
		return fmt.Sprintf("%.0f", n)
	}
	for _, unit := range []string{"k", "M", "G", "T"} {
		n /= 1000
		switch {
		case n < 9.995:
			return fmt.Sprintf("%.2f%s", n, unit)
		case n < 99.95:
			return fmt.Sprintf("%.1f%s", n, unit)
		case n < 999.5:
			return fmt.Sprintf("%.0f%s", n, unit)
		}
	}
	return fmt.Sprintf("%.3g", n*1e12)
}

// Percent writes a fraction of one.
func Percent(fraction float64) string {
	if math.IsNaN(fraction) {
		return unknown
	}
	if fraction < 0.0995 {
		return fmt.Sprintf("%.1f%%", 100*fraction)
	}
	return fmt.Sprintf("%.0f%%", 100*fraction)
}

// Bar draws a fraction of one as a bar in eighths of a column.
func Bar(fraction float64, columns int) string {
	if math.IsNaN(fraction) || columns <= 0 {
		return ""
	}
	eighths := int(math.Round(min(max(fraction, 0), 1) * float64(8*columns)))
	if eighths == 0 && fraction > 0 {
		eighths = 1
	}
	bar := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		bar += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return bar
}

// Sparkline draws values as columns of eight heights, the highest at max; what is NaN is a gap.
func Sparkline(values []float64, max float64) string {
	var b strings.Builder
	for _, v := range values {
		switch {
		case math.IsNaN(v):
			b.WriteByte(' ')
		case max <= 0 || v < 0:
			b.WriteRune('▁')
		default:
			step := int(math.Round(v / max * 7))
			b.WriteRune([]rune("▁▂▃▄▅▆▇█")[min(step, 7)])
		}
	}
	return b.String()
}
