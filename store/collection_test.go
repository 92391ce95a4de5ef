package store

import (
	"bytes"
	"testing"
)

// A collection that becomes packed again is given up, however long the packed value is.
func TestSaveGivesTheCollectionUp(t *testing.T) {
	for _, n := range []int{10, inlineMax + 1, 3 * inlineMax} {
		s := New(Options{Databases: 1})
		v := s.NewView()
		key := []byte("key")
		v.LockKey(key, true)
		v.saveCollection(key, Entry{}, kindSet, set{v.newDict()})
		v.Unlock()
		v.LockKey(key, true)
		v.save(key, v.Peek(key), kindSetPacked, bytes.Repeat([]byte("x"), n))
		if e := v.Peek(key); len(e.packed()) != n || e.value().coll != nil {
			t.Errorf("%d bytes: the packed value has %d, collection %v", n, len(e.packed()), e.value().coll)
		}
		v.Unlock()
		v.LockKey(key, true)
		v.Remove(key)
		v.Unlock()
		if n := s.objectBytes.Load(); n != 0 {
			t.Errorf("%d bytes of objects are accounted for at the end", n)
		}
		s.Close()
	}
}
