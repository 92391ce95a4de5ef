package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"iter"
	"math"
	"slices"

	"kvserver/store/intset"
	"kvserver/store/listpack"
	"kvserver/store/quicklist"
	"kvserver/store/rdb"
	"kvserver/store/stream"
)

// RESTORE takes payloads from anybody. A value is read as a whole, and everything about it checked, before the key is
// touched: what is stored is what commands could have made. Packed values are packed again, within the limits that hold
// here; only intsets, lists and the blocks of streams, of which every form that passes is as good as another, are copied.

// RestoreOptions say how Restore works.
type RestoreOptions struct {
	Replace        bool
	ExpireAtMs     int64 // Unix time; 0: none
	IdleSeconds    int64 // since the last use; disregarded while uses are counted
	Uses           int64 // how often it was used, 0 to 255, or -1 for a new key; disregarded while they are not counted
	StringBytesMax int64 // of any string in the payload
}

// Restore gives a key the value of a payload. Without Replace the key must not exist. If the time to expire is over, the
// key is missing afterwards. It returns rdb.ErrFooter or rdb.ErrFormat for a payload that is not one; the key then stays
// as it is.
func (v *View) Restore(key, payload []byte, o RestoreOptions) error {
	body, version, err := rdb.Open(payload)
	if err != nil {
		return err
	}
	val, live, err := v.load(rdb.NewReader(body, int(o.StringBytesMax)), version)
	if err != nil {
		return err
	}
	replaced := o.Replace && v.take(key)
	deadline := int64(noDeadline)
	if o.ExpireAtMs != 0 {
		deadline = o.ExpireAtMs
		live = live && !v.over(deadline)
	}
	if !live {
		v.store.bury(val.coll)
		if replaced {
			v.event(ClassGeneric, "del", key)
		}
		return nil
	}
	e := v.put(v.position(key), key, val, deadline)
	switch counting := v.store.eviction.counting; {
	case !counting:
		e.setAccessWord(uint32(max(int64(v.clock())-o.IdleSeconds, secondsMin)))
	case o.Uses >= 0:
		e.setAccessWord(counterWord(uint8(o.Uses), v.clock()))
	}
	v.event(ClassGeneric, "restore", key)
	return nil
}

// loader reads one value.
type loader struct {
	v *View
	*rdb.Reader
	enc     *Encodings
	expired bool // nothing is left of the value
}

// load reads a type and a value, which must be all that there is to read. The value is live unless all its fields have
// expired.
func (v *View) load(r *rdb.Reader, version uint16) (val value, live bool, err error) {
	l := loader{v: v, Reader: r, enc: &v.store.encodings}
	val = l.value(version)
	if r.Rest() > 0 {
		r.Fail()
	}
	if err := r.Err(); err != nil {
		v.store.bury(val.coll)
		return value{}, false, err
	}
	return val, !l.expired, nil
}

// value reads a type and a value. It may return a part of one if something is wrong.
func (l *loader) value(version uint16) value {
	typ := l.Type()
	switch typ {
	case rdb.String:
		return stringValue(l.String())
	case rdb.List:
		return l.list(l.Count(1), func(to *quicklist.List) { to.Push(Tail, l.String()) })
	case rdb.ListZiplist:
		return l.list(1, func(to *quicklist.List) { to.Append(l.listpack(typ)) })
	case rdb.ListZiplists:
		return l.list(l.Count(1), func(to *quicklist.List) { to.Append(l.listpack(typ)) })
	case rdb.ListQuicklist:
		return l.list(l.Count(2), l.node)
	case rdb.Set:
		return l.set(l.Count(1), l.String)
	case rdb.SetIntset:
		return l.ints(l.String())
	case rdb.SetListpack:
		return l.set(l.packed(typ, 1))
	case rdb.ZsetText:
		return l.zset(l.Count(2), func() ZElement { return ZElement{l.String(), l.TextDouble()} })
	case rdb.Zset:
		return l.zset(l.Count(1+8), func() ZElement { return ZElement{l.String(), l.Double()} })
	case rdb.ZsetZiplist, rdb.ZsetListpack:
		return l.zset(l.packedElements(typ))
	case rdb.Hash:
		return l.hash(l.Count(2), l.String)
	case rdb.HashZipmap, rdb.HashZiplist, rdb.HashListpack:
		return l.hash(l.packed(typ, 2))
	case rdb.Stream, rdb.Stream2, rdb.Stream3:
		return l.stream(typ)
	}
	valkey := version >= rdb.ValkeyVersion
	switch {
	case typ == rdb.ValkeyHash && valkey:
		return l.largeHash(l.Count(2+8), l.fieldsOfValkey)
	case typ == rdb.HashDeadlines && !valkey:
		earliest := l.Time()
		return l.largeHash(l.Count(3), func() field { return l.fieldSince(earliest) })
	case typ == rdb.HashListpackEx && !valkey:
		l.Time() // the earliest deadline, which the listpack has too
		n, next := l.packed(typ, 3)
		return l.largeHash(n, func() field { return field{next(), next(), l.deadline(next())} })
	}
	l.Fail()
	return value{}
}

// listpack reads a listpack, or what older types have in its place as one.
func (l *loader) listpack(typ rdb.Type) []byte {
	b := l.String()
	switch typ {
	case rdb.ListZiplist, rdb.ListZiplists, rdb.ZsetZiplist, rdb.HashZiplist:
		return l.repacked(rdb.Ziplist(b))
	case rdb.HashZipmap:
		return l.repacked(rdb.Zipmap(b))
	}
	if listpack.Validate(b) != nil {
		l.Fail()
		return nil
	}
	return b
}

func (l *loader) repacked(elements iter.Seq[[]byte], _ int, err error) (lp []byte) {
	if err != nil {
		l.Fail()
		return nil
	}
	for b := range elements {
		if !listpack.Fits(lp, listpack.Size(b)) {
			l.Fail()
			return nil
		}
		lp = listpack.Append(lp, b)
	}
	return lp
}

// packed reads a listpack of rows of the given number of elements. It returns the number of rows and what hands out the
// elements, which stay valid until the view unlocks.
func (l *loader) packed(typ rdb.Type, width int) (rows int, next func() []byte) {
	lp := l.listpack(typ)
	n := listpack.Len(lp)
	if n%width != 0 {
		l.Fail()
		return 0, nil
	}
	off := listpack.First(lp)
	return n / width, func() []byte {
		b := l.v.packedText(lp, off)
		off = listpack.Next(lp, off)
		return b
	}
}

// collected returns the next n elements and the length of the longest.
func collected(n int, next func() []byte) (all [][]byte, longest int) {
	all = make([][]byte, 0, n)
	for range n {
		b := next()
		longest = max(longest, len(b))
		all = append(all, b)
	}
	return all, longest
}

// distinct reports whether every step-th element is another one.
func distinct(all [][]byte, step int) bool {
	seen := make(map[string]struct{}, len(all)/step)
	for i := 0; i < len(all); i += step {
		seen[string(all[i])] = struct{}{}
	}
	return len(seen) == len(all)/step
}

// list reads nodes of a list, each of which add adds to it.
func (l *loader) list(nodes int, add func(to *quicklist.List)) value {
	list := l.v.newList()
	for range nodes {
		if add(list); l.Err() != nil {
			break
		}
	}
	if list.Len() == 0 {
		l.Fail()
	}
	bytesMax, countMax := l.v.listLimit()
	if list.PackedBytes() > bytesMax || list.Len() > countMax {
		return value{kind: kindList, coll: largeList{list}}
	}
	lp := list.AppendTo(nil)
	list.Release()
	return value{kind: kindListPacked, bytes: lp}
}

// node reads a node of a list. One without elements is passed over, as in Redis, some versions of which wrote such.
func (l *loader) node(to *quicklist.List) {
	b, plain := l.Node()
	switch {
	case plain && len(b) > 0:
		to.Push(Tail, b)
	case !plain && listpack.Validate(b) == nil:
		to.Append(b)
	default:
		l.Fail()
	}
}

// ints takes an intset.
func (l *loader) ints(b []byte) value {
	if intset.Validate(b) != nil {
		l.Fail()
		return value{}
	}
	m := members{kind: kindSetInts, packed: b}
	if m.len() > min(l.enc.SetInts, intsetMax) {
		l.v.toDict(&m)
	}
	return m.value()
}

// set reads n members.
func (l *loader) set(n int, next func() []byte) value {
	if n == 0 {
		l.Fail()
		return value{}
	}
	first := next()
	m := l.v.newMembers(first, n)
	m.own = true
	for member := first; l.Err() == nil; member = next() {
		if !l.v.addMember(&m, member) {
			l.Fail() // it is there twice
		}
		if n--; n == 0 {
			break
		}
	}
	return m.value()
}

func (m *members) value() value {
	if m.kind == kindSet {
		return value{kind: kindSet, coll: set{m.dict}}
	}
	return value{kind: m.kind, bytes: m.packed}
}

// zset reads n elements, in any order.
func (l *loader) zset(n int, next func() ZElement) value {
	if n == 0 {
		l.Fail()
	}
	b := zsetBuilder{v: l.v}
	if n <= l.enc.ZsetEntries {
		for _, el := range l.sorted(n, next) {
			b.add(el.Member, el.Score)
		}
	} else {
		b.large = l.v.newZset()
		for range n {
			el := next()
			if e, _ := b.large.score(l.v, el.Member); e.Exists() || math.IsNaN(el.Score) {
				l.Fail()
			}
			if l.Err() != nil {
				break
			}
			b.large.insert(l.v, el.Member, el.Score)
		}
	}
	if b.large != nil {
		return value{kind: kindZset, coll: b.large}
	}
	return value{kind: kindZsetPacked, bytes: b.packed}
}

// sorted returns the next n elements in order, none if that cannot be.
func (l *loader) sorted(n int, next func() ZElement) []ZElement {
	all := make([]ZElement, 0, n)
	seen := make(map[string]struct{}, n)
	for range n {
		el := next()
		all = append(all, el)
		seen[string(el.Member)] = struct{}{}
		if math.IsNaN(el.Score) {
			l.Fail()
		}
	}
	if len(seen) != n {
		l.Fail()
	}
	if l.Err() != nil {
		return nil
	}
	slices.SortFunc(all, compareElements)
	return all
}

func compareElements(a, b ZElement) int {
	return cmp.Or(cmp.Compare(a.Score, b.Score), bytes.Compare(a.Member, b.Member))
}

// packedElements is packed for members and scores, which must be in order.
func (l *loader) packedElements(typ rdb.Type) (n int, next func() ZElement) {
	n, text := l.packed(typ, 2)
	last := ZElement{Score: math.Inf(-1)}
	return n, func() ZElement {
		el := ZElement{Member: text()}
		var ok bool
		if el.Score, ok = ParseDouble(text()); !ok || compareElements(last, el) > 0 {
			l.Fail()
		}
		last = el
		return el
	}
}

// hash reads n fields and values by turns.
func (l *loader) hash(n int, next func() []byte) value {
	if n > l.enc.HashEntries {
		return l.largeHash(n, func() field { return field{next(), next(), noDeadline} })
	}
	all, longest := collected(2*n, next)
	if n == 0 || l.Err() != nil || !distinct(all, 2) {
		l.Fail()
		return value{}
	}
	var lp []byte
	for _, b := range all {
		if longest > l.enc.HashValue || !listpack.Fits(lp, listpack.Size(b)) {
			return l.largeHash(n, func() field {
				f := field{all[0], all[1], noDeadline}
				all = all[2:]
				return f
			})
		}
		lp = listpack.Append(lp, b)
	}
	return value{kind: kindHashPacked, bytes: lp}
}

// field is a field of a hash with its value and deadline.
type field struct {
	name, val []byte
	deadline  int64
}

// largeHash reads n fields. Those that have expired are left out.
func (l *loader) largeHash(n int, next func() field) value {
	if n == 0 {
		l.Fail()
		return value{}
	}
	h := &hash{*l.v.newDict()}
	for range n {
		f := next()
		if l.Err() != nil {
			break
		}
		if f.deadline != noDeadline && l.v.over(f.deadline) {
			continue
		}
		if !l.v.dictSet(&h.dict, f.name, f.val, f.deadline) {
			l.Fail() // it is there twice
		}
	}
	l.expired = h.len() == 0
	return value{kind: kindHash, coll: h}
}

// fieldsOfValkey reads a field as Valkey writes it; -1 stands for no deadline.
func (l *loader) fieldsOfValkey() field {
	f := field{l.String(), l.String(), l.Time()}
	switch {
	case f.deadline == -1:
		f.deadline = noDeadline
	case f.deadline < 0:
		l.Fail()
	}
	return f
}

// fieldSince reads a field as Redis writes it: the deadline first, in ms after the earliest one and 1 more; 0 stands for
// none.
func (l *loader) fieldSince(earliest int64) field {
	after := l.Length()
	f := field{l.String(), l.String(), noDeadline}
	switch {
	case after == 0:
	case earliest < 0 || after-1 > uint64(math.MaxInt64-earliest):
		l.Fail()
	default:
		f.deadline = earliest + int64(after-1)
	}
	return f
}

// deadline returns the deadline of a field that a listpack has, 0 standing for none.
func (l *loader) deadline(text []byte) int64 {
	ms, ok := ParseInteger(text)
	switch {
	case !ok || ms < 0:
		l.Fail()
	case ms == 0:
		return noDeadline
	}
	return ms
}

// stream reads a stream of one of three types, each of which says more than the one before.
func (l *loader) stream(typ rdb.Type) value {
	large := l.v.newStream()
	val, s := value{kind: kindStream, coll: large}, large.Stream
	for range l.Count(rawIDSize + 2) {
		id := l.String()
		if len(id) != rawIDSize || s.LoadBlock(rawID(id), l.String()) != nil {
			l.Fail()
			return val
		}
	}
	length, last := l.number(), l.id()
	maxDeleted, added := stream.ID{}, length
	if typ != rdb.Stream {
		l.id() // the first, which the blocks tell
		maxDeleted, added = l.id(), l.number()
	}
	if s.Loaded(length, last, maxDeleted, added) != nil {
		l.Fail()
	}
	for range l.Count(4) {
		if l.group(s, typ); l.Err() != nil {
			return val
		}
	}
	l.v.recount(large)
	return val
}

const rawIDSize = 16

func rawID(b []byte) stream.ID {
	return stream.ID{Ms: binary.BigEndian.Uint64(b), Seq: binary.BigEndian.Uint64(b[8:])}
}

// rawID reads an ID of 16 bytes.
func (l *loader) rawID() stream.ID {
	b := l.Bytes(rawIDSize)
	if b == nil {
		return stream.ID{}
	}
	return rawID(b)
}

// id reads an ID of two numbers.
func (l *loader) id() stream.ID { return stream.ID{Ms: l.Length(), Seq: l.Length()} }

// number reads a number of 63 bits.
func (l *loader) number() int64 {
	n := l.Length()
	if n > math.MaxInt64 {
		l.Fail()
		return 0
	}
	return int64(n)
}

// time reads a time in ms, which is not before the given one.
func (l *loader) time(from int64) int64 {
	ms := l.Time()
	if ms < from {
		l.Fail()
	}
	return ms
}

// group reads a consumer group of a stream.
func (l *loader) group(s *stream.Stream, typ rdb.Type) {
	name, last := l.String(), l.id()
	read := int64(stream.Unknown)
	if typ != rdb.Stream {
		if read = int64(l.Length()); read < stream.Unknown {
			l.Fail()
		}
	}
	if l.Err() != nil {
		return
	}
	g := s.NewGroup(name, last, read)
	if g == nil {
		l.Fail()
		return
	}
	if lag, ok := g.Lag(); ok && typ == rdb.Stream {
		g.Read = s.Added() - lag
	}
	for range l.Count(rawIDSize + 8 + 1) {
		id, deliveredMs, deliveries := l.rawID(), l.time(0), l.number()
		if l.Err() != nil || g.LoadPending(id, deliveredMs, deliveries) != nil {
			l.Fail()
			return
		}
	}
	for range l.Count(1 + 8 + 1) {
		if l.consumer(g, typ); l.Err() != nil {
			return
		}
	}
	if g.LoadedGroup() != nil {
		l.Fail()
	}
}

// consumer reads a consumer of a group.
func (l *loader) consumer(g *stream.Group, typ rdb.Type) {
	name, seenMs := l.String(), l.time(0)
	if l.Err() != nil {
		return
	}
	c := g.NewConsumer(name, seenMs)
	if c == nil {
		l.Fail()
		return
	}
	c.ActiveMs = seenMs // the best guess
	if typ == rdb.Stream3 {
		c.ActiveMs = l.time(-1)
	}
	for range l.Count(rawIDSize) {
		if id := l.rawID(); g.LoadOwner(c, id) != nil {
			l.Fail()
			return
		}
	}
}
