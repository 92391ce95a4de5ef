package listpack

import (
	"bytes"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestBytes compares with what DUMP of redis-server 7.0.15 gave for hashes of these fields and values.
func TestBytes(t *testing.T) {
	lp := New()
	for _, s := range strings.Fields("0 127 128 -1 4095 -4096 4096 -4097 32767 -32768 32768 -32769 8388607 -8388608 8388608 -8388609 " +
		"2147483647 -2147483648 2147483648 -2147483649 9223372036854775807 -9223372036854775808 007 9223372036854775808") {
		lp = Append(lp, []byte(s))
	}
	lp = Append(Append(lp, nil), []byte("hello"))
	want := "9e0000001a00 0001 7f01 c08002 dfff02 cfff02 d00002 f1001003 f1ffef03 f1ff7f03 f1008003 f200800004 f2ff7fff04 f2ffff7f04" +
		"f200008004 f30000800005 f3ffff7fff05 f3ffffff7f05 f30000008005 f4000000800000000009 f4ffffff7fffffffff09" +
		"f4ffffffffffffff7f09 f4000000000000008009 8330303704 933932323333373230333638353437373538303814 8001 8568656c6c6f06 ff"
	if got := hex.EncodeToString(lp); got != strings.ReplaceAll(want, " ", "") {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	for _, c := range []struct {
		length     int
		head, tail string
	}{
		{63, "bf", "40"},
		{64, "e040", "42"},
		{125, "e07d", "7f"},
		{126, "e07e", "0180"},
		{4095, "efff", "2081"},
		{4096, "f000100000", "2085"},
		{16377, "f0f93f0000", "7ffe"},
		{16378, "f0fa3f0000", "00ffff"},
	} {
		x := strings.Repeat("x", c.length)
		lp := Append(nil, []byte(x))
		got := hex.EncodeToString(lp[headerSize : len(lp)-1])
		if want := c.head + hex.EncodeToString([]byte(x)) + c.tail; got != want {
			t.Errorf("%d bytes: starts %s, ends %s", c.length, got[:12], got[len(got)-8:])
		}
	}
}

// check compares a listpack with the elements that it should have, walking it in both directions.
func check(t *testing.T, lp []byte, want []string) {
	t.Helper()
	if err := Validate(lp); err != nil {
		t.Fatalf("%v: %x", err, lp)
	}
	var forward, backward []string
	var buf [IntegerLenMax]byte
	for off := First(lp); off != None; off = Next(lp, off) {
		forward = append(forward, string(Text(lp, off, &buf)))
	}
	for off := Last(lp); off != None; off = Prev(lp, off) {
		backward = append(backward, string(Text(lp, off, &buf)))
	}
	slices.Reverse(backward)
	if !slices.Equal(forward, want) || !slices.Equal(backward, want) || Len(lp) != len(want) {
		t.Fatalf("elements %q, backward %q, count %d, want %q", forward, backward, Len(lp), want)
	}
}

func randomElement(r *rand.Rand) string {
	switch r.IntN(4) {
	case 0:
		return strconv.FormatInt(int64(r.Uint64())>>r.IntN(64), 10)
	case 1:
		return strconv.Itoa(r.IntN(5))
	case 2:
		lengths := []int{0, 1, 62, 63, 64, 124, 125, 126, 127, 300}
		if r.IntN(20) == 0 {
			lengths = []int{4094, 4095, 4096, 16376, 16377, 16378, 16379}
		}
		return strings.Repeat("y", lengths[r.IntN(len(lengths))])
	}
	return []string{"-0", "+1", "007", "9223372036854775808", "-9223372036854775809", "-", "a", "b"}[r.IntN(8)]
}

func TestAgainstModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 30 {
		var lp []byte
		var model []string
		for range 100 {
			lp, model = step(r, lp, model)
			check(t, begin(lp), model)
			lookAround(t, r, lp, model)
		}
	}
}

// step changes a listpack and its model alike.
func step(r *rand.Rand, lp []byte, model []string) ([]byte, []string) {
	s := randomElement(r)
	if len(model) == 0 {
		return Append(lp, []byte(s)), []string{s}
	}
	i := r.IntN(len(model))
	off := Seek(lp, i)
	n := r.Int64() >> r.IntN(64)
	text := strconv.FormatInt(n, 10)
	switch r.IntN(12) {
	case 0, 1:
		return Append(lp, []byte(s)), append(model, s)
	case 2:
		return Prepend(lp, []byte(s)), slices.Insert(model, 0, s)
	case 3:
		return InsertAt(lp, off, []byte(s)), slices.Insert(model, i, s)
	case 4:
		return InsertAt(lp, After(lp, off), []byte(s)), slices.Insert(model, i+1, s)
	case 5:
		model[i] = s
		return Replace(lp, off, []byte(s)), model
	case 6:
		model[i] = text
		return ReplaceInt(lp, off, n), model
	case 7:
		return InsertIntAt(lp, off, n), slices.Insert(model, i, text)
	case 8:
		return AppendInt(InsertIntAt(begin(lp), headerSize, n), n), append(slices.Insert(model, 0, text), text)
	case 9:
		other := Append(AppendInt(nil, n), []byte(s))
		return Join(lp, other), append(model, text, s)
	}
	count := r.IntN(4)
	return Delete(lp, off, count), slices.Delete(model, i, min(i+count, len(model)))
}

// lookAround compares what does not change the listpack.
func lookAround(t *testing.T, r *rand.Rand, lp []byte, model []string) {
	t.Helper()
	i := r.IntN(2*len(model)+3) - len(model) - 1
	off, at := Seek(lp, i), i
	if i < 0 {
		at += len(model)
	}
	if at < 0 || at >= len(model) {
		if off != None {
			t.Fatalf("Seek(%d) of %d found something", i, len(model))
		}
		return
	}
	var buf [IntegerLenMax]byte
	if got := string(Text(lp, off, &buf)); got != model[at] {
		t.Fatalf("Seek(%d): %q, want %q", i, got, model[at])
	}
	elem, skip := randomElement(r), r.IntN(3)
	if r.IntN(2) == 0 {
		elem = model[r.IntN(len(model))]
	}
	want := None
	for j := at; j < len(model); j += skip + 1 {
		if equal := Equal(lp, Seek(lp, j), []byte(elem)); equal != (model[j] == elem) {
			t.Fatalf("Equal(%q, %q): %v", model[j], elem, equal)
		} else if equal {
			want = Seek(lp, j)
			break
		}
	}
	if got := Find(lp, off, []byte(elem), skip); got != want {
		t.Fatalf("Find(%q) from %d, skipping %d: %d, want %d", elem, at, skip, got, want)
	}
	if n := Size([]byte(elem)); len(Append(slices.Clone(lp), []byte(elem))) != max(len(lp), len(New()))+n {
		t.Fatalf("Size(%q): %d", elem, n)
	}
}

func TestMoreThanTheHeaderCounts(t *testing.T) {
	lp := New()
	for i := range int64(70000) {
		lp = AppendInt(lp, i)
	}
	if Len(lp) != 70000 || count(lp) != uncounted || Validate(lp) != nil {
		t.Errorf("count %d", Len(lp))
	}
	for _, i := range []int{0, 69999, -70000, -1} {
		if _, n, _ := Get(lp, Seek(lp, i)); int(n) != (i+70000)%70000 {
			t.Errorf("Seek(%d): %d", i, n)
		}
	}
	if Seek(lp, 70000) != None || Seek(lp, -70001) != None {
		t.Error("found an element outside")
	}
	if n := Len(Join(New(), lp)); n != 70000 {
		t.Errorf("joined: %d", n)
	}
	lp = Delete(lp, Seek(lp, 10), math.MaxInt)
	if Len(lp) != 10 || Validate(lp) != nil {
		t.Errorf("deleted to 10: %d", Len(lp))
	}
}

func TestEmpty(t *testing.T) {
	for _, lp := range [][]byte{nil, New()} {
		if First(lp) != None || Last(lp) != None || Seek(lp, 0) != None || Seek(lp, -1) != None || Len(lp) != 0 ||
			Find(lp, First(lp), nil, 0) != None {
			t.Errorf("%x is not empty", lp)
		}
		check(t, Join(lp, nil), nil)
		check(t, Join(lp, New()), nil)
		check(t, Prepend(slices.Clone(lp), []byte("a")), []string{"a"})
	}
}

func TestValidate(t *testing.T) {
	good := AppendInt(Append(Append(New(), []byte("abc")), bytes.Repeat([]byte("x"), 200)), 1000)
	if err := Validate(good); err != nil {
		t.Fatal(err)
	}
	for i := range good {
		if Validate(good[:i]) == nil {
			t.Errorf("accepted the first %d bytes", i)
		}
	}
	if Validate(append(slices.Clone(good), end)) == nil {
		t.Error("accepted a byte too many")
	}
	for _, s := range []string{
		"08000000 0100 01 ff",      // no backlen
		"09000000 0200 01 01 ff",   // two elements counted
		"09000000 0100 01 02 ff",   // wrong backlen
		"0a000000 0100 01 0080 ff", // backlen of two bytes
		"09000000 0100 f5 01 ff",   // unknown encoding
		"09000000 0100 ff 01 ff",
		"0c000000 0100 f0 ffffffff ff", // longest string
		"0c000000 0100 f0 7fffffff ff",
		"0a000000 0100 ef ff 01 ff",
		"0a000000 0100 bf 41 01 ff",
	} {
		b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if Validate(b) == nil {
			t.Errorf("accepted %s", s)
		}
	}
}

func FuzzValidate(f *testing.F) {
	f.Add([]byte(New()))
	f.Add(AppendInt(Append(New(), []byte("abc")), 1000))
	f.Add(Append(AppendInt(AppendInt(New(), -70000), 1<<40), bytes.Repeat([]byte("x"), 200)))
	f.Add([]byte{9, 0, 0, 0, 0xff, 0xff, 5, 1, end})
	f.Fuzz(func(t *testing.T, b []byte) {
		if Validate(b) != nil {
			return
		}
		var elements []string
		var buf [IntegerLenMax]byte
		for off := First(b); off != None; off = Next(b, off) {
			elements = append(elements, string(Text(b, off, &buf)))
		}
		check(t, b, elements)
		if len(elements) == 0 {
			return
		}
		last := elements[len(elements)-1]
		if Find(b, First(b), []byte(last), 0) == None || !Equal(b, Seek(b, -1), []byte(last)) {
			t.Errorf("%q is not found", last)
		}
		check(t, Join(Prepend(slices.Clone(b), []byte("p")), b), append(append([]string{"p"}, elements...), elements...))
		check(t, Replace(slices.Clone(b), Last(b), []byte("q")), append(slices.Clone(elements[:len(elements)-1]), "q"))
		check(t, Delete(slices.Clone(b), First(b), 1), elements[1:])
	})
}

// FuzzElements stores elements that are cut from the input at newlines.
func FuzzElements(f *testing.F) {
	f.Add([]byte("1\n-1\n\n4096\nabc\n00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var lp []byte
		var want []string
		for _, elem := range bytes.Split(b, []byte("\n")) {
			lp = Append(lp, elem)
			want = append(want, string(elem))
		}
		check(t, lp, want)
	})
}

func BenchmarkFind(b *testing.B) {
	var lp []byte
	for i := range 64 {
		lp = Append(Append(lp, []byte("field"+strconv.Itoa(i))), []byte("some value"))
	}
	elem := []byte("field63")
	for b.Loop() {
		if Find(lp, First(lp), elem, 1) == None {
			b.Fatal("not found")
		}
	}
}

func BenchmarkNext(b *testing.B) {
	var lp []byte
	for i := range 64 {
		lp = Append(AppendInt(lp, int64(i)), []byte("some value"))
	}
	for b.Loop() {
		for off := First(lp); off != None; off = Next(lp, off) {
		}
	}
}
