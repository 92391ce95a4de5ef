package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// loaded returns a store with n keys of 16 bytes and values of 64, and the keys.
func loaded(tb testing.TB, n int) (*Store, *View, [][]byte) {
	s := New(Options{Databases: 16})
	tb.Cleanup(s.Close)
	v := s.NewView()
	keys := make([][]byte, n)
	names := make([]byte, 0, 16*n)
	val := make([]byte, 64)
	for i := range keys {
		names = fmt.Appendf(names, "key:%012d", i)
		keys[i] = names[16*i:]
		v.Bind(0, 1000, nil)
		v.LockKey(keys[i], true)
		v.Set(keys[i], val, SetOptions{})
		v.Unlock()
	}
	return s, v, keys
}

func BenchmarkGet(b *testing.B) {
	for _, n := range []int{1000, 100_000, 2_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			_, v, keys := loaded(b, n)
			random := rand.New(rand.NewPCG(1, 2))
			b.ReportAllocs()
			for b.Loop() {
				key := keys[random.IntN(n)]
				v.Bind(0, 1000, nil)
				v.LockKey(key, false)
				if _, ok, _ := v.Get(key); !ok {
					b.Fatal("key is missing")
				}
				v.Unlock()
			}
		})
	}
}

// BenchmarkGetParallel reads on all cores: keys at random, and one hot key.
func BenchmarkGetParallel(b *testing.B) {
	for _, n := range []int{100_000, 1} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, _, keys := loaded(b, 100_000)
			b.RunParallel(func(pb *testing.PB) {
				v := s.NewView()
				random := rand.New(rand.NewPCG(rand.Uint64(), 2))
				for pb.Next() {
					key := keys[random.IntN(n)]
					v.Bind(0, 1000, nil)
					v.LockKey(key, false)
					v.Get(key)
					v.Unlock()
				}
			})
		})
	}
}

func BenchmarkSet(b *testing.B) {
	for _, n := range []int{1000, 100_000, 2_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			_, v, keys := loaded(b, n)
			random := rand.New(rand.NewPCG(1, 2))
			val := make([]byte, 64)
			b.ReportAllocs()
			for b.Loop() {
				key := keys[random.IntN(n)]
				v.Bind(0, 1000, nil)
				v.LockKey(key, true)
				v.Set(key, val, SetOptions{})
				v.Unlock()
			}
		})
	}
}

// BenchmarkSetSizes overwrites with values of changing size, so that entries do not always fit.
func BenchmarkSetSizes(b *testing.B) {
	const n = 100_000
	_, v, keys := loaded(b, n)
	random := rand.New(rand.NewPCG(1, 2))
	val := make([]byte, 128)
	b.ReportAllocs()
	for b.Loop() {
		key := keys[random.IntN(n)]
		v.Bind(0, 1000, nil)
		v.LockKey(key, true)
		v.Set(key, val[:random.IntN(128)], SetOptions{})
		v.Unlock()
	}
}

// BenchmarkInsert sets keys that do not exist yet.
func BenchmarkInsert(b *testing.B) {
	s := New(Options{Databases: 16})
	defer s.Close()
	v := s.NewView()
	key := []byte("key:000000000000")
	val := make([]byte, 64)
	b.ReportAllocs()
	for b.Loop() {
		for i := len(key) - 1; ; i-- {
			if key[i]++; key[i] <= '9' {
				break
			}
			key[i] = '0'
		}
		v.Bind(0, 1000, nil)
		v.LockKey(key, true)
		v.Set(key, val, SetOptions{})
		v.Unlock()
	}
}

// BenchmarkSetDel sets and deletes one key over and over, as locks are.
func BenchmarkSetDel(b *testing.B) {
	_, v, _ := loaded(b, 100_000)
	key, val := []byte("lock"), []byte("owner")
	b.ReportAllocs()
	for b.Loop() {
		v.Bind(0, 1000, nil)
		v.LockKey(key, true)
		v.Set(key, val, SetOptions{})
		v.Unlock()
		v.LockKey(key, true)
		v.Remove(key)
		v.Unlock()
	}
}

// BenchmarkMemory reports what a key costs in resident memory of the process: after a load of 16-byte names and 64-byte
// values, after a burst of overwrites with other sizes, after those are back at 64 bytes, and when nine keys of ten are
// gone; and how long a full collection takes. Run it with -benchtime 1x.
func BenchmarkMemory(b *testing.B) {
	for _, n := range []int{2_000_000, 5_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for range b.N {
				measureMemory(b, n)
			}
		})
	}
}

func measureMemory(b *testing.B, n int) {
	debug.FreeOSMemory()
	base := residentBytes(b)
	report := func(what string) {
		b.ReportMetric(float64(residentBytes(b)-base)/float64(n), what)
	}
	s := New(Options{Databases: 16})
	v := s.NewView()
	v.Bind(0, testNow, nil)
	val := make([]byte, 256)
	var buf [16]byte
	key := func(i int) []byte { return fmt.Appendf(buf[:0], "key:%012d", i) }
	set := func(i, size int) {
		k := key(i)
		v.LockKey(k, true)
		v.Set(k, val[:size], SetOptions{})
		v.Unlock()
	}
	for i := range n {
		set(i, 64)
	}
	report("loaded-B/key")
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		set(random.IntN(n), random.IntN(128))
	}
	report("overwritten-B/key")
	for i := range n {
		set(i, 200)
	}
	for i := range n {
		set(i, 64)
	}
	report("shrunk-B/key")
	start := time.Now()
	runtime.GC()
	b.ReportMetric(float64(time.Since(start).Microseconds())/1000, "GC-ms")
	for i := range n {
		if k := key(i); i%10 != 0 {
			v.LockKey(k, true)
			v.Remove(k)
			v.Unlock()
		}
	}
	report("tenth-B/key")
	start = time.Now()
	v.Exclusive()
	v.FlushAll()
	v.Unlock()
	b.ReportMetric(float64(time.Since(start).Microseconds())/1000, "flush-ms")
	s.Close()
	debug.FreeOSMemory()
	report("flushed-B/key")
}

// residentBytes returns the resident set of the process.
func residentBytes(b *testing.B) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip("no /proc to read resident memory from")
	}
	var kb int64
	_, rest, _ := bytes.Cut(status, []byte("VmRSS:"))
	if _, err := fmt.Sscan(string(rest), &kb); err != nil {
		b.Fatal(err)
	}
	return kb << 10
}
