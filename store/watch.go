package store

import (
	"slices"
	"sync/atomic"
	"unsafe"
)

// Watcher is a client's set of watched keys. Its owner calls the methods of the view with it; other goroutines mark it.
type Watcher struct {
	dirty   atomic.Bool
	keys    []watchedKey
	expired []bool // by key: it had expired when it was watched, and was kept
}

// A watchedKey is a key of a database.
type watchedKey struct {
	db   int
	name string
}

// Watching reports whether any key is watched.
func (w *Watcher) Watching() bool { return len(w.keys) > 0 }

// Len returns the number of keys watched.
func (w *Watcher) Len() int { return len(w.keys) }

// HeldBytes is what the keys watched take, about: each is known to the watcher and to its shard.
func (w *Watcher) HeldBytes() (n int64) {
	for _, k := range w.keys {
		n += int64(2*unsafe.Sizeof(k)) + int64(len(k.name)) + int64(unsafe.Sizeof(w))
	}
	return n
}

// Names calls fn with each key watched, and its database.
func (w *Watcher) Names(fn func(db int, key string)) {
	for _, k := range w.keys {
		fn(k.db, k.name)
	}
}

// Marked reports whether a watched key was changed since it was watched. Unlike Dirty it wants no locks and does not see
// that a key has expired.
func (w *Watcher) Marked() bool { return w.dirty.Load() }

// Watch adds a key, which must be locked for writing since the shard keeps the registration. A key that has expired is
// removed first: if it is absent now, its removal later is no change.
func (v *View) Watch(w *Watcher, key []byte) {
	pos := v.position(key)
	v.check(pos, true)
	v.find(pos, key)
	k := watchedKey{v.db, string(key)}
	sh := v.shard(pos)
	if slices.Contains(sh.watchers[k], w) {
		return
	}
	if sh.watchers == nil {
		sh.watchers = map[watchedKey][]*Watcher{}
	}
	sh.watchers[k] = append(sh.watchers[k], w)
	w.keys, w.expired = append(w.keys, k), append(w.expired, v.hasExpired(key))
}

// Unwatch forgets all keys and the mark. The view must hold no locks, or the whole store.
func (v *View) Unwatch(w *Watcher) {
	v.checkUnlocked()
	for _, k := range w.keys {
		sh := v.shard(v.store.position([]byte(k.name)))
		if !v.exclusive {
			sh.mu.Lock()
		}
		rest := slices.DeleteFunc(sh.watchers[k], func(o *Watcher) bool { return o == w })
		if len(rest) == 0 {
			delete(sh.watchers, k)
		} else {
			sh.watchers[k] = rest
		}
		if !v.exclusive {
			sh.mu.Unlock()
		}
	}
	w.keys, w.expired = nil, nil
	w.dirty.Store(false)
}

// Dirty reports whether a watched key was changed since it was watched, or has expired. All watched keys must be locked.
func (v *View) Dirty(w *Watcher) bool {
	if w.dirty.Load() {
		return true
	}
	db := v.db
	defer func() { v.db = db }()
	for i, k := range w.keys {
		v.db = k.db
		if !w.expired[i] && v.hasExpired([]byte(k.name)) {
			return true
		}
	}
	return false
}

// hasExpired reports whether a key is still in the store and has expired.
func (v *View) hasExpired(key []byte) bool {
	pos := v.position(key)
	v.check(pos, false)
	t := v.shard(pos).tables[v.db].Load()
	if t == nil {
		return false
	}
	g := t.segment(pos)
	slot := g.find(pos, key)
	return slot != nil && g.entry(*slot).expired(v.deadMs)
}

// touchWatched marks whoever watches a key that is being changed, and tells the observer: every change of a key passes here.
func (v *View) touchWatched(pos uint64, key []byte) {
	if v.changes {
		v.observer.Changed(v.db, key)
	}
	if sh := v.shard(pos); len(sh.watchers) != 0 {
		for _, w := range sh.watchers[watchedKey{v.db, string(key)}] {
			w.dirty.Store(true)
		}
	}
}

// touchReplaced marks the watchers of keys of a database whose table is replaced by that of another, or by none: those
// of keys that exist before or after. A key that would appear already expired is removed instead, since it is missing
// before and after.
func (v *View) touchReplaced(sh *shard, db int, by *table) {
	for k, watchers := range sh.watchers {
		if k.db != db {
			continue
		}
		pos := v.store.position([]byte(k.name))
		exists := has(sh.tables[db].Load(), pos, k.name)
		if !exists && has(by, pos, k.name) {
			slot := by.segment(pos).find(pos, []byte(k.name))
			if by.segment(pos).entry(*slot).expired(v.deadMs) {
				if !v.keeping {
					v.stats.Expired++
					v.eventIn(db, ClassExpired, "expired", []byte(k.name))
					v.unlink(by, pos, slot)
				}
				continue
			}
			exists = true
		}
		if exists {
			for _, w := range watchers {
				w.dirty.Store(true)
			}
		}
	}
}

func has(t *table, pos uint64, key string) bool {
	return t != nil && t.segment(pos).find(pos, []byte(key)) != nil
}
