package hotkeys

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Limits of the options. A key is reported if it is among the TopK hottest.
const (
	TopKMax       = 1000
	CountersMax   = 65536
	PercentageMin = 1
	PercentageMax = 100
	WindowMin     = time.Second
	WindowMax     = 300 * time.Second
)

// The automatic number of counters: the larger of countersAutoMin and
// countersPerKey for each key reported.
const (
	countersAutoMin = 1024
	countersPerKey  = 8
)

// Options are the settings of a Tracker.
type Options struct {
	TopK       int           // keys reported, 0 … TopKMax; 0 turns tracking off
	Percentage int           // of accesses recorded, 1 … 100; 100 records each
	Window     time.Duration // length of a window, WindowMin … WindowMax
	Counters   int           // for each recorder, TopK … CountersMax; 0: automatic
}

// Validate returns an error that names the first option out of range.
func (o Options) Validate() error {
	switch {
	case o.TopK < 0 || o.TopK > TopKMax:
		return fmt.Errorf("hotkeys: TopK %d, allowed 0 to %d", o.TopK, TopKMax)
	case o.Percentage < PercentageMin || o.Percentage > PercentageMax:
		return fmt.Errorf("hotkeys: Percentage %d, allowed %d to %d", o.Percentage, PercentageMin, PercentageMax)
	case o.Window < WindowMin || o.Window > WindowMax:
		return fmt.Errorf("hotkeys: Window %v, allowed %v to %v", o.Window, WindowMin, WindowMax)
	case o.Counters != 0 && (o.Counters < o.TopK || o.Counters < 1 || o.Counters > CountersMax):
		return fmt.Errorf("hotkeys: Counters %d, allowed 0 or %d to %d", o.Counters, max(o.TopK, 1), CountersMax)
	}
	return nil
}

// counters returns the number of counters of a recorder.
func (o Options) counters() int {
	if o.Counters == 0 {
		return max(countersAutoMin, countersPerKey*o.TopK)
	}
	return o.Counters
}

// Tracker holds the windows of a server and its recorders. While goroutines
// record, none of its methods may run: the caller stops them, and in return
// recording takes no locks.
type Tracker struct {
	now       func() int64
	options   Options
	recorders []*Recorder
	begin     int64 // when the live window began, in nanoseconds of now
	frozen    frozen
}

// New makes a Tracker that is off. recorders is the number of goroutines that
// may record at the same time. now is monotonic time in nanoseconds; seed
// determines which accesses are sampled.
func New(recorders int, now func() int64, seed uint64) *Tracker {
	t := &Tracker{
		now:       now,
		options:   Options{Percentage: PercentageMin, Window: WindowMin},
		recorders: make([]*Recorder, recorders),
	}
	for i := range t.recorders {
		t.recorders[i] = &Recorder{
			skip:    skipAll,
			sampler: sampler{rng: *rand.NewPCG(seed, uint64(i))},
		}
	}
	return t
}

// Options returns the options last configured.
func (t *Tracker) Options() Options { return t.options }

// Recorder returns recorder i, and nil while tracking is off. It is the same
// one whenever tracking is on, and harmless to use when it is off.
func (t *Tracker) Recorder(i int) *Recorder {
	if t.options.TopK == 0 {
		return nil
	}
	return t.recorders[i]
}

// Configure sets the options. If they differ from those in force, the live
// window is discarded and another begins; the frozen one can still be read,
// unless tracking is now off, which frees everything. If they do not, or are
// out of range, nothing happens.
func (t *Tracker) Configure(o Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	if o == t.options {
		return nil
	}
	wasOn := t.options.TopK > 0
	t.options = o
	switch {
	case o.TopK == 0:
		t.frozen = frozen{}
		for _, r := range t.recorders {
			r.discard()
			r.skip, r.live = skipAll, nil
		}
		return nil
	case !wasOn:
		for _, r := range t.recorders {
			r.live = new(tally)
			t.frozen.tallies = append(t.frozen.tallies, new(tally))
		}
	}
	for _, r := range t.recorders {
		r.sampler.set(o.Percentage)
	}
	t.restart(t.now())
	return nil
}

// restart begins a live window that is empty. The gaps between samples are
// drawn anew, for they may be those of another percentage.
func (t *Tracker) restart(now int64) {
	t.begin = now
	for _, r := range t.recorders {
		r.discard()
		r.live.reset(t.options.counters())
		r.skip = r.sampler.gap()
	}
}

// Rotate ends the live window if it is due, and begins the next. The window
// becomes the frozen one, with the length it really had; if that is twice the
// length set or more, it is not what it claims to be, and is discarded, the
// frozen one with it. When nothing is due, Rotate costs a look at the clock.
func (t *Tracker) Rotate() {
	if t.options.TopK == 0 {
		return
	}
	now := t.now()
	elapsed := time.Duration(now - t.begin)
	switch {
	case elapsed < t.options.Window:
		return
	case elapsed >= 2*t.options.Window:
		t.frozen.discard()
		t.restart(now)
		return
	}
	t.begin = now
	t.flush()
	t.frozen.forgetMerged()
	t.frozen.duration = elapsed
	t.frozen.percentage = t.options.Percentage
	t.frozen.counters = t.options.counters()
	for i, r := range t.recorders {
		// The tallies change places, and nothing is allocated.
		r.live, t.frozen.tallies[i] = t.frozen.tallies[i], r.live
		r.live.reset(t.options.counters())
	}
}

// flush counts the accesses that wait in the recorders' batches.
func (t *Tracker) flush() {
	for _, r := range t.recorders {
		r.Flush()
	}
}

// NextRotation returns when Rotate is due, in nanoseconds of the clock, and 0
// while tracking is off.
func (t *Tracker) NextRotation() int64 {
	if t.options.TopK == 0 {
		return 0
	}
	return t.begin + int64(t.options.Window)
}

// Reset discards both windows; a live one begins now.
func (t *Tracker) Reset() {
	if t.options.TopK == 0 {
		return
	}
	t.frozen.discard()
	t.restart(t.now())
}

// FlushDB removes the keys of one database from both windows. The samples and
// the duration of the windows stay. O(counters).
func (t *Tracker) FlushDB(db int) {
	if t.options.TopK == 0 {
		return
	}
	t.flush()
	t.frozen.removeDB(db)
	for _, r := range t.recorders {
		r.live.removeDB(db)
	}
}

// MemoryBytes returns the memory that tracking holds, in bytes: 0 when it is
// off. Not counted are the recorders themselves, 128 bytes each.
func (t *Tracker) MemoryBytes() int64 {
	if t.options.TopK == 0 {
		return 0
	}
	total := t.frozen.memoryBytes()
	for _, r := range t.recorders {
		total += r.live.memoryBytes()
	}
	return total
}
