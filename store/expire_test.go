package store

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// later binds the view to a time after testNow.
func (v *View) later(ms int64) { v.Bind(v.db, testNow+ms, nil) }

func TestKeyLivesToItsDeadline(t *testing.T) {
	v := alone(t)
	k := []byte("k")
	v.Set(k, k, SetOptions{ExpireAtMs: testNow + 10})
	if v.later(10); !v.Lookup(k).Exists() {
		t.Error("the key is gone in the millisecond of its deadline")
	}
	if v.later(11); v.Lookup(k).Exists() {
		t.Error("the key is there after its deadline")
	}
	if keys, volatile := v.store.Keys(0); keys != 0 || volatile != 0 {
		t.Errorf("%d keys, %d volatile", keys, volatile)
	}
	if v.Stats().Expired != 1 {
		t.Errorf("%d keys counted as expired", v.Stats().Expired)
	}
}

func TestSetOverExpiredKeyCountsIt(t *testing.T) {
	v := alone(t)
	k := []byte("k")
	v.Set(k, k, SetOptions{ExpireAtMs: testNow + 10})
	v.later(11)
	if v.mustSet("k", "new"); v.Stats().Expired != 1 || v.Peek(k).ExpireAt() != -1 {
		t.Errorf("%d keys counted as expired, deadline %d", v.Stats().Expired, v.Peek(k).ExpireAt())
	}
}

func TestExpiredKeyIsMissingUnderReadLock(t *testing.T) {
	s := New(Options{Databases: 1})
	defer s.Close()
	v := s.NewView()
	v.Bind(0, testNow, nil)
	var keys [][]byte
	for i := range 2 * expiredMax {
		key := fmt.Appendf(nil, "key:%d", i)
		keys = append(keys, key)
		v.LockKey(key, true)
		v.Set(key, key, SetOptions{ExpireAtMs: testNow + 10})
		v.Unlock()
	}
	v.later(11)
	v.LockKeys(keys, false)
	for _, key := range keys {
		if _, ok, _ := v.Get(key); ok {
			t.Errorf("%q is there after its deadline", key)
		}
	}
	if n, _ := s.Keys(0); n != int64(len(keys)) {
		t.Errorf("%d keys under the read lock", n)
	}
	v.Unlock()
	if n, _ := s.Keys(0); n != int64(len(keys)-expiredMax) {
		t.Errorf("%d keys after the unlock, want %d fewer than %d", n, expiredMax, len(keys))
	}
	// One of the others is met, and changed by somebody else before the unlock.
	other := s.NewView()
	other.Bind(0, testNow+11, nil)
	for _, key := range keys {
		v.LockKey(key, false)
		v.Get(key)
		v.unlockShard(v.shard(v.keys[0].pos))
		other.LockKey(key, true)
		other.Set(key, []byte("new"), SetOptions{})
		other.Unlock()
		v.shard(v.keys[0].pos).mu.RLock()
		v.Unlock()
	}
	if n, _ := s.Keys(0); n != int64(len(keys)) {
		t.Errorf("%d keys, a new one was taken for the expired one", n)
	}
	sane(t, s)
}

func TestCycleFindsOneAmongMany(t *testing.T) {
	s, v, _ := loaded(t, 20_000)
	k := []byte("volatile")
	v.Bind(0, testNow, nil)
	v.LockKey(k, true)
	v.Set(k, k, SetOptions{ExpireAtMs: testNow + 10})
	v.Unlock()
	v.later(10)
	if n, more := v.ExpireCycle(100); n != 0 || more {
		t.Errorf("before the deadline: removed %d, more %v", n, more)
	}
	v.later(11)
	if n, _ := v.ExpireCycle(1); n != 1 {
		t.Errorf("removed %d keys in the one segment where something is due", n)
	}
	if _, volatile := s.Keys(0); volatile != 0 {
		t.Errorf("%d volatile keys left", volatile)
	}
	if n, more := v.ExpireCycle(100); n != 0 || more {
		t.Errorf("afterwards: removed %d, more %v", n, more)
	}
	sane(t, s)
}

func TestCycleIsBounded(t *testing.T) {
	m := newModel(t, 1, 2000, 1)
	v := m.v
	v.Bind(0, testNow, nil)
	v.Exclusive()
	for i, key := range m.keys {
		v.Set(key, key[:min(len(key), 20)], SetOptions{ExpireAtMs: testNow + 10 + int64(i%2)*1000})
	}
	v.Unlock()
	v.later(11)
	total := int64(0)
	for calls := 1; ; calls++ {
		n, more := v.ExpireCycle(1)
		if n > itemsMax {
			t.Fatalf("one segment gave %d keys", n)
		}
		total += n
		// A deadline that is set while the cycle is under way counts, wherever it lies.
		if calls == 3 {
			v.LockKey(m.keys[0], true)
			v.Set(m.keys[0], nil, SetOptions{ExpireAtMs: testNow + 500})
			v.Unlock()
		}
		if sane(t, m.s); !more {
			break
		}
	}
	if total < 999 || total > 1000 {
		t.Errorf("removed %d keys of 1000", total)
	}
	if keys, volatile := m.s.Keys(0); keys != volatile || keys != 1001 {
		t.Errorf("%d keys are left, %d of them volatile", keys, volatile)
	}
	v.later(501)
	if n, _ := v.ExpireCycle(100); n != 1 {
		t.Errorf("removed %d keys, want the one whose deadline was set during the cycle", n)
	}
}

// A volatile key that was persisted leaves a bound behind, which the cycle raises once and then leaves alone.
func TestCycleRaisesBounds(t *testing.T) {
	v := alone(t)
	k := []byte("k")
	v.Set(k, k, SetOptions{ExpireAtMs: testNow + 10})
	v.Set([]byte("other"), k, SetOptions{ExpireAtMs: testNow + 1000})
	v.GetEx(k, Expiry{Change: true})
	v.Unlock()
	v.later(11)
	v.ExpireCycle(100)
	if got := v.shard(v.position(k)).earliest.Load(); got <= testNow+10 {
		t.Errorf("the shard's bound is still %d", got-testNow)
	}
	if keys, volatile := v.store.Keys(0); keys != 2 || volatile != 1 {
		t.Errorf("%d keys, %d volatile", keys, volatile)
	}
}

// A cycle that stops early goes on with other shards, though keys fall due in the first ones all the time.
func TestCycleIsFair(t *testing.T) {
	s, v, keys := loaded(t, 3000)
	for now := int64(0); now < 200; now += 2 {
		v.later(now)
		for _, key := range keys {
			// All shards are due at first, and the first ones again every time.
			if pos := s.position(key); now == 0 || pos>>(64-shardBits) < 8 {
				v.LockKey(key, true)
				v.Set(key, nil, SetOptions{ExpireAtMs: v.nowMs + 1})
				v.Unlock()
			}
		}
		v.later(now + 2)
		v.ExpireCycle(4)
	}
	late := int64(0)
	for i := 8; i < shardCount; i++ {
		if table := s.shards[i].tables[0].Load(); table != nil { // no name may have fallen into this shard
			late += table.keys.Load()
		}
	}
	if late != 0 {
		t.Errorf("%d keys that fell due first are left", late)
	}
}

func TestScanOfExpiredKeysIsBounded(t *testing.T) {
	s := New(Options{Databases: 1})
	defer s.Close()
	v := s.NewView()
	v.Bind(0, testNow, nil)
	const keys = 10 * scanDeadMax
	v.Exclusive()
	for i := range keys {
		v.Set(fmt.Appendf(nil, "%d", i), nil, SetOptions{ExpireAtMs: testNow + 1})
	}
	v.later(2)
	calls := 0
	for cursor, first := uint64(0), true; first || cursor != 0; first = false {
		cursor = v.Scan(cursor, 10, func([]byte, Entry) bool { t.Error("an expired key was returned"); return true })
		calls++
	}
	if calls < keys/scanDeadMax-1 || calls > keys/scanDeadMax+1 {
		t.Errorf("%d calls to scan %d expired keys", calls, keys)
	}
	v.Unlock()
}

func TestScanRemovesTheExpiredItMeets(t *testing.T) {
	s := New(Options{Databases: 1})
	defer s.Close()
	v := s.NewView()
	v.Bind(0, testNow, nil)
	fill(v, "dead:", 3, testNow+10)
	fill(v, "live:", 20, 0)
	v.later(11)
	for cursor, first := uint64(0), true; first || cursor != 0; first = false {
		cursor = v.Scan(cursor, 10, func([]byte, Entry) bool { return true })
		v.Unlock()
	}
	if keys, _ := s.Keys(0); keys != 20 || v.Stats().Expired != 3 {
		t.Errorf("%d keys after a whole scan, %d counted as expired", keys, v.Stats().Expired)
	}
}

// TestKeepExpired: a key whose time is over is missing, is replaced, is drawn at random if there is no other, and is not
// removed by those who meet it.
func TestKeepExpired(t *testing.T) {
	v := alone(t)
	k := []byte("k")
	v.Set(k, k, SetOptions{ExpireAtMs: testNow + 10})
	v.later(11)
	v.KeepExpired(true)
	if v.Lookup(k).Exists() || v.LookupWrite(k).Exists() || v.Remove(k) {
		t.Error("the key is there after its deadline")
	}
	if key, ok := v.RandomKey(rand.New(rand.NewPCG(1, 1)), nil); !ok || string(key) != "k" {
		t.Errorf("drew %q, %v", key, ok)
	}
	if keys, _ := v.store.Keys(0); keys != 1 || v.Stats().Expired != 0 {
		t.Errorf("%d keys, %d counted as expired", keys, v.Stats().Expired)
	}
	if v.mustSet("k", "new"); v.Stats().Expired != 1 || v.Peek(k).ExpireAt() != -1 {
		t.Errorf("%d counted as expired after it was replaced, deadline %d", v.Stats().Expired, v.Peek(k).ExpireAt())
	}
	v.Expire(k, testNow+20, 0)
	v.later(21)
	v.KeepExpired(false)
	if _, ok := v.RandomKey(rand.New(rand.NewPCG(1, 1)), nil); ok || v.Lookup(k).Exists() || v.Stats().Expired != 2 {
		t.Errorf("%d counted as expired when it may be removed", v.Stats().Expired)
	}
}
