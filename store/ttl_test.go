package store

import (
	"strconv"
	"testing"
)

func TestAverageTTL(t *testing.T) {
	s := New(Options{Databases: 2})
	defer s.Close()
	v := s.NewView()
	v.Bind(1, 1000, nil)
	v.Exclusive()
	defer v.Unlock()
	if got := s.AverageTTL(1, 1000); got != 0 {
		t.Fatalf("empty database: %d", got)
	}
	for i := range 5000 {
		key := []byte(strconv.Itoa(i))
		at := int64(0) // no deadline
		if i%2 == 0 {
			at = 1000 + 60_000
		}
		if _, err := v.Set(key, key, SetOptions{ExpireAtMs: at}); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.AverageTTL(1, 1000); got != 60_000 {
		t.Fatalf("got %d ms, want 60000", got)
	}
	if got := s.AverageTTL(0, 1000); got != 0 {
		t.Fatalf("other database: %d", got)
	}
}
