package server

// hyperloglogDocs are the docs of the commands on HyperLogLogs.
var hyperloglogDocs = map[string]doc{
	"pfadd":      {complexity: "O(1) for every element; while the value is small, O(N) where N is its length.", syntax: "key:key [element...]"},
	"pfcount":    {complexity: "O(1) with one key whose number is known. Otherwise O(N) where N is the number of keys, each of which takes some 10 microseconds.", syntax: "key:key..."},
	"pfdebug":    {complexity: "O(1)", syntax: "subcommand key:key"},
	"pfmerge":    {complexity: perKey, syntax: "destkey:key [sourcekey:key...]"},
	"pfselftest": {complexity: "O(1)"},
}
