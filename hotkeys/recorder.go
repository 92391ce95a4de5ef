package hotkeys

import (
	"math"
	"unsafe"
)

// Recorder takes the accesses of one goroutine at a time. Every goroutine that
// serves clients at the same time as others has a recorder of its own, so that
// recording contends for nothing.
//
// Accesses that are recorded wait in a batch until Flush, or until the batch is
// full: counted one after the other they find the summary in the cache, where
// each alone, between two lookups in a large keyspace, would find most of it
// gone. Whoever records says Flush at the end of what it does in one go.
type Recorder struct {
	skip    int64 // accesses to leave out before the next one recorded
	live    *tally
	waiting int // accesses in batch
	sampler sampler
	touched uint64 // keeps the loads that fetch memory ahead of its use
	batch   [batchMax]access

	// Recorders are written at every access, each by another core: none
	// shares a pair of cache lines with what follows it.
	_ [128]byte
}

// access is a recorded access that waits to be counted.
type access struct {
	hash uint64 // hashOf the name and database
	name []byte // the caller's
	db   int
}

const (
	// batchMax accesses of 40 bytes are still a small part of a core's first
	// cache, and more than a pipeline of usual depth makes.
	batchMax = 32

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
func (r *Recorder) Access(hash uint64, name []byte, db int) {
	r.skip--
	if r.skip < 0 {
		r.record(hash, name, db)
	}
}

func (r *Recorder) record(hash uint64, name []byte, db int) {
	r.skip = r.sampler.gap()
	r.batch[r.waiting] = access{hashOf(hash, db), name, db}
	r.waiting++
	if r.waiting == batchMax {
		r.Flush()
	}
}

// Flush counts the accesses that wait. The caller may reuse their names then.
func (r *Recorder) Flush() {
	if r.waiting == 0 {
		return
	}
	batch := r.batch[:r.waiting]
	r.waiting = 0
	if len(batch) > 1 {
		r.touched += r.live.touch(batch)
	}
	for i := range batch {
		a := &batch[i]
		r.live.add(a.hash, a.name, a.db)
		a.name = nil // it may be a small part of a large buffer
	}
}

// discard forgets the accesses that wait.
func (r *Recorder) discard() {
	clear(r.batch[:r.waiting])
	r.waiting = 0
}

// nameClasses sorts names by length. Each class has counters of its own, so
// that the memory for names is bounded, by 1 KiB for each counter asked for
// and 32 MiB besides, and an access to a key with an enormous name, which a
// client may make by mistake, does not cost small keys their counters.
//
// Alternatives left: to cut long names or to keep only their hash, since what
// is reported is the key in full; and one budget of bytes for all, since a
// newcomer of 1 MiB then displaces thousands of keys at once.
//
// Longer names are counted in the samples and nowhere else.
var nameClasses = [...]struct {
	nameBytesMax int
	countersMax  int
}{
	{1 << 10, CountersMax},
	{1 << 14, 1024},
	{1 << 20, 16},
}

// tally is what one recorder saw in one window.
type tally struct {
	samples uint64
	classes [len(nameClasses)]summary
}

const tallyBytes = int64(unsafe.Sizeof(tally{}))

// add counts one recorded access. hash is hashOf the name and database.
func (t *tally) add(hash uint64, name []byte, db int) {
	t.samples++
	for i := range nameClasses {
		if len(name) <= nameClasses[i].nameBytesMax {
			t.classes[i].add(hash, name, db)
			return
		}
	}
}

// touch fetches what counting a batch will need.
func (t *tally) touch(batch []access) uint64 { return t.classes[0].touch(batch) }

// reset starts over with the given number of counters for ordinary names.
func (t *tally) reset(counters int) {
	t.samples = 0
	for i := range t.classes {
		t.classes[i].reset(min(counters, nameClasses[i].countersMax))
	}
}

func (t *tally) removeDB(db int) {
	for i := range t.classes {
		t.classes[i].removeDB(db)
	}
}

func (t *tally) memoryBytes() int64 {
	total := tallyBytes
	for i := range t.classes {
		total += t.classes[i].memoryBytes()
	}
	return total
}
