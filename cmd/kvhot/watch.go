package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"kvserver/cmd/kvhot/export"
	"kvserver/cmd/kvhot/judge"
	"kvserver/cmd/kvhot/node"
	"kvserver/cmd/kvhot/quote"
	"kvserver/cmd/kvhot/table"
	"kvserver/hotkeys/control"
)

// watchOptions are thresholds of kvhot's own; Promote is 0 if the servers' controllers decide.
type watchOptions struct {
	control.Settings
	hold time.Duration
}

// retryPause is between two tries to reach a server.
const retryPause = time.Second

func watchFlags(fs *pflag.FlagSet, o *options) {
	s := &o.watch.Settings
	*s = control.Defaults()
	fs.IntVarP(&o.db, "db", "n", -1, "database; -1: all")
	fs.Int64Var(&s.Promote, "promote-qps", 0, "decide here, for servers that do not: accesses per second that make a key warming")
	fs.IntVar(&s.PromoteWindows, "promote-windows", s.PromoteWindows, "windows at that rate that make it hot")
	fs.Int64Var(&s.Demote, "demote-qps", 0, "accesses per second at or below which it may be normal again; 0: three quarters of promote-qps")
	fs.IntVar(&s.DemoteWindows, "demote-windows", s.DemoteWindows, "windows at that rate that make it so")
	fs.DurationVar(&o.watch.hold, "hold", time.Duration(s.HoldNs), "least time that it is hot")
}

func checkWatch(o *options) error {
	s := &o.watch.Settings
	s.HoldNs = o.watch.hold.Nanoseconds()
	if s.Demote == 0 {
		s.Demote = s.Promote * 3 / 4
	}
	if err := s.Validate(); err != nil {
		return err
	}
	if s.On() && o.once {
		return errors.New("--once tells what servers know: it goes without --promote-qps")
	}
	return nil
}

// watcher writes what happens on all nodes. Its methods may be called by several goroutines.
type watcher struct {
	o   *options
	out output

	mu    sync.Mutex // guards what follows, and out
	write func(address string, e node.Event, current bool) error
	// states are those last told of each node's keys, so that after a lost connection the changes are told.
	states map[*node.Node]map[control.Key]string
	warned map[*node.Node]string // what was last said of each, "" after it was well
}

// watch prints transitions as they happen, after what is hot already.
func watch(ctx context.Context, o *options, out output) error {
	w := &watcher{o: o, out: out, states: map[*node.Node]map[control.Key]string{}, warned: map[*node.Node]string{}}
	switch {
	case o.json:
		w.write = export.NewJSON(out).Event
	case o.csv:
		w.write = export.NewCSV(out, export.EventHead).Event
	default:
		w.write = w.line
	}
	if o.once {
		var failed []error
		for _, n := range o.nodes {
			failed = append(failed, named(n, w.found(ctx, n)))
		}
		return errors.Join(failed...)
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var wait sync.WaitGroup
	for _, n := range o.nodes {
		wait.Go(func() {
			follow := w.listen
			if o.watch.On() {
				follow = w.poll
			}
			if err := follow(ctx, n); err != nil {
				end(named(n, err))
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

// named says which node an error is of.
func named(n *node.Node, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", n.Address, err)
}

// line writes an event for people.
func (w *watcher) line(address string, e node.Event, current bool) error {
	when := "                   "
	if !e.At.IsZero() {
		when = e.At.Format("2006-01-02 15:04:05")
	}
	note := ""
	if current {
		note = "  (found)"
	}
	if len(w.o.nodes) > 1 {
		note += "  at " + address
	}
	_, err := fmt.Fprintf(w.out, "%s  %-9s %6s  db %d  %s%s\n", when, quote.Text(e.Name), table.Rate(e.Demand), e.DB, quote.Text(e.Key), note)
	return err
}

// tell writes an event, unless it is of a database that was not asked for.
func (w *watcher) tell(n *node.Node, e node.Event, current bool) error {
	if w.o.db >= 0 && e.DB != w.o.db {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.states[n] == nil {
		w.states[n] = map[control.Key]string{}
	}
	key := control.Key{Name: e.Key, DB: e.DB}
	switch e.Name {
	case "warming", "hot":
		w.states[n][key] = e.Name
	case "normal", "aborted":
		delete(w.states[n], key)
	}
	return w.write(n.Address, e, current)
}

// warn writes a line that is no event, once as long as it stays so.
func (w *watcher) warn(n *node.Node, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.warned[n] == text {
		return
	}
	w.warned[n] = text
	fmt.Fprintf(w.out.errors, "kvhot: %s: %s\n", n.Address, quote.Sentence(text))
}

// well says that a node is.
func (w *watcher) well(n *node.Node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.warned, n)
}

// found asks for a node's states and tells those that differ from what was told before.
func (w *watcher) found(ctx context.Context, n *node.Node) error {
	states, err := n.States(ctx)
	if err != nil {
		return err
	}
	w.mu.Lock()
	gone := w.states[n]
	w.mu.Unlock()
	missing := make(map[control.Key]bool, len(gone))
	for key := range gone {
		missing[key] = true
	}
	for _, s := range states {
		key := control.Key{Name: s.Key, DB: s.DB}
		delete(missing, key)
		if gone[key] == s.State {
			continue
		}
		if err := w.tell(n, node.Event{At: s.Since, Name: s.State, Key: s.Key, DB: s.DB, Demand: s.Demand}, true); err != nil {
			return err
		}
	}
	for key := range missing {
		if err := w.tell(n, node.Event{Name: "normal", Key: key.Name, DB: key.DB, Demand: math.NaN()}, true); err != nil {
			return err
		}
	}
	return nil
}

// listen tells what a node's controller publishes, again after every loss of the connection, until ctx ends.
func (w *watcher) listen(ctx context.Context, n *node.Node) error {
	for {
		var failed error // of writing
		err := n.Listen(ctx, func() error {
			w.well(n)
			if !n.Controlled(ctx) {
				w.warn(n, "the controller is off: CONFIG SET hotkeys-promote-qps turns it on")
			}
			failed = w.found(ctx, n)
			return failed
		}, func(e node.Event) { failed = errors.Join(failed, w.tell(n, e, false)) })
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, node.ErrNoControl):
			return fmt.Errorf("%w; --promote-qps lets kvhot decide", err)
		}
		w.warn(n, fmt.Sprintf("%v; trying again", err))
		if !pause(ctx, retryPause) {
			return nil
		}
	}
}

// poll tells what kvhot's own thresholds make of a node's reports, until ctx ends.
func (w *watcher) poll(ctx context.Context, n *node.Node) error {
	j, err := judge.New(w.o.watch.Settings, time.Now())
	if err != nil {
		return err
	}
	for {
		r, err := n.Hot(ctx, node.Query{By: node.ByAll, DB: w.o.db})
		wait := retryPause
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			w.warn(n, fmt.Sprintf("%v; trying again", err))
		case r.TopK == 0:
			w.warn(n, "tracking is off: CONFIG SET hotkeys-top-k 16 turns it on")
		default:
			w.well(n)
			wait = judge.Length(r) / 2
			for _, e := range j.Take(r) {
				if err := w.tell(n, e, false); err != nil {
					return err
				}
			}
		}
		if !pause(ctx, wait) {
			return nil
		}
	}
}

// pause waits, and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
