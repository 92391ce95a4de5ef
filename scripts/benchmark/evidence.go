//go:build linux

package main

import (
	"fmt"
	"slices"
	"time"

	"kvserver/hotkeys/zipf"
)

// evidenceCase is something that hot key tracking does in addition, on against off.
type evidenceCase struct {
	switched
	skewed  bool    // names by Zipf's law, else uniform
	windows int     // length of a phase, for what happens at the end of windows or from one to the next; 0: --phase-time
	lossMax float64 // of throughput; withinNoise: not to be told from the control row
}

const withinNoise = -1

// sampled is tracking as the default of 1 % has it, without additions.
var sampled = settings{
	"hotkeys-top-k", "16", "hotkeys-sampling-percentage", "1", "hotkeys-window-seconds", "1", "hotkeys-counters", "0",
	"hotkeys-measures", "no", "hotkeys-sample-and-hold", "no", "hotkeys-history-length", "0",
	"hotkeys-promote-qps", "0",
}

// controlled is a controller that finds some hot keys among those of skewed names, and many that are not.
var controlled = settings{"hotkeys-promote-qps", "10000", "hotkeys-demote-qps", "5000"}

// with returns settings with others behind them. A later value of a parameter takes the place of an earlier one.
func (s settings) with(others ...string) settings {
	merged := slices.Clone(s)
	for i := 0; i < len(others); i += 2 {
		at := 0
		for at < len(merged) && merged[at] != others[i] {
			at += 2
		}
		merged = append(slices.Delete(merged, at, min(at+2, len(merged))), others[i:i+2]...)
	}
	return merged
}

var evidenceCases = []evidenceCase{
	{switched{"nothing (control)", sampled, nil, nil}, false, 0, withinNoise},
	{switched{"measures, 1 %", sampled,
		settings{"hotkeys-measures", "yes"}, settings{"hotkeys-measures", "no"}}, false, 0, 0.01},
	{switched{"measures, 100 %", sampled.with("hotkeys-sampling-percentage", "100"),
		settings{"hotkeys-measures", "yes"}, settings{"hotkeys-measures", "no"}}, false, 0, 0.04},
	{switched{"sample and hold, 1 %, Zipf 0.99", sampled,
		settings{"hotkeys-sample-and-hold", "yes"}, settings{"hotkeys-sample-and-hold", "no"}}, true, 2, 0.01},
	{switched{"history, Zipf 0.99", sampled,
		settings{"hotkeys-history-length", "60"}, settings{"hotkeys-history-length", "0"}}, true, 1, withinNoise},
	{switched{"controller, Zipf 0.99", sampled,
		controlled, settings{"hotkeys-promote-qps", "0"}}, true, 1, withinNoise},
	{switched{"all of these at 1 % and tracking itself, Zipf 0.99", sampled,
		controlled.with("hotkeys-top-k", "16", "hotkeys-measures", "yes", "hotkeys-sample-and-hold", "yes", "hotkeys-history-length", "60"),
		sampled.with("hotkeys-top-k", "0")}, true, 2, 0.01},
}

// evidence measures what each addition to hot key tracking costs, and how long a scrape of the metrics takes.
func (b *bench) evidence() error {
	port, err := freePort()
	if err != nil {
		return err
	}
	ours := b.ours
	ours.flags = []string{"--http-port", port, "--metrics-hotkeys", "yes"}
	s, err := ours.start(b.serverCPUs)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := fill(s, throughputKeys, nameBytesMin, valueBytes); err != nil {
		return err
	}
	result := table{
		title: fmt.Sprintf("Cost of evidence about hot keys: GET, %d clients, %d keys, on against off in pairs of phases by CONFIG SET",
			loadClients, throughputKeys),
		header: append(slices.Clone(effectHeader), "phases", "target", ""),
		remarks: []string{"Hot key tracking is on in both phases at 1 %, unless the row says otherwise. What comes at the end of a window is " +
			"measured in phases as long as one or several."},
	}
	law := zipf.New(evidenceExponent, throughputKeys)
	noise := map[int]spread{} // by depth
	for _, c := range evidenceCases {
		w := workload{command: "GET", keys: throughputKeys, nameBytes: nameBytesMin, clients: loadClients}
		if c.skewed {
			w.law = law
		}
		for _, w.depth = range b.depths {
			phase, pairs := b.phases(c)
			e, err := b.effectOf("evidence", s, c.switched, w, phase, pairs)
			if err != nil {
				return err
			}
			if _, isMeasured := noise[w.depth]; !isMeasured {
				noise[w.depth] = e.judged()
			}
			result.rows = append(result.rows, append(e.cells(c.name, w),
				append([]string{fmt.Sprintf("%d × %v", pairs, phase)}, c.judge(e, noise[w.depth])...)...))
		}
	}
	result.remarks = append(result.remarks, b.disturbance())
	b.report.add(result)
	return b.scrapes(s, "http://127.0.0.1:"+port+"/metrics")
}

// phases returns the length and the number of pairs of a case's phases.
func (b *bench) phases(c evidenceCase) (length time.Duration, pairs int) {
	switch {
	case c.windows == 0:
		return b.phaseTime, b.pairs
	case b.quick:
		return time.Second, b.pairs
	default:
		return time.Duration(c.windows) * time.Second, max(b.pairs/(2*c.windows), roundsMin)
	}
}

// evidenceExponent is that of Zipf's law for skewed names: YCSB's.
const evidenceExponent = 0.99

// judge returns the target of a case and how its effect stands to it.
func (c evidenceCase) judge(e effect, noise spread) []string {
	if c.on == nil {
		return []string{"", ""}
	}
	if c.lossMax == withinNoise {
		return []string{"noise", verdict(e.judged().low, max(noise.high, 0))}
	}
	return []string{fmt.Sprintf("≤ %.0f %%", c.lossMax*100), verdictOn(e.judged(), c.lossMax*100)}
}
