package tests

import (
	"fmt"
	"strconv"
	"strings"
)

// accessRow says what one or more commands, run once, count on which keys.
// Words that begin with % are keys of this row alone. The setup runs before the
// window begins. What a row's commands change they also undo, so that they can
// be repeated, and the undoing counts too.
//
// want lists the keys with their accesses, "%a=1 %b@1=2" where @1 is database 1.
// A key that is not in it must not appear in the report.
type accessRow struct {
	setup    string
	commands string
	want     string
}

// accessTable is the table of docs/hotkeys.md, "What is an access".
var accessTable = concat(
	// A lookup counts whether or not the key exists.
	onExistingAndMissing("%a=1",
		"GET %a", "STRLEN %a", "TYPE %a", "TTL %a", "PTTL %a", "EXPIRETIME %a", "PEXPIRETIME %a", "EXISTS %a", "TOUCH %a",
		"PERSIST %a", "GETEX %a", "GETEX %a PERSIST", "GETEX %a EX 1000", "GETRANGE %a 0 -1", "SUBSTR %a 0 1", `SETRANGE %a 0 ""`,
		"EXPIRE %a 1000", "PEXPIRE %a 1000000", "EXPIREAT %a 4102444800", "PEXPIREAT %a 4102444800000",
		"EXPIRE %a 1000 GT", "EXPIRE %a 1000 XX",
	),
	onExistingAndMissing("%a=2", "EXISTS %a %a", "TOUCH %a %a", "MGET %a %a"),
	onExistingAndMissing("%a=1 %b=1", "LCS %a %b", "MGET %a %b", "EXISTS %a %b", "TOUCH %b %a"),
	[]accessRow{
		{"SET %a 1", "MGET %a %b %c", "%a=1 %b=1 %c=1"},

		// A write that finds what it needs with the lookup it makes anyway.
		{"", "INCR %a", "%a=1"},
		{"", "DECR %a", "%a=1"},
		{"", "INCRBY %a 2", "%a=1"},
		{"", "DECRBY %a 2", "%a=1"},
		{"", "INCRBYFLOAT %a 0.5", "%a=1"},
		{"", "APPEND %a x", "%a=1"},
		{"", "SETRANGE %a 0 x", "%a=1"},
		{"SET %a word", "INCR %a", "%a=1"},
		{"SET %a word", "INCRBYFLOAT %a 1", "%a=1"},
		{"", "SET %a v", "%a=1"},
		{"", "SET %a v EX 1000", "%a=1"},
		{"", "SET %a v KEEPTTL", "%a=1"},
		{"", "SETEX %a 1000 v", "%a=1"},
		{"", "PSETEX %a 1000000 v", "%a=1"},
		{"SET %a v", "SET %a w NX", "%a=1"},
		{"SET %a v", "SETNX %a w", "%a=1"},
		{"", "SET %a w XX", "%a=1"},
		{"SET %a v", "SET %a w XX", "%a=1"},
		{"", "SETNX %a w; DEL %a", "%a=2"},
		{"", "SET %a w NX; DEL %a", "%a=2"},
		{"SET %a v", "SET %a v IFEQ v", "%a=1"},
		{"SET %a v", "SET %a w IFEQ x", "%a=1"},
		{"", "SET %a w IFEQ x", "%a=1"},
		{"", "MSET %a 1 %b 2", "%a=1 %b=1"},
		{"", "MSET %a 1 %a 2", "%a=2"},

		// It reads, and it writes.
		{"SET %a v", "SET %a w GET", "%a=2"},
		{"", "SET %a w GET; DEL %a", "%a=3"},
		{"SET %a v", "GETSET %a w", "%a=2"},
		{"", "GETSET %a w; DEL %a", "%a=3"},

		{"", "SET %a v; GETDEL %a", "%a=3"},
		{"", "GETDEL %a", "%a=1"},
		{"", "SET %a v; DEL %a", "%a=2"},
		{"", "SET %a v; UNLINK %a", "%a=2"},
		{"", "DEL %a", ""},
		{"", "UNLINK %a %b %a", ""},
		{"", "SET %a v; DEL %a %b %a", "%a=2"},
		{"", "SET %a v; DELIFEQ %a v", "%a=3"},
		{"SET %a v", "DELIFEQ %a w", "%a=1"},
		{"", "DELIFEQ %a v", "%a=1"},

		{"", "SET %a v; RENAME %a %b; DEL %b", "%a=3 %b=2"},
		{"", "SET %a v; SET %b w; RENAME %a %b", "%a=3 %b=3"},
		{"SET %a v", "RENAME %a %a", "%a=1"},
		{"", "RENAME %a %b", "%a=1"},
		{"SET %a v; SET %b w", "RENAMENX %a %b", "%a=1 %b=1"},
		{"", "SET %a v; RENAMENX %a %b; DEL %b", "%a=3 %b=2"},
		{"SET %a v", "RENAMENX %a %a", "%a=1"},
		{"", "RENAMENX %a %b", "%a=1"},

		{"SET %a v", "COPY %a %b; DEL %b", "%a=1 %b=2"},
		{"SET %a v; SET %b w", "COPY %a %b", "%a=1 %b=1"},
		{"SET %a v; SET %b w", "COPY %a %b REPLACE", "%a=1 %b=2"},
		{"SET %a v", "COPY %a %b REPLACE; DEL %b", "%a=1 %b=2"},
		{"SET %a v", "COPY %a %a DB 1 REPLACE; SELECT 1; DEL %a; SELECT 0", "%a=1 %a@1=2"},
		{"", "COPY %a %b", "%a=1"},

		{"", "SET %a v; MOVE %a 1; SELECT 1; DEL %a; SELECT 0", "%a=3 %a@1=2"},
		{"SET %a v; SELECT 1; SET %a v; SELECT 0", "MOVE %a 1", "%a=1 %a@1=1"},
		{"", "MOVE %a 1", "%a=1"},

		{"SET %b v", "MSETNX %a 1 %b 2 %c 3", "%a=1 %b=1"},
		{"", "MSETNX %a 1 %b 2; DEL %a %b", "%a=2 %b=2"},

		// A removal that is really expiry is not an access of its own.
		{"", "SET %a v; EXPIRE %a -1", "%a=2"},
		{"", "SET %a v; PEXPIRE %a 0", "%a=2"},
		{"", "SET %a v; EXPIREAT %a 1", "%a=2"},
		{"", "SET %a v; PEXPIREAT %a 1", "%a=2"},
		{"", "SET %a v; GETEX %a EXAT 1", "%a=2"},
		{"", "SET %a v EXAT 1", "%a=1"},
		{"", "SET %a v; SET %a v PXAT 1", "%a=2"},

		// What only looks at the keyspace itself.
		{"SET %a v", "OBJECT ENCODING %a; OBJECT REFCOUNT %a; OBJECT IDLETIME %a; OBJECT FREQ %a", ""},
		{"", "OBJECT ENCODING %a", ""},
		{"SET %a v", "MEMORY USAGE %a", ""},
		{"SET %a v", "DEBUG OBJECT %a", ""},
		{"SADD %a x", "DEBUG DIGEST; DEBUG DIGEST-VALUE %a nosuch; DEBUG HTSTATS 0 full; DEBUG HTSTATS-KEY %a", ""},
		{"SET %a v", "SCAN 0 COUNT 10 MATCH %a", ""},
		{"SET %a v", "SCAN 0 COUNT 10 TYPE string", ""},
		{"SET %a v", "RANDOMKEY", ""},
		{"SET %a v", "COMMAND GETKEYS GET %a", ""},
		{"SET %a v", "COMMAND GETKEYSANDFLAGS SET %a v", ""},
		{"SET %a v", "DBSIZE; PING; ECHO %a; SELECT 0; TIME", ""},

		// Refused before the lookup.
		{"SET %a v", "SET %a v bogus", ""},
		{"SET %a v", "SET %a v EX 0", ""},
		{"SET %a v", "SET %a v EX abc", ""},
		{"SET %a v", "SET %a v NX XX", ""},
		{"SET %a v", "SETEX %a 0 v", ""},
		{"SET %a v", "INCRBY %a abc", ""},
		{"SET %a v", "GETRANGE %a x y", ""},
		{"SET %a v", "SETRANGE %a -1 x", ""},
		{"SET %a v", "EXPIRE %a abc", ""},
		{"SET %a v", "EXPIRE %a 9223372036854775807", ""},
		{"SET %a v", "EXPIRE %a 100 NX XX", ""},
		{"SET %a v", "GETEX %a bogus", ""},
		{"SET %a v", "COPY %a %b DB 99", ""},
		{"SET %a v", "COPY %a %b bogus", ""},
		{"SET %a v", "MOVE %a 99", ""},
		{"SET %a v", "MSETNX %a 1 %b", ""},
	},
)

func concat(lists ...[]accessRow) []accessRow {
	var all []accessRow
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// onExistingAndMissing makes two rows of each command: on keys that exist, and
// on keys that do not.
func onExistingAndMissing(want string, commands ...string) []accessRow {
	var rows []accessRow
	for _, c := range commands {
		rows = append(rows, accessRow{"SET %a abc; SET %b abd", c, want}, accessRow{"", c, want})
	}
	return rows
}

// commandsOf splits a line of commands and gives its keys their names in row i.
func commandsOf(line string, i int) [][]string {
	if line == "" {
		return nil
	}
	var commands [][]string
	for text := range strings.SplitSeq(line, "; ") {
		args, err := splitArgs(text)
		if err != nil {
			panic(err)
		}
		for k, a := range args {
			if strings.HasPrefix(a, "%") {
				args[k] = rowKey(a, i)
			}
		}
		commands = append(commands, args)
	}
	return commands
}

func rowKey(word string, i int) string { return fmt.Sprintf("row%d:%s", i, word[1:]) }

// identity is what tells one hot key from another.
type identity struct {
	key string
	db  int
}

// wanted reads the want of row i.
func (r accessRow) wanted(i int) map[identity]int {
	counts := map[identity]int{}
	for word := range strings.FieldsSeq(r.want) {
		key, count, _ := strings.Cut(word, "=")
		key, db, _ := strings.Cut(key, "@")
		id := identity{key: rowKey(key, i)}
		if db != "" {
			id.db, _ = strconv.Atoi(db)
		}
		n, err := strconv.Atoi(count)
		if err != nil {
			panic("access table: " + word)
		}
		counts[id] = n
	}
	return counts
}
