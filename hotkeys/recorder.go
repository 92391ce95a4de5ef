package hotkeys

import "math"

// Op is what a client does to a key. A report can rank by reads, misses among them, or by writes.
type Op uint8

const (
	Read  Op = iota // looks the key up for reading, and finds it
	Miss            // looks the key up for reading, and there is none
	Write           // looks the key up in order to change it, or removes it
)

// side is where an operation is counted: the place in arrays of two.
func (o Op) side() side { return side(o >> 1) }

type side uint8

const (
	reads side = iota
	writes
	sides
)

// Recorder takes the accesses of one goroutine at a time. Every goroutine that
// serves clients at the same time as others has a recorder of its own, so that
// recording contends for nothing.
//
// Accesses that are recorded wait in a batch until Flush, or until the batch is
// full: counted one after the other they find the summary in the cache, where
// each alone, between two lookups in a large keyspace, would find most of it
// gone. Whoever records says Flush at the end of what it does in one go.
//
// What an access costs is known only when the command that made it has run:
// see Recorded.
type Recorder struct {
	skip     int64 // accesses to leave out before the next one recorded
	drawn    int64 // accesses up to the next one recorded, it included, since the recorder was made
	began    int64 // accesses before the command that runs
	made     int64 // accesses of the command that Recorded was last asked about
	live     *tally
	holds    *holds // nil: nothing is held
	batch    []access
	charged  int  // accesses of batch whose cost is known, or never will be
	measures bool // costs are wanted

	windowBegan int64 // accesses before the live window

	sampler sampler
	touched uint64 // keeps the loads that fetch memory ahead of its use

	// Recorders are written at every access, each by another core: none
	// shares a pair of cache lines with what follows it.
	_ [128]byte
}

// access is a recorded access that waits to be counted.
type access struct {
	hash    uint64 // hashOf the name and database
	name    []byte // the caller's
	db      int32
	held    int32 // place of the key in the live holds; none: it has no place there
	op      Op
	counted bool // among the accesses counted one by one: only its cost is news

	isCharged   bool
	in, out, ns float32 // its part of the command's costs
}

const (
	// batchMax accesses of 56 bytes are still a small part of a core's first
	// cache, and more than a pipeline of usual depth makes.
	batchMax = 32

	// batchKept is the most room for accesses that is kept after a command
	// with many: 14 KiB.
	batchKept = 256

	// commandMax bounds the accesses of one command that wait until its cost
	// is known. Those before them go without.
	commandMax = 4096

	// skipAll is the skip of a recorder that is off. At one access a
	// nanosecond it lasts three centuries.
	skipAll = math.MaxInt64
)

// Access tells the recorder that a client accessed a key: name in database db.
// hash is any well-mixed 64-bit hash of name, equal for equal names as long as
// the process runs. The bytes of name must stay as they are until Flush; the
// recorder does not keep them longer, but may copy them.
//
// It is split so that the part that runs at every access is inlined.
func (r *Recorder) Access(hash uint64, name []byte, db int, op Op) {
	r.skip--
	if r.skip < 0 {
		r.record(hash, name, db, op, false)
	}
}

// Holds tells whether keys are held, and the methods below are worth their while.
func (r *Recorder) Holds() bool { return r.holds != nil }

// AccessMarkable is Access for a key that can bear a mark, by which the caller knows that it is held without looking
// anything up. It says whether the key does, and is told whether it shall from now on. Two goroutines
// that mark a key at the same time may lose a mark, or leave one that means nothing any more: that costs precision and nothing else.
func (r *Recorder) AccessMarkable(hash uint64, name []byte, db int, op Op, marked bool) (mark bool) {
	if marked {
		marked = r.countHeld(hash, db, op) // if not, the key was held in a window that is over
	}
	r.skip--
	if r.skip < 0 {
		return r.record(hash, name, db, op, marked)
	}
	return marked
}

// AccessMissing is Access for a key that does not exist, and so has nothing to bear a mark.
func (r *Recorder) AccessMissing(hash uint64, name []byte, db int, op Op) {
	counted := r.countHeld(hash, db, op)
	r.skip--
	if r.skip < 0 {
		r.record(hash, name, db, op, counted)
	}
}

// Marks tells whether a key that is new bears a mark from the beginning: it was held before it existed.
func (r *Recorder) Marks(hash uint64, db int) bool {
	return r.holds != nil && r.holds.find(hashOf(hash, db)) != none
}

// countHeld counts an access if its key is held, and tells whether it did.
func (r *Recorder) countHeld(hash uint64, db int, op Op) bool {
	if r.holds == nil {
		return false
	}
	place := r.holds.find(hashOf(hash, db))
	if place == none {
		return false
	}
	r.live.held.counts[place][op.side()]++
	return true
}

// record takes an access into the batch, and tells whether its key is held from now on. counted is whether countHeld has
// counted it.
func (r *Recorder) record(hash uint64, name []byte, db int, op Op, counted bool) (held bool) {
	r.draw()
	hash = hashOf(hash, db)
	place := int32(none)
	if r.holds != nil {
		place = r.holds.admit(hash, name, db)
	}
	if len(r.batch) >= batchMax && (r.charged > 0 || !r.measures || len(r.batch) == commandMax) {
		r.count()
	}
	r.batch = append(r.batch, access{hash: hash, name: name, db: int32(db), held: place, op: op, counted: counted})
	return place != none
}

// draw chooses the next access to record.
func (r *Recorder) draw() {
	before := r.accesses()
	r.skip = r.sampler.gap()
	r.drawn = before + r.skip + 1
}

// turnOff makes the recorder harmless to use, and lets go of what it holds.
func (r *Recorder) turnOff() {
	r.discard()
	r.live, r.holds, r.measures = nil, nil, false
	r.skip, r.drawn = skipAll, 0
}

// accesses returns a number that grows by one with every access.
func (r *Recorder) accesses() int64 { return r.drawn - r.skip - 1 }

// Recorded ends a command, and tells whether one of its accesses was recorded whose
// cost is wanted: the caller then says Charge.
func (r *Recorder) Recorded() bool {
	accesses := r.accesses()
	r.made, r.began = accesses-r.began, accesses
	return r.charged < len(r.batch) && r.measures
}

// Charge divides the costs of the command that Recorded was asked about among its accesses: bytes of the command and of
// its reply, and the nanoseconds that it took.
func (r *Recorder) Charge(inBytes, outBytes int, ns int64) {
	part := 1 / float32(r.made)
	in, out, each := float32(inBytes)*part, float32(outBytes)*part, float32(ns)*part
	waiting := r.batch[r.charged:]
	for i := range waiting {
		a := &waiting[i]
		a.in, a.out, a.ns, a.isCharged = in, out, each, true
	}
	r.charged = len(r.batch)
}

// Flush counts the accesses that wait. The caller may reuse their names then.
func (r *Recorder) Flush() {
	if len(r.batch) > 0 {
		r.charged = len(r.batch)
		r.count()
	}
}

// count counts the accesses whose costs are known. If there are none it does not wait for them any longer.
func (r *Recorder) count() {
	if r.charged == 0 {
		r.charged = len(r.batch)
	}
	for ready := r.batch[:r.charged]; len(ready) > 0; ready = ready[min(batchMax, len(ready)):] {
		some := ready[:min(batchMax, len(ready))]
		if len(some) > 1 {
			r.touched += r.live.touch(some)
		}
		for i := range some {
			r.live.add(&some[i])
		}
	}
	rest := copy(r.batch, r.batch[r.charged:])
	clear(r.batch[rest:]) // names may be small parts of large buffers
	r.batch, r.charged = r.batch[:rest], 0
	if rest == 0 && cap(r.batch) > batchKept {
		r.batch = make([]access, 0, batchMax)
	}
}

// discard forgets the accesses that wait.
func (r *Recorder) discard() {
	clear(r.batch)
	r.batch, r.charged = r.batch[:0], 0
}
