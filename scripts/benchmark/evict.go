//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"kvserver/scripts/internal/resp"
)

const (
	evictLimitMB = 100
	evictKeys    = 5_000_000 // far more than fit, so that nearly every SET evicts
	// Of the trace for the hit ratio: names are drawn by Zipf's law with an exponent of 1.0 and something.
	traceKeys          = 2_000_000
	traceAccesses      = 3_000_000
	traceAccessesQuick = 400_000
	traceExponent      = 1.01
	traceValueBytes    = 100
	traceLimitMB       = 15
	traceBatch         = 200
	// Of the churn: a mixture of values that come, change their sizes, expire and are evicted.
	churnCommands      = 1_500_000
	churnCommandsQuick = 150_000
	churnBatch         = 50
	churnKeys          = 200_000

	residentTarget = 1.25
	hitTarget      = 0.01
)

// evictTargets is what ours must reach of the peer's throughput per core, by pipeline depth.
var evictTargets = map[int]float64{16: 1}

// evict compares the servers under the same maxmemory: throughput of SETs that evict, hit ratio, resident memory.
func (b *bench) evict() error {
	for _, part := range []func() error{b.evictSpeed, b.hitRatios, b.churn} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// limit sets maxmemory and a policy.
func (s *server) limit(megabytes int, policy string) error {
	_, err := s.control.Do("CONFIG", "SET", "maxmemory", strconv.Itoa(megabytes)+"mb", "maxmemory-policy", policy)
	return err
}

func (b *bench) evictSpeed() error {
	ours, peer, err := b.startBoth()
	if err != nil {
		return err
	}
	defer ours.stop()
	defer peer.stop()
	speed := table{
		title: fmt.Sprintf("SET while keys are evicted: maxmemory %d MB, %d clients, names out of %d, %d-byte values, %d rounds of %v in turns",
			evictLimitMB, loadClients, evictKeys, valueBytes, b.rounds, b.roundTime),
		header: speedHeader, remarks: []string{speedRemark},
	}
	for _, policy := range []string{"allkeys-lru", "allkeys-lfu", "allkeys-random"} {
		for _, s := range []*server{ours, peer} {
			if err := s.limit(evictLimitMB, policy); err != nil {
				return err
			}
			if err := fill(s, evictKeys/4, nameBytesMin, valueBytes); err != nil {
				return err
			}
		}
		for _, depth := range b.typeDepths {
			w := workload{command: "SET " + policy, words: "SET $name $value", keys: evictKeys, nameBytes: nameBytesMin, valueBytes: valueBytes,
				depth: depth, clients: loadClients}
			rounds, err := b.compareOwn("evict", [2]*server{ours, peer}, w)
			if err != nil {
				return err
			}
			speed.rows = append(speed.rows, speedRow(w, rounds[0], rounds[1], evictTargets))
		}
	}
	speed.remarks = append(speed.remarks, b.disturbance())
	b.report.add(speed)
	return nil
}

// hitRatios plays one trace against both servers, as a cache is used: GET, and SET of what was missed.
func (b *bench) hitRatios() error {
	accesses := traceAccesses
	if b.quick {
		accesses = traceAccessesQuick
	}
	t := table{
		title: fmt.Sprintf("Hit ratio: maxmemory %d MB, %d accesses by Zipf's law (exponent %.2f) to %d keys, %d-byte values",
			traceLimitMB, accesses, traceExponent, traceKeys, traceValueBytes),
		header:  []string{"", "ours", "keys held", "peer", "keys held", "target", ""},
		remarks: []string{"Counted after the first third of the accesses."},
	}
	for _, policy := range []string{"allkeys-lru", "allkeys-lfu", "allkeys-random"} {
		var ratio [2]float64
		var keys [2]int64
		for side, of := range []binary{b.ours, b.peer} {
			var err error
			if ratio[side], keys[side], err = b.hitRatio(of, policy, accesses); err != nil {
				return err
			}
			b.report.figure("evict", policy, of.name, -1, "hit ratio", ratio[side])
		}
		t.rows = append(t.rows, []string{policy, fmt.Sprintf("%.4f", ratio[0]), strconv.FormatInt(keys[0], 10),
			fmt.Sprintf("%.4f", ratio[1]), strconv.FormatInt(keys[1], 10), fmt.Sprintf("≥ peer − %.2f", hitTarget), verdict(ratio[1]-ratio[0], hitTarget)})
	}
	b.report.add(t)
	return nil
}

func (b *bench) hitRatio(of binary, policy string, accesses int) (ratio float64, keys int64, err error) {
	s, err := of.start(b.serverCPUs)
	if err != nil {
		return 0, 0, err
	}
	defer s.stop()
	if err := s.limit(traceLimitMB, policy); err != nil {
		return 0, 0, err
	}
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), traceExponent, 1, traceKeys-1)
	value := strings.Repeat("v", traceValueBytes)
	hits, counted := 0, 0
	names := make([]string, traceBatch)
	for done := 0; done < accesses; done += traceBatch {
		for i := range names {
			names[i] = fmt.Sprintf("key:%012d", zipf.Uint64())
			s.control.Queue("GET", names[i])
		}
		replies, err := s.control.Flush()
		if err != nil {
			return 0, 0, err
		}
		for i, r := range replies {
			if done > accesses/3 {
				counted++
				if !r.Null {
					hits++
				}
			}
			if r.Null {
				s.control.Queue("SET", names[i], value)
			}
		}
		if _, err := s.control.Flush(); err != nil {
			return 0, 0, err
		}
	}
	size, err := s.control.Do("DBSIZE")
	return float64(hits) / float64(counted), size.Integer, err
}

// churn reads the resident memory over and over while everything changes.
func (b *bench) churn() error {
	commands := churnCommands
	if b.quick {
		commands = churnCommandsQuick
	}
	t := table{
		title: fmt.Sprintf("Resident memory under churn, as a multiple of maxmemory: %d commands, strings of 10 bytes to 100 KiB, collections, expiry",
			commands),
		header: []string{"maxmemory", "ours: highest", "at the end", "peer: highest", "at the end", "target", ""},
	}
	for _, megabytes := range []int{evictLimitMB, 4 * evictLimitMB} {
		var highest, last [2]float64
		for side, of := range []binary{b.ours, b.peer} {
			var err error
			if highest[side], last[side], err = b.churnOf(of, megabytes, commands); err != nil {
				return err
			}
			b.report.figure("evict", fmt.Sprintf("churn at %d MB", megabytes), of.name, -1, "highest resident / maxmemory", highest[side])
		}
		t.rows = append(t.rows, []string{fmt.Sprintf("%d MB", megabytes), fmt.Sprintf("%.2f", highest[0]), fmt.Sprintf("%.2f", last[0]),
			fmt.Sprintf("%.2f", highest[1]), fmt.Sprintf("%.2f", last[1]), fmt.Sprintf("≤ %.2f", residentTarget), verdict(highest[0], residentTarget)})
	}
	b.report.add(t)
	return nil
}

func (b *bench) churnOf(of binary, megabytes, commands int) (highest, last float64, err error) {
	s, err := of.start(b.serverCPUs)
	if err != nil {
		return 0, 0, err
	}
	defer s.stop()
	if err := s.limit(megabytes, "allkeys-lru"); err != nil {
		return 0, 0, err
	}
	random := rand.New(rand.NewPCG(3, 4))
	value := strings.Repeat("v", 100<<10)
	for done := 0; done < commands; done += churnBatch {
		// What is written changes slowly: now mostly small values, now mostly large ones.
		phase := done * 12 / commands % 3
		for range churnBatch {
			queueChurn(s.control, random, value, phase)
		}
		if _, err := s.control.Flush(); err != nil {
			return 0, 0, err
		}
		if done%(churnBatch*20) == 0 {
			now, err := s.residentBytes()
			if err != nil {
				return 0, 0, err
			}
			highest = max(highest, now)
		}
	}
	time.Sleep(b.rest())
	last, err = s.residentBytes()
	limit := float64(megabytes << 20)
	return highest / limit, last / limit, err
}

// queueChurn queues one command of a mixture.
func queueChurn(c *resp.Client, random *rand.Rand, value string, phase int) {
	key := strconv.Itoa(random.IntN(churnKeys))
	size := 10 + random.IntN(1000)
	if large := random.IntN(100); large < []int{1, 20, 5}[phase] {
		size = 4<<10 + random.IntN(96<<10)
	} else if large < 30 {
		size = 1<<10 + random.IntN(3<<10)
	}
	switch kind := random.IntN(20); {
	case kind == 0:
		c.Queue("DEL", key, "list:"+key)
	case kind == 1:
		c.Queue("HSET", "hash:"+key, "f"+strconv.Itoa(random.IntN(50)), value[:size])
	case kind == 2:
		c.Queue("RPUSH", "list:"+key, value[:size], value[:size/2])
	case kind == 3:
		c.Queue("ZADD", "zset:"+strconv.Itoa(random.IntN(1000)), strconv.Itoa(random.IntN(1000)), value[:size%1000])
	case kind < 8:
		c.Queue("SET", key, value[:size], "PX", strconv.Itoa(1+random.IntN(5000)))
	default:
		c.Queue("SET", key, value[:size])
	}
}
