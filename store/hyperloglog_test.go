package store

import (
	"errors"
	"fmt"
	"maps"
	"testing"
)

// elements returns n elements that begin with a prefix.
func elements(prefix string, n int) (list [][]byte) {
	for i := range n {
		list = append(list, fmt.Append(nil, prefix, i))
	}
	return list
}

func (v *View) mustGet(key string) string {
	val, _, _ := v.Get([]byte(key))
	return string(val)
}

func TestPFAddAndCount(t *testing.T) {
	v := alone(t)
	k := []byte("k")
	for _, c := range []struct {
		elements [][]byte
		changed  bool
		count    int64
	}{
		{nil, true, 0}, {nil, false, 0}, {elements("a", 1), true, 1}, {elements("a", 1), false, 1}, {elements("a", 10), true, 10},
		{elements("b", 5000), true, 5070}, {elements("b", 5000), false, 5070},
	} {
		v.Expire(k, testNow+5000, 0)
		changed, err := v.PFAdd(k, c.elements)
		if changed != c.changed || err != nil {
			t.Errorf("adding %d elements: %v, %v", len(c.elements), changed, err)
		}
		for range 2 {
			if n, err := v.PFCount([][]byte{k}); n != c.count || err != nil {
				t.Errorf("after adding %d elements: %d, %v, want %d", len(c.elements), n, err, c.count)
			}
		}
	}
	if e := v.Peek(k); e.ExpireAt() != testNow+5000 || e.Encoding() != "raw" {
		t.Errorf("deadline %d, encoding %s", e.ExpireAt(), e.Encoding())
	}
}

// TestPFSparseBytes crosses the size up to which a value is sparse, and the one up to which it lies inside its entry.
func TestPFSparseBytes(t *testing.T) {
	for _, limit := range []int{0, 18, 21, 500, 1500, 3000} {
		v := alone(t)
		encodings := DefaultEncodings
		encodings.HLLSparseBytes = limit
		v.store.SetEncodings(encodings)
		k := []byte("k")
		longest := 0
		for _, e := range elements("e", 2000) {
			v.PFAdd(k, [][]byte{e})
			if dense, _ := v.PFDense(k); !dense {
				longest = max(longest, len(v.mustGet("k")))
			}
		}
		if dense, _ := v.PFDense(k); !dense || longest > max(limit, 18) {
			t.Errorf("with a limit of %d bytes: a sparse value of %d; in the end it is dense: %v", limit, longest, dense)
		}
		if n, _ := v.PFCount([][]byte{k}); n < 1950 || n > 2050 {
			t.Errorf("with a limit of %d bytes: %d elements", limit, n)
		}
	}
}

func TestPFMerge(t *testing.T) {
	v := alone(t)
	a, b, dst, m := []byte("a"), []byte("b"), []byte("dst"), []byte("missing")
	v.PFAdd(a, elements("x", 200))
	v.PFAdd(b, elements("x", 300))
	v.PFAdd(b, elements("y", 3000))
	v.PFAdd(dst, elements("z", 50))
	want, _ := v.PFCount([][]byte{dst, a, b, m})
	if err := v.PFMerge([][]byte{dst, a, b, m}); err != nil {
		t.Fatal(err)
	}
	if n, _ := v.PFCount([][]byte{dst}); n != want || n < 3300 || n > 3400 {
		t.Errorf("the merge has %d elements, its sources together %d", n, want)
	}
	if dense, _ := v.PFDense(dst); !dense {
		t.Error("a source is dense and the merge is not")
	}
	if err := v.PFMerge([][]byte{m}); err != nil || !v.Peek(m).Exists() {
		t.Errorf("a merge of nothing made no key: %v", err)
	}
}

// TestPFRefused wants errors and no change of anything.
func TestPFRefused(t *testing.T) {
	v := alone(t)
	v.PFAdd([]byte("good"), elements("x", 3))
	good := v.mustGet("good")
	v.mustSet("number", "17")
	v.mustSet("text", "HYLL")
	v.mustSet("cut", good[:20])
	v.mustSet("long", good+"\x00")
	v.mustSet("dense", good[:4]+"\x00"+good[5:])
	*(*kind)(v.Peek([]byte("dense")).at(kindAt)) = kindRaw
	v.PFAdd([]byte("other"), nil)
	*(*kind)(v.Peek([]byte("other")).at(kindAt)) = kindList
	for key, want := range map[string]error{
		"number": ErrNotHyperLogLog, "text": ErrNotHyperLogLog, "dense": ErrNotHyperLogLog, "cut": ErrCorruptHyperLogLog,
		"long": ErrCorruptHyperLogLog, "other": ErrWrongType,
	} {
		k := []byte(key)
		before := string(v.string(v.Peek(k)))
		_, count := v.PFCount([][]byte{k})
		_, counts := v.PFCount([][]byte{[]byte("good"), k})
		into := v.PFMerge([][]byte{[]byte("good"), k})
		from := v.PFMerge([][]byte{k, []byte("good")})
		_, toDense := v.PFToDense(k)
		_, runs := v.PFRuns(k)
		for i, err := range []error{count, counts, into, from, toDense, runs} {
			if !errors.Is(err, want) {
				t.Errorf("%s, call %d: %v, want %v", key, i, err, want)
			}
		}
		if _, err := v.PFAdd(k, elements("y", 20)); key != "long" && !errors.Is(err, want) {
			t.Errorf("adding to %s: %v, want %v", key, err, want)
		}
		if after := string(v.string(v.Peek(k))); after != before && key != "long" {
			t.Errorf("%s changed", key)
		}
	}
	if v.mustGet("good") != good {
		t.Error("a key that was to be merged with broken ones changed")
	}
	if _, err := v.PFRuns([]byte("missing")); !errors.Is(err, ErrNoKey) {
		t.Errorf("runs of a missing key: %v", err)
	}
}

func TestPFAccesses(t *testing.T) {
	a, b, m := []byte("a"), []byte("b"), []byte("m")
	for _, c := range []struct {
		name string
		do   func(v *View)
		want map[string]uint64
	}{
		{"PFADD", func(v *View) { v.PFAdd(a, elements("x", 5)); v.PFAdd(m, nil) }, map[string]uint64{"a": 1, "m": 1}},
		{"PFCOUNT", func(v *View) { v.PFCount([][]byte{a}) }, map[string]uint64{"a": 1}},
		{"PFCOUNT of several", func(v *View) { v.PFCount([][]byte{a, b, m, a}) }, map[string]uint64{"a": 2, "b": 1, "m": 1}},
		{"PFMERGE", func(v *View) { v.PFMerge([][]byte{a, b, m}) }, map[string]uint64{"a": 2, "b": 1, "m": 1}},
		{"PFMERGE to a missing key", func(v *View) { v.PFMerge([][]byte{m, b}) }, map[string]uint64{"m": 2, "b": 1}},
		{"PFDEBUG", func(v *View) { v.PFRuns(a); v.PFDense(a); v.PFToDense(a); v.PFRegisters(a) }, map[string]uint64{"a": 4}},
	} {
		v, report := counted(t)
		rec := v.rec
		v.rec = nil
		v.PFAdd(a, elements("x", 3))
		v.PFAdd(b, elements("y", 3))
		v.rec = rec
		c.do(v)
		if got := report(); !maps.Equal(got, c.want) {
			t.Errorf("%s: accesses %v, want %v", c.name, got, c.want)
		}
	}
}

func TestPFMarksWatchers(t *testing.T) {
	for _, c := range []struct {
		what string
		do   func(v *View, k []byte)
		want bool
	}{
		{"an element that is there", func(v *View, k []byte) { v.PFAdd(k, elements("x", 1)) }, false},
		{"a new element", func(v *View, k []byte) { v.PFAdd(k, elements("y", 1)) }, true},
		{"the first count", func(v *View, k []byte) { v.PFCount([][]byte{k}) }, true},
		{"a merge", func(v *View, k []byte) { v.PFMerge([][]byte{k}) }, true},
	} {
		for _, dense := range []bool{false, true} {
			v := alone(t)
			k := []byte("k")
			v.PFAdd(k, elements("x", 3))
			if dense {
				v.PFToDense(k)
			}
			var w Watcher
			v.Watch(&w, k)
			if c.do(v, k); w.Marked() != c.want {
				t.Errorf("%s: the watcher was told: %v", c.what, w.Marked())
			}
		}
	}
}
