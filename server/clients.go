package server

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"
)

// Those that look at or change other sessions run with the gate closed: all sessions stand still then.
var clientSubRows = []row{
	{"getname", 2, noscript | loading | stale, nil, "2.6.9", "Returns the name of the connection.", clientGetName},
	{"help", 2, loading | stale, nil, "5.0.0", "Returns helpful text about the different subcommands.", clientHelp},
	{"id", 2, noscript | loading | stale, nil, "5.0.0", "Returns the unique client ID of the connection.", clientID},
	{"info", 2, noscript | loading | stale, nil, "6.2.0", "Returns information about the connection.", clientInfo},
	{"kill", -3, admin | noscript | loading | stale | exclusive, nil, "2.4.0", "Terminates open connections.", clientKill},
	{"list", -2, admin | noscript | loading | stale | exclusive, nil, "2.4.0", "Lists open connections.", clientList},
	{"no-evict", 3, admin | noscript | loading | stale, nil, "7.0.0", "Sets the client eviction mode of the connection.", clientNoEvict},
	{"no-touch", 3, noscript | loading | stale, nil, "7.2.0", "Controls whether commands sent by the client affect the LRU/LFU of accessed keys.", clientNoTouch},
	{"pause", -3, admin | noscript | loading | stale | exclusive, nil, "2.9.50", "Suspends commands processing.", clientPause},
	{"reply", 3, noscript | loading | stale, nil, "3.2.0", "Instructs the server whether to reply to commands.", clientReply},
	{"setinfo", 4, noscript | loading | stale, nil, "7.2.0", "Sets information specific to the client or connection.", clientSetInfo},
	{"setname", 3, noscript | loading | stale, nil, "2.6.9", "Sets the connection name.", clientSetName},
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

// clientTypes are the words for kinds of clients. No session is of those in between as yet.
var clientTypes = []string{typeNormal, "master", "slave", "replica", typePubsub}

const (
	typeNormal = "normal"
	typePubsub = "pubsub"
)

func validClientType(word []byte) bool {
	return slices.Contains(clientTypes, strings.ToLower(string(word)))
}

// isOfType tells whether c is of the kind that a valid word names.
func (c *client) isOfType(word string) bool {
	if c.subscribed() {
		return strings.EqualFold(word, typePubsub)
	}
	return strings.EqualFold(word, typeNormal)
}

func unknownClientType(word []byte) string {
	return fmt.Sprintf("ERR Unknown client type '%s'", clip(word, 128))
}

// clientFilter is what CLIENT KILL selects by. Zero values select everybody.
type clientFilter struct {
	id          int64
	addr, laddr string
	user        string
	kind        string // as in clientTypes
	minAgeSec   int64
	skip        *client
}

func (f *clientFilter) selects(c *client, now time.Time) bool {
	switch {
	case c == f.skip,
		f.kind != "" && !c.isOfType(f.kind),
		f.id != 0 && c.id != f.id,
		f.addr != "" && c.conn.RemoteAddr() != f.addr,
		f.laddr != "" && c.conn.LocalAddr() != f.laddr,
		f.user != "" && c.user != f.user,
		f.minAgeSec != 0 && c.ageSec(now) < f.minAgeSec:
		return false
	}
	return true
}

// clientKill has an old form, with one address, and a new one, with options, of which the last of a kind wins.
func clientKill(c *client, args [][]byte) {
	if len(args) == 3 {
		if c.killSelected(&clientFilter{addr: string(args[2])}) == 0 {
			c.fail("ERR No such client")
			return
		}
		c.ok()
		return
	}
	f := &clientFilter{skip: c}
	for i := 2; i < len(args); i += 2 {
		if i+1 == len(args) {
			c.fail(errSyntax)
			return
		}
		if text := c.killOption(f, args[i], args[i+1]); text != "" {
			c.fail(text)
			return
		}
	}
	c.int(c.killSelected(f))
}

// killOption reads one option of CLIENT KILL into f. It returns the error to answer with, if any.
func (c *client) killOption(f *clientFilter, name, value []byte) (failure string) {
	switch strings.ToLower(string(clip(name, nameBytesMax))) {
	case "id":
		id, ok := parseInt(value)
		if !ok || id < 1 {
			return "ERR client-id should be greater than 0"
		}
		f.id = id
	case "maxage":
		age, ok := parseInt(value)
		switch {
		case !ok:
			return "ERR maxage is not an integer or out of range"
		case age < 1:
			return "ERR maxage should be greater than 0"
		}
		f.minAgeSec = age
	case "type":
		if !validClientType(value) {
			return unknownClientType(value)
		}
		f.kind = string(value)
	case "addr":
		f.addr = string(value)
	case "laddr":
		f.laddr = string(value)
	case "user":
		if string(value) != defaultUser {
			return fmt.Sprintf("ERR No such user '%s'", clip(value, 128))
		}
		f.user = string(value)
	case "skipme":
		switch strings.ToLower(string(clip(value, nameBytesMax))) {
		case "yes":
			f.skip = c
		case "no":
			f.skip = nil
		default:
			return errSyntax
		}
	default:
		return errSyntax
	}
	return ""
}

// killSelected closes the clients that f selects and returns their number; c itself, if it is one of them, after
// it has its reply. The caller holds the gate.
func (c *client) killSelected(f *clientFilter) (killed int64) {
	now := c.slot.clock.now()
	for _, other := range c.s.clients.all() {
		if !f.selects(other, now) {
			continue
		}
		killed++
		if other == c {
			c.closeAfterReply()
		} else {
			other.kill()
		}
	}
	return killed
}

// kill ends c from another session: it is gone from the registry at once and runs nothing more, also of what it
// has sent already. The caller holds the gate.
func (c *client) kill() {
	c.closed = true
	c.leaveChannels()
	c.leaveMonitors()
	c.s.clients.remove(c)
	c.conn.Close(false)
}

func clientInfo(c *client, args [][]byte) {
	c.verbatim("txt", string(c.appendLine(nil, c, args)))
}

func clientList(c *client, args [][]byte) {
	var list []*client
	switch {
	case len(args) == 2:
		list = c.s.clients.all()
	case len(args) == 4 && bytes.EqualFold(args[2], []byte("TYPE")):
		if !validClientType(args[3]) {
			c.fail(unknownClientType(args[3]))
			return
		}
		list = slices.DeleteFunc(c.s.clients.all(), func(other *client) bool { return !other.isOfType(string(args[3])) })
	case len(args) > 3 && bytes.EqualFold(args[2], []byte("ID")):
		for _, arg := range args[3:] {
			id, ok := parseInt(arg)
			if !ok {
				c.fail("ERR Invalid client ID")
				return
			}
			if other := c.s.clients.find(id); other != nil {
				list = append(list, other)
			}
		}
	default:
		c.fail(errSyntax)
		return
	}
	var text []byte
	for _, other := range list {
		text = other.appendLine(text, c, args)
	}
	c.verbatim("txt", string(text))
}

// ageSec is how long c has been connected, in seconds.
func (c *client) ageSec(now time.Time) int64 { return int64(now.Sub(c.created) / time.Second) }

// describe is the short form for log lines.
func (c *client) describe() string { return c.identify() + " name=" + c.name }

// identify is what never changes of c, so that anybody may ask.
func (c *client) identify() string { return fmt.Sprintf("id=%d addr=%s", c.id, c.conn.RemoteAddr()) }

// appendLine appends the line of CLIENT LIST about c, as asker sees it, whose command args are. Fields that
// stand for something this server does not have are 0.
func (c *client) appendLine(dst []byte, asker *client, args [][]byte) []byte {
	now := asker.slot.clock.now()
	idleSec, argBytes := int64(0), int64(0)
	if c == asker {
		for _, a := range args {
			argBytes += int64(len(a))
		}
	} else {
		idleSec = max(0, now.UnixNano()-c.activeNs) / 1e9
	}
	queued, queuedBytes := int64(-1), int64(0)
	if c.multi != nil {
		queued, queuedBytes = int64(len(c.multi.queue)), int64(c.multi.argBytes)
	}
	text := func(name, value string) { dst = append(append(dst, name...), value...) }
	number := func(name string, n int64) { dst = strconv.AppendInt(append(dst, name...), n, 10) }
	number("id=", c.id)
	text(" addr=", c.conn.RemoteAddr())
	text(" laddr=", c.conn.LocalAddr())
	number(" fd=", int64(c.conn.FD()))
	text(" name=", c.name)
	number(" age=", c.ageSec(now))
	number(" idle=", idleSec)
	text(" flags=", c.flagLetters())
	number(" db=", int64(c.db))
	number(" sub=", int64(c.sub.count(plainChannel)))
	number(" psub=", int64(c.sub.count(channelPattern)))
	number(" ssub=", int64(c.sub.count(shardChannel)))
	number(" multi=", queued)
	number(" qbuf=", c.inputBytes())
	text("", " qbuf-free=0")
	number(" argv-mem=", argBytes)
	number(" multi-mem=", queuedBytes)
	text("", " rbs=0 rbp=0") // buffers for replies belong to the loops
	number(" obl=", c.outputBytes())
	text("", " oll=0")
	number(" omem=", int64(c.conn.OutputBytes()))
	number(" tot-mem=", c.memoryBytes())
	text(" events=", c.events())
	text(" cmd=", c.commandName())
	text(" user=", c.user)
	text("", " redir=-1")
	number(" resp=", c.protocol())
	text(" lib-name=", c.libName)
	text(" lib-ver=", c.libVersion)
	return append(dst, '\n')
}

// flagLetters tell the state of c as CLIENT LIST does.
func (c *client) flagLetters() string {
	var letters []byte
	for _, f := range []struct {
		letter byte
		on     bool
	}{
		{'O', c.monitoring},
		{'P', c.subscribed()},
		{'b', c.waiting != nil || c.s.pause.waits(c)},
		{'x', c.multi != nil || c.inExec},
		{'d', c.watcher.Marked()},
		{'U', c.conn.Unix()},
		{'e', c.noEvict},
		{'T', c.noTouch},
	} {
		if f.on {
			letters = append(letters, f.letter)
		}
	}
	if letters == nil {
		return "N"
	}
	return string(letters)
}

// events are what the transport waits for. A client that does not take its replies is not read from.
func (c *client) events() string {
	if c.conn.OutputBytes() > 0 {
		return "w"
	}
	return "r"
}

// commandName is the latest command; unknown ones have no name.
func (c *client) commandName() string {
	if c.cmd == nil {
		return "NULL"
	}
	return c.cmd.fullName
}

// inputBytes is what c has sent and was not run yet, with the batch being run.
func (c *client) inputBytes() int64 { return int64(max(c.queryBytes, c.conn.InputBytes())) }

// outputBytes is what c was answered and has not taken yet.
func (c *client) outputBytes() int64 { return int64(len(c.buf) + c.conn.OutputBytes()) }

// memoryBytes is what c holds.
func (c *client) memoryBytes() int64 {
	n := int64(unsafe.Sizeof(*c)) + c.parser.heldBytes() +
		int64(len(c.name)+len(c.libName)+len(c.libVersion)) + c.inputBytes() + c.outputBytes()
	if c.multi != nil {
		n += int64(c.multi.heldBytes)
	}
	return n + c.sub.heldBytes()
}

func clientHelp(c *client, _ [][]byte) {
	c.help("client",
		"GETNAME",
		"    Return the name of this connection.",
		"ID",
		"    Return the ID of this connection.",
		"INFO",
		"    Return the line of LIST about this connection.",
		"KILL <ip:port>",
		"    Close the connection from that address.",
		"KILL <option> <value> [<option> <value> [...]]",
		"    Close connections that match all options and return their number. Options:",
		"    * ID <client-id>",
		"    * ADDR (<ip:port>|<unixsocket>:0)",
		"    * LADDR (<ip:port>|<unixsocket>:0)",
		"      By the server's own address.",
		"    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
		"    * USER <username>",
		"    * MAXAGE <seconds>",
		"      Those connected for at least that long.",
		"    * SKIPME (YES|NO)",
		"      Spare this connection (default: yes).",
		"LIST [TYPE (NORMAL|MASTER|REPLICA|PUBSUB) | ID <client-id> [...]]",
		"    Return a line about each connection.",
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
		"UNBLOCK <client-id> [TIMEOUT|ERROR]",
		"    End the wait of a client in a blocking command, as if its time were over or with an error.",
		"UNPAUSE",
		"    End a pause.")
}
