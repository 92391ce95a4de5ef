package hotkeys

import "unsafe"

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
//
// Reads and writes are counted in summaries of their own: a key that is only
// written is then not pushed out by those that are only read, and what is known
// of all accesses is what is known of both, as of two recorders. To keep a third
// summary of everything would count every recorded access twice, which with
// every access recorded is a tenth of the throughput.
type tally struct {
	samples  [sides]uint64
	accesses uint64 // recorded or not; of a window that is over
	classes  [sides][len(nameClasses)]summary
	held     held
}

const tallyBytes = int64(unsafe.Sizeof(tally{}))

// costs sums up what is known of the recorded accesses to a key besides their number.
type costs struct {
	samples     uint64 // accesses that the sums below cover
	misses      uint64 // reads that found no key, of all that were recorded
	in, out, ns float64
}

func (c *costs) add(a *access) {
	if a.op == Miss {
		c.misses++
	}
	if a.isCharged {
		c.samples++
		c.in += float64(a.in)
		c.out += float64(a.out)
		c.ns += float64(a.ns)
	}
}

func (c *costs) join(other costs) {
	c.samples += other.samples
	c.misses += other.misses
	c.in += other.in
	c.out += other.out
	c.ns += other.ns
}

// add counts one recorded access.
func (t *tally) add(a *access) {
	side := a.op.side()
	t.samples[side]++
	if a.held != none {
		t.held.add(a)
		return
	}
	for i := range nameClasses {
		if len(a.name) <= nameClasses[i].nameBytesMax {
			s := &t.classes[side][i]
			c := s.add(a.hash, a.name, int(a.db))
			if s.costs != nil {
				s.costs[c].add(a)
			}
			return
		}
	}
}

// touch fetches what counting a batch will need. What it returns means nothing.
func (t *tally) touch(batch []access) uint64 {
	return t.classes[reads][0].touch(batch, reads) + t.classes[writes][0].touch(batch, writes)
}

// reset starts over as the options say.
func (t *tally) reset(o Options) {
	t.samples, t.accesses = [sides]uint64{}, 0
	for side := range t.classes {
		for i := range t.classes[side] {
			t.classes[side][i].reset(min(o.counters(), nameClasses[i].countersMax), o.Measures)
		}
	}
	t.held.reset(o)
}

func (t *tally) removeDB(db int) {
	for side := range t.classes {
		for i := range t.classes[side] {
			t.classes[side][i].removeDB(db)
		}
	}
}

func (t *tally) memoryBytes() int64 {
	total := tallyBytes + t.held.memoryBytes()
	for side := range t.classes {
		for i := range t.classes[side] {
			total += t.classes[side][i].memoryBytes()
		}
	}
	return total
}
