package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"kvserver/hotkeys"
	"kvserver/hotkeys/zipf"
)

const nameBytes = 16

// stream draws accesses and counts them exactly.
type stream struct {
	law        *zipf.Law
	random     *rand.Rand
	writeShare float64
	counts     [3][]uint32 // of each key in this window, by ranking
	names      []byte      // of all keys, nameBytes each
}

func newStream(exponent, writeShare float64) *stream {
	st := &stream{
		law:        zipf.New(exponent, keys),
		random:     rand.New(rand.NewPCG(seed, math.Float64bits(exponent))),
		writeShare: writeShare,
	}
	for by := range st.counts {
		st.counts[by] = make([]uint32, keys)
	}
	for k := range keys {
		st.names = fmt.Appendf(st.names, "key:%0*d", nameBytes-len("key:"), k)
	}
	return st
}

func (st *stream) name(key int) []byte { return st.names[key*nameBytes:][:nameBytes] }

// keyOf is the inverse of name.
func keyOf(name []byte) (key int) {
	for _, digit := range name[len("key:"):] {
		key = 10*key + int(digit-'0')
	}
	return key
}

// window feeds one window to the subjects.
func (st *stream) window(subjects []*subject) {
	for _, counts := range st.counts {
		clear(counts)
	}
	for range accesses {
		k, op, by := st.law.Draw(st.random), hotkeys.Read, hotkeys.Reads
		if st.writeShare > 0 && st.random.Float64() < st.writeShare {
			k, op, by = keys-1-k, hotkeys.Write, hotkeys.Writes
		}
		st.counts[hotkeys.All][k]++
		st.counts[by][k]++
		hash := hashOf(k)
		for _, s := range subjects {
			s.access(hash, k, st.name(k), op)
		}
	}
}

// count is the exact number of accesses of a key in one window.
type count struct {
	key      int
	accesses float64
}

// hottest returns the topK keys of the window, and all that tie with the last.
func (st *stream) hottest(by hotkeys.Ranking) []count {
	counts := slices.DeleteFunc(slices.Clone(st.counts[by]), func(n uint32) bool { return n == 0 })
	slices.Sort(counts)
	least := counts[len(counts)-topK]
	var top []count
	for k, n := range st.counts[by] {
		if n >= least {
			top = append(top, count{k, float64(n)})
		}
	}
	slices.SortFunc(top, func(a, b count) int { return cmp.Compare(b.accesses, a.accesses) })
	return top
}

// hashOf hashes a key, always to the same: the numbers of SplitMix64.
func hashOf(key int) uint64 {
	x := uint64(key+1) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
