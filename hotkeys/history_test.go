package hotkeys

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// reportOf makes a report of every access in a window of a second, with a key
// for each name, the first the hottest.
func reportOf(names ...string) *Report {
	r := &Report{Duration: time.Second, Percentage: 100}
	for i, name := range names {
		db := strings.Count(name, "'") // a, a', a'' are one name in three databases
		count := uint64(10 * (len(names) - i))
		r.Entries = append(r.Entries, Entry{Key: []byte(strings.TrimRight(name, "'")), DB: db, Count: count})
		r.Samples += count
	}
	return r
}

// tell writes windows as "begin: key … | begin: ?", the newest first.
func tell(h *History, count int) string {
	var windows []string
	for w := range h.Recent(count) {
		if w.Discarded {
			windows = append(windows, fmt.Sprintf("%d+%v: ?", w.BeginMs, w.Duration))
			continue
		}
		words := []string{fmt.Sprintf("%d:", w.BeginMs)}
		for k := range w.Keys() {
			words = append(words, string(k.Key)+strings.Repeat("'", k.DB))
		}
		windows = append(windows, strings.Join(words, " "))
	}
	return strings.Join(windows, " | ")
}

func (h *History) expect(t *testing.T, want string) {
	t.Helper()
	h.sane(t)
	if got := tell(h, HistoryLengthMax); got != want {
		t.Fatalf("history is\n%s, want\n%s", got, want)
	}
}

// sane counts uses and bytes anew.
func (h *History) sane(t interface{ Fatalf(string, ...any) }) {
	uses, bytes := make(map[*pastName]int32), int64(0)
	for i := range h.windows {
		for _, e := range h.windows[i].entries {
			uses[e.name]++
		}
		bytes += int64(cap(h.windows[i].entries)) * pastEntryBytes
	}
	for name, n := range uses {
		bytes += name.bytes()
		if name.uses != n {
			t.Fatalf("%q has %d uses, and says %d", name.name, n, name.uses)
		}
	}
	for _, name := range h.latest {
		if uses[name] == 0 {
			t.Fatalf("%q is held and not used", name.name)
		}
	}
	if h.bytes != bytes {
		t.Fatalf("holds %d bytes, and says %d", bytes, h.bytes)
	}
	if len(h.windows) > h.length {
		t.Fatalf("%d windows are kept, %d allowed", len(h.windows), h.length)
	}
}

func TestHistory(t *testing.T) {
	var h History
	h.Add(1, reportOf("a"))
	h.AddDiscarded(2, time.Second)
	h.expect(t, "") // off
	h.SetLength(3)
	h.Add(1, reportOf("a", "b"))
	h.Add(2, reportOf())
	h.Add(3, reportOf("b", "a", "a'"))
	h.expect(t, "3: b a a' | 2: | 1: a b")
	if got := tell(&h, 2); got != "3: b a a' | 2:" {
		t.Errorf("the last two: %s", got)
	}
	if got := tell(&h, 0); got != "" {
		t.Errorf("none: %s", got)
	}
	h.Add(4, reportOf("c"))
	h.expect(t, "4: c | 3: b a a' | 2:")
	h.SetLength(2)
	h.expect(t, "4: c | 3: b a a'")
	h.SetLength(60)
	h.expect(t, "4: c | 3: b a a'")
	h.FlushDB(0)
	h.expect(t, "4: | 3: a'")
	h.Clear()
	h.expect(t, "")
	h.Add(5, reportOf("d"))
	h.expect(t, "5: d")
	h.SetLength(0)
	if h.MemoryBytes() != 0 {
		t.Errorf("%d bytes while off", h.MemoryBytes())
	}
}

// TestHistoryOfDiscardedWindows has what is unknown stay unknown, and not push
// out what is known.
func TestHistoryOfDiscardedWindows(t *testing.T) {
	var h History
	h.SetLength(3)
	h.Add(1, reportOf("a"))
	h.AddDiscarded(2, time.Second)
	h.Add(3, reportOf("b"))
	h.expect(t, "3: b | 2+1s: ? | 1: a")
	for range 10 {
		h.AddDiscarded(4, time.Second)
	}
	h.expect(t, "4+10s: ? | 3: b | 2+1s: ?")
	for w := range h.Recent(1) {
		for k := range w.Keys() {
			t.Errorf("a discarded window has the key %q", k.Key)
		}
	}
}

// TestHistoryRates wants the rates of a report, the band rounded outwards.
func TestHistoryRates(t *testing.T) {
	var h History
	h.SetLength(1)
	h.Add(0, &Report{
		Samples: 1000, Duration: 3 * time.Second, Percentage: 100, Floor: 12.1,
		Entries: []Entry{{Key: []byte("k"), DB: 7, Count: 100, Error: 20, recorded: [sides]band{{70, 10}, {30, 10}}}},
	})
	for w := range h.Recent(1) {
		if w.Samples != 1000 || w.Duration != 3*time.Second || w.Percentage != 100 || w.Floor != 13 || w.Discarded {
			t.Errorf("window %+v", w)
		}
		for k := range w.Keys() {
			want := PastKey{Key: k.Key, DB: 7, QPS: 30, Low: 26, High: 34, Reads: 22, Writes: 8}
			if !reflect.DeepEqual(k, want) {
				t.Errorf("key %+v, want %+v", k, want)
			}
		}
	}
	for rate, want := range map[float64]int32{0.4: 0, 0.5: 1, 1e6: 1e6, 3e9: math.MaxInt32, math.Inf(1): math.MaxInt32} {
		if got := pastRate(rate); got != want {
			t.Errorf("a rate of %v is kept as %d, want %d", rate, got, want)
		}
	}
}

// TestHistorySharesNames wants a key that stays hot to have one name, also
// across a window that was discarded, and another once it was away.
func TestHistorySharesNames(t *testing.T) {
	var h History
	h.SetLength(100)
	names := func() int {
		seen := make(map[*pastName]bool)
		for i := range h.windows {
			for _, e := range h.windows[i].entries {
				seen[e.name] = true
			}
		}
		return len(seen)
	}
	h.Add(1, reportOf("a", "b", "a'"))
	h.Add(2, reportOf("b", "a"))
	h.AddDiscarded(3, time.Second)
	h.Add(4, reportOf("a", "b"))
	if n := names(); n != 3 {
		t.Errorf("%d names, want 3", n)
	}
	h.Add(5, reportOf("b", "a'"))
	if n := names(); n != 4 {
		t.Errorf("%d names, want 4: one was away for a while", n)
	}
	h.sane(t)
}

// TestHistoryOwnsItsNames writes over the report that it was given.
func TestHistoryOwnsItsNames(t *testing.T) {
	var h History
	h.SetLength(2)
	r := reportOf("name")
	h.Add(1, r)
	copy(r.Entries[0].Key, "XXXX")
	h.Add(2, reportOf("name"))
	h.expect(t, "2: name | 1: name")
}

// TestHistoryMemory holds the figures of the type's comment and the limit.
func TestHistoryMemory(t *testing.T) {
	fill := func(windows, keys int, name func(window, key int) []byte) *History {
		h := new(History)
		h.SetLength(HistoryLengthMax)
		r := &Report{Duration: time.Second, Percentage: 100}
		for w := range windows {
			r.Entries = r.Entries[:0]
			for k := range keys {
				r.Entries = append(r.Entries, Entry{Key: name(w, k), Count: 1})
			}
			h.Add(int64(w), r)
			if h.MemoryBytes() > historyBytesMax {
				t.Fatalf("%d bytes after %d windows", h.MemoryBytes(), w+1)
			}
		}
		h.sane(t)
		return h
	}
	same := func(_, key int) []byte { return fmt.Appendf(nil, "key:%012d", key) }
	other := func(window, key int) []byte { return fmt.Appendf(nil, "key:%06d%06d", window, key) }
	long := func(window, key int) []byte {
		return append(fmt.Appendf(nil, "%d:%d", window, key), make([]byte, 1<<20-16)...)
	}
	if kib := fill(60, 16, same).MemoryBytes() >> 10; kib < 34 || kib > 40 {
		t.Errorf("16 keys in 60 windows take %d KiB", kib)
	}
	if kib := fill(60, 16, other).MemoryBytes() >> 10; kib < 75 || kib > 87 {
		t.Errorf("16 new keys in each of 60 windows take %d KiB", kib)
	}
	windows := func(name func(window, key int) []byte) int64 {
		return historyBytesMax / ((fill(60, 1000, name).MemoryBytes() - fill(10, 1000, name).MemoryBytes()) / 50)
	}
	if n := windows(same); n < 2000 || n >= 2200 {
		t.Errorf("%d windows of 1,000 keys fit", n)
	}
	if n := windows(other); n < 800 || n >= 1000 {
		t.Errorf("%d windows of 1,000 new keys fit", n)
	}
	if n := len(fill(6, 16, long).windows); n != 3 {
		t.Errorf("%d windows of 16 names of 1 MiB fit, want 3", n)
	}
}

// modelWindow is a window of the naive history: all in plain values.
type modelWindow struct {
	begin     int64
	discarded time.Duration
	keys      []string
}

func (w modelWindow) String() string {
	if w.discarded > 0 {
		return fmt.Sprintf("%d+%v: ?", w.begin, w.discarded)
	}
	return strings.Join(append([]string{fmt.Sprintf("%d:", w.begin)}, w.keys...), " ")
}

// TestHistoryAgainstModel does random things to a history and to a list.
func TestHistoryAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h History
		var model []modelWindow
		length, begin := 0, int64(0)
		name := rapid.SampledFrom([]string{"a", "b", "c", "a'", "b'", "a''", "", "'"})
		trim := func() { model = model[max(len(model)-length, 0):] }
		t.Repeat(map[string]func(*rapid.T){
			"length": func(t *rapid.T) {
				length = rapid.IntRange(0, 8).Draw(t, "length")
				h.SetLength(length)
				trim()
			},
			"completed": func(t *rapid.T) {
				begin++
				keys := rapid.SliceOfNDistinct(name, 0, 5, rapid.ID[string]).Draw(t, "keys")
				h.Add(begin, reportOf(keys...))
				model = append(model, modelWindow{begin: begin, keys: keys})
				trim()
			},
			"discarded": func(t *rapid.T) {
				begin++
				h.AddDiscarded(begin, time.Second)
				if n := len(model); n > 0 && model[n-1].discarded > 0 {
					model[n-1].discarded += time.Second
				} else {
					model = append(model, modelWindow{begin: begin, discarded: time.Second})
				}
				trim()
			},
			"flush": func(t *rapid.T) {
				db := rapid.IntRange(0, 2).Draw(t, "db")
				h.FlushDB(db)
				for i := range model {
					model[i].keys = slices.DeleteFunc(slices.Clone(model[i].keys), func(k string) bool {
						return strings.Count(k, "'") == db
					})
				}
			},
			"clear": func(t *rapid.T) {
				h.Clear()
				model = nil
			},
			"": func(t *rapid.T) {
				h.sane(t)
				var want []string
				for _, w := range slices.Backward(model) {
					want = append(want, w.String())
				}
				if got := tell(&h, HistoryLengthMax); got != strings.Join(want, " | ") {
					t.Fatalf("history is\n%s, want\n%s", got, strings.Join(want, " | "))
				}
				if len(h.windows) == 0 && h.bytes != 0 {
					t.Fatalf("an empty history holds %d bytes", h.bytes)
				}
			},
		})
	})
}

// BenchmarkHistoryAdd is what a window adds to the report that it needs anyway.
func BenchmarkHistoryAdd(b *testing.B) {
	for _, keys := range []int{16, 1000} {
		r := &Report{Duration: time.Second, Percentage: 1}
		for i := range keys {
			r.Entries = append(r.Entries, Entry{Key: fmt.Appendf(nil, "key:%012d", i), Count: uint64(keys - i)})
		}
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			var h History
			h.SetLength(60)
			for b.Loop() {
				h.Add(0, r)
			}
		})
	}
}
