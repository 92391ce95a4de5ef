package main

import (
	"math"
	"slices"
	"time"

	"kvserver/hotkeys"
)

// subject is a tracker under test, and what was measured of it so far.
type subject struct {
	percentage, counters int // counters 0: automatic
	hold                 bool
	isFirst              bool // each window is the first after a reset
	by                   hotkeys.Ranking
	windows              int // to measure

	tracker           *hotkeys.Tracker
	marks             []bool  // of each key: it may be held
	recall, rateError float64 // sums over measured windows
	listed, tracked   coverage
	measured          int
}

// coverage counts entries, and those whose bounds hold the true rate.
type coverage struct{ entries, covered int }

func (c *coverage) add(m hotkeys.Measures, rate float64) {
	c.entries++
	const rounding = 1e-9
	if m.Low <= rate*(1+rounding) && rate <= m.High*(1+rounding) {
		c.covered++
	}
}

func (c coverage) part() float64 { return float64(c.covered) / float64(c.entries) }

func (s *subject) meanRecall() float64 { return s.recall / float64(s.measured) }
func (s *subject) meanError() float64  { return s.rateError / float64(s.measured) }

// measure feeds all subjects the same stream, window after window.
func measure(subjects []*subject, st *stream) error {
	var clock int64
	windows := 0
	for i, s := range subjects {
		s.tracker = hotkeys.New(1, func() int64 { return clock }, seed+uint64(i))
		o := hotkeys.Options{TopK: topK, Percentage: s.percentage, Window: time.Second, Counters: s.counters, Hold: s.hold}
		if err := s.tracker.Configure(o); err != nil {
			return err
		}
		s.marks = make([]bool, keys)
		windows = max(windows, s.windows)
	}
	for window := range 1 + windows { // the first of them is not measured
		running := slices.DeleteFunc(slices.Clone(subjects), func(s *subject) bool { return window > s.windows })
		for _, s := range running {
			if s.isFirst {
				s.tracker.Reset()
			}
		}
		st.window(running)
		clock += int64(time.Second)
		for _, s := range running {
			s.tracker.Rotate()
			if window > 0 {
				s.judge(st)
			}
		}
	}
	return nil
}

// access tells the tracker of an access, as whoever looks up a key does that can
// bear a mark.
func (s *subject) access(hash uint64, key int, name []byte, op hotkeys.Op) {
	s.marks[key] = s.tracker.Recorder(0).AccessMarkable(hash, name, 0, op, s.marks[key])
}

// judge compares a report with the truth: the hottest keys, topK of them and
// those as hot as the last.
func (s *subject) judge(st *stream) {
	r := s.tracker.Report(hotkeys.Query{By: s.by, DB: hotkeys.AllDBs})
	seconds := r.Duration.Seconds()
	rates := make(map[int]float64)
	for _, e := range r.Entries {
		key := keyOf(e.Key)
		rates[key] = r.Rate(e)
		s.listed.add(r.Measure(e), float64(st.counts[s.by][key])/seconds)
	}
	found := 0
	for i, c := range st.hottest(s.by) {
		rate, isReported := rates[c.key]
		if isReported {
			found++
		}
		if i < rated {
			exact := c.accesses / seconds
			s.rateError += math.Abs(rate-exact) / exact / rated
		}
	}
	s.recall += float64(min(found, topK)) / topK
	s.tracker.Each(func(r *hotkeys.Report, e hotkeys.Entry) bool {
		s.tracked.add(r.Measure(e), float64(st.counts[hotkeys.All][keyOf(e.Key)])/r.Duration.Seconds())
		return true
	})
	s.measured++
}
