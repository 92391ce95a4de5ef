package tests

import (
	"bufio"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// transaction follows what one connection has queued, so that the elements of
// the reply to EXEC can be compared each by the rule of its command.
type transaction struct {
	queued [][]string
	// inexact allows numbers to differ in their last digits, see closeNumbers.
	inexact bool
	// sorts: SORT is among the commands. It turns small sorted sets into large ones
	// in Redis.
	sorts bool
}

// same compares two replies to a command.
func (x *transaction) same(args []string, ours, theirs string) bool {
	a, b := parseReply(ours), parseReply(theirs)
	if ours != theirs && !x.sameOne(args, a, b) && !(strings.EqualFold(args[0], "EXEC") && x.sameExec(a, b)) {
		return false
	}
	switch {
	case theirs == "+QUEUED\r\n":
		x.queued = append(x.queued, args)
	case b.kind != '-' || strings.EqualFold(args[0], "EXEC"):
		x.queued = nil
	}
	return true
}

func (x *transaction) sameOne(args []string, ours, theirs value) bool {
	return sameValue(args, ours, theirs) || x.inexact && closeNumbers(ours, theirs) ||
		x.sorts && commandName(args, 2) == "OBJECT ENCODING" && ours.text == "listpack" && theirs.text == "skiplist"
}

func (x *transaction) sameExec(ours, theirs value) bool {
	if ours.kind != theirs.kind || ours.null != theirs.null || len(ours.elems) != len(theirs.elems) || len(ours.elems) != len(x.queued) {
		return false
	}
	for i, args := range x.queued {
		if !x.sameOne(args, ours.elems[i], theirs.elems[i]) {
			return false
		}
	}
	return true
}

// step is some commands, mostly one, on one of a few connections. They stay
// together when a stream is shrunk.
type step struct {
	conn     int
	commands [][]string
}

// streamConns is how many connections a stream is spread over, so that WATCH
// sees what others do.
const streamConns = 3

// difference is where two servers first disagreed.
type difference struct {
	at           int // index of the step; the number of steps if it was the dump
	args         []string
	ours, theirs string
}

// duel is our server and the peer, side by side.
type duel struct {
	t            *testing.T
	ours, theirs *server
	allowed      transaction // nothing queued
	// encodings that our server named at the ends of streams.
	encodings map[string]bool
	events    *eavesdropping // nil: events are not compared
}

// lane is one connection to each.
type lane struct {
	ours, theirs *conn
	transaction  transaction
}

func (d *duel) lane() *lane {
	return &lane{d.ours.dial(), d.theirs.dial(), d.allowed}
}

func (l *lane) close() {
	l.ours.nc.Close()
	l.theirs.nc.Close()
}

// send gives a command to both and reports whether they agree.
func (l *lane) send(args []string) (ours, theirs string, same bool) {
	a, errA := l.ours.try(args...)
	if popped := parsed(a, errA); popsAtRandom(args) && popped.kind != '-' {
		return l.pop(args, popped)
	}
	b, errB := l.theirs.try(args...)
	ours, theirs = string(a), string(b)
	if errA != nil || errB != nil {
		return fmt.Sprintf("%s (%v)", ours, errA), fmt.Sprintf("%s (%v)", theirs, errB), false
	}
	return ours, theirs, l.transaction.same(args, ours, theirs)
}

func parsed(raw []byte, err error) value {
	if err != nil {
		return value{kind: '-'}
	}
	return parseReply(string(raw))
}

// popsAtRandom finds a SPOP that does not surely take the whole set.
func popsAtRandom(args []string) bool {
	if !strings.EqualFold(args[0], "SPOP") || len(args) < 2 || len(args) > 3 {
		return false
	}
	return len(args) == 2 || len(args[2]) < len(wholeSet)
}

// wholeSet is a count greater than any set in these tests.
const wholeSet = "10000"

// pop makes the peer lose what our server popped: as many as it should have, and
// only what was there.
func (l *lane) pop(args []string, popped value) (ours, theirs string, same bool) {
	count := 1
	elements := []string{popped.text}
	if len(args) == 3 {
		count, _ = strconv.Atoi(args[2])
		elements = popped.texts()
	} else if popped.null || popped.kind == '_' {
		elements = nil
	}
	card, isInt := l.theirs.value("SCARD", args[1]).int()
	want := min(int64(count), card)
	removed := int64(0)
	if len(elements) > 0 {
		removed, _ = l.theirs.value(append([]string{"SREM", args[1]}, elements...)...).int()
	}
	return popped.String(), fmt.Sprintf(":%d\r\n", removed), isInt && int64(len(elements)) == want && removed == want
}

// thresholds are the parameters that the streams change, with what they are set
// to before each.
var thresholds = []string{"hash-max-listpack-entries", "512", "hash-max-listpack-value", "64", "set-max-intset-entries", "512",
	"zset-max-listpack-entries", "128", "zset-max-listpack-value", "64", "list-max-listpack-size", "-2", "list-compress-depth", "0",
	"hll-sparse-max-bytes", "3000", "stream-node-max-bytes", "4096", "stream-node-max-entries", "100"}

// reset empties both servers.
func (l *lane) reset() *difference {
	for _, args := range [][]string{{"FLUSHALL"}, append([]string{"CONFIG", "SET"}, thresholds...)} {
		if ours, theirs, same := l.send(args); !same {
			return &difference{args: args, ours: ours, theirs: theirs}
		}
	}
	l.ours.do("CONFIG", "SET", "set-max-listpack-entries", "128", "set-max-listpack-value", "64")
	return nil
}

// run sends the steps to both servers, emptied before, and returns the first
// difference, or nil. When all replies agree it compares all that they hold.
func (d *duel) run(steps []step) *difference {
	var lanes [streamConns]*lane
	for i := range lanes {
		lanes[i] = d.lane()
		defer lanes[i].close()
	}
	if diff := lanes[0].reset(); diff != nil {
		return diff
	}
	d.events.begin()
	for i, s := range steps {
		for _, args := range s.commands {
			ours, theirs, same := lanes[s.conn].send(args)
			if !same {
				return &difference{i, args, ours, theirs}
			}
			if ours, theirs, same = d.events.after(args, ours, theirs); !same {
				return &difference{i, append([]string{"(events of)"}, args...), ours, theirs}
			}
		}
	}
	d.events.end()
	if diff := d.dump(); diff != nil {
		diff.at = len(steps)
		return diff
	}
	return nil
}

// dump compares every key of every database.
func (d *duel) dump() *difference {
	l := d.lane()
	defer l.close()
	for db := range 16 {
		diff := l.dump(db, d.encodings)
		if diff != nil {
			diff.args = append([]string{fmt.Sprintf("(in database %d)", db)}, diff.args...)
			return diff
		}
	}
	return nil
}

func (l *lane) dump(db int, encodings map[string]bool) *difference {
	if ours, theirs, same := l.send([]string{"SELECT", fmt.Sprint(db)}); !same {
		return &difference{args: []string{"SELECT"}, ours: ours, theirs: theirs}
	}
	// A whole SCAN removes what is expired, so that DBSIZE must be equal after it.
	l.send([]string{"SCAN", "0", "COUNT", "100000"})
	if ours, theirs := l.ours.do("DBSIZE"), l.theirs.do("DBSIZE"); ours != theirs {
		return &difference{args: []string{"DBSIZE"}, ours: ours, theirs: theirs}
	}
	if ours, theirs, same := l.send([]string{"KEYS", "*"}); !same {
		return &difference{args: []string{"KEYS", "*"}, ours: ours, theirs: theirs}
	}
	for _, k := range l.theirs.value("KEYS", "*").texts() {
		typ := l.theirs.value("TYPE", k).text
		asked := append([][]string{{"TYPE", k}, {"OBJECT", "ENCODING", k}, {"PTTL", k}}, contentOf(typ, k)...)
		for _, args := range asked {
			ours, theirs, same := l.send(args)
			if !same {
				return &difference{args: args, ours: ours, theirs: theirs}
			}
			if args[0] == "OBJECT" {
				encodings[parseReply(ours).text] = true
			}
		}
		if diff := l.exchange(typ, k); diff != nil {
			return diff
		}
	}
	return nil
}

// contentOf asks for everything that a key of a type holds.
func contentOf(typ, key string) [][]string {
	switch typ {
	case "list":
		return [][]string{{"LRANGE", key, "0", "-1"}, {"LLEN", key}}
	case "hash":
		return [][]string{{"HGETALL", key}, {"HLEN", key}}
	case "set":
		return [][]string{{"SMEMBERS", key}, {"SCARD", key}}
	case "zset":
		return [][]string{{"ZRANGE", key, "0", "-1", "WITHSCORES"}, {"ZCARD", key}, {"ZREVRANGE", key, "0", "-1"}}
	case "stream":
		return [][]string{{"XRANGE", key, "-", "+"}, {"XLEN", key}, {"XINFO", "STREAM", key, "FULL", "COUNT", "0"}}
	default:
		return [][]string{{"GET", key}, {"STRLEN", key}}
	}
}

// exchange restores what each server dumps of a key on the other one, under
// another name, where it must be the same as what is there.
func (l *lane) exchange(typ, key string) *difference {
	for _, way := range []struct {
		name     string
		from, to *conn
	}{{"ours to theirs", l.ours, l.theirs}, {"theirs to ours", l.theirs, l.ours}} {
		payload := way.from.value("DUMP", key).text
		copied := "copy of " + key
		if got := way.to.do("RESTORE", copied, "0", payload, "REPLACE"); got != "+OK\r\n" {
			return &difference{args: []string{"RESTORE", key, "0", payload, way.name}, ours: got, theirs: "+OK\r\n"}
		}
		originals, copies := contentOf(typ, key), contentOf(typ, copied)
		for i, args := range originals {
			if want, got := unsigned(way.to.do(args...)), unsigned(way.to.do(copies[i]...)); !l.transaction.sameOne(args, parseReply(got), parseReply(want)) {
				return &difference{args: append(args, "(restored, "+way.name+")"), ours: got, theirs: want}
			}
		}
		way.to.do("DEL", copied)
	}
	return nil
}

// unsigned takes the sign from scores of -0, which Redis loses when a restored
// sorted set is converted.
func unsigned(reply string) string { return strings.ReplaceAll(reply, "$2\r\n-0\r\n", "$1\r\n0\r\n") }

// shrinkFor bounds the search for a smaller stream that still fails.
const shrinkFor = 20 * time.Second

// shrink drops steps that do not matter, halves first, single ones at the end.
func (d *duel) shrink(steps []step, diff *difference) ([]step, *difference) {
	steps = slices.Clone(steps[:min(diff.at+1, len(steps))])
	deadline := time.Now().Add(shrinkFor)
	for size := len(steps) / 2; size > 0; {
		smaller := false
		for i := 0; i+size <= len(steps) && time.Now().Before(deadline); {
			without := slices.Delete(slices.Clone(steps), i, i+size)
			if found := d.run(without); found != nil {
				steps, diff, smaller = without[:min(found.at+1, len(without))], found, true
				continue
			}
			i += size
		}
		if !smaller || size > 1 {
			size /= 2
		}
	}
	return steps, diff
}

// report prints a stream as a golden script with the peer's replies.
func (d *duel) report(steps []step, diff *difference) {
	d.t.Helper()
	var b, replies strings.Builder
	lanes := make([]*lane, streamConns)
	for _, s := range steps {
		if lanes[s.conn] == nil {
			lanes[s.conn] = d.lane()
			defer lanes[s.conn].close()
		}
		for _, args := range s.commands {
			if s.conn > 0 {
				fmt.Fprintf(&b, "c%d: ", s.conn)
			}
			fmt.Fprintln(&b, quoteArgs(args))
		}
	}
	lane := d.lane()
	defer lane.close()
	lane.reset()
	for _, s := range steps {
		for _, args := range s.commands {
			_, theirs, _ := lanes[s.conn].send(args)
			fmt.Fprintln(&replies, printRaw(theirs))
		}
	}
	d.t.Errorf("they differ at %s\nours:   %s\ntheirs: %s\nas a golden script:\n\n=== found with -seed=%d\n\n%s----\n%s",
		quoteArgs(diff.args), printRaw(diff.ours), printRaw(diff.theirs), *seed, b.String(), replies.String())
}

// printRaw prints a reply, or what came of one; or events.
func printRaw(raw string) string {
	if raw == "" || strings.HasPrefix(strings.TrimPrefix(raw, `"`), "__key") {
		return "events\n" + raw
	}
	if _, err := readReply(bufio.NewReader(strings.NewReader(raw))); err != nil {
		return fmt.Sprintf("(broken) %q", raw)
	}
	return parseReply(raw).String()
}

// streamLength is how many commands go to the same pair of servers before both
// are emptied: short enough to read, long enough for states to build up.
const streamLength = 250

// TestDifferential sends -commands commands of each data type, and as many of all
// of them mixed.
func TestDifferential(t *testing.T) {
	t.Logf("-seed=%d -commands=%d", *seed, *commandCount)
	for i, typ := range append(slices.Sorted(maps.Keys(typeGrammars)), "string", "mixed") {
		t.Run(typ, func(t *testing.T) {
			mixed := typ == "mixed"
			d := &duel{t: t, ours: startServer(t), theirs: startPeer(t), encodings: map[string]bool{},
				allowed: transaction{inexact: mixed || typ == "geo", sorts: mixed || typ == "sort"}}
			d.compare(uint64(i)<<32, typ, *commandCount)
			for _, encoding := range encodingsOf[typ] {
				if !d.encodings[encoding] && !t.Failed() && *commandCount >= enoughCommands {
					t.Errorf("no key was a %s at the end of a stream: the conversions were not tested", encoding)
				}
			}
		})
	}
}

// encodingsOf are those that the streams of a type must have met: what is
// converted, is converted at thresholds that change all the time.
var encodingsOf = map[string][]string{
	"list": {"listpack", "quicklist"}, "hash": {"listpack", "hashtable"}, "set": {"intset", "listpack", "hashtable"},
	"zset": {"listpack", "skiplist"}, "stream": {"stream"}, "string": {"int", "embstr", "raw"},
}

// enoughCommands is how many it takes to meet them all, whatever the seed.
const enoughCommands = 3000

// compare sends streams of commands of one type until enough were sent.
func (d *duel) compare(first uint64, typ string, enough int) {
	payloads := peerPayloads(d.theirs)
	failures := 0
	for i := uint64(0); int(i)*streamLength < enough; i++ {
		// Each stream has a seed of its own, so a failure comes back with few.
		steps := randomSteps(first+i, typ, payloads)
		diff := d.run(steps)
		if diff == nil {
			continue
		}
		d.report(d.shrink(steps, diff))
		if failures++; failures == 5 {
			d.t.Fatal("enough differences for one run")
		}
	}
}

func randomSteps(stream uint64, typ string, payloads []string) (steps []step) {
	r := rand.New(rand.NewPCG(*seed, stream))
	commands := newCommandStream(r, grammarOf(typ), payloads)
	for c := range streamConns {
		steps = append(steps, step{c, [][]string{{"HELLO", []string{"2", "3"}[r.IntN(2)]}}})
	}
	for len(steps) < streamLength {
		steps = append(steps, step{min(r.IntN(streamConns+3), streamConns-1), commands.next()})
	}
	return steps
}

// peerPayloads dumps keys of every type and encoding on the peer, and spoils some
// of the payloads in ways that the checksum shows.
func peerPayloads(peer *server) []string {
	c := peer.dial()
	defer c.nc.Close()
	many := func(args ...string) []string { return append(args, numbered("element ", 200)...) }
	long := strings.Repeat("long ", 30)
	for _, args := range [][]string{
		{"SET", "int", "-123456"}, {"SET", "short", "v"}, {"SET", "long", long}, {"SET", "huge", strings.Repeat("x", 20_000)},
		{"RPUSH", "list", "a", "1", "-70000", ""}, many("RPUSH", "list of many"), {"RPUSH", "list of long", long, strings.Repeat("y", 9000), "1"},
		{"SADD", "ints", "1", "-40000", "9223372036854775807"}, {"SADD", "set", "a", "1", ""}, many("SADD", "set of many"),
		{"HSET", "hash", "a", "1", "", long[:60]}, many("HSET", "hash of many"), {"HSET", "hash of long", "f", long},
		{"ZADD", "zset", "1", "a", "-inf", "b", "0.1", ""}, {"ZADD", "zset of long", "5", long},
		{"XADD", "stream", "1-1", "f", "v"}, {"XADD", "stream", "2-0", "f", "w"}, {"XADD", "stream", "2-1", "other", "-5", "f", long},
		{"XGROUP", "CREATE", "stream", "g1", "0"}, {"XREADGROUP", "GROUP", "g1", "c1", "COUNT", "2", "STREAMS", "stream", ">"},
		{"XDEL", "stream", "2-0"}, {"XGROUP", "CREATE", "empty stream", "g2", "$", "MKSTREAM"},
		{"PFADD", "sparse", "a", "b", "c"}, many("PFADD", "dense"), {"PFDEBUG", "TODENSE", "dense"},
	} {
		c.do(args...)
	}
	for i := range 150 {
		c.do("ZADD", "zset of many", fmt.Sprint(float64(i)/4), fmt.Sprint("m", i))
	}
	var payloads []string
	for _, key := range slices.Sorted(slices.Values(c.value("KEYS", "*").texts())) {
		payloads = append(payloads, c.value("DUMP", key).text)
	}
	whole := payloads[0]
	flipped := []byte(whole)
	flipped[1] ^= 0x40
	return append(payloads, string(flipped), whole[:len(whole)-1], whole[:9], "", whole+"x", whole[:len(whole)-10]+"\xff\xff"+whole[len(whole)-8:])
}

// TestDifferentialPipelined sends whole streams at once, cut at random places,
// so that neither the batch nor the packet a command arrives in may matter.
func TestDifferentialPipelined(t *testing.T) {
	ours, theirs := startServer(t), startPeer(t)
	t.Logf("-seed=%d", *seed)
	payloads := peerPayloads(theirs)
	for i := range 16 {
		r := rand.New(rand.NewPCG(*seed, uint64(1000+i)))
		stream := newCommandStream(r, grammarOf([]string{"string", "mixed"}[i%2]), payloads)
		commands := [][]string{{"FLUSHALL"}, {"HELLO", []string{"2", "3"}[i/2%2]}}
		for len(commands) < streamLength {
			commands = append(commands, stream.next()...)
		}
		var raw string
		for _, args := range commands {
			raw += string(encode(args...))
		}
		sender, answers := ours.dial(), theirs.dial().pipeline(commands)
		go func() {
			for rest := raw; rest != ""; {
				n := min(1+r.IntN(400), len(rest))
				sender.nc.Write([]byte(rest[:n]))
				rest = rest[n:]
			}
		}()
		x := transaction{inexact: true, sorts: true}
		for k, args := range commands {
			if got := sender.reply(); !x.same(args, got, answers[k]) {
				t.Fatalf("stream %d, command %d, %s:\nours:   %s\ntheirs: %s", i, k, quoteArgs(args), printRaw(got), printRaw(answers[k]))
			}
		}
		sender.nc.Close()
	}
}

// TestGrammarIsComplete: every command that the peer has on data is in the
// grammar of some type, and every word in small letters is of some kind.
func TestGrammarIsComplete(t *testing.T) {
	used := map[string]bool{}
	small := regexp.MustCompile(`[A-Za-z0-9_-]+`)
	s := newCommandStream(rand.New(rand.NewPCG(1, 1)), nil, nil)
	for _, line := range grammarOf("mixed") {
		words := strings.Fields(line)
		used[strings.ToLower(words[1])] = true
		for _, word := range small.FindAllString(line, -1) {
			_, made := s.made(word)
			parameter := strings.Contains(word, "-")
			if len(word) > 1 && !parameter && word != strings.ToUpper(word) && kinds[word] == nil && !made {
				t.Errorf("%s: what is %q?", line, word)
			}
		}
	}
	c := startPeer(t).dial()
	for _, category := range []string{"string", "list", "hash", "set", "sortedset", "stream", "bitmap", "hyperloglog", "geo", "keyspace"} {
		for _, name := range c.value("ACL", "CAT", category).texts() {
			name, _, _ = strings.Cut(name, "|")
			if !used[name] && notCompared[name] == "" {
				t.Errorf("no line of the grammar has %s", strings.ToUpper(name))
			}
		}
	}
}

// notCompared are commands on data that the grammar leaves out.
var notCompared = map[string]string{
	"pfselftest": "it takes seconds, and says OK",
	"migrate":    "for clusters only", "restore-asking": "for clusters only",
	"flushall": "rareGrammar has it", "flushdb": "rareGrammar has it",
}
