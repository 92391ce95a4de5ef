package store

import (
	"sync/atomic"
	"unsafe"

	"kvserver/store/pages"
)

// A table is the part of one database that lies in one shard: extendible hashing over segments. The directory has
// 2^depth pointers, by the position bits after the shard's; a segment of less depth has several in a row. A full segment
// is split in two, and two that have become small are merged, so the order of positions is never disturbed.
type table struct {
	depth     uint8
	directory []*segment
	deepest   int // segments as deep as the directory: it is halved when there are none

	keys, volatile atomic.Int64 // written under the shard's lock, read from anywhere

	// earliest is a lower bound of all deadlines, in ms; cycle is the state of the expiry cycle.
	earliest int64
	cycle    cycle
}

// depthMax bounds the directory. With keys that hash well a shard has 2^30 segments only beyond 10^11 keys.
const depthMax = 30

func (s *Store) newTable() *table {
	t := &table{earliest: never, deepest: 1}
	t.directory = []*segment{{earliest: never, arena: s.newArena(arenaMin, 0)}}
	s.heapBytes.Add(tableSize + segmentSize + pointerSize)
	return t
}

const (
	// segmentSize and tableSize are what they take on the Go heap, directories, arenas and objects apart.
	segmentSize = int64(unsafe.Sizeof(segment{}))
	tableSize   = int64(unsafe.Sizeof(table{}))
	pointerSize = int64(unsafe.Sizeof(uintptr(0)))
)

func (t *table) index(pos uint64) uint64 { return pos << shardBits >> (64 - t.depth) }

func (t *table) segment(pos uint64) *segment { return t.directory[t.index(pos)] }

// span returns the directory indexes [first, end) of the segment that pos belongs to.
func (t *table) span(g *segment, pos uint64) (first, end uint64) {
	size := uint64(1) << (t.depth - g.depth)
	first = t.index(pos) &^ (size - 1)
	return first, first + size
}

// insert adds a key that the table does not have.
func (v *View) insert(t *table, pos uint64, r *record) Entry {
	n := need(keyFieldLen(r.key), r.value.fieldLen(), r.deadline) + r.room
	g := t.segment(pos)
	for g.count >= capacityOf(g.bucketBits) || !g.fits(g.home(pos), n) {
		if !v.grow(g, n) {
			v.split(t, g, pos)
			g = t.segment(pos)
		}
	}
	t.keys.Add(1)
	if r.deadline != noDeadline {
		t.volatile.Add(1)
	}
	return v.add(g, pos, r)
}

// split divides the segment that pos belongs to by its next position bit. g keeps the lower half.
func (v *View) split(t *table, g *segment, pos uint64) {
	low, high := v.work.items[0][:0], v.work.items[1][:0]
	for home := range uint32(1) << g.bucketBits {
		g.each(home, func(slot uint32) {
			p := v.store.position(g.entry(slot).Key())
			if p<<(shardBits+g.depth)>>63 == 0 {
				low = append(low, item{slot: slot})
			} else {
				high = append(high, item{slot: slot})
			}
		})
	}
	right := &segment{depth: g.depth + 1, earliest: never}
	left := segment{depth: g.depth + 1, earliest: never}
	v.fillHalf(&left, g, low, true)
	v.fillHalf(right, g, high, false)
	if g.depth == t.depth {
		v.double(t)
	}
	first, end := t.span(g, pos)
	v.setArena(g, left.arena)
	g.depth, g.count, g.volatile, g.earliest = left.depth, left.count, left.volatile, left.earliest
	for i := (first + end) / 2; i < end; i++ {
		t.directory[i] = right
	}
	if g.depth == t.depth {
		t.deepest += 2
	}
	v.store.heapBytes.Add(segmentSize)
}

// fillHalf gives one half of a split its entries. Its buckets are not more than those of the whole, and so it fits.
func (v *View) fillHalf(to, from *segment, items []item, share bool) {
	bucketBits := min(bucketBitsFor(uint32(len(items))), from.bucketBits)
	for i := range items {
		items[i].home = v.homeOf(from, items[i].slot, to.depth, bucketBits)
	}
	src := source{from, items, share}
	v.fill(to, bucketBits, min(withSlack(bytesFor(bucketBits, src)), arenaMax), src)
}

// double makes the directory twice as large.
func (v *View) double(t *table) {
	if t.depth == depthMax {
		panic("store: too many keys with like positions")
	}
	wide := make([]*segment, 2*len(t.directory))
	for i, g := range t.directory {
		wide[2*i], wide[2*i+1] = g, g
	}
	v.store.heapBytes.Add(int64(len(t.directory)) * pointerSize)
	t.directory = wide
	t.depth++
	t.deepest = 0
}

// shrink gives memory back after removals from the segment of pos: it compacts the segment when less than half of its
// arena is live, and merges it with its neighbours while two of them make a small one.
func (v *View) shrink(t *table, pos uint64) {
	g := t.segment(pos)
	for g.depth > 0 && g.count <= mergeMax/2 {
		if !v.merge(t, g, pos) {
			break
		}
		g = t.segment(pos)
	}
	if g.wasteful() {
		v.rebuild(g, min(bucketBitsFor(g.count), g.bucketBits), 0)
	}
}

// wasteful reports whether compaction would free a fifth of the arena, or half of a small one: those are copied often
// enough as it is, and are few. A compacted arena is far from that again.
func (g *segment) wasteful() bool {
	if g.bucketBits > 0 && g.count < 2<<g.bucketBits {
		return true
	}
	size := withSlack(g.live())
	if g.size < 4*pages.Size {
		return g.size > arenaMin && size <= g.size/2
	}
	return size <= g.size/5*4
}

// mergeMax is the number of entries up to which two segments become one: well below what would be split again.
const mergeMax = itemsMax * 2 / 5

// merge makes the segment of pos and its buddy one, if both have the same depth and few entries.
func (v *View) merge(t *table, g *segment, pos uint64) bool {
	first, end := t.span(g, pos)
	size := end - first
	buddy := t.directory[first^size]
	if buddy.depth != g.depth || g.count+buddy.count > mergeMax || g.live()+buddy.live() > arenaMax/2 {
		return false
	}
	left, right := g, buddy
	if first&size != 0 {
		left, right = buddy, g
	}
	first &^= size
	to := segment{depth: g.depth - 1, earliest: never, objects: left.objects}
	bucketBits := bucketBitsFor(g.count + buddy.count)
	sources := [2]source{{left, v.collect(left, v.work.items[0][:0]), true}, {right, v.collect(right, v.work.items[1][:0]), false}}
	for _, src := range sources {
		for i := range src.items {
			src.items[i].home = v.homeOf(src.from, src.items[i].slot, to.depth, bucketBits)
		}
	}
	v.fill(&to, bucketBits, withSlack(bytesFor(bucketBits, sources[:]...)), sources[:]...)
	v.retire(left.arena)
	v.retire(right.arena)
	*left = to
	for i := range 2 * size {
		t.directory[first+i] = left
	}
	v.store.heapBytes.Add(-segmentSize)
	if left.depth+1 == t.depth {
		if t.deepest -= 2; t.deepest == 0 {
			v.halve(t)
		}
	}
	return true
}

// halve makes the directory as small as its deepest segments allow.
func (v *View) halve(t *table) {
	for t.deepest == 0 && t.depth > 0 {
		narrow := make([]*segment, len(t.directory)/2)
		for i := range narrow {
			narrow[i] = t.directory[2*i]
		}
		v.store.heapBytes.Add(-int64(len(narrow)) * pointerSize)
		t.directory = narrow
		t.depth--
		for i := range narrow {
			if narrow[i].depth == t.depth {
				t.deepest++
			}
		}
	}
}
