package server

import (
	"math"
	"slices"
	"time"

	"kvserver/hotkeys"
	"kvserver/hotkeys/control"
	"kvserver/server/web"
)

// What the pages show. It is copied together under the gate, and turned into text and numbers outside of it.

// webSnapshot takes a snapshot, as a client that says HOTKEYS GET and INFO. What has the store and is past its time is not
// waited for.
func (s *Server) webSnapshot(all bool) (*web.Snapshot, error) {
	sl := s.houseSlot
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if sl.busy {
		return nil, web.ErrBusy
	}
	var snap *web.Snapshot
	if !s.gate.exclusive(sl, func() { snap = s.takeSnapshot(sl, all) }) {
		return nil, web.ErrBusy
	}
	return snap, nil
}

// takeSnapshot is called with the gate closed; sl is the caller's slot.
func (s *Server) takeSnapshot(sl *slot, all bool) *web.Snapshot {
	s.tracker.Rotate()
	now := time.Now()
	v := webView{s: s, slot: sl, now: now, nowNs: s.monotonicNs(), seen: make(map[control.Key]*webKey)}
	v.snap = &web.Snapshot{Taken: now, Node: s.webNode(), Commands: s.webCommands()}
	sl.view.Bind(0, now.UnixMilli(), nil)
	sl.view.Exclusive()
	defer sl.view.Unlock()
	v.tracking()
	v.control(all)
	switch {
	case all:
		v.keys(webRankings[:])
		v.history()
	case s.params.web.metricHotkeys.Get():
		v.keys(webRankings[:1])
	}
	return v.snap
}

// webView is a snapshot that is being taken.
type webView struct {
	s     *Server
	slot  *slot
	snap  *web.Snapshot
	now   time.Time
	nowNs int64 // of the clock of the tracker
	seen  map[control.Key]*webKey
}

// webKey is what is told of a key whatever it is ranked by.
type webKey struct {
	kind, state string
	past        []float64
	at          []*web.Key
}

// wall is the time of day of a moment of the tracker's clock.
func (v *webView) wall(ns int64) time.Time { return v.now.Add(time.Duration(ns - v.nowNs)) }

func (v *webView) tracking() {
	s, o, counts := v.s, v.s.tracker.Options(), v.s.tracker.Counts()
	v.snap.Tracking = web.Tracking{
		On: o.TopK > 0, TopK: o.TopK, Percentage: o.Percentage, Length: o.Window, Hold: o.Hold,
		Counters: int64(counts.Tracked), MemoryBytes: s.hotkeysBytes(),
		Completed: counts.Completed, Discarded: counts.Discarded,
		Session: s.session != nil,
	}
	if due := s.tracker.NextRotation(); due != 0 {
		v.snap.Tracking.Next = max(0, time.Duration(due-v.nowNs))
	}
}

// webRankings are the rankings of the pages as the tracker has them.
var webRankings = [...]hotkeys.Ranking{web.ByAccesses: hotkeys.All, web.ByReads: hotkeys.Reads, web.ByWrites: hotkeys.Writes}

func (v *webView) keys(rankings []hotkeys.Ranking) {
	for ranking, by := range rankings {
		r := v.s.tracker.Report(hotkeys.Query{By: by, DB: hotkeys.AllDBs})
		if r.Duration == 0 {
			return
		}
		if by == hotkeys.All {
			v.snap.Window = web.Window{
				Begin: v.wall(r.Begin), Length: r.Duration, Samples: r.Samples, Rate: r.Total(), Floor: r.Floor,
			}
		}
		list := make([]web.Key, len(r.Entries))
		for i, e := range r.Entries {
			list[i] = v.key(&r, e)
			if len(rankings) == len(webRankings) {
				known := v.know(e)
				list[i].Type, list[i].State = known.kind, known.state
				known.at = append(known.at, &list[i])
			}
		}
		v.snap.Keys[ranking] = list
	}
}

func (v *webView) key(r *hotkeys.Report, e hotkeys.Entry) web.Key {
	m := r.Measure(e)
	name, digest := web.Cut(e.Key)
	return web.Key{
		Name: name, Digest: digest, Length: len(e.Key), DB: e.DB,
		Samples: m.Samples, Rate: r.Rate(e), Low: m.Low, High: m.High, Reads: m.Reads, Writes: m.Writes,
		Share: m.Share, Certain: m.Certain, Reported: v.s.reportedQPS(r, e),
		Measured: m.Known, Misses: m.Misses, InBytes: m.InBytes, OutBytes: m.OutBytes, CPU: m.CPU,
	}
}

// know looks up what is told of a key once.
func (v *webView) know(e hotkeys.Entry) *webKey {
	known := v.seen[keyOf(e)]
	if known == nil {
		key := control.Key{Name: string(e.Key), DB: e.DB}
		v.slot.view.Select(e.DB)
		known = &webKey{
			kind:  v.slot.view.Peek(e.Key).Type(),
			state: v.s.control.controller.State(key, v.nowNs).State.String(),
		}
		v.seen[key] = known
	}
	return known
}

// pastKeysMax is how many keys of a past window are looked at, its hottest: the others were of no interest.
const pastKeysMax = 256

func (v *webView) history() {
	windows := slices.Collect(v.s.history.Recent(web.HistoryMax))
	slices.Reverse(windows)
	for at, w := range windows {
		v.snap.History = append(v.snap.History, web.Past{
			Begin: time.UnixMilli(w.BeginMs), Length: w.Duration, Samples: w.Samples, Rate: float64(w.QPS), Known: !w.Discarded,
		})
		n := 0
		for k := range w.Keys() {
			if n++; n > pastKeysMax {
				break
			}
			known := v.seen[keyOf(hotkeys.Entry{Key: k.Key, DB: k.DB})]
			if known == nil {
				continue
			}
			if known.past == nil {
				known.past = slices.Repeat([]float64{math.NaN()}, len(windows))
			}
			known.past[at] = float64(k.QPS)
		}
	}
	for _, known := range v.seen {
		for _, k := range known.at {
			k.Past = known.past
		}
	}
}

func (v *webView) control(all bool) {
	h := &v.s.control
	set, totals := h.controller.Settings(), h.controller.Totals(v.nowNs)
	c := web.Control{
		On: set.On(), Metric: controlMetrics[set.Metric], Promote: float64(set.Promote), Demote: float64(set.Demote),
		PromoteWindows: set.PromoteWindows, DemoteWindows: set.DemoteWindows, Hold: time.Duration(set.HoldNs),
		Warming: totals.Warming, Hot: totals.Hot,
		Promotions: totals.Promotions, Aborted: totals.Aborted, Demotions: totals.Demotions,
		Emergencies: totals.Emergencies, FalsePromotions: totals.FalsePromotions, HotTime: time.Duration(totals.HotNs),
	}
	v.snap.Control = c
	if !all {
		return
	}
	states := h.controller.States(v.nowNs)
	for _, st := range states[:min(len(states), web.StatesMax)] {
		name, digest := web.Cut(st.Key.Name)
		v.snap.Control.States = append(v.snap.Control.States, web.KeyState{
			Name: name, Digest: digest, Length: len(st.Key.Name), DB: st.Key.DB, State: st.State.String(), Pinned: st.Pinned,
			Since: v.wall(st.SinceNs), Demand: st.Demand, Evidence: st.Evidence, HoldLeft: time.Duration(st.HoldNs),
		})
	}
}

func (s *Server) webNode() web.Node {
	views, inBytes, outBytes := s.slotTotals()
	n := web.Node{
		InBytes: inBytes, OutBytes: outBytes, Hits: views.Hits, Misses: views.Misses, Expired: views.Expired, Evicted: views.Evicted,
		Version: Version, Started: s.started,
		Clients: int64(s.clients.len()), BlockedClients: int64(s.pause.waiting()) + s.blocked.Load(),
		Connections: s.counters.connections.Load(), Rejected: s.counters.rejectedConnections.Load(),
		Errors: s.errorReplies(), MemoryUsed: s.sampleMemory(), MemoryMax: s.memory.limit,
	}
	for db := range int(s.params.databases.Get()) {
		if keys, volatile := s.store.Keys(db); keys > 0 {
			n.Databases = append(n.Databases, web.Database{Index: db, Keys: keys, Volatile: volatile})
		}
	}
	return n
}

// webCommands are the commands that were called or refused.
func (s *Server) webCommands() []web.CommandUse {
	var list []web.CommandUse
	for _, cmd := range s.table.all {
		if t := s.commandTotal(cmd); t.calls+t.rejected > 0 {
			list = append(list, web.CommandUse{
				Name: cmd.fullName, Calls: t.calls, Rejected: t.rejected, Failed: t.failed, Took: time.Duration(t.ns),
			})
		}
	}
	return list
}
