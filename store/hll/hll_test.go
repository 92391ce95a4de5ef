package hll

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// failer is what is common to the T of testing and of rapid.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// sane checks that a sketch is one, and returns its registers.
func (s Sketch) sane(t failer) *Max {
	t.Helper()
	if _, ok := Of(s); !ok {
		t.Fatalf("% x is no sketch", s)
	}
	var m Max
	if !m.Add(s) {
		t.Fatalf("% x is corrupt", s)
	}
	if s.Dense() {
		for i, rank := range m {
			if s.register(i) != rank {
				t.Fatalf("register %d is %d, read one by one, and %d, read in fours", i, s.register(i), rank)
			}
		}
	}
	return &m
}

func TestEmpty(t *testing.T) {
	s := AppendEmpty(nil)
	if want := "HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x7f\xff"; string(s) != want {
		t.Errorf("an empty sketch is % x", s)
	}
	if n, ok := s.Cached(); n != 0 || !ok {
		t.Errorf("an empty sketch keeps %d, %v", n, ok)
	}
	if n, ok := s.Estimate(); n != 0 || !ok {
		t.Errorf("an empty sketch has %d, %v", n, ok)
	}
	s.Cache(12345)
	if n, ok := s.Cached(); n != 12345 || !ok {
		t.Errorf("kept 12345, got %d, %v", n, ok)
	}
	s.Invalidate()
	if _, ok := s.Cached(); ok {
		t.Error("the estimate still holds")
	}
}

// TestPlace has what PFDEBUG DECODE of redis-server showed after PFADD of one element.
func TestPlace(t *testing.T) {
	for _, c := range []struct {
		element string
		i       int
		rank    byte
	}{
		{"", 5938, 2}, {"a", 12711, 2}, {"ab", 719, 1}, {"abc", 9474, 1}, {"abcd", 11070, 8}, {"abcde", 3726, 4},
		{"abcdef", 13647, 2}, {"abcdefg", 5634, 2}, {"abcdefgh", 1383, 1}, {"abcdefghi", 6903, 1}, {"abcdefghijklmnopq", 4271, 1},
	} {
		if i, rank := place([]byte(c.element)); i != c.i || rank != c.rank {
			t.Errorf("%q has register %d, rank %d, want %d, %d", c.element, i, rank, c.i, c.rank)
		}
	}
}

// TestRaiseAgainstModel raises registers of a sparse and of a dense sketch: both must stay what an array of ranks is.
func TestRaiseAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		narrow := Editor{AppendEmpty(nil), rapid.SampledFrom([]int{0, 30, 200, 3000}).Draw(t, "most bytes")}
		wide := Editor{Sketch: AppendEmpty(nil)}
		wide.Promote()
		var model Max
		near := rapid.IntRange(0, Registers-1).Draw(t, "near")
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			i := rapid.OneOf(rapid.IntRange(max(near-20, 0), min(near+20, Registers-1)), rapid.IntRange(0, Registers-1)).Draw(t, "register")
			rank := byte(rapid.OneOf(rapid.IntRange(1, 3), rapid.IntRange(1, rankMax)).Draw(t, "rank"))
			a, ok1 := narrow.Raise(i, rank)
			b, ok2 := wide.Raise(i, rank)
			if want := rank > model[i]; a != want || b != want || !ok1 || !ok2 {
				t.Fatalf("raising register %d from %d to %d: %v, %v", i, model[i], rank, a, b)
			}
			model[i] = max(model[i], rank)
			if !narrow.Dense() && len(narrow.Sketch) > max(narrow.SparseMax, 18) {
				t.Fatalf("a sparse sketch of %d bytes", len(narrow.Sketch))
			}
		}
		for _, s := range []Sketch{narrow.Sketch, wide.Sketch} {
			if got := s.sane(t); *got != model {
				t.Fatalf("the registers are not those of the model: dense is %v", s.Dense())
			}
		}
		a, _ := narrow.Estimate()
		b, _ := wide.Estimate()
		if c := model.Estimate(); a != b || b != c {
			t.Fatalf("estimates %d, %d, %d", a, b, c)
		}
		d, ok := narrow.ToDense()
		if !ok || *d.sane(t) != model {
			t.Fatal("the dense form has other registers")
		}
	})
}

func TestJoin(t *testing.T) {
	e := Editor{AppendEmpty(nil), 3000}
	for _, c := range []struct {
		i    int
		rank byte
		want string
	}{
		{10, 2, "z:10 v:2,1 Z:16373"},
		{11, 2, "z:10 v:2,2 Z:16372"},
		{13, 2, "z:10 v:2,2 z:1 v:2,1 Z:16370"},
		{12, 2, "z:10 v:2,4 Z:16370"},
		{14, 2, "z:10 v:2,4 v:2,1 Z:16369"},
		{11, 5, "z:10 v:2,1 v:5,1 v:2,3 Z:16369"},
		{12, 5, "z:10 v:2,1 v:5,2 v:2,2 Z:16369"},
		{0, 32, "v:32,1 z:9 v:2,1 v:5,2 v:2,2 Z:16369"},
		{16383, 1, "v:32,1 z:9 v:2,1 v:5,2 v:2,2 Z:16368 v:1,1"},
	} {
		e.Raise(c.i, c.rank)
		if text, ok := e.AppendRuns(nil); string(text) != c.want || !ok {
			t.Errorf("after raising %d to %d: %s, want %s", c.i, c.rank, text, c.want)
		}
	}
}

// TestError compares estimates with the truth for sets of all sizes: the root of the mean squared relative error is what
// the theory says, 0.81 %.
func TestError(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const sets = 60
	for _, n := range []int{1000, 10_000, 40_000, 80_000} {
		sum := 0.0
		for range sets {
			e := Editor{Sketch: AppendEmpty(nil)}
			e.Promote()
			base := random.Uint64()
			for i := range n {
				e.Add(binary.BigEndian.AppendUint64(nil, base+uint64(i)))
			}
			got, _ := e.Estimate()
			relative := (float64(got) - float64(n)) / float64(n)
			sum += relative * relative
		}
		if rms := math.Sqrt(sum / sets); rms > 0.0081*1.35 {
			t.Errorf("%d elements: standard error %.4f", n, rms)
		}
	}
}

func TestUnion(t *testing.T) {
	a, b, both := Editor{AppendEmpty(nil), 3000}, Editor{AppendEmpty(nil), 3000}, Editor{AppendEmpty(nil), 3000}
	for i := range 5000 {
		element := fmt.Append(nil, i)
		if i < 400 {
			a.Add(element)
		}
		if i >= 200 {
			b.Add(element)
		}
		both.Add(element)
	}
	if a.Dense() || !b.Dense() {
		t.Fatal("one of them should be dense")
	}
	var m Max
	m.Add(a.Sketch)
	m.Add(b.Sketch)
	if m != *both.sane(t) {
		t.Error("the union is not the maximum")
	}
}

func TestFull(t *testing.T) {
	s, _ := AppendEmpty(nil).ToDense()
	for i := range Registers {
		s.raise(i, rankMax)
	}
	if n, ok := s.Estimate(); n != math.MaxInt64 || !ok {
		t.Errorf("a sketch that can take no more has %d, %v", n, ok)
	}
}

func TestNotASketch(t *testing.T) {
	good := AppendEmpty(nil)
	d, _ := good.ToDense()
	change := func(s Sketch, at int, c byte) []byte {
		s = bytes.Clone(s)
		s[at] = c
		return s
	}
	for _, b := range [][]byte{
		nil, []byte("HYLL"), good[:15], change(good, 0, 'h'), change(good, 4, 2), change(good, 4, 0), change(d, 4, 7), d[:len(d)-1],
		append(bytes.Clone(d), 0),
	} {
		if _, ok := Of(b); ok {
			t.Errorf("%.40q passes for a sketch", b)
		}
	}
	for _, registers := range []string{"", "\x7f", "\x7f\xfe", "\x7f\xff\x00", "\x7f\xff\x7f\xff", "\x80", "\x00\x7f\xff"} {
		s, ok := Of(append(bytes.Clone(good[:headerSize]), registers...))
		if !ok {
			t.Fatalf("% x is refused at once", registers)
		}
		if _, ok := s.Estimate(); ok {
			t.Errorf("registers % x have an estimate", registers)
		}
		if _, ok := s.ToDense(); ok {
			t.Errorf("registers % x have a dense form", registers)
		}
		if _, ok := s.AppendRuns(nil); ok {
			t.Errorf("registers % x have runs", registers)
		}
		if new(Max).Add(s) {
			t.Errorf("registers % x have a maximum", registers)
		}
	}
}

func TestSelfTest(t *testing.T) {
	if err := SelfTest(rand.New(rand.NewPCG(3, 4))); err != nil {
		t.Error(err)
	}
}

// FuzzSketch takes any bytes for a sketch and does with it whatever a client may.
func FuzzSketch(f *testing.F) {
	e := Editor{AppendEmpty(nil), 3000}
	f.Add([]byte(e.Sketch), 5, byte(3))
	for i := range 100 {
		e.Add(fmt.Append(nil, i))
	}
	f.Add(bytes.Clone(e.Sketch), 16383, byte(51))
	f.Add(append(bytes.Clone(e.Sketch), 0x7f), 0, byte(1))
	d, _ := e.ToDense()
	f.Add([]byte(d), 77, byte(9))
	f.Add([]byte("HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x7f\xff\x7f\xff\xff"), 16383, byte(40))
	f.Fuzz(func(t *testing.T, b []byte, i int, rank byte) {
		s, ok := Of(b)
		if !ok {
			return
		}
		_, good := s.Estimate()
		var m Max
		if m.Add(s) != good {
			t.Fatal("estimate and maximum disagree about what is corrupt")
		}
		if d, ok := s.ToDense(); ok != good || ok && *d.sane(t) != m {
			t.Fatal("the dense form is another")
		}
		s.Cached()
		if !s.Dense() {
			s.AppendRuns(nil)
		}
		e := Editor{bytes.Clone(s), 3000}
		i, rank = int(uint(i)%Registers), rank%rankMax+1
		changed, ok := e.Raise(i, rank)
		switch {
		case !ok && (changed || !bytes.Equal(e.Sketch, s)):
			t.Fatal("a sketch that was refused has changed")
		case !ok && good:
			t.Fatal("a good sketch was refused")
		case ok && good && changed != (rank > m[i]):
			t.Fatalf("raising %d to %d: %v", m[i], rank, changed)
		}
		if good {
			m[i] = max(m[i], rank)
			if *e.sane(t) != m {
				t.Fatal("raising changed other registers")
			}
		}
	})
}
