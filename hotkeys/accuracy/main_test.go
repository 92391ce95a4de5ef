package main

import (
	"testing"

	"kvserver/hotkeys"
)

// target is what is promised of a subject for Zipf 0.99.
type target struct {
	name            string
	recall          float64 // at least
	rateError       float64 // at most
	listed, tracked float64 // covered, at least
	subject         *subject
}

func (g target) check(t *testing.T) {
	t.Helper()
	s := g.subject
	if s.measured != s.windows {
		t.Errorf("%s: %d windows measured of %d", g.name, s.measured, s.windows)
	}
	if s.meanRecall() < g.recall || s.meanError() > g.rateError {
		t.Errorf("%s: recall %.3f, error %.4f; want %v, at most %v", g.name, s.meanRecall(), s.meanError(), g.recall, g.rateError)
	}
	if s.listed.part() < g.listed || s.tracked.part() < g.tracked {
		t.Errorf("%s: covered %.3f of the listed and %.3f of the tracked entries; want %v and %v",
			g.name, s.listed.part(), s.tracked.part(), g.listed, g.tracked)
	}
}

// The program measures 100 windows at 1 %; an eighth of them bounds the means
// nearly as well, and takes seconds. Seeds are fixed, so that the figures come out
// the same at every run.
const windowsTested = windowsSampled / 8

func TestTargets(t *testing.T) {
	targets := []target{
		{"100 %", 1, 0.005, 1, 1, &subject{percentage: 100, windows: 2}},
		{"1 %", 0.82, 0.2, 0.95, 0.95, &subject{percentage: 1, windows: windowsTested}},
		{"hold, first window", 0.95, 0.04, 0.95, 0.95, &subject{percentage: 1, windows: windowsTested, hold: true, isFirst: true}},
		{"hold, those after", 0.95, 0.005, 0.95, 0.95, &subject{percentage: 1, windows: windowsTested, hold: true}},
	}
	var subjects []*subject
	for _, g := range targets {
		subjects = append(subjects, g.subject)
	}
	if err := measure(subjects, newStream(0.99, 0)); err != nil {
		t.Fatal(err)
	}
	for _, g := range targets {
		g.check(t)
	}
}

// A tenth of the accesses are writes, to the keys read least: of all accesses the
// key written most is about the sixtieth, so that only a ranking of its own shows
// it.
func TestWritesAreRankedApart(t *testing.T) {
	targets := []target{
		{"reads, 100 %", 1, 0.005, 1, 1, &subject{percentage: 100, windows: 2, by: hotkeys.Reads}},
		{"writes, 100 %", 1, 0.005, 1, 1, &subject{percentage: 100, windows: 2, by: hotkeys.Writes}},
		{"writes, 1 %, hold", 0.7, 0.01, 0.95, 0.95, &subject{percentage: 1, windows: windowsTested, hold: true, by: hotkeys.Writes}},
	}
	var subjects []*subject
	for _, g := range targets {
		subjects = append(subjects, g.subject)
	}
	if err := measure(subjects, newStream(0.99, writeShare)); err != nil {
		t.Fatal(err)
	}
	for _, g := range targets {
		g.check(t)
	}
}
