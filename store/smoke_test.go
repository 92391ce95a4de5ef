package store

import (
	"fmt"
	"testing"
)

func TestSmoke(t *testing.T) {
	s := New(Options{Databases: 2})
	defer s.Close()
	v := s.NewView()
	for i := 0; i < 300000; i++ {
		k := fmt.Appendf(nil, "key:%d", i)
		v.Bind(0, 1000, nil)
		v.LockKey(k, true)
		v.Set(k, fmt.Appendf(nil, "value %d", i*i), SetOptions{})
		v.Unlock()
	}
	fmt.Println(s.UsedBytes(), s.pool.Reserved())
	for i := 0; i < 300000; i++ {
		k := fmt.Appendf(nil, "key:%d", i)
		v.LockKey(k, false)
		val, ok, err := v.Get(k)
		if string(val) != fmt.Sprintf("value %d", i*i) || !ok || err != nil {
			t.Fatal(i, string(val), ok, err)
		}
		v.Unlock()
	}
	for i := 0; i < 300000; i++ {
		k := fmt.Appendf(nil, "key:%d", i)
		v.LockKey(k, true)
		if !v.Remove(k) {
			t.Fatal(i)
		}
		v.Unlock()
	}
	fmt.Println(s.Keys(0))
	fmt.Println(s.UsedBytes(), s.pool.Reserved())
}
