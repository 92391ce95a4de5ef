package geo

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// The scores, and the places that came back, are what redis-server 7.0.15 made of the coordinates.
func TestScore(t *testing.T) {
	for _, c := range []struct{ lon, lat, score, lonBack, latBack float64 }{
		{13.361389, 38.115556, 3479099956230698, 13.36138933897018433, 38.11555639549629859},
		{15.087269, 37.502669, 3479447370796909, 15.08726745843887329, 37.50266842333162032},
		{180, 85.05112878, 13510798882111488, 180, 85.0511287799999991},
		{180, 0, 10133099161583616, 180, 0.00000126736058093},
		{-180, -85.05112878, 0, -179.99999731779098511, -85.05112751263942528},
		{0, 85.05112878, 6755399441055744, 0.00000268220901489, 85.0511287799999991},
	} {
		if got := Score(c.lon, c.lat); got != c.score {
			t.Errorf("the score of %g, %g is %.0f, want %.0f", c.lon, c.lat, got, c.score)
		}
		lon, lat := Place(c.score)
		if math.Abs(lon-c.lonBack) > 1e-16 || math.Abs(lat-c.latBack) > 1e-7 {
			t.Errorf("the place of %.0f is %.17f, %.17f, want %.17f, %.17f", c.score, lon, lat, c.lonBack, c.latBack)
		}
	}
}

func TestValid(t *testing.T) {
	for _, c := range []struct {
		lon, lat float64
		valid    bool
	}{
		{0, 0, true}, {180, 85.05112878, true}, {-180, -85.05112878, true}, {180.000001, 0, false}, {0, 85.0511288, false},
		{math.Inf(1), 0, false}, {0, math.NaN(), false},
	} {
		if Valid(c.lon, c.lat) != c.valid {
			t.Errorf("%g, %g: valid is not %v", c.lon, c.lat, c.valid)
		}
	}
}

// randomPlace draws places, many of them at limits and around the 180th meridian. (The draws of rapid are mostly small
// numbers, which do not fill a map.)
func randomPlace(random *rand.Rand) (lon, lat float64) {
	lon, lat = 360*random.Float64()-180, LatMax*(2*random.Float64()-1)
	if random.IntN(3) == 0 {
		lon = []float64{-180, 180, 179.9999, -179.9999, 0, 90}[random.IntN(6)]
	}
	if random.IntN(3) == 0 {
		lat = []float64{-LatMax, LatMax, 85, -85, 84, 82, 0, 66, 80}[random.IntN(9)]
	}
	return lon, lat
}

// TestPlaceOfScore: what is decoded lies in the cell that was encoded, and encodes to the same score.
func TestPlaceOfScore(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		lon, lat := randomPlace(random)
		score := Score(lon, lat)
		lon2, lat2 := Place(score)
		if math.Abs(lon-lon2) > 181.0/(1<<26) || math.Abs(lat-lat2) > 4*85.1/(1<<26) {
			t.Fatalf("%v, %v came back as %v, %v", lon, lat, lon2, lat2)
		}
		if lon < 180 && lat < LatMax && Score(lon2, lat2) != score {
			t.Fatalf("score %.0f came back as %.0f", score, Score(lon2, lat2))
		}
	}
}

func TestPlaceOfAnyScore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		score := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.Inf(1), math.Inf(-1), -1, 1 << 63, 1 << 54})).Draw(t, "score")
		if lon, lat := Place(score); !Valid(lon, lat) {
			t.Fatalf("%g stands for %g, %g", score, lon, lat)
		}
	})
}

func TestAppendHash(t *testing.T) {
	for _, c := range []struct {
		lon, lat float64
		want     string
	}{
		{13.36138933897018433, 38.11555639549629859, "sqc8b49rny0"},
		{15.08726745843887329, 37.50266842333162032, "sqdtr74hyu0"},
		{180, 85.0511287799999991, "bp05b5048p0"},
		{-179.99999731779098511, -85.05112751263942528, "00bh0hbj200"},
	} {
		if got := string(AppendHash(nil, c.lon, c.lat)); got != c.want {
			t.Errorf("the hash of %g, %g is %s, want %s", c.lon, c.lat, got, c.want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct{ lon1, lat1, lon2, lat2, want float64 }{
		{13.36138933897018433, 38.11555639549629859, 15.08726745843887329, 37.50266842333162032, 166274.1516},
		{0, 0, 0, 0, 0},
		{0, 10, 0, 11, 1.0 / 180 * math.Pi * earthRadius},
		{0, 0, 180, 0, math.Pi * earthRadius},
		{-90, 0, 90, 0, math.Pi * earthRadius},
		{179, 0, -179, 0, 2.0 / 180 * math.Pi * earthRadius},
	} {
		if got := Distance(c.lon1, c.lat1, c.lon2, c.lat2); math.Abs(got-c.want) > 0.0001 {
			t.Errorf("from %g, %g to %g, %g are %.4f m, want %.4f", c.lon1, c.lat1, c.lon2, c.lat2, got, c.want)
		}
	}
}

// randomArea draws circles and boxes of all sizes, alike many of each order of magnitude.
func randomArea(random *rand.Rand) Area {
	size := func() float64 {
		if random.IntN(50) == 0 {
			return []float64{0, math.Inf(1)}[random.IntN(2)]
		}
		return math.Pow(10, 8*random.Float64()-0.3)
	}
	lon, lat := randomPlace(random)
	if random.IntN(2) == 0 {
		return Area{Lon: lon, Lat: lat, Box: true, Width: size(), Height: size()}
	}
	return Area{Lon: lon, Lat: lat, Radius: size()}
}

func (r ScoreRange) holds(score float64) bool { return score >= r.From && score < r.To }

// TestRangesCover: every place in an area has a score in exactly one of its ranges. Places are drawn around the centre, at
// distances that are about the area's size, since those far away prove little.
func TestRangesCover(t *testing.T) {
	for seed := range uint64(20_000) {
		random := rand.New(rand.NewPCG(seed, 3))
		a := randomArea(random)
		ranges := a.Ranges()
		up := min(degrees(max(a.Radius, a.Height/2)/earthRadius), 180)
		aside := min(degrees(max(a.Radius, a.Width/2)/earthRadius)/math.Cos(radians(a.Lat))*1.5, 180)
		for range 40 {
			lon := math.Remainder(a.Lon+(2*random.Float64()-1)*aside, 360)
			lat := min(max(a.Lat+(2*random.Float64()-1)*up, -LatMax), LatMax)
			if random.IntN(20) == 0 {
				lon = 180
			}
			score := Score(lon, lat)
			in := 0
			for _, r := range ranges {
				if r.holds(score) {
					in++
				}
			}
			_, inside := a.Contains(Place(score))
			if in > 1 || in == 0 && inside {
				t.Fatalf("seed %d, %+v: %v, %v is inside: %v, and in %d of the ranges", seed, a, lon, lat, inside, in)
			}
		}
	}
}

// TestRangesOfWideBox has a place that Redis's own bounds of the box leave out.
func TestRangesOfWideBox(t *testing.T) {
	a := Area{Lat: 59.5, Box: true, Width: 5e6, Height: 1}
	score := Score(-45.12707656599273, 59.5)
	if _, ok := a.Contains(Place(score)); !ok {
		t.Fatal("the place is not in the box")
	}
	for _, r := range a.Ranges() {
		if r.holds(score) {
			return
		}
	}
	t.Error("the place is in none of the ranges")
}

// TestRangesOfOnePlace: a place is found from itself, also where scores have more bits than a float64 holds.
func TestRangesOfOnePlace(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 5))
	for range 5000 {
		score := Score(randomPlace(random))
		a := Area{Radius: []float64{0, 0.2, 1}[random.IntN(3)]}
		a.Lon, a.Lat = Place(score)
		in := 0
		for _, r := range a.Ranges() {
			if r.holds(score) {
				in++
			}
		}
		if in != 1 {
			t.Fatalf("%+v: its own score %.0f is in %d of the ranges", a, score, in)
		}
	}
}

// TestRangesAreFew: searching near a place must not mean to look at half the earth.
func TestRangesAreFew(t *testing.T) {
	for _, c := range []struct {
		a    Area
		most float64 // share of all scores
	}{
		{Area{Lon: 13, Lat: 38, Radius: 100}, 1e-8},
		{Area{Lon: 13, Lat: 38, Radius: 10_000}, 1e-4},
		{Area{Lon: 13, Lat: 38, Radius: 200_000}, 5e-3},
		{Area{Lon: -180, Lat: 0, Radius: 1000}, 1e-6},
		{Area{Lon: 179.99, Lat: -20, Radius: 5000}, 1e-4},
		{Area{Lon: 20, Lat: 78, Radius: 10_000}, 1e-3},
		{Area{Lon: 13, Lat: 38, Box: true, Width: 1000, Height: 1000}, 1e-6},
	} {
		total := 0.0
		for _, r := range c.a.Ranges() {
			total += (r.To - r.From) / (1 << 52)
		}
		if total > c.most {
			t.Errorf("%+v: its ranges have %.2g of all scores, more than %.2g", c.a, total, c.most)
		}
	}
}
