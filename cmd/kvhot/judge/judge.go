// Package judge decides which keys are hot for servers that do not do it themselves: it feeds what HOTKEYS GET tells to the
// controller that kvserver has (hotkeys/control).
//
// Valkey does not say which window a report is of. The same window read twice would count as two windows of evidence, so
// reports are asked for twice a window, and one that equals the report before is taken for the same window until a
// window's length is over. A report covers the time since the one before; after a longer silence what lies between is
// unknown. A key that is not listed had at most the rate of the last that is, if the list is full, else the rate that
// sampling overlooks in one window of twenty.
package judge

import (
	"math"
	"slices"
	"time"

	"kvserver/cmd/kvhot/node"
	"kvserver/hotkeys/control"
)

// Judge decides for one server.
type Judge struct {
	controller control.Controller
	start      time.Time
	sequence
}

// New returns a judge by these settings, or why they are not valid.
func New(s control.Settings, now time.Time) (*Judge, error) {
	j := &Judge{start: now}
	if _, err := j.controller.Configure(s, 0); err != nil {
		return nil, err
	}
	return j, nil
}

// Windows of a server are taken to be at least and at most so long, whatever it says: it is asked twice in each.
const (
	lengthMin = 100 * time.Millisecond
	lengthMax = 24 * time.Hour
)

// Length is how long the windows of a report's server are.
func Length(r node.Report) time.Duration {
	for _, ms := range []float64{r.LengthMs, r.WindowMs} {
		if ms >= 1 {
			return time.Duration(min(max(ms, lengthMin.Seconds()*1000), lengthMax.Seconds()*1000)) * time.Millisecond
		}
	}
	return time.Second
}

// Take returns what follows from a report.
func (j *Judge) Take(r node.Report) []node.Event {
	begin, fresh := j.next(r)
	if !fresh {
		return nil
	}
	w := control.Window{
		BeginNs: begin.Sub(j.start).Nanoseconds(), EndNs: r.At.Sub(j.start).Nanoseconds(),
		Known: known(r), Floor: floor(r),
		Demands: func(yield func(control.Key, float64) bool) {
			for _, e := range r.Entries {
				if !yield(control.Key{Name: e.Key, DB: e.DB}, demand(e)) {
					return
				}
			}
		},
	}
	var events []node.Event
	for _, t := range j.controller.Window(w) {
		events = append(events, node.Event{At: r.At, Name: t.Event.String(), Key: t.Key.Name, DB: t.Key.DB, Demand: t.Demand})
	}
	return events
}

// States returns the keys that are not normal.
func (j *Judge) States(now time.Time) []node.State {
	var states []node.State
	for _, s := range j.controller.States(now.Sub(j.start).Nanoseconds()) {
		states = append(states, node.State{Key: s.Key.Name, DB: s.Key.DB, State: s.State.String(), Demand: s.Demand,
			Since: j.start.Add(time.Duration(s.SinceNs)), Windows: float64(s.Evidence), Hold: time.Duration(s.HoldNs)})
	}
	return states
}

// demand is what clients wanted of a key, with what they served themselves.
func demand(e node.Entry) float64 {
	if e.Reported > 0 {
		return e.QPS + e.Reported
	}
	return e.QPS
}

// floor is the rate above which a key is listed.
func floor(r node.Report) float64 {
	overlooked := r.Floor
	if math.IsNaN(overlooked) {
		overlooked = 0
		if percentage := r.Percentage; !(percentage >= 100) {
			if math.IsNaN(percentage) {
				percentage = 1
			}
			// Of n accesses none is sampled with probability exp(-n p): 5 % at n p = 3.
			overlooked = 3 * 100 / percentage / Length(r).Seconds()
		}
	}
	if n := len(r.Entries); n > 0 && !(float64(n) < r.TopK) {
		return max(overlooked, r.Entries[n-1].QPS)
	}
	return overlooked
}

// same reports whether two reports are of the same window, as far as can be told.
func same(a, b node.Report) bool {
	if !math.IsNaN(a.Completed) && !math.IsNaN(b.Completed) {
		return a.Completed == b.Completed
	}
	equal := func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) }
	return equal(a.Samples, b.Samples) && equal(a.WindowMs, b.WindowMs) &&
		slices.EqualFunc(a.Entries, b.Entries, func(x, y node.Entry) bool { return x.Key == y.Key && x.DB == y.DB && x.QPS == y.QPS })
}
