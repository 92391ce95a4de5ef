package server

import (
	"bytes"
	"math"
	"strings"

	"kvserver/store"
)

// The commands about the deadlines of fields, as Redis 8 has them. The older ones want FIELDS in its place; those that take
// options take them, and FIELDS, in any order.

// fieldExpireMaxMs is the latest deadline of a field, in Unix milliseconds: Redis keeps them in 46 bits.
const fieldExpireMaxMs = 1<<46 - 1

// fieldDeadline reads the time at which fields are to expire, in Unix milliseconds, or tells what is wrong with it.
func (c *client) fieldDeadline(arg []byte, seconds, relative bool) (ms int64, problem string) {
	n, ok := parseInt(arg)
	switch {
	case !ok:
		return 0, errNotInteger
	case n < 0:
		return 0, "ERR invalid expire time, must be >= 0"
	}
	ms, ok = absoluteMs(n, seconds, relative, c.slot.clock.unixMs())
	if !ok || ms > fieldExpireMaxMs {
		return 0, invalidExpire(c.cmd)
	}
	return ms, ""
}

// fieldArgs are what commands on fields take after the key.
type fieldArgs struct {
	fields [][]byte // with the values, if the command takes some
	cond   store.ExpireCond
	exist  store.FieldCond
	change store.DeadlineChange
	atMs   int64
}

// take reads FIELDS, their number and the fields, of perField arguments each, at args[i], and returns where they end. few
// is the error if there are too few arguments for a field, badNumber if the number is none.
func (o *fieldArgs) take(args [][]byte, i, perField int, few, badNumber string) (end int, problem string) {
	if o.fields != nil {
		return 0, "ERR FIELDS keyword specified multiple times"
	}
	if few != "" {
		return 0, few
	}
	n, ok := parseInt(args[i+1])
	if !ok || n < 1 || n > math.MaxInt32 {
		return 0, badNumber
	}
	from := i + 2
	if n > int64(len(args)-from)/int64(perField) {
		return 0, "ERR wrong number of arguments"
	}
	end = from + int(n)*perField
	o.fields = args[from:end]
	return end, ""
}

// failOnHash answers with an error in the arguments, which comes after that about a key of another type. A refused command
// is no access.
func (c *client) failOnHash(key []byte, problem string) {
	if e := c.view.Peek(key); e.Exists() && e.Type() != "hash" {
		problem = errWrongType
	}
	c.fail(problem)
}

// arrayOr answers with an array of n elements that fn appends, or with the error that it returns instead.
func (c *client) arrayOr(n int, fn func() error) {
	mark := len(c.buf)
	c.array(n)
	if err := fn(); err != nil {
		c.buf = c.buf[:mark]
		c.failWith(err)
	}
}

func hexpire(c *client, args [][]byte) { c.expireFields(args, true, true) }

func hpexpire(c *client, args [][]byte) { c.expireFields(args, false, true) }

func hexpireAt(c *client, args [][]byte) { c.expireFields(args, true, false) }

func hpexpireAt(c *client, args [][]byte) { c.expireFields(args, false, false) }

func (c *client) expireFields(args [][]byte, seconds, relative bool) {
	var o fieldArgs
	var problem string
	if o.atMs, problem = c.fieldDeadline(args[2], seconds, relative); problem == "" {
		problem = o.parseConditions(args)
	}
	if problem != "" {
		c.failOnHash(args[1], problem)
		return
	}
	c.arrayOr(len(o.fields), func() error {
		return c.view.HExpire(args[1], o.atMs, o.cond, o.fields, c.int)
	})
}

// fieldConds are the conditions of HEXPIRE and its kin.
var fieldConds = map[string]store.ExpireCond{
	"NX": store.IfNoDeadline, "XX": store.IfDeadline, "GT": store.IfLater, "LT": store.IfSooner,
}

// parseConditions reads what follows the time in HEXPIRE.
func (o *fieldArgs) parseConditions(args [][]byte) (problem string) {
	for i := 3; i < len(args); {
		if cond, is := fieldConds[strings.ToUpper(string(clip(args[i], 3)))]; is {
			o.cond |= cond
			i++
			continue
		}
		if !bytes.EqualFold(args[i], []byte("FIELDS")) {
			return unknownArgument(args[i])
		}
		few := ""
		if i >= len(args)-2 {
			few = "ERR FIELDS requires at least numfields and one field argument"
		}
		i, problem = o.take(args, i, 1, few, "ERR Parameter `numFields` should be greater than 0")
		if problem != "" {
			return problem
		}
	}
	switch {
	case o.fields == nil:
		return errNoFields
	case o.cond&(o.cond-1) != 0:
		return "ERR Multiple condition flags specified"
	}
	return ""
}

const errNoFields = "ERR missing FIELDS argument"

func unknownArgument(arg []byte) string {
	return "ERR unknown argument: " + string(clip(arg, len(arg)))
}

// fieldsAt reads FIELDS, their number and the fields where they are all that follows the key.
func fieldsAt(args [][]byte) (fields [][]byte, problem string) {
	if !bytes.EqualFold(args[2], []byte("FIELDS")) {
		return nil, "ERR Mandatory argument FIELDS is missing or not at the right position"
	}
	n, ok := parseInt(args[3])
	switch {
	case !ok || n < 1:
		return nil, "ERR Number of fields must be a positive integer"
	case n != int64(len(args)-4):
		return nil, "ERR The `numfields` parameter must match the number of arguments"
	}
	return args[4:], ""
}

func httl(c *client, args [][]byte) { c.fieldDeadlines(args, true, true) }

func hpttl(c *client, args [][]byte) { c.fieldDeadlines(args, false, true) }

func hexpireTime(c *client, args [][]byte) { c.fieldDeadlines(args, true, false) }

func hpexpireTime(c *client, args [][]byte) { c.fieldDeadlines(args, false, false) }

// fieldDeadlines answers with the deadlines of fields. Unlike those of keys, seconds are rounded up.
func (c *client) fieldDeadlines(args [][]byte, seconds, relative bool) {
	fields, problem := fieldsAt(args)
	if problem != "" {
		c.failOnHash(args[1], problem)
		return
	}
	h, ok := c.readHash(args[1])
	if !ok {
		return
	}
	c.array(len(fields))
	for _, field := range fields {
		at := h.FieldDeadline(field)
		if at >= 0 && relative {
			at = max(at-c.slot.clock.unixMs(), 0)
		}
		if at >= 0 && seconds {
			at = (at + 999) / 1000
		}
		c.int(at)
	}
}

func hpersist(c *client, args [][]byte) {
	fields, problem := fieldsAt(args)
	if problem != "" {
		c.failOnHash(args[1], problem)
		return
	}
	c.arrayOr(len(fields), func() error { return c.view.HPersist(args[1], fields, c.int) })
}

func hgetdel(c *client, args [][]byte) {
	fields, problem := fieldsAt(args)
	if problem != "" {
		c.failOnHash(args[1], problem)
		return
	}
	c.arrayOr(len(fields), func() error { return c.view.HGetDel(args[1], fields, c.valueOrNull) })
}

func (c *client) valueOrNull(val []byte, ok bool) { c.bulkOrNull(val, ok, nil) }

func hgetex(c *client, args [][]byte) {
	o := fieldArgs{change: store.KeepDeadline}
	if problem := o.parseOptions(c, args, "PERSIST", 1); problem != "" {
		c.fail(problem)
		return
	}
	c.arrayOr(len(o.fields), func() error {
		return c.view.HGetEx(args[1], o.fields, o.change, o.atMs, c.valueOrNull)
	})
}

func hsetex(c *client, args [][]byte) {
	o := fieldArgs{change: store.DropDeadline}
	if problem := o.parseOptions(c, args, "KEEPTTL", 2); problem != "" {
		c.fail(problem)
		return
	}
	set, err := c.view.HSetEx(args[1], o.fields, o.exist, o.change, o.atMs)
	if err != nil {
		c.failWith(err)
		return
	}
	c.flag(set)
}

// parseOptions reads what follows the key in HGETEX and HSETEX. word is the expiry option that only one of them has.
func (o *fieldArgs) parseOptions(c *client, args [][]byte, word string, perField int) (problem string) {
	expiryGiven := false
	for i := 2; i < len(args); {
		switch name := strings.ToUpper(string(clip(args[i], 8))); {
		case name == "FIELDS":
			few := ""
			if i+1 == len(args) {
				few = arityError(c.cmd)
			}
			i, problem = o.take(args, i, perField, few, "ERR invalid number of fields")
		case name == "EX" || name == "PX" || name == "EXAT" || name == "PXAT" || name == word:
			if expiryGiven {
				return "ERR Only one of EX, PX, EXAT, PXAT or " + word + " arguments can be specified"
			}
			expiryGiven = true
			i, problem = o.takeExpiry(c, args, i, name)
		case perField == 2 && (name == "FNX" || name == "FXX"):
			if o.exist != store.AnyField {
				return "ERR Only one of FXX or FNX arguments can be specified"
			}
			o.exist = store.NoneExists
			if name == "FXX" {
				o.exist = store.EveryExists
			}
			i++
		default:
			return unknownArgument(args[i])
		}
		if problem != "" {
			return problem
		}
	}
	if o.fields == nil {
		return errNoFields
	}
	return ""
}

// takeExpiry reads the expiry option name at args[i] and returns where it ends.
func (o *fieldArgs) takeExpiry(c *client, args [][]byte, i int, name string) (end int, problem string) {
	switch name {
	case "PERSIST":
		o.change = store.DropDeadline
		return i + 1, ""
	case "KEEPTTL":
		o.change = store.KeepDeadline
		return i + 1, ""
	}
	if i+1 == len(args) {
		return 0, "ERR missing expire time"
	}
	o.change = store.SetDeadline
	o.atMs, problem = c.fieldDeadline(args[i+1], name[0] == 'E', len(name) == 2)
	return i + 2, problem
}
