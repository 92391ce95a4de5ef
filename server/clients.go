package server

import (
	"bytes"
	"math"
)

// Those that look at or change other sessions run with the gate closed: all sessions stand still then. LIST and INFO are in
// clientlist.go, what selects clients for LIST and KILL in clientfilter.go.
var clientSubRows = []row{
	{"caching", 3, noscript | loading | stale, nil, "6.0.0", "Instructs the server whether to track the keys in the next request.", clientCaching},
	{"capa", -3, noscript | loading | stale, nil, "8.0.0", "Tells what the client is capable of.", clientCapa},
	{"getname", 2, noscript | loading | stale, nil, "2.6.9", "Returns the name of the connection.", clientGetName},
	{"getredir", 2, noscript | loading | stale, nil, "6.0.0", "Returns the client ID to which the connection's tracking notifications are redirected.", clientGetRedir},
	{"help", 2, loading | stale, nil, "5.0.0", "Returns helpful text about the different subcommands.", clientHelp},
	{"id", 2, noscript | loading | stale, nil, "5.0.0", "Returns the unique client ID of the connection.", clientID},
	{"import-source", 3, noscript | loading | stale, nil, "8.1.0", "Marks this client as an import source when the server is in import mode.", clientImportSource},
	{"info", 2, noscript | loading | stale, nil, "6.2.0", "Returns information about the connection.", clientInfo},
	{"kill", -3, admin | noscript | loading | stale | exclusive, nil, "2.4.0", "Terminates open connections.", clientKill},
	{"list", -2, admin | noscript | loading | stale | exclusive, nil, "2.4.0", "Lists open connections.", clientList},
	{"no-evict", 3, admin | noscript | loading | stale, nil, "7.0.0", "Sets the client eviction mode of the connection.", clientNoEvict},
	{"no-touch", 3, noscript | loading | stale, nil, "7.2.0", "Controls whether commands sent by the client affect the LRU/LFU of accessed keys.", clientNoTouch},
	{"pause", -3, admin | noscript | loading | stale | exclusive, nil, "2.9.50", "Suspends commands processing.", clientPause},
	{"reply", 3, noscript | loading | stale, nil, "3.2.0", "Instructs the server whether to reply to commands.", clientReply},
	{"setinfo", 4, noscript | loading | stale, nil, "7.2.0", "Sets information specific to the client or connection.", clientSetInfo},
	{"setname", 3, noscript | loading | stale, nil, "2.6.9", "Sets the connection name.", clientSetName},
	{"tracking", -3, noscript | loading | stale | exclusive, nil, "6.0.0", "Controls server-assisted client-side caching for the connection.", clientTracking},
	{"trackinginfo", 2, noscript | loading | stale, nil, "6.2.0", "Returns information about server-assisted client-side caching for the connection.", clientTrackingInfo},
	{"unblock", -3, admin | noscript | loading | stale | exclusive, nil, "5.0.0", "Unblocks a client blocked by a blocking command from a different connection.", clientUnblock},
	{"unpause", 2, admin | noscript | loading | stale | exclusive, nil, "6.2.0", "Resumes processing commands from paused clients.", clientUnpause},
}

func clientID(c *client, _ [][]byte) { c.int(c.id) }

// errClientName answers SETNAME and HELLO alike.
const errClientName = "ERR Client names cannot contain spaces, newlines or special characters."

// validClientName tells whether b can stand in a line of CLIENT LIST: printable ASCII without blanks. The empty
// name is valid: it takes a name away.
func validClientName(b []byte) bool {
	for _, ch := range b {
		if ch < '!' || ch > '~' {
			return false
		}
	}
	return true
}

func clientGetName(c *client, _ [][]byte) {
	if c.name == "" {
		c.null()
		return
	}
	c.bulkString(c.name)
}

func clientSetName(c *client, args [][]byte) {
	if !validClientName(args[2]) {
		c.fail(errClientName)
		return
	}
	c.name = string(args[2])
	c.ok()
}

func clientSetInfo(c *client, args [][]byte) {
	var field *string
	switch attr := args[2]; {
	case bytes.EqualFold(attr, []byte("lib-name")):
		field = &c.libName
	case bytes.EqualFold(attr, []byte("lib-ver")):
		field = &c.libVersion
	default:
		c.failf("ERR Unrecognized option '%s'", attr)
		return
	}
	if !validClientName(args[3]) {
		c.failf("ERR %s cannot contain spaces, newlines or special characters.", args[2])
		return
	}
	*field = string(args[3])
	c.ok()
}

// onOff reads ON or OFF into *setting and answers.
func (c *client) onOff(arg []byte, setting *bool) {
	switch {
	case bytes.EqualFold(arg, []byte("ON")):
		*setting = true
	case bytes.EqualFold(arg, []byte("OFF")):
		*setting = false
	default:
		c.fail(errSyntax)
		return
	}
	c.ok()
}

// clientCapa notes what the client can do; what this server has never heard of is ignored.
func clientCapa(c *client, args [][]byte) {
	for _, arg := range args[2:] {
		if bytes.EqualFold(arg, []byte("REDIRECT")) {
			c.redirects = true
		}
	}
	c.ok()
}

// capaLetters are the capabilities as CLIENT LIST shows them.
func (c *client) capaLetters() string {
	if c.redirects {
		return "r"
	}
	return ""
}

func clientNoTouch(c *client, args [][]byte) { c.onOff(args[2], &c.noTouch) }
func clientNoEvict(c *client, args [][]byte) { c.onOff(args[2], &c.noEvict) }

// clientReply only sets the state that dropReply acts on. SKIP while replies are off changes nothing, so that ON
// is answered after it.
func clientReply(c *client, args [][]byte) {
	switch mode := args[2]; {
	case bytes.EqualFold(mode, []byte("ON")):
		c.replyOff, c.skipThis = false, false
		c.ok()
	case bytes.EqualFold(mode, []byte("OFF")):
		c.replyOff = true
	case bytes.EqualFold(mode, []byte("SKIP")):
		c.skipNext = !c.replyOff
	default:
		c.fail(errSyntax)
	}
}

// pauseMsMax keeps the end of a pause within 64 bits, whatever the clock says.
const pauseMsMax = math.MaxInt64 / 2

func clientPause(c *client, args [][]byte) {
	writesOnly := false
	switch {
	case len(args) > 4:
		c.fail(subcommandSyntax(c.cmd.parent, args[1]))
		return
	case len(args) == 3 || bytes.EqualFold(args[3], []byte("ALL")):
	case bytes.EqualFold(args[3], []byte("WRITE")):
		writesOnly = true
	default:
		c.fail("ERR CLIENT PAUSE mode must be WRITE or ALL")
		return
	}
	switch timeoutMs, ok := parseInt(args[2]); {
	case !ok:
		c.fail("ERR timeout is not an integer or out of range")
	case timeoutMs < 0:
		c.fail("ERR timeout is negative")
	case timeoutMs > pauseMsMax:
		c.fail("ERR timeout is out of range")
	default:
		nowMs := c.slot.clock.unixMs()
		c.s.pause.extend(nowMs, nowMs+timeoutMs, writesOnly)
		c.ok()
	}
}

func clientUnpause(c *client, _ [][]byte) {
	c.s.pause.end()
	c.ok()
}

func clientHelp(c *client, _ [][]byte) {
	c.help("client",
		"CACHING (YES|NO)",
		"    Let the keys of the next command be tracked, in OPTIN mode, or not, in OPTOUT mode.",
		"CAPA <capability> [<capability> [...]]",
		"    Tell what this client can do: REDIRECT.",
		"GETNAME",
		"    Return the name of this connection.",
		"GETREDIR",
		"    Return the ID of the client that is told of the keys this connection tracks.",
		"ID",
		"    Return the ID of this connection.",
		"IMPORT-SOURCE (ON|OFF)",
		"    In import mode, take expired keys for live ones on this connection.",
		"INFO",
		"    Return the line of LIST about this connection.",
		"KILL <ip:port>",
		"    Close the connection from that address.",
		"KILL <option> <value> [<option> <value> [...]]",
		"    Close connections that match all options and return their number. Options:",
		"    * ID <client-id> [<client-id> [...]]",
		"    * ADDR (<ip:port>|<unixsocket>:0)",
		"    * LADDR (<ip:port>|<unixsocket>:0)",
		"      By the server's own address.",
		"    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
		"    * USER <username>",
		"    * MAXAGE <seconds>",
		"      Those connected for at least that long.",
		"    * IDLE <seconds>",
		"      Those that have sent nothing for at least that long.",
		"    * NAME <name>, LIB-NAME <name>, LIB-VER <version>, DB <index>, IP <ip>",
		"    * FLAGS <letters>, CAPA <letters>",
		"      Those that have all of these, as LIST shows them.",
		"    * NOT-<option> <value>",
		"      The opposite of any of these options but MAXAGE and IDLE.",
		"    * SKIPME (YES|NO)",
		"      Spare this connection (default: yes).",
		"LIST [<option> <value> [<option> <value> [...]]]",
		"    Return a line about each connection that matches all options, those of KILL.",
		"NO-EVICT (ON|OFF)",
		"    Keep this connection when client memory runs out.",
		"NO-TOUCH (ON|OFF)",
		"    Leave the time of last use of the keys this connection reads alone.",
		"PAUSE <timeout> [WRITE|ALL]",
		"    Let all commands, or just writes, wait for <timeout> milliseconds.",
		"REPLY (ON|OFF|SKIP)",
		"    Send replies to this connection, none, or none to the next command.",
		"SETINFO (LIB-NAME <name>|LIB-VER <version>)",
		"    Tell which client library this connection uses.",
		"SETNAME <name>",
		"    Name this connection.",
		"TRACKING (ON|OFF) [REDIRECT <client-id>] [BCAST] [PREFIX <prefix> [...]] [OPTIN] [OPTOUT] [NOLOOP]",
		"    Tell this connection, or another, when keys that it has read change.",
		"TRACKINGINFO",
		"    Return how this connection tracks keys.",
		"UNBLOCK <client-id> [TIMEOUT|ERROR]",
		"    End the wait of a client in a blocking command, as if its time were over or with an error.",
		"UNPAUSE",
		"    End a pause.")
}
