package server

const (
	perMember      = "O(N) where N is the number of members given."
	perSetMember   = "O(N) where N is the number of members of the set."
	perSetsMember  = "O(N) where N is the number of members of all sets."
	perIntersected = "O(N*M) where N is the number of members of the smallest set and M the number of sets."
	perRandom      = "O(1) without a count, otherwise O(N) where N is the count."
)

var setDocs = map[string]doc{
	"sadd":        {complexity: perMember, syntax: "key:key member..."},
	"scard":       {complexity: "O(1)", syntax: "key:key"},
	"sdiff":       {complexity: perSetsMember, syntax: "key:key...", tips: unordered},
	"sdiffstore":  {complexity: perSetsMember, syntax: "destination:key key:key..."},
	"sinter":      {complexity: perIntersected, syntax: "key:key...", tips: unordered},
	"sintercard":  {complexity: perIntersected, syntax: "numkeys:integer key:key... [LIMIT limit:integer]"},
	"sinterstore": {complexity: perIntersected, syntax: "destination:key key:key..."},
	"sismember":   {complexity: "O(1)", syntax: "key:key member"},
	"smembers":    {complexity: perSetMember, syntax: "key:key", tips: unordered},
	"smismember":  {complexity: perMember, syntax: "key:key member..."},
	"smove":       {complexity: "O(1)", syntax: "source:key destination:key member"},
	"spop":        {complexity: perRandom, syntax: "key:key [count:integer@3.2.0]", tips: unstable},
	"srandmember": {complexity: perRandom, syntax: "key:key [count:integer@2.6.0]", tips: unstable},
	"srem":        {complexity: perMember, syntax: "key:key member..."},
	"sscan":       {complexity: "O(1) for every call, O(N) for a whole iteration, where N is the number of members of the set.", syntax: "key:key cursor:integer [MATCH pattern:pattern] [COUNT count:integer]", tips: unstable},
	"sunion":      {complexity: perSetsMember, syntax: "key:key...", tips: unordered},
	"sunionstore": {complexity: perSetsMember, syntax: "destination:key key:key..."},
}
