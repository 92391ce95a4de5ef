package server

import (
	"math"

	"kvserver/store"
)

var objectSubRows = []row{
	{"encoding", 3, readonly, specs{keysAt(kRO, 2, 2, 1)}, "2.2.3", "Returns the internal encoding of a Redis object.", objectEncoding},
	{"freq", 3, readonly, specs{keysAt(kRO, 2, 2, 1)}, "4.0.0", "Returns the logarithmic access frequency counter of a Redis object.", objectFreq},
	{"help", 2, loading | stale, nil, "6.2.0", "Returns helpful text about the different subcommands.", objectHelp},
	{"idletime", 3, readonly, specs{keysAt(kRO, 2, 2, 1)}, "2.2.3", "Returns the time since the last access to a Redis object.", objectIdleTime},
	{"refcount", 3, readonly, specs{keysAt(kRO, 2, 2, 1)}, "2.2.3", "Returns the reference count of a value of a key.", objectRefCount},
}

// peek finds a key without a trace and answers itself if there is none.
func (c *client) peek(key []byte) (e store.Entry, ok bool) {
	e = c.view.Peek(key)
	if !e.Exists() {
		c.null()
	}
	return e, e.Exists()
}

func objectEncoding(c *client, args [][]byte) {
	if e, ok := c.peek(args[2]); ok {
		c.bulkString(e.Encoding())
	}
}

func objectRefCount(c *client, args [][]byte) {
	if _, ok := c.peek(args[2]); ok {
		c.int(c.refCount(args[2]))
	}
}

// Redis has the objects of the integers from 0 to 9999 ready, for all keys to share, and answers for them with a number of
// references that never changes.
const (
	sharedIntegers = 10000
	sharedRefCount = math.MaxInt32
)

// refCount is what Redis answers for the value of a key that exists; here no two keys share one.
func (c *client) refCount(key []byte) int64 {
	if c.view.Peek(key).Encoding() != "int" {
		return 1
	}
	val, _, _ := c.view.PeekString(key)
	if n, _ := parseInt(val); n < 0 || n >= sharedIntegers {
		return 1
	}
	return sharedRefCount
}

func objectIdleTime(c *client, args [][]byte) {
	switch e, ok := c.peek(args[2]); {
	case !ok:
	case c.s.store.Counting():
		c.fail("ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between " +
			"policies at runtime LRU and LFU data will take some time to adjust.")
	default:
		c.int(c.view.IdleSeconds(e))
	}
}

func objectFreq(c *client, args [][]byte) {
	switch e, ok := c.peek(args[2]); {
	case !ok:
	case c.s.store.Counting():
		c.int(c.view.Uses(e))
	default:
		c.fail("ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching " +
			"between policies at runtime LRU and LFU data will take some time to adjust.")
	}
}

func objectHelp(c *client, _ [][]byte) {
	c.help("object",
		"ENCODING <key>",
		"    Return how the value of a <key> is represented in memory.",
		"FREQ <key>",
		"    Return how often a <key> was accessed lately, on a logarithmic scale.",
		"IDLETIME <key>",
		"    Return the seconds since a <key> was last accessed.",
		"REFCOUNT <key>",
		"    Return the number of references to the value of a <key>.")
}
