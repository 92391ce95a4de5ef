package server

const perFunction = "O(N) where N is the number of functions."

// functionDocs: see docs.
var functionDocs = map[string]doc{
	"fcall":            {complexity: "Depends on the function that is executed.", syntax: "function " + scriptKeys},
	"fcall_ro":         {complexity: "Depends on the function that is executed.", syntax: "function " + scriptKeys},
	"function":         {complexity: dependsOnSub},
	"function|delete":  {complexity: perFunction, syntax: "library-name", tips: allShardsOK},
	"function|dump":    {complexity: perFunction},
	"function|flush":   {complexity: "O(1)", syntax: "async=[ASYNC|SYNC]", tips: allShardsOK},
	"function|help":    {complexity: "O(1)"},
	"function|kill":    {complexity: "O(1)", tips: "request_policy:all_shards response_policy:one_succeeded"},
	"function|list":    {complexity: perFunction, syntax: "[LIBRARYNAME library-name-pattern] [WITHCODE]", tips: unordered},
	"function|load":    {complexity: "O(N) where N is the length of the code, and what the code does.", syntax: "[REPLACE] function-code", tips: allShardsOK},
	"function|restore": {complexity: "O(N) where N is the length of the payload, and what the code in it does.", syntax: "serialized-value policy=[FLUSH|APPEND|REPLACE]", tips: allShardsOK},
	"function|stats":   {complexity: "O(1)", tips: unstable + " request_policy:all_shards response_policy:special"},
}
