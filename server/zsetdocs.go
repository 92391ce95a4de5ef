package server

const (
	perScoreSearch = "O(log(N)) where N is the number of members of the sorted set."
	perScoreAdded  = "O(log(N)) for each member, where N is the number of members of the sorted set."
	perScorePopped = "O(log(N)+M) where N is the number of members of the sorted set and M the number of those removed."
	perScoreRange  = "O(log(N)+M) where N is the number of members of the sorted set and M the number of those returned."
	perScoreStored = "O(log(N)+M) where N is the number of members of the sorted set and M the number of those stored."
	perScorePops   = "O(K)+O(log(N)+M) where K is the number of keys, N the number of members of the sorted set and M the number of those removed."
	perScoreUnion  = "O(N)+O(M*log(M)) where N is the number of members of all sets and M that of the result."
	perScoreCommon = "O(N*K)+O(M*log(M)) where N is the number of members of the smallest set, K the number of sets and M the number of members of the result."
	perScoreLess   = "O(N*K)+O(M*log(M)) where N is the number of members of the first set, K the number of sets and M the number of members of the result."

	zsetKeys      = "numkeys:integer key:key..."
	zsetWeights   = " [WEIGHTS weight:integer...] [AGGREGATE aggregate=(SUM|MIN|MAX)]"
	zsetSlice     = "[LIMIT offset_count=(offset:integer count:integer)]"
	zsetNewRange  = "sortby=[BYSCORE|BYLEX]@6.2.0 [REV@6.2.0] [LIMIT offset_count=(offset:integer count:integer)@6.2.0] [WITHSCORES]"
	zsetPopWhere  = " where=(MIN|MAX) [COUNT count:integer]"
	zsetCondition = "condition=[NX|XX]@3.0.2 comparison=[GT|LT]@6.2.0 [change=CH@3.0.2] [increment=INCR@3.0.2] score_member=(score:double member)..."
)

var zsetDocs = map[string]doc{
	"bzmpop":           {complexity: perScorePops, syntax: "timeout:double " + zsetKeys + zsetPopWhere},
	"bzpopmax":         {complexity: perScoreSearch, syntax: "key:key... timeout:double"},
	"bzpopmin":         {complexity: perScoreSearch, syntax: "key:key... timeout:double"},
	"zadd":             {complexity: perScoreAdded, syntax: "key:key " + zsetCondition},
	"zcard":            {complexity: "O(1)", syntax: "key:key"},
	"zcount":           {complexity: perScoreSearch, syntax: "key:key min:double max:double"},
	"zdiff":            {complexity: perScoreLess, syntax: zsetKeys + " [WITHSCORES]"},
	"zdiffstore":       {complexity: perScoreLess, syntax: "destination:key " + zsetKeys},
	"zincrby":          {complexity: perScoreSearch, syntax: "key:key increment:integer member"},
	"zinter":           {complexity: perScoreCommon, syntax: zsetKeys + zsetWeights + " [WITHSCORES]"},
	"zintercard":       {complexity: "O(N*K) where N is the number of members of the smallest set and K the number of sets.", syntax: zsetKeys + " [LIMIT limit:integer]"},
	"zinterstore":      {complexity: perScoreCommon, syntax: "destination:key " + zsetKeys + zsetWeights},
	"zlexcount":        {complexity: perScoreSearch, syntax: "key:key min max"},
	"zmpop":            {complexity: perScorePops, syntax: zsetKeys + zsetPopWhere},
	"zmscore":          {complexity: "O(N) where N is the number of members asked for.", syntax: "key:key member..."},
	"zpopmax":          {complexity: perScorePopped, syntax: "key:key [count:integer]"},
	"zpopmin":          {complexity: perScorePopped, syntax: "key:key [count:integer]"},
	"zrandmember":      {complexity: "O(N*log(M)) where N is the number of members returned and M that of the sorted set.", syntax: "key:key options=[count:integer [WITHSCORES]]", tips: unstable},
	"zrange":           {complexity: perScoreRange, syntax: "key:key start stop " + zsetNewRange},
	"zrangebylex":      {complexity: perScoreRange, syntax: "key:key min max " + zsetSlice, deprecated: "6.2.0", instead: "`ZRANGE` with the `BYLEX` argument"},
	"zrangebyscore":    {complexity: perScoreRange, syntax: "key:key min:double max:double [WITHSCORES@2.0.0] " + zsetSlice, deprecated: "6.2.0", instead: "`ZRANGE` with the `BYSCORE` argument"},
	"zrangestore":      {complexity: perScoreStored, syntax: "dst:key src:key min max sortby=[BYSCORE|BYLEX] [REV] " + zsetSlice},
	"zrank":            {complexity: perScoreSearch, syntax: "key:key member [WITHSCORE@7.2.0]"},
	"zrem":             {complexity: "O(M*log(N)) where N is the number of members of the sorted set and M the number of members given.", syntax: "key:key member..."},
	"zremrangebylex":   {complexity: perScorePopped, syntax: "key:key min max"},
	"zremrangebyrank":  {complexity: perScorePopped, syntax: "key:key start:integer stop:integer"},
	"zremrangebyscore": {complexity: perScorePopped, syntax: "key:key min:double max:double"},
	"zrevrange":        {complexity: perScoreRange, syntax: "key:key start:integer stop:integer [WITHSCORES]", deprecated: "6.2.0", instead: "`ZRANGE` with the `REV` argument"},
	"zrevrangebylex":   {complexity: perScoreRange, syntax: "key:key max min " + zsetSlice, deprecated: "6.2.0", instead: "`ZRANGE` with the `REV` and `BYLEX` arguments"},
	"zrevrangebyscore": {complexity: perScoreRange, syntax: "key:key max:double min:double [WITHSCORES] " + zsetSlice, deprecated: "6.2.0", instead: "`ZRANGE` with the `REV` and `BYSCORE` arguments"},
	"zrevrank":         {complexity: perScoreSearch, syntax: "key:key member [WITHSCORE@7.2.0]"},
	"zscan":            {complexity: "O(1) for every call, O(N) for a whole iteration, where N is the number of members of the sorted set.", syntax: "key:key cursor:integer [MATCH pattern:pattern] [COUNT count:integer]", tips: unstable},
	"zscore":           {complexity: "O(1)", syntax: "key:key member"},
	"zunion":           {complexity: perScoreUnion, syntax: zsetKeys + zsetWeights + " [WITHSCORES]"},
	"zunionstore":      {complexity: perScoreUnion, syntax: "destination:key " + zsetKeys + zsetWeights},
}
