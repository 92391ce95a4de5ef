//go:build linux

// Command benchmark measures kvserver beside a peer and prints a table of the figures and the targets; scripts/bench
// runs it. It starts every server itself, pinned to other processors than the load.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

const (
	ownLoad        = "own"
	redisBenchmark = "redis-benchmark"
)

const roundsMin = 5 // fewer tell nothing about their spread

// bench is a run: what was asked for, on what, and what came out.
type bench struct {
	ours, peer           binary
	serverCPUs, loadCPUs cpus
	quick                bool
	rounds, pairs        int
	roundTime, phaseTime time.Duration
	depths, typeDepths   []int
	load                 string
	report               *report
	discarded            int       // pairs of rounds, see inTurns
	disturbed            []float64 // by how much each round was, see round.foreign
}

type part struct {
	name, about string
	run         func(*bench) error
	needsPeer   bool
}

var parts = []part{
	{"throughput", "GET and SET beside the peer, one core each for server and load", (*bench).throughput, true},
	{"types", "LPUSH, RPOP, LRANGE, SADD, SPOP, HSET, ZADD, ZPOPMIN, XADD beside the peer, in one key and in many", (*bench).types, true},
	{"clients", "EVAL, GET with client-side caching, and GET of a restricted user beside the peer", (*bench).features, true},
	{"fanout", "PUBLISH to 1, 10 and 1000 subscribers beside the peer", (*bench).fanout, true},
	{"cores", "one hot key against uniform names with every core given to the server", (*bench).cores, false},
	{"tracking", "cost of hot key tracking, switched on and off in one process", (*bench).tracking, false},
	{"evidence", "cost of what is known of hot keys besides: measures, holding, history, controller; a scrape of the metrics", (*bench).evidence, false},
	{"memory", "bytes per key, after overwrites, after FLUSHALL, idle connections, collections", (*bench).memory, true},
	{"elements", "bytes per element of each type of collection beside the peer", (*bench).elements, true},
	{"evict", "SET while keys are evicted, hit ratios, and resident memory under churn beside the peer", (*bench).evict, true},
	{"stalls", "longest wait of another client while a collection of ten million elements is removed", (*bench).stalls, true},
	{"accuracy", "recall and error of the reported keys on Zipf streams (go run ./hotkeys/accuracy)", (*bench).accuracy, false},
	{"micro", "Go benchmarks of one recorded access", (*bench).micro, false},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	b := &bench{report: &report{echo: os.Stdout}}
	flags := pflag.NewFlagSet("scripts/bench", pflag.ContinueOnError)
	flags.SortFlags = false
	quick := flags.Bool("quick", false, "a tenth of the time and of the keys: shows that all works, not how fast")
	out := flags.String("out", "bench-results", "directory for the Markdown and CSV files")
	flags.StringVar(&b.load, "load", ownLoad, "load for the throughput part: own or redis-benchmark")
	flags.IntVar(&b.rounds, "rounds", 7, "rounds of each server in the throughput part, at least 5")
	flags.DurationVar(&b.roundTime, "round-time", 2*time.Second, "length of such a round")
	flags.IntVar(&b.pairs, "pairs", 50, "pairs of phases in the tracking, evidence and cores parts")
	flags.DurationVar(&b.phaseTime, "phase-time", 300*time.Millisecond, "length of such a phase")
	flags.IntSliceVar(&b.depths, "depths", []int{1, 16, 64}, "pipeline depths")
	flags.IntSliceVar(&b.typeDepths, "type-depths", []int{16}, "pipeline depths of the types, clients and fanout parts")
	server := flags.String("server", "", "binary of our server; scripts/bench builds one and passes it")
	flags.Usage = func() { usage(flags) }
	if err := flags.Parse(args); err == pflag.ErrHelp {
		return nil
	} else if err != nil {
		return err
	}
	chosen, err := choose(flags.Args())
	if err != nil {
		return err
	}
	if b.quick = *quick; b.quick {
		b.rounds, b.roundTime = 5, 300*time.Millisecond
		b.pairs = 5
	}
	if err := b.prepare(*server, chosen); err != nil {
		return err
	}
	measured := commit()
	b.report.write(describeMachine(measured, b.peer.path, b.serverCPUs, b.loadCPUs))
	for _, p := range chosen {
		fmt.Fprintf(os.Stderr, "bench: %s …\n", p.name)
		if err := p.run(b); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return b.report.save(*out, time.Now().UTC().Format("20060102-150405")+"-"+strings.Fields(measured)[0])
}

func usage(flags *pflag.FlagSet) {
	fmt.Print("usage: scripts/bench [flags] [part ...]\n\nParts, all by default:\n")
	for _, p := range parts {
		fmt.Printf("  %-12s%s\n", p.name, p.about)
	}
	fmt.Printf("\nFlags:\n%s\nThe environment variable PEER names the binary to compare with (default: redis-server).\n",
		flags.FlagUsages())
}

// choose finds the parts named, in the order of the table.
func choose(names []string) ([]part, error) {
	if len(names) == 0 {
		return parts, nil
	}
	var chosen []part
	for _, p := range parts {
		if slices.Contains(names, p.name) {
			chosen = append(chosen, p)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			return nil, fmt.Errorf("no part is called %q; scripts/bench --help lists them", name)
		}
	}
	return chosen, nil
}

// prepare checks the settings, finds the binaries and divides the processors: the last for the server, the others for
// the load and this program.
func (b *bench) prepare(server string, chosen []part) error {
	if b.rounds < roundsMin || b.pairs < roundsMin {
		return fmt.Errorf("--rounds and --pairs must be at least %d", roundsMin)
	}
	if b.load != ownLoad && b.load != redisBenchmark {
		return fmt.Errorf("--load %s: must be %s or %s", b.load, ownLoad, redisBenchmark)
	}
	const depthMax = 1024
	for _, depth := range slices.Concat(b.depths, b.typeDepths) {
		if depth < 1 || depth > depthMax {
			return fmt.Errorf("--depths %d: must be 1 to %d", depth, depthMax)
		}
	}
	path, err := filepath.Abs(server)
	if err != nil || server == "" {
		return fmt.Errorf("--server %q: the binary to measure", server)
	}
	b.ours = binary{name: "kvserver", path: path}
	peer := os.Getenv("PEER")
	if peer == "" {
		peer = "redis-server"
	}
	b.peer = binary{name: filepath.Base(peer), path: peer}
	if slices.ContainsFunc(chosen, func(p part) bool { return p.needsPeer }) {
		if b.peer.path, err = exec.LookPath(peer); err != nil {
			return fmt.Errorf("the peer %s is not installed (Debian package redis-server), or set PEER: %w", peer, err)
		}
	}
	if _, err := exec.LookPath(redisBenchmark); b.load == redisBenchmark && err != nil {
		return fmt.Errorf("redis-benchmark is not installed (Debian package redis-tools): %w", err)
	}
	allowed, err := allowedCPUs()
	if err != nil {
		return err
	}
	if len(allowed) < 2 {
		return fmt.Errorf("server and load need a processor each, but only %v may be used", allowed)
	}
	last := len(allowed) - 1
	b.serverCPUs, b.loadCPUs = allowed[last:], allowed[:last]
	return pinThreads(b.loadCPUs)
}

// record puts a round into the CSV.
func (b *bench) record(part, name, side string, number int, r round) {
	for _, figure := range []struct {
		metric string
		value  float64
	}{
		{"commands/s", r.perSecond}, {"cpu µs/command", r.cpuMicros}, {"busy", r.busy}, {"foreign", r.foreign},
		{"p50 µs", p50(r)}, {"p99 µs", p99(r)}, {"p99.9 µs", p999(r)},
	} {
		b.report.figure(part, name, side, number, figure.metric, figure.value)
	}
	b.disturbed = append(b.disturbed, r.foreign)
}

// disturbance says how far the server's processors were really its own in the rounds since it was last asked.
func (b *bench) disturbance() string {
	s := spreadOf(b.disturbed)
	text := fmt.Sprintf("Others took %.1f %% (up to %.1f %%) of the server's processors in these rounds; %d pairs of "+
		"rounds were discarded because it was more than %.0f %%.", s.median*100, s.high*100, b.discarded, quiet*100)
	if s.high > quiet {
		text += " **The machine was not quiet: measure again.**"
	}
	b.disturbed, b.discarded = nil, 0
	return text
}

// accuracy prints what the accuracy program of hotkeys prints.
func (b *bench) accuracy() error {
	return b.program("Accuracy of the reported keys", "go", "run", "./hotkeys/accuracy")
}

// micro runs the Go benchmarks of hotkeys.
func (b *bench) micro() error {
	time := "1s"
	if b.quick {
		time = "100x"
	}
	return b.program("One recorded access", "go", "test", "-run=^$", "-bench=.", "-benchmem", "-benchtime="+time, "./hotkeys")
}

// program reports the output of another program, run on the server's processors with nothing beside it.
func (b *bench) program(title string, command ...string) error {
	cmd := exec.Command(command[0], command[1:]...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := startPinned(cmd, b.serverCPUs); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, out.String())
	}
	b.report.verbatim(title, strings.Join(command, " "), out.String())
	return nil
}
