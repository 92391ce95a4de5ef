package store

// Fields of a hash may have deadlines. A field whose time is over is missing from then on. It is removed by the next command
// that writes to it, by writes to its hash, which look into one segment of it each, after a read that came upon the hash,
// and by the cycle that expires keys: a dict is a table, so it knows a lower bound of its deadlines, and the segment, table
// and shard of the key take that into account like the deadline of the key itself. When the last field goes, the key goes.

// due reports whether some field may have expired.
func (h *hash) due(nowMs int64) bool { return h.earliest < nowMs }

// fieldsDue returns the hash of an entry and true if some of its fields may have expired.
func (e Entry) fieldsDue(nowMs int64) (h *hash, due bool) {
	if e.kind() != kindHash {
		return nil, false
	}
	h = e.collection().(*hash)
	return h, h.due(nowMs)
}

// sweepFields removes the expired fields from one segment of the hash at a key, the next one that has any. After the last
// segment the bound of the hash is set to what is left.
func (v *View) sweepFields(key []byte, h *hash) {
	if v.keeping {
		return
	}
	before := v.stats.Fields
	v.cycleTable(h.table, 0, func(t *table, g *segment) {
		v.sweep(t, g, func(_ uint64, e Entry) bool {
			over := e.expired(v.deadMs)
			v.stats.Fields += int64(one(over))
			return over
		})
	})
	if v.stats.Fields > before {
		v.event(ClassHash, "hexpired", key)
	}
}

// expireFields removes expired fields of a key that was found, a bounded number of them, and the key if they were the last.
func (v *View) expireFields(pos uint64, key []byte, e Entry) {
	h, due := e.fieldsDue(v.deadMs)
	if !due {
		return
	}
	if v.sweepFields(key, h); h.len() == 0 {
		v.delete(pos, key)
		v.event(ClassGeneric, "del", key)
	}
}

// What became of a field whose deadline was to change or was asked for, in the numbers of Redis's replies.
const (
	FieldMissing = -2
	FieldForever = -1 // it has no deadline
	FieldUnmet   = 0  // the condition was not met
	FieldChanged = 1
	FieldExpired = 2 // the deadline is over, and the field removed
)

// HExpire gives fields a deadline in Unix milliseconds, each if the condition is met, and calls fn with what became of it. A
// deadline that is over removes the field.
func (v *View) HExpire(key []byte, atMs int64, cond ExpireCond, fields [][]byte, fn func(int64)) error {
	var h hashEdit
	if err := v.editHash(&h, key); err != nil {
		return err
	}
	changed := false
	for _, field := range fields {
		_, old, ok := h.find(field)
		switch {
		case !ok:
			fn(FieldMissing)
		case !cond.met(replyDeadline(old), atMs):
			fn(FieldUnmet)
		case h.expire(field, atMs):
			fn(FieldChanged)
			changed = true
		default:
			fn(FieldExpired)
		}
	}
	switch {
	case h.removed:
		v.event(ClassHash, "hdel", key)
	case changed:
		v.event(ClassHash, "hexpire", key)
	}
	h.done()
	return nil
}

// replyDeadline returns a deadline as commands know it.
func replyDeadline(deadline int64) int64 {
	if deadline == noDeadline {
		return FieldForever
	}
	return deadline
}

// expire gives a field that exists a deadline, or removes it, reporting false, if that is over.
func (h *hashEdit) expire(field []byte, atMs int64) bool {
	if h.v.over(atMs) {
		h.remove(field)
		return false
	}
	h.setDeadline(field, atMs)
	return true
}

// setDeadline gives a field that exists a deadline or takes it away (noDeadline).
func (h *hashEdit) setDeadline(field []byte, deadline int64) {
	if h.large == nil {
		h.enlarge()
	}
	h.set(field, h.v.dictFind(&h.large.dict, field).text(), deadline)
}

// FieldDeadline returns the deadline of a field in Unix milliseconds, FieldForever or FieldMissing.
func (h Hash) FieldDeadline(field []byte) int64 {
	if h.large == nil {
		if _, ok := h.Get(field); ok {
			return FieldForever
		}
		return FieldMissing
	}
	e := h.v.dictFind(&h.large.dict, field)
	if !e.Exists() {
		return FieldMissing
	}
	return replyDeadline(deadlineOf(e))
}

// HPersist takes the deadlines of fields away and calls fn for each: FieldChanged, FieldForever or FieldMissing.
func (v *View) HPersist(key []byte, fields [][]byte, fn func(int64)) error {
	var h hashEdit
	if err := v.editHash(&h, key); err != nil {
		return err
	}
	for _, field := range fields {
		at := h.FieldDeadline(field)
		if at >= 0 {
			h.setDeadline(field, noDeadline)
			at = FieldChanged
		}
		fn(at)
	}
	if h.written {
		v.event(ClassHash, "hpersist", key)
	}
	h.done()
	return nil
}

// DeadlineChange says what happens to the deadline of a field that is read or set.
type DeadlineChange int

const (
	DropDeadline DeadlineChange = iota
	KeepDeadline
	SetDeadline
)

// HGetEx calls fn with the value of each field, or with false, and changes the deadlines of those that exist. With
// SetDeadline atMs is the new one, Unix time; if it is over, the field is removed.
func (v *View) HGetEx(key []byte, fields [][]byte, change DeadlineChange, atMs int64, fn func(val []byte, ok bool)) error {
	var h hashEdit
	if err := v.editHash(&h, key); err != nil {
		return err
	}
	for _, field := range fields {
		val, old, ok := h.find(field)
		fn(val, ok)
		switch {
		case !ok || change == KeepDeadline:
		case change == SetDeadline:
			h.expire(field, atMs)
		case old != noDeadline:
			h.setDeadline(field, noDeadline)
		}
	}
	switch {
	case h.removed:
		v.event(ClassHash, "hdel", key)
	case h.written && change == SetDeadline:
		v.event(ClassHash, "hexpire", key)
	case h.written:
		v.event(ClassHash, "hpersist", key)
	}
	h.done()
	return nil
}

// FieldCond is the condition under which HSetEx acts.
type FieldCond int

const (
	AnyField    FieldCond = iota
	NoneExists            // FNX: none of the fields exists
	EveryExists           // FXX: all of them do
)

// HSetEx gives fields values, pairs holding both by turns, changes their deadlines, and reports whether it did. With
// SetDeadline atMs is the new one, Unix time; if it is over, the fields are removed.
func (v *View) HSetEx(key []byte, pairs [][]byte, cond FieldCond, change DeadlineChange, atMs int64) (bool, error) {
	var h hashEdit
	if err := v.editHash(&h, key); err != nil {
		return false, err
	}
	if !h.meets(cond, pairs) {
		h.done()
		return false, nil
	}
	if change == SetDeadline && v.over(atMs) {
		h.setOver(pairs)
		return true, nil
	}
	h.expect(pairs)
	for i := 0; i+1 < len(pairs); i += 2 {
		deadline := int64(noDeadline)
		switch {
		case change == SetDeadline:
			deadline = atMs
		case change == KeepDeadline:
			_, deadline, _ = h.find(pairs[i])
		}
		h.set(pairs[i], pairs[i+1], deadline)
	}
	h.done()
	v.event(ClassHash, "hset", key)
	if change == SetDeadline {
		v.event(ClassHash, "hexpire", key)
	}
	return true, nil
}

// setOver is what remains of a change that gives fields values, and a deadline that is over: they are removed.
func (h *hashEdit) setOver(pairs [][]byte) {
	for i := 0; i+1 < len(pairs); i += 2 {
		h.remove(pairs[i])
	}
	if h.e.Exists() {
		h.v.event(ClassHash, "hset", h.key)
		h.v.event(ClassHash, "hdel", h.key)
	}
	h.done()
}

// meets reports whether the fields are as the condition wants them.
func (h *hashEdit) meets(cond FieldCond, pairs [][]byte) bool {
	if cond == AnyField {
		return true
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if _, _, exists := h.find(pairs[i]); exists != (cond == EveryExists) {
			return false
		}
	}
	return true
}
