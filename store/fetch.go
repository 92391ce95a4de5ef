package store

import "sync/atomic"

// Fetch reads what lookups of the locked keys are about to read: first each key's bucket, then its entry. A lookup waits
// for both, one after the other, mostly for memory beyond a core's own caches; here the reads for different keys do not
// depend on each other, and the processor has many of them under way at once. It is worth it from two keys on.
func (v *View) Fetch() {
	sum := uint32(0)
	for i := range v.keys {
		if g, pos := v.segmentOf(i); g != nil {
			sum += g.bucketAt(g.home(pos) * bucketSize)[bucketSlots]
		}
	}
	for i := range v.keys {
		g, pos := v.segmentOf(i)
		if g == nil {
			continue
		}
		b := g.bucketAt(g.home(pos) * bucketSize)
		for _, slot := range b[:b.count()] {
			if tagOf(slot) == uint16(pos) {
				// Atomic, since one may be the access word of this entry and the other that of the next.
				e := g.entry(slot)
				sum += atomic.LoadUint32(e.access()) + atomic.LoadUint32((*uint32)(e.at(min(fetchAhead, g.size-e.off-unit))))
			}
		}
	}
	v.fetched = sum
}

// fetchAhead is where the second cache line of an entry begins, at the latest: of a small value it is the last.
const fetchAhead = 64

// segmentOf returns the segment of the i-th locked key, or nil if there is none.
func (v *View) segmentOf(i int) (*segment, uint64) {
	pos := v.keys[i].pos
	t := v.shard(pos).tables[v.db].Load()
	if t == nil {
		return nil, pos
	}
	return t.segment(pos), pos
}
