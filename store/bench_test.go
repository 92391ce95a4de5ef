package store

import (
	"fmt"
	"math/rand/v2"
	"testing"
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
