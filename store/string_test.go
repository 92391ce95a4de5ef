package store

import (
	"math"
	"strings"
	"testing"
	"time"

	"kvserver/hotkeys"
)

// testNow is the Unix time in ms at which tests begin.
const testNow = 1_700_000_000_000

// alone returns a view that has a new store to itself.
func alone(t *testing.T) *View {
	s := New(Options{Databases: 4})
	t.Cleanup(s.Close)
	v := s.NewView()
	v.Bind(0, testNow, nil)
	v.Exclusive()
	return v
}

func (v *View) mustSet(key, val string) {
	v.Set([]byte(key), []byte(val), SetOptions{})
}

func TestParseInteger(t *testing.T) {
	for _, c := range []struct {
		s    string
		want int64
		ok   bool
	}{
		{"0", 0, true}, {"7", 7, true}, {"-1", -1, true}, {"100", 100, true},
		{"9223372036854775807", math.MaxInt64, true}, {"-9223372036854775808", math.MinInt64, true},
		{"9223372036854775808", 0, false}, {"-9223372036854775809", 0, false},
		{"18446744073709551616", 0, false}, {"99999999999999999999", 0, false}, {"-99999999999999999999", 0, false},
		{"", 0, false}, {"-", 0, false}, {"+1", 0, false}, {"-0", 0, false}, {"01", 0, false}, {"-01", 0, false},
		{" 1", 0, false}, {"1 ", 0, false}, {"1.0", 0, false}, {"1e3", 0, false}, {"0x1", 0, false}, {"/", 0, false},
	} {
		if n, ok := ParseInteger([]byte(c.s)); ok != c.ok || ok && n != c.want {
			t.Errorf("ParseInteger(%q) = %d, %v", c.s, n, ok)
		}
	}
}

// The encodings are those that OBJECT ENCODING of Redis 7.0 gave for the same commands.
func TestEncoding(t *testing.T) {
	const lenMax = math.MaxInt64
	long := strings.Repeat("x", 44)
	for _, c := range []struct {
		name string
		do   func(v *View, k []byte)
		want string
	}{
		{"set integer", func(v *View, k []byte) { v.mustSet("k", "12") }, "int"},
		{"set zero in front", func(v *View, k []byte) { v.mustSet("k", "012") }, "embstr"},
		{"set 20 digits", func(v *View, k []byte) { v.mustSet("k", "12345678901234567890") }, "embstr"},
		{"set 44 bytes", func(v *View, k []byte) { v.mustSet("k", long) }, "embstr"},
		{"set 45 bytes", func(v *View, k []byte) { v.mustSet("k", long+"x") }, "raw"},
		{"set 2000 bytes", func(v *View, k []byte) { v.mustSet("k", strings.Repeat("x", 2000)) }, "raw"},
		{"incr missing", func(v *View, k []byte) { v.IncrBy(k, 1) }, "int"},
		{"incr int", func(v *View, k []byte) { v.mustSet("k", "1"); v.IncrBy(k, 1) }, "int"},
		{"append to missing", func(v *View, k []byte) { v.Append(k, []byte("12"), lenMax) }, "int"},
		{"append to int", func(v *View, k []byte) { v.mustSet("k", "1"); v.Append(k, []byte("2"), lenMax) }, "raw"},
		{"append nothing", func(v *View, k []byte) { v.mustSet("k", "1"); v.Append(k, nil, lenMax) }, "raw"},
		{"incr raw", func(v *View, k []byte) {
			v.mustSet("k", "1")
			v.Append(k, []byte("2"), lenMax)
			v.IncrBy(k, 1)
		}, "int"},
		{"setrange", func(v *View, k []byte) { v.SetRange(k, 0, []byte("7"), lenMax) }, "raw"},
		{"setrange nothing", func(v *View, k []byte) { v.mustSet("k", "1"); v.SetRange(k, 5, nil, lenMax) }, "int"},
		{"incrbyfloat", func(v *View, k []byte) { v.IncrByFloat(k, []byte("3")) }, "embstr"},
		{"incrbyfloat long", func(v *View, k []byte) { v.IncrByFloat(k, []byte("1e60")) }, "raw"},
		{"getset", func(v *View, k []byte) { v.GetSet(k, []byte("5")) }, "int"},
	} {
		v := alone(t)
		c.do(v, []byte("k"))
		if e := v.Peek([]byte("k")); e.Encoding() != c.want || e.Type() != "string" {
			t.Errorf("%s: %s %s, want %s", c.name, e.Type(), e.Encoding(), c.want)
		}
	}
}

func TestGetRange(t *testing.T) {
	v := alone(t)
	v.mustSet("k", "This is a string")
	v.mustSet("n", "12345")
	v.mustSet("e", "")
	for _, c := range []struct {
		key        string
		start, end int64
		want       string
	}{
		{"k", 0, 3, "This"}, {"k", -3, -1, "ing"}, {"k", 0, -1, "This is a string"}, {"k", 10, 100, "string"},
		{"k", -100, 1, "Th"}, {"k", 5, 4, ""}, {"k", -1, -3, ""}, {"k", 100, 200, ""}, {"k", -100, -100, "T"},
		{"k", 0, -100, "T"}, {"k", math.MinInt64, math.MaxInt64, "This is a string"}, {"k", -101, -100, "T"},
		{"n", 1, 2, "23"}, {"e", 0, -1, ""}, {"missing", 0, -1, ""},
	} {
		got, err := v.GetRange([]byte(c.key), c.start, c.end)
		if string(got) != c.want || err != nil {
			t.Errorf("GetRange(%s, %d, %d) = %q, %v, want %q", c.key, c.start, c.end, got, err, c.want)
		}
	}
}

func TestLengthLimits(t *testing.T) {
	v := alone(t)
	k := []byte("k")
	v.mustSet("k", "12345")
	_, err := v.Append(k, []byte("67"), 6)
	wantErr(t, err, ErrStringTooLong)
	_, err = v.SetRange(k, 5, []byte("67"), 6)
	wantErr(t, err, ErrStringTooLong)
	_, err = v.SetRange(k, math.MaxInt64, []byte("67"), 512<<20)
	wantErr(t, err, ErrStringTooLong)
	_, err = v.SetRange(k, 4, []byte("67"), 6)
	wantErr(t, err, nil)
	n, err := v.SetRange([]byte("missing"), 1000, nil, 6)
	if n != 0 || err != nil || v.Peek([]byte("missing")).Exists() {
		t.Errorf("SETRANGE with nothing: %d, %v", n, err)
	}
}

func TestIncrByFloat(t *testing.T) {
	// The sums are those of redis-server 7.0.
	for _, c := range []struct{ old, by, want string }{
		{"10.50", "0.1", "10.6"}, {"5.0e3", "2.0e2", "5200"}, {"3", "1.1", "4.1"}, {"0.1", "0.2", "0.3"},
		{"624.04", "0.01", "624.04999999999999999"}, {"696.01", "3e-4951", "696.01000000000000001"},
		{"1", "-1", "0"}, {"-1", "1", "0"}, {"-0.5", "0.5", "0"}, {"0", "1e-18", "0"},
		{"0x1p4", "1", "17"}, {"9223372036854775807", "1", "9223372036854775808"}, {"1e17", "0.5", "100000000000000000.5"},
		{"0e99999999999", "39.33", "39.33"}, {".5", "5.", "5.5"}, {"0", "-0", "0"},
	} {
		v := alone(t)
		v.mustSet("k", c.old)
		if got, err := v.IncrByFloat([]byte("k"), []byte(c.by)); got != c.want || err != nil {
			t.Errorf("%s + %s = %q, %v, want %s", c.old, c.by, got, err, c.want)
		}
	}
	for _, c := range []struct {
		old, by string
		want    error
	}{
		{"1", "inf", ErrNaN}, {"-inf", "1", ErrNaN}, {"1.1e4932", "1.1e4932", ErrNaN},
		{"1", "nan", ErrNotFloat}, {"1", "", ErrNotFloat}, {"", "1", ErrNotFloat}, {"1 ", "1", ErrNotFloat},
		{"1", " 1", ErrNotFloat}, {"1", "1_0", ErrNotFloat}, {"1", "0b1", ErrNotFloat}, {"1", "0o7", ErrNotFloat},
		{"1", "0x", ErrNotFloat}, {"1", "1e", ErrNotFloat}, {"1", "++1", ErrNotFloat}, {"1", "1p3", ErrNotFloat},
		{"1", "1e5000", ErrNotFloat}, {"1", "1e-5000", ErrNotFloat}, {"1", "1e99999999999999999999", ErrNotFloat},
		{"1", "0x1p-16446", ErrNotFloat}, {"1", ".", ErrNotFloat}, {"1", "infinit", ErrNotFloat},
		{"1", strings.Repeat("1", floatLenMax+1), ErrNotFloat},
	} {
		v := alone(t)
		v.mustSet("k", c.old)
		_, err := v.IncrByFloat([]byte("k"), []byte(c.by))
		if err != c.want {
			t.Errorf("%.20s + %.20s: error %v, want %v", c.old, c.by, err, c.want)
		}
		if got, _, _ := v.Get([]byte("k")); err != nil && string(got) != c.old {
			t.Errorf("%s + %s failed and left %q", c.old, c.by, got)
		}
	}
}

// What Get returned stays valid while other keys are read, integers printed into the view's memory included.
func TestResultsOfReadsStay(t *testing.T) {
	v := alone(t)
	v.mustSet("a", "1234567")
	first, _, _ := v.Get([]byte("a"))
	for range 10_000 {
		v.Get([]byte("a"))
	}
	if string(first) != "1234567" {
		t.Errorf("the first result became %q", first)
	}
}

// A value that a write returns is valid until the next write, even if the write compacts the segment it lies in.
func TestResultsOfWritesStay(t *testing.T) {
	v := alone(t)
	for i := range 3000 {
		key := []byte{byte(i), byte(i >> 8)}
		v.Set(key, []byte(strings.Repeat(string(rune('a'+i%26)), 100)), SetOptions{})
	}
	for i := range 3000 {
		key := []byte{byte(i), byte(i >> 8)}
		want := strings.Repeat(string(rune('a'+i%26)), 100)
		got, ok, err := v.GetDel(key)
		if string(got) != want || !ok || err != nil {
			t.Fatalf("GetDel %d: %q, want %q", i, got, want)
		}
	}
}

// A write may take what a read returned, whatever it does to the memory.
func TestOperandsMayAliasTheStore(t *testing.T) {
	v := alone(t)
	v.mustSet("from", strings.Repeat("v", 200))
	for i := range 5000 {
		val, _, _ := v.Get([]byte("from"))
		key := []byte{'k', byte(i), byte(i >> 8)}
		v.Set(key, val, SetOptions{})
		if i%7 == 0 {
			v.Set([]byte("from"), append([]byte(nil), val...), SetOptions{ExpireAtMs: testNow + 1000})
		}
		if got, _, _ := v.Get(key); string(got) != strings.Repeat("v", 200) {
			t.Fatalf("key %d holds %q", i, got)
		}
	}
	v.Unlock()
	sane(t, v.store)
}

func TestWrongType(t *testing.T) {
	v := alone(t)
	k := []byte("k")
	v.mustSet("k", "x")
	// No command of this package makes another type yet.
	*(*kind)(v.Peek(k).at(kindAt)) = 0x10
	check := func(name string, err error) {
		if err != ErrWrongType {
			t.Errorf("%s: error %v", name, err)
		}
	}
	_, _, err := v.Get(k)
	check("Get", err)
	_, _, err = v.GetSet(k, nil)
	check("GetSet", err)
	_, _, err = v.GetDel(k)
	check("GetDel", err)
	_, _, err = v.GetEx(k, Expiry{Change: true})
	check("GetEx", err)
	_, err = v.Append(k, []byte("x"), 100)
	check("Append", err)
	_, err = v.StrLen(k)
	check("StrLen", err)
	_, err = v.IncrBy(k, 1)
	check("IncrBy", err)
	_, err = v.IncrByFloat(k, []byte("1"))
	check("IncrByFloat", err)
	_, err = v.GetRange(k, 0, -1)
	check("GetRange", err)
	_, err = v.SetRange(k, 0, nil, 100)
	check("SetRange", err)
	_, err = v.DelIfEq(k, []byte("x"))
	check("DelIfEq", err)
	_, err = v.Set(k, nil, SetOptions{Cond: IfEqual})
	check("Set IFEQ", err)
	_, err = v.Set(k, nil, SetOptions{WantOld: true})
	check("Set GET", err)
	if r, err := v.Set(k, []byte("y"), SetOptions{}); !r.Done || err != nil {
		t.Error("SET does not replace a value of another type")
	}
}

// counted is a view that records every access, and a function that reports what was recorded.
func counted(t *testing.T) (v *View, report func() map[string]uint64) {
	v = alone(t)
	now := int64(0)
	tracker := hotkeys.New(1, func() int64 { return now }, 1)
	if err := tracker.Configure(hotkeys.Options{TopK: 100, Percentage: 100, Window: time.Second}); err != nil {
		t.Fatal(err)
	}
	v.Bind(0, testNow, tracker.Recorder(0))
	return v, func() map[string]uint64 {
		now += int64(time.Second)
		tracker.Rotate()
		counts := map[string]uint64{}
		for _, e := range tracker.Report(hotkeys.Query{DB: hotkeys.AllDBs}).Entries {
			counts[string(e.Key)] = e.Count
		}
		return counts
	}
}

// The counts are those of the table in the documentation of hot keys. k holds a string, n a number, x has expired, and m
// is missing.
func TestAccesses(t *testing.T) {
	k, n, m, x := []byte("k"), []byte("n"), []byte("m"), []byte("x")
	past := int64(testNow - 1)
	for _, c := range []struct {
		name string
		do   func(v *View)
		want map[string]uint64
	}{
		{"GET", func(v *View) { v.Get(k); v.Get(m); v.Get(x) }, map[string]uint64{"k": 1, "m": 1, "x": 1}},
		{"STRLEN, EXISTS", func(v *View) { v.StrLen(k); v.LookupUntouched(k) }, map[string]uint64{"k": 2}},
		{"GETRANGE", func(v *View) { v.GetRange(k, 0, 1) }, map[string]uint64{"k": 1}},
		{"SET", func(v *View) { v.Set(k, m, SetOptions{}); v.Set(m, m, SetOptions{}) }, map[string]uint64{"k": 1, "m": 1}},
		{"SET NX", func(v *View) { v.Set(k, m, SetOptions{Cond: IfMissing}) }, map[string]uint64{"k": 1}},
		{"SET XX", func(v *View) { v.Set(m, m, SetOptions{Cond: IfExists}) }, map[string]uint64{"m": 1}},
		{"SET IFEQ", func(v *View) { v.Set(k, m, SetOptions{Cond: IfEqual, Equal: k}) }, map[string]uint64{"k": 1}},
		{"SET IFEQ no", func(v *View) { v.Set(k, m, SetOptions{Cond: IfEqual, Equal: m}) }, map[string]uint64{"k": 1}},
		{"SET KEEPTTL", func(v *View) { v.Set(k, m, SetOptions{KeepTTL: true}) }, map[string]uint64{"k": 1}},
		{"SET EXAT past", func(v *View) { v.Set(k, m, SetOptions{ExpireAtMs: past}) }, map[string]uint64{"k": 1}},
		{"SET GET", func(v *View) { v.Set(k, m, SetOptions{WantOld: true}) }, map[string]uint64{"k": 2}},
		{"SET NX GET", func(v *View) { v.Set(k, m, SetOptions{WantOld: true, Cond: IfMissing}) }, map[string]uint64{"k": 2}},
		{"GETSET", func(v *View) { v.GetSet(k, m); v.GetSet(m, m) }, map[string]uint64{"k": 2, "m": 2}},
		{"GETDEL", func(v *View) { v.GetDel(k); v.GetDel(m); v.GetDel(x) }, map[string]uint64{"k": 2, "m": 1, "x": 1}},
		{"GETEX", func(v *View) { v.GetEx(k, Expiry{Change: true, AtMs: testNow + 1}) }, map[string]uint64{"k": 1}},
		{"GETEX past", func(v *View) { v.GetEx(k, Expiry{Change: true, AtMs: past}) }, map[string]uint64{"k": 1}},
		{"DEL", func(v *View) { v.Remove(k); v.Remove(m); v.Remove(x) }, map[string]uint64{"k": 1}},
		{"DELIFEQ", func(v *View) { v.DelIfEq(k, []byte("text")); v.DelIfEq(n, k) }, map[string]uint64{"k": 2, "n": 1}},
		{"MSET", func(v *View) { v.MSet([][]byte{k, k, m, m, m, m}) }, map[string]uint64{"k": 1, "m": 2}},
		{"MSETNX no", func(v *View) { v.MSetNX([][]byte{m, m, x, m, k, m, n, m}) }, map[string]uint64{"m": 1, "x": 1, "k": 1}},
		{"MSETNX", func(v *View) { v.MSetNX([][]byte{m, m, x, m}) }, map[string]uint64{"m": 1, "x": 1}},
		{"INCR, APPEND…", func(v *View) {
			v.IncrBy(n, 1)
			v.IncrByFloat(n, []byte("1"))
			v.Append(k, k, 100)
			v.SetRange(k, 1, k, 100)
			v.IncrBy(m, 1)
		}, map[string]uint64{"n": 2, "k": 2, "m": 1}},
		{"no trace", func(v *View) {
			v.Peek(k)
			v.Watch(&Watcher{}, k)
			v.ScanBucket(0, func([]byte, Entry) {})
			v.FlushDB(0)
		}, map[string]uint64{}},
	} {
		v, report := counted(t)
		rec := v.rec
		v.rec = nil
		v.mustSet("k", "text")
		v.mustSet("n", "1")
		v.Bind(v.db, v.nowMs-1000, v.rec)
		v.Set(x, k, SetOptions{ExpireAtMs: testNow - 500})
		v.Bind(v.db, testNow, rec)
		c.do(v)
		got := report()
		for key := range c.want {
			if got[key] != c.want[key] {
				t.Errorf("%s: %q was accessed %d times, want %d", c.name, key, got[key], c.want[key])
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: accesses %v, want %v", c.name, got, c.want)
		}
	}
}

func TestAccessesOfWrongType(t *testing.T) {
	v, report := counted(t)
	k := []byte("k")
	rec := v.rec
	v.rec = nil
	v.mustSet("k", "x")
	*(*kind)(v.Peek(k).at(kindAt)) = 0x10
	v.rec = rec
	v.Set(k, nil, SetOptions{WantOld: true})
	v.GetSet(k, nil)
	v.GetDel(k)
	if got := report()["k"]; got != 3 {
		t.Errorf("%d accesses, want one for each command", got)
	}
}

func TestHitsAndMisses(t *testing.T) {
	v := alone(t)
	v.mustSet("k", "1")
	k, m := []byte("k"), []byte("m")
	v.Get(k)
	v.Get(m)
	v.StrLen(k)
	v.LookupUntouched(m)
	v.LookupWrite(k)
	v.IncrBy(k, 1)
	v.Append(m, k, 10)
	v.Peek(k)
	v.Remove(k)
	if got := v.Stats(); got != (Stats{Hits: 2, Misses: 2}) {
		t.Errorf("%+v", got)
	}
	v.ResetStats()
	if v.Stats() != (Stats{}) {
		t.Error("counters are not zero after a reset")
	}
}

func TestTouch(t *testing.T) {
	v := alone(t)
	v.mustSet("k", "1")
	k := []byte("k")
	last := func() int64 { return int64(v.Peek(k).AccessWord()) + clockEpoch - testNow/1000 }
	v.Bind(0, testNow+5000, nil)
	if v.LookupUntouched(k); last() != 0 {
		t.Errorf("LookupUntouched touched the key")
	}
	v.SetNoTouch(true)
	v.Get(k)
	v.GetEx(k, Expiry{Change: true, AtMs: testNow + 100_000})
	if last() != 0 {
		t.Errorf("a client with NO-TOUCH touched the key")
	}
	v.SetNoTouch(false)
	if v.Get(k); last() != 5 {
		t.Errorf("Get left the time of use at %d", last())
	}
	v.Bind(0, testNow+9000, nil)
	if v.mustSet("k", "2"); last() != 9 {
		t.Errorf("Set left the time of use at %d", last())
	}
}

// TestLatestDeadlineOfAll: the greatest time there is is a deadline, not the mark of a key without one.
func TestLatestDeadlineOfAll(t *testing.T) {
	v := alone(t)
	for name, give := range map[string]func(key []byte){
		"SET": func(key []byte) { v.Set(key, []byte("v"), SetOptions{ExpireAtMs: math.MaxInt64}) },
		"GETEX": func(key []byte) {
			v.Set(key, []byte("v"), SetOptions{})
			v.GetEx(key, Expiry{Change: true, AtMs: math.MaxInt64})
		},
	} {
		key := []byte(name)
		give(key)
		if at := v.Lookup(key).ExpireAt(); at < math.MaxInt64-1 {
			t.Errorf("%s with the latest time: deadline %d", name, at)
		}
	}
}
