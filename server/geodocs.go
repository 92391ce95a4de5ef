package server

const (
	geoUnits   = "unit=(M|KM|FT|MI)"
	geoArea    = "from=(FROMMEMBER member|FROMLONLAT longitude_latitude=(longitude:double latitude:double)) by=(circle=(BYRADIUS radius:double " + geoUnits + ")|box=(BYBOX width:double height:double " + geoUnits + "))"
	geoSorted  = "order=[ASC|DESC] count=[COUNT count:integer [ANY]]"
	geoWith    = "[WITHCOORD] [WITHDIST] [WITHHASH]"
	geoStored  = "[STORE key:key] [STOREDIST key:key]"
	perPlace   = "O(log(N)) for each member, where N is the number of elements."
	perGeoArea = "O(N+log(M)) where N is the number of elements in the cells around the area, at most nine, and M is the number of elements."
)

// geoDocs are the docs of the commands on geospatial sets.
var geoDocs = map[string]doc{
	"geoadd":               {complexity: perPlace, syntax: "key:key condition=[NX|XX]@6.2.0 [change=CH@6.2.0] longitude_latitude_member=(longitude:double latitude:double member)..."},
	"geodist":              {complexity: "O(log(N)) where N is the number of elements.", syntax: "key:key member1 member2 unit=[M|KM|FT|MI]"},
	"geohash":              {complexity: perPlace, syntax: "key:key member..."},
	"geopos":               {complexity: perPlace, syntax: "key:key member..."},
	"georadius":            {complexity: perGeoArea, syntax: "key:key longitude:double latitude:double radius:double " + geoUnits + " " + geoWith + " count=[COUNT count:integer [ANY@6.2.0]] order=[ASC|DESC] " + geoStored, deprecated: "6.2.0", instead: "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` argument"},
	"georadius_ro":         {complexity: perGeoArea, syntax: "key:key longitude:double latitude:double radius:double " + geoUnits + " " + geoWith + " count=[COUNT count:integer [ANY@6.2.0]] order=[ASC|DESC]", deprecated: "6.2.0", instead: "`GEOSEARCH` with the `BYRADIUS` argument"},
	"georadiusbymember":    {complexity: perGeoArea, syntax: "key:key member radius:double " + geoUnits + " " + geoWith + " count=[COUNT count:integer [ANY]] order=[ASC|DESC] " + geoStored, deprecated: "6.2.0", instead: "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` and `FROMMEMBER` arguments"},
	"georadiusbymember_ro": {complexity: perGeoArea, syntax: "key:key member radius:double " + geoUnits + " " + geoWith + " count=[COUNT count:integer [ANY]] order=[ASC|DESC]", deprecated: "6.2.0", instead: "`GEOSEARCH` with the `BYRADIUS` and `FROMMEMBER` arguments"},
	"geosearch":            {complexity: perGeoArea, syntax: "key:key " + geoArea + " " + geoSorted + " " + geoWith},
	"geosearchstore":       {complexity: perGeoArea, syntax: "destination:key source:key " + geoArea + " " + geoSorted + " [STOREDIST]"},
}
