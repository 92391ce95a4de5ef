// Package geo is the arithmetic of geospatial sets: places as scores of a sorted set, distances, and the score ranges in
// which the places within an area lie.
//
// # Places as scores
//
// Longitude (-180 … 180) and latitude (-85.05112878 … 85.05112878, the limits of the square Mercator map) are each made a
// number of 26 bits, whose bits are interleaved: those of the latitude are the even ones, from bit 0 on. The 52 bits are
// an integer that a score holds exactly. This is Redis's encoding, so that sets travel between servers. A place is known
// to 0.6 m by 0.3 m; what is decoded is the middle of its cell.
//
// Places at the very limits, longitude 180 or the greatest latitude, have as number 2^26, one more than the 26 bits
// hold: their scores go up to 2^54.
//
// Interleaved numbers that share their first 2·step bits lie in one cell of a grid of 2^step by 2^step, so a cell is a
// range of scores. At step 26 a cell is one place; each step less makes it twice as wide and high.
//
// # Searching
//
// An area is covered by the cell of its centre and the eight around it, at the greatest step at which they cover it.
// Cells outside of what the area can reach are left out; of the places in the others the distance is computed. Distances
// are those on a sphere (haversine formula) of radius 6372797.560856 m. A cell's neighbour over the 180th meridian is on
// the other side of the map. Where the area has a pole in it, it has all longitudes, and all of the grid is searched.
//
// The cells come in the order in which Redis looks at them, which decides the order of results that are not sorted. Redis
// makes cells larger once if they do not reach far enough; here that is repeated until they do, and areas with a pole, very
// wide boxes and places at the very limits are covered, too.
package geo

import "math"

// The limits of places, in degrees.
const (
	LonMax = 180
	LatMax = 85.05112878
)

const (
	stepMax     = 26
	earthRadius = 6372797.560856 // m
	// mercatorMax is half the length of the equator on the Mercator map, in m: the widest step a search can need.
	mercatorMax = 20037726.37
)

// Valid reports whether a place, in degrees, has a score.
func Valid(lon, lat float64) bool {
	return lon >= -LonMax && lon <= LonMax && lat >= -LatMax && lat <= LatMax
}

// Score returns the score of a place, which must be valid.
func Score(lon, lat float64) float64 { return float64(cellOf(lon, lat, LatMax, stepMax).bits()) }

// Place returns the place that a score stands for. Scores that stand for none give some place at the limits.
func Place(score float64) (lon, lat float64) {
	c := cellAt(scoreBits(score))
	west, east := c.x.edges(LonMax, stepMax)
	south, north := c.y.edges(LatMax, stepMax)
	lon = min(max((west+east)/2, -LonMax), LonMax)
	lat = min(max((south+north)/2, -LatMax), LatMax)
	return lon, lat
}

// scoreBits returns the integer that a score is. What no unsigned integer of 64 bits is becomes what x86-64 processors
// make of it, which shows in answers of Redis about sets that are no geospatial ones.
func scoreBits(score float64) uint64 {
	switch {
	case score >= 1<<64:
		return 0
	case score >= 1<<63:
		return uint64(int64(score-1<<63)) ^ 1<<63
	case score < -1<<63:
		return 1 << 63
	}
	return uint64(int64(score))
}

// A position is a column or a row of the grid at some step.
type position uint32

// positionOf returns the position of a degree between -limit and limit.
func positionOf(degree, limit float64, step int) position {
	share := (degree + limit) / (limit + limit)
	return position(share * float64(uint64(1)<<step))
}

// edges returns where a position begins and ends, in degrees.
func (p position) edges(limit float64, step int) (from, to float64) {
	cells := float64(uint64(1) << step)
	from = -limit + float64(float64(p)/cells*(limit+limit))
	to = -limit + float64((float64(p)+1)/cells*(limit+limit))
	return from, to
}

// A cell is a square of the grid at some step.
type cell struct {
	x, y position
	step int
}

// cellOf returns the cell of a place on a map that goes to latitude latMax.
func cellOf(lon, lat, latMax float64, step int) cell {
	return cell{positionOf(lon, LonMax, step), positionOf(lat, latMax, step), step}
}

// bits returns the column and row interleaved.
func (c cell) bits() uint64 { return spread(uint32(c.x))<<1 | spread(uint32(c.y)) }

// cellAt returns the cell whose bits are these.
func cellAt(bits uint64) cell {
	return cell{position(gather(bits >> 1)), position(gather(bits)), stepMax}
}

// spread puts a zero bit above every bit.
func spread(n uint32) uint64 {
	x := uint64(n)
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	x = (x | x<<4) & 0x0f0f0f0f0f0f0f0f
	x = (x | x<<2) & 0x3333333333333333
	return (x | x<<1) & 0x5555555555555555
}

// gather takes every other bit, beginning with bit 0.
func gather(x uint64) uint32 {
	x &= 0x5555555555555555
	x = (x | x>>1) & 0x3333333333333333
	x = (x | x>>2) & 0x0f0f0f0f0f0f0f0f
	x = (x | x>>4) & 0x00ff00ff00ff00ff
	x = (x | x>>8) & 0x0000ffff0000ffff
	return uint32(x | x>>16)
}

// AppendHash appends the geohash of a place, 11 characters as geohash.org gives them: 5 bits each, of a map that goes to
// the poles. For the last one 52 bits are too few: it is always 0.
func AppendHash(dst []byte, lon, lat float64) []byte {
	const alphabet = "0123456789bcdefghjkmnpqrstuvwxyz"
	bits := cellOf(lon, lat, 90, stepMax).bits()
	for shift := 47; shift > 0; shift -= 5 {
		dst = append(dst, alphabet[bits>>shift&31])
	}
	return append(dst, alphabet[0])
}

func radians(degrees float64) float64 { return degrees * (math.Pi / 180) }
func degrees(radians float64) float64 { return radians / (math.Pi / 180) }

// Distance returns the distance of two places, in m.
func Distance(lon1, lat1, lon2, lat2 float64) float64 {
	v := math.Sin((radians(lon2) - radians(lon1)) / 2)
	if v == 0 {
		return latDistance(lat1, lat2)
	}
	φ1, φ2 := radians(lat1), radians(lat2)
	u := math.Sin((φ2 - φ1) / 2)
	a := float64(u*u) + float64(math.Cos(φ1)*math.Cos(φ2)*v*v)
	return 2 * earthRadius * math.Asin(math.Sqrt(min(a, 1)))
}

// latDistance returns the distance of two places on one meridian, in m.
func latDistance(lat1, lat2 float64) float64 {
	return earthRadius * math.Abs(radians(lat2)-radians(lat1))
}
