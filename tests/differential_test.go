package tests

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// intended names every difference allowed between our reply and the peer's, and
// why. A command that is not here must be answered with the same bytes. The
// first word, or the first two, of a command select a row.
var intended = map[string]struct {
	why  string
	same func(ours, theirs value) bool
}{
	"TTL":             {"time passes between asking one and the other", within(2)},
	"PTTL":            {"time passes between asking one and the other", within(2000)},
	"EXPIRETIME":      {"a relative time was set at slightly different moments", within(2)},
	"PEXPIRETIME":     {"a relative time was set at slightly different moments", within(2000)},
	"OBJECT IDLETIME": {"time passes between asking one and the other", within(2)},
	"OBJECT REFCOUNT": {"a copy of a small integer is not the shared object in Redis 7.0; it is since 8.0, and here", sameShape},
	"MEMORY USAGE":    {"the layout in memory is ours, and Redis measures expired keys that it has not removed yet", sizeOrGone},
	"RANDOMKEY":       {"random", sameShape},
	"DBSIZE":          {"Redis counts keys that are expired and not yet removed; we remove a key set to a time in the past at once", atMost},
	"KEYS":            {"the order of a hash table", sameSet},
	"SCAN":            {"the order of a hash table, and what a cursor means", sameScan},
	"HELLO":           {"name, version and connection number are the server's own", sameShape},
	"TIME":            {"time passes between asking one and the other", sameShape},
	"CLIENT ID":       {"connections are numbered by each server", sameShape},
	"COMMAND COUNT":   {"we have fewer commands, and some of Valkey's", sameShape},
	"COMMAND INFO":    {"compared command by command in TestCommandInfo", sameShape},
	"OBJECT HELP":     {"help texts are our own", sameShape},
	"CLIENT HELP":     {"help texts are our own", sameShape},
	"CONFIG HELP":     {"help texts are our own", sameShape},
}

func within(tolerance int64) func(ours, theirs value) bool {
	return func(ours, theirs value) bool {
		a, ok := ours.int()
		b, ok2 := theirs.int()
		// Below zero stand the answers "no such key" and "no time to live".
		return ok && ok2 && a >= 0 && b >= 0 && a-b <= tolerance && b-a <= tolerance
	}
}

func atMost(ours, theirs value) bool {
	a, ok := ours.int()
	b, ok2 := theirs.int()
	return ok && ok2 && a <= b
}

func sizeOrGone(ours, theirs value) bool {
	return sameShape(ours, theirs) || (ours.null || ours.kind == '_') && theirs.kind == ':'
}

func sameShape(ours, theirs value) bool { return ours.shape().String() == theirs.shape().String() }

func sameSet(ours, theirs value) bool { return ours.sorted().String() == theirs.sorted().String() }

func sameScan(ours, theirs value) bool {
	if len(ours.elems) != 2 || len(theirs.elems) != 2 {
		return false
	}
	if ours.elems[0].text == "0" && theirs.elems[0].text == "0" {
		return sameSet(ours.elems[1], theirs.elems[1])
	}
	return sameShape(ours.elems[0], theirs.elems[0])
}

// sameValue compares two replies to a command.
func sameValue(args []string, ours, theirs value) bool {
	if ours.String() == theirs.String() {
		return true
	}
	row, ok := intended[commandName(args, 2)]
	if !ok {
		row = intended[commandName(args, 1)]
	}
	return row.same != nil && row.same(ours, theirs)
}

func commandName(args []string, words int) string {
	return strings.ToUpper(strings.Join(args[:min(words, len(args))], " "))
}

// transaction follows what one connection has queued, so that the elements of
// the reply to EXEC can be compared each by the rule of its command.
type transaction struct{ queued [][]string }

// same compares two replies to a command.
func (x *transaction) same(args []string, ours, theirs string) bool {
	a, b := parseReply(ours), parseReply(theirs)
	if ours != theirs && !sameValue(args, a, b) && !(strings.EqualFold(args[0], "EXEC") && x.sameExec(a, b)) {
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

func (x *transaction) sameExec(ours, theirs value) bool {
	if ours.kind != theirs.kind || ours.null != theirs.null || len(ours.elems) != len(theirs.elems) || len(ours.elems) != len(x.queued) {
		return false
	}
	for i, args := range x.queued {
		if !sameValue(args, ours.elems[i], theirs.elems[i]) {
			return false
		}
	}
	return true
}

// step is one command on one of a few connections.
type step struct {
	conn int
	args []string
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
}

// lane is one connection to each.
type lane struct {
	ours, theirs *conn
	transaction  transaction
}

func (d *duel) lane() *lane { return &lane{ours: d.ours.dial(), theirs: d.theirs.dial()} }

func (l *lane) close() {
	l.ours.nc.Close()
	l.theirs.nc.Close()
}

// send gives a command to both and reports whether they agree.
func (l *lane) send(args []string) (ours, theirs string, same bool) {
	a, errA := l.ours.try(args...)
	b, errB := l.theirs.try(args...)
	ours, theirs = string(a), string(b)
	if errA != nil || errB != nil {
		return fmt.Sprintf("%s (%v)", ours, errA), fmt.Sprintf("%s (%v)", theirs, errB), false
	}
	return ours, theirs, l.transaction.same(args, ours, theirs)
}

// run sends the steps to both servers, emptied before, and returns the first
// difference, or nil. When all replies agree it compares all that they hold.
func (d *duel) run(steps []step) *difference {
	var lanes [streamConns]*lane
	for i := range lanes {
		lanes[i] = d.lane()
		defer lanes[i].close()
	}
	lanes[0].send([]string{"FLUSHALL"})
	for i, s := range steps {
		if ours, theirs, same := lanes[s.conn].send(s.args); !same {
			return &difference{i, s.args, ours, theirs}
		}
	}
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
		if ours, theirs, same := l.send([]string{"SELECT", fmt.Sprint(db)}); !same {
			return &difference{args: []string{"SELECT"}, ours: ours, theirs: theirs}
		}
		keys := parseReply(l.theirs.do("KEYS", "*")).texts()
		// A whole SCAN removes what is expired, so that DBSIZE must be equal after it.
		l.send([]string{"SCAN", "0", "COUNT", "100000"})
		if ours, theirs := l.ours.do("DBSIZE"), l.theirs.do("DBSIZE"); ours != theirs {
			return &difference{args: []string{"DBSIZE"}, ours: ours, theirs: theirs}
		}
		asked := [][]string{{"KEYS", "*"}}
		for _, k := range keys {
			asked = append(asked, []string{"TYPE", k}, []string{"GET", k}, []string{"OBJECT", "ENCODING", k},
				[]string{"PTTL", k}, []string{"STRLEN", k})
		}
		for _, args := range asked {
			if ours, theirs, same := l.send(args); !same {
				args = append([]string{fmt.Sprintf("(in database %d)", db)}, args...)
				return &difference{args: args, ours: ours, theirs: theirs}
			}
		}
	}
	return nil
}

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
		if s.conn > 0 {
			fmt.Fprintf(&b, "c%d: ", s.conn)
		}
		fmt.Fprintln(&b, quoteArgs(s.args))
	}
	lane := d.lane()
	defer lane.close()
	lane.send([]string{"FLUSHALL"})
	for _, s := range steps {
		_, theirs, _ := lanes[s.conn].send(s.args)
		fmt.Fprintln(&replies, printRaw(theirs))
	}
	d.t.Errorf("they differ at %s\nours:   %s\ntheirs: %s\nas a golden script:\n\n=== found with -seed=%d\n\n%s----\n%s",
		quoteArgs(diff.args), printRaw(diff.ours), printRaw(diff.theirs), *seed, b.String(), replies.String())
}

// printRaw prints a reply, or what came of one.
func printRaw(raw string) string {
	if _, err := readReply(bufio.NewReader(strings.NewReader(raw))); err != nil {
		return fmt.Sprintf("(broken) %q", raw)
	}
	return parseReply(raw).String()
}

// streamLength is how many commands go to the same pair of servers before both
// are emptied: short enough to read, long enough for states to build up.
const streamLength = 250

func TestDifferential(t *testing.T) {
	d := &duel{t: t, ours: startServer(t), theirs: startPeer(t)}
	t.Logf("-seed=%d -commands=%d", *seed, *commandCount)
	failures := 0
	for i := 0; i*streamLength < *commandCount; i++ {
		// Each stream has a seed of its own, so a failure comes back with few.
		r := rand.New(rand.NewPCG(*seed, uint64(i)))
		stream := newCommandStream(r)
		var steps []step
		for c := range streamConns {
			steps = append(steps, step{c, []string{"HELLO", []string{"2", "3"}[r.IntN(2)]}})
		}
		for len(steps) < streamLength {
			steps = append(steps, step{min(r.IntN(streamConns+3), streamConns-1), stream.next()})
		}
		diff := d.run(steps)
		if diff == nil {
			continue
		}
		d.report(d.shrink(steps, diff))
		if failures++; failures == 5 {
			t.Fatal("enough differences for one run")
		}
	}
}

// TestDifferentialPipelined sends whole streams at once, cut at random places,
// so that neither the batch nor the packet a command arrives in may matter.
func TestDifferentialPipelined(t *testing.T) {
	ours, theirs := startServer(t), startPeer(t)
	t.Logf("-seed=%d", *seed)
	for i := range 8 {
		r := rand.New(rand.NewPCG(*seed, uint64(1000+i)))
		stream := newCommandStream(r)
		commands := [][]string{{"FLUSHALL"}, {"HELLO", []string{"2", "3"}[i%2]}}
		for len(commands) < streamLength {
			commands = append(commands, stream.next())
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
		var x transaction
		for k, args := range commands {
			if got := sender.reply(); !x.same(args, got, answers[k]) {
				t.Fatalf("stream %d, command %d, %s:\nours:   %s\ntheirs: %s", i, k, quoteArgs(args), printRaw(got), printRaw(answers[k]))
			}
		}
		sender.nc.Close()
	}
}
