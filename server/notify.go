package server

import (
	"strconv"

	"kvserver/config"
	"kvserver/store"
)

// Keyspace notifications: what happens to keys is published, to channels named after the key and after the event, as far as
// notify-keyspace-events asks for it. See docs/notifications.md. The store tells of events while the shard of the key is
// locked, and they are published at once: whoever is subscribed hears of the events of a key in the order in which they
// happened. Whose command it was hears of them after its reply, like what it publishes.

// observer hears what the view of a slot does to the keyspace.
type observer struct {
	s    *Server
	slot *slot
	name []byte // of a channel, being made
	text []byte // of a message, being made

	ids      []int64  // of clients that have read a key, being told
	gathered gathered // for those who track by prefix
}

// Event publishes an event.
func (o *observer) Event(_ store.Class, name string, db int, key []byte) { o.notify(name, db, key) }

// Changed tells clients that keep a copy of the key. To them a key is the same in all databases.
func (o *observer) Changed(_ int, key []byte) { o.changed(key) }

// Flushed tells clients that keep copies of anything.
func (o *observer) Flushed(int) { o.invalidateAll() }

// eventLetters are the letters of the classes that keys have events of.
var eventLetters = map[byte]store.Class{
	'g': store.ClassGeneric, '$': store.ClassString, 'l': store.ClassList, 's': store.ClassSet, 'h': store.ClassHash,
	'z': store.ClassZset, 't': store.ClassStream, 'x': store.ClassExpired, 'e': store.ClassEvicted,
	'n': store.ClassNew, 'm': store.ClassMiss,
}

// classesOfA are those that A stands for.
const classesOfA = store.ClassGeneric | store.ClassString | store.ClassList | store.ClassSet | store.ClassHash |
	store.ClassZset | store.ClassStream | store.ClassExpired | store.ClassEvicted

// notifications say what is published.
type notifications struct {
	// They change only under the gate.
	byKey, byEvent bool // to which channels
	classes        store.Class
}

func (p *Parameters) registerNotifications(r *config.Registry) {
	p.notifyEvents = r.Custom("notify-keyspace-events", "", eventClasses, config.Allowed("of the letters K E g $ l s h z x e t d m n A"),
		config.Doc("which keyspace events are published, and to which channels"))
}

// applyNotifications puts notify-keyspace-events into force. The caller holds the gate.
func (s *Server) applyNotifications() error {
	n := &s.events
	*n = notifications{}
	for _, letter := range []byte(s.params.notifyEvents.Get()) {
		switch letter {
		case 'K':
			n.byKey = true
		case 'E':
			n.byEvent = true
		case 'A':
			n.classes |= classesOfA
		default: // of modules, d, there are none
			n.classes |= eventLetters[letter]
		}
	}
	if !n.byKey && !n.byEvent {
		n.classes = 0
	}
	s.observeKeys()
	return nil
}

// observeKeys makes the views of all slots tell what somebody wants to hear. The caller holds the gate.
func (s *Server) observeKeys() {
	for _, sl := range s.gate.slots {
		sl.view.Observe(&sl.observer, s.events.classes, s.caching.on)
	}
}

// notify publishes an event. It runs under the lock of the key's shard. Where nobody is subscribed to anything, loops do not
// meet at the mutex of the channels.
func (o *observer) notify(event string, db int, key []byte) {
	if o.s.channels.subscribers.Load() == 0 {
		return
	}
	n := &o.s.events
	if n.byKey {
		name := append(o.channel("__keyspace@", db), key...)
		o.text = append(o.text[:0], event...)
		o.publish(name, o.text)
	}
	if n.byEvent {
		o.publish(append(o.channel("__keyevent@", db), event...), key)
	}
}

// channel begins the name of a channel.
func (o *observer) channel(prefix string, db int) []byte {
	return append(strconv.AppendInt(append(o.name[:0], prefix...), int64(db), 10), "__:"...)
}

// publish sends a message to a channel on behalf of the client whose commands the slot runs, if it runs any.
func (o *observer) publish(name, text []byte) {
	if o.name = name; cap(name) > keptMessageBytes {
		o.name = nil
	}
	p := publication{
		slot: o.slot, from: o.slot.client, kind: plainChannel, name: name, text: text,
		limitBytes: o.s.params.outputLimits.Load().pubsub.hardBytes,
	}
	o.s.channels.publish(&p)
	for _, slow := range p.slow {
		o.s.cutOff(slow)
	}
}
