package store

import "encoding/binary"

// BitFieldKind is what an operation does to an integer of a bitmap.
type BitFieldKind int

const (
	BitFieldGet BitFieldKind = iota
	BitFieldSet
	BitFieldIncrBy
)

// BitOverflow is what becomes of a number that does not fit its field.
type BitOverflow int

const (
	WrapOverflow     BitOverflow = iota // its low bits are taken
	SaturateOverflow                    // the greatest or the least number that fits is taken
	FailOnOverflow                      // the field stays as it is
)

// BitField is an operation on an integer within a bitmap, with its result.
type BitField struct {
	Kind     BitFieldKind
	Overflow BitOverflow
	Signed   bool
	Bits     int   // 1 to 64, or to 63 if it is not signed
	Offset   int64 // of its highest bit
	Operand  int64 // what to set or add

	Result int64 // what the field holds, for BitFieldSet what it held
	Failed bool  // there is no result: FailOnOverflow
}

// BitFields runs operations on the integers of a bitmap, one after the other, and leaves the results in them. If one of
// them writes, even in vain, the string becomes as long as the fields that are written need.
func (v *View) BitFields(key []byte, ops []BitField) error {
	need := int64(0)
	for i := range ops {
		if o := &ops[i]; o.Kind != BitFieldGet {
			need = max(need, (o.Offset+int64(o.Bits)-1)/8+1)
		}
	}
	if need == 0 {
		b, _, err := v.Get(key)
		if err != nil {
			return err
		}
		for i := range ops {
			ops[i].Result = ops[i].load(b)
		}
		return nil
	}
	b, grown, err := v.bitsToChange(key, need)
	if err != nil {
		return err
	}
	changed, wrote := false, false
	for i := range ops {
		o := &ops[i]
		changed = o.run(b) || changed
		wrote = wrote || o.Kind != BitFieldGet && !o.Failed
	}
	if changed && !grown {
		v.changed(key)
	}
	if changed || grown && wrote {
		v.event(ClassString, "setbit", key)
	}
	return nil
}

// run does the operation on b, in which the field lies unless it is only read, and reports whether b changed.
func (o *BitField) run(b []byte) (changed bool) {
	old := o.load(b)
	o.Result = old
	if o.Kind == BitFieldGet {
		return false
	}
	n, fits := old, true
	if o.Kind == BitFieldSet {
		n, fits = o.sum(o.Operand, 0)
	} else {
		n, fits = o.sum(old, o.Operand)
		o.Result = n
	}
	if !fits && o.Overflow == FailOnOverflow {
		o.Failed = true
		return false
	}
	storeBits(b, o.Offset, o.Bits, uint64(n))
	return n != old
}

// sum returns a + b as the field can hold it, and whether that is the true sum.
func (o *BitField) sum(a, b int64) (sum int64, fits bool) {
	var low, high int64
	var over, under bool
	if o.Signed {
		high = 1<<(o.Bits-1) - 1
		low = -high - 1
		over, under = o.signedOverflow(a, b, low, high)
	} else {
		high = 1<<o.Bits - 1
		over = uint64(a) > uint64(high) || b > 0 && b > high-a
		under = b < 0 && b < -a
	}
	switch {
	case !over && !under:
		return a + b, true
	case o.Overflow != SaturateOverflow:
		return o.extended(uint64(a) + uint64(b)), false
	case over:
		return high, false
	}
	return low, false
}

// signedOverflow tells whether a + b is above or below what a signed field holds. high-a and low-a are meant to wrap
// around: with fewer than 64 bits they do if a is far out of range, and then SET with SAT of a number below
// -2^63 + 2^(bits-1) gives the greatest number, as in Redis.
func (o *BitField) signedOverflow(a, b, low, high int64) (over, under bool) {
	narrow := o.Bits < 64
	over = a > high || b > high-a && (narrow || a >= 0 && b > 0)
	under = a < low || b < low-a && (narrow || a < 0 && b < 0)
	return over, under
}

// extended returns the number that the low bits of x are in the field.
func (o *BitField) extended(x uint64) int64 {
	unused := 64 - o.Bits
	if o.Signed {
		return int64(x<<unused) >> unused
	}
	return int64(x << unused >> unused)
}

// load returns the number that the field holds.
func (o *BitField) load(b []byte) int64 { return o.extended(loadBits(b, o.Offset, o.Bits)) }

// loadBits returns the n bits from bit off on, the first one the highest; beyond b they are zero.
func loadBits(b []byte, off int64, n int) uint64 {
	var window [9]byte // 64 bits lie in nine bytes at most
	if off/8 < int64(len(b)) {
		copy(window[:], b[off/8:])
	}
	shift := off % 8
	x := binary.BigEndian.Uint64(window[:])<<shift | uint64(window[8])>>(8-shift)
	return x >> (64 - n)
}

// storeBits writes the low n bits of x to the bits from off on, which must be in b.
func storeBits(b []byte, off int64, n int, x uint64) {
	for n > 0 {
		room := 8 - int(off%8)
		take := min(room, n)
		mask := byte(1<<take-1) << (room - take)
		part := byte(x>>(n-take)) << (room - take)
		at := &b[off/8]
		*at = *at&^mask | part&mask
		off += int64(take)
		n -= take
	}
}
