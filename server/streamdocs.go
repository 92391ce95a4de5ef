package server

const (
	trimSyntax   = "strategy=(MAXLEN|MINID@6.2.0) operator=[equal:=|approximately:~] threshold [LIMIT count:integer@6.2.0]"
	perEntryRead = "O(N) with N being the number of elements returned. If N is constant (e.g. always asking for the first 10 elements with COUNT), you can consider it O(1)."
	perNewEntry  = "For each stream mentioned: O(N) with N being the number of elements returned, so that reading with a fixed COUNT is O(1). With BLOCK, XADD pays O(M) time to serve the M clients that wait."
)

var streamDocs = map[string]doc{
	"xack":                  {complexity: "O(1) for each message ID processed.", syntax: "key:key group id..."},
	"xadd":                  {complexity: "O(1) when adding a new entry, O(N) when trimming where N being the number of entries evicted.", syntax: "key:key [NOMKSTREAM@6.2.0] trim=[" + trimSyntax + "] id_or_auto=(auto_id:*|id) field_value=(field value)...", tips: unstable},
	"xautoclaim":            {complexity: "O(1) if COUNT is small.", syntax: "key:key group consumer min-idle-time start [COUNT count:integer] [JUSTID]", tips: unstable},
	"xclaim":                {complexity: "O(log N) with N being the number of messages in the PEL of the consumer group.", syntax: "key:key group consumer min-idle-time id... [IDLE ms:integer] [TIME unix-time-milliseconds:unix-time] [RETRYCOUNT count:integer] [FORCE] [JUSTID] [LASTID id]", tips: unstable},
	"xdel":                  {complexity: "O(1) for each single item to delete in the stream, regardless of the stream size.", syntax: "key:key id..."},
	"xgroup":                {complexity: dependsOnSub},
	"xgroup|create":         {complexity: "O(1)", syntax: "key:key groupname id=(id|new_id:$) [MKSTREAM] [ENTRIESREAD entries_read:integer]"},
	"xgroup|createconsumer": {complexity: "O(1)", syntax: "key:key groupname consumername"},
	"xgroup|delconsumer":    {complexity: "O(N) where N is the number of messages pending for the consumer.", syntax: "key:key groupname consumername"},
	"xgroup|destroy":        {complexity: "O(N) where N is the number of entries in the group's pending entries list (PEL).", syntax: "key:key groupname"},
	"xgroup|help":           {complexity: "O(1)"},
	"xgroup|setid":          {complexity: "O(1)", syntax: "key:key groupname id=(id|new_id:$) [ENTRIESREAD entries_read:integer]"},
	"xinfo":                 {complexity: dependsOnSub},
	"xinfo|consumers":       {complexity: "O(N) where N is the number of consumers.", syntax: "key:key groupname", tips: unstable},
	"xinfo|groups":          {complexity: "O(N) where N is the number of groups.", syntax: "key:key"},
	"xinfo|help":            {complexity: "O(1)"},
	"xinfo|stream":          {complexity: "O(N) where N is the number of blocks of the stream, a hundredth of its length or so.", syntax: "key:key [FULL full=([COUNT count:integer])]"},
	"xlen":                  {complexity: "O(1)", syntax: "key:key"},
	"xpending":              {complexity: "O(N) with N being the number of elements returned; with IDLE, the number of those looked at. The summary: O(N) with N being the number of consumers.", syntax: "key:key group filters=[[IDLE min-idle-time:integer@6.2.0] start end count:integer [consumer]]", tips: unstable},
	"xrange":                {complexity: perEntryRead, syntax: "key:key start end [COUNT count:integer]"},
	"xread":                 {complexity: perNewEntry, syntax: "[COUNT count:integer] [BLOCK milliseconds:integer] STREAMS streams=(key:key... id...)"},
	"xreadgroup":            {complexity: perNewEntry, syntax: "GROUP group_consumer=(group consumer) [COUNT count:integer] [BLOCK milliseconds:integer] [NOACK] STREAMS streams=(key:key... id...)"},
	"xrevrange":             {complexity: perEntryRead, syntax: "key:key end start [COUNT count:integer]"},
	"xsetid":                {complexity: "O(1)", syntax: "key:key last-id [ENTRIESADDED entries_added:integer@7.0.0] [MAXDELETEDID max_deleted_entry_id@7.0.0]"},
	"xtrim":                 {complexity: "O(N), with N being the number of evicted entries. Constant times are very small however, since entries are organized in macro nodes containing multiple entries that can be released with a single deallocation.", syntax: "key:key trim=(" + trimSyntax + ")", tips: unstable},
}
