package tests

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

// invalidation is the message about keys that a client of RESP3 is sent, and redirected the one of RESP2.
func invalidation(keys ...string) string { return ">2\r\n" + bulk("invalidate") + bulks(keys...) }

func redirected(keys ...string) string {
	return "*3\r\n" + bulk("message") + bulk("__redis__:invalidate") + bulks(keys...)
}

// tracker opens a connection of RESP3 that tracks keys.
func (s *server) tracker(options ...string) *conn {
	s.t.Helper()
	c := s.dial()
	c.do("HELLO", "3")
	c.ok(append([]string{"CLIENT", "TRACKING", "ON"}, options...)...)
	return c
}

// hears compares what a connection was sent before it is answered again.
func (c *conn) hears(want ...string) {
	c.t.Helper()
	c.send(string(encode("ECHO", "heard")))
	var got []string
	for reply := c.reply(); reply != bulk("heard"); reply = c.reply() {
		got = append(got, reply)
	}
	if !slices.Equal(got, want) {
		c.t.Errorf("heard %q, want %q", got, want)
	}
}

// id is the id of the client of a connection.
func (c *conn) id() string {
	c.t.Helper()
	return strings.Trim(c.do("CLIENT", "ID"), ":\r\n")
}

const trackingGrammar = `
CLIENT TRACKING ON
CLIENT TRACKING ON NOLOOP
CLIENT TRACKING ON OPTIN
CLIENT TRACKING ON OPTOUT
CLIENT TRACKING ON OPTIN NOLOOP
CLIENT TRACKING ON OPTIN OPTOUT
CLIENT TRACKING ON BCAST
CLIENT TRACKING ON BCAST PREFIX P
CLIENT TRACKING ON BCAST NOLOOP PREFIX P PREFIX P
CLIENT TRACKING ON BCAST OPTIN
CLIENT TRACKING ON PREFIX P
CLIENT TRACKING ON REDIRECT I
CLIENT TRACKING ON REDIRECT I NOLOOP
CLIENT TRACKING ON REDIRECT I BCAST
CLIENT TRACKING ON REDIRECT I REDIRECT I
CLIENT TRACKING ON REDIRECT 0
CLIENT TRACKING ON REDIRECT 123456789
CLIENT TRACKING ON REDIRECT x
CLIENT TRACKING ON REDIRECT
CLIENT TRACKING ON PREFIX
CLIENT TRACKING ON what
CLIENT TRACKING maybe
CLIENT TRACKING OFF
CLIENT TRACKING OFF
CLIENT TRACKING OFF BCAST OPTIN
CLIENT CACHING YES
CLIENT CACHING YES
CLIENT CACHING NO
CLIENT CACHING maybe
CLIENT CACHING
CLIENT TRACKINGINFO
CLIENT TRACKINGINFO
CLIENT TRACKINGINFO x
CLIENT GETREDIR
HELLO 2
HELLO 3
HELLO 3
RESET
SUBSCRIBE ch
UNSUBSCRIBE ch
MULTI
MULTI
EXEC
EXEC
DISCARD
SELECT 0
SELECT 1
FLUSHALL
FLUSHDB
GET K
GET K
GET K
MGET K K K
EXISTS K K
TTL K
TYPE K
STRLEN K
LRANGE K 0 -1
OBJECT REFCOUNT K
GETRANGE K 0 1
GETEX K PERSIST
GETDEL K
SET K v
SET K v
SET K v
SET K v XX
MSET K a K b
DEL K
DEL K K
UNLINK K
APPEND K x
INCR K
LPUSH K a
LPOP K
EXPIRE K 100
EXPIRE K -1
PERSIST K
RENAME K K
COPY K K
MOVE K 1
nosuchcommand`

// The null of an invalidation of everything is that of the version which the client speaks that is told; Redis takes that of
// the client that tracks.
var (
	everything  = regexp.MustCompile(`(invalidate\r\n)(?:_|\$-1)\r\n`)
	aboutKeys   = regexp.MustCompile(`^(?:>2\r\n\$\d+\r\n(?:invalidate|tracking-redir-broken)|\*3\r\n\$7\r\nmessage\r\n\$20\r\n__redis__:invalidate)\r\n`)
	redirection = regexp.MustCompile(`(redirect\r\n|broken\r\n):(\d+)\r\n`)
)

// tracked is one of the connections of a differential test.
type tracked struct {
	*conn
	number, first int  // its id, and that of the first connection of the test
	multi         bool // inside MULTI
	early         []string
}

// take sends a command and returns its reply. Of keys that others track, and that are redirected to the client which changes
// them, Redis tells before the reply, we after it.
func (c *tracked) take(args []string) string {
	c.t.Helper()
	reply := c.do(args...)
	for aboutKeys.MatchString(reply) {
		c.early = append(c.early, reply)
		reply = c.reply()
	}
	switch name := strings.ToUpper(args[0]); {
	case name == "MULTI" && reply == "+OK\r\n":
		c.multi = true
	case name == "EXEC" || name == "DISCARD" || name == "RESET":
		c.multi = false
	}
	if len(args) > 1 && args[1] == "GETREDIR" && reply[0] == ':' {
		reply = "redirect\r\n" + reply
	}
	return c.plain(reply)
}

// heard is all that comes before another command is answered, one that leaves CLIENT CACHING alone.
func (c *tracked) heard() string {
	c.t.Helper()
	mark := []string{"CLIENT", "NO-EVICT", "mark"}
	if c.multi {
		mark = []string{"WATCH", "mark"}
	}
	c.send(string(encode(mark...)))
	all := c.early
	for reply := c.reply(); reply[0] != '-'; reply = c.reply() {
		all = append(all, reply)
	}
	if c.early = nil; len(all) > 1 {
		slices.Sort(all)
	}
	return c.plain(strings.Join(all, ""))
}

// plain replaces what differs between servers.
func (c *tracked) plain(text string) string {
	text = handshakes.ReplaceAllString(everything.ReplaceAllString(text, "${1}null"), "")
	return redirection.ReplaceAllStringFunc(text, func(found string) string {
		m := redirection.FindStringSubmatch(found)
		if id, _ := strconv.Atoi(m[2]); id > 0 {
			return m[1] + "#" + strconv.Itoa(id-c.first)
		}
		return found
	})
}

// TestTrackingDifferential sends the same random commands to us and to redis-server over a few connections, and compares all
// bytes that each connection is sent.
func TestTrackingDifferential(t *testing.T) {
	const conns, rounds, steps = 4, 40, 120
	servers := [2]*server{startServer(t), startPeer(t)}
	grammar := grammarLines(trackingGrammar)
	for round := range rounds {
		r := rand.New(rand.NewPCG(*seed, 7000+uint64(round)))
		var all [2][conns]*tracked
		open := func(side, i int) {
			c := &tracked{conn: servers[side].dial()}
			c.number, _ = strconv.Atoi(c.id())
			if c.first = c.number; all[side][0] != nil {
				c.first = all[side][0].first
			}
			all[side][i] = c
		}
		for side := range servers {
			for i := range conns {
				open(side, i)
			}
			all[side][0].do("FLUSHALL")
		}
		var history []string
		failed := func(i int, ours, theirs string) {
			t.Helper()
			t.Fatalf("seed %d, round %d, connection %d:\n got %q\nwant %q\nafter\n%s", *seed, round, i, ours, theirs, strings.Join(history, "\n"))
		}
		for range steps {
			i := r.IntN(conns)
			if i == conns-1 && r.IntN(25) == 0 {
				history = append(history, fmt.Sprint(i, " closes and is opened again"))
				for side := range servers {
					was := fmt.Sprintf("id=%d ", all[side][i].number)
					all[side][i].nc.Close()
					open(side, i)
					eventually(t, "the connection is gone", func() bool { return !strings.Contains(all[side][i].do("CLIENT", "LIST"), was) })
				}
				continue
			}
			line := strings.Fields(grammar[r.IntN(len(grammar))])
			if line[0] == "HELLO" && all[0][i].multi {
				continue // Redis decides at the end of a transaction whether its client understands what it has caused
			}
			target := r.IntN(conns)
			for k, word := range line {
				switch word {
				case "K":
					line[k] = []string{"a", "aa", "ab", "b"}[r.IntN(4)]
				case "P":
					line[k] = []string{"a", "aa", "b", "ab"}[r.IntN(4)]
				}
			}
			history = append(history, fmt.Sprintf("%d: %s (I: %d)", i, quoteArgs(line), target))
			var replies [2]string
			for side := range servers {
				args := slices.Clone(line)
				for k, word := range args {
					if word == "I" {
						args[k] = strconv.Itoa(all[side][target].number)
					}
				}
				replies[side] = all[side][i].take(args)
			}
			if replies[0] != replies[1] {
				failed(i, replies[0], replies[1])
			}
			for j := range conns {
				if ours, theirs := all[0][j].heard(), all[1][j].heard(); ours != theirs {
					failed(j, ours, theirs)
				}
			}
		}
		for side := range servers {
			for i := range conns {
				all[side][i].nc.Close()
			}
			w := servers[side].dial()
			eventually(t, "all are gone", func() bool { return strings.Count(w.do("CLIENT", "LIST"), "id=") == 1 })
			w.nc.Close()
		}
	}
}

// TestInvalidationsFollowReplies: in a pipeline each message stands after the reply to the command that caused it, and those by
// prefix after the replies of all.
func TestInvalidationsFollowReplies(t *testing.T) {
	s := startServer(t)
	c := s.tracker()
	pipeline := func(lines ...string) string {
		var raw []byte
		for _, line := range lines {
			raw = append(raw, encode(strings.Fields(line)...)...)
		}
		return string(raw)
	}
	c.send(pipeline("GET k", "SET k v", "GET k", "GET k", "DEL k", "PING"))
	for _, want := range []string{"_\r\n", "+OK\r\n", invalidation("k"), bulk("v"), bulk("v"), ":1\r\n", invalidation("k"), "+PONG\r\n"} {
		c.served(want)
	}
	c.send(pipeline("GET k", "MULTI", "SET k v", "GET k", "SET k w", "EXEC", "PING"))
	for _, want := range []string{"_\r\n", "+OK\r\n", "+QUEUED\r\n", "+QUEUED\r\n", "+QUEUED\r\n", "*3\r\n+OK\r\n" + bulk("v") + "+OK\r\n",
		invalidation("k"), invalidation("k"), "+PONG\r\n"} {
		c.served(want)
	}
	b := s.tracker("BCAST")
	b.send(pipeline("SET z 1", "SET a 1", "SET z 2", "GET a"))
	for _, want := range []string{"+OK\r\n", "+OK\r\n", "+OK\r\n", bulk("1"), invalidation("a", "z")} {
		b.served(want)
	}
}

// TestCachesAreNotStale: while others write, a client that drops what it is told to drop never keeps an old value.
func TestCachesAreNotStale(t *testing.T) {
	const keys, writes, readers, writers = 8, 400, 3, 2
	s := startServer(t)
	var writing sync.WaitGroup
	written := make(chan struct{})
	for w := range writers {
		c := s.dial()
		writing.Go(func() {
			for i := range writes {
				if _, err := c.try("SET", fmt.Sprint("k", (w+i*7)%keys), fmt.Sprint(w, ":", i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	go func() {
		writing.Wait()
		close(written)
	}()
	var reading sync.WaitGroup
	for range readers {
		c := s.tracker()
		reading.Go(func() { c.readThrough(keys, written) })
	}
	reading.Wait()
}

// readThrough reads keys into a cache until all is written, and then compares that with the server.
func (c *conn) readThrough(keys int, written chan struct{}) {
	cache := map[string]string{}
	ask := func(args ...string) string {
		if _, err := c.nc.Write(encode(args...)); err != nil {
			c.t.Error(err)
			return ""
		}
		for {
			reply, err := readReply(c.r)
			if err != nil {
				c.t.Error(err)
				return ""
			}
			if reply[0] != '>' {
				return string(reply)
			}
			delete(cache, parseReply(string(reply)).elems[1].texts()[0])
		}
	}
	c.nc.SetDeadline(time.Now().Add(patience))
	for i, last := 0, false; !last; i++ {
		select {
		case <-written:
			last = true // what is told from now on is known after the next round trip
			ask("PING")
		default:
		}
		key := fmt.Sprint("k", i%keys)
		if _, cached := cache[key]; !cached {
			value := ask("GET", key)
			cache[key] = value
		}
	}
	for key, cached := range cache {
		if value := ask("GET", key); value != cached {
			c.t.Errorf("%s is cached as %q, and is %q", key, cached, value)
		}
	}
}

// TestTrackingTableLimit: what is not remembered any more is told to those who may have it.
func TestTrackingTableLimit(t *testing.T) {
	const limit, keys = 10, 100
	s := startServer(t)
	w := s.dial()
	w.ok("CONFIG", "SET", "tracking-table-max-keys", strconv.Itoa(limit))
	defer w.ok("CONFIG", "SET", "tracking-table-max-keys", "1000000")
	c := s.tracker("NOLOOP")
	told := map[string]bool{}
	for i := range keys {
		c.send(string(encode("GET", fmt.Sprint("k", i))))
		for reply := c.reply(); reply != "_\r\n"; reply = c.reply() {
			told[parseReply(reply).elems[1].texts()[0]] = true
		}
	}
	c.send(string(encode("ECHO", "end")))
	for reply := c.reply(); reply != bulk("end"); reply = c.reply() {
		told[parseReply(reply).elems[1].texts()[0]] = true
	}
	if got := intField(w, "stats", "tracking_total_keys"); got != limit || len(told) != keys-limit {
		t.Errorf("%d keys are remembered, %d were told of, want %d and %d", got, len(told), limit, keys-limit)
	}
	w.ok("CONFIG", "SET", "tracking-table-max-keys", "1")
	eventually(t, "the table becomes smaller without a read", func() bool { return intField(w, "stats", "tracking_total_keys") == 1 })
}

func intField(c *conn, section, name string) int {
	c.t.Helper()
	text, _ := infoField(c, section, name)
	n, err := strconv.Atoi(text)
	if err != nil {
		c.t.Fatalf("%s is %q", name, text)
	}
	return n
}

// TestTrackedKeysExpire: who has a key is told when its time is over, by whoever finds that out.
func TestTrackedKeysExpire(t *testing.T) {
	s := startServer(t)
	c, b, w := s.tracker(), s.tracker("BCAST", "PREFIX", "ex"), s.dial()
	w.ok("SET", "expiring", "v", "PX", "300")
	b.served(invalidation("expiring"))
	c.do("GET", "expiring")
	c.served(invalidation("expiring"))
	b.served(invalidation("expiring"))
}

// TestScriptsAreTracked: what a script reads its caller has, and what it writes others are told of.
func TestScriptsAreTracked(t *testing.T) {
	s := startServer(t)
	c, w := s.tracker(), s.dial()
	c.do("EVAL", "return redis.call('GET', KEYS[1])", "2", "read", "other")
	w.ok("SET", "other", "v")
	w.do("EVAL", "return redis.call('SET', KEYS[1], 'v')", "1", "read")
	c.hears(invalidation("read"))
	c.send(string(encode("EVAL", "redis.call('GET', 'k') redis.call('SET', 'k', 'v') return 1", "1", "k")))
	c.served(":1\r\n")
	c.served(invalidation("k"))
}

// TestRedirection: a client of RESP2 is told by another connection, until that is gone.
func TestRedirection(t *testing.T) {
	s := startServer(t)
	to, w := s.subscriber("2", "__redis__:invalidate"), s.dial()
	id := regexp.MustCompile(`id=(\d+) .* sub=1 `).FindStringSubmatch(w.do("CLIENT", "LIST"))[1]
	c := s.dial()
	c.ok("CLIENT", "TRACKING", "ON", "REDIRECT", id)
	c.do("GET", "k")
	w.ok("SET", "k", "v")
	to.served(redirected("k"))
	to.nc.Close()
	eventually(t, "the connection is gone", func() bool { return !strings.Contains(w.do("CLIENT", "LIST"), "id="+id+" ") })
	c.do("HELLO", "3")
	c.do("GET", "k")
	w.ok("SET", "k", "v")
	c.hears(">2\r\n" + bulk("tracking-redir-broken") + ":" + id + "\r\n")
	if line := c.do("CLIENT", "INFO"); !strings.Contains(line, " flags=tR ") || !strings.Contains(line, " redir="+id+" ") {
		t.Errorf("CLIENT INFO is %q", line)
	}
}

// TestTrackingEnds: nothing is kept for clients that are gone.
func TestTrackingEnds(t *testing.T) {
	s := startServer(t)
	w := s.dial()
	a, b := s.tracker(), s.tracker("BCAST", "PREFIX", "p", "PREFIX", "q")
	a.do("MGET", "x", "y", "z")
	for name, want := range map[string]int{"tracking_total_keys": 3, "tracking_total_items": 3, "tracking_total_prefixes": 2} {
		if got := intField(w, "stats", name); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
	if got := intField(w, "clients", "tracking_clients"); got != 2 {
		t.Errorf("%d clients track, want 2", got)
	}
	b.nc.Close()
	a.do("RESET")
	eventually(t, "all is forgotten", func() bool {
		return intField(w, "clients", "tracking_clients") == 0 && intField(w, "stats", "tracking_total_keys") == 0 &&
			intField(w, "stats", "tracking_total_items") == 0 && intField(w, "stats", "tracking_total_prefixes") == 0
	})
	w.ok("SET", "x", "v")
	a.hears()
}

// TestRueidisDropsCopies uses client-side caching as rueidis does by default.
func TestRueidisDropsCopies(t *testing.T) {
	s := startServer(t)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.addr}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, w := context.Background(), s.dial()
	w.ok("SET", "k", "1")
	get := func() (string, bool) {
		reply := client.DoCache(ctx, client.B().Get().Key("k").Cache(), time.Hour)
		text, err := reply.ToString()
		if err != nil {
			t.Fatal(err)
		}
		return text, reply.IsCacheHit()
	}
	if text, hit := get(); text != "1" || hit {
		t.Errorf("first: %q, cached %v", text, hit)
	}
	if text, hit := get(); text != "1" || !hit {
		t.Errorf("again: %q, cached %v", text, hit)
	}
	w.ok("SET", "k", "2")
	eventually(t, "the copy is dropped", func() bool { text, _ := get(); return text == "2" })
	w.do("FLUSHALL")
	eventually(t, "all copies are dropped", func() bool {
		return rueidis.IsRedisNil(client.DoCache(ctx, client.B().Get().Key("k").Cache(), time.Hour).Error())
	})
}
