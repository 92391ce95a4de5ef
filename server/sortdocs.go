package server

const (
	perSorted    = "O(N+M*log(N)) where N is the number of elements and M of those returned, O(N) if nothing is sorted."
	sortedSyntax = "key:key [BY pattern:pattern#1] [LIMIT offset_count=(offset:integer count:integer)] [GET pattern:pattern#1+...] order=[ASC|DESC] [sorting=ALPHA]"
)

var sortDocs = map[string]doc{
	"sort":    {complexity: perSorted, syntax: sortedSyntax + " [STORE destination:key#2]"},
	"sort_ro": {complexity: perSorted, syntax: sortedSyntax},
}
