package server

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"sync"
)

// The command logs remember the latest commands that took long, had large requests, or large replies. SLOWLOG shows the
// first of them, as in Redis; COMMANDLOG, which is Valkey's, all three.

// commandlogRows are of containers only.
var commandlogRows = []row{
	{"commandlog", -2, 0, nil, "8.1.0", "A container for command log commands.", nil},
	{"slowlog", -2, 0, nil, "2.2.12", "A container for slow log commands.", nil},
}

var commandlogSubRows = []row{
	{"get", 4, admin | loading | stale, nil, "8.1.0", "Returns the specified command log's entries.", commandlogGet},
	{"help", 2, loading | stale, nil, "8.1.0", "Returns helpful text about the different subcommands.", commandlogHelp},
	{"len", 3, admin | loading | stale, nil, "8.1.0", "Returns the number of entries in the specified type of command log.", commandlogLen},
	{"reset", 3, admin | loading | stale, nil, "8.1.0", "Clears all entries from the specified type of command log.", commandlogReset},
}

var slowlogSubRows = []row{
	{"get", -2, admin | loading | stale, nil, "2.2.12", "Returns the slow log's entries.", slowlogGet},
	{"help", 2, loading | stale, nil, "6.2.0", "Returns helpful text about the different subcommands.", slowlogHelp},
	{"len", 2, admin | loading | stale, nil, "2.2.12", "Returns the number of entries in the slow log.", slowlogLen},
	{"reset", 2, admin | loading | stale, nil, "2.2.12", "Clears all entries from the slow log.", slowlogReset},
}

var commandlogDocs = map[string]doc{
	"commandlog":       {complexity: dependsOnSub},
	"commandlog|get":   {complexity: perLogEntry, syntax: "count:integer type", tips: "request_policy:all_nodes " + unstable},
	"commandlog|help":  {complexity: "O(1)"},
	"commandlog|len":   {complexity: "O(1)", syntax: "type", tips: "request_policy:all_nodes response_policy:agg_sum " + unstable},
	"commandlog|reset": {complexity: "O(1)", syntax: "type", tips: "request_policy:all_nodes response_policy:all_succeeded"},
	"slowlog":          {complexity: dependsOnSub},
	"slowlog|get":      {complexity: perLogEntry, syntax: "[count:integer]", tips: "request_policy:all_nodes " + unstable},
	"slowlog|help":     {complexity: "O(1)"},
	"slowlog|len":      {complexity: "O(1)", tips: "request_policy:all_nodes response_policy:agg_sum " + unstable},
	"slowlog|reset":    {complexity: "O(1)", tips: "request_policy:all_nodes response_policy:all_succeeded"},
}

const perLogEntry = "O(N) where N is the number of entries returned."

// logKind tells the logs apart.
type logKind int

const (
	slowLog logKind = iota
	largeRequestLog
	largeReplyLog
	logKinds
)

// logTypes are the words for them, by kind.
var logTypes = [logKinds]string{"slow", "large-request", "large-reply"}

// What is kept of a command: as much as Redis keeps.
const (
	loggedArgsMax  = 32
	loggedBytesMax = 128 // of an argument
)

// logEntry is one command. It is not changed any more.
type logEntry struct {
	id      int64
	unixSec int64
	value   int64 // microseconds or bytes
	args    []string
	addr    string
	name    string
}

// commandLog remembers the latest commands whose value is not below a threshold.
type commandLog struct {
	// These change only under the gate.
	atLeast    int64 // math.MaxInt64: nothing is logged
	entriesMax int

	mu sync.Mutex
	// mu guards all of the following.
	entries []logEntry // the oldest first
	nextID  int64
}

// limit puts parameters into force. As in Redis a log that is switched off keeps what it has.
func (l *commandLog) limit(atLeast, entriesMax int64) {
	if atLeast < 0 || entriesMax == 0 {
		l.atLeast = math.MaxInt64
		return
	}
	l.atLeast, l.entriesMax = atLeast, int(entriesMax)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trim()
}

// trim drops the oldest entries. The caller holds l.mu.
func (l *commandLog) trim() {
	if over := len(l.entries) - l.entriesMax; over > 0 {
		clear(l.entries[:over])
		l.entries = l.entries[over:]
	}
}

// note logs a command of c if its value calls for it. secret are the indexes of arguments that are not shown.
func (l *commandLog) note(c *client, args [][]byte, secret []int, value int64) {
	if value < l.atLeast || l.atLeast == math.MaxInt64 {
		return
	}
	e := logEntry{
		unixSec: c.slot.clock.unixUs() / 1e6, value: value, args: loggedArgs(args, secret),
		addr: c.conn.RemoteAddr(), name: c.name,
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e.id = l.nextID
	l.nextID++
	l.entries = append(l.entries, e)
	l.trim()
}

// loggedArgs cuts a command down to what is logged of it. The last one of the arguments kept says how many there were
// more.
func loggedArgs(args [][]byte, secret []int) []string {
	shown := args[:min(len(args), loggedArgsMax)]
	list := make([]string, 0, len(shown))
	for i, a := range shown {
		switch {
		case i == loggedArgsMax-1 && len(args) > loggedArgsMax:
			list = append(list, fmt.Sprintf("... (%d more arguments)", len(args)-loggedArgsMax+1))
		case slices.Contains(secret, i):
			list = append(list, redacted)
		case len(a) > loggedBytesMax:
			list = append(list, fmt.Sprintf("%s... (%d more bytes)", a[:loggedBytesMax], len(a)-loggedBytesMax))
		default:
			list = append(list, string(a))
		}
	}
	return list
}

// latest returns at most n entries, the latest first.
func (l *commandLog) latest(n int64) []logEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	n = min(n, int64(len(l.entries)))
	list := slices.Clone(l.entries[int64(len(l.entries))-n:])
	slices.Reverse(list)
	return list
}

func (l *commandLog) len() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(len(l.entries))
}

// reset forgets the entries; numbering goes on.
func (l *commandLog) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}

// logEntries answers with the latest entries of a log. All there are if count is -1.
func (c *client) logEntries(kind logKind, count []byte) {
	n, ok := parseInt(count)
	if !ok || n < -1 {
		c.fail("ERR count should be greater than or equal to -1")
		return
	}
	if n == -1 {
		n = math.MaxInt64
	}
	list := c.s.observe.logs[kind].latest(n)
	c.array(len(list))
	for _, e := range list {
		c.array(6)
		c.int(e.id)
		c.int(e.unixSec)
		c.int(e.value)
		c.array(len(e.args))
		for _, a := range e.args {
			c.bulkString(a)
		}
		c.bulkString(e.addr)
		c.bulkString(e.name)
	}
}

// logKind reads the type of a log, or answers what there is.
func (c *client) logKind(arg []byte) (kind logKind, ok bool) {
	for i, name := range logTypes {
		if bytes.EqualFold(arg, []byte(name)) {
			return logKind(i), true
		}
	}
	c.fail("ERR type should be one of the following: slow, large-request, large-reply")
	return 0, false
}

func commandlogGet(c *client, args [][]byte) {
	if kind, ok := c.logKind(args[3]); ok {
		c.logEntries(kind, args[2])
	}
}

func commandlogLen(c *client, args [][]byte) {
	if kind, ok := c.logKind(args[2]); ok {
		c.int(c.s.observe.logs[kind].len())
	}
}

func commandlogReset(c *client, args [][]byte) {
	if kind, ok := c.logKind(args[2]); ok {
		c.s.observe.logs[kind].reset()
		c.ok()
	}
}

func slowlogGet(c *client, args [][]byte) {
	switch len(args) {
	case 2:
		c.logEntries(slowLog, []byte("10"))
	case 3:
		c.logEntries(slowLog, args[2])
	default:
		c.fail(subcommandSyntax(c.cmd.parent, args[1]))
	}
}

func slowlogLen(c *client, _ [][]byte) { c.int(c.s.observe.logs[slowLog].len()) }

func slowlogReset(c *client, _ [][]byte) {
	c.s.observe.logs[slowLog].reset()
	c.ok()
}

func commandlogHelp(c *client, _ [][]byte) {
	c.help("commandlog",
		"GET <count> <type>",
		"    Return the latest <count> entries of a log, -1: all. <type> is slow, large-request or large-reply.",
		"    An entry is: id, Unix time, microseconds or bytes, arguments, address and name of the client.",
		"LEN <type>",
		"    Return the number of entries of a log.",
		"RESET <type>",
		"    Forget the entries of a log.")
}

func slowlogHelp(c *client, _ [][]byte) {
	c.help("slowlog",
		"GET [<count>]",
		"    Return the latest <count> entries of the slow log (default: 10, -1: all).",
		"    An entry is: id, Unix time, microseconds, arguments, address and name of the client.",
		"LEN",
		"    Return the number of entries of the slow log.",
		"RESET",
		"    Forget the entries of the slow log.")
}
