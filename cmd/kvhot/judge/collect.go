package judge

import (
	"time"

	"kvserver/cmd/kvhot/node"
)

// sequence finds out which reports are of new windows, and from when on.
type sequence struct {
	last  node.Report
	taken time.Time // when the last report that was of a new window came; zero: none
}

// next reports whether a report is of a new window, and when that began.
func (s *sequence) next(r node.Report) (begin time.Time, fresh bool) {
	length := Length(r)
	if !s.taken.IsZero() && r.At.Sub(s.taken) < length && same(r, s.last) {
		return time.Time{}, false
	}
	begin = r.At.Add(-length)
	if !s.taken.IsZero() && r.At.Sub(s.taken) < 2*length {
		begin = s.taken
	}
	s.last, s.taken = r, r.At
	return begin, true
}

// known reports whether a report tells of a window.
func known(r node.Report) bool { return r.WindowMs != 0 && r.TopK != 0 }

// collectedMax is the most windows that a Collector keeps, as many as kvserver does.
const collectedMax = 3600

// Collector makes a history of the reports of a server that keeps none. Its zero value is ready.
type Collector struct {
	sequence
	windows []node.Window
}

// Empty reports whether there was no report yet.
func (c *Collector) Empty() bool { return len(c.windows) == 0 }

// Take adds a report's window, and a discarded one for a time of which there was no report.
func (c *Collector) Take(r node.Report) {
	before := c.taken
	begin, fresh := c.next(r)
	if !fresh {
		return
	}
	if !before.IsZero() && begin.After(before) {
		c.add(node.Window{Begin: before, Duration: begin.Sub(before), Discarded: true})
	}
	w := node.Window{Begin: begin, Duration: r.At.Sub(begin), Samples: r.Samples, Discarded: !known(r)}
	if !w.Discarded {
		w.Entries = r.Entries
	}
	c.add(w)
}

func (c *Collector) add(w node.Window) {
	c.windows = append(c.windows, w)
	c.windows = c.windows[max(len(c.windows)-collectedMax, 0):]
}

// Windows returns what was collected, oldest first.
func (c *Collector) Windows(q node.HistoryQuery) []node.Window {
	list := c.windows
	if q.Windows > 0 {
		list = list[max(len(list)-q.Windows, 0):]
	}
	windows := make([]node.Window, len(list))
	for i, w := range list {
		windows[i] = w
		windows[i].Entries = nil
		for _, e := range w.Entries {
			if !q.Named || e.Key == q.Key && (q.DB < 0 || e.DB == q.DB) {
				windows[i].Entries = append(windows[i].Entries, e)
			}
		}
	}
	return windows
}
