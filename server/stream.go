package server

import (
	"bytes"

	"kvserver/store"
	"kvserver/store/stream"
)

// streamRows follow the order of Redis's documentation. XREAD stands in streamread.go, consumer groups in streamgroups.go,
// XINFO in streaminfo.go. XREAD changes nothing, but it locks for writing: the shards keep who waits.
var streamRows = []row{
	{"xack", -4, write | fast, specs{keysAt(kRW|kUpdate, 1, 1, 1)}, "5.0.0", "Returns the number of messages that were successfully acknowledged by the consumer group member of a stream.", xack},
	{"xadd", -5, write | denyoom | fast, specs{keysAt(kRW|kUpdate, 1, 1, 1)}, "5.0.0", "Appends a new message to a stream. Creates the key if it doesn't exist.", xadd},
	{"xautoclaim", -6, write | fast, specs{keysAt(kRW|kDelete, 1, 1, 1)}, "6.2.0", "Changes, or acquires, ownership of messages in a consumer group, as if the messages were delivered to as consumer group member.", xautoclaim},
	{"xclaim", -6, write | fast, specs{keysAt(kRW|kUpdate, 1, 1, 1)}, "5.0.0", "Changes, or acquires, ownership of a message in a consumer group, as if the message was delivered a consumer group member.", xclaim},
	{"xdel", -3, write | fast, specs{keysAt(kRW|kDelete, 1, 1, 1)}, "5.0.0", "Returns the number of messages after removing them from a stream.", xdel},
	{"xgroup", -2, 0, nil, "5.0.0", "A container for consumer groups commands.", nil},
	{"xinfo", -2, 0, nil, "5.0.0", "A container for stream introspection commands.", nil},
	{"xlen", 2, readonly | fast, specs{keysAt(kRO, 1, 1, 1)}, "5.0.0", "Return the number of messages in a stream.", xlen},
	{"xpending", -3, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "5.0.0", "Returns the information and entries from a stream consumer group's pending entries list.", xpending},
	{"xrange", -4, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "5.0.0", "Returns the messages from a stream within a range of IDs.", xrange},
	{"xread", -4, readonly | blocking | locksForWriting, specs{keysAfter(kRO|kAccess, "STREAMS", 1)}, "5.0.0", "Returns messages from multiple streams with IDs greater than the ones requested. Blocks until a message is available otherwise.", xread},
	{"xreadgroup", -7, write | blocking, specs{keysAfter(kRO|kAccess, "STREAMS", 4)}, "5.0.0", "Returns new or historical messages from a stream for a consumer in a group. Blocks until a message is available otherwise.", xreadgroup},
	{"xrevrange", -4, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "5.0.0", "Returns the messages from a stream within a range of IDs in reverse order.", xrevrange},
	{"xsetid", -3, write | denyoom | fast, specs{keysAt(kRW|kUpdate, 1, 1, 1)}, "5.0.0", "An internal command for replicating stream values.", xsetid},
	{"xtrim", -4, write, specs{keysAt(kRW|kDelete, 1, 1, 1)}, "5.0.0", "Deletes messages from the beginning of a stream.", xtrim},
}

// streamSubRows are the subcommands of XINFO and XGROUP, by container.
var streamSubRows = map[string][]row{"xgroup": xgroupSubRows, "xinfo": xinfoSubRows}

// streamEntry appends the entry that a walk is at.
func (c *client) streamEntry(r *stream.Range) {
	c.array(2)
	c.streamID(r.ID())
	c.array(2 * r.Fields())
	for range r.Fields() {
		field, value := r.Pair()
		c.bulk(field)
		c.bulk(value)
	}
}

// streamEntries appends the entries of a walk, at most count of them, all if that is 0.
func (c *client) streamEntries(r stream.Range, count int64) {
	c.deferred(func() (n int) {
		for (count == 0 || int64(n) < count) && !c.over && r.Next() {
			c.streamEntry(&r)
			n++
		}
		return n
	})
}

// trimArgs are the options of XADD and XTRIM.
type trimArgs struct {
	store.StreamAdd
	limitGiven bool
	next       int // of XADD: where the ID is
}

const (
	errTrimTwice   = "ERR syntax error, MAXLEN and MINID options at the same time are not compatible"
	errLimitAlone  = "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy"
	errLimitExact  = "ERR syntax error, LIMIT cannot be used without the special ~ option"
	errTrimMissing = "ERR syntax error, XTRIM must be called with a trimming strategy"
)

// parse reads the options from args[2] on, and for XADD the ID that ends them. It says what is wrong.
func (o *trimArgs) parse(args [][]byte, adds bool) (problem string) {
	i := 2
	for ; i < len(args); i++ {
		arg, more := args[i], len(args)-1-i
		switch {
		case adds && string(arg) == "*":
			o.AutoID = true
		case more > 0 && (bytes.EqualFold(arg, []byte("MAXLEN")) || bytes.EqualFold(arg, []byte("MINID"))):
			used, problem := o.strategy(args[i:])
			if problem != "" {
				return problem
			}
			i += used
			continue
		case more > 0 && bytes.EqualFold(arg, []byte("LIMIT")):
			i++
			var ok bool
			if o.Trim.Limit, ok = parseInt(args[i]); !ok {
				return errNotInteger
			}
			if o.Trim.Limit < 0 {
				return "ERR The LIMIT argument must be >= 0."
			}
			o.limitGiven = true
			continue
		case adds && bytes.EqualFold(arg, []byte("NOMKSTREAM")):
			o.NoCreate = true
			continue
		case adds:
			if !o.addedID(arg) {
				return errStreamID
			}
		default:
			return errSyntax
		}
		break
	}
	o.next = i
	return ""
}

// strategy reads MAXLEN or MINID with what belongs to it, and returns how many arguments follow that word.
func (o *trimArgs) strategy(args [][]byte) (used int, problem string) {
	if o.Trimmed {
		return 0, errTrimTwice
	}
	o.Trimmed, used = true, 1
	if len(args) > 2 && (string(args[1]) == "~" || string(args[1]) == "=") {
		o.Trim.Approx, used = args[1][0] == '~', 2
	}
	var ok bool
	if o.Trim.ByID = len(args[0]) == len("MINID"); o.Trim.ByID {
		o.Trim.MinID, ok = parseStreamID(args[used], 0)
		return used, problemIf(!ok, errStreamID)
	}
	if o.Trim.MaxLen, ok = parseInt(args[used]); !ok {
		return used, errNotInteger
	}
	return used, problemIf(o.Trim.MaxLen < 0, "ERR The MAXLEN argument must be >= 0.")
}

// addedID reads the ID for a new entry, of which the second half may be "*".
func (o *trimArgs) addedID(arg []byte) (ok bool) {
	if ms, auto := bytes.CutSuffix(arg, []byte("-*")); auto && bytes.IndexByte(ms, '-') < 0 && len(arg) <= streamIDMax {
		o.ID.Ms, ok = parseUnsigned(ms)
		o.AutoSeq = true
		return ok
	}
	o.ID, ok = parseStreamID(arg, 0)
	return ok
}

// finish checks how the options go together, and sets the limit of an approximate trim.
func (o *trimArgs) finish(c *client, adds bool) (problem string) {
	switch {
	case o.Trim.Limit != 0 && !o.Trimmed:
		return errLimitAlone
	case !adds && !o.Trimmed:
		return errTrimMissing
	case o.limitGiven && !o.Trim.Approx:
		return errLimitExact
	case !o.limitGiven && o.Trim.Approx:
		o.Trim.Limit = c.view.TrimLimit()
	}
	return ""
}

func xadd(c *client, args [][]byte) {
	var o trimArgs
	problem := o.parse(args, true)
	if problem == "" {
		problem = o.finish(c, true)
	}
	if problem != "" {
		c.fail(problem)
		return
	}
	pairs := args[min(o.next+1, len(args)):]
	switch {
	case len(pairs) < 2 || len(pairs)%2 == 1:
		c.fail(arityError(c.cmd))
		return
	case !o.AutoID && !o.AutoSeq && o.ID == stream.ID{}:
		c.fail("ERR The ID specified in XADD must be greater than 0-0")
		return
	}
	id, ok, err := c.view.StreamAdd(args[1], pairs, &o.StreamAdd)
	switch {
	case err != nil:
		c.failWith(err)
	case !ok:
		c.null()
	default:
		c.streamID(id)
	}
}

func xtrim(c *client, args [][]byte) {
	var o trimArgs
	problem := o.parse(args, false)
	if problem == "" {
		problem = o.finish(c, false)
	}
	if problem != "" {
		c.fail(problem)
		return
	}
	s, err := c.view.WriteStream(args[1])
	if err != nil || !s.Exists() {
		c.intOr(0, err)
		return
	}
	c.int(s.Trim(o.Trim))
}

func xlen(c *client, args [][]byte) {
	s, err := c.view.ReadStream(args[1])
	if err != nil || !s.Exists() {
		c.intOr(0, err)
		return
	}
	c.int(s.Len())
}

// xdel looks at the IDs only if there is a stream to delete from, as Redis does.
func xdel(c *client, args [][]byte) {
	ids, problem := parseStreamIDs(args[2:])
	s, err := c.view.WriteStream(args[1])
	switch {
	case err != nil || !s.Exists():
		c.intOr(0, err)
	case problem != "":
		c.fail(problem)
	default:
		c.int(s.Delete(ids))
	}
}

func xrange(c *client, args [][]byte) { c.streamRange(args, args[2], args[3], false) }

func xrevrange(c *client, args [][]byte) { c.streamRange(args, args[3], args[2], true) }

func (c *client) streamRange(args [][]byte, start, end []byte, reverse bool) {
	from, problem := parseStart(start)
	var to stream.ID
	if problem == "" {
		to, problem = parseEnd(end)
	}
	count := int64(-1)
	for i := 4; i < len(args) && problem == ""; i += 2 {
		if i+1 == len(args) || !bytes.EqualFold(args[i], []byte("COUNT")) {
			problem = errSyntax
			break
		}
		var ok bool
		if count, ok = parseInt(args[i+1]); !ok {
			problem = errNotInteger
		}
		count = max(count, 0)
	}
	if problem != "" {
		c.fail(problem)
		return
	}
	s, err := c.view.ReadStream(args[1])
	switch {
	case err != nil:
		c.failWith(err)
	case !s.Exists():
		c.array(0)
	case count == 0:
		c.nullArray()
	default:
		c.streamEntries(s.Range(from, to, reverse), max(count, 0))
	}
}

func xsetid(c *client, args [][]byte) {
	to, problem := parseStreamState(args)
	if problem != "" {
		c.fail(problem)
		return
	}
	s, err := c.view.WriteStream(args[1])
	switch {
	case err != nil:
		c.failWith(err)
		return
	case !s.Exists():
		c.fail(errNoKey)
		return
	}
	if err := s.Set(to); err != nil {
		c.failWith(err)
		return
	}
	c.ok()
}

// parseStreamState reads the arguments of XSETID.
func parseStreamState(args [][]byte) (to store.StreamState, problem string) {
	to.Added = -1
	var ok bool
	if to.Last, ok = parseStreamID(args[2], 0); !ok {
		return to, errStreamID
	}
	for i := 3; i < len(args); i += 2 {
		switch {
		case i+1 == len(args):
			return to, errSyntax
		case bytes.EqualFold(args[i], []byte("ENTRIESADDED")):
			if to.Added, ok = parseInt(args[i+1]); !ok {
				return to, errNotInteger
			}
			if to.Added < 0 {
				return to, "ERR entries_added must be positive"
			}
		case bytes.EqualFold(args[i], []byte("MAXDELETEDID")):
			if to.MaxDeleted, ok = parseStreamID(args[i+1], 0); !ok {
				return to, errStreamID
			}
			if to.Last.Less(to.MaxDeleted) {
				return to, "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id"
			}
		default:
			return to, errSyntax
		}
	}
	return to, ""
}
