package server

const (
	popSide         = "(LEFT|RIGHT)"
	perElement      = "O(N) where N is the number of elements to be passed over, from the nearer end on."
	perElementAdded = "O(N) where N is the number of elements added."
	perElementTaken = "O(N) where N is the number of elements returned."
	perElementAll   = "O(N) where N is the length of the list."
	perKeyAndTaken  = "O(N+M) where N is the number of keys and M is the number of elements returned."
)

// listDocs: see docs.
var listDocs = map[string]doc{
	"blmove":     {complexity: "O(1)", syntax: "source:key destination:key wherefrom=" + popSide + " whereto=" + popSide + " timeout:double"},
	"blmpop":     {complexity: perKeyAndTaken, syntax: "timeout:double numkeys:integer key:key... where=" + popSide + " [COUNT count:integer]"},
	"blpop":      {complexity: perKey, syntax: "key:key... timeout:double"},
	"brpop":      {complexity: perKey, syntax: "key:key... timeout:double"},
	"brpoplpush": {complexity: "O(1)", syntax: "source:key destination:key timeout:double", deprecated: "6.2.0", instead: "`BLMOVE` with the `RIGHT` and `LEFT` arguments"},
	"lindex":     {complexity: perElement, syntax: "key:key index:integer"},
	"linsert":    {complexity: "O(N) where N is the number of elements before the pivot.", syntax: "key:key where=(BEFORE|AFTER) pivot element"},
	"llen":       {complexity: "O(1)", syntax: "key:key"},
	"lmove":      {complexity: "O(1)", syntax: "source:key destination:key wherefrom=" + popSide + " whereto=" + popSide},
	"lmpop":      {complexity: perKeyAndTaken, syntax: "numkeys:integer key:key... where=" + popSide + " [COUNT count:integer]"},
	"lpop":       {complexity: perElementTaken, syntax: "key:key [count:integer@6.2.0]"},
	"lpos":       {complexity: "O(N) where N is the number of elements looked at.", syntax: "key:key element [RANK rank:integer] [COUNT num-matches:integer] [MAXLEN len:integer]"},
	"lpush":      {complexity: perElementAdded, syntax: "key:key element..."},
	"lpushx":     {complexity: perElementAdded, syntax: "key:key element..."},
	"lrange":     {complexity: "O(S+N) where S is the distance of the first element from the nearer end and N is the number of elements returned.", syntax: "key:key start:integer stop:integer"},
	"lrem":       {complexity: perElementAll, syntax: "key:key count:integer element"},
	"lset":       {complexity: perElement, syntax: "key:key index:integer element"},
	"ltrim":      {complexity: "O(N) where N is the number of elements removed.", syntax: "key:key start:integer stop:integer"},
	"rpop":       {complexity: perElementTaken, syntax: "key:key [count:integer@6.2.0]"},
	"rpoplpush":  {complexity: "O(1)", syntax: "source:key destination:key", deprecated: "6.2.0", instead: "`LMOVE` with the `RIGHT` and `LEFT` arguments"},
	"rpush":      {complexity: perElementAdded, syntax: "key:key element..."},
	"rpushx":     {complexity: perElementAdded, syntax: "key:key element..."},
}
