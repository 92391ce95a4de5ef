package tests

import (
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// eavesdropping compares what two servers publish about keys.
type eavesdropping struct {
	ours, theirs listener
	classes      string // of events, as notify-keyspace-events has them
}

// listener is subscribed to all events of a server.
type listener struct{ *conn }

// endOfEvents is a channel on which a message marks that all before it has come.
const endOfEvents = "end of events"

func newListener(s *server) listener {
	c := s.dial()
	c.do("HELLO", "3")
	c.do("PSUBSCRIBE", "__key*__:*")
	c.do("SUBSCRIBE", endOfEvents)
	return listener{c}
}

// heard returns the events so far. A message to itself, which comes after them, precedes or follows the reply
// to its publication.
func (l listener) heard() (events []string) {
	l.t.Helper()
	l.send(string(encode("PUBLISH", endOfEvents, "")))
	for missing := 2; missing > 0; {
		switch v := parseReply(l.reply()); {
		case v.kind == '>' && v.elems[0].text == "pmessage":
			events = append(events, quoteArgs(v.texts()[2:]))
		default:
			missing--
		}
	}
	return events
}

func (e *eavesdropping) begin() {
	if e != nil {
		e.set(e.classes)
	}
}

func (e *eavesdropping) set(classes string) {
	for _, l := range []listener{e.ours, e.theirs} {
		l.do("CONFIG", "SET", "notify-keyspace-events", classes)
		l.heard()
	}
}

func (e *eavesdropping) end() {
	if e != nil {
		e.set("")
	}
}

// after compares what was published of a command, given the replies to it. That something has expired is left out: a SET with
// a deadline that is over leaves a key on the peer until that is looked at.
func (e *eavesdropping) after(args []string, ourReply, theirReply string) (ours, theirs string, same bool) {
	if e == nil {
		return "", "", true
	}
	a, b := withoutExpiry(e.ours.heard()), withoutExpiry(e.theirs.heard())
	ours, theirs = strings.Join(a, "\n"), strings.Join(b, "\n")
	if ours == theirs || popsAtRandom(args) || (ourReply[0] == '-') != (theirReply[0] == '-') { // they did different things
		return ours, theirs, true
	}
	switch commandName(args, 1) {
	case "XREAD", "XREADGROUP", "SORT", "SORT_RO": // in another order, or twice, the peer looks up what is missing
		slices.Sort(a)
		slices.Sort(b)
		return ours, theirs, slices.Equal(slices.Compact(a), slices.Compact(b))
	}
	return ours, theirs, false
}

func withoutExpiry(events []string) []string {
	return slices.DeleteFunc(events, func(event string) bool {
		return strings.HasPrefix(event, "__keyevent@") && strings.Contains(event, "__:expired ") || strings.HasSuffix(event, " expired")
	})
}

// TestEventsDifferential: the same commands make both servers publish the same events, in the same order.
func TestEventsDifferential(t *testing.T) {
	t.Logf("-seed=%d -commands=%d", *seed, *commandCount)
	for i, typ := range append(slices.Sorted(maps.Keys(typeGrammars)), "string", "mixed") {
		t.Run(typ, func(t *testing.T) {
			d := newEavesdroppingDuel(t)
			d.allowed = transaction{inexact: typ == "geo" || typ == "mixed", sorts: true}
			d.compare(uint64(100+i)<<32, typ, *commandCount/4) // each costs four round trips more
		})
	}
}

// TestEventClassesDifferential: each letter of notify-keyspace-events lets the same events through.
func TestEventClassesDifferential(t *testing.T) {
	d := newEavesdroppingDuel(t)
	d.allowed = transaction{inexact: true, sorts: true}
	payloads := peerPayloads(d.theirs)
	for i, classes := range []string{"Kg", "E$", "Kl", "Es", "Kh", "Ez", "Kt", "Ex", "Ke", "Ed", "Kn", "Em", "KEgm", "KA", "EA", "A", "gn", "KE"} {
		d.events.classes = classes
		steps := randomSteps(uint64(i), "mixed", payloads)
		if diff := d.run(steps); diff != nil {
			t.Errorf("notify-keyspace-events %s:", classes)
			d.report(d.shrink(steps, diff))
			return
		}
	}
}

func newEavesdroppingDuel(t *testing.T) *duel {
	d := &duel{t: t, ours: startServer(t), theirs: startPeer(t), encodings: map[string]bool{}}
	d.events = &eavesdropping{newListener(d.ours), newListener(d.theirs), "AKEnm"}
	return d
}

// events are what is heard of keys of database 0, each as "event key", while fn runs.
func (l listener) events(fn func()) (events []string) {
	l.t.Helper()
	fn()
	for _, event := range l.heard() {
		if event, found := strings.CutPrefix(event, "__keyevent@0__:"); found {
			events = append(events, event)
		}
	}
	return events
}

// wantEvents compares the events of commands, which must be answered without an error.
func (l listener) wantEvents(c *conn, command string, want ...string) {
	l.t.Helper()
	reply := ""
	got := l.events(func() { reply = c.do(strings.Fields(command)...) })
	if reply[0] == '-' || !slices.Equal(got, want) {
		l.t.Errorf("%s: %q\nevents %q\nwant   %q", command, reply, got, want)
	}
}

// TestEventsOfNewerCommands: what the peer cannot tell.
func TestEventsOfNewerCommands(t *testing.T) {
	s := ownServer(t)
	c, l := s.dial(), newListener(s)
	c.ok("CONFIG", "SET", "notify-keyspace-events", "AKEn")
	for _, step := range []struct {
		command string
		want    []string
	}{
		{"SET k v", []string{"new k", "set k"}},
		{"SET k w IFEQ v", []string{"set k"}},
		{"SET k x IFEQ v", nil},
		{"DELIFEQ k v", nil},
		{"DELIFEQ k w", []string{"del k"}},
		{"HSETEX h EX 100 FIELDS 2 a 1 b 2", []string{"new h", "hset h", "hexpire h"}},
		{"HSETEX h KEEPTTL FIELDS 1 a 3", []string{"hset h"}},
		{"HSETEX h FNX FIELDS 1 a 3", nil},
		{"HSET h c 3 d 4 e 5 f 6", []string{"hset h"}},
		{"HEXPIRE h 100 FIELDS 3 c d none", []string{"hexpire h"}},
		{"HEXPIRE h 100 NX FIELDS 1 c", nil},
		{"HEXPIRE h 0 FIELDS 1 c", []string{"hdel h"}},
		{"HPEXPIREAT h 1 NX FIELDS 2 d e", []string{"hdel h"}},
		{"HPERSIST h FIELDS 2 d none", []string{"hpersist h"}},
		{"HPERSIST h FIELDS 2 d none", nil},
		{"HGETEX h EX 100 FIELDS 1 d", []string{"hexpire h"}},
		{"HGETEX h PERSIST FIELDS 1 d", []string{"hpersist h"}},
		{"HGETEX h PERSIST FIELDS 1 d", nil},
		{"HGETEX h FIELDS 1 d", nil},
		{"HGETEX h PXAT 1 FIELDS 1 d", []string{"hdel h"}},
		{"HGETDEL h FIELDS 2 a none", []string{"hdel h"}},
		{"HGETDEL h FIELDS 2 a none", nil},
		{"HSETEX h PXAT 1 FIELDS 1 b 1", []string{"hset h", "hdel h"}},
		{"HGETDEL h FIELDS 1 f", []string{"hdel h", "del h"}},
		{"SETBIT bits 1 1", []string{"new bits", "setbit bits"}},
		{"BITOP ONE bits bits bits", []string{"set bits"}},
		{"BITOP DIFF bits none none", []string{"del bits"}},
		{"XGROUP CREATE x g $ MKSTREAM", []string{"new x", "xgroup-create x"}},
		{"XREADGROUP GROUP g alice STREAMS x >", []string{"xgroup-createconsumer x"}},
		{"XAUTOCLAIM x g bob 0 0", []string{"xgroup-createconsumer x"}},
	} {
		l.wantEvents(c, step.command, step.want...)
	}
}

// TestEventsOfExpiry: a key whose time is over is gone for whoever comes upon it, before anything else is told of it.
func TestEventsOfExpiry(t *testing.T) {
	servers := []*server{startServer(t, "--enable-debug-command", "yes"), startPeer(t, "--enable-debug-command", "yes")}
	for _, command := range []string{
		"GET k", "GET k k", "EXISTS k k", "MGET k j k", "TTL k", "TYPE k", "TOUCH k", "STRLEN k", "DUMP k", "OBJECT ENCODING k",
		"SET k w", "SET k w XX", "SET k w NX", "SET k w GET", "SET k w KEEPTTL", "SETNX k w", "GETSET k w", "GETDEL k", "GETEX k PERSIST",
		"APPEND k w", "INCR k", "SETRANGE k 1 w", "SETBIT k 1 1", "MSET k w k x", "MSETNX k w", "PFADD k w",
		"DEL k k", "UNLINK k", "EXPIRE k 100", "PERSIST k", "RENAME k j", "RENAME other k", "RENAMENX other k", "COPY k j", "COPY other k",
		"COPY other k REPLACE", "MOVE k 1", "SCAN 0 COUNT 1000", "DBSIZE",
		"LPUSH k w", "LPOP k", "RPUSHX k w", "LMOVE list k LEFT LEFT", "SADD k w", "SREM k w", "SMOVE set k m", "SUNIONSTORE k set",
		"SINTER set k", "ZADD k 1 w", "ZUNIONSTORE k 1 zset", "ZRANGESTORE k zset 0 -1", "HSET k f v", "HDEL k f",
		"XADD k * f v", "XGROUP CREATE k g $ MKSTREAM", "SORT list STORE k", "SORT k", "BITOP NOT k other",
		"SWAPDB 0 0",
	} {
		var events [2][]string
		for i, s := range servers {
			c, l := s.dial(), newListener(s)
			for _, setup := range []string{
				"CONFIG SET notify-keyspace-events A", "FLUSHALL", "DEBUG SET-ACTIVE-EXPIRE 0", "RPUSH list 1 2", "SADD set m n", "ZADD zset 1 m", "SET other v",
				"CONFIG SET notify-keyspace-events AEnm", "SET k v PX 1", "DEBUG SLEEP 0.005",
			} {
				c.do(strings.Fields(setup)...)
			}
			events[i] = l.events(func() { c.do(strings.Fields(command)...) })
			c.nc.Close()
			l.nc.Close()
		}
		if !slices.Equal(events[0], events[1]) {
			t.Errorf("%s:\nours   %q\ntheirs %q", command, events[0], events[1])
		}
	}
}

// TestEventsOfTheCycle: what expires unseen is told of, too.
func TestEventsOfTheCycle(t *testing.T) {
	s := startServer(t)
	c, l := s.dial(), newListener(s)
	c.ok("CONFIG", "SET", "notify-keyspace-events", "KA")
	c.ok("SELECT", "3")
	c.ok("SET", "k", "v", "PX", "1")
	c.do("HSETEX", "h", "PX", "1", "FIELDS", "1", "f", "v")
	want := map[string]bool{"k expired": true, "h hexpired": true, "h del": true}
	for len(want) > 0 {
		event := parseReply(l.reply()).texts()
		delete(want, strings.TrimPrefix(event[2], "__keyspace@3__:")+" "+event[3])
	}
}

// TestEventsOfServedWaiters: what those do who waited for a key follows what made it ready.
func TestEventsOfServedWaiters(t *testing.T) {
	servers := []*server{startServer(t), startPeer(t)}
	for _, step := range []struct {
		waits []string // of which each waits
		push  string
	}{
		{[]string{"BLPOP k 0"}, "RPUSH k a"},
		{[]string{"BRPOP none k 0", "BLPOP k 0"}, "RPUSH k a b c"},
		{[]string{"BLMOVE k j LEFT RIGHT 0"}, "LPUSH k a"},
		{[]string{"BLMOVE k k LEFT RIGHT 0"}, "LPUSH k a b"},
		{[]string{"BLMOVE k j LEFT RIGHT 0", "BRPOPLPUSH j i 0", "BLPOP i 0"}, "LPUSH k a"},
		{[]string{"BLMPOP 0 2 none k LEFT COUNT 2"}, "RPUSH k a b c"},
		{[]string{"BZPOPMIN k 0", "BZPOPMAX k 0"}, "ZADD k 1 a 2 b 3 c"},
		{[]string{"BZMPOP 0 1 k MAX COUNT 3"}, "ZADD k 1 a 2 b 3 c"},
		{[]string{"BLPOP k 0"}, "RENAME list k"},
		{[]string{"BLPOP k 0"}, "COPY list k"},
		{[]string{"BLPOP k 0"}, "SORT list STORE k"},
		{[]string{"BZPOPMIN k 0"}, "ZUNIONSTORE k 1 zset"},
		{[]string{"BZPOPMIN k 0"}, "GEOADD k 1 1 a"},
		{[]string{"XREAD BLOCK 0 STREAMS stream $"}, "XADD stream * f v"},
		{[]string{"XREADGROUP GROUP g c BLOCK 0 STREAMS stream >"}, "XADD stream * f v"},
		{[]string{"BLPOP k 0", "BLPOP k 0"}, "MULTI|RPUSH k a|RPUSH k b|DEL list|EXEC"},
	} {
		var events [2][]string
		for i, s := range servers {
			c, l := s.dial(), newListener(s)
			for _, setup := range []string{"CONFIG SET notify-keyspace-events A", "FLUSHALL", "RPUSH list 1 2", "ZADD zset 1 m", "XGROUP CREATE stream g $ MKSTREAM", "XGROUP CREATECONSUMER stream g c"} {
				c.do(strings.Fields(setup)...)
			}
			var waiters []*conn
			for _, wait := range step.waits {
				waiters = append(waiters, s.blocked(c, strings.Fields(wait)...))
			}
			c.ok("CONFIG", "SET", "notify-keyspace-events", "AEn")
			events[i] = l.events(func() {
				for command := range strings.SplitSeq(step.push, "|") {
					c.do(strings.Fields(command)...)
				}
				for _, w := range waiters {
					w.reply()
					w.nc.Close()
				}
			})
		}
		if !slices.Equal(events[0], events[1]) {
			t.Errorf("%s while %q wait:\nours   %q\ntheirs %q", step.push, step.waits, events[0], events[1])
		}
	}
}

// TestOwnEventsFollowTheReply: who is subscribed to events of keys and writes to them reads first what it asked for. As in
// Redis 7.2; before, they came first.
func TestOwnEventsFollowTheReply(t *testing.T) {
	s := startServer(t)
	c := s.dial()
	c.do("HELLO", "3")
	c.ok("CONFIG", "SET", "notify-keyspace-events", "AEm")
	c.do("PSUBSCRIBE", "__keyevent@0__:*")
	event := func(name, key string) string {
		return message("3", "pmessage", "__keyevent@0__:*", "__keyevent@0__:"+name, key)
	}
	const ok, queued = "+OK\r\n", "+QUEUED\r\n"
	for _, step := range []struct{ input, want string }{
		{"SET a 1\r\n", ok + event("set", "a")},
		{"SET a 1\r\nGET a\r\nINCR b\r\nGET none\r\nGET b\r\n", // a row
			ok + event("set", "a") + bulk("1") + ":1\r\n" + event("incrby", "b") + "_\r\n" + event("keymiss", "none") + bulk("1")},
		{"SET a 1 EX 100\r\nDEL a b\r\nPING\r\n", ok + event("set", "a") + event("expire", "a") + ":2\r\n" + event("del", "a") + event("del", "b") + "+PONG\r\n"},
		{"MULTI\r\nLPUSH l x\r\nLPOP l\r\nEXEC\r\nPING\r\n",
			ok + queued + queued + "*2\r\n:1\r\n" + bulk("x") + event("lpush", "l") + event("lpop", "l") + event("del", "l") + "+PONG\r\n"},
		{"CLIENT REPLY OFF\r\nSET a 1\r\nCLIENT REPLY ON\r\n", event("set", "a") + ok},
		{"CLIENT REPLY SKIP\r\nSET a 1\r\nSET a 2\r\n", event("set", "a") + ok + event("set", "a")},
	} {
		c.send(step.input)
		got := make([]byte, len(step.want))
		c.nc.SetReadDeadline(time.Now().Add(patience))
		n, err := io.ReadFull(c.r, got)
		if err != nil || string(got) != step.want {
			t.Fatalf("%q:\ngot  %q (%v)\nwant %q", step.input, got[:n], err, step.want)
		}
	}
	pusher := s.dial()
	c.send("BLPOP l 0\r\n")
	wantBlocked(pusher, 1)
	pusher.want(":1\r\n", "RPUSH", "l", "x")
	for _, want := range []string{event("rpush", "l"), bulks("l", "x"), event("lpop", "l"), event("del", "l")} {
		c.served(want)
	}
	pusher.ok("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
	c.send("XREADGROUP GROUP g me BLOCK 0 STREAMS s >\r\n")
	wantBlocked(pusher, 1)
	pusher.want(":1\r\n", "PEXPIRE", "s", "1")
	for _, want := range []string{event("xgroup-create", "s"), event("xgroup-createconsumer", "s"), event("expire", "s"), event("expired", "s"),
		"-NOGROUP No such key 's' or consumer group 'g' in XREADGROUP with GROUP option\r\n", event("keymiss", "s")} {
		c.served(want)
	}
}

// TestSlowListenerIsCutOff: one that does not read what is told of keys costs no more than its limit.
func TestSlowListenerIsCutOff(t *testing.T) {
	s := startServer(t, "--client-output-buffer-limit", "pubsub 1mb 0 0")
	c := s.dial()
	c.ok("CONFIG", "SET", "notify-keyspace-events", "KEA")
	s.dial().do("PSUBSCRIBE", "__key*__:*")
	key := strings.Repeat("k", 100_000)
	eventually(t, "the listener is gone", func() bool {
		for range 100 {
			c.ok("SET", key, "v")
		}
		return infoInt(c, "stats", "client_output_buffer_limit_disconnections") == 1 && c.do("PUBSUB", "NUMPAT") == ":0\r\n"
	})
}
