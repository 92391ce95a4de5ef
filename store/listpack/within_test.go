package listpack

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestWithin: a listpack inside a block grows and shrinks at both ends like the slice beside it.
func TestWithin(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	block := make([]byte, 1000)
	from, to := 300, 300+copy(block[300:], New())
	var want []string
	for range 20_000 {
		elem := randomElement(r)
		lp := block[from:to:len(block)]
		switch n := len(want); r.IntN(6) {
		case 0, 1:
			grown, ok := AppendWithin(lp, []byte(elem))
			if fits := Size([]byte(elem)) <= len(block)-to; ok != fits {
				t.Fatalf("appended %d bytes to %d free: %v", len(elem), len(block)-to, ok)
			}
			if to = from + len(grown); ok {
				want = append(want, elem)
			}
		case 2, 3:
			begin, ok := PrependWithin(block, from, to, []byte(elem))
			if fits := Size([]byte(elem)) <= from; ok != fits {
				t.Fatalf("prepended %d bytes to %d free: %v", len(elem), from, ok)
			}
			if from = begin; ok {
				want = slices.Insert(want, 0, elem)
			}
		case 4:
			d := r.IntN(n + 1)
			off := len(lp) - 1
			if d < n {
				off = Seek(lp, d)
			}
			from = to - len(DeleteFront(lp, off, d))
			want = want[d:]
		case 5:
			if d := r.IntN(n + 1); d > 0 {
				to = from + len(DeleteBack(lp, Seek(lp, -d), d))
				want = want[:n-d]
			}
		}
		check(t, block[from:to], want)
		if from == to-headerSize-1 && len(want) == 0 { // back to the middle
			from, to = 300, 300+copy(block[300:], block[from:to])
		}
	}
}

// TestEqualElements compares what works on all elements of one value with a slice.
func TestEqualElements(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	values := []string{"a", "", "1", "01", "100000", "a longer one"}
	for range 3000 {
		var lp []byte
		var model []string
		for range r.IntN(12) {
			elem := values[r.IntN(len(values))]
			lp, model = Append(lp, []byte(elem)), append(model, elem)
		}
		elem, skip, most := values[r.IntN(len(values))], r.IntN(3), r.IntN(4)
		count, seen, deleted := 0, 0, 0
		var rest []string
		for _, e := range model {
			if e == elem {
				count++
				if seen++; seen > skip && deleted < most {
					deleted++
					continue
				}
			}
			rest = append(rest, e)
		}
		if n := CountEqual(lp, []byte(elem)); n != count {
			t.Fatalf("%d of %q equal %q, not %d", count, model, elem, n)
		}
		left, n := DeleteEqual(lp, []byte(elem), skip, most)
		if n != deleted {
			t.Fatalf("deleted %d of %q, not %d", n, model, deleted)
		}
		if len(left) > 0 {
			check(t, left, rest)
		}
	}
}

func TestSplitAndEach(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	for n := range 30 {
		var model []string
		for range n + 1 {
			model = append(model, randomElement(r))
		}
		for at := range model {
			var lp []byte
			for _, elem := range model {
				lp = Append(lp, []byte(elem))
			}
			off := Seek(lp, at)
			for _, count := range []int{0, 1, 5, len(model)} {
				var buf [IntegerLenMax]byte
				var got []string
				called := Each(lp, off, count, &buf, func(elem []byte) { got = append(got, string(elem)) })
				if want := model[at:min(at+count, len(model))]; called != len(want) || !slices.Equal(got, want) {
					t.Fatalf("%d from %d on: %q, want %q", count, at, got, want)
				}
			}
			front, back := Split(lp, off, len(model)-at, nil)
			check(t, front, model[:at])
			check(t, back, model[at:])
		}
	}
}
