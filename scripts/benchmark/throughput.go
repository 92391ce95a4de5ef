//go:build linux

package main

import (
	"fmt"
	"time"
)

const (
	valueBytes     = 64
	throughputKeys = 100_000
	loadClients    = 50
	// saturated is the part of its processors above which a server is taken to have been the bottleneck.
	saturated = 0.95
)

// speedHeader and speedRemark go with speedRow.
var (
	speedHeader = []string{"", "ours, commands/s", "peer", "ratio", "ours, µs of CPU/command", "peer", "ratio",
		"core busy", "per core", "target", ""}
	speedRemark = fmt.Sprintf("Median (lowest–highest). Per core: the throughput ratio where both servers kept their core "+
		"at least %.0f %% busy, else the ratio of processor time.", saturated*100)
)

// throughputTargets is what ours must reach of the peer's throughput per core, by pipeline depth.
var throughputTargets = map[int]float64{1: 0.95, 16: 1.3, 64: 1.3}

// throughput compares ours with the peer: both run on the same core, one of them under load, in turns.
func (b *bench) throughput() error {
	ours, peer, err := b.startBoth()
	if err != nil {
		return err
	}
	defer ours.stop()
	defer peer.stop()
	for _, s := range []*server{ours, peer} {
		if err := fill(s, throughputKeys, nameBytesMin, valueBytes); err != nil {
			return err
		}
	}
	speed := table{
		title: fmt.Sprintf("Throughput per core: %d clients, %d keys, %d-byte values, %d rounds of %v in turns, load by %s",
			loadClients, throughputKeys, valueBytes, b.rounds, b.roundTime, b.load),
		header:  speedHeader,
		remarks: []string{speedRemark},
	}
	delay := table{title: "Latency of a batch in the same rounds, µs, ours / peer",
		header: []string{"", "p50", "p99", "p99.9"}}
	for _, depth := range b.depths {
		for _, command := range []string{"GET", "SET"} {
			w := workload{command: command, keys: throughputKeys, nameBytes: nameBytesMin, valueBytes: valueBytes,
				depth: depth, clients: loadClients}
			rounds, err := b.compare([2]*server{ours, peer}, w)
			if err != nil {
				return err
			}
			speed.rows = append(speed.rows, speedRow(w, rounds[0], rounds[1], throughputTargets))
			delay.rows = append(delay.rows, delayRow(w, rounds[0], rounds[1]))
		}
	}
	speed.remarks = append(speed.remarks, b.disturbance())
	b.report.add(speed)
	b.report.add(delay)
	return nil
}

// compare measures a workload on two servers, with the load program chosen.
func (b *bench) compare(servers [2]*server, w workload) (rounds [2][]round, err error) {
	if b.load == redisBenchmark {
		names := [2]string{servers[0].name, servers[1].name}
		var expected [2]float64
		for side, s := range servers { // a first round only finds out how many commands a round takes
			const trial = 50_000
			r, err := measureWithRedisBenchmark(s, w, b.loadCPUs, time.Second, trial)
			if err != nil {
				return rounds, err
			}
			expected[side] = r.perSecond
		}
		return b.inTurns(b.rounds, "throughput", w.label(), names, func(side int) (round, error) {
			return measureWithRedisBenchmark(servers[side], w, b.loadCPUs, b.roundTime, expected[side])
		})
	}
	return b.compareOwn("throughput", servers, w)
}

// compareOwn measures a workload on two servers with the load of this program.
func (b *bench) compareOwn(part string, servers [2]*server, w workload) (rounds [2][]round, err error) {
	var generators [2]*generator
	for side, s := range servers {
		if generators[side], err = newGenerator(s.address, w, 1); err != nil {
			return rounds, fmt.Errorf("load on %s: %w", s.name, err)
		}
		defer generators[side].close()
	}
	return b.inTurns(b.rounds, part, w.label(), [2]string{servers[0].name, servers[1].name}, func(side int) (round, error) {
		return measure(servers[side], generators[side], b.roundTime)
	})
}

// speedRow is the row of a workload in a table of throughput. targets are of the throughput per core, by depth.
func speedRow(w workload, ours, peer []round, targets map[int]float64) []string {
	rate := ratios(field(ours, perSecond), field(peer, perSecond))
	cost := ratios(field(peer, cpuMicros), field(ours, cpuMicros))
	busyOurs, busyPeer := median(field(ours, busy)), median(field(peer, busy))
	perCore := rate
	if min(busyOurs, busyPeer) < saturated {
		perCore = cost
	}
	target, judged := "", ""
	if wanted := targets[w.depth]; wanted > 0 {
		interval := medianInterval(perCore)
		target = fmt.Sprintf("≥ %.2f×", wanted)
		judged = verdictOn(spread{-interval.median, -interval.high, -interval.low}, -wanted)
	}
	return []string{w.label(),
		withRange(spreadOf(field(ours, perSecond)), "%.0f"), withRange(spreadOf(field(peer, perSecond)), "%.0f"),
		withRange(spreadOf(rate), "%.2f") + "×",
		withRange(spreadOf(field(ours, cpuMicros)), "%.2f"), withRange(spreadOf(field(peer, cpuMicros)), "%.2f"),
		withRange(spreadOf(cost), "%.2f") + "×",
		fmt.Sprintf("%.0f %% / %.0f %%", busyOurs*100, busyPeer*100),
		fmt.Sprintf("**%.2f×**", median(perCore)), target, judged}
}

func delayRow(w workload, ours, peer []round) []string {
	row := []string{w.label()}
	for _, percentile := range []func(round) float64{p50, p99, p999} {
		a, z := median(field(ours, percentile)), median(field(peer, percentile))
		if a == 0 {
			row = append(row, "not told")
			continue
		}
		row = append(row, fmt.Sprintf("%.0f / %.0f", a, z))
	}
	return row
}

func (w workload) label() string { return fmt.Sprintf("%s P%d", w.command, w.depth) }

// field takes one figure out of each round.
func field(rounds []round, of func(round) float64) []float64 {
	values := make([]float64, len(rounds))
	for i, r := range rounds {
		values[i] = of(r)
	}
	return values
}

func perSecond(r round) float64 { return r.perSecond }
func cpuMicros(r round) float64 { return r.cpuMicros }
func busy(r round) float64      { return r.busy }
func p50(r round) float64       { return r.p50.Seconds() * 1e6 }
func p99(r round) float64       { return r.p99.Seconds() * 1e6 }
func p999(r round) float64      { return r.p999.Seconds() * 1e6 }
