package store

import "math/rand/v2"

// A cursor is a position at the edge of a bucket, without its lowest 11 bits, so that it stays below 2^53 and clients
// that keep it as a floating point number return the same. Splits, merges and growth change where the edges are and
// never the order: a scan that goes on from a position misses nothing that lies behind it.
const cursorShift = 11

// CursorEnd is the first number that is not a cursor.
const CursorEnd = 1 << (64 - cursorShift)

// scanDeadMax is the number of expired entries after which ScanBucket returns without having met a live one.
const scanDeadMax = 1000

// ScanBucket calls fn with the live entries of one bucket, the first one at or after the cursor that has any, and returns
// the cursor that follows; 0 after the last bucket. It gives up after a thousand entries that have expired; some of those
// it meets are noted for Unlock to remove. Every key that is present from the first call to the last is passed to fn at
// least once. It locks the shards it visits itself: the view must hold no locks, or the whole store. Bytes are valid
// inside fn only, and fn must not use the view.
func (v *View) ScanBucket(cursor uint64, fn func(key []byte, e Entry)) (next uint64) {
	v.checkUnlocked()
	if cursor >= CursorEnd {
		return 0
	}
	pos := cursor << cursorShift
	dead := 0
	for {
		end, found := v.scanShard(pos, &dead, fn)
		if found || end == 0 || dead >= scanDeadMax {
			return end >> cursorShift
		}
		pos = end
	}
}

// scanShard is ScanBucket within the shard of pos. It returns the position that follows and whether there was a live
// entry, and counts dead ones.
func (v *View) scanShard(pos uint64, dead *int, fn func(key []byte, e Entry)) (end uint64, found bool) {
	sh := v.shard(pos)
	if !v.exclusive {
		sh.mu.RLock()
		defer sh.mu.RUnlock()
	}
	shardEnd := (pos>>(64-shardBits) + 1) << (64 - shardBits)
	t := sh.tables[v.db].Load()
	if t == nil || t.keys.Load() == 0 {
		return shardEnd, false
	}
	for !found && pos != shardEnd && *dead < scanDeadMax {
		g := t.segment(pos)
		bits := shardBits + g.depth
		if g.count > 0 {
			bits += g.bucketBits
			found = v.scanChain(g, g.home(pos), dead, fn)
		}
		pos = (pos>>(64-bits) + 1) << (64 - bits)
	}
	return pos, found
}

func (v *View) scanChain(g *segment, home uint32, dead *int, fn func(key []byte, e Entry)) (found bool) {
	g.each(home, func(slot uint32) {
		e := g.entry(slot)
		if e.expired(v.deadMs) {
			*dead++
			v.noteExpired(v.store.position(e.Key()), e.Key())
			return
		}
		found = true
		fn(e.Key(), e)
	})
	return found
}

// randomTries is how often RandomKey draws again after an expired key before it takes the next live one in order.
const randomTries = 16

// RandomKey appends a random live key of the view's database to buf, and reports whether there is one. All keys are
// nearly equally likely: shards are weighted by their number of keys, segments by the range of positions they cover. It
// locks as ScanBucket does. While expired keys are kept it answers, as Redis does, with one of them if there is no other.
func (v *View) RandomKey(random *rand.Rand, buf []byte) (key []byte, ok bool) {
	v.checkUnlocked()
	total, _ := v.store.Keys(v.db)
	if total == 0 {
		return nil, false
	}
	for range randomTries {
		if key, ok = v.drawKey(random, total, buf); ok {
			return key, true
		}
	}
	take := func(k []byte, _ Entry) {
		if !ok {
			key, ok = append(buf, k...), true
		}
	}
	start := random.Uint64N(CursorEnd)
	for cursor := v.ScanBucket(start, take); !ok && cursor != 0; {
		cursor = v.ScanBucket(cursor, take)
	}
	for cursor, first := uint64(0), true; !ok && (first || cursor != 0); first = false {
		cursor = v.ScanBucket(cursor, take)
	}
	if !ok && v.keeping {
		defer func(deadMs int64) { v.deadMs = deadMs }(v.deadMs)
		v.ShowExpired()
		v.ScanBucket(0, take)
	}
	return key, ok
}

// drawKey picks the shard of the n-th key, a segment of it by position, and an entry of that.
func (v *View) drawKey(random *rand.Rand, total int64, buf []byte) (key []byte, ok bool) {
	n := random.Int64N(total)
	for i := range v.store.shards {
		t := v.store.shards[i].tables[v.db].Load()
		if t == nil {
			continue
		}
		if n -= t.keys.Load(); n < 0 {
			pos := uint64(i)<<(64-shardBits) | random.Uint64()>>shardBits
			return v.drawFrom(pos, random, buf)
		}
	}
	return nil, false
}

func (v *View) drawFrom(pos uint64, random *rand.Rand, buf []byte) (key []byte, ok bool) {
	sh := v.shard(pos)
	if !v.exclusive {
		sh.mu.RLock()
		defer sh.mu.RUnlock()
	}
	t := sh.tables[v.db].Load()
	if t == nil || t.segment(pos).count == 0 {
		return nil, false
	}
	g := t.segment(pos)
	n := random.Uint32N(g.count)
	for home := range uint32(1) << g.bucketBits {
		g.each(home, func(slot uint32) {
			if n--; n != ^uint32(0) {
				return
			}
			if e := g.entry(slot); !e.expired(v.deadMs) {
				key, ok = append(buf, e.Key()...), true
			}
		})
	}
	return key, ok
}
