// Package session finds the keys that cost most, by time and by bytes, from
// when it is asked to until it is told to stop: what HOTKEYS START of Redis 8.6
// begins. It knows nothing of servers or protocols, and no clock.
//
// Each goroutine that runs commands records them in a [Recorder] of its own:
// the keys of a command, how long it took and how many bytes it read and wrote.
// A command with several keys is divided among them, evenly and without loss.
// One command in so many is recorded, each with the same probability and
// independently of the others; what all of them took is summed up in any case.
//
// A recorder keeps a weighted Space-Saving summary for each metric: see the type
// summary for the algorithm and its bounds. [Session.Report] merges the summaries
// of all recorders as package hotkeys does; with W the weight recorded in all of
// them, m counters in each and f what a key really took:
//
//	count - error <= f <= count, error <= W/m
//	f > W/m  =>  the key is among those merged
//
// A key is a name: the same name in two databases is one key, as in Redis.
//
// # Memory
//
// Names up to 1 KiB share 1,024 counters for each metric of each recorder;
// those up to 64 KiB have 64 counters of their own. Longer ones count in the
// totals and are never reported. Counters are made as keys arrive: with names of
// 16 bytes and all counters used they take 96 KiB, with the longest names at
// most 1.1 MiB, and those of the long names 4 MiB. It is all given back with the
// session.
//
// Methods of a Session may be called only while no goroutine is in
// [Recorder.Record]. Nothing here takes a lock.
package session

import (
	"cmp"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Metrics is a set of what keys are ranked by.
type Metrics uint8

const (
	// CPU is the time that commands took.
	CPU Metrics = 1 << iota
	// Net is the bytes of requests and replies.
	Net

	metricCount = iota
)

// Options say what a session does.
type Options struct {
	Metrics Metrics // one at least
	TopK    int     // most keys reported by each metric
	Ratio   int64   // 1 command in so many is recorded; 1: every one
}

// Cost is what commands took.
type Cost struct {
	Ns    uint64
	Bytes uint64
}

// Session is the state of one.
type Session struct {
	options   Options
	recorders []*Recorder
}

// New begins a session for so many goroutines. seed is that of the choice of
// commands.
func New(recorders int, o Options, seed uint64) *Session {
	s := &Session{options: o, recorders: make([]*Recorder, recorders)}
	hashSeed := maphash.MakeSeed()
	for i := range s.recorders {
		r := &Recorder{metrics: o.Metrics, hashSeed: hashSeed, rng: *rand.NewPCG(seed, uint64(i)), below: math.MaxUint64}
		if o.Ratio > 1 {
			r.below = math.MaxUint64 / uint64(o.Ratio)
		}
		for metric := range r.short {
			r.short[metric].capacity, r.long[metric].capacity = shortCounters, longCounters
		}
		s.recorders[i] = r
	}
	return s
}

const (
	shortBytesMax = 1 << 10
	longBytesMax  = 64 << 10
	shortCounters = 1024
	longCounters  = 64
)

// Recorder takes what one goroutine runs.
type Recorder struct {
	all      Cost // of all commands
	recorded Cost // of those recorded
	metrics  Metrics
	hashSeed maphash.Seed
	rng      rand.PCG
	below    uint64 // a command is recorded if a random number is at most this

	// By metric: CPU, then Net.
	short, long [metricCount]summary

	_ [64]byte // keeps the next recorder off these cache lines
}

// Recorder returns the one with an index from 0 on.
func (s *Session) Recorder(i int) *Recorder { return s.recorders[i] }

// Options returns what New was given.
func (s *Session) Options() Options { return s.options }

// Record counts a command. Without keys it does nothing. The names are copied
// if they are kept.
func (r *Recorder) Record(keys [][]byte, ns, bytes uint64) {
	if len(keys) == 0 {
		return
	}
	r.all.Ns += ns
	r.all.Bytes += bytes
	if r.below != math.MaxUint64 && r.rng.Uint64() > r.below {
		return
	}
	r.recorded.Ns += ns
	r.recorded.Bytes += bytes
	n := uint64(len(keys))
	for i, key := range keys {
		if len(key) > longBytesMax {
			continue
		}
		tier := &r.short
		if len(key) > shortBytesMax {
			tier = &r.long
		}
		hash := maphash.Bytes(r.hashSeed, key)
		if r.metrics&CPU != 0 {
			tier[0].add(hash, key, share(ns, uint64(i), n))
		}
		if r.metrics&Net != 0 {
			tier[1].add(hash, key, share(bytes, uint64(i), n))
		}
	}
}

// share is the i-th of n parts of a weight. They differ by 1 at most and add up
// to all of it.
func share(weight, i, n uint64) uint64 {
	if i < weight%n {
		return weight/n + 1
	}
	return weight / n
}

// Entry is a key of a report.
type Entry struct {
	Key   []byte
	Count uint64 // nanoseconds or bytes: at most this
	Error uint64 // of which so much may be that of other keys
}

// Weight is the middle of what the key can have taken.
func (e Entry) Weight() uint64 { return e.Count - e.Error/2 }

// Report is what a session has found.
type Report struct {
	All      Cost // of all commands that had keys
	Recorded Cost // of those recorded, which the rankings divide

	// The rankings by the metrics that the session has, the most costly key
	// first; nil for another. The names are those of the recorders: they are
	// valid until one of them records again.
	ByCPU, ByNet []Entry
}

// Report merges what the recorders have. O(n log n) for n keys in all of them.
func (s *Session) Report() Report {
	var rep Report
	for _, r := range s.recorders {
		rep.All.Ns += r.all.Ns
		rep.All.Bytes += r.all.Bytes
		rep.Recorded.Ns += r.recorded.Ns
		rep.Recorded.Bytes += r.recorded.Bytes
	}
	if s.options.Metrics&CPU != 0 {
		rep.ByCPU = s.ranking(0)
	}
	if s.options.Metrics&Net != 0 {
		rep.ByNet = s.ranking(1)
	}
	return rep
}

// ranking merges the summaries of one metric. Keys of long names have bounds of
// their own.
func (s *Session) ranking(metric int) []Entry {
	var short, long []*summary
	for _, r := range s.recorders {
		short, long = append(short, &r.short[metric]), append(long, &r.long[metric])
	}
	list := merge(merge(nil, short), long)
	slices.SortFunc(list, func(a, b Entry) int {
		if c := cmp.Compare(b.Weight(), a.Weight()); c != 0 {
			return c
		}
		return strings.Compare(string(a.Key), string(b.Key))
	})
	return list[:min(len(list), s.options.TopK)]
}

// merge appends all keys of some summaries: each has the sum of its counts, and
// for a summary that has none for it, the most that it can have had there.
func merge(list []Entry, summaries []*summary) []Entry {
	from, floor := len(list), uint64(0)
	at := make(map[string]int)
	for _, s := range summaries {
		bound := s.bound()
		floor += bound
		for i := range s.counters {
			k := &s.counters[i]
			j, seen := at[string(k.name)]
			if !seen {
				j = len(list)
				at[string(k.name)] = j
				list = append(list, Entry{Key: k.name})
			}
			// The bound that is added to all below is not for those who have a counter. An error may be less than
			// it: the difference then wraps around, and so does the sum that makes it good.
			list[j].Count += s.heap[k.at].weight - bound
			list[j].Error += k.err - bound
		}
	}
	for i := from; i < len(list); i++ {
		list[i].Count += floor
		list[i].Error += floor
	}
	return list
}

// MemoryBytes is the size of all that the session holds.
func (s *Session) MemoryBytes() int64 {
	total := int64(len(s.recorders)) * recorderBytes
	for _, r := range s.recorders {
		for metric := range r.short {
			total += r.short[metric].memoryBytes() + r.long[metric].memoryBytes()
		}
	}
	return total
}
