package server

import (
	"bytes"
	"fmt"
	"math"

	"kvserver/store"
)

// setRows follow the order of Redis's documentation.
var setRows = []row{
	{"sadd", -3, write | denyoom | fast, specs{keysAt(kRW|kInsert, 1, 1, 1)}, "1.0.0", "Adds one or more members to a set. Creates the key if it doesn't exist.", sadd},
	{"scard", 2, readonly | fast, specs{keysAt(kRO, 1, 1, 1)}, "1.0.0", "Returns the number of members in a set.", scard},
	{"sdiff", -2, readonly, specs{keysAt(kRO|kAccess, 1, -1, 1)}, "1.0.0", "Returns the difference of multiple sets.", sdiff},
	{"sdiffstore", -3, write | denyoom, specs{keysAt(kOW|kUpdate, 1, 1, 1), keysAt(kRO|kAccess, 2, -1, 1)}, "1.0.0", "Stores the difference of multiple sets in a key.", sdiffstore},
	{"sinter", -2, readonly, specs{keysAt(kRO|kAccess, 1, -1, 1)}, "1.0.0", "Returns the intersection of multiple sets.", sinter},
	{"sintercard", -3, readonly, specs{keysNum(kRO|kAccess, 1)}, "7.0.0", "Returns the number of members of the intersection of multiple sets.", sintercard},
	{"sinterstore", -3, write | denyoom, specs{keysAt(kRW|kUpdate, 1, 1, 1), keysAt(kRO|kAccess, 2, -1, 1)}, "1.0.0", "Stores the intersection of multiple sets in a key.", sinterstore},
	{"sismember", 3, readonly | fast, specs{keysAt(kRO, 1, 1, 1)}, "1.0.0", "Determines whether a member belongs to a set.", sismember},
	{"smembers", 2, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "1.0.0", "Returns all members of a set.", smembers},
	{"smismember", -3, readonly | fast, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "6.2.0", "Determines whether multiple members belong to a set.", smismember},
	{"smove", 4, write | fast, specs{keysAt(kRW|kAccess|kDelete, 1, 1, 1), keysAt(kRW|kInsert, 2, 2, 1)}, "1.0.0", "Moves a member from one set to another.", smove},
	{"spop", -2, write | fast, specs{keysAt(kRW|kAccess|kDelete, 1, 1, 1)}, "1.0.0", "Returns one or more random members of a set and removes them. Deletes the set if the last member was popped.", spop},
	{"srandmember", -2, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "1.0.0", "Returns one or more random members of a set.", srandmember},
	{"srem", -3, write | fast, specs{keysAt(kRW|kDelete, 1, 1, 1)}, "1.0.0", "Removes one or more members from a set. Deletes the set if the last member was removed.", srem},
	{"sscan", -3, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "2.8.0", "Iterates over members of a set.", sscan},
	{"sunion", -2, readonly, specs{keysAt(kRO|kAccess, 1, -1, 1)}, "1.0.0", "Returns the union of multiple sets.", sunion},
	{"sunionstore", -3, write | denyoom, specs{keysAt(kOW|kUpdate, 1, 1, 1), keysAt(kRO|kAccess, 2, -1, 1)}, "1.0.0", "Stores the union of multiple sets in a key.", sunionstore},
}

func sadd(c *client, args [][]byte) { c.intOr(c.view.SAdd(args[1], args[2:])) }

func srem(c *client, args [][]byte) { c.intOr(c.view.SRem(args[1], args[2:])) }

func smove(c *client, args [][]byte) {
	moved, err := c.view.SMove(args[1], args[2], args[3])
	if err != nil {
		c.failWith(err)
		return
	}
	c.flag(moved)
}

// readSet looks up a set. It answers itself if the key holds something else.
func (c *client) readSet(key []byte) (set store.Set, ok bool) {
	set, err := c.view.ReadSet(key)
	if err != nil {
		c.failWith(err)
	}
	return set, err == nil
}

func scard(c *client, args [][]byte) {
	if set, ok := c.readSet(args[1]); ok {
		c.int(int64(set.Len()))
	}
}

func sismember(c *client, args [][]byte) {
	if set, ok := c.readSet(args[1]); ok {
		c.flag(set.Contains(args[2]))
	}
}

func smismember(c *client, args [][]byte) {
	set, ok := c.readSet(args[1])
	if !ok {
		return
	}
	c.array(len(args) - 2)
	for _, member := range args[2:] {
		c.flag(set.Contains(member))
	}
}

func smembers(c *client, args [][]byte) {
	if set, ok := c.readSet(args[1]); ok {
		c.set(set.Len())
		set.Each(c.bulk)
	}
}

func spop(c *client, args [][]byte) {
	if len(args) == 2 {
		c.bulkOrNull(c.view.SPop(args[1]))
		return
	}
	if len(args) > 3 {
		c.fail(errSyntax)
		return
	}
	count, ok := parseInt(args[2])
	if !ok || count < 0 {
		c.fail(errNotPositive)
		return
	}
	if err := c.view.SPopMany(args[1], count, c.set, c.bulk); err != nil {
		c.failWith(err)
	}
}

// drawsMax bounds how many members SRANDMEMBER returns if they may repeat. Redis has no bound but that of its memory.
const drawsMax = 1 << 24

func srandmember(c *client, args [][]byte) {
	switch {
	case len(args) > 3:
		c.fail(errSyntax)
		return
	case len(args) == 3:
		c.randomMembers(args[1], args[2])
		return
	}
	set, ok := c.readSet(args[1])
	switch {
	case !ok:
	case !set.Exists():
		c.null()
	default:
		set.Draw(1, c.bulkFits)
	}
}

// bulkFits appends a bulk string and reports whether the reply is still within the limit.
func (c *client) bulkFits(b []byte) bool {
	c.bulk(b)
	return !c.over
}

// randomMembers answers SRANDMEMBER with a count.
func (c *client) randomMembers(key, arg []byte) {
	count, ok := parseInt(arg)
	least := int64(-math.MaxInt64)
	if count > least {
		least = -drawsMax
	}
	switch {
	case !ok:
		c.fail(errNotInteger)
		return
	case count < least:
		c.fail(fmt.Sprintf("ERR value is out of range, value must between %d and %d", least, math.MaxInt64))
		return
	}
	set, ok := c.readSet(key)
	switch {
	case !ok:
	case !set.Exists() || count == 0:
		c.array(0)
	case count < 0:
		c.array(int(-count))
		set.Draw(-count, c.bulkFits)
	default:
		n := int(min(count, int64(set.Len())))
		c.array(n)
		set.Sample(n, c.bulk)
	}
}

func sscan(c *client, args [][]byte) {
	if _, ok := parseCursor(args[2]); !ok {
		c.fail(errInvalidCursor)
		return
	}
	set, ok := c.readSet(args[1])
	if !ok {
		return
	}
	if !set.Exists() { // whatever the options are, as in Redis
		c.scanReply(func() (uint64, int) { return 0, 0 })
		return
	}
	cursor, o, ok := c.scanOptions(args[2:])
	if !ok {
		return
	}
	c.scanReply(func() (next uint64, n int) {
		next = set.Scan(cursor, o.count, func(member []byte) {
			if o.matches(member) {
				c.bulk(member)
				n++
			}
		})
		return next, n
	})
}

func sunion(c *client, args [][]byte) { c.combine(store.Union, args[1:]) }

func sinter(c *client, args [][]byte) { c.combine(store.Intersection, args[1:]) }

func sdiff(c *client, args [][]byte) { c.combine(store.Difference, args[1:]) }

// combine answers with a combination of sets.
func (c *client) combine(op store.SetOp, keys [][]byte) {
	result, err := c.view.Combine(op, keys)
	if err != nil {
		c.failWith(err)
		return
	}
	c.deferredSet(func() (n int) {
		result.Each(func(member []byte) bool {
			n++
			return c.bulkFits(member)
		})
		return n
	})
}

func sunionstore(c *client, args [][]byte) {
	c.intOr(c.view.CombineStore(store.Union, args[1], args[2:]))
}

func sinterstore(c *client, args [][]byte) {
	c.intOr(c.view.CombineStore(store.Intersection, args[1], args[2:]))
}

func sdiffstore(c *client, args [][]byte) {
	c.intOr(c.view.CombineStore(store.Difference, args[1], args[2:]))
}

func sintercard(c *client, args [][]byte) {
	keys, limit, problem := interCardArgs(args)
	if problem != "" {
		c.fail(problem)
		return
	}
	result, err := c.view.Combine(store.Intersection, keys)
	if err != nil {
		c.failWith(err)
		return
	}
	n := int64(0)
	result.Each(func([]byte) bool {
		n++
		return n != limit
	})
	c.int(n)
}

// interCardArgs reads the arguments of SINTERCARD: how many keys, these, and perhaps LIMIT, 0 being none. problem is what is
// wrong.
func interCardArgs(args [][]byte) (keys [][]byte, limit int64, problem string) {
	n, ok := parseInt(args[1])
	switch {
	case !ok || n < 1:
		return nil, 0, "ERR numkeys should be greater than 0"
	case n > int64(len(args)-2):
		return nil, 0, "ERR Number of keys can't be greater than number of args"
	}
	for i := 2 + int(n); i < len(args); i += 2 {
		if !bytes.EqualFold(args[i], []byte("LIMIT")) || i+1 == len(args) {
			return nil, 0, errSyntax
		}
		limit, ok = parseInt(args[i+1])
		if !ok || limit < 0 {
			return nil, 0, "ERR LIMIT can't be negative"
		}
	}
	return args[2 : 2+int(n)], limit, ""
}
