package control

import (
	"cmp"
	"errors"
	"iter"
	"slices"
	"strings"
)

// Limits on what a controller remembers. A server has a handful of keys that
// are worth a mitigation; the limits are for a threshold set far too low.
const (
	KeysMax      = 4096
	NameBytesMax = KeysMax << 10
)

// Key is a name in a database.
type Key struct {
	Name string
	DB   int
}

// State is what a key is.
type State uint8

// The states.
const (
	Normal State = iota
	Warming
	Hot
)

func (s State) String() string { return [...]string{"normal", "warming", "hot"}[s] }

// Event is what a transition is published as.
type Event uint8

// The events.
const (
	ToWarming Event = iota // normal to warming
	ToHot                  // to hot, whatever from
	ToNormal               // hot to normal
	Aborted                // warming to normal
	Tripped                // an emergency stands for the K windows; followed by where that leads
)

func (e Event) String() string {
	return [...]string{"warming", "hot", "normal", "aborted", "emergency"}[e]
}

// Window is a completed window, or one that has to be taken for unknown.
type Window struct {
	BeginNs, EndNs int64 // of one clock that never steps back, the next beginning where this one ends
	Known          bool  // false: discarded; what follows is not looked at

	// Floor is the most demand that a key which Demands does not list can have
	// had; +Inf if nothing is known about it.
	Floor float64

	// Demands lists each tracked key once, in any order: what its clients
	// wanted of it, in the control metric, including what they say they served
	// themselves. Names must stay as they are until Window returns, and are
	// copied if they are kept.
	Demands iter.Seq2[Key, float64]
}

// Transition is a change of a key's state, or the emergency that led to it.
type Transition struct {
	Key    Key
	Event  Event
	Demand float64 // of the window that it rests on, else the last one known of the key, else 0; finite, not negative
	AtNs   int64
	Alert  bool // to be published; every transition is to be logged
}

// Status describes a key that is warming or hot.
type Status struct {
	Key      Key
	State    State
	SinceNs  int64   // when it became so
	Demand   float64 // of the last window that tells; its floor if that did not list the key
	Evidence int     // windows so far: warming, of K; hot, of M
	HoldNs   int64   // what is left of the hold; 0 unless hot
	Ready    bool    // warming: acknowledged
	Pinned   bool
}

// Totals count since the controller was made, except for the first three.
type Totals struct {
	Warming, Hot, Pinned int // keys now; pinned ones are hot ones

	Promotions      uint64 // to hot, pins included
	Aborted         uint64 // warming to normal
	Demotions       uint64 // hot to normal
	FalsePromotions uint64 // demotions by windows none of which, since the hold's end, was above L; not of keys once pinned
	Emergencies     uint64
	Refused         uint64 // promotions that the limits on keys prevented, each window anew
	Muted           uint64 // transitions without an alert
	HotNs           int64  // time in hot, of all keys together, up to now
}

// Errors of the operator's calls.
var (
	ErrOff       = errors.New("hot key control is off")
	ErrNormal    = errors.New("the key is neither warming nor hot")
	ErrNotPinned = errors.New("the key is not pinned")
	ErrFull      = errors.New("too many keys are warming or hot")
)

// Controller is the state machines of all keys. Its zero value is off. Its
// methods must not be called at the same time; times are in nanoseconds of one
// clock that never steps back.
type Controller struct {
	set    Settings
	keys   map[Key]*machine
	quiet  map[Key]alerts // keys that are normal again, while a cooldown lasts
	totals Totals         // without the gauges and the time of keys that are hot now

	keysBytes, quietBytes int // of the names in keys and quiet, NameBytesMax at most each

	began  bool // lastNs is the end of a window
	lastNs int64

	order []*machine // scratch of Window
	risen []rise     // the same
	out   []Transition
}

// Configure puts new settings in force. If they are not valid it returns why,
// and the old ones stay. Turning control off makes every key normal. New
// thresholds or another metric make all dwell counts begin anew, another hold
// those for demotion. Turning WarmupAck on alerts those warming that were muted,
// since somebody has to acknowledge them now.
func (c *Controller) Configure(s Settings, nowNs int64) ([]Transition, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	old := c.set
	c.set = s
	for _, m := range c.sorted() {
		if !s.On() {
			c.release(m, nowNs)
			continue
		}
		if old.Promote != s.Promote || old.Demote != s.Demote || old.Emergency != s.Emergency || old.Metric != s.Metric {
			m.reset()
		}
		if s.HoldNs != old.HoldNs {
			m.low = 0
		}
		if m.state == Warming && s.WarmupAck && !m.told {
			c.announce(m, nowNs)
		}
		c.settle(m, nowNs)
	}
	if !s.On() {
		c.quiet, c.quietBytes = nil, 0
	}
	return c.take(), nil
}

// Settings are those in force.
func (c *Controller) Settings() Settings { return c.set }

// Window takes the next window, in the order of time. A window that begins
// after the last one ended makes what lies between unknown; one that begins
// before is itself taken for unknown, so that no time counts twice.
func (c *Controller) Window(w Window) []Transition {
	missing := c.began && w.BeginNs > c.lastNs
	overlaps := c.began && w.BeginNs < c.lastNs
	c.began, c.lastNs = true, max(w.BeginNs, w.EndNs)
	if !c.set.On() {
		return nil
	}
	c.forget(c.lastNs)
	known := w.Known && !overlaps && w.EndNs > w.BeginNs && w.Demands != nil
	if missing || !known {
		for _, m := range c.keys {
			m.reset()
		}
	}
	if !known {
		return nil
	}
	c.measure(w)
	for _, m := range c.sorted() {
		c.step(m, w)
	}
	for _, r := range c.risen {
		c.rise(r, w)
	}
	clear(c.risen) // it would keep names alive
	return c.take()
}

// measure gives each machine its demand in a known window, and collects the
// normal keys that qualify, the hottest first.
func (c *Controller) measure(w Window) {
	for _, m := range c.keys {
		m.observe(w.Floor)
		m.listed = false
	}
	c.risen = c.risen[:0]
	for key, demand := range w.Demands {
		if len(c.keys) > 0 {
			if m := c.keys[key]; m != nil {
				m.observe(demand)
				m.listed = true
				continue
			}
		}
		if c.qualifies(demand) {
			c.risen = append(c.risen, rise{key, demand})
		}
	}
	slices.SortFunc(c.risen, func(a, b rise) int {
		return cmp.Or(cmp.Compare(b.demand, a.demand), compareKeys(a.key, b.key))
	})
}

// Emergency tells that the server is beyond a limit, of the live window's top
// key: its demand so far, and its share of the window's accesses. It stands for
// all K windows if the share is at least EmergencySharePercent.
func (c *Controller) Emergency(key Key, demand, sharePercent float64, nowNs int64) []Transition {
	if !c.set.On() || !(sharePercent >= float64(c.set.EmergencySharePercent)) {
		return nil
	}
	m := c.keys[key]
	if m == nil {
		if m = c.add(key); m == nil {
			c.totals.Refused++
			return nil
		}
	}
	if m.state == Hot || m.tripped {
		return nil
	}
	m.observe(demand)
	c.trip(m, nowNs)
	return c.take()
}

// Ready says that the mitigation of a warming key serves. It does nothing if
// the key is hot. Errors: ErrOff, ErrNormal.
func (c *Controller) Ready(key Key, nowNs int64) ([]Transition, error) {
	m, err := c.find(key)
	if err != nil {
		return nil, err
	}
	m.ready = m.state == Warming
	c.settle(m, nowNs)
	return c.take(), nil
}

// Demote makes a key normal at once, pinned or not, and cancels a warm-up. The
// next window can begin another. Errors: ErrOff, ErrNormal.
func (c *Controller) Demote(key Key, nowNs int64) ([]Transition, error) {
	m, err := c.find(key)
	if err != nil {
		return nil, err
	}
	c.release(m, nowNs)
	return c.take(), nil
}

// Pin makes a key hot at once, if it is not, and keeps windows from demoting
// it. Errors: ErrOff, ErrFull.
func (c *Controller) Pin(key Key, nowNs int64) ([]Transition, error) {
	if !c.set.On() {
		return nil, ErrOff
	}
	m := c.keys[key]
	if m == nil {
		if m = c.add(key); m == nil {
			return nil, ErrFull
		}
	}
	if m.state != Hot {
		c.promote(m, nowNs)
	}
	m.pinned, m.confirmed, m.low = true, true, 0
	return c.take(), nil
}

// Unpin makes a pinned key an ordinary hot one, whose windows count from now
// on. Its hold began when it became hot. Errors: ErrOff, ErrNotPinned.
func (c *Controller) Unpin(key Key) error {
	if !c.set.On() {
		return ErrOff
	}
	m := c.keys[key]
	if m == nil || !m.pinned {
		return ErrNotPinned
	}
	m.pinned = false
	return nil
}

// States describes the keys that are warming or hot, those with the highest
// demand first.
func (c *Controller) States(nowNs int64) []Status {
	list := make([]Status, 0, len(c.keys))
	for _, m := range c.sorted() {
		list = append(list, c.status(m, nowNs))
	}
	return list
}

// State describes one key, whose state is Normal if it is neither warming nor
// hot.
func (c *Controller) State(key Key, nowNs int64) Status {
	if m := c.keys[key]; m != nil {
		return c.status(m, nowNs)
	}
	return Status{Key: key}
}

// Totals counts what happened up to now.
func (c *Controller) Totals(nowNs int64) Totals {
	t := c.totals
	for _, m := range c.keys {
		if m.state == Warming {
			t.Warming++
			continue
		}
		t.Hot++
		t.HotNs += max(0, nowNs-m.sinceNs)
		if m.pinned {
			t.Pinned++
		}
	}
	return t
}

func (c *Controller) find(key Key) (*machine, error) {
	if !c.set.On() {
		return nil, ErrOff
	}
	m := c.keys[key]
	if m == nil {
		return nil, ErrNormal
	}
	return m, nil
}

// add makes a machine for a key that is about to leave normal, or returns nil
// if that is beyond a limit.
func (c *Controller) add(key Key) *machine {
	if len(c.keys) >= KeysMax || c.keysBytes+len(key.Name) > NameBytesMax {
		return nil
	}
	last, remembered := c.quiet[key]
	if remembered {
		delete(c.quiet, key)
		c.quietBytes -= len(key.Name)
	}
	if c.keys == nil {
		c.keys = make(map[Key]*machine)
	}
	key.Name = strings.Clone(key.Name)
	m := &machine{key: key, alerts: last}
	c.keys[key] = m
	c.keysBytes += len(key.Name)
	return m
}

// remove forgets a machine that is normal again, except for its alerts.
func (c *Controller) remove(m *machine, nowNs int64) {
	delete(c.keys, m.key)
	c.keysBytes -= len(m.key.Name)
	if !c.muted(m.alerts, nowNs) || len(c.quiet) >= KeysMax || c.quietBytes+len(m.key.Name) > NameBytesMax {
		return
	}
	if c.quiet == nil {
		c.quiet = make(map[Key]alerts)
	}
	c.quiet[m.key] = m.alerts
	c.quietBytes += len(m.key.Name)
}

// forget drops the alerts whose cooldown is over.
func (c *Controller) forget(nowNs int64) {
	for key, last := range c.quiet {
		if !c.muted(last, nowNs) {
			delete(c.quiet, key)
			c.quietBytes -= len(key.Name)
		}
	}
}

// muted reports whether the last alerts keep any alert back.
func (c *Controller) muted(last alerts, nowNs int64) bool {
	return last.warming.mutes(nowNs, c.set.CooldownNs) || last.tripped.mutes(nowNs, c.set.CooldownNs)
}

// sorted returns the machines by demand, in a slice that the next call reuses:
// a map has no order, and equal input has to give equal output.
func (c *Controller) sorted() []*machine {
	c.order = c.order[:0]
	for _, m := range c.keys {
		c.order = append(c.order, m)
	}
	slices.SortFunc(c.order, func(a, b *machine) int {
		return cmp.Or(cmp.Compare(b.demand, a.demand), compareKeys(a.key, b.key))
	})
	return c.order
}

func compareKeys(a, b Key) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.DB, b.DB))
}

// take hands the transitions of a call to its caller.
func (c *Controller) take() []Transition {
	out := c.out
	c.out = nil
	return out
}
