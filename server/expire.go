package server

import (
	"bytes"

	"kvserver/store"
)

// The commands about deadlines differ in two things: whether times are in seconds or milliseconds, and whether they count
// from now or from 1970.

func expire(c *client, args [][]byte) { c.setDeadline(args, true, true) }

func pexpire(c *client, args [][]byte) { c.setDeadline(args, false, true) }

func expireAt(c *client, args [][]byte) { c.setDeadline(args, true, false) }

func pexpireAt(c *client, args [][]byte) { c.setDeadline(args, false, false) }

// setDeadline refuses in Redis's order: the conditions first, then the time.
func (c *client) setDeadline(args [][]byte, seconds, relative bool) {
	cond, ok := c.expireCond(args[3:])
	if !ok {
		return
	}
	n, ok := parseInt(args[2])
	if !ok {
		c.fail(errNotInteger)
		return
	}
	at, ok := absoluteMs(n, seconds, relative, c.slot.clock.unixMs())
	if !ok {
		c.fail(invalidExpire(c.cmd))
		return
	}
	c.flag(c.view.Expire(args[1], at, cond))
}

// expireCond reads the conditions after the time; it answers itself if they are wrong.
func (c *client) expireCond(args [][]byte) (cond store.ExpireCond, ok bool) {
	for _, arg := range args {
		switch {
		case bytes.EqualFold(arg, []byte("NX")):
			cond |= store.IfNoDeadline
		case bytes.EqualFold(arg, []byte("XX")):
			cond |= store.IfDeadline
		case bytes.EqualFold(arg, []byte("GT")):
			cond |= store.IfLater
		case bytes.EqualFold(arg, []byte("LT")):
			cond |= store.IfSooner
		default:
			c.failf("ERR Unsupported option %s", clip(arg, len(arg)))
			return 0, false
		}
	}
	switch {
	case cond&store.IfNoDeadline != 0 && cond != store.IfNoDeadline:
		c.fail("ERR NX and XX, GT or LT options at the same time are not compatible")
	case cond&store.IfLater != 0 && cond&store.IfSooner != 0:
		c.fail("ERR GT and LT options at the same time are not compatible")
	default:
		return cond, true
	}
	return 0, false
}

func persist(c *client, args [][]byte) { c.flag(c.view.Persist(args[1])) }

func ttl(c *client, args [][]byte) { c.deadline(args[1], true, true) }

func pttl(c *client, args [][]byte) { c.deadline(args[1], false, true) }

func expireTime(c *client, args [][]byte) { c.deadline(args[1], true, false) }

func pexpireTime(c *client, args [][]byte) { c.deadline(args[1], false, false) }

// deadline answers with the deadline of a key, -1 if it has none and -2 if there is no key.
func (c *client) deadline(key []byte, seconds, relative bool) {
	e := c.view.LookupUntouched(key)
	at := e.ExpireAt()
	switch {
	case !e.Exists():
		c.int(-2)
		return
	case at == -1:
		c.int(-1)
		return
	}
	if relative {
		at = max(at-c.slot.clock.unixMs(), 0)
	}
	if seconds { // to the nearest; unsigned, since the sum may be beyond 63 bits
		at = int64((uint64(at) + 500) / 1000)
	}
	c.int(at)
}
