package server

import (
	"strings"
)

// flags of a command. Those up to allowBusy are Redis's command flags, shown by COMMAND INFO; the others are
// for dispatch and the ACL categories that do not follow from them.
type flags uint64

const (
	write flags = 1 << iota
	readonly
	denyoom
	admin
	pubsub
	noscript
	blocking
	loading
	stale
	skipMonitor
	skipSlowlog
	asking
	fast
	noAuth
	mayReplicate // not shown: it is no write, but what it does reaches replicas
	sentinelOnly
	noAsyncLoading
	noMulti
	noMandatoryKeys
	movableKeys // derived from the key specs
	allowBusy
	protected // refused unless a configuration directive allows it

	exclusive       // runs with the gate closed
	runsScripts     // exclusive, and aside: see aside.go
	walksKeyspace   // locks one shard after the other itself; inside EXEC, which holds locks already, it needs the gate
	notQueued       // runs at once inside MULTI
	subscribes      // subscribes or unsubscribes; inside EXEC it needs the gate, so that no message comes into the reply
	whileSubscribed // allowed in subscribe mode
	namesChannel    // argument 1 is a channel that permissions are about
	namesChannels   // likewise all arguments
	namesPatterns   // all arguments are patterns for channels
	locksForWriting // not a write, but needs its keys locked as if it were
	catKeyspace
	catDangerous
	catConnection
	catTransaction
	catString
	catScripting
	catList
	catSet
	catSortedSet
	catHash
	catBitmap
	catHyperLogLog
	catGeo
	catStream
)

// flagNames are in the order in which COMMAND INFO prints them.
var flagNames = []struct {
	flag flags
	name string
}{
	{write, "write"}, {readonly, "readonly"}, {denyoom, "denyoom"}, {admin, "admin"}, {pubsub, "pubsub"},
	{noscript, "noscript"}, {blocking, "blocking"}, {loading, "loading"}, {stale, "stale"},
	{skipMonitor, "skip_monitor"}, {skipSlowlog, "skip_slowlog"}, {asking, "asking"}, {fast, "fast"},
	{noAuth, "no_auth"}, {noAsyncLoading, "no_async_loading"},
	{noMulti, "no_multi"}, {noMandatoryKeys, "no_mandatory_keys"}, {movableKeys, "movablekeys"}, {allowBusy, "allow_busy"},
}

// handler runs a command for c; args[0] is the name (for a subcommand, args[1] the subcommand's). It parses all
// arguments before it touches data, so that a refused command changed nothing.
type handler func(c *client, args [][]byte)

// row is what an author writes about a command. Whatever must be known about a command is read here.
type row struct {
	name    string
	arity   int // counts the name; negative: at least
	flags   flags
	keys    specs
	since   string // version of Redis (or Valkey, for what only it has) that introduced it
	summary string
	handle  handler // nil for a container, which has subcommands (COMMAND has both)
}

// command is a row and what follows from it.
type command struct {
	row
	fullName  string // "config|get"
	group     string // family as in COMMAND DOCS
	id        int    // index of the per-slot counters
	oneKey    bool   // its only key is argument 1: the common case, locked without collecting keys
	lockWrite bool   // its keys are locked for writing
	joins     bool   // nothing but its one key is needed to run it: neighbours in a pipeline run under one lock
	parent    *command
	subs      []*command
	subByName map[string]*command
}

// group is a command family: its name in COMMAND DOCS, the ACL category that all of its commands have, its rows
// and the rows of its containers' subcommands.
type group struct {
	name     string
	category flags
	rows     []row
	subs     map[string][]row
}

// table is the command table.
type table struct {
	byName map[string]*command
	top    []*command // commands
	all    []*command // and subcommands; index = id
}

// newTable joins the families. It panics on rows that contradict each other: that is a fault of ours which the
// first start shows.
func newTable(groups ...group) *table {
	t := &table{byName: make(map[string]*command)}
	for _, g := range groups {
		for _, r := range g.rows {
			if t.byName[r.name] != nil {
				panic("server: command " + r.name + " has two rows")
			}
			cmd := t.add(r, nil, g)
			t.byName[r.name] = cmd
			t.top = append(t.top, cmd)
		}
		for name := range g.subs {
			if c := t.byName[name]; c == nil || c.group != g.name {
				panic("server: subcommands of " + name + " have no container in their family")
			}
		}
	}
	return t
}

// add derives a command from its row, and its subcommands from theirs.
func (t *table) add(r row, parent *command, g group) *command {
	if r.handle != nil { // a bare container is in no category
		r.flags |= g.category
	}
	cmd := &command{row: r, fullName: r.name, group: g.name, id: len(t.all), parent: parent}
	t.all = append(t.all, cmd)
	cmd.oneKey = len(r.keys) == 1 && r.keys[0].ranged() && r.keys[0].first == 1 && r.keys[0].last == 1 && r.keys[0].flags&kNotKey == 0
	for i := range r.keys {
		if !r.keys[i].ranged() {
			cmd.flags |= movableKeys
		}
	}
	if r.flags&runsScripts != 0 {
		cmd.flags |= exclusive
	}
	cmd.lockWrite = r.flags&(write|locksForWriting) != 0
	cmd.joins = cmd.oneKey && r.handle != nil && parent == nil &&
		r.flags&(exclusive|walksKeyspace|blocking|notQueued|noAuth|noMulti|protected) == 0
	if parent != nil {
		cmd.fullName = parent.name + "|" + r.name
		return cmd
	}
	subs := g.subs[r.name]
	if r.handle == nil && subs == nil {
		panic("server: command " + r.name + " has neither a handler nor subcommands")
	}
	if subs != nil {
		cmd.subByName = make(map[string]*command, len(subs))
	}
	for _, sr := range subs {
		if cmd.subByName[sr.name] != nil {
			panic("server: " + r.name + " " + sr.name + " has two rows")
		}
		sub := t.add(sr, cmd, g)
		cmd.subs = append(cmd.subs, sub)
		cmd.subByName[sr.name] = sub
	}
	return cmd
}

// nameBytesMax is more than the longest name of any command; longer ones are unknown without a look-up.
const nameBytesMax = 64

// find returns the row for args, or the row of the container if the subcommand is not given or unknown.
func (t *table) find(args [][]byte) (cmd *command, known bool) {
	cmd = lookupName(t.byName, args[0])
	if cmd == nil {
		return nil, false
	}
	if cmd.subByName == nil || len(args) < 2 {
		return cmd, true
	}
	if sub := lookupName(cmd.subByName, args[1]); sub != nil {
		return sub, true
	}
	return cmd, false
}

func lookupName(m map[string]*command, name []byte) *command {
	if len(name) > nameBytesMax {
		return nil
	}
	var lower [nameBytesMax]byte
	for i, b := range name {
		if b >= 'A' && b <= 'Z' {
			b |= 0x20
		}
		lower[i] = b
	}
	return m[string(lower[:len(name)])]
}

// arityOK tells whether a command may have n arguments, its name included.
func (cmd *command) arityOK(n int) bool {
	if cmd.arity >= 0 {
		return n == cmd.arity
	}
	return n >= -cmd.arity
}

// helpLines is the reply of a container's HELP subcommand: a header, the lines given, and HELP itself.
func helpLines(name string, lines ...string) []string {
	out := []string{strings.ToUpper(name) + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"}
	out = append(out, lines...)
	return append(out, "HELP", "    Prints this help.")
}

// help answers a HELP subcommand.
func (c *client) help(name string, lines ...string) {
	all := helpLines(name, lines...)
	c.array(len(all))
	for _, l := range all {
		c.simple(l)
	}
}
