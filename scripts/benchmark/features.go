//go:build linux

package main

import "fmt"

// evalScript counts, and begins again at a limit. Its words are divided by tabs, because those of a workload are by spaces.
const evalScript = "local\tn=redis.call('INCR',KEYS[1])\n" +
	"if\tn>=tonumber(ARGV[1])\tthen\n" +
	"redis.call('SET',KEYS[1],0)\n" +
	"end\n" +
	"return\tn"

// features are workloads of what client libraries lean on. target is of the throughput per core.
var features = []struct {
	workload
	target float64
}{
	{workload{command: "EVAL of five lines", words: "EVAL " + evalScript + " 1 $key 1000000"}, 0.5},
	{workload{command: "GET, tracking on", words: "GET $name", opening: "HELLO 3\nCLIENT TRACKING ON"}, 1},
	{workload{command: "GET of a user with one pattern", words: "GET $name", opening: "AUTH reader secret"}, 1},
	{workload{command: "GET of a user with many rules", words: "GET $name", opening: "AUTH warden secret"}, 1},
}

// featureUsers are the restricted users of these workloads.
var featureUsers = [][]string{
	{"ACL", "SETUSER", "reader", "on", ">secret", "~key:*", "+@read", "+echo"},
	{"ACL", "SETUSER", "warden", "on", ">secret", "resetchannels", "~other:*", "%W~*:log", "~user:?[0-9]*", "%R~key:*", "-@all", "+@read", "+@write",
		"-@dangerous", "+echo", "+config|get", "(+@list ~list:*)"},
}

// features compares the throughput of what client libraries lean on with the peer's, as throughput does.
func (b *bench) features() error {
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
		for _, user := range featureUsers {
			if _, err := s.control.Do(user...); err != nil {
				return fmt.Errorf("%v on %s: %w", user, s.name, err)
			}
		}
	}
	speed := table{
		title: fmt.Sprintf("Throughput per core of what client libraries lean on: %d clients, %d keys, %d-byte values, %d rounds of %v in turns",
			loadClients, throughputKeys, valueBytes, b.rounds, b.roundTime),
		header:  speedHeader,
		remarks: []string{speedRemark},
	}
	for _, feature := range features {
		for _, depth := range b.featureDepths() {
			w := feature.workload
			w.keys, w.nameBytes, w.depth, w.clients = throughputKeys, nameBytesMin, depth, loadClients
			w.collection = w.keys
			rounds, err := b.compareOwn("clients", [2]*server{ours, peer}, w)
			if err != nil {
				return err
			}
			speed.rows = append(speed.rows, speedRow(w, rounds[0], rounds[1], map[int]float64{depth: feature.target}))
		}
	}
	speed.remarks = append(speed.remarks, b.disturbance())
	b.report.add(speed)
	return nil
}

// featureDepths are one command at a time, and the depths of the types part.
func (b *bench) featureDepths() []int {
	if len(b.typeDepths) > 0 && b.typeDepths[0] == 1 {
		return b.typeDepths
	}
	return append([]int{1}, b.typeDepths...)
}
