package store

import (
	"encoding/binary"
	"slices"
	"testing"

	"kvserver/store/pages"
)

// totals are what the structures of a store add up to.
type totals struct {
	heap, objects, pages int64
}

// sane walks all structures of a store that nobody is using and checks what must hold of them.
func sane(t *testing.T, s *Store) {
	t.Helper()
	var sum totals
	for i := range s.shards {
		sh := &s.shards[i]
		for db := range sh.tables {
			tab := sh.tables[db].Load()
			if tab == nil {
				continue
			}
			saneTable(t, s, tab, &sum)
			tab.eachSegment(func(g *segment) bool {
				for home := range uint32(1) << g.bucketBits {
					g.each(home, func(slot uint32) {
						if s.position(g.entry(slot).Key())>>(64-shardBits) != uint64(i) {
							t.Fatal("entry in the wrong shard")
						}
					})
				}
				return true
			})
			if tab.earliest < sh.earliest.Load() {
				t.Fatalf("shard %d: bound %d above that of table %d", i, sh.earliest.Load(), tab.earliest)
			}
		}
	}
	if s.heapBytes.Load() != sum.heap || s.objectBytes.Load() != sum.objects || s.pool.InUse() != sum.pages {
		t.Fatalf("accounts: heap %d objects %d pages %d, in fact %+v",
			s.heapBytes.Load(), s.objectBytes.Load(), s.pool.InUse(), sum)
	}
}

func saneTable(t *testing.T, s *Store, tab *table, sum *totals) {
	t.Helper()
	sum.heap += tableSize + int64(len(tab.directory))*pointerSize
	if len(tab.directory) != 1<<tab.depth {
		t.Fatalf("directory of %d at depth %d", len(tab.directory), tab.depth)
	}
	deepest := 0
	var keys, volatile int64
	for i := 0; i < len(tab.directory); {
		g := tab.directory[i]
		if g.depth == tab.depth {
			deepest++
		}
		width := 1 << (tab.depth - g.depth)
		if i%width != 0 {
			t.Fatalf("segment of depth %d begins at %d of 2^%d", g.depth, i, tab.depth)
		}
		for j := range width {
			if tab.directory[i+j] != g {
				t.Fatalf("segment of depth %d has a hole at %d", g.depth, i+j)
			}
		}
		saneSegment(t, s, tab, g, sum)
		for home := range uint32(1) << g.bucketBits {
			g.each(home, func(slot uint32) {
				if tab.segment(s.position(g.entry(slot).Key())) != g {
					t.Fatal("entry in the wrong segment")
				}
			})
		}
		keys += int64(g.count)
		volatile += int64(g.volatile)
		sum.heap += segmentSize
		if g.earliest < tab.earliest || g.earliest < tab.cycle.earliest && !tab.cycle.running {
			t.Fatalf("table: bound %d above that of a segment %d", tab.earliest, g.earliest)
		}
		i += width
	}
	if deepest != tab.deepest || deepest == 0 {
		t.Fatalf("%d deepest segments, counted %d", deepest, tab.deepest)
	}
	if keys != tab.keys.Load() || volatile != tab.volatile.Load() {
		t.Fatalf("table counts %d keys, %d volatile, has %d and %d", tab.keys.Load(), tab.volatile.Load(), keys, volatile)
	}
}

// extent is a range of bytes of an arena.
type extent struct{ from, to uint32 }

func saneSegment(t *testing.T, s *Store, tab *table, g *segment, sum *totals) {
	t.Helper()
	extents := []extent{{0, bucketSize << g.bucketBits}}
	live := uint32(bucketSize) << g.bucketBits
	var count, volatile uint32
	used := map[uint32]bool{}
	for home := range uint32(1) << g.bucketBits {
		for off := home * bucketSize; ; {
			b := g.bucketAt(off)
			next := b.overflow()
			if b.count() > bucketSlots || next != 0 && b.count() != bucketSlots || next%bucketSize != 0 {
				t.Fatalf("bucket of %d entries has an overflow bucket at %d", b.count(), next)
			}
			for i := range b.count() {
				saneEntry(t, s, g, home, b[i], used)
				e := g.entry(b[i])
				extents = append(extents, extent{e.off, e.off + e.capacity()})
				live += e.need()
				count++
				volatile += one(e.flags()&hasDeadline != 0)
			}
			if off = next; off == 0 {
				break
			}
			if g.bucketAt(off).count() == 0 {
				t.Fatal("empty overflow bucket")
			}
			extents = append(extents, extent{off, off + bucketSize})
			live += bucketSize
		}
	}
	slices.SortFunc(extents, func(a, b extent) int { return int(a.from) - int(b.from) })
	for i := range extents {
		if i > 0 && extents[i].from < extents[i-1].to || extents[i].to > g.used {
			t.Fatalf("extents overlap or leave the arena: %v, used %d", extents, g.used)
		}
	}
	if count != g.count || volatile != g.volatile || live != g.live() || g.used > g.size || count > itemsMax {
		t.Fatalf("segment has %d entries, %d volatile, %d bytes live; counts %d, %d, %d", count, volatile, live, g.count, g.volatile, g.live())
	}
	if len(used)+len(g.objects.free) != len(g.objects.table) {
		t.Fatalf("%d objects used and %d free of %d", len(used), len(g.objects.free), len(g.objects.table))
	}
	for i := range g.objects.table {
		if o := &g.objects.table[i]; used[uint32(i)] {
			sum.objects += o.size()
			if o.coll != nil {
				saneCollection(t, s, o.coll, sum)
			}
		} else if o.bytes != nil || o.coll != nil {
			t.Fatal("free object holds bytes")
		}
	}
	if g.run == 0 {
		sum.heap += int64(g.size)
	} else {
		sum.pages += int64(g.size)
		if g.size%pages.Size != 0 {
			t.Fatalf("arena of %d bytes", g.size)
		}
	}
}

func saneEntry(t *testing.T, s *Store, g *segment, home, slot uint32, used map[uint32]bool) {
	t.Helper()
	e := g.entry(slot)
	pos := s.position(e.Key())
	if g.home(pos) != home || tagOf(slot) != uint16(pos) {
		t.Fatal("entry in the wrong bucket")
	}
	if e.off%unit != 0 || e.need() > e.capacity() {
		t.Fatalf("entry at %d needs %d of %d", e.off, e.need(), e.capacity())
	}
	if e.earliest() < g.earliest {
		t.Fatalf("deadline %d before the segment's bound %d", e.earliest(), g.earliest)
	}
	var fields [][]byte
	if e.flags()&keyOutside != 0 {
		fields = append(fields, e.keyField())
	}
	if e.flags()&valueOutside != 0 {
		fields = append(fields, e.valueField())
	}
	for _, field := range fields {
		number := binary.LittleEndian.Uint32(field)
		if used[number] || int(number) >= len(g.objects.table) ||
			len(g.objects.get(field).bytes) <= inlineMax && g.objects.get(field).coll == nil {
			t.Fatalf("object %d is shared, missing or short", number)
		}
		used[number] = true
	}
	if e.flags()&keyOutside == 0 && len(e.Key()) > inlineMax || e.kind() == kindInt && e.valueLen() != 8 {
		t.Fatal("entry with a field of the wrong length")
	}
}

// saneCollection walks a collection that is made of a dict, and counts what a list or a stream says of itself, which have
// tests of their own.
func saneCollection(t *testing.T, s *Store, c collection, sum *totals) {
	t.Helper()
	switch c := c.(type) {
	case *hash:
		saneTable(t, s, c.table, sum)
	case largeList:
		sum.pages += c.PageBytes()
		sum.objects += c.HeapBytes()
	case *largeStream:
		sum.pages += c.Footprint() - c.HeapBytes()
		sum.objects += c.HeapBytes()
	case set:
		saneTable(t, s, c.table, sum)
	}
}
