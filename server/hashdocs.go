package server

const (
	perField         = "O(N) where N is the number of fields."
	perFieldOfHash   = "O(N) where N is the size of the hash."
	fieldList        = "FIELDS fields=(numfields:integer field...)"
	fieldCondition   = "condition=[NX|XX|GT|LT] "
	fieldExpiration  = "EX seconds:integer|PX milliseconds:integer|EXAT unix-time-seconds:unix-time|PXAT unix-time-milliseconds:unix-time"
	fieldValueBlocks = "FIELDS fields=(numfields:integer data=(field value)...)"
)

var hashDocs = map[string]doc{
	"hdel":         {complexity: perField, syntax: "key:key field..."},
	"hexists":      {complexity: "O(1)", syntax: "key:key field"},
	"hexpire":      {complexity: perField, syntax: "key:key seconds:integer " + fieldCondition + fieldList},
	"hexpireat":    {complexity: perField, syntax: "key:key unix-time-seconds:unix-time " + fieldCondition + fieldList},
	"hexpiretime":  {complexity: perField, syntax: "key:key " + fieldList},
	"hget":         {complexity: "O(1)", syntax: "key:key field"},
	"hgetall":      {complexity: perFieldOfHash, syntax: "key:key", tips: unordered},
	"hgetdel":      {complexity: perField, syntax: "key:key " + fieldList},
	"hgetex":       {complexity: perField, syntax: "key:key expiration=[" + fieldExpiration + "|PERSIST] " + fieldList},
	"hincrby":      {complexity: "O(1)", syntax: "key:key field increment:integer"},
	"hincrbyfloat": {complexity: "O(1)", syntax: "key:key field increment:double"},
	"hkeys":        {complexity: perFieldOfHash, syntax: "key:key", tips: unordered},
	"hlen":         {complexity: "O(1)", syntax: "key:key"},
	"hmget":        {complexity: perField, syntax: "key:key field..."},
	"hmset":        {complexity: perField, syntax: "key:key field_value=(field value)...", deprecated: "4.0.0", instead: "`HSET` with multiple field-value pairs"},
	"hpersist":     {complexity: perField, syntax: "key:key " + fieldList},
	"hpexpire":     {complexity: perField, syntax: "key:key milliseconds:integer " + fieldCondition + fieldList},
	"hpexpireat":   {complexity: perField, syntax: "key:key unix-time-milliseconds:unix-time " + fieldCondition + fieldList},
	"hpexpiretime": {complexity: perField, syntax: "key:key " + fieldList},
	"hpttl":        {complexity: perField, syntax: "key:key " + fieldList, tips: unstable},
	"hrandfield":   {complexity: "O(N) where N is the number of fields returned.", syntax: "key:key options=[count:integer [WITHVALUES]]", tips: unstable},
	"hscan":        {complexity: "O(1) for every call, O(N) for a whole iteration, where N is the number of fields of the hash.", syntax: "key:key cursor:integer [MATCH pattern:pattern] [COUNT count:integer] [NOVALUES@7.4.0]", tips: unstable},
	"hset":         {complexity: "O(1) for each pair of field and value.", syntax: "key:key field_value=(field value)..."},
	"hsetex":       {complexity: perField, syntax: "key:key condition=[FNX|FXX] expiration=[" + fieldExpiration + "|KEEPTTL] " + fieldValueBlocks},
	"hsetnx":       {complexity: "O(1)", syntax: "key:key field value"},
	"hstrlen":      {complexity: "O(1)", syntax: "key:key field"},
	"httl":         {complexity: perField, syntax: "key:key " + fieldList, tips: unstable},
	"hvals":        {complexity: perFieldOfHash, syntax: "key:key", tips: unordered},
}
