package control

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// model is the rules over again, without counters: it keeps what was seen of
// each key since it entered its state, and looks back through it for the reason
// of a transition.
type model struct {
	set    Settings
	keys   map[Key]*past
	first  bool
	end    int64
	told   map[Key]map[Event]int64 // last alerts
	counts [5]uint64               // by event
	hotNs  int64
}

// past is what was seen of a key.
type past struct {
	state  State
	since  int64
	seen   []sight
	ready  bool
	pinned bool
	muted  bool // its warming was
}

// sight is a window of a key, or, with known false, something that ends every
// run of windows. A trip is an emergency between two windows.
type sight struct {
	known, listed bool
	begin         int64
	demand        float64
	trip          bool
}

func (m *model) qualifies(s sight) bool {
	e := float64(m.set.Emergency)
	return s.known && s.listed && (s.demand >= float64(m.set.Promote) || e > 0 && s.demand >= e)
}

// deserves reports whether a warming key has what it takes to be hot.
func (m *model) deserves(p *past) bool {
	if m.set.WarmupAck && !p.ready {
		return false
	}
	run, counting := 0, true
	for _, s := range slices.Backward(p.seen) {
		switch {
		case s.trip:
			return true
		case !s.known:
			return counting && run >= m.set.PromoteWindows
		case m.qualifies(s) && m.set.Emergency > 0 && s.demand >= float64(m.set.Emergency):
			return true
		case m.qualifies(s) && counting:
			run++
		case s.listed && s.demand == s.demand || s.demand < float64(m.set.Promote):
			counting = false
		default: // it tells nothing, as if it were unknown
			return counting && run >= m.set.PromoteWindows
		}
	}
	return run >= m.set.PromoteWindows
}

// cold reports whether the last window of a warming key ends its warm-up.
func (m *model) cold(p *past) bool {
	last := p.seen[len(p.seen)-1]
	if !last.known || last.trip || m.qualifies(last) || !(last.demand < float64(m.set.Promote)) {
		return false
	}
	for _, s := range slices.Backward(p.seen[:len(p.seen)-1]) {
		if s.trip {
			return last.begin >= s.begin
		}
		if !s.known {
			break
		}
	}
	return true
}

// done reports whether a hot key has to be demoted.
func (m *model) done(p *past) bool {
	run := 0
	for _, s := range slices.Backward(p.seen) {
		if !s.known || s.trip || !(s.demand <= float64(m.set.Demote)) || s.begin < p.since+m.set.HoldNs {
			break
		}
		run++
	}
	return !p.pinned && run >= m.set.DemoteWindows
}

// decide returns the transitions of a key that are due, in order.
func (m *model) decide(key Key, now int64, window bool) []string {
	p := m.keys[key]
	var out []string
	if p.state == Warming && window && m.cold(p) {
		return m.leave(key, now)
	}
	if p.state == Warming && m.deserves(p) {
		p.state, p.since, p.seen, p.ready = Hot, now, nil, false
		out = append(out, m.say(key, ToHot, now))
	}
	if p.state == Hot && m.done(p) {
		out = append(out, m.leave(key, now)...)
	}
	return out
}

func (m *model) leave(key Key, now int64) []string {
	p := m.keys[key]
	delete(m.keys, key)
	if p.state == Warming {
		return []string{m.say(key, Aborted, now)}
	}
	m.hotNs += now - p.since
	return []string{m.say(key, ToNormal, now)}
}

func (m *model) say(key Key, e Event, now int64) string {
	m.counts[e]++
	return fmt.Sprintf("%v %s %d", key, e, now)
}

// warm makes a normal key warming.
func (m *model) warm(key Key, now int64) string {
	m.keys[key] = &past{state: Warming, since: now}
	return m.say(key, ToWarming, now)
}

func (m *model) window(w Window, list map[Key]float64) []string {
	gap, overlap := !m.first && w.BeginNs > m.end, !m.first && w.BeginNs < m.end
	m.first, m.end = false, w.EndNs
	if !m.set.On() {
		return nil
	}
	var out []string
	if gap || overlap || !w.Known {
		m.interrupt()
	}
	if overlap || !w.Known {
		return nil
	}
	for key, p := range m.keys {
		demand, listed := list[key]
		if !listed {
			demand = w.Floor
		}
		s := sight{known: true, listed: listed, begin: w.BeginNs, demand: demand}
		// An emergency is told of unless one stands already, or the key is hot.
		if p.state == Warming && m.urgent(s) && !m.standing(p) {
			out = append(out, m.say(key, Tripped, w.EndNs))
		}
		p.seen = append(p.seen, s)
		out = append(out, m.decide(key, w.EndNs, true)...)
		delete(list, key)
	}
	for key, demand := range list {
		s := sight{known: true, listed: true, begin: w.BeginNs, demand: demand}
		if !m.qualifies(s) {
			continue
		}
		if m.urgent(s) {
			out = append(out, m.say(key, Tripped, w.EndNs))
		}
		out = append(out, m.warm(key, w.EndNs))
		m.keys[key].seen = []sight{s}
		out = append(out, m.decide(key, w.EndNs, true)...)
	}
	return out
}

func (m *model) urgent(s sight) bool {
	return s.listed && m.set.Emergency > 0 && s.demand >= float64(m.set.Emergency)
}

// standing reports whether an emergency has stood since the last interruption.
func (m *model) standing(p *past) bool {
	for _, s := range slices.Backward(p.seen) {
		if s.trip || m.urgent(s) {
			return true
		}
		if !s.known || !s.listed && !(s.demand < float64(m.set.Promote)) || s.demand != s.demand {
			return false
		}
	}
	return false
}

// interrupt ends every run of windows.
func (m *model) interrupt() {
	for _, p := range m.keys {
		p.seen = append(p.seen, sight{})
	}
}

func (m *model) configure(s Settings, now int64) []string {
	old := m.set
	m.set = s
	if old.Promote != s.Promote || old.Demote != s.Demote || old.Emergency != s.Emergency || old.Metric != s.Metric {
		m.interrupt()
	}
	var out []string
	for key, p := range m.keys {
		if !s.On() {
			out = append(out, m.leave(key, now)...)
			continue
		}
		if p.state == Hot && s.HoldNs != old.HoldNs {
			p.seen = append(p.seen, sight{})
		}
		if p.state == Warming && s.WarmupAck && p.muted {
			out = append(out, m.say(key, ToWarming, now))
		}
		out = append(out, m.decide(key, now, false)...)
	}
	return out
}

// judge checks the alerts of transitions: what has to be acted on is told, and
// what informs is told once a cooldown and no less.
func (m *model) judge(t *rapid.T, list []Transition) (muted uint64) {
	if m.told == nil {
		m.told = make(map[Key]map[Event]int64)
	}
	for _, tr := range list {
		last := m.told[tr.Key]
		if last == nil {
			last = make(map[Event]int64)
			m.told[tr.Key] = last
		}
		at, before := last[tr.Event]
		want := !before || tr.AtNs-at >= m.set.CooldownNs
		switch tr.Event {
		case ToHot, ToNormal:
			want = true
		case ToWarming:
			want = want || m.set.WarmupAck
			last[Aborted] = 0
			if !want {
				last[Aborted] = 1
			}
			if p := m.keys[tr.Key]; p != nil {
				p.muted = !want
			}
		case Aborted:
			want = last[Aborted] == 0
			if tr.Alert != want {
				t.Fatalf("%v: alert is not that of its warming", tr)
			}
		}
		if tr.Alert != want {
			t.Fatalf("%v: alert %v, want %v", tr, tr.Alert, want)
		}
		if tr.Alert && tr.Event != Aborted {
			last[tr.Event] = tr.AtNs
		}
		if !tr.Alert {
			muted++
		}
		if tr.Demand < 0 || math.IsNaN(tr.Demand) || math.IsInf(tr.Demand, 0) {
			t.Fatalf("%v: not a demand", tr)
		}
	}
	return muted
}

// drawSettings draws valid settings, small enough that every rule comes up. They
// lack the cooldown, which stays the same throughout: what a short one forgot
// a long one does not know.
func drawSettings(t *rapid.T) Settings {
	return Settings{
		Metric:                rapid.SampledFrom([]Metric{QPS, CPU}).Draw(t, "metric"),
		Promote:               rapid.SampledFrom([]int64{40, 40, 40, 50, 0}).Draw(t, "H"),
		Demote:                rapid.SampledFrom([]int64{30, 30, 39, 1}).Draw(t, "L"),
		PromoteWindows:        rapid.IntRange(1, 3).Draw(t, "K"),
		DemoteWindows:         rapid.IntRange(1, 3).Draw(t, "M"),
		HoldNs:                rapid.SampledFrom([]int64{0, 15, 30}).Draw(t, "hold"),
		Emergency:             rapid.SampledFrom([]int64{0, 90, 35}).Draw(t, "emergency"),
		EmergencySharePercent: 10,
		WarmupAck:             rapid.Bool().Draw(t, "ack"),
	}
}

var drawDemand = rapid.SampledFrom([]float64{0, 10, 30, 30.5, 35, 39, 40, 45, 50, 100, -5, math.NaN(), math.Inf(1), math.Inf(-1)})

// trial drives a controller and a model with the same calls.
type trial struct {
	c     Controller
	m     model
	now   int64
	muted uint64

	cooldownNs int64
}

// against runs random calls against both.
func against(t *rapid.T) {
	r := trial{
		m:          model{keys: make(map[Key]*past), first: true},
		cooldownNs: rapid.SampledFrom([]int64{0, 45, 200}).Draw(t, "cooldown"),
	}
	r.configure(t, drawSettings(t))
	for range rapid.SampledFrom([]int{10, 30, 60}).Draw(t, "calls") {
		if rapid.IntRange(0, 9).Draw(t, "window") < 7 {
			r.window(t)
		} else {
			r.operate(t)
		}
		r.compare(t)
	}
}

var drawKey = rapid.SampledFrom([]Key{{Name: "a"}, {Name: "a", DB: 1}, {Name: "b"}})

func (r *trial) configure(t *rapid.T, s Settings) {
	s.CooldownNs = r.cooldownNs
	got, err := r.c.Configure(s, r.now)
	if err != nil {
		t.Fatal(err)
	}
	r.agree(t, got, r.m.configure(s, r.now))
	if !s.On() {
		r.m.told = nil
	}
}

// agree compares the transitions of a call, whose order the model does not know
// between keys.
func (r *trial) agree(t *rapid.T, got []Transition, want []string) {
	var have []string
	for _, tr := range got {
		have = append(have, fmt.Sprintf("%v %s %d", tr.Key, tr.Event, tr.AtNs))
	}
	by := func(list []string) map[string][]string {
		keys := make(map[string][]string)
		for _, line := range list {
			keys[line[:5]] = append(keys[line[:5]], line)
		}
		return keys
	}
	if fmt.Sprint(by(have)) != fmt.Sprint(by(want)) {
		t.Fatalf("got %q\nwant %q", have, want)
	}
	r.muted += r.m.judge(t, got)
}

func (r *trial) window(t *rapid.T) {
	begin := r.m.end + rapid.SampledFrom([]int64{0, 0, 0, 0, 0, 0, 0, 10, -4}).Draw(t, "gap")
	w := Window{
		BeginNs: begin,
		EndNs:   max(begin+10, r.now),
		Known:   rapid.IntRange(0, 9).Draw(t, "known") > 0,
		Floor:   rapid.SampledFrom([]float64{5, 5, 30, 31, 40, 60, math.NaN(), math.Inf(1)}).Draw(t, "floor"),
	}
	list := demands(rapid.MapOf(drawKey, drawDemand).Draw(t, "demands"))
	w.Demands = list.all
	r.now = w.EndNs
	got := r.c.Window(w)
	r.agree(t, got, r.m.window(w, list))
}

// operate makes one of the calls that are no windows.
func (r *trial) operate(t *rapid.T) {
	r.now = max(r.now, r.m.end+int64(rapid.IntRange(0, 9).Draw(t, "later")))
	key := drawKey.Draw(t, "key")
	p, on := r.m.keys[key], r.m.set.On()
	var got []Transition
	var want []string
	var err, wantErr error
	switch rapid.IntRange(0, 5).Draw(t, "call") {
	case 0:
		r.configure(t, drawSettings(t))
		return
	case 1:
		got, err = r.c.Ready(key, r.now)
		if wantErr = missing(p, on); p != nil {
			p.ready = p.state == Warming
			want = r.m.decide(key, r.now, false)
		}
	case 2:
		got, err = r.c.Demote(key, r.now)
		if wantErr = missing(p, on); p != nil {
			want = r.m.leave(key, r.now)
		}
	case 3:
		got, err = r.c.Pin(key, r.now)
		want, wantErr = r.m.pin(key, r.now)
	case 4:
		err = r.c.Unpin(key)
		wantErr = r.m.unpin(key)
	case 5:
		share := float64(rapid.IntRange(9, 10).Draw(t, "share"))
		got = r.c.Emergency(key, drawDemand.Draw(t, "demand"), share, r.now)
		if on && share == 10 {
			want = r.m.trip(key, r.now)
		}
	}
	if err != wantErr {
		t.Fatalf("error %v, want %v", err, wantErr)
	}
	r.agree(t, got, want)
}

func missing(p *past, on bool) error {
	switch {
	case !on:
		return ErrOff
	case p == nil:
		return ErrNormal
	}
	return nil
}

func (m *model) pin(key Key, now int64) ([]string, error) {
	if !m.set.On() {
		return nil, ErrOff
	}
	p := m.keys[key]
	if p == nil || p.state == Warming {
		m.keys[key] = &past{state: Hot, since: now, pinned: true}
		return []string{m.say(key, ToHot, now)}, nil
	}
	p.pinned = true
	return nil, nil
}

func (m *model) unpin(key Key) error {
	p := m.keys[key]
	switch {
	case !m.set.On():
		return ErrOff
	case p == nil || !p.pinned:
		return ErrNotPinned
	}
	p.pinned, p.seen = false, nil
	return nil
}

func (m *model) trip(key Key, now int64) []string {
	p := m.keys[key]
	if p != nil && (p.state == Hot || m.standing(p)) {
		return nil
	}
	out := []string{m.say(key, Tripped, now)}
	if p == nil {
		out = append(out, m.warm(key, now))
		p = m.keys[key]
	}
	p.seen = append(p.seen, sight{known: true, listed: true, trip: true, begin: now})
	return append(out, m.decide(key, now, false)...)
}

// compare compares the states and the totals.
func (r *trial) compare(t *rapid.T) {
	states := r.c.States(r.now)
	if len(states) != len(r.m.keys) {
		t.Fatalf("%d states, want %d", len(states), len(r.m.keys))
	}
	hotNs := r.m.hotNs
	for _, s := range states {
		p := r.m.keys[s.Key]
		if p == nil || s.State != p.state || s.SinceNs != p.since || s.Pinned != p.pinned || s.Ready != p.ready {
			t.Fatalf("state %+v, want %+v", s, p)
		}
		if s.State == Hot {
			hotNs += r.now - s.SinceNs
		}
		if s.HoldNs < 0 || s.HoldNs > r.m.set.HoldNs || s.Evidence < 0 || math.IsNaN(s.Demand) {
			t.Fatalf("state %+v", s)
		}
	}
	got, counts := r.c.Totals(r.now), r.m.counts
	got.Warming, got.Hot, got.Pinned, got.FalsePromotions = 0, 0, 0, 0
	want := Totals{Promotions: counts[ToHot], Aborted: counts[Aborted], Demotions: counts[ToNormal],
		Emergencies: counts[Tripped], Muted: r.muted, HotNs: hotNs}
	if got != want {
		t.Fatalf("totals %+v\nwant %+v", got, want)
	}
}

func TestAgainstModel(t *testing.T) { rapid.Check(t, against) }

func FuzzAgainstModel(f *testing.F) { f.Fuzz(rapid.MakeFuzz(against)) }
