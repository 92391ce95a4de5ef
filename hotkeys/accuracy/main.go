// Command accuracy measures how well hot keys are found: the recall of the 16
// keys accessed most in a window of 200,000 accesses over a million keys, and
// the error of the rates of the top 10, for several Zipf exponents. Beside the
// counters that a tracker has by itself stands a plain Space-Saving summary,
// with no more counters than keys are reported.
//
//	go run ./hotkeys/accuracy
package main

import (
	"cmp"
	"fmt"
	"io"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"kvserver/hotkeys"
	"kvserver/hotkeys/zipf"
)

const (
	keys     = 1_000_000
	accesses = 200_000 // in a window
	topK     = 16      // keys reported, and whose recall is measured
	rated    = 10      // hottest keys whose rates are compared
	plain    = topK    // counters of the summary to compare with

	nameBytes = 16

	windowsSampled = 100 // at percentages below 100, where luck matters
	windowsFull    = 10
	seed           = 1
)

func main() {
	if err := printTable(os.Stdout, []float64{0.8, 0.99, 1.2}); err != nil {
		log.Fatal(err)
	}
}

// subject is a tracker under test, and what was measured of it so far.
type subject struct {
	percentage, counters int // counters 0: automatic
	windows              int // to measure
	tracker              *hotkeys.Tracker
	recall, rateError    float64 // sums over measured windows
	measured             int
}

func printTable(w io.Writer, exponents []float64) error {
	out := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintf(out, "Zipf\tsampled\tcounters\twindows\trecall of top %d\terror of top %d rates\n", topK, rated)
	for _, exponent := range exponents {
		subjects := []*subject{
			{percentage: 100, windows: windowsFull},
			{percentage: 100, windows: windowsFull, counters: plain},
			{percentage: 1, windows: windowsSampled},
			{percentage: 1, windows: windowsSampled, counters: plain},
		}
		if err := measure(subjects, exponent); err != nil {
			return err
		}
		for _, s := range subjects {
			counters := "automatic"
			if s.counters != 0 {
				counters = fmt.Sprint(s.counters)
			}
			fmt.Fprintf(out, "%.2f\t%d %%\t%s\t%d\t%.3f\t%.2f %%\n",
				exponent, s.percentage, counters, s.measured, s.meanRecall(), 100*s.meanError())
		}
	}
	return out.Flush()
}

func (s *subject) meanRecall() float64 { return s.recall / float64(s.measured) }
func (s *subject) meanError() float64  { return s.rateError / float64(s.measured) }

// measure feeds all subjects the same stream, window after window.
func measure(subjects []*subject, exponent float64) error {
	var clock int64
	windows := 0
	for i, s := range subjects {
		s.tracker = hotkeys.New(1, func() int64 { return clock }, seed+uint64(i))
		o := hotkeys.Options{TopK: topK, Percentage: s.percentage, Window: time.Second, Counters: s.counters}
		if err := s.tracker.Configure(o); err != nil {
			return err
		}
		windows = max(windows, s.windows)
	}
	stream := newStream(exponent)
	for window := range windows {
		running := slices.DeleteFunc(slices.Clone(subjects), func(s *subject) bool { return window >= s.windows })
		stream.window(running)
		clock += int64(time.Second)
		truth := stream.hottest()
		for _, s := range running {
			s.tracker.Rotate()
			s.judge(s.tracker.Report(hotkeys.Query{DB: hotkeys.AllDBs}), truth)
		}
	}
	return nil
}

// count is the exact number of accesses of a key in one window.
type count struct {
	name     string
	accesses float64
}

// judge compares a report with the truth: the hottest keys, topK of them and
// those as hot as the last.
func (s *subject) judge(r hotkeys.Report, truth []count) {
	rates := make(map[string]float64)
	for _, e := range r.Entries {
		rates[string(e.Key)] = r.Rate(e)
	}
	found := 0
	for i, c := range truth {
		rate, isReported := rates[c.name]
		if isReported {
			found++
		}
		if i < rated {
			exact := c.accesses / r.Duration.Seconds()
			s.rateError += math.Abs(rate-exact) / exact / rated
		}
	}
	s.recall += float64(min(found, topK)) / topK
	s.measured++
}

// stream draws keys and counts them exactly.
type stream struct {
	law    *zipf.Law
	random *rand.Rand
	counts []uint32 // of each key in this window
	names  []byte   // of all keys, nameBytes each
}

func newStream(exponent float64) *stream {
	st := &stream{
		law:    zipf.New(exponent, keys),
		random: rand.New(rand.NewPCG(seed, math.Float64bits(exponent))),
		counts: make([]uint32, keys),
	}
	for k := range keys {
		st.names = fmt.Appendf(st.names, "key:%0*d", nameBytes-len("key:"), k)
	}
	return st
}

func (st *stream) name(key int) []byte { return st.names[key*nameBytes:][:nameBytes] }

// window feeds one window to the subjects.
func (st *stream) window(subjects []*subject) {
	clear(st.counts)
	for range accesses {
		k := st.law.Draw(st.random)
		st.counts[k]++
		for _, s := range subjects {
			s.tracker.Recorder(0).Access(hashOf(k), st.name(k), 0, hotkeys.Read)
		}
	}
}

// hottest returns the topK keys of the window, and all that tie with the last.
func (st *stream) hottest() []count {
	counts := slices.DeleteFunc(slices.Clone(st.counts), func(n uint32) bool { return n == 0 })
	slices.Sort(counts)
	least := counts[len(counts)-topK]
	var top []count
	for k, n := range st.counts {
		if n >= least {
			top = append(top, count{string(st.name(k)), float64(n)})
		}
	}
	slices.SortFunc(top, func(a, b count) int { return cmp.Compare(b.accesses, a.accesses) })
	return top
}

// hashOf hashes a key, always to the same: the finisher of SplitMix64.
func hashOf(key int) uint64 {
	x := uint64(key)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
