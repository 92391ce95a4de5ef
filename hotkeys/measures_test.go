package hotkeys

import (
	"fmt"
	"math"
	"testing"
	"time"
)

func measured(topK int) Options {
	o := every(topK)
	o.Measures, o.Window = true, 2*time.Second
	return o
}

func (f *fixture) do(k key, op Op, times int) {
	for range times {
		f.Recorder(0).Access(hashName(k.name), []byte(k.name), k.db, op)
	}
}

// command ends a command and charges it if that is wanted.
func (f *fixture) command(in, out int, ns int64) {
	if r := f.Recorder(0); r.Recorded() {
		r.Charge(in, out, ns)
	}
}

// A command's costs are divided among its accesses, however many keys they are of.
func TestCosts(t *testing.T) {
	f := newFixture(t, 1, measured(10))
	a, b := key{"a", 0}, key{"b", 5}
	for range 10 { // a command on two keys, with three accesses
		f.do(a, Read, 1)
		f.do(b, Write, 2)
		f.command(300, 600, 3000)
	}
	f.command(1e6, 1e6, 1e6) // one without keys costs no key anything
	for range 4 {
		f.do(a, Miss, 1)
		f.command(50, 5, 1000)
	}
	f.pass(2 * time.Second)
	r := f.Report(Query{DB: AllDBs})
	if len(r.Entries) != 2 {
		t.Fatalf("%+v", r.Entries)
	}
	for _, e := range r.Entries {
		want := Measures{Samples: 14, Low: 7, High: 7, Certain: true, Reads: 7, Share: 14.0 / 34,
			Known: true, Misses: 2, InBytes: (10*100 + 4*50) / 2, OutBytes: (10*200 + 4*5) / 2, CPU: 7}
		if e.DB == 5 {
			want = Measures{Samples: 20, Low: 10, High: 10, Certain: true, Writes: 10, Share: 20.0 / 34,
				Known: true, InBytes: 20 * 100 / 2, OutBytes: 20 * 200 / 2, CPU: 10}
		}
		if got := r.Measure(e); got != want {
			t.Errorf("%s: got %+v, want %+v", e.Key, got, want)
		}
	}
}

// At a percentage, costs are those of all accesses: what a recorded one costs on average, times their number.
func TestSampledCosts(t *testing.T) {
	o := measured(10)
	o.Percentage = 10
	f := newFixture(t, 1, o)
	k := key{"k", 0}
	for range 100_000 {
		f.do(k, Read, 2)
		f.command(200, 20, 4000)
	}
	f.pass(2 * time.Second)
	r := f.Report(Query{DB: AllDBs})
	e := r.Entries[0]
	m, rate := r.Measure(e), r.Rate(e)
	if rate < 97_000 || rate > 103_000 {
		t.Fatalf("rate %v of 100000", rate)
	}
	if math.Abs(m.InBytes-rate*100) > 1 || m.OutBytes != rate*10 || m.CPU != rate*2 {
		t.Errorf("at %v accesses a second: %+v", rate, m)
	}
}

// Costs are not known if nobody wants them, or if the accesses of a command are too many to wait for its end.
func TestCostsUnknown(t *testing.T) {
	o := measured(10)
	f := newFixture(t, 1, o)
	f.do(key{"k", 0}, Read, 3*commandMax)
	f.command(1<<20, 0, 1000)
	f.pass(2 * time.Second)
	r := f.Report(Query{DB: AllDBs})
	if m := r.Measure(r.Entries[0]); !m.Known || m.Samples != 3*commandMax || m.Misses != 0 || math.Abs(m.InBytes-1<<19) > 1 {
		t.Errorf("a long command: %+v", m)
	}
	if got := cap(f.Recorder(0).batch); got > batchKept {
		t.Errorf("a batch of %d is kept", got)
	}
	o.Measures = false
	f.configure(o)
	f.do(key{"k", 0}, Miss, 1)
	f.command(1, 1, 1)
	f.pass(2 * time.Second)
	r = f.Report(Query{DB: AllDBs})
	if m := r.Measure(r.Entries[0]); m.Known || m.Reads != 0.5 {
		t.Errorf("measures off: %+v", m)
	}
}

// Recording allocates nothing, whether costs are wanted or not, in pipelines of any usual depth.
func TestBatchesAllocateNothing(t *testing.T) {
	for _, measures := range []bool{true, false} {
		o := every(10)
		o.Measures = measures
		f := newFixture(t, 1, o)
		name := []byte("k")
		pipeline := func() {
			for range 200 {
				f.Recorder(0).Access(1, name, 0, Read)
				f.command(10, 10, 10)
			}
			f.Recorder(0).Flush()
		}
		pipeline()
		if n := testing.AllocsPerRun(20, pipeline); n != 0 {
			t.Errorf("measures %v: %v allocations for 200 commands", measures, n)
		}
	}
}

// A key that is only written keeps its counter whatever is read, and the other way round.
func TestRankings(t *testing.T) {
	o := measured(3)
	o.Counters = 3
	f := newFixture(t, 1, o)
	f.do(key{"written", 0}, Write, 5)
	for i := range 50 {
		f.do(key{fmt.Sprint("read", i), 0}, Read, 20)
	}
	f.do(key{"read0", 0}, Write, 3)
	f.pass(2 * time.Second)
	r := f.Report(Query{By: Writes, DB: AllDBs})
	if len(r.Entries) != 2 || string(r.Entries[0].Key) != "written" || r.Entries[0].Count != 5 || r.QPS(r.Entries[0]) != 3 ||
		string(r.Entries[1].Key) != "read0" || r.Samples != 8 {
		t.Errorf("by writes: %+v", r)
	}
	if m := r.Measure(r.Entries[0]); m.Writes != 2.5 || m.Low != 2.5 || m.High != 2.5 || m.Share != 5.0/1008 {
		t.Errorf("written: %+v", m)
	}
	r = f.Report(Query{By: Reads, DB: AllDBs})
	for _, e := range r.Entries {
		if string(e.Key) == "written" || e.Error == 0 {
			t.Errorf("by reads: %+v", e)
		}
	}
	if len(r.Entries) != 3 || r.Floor < 150 {
		t.Errorf("by reads: %+v", r)
	}
}

func TestQuery(t *testing.T) {
	f := newFixture(t, 1, measured(4))
	for i := range 10 {
		f.do(key{fmt.Sprint(i), i % 2}, Read, i+1)
	}
	live := f.Live(Query{DB: AllDBs, Count: 1})
	if live.Duration != 0 {
		t.Errorf("a window that has just begun: %+v", live)
	}
	f.clock += int64(time.Second)
	live = f.Live(Query{DB: AllDBs, Count: 1})
	if len(live.Entries) != 1 || string(live.Entries[0].Key) != "9" || live.QPS(live.Entries[0]) != 10 || live.Samples != 55 {
		t.Errorf("live: %+v", live)
	}
	f.pass(time.Second)
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Query{DB: AllDBs}, "[9 8 7 6]"}, {Query{DB: AllDBs, Count: 2}, "[9 8]"}, {Query{DB: AllDBs, Count: 99}, "[9 8 7 6]"},
		{Query{DB: 0}, "[8 6 4 2]"}, {Query{DB: 1, Count: 1}, "[9]"}, {Query{DB: 7}, "[]"}, {Query{DB: AllDBs, By: Writes}, "[]"},
	} {
		names := []string{}
		for _, e := range f.Report(c.q).Entries {
			names = append(names, string(e.Key))
		}
		if got := fmt.Sprint(names); got != c.want {
			t.Errorf("%+v: %s, want %s", c.q, got, c.want)
		}
	}
	seen := 0
	f.Each(func(*Report, Entry) bool { seen++; return seen < 7 })
	if seen != 7 {
		t.Errorf("Each went on to %d", seen)
	}
}

// Every live window is told of when it ends, and counted.
func TestOnWindow(t *testing.T) {
	f := newFixture(t, 1, measured(4))
	var got []Window
	f.OnWindow(func(w Window) {
		got = append(got, w)
		if r := f.Report(Query{DB: AllDBs}); !w.Discarded && (r.Begin != w.Begin || int64(r.Duration) != w.End-w.Begin) {
			t.Errorf("%+v, report %+v", w, r)
		}
	})
	begin := f.clock
	f.do(key{"a", 0}, Read, 1)
	f.pass(time.Second)
	f.pass(1500 * time.Millisecond)
	f.pass(4 * time.Second)
	f.pass(time.Second)
	f.Reset()
	f.pass(time.Second)
	o := measured(5)
	f.configure(o)
	f.configure(o)
	o.TopK = 0
	f.configure(o)
	ms := int64(time.Millisecond)
	want := []Window{
		{begin, begin + 2500*ms, false}, {begin + 2500*ms, begin + 6500*ms, true},
		{begin + 6500*ms, begin + 7500*ms, true}, {begin + 7500*ms, begin + 8500*ms, true},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if c := f.Counts(); c.Completed != 1 || c.Discarded != 3 {
		t.Errorf("%+v", c)
	}
}

// Certain are keys that are hotter than any which is not tracked, and those that are known exactly.
func TestCertain(t *testing.T) {
	o := measured(10)
	o.Counters = 10
	f := newFixture(t, 1, o)
	f.do(key{"exact", 0}, Read, 40)
	f.do(key{"hot", 0}, Read, 500)
	for i := range 200 {
		f.do(key{fmt.Sprint("noise", i), 0}, Read, 1)
	}
	f.pass(2 * time.Second)
	certain := map[string]bool{}
	r := f.Report(Query{DB: AllDBs})
	for _, e := range r.Entries {
		certain[string(e.Key)] = r.Measure(e).Certain
	}
	if len(certain) != 10 || !certain["exact"] || !certain["hot"] {
		t.Errorf("%v", certain)
	}
	for name, is := range certain {
		if is && name != "exact" && name != "hot" {
			t.Errorf("%s is certain, one of 200 keys accessed once", name)
		}
	}

	o.Percentage, o.Counters = 1, 0
	f.configure(o)
	for i := range 1000 {
		f.do(key{"hot", 0}, Read, 20)
		f.do(key{fmt.Sprint("noise", i), 0}, Read, 3)
	}
	f.pass(2 * time.Second)
	r = f.Report(Query{DB: AllDBs})
	for _, e := range r.Entries {
		if r.Measure(e).Certain != (string(e.Key) == "hot") {
			t.Errorf("%s: %+v, floor %v", e.Key, r.Measure(e), r.Floor)
		}
	}
}

// The floor is what a key without a counter can have had.
func TestFloor(t *testing.T) {
	o := measured(2)
	o.Counters = 2
	f := newFixture(t, 1, o)
	f.do(key{"a", 0}, Read, 10)
	f.pass(2 * time.Second)
	if c := f.Counts(); c.Floor != 0 || c.Tracked != 1 {
		t.Errorf("room left: %+v", c)
	}
	f.do(key{"a", 0}, Read, 10)
	f.do(key{"b", 0}, Read, 3)
	f.do(key{"c", 0}, Read, 1)
	f.pass(2 * time.Second)
	if c := f.Counts(); c.Floor != 2 || c.Tracked != 2 {
		t.Errorf("c displaced b, and b may have had 4 in 2 s: %+v", c)
	}
	o.Percentage = 1
	f.configure(o)
	f.pass(2 * time.Second)
	if _, high := interval(0, 1); f.Counts().Floor != high/2 || high < 300 {
		t.Errorf("nothing recorded at 1 %%: %+v", f.Counts())
	}
}
