package server

import (
	"fmt"
	"strconv"
	"time"
	"unsafe"
)

func clientInfo(c *client, args [][]byte) {
	c.verbatim("txt", string(c.appendLine(nil, c, args)))
}

func clientList(c *client, args [][]byte) {
	f, failure := c.clientFilter(args[2:], false)
	if failure != "" {
		c.fail(failure)
		return
	}
	var text []byte
	for _, other := range f.selected(c.s, c.slot.clock.now()) {
		text = other.appendLine(text, c, args)
	}
	c.verbatim("txt", string(text))
}

// ageSec is how long c has been connected, in seconds.
func (c *client) ageSec(now time.Time) int64 { return int64(now.Sub(c.created) / time.Second) }

// idleSec is how long ago the latest command of c ended, in seconds.
func (c *client) idleSec(now time.Time) int64 { return max(0, now.UnixNano()-c.activeNs) / 1e9 }

// describe is the short form for log lines.
func (c *client) describe() string { return c.identify() + " name=" + c.name }

// identify is what never changes of c, so that anybody may ask.
func (c *client) identify() string { return fmt.Sprintf("id=%d addr=%s", c.id, c.conn.RemoteAddr()) }

// appendLine appends the line of CLIENT LIST about c, as asker sees it, whose command args are. It has the fields of Redis
// 7.2 with those that later versions and Valkey have added. Buffers for replies belong to the loops and are lent to the
// client whose commands run: rbs and obl are about those, oll and omem about what waits because the client has not taken
// it. qbuf-free is 0, since no client has a buffer to spare.
func (c *client) appendLine(dst []byte, asker *client, args [][]byte) []byte {
	now := asker.slot.clock.now()
	idleSec, argBytes := int64(0), int64(0)
	if c == asker {
		for _, a := range args {
			argBytes += int64(len(a))
		}
	} else {
		idleSec = c.idleSec(now)
	}
	queued, queuedBytes := int64(-1), int64(0)
	if c.multi != nil {
		queued, queuedBytes = int64(len(c.multi.queue)), int64(c.multi.argBytes)
	}
	waitingBytes := int64(c.conn.OutputBytes())
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
	if capa := c.capaLetters(); capa != "" {
		text(" capa=", capa)
	}
	number(" db=", int64(c.db))
	number(" sub=", int64(c.sub.count(plainChannel)))
	number(" psub=", int64(c.sub.count(channelPattern)))
	number(" ssub=", int64(c.sub.count(shardChannel)))
	number(" multi=", queued)
	number(" watch=", int64(c.watcher.Len()))
	number(" qbuf=", c.inputBytes())
	text("", " qbuf-free=0")
	number(" argv-mem=", argBytes)
	number(" multi-mem=", queuedBytes)
	number(" rbs=", int64(cap(c.buf)))
	number(" rbp=", int64(c.replyPeak))
	number(" obl=", int64(len(c.buf)))
	number(" oll=", min(waitingBytes, 1))
	number(" omem=", waitingBytes)
	number(" tot-mem=", c.memoryBytes())
	text(" events=", c.events())
	text(" cmd=", c.commandName())
	text(" user=", c.user.Name)
	number(" redir=", c.redirection())
	number(" resp=", c.protocol())
	text(" lib-name=", c.libName)
	text(" lib-ver=", c.libVersion)
	number(" tot-net-in=", c.inTotal)
	number(" tot-net-out=", c.outTotal+c.s.channels.sentTo(c.sub)+c.heardBytes())
	number(" tot-cmds=", c.commandTotal)
	return append(dst, '\n')
}

// allFlagLetters are those that flags= can have, also of clients that there are not yet.
const allFlagLetters = "NSOMPxbtRBdcuAUreTI"

// flagLetters tell the state of c as CLIENT LIST does.
func (c *client) flagLetters() string {
	var letters []byte
	for _, f := range []struct {
		letter byte
		on     bool
	}{
		{'O', c.monitoring},
		{'P', c.subscribed()},
		{'x', c.multi != nil || c.inExec},
		{'b', c.waiting != nil || c.s.pause.waits(c)},
		{'t', c.cacher != nil},
		{'R', c.redirectionBroken()},
		{'B', c.cacher != nil && c.cacher.bcast},
		{'d', c.watcher.Marked()},
		{'U', c.conn.Unix()},
		{'e', c.noEvict},
		{'T', c.noTouch},
		{'I', c.importSource},
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
	switch {
	case c.inExec: // whatever is run of its queue
		return "exec"
	case c.cmd == nil:
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
	return n + c.sub.heldBytes() + c.watcher.HeldBytes() + c.cacher.heldBytes()
}
