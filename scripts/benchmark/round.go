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

// settleTime of load goes before what is measured, so that caches, queues and the scheduler are where they stay.
const settleTime = 200 * time.Millisecond

// measure runs load for the time given, after settling, and accounts for it.
func measure(s *server, g *generator, d time.Duration) (round, error) {
	if _, err := g.run(settleTime); err != nil {
		return round{}, fmt.Errorf("load on %s: %w", s.name, err)
	}
	return account(s, func() (int, round, error) {
		done, err := g.run(d)
		return done.commands, round{
			p50:  time.Duration(done.latency.ValueAtQuantile(50)),
			p99:  time.Duration(done.latency.ValueAtQuantile(99)),
			p999: time.Duration(done.latency.ValueAtQuantile(99.9)),
		}, err
	})
}

// account runs load, which tells its commands and latencies, and adds what the clocks say.
func account(s *server, load func() (int, round, error)) (round, error) {
	cpuBefore, err := s.cpuTime()
	if err != nil {
		return round{}, err
	}
	busyBefore, stolenBefore, err := busyTime(s.cpus)
	if err != nil {
		return round{}, err
	}
	begin := time.Now()
	commands, result, err := load()
	elapsed := time.Since(begin)
	if err != nil {
		return round{}, fmt.Errorf("load on %s: %w", s.name, err)
	}
	if commands == 0 {
		return round{}, fmt.Errorf("%s answered nothing in %v", s.name, elapsed)
	}
	cpuAfter, err := s.cpuTime()
	if err != nil {
		return round{}, err
	}
	busyAfter, stolenAfter, err := busyTime(s.cpus)
	if err != nil {
		return round{}, err
	}
	cpu := cpuAfter - cpuBefore
	available := elapsed.Seconds() * float64(len(s.cpus))
	others := (busyAfter - busyBefore) - cpu + (stolenAfter - stolenBefore)
	result.perSecond = float64(commands) / elapsed.Seconds()
	result.cpuMicros = cpu.Seconds() * 1e6 / float64(commands)
	result.busy = cpu.Seconds() / available
	result.foreign = max(0, others.Seconds()/available)
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
	return round{p50: time.Duration(p50 * millisecond), p99: time.Duration(p99 * millisecond)}, errors.Join(err50, err99)
}

// fill sets every key of a workload once, in order.
func fill(s *server, keys, nameBytes, valueBytes int) error {
	g, err := newGenerator(s.address, workload{command: "SET", keys: keys, sequential: true, nameBytes: nameBytes,
		valueBytes: valueBytes, depth: min(keys, 100), clients: 4}, 1)
	if err != nil {
		return err
	}
	defer g.close()
	const fillTimeout = 10 * time.Minute
	if _, err := g.run(fillTimeout); err != nil {
		return fmt.Errorf("fill %s: %w", s.name, err)
	}
	if !g.workers[0].exhausted() {
		return fmt.Errorf("%s took more than %v for %d keys", s.name, fillTimeout, keys)
	}
	return nil
}
