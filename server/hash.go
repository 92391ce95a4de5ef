package server

import (
	"bytes"
	"math"

	"kvserver/store"
)

// hashRows follow the order of Redis's documentation.
var hashRows = []row{
	{"hdel", -3, write | fast, specs{keysAt(kRW|kDelete, 1, 1, 1)}, "2.0.0", "Deletes one or more fields and their values from a hash. Deletes the hash if no fields remain.", hdel},
	{"hexists", 3, readonly | fast, specs{keysAt(kRO, 1, 1, 1)}, "2.0.0", "Determines whether a field exists in a hash.", hexists},
	{"hexpire", -6, write | denyoom | fast, specs{keysAt(kRW|kUpdate, 1, 1, 1)}, "7.4.0", "Sets how long fields of a hash live, in seconds.", hexpire},
	{"hexpireat", -6, write | denyoom | fast, specs{keysAt(kRW|kUpdate, 1, 1, 1)}, "7.4.0", "Sets when fields of a hash expire, as a Unix timestamp in seconds.", hexpireAt},
	{"hexpiretime", -5, readonly | fast, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "7.4.0", "Returns when fields of a hash expire, as Unix timestamps in seconds.", hexpireTime},
	{"hget", 3, readonly | fast, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "2.0.0", "Returns the value of a field in a hash.", hget},
	{"hgetall", 2, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "2.0.0", "Returns all fields and values in a hash.", hgetall},
	{"hgetdel", -5, write | fast, specs{keysAt(kRW|kAccess|kDelete, 1, 1, 1)}, "8.0.0", "Returns the values of fields of a hash and deletes the fields.", hgetdel},
	{"hgetex", -5, write | fast, specs{keysAt(kRW|kAccess|kUpdate, 1, 1, 1)}, "8.0.0", "Returns the values of fields of a hash and sets or removes the time of their expiration.", hgetex},
	{"hincrby", 4, write | denyoom | fast, specs{keysAt(kRW|kAccess|kUpdate, 1, 1, 1)}, "2.0.0", "Increments the integer value of a field in a hash by a number. Uses 0 as initial value if the field doesn't exist.", hincrby},
	{"hincrbyfloat", 4, write | denyoom | fast, specs{keysAt(kRW|kAccess|kUpdate, 1, 1, 1)}, "2.6.0", "Increments the floating point value of a field by a number. Uses 0 as initial value if the field doesn't exist.", hincrbyfloat},
	{"hkeys", 2, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "2.0.0", "Returns all fields in a hash.", hkeys},
	{"hlen", 2, readonly | fast, specs{keysAt(kRO, 1, 1, 1)}, "2.0.0", "Returns the number of fields in a hash.", hlen},
	{"hmget", -3, readonly | fast, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "2.0.0", "Returns the values of all fields in a hash.", hmget},
	{"hmset", -4, write | denyoom | fast, specs{keysAt(kRW|kUpdate, 1, 1, 1)}, "2.0.0", "Sets the values of multiple fields.", hmset},
	{"hpersist", -5, write | fast, specs{keysAt(kRW|kUpdate, 1, 1, 1)}, "7.4.0", "Removes the expiration of fields of a hash.", hpersist},
	{"hpexpire", -6, write | denyoom | fast, specs{keysAt(kRW|kUpdate, 1, 1, 1)}, "7.4.0", "Sets how long fields of a hash live, in milliseconds.", hpexpire},
	{"hpexpireat", -6, write | denyoom | fast, specs{keysAt(kRW|kUpdate, 1, 1, 1)}, "7.4.0", "Sets when fields of a hash expire, as a Unix timestamp in milliseconds.", hpexpireAt},
	{"hpexpiretime", -5, readonly | fast, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "7.4.0", "Returns when fields of a hash expire, as Unix timestamps in milliseconds.", hpexpireTime},
	{"hpttl", -5, readonly | fast, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "7.4.0", "Returns how long fields of a hash still live, in milliseconds.", hpttl},
	{"hrandfield", -2, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "6.2.0", "Returns one or more random fields from a hash.", hrandfield},
	{"hscan", -3, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "2.8.0", "Iterates over fields and values of a hash.", hscan},
	{"hset", -4, write | denyoom | fast, specs{keysAt(kRW|kUpdate, 1, 1, 1)}, "2.0.0", "Creates or modifies the value of a field in a hash.", hset},
	{"hsetex", -6, write | denyoom | fast, specs{keysAt(kRW|kUpdate, 1, 1, 1)}, "8.0.0", "Sets the values of fields of a hash and the time of their expiration.", hsetex},
	{"hsetnx", 4, write | denyoom | fast, specs{keysAt(kRW|kInsert, 1, 1, 1)}, "2.0.0", "Sets the value of a field in a hash only when the field doesn't exist.", hsetnx},
	{"hstrlen", 3, readonly | fast, specs{keysAt(kRO, 1, 1, 1)}, "3.2.0", "Returns the length of the value of a field.", hstrlen},
	{"httl", -5, readonly | fast, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "7.4.0", "Returns how long fields of a hash still live, in seconds.", httl},
	{"hvals", 2, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "2.0.0", "Returns all values in a hash.", hvals},
}

// readHash looks up a hash. It answers itself if the key holds something else.
func (c *client) readHash(key []byte) (h store.Hash, ok bool) {
	h, err := c.view.ReadHash(key)
	if err != nil {
		c.failWith(err)
	}
	return h, err == nil
}

func hset(c *client, args [][]byte) {
	if len(args)%2 != 0 {
		c.fail(arityError(c.cmd))
		return
	}
	c.intOr(c.view.HSet(args[1], args[2:]))
}

func hmset(c *client, args [][]byte) {
	if len(args)%2 != 0 {
		c.fail(arityError(c.cmd))
		return
	}
	if _, err := c.view.HSet(args[1], args[2:]); err != nil {
		c.failWith(err)
		return
	}
	c.ok()
}

func hsetnx(c *client, args [][]byte) {
	set, err := c.view.HSetNX(args[1], args[2], args[3])
	if err != nil {
		c.failWith(err)
		return
	}
	c.flag(set)
}

func hdel(c *client, args [][]byte) { c.intOr(c.view.HDel(args[1], args[2:])) }

func hget(c *client, args [][]byte) {
	if h, ok := c.readHash(args[1]); ok {
		val, exists := h.Get(args[2])
		c.bulkOrNull(val, exists, nil)
	}
}

func hmget(c *client, args [][]byte) {
	h, ok := c.readHash(args[1])
	if !ok {
		return
	}
	c.array(len(args) - 2)
	for _, field := range args[2:] {
		val, exists := h.Get(field)
		c.bulkOrNull(val, exists, nil)
	}
}

func hstrlen(c *client, args [][]byte) {
	if h, ok := c.readHash(args[1]); ok {
		val, _ := h.Get(args[2])
		c.int(int64(len(val)))
	}
}

func hexists(c *client, args [][]byte) {
	if h, ok := c.readHash(args[1]); ok {
		_, exists := h.Get(args[2])
		c.flag(exists)
	}
}

func hlen(c *client, args [][]byte) {
	if h, ok := c.readHash(args[1]); ok {
		c.int(int64(h.Len()))
	}
}

func hgetall(c *client, args [][]byte) {
	if h, ok := c.readHash(args[1]); ok {
		c.mapping(h.Live())
		h.Each(func(field, val []byte) bool {
			c.bulk(field)
			c.bulk(val)
			return !c.over
		})
	}
}

func hkeys(c *client, args [][]byte) {
	if h, ok := c.readHash(args[1]); ok {
		c.array(h.Live())
		h.Each(func(field, _ []byte) bool {
			c.bulk(field)
			return !c.over
		})
	}
}

func hvals(c *client, args [][]byte) {
	if h, ok := c.readHash(args[1]); ok {
		c.array(h.Live())
		h.Each(func(_, val []byte) bool {
			c.bulk(val)
			return !c.over
		})
	}
}

func hincrby(c *client, args [][]byte) {
	by, ok := parseInt(args[3])
	if !ok {
		c.fail(errNotInteger)
		return
	}
	c.intOr(c.view.HIncrBy(args[1], args[2], by))
}

func hincrbyfloat(c *client, args [][]byte) {
	val, err := c.view.HIncrByFloat(args[1], args[2], args[3])
	if err != nil {
		c.failWith(err)
		return
	}
	c.bulkString(val)
}

func hrandfield(c *client, args [][]byte) {
	if len(args) > 2 {
		c.randomFields(args)
		return
	}
	h, ok := c.readHash(args[1])
	if ok && !h.Random(func(field, _ []byte) { c.bulk(field) }) {
		c.null()
	}
}

// randomFields answers HRANDFIELD with a count. Without a bound of its own Redis would go on for as long as it has memory
// when fields may repeat; here it is that of SRANDMEMBER.
func (c *client) randomFields(args [][]byte) {
	count, ok := parseInt(args[2])
	withValues := len(args) == 4 && bytes.EqualFold(args[3], []byte("WITHVALUES"))
	problem := ""
	switch {
	case !ok:
		problem = errNotInteger
	case count == math.MinInt64:
		problem = errLongRange
	case len(args) > 3 && !withValues:
		problem = errSyntax
	case withValues && (count < -math.MaxInt64/2 || count > math.MaxInt64/2), count < -drawsMax:
		problem = "ERR value is out of range"
	}
	if problem != "" {
		c.fail(problem)
		return
	}
	h, ok := c.readHash(args[1])
	if !ok {
		return
	}
	live := int64(h.Live())
	n := min(count, live)
	if count < 0 && live > 0 {
		n = -count
	}
	if withValues && !c.resp3 {
		c.array(int(2 * max(n, 0)))
	} else {
		c.array(int(max(n, 0)))
	}
	reply := func(field, val []byte) {
		if withValues && c.resp3 {
			c.array(2)
		}
		c.bulk(field)
		if withValues {
			c.bulk(val)
		}
	}
	switch {
	case live == 0:
	case count >= 0:
		h.Sample(int(n), reply)
	default:
		for ; n > 0 && !c.over; n-- {
			h.Random(reply)
		}
	}
}

// hscan reads its options only if there is a hash, as Redis does.
func hscan(c *client, args [][]byte) {
	cursor, ok := parseCursor(args[2])
	if !ok {
		c.fail(errInvalidCursor)
		return
	}
	var o scanOptions
	if c.view.Peek(args[1]).Type() == "hash" {
		if cursor, o, ok = c.scanOptions(args[2:]); !ok {
			return
		}
	}
	h, ok := c.readHash(args[1])
	if !ok {
		return
	}
	c.scanReply(func() (next uint64, n int) {
		next = h.Scan(cursor, o.count, func(field, val []byte) bool {
			if !o.matches(field) {
				return false
			}
			c.bulk(field)
			n++
			if !o.noValues {
				c.bulk(val)
				n++
			}
			return true
		})
		return next, n
	})
}
