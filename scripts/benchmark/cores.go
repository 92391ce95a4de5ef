//go:build linux

package main

import "fmt"

// cores compares one hot key with uniform names on a server that has every core: commands on one key must not queue
// behind one another. The load has to share the cores, so only the comparison means something.
func (b *bench) cores() error {
	all := append(append(cpus{}, b.serverCPUs...), b.loadCPUs...)
	if err := pinThreads(all); err != nil {
		return err
	}
	defer pinThreads(b.loadCPUs)
	ours, err := b.ours.start(all)
	if err != nil {
		return err
	}
	defer ours.stop()
	ours.shared = true
	if err := fill(ours, throughputKeys, nameBytesMin, valueBytes); err != nil {
		return err
	}
	result := table{
		title: fmt.Sprintf("One hot key on %d cores: GET, %d clients, %d pairs of %v in turns, load on the same cores",
			len(all), loadClients, b.pairs, b.phaseTime),
		header: []string{"", "hot key, commands/s", "uniform", "ratio (95 % interval)", "hot key, µs of CPU/command",
			"uniform", "target", ""},
	}
	for _, depth := range b.depths {
		row, err := b.hotAgainstUniform(ours, depth, len(all))
		if err != nil {
			return err
		}
		result.rows = append(result.rows, row)
	}
	result.remarks = append(result.remarks, b.disturbance())
	b.report.add(result)
	return nil
}

func (b *bench) hotAgainstUniform(s *server, depth, threads int) ([]string, error) {
	uniform := workload{command: "GET", keys: throughputKeys, nameBytes: nameBytesMin, depth: depth, clients: loadClients}
	hot := uniform
	hot.keys = 1
	var generators [2]*generator
	for i, w := range []workload{hot, uniform} {
		g, err := newGenerator(s.address, w, threads)
		if err != nil {
			return nil, err
		}
		defer g.close()
		generators[i] = g
	}
	rounds, err := b.inTurns(b.pairs, "cores", uniform.label(), [2]string{"hot key", "uniform"},
		func(side int) (round, error) { return measure(s, generators[side], b.phaseTime) })
	if err != nil {
		return nil, err
	}
	rate := medianInterval(ratios(field(rounds[0], perSecond), field(rounds[1], perSecond)))
	return []string{uniform.label(),
		withRange(spreadOf(field(rounds[0], perSecond)), "%.0f"),
		withRange(spreadOf(field(rounds[1], perSecond)), "%.0f"),
		withRange(rate, "%.3f") + "×",
		withRange(spreadOf(field(rounds[0], cpuMicros)), "%.2f"),
		withRange(spreadOf(field(rounds[1], cpuMicros)), "%.2f"),
		"≥ 1.00×", verdictOn(spread{-rate.median, -rate.high, -rate.low}, -1)}, nil
}
