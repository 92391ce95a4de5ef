package server

import (
	"bytes"

	"kvserver/store"
	"kvserver/store/rdb"
)

// dumpRows belong to the generic commands.
var dumpRows = []row{
	{"dump", 2, readonly, specs{keysAt(kRO|kAccess, 1, 1, 1)}, "2.6.0", "Returns a serialized representation of the value stored at a key.", dump},
	{"restore", -4, write | denyoom | catDangerous, specs{keysAt(kOW|kUpdate, 1, 1, 1)}, "2.6.0", "Creates a key from the serialized representation of a value.", restore},
}

func dump(c *client, args [][]byte) {
	payload, ok := c.view.Dump(args[1])
	c.bulkOrNull(payload, ok, nil)
}

// frequencyMax is that of the counters of an LFU policy.
const frequencyMax = 255

// restoreArgs are the options of RESTORE.
type restoreArgs struct {
	store.RestoreOptions
	absolute        bool
	idle, frequency bool // were given
}

// parse reads the options after key, time to live and payload; it answers itself if they are wrong.
func (o *restoreArgs) parse(c *client, args [][]byte) bool {
	for i := 4; i < len(args); i++ {
		option := clip(args[i], 9)
		more := i+1 < len(args)
		switch {
		case bytes.EqualFold(option, []byte("REPLACE")):
			o.Replace = true
			continue
		case bytes.EqualFold(option, []byte("ABSTTL")):
			o.absolute = true
			continue
		case bytes.EqualFold(option, []byte("IDLETIME")) && more && !o.frequency:
			o.idle = true
		case bytes.EqualFold(option, []byte("FREQ")) && more && !o.idle:
			o.frequency = true
		default:
			c.fail(errSyntax)
			return false
		}
		i++
		n, ok := parseInt(args[i])
		switch {
		case !ok:
			c.fail(errNotInteger)
		case o.idle && n < 0:
			c.fail("ERR Invalid IDLETIME value, must be >= 0")
		case o.frequency && (n < 0 || n > frequencyMax):
			c.fail("ERR Invalid FREQ value, must be >= 0 and <= 255")
		case o.idle:
			o.IdleSeconds = n
			continue
		default:
			o.Uses = n
			continue
		}
		return false
	}
	return true
}

func restore(c *client, args [][]byte) {
	o := restoreArgs{RestoreOptions: store.RestoreOptions{Uses: -1}}
	if !o.parse(c, args) {
		return
	}
	if !o.Replace && c.view.LookupWrite(args[1]).Exists() { // before the other arguments, as in Redis
		c.fail("BUSYKEY Target key name already exists.")
		return
	}
	ttl, ok := parseInt(args[2])
	switch {
	case !ok:
		c.fail(errNotInteger)
		return
	case ttl < 0:
		c.fail("ERR Invalid TTL value, must be >= 0")
		return
	case ttl > 0 && !o.absolute:
		// A sum beyond 64 bits wraps around, as in Redis: it is over at once.
		ttl += c.slot.clock.unixMs()
	}
	o.ExpireAtMs, o.StringBytesMax = ttl, c.s.params.protoMaxBulkLen.Get()
	switch err := c.view.Restore(args[1], args[3], o.RestoreOptions); err {
	case nil:
		c.ok()
	case rdb.ErrFooter:
		c.fail("ERR DUMP payload version or checksum are wrong")
	default:
		c.fail("ERR Bad data format")
	}
}
