package server

import (
	"bytes"
	"math"
	"strconv"

	"kvserver/store"
)

// zsetRows follow the order of Redis's documentation. Ranges are in zsetrange.go, unions and the like in zsetops.go.
var zsetRows = []row{
	{"bzmpop", -5, write | blocking, specs{keysNum(kRW|kAccess|kDelete, 2)}, "7.0.0", "Removes and returns members with the lowest or highest scores from the first sorted set that is not empty. Blocks until there is one.", bzmpop},
	{"bzpopmax", -3, write | blocking | fast, specs{keysAt(kRW|kAccess|kDelete, 1, -2, 1)}, "5.0.0", "Removes and returns the member with the highest score from one of several sorted sets. Blocks until there is one.", bzpopmax},
	{"bzpopmin", -3, write | blocking | fast, specs{keysAt(kRW|kAccess|kDelete, 1, -2, 1)}, "5.0.0", "Removes and returns the member with the lowest score from one of several sorted sets. Blocks until there is one.", bzpopmin},
	{"zadd", -4, write | denyoom | fast, specs{keysAt(kRW|kUpdate, 1, 1, 1)}, "1.2.0", "Adds members to a sorted set, or updates their scores. Creates the key if it doesn't exist.", zadd},
	{"zcard", 2, readonly | fast, specs{keysAt(kRO, 1, 1, 1)}, "1.2.0", "Returns the number of members in a sorted set.", zcard},
	{"zcount", 4, readonly | fast, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "2.0.0", "Returns the number of members in a sorted set whose scores lie in a range.", zcount},
	{"zdiff", -3, readonly, specs{keysNum(kRO|kAccess, 1)}, "6.2.0", "Returns the difference of sorted sets.", zdiff},
	{"zdiffstore", -4, write | denyoom, specs{keysAt(kOW|kUpdate, 1, 1, 1), keysNum(kRO|kAccess, 2)}, "6.2.0", "Stores the difference of sorted sets in a key.", zdiffstore},
	{"zincrby", 4, write | denyoom | fast, specs{keysAt(kRW|kAccess|kUpdate, 1, 1, 1)}, "1.2.0", "Increments the score of a member in a sorted set.", zincrby},
	{"zinter", -3, readonly, specs{keysNum(kRO|kAccess, 1)}, "6.2.0", "Returns the intersection of sorted sets.", zinter},
	{"zintercard", -3, readonly, specs{keysNum(kRO|kAccess, 1)}, "7.0.0", "Returns the number of members of the intersection of sorted sets.", zintercard},
	{"zinterstore", -4, write | denyoom, specs{keysAt(kOW|kUpdate, 1, 1, 1), keysNum(kRO|kAccess, 2)}, "2.0.0", "Stores the intersection of sorted sets in a key.", zinterstore},
	{"zlexcount", 4, readonly | fast, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "2.8.9", "Returns the number of members of a sorted set that lie in a lexicographical range.", zlexcount},
	{"zmpop", -4, write, specs{keysNum(kRW|kAccess|kDelete, 1)}, "7.0.0", "Removes and returns members with the lowest or highest scores from the first sorted set that is not empty.", zmpop},
	{"zmscore", -3, readonly | fast, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "6.2.0", "Returns the scores of several members in a sorted set.", zmscore},
	{"zpopmax", -2, write | fast, specs{keysAt(kRW|kAccess|kDelete, 1, 1, 1)}, "5.0.0", "Removes and returns the members with the highest scores in a sorted set.", zpopmax},
	{"zpopmin", -2, write | fast, specs{keysAt(kRW|kAccess|kDelete, 1, 1, 1)}, "5.0.0", "Removes and returns the members with the lowest scores in a sorted set.", zpopmin},
	{"zrandmember", -2, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "6.2.0", "Returns random members of a sorted set.", zrandmember},
	{"zrange", -4, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "1.2.0", "Returns the members of a sorted set in a range of ranks, scores or members.", zrange},
	{"zrangebylex", -4, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "2.8.9", "Returns the members of a sorted set in a lexicographical range.", zrangebylex},
	{"zrangebyscore", -4, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "1.0.5", "Returns the members of a sorted set in a range of scores.", zrangebyscore},
	{"zrangestore", -5, write | denyoom, specs{keysAt(kOW|kUpdate, 1, 1, 1), keysAt(kRO|kAccess, 2, 2, 1)}, "6.2.0", "Stores a range of the members of a sorted set in a key.", zrangestore},
	{"zrank", -3, readonly | fast, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "2.0.0", "Returns the rank of a member in a sorted set, by ascending scores.", zrank},
	{"zrem", -3, write | fast, specs{keysAt(kRW|kDelete, 1, 1, 1)}, "1.2.0", "Removes members from a sorted set. Deletes the set if the last member was removed.", zrem},
	{"zremrangebylex", 4, write, specs{keysAt(kRW|kDelete, 1, 1, 1)}, "2.8.9", "Removes the members of a sorted set in a lexicographical range. Deletes the set if the last member was removed.", zremrangebylex},
	{"zremrangebyrank", 4, write, specs{keysAt(kRW|kDelete, 1, 1, 1)}, "2.0.0", "Removes the members of a sorted set in a range of ranks. Deletes the set if the last member was removed.", zremrangebyrank},
	{"zremrangebyscore", 4, write, specs{keysAt(kRW|kDelete, 1, 1, 1)}, "1.2.0", "Removes the members of a sorted set in a range of scores. Deletes the set if the last member was removed.", zremrangebyscore},
	{"zrevrange", -4, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "1.2.0", "Returns the members of a sorted set in a range of ranks, by descending scores.", zrevrange},
	{"zrevrangebylex", -4, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "2.8.9", "Returns the members of a sorted set in a lexicographical range, in reverse order.", zrevrangebylex},
	{"zrevrangebyscore", -4, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "2.2.0", "Returns the members of a sorted set in a range of scores, by descending scores.", zrevrangebyscore},
	{"zrevrank", -3, readonly | fast, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "2.0.0", "Returns the rank of a member in a sorted set, by descending scores.", zrevrank},
	{"zscan", -3, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "2.8.0", "Iterates over members and scores of a sorted set.", zscan},
	{"zscore", 3, readonly | fast, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "1.2.0", "Returns the score of a member in a sorted set.", zscore},
	{"zunion", -3, readonly, specs{keysNum(kRO|kAccess, 1)}, "6.2.0", "Returns the union of sorted sets.", zunion},
	{"zunionstore", -4, write | denyoom, specs{keysAt(kOW|kUpdate, 1, 1, 1), keysNum(kRO|kAccess, 2)}, "2.0.0", "Stores the union of sorted sets in a key.", zunionstore},
}

// zaddArgs are the options of ZADD.
type zaddArgs struct {
	store.ZAddOptions
	changed bool // CH: the reply counts updated members, too
}

// parse reads the options at the beginning of args and returns how many there are.
func (o *zaddArgs) parse(args [][]byte) (used int) {
	for i, arg := range args {
		switch {
		case bytes.EqualFold(arg, []byte("NX")):
			o.IfMissing = true
		case bytes.EqualFold(arg, []byte("XX")):
			o.IfExists = true
		case bytes.EqualFold(arg, []byte("GT")):
			o.Greater = true
		case bytes.EqualFold(arg, []byte("LT")):
			o.Less = true
		case bytes.EqualFold(arg, []byte("CH")):
			o.changed = true
		case bytes.EqualFold(arg, []byte("INCR")):
			o.Increment = true
		default:
			return i
		}
	}
	return len(args)
}

// problem is what is wrong with the options of a ZADD of n pairs, if anything is.
func (o *zaddArgs) problem(n int) string {
	switch {
	case o.IfMissing && o.IfExists:
		return "ERR XX and NX options at the same time are not compatible"
	case o.Greater && (o.IfMissing || o.Less) || o.Less && o.IfMissing:
		return "ERR GT, LT, and/or NX options at the same time are not compatible"
	case o.Increment && n > 1:
		return "ERR INCR option supports a single increment-element pair"
	}
	return ""
}

func zadd(c *client, args [][]byte) {
	var o zaddArgs
	pairs := args[2:]
	pairs = pairs[o.parse(pairs):]
	if len(pairs) == 0 || len(pairs)%2 != 0 {
		c.fail(errSyntax)
		return
	}
	if problem := o.problem(len(pairs) / 2); problem != "" {
		c.fail(problem)
		return
	}
	var few [8]store.ZElement
	elements := few[:0]
	for i := 0; i < len(pairs); i += 2 {
		score, ok := store.ParseDouble(pairs[i])
		if !ok {
			c.fail(errNotFloat)
			return
		}
		elements = append(elements, store.ZElement{Member: pairs[i+1], Score: score})
	}
	r, err := c.view.ZAdd(args[1], elements, o.ZAddOptions)
	switch {
	case err != nil:
		c.failWith(err)
	case o.Increment && r.Done:
		c.double(r.Score)
	case o.Increment:
		c.null()
	case o.changed:
		c.int(r.Added + r.Updated)
	default:
		c.int(r.Added)
	}
}

func zincrby(c *client, args [][]byte) {
	by, ok := store.ParseDouble(args[2])
	if !ok {
		c.fail(errNotFloat)
		return
	}
	one := [1]store.ZElement{{Member: args[3], Score: by}}
	r, err := c.view.ZAdd(args[1], one[:], store.ZAddOptions{Increment: true})
	if err != nil {
		c.failWith(err)
		return
	}
	c.double(r.Score)
}

func zrem(c *client, args [][]byte) { c.intOr(c.view.ZRem(args[1], args[2:])) }

// readSorted looks up a sorted set. It answers itself if the key holds something else.
func (c *client) readSorted(key []byte) (s store.SortedSet, ok bool) {
	s, err := c.view.ReadSorted(key)
	if err != nil {
		c.failWith(err)
	}
	return s, err == nil
}

func zcard(c *client, args [][]byte) {
	if s, ok := c.readSorted(args[1]); ok {
		c.int(int64(s.Len()))
	}
}

func zscore(c *client, args [][]byte) {
	if s, ok := c.readSorted(args[1]); ok {
		c.scoreOrNull(s.Score(args[2]))
	}
}

func (c *client) scoreOrNull(score float64, ok bool) {
	if ok {
		c.double(score)
	} else {
		c.null()
	}
}

func zmscore(c *client, args [][]byte) {
	s, ok := c.readSorted(args[1])
	if !ok {
		return
	}
	c.array(len(args) - 2)
	for _, member := range args[2:] {
		c.scoreOrNull(s.Score(member))
	}
}

func zrank(c *client, args [][]byte) { c.rankOf(args, false) }

func zrevrank(c *client, args [][]byte) { c.rankOf(args, true) }

func (c *client) rankOf(args [][]byte, reverse bool) {
	withScore := len(args) > 3
	switch {
	case len(args) > 4:
		c.fail(arityError(c.cmd))
		return
	case withScore && !bytes.EqualFold(args[3], []byte("WITHSCORE")):
		c.fail(errSyntax)
		return
	}
	s, ok := c.readSorted(args[1])
	if !ok {
		return
	}
	rank, score := s.Rank(args[2])
	switch {
	case rank < 0 && withScore:
		c.nullArray()
		return
	case rank < 0:
		c.null()
		return
	case reverse:
		rank = s.Len() - 1 - rank
	}
	if !withScore {
		c.int(int64(rank))
		return
	}
	c.array(2)
	c.int(int64(rank))
	c.double(score)
}

// elements begins an array of n members, with their scores if so wanted. In RESP3 each pair is an array, in RESP2 there is
// one long array unless they are to be nested always.
func (c *client) elements(n int, withScores, nested bool) {
	if withScores && !c.resp3 && !nested {
		n *= 2
	}
	c.array(n)
}

// element appends a member of such an array and reports whether the reply is still within the limit.
func (c *client) element(member []byte, score float64, withScores, nested bool) bool {
	if withScores && (c.resp3 || nested) {
		c.array(2)
	}
	c.bulk(member)
	if withScores {
		c.double(score)
	}
	return !c.over
}

func zpopmin(c *client, args [][]byte) { c.popScored(args, false) }

func zpopmax(c *client, args [][]byte) { c.popScored(args, true) }

// popScored answers ZPOPMIN and ZPOPMAX. Without a count the reply is flat even in RESP3.
func (c *client) popScored(args [][]byte, last bool) {
	if len(args) > 3 {
		c.fail(errSyntax)
		return
	}
	count := int64(1)
	counted := len(args) == 3
	if counted {
		n, ok := parseInt(args[2])
		if !ok || n < 0 {
			c.fail(errNotPositive)
			return
		}
		count = n
	}
	found, err := c.view.ZPop(args[1], last, count, func(n int) {
		if c.resp3 && counted {
			c.array(n)
		} else {
			c.array(2 * n)
		}
	}, func(member []byte, score float64) {
		if c.resp3 && counted {
			c.array(2)
		}
		c.bulk(member)
		c.double(score)
	})
	switch {
	case err != nil:
		c.failWith(err)
	case !found:
		c.array(0)
	}
}

func bzpopmin(c *client, args [][]byte) { c.popScoredBlocking(args, false) }

func bzpopmax(c *client, args [][]byte) { c.popScoredBlocking(args, true) }

func (c *client) popScoredBlocking(args [][]byte, last bool) {
	timeoutMs, problem := parseTimeout(args[len(args)-1])
	if problem != "" {
		c.fail(problem)
		return
	}
	keys := args[1 : len(args)-1]
	for _, key := range keys {
		found, err := c.view.ZPop(key, last, 1, func(int) {
			c.array(3)
			c.bulk(key)
		}, func(member []byte, score float64) {
			c.bulk(member)
			c.double(score)
		})
		if err != nil {
			c.failWith(err)
			return
		}
		if found {
			return
		}
	}
	c.block(args, wait{keys: keys, typ: "zset", timeoutMs: timeoutMs, timedOut: answerNullArray})
}

// popFirstScored pops from the first sorted set there is, and reports whether it has answered.
func (c *client) popFirstScored(m *multiPop) (done bool) {
	for _, key := range m.keys {
		found, err := c.view.ZPop(key, m.last, m.count, func(n int) {
			c.array(2)
			c.bulk(key)
			c.elements(n, true, true)
		}, func(member []byte, score float64) { c.element(member, score, true, true) })
		if err != nil {
			c.failWith(err)
			return true
		}
		if found {
			return true
		}
	}
	return false
}

func zmpop(c *client, args [][]byte) { c.popSeveral(args, &popsOfZsets) }

func bzmpop(c *client, args [][]byte) { c.popSeveralBlocking(args, &popsOfZsets) }

func zrandmember(c *client, args [][]byte) {
	if len(args) > 2 {
		c.randomScored(args)
		return
	}
	s, ok := c.readSorted(args[1])
	switch {
	case !ok:
	case !s.Exists():
		c.null()
	default:
		s.Draw(1, func(member []byte, _ float64) bool { return c.bulkFits(member) })
	}
}

// randomScored answers ZRANDMEMBER with a count.
func (c *client) randomScored(args [][]byte) {
	count, ok := parseInt(args[2])
	withScores := len(args) == 4
	switch {
	case !ok:
		c.fail(errNotInteger)
		return
	case count == math.MinInt64:
		c.fail(errLongRange)
		return
	case len(args) > 4 || withScores && !bytes.EqualFold(args[3], []byte("WITHSCORES")):
		c.fail(errSyntax)
		return
	case withScores && (count < -math.MaxInt64/2 || count > math.MaxInt64/2) || count < -drawsMax:
		c.fail("ERR value is out of range")
		return
	}
	s, ok := c.readSorted(args[1])
	switch {
	case !ok:
	case !s.Exists() || count == 0:
		c.array(0)
	case count < 0:
		c.elements(int(-count), withScores, false)
		s.Draw(-count, func(member []byte, score float64) bool { return c.element(member, score, withScores, false) })
	default:
		n := int(min(count, int64(s.Len())))
		c.elements(n, withScores, false)
		s.Sample(n, func(member []byte, score float64) { c.element(member, score, withScores, false) })
	}
}

func zscan(c *client, args [][]byte) {
	if _, ok := parseCursor(args[2]); !ok {
		c.fail(errInvalidCursor)
		return
	}
	s, ok := c.readSorted(args[1])
	if !ok {
		return
	}
	if !s.Exists() { // whatever the options are, as in Redis
		c.scanReply(func() (uint64, int) { return 0, 0 })
		return
	}
	cursor, o, ok := c.scanOptions(args[2:])
	if !ok {
		return
	}
	var digits [32]byte
	c.scanReply(func() (next uint64, n int) {
		next = s.Scan(cursor, o.count, func(member []byte, score float64) {
			if !o.matches(member) {
				return
			}
			c.bulk(member)
			if s.Packed() {
				c.bulk(store.AppendDouble(digits[:0], score))
			} else { // as Redis prints a long double
				c.bulk(appendDigits17(digits[:0], score))
			}
			n += 2
		})
		return next, n
	})
}

// appendDigits17 appends a number as C's printf does for "%.17g".
func appendDigits17(dst []byte, f float64) []byte {
	if math.IsInf(f, 0) {
		return store.AppendDouble(dst, f)
	}
	return strconv.AppendFloat(dst, f, 'g', 17, 64)
}
