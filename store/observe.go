package store

// Class is a set of kinds of events, one bit each: the classes of keyspace notifications.
type Class uint32

// The classes, with their letters in the parameter notify-keyspace-events. See Redis's page on keyspace notifications.
const (
	ClassGeneric Class = 1 << iota // g: commands on keys of any type
	ClassString                    // $
	ClassList                      // l
	ClassSet                       // s
	ClassHash                      // h
	ClassZset                      // z
	ClassStream                    // t
	ClassExpired                   // x: a key whose time was over was removed
	ClassEvicted                   // e: a key was removed because memory ran short
	ClassNew                       // n: a key came to be
	ClassMiss                      // m: a key was looked for and not there
)

// Observer hears what happens to keys, whoever does it: a client, the expiry cycle, eviction. It is called while the shard
// of the key is locked, or the whole store is held, so that what it does happens in the order of the changes. It must not
// wait, nor use the store, nor take other locks than such as are never held while one waits. Keys alias the store or the
// caller's memory and must not be kept.
type Observer interface {
	// Event tells of an event of one class by its name, such as "lpush".
	Event(class Class, name string, db int, key []byte)
	// Changed tells that what a key holds may be another than before: its value, its deadline, or that it is there.
	Changed(db int, key []byte)
	// Flushed tells that a database has lost all its keys; -1: all have, or two were exchanged.
	Flushed(db int)
}

// Observe makes the view tell o of the events of the classes given and, if changes is set, of changes. It replaces what was
// set before. The view must not be in use.
func (v *View) Observe(o Observer, classes Class, changes bool) {
	v.observer, v.classes, v.changes = o, classes, changes
}

// tellsMisses reports whether somebody wants to hear both of keys that have expired and of those that are missed. One that is
// found expired is then to be removed before it is missed, for which readers, too, need the right to write.
func (v *View) tellsMisses() bool {
	return v.classes&(ClassMiss|ClassExpired) == ClassMiss|ClassExpired
}

// eventIn is event for a key of another database than that of the view.
func (v *View) eventIn(db int, class Class, name string, key []byte) {
	if v.classes&class != 0 {
		v.observer.Event(class, name, db, key)
	}
}

// arriving tells of a key that is about to get a value: that it comes to be, and before that, if it had expired, that it is
// gone.
func (v *View) arriving(t *table, pos uint64, key []byte) {
	slot := t.segment(pos).find(pos, key)
	switch {
	case slot == nil:
		v.event(ClassNew, "new", key)
	case t.segment(pos).entry(*slot).expired(v.deadMs):
		v.event(ClassExpired, "expired", key)
		v.event(ClassNew, "new", key)
	}
}

// event tells of an event. It costs one test where nobody wants to hear of its class.
func (v *View) event(class Class, name string, key []byte) {
	if v.classes&class != 0 {
		v.observer.Event(class, name, v.db, key)
	}
}
