package hotkeys

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// fixture is a tracker with a clock that stands until it is moved.
type fixture struct {
	testing.TB
	*Tracker
	clock int64
}

// length is the window of most tests; not a whole number of seconds, so that
// rounding shows.
const length = 1_500_000_001 * time.Nanosecond

func newFixture(t testing.TB, recorders int, o Options) *fixture {
	f := &fixture{TB: t, clock: 12_345}
	f.Tracker = New(recorders, func() int64 { return f.clock }, 1)
	f.configure(o)
	return f
}

func every(topK int) Options {
	return Options{TopK: topK, Percentage: 100, Window: length}
}

func (f *fixture) configure(o Options) {
	f.Helper()
	if err := f.Configure(o); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) access(recorder int, k key, times int) {
	for range times {
		f.Recorder(recorder).Access(hashName(k.name), []byte(k.name), k.db, Read)
	}
}

// pass moves the clock and rotates.
func (f *fixture) pass(d time.Duration) {
	f.clock += int64(d)
	f.Rotate()
}

// expect compares the report with "name/db:count/error ...", hottest first;
// /db is left out for 0.
func (f *fixture) expect(samples uint64, duration time.Duration, entries string) {
	f.Helper()
	r := f.Report(Query{DB: AllDBs})
	var got []string
	for _, e := range r.Entries {
		name := string(e.Key)
		if e.DB != 0 {
			name += fmt.Sprintf("/%d", e.DB)
		}
		got = append(got, fmt.Sprintf("%s:%d/%d", name, e.Count, e.Error))
	}
	if r.Samples != samples || r.Duration != duration || strings.Join(got, " ") != entries {
		f.Fatalf("got %d samples, %v, %v; want %d, %v, %s", r.Samples, r.Duration, got, samples, duration, entries)
	}
	if s, d := f.LastWindow(); s != samples || d != duration {
		f.Fatalf("LastWindow: got %d samples, %v; want %d, %v", s, d, samples, duration)
	}
}

func TestValidate(t *testing.T) {
	good := Options{TopK: 16, Percentage: 1, Window: time.Second}
	for _, c := range []struct {
		change func(*Options)
		want   string
	}{
		{func(o *Options) {}, ""},
		{func(o *Options) { o.TopK = 0 }, ""},
		{func(o *Options) { o.TopK = 1000 }, ""},
		{func(o *Options) { o.TopK = -1 }, "hotkeys: TopK -1, allowed 0 to 1000"},
		{func(o *Options) { o.TopK = 1001 }, "hotkeys: TopK 1001, allowed 0 to 1000"},
		{func(o *Options) { o.Percentage = 100 }, ""},
		{func(o *Options) { o.Percentage = 0 }, "hotkeys: Percentage 0, allowed 1 to 100"},
		{func(o *Options) { o.Percentage = 101 }, "hotkeys: Percentage 101, allowed 1 to 100"},
		{func(o *Options) { o.Window = 300 * time.Second }, ""},
		{func(o *Options) { o.Window = time.Second - 1 }, "hotkeys: Window 999.999999ms, allowed 1s to 5m0s"},
		{func(o *Options) { o.Window = 301 * time.Second }, "hotkeys: Window 5m1s, allowed 1s to 5m0s"},
		{func(o *Options) { o.Counters = 16 }, ""},
		{func(o *Options) { o.Counters = 65536 }, ""},
		{func(o *Options) { o.Counters = 15 }, "hotkeys: Counters 15, allowed 0 or 16 to 65536"},
		{func(o *Options) { o.Counters = 65537 }, "hotkeys: Counters 65537, allowed 0 or 16 to 65536"},
		{func(o *Options) { o.TopK, o.Counters = 0, -1 }, "hotkeys: Counters -1, allowed 0 or 1 to 65536"},
	} {
		o := good
		c.change(&o)
		err := o.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%+v: got %v, want %q", o, err, c.want)
		}
	}
}

func TestAutomaticCounters(t *testing.T) {
	for _, c := range []struct{ topK, counters, want int }{
		{1, 0, 1024}, {128, 0, 1024}, {129, 0, 1032}, {1000, 0, 8000}, {16, 16, 16}, {16, 65536, 65536},
	} {
		if got := (Options{TopK: c.topK, Counters: c.counters}).counters(); got != c.want {
			t.Errorf("TopK %d, Counters %d: %d counters, want %d", c.topK, c.counters, got, c.want)
		}
	}
}

func TestNewIsOff(t *testing.T) {
	tr := New(3, func() int64 { t.Error("the clock is read"); return 0 }, 1)
	if o := tr.Options(); o != (Options{Percentage: 1, Window: time.Second}) {
		t.Errorf("options %+v", o)
	}
	tr.Rotate()
	tr.Reset()
	tr.FlushDB(0)
	r := tr.Report(Query{DB: AllDBs})
	if tr.Recorder(2) != nil || tr.NextRotation() != 0 || tr.MemoryBytes() != 0 || r.Duration != 0 || r.Entries != nil {
		t.Errorf("recorder %v, next %d, %d bytes, report %+v", tr.Recorder(2), tr.NextRotation(), tr.MemoryBytes(), r)
	}
}

// With as many counters as keys reported, answers are those of the original.
func TestReferenceAnswers(t *testing.T) {
	for _, c := range []struct {
		topK    int
		stream  string
		samples uint64
		want    string
	}{
		{3, "X X Y Y Y Z Z Z B", 9, "Y:3/0 Z:3/0 B:3/2"},
		{2, "A5 B3 C", 9, "A:5/0 C:4/3"},
		{1, "A1000 B", 1001, "B:1001/1000"},
		{5, "a123 d99 e87 b45 c42 c6 f", 403, "a:123/0 d:99/0 e:87/0 c:48/0 f:46/45"},
	} {
		o := every(c.topK)
		o.Counters = c.topK
		f := newFixture(t, 1, o)
		for _, k := range run(c.stream) {
			f.access(0, k, 1)
		}
		f.pass(length)
		f.expect(c.samples, length, c.want)
	}

	// With the counters it has by itself, the one hot key is found.
	f := newFixture(t, 1, every(1))
	f.access(0, key{"A", 0}, 1000)
	f.access(0, key{"B", 0}, 1)
	f.pass(length)
	f.expect(1001, length, "A:1000/0")
}

// The middle of the band, over the measured time, as if all were recorded.
func TestRates(t *testing.T) {
	for _, c := range []struct {
		count, err uint64
		percentage int
		duration   time.Duration
		rate       float64
		qps        int64
	}{
		{5, 0, 100, time.Second, 5, 5},
		{4, 3, 100, time.Second, 2.5, 3},
		{1001, 1000, 100, time.Second, 501, 501},
		{4, 3, 1, time.Second, 250, 250},
		{10, 0, 10, 2 * time.Second, 50, 50},
		{2, 0, 100, 1400 * time.Millisecond, 2 / 1.4, 1},
		{1, 0, 100, 3 * time.Second, 1.0 / 3, 0},
		{1, 0, 100, 2 * time.Second, 0.5, 1},
	} {
		r := Report{Percentage: c.percentage, Duration: c.duration}
		e := Entry{Count: c.count, Error: c.err}
		if r.Rate(e) != c.rate || r.QPS(e) != c.qps {
			t.Errorf("%+v: rate %v, qps %d", c, r.Rate(e), r.QPS(e))
		}
	}
}

// Keys whose rates round to the same number are still in order, and equal ones
// are in order of name, then database.
func TestOrder(t *testing.T) {
	o := every(10)
	o.Window = 300 * time.Second
	f := newFixture(t, 1, o)
	for i, k := range []key{{"b", 1}, {"b", 0}, {"a", 2}, {"aa", 0}, {"", 5}, {"c", 0}, {"d", 0}} {
		f.access(0, k, []int{3, 3, 3, 3, 3, 4, 5}[i])
	}
	f.pass(o.Window)
	f.expect(24, o.Window, "d:5/0 c:4/0 /5:3/0 a/2:3/0 aa:3/0 b:3/0 b/1:3/0")
}

func TestWindowBoundaries(t *testing.T) {
	f := newFixture(t, 1, every(10))
	begin := f.clock
	if got := f.NextRotation(); got != begin+int64(length) {
		t.Fatalf("next rotation %d, want %d", got, begin+int64(length))
	}
	f.access(0, key{"a", 0}, 1)
	f.pass(length - 1)
	f.expect(0, 0, "")
	f.access(0, key{"b", 0}, 1)
	f.pass(1)
	f.expect(2, length, "a:1/0 b:1/0")
	if got := f.NextRotation(); got != f.clock+int64(length) {
		t.Fatalf("next rotation %d, want %d", got, f.clock+int64(length))
	}

	// The last nanosecond at which a window is still what it claims to be.
	f.access(0, key{"c", 0}, 3)
	f.pass(2*length - 1)
	f.expect(3, 2*length-1, "c:3/0")
}

func TestStallDiscardsBothWindows(t *testing.T) {
	for _, late := range []time.Duration{0, 1, 1000 * length} {
		f := newFixture(t, 2, every(10))
		f.access(0, key{"a", 0}, 1)
		f.pass(length)
		f.expect(1, length, "a:1/0")
		f.access(1, key{"b", 0}, 1)
		f.pass(2*length + late)
		f.expect(0, 0, "")

		// The next window begins at the discovery, and is sampled as before.
		f.pass(length - 1)
		f.expect(0, 0, "")
		f.access(0, key{"c", 0}, 7)
		f.pass(1)
		f.expect(7, length, "c:7/0")
	}
}

// A window runs from when it really began, not from a grid.
func TestLateRotationDoesNotShortenTheNext(t *testing.T) {
	const l = 10 * time.Second
	o := every(10)
	o.Window = l
	f := newFixture(t, 1, o)
	f.access(0, key{"a", 0}, 1)
	f.pass(l * 14 / 10)
	f.expect(1, l*14/10, "a:1/0")
	f.access(0, key{"b", 0}, 1)
	f.pass(l * 6 / 10)
	f.expect(1, l*14/10, "a:1/0")
	f.pass(l * 4 / 10)
	f.expect(1, l, "b:1/0")

	f.access(0, key{"c", 0}, 1)
	f.pass(l * 199 / 100)
	f.expect(1, l*199/100, "c:1/0")
	f.pass(l * 200 / 100)
	f.expect(0, 0, "")
}

func TestWindowWithoutTrafficFreezesEmpty(t *testing.T) {
	f := newFixture(t, 1, every(10))
	f.access(0, key{"a", 0}, 1)
	f.pass(length)
	f.expect(1, length, "a:1/0")
	f.pass(length + 5)
	f.expect(0, length+5, "")
}

func TestReportOwnsItsMemory(t *testing.T) {
	f := newFixture(t, 1, every(2))
	f.access(0, key{"aaaa", 0}, 2)
	f.access(0, key{"b", 0}, 1)
	f.pass(length)
	r := f.Report(Query{DB: AllDBs})
	f.pass(length)
	f.access(0, key{"cccc", 0}, 2)
	f.pass(length)
	_ = append(r.Entries[0].Key, 'x')
	if string(r.Entries[0].Key) != "aaaa" || string(r.Entries[1].Key) != "b" {
		t.Errorf("entries %+v", r.Entries)
	}
}

func TestChangesRestartTheLiveWindow(t *testing.T) {
	changes := map[string]func(*Options){
		"TopK":       func(o *Options) { o.TopK = 9 },
		"Percentage": func(o *Options) { o.Percentage = 10 },
		"Window":     func(o *Options) { o.Window = length + 1 },
		"Counters":   func(o *Options) { o.Counters = 1024 },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			o := every(10)
			f := newFixture(t, 2, o)
			f.access(0, key{"a", 0}, 5)
			f.pass(length)
			f.access(0, key{"b", 0}, 5)
			f.access(1, key{"b", 0}, 5)
			f.pass(length / 2)
			change(&o)
			f.configure(o)
			if f.Options() != o {
				t.Fatalf("options %+v, want %+v", f.Options(), o)
			}
			f.expect(5, length, "a:5/0")

			// A whole window from now on, in which b was never seen.
			f.pass(o.Window - 1)
			f.expect(5, length, "a:5/0")
			f.pass(1)
			f.expect(0, o.Window, "")
		})
	}
}

func TestNoChangeLeavesTheWindows(t *testing.T) {
	f := newFixture(t, 1, every(10))
	f.access(0, key{"a", 0}, 5)
	f.pass(length)
	f.access(0, key{"b", 0}, 5)
	f.pass(length - 1)
	f.configure(every(10))
	bad := every(10)
	bad.Percentage = 101
	if f.Configure(bad) == nil || f.Options() != every(10) {
		t.Fatalf("options %+v after an error", f.Options())
	}
	f.expect(5, length, "a:5/0")
	f.pass(1)
	f.expect(5, length, "b:5/0")
}

// The frozen window keeps the percentage it was sampled under.
func TestPercentageDoesNotRescale(t *testing.T) {
	o := every(10)
	o.Percentage = 10
	f := newFixture(t, 1, o)
	f.access(0, key{"k", 0}, 20_000)
	f.pass(length)
	before := f.Report(Query{DB: AllDBs})
	if qps := before.QPS(before.Entries[0]); qps < 12_000 || qps > 15_000 {
		t.Fatalf("qps %d, about 13333 accesses a second", qps)
	}
	f.configure(every(10))
	after := f.Report(Query{DB: AllDBs})
	if after.Percentage != 10 || after.QPS(after.Entries[0]) != before.QPS(before.Entries[0]) {
		t.Fatalf("report %+v became %+v", before, after)
	}
	f.access(0, key{"k", 0}, 20_000)
	f.pass(length)
	r := f.Report(Query{DB: AllDBs})
	if r.Percentage != 100 || r.Samples != 20_000 || r.QPS(r.Entries[0]) != 13_333 {
		t.Fatalf("report %+v", r)
	}
}

func TestTopKCutsAndGrows(t *testing.T) {
	f := newFixture(t, 2, every(4))
	for i := 1; i <= 8; i++ {
		f.access(i%2, key{fmt.Sprint("k", i), 0}, 100*i)
	}
	f.pass(length)
	f.expect(3600, length, "k8:800/0 k7:700/0 k6:600/0 k5:500/0")
	f.configure(every(3))
	f.expect(3600, length, "k8:800/0 k7:700/0 k6:600/0")
	f.configure(every(1000))
	f.expect(3600, length, "k8:800/0 k7:700/0 k6:600/0 k5:500/0 k4:400/0 k3:300/0 k2:200/0 k1:100/0")
	// The next window has the new number of counters.
	for i := range 8000 {
		f.access(0, key{fmt.Sprint(i), 0}, 1)
	}
	f.pass(length)
	if r := f.Report(Query{DB: AllDBs}); len(r.Entries) != 1000 || r.Entries[999].Error != 0 {
		t.Fatalf("%d entries, last %+v", len(r.Entries), r.Entries[len(r.Entries)-1])
	}
}

func TestOffFreesEverything(t *testing.T) {
	f := newFixture(t, 2, every(16))
	f.access(0, key{"a", 0}, 5)
	f.pass(length)
	f.expect(5, length, "a:5/0")
	stale := f.Recorder(0)
	off := every(0)
	f.configure(off)
	f.expect(0, 0, "")
	if f.MemoryBytes() != 0 || f.Recorder(0) != nil || f.NextRotation() != 0 {
		t.Fatalf("off: %d bytes, recorder %v, next rotation %d", f.MemoryBytes(), f.Recorder(0), f.NextRotation())
	}
	// Whoever still has a recorder does no harm.
	for range 1000 {
		stale.Access(1, []byte("late"), 0, Read)
	}
	f.pass(length)
	f.configure(every(16))
	f.expect(0, 0, "")
	f.access(1, key{"b", 0}, 1)
	f.pass(length)
	f.expect(1, length, "b:1/0")
}

func TestReset(t *testing.T) {
	f := newFixture(t, 2, every(16))
	f.access(0, key{"lost", 0}, 1)
	f.Reset()
	f.access(0, key{"a", 0}, 5)
	f.pass(length)
	f.expect(5, length, "a:5/0")
	f.access(1, key{"b", 0}, 5)
	f.pass(length - 1)
	f.Reset()
	f.expect(0, 0, "")
	f.pass(length - 1)
	f.expect(0, 0, "")
	f.pass(1)
	f.expect(0, length, "")
}

func TestFlushDB(t *testing.T) {
	f := newFixture(t, 2, every(16))
	window := func() {
		f.access(0, key{"x", 0}, 3)
		f.access(0, key{"x", 2}, 4)
		f.access(1, key{"x", 2}, 4)
		f.access(1, key{"y", 2}, 1)
	}
	window()
	f.pass(length)
	window()
	f.expect(12, length, "x/2:8/0 x:3/0 y/2:1/0")
	f.FlushDB(2)
	f.expect(12, length, "x:3/0")
	f.FlushDB(1)
	f.expect(12, length, "x:3/0")

	// What was flushed does not come back with the live window, and what came
	// after the flush stays.
	f.access(1, key{"y", 2}, 1)
	f.pass(length)
	f.expect(13, length, "x:3/0 y/2:1/0")
	f.FlushDB(0)
	f.FlushDB(2)
	f.expect(13, length, "")
}

func TestNameClasses(t *testing.T) {
	o := every(10)
	o.Counters = 10
	f := newFixture(t, 1, o)
	lengths := []int{1 << 10, 1<<10 + 1, 1 << 14, 1<<14 + 1, 1 << 20, 1<<20 + 1}
	for i, n := range lengths {
		f.access(0, key{strings.Repeat("n", n), 0}, 10-i)
	}
	f.pass(length)
	r := f.Report(Query{DB: AllDBs})
	if r.Samples != 45 || len(r.Entries) != 5 {
		t.Fatalf("%d samples, %d entries", r.Samples, len(r.Entries))
	}
	for i, e := range r.Entries {
		if len(e.Key) != lengths[i] || e.Count != uint64(10-i) || e.Error != 0 {
			t.Errorf("entry %d: name of %d bytes, count %d, error %d", i, len(e.Key), e.Count, e.Error)
		}
	}

	// Keys with long names displace each other, and nothing else.
	o.TopK, o.Counters = 1, 1
	f.configure(o)
	f.access(0, key{"small", 0}, 100)
	f.access(0, key{strings.Repeat("n", 5000), 0}, 3)
	f.access(0, key{strings.Repeat("m", 5000), 0}, 3)
	f.pass(length)
	f.expect(106, length, "small:100/0")
	for side, classes := range f.frozen.tallies[0].classes {
		for class, s := range classes {
			if err := s.sane(); err != nil {
				t.Errorf("side %d, class %d: %v", side, class, err)
			}
		}
	}
}

// live is the heap in use. What was freed just before may take a collection
// more to go.
func live() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// MemoryBytes is what the heap grows by, for many long names as for a few
// short ones, and all of it goes back.
func TestMemory(t *testing.T) {
	before := live()
	f := newFixture(t, 2, every(1000))
	if got := f.MemoryBytes(); got > 8192 {
		t.Errorf("%d bytes without traffic", got)
	}
	f.access(0, key{"a", 0}, 1)
	if got := f.MemoryBytes(); got > 16<<10 {
		t.Errorf("%d bytes for one key", got)
	}

	name := bytes.Repeat([]byte("n"), 10_000)
	for range 2 {
		for i := range uint64(1000) {
			f.Recorder(1).Access(keyOf(name, i), name, 0, Read)
			f.Recorder(1).Flush()
		}
		f.pass(length)
	}
	if r := f.Report(Query{DB: AllDBs}); len(r.Entries) != 1000 || len(r.Entries[999].Key) != 10_000 {
		t.Fatalf("%d entries", len(r.Entries))
	}
	said, grown := f.MemoryBytes(), live()-before
	if d := said - grown; d > grown/10 || d < -grown/10 {
		t.Errorf("MemoryBytes %d, the heap grew by %d", said, grown)
	}

	// Nobody uses long names any more: in two windows their memory is back.
	for range 3 {
		f.access(0, key{"a", 0}, 1)
		f.pass(length)
	}
	if got := f.MemoryBytes(); got > 512<<10 {
		t.Errorf("%d bytes, long after the long names", got)
	}

	f.configure(every(0))
	if got := f.MemoryBytes(); got != 0 {
		t.Errorf("%d bytes when off", got)
	}
	if grown := live() - before; grown > 64<<10 {
		t.Errorf("the heap is %d bytes larger than before", grown)
	}
	runtime.KeepAlive(f)
}

func TestRotationDoesNotAllocate(t *testing.T) {
	f := newFixture(t, 2, every(16))
	names := make([]string, 3000)
	for i := range names {
		names[i] = fmt.Sprintf("key:%010d", i)
	}
	buf := make([]byte, 0, 64)
	window := func() {
		for i, name := range names {
			buf = append(buf[:0], name...)
			f.Recorder(i%2).Access(hashName(name), buf, 0, Read)
			f.Recorder(i % 2).Flush()
		}
		f.pass(length)
	}
	window()
	window()
	if allocs := testing.AllocsPerRun(10, window); allocs != 0 {
		t.Errorf("%v allocations in a window", allocs)
	}
}

// Any mixture of accesses on several recorders, flushes and rotations, compared
// with exact counts: the bounds of the merge.
func TestMergeAgainstExactCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		recorders := rapid.IntRange(1, 5).Draw(t, "recorders")
		counters := rapid.IntRange(1, 30).Draw(t, "counters")
		clock := int64(0)
		tr := New(recorders, func() int64 { return clock }, 1)
		o := Options{TopK: counters, Percentage: 100, Window: time.Second, Counters: counters}
		if err := tr.Configure(o); err != nil {
			t.Fatal(err)
		}
		keys := rapid.IntRange(1, 100).Draw(t, "keys")
		for range rapid.IntRange(1, 3).Draw(t, "windows") {
			m := newModel()
			for range rapid.IntRange(0, 20).Draw(t, "rounds") {
				if rapid.IntRange(0, 15).Draw(t, "step") == 0 {
					db := rapid.IntRange(0, 2).Draw(t, "db")
					tr.FlushDB(db)
					m.removeDB(db)
				}
				r := tr.Recorder(rapid.IntRange(0, recorders-1).Draw(t, "recorder"))
				for range rapid.IntRange(1, 60).Draw(t, "accesses") {
					k := drawKey(t, keys)
					op := rapid.SampledFrom([]Op{Read, Miss, Write}).Draw(t, "op")
					r.Access(hashName(k.name), []byte(k.name), k.db, op)
					m.add(k)
				}
			}
			clock += int64(time.Second)
			tr.Rotate()
			checkReport(t, tr, m, counters)
			if db := rapid.IntRange(-9, 2).Draw(t, "flush"); db >= 0 {
				tr.FlushDB(db)
				m.removeDB(db)
				checkReport(t, tr, m, counters)
			}
		}
	})
}

func checkReport(t *rapid.T, tr *Tracker, m *model, counters int) {
	r := tr.Report(Query{DB: AllDBs})
	if r.Samples != m.total || len(r.Entries) > counters {
		t.Fatalf("%d samples, %d entries; want %d, at most %d", r.Samples, len(r.Entries), m.total, counters)
	}
	most := m.total / uint64(counters)
	listed := make(map[key]bool)
	for _, e := range r.Entries {
		k := key{string(e.Key), e.DB}
		listed[k] = true
		exact, isKnown := m.counts[k]
		if !isKnown || e.Count < exact || exact < e.Count-e.Error || e.Error > most {
			t.Fatalf("%v: count %d, error %d, exact %d, N/m %d", k, e.Count, e.Error, exact, most)
		}
	}
	if len(listed) != len(r.Entries) {
		t.Fatalf("%d entries, %d keys", len(r.Entries), len(listed))
	}
	for k, exact := range m.counts {
		if exact > most && !listed[k] {
			t.Fatalf("%v is not listed, was accessed %d times of %d", k, exact, m.total)
		}
	}
	if !slices.IsSortedFunc(r.Entries, func(a, b Entry) int {
		return compareHeat(
			ranked{&candidate{key: named(a.Key, a.DB)}, 2*a.Count - a.Error},
			ranked{&candidate{key: named(b.Key, b.DB)}, 2*b.Count - b.Error})
	}) {
		t.Fatalf("entries out of order: %+v", r.Entries)
	}
}

// When one recorder has all the traffic, the report is its summary.
func TestMergeOfOneIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counters := rapid.IntRange(1, 20).Draw(t, "counters")
		clock := int64(0)
		tr := New(4, func() int64 { return clock }, 1)
		o := Options{TopK: counters, Percentage: 100, Window: time.Second, Counters: counters}
		if err := tr.Configure(o); err != nil {
			t.Fatal(err)
		}
		s := newSummary(counters)
		for range rapid.IntRange(0, 300).Draw(t, "accesses") {
			k := drawKey(t, 40)
			tr.Recorder(2).Access(hashName(k.name), []byte(k.name), k.db, Read)
			s.addKey(k)
		}
		clock += int64(time.Second)
		tr.Rotate()
		want := make(map[key][2]uint64)
		for k, count := range s.all() {
			want[key{string(k.name()), int(k.db)}] = [2]uint64{count, k.err}
		}
		r := tr.Report(Query{DB: AllDBs})
		for _, e := range r.Entries {
			if want[key{string(e.Key), e.DB}] != [2]uint64{e.Count, e.Error} {
				t.Fatalf("entry %+v, want count and error %v", e, want[key{string(e.Key), e.DB}])
			}
		}
		if len(r.Entries) != len(want) {
			t.Fatalf("%d entries, want %d", len(r.Entries), len(want))
		}
	})
}

// hottest and largest choose what sorting would.
func TestSelection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := frozen{options: every(1)}
		f.merged = make([]candidate, rapid.IntRange(0, 100).Draw(t, "candidates"))
		for i := range f.merged {
			c := &f.merged[i]
			count := uint64(rapid.IntRange(1, 10).Draw(t, "count"))
			c.key = named(fmt.Append(nil, i), 0)
			c.recorded[reads] = band{count, count / 2}
			c.setMost(f.options.Percentage)
		}
		n := rapid.IntRange(1, 110).Draw(t, "n")
		largest(f.merged, n)
		var sorted []ranked
		var kept, all []uint64
		for i := range f.merged {
			c := &f.merged[i]
			sorted = append(sorted, ranked{c, c.heat(Reads, 100)})
			all = append(all, c.most)
			if c.kept {
				kept = append(kept, c.most)
			}
		}
		slices.SortFunc(sorted, compareHeat)
		if got := f.hottest(Query{By: Reads, DB: AllDBs, Count: n}); !slices.Equal(got, sorted[:min(n, len(sorted))]) {
			t.Fatalf("hottest %d: got %v, want %v", n, got, sorted)
		}
		slices.Sort(all)
		slices.Sort(kept)
		if want := all[max(0, len(all)-n):]; !slices.Equal(kept, want) {
			t.Fatalf("largest %d: kept %v, want %v", n, kept, want)
		}
	})
}

// Sixteen goroutines record at once, each on its own recorder, and stop for
// every rotation, as a server's event loops do.
func TestConcurrentRecorders(t *testing.T) {
	const recorders, accesses = 16, 4000
	o := every(8)
	o.Counters = 64
	f := newFixture(t, recorders, o)
	for range 3 {
		var group sync.WaitGroup
		for i := range recorders {
			group.Go(func() {
				for n := range uint64(accesses) {
					name := make([]byte, 8) // it must stay until Flush
					key := scramble(n+uint64(i)<<32) % 500
					if n%4 == 0 {
						key = n / 4 % 4 // 1/16 of all accesses each
					}
					f.Recorder(i).Access(keyOf(name, key), name, 0, Read)
				}
				f.Recorder(i).Flush()
			})
		}
		group.Wait()
		f.pass(length)
		r := f.Report(Query{DB: AllDBs})
		if r.Samples != recorders*accesses || len(r.Entries) != 8 {
			t.Fatalf("%d samples, %d entries", r.Samples, len(r.Entries))
		}
		for _, e := range r.Entries[:4] {
			least, most := uint64(recorders*accesses/16), uint64(recorders*accesses/16+2*recorders*accesses/500)
			if e.Key[0] > 3 || e.Count < least || e.Count-e.Error > most {
				t.Errorf("entry %v, want a count between %d and %d", e, least, most)
			}
		}
	}
}

// A node with no hot key must not look as if it had some: the samples tell
// noise, as any estimate below samples/TopK can be.
func TestUniformTrafficIsNoise(t *testing.T) {
	o := every(16)
	o.Counters = 16
	f := newFixture(t, 1, o)
	name := make([]byte, 8)
	for i := range uint64(2000) {
		f.Recorder(0).Access(keyOf(name, i), name, 0, Read)
		f.Recorder(0).Flush()
	}
	f.pass(length)
	r := f.Report(Query{DB: AllDBs})
	if len(r.Entries) != 16 {
		t.Fatalf("%d entries", len(r.Entries))
	}
	for _, e := range r.Entries {
		if estimate := float64(e.Count) - float64(e.Error)/2; estimate >= float64(r.Samples)/16 || e.Count-e.Error != 1 {
			t.Errorf("entry %+v", e)
		}
	}
}
