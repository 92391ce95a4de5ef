package server

import (
	"bytes"
	"math"

	"kvserver/hotkeys/control"
)

// What operators and mitigations say to the controller of hot keys, and ask it. See docs/controller.md.

// hotControlRows are subcommands of HOTKEYS. REPORT is what any client may say that may read the key.
var hotControlRows = []row{
	{"demote", -3, admin | loading | stale | exclusive, specs{keysAt(kRO, 2, 2, 1)}, Version, "Makes a hot key normal, and cancels a warm-up.", hotkeysDemote},
	{"pin", -3, admin | loading | stale | exclusive, specs{keysAt(kRO, 2, 2, 1)}, Version, "Makes a key hot, and keeps it so.", hotkeysPin},
	{"ready", -3, admin | loading | stale | exclusive, specs{keysAt(kRO, 2, 2, 1)}, Version, "Tells that the mitigation of a warming key serves.", hotkeysReady},
	{"report", -4, loading | stale | fast, specs{keysAt(kRO, 2, 2, 1)}, Version, "Tells how many accesses of a key a client has served itself.", hotkeysReport},
	{"states", -2, admin | loading | stale | exclusive, nil, Version, "Returns the keys that are warming or hot.", hotkeysStates},
	{"unpin", -3, admin | loading | stale | exclusive, specs{keysAt(kRO, 2, 2, 1)}, Version, "Lets a pinned key become normal when its demand falls.", hotkeysUnpin},
}

// hotControlHelp are their lines in HOTKEYS HELP.
var hotControlHelp = []string{
	"DEMOTE <key> [DB <db>]",
	"    Make a hot key normal at once, or cancel its warm-up.",
	"PIN <key> [DB <db>]",
	"    Make a key hot at once, until it is unpinned.",
	"READY <key> [DB <db>]",
	"    The mitigation of a warming key serves: with hotkeys-warmup-ack it becomes hot only then.",
	"REPORT <key> <accesses> [DB <db>]",
	"    A client has served so many accesses of a key itself since its last report.",
	"STATES [STATE WARMING|HOT]",
	"    Return the keys that are warming or hot, those with the highest demand first.",
	"UNPIN <key> [DB <db>]",
	"    Let a pinned key become normal when its demand falls.",
}

// hotKey makes a key of its name and what follows: nothing, which means the client's database, or DB and a number. It
// answers itself if that is neither.
func (c *client) hotKey(name []byte, rest [][]byte) (key control.Key, ok bool) {
	db := c.db
	switch {
	case len(rest) == 0:
	case len(rest) == 2 && bytes.EqualFold(rest[0], []byte("DB")):
		if db, ok = c.dbIndex(rest[1]); !ok {
			return key, false
		}
	default:
		c.fail(errSyntax)
		return key, false
	}
	return control.Key{Name: string(name), DB: db}, true
}

// control answers with what came of a word to the controller.
func (c *client) control(list []control.Transition, err error) {
	if err != nil {
		c.fail("ERR " + err.Error())
		return
	}
	c.s.tellOf(list)
	c.ok()
}

func hotkeysReady(c *client, args [][]byte) {
	if key, ok := c.hotKey(args[2], args[3:]); ok {
		h := &c.s.control
		c.control(h.controller.Ready(key, h.now()))
	}
}

func hotkeysDemote(c *client, args [][]byte) {
	if key, ok := c.hotKey(args[2], args[3:]); ok {
		h := &c.s.control
		c.control(h.controller.Demote(key, h.now()))
	}
}

func hotkeysPin(c *client, args [][]byte) {
	if key, ok := c.hotKey(args[2], args[3:]); ok {
		h := &c.s.control
		c.control(h.controller.Pin(key, h.now()))
	}
}

func hotkeysUnpin(c *client, args [][]byte) {
	if key, ok := c.hotKey(args[2], args[3:]); ok {
		c.control(nil, c.s.control.controller.Unpin(key))
	}
}

func hotkeysStates(c *client, args [][]byte) {
	wanted := control.Normal // which no key that is listed is
	switch {
	case len(args) == 2:
	case len(args) != 4 || !bytes.EqualFold(args[2], []byte("STATE")):
		c.fail(errSyntax)
		return
	case bytes.EqualFold(args[3], []byte("WARMING")):
		wanted = control.Warming
	case bytes.EqualFold(args[3], []byte("HOT")):
		wanted = control.Hot
	default:
		c.fail("ERR STATE must be WARMING or HOT")
		return
	}
	if !c.inExec {
		c.s.tracker.Rotate()
	}
	nowNs := c.s.control.now()
	list := c.s.control.controller.States(nowNs)
	n := 0
	for _, st := range list {
		if wanted == control.Normal || st.State == wanted {
			list[n] = st
			n++
		}
	}
	c.array(n)
	for _, st := range list[:n] {
		c.hotState(st, nowNs)
	}
}

// hotState answers with one key. since is Unix time in milliseconds.
func (c *client) hotState(st control.Status, nowNs int64) {
	c.mapping(8)
	c.bulkString("key")
	c.bulkString(st.Key.Name)
	c.bulkString("db")
	c.int(int64(st.Key.DB))
	c.bulkString("state")
	c.bulkString(st.State.String())
	c.bulkString("since")
	c.int(c.slot.clock.unixMs() - (nowNs-st.SinceNs)/nsPerMs)
	c.bulkString("demand")
	c.int(int64(math.Round(st.Demand)))
	c.bulkString("windows")
	c.int(int64(st.Evidence))
	c.bulkString("hold-remaining-ms")
	c.int(st.HoldNs / nsPerMs)
	c.bulkString("pinned")
	c.flag(st.Pinned)
}
