package tests

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestHyperLogLogBytes gives our server and the peer the same commands on
// HyperLogLogs and wants the same values, byte for byte: sparse ones while they
// grow, dense ones, merges of both, and what PFCOUNT keeps in them.
func TestHyperLogLogBytes(t *testing.T) {
	const ownElements, commonElements = 1 << 40, 3000
	for _, sparseMax := range []string{"3000", "200", "0"} {
		t.Run("hll-sparse-max-bytes "+sparseMax, func(t *testing.T) {
			ours := startServer(t, "--hll-sparse-max-bytes", sparseMax).dial()
			theirs := startPeer(t, "--hll-sparse-max-bytes", sparseMax).dial()
			random := rand.New(rand.NewPCG(*seed, 7))
			key := func() string { return fmt.Sprintf("k%d", random.IntN(6)) }
			same := func(args ...string) {
				t.Helper()
				if a, b := ours.do(args...), theirs.do(args...); a != b {
					t.Fatalf("%.200q: %.200q, and the peer %.200q", args, a, b)
				}
			}
			for range scaled(3000) {
				switch random.IntN(20) {
				case 0:
					same("PFMERGE", key(), key(), key())
				case 1:
					same("PFCOUNT", key(), key())
				case 2:
					same("PFCOUNT", key())
				case 3:
					same("DEL", key())
				case 4:
					same("PFDEBUG", "TODENSE", key())
				default:
					args := []string{"PFADD", key()}
					for range 1 << random.IntN(6) {
						args = append(args, fmt.Sprint(random.IntN([]int{commonElements, ownElements}[random.IntN(2)])))
					}
					same(args...)
				}
				same("GET", key())
			}
			for i := range 6 {
				k := fmt.Sprintf("k%d", i)
				same("PFADD", k, "at least one")
				same("PFDEBUG", "DECODE", k)
				same("PFDEBUG", "GETREG", k)
				same("PFCOUNT", k)
				same("GET", k)
			}
		})
	}
}

// TestHyperLogLogTravels gives each server the value of the other.
func TestHyperLogLogTravels(t *testing.T) {
	ours, theirs := startServer(t).dial(), startPeer(t).dial()
	for _, elements := range []int{1, 100, 5000} {
		for _, way := range []struct{ from, to *conn }{{ours, theirs}, {theirs, ours}} {
			way.from.do("DEL", "k")
			for i := range elements {
				way.from.do("PFADD", "k", fmt.Sprint("element ", i))
			}
			way.to.ok("SET", "k", way.from.value("GET", "k").text)
			want := way.from.do("PFCOUNT", "k")
			way.to.want(want, "PFCOUNT", "k")
			way.to.want(":0\r\n", "PFADD", "k", "element 0")
		}
	}
}
