package store

import (
	"encoding/binary"

	"kvserver/store/pages"
)

// What changes the shape of a segment: every step copies one arena, at most 512 KiB, or two that are being merged.
//
// The arena that a step replaces is retired, not freed: values handed out before, and the operands of the write at hand,
// may lie in it. Pages are freed when the next write has ended or the view unlocks; arenas on the Go heap by the collector.

// An item is an entry on its way into a new arena: the bucket that it goes to and its slot, which still holds the old
// offset.
type item struct {
	home uint32
	slot uint32
}

// itemsMax is the largest number of entries of a segment.
const itemsMax = 9 << bucketBitsMax

// workspace is memory for rebuilding segments, kept by a view.
type workspace struct {
	items   [2][itemsMax]item
	retired []pages.Run
	doomed  []collection // no longer in the store
}

// grow makes room in a segment for one more entry, which takes n bytes. It reports false if the segment is full.
func (v *View) grow(g *segment, n uint32) bool {
	n += 2 * bucketSize // in case its bucket overflows
	if g.count >= capacityOf(g.bucketBits) {
		if g.bucketBits == bucketBitsMax {
			return false
		}
		return v.rebuild(g, g.bucketBits+1, n)
	}
	if g.dead >= g.used/8 {
		return v.rebuild(g, g.bucketBits, n)
	}
	size := withSlack(g.used + n)
	if size > arenaMax {
		return v.rebuild(g, g.bucketBits, n)
	}
	a := v.store.newArena(size, g.bucketBits)
	copy(a.bytes(0, g.used), g.bytes(0, g.used))
	a.used, a.dead = g.used, g.dead
	v.setArena(g, a)
	return true
}

// withSlack returns the size of an arena that is to hold n bytes and grow: an eighth more, or half for small ones.
func withSlack(n uint32) uint32 {
	if n < pages.Size {
		return min(n+n/2, pages.Size)
	}
	return roundUp(n+n/8, pages.Size)
}

// setArena gives the segment another arena, and retires the old one.
func (v *View) setArena(g *segment, a arena) {
	v.retire(g.arena)
	g.arena = a
}

func (v *View) retire(a arena) {
	switch {
	case a.run != 0:
		v.work.retired = append(v.work.retired, a.run)
	case a.base != nil:
		v.store.heapBytes.Add(-int64(a.size))
	}
}

// freeAll frees everything that writes have left behind. No lock may be held that others wait for: what is freed here may
// be large.
func (v *View) freeAll() {
	if len(v.work.retired) > 0 {
		v.freeRetired(len(v.work.retired))
	}
	for i, c := range v.work.doomed {
		v.store.bury(c)
		v.work.doomed[i] = nil
	}
	v.work.doomed = v.work.doomed[:0]
}

// freeRetired frees the first n retired arenas.
func (v *View) freeRetired(n int) {
	for _, run := range v.work.retired[:n] {
		v.store.pool.Free(run)
	}
	v.work.retired = append(v.work.retired[:0], v.work.retired[n:]...)
}

// rebuild compacts the segment into a new arena with 2^bucketBits buckets and room for spare bytes more. It reports
// false if that would be nearly full of live entries: such a segment is better split than compacted again and again.
func (v *View) rebuild(g *segment, bucketBits uint8, spare uint32) bool {
	items := v.collect(g, v.work.items[0][:0])
	if bucketBits != g.bucketBits {
		for i := range items {
			items[i].home = v.homeOf(g, items[i].slot, g.depth, bucketBits)
		}
	}
	src := source{g, items, true}
	size := withSlack(bytesFor(bucketBits, src) + spare)
	if size > arenaMax {
		return false
	}
	to := segment{depth: g.depth, earliest: never}
	v.fill(&to, bucketBits, size, src)
	v.setArena(g, to.arena)
	g.earliest = to.earliest
	return true
}

// collect appends the entries of a segment to items.
func (v *View) collect(g *segment, items []item) []item {
	for home := range uint32(1) << g.bucketBits {
		g.each(home, func(slot uint32) { items = append(items, item{home, slot}) })
	}
	return items
}

// homeOf returns the bucket that an entry has in a segment of another depth or number of buckets.
func (v *View) homeOf(g *segment, slot uint32, depth, bucketBits uint8) uint32 {
	to := segment{depth: depth, arena: arena{bucketBits: bucketBits}}
	return to.home(v.store.position(g.entry(slot).Key()))
}

// source is entries of one segment that go into another.
type source struct {
	from  *segment
	items []item
	// share: the objects of both segments are the same table, and keep their numbers. Otherwise they move along.
	share bool
}

// bytesFor returns the size that an arena must have at least to take the entries of the sources.
func bytesFor(bucketBits uint8, sources ...source) uint32 {
	var counts [1 << bucketBitsMax]uint16
	n := uint32(bucketSize) << bucketBits
	for _, src := range sources {
		for _, it := range src.items {
			if counts[it.home]++; counts[it.home] > bucketSlots && counts[it.home]%bucketSlots == 1 {
				n += bucketSize
			}
			n += src.from.entry(it.slot).need()
		}
	}
	return n
}

// fill gives the segment to, which has no arena, one of the given size with 2^bucketBits buckets, and adds the entries of
// the sources.
func (v *View) fill(to *segment, bucketBits uint8, size uint32, sources ...source) {
	var counts [1 << bucketBitsMax]uint16
	for _, src := range sources {
		for _, it := range src.items {
			counts[it.home]++
		}
	}
	to.arena = v.store.newArena(size, bucketBits)
	// The overflow buckets first, so that they leave no gaps between entries.
	for home, n := range counts[:1<<bucketBits] {
		b := to.bucketAt(uint32(home) * bucketSize)
		for ; n > bucketSlots; n -= bucketSlots {
			to.chain(b)
			b = to.bucketAt(b.overflow())
		}
	}
	for _, src := range sources {
		for _, it := range src.items {
			to.adopt(src, it)
		}
	}
}

// adopt copies an entry, cut to what it needs, into the segment's arena.
func (g *segment) adopt(src source, it item) {
	from := src.from.entry(it.slot)
	n := from.need()
	e := Entry{g, g.take(n)}
	copy(e.bytes(0, n), from.bytes(0, n))
	*(*uint16)(e.at(capacityAt)) = uint16(n / unit)
	flags := e.flags()
	g.volatile += one(flags&hasDeadline != 0)
	g.earliest = min(g.earliest, from.earliest())
	if !src.share && flags&keyOutside != 0 {
		moveObject(e.keyField(), &g.objects, &src.from.objects)
	}
	if !src.share && flags&valueOutside != 0 {
		moveObject(e.valueField(), &g.objects, &src.from.objects)
	}
	g.place(it.home, slotOf(tagOf(it.slot), e.off))
	g.count++
}

func moveObject(field []byte, to, from *objects) {
	binary.LittleEndian.PutUint32(field, to.add(from.take(field)))
}
