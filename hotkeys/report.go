package hotkeys

import (
	"bytes"
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"
	"unsafe"
)

// Report is the window last completed.
type Report struct {
	Samples    uint64        // accesses recorded in the window
	Duration   time.Duration // measured length of the window; 0: there is none
	Percentage int           // of accesses recorded in the window
	Entries    []Entry       // at most TopK, hottest first
}

// Entry is one key of a report.
type Entry struct {
	Key   []byte
	DB    int
	Count uint64 // most accesses that were recorded for the key
	Error uint64 // Count - Error is the least
}

// Rate returns the estimated accesses of an entry per second: the middle of
// its band, scaled to all accesses. r must have a duration.
func (r Report) Rate(e Entry) float64 {
	recorded := float64(doubled(e.Count, e.Error)) / 2
	return recorded * 100 / float64(r.Percentage) / r.Duration.Seconds()
}

// QPS returns Rate rounded to nearest.
func (r Report) QPS(e Entry) int64 {
	return int64(math.Round(r.Rate(e)))
}

// doubled returns twice the middle of [count-error, count], which is an
// integer: two keys of a window compare by it as they do by their rates.
func doubled(count, err uint64) uint64 { return 2*count - err }

// frozen is a completed window: the recorders' tallies as they were at its
// end, and what was made of them when a report was asked for. Merging is left
// to the report, because rotation holds up the whole server, and most windows
// are never read.
type frozen struct {
	tallies    []*tally      // one a recorder; empty if there is no window
	duration   time.Duration // 0: no window
	percentage int
	counters   int // that a tally had for ordinary names

	merged   []candidate // in no particular order
	isMerged bool
}

// candidate is a key of the frozen window, over all recorders.
type candidate struct {
	hash       uint64
	count, err uint64
	key        *counter // that holds the name, in one of the tallies
}

const candidateBytes = int64(unsafe.Sizeof(candidate{}))

// Report returns the frozen window. It owns its memory. Rotate is up to the
// caller. The first report of a window merges the recorders, in O(n) for n keys
// in all of them; every report chooses among the keys merged, in O(n log TopK).
func (t *Tracker) Report() Report {
	f := &t.frozen
	if f.duration == 0 {
		return Report{}
	}
	f.merge()
	top := hottest(f.merged, t.options.TopK)
	r := Report{
		Samples:    f.samples(),
		Duration:   f.duration,
		Percentage: f.percentage,
		Entries:    make([]Entry, len(top)),
	}
	nameBytes := 0
	for i := range top {
		nameBytes += len(top[i].key.name())
	}
	names := make([]byte, 0, nameBytes)
	for i, c := range top {
		begin := len(names)
		names = append(names, c.key.name()...)
		r.Entries[i] = Entry{Key: names[begin:len(names):len(names)], DB: int(c.key.db), Count: c.count, Error: c.err}
	}
	return r
}

// LastWindow returns the samples and the duration of the frozen window, as
// Report does, without the work that entries cost.
func (t *Tracker) LastWindow() (samples uint64, duration time.Duration) {
	return t.frozen.samples(), t.frozen.duration
}

func (f *frozen) samples() (total uint64) {
	for _, t := range f.tallies {
		total += t.samples
	}
	return total
}

// discard leaves no window.
func (f *frozen) discard() {
	f.forgetMerged()
	f.duration = 0
	for _, t := range f.tallies {
		t.reset(f.counters)
	}
}

// forgetMerged must come before any change to a tally, since candidates point
// into it.
func (f *frozen) forgetMerged() {
	clear(f.merged[:cap(f.merged)])
	f.merged, f.isMerged = f.merged[:0], false
}

func (f *frozen) removeDB(db int) {
	f.forgetMerged()
	for _, t := range f.tallies {
		t.removeDB(db)
	}
}

func (f *frozen) memoryBytes() int64 {
	total := int64(cap(f.merged)) * candidateBytes
	for _, t := range f.tallies {
		total += t.memoryBytes()
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
		begin := len(f.merged)
		bounds := f.join(class) // what a key gets from recorders that lack it
		joined := f.merged[begin:]
		for i := range joined {
			joined[i].count += bounds
			joined[i].err += bounds
		}
		kept := largest(joined, min(f.counters, nameClasses[class].countersMax))
		f.merged = f.merged[:begin+len(kept)]
	}
}

// join appends the keys of one class of names to merged, each with the sum of
// its counts and errors less the bounds of the recorders that track it, and
// returns the sum of all bounds.
func (f *frozen) join(class int) (bounds uint64) {
	keys := 0
	for _, t := range f.tallies {
		keys += t.classes[class].used
	}
	log2 := bits.Len(uint(2 * keys))
	slots := make([]int32, 1<<log2) // index in merged plus 1; 0: empty
	for _, t := range f.tallies {
		bound := t.classes[class].bound()
		bounds += bound
	next:
		for k, count := range t.classes[class].all() {
			at := k.hash >> (64 - log2)
			for ; slots[at] != 0; at = (at + 1) & uint64(len(slots)-1) {
				if c := &f.merged[slots[at]-1]; c.hash == k.hash && compareKeys(c.key, k) == 0 {
					// Either difference may wrap around; the sums come
					// out right when the bounds are added.
					c.count += count - bound
					c.err += k.err - bound
					continue next
				}
			}
			f.merged = append(f.merged, candidate{k.hash, count - bound, k.err - bound, k})
			slots[at] = int32(len(f.merged))
		}
	}
	return bounds
}

// largest keeps the n candidates with the largest counts, in place. Among
// those equal to the smallest count kept, the first stay.
func largest(all []candidate, n int) []candidate {
	if len(all) <= n {
		return all
	}
	least, room := nthLargest(all, n)
	kept := all[:0]
	for _, c := range all {
		if c.count == least {
			if room == 0 {
				continue
			}
			room--
		}
		if c.count >= least {
			kept = append(kept, c)
		}
	}
	return kept
}

// nthLargest returns the n-th largest count, and how many counts equal to it
// are among the n largest. It fixes the count byte by byte from the top: O(1)
// passes, where sorting takes most of the time of a merge.
func nthLargest(all []candidate, n int) (count uint64, equal int) {
	fixed := uint64(0) // mask of the bytes known
	for shift := 56; shift >= 0; shift -= 8 {
		var candidates [256]int // whose known bytes are those of count, by the next
		for i := range all {
			if c := all[i].count; c&fixed == count {
				candidates[byte(c>>shift)]++
			}
		}
		digit := 255
		for n > candidates[digit] {
			n -= candidates[digit]
			digit--
		}
		count |= uint64(digit) << shift
		fixed |= 0xff << shift
	}
	return count, n
}

// compareKeys orders keys by name, then database.
func compareKeys(a, b *counter) int {
	if c := bytes.Compare(a.name(), b.name()); c != 0 {
		return c
	}
	return cmp.Compare(a.db, b.db)
}

// compareHeat orders candidates hottest first: by estimate, then name, then
// database. No two are equal.
func compareHeat(a, b candidate) int {
	if c := cmp.Compare(doubled(b.count, b.err), doubled(a.count, a.err)); c != 0 {
		return c
	}
	return compareKeys(a.key, b.key)
}

// hottest returns the n hottest of all, in order. Those found so far stand in
// a heap with the coldest on top; to sort all of them takes several times as
// long, most of it in comparing the names of keys that were seen once.
func hottest(all []candidate, n int) []candidate {
	heap := slices.Clone(all[:min(n, len(all))])
	for i := len(heap)/2 - 1; i >= 0; i-- {
		siftDown(heap, i)
	}
	for _, c := range all[len(heap):] {
		if compareHeat(c, heap[0]) < 0 {
			heap[0] = c
			siftDown(heap, 0)
		}
	}
	slices.SortFunc(heap, compareHeat)
	return heap
}

// siftDown moves the candidate at i down until none below it is colder.
func siftDown(heap []candidate, i int) {
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
