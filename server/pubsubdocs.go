package server

const (
	perJoined = "O(N) where N is the number of subscriptions begun."
	perLeft   = "O(N) where N is the number of subscriptions ended."
	perActive = "O(N) where N is the number of active channels, assuming short names and patterns."
	perAsked  = "O(N) where N is the number of channels asked for."
)

// pubsubDocs: see docs. Ending a subscription takes O(1) here, whatever the number of subscribers.
var pubsubDocs = map[string]doc{
	"psubscribe":           {complexity: "O(N) where N is the number of patterns given.", syntax: "pattern=(pattern:pattern)..."},
	"publish":              {complexity: "O(N+M) where N is the number of clients subscribed to the channel and M is the number of patterns subscribed to by any client.", syntax: "channel message"},
	"pubsub":               {complexity: dependsOnSub},
	"pubsub|channels":      {complexity: perActive, syntax: "[pattern:pattern]"},
	"pubsub|help":          {complexity: "O(1)"},
	"pubsub|numpat":        {complexity: "O(1)"},
	"pubsub|numsub":        {complexity: perAsked, syntax: "[channel...]"},
	"pubsub|shardchannels": {complexity: perActive, syntax: "[pattern:pattern]"},
	"pubsub|shardnumsub":   {complexity: perAsked, syntax: "[shardchannel...]"},
	"punsubscribe":         {complexity: perLeft, syntax: "[pattern:pattern...]"},
	"spublish":             {complexity: "O(N) where N is the number of clients subscribed to the shard channel.", syntax: "shardchannel message"},
	"ssubscribe":           {complexity: perJoined, syntax: "shardchannel..."},
	"subscribe":            {complexity: perJoined, syntax: "channel..."},
	"sunsubscribe":         {complexity: perLeft, syntax: "[shardchannel...]"},
	"unsubscribe":          {complexity: perLeft, syntax: "[channel...]"},
}
