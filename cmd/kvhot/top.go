package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
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

// ask asks all nodes at the same time.
func (o *options) ask(ctx context.Context, by node.Ranking) merge.View {
	results := make([]merge.Result, len(o.nodes))
	var wait sync.WaitGroup
	for i, n := range o.nodes {
		wait.Go(func() {
			report, err := n.Hot(ctx, node.Query{By: by, DB: o.db, Count: o.count})
			results[i] = merge.Result{Address: n.Address, Report: report, Err: err}
		})
	}
	wait.Wait()
	return merge.Of(time.Now(), by, results, o.count)
}
