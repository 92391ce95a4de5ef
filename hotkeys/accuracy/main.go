// Command accuracy measures how well hot keys are found, in windows of a second
// with 200,000 accesses over a million keys, by Zipf's law. What a tracker
// reports is compared with an exact count:
//
//   - recall: the part of the 16 keys accessed most that is in a list of 16;
//   - error: the mean relative error of the rates of the 10 hottest;
//   - covered: the part of the entries whose rate lies within their bounds, of
//     the 16 in the list, and of all keys that are tracked.
//
// The first table is about accesses of one kind. Beside the counters that a
// tracker has by itself stands a plain Space-Saving summary, with no more
// counters than keys are reported, and sample and hold, in windows that are the
// first of a tracker and in those that follow.
//
// In the second, every tenth access is a write, and the keys written most are
// those read least.
//
//	go run ./hotkeys/accuracy
package main

import (
	"fmt"
	"io"
	"log"
	"os"
	"text/tabwriter"

	"kvserver/hotkeys"
)

const (
	keys     = 1_000_000
	accesses = 200_000 // in a window
	topK     = 16      // keys reported, and whose recall is measured
	rated    = 10      // hottest keys whose rates are compared
	plain    = topK    // counters of the summary to compare with

	writeShare = 0.1 // in the second table

	windowsSampled = 100 // at percentages below 100, where luck matters
	windowsFull    = 10
	seed           = 1
)

func main() {
	if err := printTable(os.Stdout, []float64{0.8, 0.99, 1.2}); err != nil {
		log.Fatal(err)
	}
	fmt.Println()
	if err := printSides(os.Stdout, 0.99); err != nil {
		log.Fatal(err)
	}
}

var header = fmt.Sprintf("windows\trecall of top %d\terror of top %d rates\tcovered, of %d listed\tof all tracked", topK, rated, topK)

// cells are what the columns of the header show.
func (s *subject) cells() string {
	return fmt.Sprintf("%d\t%.3f\t%.2f %%\t%.3f\t%.3f",
		s.measured, s.meanRecall(), 100*s.meanError(), s.listed.part(), s.tracked.part())
}

func printTable(w io.Writer, exponents []float64) error {
	out := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintf(out, "Zipf\tsampled\tcounters\t%s\n", header)
	for _, exponent := range exponents {
		subjects := []*subject{
			{percentage: 100, windows: windowsFull},
			{percentage: 100, windows: windowsFull, counters: plain},
			{percentage: 1, windows: windowsSampled},
			{percentage: 1, windows: windowsSampled, counters: plain},
			{percentage: 1, windows: windowsSampled, hold: true, isFirst: true},
			{percentage: 1, windows: windowsSampled, hold: true},
		}
		if err := measure(subjects, newStream(exponent, 0)); err != nil {
			return err
		}
		for _, s := range subjects {
			fmt.Fprintf(out, "%.2f\t%d %%\t%s\t%s\n", exponent, s.percentage, s.counting(), s.cells())
		}
	}
	return out.Flush()
}

// counting says how a subject of the first table counts.
func (s *subject) counting() string {
	switch {
	case s.isFirst:
		return "hold, first window"
	case s.hold:
		return "hold, those after"
	case s.counters != 0:
		return fmt.Sprint(s.counters)
	default:
		return "automatic"
	}
}

func printSides(w io.Writer, exponent float64) error {
	names := map[hotkeys.Ranking]string{hotkeys.All: "accesses", hotkeys.Reads: "reads", hotkeys.Writes: "writes"}
	out := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintf(out, "Zipf\tranked by\tsampled\thold\t%s\n", header)
	var subjects []*subject
	for _, by := range []hotkeys.Ranking{hotkeys.All, hotkeys.Reads, hotkeys.Writes} {
		subjects = append(subjects,
			&subject{by: by, percentage: 100, windows: windowsFull},
			&subject{by: by, percentage: 1, windows: windowsSampled},
			&subject{by: by, percentage: 1, windows: windowsSampled, hold: true})
	}
	if err := measure(subjects, newStream(exponent, writeShare)); err != nil {
		return err
	}
	for _, s := range subjects {
		hold := "no"
		if s.hold {
			hold = "yes"
		}
		fmt.Fprintf(out, "%.2f\t%s\t%d %%\t%s\t%s\n", exponent, names[s.by], s.percentage, hold, s.cells())
	}
	return out.Flush()
}
