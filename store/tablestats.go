package store

// TableStats describe a hash table: a database's, or that of a large set, hash or sorted set.
type TableStats struct {
	Keys     int64   // or members or fields; those that have expired count until they are removed
	Volatile int64   // how many of them have a deadline
	Segments int64   // that the table consists of
	Buckets  int64   // of all segments
	Chains   []int64 // how many buckets have as many entries as the index says
}

// TableStats describes the table of a database. The view must have the whole store.
func (v *View) TableStats(db int) (s TableStats) {
	for i := range v.store.shards {
		if t := v.store.shards[i].tables[db].Load(); t != nil {
			s.add(t)
		}
	}
	return s
}

// ValueTableStats describes the table of the value of an entry; ok is false if it has none. It leaves no trace.
func (v *View) ValueTableStats(e Entry) (s TableStats, ok bool) {
	switch e.kind() {
	case kindSet:
		s.add(e.collection().(set).table)
	case kindHash:
		s.add(e.collection().(*hash).table)
	case kindZset:
		s.add(e.collection().(*zset).scores.table)
	default:
		return s, false
	}
	return s, true
}

func (s *TableStats) add(t *table) {
	s.Keys += t.keys.Load()
	s.Volatile += t.volatile.Load()
	t.eachSegment(func(g *segment) bool {
		s.Segments++
		for home := range uint32(1) << g.bucketBits {
			entries := 0
			g.each(home, func(uint32) { entries++ })
			for len(s.Chains) <= entries {
				s.Chains = append(s.Chains, 0)
			}
			s.Chains[entries]++
			s.Buckets++
		}
		return true
	})
}
