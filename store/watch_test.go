package store

import (
	"fmt"
	"math"
	"testing"
)

func TestWatch(t *testing.T) {
	k := []byte("k")
	del := func(v *View) { v.Remove(k) }
	for _, c := range []struct {
		name   string
		before string // value of k when it is watched; "": missing
		do     func(v *View)
		dirty  bool
	}{
		{"nothing", "1", func(v *View) {}, false},
		{"reads", "1", func(v *View) { v.Get(k); v.LookupWrite(k); v.ScanBucket(0, func([]byte, Entry) {}) }, false},
		{"another key", "1", func(v *View) { v.mustSet("other", "1") }, false},
		{"the key in another database", "1", func(v *View) { v.Select(1); v.mustSet("k", "1"); v.Select(0) }, false},
		{"set", "1", func(v *View) { v.mustSet("k", "1") }, true},
		{"set of a missing key", "", func(v *View) { v.mustSet("k", "1") }, true},
		{"set and delete", "", func(v *View) { v.mustSet("k", "1"); v.Remove(k) }, true},
		{"set refused", "1", func(v *View) { v.Set(k, k, SetOptions{Cond: IfMissing}) }, false},
		{"set in the past", "", func(v *View) { v.Set(k, k, SetOptions{ExpireAtMs: 1}) }, true},
		{"delete", "1", del, true},
		{"delete of a missing key", "", del, false},
		{"incr", "1", func(v *View) { v.IncrBy(k, 1) }, true},
		{"incr refused", "x", func(v *View) { v.IncrBy(k, 1) }, false},
		{"append", "1", func(v *View) { v.Append(k, k, math.MaxInt64) }, true},
		{"setrange", "1", func(v *View) { v.SetRange(k, 0, k, math.MaxInt64) }, true},
		{"setrange of nothing", "1", func(v *View) { v.SetRange(k, 0, nil, math.MaxInt64) }, false},
		{"getex", "1", func(v *View) { v.GetEx(k, Expiry{Change: true, AtMs: testNow + 5}) }, true},
		{"getex that changes nothing", "1", func(v *View) { v.GetEx(k, Expiry{}); v.GetEx(k, Expiry{Change: true}) }, false},
		{"flush of its database", "1", func(v *View) { v.FlushDB(0) }, true},
		{"flush of its database, missing", "", func(v *View) { v.FlushDB(0) }, false},
		{"flush of another database", "1", func(v *View) { v.FlushDB(1) }, false},
		{"flush of all", "1", func(v *View) { v.FlushAll() }, true},
		{"swap", "1", func(v *View) { v.SwapDB(0, 1) }, true},
		{"swap brings the key", "", func(v *View) { v.Select(1); v.mustSet("k", "1"); v.SwapDB(1, 0) }, true},
		{"swap, missing in both", "", func(v *View) { v.SwapDB(0, 1) }, false},
		{"swap of other databases", "1", func(v *View) { v.SwapDB(1, 2) }, false},
		{"swap brings an expired key", "", func(v *View) {
			v.Select(1)
			v.Set(k, k, SetOptions{ExpireAtMs: testNow + 5})
			v.later(6)
			v.SwapDB(0, 1)
			v.Select(0)
			v.Remove(k)
		}, false},
	} {
		v := alone(t)
		if c.before != "" {
			v.mustSet("k", c.before)
		}
		var w Watcher
		v.Watch(&w, k)
		v.Watch(&w, k)
		c.do(v)
		if got := v.Dirty(&w); got != c.dirty {
			t.Errorf("%s: dirty %v, want %v", c.name, got, c.dirty)
		}
		v.Unwatch(&w)
		if v.mustSet("k", "after"); v.Dirty(&w) || w.Watching() {
			t.Errorf("%s: watches after Unwatch", c.name)
		}
		for i := range v.store.shards {
			if len(v.store.shards[i].watchers) > 0 {
				t.Errorf("%s: a registration is left", c.name)
			}
		}
	}
}

func TestWatchedKeyThatExpires(t *testing.T) {
	k := []byte("k")
	for _, c := range []struct {
		name string
		at   int64 // ms after testNow at which k is watched; its deadline is at 10
		do   func(v *View)
		want bool
	}{
		{"expires after WATCH", 5, func(v *View) {}, true},
		{"expires after WATCH, removed by a lookup", 5, func(v *View) { v.LookupWrite(k) }, true},
		{"expires after WATCH, removed by the cycle", 5, func(v *View) { v.ExpireCycle(10) }, true},
		{"had expired", 15, func(v *View) {}, false},
		{"had expired, deleted", 15, func(v *View) { v.Remove(k) }, false},
		{"had expired, set anew", 15, func(v *View) { v.mustSet("k", "1") }, true},
	} {
		v := alone(t)
		v.Set(k, k, SetOptions{ExpireAtMs: testNow + 10})
		v.later(c.at)
		var w Watcher
		v.Watch(&w, k)
		v.later(20)
		c.do(v)
		if got := v.Dirty(&w); got != c.want {
			t.Errorf("%s: dirty %v, want %v", c.name, got, c.want)
		}
	}
}

func TestWatchersOfOneKey(t *testing.T) {
	v := alone(t)
	var ws [10]Watcher
	for i := range ws {
		v.Watch(&ws[i], []byte("k"))
		v.Watch(&ws[i], fmt.Appendf(nil, "k%d", i))
	}
	v.Unwatch(&ws[3])
	v.mustSet("k3", "1")
	v.mustSet("k5", "1")
	for i := range ws {
		if v.Dirty(&ws[i]) != (i == 5) {
			t.Errorf("watcher %d: dirty %v", i, v.Dirty(&ws[i]))
		}
	}
	v.mustSet("k", "1")
	for i := range ws {
		if v.Dirty(&ws[i]) != (i != 3) {
			t.Errorf("watcher %d: dirty %v", i, v.Dirty(&ws[i]))
		}
	}
}
