package stream

import (
	"cmp"
	"slices"

	"github.com/tidwall/btree"
)

// Unknown is the number of entries that a group has read when nobody can tell.
const Unknown = -1

// Group is a consumer group: consumers that share the entries of a stream. Every entry goes to one of them and is pending
// until it is acknowledged.
type Group struct {
	Name string
	Last ID    // the last entry that was delivered
	Read int64 // entries delivered, counted from the first that the stream ever had; or Unknown

	// pending has what is pending for all consumers; each of these has a tree of the IDs alone. It names consumers by
	// number, so that the trees, which may be large, have no pointers for the collector to follow.
	pending   *btree.BTreeG[Pending]
	consumers []*Consumer // by name
	numbered  []*Consumer // by number; nil where a number is free
	unused    []uint32    // numbers

	of *Stream
}

// Pending is an entry that was delivered and not acknowledged.
type Pending struct {
	ID          ID
	DeliveredMs int64 // Unix time of the last delivery
	Deliveries  int64
	consumer    uint32
}

// Consumer is a member of a group.
type Consumer struct {
	Name     string
	SeenMs   int64 // Unix time when it last tried anything
	ActiveMs int64 // when it last got something, -1: never

	number  uint32
	pending *btree.BTreeG[ID]
}

func pendingLess(a, b Pending) bool { return a.ID.Less(b.ID) }

var unlocked = btree.Options{NoLocks: true}

// Groups returns the groups in the order of their names, as bytes. The slice is the stream's.
func (s *Stream) Groups() []*Group { return s.groups }

// Group returns the group of a name, or nil.
func (s *Stream) Group(name []byte) *Group {
	if i, ok := s.findGroup(name); ok {
		return s.groups[i]
	}
	return nil
}

func (s *Stream) findGroup(name []byte) (int, bool) {
	return slices.BinarySearchFunc(s.groups, name, func(g *Group, name []byte) int {
		return cmp.Compare(g.Name, string(name))
	})
}

// NewGroup adds a group. It returns nil if there is one of that name.
func (s *Stream) NewGroup(name []byte, last ID, read int64) *Group {
	i, ok := s.findGroup(name)
	if ok {
		return nil
	}
	g := &Group{Name: string(name), Last: last, Read: read, pending: btree.NewBTreeGOptions(pendingLess, unlocked), of: s}
	s.groups = slices.Insert(s.groups, i, g)
	s.groupBytes += g.bytes()
	return g
}

// RemoveGroup removes the group of a name and reports whether there was one.
func (s *Stream) RemoveGroup(name []byte) bool {
	i, ok := s.findGroup(name)
	if ok {
		s.groupBytes -= s.groups[i].bytes()
		s.groups = slices.Delete(s.groups, i, i+1)
	}
	return ok
}

// Consumers returns the consumers in the order of their names, as bytes. The slice is the group's.
func (g *Group) Consumers() []*Consumer { return g.consumers }

// Consumer returns the consumer of a name, or nil.
func (g *Group) Consumer(name []byte) *Consumer {
	if i, ok := g.findConsumer(name); ok {
		return g.consumers[i]
	}
	return nil
}

func (g *Group) findConsumer(name []byte) (int, bool) {
	return slices.BinarySearchFunc(g.consumers, name, func(c *Consumer, name []byte) int {
		return cmp.Compare(c.Name, string(name))
	})
}

// NewConsumer adds a consumer, seen at this time. It returns nil if there is one of that name.
func (g *Group) NewConsumer(name []byte, nowMs int64) *Consumer {
	i, ok := g.findConsumer(name)
	if ok {
		return nil
	}
	c := &Consumer{Name: string(name), SeenMs: nowMs, ActiveMs: -1, pending: btree.NewBTreeGOptions(ID.Less, unlocked)}
	if n := len(g.unused); n > 0 {
		c.number = g.unused[n-1]
		g.unused = g.unused[:n-1]
		g.numbered[c.number] = c
	} else {
		c.number = uint32(len(g.numbered))
		g.numbered = append(g.numbered, c)
	}
	g.consumers = slices.Insert(g.consumers, i, c)
	g.of.groupBytes += c.bytes()
	return c
}

// RemoveConsumer removes a consumer, and what is pending for it, and returns how much that was.
func (g *Group) RemoveConsumer(c *Consumer) (pending int) {
	c.pending.Scan(func(id ID) bool {
		g.pending.Delete(Pending{ID: id})
		return true
	})
	i, _ := g.findConsumer([]byte(c.Name))
	g.consumers = slices.Delete(g.consumers, i, i+1)
	g.numbered[c.number] = nil
	g.unused = append(g.unused, c.number)
	pending = c.pending.Len()
	g.of.groupBytes -= c.bytes() + int64(pending)*pendingBytes
	return pending
}

// Pending returns the number of entries that are pending.
func (g *Group) Pending() int { return g.pending.Len() }

// Pending returns the number of entries that are pending for the consumer.
func (c *Consumer) Pending() int { return c.pending.Len() }

// Find returns what is pending under an ID.
func (g *Group) Find(id ID) (p Pending, ok bool) { return g.pending.Get(Pending{ID: id}) }

// PendingFrom returns the first that is pending, for anyone, from an ID on.
func (g *Group) PendingFrom(id ID) (p Pending, ok bool) {
	g.pending.Ascend(Pending{ID: id}, func(found Pending) bool {
		p, ok = found, true
		return false
	})
	return p, ok
}

// EachPending calls fn with what is pending from an ID on, until fn returns false. fn must not change the group.
func (g *Group) EachPending(from ID, fn func(Pending) bool) { g.pending.Ascend(Pending{ID: from}, fn) }

// EachPendingOf is EachPending for one consumer.
func (g *Group) EachPendingOf(c *Consumer, from ID, fn func(Pending) bool) {
	c.pending.Ascend(from, func(id ID) bool {
		p, _ := g.Find(id)
		return fn(p)
	})
}

// PendingOfFrom returns the first that is pending for a consumer from an ID on.
func (g *Group) PendingOfFrom(c *Consumer, from ID) (p Pending, ok bool) {
	g.EachPendingOf(c, from, func(found Pending) bool {
		p, ok = found, true
		return false
	})
	return p, ok
}

// PendingRange returns the first and the last ID that is pending; there must be one.
func (g *Group) PendingRange() (first, last ID) {
	low, _ := g.pending.Min()
	high, _ := g.pending.Max()
	return low.ID, high.ID
}

// Owner returns the consumer for which p is pending.
func (g *Group) Owner(p Pending) *Consumer { return g.numbered[p.consumer] }

// Assign makes an entry pending for a consumer, whether or not it was pending for any.
func (g *Group) Assign(c *Consumer, id ID, deliveredMs, deliveries int64) {
	// Load is Set, and faster for the greatest ID, which new entries have.
	old, had := g.pending.Load(Pending{id, deliveredMs, deliveries, c.number})
	switch {
	case !had:
		g.of.groupBytes += pendingBytes
	case old.consumer == c.number:
		return
	default:
		g.Owner(old).pending.Delete(id)
	}
	c.pending.Load(id)
}

// Acknowledge removes what is pending under an ID and reports whether something was.
func (g *Group) Acknowledge(id ID) bool {
	p, ok := g.pending.Delete(Pending{ID: id})
	if !ok {
		return false
	}
	g.Owner(p).pending.Delete(id)
	g.of.groupBytes -= pendingBytes
	return true
}

// Delivered notes that the next entry after the last one delivered was delivered to the group.
func (g *Group) Delivered(id ID) {
	s := g.of
	if !g.Last.Less(id) {
		return
	}
	if g.Read != Unknown && !g.Last.Less(s.first) && !s.fragmentedFrom(g.Last) {
		g.Read++
	} else if s.added > 0 {
		g.Read = s.ordinal(id)
	}
	g.Last = id
}

// fragmentedFrom tells whether entries were deleted, trimming apart, from an ID on.
func (s *Stream) fragmentedFrom(id ID) bool {
	return s.length > 0 && s.maxDeleted != ID{} && !s.maxDeleted.Less(id)
}

// ordinal returns how many entries the stream had up to an ID, counted from the first ever added, or Unknown: it can be
// told only at the ends of the stream, and where nothing was deleted between. The rules are Redis's, as those of Lag.
func (s *Stream) ordinal(id ID) int64 {
	switch {
	case s.added == 0:
		return 0
	case s.length == 0 && !s.last.Less(id):
		return s.added
	case id != ID{} && id.Less(s.maxDeleted):
		return Unknown
	case id == s.last:
		return s.added
	case s.last.Less(id):
		return Unknown
	case s.maxDeleted != ID{} && !s.maxDeleted.Less(s.first):
		return Unknown
	case id.Less(s.first):
		return s.added - s.length
	case id == s.first:
		return s.added - s.length + 1
	}
	return Unknown
}

// Lag returns how many entries are still to be delivered to the group; ok is false if it cannot be told.
func (g *Group) Lag() (lag int64, ok bool) {
	s := g.of
	switch {
	case s.added == 0, s.length == 0:
		return 0, true
	case g.Last.Less(s.first) && s.maxDeleted.Less(s.first):
		return s.length, true
	case g.Read != Unknown && !s.fragmentedFrom(g.Last):
		return s.added - g.Read, true
	}
	read := s.ordinal(g.Last)
	return s.added - read, read != Unknown
}
