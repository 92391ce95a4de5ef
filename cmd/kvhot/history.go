package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"kvserver/cmd/kvhot/export"
	"kvserver/cmd/kvhot/judge"
	"kvserver/cmd/kvhot/node"
	"kvserver/cmd/kvhot/plot"
)

// historyOptions say what of the past to draw, and where.
type historyOptions struct {
	windows int
	quoted  bool
	png     string
	height  int
	collect time.Duration

	query node.HistoryQuery
}

// The plot's size where there is no terminal to take it from.
const (
	columnsDefault = 80
	heightDefault  = 20
	heightMax      = 200
	collectMax     = 24 * time.Hour
)

func historyFlags(fs *pflag.FlagSet, o *options) {
	h := &o.history
	fs.IntVar(&h.windows, "windows", 0, "the last so many windows; 0: all that the servers keep")
	fs.IntVar(&o.count, "count", 5, "keys with most accesses to draw, if none is named")
	fs.IntVarP(&o.db, "db", "n", -1, "database; -1: all")
	fs.BoolVar(&h.quoted, "quoted-input", false, `the key is written as kvhot shows it: "\xff" is a byte`)
	fs.StringVar(&h.png, "png", "", "write a picture to this file; -: to the output")
	fs.IntVar(&h.height, "height", heightDefault, "lines of the plot")
	fs.DurationVar(&h.collect, "collect", 0, "collect windows for so long, from servers that keep no history")
}

func checkHistory(o *options) error {
	h := &o.history
	switch {
	case h.windows < 0:
		return fmt.Errorf("--windows %d: not below 0", h.windows)
	case o.count < 1 || o.count > plot.SeriesMax:
		return fmt.Errorf("--count %d: from 1 to %d", o.count, plot.SeriesMax)
	case h.height < 4 || h.height > heightMax:
		return fmt.Errorf("--height %d: from 4 to %d", h.height, heightMax)
	case h.collect < 0 || h.collect > collectMax:
		return fmt.Errorf("--collect %v: at most %v", h.collect, collectMax)
	case h.png != "" && (o.json || o.csv):
		return errors.New("--png goes without --json and --csv")
	}
	h.query = node.HistoryQuery{Windows: h.windows, DB: o.db}
	if len(o.args) == 0 {
		return nil
	}
	h.query.Key, h.query.Named = o.args[0], true
	if h.quoted {
		key, err := strconv.Unquote(`"` + o.args[0] + `"`)
		if err != nil {
			return fmt.Errorf("key %s: not as kvhot shows keys", o.args[0])
		}
		h.query.Key = key
	}
	return nil
}

// history draws the past windows of all nodes, or writes them.
func history(ctx context.Context, o *options, out output) error {
	pasts, err := o.pasts(ctx)
	if err != nil {
		return err
	}
	switch h := o.history; {
	case o.json || o.csv:
		w := export.NewJSON(out)
		if o.csv {
			w = export.NewCSV(out, export.WindowHead)
		}
		for _, p := range pasts {
			for _, past := range p.Windows {
				if err := w.Window(p.Address, past); err != nil {
					return err
				}
			}
		}
		return nil
	case h.png == "-":
		return o.picture(out, pasts)
	case h.png != "":
		f, err := os.Create(h.png)
		if err != nil {
			return err
		}
		return errors.Join(o.picture(f, pasts), f.Close())
	}
	columns, _ := out.size()
	colored := columns > 0 && os.Getenv("NO_COLOR") == ""
	if columns == 0 {
		columns = columnsDefault
	}
	_, err = io.WriteString(out, plot.Terminal(plot.Of(pasts, o.count, plot.Columns(columns)), columns, o.history.height, colored))
	return err
}

func (o *options) picture(w io.Writer, pasts []plot.Past) error {
	var addresses []string
	for _, n := range o.nodes {
		addresses = append(addresses, n.Address)
	}
	return plot.PNG(w, plot.Of(pasts, o.count, plot.PictureCells), plot.Title(addresses))
}

// pasts asks all nodes for their past at the same time. All must answer: a plot of some would look like that of all.
func (o *options) pasts(ctx context.Context) ([]plot.Past, error) {
	pasts, failed := make([]plot.Past, len(o.nodes)), make([]error, len(o.nodes))
	var wait sync.WaitGroup
	for i, n := range o.nodes {
		wait.Go(func() {
			pasts[i].Address = n.Address
			if o.history.collect > 0 {
				pasts[i].Windows, failed[i] = o.collected(ctx, n)
			} else {
				pasts[i].Windows, failed[i] = n.History(ctx, o.history.query)
			}
			if errors.Is(failed[i], node.ErrNoHistory) {
				failed[i] = fmt.Errorf("%w; --collect 60s collects windows now", failed[i])
			}
			failed[i] = named(n, failed[i])
		})
	}
	wait.Wait()
	if err := ctx.Err(); err != nil && o.history.collect == 0 {
		return nil, err
	}
	return pasts, errors.Join(failed...)
}

// collected asks a node for its hot keys, twice a window, until the time to collect is over or the user interrupts, and
// at least once.
func (o *options) collected(ctx context.Context, n *node.Node) ([]node.Window, error) {
	collecting, cancel := context.WithTimeout(ctx, o.history.collect)
	defer cancel()
	c := judge.Collector{}
	for {
		r, err := n.Hot(ctx, node.Query{By: node.ByAll, DB: o.db})
		wait := retryPause
		switch {
		case err != nil && c.Empty():
			return nil, err
		case err == nil:
			wait = judge.Length(r) / 2
			c.Take(r)
		}
		if !pause(collecting, wait) {
			return c.Windows(o.history.query), nil
		}
	}
}
