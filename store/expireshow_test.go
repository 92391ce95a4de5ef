package store

import (
	"slices"
	"testing"
)

// showing is later for one who sees expired keys while they are kept.
func (v *View) showing(ms int64) {
	v.later(ms)
	v.KeepExpired(true)
	v.ShowExpired()
}

func TestShownExpiredKeyIsAlive(t *testing.T) {
	v := alone(t)
	k := []byte("k")
	v.Set(k, k, SetOptions{ExpireAtMs: testNow + 10})
	v.showing(100)
	if val, ok, _ := v.Get(k); !ok || string(val) != "k" {
		t.Errorf("Get: %q, %v", val, ok)
	}
	if e := v.Peek(k); e.ExpireAt() != testNow+10 {
		t.Errorf("deadline %d", e.ExpireAt())
	}
	if key, ok := v.RandomKey(v.random, nil); !ok || string(key) != "k" {
		t.Errorf("RandomKey: %q, %v", key, ok)
	}
	if _, err := v.Append(k, []byte("!"), 100); err != nil {
		t.Error(err)
	}
	v.later(101)
	v.KeepExpired(true)
	if v.Lookup(k).Exists() {
		t.Error("it is alive for others")
	}
	if n, _ := v.store.Keys(0); n != 1 {
		t.Errorf("%d keys: the other removed it", n)
	}
	v.showing(102)
	if val, _, _ := v.Get(k); string(val) != "k!" {
		t.Errorf("after APPEND: %q", val)
	}
	if !v.Remove(k) {
		t.Error("it cannot be removed")
	}
}

func TestShownExpiredFieldIsAlive(t *testing.T) {
	v := alone(t)
	k, f := []byte("h"), []byte("f")
	if _, err := v.HSet(k, [][]byte{f, []byte("v"), []byte("other"), []byte("w")}); err != nil {
		t.Fatal(err)
	}
	if err := v.HExpire(k, testNow+10, 0, [][]byte{f}, func(int64) {}); err != nil {
		t.Fatal(err)
	}
	fields := func() (names []string) {
		h, _ := v.ReadHash(k)
		h.Each(func(field, _ []byte) bool {
			names = append(names, string(field))
			return true
		})
		slices.Sort(names)
		return names
	}
	v.showing(100)
	if got := fields(); !slices.Equal(got, []string{"f", "other"}) {
		t.Errorf("shown: %q", got)
	}
	v.later(100)
	v.KeepExpired(true)
	if got := fields(); !slices.Equal(got, []string{"other"}) {
		t.Errorf("to others: %q", got)
	}
}

// TestKeptDeadlineThatIsOver: while expired keys are kept, a deadline in the past is one like any other.
func TestKeptDeadlineThatIsOver(t *testing.T) {
	v := alone(t)
	k := []byte("k")
	for _, at := range []int64{testNow - 10, 0, -1} {
		v.showing(0)
		v.Set(k, k, SetOptions{})
		if !v.Expire(k, at, 0) || !v.Lookup(k).Exists() {
			t.Errorf("deadline %d: the key is gone for who sees expired ones", at)
		}
		v.later(0)
		v.KeepExpired(true)
		if v.Lookup(k).Exists() {
			t.Errorf("deadline %d: the key is there for others", at)
		}
		v.KeepExpired(false)
		if removed, _ := v.ExpireCycle(1 << 20); removed != 1 {
			t.Errorf("deadline %d: %d keys expired afterwards", at, removed)
		}
		v.showing(0)
	}
}

// TestWatchOfKeptExpiredKey: a key that has expired already when it is watched does not expire any more.
func TestWatchOfKeptExpiredKey(t *testing.T) {
	v := alone(t)
	k, other := []byte("k"), []byte("other")
	for _, key := range [][]byte{k, other} {
		v.Set(key, key, SetOptions{ExpireAtMs: testNow + 10})
	}
	var w Watcher
	v.later(5)
	v.KeepExpired(true)
	v.Watch(&w, other)
	v.later(11)
	if !v.Dirty(&w) {
		t.Error("a key that expired since it was watched is no change")
	}
	v.Unwatch(&w)
	if v.Watch(&w, k); v.Dirty(&w) {
		t.Error("a key that had expired when it was watched is a change")
	}
	if v.mustSet("k", "new"); !v.Dirty(&w) {
		t.Error("a new value is no change")
	}
}
