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

// throughputTargets is what ours must reach of the peer's throughput per core, by pipeline depth.
var throughputTargets = map[int]float64{1: 0.95, 16: 1.3, 64: 1.3}

// throughput compares ours with the peer: both run on the same core, one of them under load, in turns.
func (b *bench) throughput() error {
	ours, err := b.ours.start(b.serverCPUs)
	if err != nil {
		return err
	}
	defer ours.stop()
	peer, err := b.peer.start(b.serverCPUs)
	if err != nil {
		return err
	}
	defer peer.stop()
	for _, s := range []*server{ours, peer} {
		if err := fill(s, throughputKeys, nameBytesMin, valueBytes); err != nil {
			return err
		}
	}
	speed := table{
		title: fmt.Sprintf("Throughput per core: %d clients, %d keys, %d-byte values, %d rounds of %v in turns, load by %s",
			loadClients, throughputKeys, valueBytes, b.rounds, b.roundTime, b.load),
		header: []string{"", "ours, commands/s", "peer", "ratio", "ours, µs of CPU/command", "peer", "ratio",
			"core busy", "per core", "target", ""},
		remarks: []string{fmt.Sprintf("Median (lowest–highest). Per core: the throughput ratio where both servers kept "+
			"their core at least %.0f %% busy, else the ratio of processor time.", saturated*100)},
	}
	delay := table{title: "Latency of a batch in the same rounds, µs, ours / peer",
		header: []string{"", "p50", "p99", "p99.9"}}
	for _, depth := range b.depths {
		for _, command := range []string{"GET", "SET"} {
			w := workload{command: command, keys: throughputKeys, nameBytes: nameBytesMin, valueBytes: valueBytes,
				depth: depth, clients: loadClients}
			oursRounds, peerRounds, err := b.alternate("throughput", ours, peer, w)
			if err != nil {
				return err
			}
			speed.rows = append(speed.rows, speedRow(w, oursRounds, peerRounds))
			delay.rows = append(delay.rows, delayRow(w, oursRounds, peerRounds))
		}
	}
	speed.remarks = append(speed.remarks, b.disturbance())
	b.report.add(speed)
	b.report.add(delay)
	return nil
}

// alternate measures the two servers in turns, the first of a pair in turns too.
func (b *bench) alternate(part string, first, second *server, w workload) (a, z []round, err error) {
	run, finish, err := b.runner(w, first, second)
	if err != nil {
		return nil, nil, err
	}
	defer finish()
	results := map[*server][]round{}
	for i := range b.rounds {
		pair := []*server{first, second}
		if i%2 == 1 {
			pair = []*server{second, first}
		}
		for _, s := range pair {
			r, err := run(s)
			if err != nil {
				return nil, nil, err
			}
			results[s] = append(results[s], r)
			b.record(part, w.label(), s.name, i, r)
		}
	}
	return results[first], results[second], nil
}

// runner returns what measures one round of a workload on one of the servers, with the load program chosen.
func (b *bench) runner(w workload, servers ...*server) (run func(*server) (round, error), finish func(), err error) {
	if b.load == redisBenchmark {
		expected := map[*server]float64{}
		run = func(s *server) (round, error) {
			if expected[s] == 0 { // the first round only finds out how many commands a round takes
				const trial = 50_000
				r, err := measureWithRedisBenchmark(s, w, b.loadCPUs, time.Second, trial)
				if err != nil {
					return round{}, err
				}
				expected[s] = r.perSecond
			}
			return measureWithRedisBenchmark(s, w, b.loadCPUs, b.roundTime, expected[s])
		}
		return run, func() {}, nil
	}
	generators := map[*server]*generator{}
	finish = func() {
		for _, g := range generators {
			g.close()
		}
	}
	for _, s := range servers {
		g, err := newGenerator(s.address, w, 1)
		if err != nil {
			finish()
			return nil, nil, fmt.Errorf("load on %s: %w", s.name, err)
		}
		generators[s] = g
	}
	return func(s *server) (round, error) { return measure(s, generators[s], b.roundTime) }, finish, nil
}

func speedRow(w workload, ours, peer []round) []string {
	rate := ratios(field(ours, perSecond), field(peer, perSecond))
	cost := ratios(field(peer, cpuMicros), field(ours, cpuMicros))
	busyOurs, busyPeer := median(field(ours, busy)), median(field(peer, busy))
	perCore := median(rate)
	if min(busyOurs, busyPeer) < saturated {
		perCore = median(cost)
	}
	target, judged := "", ""
	if wanted, ok := throughputTargets[w.depth]; ok {
		target, judged = fmt.Sprintf("≥ %.2f×", wanted), verdict(-perCore, -wanted)
	}
	return []string{w.label(),
		withRange(spreadOf(field(ours, perSecond)), "%.0f"), withRange(spreadOf(field(peer, perSecond)), "%.0f"),
		withRange(spreadOf(rate), "%.2f") + "×",
		withRange(spreadOf(field(ours, cpuMicros)), "%.2f"), withRange(spreadOf(field(peer, cpuMicros)), "%.2f"),
		withRange(spreadOf(cost), "%.2f") + "×",
		fmt.Sprintf("%.0f %% / %.0f %%", busyOurs*100, busyPeer*100),
		fmt.Sprintf("**%.2f×**", perCore), target, judged}
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
func foreign(r round) float64   { return r.foreign }
func p50(r round) float64       { return r.p50.Seconds() * 1e6 }
func p99(r round) float64       { return r.p99.Seconds() * 1e6 }
func p999(r round) float64      { return r.p999.Seconds() * 1e6 }
