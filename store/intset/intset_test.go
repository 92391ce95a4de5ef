package intset

import (
	"bytes"
	"encoding/hex"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// values draws integers of all widths, often at their edges and often the same.
func values() *rapid.Generator[int64] {
	return rapid.OneOf(
		rapid.Int64Range(-20, 20),
		rapid.SampledFrom([]int64{
			math.MinInt16 - 1, math.MinInt16, math.MaxInt16, math.MaxInt16 + 1,
			math.MinInt32 - 1, math.MinInt32, math.MaxInt32, math.MaxInt32 + 1,
			math.MinInt64, math.MaxInt64,
		}),
		rapid.Int64(),
	)
}

// check compares a set with the sorted values that it should hold.
func check(t interface {
	Helper()
	Fatalf(string, ...any)
}, set []byte, want []int64) {
	t.Helper()
	if len(want) > 0 {
		if err := Validate(set); err != nil {
			t.Fatalf("%x: %v", set, err)
		}
	}
	if Len(set) != len(want) {
		t.Fatalf("Len %d, want %d", Len(set), len(want))
	}
	for i, n := range want {
		if At(set, i) != n || !Contains(set, n) {
			t.Fatalf("At(%d) is %d, want %d; Contains: %v", i, At(set, i), n, Contains(set, n))
		}
	}
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var set []byte
		var model []int64
		widest := 0
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { check(t, set, model) },
			"add": func(t *rapid.T) {
				n := values().Draw(t, "n")
				at, has := slices.BinarySearch(model, n)
				var added bool
				if set, added = Add(set, n); added == has {
					t.Fatalf("Add(%d): %v", n, added)
				}
				if !has {
					model = slices.Insert(model, at, n)
					widest = max(widest, widthOf(n))
				}
				if width(set) != widest {
					t.Fatalf("width %d, want %d", width(set), widest)
				}
			},
			"remove": func(t *rapid.T) {
				n := values().Draw(t, "n")
				at, has := slices.BinarySearch(model, n)
				var removed bool
				if set, removed = Remove(set, n); removed != has {
					t.Fatalf("Remove(%d): %v", n, removed)
				}
				if has {
					model = slices.Delete(model, at, at+1)
				}
			},
			"remove at": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("empty")
				}
				i := rapid.IntRange(0, len(model)-1).Draw(t, "i")
				set = RemoveAt(set, i)
				model = slices.Delete(model, i, i+1)
			},
		})
	})
}

// TestBytes compares with what DUMP of redis-server 7.0.15 holds after its type byte.
func TestBytes(t *testing.T) {
	for _, test := range []struct {
		add  []int64
		want string
	}{
		{[]int64{1}, "02000000" + "01000000" + "0100"},
		{[]int64{300, -1}, "02000000" + "02000000" + "ffff" + "2c01"},
		{[]int64{1, 70000}, "04000000" + "02000000" + "01000000" + "70110100"},
		{[]int64{1, -1 << 40}, "08000000" + "02000000" + "000000000" + "0ffffff" + "0100000000000000"},
	} {
		var set []byte
		for _, n := range test.add {
			set, _ = Add(set, n)
		}
		if got := hex.EncodeToString(set); got != test.want {
			t.Errorf("%d: %s, want %s", test.add, got, test.want)
		}
	}
}

// TestInPlace sees that spare capacity is used.
func TestInPlace(t *testing.T) {
	room := make([]byte, 0, 64)
	set, _ := Add(room, 5)
	set, _ = Add(set, 4)
	set, _ = Remove(set, 5)
	if &set[0] != &room[:1][0] {
		t.Error("the set has moved")
	}
}

func FuzzValidate(f *testing.F) {
	f.Add([]byte{2, 0, 0, 0, 1, 0, 0, 0, 1, 0})
	f.Add([]byte{8, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0})
	f.Add([]byte{2, 1, 0, 0, 1, 0, 0, 0, 1, 0})
	f.Add([]byte{4, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if Validate(b) != nil {
			return
		}
		// What is valid is what adding its values makes, if the width is that of the widest.
		var again []byte
		widest := 0
		for i := range Len(b) {
			n := At(b, i)
			widest = max(widest, widthOf(n))
			again, _ = Add(again, n)
			if !Contains(b, n) {
				t.Fatalf("%x does not contain %d", b, n)
			}
		}
		if widest == width(b) && !bytes.Equal(again, b) {
			t.Fatalf("%x was rebuilt as %x", b, again)
		}
		grown, _ := Add(bytes.Clone(b), math.MinInt64)
		if err := Validate(grown); err != nil {
			t.Fatalf("%x plus one value is %x: %v", b, grown, err)
		}
	})
}

func BenchmarkAddRemove(b *testing.B) {
	var set []byte
	for i := range int64(512) {
		set, _ = Add(set, i*7)
	}
	for b.Loop() {
		set, _ = Add(set, 1001)
		set, _ = Remove(set, 1001)
	}
}
