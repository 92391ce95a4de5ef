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
	Measures   bool          // what accesses cost is summed up as well
	Hold       bool          // keys that were recorded once are counted: see holds
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
	begin     int64  // when the live window began, in nanoseconds of now
	holds     *holds // of the live window; nil: nothing is held
	frozen    frozen

	onWindow             func(Window)
	completed, discarded uint64
}

// Window is a live window that has ended.
type Window struct {
	Begin, End int64 // nanoseconds of the tracker's clock
	Discarded  bool  // nothing is known of it
}

// Counts are numbers about a Tracker.
type Counts struct {
	Completed, Discarded uint64  // windows, since the tracker was made
	Tracked              int     // keys that the frozen window tracks
	Floor                float64 // accesses per second above which a key was tracked in it: see Report; 0: there is none
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

// OnWindow sets what is called when a live window has ended: completed, as the frozen window then is, or discarded, because
// it took too long, or options changed, or [Tracker.Reset] asked for it. It is called by the method that ends the window. Turning tracking off
// is not told.
func (t *Tracker) OnWindow(fn func(Window)) { t.onWindow = fn }

// ended tells of a live window that is over.
func (t *Tracker) ended(begin, end int64, isDiscarded bool) {
	if isDiscarded {
		t.discarded++
	} else {
		t.completed++
	}
	if t.onWindow != nil {
		t.onWindow(Window{begin, end, isDiscarded})
	}
}

// Counts returns numbers about the tracker. It costs what a report costs.
func (t *Tracker) Counts() Counts {
	c := Counts{Completed: t.completed, Discarded: t.discarded}
	if t.frozen.duration > 0 {
		t.frozen.merge()
		c.Tracked, c.Floor = len(t.frozen.merged), t.frozen.floor(All)
	}
	return c
}

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
	wasOn, from := t.options.TopK > 0, t.begin
	t.options = o
	switch {
	case o.TopK == 0:
		t.frozen, t.holds = frozen{}, nil
		for _, r := range t.recorders {
			r.turnOff()
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
		r.measures = o.Measures
	}
	now := t.now()
	t.restart(now)
	if wasOn {
		t.ended(from, now, true)
	}
	return nil
}

// restart begins a live window that is empty. The gaps between samples are
// drawn anew, for they may be those of another percentage.
func (t *Tracker) restart(now int64) {
	t.begin = now
	t.holds = t.emptyHolds(t.holds)
	for _, r := range t.recorders {
		r.discard()
		r.live.reset(t.options)
		r.holds = t.holds
		r.draw()
		r.began, r.windowBegan = r.accesses(), r.accesses()
	}
}

// emptyHolds returns holds without keys, if the options want any: those given, if they have the right size.
func (t *Tracker) emptyHolds(old *holds) *holds {
	n := t.options.holdsMax()
	switch {
	case n == 0:
		return nil
	case old == nil || cap(old.keys) != n:
		return newHolds(n)
	}
	old.reset()
	return old
}

// Rotate ends the live window if it is due, and begins the next. The window
// becomes the frozen one, with the length it really had; if that is twice the
// length set or more, it is not what it claims to be, and is discarded, the
// frozen one with it. When nothing is due, Rotate costs a look at the clock.
func (t *Tracker) Rotate() {
	if t.options.TopK == 0 {
		return
	}
	now, from := t.now(), t.begin
	elapsed := time.Duration(now - from)
	switch {
	case elapsed < t.options.Window:
		return
	case elapsed >= 2*t.options.Window:
		t.frozen.discard()
		t.restart(now)
		t.ended(from, now, true)
		return
	}
	t.begin = now
	t.flush()
	f := &t.frozen
	f.forgetMerged()
	f.begin, f.duration, f.options = from, elapsed, t.options
	f.holds, t.holds = t.holds, t.emptyHolds(f.holds)
	for i, r := range t.recorders {
		// The tallies change places, and nothing is allocated.
		r.live, f.tallies[i] = f.tallies[i], r.live
		r.live.reset(t.options)
		f.tallies[i].accesses = uint64(r.accesses() - r.windowBegan)
		r.windowBegan = r.accesses()
		r.holds = t.holds
	}
	if t.holds != nil {
		t.holds.carry(f)
	}
	t.ended(from, now, false)
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
	now, from := t.now(), t.begin
	t.frozen.discard()
	t.restart(now)
	t.ended(from, now, true)
}

// FlushDB removes the keys of one database from both windows. The samples and
// the duration of the windows stay. O(counters).
func (t *Tracker) FlushDB(db int) {
	if t.options.TopK == 0 {
		return
	}
	t.flush()
	t.frozen.removeDB(db)
	live := make([]*tally, len(t.recorders))
	for i, r := range t.recorders {
		live[i] = r.live
	}
	removeDB(db, live, t.holds)
}

// MemoryBytes returns the memory that tracking holds, in bytes: 0 when it is
// off. Not counted are the recorders themselves, 2 KiB each with their batches.
func (t *Tracker) MemoryBytes() int64 {
	if t.options.TopK == 0 {
		return 0
	}
	total := t.frozen.memoryBytes()
	if t.holds != nil {
		total += t.holds.memoryBytes()
	}
	for _, r := range t.recorders {
		total += r.live.memoryBytes()
	}
	return total
}
