package store

import (
	"fmt"
	"math"
	"sync"
	"testing"
)

func (v *View) mustHSet(key string, pairs ...string) {
	var args [][]byte
	for _, s := range pairs {
		args = append(args, []byte(s))
	}
	v.HSet([]byte(key), args)
}

// mustHExpire gives fields of a hash a deadline.
func (v *View) mustHExpire(key string, atMs int64, fields ...string) {
	var args [][]byte
	for _, s := range fields {
		args = append(args, []byte(s))
	}
	v.HExpire([]byte(key), atMs, 0, args, func(got int64) {
		if got != FieldChanged {
			panic(fmt.Sprintf("a field of %q got no deadline: %d", key, got))
		}
	})
}

// cycleAll runs the expiry cycle until it finds nothing more.
func cycleAll(v *View) {
	for more := true; more; {
		_, more = v.ExpireCycle(math.MaxInt)
	}
}

func TestFieldLivesToItsDeadline(t *testing.T) {
	v := alone(t)
	v.mustHSet("h", "a", "1", "b", "2")
	v.mustHExpire("h", testNow+10, "a")
	v.later(10)
	if _, ok := mustReadHash(t, v, "h").Get([]byte("a")); !ok {
		t.Error("the field is gone in the millisecond of its deadline")
	}
	v.later(11)
	h := mustReadHash(t, v, "h")
	if _, ok := h.Get([]byte("a")); ok || h.Live() != 1 || h.Len() != 2 {
		t.Errorf("after the deadline: there %v, %d live, %d in all", ok, h.Live(), h.Len())
	}
}

// The cycle finds the one volatile field of one hash among many keys, and leaves the others alone.
func TestCycleRemovesFields(t *testing.T) {
	v := alone(t)
	for i := range 5000 {
		v.mustSet(fmt.Sprintf("key:%d", i), "v")
	}
	for i := range 50 {
		v.mustHSet(fmt.Sprintf("hash:%d", i), "a", "1", "b", "2")
	}
	v.mustHExpire("hash:7", testNow+10, "a")
	v.mustHExpire("hash:8", testNow+20, "a", "b")
	v.later(11)
	if removed, more := v.ExpireCycle(math.MaxInt); removed != 0 || more {
		t.Errorf("%d keys removed, more %v", removed, more)
	}
	if n := mustReadHash(t, v, "hash:7").Len(); n != 1 {
		t.Errorf("%d fields", n)
	}
	v.later(21)
	cycleAll(v)
	if v.Peek([]byte("hash:8")).Exists() || !v.Peek([]byte("hash:7")).Exists() {
		t.Error("the key of the hash whose fields are all over is there, or the other one is not")
	}
	if keys, volatile := v.store.Keys(0); keys != 5049 || volatile != 0 {
		t.Errorf("%d keys, %d volatile", keys, volatile)
	}
	sane(t, v.store)
}

// A hash is found by the cycle wherever it goes, and so is its copy.
func TestCycleFollowsHash(t *testing.T) {
	v := alone(t)
	v.mustHSet("a", "f", "1")
	v.mustHExpire("a", testNow+10, "f")
	v.Rename([]byte("a"), []byte("b"), false)
	v.Copy([]byte("b"), []byte("c"), 0, false)
	v.Copy([]byte("b"), []byte("d"), 1, false)
	v.Move([]byte("b"), 2)
	v.SwapDB(2, 3)
	// What is added later moves the hash within its shard's tables.
	for i := range 20000 {
		v.mustSet(fmt.Sprintf("key:%d", i), "v")
	}
	v.later(11)
	cycleAll(v)
	for db := range 4 {
		want := int64(0)
		if db == 0 {
			want = 20000
		}
		if keys, _ := v.store.Keys(db); keys != want {
			t.Errorf("database %d: %d keys", db, keys)
		}
	}
	sane(t, v.store)
}

// A step of the cycle looks into one segment of the hash: a large one takes several.
func TestCycleOfFieldsIsBounded(t *testing.T) {
	v := alone(t)
	bigHash(v, 5000)
	for i := range 5000 {
		v.mustHExpire(hashKey, testNow+10, fmt.Sprintf("field:%d", i))
	}
	v.later(11)
	v.ExpireCycle(1)
	if n := mustReadHash(t, v, hashKey).Len(); n == 0 || n >= 5000 {
		t.Errorf("one step left %d fields of 5000", n)
	}
	cycleAll(v)
	if v.Peek([]byte(hashKey)).Exists() {
		t.Error("the key is there though all its fields are over")
	}
	sane(t, v.store)
}

func TestCycleRemovesFieldsOfManyHashes(t *testing.T) {
	v := alone(t)
	for i := range 100_000 {
		key := fmt.Sprintf("hash:%d", i)
		v.mustHSet(key, "a", "1")
		v.mustHExpire(key, testNow+10, "a")
	}
	v.later(11)
	cycleAll(v)
	if keys, _ := v.store.Keys(0); keys != 0 {
		t.Errorf("%d keys", keys)
	}
	sane(t, v.store)
}

// After a read that meets a hash with expired fields they are removed, though only read locks were held.
func TestReadLeavesExpiredFieldsToUnlock(t *testing.T) {
	s := New(Options{Databases: 1})
	defer s.Close()
	v := s.NewView()
	v.Bind(0, testNow, nil)
	k := []byte("h")
	v.LockKey(k, true)
	v.mustHSet("h", "a", "1", "b", "2")
	v.mustHExpire("h", testNow+10, "a")
	v.mustHExpire("h", testNow+20, "b")
	v.Unlock()
	for i, want := range []int{2, 1, 0} {
		v.later(int64(10*i + 1))
		for range 2 {
			v.LockKey(k, false)
			if got := mustReadHash(t, v, "h").Live(); got != want {
				t.Errorf("%d live fields, want %d", got, want)
			}
			v.Unlock()
		}
		v.LockKey(k, false)
		if n := mustReadHash(t, v, "h").Len(); n != want {
			t.Errorf("%d fields, want %d", n, want)
		}
		v.Unlock()
	}
	if keys, _ := s.Keys(0); keys != 0 {
		t.Errorf("%d keys", keys)
	}
	sane(t, s)
}

func TestExpiredFieldsAreKept(t *testing.T) {
	v := alone(t)
	v.mustHSet("h", "a", "1", "b", "2")
	v.mustHExpire("h", testNow+10, "a")
	v.later(11)
	v.KeepExpired(true)
	v.mustHSet("h", "c", "3")
	if h := mustReadHash(t, v, "h"); h.Len() != 3 || h.Live() != 2 {
		t.Errorf("%d fields, %d live", h.Len(), h.Live())
	}
	v.Unlock()
	v.KeepExpired(false)
	v.Exclusive()
	v.mustHSet("h", "c", "4")
	if n := mustReadHash(t, v, "h").Len(); n != 2 {
		t.Errorf("%d fields after a write", n)
	}
}

// Readers, writers and the cycle at once: nobody sees a field after its deadline.
func TestFieldsExpireConcurrently(t *testing.T) {
	s := New(Options{Databases: 1})
	defer s.Close()
	const keys, rounds = 8, 200
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			v := s.NewView()
			for i := range int64(rounds) {
				v.Bind(0, testNow+i, nil)
				key := fmt.Appendf(nil, "h%d", (i+int64(worker))%keys)
				switch worker {
				case 0:
					v.ExpireCycle(10)
					continue
				case 1:
					v.LockKey(key, true)
					v.HSetEx(key, [][]byte{fmt.Appendf(nil, "f%d", i%50), []byte("v")}, AnyField, SetDeadline, testNow+i+i%7)
				default:
					v.LockKey(key, false)
					h, _ := v.ReadHash(key)
					h.Each(func(field, val []byte) bool { return string(val) == "v" })
					h.Random(func(field, val []byte) {})
				}
				v.Unlock()
			}
		})
	}
	wg.Wait()
	v := s.NewView()
	v.Bind(0, testNow+10*rounds, nil)
	cycleAll(v)
	if n, _ := s.Keys(0); n != 0 {
		t.Errorf("%d keys", n)
	}
	sane(t, s)
}
