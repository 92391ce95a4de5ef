package store

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
)

// SORT looks up keys whose names it makes from the elements that it sorts. Such a lookup may meet an expired key and remove
// it, which is a write; so elements, and the values they are sorted by, are first copied into one buffer. Values that are
// only returned (GET) are looked up one after the other when they are asked for.

// SortOptions say what SORT does with the elements.
type SortOptions struct {
	// By makes the names of keys, or of fields of hashes, whose values are compared instead of the elements. What it is if
	// Unsorted is set does not matter.
	By       []byte
	Get      [][]byte // patterns likewise for what is returned of each element; none: the element itself
	Unsorted bool     // elements stay in the order in which they are kept
	Desc     bool
	Alpha    bool  // values are compared as text, not as numbers
	Offset   int64 // elements left out at the beginning
	Count    int64 // elements returned at most; negative: all

	// Repeatable has the elements of a set ordered as text where they would stay in the order in which they are kept.
	Repeatable bool
}

// A sortPattern makes the name of a key from an element: prefix, element, suffix. In Redis's C, text ends at a zero byte
// where it is searched.
type sortPattern struct {
	element        bool // "#": the element itself
	none           bool // without a star nothing is ever found
	prefix, suffix []byte
	field          []byte // of the hash at the key; nil: the string at the key
}

func newSortPattern(pattern []byte) sortPattern {
	text, _, _ := bytes.Cut(pattern, []byte{0})
	star := bytes.IndexByte(text, '*')
	switch {
	case string(text) == "#":
		return sortPattern{element: true}
	case star < 0:
		return sortPattern{none: true}
	}
	p := sortPattern{prefix: pattern[:star], suffix: pattern[star+1:]}
	const arrow = "->"
	if at := bytes.Index(text[star+1:], []byte(arrow)); at >= 0 && at+len(arrow) < len(text)-star-1 {
		p.suffix, p.field = p.suffix[:at], p.suffix[at+len(arrow):]
	}
	return p
}

// SortsBy reports whether a pattern has a star: by one that has none, nothing is sorted.
func SortsBy(pattern []byte) bool {
	text, _, _ := bytes.Cut(pattern, []byte{0})
	return bytes.IndexByte(text, '*') >= 0
}

// span is a part of a Sorted's text.
type span struct{ from, to int }

// missing is the span of no text.
var missing = span{-1, -1}

// Sorted are the elements that SORT returns, in order.
type Sorted struct {
	v     *View
	text  []byte
	elems []span
	get   []sortPattern
	key   []byte // scratch for names
}

// Sort sorts the list, set or sorted set at a key, which stays as it is. A missing key has no elements. The view must have
// the whole store if there are patterns.
func (v *View) Sort(key []byte, o SortOptions) (*Sorted, error) { return v.sort(key, o, false) }

// sort is Sort for a result that is stored or not.
func (v *View) sort(key []byte, o SortOptions, stored bool) (*Sorted, error) {
	e := v.Lookup(key)
	if e.Exists() && !slices.Contains([]kind{typeList, typeSet, typeZset}, e.kind()&typeMask) {
		return nil, ErrWrongType
	}
	s := &Sorted{v: v}
	for _, pattern := range o.Get {
		s.get = append(s.get, newSortPattern(pattern))
	}
	if o.Unsorted && (stored || o.Repeatable) && e.Exists() && e.kind()&typeMask == typeSet {
		// As in Redis: what is stored, or seen by a script, must not depend on the order in which a set happens to be kept.
		o.Unsorted, o.Alpha, o.By = false, true, nil
	}
	n := v.sortLen(e)
	from := int(min(max(o.Offset, 0), int64(n)))
	to := n
	if o.Count >= 0 {
		to = from + int(min(o.Count, int64(n-from)))
	}
	if o.Unsorted && e.Exists() && e.kind()&typeMask != typeSet {
		s.load(e, from, to, o.Desc)
		return s, nil
	}
	s.load(e, 0, n, false)
	if !o.Unsorted {
		if err := s.sort(o, stored); err != nil {
			return nil, err
		}
	}
	s.elems = s.elems[from:to]
	return s, nil
}

// sortLen returns the number of elements at an entry.
func (v *View) sortLen(e Entry) int {
	switch {
	case !e.Exists():
		return 0
	case e.kind()&typeMask == typeList:
		return e.listLen()
	case e.kind()&typeMask == typeSet:
		m := membersOf(e)
		return m.len()
	}
	z := v.sortedOf(e)
	return z.Len()
}

// load copies the elements from one index to another, excluding the latter, counted from the end if reverse is set. Sets
// have no order and are taken as a whole.
func (s *Sorted) load(e Entry, from, to int, reverse bool) {
	if from == to {
		return
	}
	s.elems = make([]span, 0, to-from)
	add := func(elem []byte) { s.elems = append(s.elems, s.keep(elem)) }
	n := s.v.sortLen(e)
	switch e.kind() & typeMask {
	case typeList:
		first, end := from, Head
		if reverse {
			first, end = n-1-from, Tail
		}
		e.elements(first, end, to-from).Each(add)
	case typeSet:
		m := membersOf(e)
		s.v.eachMember(&m, func(member []byte) bool { add(member); return true })
	default:
		z := s.v.sortedOf(e)
		if reverse {
			from, to = n-to, n-from
		}
		z.Each(from, to, reverse, func(member []byte, _ float64) bool { add(member); return true })
	}
}

// keep appends to the text.
func (s *Sorted) keep(b []byte) span {
	from := len(s.text)
	s.text = append(s.text, b...)
	return span{from, len(s.text)}
}

func (s *Sorted) bytes(p span) []byte { return s.text[p.from:p.to] }

// A sortKey is what decides nearly every comparison, and the index of the element that it is for: 16 bytes to move about,
// where pointers to elements would miss the caches at each comparison.
type sortKey struct {
	prefix uint64 // a number in the order of what is compared, or of its beginning
	at     int
}

// sort sorts the elements.
func (s *Sorted) sort(o SortOptions, stored bool) error {
	by := sortPattern{element: true}
	if o.By != nil {
		by = newSortPattern(o.By)
	}
	keys := make([]sortKey, len(s.elems))
	var tie func(a, b int) int // compares elements of the same prefix
	if o.Alpha {
		tie = s.weighTexts(&by, keys, stored)
	} else {
		if !s.weighNumbers(&by, keys) {
			return ErrSortNumber
		}
		tie = func(a, b int) int { return bytes.Compare(s.bytes(s.elems[a]), s.bytes(s.elems[b])) }
	}
	sign := 1
	if o.Desc {
		sign = -1
		for i := range keys {
			keys[i].prefix = ^keys[i].prefix
		}
	}
	slices.SortFunc(keys, func(a, b sortKey) int {
		switch {
		case a.prefix < b.prefix:
			return -1
		case a.prefix > b.prefix:
			return 1
		}
		if order := sign * tie(a.at, b.at); order != 0 {
			return order
		}
		return a.at - b.at // equal ones stay in the order in which they were
	})
	elems := make([]span, len(keys))
	for i, key := range keys {
		elems[i] = s.elems[key.at]
	}
	s.elems = elems
	return nil
}

// weighNumbers makes the keys of numbers. A value that is missing is 0. It reports whether all values are numbers.
func (s *Sorted) weighNumbers(by *sortPattern, keys []sortKey) bool {
	numbers := true
	for i, elem := range s.elems {
		number := 0.0
		if val, ok := s.value(by, elem); ok {
			var isNumber bool
			number, isNumber = sortNumber(val)
			numbers = numbers && isNumber
		}
		if number == 0 {
			number = 0 // -0 is no less
		}
		bits := math.Float64bits(number)
		if bits>>63 != 0 {
			bits = ^bits
		} else {
			bits |= 1 << 63
		}
		keys[i] = sortKey{bits, i}
	}
	return numbers
}

// weighTexts makes the keys of texts. A value that is missing comes first. As in Redis, texts are compared as C does it, to
// the first zero byte, unless the result is stored.
func (s *Sorted) weighTexts(by *sortPattern, keys []sortKey, stored bool) (tie func(a, b int) int) {
	texts := slices.Clone(s.elems)
	for i, elem := range s.elems {
		if !by.element {
			texts[i] = missing
			if val, ok := s.value(by, elem); ok {
				texts[i] = s.keep(val)
			}
		}
		var prefix [8]byte
		if text := &texts[i]; *text != missing {
			if end := bytes.IndexByte(s.bytes(*text), 0); end >= 0 && !stored {
				text.to = text.from + end
			}
			copy(prefix[:], s.bytes(*text))
		}
		keys[i] = sortKey{binary.BigEndian.Uint64(prefix[:]), i}
	}
	return func(a, b int) int {
		if texts[a] == missing || texts[b] == missing {
			return min(texts[a].from, 0) - min(texts[b].from, 0)
		}
		return bytes.Compare(s.bytes(texts[a]), s.bytes(texts[b]))
	}
}

// sortNumber reads a number as SORT does in Redis, with strtod: blanks may lead it, a zero byte ends it, nothing is 0.
// Numbers that a double holds with less than its full precision are refused like those that it does not hold.
func sortNumber(text []byte) (float64, bool) {
	text, _, _ = bytes.Cut(text, []byte{0})
	if len(text) == 0 {
		return 0, true
	}
	const leastNormal = 0x1p-1022
	f, ok := ParseDouble(bytes.TrimLeft(text, " \t\n\v\f\r"))
	return f, ok && (f == 0 || math.Abs(f) >= leastNormal)
}

// value returns what a pattern gives for an element: valid until the next lookup.
func (s *Sorted) value(p *sortPattern, elem span) (val []byte, ok bool) {
	switch {
	case p.element:
		return s.bytes(elem), true
	case p.none:
		return nil, false
	}
	s.key = append(append(append(s.key[:0], p.prefix...), s.bytes(elem)...), p.suffix...)
	e := s.v.Lookup(s.v.kept(s.key)) // hot key tracking remembers the name for a while
	switch {
	case !e.Exists():
		return nil, false
	case p.field == nil:
		val, ok, _ = s.v.stringOf(e)
		return val, ok
	case e.kind()&typeMask == typeHash:
		return s.v.hashOf(e).Get(p.field)
	}
	return nil, false
}

// Len returns the number of values.
func (s *Sorted) Len() int { return len(s.elems) * max(len(s.get), 1) }

// Each calls fn with the values, valid inside fn only, until it returns false; ok is false for what a pattern does not find.
func (s *Sorted) Each(fn func(val []byte, ok bool) bool) {
	for _, elem := range s.elems {
		if len(s.get) == 0 && !fn(s.bytes(elem), true) {
			return
		}
		for i := range s.get {
			if !fn(s.value(&s.get[i], elem)) {
				return
			}
		}
	}
}

// SortStore is Sort with the values stored as a list at a key, whatever it held; what a pattern does not find is an empty
// one. Without values the key is removed. It returns their number.
func (v *View) SortStore(to, key []byte, o SortOptions) (int64, error) {
	s, err := v.sort(key, o, true)
	if err != nil {
		return 0, err
	}
	spans := s.elems
	if len(s.get) > 0 {
		spans = make([]span, 0, s.Len())
		for _, elem := range s.elems {
			for i := range s.get {
				val, _ := s.value(&s.get[i], elem)
				spans = append(spans, s.keep(val))
			}
		}
	}
	if len(spans) == 0 {
		v.Remove(to)
		return 0, nil
	}
	elems := make([][]byte, len(spans))
	for i, p := range spans {
		elems[i] = s.bytes(p)
	}
	k, packed, large := v.listOf(elems)
	v.replace(to, k, packed, large)
	v.event(ClassList, "sortstore", to)
	return int64(len(elems)), nil
}
