package hotkeys

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
	"time"
	"unsafe"
)

// frozen is a completed window: the recorders' tallies as they were at its
// end, and what was made of them when a report was asked for. Merging is left
// to the report, because rotation holds up the whole server, and most windows
// are never read.
type frozen struct {
	tallies  []*tally      // one a recorder; empty if there is no window
	holds    *holds        // nil: nothing was held
	begin    int64         // nanoseconds of the tracker's clock
	duration time.Duration // 0: no window
	options  Options       // that were in force

	merged   []candidate   // in no particular order
	bounds   [sides]uint64 // of ordinary names: the most recorded accesses of a key that no summary tracks
	dropped  uint64        // of ordinary names: the largest most of a key that was not kept
	isMerged bool
	ordinary int // of merged, those first: with names of the first class
}

// candidate is a key of the frozen window, over all recorders.
type candidate struct {
	hash     uint64
	key      *counter    // that holds the name
	recorded [sides]band // while it was not held
	held     [sides]uint64
	costs    costs
	most     uint64 // accesses that it can have had, times the percentage
	kept     bool   // among those that one summary of everything would have
	carried  bool   // it was held when the window began, and was in no summary
}

// band is what a summary knows of a count: between count-err and count.
type band struct{ count, err uint64 }

// add adds what may or may not have been recorded. Sums may wrap around in between.
func (b *band) add(bound uint64) {
	b.count += bound
	b.err += bound
}

const candidateBytes = int64(unsafe.Sizeof(candidate{}))

// heat returns twice the estimated number of accesses, times the percentage: an integer, so that two keys of a window
// compare by it as they do by their rates.
func (c *candidate) heat(by Ranking, percentage uint64) (total uint64) {
	for side := range sides {
		if by.includes(side) {
			b := c.recorded[side]
			total += 2*percentage*c.held[side] + 100*(2*b.count-b.err)
		}
	}
	return total
}

// seen tells whether an access to the key was recorded or counted.
func (c *candidate) seen(by Ranking) bool {
	for side := range sides {
		if by.includes(side) && (c.held[side] > 0 || c.recorded[side].count > c.recorded[side].err) {
			return true
		}
	}
	return false
}

// setMost sets most.
func (c *candidate) setMost(percentage int) {
	c.most = 0
	for side := range sides {
		c.most += uint64(percentage)*c.held[side] + 100*c.recorded[side].count
	}
}

// discard leaves no window.
func (f *frozen) discard() {
	f.forgetMerged()
	f.duration = 0
	for _, t := range f.tallies {
		t.reset(f.options)
	}
	if f.holds != nil {
		f.holds.reset()
	}
}

// forgetMerged must come before any change to a tally, since candidates point
// into it.
func (f *frozen) forgetMerged() {
	clear(f.merged[:cap(f.merged)])
	f.merged, f.isMerged = f.merged[:0], false
}

func (f *frozen) samples(by Ranking) (total uint64) {
	for _, t := range f.tallies {
		for side := range sides {
			if by.includes(side) {
				total += t.samples[side]
			}
		}
	}
	return total
}

func (f *frozen) accesses() (total uint64) {
	for _, t := range f.tallies {
		total += t.accesses
	}
	return total
}

func (f *frozen) removeDB(db int) {
	f.forgetMerged()
	removeDB(db, f.tallies, f.holds)
}

// removeDB removes the keys of one database from what recorders have counted.
func removeDB(db int, tallies []*tally, h *holds) {
	for _, t := range tallies {
		t.removeDB(db)
	}
	if h == nil {
		return
	}
	for place := range h.keys {
		if h.keys[place].db == int32(db) {
			for _, t := range tallies {
				t.held.forget(place)
			}
		}
	}
}

func (f *frozen) memoryBytes() int64 {
	total := int64(cap(f.merged)) * candidateBytes
	for _, t := range f.tallies {
		total += t.memoryBytes()
	}
	if f.holds != nil {
		total += f.holds.memoryBytes()
	}
	return total
}

// merge makes one summary of those of the recorders; the package comment has
// its bounds.
func (f *frozen) merge() {
	if f.isMerged {
		return
	}
	f.isMerged = true
	for class := range nameClasses {
		joined, bounds := f.join(class)
		f.addBounds(joined, class, bounds)
		kept := min(f.options.counters(), nameClasses[class].countersMax)
		if class == 0 {
			kept = max(kept, f.options.holdsMax())
		}
		dropped := largest(joined, kept)
		if class == 0 {
			f.ordinary, f.bounds, f.dropped = len(joined), bounds, dropped
		}
	}
}

// join appends the keys of one class of names to merged, each with the sum of
// its counts and errors less the bounds of the recorders that track it, and
// returns them, and the sums of all bounds.
func (f *frozen) join(class int) (joined []candidate, bounds [sides]uint64) {
	keys := 0
	for _, t := range f.tallies {
		for side := range sides {
			keys += t.classes[side][class].used
		}
	}
	begin := len(f.merged)
	if class == 0 && f.holds != nil {
		keys += len(f.holds.keys)
		for place := range f.holds.keys {
			if c := f.holds.candidate(place, f.tallies, f.options.Percentage); c.most > 0 {
				f.merged = append(f.merged, c)
			}
		}
	}
	log2 := bits.Len(uint(2 * keys))
	x := index{slots: make([]int32, 1<<log2), shift: 64 - uint8(log2)}
	for i := range f.merged[begin:] {
		x.find(f.merged[begin:], f.merged[begin+i].key, i)
	}
	for _, t := range f.tallies {
		for side := range sides {
			s := &t.classes[side][class]
			bound := s.bound()
			bounds[side] += bound
			for _, i := range s.order[:s.used] {
				k := &s.counters[i]
				count := s.buckets[k.bucket].count
				at := x.find(f.merged[begin:], k, len(f.merged)-begin)
				if at == len(f.merged)-begin {
					f.merged = append(f.merged, candidate{hash: k.hash, key: k})
				}
				c := &f.merged[begin+at]
				// Either difference may wrap around; the sums come out
				// right when the bounds are added.
				c.recorded[side].count += count - bound
				c.recorded[side].err += k.err - bound
				if s.costs != nil {
					c.costs.join(s.costs[i])
				}
			}
		}
	}
	return f.merged[begin:], bounds
}

// addBounds completes what join has left: each key gets the bounds of the summaries that may have seen it. Those that track
// it have been taken off before.
func (f *frozen) addBounds(joined []candidate, class int, bounds [sides]uint64) {
	for i := range joined {
		if c := &joined[i]; !c.carried {
			for side := range sides {
				c.recorded[side].add(bounds[side])
			}
		}
	}
	for _, t := range f.tallies {
		for side := range sides {
			s := &t.classes[side][class]
			bound := s.bound()
			if bound == 0 {
				continue
			}
			for i := range joined {
				if c := &joined[i]; !c.carried && !s.saw(c.hash) {
					c.recorded[side].add(-bound)
				}
			}
		}
	}
	for i := range joined {
		joined[i].setMost(f.options.Percentage)
	}
}

// index finds candidates by key.
type index struct {
	slots []int32 // place among the candidates plus 1; 0: empty
	shift uint8
}

// find returns the place of a key among candidates; if it has none it is given the one that is named.
func (x *index) find(among []candidate, k *counter, next int) int {
	at := k.hash >> x.shift
	for ; x.slots[at] != 0; at = (at + 1) & uint64(len(x.slots)-1) {
		if c := &among[x.slots[at]-1]; c.hash == k.hash && compareKeys(c.key, k) == 0 {
			return int(x.slots[at] - 1)
		}
	}
	x.slots[at] = int32(next + 1)
	return next
}

// candidate returns what recorders have counted of the key in a place.
func (h *holds) candidate(place int, tallies []*tally, percentage int) candidate {
	c := candidate{hash: h.keys[place].hash, key: &h.keys[place], carried: place < h.carried}
	for _, t := range tallies {
		for side := range sides {
			c.held[side] += t.held.counts[place][side]
		}
		if place < len(t.held.evidence) {
			e := &t.held.evidence[place]
			for side := range sides {
				c.recorded[side].count += e.recorded[side]
			}
			c.costs.join(e.costs)
		}
	}
	c.setMost(percentage)
	return c
}

// largest marks as kept the n candidates that can have had the most accesses, and returns
// the most of those that are not, 0 if there are none. Among those equal to the smallest of
// them, the first are.
func largest(all []candidate, n int) (dropped uint64) {
	if len(all) <= n {
		for i := range all {
			all[i].kept = true
		}
		return 0
	}
	least, room := nthLargest(all, n)
	for i := range all {
		c := &all[i]
		c.kept = c.most > least
		if c.most == least && room > 0 {
			c.kept = true
			room--
		}
		if !c.kept {
			dropped = max(dropped, c.most)
		}
	}
	return dropped
}

// nthLargest returns the n-th largest most, and how many equal to it
// are among the n largest. It fixes the number byte by byte from the top: O(1)
// passes, where sorting takes most of the time of a merge.
func nthLargest(all []candidate, n int) (most uint64, equal int) {
	fixed := uint64(0) // mask of the bytes known
	for shift := 56; shift >= 0; shift -= 8 {
		var candidates [256]int // whose known bytes are those of most, by the next
		for i := range all {
			if c := all[i].most; c&fixed == most {
				candidates[byte(c>>shift)]++
			}
		}
		digit := 255
		for n > candidates[digit] {
			n -= candidates[digit]
			digit--
		}
		most |= uint64(digit) << shift
		fixed |= 0xff << shift
	}
	return most, n
}

// compareKeys orders keys by name, then database.
func compareKeys(a, b *counter) int {
	if c := bytes.Compare(a.name(), b.name()); c != 0 {
		return c
	}
	return cmp.Compare(a.db, b.db)
}

// ranked is a candidate with what it is ranked by.
type ranked struct {
	*candidate
	heat uint64
}

// compareHeat orders candidates hottest first: by estimate, then name, then
// database. No two are equal.
func compareHeat(a, b ranked) int {
	if c := cmp.Compare(b.heat, a.heat); c != 0 {
		return c
	}
	return compareKeys(a.key, b.key)
}

// hottest returns the keys that a query asks for, in order. Those found so far stand in
// a heap with the coldest on top; to sort all of them takes several times as
// long, most of it in comparing the names of keys that were seen once.
func (f *frozen) hottest(q Query) []ranked {
	heap := make([]ranked, 0, q.Count)
	for i := range f.merged {
		c := &f.merged[i]
		if q.DB >= 0 && int(c.key.db) != q.DB || q.By == All && !c.kept || !c.seen(q.By) {
			continue
		}
		next := ranked{c, c.heat(q.By, uint64(f.options.Percentage))}
		switch {
		case len(heap) < q.Count:
			heap = append(heap, next)
			siftUp(heap, len(heap)-1)
		case compareHeat(next, heap[0]) < 0:
			heap[0] = next
			siftDown(heap, 0)
		}
	}
	slices.SortFunc(heap, compareHeat)
	return heap
}

// siftUp moves the candidate at i up until none above it is hotter.
func siftUp(heap []ranked, i int) {
	for i > 0 {
		above := (i - 1) / 2
		if compareHeat(heap[i], heap[above]) < 0 {
			return
		}
		heap[i], heap[above] = heap[above], heap[i]
		i = above
	}
}

// siftDown moves the candidate at i down until none below it is colder.
func siftDown(heap []ranked, i int) {
	for {
		coldest := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(heap); child++ {
			if compareHeat(heap[child], heap[coldest]) > 0 {
				coldest = child
			}
		}
		if coldest == i {
			return
		}
		heap[i], heap[coldest] = heap[coldest], heap[i]
		i = coldest
	}
}
