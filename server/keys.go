package server

import (
	"bytes"
	"math"
	"math/rand/v2"
)

// keyRows follow the order of Redis's documentation; KEYS and SCAN stand in scan.go, the times to live in expire.go, OBJECT
// in object.go.
var keyRows = []row{
	{"copy", -3, write | denyoom, specs{keysAt(kRO|kAccess, 1, 1, 1), keysAt(kOW|kUpdate, 2, 2, 1)}, "6.2.0", "Copies the value of a key to a new key.", copyCommand},
	{"del", -2, write, specs{keysAt(kRM|kDelete, 1, -1, 1)}, "1.0.0", "Deletes one or more keys.", del},
	{"exists", -2, readonly | fast, specs{keysAt(kRO, 1, -1, 1)}, "1.0.0", "Determines whether one or more keys exist.", exists},
	{"expire", -3, write | fast, specs{keysAt(kRW|kUpdate, 1, 1, 1)}, "1.0.0", "Sets the expiration time of a key in seconds.", expire},
	{"expireat", -3, write | fast, specs{keysAt(kRW|kUpdate, 1, 1, 1)}, "1.2.0", "Sets the expiration time of a key to a Unix timestamp.", expireAt},
	{"expiretime", 2, readonly | fast, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "7.0.0", "Returns the expiration time of a key as a Unix timestamp.", expireTime},
	{"keys", 2, readonly | exclusive | catDangerous, nil, "1.0.0", "Returns all key names that match a pattern.", keysCommand},
	{"move", 3, write | fast, specs{keysAt(kRW|kAccess|kUpdate, 1, 1, 1)}, "1.0.0", "Moves a key to another database.", move},
	{"object", -2, 0, nil, "2.2.3", "A container for object introspection commands.", nil},
	{"persist", 2, write | fast, specs{keysAt(kRW|kUpdate, 1, 1, 1)}, "2.2.0", "Removes the expiration time of a key.", persist},
	{"pexpire", -3, write | fast, specs{keysAt(kRW|kUpdate, 1, 1, 1)}, "2.6.0", "Sets the expiration time of a key in milliseconds.", pexpire},
	{"pexpireat", -3, write | fast, specs{keysAt(kRW|kUpdate, 1, 1, 1)}, "2.6.0", "Sets the expiration time of a key to a Unix milliseconds timestamp.", pexpireAt},
	{"pexpiretime", 2, readonly | fast, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "7.0.0", "Returns the expiration time of a key as a Unix milliseconds timestamp.", pexpireTime},
	{"pttl", 2, readonly | fast, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "2.6.0", "Returns the expiration time in milliseconds of a key.", pttl},
	{"randomkey", 1, readonly | walksKeyspace, nil, "1.0.0", "Returns a random key name from the database.", randomKey},
	{"rename", 3, write, specs{keysAt(kRW|kAccess|kDelete, 1, 1, 1), keysAt(kOW|kUpdate, 2, 2, 1)}, "1.0.0", "Renames a key and overwrites the destination.", rename},
	{"renamenx", 3, write | fast, specs{keysAt(kRW|kAccess|kDelete, 1, 1, 1), keysAt(kOW|kInsert, 2, 2, 1)}, "1.0.0", "Renames a key only when the target key name doesn't exist.", renameNX},
	{"scan", -2, readonly | walksKeyspace, nil, "2.8.0", "Iterates over the key names in the database.", scan},
	{"touch", -2, readonly | fast, specs{keysAt(kRO, 1, -1, 1)}, "3.2.1", "Returns the number of existing keys out of those specified after updating the time they were last accessed.", touch},
	{"ttl", 2, readonly | fast, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "1.0.0", "Returns the expiration time in seconds of a key.", ttl},
	{"type", 2, readonly | fast, specs{keysAt(kRO, 1, 1, 1)}, "1.0.0", "Determines the type of value stored at a key.", typeCommand},
	{"unlink", -2, write | fast, specs{keysAt(kRM|kDelete, 1, -1, 1)}, "4.0.0", "Asynchronously deletes one or more keys.", del},
}

// countKeys answers with the number of keys of which is is true.
func (c *client) countKeys(keys [][]byte, is func(key []byte) bool) {
	n := int64(0)
	for _, key := range keys {
		if is(key) {
			n++
		}
	}
	c.int(n)
}

// del is UNLINK too: no value takes long to give up.
func del(c *client, args [][]byte) { c.countKeys(args[1:], c.view.Remove) }

func exists(c *client, args [][]byte) {
	c.countKeys(args[1:], func(key []byte) bool { return c.view.LookupUntouched(key).Exists() })
}

// touch is what it says also for a client that asked for CLIENT NO-TOUCH.
func touch(c *client, args [][]byte) {
	c.view.SetNoTouch(false)
	c.countKeys(args[1:], func(key []byte) bool { return c.view.Lookup(key).Exists() })
	c.view.SetNoTouch(c.noTouch)
}

func typeCommand(c *client, args [][]byte) { c.simple(c.view.LookupUntouched(args[1]).Type()) }

func rename(c *client, args [][]byte) {
	if _, err := c.view.Rename(args[1], args[2], false); err != nil {
		c.failWith(err)
		return
	}
	c.ok()
}

func renameNX(c *client, args [][]byte) {
	done, err := c.view.Rename(args[1], args[2], true)
	if err != nil {
		c.failWith(err)
		return
	}
	c.flag(done)
}

// dbIndex reads the number of a database; it answers itself if there is no such database.
func (c *client) dbIndex(arg []byte) (db int, ok bool) {
	n, ok := parseInt(arg)
	switch {
	case !ok:
		c.fail(errNotInteger)
	case n < math.MinInt32 || n > math.MaxInt32:
		c.failf("ERR value is out of range, value must between %d and %d", math.MinInt32, math.MaxInt32)
	case n < 0 || n >= c.s.params.databases.Get():
		c.fail(errDBIndexRange)
	default:
		return int(n), true
	}
	return 0, false
}

func copyCommand(c *client, args [][]byte) {
	db, replace := c.db, false
	for i := 3; i < len(args); i++ {
		switch {
		case bytes.EqualFold(args[i], []byte("REPLACE")):
			replace = true
		case bytes.EqualFold(args[i], []byte("DB")) && i+1 < len(args):
			var ok bool
			if db, ok = c.dbIndex(args[i+1]); !ok {
				return
			}
			i++
		default:
			c.fail(errSyntax)
			return
		}
	}
	if db == c.db && bytes.Equal(args[1], args[2]) {
		c.fail(errSameObject)
		return
	}
	c.flag(c.view.Copy(args[1], args[2], db, replace))
}

func move(c *client, args [][]byte) {
	db, ok := c.dbIndex(args[2])
	if !ok {
		return
	}
	if db == c.db {
		c.fail(errSameObject)
		return
	}
	c.flag(c.view.Move(args[1], db))
}

func randomKey(c *client, _ [][]byte) {
	key, ok := c.view.RandomKey(rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())), nil)
	c.bulkOrNull(key, ok, nil)
}
