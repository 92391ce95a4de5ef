package server

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"kvserver/config"
	"kvserver/hotkeys"
)

// Parameters are the handles of every configuration parameter the server has.
type Parameters struct {
	registry *config.Registry

	bind             *config.Strings
	port             *config.Int
	tcpBacklog       *config.Int
	tcpKeepAlive     *config.Int
	timeout          *config.Int
	unixSocket       *config.String
	socketGroup      *config.String
	socketPerm       *config.String
	maxClients       *config.Int
	maxMemoryClients *config.String
	protectedMode    *config.Bool
	requirePass      *config.String
	tlsPort          *config.Int
	tlsCertFile      *config.String
	tlsKeyFile       *config.String
	tlsKeyPass       *config.String
	tlsCACertFile    *config.String
	tlsCACertDir     *config.String
	tlsAuthClients   *config.String
	tlsProtocols     *config.String

	databases          *config.Int
	protoMaxBulkLen    *config.Int
	queryBufferLimit   *config.Int
	outputBufferLimit  *config.String
	enableDebugCommand *config.String
	enableProtected    *config.String
	importMode         *config.Bool
	availabilityZone   *config.String
	latencyTracking    *config.Bool
	latencyPercentiles *config.String
	logLevel           *config.String
	logFile            *config.String

	notifyEvents    *config.String
	trackingKeysMax *config.Int
	busyReplyMs     *config.Int

	encodings encodingParams
	eviction  evictionParams
	observe   observeParams
	acl       aclParams

	hotkeysTopK     *config.Int
	hotkeysSampling *config.Int
	hotkeysWindow   *config.Int
	hotkeysCounters *config.Int
	hotkeysMeasures *config.Bool
	hotkeysHold     *config.Bool
	hotkeysHistory  *config.Int
	control         controlParams
	web             webParams

	outputLimits atomic.Pointer[outputLimits] // parsed outputBufferLimit
}

// RegisterParameters registers every parameter of the server.
func RegisterParameters(r *config.Registry) *Parameters {
	p := &Parameters{registry: r}
	p.registerNetwork(r)
	p.registerTLS(r)
	p.registerACL(r)
	p.registerGeneral(r)
	p.registerPersistence(r)
	p.registerEncodings(r)
	p.registerEviction(r)
	p.registerHotkeys(r)
	p.registerControl(r)
	p.registerWeb(r)
	p.registerObservation(r)
	p.registerNotifications(r)
	p.registerCaching(r)
	p.registerScripting(r)
	registerKnown(r)
	return p
}

func (p *Parameters) registerNetwork(r *config.Registry) {
	p.bind = r.Strings("bind", []string{"*", "-::*"}, config.Pinned(),
		config.Doc("addresses to listen on; one that begins with - may be unavailable"))
	p.port = r.Int("port", 6379, 0, 65535, config.Pinned(), config.Doc("TCP port; 0 listens on none"))
	p.tcpBacklog = r.Int("tcp-backlog", 511, 0, math.MaxInt32, config.Immutable(), config.Doc("queue of connections not yet accepted"))
	p.tcpKeepAlive = r.Int("tcp-keepalive", 300, 0, math.MaxInt32, config.Doc("seconds of silence before TCP keepalive probes; 0 sends none"))
	p.timeout = r.Int("timeout", 0, 0, math.MaxInt32, config.Doc("seconds after which an idle client is closed; 0 never"))
	p.unixSocket = r.String("unixsocket", "", config.Immutable(), config.Doc("path of a Unix socket to listen on"))
	p.socketGroup = r.String("unixsocketgroup", "", config.Immutable(), config.Doc("name of the group that it is given to; empty: that of the process"))
	p.socketPerm = r.Custom("unixsocketperm", "0", octalPerm, config.Immutable(), config.Doc("its permissions, octal; 0 leaves what the umask gives"))
	p.maxClients = r.Int("maxclients", 10000, 1, math.MaxUint32, config.Doc("connections served at the same time"))
	p.maxMemoryClients = r.Custom("maxmemory-clients", "0", sizeOrPercent, config.Allowed("a size, or a percentage up to 100%"),
		config.Doc("memory that all clients together may take, or a percentage of maxmemory; 0: no limit. Beyond it those that hold most are closed"))
	p.protectedMode = r.Bool("protected-mode", true, config.Doc("without a password, accept clients of this machine only"))
	p.requirePass = r.String("requirepass", "", config.Secret(), config.Doc("password of the default user; empty: none is asked for"))
}

func (p *Parameters) registerTLS(r *config.Registry) {
	p.tlsPort = r.Int("tls-port", 0, 0, 65535, config.Pinned(), config.Doc("port for TLS connections; 0 listens on none"))
	p.tlsCertFile = r.String("tls-cert-file", "", config.Doc("certificate of the server, PEM"))
	p.tlsKeyFile = r.String("tls-key-file", "", config.Doc("its private key, PEM"))
	p.tlsKeyPass = r.String("tls-key-file-pass", "", config.Secret(), config.Doc("password of the private key, if it is encrypted (PKCS#8)"))
	p.tlsCACertFile = r.String("tls-ca-cert-file", "", config.Doc("certificates that clients' certificates must derive from, PEM"))
	p.tlsCACertDir = r.String("tls-ca-cert-dir", "", config.Doc("directory of files with such certificates"))
	p.tlsAuthClients = r.Enum("tls-auth-clients", "yes", []string{"no", "yes", "optional"},
		config.Doc("whether clients must show a certificate"))
	p.tlsProtocols = r.Custom("tls-protocols", "", canonicalTLSProtocols, config.Allowed("TLSv1.2, TLSv1.3 or both"),
		config.Doc("versions of TLS that clients may use; empty: both"))
}

func (p *Parameters) registerGeneral(r *config.Registry) {
	// A table of pointers per database and shard is made at start, hence a lower limit than Redis's.
	p.databases = r.Int("databases", 16, 1, 16384, config.Immutable(), config.Doc("number of logical databases"))
	p.protoMaxBulkLen = r.Memory("proto-max-bulk-len", 512<<20, 1<<20, math.MaxInt64, config.Doc("longest single argument and string value"))
	p.queryBufferLimit = r.Memory("client-query-buffer-limit", 1<<30, 1<<20, math.MaxInt64, config.Doc("input of a client that may wait to be complete"))
	p.outputBufferLimit = r.Custom("client-output-buffer-limit", defaultOutputLimits, canonicalOutputLimits,
		config.Repeats(4), config.Partial(), config.Doc("class, hard limit, soft limit, seconds above it"))
	p.enableDebugCommand = r.Enum("enable-debug-command", "no", []string{"no", "yes", "local"}, config.Immutable(),
		config.Doc("who may use DEBUG; local: clients of this machine"))
	p.enableProtected = r.Enum("enable-protected-configs", "no", []string{"no", "yes", "local"}, config.Immutable(),
		config.Doc("who may change dir and dbfilename at run time; local: clients of this machine"))
	p.availabilityZone = r.String("availability-zone", "", config.Doc("where the server stands, for clients that look for a near one: HELLO and INFO tell it"))
	p.importMode = r.Bool("import-mode", false, config.Doc("keys neither expire nor are evicted; for clients that said CLIENT IMPORT-SOURCE ON expired keys are alive"))
	p.latencyTracking = r.Bool("latency-tracking", true, config.Doc("keep a latency histogram per command"))
	p.latencyPercentiles = r.Custom("latency-tracking-info-percentiles", "50 99 99.9", canonicalPercentiles,
		config.Doc("percentiles that INFO latencystats prints"))
	p.logLevel = r.Enum("loglevel", "notice", []string{"debug", "verbose", "notice", "warning", "nothing"}, config.Doc("least important messages to log"))
	p.logFile = r.String("logfile", "", config.Immutable(), config.Doc("file that the log is appended to; empty: standard error"))
}

// registerPersistence makes the parameters known that belong to files. There are none yet: no snapshot, and nothing is
// written to dir.
func (p *Parameters) registerPersistence(r *config.Registry) {
	r.Custom("save", "", func(v string) (string, error) { return strings.TrimSpace(v), nil },
		config.Repeats(2), config.Fixed("there is no persistence yet"))
	r.Custom("dir", workingDir(), existingDir, config.Guarded(), config.Inert("there is no persistence yet, so nothing is written there"))
}

func (p *Parameters) registerHotkeys(r *config.Registry) {
	p.hotkeysTopK = r.Int("hotkeys-top-k", 0, 0, 1000, config.Doc("hot keys reported; 0 turns tracking off"))
	p.hotkeysSampling = r.Int("hotkeys-sampling-percentage", 1, 1, 100, config.Doc("share of key accesses that is recorded"))
	p.hotkeysWindow = r.Int("hotkeys-window-seconds", 1, 1, 300, config.Doc("length of the reporting window"))
	p.hotkeysCounters = r.Int("hotkeys-counters", 0, 0, 65536, config.Doc("counters kept to find the hot keys; 0: max(1024, 8 x hotkeys-top-k)"))
	p.hotkeysMeasures = r.Bool("hotkeys-measures", true, config.Doc("sum up what accesses to hot keys cost, for HOTKEYS GET WITHSTATS"))
	p.hotkeysHold = r.Bool("hotkeys-sample-and-hold", false, config.Doc("count every access to a key that sampling has discovered"))
	p.hotkeysHistory = r.Int("hotkeys-history-length", 60, 0, hotkeys.HistoryLengthMax, config.Doc("completed windows kept for HOTKEYS HISTORY; 0 keeps none"))
	r.Rule([]string{"hotkeys-counters", "hotkeys-top-k"}, func(v config.Values) error {
		if n := v.Int("hotkeys-counters"); n != 0 && n < v.Int("hotkeys-top-k") {
			return errCountersBelowTopK
		}
		return nil
	})
}

// hookParameters puts parameters into force that more than a read of their handle depends on, now and at every
// change. CONFIG SET runs under the gate, so the hooks do.
func (s *Server) hookParameters() error {
	r := s.params.registry
	s.excludeSession(r)
	hooks := []struct {
		names []string
		apply func() error
	}{
		{[]string{"hotkeys-top-k", "hotkeys-sampling-percentage", "hotkeys-window-seconds", "hotkeys-counters", "hotkeys-measures", "hotkeys-sample-and-hold", "hotkeys-history-length",
			"hotkeys-promote-qps", "hotkeys-control-metric"}, s.configureTracking},
		{[]string{"client-output-buffer-limit"}, s.applyOutputLimits},
		{encodingNames, s.applyEncodings},
		{evictionNames, s.applyEviction},
		{tlsNames, s.reloadTLS},
		{observeNames, s.applyObservation},
		{[]string{"requirepass"}, s.applyRequirePass},
		{[]string{"acl-pubsub-default"}, s.applyChannelsDefault},
		{[]string{"acllog-max-len"}, s.applyACLLog},
		{[]string{"maxmemory-clients", "maxmemory"}, s.applyClientLimit},
		{[]string{"import-mode"}, s.applyImportMode},
		{[]string{"notify-keyspace-events"}, s.applyNotifications},
		{[]string{"http-port", "http-bind"}, s.applyWeb},
		// The last, since nothing brings back the states of keys, once control was off, nor a session.
		{controlNames, s.configureControl},
		{[]string{"hotkeys-top-k"}, s.dropSession},
	}
	for _, h := range hooks {
		if err := h.apply(); err != nil {
			return fmt.Errorf("%s: %w", h.names[0], err)
		}
		r.OnChange(h.names, h.apply)
	}
	return nil
}

func octalPerm(v string) (string, error) {
	n, err := strconv.ParseUint(v, 8, 32)
	if err != nil || n > 0o777 {
		return "", errors.New("must be an octal number between 0 and 777")
	}
	return strconv.FormatUint(n, 8), nil
}

func (p *Parameters) unixSocketPerm() fs.FileMode {
	n, _ := strconv.ParseUint(p.socketPerm.Get(), 8, 32) // canonical: octalPerm made it
	return fs.FileMode(n)
}

func workingDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return "."
	}
	return dir
}

func existingDir(v string) (string, error) {
	abs, err := filepath.Abs(v)
	if err != nil {
		return "", err
	}
	if st, err := os.Stat(abs); err != nil || !st.IsDir() {
		return "", errors.New("must be an existing directory")
	}
	return abs, nil
}

func canonicalPercentiles(v string) (string, error) {
	words := strings.Fields(v)
	for i, w := range words {
		f, err := strconv.ParseFloat(w, 64)
		if err != nil || !(f >= 0 && f <= 100) { // nor NaN
			return "", errors.New("must be numbers between 0 and 100, separated by blanks")
		}
		words[i] = strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strings.Join(words, " "), nil
}

func percentiles(canonical string) []float64 {
	var list []float64
	for _, w := range strings.Fields(canonical) {
		f, _ := strconv.ParseFloat(w, 64) // canonical: canonicalPercentiles made it
		list = append(list, f)
	}
	return list
}
