package hll

import (
	"encoding/binary"
	"math/bits"
)

// An Editor adds elements to a sketch: in place where that is dense; a sparse one grows by appending, and may become
// dense, a new slice. What it does to the estimate that is kept is left to the caller.
type Editor struct {
	Sketch
	SparseMax int // bytes that a sparse sketch may have, its header included
}

// Add adds an element. changed is false if that made no difference, ok if the sketch is corrupt.
func (e *Editor) Add(element []byte) (changed, ok bool) { return e.Raise(place(element)) }

// Raise makes register i at least rank. changed is false if it was; ok is false, and nothing was changed, if the sketch is
// corrupt.
func (e *Editor) Raise(i int, rank byte) (changed, ok bool) {
	if e.Dense() {
		return e.raise(i, rank), true
	}
	at, before, first, ok := e.runOf(i)
	if !ok {
		return false, false
	}
	r, _ := runAt(e.Sketch[at:])
	if r.rank >= rank {
		return false, true
	}
	if rank > valRankMax {
		return e.promote(i, rank)
	}
	var parts [5]byte
	b := parts[:0]
	if left := i - first; left > 0 {
		b = r.appendPart(b, left)
	}
	b = appendVal(b, rank, 1)
	if right := first + r.length - 1 - i; right > 0 {
		b = r.appendPart(b, right)
	}
	grows := len(b) - r.size()
	if grows > 0 && len(e.Sketch)+grows > e.SparseMax {
		return e.promote(i, rank)
	}
	e.Sketch = replaced(e.Sketch, at, r.size(), b)
	e.join(before)
	return true, true
}

// runOf finds the run that covers register i: where it begins, where the run before it begins (the first one has none and
// stands for itself), and the first register that it covers.
func (e *Editor) runOf(i int) (at, before, first int, ok bool) {
	at, before = headerSize, headerSize
	for at < len(e.Sketch) {
		r, ok := runAt(e.Sketch[at:])
		if !ok {
			break
		}
		if i < first+r.length {
			return at, before, first, true
		}
		before = at
		at += r.size()
		first += r.length
	}
	return 0, 0, 0, false
}

// replaced returns b with the n bytes at at replaced. It grows in place if there is room.
func replaced(b []byte, at, n int, with []byte) []byte {
	old, grows := len(b), len(with)-n
	for range grows {
		b = append(b, 0)
	}
	copy(b[at+len(with):], b[at+n:old])
	copy(b[at:], with)
	return b[:old+grows]
}

// join joins neighbouring runs of the same rank among the few from at on.
func (e *Editor) join(at int) {
	for n := 0; n < joinedMax && at < len(e.Sketch); n++ {
		r, ok := runAt(e.Sketch[at:])
		if !ok {
			return
		}
		if next := at + 1; r.rank > 0 && next < len(e.Sketch) {
			if o, _ := runAt(e.Sketch[next:]); o.rank == r.rank && r.length+o.length <= valMax {
				appendVal(e.Sketch[:at], r.rank, r.length+o.length)
				e.Sketch = replaced(e.Sketch, next, 1, nil)
				continue
			}
		}
		at += r.size()
	}
}

// Promote makes the sketch dense; ok is false if it is corrupt.
func (e *Editor) Promote() (ok bool) {
	d, ok := e.ToDense()
	if ok {
		e.Sketch = d
	}
	return ok
}

func (e *Editor) promote(i int, rank byte) (changed, ok bool) {
	if !e.Promote() {
		return false, false
	}
	return e.raise(i, rank), true
}

// place returns the register that an element belongs to, and its rank.
func place(element []byte) (i int, rank byte) {
	h := murmurHash64A(element, 0xadc83b19)
	rest := h>>indexBits | 1<<(64-indexBits) // a one where the hash ends
	return int(h & (Registers - 1)), byte(bits.TrailingZeros64(rest) + 1)
}

// murmurHash64A is Austin Appleby's MurmurHash2 for 64 bits, of little-endian words on every machine.
func murmurHash64A(b []byte, seed uint64) uint64 {
	const mul, shift = 0xc6a4a7935bd1e995, 47
	h := seed ^ uint64(len(b))*mul
	for ; len(b) >= 8; b = b[8:] {
		k := binary.LittleEndian.Uint64(b) * mul
		k ^= k >> shift
		h = (h ^ k*mul) * mul
	}
	if len(b) > 0 {
		var tail [8]byte
		copy(tail[:], b)
		h = (h ^ binary.LittleEndian.Uint64(tail[:])) * mul
	}
	h ^= h >> shift
	h *= mul
	return h ^ h>>shift
}
