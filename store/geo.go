package store

import (
	"cmp"
	"slices"

	"kvserver/store/geo"
)

// GeoOrder is the order of what a search finds.
type GeoOrder int

const (
	GeoUnordered GeoOrder = iota
	GeoNearestFirst
	GeoFarthestFirst
)

// GeoQuery is a search for places of a geospatial set, a sorted set with scores of package geo.
type GeoQuery struct {
	Area  geo.Area
	Order GeoOrder
	Count int  // at most so many; 0: all
	Any   bool // the first Count that are found, not those that come first in order
}

// GeoPoint is a place that was found.
type GeoPoint struct {
	Member   []byte
	Score    float64
	Lon, Lat float64
	Distance float64 // from the centre of the area, in m
}

// GeoSearch returns what a query finds. Members are valid until the view unlocks.
func (s *SortedSet) GeoSearch(q GeoQuery) []GeoPoint {
	found := geoResults{query: &q}
	for _, r := range q.Area.Ranges() {
		from, to := ScoreRange{Min: r.From, Max: r.To, MaxOpen: true}.ranks(s, false)
		s.Each(from, to, false, func(member []byte, score float64) bool {
			p := GeoPoint{Member: member, Score: score}
			p.Lon, p.Lat = geo.Place(score)
			var ok bool
			if p.Distance, ok = q.Area.Contains(p.Lon, p.Lat); ok && found.wants(&p) {
				p.Member = s.v.kept(member)
				found.add(p)
			}
			return !found.full()
		})
		if found.full() {
			break
		}
	}
	return found.sorted()
}

// geoResults are the points found so far. Where only the first few in order are wanted, more are never kept: the points
// are then a heap, the last one in order on top.
type geoResults struct {
	query  *GeoQuery
	points []geoResult
	seen   int
}

// A geoResult knows when it was found: of equally distant ones the earlier is first.
type geoResult struct {
	GeoPoint
	at int
}

// bounded tells whether the points are a heap.
func (g *geoResults) bounded() bool {
	return g.query.Count > 0 && !g.query.Any && g.query.Order != GeoUnordered
}

// full tells whether to look for more is pointless.
func (g *geoResults) full() bool {
	return g.query.Count > 0 && len(g.points) >= g.query.Count && !g.bounded()
}

// wants tells whether a point belongs to the results so far.
func (g *geoResults) wants(p *GeoPoint) bool {
	return !g.bounded() || len(g.points) < g.query.Count || g.compare(&geoResult{*p, g.seen}, &g.points[0]) < 0
}

// compare tells the order of results.
func (g *geoResults) compare(a, b *geoResult) int {
	order := cmp.Compare(a.Distance, b.Distance)
	if g.query.Order == GeoFarthestFirst {
		order = -order
	}
	return cmp.Or(order, a.at-b.at)
}

func (g *geoResults) add(p GeoPoint) {
	r := geoResult{p, g.seen}
	g.seen++
	switch {
	case !g.bounded():
		g.points = append(g.points, r)
	case len(g.points) < g.query.Count:
		g.points = append(g.points, r)
		g.up(len(g.points) - 1)
	default:
		g.points[0] = r
		g.down(0)
	}
}

func (g *geoResults) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if g.compare(&g.points[i], &g.points[parent]) <= 0 {
			return
		}
		g.points[i], g.points[parent] = g.points[parent], g.points[i]
		i = parent
	}
}

func (g *geoResults) down(i int) {
	for {
		last := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(g.points); child++ {
			if g.compare(&g.points[child], &g.points[last]) > 0 {
				last = child
			}
		}
		if last == i {
			return
		}
		g.points[i], g.points[last] = g.points[last], g.points[i]
		i = last
	}
}

// sorted returns the points in the order wanted.
func (g *geoResults) sorted() []GeoPoint {
	if g.query.Order != GeoUnordered {
		slices.SortFunc(g.points, func(a, b geoResult) int { return g.compare(&a, &b) })
	}
	points := make([]GeoPoint, len(g.points))
	for i := range g.points {
		points[i] = g.points[i].GeoPoint
	}
	return points
}

// GeoStore stores points as a sorted set, whatever the key held, and returns their number; none remove the key. The scores
// are those of the places or, with unit > 0, the distances in units of so many metres. event is the name of what happens.
func (v *View) GeoStore(key []byte, points []GeoPoint, unit float64, event string) int64 {
	elements := make([]ZElement, len(points))
	for i := range points {
		elements[i] = ZElement{points[i].Member, points[i].Score}
		if unit > 0 {
			elements[i].Score = points[i].Distance / unit
		}
	}
	sortElements(elements)
	b := zsetBuilder{v: v}
	for i := range elements {
		b.add(elements[i].Member, elements[i].Score)
	}
	b.store(key, event)
	return int64(len(points))
}
