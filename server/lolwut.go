package server

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

// LOLWUT draws the temperature of a keyspace: some keys are hot, most are not, and it is never the same ones. Each
// cell of the picture is a key; the heat of a few randomly placed sources, falling off with the square of the
// distance, shows as darker glyphs.

// The size of the picture, in characters.
const (
	lolwutCols, lolwutRows       = 64, 16
	lolwutColsMax, lolwutRowsMax = 200, 100
)

const heatGlyphs = " .:-=+*#%@"

// lolwut takes any VERSION: there is one picture, whose size are the optional arguments.
func lolwut(c *client, args [][]byte) {
	args = args[1:]
	if len(args) >= 2 && bytes.EqualFold(args[0], []byte("VERSION")) {
		if _, ok := parseInt(args[1]); !ok {
			c.fail(errNotInteger)
			return
		}
		args = args[2:]
	}
	size := [2]int64{lolwutCols, lolwutRows}
	for i := range min(len(size), len(args)) {
		n, ok := parseInt(args[i])
		if !ok {
			c.fail(errNotInteger)
			return
		}
		size[i] = n
	}
	cols := int(min(max(size[0], 1), lolwutColsMax))
	rows := int(min(max(size[1], 1), lolwutRowsMax))
	picture := heatMap(rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())), cols, rows)
	c.verbatim("txt", fmt.Sprintf("%s\nThe keys are getting warm. Redis ver. %s\n", picture, compatVersion))
}

// heatMap draws rows lines of cols glyphs each.
func heatMap(rng *rand.Rand, cols, rows int) string {
	type source struct{ x, y, heat float64 }
	sources := make([]source, 3+rng.IntN(5))
	for i := range sources {
		// The heats follow Zipf's law, as the keys of real traffic do.
		sources[i] = source{rng.Float64() * float64(cols), rng.Float64() * float64(rows), 40 / float64(i+1)}
	}
	var b strings.Builder
	for y := range rows {
		for x := range cols {
			heat := rng.Float64() / 2
			for _, s := range sources {
				dx, dy := (float64(x)-s.x)/2, float64(y)-s.y // characters are twice as high as wide
				heat += s.heat / (4 + dx*dx + dy*dy)
			}
			b.WriteByte(heatGlyphs[min(int(heat), len(heatGlyphs)-1)])
		}
		b.WriteByte('\n')
	}
	return b.String()
}
