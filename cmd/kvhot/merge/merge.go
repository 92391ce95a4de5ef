// Package merge makes one view of the reports of several servers: the hot keys of all, and how much of the load each server
// has.
//
// Under one hot key the server that holds it is far above the mean of all, and more servers do not help, since a key is on
// one of them. A node's times-average says that in one number: 1 is an even share, the number of nodes is everything.
// Nodes are compared by key accesses per second if all tell them, else by commands per second, never by different things.
//
// A key that several nodes list (replicas, or clients that shard by themselves) is one row with the sum of its rates. A node
// that does not list it adds nothing, although it may have had accesses below its detection floor.
package merge

import (
	"cmp"
	"math"
	"slices"
	"time"

	"kvserver/cmd/kvhot/node"
)

// Result is what asking one node gave.
type Result struct {
	Address string
	Report  node.Report
	Err     error
}

// Measure is what the nodes' loads are compared by.
type Measure string

// The measures. None: at least one of the nodes that answered tells neither.
const (
	Accesses Measure = "accesses"
	Commands Measure = "commands"
	None     Measure = ""
)

// Load is one node's part of the whole.
type Load struct {
	Result
	PerSecond float64 // by the view's measure
	Share     float64 // 0 to 1
	Times     float64 // the average of the nodes that answered
}

// Part is what one node adds to a row.
type Part struct {
	Node int // index in View.Nodes
	node.Entry
}

// Row is one key of the merged list; its entry has the sums over the nodes, and the share of all accesses.
type Row struct {
	node.Entry
	State string // warming or hot, as a node's controller says; else empty
	Parts []Part
}

// View is what all nodes reported at about one time.
type View struct {
	At       time.Time
	By       node.Ranking
	Compared Measure
	Total    float64 // of the nodes' loads, per second
	Nodes    []Load
	Rows     []Row // hottest first
}

// Of merges results, at most count rows; 0 is all.
func Of(at time.Time, by node.Ranking, results []Result, count int) View {
	v := View{At: at, By: by, Nodes: make([]Load, len(results))}
	for i, r := range results {
		v.Nodes[i].Result = r
	}
	v.compare()
	v.Rows = v.rows()
	if count > 0 && len(v.Rows) > count {
		v.Rows = v.Rows[:count]
	}
	return v
}

// compare fills in the loads.
func (v *View) compare() {
	v.Compared = Accesses
	if !v.load(func(r node.Report) float64 { return r.Accesses }) {
		v.Compared = Commands
		if !v.load(func(r node.Report) float64 { return r.Commands }) {
			v.Compared = None
		}
	}
}

// load fills in the loads by one measure and reports whether every node that answered has it.
func (v *View) load(measure func(node.Report) float64) bool {
	v.Total = 0
	answered := 0
	for i := range v.Nodes {
		n := &v.Nodes[i]
		n.PerSecond, n.Share, n.Times = math.NaN(), math.NaN(), math.NaN()
		if n.Err == nil {
			answered++
			n.PerSecond = measure(n.Report)
			v.Total += n.PerSecond
		}
	}
	if math.IsNaN(v.Total) {
		return false
	}
	for i := range v.Nodes {
		if n := &v.Nodes[i]; n.Err == nil && v.Total > 0 {
			n.Share = n.PerSecond / v.Total
			n.Times = n.Share * float64(answered)
		}
	}
	return true
}

// identity is what makes a key one.
type identity struct {
	key string
	db  int
}

func (v *View) rows() []Row {
	byKey := map[identity]int{}
	var rows []Row
	for i, n := range v.Nodes {
		if n.Err != nil {
			continue
		}
		states := map[identity]string{}
		for _, s := range n.Report.States {
			states[identity{s.Key, s.DB}] = s.State
		}
		for _, e := range n.Report.Entries {
			id := identity{e.Key, e.DB}
			at, ok := byKey[id]
			if !ok {
				byKey[id] = len(rows)
				rows = append(rows, Row{Entry: e, State: states[id], Parts: []Part{{i, e}}})
				continue
			}
			rows[at].add(Part{i, e}, states[id])
		}
	}
	for i := range rows {
		rows[i].Share = rows[i].shareOf(v)
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(Rate(b.Entry, v.By), Rate(a.Entry, v.By)), cmp.Compare(a.Key, b.Key), cmp.Compare(a.DB, b.DB))
	})
	return rows
}

// Rate is the rate that a ranking orders by.
func Rate(e node.Entry, by node.Ranking) float64 {
	rate := map[node.Ranking]float64{node.ByReads: e.Reads, node.ByWrites: e.Writes}
	if r, ok := rate[by]; ok && !math.IsNaN(r) {
		return r
	}
	return e.QPS
}

// add adds what another node has of the key, and the state it has there.
func (r *Row) add(p Part, state string) {
	for _, sum := range []struct {
		to   *float64
		more float64
	}{
		{&r.QPS, p.QPS}, {&r.Samples, p.Samples}, {&r.Low, p.Low}, {&r.High, p.High}, {&r.Reads, p.Reads},
		{&r.Writes, p.Writes}, {&r.Misses, p.Misses}, {&r.InBytes, p.InBytes}, {&r.OutBytes, p.OutBytes},
		{&r.CPUMicros, p.CPUMicros}, {&r.Reported, p.Reported},
	} {
		*sum.to += sum.more
	}
	r.Certain = max(r.Certain, p.Certain)
	if r.Type != p.Type {
		r.Type = cmp.Or(r.Type, p.Type)
	}
	if r.State != "hot" {
		r.State = cmp.Or(state, r.State)
	}
	r.Parts = append(r.Parts, p)
}

// shareOf is the row's share of all accesses: what its only node says, else what the sums say.
func (r Row) shareOf(v *View) float64 {
	answered := 0
	for _, n := range v.Nodes {
		if n.Err == nil {
			answered++
		}
	}
	if answered == 1 && !math.IsNaN(r.Parts[0].Share) {
		return r.Parts[0].Share
	}
	if v.Compared != Accesses || v.Total == 0 {
		return math.NaN()
	}
	return min(r.QPS/v.Total, 1)
}
