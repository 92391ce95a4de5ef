package store

import (
	"bytes"

	"kvserver/store/listpack"
)

// ZRange is a range of a sorted set: RankRange, ScoreRange or LexRange.
type ZRange interface {
	// ranks returns the ranks [from, to) that the range means, from <= to. reverse tells in which order it will be read.
	ranks(s *SortedSet, reverse bool) (from, to int)
	// removal is the name of what happens when the elements are removed.
	removal() string
}

func (RankRange) removal() string  { return "zremrangebyrank" }
func (ScoreRange) removal() string { return "zremrangebyscore" }
func (LexRange) removal() string   { return "zremrangebylex" }

// RankRange is a range of ranks, both inclusive, counted from the end if negative. Read in reverse it counts from there.
type RankRange struct{ Start, Stop int64 }

func (r RankRange) ranks(s *SortedSet, reverse bool) (from, to int) {
	n := int64(s.Len())
	start, stop := r.Start, r.Stop
	if start < 0 {
		start = max(start+n, 0)
	}
	if stop < 0 {
		stop += n
	}
	stop = min(stop, n-1)
	if start > stop {
		return 0, 0
	}
	if reverse {
		start, stop = n-1-stop, n-1-start
	}
	return int(start), int(stop) + 1
}

// ScoreRange is a range of scores. Open ends exclude the score itself.
type ScoreRange struct {
	Min, Max         float64
	MinOpen, MaxOpen bool
}

func (r ScoreRange) ranks(s *SortedSet, _ bool) (from, to int) {
	from = s.belowScore(r.Min, r.MinOpen)
	return from, max(from, s.belowScore(r.Max, !r.MaxOpen))
}

// belowScore returns how many elements have a score less than the given one, or equal to it if inclusive.
func (s *SortedSet) belowScore(score float64, inclusive bool) int {
	if s.large != nil {
		return s.large.order.CountBelowScore(score, inclusive)
	}
	return packedCount(s.packed, func(_ []byte, x float64) bool { return x < score || inclusive && x == score })
}

// LexEnd is an end of a range of members.
type LexEnd struct {
	Infinite int // -1: before all members, +1: after all
	Member   []byte
	Open     bool // the member itself is excluded
}

// before reports whether the end, as a lower one, lies before a member; after does so for an upper one.
func (e *LexEnd) before(member []byte) bool {
	if e.Infinite != 0 {
		return e.Infinite < 0
	}
	order := bytes.Compare(e.Member, member)
	return order < 0 || order == 0 && !e.Open
}

func (e *LexEnd) after(member []byte) bool {
	if e.Infinite != 0 {
		return e.Infinite > 0
	}
	order := bytes.Compare(e.Member, member)
	return order > 0 || order == 0 && !e.Open
}

// LexRange is a range of members of a set whose scores are all equal.
type LexRange struct{ Min, Max LexEnd }

// ranks of a packed set are found as Redis walks it, so that even where the scores differ, which makes the range
// meaningless, the outcome is the same.
func (r LexRange) ranks(s *SortedSet, reverse bool) (from, to int) {
	n := s.Len()
	if n == 0 || r.empty() || !s.holdsAt(n-1, r.Min.before) || !s.holdsAt(0, r.Max.after) {
		return 0, 0
	}
	if s.large != nil {
		from, to = s.belowEnd(&r.Min, r.Min.Open), s.belowEnd(&r.Max, !r.Max.Open)
		return from, max(from, to)
	}
	if reverse {
		to = n
		s.Each(0, n, true, func(member []byte, _ float64) bool {
			if r.Max.after(member) {
				return false
			}
			to--
			return true
		})
		from = to
		s.Each(0, to, true, func(member []byte, _ float64) bool {
			if !r.Min.before(member) {
				return false
			}
			from--
			return true
		})
		return from, to
	}
	from = packedCount(s.packed, func(member []byte, _ float64) bool { return !r.Min.before(member) })
	to = from
	s.Each(from, n, false, func(member []byte, _ float64) bool {
		if !r.Max.after(member) {
			return false
		}
		to++
		return true
	})
	return from, to
}

// empty reports whether no member can be in the range.
func (r *LexRange) empty() bool {
	if r.Min.Infinite != 0 || r.Max.Infinite != 0 {
		return r.Min.Infinite > 0 || r.Max.Infinite < 0
	}
	order := bytes.Compare(r.Min.Member, r.Max.Member)
	return order > 0 || order == 0 && (r.Min.Open || r.Max.Open)
}

func (s *SortedSet) holdsAt(rank int, holds func(member []byte) bool) (held bool) {
	s.Each(rank, rank+1, false, func(member []byte, _ float64) bool {
		held = holds(member)
		return false
	})
	return held
}

// belowEnd returns how many elements of a large set lie below an end.
func (s *SortedSet) belowEnd(e *LexEnd, inclusive bool) int {
	switch {
	case e.Infinite < 0:
		return 0
	case e.Infinite > 0:
		return s.Len()
	}
	return s.large.order.CountBelowMember(e.Member, inclusive)
}

// Count returns the number of elements in a range.
func (s *SortedSet) Count(r ZRange) int64 {
	from, to := r.ranks(s, false)
	return int64(to - from)
}

// ZQuery is a range, and what of it is wanted.
type ZQuery struct {
	Range   ZRange
	Reverse bool
	Offset  int64 // elements that are passed over; negative: all
	Limit   int64 // negative: none
}

// Select returns the ranks [from, to) of the elements that a query wants, to be read with Each.
func (s *SortedSet) Select(q ZQuery) (from, to int) {
	from, to = q.Range.ranks(s, q.Reverse)
	n := int64(to - from)
	if q.Offset < 0 || q.Offset >= n {
		return from, from
	}
	n -= q.Offset
	if q.Limit >= 0 {
		n = min(n, q.Limit)
	}
	if q.Reverse {
		to -= int(q.Offset)
		return to - int(n), to
	}
	from += int(q.Offset)
	return from, from + int(n)
}

// ZRangeStore stores what a query finds in one sorted set as another, whatever that key held, and returns the number of
// elements. If there are none the key is removed.
func (v *View) ZRangeStore(to, key []byte, q ZQuery) (int64, error) {
	s, err := v.ReadSorted(key)
	if err != nil {
		return 0, err
	}
	b := zsetBuilder{v: v, reverse: q.Reverse}
	first, end := s.Select(q)
	s.Each(first, end, q.Reverse, func(member []byte, score float64) bool {
		b.add(member, score)
		return true
	})
	b.store(to, "zrangestore")
	return int64(end - first), nil
}

// ZRemRange removes the elements of a range from the sorted set at a key and returns their number.
func (v *View) ZRemRange(key []byte, r ZRange) (int64, error) {
	e, err := v.writeAs(key, typeZset)
	if err != nil || !e.Exists() {
		return 0, err
	}
	s := v.sortedOf(e)
	from, to := r.ranks(&s, false)
	v.removeRanks(key, e, from, to, r.removal())
	return int64(to - from), nil
}

// removeRanks removes the elements of ranks from to to, excluding to, of the set of entry e. event is the name of that.
func (v *View) removeRanks(key []byte, e Entry, from, to int, event string) {
	if from == to {
		return
	}
	v.event(ClassZset, event, key)
	s := v.sortedOf(e)
	switch {
	case to-from == s.Len():
		v.Remove(key)
	case s.large != nil:
		s.large.removeRange(v, from, to)
		v.changed(key)
	default:
		packed := v.edit(e)
		v.save(key, e, kindZsetPacked, listpack.Delete(packed, listpack.Seek(packed, 2*from), 2*(to-from)))
	}
}

// ZPop removes up to count elements with the least scores, or with the greatest if last, from the sorted set at a key. If
// the key exists it calls begin, before it removes them, with their number, and fn with each; an element is valid inside fn
// only. found is false if the key is missing.
func (v *View) ZPop(key []byte, last bool, count int64, begin func(n int), fn func(member []byte, score float64)) (found bool, err error) {
	e, err := v.writeAs(key, typeZset)
	if err != nil || !e.Exists() {
		return false, err
	}
	s := v.sortedOf(e)
	size := s.Len()
	n := int(min(count, int64(size)))
	from, to, event := 0, n, "zpopmin"
	if last {
		from, to, event = size-n, size, "zpopmax"
	}
	begin(n)
	s.Each(from, to, last, func(member []byte, score float64) bool {
		fn(member, score)
		return true
	})
	v.removeRanks(key, e, from, to, event)
	return true, nil
}

// Draw calls fn with n random elements, one independent of the other, until it returns false. The set must not be empty.
func (s *SortedSet) Draw(n int64, fn func(member []byte, score float64) bool) {
	size := s.Len()
	for more := true; more && n > 0; n-- {
		rank := s.v.random.IntN(size)
		s.Each(rank, rank+1, false, func(member []byte, score float64) bool {
			more = fn(member, score)
			return more
		})
	}
}

// Sample calls fn with n different elements, at most all. Every choice of n is equally likely, their order is not random.
func (s *SortedSet) Sample(n int, fn func(member []byte, score float64)) {
	size, random := s.Len(), s.v.random
	if n > size/sampleWalkMin || s.large == nil {
		// Backwards, since that is how Redis returns a whole set.
		s.Each(0, size, true, func(member []byte, score float64) bool {
			if random.IntN(size) < n {
				fn(member, score)
				n--
			}
			size--
			return n > 0
		})
		return
	}
	// Floyd's: each of the last n ranks stands for one drawn up to it, or for itself if that one is taken.
	drawn := make(map[int]struct{}, n)
	for last := size - n; last < size; last++ {
		rank := random.IntN(last + 1)
		if _, taken := drawn[rank]; taken {
			rank = last
		}
		drawn[rank] = struct{}{}
		s.Each(rank, rank+1, false, func(member []byte, score float64) bool {
			fn(member, score)
			return false
		})
	}
}

// Scan calls fn with elements, beginning at the cursor: all of a packed set, of a large one some buckets full until there
// were count. It returns the cursor to go on from, 0 at the end, and keeps SCAN's promise.
func (s *SortedSet) Scan(cursor uint64, count int, fn func(member []byte, score float64)) (next uint64) {
	if s.large == nil {
		packedEach(s.packed, 0, s.Len(), false, func(member []byte, score float64) bool {
			fn(member, score)
			return true
		})
		return 0
	}
	seen := 0
	for buckets := 0; buckets/scanSeenPerTaken < count && seen < count; buckets++ {
		cursor = s.v.dictScan(s.large.scores, cursor, func(e Entry) {
			seen++
			fn(e.Key(), scoreOf(e))
		})
		if cursor == 0 {
			break
		}
	}
	return cursor
}
