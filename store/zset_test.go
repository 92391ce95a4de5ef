package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"kvserver/store/listpack"
)

// zsetModel is sorted sets as plain maps, beside the store that is tested against them.
type zsetModel struct {
	t       *testing.T
	random  *rand.Rand
	s       *Store
	v       *View
	keys    [][]byte
	sets    map[string]map[string]float64
	members int // as many different ones
}

func newZsetModel(t *testing.T, seed uint64, members int, e Encodings) *zsetModel {
	t.Logf("seed %d", seed)
	m := &zsetModel{t: t, random: rand.New(rand.NewPCG(seed, 0)), s: New(Options{Databases: 1}), members: members}
	t.Cleanup(m.s.Close)
	m.s.SetEncodings(e)
	m.v = m.s.NewView()
	m.sets = map[string]map[string]float64{}
	for i := range 4 {
		m.keys = append(m.keys, fmt.Appendf(nil, "zset:%d", i))
	}
	return m
}

func (m *zsetModel) key() []byte { return m.keys[m.random.IntN(len(m.keys))] }

func (m *zsetModel) member() []byte {
	n := m.random.IntN(m.members)
	switch m.random.IntN(100) {
	case 0:
		return fmt.Appendf(nil, "long:%0*d", 10+n%60, n)
	case 1:
		return fmt.Appendf(nil, "longer:%0*d", 500+n%1000, n)
	}
	if n%3 == 0 {
		return fmt.Appendf(nil, "%d", n)
	}
	return fmt.Appendf(nil, "m%d", n)
}

func (m *zsetModel) score() float64 {
	switch m.random.IntN(20) {
	case 0:
		return math.Inf(1)
	case 1:
		return math.Inf(-1)
	case 2, 3:
		return m.random.NormFloat64()
	case 4:
		return float64(m.random.Int64())
	}
	return float64(m.random.IntN(20))
}

// sorted returns the model of a set in order.
func (m *zsetModel) sorted(key []byte) []ZElement {
	set := m.sets[string(key)]
	list := make([]ZElement, 0, len(set))
	for member, score := range set {
		list = append(list, ZElement{[]byte(member), score})
	}
	zsetInOrder(list)
	return list
}

func zsetInOrder(list []ZElement) {
	slices.SortFunc(list, func(a, b ZElement) int {
		return cmp.Or(cmp.Compare(a.Score, b.Score), bytes.Compare(a.Member, b.Member))
	})
}

// do runs fn with everything locked.
func (m *zsetModel) do(fn func()) {
	m.v.Bind(0, 1000, nil)
	m.v.LockKeys(m.keys, true)
	fn()
	m.v.Unlock()
}

func (m *zsetModel) step() {
	switch m.random.IntN(12) {
	case 0, 1, 2, 3, 4:
		m.add()
	case 5, 6:
		m.remove()
	case 7:
		m.removeRange()
	case 8:
		m.pop()
	case 9:
		m.combine()
	case 10:
		m.rangeStore()
	default:
		m.read()
	}
}

func (m *zsetModel) add() {
	key := m.key()
	var o ZAddOptions
	bits := m.random.IntN(64)
	o.IfMissing, o.IfExists, o.Increment = bits&7 == 1, bits&7 == 2, bits&16 != 0
	if !o.IfMissing {
		o.Greater, o.Less = bits&40 == 8, bits&40 == 32
	}
	elements := make([]ZElement, 1)
	if !o.Increment {
		elements = make([]ZElement, 1+m.random.IntN(20))
	}
	for i := range elements {
		elements[i] = ZElement{m.member(), m.score()}
	}
	var want ZAddResult
	var wantErr error
	set := maps.Clone(m.sets[string(key)])
	for _, el := range elements {
		old, found := set[string(el.Member)]
		score := el.Score
		if found && o.Increment {
			score += old
		}
		want.Done = false
		switch {
		case found && o.IfMissing || !found && o.IfExists:
		case math.IsNaN(score):
			wantErr = ErrScoreNaN
		case found && (o.Less && score >= old || o.Greater && score <= old):
		default:
			want.Score, want.Done = score, true
			if set == nil {
				set = map[string]float64{}
			}
			set[string(el.Member)] = score
			if !found {
				want.Added++
			} else if score != old {
				want.Updated++
			}
		}
	}
	m.do(func() {
		got, err := m.v.ZAdd(key, elements, o)
		if !errors.Is(err, wantErr) || err == nil && got != want {
			m.t.Fatalf("ZAdd %v: %+v, %v, want %+v, %v", o, got, err, want, wantErr)
		}
	})
	if wantErr == nil && len(set) > 0 {
		m.sets[string(key)] = set
	}
}

func (m *zsetModel) forget(key []byte, members ...ZElement) {
	set := m.sets[string(key)]
	for _, el := range members {
		delete(set, string(el.Member))
	}
	if len(set) == 0 {
		delete(m.sets, string(key))
	}
}

func (m *zsetModel) remove() {
	key := m.key()
	var members [][]byte
	var gone []ZElement
	for range 1 + m.random.IntN(8) {
		member := m.member()
		members = append(members, member)
		if _, ok := m.sets[string(key)][string(member)]; ok {
			gone = append(gone, ZElement{Member: member})
			m.forget(key, gone[len(gone)-1])
		}
	}
	m.do(func() {
		if n, err := m.v.ZRem(key, members); n != int64(len(gone)) || err != nil {
			m.t.Fatalf("ZRem: %d, %v, want %d", n, err, len(gone))
		}
	})
}

// aRange returns a range and the model's elements in it.
func (m *zsetModel) aRange(key []byte) (ZRange, []ZElement) {
	list := m.sorted(key)
	n := len(list)
	if m.random.IntN(2) == 0 {
		start, stop := m.random.IntN(2*n+3)-n-1, m.random.IntN(2*n+3)-n-1
		if m.random.IntN(4) > 0 {
			stop = start + m.random.IntN(5)
		}
		from, to := start, stop
		if from < 0 {
			from = max(from+n, 0)
		}
		if to < 0 {
			to += n
		}
		to = min(to, n-1) + 1
		return RankRange{int64(start), int64(stop)}, list[min(from, max(to, 0), n):max(to, min(from, max(to, 0), n))]
	}
	r := ScoreRange{m.score(), m.score(), m.random.IntN(2) == 0, m.random.IntN(2) == 0}
	if m.random.IntN(3) > 0 {
		r.Max = r.Min + 1
	}
	return r, slices.DeleteFunc(list, func(el ZElement) bool {
		return el.Score < r.Min || el.Score == r.Min && r.MinOpen || el.Score > r.Max || el.Score == r.Max && r.MaxOpen
	})
}

func (m *zsetModel) removeRange() {
	key := m.key()
	r, gone := m.aRange(key)
	if m.random.IntN(5) > 0 && len(gone) > 30 {
		return // or the sets would stay small
	}
	m.forget(key, gone...)
	m.do(func() {
		if n, err := m.v.ZRemRange(key, r); n != int64(len(gone)) || err != nil {
			m.t.Fatalf("ZRemRange %v: %d, %v, want %d", r, n, err, len(gone))
		}
	})
}

func (m *zsetModel) pop() {
	key := m.key()
	list := m.sorted(key)
	had := len(list) > 0
	last := m.random.IntN(2) == 0
	if last {
		slices.Reverse(list)
	}
	count := m.random.Int64N(6)
	list = list[:min(int(count), len(list))]
	m.forget(key, list...)
	m.do(func() {
		var got []ZElement
		n := -1
		found, err := m.v.ZPop(key, last, count, func(size int) { n = size }, func(member []byte, score float64) {
			got = append(got, ZElement{bytes.Clone(member), score})
		})
		if err != nil || found != had || found && n != len(list) {
			m.t.Fatalf("ZPop: found %v of %d, %v, want %d", found, n, err, len(list))
		}
		m.equal("ZPop", got, list)
	})
}

func (m *zsetModel) equal(what string, got, want []ZElement) {
	m.t.Helper()
	if !slices.EqualFunc(got, want, func(a, b ZElement) bool {
		return string(a.Member) == string(b.Member) && a.Score == b.Score
	}) {
		m.t.Fatalf("%s: got %d elements %.300s, want %d %.300s", what, len(got), fmt.Sprint(got), len(want), fmt.Sprint(want))
	}
}

func (m *zsetModel) combine() {
	o := ZOperation{Op: SetOp(m.random.IntN(3)), Aggregate: ZAggregate(m.random.IntN(3))}
	most := 3
	if o.Aggregate == ZSum {
		most = 2 // of three the order of additions matters, for the sum of infinities is 0
	}
	for range 1 + m.random.IntN(most) {
		o.Keys = append(o.Keys, m.key())
		if o.Op != Difference {
			o.Weights = append(o.Weights, float64(1+m.random.IntN(3)))
		}
	}
	want := m.combined(o)
	to := m.key()
	m.do(func() {
		got, err := m.v.ZCombine(o)
		if err != nil {
			m.t.Fatal(err)
		}
		m.nearlyEqual(got, want)
		if o.Op == Intersection {
			if n, err := m.v.ZInterCard(o.Keys, 3); n != int64(min(len(want), 3)) || err != nil {
				m.t.Fatalf("ZInterCard: %d, %v, want at most 3 of %d", n, err, len(want))
			}
		}
		n, err := m.v.ZCombineStore(to, o)
		if n != int64(len(want)) || err != nil {
			m.t.Fatalf("ZCombineStore: %d, %v, want %d", n, err, len(want))
		}
		// Sums of fractions depend on the order, so the model takes what was stored.
		s := m.v.sortedOf(m.v.Peek(to))
		set := map[string]float64{}
		s.Each(0, s.Len(), false, func(member []byte, score float64) bool {
			set[string(member)] = score
			return true
		})
		delete(m.sets, string(to))
		if len(set) > 0 {
			m.sets[string(to)] = set
		}
		m.nearlyEqual(m.sorted(to), want)
	})
}

func (m *zsetModel) nearlyEqual(got, want []ZElement) {
	m.t.Helper()
	scores := map[string]float64{}
	for _, el := range want {
		scores[string(el.Member)] = el.Score
	}
	for _, el := range got {
		score, ok := scores[string(el.Member)]
		if !ok || score != el.Score && math.Abs(score-el.Score) > 1e-9*math.Abs(score) {
			m.t.Fatalf("%q has score %v, want %v (%v)", el.Member, el.Score, score, ok)
		}
	}
	if len(got) != len(want) || !slices.IsSortedFunc(got, func(a, b ZElement) int {
		return cmp.Or(cmp.Compare(a.Score, b.Score), bytes.Compare(a.Member, b.Member))
	}) {
		m.t.Fatalf("%d elements, want %d, or they are out of order", len(got), len(want))
	}
}

func (m *zsetModel) combined(o ZOperation) (list []ZElement) {
	result := map[string]float64{}
	number := func(f float64) float64 {
		if math.IsNaN(f) {
			return 0
		}
		return f
	}
	for i, key := range o.Keys {
		weight := 1.0
		if o.Weights != nil {
			weight = o.Weights[i]
		}
		set := m.sets[string(key)]
		if i > 0 && o.Op == Intersection {
			maps.DeleteFunc(result, func(member string, _ float64) bool {
				_, ok := set[member]
				return !ok
			})
		}
		for member, score := range set {
			old, found := result[member]
			score = number(weight * score)
			switch {
			case o.Op == Difference && i > 0:
				delete(result, member)
			case i > 0 && o.Op == Intersection && !found:
			case !found:
				result[member] = score
			case o.Aggregate == ZSum:
				result[member] = number(old + score)
			case o.Aggregate == ZMin:
				result[member] = min(old, score)
			default:
				result[member] = max(old, score)
			}
		}
	}
	for member, score := range result {
		list = append(list, ZElement{[]byte(member), score})
	}
	zsetInOrder(list)
	return list
}

func (m *zsetModel) rangeStore() {
	from, to := m.key(), m.key()
	q, want := m.query(from)
	delete(m.sets, string(to))
	if len(want) > 0 {
		set := map[string]float64{}
		for _, el := range want {
			set[string(el.Member)] = el.Score
		}
		m.sets[string(to)] = set
	}
	m.do(func() {
		if n, err := m.v.ZRangeStore(to, from, q); n != int64(len(want)) || err != nil {
			m.t.Fatalf("ZRangeStore %+v: %d, %v, want %d", q, n, err, len(want))
		}
	})
}

// query returns a query by scores and the elements that it should find, in the order in which it finds them.
func (m *zsetModel) query(key []byte) (ZQuery, []ZElement) {
	q := ZQuery{Reverse: m.random.IntN(2) == 0, Offset: m.random.Int64N(5) - 1, Limit: m.random.Int64N(50) - 1}
	r, list := m.aRange(key)
	if ranks, ok := r.(RankRange); ok && q.Reverse { // they count from the other end
		q.Range = ranks
		all := m.sorted(key)
		slices.Reverse(all)
		from, to := ranks.ranks(&SortedSet{packed: packedOf(all)}, false)
		list = all[from:to]
	} else {
		q.Range = r
		if q.Reverse {
			slices.Reverse(list)
		}
	}
	if q.Offset < 0 {
		return q, nil
	}
	list = list[min(int(q.Offset), len(list)):]
	if q.Limit >= 0 {
		list = list[:min(int(q.Limit), len(list))]
	}
	return q, list
}

func packedOf(list []ZElement) (packed []byte) {
	for _, el := range list {
		packed = packedAppend(packed, el.Member, el.Score)
	}
	return packed
}

func (m *zsetModel) read() {
	key := m.key()
	list := m.sorted(key)
	q, want := m.query(key)
	m.do(func() {
		s, err := m.v.ReadSorted(key)
		if err != nil || s.Exists() != (len(list) > 0) || s.Len() != len(list) {
			m.t.Fatalf("ReadSorted: %v, %d elements of %d, %v", s.Exists(), s.Len(), len(list), err)
		}
		from, to := s.Select(q)
		var got []ZElement
		s.Each(from, to, q.Reverse, func(member []byte, score float64) bool {
			got = append(got, ZElement{bytes.Clone(member), score})
			return true
		})
		m.equal(fmt.Sprintf("query %+v", q), got, want)
		for range 5 {
			member := m.member()
			want, found := m.sets[string(key)][string(member)]
			if score, ok := s.Score(member); ok != found || score != want {
				m.t.Fatalf("Score of %q: %v, %v, want %v, %v", member, score, ok, want, found)
			}
			rank, score := s.Rank(member)
			if found != (rank >= 0) || found && (string(list[rank].Member) != string(member) || score != want) {
				m.t.Fatalf("Rank of %q: %d, %v", member, rank, score)
			}
		}
	})
}

// check compares everything and walks the structures.
func (m *zsetModel) check() {
	m.do(func() {
		for _, key := range m.keys {
			s := m.v.sortedOf(m.v.Peek(key))
			var got []ZElement
			s.Each(0, s.Len(), false, func(member []byte, score float64) bool {
				got = append(got, ZElement{bytes.Clone(member), score})
				return true
			})
			m.equal("all of "+string(key), got, m.sorted(key))
			m.saneEncoding(&s)
			seen := map[string]float64{}
			for cursor, more := uint64(0), true; more; more = cursor != 0 {
				cursor = s.Scan(cursor, 10, func(member []byte, score float64) { seen[string(member)] = score })
			}
			if !maps.Equal(seen, m.sets[string(key)]) && s.Len() > 0 {
				m.t.Fatalf("a scan of %d elements found %d", s.Len(), len(seen))
			}
		}
	})
}

func (m *zsetModel) saneEncoding(s *SortedSet) {
	limits := m.s.encodings
	switch {
	case s.large != nil:
		saneDict(m.t, s.large.scores)
		if s.large.scores.len() != s.Len() {
			m.t.Fatalf("%d scores of %d elements", s.large.scores.len(), s.Len())
		}
	case s.Exists():
		if err := listpack.Validate(s.packed); err != nil || s.Len() == 0 || s.Len() > limits.ZsetEntries {
			m.t.Fatalf("listpack of %d elements: %v", s.Len(), err)
		}
		s.Each(0, s.Len(), false, func(member []byte, _ float64) bool {
			if len(member) > limits.ZsetValue {
				m.t.Fatalf("listpack with a member of %d bytes", len(member))
			}
			return true
		})
	}
}

func TestZsetAgainstModel(t *testing.T) {
	packed, large := DefaultEncodings, DefaultEncodings
	packed.ZsetEntries, packed.ZsetValue = 10_000, 10_000
	large.ZsetEntries = 0
	for _, c := range []struct {
		name    string
		members int
		limits  Encodings
	}{
		{"converted", 300, DefaultEncodings}, {"packed", 100, packed}, {"large", 300, large}, {"larger", 20_000, DefaultEncodings},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newZsetModel(t, rand.Uint64(), c.members, c.limits)
			for i := range 6000 {
				m.step()
				if i%500 == 0 {
					m.check()
				}
			}
			m.check()
			m.do(func() {
				for _, key := range m.keys {
					m.v.Remove(key)
				}
			})
			sane(t, m.s)
		})
	}
}

// TestZsetLex compares ranges of members in both encodings with a filter, all scores being equal.
func TestZsetLex(t *testing.T) {
	for _, entries := range []int{0, 1000} {
		limits := DefaultEncodings
		limits.ZsetEntries = entries
		m := newZsetModel(t, rand.Uint64(), 400, limits)
		for range 500 {
			m.do(func() { m.v.ZAdd(m.keys[0], []ZElement{{m.member(), 0}}, ZAddOptions{}) })
		}
		m.do(func() {
			s := m.v.sortedOf(m.v.Peek(m.keys[0]))
			var all [][]byte
			s.Each(0, s.Len(), false, func(member []byte, _ float64) bool {
				all = append(all, bytes.Clone(member))
				return true
			})
			end := func() LexEnd {
				if n := m.random.IntN(10); n < 2 {
					return LexEnd{Infinite: 2*n - 1}
				}
				return LexEnd{Member: m.member(), Open: m.random.IntN(2) == 0}
			}
			for range 500 {
				r := LexRange{end(), end()}
				var want [][]byte
				for _, member := range all {
					if r.Min.before(member) && r.Max.after(member) {
						want = append(want, member)
					}
				}
				for _, reverse := range []bool{false, true} {
					from, to := r.ranks(&s, reverse)
					if to-from != len(want) || len(want) > 0 && string(all[from]) != string(want[0]) {
						t.Fatalf("%+v: ranks %d to %d, want %d elements", r, from, to, len(want))
					}
				}
			}
		})
	}
}

// TestZsetUniform draws from sets of both encodings; each element must come up about equally often.
func TestZsetUniform(t *testing.T) {
	const size, draws = 200, 40_000
	for _, entries := range []int{0, 1000} {
		limits := DefaultEncodings
		limits.ZsetEntries = entries
		m := newZsetModel(t, 1, 1, limits)
		m.v.random = m.random // so that the outcome is the same each time
		var counts [3]map[string]int
		m.do(func() {
			for i := range size {
				m.v.ZAdd(m.keys[0], []ZElement{{fmt.Appendf(nil, "m%d", i), float64(i)}}, ZAddOptions{})
			}
			s := m.v.sortedOf(m.v.Peek(m.keys[0]))
			for i := range counts {
				counts[i] = map[string]int{}
			}
			s.Draw(draws, func(member []byte, _ float64) bool { counts[0][string(member)]++; return true })
			for i, n := range []int{10, size / 2} {
				for range draws / n {
					seen := map[string]bool{}
					s.Sample(n, func(member []byte, _ float64) {
						counts[1+i][string(member)]++
						seen[string(member)] = true
					})
					if len(seen) != n {
						t.Fatalf("a sample of %d has %d different elements", n, len(seen))
					}
				}
			}
			n := 0
			s.Sample(size+5, func([]byte, float64) { n++ })
			if n != size {
				t.Fatalf("a sample of more than there are has %d", n)
			}
		})
		for i, count := range counts {
			// With 199 degrees of freedom chi-square exceeds 280 once in 10,000 times.
			chi, want := 0.0, float64(draws)/size
			for k := range size {
				d := float64(count[fmt.Sprintf("m%d", k)]) - want
				chi += d * d / want
			}
			if chi > 280 {
				t.Errorf("entries %d, way %d: chi-square %.0f", entries, i, chi)
			}
		}
	}
}

func TestZsetOfSets(t *testing.T) {
	m := newZsetModel(t, 1, 1, DefaultEncodings)
	m.do(func() {
		m.v.SAdd(m.keys[0], [][]byte{[]byte("1"), []byte("2"), []byte("3")})
		m.v.ZAdd(m.keys[1], []ZElement{{[]byte("2"), 5}, {[]byte("x"), 7}}, ZAddOptions{})
		got, err := m.v.ZCombine(ZOperation{Op: Union, Keys: m.keys[:3], Weights: []float64{10, 1, 1}})
		if err != nil {
			t.Fatal(err)
		}
		m.equal("union", got, []ZElement{{[]byte("x"), 7}, {[]byte("1"), 10}, {[]byte("3"), 10}, {[]byte("2"), 15}})
		m.v.Set(m.keys[3], []byte("text"), SetOptions{})
		for _, op := range []SetOp{Union, Intersection, Difference} {
			if _, err := m.v.ZCombineStore(m.keys[2], ZOperation{Op: op, Keys: m.keys}); !errors.Is(err, ErrWrongType) {
				t.Errorf("operation %d: %v", op, err)
			}
		}
		if m.v.Peek(m.keys[2]).Exists() {
			t.Error("something was stored")
		}
	})
}

// TestZsetInfinities: where a sum or a product is no number Redis has 0.
func TestZsetInfinities(t *testing.T) {
	m := newZsetModel(t, 1, 1, DefaultEncodings)
	m.do(func() {
		m.v.ZAdd(m.keys[0], []ZElement{{[]byte("a"), math.Inf(1)}}, ZAddOptions{})
		m.v.ZAdd(m.keys[1], []ZElement{{[]byte("a"), math.Inf(-1)}}, ZAddOptions{})
		for _, c := range []struct {
			weights []float64
			want    float64
		}{{[]float64{1, 1}, 0}, {[]float64{0, 1}, math.Inf(-1)}, {[]float64{0, 0}, 0}, {[]float64{1, -1}, math.Inf(1)}} {
			for _, op := range []SetOp{Union, Intersection} {
				got, err := m.v.ZCombine(ZOperation{Op: op, Keys: m.keys[:2], Weights: c.weights})
				if err != nil {
					t.Fatal(err)
				}
				m.equal(fmt.Sprint(op, c.weights), got, []ZElement{{[]byte("a"), c.want}})
			}
		}
	})
}

func TestZsetCopy(t *testing.T) {
	m := newZsetModel(t, rand.Uint64(), 2000, DefaultEncodings)
	for range 300 {
		m.add()
	}
	key := m.keys[0]
	m.do(func() {
		z := m.v.Peek(key).collection().(*zset)
		c := z.clone(m.v).(*zset)
		z.order.DeleteRange(0, 10, func(_ float64, member []byte) { m.v.dictDelete(z.scores, member) })
		i := 0
		want := m.sorted(key)
		for at := c.order.At(0); at.Valid(); at.Next() {
			if e, score := c.score(m.v, at.Member()); !e.Exists() || score != want[i].Score || string(at.Member()) != string(want[i].Member) {
				t.Fatalf("element %d of the copy: %q with score %v", i, at.Member(), score)
			}
			i++
		}
		if i != len(want) || c.scores.len() != i || z.scores.len() != i-10 {
			t.Fatalf("%d elements in the copy, %d scores, want %d", i, c.scores.len(), len(want))
		}
		if c.footprint() < int64(i)*30 {
			t.Errorf("footprint %d of %d elements", c.footprint(), i)
		}
		c.release(m.s)
	})
}

// TestZsetSignedZero: as in Redis -0 is kept where scores are floats and lost where they are packed.
func TestZsetSignedZero(t *testing.T) {
	for _, entries := range []int{0, 10} {
		limits := DefaultEncodings
		limits.ZsetEntries = entries
		m := newZsetModel(t, 1, 1, limits)
		m.do(func() {
			m.v.ZAdd(m.keys[0], []ZElement{{[]byte("m"), math.Copysign(0, -1)}}, ZAddOptions{})
			s := m.v.sortedOf(m.v.Peek(m.keys[0]))
			if score, ok := s.Score([]byte("m")); !ok || score != 0 || math.Signbit(score) != (entries == 0) {
				t.Errorf("entries %d: score %v", entries, score)
			}
		})
	}
}
