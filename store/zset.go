package store

import (
	"encoding/binary"
	"math"

	"kvserver/store/listpack"
	"kvserver/store/ranked"
)

// A sorted set is kept as Redis keeps it: as a listpack of members and scores in order (zsetpacked.go) while it has few
// and short members, else as a zset. One that was converted stays so, however small it becomes.

// zset is a large sorted set, each element of which is in two structures: the dict finds a member's score, the tree has
// the order. With members of 12 bytes an element takes some 50 bytes in the dict and 35 in the tree.
type zset struct {
	scores *dict        // member → score, 8 bytes
	order  *ranked.Tree // by score and member
}

const scoreSize = 8

func (v *View) newZset() *zset {
	return &zset{v.newDict(), ranked.New(v.store.pool, &v.store.objectBytes)}
}

func (z *zset) footprint() int64 { return z.scores.footprint() + z.order.Bytes() }

func (z *zset) release(s *Store) {
	z.scores.release(s)
	z.order.Release()
}

func (z *zset) clone(v *View) collection {
	return &zset{v.dictClone(z.scores), z.order.Clone(v.store.pool)}
}

// score returns the entry of a member and its score.
func (z *zset) score(v *View, member []byte) (e Entry, score float64) {
	if e = v.dictFind(z.scores, member); e.Exists() {
		score = scoreOf(e)
	}
	return e, score
}

// scoreOf returns the score in an entry of the dict.
func scoreOf(e Entry) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(e.text())) }

// insert adds a member that the set does not have.
func (z *zset) insert(v *View, member []byte, score float64) {
	z.order.Insert(score, member)
	var bits [scoreSize]byte
	binary.LittleEndian.PutUint64(bits[:], math.Float64bits(score))
	v.dictSet(z.scores, member, bits[:], noDeadline)
}

// move gives the member of entry e another score.
func (z *zset) move(e Entry, member []byte, old, score float64) {
	z.order.Delete(old, member)
	z.order.Insert(score, member)
	binary.LittleEndian.PutUint64(e.text(), math.Float64bits(score))
}

// remove takes out a member and reports whether it was there.
func (z *zset) remove(v *View, member []byte) bool {
	e, score := z.score(v, member)
	if !e.Exists() {
		return false
	}
	z.order.Delete(score, member)
	v.dictDelete(z.scores, member)
	return true
}

// removeRange takes out the elements of ranks from to to, excluding to.
func (z *zset) removeRange(v *View, from, to int) {
	z.order.DeleteRange(from, to, func(_ float64, member []byte) { v.dictDelete(z.scores, member) })
}

// SortedSet is a sorted set that was looked up, to be read; of a missing key it is empty. It is valid until the view
// unlocks or writes. Ranks count from 0 at the least score.
type SortedSet struct {
	v      *View
	entry  Entry
	packed []byte
	large  *zset // nil: packed
}

// ReadSorted looks up a sorted set.
func (v *View) ReadSorted(key []byte) (SortedSet, error) {
	e, err := v.readAs(key, typeZset)
	return v.sortedOf(e), err
}

func (v *View) sortedOf(e Entry) SortedSet {
	s := SortedSet{v: v, entry: e}
	switch {
	case !e.Exists():
	case e.kind() == kindZset:
		s.large = e.collection().(*zset)
	default:
		s.packed = e.packed()
	}
	return s
}

// Exists reports whether there is such a key.
func (s *SortedSet) Exists() bool { return s.entry.Exists() }

// Packed reports whether the set is a listpack.
func (s *SortedSet) Packed() bool { return s.large == nil }

// Len returns the number of elements.
func (s *SortedSet) Len() int {
	if s.large != nil {
		return s.large.order.Len()
	}
	return listpack.Len(s.packed) / 2
}

// Score returns the score of a member.
func (s *SortedSet) Score(member []byte) (score float64, ok bool) {
	if s.large != nil {
		e, score := s.large.score(s.v, member)
		return score, e.Exists()
	}
	off := packedFind(s.packed, member)
	if off == listpack.None {
		return 0, false
	}
	return packedScore(s.packed, listpack.Next(s.packed, off)), true
}

// Rank returns the rank of a member, -1 if there is no such member, and its score. O(log n).
func (s *SortedSet) Rank(member []byte) (rank int, score float64) {
	if s.large != nil {
		e, score := s.large.score(s.v, member)
		if !e.Exists() {
			return -1, 0
		}
		return s.large.order.Rank(score, member), score
	}
	rank = 0
	for off := listpack.First(s.packed); off != listpack.None; rank++ {
		at := listpack.Next(s.packed, off)
		if listpack.Equal(s.packed, off, member) {
			return rank, packedScore(s.packed, at)
		}
		off = listpack.Next(s.packed, at)
	}
	return -1, 0
}

// Each calls fn with the elements of ranks from to to, excluding to, in order or in reverse, until it returns false. The
// member is valid inside fn only; fn must not change the set.
func (s *SortedSet) Each(from, to int, reverse bool, fn func(member []byte, score float64) bool) {
	switch {
	case from >= to:
	case s.large == nil:
		packedEach(s.packed, from, to, reverse, fn)
	case reverse:
		for c := s.large.order.At(to - 1); c.Rank() >= from && fn(c.Member(), c.Score()); {
			c.Prev()
		}
	default:
		for c := s.large.order.At(from); c.Rank() < to && fn(c.Member(), c.Score()); {
			c.Next()
		}
	}
}

// ZElement is an element of a sorted set. Its score is a number.
type ZElement struct {
	Member []byte
	Score  float64
}

// ZAddOptions say how ZAdd works.
type ZAddOptions struct {
	IfMissing bool // NX: members that exist stay as they are
	IfExists  bool // XX: no member is added
	Greater   bool // GT: a member that exists gets greater scores only
	Less      bool // LT
	Increment bool // the scores are added to those that members have
}

// ZAddResult is what ZAdd did. Score is the score of the last member, if Done says that it was not left alone.
type ZAddResult struct {
	Added, Updated int64
	Score          float64
	Done           bool
}

// ZAdd adds elements to the sorted set at a key, which it makes if need be, or changes their scores. Where it returns an
// error, which increments of a single element may lead to, nothing has changed.
func (v *View) ZAdd(key []byte, elements []ZElement, o ZAddOptions) (ZAddResult, error) {
	var result ZAddResult
	e, err := v.writeAs(key, typeZset)
	if err != nil || !e.Exists() && o.IfExists {
		return result, err
	}
	w := v.editSorted(key, e)
	if limits := &v.store.encodings; len(elements) > limits.ZsetEntries || !e.Exists() && len(elements[0].Member) > limits.ZsetValue {
		w.convert()
	}
	for i := range elements {
		if err := w.add(&elements[i], o, &result); err != nil {
			w.abandon()
			return result, err
		}
	}
	w.save()
	switch {
	case result.Added+result.Updated == 0:
	case o.Increment:
		v.event(ClassZset, "zincr", key)
	default:
		v.event(ClassZset, "zadd", key)
	}
	return result, nil
}

// zsetEdit is a sorted set that is being changed, in either encoding.
type zsetEdit struct {
	v       *View
	key     []byte
	entry   Entry  // none: a set in the making
	packed  []byte // from View.edit
	large   *zset  // nil: packed
	fresh   bool   // large is not in the store yet
	changed bool
}

func (v *View) editSorted(key []byte, e Entry) zsetEdit {
	w := zsetEdit{v: v, key: key, entry: e}
	if e.Exists() && e.kind() == kindZset {
		w.large = e.collection().(*zset)
	} else {
		w.packed = v.edit(e)
	}
	return w
}

// save ends the change.
func (w *zsetEdit) save() {
	switch {
	case w.fresh:
		w.v.saveCollection(w.key, w.entry, kindZset, w.large)
	case !w.changed:
	case w.large != nil:
		w.v.changed(w.key)
	default:
		w.v.save(w.key, w.entry, kindZsetPacked, w.packed)
	}
}

// abandon ends a change that has changed nothing.
func (w *zsetEdit) abandon() {
	if w.fresh {
		w.large.release(w.v.store)
	}
}

// convert makes a packed set a large one.
func (w *zsetEdit) convert() {
	if w.large != nil {
		return
	}
	w.large, w.fresh = w.v.unpackZset(w.packed), true
}

// unpackZset returns a large set with the elements of a packed one.
func (v *View) unpackZset(packed []byte) *zset {
	z := v.newZset()
	packedEach(packed, 0, listpack.Len(packed)/2, false, func(member []byte, score float64) bool {
		z.insert(v, member, score)
		return true
	})
	return z
}

func (w *zsetEdit) len() int {
	if w.large != nil {
		return w.large.order.Len()
	}
	return listpack.Len(w.packed) / 2
}

// add does the work of ZAdd for one element.
func (w *zsetEdit) add(el *ZElement, o ZAddOptions, r *ZAddResult) error {
	r.Done = false
	var at Entry // of the member, if large
	off := listpack.None
	old, found := 0.0, false
	if w.large != nil {
		at, old = w.large.score(w.v, el.Member)
		found = at.Exists()
	} else if off = packedFind(w.packed, el.Member); off != listpack.None {
		old, found = packedScore(w.packed, listpack.Next(w.packed, off)), true
	}
	if found && o.IfMissing || !found && o.IfExists {
		return nil
	}
	score := el.Score
	if found && o.Increment {
		if score += old; math.IsNaN(score) {
			return ErrScoreNaN
		}
	}
	if found && (o.Less && score >= old || o.Greater && score <= old) {
		return nil
	}
	r.Score, r.Done = score, true
	switch {
	case !found:
		r.Added++
		w.insert(el.Member, score)
	case score == old: // 0 and -0 among them
	case w.large != nil:
		r.Updated++
		w.large.move(at, el.Member, old, score)
		w.changed = true
	default:
		r.Updated++
		w.packed = packedInsert(listpack.Delete(w.packed, off, 2), el.Member, score)
		w.changed = true
	}
	return nil
}

// insert adds a member that the set does not have.
func (w *zsetEdit) insert(member []byte, score float64) {
	if w.large == nil && !w.v.fitsPackedZset(w.packed, member) {
		w.convert()
	}
	w.changed = true
	if w.large != nil {
		w.large.insert(w.v, member, score)
	} else {
		w.packed = packedInsert(w.packed, member, score)
	}
}

// fitsPackedZset reports whether a packed set remains one with another member.
func (v *View) fitsPackedZset(packed, member []byte) bool {
	limits := &v.store.encodings
	return listpack.Len(packed)/2 < limits.ZsetEntries && len(member) <= limits.ZsetValue &&
		listpack.Fits(packed, listpack.Size(member)+packedScoreMax)
}

// ZRem removes members from the sorted set at a key and returns how many there were.
func (v *View) ZRem(key []byte, members [][]byte) (removed int64, err error) {
	e, err := v.writeAs(key, typeZset)
	if err != nil || !e.Exists() {
		return 0, err
	}
	w := v.editSorted(key, e)
	for _, member := range members {
		if !w.remove(member) {
			continue
		}
		if removed++; w.len() == 0 {
			v.event(ClassZset, "zrem", key)
			v.Remove(key)
			return removed, nil
		}
	}
	w.save()
	if removed > 0 {
		v.event(ClassZset, "zrem", key)
	}
	return removed, nil
}

func (w *zsetEdit) remove(member []byte) bool {
	if w.large != nil {
		found := w.large.remove(w.v, member)
		w.changed = w.changed || found
		return found
	}
	off := packedFind(w.packed, member)
	if off == listpack.None {
		return false
	}
	w.packed, w.changed = listpack.Delete(w.packed, off, 2), true
	return true
}

// zsetBuilder makes a sorted set of elements that come in order, or all in reverse. Which of them are packed before it
// becomes a large set, and so lose the sign of -0, depends on that as in Redis.
type zsetBuilder struct {
	v       *View
	packed  []byte
	large   *zset
	reverse bool
}

func (b *zsetBuilder) add(member []byte, score float64) {
	if b.large == nil && !b.v.fitsPackedZset(b.packed, member) {
		b.large, b.packed = b.v.unpackZset(b.packed), nil
	}
	switch {
	case b.large != nil:
		b.large.insert(b.v, member, score)
	case b.reverse:
		b.packed = packedInsert(b.packed, member, score)
	default:
		b.packed = packedAppend(b.packed, member, score)
	}
}

func (b *zsetBuilder) len() int {
	if b.large != nil {
		return b.large.order.Len()
	}
	return listpack.Len(b.packed) / 2
}

// store gives a key the set, whatever it held; an empty one removes it. event is the name of what happens otherwise.
func (b *zsetBuilder) store(key []byte, event string) {
	switch {
	case b.large != nil:
		b.v.replace(key, kindZset, nil, b.large)
	case b.len() > 0:
		b.v.replace(key, kindZsetPacked, b.packed, nil)
	default:
		b.v.Remove(key)
		return
	}
	b.v.event(ClassZset, event, key)
}
