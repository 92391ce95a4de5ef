package store

import (
	"encoding/binary"
	"math"
)

// A segment holds the entries of one range of positions: those that share the shard and depth further leading bits.
// It grows by doubling its buckets and enlarging its arena until it is full, and is then split by its table.
type segment struct {
	arena
	depth    uint8
	count    uint32
	volatile uint32 // entries with a deadline
	// earliest is a lower bound of the deadlines, in ms, those of fields of hashes included.
	earliest int64
	objects  objects
}

const (
	// noDeadline is the deadline of an entry that has none; every other number is one that a client may give.
	noDeadline = math.MinInt64
	// never is the earliest deadline where there is none.
	never = math.MaxInt64
)

// home returns the bucket of a position: the bits that follow the shard's and the segment's.
func (g *segment) home(pos uint64) uint32 {
	return uint32(pos << (shardBits + g.depth) >> (64 - g.bucketBits))
}

func (g *segment) entry(slot uint32) Entry { return Entry{g, offsetOf(slot)} }

// find returns the slot of a key, or nil. It costs one cache line of the index, the overflow buckets apart, and the entry.
func (g *segment) find(pos uint64, key []byte) *uint32 {
	b := g.bucketAt(g.home(pos) * bucketSize)
	for {
		for i := range b.count() {
			slot := &b[i&bucketSlots]
			if tagOf(*slot) == uint16(pos) && g.entry(*slot).hasKey(key) {
				return slot
			}
		}
		off := b.overflow()
		if off == 0 {
			return nil
		}
		b = g.bucketAt(off)
	}
}

func (e Entry) hasKey(key []byte) bool {
	if len(key) > inlineMax {
		return e.flags()&keyOutside != 0 && string(e.Key()) == string(key)
	}
	return int(e.keyLen()) == len(key) && string(e.bytes(headerSize, uint32(len(key)))) == string(key) &&
		e.flags()&keyOutside == 0
}

// record is an entry to be written.
type record struct {
	key      []byte
	value    value
	deadline int64 // ms; noDeadline: none
	access   uint32
	room     uint32 // bytes of capacity beyond what the fields take
}

// value is a value to be written.
type value struct {
	kind   kind
	number int64  // of kind int
	bytes  []byte // of any other kind; copied, unless owned
	owned  bool   // bytes are on the Go heap and the store may keep them
	coll   collection
}

func (v *value) outside() bool { return len(v.bytes) > inlineMax || v.coll != nil }

// fieldLen returns the length of the value field.
func (v *value) fieldLen() uint32 {
	switch {
	case v.kind == kindInt:
		return 8
	case v.outside():
		return numberSize
	}
	return uint32(len(v.bytes))
}

func (v *value) object() object {
	if v.owned || v.coll != nil {
		return object{v.bytes, v.coll}
	}
	return object{bytes: append([]byte(nil), v.bytes...)}
}

func keyFieldLen(key []byte) uint32 {
	if len(key) > inlineMax {
		return numberSize
	}
	return uint32(len(key))
}

// need returns the bytes that an entry with these fields takes.
func need(keyLen, valueLen uint32, deadline int64) uint32 {
	n := headerSize + keyLen + valueLen
	if deadline != noDeadline {
		n += deadlineSize
	}
	return roundUp(n, unit)
}

// add writes a new entry, for which there must be room.
func (v *View) add(g *segment, pos uint64, r *record) Entry {
	keyLen := keyFieldLen(r.key)
	n := need(keyLen, r.value.fieldLen(), r.deadline) + r.room
	e := Entry{g, g.take(n)}
	*(*uint16)(e.at(keyLenAt)) = uint16(keyLen)
	*(*uint16)(e.at(valueLenAt)) = 0
	*(*uint16)(e.at(capacityAt)) = uint16(n / unit)
	*(*kind)(e.at(kindAt)) = kindRaw
	*(*uint8)(e.at(flagsAt)) = 0
	if len(r.key) > inlineMax {
		e.setFlag(keyOutside, true)
		o := object{bytes: append([]byte(nil), r.key...)}
		v.store.objectBytes.Add(o.size())
		binary.LittleEndian.PutUint32(e.keyField(), g.objects.add(o))
	} else {
		copy(e.keyField(), r.key)
	}
	g.dead += n - e.need()
	v.overwrite(e, r)
	g.place(g.home(pos), slotOf(uint16(pos), e.off))
	g.count++
	return e
}

// overwrite gives an entry another value and deadline, in place. It reports false, having done nothing, if they do not
// fit into the entry's capacity. The value may alias the entry's own.
func (v *View) overwrite(e Entry, r *record) bool {
	g := e.seg
	length := r.value.fieldLen()
	n := need(e.keyLen(), length, r.deadline)
	waste := e.capacity() - e.need()
	if n > e.capacity() && !g.extend(e, n) {
		return false
	}
	*e.access() = r.access
	had, has := e.flags()&hasDeadline != 0, r.deadline != noDeadline
	number := v.keep(e, &r.value)
	at := e.deadlineAt()
	if has {
		at += deadlineSize
	}
	field := e.bytes(at, length)
	switch {
	case r.value.kind == kindInt:
		binary.LittleEndian.PutUint64(field, uint64(r.value.number))
	case r.value.outside():
		binary.LittleEndian.PutUint32(field, number)
	default:
		copy(field, r.value.bytes)
	}
	if has {
		binary.LittleEndian.PutUint64(e.bytes(e.deadlineAt(), deadlineSize), uint64(r.deadline))
		g.earliest = min(g.earliest, r.deadline)
	}
	*(*uint16)(e.at(valueLenAt)) = uint16(length)
	*(*kind)(e.at(kindAt)) = r.value.kind
	e.setFlag(hasDeadline, has)
	e.setFlag(valueOutside, r.value.outside())
	g.volatile += one(has) - one(had)
	g.dead += e.capacity() - e.need() - waste
	return true
}

// extend makes the capacity of an entry n bytes, if it is the last of the arena and there is room.
func (g *segment) extend(e Entry, n uint32) bool {
	capacity := e.capacity()
	if e.off+capacity != g.used || n-capacity > g.size-g.used {
		return false
	}
	g.take(n - capacity)
	*(*uint16)(e.at(capacityAt)) = uint16(n / unit)
	return true
}

// keep brings the objects of a segment in line with a value that replaces that of e, and returns the number of the new
// value's object if it has one. The object that e had is reused when the new value fits it well.
func (v *View) keep(e Entry, val *value) (number uint32) {
	g := e.seg
	had := e.flags()&valueOutside != 0
	if had && val.outside() {
		o := g.objects.get(e.valueField())
		v.store.objectBytes.Add(-o.size())
		if n := len(val.bytes); !val.owned && val.coll == nil && n <= cap(o.bytes) && n >= cap(o.bytes)/2 {
			o.bytes = o.bytes[:n]
			copy(o.bytes, val.bytes)
		} else {
			if o.coll != val.coll {
				v.doom(o.coll)
			}
			*o = val.object()
		}
		v.store.objectBytes.Add(o.size())
		return binary.LittleEndian.Uint32(e.valueField())
	}
	if had {
		v.dropObject(g, e.valueField())
	}
	if val.outside() {
		o := val.object()
		v.store.objectBytes.Add(o.size())
		number = g.objects.add(o)
	}
	return number
}

// dropObject takes an object out of a segment.
func (v *View) dropObject(g *segment, field []byte) {
	o := g.objects.take(field)
	v.store.objectBytes.Add(-o.size())
	v.doom(o.coll)
}

// remove takes the entry of *slot out of the segment. Its bytes stay as they are until the next write.
func (v *View) remove(g *segment, home uint32, slot *uint32) {
	e := g.entry(*slot)
	flags := e.flags()
	if flags&keyOutside != 0 {
		v.dropObject(g, e.keyField())
	}
	if flags&valueOutside != 0 {
		v.dropObject(g, e.valueField())
	}
	if flags&hasDeadline != 0 {
		g.volatile--
	}
	g.dead += e.need()
	g.unplace(home, slot)
	g.count--
}

// reclaim makes the bytes of an entry that was removed free again, if it is the last of the arena. So a key that is set
// and deleted over and over stays in one place.
func (g *segment) reclaim(e Entry) {
	if capacity := e.capacity(); e.off+capacity == g.used {
		g.used -= capacity
		g.dead -= capacity
	}
}

func (e Entry) setFlag(flag uint8, on bool) {
	f := (*uint8)(e.at(flagsAt))
	*f &^= flag
	if on {
		*f |= flag
	}
}

func one(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}
