package server

import (
	"bytes"
	"math"
	"strings"

	"kvserver/store"
)

// stringRows follow the order of Redis's documentation.
var stringRows = []row{
	{"append", 3, write | denyoom | fast, specs{keysAt(kRW|kInsert, 1, 1, 1)}, "2.0.0", "Appends a string to the value of a key. Creates the key if it doesn't exist.", appendCommand},
	{"decr", 2, write | denyoom | fast, specs{keysAt(kRW|kAccess|kUpdate, 1, 1, 1)}, "1.0.0", "Decrements the integer value of a key by one. Uses 0 as initial value if the key doesn't exist.", decr},
	{"decrby", 3, write | denyoom | fast, specs{keysAt(kRW|kAccess|kUpdate, 1, 1, 1)}, "1.0.0", "Decrements a number from the integer value of a key. Uses 0 as initial value if the key doesn't exist.", decrBy},
	{"delifeq", 3, write | fast, specs{keysAt(kRW|kDelete, 1, 1, 1)}, "9.0.0", "Deletes a key if its value is the given one.", delIfEq},
	{"get", 2, readonly | fast, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "1.0.0", "Returns the string value of a key.", get},
	{"getdel", 2, write | fast, specs{keysAt(kRW|kAccess|kDelete, 1, 1, 1)}, "6.2.0", "Returns the string value of a key after deleting the key.", getDel},
	{"getex", -2, write | fast, specs{keysAt(kRW|kAccess|kUpdate, 1, 1, 1)}, "6.2.0", "Returns the string value of a key after setting its expiration time.", getEx},
	{"getrange", 4, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "2.4.0", "Returns a substring of the string stored at a key.", getRange},
	{"getset", 3, write | denyoom | fast, specs{keysAt(kRW|kAccess|kUpdate, 1, 1, 1)}, "1.0.0", "Returns the previous string value of a key after setting it to a new value.", getSet},
	{"incr", 2, write | denyoom | fast, specs{keysAt(kRW|kAccess|kUpdate, 1, 1, 1)}, "1.0.0", "Increments the integer value of a key by one. Uses 0 as initial value if the key doesn't exist.", incr},
	{"incrby", 3, write | denyoom | fast, specs{keysAt(kRW|kAccess|kUpdate, 1, 1, 1)}, "1.0.0", "Increments the integer value of a key by a number. Uses 0 as initial value if the key doesn't exist.", incrBy},
	{"incrbyfloat", 3, write | denyoom | fast, specs{keysAt(kRW|kAccess|kUpdate, 1, 1, 1)}, "2.6.0", "Increment the floating point value of a key by a number. Uses 0 as initial value if the key doesn't exist.", incrByFloat},
	{"lcs", -3, readonly, specs{keysAt(kRO|kAccess, 1, 2, 1)}, "7.0.0", "Finds the longest common substring.", lcs},
	{"mget", -2, readonly | fast, specs{keysAt(kRO|kAccess, 1, -1, 1)}, "1.0.0", "Atomically returns the string values of one or more keys.", mget},
	{"mset", -3, write | denyoom, specs{keysAt(kOW|kUpdate, 1, -1, 2)}, "1.0.1", "Atomically creates or modifies the string values of one or more keys.", mset},
	{"msetnx", -3, write | denyoom, specs{keysAt(kOW|kInsert, 1, -1, 2)}, "1.0.1", "Atomically modifies the string values of one or more keys only when all keys don't exist.", msetnx},
	{"psetex", 4, write | denyoom, specs{keysAt(kOW|kUpdate, 1, 1, 1)}, "2.6.0", "Sets both string value and expiration time in milliseconds of a key. The key is created if it doesn't exist.", psetex},
	{"set", -3, write | denyoom, specs{varying(keysAt(kRW|kAccess|kUpdate, 1, 1, 1), setKeyFlags)}, "1.0.0", "Sets the string value of a key, ignoring its type. The key is created if it doesn't exist.", set},
	{"setex", 4, write | denyoom, specs{keysAt(kOW|kUpdate, 1, 1, 1)}, "2.0.0", "Sets the string value and expiration time of a key. Creates the key if it doesn't exist.", setex},
	{"setnx", 3, write | denyoom | fast, specs{keysAt(kOW|kInsert, 1, 1, 1)}, "1.0.0", "Set the string value of a key only when the key doesn't exist.", setnx},
	{"setrange", 4, write | denyoom, specs{keysAt(kRW|kUpdate, 1, 1, 1)}, "2.2.0", "Overwrites a part of a string value with another by an offset. Creates the key if it doesn't exist.", setRange},
	{"strlen", 2, readonly | fast, specs{keysAt(kRO, 1, 1, 1)}, "2.2.0", "Returns the length of a string value.", strlen},
	{"substr", 4, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "1.0.0", "Returns a substring from a string value.", getRange},
}

// setKeyFlags: SET looks at the old value if it has to return it or to compare with it, and else overwrites it unseen.
func setKeyFlags(args [][]byte) keyFlags {
	for _, a := range args[min(3, len(args)):] {
		if bytes.EqualFold(a, []byte("GET")) || bytes.EqualFold(a, []byte("IFEQ")) {
			return kRW | kAccess | kUpdate
		}
	}
	return kOW | kUpdate
}

// bulkOrNull answers with a value, with null for a missing key, or with the store's error.
func (c *client) bulkOrNull(val []byte, ok bool, err error) {
	switch {
	case err != nil:
		c.failWith(err)
	case !ok:
		c.null()
	default:
		c.bulk(val)
	}
}

// intOr answers with n or with the store's error.
func (c *client) intOr(n int64, err error) {
	if err != nil {
		c.failWith(err)
		return
	}
	c.int(n)
}

func get(c *client, args [][]byte) { c.bulkOrNull(c.view.Get(args[1])) }

func strlen(c *client, args [][]byte) { c.intOr(c.view.StrLen(args[1])) }

func getDel(c *client, args [][]byte) { c.bulkOrNull(c.view.GetDel(args[1])) }

func getSet(c *client, args [][]byte) { c.bulkOrNull(c.view.GetSet(args[1], args[2])) }

func mget(c *client, args [][]byte) {
	c.array(len(args) - 1)
	for _, key := range args[1:] {
		val, ok, err := c.view.Get(key)
		c.bulkOrNull(val, ok && err == nil, nil) // other types read as missing
	}
}

// expiryOptions are EX, PX, EXAT, PXAT and what a command allows beside them (KEEPTTL, PERSIST).
type expiryOptions struct {
	given string // the option's name, "" for none
	value []byte
}

// take reads an expiry option at args[i]. used is 0 if there is none or another one was given before; of the same
// one, the last value counts.
func (o *expiryOptions) take(args [][]byte, i int) (used int) {
	switch name := strings.ToUpper(string(clip(args[i], 8))); name {
	case "EX", "PX", "EXAT", "PXAT":
		if i+1 >= len(args) || o.given != "" && o.given != name {
			return 0
		}
		o.given, o.value = name, args[i+1]
		return 2
	}
	return 0
}

// resolve returns the absolute time the option means, in Unix milliseconds, 0 without one, or what is wrong with it.
func (o *expiryOptions) resolve(c *client) (ms int64, problem string) {
	if o.given == "" {
		return 0, ""
	}
	n, ok := parseInt(o.value)
	if !ok {
		return 0, errNotInteger
	}
	if n > 0 {
		ms, ok = absoluteMs(n, o.given[0] == 'E', len(o.given) == 2, c.slot.clock.unixMs())
	}
	if n <= 0 || !ok {
		return 0, invalidExpire(c.cmd)
	}
	return ms, ""
}

// deadline is resolve for commands that refuse a bad time before anything else.
func (o *expiryOptions) deadline(c *client) (ms int64, ok bool) {
	ms, problem := o.resolve(c)
	if problem != "" {
		c.fail(problem)
	}
	return ms, problem == ""
}

// absoluteMs turns a client's time into Unix milliseconds; it refuses what does not fit.
func absoluteMs(n int64, seconds, relative bool, nowMs int64) (int64, bool) {
	if seconds {
		if n > math.MaxInt64/1000 || n < math.MinInt64/1000 {
			return 0, false
		}
		n *= 1000
	}
	if relative {
		if n > math.MaxInt64-nowMs {
			return 0, false
		}
		n += nowMs
	}
	return n, true
}

// setArgs are the options of SET.
type setArgs struct {
	store.SetOptions
	expiry expiryOptions
}

// parse reads the options after key and value; it answers itself if they are wrong.
func (o *setArgs) parse(c *client, args [][]byte) bool {
	for i := 3; i < len(args); i++ {
		if used := o.expiry.take(args, i); used > 0 {
			if o.KeepTTL {
				c.fail(errSyntax)
				return false
			}
			i += used - 1
			continue
		}
		arg := args[i]
		switch {
		case o.Cond == store.Always && bytes.EqualFold(arg, []byte("NX")):
			o.Cond = store.IfMissing
		case o.Cond == store.Always && bytes.EqualFold(arg, []byte("XX")):
			o.Cond = store.IfExists
		case o.Cond == store.Always && bytes.EqualFold(arg, []byte("IFEQ")) && i+1 < len(args):
			o.Cond, o.Equal = store.IfEqual, args[i+1]
			i++
		case bytes.EqualFold(arg, []byte("GET")):
			o.WantOld = true
		case o.expiry.given == "" && bytes.EqualFold(arg, []byte("KEEPTTL")):
			o.KeepTTL = true
		case o.repeats(arg): // an option given twice is one given once
		default:
			c.fail(errSyntax)
			return false
		}
	}
	var ok bool
	o.ExpireAtMs, ok = o.expiry.deadline(c)
	return ok
}

// repeats tells whether arg is the condition that was given already.
func (o *setArgs) repeats(arg []byte) bool {
	return o.Cond == store.IfMissing && bytes.EqualFold(arg, []byte("NX")) ||
		o.Cond == store.IfExists && bytes.EqualFold(arg, []byte("XX"))
}

func set(c *client, args [][]byte) {
	var o setArgs
	if len(args) > 3 && !o.parse(c, args) {
		return
	}
	res, err := c.view.Set(args[1], args[2], o.SetOptions)
	switch {
	case err != nil:
		c.failWith(err)
	case o.WantOld && res.HadOld:
		c.bulk(res.Old)
	case o.WantOld || !res.Done:
		c.null()
	default:
		c.ok()
	}
}

func setnx(c *client, args [][]byte) {
	res, err := c.view.Set(args[1], args[2], store.SetOptions{Cond: store.IfMissing})
	if err != nil {
		c.failWith(err)
		return
	}
	c.flag(res.Done)
}

func setex(c *client, args [][]byte) { c.setWithExpiry(args, "EX") }

func psetex(c *client, args [][]byte) { c.setWithExpiry(args, "PX") }

func (c *client) setWithExpiry(args [][]byte, unit string) {
	expiry := expiryOptions{unit, args[2]}
	at, ok := expiry.deadline(c)
	if !ok {
		return
	}
	if _, err := c.view.Set(args[1], args[3], store.SetOptions{ExpireAtMs: at}); err != nil {
		c.failWith(err)
		return
	}
	c.ok()
}

func getEx(c *client, args [][]byte) {
	var expiry expiryOptions
	persist := false
	for i := 2; i < len(args); i++ {
		used := expiry.take(args, i)
		switch {
		case used > 0 && !persist:
			i += used - 1
		case used == 0 && expiry.given == "" && bytes.EqualFold(args[i], []byte("PERSIST")):
			persist = true
		default:
			c.fail(errSyntax)
			return
		}
	}
	at, problem := expiry.resolve(c)
	if problem != "" {
		// A missing key, or one of another type, comes before a bad time, as in Redis.
		if val, ok, err := c.view.Get(args[1]); !ok || err != nil {
			c.bulkOrNull(val, ok, err)
			return
		}
		c.fail(problem)
		return
	}
	c.bulkOrNull(c.view.GetEx(args[1], store.Expiry{Change: persist || at != 0, AtMs: at}))
}

func mset(c *client, args [][]byte) {
	if len(args)%2 == 0 {
		c.fail(arityError(c.cmd))
		return
	}
	c.view.MSet(args[1:])
	c.ok()
}

func msetnx(c *client, args [][]byte) {
	if len(args)%2 == 0 {
		c.fail(arityError(c.cmd))
		return
	}
	c.flag(c.view.MSetNX(args[1:]))
}

func delIfEq(c *client, args [][]byte) {
	removed, err := c.view.DelIfEq(args[1], args[2])
	if err != nil {
		c.failWith(err)
		return
	}
	c.flag(removed)
}

func appendCommand(c *client, args [][]byte) {
	c.intOr(c.view.Append(args[1], args[2], c.s.params.protoMaxBulkLen.Get()))
}

func incr(c *client, args [][]byte) { c.intOr(c.view.IncrBy(args[1], 1)) }

func decr(c *client, args [][]byte) { c.intOr(c.view.IncrBy(args[1], -1)) }

func incrBy(c *client, args [][]byte) {
	by, ok := parseInt(args[2])
	if !ok {
		c.fail(errNotInteger)
		return
	}
	c.intOr(c.view.IncrBy(args[1], by))
}

func decrBy(c *client, args [][]byte) {
	by, ok := parseInt(args[2])
	if !ok {
		c.fail(errNotInteger)
		return
	}
	if by == math.MinInt64 { // its opposite does not exist
		c.fail("ERR decrement would overflow")
		return
	}
	c.intOr(c.view.IncrBy(args[1], -by))
}

func incrByFloat(c *client, args [][]byte) {
	val, err := c.view.IncrByFloat(args[1], args[2])
	if err != nil {
		c.failWith(err)
		return
	}
	c.bulkString(val)
}

func getRange(c *client, args [][]byte) {
	start, end, ok := parseInts(args[2], args[3])
	if !ok {
		c.fail(errNotInteger)
		return
	}
	val, err := c.view.GetRange(args[1], start, end)
	c.bulkOrNull(val, true, err)
}

func setRange(c *client, args [][]byte) {
	offset, ok := parseInt(args[2])
	if !ok {
		c.fail(errNotInteger)
		return
	}
	if offset < 0 {
		c.fail(errOffsetRange)
		return
	}
	c.intOr(c.view.SetRange(args[1], offset, args[3], c.s.params.protoMaxBulkLen.Get()))
}
