package server

import (
	"bytes"

	"kvserver/store"
	"kvserver/store/stream"
)

var xinfoSubRows = []row{
	{"consumers", 4, readonly, specs{keysAt(kRO|kAccess, 2, 2, 1)}, "5.0.0", "Returns a list of the consumers in a consumer group.", xinfoConsumers},
	{"groups", 3, readonly, specs{keysAt(kRO|kAccess, 2, 2, 1)}, "5.0.0", "Returns a list of the consumer groups of a stream.", xinfoGroups},
	{"help", 2, loading | stale, nil, "5.0.0", "Returns helpful text about the different subcommands.", xinfoHelp},
	{"stream", -3, readonly, specs{keysAt(kRO|kAccess, 2, 2, 1)}, "5.0.0", "Returns information about a stream.", xinfoStream},
}

func xinfoHelp(c *client, _ [][]byte) {
	c.help("xinfo",
		"CONSUMERS <key> <groupname>",
		"    Show consumers of <groupname>.",
		"GROUPS <key>",
		"    Show the stream consumer groups.",
		"STREAM <key> [FULL [COUNT <count>]",
		"    Show information about the stream.",
	)
}

// streamFor finds a stream that has to be there, and answers itself if it is not.
func (c *client) streamFor(key []byte) (s store.Stream, ok bool) {
	s, err := c.view.ReadStream(key)
	switch {
	case err != nil:
		c.failWith(err)
	case !s.Exists():
		c.fail(errNoKey)
	}
	return s, err == nil && s.Exists()
}

// infoInt, infoText and infoID append a field of XINFO.
func (c *client) infoInt(name string, n int64) {
	c.bulkString(name)
	c.int(n)
}

func (c *client) infoText(name, text string) {
	c.bulkString(name)
	c.bulkString(text)
}

func (c *client) infoID(name string, id stream.ID) {
	c.bulkString(name)
	c.streamID(id)
}

// infoMaybe appends a number that may be unknown.
func (c *client) infoMaybe(name string, n int64, known bool) {
	c.bulkString(name)
	if known {
		c.int(n)
	} else {
		c.null()
	}
}

// infoProgress appends how far a group has got.
func (c *client) infoProgress(g *stream.Group) {
	c.infoID("last-delivered-id", g.Last)
	c.infoMaybe("entries-read", g.Read, g.Read != stream.Unknown)
	lag, known := g.Lag()
	c.infoMaybe("lag", lag, known)
}

func xinfoGroups(c *client, args [][]byte) {
	s, ok := c.streamFor(args[2])
	if !ok {
		return
	}
	c.array(len(s.Groups()))
	for _, g := range s.Groups() {
		c.mapping(6)
		c.infoText("name", g.Name)
		c.infoInt("consumers", int64(len(g.Consumers())))
		c.infoInt("pending", int64(g.Pending()))
		c.infoProgress(g)
	}
}

func xinfoConsumers(c *client, args [][]byte) {
	s, ok := c.streamFor(args[2])
	if !ok {
		return
	}
	g := s.Group(args[3])
	if g == nil {
		c.failNoGroup(args[2], args[3])
		return
	}
	nowMs := c.slot.clock.unixMs()
	c.array(len(g.Consumers()))
	for _, consumer := range g.Consumers() {
		inactive := consumer.ActiveMs
		if inactive != -1 {
			inactive = nowMs - inactive
		}
		c.mapping(4)
		c.infoText("name", consumer.Name)
		c.infoInt("pending", int64(consumer.Pending()))
		c.infoInt("idle", max(nowMs-consumer.SeenMs, 0))
		c.infoInt("inactive", inactive)
	}
}

// infoCountDefault is how much of each list XINFO STREAM FULL shows.
const infoCountDefault = 10

func xinfoStream(c *client, args [][]byte) {
	s, ok := c.streamFor(args[2])
	if !ok {
		return
	}
	options := args[3:]
	full := len(options) > 0
	count := int64(infoCountDefault)
	if full {
		valid := bytes.EqualFold(options[0], []byte("FULL")) &&
			(len(options) == 1 || len(options) == 3 && bytes.EqualFold(options[1], []byte("COUNT")))
		if !valid {
			c.fail(subcommandSyntax(c.cmd.parent, args[1]))
			return
		}
		if len(options) == 3 {
			if count, ok = parseInt(options[2]); !ok {
				c.fail(errNotInteger)
				return
			}
		}
		if count < 0 {
			count = infoCountDefault
		}
		c.mapping(9)
	} else {
		c.mapping(10)
	}
	c.infoInt("length", s.Len())
	c.infoInt("radix-tree-keys", int64(s.Blocks()))
	c.infoInt("radix-tree-nodes", int64(s.RadixNodes()))
	c.infoID("last-generated-id", s.Last())
	c.infoID("max-deleted-entry-id", s.MaxDeleted())
	c.infoInt("entries-added", s.Added())
	c.infoID("recorded-first-entry-id", s.First())
	if full {
		c.infoFull(s, count)
		return
	}
	c.infoInt("groups", int64(len(s.Groups())))
	c.infoEntry("first-entry", s.Range(stream.ID{}, stream.Max, false))
	c.infoEntry("last-entry", s.Range(stream.ID{}, stream.Max, true))
}

// infoEntry appends the first entry of a walk.
func (c *client) infoEntry(name string, r stream.Range) {
	c.bulkString(name)
	if r.Next() {
		c.streamEntry(&r)
	} else {
		c.null()
	}
}

// infoFull appends the entries and the groups of a stream, of each list at most count elements, all if that is 0.
func (c *client) infoFull(s store.Stream, count int64) {
	c.bulkString("entries")
	c.streamEntries(s.Range(stream.ID{}, stream.Max, false), count)
	c.bulkString("groups")
	c.array(len(s.Groups()))
	for _, g := range s.Groups() {
		c.mapping(7)
		c.infoText("name", g.Name)
		c.infoProgress(g)
		c.infoInt("pel-count", int64(g.Pending()))
		c.bulkString("pending")
		c.infoPending(count, func(fn func(stream.Pending) bool) { g.EachPending(stream.ID{}, fn) }, func(p stream.Pending) {
			c.array(4)
			c.streamID(p.ID)
			c.bulkString(g.Owner(p).Name)
		})
		c.bulkString("consumers")
		c.array(len(g.Consumers()))
		for _, consumer := range g.Consumers() {
			c.infoConsumer(g, consumer, count)
		}
	}
}

func (c *client) infoConsumer(g *stream.Group, consumer *stream.Consumer, count int64) {
	c.mapping(5)
	c.infoText("name", consumer.Name)
	c.infoInt("seen-time", consumer.SeenMs)
	c.infoInt("active-time", consumer.ActiveMs)
	c.infoInt("pel-count", int64(consumer.Pending()))
	c.bulkString("pending")
	each := func(fn func(stream.Pending) bool) { g.EachPendingOf(consumer, stream.ID{}, fn) }
	c.infoPending(count, each, func(p stream.Pending) {
		c.array(3)
		c.streamID(p.ID)
	})
}

// infoPending appends what is pending: head begins each element, and the time and number of deliveries end it.
func (c *client) infoPending(count int64, each func(func(stream.Pending) bool), head func(stream.Pending)) {
	c.deferred(func() (n int) {
		each(func(p stream.Pending) bool {
			head(p)
			c.int(p.DeliveredMs)
			c.int(p.Deliveries)
			n++
			return count == 0 || int64(n) < count
		})
		return n
	})
}
