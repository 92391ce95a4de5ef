package hotkeys

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Sample and hold:
//
//	C. Estan, G. Varghese: New Directions in Traffic Measurement and
//	Accounting. SIGCOMM 2002.
//
// Sampling only discovers keys. Once an access to a key has been recorded the
// key is held, and every further access to it in the window is counted, one by
// one. Whoever looks keys up keeps a mark where it has the key anyway (a bit of the
// entry's header): see [Recorder.AccessMarkable]. Where there is no key, and when one is
// made, it asks ([Recorder.AccessMissing], [Recorder.Marks]): a lock that is set and
// deleted over and over is held all the time.
//
// # The estimate
//
// Each access has a weight: 1 if the key is held, which makes it counted; if it
// is not, 1/p if the access is recorded, which happens with probability p, and
// 0 otherwise. The expected weight of an access is 1 in both cases, whatever
// decides about holding, as long as that was decided before the access. So the
// sum
//
//	held + recorded/p        recorded: while the key was not held
//
// is unbiased. Of a key that is discovered once and held from then on, recorded
// is 1: the accesses after the discovery, and 1/p for it and for those before,
// which are geometric of mean (1-p)/p. Their deviation of √(1-p)/p, 99 accesses at
// 1 %, is all the error there is. A key that was held when the window began is
// counted exactly. One that has lost its mark is sampled until it is discovered again: the
// formula is the same.
//
// The bounds are held + interval(recorded): see interval. That of one recorded
// access is wider than that of a geometric number, because a key that loses its
// mark may have accesses after its last recorded.
//
// Costs are known of recorded accesses only, those of held keys among them. They
// are multiplied, as an average, by the rate that was counted.
//
// # Which keys
//
// There are places for the larger of 4,096 keys and as many as a summary has
// counters. The hottest keys of a window, held or not, have half of the places of the next from its beginning, with
// a count of zero, so that a key that stays hot is counted from the first moment. When all places
// are taken, further keys are sampled into the summaries as without holding. So the bounds hold,
// whatever the load; what a crowded window loses is precision. The departure from
// the paper, which holds flows as long as there is memory and then raises the
// threshold, is that a key is never dropped in the middle of a window.
//
// Places belong to all recorders. A recorder counts by place in memory of its own;
// it asks for the place by the key's hash and compares 48 bits of it, but not
// the name: that a key is taken for one of 4,096 held ones has a probability below 10^-10.
//
// # Cost
//
// An access to a key that exists and is not marked costs nothing new. One to a key that is, or that
// does not exist, costs a look at a slot, seldom two, and an addition; the hottest keys, which are
// discovered first, stand close together.
type holds struct {
	// slots is the index: the high bits of a key's hash beside the key's place, in one word, so that one load tells both.
	// They are read by all goroutines, and written under mu. 0: empty.
	slots []atomic.Uint64
	shift uint8 // 64 - log2(len(slots))

	mu sync.Mutex
	// mu guards what follows while goroutines record. Places are handed out in order, and never taken back before the window ends.
	keys      []counter // the key of each place taken: hash, db and name
	carried   int       // of the first places: their keys were held when the window began
	nameBytes int64
}

const (
	holdsMin = 4096

	// placeMask is the part of a slot that is the place: CountersMax places fit.
	placeMask = CountersMax - 1
)

// holdsMax returns how many keys the options hold in a window; 0: holding is off. If each access is recorded there is
// nothing to be gained.
func (o Options) holdsMax() int {
	if !o.Hold || o.Percentage == PercentageMax || o.TopK == 0 {
		return 0
	}
	return max(holdsMin, o.counters())
}

// newHolds makes the places for a number of keys: four to eight slots each, so that nearly always the first is the right one.
func newHolds(capacity int) *holds {
	log2 := bits.Len(uint(4*capacity - 1))
	return &holds{
		slots: make([]atomic.Uint64, 1<<log2),
		shift: uint8(64 - log2),
		keys:  make([]counter, 0, capacity),
	}
}

// find returns the place of a key, or none.
func (h *holds) find(hash uint64) int32 {
	mask := uint64(len(h.slots) - 1)
	for at := hash >> h.shift; ; at++ {
		switch slot := h.slots[at&mask].Load(); {
		case slot == 0: // also if that is the hash: such a key has no place
			return none
		case slot&^placeMask == hash&^placeMask:
			return int32(slot & placeMask)
		}
	}
}

// admit gives a key a place if it has none, and returns it, or none if there is none left. Names that are not ordinary
// get none: see nameClasses.
func (h *holds) admit(hash uint64, name []byte, db int) int32 {
	if place := h.find(hash); place != none {
		return place
	}
	if hash&^placeMask == 0 || len(name) > nameClasses[0].nameBytesMax {
		return none
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if place := h.find(hash); place != none {
		return place
	}
	return h.add(hash, name, db)
}

// add gives a key that has no place one.
func (h *holds) add(hash uint64, name []byte, db int) int32 {
	place := len(h.keys)
	if place == cap(h.keys) {
		return none
	}
	h.keys = h.keys[:place+1]
	k := &h.keys[place]
	k.hash, k.db = hash, int32(db)
	h.nameBytes += k.setName(name)
	mask := uint64(len(h.slots) - 1)
	at := hash >> h.shift
	for h.slots[at].Load() != 0 {
		at = (at + 1) & mask
	}
	h.slots[at].Store(hash&^placeMask | uint64(place))
	return int32(place)
}

// reset forgets all keys. Buffers of long names are kept.
func (h *holds) reset() {
	clear(h.slots)
	h.keys, h.carried = h.keys[:0], 0
}

// carry gives places to the keys of a window that is over, the hottest if there are more than half of the places. It merges
// the window.
func (h *holds) carry(from *frozen) {
	from.merge()
	all, n := from.merged[:from.ordinary], cap(h.keys)/2
	least, room := uint64(0), 0
	if len(all) > n {
		least, room = nthLargest(all, n)
	}
	for i := range all {
		c := &all[i]
		if c.most == least {
			room--
		}
		if c.most > least || c.most == least && room >= 0 {
			h.add(c.hash, c.key.name(), int(c.key.db))
		}
	}
	h.carried = len(h.keys)
}

func (h *holds) memoryBytes() int64 {
	return int64(len(h.slots))*int64(unsafe.Sizeof(h.slots[0])) + int64(cap(h.keys))*int64(unsafe.Sizeof(counter{})) + h.nameBytes
}

// held is what one recorder counted of the keys held in one window, by their places.
type held struct {
	counts   [][sides]uint64 // accesses counted one by one
	evidence []heldEvidence  // grows as places are seen
	capacity int
}

type heldEvidence struct {
	recorded [sides]uint64 // while the key was not held
	costs    costs
}

func (h *held) reset(o Options) {
	if n := o.holdsMax(); n != len(h.counts) {
		*h = held{capacity: n}
		if n > 0 {
			h.counts = make([][sides]uint64, n)
		}
		return
	}
	clear(h.counts)
	clear(h.evidence)
}

// add notes a recorded access to a key that has a place.
func (h *held) add(a *access) {
	for int(a.held) >= len(h.evidence) {
		h.evidence = append(h.evidence, make([]heldEvidence, min(max(len(h.evidence), countersMin), h.capacity-len(h.evidence)))...)
	}
	e := &h.evidence[a.held]
	if !a.counted {
		e.recorded[a.op.side()]++
	}
	e.costs.add(a)
}

// forget zeroes what is known of the key in a place.
func (h *held) forget(place int) {
	h.counts[place] = [sides]uint64{}
	if place < len(h.evidence) {
		h.evidence[place] = heldEvidence{}
	}
}

func (h *held) memoryBytes() int64 {
	return int64(len(h.counts))*int64(unsafe.Sizeof([sides]uint64{})) + int64(cap(h.evidence))*int64(unsafe.Sizeof(heldEvidence{}))
}
