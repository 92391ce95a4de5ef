package store

import (
	"fmt"
	"slices"
	"testing"
)

// logged is an Observer that writes down what it hears.
type logged struct{ lines []string }

func (l *logged) Event(_ Class, name string, db int, key []byte) {
	l.lines = append(l.lines, fmt.Sprintf("%d %s %s", db, name, key))
}
func (l *logged) Changed(db int, key []byte) {
	l.lines = append(l.lines, fmt.Sprintf("%d changed %s", db, key))
}
func (l *logged) Flushed(db int) { l.lines = append(l.lines, fmt.Sprintf("%d flushed", db)) }

func TestObserverHearsChanges(t *testing.T) {
	s := New(Options{Databases: 2})
	t.Cleanup(s.Close)
	v := s.NewView()
	var heard logged
	v.Observe(&heard, 0, true)
	v.Bind(1, 1000, nil)
	v.Exclusive()
	defer v.Unlock()
	if _, err := v.Set([]byte("k"), []byte("1"), SetOptions{ExpireAtMs: 2000}); err != nil {
		t.Fatal(err)
	}
	v.Lookup([]byte("k"))
	v.Remove([]byte("missing"))
	v.Bind(1, 3000, nil)
	v.Lookup([]byte("k")) // its time is over
	v.SwapDB(0, 1)
	v.FlushAll()
	want := []string{"1 changed k", "1 changed k", "-1 flushed", "-1 flushed"}
	if !slices.Equal(heard.lines, want) {
		t.Errorf("heard %q, want %q", heard.lines, want)
	}
}

// TestObserverHearsEvents: in order, with the database, and only those of the classes asked for.
func TestObserverHearsEvents(t *testing.T) {
	s := New(Options{Databases: 2})
	t.Cleanup(s.Close)
	v := s.NewView()
	k, l := []byte("k"), []byte("l")
	in := func(nowMs int64, classes Class, fn func()) []string {
		var heard logged
		v.Observe(&heard, classes, false)
		v.Bind(1, nowMs, nil)
		fn()
		return heard.lines
	}
	locked := func(write bool, fn func()) func() {
		return func() {
			v.LockKeys([][]byte{k, l}, write)
			fn()
			v.Unlock()
		}
	}
	const all = ^Class(0)
	set := func() { v.Set(k, []byte("1"), SetOptions{ExpireAtMs: 2000}) }
	for i, step := range []struct {
		nowMs   int64
		classes Class
		fn      func()
		want    []string
	}{
		{1000, all, locked(true, set), []string{"1 new k", "1 set k", "1 expire k"}},
		{1000, ClassGeneric, locked(true, set), []string{"1 expire k"}},
		{1000, all, locked(true, func() { v.Move(k, 0) }), []string{"0 new k", "1 move_from k", "0 move_to k"}},
		{1000, all, locked(true, set), []string{"1 new k", "1 set k", "1 expire k"}},
		{3000, all, locked(false, func() { v.Get(k) }), []string{"1 expired k", "1 keymiss k"}},
		{1000, all, locked(true, set), []string{"1 new k", "1 set k", "1 expire k"}},
		{3000, all &^ ClassMiss, locked(false, func() { v.Get(k); v.Get(k) }), []string{"1 expired k"}},
		{1000, all, locked(true, set), []string{"1 new k", "1 set k", "1 expire k"}},
		{3000, all, locked(true, set), []string{"1 expired k", "1 new k", "1 set k", "1 expire k", "1 expired k"}},
		{1000, all, locked(true, func() { v.ListPush(k, Head, [][]byte{k}, false) }), []string{"1 new k", "1 lpush k"}},
		{1000, all, locked(true, func() { v.ListMove(k, l, Head, Tail) }), []string{"1 new l", "1 rpush l", "1 lpop k", "1 del k"}},
		{1000, all, locked(true, func() { v.Expire(l, 2000, 0) }), []string{"1 expire l"}},
		{3000, ClassExpired, func() { v.ExpireCycle(100) }, []string{"0 expired k", "1 expired l"}},
		{1000, 0, locked(true, set), nil},
	} {
		got := in(step.nowMs, step.classes, step.fn)
		if step.classes == ClassExpired {
			slices.Sort(got) // the cycle goes by positions
		}
		if !slices.Equal(got, step.want) {
			t.Errorf("step %d: heard %q, want %q", i, got, step.want)
		}
	}
}
