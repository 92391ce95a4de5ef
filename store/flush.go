package store

// releaseSegmentsMax is the number of segments up to which a flush frees memory itself, some 2 ms; beyond, a goroutine
// does it.
const releaseSegmentsMax = 1024

// FlushDB removes all keys of a database and returns their number. The view must have the whole store.
func (v *View) FlushDB(db int) int64 {
	v.needExclusive()
	v.flushed(db)
	tables, keys := v.detach(db)
	v.store.release(tables)
	return keys
}

// FlushAll removes all keys of all databases and returns their number. The view must have the whole store.
func (v *View) FlushAll() int64 {
	v.needExclusive()
	v.flushed(-1)
	var all []*table
	total := int64(0)
	for db := range v.store.databases {
		tables, keys := v.detach(db)
		all = append(all, tables...)
		total += keys
	}
	v.store.release(all)
	return total
}

// SwapDB exchanges two databases. The view must have the whole store.
func (v *View) SwapDB(a, b int) {
	v.needExclusive()
	if a == b {
		return
	}
	v.flushed(-1)
	for i := range v.store.shards {
		sh := &v.store.shards[i]
		ta, tb := sh.tables[a].Load(), sh.tables[b].Load()
		v.touchReplaced(sh, a, tb)
		v.touchReplaced(sh, b, ta)
		sh.tables[a].Store(tb)
		sh.tables[b].Store(ta)
	}
}

func (v *View) flushed(db int) {
	if v.changes {
		v.observer.Flushed(db)
	}
}

func (v *View) needExclusive() {
	if !v.exclusive {
		panic("store: needs the whole store")
	}
}

// detach takes the tables of a database out of the store.
func (v *View) detach(db int) (tables []*table, keys int64) {
	for i := range v.store.shards {
		sh := &v.store.shards[i]
		t := sh.tables[db].Load()
		if t == nil {
			continue
		}
		v.touchReplaced(sh, db, nil)
		sh.tables[db].Store(nil)
		keys += t.keys.Load()
		tables = append(tables, t)
	}
	return tables, keys
}

// release frees the memory of tables that nothing refers to any more.
func (s *Store) release(tables []*table) {
	segments := 0
	for _, t := range tables {
		segments += len(t.directory)
	}
	if segments <= releaseSegmentsMax {
		for _, t := range tables {
			s.releaseTable(t)
		}
		return
	}
	s.releasing.Go(func() {
		for i, t := range tables {
			s.releaseTable(t)
			tables[i] = nil
		}
	})
}

func (s *Store) releaseTable(t *table) {
	freed := tableSize + int64(len(t.directory))*pointerSize
	var last *segment
	for _, g := range t.directory {
		if g == last {
			continue
		}
		last = g
		freed += segmentSize
		if g.run != 0 {
			s.pool.Free(g.run)
		} else {
			freed += int64(g.size)
		}
		for i := range g.objects.table {
			o := &g.objects.table[i]
			if o.bytes != nil || o.coll != nil {
				s.objectBytes.Add(-o.size())
			}
			s.bury(o.coll)
		}
	}
	s.heapBytes.Add(-freed)
}
