package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kvserver/hotkeys"
)

// place is where a key is.
type place struct {
	db   int
	name string
}

// held is what a key should have.
type held struct {
	val      string
	encoding string
	deadline int64 // -1: none
	used     int64 // seconds
}

// keysModel runs commands on a store and on a map, which has the same keys, and counts the accesses that the table of
// hot key tracking promises for each command.
type keysModel struct {
	t        *rapid.T
	v, judge *View // judge looks and leaves no trace
	tracker  *hotkeys.Tracker
	windowNs int64 // the tracker's clock
	nowMs    int64
	noTouch  bool
	keys     map[place]held
	accesses map[place]uint64
}

const modelDatabases = 2

var (
	modelNames   = []string{"a", "", strings.Repeat("long", 500)}
	modelStepsMs = []int64{0, 1, 2, 500, 1000, 3000}
	modelValues  = []string{"12", "word", strings.Repeat("medium ", 10), strings.Repeat("x", 1500), strings.Repeat("y", 5000)}
)

func newKeysModel(t *rapid.T) *keysModel {
	m := &keysModel{t: t, nowMs: 1_000_000, keys: map[place]held{}, accesses: map[place]uint64{}}
	s := New(Options{Databases: modelDatabases})
	t.Cleanup(s.Close)
	m.v, m.judge = s.NewView(), s.NewView()
	m.tracker = hotkeys.New(1, func() int64 { return m.windowNs }, 1)
	err := m.tracker.Configure(hotkeys.Options{TopK: 1000, Percentage: 100, Window: hotkeys.WindowMin})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// run runs fn as a command of a client on the database of p, with the keys locked.
func (m *keysModel) run(db int, write bool, fn func(v *View), keys ...string) {
	m.v.Bind(db, m.nowMs, m.tracker.Recorder(0))
	m.v.SetNoTouch(m.noTouch)
	names := make([][]byte, len(keys))
	for i, k := range keys {
		names[i] = []byte(k)
	}
	switch {
	case rapid.IntRange(0, 3).Draw(m.t, "gate") == 0:
		m.v.Exclusive()
	case len(names) == 1:
		m.v.LockKey(names[0], write)
	default:
		m.v.LockKeys(names, write)
	}
	fn(m.v)
	m.v.Unlock()
}

// live returns what a key has, if it exists and has not expired.
func (m *keysModel) live(p place) (held, bool) {
	h, ok := m.keys[p]
	if ok && h.deadline != -1 && h.deadline < m.nowMs {
		delete(m.keys, p)
		return held{}, false
	}
	return h, ok
}

func (m *keysModel) access(p place, n uint64) { m.accesses[p] += n }

// touch notes a lookup of a key that exists.
func (m *keysModel) touch(p place) {
	if h, ok := m.live(p); ok && !m.noTouch {
		h.used = m.nowMs / 1000
		m.keys[p] = h
	}
}

func (m *keysModel) drawPlace(label string) place {
	return place{rapid.IntRange(0, modelDatabases-1).Draw(m.t, label+" db"), rapid.SampledFrom(modelNames).Draw(m.t, label)}
}

func (m *keysModel) want(what string, got, want any) {
	m.t.Helper()
	if got != want {
		m.t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// set stores a string. How SET works is not the matter here; what it stored is read back for the model.
func (m *keysModel) set() {
	p := m.drawPlace("key")
	val := rapid.SampledFrom(modelValues).Draw(m.t, "value")
	raw := rapid.Bool().Draw(m.t, "raw")
	m.v.Bind(p.db, m.nowMs, nil)
	m.v.SetNoTouch(false)
	key := []byte(p.name)
	m.v.LockKey(key, true)
	defer m.v.Unlock()
	m.v.Remove(key)
	m.v.Set(key, []byte(val), SetOptions{})
	if raw {
		if _, err := m.v.Append(key, []byte("1"), 1<<20); err != nil {
			m.t.Fatal(err)
		}
		val += "1"
	}
	m.keys[p] = held{val, m.v.Peek(key).Encoding(), -1, m.nowMs / 1000}
}

// change overwrites in place, which must not reach into a copy.
func (m *keysModel) change() {
	p := m.drawPlace("key")
	h, ok := m.live(p)
	if !ok {
		return
	}
	first := rapid.SampledFrom([]string{"u", "v"}).Draw(m.t, "first")
	m.v.Bind(p.db, m.nowMs, nil)
	m.v.SetNoTouch(false)
	key := []byte(p.name)
	m.v.LockKey(key, true)
	defer m.v.Unlock()
	if _, err := m.v.SetRange(key, 0, []byte(first), 1<<20); err != nil {
		m.t.Fatal(err)
	}
	m.keys[p] = held{first + h.val[1:], m.v.Peek(key).Encoding(), h.deadline, m.nowMs / 1000}
}

func (m *keysModel) remove() {
	p := m.drawPlace("key")
	_, want := m.live(p)
	if want {
		m.access(p, 1)
	}
	delete(m.keys, p)
	m.run(p.db, true, func(v *View) { m.want("Remove", v.Remove([]byte(p.name)), want) }, p.name)
}

func (m *keysModel) rename() {
	from := m.drawPlace("from")
	to := place{from.db, m.drawPlace("to").name}
	nx := rapid.Bool().Draw(m.t, "nx")
	m.access(from, 1)
	m.touch(from)
	h, ok := m.live(from)
	done, wantErr := false, error(nil)
	switch {
	case !ok:
		wantErr = ErrNoKey
	case from == to:
		done = !nx
	default:
		m.access(to, 1)
		m.touch(to)
		_, exists := m.live(to)
		if done = !exists || !nx; !done {
			break
		}
		if exists {
			m.access(to, 1)
		}
		m.access(from, 1)
		m.keys[to] = h
		delete(m.keys, from)
	}
	m.run(from.db, true, func(v *View) {
		got, err := v.Rename([]byte(from.name), []byte(to.name), nx)
		m.want("Rename", got, done)
		m.want("Rename error", err, wantErr)
	}, from.name, to.name)
}

func (m *keysModel) move() {
	from := m.drawPlace("key")
	to := place{(from.db + rapid.IntRange(1, modelDatabases-1).Draw(m.t, "by")) % modelDatabases, from.name}
	m.access(from, 1)
	m.touch(from)
	h, done := m.live(from)
	if done {
		m.access(to, 1)
		m.touch(to)
		_, exists := m.live(to)
		done = !exists
	}
	if done {
		m.access(from, 1)
		m.keys[to] = h
		delete(m.keys, from)
	}
	m.run(from.db, true, func(v *View) {
		m.want("Move", v.Move([]byte(from.name), to.db), done)
		m.want("database after Move", v.DB(), from.db)
	}, from.name)
}

func (m *keysModel) copy() {
	from, to := m.drawPlace("from"), m.drawPlace("to")
	if from == to {
		return
	}
	replace := rapid.Bool().Draw(m.t, "replace")
	m.access(from, 1)
	m.touch(from)
	h, done := m.live(from)
	if done {
		m.access(to, 1)
		m.touch(to)
		_, exists := m.live(to)
		if done = !exists || replace; done {
			h.used = m.nowMs / 1000
			m.keys[to] = h
		}
		if exists && replace {
			m.access(to, 1)
		}
	}
	m.run(from.db, true, func(v *View) {
		m.want("Copy", v.Copy([]byte(from.name), []byte(to.name), to.db, replace), done)
		m.want("database after Copy", v.DB(), from.db)
	}, from.name, to.name)
}

func (m *keysModel) expire() {
	p := m.drawPlace("key")
	at := m.nowMs
	if h, ok := m.live(p); ok && h.deadline != -1 && rapid.Bool().Draw(m.t, "from deadline") {
		at = h.deadline
	}
	at += rapid.SampledFrom(modelStepsMs).Draw(m.t, "in") - 1
	cond := rapid.SampledFrom([]ExpireCond{0, IfNoDeadline, IfDeadline, IfLater, IfSooner, IfDeadline | IfLater, IfDeadline | IfSooner}).Draw(m.t, "cond")
	m.access(p, 1)
	m.touch(p)
	h, done := m.live(p)
	if done && cond&IfNoDeadline != 0 {
		done = h.deadline == -1
	}
	if done && cond&(IfDeadline|IfLater) != 0 {
		done = h.deadline != -1
	}
	if done && cond&IfLater != 0 {
		done = at > h.deadline
	}
	if done && cond&IfSooner != 0 {
		done = h.deadline == -1 || at < h.deadline
	}
	if done {
		h.deadline = at
		m.keys[p] = h
		if at <= m.nowMs {
			delete(m.keys, p)
		}
	}
	m.run(p.db, true, func(v *View) { m.want("Expire", v.Expire([]byte(p.name), at, cond), done) }, p.name)
}

func (m *keysModel) persist() {
	p := m.drawPlace("key")
	m.access(p, 1)
	m.touch(p)
	h, ok := m.live(p)
	want := ok && h.deadline != -1
	if want {
		h.deadline = -1
		m.keys[p] = h
	}
	m.run(p.db, true, func(v *View) { m.want("Persist", v.Persist([]byte(p.name)), want) }, p.name)
}

// ask looks a key up under a read lock, so that expired keys are removed by Unlock.
func (m *keysModel) ask() {
	p := m.drawPlace("key")
	m.access(p, 1)
	_, want := m.live(p)
	m.run(p.db, false, func(v *View) { m.want("exists", v.LookupUntouched([]byte(p.name)).Exists(), want) }, p.name)
}

func (m *keysModel) randomKey() {
	db := rapid.IntRange(0, modelDatabases-1).Draw(m.t, "db")
	m.v.Bind(db, m.nowMs, m.tracker.Recorder(0))
	key, ok := m.v.RandomKey(rand.New(rand.NewPCG(rapid.Uint64().Draw(m.t, "seed"), 0)), nil)
	if _, live := m.live(place{db, string(key)}); ok && !live {
		m.t.Fatalf("RandomKey returned %q, which does not exist", key)
	}
	if m.want("RandomKey found a key", ok, len(m.liveNames(db)) > 0); !ok && key != nil {
		m.t.Fatalf("RandomKey returned %q and no key", key)
	}
}

func (m *keysModel) liveNames(db int) []string {
	names := []string{}
	for p := range m.keys {
		if _, ok := m.live(p); ok && p.db == db {
			names = append(names, p.name)
		}
	}
	slices.Sort(names)
	return names
}

// check compares everything that the store has.
func (m *keysModel) check() {
	for db := range modelDatabases {
		m.judge.Bind(db, m.nowMs, nil)
		var names []string
		for cursor, more := uint64(0), true; more; more = cursor != 0 {
			cursor = m.judge.Scan(cursor, 2, func(key []byte, _ Entry) bool {
				names = append(names, string(key))
				return true
			})
		}
		slices.Sort(names)
		if want := m.liveNames(db); !slices.Equal(names, want) {
			m.t.Fatalf("database %d has %.80q, want %.80q", db, names, want)
		}
		for _, name := range names {
			want := m.keys[place{db, name}]
			key := []byte(name)
			m.judge.LockKey(key, false)
			e := m.judge.Peek(key)
			got := held{string(m.judge.string(e)), e.Encoding(), e.ExpireAt(), int64((e.AccessWord() + clockEpoch) &^ heldMark)}
			m.judge.Unlock()
			if got != want {
				m.t.Fatalf("%.20q in database %d has %.80v, want %.80v", name, db, fmt.Sprint(got), fmt.Sprint(want))
			}
		}
	}
}

// finish compares the accesses.
func (m *keysModel) finish() {
	m.windowNs += int64(hotkeys.WindowMin)
	m.tracker.Rotate()
	got := map[place]uint64{}
	for _, e := range m.tracker.Report(hotkeys.Query{DB: hotkeys.AllDBs}).Entries {
		got[place{e.DB, string(e.Key)}] = e.Count
	}
	for p, n := range m.accesses {
		if got[p] != n {
			m.t.Fatalf("%.20q in database %d was accessed %d times, want %d", p.name, p.db, got[p], n)
		}
		delete(got, p)
	}
	if len(got) > 0 {
		m.t.Fatalf("accesses to others: %v", got)
	}
}

func TestKeysModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newKeysModel(t)
		ops := []func(){
			m.set, m.set, m.change, m.remove, m.rename, m.move, m.copy, m.expire, m.expire, m.persist, m.ask, m.randomKey,
			func() { m.nowMs += rapid.SampledFrom(modelStepsMs).Draw(t, "ms") },
			func() { m.noTouch = !m.noTouch },
		}
		for range rapid.SampledFrom([]int{5, 20, 100, 300}).Draw(t, "steps") {
			rapid.SampledFrom(ops).Draw(t, "op")()
			m.check()
		}
		m.finish()
	})
}
