package server

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kvserver/glob"
	"kvserver/server/transport"
)

// sane checks what must hold of the channels between two operations.
func (ch *channels) sane(t testing.TB, subs []*subscriber) {
	t.Helper()
	ch.mu.Lock()
	defer ch.mu.Unlock()
	members, subscribers := 0, 0
	for _, sub := range subs {
		members += sub.total()
		if sub.total() > 0 {
			subscribers++
		}
	}
	for kind := range channelKinds {
		for name, a := range ch.byName[kind] {
			if a.name != name || len(a.members) == 0 {
				t.Fatalf("audience %q at %q with %d members", a.name, name, len(a.members))
			}
			for i, m := range a.members {
				if m.at != i || m.of != a || m.sub.names[kind][name] != m {
					t.Fatalf("member %d of %q is not where it says", i, name)
				}
			}
			members -= len(a.members)
		}
	}
	for i, a := range ch.patterns {
		if a.place != i || string(a.pattern) != a.name || ch.byName[channelPattern][a.name] != a {
			t.Fatalf("pattern %d, %q, is not where it says", i, a.name)
		}
	}
	if members != 0 || int64(subscribers) != ch.subscribers.Load() || len(ch.patterns) != len(ch.byName[channelPattern]) {
		t.Fatalf("%d memberships too many, %d subscribers, not %d, %d patterns, not %d",
			members, ch.subscribers.Load(), subscribers, len(ch.patterns), len(ch.byName[channelPattern]))
	}
}

// TestChannelsAgainstModel: after any operations, who gets a message is who a list of subscriptions says.
func TestChannelsAgainstModel(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	s := newTestServer(t)
	publisher := newTestClient(t, s)
	type subscription struct {
		who  int
		kind channelKind
		name string
	}
	model := map[subscription]bool{}
	subs := make([]*subscriber, 8)
	for i := range subs {
		subs[i] = &subscriber{client: newTestClient(t, s), resp3: i%2 == 1}
	}
	names := []string{"", "a", "b", "ab", "a*", "?", "*", "[ab]", "abc", "\x00"}
	for range 5000 {
		who, kind, name := r.IntN(len(subs)), channelKind(r.IntN(int(channelKinds))), names[r.IntN(len(names))]
		at := subscription{who, kind, name}
		switch r.IntN(8) {
		case 0, 1, 2:
			s.channels.subscribe(subs[who], kind, []byte(name))
			model[at] = true
		case 3, 4:
			if s.channels.unsubscribe(subs[who], kind, name) != model[at] {
				t.Fatalf("unsubscribe %v says it was not %v", at, model[at])
			}
			delete(model, at)
		case 5:
			if r.IntN(10) == 0 {
				s.channels.leave(subs[who])
				for k := range model {
					if k.who == who {
						delete(model, k)
					}
				}
			}
		default:
			if kind == channelPattern {
				continue
			}
			p := publication{slot: publisher.slot, from: publisher, kind: kind, name: []byte(name), text: []byte("text")}
			s.channels.publish(&p)
			want := make([]int, len(subs))
			receivers := int64(0)
			for k := range model {
				if k.kind == kind && k.name == name || kind == plainChannel && k.kind == channelPattern && glob.Match([]byte(k.name), []byte(name)) {
					want[k.who]++
					receivers++
				}
			}
			got := make([]int, len(subs))
			for i, sub := range subs {
				posted := connOf(sub.client).posted
				got[i] = bytes.Count(posted, []byte("$4\r\ntext\r\n"))
				if first := "*>"[i%2]; len(posted) > 0 && posted[0] != first {
					t.Fatalf("a subscriber that speaks RESP%d was sent %q", 2+i%2, posted)
				}
				connOf(sub.client).posted = nil
			}
			if !slices.Equal(got, want) || p.receivers != receivers {
				t.Fatalf("a message on %q (kind %d) came to %v, not %v; receivers %d, not %d", name, kind, got, want, p.receivers, receivers)
			}
		}
		s.channels.sane(t, subs)
	}
	for _, sub := range subs {
		s.channels.leave(sub)
	}
	s.channels.sane(t, subs)
	if names, subscribers := s.channels.counts(); names != [channelKinds]int64{} || subscribers != 0 {
		t.Errorf("nothing is left, yet the counts are %v and %d", names, subscribers)
	}
}

// TestOwnMessagesFollowTheReply is what Redis answers since 7.2: not before it, nor inside that of EXEC.
func TestOwnMessagesFollowTheReply(t *testing.T) {
	const message = "$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n"
	s := newTestServer(t)
	c := newTestClient(t, s)
	do(c, "HELLO", "3")
	do(c, "SUBSCRIBE", "a")
	for _, test := range []struct {
		input []string
		want  string
	}{
		{[]string{"PUBLISH a x", "PING", "PUBLISH a x"}, ":1\r\n>3\r\n" + message + "+PONG\r\n:1\r\n>3\r\n" + message},
		{[]string{"MULTI", "PUBLISH a x", "PING", "PUBLISH a x", "EXEC", "PING"},
			"+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n:1\r\n+PONG\r\n:1\r\n>3\r\n" + message + ">3\r\n" + message + "+PONG\r\n"},
		{[]string{"CLIENT REPLY SKIP", "PUBLISH a x", "PING"}, ">3\r\n" + message + "+PONG\r\n"},
		{[]string{"PUBLISH a x", "UNSUBSCRIBE a", "PUBLISH a x"}, ":1\r\n>3\r\n" + message + ">3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n:0\r\n"},
		{[]string{"HELLO 2", "MULTI", "SUBSCRIBE a", "PUBLISH a x", "EXEC"}, ""},
	} {
		var input string
		for _, command := range test.input {
			input += request(strings.Fields(command)...)
		}
		got, _ := feed(c, input)
		if test.want == "" { // in RESP2 it is an array
			test.want = got[:max(0, len(got)-len(message)-4)] + "*3\r\n" + message
		}
		if got != test.want {
			t.Errorf("%q\n got  %q\n want %q", test.input, got, test.want)
		}
	}
}

// mailbox is a connection that keeps what is posted until the session claims it.
type mailbox struct {
	*fakeConn
}

func (m mailbox) OutputBytes() int { return len(m.posted) }

func (m mailbox) Claim(dst []byte) []byte {
	dst = append(dst, m.posted...)
	m.posted = nil
	return dst
}

// mailboxClient makes a client whose connection is a mailbox.
func mailboxClient(t testing.TB, s *Server) *client {
	t.Helper()
	c := newTestClient(t, s)
	c.conn = mailbox{connOf(c)}
	return c
}

// TestMessagesPrecedeWhatEndsThem: nothing is left in the connection's mail when the reply says that it is over, and what was
// published before a command is there before its reply.
func TestMessagesPrecedeWhatEndsThem(t *testing.T) {
	const message = "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n"
	s := newTestServer(t)
	c, publisher := mailboxClient(t, s), newTestClient(t, s)
	do(c, "SUBSCRIBE", "a", "b")
	for _, test := range []struct{ command, want string }{
		{"PING", message + "*2\r\n$4\r\npong\r\n$0\r\n\r\n"},
		{"UNSUBSCRIBE a", message + "*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:1\r\n"},
		{"SUBSCRIBE a", "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:2\r\n"},
		{"RESET", message + "+RESET\r\n"},
		{"SUBSCRIBE a", "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"},
		{"QUIT", message + "+OK\r\n"},
	} {
		do(publisher, "PUBLISH", "a", "x")
		if got := do(c, strings.Fields(test.command)...); got != test.want {
			t.Errorf("%s\n got  %q\n want %q", test.command, got, test.want)
		}
	}
	c.Closed()
	if got := do(publisher, "PUBLISH", "a", "x"); got != ":0\r\n" {
		t.Errorf("a client that is gone: %q", got)
	}
}

// TestMessageBetweenCommandsOfABatch: what comes while a batch runs precedes the reply to UNSUBSCRIBE in the same batch, and an
// EXEC's reply as a whole.
func TestMessageBetweenCommandsOfABatch(t *testing.T) {
	const message = "$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n"
	s := newTestServer(t)
	c := mailboxClient(t, s)
	do(c, "HELLO", "3")
	do(c, "SUBSCRIBE", "a")
	hooked := *c.s.table.byName["echo"]
	hooked.handle = func(c *client, args [][]byte) {
		c.bulk(args[1])
		c.conn.Post([]byte(">3\r\n" + message)) // as another loop would
	}
	c.s.table.byName["echo"] = &hooked
	got, _ := feed(c, request("ECHO", "1")+request("PING")+request("UNSUBSCRIBE", "a"))
	if want := "$1\r\n1\r\n+PONG\r\n>3\r\n" + message + ">3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n"; got != want {
		t.Errorf("\n got  %q\n want %q", got, want)
	}
	got, _ = feed(c, request("SUBSCRIBE", "a")+request("MULTI")+request("PING")+request("UNSUBSCRIBE")+request("ECHO", "1")+
		request("EXEC")+request("PING"))
	want := ">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n" +
		"*3\r\n+PONG\r\n>3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n$1\r\n1\r\n+PONG\r\n"
	if got != want {
		t.Errorf("\n got  %q\n want %q", got, want)
	}
}

// TestSlowSubscriber: the limit is that of its class, cuts it off once, and is nobody else's.
func TestSlowSubscriber(t *testing.T) {
	s := newTestServer(t, "--client-output-buffer-limit", "pubsub 100kb 0 0")
	slow, plain, publisher := mailboxClient(t, s), mailboxClient(t, s), newTestClient(t, s)
	do(slow, "SUBSCRIBE", "a")
	do(slow, "PSUBSCRIBE", "*")
	text := strings.Repeat("x", 10_000)
	plain.conn.Post(bytes.Repeat([]byte("x"), 200_000))
	for range 20 {
		if got := do(publisher, "PUBLISH", "a", text); got != ":2\r\n" {
			t.Fatalf("PUBLISH: %q", got)
		}
	}
	conn := slow.conn.(mailbox)
	if !conn.closed || len(conn.posted) > 110<<10 || s.counters.outputDisconnects.Load() != 1 {
		t.Errorf("closed %v with %d bytes, %d cut off", conn.closed, len(conn.posted), s.counters.outputDisconnects.Load())
	}
	if plain.conn.(mailbox).closed {
		t.Error("another client was cut off")
	}
	if _, v := feed(plain, request("PING")); v != transport.More {
		t.Errorf("the limit of subscribers holds for others: verdict %v", v)
	}
	slow.Closed()
	if got := do(publisher, "PUBLISH", "a", text); got != ":0\r\n" {
		t.Errorf("after it is gone: %q", got)
	}
}

// TestOwnMessagesAreLimited: a transaction that publishes to its own client holds no more than the limit either.
func TestOwnMessagesAreLimited(t *testing.T) {
	s := newTestServer(t, "--client-output-buffer-limit", "pubsub 1mb 0 0")
	c := newTestClient(t, s)
	do(c, "HELLO", "3")
	do(c, "SUBSCRIBE", "a")
	publish := request("PUBLISH", "a", strings.Repeat("x", 100_000))
	reply, v := feed(c, request("MULTI")+strings.Repeat(publish, 100)+request("EXEC"))
	if v != transport.Abort || len(reply) > 1<<20+1<<16 {
		t.Errorf("verdict %v, %d bytes", v, len(reply))
	}
}

// FuzzPubSub: whatever subscribers do, with bytes cut anywhere, the channels stay sane and replies well-formed.
func FuzzPubSub(f *testing.F) {
	f.Add(request("SUBSCRIBE", "a", "b")+request("PSUBSCRIBE", "*")+request("UNSUBSCRIBE")+request("PING"), uint16(9))
	f.Add(request("MULTI")+request("SUBSCRIBE", "a")+request("PUBLISH", "a", "x")+request("EXEC")+request("RESET"), uint16(30))
	f.Add(request("HELLO", "3")+request("SSUBSCRIBE", "a")+request("SPUBLISH", "a", "x")+request("SUNSUBSCRIBE"), uint16(50))
	f.Add(request("CLIENT", "REPLY", "OFF")+request("SUBSCRIBE", "a")+request("PUBSUB", "CHANNELS", "[a-"), uint16(3))
	s := newTestServer(f)
	f.Fuzz(func(t *testing.T, input string, cut uint16) {
		if word := strings.ToUpper(input); strings.Contains(word, "SHUTDOWN") || strings.Contains(word, "DEBUG") || strings.Contains(word, "PAUSE") || strings.Contains(word, "PFSELFTEST") {
			t.Skip("it ends or holds up the server")
		}
		c := mailboxClient(t, s)
		at := int(cut) % (len(input) + 1)
		if _, v := feed(c, input[:at]); v == transport.More {
			feed(c, input[at:])
		}
		c.Closed()
		s.channels.sane(t, nil)
	})
}

// nowhere is a connection that drops what is posted.
type nowhere struct {
	*fakeConn
}

func (nowhere) Post([]byte) int { return 0 }

func BenchmarkPublish(b *testing.B) {
	for _, subscribers := range []int{0, 1, 10, 1000} {
		b.Run(strconv.Itoa(subscribers), func(b *testing.B) {
			s := newTestServer(b)
			publisher := newTestClient(b, s)
			for range subscribers {
				c := newTestClient(b, s)
				c.conn = nowhere{connOf(c)}
				do(c, "SUBSCRIBE", "ch")
			}
			name, text := []byte("ch"), []byte("hello")
			for range b.N {
				p := publication{slot: publisher.slot, from: publisher, kind: plainChannel, name: name, text: text}
				s.channels.publish(&p)
				if p.receivers != int64(subscribers) {
					b.Fatal(fmt.Sprint(p.receivers))
				}
			}
		})
	}
}
