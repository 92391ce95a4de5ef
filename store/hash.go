package store

import (
	"strconv"

	"kvserver/store/listpack"
)

// A hash is a listpack of fields and values by turns, in the order in which the fields came, as long as it has few and short
// ones (hash-max-listpack-entries, hash-max-listpack-value), and a dict from then on, even when it has become small again.
// The first field that gets a deadline makes it a dict, too: hashexpire.go.
type hash struct {
	dict
}

func (h *hash) clone(v *View) collection { return &hash{*v.dictClone(&h.dict)} }

// Hash is the hash at a key, to be read. It is valid until the view unlocks or writes. Without a key it has no fields.
type Hash struct {
	v      *View
	packed []byte
	large  *hash // nil: it is packed
}

// ReadHash finds the hash at a key for reading: one access. Fields that have expired are missing from it, except from Len.
func (v *View) ReadHash(key []byte) (Hash, error) {
	e, err := v.readAs(key, typeHash)
	if err != nil {
		return Hash{}, err
	}
	h := v.hashOf(e)
	if h.large != nil && h.large.due(v.deadMs) {
		v.noteExpired(v.position(key), key)
	}
	return h, nil
}

// hashOf returns the hash of an entry, which is of that type or missing.
func (v *View) hashOf(e Entry) Hash {
	switch {
	case !e.Exists():
		return Hash{v: v}
	case e.kind() == kindHashPacked:
		return Hash{v: v, packed: e.packed()}
	}
	return Hash{v: v, large: e.collection().(*hash)}
}

// Len returns the number of fields. As in Redis, it counts those that have expired and are still to be removed.
func (h Hash) Len() int {
	if h.large != nil {
		return h.large.len()
	}
	return listpack.Len(h.packed) / 2
}

// Live returns the number of fields that have not expired. It is O(1) unless there are some that have.
func (h Hash) Live() int {
	if h.large == nil || !h.large.due(h.v.deadMs) {
		return h.Len()
	}
	n := 0
	h.v.dictEach(&h.large.dict, func(Entry) bool {
		n++
		return true
	})
	return n
}

// Get returns the value of a field.
func (h Hash) Get(field []byte) (val []byte, ok bool) {
	if h.large != nil {
		if e := h.v.dictFind(&h.large.dict, field); e.Exists() {
			return e.text(), true
		}
		return nil, false
	}
	off := listpack.Find(h.packed, listpack.First(h.packed), field, 1)
	if off == listpack.None {
		return nil, false
	}
	return h.v.packedText(h.packed, listpack.Next(h.packed, off)), true
}

// packedText returns an element of a listpack as bytes. An integer is printed into memory of the view.
func (v *View) packedText(lp []byte, off int) []byte {
	text, n, isInt := listpack.Get(lp, off)
	if !isInt {
		return text
	}
	from := v.textRoom(integerLenMax)
	v.text = strconv.AppendInt(v.text, n, 10)
	return v.text[from:len(v.text):len(v.text)]
}

// Each calls fn with every field and its value, which are valid inside fn only, until it returns false. fn must not use the
// view.
func (h Hash) Each(fn func(field, val []byte) bool) {
	if h.large != nil {
		h.v.dictEach(&h.large.dict, func(e Entry) bool { return fn(e.Key(), e.text()) })
		return
	}
	for off := listpack.First(h.packed); off != listpack.None; {
		at := listpack.After(h.packed, off)
		if !h.pair(off, at, fn) {
			return
		}
		off = listpack.Next(h.packed, at)
	}
}

// pair calls fn with the field at off and the value at offset val of a packed hash.
func (h Hash) pair(off, val int, fn func(field, val []byte) bool) bool {
	from := h.v.textRoom(2 * integerLenMax)
	more := fn(h.v.packedText(h.packed, off), h.v.packedText(h.packed, val))
	h.v.text = h.v.text[:from]
	return more
}

// Scan calls fn with fields and values, beginning at the cursor, until fn has taken (returned true for) count of them or
// has seen ten times as many, and returns the cursor to go on from, 0 at the end. A packed hash is scanned in one call. It
// keeps SCAN's promise: a field that is there from the first call to the last is passed to fn. What Each says of fn holds.
func (h Hash) Scan(cursor uint64, count int, fn func(field, val []byte) bool) (next uint64) {
	if h.large == nil {
		h.Each(func(field, val []byte) bool {
			fn(field, val)
			return true
		})
		return 0
	}
	taken, seen := 0, 0
	for {
		cursor = h.v.dictScan(&h.large.dict, cursor, func(e Entry) {
			if fn(e.Key(), e.text()) {
				taken++
			}
		})
		seen++ // buckets: there are sparse ones, and some in which all have expired
		if cursor == 0 || taken >= count || seen/scanSeenPerTaken >= count {
			return cursor
		}
	}
}

// Random calls fn with a field and its value, every field being equally likely, and reports whether there is one. What Each
// says of fn holds.
func (h Hash) Random(fn func(field, val []byte)) bool {
	if h.large != nil {
		e := h.v.dictRandom(&h.large.dict)
		if e.Exists() {
			fn(e.Key(), e.text())
		}
		return e.Exists()
	}
	n := h.Len()
	if n == 0 {
		return false
	}
	off := listpack.Seek(h.packed, 2*h.v.random.IntN(n))
	return h.pair(off, listpack.Next(h.packed, off), func(field, val []byte) bool {
		fn(field, val)
		return true
	})
}

// sampleDense is the share of the fields, one in sampleDense, from which on Sample goes through all of them instead of
// drawing until it has enough different ones.
const sampleDense = 3

// Sample calls fn with n different fields and their values, all sets of n being equally likely. n is at most Live. What
// Each says of fn holds.
func (h Hash) Sample(n int, fn func(field, val []byte)) {
	left := h.Live()
	if h.large == nil || n >= left/sampleDense {
		h.Each(func(field, val []byte) bool {
			if h.v.random.IntN(left) < n {
				fn(field, val)
				n--
			}
			left--
			return n > 0
		})
		return
	}
	drawn := make(map[Entry]struct{}, n)
	for len(drawn) < n {
		e := h.v.dictRandom(&h.large.dict)
		if _, again := drawn[e]; !again {
			drawn[e] = struct{}{}
			fn(e.Key(), e.text())
		}
	}
}

// HSet gives fields values, pairs holding both by turns, and returns how many of the fields were missing. A field that had
// a deadline loses it.
func (v *View) HSet(key []byte, pairs [][]byte) (added int64, err error) {
	var h hashEdit
	if err := v.editHash(&h, key); err != nil {
		return 0, err
	}
	h.expect(pairs)
	for i := 0; i+1 < len(pairs); i += 2 {
		if h.set(pairs[i], pairs[i+1], noDeadline) {
			added++
		}
	}
	h.done()
	v.event(ClassHash, "hset", key)
	return added, nil
}

// HSetNX gives a field a value if it is missing, and reports whether it was.
func (v *View) HSetNX(key, field, val []byte) (bool, error) {
	var h hashEdit
	if err := v.editHash(&h, key); err != nil {
		return false, err
	}
	_, _, exists := h.find(field)
	if !exists {
		h.set(field, val, noDeadline)
	}
	h.done()
	if !exists {
		v.event(ClassHash, "hset", key)
	}
	return !exists, nil
}

// HDel removes fields and returns how many there were.
func (v *View) HDel(key []byte, fields [][]byte) (removed int64, err error) {
	var h hashEdit
	if err := v.editHash(&h, key); err != nil {
		return 0, err
	}
	for _, field := range fields {
		if h.remove(field) {
			removed++
		}
	}
	if removed > 0 {
		v.event(ClassHash, "hdel", key)
	}
	h.done()
	return removed, nil
}

// HGetDel calls fn with the value of each field, or with false, and removes the fields.
func (v *View) HGetDel(key []byte, fields [][]byte, fn func(val []byte, ok bool)) error {
	var h hashEdit
	if err := v.editHash(&h, key); err != nil {
		return err
	}
	for _, field := range fields {
		val, _, ok := h.find(field)
		fn(val, ok)
		if ok {
			h.remove(field)
		}
	}
	if h.removed {
		v.event(ClassHash, "hdel", key)
	}
	h.done()
	return nil
}

// HIncrBy adds to the integer of a field, 0 if it is missing, and returns the sum. The field keeps its deadline.
func (v *View) HIncrBy(key, field []byte, by int64) (int64, error) {
	var h hashEdit
	if err := v.editHash(&h, key); err != nil {
		return 0, err
	}
	n, deadline := int64(0), int64(noDeadline)
	if val, at, exists := h.find(field); exists {
		var ok bool
		if n, ok = ParseInteger(val); !ok {
			return 0, ErrFieldNotInteger
		}
		deadline = at
	}
	sum := n + by
	if by > 0 && sum < n || by < 0 && sum > n {
		return 0, ErrOverflow
	}
	var digits [integerLenMax]byte
	h.set(field, strconv.AppendInt(digits[:0], sum, 10), deadline)
	h.done()
	v.event(ClassHash, "hincrby", key)
	return sum, nil
}

// HIncrByFloat adds to the number of a field, 0 if it is missing, and returns the sum as it is stored. The field keeps its
// deadline.
func (v *View) HIncrByFloat(key, field, by []byte) (string, error) {
	x, err := parseFloat(by)
	switch {
	case err != nil:
		return "", err
	case x.IsInf():
		return "", ErrInfinite
	}
	var h hashEdit
	if err := v.editHash(&h, key); err != nil {
		return "", err
	}
	old, deadline, exists := h.find(field)
	if !exists {
		old, deadline = []byte("0"), noDeadline
	}
	sum, err := addDecimals(old, by)
	switch {
	case err == ErrNotFloat:
		return "", ErrFieldNotFloat
	case err != nil:
		return "", err
	}
	h.set(field, []byte(sum), deadline)
	h.done()
	v.event(ClassHash, "hincrbyfloat", key)
	return sum, nil
}

// hashEdit is the hash at a key while a command changes it. A packed one is changed in the view's scratch memory.
type hashEdit struct {
	Hash
	key     []byte
	e       Entry
	own     bool // packed is what View.edit returned, or what became of it
	convert bool // large is new, and the entry still packed
	written bool
	removed bool
	// earliest is the earliest deadline that a field was given.
	earliest int64
}

// editHash looks a key up in order to change its hash. Before that, fields of a large one that have expired are removed
// from one of its segments. done, or nothing at all, must follow.
func (v *View) editHash(h *hashEdit, key []byte) error {
	e, err := v.writeAs(key, typeHash)
	if err != nil {
		return err
	}
	*h = hashEdit{Hash: v.hashOf(e), key: key, e: e, earliest: never}
	if h.large != nil && h.large.due(v.deadMs) {
		v.sweepFields(key, h.large)
	}
	return nil
}

// find returns the value of a field and its deadline.
func (h *hashEdit) find(field []byte) (val []byte, deadline int64, ok bool) {
	if h.large == nil {
		val, ok = h.Get(field)
		return val, noDeadline, ok
	}
	e := h.v.dictFind(&h.large.dict, field)
	if !e.Exists() {
		return nil, noDeadline, false
	}
	return e.text(), deadlineOf(e), true
}

// expect makes the hash large if that is what pairs of fields and values will make it anyway, as Redis does.
func (h *hashEdit) expect(pairs [][]byte) {
	if h.large != nil {
		return
	}
	limits := &h.v.store.encodings
	large := len(pairs)/2 > limits.HashEntries
	size := 0
	for _, arg := range pairs {
		size += listpack.Size(arg)
		large = large || len(arg) > limits.HashValue
	}
	if large || !listpack.Fits(h.packed, size) {
		h.enlarge()
	}
}

// enlarge makes a packed hash a dict.
func (h *hashEdit) enlarge() {
	large := &hash{*h.v.newDict()}
	h.Each(func(field, val []byte) bool {
		h.v.dictSet(&large.dict, field, val, noDeadline)
		return true
	})
	h.large, h.convert = large, true
}

// edit makes the packed hash one that may be changed.
func (h *hashEdit) edit() {
	if !h.own {
		h.packed, h.own = h.v.edit(h.e), true
	}
	h.written = true
}

// set gives a field a value and a deadline (ms, or noDeadline), and reports whether it was missing. The field may alias the
// hash; the value may, too, if the hash is large.
func (h *hashEdit) set(field, val []byte, deadline int64) (added bool) {
	limits := &h.v.store.encodings
	if h.large == nil && (deadline != noDeadline || len(field) > limits.HashValue || len(val) > limits.HashValue ||
		!listpack.Fits(h.packed, listpack.Size(field)+listpack.Size(val))) {
		h.enlarge()
	}
	if h.large != nil {
		h.written = true
		if deadline != noDeadline {
			h.earliest = min(h.earliest, deadline)
		}
		return h.v.dictSet(&h.large.dict, field, val, deadline)
	}
	h.edit()
	off := listpack.Find(h.packed, listpack.First(h.packed), field, 1)
	if off != listpack.None {
		h.packed = listpack.Replace(h.packed, listpack.Next(h.packed, off), val)
	} else {
		h.packed = listpack.Append(listpack.Append(h.packed, field), val)
	}
	if h.Len() > limits.HashEntries { // or it had more when the limit was another
		h.enlarge()
	}
	return off == listpack.None
}

// remove takes a field out, and reports whether it was there.
func (h *hashEdit) remove(field []byte) bool {
	if h.large != nil {
		if !h.v.dictDelete(&h.large.dict, field) {
			return false
		}
	} else {
		off := listpack.Find(h.packed, listpack.First(h.packed), field, 1)
		if off == listpack.None {
			return false
		}
		h.edit()
		h.packed = listpack.Delete(h.packed, off, 2)
	}
	h.written, h.removed = true, true
	return true
}

// done stores what the hash has become. A key whose hash is empty is removed: an access if the command emptied it, none if
// its fields had expired.
func (h *hashEdit) done() {
	v := h.v
	if h.Len() == 0 {
		if h.convert {
			v.doom(h.large)
		}
		switch {
		case !h.e.Exists():
		case h.removed:
			v.Remove(h.key)
		default:
			v.delete(v.position(h.key), h.key)
			v.event(ClassGeneric, "del", h.key)
		}
		return
	}
	switch {
	case h.convert:
		v.saveCollection(h.key, h.e, kindHash, h.large)
	case !h.written:
	case h.large != nil:
		v.changed(h.key)
		v.noteDeadline(v.position(h.key), h.e, h.earliest)
	default:
		v.save(h.key, h.e, kindHashPacked, h.packed)
	}
}
