package tests

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// manyOf makes a command of n elements.
func manyOf(n int, element func(i int) string, command ...string) []string {
	for i := range n {
		command = append(command, element(i))
	}
	return command
}

func prefixed(prefix string) func(i int) string {
	return func(i int) string { return prefix + fmt.Sprint(i) }
}

// pairs hands out first and second in turn.
func pairs(first, second func(i int) string) func(i int) string {
	return func(i int) string {
		if i%2 == 0 {
			return first(i / 2)
		}
		return second(i / 2)
	}
}

// travellers are values of every type and encoding, large and small, by the
// commands that make them under the name k.
var travellers = map[string][][]string{
	"empty string":        {{"SET", "k", ""}},
	"integers":            {{"SET", "k", "-128"}},
	"64-bit integer":      {{"SET", "k", fmt.Sprint(math.MinInt64)}},
	"text that repeats":   {{"SET", "k", strings.Repeat("all work and no play ", 1000)}},
	"text that does not":  {manyOf(1, func(int) string { return string(manyBytes(3000)) }, "SET", "k")},
	"sparse HyperLogLog":  {{"PFADD", "k", "a", "b", "c"}},
	"dense HyperLogLog":   {manyOf(5000, prefixed("e"), "PFADD", "k")},
	"packed list":         {{"RPUSH", "k", "a", "", "-5", "4096", "123456789012", strings.Repeat("x", 100)}},
	"list":                {manyOf(5000, prefixed("element "), "RPUSH", "k")},
	"list of large texts": {{"RPUSH", "k", "a", strings.Repeat("x", 20000), "b", string(manyBytes(9000)), "5"}},
	"integers of 16 bits": {manyOf(100, prefixed("-1"), "SADD", "k")},
	"integers of 64 bits": {manyOf(500, prefixed("99999999999"), "SADD", "k")},
	"many integers":       {manyOf(2000, prefixed("7"), "SADD", "k")},
	"packed set":          {{"SADD", "k", "a", "b", "", "5"}},
	"set":                 {manyOf(3000, prefixed("member "), "SADD", "k")},
	"packed zset":         {{"ZADD", "k", "1", "a", "2.25", "b", "-inf", "c", "inf", "d", "-17", "e", "1e100", "f", "1", ""}},
	"zset":                {manyOf(4000, pairs(func(i int) string { return fmt.Sprint(float64(i) / 8) }, prefixed("member ")), "ZADD", "k")},
	"zset of long names":  {{"ZADD", "k", "1", strings.Repeat("m", 200), "2", "b"}},
	"packed hash":         {{"HSET", "k", "f", "v", "", "", "5", "-70000"}},
	"hash":                {manyOf(4000, pairs(prefixed("field "), prefixed("")), "HSET", "k")},
	"hash of long values": {{"HSET", "k", "f", strings.Repeat("v", 5000), "g", "1"}},
	"stream": {{"XADD", "k", "1-1", "f", "v"}, {"XADD", "k", "1-2", "f", "w"}, {"XADD", "k", "2-0", "g", "x", "h", "5"}, {"XADD", "k", "9-9", "f", "y"},
		{"XDEL", "k", "1-2"}, {"XGROUP", "CREATE", "k", "g", "0"}, {"XGROUP", "CREATE", "k", "idle", "2-0"},
		{"XREADGROUP", "GROUP", "g", "alice", "COUNT", "2", "STREAMS", "k", ">"}, {"XREADGROUP", "GROUP", "g", "bob", "STREAMS", "k", ">"},
		{"XACK", "k", "g", "1-1"}, {"XGROUP", "CREATECONSUMER", "k", "idle", "carol"}},
	"long stream":             longStream(),
	"stream that was emptied": {{"XADD", "k", "5-1", "f", "v"}, {"XDEL", "k", "5-1"}},
	"stream with groups only": {{"XGROUP", "CREATE", "k", "g", "$", "MKSTREAM"}},
}

// longStream has some blocks, of which the first is cut and one in the middle has
// entries that were deleted.
func longStream() (commands [][]string) {
	for i := range 1000 {
		commands = append(commands, []string{"XADD", "k", fmt.Sprintf("%d-%d", i/3+1, i), "temperature", fmt.Sprint(i), "place", "here"})
	}
	return append(commands, []string{"XTRIM", "k", "MAXLEN", "850"}, []string{"XDEL", "k", "200-598", "200-599", "201-600"})
}

// manyBytes returns bytes in which nothing repeats for long.
func manyBytes(n int) []byte {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

// TestDumpTravels dumps values on each server and restores them on the other, and
// on the same one.
func TestDumpTravels(t *testing.T) {
	ours, theirs := startServer(t).dial(), startPeer(t).dial()
	for name, commands := range travellers {
		t.Run(name, func(t *testing.T) {
			for _, way := range []struct {
				name     string
				from, to *conn
			}{{"ours to theirs", ours, theirs}, {"theirs to ours", theirs, ours}, {"ours to ours", ours, ours}} {
				way.from.do("FLUSHALL")
				way.to.do("FLUSHALL")
				for _, args := range commands {
					if reply := way.from.do(args...); strings.HasPrefix(reply, "-") {
						t.Fatalf("%s: %s", quoteArgs(args[:2]), reply)
					}
				}
				payload := way.from.value("DUMP", "k").text
				if got := way.to.do("RESTORE", "copy", "0", payload); got != "+OK\r\n" {
					t.Fatalf("%s: RESTORE answers %s", way.name, got)
				}
				typ := way.from.value("TYPE", "k").text
				originals, copies := contentOf(typ, "k"), contentOf(typ, "copy")
				for i, args := range originals {
					want, got := parseReply(way.from.do(args...)), parseReply(way.to.do(copies[i]...))
					if !sameValue(args, got, want) {
						t.Errorf("%s: %s gives\n%.600s\nof\n%.600s", way.name, args[0], got, want)
					}
				}
			}
		})
	}
}
