// Package web shows a server to browsers and to Prometheus: a live page of the hottest keys, the same as JSON, metrics, and
// whether the server is well. It knows HTTP; what there is to show it asks for by functions that it is given, in the form of
// a [Snapshot], so that it depends on nothing of the server's.
//
// # What it costs the server
//
// A snapshot is taken when somebody asks, and at most twice a second however many ask: the others get the one that is there
// (recent.go). When nobody asks, nothing is done, and for scrapes alone only part of it. Everything else happens outside of the
// server's locks.
//
// # What it refuses
//
// It only ever reads. Who may look is decided for each request (admit.go): by the server's users, where there is a password;
// where there is none, by the name under which the browser found the server, because any page of the Web may make a browser
// send requests to an address of its choosing and, by changing what a name of its own means, read the answers (DNS
// rebinding). Connections, the size of requests, and the time that everything may take are bounded here.
//
// # The page
//
// Files of page/ are served as they are: no build step, no library, nothing from elsewhere. Their content security policy
// allows scripts and styles from the server only and, where browsers know trusted types, no way to turn a string into
// markup. The page writes what it is told as text. Names of keys come escaped besides (names.go), for the sake of the reader.
package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"
)

// Options say where the pages get what they show. All functions may be called by several goroutines, and may take long.
type Options struct {
	// Snapshot takes one, with all that it can have or with what the metrics tell: see Snapshot. The error is ErrBusy if the
	// server cannot look at its data now.
	Snapshot func(all bool) (*Snapshot, error)
	// Authorize judges who asks.
	Authorize func(Login) Verdict
	// Hosts returns the names, besides localhost and addresses, under which browsers may find a server that asks for no
	// password.
	Hosts func() []string
	// LabelKeys tells whether the metrics contain hot keys.
	LabelKeys func() bool
	// Logger gets what goes wrong with single connections.
	Logger *slog.Logger
}

// ErrBusy says that something that is past its time has the data.
var ErrBusy = errors.New("busy with something that takes longer than it should; see SCRIPT KILL and FUNCTION KILL")

// Limits of a connection. Requests have no bodies here, and answers are of a megabyte at most, of eight if all
// names are long and of bytes that have to be escaped.
const (
	connectionsMax = 64
	headerBytesMax = 16 << 10
	headerTimeout  = 5 * time.Second
	readTimeout    = 10 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = 2 * time.Minute
	closeTimeout   = time.Second / 4 // browsers open connections that they do not use yet, which end only then
	askTimeout     = 3 * time.Second // for an answer of the server
	questionsMax   = 16              // to the server at a time; they may all wait for the same script
)

// Server serves the pages on any number of listeners, which may change.
type Server struct {
	options   Options
	handler   http.Handler
	recent    recent
	questions chan struct{} // has an element for each that is being answered
	places    *places       // of connections

	going sync.WaitGroup // what runs on goroutines; it grows under mu

	mu sync.Mutex
	// mu guards the following.
	listeners []net.Listener
	serving   *http.Server // nil: nobody is served
	ended     bool
}

// New makes a Server that listens nowhere yet.
func New(o Options) *Server {
	s := &Server{
		options:   o,
		questions: make(chan struct{}, questionsMax),
		places:    newPlaces(connectionsMax),
	}
	s.recent = recent{take: o.Snapshot, now: time.Now}
	s.handler = s.routes()
	return s
}

// routes are all the pages. Only /healthz is for everybody.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", s.admitted(pageFile("index.html")))
	for _, name := range pageNames {
		mux.Handle("GET /"+name, s.admitted(pageFile(name)))
	}
	mux.Handle("GET /api/hotkeys", s.admitted(http.HandlerFunc(s.hotkeys)))
	mux.Handle("GET /metrics", s.admitted(s.metrics()))
	mux.HandleFunc("GET /healthz", s.health)
	return bounded(mux)
}

// health answers whether commands are served. It tells nothing else, so anybody may know.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	verdict, err := ask(s, func() (Verdict, error) { return s.options.Authorize(Login{}), nil })
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if err != nil || verdict == Busy {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("busy\n"))
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

// answered is what fn of ask returned.
type answered[T any] struct {
	value T
	err   error
}

// ask runs fn, which asks the server something, and gives up when that takes too long. What still waits then ends when the
// server is free again; there are at most questionsMax of those, so that whoever keeps asking a busy server piles up nothing.
// So fn must not write to what its caller uses afterwards.
func ask[T any](s *Server, fn func() (T, error)) (none T, err error) {
	deadline := time.NewTimer(askTimeout)
	defer deadline.Stop()
	select {
	case s.questions <- struct{}{}:
	case <-deadline.C:
		return none, ErrBusy
	}
	done := make(chan answered[T], 1)
	if !s.begin(func() {
		defer func() { <-s.questions }()
		value, err := recovered(s, fn)
		done <- answered[T]{value, err}
	}) {
		<-s.questions
		return none, http.ErrServerClosed
	}
	select {
	case a := <-done:
		return a.value, a.err
	case <-deadline.C:
		return none, ErrBusy
	}
}

// recovered is fn, but a fault of ours costs the request only.
func recovered[T any](s *Server, fn func() (T, error)) (value T, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			s.options.Logger.Error("panic while answering over HTTP", "panic", fault, "stack", string(debug.Stack()))
			err = errFault
		}
	}()
	return fn()
}

var errFault = errors.New("a fault of the server; its log has more")

// begin runs fn on a goroutine that Wait waits for, and not at all after Wait was called.
func (s *Server) begin(fn func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.going.Go(fn)
	return true
}

// snapshot returns one that is at most half a second old, and has all if that is wanted.
func (s *Server) snapshot(all bool) (*Snapshot, error) {
	return ask(s, func() (*Snapshot, error) { return s.recent.get(all) })
}

// Serve answers on the listeners from now on, and no longer on those before, which are closed when it returns. Without
// listeners nobody is served. Requests that are being answered may take a moment to end: see Wait.
func (s *Server) Serve(listeners []net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.listeners {
		_ = l.Close() // nothing that could be done about it
	}
	if old := s.serving; old != nil {
		s.going.Go(func() { end(old) })
	}
	s.listeners, s.serving = listeners, nil
	if len(listeners) == 0 || s.ended {
		return
	}
	serving := &http.Server{
		Handler:           s.handler,
		MaxHeaderBytes:    headerBytesMax,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		ConnState:         s.places.changed,
		ErrorLog:          slog.NewLogLogger(s.options.Logger.Handler(), slog.LevelDebug),
	}
	s.serving = serving
	for _, l := range listeners {
		s.going.Go(func() { _ = serving.Serve(&limited{l, s.places}) }) // until l is closed
	}
}

// end lets requests in flight finish, and cuts off what has not by then.
func end(serving *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if serving.Shutdown(ctx) != nil {
		_ = serving.Close()
	}
}

// Wait returns when nothing is going on any more, after Serve(nil); nothing can begin again.
func (s *Server) Wait() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.going.Wait()
}
