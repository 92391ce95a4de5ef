package server

import (
	"fmt"
	"slices"
	"strings"
)

// What LATENCY shows to people: GRAPH draws, DOCTOR explains.

const (
	graphRows    = 4
	graphColumns = 80    // then it goes on below
	graphSteps   = "_o#" // thirds of a row
	graphFull    = '|'   // a row below the top of its column
)

// graph draws the samples as columns from the least to the most, each with its age below it, from top to bottom. The
// form is Redis's.
func (e *latencyEvent) graph(name string, nowSec int64) string {
	low, high := e.samples[0].ms, e.samples[0].ms
	for _, s := range e.samples {
		low, high = min(low, s.ms), max(high, s.ms)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s - high %d ms, low %d ms (all time high %d ms)\n%s", name, high, low, e.worstMs, strings.Repeat("-", graphColumns))
	for drawn := range slices.Chunk(e.samples, graphColumns) {
		b.WriteByte('\n')
		for _, line := range columns(drawn, low, high, nowSec) {
			b.Write(line)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// columns draws samples of at least low and at most high milliseconds.
func columns(drawn []latencySample, low, high, nowSec int64) [][]byte {
	lines := make([][]byte, graphRows+1) // an empty one above the ages
	for i := range lines {
		lines[i] = []byte(strings.Repeat(" ", len(drawn)))
	}
	const steps = graphRows * len(graphSteps)
	for x, s := range drawn {
		step := min(int((s.ms-low)*int64(steps)/max(high-low, 1)), steps-1)
		top := graphRows - 1 - step/len(graphSteps)
		lines[top][x] = graphSteps[step%len(graphSteps)]
		for y := top + 1; y < graphRows; y++ {
			lines[y][x] = graphFull
		}
		for y, ch := range []byte(age(nowSec - s.unixSec)) {
			at := graphRows + 1 + y
			if at == len(lines) {
				lines = append(lines, []byte(strings.Repeat(" ", len(drawn))))
			}
			lines[at][x] = ch
		}
	}
	return lines
}

// age is a number of seconds in few letters.
func age(sec int64) string {
	switch {
	case sec < 60:
		return fmt.Sprintf("%ds", sec)
	case sec < 3600:
		return fmt.Sprintf("%dm", sec/60)
	case sec < 86400:
		return fmt.Sprintf("%dh", sec/3600)
	}
	return fmt.Sprintf("%dd", sec/86400)
}

// latencyAdvice is what to look at when an event is slow.
var latencyAdvice = map[string]string{
	eventCommand: "SLOWLOG GET names the commands that took long. Most often they read or write very large values " +
		"(redis-cli --bigkeys, --memkeys) or all keys (KEYS; use SCAN).",
	eventFastCommand: "Fast commands do little. If they take long, the process did not get its processor: look for other " +
		"load on the machine, for swapping, and at the virtual machine's host (redis-cli --intrinsic-latency).",
	eventExpireCycle: "Many keys expire at the same moment, or very large ones do. Spread the times to live by adding " +
		"some random seconds.",
	eventEvictionCycle: "Keys are evicted to make room. Smaller values, a lower maxmemory-eviction-tenacity, or a greater " +
		"maxmemory make it shorter.",
	eventEvictionDel: "To choose a key and remove it took long: the value was large, or maxmemory-samples is great.",
	eventGate: "Some commands need the whole server for themselves: scripts and functions, FLUSHALL, KEYS, CONFIG SET, INFO, CLIENT LIST, " +
		"DEBUG, transactions with any of these. INFO commandstats tells how often they are called and how long they take.",
	eventPause: "The Go collector stops everything for far less than a millisecond. If it took longer, the process did not get its " +
		"processors: see fast-command.",
}

// report says how slow which events were, and what to do.
func (m *latencyMonitor) report(nowSec int64) string {
	names := m.names()
	switch {
	case len(names) == 0 && !m.on():
		return "Latency is not being watched. CONFIG SET latency-monitor-threshold <milliseconds> begins to keep samples of " +
			"whatever takes at least that long.\n"
	case len(names) == 0:
		return fmt.Sprintf("Nothing took %d ms (latency-monitor-threshold) or longer since the samples were last reset.\n", m.thresholdMs.Get())
	}
	var b, advice strings.Builder
	for _, name := range names {
		e := m.find(name)
		if n := int64(len(e.samples)); n > 0 {
			average, deviation := e.spread()
			fmt.Fprintf(&b, "%s: %d ms on average (mean deviation %d ms, samples: %d, one in %.1f s). The worst ever took %d ms.\n",
				name, average, deviation, n, float64(max(nowSec-e.samples[0].unixSec, 1))/float64(n), e.worstMs)
			fmt.Fprintf(&advice, "\n- %s: %s\n", name, latencyAdvice[name])
		}
	}
	return b.String() + advice.String()
}

// spread returns the mean of the samples and their mean distance from it, in milliseconds.
func (e *latencyEvent) spread() (average, deviation int64) {
	n := int64(len(e.samples))
	for _, s := range e.samples {
		average += s.ms
	}
	average /= n
	for _, s := range e.samples {
		deviation += max(s.ms-average, average-s.ms)
	}
	return average, deviation / n
}
