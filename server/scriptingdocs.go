package server

const (
	perScript   = "Depends on the script that is executed."
	scriptKeys  = "numkeys:integer [key:key...] [arg...]"
	perSHAAsked = "O(N) with N being the number of scripts to check (so checking a single script is an O(1) operation)."
)

var scriptingDocs = map[string]doc{
	"eval":          {complexity: perScript, syntax: "script " + scriptKeys},
	"eval_ro":       {complexity: perScript, syntax: "script " + scriptKeys},
	"evalsha":       {complexity: perScript, syntax: "sha1 " + scriptKeys},
	"evalsha_ro":    {complexity: perScript, syntax: "sha1 " + scriptKeys},
	"script":        {complexity: dependsOnSub},
	"script|debug":  {complexity: "O(1)", syntax: "mode=(YES|SYNC|NO)"},
	"script|exists": {complexity: perSHAAsked, syntax: "sha1...", tips: "request_policy:all_shards response_policy:agg_logical_and"},
	"script|flush":  {complexity: "O(N) with N being the number of scripts in cache", syntax: "flush-type=[ASYNC|SYNC]@6.2.0", tips: "request_policy:all_nodes response_policy:all_succeeded"},
	"script|help":   {complexity: "O(1)"},
	"script|kill":   {complexity: "O(1)", tips: "request_policy:all_shards response_policy:one_succeeded"},
	"script|load":   {complexity: "O(N) with N being the length in bytes of the script body.", syntax: "script", tips: "request_policy:all_nodes response_policy:all_succeeded"},
	"script|show":   {complexity: "O(1).", syntax: "sha1"},
}
