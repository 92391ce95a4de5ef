package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"kvserver/hotkeys"
	"kvserver/info"
	"kvserver/server/transport"
	"kvserver/store"
)

// Versions: our own, and the one of Redis whose behaviour clients may expect.
const (
	Version       = "0.1.0"
	compatVersion = "7.2.4"
)

// Server serves one keyspace to any number of clients.
type Server struct {
	params    *Parameters
	log       *slog.Logger
	table     *table
	store     *store.Store
	tracker   *hotkeys.Tracker
	history   hotkeys.History // of its windows
	session   *hotSession     // of HOTKEYS START; nil if there is none to tell of
	control   hotControl
	reports   hotReports
	gate      gate
	asides    asides
	clients   registry
	pause     pause
	importing bool // import-mode; it changes only under the gate
	channels  channels
	accounts  accounts
	observe   observation
	events    notifications
	caching   caching
	scripts   scripting
	functions functions
	blocked   atomic.Int64 // clients that wait in a blocking command
	// blockedWhileThere counts those of them that wait only as long as their key is there.
	blockedWhileThere atomic.Int64
	info              info.Registry
	counters
	houseSlot    *slot // the periodic work's
	scriptSlot   *slot // of what runs aside
	transport    *transport.Transport
	tls          atomic.Pointer[tls.Config]
	rates        rates
	memory       memoryUse
	clientMemory clientMemory
	web          webSide
	activeExpire atomic.Bool // DEBUG SET-ACTIVE-EXPIRE
	cronPaused   atomic.Bool // DEBUG PAUSE-CRON

	// The periodic work's own memory.
	staleChecked time.Time
	toldAt       time.Time // of the latest tellOfExpired
	pauses       pauseWatch
	lastUsed     int64     // store.UsedBytes at the latest beat
	lastReleased int64     // transport.ReleasedBytes at the latest beat
	dropped      int64     // bytes since returnedAt
	kept         int64     // bytes that the Go runtime held at returnedAt, afterwards
	returnedAt   time.Time // of the latest debug.FreeOSMemory

	started time.Time
	runID   string
	stop    chan struct{} // closed: the periodic work ends
	stopped sync.WaitGroup
	asked   chan error // SHUTDOWN: the process should end
}

// New makes a server of the parameters that were loaded; Start opens its sockets.
func New(params *Parameters, log *slog.Logger) (*Server, error) {
	s := &Server{
		params: params, log: log, started: time.Now(), runID: newRunID(),
		stop: make(chan struct{}), asked: make(chan error, 1),
	}
	s.activeExpire.Store(true)
	s.clients.clients = make(map[int64]*client)
	s.clientMemory.wake = make(chan struct{}, 1)
	s.memory.wake = make(chan struct{}, 1)
	s.memory.heapMax = debug.SetMemoryLimit(-1)
	s.table = newTable(s.families()...)
	s.newAccounts()
	s.newCaching()
	s.newWeb()
	s.store = store.New(store.Options{Databases: int(params.databases.Get())})
	loops := runtime.GOMAXPROCS(0)
	slots := loops + 2 // one per loop, the periodic work's, and that of what runs aside
	s.tracker = hotkeys.New(slots, s.monotonicNs, rand.Uint64())
	s.tracker.OnWindow(s.windowEnded)
	s.control.now = s.monotonicNs
	for i := range slots {
		sl := &slot{index: i, view: s.store.NewView(), clock: clock{origin: s.started}}
		sl.stats.commands = make([]commandStat, len(s.table.all))
		sl.observer = observer{s: s, slot: sl}
		sl.clock.start()
		s.gate.slots = append(s.gate.slots, sl)
	}
	s.houseSlot, s.scriptSlot = s.gate.slots[loops], s.gate.slots[loops+1]
	s.observe.latency.thresholdMs = params.observe.latencyMs
	s.gate.latency = &s.observe.latency
	s.addInfoSections()
	var err error
	s.transport, err = transport.New(transport.Options{
		Loops: loops, Accept: s.accept, Logger: log,
		KeepAliveSeconds: func() int { return int(params.tcpKeepAlive.Get()) },
		Backlog:          int(params.tcpBacklog.Get()),
	})
	if err != nil {
		return nil, err
	}
	if err := s.hookParameters(); err != nil {
		return nil, err
	}
	if err := s.loadAccounts(); err != nil {
		return nil, err
	}
	s.memory.startupBytes, _ = heapBytes()
	s.sampleMemory()
	return s, nil
}

// families are all command families, in the order of COMMAND.
func (s *Server) families() []group {
	return []group{
		{"string", catString, stringRows, nil},
		{"list", catList, listRows, nil},
		{"hash", catHash, hashRows, nil},
		{"set", catSet, setRows, nil},
		{"sorted-set", catSortedSet, zsetRows, nil},
		{"stream", catStream, streamRows, streamSubRows},
		{"bitmap", catBitmap, bitmapRows, nil},
		{"hyperloglog", catHyperLogLog, hyperloglogRows, nil},
		{"geo", catGeo, geoRows, nil},
		{"generic", catKeyspace, keyRows, map[string][]row{"object": objectSubRows}},
		{"generic", catKeyspace, dumpRows, nil},
		{"generic", catList | catSet | catSortedSet | catDangerous, sortRows, nil},
		{"connection", catConnection, connectionRows, map[string][]row{"client": clientSubRows}},
		{"pubsub", 0, pubsubRows, map[string][]row{"pubsub": pubsubSubRows}},
		{"transactions", catTransaction, transactionRows, nil},
		{"scripting", catScripting, scriptingRows, map[string][]row{"script": scriptSubRows}},
		{"scripting", catScripting, functionRows, map[string][]row{"function": functionSubRows}},
		{"server", 0, serverRows, map[string][]row{
			"command": commandSubRows, "config": configSubRows, "memory": memorySubRows,
		}},
		{"server", 0, commandlogRows, map[string][]row{"commandlog": commandlogSubRows, "slowlog": slowlogSubRows}},
		{"server", 0, latencyRows, map[string][]row{"latency": latencySubRows}},
		{"server", 0, monitorRows, nil},
		{"server", 0, aclRows, map[string][]row{"acl": aclSubRows}},
		{"server", 0, hotkeysRows, map[string][]row{"hotkeys": slices.Concat(hotkeysSubRows, hotControlRows)}},
	}
}

// monotonicNs is the clock of the hot key windows.
func (s *Server) monotonicNs() int64 { return int64(time.Since(s.started)) }

func newRunID() string {
	return fmt.Sprintf("%016x%016x%08x", rand.Uint64(), rand.Uint64(), rand.Uint32())
}

// Start listens where the parameters say and begins the periodic work.
func (s *Server) Start() error {
	if err := s.fitMaxClients(); err != nil {
		return err
	}
	if err := s.listen(); err != nil {
		return err
	}
	if err := s.openWeb(); err != nil {
		return err
	}
	s.tellIneffective()
	s.stopped.Add(1)
	go s.periodic()
	s.log.Info("ready to accept connections", "version", Version, "pid", os.Getpid())
	return nil
}

func (s *Server) listen() error {
	p := s.params
	if p.port.Get() == 0 && p.tlsPort.Get() == 0 && p.unixSocket.Get() == "" {
		return errors.New("nothing to listen on: port and tls-port are 0 and there is no unixsocket")
	}
	if p.port.Get() != 0 {
		if err := s.listenTCP(int(p.port.Get()), transport.ListenOptions{}); err != nil {
			return err
		}
	}
	if p.tlsPort.Get() != 0 {
		if err := s.listenTCP(int(p.tlsPort.Get()), transport.ListenOptions{TLS: s.tls.Load}); err != nil {
			return err
		}
	}
	if path := p.unixSocket.Get(); path != "" {
		if err := s.listenUnix(path); err != nil {
			return fmt.Errorf("listen on unix socket %q: %w", path, err)
		}
	}
	return nil
}

// listenUnix gives the socket to its group before it lets that in.
func (s *Server) listenUnix(path string) error {
	group := s.params.socketGroup.Get()
	if group == "" {
		_, err := s.transport.Listen("unix", path, transport.ListenOptions{UnixPerm: s.params.unixSocketPerm()})
		return err
	}
	g, err := user.LookupGroup(group)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(g.Gid)
	if err != nil {
		return fmt.Errorf("the group %q has no number", group)
	}
	_, err = s.transport.Listen("unix", path, transport.ListenOptions{UnixPerm: s.params.unixSocketPerm(), UnixGroup: gid})
	return err
}

// Shutdown stops accepting, lets the commands in flight finish, writes out their replies and closes every
// connection; when ctx ends, also those of clients that have not taken their replies, which is no error: a client that
// never reads must not make an orderly end look like a failure. It returns when no goroutine of the server is left.
func (s *Server) Shutdown(ctx context.Context) error {
	s.transport.CloseListeners()
	s.closeWeb()
	close(s.stop)
	s.scripts.stop()
	s.stopped.Wait()
	s.web.server.Wait()
	err := s.transport.Shutdown(ctx)
	if err != nil && errors.Is(err, ctx.Err()) {
		s.log.Warn("clients that did not take their replies were cut off")
		err = nil
	}
	s.asides.end()
	s.store.Close()
	if s.memory.heapBound != 0 {
		debug.SetMemoryLimit(s.memory.heapMax)
	}
	if path := s.params.unixSocket.Get(); path != "" {
		if rmErr := os.Remove(path); rmErr != nil && !errors.Is(rmErr, os.ErrNotExist) {
			err = errors.Join(err, rmErr)
		}
	}
	return err
}

// ShutdownRequested tells when a client said SHUTDOWN.
func (s *Server) ShutdownRequested() <-chan error { return s.asked }

// executable is the program's absolute path, for INFO.
func executable() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return filepath.Clean(path)
}
