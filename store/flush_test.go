package store

import (
	"fmt"
	"strings"
	"testing"
)

func TestFlushOfManySegments(t *testing.T) {
	s := New(Options{Databases: 2 * releaseSegmentsMax / shardCount})
	defer s.Close()
	v := s.NewView()
	v.Exclusive()
	defer v.Unlock()
	n := int64(0)
	for db := range s.Databases() {
		v.Bind(db, testNow, nil)
		for i := range 4 * shardCount {
			v.Set(fmt.Appendf(nil, "%d", i), []byte(strings.Repeat("x", i)), SetOptions{})
			n++
		}
	}
	if got := v.FlushAll(); got != n {
		t.Errorf("flushed %d keys of %d", got, n)
	}
	if keys, _ := s.Keys(0); keys != 0 {
		t.Errorf("%d keys are left", keys)
	}
	// The memory is being freed in the background; the store is in use meanwhile.
	v.mustSet("k", "1")
	s.releasing.Wait()
	v.FlushDB(v.DB())
	if n := s.UsedBytes(); n != 0 {
		t.Errorf("%d bytes in use", n)
	}
}

func TestSmallDatabasesAreSmall(t *testing.T) {
	v := alone(t)
	for i := range 1000 {
		v.mustSet(fmt.Sprintf("key:%012d", i), "some small value")
	}
	const bytesMax = 300 << 10
	if n := v.store.UsedBytes(); n > bytesMax || v.store.pool.Reserved() != 0 {
		t.Errorf("1000 small keys take %d bytes, and %d are reserved", n, v.store.pool.Reserved())
	}
	v.FlushAll()
	v.mustSet("k", "1")
	if n := v.store.UsedBytes(); n > 1024 {
		t.Errorf("one small key takes %d bytes", n)
	}
}

func TestMemoryReturnsAfterDeletes(t *testing.T) {
	s, v, keys := loaded(t, 20_000)
	full := s.UsedBytes()
	for _, key := range keys {
		v.LockKey(key, true)
		v.Remove(key)
		v.Unlock()
	}
	if n := s.UsedBytes(); n > full/10 {
		t.Errorf("%d bytes in use of %d after all keys were deleted", n, full)
	}
	for i := range s.shards {
		if d := s.shards[i].tables[0].Load().depth; d != 0 {
			t.Errorf("a directory of depth %d is left", d)
		}
	}
	sane(t, s)
}
