package store

import "kvserver/store/stream"

// The commands on consumer groups. As in Redis, nothing that they do to groups counts as a change for those who watch the
// key, but that a stream was made.

// CreateGroup adds a group to the stream, which is made if there is none. It returns false if there is one of that name.
// With atEnd, last is the stream's last ID.
func (s Stream) CreateGroup(name []byte, last stream.ID, atEnd bool, read int64) bool {
	v, l := s.v, s.large
	if l == nil {
		l = v.newStream()
	}
	if atEnd {
		last = l.Last()
	}
	if l.NewGroup(name, last, read) == nil {
		return false
	}
	v.recount(l)
	if s.large == nil {
		v.saveCollection(s.key, Entry{}, kindStream, l)
	}
	s.event("xgroup-create")
	return true
}

// DestroyGroup removes a group and reports whether there was one.
func (s Stream) DestroyGroup(name []byte) bool {
	defer s.v.recount(s.large)
	if !s.RemoveGroup(name) {
		return false
	}
	s.event("xgroup-destroy")
	return true
}

// SetGroup sets the last ID that was delivered to a group, and how many entries it has read.
func (s Stream) SetGroup(g *stream.Group, last stream.ID, read int64) {
	g.Last, g.Read = last, read
	s.event("xgroup-setid")
}

// CreateConsumer adds a consumer to a group and reports whether there was none of that name.
func (s Stream) CreateConsumer(g *stream.Group, name []byte) bool {
	if g.Consumer(name) != nil {
		return false
	}
	s.newConsumer(g, name)
	return true
}

func (s Stream) newConsumer(g *stream.Group, name []byte) *stream.Consumer {
	c := g.NewConsumer(name, s.v.nowMs)
	s.v.recount(s.large)
	s.event("xgroup-createconsumer")
	return c
}

// DeleteConsumer removes a consumer of a group, if there is one of that name, and returns how many entries were pending for
// it.
func (s Stream) DeleteConsumer(g *stream.Group, name []byte) (pending int) {
	c := g.Consumer(name)
	if c == nil {
		return 0
	}
	pending = g.RemoveConsumer(c)
	s.v.recount(s.large)
	s.event("xgroup-delconsumer")
	return pending
}

// Seen returns the consumer of a name, made if there is none, which is at work now.
func (s Stream) Seen(g *stream.Group, name []byte) *stream.Consumer {
	c := g.Consumer(name)
	if c == nil {
		c = s.newConsumer(g, name)
	}
	c.SeenMs = s.v.nowMs
	return c
}

// Undelivered reports whether the stream has entries that were not delivered to the group.
func (s Stream) Undelivered(g *stream.Group) bool {
	last, ok := s.LastEntry()
	return ok && g.Last.Less(last)
}

// Deliver gives a consumer the next entries of the group, at most count, all if that is 0: it calls emit with each, until it
// returns false. They become pending unless noAck says otherwise. It returns how many there were.
func (s Stream) Deliver(g *stream.Group, c *stream.Consumer, count int64, noAck bool, emit func(*stream.Range) bool) (n int) {
	from, _ := g.Last.Next()
	for r := s.Range(from, stream.Max, false); (count == 0 || int64(n) < count) && r.Next(); n++ {
		g.Delivered(r.ID())
		if !noAck {
			g.Assign(c, r.ID(), s.v.nowMs, 1)
			c.ActiveMs = s.v.nowMs
		}
		if !emit(&r) {
			n++
			break
		}
	}
	s.v.recount(s.large)
	return n
}

// Redeliver gives a consumer again what is pending for it after an ID, at most count, all if that is 0. It calls emit with
// each until it returns false; with nil instead of an entry that was deleted. It returns how many there were.
func (s Stream) Redeliver(g *stream.Group, c *stream.Consumer, after stream.ID, count int64, emit func(stream.ID, *stream.Range) bool) (n int) {
	from, ok := after.Next()
	for ok && (count == 0 || int64(n) < count) {
		p, found := g.PendingOfFrom(c, from)
		if !found {
			break
		}
		n++
		r := s.Range(p.ID, p.ID, false)
		entry := &r
		if r.Next() {
			g.Assign(c, p.ID, s.v.nowMs, p.Deliveries+1)
		} else {
			entry = nil
		}
		if !emit(p.ID, entry) {
			break
		}
		from, ok = p.ID.Next()
	}
	return n
}

// Acknowledge removes entries from what is pending and returns how many were.
func (s Stream) Acknowledge(g *stream.Group, ids []stream.ID) (n int64) {
	for _, id := range ids {
		if g.Acknowledge(id) {
			n++
		}
	}
	s.v.recount(s.large)
	return n
}

// Claim says what XCLAIM does.
type Claim struct {
	IDs         []stream.ID
	Consumer    []byte
	MinIdleMs   int64
	DeliveredMs int64     // Unix time to note as that of the delivery
	Deliveries  int64     // number to note; -1: one more
	Force       bool      // also what is not pending
	JustID      bool      // the entries are not wanted, and so the number of deliveries stays
	LastID      stream.ID // the group's last ID becomes this one if it is greater
}

// Claim makes pending entries a consumer's that were another one's for long enough, and calls emit with each: with nil for
// the entry if only IDs are wanted. What is pending and was deleted is no longer pending.
func (s Stream) Claim(g *stream.Group, o *Claim, emit func(stream.ID, *stream.Range)) (n int) {
	if g.Last.Less(o.LastID) {
		g.Last = o.LastID
	}
	c := s.Seen(g, o.Consumer)
	for _, id := range o.IDs {
		p, pending := g.Find(id)
		r := s.Range(id, id, false)
		switch {
		case !r.Next():
			g.Acknowledge(id)
			continue
		case !pending && !o.Force, pending && s.v.idleLess(p, o.MinIdleMs):
			continue
		case !pending:
			p.Deliveries = 1
		}
		switch {
		case o.Deliveries >= 0:
			p.Deliveries = o.Deliveries
		case !o.JustID:
			p.Deliveries++
		}
		g.Assign(c, id, o.DeliveredMs, p.Deliveries)
		c.ActiveMs = s.v.nowMs
		if o.JustID {
			emit(id, nil)
		} else {
			emit(id, &r)
		}
		n++
	}
	s.v.recount(s.large)
	return n
}

// AutoClaim says what XAUTOCLAIM does.
type AutoClaim struct {
	From      stream.ID
	Consumer  []byte
	MinIdleMs int64
	Count     int64
	JustID    bool
}

// attemptsPerClaim is how many pending entries AutoClaim looks at for each one that it may return.
const attemptsPerClaim = 10

// AutoClaim is Claim for what is pending from an ID on. It returns the IDs of those that were deleted, and where to go on;
// the zero ID at the end.
func (s Stream) AutoClaim(g *stream.Group, o *AutoClaim, emit func(stream.ID, *stream.Range)) (deleted []stream.ID, next stream.ID) {
	c := s.Seen(g, o.Consumer)
	from, more := o.From, true
	for attempts, left := o.Count*attemptsPerClaim, o.Count; attempts > 0 && left > 0 && more; attempts-- {
		p, found := g.PendingFrom(from)
		if !found {
			more = false
			break
		}
		from, more = p.ID.Next()
		r := s.Range(p.ID, p.ID, false)
		switch {
		case !r.Next():
			g.Acknowledge(p.ID)
			deleted = append(deleted, p.ID)
			left--
			continue
		case s.v.idleLess(p, o.MinIdleMs):
			continue
		}
		entry := &r
		if o.JustID {
			entry = nil
		} else {
			p.Deliveries++
		}
		g.Assign(c, p.ID, s.v.nowMs, p.Deliveries)
		c.ActiveMs = s.v.nowMs
		emit(p.ID, entry)
		left--
	}
	if more {
		if p, found := g.PendingFrom(from); found {
			next = p.ID
		}
	}
	s.v.recount(s.large)
	return deleted, next
}

// idleLess tells whether less time than this has passed since a delivery, which may lie in the future.
func (v *View) idleLess(p stream.Pending, minMs int64) bool {
	return minMs > 0 && v.nowMs-p.DeliveredMs < minMs
}
