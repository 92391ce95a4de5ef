package store

import (
	"bytes"
	"math"

	"kvserver/store/listpack"
)

// A packed sorted set is a listpack of members, each followed by its score, in the order of the set. A score is an integer
// where it is one, else the text that stands for it; -0 is packed as 0, as in Redis.

// packedScoreMax is the most that a score takes in a listpack, in bytes.
const packedScoreMax = 32

// packedScore returns the score that lies at an offset.
func packedScore(packed []byte, off int) float64 {
	text, n, isInt := listpack.Get(packed, off)
	if isInt {
		return float64(n)
	}
	f, _ := ParseDouble(text)
	return f
}

// scoreText returns a score as it is packed, appended to dst.
func scoreText(dst []byte, score float64) []byte {
	if score == 0 {
		return append(dst, '0')
	}
	return AppendDouble(dst, score)
}

// packedFind returns the offset of a member, or None.
func packedFind(packed, member []byte) int {
	return listpack.Find(packed, listpack.First(packed), member, 1)
}

// packedInsert adds a member that the set does not have.
func packedInsert(packed, member []byte, score float64) []byte {
	var digits [listpack.IntegerLenMax]byte
	for off := listpack.First(packed); off != listpack.None; {
		at := listpack.Next(packed, off)
		s := packedScore(packed, at)
		if s > score || s == score && bytes.Compare(listpack.Text(packed, off, &digits), member) > 0 {
			packed = listpack.InsertAt(packed, off, member)
			at = listpack.After(packed, off)
			if n := int64(score); float64(n) == score && math.Abs(score) < 1<<53 {
				return listpack.InsertIntAt(packed, at, n)
			}
			var text [packedScoreMax]byte
			return listpack.InsertAt(packed, at, scoreText(text[:0], score))
		}
		off = listpack.Next(packed, at)
	}
	return packedAppend(packed, member, score)
}

// packedAppend adds a member that comes after all others.
func packedAppend(packed, member []byte, score float64) []byte {
	packed = listpack.Append(packed, member)
	if n := int64(score); float64(n) == score && math.Abs(score) < 1<<53 {
		return listpack.AppendInt(packed, n)
	}
	var text [packedScoreMax]byte
	return listpack.Append(packed, scoreText(text[:0], score))
}

// packedEach is SortedSet.Each.
func packedEach(packed []byte, from, to int, reverse bool, fn func(member []byte, score float64) bool) {
	var digits [listpack.IntegerLenMax]byte
	if reverse {
		off := listpack.Seek(packed, 2*(to-1))
		for n := to - from; n > 0; n-- {
			at := listpack.Next(packed, off)
			if !fn(listpack.Text(packed, off, &digits), packedScore(packed, at)) || n == 1 {
				return
			}
			off = listpack.Prev(packed, listpack.Prev(packed, off))
		}
		return
	}
	off := listpack.Seek(packed, 2*from)
	for n := to - from; n > 0; n-- {
		at := listpack.Next(packed, off)
		if !fn(listpack.Text(packed, off, &digits), packedScore(packed, at)) {
			return
		}
		off = listpack.Next(packed, at)
	}
}

// packedCount returns the number of elements at the front for which a condition holds.
func packedCount(packed []byte, holds func(member []byte, score float64) bool) int {
	n := 0
	packedEach(packed, 0, listpack.Len(packed)/2, false, func(member []byte, score float64) bool {
		if !holds(member, score) {
			return false
		}
		n++
		return true
	})
	return n
}
