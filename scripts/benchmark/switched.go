//go:build linux

package main

import (
	"fmt"
	"strconv"
	"time"
)

// switched is a feature that is switched on and off in turns in one process.
type switched struct {
	name string
	base settings // in force in every phase
	on   settings
	off  settings // also in force afterwards
}

// settings are names and values of parameters.
type settings []string

// apply sets parameters, all at once.
func (s *server) apply(values settings) error {
	if len(values) == 0 {
		return nil
	}
	if _, err := s.control.Do(append([]string{"CONFIG", "SET"}, values...)...); err != nil {
		return fmt.Errorf("CONFIG SET %q on %s: %w", []string(values), s.name, err)
	}
	return nil
}

// effect is what switching a feature on did.
type effect struct {
	rates       [2]float64 // commands/s, on and off
	busy        [2]float64
	loss        spread // of throughput, percent
	more        spread // processor time for a command, percent
	nanoseconds spread // the same
}

// effectOf measures phases with a feature on and off in turns, over the same connections, since two processes differ by
// more (layout of memory, heap) than the cost looked for; each phase is compared with its neighbour only.
func (b *bench) effectOf(part string, s *server, of switched, w workload, phase time.Duration, pairs int) (effect, error) {
	g, err := newGenerator(s.address, w, 1)
	if err != nil {
		return effect{}, err
	}
	defer g.close()
	if err := s.apply(of.base); err != nil {
		return effect{}, err
	}
	const on, off = 0, 1
	values := [2]settings{on: of.on, off: of.off}
	rounds, err := b.inTurns(pairs, part, fmt.Sprintf("%s P%d", of.name, w.depth), [2]string{"on", "off"},
		func(side int) (round, error) {
			if err := s.apply(values[side]); err != nil {
				return round{}, err
			}
			return measure(s, g, phase)
		})
	if err != nil {
		return effect{}, err
	}
	if err := s.apply(of.off); err != nil {
		return effect{}, err
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
	e := effect{loss: medianInterval(loss), more: medianInterval(more), nanoseconds: medianInterval(nanoseconds)}
	for side := range rounds {
		e.rates[side] = median(field(rounds[side], perSecond))
		e.busy[side] = median(field(rounds[side], busy))
	}
	return e, nil
}

// judged is what counts: throughput if the core was the bottleneck, else processor time.
func (e effect) judged() spread {
	if min(e.busy[0], e.busy[1]) < saturated {
		return e.more
	}
	return e.loss
}

var effectHeader = []string{"", "pipeline", "on, commands/s", "off", "loss of throughput (95 % interval)",
	"more CPU/command (95 % interval)", "the same in ns", "core busy"}

func (e effect) cells(name string, w workload) []string {
	return []string{name, strconv.Itoa(w.depth),
		fmt.Sprintf("%.0f", e.rates[0]), fmt.Sprintf("%.0f", e.rates[1]),
		withRange(e.loss, "%.2f") + " %", withRange(e.more, "%.2f") + " %", withRange(e.nanoseconds, "%.0f"),
		fmt.Sprintf("%.0f %% / %.0f %%", e.busy[0]*100, e.busy[1]*100)}
}
