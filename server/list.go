package server

import (
	"bytes"
	"math"

	"kvserver/store"
)

// listRows follow the order of Redis's documentation.
var listRows = []row{
	{"blmove", 6, write | denyoom | blocking, specs{keysAt(kRW|kAccess|kDelete, 1, 1, 1), keysAt(kRW|kInsert, 2, 2, 1)}, "6.2.0", "Moves an element from one list to another and returns it. Waits for one if there is none.", blmove},
	{"blmpop", -5, write | blocking, specs{keysNum(kRW|kAccess|kDelete, 2)}, "7.0.0", "Removes and returns elements of the first of several lists that has any. Waits for one if none has.", blmpop},
	{"blpop", -3, write | blocking, specs{keysAt(kRW|kAccess|kDelete, 1, -2, 1)}, "2.0.0", "Removes and returns the first element of a list. Waits for one if there is none.", blpop},
	{"brpop", -3, write | blocking, specs{keysAt(kRW|kAccess|kDelete, 1, -2, 1)}, "2.0.0", "Removes and returns the last element of a list. Waits for one if there is none.", brpop},
	{"brpoplpush", 4, write | denyoom | blocking, specs{keysAt(kRW|kAccess|kDelete, 1, 1, 1), keysAt(kRW|kInsert, 2, 2, 1)}, "2.2.0", "Moves the last element of a list to the head of another and returns it. Waits for one if there is none.", brpoplpush},
	{"lindex", 3, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "1.0.0", "Returns an element of a list by its index.", lindex},
	{"linsert", 5, write | denyoom, specs{keysAt(kRW|kInsert, 1, 1, 1)}, "2.2.0", "Inserts an element before or after another element of a list.", linsert},
	{"llen", 2, readonly | fast, specs{keysAt(kRO, 1, 1, 1)}, "1.0.0", "Returns the length of a list.", llen},
	{"lmove", 5, write | denyoom, specs{keysAt(kRW|kAccess|kDelete, 1, 1, 1), keysAt(kRW|kInsert, 2, 2, 1)}, "6.2.0", "Moves an element from one list to another and returns it.", lmove},
	{"lmpop", -4, write, specs{keysNum(kRW|kAccess|kDelete, 1)}, "7.0.0", "Removes and returns elements of the first of several lists that has any.", lmpop},
	{"lpop", -2, write | fast, specs{keysAt(kRW|kAccess|kDelete, 1, 1, 1)}, "1.0.0", "Removes and returns the first elements of a list.", lpop},
	{"lpos", -3, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "6.0.6", "Returns the index of matching elements of a list.", lpos},
	{"lpush", -3, write | denyoom | fast, specs{keysAt(kRW|kInsert, 1, 1, 1)}, "1.0.0", "Adds elements at the head of a list. Creates the key if it doesn't exist.", lpush},
	{"lpushx", -3, write | denyoom | fast, specs{keysAt(kRW|kInsert, 1, 1, 1)}, "2.2.0", "Adds elements at the head of a list only when the list exists.", lpushx},
	{"lrange", 4, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "1.0.0", "Returns a range of elements of a list.", lrange},
	{"lrem", 4, write, specs{keysAt(kRW|kDelete, 1, 1, 1)}, "1.0.0", "Removes elements of a list by their value.", lrem},
	{"lset", 4, write | denyoom, specs{keysAt(kRW|kUpdate, 1, 1, 1)}, "1.0.0", "Replaces an element of a list by its index.", lset},
	{"ltrim", 4, write, specs{keysAt(kRW|kDelete, 1, 1, 1)}, "1.0.0", "Removes the elements at both ends of a list that are outside a range.", ltrim},
	{"rpop", -2, write | fast, specs{keysAt(kRW|kAccess|kDelete, 1, 1, 1)}, "1.0.0", "Removes and returns the last elements of a list.", rpop},
	{"rpoplpush", 3, write | denyoom, specs{keysAt(kRW|kAccess|kDelete, 1, 1, 1), keysAt(kRW|kInsert, 2, 2, 1)}, "1.2.0", "Moves the last element of a list to the head of another and returns it.", rpoplpush},
	{"rpush", -3, write | denyoom | fast, specs{keysAt(kRW|kInsert, 1, 1, 1)}, "1.0.0", "Adds elements at the tail of a list. Creates the key if it doesn't exist.", rpush},
	{"rpushx", -3, write | denyoom | fast, specs{keysAt(kRW|kInsert, 1, 1, 1)}, "2.2.0", "Adds elements at the tail of a list only when the list exists.", rpushx},
}

func lpush(c *client, args [][]byte) { c.pushElements(args, store.Head, false) }

func rpush(c *client, args [][]byte) { c.pushElements(args, store.Tail, false) }

func lpushx(c *client, args [][]byte) { c.pushElements(args, store.Head, true) }

func rpushx(c *client, args [][]byte) { c.pushElements(args, store.Tail, true) }

func (c *client) pushElements(args [][]byte, end store.End, mustExist bool) {
	c.intOr(c.view.ListPush(args[1], end, args[2:], mustExist))
}

func llen(c *client, args [][]byte) { c.intOr(c.view.ListLen(args[1])) }

func lpop(c *client, args [][]byte) { c.popElements(args, store.Head) }

func rpop(c *client, args [][]byte) { c.popElements(args, store.Tail) }

func (c *client) popElements(args [][]byte, end store.End) {
	if len(args) == 2 {
		c.bulkOrNull(c.view.ListPop(args[1], end))
		return
	}
	if len(args) > 3 {
		c.fail(arityError(c.cmd))
		return
	}
	count, ok := parseInt(args[2])
	if !ok || count < 0 {
		c.fail(errNotPositive)
		return
	}
	ok, err := c.view.ListPopSome(args[1], end, count, c.listElements)
	switch {
	case err != nil:
		c.failWith(err)
	case !ok:
		c.nullArray()
	}
}

// listElements answers with elements of a list.
func (c *client) listElements(list store.Elements) {
	c.array(list.Len())
	list.Each(func(elem []byte) { c.bulk(elem) })
}

func lrange(c *client, args [][]byte) {
	start, end, ok := parseInts(args[2], args[3])
	if !ok {
		c.fail(errNotInteger)
		return
	}
	list, err := c.view.ListRange(args[1], start, end)
	if err != nil {
		c.failWith(err)
		return
	}
	c.listElements(list)
}

func lindex(c *client, args [][]byte) {
	index, ok := parseInt(args[2])
	if !ok {
		// A missing key, or one of another type, comes before a bad index, as in Redis.
		if n, err := c.view.ListLen(args[1]); n == 0 || err != nil {
			c.bulkOrNull(nil, false, err)
			return
		}
		c.fail(errNotInteger)
		return
	}
	c.bulkOrNull(c.view.ListIndex(args[1], index))
}

func lset(c *client, args [][]byte) {
	index, ok := parseInt(args[2])
	if !ok { // as in LINDEX
		switch n, err := c.view.ListLenWrite(args[1]); {
		case err != nil:
			c.failWith(err)
		case n == 0:
			c.fail(errNoKey)
		default:
			c.fail(errNotInteger)
		}
		return
	}
	if err := c.view.ListSet(args[1], index, args[3]); err != nil {
		c.failWith(err)
		return
	}
	c.ok()
}

func linsert(c *client, args [][]byte) {
	after := bytes.EqualFold(args[2], []byte("AFTER"))
	if !after && !bytes.EqualFold(args[2], []byte("BEFORE")) {
		c.fail(errSyntax)
		return
	}
	c.intOr(c.view.ListInsert(args[1], args[3], args[4], after))
}

func lrem(c *client, args [][]byte) {
	count, ok := parseInt(args[2])
	switch {
	case !ok:
		c.fail(errNotInteger)
	case count == math.MinInt64:
		c.fail(errLongRange)
	default:
		c.intOr(c.view.ListRemove(args[1], count, args[3]))
	}
}

func ltrim(c *client, args [][]byte) {
	start, end, ok := parseInts(args[2], args[3])
	if !ok {
		c.fail(errNotInteger)
		return
	}
	if err := c.view.ListTrim(args[1], start, end); err != nil {
		c.failWith(err)
		return
	}
	c.ok()
}

// searchOptions reads the options of LPOS. withCount tells that there is a COUNT, with which the reply is an array.
func searchOptions(args [][]byte) (s store.Search, withCount bool, problem string) {
	s.Rank, s.Count = 1, 1
	for i := 0; i < len(args); i += 2 {
		if i+1 == len(args) {
			return s, false, errSyntax
		}
		n, ok := parseInt(args[i+1])
		switch option := args[i]; {
		case bytes.EqualFold(option, []byte("RANK")):
			switch {
			case !ok:
				return s, false, errNotInteger
			case n == math.MinInt64:
				return s, false, errLongRange
			case n == 0:
				return s, false, "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list"
			}
			s.Rank = n
		case bytes.EqualFold(option, []byte("COUNT")):
			if !ok || n < 0 {
				return s, false, "ERR COUNT can't be negative"
			}
			s.Count, withCount = n, true
		case bytes.EqualFold(option, []byte("MAXLEN")):
			if !ok || n < 0 {
				return s, false, "ERR MAXLEN can't be negative"
			}
			s.Most = n
		default:
			return s, false, errSyntax
		}
	}
	return s, withCount, ""
}

func lpos(c *client, args [][]byte) {
	s, withCount, problem := searchOptions(args[3:])
	if problem != "" {
		c.fail(problem)
		return
	}
	if !withCount {
		at := int64(-1)
		err := c.view.ListPositions(args[1], args[2], s, func(index int64) { at = index })
		switch {
		case err != nil:
			c.failWith(err)
		case at < 0:
			c.null()
		default:
			c.int(at)
		}
		return
	}
	mark := len(c.buf)
	var err error
	c.deferred(func() (n int) {
		err = c.view.ListPositions(args[1], args[2], s, func(index int64) {
			c.int(index)
			n++
		})
		return n
	})
	if err != nil {
		c.buf = c.buf[:mark]
		c.failWith(err)
	}
}

// parseSide reads LEFT or RIGHT.
func parseSide(arg []byte) (end store.End, ok bool) {
	if bytes.EqualFold(arg, []byte("LEFT")) {
		return store.Head, true
	}
	return store.Tail, bytes.EqualFold(arg, []byte("RIGHT"))
}

func lmove(c *client, args [][]byte) {
	take, ok1 := parseSide(args[3])
	give, ok2 := parseSide(args[4])
	if !ok1 || !ok2 {
		c.fail(errSyntax)
		return
	}
	c.bulkOrNull(c.view.ListMove(args[1], args[2], take, give))
}

func rpoplpush(c *client, args [][]byte) {
	c.bulkOrNull(c.view.ListMove(args[1], args[2], store.Tail, store.Head))
}

func blmove(c *client, args [][]byte) {
	take, ok1 := parseSide(args[3])
	give, ok2 := parseSide(args[4])
	if !ok1 || !ok2 {
		c.fail(errSyntax)
		return
	}
	c.blockingMove(args, take, give, args[5])
}

func brpoplpush(c *client, args [][]byte) { c.blockingMove(args, store.Tail, store.Head, args[3]) }

func (c *client) blockingMove(args [][]byte, take, give store.End, timeout []byte) {
	timeoutMs, problem := parseTimeout(timeout)
	if problem != "" {
		c.fail(problem)
		return
	}
	elem, ok, err := c.view.ListMove(args[1], args[2], take, give)
	if ok || err != nil {
		c.bulkOrNull(elem, ok, err)
		return
	}
	c.block(args, wait{keys: args[1:2], typ: "list", timeoutMs: timeoutMs, timedOut: func(c *client) {
		if c.inExec { // Redis has another null for each
			c.null()
		} else {
			c.nullArray()
		}
	}})
}

func blpop(c *client, args [][]byte) { c.blockingPop(args, store.Head) }

func brpop(c *client, args [][]byte) { c.blockingPop(args, store.Tail) }

func (c *client) blockingPop(args [][]byte, end store.End) {
	last := len(args) - 1
	timeoutMs, problem := parseTimeout(args[last])
	if problem != "" {
		c.fail(problem)
		return
	}
	keys := args[1:last]
	for _, key := range keys {
		elem, ok, err := c.view.ListPop(key, end)
		switch {
		case err != nil:
			c.failWith(err)
			return
		case ok:
			c.array(2)
			c.bulk(key)
			c.bulk(elem)
			return
		}
	}
	c.block(args, wait{keys: keys, typ: "list", timeoutMs: timeoutMs, timedOut: answerNullArray})
}

// multiPop is what LMPOP and ZMPOP take, and BLMPOP and BZMPOP after the timeout.
type multiPop struct {
	keys  [][]byte
	last  bool // pops from the end: RIGHT, MAX
	count int64
}

// popsOf is what they do differently.
type popsOf struct {
	typ                 string
	firstWord, lastWord string
	popFirst            func(c *client, m *multiPop) (done bool) // pops from the first key that has any, and answers
}

var (
	popsOfLists = popsOf{"list", "LEFT", "RIGHT", (*client).popFirstList}
	popsOfZsets = popsOf{"zset", "MIN", "MAX", (*client).popFirstScored}
)

// parse reads the arguments from the number of keys on. problem is what is wrong, if anything is.
func (m *multiPop) parse(args [][]byte, of *popsOf) (problem string) {
	n, ok := parseInt(args[0])
	if !ok || n < 1 {
		return "ERR numkeys should be greater than 0"
	}
	if n > int64(len(args)-2) {
		return errSyntax
	}
	m.keys, args = args[1:1+n], args[1+n:]
	m.last = bytes.EqualFold(args[0], []byte(of.lastWord))
	if !m.last && !bytes.EqualFold(args[0], []byte(of.firstWord)) {
		return errSyntax
	}
	m.count = 1
	switch args = args[1:]; {
	case len(args) == 0:
		return ""
	case len(args) == 1 || !bytes.EqualFold(args[0], []byte("COUNT")):
		return errSyntax
	}
	if m.count, ok = parseInt(args[1]); !ok || m.count < 1 {
		return "ERR count should be greater than 0"
	}
	if len(args) > 2 {
		return errSyntax
	}
	return ""
}

// popFirstList pops from the first list there is, and reports whether it has answered.
func (c *client) popFirstList(m *multiPop) (done bool) {
	end := store.Head
	if m.last {
		end = store.Tail
	}
	for _, key := range m.keys {
		ok, err := c.view.ListPopSome(key, end, m.count, func(list store.Elements) {
			c.array(2)
			c.bulk(key)
			c.listElements(list)
		})
		if err != nil {
			c.failWith(err)
		}
		if ok || err != nil {
			return true
		}
	}
	return false
}

func lmpop(c *client, args [][]byte) { c.popSeveral(args, &popsOfLists) }

func blmpop(c *client, args [][]byte) { c.popSeveralBlocking(args, &popsOfLists) }

func (c *client) popSeveral(args [][]byte, of *popsOf) {
	var m multiPop
	if problem := m.parse(args[1:], of); problem != "" {
		c.fail(problem)
		return
	}
	if !of.popFirst(c, &m) {
		c.nullArray()
	}
}

func (c *client) popSeveralBlocking(args [][]byte, of *popsOf) {
	var m multiPop
	if problem := m.parse(args[2:], of); problem != "" {
		c.fail(problem)
		return
	}
	timeoutMs, problem := parseTimeout(args[1])
	if problem != "" {
		c.fail(problem)
		return
	}
	if !of.popFirst(c, &m) {
		c.block(args, wait{keys: m.keys, typ: of.typ, timeoutMs: timeoutMs, timedOut: answerNullArray})
	}
}

// answerNullArray is the reply of most commands whose time to wait is over.
func answerNullArray(c *client) { c.nullArray() }
