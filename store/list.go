package store

import (
	"math"
	"strconv"

	"kvserver/store/listpack"
	"kvserver/store/quicklist"
)

// The commands on lists. A list is one listpack as long as list-max-listpack-size allows, and then a quicklist; it becomes
// a listpack again when it has shrunk to half of that, as in Redis 7.2. An empty list does not exist.

// End is one of the two ends of a list.
type End = quicklist.End

// Head is the left end of a list, where index 0 is; Tail is the right one.
const (
	Head = quicklist.Head
	Tail = quicklist.Tail
)

// largeList is a list that is not packed.
type largeList struct{ *quicklist.List }

func (l largeList) footprint() int64       { return l.Footprint() }
func (l largeList) release(*Store)         { l.Release() }
func (l largeList) clone(*View) collection { return largeList{l.Clone()} }

func (v *View) newList() *quicklist.List {
	return quicklist.New(v.store.pool, &v.store.objectBytes)
}

// quicklist returns the list of an entry, nil if it is packed or missing.
func (e Entry) quicklist() *quicklist.List {
	if !e.Exists() || e.kind() != kindList {
		return nil
	}
	return e.collection().(largeList).List
}

// listLimit returns the most bytes and elements of a packed list.
func (v *View) listLimit() (bytes, elements int) {
	const safeBytes = 8 << 10 // Redis's limit where elements are counted
	switch n := v.store.encodings.ListMaxSize; {
	case n >= 0:
		return safeBytes, max(n, 1)
	default:
		return 4 << 10 << (min(-n, 5) - 1), math.MaxInt
	}
}

// packedList tells whether a listpack stays one when elements are added. As in Redis, what they will take is counted
// without their headers.
func (v *View) packedList(lp []byte, elems ...[]byte) bool {
	size, count := max(len(lp), emptyListBytes), listpack.Len(lp)+len(elems)
	for _, elem := range elems {
		size += len(elem)
	}
	bytesMax, countMax := v.listLimit()
	return size <= bytesMax && count <= countMax
}

// emptyListBytes is the size of a listpack without elements.
const emptyListBytes = 7

// Elements are elements of a list that follow each other, in order or backwards. They are valid until the view's next
// write, or until it unlocks.
type Elements struct {
	packed []byte
	large  *quicklist.List
	first  int
	from   End
	count  int
}

// elements returns count elements of an entry's list, which exist, from the one with index first on.
func (e Entry) elements(first int, from End, count int) Elements {
	s := Elements{first: first, from: from, count: count}
	if count > 0 {
		if s.large = e.quicklist(); s.large == nil {
			s.packed = e.packed()
		}
	}
	return s
}

// Len returns their number.
func (s Elements) Len() int { return s.count }

// Each calls fn with each of them. An integer lies in memory that the next one overwrites.
func (s Elements) Each(fn func(elem []byte)) {
	var buf [listpack.IntegerLenMax]byte
	switch {
	case s.count == 0:
	case s.from == Head && s.large != nil:
		s.large.Each(s.first, s.count, fn)
	case s.from == Head:
		listpack.Each(s.packed, listpack.Seek(s.packed, s.first), s.count, &buf, fn)
	default:
		left := s.count
		s.walk(func(e quicklist.Element) bool {
			fn(e.Text(&buf))
			left--
			return left > 0
		})
	}
}

// walk calls fn with elements, also with those behind the last, until it returns false.
func (s Elements) walk(fn func(quicklist.Element) bool) {
	if s.large != nil {
		s.large.Walk(s.first, s.from, fn)
	} else if s.count > 0 {
		quicklist.WalkPacked(s.packed, s.first, s.from, fn)
	}
}

// listLen returns the number of elements at an entry.
func (e Entry) listLen() int {
	switch {
	case !e.Exists():
		return 0
	case e.kind() == kindList:
		return e.quicklist().Len()
	}
	return listpack.Len(e.packed())
}

// ListPush adds elements, one after the other, at an end of the list at a key, and returns its length. With mustExist it
// does so only if there is a list.
func (v *View) ListPush(key []byte, end End, elems [][]byte, mustExist bool) (int64, error) {
	e, err := v.writeAs(key, typeList)
	if err != nil || mustExist && !e.Exists() {
		return 0, err
	}
	n := v.listPush(key, e, end, elems...)
	v.event(ClassList, pushEvents[end], key)
	return int64(n), nil
}

// pushEvents and popEvents are the names of what happens at an end of a list.
var (
	pushEvents = [...]string{Head: "lpush", Tail: "rpush"}
	popEvents  = [...]string{Head: "lpop", Tail: "rpop"}
)

// listPush is ListPush to the list of an entry, which may be missing.
func (v *View) listPush(key []byte, e Entry, end End, elems ...[]byte) int {
	l := e.quicklist()
	if l == nil {
		lp := v.edit(e)
		if v.packedList(lp, elems...) {
			for _, elem := range elems {
				if end == Head {
					lp = listpack.Prepend(lp, elem)
				} else {
					lp = listpack.Append(lp, elem)
				}
			}
			v.save(key, e, kindListPacked, lp)
			return listpack.Len(lp)
		}
		l = v.unpackList(key, e, lp)
	} else {
		v.changed(key)
	}
	for _, elem := range elems {
		l.Push(end, elem)
	}
	return l.Len()
}

// unpackList gives a key a list of its own in place of a listpack.
func (v *View) unpackList(key []byte, e Entry, lp []byte) *quicklist.List {
	l := v.newList()
	l.Append(lp)
	v.saveCollection(key, e, kindList, largeList{l})
	return l
}

// listShrunk is called after elements were taken from, or changed in, the list l at a key: an empty one is removed, a small
// one is packed.
func (v *View) listShrunk(key []byte, l *quicklist.List) {
	if l.Len() == 0 {
		v.Remove(key)
		return
	}
	bytesMax, countMax := v.listLimit()
	if countMax == math.MaxInt {
		bytesMax /= 2
	}
	if l.PackedBytes() > bytesMax || l.Len() > countMax/2 {
		v.changed(key)
		return
	}
	v.scratch = l.AppendTo(v.scratch[:0])
	v.put(v.position(key), key, value{kind: kindListPacked, bytes: v.scratch}, deadlineOf(v.Peek(key)))
}

// ListLen returns the number of elements of the list at a key, 0 if it is missing.
func (v *View) ListLen(key []byte) (int64, error) {
	e, err := v.readAs(key, typeList)
	return int64(e.listLen()), err
}

// ListLenWrite is ListLen for a command that would have changed the list.
func (v *View) ListLenWrite(key []byte) (int64, error) {
	e, err := v.writeAs(key, typeList)
	return int64(e.listLen()), err
}

// ListRange returns the elements from start to end, both inclusive, counted from the tail if negative.
func (v *View) ListRange(key []byte, start, end int64) (Elements, error) {
	e, err := v.readAs(key, typeList)
	if err != nil {
		return Elements{}, err
	}
	first, count := clampRange(start, end, e.listLen())
	return e.elements(first, Head, count), nil
}

// clampRange returns the first index and the number of the indexes from start to end, both inclusive, that n elements have.
func clampRange(start, end int64, n int) (first, count int) {
	if start < 0 {
		start = max(start+int64(n), 0)
	}
	if end < 0 {
		end += int64(n)
	}
	end = min(end, int64(n)-1)
	if start > end {
		return 0, 0
	}
	return int(start), int(end - start + 1)
}

// indexOf resolves an index that counts from the tail if it is negative.
func indexOf(index int64, n int) (at int, ok bool) {
	if index < 0 {
		index += int64(n)
	}
	return int(index), index >= 0 && index < int64(n)
}

// ListIndex returns the element with an index, counted from the tail if negative.
func (v *View) ListIndex(key []byte, index int64) (elem []byte, ok bool, err error) {
	e, err := v.readAs(key, typeList)
	if err != nil {
		return nil, false, err
	}
	at, ok := indexOf(index, e.listLen())
	if !ok {
		return nil, false, nil
	}
	return v.listElement(e, at), true, nil
}

// listElement returns the element with an index that exists. An integer is printed into memory of the view.
func (v *View) listElement(e Entry, index int) (elem []byte) {
	e.elements(index, Head, 1).walk(func(e quicklist.Element) bool {
		text, n, isInt := e.Get()
		if elem = text; isInt {
			from := v.textRoom(integerLenMax)
			v.text = strconv.AppendInt(v.text, n, 10)
			elem = v.text[from:len(v.text):len(v.text)]
		}
		return false
	})
	return elem
}

// ListPop removes the element at an end of the list at a key and returns it. It is valid until the view unlocks.
func (v *View) ListPop(key []byte, end End) (elem []byte, ok bool, err error) {
	e, err := v.writeAs(key, typeList)
	if err != nil || !e.Exists() {
		return nil, false, err
	}
	elem = v.listEnd(e, end)
	v.event(ClassList, popEvents[end], key)
	v.listDrop(key, e, end, 1)
	return elem, true, nil
}

// listEnd returns the element at an end of the list of an entry that exists. It is valid until the view unlocks.
func (v *View) listEnd(e Entry, end End) []byte {
	index := 0
	if end == Tail {
		index = e.listLen() - 1
	}
	return v.kept(v.listElement(e, index))
}

// doomedList returns a list, to be freed when the view unlocks, for the nodes of this number of elements that are to go.
// Nodes of a few are better freed at once, for which it returns nil.
func (v *View) doomedList(elements int) *quicklist.List {
	const few = 10_000
	if elements <= few {
		return nil
	}
	l := v.newList()
	v.doom(largeList{l})
	return l
}

// listDrop removes count elements, at least one and at most all, from an end of the list of an entry. A list that loses all
// goes as a whole, its memory in the background.
func (v *View) listDrop(key []byte, e Entry, end End, count int) {
	if count == e.listLen() {
		v.Remove(key)
		return
	}
	if l := e.quicklist(); l != nil {
		l.Cut(end, count, v.doomedList(count))
		v.listShrunk(key, l)
		return
	}
	lp := v.edit(e)
	off := listpack.First(lp)
	if end == Tail {
		off = listpack.Seek(lp, -count)
	}
	v.save(key, e, kindListPacked, listpack.Delete(lp, off, count))
}

// ListPopSome removes up to count elements from an end of the list at a key; before that it calls fn with them, the one at
// the end first. It reports whether there is a list. With a count of 0 fn gets no elements.
func (v *View) ListPopSome(key []byte, end End, count int64, fn func(Elements)) (ok bool, err error) {
	e, err := v.writeAs(key, typeList)
	if err != nil || !e.Exists() {
		return false, err
	}
	n := e.listLen()
	first := 0
	if end == Tail {
		first = n - 1
	}
	n = int(min(count, int64(n)))
	fn(e.elements(first, end, n))
	if n > 0 {
		v.event(ClassList, popEvents[end], key)
		v.listDrop(key, e, end, n)
	}
	return true, nil
}

// ListSet replaces the element with an index, counted from the tail if negative. ErrNoKey if there is no list,
// ErrIndexRange if it has no such element.
func (v *View) ListSet(key []byte, index int64, elem []byte) error {
	e, err := v.writeAs(key, typeList)
	switch {
	case err != nil:
		return err
	case !e.Exists():
		return ErrNoKey
	}
	at, ok := indexOf(index, e.listLen())
	if !ok {
		return ErrIndexRange
	}
	l := e.quicklist()
	if l == nil {
		lp := v.edit(e)
		if v.packedList(lp, elem) {
			v.save(key, e, kindListPacked, listpack.Replace(lp, listpack.Seek(lp, at), elem))
			v.event(ClassList, "lset", key)
			return nil
		}
		l = v.unpackList(key, e, lp)
	}
	l.Set(at, elem)
	v.listShrunk(key, l)
	v.event(ClassList, "lset", key)
	return nil
}

// ListInsert adds an element before or after the first one that equals pivot, and returns the length of the list: 0 if
// there is none at the key, -1 if it has no such element.
func (v *View) ListInsert(key, pivot, elem []byte, after bool) (int64, error) {
	e, err := v.writeAs(key, typeList)
	if err != nil || !e.Exists() {
		return 0, err
	}
	at, found := 0, false
	e.elements(0, Head, 1).walk(func(e quicklist.Element) bool {
		if found = e.Equal(pivot); !found {
			at++
		}
		return !found
	})
	if !found {
		return -1, nil
	}
	if after {
		at++
	}
	l := e.quicklist()
	if l == nil {
		lp := v.edit(e)
		if v.packedList(lp, elem) {
			off := listpack.Seek(lp, at)
			if off == listpack.None {
				off = len(lp) - 1 // behind the last
			}
			lp = listpack.InsertAt(lp, off, elem)
			v.save(key, e, kindListPacked, lp)
			v.event(ClassList, "linsert", key)
			return int64(listpack.Len(lp)), nil
		}
		l = v.unpackList(key, e, lp)
	} else {
		v.changed(key)
	}
	l.Insert(at, elem)
	v.event(ClassList, "linsert", key)
	return int64(l.Len()), nil
}

// ListRemove removes elements equal to elem and returns their number: with a count above 0 that many from the head on,
// below 0 from the tail on, with 0 all.
func (v *View) ListRemove(key []byte, count int64, elem []byte) (int64, error) {
	e, err := v.writeAs(key, typeList)
	if err != nil || !e.Exists() {
		return 0, err
	}
	from, most := Head, math.MaxInt
	if count < 0 {
		from, count = Tail, -count
	}
	if count != 0 {
		most = int(count)
	}
	if l := e.quicklist(); l != nil {
		removed := l.Remove(elem, most, from)
		if removed > 0 {
			v.event(ClassList, "lrem", key)
			v.listShrunk(key, l)
		}
		return int64(removed), nil
	}
	skip := 0
	if from == Tail {
		skip = max(0, listpack.CountEqual(e.packed(), elem)-most)
	}
	lp, removed := listpack.DeleteEqual(v.edit(e), elem, skip, most)
	if removed == 0 {
		return 0, nil
	}
	v.event(ClassList, "lrem", key)
	switch {
	case listpack.First(lp) == listpack.None:
		v.Remove(key)
	default:
		v.save(key, e, kindListPacked, lp)
	}
	return int64(removed), nil
}

// ListTrim removes all elements but those from start to end, both inclusive, counted from the tail if negative.
func (v *View) ListTrim(key []byte, start, end int64) error {
	e, err := v.writeAs(key, typeList)
	if err != nil || !e.Exists() {
		return err
	}
	n := e.listLen()
	first, count := clampRange(start, end, n)
	v.event(ClassList, "ltrim", key)
	if count == 0 {
		v.Remove(key)
		return nil
	}
	if l := e.quicklist(); l != nil {
		l.Trim(first, count, v.doomedList(n-count))
		v.listShrunk(key, l)
		return nil
	}
	lp := v.edit(e)
	if count < n {
		if off := listpack.Seek(lp, first+count); off != listpack.None {
			lp = listpack.Delete(lp, off, n)
		}
		if first > 0 {
			lp = listpack.Delete(lp, listpack.First(lp), first)
		}
	}
	v.save(key, e, kindListPacked, lp) // watchers are marked though nothing may have changed, as in Redis
	return nil
}

// Search says which of the elements that equal a value ListPositions looks for.
type Search struct {
	Rank  int64 // 1 is the first one, 2 the second, -1 the last; not 0
	Count int64 // the most to be found; 0: all
	Most  int64 // the most elements to be looked at; 0: all
}

// ListPositions calls fn with the indexes of elements equal to elem, as they are found: in order, or backwards if the rank
// is negative.
func (v *View) ListPositions(key, elem []byte, s Search, fn func(index int64)) error {
	e, err := v.readAs(key, typeList)
	if err != nil || !e.Exists() {
		return err
	}
	first, from, step, skip := 0, Head, int64(1), s.Rank-1
	if s.Rank < 0 {
		first, from, step, skip = e.listLen()-1, Tail, -1, -s.Rank-1
	}
	index, found, seen := int64(first), int64(0), int64(0)
	e.elements(first, from, 1).walk(func(e quicklist.Element) bool {
		if e.Equal(elem) {
			if skip > 0 {
				skip--
			} else {
				fn(index)
				found++
			}
		}
		index += step
		seen++
		return (s.Count == 0 || found < s.Count) && (s.Most == 0 || seen < s.Most)
	})
	return nil
}

// ListMove takes the element at an end of one list to an end of another, or of the same one, and returns it. ok is false if
// there is none to take.
func (v *View) ListMove(from, to []byte, take, give End) (elem []byte, ok bool, err error) {
	src, err := v.writeAs(from, typeList)
	if err != nil || !src.Exists() {
		return nil, false, err
	}
	if _, err := v.writeAs(to, typeList); err != nil {
		return nil, false, err
	}
	src = v.Peek(from) // the other look-up may have removed an expired key
	if string(from) == string(to) {
		return v.listRotate(from, src, take, give), true, nil
	}
	elem = v.listEnd(src, take)
	v.listPush(to, v.Peek(to), give, elem)
	v.event(ClassList, pushEvents[give], to)
	v.event(ClassList, popEvents[take], from)
	v.listDrop(from, v.Peek(from), take, 1)
	return elem, true, nil
}

// listRotate takes the element at an end of a list to an end of it, the same or the other.
func (v *View) listRotate(key []byte, e Entry, take, give End) []byte {
	elem := v.listEnd(e, take)
	if e.listLen() == 1 { // it must not be removed
		v.changed(key)
	} else {
		v.listDrop(key, e, take, 1)
		v.listPush(key, v.Peek(key), give, elem)
	}
	v.event(ClassList, pushEvents[give], key)
	v.event(ClassList, popEvents[take], key)
	return elem
}

// listOf returns the packed value or the collection of a list of these elements, for replace.
func (v *View) listOf(elems [][]byte) (kind, []byte, collection) {
	if !v.packedList(nil, elems...) {
		l := v.newList()
		for _, elem := range elems {
			l.Push(Tail, elem)
		}
		return kindList, nil, largeList{l}
	}
	lp := v.scratch[:0]
	for _, elem := range elems {
		lp = listpack.Append(lp, elem)
	}
	v.scratch = lp
	return kindListPacked, lp, nil
}
