package store

import (
	"fmt"
	"strings"
	"testing"
)

// Fetch only reads: it must stay within arenas whatever is locked, keys that are missing, and those of every size.
func TestFetchReadsOnly(t *testing.T) {
	s := New(Options{Databases: 2})
	defer s.Close()
	v := s.NewView()
	v.Bind(0, 1000, nil)
	var keys [][]byte
	for i := range 2000 {
		key := []byte(fmt.Sprintf("%0*d", 1+i%300, i))
		keys = append(keys, key, fmt.Appendf(nil, "missing:%d", i))
		v.LockKey(key, true)
		if _, err := v.Set(key, []byte(strings.Repeat("v", i%2000)), SetOptions{}); err != nil {
			t.Fatal(err)
		}
		v.Unlock()
	}
	for from := 0; from+16 <= len(keys); from += 16 {
		v.Bind(from/16%2, 1000, nil)
		v.LockKeys(keys[from:from+16], false)
		v.Fetch()
		v.Unlock()
	}
}

// BenchmarkRow is sixteen lookups under one lock, in a keyspace larger than the caches, with and without Fetch.
func BenchmarkRow(b *testing.B) {
	const keysCount = 500_000
	s := New(Options{Databases: 1})
	defer s.Close()
	v := s.NewView()
	v.Bind(0, 1000, nil)
	keys := make([][]byte, keysCount)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "key:%012d", i)
		v.LockKey(keys[i], true)
		if _, err := v.Set(keys[i], make([]byte, 64), SetOptions{}); err != nil {
			b.Fatal(err)
		}
		v.Unlock()
	}
	for _, fetch := range []bool{false, true} {
		b.Run(fmt.Sprintf("fetch=%v", fetch), func(b *testing.B) {
			row := make([][]byte, 16)
			at := uint64(0)
			for b.Loop() {
				for i := range row {
					at = at*6364136223846793005 + 1442695040888963407
					row[i] = keys[(at>>33)%keysCount]
				}
				v.LockKeys(row, false)
				if fetch {
					v.Fetch()
				}
				for _, key := range row {
					if _, ok, _ := v.Get(key); !ok {
						b.Fatal("missing")
					}
				}
				v.Unlock()
			}
		})
	}
}
