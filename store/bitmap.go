package store

import (
	"crypto/subtle"
	"encoding/binary"
	"math/bits"
)

// A bitmap is a string taken as bits: bit 0 is the highest one of the first byte. Bits beyond the end read as zero. What
// changes bits does so in place, for a bitmap may have hundreds of megabytes; what looks at all of them takes eight bytes
// at a time.

// SetBit sets or clears the bit at off, which is not negative, and returns what it was. The string becomes as long as the
// bit needs.
func (v *View) SetBit(key []byte, off int64, on bool) (was bool, err error) {
	b, grown, err := v.bitsToChange(key, off/8+1)
	if err != nil {
		return false, err
	}
	at, mask := off/8, byte(0x80)>>(off%8)
	was = b[at]&mask != 0
	if was != on {
		b[at] ^= mask
	}
	if was != on && !grown {
		v.changed(key)
	}
	if was != on || grown {
		v.event(ClassString, "setbit", key)
	}
	return was, nil
}

// bitsToChange returns the string at a key, made at least n bytes long, to be changed in place. Those who watch the key
// are told if it had to grow, which grown says; of what the caller changes they are not.
func (v *View) bitsToChange(key []byte, n int64) (b []byte, grown bool, err error) {
	e := v.LookupWrite(key)
	old, ok, err := v.stringOf(e)
	if err != nil {
		return nil, false, err
	}
	switch long := ok && int64(len(old)) >= n; {
	case long && e.kind() == kindInt: // its digits become bytes
		e = v.putUnmarked(v.position(key), key, value{kind: kindRaw, bytes: old}, deadlineOf(e))
		return e.text(), false, nil
	case long:
		*(*kind)(e.at(kindAt)) = kindRaw
		return old, false, nil
	}
	b = zeroExtended(e, old, max(int(n), len(old)))
	e = v.put(v.position(key), key, value{kind: kindRaw, bytes: b, owned: len(b) > inlineMax}, deadlineOf(e))
	return e.text(), true, nil
}

// GetBit returns the bit at off, which is not negative.
func (v *View) GetBit(key []byte, off int64) (bool, error) {
	b, _, err := v.Get(key)
	return err == nil && off/8 < int64(len(b)) && b[off/8]&(0x80>>(off%8)) != 0, err
}

// BitRange is a part of a bitmap, both ends included, counted from the end if negative.
type BitRange struct {
	Start, End int64
	EndGiven   bool // false: End is -1 because nothing was said
	InBits     bool // the ends count bits, not bytes
}

// WholeBitmap is the range of a command that was given none.
var WholeBitmap = BitRange{End: -1}

// in returns the first and last bit of the range in n bytes; last < first if it is empty.
func (r BitRange) in(n int64) (first, last int64) {
	if r.InBits {
		n *= 8
	}
	first, last = r.Start, r.End
	if first < 0 {
		first = max(first+n, 0)
	}
	if last < 0 {
		last = max(last+n, 0)
	}
	last = min(last, n-1)
	switch {
	case first > last:
		return 0, -1
	case r.InBits:
		return first, last
	}
	return first * 8, last*8 + 7
}

// BitCount returns how many bits of a range are set.
func (v *View) BitCount(key []byte, r BitRange) (int64, error) {
	b, _, err := v.Get(key)
	if err != nil || r.Start < 0 && r.End < 0 && r.Start > r.End {
		return 0, err
	}
	first, last := r.in(int64(len(b)))
	if first > last {
		return 0, nil
	}
	n := countBits(b[first/8 : last/8+1])
	before := b[first/8] &^ (0xff >> (first % 8))
	after := b[last/8] & (0x7f >> (last % 8))
	return n - int64(bits.OnesCount8(before)+bits.OnesCount8(after)), nil
}

// countBits returns how many bits of b are set.
func countBits(b []byte) int64 {
	n := 0
	for ; len(b) >= 32; b = b[32:] {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(b)) + bits.OnesCount64(binary.LittleEndian.Uint64(b[8:])) +
			bits.OnesCount64(binary.LittleEndian.Uint64(b[16:])) + bits.OnesCount64(binary.LittleEndian.Uint64(b[24:]))
	}
	for _, c := range b {
		n += bits.OnesCount8(c)
	}
	return int64(n)
}

// BitPos returns the first bit of a range that is set, or clear, or -1. After a string there are clear bits without end:
// the first of them is found unless the end of the range was given.
func (v *View) BitPos(key []byte, set bool, r BitRange) (int64, error) {
	b, ok, err := v.Get(key)
	switch {
	case err != nil:
		return 0, err
	case !ok && set:
		return -1, nil
	case !ok:
		return 0, nil
	}
	first, last := r.in(int64(len(b)))
	if first > last {
		return -1, nil
	}
	if pos := findBit(b[:last/8+1], set, first); pos >= 0 && pos <= last {
		return pos, nil
	}
	if !set && !r.EndGiven {
		return last + 1, nil
	}
	return -1, nil
}

// findBit returns the first bit of b, from bit first on, that is set, or clear, or -1. Bit first must be in b.
func findBit(b []byte, set bool, first int64) int64 {
	flip := uint64(0) // makes the bits looked for ones
	if !set {
		flip = ^flip
	}
	at := int(first / 8)
	if x := (b[at] ^ byte(flip)) & (0xff >> (first % 8)); x != 0 {
		return int64(at)*8 + int64(bits.LeadingZeros8(x))
	}
	at++
	for rest := b[at:]; len(rest) >= 32; rest = rest[32:] {
		if (binary.LittleEndian.Uint64(rest)^flip)|(binary.LittleEndian.Uint64(rest[8:])^flip)|
			(binary.LittleEndian.Uint64(rest[16:])^flip)|(binary.LittleEndian.Uint64(rest[24:])^flip) != 0 {
			break
		}
		at += 32
	}
	for ; at < len(b); at++ {
		if x := b[at] ^ byte(flip); x != 0 {
			return int64(at)*8 + int64(bits.LeadingZeros8(x))
		}
	}
	return -1
}

// BitOp is how BitOp combines bitmaps. The first of them is x, the others y.
type BitOp int

const (
	BitAnd   BitOp = iota // set in all
	BitOr                 // set in any
	BitXor                // set in an odd number
	BitNot                // not set in the only one
	BitDiff               // set in x and in no y
	BitDiff1              // set in some y and not in x
	BitAndOr              // set in x and in some y
	BitOne                // set in exactly one
)

// BitOp stores at a key what bitmaps make when they are combined, shorter ones filled up with zeros, and returns its
// length in bytes. If none of them has any, the key is removed. BitNot wants one bitmap, BitDiff, BitDiff1 and BitAndOr
// want two or more.
func (v *View) BitOp(op BitOp, dst []byte, keys [][]byte) (int64, error) {
	sources, n := make([][]byte, 0, len(keys)), 0
	for _, key := range keys {
		b, _, err := v.Get(key)
		if err != nil {
			return 0, err
		}
		if len(b) <= inlineMax {
			b = v.kept(b) // the next key may have expired, and to remove it is a write
		}
		sources = append(sources, b)
		n = max(n, len(b))
	}
	if n == 0 {
		v.Remove(dst)
		return 0, nil
	}
	out := v.resultRoom(dst, n, sources)
	combine(op, out, sources)
	pos := v.position(dst)
	v.countWrite(pos, dst)
	v.put(pos, dst, value{kind: kindRaw, bytes: out, owned: n > inlineMax}, noDeadline)
	v.event(ClassString, "set", dst)
	return int64(n), nil
}

// resultRoom returns n bytes for what will be the string at a key: those of the string there, if it has about as many and
// is not one of the sources, for new memory takes longer to get than it takes to combine two bitmaps in it.
func (v *View) resultRoom(key []byte, n int, sources [][]byte) []byte {
	e := v.Peek(key)
	if n <= inlineMax || !e.Exists() || !e.kind().isString() || e.flags()&valueOutside == 0 {
		return make([]byte, n)
	}
	old := e.text()
	fits := n <= cap(old) && n >= cap(old)/2
	for _, s := range sources {
		fits = fits && (len(s) == 0 || &s[0] != &old[0])
	}
	if !fits {
		return make([]byte, n)
	}
	return old[:n]
}

// combineBlock is how much of all bitmaps is combined before the next part of any, in bytes: so that the result of one
// step is still in the cache for the next.
const combineBlock = 8 << 10

// combine gives out, which is as long as the longest source and none of them, the combination of the sources.
func combine(op BitOp, out []byte, sources [][]byte) {
	var scratch [combineBlock]byte
	for from := 0; from < len(out); from += combineBlock {
		to := min(from+combineBlock, len(out))
		block := out[from:to]
		part := func(i int) []byte {
			s := sources[i]
			return s[min(from, len(s)):min(to, len(s))]
		}
		switch op {
		case BitDiff, BitDiff1, BitAndOr:
			some := scratch[:len(block)]
			copyZeroExtended(some, part(1))
			for i := 2; i < len(sources); i++ {
				orBytes(some, part(i))
			}
			combineWithFirst(op, block, part(0), some)
		case BitOne:
			twice := scratch[:len(block)]
			clear(twice)
			copyZeroExtended(block, part(0))
			for i := 1; i < len(sources); i++ {
				orAndBytes(twice, block, part(i))
				orBytes(block, part(i))
			}
			andNotBytes(block, twice)
		default:
			copyZeroExtended(block, part(0))
			for i := 1; i < len(sources); i++ {
				combineNext(op, block, part(i))
			}
			if op == BitNot {
				notBytes(block)
			}
		}
	}
}

// combineWithFirst makes of the first source and of what is set in some of the others the block of the result.
func combineWithFirst(op BitOp, block, first, some []byte) {
	switch op {
	case BitDiff:
		copyZeroExtended(block, first)
		andNotBytes(block, some)
	case BitDiff1:
		copy(block, some)
		andNotBytes(block, first)
	case BitAndOr:
		copyZeroExtended(block, first)
		andBytes(block, some)
	}
}

func combineNext(op BitOp, block, next []byte) {
	switch op {
	case BitAnd:
		andBytes(block, next)
		clear(block[len(next):])
	case BitOr:
		orBytes(block, next)
	case BitXor:
		subtle.XORBytes(block, block, next)
	}
}

// The following change dst, which is at least as long as the sources.

func copyZeroExtended(dst, src []byte) { clear(dst[copy(dst, src):]) }

func andBytes(dst, src []byte) {
	for ; len(src) >= 16; dst, src = dst[16:], src[16:] {
		binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(dst)&binary.LittleEndian.Uint64(src))
		binary.LittleEndian.PutUint64(dst[8:], binary.LittleEndian.Uint64(dst[8:])&binary.LittleEndian.Uint64(src[8:]))
	}
	for i, c := range src {
		dst[i] &= c
	}
}

func orBytes(dst, src []byte) {
	for ; len(src) >= 16; dst, src = dst[16:], src[16:] {
		binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(dst)|binary.LittleEndian.Uint64(src))
		binary.LittleEndian.PutUint64(dst[8:], binary.LittleEndian.Uint64(dst[8:])|binary.LittleEndian.Uint64(src[8:]))
	}
	for i, c := range src {
		dst[i] |= c
	}
}

func andNotBytes(dst, src []byte) {
	for ; len(src) >= 16; dst, src = dst[16:], src[16:] {
		binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(dst)&^binary.LittleEndian.Uint64(src))
		binary.LittleEndian.PutUint64(dst[8:], binary.LittleEndian.Uint64(dst[8:])&^binary.LittleEndian.Uint64(src[8:]))
	}
	for i, c := range src {
		dst[i] &^= c
	}
}

// orAndBytes sets in dst the bits that are set in both a and b; a is at least as long as b.
func orAndBytes(dst, a, b []byte) {
	for ; len(b) >= 8; dst, a, b = dst[8:], a[8:], b[8:] {
		both := binary.LittleEndian.Uint64(a) & binary.LittleEndian.Uint64(b)
		binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(dst)|both)
	}
	for i, c := range b {
		dst[i] |= a[i] & c
	}
}

func notBytes(dst []byte) {
	for ; len(dst) >= 8; dst = dst[8:] {
		binary.LittleEndian.PutUint64(dst, ^binary.LittleEndian.Uint64(dst))
	}
	for i := range dst {
		dst[i] = ^dst[i]
	}
}
