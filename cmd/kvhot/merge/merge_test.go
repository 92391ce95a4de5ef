package merge

import (
	"errors"
	"math"
	"testing"
	"time"

	"kvserver/cmd/kvhot/node"
)

var nan = math.NaN()

func entry(key string, db int, qps float64) node.Entry { return node.Unknown(key, db, qps) }

func answer(address string, accesses, commands float64, entries ...node.Entry) Result {
	return Result{Address: address, Report: node.Report{Accesses: accesses, Commands: commands, Entries: entries}}
}

// same compares numbers of which NaN is one.
func same(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-9
}

func TestOneNodeFarAboveTheMean(t *testing.T) {
	v := Of(time.Now(), node.ByAll, []Result{
		answer("a:1", 1000, 1, entry("x", 0, 10)),
		answer("b:1", 8000, 1, entry("hot", 0, 7000), entry("x", 0, 15)),
		answer("c:1", 1000, 1),
		{Address: "d:1", Err: errors.New("connection refused")},
	}, 0)
	if v.Compared != Accesses || v.Total != 10000 {
		t.Errorf("compared by %q, %g in all", v.Compared, v.Total)
	}
	for i, want := range []struct{ share, times float64 }{{0.1, 0.3}, {0.8, 2.4}, {0.1, 0.3}, {nan, nan}} {
		if n := v.Nodes[i]; !same(n.Share, want.share) || !same(n.Times, want.times) {
			t.Errorf("%s has a share of %g, %g times the average, want %v", n.Address, n.Share, n.Times, want)
		}
	}
	if len(v.Rows) != 2 || v.Rows[0].Key != "hot" || v.Rows[0].Share != 0.7 || v.Rows[1].QPS != 25 || len(v.Rows[1].Parts) != 2 {
		t.Errorf("rows %+v", v.Rows)
	}
	if v := Of(time.Now(), node.ByAll, []Result{answer("a:1", 1, 1, entry("x", 0, 1), entry("y", 0, 2))}, 1); len(v.Rows) != 1 || v.Rows[0].Key != "y" {
		t.Errorf("the hottest alone: %+v", v.Rows)
	}
}

// TestNodesAreComparedByTheSame: where one node tells only commands, all are compared by commands.
func TestNodesAreComparedByTheSame(t *testing.T) {
	v := Of(time.Now(), node.ByAll, []Result{answer("a:1", 1000, 50), answer("b:1", nan, 150)}, 0)
	if v.Compared != Commands || v.Nodes[0].Share != 0.25 || v.Nodes[1].Times != 1.5 {
		t.Errorf("%+v", v)
	}
	v = Of(time.Now(), node.ByAll, []Result{answer("a:1", 1000, nan), answer("b:1", nan, 150)}, 0)
	if v.Compared != None || !math.IsNaN(v.Nodes[0].Times) {
		t.Errorf("%+v", v)
	}
	v = Of(time.Now(), node.ByAll, []Result{answer("a:1", 0, 0), answer("b:1", 0, 0)}, 0)
	if v.Compared != Accesses || !math.IsNaN(v.Nodes[0].Times) {
		t.Errorf("idle nodes have shares: %+v", v)
	}
}

// TestSumsOfWhatIsNotTold: a number that one node does not tell is not told of the sum.
func TestSumsOfWhatIsNotTold(t *testing.T) {
	full := entry("k", 3, 100)
	full.Reads, full.Low, full.Certain = 60, 90, 1
	v := Of(time.Now(), node.ByAll, []Result{
		{Address: "a:1", Report: node.Report{Accesses: 200, Entries: []node.Entry{full}, States: []node.State{{Key: "k", DB: 3, State: "hot"}}}},
		answer("b:1", 200, 0, entry("k", 3, 50), entry("k", 4, 60)),
	}, 0)
	r := v.Rows[0]
	if r.QPS != 150 || !math.IsNaN(r.Reads) || !math.IsNaN(r.Low) || r.State != "hot" || r.Share != 0.375 {
		t.Errorf("%+v", r)
	}
	if len(v.Rows) != 2 || v.Rows[1].DB != 4 {
		t.Errorf("the same name in another database is another key: %+v", v.Rows)
	}
}

func TestOrder(t *testing.T) {
	reads, writes := entry("r", 0, 10), entry("w", 0, 10)
	reads.Reads, reads.Writes, writes.Reads, writes.Writes = 9, 1, 2, 8
	results := []Result{answer("a:1", 20, 0, reads, writes)}
	for by, want := range map[node.Ranking]string{node.ByAll: "r", node.ByReads: "r", node.ByWrites: "w"} {
		if v := Of(time.Now(), by, results, 0); v.Rows[0].Key != want {
			t.Errorf("by %s the hottest is %s", by, v.Rows[0].Key)
		}
	}
}
