package store

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// A model is the keyspace as plain maps, beside the store that is tested against it.
type model struct {
	t      *testing.T
	random *rand.Rand
	s      *Store
	v      *View
	nowMs  int64
	db     int
	dbs    [2]map[string]modelValue
	keys   [][]byte
}

type modelValue struct {
	text     string
	deadline int64 // 0: none
}

// newModel makes an empty store and a model of it, with n names to draw from. They all lie in the given number of shards,
// so that their tables split with few keys. One name in sixty is too long for an entry.
func newModel(t *testing.T, seed uint64, n, shards int) *model {
	t.Logf("seed %d", seed)
	m := &model{t: t, random: rand.New(rand.NewPCG(seed, 0)), s: New(Options{Databases: 2}), nowMs: 1000}
	t.Cleanup(m.s.Close)
	m.v = m.s.NewView()
	m.dbs = [2]map[string]modelValue{{}, {}}
	for i := 0; len(m.keys) < n; i++ {
		key := fmt.Appendf(nil, "key:%d", i)
		if i%60 == 0 {
			key = append(key, bytes.Repeat([]byte{'k'}, inlineMax)...)
		}
		if i == 7 {
			key = key[:0] // once: all names differ
		}
		if m.s.position(key)>>(64-shardBits) < uint64(shards) {
			m.keys = append(m.keys, key)
		}
	}
	return m
}

func (m *model) get(key []byte) (modelValue, bool) {
	val, ok := m.dbs[m.db][string(key)]
	if ok && val.deadline != 0 && val.deadline < m.nowMs {
		delete(m.dbs[m.db], string(key))
		return modelValue{}, false
	}
	return val, ok
}

func (m *model) set(key []byte, text string, deadline int64) {
	m.dbs[m.db][string(key)] = modelValue{text, deadline}
}

// value returns a random value. Most are of one size, some cross the bounds of what an entry holds.
func (m *model) value() []byte {
	switch m.random.IntN(10) {
	case 0:
		return strconv.AppendInt(nil, int64(m.random.Uint64()), 10)
	case 1:
		return strconv.AppendInt(nil, m.random.Int64N(100), 10)
	case 2:
		return m.letters(m.random.IntN(3000))
	case 3:
		return m.letters(inlineMax - 2 + m.random.IntN(4))
	}
	return m.letters(m.random.IntN(100))
}

func (m *model) letters(n int) []byte {
	return bytes.Repeat([]byte{byte('a' + m.random.IntN(26))}, n)
}

func (m *model) deadline() int64 {
	switch m.random.IntN(4) {
	case 0:
		return m.nowMs + m.random.Int64N(50)
	case 1:
		return m.nowMs + 5000
	}
	return 0
}

func (m *model) lock(key []byte, write bool) {
	m.v.Bind(m.db, m.nowMs, nil)
	switch m.random.IntN(3) {
	case 0:
		m.v.LockKeys([][]byte{m.keys[0], key, m.keys[1], key}, write)
	case 1:
		m.v.Exclusive()
	default:
		m.v.LockKey(key, write)
	}
}

// step does one random operation on both sides and compares what they say. grow is how often, in percent, a key is
// not just removed.
func (m *model) step(grow int) {
	t, v := m.t, m.v
	key := m.keys[m.random.IntN(len(m.keys))]
	old, had := m.get(key)
	m.lock(key, true)
	defer v.Unlock()
	if m.random.IntN(100) >= grow {
		if v.Remove(key) != had {
			t.Fatalf("Remove(%.20q): had %v", key, had)
		}
		delete(m.dbs[m.db], string(key))
		return
	}
	switch m.random.IntN(12) {
	case 0, 1, 2, 3, 4:
		m.stepSet(key, old, had)
	case 5:
		tail := m.value()
		n, err := v.Append(key, tail, 5000)
		if len(old.text)+len(tail) > 5000 && had {
			wantErr(t, err, ErrStringTooLong)
			return
		}
		m.set(key, old.text+string(tail), old.deadline)
		if n != int64(len(old.text)+len(tail)) || err != nil {
			t.Fatalf("Append: %d, %v", n, err)
		}
	case 6:
		m.stepSetRange(key, old)
	case 7:
		m.stepIncr(key, old, had)
	case 8:
		val, ok, err := v.GetDel(key)
		if string(val) != old.text || ok != had || err != nil {
			t.Fatalf("GetDel: %q, %v, %v, want %q", val, ok, err, old.text)
		}
		delete(m.dbs[m.db], string(key))
	case 9:
		at := m.deadline()
		val, ok, err := v.GetEx(key, Expiry{Change: true, AtMs: at})
		if string(val) != old.text || ok != had || err != nil {
			t.Fatalf("GetEx: %q, %v, %v, want %q", val, ok, err, old.text)
		}
		if had {
			m.set(key, old.text, at)
		}
		if at != 0 && at <= m.nowMs {
			delete(m.dbs[m.db], string(key))
		}
	default:
		val, ok, err := v.Get(key)
		if string(val) != old.text || ok != had || err != nil {
			t.Fatalf("Get(%.20q): %q, %v, %v, want %q", key, val, ok, err, old.text)
		}
	}
}

func (m *model) stepSet(key []byte, old modelValue, had bool) {
	val := m.value()
	o := SetOptions{
		Cond:       Cond(m.random.IntN(4)),
		Equal:      []byte(old.text),
		ExpireAtMs: m.deadline(),
		WantOld:    m.random.IntN(3) == 0,
	}
	if m.random.IntN(4) == 0 {
		o.KeepTTL, o.ExpireAtMs = true, 0
	}
	r, err := m.v.Set(key, val, o)
	done := o.Cond == Always || had == (o.Cond != IfMissing)
	want := SetResult{Done: done}
	if o.WantOld {
		want.Old, want.HadOld = []byte(old.text), had
	}
	if r.Done != done || r.HadOld != want.HadOld || string(r.Old) != string(want.Old) || err != nil {
		m.t.Fatalf("Set(%.20q, %.20q, %+v): %+v, %v, want %+v", key, val, o, r, err, want)
	}
	switch {
	case !done:
	case o.KeepTTL:
		m.set(key, string(val), old.deadline)
	case o.ExpireAtMs != 0 && o.ExpireAtMs <= m.nowMs:
		delete(m.dbs[m.db], string(key))
	default:
		m.set(key, string(val), o.ExpireAtMs)
	}
}

func (m *model) stepSetRange(key []byte, old modelValue) {
	off, val := m.random.IntN(2000), m.value()
	want := []byte(old.text)
	if len(val) > 0 {
		if gap := off + len(val) - len(want); gap > 0 {
			want = append(want, make([]byte, gap)...)
		}
		copy(want[off:], val)
	}
	n, err := m.v.SetRange(key, int64(off), val, math.MaxInt64)
	if n != int64(len(want)) || err != nil {
		m.t.Fatalf("SetRange: %d, %v, want %d", n, err, len(want))
	}
	if len(val) > 0 {
		m.set(key, string(want), old.deadline)
	}
}

func (m *model) stepIncr(key []byte, old modelValue, had bool) {
	by := int64(m.random.Uint64()) >> m.random.IntN(64)
	n, ok := ParseInteger([]byte(old.text))
	sum, err := m.v.IncrBy(key, by)
	switch {
	case had && !ok:
		wantErr(m.t, err, ErrNotInteger)
	case by > 0 && n > math.MaxInt64-by || by < 0 && n < math.MinInt64-by:
		wantErr(m.t, err, ErrOverflow)
	default:
		if sum != n+by || err != nil {
			m.t.Fatalf("IncrBy %d + %d: %d, %v", n, by, sum, err)
		}
		m.set(key, strconv.FormatInt(sum, 10), old.deadline)
	}
}

// compare checks that the store holds what the model does, by lookup, by count and by scan, and that it is sane.
func (m *model) compare() {
	t, v := m.t, m.v
	t.Helper()
	sane(t, m.s)
	for db := range m.dbs {
		m.db = db
		v.Bind(db, m.nowMs, nil)
		for _, key := range m.keys {
			want, had := m.get(key)
			v.LockKey(key, false)
			e := v.Peek(key)
			val, ok, err := v.stringOf(e)
			if string(val) != want.text || ok != had || err != nil || had && max(e.ExpireAt(), 0) != want.deadline {
				t.Fatalf("%.20q holds %q, %v, %v, expires at %d, want %+v, %v", key, val, ok, err, e.ExpireAt(), want, had)
			}
			v.Unlock()
		}
		seen := map[string]int{}
		for cursor, first := uint64(0), true; first || cursor != 0; first = false {
			cursor = v.ScanBucket(cursor, func(key []byte, e Entry) { seen[string(key)]++ })
		}
		if len(seen) != len(m.dbs[db]) {
			t.Fatalf("scan saw %d keys of %d", len(seen), len(m.dbs[db]))
		}
		for key, n := range seen {
			if _, ok := m.dbs[db][key]; !ok || n != 1 {
				t.Fatalf("scan saw %.20q %d times; it exists: %v", key, n, ok)
			}
		}
	}
	m.db = m.random.IntN(len(m.dbs))
}

func (m *model) fullCycle() {
	m.v.Bind(0, m.nowMs, nil)
	for more := true; more; {
		_, more = m.v.ExpireCycle(1 + m.random.IntN(3))
	}
	for db := range m.dbs {
		m.db = db
		for key := range m.dbs[db] {
			m.get([]byte(key))
		}
		if keys, _ := m.s.Keys(db); keys != int64(len(m.dbs[db])) {
			m.t.Fatalf("after a full cycle %d keys are left, want %d", keys, len(m.dbs[db]))
		}
	}
}

func wantErr(t *testing.T, got, want error) {
	t.Helper()
	if got != want {
		t.Fatalf("error %v, want %v", got, want)
	}
}

func TestModel(t *testing.T) {
	for _, c := range []struct{ keys, shards, steps int }{
		{10, 1, 2000}, {100, 2, 5000}, {3000, 1, 60_000}, {5000, 1, 80_000}, {3000, shardCount, 20_000},
	} {
		t.Run(fmt.Sprintf("%d keys in %d shards", c.keys, c.shards), func(t *testing.T) {
			if invariants {
				c.steps /= 4 // the race detector makes every step slow
			}
			m := newModel(t, rand.Uint64(), c.keys, c.shards)
			for i := range c.steps {
				// Tables grow for a while, then shrink.
				m.step([]int{95, 80, 5, 50}[i*8/c.steps%4])
				switch m.random.IntN(400) {
				case 0:
					m.db = m.random.IntN(2)
				case 1:
					m.nowMs += m.random.Int64N(2000)
				case 2:
					if m.random.IntN(10) == 0 {
						m.fullCycle()
					}
				}
				if i%(c.steps/8) == 0 {
					m.compare()
				}
			}
			m.compare()
			m.v.Exclusive()
			m.v.SwapDB(0, 1)
			m.v.Unlock()
			m.dbs[0], m.dbs[1] = m.dbs[1], m.dbs[0]
			m.compare()
			m.v.Exclusive()
			m.v.FlushDB(0)
			m.v.Unlock()
			clear(m.dbs[0])
			m.compare()
			m.v.Exclusive()
			m.v.FlushAll()
			m.v.Unlock()
			m.s.releasing.Wait()
			if n := m.s.UsedBytes(); n != 0 {
				t.Fatalf("%d bytes in use after FLUSHALL", n)
			}
		})
	}
}
