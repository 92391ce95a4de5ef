//go:build linux

package main

import (
	"fmt"
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

// tracking measures what hot key tracking costs. Phases with tracking on and off alternate in one process and over
// the same connections, because two processes differ by more (layout of memory, heap) than the cost looked for; each
// phase is compared with its neighbour only. Names are uniform: nearly every access of a full summary then replaces a
// counter and copies the name, the dearest thing it does.
func (b *bench) tracking() error {
	result := table{
		title: fmt.Sprintf("Cost of hot key tracking: GET, %d clients, %d pairs of phases of %v, on against off by CONFIG SET",
			loadClients, b.pairs, b.phaseTime),
		header: []string{"", "pipeline", "on, commands/s", "off", "loss of throughput (95 % interval)",
			"more CPU/command (95 % interval)", "the same in ns", "core busy", "target", ""},
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
	g, err := newGenerator(s.address, w, 1)
	if err != nil {
		return nil, err
	}
	defer g.close()
	if err := s.configure("hotkeys-window-seconds", "1"); err != nil {
		return nil, err
	}
	if err := s.configure("hotkeys-sampling-percentage", strconv.Itoa(c.percentage)); err != nil {
		return nil, err
	}
	const on, off = 0, 1
	rounds, err := b.inTurns(b.pairs, "tracking", fmt.Sprintf("%s P%d", c.name, w.depth), [2]string{"on", "off"},
		func(side int) (round, error) {
			topK := 0
			if side == on {
				topK = c.topK
			}
			if err := s.configure("hotkeys-top-k", strconv.Itoa(topK)); err != nil {
				return round{}, err
			}
			return measure(s, g, b.phaseTime)
		})
	if err != nil {
		return nil, err
	}
	if err := s.configure("hotkeys-top-k", "0"); err != nil {
		return nil, err
	}
	var nanoseconds []float64
	for i := range rounds[on] {
		nanoseconds = append(nanoseconds, 1000*(rounds[on][i].cpuMicros-rounds[off][i].cpuMicros))
	}
	loss := ratios(field(rounds[on], perSecond), field(rounds[off], perSecond))
	more := ratios(field(rounds[on], cpuMicros), field(rounds[off], cpuMicros))
	for i := range loss {
		loss[i] = 100 * (1 - loss[i])
		more[i] = 100 * (more[i] - 1)
	}
	lossInterval, moreInterval := medianInterval(loss), medianInterval(more)
	busyOn, busyOff := median(field(rounds[on], busy)), median(field(rounds[off], busy))
	target, judged := "", ""
	if c.topK > 0 {
		judgedBy := lossInterval
		if min(busyOn, busyOff) < saturated {
			judgedBy = moreInterval
		}
		target, judged = fmt.Sprintf("≤ %.0f %%", c.lossMax*100), verdictOn(judgedBy, c.lossMax*100)
	}
	return []string{c.name, strconv.Itoa(w.depth),
		fmt.Sprintf("%.0f", median(field(rounds[on], perSecond))),
		fmt.Sprintf("%.0f", median(field(rounds[off], perSecond))),
		withRange(lossInterval, "%.2f") + " %", withRange(moreInterval, "%.2f") + " %",
		withRange(medianInterval(nanoseconds), "%.0f"),
		fmt.Sprintf("%.0f %% / %.0f %%", busyOn*100, busyOff*100), target, judged}, nil
}
