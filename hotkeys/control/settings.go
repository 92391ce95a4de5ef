package control

import (
	"errors"
	"time"
)

// Metric is the resource that demands and thresholds are stated in. The
// controller compares numbers of one metric and needs to know only when it
// changes.
type Metric uint8

// The metrics.
const (
	QPS   Metric = iota // accesses per second
	CPU                 // microseconds of CPU per second
	Bytes               // bytes per second
)

// Ranges of the settings.
const (
	ThresholdMax = 1_000_000_000
	WindowsMax   = 1000
	secondsMax   = 86400
)

// Settings are what an operator decides. The zero value turns control off.
type Settings struct {
	Metric Metric

	Promote        int64 // H: at or above is evidence for hot; 0 turns control off
	PromoteWindows int   // K: consecutive windows at or above H that make a key hot
	Demote         int64 // L: at or below is evidence for normal; 1 to H - 1
	DemoteWindows  int   // M: consecutive windows at or below L that make a key normal
	HoldNs         int64 // least time in hot, from readiness

	Emergency             int64 // one window at or above stands for all K; 0 is off
	EmergencyCPUPercent   int   // limits of the whole server, for Exceeded; 0 is off
	EmergencyLatencyMs    int   // the same
	EmergencySharePercent int   // least share of the accesses of a key that such a limit promotes

	WarmupAck bool // hot only after Ready

	// CooldownNs is the least time between two alerts of one event about one
	// key. It limits what only informs: emergency, and warming and aborted if
	// no acknowledgement is asked for, an aborted being told if and only if its
	// warming was. What a mitigation must act on is always told: hot, the
	// normal that ends it, and, with WarmupAck, warming and aborted.
	CooldownNs int64
}

// Defaults are the settings of an operator who has only to choose H and L.
func Defaults() Settings {
	return Settings{
		PromoteWindows:        2,
		DemoteWindows:         3,
		HoldNs:                60 * int64(time.Second),
		EmergencySharePercent: 10,
		CooldownNs:            300 * int64(time.Second),
	}
}

// Errors of Validate.
var (
	ErrThresholds = errors.New("the demotion threshold must be at least 1 and below the promotion threshold")
	ErrRange      = errors.New("a setting of the controller is out of range")
)

// Validate returns ErrThresholds if control is on and not 1 <= L < H, and
// ErrRange if another setting is out of its range.
func (s Settings) Validate() error {
	within := func(value, low, high int64) bool { return low <= value && value <= high }
	if !within(s.Promote, 0, ThresholdMax) || !within(s.Demote, 0, ThresholdMax) ||
		!within(s.Emergency, 0, ThresholdMax) || s.Metric > Bytes {
		return ErrRange
	}
	if s.Promote == 0 {
		return nil
	}
	if s.Demote < 1 || s.Demote >= s.Promote {
		return ErrThresholds
	}
	const nsMax = secondsMax * int64(time.Second)
	if !within(int64(s.PromoteWindows), 1, WindowsMax) || !within(int64(s.DemoteWindows), 1, WindowsMax) ||
		!within(s.HoldNs, 0, nsMax) || !within(s.CooldownNs, 0, nsMax) ||
		s.EmergencyCPUPercent < 0 || s.EmergencyLatencyMs < 0 || !within(int64(s.EmergencySharePercent), 0, 100) {
		return ErrRange
	}
	return nil
}

// On reports whether control is on.
func (s Settings) On() bool { return s.Promote > 0 }

// Watches reports whether limits of the whole server are set, so that somebody
// has to look at its load.
func (s Settings) Watches() bool {
	return s.On() && (s.EmergencyCPUPercent > 0 || s.EmergencyLatencyMs > 0)
}

// Exceeded reports whether the server is at or above one of its limits, which
// is when Emergency is to be called for the live window's top key.
func (s Settings) Exceeded(cpuPercent, latencyMs float64) bool {
	return s.On() &&
		(s.EmergencyCPUPercent > 0 && cpuPercent >= float64(s.EmergencyCPUPercent) ||
			s.EmergencyLatencyMs > 0 && latencyMs >= float64(s.EmergencyLatencyMs))
}
