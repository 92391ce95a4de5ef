package server

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"kvserver/server/acl"
)

// aclReason is why something was denied, aclContext where it came from.
type (
	aclReason  int
	aclContext int
)

const (
	deniedCommand aclReason = iota
	deniedKey
	deniedChannel
	deniedAuth
	aclReasons
)

const (
	fromClient aclContext = iota
	fromMulti
	fromScript
)

var (
	aclReasonNames  = [aclReasons]string{"command", "key", "channel", "auth"}
	aclDeniedFields = [aclReasons]string{"acl_access_denied_cmd", "acl_access_denied_key", "acl_access_denied_channel", "acl_access_denied_auth"}
	aclContextNames = []string{"toplevel", "multi", "lua"}
	reasonOf        = map[acl.Verdict]aclReason{acl.DeniedCommand: deniedCommand, acl.DeniedKey: deniedKey, acl.DeniedChannel: deniedChannel}
)

const (
	aclLogGroupMs    = 60_000 // like entries that follow each other within this time are one
	aclLogGroupDepth = 10     // how many of the latest entries are looked at for that
	aclObjectMax     = 4096   // bytes of a key or channel that are kept: one may be of half a gigabyte
)

// aclLog remembers the latest denials.
type aclLog struct {
	mu sync.Mutex
	// mu guards all of the following.
	entriesMax int64
	lastID     int64
	entries    []aclEntry // the latest is the last
}

type aclEntry struct {
	aclEvent
	id        int64
	count     int64
	createdMs int64
	updatedMs int64
	client    string
}

// aclEvent is what entries are told apart by.
type aclEvent struct {
	reason aclReason
	from   aclContext
	object string
	user   string
}

// add notes an event; client is the line of CLIENT LIST about who caused it.
func (l *aclLog) add(e aclEvent, client string, nowMs int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.entriesMax == 0 {
		l.entries = nil
		return
	}
	for i := len(l.entries) - 1; i >= max(0, len(l.entries)-aclLogGroupDepth); i-- {
		entry := l.entries[i]
		if entry.aclEvent == e && nowMs-entry.updatedMs <= aclLogGroupMs {
			entry.count++
			entry.updatedMs, entry.client = nowMs, client
			copy(l.entries[i:], l.entries[i+1:])
			l.entries[len(l.entries)-1] = entry
			return
		}
	}
	l.entries = append(l.entries, aclEntry{e, l.lastID, 1, nowMs, nowMs, client})
	l.lastID++
	if excess := int64(len(l.entries)) - l.entriesMax; excess > 0 {
		l.entries = slices.Delete(l.entries, 0, int(excess))
	}
}

// limit sets how many entries are kept. Those that are too many stay until the next comes, as in Redis: its tests ask for them.
func (l *aclLog) limit(entriesMax int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entriesMax = entriesMax
}

func (l *aclLog) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}

// latest returns copies of up to count entries, the latest first.
func (l *aclLog) latest(count int64) []aclEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(count, int64(len(l.entries)))
	list := make([]aclEntry, 0, n)
	for i := range int(n) {
		list = append(list, l.entries[len(l.entries)-1-i])
	}
	return list
}

// noteDenied counts and logs that something was denied to the client, whose command args are, or to the script that it runs.
func (c *client) noteDenied(why aclReason, from aclContext, object, user string, args [][]byte) {
	c.s.accounts.denied[why].Add(1)
	object, user = object[:min(len(object), aclObjectMax)], user[:min(len(user), aclObjectMax)]
	who := c
	if c.inScript {
		who = c.s.scripts.running.caller
	}
	line := who.appendLine(nil, who, args)
	c.s.accounts.log.add(aclEvent{why, from, object, user}, string(line[:len(line)-1]), c.slot.clock.unixMs())
}

func aclLogEntries(c *client, args [][]byte) {
	count := int64(10)
	switch {
	case len(args) > 3:
		c.fail(subcommandSyntax(c.cmd.parent, args[1]))
		return
	case len(args) == 3 && bytes.EqualFold(args[2], []byte("RESET")):
		c.s.accounts.log.reset()
		c.ok()
		return
	case len(args) == 3:
		n, ok := parseInt(args[2])
		if !ok {
			c.fail(errNotInteger)
			return
		}
		count = max(n, 0)
	}
	entries := c.s.accounts.log.latest(count)
	now := c.slot.clock.unixMs()
	c.array(len(entries))
	for i := range entries {
		e := &entries[i]
		c.mapping(10)
		c.field("count", e.count)
		c.textField("reason", aclReasonNames[e.reason])
		c.textField("context", aclContextNames[e.from])
		c.textField("object", e.object)
		c.textField("username", e.user)
		c.bulkString("age-seconds")
		c.double(time.Duration((now - e.updatedMs) * 1e6).Seconds())
		c.textField("client-info", e.client)
		c.field("entry-id", e.id)
		c.field("timestamp-created", e.createdMs)
		c.field("timestamp-last-updated", e.updatedMs)
	}
}
