package server

import (
	"errors"
	"math"
	"time"

	"kvserver/hotkeys"
	"kvserver/info"
)

var hotkeysRows = []row{
	{"hotkeys", -2, 0, nil, "9.2.0", "A container for hot key tracking commands.", nil},
}

// All are exclusive: they rotate, read or clear the windows of every slot.
var hotkeysSubRows = []row{
	{"get", -2, admin | loading | stale | exclusive, nil, "9.2.0", "Returns the hottest keys of the last completed window.", hotkeysGet},
	{"help", 2, loading | stale, nil, "9.2.0", "Returns helpful text about the different subcommands.", hotkeysHelp},
	{"history", -2, admin | loading | stale | exclusive, nil, "0.1.0", "Returns the windows of the recent past with their hottest keys.", hotkeysHistory},
	{"reset", 2, admin | loading | stale | exclusive, nil, "9.2.0", "Discards all windows and begins a new one.", hotkeysReset},
	{"start", -2, admin | noscript | exclusive, nil, "8.6.0", "Starts hotkeys tracking.", hotkeysStart},
	{"stop", 2, admin | noscript | exclusive, nil, "8.6.0", "Stops hotkeys tracking.", hotkeysStop},
}

// hotkeysGet reports the frozen window. Inside EXEC it does not rotate: the transaction's own accesses must
// stay in one window.
func hotkeysGet(c *client, args [][]byte) {
	if c.sessionReport(args) {
		return
	}
	o, ok := c.hotkeysOptions(args[2:])
	if !ok {
		return
	}
	if !c.inExec {
		c.s.tracker.Rotate()
	}
	report := c.s.tracker.Report(hotkeys.Query{By: o.by, DB: o.db, Count: o.count})
	c.array(len(report.Entries))
	for _, e := range report.Entries {
		fields := 3
		if o.measured {
			fields += evidenceFields
		}
		c.mapping(fields)
		c.bulkString("key")
		c.bulk(e.Key)
		c.bulkString("db")
		c.int(int64(e.DB))
		c.bulkString("qps")
		c.int(report.QPS(e))
		if o.measured {
			c.evidence(&report, e)
		}
	}
}

func hotkeysReset(c *client, _ [][]byte) {
	if !c.freeSession() {
		return
	}
	c.s.forgetWindows()
	c.ok()
}

func hotkeysHelp(c *client, _ [][]byte) {
	c.help("hotkeys", append([]string{
		"GET [COUNT count] [DB db] [TYPE ALL|READ|WRITE] [WITHSTATS]",
		"    Return the hottest keys of the last completed window: key, database, accesses per second.",
		"    Options are:",
		"    * COUNT count: report at most count keys.",
		"    * DB db: report keys of one database only.",
		"    * TYPE (ALL|READ|WRITE): rank by all accesses (default), by those that read, or by those that wrote.",
		"    * WITHSTATS: also return how sure the rate is, what it consists of and what it costs.",
		"HISTORY [COUNT windows] [KEY key] [DB db]",
		"    Return the windows of the recent past with their hottest keys, the newest first.",
		"RESET",
		"    Discard the window in progress, the last completed one and the history, or the report of a session.",
		"START METRICS count [CPU] [NET] [COUNT k] [DURATION seconds] [SAMPLE ratio] [SLOTS count slot [slot ...]]",
		"    Begin a session, which ranks keys by the time and the bytes that they take, and which GET then reports.",
		"STOP",
		"    End the session. GET reports it until RESET.",
	}, hotControlHelp...)...)
}

// hotkeysBytes is the memory that hot keys take.
func (s *Server) hotkeysBytes() int64 {
	return s.tracker.MemoryBytes() + s.history.MemoryBytes() + s.sessionBytes()
}

// configureTracking applies the hotkeys-* parameters. The caller holds the gate.
func (s *Server) configureTracking() error {
	p := s.params
	err := s.tracker.Configure(hotkeys.Options{
		TopK:       int(p.hotkeysTopK.Get()),
		Percentage: int(p.hotkeysSampling.Get()),
		Window:     time.Duration(p.hotkeysWindow.Get()) * time.Second,
		Counters:   int(p.hotkeysCounters.Get()),
		Measures:   p.hotkeysMeasures.Get() || p.control.needsMeasures(),
		Hold:       p.hotkeysHold.Get(),
	})
	if err != nil {
		return err
	}
	for _, sl := range s.gate.slots {
		sl.rec = s.tracker.Recorder(sl.index)
	}
	s.configureHistory()
	if p.hotkeysTopK.Get() == 0 {
		s.reports.clear()
	}
	return nil
}

// windowEnded hears of every live window that has ended. The gate is closed.
func (s *Server) windowEnded(w hotkeys.Window) {
	s.recordWindow(w)
	s.controlWindow(w)
}

var errCountersBelowTopK = errors.New("hotkeys-counters must be 0 (automatic) or at least hotkeys-top-k")

func (s *Server) hotkeysInfo(w *info.Writer) {
	samples, duration := s.tracker.LastWindow()
	w.Int("hotkeys_last_window_samples", int64(samples))
	w.Int("hotkeys_last_window_duration_ms", duration.Milliseconds())
	counts := s.tracker.Counts()
	w.Int("hotkeys_windows_completed", int64(counts.Completed))
	w.Int("hotkeys_windows_discarded", int64(counts.Discarded))
	w.Int("hotkeys_tracked_counters", int64(counts.Tracked))
	w.Int("hotkeys_memory_bytes", s.hotkeysBytes())
	w.Int("hotkeys_detection_floor_qps", int64(math.Ceil(counts.Floor)))
	s.sessionInfo(w)
	s.controlInfo(w)
}
