package server

const (
	perSorted    = "O(N+M*log(N)) where N is the number of elements and M of those returned, O(N) if nothing is sorted."
	sortedSyntax = "key:key [BY by-pattern:pattern] [LIMIT limit=(offset:integer count:integer)] [GET get-pattern:pattern...] order=[ASC|DESC] [ALPHA]"
)

var sortDocs = map[string]doc{
	"sort":    {complexity: perSorted, syntax: sortedSyntax + " [STORE destination:key]"},
	"sort_ro": {complexity: perSorted, syntax: sortedSyntax},
}
