package geo

import (
	"math"
	"slices"
)

// An Area is a circle around a place or, with Box, a box: what is at most half its height to the north or south of the
// place, and at most half its width to the east or west, measured along the parallel of what is looked at.
type Area struct {
	Lon, Lat      float64
	Box           bool
	Radius        float64 // m
	Width, Height float64 // m
}

// Contains reports whether a place lies in the area, and its distance from the centre if it does, in m.
func (a *Area) Contains(lon, lat float64) (distance float64, ok bool) {
	if a.Box && (latDistance(lat, a.Lat) > a.Height/2 || Distance(lon, lat, a.Lon, lat) > a.Width/2) {
		return 0, false
	}
	distance = Distance(a.Lon, a.Lat, lon, lat)
	return distance, a.Box || distance <= a.Radius
}

// A ScoreRange is a cell, as a range of scores that excludes its end.
type ScoreRange struct{ From, To float64 }

// Ranges returns score ranges in which all places of the area lie. They do not overlap.
func (a *Area) Ranges() []ScoreRange {
	b := a.bounds()
	step := a.firstStep()
	centre := a.centre(step)
	if step > 1 && !centre.surrounds(b, false) {
		step--
	}
	for ; step > 1 && !a.centre(step).surrounds(b, true); step-- {
	}
	return scoreRanges(a.centre(step).around(b))
}

// bounds are the least and greatest coordinates of an area, in degrees; longitudes may go beyond the map.
type bounds struct{ west, south, east, north float64 }

func (a *Area) bounds() bounds {
	width, height := a.Radius, a.Radius
	if a.Box {
		width, height = a.Width/2, a.Height/2
	}
	up := degrees(height / earthRadius)
	aside := a.reach(width, math.Abs(a.Lat)+up)
	return bounds{a.Lon - aside, a.Lat - up, a.Lon + aside, a.Lat + up}
}

// reach returns how many degrees of longitude a distance of width m may be where the parallels are shortest in the area, at
// latitude lat.
func (a *Area) reach(width, lat float64) float64 {
	if !(lat < 90) {
		return LonMax
	}
	shrink := math.Cos(radians(lat))
	aside := degrees(width / earthRadius / shrink)
	if a.Box {
		// Redis stops here, though the width is measured along great circles, which are shorter than parallels.
		chord := math.Sin(min(width/earthRadius, math.Pi)/2) / shrink
		if !(chord < 1) {
			return LonMax
		}
		aside = max(aside, degrees(2*math.Asin(chord)))
	}
	return min(aside, LonMax)
}

// searchStepMax leaves two bits of a score, since those of places with longitude 180 lose their last one.
const searchStepMax = stepMax - 1

// firstStep guesses the step at which cells are about as large as the area, as Redis does: the size of cells is that at
// the equator, so they are made larger towards the poles.
func (a *Area) firstStep() int {
	radius := a.Radius
	if a.Box {
		radius = math.Sqrt(a.Width/2*(a.Width/2) + a.Height/2*(a.Height/2))
	}
	if radius == 0 {
		return searchStepMax
	}
	step := -1
	for ; radius < mercatorMax; radius *= 2 {
		step++
	}
	if math.Abs(a.Lat) > 66 {
		step--
	}
	if math.Abs(a.Lat) > 80 {
		step--
	}
	return min(max(step, 1), searchStepMax)
}

// centre returns the cell of the area's centre; at the limits of the map the last one.
func (a *Area) centre(step int) cell {
	c := cellOf(a.Lon, a.Lat, LatMax, step)
	c.x, c.y = min(c.x, c.last()), min(c.y, c.last())
	return c
}

// last is the last column, and the last row.
func (c cell) last() position { return 1<<c.step - 1 }

// moved returns the cell some columns and rows further, around the map.
func (c cell) moved(x, y int) cell {
	c.x = position(int(c.x)+x) & c.last()
	c.y = position(int(c.y)+y) & c.last()
	return c
}

// surrounds tells whether the cells around c reach as far as the bounds. With wrap, what is beyond the edge of the map is
// on its other side; without, a cell on the other side does not count, nor one of a row beyond the map.
func (c cell) surrounds(b bounds, wrap bool) bool {
	if wrap {
		west, east := c.x.edges(LonMax, c.step)
		south, north := c.y.edges(LatMax, c.step)
		width, height := east-west, north-south
		return west-width <= b.west && east+width >= b.east &&
			(south-height <= b.south || c.y <= 1) && (north+height >= b.north || c.y >= c.last()-1)
	}
	west, _ := c.moved(-1, 0).x.edges(LonMax, c.step)
	_, east := c.moved(1, 0).x.edges(LonMax, c.step)
	south, _ := c.moved(0, -1).y.edges(LatMax, c.step)
	_, north := c.moved(0, 1).y.edges(LatMax, c.step)
	return west <= b.west && east >= b.east && south <= b.south && north >= b.north
}

// around returns c and those of the eight cells around it that the bounds reach into, each once.
func (c cell) around(b bounds) (cells []cell) {
	west, east := c.x.edges(LonMax, c.step)
	south, north := c.y.edges(LatMax, c.step)
	all := c.step < 2 // then the cell on one side is the one on the other side, too
	for _, to := range [...]struct{ x, y int }{{0, 0}, {0, 1}, {0, -1}, {1, 0}, {-1, 0}, {1, 1}, {-1, 1}, {1, -1}, {-1, -1}} {
		if !all && (to.x > 0 && east > b.east || to.x < 0 && west < b.west || to.y > 0 && north > b.north || to.y < 0 && south < b.south) {
			continue
		}
		if n := c.moved(to.x, to.y); !slices.Contains(cells, n) {
			cells = append(cells, n)
		}
	}
	return cells
}

// scoreRanges returns the ranges of cells. With a cell at the upper limits of the map go the places that lie at the very
// limit, in a column or row of their own.
func scoreRanges(cells []cell) []ScoreRange {
	ranges := make([]ScoreRange, 0, 2*len(cells))
	for n := len(cells); n > 0; n-- {
		c := cells[len(ranges)]
		ranges = append(ranges, c.scores())
	}
	for _, c := range cells {
		for _, to := range [...]struct{ x, y position }{{1, 0}, {0, 1}, {1, 1}} {
			if to.x > 0 && c.x < c.last() || to.y > 0 && c.y < c.last() {
				continue
			}
			ranges = append(ranges, cell{c.x + to.x, c.y + to.y, c.step}.scores())
		}
	}
	return ranges
}

func (c cell) scores() ScoreRange {
	shift := 2 * (stepMax - c.step)
	return ScoreRange{float64(c.bits() << shift), float64((c.bits() + 1) << shift)}
}
