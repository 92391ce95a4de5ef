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
	want := []string{"1 changed k", "1 changed k", "0 flushed", "1 flushed", "-1 flushed"}
	if !slices.Equal(heard.lines, want) {
		t.Errorf("heard %q, want %q", heard.lines, want)
	}
}
