package store

import (
	"strconv"

	"kvserver/store/intset"
	"kvserver/store/listpack"
)

// A set is kept as Redis keeps it: as an intset while its members are integers, up to SetInts of them; as a listpack while
// they are few and short; else as a dict whose fields are the members and whose values are empty. A set that was
// converted stays so, however small it becomes.

// set is a large set.
type set struct{ *dict }

func (s set) clone(v *View) collection { return set{v.dictClone(s.dict)} }

// intsetMax is how many integers an intset may have, whatever is configured, as in Redis.
const intsetMax = 1 << 30

// members are the members of a set at hand: of the key of an entry, or of a set in the making.
type members struct {
	kind   kind
	packed []byte // of the packed kinds
	dict   *dict  // of kindSet
	entry  Entry  // of the key
	own    bool   // packed may be changed; otherwise it is the store's
}

// membersOf returns the members of an entry, none for a missing key.
func membersOf(e Entry) members {
	switch {
	case !e.Exists():
		return members{kind: kindSetInts}
	case e.kind() == kindSet:
		return members{kind: kindSet, dict: e.collection().(set).dict, entry: e}
	}
	return members{kind: e.kind(), packed: e.packed(), entry: e}
}

func (m *members) len() int {
	switch m.kind {
	case kindSetInts:
		return intset.Len(m.packed)
	case kindSetPacked:
		return listpack.Len(m.packed)
	}
	return m.dict.len()
}

// release frees a set that was made and not stored.
func (m *members) release(s *Store) {
	if m.kind == kindSet {
		m.dict.release(s)
	}
}

func (v *View) hasMember(m *members, member []byte) bool {
	switch m.kind {
	case kindSetInts:
		n, ok := ParseInteger(member)
		return ok && intset.Contains(m.packed, n)
	case kindSetPacked:
		return listpack.Find(m.packed, listpack.First(m.packed), member, 0) != listpack.None
	}
	return v.dictFind(m.dict, member).Exists()
}

// eachMember calls fn with each member until it returns false. fn must not change the set. It may keep members of dicts
// only, for as long as these are not changed.
func (v *View) eachMember(m *members, fn func(member []byte) bool) {
	var digits [listpack.IntegerLenMax]byte
	switch m.kind {
	case kindSetInts:
		for i := range intset.Len(m.packed) {
			if !fn(strconv.AppendInt(digits[:0], intset.At(m.packed, i), 10)) {
				return
			}
		}
	case kindSetPacked:
		for off := listpack.First(m.packed); off != listpack.None; off = listpack.Next(m.packed, off) {
			if !fn(listpack.Text(m.packed, off, &digits)) {
				return
			}
		}
	default:
		v.dictEach(m.dict, func(e Entry) bool { return fn(e.Key()) })
	}
}

// newMembers returns an empty set for a first member and some more, size in all.
func (v *View) newMembers(first []byte, size int) members {
	limits := &v.store.encodings
	_, isInt := ParseInteger(first)
	switch {
	case isInt && size <= limits.SetInts:
		return members{kind: kindSetInts}
	case size <= limits.SetEntries:
		return members{kind: kindSetPacked}
	}
	return members{kind: kindSet, dict: v.newDict()}
}

// dictAdd adds a field without a value, and reports whether it was missing. Unlike dictSet it writes nothing otherwise.
func (v *View) dictAdd(d *dict, field []byte) bool {
	old := len(v.work.retired)
	pos := v.store.position(field)
	if d.segment(pos).find(pos, field) != nil {
		return false
	}
	v.insert(d.table, pos, &record{key: field, value: value{kind: kindRaw}, deadline: noDeadline})
	v.freeRetired(old)
	return true
}

// addMember adds a member and reports whether it is new.
func (v *View) addMember(m *members, member []byte) bool {
	if m.kind == kindSet {
		return v.dictAdd(m.dict, member)
	}
	if v.hasMember(m, member) {
		return false
	}
	v.insertMember(m, member)
	return true
}

// insertMember adds a member that is not in the set. The encoding changes as it must.
func (v *View) insertMember(m *members, member []byte) {
	if m.kind != kindSet {
		v.ownMembers(m)
	}
	if m.kind == kindSetInts {
		if n, ok := ParseInteger(member); ok {
			m.packed, _ = intset.Add(m.packed, n)
			if intset.Len(m.packed) > min(v.store.encodings.SetInts, intsetMax) {
				v.toDict(m)
			}
			return
		}
	}
	if m.kind != kindSet && !v.fitsPacked(m, member) {
		v.toDict(m)
	}
	if m.kind == kindSetInts {
		v.toPacked(m)
	}
	if m.kind == kindSet {
		v.dictAdd(m.dict, member)
	} else {
		m.packed = listpack.Append(m.packed, member)
	}
}

// listpackIntMax is the most that an integer takes in a listpack, in bytes.
const listpackIntMax = 10

// fitsPacked reports whether a packed set may be a listpack with one more member.
func (v *View) fitsPacked(m *members, member []byte) bool {
	limits := &v.store.encodings
	size := m.len()
	if size >= limits.SetEntries || len(member) > limits.SetValue {
		return false
	}
	if m.kind == kindSetPacked {
		return listpack.Fits(m.packed, listpack.Size(member))
	}
	return (size == 0 || intLen(intset.At(m.packed, 0)) <= limits.SetValue && intLen(intset.At(m.packed, size-1)) <= limits.SetValue) &&
		listpack.Fits(nil, size*listpackIntMax+listpack.Size(member))
}

// intLen returns the length of an integer in decimal.
func intLen(n int64) int {
	var digits [listpack.IntegerLenMax]byte
	return len(strconv.AppendInt(digits[:0], n, 10))
}

// ownMembers makes the bytes of a packed set such that they may be changed.
func (v *View) ownMembers(m *members) {
	if !m.own {
		m.packed, m.own = v.edit(m.entry), true
	}
}

// toPacked turns an intset into a listpack.
func (v *View) toPacked(m *members) {
	to := listpack.New()
	for i := range intset.Len(m.packed) {
		to = listpack.AppendInt(to, intset.At(m.packed, i))
	}
	m.kind, m.packed = kindSetPacked, to
}

// toInts turns a set of integers into an intset.
func (v *View) toInts(m *members) {
	var to []byte
	v.eachMember(m, func(member []byte) bool {
		n, _ := ParseInteger(member)
		to, _ = intset.Add(to, n)
		return true
	})
	m.release(v.store)
	m.kind, m.packed, m.dict = kindSetInts, to, nil
}

// toDict makes a packed set a dict.
func (v *View) toDict(m *members) {
	d := v.newDict()
	v.eachMember(m, func(member []byte) bool {
		v.dictAdd(d, member)
		return true
	})
	m.kind, m.packed, m.dict = kindSet, nil, d
}

// removeMember removes a member and reports whether there was one.
func (v *View) removeMember(m *members, member []byte) bool {
	switch m.kind {
	case kindSet:
		return v.dictDelete(m.dict, member)
	case kindSetInts:
		n, ok := ParseInteger(member)
		if !ok || !intset.Contains(m.packed, n) {
			return false
		}
		v.ownMembers(m)
		m.packed, _ = intset.Remove(m.packed, n)
		return true
	}
	off := listpack.Find(m.packed, listpack.First(m.packed), member, 0)
	if off == listpack.None {
		return false
	}
	v.ownMembers(m)
	m.packed = listpack.Delete(m.packed, off, 1)
	return true
}

// saveMembers gives a key its set after it has changed, and removes it if the set has become empty.
func (v *View) saveMembers(key []byte, m *members) {
	e := m.entry
	switch {
	case m.len() == 0:
		v.Remove(key)
	case m.kind != kindSet:
		v.save(key, e, m.kind, m.packed)
	case e.Exists() && e.kind() == kindSet && e.collection() == set{m.dict}:
		v.changed(key)
	default:
		v.saveCollection(key, e, kindSet, set{m.dict})
	}
}

// SAdd adds members to a set and returns how many are new.
func (v *View) SAdd(key []byte, list [][]byte) (added int64, err error) {
	e, err := v.writeAs(key, typeSet)
	if err != nil {
		return 0, err
	}
	m := membersOf(e)
	if !e.Exists() {
		m = v.newMembers(list[0], len(list))
	}
	limits := &v.store.encodings
	// As Redis does it: more than a packed set may have are expected to be all different.
	many := m.kind == kindSetPacked && len(list) > limits.SetEntries || m.kind == kindSetInts && len(list) > limits.SetInts
	for _, member := range list {
		if many && m.kind != kindSet && !v.hasMember(&m, member) {
			v.toDict(&m)
		}
		if v.addMember(&m, member) {
			added++
		}
	}
	if added > 0 {
		v.saveMembers(key, &m)
		v.event(ClassSet, "sadd", key)
	}
	return added, nil
}

// SRem removes members from a set and returns how many there were.
func (v *View) SRem(key []byte, list [][]byte) (removed int64, err error) {
	e, err := v.writeAs(key, typeSet)
	if err != nil || !e.Exists() {
		return 0, err
	}
	m := membersOf(e)
	for _, member := range list {
		if !v.removeMember(&m, member) {
			continue
		}
		if removed++; m.len() == 0 {
			break
		}
	}
	if removed > 0 {
		v.event(ClassSet, "srem", key)
		v.saveMembers(key, &m)
	}
	return removed, nil
}

// SMove moves a member from one set to another, which need not exist, and reports whether it was there.
func (v *View) SMove(from, to, member []byte) (bool, error) {
	exists := v.LookupWrite(from).Exists()
	dst := v.LookupWrite(to)
	if !exists {
		return false, nil
	}
	// Found anew: if the destination had expired, it was removed, and that is a write.
	src, err := v.Peek(from).as(typeSet)
	if err != nil {
		return false, err
	}
	if _, err := dst.as(typeSet); err != nil {
		return false, err
	}
	m := membersOf(src)
	if src == dst {
		return v.hasMember(&m, member), nil
	}
	if !v.removeMember(&m, member) {
		return false, nil
	}
	v.event(ClassSet, "srem", from)
	v.saveMembers(from, &m)
	dst = v.Peek(to)
	m = membersOf(dst)
	if !dst.Exists() {
		m = v.newMembers(member, 1)
	}
	if v.addMember(&m, member) {
		v.saveMembers(to, &m)
		v.event(ClassSet, "sadd", to)
	}
	return true, nil
}

// SPop removes a random member and returns it; ok is false if there is no such key.
func (v *View) SPop(key []byte) (member []byte, ok bool, err error) {
	e, err := v.writeAs(key, typeSet)
	if err != nil || !e.Exists() {
		return nil, false, err
	}
	m := membersOf(e)
	member = v.popMember(&m)
	v.event(ClassSet, "spop", key)
	v.saveMembers(key, &m)
	return member, true, nil
}

// popMember removes a random member and returns a copy of it.
func (v *View) popMember(m *members) (member []byte) {
	var digits [listpack.IntegerLenMax]byte
	if m.kind == kindSet {
		member = v.kept(v.dictRandom(m.dict).Key())
		v.dictDelete(m.dict, member)
		return member
	}
	v.ownMembers(m)
	i := v.random.IntN(m.len())
	if m.kind == kindSetInts {
		member = v.kept(strconv.AppendInt(digits[:0], intset.At(m.packed, i), 10))
		m.packed = intset.RemoveAt(m.packed, i)
		return member
	}
	off := listpack.Seek(m.packed, i)
	member = v.kept(listpack.Text(m.packed, off, &digits))
	m.packed = listpack.Delete(m.packed, off, 1)
	return member
}

// popRestMin is how many times as many must be removed from a large set as are left, to make a new set of what is left
// rather than to remove one after the other. The new set is a packed one if it is small: the one way, as in Redis, in which
// a large set becomes packed.
const popRestMin = 5

// SPopMany removes count random members, or all there are. It tells begin how many that is, and fn each of them.
func (v *View) SPopMany(key []byte, count int64, begin func(n int), fn func(member []byte)) error {
	e, err := v.writeAs(key, typeSet)
	if err != nil {
		return err
	}
	m := membersOf(e)
	size := m.len()
	n := int(min(count, int64(size)))
	begin(n)
	if n == 0 {
		return nil
	}
	v.event(ClassSet, "spop", key)
	switch {
	case n == size:
		v.eachMember(&m, func(member []byte) bool { fn(member); return true })
		v.Remove(key)
		return nil
	case m.kind != kindSet:
		m = v.popPacked(m, n, fn)
	case n >= popRestMin*(size-n):
		m = v.popAllBut(m, size-n, fn)
	default:
		for range n {
			e := v.dictRandom(m.dict)
			fn(e.Key())
			v.dictDelete(m.dict, e.Key())
		}
	}
	v.saveMembers(key, &m)
	return nil
}

// popPacked passes n random members of a packed set to fn and returns the set of the others.
func (v *View) popPacked(m members, n int, fn func(member []byte)) members {
	rest := members{kind: m.kind, packed: make([]byte, 0, len(m.packed)), entry: m.entry, own: true}
	size := m.len()
	v.eachMember(&m, func(member []byte) bool {
		if v.random.IntN(size) < n {
			fn(member)
			n--
		} else {
			v.insertMember(&rest, member)
		}
		size--
		return true
	})
	return rest
}

// popAllBut passes all but n random members of a large set to fn and returns the set of these n.
func (v *View) popAllBut(m members, n int, fn func(member []byte)) members {
	rest := members{kind: kindSetPacked, entry: m.entry, own: true}
	for range n {
		member := v.dictRandom(m.dict).Key()
		v.insertMember(&rest, member) // leaves m as it is
		v.dictDelete(m.dict, member)
	}
	v.eachMember(&m, func(member []byte) bool { fn(member); return true })
	return rest
}
