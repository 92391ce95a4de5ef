package store

// ttlSample is how many keys with a deadline AverageTTL looks at. Positions are hashes, so the first ones in their order
// are a random sample.
const ttlSample = 256

// AverageTTL estimates the time that the volatile keys of a database have left on average, in ms; 0 without such keys.
// The caller must have the whole store.
func (s *Store) AverageTTL(db int, nowMs int64) int64 {
	sum, n := 0.0, 0
	for i := range s.shards {
		t := s.shards[i].tables[db].Load()
		if t == nil || t.volatile.Load() == 0 {
			continue
		}
		for pos, more := uint64(0), true; more; more = pos != 0 {
			g := t.segment(uint64(i)<<(64-shardBits) | pos>>shardBits)
			for home := range uint32(1) << g.bucketBits {
				g.each(home, func(slot uint32) {
					if e := g.entry(slot); e.flags()&hasDeadline != 0 {
						sum += float64(max(e.deadline()-nowMs, 0))
						n++
					}
				})
			}
			if n >= ttlSample {
				return int64(sum / float64(n))
			}
			pos = g.end(pos)
		}
	}
	if n == 0 {
		return 0
	}
	return int64(sum / float64(n))
}
