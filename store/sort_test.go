package store

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sortModel is the elements of one key and the keys beside it that patterns may name.
type sortModel struct {
	typ     kind
	elems   []string          // in the order in which they are kept; of a set in any
	strings map[string]string // what patterns find: strings, and fields of hashes as "key->field"
}

// find is what a pattern gives for an element.
func (m *sortModel) find(pattern, elem string) (string, bool) {
	if pattern == "#" {
		return elem, true
	}
	val, ok := m.strings[strings.Replace(pattern, "*", elem, 1)]
	return val, ok && strings.Contains(pattern, "*")
}

// sorted is what SORT gives; ok is false if a value is not a number.
func (m *sortModel) sorted(o SortOptions, stored bool) (values []string, ok bool) {
	elems := slices.Clone(m.elems)
	alpha, unsorted, by := o.Alpha, o.Unsorted, string(o.By)
	if o.By == nil {
		by = "#"
	}
	if stored && unsorted && m.typ == typeSet {
		alpha, unsorted, by = true, false, "#"
	}
	if unsorted && o.Desc && m.typ != typeSet {
		slices.Reverse(elems)
	}
	ok = true
	if !unsorted {
		numbers := map[string]float64{}
		for _, elem := range elems {
			if val, found := m.find(by, elem); found && !alpha {
				n, err := strconv.ParseFloat(val, 64)
				ok = ok && (err == nil || val == "")
				numbers[elem] = n
			}
		}
		slices.SortStableFunc(elems, func(a, b string) int {
			order := 0
			textA, okA := m.find(by, a)
			textB, okB := m.find(by, b)
			switch {
			case alpha && okA && okB:
				order = strings.Compare(textA, textB)
			case alpha && okA:
				order = 1
			case alpha && okB:
				order = -1
			case alpha:
			case numbers[a] < numbers[b]:
				order = -1
			case numbers[a] > numbers[b]:
				order = 1
			default:
				order = strings.Compare(a, b)
			}
			if o.Desc {
				order = -order
			}
			return order
		})
	}
	from := min(max(int(o.Offset), 0), len(elems))
	to := len(elems)
	if o.Count >= 0 {
		to = min(from+int(o.Count), to)
	}
	for _, elem := range elems[from:to] {
		if o.Get == nil {
			values = append(values, elem)
		}
		for _, pattern := range o.Get {
			val, _ := m.find(string(pattern), elem)
			values = append(values, val)
		}
	}
	return values, ok
}

// fill makes a key of a random type and keys for patterns to find, in the store and in the model. Some of the latter expire
// before they are looked up.
func (m *sortModel) fill(v *View, random *rand.Rand) {
	*m = sortModel{typ: []kind{typeList, typeSet, typeZset}[random.IntN(3)], strings: map[string]string{}}
	v.FlushDB(0)
	element := func() string {
		if random.IntN(20) == 0 {
			return fmt.Sprint("word", random.IntN(9))
		}
		if random.IntN(10) == 0 {
			return "-0"
		}
		return strconv.FormatFloat(float64(random.IntN(200)-100)/float64(1+random.IntN(2)*3), 'g', -1, 64)
	}
	key := []byte("key")
	for range random.IntN(40) {
		elem := element()
		switch {
		case m.typ == typeList:
			v.ListPush(key, Tail, [][]byte{[]byte(elem)}, false)
			m.elems = append(m.elems, elem)
		case slices.Contains(m.elems, elem):
		case m.typ == typeSet:
			v.SAdd(key, [][]byte{[]byte(elem)})
			m.elems = append(m.elems, elem)
		default:
			v.ZAdd(key, []ZElement{{Member: []byte(elem), Score: float64(len(m.elems))}}, ZAddOptions{})
			m.elems = append(m.elems, elem)
		}
	}
	for _, elem := range m.elems {
		for _, name := range []string{"w_" + elem, "h_" + elem + "->f", "h_" + elem + "->text"} {
			val := element()
			hash, field, isHash := strings.Cut(name, "->")
			switch random.IntN(4) {
			case 0:
				continue
			case 1:
				v.Set([]byte(name), []byte(val), SetOptions{ExpireAtMs: v.nowMs + 1})
				if !isHash {
					delete(m.strings, name)
				}
				continue
			}
			if isHash {
				v.HSet([]byte(hash), [][]byte{[]byte(field), []byte(val)})
			} else {
				v.Set([]byte(name), []byte(val), SetOptions{})
			}
			m.strings[name] = val
		}
	}
	v.Bind(v.db, v.nowMs+10, v.rec)
}

func TestSortAgainstModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	v := alone(t)
	limits := DefaultEncodings
	for i := range 600 {
		limits.ListMaxSize, limits.SetEntries, limits.ZsetEntries = -2, 128, 128
		if i%2 == 0 {
			limits.ListMaxSize, limits.SetEntries, limits.SetInts, limits.ZsetEntries = 3, 0, 0, 0
		}
		v.store.SetEncodings(limits)
		var m sortModel
		m.fill(v, random)
		for range 10 {
			// Lookups of BY and GET remove keys that have expired.
			o := randomSort(random)
			if m.typ == typeSet && o.By != nil {
				o.Alpha = false // else the members that are equal in that have no certain order
			}
			m.try(t, v, o, random.IntN(2) == 0)
		}
	}
}

func randomSort(random *rand.Rand) SortOptions {
	o := SortOptions{Desc: random.IntN(2) == 0, Alpha: random.IntN(2) == 0, Count: -1}
	patterns := []string{"w_*", "h_*->f", "h_*->text", "h_*", "w_*->f", "none"}
	switch random.IntN(4) {
	case 0:
		o.Unsorted = true
	case 1, 2:
		o.By = []byte(patterns[random.IntN(len(patterns)-1)])
	}
	for range random.IntN(3) {
		o.Get = append(o.Get, []byte(append(patterns, "#", "#")[random.IntN(len(patterns)+2)]))
	}
	if random.IntN(2) == 0 {
		o.Offset, o.Count = random.Int64N(20)-3, random.Int64N(20)-3
	}
	return o
}

// try compares one SORT with the model.
func (m *sortModel) try(t *testing.T, v *View, o SortOptions, stored bool) {
	t.Helper()
	key, to := []byte("key"), []byte("to")
	want, ok := m.sorted(o, stored)
	var got []string
	var err error
	if stored {
		var n int64
		n, err = v.SortStore(to, key, o)
		if elems, _ := v.ListRange(to, 0, -1); err == nil {
			elems.Each(func(elem []byte) { got = append(got, string(elem)) })
			if int(n) != len(got) || v.Peek(to).Exists() != (n > 0) {
				t.Fatalf("SortStore returned %d and stored %q", n, got)
			}
		}
	} else {
		var s *Sorted
		if s, err = v.Sort(key, o); err == nil {
			s.Each(func(val []byte, ok bool) bool {
				if !ok && len(val) > 0 {
					t.Fatalf("a missing value is %q", val)
				}
				got = append(got, string(val))
				return true
			})
			if s.Len() != len(got) {
				t.Fatalf("Len %d, %d values", s.Len(), len(got))
			}
		}
	}
	if !ok != errors.Is(err, ErrSortNumber) {
		t.Fatalf("%v, numbers: %v; elements %q by %q: %q", err, ok, m.elems, o.By, m.strings)
	}
	if o.Unsorted && m.typ == typeSet && !stored { // any order
		if len(o.Get) > 0 || o.Count >= 0 || o.Offset > 0 {
			want = got
		}
		slices.Sort(want)
		slices.Sort(got)
	}
	if ok && !slices.Equal(got, want) {
		t.Fatalf("options %q %+v stored %v: %q\nwant %q", o.By, o, stored, got, want)
	}
}

func TestSortPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern string
		want    sortPattern
	}{
		{"#", sortPattern{element: true}},
		{"w", sortPattern{none: true}},
		{"", sortPattern{none: true}},
		{"a\x00*", sortPattern{none: true}},
		{"*", sortPattern{}},
		{"w_*_x*", sortPattern{prefix: []byte("w_"), suffix: []byte("_x*")}},
		{"h*->f", sortPattern{prefix: []byte("h"), field: []byte("f")}},
		{"h*.x->f->g", sortPattern{prefix: []byte("h"), suffix: []byte(".x"), field: []byte("f->g")}},
		{"h*->", sortPattern{prefix: []byte("h"), suffix: []byte("->")}},
		{"h->*", sortPattern{prefix: []byte("h->")}},
	} {
		got := newSortPattern([]byte(c.pattern))
		if got.element != c.want.element || got.none != c.want.none || string(got.prefix) != string(c.want.prefix) ||
			string(got.suffix) != string(c.want.suffix) || string(got.field) != string(c.want.field) {
			t.Errorf("%q: %+v, want %+v", c.pattern, got, c.want)
		}
	}
}

// TestSortAccesses: one for the key and one for each lookup of a pattern.
func TestSortAccesses(t *testing.T) {
	key, to := []byte("k"), []byte("to")
	for _, c := range []struct {
		name   string
		o      SortOptions
		stored bool
		want   map[string]uint64
	}{
		{"alone", SortOptions{Count: -1}, false, map[string]uint64{"k": 1}},
		{"BY", SortOptions{Count: -1, By: []byte("w*")}, false, map[string]uint64{"k": 1, "w1": 1, "w2": 1, "w3": 1}},
		{"BY nosort", SortOptions{Count: -1, By: []byte("w"), Unsorted: true}, false, map[string]uint64{"k": 1}},
		{"GET", SortOptions{Count: 1, Get: words("w* # w h*->f")}, false, map[string]uint64{"k": 1, "w1": 1, "h1": 1}},
		{"BY GET", SortOptions{Count: 2, By: []byte("w*"), Get: words("w* w*")}, false, map[string]uint64{"k": 1, "w1": 3, "w2": 3, "w3": 1}},
		{"STORE", SortOptions{Count: -1}, true, map[string]uint64{"k": 1, "to": 1}},
		{"STORE of nothing", SortOptions{Count: 0}, true, map[string]uint64{"k": 1, "to": 1}},
	} {
		v, report := counted(t)
		rec := v.rec
		v.rec = nil
		v.ListPush(key, Tail, words("3 1 2"), false)
		for _, w := range words("w1 w2 w3") {
			v.Set(w, w[1:], SetOptions{})
		}
		v.mustSet("to", "text")
		v.rec = rec
		if c.stored {
			v.SortStore(to, key, c.o)
		} else {
			s, _ := v.Sort(key, c.o)
			s.Each(func([]byte, bool) bool { return true })
		}
		if got := report(); !maps.Equal(got, c.want) {
			t.Errorf("%s: accesses %v, want %v", c.name, got, c.want)
		}
	}
	v, report := counted(t)
	v.SortStore([]byte("gone"), []byte("missing"), SortOptions{Count: -1})
	if got := report(); !maps.Equal(got, map[string]uint64{"missing": 1}) {
		t.Errorf("of a missing key: accesses %v", got)
	}
}
