package server

import (
	"bytes"
	"strings"
)

// keyFlags say what a command does to the keys of one spec (key specifications, COMMAND INFO).
type keyFlags uint16

const (
	kRO keyFlags = 1 << iota // reads the value, changes nothing
	kRW                      // reads and changes it
	kOW                      // overwrites it without looking at it
	kRM                      // removes it
	kAccess
	kUpdate
	kInsert
	kDelete
	kNotKey // it finds channels, which cluster clients route like keys
	kIncomplete
	kVariable
)

var keyFlagNames = []struct {
	flag keyFlags
	name string
}{
	{kRO, "RO"}, {kRW, "RW"}, {kOW, "OW"}, {kRM, "RM"}, {kAccess, "access"}, {kUpdate, "update"},
	{kInsert, "insert"}, {kDelete, "delete"}, {kNotKey, "not_key"}, {kIncomplete, "incomplete"},
	{kVariable, "variable_flags"},
}

func (f keyFlags) names() (list []string) {
	for _, n := range keyFlagNames {
		if f&n.flag != 0 {
			list = append(list, n.name)
		}
	}
	return list
}

// keySpec finds keys among a command's arguments, in one of four ways:
//
//   - a range: from index first to index last (negative: counted from the end, -1 being the last argument), every step-th;
//   - counted: at index first stands the number of the keys that follow it;
//   - after a keyword, which is looked for from index first on: the argument that follows, or the first half of all that
//     follow;
//   - found by a function, where no rule tells.
type keySpec struct {
	flags             keyFlags
	first, last, step int
	counted           bool
	keyword           string
	half              bool // with keyword
	find              func(args [][]byte) [][]byte
	// vary gives what a command with these arguments does to the keys, where that depends on them (kVariable).
	vary func(args [][]byte) keyFlags
}

type specs []keySpec

func keysAt(f keyFlags, first, last, step int) keySpec {
	return keySpec{flags: f, first: first, last: last, step: step}
}

// keysNum is for keys that follow their number, which stands at index at.
func keysNum(f keyFlags, at int) keySpec { return keySpec{flags: f, first: at, counted: true} }

// keyAfter is for the one key after a keyword, keysAfter for those that are the first half of what follows it.
func keyAfter(f keyFlags, keyword string, from int) keySpec {
	return keySpec{flags: f, first: from, keyword: keyword}
}

func keysAfter(f keyFlags, keyword string, from int) keySpec {
	return keySpec{flags: f, first: from, keyword: keyword, half: true}
}

// keysFound is for keys that only a function finds.
func keysFound(f keyFlags, find func(args [][]byte) [][]byte) keySpec {
	return keySpec{flags: f, find: find}
}

// varying is a spec whose flags depend on the arguments.
func varying(spec keySpec, vary func(args [][]byte) keyFlags) keySpec {
	spec.flags |= kVariable
	spec.vary = vary
	return spec
}

// ranged reports whether the spec is a range, which alone clients older than key specifications know.
func (spec *keySpec) ranged() bool { return !spec.counted && spec.keyword == "" && spec.find == nil }

// flagsFor is what a command with these arguments does to the keys of a spec.
func (spec *keySpec) flagsFor(args [][]byte) keyFlags {
	if spec.vary != nil {
		return spec.vary(args)
	}
	return spec.flags
}

// appendKeys appends the keys that the spec finds among args. Arguments that are not what the spec expects have no keys: the
// handler will refuse them.
func (spec *keySpec) appendKeys(keys, args [][]byte) [][]byte {
	switch {
	case spec.find != nil:
		return append(keys, spec.find(args)...)
	case spec.counted:
		if spec.first >= len(args) {
			return keys
		}
		n, ok := parseInt(args[spec.first])
		if !ok || n < 1 || n > int64(len(args)-spec.first-1) {
			return keys
		}
		return append(keys, args[spec.first+1:spec.first+1+int(n)]...)
	case spec.keyword != "":
		return spec.appendAfter(keys, args)
	}
	last := spec.last
	if last < 0 {
		last += len(args)
	}
	for i := spec.first; i <= last && i < len(args); i += spec.step {
		keys = append(keys, args[i])
	}
	return keys
}

func (spec *keySpec) appendAfter(keys, args [][]byte) [][]byte {
	for i := spec.first; i < len(args); i++ {
		if !bytes.EqualFold(args[i], []byte(spec.keyword)) {
			continue
		}
		rest := args[i+1:]
		n := min(1, len(rest))
		if spec.half {
			n = len(rest) / 2
		}
		return append(keys, rest[:n]...)
	}
	return keys
}

// legacyKeys is the one range of keys that clients older than key specifications know of: it spans the specs if
// they adjoin.
func (cmd *command) legacyKeys() (first, last, step int) {
	for i, spec := range cmd.keys {
		if !spec.ranged() {
			break
		}
		if i == 0 {
			first, last, step = spec.first, spec.last, spec.step
			continue
		}
		if step != 1 || spec.step != 1 || last < 0 || spec.first != last+1 {
			break
		}
		last = spec.last
	}
	return first, last, step
}

// appendKeys appends the keys among args to keys.
func (cmd *command) appendKeys(keys, args [][]byte) [][]byte {
	for i := range cmd.keys {
		if cmd.keys[i].flags&kNotKey == 0 {
			keys = cmd.keys[i].appendKeys(keys, args)
		}
	}
	return keys
}

// keySpec appends a key specification as COMMAND INFO has it.
func (c *client) keySpec(spec keySpec) {
	c.mapping(3)
	c.bulkString("flags")
	c.statusSet(spec.flags.names())
	c.bulkString("begin_search")
	switch {
	case spec.find != nil:
		c.specPart("unknown")
	case spec.keyword != "":
		c.specPart("keyword", specField{"keyword", 0, spec.keyword}, specField{"startfrom", spec.first, ""})
	default:
		c.specPart("index", specField{"index", spec.first, ""})
	}
	c.bulkString("find_keys")
	switch {
	case spec.find != nil:
		c.specPart("unknown")
	case spec.counted:
		c.specPart("keynum", specField{"keynumidx", 0, ""}, specField{"firstkey", 1, ""}, specField{"keystep", 1, ""})
	default:
		last, step, limit := spec.rangeShown()
		c.specPart("range", specField{"lastkey", last, ""}, specField{"keystep", step, ""}, specField{"limit", limit, ""})
	}
}

// rangeShown gives the range of a spec as COMMAND INFO counts it: from where it begins.
func (spec *keySpec) rangeShown() (last, step, limit int) {
	switch {
	case spec.half:
		return -1, 1, 2
	case spec.keyword != "":
		return 0, 1, 0
	case spec.last >= 0:
		return spec.last - spec.first, spec.step, 0
	}
	return spec.last, spec.step, 0
}

// A specField is a number, or a text if that is not empty.
type specField struct {
	name   string
	number int
	text   string
}

func (c *client) specPart(kind string, fields ...specField) {
	c.mapping(2)
	c.bulkString("type")
	c.bulkString(kind)
	c.bulkString("spec")
	c.mapping(len(fields))
	for _, f := range fields {
		c.bulkString(f.name)
		if f.text != "" {
			c.bulkString(strings.ToUpper(f.text))
		} else {
			c.int(int64(f.number))
		}
	}
}
