package server

import (
	"errors"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"unsafe"

	"kvserver/config"
	"kvserver/hotkeys"
	"kvserver/hotkeys/control"
	"kvserver/info"
)

// Hot keys that somebody should act on. Package control decides which those are; it is pure. Here it gets its input, which
// is each window of the tracker as it ends, the words of operators and mitigations (hotstates.go), what clients say they
// served themselves (hotreports.go) and the load of the server (serverload.go). What it decides is published to whoever is
// subscribed, logged and counted.

// hotControl is the controller and what it is fed from. It is touched only under the gate, but for load.
type hotControl struct {
	controller control.Controller
	now        func() int64 // the clock of the tracker

	// incomplete: the live window lacks accesses that there were, so that it must not count as evidence of no demand.
	incomplete bool

	// costs are what one access costs, in the control metric, of the keys with more demand than L in some window, as long
	// as they are warming or hot: a key that its mitigation serves has accesses, and no cost that could be measured.
	// Accesses per second need no such thing.
	costs map[control.Key]float64

	load serverLoad // the periodic work's
}

// controlParams are the settings of the controller, and controlNames their names.
type controlParams struct {
	promote, promoteWindows *config.Int
	demote, demoteWindows   *config.Int
	holdSeconds             *config.Int
	emergency               *config.Int
	emergencyCPU            *config.Int
	emergencyLatencyMs      *config.Int
	emergencyShare          *config.Int
	warmupAck               *config.Bool
	metric                  *config.String
	cooldownSeconds         *config.Int
}

var controlNames = []string{
	"hotkeys-promote-qps", "hotkeys-promote-windows", "hotkeys-demote-qps", "hotkeys-demote-windows", "hotkeys-min-hold-seconds",
	"hotkeys-emergency-qps", "hotkeys-emergency-cpu-percent", "hotkeys-emergency-latency-ms", "hotkeys-emergency-share",
	"hotkeys-warmup-ack", "hotkeys-control-metric", "hotkeys-alert-cooldown-seconds",
}

// controlMetrics are the values of hotkeys-control-metric.
var controlMetrics = []string{control.QPS: "qps", control.CPU: "cpu", control.Bytes: "bytes"}

var errDemoteQPS = errors.New("hotkeys-demote-qps must be at least 1 and below hotkeys-promote-qps")

func (p *Parameters) registerControl(r *config.Registry) {
	const thresholdMax, windowsMax, secondsMax, latencyMaxMs = control.ThresholdMax, control.WindowsMax, 86400, 60000
	c := &p.control
	c.promote = r.Int("hotkeys-promote-qps", 0, 0, thresholdMax,
		config.Doc("demand per second at which a key starts to become hot, in hotkeys-control-metric; 0 turns control off"))
	c.promoteWindows = r.Int("hotkeys-promote-windows", 2, 1, windowsMax,
		config.Doc("consecutive windows at or above hotkeys-promote-qps that make a key hot"))
	c.demote = r.Int("hotkeys-demote-qps", 0, 0, thresholdMax,
		config.Doc("demand per second at or below which a hot key may become normal; at least 1 and below hotkeys-promote-qps if control is on"))
	c.demoteWindows = r.Int("hotkeys-demote-windows", 3, 1, windowsMax,
		config.Doc("consecutive windows at or below hotkeys-demote-qps, after the hold, that make a hot key normal"))
	c.holdSeconds = r.Int("hotkeys-min-hold-seconds", 60, 0, secondsMax, config.Doc("least time that a key stays hot"))
	c.emergency = r.Int("hotkeys-emergency-qps", 0, 0, thresholdMax,
		config.Doc("demand per second at which one window stands for all of hotkeys-promote-windows; 0: none does"))
	c.emergencyCPU = r.Int("hotkeys-emergency-cpu-percent", 0, 0, 100,
		config.Doc("use of the processors, percent of all that the process may use, at which the hottest key is promoted at once; 0: never"))
	c.emergencyLatencyMs = r.Int("hotkeys-emergency-latency-ms", 0, 0, latencyMaxMs,
		config.Doc("longest time that an event loop was away from its clients, milliseconds, at which the hottest key is promoted at once; 0: never"))
	c.emergencyShare = r.Int("hotkeys-emergency-share", 10, 0, 100,
		config.Doc("least percentage of all accesses that the hottest key must have to be promoted by hotkeys-emergency-cpu-percent or -latency-ms"))
	c.warmupAck = r.Bool("hotkeys-warmup-ack", false, config.Doc("a key is hot only after HOTKEYS READY has said that its mitigation serves"))
	c.metric = r.Enum("hotkeys-control-metric", "qps", controlMetrics,
		config.Doc("what the thresholds are stated in: accesses, microseconds of CPU or bytes, each per second"))
	c.cooldownSeconds = r.Int("hotkeys-alert-cooldown-seconds", 300, 0, secondsMax,
		config.Doc("least time between two publications about a key that nothing has to be done about"))
	r.Rule([]string{"hotkeys-demote-qps", "hotkeys-promote-qps"}, func(v config.Values) error {
		if h, l := v.Int("hotkeys-promote-qps"), v.Int("hotkeys-demote-qps"); h > 0 && (l < 1 || l >= h) {
			return errDemoteQPS
		}
		return nil
	})
}

// settings are the parameters as the controller takes them.
func (p *controlParams) settings() control.Settings {
	metric := control.QPS
	for i, name := range controlMetrics {
		if name == p.metric.Get() {
			metric = control.Metric(i)
		}
	}
	const nsPerSecond = 1000 * nsPerMs
	return control.Settings{
		Metric:                metric,
		Promote:               p.promote.Get(),
		PromoteWindows:        int(p.promoteWindows.Get()),
		Demote:                p.demote.Get(),
		DemoteWindows:         int(p.demoteWindows.Get()),
		HoldNs:                p.holdSeconds.Get() * nsPerSecond,
		Emergency:             p.emergency.Get(),
		EmergencyCPUPercent:   int(p.emergencyCPU.Get()),
		EmergencyLatencyMs:    int(p.emergencyLatencyMs.Get()),
		EmergencySharePercent: int(p.emergencyShare.Get()),
		WarmupAck:             p.warmupAck.Get(),
		CooldownNs:            p.cooldownSeconds.Get() * nsPerSecond,
	}
}

// needsMeasures tells whether the controller must know what accesses cost.
func (p *controlParams) needsMeasures() bool {
	return p.promote.Get() > 0 && p.metric.Get() != controlMetrics[control.QPS]
}

// configureControl applies the parameters of the controller. The caller holds the gate.
func (s *Server) configureControl() error {
	h := &s.control
	settings := s.params.control.settings()
	if settings.Metric != h.controller.Settings().Metric {
		clear(h.costs)
	}
	list, err := h.controller.Configure(settings, h.now())
	if err != nil {
		return err
	}
	if settings.On() && s.tracker.Options().TopK == 0 {
		s.log.Warn("hotkeys-promote-qps is set, but without hotkeys-top-k there are no windows: only pinned keys become hot")
	}
	s.transport.TimeIterations(settings.Watches() && settings.EmergencyLatencyMs > 0)
	s.tellOf(list)
	return nil
}

// controlWindow hands a window that has ended to the controller. The caller holds the gate.
func (s *Server) controlWindow(w hotkeys.Window) {
	s.reports.rotate(w.Discarded)
	h := &s.control
	window := control.Window{BeginNs: w.Begin, EndNs: w.End, Known: !w.Discarded && !h.incomplete}
	h.incomplete = false
	if settings := h.controller.Settings(); settings.On() && window.Known {
		d := s.demandsOf(settings)
		window.Floor, window.Demands = d.floor(), d.all
	}
	s.tellOf(h.controller.Window(window))
	for key := range h.costs {
		if h.controller.State(key, w.End).State == control.Normal {
			delete(h.costs, key)
		}
	}
}

// forgetHotKeys takes the keys of a database out of the windows. Nobody knows then how often they were accessed, and the
// window must not look as if it had been seldom. What the controller has decided stands: clients go on to ask for keys that
// were deleted. The caller holds the gate.
func (s *Server) forgetHotKeys(db int) {
	s.tracker.FlushDB(db)
	s.reports.forget(db)
	s.control.incomplete = s.tracker.Options().TopK > 0
}

// demands are what clients wanted of the keys in the window that has just ended, in the control metric.
type demands struct {
	s         *Server
	set       control.Settings
	seconds   float64
	floorRate float64 // accesses per second that a key which is not tracked can have had
	meanCost  float64 // of an access of any key
}

func (s *Server) demandsOf(set control.Settings) demands {
	_, duration := s.tracker.LastWindow()
	d := demands{s: s, set: set, seconds: duration.Seconds(), floorRate: s.tracker.Counts().Floor, meanCost: 1}
	if set.Metric == control.QPS {
		return d
	}
	var amount, rate float64
	s.tracker.Each(func(r *hotkeys.Report, e hotkeys.Entry) bool {
		amount, rate = amount+d.amount(r, e), rate+r.Rate(e)
		return true
	})
	if d.meanCost = 0; rate > 0 {
		d.meanCost = amount / rate
	}
	return d
}

// amount is how much of the control metric the server spent on a key, per second.
func (d *demands) amount(r *hotkeys.Report, e hotkeys.Entry) float64 {
	switch d.set.Metric {
	case control.CPU:
		return r.Measure(e).CPU
	case control.Bytes:
		m := r.Measure(e)
		return m.InBytes + m.OutBytes
	}
	return r.Rate(e)
}

// cost is what an access of a key costs that is not tracked.
func (d *demands) cost(key control.Key) float64 {
	if cost, ok := d.s.control.costs[key]; ok {
		return cost
	}
	return d.meanCost
}

// floor is the most demand of a key that is not tracked.
func (d *demands) floor() float64 {
	cost := d.meanCost
	for _, c := range d.s.control.costs {
		cost = max(cost, c)
	}
	return d.floorRate * cost
}

// all lists the keys that are tracked, and those that clients reported about besides.
func (d *demands) all(yield func(control.Key, float64) bool) {
	reported := d.s.reports.ended
	more := true
	d.s.tracker.Each(func(r *hotkeys.Report, e hotkeys.Entry) bool {
		key := keyOf(e)
		demand := d.amount(r, e)
		cost := d.meanCost
		if rate := r.Rate(e); rate > 0 {
			cost = demand / rate
		}
		if rep := reported[key]; rep != nil {
			rep.listed = true
			demand += float64(rep.accesses) / d.seconds * cost
		}
		d.remember(key, demand, cost)
		more = yield(key, demand)
		return more
	})
	for key, rep := range reported {
		if more && !rep.listed {
			more = yield(key, d.untracked(key, rep))
		}
	}
}

// untracked is the demand of a key that only clients know of. What the server may have served unnoticed is counted as long
// as that is no evidence for hot.
func (d *demands) untracked(key control.Key, rep *reported) float64 {
	cost := d.cost(key)
	certain := float64(rep.accesses) / d.seconds * cost
	if most := certain + d.floorRate*cost; most < float64(d.set.Promote) {
		return most
	}
	return certain
}

// costsMax bounds the costs kept: those of keys with a state, and of as many that a window adds.
const costsMax = 2 * control.KeysMax

func (d *demands) remember(key control.Key, demand, cost float64) {
	if h := &d.s.control; d.set.Metric != control.QPS && demand > float64(d.set.Demote) && len(h.costs) < costsMax {
		if h.costs == nil {
			h.costs = make(map[control.Key]float64)
		}
		key.Name = strings.Clone(key.Name)
		h.costs[key] = cost
	}
}

// keyOf is a key of the tracker as long as its name stays where it is. A window has tens of thousands, of which hardly any
// is looked at twice.
func keyOf(e hotkeys.Entry) control.Key {
	return control.Key{Name: unsafe.String(unsafe.SliceData(e.Key), len(e.Key)), DB: e.DB}
}

const (
	// hotChannel and the name of an event are the channel that the event is published to.
	hotChannel = "__hotkeys__:"
	// transitionsLogged are the transitions that are logged at once; a threshold set far too low makes thousands.
	transitionsLogged = 100
	// nameBytesLogged is the length at which a name is cut in the log.
	nameBytesLogged = 256
)

// tellOf publishes and logs what the controller decided. attrs go to the log besides. The caller holds the gate.
func (s *Server) tellOf(list []control.Transition, attrs ...any) {
	for i, t := range list {
		if t.Alert {
			s.publishTransition(t)
		}
		if i < transitionsLogged {
			s.logTransition(t, attrs)
		}
	}
	if more := len(list) - transitionsLogged; more > 0 {
		s.log.Warn("hot keys: more transitions at once than are logged", "more", more)
	}
}

// publishTransition tells subscribers. Also one who is the cause gets its message like any other, after its reply.
func (s *Server) publishTransition(t control.Transition) {
	if s.channels.subscribers.Load() == 0 {
		return
	}
	text := strconv.AppendInt(nil, int64(t.Key.DB), 10)
	text = strconv.AppendInt(append(text, ' '), int64(math.Round(t.Demand)), 10)
	text = append(append(text, ' '), t.Key.Name...)
	p := publication{
		slot: s.houseSlot, kind: plainChannel, name: []byte(hotChannel + t.Event.String()), text: text,
		limitBytes: s.params.outputLimits.Load().pubsub.hardBytes,
	}
	s.channels.publish(&p)
	for _, slow := range p.slow {
		s.cutOff(slow)
	}
}

func (s *Server) logTransition(t control.Transition, attrs []any) {
	level := slog.LevelInfo
	if t.Event == control.Tripped {
		level = slog.LevelWarn
	}
	name := t.Key.Name
	if len(name) > nameBytesLogged {
		name = name[:nameBytesLogged] + "..."
	}
	all := append([]any{"event", t.Event.String(), "key", name, "db", t.Key.DB, "demand", int64(math.Round(t.Demand)),
		"metric", s.params.control.metric.Get()}, attrs...)
	s.log.Log(ctx, level, "hot key", all...)
}

// controlInfo is the controller's part of INFO hotkeys.
func (s *Server) controlInfo(w *info.Writer) {
	t := s.control.controller.Totals(s.control.now())
	w.Int("hotkeys_warming_keys", int64(t.Warming))
	w.Int("hotkeys_hot_keys", int64(t.Hot))
	w.Int("hotkeys_pinned_keys", int64(t.Pinned))
	w.Int("hotkeys_promotions", int64(t.Promotions))
	w.Int("hotkeys_aborted_warmups", int64(t.Aborted))
	w.Int("hotkeys_demotions", int64(t.Demotions))
	w.Int("hotkeys_emergency_trips", int64(t.Emergencies))
	w.Int("hotkeys_time_in_hot_ms", t.HotNs/nsPerMs)
	w.Int("hotkeys_false_promotions", int64(t.FalsePromotions))
	w.Int("hotkeys_refused_promotions", int64(t.Refused))
	w.Int("hotkeys_muted_alerts", int64(t.Muted))
}
