package tests

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// subscriber opens a connection that is subscribed to channels.
func (s *server) subscriber(protocol string, channels ...string) *conn {
	s.t.Helper()
	c := s.dial()
	c.do("HELLO", protocol)
	c.send(string(encode(append([]string{"SUBSCRIBE"}, channels...)...)))
	for range channels {
		c.reply()
	}
	return c
}

// message is what a subscriber in a version of the protocol is sent.
func message(protocol string, parts ...string) string {
	raw := encode(parts...)
	if protocol == "3" {
		raw[0] = '>'
	}
	return string(raw)
}

// TestMessages: every subscriber gets every message, once for each subscription that matches.
func TestMessages(t *testing.T) {
	s := startServer(t)
	publisher := s.dial()
	for _, protocol := range []string{"2", "3"} {
		t.Run("RESP"+protocol, func(t *testing.T) {
			plain, both := s.subscriber(protocol, "ch", "other"), s.subscriber(protocol, "ch")
			both.do("PSUBSCRIBE", "c?")
			both.do("SSUBSCRIBE", "ch")
			publisher.want(":3\r\n", "PUBLISH", "ch", "a\r\n\x00b")
			publisher.want(":1\r\n", "PUBLISH", "cx", "")
			publisher.want(":1\r\n", "SPUBLISH", "ch", "s")
			publisher.want(":1\r\n", "PUBLISH", "other", "o")
			plain.served(message(protocol, "message", "ch", "a\r\n\x00b"))
			plain.served(message(protocol, "message", "other", "o"))
			both.served(message(protocol, "message", "ch", "a\r\n\x00b"))
			both.served(message(protocol, "pmessage", "c?", "ch", "a\r\n\x00b"))
			both.served(message(protocol, "pmessage", "c?", "cx", ""))
			both.served(message(protocol, "smessage", "ch", "s"))
			plain.nc.Close()
			both.nc.Close()
			eventually(t, "the subscriptions of closed connections end", func() bool {
				return publisher.do("PUBLISH", "ch", "x") == ":0\r\n" && publisher.do("PUBSUB", "NUMPAT") == ":0\r\n"
			})
		})
	}
}

// TestSilentSubscriber: CLIENT REPLY silences neither messages nor confirmations, which are pushed like messages.
func TestSilentSubscriber(t *testing.T) {
	for name, s := range map[string]*server{"ours": startServer(t), "the peer": startPeer(t)} {
		t.Run(name, func(t *testing.T) {
			publisher, c := s.dial(), s.dial()
			subscribed := func(verb, channel string, n int) {
				t.Helper()
				c.served(fmt.Sprintf("*3\r\n%s%s:%d\r\n", bulk(verb), bulk(channel), n))
			}
			c.send("CLIENT REPLY OFF\r\nPING\r\nSUBSCRIBE a b\r\n")
			subscribed("subscribe", "a", 1)
			subscribed("subscribe", "b", 2)
			publisher.want(":1\r\n", "PUBLISH", "b", "x")
			c.served(message("2", "message", "b", "x"))
			c.send("PING\r\nUNSUBSCRIBE a\r\nUNSUBSCRIBE b\r\nMULTI\r\nSUBSCRIBE c\r\nPING\r\nEXEC\r\nUNSUBSCRIBE c\r\nCLIENT REPLY ON\r\n")
			subscribed("unsubscribe", "a", 1)
			subscribed("unsubscribe", "b", 0)
			subscribed("subscribe", "c", 1)
			subscribed("unsubscribe", "c", 0)
			c.served("+OK\r\n")
			c.send("CLIENT REPLY SKIP\r\nSUBSCRIBE a\r\nPING\r\n")
			subscribed("subscribe", "a", 1)
			c.served("*2\r\n$4\r\npong\r\n$0\r\n\r\n")
		})
	}
}

// TestMessagesPrecedeWhatIsAnsweredLater: a command sent after a PUBLISH was answered is answered after its message.
func TestMessagesPrecedeWhatIsAnsweredLater(t *testing.T) {
	s := startServer(t)
	publisher := s.dial()
	for _, protocol := range []string{"2", "3"} {
		c := s.subscriber(protocol, "ch")
		for i := range scaled(500) {
			text := strconv.Itoa(i)
			publisher.want(":1\r\n", "PUBLISH", "ch", text)
			c.send("PING\r\n")
			c.served(message(protocol, "message", "ch", text))
			if got := c.reply(); !strings.Contains(strings.ToUpper(got), "PONG") {
				t.Fatalf("PING: %q", got)
			}
		}
		c.nc.Close()
		eventually(t, "it is gone", func() bool { return publisher.do("PUBSUB", "CHANNELS") == "*0\r\n" })
	}
}

// TestNoMessageAfterUnsubscribing: a RESP2 client that has left subscribe mode takes whatever comes for replies, so nothing
// may follow the end of its last subscription, however busy the channel is.
func TestNoMessageAfterUnsubscribing(t *testing.T) {
	const publishers, subscribers = 3, 4
	s := startServer(t)
	s.dial().ok("SET", "k", "v")
	conns := make([]*conn, publishers+subscribers)
	for i := range conns {
		conns[i] = s.dial()
	}
	var done atomic.Int64
	together(t, len(conns), func(worker int) error {
		c := conns[worker]
		if worker < publishers {
			for done.Load() < subscribers {
				if _, err := c.try("PUBLISH", "ch", "text"); err != nil {
					return err
				}
			}
			return nil
		}
		defer done.Add(1)
		for range scaled(1000) {
			if reply, err := c.try("SUBSCRIBE", "ch"); err != nil || string(reply) != "*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n" {
				return fmt.Errorf("SUBSCRIBE: %q, %v", reply, err)
			}
			reply, err := c.try("UNSUBSCRIBE", "ch")
			for ; err == nil && string(reply) == message("2", "message", "ch", "text"); reply, err = readReply(c.r) {
			}
			if err != nil || string(reply) != "*3\r\n$11\r\nunsubscribe\r\n$2\r\nch\r\n:0\r\n" {
				return fmt.Errorf("UNSUBSCRIBE: %q, %v", reply, err)
			}
			if reply, err := c.try("GET", "k"); err != nil || string(reply) != bulk("v") {
				return fmt.Errorf("GET: %q, %v", reply, err)
			}
		}
		return nil
	})
}

// TestMessagesInOrder: all subscribers get all messages in one order, in which those of each publisher are in theirs.
func TestMessagesInOrder(t *testing.T) {
	const publishers, subscribers = 4, 6
	s := startServer(t)
	each := scaled(2000)
	conns := make([]*conn, publishers+subscribers)
	for i := range conns {
		if i < publishers {
			conns[i] = s.dial()
		} else {
			conns[i] = s.subscriber([]string{"2", "3"}[i%2], "ch")
		}
	}
	got := make([][]string, subscribers)
	together(t, len(conns), func(worker int) error {
		c := conns[worker]
		if worker < publishers {
			for at := 0; at < each; {
				var batch bytes.Buffer
				for range 20 {
					batch.Write(encode("PUBLISH", "ch", fmt.Sprint(worker, " ", at)))
					at++
				}
				if _, err := c.nc.Write(batch.Bytes()); err != nil {
					return err
				}
				for range 20 {
					if reply, err := readReply(c.r); err != nil || string(reply) != fmt.Sprintf(":%d\r\n", subscribers) {
						return fmt.Errorf("PUBLISH: %q, %v", reply, err)
					}
				}
			}
			return nil
		}
		next := make([]int, publishers)
		for range publishers * each {
			reply, err := readReply(c.r)
			if err != nil {
				return err
			}
			text := parseReply(string(reply)).elems[2].text
			var from, at int
			if _, err := fmt.Sscan(text, &from, &at); err != nil || next[from] != at {
				return fmt.Errorf("%q where %d of it was due", text, next[from])
			}
			next[from]++
			got[worker-publishers] = append(got[worker-publishers], text)
		}
		return nil
	})
	for i := range got {
		if !slices.Equal(got[i], got[0]) {
			t.Errorf("subscriber %d got the messages in another order than the first", i)
		}
	}
}

// TestSlowSubscriberIsCutOff: one that does not read holds up neither the publisher nor anybody else, is held at most the
// limit, and is cut off by it.
func TestSlowSubscriberIsCutOff(t *testing.T) {
	s := ownServer(t)
	watcher, publisher := s.dial(), s.dial()
	slow := s.subscriber("2", "ch")
	before := s.residentBytes()
	text := strings.Repeat("x", 1<<20)
	for i := range 64 {
		publisher.do("PUBLISH", "ch", text)
		if i%16 == 0 {
			other := s.subscriber("3", fmt.Sprint("other", i))
			publisher.want(":1\r\n", "PUBLISH", fmt.Sprint("other", i), "x")
			other.served(message("3", "message", fmt.Sprint("other", i), "x"))
		}
	}
	eventually(t, "the slow subscriber is gone", func() bool { return watcher.do("PUBLISH", "ch", "x") == ":0\r\n" })
	if n := infoInt(watcher, "stats", "client_output_buffer_limit_disconnections"); n != 1 {
		t.Errorf("%d clients were cut off", n)
	}
	// The limit is 32 MiB; buffers double, and garbage takes its time.
	if grown := s.residentBytes() - before; !raceEnabled && grown > 200<<20 {
		t.Errorf("the server grew by %d MiB", grown>>20)
	}
	if !strings.Contains(s.log.String(), "output buffer limits") {
		t.Error("the log does not tell")
	}
	if got, err := slow.readAll(); err != nil || len(got) > 40<<20 {
		t.Errorf("the slow subscriber was sent %d MiB, then %v", len(got)>>20, err)
	}
}

// TestSoftLimitOfSubscribers: one that has had too much waiting for too long is cut off, others with as little to read are not.
func TestSoftLimitOfSubscribers(t *testing.T) {
	s := ownServer(t, "--client-output-buffer-limit", "pubsub 0 100kb 1")
	publisher := s.dial()
	s.subscriber("2", "big")
	fast := s.subscriber("2", "small")
	for range 16 {
		publisher.do("PUBLISH", "big", strings.Repeat("x", 1<<20))
	}
	eventually(t, "the slow subscriber is gone", func() bool { return publisher.do("PUBLISH", "big", "x") == ":0\r\n" })
	publisher.want(":1\r\n", "PUBLISH", "small", "x")
	fast.served(message("2", "message", "small", "x"))
}

// TestIdleSubscribersStay: the timeout of idle clients is not for those who wait for messages.
func TestIdleSubscribersStay(t *testing.T) {
	s := ownServer(t, "--timeout", "1")
	idle, sub := s.dial(), s.subscriber("2", "ch")
	idle.do("PING")
	idle.wantClosed("")
	s.dial().want(":1\r\n", "PUBLISH", "ch", "x")
	sub.served(message("2", "message", "ch", "x"))
}

// TestBlockedSubscriber: a RESP3 client gets messages while it waits for a key.
func TestBlockedSubscriber(t *testing.T) {
	s := ownServer(t)
	w := s.dial()
	c := s.subscriber("3", "ch")
	c.send(string(encode("BLPOP", "l", "0")))
	wantBlocked(w, 1)
	w.want(":1\r\n", "PUBLISH", "ch", "x")
	c.served(message("3", "message", "ch", "x"))
	w.want(":1\r\n", "RPUSH", "l", "e")
	w.want(":1\r\n", "PUBLISH", "ch", "y")
	c.served(bulks("l", "e"))
	c.served(message("3", "message", "ch", "y"))
}

// TestSubscribersAreListed: by CLIENT LIST and INFO, as long as they are there.
func TestSubscribersAreListed(t *testing.T) {
	s := ownServer(t)
	w := s.dial()
	c := s.subscriber("3", "a", "b")
	c.do("PSUBSCRIBE", "p*")
	c.do("SSUBSCRIBE", "s")
	if line := c.value("CLIENT", "INFO").text; !strings.Contains(line, " flags=P ") || !strings.Contains(line, " sub=2 psub=1 ssub=1 ") {
		t.Errorf("CLIENT INFO: %s", line)
	}
	counts := func() [4]int64 {
		info := w.value("INFO").text
		return [4]int64{infoNumber(t, info, "pubsub_channels"), infoNumber(t, info, "pubsub_patterns"),
			infoNumber(t, info, "pubsubshard_channels"), infoNumber(t, info, "pubsub_clients")}
	}
	if got := counts(); got != [4]int64{2, 1, 1, 1} {
		t.Errorf("INFO: %v", got)
	}
	for kind, want := range map[string]int{"pubsub": 1, "normal": 1, "replica": 0} {
		if got := strings.Count(w.value("CLIENT", "LIST", "TYPE", kind).text, "\n"); got != want {
			t.Errorf("%d clients of type %s", got, kind)
		}
	}
	w.want(":1\r\n", "CLIENT", "KILL", "TYPE", "pubsub")
	c.wantClosed("")
	if got := counts(); got != [4]int64{} {
		t.Errorf("INFO after the end: %v", got)
	}
}

// TestManySubscribers: a thousand subscribers of one channel, half of whom leave without a word.
func TestManySubscribers(t *testing.T) {
	n := scaled(1000)
	s := startServer(t)
	publisher := s.dial()
	subs := make([]*conn, n)
	for i := range subs {
		subs[i] = s.subscriber([]string{"2", "3"}[i%2], "ch")
	}
	for round := range 3 {
		publisher.want(fmt.Sprintf(":%d\r\n", n), "PUBLISH", "ch", strconv.Itoa(round))
		for i, c := range subs {
			c.served(message([]string{"2", "3"}[i%2], "message", "ch", strconv.Itoa(round)))
		}
	}
	for _, c := range subs[:n/2] {
		c.nc.Close()
	}
	want := fmt.Sprintf("*2\r\n$2\r\nch\r\n:%d\r\n", n-n/2)
	eventually(t, "those who left are not counted", func() bool { return publisher.do("PUBSUB", "NUMSUB", "ch") == want })
}

// TestGoRedisSubscribes uses the subscriptions of go-redis as its documentation shows them.
func TestGoRedisSubscribes(t *testing.T) {
	ctx := context.Background()
	withGoRedis(t, func(c typed) {
		sub := c.Subscribe(ctx, "news", "sport")
		defer sub.Close()
		for range 2 {
			if _, err := sub.Receive(ctx); err != nil {
				c.t.Fatal(err)
			}
		}
		if err := sub.PSubscribe(ctx, "w*"); err != nil {
			c.t.Fatal(err)
		}
		if m, err := sub.Receive(ctx); err != nil || m.(*redis.Subscription).Count != 3 {
			c.t.Fatalf("PSubscribe: %v, %v", m, err)
		}
		shard := c.SSubscribe(ctx, "news")
		defer shard.Close()
		if _, err := shard.Receive(ctx); err != nil {
			c.t.Fatal(err)
		}
		for i := range 100 {
			c.is(1)(c.Publish(ctx, "news", i).Result())
		}
		c.is(1)(c.Publish(ctx, "weather", "rain").Result())
		c.is(1)(c.SPublish(ctx, "news", "shard").Result())
		for i := range 100 {
			if m, err := sub.ReceiveMessage(ctx); err != nil || m.Channel != "news" || m.Payload != strconv.Itoa(i) {
				c.t.Fatalf("message %d: %v, %v", i, m, err)
			}
		}
		if err := sub.Ping(ctx, "hello"); err != nil {
			c.t.Error(err)
		}
		if m, err := sub.Receive(ctx); err != nil || m.(*redis.Message).Pattern != "w*" || m.(*redis.Message).Channel != "weather" {
			c.t.Errorf("%v, %v", m, err)
		}
		if m, err := shard.ReceiveMessage(ctx); err != nil || m.Payload != "shard" {
			c.t.Errorf("%v, %v", m, err)
		}
		c.isSet("news", "sport")(c.PubSubChannels(ctx, "*").Result())
		c.is(map[string]int64{"news": 1, "none": 0})(wrapAny(c.PubSubNumSub(ctx, "news", "none").Result()))
		c.is(1)(c.PubSubNumPat(ctx).Result())
		c.isSet("news")(c.PubSubShardChannels(ctx, "*").Result())
	})
}

// wrapAny makes a result fit typed.is.
func wrapAny[T any](v T, err error) (any, error) { return v, err }

// TestRueidisSubscribes is TestGoRedisSubscribes for rueidis.
func TestRueidisSubscribes(t *testing.T) {
	s := startServer(t)
	for _, resp2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("RESP2 %v", resp2), func(t *testing.T) {
			client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.addr}, DisableCache: true, AlwaysRESP2: resp2})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			got := make(chan string)
			ended := make(chan error, 1)
			go func() {
				ended <- client.Receive(ctx, client.B().Subscribe().Channel("news", "sport").Build(), func(m rueidis.PubSubMessage) {
					got <- m.Channel + " " + m.Message
				})
			}()
			publisher := s.dial()
			eventually(t, "it is subscribed", func() bool {
				return publisher.do("PUBSUB", "NUMSUB", "news", "sport") == "*4\r\n$4\r\nnews\r\n:1\r\n$5\r\nsport\r\n:1\r\n"
			})
			for i := range 100 {
				publisher.want(":1\r\n", "PUBLISH", "sport", strconv.Itoa(i))
				if m := <-got; m != fmt.Sprint("sport ", i) {
					t.Fatalf("message %d: %q", i, m)
				}
			}
			if err := client.Do(ctx, client.B().Unsubscribe().Channel("news", "sport").Build()).Error(); err != nil && !resp2 {
				t.Error(err)
			}
			cancel()
			<-ended
			client.Close()
			eventually(t, "nobody is subscribed", func() bool { return publisher.do("PUBSUB", "CHANNELS") == "*0\r\n" })
		})
	}
}

// pubsubGrammar are the commands of TestPubSubDifferential. Publishers are connections that are never subscribed: Redis 7.0
// sends a client's own messages before its reply, and we after it, as Redis does since 7.2.
const pubsubGrammar = `
	SUBSCRIBE N
	SUBSCRIBE N N
	PSUBSCRIBE P
	PSUBSCRIBE P P
	SSUBSCRIBE N
	UNSUBSCRIBE
	UNSUBSCRIBE N
	UNSUBSCRIBE N N
	PUNSUBSCRIBE
	PUNSUBSCRIBE P
	SUNSUBSCRIBE
	SUNSUBSCRIBE N N
	PING
	PING x y
	GET k
	SET k v
	RESET
	HELLO 2
	HELLO 3
	MULTI
	EXEC
	DISCARD
	PUBSUB NUMSUB N N
	PUBSUB NUMPAT
	PUBSUB SHARDNUMSUB N`

// TestPubSubDifferential sends the same random commands to us and to redis-server, over a few subscribers and publishers, and
// compares all bytes that each connection is sent.
func TestPubSubDifferential(t *testing.T) {
	ours, theirs := startServer(t), startPeer(t)
	grammar := grammarLines(pubsubGrammar)
	for round := range 30 {
		r := rand.New(rand.NewPCG(*seed, uint64(round)))
		type pair struct{ ours, theirs *conn }
		open := func() pair { return pair{ours.dial(), theirs.dial()} }
		subs := []pair{open(), open(), open()}
		publisher := open()
		var history []string
		for step := range 100 {
			if r.IntN(3) == 0 {
				args := []string{[]string{"PUBLISH", "SPUBLISH"}[r.IntN(2)], pubsubName(r), strconv.Itoa(step)}
				history = append(history, "publisher: "+quoteArgs(args))
				if a, b := publisher.ours.do(args...), publisher.theirs.do(args...); a != b {
					t.Fatalf("seed %d, round %d: %q, and %q by the peer, after\n%s", *seed, round, a, b, strings.Join(history, "\n"))
				}
			}
			i := r.IntN(len(subs))
			args := strings.Fields(grammar[r.IntN(len(grammar))])
			for k, word := range args {
				switch word {
				case "N":
					args[k] = pubsubName(r)
				case "P":
					args[k] = []string{"a*", "?", "*", "[ab]", "b"}[r.IntN(5)]
				}
			}
			history = append(history, fmt.Sprint(i, ": ", quoteArgs(args)))
			if a, b := subs[i].ours.allUpTo(args, step), subs[i].theirs.allUpTo(args, step); a != b {
				t.Fatalf("seed %d, round %d:\n got %q\nwant %q\nafter\n%s", *seed, round, a, b, strings.Join(history, "\n"))
			}
		}
		for _, p := range append(subs, publisher) {
			p.ours.nc.Close()
			p.theirs.nc.Close()
		}
		for _, s := range []*server{ours, theirs} {
			w := s.dial()
			eventually(t, "all are gone", func() bool {
				return w.do("PUBSUB", "CHANNELS") == "*0\r\n" && w.do("PUBSUB", "NUMPAT") == ":0\r\n" && w.do("PUBSUB", "SHARDCHANNELS") == "*0\r\n"
			})
			w.nc.Close()
		}
	}
}

// pubsubName leaves out the channel without a name: a subscription to all, "*", does not find it in Redis.
func pubsubName(r *rand.Rand) string { return []string{"a", "b", "ab", "c\x00"}[r.IntN(4)] }

// What has no order: the names of an UNSUBSCRIBE of all, and the patterns that one message matches. Ids and versions differ.
var (
	unsubscriptions = regexp.MustCompile(`(?:[*>]3\r\n\$\d+\r\n[ps]?unsubscribe\r\n\$\d+\r\n[^\r]*\r\n:\d+\r\n)+`)
	unsubscription  = regexp.MustCompile(`([*>]3\r\n\$\d+\r\n[ps]?unsubscribe\r\n\$\d+\r\n[^\r]*\r\n)(:\d+\r\n)`)
	pmessages       = regexp.MustCompile(`(?:[*>]4\r\n\$8\r\npmessage\r\n(?:\$\d+\r\n[^\r]*\r\n){3})+`)
	pmessage        = regexp.MustCompile(`[*>]4\r\n\$8\r\npmessage\r\n(?:\$\d+\r\n[^\r]*\r\n){3}`)
	handshakes      = regexp.MustCompile(`\$\d+\r\n\d+\.\d+\.\d+\r\n|id\r\n:\d+\r\n`)
)

// allUpTo sends a command and reads everything up to the replies to a PING and a WATCH that follow it: the PING has a mark in
// its reply, unless it is queued, and then WATCH is an error. What has no order is brought into one.
func (c *conn) allUpTo(args []string, step int) string {
	c.t.Helper()
	mark := fmt.Sprintf("mark%d.", step)
	c.send(string(encode(args...)) + string(encode("PING", mark)) + string(encode("WATCH", "mark")))
	var all strings.Builder
	for {
		reply := c.reply()
		all.WriteString(reply)
		if strings.Contains(reply, mark) {
			all.WriteString(c.reply())
			break
		}
		if strings.Contains(reply, "WATCH inside MULTI") {
			break
		}
	}
	text := unsubscriptions.ReplaceAllStringFunc(all.String(), func(run string) string {
		found := unsubscription.FindAllStringSubmatch(run, -1)
		names := make([]string, len(found))
		for i := range found {
			names[i] = found[i][1]
		}
		slices.Sort(names)
		run = ""
		for i := range found {
			run += names[i] + found[i][2]
		}
		return run
	})
	text = pmessages.ReplaceAllStringFunc(text, func(run string) string {
		found := pmessage.FindAllString(run, -1)
		slices.Sort(found)
		return strings.Join(found, "")
	})
	return handshakes.ReplaceAllString(text, "")
}
