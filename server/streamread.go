package server

import (
	"bytes"
	"fmt"

	"kvserver/store"
	"kvserver/store/stream"
)

// XREAD and XREADGROUP. Both look every key up once when they run: before they wait, if they do, and when they are served.

// streamRead is one of them, parsed.
type streamRead struct {
	group, consumer []byte // nil for XREAD
	blocks          bool
	timeoutMs       int64
	count           int64 // 0: no limit
	noAck           bool
	keys            [][]byte
	from            []readFrom // by key
	found           []store.Stream
}

// readFrom says which entries of a stream are wanted: those after an ID.
type readFrom struct {
	stream.ID
	special byte // '$': added from now on, '+': the last one, '>': not yet delivered to the group; 0: ID
}

const (
	errReadGroupOption = "ERR The %s option is only supported by XREADGROUP. You called XREAD instead."
	errReadMeaningless = "ERR The %c ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The %c ID would just return an empty result set."
	errReadUndelivered = "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option."
	errReadNoGroup     = "NOGROUP No such key '%s' or consumer group '%s' in XREADGROUP with GROUP option"
)

func xread(c *client, args [][]byte) { c.readStreams(args, false) }

func xreadgroup(c *client, args [][]byte) { c.readStreams(args, true) }

func (c *client) readStreams(args [][]byte, inGroup bool) {
	var q streamRead
	ids, problem := q.parse(c.cmd, args, inGroup)
	if problem == "" && q.blocks && c.inScript {
		problem = "ERR " + c.cmd.fullName + " command is not allowed with BLOCK option from scripts"
	}
	if problem == "" {
		problem = q.find(c, ids)
	}
	if problem != "" {
		c.fail(problem)
		return
	}
	served := 0
	from := len(c.buf)
	reply := func() (n int) {
		for i := range q.keys {
			if q.found[i].Exists() && c.readOne(&q, i) {
				n++
			}
		}
		served = n
		return n
	}
	if c.resp3 {
		c.deferredMap(reply)
	} else {
		c.deferred(reply)
	}
	if served > 0 {
		return
	}
	c.buf = c.buf[:from]
	if !q.blocks {
		c.nullArray()
		return
	}
	c.blockOnStreams(&q, args)
}

// parse reads the arguments up to the IDs, which it returns. It says what is wrong.
func (q *streamRead) parse(cmd *command, args [][]byte, inGroup bool) (ids [][]byte, problem string) {
	for i := 1; i < len(args); i++ {
		option, more := args[i], len(args)-1-i
		var ok bool
		switch {
		case more >= 1 && bytes.EqualFold(option, []byte("BLOCK")):
			i++
			if q.timeoutMs, problem = parseTimeoutMs(args[i]); problem != "" {
				return nil, problem
			}
			q.blocks = true
		case more >= 1 && bytes.EqualFold(option, []byte("COUNT")):
			i++
			if q.count, ok = parseInt(args[i]); !ok {
				return nil, errNotInteger
			}
			q.count = max(q.count, 0)
		case more >= 1 && bytes.EqualFold(option, []byte("STREAMS")):
			return q.parseKeys(cmd, args[i+1:], inGroup)
		case more >= 2 && bytes.EqualFold(option, []byte("GROUP")):
			if !inGroup {
				return nil, fmt.Sprintf(errReadGroupOption, "GROUP")
			}
			q.group, q.consumer = args[i+1], args[i+2]
			i += 2
		case bytes.EqualFold(option, []byte("NOACK")):
			if !inGroup {
				return nil, fmt.Sprintf(errReadGroupOption, "NOACK")
			}
			q.noAck = true
		default:
			return nil, errSyntax
		}
	}
	return nil, errSyntax
}

func (q *streamRead) parseKeys(cmd *command, args [][]byte, inGroup bool) (ids [][]byte, problem string) {
	if len(args)%2 != 0 {
		symbol := '$'
		if inGroup {
			symbol = '>'
		}
		return nil, fmt.Sprintf("ERR Unbalanced '%s' list of streams: for each stream key an ID or '%c' must be specified.", cmd.fullName, symbol)
	}
	if inGroup && q.group == nil {
		return nil, "ERR Missing GROUP option for XREADGROUP"
	}
	n := len(args) / 2
	q.keys = args[:n]
	return args[n:], ""
}

// find looks the streams up and reads the IDs, one after the other, as Redis does: so the first fault counts.
func (q *streamRead) find(c *client, ids [][]byte) (problem string) {
	q.found = make([]store.Stream, len(q.keys))
	q.from = make([]readFrom, len(q.keys))
	for i, key := range q.keys {
		s, err := c.view.ReadStream(key)
		if err != nil {
			return errWrongType
		}
		q.found[i] = s
		if q.group != nil && (!s.Exists() || s.Group(q.group) == nil) {
			return fmt.Sprintf(errReadNoGroup, clip(key, len(key)), clip(q.group, len(q.group)))
		}
		if problem := q.from[i].parse(ids[i], q.group != nil); problem != "" {
			return problem
		}
		if s.Exists() {
			q.from[i].resolve(s)
		}
	}
	return ""
}

func (f *readFrom) parse(arg []byte, inGroup bool) (problem string) {
	switch string(arg) {
	case "$", "+":
		if f.special = arg[0]; inGroup {
			return fmt.Sprintf(errReadMeaningless, arg[0], arg[0])
		}
		return ""
	case ">":
		f.special = '>'
		return problemIf(!inGroup, errReadUndelivered)
	}
	var ok bool
	f.ID, ok = parseStreamID(arg, 0)
	if f.ID == stream.Max && inGroup {
		f.special = '>' // that is how Redis notes it
	}
	return problemIf(!ok, errStreamID)
}

// resolve finds the ID that stands for "$" or "+".
func (f *readFrom) resolve(s store.Stream) {
	switch f.special {
	case '$':
		f.ID = s.Last()
	case '+':
		if last, ok := s.LastEntry(); ok {
			f.ID, _ = last.Prev()
		}
	}
}

// readOne appends the key of one stream and the entries wanted of it. It reports false, having appended nothing, if there is
// nothing to say.
func (c *client) readOne(q *streamRead, i int) bool {
	s, from := q.found[i], q.from[i]
	if q.group != nil {
		return c.readGroup(q, i, s.Group(q.group))
	}
	if last, ok := s.LastEntry(); !ok || !from.Less(last) {
		return false
	}
	c.readHead(q.keys[i])
	start, _ := from.Next()
	c.streamEntries(s.Range(start, stream.Max, false), q.count)
	return true
}

// readHead begins what is said of one stream.
func (c *client) readHead(key []byte) {
	if !c.resp3 {
		c.array(2)
	}
	c.bulk(key)
}

// readGroup is readOne for a group: entries that are new to it, or what is pending for the consumer, which may be nothing.
func (c *client) readGroup(q *streamRead, i int, g *stream.Group) bool {
	s := q.found[i]
	consumer := s.Seen(g, q.consumer)
	if q.from[i].special == '>' {
		if !s.Undelivered(g) {
			return false
		}
		c.readHead(q.keys[i])
		c.deferred(func() int {
			return s.Deliver(g, consumer, q.count, q.noAck, func(r *stream.Range) bool {
				c.streamEntry(r)
				return !c.over
			})
		})
		return true
	}
	c.readHead(q.keys[i])
	c.deferred(func() int {
		return s.Redeliver(g, consumer, q.from[i].ID, q.count, func(id stream.ID, r *stream.Range) bool {
			if r != nil {
				c.streamEntry(r)
			} else {
				c.array(2)
				c.streamID(id)
				c.nullArray()
			}
			return !c.over
		})
	})
	return true
}

// blockOnStreams waits for entries. The IDs of which the meaning would change meanwhile are replaced.
func (c *client) blockOnStreams(q *streamRead, args [][]byte) {
	again := cloneAll(args)
	ids := again[len(again)-len(q.keys):]
	w := wait{typ: "stream", timeoutMs: q.timeoutMs, args: again, gone: q.group != nil}
	w.keys = again[len(again)-2*len(q.keys) : len(again)-len(q.keys)]
	for i := range q.from {
		if q.from[i].special == '$' {
			ids[i] = q.from[i].AppendTo(nil)
		}
	}
	w.timedOut = answerNullArray
	look := streamRead{group: bytes.Clone(q.group), keys: w.keys, from: q.from}
	w.ready = look.ready
	c.block(args, w)
}

// ready tells whether a client that waits would get an answer now. It leaves no trace.
func (q *streamRead) ready(c *client) bool {
	for i, key := range q.keys {
		s, err := c.view.PeekStream(key)
		if q.group != nil {
			if err != nil || !s.Exists() {
				return true
			}
			if g := s.Group(q.group); g == nil || s.Undelivered(g) {
				return true
			}
			continue
		}
		if err != nil || !s.Exists() {
			continue
		}
		if last, ok := s.LastEntry(); ok && q.from[i].Less(last) {
			return true
		}
	}
	return false
}
