package store

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kvserver/store/quicklist"
)

// listModel is lists as plain Go has them, beside a store.
type listModel struct {
	t     *testing.T
	r     *rand.Rand
	s     *Store
	v     *View
	lists map[string][]string
	burst int // the most elements that are pushed at once
}

func newListModel(t *testing.T, seed uint64) *listModel {
	t.Logf("seed %d", seed)
	m := &listModel{t: t, r: rand.New(rand.NewPCG(seed, 0)), s: New(Options{Databases: 1}), lists: map[string][]string{}}
	t.Cleanup(m.s.Close)
	m.v = m.s.NewView()
	m.v.Bind(0, 1000, nil)
	m.v.Exclusive()
	return m
}

func (m *listModel) key() string { return string(rune('a' + m.r.IntN(3))) }

// elem is most often one that is in a list already.
func (m *listModel) elem() string {
	switch m.r.IntN(12) {
	case 0:
		return strings.Repeat("long", 1+m.r.IntN(1+m.r.IntN(1000)))
	case 1:
		return fmt.Sprint(m.r.Int64() >> m.r.IntN(64))
	case 2:
		return ""
	}
	return fmt.Sprint(m.r.IntN(12))
}

func (m *listModel) end() End { return End(m.r.IntN(2)) }

func (m *listModel) expect(what string, got, want any) {
	m.t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		m.t.Fatalf("%s: %.200s, want %.200s", what, g, w)
	}
}

// set gives the model a list; one without elements does not exist.
func (m *listModel) set(key string, list []string) {
	if m.lists[key] = list; len(list) == 0 {
		delete(m.lists, key)
	}
}

func (m *listModel) push() {
	key, end := m.key(), m.end()
	list, exists := m.lists[key]
	mustExist := m.r.IntN(4) == 0
	var elems [][]byte
	for range 1 + m.r.IntN(m.burst) {
		elems = append(elems, []byte(m.elem()))
	}
	if exists || !mustExist {
		for _, elem := range elems {
			if end == Head {
				list = slices.Insert(list, 0, string(elem))
			} else {
				list = append(list, string(elem))
			}
		}
		m.set(key, list)
	}
	n, err := m.v.ListPush([]byte(key), end, elems, mustExist)
	m.expect("length after a push", fmt.Sprint(n, err), fmt.Sprint(len(m.lists[key]), nil))
}

func (m *listModel) pop() {
	key, end := m.key(), m.end()
	list := m.lists[key]
	if m.r.IntN(2) == 0 {
		elem, ok, _ := m.v.ListPop([]byte(key), end)
		m.expect("popped", ok, len(list) > 0)
		if ok {
			var want string
			want, list = cut(list, end)
			m.expect("popped", string(elem), want)
			m.set(key, list)
		}
		return
	}
	count := m.r.IntN(8)
	var want, got []string
	for exists := len(list) > 0; exists && len(want) < count && len(list) > 0; {
		var elem string
		elem, list = cut(list, end)
		want = append(want, elem)
	}
	ok, err := m.v.ListPopSome([]byte(key), end, int64(count), func(e Elements) { got = m.collect(e) })
	m.expect("popped", fmt.Sprint(got, ok, err), fmt.Sprint(want, len(m.lists[key]) > 0, nil))
	m.set(key, list)
}

// cut takes an element from an end of a list.
func cut(list []string, end End) (elem string, rest []string) {
	if end == Head {
		return list[0], slices.Clone(list[1:])
	}
	return list[len(list)-1], list[:len(list)-1]
}

func (m *listModel) collect(e Elements) (elems []string) {
	e.Each(func(elem []byte) { elems = append(elems, string(elem)) })
	if len(elems) != e.Len() {
		m.t.Fatalf("%d elements, says %d", len(elems), e.Len())
	}
	return elems
}

func (m *listModel) setIndex() {
	key, elem := m.key(), m.elem()
	list := m.lists[key]
	index := m.r.IntN(2*len(list)+3) - len(list) - 1
	at, want := index, error(nil)
	if at < 0 {
		at += len(list)
	}
	switch {
	case len(list) == 0:
		want = ErrNoKey
	case at < 0 || at >= len(list):
		want = ErrIndexRange
	default:
		list[at] = elem
	}
	m.expect("set", m.v.ListSet([]byte(key), int64(index), []byte(elem)), want)
	got, ok, _ := m.v.ListIndex([]byte(key), int64(index))
	m.expect("index", ok, want == nil)
	if ok {
		m.expect("element", string(got), elem)
	}
}

func (m *listModel) insert() {
	key, pivot, elem, after := m.key(), m.elem(), m.elem(), m.r.IntN(2)
	list := m.lists[key]
	want := 0
	if len(list) > 0 {
		want = -1
		if at := slices.Index(list, pivot); at >= 0 {
			m.set(key, slices.Insert(list, at+after, elem))
			want = len(list) + 1
		}
	}
	n, err := m.v.ListInsert([]byte(key), []byte(pivot), []byte(elem), after == 1)
	m.expect("length after an insertion", fmt.Sprint(n, err), fmt.Sprint(want, nil))
}

func (m *listModel) remove() {
	key, elem, count := m.key(), m.elem(), m.r.IntN(7)-3
	list := slices.Clone(m.lists[key])
	if count < 0 {
		slices.Reverse(list)
	}
	removed := 0
	list = slices.DeleteFunc(list, func(e string) bool {
		if e != elem || removed == max(count, -count) && count != 0 {
			return false
		}
		removed++
		return true
	})
	if count < 0 {
		slices.Reverse(list)
	}
	n, err := m.v.ListRemove([]byte(key), int64(count), []byte(elem))
	m.expect("removed", fmt.Sprint(n, err), fmt.Sprint(removed, nil))
	m.set(key, list)
}

// bounds returns the first index and the one behind the last of a range as commands give it.
func bounds(start, end, n int) (from, to int) {
	if start < 0 {
		start = max(0, start+n)
	}
	if end < 0 {
		end += n
	}
	if end = min(end, n-1); start > end {
		return 0, 0
	}
	return start, end + 1
}

func (m *listModel) trim() {
	key := m.key()
	list := m.lists[key]
	start, end := m.r.IntN(3), -1-m.r.IntN(3)
	switch m.r.IntN(40) {
	case 0:
		start, end = -m.r.IntN(10), 100
	case 1:
		start, end = m.r.IntN(len(list)+1), m.r.IntN(len(list)+1)
	}
	from, to := bounds(start, end, len(list))
	m.expect("trim", m.v.ListTrim([]byte(key), int64(start), int64(end)), nil)
	m.set(key, slices.Clone(list[from:to]))
}

func (m *listModel) move() {
	from, to, take, give := m.key(), m.key(), m.end(), m.end()
	elem, ok, err := m.v.ListMove([]byte(from), []byte(to), take, give)
	m.expect("moved", fmt.Sprint(ok, err), fmt.Sprint(len(m.lists[from]) > 0, nil))
	if !ok {
		return
	}
	want, rest := cut(m.lists[from], take)
	m.set(from, rest)
	if give == Head {
		m.set(to, slices.Insert(slices.Clone(m.lists[to]), 0, want))
	} else {
		m.set(to, append(m.lists[to], want))
	}
	m.expect("moved", string(elem), want)
}

func (m *listModel) positions() {
	key, elem := m.key(), m.elem()
	list := m.lists[key]
	s := Search{Rank: int64(m.r.IntN(3) + 1), Count: int64(m.r.IntN(3)), Most: int64(m.r.IntN(2) * m.r.IntN(40))}
	step, at := 1, 0
	rank := s.Rank
	if m.r.IntN(2) == 0 {
		s.Rank, step, at = -s.Rank, -1, len(list)-1
	}
	var want, got []int64
	for seen := 0; seen < len(list) && (s.Most == 0 || seen < int(s.Most)); seen++ {
		if list[at] == elem {
			if rank--; rank <= 0 && (s.Count == 0 || len(want) < int(s.Count)) {
				want = append(want, int64(at))
			}
		}
		at += step
	}
	err := m.v.ListPositions([]byte(key), []byte(elem), s, func(index int64) { got = append(got, index) })
	m.expect(fmt.Sprintf("positions %+v", s), fmt.Sprint(got, err), fmt.Sprint(want, nil))
}

// keyspace does what happens to keys whatever they hold.
func (m *listModel) keyspace() {
	from, to := m.key(), m.key()
	list, ok := m.lists[from]
	switch {
	case m.r.IntN(20) > 0:
	case from == to:
		m.expect("remove", m.v.Remove([]byte(from)), ok)
		m.set(from, nil)
	case !ok:
	case m.r.IntN(2) == 0:
		m.expect("copy", m.v.Copy([]byte(from), []byte(to), 0, true), true)
		m.set(to, slices.Clone(list))
	default:
		m.v.Rename([]byte(from), []byte(to), false)
		m.set(to, list)
		m.set(from, nil)
	}
}

// check compares all lists with the store, and their encoding with what it must be.
func (m *listModel) check() {
	m.t.Helper()
	bytesMax, countMax := m.v.listLimit()
	for _, key := range []string{"a", "b", "c"} {
		e := m.v.Peek([]byte(key))
		list := m.lists[key]
		m.expect("exists", e.Exists(), len(list) > 0)
		whole, err := m.v.ListRange([]byte(key), 0, -1)
		m.expect("list", fmt.Sprintf("%q %v", m.collect(whole), err), fmt.Sprintf("%q %v", slices.Clone(list), nil))
		start, end := m.r.IntN(len(list)+4)-2, m.r.IntN(len(list)+4)-2
		from, to := bounds(start, end, len(list))
		part, _ := m.v.ListRange([]byte(key), int64(start), int64(end))
		m.expect("range", fmt.Sprintf("%q", m.collect(part)), fmt.Sprintf("%q", append([]string(nil), list[from:to]...)))
		n, _ := m.v.ListLen([]byte(key))
		m.expect("length", n, len(list))
		if !e.Exists() {
			continue
		}
		packed := quicklist.New(m.s.pool, &m.s.objectBytes)
		for _, elem := range list {
			packed.Push(Tail, []byte(elem))
		}
		if small := packed.PackedBytes() <= bytesMax/2 && len(list) <= countMax/2; small && e.kind() != kindListPacked {
			m.t.Fatalf("list of %d elements, %d bytes is a %s", len(list), packed.PackedBytes(), e.Encoding())
		}
		// The headers of the elements that were added last are not held against the limit.
		const headersMax = 64 * 10
		if large := packed.PackedBytes() > bytesMax+headersMax || len(list) > countMax; large && e.kind() != kindList {
			m.t.Fatalf("list of %d elements, %d bytes is a %s", len(list), packed.PackedBytes(), e.Encoding())
		}
		packed.Release()
	}
	sane(m.t, m.s)
}

func TestListModel(t *testing.T) {
	for _, size := range []int{-1, -2, -5, 1, 7, 128} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			m := newListModel(t, rand.Uint64())
			m.s.encodings.ListMaxSize = size
			for i := range 2000 {
				m.burst = 4 + 60*(i/500%2)
				do := []func(){m.push, m.push, m.push, m.pop, m.setIndex, m.insert, m.insert, m.remove, m.trim, m.move, m.positions, m.keyspace}
				do[m.r.IntN(len(do))]()
				m.v.Unlock()
				m.v.Exclusive()
				if i%100 == 0 {
					m.check()
				}
			}
			for _, key := range []string{"a", "b", "c"} {
				m.v.Remove([]byte(key))
			}
			m.v.Unlock()
			m.v.Exclusive()
			m.lists = map[string][]string{}
			m.check()
		})
	}
}

// TestListLimits: every value of the parameter has a meaning.
func TestListLimits(t *testing.T) {
	m := newListModel(t, 0)
	for _, c := range []struct{ size, bytes, elements int }{
		{-1, 4 << 10, math.MaxInt}, {-2, 8 << 10, math.MaxInt}, {-5, 64 << 10, math.MaxInt}, {-6, 64 << 10, math.MaxInt},
		{math.MinInt32, 64 << 10, math.MaxInt}, {0, 8 << 10, 1}, {1, 8 << 10, 1}, {1000, 8 << 10, 1000},
	} {
		m.s.encodings.ListMaxSize = c.size
		if bytes, elements := m.v.listLimit(); bytes != c.bytes || elements != c.elements {
			t.Errorf("%d: %d bytes, %d elements", c.size, bytes, elements)
		}
	}
}

// TestListDeadlines: what changes a list leaves its deadline, in every encoding.
func TestListDeadlines(t *testing.T) {
	m := newListModel(t, 0)
	m.s.encodings.ListMaxSize = 4
	key := []byte("a")
	m.v.ListPush(key, Tail, [][]byte{[]byte("x")}, false)
	m.v.Expire(key, 5000, 0)
	still := func(what, encoding string) {
		t.Helper()
		if e := m.v.Peek(key); e.ExpireAt() != 5000 || e.Encoding() != encoding {
			t.Fatalf("%s: a %s with the deadline %d", what, e.Encoding(), e.ExpireAt())
		}
	}
	for range 5 {
		m.v.ListPush(key, Tail, [][]byte{[]byte("x")}, false)
	}
	still("grown", "quicklist")
	m.v.ListTrim(key, 0, 1)
	still("shrunk", "listpack")
	m.v.ListSet(key, 0, []byte(strings.Repeat("y", 10_000)))
	still("with a long element", "quicklist")
	m.v.Bind(0, 6000, nil)
	if n, _ := m.v.ListLen(key); n != 0 {
		t.Fatalf("%d elements after the deadline", n)
	}
	m.v.Unlock()
	m.v.Exclusive()
	sane(t, m.s)
}

func TestListTypes(t *testing.T) {
	m := newListModel(t, 0)
	key := []byte("string")
	m.v.Set(key, []byte("v"), SetOptions{})
	m.v.ListPush([]byte("list"), Tail, [][]byte{[]byte("x")}, false)
	_, errPush := m.v.ListPush(key, Head, nil, true)
	_, errLen := m.v.ListLen(key)
	_, errLenWrite := m.v.ListLenWrite(key)
	_, errRange := m.v.ListRange(key, 0, -1)
	_, _, errIndex := m.v.ListIndex(key, 0)
	_, _, errPop := m.v.ListPop(key, Head)
	_, errSome := m.v.ListPopSome(key, Head, 1, nil)
	_, errInsert := m.v.ListInsert(key, nil, nil, true)
	_, errRemove := m.v.ListRemove(key, 0, nil)
	_, _, errFrom := m.v.ListMove(key, []byte("list"), Head, Head)
	_, _, errTo := m.v.ListMove([]byte("list"), key, Head, Head)
	for i, err := range []error{errPush, errLen, errLenWrite, errRange, errIndex, errPop, errSome, errInsert, errRemove, errFrom, errTo,
		m.v.ListSet(key, 0, nil), m.v.ListTrim(key, 0, 0), m.v.ListPositions(key, nil, Search{Rank: 1}, nil)} {
		if err != ErrWrongType {
			t.Errorf("%d: %v", i, err)
		}
	}
}

func BenchmarkListPush(b *testing.B) {
	for _, bench := range []struct {
		name string
		end  End
	}{{"left", Head}, {"right", Tail}} {
		b.Run(bench.name, func(b *testing.B) {
			s := New(Options{Databases: 1})
			defer s.Close()
			v := s.NewView()
			v.Bind(0, 1000, nil)
			key, elems := []byte("list"), [][]byte{[]byte("element:123")}
			for b.Loop() {
				v.LockKey(key, true)
				v.ListPush(key, bench.end, elems, false)
				v.Unlock()
			}
		})
	}
}

func BenchmarkListRange100(b *testing.B) {
	s := New(Options{Databases: 1})
	defer s.Close()
	v := s.NewView()
	v.Bind(0, 1000, nil)
	key := []byte("list")
	v.Exclusive()
	for i := range 100_000 {
		v.ListPush(key, Tail, [][]byte{fmt.Appendf(nil, "element:%d", i)}, false)
	}
	v.Unlock()
	reply := make([]byte, 0, 4096)
	for b.Loop() {
		v.LockKey(key, false)
		list, _ := v.ListRange(key, 0, 99)
		reply = reply[:0]
		list.Each(func(elem []byte) { reply = append(reply, elem...) })
		v.Unlock()
	}
}

// TestLongListsAreCut: of what is cut off a long list nothing remains, and the rest is what it was.
func TestLongListsAreCut(t *testing.T) {
	m := newListModel(t, 0)
	key := []byte("a")
	push := func(n int) {
		elems := make([][]byte, n)
		for i := range elems {
			elems[i] = fmt.Appendf(nil, "element:%d", i)
		}
		m.v.ListPush(key, Tail, elems, false)
	}
	settled := func(want int) {
		t.Helper()
		m.v.Unlock()
		m.s.releasing.Wait()
		m.v.Exclusive()
		if n, _ := m.v.ListLen(key); n != int64(want) {
			t.Fatalf("%d elements, want %d", n, want)
		}
		sane(t, m.s)
	}
	push(200_000)
	m.v.ListTrim(key, 100_000, 100_004)
	settled(5)
	first, _, _ := m.v.ListIndex(key, 0)
	m.expect("first element", string(first), "element:100000")
	push(200_000)
	m.v.ListPopSome(key, Tail, 199_999, func(e Elements) {
		if n := len(m.collect(e)); n != 199_999 {
			t.Errorf("popped %d", n)
		}
	})
	settled(6)
	push(200_000)
	m.v.ListTrim(key, 1, 0)
	settled(0)
}
