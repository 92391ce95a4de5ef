package server

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tidwall/redcon"

	"kvserver/glob"
)

// A message is sent to each subscriber's connection while the mutex of the channels is held. That is an append to a buffer
// and never waits, whatever the subscriber does, and it gives all subscribers all messages in the same order. What a
// subscriber is sent after it has unsubscribed, by the same mutex, it cannot be: nothing of the channel is on its way then
// but what its connection can be asked for (transport.Conn.Claim).

// channelKind is one of the three kinds of names that can be subscribed to.
type channelKind int

const (
	plainChannel channelKind = iota
	channelPattern
	shardChannel
	channelKinds
)

// messageKinds begin the messages that come by a name of each kind.
var messageKinds = [channelKinds]string{"message", "pmessage", "smessage"}

// channels knows who is subscribed to what.
type channels struct {
	mu sync.Mutex
	// mu guards all of the following. It is a leaf: while it is held only connections are posted to.
	byName      [channelKinds]map[string]*audience
	patterns    []*audience  // those of byName[channelPattern]
	subscribers atomic.Int64 // with at least one subscription; may be read without the mutex
	message     []byte       // being sent
}

// audience are the subscribers of one name. Neither it nor a subscriber is without the other's membership.
type audience struct {
	name    string
	pattern []byte // the name again, if it is a pattern
	place   int    // in channels.patterns, if it is a pattern
	members []*membership
}

// membership is one subscription; at is its place among the members of the audience.
type membership struct {
	sub *subscriber
	of  *audience
	at  int
}

// subscriber is a client as the channels know it. Others touch it with the mutex of the channels held. It changes only when
// the slot of its client is held besides, so its client may read it with only that.
type subscriber struct {
	client    *client
	resp3     bool
	slow      bool // cut off: it gets nothing more
	sentBytes int64
	names     [channelKinds]map[string]*membership
}

// count is the number of subscriptions of one kind. A client that has never subscribed has no subscriber.
func (sub *subscriber) count(kind channelKind) int {
	if sub == nil {
		return 0
	}
	return len(sub.names[kind])
}

// total is the number of all subscriptions.
func (sub *subscriber) total() int {
	return sub.count(plainChannel) + sub.count(channelPattern) + sub.count(shardChannel)
}

// subscribe adds a subscription, if it is not there yet.
func (ch *channels) subscribe(sub *subscriber, kind channelKind, name []byte) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if sub.names[kind][string(name)] != nil {
		return
	}
	if sub.total() == 0 {
		ch.subscribers.Add(1)
	}
	a := ch.byName[kind][string(name)]
	if a == nil {
		a = &audience{name: string(name)}
		if ch.byName[kind] == nil {
			ch.byName[kind] = make(map[string]*audience)
		}
		ch.byName[kind][a.name] = a
		if kind == channelPattern {
			a.pattern, a.place = []byte(a.name), len(ch.patterns)
			ch.patterns = append(ch.patterns, a)
		}
	}
	if sub.names[kind] == nil {
		sub.names[kind] = make(map[string]*membership)
	}
	m := &membership{sub, a, len(a.members)}
	a.members = append(a.members, m)
	sub.names[kind][a.name] = m
}

// unsubscribe ends a subscription and reports whether it was there.
func (ch *channels) unsubscribe(sub *subscriber, kind channelKind, name string) bool {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	return ch.unsubscribeLocked(sub, kind, name)
}

// leave ends all subscriptions.
func (ch *channels) leave(sub *subscriber) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	for kind := range channelKinds {
		for name := range sub.names[kind] {
			ch.unsubscribeLocked(sub, kind, name)
		}
	}
}

// unsubscribeLocked takes O(1): the last member takes the place of the one that goes. ch.mu must be held.
func (ch *channels) unsubscribeLocked(sub *subscriber, kind channelKind, name string) bool {
	m := sub.names[kind][name]
	if m == nil {
		return false
	}
	delete(sub.names[kind], name)
	if sub.total() == 0 {
		ch.subscribers.Add(-1)
	}
	a := m.of
	last := len(a.members) - 1
	a.members[m.at], a.members[last].at = a.members[last], m.at
	a.members[last] = nil
	a.members = a.members[:last]
	if last > 0 {
		return true
	}
	delete(ch.byName[kind], name)
	if kind == channelPattern {
		last := len(ch.patterns) - 1
		ch.patterns[a.place], ch.patterns[last].place = ch.patterns[last], a.place
		ch.patterns[last] = nil
		ch.patterns = ch.patterns[:last]
	}
	return true
}

// speak tells in which version of the protocol a subscriber gets its messages.
func (ch *channels) speak(sub *subscriber, resp3 bool) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	sub.resp3 = resp3
}

// publication is a message on its way.
type publication struct {
	slot       *slot       // of whoever sends it
	from       *client     // nil: the server itself
	kind       channelKind // plainChannel or shardChannel
	name, text []byte
	limitBytes int64 // a subscriber that has more waiting is slow; 0: none is

	receivers int64
	slow      []*client // to be cut off
}

// publish sends a message to all who are subscribed to its channel, or to patterns that match that. What it finds out it
// writes into p. The publisher's own messages come after the reply of its command.
func (ch *channels) publish(p *publication) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if a := ch.byName[p.kind][string(p.name)]; a != nil {
		ch.message = appendMessage(ch.message[:0], p.kind, a, p)
		ch.sendLocked(p, a)
	}
	if p.kind == plainChannel {
		for _, a := range ch.patterns {
			if glob.Match(a.pattern, p.name) {
				ch.message = appendMessage(ch.message[:0], channelPattern, a, p)
				ch.sendLocked(p, a)
			}
		}
	}
	if cap(ch.message) > keptMessageBytes {
		ch.message = nil
	}
}

// keptMessageBytes is the largest buffer for messages that is kept.
const keptMessageBytes = 64 << 10

// appendMessage encodes a message as RESP2 has it. In RESP3 only its first byte is another.
func appendMessage(dst []byte, kind channelKind, a *audience, p *publication) []byte {
	if kind == channelPattern {
		dst = redcon.AppendBulkString(redcon.AppendArray(dst, 4), messageKinds[kind])
		dst = redcon.AppendBulk(dst, a.pattern)
	} else {
		dst = redcon.AppendBulkString(redcon.AppendArray(dst, 3), messageKinds[kind])
	}
	return redcon.AppendBulk(redcon.AppendBulk(dst, p.name), p.text)
}

// sendLocked sends ch.message to all of an audience. ch.mu must be held.
func (ch *channels) sendLocked(p *publication, a *audience) {
	p.receivers += int64(len(a.members))
	for _, m := range a.members {
		sub := m.sub
		if sub.slow {
			continue
		}
		ch.message[0] = '*'
		if sub.resp3 {
			ch.message[0] = '>'
		}
		if sub.client == p.from {
			p.from.pushOwn(ch.message)
			continue
		}
		waiting := sub.client.conn.Post(ch.message)
		sub.sentBytes += int64(len(ch.message))
		p.slot.stats.outBytes += int64(len(ch.message))
		if p.limitBytes > 0 && int64(waiting) > p.limitBytes {
			sub.slow = true
			p.slow = append(p.slow, sub.client)
		}
	}
}

// names appends the names of one kind that somebody is subscribed to and that match a pattern; nil matches all.
func (ch *channels) names(kind channelKind, pattern []byte) (list []string) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	for name := range ch.byName[kind] {
		if pattern == nil || glob.Match(pattern, []byte(name)) {
			list = append(list, name)
		}
	}
	return list
}

// members is the number of subscribers of a name.
func (ch *channels) members(kind channelKind, name []byte) int64 {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	a := ch.byName[kind][string(name)]
	if a == nil {
		return 0
	}
	return int64(len(a.members))
}

// counts are the numbers of names of each kind that somebody is subscribed to, and of the subscribers.
func (ch *channels) counts() (names [channelKinds]int64, subscribers int64) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	for kind := range channelKinds {
		names[kind] = int64(len(ch.byName[kind]))
	}
	return names, ch.subscribers.Load()
}

// sentTo is how many bytes of messages a subscriber, or nil, was sent.
func (ch *channels) sentTo(sub *subscriber) int64 {
	if sub == nil {
		return 0
	}
	ch.mu.Lock()
	defer ch.mu.Unlock()
	return sub.sentBytes
}

// heldBytes is what the subscriptions of one client take, about.
func (sub *subscriber) heldBytes() (n int64) {
	if sub == nil {
		return 0
	}
	n = int64(unsafe.Sizeof(*sub))
	for kind := range channelKinds {
		for name := range sub.names[kind] {
			n += int64(len(name)) + subscriptionBytes
		}
	}
	return n
}

// subscriptionBytes are a membership and its places in the subscriber's map and in the audience.
const subscriptionBytes = int64(unsafe.Sizeof(membership{}) + 3*unsafe.Sizeof(uintptr(0)) + unsafe.Sizeof(""))
