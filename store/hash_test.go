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
)

// hashModel is a hash as plain Go has it: deadlines are those of a moment at which it was last asked.
type hashModel map[string]fieldState

type fieldState struct {
	val      string
	deadline int64 // noDeadline: none
}

func (m hashModel) expire(nowMs int64) {
	maps.DeleteFunc(m, func(_ string, f fieldState) bool { return f.deadline != noDeadline && f.deadline < nowMs })
}

func (m hashModel) values() map[string]string {
	vals := map[string]string{}
	for name, f := range m {
		vals[name] = f.val
	}
	return vals
}

func mustReadHash(t *testing.T, v *View, key string) Hash {
	t.Helper()
	h, err := v.ReadHash([]byte(key))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func fieldsOf(h Hash) map[string]string {
	vals := map[string]string{}
	h.Each(func(field, val []byte) bool {
		vals[string(field)] = string(val)
		return true
	})
	return vals
}

// check compares a hash with its model through everything that reads.
func (m hashModel) check(t *testing.T, v *View, key string) {
	t.Helper()
	m.expire(v.nowMs)
	h := mustReadHash(t, v, key)
	if got := fieldsOf(h); !maps.Equal(got, m.values()) {
		t.Fatalf("fields %v, want %v", got, m.values())
	}
	if h.Live() != len(m) || h.Len() < len(m) {
		t.Fatalf("%d live, %d in all, want %d", h.Live(), h.Len(), len(m))
	}
	for name, f := range m {
		if val, ok := h.Get([]byte(name)); !ok || string(val) != f.val {
			t.Fatalf("field %q: %q, %v, want %q", name, val, ok, f.val)
		}
		if at := h.FieldDeadline([]byte(name)); at != replyDeadline(f.deadline) {
			t.Fatalf("field %q: deadline %d, want %d", name, at, f.deadline)
		}
	}
	if _, ok := h.Get([]byte("no such field")); ok || h.FieldDeadline([]byte("no such field")) != FieldMissing {
		t.Fatal("there is a field that is not there")
	}
}

// hashTester changes a hash and its model alike.
type hashTester struct {
	t *testing.T
	v *View
	r *rand.Rand
	m hashModel
}

const hashKey = "h"

func (h *hashTester) name() string { return "f" + strconv.Itoa(h.r.IntN(20)) }

func (h *hashTester) value() string {
	switch h.r.IntN(20) {
	case 0:
		return strings.Repeat("long ", 10)
	case 1:
		return strings.Repeat("longer", 500)
	case 2, 3, 4:
		return "text" + strconv.Itoa(h.r.IntN(100))
	}
	return strconv.Itoa(h.r.IntN(1000))
}

// deadline returns one that is over, or soon will be.
func (h *hashTester) deadline() int64 { return h.v.nowMs - 3 + int64(h.r.IntN(30)) }

func (h *hashTester) expect(what string, got, want any) {
	h.t.Helper()
	if got != want {
		h.t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

func (h *hashTester) step() {
	h.t.Helper()
	key, name, val := []byte(hashKey), h.name(), h.value()
	field, old := []byte(name), h.m[name]
	_, exists := h.m[name]
	if !exists {
		old.deadline = noDeadline
	}
	switch h.r.IntN(14) {
	case 0, 1:
		added, err := h.v.HSet(key, [][]byte{field, []byte("first"), field, []byte(val)})
		h.expect("HSet", fmt.Sprint(added, err), fmt.Sprint(one(!exists), nil))
		h.m[name] = fieldState{val, noDeadline}
	case 2:
		set, _ := h.v.HSetNX(key, field, []byte(val))
		h.expect("HSetNX", set, !exists)
		if !exists {
			h.m[name] = fieldState{val, noDeadline}
		}
	case 3, 4:
		removed, _ := h.v.HDel(key, [][]byte{field, field})
		h.expect("HDel", removed, int64(one(exists)))
		delete(h.m, name)
	case 5:
		h.v.HGetDel(key, [][]byte{field}, func(got []byte, ok bool) {
			h.expect("HGetDel", fmt.Sprint(string(got), ok), fmt.Sprint(old.val, exists))
		})
		delete(h.m, name)
	case 6:
		h.increment(name, old, exists)
	case 7, 8:
		h.expireField(name, old, exists)
	case 9:
		want := int64(FieldMissing)
		if exists {
			want = FieldForever
		}
		if old.deadline != noDeadline {
			want = FieldChanged
			h.m[name] = fieldState{old.val, noDeadline}
		}
		h.v.HPersist(key, [][]byte{field}, func(got int64) { h.expect("HPersist", got, want) })
	case 10:
		h.getEx(name, old, exists)
	case 11:
		h.setEx(name, val, old, exists)
	case 12:
		h.move()
	default:
		h.v.Bind(0, h.v.nowMs+int64(h.r.IntN(10)), nil)
		h.m.expire(h.v.nowMs)
	}
}

func (h *hashTester) increment(name string, old fieldState, exists bool) {
	by := int64(h.r.IntN(2000) - 1000)
	n, isInt := ParseInteger([]byte(old.val))
	sum, err := h.v.HIncrBy([]byte(hashKey), []byte(name), by)
	if exists && !isInt {
		h.expect("HIncrBy", err, ErrFieldNotInteger)
		return
	}
	h.expect("HIncrBy", fmt.Sprint(sum, err), fmt.Sprint(n+by, nil))
	h.m[name] = fieldState{strconv.FormatInt(n+by, 10), old.deadline}
}

func (h *hashTester) expireField(name string, old fieldState, exists bool) {
	at, cond := h.deadline(), ExpireCond(0)
	if h.r.IntN(2) == 0 {
		cond = 1 << h.r.IntN(4)
	}
	want := int64(FieldChanged)
	switch {
	case !exists:
		want = FieldMissing
	case !cond.met(replyDeadline(old.deadline), at):
		want = FieldUnmet
	case at <= h.v.nowMs:
		want = FieldExpired
		delete(h.m, name)
	default:
		h.m[name] = fieldState{old.val, at}
	}
	h.v.HExpire([]byte(hashKey), at, cond, [][]byte{[]byte(name)}, func(got int64) { h.expect("HExpire", got, want) })
}

func (h *hashTester) getEx(name string, old fieldState, exists bool) {
	at, change := h.deadline(), DeadlineChange(h.r.IntN(3))
	h.v.HGetEx([]byte(hashKey), [][]byte{[]byte(name)}, change, at, func(got []byte, ok bool) {
		h.expect("HGetEx", fmt.Sprint(string(got), ok), fmt.Sprint(old.val, exists))
	})
	switch {
	case !exists || change == KeepDeadline:
	case change == DropDeadline:
		h.m[name] = fieldState{old.val, noDeadline}
	case at <= h.v.nowMs:
		delete(h.m, name)
	default:
		h.m[name] = fieldState{old.val, at}
	}
}

func (h *hashTester) setEx(name, val string, old fieldState, exists bool) {
	at, change, cond := h.deadline(), DeadlineChange(h.r.IntN(3)), FieldCond(h.r.IntN(3))
	want := cond == AnyField || exists == (cond == EveryExists)
	set, _ := h.v.HSetEx([]byte(hashKey), [][]byte{[]byte(name), []byte(val)}, cond, change, at)
	h.expect("HSetEx", set, want)
	switch {
	case !want:
	case change == DropDeadline:
		h.m[name] = fieldState{val, noDeadline}
	case change == KeepDeadline:
		h.m[name] = fieldState{val, old.deadline}
	case at <= h.v.nowMs:
		delete(h.m, name)
	default:
		h.m[name] = fieldState{val, at}
	}
}

// move takes the hash to another key, and a copy of it back.
func (h *hashTester) move() {
	if !h.v.Peek([]byte(hashKey)).Exists() {
		return
	}
	h.v.Rename([]byte(hashKey), []byte("other"), false)
	if h.v.Peek([]byte(hashKey)).Exists() {
		h.t.Fatal("the hash is still there after it was renamed")
	}
	h.v.Copy([]byte("other"), []byte(hashKey), 0, true)
	h.v.Remove([]byte("other"))
}

func TestHashAgainstModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 60 {
		v := alone(t)
		limits := DefaultEncodings
		limits.HashEntries, limits.HashValue = r.IntN(24), 4+r.IntN(60)
		v.store.SetEncodings(limits)
		h := &hashTester{t, v, r, hashModel{}}
		for range 150 {
			h.step()
			h.m.check(t, v, hashKey)
			if r.IntN(10) == 0 {
				v.ExpireCycle(math.MaxInt)
			}
		}
		for more := true; more; {
			_, more = v.ExpireCycle(math.MaxInt)
		}
		if n := mustReadHash(t, v, hashKey).Len(); n != len(h.m) {
			t.Fatalf("%d fields after the cycle, want %d", n, len(h.m))
		}
		if v.Peek([]byte(hashKey)).Exists() != (len(h.m) > 0) {
			t.Fatal("the key of an empty hash exists, or that of another one does not")
		}
		v.Unlock()
		sane(t, v.store)
	}
}

// The encodings are those of Redis 7.2 for the same commands.
func TestHashEncoding(t *testing.T) {
	long := strings.Repeat("x", 65)
	for _, c := range []struct {
		name  string
		pairs []string
		want  string
	}{
		{"short", []string{"f", "v"}, "listpack"},
		{"64 bytes", []string{"f", long[:64]}, "listpack"},
		{"long value", []string{"f", long}, "hashtable"},
		{"long field", []string{long, "v"}, "hashtable"},
		{"4 fields", []string{"a", "1", "b", "2", "c", "3", "d", "4"}, "listpack"},
		{"5 fields", []string{"a", "1", "b", "2", "c", "3", "d", "4", "e", "5"}, "hashtable"},
		{"one field five times", []string{"a", "1", "a", "2", "a", "3", "a", "4", "a", "5"}, "hashtable"},
	} {
		v := alone(t)
		limits := DefaultEncodings
		limits.HashEntries = 4
		v.store.SetEncodings(limits)
		var pairs [][]byte
		for _, s := range c.pairs {
			pairs = append(pairs, []byte(s))
		}
		v.HSet([]byte("k"), pairs)
		if got := v.Peek([]byte("k")).Encoding(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestHashOfAnotherType(t *testing.T) {
	v := alone(t)
	k := []byte("k")
	v.mustSet("k", "v")
	pair := [][]byte{k, k}
	_, read := v.ReadHash(k)
	_, set := v.HSet(k, pair)
	_, setNX := v.HSetNX(k, k, k)
	_, del := v.HDel(k, pair)
	_, incr := v.HIncrBy(k, k, 1)
	_, incrFloat := v.HIncrByFloat(k, k, []byte("1"))
	_, setEx := v.HSetEx(k, pair, AnyField, DropDeadline, 0)
	bad := func([]byte, bool) { t.Error("a string has a field") }
	badInt := func(int64) { t.Error("a string has a field") }
	for i, err := range []error{read, set, setNX, del, incr, incrFloat, setEx,
		v.HGetDel(k, pair, bad), v.HGetEx(k, pair, DropDeadline, 0, bad),
		v.HPersist(k, pair, badInt), v.HExpire(k, math.MaxInt64, 0, pair, badInt)} {
		if err != ErrWrongType {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

func TestHIncrByFloat(t *testing.T) {
	for _, c := range []struct {
		old, by, want string
		err           error
	}{
		{"", "1.5", "1.5", nil},
		{"10.5", "0.1", "10.6", nil},
		{"5.0e3", "2.0e2", "5200", nil},
		{"abc", "1", "", ErrFieldNotFloat},
		{"1", "abc", "", ErrNotFloat},
		{"abc", "abc", "", ErrNotFloat},
		{"1", "inf", "", ErrInfinite},
		{"inf", "1", "", ErrNaN},
	} {
		for _, encoding := range []int{0, 512} {
			v := alone(t)
			limits := DefaultEncodings
			limits.HashEntries = encoding
			v.store.SetEncodings(limits)
			if c.old != "" {
				v.HSet([]byte("k"), [][]byte{[]byte("f"), []byte(c.old)})
			}
			got, err := v.HIncrByFloat([]byte("k"), []byte("f"), []byte(c.by))
			if got != c.want || err != c.err {
				t.Errorf("%q + %q: %q, %v, want %q, %v", c.old, c.by, got, err, c.want, c.err)
			}
		}
	}
}

func TestHIncrByOverflow(t *testing.T) {
	v := alone(t)
	k := []byte("k")
	v.HSet(k, [][]byte{[]byte("max"), []byte("9223372036854775807"), []byte("min"), []byte("-9223372036854775808")})
	if _, err := v.HIncrBy(k, []byte("max"), 1); err != ErrOverflow {
		t.Error(err)
	}
	if _, err := v.HIncrBy(k, []byte("min"), -1); err != ErrOverflow {
		t.Error(err)
	}
}

// bigHash makes a hash of n fields that is a dict.
func bigHash(v *View, n int) {
	for i := range n {
		v.HSet([]byte(hashKey), [][]byte{fmt.Appendf(nil, "field:%d", i), []byte("v")})
	}
	v.HSet([]byte(hashKey), [][]byte{[]byte("field:0"), []byte(strings.Repeat("v", 100))})
}

// chiSquareMax is far above what a uniform choice among n gives: 8 standard deviations above the mean.
func chiSquareMax(n int) float64 { return float64(n) + 8*math.Sqrt(2*float64(n)) }

func chiSquare(counts map[string]int, n, draws int) float64 {
	want := float64(draws) / float64(n)
	sum := float64(n-len(counts)) * want
	for _, c := range counts {
		sum += (float64(c) - want) * (float64(c) - want) / want
	}
	return sum
}

func TestHashRandomIsUniform(t *testing.T) {
	for _, n := range []int{10, 2000} {
		v := alone(t)
		v.random = rand.New(rand.NewPCG(1, 2))
		if n > 512 {
			bigHash(v, n)
		} else {
			for i := range n {
				v.HSet([]byte(hashKey), [][]byte{fmt.Appendf(nil, "field:%d", i), []byte("v")})
			}
		}
		h := mustReadHash(t, v, hashKey)
		for _, c := range []struct {
			name  string
			draws int
			draw  func(count func(field, val []byte))
		}{
			{"Random", 20 * n, func(count func(field, val []byte)) {
				for range 20 * n {
					h.Random(count)
				}
			}},
			{"Sample few", 200 * (n / 10), func(count func(field, val []byte)) {
				for range 200 {
					h.Sample(n/10, count)
				}
			}},
			{"Sample many", 100 * (n / 2), func(count func(field, val []byte)) {
				for range 100 {
					h.Sample(n/2, count)
				}
			}},
		} {
			counts := map[string]int{}
			c.draw(func(field, _ []byte) { counts[string(field)]++ })
			if got := chiSquare(counts, n, c.draws); got > chiSquareMax(n) {
				t.Errorf("%s of %d fields: chi-square %.0f, at most %.0f", c.name, n, got, chiSquareMax(n))
			}
		}
	}
}

func TestHashSample(t *testing.T) {
	v := alone(t)
	bigHash(v, 1000)
	h := mustReadHash(t, v, hashKey)
	for _, n := range []int{0, 1, 5, 300, 334, 999, 1000} {
		seen := map[string]bool{}
		h.Sample(n, func(field, _ []byte) { seen[string(field)] = true })
		if len(seen) != n {
			t.Errorf("%d different fields of %d", len(seen), n)
		}
	}
}

// TestHashScan scans a hash that other fields come into and leave between the calls.
func TestHashScan(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	v := alone(t)
	bigHash(v, 1500)
	for _, count := range []int{1, 10, 1000} {
		seen := map[string]int{}
		passing := 0
		for cursor, calls := uint64(0), 0; ; calls++ {
			h := mustReadHash(t, v, hashKey)
			cursor = h.Scan(cursor, count, func(field, _ []byte) bool {
				seen[string(field)]++
				return true
			})
			if cursor == 0 {
				break
			}
			if cursor >= 1<<53 || calls > 100_000 {
				t.Fatalf("cursor %d after %d calls", cursor, calls)
			}
			for range r.IntN(100) {
				name := [][]byte{fmt.Appendf(nil, "passing:%d", r.IntN(5000)), []byte("v")}
				if passing/2000%2 == 0 {
					v.HSet([]byte(hashKey), name)
				} else {
					v.HDel([]byte(hashKey), name[:1])
				}
				passing++
			}
		}
		for i := range 1500 {
			if seen[fmt.Sprintf("field:%d", i)] == 0 {
				t.Fatalf("COUNT %d: field %d was not seen", count, i)
			}
		}
	}
}

func TestPackedHashIsScannedInOneCall(t *testing.T) {
	v := alone(t)
	for i := range 100 {
		v.HSet([]byte(hashKey), [][]byte{fmt.Appendf(nil, "%d", i), []byte("v")})
	}
	var seen []string
	next := mustReadHash(t, v, hashKey).Scan(0, 1, func(field, _ []byte) bool {
		seen = append(seen, string(field))
		return true
	})
	if next != 0 || len(seen) != 100 || !slices.IsSortedFunc(seen, func(a, b string) int { return len(a) - len(b) }) {
		t.Errorf("cursor %d after %d fields, not in their order", next, len(seen))
	}
}

// Accesses of the hash that empties: the lookup and the removal, but no removal if the last field expired.
func TestHashKeyGoesWithItsLastField(t *testing.T) {
	for _, packed := range []bool{true, false} {
		v := alone(t)
		if !packed {
			limits := DefaultEncodings
			limits.HashEntries = 0
			v.store.SetEncodings(limits)
		}
		k, f := []byte(hashKey), []byte("f")
		v.HSet(k, [][]byte{f, f})
		v.HDel(k, [][]byte{f})
		if v.Peek(k).Exists() {
			t.Error("HDel left an empty hash")
		}
		v.HSet(k, [][]byte{f, f})
		v.HExpire(k, testNow, 0, [][]byte{f}, func(int64) {})
		if v.Peek(k).Exists() {
			t.Error("HExpire left an empty hash")
		}
	}
}

func BenchmarkHash(b *testing.B) {
	for _, n := range []int{10, 100_000} {
		s := New(Options{Databases: 1})
		v := s.NewView()
		v.Bind(0, testNow, nil)
		key := []byte(hashKey)
		var pairs [][][]byte
		for i := range n {
			pairs = append(pairs, [][]byte{fmt.Appendf(nil, "field:%d", i), []byte("some value")})
		}
		b.Run(fmt.Sprintf("HSet/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				v.LockKey(key, true)
				v.HSet(key, pairs[i*7919%n])
				v.Unlock()
			}
		})
		b.Run(fmt.Sprintf("Get/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				v.LockKey(key, false)
				h, _ := v.ReadHash(key)
				h.Get(pairs[i*7919%n][0])
				v.Unlock()
			}
		})
		s.Close()
	}
}
