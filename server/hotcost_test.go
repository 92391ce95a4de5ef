package server

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"kvserver/hotkeys/zipf"
)

// trackedSettings are compared by BenchmarkTracked. Each sets all that another changes.
var trackedSettings = []struct{ name, set string }{
	{"off", "hotkeys-top-k 0"},
	{"1%", "hotkeys-top-k 16 hotkeys-sampling-percentage 1 hotkeys-measures no hotkeys-sample-and-hold no"},
	{"1%-measures", "hotkeys-top-k 16 hotkeys-sampling-percentage 1 hotkeys-measures yes hotkeys-sample-and-hold no"},
	{"1%-hold", "hotkeys-top-k 16 hotkeys-sampling-percentage 1 hotkeys-measures no hotkeys-sample-and-hold yes"},
	{"1%-measures-hold", "hotkeys-top-k 16 hotkeys-sampling-percentage 1 hotkeys-measures yes hotkeys-sample-and-hold yes"},
	{"100%", "hotkeys-top-k 16 hotkeys-sampling-percentage 100 hotkeys-measures no hotkeys-sample-and-hold no"},
	{"100%-measures", "hotkeys-top-k 16 hotkeys-sampling-percentage 100 hotkeys-measures yes hotkeys-sample-and-hold no"},
}

// BenchmarkTracked measures a GET in a pipeline of 16, without sockets, of keys by Zipf's law, with more and more known of
// hot keys. Settings take turns of milliseconds in one server, and what is reported of each is the tenth part that was the
// fastest: differences of a few nanoseconds then show even on a machine that has other work. An operation is a turn of
// each.
func BenchmarkTracked(b *testing.B) {
	const keys, depth, batches, turn = 100_000, 16, 4096, 8192
	s := newTestServer(b)
	client := newTestClient(b, s)
	for k := range keys {
		do(client, "SET", fmt.Sprintf("key:%012d", k), strings.Repeat("v", 64))
	}
	law, random := zipf.New(0.99, keys), rand.New(rand.NewPCG(1, 2))
	var in [batches][]byte
	for i := range in {
		for range depth {
			in[i] = append(in[i], request("GET", fmt.Sprintf("key:%012d", law.Draw(random)))...)
		}
	}
	out, at := make([]byte, 0, 64<<10), 0
	run := func(commands int) time.Duration {
		begin := time.Now()
		for range commands / depth {
			client.Feed(in[at%batches], out)
			at++
		}
		return time.Since(begin)
	}
	took := make([][]float64, len(trackedSettings))
	b.ResetTimer()
	for range b.N {
		for i, setting := range trackedSettings {
			if reply := do(client, append([]string{"CONFIG", "SET"}, strings.Fields(setting.set)...)...); reply != "+OK\r\n" {
				b.Fatal(reply)
			}
			run(10 * turn) // counters are in use, and what is hot has been discovered
			for range 4 {
				took[i] = append(took[i], float64(run(turn).Nanoseconds())/turn)
			}
		}
	}
	for i, setting := range trackedSettings {
		slices.Sort(took[i])
		b.ReportMetric(took[i][len(took[i])/10], setting.name+"-ns/GET")
	}
}
