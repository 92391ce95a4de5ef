package store

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// saneDict walks a dict and checks what holds between its parts.
func saneDict(t *testing.T, d *dict) {
	t.Helper()
	n := 0
	d.eachSegment(func(g *segment) bool {
		if g.depth > d.depth {
			t.Fatalf("a segment of depth %d in a directory of depth %d", g.depth, d.depth)
		}
		n += int(g.count)
		return true
	})
	if n != d.len() {
		t.Fatalf("segments hold %d entries, the dict counts %d", n, d.len())
	}
}

func TestDictAgainstModel(t *testing.T) {
	s := New(Options{Databases: 1})
	defer s.Close()
	v := s.NewView()
	v.Bind(0, 1000, nil)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	d, model := v.newDict(), map[string]string{}
	for i := range 60_000 {
		field := fmt.Sprintf("field:%d", r.IntN(5000))
		switch op := r.IntN(10); {
		case op < 5 && i <= 40_000: // then it shrinks
			val := fmt.Sprintf("%0*d", 1+r.IntN(40), i)
			_, had := model[field]
			if added := v.dictSet(d, []byte(field), []byte(val), noDeadline); added == had {
				t.Fatalf("set %s: added %v, had %v", field, added, had)
			}
			model[field] = val
		case op < 8:
			_, had := model[field]
			if v.dictDelete(d, []byte(field)) != had {
				t.Fatalf("delete %s: had %v", field, had)
			}
			delete(model, field)
		default:
			e := v.dictFind(d, []byte(field))
			val, had := model[field]
			if e.Exists() != had || had && string(e.text()) != val {
				t.Fatalf("find %s: %v, want %q", field, e.Exists(), val)
			}
		}
	}
	saneDict(t, d)
	copied := v.dictClone(d)
	saneDict(t, copied)
	seen := map[string]string{}
	v.dictEach(copied, func(e Entry) bool {
		seen[string(e.Key())] = string(e.text())
		return true
	})
	if len(seen) != len(model) || len(model) != copied.len() {
		t.Fatalf("%d fields of a copy, %d of the model", len(seen), len(model))
	}
	for field, val := range model {
		if seen[field] != val {
			t.Fatalf("%s holds %q, want %q", field, seen[field], val)
		}
	}
	d.release(s)
	copied.release(s)
	v.freeAll() // what the last writes left behind
	if n := s.UsedBytes(); n != 0 {
		t.Errorf("%d bytes are accounted for after everything was freed", n)
	}
}

func TestDictScanWhileItChanges(t *testing.T) {
	s := New(Options{Databases: 1})
	defer s.Close()
	v := s.NewView()
	d := v.newDict()
	const stable = 2000
	for i := range stable {
		v.dictSet(d, fmt.Append(nil, "stable:", i), nil, noDeadline)
	}
	for _, grow := range []bool{true, false} {
		seen := map[string]bool{}
		n := 0
		for cursor, first := uint64(0), true; first || cursor != 0; first = false {
			cursor = v.dictScan(d, cursor, func(e Entry) { seen[string(e.Key())] = true })
			if cursor >= 1<<53 {
				t.Fatalf("cursor %d", cursor)
			}
			for range 20 {
				field := fmt.Append(nil, "passing:", n)
				if grow {
					v.dictSet(d, field, nil, noDeadline)
				} else {
					v.dictDelete(d, field)
				}
				n++
			}
		}
		for i := range stable {
			if !seen[fmt.Sprint("stable:", i)] {
				t.Fatalf("grow %v: the scan missed stable:%d", grow, i)
			}
		}
	}
}

func TestDictRandomIsUniform(t *testing.T) {
	s := New(Options{Databases: 1})
	defer s.Close()
	v := s.NewView()
	v.random = rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{7, 300, 3000} {
		d := v.newDict()
		for i := range n {
			v.dictSet(d, fmt.Append(nil, i), nil, noDeadline)
		}
		draws := 50 * n
		counts := map[string]int{}
		for range draws {
			counts[string(v.dictRandom(d).Key())]++
		}
		chi := 0.0
		for i := range n {
			delta := float64(counts[fmt.Sprint(i)]) - 50
			chi += delta * delta / 50
		}
		// n-1 degrees of freedom: variance 2(n-1); eight deviations are never reached by chance.
		if bound := float64(n-1) + 8*math.Sqrt(2*float64(n)); chi > bound {
			t.Errorf("%d fields: chi-square %.0f, bound %.0f", n, chi, bound)
		}
	}
}

func TestDictRandomMeetsTheLiveOnes(t *testing.T) {
	s := New(Options{Databases: 1})
	defer s.Close()
	v := s.NewView()
	v.Bind(0, 1000, nil)
	d := v.newDict()
	for i := range 1000 {
		v.dictSet(d, fmt.Append(nil, i), nil, 500)
	}
	if e := v.dictRandom(d); e.Exists() {
		t.Errorf("drew %s, which has expired", e.Key())
	}
	v.dictSet(d, []byte("live"), nil, 2000)
	if e := v.dictRandom(d); !e.Exists() || string(e.Key()) != "live" {
		t.Error("did not draw the only live field")
	}
}
