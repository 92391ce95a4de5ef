package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/spf13/pflag"

	"kvserver/cmd/kvhot/export"
	"kvserver/cmd/kvhot/merge"
	"kvserver/cmd/kvhot/node"
	"kvserver/cmd/kvhot/quote"
	"kvserver/cmd/kvhot/screen"
	"kvserver/cmd/kvhot/table"
)

func topFlags(fs *pflag.FlagSet, o *options) {
	fs.IntVar(&o.count, "count", 0, "keys to show; 0: as many as the servers are set to report")
	fs.IntVarP(&o.db, "db", "n", -1, "database; -1: all")
	fs.StringVar(&o.byText, "type", "all", "order by all accesses, read or write")
}

func checkTop(o *options) error {
	o.by = node.Ranking(strings.ToUpper(o.byText))
	switch o.by {
	case node.ByAll, node.ByReads, node.ByWrites:
		return nil
	}
	return fmt.Errorf("--type %s: all, read or write", o.byText)
}

// top shows the hottest keys: as a live table in a terminal, else as text, JSON or CSV.
func top(ctx context.Context, o *options, out output) error {
	columns, _ := out.size()
	var failed error
	write := func(v merge.View) error {
		_, err := fmt.Fprintln(out, table.Text(v, columns))
		return err
	}
	switch {
	case o.json:
		write = export.NewJSON(out).View
	case o.csv:
		w := export.NewCSV(out, export.ViewHead)
		write = func(v merge.View) error {
			// CSV has no place for failures: each is told once.
			if err := failures(v); !o.once && fmt.Sprint(err) != fmt.Sprint(failed) {
				if failed = err; err != nil {
					fmt.Fprintln(out.errors, "kvhot:", quote.Sentence(err.Error()))
				}
			}
			return w.View(v)
		}
	case columns > 0 && !o.once:
		terminal, err := tcell.NewScreen()
		if err != nil {
			return fmt.Errorf("terminal: %w (--once needs none)", err)
		}
		return screen.Run(ctx, terminal, o.ask, o.by, duration(o.interval))
	}
	return every(ctx, duration(o.interval), func() (bool, error) {
		v := o.ask(ctx, o.by)
		if err := ctx.Err(); err != nil {
			return true, err
		}
		if err := write(v); err != nil {
			return true, err
		}
		return o.once, failures(v)
	})
}

// every calls do at once and then at an interval until it says that it is done, or ctx ends. What fails is only an error
// of the last time: servers come back.
func every(ctx context.Context, interval time.Duration, do func() (done bool, err error)) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if done, err := do(); done {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// failures is an error if nodes could not be asked.
func failures(v merge.View) error {
	var list []error
	for _, n := range v.Nodes {
		if n.Err != nil {
			list = append(list, fmt.Errorf("%s: %w", n.Address, n.Err))
		}
	}
	return errors.Join(list...)
}

// lateAfter is how long a refresh waits for its nodes, if the interval is not longer: one that hangs must not keep the others
// from being seen.
const lateAfter = time.Second

// errLate is of a node that has been asked.
var errLate = errors.New("no answer yet")

// answer is what one node said.
type answer struct {
	by node.Ranking
	merge.Result
}

// ask asks all nodes at the same time. One that is late is not asked again before it has answered or failed.
func (o *options) ask(ctx context.Context, by node.Ranking) merge.View {
	if o.late == nil {
		o.late = make([]chan answer, len(o.nodes))
	}
	patience := max(lateAfter, duration(o.interval))
	if o.once {
		patience = 2 * duration(o.timeout) // what is asked fails before
	}
	enough, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for i, n := range o.nodes {
		if o.late[i] == nil {
			o.late[i] = make(chan answer, 1)
			go o.askOne(ctx, n, by, o.late[i])
		}
	}
	results := make([]merge.Result, len(o.nodes))
	for i, n := range o.nodes {
		results[i] = merge.Result{Address: n.Address, Err: errLate}
		if a, ok := receive(enough, o.late[i]); ok {
			o.late[i] = nil
			if a.by == by { // else the user has changed his mind
				results[i] = a.Result
			}
		}
	}
	return merge.Of(time.Now(), by, results, o.count)
}

// receive waits for an answer as long as ctx goes on, and takes one that is there in any case.
func receive(ctx context.Context, from <-chan answer) (a answer, ok bool) {
	select {
	case a = <-from:
		return a, true
	case <-ctx.Done():
	}
	select {
	case a = <-from:
		return a, true
	default:
		return a, false
	}
}

// askOne asks a node.
func (o *options) askOne(ctx context.Context, n *node.Node, by node.Ranking, to chan<- answer) {
	ctx, cancel := context.WithTimeout(ctx, duration(o.timeout))
	defer cancel()
	report, err := n.Hot(ctx, node.Query{By: by, DB: o.db, Count: o.count})
	if node.IsTimeout(err) {
		err = fmt.Errorf("no answer within %v", duration(o.timeout))
	}
	to <- answer{by, merge.Result{Address: n.Address, Report: report, Err: err}}
}
