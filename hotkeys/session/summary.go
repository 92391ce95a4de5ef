package session

import (
	"bytes"
	"math/bits"
	"slices"
	"unsafe"
)

// summary finds the heavy keys of a stream of weights in fixed memory: the
// Space-Saving algorithm, in which an item adds its weight where it would add 1.
//
//	A. Metwally, D. Agrawal, A. El Abbadi: Efficient Computation of Frequent
//	and Top-k Elements in Data Streams. ICDT 2005.
//
// There are m counters. A weight of a key that has one is added to it. That of
// another key takes a free counter, or when there is none the one with the
// smallest count: the newcomer inherits that count, adds its own weight, and
// remembers what it inherited as its error. With m = 2:
//
//	A+50 B+7 A+20   A 70/0  B 7/0     (count/error)
//	C+30            A 70/0  C 37/7    C displaced B: it has 30 to 37
//
// With W the weight seen, f the true weight of a key and min the smallest count:
//
//	count - error <= f <= count     for every key that has a counter
//	f <= min <= W/m                 for every key that has none
//	sum of counts = W
//
// The sum holds because each step adds its weight to one count and moves none
// away; so the smallest of m counts is at most W/m. A key is taken away only when
// it has the smallest count, which is at least its weight, and counts never fall,
// nor then does min: so f <= min from then on. What a newcomer inherits is min,
// hence its bounds. No step asks how large a weight is: it holds for any, and for
// any order of the stream.
//
// # Structure
//
// With steps of 1 the order of the counters changes by neighbours only, which
// package hotkeys makes use of. Weights of any size need a heap: the smallest
// count is at its root, and one that grows sinks below smaller ones. Those that
// grow most are at the bottom already, where that costs nothing; a newcomer, at
// the root, sinks some levels of ten. The heap holds counts and references, 16
// bytes each, so that it stays in the nearest cache; an index by linear probing
// finds a key's counter; a counter owns the buffer of its name, which the next
// key overwrites.
//
// # Measured
//
// One recorded command with one key of 16 bytes in nanoseconds, 8 of them for
// making the name, nothing allocated (go test -bench Record -cpu 1
// ./hotkeys/session, AMD EPYC of the Zen 4 generation at 2.6 GHz, shared):
//
//	            has a counter   displaces
//	one metric             41          89
//	both                   56         162
type summary struct {
	capacity int // most counters there may be
	counters []counter
	heap     []place
	slots    []int32 // index: a counter's index plus 1; 0: empty
	shift    uint8   // 64 - log2(len(slots))

	nameBytes int64 // of all buffers
}

// counter is a key and what is known of it. Its count stands in the heap.
type counter struct {
	hash uint64
	err  uint64 // part of the count that may be that of displaced keys
	name []byte
	at   int32 // in the heap
}

// place is a counter in the heap.
type place struct {
	weight uint64
	c      int32
}

const (
	none        = -1
	countersMin = 32 // room made at first
	slotsEach   = 4  // slots of the index per counter

	counterBytes  = int64(unsafe.Sizeof(counter{}))
	placeBytes    = int64(unsafe.Sizeof(place{}))
	slotBytes     = int64(unsafe.Sizeof(int32(0)))
	recorderBytes = int64(unsafe.Sizeof(Recorder{}))
)

// add counts a weight. A weight of zero leaves no trace. O(log m), but for the
// copy of the name, and for growth while keys arrive.
func (s *summary) add(hash uint64, name []byte, weight uint64) {
	if weight == 0 {
		return
	}
	_, c := s.find(hash, name)
	switch {
	case c != none:
		p := s.counters[c].at
		s.heap[p].weight += weight
		s.sink(int(p))
	case len(s.counters) < s.capacity:
		s.admit(hash, name, weight)
	default:
		s.displace(hash, name, weight)
	}
}

// find returns the counter of a key, or none and the slot where the index would
// have it (-1 while there is no index).
func (s *summary) find(hash uint64, name []byte) (at int, c int32) {
	if len(s.slots) == 0 {
		return -1, none
	}
	mask := len(s.slots) - 1
	for at = int(hash >> s.shift); ; at = (at + 1) & mask {
		ref := s.slots[at&mask]
		if ref == 0 {
			return at, none
		}
		if k := &s.counters[ref-1]; k.hash == hash && bytes.Equal(k.name, name) {
			return at, ref - 1
		}
	}
}

// bound is the most that a key without a counter can have had.
func (s *summary) bound() uint64 {
	if len(s.counters) < s.capacity || len(s.heap) == 0 {
		return 0
	}
	return s.heap[0].weight
}

// admit gives a new counter to a key that has none.
func (s *summary) admit(hash uint64, name []byte, weight uint64) {
	if len(s.counters) == cap(s.counters) {
		s.grow()
	}
	at, _ := s.find(hash, name)
	c := int32(len(s.counters))
	s.counters = append(s.counters, counter{hash: hash})
	s.setName(&s.counters[c], name)
	s.slots[at] = c + 1
	s.heap = append(s.heap, place{weight, c})
	s.rise(int(c))
}

// displace gives a key that has no counter the one with the smallest count.
func (s *summary) displace(hash uint64, name []byte, weight uint64) {
	c := s.heap[0].c
	s.unindex(c)
	k := &s.counters[c]
	k.hash, k.err = hash, s.heap[0].weight
	s.setName(k, name)
	at, _ := s.find(hash, name)
	s.slots[at] = c + 1
	s.heap[0].weight += weight
	s.sink(0)
}

// setName copies a name into a counter's buffer.
func (s *summary) setName(k *counter, name []byte) {
	if cap(k.name) < len(name) {
		s.nameBytes -= int64(cap(k.name))
		k.name = slices.Grow([]byte(nil), len(name))
		s.nameBytes += int64(cap(k.name))
	}
	k.name = append(k.name[:0], name...)
}

// unindex takes a counter out of the index and closes the gap: what follows moves
// up until a slot is empty, except what would land before its home.
func (s *summary) unindex(c int32) {
	mask := len(s.slots) - 1
	gap := s.home(c)
	for s.slots[gap] != c+1 {
		gap = (gap + 1) & mask
	}
	for at := (gap + 1) & mask; s.slots[at] != 0; at = (at + 1) & mask {
		if home := s.home(s.slots[at] - 1); (at-home)&mask >= (at-gap)&mask {
			s.slots[gap] = s.slots[at]
			gap = at
		}
	}
	s.slots[gap] = 0
}

// home is the slot where the search for a counter begins.
func (s *summary) home(c int32) int { return int(s.counters[c].hash >> s.shift) }

// rise moves a place up until what is above it has no larger count.
func (s *summary) rise(at int) {
	p := s.heap[at]
	for at > 0 {
		above := (at - 1) / 2
		if s.heap[above].weight <= p.weight {
			break
		}
		s.put(at, s.heap[above])
		at = above
	}
	s.put(at, p)
}

// sink moves a place down until what is below it has no smaller count.
func (s *summary) sink(at int) {
	p := s.heap[at]
	for {
		below := 2*at + 1
		if below >= len(s.heap) {
			break
		}
		if next := below + 1; next < len(s.heap) && s.heap[next].weight < s.heap[below].weight {
			below = next
		}
		if s.heap[below].weight >= p.weight {
			break
		}
		s.put(at, s.heap[below])
		at = below
	}
	s.put(at, p)
}

func (s *summary) put(at int, p place) {
	s.heap[at] = p
	s.counters[p.c].at = int32(at)
}

// grow doubles the room for counters, within the capacity, and remakes the index
// so that three quarters of it stay empty.
func (s *summary) grow() {
	size := min(max(2*cap(s.counters), countersMin), s.capacity)
	counters, heap := make([]counter, len(s.counters), size), make([]place, len(s.heap), size)
	copy(counters, s.counters)
	copy(heap, s.heap)
	s.counters, s.heap = counters, heap
	log2 := bits.Len(uint(slotsEach*size - 1))
	s.slots, s.shift = make([]int32, 1<<log2), uint8(64-log2)
	for c := range s.counters {
		at := s.home(int32(c))
		for s.slots[at] != 0 {
			at = (at + 1) & (len(s.slots) - 1)
		}
		s.slots[at] = int32(c) + 1
	}
}

// memoryBytes is the size of all that the summary holds.
func (s *summary) memoryBytes() int64 {
	return int64(cap(s.counters))*counterBytes + int64(cap(s.heap))*placeBytes +
		int64(len(s.slots))*slotBytes + s.nameBytes
}
