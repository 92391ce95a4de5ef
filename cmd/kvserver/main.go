// Command kvserver runs the server.
//
//	kvserver [file.conf | -] [--name value ...]
//
// Exit status: 0 after an orderly end, 1 when it could not start or stop.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"kvserver/config"
	"kvserver/server"
)

// shutdownTimeout bounds how long replies may take to reach slow clients at the end. It is well below the ten seconds
// after which service managers kill.
const shutdownTimeout = 3 * time.Second

// gcPercent is lower than Go's default, since most of the memory is the store's own and lies outside the heap:
// what the collector walks is small, so running it more often is cheap and keeps the resident set close to what
// is in use. GOGC overrides it.
const gcPercent = 50

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "kvserver:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	registry := config.New()
	params := server.RegisterParameters(registry)
	switch err := registry.Load(args, os.Stdin); {
	case errors.Is(err, config.ErrHelp):
		usage(registry)
		return nil
	case errors.Is(err, config.ErrVersion):
		fmt.Println("kvserver", server.Version)
		return nil
	case err != nil:
		return err
	}
	out, err := logOutput(params.LogFile())
	if err != nil {
		return err
	}
	return serve(params, out)
}

func usage(registry *config.Registry) {
	fmt.Print("Usage: kvserver [file.conf | -] [--name value ...]\n\n" +
		"A cache server for Redis and Valkey clients that tells which keys are hot.\n" +
		"A file has the format of redis.conf; - reads it from standard input; flags win over it.\n\nParameters:\n")
	registry.Usage(os.Stdout)
}

func logOutput(path string) (io.Writer, error) {
	if path == "" {
		return os.Stderr, nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open logfile: %w", err)
	}
	return f, nil
}

// serve runs until a signal or a client's SHUTDOWN.
func serve(params *server.Parameters, out io.Writer) error {
	log := server.NewLogger(out, params)
	srv, err := server.New(params, log)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	if err := srv.Start(); err != nil {
		return err
	}
	select {
	case sig := <-signals:
		log.Info("received signal, shutting down", "signal", sig.String())
	case <-srv.ShutdownRequested():
	}
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		return fmt.Errorf("shutdown: %w", err)
	}
	log.Info("stopped")
	return nil
}
