package store

// A dict is a table of fields that belongs to a value: the elements of a large set, the fields and values of a large hash,
// the scores of a large sorted set. It is made of the keyspace's own segments: entries lie in arenas without pointers, it
// grows and shrinks by splitting and merging one segment at a time, so that no size makes a command slow, and the order of
// positions gives its scans SCAN's guarantee. Of a field's position the bits that choose the shard of a key are not used.
//
// An entry costs 12 bytes, its field and value rounded up to 8, and some 10 bytes of index.
type dict struct {
	*table
}

func (v *View) newDict() *dict { return &dict{v.store.newTable()} }

func (d *dict) len() int { return int(d.keys.Load()) }

func (d *dict) footprint() int64 {
	n := tableSize + int64(len(d.directory))*pointerSize
	d.eachSegment(func(g *segment) bool {
		n += segmentSize + int64(g.size)
		for i := range g.objects.table {
			n += g.objects.table[i].size()
		}
		return true
	})
	return n
}

func (d *dict) release(s *Store) { s.releaseTable(d.table) }

// eachSegment calls fn with each segment, in order, until it returns false.
func (t *table) eachSegment(fn func(g *segment) bool) {
	for i := 0; i < len(t.directory); {
		g := t.directory[i]
		if !fn(g) {
			return
		}
		i += 1 << (t.depth - g.depth)
	}
}

// dictFind returns the entry of a field, or none if it is missing or has expired.
func (v *View) dictFind(d *dict, field []byte) Entry {
	pos := v.store.position(field)
	g := d.segment(pos)
	slot := g.find(pos, field)
	if slot == nil {
		return Entry{}
	}
	e := g.entry(*slot)
	if e.expired(v.deadMs) {
		return Entry{}
	}
	return e
}

// dictSet gives a field a value and a deadline (ms, or noDeadline), and reports whether it was missing before, or had
// expired. The operands may alias what the view has returned since its last write.
func (v *View) dictSet(d *dict, field, val []byte, deadline int64) (added bool) {
	old := len(v.work.retired)
	pos := v.store.position(field)
	r := record{key: field, value: value{kind: kindRaw, bytes: val}, deadline: deadline}
	if slot := d.segment(pos).find(pos, field); slot == nil {
		v.insert(d.table, pos, &r)
		added = true
	} else {
		added = d.segment(pos).entry(*slot).expired(v.deadMs)
		v.rewrite(d.table, pos, slot, &r)
	}
	if deadline != noDeadline {
		d.note(deadline)
	}
	v.freeRetired(old)
	return added
}

// dictDelete removes a field, and reports whether there was one that had not expired.
func (v *View) dictDelete(d *dict, field []byte) bool {
	old := len(v.work.retired)
	pos := v.store.position(field)
	slot := d.segment(pos).find(pos, field)
	if slot == nil {
		return false
	}
	e := d.segment(pos).entry(*slot)
	live := !e.expired(v.deadMs)
	v.unlink(d.table, pos, slot)
	e.seg.reclaim(e)
	v.shrink(d.table, pos)
	v.freeRetired(old)
	return live
}

// dictEach calls fn with each entry that has not expired, in the order of positions, until it returns false. fn must not
// change the dict.
func (v *View) dictEach(d *dict, fn func(Entry) bool) {
	d.eachSegment(func(g *segment) bool {
		for home := range uint32(1) << g.bucketBits {
			for off := home * bucketSize; ; {
				b := g.bucketAt(off)
				for _, slot := range b[:b.count()] {
					if e := g.entry(slot); !e.expired(v.deadMs) && !fn(e) {
						return false
					}
				}
				if off = b.overflow(); off == 0 {
					break
				}
			}
		}
		return true
	})
}

// dictCursorShift makes a position, without the shard's bits, a cursor below 2^53: see cursorShift.
const dictCursorShift = cursorShift - shardBits

// dictScan calls fn with the live entries of one bucket, the one at the cursor, and returns the cursor that follows; 0
// after the last bucket. It keeps SCAN's promise: see ScanBucket. fn must not change the dict.
func (v *View) dictScan(d *dict, cursor uint64, fn func(Entry)) (next uint64) {
	if cursor >= CursorEnd {
		return 0
	}
	pos := cursor << dictCursorShift
	g := d.segment(pos)
	g.each(g.home(pos), func(slot uint32) {
		if e := g.entry(slot); !e.expired(v.deadMs) {
			fn(e)
		}
	})
	bits := shardBits + g.depth + g.bucketBits
	end := (pos>>(64-bits) + 1) << (64 - bits)
	if end == 1<<(64-shardBits) {
		return 0
	}
	return end >> dictCursorShift
}

// dictRandom returns an entry that is not expired, each with exactly the same probability, or none if there is none. A
// segment is drawn by position and taken with a probability that makes up for its share of positions and its number of
// entries, on average after two draws; then one of its entries by rank.
func (v *View) dictRandom(d *dict) Entry {
	if d.len() == 0 {
		return Entry{}
	}
	for range 64 {
		g := v.randomSegment(d.table)
		if e := g.entry(v.randomSlot(g)); !e.expired(v.deadMs) {
			return e
		}
	}
	return v.randomLive(d)
}

func (v *View) randomSegment(t *table) *segment {
	if t.depth == 0 {
		return t.directory[0]
	}
	for {
		g := t.directory[v.random.IntN(len(t.directory))]
		if v.random.Uint64N(itemsMax<<(t.depth-g.depth)) < uint64(g.count) {
			return g
		}
	}
}

// randomSlot counts through the buckets, which lie in a row and are fetched ahead. Drawing a bucket and a place in it until
// there is an entry takes some ten draws, each a miss of the caches: twice the time.
func (v *View) randomSlot(g *segment) uint32 {
	n := v.random.Uint32N(g.count)
	for home := uint32(0); ; home += bucketSize {
		for off := home; ; {
			b := g.bucketAt(off)
			if n < b.count() {
				return b[n]
			}
			n -= b.count()
			if off = b.overflow(); off == 0 {
				break
			}
		}
	}
}

// randomLive draws among the live entries of a dict in which nearly all have expired.
func (v *View) randomLive(d *dict) (drawn Entry) {
	seen := uint64(0)
	v.dictEach(d, func(e Entry) bool {
		if seen++; v.random.Uint64N(seen) == 0 {
			drawn = e
		}
		return true
	})
	return drawn
}

// dictClone returns a copy.
func (v *View) dictClone(d *dict) *dict {
	to := v.newDict()
	v.dictEach(d, func(e Entry) bool {
		v.dictSet(to, e.Key(), e.text(), deadlineOf(e))
		return true
	})
	return to
}
