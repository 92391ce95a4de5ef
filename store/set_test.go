package store

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kvserver/store/intset"
	"kvserver/store/listpack"
)

// words returns the members given in one string, as arguments.
func words(s string) (list [][]byte) {
	for _, w := range strings.Fields(s) {
		list = append(list, []byte(w))
	}
	return list
}

// smallSets are limits that a few members reach.
var smallSets = Encodings{SetInts: 8, SetEntries: 6, SetValue: 12}

// setModel is a few sets as maps, beside the store.
type setModel struct {
	t      *testing.T
	random *rand.Rand
	v      *View
	keys   [][]byte
	sets   map[string]map[string]bool
}

// member draws integers of all widths, words that fit a listpack, and some that do not.
func (m *setModel) member() string {
	switch m.random.IntN(12) {
	case 0:
		return strings.Repeat("long", 1+m.random.IntN(500))
	case 1:
		return strconv.FormatInt(int64(m.random.Uint64())>>m.random.IntN(64), 10)
	case 2, 3:
		return fmt.Sprint("word", m.random.IntN(30))
	case 4:
		return fmt.Sprint("0", m.random.IntN(5)) // no integer
	}
	return strconv.Itoa(m.random.IntN(30) - 10)
}

func (m *setModel) members(n int) (list [][]byte) {
	for range n {
		list = append(list, []byte(m.member()))
	}
	return list
}

func (m *setModel) key() []byte { return m.keys[m.random.IntN(len(m.keys))] }

func (m *setModel) want(what string, got, want any) {
	m.t.Helper()
	if got != want {
		m.t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

func (m *setModel) add() {
	key, list := m.key(), m.members(1+m.random.IntN(9))
	set := m.sets[string(key)]
	if set == nil {
		set = map[string]bool{}
		m.sets[string(key)] = set
	}
	before := len(set)
	for _, member := range list {
		set[string(member)] = true
	}
	added, err := m.v.SAdd(key, list)
	m.want("SAdd", err, nil)
	m.want("SAdd", added, int64(len(set)-before))
}

func (m *setModel) remove() {
	key, list := m.key(), m.members(m.random.IntN(9))
	for member := range m.sets[string(key)] { // one that is there
		list = append(list, []byte(member))
		break
	}
	before := len(m.sets[string(key)])
	for _, member := range list {
		m.take(key, string(member))
	}
	removed, err := m.v.SRem(key, list)
	m.want("SRem", err, nil)
	m.want("SRem", removed, int64(before-len(m.sets[string(key)])))
}

// take removes a member from the model, if it is there.
func (m *setModel) take(key []byte, member string) bool {
	set := m.sets[string(key)]
	if !set[member] {
		return false
	}
	if delete(set, member); len(set) == 0 {
		delete(m.sets, string(key))
	}
	return true
}

func (m *setModel) move() {
	from, to, member := m.key(), m.key(), m.member()
	for has := range m.sets[string(from)] {
		member = has
		break
	}
	had := m.sets[string(from)][member]
	if had && string(from) != string(to) {
		m.take(from, member)
		if m.sets[string(to)] == nil {
			m.sets[string(to)] = map[string]bool{}
		}
		m.sets[string(to)][member] = true
	}
	moved, err := m.v.SMove(from, to, []byte(member))
	m.want("SMove", err, nil)
	m.want("SMove", moved, had)
}

func (m *setModel) pop() {
	key := m.key()
	exists := len(m.sets[string(key)]) > 0
	member, ok, err := m.v.SPop(key)
	m.want("SPop", err, nil)
	m.want("SPop", ok, exists)
	if exists && !m.take(key, string(member)) {
		m.t.Fatalf("SPop gave %q", member)
	}
}

func (m *setModel) popMany() {
	key := m.key()
	count := m.random.IntN(12)
	before := len(m.sets[string(key)])
	n := -1
	popped := 0
	err := m.v.SPopMany(key, int64(count), func(size int) { n = size }, func(member []byte) {
		if popped++; !m.take(key, string(member)) {
			m.t.Fatalf("SPopMany gave %q", member)
		}
	})
	m.want("SPopMany", err, nil)
	m.want("SPopMany", n, min(count, before))
	m.want("SPopMany", popped, n)
}

// combined is what an operation on sets gives.
func (m *setModel) combined(op SetOp, keys [][]byte) map[string]bool {
	result := maps.Clone(m.sets[string(keys[0])])
	if result == nil {
		result = map[string]bool{}
	}
	for _, key := range keys[1:] {
		set := m.sets[string(key)]
		switch op {
		case Union:
			maps.Copy(result, set)
		case Intersection:
			maps.DeleteFunc(result, func(member string, _ bool) bool { return !set[member] })
		default:
			maps.DeleteFunc(result, func(member string, _ bool) bool { return set[member] })
		}
	}
	return result
}

func (m *setModel) combine() {
	op := SetOp(m.random.IntN(3))
	var keys [][]byte
	for range 1 + m.random.IntN(8) {
		keys = append(keys, m.key())
	}
	want := m.combined(op, keys)
	if m.random.IntN(2) == 0 {
		to := m.key()
		if m.sets[string(to)] = want; len(want) == 0 {
			delete(m.sets, string(to))
		}
		n, err := m.v.CombineStore(op, to, keys)
		m.want("CombineStore", err, nil)
		m.want("CombineStore", n, int64(len(want)))
		return
	}
	result, err := m.v.Combine(op, keys)
	m.want("Combine", err, nil)
	got := map[string]bool{}
	result.Each(func(member []byte) bool {
		if got[string(member)] {
			m.t.Fatalf("Combine gave %q twice", member)
		}
		got[string(member)] = true
		return true
	})
	if !maps.Equal(got, want) {
		m.t.Fatalf("operation %d gave %v, want %v", op, got, want)
	}
}

// ask reads a set in all ways.
func (m *setModel) ask() {
	key := m.key()
	want := m.sets[string(key)]
	set, err := m.v.ReadSet(key)
	m.want("ReadSet", err, nil)
	m.want("Exists", set.Exists(), len(want) > 0)
	m.want("Len", set.Len(), len(want))
	member := m.member()
	m.want("Contains", set.Contains([]byte(member)), want[member])
	n := m.random.IntN(10)
	ways := map[string]func(fn func([]byte)){
		"Each": set.Each,
		"Scan": func(fn func([]byte)) {
			for cursor, first := uint64(0), true; first || cursor != 0; first = false {
				cursor = set.Scan(cursor, 1+n, fn)
			}
		},
		"Sample of all": func(fn func([]byte)) { set.Sample(len(want)+n/9, fn) },
		"Sample":        func(fn func([]byte)) { set.Sample(n, fn) },
	}
	for name, way := range ways {
		got := map[string]bool{}
		way(func(member []byte) {
			if !want[string(member)] || got[string(member)] {
				m.t.Fatalf("%s gave %q, which is not there or the second", name, member)
			}
			got[string(member)] = true
		})
		if name == "Sample" {
			m.want(name, len(got), min(n, len(want)))
		} else {
			m.want(name, len(got), len(want))
		}
	}
	drawn := 0
	if len(want) > 0 {
		set.Draw(int64(n), func(member []byte) bool {
			if drawn++; !want[string(member)] {
				m.t.Fatalf("Draw gave %q", member)
			}
			return true
		})
		m.want("Draw", drawn, n)
	}
}

// check looks at how every set is kept.
func (m *setModel) check() {
	limits := &m.v.store.encodings
	for _, key := range m.keys {
		e := m.v.Peek(key)
		size := len(m.sets[string(key)])
		if !e.Exists() {
			m.want("missing", size, 0)
			continue
		}
		got := membersOf(e)
		m.want("size", got.len(), size)
		switch got.kind {
		case kindSetInts:
			m.want("intset", intset.Validate(got.packed), nil)
			m.want("few integers", size <= limits.SetInts, true)
		case kindSetPacked:
			m.want("listpack", listpack.Validate(got.packed), nil)
			m.want("few members", size <= limits.SetEntries, true)
			for member := range m.sets[string(key)] {
				m.want("short members", len(member) <= limits.SetValue, true)
			}
		default:
			saneDict(m.t, got.dict)
		}
	}
}

func TestSetsAgainstModel(t *testing.T) {
	for _, limits := range []Encodings{smallSets, {SetInts: 3, SetEntries: 100, SetValue: 2000}, {}} {
		t.Run(fmt.Sprint(limits.SetInts), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			v := alone(t)
			v.store.SetEncodings(limits)
			m := &setModel{t: t, random: rand.New(rand.NewPCG(seed, 0)), v: v, keys: words("a b c d e"), sets: map[string]map[string]bool{}}
			v.random = m.random
			steps := []func(){m.add, m.add, m.add, m.remove, m.move, m.pop, m.popMany, m.combine, m.combine, m.ask}
			for range 4000 {
				v.Exclusive()
				steps[m.random.IntN(len(steps))]()
				v.Unlock()
				v.Exclusive()
				m.check()
			}
			for _, key := range m.keys {
				v.Remove(key)
			}
			v.Unlock()
			sane(t, v.store) // in particular: nothing is left of the large sets
		})
	}
}

// TestSetEncodings follows the rules of Redis 7.2.
func TestSetEncodings(t *testing.T) {
	many := func(first, last int, prefix string) string {
		var b strings.Builder
		for i := first; i <= last; i++ {
			fmt.Fprint(&b, prefix, i, " ")
		}
		return b.String()
	}
	long := strings.Repeat("x", 65)
	for _, c := range []struct {
		name string
		do   func(v *View, key []byte)
		want string
	}{
		{"integers", func(v *View, k []byte) { v.SAdd(k, words("1 2 -3")) }, "intset"},
		{"as many as may be", func(v *View, k []byte) { v.SAdd(k, words(many(1, 512, ""))) }, "intset"},
		{"one more", func(v *View, k []byte) { v.SAdd(k, words(many(1, 512, ""))); v.SAdd(k, words("0")) }, "hashtable"},
		{"words", func(v *View, k []byte) { v.SAdd(k, words("a b")) }, "listpack"},
		{"a word to integers", func(v *View, k []byte) { v.SAdd(k, words("1 2 a")) }, "listpack"},
		{"a word to many integers", func(v *View, k []byte) { v.SAdd(k, words(many(1, 128, "")+"a")) }, "hashtable"},
		{"a word to nearly many", func(v *View, k []byte) { v.SAdd(k, words(many(1, 127, "")+"a")) }, "listpack"},
		{"integers to words", func(v *View, k []byte) { v.SAdd(k, words("a")); v.SAdd(k, words(many(1, 127, ""))) }, "listpack"},
		{"many words", func(v *View, k []byte) { v.SAdd(k, words(many(1, 128, "w"))); v.SAdd(k, words("w")) }, "hashtable"},
		{"many words that are one", func(v *View, k []byte) { v.SAdd(k, words(strings.Repeat("w ", 129))) }, "hashtable"},
		{"the same, later", func(v *View, k []byte) { v.SAdd(k, words("w")); v.SAdd(k, words(strings.Repeat("v ", 129))) }, "hashtable"},
		{"a long word", func(v *View, k []byte) { v.SAdd(k, words(long[1:])) }, "listpack"},
		{"too long", func(v *View, k []byte) { v.SAdd(k, words(long)) }, "hashtable"},
		{"too long for integers", func(v *View, k []byte) { v.SAdd(k, words("1")); v.SAdd(k, words(long)) }, "hashtable"},
		{"no way back", func(v *View, k []byte) { v.SAdd(k, words("1 a")); v.SRem(k, words("a")) }, "listpack"},
		{"no way back", func(v *View, k []byte) { v.SAdd(k, words("a "+long)); v.SRem(k, words(long)) }, "hashtable"},
		{"SMOVE", func(v *View, k []byte) { v.SAdd(words("o")[0], words("1 a")); v.SMove(words("o")[0], k, words("1")[0]) }, "intset"},
		{"SPOP of nearly all", func(v *View, k []byte) {
			v.SAdd(k, words(many(1, 200, "w")))
			v.SPopMany(k, 180, func(int) {}, func([]byte) {})
		}, "listpack"},
		{"SPOP of many", func(v *View, k []byte) {
			v.SAdd(k, words(many(1, 200, "w")))
			v.SPopMany(k, 150, func(int) {}, func([]byte) {})
		}, "hashtable"},
		{"SINTERSTORE of words", func(v *View, k []byte) {
			v.SAdd(words("o")[0], words("1 2 a"))
			v.CombineStore(Intersection, k, words("o"))
		}, "listpack"},
		{"SINTERSTORE of integers", func(v *View, k []byte) {
			v.SAdd(words("o")[0], words("1 2 a"))
			v.SAdd(words("p")[0], words("1 2 b "+long))
			v.CombineStore(Intersection, k, words("o p"))
		}, "intset"},
		{"SINTERSTORE of many integers", func(v *View, k []byte) {
			v.SAdd(words("o")[0], words("a "+many(1, 300, "")))
			v.CombineStore(Intersection, words("p")[0], words("o"))
			v.SRem(words("p")[0], words("a"))
			v.CombineStore(Intersection, k, words("o p"))
		}, "intset"},
		{"SUNIONSTORE", func(v *View, k []byte) {
			v.SAdd(words("o")[0], words("1 2"))
			v.SAdd(words("p")[0], words("3 x"))
			v.CombineStore(Union, k, words("o p"))
		}, "listpack"},
		{"SDIFFSTORE", func(v *View, k []byte) {
			v.SAdd(words("o")[0], words("1 2 x"))
			v.SAdd(words("p")[0], words("3 x"))
			v.CombineStore(Difference, k, words("o p"))
		}, "intset"},
	} {
		v := alone(t)
		key := []byte("k")
		c.do(v, key)
		if got := v.Peek(key).Encoding(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestSetsAreDrawnFrom tests that every member is equally likely, by chi-square over a fixed number of draws: with 19
// degrees of freedom it is above 100 once in 10^12 times.
func TestSetsAreDrawnFrom(t *testing.T) {
	const members, boundChi = 20, 100
	for name, limits := range map[string]Encodings{"intset": {SetInts: 100}, "listpack": {SetEntries: 100, SetValue: 100}, "hashtable": {}} {
		v := alone(t)
		v.store.SetEncodings(limits)
		key := []byte("k")
		var all [][]byte
		for i := range members {
			all = append(all, []byte(strconv.Itoa(i)))
		}
		v.SAdd(key, all)
		if got := v.Peek(key).Encoding(); got != name {
			t.Fatalf("%s, want %s", got, name)
		}
		many := func(n int64) func(func([]byte)) {
			return func(fn func([]byte)) {
				v.SPopMany(key, n, func(int) {}, fn)
				v.SAdd(key, all)
			}
		}
		set := func() *Set {
			s, _ := v.ReadSet(key)
			return &s
		}
		for way, draw := range map[string]func(fn func([]byte)){
			"SPOP": func(fn func([]byte)) {
				member, _, _ := v.SPop(key)
				fn(member)
				v.SAdd(key, [][]byte{member})
			},
			"SPOP 3":          many(3),
			"SPOP 17":         many(17),
			"SRANDMEMBER":     func(fn func([]byte)) { set().Draw(1, func(m []byte) bool { fn(m); return true }) },
			"SRANDMEMBER -3":  func(fn func([]byte)) { set().Draw(3, func(m []byte) bool { fn(m); return true }) },
			"SRANDMEMBER 3":   func(fn func([]byte)) { set().Sample(3, fn) },
			"SRANDMEMBER 15":  func(fn func([]byte)) { set().Sample(15, fn) },
			"SRANDMEMBER 6/7": func(fn func([]byte)) { set().Sample(6, fn); set().Sample(7, fn) },
		} {
			counts := map[string]int{}
			total := 0
			for range 4000 {
				draw(func(member []byte) { counts[string(member)]++; total++ })
			}
			want := float64(total) / members
			chi := 0.0
			for _, member := range all {
				delta := float64(counts[string(member)]) - want
				chi += delta * delta / want
			}
			if chi > boundChi {
				t.Errorf("%s of a %s: chi-square %.0f, counts %v", way, name, chi, counts)
			}
		}
	}
}

// TestSPopOfALargeSet pops in the three ways and sees that what is left is as likely to be any.
func TestSPopOfALargeSet(t *testing.T) {
	const size, left, rounds = 1000, 100, 200
	v := alone(t)
	key := []byte("k")
	var all [][]byte
	for i := range size {
		all = append(all, fmt.Append(nil, "member:", i))
	}
	counts := map[string]int{}
	for range rounds {
		v.SAdd(key, all)
		popped := map[string]bool{}
		v.SPopMany(key, size-left, func(int) {}, func(member []byte) { popped[string(member)] = true })
		set, _ := v.ReadSet(key)
		if len(popped) != size-left || set.Len() != left {
			t.Fatalf("%d popped, %d left", len(popped), set.Len())
		}
		set.Each(func(member []byte) {
			if popped[string(member)] {
				t.Fatalf("%s was popped and is there", member)
			}
			counts[string(member)]++
		})
	}
	chi, want := 0.0, float64(rounds*left)/size
	for _, member := range all {
		delta := float64(counts[string(member)]) - want
		chi += delta * delta / want
	}
	if bound := size + 8*math.Sqrt(2*size); chi > bound {
		t.Errorf("chi-square %.0f, bound %.0f", chi, bound)
	}
}

func TestScanOfASetWhileItChanges(t *testing.T) {
	v := alone(t)
	key := []byte("k")
	const stable = 3000
	for i := range stable {
		v.SAdd(key, [][]byte{fmt.Append(nil, "stable:", i)})
	}
	for _, count := range []int{1, 10, 1000} {
		seen := map[string]bool{}
		calls := 0
		for cursor, first := uint64(0), true; first || cursor != 0; first = false {
			set, _ := v.ReadSet(key)
			cursor = set.Scan(cursor, count, func(member []byte) { seen[string(member)] = true })
			for range 2 * count {
				v.SAdd(key, [][]byte{fmt.Append(nil, "passing:", calls*count%9999)})
			}
			if calls++; calls > 100*stable {
				t.Fatal("the scan does not end")
			}
		}
		for i := range stable {
			if !seen[fmt.Sprint("stable:", i)] {
				t.Fatalf("COUNT %d: the scan missed stable:%d", count, i)
			}
		}
	}
}

// Accesses of a, which is {1 2 3}, of b, {3 x}, of s, a string, and of the missing m.
func TestSetAccesses(t *testing.T) {
	a, b, m, s := []byte("a"), []byte("b"), []byte("m"), []byte("s")
	none := func(int) {}
	drop := func([]byte) {}
	for _, c := range []struct {
		name string
		do   func(v *View)
		want map[string]uint64
	}{
		{"reading", func(v *View) { v.ReadSet(a); v.ReadSet(m); v.ReadSet(s) }, map[string]uint64{"a": 1, "m": 1, "s": 1}},
		{"SADD", func(v *View) { v.SAdd(a, words("1 9")); v.SAdd(m, words("1")) }, map[string]uint64{"a": 1, "m": 1}},
		{"SREM", func(v *View) { v.SRem(a, words("1 9")); v.SRem(m, words("1")) }, map[string]uint64{"a": 1, "m": 1}},
		{"SREM empties", func(v *View) { v.SRem(b, words("x 3 y")) }, map[string]uint64{"b": 2}},
		{"SPOP", func(v *View) { v.SPop(a); v.SPop(m) }, map[string]uint64{"a": 1, "m": 1}},
		{"SPOP empties", func(v *View) { v.SRem(b, words("x")); v.SPop(b) }, map[string]uint64{"b": 3}},
		{"SPOP count", func(v *View) { v.SPopMany(a, 2, none, drop); v.SPopMany(b, 5, none, drop) }, map[string]uint64{"a": 1, "b": 2}},
		{"SMOVE", func(v *View) { v.SMove(a, b, words("1")[0]) }, map[string]uint64{"a": 1, "b": 1}},
		{"SMOVE of nothing", func(v *View) { v.SMove(m, b, words("1")[0]) }, map[string]uint64{"m": 1, "b": 1}},
		{"SMOVE empties", func(v *View) { v.SRem(b, words("x")); v.SMove(b, m, words("3")[0]) }, map[string]uint64{"b": 3, "m": 1}},
		{"SINTER", func(v *View) { v.Combine(Intersection, [][]byte{a, m, b}) }, map[string]uint64{"a": 1, "m": 1, "b": 1}},
		{"SINTER of a string", func(v *View) { v.Combine(Intersection, [][]byte{a, s, b}) }, map[string]uint64{"a": 1, "s": 1}},
		{"SUNIONSTORE", func(v *View) { v.CombineStore(Union, m, [][]byte{a, b, a}) }, map[string]uint64{"a": 2, "b": 1, "m": 1}},
		{"SUNIONSTORE onto itself", func(v *View) { v.CombineStore(Union, a, [][]byte{a, b}) }, map[string]uint64{"a": 2, "b": 1}},
		{"SINTERSTORE of nothing", func(v *View) { v.CombineStore(Intersection, s, [][]byte{a, m}) }, map[string]uint64{"a": 1, "m": 1, "s": 1}},
		{"SDIFFSTORE of nothing", func(v *View) { v.CombineStore(Difference, m, [][]byte{a, a}) }, map[string]uint64{"a": 2}},
	} {
		v, report := counted(t)
		rec := v.rec
		v.rec = nil
		v.SAdd(a, words("1 2 3"))
		v.SAdd(b, words("3 x"))
		v.mustSet("s", "text")
		v.rec = rec
		c.do(v)
		if got := report(); !maps.Equal(got, c.want) {
			t.Errorf("%s: accesses %v, want %v", c.name, got, c.want)
		}
	}
}

// TestSetsKeepTheirDeadline and give it up when they are replaced.
func TestSetsKeepTheirDeadline(t *testing.T) {
	v := alone(t)
	key := []byte("k")
	v.SAdd(key, words("1"))
	v.Expire(key, testNow+5000, 0)
	for _, list := range []string{"2", "a", strings.Repeat("long", 50), strings.Repeat("longer", 300)} {
		v.SAdd(key, words(list))
		if at := v.Peek(key).ExpireAt(); at != testNow+5000 {
			t.Errorf("after %.10s…: %d", list, at)
		}
	}
	v.SRem(key, words("2"))
	v.SPop(key)
	if at := v.Peek(key).ExpireAt(); at != testNow+5000 {
		t.Errorf("after removals: %d", at)
	}
	v.CombineStore(Union, key, [][]byte{key})
	if at := v.Peek(key).ExpireAt(); at != -1 {
		t.Errorf("after SUNIONSTORE: %d", at)
	}
}

// TestCombineMeetsExpiredKeys: one that is removed while others are looked up must not disturb them.
func TestCombineMeetsExpiredKeys(t *testing.T) {
	v := alone(t)
	var keys [][]byte
	want := map[string]bool{}
	for i := range 400 {
		key := fmt.Append(nil, "key:", i)
		keys = append(keys, key)
		member := fmt.Append(nil, strings.Repeat("member", i%9), i)
		v.SAdd(key, [][]byte{member})
		if i%3 == 0 {
			v.Expire(key, testNow+100, 0)
		} else {
			want[string(member)] = true
		}
	}
	v.Bind(v.db, v.nowMs+1000, v.rec)
	n, err := v.CombineStore(Union, []byte("all"), keys)
	if err != nil || n != int64(len(want)) {
		t.Fatalf("%d, %v; want %d", n, err, len(want))
	}
	set, _ := v.ReadSet([]byte("all"))
	set.Each(func(member []byte) {
		if !want[string(member)] {
			t.Errorf("%q is in the union", member)
		}
	})
	from, to := []byte("from"), []byte("to")
	v.SAdd(from, words("x y"))
	v.SAdd(to, words("z"))
	v.Expire(to, v.nowMs+1, 0)
	v.Bind(v.db, v.nowMs+2, v.rec)
	if moved, err := v.SMove(from, to, []byte("x")); !moved || err != nil {
		t.Fatalf("SMove: %v, %v", moved, err)
	}
	moved, _ := v.ReadSet(to)
	var got []string
	moved.Each(func(member []byte) { got = append(got, string(member)) })
	if !slices.Equal(got, []string{"x"}) {
		t.Errorf("moved to %q", got)
	}
}

func BenchmarkLargeSet(b *testing.B) {
	s := New(Options{Databases: 1})
	b.Cleanup(s.Close)
	v := s.NewView()
	key := []byte("set")
	v.Bind(0, testNow, nil)
	var list [][]byte
	for i := range 1_000_000 {
		list = append(list, fmt.Appendf(nil, "element:%012d", i))
	}
	random := rand.New(rand.NewPCG(1, 2))
	run := func(name string, fn func()) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				v.LockKey(key, true)
				fn()
				v.Unlock()
			}
		})
	}
	run("SADD", func() { i := random.IntN(len(list)); v.SAdd(key, list[i:i+1]) })
	v.LockKey(key, true)
	v.SAdd(key, list)
	v.Unlock()
	run("SADD of a member", func() { i := random.IntN(len(list)); v.SAdd(key, list[i:i+1]) })
	run("SRANDMEMBER", func() { s, _ := v.ReadSet(key); s.Draw(1, func([]byte) bool { return true }) })
	run("SPOP and SADD", func() {
		member, _, _ := v.SPop(key)
		v.SAdd(key, [][]byte{member})
	})
}
