//go:build linux

package main

import (
	"fmt"
	"strings"
)

const (
	// typeElements is how many elements a cycle adds to collections and takes from them.
	typeElements      = 320_000
	typeElementsQuick = 16_000
	// typeCollections is the number of keys of the second run: each then has a few dozen elements and is packed.
	typeCollections = 10_000
	rangeElements   = 100
)

// typeTargets is what ours must reach of the peer's throughput per core, by pipeline depth.
var typeTargets = map[int]float64{16: 1}

// cycle is a sequence of commands measured one after the other on collections that begin empty: a pop finds what was
// pushed before it. Words are as in workload; $name is an element.
type cycle []cycleStep

type cycleStep struct {
	command, words string
	// part of the elements that are sent, in per cent; 0: all.
	part int
}

var cycles = []cycle{
	{{"LPUSH", "LPUSH $key $value", 0}, {"LRANGE_100", fmt.Sprintf("LRANGE $key 0 %d", rangeElements-1), 10}, {"RPOP", "RPOP $key", 0}},
	{{"SADD", "SADD $key $name", 0}, {"SPOP", "SPOP $key", 0}},
	{{"HSET new field", "HSET $key $name $value", 0}, {"HSET old field", "HSET $key $name $value", 0}},
	{{"ZADD", "ZADD $key $number $name", 0}, {"ZPOPMIN", "ZPOPMIN $key", 0}},
	{{"XADD", "XADD $key * field $value", 0}},
}

// types compares the throughput of commands on collections with the peer's, as throughput does: first with everything in
// one key, then spread over many small ones.
func (b *bench) types() error {
	ours, peer, err := b.startBoth()
	if err != nil {
		return err
	}
	defer ours.stop()
	defer peer.stop()
	elements := typeElements
	if b.quick {
		elements = typeElementsQuick
	}
	for _, collections := range []int{1, elements / (typeElements / typeCollections)} {
		where := "one key"
		if collections > 1 {
			where = fmt.Sprintf("%d keys of %d elements", collections, elements/collections)
		}
		speed := table{
			title: fmt.Sprintf("Throughput per core on collections in %s: %d clients, %d elements, values of %d bytes, "+
				"%d cycles of each server in turns", where, loadClients, elements, valueBytes, b.rounds),
			header:  speedHeader,
			remarks: []string{speedRemark},
		}
		for _, depth := range b.typeDepths {
			for _, c := range cycles {
				w := workload{keys: elements, collection: collections, nameBytes: nameBytesMin, valueBytes: valueBytes,
					depth: depth, clients: loadClients, sequential: true}
				rows, err := b.cycleRows([2]*server{ours, peer}, c, w, where)
				if err != nil {
					return err
				}
				speed.rows = append(speed.rows, rows...)
			}
		}
		speed.remarks = append(speed.remarks, b.disturbance())
		b.report.add(speed)
	}
	return nil
}

// cycleRows measures a cycle on two servers.
func (b *bench) cycleRows(servers [2]*server, c cycle, w workload, where string) ([][]string, error) {
	var steps []workload
	var names []string
	for _, step := range c {
		part := w
		part.command, part.words = step.command, step.words
		if step.part > 0 {
			part.keys = w.keys * step.part / 100
		}
		part.keys -= part.keys % w.depth // no more pops than there are elements
		steps = append(steps, part)
		names = append(names, part.label()+", "+where)
	}
	rounds, err := b.cyclesInTurns(b.rounds, "types", names, [2]string{servers[0].name, servers[1].name}, func(side int) ([]round, error) {
		s := servers[side]
		if _, err := s.control.Do("FLUSHALL"); err != nil {
			return nil, fmt.Errorf("FLUSHALL on %s: %w", s.name, err)
		}
		var measured []round
		for _, step := range steps {
			r, err := measureAll(s, step)
			if err != nil {
				return nil, fmt.Errorf("%s in %s: %w", step.label(), where, err)
			}
			measured = append(measured, r)
		}
		return measured, nil
	})
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for i, step := range steps {
		rows = append(rows, speedRow(step, rounds[i][0], rounds[i][1], typeTargets))
	}
	return rows, nil
}

const (
	memoryElements      = 1_000_000
	memoryElementsQuick = 100_000
	memoryCollection    = 100 // elements of each small collection
	elementsTarget      = 1.3 // times the peer's memory
)

// memoryTypes are what is filled to measure bytes per element.
var memoryTypes = []struct{ name, words string }{
	{"list", "RPUSH $key $name"},
	{"hash", "HSET $key $name $name"},
	{"set", "SADD $key $name"},
	{"sorted set", "ZADD $key $number $name"},
	{"stream", "XADD $key * field $name"},
}

// elements reads what an element of each type costs in resident memory, in one key and in small ones.
func (b *bench) elements() error {
	count := memoryElements
	if b.quick {
		count = memoryElementsQuick
	}
	result := table{
		title:  fmt.Sprintf("Resident bytes per element at %d elements of %d bytes", count, nameBytesMin),
		header: []string{"", "ours", "peer", "ratio", "target", ""},
		remarks: []string{fmt.Sprintf("Read %v after the fill, of a fresh server each. A hash has the element as field and "+
			"value, a stream as the value of one field. Small collections bear the cost of their keys.", b.rest())},
	}
	for _, typ := range memoryTypes {
		for _, collections := range []int{1, count / memoryCollection} {
			name := typ.name + ", one key"
			if collections > 1 {
				name = fmt.Sprintf("%s, %d keys of %d", typ.name, collections, memoryCollection)
			}
			var perElement [2]float64
			for side, of := range []binary{b.ours, b.peer} {
				w := workload{command: strings.Fields(typ.words)[0], words: typ.words, keys: count, collection: collections,
					nameBytes: nameBytesMin}
				var err error
				if perElement[side], err = b.elementBytes(of, w); err != nil {
					return err
				}
				b.report.figure("elements", name, of.name, -1, "bytes per element", perElement[side])
			}
			ratio := perElement[0] / perElement[1]
			result.rows = append(result.rows, []string{name, fmt.Sprintf("%.1f", perElement[0]), fmt.Sprintf("%.1f", perElement[1]),
				fmt.Sprintf("%.2f×", ratio), fmt.Sprintf("≤ %.2f×", elementsTarget), verdict(ratio, elementsTarget)})
		}
	}
	b.report.add(result)
	return nil
}

// elementBytes fills a fresh server and returns what it then holds more, per element.
func (b *bench) elementBytes(of binary, w workload) (float64, error) {
	s, err := of.start(b.serverCPUs)
	if err != nil {
		return 0, err
	}
	defer s.stop()
	base, err := s.residentBytes()
	if err != nil {
		return 0, err
	}
	bytes, err := b.grown(s, base, func() error { return fillWith(s, w) })
	return bytes / float64(w.keys), err
}
