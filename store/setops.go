package store

import (
	"slices"
)

// SetOp is an operation on sets.
type SetOp int

// The operations. The difference is what the first set has and no other.
const (
	Union SetOp = iota
	Intersection
	Difference
)

// Combination is the result of an operation on sets, whose members are found when they are asked for.
type Combination struct {
	v    *View
	op   SetOp
	sets []members
}

// Combine looks up sets that are to be combined. A missing key is an empty set.
func (v *View) Combine(op SetOp, keys [][]byte) (Combination, error) {
	c := Combination{v, op, make([]members, len(keys))}
	for i, key := range keys {
		e, err := v.readAs(key, typeSet)
		if err != nil {
			return c, err
		}
		c.sets[i] = membersOf(e)
	}
	if v.writable { // an expired key was removed: a write, after which what was found before is found anew
		for i, key := range keys {
			c.sets[i] = membersOf(v.Peek(key))
		}
	}
	return c, nil
}

// Each calls fn with each member of the result, valid inside fn only, until it returns false.
func (c *Combination) Each(fn func(member []byte) bool) {
	switch c.op {
	case Intersection:
		c.intersect(fn)
	case Difference:
		c.subtract(fn)
	default:
		c.unite(fn)
	}
}

// intersect looks up the members of the smallest set in the others.
func (c *Combination) intersect(fn func(member []byte) bool) {
	slices.SortStableFunc(c.sets, func(a, b members) int { return a.len() - b.len() })
	smallest := &c.sets[0]
	c.v.eachMember(smallest, func(member []byte) bool {
		for i := range c.sets[1:] {
			if m := &c.sets[1+i]; m.entry != smallest.entry && !c.v.hasMember(m, member) {
				return true
			}
		}
		return fn(member)
	})
}

// probesMax is up to how many sets a member is looked up in instead of being put into a set of those seen, which costs
// about as much and needs memory.
const probesMax = 4

// unite passes on the members of each set that no set before it has.
func (c *Combination) unite(fn func(member []byte) bool) {
	seen := members{kind: kindSetInts, own: true}
	defer func() { seen.release(c.v.store) }()
	more := true
	for i := range c.sets {
		c.v.eachMember(&c.sets[i], func(member []byte) bool {
			if len(c.sets) <= probesMax {
				if c.v.inAny(c.sets[:i], member) {
					return true
				}
			} else if !c.v.addMember(&seen, member) {
				return true
			}
			more = fn(member)
			return more
		})
		if !more {
			return
		}
	}
}

// inAny reports whether one of several sets has a member.
func (v *View) inAny(sets []members, member []byte) bool {
	for i := range sets {
		if v.hasMember(&sets[i], member) {
			return true
		}
	}
	return false
}

// subtract passes on the members of the first set that no other has. If there are many others, and small ones, it first
// gathers what they have in common with the first.
func (c *Combination) subtract(fn func(member []byte) bool) {
	first, others := &c.sets[0], c.sets[1:]
	total := 0
	for i := range others {
		if others[i].entry == first.entry {
			return
		}
		total += others[i].len()
	}
	// The largest are the likeliest to have a member.
	slices.SortStableFunc(others, func(a, b members) int { return b.len() - a.len() })
	if len(others) > probesMax && total < first.len() {
		common := members{kind: kindSetInts, own: true}
		defer func() { common.release(c.v.store) }()
		for i := range others {
			c.v.eachMember(&others[i], func(member []byte) bool {
				if c.v.hasMember(first, member) {
					c.v.addMember(&common, member)
				}
				return true
			})
		}
		others = []members{common}
	}
	c.v.eachMember(first, func(member []byte) bool {
		return c.v.inAny(others, member) || fn(member)
	})
}

// CombineStore is Combine with the result stored at a key, whatever it held; an empty result removes it. It returns the
// number of members.
func (v *View) CombineStore(op SetOp, to []byte, keys [][]byte) (int64, error) {
	c, err := v.Combine(op, keys)
	if err != nil {
		return 0, err
	}
	var m members
	switch op {
	case Union:
		m = members{kind: kindSetInts, own: true}
		for i := range c.sets {
			v.eachMember(&c.sets[i], func(member []byte) bool { v.addMember(&m, member); return true })
		}
	case Intersection:
		m = c.intersection()
	default:
		m = members{kind: kindSetInts, own: true}
		c.subtract(func(member []byte) bool { v.insertMember(&m, member); return true })
	}
	n := int64(m.len())
	switch {
	case n == 0:
		v.Remove(to)
		return 0, nil
	case m.kind == kindSet:
		v.replace(to, kindSet, nil, set{m.dict})
	default:
		v.replace(to, m.kind, m.packed, nil)
	}
	v.event(ClassSet, storeEvents[op], to)
	return n, nil
}

// storeEvents are the names of what the commands do that store the result of an operation.
var storeEvents = [...]string{Union: "sunionstore", Intersection: "sinterstore", Difference: "sdiffstore"}

// intersection returns the result as a set. As in Redis it is made as a listpack unless the smallest operand is an intset,
// and becomes an intset if it can.
func (c *Combination) intersection() members {
	m := members{kind: kindSetInts, own: true}
	ints := true
	c.intersect(func(member []byte) bool {
		if m.len() == 0 && c.sets[0].kind != kindSetInts {
			m.kind = kindSetPacked
		}
		_, isInt := ParseInteger(member)
		ints = ints && isInt
		c.v.insertMember(&m, member)
		return true
	})
	if ints && m.kind != kindSetInts && m.len() <= min(c.v.store.encodings.SetInts, intsetMax) {
		c.v.toInts(&m)
	}
	return m
}
