package store

import (
	fifo "container/list"
	"unsafe"
)

// Waiter is a client that waits for keys of one database to become ready. The shards remember who waits for which key, in
// the order in which they began; what ready means, and who is served, is the server's business.
type Waiter struct {
	Owner any // the server's

	db    int
	keys  []string
	nodes []*fifo.Element // in the lists of the keys' shards
}

// Keys returns the keys waited for, and their database.
func (w *Waiter) Keys() (db int, keys []string) { return w.db, w.keys }

// Wait registers a waiter for keys, which must be locked for writing since the shards keep the registration. A key that
// is given twice is registered once.
func (v *View) Wait(w *Waiter, keys [][]byte) {
	w.db = v.db
next:
	for _, key := range keys {
		for _, k := range w.keys {
			if k == string(key) {
				continue next
			}
		}
		pos := v.position(key)
		v.check(pos, true)
		sh := v.shard(pos)
		if sh.waiters == nil {
			sh.waiters = map[string]*fifo.List{}
		}
		l := sh.waiters[string(key)]
		if l == nil {
			l = fifo.New()
			sh.waiters[string(key)] = l
		}
		w.keys = append(w.keys, string(key))
		w.nodes = append(w.nodes, l.PushBack(w))
		v.store.waiting.Add(1)
	}
}

// StopWaiting forgets a waiter. The view must hold no locks, or the whole store.
func (v *View) StopWaiting(w *Waiter) {
	for i, key := range w.keys {
		sh := v.shard(v.store.position([]byte(key)))
		if !v.exclusive {
			v.checkUnlocked()
			sh.mu.Lock()
		}
		l := sh.waiters[key]
		l.Remove(w.nodes[i])
		if l.Len() == 0 {
			delete(sh.waiters, key)
		}
		v.store.waiting.Add(-1)
		if !v.exclusive {
			sh.mu.Unlock()
		}
	}
	w.keys, w.nodes = nil, nil
}

// Awaited reports whether somebody waits for a key that the view has locked, in whatever database.
func (v *View) Awaited() bool {
	if v.store.waiting.Load() == 0 {
		return false
	}
	for i := range v.keys {
		k := &v.keys[i]
		if sh := v.shard(k.pos); len(sh.waiters) != 0 && sh.waiters[string(unsafe.Slice(k.bytes, k.len))] != nil {
			return true
		}
	}
	return false
}

// Waiting reports whether anybody waits for any key. It may be called from any goroutine.
func (s *Store) Waiting() bool { return s.waiting.Load() != 0 }

// WaitersOf appends those who wait for a key, in whatever database, to ws in the order in which they began. The view must
// have the whole store.
func (v *View) WaitersOf(key []byte, ws []*Waiter) []*Waiter {
	v.needExclusive()
	if l := v.shard(v.store.position(key)).waiters[string(key)]; l != nil {
		for n := l.Front(); n != nil; n = n.Next() {
			ws = append(ws, n.Value.(*Waiter))
		}
	}
	return ws
}

// AwaitedKeys appends the names of all keys that somebody waits for. The view must have the whole store.
func (v *View) AwaitedKeys(keys [][]byte) [][]byte {
	v.needExclusive()
	for i := range v.store.shards {
		for key := range v.store.shards[i].waiters {
			keys = append(keys, []byte(key))
		}
	}
	return keys
}
