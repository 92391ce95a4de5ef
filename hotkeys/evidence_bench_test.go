package hotkeys

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"kvserver/hotkeys/zipf"
)

// BenchmarkCommand is a command with one access, as a server tells of it: by
// Zipf's law, and with what is known of the key besides.
func BenchmarkCommand(b *testing.B) {
	const keys, drawn = 100_000, 1 << 16
	law, random := zipf.New(0.99, keys), rand.New(rand.NewPCG(1, 2))
	draws := make([]uint64, drawn)
	for i := range draws {
		draws[i] = uint64(law.Draw(random))
	}
	for _, percentage := range []int{1, 100} {
		for _, o := range []Options{{}, {Measures: true}, {Hold: true}, {Measures: true, Hold: true}} {
			if percentage == PercentageMax && o.Hold {
				continue // makes no difference
			}
			o.TopK, o.Percentage, o.Window = 16, percentage, time.Second
			b.Run(fmt.Sprintf("percentage=%d/measures=%v/hold=%v", percentage, o.Measures, o.Hold), func(b *testing.B) {
				clock := int64(0)
				t := New(1, func() int64 { return clock }, 1)
				if err := t.Configure(o); err != nil {
					b.Fatal(err)
				}
				r, marks, names := t.Recorder(0), make([]bool, keys), newNames(16)
				command := func(i uint64) {
					key, name := draws[i%drawn], names[i%pipeline]
					hash := keyOf(name, key)
					if r.Holds() {
						marks[key] = r.AccessMarkable(hash, name, 0, Read, marks[key])
					} else {
						r.Access(hash, name, 0, Read)
					}
					if r.Recorded() {
						r.Charge(30, 70, 400)
					}
					if i%pipeline == pipeline-1 {
						r.Flush()
					}
				}
				for i := range uint64(8 * drawn) { // a window, whose keys are held in the next
					command(i)
				}
				clock += int64(time.Second)
				t.Rotate()
				b.ReportAllocs()
				b.ResetTimer()
				for i := range uint64(b.N) {
					command(i)
				}
			})
		}
	}
}

// BenchmarkMeasure is what a report says of one entry besides its rate.
func BenchmarkMeasure(b *testing.B) {
	clock := int64(0)
	t := New(1, func() int64 { return clock }, 1)
	if err := t.Configure(Options{TopK: 1000, Percentage: 1, Window: time.Second, Measures: true}); err != nil {
		b.Fatal(err)
	}
	r, name := t.Recorder(0), make([]byte, 16)
	for i := range uint64(1_000_000) {
		r.Access(keyOf(name, i%1000), name, 0, Read)
		r.Flush()
	}
	clock += int64(time.Second)
	t.Rotate()
	report := t.Report(Query{DB: AllDBs})
	sum := 0.0
	for i := range b.N {
		sum += report.Measure(report.Entries[i%len(report.Entries)]).High
	}
	b.ReportMetric(sum/float64(b.N), "mean-high")
}
