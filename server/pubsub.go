package server

import (
	"slices"
)

// pubsubRows follow the order of Redis's documentation. Shard channels are known to COMMAND as keys that are none: without
// a cluster they are channels of another namespace, without patterns.
var pubsubRows = []row{
	{"psubscribe", -2, pubsub | noscript | loading | stale | subscribes | namesPatterns, nil, "2.0.0", "Listens for messages published to channels that match one or more patterns.", subscribe(channelPattern)},
	{"publish", 3, pubsub | loading | stale | fast | mayReplicate | namesChannel, nil, "2.0.0", "Posts a message to a channel.", publish(plainChannel)},
	{"pubsub", -2, 0, nil, "2.8.0", "A container for Pub/Sub commands.", nil},
	{"punsubscribe", -1, pubsub | noscript | loading | stale | subscribes, nil, "2.0.0", "Stops listening to messages published to channels that match one or more patterns.", unsubscribe(channelPattern)},
	{"spublish", 3, pubsub | loading | stale | fast | mayReplicate | namesChannel, specs{keysAt(kNotKey, 1, 1, 1)}, "7.0.0", "Posts a message to a shard channel.", publish(shardChannel)},
	{"ssubscribe", -2, pubsub | noscript | loading | stale | subscribes | namesChannels, specs{keysAt(kNotKey, 1, -1, 1)}, "7.0.0", "Listens for messages published to shard channels.", subscribe(shardChannel)},
	{"subscribe", -2, pubsub | noscript | loading | stale | subscribes | namesChannels, nil, "2.0.0", "Listens for messages published to channels.", subscribe(plainChannel)},
	{"sunsubscribe", -1, pubsub | noscript | loading | stale | subscribes, specs{keysAt(kNotKey, 1, -1, 1)}, "7.0.0", "Stops listening to messages posted to shard channels.", unsubscribe(shardChannel)},
	{"unsubscribe", -1, pubsub | noscript | loading | stale | subscribes, nil, "2.0.0", "Stops listening to messages posted to channels.", unsubscribe(plainChannel)},
}

var pubsubSubRows = []row{
	{"channels", -2, pubsub | loading | stale, nil, "2.8.0", "Returns the active channels.", pubsubChannels(plainChannel)},
	{"help", 2, loading | stale, nil, "6.2.0", "Returns helpful text about the different subcommands.", pubsubHelp},
	{"numpat", 2, pubsub | loading | stale, nil, "2.8.0", "Returns a count of unique pattern subscriptions.", pubsubNumPat},
	{"numsub", -2, pubsub | loading | stale, nil, "2.8.0", "Returns a count of subscribers to channels.", pubsubNumSub(plainChannel)},
	{"shardchannels", -2, pubsub | loading | stale, nil, "7.0.0", "Returns the active shard channels.", pubsubChannels(shardChannel)},
	{"shardnumsub", -2, pubsub | loading | stale, nil, "7.0.0", "Returns the count of subscribers of shard channels.", pubsubNumSub(shardChannel)},
}

// subscribed tells whether c has any subscription.
func (c *client) subscribed() bool { return c.sub.total() > 0 }

// inSubscribeMode tells whether c can be sent nothing but messages and what looks like them: RESP2 has no other way to tell
// them from replies.
func (c *client) inSubscribeMode() bool { return c.sub != nil && !c.resp3 && c.subscribed() }

// subscriptions is the number that the reply to a (un)subscription of a kind tells.
func (c *client) subscriptions(kind channelKind) int {
	if kind == shardChannel {
		return c.sub.count(shardChannel)
	}
	return c.sub.count(plainChannel) + c.sub.count(channelPattern)
}

// subscribe is not allowed for shard channels where waiting is not, as in Redis: their slot may move away.
func subscribe(kind channelKind) handler {
	return func(c *client, args [][]byte) {
		if kind == shardChannel && c.inExec {
			c.fail("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client")
			return
		}
		if c.sub == nil {
			c.sub = &subscriber{client: c, resp3: c.resp3}
		}
		from := len(c.buf)
		for _, name := range args[1:] {
			c.s.channels.subscribe(c.sub, kind, name)
			c.subscription(name, c.subscriptions(kind))
		}
		c.noteHearing()
		c.unsilence(from)
	}
}

// unsubscribe ends the subscriptions named, or all of a kind. What was published to them until then precedes its reply, after
// which a RESP2 client expects replies again.
func unsubscribe(kind channelKind) handler {
	return func(c *client, args [][]byte) {
		names := args[1:]
		if len(names) == 0 && c.sub != nil {
			for name := range c.sub.names[kind] {
				names = append(names, []byte(name))
			}
		}
		left := c.subscriptions(kind)
		var ended []bool
		for _, name := range names {
			ended = append(ended, c.sub != nil && c.s.channels.unsubscribe(c.sub, kind, string(name)))
		}
		c.noteHearing()
		c.claimMessages()
		from := len(c.buf)
		for i, name := range names {
			if ended[i] {
				left--
			}
			c.subscription(name, left)
		}
		if len(names) == 0 {
			c.subscription(nil, left)
		}
		c.unsilence(from)
	}
}

// subscription confirms a change of one subscription, or that there was none to end: then name is nil.
func (c *client) subscription(name []byte, left int) {
	c.push(3)
	c.bulkString(c.cmd.name)
	if name == nil {
		c.null()
	} else {
		c.bulk(name)
	}
	c.int(int64(left))
}

// unsilence sends what c.buf has from an index on even if the client asked for no replies: confirmations are pushed, like
// messages.
func (c *client) unsilence(from int) {
	if c.silent() {
		c.pushes = append(c.pushes, c.buf[from:]...)
	}
}

// claimMessages puts what others have sent c so far before the reply of the command being run.
func (c *client) claimMessages() {
	if c.conn.OutputBytes() == 0 {
		return
	}
	claimed := c.conn.Claim(nil)
	c.buf = slices.Insert(c.buf, c.mark, claimed...)
	c.mark += len(claimed)
	c.answered(c.slot, -len(claimed)) // whoever sent it has counted it
}

// pushOwn keeps a message that c has published itself until the reply of its command is there, and before it what others have
// published before.
func (c *client) pushOwn(message []byte) {
	if c.conn.OutputBytes() > 0 {
		before := len(c.pushes)
		c.pushes = c.conn.Claim(c.pushes)
		c.answered(c.slot, before-len(c.pushes))
	}
	if c.bytesMax > 0 && len(c.buf)+len(c.pushes)+len(message) > c.bytesMax {
		c.over = true
		return
	}
	c.pushes = append(c.pushes, message...)
}

// leaveChannels ends all subscriptions of c without telling it.
func (c *client) leaveChannels() {
	if c.sub != nil {
		c.s.channels.leave(c.sub)
		c.noteHearing()
	}
}

// speak changes the version of the protocol.
func (c *client) speak(resp3 bool) {
	if c.sub != nil {
		c.s.channels.speak(c.sub, resp3)
	}
	if c.resp3 != resp3 {
		c.resp3 = resp3
		c.noteHearing()
		c.claimMessages()
	}
}

func publish(kind channelKind) handler {
	return func(c *client, args [][]byte) {
		p := publication{slot: c.slot, from: c, kind: kind, name: args[1], text: args[2], limitBytes: c.s.params.outputLimits.Load().pubsub.hardBytes}
		c.s.channels.publish(&p)
		c.int(p.receivers)
		for _, slow := range p.slow {
			c.s.cutOff(slow)
		}
	}
}

func pubsubChannels(kind channelKind) handler {
	return func(c *client, args [][]byte) {
		var pattern []byte
		switch len(args) {
		case 2:
		case 3:
			pattern = args[2]
		default:
			c.fail(subcommandSyntax(c.cmd.parent, args[1]))
			return
		}
		names := c.s.channels.names(kind, pattern)
		c.array(len(names))
		for _, name := range names {
			c.bulkString(name)
		}
	}
}

func pubsubNumPat(c *client, _ [][]byte) {
	names, _ := c.s.channels.counts()
	c.int(names[channelPattern])
}

func pubsubNumSub(kind channelKind) handler {
	return func(c *client, args [][]byte) {
		c.array(2 * len(args[2:]))
		for _, name := range args[2:] {
			c.bulk(name)
			c.int(c.s.channels.members(kind, name))
		}
	}
}

func pubsubHelp(c *client, _ [][]byte) {
	c.help("pubsub",
		"CHANNELS [<pattern>]",
		"    Return the channels that have subscribers, or those that match <pattern>.",
		"NUMPAT",
		"    Return the number of patterns that somebody is subscribed to.",
		"NUMSUB [<channel> ...]",
		"    Return each channel and the number of its subscribers, without those by patterns.",
		"SHARDCHANNELS [<pattern>]",
		"    Return the shard channels that have subscribers, or those that match <pattern>.",
		"SHARDNUMSUB [<shardchannel> ...]",
		"    Return each shard channel and the number of its subscribers.")
}
