package server

import (
	"math"
	"strings"
	"sync"

	"kvserver/hotkeys"
	"kvserver/hotkeys/control"
)

// Clients that keep copies of a hot key serve most of its accesses themselves, and tell how many: HOTKEYS REPORT. Without
// that a key whose mitigation works looks as if nobody wanted it any more. Reports belong to the window in which they
// arrive, whatever time they are about, and are discarded with it.

// Limits on the reports of one window. A client reports hot keys, of which there are few.
const (
	reportedKeysMax      = 4096
	reportedNameBytesMax = reportedKeysMax << 10
	// reportedAccessesMax is the most that one report may tell. The sum of as many as a window can have still has a rate.
	reportedAccessesMax = 1e12
)

// hotReports are the reports of the live window, and of the one that ended last.
type hotReports struct {
	mu sync.Mutex
	// mu guards the live window's. It is a leaf.
	live      map[control.Key]*reported
	nameBytes int // of the keys in live

	ended map[control.Key]*reported // changes only under the gate
}

// reported is what clients told of one key.
type reported struct {
	accesses uint64
	listed   bool // the tracker has the key too
}

// add counts a report and returns false if that is beyond the limits.
func (r *hotReports) add(key control.Key, accesses uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	rep := r.live[key]
	if rep == nil {
		if len(r.live) == reportedKeysMax || r.nameBytes+len(key.Name) > reportedNameBytesMax {
			return false
		}
		if r.live == nil {
			r.live = make(map[control.Key]*reported)
		}
		key.Name = strings.Clone(key.Name)
		rep = new(reported)
		r.live[key] = rep
		r.nameBytes += len(key.Name)
	}
	if rep.accesses += accesses; rep.accesses < accesses {
		rep.accesses = math.MaxUint64
	}
	return true
}

// rotate ends the live window.
func (r *hotReports) rotate(discarded bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !discarded {
		r.ended = r.live
	}
	r.live, r.nameBytes = nil, 0
}

// clear forgets all reports.
func (r *hotReports) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live, r.nameBytes, r.ended = nil, 0, nil
}

// forget drops what was reported about the keys of a database.
func (r *hotReports) forget(db int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range r.live {
		if key.DB == db {
			delete(r.live, key)
			r.nameBytes -= len(key.Name)
		}
	}
	for key := range r.ended {
		if key.DB == db {
			delete(r.ended, key)
		}
	}
}

// reportedQPS is how many accesses per second of a key clients told, in the last completed window, that they served themselves.
// The caller holds the gate.
func (s *Server) reportedQPS(r *hotkeys.Report, e hotkeys.Entry) float64 {
	rep := s.reports.ended[keyOf(e)]
	if rep == nil {
		return 0
	}
	return float64(rep.accesses) / r.Duration.Seconds()
}

// hotkeysReport closes no gate: every client that serves from copies sends one now and then. The live window cannot end
// meanwhile, since the slot is held.
func hotkeysReport(c *client, args [][]byte) {
	accesses, ok := parseInt(args[3])
	if !ok {
		c.fail(errNotInteger)
		return
	}
	if accesses < 0 || accesses > reportedAccessesMax {
		c.failf("ERR accesses must be between 0 and %d", int64(reportedAccessesMax))
		return
	}
	key, ok := c.hotKey(args[2], args[4:])
	if !ok {
		return
	}
	if c.slot.rec == nil {
		c.fail("ERR hot key tracking is off (hotkeys-top-k is 0)")
		return
	}
	if accesses > 0 && !c.s.reports.add(key, uint64(accesses)) {
		c.failf("ERR too many keys are reported in this window: at most %d, with names of %d bytes together", reportedKeysMax, reportedNameBytesMax)
		return
	}
	c.ok()
}
