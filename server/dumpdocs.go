package server

var dumpDocs = map[string]doc{
	"dump":    {complexity: "O(1) to find the key and O(N*M) to serialize it, where N is the number of elements and M their average size. For small strings O(1).", syntax: "key:key", tips: unstable},
	"restore": {complexity: "O(1) to create the key and O(N*M) to build its value, where N is the number of elements and M their average size; O(N*M*log(N)) for sorted sets. For small strings O(1).", syntax: "key:key ttl:integer serialized-value [REPLACE@3.0.0] [ABSTTL@5.0.0] [IDLETIME seconds:integer@5.0.0] [FREQ frequency:integer@5.0.0]"},
}
