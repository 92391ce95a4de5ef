package store

import (
	"strconv"

	"kvserver/store/intset"
	"kvserver/store/listpack"
)

// Set is a set that was found, to be read until the view unlocks or writes. That of a missing key is empty.
type Set struct {
	v *View
	members
}

// ReadSet looks up a set.
func (v *View) ReadSet(key []byte) (Set, error) {
	e, err := v.readAs(key, typeSet)
	return Set{v, membersOf(e)}, err
}

// Exists reports whether there is such a key.
func (s *Set) Exists() bool { return s.entry.Exists() }

// Len returns the number of members.
func (s *Set) Len() int { return s.len() }

// Contains reports whether the set has a member.
func (s *Set) Contains(member []byte) bool { return s.v.hasMember(&s.members, member) }

// Each calls fn with each member, valid inside fn only.
func (s *Set) Each(fn func(member []byte)) {
	s.v.eachMember(&s.members, func(member []byte) bool { fn(member); return true })
}

// Scan calls fn with members, beginning at the cursor: all of a packed set, of a large one some buckets full until there
// were count. It returns the cursor to go on from, 0 at the end, and keeps SCAN's promise.
func (s *Set) Scan(cursor uint64, count int, fn func(member []byte)) (next uint64) {
	if s.kind != kindSet {
		s.Each(fn)
		return 0
	}
	seen := 0
	for buckets := 0; buckets/scanSeenPerTaken < count && seen < count; buckets++ {
		cursor = s.v.dictScan(s.dict, cursor, func(e Entry) {
			seen++
			fn(e.Key())
		})
		if cursor == 0 {
			break
		}
	}
	return cursor
}

// Draw calls fn with n random members, one independent of the other, until it returns false. The set must not be empty.
func (s *Set) Draw(n int64, fn func(member []byte) bool) {
	v := s.v
	if s.kind == kindSet {
		for ; n > 0 && fn(v.dictRandom(s.dict).Key()); n-- {
		}
		return
	}
	var digits [listpack.IntegerLenMax]byte
	var offsets []int // of a listpack, if it is worth while
	if s.kind == kindSetPacked && n > 1 {
		offsets = make([]int, 0, s.len())
		for off := listpack.First(s.packed); off != listpack.None; off = listpack.Next(s.packed, off) {
			offsets = append(offsets, off)
		}
	}
	for more := true; more && n > 0; n-- {
		i := v.random.IntN(s.len())
		switch {
		case s.kind == kindSetInts:
			more = fn(strconv.AppendInt(digits[:0], intset.At(s.packed, i), 10))
		case offsets != nil:
			more = fn(listpack.Text(s.packed, offsets[i], &digits))
		default:
			more = fn(listpack.Text(s.packed, listpack.Seek(s.packed, i), &digits))
		}
	}
}

// sampleWalkMin is the share of a large set, one in so many, from which on a sample is taken by a walk over the set, and not
// by drawing until enough are different.
const sampleWalkMin = 3

// Sample calls fn with n different members, at most all: every choice of n is equally likely, their order is not random.
func (s *Set) Sample(n int, fn func(member []byte)) {
	v, size := s.v, s.len()
	if s.kind != kindSet || n > size/sampleWalkMin {
		v.eachMember(&s.members, func(member []byte) bool {
			if v.random.IntN(size) < n {
				fn(member)
				n--
			}
			size--
			return n > 0
		})
		return
	}
	drawn := members{kind: kindSetPacked, own: true}
	defer func() { drawn.release(v.store) }()
	for n > 0 {
		if member := v.dictRandom(s.dict).Key(); v.addMember(&drawn, member) {
			fn(member)
			n--
		}
	}
}
