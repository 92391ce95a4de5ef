package hotkeys

import (
	"math"
	"time"
)

// Ranking says which accesses a report counts and ranks by.
type Ranking uint8

// Rankings. Misses are reads.
const (
	All Ranking = iota
	Reads
	Writes
)

func (by Ranking) includes(s side) bool { return by == All || side(by-1) == s }

// Query asks for a report.
type Query struct {
	By    Ranking
	DB    int // only keys of this database; AllDBs: of all
	Count int // keys at most; 0, and more than TopK, are TopK
}

// AllDBs is no database in particular.
const AllDBs = -1

// Report is the window last completed, or the live one so far.
type Report struct {
	By         Ranking
	Begin      int64         // nanoseconds of the tracker's clock
	Samples    uint64        // accesses recorded in the window
	Duration   time.Duration // measured length of the window; 0: there is none
	Percentage int           // of accesses recorded in the window
	Floor      float64       // accesses per second above which a key is tracked: the upper end of the 95 % interval
	Entries    []Entry       // at most TopK, hottest first

	total    float64 // accesses in the window, of all kinds, as recorded ones tell if nothing was held
	measured bool    // costs were wanted
}

// Entry is one key of a report. Its numbers are those of the accesses that the report ranks by.
type Entry struct {
	Key   []byte
	DB    int
	Count uint64 // most accesses that were recorded for the key, while it was not held
	Error uint64 // Count - Error is the least
	Held  uint64 // accesses counted one by one while it was held

	recorded [sides]band
	held     [sides]uint64
	costs    costs
}

// Measures tell what is known of an entry besides its rate.
type Measures struct {
	Samples   uint64  // accesses that the numbers rest on: recorded, or counted while the key was held
	Low, High float64 // accesses per second: the band of the count, widened by the 95 % interval of sampling
	Certain   bool    // Low is above the report's Floor, or exact: else the key may be no hotter than those not tracked, and is noise

	Reads, Writes float64 // accesses per second, whatever the report ranks by
	Share         float64 // of all accesses of the window, 0 to 1

	// Costs: known if they were wanted in the window and one of a recorded access was told.
	Known             bool
	Misses            float64 // reads per second that found no key
	InBytes, OutBytes float64 // per second, of commands and replies
	CPU               float64 // microseconds per second
}

// Rate returns the estimated accesses of an entry per second: the middle of
// its band, scaled to all accesses, and those counted while it was held. r must have a duration.
func (r *Report) Rate(e Entry) float64 { return r.rate(band{e.Count, e.Error}, e.Held) }

func (r *Report) rate(b band, held uint64) float64 {
	return r.estimate(b, held) / r.Duration.Seconds()
}

// estimate returns the accesses in the window.
func (r *Report) estimate(b band, held uint64) float64 {
	return float64(held) + float64(2*b.count-b.err)/2*100/float64(r.Percentage)
}

// QPS returns Rate rounded to nearest.
func (r *Report) QPS(e Entry) int64 {
	return int64(math.Round(r.Rate(e)))
}

// Total returns the estimated accesses of all keys per second, of all kinds whatever the report ranks by.
func (r *Report) Total() float64 {
	if r.Duration <= 0 {
		return 0
	}
	return r.total / r.Duration.Seconds()
}

// Measure returns what is known of an entry of the report. r must have a duration.
func (r *Report) Measure(e Entry) Measures {
	seconds := r.Duration.Seconds()
	low, _ := interval(e.Count-e.Error, r.Percentage)
	_, high := interval(e.Count, r.Percentage)
	if e.recorded[reads].count+e.recorded[writes].count == 0 { // held from the first moment
		high = 0
	}
	own := e.Count - e.Error + e.Held
	m := Measures{
		Samples: own,
		Low:     (float64(e.Held) + low) / seconds,
		High:    (float64(e.Held) + high) / seconds,
		Reads:   r.rate(e.recorded[reads], e.held[reads]),
		Writes:  r.rate(e.recorded[writes], e.held[writes]),
	}
	m.Certain = m.Low > r.Floor || m.Low > 0 && m.Low == m.High
	if r.total > 0 {
		m.Share = min(r.estimate(band{e.Count, e.Error}, e.Held)/r.total, 1)
	}
	if c := e.costs; r.measured && c.samples > 0 {
		m.Known = true
		m.Misses = float64(c.misses) * 100 / float64(r.Percentage) / seconds
		each := (m.Reads + m.Writes) / float64(c.samples)
		m.InBytes, m.OutBytes, m.CPU = c.in*each, c.out*each, c.ns*each/1e3
	}
	return m
}

// Report returns what is known of the frozen window. It owns its memory. Rotate is up to the
// caller. The first report of a window merges the recorders, in O(n) for n keys
// in all of them; every report chooses among the keys merged, in O(n log TopK).
func (t *Tracker) Report(q Query) Report {
	return t.frozen.report(t.complete(q))
}

// Live returns what is known of the live window so far. It costs a merge, O(n) for n keys in all recorders, and allocates as much.
func (t *Tracker) Live(q Query) Report {
	if t.options.TopK == 0 {
		return Report{}
	}
	t.flush()
	live := frozen{holds: t.holds, begin: t.begin, duration: time.Duration(t.now() - t.begin), options: t.options}
	for _, r := range t.recorders {
		r.live.accesses = uint64(r.accesses() - r.windowBegan)
		live.tallies = append(live.tallies, r.live)
	}
	return live.report(t.complete(q))
}

// complete fills in what a query leaves to the options.
func (t *Tracker) complete(q Query) Query {
	if q.Count <= 0 || q.Count > t.options.TopK {
		q.Count = t.options.TopK
	}
	return q
}

func (f *frozen) report(q Query) Report {
	if f.duration <= 0 {
		return Report{}
	}
	f.merge()
	r := f.head(q.By)
	top := f.hottest(q)
	r.Entries = make([]Entry, len(top))
	nameBytes := 0
	for i := range top {
		nameBytes += len(top[i].key.name())
	}
	names := make([]byte, 0, nameBytes)
	for i, c := range top {
		begin := len(names)
		names = append(names, c.key.name()...)
		r.Entries[i] = c.entry(q.By)
		r.Entries[i].Key = names[begin:len(names):len(names)]
	}
	return r
}

// head returns a report without entries.
func (f *frozen) head(by Ranking) Report {
	r := Report{
		By:         by,
		Begin:      f.begin,
		Samples:    f.samples(by),
		Duration:   f.duration,
		Percentage: f.options.Percentage,
		Floor:      f.floor(by),
		total:      float64(f.samples(All)) * 100 / float64(f.options.Percentage),
		measured:   f.options.Measures,
	}
	if f.options.holdsMax() > 0 {
		r.total = float64(f.accesses())
	}
	return r
}

// floor returns the accesses per second above which a key is tracked: more than
// a key can have had that has no counter, or that had one in some recorder and was
// not kept among the keys of all.
func (f *frozen) floor(by Ranking) float64 {
	bound := uint64(0)
	for side := range sides {
		if by.includes(side) {
			bound += f.bounds[side]
		}
	}
	if by == All {
		bound = max(bound, (f.dropped+99)/100)
	}
	_, high := interval(bound, f.options.Percentage)
	return high / f.duration.Seconds()
}

// entry returns an entry whose name is not its own.
func (c *candidate) entry(by Ranking) Entry {
	e := Entry{
		Key:      c.key.name(),
		DB:       int(c.key.db),
		recorded: c.recorded,
		held:     c.held,
		costs:    c.costs,
	}
	for side := range sides {
		if by.includes(side) {
			e.Count += c.recorded[side].count
			e.Error += c.recorded[side].err
			e.Held += c.held[side]
		}
	}
	return e
}

// Each visits the keys that the frozen window tracks, in no order, as entries of a report that has none and ranks by all accesses, until
// fn returns false. Names are valid until then. O(n), like a report.
func (t *Tracker) Each(fn func(r *Report, e Entry) bool) {
	f := &t.frozen
	if f.duration == 0 {
		return
	}
	f.merge()
	r := f.head(All)
	for i := range f.merged {
		if c := &f.merged[i]; c.kept && !fn(&r, c.entry(All)) {
			return
		}
	}
}

// LastWindow returns the samples and the duration of the frozen window, as
// Report does, without the work that entries cost.
func (t *Tracker) LastWindow() (samples uint64, duration time.Duration) {
	return t.frozen.samples(All), t.frozen.duration
}
