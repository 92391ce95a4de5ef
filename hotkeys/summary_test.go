package hotkeys

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// sane walks the whole structure and returns what is wrong with it.
func (s *summary) sane() error {
	if s.used > s.capacity || s.used > len(s.counters) || len(s.counters) > s.capacity {
		return fmt.Errorf("%d used of %d counters, capacity %d", s.used, len(s.counters), s.capacity)
	}
	if len(s.order) != len(s.counters) || len(s.position) != len(s.counters) {
		return fmt.Errorf("%d counters, %d in order, %d positions", len(s.counters), len(s.order), len(s.position))
	}
	nameBytes := int64(0)
	for at, c := range s.order {
		if s.position[c] != int32(at) {
			return fmt.Errorf("order[%d] is %d, whose position is %d", at, c, s.position[c])
		}
		nameBytes += bufferBytes(&s.counters[c])
	}
	if s.nameBytes != nameBytes {
		return fmt.Errorf("nameBytes %d, names have %d", s.nameBytes, nameBytes)
	}
	if len(s.counters) == 0 {
		return nil
	}
	if err := s.saneBuckets(); err != nil {
		return err
	}
	return s.saneIndex()
}

func (s *summary) saneBuckets() error {
	seen := 1
	end := int32(s.used)
	count := uint64(0)
	if s.buckets[root].begin != end || s.buckets[root].count != 0 {
		return fmt.Errorf("root begins at %d with count %d, used %d", s.buckets[root].begin, s.buckets[root].count, end)
	}
	for b := s.buckets[root].hotter; b != root; b = s.buckets[b].hotter {
		seen++
		bk := s.buckets[b]
		if s.buckets[bk.colder].hotter != b || s.buckets[bk.hotter].colder != b {
			return fmt.Errorf("bucket %d: links do not match", b)
		}
		if bk.count <= count || bk.count < s.floor {
			return fmt.Errorf("bucket %d: count %d follows %d, floor %d", b, bk.count, count, s.floor)
		}
		if bk.begin >= end {
			return fmt.Errorf("bucket %d: [%d, %d) is empty", b, bk.begin, end)
		}
		for _, c := range s.order[bk.begin:end] {
			if k := &s.counters[c]; k.bucket != b || k.err >= bk.count {
				return fmt.Errorf("counter %d: bucket %d is not %d, or error %d not below %d", c, k.bucket, b, k.err, bk.count)
			}
		}
		count, end = bk.count, bk.begin
	}
	if end != 0 {
		return fmt.Errorf("the hottest bucket begins at %d", end)
	}
	for b := s.freeBuckets; b != root; b = s.buckets[b].colder {
		seen++
	}
	if seen != len(s.buckets) {
		return fmt.Errorf("%d buckets in the ring or free, of %d", seen, len(s.buckets))
	}
	return nil
}

func (s *summary) saneIndex() error {
	full := 0
	for at, sl := range s.slots {
		if sl.ref == 0 {
			continue
		}
		full++
		if k := &s.counters[sl.ref-1]; sl.tag != uint32(k.hash>>32) {
			return fmt.Errorf("slot %d: tag %x, counter %d has hash %x", at, sl.tag, sl.ref-1, k.hash)
		}
	}
	if full != s.used || 4*full > len(s.slots) {
		return fmt.Errorf("%d slots of %d full, %d counters used", full, len(s.slots), s.used)
	}
	for _, c := range s.order[:s.used] {
		k := &s.counters[c]
		if _, found := s.find(k.hash, k.name(), int(k.db)); found != c {
			return fmt.Errorf("key %q of counter %d is found at %d", k.name(), c, found)
		}
	}
	return nil
}

type key struct {
	name string
	db   int
}

// hashName is FNV-1a, well mixed: tests must not depend on a process's seed.
func hashName(name string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return scramble(h)
}

func (s *summary) addKey(k key) {
	s.add(hashOf(hashName(k.name), k.db), []byte(k.name), k.db)
}

func newSummary(capacity int) *summary {
	s := new(summary)
	s.reset(capacity, true)
	return s
}

// named makes a counter of a key.
func named(name []byte, db int) *counter {
	k := &counter{db: int32(db)}
	k.setName(name)
	return k
}

// bufferBytes is what a counter holds beyond its cache line.
func bufferBytes(k *counter) int64 {
	if k.long == nil {
		return 0
	}
	return int64(cap(*k.long)) + int64(unsafe.Sizeof(*k.long))
}

// dump writes a summary's entries as "name:count/error", hottest first.
func (s *summary) dump() string {
	var entries []string
	for k, count := range s.all() {
		entries = append(entries, fmt.Sprintf("%s:%d/%d", k.name(), count, k.err))
	}
	return strings.Join(entries, " ")
}

// run expands "a3 b" to a a a b.
func run(stream string) (keys []key) {
	for _, word := range strings.Fields(stream) {
		n := 1
		if len(word) > 1 {
			fmt.Sscan(word[1:], &n)
		}
		for range n {
			keys = append(keys, key{name: word[:1]})
		}
	}
	return keys
}

func TestSmallStreams(t *testing.T) {
	for _, c := range []struct {
		capacity int
		stream   string
		want     string
	}{
		{2, "A5 B3", "A:5/0 B:3/0"},
		{2, "A5 B3 C", "A:5/0 C:4/3"},
		{3, "X2 Y3 Z3 B", "Y:3/0 Z:3/0 B:3/2"},
		{1, "A1000 B", "B:1001/1000"},
		// The minimum is touched itself; a cached one would be out of date.
		{5, "a123 d99 e87 b45 c42 c6 f", "a:123/0 d:99/0 e:87/0 c:48/0 f:46/45"},
		// Ties fall on who has stood at the minimum longest.
		{3, "a b c d", "d:2/1 b:1/0 c:1/0"},
		{3, "a b c d e", "d:2/1 e:2/1 c:1/0"},
		{3, "a b c d e f g", "g:3/2 e:2/1 f:2/1"},
	} {
		s := newSummary(c.capacity)
		for _, k := range run(c.stream) {
			s.addKey(k)
			if err := s.sane(); err != nil {
				t.Fatalf("%d counters, %s: %v", c.capacity, c.stream, err)
			}
		}
		if got := s.dump(); got != c.want {
			t.Errorf("%d counters, %s: got %s, want %s", c.capacity, c.stream, got, c.want)
		}
	}
}

// model counts exactly.
type model struct {
	counts map[key]uint64
	total  uint64
}

func newModel() *model { return &model{counts: make(map[key]uint64)} }

func (m *model) add(k key) {
	m.counts[k]++
	m.total++
}

func (m *model) removeDB(db int) {
	for k := range m.counts {
		if k.db == db {
			delete(m.counts, k)
		}
	}
}

// checkSummary compares a summary with exact counts. whole: nothing was taken
// away since the last reset.
func checkSummary(t interface{ Fatalf(string, ...any) }, s *summary, m *model, whole bool) {
	if err := s.sane(); err != nil {
		t.Fatalf("%v", err)
	}
	if s.samples != m.total {
		t.Fatalf("samples %d, want %d", s.samples, m.total)
	}
	sum := uint64(0)
	tracked := make(map[key]bool)
	for k, count := range s.all() {
		id := key{string(k.name()), int(k.db)}
		tracked[id] = true
		sum += count
		if exact := m.counts[id]; count < exact || exact < count-k.err {
			t.Fatalf("%v: count %d, error %d, exact %d", id, count, k.err, exact)
		}
	}
	if whole && sum != m.total {
		t.Fatalf("counts add up to %d, want %d", sum, m.total)
	}
	if s.bound() > m.total/uint64(s.capacity) {
		t.Fatalf("bound %d, %d accesses, capacity %d", s.bound(), m.total, s.capacity)
	}
	for id, exact := range m.counts {
		if !tracked[id] && exact > s.bound() {
			t.Fatalf("%v has no counter, was accessed %d times, bound %d", id, exact, s.bound())
		}
	}
}

// drawKey draws from a few keys, low ones more often, of several lengths.
func drawKey(t *rapid.T, keys int) key {
	i := min(rapid.IntRange(0, keys-1).Draw(t, "key"), rapid.IntRange(0, keys-1).Draw(t, "key"))
	return key{strings.Repeat("n", i*i%70) + fmt.Sprint(i), i % 3}
}

// The hashes that callers supply may be poor: all equal, in few values, with
// equal high or low halves. Answers must not depend on it.
var hashes = map[string]func(name string) uint64{
	"mixed": hashName,
	"equal": func(string) uint64 { return 7 },
	"few":   func(name string) uint64 { return hashName(name) % 3 },
	"high":  func(name string) uint64 { return hashName(name) << 32 },
	"low":   func(name string) uint64 { return hashName(name) >> 32 },
}

func TestAgainstExactCounts(t *testing.T) {
	for name, hash := range hashes {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				s := newSummary(rapid.IntRange(1, 80).Draw(t, "capacity"))
				keys := rapid.IntRange(1, 200).Draw(t, "keys")
				m, whole := newModel(), true
				for range rapid.IntRange(1, 40).Draw(t, "rounds") {
					switch rapid.IntRange(0, 12).Draw(t, "step") {
					case 0:
						db := rapid.IntRange(0, 2).Draw(t, "db")
						s.removeDB(db)
						m.removeDB(db)
						whole = false
					case 1:
						s.reset(s.capacity, true)
						m, whole = newModel(), true
					default:
						for range rapid.IntRange(1, 60).Draw(t, "accesses") {
							k := drawKey(t, keys)
							s.add(hashOf(hash(k.name), k.db), []byte(k.name), k.db)
							m.add(k)
						}
					}
					checkSummary(t, s, m, whole)
				}
			})
		})
	}
}

// A long stream, so that counters grow to the full number, buckets come and
// go by the thousand and the index is full of gaps closed.
func TestLongStream(t *testing.T) {
	for _, capacity := range []int{1, 100, 1000, 8000} {
		rng := rand.New(rand.NewPCG(1, uint64(capacity)))
		s, m := newSummary(capacity), newModel()
		for i := range 100_000 {
			u := rng.Float64()
			k := key{fmt.Sprintf("key:%d", int(50_000*u*u*u)), rng.IntN(2)}
			s.addKey(k)
			m.add(k)
			if i%25_000 == 0 {
				checkSummary(t, s, m, true)
			}
		}
		checkSummary(t, s, m, true)
	}
}

func TestRemoveDBKeepsOrder(t *testing.T) {
	s := newSummary(6)
	for i, name := range []string{"a", "b", "c", "d", "e", "f"} {
		s.addKey(key{name, i % 2})
	}
	s.removeDB(1)
	if got, want := s.dump(), "a:1/0 c:1/0 e:1/0"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	// All counters were taken, each key of database 0 that has none may have
	// been seen once before.
	s.addKey(key{"g", 0})
	if got, want := s.dump(), "g:2/1 c:1/0 e:1/0 a:1/0"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	s.removeDB(0)
	if got := s.dump(); got != "" || s.used != 0 {
		t.Fatalf("got %s, %d used", got, s.used)
	}
	if err := s.sane(); err != nil {
		t.Fatal(err)
	}
}

// Names take the buffers of whom they displace.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	s := newSummary(64)
	names := make([][]byte, 1000)
	for i := range names {
		names[i] = fmt.Appendf(nil, "%0*d", 1+i*97%512, i)
	}
	add := func() {
		for i, name := range names {
			s.add(hashOf(scramble(uint64(i)), 0), name, 0)
		}
	}
	for range 20 {
		add()
	}
	if allocs := testing.AllocsPerRun(10, add); allocs != 0 {
		t.Errorf("%v allocations in %d accesses", allocs, len(names))
	}
	if most := int64(64 * (512 + 24)); s.nameBytes > most {
		t.Errorf("%d bytes of names, want at most %d", s.nameBytes, most)
	}
}

// What is not used is given back at the second reset.
func TestResetFreesIdle(t *testing.T) {
	s := newSummary(100)
	for i := range 1000 {
		s.addKey(key{name: fmt.Sprint(i)})
	}
	held := s.memoryBytes()
	s.reset(100, true)
	if s.memoryBytes() != held || s.samples != 0 || s.used != 0 {
		t.Errorf("after a reset: %d bytes, %d samples, %d used; want %d, 0, 0", s.memoryBytes(), s.samples, s.used, held)
	}
	if _, c := s.find(hashOf(hashName("999"), 0), []byte("999"), 0); c != none {
		t.Error("a key is found after a reset")
	}
	s.reset(100, true)
	if s.memoryBytes() != 0 {
		t.Errorf("after a reset without accesses: %d bytes", s.memoryBytes())
	}
	s.addKey(key{name: "a"})
	s.reset(50, true)
	if s.memoryBytes() != 0 || s.capacity != 50 {
		t.Errorf("after a change of capacity: %d bytes, capacity %d", s.memoryBytes(), s.capacity)
	}
}

// The memory said per counter in the text above summary.
func TestMemoryPerCounter(t *testing.T) {
	for _, c := range []struct{ counters, nameBytes, low, high int }{
		{1024, 16, 156, 164}, {8000, 16, 156, 164}, {1024, 512, 666, 698}, {8000, 512, 666, 698},
	} {
		s := newSummary(c.counters)
		name := make([]byte, c.nameBytes)
		for i := range uint64(4 * c.counters) {
			s.add(hashOf(keyOf(name, i), 0), slices.Clone(name), 0)
		}
		if got := s.memoryBytes() / int64(c.counters); got < int64(c.low) || got > int64(c.high) {
			t.Errorf("%d counters, names of %d bytes: %d bytes a counter", c.counters, c.nameBytes, got)
		}
	}
}

// all ranges over the counters in use with their counts, hottest first.
func (s *summary) all() iter.Seq2[*counter, uint64] {
	return func(yield func(*counter, uint64) bool) {
		for _, c := range s.order[:s.used] {
			k := &s.counters[c]
			if !yield(k, s.buckets[k.bucket].count) {
				return
			}
		}
	}
}
