package server

import (
	"bytes"
	"slices"
	"strings"

	"kvserver/glob"
)

// COMMAND and its subcommands print the command table. They reach it through the server: the rows name these
// handlers, so a table in a package variable could not be initialised.

var commandSubRows = []row{
	{"count", 2, loading | stale | catConnection, nil, "2.8.13", "Returns a count of commands.", commandCount},
	{"docs", -2, loading | stale | catConnection, nil, "7.0.0", "Returns documentary information about one, multiple or all commands.", commandDocs},
	{"getkeys", -4, loading | stale | catConnection, nil, "2.8.13", "Extracts the key names from an arbitrary command.", commandGetKeys},
	{"getkeysandflags", -4, loading | stale | catConnection, nil, "7.0.0", "Extracts the key names and access flags for an arbitrary command.", commandGetKeysAndFlags},
	{"help", 2, loading | stale | catConnection, nil, "5.0.0", "Returns helpful text about the different subcommands.", commandHelp},
	{"info", -2, loading | stale | catConnection, nil, "2.8.13", "Returns information about one, multiple or all commands.", commandInfo},
	{"list", -2, loading | stale | catConnection, nil, "7.0.0", "Returns a list of command names.", commandList},
}

func commandAll(c *client, _ [][]byte) { c.commandInfos(c.s.table.top) }

func commandCount(c *client, _ [][]byte) { c.int(int64(len(c.s.table.top))) }

func commandInfo(c *client, args [][]byte) {
	if len(args) == 2 {
		c.commandInfos(c.s.table.top)
		return
	}
	list := make([]*command, 0, len(args)-2)
	for _, name := range args[2:] {
		list = append(list, c.s.table.named(name))
	}
	c.commandInfos(list)
}

// named finds a command by its full name ("get", "config|get"), or returns nil.
func (t *table) named(name []byte) *command {
	parent, sub, isSub := bytes.Cut(name, []byte{'|'})
	cmd := lookupName(t.byName, parent)
	if cmd == nil || !isSub {
		return cmd
	}
	return lookupName(cmd.subByName, sub)
}

// commandInfos answers with the rows of commands; nil stands for one that is unknown.
func (c *client) commandInfos(list []*command) {
	c.array(len(list))
	for _, cmd := range list {
		if cmd == nil {
			c.null()
		} else {
			c.commandInfo(cmd)
		}
	}
}

func (c *client) commandInfo(cmd *command) {
	first, last, step := cmd.legacyKeys()
	c.array(10)
	c.bulkString(cmd.fullName)
	c.int(int64(cmd.arity))
	c.statusSet(cmd.flags.names())
	c.int(int64(first))
	c.int(int64(last))
	c.int(int64(step))
	c.statusSet(cmd.flags.categories())
	tips := strings.Fields(docs[cmd.fullName].tips)
	c.set(len(tips))
	for _, tip := range tips {
		c.bulkString(tip)
	}
	c.set(len(cmd.keys))
	for _, spec := range cmd.keys {
		c.keySpec(spec)
	}
	c.set(len(cmd.subs))
	for _, sub := range cmd.subs {
		c.commandInfo(sub)
	}
}

// statusSet appends a set of simple strings.
func (c *client) statusSet(names []string) {
	c.set(len(names))
	for _, name := range names {
		c.simple(name)
	}
}

// names are the flags that COMMAND INFO prints.
func (f flags) names() (list []string) {
	for _, n := range flagNames {
		if f&n.flag != 0 {
			list = append(list, n.name)
		}
	}
	return list
}

// aclCategories are in Redis's order. A command is in a category if it has one of the first flags and none of the
// second.
var aclCategories = []struct {
	name     string
	any, not flags
}{
	{"keyspace", catKeyspace, 0},
	{"read", readonly, catScripting},
	{"write", write, 0},
	{"set", catSet, 0},
	{"sortedset", catSortedSet, 0},
	{"list", catList, 0},
	{"hash", catHash, 0},
	{"string", catString, 0},
	{"bitmap", catBitmap, 0},
	{"hyperloglog", catHyperLogLog, 0},
	{"geo", catGeo, 0},
	{"stream", catStream, 0},
	{"pubsub", pubsub, 0},
	{"admin", admin, 0},
	{"fast", fast, 0},
	{"slow", ^flags(0), fast},
	{"blocking", blocking, 0},
	{"dangerous", admin | catDangerous, 0},
	{"connection", catConnection, 0},
	{"transaction", catTransaction, 0},
	{"scripting", catScripting, 0},
}

// inCategory tells whether a command with these flags is in the category aclCategories[i]. All that are not fast
// are slow, also those without any flag.
func (f flags) inCategory(i int) bool {
	cat := aclCategories[i]
	return f&cat.not == 0 && (f&cat.any != 0 || cat.any == ^flags(0))
}

func (f flags) categories() (list []string) {
	for i, cat := range aclCategories {
		if f.inCategory(i) {
			list = append(list, "@"+cat.name)
		}
	}
	return list
}

// commandList lists subcommands as well, and can filter them.
func commandList(c *client, args [][]byte) {
	keep := func(*command) bool { return true }
	switch {
	case len(args) == 2:
	case len(args) == 5 && bytes.EqualFold(args[2], []byte("FILTERBY")):
		if keep = commandFilter(args[3], args[4]); keep == nil {
			c.fail(errSyntax)
			return
		}
	default:
		c.fail(errSyntax)
		return
	}
	var names []string
	for _, cmd := range c.s.table.all {
		if keep(cmd) {
			names = append(names, cmd.fullName)
		}
	}
	c.array(len(names))
	for _, name := range names {
		c.bulkString(name)
	}
}

// commandFilter returns the test for a kind of filter, or nil if there is no such kind. Nothing belongs to a
// module, or to a category that does not exist.
func commandFilter(kind, value []byte) func(*command) bool {
	switch {
	case bytes.EqualFold(kind, []byte("MODULE")):
		return func(*command) bool { return false }
	case bytes.EqualFold(kind, []byte("ACLCAT")):
		for i, cat := range aclCategories {
			if strings.EqualFold(string(value), cat.name) {
				return func(cmd *command) bool { return cmd.flags.inCategory(i) }
			}
		}
		return func(*command) bool { return false }
	case bytes.EqualFold(kind, []byte("PATTERN")):
		pattern := bytes.ToLower(value)
		return func(cmd *command) bool { return glob.Match(pattern, []byte(cmd.fullName)) }
	}
	return nil
}

// keysOf finds the row of a command given as the arguments of COMMAND GETKEYS, or answers with an error.
func (c *client) keysOf(args [][]byte) *command {
	cmd, known := c.s.table.find(args)
	switch {
	case !known:
		c.fail("ERR Invalid command specified")
	case !slices.ContainsFunc(cmd.keys, func(spec keySpec) bool { return spec.flags&kNotKey == 0 }):
		c.fail("ERR The command has no key arguments")
	case !cmd.arityOK(len(args)):
		c.fail("ERR Invalid number of arguments specified for command")
	default:
		return cmd
	}
	return nil
}

func commandGetKeys(c *client, args [][]byte) {
	args = args[2:]
	cmd := c.keysOf(args)
	if cmd == nil {
		return
	}
	keys := cmd.appendKeys(nil, args)
	c.array(len(keys))
	for _, key := range keys {
		c.bulk(key)
	}
}

func commandGetKeysAndFlags(c *client, args [][]byte) {
	args = args[2:]
	cmd := c.keysOf(args)
	if cmd == nil {
		return
	}
	c.array(len(cmd.appendKeys(nil, args)))
	for i := range cmd.keys {
		spec := &cmd.keys[i]
		for _, key := range spec.appendKeys(nil, args) {
			c.array(2)
			c.bulk(key)
			c.statusSet(spec.flagsFor(args).names())
		}
	}
}

func commandHelp(c *client, _ [][]byte) {
	c.help("command",
		"(no subcommand)",
		"    Return details about all commands.",
		"COUNT",
		"    Return the number of commands.",
		"DOCS [<command-name> ...]",
		"    Return documentation of the commands named, or of all.",
		"GETKEYS <full-command>",
		"    Return the keys of a command with its arguments.",
		"GETKEYSANDFLAGS <full-command>",
		"    Return the keys and what the command does to them.",
		"INFO [<command-name> ...]",
		"    Return details about the commands named, or about all.",
		"LIST [FILTERBY (MODULE <name>|ACLCAT <category>|PATTERN <pattern>)]",
		"    Return the names of commands and subcommands.")
}
