package node

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Window is one completed window of a server's history.
type Window struct {
	Begin    time.Time
	Duration time.Duration
	Samples  float64
	// Discarded: nothing is known of this time.
	Discarded bool
	Entries   []Entry
}

// End is when the window ended.
func (w Window) End() time.Time { return w.Begin.Add(w.Duration) }

// HistoryQuery says which part of the history to report.
type HistoryQuery struct {
	Windows int    // 0: all
	Key     string // with Named: only the entries of this key
	DB      int    // -1: all
	Named   bool
}

// History asks for the completed windows that the server keeps and returns them oldest first.
func (n *Node) History(ctx context.Context, q HistoryQuery) (_ []Window, err error) {
	defer n.malformed(&err)
	args := []any{"HOTKEYS", "HISTORY"}
	if q.Windows > 0 {
		args = append(args, "COUNT", q.Windows)
	}
	if q.Named {
		args = append(args, "KEY", q.Key)
		if q.DB >= 0 {
			args = append(args, "DB", q.DB)
		}
	}
	list, err := n.client.Do(ctx, args...).Slice()
	if err != nil {
		switch {
		case !answered(err):
			n.lost()
		case strings.HasPrefix(strings.ToLower(err.Error()), "err unknown command"):
			return nil, ErrNoHotKeys
		case strings.HasPrefix(strings.ToLower(err.Error()), "err unknown subcommand"):
			return nil, ErrNoHistory
		}
		return nil, err
	}
	windows := make([]Window, len(list))
	for i, v := range list {
		if windows[len(list)-1-i], err = windowOf(v, q.DB); err != nil {
			return nil, err
		}
	}
	return windows, nil
}

// windowOf reads one window and keeps the entries of a database.
func windowOf(v any, db int) (Window, error) {
	f, err := fieldsOf(v)
	if err != nil {
		return Window{}, err
	}
	begin := f.number("begin")
	duration, ok := f.millis("duration", "duration-ms")
	if math.IsNaN(begin) || !ok {
		return Window{}, errors.New("a window without begin and duration")
	}
	w := Window{Begin: time.UnixMilli(int64(begin)), Duration: duration,
		Samples: f.number("samples"), Discarded: f.number("discarded") == 1}
	all, err := entriesOf(f.list("entries"))
	if err != nil {
		return Window{}, fmt.Errorf("a window's entries: %w", err)
	}
	for _, e := range all {
		if db < 0 || e.DB == db {
			w.Entries = append(w.Entries, e)
		}
	}
	return w, nil
}
