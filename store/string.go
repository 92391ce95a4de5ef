package store

import (
	"strconv"

	"kvserver/store/listpack"
)

// stringValue returns the value for a string as SET stores it: an integer if it is the canonical form of one.
func stringValue(s []byte) value {
	if n, ok := ParseInteger(s); ok {
		return value{kind: kindInt, number: n}
	}
	return textValue(s)
}

// textValue returns the value for a string that stays text even if it looks like an integer.
func textValue(s []byte) value {
	if len(s) <= embstrMax {
		return value{kind: kindEmbstr, bytes: s}
	}
	return rawValue(s)
}

func rawValue(s []byte) value { return value{kind: kindRaw, bytes: s} }

// embstrMax is the longest string, in bytes, that OBJECT ENCODING calls embstr.
const embstrMax = 44

// integerLenMax is the length of the longest 64-bit integer, the sign included.
const integerLenMax = listpack.IntegerLenMax

// ParseInteger returns the integer that s is the canonical decimal form of: no plus sign, no leading zeros, no "-0", no
// blanks. Redis takes integers in no other form, in values, arguments and protocol alike.
func ParseInteger(s []byte) (int64, bool) { return listpack.ParseInteger(s) }

// value returns the value of an entry. Its bytes alias the store; those of an object may be kept.
func (e Entry) value() value {
	if e.kind() == kindInt {
		return value{kind: kindInt, number: e.integer()}
	}
	if e.flags()&valueOutside == 0 {
		return value{kind: e.kind(), bytes: e.valueField()}
	}
	o := e.seg.objects.get(e.valueField())
	return value{kind: e.kind(), bytes: o.bytes, owned: true, coll: o.coll}
}

// string returns the bytes of a string value. Integers are printed into memory of the view.
func (v *View) string(e Entry) []byte {
	if e.kind() != kindInt {
		return e.text()
	}
	from := v.textRoom(integerLenMax)
	v.text = strconv.AppendInt(v.text, e.integer(), 10)
	return v.text[from:len(v.text):len(v.text)]
}

// kept returns a copy of val that is valid until the view unlocks.
func (v *View) kept(val []byte) []byte {
	if len(val) > inlineMax {
		return append([]byte(nil), val...)
	}
	from := v.textRoom(len(val))
	v.text = append(v.text, val...)
	return v.text[from:len(v.text):len(v.text)]
}

// textRoom sees to it that n more bytes, at most textMax, fit into the view's text, and returns where they begin.
func (v *View) textRoom(n int) int {
	if cap(v.text)-len(v.text) < n {
		v.text = make([]byte, 0, textMax)
	}
	return len(v.text)
}

// stringOf is string for an entry that may be missing or hold another type.
func (v *View) stringOf(e Entry) (val []byte, ok bool, err error) {
	if !e.Exists() {
		return nil, false, nil
	}
	if !e.kind().isString() {
		return nil, false, ErrWrongType
	}
	return v.string(e), true, nil
}

// deadlineOf returns the deadline of an entry as put takes it.
func deadlineOf(e Entry) int64 {
	if !e.Exists() || e.flags()&hasDeadline == 0 {
		return noDeadline
	}
	return e.deadline()
}

// Get returns the string at a key.
func (v *View) Get(key []byte) (val []byte, ok bool, err error) { return v.stringOf(v.Lookup(key)) }

// Cond is the condition under which Set acts.
type Cond int

const (
	Always    Cond = iota
	IfMissing      // NX
	IfExists       // XX
	IfEqual        // IFEQ: the key holds the string SetOptions.Equal
)

// SetOptions say how Set works.
type SetOptions struct {
	Cond       Cond
	Equal      []byte
	ExpireAtMs int64 // Unix time; 0: none
	KeepTTL    bool  // a deadline that the key has stays
	WantOld    bool  // SET … GET: the old value is returned, and must be a string
}

// SetResult is what Set did.
type SetResult struct {
	Done   bool // false: the condition was not met
	Old    []byte
	HadOld bool
}

// Set stores a string, whatever the key held before. With a deadline that is over it deletes the key.
func (v *View) Set(key, val []byte, o SetOptions) (SetResult, error) {
	pos := v.position(key)
	var result SetResult
	if o.WantOld {
		old, ok, err := v.stringOf(v.Lookup(key))
		if err != nil {
			return result, err
		}
		result.Old, result.HadOld = v.kept(old), ok // it is about to be overwritten where it lies
	}
	v.countWrite(pos, key)
	if v.store.eviction.counting && !v.noTouch && !o.WantOld { // otherwise what is overwritten does not matter
		if e := v.find(pos, key); e.Exists() {
			v.touch(e)
		}
	}
	if o.Cond != Always || o.KeepTTL {
		e := v.find(pos, key)
		if met, err := v.meets(e, o); !met || err != nil {
			return result, err
		}
		if o.KeepTTL {
			v.put(pos, key, stringValue(val), deadlineOf(e))
			v.event(ClassString, "set", key)
			result.Done = true
			return result, nil
		}
	}
	result.Done = true
	v.putUntil(pos, key, stringValue(val), o.ExpireAtMs)
	return result, nil
}

// meets reports whether the entry is as the condition wants it.
func (v *View) meets(e Entry, o SetOptions) (bool, error) {
	switch o.Cond {
	case IfMissing:
		return !e.Exists(), nil
	case IfExists:
		return e.Exists(), nil
	case IfEqual:
		old, ok, err := v.stringOf(e)
		return ok && string(old) == string(o.Equal), err
	}
	return true, nil
}

// putUntil is put with a deadline that may be over, which deletes the key, or 0 for none.
func (v *View) putUntil(pos uint64, key []byte, val value, atMs int64) {
	if atMs == 0 {
		v.put(pos, key, val, noDeadline)
		v.event(ClassString, "set", key)
		return
	}
	over := v.over(atMs)
	switch {
	case !over:
		v.put(pos, key, val, atMs)
	case !v.delete(pos, key):
		v.event(ClassNew, "new", key)
		v.touchWatched(pos, key)
	}
	v.event(ClassString, "set", key)
	v.event(ClassGeneric, "expire", key)
	if over {
		v.event(ClassExpired, "expired", key)
	}
}

// GetSet stores a string and returns the one before it.
func (v *View) GetSet(key, val []byte) (old []byte, had bool, err error) {
	r, err := v.Set(key, val, SetOptions{WantOld: true})
	return r.Old, r.HadOld, err
}

// GetDel returns the string at a key and removes the key.
func (v *View) GetDel(key []byte) (val []byte, ok bool, err error) {
	val, ok, err = v.stringOf(v.Lookup(key))
	if ok && err == nil {
		v.Remove(key)
	}
	return val, ok, err
}

// Expiry says what happens to the deadline of a key that is read.
type Expiry struct {
	Change bool
	AtMs   int64 // Unix time; 0: the deadline is taken away
}

// GetEx returns the string at a key and changes its deadline. A deadline that is over deletes the key.
func (v *View) GetEx(key []byte, ex Expiry) (val []byte, ok bool, err error) {
	e := v.Lookup(key)
	val, ok, err = v.stringOf(e)
	if !ok || err != nil || !ex.Change {
		return val, ok, err
	}
	switch {
	case ex.AtMs == 0 && e.flags()&hasDeadline == 0:
	case ex.AtMs == 0:
		val = v.kept(val) // a deadline moves the value
		v.setDeadline(key, e, noDeadline)
		v.event(ClassGeneric, "persist", key)
	case !v.over(ex.AtMs):
		val = v.kept(val)
		v.setDeadline(key, e, ex.AtMs)
		v.event(ClassGeneric, "expire", key)
	default:
		v.delete(v.position(key), key)
		v.event(ClassGeneric, "del", key)
	}
	return val, ok, err
}

// MSet stores pairs of keys and strings.
func (v *View) MSet(pairs [][]byte) {
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1], SetOptions{})
	}
}

// MSetNX stores pairs of keys and strings if none of the keys exists, and reports whether it did.
func (v *View) MSetNX(pairs [][]byte) bool {
	for i := 0; i+1 < len(pairs); i += 2 {
		if v.find(v.position(pairs[i]), pairs[i]).Exists() {
			for j := 0; j <= i; j += 2 {
				v.countWrite(v.position(pairs[j]), pairs[j])
			}
			return false
		}
	}
	v.MSet(pairs)
	return true
}

// DelIfEq removes a key if it holds the string val, and reports whether it did.
func (v *View) DelIfEq(key, val []byte) (bool, error) {
	old, ok, err := v.stringOf(v.LookupWrite(key))
	if err != nil || !ok || string(old) != string(val) {
		return false, err
	}
	return v.Remove(key), nil
}

// StrLen returns the length of the string at a key, 0 if it is missing.
func (v *View) StrLen(key []byte) (int64, error) {
	val, _, err := v.Get(key)
	return int64(len(val)), err
}

// Append adds to the end of the string at a key, which it makes if it is missing, and returns the new length. The string
// may not become longer than lenMax bytes.
func (v *View) Append(key, tail []byte, lenMax int64) (int64, error) {
	e := v.LookupWrite(key)
	old, ok, err := v.stringOf(e)
	if err != nil {
		return 0, err
	}
	pos := v.position(key)
	if !ok {
		v.put(pos, key, stringValue(tail), noDeadline)
		v.event(ClassString, "append", key)
		return int64(len(tail)), nil
	}
	n := int64(len(old)) + int64(len(tail))
	if n > lenMax {
		return 0, ErrStringTooLong
	}
	v.put(pos, key, v.joined(e, old, tail), deadlineOf(e))
	v.event(ClassString, "append", key)
	return n, nil
}

// joined returns old, the string of e, and tail as one value. The object of a long string grows in place, ahead of need.
func (v *View) joined(e Entry, old, tail []byte) value {
	val := rawValue(nil)
	if e.flags()&valueOutside != 0 {
		val.bytes, val.owned = append(old, tail...), true
		return val
	}
	val.bytes = append(append(make([]byte, 0, len(old)+len(tail)), old...), tail...)
	val.owned = len(val.bytes) > inlineMax
	return val
}

// GetRange returns the bytes from start to end, both inclusive, counted from the end if negative.
func (v *View) GetRange(key []byte, start, end int64) ([]byte, error) {
	val, ok, err := v.Get(key)
	if err != nil || !ok || start < 0 && end < 0 && start > end {
		return nil, err
	}
	n := int64(len(val))
	if start < 0 {
		start = max(n+start, 0)
	}
	if end < 0 {
		end = max(n+end, 0)
	}
	end = min(end, n-1)
	if start > end {
		return nil, nil
	}
	return val[start : end+1], nil
}

// SetRange overwrites the string at a key from offset off, which is not negative, filling a gap with zero bytes, and
// returns the length. An empty val changes nothing. The string may not become longer than lenMax bytes.
func (v *View) SetRange(key []byte, off int64, val []byte, lenMax int64) (int64, error) {
	e := v.LookupWrite(key)
	old, _, err := v.stringOf(e)
	if err != nil || len(val) == 0 {
		return int64(len(old)), err
	}
	if off > lenMax-int64(len(val)) {
		return 0, ErrStringTooLong
	}
	bytes := zeroExtended(e, old, max(int(off)+len(val), len(old)))
	copy(bytes[off:], val)
	v.put(v.position(key), key, value{kind: kindRaw, bytes: bytes, owned: len(bytes) > inlineMax}, deadlineOf(e))
	v.event(ClassString, "setrange", key)
	return int64(len(bytes)), nil
}

// zeroExtended returns old, the string of e, with zeros up to n bytes, for the caller to change. The object of a long
// string is no copy and grows in place, ahead of need.
func zeroExtended(e Entry, old []byte, n int) []byte {
	if e.Exists() && e.flags()&valueOutside != 0 {
		return append(old, make([]byte, n-len(old))...)
	}
	bytes := make([]byte, n)
	copy(bytes, old)
	return bytes
}

// IncrBy adds to the integer at a key, 0 if it is missing, and returns the sum.
func (v *View) IncrBy(key []byte, by int64) (int64, error) {
	e := v.LookupWrite(key)
	n := int64(0)
	if e.Exists() {
		if !e.kind().isString() {
			return 0, ErrWrongType
		}
		var ok bool
		if n, ok = v.integerOf(e); !ok {
			return 0, ErrNotInteger
		}
	}
	sum := n + by
	if by > 0 && sum < n || by < 0 && sum > n {
		return 0, ErrOverflow
	}
	v.put(v.position(key), key, value{kind: kindInt, number: sum}, deadlineOf(e))
	v.event(ClassString, "incrby", key)
	return sum, nil
}

func (v *View) integerOf(e Entry) (int64, bool) {
	if e.kind() == kindInt {
		return e.integer(), true
	}
	return ParseInteger(e.text())
}

// IncrByFloat adds to the number at a key, 0 if it is missing, and returns the sum as it is stored.
func (v *View) IncrByFloat(key, by []byte) (string, error) {
	e := v.LookupWrite(key)
	old, ok, err := v.stringOf(e)
	if err != nil {
		return "", err
	}
	if !ok {
		old = []byte("0")
	}
	sum, err := addDecimals(old, by)
	if err != nil {
		return "", err
	}
	v.put(v.position(key), key, textValue([]byte(sum)), deadlineOf(e))
	v.event(ClassString, "incrbyfloat", key)
	return sum, nil
}
