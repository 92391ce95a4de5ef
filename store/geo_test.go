package store

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"kvserver/store/geo"
)

// geoMap is a geospatial set and the model of it: every member with its place.
type geoMap struct {
	v      *View
	key    []byte
	random *rand.Rand
	places []GeoPoint
}

// newGeoMap makes a set of members around one place, so that searches there find some of them, and all over the world.
func newGeoMap(t *testing.T, seed uint64, members int) *geoMap {
	m := &geoMap{v: alone(t), key: []byte("k"), random: rand.New(rand.NewPCG(seed, 9))}
	lon, lat := m.place()
	var elements []ZElement
	for i := range members {
		x, y := m.place()
		if i%2 == 0 {
			spread := math.Pow(10, -3*m.random.Float64())
			x = math.Remainder(lon+10*spread*m.random.NormFloat64(), 360)
			y = min(max(lat+10*spread*m.random.NormFloat64(), -geo.LatMax), geo.LatMax)
		}
		if i%50 == 1 { // two at one place
			x, y = geo.Place(elements[i-1].Score)
		}
		elements = append(elements, ZElement{fmt.Append(nil, "member ", i), geo.Score(x, y)})
	}
	if _, err := m.v.ZAdd(m.key, elements, ZAddOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, e := range elements {
		p := GeoPoint{Member: e.Member, Score: e.Score}
		p.Lon, p.Lat = geo.Place(e.Score)
		m.places = append(m.places, p)
	}
	return m
}

func (m *geoMap) place() (lon, lat float64) {
	lon, lat = 360*m.random.Float64()-180, geo.LatMax*(2*m.random.Float64()-1)
	if m.random.IntN(8) == 0 {
		lon = []float64{-180, 180, 179.999}[m.random.IntN(3)]
	}
	if m.random.IntN(8) == 0 {
		lat = []float64{-geo.LatMax, geo.LatMax, 84.9}[m.random.IntN(3)]
	}
	return lon, lat
}

// query draws a search around a member or another place.
func (m *geoMap) query() GeoQuery {
	size := func() float64 { return math.Pow(10, 2+5.5*m.random.Float64()) }
	q := GeoQuery{Order: GeoOrder(m.random.IntN(3))}
	q.Area.Lon, q.Area.Lat = m.place()
	if m.random.IntN(3) > 0 {
		p := m.places[m.random.IntN(len(m.places))]
		q.Area.Lon, q.Area.Lat = p.Lon, p.Lat
	}
	if m.random.IntN(2) == 0 {
		q.Area.Box, q.Area.Width, q.Area.Height = true, size(), size()
	} else {
		q.Area.Radius = size()
	}
	if q.Order != GeoUnordered && m.random.IntN(2) == 0 {
		q.Count = 1 + m.random.IntN(20)
	}
	return q
}

// inside returns the places in an area, by looking at all of them.
func (m *geoMap) inside(a *geo.Area) (found []GeoPoint) {
	for _, p := range m.places {
		var ok bool
		if p.Distance, ok = a.Contains(p.Lon, p.Lat); ok {
			found = append(found, p)
		}
	}
	return found
}

func byMember(a, b GeoPoint) int { return cmp.Compare(string(a.Member), string(b.Member)) }

// check compares what a query finds with the model. Of equally distant places any may come first.
func (m *geoMap) check(t *testing.T, q GeoQuery) {
	t.Helper()
	s, err := m.v.ReadSorted(m.key)
	if err != nil {
		t.Fatal(err)
	}
	got, want := s.GeoSearch(q), m.inside(&q.Area)
	switch q.Order {
	case GeoNearestFirst:
		slices.SortStableFunc(want, func(a, b GeoPoint) int { return cmp.Compare(a.Distance, b.Distance) })
	case GeoFarthestFirst:
		slices.SortStableFunc(want, func(a, b GeoPoint) int { return cmp.Compare(b.Distance, a.Distance) })
	}
	if q.Count > 0 {
		want = want[:min(q.Count, len(want))]
	}
	if len(got) != len(want) {
		t.Fatalf("%+v found %d places, want %d", q, len(got), len(want))
	}
	for i := range got {
		if q.Order != GeoUnordered && got[i].Distance != want[i].Distance {
			t.Fatalf("%+v: number %d is %v m away, want %v", q, i, got[i].Distance, want[i].Distance)
		}
	}
	if q.Count > 0 {
		return
	}
	slices.SortFunc(got, byMember)
	slices.SortFunc(want, byMember)
	for i := range got {
		if string(got[i].Member) != string(want[i].Member) || got[i].Score != want[i].Score || got[i].Distance != want[i].Distance ||
			got[i].Lon != want[i].Lon || got[i].Lat != want[i].Lat {
			t.Fatalf("%+v found %+v, want %+v", q, got[i], want[i])
		}
	}
}

func TestGeoSearchAgainstModel(t *testing.T) {
	for seed, members := range []int{1, 10, 100, 128, 129, 1000, 5000} {
		m := newGeoMap(t, uint64(seed), members)
		for range 200 {
			m.check(t, m.query())
		}
	}
}

func TestGeoSearchAny(t *testing.T) {
	m := newGeoMap(t, 1, 1000)
	s, _ := m.v.ReadSorted(m.key)
	for range 100 {
		q := m.query()
		q.Any, q.Count = true, 1+m.random.IntN(50)
		found := s.GeoSearch(q)
		if inside := m.inside(&q.Area); len(found) != min(len(inside), q.Count) {
			t.Fatalf("%+v found %d places of %d", q, len(found), len(inside))
		}
		for i, p := range found {
			if _, ok := q.Area.Contains(p.Lon, p.Lat); !ok {
				t.Fatalf("%+v found %s, which is outside", q, p.Member)
			}
			if i > 0 && (q.Order == GeoNearestFirst && p.Distance < found[i-1].Distance || q.Order == GeoFarthestFirst && p.Distance > found[i-1].Distance) {
				t.Fatalf("%+v: number %d is out of order", q, i)
			}
		}
	}
}

func TestGeoStore(t *testing.T) {
	for _, members := range []int{20, 2000} {
		m := newGeoMap(t, 2, members)
		q := GeoQuery{Area: geo.Area{Radius: 3e7}}
		s, _ := m.v.ReadSorted(m.key)
		points := s.GeoSearch(q)
		dst := []byte("dst")
		if n := m.v.GeoStore(dst, points, 0, "geosearchstore"); int(n) != members {
			t.Fatalf("%d stored", n)
		}
		m.key = dst
		m.check(t, q)
		wantEncoding := "listpack"
		if members > 128 {
			wantEncoding = "skiplist"
		}
		if got := m.v.Peek(dst).Encoding(); got != wantEncoding {
			t.Errorf("%d members: %s", members, got)
		}
		m.v.GeoStore(dst, points, 1000, "geosearchstore")
		stored, _ := m.v.ReadSorted(dst)
		for _, p := range points {
			if score, ok := stored.Score(p.Member); !ok || score != p.Distance/1000 {
				t.Fatalf("%s is stored with %v, want %v km", p.Member, score, p.Distance/1000)
			}
		}
		if n := m.v.GeoStore(dst, nil, 0, "geosearchstore"); n != 0 || m.v.Peek(dst).Exists() {
			t.Error("an empty result did not remove the key")
		}
	}
}

func TestGeoAccesses(t *testing.T) {
	v, report := counted(t)
	k := []byte("k")
	v.ZAdd(k, []ZElement{{[]byte("a"), geo.Score(1, 1)}}, ZAddOptions{})
	s, _ := v.ReadSorted(k)
	points := s.GeoSearch(GeoQuery{Area: geo.Area{Radius: 1e6}})
	v.GeoStore([]byte("dst"), points, 0, "geosearchstore")
	v.GeoStore([]byte("dst"), nil, 0, "geosearchstore")
	v.GeoStore([]byte("dst"), nil, 0, "geosearchstore")
	if got, want := report(), (map[string]uint64{"k": 2, "dst": 2}); !maps.Equal(got, want) {
		t.Errorf("accesses %v, want %v", got, want)
	}
}
