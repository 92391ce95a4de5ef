package store

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Money moves between accounts while others sum them up, expire, scan and flush: every sum must come out right. The gate
// is what the server has for exclusive work.
func TestCommandsAreSerializable(t *testing.T) {
	const accounts, initial, moves = 40, 100, 3000
	s := New(Options{Databases: 2})
	defer s.Close()
	var gate sync.RWMutex
	names := make([][]byte, accounts)
	setup := s.NewView()
	setup.Bind(0, testNow, nil)
	for i := range names {
		names[i] = fmt.Appendf(nil, "account:%d", i)
		setup.LockKey(names[i], true)
		setup.Set(names[i], strconv.AppendInt(nil, initial, 10), SetOptions{})
		setup.Unlock()
	}
	var workers, others sync.WaitGroup
	for w := range 3 {
		workers.Go(func() {
			v := s.NewView()
			random := rand.New(rand.NewPCG(1, uint64(w)))
			for range moves {
				gate.RLock()
				moveMoney(v, names[random.IntN(accounts)], names[random.IntN(accounts)], random.Int64N(10))
				gate.RUnlock()
			}
		})
	}
	var done atomic.Bool
	background := func(fn func(v *View, random *rand.Rand)) {
		others.Go(func() {
			v := s.NewView()
			random := rand.New(rand.NewPCG(2, 2))
			for !done.Load() {
				fn(v, random)
				runtime.Gosched()
			}
		})
	}
	background(func(v *View, _ *rand.Rand) {
		gate.RLock()
		defer gate.RUnlock()
		v.Bind(0, testNow, nil)
		v.LockKeys(names, false)
		defer v.Unlock()
		sum := int64(0)
		for _, name := range names {
			val, _, _ := v.Get(name)
			n, _ := ParseInteger(val)
			sum += n
		}
		if sum != accounts*initial {
			t.Errorf("the accounts sum up to %d", sum)
		}
	})
	background(func(v *View, random *rand.Rand) {
		gate.RLock()
		defer gate.RUnlock()
		v.Bind(1, testNow+random.Int64N(100), nil)
		key := fmt.Appendf(nil, "volatile:%d", random.IntN(1000))
		v.LockKey(key, true)
		v.Set(key, []byte(strings.Repeat("x", random.IntN(2000))), SetOptions{ExpireAtMs: v.nowMs + 1 + random.Int64N(100)})
		v.Unlock()
		v.LockKey(key, false)
		v.Get(key)
		v.Unlock()
		v.ExpireCycle(5)
	})
	background(func(v *View, random *rand.Rand) {
		gate.RLock()
		v.Bind(random.IntN(2), testNow, nil)
		seen := 0
		for cursor, first := uint64(0), true; first || cursor != 0; first = false {
			cursor = v.ScanBucket(cursor, func(key []byte, e Entry) { seen += len(key) })
		}
		v.RandomKey(random, nil)
		s.Keys(1)
		s.UsedBytes()
		gate.RUnlock()
		gate.Lock()
		v.Exclusive()
		v.FlushDB(1)
		v.SwapDB(1, 1)
		v.Unlock()
		gate.Unlock()
	})
	workers.Wait()
	done.Store(true)
	others.Wait()
	sane(t, s)
}

func moveMoney(v *View, from, to []byte, amount int64) {
	v.Bind(0, testNow, nil)
	v.LockKeys([][]byte{from, to}, true)
	defer v.Unlock()
	v.IncrBy(from, -amount)
	v.IncrBy(to, amount)
}

// WATCH, read, and an EXEC that adds one if nobody else did: no increment may be lost.
func TestOptimisticIncrements(t *testing.T) {
	const clients, increments = 3, 300
	s := New(Options{Databases: 1})
	defer s.Close()
	k := [][]byte{[]byte("counter")}
	var clientsDone sync.WaitGroup
	for range clients {
		clientsDone.Go(func() {
			v := s.NewView()
			var w Watcher
			for n := 0; n < increments; {
				v.Bind(0, testNow, nil)
				v.LockKey(k[0], true)
				v.Watch(&w, k[0])
				v.Unlock()
				v.LockKey(k[0], false)
				val, _, _ := v.Get(k[0])
				old, _ := ParseInteger(val)
				v.Unlock()
				v.LockKeys(k, true)
				if !v.Dirty(&w) {
					v.Set(k[0], strconv.AppendInt(nil, old+1, 10), SetOptions{})
					n++
				}
				v.Unlock()
				v.Unwatch(&w)
			}
		})
	}
	clientsDone.Wait()
	v := s.NewView()
	v.LockKey(k[0], false)
	if val, _, _ := v.Get(k[0]); string(val) != strconv.Itoa(clients*increments) {
		t.Errorf("%d increments gave %s", clients*increments, val)
	}
	v.Unlock()
}

// A scan returns what is there all the time, while tables of one shard split and merge under it.
func TestScanBesideSplitsAndMerges(t *testing.T) {
	m := newModel(t, 3, 4000, 1)
	stable, passing := m.keys[:500], m.keys[500:]
	m.v.Bind(0, testNow, nil)
	for _, key := range stable {
		m.v.LockKey(key, true)
		m.v.Set(key, nil, SetOptions{})
		m.v.Unlock()
	}
	var done atomic.Bool
	var writer sync.WaitGroup
	writer.Go(func() {
		v := m.s.NewView()
		v.Bind(0, testNow, nil)
		for !done.Load() {
			for _, key := range passing {
				v.LockKey(key, true)
				v.Set(key, nil, SetOptions{})
				v.Unlock()
			}
			for _, key := range passing {
				v.LockKey(key, true)
				v.Remove(key)
				v.Unlock()
			}
		}
	})
	defer func() { // before the store is closed, whatever happens
		done.Store(true)
		writer.Wait()
	}()
	for range 8 {
		seen := map[string]bool{}
		for cursor, first := uint64(0), true; first || cursor != 0; first = false {
			cursor = m.v.ScanBucket(cursor, func(key []byte, e Entry) { seen[string(key)] = true })
			runtime.Gosched()
		}
		for _, key := range stable {
			if !seen[string(key)] {
				t.Fatalf("the scan missed %.20q", key)
			}
		}
	}
	done.Store(true)
	writer.Wait()
	sane(t, m.s)
}

func TestLockKeysOfManyAndNone(t *testing.T) {
	s := New(Options{Databases: 1})
	defer s.Close()
	v := s.NewView()
	v.Bind(0, testNow, nil)
	keys := make([][]byte, 100_000)
	names := make([]byte, 8*len(keys))
	for i := range keys {
		keys[i] = names[8*i : 8*i+8]
		binary.BigEndian.PutUint64(keys[i], uint64(i))
	}
	v.LockKeys(keys, true)
	for _, key := range keys {
		v.Set(key, key, SetOptions{})
	}
	v.Unlock()
	v.LockKeys(nil, true)
	v.Unlock()
	v.LockKeys(keys, false)
	for _, key := range keys {
		if val, _, _ := v.Get(key); string(val) != string(key) {
			t.Fatalf("%q holds %q", key, val)
		}
	}
	v.Unlock()
	if cap(v.keys) > lockedKeysMax {
		t.Errorf("the view keeps room for %d keys", cap(v.keys))
	}
	for i := range s.shards {
		if !s.shards[i].mu.TryLock() {
			t.Fatalf("shard %d is still locked", i)
		}
		s.shards[i].mu.Unlock()
	}
	allocs := testing.AllocsPerRun(5, func() {
		v.LockKeys(keys, false)
		v.Unlock()
	})
	// One slice grows by doubling, and is dropped.
	if allocs > 50 {
		t.Errorf("%v allocations to lock %d keys", allocs, len(keys))
	}
}

func TestHotPathDoesNotAllocate(t *testing.T) {
	v := alone(t)
	v.Unlock()
	k, n, val := []byte("k"), []byte("n"), []byte(strings.Repeat("x", 64))
	big := []byte(strings.Repeat("x", 2000))
	both := [][]byte{k, n}
	run := func(name string, fn func()) {
		if allocs := testing.AllocsPerRun(100, fn); allocs != 0 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
	run("SET", func() { v.LockKey(k, true); v.Set(k, val, SetOptions{}); v.Unlock() })
	run("SET PX", func() { v.LockKey(k, true); v.Set(k, val, SetOptions{ExpireAtMs: testNow + 1000}); v.Unlock() })
	run("GETSET", func() { v.LockKey(k, true); v.GetSet(k, val); v.Unlock() })
	run("GET", func() { v.LockKey(k, false); v.Get(k); v.Unlock() })
	run("GETEX", func() { v.LockKey(k, true); v.GetEx(k, Expiry{Change: true, AtMs: testNow + 2000}); v.Unlock() })
	run("GET of a missing key", func() { v.LockKey(val, false); v.Get(val); v.Unlock() })
	run("INCR", func() { v.LockKey(n, true); v.IncrBy(n, 1); v.Unlock() })
	run("GET of an integer", func() { v.LockKey(n, false); v.Get(n); v.Unlock() })
	run("MGET", func() { v.LockKeys(both, false); v.Get(k); v.Get(n); v.Unlock() })
	run("SET and DEL", func() { v.LockKey(k, true); v.Set(k, val, SetOptions{}); v.Remove(k); v.Unlock() })
	run("SET of a large value", func() { v.LockKey(n, true); v.Set(n, big, SetOptions{}); v.Unlock() })
}

func TestKeysWithoutLocksAreNoticed(t *testing.T) {
	if !invariants {
		t.Skip("compiled without invariants")
	}
	s := New(Options{Databases: 1})
	defer s.Close()
	v := s.NewView()
	v.Bind(0, testNow, nil)
	panics := func(name string, fn func()) {
		defer func() {
			if recover() == nil {
				t.Errorf("%s went unnoticed", name)
			}
			v.Unlock()
		}()
		fn()
	}
	a, b := []byte("a"), []byte("b")
	panics("a read without a lock", func() { v.Get(a) })
	panics("a write under a read lock", func() { v.LockKey(a, false); v.Set(a, a, SetOptions{}) })
	panics("a key of another shard", func() { v.LockKey(a, true); v.Set(b, b, SetOptions{}) })
	panics("a key of another shard, several locked", func() { v.LockKeys([][]byte{a, a}, true); v.Set(b, b, SetOptions{}) })
}

// A handler may panic in the middle of its work; the view must be usable afterwards.
func TestUnlockAfterPanic(t *testing.T) {
	s := New(Options{Databases: 1})
	defer s.Close()
	v := s.NewView()
	v.Bind(0, testNow, nil)
	k := []byte("k")
	for _, lock := range []func(){func() { v.LockKey(k, true) }, func() { v.LockKeys([][]byte{k, nil}, false) }, v.Exclusive} {
		func() {
			defer func() { recover(); v.Unlock() }()
			lock()
			panic("handler")
		}()
		v.LockKey(k, true)
		v.Set(k, k, SetOptions{})
		v.Unlock()
	}
}

// Each of 200 keys is drawn 100 times on average. That any count lies outside of 40 … 170, six standard deviations and
// more, has a probability below one in a million.
func TestRandomKeyIsUniform(t *testing.T) {
	const keys, draws = 200, 20_000
	v := alone(t)
	for i := range keys {
		v.mustSet(strconv.Itoa(i), "")
	}
	random := rand.New(rand.NewPCG(rand.Uint64(), 0))
	counts := map[string]int{}
	var buf [8]byte
	for range draws {
		key, ok := v.RandomKey(random, buf[:0])
		if !ok {
			t.Fatal("no key")
		}
		counts[string(key)]++
	}
	for key, n := range counts {
		if n < 40 || n > 170 {
			t.Errorf("%s was drawn %d times, want about %d", key, n, draws/keys)
		}
	}
	if len(counts) != keys {
		t.Errorf("%d keys of %d were drawn", len(counts), keys)
	}
}

func TestRandomKeyFindsTheLiveOne(t *testing.T) {
	v := alone(t)
	for i := range 1000 {
		v.Set([]byte(strconv.Itoa(i)), nil, SetOptions{ExpireAtMs: testNow + 5})
	}
	v.later(6)
	random := rand.New(rand.NewPCG(1, 2))
	if key, ok := v.RandomKey(random, nil); ok {
		t.Errorf("%q is drawn though all keys have expired", key)
	}
	v.mustSet("live", "")
	for range 10 {
		if key, ok := v.RandomKey(random, nil); !ok || string(key) != "live" {
			t.Errorf("drew %q, %v", key, ok)
		}
	}
}

func TestLocksAreTakenOnce(t *testing.T) {
	if !invariants {
		t.Skip("compiled without invariants")
	}
	s := New(Options{Databases: 1})
	defer s.Close()
	v := s.NewView()
	k := []byte("k")
	for name, fn := range map[string]func(){
		"LockKey":     func() { v.LockKey(k, false) },
		"LockKeys":    func() { v.LockKeys([][]byte{k}, false) },
		"ScanBucket":  func() { v.ScanBucket(0, nil) },
		"Unwatch":     func() { v.Unwatch(&Watcher{}) },
		"ExpireCycle": func() { v.ExpireCycle(1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s took locks though the view held some", name)
				}
				v.Unlock()
			}()
			v.LockKey(k, true)
			fn()
		}()
	}
}
