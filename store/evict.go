package store

// Eviction removes keys to make room, as Redis does: not the worst key of all by the policy, which would want an order kept
// at every access, but the worst of a few that are drawn at random. What is drawn and not removed is kept in a pool, so that
// the next draws compete with the best finds of those before. With five samples and a pool of 16 the result is close to an
// exact policy; go test -run HitRatio measures how close.
//
// A draw is a random position, from which entries are taken as they come: a position is a hash, so those that follow each
// other in order have nothing to do with each other. A segment covers a range of positions in proportion to its share of
// the keys, however full it is, and a random entry of the bucket is the first to be taken, so that those added last are
// drawn as often as those that were there before.
//
// A view has a pool of its own. A key in it may be gone, or have been used since, which shows by its access word: it is
// passed over then. Redis would remove the latter all the same.

// Order is what keys are compared by when one of them is to be evicted.
type Order uint8

const (
	NoOrder      Order = iota // nothing is evicted
	LeastRecent               // the longest unused
	LeastOften                // the least often used
	SoonestToDie              // the earliest deadline
	AnyKey                    // one is as good as another
)

// Eviction says which keys are evicted, and how frequencies are counted. See frequency.go.
type Eviction struct {
	Order        Order
	VolatileOnly bool // only keys that have a deadline
	Samples      int  // drawn for each key that is evicted, from each database; at least 1
	Frequency    Frequency
}

// SetEviction changes how keys are evicted. No view may be in use meanwhile.
func (s *Store) SetEviction(e Eviction) {
	e.Samples = min(max(e.Samples, 1), samplesMax)
	s.eviction.Eviction = e
	s.eviction.counting = e.Order == LeastOften
	s.eviction.generation++
}

// Counting reports whether the keys know how often they are used, instead of when they were used last.
func (s *Store) Counting() bool { return s.eviction.counting }

// eviction is the store's part; the rest is in the views.
type eviction struct {
	Eviction
	counting   bool
	generation int // of the settings: badness is not comparable between them
}

const (
	// samplesMax bounds the entries drawn from one database: with 64 the choice is as good as exact.
	samplesMax = 64
	// poolMax is the size of the pool, which is Redis's.
	poolMax = 16
	// evictTries bounds the draws for one key, when those that were drawn are used or removed by others meanwhile.
	evictTries = 16
	// totalsEveryMs is how long it is believed which databases have keys: to find out looks at all their tables.
	totalsEveryMs = 100
)

// A candidate is a key in the pool.
type candidate struct {
	badness uint64 // the greater, the sooner it is evicted
	db      int
	pos     uint64
	mark    uint64 // what badness came from: the access word or the deadline
	key     []byte
}

// evictor is a view's state of eviction.
type evictor struct {
	generation int
	pool       [poolMax]candidate // the worst last; the first n are in use, the keys of the others are memory to use
	n          int
	databases  []int // those with keys that may be evicted, as of totalsMs
	totalsMs   int64
	next       int // which of them comes next, where any key will do
}

// Evict removes one key as the policy wants it, and reports false if there is none that it allows to remove. It locks one
// shard at a time itself: the view must hold no locks, or the whole store. Nothing of it is an access.
func (v *View) Evict() bool {
	v.checkUnlocked()
	db := v.db
	defer func() { v.db = db }()
	set := &v.store.eviction
	if set.Order == NoOrder {
		return false
	}
	if v.evictor == nil || v.evictor.generation != set.generation {
		v.evictor = &evictor{generation: set.generation}
	}
	for try := range evictTries {
		found := v.drawCandidates()
		for p := v.evictor; p.n > 0; {
			p.n--
			if v.evictCandidate(&p.pool[p.n], try == evictTries-1) {
				return true
			}
		}
		if !found {
			return false
		}
	}
	return false
}

// drawCandidates fills the pool from all databases that have keys, or with one key where any will do. It reports false if
// there are none.
func (v *View) drawCandidates() (found bool) {
	p, set := v.evictor, &v.store.eviction
	for range 2 {
		known := v.nowMs-p.totalsMs < totalsEveryMs && v.nowMs >= p.totalsMs && len(p.databases) > 0
		if !known {
			v.countDatabases()
		}
		for i := range p.databases {
			n := set.Samples
			if set.Order == AnyKey {
				n, i = 1, p.next%len(p.databases)
				p.next++
			}
			v.db = p.databases[i]
			v.draw(n, set.VolatileOnly, func(pos uint64, e Entry) {
				found = true
				badness, mark := v.badness(e)
				p.offer(badness, mark, v.db, pos, e)
			})
			if set.Order == AnyKey && found {
				return true
			}
		}
		if found || !known {
			return found
		}
		p.databases = p.databases[:0] // they have changed
	}
	return found
}

// countDatabases finds out which databases have keys that may be evicted.
func (v *View) countDatabases() {
	p := v.evictor
	p.databases, p.totalsMs = p.databases[:0], v.nowMs
	for db := range v.store.databases {
		keys, volatile := v.store.Keys(db)
		if volatile > 0 || keys > 0 && !v.store.eviction.VolatileOnly {
			p.databases = append(p.databases, db)
		}
	}
}

// badness tells how good it would be to evict an entry, and from which of its fields that follows.
func (v *View) badness(e Entry) (badness, mark uint64) {
	word := e.AccessWord()
	switch v.store.eviction.Order {
	case LeastRecent:
		return uint64(idleSeconds(word, v.clock())), uint64(word)
	case LeastOften:
		return frequencyMax - uint64(v.store.eviction.Frequency.decayed(word, v.clock())), uint64(word)
	case SoonestToDie:
		at := uint64(e.ExpireAt()) ^ 1<<63 // in the order of unsigned numbers
		return ^at, at
	}
	return 0, uint64(word)
}

// offer puts an entry into the pool if there is room, or if it is worse than one that is there.
func (p *evictor) offer(badness, mark uint64, db int, pos uint64, e Entry) {
	at := 0
	for at < p.n && p.pool[at].badness < badness {
		at++
	}
	switch {
	case p.n < poolMax:
		spare := p.pool[p.n]
		copy(p.pool[at+1:], p.pool[at:p.n])
		p.pool[at] = spare
		p.n++
	case at == 0:
		return
	default:
		at--
		spare := p.pool[0]
		copy(p.pool[:at], p.pool[1:at+1])
		p.pool[at] = spare
	}
	c := &p.pool[at]
	if cap(c.key) > inlineMax { // a long one is not kept for the others
		c.key = nil
	}
	*c = candidate{badness, db, pos, mark, append(c.key[:0], e.Key()...)}
}

// evictCandidate removes a key of the pool, and reports whether it did. It does not if the key is gone, is not of those
// that may go, or has changed since it was drawn, the last of which is overlooked with force.
func (v *View) evictCandidate(c *candidate, force bool) bool {
	v.db = c.db
	sh := v.shard(c.pos)
	if !v.exclusive {
		sh.mu.Lock()
		v.single, v.writable = true, true
		v.keys = append(v.keys[:0], lockedKey{pos: c.pos})
	}
	done := v.evictLocked(sh, c, force)
	if !v.exclusive {
		v.single, v.writable = false, false
		v.keys = v.keys[:0]
		sh.mu.Unlock()
	}
	v.freeAll()
	return done
}

func (v *View) evictLocked(sh *shard, c *candidate, force bool) bool {
	t := sh.tables[c.db].Load()
	if t == nil {
		return false
	}
	slot := t.segment(c.pos).find(c.pos, c.key)
	if slot == nil {
		return false
	}
	e := t.segment(c.pos).entry(*slot)
	if _, mark := v.badness(e); mark != c.mark && !force || v.store.eviction.VolatileOnly && e.flags()&hasDeadline == 0 {
		return false
	}
	if e.expired(v.deadMs) {
		v.expire(t, c.pos, c.key, slot)
		v.releaseEmpty(sh, t, c.db)
		return !v.keeping // else it has stayed
	}
	v.stats.Evicted++
	v.drop(t, c.pos, c.key, slot)
	v.event(ClassEvicted, "evicted", c.key)
	v.releaseEmpty(sh, t, c.db)
	return true
}

// releaseEmpty gives up the memory of a table whose last key has gone, which is locked for writing. Where memory is so short
// that a shard has no more than a key, empty tables would take all of it.
func (v *View) releaseEmpty(sh *shard, t *table, db int) {
	if t.keys.Load() == 0 {
		sh.tables[db].Store(nil)
		v.store.releaseTable(t)
	}
}

// draw calls fn with up to n entries of the view's database from a random place on. It goes round once: an entry may come
// twice if there are fewer, and each comes. fn must not keep the entry.
func (v *View) draw(n int, volatile bool, fn func(pos uint64, e Entry)) {
	d := drawing{left: n, volatile: volatile, fn: fn}
	pos := v.random.Uint64()
	for shards := shardCount; shards >= 0 && d.left > 0; shards-- {
		first := !d.begun
		d.fromShard(v, pos)
		if first && d.begun {
			shards = shardCount // it comes round to this one, of which the first entries were left out
		}
		pos = (pos>>(64-shardBits) + 1) << (64 - shardBits) // wraps
	}
}

// drawing is a draw that is being made.
type drawing struct {
	left     int
	volatile bool
	begun    bool // an entry was taken
	fn       func(pos uint64, e Entry)
}

// fromShard takes entries of one shard from position pos on.
func (d *drawing) fromShard(v *View, pos uint64) {
	sh := v.shard(pos)
	t := sh.tables[v.db].Load()
	if t == nil || t.keys.Load() == 0 || d.volatile && t.volatile.Load() == 0 {
		return
	}
	if !v.exclusive {
		sh.mu.RLock()
		defer sh.mu.RUnlock()
		t = sh.tables[v.db].Load() // it may have been another until the lock was there
		if t == nil {
			return
		}
	}
	last := pos >> (64 - shardBits)
	for d.left > 0 && pos>>(64-shardBits) == last {
		g := t.segment(pos)
		depth := shardBits + g.depth
		if g.count > 0 && (!d.volatile || g.volatile > 0) {
			d.fromChain(v, g, g.home(pos))
			depth += g.bucketBits
		}
		next := (pos>>(64-depth) + 1) << (64 - depth)
		if next == 0 {
			return
		}
		pos = next
	}
}

// fromChain takes entries of a bucket and its overflow buckets, the first of a draw from a random one on.
func (d *drawing) fromChain(v *View, g *segment, home uint32) {
	skip := uint32(0)
	if !d.begun {
		n := uint32(0)
		for b := g.bucketAt(home * bucketSize); ; b = g.bucketAt(b.overflow()) {
			if n += b.count(); b.overflow() == 0 {
				break
			}
		}
		if n > 1 {
			skip = v.random.Uint32N(n)
		}
	}
	g.each(home, func(slot uint32) {
		if skip > 0 {
			skip--
			return
		}
		e := g.entry(slot)
		if d.left == 0 || d.volatile && e.flags()&hasDeadline == 0 {
			return
		}
		d.begun = true
		d.left--
		d.fn(v.store.position(e.Key()), e)
	})
}
