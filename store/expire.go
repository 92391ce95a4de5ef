package store

// A key whose deadline has passed is missing from then on. It is removed by whoever meets it with the right to write, and
// by the cycle, which finds those that nobody asks for.
//
// Segments, tables and shards know a lower bound of their deadlines. The bound falls when a deadline is set and rises
// only when the cycle has looked at what is below it, so a shard without anything due costs the cycle one load, and one
// volatile key among ten million costs one pass over the segments of its shard, at the time it is due. Deadlines of fields
// of a hash count for the bounds of its key: see hashexpire.go.

// cycle is how far the expiry cycle has come in a table.
type cycle struct {
	running  bool
	next     uint64 // position where the next segment to be looked at begins, without the shard's bits
	earliest int64  // lower bound of the deadlines of the segments seen, and of all set since the cycle began
}

// cycleSegmentsMax bounds the segments whose bounds are compared while a shard is locked, some 10 µs.
const cycleSegmentsMax = 1024

// note lowers the bounds of the table to a deadline that is being set.
func (t *table) note(deadline int64) {
	t.earliest = min(t.earliest, deadline)
	t.cycle.earliest = min(t.cycle.earliest, deadline)
}

// expire treats a key that was found expired: it is removed if the view may write, and otherwise noted for Unlock.
func (v *View) expire(t *table, pos uint64, key []byte, slot *uint32) {
	if !v.writable || v.keeping {
		v.noteExpired(pos, key)
		return
	}
	v.stats.Expired++
	v.drop(t, pos, key, slot)
	v.event(ClassExpired, "expired", key)
}

// noteExpired remembers an expired key for Unlock.
func (v *View) noteExpired(pos uint64, key []byte) {
	if v.keeping || len(v.expired) == expiredMax || len(key) > expiredKeyMax {
		return
	}
	v.expired = append(v.expired, expiredKey{v.db, pos, append([]byte(nil), key...)})
}

// removeExpired removes the keys that were noted while the view held read locks. It holds none now.
func (v *View) removeExpired() {
	db := v.db
	for _, k := range v.expired {
		v.db = k.db
		sh := v.shard(k.pos)
		sh.mu.Lock()
		v.single, v.writable = true, true
		v.keys = append(v.keys[:0], lockedKey{pos: k.pos})
		if e := v.find(k.pos, k.key); e.Exists() {
			v.expireFields(k.pos, k.key, e)
		}
		v.single, v.writable = false, false
		v.keys = v.keys[:0]
		sh.mu.Unlock()
		v.freeAll()
	}
	clear(v.expired)
	v.expired = v.expired[:0]
	v.db = db
}

// setDeadline changes the deadline of a key that exists, or takes it away (noDeadline). Entries obtained before it are
// no longer valid.
func (v *View) setDeadline(key []byte, e Entry, deadline int64) {
	v.put(v.position(key), key, e.value(), deadline)
}

// ExpireCycle removes keys whose time is over: it looks into at most segmentsMax segments and reports how many keys it
// removed and whether there may be more. The next call goes on where this one stopped, so that no shard is left out while
// others are busy. It takes locks itself, never for longer than one segment takes.
func (v *View) ExpireCycle(segmentsMax int) (removed int64, more bool) {
	v.checkUnlocked()
	before := v.stats.Expired
	db := v.db
	defer func() { v.db = db }()
	for range shardCount {
		sh := &v.store.shards[v.cycleAt]
		for sh.earliest.Load() < v.nowMs {
			if segmentsMax == 0 {
				return v.stats.Expired - before, true
			}
			segmentsMax--
			v.cycleShard(sh, uint64(v.cycleAt)<<(64-shardBits))
			v.freeAll()
		}
		v.cycleAt++ // the type wraps it
	}
	return v.stats.Expired - before, false
}

// cycleShard advances the cycle in the shard that begins at position first by one segment in which something is due.
func (v *View) cycleShard(sh *shard, first uint64) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	earliest := int64(never)
	for db := range sh.tables {
		t := sh.tables[db].Load()
		if t == nil {
			continue
		}
		if t.earliest < v.nowMs {
			v.db = db
			if !v.cycleTable(t, first, v.expireSegment) {
				return
			}
		}
		earliest = min(earliest, t.earliest)
	}
	sh.earliest.Store(earliest)
}

// cycleTable advances the cycle in one table by one segment in which something is due, which expire removes, and reports
// whether it has come to the end.
func (v *View) cycleTable(t *table, first uint64, expire func(t *table, g *segment)) bool {
	c := &t.cycle
	if !c.running {
		*c = cycle{running: true, earliest: never}
	}
	for range cycleSegmentsMax {
		pos := first | c.next>>shardBits
		g := t.segment(pos)
		due := g.earliest < v.nowMs
		if due {
			expire(t, g)
			v.shrink(t, pos)
			v.freeRetired(len(v.work.retired))
			g = t.segment(pos)
		}
		c.earliest = min(c.earliest, g.earliest)
		c.next = g.end(c.next)
		if c.next == 0 {
			c.running = false
			t.earliest = c.earliest
			return true
		}
		if due {
			return false
		}
	}
	return false
}

// end returns where the segment that holds position pos ends, both without the shard's bits; 0 after the last one.
func (g *segment) end(pos uint64) uint64 {
	if g.depth == 0 {
		return 0
	}
	return (pos>>(64-g.depth) + 1) << (64 - g.depth)
}

// hashesMax bounds the hashes of one segment that are looked into while its shard is locked; the others remain due.
const hashesMax = 64

// expireSegment removes the expired keys of a segment, and expired fields of its hashes.
func (v *View) expireSegment(t *table, g *segment) {
	hashes := 0
	v.sweep(t, g, func(pos uint64, e Entry) bool {
		expired := e.expired(v.deadMs)
		if expired {
			v.stats.Expired++
			v.event(ClassExpired, "expired", e.Key())
		} else if h, due := e.fieldsDue(v.deadMs); due && hashes < hashesMax {
			hashes++
			v.sweepFields(e.Key(), h)
			if expired = h.len() == 0; expired {
				v.event(ClassGeneric, "del", e.Key())
			}
		}
		if expired {
			v.touchWatched(pos, e.Key())
		}
		return expired
	})
}

// sweep removes the entries of a segment for which over, given the position as well, returns true, and sets its bound to
// what is left.
func (v *View) sweep(t *table, g *segment, over func(pos uint64, e Entry) bool) {
	g.earliest = never
	for home := range uint32(1) << g.bucketBits {
		for off := home * bucketSize; ; {
			b := g.bucketAt(off)
			for i := uint32(0); i < b.count(); {
				e := g.entry(b[i])
				if at := e.earliest(); at >= v.nowMs {
					g.earliest = min(g.earliest, at)
					i++
					continue
				}
				pos := v.store.position(e.Key())
				if over(pos, e) {
					v.unlink(t, pos, &b[i])
					continue
				}
				g.earliest = min(g.earliest, e.earliest())
				i++
			}
			if off = b.overflow(); off == 0 {
				break
			}
		}
	}
}

// earliest returns a lower bound of the deadlines of an entry and, if it is a hash, of its fields; never without any.
func (e Entry) earliest() int64 {
	at := int64(never)
	if e.flags()&hasDeadline != 0 {
		at = e.deadline()
	}
	if e.kind() == kindHash {
		at = min(at, e.collection().(*hash).earliest)
	}
	return at
}

// noteDeadline lowers the bounds above an entry to a deadline that was given to a field of it; never is none.
func (v *View) noteDeadline(pos uint64, e Entry, deadline int64) {
	if deadline == never {
		return
	}
	e.seg.earliest = min(e.seg.earliest, deadline)
	sh := v.shard(pos)
	sh.tables[v.db].Load().note(deadline)
	if deadline < sh.earliest.Load() {
		sh.earliest.Store(deadline)
	}
}
