// Command kvhot shows an operator which keys of kvserver and Valkey servers are hot.
//
//	kvhot top      the hottest keys, live
//	kvhot watch    keys becoming hot and normal again, as it happens
//	kvhot history  the rates of the past as a plot
//
// docs/kvhot.md describes it. Exit status: 0 after an orderly end, 1 when a server could not be asked, 2 when the
// arguments were wrong.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"kvserver/cmd/kvhot/quote"
)

// command is one of kvhot's.
type command struct {
	name, args, about string
	flags             func(fs *pflag.FlagSet, o *options)
	check             func(o *options) error // of what the flags say, before anything is done
	run               func(ctx context.Context, o *options, out output) error
}

var commands = []command{
	{"top", "", "show the hottest keys, live", topFlags, checkTop, top},
	{"watch", "", "print keys becoming hot, and normal again, as it happens", watchFlags, checkWatch, watch},
	{"history", "[key]", "plot the rates of the past", historyFlags, checkHistory, history},
}

// output is where a command writes.
type output struct {
	io.Writer
	errors io.Writer
}

// columns returns the width and height of the terminal that is written to, zero if it is none.
func (o output) size() (columns, lines int) {
	f, ok := o.Writer.(*os.File)
	if !ok {
		return 0, 0
	}
	columns, lines, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, lines
}

// errUsage is of arguments that are wrong; the user was told.
var errUsage = errors.New("usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], output{os.Stdout, os.Stderr}))
}

// quiet keeps the library from writing about lost connections into the middle of a table; kvhot tells of them itself.
var quiet = sync.OnceFunc(func() { redis.SetLogger(silence{}) })

// silence is a logger that logs nothing.
type silence struct{}

// Printf does nothing.
func (silence) Printf(context.Context, string, ...any) {}

func run(ctx context.Context, args []string, out output) int {
	quiet()
	switch err := dispatch(ctx, args, out); {
	case err == nil, errors.Is(err, context.Canceled):
		return 0
	case errors.Is(err, errUsage):
		return 2
	default:
		fmt.Fprintln(out.errors, "kvhot:", quote.Sentence(err.Error()))
		return 1
	}
}

func dispatch(ctx context.Context, args []string, out output) error {
	if len(args) == 0 {
		usage(out.errors)
		return errUsage
	}
	for _, c := range commands {
		if c.name != args[0] {
			continue
		}
		o, err := parse(ctx, c, args[1:])
		switch {
		case errors.Is(err, pflag.ErrHelp):
			commandUsage(out, c)
			return nil
		case errors.Is(err, context.Canceled):
			return err
		case err != nil:
			fmt.Fprintf(out.errors, "kvhot %s: %v (kvhot %s --help lists the options)\n", c.name, err, c.name)
			return errUsage
		}
		defer o.close()
		return c.run(ctx, o, out)
	}
	if args[0] == "help" || args[0] == "--help" {
		usage(out)
		return nil
	}
	fmt.Fprintf(out.errors, "kvhot: there is no command %q\n", args[0])
	usage(out.errors)
	return errUsage
}

func usage(w io.Writer) {
	fmt.Fprint(w, "Usage: kvhot command [-a host:port ...] [options]\n\nHot keys of kvserver and Valkey servers. Commands:\n")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-8s %s\n", c.name, c.about)
	}
	fmt.Fprint(w, "\nkvhot command --help lists its options.\n")
}

func commandUsage(w io.Writer, c command) {
	fs, _ := flagsOf(c)
	fmt.Fprintf(w, "Usage: kvhot %s [-a host:port ...] [options] %s\n\n%s.\n\n%s", c.name, c.args, c.about, fs.FlagUsages())
}
