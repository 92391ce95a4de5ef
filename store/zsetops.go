package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"kvserver/store/ranked"
)

// ZAggregate says what becomes of the scores that a member has in several sets.
type ZAggregate int

// The aggregates.
const (
	ZSum ZAggregate = iota
	ZMin
	ZMax
)

// of combines two scores. Where the sum of infinities is no number it is 0, as in Redis.
func (a ZAggregate) of(x, y float64) float64 {
	switch {
	case a == ZMin && y < x || a == ZMax && y > x:
		return y
	case a != ZSum:
		return x
	}
	return orZero(x + y)
}

func orZero(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return f
}

// ZOperation is an operation on sorted sets and sets, whose members have the score 1.
type ZOperation struct {
	Op        SetOp
	Keys      [][]byte
	Weights   []float64 // what the scores of each key are multiplied by; nil: nothing. Not with Difference.
	Aggregate ZAggregate
}

// operand is a sorted set or a set.
type operand struct {
	sorted SortedSet
	set    members
	isSet  bool
	weight float64
}

func (v *View) operandOf(e Entry, weight float64) operand {
	if e.Exists() && e.kind()&typeMask == typeSet {
		return operand{set: membersOf(e), isSet: true, weight: weight}
	}
	return operand{sorted: v.sortedOf(e), weight: weight}
}

func (o *operand) entry() Entry {
	if o.isSet {
		return o.set.entry
	}
	return o.sorted.entry
}

func (o *operand) len() int {
	if o.isSet {
		return o.set.len()
	}
	return o.sorted.Len()
}

// each calls fn with the elements, valid inside fn only, until it returns false.
func (v *View) eachOf(o *operand, fn func(member []byte, score float64) bool) {
	if o.isSet {
		v.eachMember(&o.set, func(member []byte) bool { return fn(member, 1) })
		return
	}
	o.sorted.Each(0, o.sorted.Len(), false, fn)
}

func (v *View) scoreIn(o *operand, member []byte) (score float64, ok bool) {
	if o.isSet {
		return 1, v.hasMember(&o.set, member)
	}
	return o.sorted.Score(member)
}

// operands looks up the sources of an operation.
func (v *View) operands(o *ZOperation) ([]operand, error) {
	for _, key := range o.Keys {
		if e := v.Lookup(key); e.Exists() && e.kind()&typeMask != typeZset && e.kind()&typeMask != typeSet {
			return nil, ErrWrongType
		}
	}
	// Looking up an expired key may have been a write, so they are looked at anew.
	list := make([]operand, len(o.Keys))
	for i, key := range o.Keys {
		weight := 1.0
		if o.Weights != nil {
			weight = o.Weights[i]
		}
		list[i] = v.operandOf(v.Peek(key), weight)
	}
	if o.Op != Difference {
		slices.SortStableFunc(list, func(a, b operand) int { return cmp.Compare(a.len(), b.len()) })
	}
	return list, nil
}

// ZCheck looks up the sources of an operation that will be refused, since an operand of the wrong type comes first.
func (v *View) ZCheck(keys [][]byte) error {
	_, err := v.operands(&ZOperation{Keys: keys})
	return err
}

// ZCombine returns the result of an operation, in order. The members are valid until the view unlocks or writes.
func (v *View) ZCombine(o ZOperation) ([]ZElement, error) {
	list, err := v.operands(&o)
	if err != nil {
		return nil, err
	}
	if o.Op != Union {
		return v.combined(list, &o), nil
	}
	d := v.unite(list, o.Aggregate)
	elements := v.sortedElements(d)
	v.doom(set{d})
	return elements, nil
}

// ZCombineStore stores the result of an operation as a sorted set, whatever the key to held, and returns the number of
// elements. If there are none the key is removed.
func (v *View) ZCombineStore(to []byte, o ZOperation) (int64, error) {
	list, err := v.operands(&o)
	if err != nil {
		return 0, err
	}
	if o.Op == Union {
		return v.storeUnion(to, list, o.Aggregate), nil
	}
	elements := v.combined(list, &o)
	b := zsetBuilder{v: v}
	if !v.fitPackedZset(elements) {
		b.large = v.newZset()
	}
	for _, el := range elements {
		b.add(el.Member, el.Score)
	}
	b.store(to, zstoreEvents[o.Op])
	return int64(len(elements)), nil
}

// zstoreEvents are the names of what the commands do that store the result of an operation.
var zstoreEvents = [...]string{Union: "zunionstore", Intersection: "zinterstore", Difference: "zdiffstore"}

// fitPackedZset reports whether elements may be a packed set. It is asked first because packing takes the sign of -0.
func (v *View) fitPackedZset(elements []ZElement) bool {
	limits := &v.store.encodings
	return len(elements) <= limits.ZsetEntries && !slices.ContainsFunc(elements, func(el ZElement) bool {
		return len(el.Member) > limits.ZsetValue
	})
}

// combined returns the intersection or difference, in order. Members are copied.
func (v *View) combined(list []operand, o *ZOperation) (elements []ZElement) {
	take := func(member []byte, score float64) bool {
		elements = append(elements, ZElement{v.kept(member), score})
		return true
	}
	if o.Op == Intersection {
		v.intersect(list, o.Aggregate, take)
	} else {
		v.subtract(list, take)
	}
	sortElements(elements)
	return elements
}

func sortElements(elements []ZElement) {
	slices.SortFunc(elements, func(a, b ZElement) int {
		if c := cmp.Compare(a.Score, b.Score); c != 0 {
			return c
		}
		return bytes.Compare(a.Member, b.Member)
	})
}

// intersect calls fn with the elements that all have, until it returns false. list is in order of size.
func (v *View) intersect(list []operand, aggregate ZAggregate, fn func(member []byte, score float64) bool) {
	first, others := &list[0], list[1:]
	v.eachOf(first, func(member []byte, score float64) bool {
		sum := orZero(first.weight * score)
		for i := range others {
			other, ok := v.scoreIn(&others[i], member)
			if !ok {
				return true
			}
			sum = aggregate.of(sum, others[i].weight*other)
		}
		return fn(member, sum)
	})
}

// subtract calls fn with the elements of the first that no other has.
func (v *View) subtract(list []operand, fn func(member []byte, score float64) bool) {
	first, others := &list[0], list[1:]
	for i := range others {
		if first.len() == 0 || others[i].entry() == first.entry() {
			return
		}
	}
	v.eachOf(first, func(member []byte, score float64) bool {
		for i := range others {
			if _, ok := v.scoreIn(&others[i], member); ok {
				return true
			}
		}
		return fn(member, score)
	})
}

// unite returns the union as a dict of scores.
func (v *View) unite(list []operand, aggregate ZAggregate) *dict {
	d := v.newDict()
	for i := range list {
		v.eachOf(&list[i], func(member []byte, score float64) bool {
			var bits [scoreSize]byte
			score = orZero(list[i].weight * score)
			if e := v.dictFind(d, member); e.Exists() {
				binary.LittleEndian.PutUint64(e.text(), math.Float64bits(aggregate.of(scoreOf(e), score)))
				return true
			}
			binary.LittleEndian.PutUint64(bits[:], math.Float64bits(score))
			v.dictSet(d, member, bits[:], noDeadline)
			return true
		})
	}
	return d
}

// sortedElements returns the elements of a dict of scores, in order. They alias the dict.
func (v *View) sortedElements(d *dict) []ZElement {
	elements := make([]ZElement, 0, d.len())
	v.dictEach(d, func(e Entry) bool {
		elements = append(elements, ZElement{e.Key(), scoreOf(e)})
		return true
	})
	sortElements(elements)
	return elements
}

// storeUnion stores the union at a key. The dict that it was gathered in becomes that of the sorted set if it is a large
// one.
func (v *View) storeUnion(to []byte, list []operand, aggregate ZAggregate) int64 {
	d := v.unite(list, aggregate)
	elements := v.sortedElements(d)
	b := zsetBuilder{v: v}
	if v.fitPackedZset(elements) {
		for i := range elements {
			b.add(elements[i].Member, elements[i].Score)
		}
		d.release(v.store)
	} else {
		b.large = &zset{d, ranked.New(v.store.pool, &v.store.objectBytes)}
		for i := range elements {
			b.large.order.Insert(elements[i].Score, elements[i].Member)
		}
	}
	b.store(to, zstoreEvents[Union])
	return int64(len(elements))
}

// ZInterCard returns how many elements all of several sorted sets and sets have, counting no further than limit if that is
// not 0.
func (v *View) ZInterCard(keys [][]byte, limit int64) (n int64, err error) {
	list, err := v.operands(&ZOperation{Keys: keys, Op: Intersection})
	if err != nil {
		return 0, err
	}
	v.intersect(list, ZSum, func([]byte, float64) bool {
		n++
		return n != limit
	})
	return n, nil
}
