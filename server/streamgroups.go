package server

import (
	"bytes"
	"fmt"
	"math"

	"kvserver/store"
	"kvserver/store/stream"
)

// The commands on consumer groups. XREADGROUP stands in streamread.go.

const (
	errGroupExists = "BUSYGROUP Consumer Group name already exists"
	errGroupNoKey  = "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically."
)

var xgroupSubRows = []row{
	{"create", -5, write | denyoom, specs{keysAt(kRW|kInsert, 2, 2, 1)}, "5.0.0", "Creates a consumer group.", xgroupCreate},
	{"createconsumer", 5, write | denyoom, specs{keysAt(kRW|kInsert, 2, 2, 1)}, "6.2.0", "Creates a consumer in a consumer group.", xgroupCreateConsumer},
	{"delconsumer", 5, write, specs{keysAt(kRW|kDelete, 2, 2, 1)}, "5.0.0", "Deletes a consumer from a consumer group.", xgroupDelConsumer},
	{"destroy", 4, write, specs{keysAt(kRW|kDelete, 2, 2, 1)}, "5.0.0", "Destroys a consumer group.", xgroupDestroy},
	{"help", 2, loading | stale, nil, "5.0.0", "Returns helpful text about the different subcommands.", xgroupHelp},
	{"setid", -5, write, specs{keysAt(kRW|kUpdate, 2, 2, 1)}, "5.0.0", "Sets the last-delivered ID of a consumer group.", xgroupSetID},
}

func xgroupHelp(c *client, _ [][]byte) {
	c.help("xgroup",
		"CREATE <key> <groupname> <id|$> [option]",
		"    Create a new consumer group. Options are:",
		"    * MKSTREAM",
		"      Create the empty stream if it does not exist.",
		"    * ENTRIESREAD entries_read",
		"      Set the group's entries_read counter (internal use).",
		"CREATECONSUMER <key> <groupname> <consumer>",
		"    Create a new consumer in the specified group.",
		"DELCONSUMER <key> <groupname> <consumer>",
		"    Remove the specified consumer.",
		"DESTROY <key> <groupname>",
		"    Remove the specified group.",
		"SETID <key> <groupname> <id|$> [ENTRIESREAD entries_read]",
		"    Set the current group ID and entries_read counter.",
	)
}

// groupOptions are those of XGROUP CREATE and SETID.
type groupOptions struct {
	create bool
	read   int64
}

func (o *groupOptions) parse(c *client, args [][]byte, creates bool) (problem string) {
	o.read = stream.Unknown
	for i := 5; i < len(args); i++ {
		switch {
		case creates && bytes.EqualFold(args[i], []byte("MKSTREAM")):
			o.create = true
		case bytes.EqualFold(args[i], []byte("ENTRIESREAD")) && i+1 < len(args):
			i++
			var ok bool
			if o.read, ok = parseInt(args[i]); !ok {
				return errNotInteger
			}
			if o.read < 0 && o.read != stream.Unknown {
				return "ERR value for ENTRIESREAD must be positive or -1"
			}
		default:
			return groupSyntax(c, args)
		}
	}
	return ""
}

// groupSyntax is what Redis says to options that XGROUP does not have.
func groupSyntax(c *client, args [][]byte) string { return subcommandSyntax(c.cmd.parent, args[1]) }

// groupFor finds the stream and, if it has to be there, the group of a subcommand of XGROUP. It answers itself if they are
// missing.
func (c *client) groupFor(args [][]byte, needsGroup bool) (s store.Stream, g *stream.Group, ok bool) {
	s, err := c.view.WriteStream(args[2])
	switch {
	case err != nil:
		c.failWith(err)
		return s, nil, false
	case !s.Exists():
		c.fail(errGroupNoKey)
		return s, nil, false
	}
	if g = s.Group(args[3]); g == nil && needsGroup {
		c.failNoGroup(args[2], args[3])
		return s, nil, false
	}
	return s, g, true
}

// failNoGroup answers that a key has no such group.
func (c *client) failNoGroup(key, group []byte) {
	c.failf("NOGROUP No such consumer group '%s' for key name '%s'", clip(group, len(group)), clip(key, len(key)))
}

// failNoKeyOrGroup is failNoGroup where the key may be missing.
func (c *client) failNoKeyOrGroup(key, group []byte) {
	c.failf("NOGROUP No such key '%s' or consumer group '%s'", clip(key, len(key)), clip(group, len(group)))
}

func xgroupCreate(c *client, args [][]byte) {
	var o groupOptions
	if problem := o.parse(c, args, true); problem != "" {
		c.fail(problem)
		return
	}
	s, err := c.view.WriteStream(args[2])
	id, ok := parseStreamID(args[4], 0)
	atEnd := string(args[4]) == "$"
	switch {
	case err != nil:
		c.failWith(err)
	case !s.Exists() && !o.create:
		c.fail(errGroupNoKey)
	case len(args) > 8:
		c.fail(groupSyntax(c, args))
	case !ok && !atEnd:
		c.fail(errStreamID)
	case !s.CreateGroup(args[3], id, atEnd, o.read):
		c.fail(errGroupExists)
	default:
		c.ok()
	}
}

func xgroupSetID(c *client, args [][]byte) {
	var o groupOptions
	if problem := o.parse(c, args, false); problem != "" {
		c.fail(problem)
		return
	}
	s, g, found := c.groupFor(args, true)
	if !found {
		return
	}
	id, ok := parseStreamIDOrEdge(args[4], 0)
	switch {
	case len(args) > 7:
		c.fail(groupSyntax(c, args))
		return
	case string(args[4]) == "$":
		id = s.Last()
	case !ok:
		c.fail(errStreamID)
		return
	}
	s.SetGroup(g, id, o.read)
	c.ok()
}

func xgroupDestroy(c *client, args [][]byte) {
	if s, _, ok := c.groupFor(args, false); ok {
		c.flag(s.DestroyGroup(args[3]))
	}
}

func xgroupCreateConsumer(c *client, args [][]byte) {
	if s, g, ok := c.groupFor(args, true); ok {
		c.flag(s.CreateConsumer(g, args[4]))
	}
}

func xgroupDelConsumer(c *client, args [][]byte) {
	if s, g, ok := c.groupFor(args, true); ok {
		c.int(int64(s.DeleteConsumer(g, args[4])))
	}
}

// memberOf finds the stream at args[1] and its group args[2]; both may be missing.
func (c *client) memberOf(args [][]byte) (s store.Stream, g *stream.Group, err error) {
	s, err = c.view.ReadStream(args[1])
	if err == nil && s.Exists() {
		g = s.Group(args[2])
	}
	return s, g, err
}

// xack looks at the IDs only if there is a group, as Redis does.
func xack(c *client, args [][]byte) {
	ids, problem := parseStreamIDs(args[3:])
	s, g, err := c.memberOf(args)
	switch {
	case err != nil || g == nil:
		c.intOr(0, err)
	case problem != "":
		c.fail(problem)
	default:
		c.int(s.Acknowledge(g, ids))
	}
}

// pendingFilter is what XPENDING shows of what is pending.
type pendingFilter struct {
	minIdleMs int64
	from, to  stream.ID
	count     int64
	consumer  []byte // nil: all
}

// parse reads the arguments after the group.
func (f *pendingFilter) parse(args [][]byte) (problem string) {
	if len(args) < 3 || len(args) > 6 {
		return errSyntax
	}
	var ok bool
	if bytes.EqualFold(args[0], []byte("IDLE")) {
		if f.minIdleMs, ok = parseInt(args[1]); !ok {
			return errNotInteger
		}
		if len(args) < 5 {
			return errSyntax
		}
		args = args[2:]
	}
	if f.count, ok = parseInt(args[2]); !ok {
		return errNotInteger
	}
	if f.from, problem = parseStart(args[0]); problem != "" {
		return problem
	}
	if f.to, problem = parseEnd(args[1]); problem != "" {
		return problem
	}
	if len(args) > 3 {
		f.consumer = args[3]
	}
	return ""
}

func xpending(c *client, args [][]byte) {
	var f pendingFilter
	if len(args) > 3 {
		if problem := f.parse(args[3:]); problem != "" {
			c.fail(problem)
			return
		}
	}
	_, g, err := c.memberOf(args)
	switch {
	case err != nil:
		c.failWith(err)
	case g == nil:
		c.failNoKeyOrGroup(args[1], args[2])
	case len(args) == 3:
		c.pendingSummary(g)
	default:
		c.pendingList(g, &f)
	}
}

func (c *client) pendingSummary(g *stream.Group) {
	c.array(4)
	c.int(int64(g.Pending()))
	if g.Pending() == 0 {
		c.null()
		c.null()
		c.nullArray()
		return
	}
	first, last := g.PendingRange()
	c.streamID(first)
	c.streamID(last)
	c.deferred(func() (n int) {
		for _, consumer := range g.Consumers() {
			if consumer.Pending() == 0 {
				continue
			}
			c.array(2)
			c.bulkString(consumer.Name)
			c.bulk(appendInt(nil, int64(consumer.Pending())))
			n++
		}
		return n
	})
}

func (c *client) pendingList(g *stream.Group, f *pendingFilter) {
	each := func(fn func(stream.Pending) bool) { g.EachPending(f.from, fn) }
	if f.consumer != nil {
		consumer := g.Consumer(f.consumer)
		if consumer == nil {
			c.array(0)
			return
		}
		each = func(fn func(stream.Pending) bool) { g.EachPendingOf(consumer, f.from, fn) }
	}
	nowMs := c.slot.clock.unixMs()
	c.deferred(func() (n int) {
		if f.count <= 0 {
			return 0
		}
		each(func(p stream.Pending) bool {
			idleMs := nowMs - p.DeliveredMs
			switch {
			case f.to.Less(p.ID):
				return false
			case f.minIdleMs != 0 && idleMs < f.minIdleMs:
				return true
			}
			c.array(4)
			c.streamID(p.ID)
			c.bulkString(g.Owner(p).Name)
			c.int(max(idleMs, 0))
			c.int(p.Deliveries)
			n++
			return int64(n) < f.count
		})
		return n
	})
}

// claimed appends an entry that was claimed, or its ID if that is all that is wanted.
func (c *client) claimed(id stream.ID, r *stream.Range) {
	if r == nil {
		c.streamID(id)
		return
	}
	c.streamEntry(r)
}

// xclaim finds the group before it looks at the other arguments, as Redis does.
func xclaim(c *client, args [][]byte) {
	o := store.Claim{Consumer: args[3]}
	problem := parseClaim(&o, args, c.slot.clock.unixMs())
	s, g, err := c.memberOf(args)
	switch {
	case err != nil:
		c.failWith(err)
	case g == nil:
		c.failNoKeyOrGroup(args[1], args[2])
	case problem != "":
		c.fail(problem)
	default:
		c.deferred(func() int { return s.Claim(g, &o, c.claimed) })
	}
}

// parseClaim reads the arguments of XCLAIM from the idle time on. The IDs end where something else begins.
func parseClaim(o *store.Claim, args [][]byte, nowMs int64) (problem string) {
	var ok bool
	if o.MinIdleMs, ok = parseInt(args[4]); !ok {
		return "ERR Invalid min-idle-time argument for XCLAIM"
	}
	i := 5
	for ; i < len(args); i++ {
		id, ok := parseStreamID(args[i], 0)
		if !ok {
			break
		}
		o.IDs = append(o.IDs, id)
	}
	o.DeliveredMs, o.Deliveries = -1, -1
	for ; i < len(args); i++ {
		option, more := args[i], i+1 < len(args)
		switch {
		case bytes.EqualFold(option, []byte("FORCE")):
			o.Force = true
			continue
		case bytes.EqualFold(option, []byte("JUSTID")):
			o.JustID = true
			continue
		case !more:
			return unknownClaimOption(option)
		}
		i++
		if problem := parseClaimValue(o, option, args[i], nowMs); problem != "" {
			return problem
		}
	}
	// Redis takes times that make no sense, which clients may compute, for the present.
	if o.DeliveredMs < 0 || o.DeliveredMs > nowMs {
		o.DeliveredMs = nowMs
	}
	return ""
}

func unknownClaimOption(option []byte) string {
	return fmt.Sprintf("ERR Unrecognized XCLAIM option '%s'", clip(option, len(option)))
}

// parseClaimValue reads an option of XCLAIM that has a value.
func parseClaimValue(o *store.Claim, option, value []byte, nowMs int64) (problem string) {
	n, ok := parseInt(value)
	switch {
	case bytes.EqualFold(option, []byte("IDLE")):
		o.DeliveredMs = nowMs - n
		return problemIf(!ok, "ERR Invalid IDLE option argument for XCLAIM")
	case bytes.EqualFold(option, []byte("TIME")):
		o.DeliveredMs = n
		return problemIf(!ok, "ERR Invalid TIME option argument for XCLAIM")
	case bytes.EqualFold(option, []byte("RETRYCOUNT")):
		o.Deliveries = n
		return problemIf(!ok, "ERR Invalid RETRYCOUNT option argument for XCLAIM")
	case bytes.EqualFold(option, []byte("LASTID")):
		o.LastID, ok = parseStreamID(value, 0)
		return problemIf(!ok, errStreamID)
	}
	return unknownClaimOption(option)
}

func xautoclaim(c *client, args [][]byte) {
	o := store.AutoClaim{Consumer: args[3], Count: 100}
	problem := parseAutoClaim(&o, args)
	if problem != "" {
		c.view.ReadStream(args[1]) // an access, as Redis looks the key up first
		c.fail(problem)
		return
	}
	s, g, err := c.memberOf(args)
	switch {
	case err != nil:
		c.failWith(err)
		return
	case g == nil:
		c.failNoKeyOrGroup(args[1], args[2])
		return
	}
	var next stream.ID
	var deleted []stream.ID
	c.headLater(func(n int) {
		c.array(3)
		c.bulkString(next.String())
		c.array(n)
	}, func() (n int) {
		deleted, next = s.AutoClaim(g, &o, func(id stream.ID, r *stream.Range) {
			c.claimed(id, r)
			n++
		})
		return n
	})
	c.array(len(deleted))
	for _, id := range deleted {
		c.streamID(id)
	}
}

// autoClaimMax is the largest COUNT of XAUTOCLAIM.
const autoClaimMax = math.MaxInt64 / 16

func parseAutoClaim(o *store.AutoClaim, args [][]byte) (problem string) {
	var ok bool
	if o.MinIdleMs, ok = parseInt(args[4]); !ok {
		return "ERR Invalid min-idle-time argument for XAUTOCLAIM"
	}
	if o.From, problem = parseStart(args[5]); problem != "" {
		return problem
	}
	for i := 6; i < len(args); i++ {
		switch {
		case i+1 < len(args) && bytes.EqualFold(args[i], []byte("COUNT")):
			i++
			if o.Count, ok = parseInt(args[i]); !ok || o.Count < 1 || o.Count > autoClaimMax {
				return "ERR COUNT must be > 0"
			}
		case bytes.EqualFold(args[i], []byte("JUSTID")):
			o.JustID = true
		default:
			return errSyntax
		}
	}
	return ""
}
