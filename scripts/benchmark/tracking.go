//go:build linux

package main

import (
	"fmt"
	"slices"
	"strconv"
)

// trackingCase is a setting of hot key tracking, compared with tracking off in the same process.
type trackingCase struct {
	name       string
	topK       int // 0: off against off, which shows what the method cannot tell from nothing
	percentage int
	nameBytes  int
	keys       int
	lossMax    float64 // of throughput
}

var trackingCases = []trackingCase{
	{"off (control)", 0, 1, nameBytesMin, throughputKeys, 0},
	{"1 % sampling, 16-byte names", 16, 1, nameBytesMin, throughputKeys, 0.01},
	{"100 %, 16-byte names", 16, 100, nameBytesMin, throughputKeys, 0.03},
	{"100 %, 512-byte names over 1M keys", 16, 100, 512, 1_000_000, 0.04},
	{"100 %, top-k 1000, 16-byte names", 1000, 100, nameBytesMin, throughputKeys, 0.03},
}

// tracking measures what hot key tracking costs. Names are uniform: nearly every access of a full summary then replaces a
// counter and copies the name, the dearest thing it does.
func (b *bench) tracking() error {
	result := table{
		title: fmt.Sprintf("Cost of hot key tracking: GET, %d clients, %d pairs of phases of %v, on against off by CONFIG SET",
			loadClients, b.pairs, b.phaseTime),
		header: append(slices.Clone(effectHeader), "target", ""),
		remarks: []string{"Loss: median over pairs of 1 − on ÷ off. The control row shows the noise: nothing is switched " +
			"in it. A phase is shorter than the window, whose rotation is in the Go benchmarks (BenchmarkRotate)."},
	}
	var running *server
	defer func() {
		if running != nil {
			running.stop()
		}
	}()
	filled := workload{}
	for _, c := range trackingCases {
		w := workload{command: "GET", keys: c.keys, nameBytes: c.nameBytes, clients: loadClients}
		if running == nil || filled != w { // another keyspace: a fresh process
			if running != nil {
				running.stop()
			}
			var err error
			if running, err = b.ours.start(b.serverCPUs); err != nil {
				return err
			}
			if err := fill(running, c.keys, c.nameBytes, valueBytes); err != nil {
				return err
			}
			filled = w
		}
		for _, depth := range b.depths {
			w.depth = depth
			row, err := b.trackingRow(running, c, w)
			if err != nil {
				return err
			}
			result.rows = append(result.rows, row)
		}
	}
	result.remarks = append(result.remarks, b.disturbance())
	b.report.add(result)
	return nil
}

func (b *bench) trackingRow(s *server, c trackingCase, w workload) ([]string, error) {
	on := switched{
		name: c.name,
		base: settings{"hotkeys-window-seconds", "1", "hotkeys-sampling-percentage", strconv.Itoa(c.percentage)},
		on:   settings{"hotkeys-top-k", strconv.Itoa(c.topK)},
		off:  settings{"hotkeys-top-k", "0"},
	}
	effect, err := b.effectOf("tracking", s, on, w, b.phaseTime, b.pairs)
	if err != nil {
		return nil, err
	}
	target, judged := "", ""
	if c.topK > 0 {
		target, judged = fmt.Sprintf("≤ %.0f %%", c.lossMax*100), verdictOn(effect.judged(), c.lossMax*100)
	}
	return append(effect.cells(c.name, w), target, judged), nil
}
