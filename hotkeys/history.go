package hotkeys

import (
	"bytes"
	"hash/maphash"
	"iter"
	"math"
	"slices"
	"time"
	"unsafe"
)

// History keeps what was reported of the windows of the recent past. A window
// that was discarded has its place in it too: nothing is known of that time,
// and a gap would look as if nothing had happened.
//
// # Memory
//
// A window is 80 bytes and 32 for each key reported. A name is shared by the
// windows that follow each other, so that one which stays hot is held once: 32
// bytes and its length. To find the names again there is an index of the last
// window, about 32 bytes a key. With 16 keys, of 16 bytes, in each of 60 windows
// that makes 37 KiB if the keys stay the same and 81 KiB if each window has
// others.
//
// Reports have up to 1,000 keys, the history up to 3,600 windows, and names may
// be 1 MiB long: a second limit is historyBytesMax. Above it the oldest windows
// go before their time. It holds 2,000 windows of the same 1,000 keys of 16
// bytes, or 800 of 1,000 new keys each, and one window in any case, since the
// names of a report take 32 MiB at most.
//
// Of a key there are rates, as integers of 32 bits. Recorded accesses and
// floating point numbers would tell more than anybody draws, in twice the
// memory.
type History struct {
	length  int    // most windows kept
	windows []Past // the oldest first
	bytes   int64  // of the windows' entries and of the names

	// latest are the names of the last completed window, by their hash, as
	// long as it is kept.
	latest map[uint64]*pastName
	seed   maphash.Seed
}

const (
	// HistoryLengthMax is the most windows that are kept: an hour of the
	// shortest.
	HistoryLengthMax = 3600

	historyBytesMax = 64 << 20
)

// Past is a window of the history. If it was discarded there are no samples and
// no keys.
type Past struct {
	BeginMs    int64 // Unix time in milliseconds
	Duration   time.Duration
	Discarded  bool
	Samples    uint64 // accesses recorded
	Percentage int    // of accesses recorded
	QPS        int64  // accesses per second of all keys, estimated and rounded to nearest

	// Floor is the rate, in accesses per second and rounded up, above which
	// a key was tracked.
	Floor int64

	entries []pastEntry // hottest first
}

// PastKey is a key of a past window. The rates are accesses per second: the
// estimate, and the reads and writes of it, are rounded to nearest, Low is
// rounded down and High up.
type PastKey struct {
	Key           []byte // to be read only, and while nothing is done to the history
	DB            int
	QPS           int64
	Low, High     int64
	Reads, Writes int64
}

type pastEntry struct {
	name                          *pastName
	qps, low, high, reads, writes int32
}

// pastName is what the entries of a key in consecutive windows share.
type pastName struct {
	name []byte
	db   int32
	uses int32
}

const (
	pastBytes      = int64(unsafe.Sizeof(Past{}))
	pastEntryBytes = int64(unsafe.Sizeof(pastEntry{}))
	pastNameBytes  = int64(unsafe.Sizeof(pastName{}))
	latestBytes    = 32 // what a map takes for 16 bytes, about
)

func (n *pastName) bytes() int64 { return pastNameBytes + int64(cap(n.name)) }

// SetLength sets how many windows are kept, 0 … HistoryLengthMax. Those that are
// too old then are forgotten.
func (h *History) SetLength(length int) {
	h.length = length
	h.trim()
	if length == 0 {
		h.Clear()
	}
}

// Length returns how many windows are kept at most.
func (h *History) Length() int { return h.length }

// Clear forgets all windows, and frees their memory.
func (h *History) Clear() { *h = History{length: h.length} }

// Add appends a completed window, which began at a Unix time in milliseconds.
// The names of its entries are copied. O(entries).
func (h *History) Add(beginMs int64, r *Report) {
	if h.length == 0 {
		return
	}
	if h.latest == nil {
		h.latest, h.seed = make(map[uint64]*pastName), maphash.MakeSeed()
	}
	entries := make([]pastEntry, len(r.Entries))
	for i, e := range r.Entries {
		entries[i] = pastEntryOf(r, e)
		entries[i].name = h.share(e.Key, int32(e.DB))
	}
	clear(h.latest)
	for i := range entries {
		h.latest[h.hash(entries[i].name.name, entries[i].name.db)] = entries[i].name
	}
	h.bytes += int64(len(entries)) * pastEntryBytes
	h.windows = append(h.windows, Past{
		BeginMs: beginMs, Duration: r.Duration, Samples: r.Samples, Percentage: r.Percentage,
		QPS: int64(math.Round(r.Total())), Floor: int64(math.Ceil(r.Floor)), entries: entries,
	})
	h.trim()
}

func pastEntryOf(r *Report, e Entry) pastEntry {
	m := r.Measure(e)
	return pastEntry{
		qps:    pastRate(r.Rate(e)),
		low:    pastRate(math.Floor(m.Low)),
		high:   pastRate(math.Ceil(m.High)),
		reads:  pastRate(m.Reads),
		writes: pastRate(m.Writes),
	}
}

// pastRate rounds a rate to nearest.
func pastRate(perSecond float64) int32 {
	return int32(min(math.Round(perSecond), math.MaxInt32))
}

// AddDiscarded appends a time of which nothing is known. Such times that follow
// each other are one, so that a row of them, as changing parameters makes it,
// does not push out what is known.
func (h *History) AddDiscarded(beginMs int64, duration time.Duration) {
	if h.length == 0 {
		return
	}
	if n := len(h.windows); n > 0 && h.windows[n-1].Discarded {
		h.windows[n-1].Duration += duration
		return
	}
	h.windows = append(h.windows, Past{BeginMs: beginMs, Duration: duration, Discarded: true})
	h.trim()
}

// share returns the name of a key, the one that the last completed window has
// if there is one, for one more entry.
func (h *History) share(name []byte, db int32) *pastName {
	if n := h.latest[h.hash(name, db)]; n != nil && n.db == db && bytes.Equal(n.name, name) {
		n.uses++
		return n
	}
	n := &pastName{name: bytes.Clone(name), db: db, uses: 1}
	h.bytes += n.bytes()
	return n
}

func (h *History) hash(name []byte, db int32) uint64 {
	return hashOf(maphash.Bytes(h.seed, name), int(db))
}

// trim forgets the oldest windows until both limits are kept, except the last.
func (h *History) trim() {
	gone := max(len(h.windows)-h.length, 0)
	for i := range gone {
		h.release(h.windows[i].entries)
	}
	for ; h.MemoryBytes() > historyBytesMax && gone < len(h.windows)-1; gone++ {
		h.release(h.windows[gone].entries)
	}
	h.windows = slices.Delete(h.windows, 0, gone)
}

// release gives up entries that will not be looked at any more.
func (h *History) release(entries []pastEntry) {
	for i := range entries {
		h.releaseName(entries[i].name)
	}
	h.bytes -= int64(cap(entries)) * pastEntryBytes
}

func (h *History) releaseName(n *pastName) {
	n.uses--
	if n.uses > 0 {
		return
	}
	h.bytes -= n.bytes()
	if hash := h.hash(n.name, n.db); h.latest[hash] == n {
		delete(h.latest, hash)
	}
}

// FlushDB removes the keys of one database from all windows. Their samples stay.
// O(windows × keys).
func (h *History) FlushDB(db int) {
	for i := range h.windows {
		w := &h.windows[i]
		kept := w.entries[:0]
		for _, e := range w.entries {
			if e.name.db == int32(db) {
				h.releaseName(e.name)
			} else {
				kept = append(kept, e)
			}
		}
		clear(w.entries[len(kept):])
		w.entries = kept
	}
}

// Recent ranges over the last windows, count at most, the newest first.
func (h *History) Recent(count int) iter.Seq[*Past] {
	return func(yield func(*Past) bool) {
		for i := len(h.windows) - 1; i >= max(len(h.windows)-count, 0); i-- {
			if !yield(&h.windows[i]) {
				return
			}
		}
	}
}

// Keys ranges over the keys of a window, the hottest first.
func (w *Past) Keys() iter.Seq[PastKey] {
	return func(yield func(PastKey) bool) {
		for i := range w.entries {
			e := &w.entries[i]
			key := PastKey{
				Key: e.name.name, DB: int(e.name.db),
				QPS: int64(e.qps), Low: int64(e.low), High: int64(e.high),
				Reads: int64(e.reads), Writes: int64(e.writes),
			}
			if !yield(key) {
				return
			}
		}
	}
}

// MemoryBytes returns the memory that the history holds, in bytes.
func (h *History) MemoryBytes() int64 {
	return h.bytes + int64(cap(h.windows))*pastBytes + int64(len(h.latest))*latestBytes
}
