package store

import (
	"sync/atomic"

	"kvserver/hotkeys"
)

// Lookup finds a key for reading: one access, and a hit or a miss.
func (v *View) Lookup(key []byte) Entry { return v.lookupRead(key, !v.noTouch) }

// LookupUntouched is Lookup for commands that ask about a key and do not use its value, such as TTL, TYPE and EXISTS: the
// time of last use stays as it is.
func (v *View) LookupUntouched(key []byte) Entry { return v.lookupRead(key, false) }

func (v *View) lookupRead(key []byte, touch bool) Entry {
	pos := v.position(key)
	e := v.find(pos, key)
	if e.seg == nil {
		v.count(pos, key, e, hotkeys.Miss)
		v.stats.Misses++
		v.event(ClassMiss, "keymiss", key)
		return e
	}
	v.count(pos, key, e, hotkeys.Read)
	v.stats.Hits++
	if touch {
		v.touch(e)
	}
	return e
}

// LookupWrite finds a key in order to change it: one access, neither hit nor miss.
func (v *View) LookupWrite(key []byte) Entry {
	pos := v.position(key)
	e := v.find(pos, key)
	v.count(pos, key, e, hotkeys.Write)
	if e.seg != nil && !v.noTouch {
		v.touch(e)
	}
	return e
}

// Peek finds a key without any trace: no access, no hit or miss, no time of use. It is for introspection.
func (v *View) Peek(key []byte) Entry { return v.find(v.position(key), key) }

// PeekString is Peek for the value of a string; ok is false if there is none.
func (v *View) PeekString(key []byte) (val []byte, ok bool, err error) {
	return v.stringOf(v.Peek(key))
}

// Remove deletes a key on behalf of a client, and reports whether there was one. It is an access if it removed something.
func (v *View) Remove(key []byte) bool {
	if !v.take(key) {
		return false
	}
	v.event(ClassGeneric, "del", key)
	return true
}

// take is Remove for a key of which more is to be said than that it is gone.
func (v *View) take(key []byte) bool {
	pos := v.position(key)
	if v.marksHeld() {
		if e := v.find(pos, key); e.Exists() {
			v.count(pos, key, e, hotkeys.Write)
		}
		return v.delete(pos, key)
	}
	if !v.delete(pos, key) {
		return false
	}
	v.count(pos, key, Entry{}, hotkeys.Write)
	return true
}

// count records an access to a key. e is its entry, if it has one.
func (v *View) count(pos uint64, key []byte, e Entry, op hotkeys.Op) {
	switch {
	case v.rec == nil:
	case !v.rec.Holds():
		v.rec.Access(pos, key, v.db, op)
	case e.seg == nil:
		v.rec.AccessMissing(pos, key, v.db, op)
	default:
		v.countMarkable(pos, key, e, op)
	}
}

// countMarkable is count for a key whose entry says whether it is held.
func (v *View) countMarkable(pos uint64, key []byte, e Entry, op hotkeys.Op) {
	access := e.access()
	marked := atomic.LoadUint32(access)&heldMark != 0
	switch mark := v.rec.AccessMarkable(pos, key, v.db, op, marked); {
	case mark == marked:
	case mark:
		atomic.OrUint32(access, heldMark)
	default:
		atomic.AndUint32(access, ^uint32(heldMark))
	}
}

// countWrite is count for a write that has not looked the key up: it does so if the entry matters.
func (v *View) countWrite(pos uint64, key []byte) {
	var e Entry
	if v.marksHeld() {
		e = v.find(pos, key)
	}
	v.count(pos, key, e, hotkeys.Write)
}

// markOf returns the mark that a new key bears.
func (v *View) markOf(pos uint64) uint32 {
	if v.rec != nil && v.rec.Marks(pos, v.db) {
		return heldMark
	}
	return 0
}

// marksHeld tells whether entries are marked whose keys are held: see hotkeys.Recorder.
func (v *View) marksHeld() bool { return v.rec != nil && v.rec.Holds() }

// touch notes a use. It writes the time of it only when the second has changed: a key that several cores read would
// otherwise have its cache line pass between them at every read.
func (v *View) touch(e Entry) {
	now := v.clock()
	access := e.access()
	if word := atomic.LoadUint32(access); word&^heldMark != now {
		v.noteUse(access, word, now)
	}
}

// find returns the live entry of a key. An expired one is removed, or, under a read lock, noted to be removed by Unlock.
func (v *View) find(pos uint64, key []byte) Entry {
	v.check(pos, false)
	t := v.shard(pos).tables[v.db].Load()
	if t == nil {
		return Entry{}
	}
	g := t.segment(pos)
	slot := g.find(pos, key)
	if slot == nil {
		return Entry{}
	}
	e := g.entry(*slot)
	if e.expired(v.deadMs) {
		v.expire(t, pos, key, slot)
		return Entry{}
	}
	return e
}

// delete removes a key that has not expired and reports whether there was one.
func (v *View) delete(pos uint64, key []byte) bool {
	v.check(pos, true)
	t := v.shard(pos).tables[v.db].Load()
	if t == nil {
		return false
	}
	slot := t.segment(pos).find(pos, key)
	if slot == nil {
		return false
	}
	if t.segment(pos).entry(*slot).expired(v.deadMs) {
		v.expire(t, pos, key, slot)
		return false
	}
	v.drop(t, pos, key, slot)
	return true
}

// drop removes the entry of *slot.
func (v *View) drop(t *table, pos uint64, key []byte, slot *uint32) {
	old := len(v.work.retired)
	v.touchWatched(pos, key)
	e := t.segment(pos).entry(*slot)
	v.unlink(t, pos, slot)
	e.seg.reclaim(e)
	v.shrink(t, pos)
	v.freeRetired(old)
}

// unlink removes the entry of *slot and leaves the shape of the table alone.
func (v *View) unlink(t *table, pos uint64, slot *uint32) {
	g := t.segment(pos)
	volatile := g.volatile
	v.remove(g, g.home(pos), slot)
	t.keys.Add(-1)
	if g.volatile != volatile {
		t.volatile.Add(-1)
	}
}

// put gives a key a value and a deadline (ms, or noDeadline), whether or not it exists. The operands may alias what the
// view has returned since its last write, the key's old value included.
func (v *View) put(pos uint64, key []byte, val value, deadline int64) Entry {
	v.touchWatched(pos, key)
	return v.putUnmarked(pos, key, val, deadline)
}

// putUnmarked is put for a value that says the same in another form: those who watch the key are not told.
func (v *View) putUnmarked(pos uint64, key []byte, val value, deadline int64) Entry {
	v.check(pos, true)
	old := len(v.work.retired)
	t := v.store.table(v.shard(pos), v.db)
	if v.classes&(ClassNew|ClassExpired) != 0 {
		v.arriving(t, pos, key)
	}
	e := v.write(t, pos, &record{key: key, value: val, deadline: deadline, access: v.newWord()})
	v.noteDeadline(pos, e, e.earliest())
	v.freeRetired(old)
	return e
}

// write overwrites the entry of a key in place, or adds one.
func (v *View) write(t *table, pos uint64, r *record) Entry {
	g := t.segment(pos)
	slot := g.find(pos, r.key)
	if slot == nil {
		r.access |= v.markOf(pos)
		return v.insert(t, pos, r)
	}
	e := g.entry(*slot)
	if e.expired(v.deadMs) {
		v.stats.Expired++
		r.access |= v.markOf(pos)
	} else if v.noTouch || v.store.eviction.counting { // who counts uses has done so when the key was looked up
		r.access = *e.access()
	} else {
		r.access |= *e.access() & heldMark
	}
	return v.rewrite(t, pos, slot, r)
}

// rewrite is write for the entry of *slot.
func (v *View) rewrite(t *table, pos uint64, slot *uint32, r *record) Entry {
	g := t.segment(pos)
	e := g.entry(*slot)
	volatile := g.volatile
	if !v.overwrite(e, r) {
		e.disown(r.value.coll)
		v.unlink(t, pos, slot)
		if !r.value.kind.isString() && !r.value.outside() {
			r.room = roomFor(need(e.keyLen(), r.value.fieldLen(), r.deadline))
		}
		return v.insert(t, pos, r)
	}
	if g.volatile != volatile {
		t.volatile.Add(int64(int32(g.volatile - volatile)))
	}
	if g.wasteful() && v.rebuild(g, g.bucketBits, 0) {
		e = g.entry(*g.find(pos, r.key))
	}
	return e
}
