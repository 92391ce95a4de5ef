package store

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// fill sets keys prefix0, prefix1, … on database 0.
func fill(v *View, prefix string, n int, atMs int64) {
	for i := range n {
		key := fmt.Appendf(nil, "%s%d", prefix, i)
		v.LockKey(key, true)
		v.Set(key, []byte("v"), SetOptions{})
		if atMs != 0 {
			v.Expire(key, atMs, 0)
		}
		v.Unlock()
	}
}

func clearOut(v *View, prefix string, n int) {
	for i := range n {
		key := fmt.Appendf(nil, "%s%d", prefix, i)
		v.LockKey(key, true)
		v.Remove(key)
		v.Unlock()
	}
}

// scanAll scans from begin to end and returns how often each key was seen, and the calls. between runs after each call.
func scanAll(t *testing.T, v *View, count int, between func(call int)) (seen map[string]int, calls int) {
	t.Helper()
	seen = map[string]int{}
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		cursor = v.Scan(cursor, count, func(key []byte, e Entry) bool {
			seen[string(key)]++
			return true
		})
		if cursor >= CursorEnd {
			t.Fatalf("cursor %d is too large for a floating point number", cursor)
		}
		calls++
		between(calls)
	}
	return seen, calls
}

func newScanned(t *testing.T) (*Store, *View) {
	s := New(Options{Databases: 2})
	t.Cleanup(s.Close)
	v := s.NewView()
	v.Bind(0, 1000, nil)
	return s, v
}

func TestScanStill(t *testing.T) {
	_, v := newScanned(t)
	const keys = 10_000
	fill(v, "k", keys, 0)
	for _, count := range []int{1, 10, 1000, math.MaxInt} {
		seen, calls := scanAll(t, v, count, func(int) {})
		if len(seen) != keys {
			t.Errorf("count %d: %d keys of %d", count, len(seen), keys)
		}
		for key, n := range seen {
			if n != 1 {
				t.Fatalf("count %d: %s was returned %d times though nothing changed", count, key, n)
			}
		}
		if calls > keys/count+1 {
			t.Errorf("count %d: %d calls", count, calls)
		}
	}
}

// Every key that is there all the time is returned, however the tables grow and shrink meanwhile.
func TestScanWhileTablesChange(t *testing.T) {
	const stable, passing = 1000, 15_000
	for _, count := range []int{1, 10, 1000} {
		_, v := newScanned(t)
		fill(v, "stable", stable, 0)
		grown := false
		seen, calls := scanAll(t, v, count, func(call int) {
			// Twice in a whole scan: growth by a factor of 15, and back.
			if call%max(stable/count/4, 1) != 0 || call*count > 2*stable {
				return
			}
			if grown {
				clearOut(v, "passing", passing)
			} else {
				fill(v, "passing", passing, 0)
			}
			grown = !grown
		})
		for i := range stable {
			if key := fmt.Sprintf("stable%d", i); seen[key] == 0 {
				t.Errorf("count %d: %s was not returned", count, key)
			}
		}
		if most := 3 * (stable + passing) / count; calls > most+2 {
			t.Errorf("count %d: %d calls", count, calls)
		}
	}
}

// The same with a writer beside it.
func TestScanBesideWriter(t *testing.T) {
	s, v := newScanned(t)
	const stable = 5000
	fill(v, "stable", stable, 0)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		w := s.NewView()
		w.Bind(0, 1000, nil)
		for {
			fill(w, "passing", 5000, 0)
			clearOut(w, "passing", 5000)
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	for range 5 {
		seen, _ := scanAll(t, v, 100, func(int) {})
		for i := range stable {
			if key := fmt.Sprintf("stable%d", i); seen[key] == 0 {
				t.Errorf("%s was not returned", key)
			}
		}
	}
	close(stop)
	<-stopped
}

func TestScanOfFewKeys(t *testing.T) {
	_, v := newScanned(t)
	for _, many := range []int{0, 10_000} {
		fill(v, "passing", many, 0)
		clearOut(v, "passing", many)
		fill(v, "k", 3, 0)
		if seen, calls := scanAll(t, v, 10, func(int) {}); len(seen) != 3 || calls != 1 {
			t.Errorf("after %d keys: %d keys in %d calls", many, len(seen), calls)
		}
	}
	v.Select(1)
	if seen, calls := scanAll(t, v, 1, func(int) {}); len(seen) != 0 || calls != 1 {
		t.Errorf("empty database: %d keys in %d calls", len(seen), calls)
	}
}

// A call ends in time though nothing is taken, and all calls together see each key once.
func TestScanTakesNothing(t *testing.T) {
	_, v := newScanned(t)
	const keys, count = 20_000, 10
	fill(v, "k", keys, 0)
	total := 0
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		seen := 0
		cursor = v.Scan(cursor, count, func([]byte, Entry) bool {
			seen++
			return false
		})
		if most := count*scanSeenPerTaken + itemsMax; seen > most {
			t.Fatalf("one call saw %d keys", seen)
		}
		total += seen
	}
	if total != keys {
		t.Errorf("saw %d keys of %d", total, keys)
	}
}

func TestScanOddCursors(t *testing.T) {
	_, v := newScanned(t)
	fill(v, "k", 1000, 0)
	random := rand.New(rand.NewPCG(1, 1))
	none := func(key []byte, _ Entry) bool {
		t.Fatalf("got %s", key)
		return true
	}
	for range 1000 {
		if next := v.Scan(random.Uint64()|CursorEnd, 10, none); next != 0 {
			t.Fatalf("a cursor that is too large is followed by %d", next)
		}
		from := random.Uint64N(CursorEnd)
		if next := v.Scan(from, 10, func([]byte, Entry) bool { return true }); next != 0 && next <= from {
			t.Fatalf("cursor %d is followed by %d", from, next)
		}
	}
}

func TestScanLeavesOutExpired(t *testing.T) {
	_, v := newScanned(t)
	fill(v, "volatile", 1000, 2000)
	fill(v, "k", 3, 0)
	v.Bind(0, 2000, nil)
	if seen, _ := scanAll(t, v, 10, func(int) {}); len(seen) != 1003 {
		t.Errorf("before their end: %d keys", len(seen))
	}
	v.Bind(0, 2001, nil)
	if seen, _ := scanAll(t, v, 10, func(int) {}); len(seen) != 3 {
		t.Errorf("after their end: %d keys", len(seen))
	}
}

// Each of 20 keys is drawn within 1000 draws: a false alarm once in 10^21 runs were all equally likely, once in 10^10 were
// each of them half as likely.
func TestRandomKeyDrawsAll(t *testing.T) {
	_, v := newScanned(t)
	const keys = 20
	fill(v, "k", keys, 0)
	fill(v, "volatile", 10*keys, 2000)
	v.Bind(0, 2001, nil)
	random := rand.New(rand.NewPCG(1, 1))
	drawn := map[string]bool{}
	for range 50 * keys {
		key, ok := v.RandomKey(random, nil)
		if !ok || key[0] != 'k' {
			t.Fatalf("drew %q, %v", key, ok)
		}
		drawn[string(key)] = true
	}
	if len(drawn) != keys {
		t.Errorf("drew %d keys of %d", len(drawn), keys)
	}
}
