package hotkeys

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"
)

// pipeline is the number of accesses that the benchmarks make between two
// flushes: commands in a batch of a client that pipelines.
const pipeline = 16

// names gives each access of a batch a buffer of its own, as an input buffer
// does.
type names [pipeline][]byte

func newNames(nameBytes int) (n names) {
	for i := range n {
		n[i] = make([]byte, nameBytes)
	}
	return n
}

// access makes the i-th access of a benchmark.
func (n *names) access(r *Recorder, i, key uint64) {
	name := n[i%pipeline]
	r.Access(keyOf(name, key), name, 0, Read)
	if i%pipeline == pipeline-1 {
		r.Flush()
	}
}

// keyOf writes the name of key i into buf, which keeps its length, and returns
// a hash of it. The name is made in place because a server's names come from
// an input buffer, which is in the cache; a table of a million would not be.
func keyOf(buf []byte, i uint64) (hash uint64) {
	binary.LittleEndian.PutUint64(buf, i)
	return scramble(i)
}

// scramble is a permutation of the 64-bit integers without visible order
// (the finisher of SplitMix64).
func scramble(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func benchRecorder(b *testing.B, topK, percentage int) (*Tracker, *Recorder) {
	t := New(1, func() int64 { return 0 }, 1)
	if err := t.Configure(Options{TopK: topK, Percentage: percentage, Window: time.Second}); err != nil {
		b.Fatal(err)
	}
	return t, t.Recorder(0)
}

// BenchmarkRecorded is one access at 100 %. tracked: keys that all have
// counters, in random order, the worst for caches. displacing: uniform over a
// million keys, so that nearly every access displaces a key. hot: one key.
func BenchmarkRecorded(b *testing.B) {
	for _, topK := range []int{10, 100, 1000} {
		for _, nameBytes := range []int{16, 128, 512} {
			tracked := uint64(Options{TopK: topK}.counters())
			for _, load := range []struct {
				name string
				keys uint64
			}{{"hot", 1}, {"tracked", tracked}, {"displacing", 1_000_000}} {
				b.Run(fmt.Sprintf("K=%d/name=%d/%s", topK, nameBytes, load.name), func(b *testing.B) {
					_, r := benchRecorder(b, topK, 100)
					names := newNames(nameBytes)
					for i := range min(load.keys, 2*tracked) {
						names.access(r, i, i)
					}
					r.Flush()
					b.ReportAllocs()
					b.ResetTimer()
					for i := range uint64(b.N) {
						names.access(r, i, scramble(i)>>32*load.keys>>32)
					}
				})
			}
		}
	}
}

// BenchmarkAccess is one access at several percentages, most not recorded.
func BenchmarkAccess(b *testing.B) {
	for _, percentage := range []int{1, 10, 50} {
		b.Run(fmt.Sprintf("percentage=%d", percentage), func(b *testing.B) {
			_, r := benchRecorder(b, 16, percentage)
			names := newNames(16)
			b.ReportAllocs()
			for i := range uint64(b.N) {
				names.access(r, i, scramble(i)>>32*1_000_000>>32)
			}
		})
	}
	b.Run("skipped", func(b *testing.B) {
		_, r := benchRecorder(b, 16, 1)
		r.skip = skipAll
		name := make([]byte, 16)
		for b.Loop() {
			r.Access(0, name, 0, Read)
		}
	})
}

// BenchmarkReport is the first report of a window, which merges, and a later
// one, over full summaries of which half the keys are common to all.
func BenchmarkReport(b *testing.B) {
	for _, topK := range []int{16, 1000} {
		for _, recorders := range []int{1, 3, 33} {
			t := New(recorders, func() int64 { return 0 }, 1)
			if err := t.Configure(Options{TopK: topK, Percentage: 100, Window: time.Second}); err != nil {
				b.Fatal(err)
			}
			name := make([]byte, 16)
			counters := uint64(t.options.counters())
			for i := range t.recorders {
				for n := range 4 * counters {
					key := scramble(n) >> 32 * 2 * counters >> 32
					if key > counters {
						key += uint64(i) << 32
					}
					t.Recorder(i).Access(keyOf(name, key), name, 0, Read)
					t.Recorder(i).Flush()
				}
			}
			clock := int64(time.Second)
			t.now = func() int64 { return clock }
			t.Rotate()
			b.Run(fmt.Sprintf("K=%d/recorders=%d/first", topK, recorders), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					t.frozen.forgetMerged()
					t.Report(Query{DB: AllDBs})
				}
			})
			b.Run(fmt.Sprintf("K=%d/recorders=%d/later", topK, recorders), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					t.Report(Query{DB: AllDBs})
				}
			})
		}
	}
}

// BenchmarkRotate is the end of a window in which every counter was used.
func BenchmarkRotate(b *testing.B) {
	for _, topK := range []int{16, 1000} {
		b.Run(fmt.Sprintf("K=%d", topK), func(b *testing.B) {
			t, r := benchRecorder(b, topK, 100)
			clock := int64(0)
			t.now = func() int64 { return clock }
			name := make([]byte, 16)
			for range b.N {
				b.StopTimer()
				for i := range uint64(t.options.counters()) {
					r.Access(keyOf(name, i), name, 0, Read)
					r.Flush()
				}
				clock += int64(time.Second)
				b.StartTimer()
				t.Rotate()
			}
		})
	}
}
