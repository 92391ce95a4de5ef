//go:build linux

package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// round is one measured stretch of load on one server.
type round struct {
	perSecond float64 // commands
	cpuMicros float64 // processor time of the server for one command
	busy      float64 // part of the server's processors that the server used: near 1 it was the bottleneck
	foreign   float64 // part of them that anything else used or the hypervisor withheld
	p50       time.Duration
	p99       time.Duration
	p999      time.Duration // 0 where the load program does not tell
}

// quiet is the part of the server's processors that may be lost to others in a round: what the kernel's clock ticks
// cannot tell from nothing.
const quiet = 0.05

// settleTime of load goes before what is measured, so that caches, queues and the scheduler are where they stay, and
// the 8,000 counters of tracking at top-k 1000 are in use even without pipelining.
const settleTime = 150 * time.Millisecond

// inTurns measures two sides count times each, in the order a b, b a, a b …, so that a drift of the machine favours
// neither, and records every round. A pair is measured again if others used the server's processors meanwhile, until
// as many pairs were discarded as are wanted: then the machine is not going to be quiet, and the report says so.
func (b *bench) inTurns(count int, part, name string, sides [2]string, one func(side int) (round, error)) ([2][]round, error) {
	rounds, err := b.cyclesInTurns(count, part, []string{name}, sides, func(side int) ([]round, error) {
		r, err := one(side)
		return []round{r}, err
	})
	if err != nil {
		return [2][]round{}, err
	}
	return rounds[0], nil
}

// cyclesInTurns is inTurns for several things measured one after the other, like filling and emptying: each call of one
// returns a round of each of the names, and so does the result.
func (b *bench) cyclesInTurns(count int, part string, names []string, sides [2]string, one func(side int) ([]round, error)) ([][2][]round, error) {
	rounds := make([][2][]round, len(names))
	discards := count
	for i := 0; i < count; {
		var pair [2][]round
		disturbed := 0.0
		for j := range 2 {
			side := (i + j) % 2
			var err error
			if pair[side], err = one(side); err != nil {
				return nil, err
			}
			for _, r := range pair[side] {
				disturbed = max(disturbed, r.foreign)
			}
		}
		if disturbed > quiet && discards > 0 {
			discards--
			b.discarded++
			continue
		}
		for side := range 2 {
			for k, r := range pair[side] {
				rounds[k][side] = append(rounds[k][side], r)
				b.record(part, names[k], sides[side], i, r)
			}
		}
		i++
	}
	return rounds, nil
}

// measure runs load for the time given, after settling, and accounts for it.
func measure(s *server, g *generator, d time.Duration) (round, error) {
	if _, err := g.run(settleTime); err != nil {
		return round{}, fmt.Errorf("load on %s: %w", s.name, err)
	}
	return account(s, func() (int, round, error) {
		done, err := g.run(d)
		return done.commands, percentiles(done), err
	})
}

func percentiles(of outcome) round {
	return round{
		p50:  time.Duration(of.latency.ValueAtQuantile(50)),
		p99:  time.Duration(of.latency.ValueAtQuantile(99)),
		p999: time.Duration(of.latency.ValueAtQuantile(99.9)),
	}
}

// clocks are what is read before and after a stretch of load.
type clocks struct {
	at     time.Time
	server time.Duration // processor time of the server
	others time.Duration // time that its processors spent on others, or that the hypervisor withheld
}

func readClocks(s *server) (c clocks, err error) {
	if c.server, err = s.cpuTime(); err != nil {
		return c, err
	}
	busy, stolen, err := busyTime(s.cpus)
	if err != nil {
		return c, err
	}
	c.others = busy + stolen - c.server
	if s.shared {
		var own unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &own); err != nil {
			return c, err
		}
		c.others -= time.Duration(own.Utime.Nano() + own.Stime.Nano())
	}
	c.at = time.Now()
	return c, nil
}

// account runs load, which tells its commands and latencies, and adds what the clocks say.
func account(s *server, load func() (int, round, error)) (round, error) {
	before, err := readClocks(s)
	if err != nil {
		return round{}, err
	}
	commands, result, err := load()
	if err != nil {
		return round{}, fmt.Errorf("load on %s: %w", s.name, err)
	}
	after, err := readClocks(s)
	if err != nil {
		return round{}, err
	}
	elapsed := after.at.Sub(before.at).Seconds()
	if commands == 0 {
		return round{}, fmt.Errorf("%s answered nothing in %.1f s", s.name, elapsed)
	}
	cpu := (after.server - before.server).Seconds()
	available := elapsed * float64(len(s.cpus))
	result.perSecond = float64(commands) / elapsed
	result.cpuMicros = cpu * 1e6 / float64(commands)
	result.busy = cpu / available
	result.foreign = max(0, (after.others-before.others).Seconds()/available)
	return result, nil
}

// measureWithRedisBenchmark is measure with redis-benchmark as the load, which counts commands instead of time:
// expected is the rate to reckon with.
func measureWithRedisBenchmark(s *server, w workload, load cpus, d time.Duration, expected float64) (round, error) {
	_, port, _ := strings.Cut(s.address, ":")
	count := max(int(expected*d.Seconds()), w.clients*w.depth)
	cmd := exec.Command("redis-benchmark", "-p", port, "-t", strings.ToLower(w.command), "-n", strconv.Itoa(count),
		"-r", strconv.Itoa(w.keys), "-d", strconv.Itoa(w.valueBytes), "-P", strconv.Itoa(w.depth),
		"-c", strconv.Itoa(w.clients), "--csv")
	return account(s, func() (int, round, error) {
		var out, complaints strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &complaints
		if err := startPinned(cmd, load); err != nil {
			return 0, round{}, err
		}
		if err := cmd.Wait(); err != nil {
			return 0, round{}, fmt.Errorf("redis-benchmark: %w: %s", err, complaints.String())
		}
		result, err := parseRedisBenchmark(out.String())
		return count, result, err
	})
}

// parseRedisBenchmark takes the percentiles from "test","rps","avg","min","p50","p95","p99","max", in milliseconds.
func parseRedisBenchmark(text string) (round, error) {
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(records) != 2 || len(records[1]) != 8 {
		return round{}, fmt.Errorf("redis-benchmark printed %q, not one test as CSV", text)
	}
	p50, err50 := strconv.ParseFloat(records[1][4], 64)
	p99, err99 := strconv.ParseFloat(records[1][6], 64)
	millisecond := float64(time.Millisecond)
	r := round{p50: time.Duration(p50 * millisecond), p99: time.Duration(p99 * millisecond)}
	return r, errors.Join(err50, err99)
}

// fill sets every key of a workload once, in order.
func fill(s *server, keys, nameBytes, valueBytes int) error {
	return fillWith(s, workload{command: "SET", keys: keys, nameBytes: nameBytes, valueBytes: valueBytes})
}

// fillWith sends a command for each name of a workload once, in order.
func fillWith(s *server, w workload) error {
	w.sequential, w.depth, w.clients = true, min(w.keys, 100), 4
	g, err := newGenerator(s.address, w, 1)
	if err != nil {
		return err
	}
	defer g.close()
	const fillTimeout = 10 * time.Minute
	if _, err := g.run(fillTimeout); err != nil {
		return fmt.Errorf("fill %s: %w", s.name, err)
	}
	if !g.workers[0].exhausted() {
		return fmt.Errorf("%s took more than %v for %d keys", s.name, fillTimeout, w.keys)
	}
	return nil
}

// measureAll is measure for a sequential workload, to its last name, over connections of its own.
func measureAll(s *server, w workload) (round, error) {
	g, err := newGenerator(s.address, w, 1)
	if err != nil {
		return round{}, err
	}
	defer g.close()
	const limit = time.Minute
	r, err := account(s, func() (int, round, error) {
		done, err := g.run(limit)
		return done.commands, percentiles(done), err
	})
	if err == nil && !g.workers[0].exhausted() {
		err = fmt.Errorf("%s took more than %v for %d of %s", s.name, limit, w.keys, w.label())
	}
	return r, err
}
