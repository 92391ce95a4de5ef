package web

import "time"

// Snapshot is what the server knows at one moment, as far as its pages tell of it. Whoever takes one gives its memory away:
// nothing in it changes afterwards.
type Snapshot struct {
	Taken    time.Time
	Node     Node
	Tracking Tracking
	Window   Window          // the last completed; its length is 0 if there is none
	Keys     [rankings][]Key // of that window, by ranking, hottest first; the metrics tell of ByAccesses
	History  []Past          // the latest HistoryMax windows, oldest first
	Control  Control
	Commands []CommandUse // of commands that were called, by name
}

// Ranking is what keys are ordered by.
type Ranking int

// The rankings, as HOTKEYS GET TYPE has them.
const (
	ByAccesses Ranking = iota
	ByReads
	ByWrites
	rankings
)

// Node is the server as a whole: what INFO tells of it.
type Node struct {
	Version string
	Started time.Time

	Clients        int64
	BlockedClients int64
	Connections    int64 // accepted since the start
	Rejected       int64 // connections refused since the start
	InBytes        int64 // of requests that were run
	OutBytes       int64 // of replies
	Hits, Misses   int64 // lookups of keys
	Expired        int64
	Evicted        int64
	Errors         int64 // error replies
	MemoryUsed     int64 // bytes
	MemoryMax      int64 // bytes; 0: no limit
	Databases      []Database
}

// Database is one that has keys.
type Database struct {
	Index    int
	Keys     int64
	Volatile int64 // keys that expire
}

// CommandUse sums a command's calls since the start, or since CONFIG RESETSTAT.
type CommandUse struct {
	Name                    string
	Calls, Rejected, Failed int64
	Took                    time.Duration
}

// Tracking is how hot keys are looked for, and what that costs.
type Tracking struct {
	On          bool
	TopK        int
	Percentage  int // of accesses recorded
	Length      time.Duration
	Hold        bool // sample and hold
	Counters    int64
	MemoryBytes int64
	Completed   uint64        // windows
	Discarded   uint64        // windows
	Next        time.Duration // until the live window ends
	Session     bool          // a tracking session takes the place of windows
}

// Window is a completed window.
type Window struct {
	Begin   time.Time
	Length  time.Duration
	Samples uint64
	Rate    float64 // accesses per second
	Floor   float64 // accesses per second above which a key is tracked
}

// Key is a key of the window with its measures. Rates are per second.
type Key struct {
	Name   string // as Cut returns it
	Digest uint32 // likewise
	Length int    // of the whole name, bytes
	DB     int
	Type   string // of its value; "none" if there is none

	State string // of the controller: normal, warming or hot

	Samples         uint64
	Rate, Low, High float64 // accesses, and the bounds between which they are
	Reads, Writes   float64 // accesses
	Share           float64 // of the window's accesses, 0 to 1
	Certain         bool    // that it is hotter than what is not tracked
	Reported        float64 // accesses that clients said they served themselves, not in Rate

	Measured          bool    // that what follows is known: it costs something to find out
	Misses            float64 // accesses
	InBytes, OutBytes float64
	CPU               float64 // microseconds

	Past []float64 // rates in the windows of the history, NaN where it was not listed; nil: nowhere
}

// NameBytesMax is how much of a key's name the pages need: names may be of a megabyte, and a thousand of them listed.
const NameBytesMax = 512

// Past is a window of the history.
type Past struct {
	Begin   time.Time
	Length  time.Duration
	Samples uint64
	Rate    float64 // accesses per second
	Known   bool    // false: the window was discarded, and what happened in it is not known
}

// Control is the controller: its settings, the keys that it watches, and what it has done.
type Control struct {
	On             bool
	Metric         string  // that the thresholds are stated in: qps, cpu or bytes
	Promote        float64 // hotkeys-promote-qps
	Demote         float64 // hotkeys-demote-qps
	PromoteWindows int
	DemoteWindows  int
	Hold           time.Duration
	States         []KeyState // the first StatesMax
	Warming, Hot   int        // keys

	Promotions, Aborted, Demotions uint64
	Emergencies, FalsePromotions   uint64
	HotTime                        time.Duration // of all keys together
}

// Limits on what is told of the past and of the controller. Both can be larger than anybody looks at.
const (
	HistoryMax = 120 // windows
	StatesMax  = 1000
)

// KeyState is a key that is not in its normal state.
type KeyState struct {
	Name     string // as Cut returns it
	Digest   uint32 // likewise
	Length   int    // of the whole name, bytes
	DB       int
	State    string // warming or hot
	Pinned   bool
	Since    time.Time
	Demand   float64       // in the metric of the controller
	Evidence int           // windows that speak for the next state
	HoldLeft time.Duration // before it may be demoted
}
