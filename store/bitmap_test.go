package store

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/bits"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// bitString draws a bitmap with runs of equal bytes, as bitmaps have.
func bitString(maxRuns int) *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		var b []byte
		for range rapid.IntRange(0, maxRuns).Draw(t, "runs") {
			c := rapid.SampledFrom([]byte{0, 0, 0xff, 0xff, 1, 0x80, 0x5a}).Draw(t, "byte")
			b = append(b, bytes.Repeat([]byte{c}, rapid.IntRange(1, 70).Draw(t, "length"))...)
		}
		return b
	})
}

// bitsOf spells a bitmap out, one byte per bit.
func bitsOf(b []byte) []byte {
	out := make([]byte, 0, len(b)*8)
	for _, c := range b {
		for i := 7; i >= 0; i-- {
			out = append(out, c>>i&1)
		}
	}
	return out
}

// pick returns what a command means by a range of a sequence of n, as slice bounds.
func (r BitRange) pick(n int64) (from, to int64) {
	at := func(i int64) int64 {
		if i < 0 {
			i += n
		}
		return max(i, 0)
	}
	from, to = at(r.Start), min(at(r.End), n-1)+1
	return from, max(from, to)
}

func TestBitCountAndPosAgainstModel(t *testing.T) {
	v := alone(t)
	rapid.Check(t, func(t *rapid.T) {
		b := bitString(8).Draw(t, "bitmap")
		v.mustSet("k", string(b))
		edge := rapid.OneOf(rapid.Int64Range(-12, 12), rapid.Int64Range(-5000, 5000), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64}))
		r := BitRange{edge.Draw(t, "start"), edge.Draw(t, "end"), true, rapid.Bool().Draw(t, "in bits")}
		all := bitsOf(b)
		n, scale := int64(len(b)), int64(8)
		if r.InBits {
			n, scale = n*8, 1
		}
		from, to := r.pick(n)
		from, to = min(from, n)*scale, min(to, n)*scale
		want := int64(bytes.Count(all[from:to], []byte{1}))
		if r.Start < 0 && r.End < 0 && r.Start > r.End {
			want = 0
		}
		if got, err := v.BitCount([]byte("k"), r); got != want || err != nil {
			t.Fatalf("BitCount(%+v) = %d, %v, want %d", r, got, err, want)
		}
		for bit := range 2 {
			want := int64(bytes.IndexByte(all[from:to], byte(bit)))
			if want >= 0 {
				want += from
			}
			if got, err := v.BitPos([]byte("k"), bit == 1, r); got != want || err != nil {
				t.Fatalf("BitPos(%d, %+v) = %d, %v, want %d", bit, r, got, err, want)
			}
		}
	})
}

func TestBitPosWithoutEnd(t *testing.T) {
	v := alone(t)
	v.mustSet("ones", "\xff\xff\xff")
	v.mustSet("empty", "")
	v.mustSet("number", "-1") // 2d 31
	for _, c := range []struct {
		key   string
		set   bool
		r     BitRange
		where int64
	}{
		{"ones", false, WholeBitmap, 24},
		{"ones", false, BitRange{Start: 1, End: -1}, 24},
		{"ones", false, BitRange{Start: 0, End: -1, EndGiven: true}, -1},
		{"ones", false, BitRange{Start: 3, End: -1}, -1},
		{"ones", true, BitRange{Start: 2, End: -1}, 16},
		{"empty", false, WholeBitmap, -1},
		{"empty", true, WholeBitmap, -1},
		{"missing", false, WholeBitmap, 0},
		{"missing", true, WholeBitmap, -1},
		{"missing", false, BitRange{Start: 5, End: 3, EndGiven: true}, 0},
		{"number", true, WholeBitmap, 2},
	} {
		if got, err := v.BitPos([]byte(c.key), c.set, c.r); got != c.where || err != nil {
			t.Errorf("BitPos(%s, %v, %+v) = %d, %v, want %d", c.key, c.set, c.r, got, err, c.where)
		}
	}
}

// TestSetBitAgainstModel sets bits of one key, which begins as an integer, lies inside its entry and grows beyond it.
func TestSetBitAgainstModel(t *testing.T) {
	v := alone(t)
	k := []byte("k")
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.SampledFrom([]string{"", "12345", "text"}).Draw(t, "start")
		v.mustSet("k", start)
		v.Expire(k, testNow+1000, 0)
		model := big.NewInt(0)
		for i, bit := range bitsOf([]byte(start)) {
			model.SetBit(model, i, uint(bit))
		}
		size := int64(len(start))
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			off := rapid.OneOf(rapid.Int64Range(0, 100), rapid.Int64Range(0, 20000)).Draw(t, "offset")
			on := rapid.Bool().Draw(t, "on")
			was, err := v.SetBit(k, off, on)
			if err != nil || was != (model.Bit(int(off)) == 1) {
				t.Fatalf("SetBit(%d) returned %v, %v", off, was, err)
			}
			model.SetBit(model, int(off), uint(one(on)))
			size = max(size, off/8+1)
			if now, err := v.GetBit(k, off); now != on || err != nil {
				t.Fatalf("bit %d is %v, %v", off, now, err)
			}
		}
		val, _, _ := v.Get(k)
		if int64(len(val)) != size {
			t.Fatalf("the string has %d bytes, want %d", len(val), size)
		}
		for i, bit := range bitsOf(val) {
			if uint(bit) != model.Bit(i) {
				t.Fatalf("bit %d is %d", i, bit)
			}
		}
		if e := v.Peek(k); e.Encoding() != "raw" || e.ExpireAt() != testNow+1000 {
			t.Fatalf("encoding %s, deadline %d", e.Encoding(), e.ExpireAt())
		}
	})
}

// TestSetBitInPlace wants no copy of a long string, which would show in its address.
func TestSetBitInPlace(t *testing.T) {
	v := alone(t)
	k := []byte("k")
	for _, size := range []int64{100, 1000, 1 << 20} {
		v.SetBit(k, size*8-1, true)
		before, _, _ := v.Get(k)
		v.SetBit(k, 7, true)
		v.SetBit(k, 7, false)
		if after, _, _ := v.Get(k); &before[0] != &after[0] {
			t.Errorf("a string of %d bytes moved", size)
		}
	}
}

func TestBitsMarkWatchers(t *testing.T) {
	for _, c := range []struct {
		what string
		do   func(v *View, k []byte)
		want bool
	}{
		{"a bit that was set", func(v *View, k []byte) { v.SetBit(k, 1, true) }, false},
		{"another bit", func(v *View, k []byte) { v.SetBit(k, 2, false) }, true},
		{"a clear bit beyond the end", func(v *View, k []byte) { v.SetBit(k, 8, false) }, true},
		{"a field that is the same", func(v *View, k []byte) {
			v.BitFields(k, []BitField{{Kind: BitFieldSet, Bits: 8, Operand: 'a'}})
		}, false},
		{"a field that changes", func(v *View, k []byte) {
			v.BitFields(k, []BitField{{Kind: BitFieldIncrBy, Bits: 8, Operand: 1}})
		}, true},
		{"a field beyond the end", func(v *View, k []byte) {
			v.BitFields(k, []BitField{{Kind: BitFieldSet, Bits: 8, Offset: 1, Operand: 0xc2}})
		}, true},
		{"a field that is read", func(v *View, k []byte) { v.BitFields(k, []BitField{{Bits: 8}}) }, false},
	} {
		v := alone(t)
		k := []byte("k")
		v.mustSet("k", "a") // 61
		var w Watcher
		v.Watch(&w, k)
		if c.do(v, k); w.Marked() != c.want {
			t.Errorf("%s: the watcher was told: %v", c.what, w.Marked())
		}
	}
}

// TestBitsOfNumbersMarkWatchers: a number becomes a string of bytes when a bit of it is written, which nobody who watches
// it is told of unless the bit changes.
func TestBitsOfNumbersMarkWatchers(t *testing.T) {
	for _, c := range []struct {
		what string
		do   func(v *View, k []byte)
		want string
	}{
		{"a bit that was set", func(v *View, k []byte) { v.SetBit(k, 2, true) }, "1"},
		{"another bit", func(v *View, k []byte) { v.SetBit(k, 6, true) }, "3"},
		{"a clear bit beyond the end", func(v *View, k []byte) { v.SetBit(k, 8, false) }, "1\x00"},
		{"a field that is the same", func(v *View, k []byte) {
			v.BitFields(k, []BitField{{Kind: BitFieldSet, Bits: 8, Operand: '1'}})
		}, "1"},
		{"a field that stays because it would overflow", func(v *View, k []byte) {
			v.BitFields(k, []BitField{{Kind: BitFieldIncrBy, Overflow: FailOnOverflow, Bits: 2, Operand: 9}})
		}, "1"},
		{"a field that changes", func(v *View, k []byte) {
			v.BitFields(k, []BitField{{Kind: BitFieldIncrBy, Bits: 8, Operand: 1}})
		}, "2"},
	} {
		v := alone(t)
		k := []byte("k")
		v.mustSet("k", "1") // 31
		var w Watcher
		v.Watch(&w, k)
		c.do(v, k)
		if got, _, _ := v.Get(k); string(got) != c.want || w.Marked() != (c.want != "1") {
			t.Errorf("%s: %q, the watcher was told: %v", c.what, got, w.Marked())
		}
	}
}

// naiveCombine is BITOP bit by bit.
func naiveCombine(op BitOp, sources [][]byte) []byte {
	n := 0
	for _, s := range sources {
		n = max(n, len(s))
	}
	out := make([]byte, n)
	for i := range n * 8 {
		first, others, total := false, 0, 0
		for k, s := range sources {
			if i/8 < len(s) && s[i/8]&(0x80>>(i%8)) != 0 {
				total++
				if k == 0 {
					first = true
				} else {
					others++
				}
			}
		}
		set := map[BitOp]bool{
			BitAnd: total == len(sources), BitOr: total > 0, BitXor: total%2 == 1, BitNot: !first,
			BitDiff: first && others == 0, BitDiff1: !first && others > 0, BitAndOr: first && others > 0, BitOne: total == 1,
		}[op]
		if set {
			out[i/8] |= 0x80 >> (i % 8)
		}
	}
	return out
}

func TestBitOpAgainstModel(t *testing.T) {
	v := alone(t)
	rapid.Check(t, func(t *rapid.T) {
		op := BitOp(rapid.IntRange(int(BitAnd), int(BitOne)).Draw(t, "operation"))
		count := rapid.IntRange(2, 5).Draw(t, "sources")
		if op == BitNot {
			count = 1
		}
		var keys, sources [][]byte
		for i := range count {
			b := bitString(5).Draw(t, "bitmap")
			key := []byte{byte('a' + i)}
			v.mustSet(string(key), string(b))
			if len(b) == 0 && rapid.Bool().Draw(t, "missing") {
				v.Remove(key)
			}
			keys, sources = append(keys, key), append(sources, b)
		}
		dst := rapid.SampledFrom([]string{"dst", "a"}).Draw(t, "destination")
		n, err := v.BitOp(op, []byte(dst), keys)
		want := naiveCombine(op, sources)
		got, ok, _ := v.Get([]byte(dst))
		if err != nil || int(n) != len(want) || !bytes.Equal(got, want) || ok != (len(want) > 0) {
			t.Fatalf("operation %d of %q: %q, %v, want %q", op, sources, got, err, want)
		}
		if ok && v.Peek([]byte(dst)).Encoding() != "raw" {
			t.Fatal("the result is not raw")
		}
	})
}

// TestBitOpBlocks crosses the edges of the blocks in which bitmaps are combined.
func TestBitOpBlocks(t *testing.T) {
	sources := make([][]byte, 4)
	for i, n := range []int{3*combineBlock + 5, combineBlock, 2*combineBlock - 3, 0} {
		sources[i] = make([]byte, n)
		for at := range sources[i] {
			sources[i][at] = byte(at*(2*i+7) + at>>8)
		}
	}
	for op := BitAnd; op <= BitOne; op++ {
		in := sources
		if op == BitNot {
			in = sources[:1]
		}
		out := make([]byte, len(sources[0]))
		combine(op, out, in)
		if !bytes.Equal(out, naiveCombine(op, in)) {
			t.Errorf("operation %d is wrong", op)
		}
	}
}

func TestBitOpAccesses(t *testing.T) {
	for _, c := range []struct {
		dst, sources string
		want         map[string]uint64
	}{
		{"dst", "ab", map[string]uint64{"a": 1, "b": 1, "dst": 1}},
		{"a", "aab", map[string]uint64{"a": 3, "b": 1}},
		{"dst", "xy", map[string]uint64{"x": 1, "y": 1}},
		{"b", "xe", map[string]uint64{"x": 1, "e": 1, "b": 1}},
	} {
		v, report := counted(t)
		rec := v.rec
		v.rec = nil
		v.mustSet("a", "1")
		v.mustSet("b", "text")
		v.mustSet("e", "")
		v.rec = rec
		v.BitOp(BitOr, []byte(c.dst), bytes.SplitAfter([]byte(c.sources), nil))
		if got := report(); !maps.Equal(got, c.want) {
			t.Errorf("BITOP OR %s of %s: accesses %v, want %v", c.dst, c.sources, got, c.want)
		}
	}
}

// TestBitOpOfExpired has expired keys among the sources: to look at one is to remove it.
func TestBitOpOfExpired(t *testing.T) {
	v := alone(t)
	for i := range 200 {
		v.Bind(v.db, testNow, v.rec)
		var keys [][]byte
		for k := range 8 {
			key := fmt.Appendf(nil, "%d/%d", i, k)
			keys = append(keys, key)
			v.mustSet(string(key), strings.Repeat(string(rune('a'+k)), 700))
			if k%2 == 1 {
				v.Expire(key, testNow+1, 0)
			}
		}
		v.Bind(v.db, testNow+1000, v.rec)
		if _, err := v.BitOp(BitOr, []byte("dst"), keys); err != nil {
			t.Fatal(err)
		}
		if val, _, _ := v.Get([]byte("dst")); string(val) != strings.Repeat(string(rune('a'|'c'|'e'|'g')), 700) {
			t.Fatalf("the result is %q", val)
		}
		v.Unlock()
		v.Exclusive()
	}
}

// fieldModel is what a field holds after its value should have become sum, a number of any size.
func fieldModel(o BitField, old, sum *big.Int) (now *big.Int, fits bool) {
	low, high := big.NewInt(0), new(big.Int).Lsh(big.NewInt(1), uint(o.Bits))
	if o.Signed {
		high.Rsh(high, 1)
		low.Neg(high)
	}
	size := new(big.Int).Lsh(big.NewInt(1), uint(o.Bits))
	switch {
	case sum.Cmp(low) >= 0 && sum.Cmp(high) < 0:
		return sum, true
	case o.Overflow == FailOnOverflow:
		return old, false
	case o.Overflow == WrapOverflow:
		now = new(big.Int).Sub(sum, low)
		return now.Mod(now, size).Add(now, low), false
	case sum.Sign() < 0:
		return low, false
	}
	return high.Sub(high, big.NewInt(1)), false
}

func TestBitFieldsAgainstModel(t *testing.T) {
	v := alone(t)
	k := []byte("k")
	rapid.Check(t, func(t *rapid.T) {
		start := bitString(3).Draw(t, "bitmap")
		v.mustSet("k", string(start))
		o := BitField{
			Kind:     BitFieldKind(rapid.IntRange(0, 2).Draw(t, "kind")),
			Overflow: BitOverflow(rapid.IntRange(0, 2).Draw(t, "overflow")),
			Signed:   rapid.Bool().Draw(t, "signed"),
			Bits:     rapid.IntRange(1, 63).Draw(t, "bits"),
			Offset:   rapid.Int64Range(0, 300).Draw(t, "offset"),
			Operand:  rapid.OneOf(rapid.Int64Range(-300, 300), rapid.Int64()).Draw(t, "operand"),
		}
		if o.Signed && rapid.Bool().Draw(t, "widest") {
			o.Bits = 64
		}
		if !o.Signed && o.Kind == BitFieldSet {
			o.Operand &= math.MaxInt64 // TestBitFieldQuirks has the others
		}
		if o.Kind == BitFieldSet && o.Bits < 64 {
			o.Operand /= 2 // likewise
		}
		field := func(all []byte) *big.Int {
			n := big.NewInt(0)
			for i := range o.Bits {
				n.Lsh(n, 1)
				if at := o.Offset + int64(i); at < int64(len(all)) && all[at] == 1 {
					n.SetBit(n, 0, 1)
				}
			}
			if o.Signed && n.Bit(o.Bits-1) == 1 {
				n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(o.Bits)))
			}
			return n
		}
		all := bitsOf(start)
		old := field(all)
		want, result, fits := old, old, true
		switch o.Kind {
		case BitFieldSet:
			want, fits = fieldModel(o, old, big.NewInt(o.Operand))
		case BitFieldIncrBy:
			want, fits = fieldModel(o, old, new(big.Int).Add(old, big.NewInt(o.Operand)))
			result = want
		}
		ops := []BitField{o}
		if err := v.BitFields(k, ops); err != nil {
			t.Fatal(err)
		}
		failed := !fits && o.Overflow == FailOnOverflow
		if ops[0].Failed != failed || !failed && result.Cmp(big.NewInt(ops[0].Result)) != 0 {
			t.Fatalf("%+v of %v: want %v, failed %v", ops[0], old, result, failed)
		}
		val, _, _ := v.Get(k)
		size := len(start)
		if o.Kind != BitFieldGet {
			size = max(size, (int(o.Offset)+o.Bits-1)/8+1)
		}
		now := bitsOf(val)
		if len(val) != size || field(now).Cmp(want) != 0 {
			t.Fatalf("%d bytes, want %d; the field holds %v, want %v", len(val), size, field(now), want)
		}
		for i, bit := range now {
			inside := int64(i) >= o.Offset && int64(i) < o.Offset+int64(o.Bits)
			was := i < len(all) && all[i] == 1
			if !inside && was != (bit == 1) {
				t.Fatalf("bit %d outside of the field changed", i)
			}
		}
	})
}

// TestBitFieldQuirks has numbers that are so far out of range that Redis's own arithmetic goes around.
func TestBitFieldQuirks(t *testing.T) {
	v := alone(t)
	for _, c := range []struct {
		o    BitField
		want int64 // what the field holds then
	}{
		{BitField{Overflow: SaturateOverflow, Signed: true, Bits: 8, Operand: math.MinInt64}, 127},
		{BitField{Overflow: SaturateOverflow, Signed: true, Bits: 8, Operand: math.MinInt64 + 200}, -128},
		{BitField{Overflow: SaturateOverflow, Bits: 8, Operand: -1}, 255},
		{BitField{Overflow: WrapOverflow, Bits: 8, Operand: -1}, 255},
	} {
		c.o.Kind = BitFieldSet
		read := BitField{Signed: c.o.Signed, Bits: c.o.Bits}
		ops := []BitField{c.o, read}
		v.BitFields([]byte("k"), ops)
		if ops[1].Result != c.want {
			t.Errorf("%+v left %d, want %d", c.o, ops[1].Result, c.want)
		}
	}
}

func TestBitsOfOtherTypes(t *testing.T) {
	v := alone(t)
	k := []byte("k")
	v.mustSet("k", "17") // 00110001 00110111
	if on, err := v.GetBit(k, 3); !on || err != nil {
		t.Errorf("GetBit of an integer: %v, %v", on, err)
	}
	if n, _ := v.BitCount(k, WholeBitmap); n != int64(bits.OnesCount8('1')+bits.OnesCount8('7')) {
		t.Errorf("BitCount of an integer: %d", n)
	}
	if n, _ := v.BitOp(BitNot, []byte("n"), [][]byte{k}); n != 2 {
		t.Errorf("BitOp of an integer: %d bytes", n)
	}
	if val, _, _ := v.Get([]byte("n")); string(val) != "\xce\xc8" {
		t.Errorf("BitOp of an integer: %q", val)
	}
}
