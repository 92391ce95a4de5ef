package ranked

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"kvserver/store/pages"
)

const benchSize = 1_000_000

// benchMember is a member of 12 bytes.
func benchMember(dst []byte, i int) []byte { return fmt.Appendf(dst[:0], "element%05x", i) }

// benchTree makes a tree of a million elements with random scores, which it returns.
func benchTree(b *testing.B) (*Tree, []float64) {
	pool := pages.New()
	b.Cleanup(pool.Close)
	t := New(pool, new(atomic.Int64))
	scores := make([]float64, benchSize)
	random := rand.New(rand.NewPCG(1, 2))
	var member []byte
	for i := range scores {
		scores[i] = random.Float64()
		member = benchMember(member, i)
		t.Insert(scores[i], member)
	}
	return t, scores
}

// BenchmarkMove takes an element out and puts it in with another score, as ZADD does on a known member.
func BenchmarkMove(b *testing.B) {
	t, scores := benchTree(b)
	random := rand.New(rand.NewPCG(3, 4))
	var member []byte
	b.ResetTimer()
	for range b.N {
		i := random.IntN(benchSize)
		member = benchMember(member, i)
		t.Delete(scores[i], member)
		scores[i] = random.Float64()
		t.Insert(scores[i], member)
	}
	b.ReportMetric(float64(t.Bytes())/benchSize, "B/element")
}

// BenchmarkInsert grows trees from nothing to a million elements, in random order.
func BenchmarkInsert(b *testing.B) {
	pool := pages.New()
	defer pool.Close()
	t := New(pool, new(atomic.Int64))
	random := rand.New(rand.NewPCG(1, 2))
	var member []byte
	for i := range b.N {
		if t.Len() == benchSize {
			b.StopTimer()
			t.Release()
			b.StartTimer()
		}
		member = benchMember(member, i)
		t.Insert(random.Float64(), member)
	}
	b.ReportMetric(float64(t.Bytes())/float64(t.Len()), "B/element")
}

func BenchmarkRank(b *testing.B) {
	t, scores := benchTree(b)
	random := rand.New(rand.NewPCG(3, 4))
	var member []byte
	b.ResetTimer()
	for range b.N {
		i := random.IntN(benchSize)
		member = benchMember(member, i)
		if t.Rank(scores[i], member) < 0 {
			b.Fatal("not found")
		}
	}
}

func BenchmarkAt(b *testing.B) {
	t, _ := benchTree(b)
	random := rand.New(rand.NewPCG(3, 4))
	b.ResetTimer()
	for range b.N {
		c := t.At(random.IntN(benchSize))
		if c.Score() < 0 {
			b.Fatal("not found")
		}
	}
}

// BenchmarkPopFirst takes the first elements out, one by one.
func BenchmarkPopFirst(b *testing.B) {
	t, _ := benchTree(b)
	var member []byte
	b.ResetTimer()
	for range b.N {
		if t.Len() == 0 {
			b.StopTimer()
			t, _ = benchTree(b)
			b.StartTimer()
		}
		c := t.At(0)
		member = append(member[:0], c.Member()...)
		t.Delete(c.Score(), member)
	}
}
