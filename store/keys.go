package store

// The commands on keys, whatever they hold. None of them looks at a value: where a key goes, its value goes as it is.
//
// A command on two keys may find either expired and remove it, which is a write, after which the entry of the other one
// is no longer valid. So both keys are looked up first, and the source is found once more, without a trace, when nothing
// comes between that and the write that copies it.

// Rename gives the value, deadline and time of last use of a key to another key, whatever that held. With onlyIfMissing it
// does so only if the other key does not exist. It reports whether it did; ErrNoKey if there is no key to rename. A key
// that is renamed to itself stays as it is.
func (v *View) Rename(from, to []byte, onlyIfMissing bool) (bool, error) {
	if !v.LookupWrite(from).Exists() {
		return false, ErrNoKey
	}
	if string(from) == string(to) {
		return !onlyIfMissing, nil
	}
	exists := v.LookupWrite(to).Exists()
	if exists && onlyIfMissing {
		return false, nil
	}
	v.transfer(from, to, v.db, exists)
	v.event(ClassGeneric, "rename_from", from)
	v.event(ClassGeneric, "rename_to", to)
	return true, nil
}

// Move takes a key to database db, which must be another one, with its deadline and time of last use. It reports false,
// having done nothing, if the key does not exist or that database has one of the same name.
func (v *View) Move(key []byte, db int) bool {
	if !v.LookupWrite(key).Exists() || v.existsIn(db, key) {
		return false
	}
	v.transfer(key, key, db, false)
	v.event(ClassGeneric, "move_from", key)
	v.eventIn(db, ClassGeneric, "move_to", key)
	return true
}

// Copy gives a copy of the value and deadline of a key to a key of database db. If that exists, it does so only with
// replace. It reports whether it did. From and to must not be the same key of the same database.
func (v *View) Copy(from, to []byte, db int, replace bool) bool {
	if !v.Lookup(from).Exists() {
		return false
	}
	exists := v.existsIn(db, to)
	if exists && !replace {
		return false
	}
	e := v.Peek(from)
	val := e.value()
	val.owned = false // an object stays the source's
	if val.coll != nil {
		val.coll = val.coll.clone(v)
	}
	v.putIn(db, to, val, deadlineOf(e), v.newWord(), exists)
	v.eventIn(db, ClassGeneric, "copy_to", to)
	return true
}

// existsIn looks a key up in another database.
func (v *View) existsIn(db int, key []byte) bool {
	defer v.Select(v.db)
	v.Select(db)
	return v.LookupWrite(key).Exists()
}

// transfer moves a key. For a moment both entries have the same object, which the source then gives up.
func (v *View) transfer(from, to []byte, db int, replaces bool) {
	e := v.Peek(from)
	val := e.value()
	v.putIn(db, to, val, deadlineOf(e), e.AccessWord(), replaces)
	if val.coll != nil {
		v.Peek(from).disown(val.coll)
	}
	v.take(from)
}

// putIn is put in another database, with the time of last use. To replace a key is to remove it, which is an access of its
// own, and makes it a new key.
func (v *View) putIn(db int, key []byte, val value, deadline int64, used uint32, replaces bool) {
	defer v.Select(v.db)
	v.Select(db)
	pos := v.position(key)
	if replaces {
		v.countWrite(pos, key)
		v.event(ClassNew, "new", key)
	}
	v.put(pos, key, val, deadline).setAccessWord(used)
}

// ExpireCond are the conditions under which Expire acts; all that are set must hold.
type ExpireCond uint8

const (
	IfNoDeadline ExpireCond = 1 << iota // NX
	IfDeadline                          // XX
	IfLater                             // GT: later than the deadline it has; none is later than any
	IfSooner                            // LT
)

// met tells whether a deadline may replace the old one, -1 standing for none.
func (c ExpireCond) met(old, at int64) bool {
	has := old != -1
	switch {
	case c&IfNoDeadline != 0 && has,
		c&IfDeadline != 0 && !has,
		c&IfLater != 0 && (!has || at <= old),
		c&IfSooner != 0 && has && at >= old:
		return false
	}
	return true
}

// Expire gives a key a deadline in Unix milliseconds and reports whether it did. If the deadline is over, the key expires
// at once.
func (v *View) Expire(key []byte, atMs int64, cond ExpireCond) bool {
	e := v.LookupWrite(key)
	if !e.Exists() || !cond.met(e.ExpireAt(), atMs) {
		return false
	}
	if v.over(atMs) {
		v.delete(v.position(key), key)
		v.event(ClassGeneric, "del", key)
		return true
	}
	v.setDeadline(key, e, max(atMs, 1)) // 0 and -1 would read as if there were none
	v.event(ClassGeneric, "expire", key)
	return true
}

// Persist takes the deadline of a key away and reports whether it had one.
func (v *View) Persist(key []byte) bool {
	e := v.LookupWrite(key)
	if e.ExpireAt() == -1 {
		return false
	}
	v.setDeadline(key, e, noDeadline)
	v.event(ClassGeneric, "persist", key)
	return true
}

// scanSeenPerTaken is how many entries Scan looks at for each one it may return before it gives up for this time.
const scanSeenPerTaken = 10

// Scan calls fn with live entries of the view's database, beginning at the cursor, until fn has taken (returned true for)
// count of them or has seen ten times as many. It returns the cursor to go on from, 0 at the end. It works in whole
// buckets, so fn may see some more. What ScanBucket says of keys and locks holds here.
func (v *View) Scan(cursor uint64, count int, fn func(key []byte, e Entry) bool) (next uint64) {
	taken, seen := 0, 0
	for {
		before := seen
		cursor = v.ScanBucket(cursor, func(key []byte, e Entry) {
			seen++
			if fn(key, e) {
				taken++
			}
		})
		// A call that saw none met nothing but expired entries.
		if cursor == 0 || taken >= count || seen/scanSeenPerTaken >= count || seen == before {
			return cursor
		}
	}
}
