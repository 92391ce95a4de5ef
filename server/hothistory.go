package server

import (
	"bytes"
	"time"

	"kvserver/hotkeys"
)

// hotkeysHistory answers with past windows, the newest first. Inside EXEC it does not rotate, as hotkeysGet.
func hotkeysHistory(c *client, args [][]byte) {
	o, ok := c.hotkeysOptions(args[2:])
	if !ok {
		return
	}
	if !c.inExec {
		c.s.tracker.Rotate()
	}
	count := o.count
	if count == 0 {
		count = hotkeys.HistoryLengthMax
	}
	c.deferred(func() (n int) {
		for w := range c.s.history.Recent(count) {
			c.pastWindow(w, o)
			n++
			if c.over {
				break
			}
		}
		return n
	})
}

// pastWindow answers with a window and those of its keys that were asked for. All windows have the same fields; what is not
// known of one that was discarded is null.
func (c *client) pastWindow(w *hotkeys.Past, o hotkeysOptions) {
	known := func(name string, n int64) {
		c.bulkString(name)
		if w.Discarded {
			c.null()
		} else {
			c.int(n)
		}
	}
	c.mapping(8)
	c.bulkString("begin")
	c.int(w.BeginMs)
	c.bulkString("duration")
	c.int(w.Duration.Milliseconds())
	c.bulkString("discarded")
	c.flag(w.Discarded)
	known("samples", int64(w.Samples))
	known("percentage", int64(w.Percentage))
	known("qps", w.QPS)
	known("floor-qps", w.Floor)
	c.bulkString("entries")
	if w.Discarded {
		c.nullArray()
		return
	}
	c.deferred(func() (n int) {
		for k := range w.Keys() {
			if (o.db == hotkeys.AllDBs || o.db == k.DB) && (o.key == nil || bytes.Equal(o.key, k.Key)) {
				c.pastKey(k)
				n++
			}
		}
		return n
	})
}

func (c *client) pastKey(k hotkeys.PastKey) {
	c.mapping(7)
	c.bulkString("key")
	c.bulk(k.Key)
	c.bulkString("db")
	c.int(int64(k.DB))
	for _, rate := range []struct {
		name      string
		perSecond int64
	}{{"qps", k.QPS}, {"qps-low", k.Low}, {"qps-high", k.High}, {"read-qps", k.Reads}, {"write-qps", k.Writes}} {
		c.bulkString(rate.name)
		c.int(rate.perSecond)
	}
}

// recordWindow keeps what is known of a window that has ended. The gate is closed.
func (s *Server) recordWindow(w hotkeys.Window) {
	if s.history.Length() == 0 {
		return
	}
	// The clock of the windows is monotonic. What time it was is settled now: later the system's clock may have been set,
	// and a window must have the same beginning whenever it is asked for.
	beginMs := time.Now().UnixMilli() - (s.monotonicNs()-w.Begin)/1e6
	if w.Discarded {
		s.history.AddDiscarded(beginMs, time.Duration(w.End-w.Begin))
		return
	}
	report := s.tracker.Report(hotkeys.Query{DB: hotkeys.AllDBs})
	s.history.Add(beginMs, &report)
}

// configureHistory applies hotkeys-history-length. While tracking is off there is no history.
func (s *Server) configureHistory() {
	if s.params.hotkeysTopK.Get() == 0 {
		s.history.SetLength(0)
		return
	}
	s.history.SetLength(int(s.params.hotkeysHistory.Get()))
}

// forgetWindows discards all windows, past ones too. The gate is closed.
func (s *Server) forgetWindows() {
	s.tracker.Reset()
	s.history.Clear()
}
