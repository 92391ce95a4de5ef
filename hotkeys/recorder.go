package hotkeys

import (
	"math"
	"unsafe"
)

// Recorder takes the accesses of one goroutine at a time. Every goroutine that
// serves clients at the same time as others has a recorder of its own, so that
// recording contends for nothing.
type Recorder struct {
	skip    int64 // accesses to leave out before the next one recorded
	live    *tally
	sampler sampler

	// Recorders are written at every access, each by another core: two cache
	// lines each, since processors fetch lines in pairs.
	_ [128 - 40]byte
}

// skipAll is the skip of a recorder that is off. At one access a nanosecond it
// lasts three centuries.
const skipAll = math.MaxInt64

// Access tells the recorder that a client accessed a key: name in database db.
// hash is any well-mixed 64-bit hash of name, equal for equal names as long as
// the process runs. The recorder does not keep name, but may copy it.
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
	r.live.add(hash, name, db)
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

// add counts one recorded access.
func (t *tally) add(hash uint64, name []byte, db int) {
	t.samples++
	for i := range nameClasses {
		if len(name) <= nameClasses[i].nameBytesMax {
			t.classes[i].add(hashOf(hash, db), name, db)
			return
		}
	}
}

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
