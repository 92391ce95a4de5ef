package server

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unsafe"

	"kvserver/store"
	"kvserver/store/geo"
)

// geoRows follow the order of Redis's documentation.
var geoRows = []row{
	{"geoadd", -5, write | denyoom, specs{keysAt(kRW|kUpdate, 1, 1, 1)}, "3.2.0", "Adds places to a geospatial set, or moves them. Creates the key if it doesn't exist.", geoAdd},
	{"geodist", -4, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "3.2.0", "Returns the distance between two members of a geospatial set.", geoDist},
	{"geohash", -2, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "3.2.0", "Returns the geohashes of members of a geospatial set.", geoHash},
	{"geopos", -2, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "3.2.0", "Returns the longitude and latitude of members of a geospatial set.", geoPos},
	{"georadius", -6, write | denyoom, specs{keysAt(kRO|kAccess, 1, 1, 1), keyAfter(kOW|kUpdate, "STORE", 6), keyAfter(kOW|kUpdate, "STOREDIST", 6)}, "3.2.0", "Returns, or stores, the members of a geospatial set within a distance of a place.", geoRadius},
	{"georadius_ro", -6, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "3.2.10", "Returns the members of a geospatial set within a distance of a place.", geoRadiusRO},
	{"georadiusbymember", -5, write | denyoom, specs{keysAt(kRO|kAccess, 1, 1, 1), keyAfter(kOW|kUpdate, "STORE", 5), keyAfter(kOW|kUpdate, "STOREDIST", 5)}, "3.2.0", "Returns, or stores, the members of a geospatial set within a distance of one of them.", geoRadiusByMember},
	{"georadiusbymember_ro", -5, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "3.2.10", "Returns the members of a geospatial set within a distance of one of them.", geoRadiusByMemberRO},
	{"geosearch", -7, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "6.2.0", "Returns the members of a geospatial set within a circle or a box.", geoSearch},
	{"geosearchstore", -8, write | denyoom, specs{keysAt(kOW|kUpdate, 1, 1, 1), keysAt(kRO|kAccess, 2, 2, 1)}, "6.2.0", "Stores the members of a geospatial set within a circle or a box in a key.", geoSearchStore},
}

const errNotAMember = "ERR could not decode requested zset member"

// geoPlace reads longitude and latitude.
func geoPlace(args [][]byte) (lon, lat float64, problem string) {
	lon, ok := store.ParseDouble(args[0])
	if !ok {
		return 0, 0, errNotFloat
	}
	if lat, ok = store.ParseDouble(args[1]); !ok {
		return 0, 0, errNotFloat
	}
	if !geo.Valid(lon, lat) {
		return 0, 0, fmt.Sprintf("ERR invalid longitude,latitude pair %s,%s", sixDecimals(lon), sixDecimals(lat))
	}
	return lon, lat, ""
}

func sixDecimals(f float64) string {
	if math.IsInf(f, 0) {
		return string(store.AppendDouble(nil, f))
	}
	return strconv.FormatFloat(f, 'f', 6, 64)
}

// geoUnit returns a unit of length in metres.
func geoUnit(arg []byte) (metres float64, problem string) {
	switch strings.ToUpper(string(clip(arg, 3))) {
	case "M":
		return 1, ""
	case "KM":
		return 1000, ""
	case "FT":
		return 0.3048, ""
	case "MI":
		return 1609.34, ""
	}
	return 0, "ERR unsupported unit provided. please use M, KM, FT, MI"
}

func geoAdd(c *client, args [][]byte) {
	var o zaddArgs
	places := args[2:]
	for ; len(places) > 0; places = places[1:] {
		switch {
		case bytes.EqualFold(places[0], []byte("NX")):
			o.IfMissing = true
			continue
		case bytes.EqualFold(places[0], []byte("XX")):
			o.IfExists = true
			continue
		case bytes.EqualFold(places[0], []byte("CH")):
			o.changed = true
			continue
		}
		break
	}
	if len(places) == 0 || len(places)%3 != 0 || o.IfMissing && o.IfExists {
		c.fail(errSyntax)
		return
	}
	elements := make([]store.ZElement, 0, len(places)/3)
	for ; len(places) > 0; places = places[3:] {
		lon, lat, problem := geoPlace(places)
		if problem != "" {
			c.fail(problem)
			return
		}
		elements = append(elements, store.ZElement{Member: places[2], Score: geo.Score(lon, lat)})
	}
	r, err := c.view.ZAdd(args[1], elements, o.ZAddOptions)
	switch {
	case err != nil:
		c.failWith(err)
	case o.changed:
		c.int(r.Added + r.Updated)
	default:
		c.int(r.Added)
	}
}

func geoPos(c *client, args [][]byte) {
	c.eachPlace(args, c.nullArray, func(lon, lat float64) { c.coordinates(lon, lat) })
}

func geoHash(c *client, args [][]byte) {
	c.eachPlace(args, c.null, func(lon, lat float64) {
		var hash [11]byte
		c.bulk(geo.AppendHash(hash[:0], lon, lat))
	})
}

// eachPlace answers with an array of what show gives for the place of each member, and missing for those that there are
// not.
func (c *client) eachPlace(args [][]byte, missing func(), show func(lon, lat float64)) {
	s, ok := c.readSorted(args[1])
	if !ok {
		return
	}
	c.array(len(args) - 2)
	for _, member := range args[2:] {
		if score, ok := s.Score(member); ok {
			show(geo.Place(score))
		} else {
			missing()
		}
	}
}

// coordinates appends a place, with 17 decimals at most.
func (w *writer) coordinates(lon, lat float64) {
	w.array(2)
	for _, f := range [2]float64{lon, lat} {
		var digits [32]byte
		text := bytes.TrimRight(strconv.AppendFloat(digits[:0], f, 'f', 17, 64), "0")
		text = bytes.TrimSuffix(text, []byte("."))
		if w.resp3 {
			w.buf = append(append(append(w.buf, ','), text...), '\r', '\n')
		} else {
			w.bulk(text)
		}
	}
}

// distance appends a length with four decimals.
func (w *writer) distance(f float64) {
	var digits [32]byte
	w.bulk(strconv.AppendFloat(digits[:0], f, 'f', 4, 64))
}

func geoDist(c *client, args [][]byte) {
	unit, problem := 1.0, ""
	switch {
	case len(args) == 5:
		unit, problem = geoUnit(args[4])
	case len(args) > 5:
		problem = errSyntax
	}
	if problem != "" {
		c.fail(problem)
		return
	}
	s, ok := c.readSorted(args[1])
	if !ok {
		return
	}
	from, ok1 := s.Score(args[2])
	to, ok2 := s.Score(args[3])
	if !ok1 || !ok2 {
		c.null()
		return
	}
	lon1, lat1 := geo.Place(from)
	lon2, lat2 := geo.Place(to)
	c.distance(geo.Distance(lon1, lat1, lon2, lat2) / unit)
}

// geoArgs are the arguments of GEOSEARCH and GEORADIUS. As in Redis, the key is looked up before they are read: a value of
// another type, or a member that is not there, is reported before what is wrong with the arguments after it.
type geoArgs struct {
	store.GeoQuery
	unit                          float64 // m
	withDist, withHash, withCoord bool
	dst                           []byte // where to store the result; nil: nowhere
	storeDist                     bool

	set                store.SortedSet
	search             bool // the area is among the options, as in GEOSEARCH
	mayStore           bool // STORE and STOREDIST are options, as in GEORADIUS
	fromMember, fromAt bool
	byRadius, byBox    bool
}

func geoRadius(c *client, args [][]byte) {
	c.geoRadius(args, geoArgs{mayStore: true})
}

func geoRadiusRO(c *client, args [][]byte) { c.geoRadius(args, geoArgs{}) }

// geoRadius runs "key longitude latitude radius unit".
func (c *client) geoRadius(args [][]byte, o geoArgs) {
	var ok bool
	if o.set, ok = c.readSorted(args[1]); !ok {
		return
	}
	problem := o.setPlace(args[2:])
	if problem == "" {
		problem = o.setCircle(args[4:])
	}
	c.runGeoSearch(&o, problem, args, args[6:])
}

func geoRadiusByMember(c *client, args [][]byte) {
	c.geoRadiusByMember(args, geoArgs{mayStore: true})
}

func geoRadiusByMemberRO(c *client, args [][]byte) { c.geoRadiusByMember(args, geoArgs{}) }

// geoRadiusByMember runs "key member radius unit". Redis does not read the radius if there is no key.
func (c *client) geoRadiusByMember(args [][]byte, o geoArgs) {
	var ok bool
	if o.set, ok = c.readSorted(args[1]); !ok {
		return
	}
	problem := o.setMember(args[2])
	if problem == "" && o.set.Exists() {
		problem = o.setCircle(args[3:])
	}
	c.runGeoSearch(&o, problem, args, args[5:])
}

func geoSearch(c *client, args [][]byte) { c.geoSearch(args, args[1], geoArgs{search: true}, args[2:]) }

func geoSearchStore(c *client, args [][]byte) {
	c.geoSearch(args, args[2], geoArgs{search: true, dst: args[1]}, args[3:])
}

func (c *client) geoSearch(args [][]byte, key []byte, o geoArgs, options [][]byte) {
	var ok bool
	if o.set, ok = c.readSorted(key); ok {
		c.runGeoSearch(&o, "", args, options)
	}
}

// setPlace reads the centre of the area.
func (o *geoArgs) setPlace(args [][]byte) (problem string) {
	o.Area.Lon, o.Area.Lat, problem = geoPlace(args)
	return problem
}

// setMember makes a member the centre; without a set any will do.
func (o *geoArgs) setMember(member []byte) (problem string) {
	if !o.set.Exists() {
		return ""
	}
	score, ok := o.set.Score(member)
	if !ok {
		return errNotAMember
	}
	o.Area.Lon, o.Area.Lat = geo.Place(score)
	return ""
}

// setCircle reads "radius unit".
func (o *geoArgs) setCircle(args [][]byte) (problem string) {
	radius, ok := store.ParseDouble(args[0])
	switch {
	case !ok:
		return "ERR need numeric radius"
	case radius < 0:
		return "ERR radius cannot be negative"
	}
	if o.unit, problem = geoUnit(args[1]); problem != "" {
		return problem
	}
	o.Area.Box, o.Area.Radius = false, radius*o.unit
	return ""
}

// setBox reads "width height unit".
func (o *geoArgs) setBox(args [][]byte) (problem string) {
	width, ok := store.ParseDouble(args[0])
	if !ok {
		return "ERR need numeric width"
	}
	height, ok := store.ParseDouble(args[1])
	switch {
	case !ok:
		return "ERR need numeric height"
	case width < 0 || height < 0:
		return "ERR height or width cannot be negative"
	}
	if o.unit, problem = geoUnit(args[2]); problem != "" {
		return problem
	}
	o.Area.Box, o.Area.Width, o.Area.Height = true, width*o.unit, height*o.unit
	return ""
}

// option reads the option at the beginning of args and returns how many arguments it has, itself included.
func (o *geoArgs) option(args [][]byte) (used int, problem string) {
	name, rest := strings.ToUpper(string(clip(args[0], 11))), args[1:]
	switch {
	case name == "WITHDIST":
		o.withDist = true
	case name == "WITHHASH":
		o.withHash = true
	case name == "WITHCOORD":
		o.withCoord = true
	case name == "ANY":
		o.Any = true
	case name == "ASC":
		o.Order = store.GeoNearestFirst
	case name == "DESC":
		o.Order = store.GeoFarthestFirst
	case name == "COUNT" && len(rest) >= 1:
		n, ok := parseInt(rest[0])
		switch {
		case !ok:
			return 0, errNotInteger
		case n <= 0:
			return 0, "ERR COUNT must be > 0"
		}
		o.Count = int(n)
		return 2, ""
	case name == "STORE" && o.mayStore && len(rest) >= 1:
		o.dst, o.storeDist = rest[0], false
		return 2, ""
	case name == "STOREDIST" && o.mayStore && len(rest) >= 1:
		o.dst, o.storeDist = rest[0], true
		return 2, ""
	case name == "STOREDIST" && o.search && o.dst != nil:
		o.storeDist = true
	case o.search:
		return o.areaOption(name, rest)
	default:
		return 0, errSyntax
	}
	return 1, ""
}

// areaOption reads the options that say where to search.
func (o *geoArgs) areaOption(name string, rest [][]byte) (used int, problem string) {
	switch {
	case name == "FROMMEMBER" && len(rest) >= 1 && !o.fromAt:
		o.fromMember = true
		return 2, o.setMember(rest[0])
	case name == "FROMLONLAT" && len(rest) >= 2 && !o.fromMember:
		o.fromAt = true
		return 3, o.setPlace(rest)
	case name == "BYRADIUS" && len(rest) >= 2 && !o.byBox:
		o.byRadius = true
		return 3, o.setCircle(rest)
	case name == "BYBOX" && len(rest) >= 3 && !o.byRadius:
		o.byBox = true
		return 4, o.setBox(rest)
	}
	return 0, errSyntax
}

// problem is what is wrong with the options together, if anything is.
func (o *geoArgs) problem(c *client, args [][]byte) string {
	switch {
	case o.dst != nil && (o.withDist || o.withHash || o.withCoord):
		name := "STORE option in GEORADIUS"
		if o.search {
			name = "GEOSEARCHSTORE"
		}
		return "ERR " + name + " is not compatible with WITHDIST, WITHHASH and WITHCOORD options"
	case o.search && !o.fromMember && !o.fromAt:
		return "ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for " + string(clip(args[0], nameBytesMax))
	case o.search && !o.byRadius && !o.byBox:
		return "ERR exactly one of BYRADIUS and BYBOX can be specified for " + string(clip(args[0], nameBytesMax))
	case o.Any && o.Count == 0:
		return "ERR the ANY argument requires COUNT argument"
	case o.dst != nil && !c.locked(o.dst, args):
		return errSyntax // STORE given twice: Redis takes the last, and locks nothing
	}
	return ""
}

// locked reports whether an argument is one of the keys that the command's specs find.
func (c *client) locked(key []byte, args [][]byte) bool {
	for _, k := range c.cmd.appendKeys(nil, args) {
		if unsafe.SliceData(k) == unsafe.SliceData(key) && len(k) == len(key) {
			return true
		}
	}
	return false
}

// runGeoSearch reads the options, unless something before them was wrong, and answers.
func (c *client) runGeoSearch(o *geoArgs, problem string, args, options [][]byte) {
	for len(options) > 0 && problem == "" {
		var used int
		used, problem = o.option(options)
		options = options[used:]
	}
	if problem == "" {
		problem = o.problem(c, args)
	}
	if problem != "" {
		c.fail(problem)
		return
	}
	if o.Count > 0 && o.Order == store.GeoUnordered && !o.Any {
		o.Order = store.GeoNearestFirst
	}
	var points []store.GeoPoint
	if o.set.Exists() {
		points = o.set.GeoSearch(o.GeoQuery)
	}
	switch {
	case o.dst == nil:
		c.geoPoints(points, o)
	default:
		event, unit := "georadiusstore", 0.0
		if o.search {
			event = "geosearchstore"
		}
		if o.storeDist {
			unit = o.unit
		}
		c.int(c.view.GeoStore(o.dst, points, unit, event))
	}
}

// geoPoints answers with what a search found.
func (c *client) geoPoints(points []store.GeoPoint, o *geoArgs) {
	fields := 1
	for _, with := range [...]bool{o.withDist, o.withHash, o.withCoord} {
		if with {
			fields++
		}
	}
	c.array(len(points))
	for i := range points {
		p := &points[i]
		if fields > 1 {
			c.array(fields)
		}
		c.bulk(p.Member)
		if o.withDist {
			c.distance(p.Distance / o.unit)
		}
		if o.withHash {
			c.int(int64(p.Score))
		}
		if o.withCoord {
			c.coordinates(p.Lon, p.Lat)
		}
	}
}
