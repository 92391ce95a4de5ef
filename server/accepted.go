package server

import (
	"errors"
	"math"

	"kvserver/config"
)

// Parameters of Redis 7.2 and Valkey 8.1 on which nothing depends here. Their configuration files name many of them, and
// clients and tools read and write them, so they are known with the type, the range and the default that they have there:
// those of Redis 7.2 where the two differ.
//
// There are two tables. What at worst makes no difference is accepted, and the log names it once at start if it was
// asked for. What would promise safety, or data that outlive the process, is refused unless it keeps its default. The
// commit that builds a feature moves the rows of its parameters to where the feature is registered; a name registered
// twice stops the process at once.

// manner says when a parameter can be set, and whether it is a secret.
type manner uint8

const (
	atStart manner = 1 << iota
	guarded        // at run time as enable-protected-configs says
	secret
	anytime manner = 0
)

// known is a parameter that nothing reads.
type known struct {
	name   string
	other  string // the name in older files, or in Valkey's
	def    string
	form   form
	manner manner
}

// acceptedParameters are by the reason for which they have no effect.
var acceptedParameters = []struct {
	why    string
	params []known
}{
	{"one event loop runs on each core that Go uses (GOMAXPROCS)", []known{
		{"io-threads", "", "1", number(1, 256), atStart},
		{"io-threads-do-reads", "", "no", yesNo, atStart},
		{"prefetch-batch-max-size", "", "16", number(0, 128), anytime},
		{"max-new-connections-per-cycle", "", "10", number(1, 1000), anytime},
		{"max-new-tls-connections-per-cycle", "", "1", number(1, 1000), anytime},
		{"server_cpulist", "server-cpulist", "", text, atStart},
		{"bio_cpulist", "bio-cpulist", "", text, atStart},
	}},
	{"the keyspace has a memory of its own, which is compacted and returned as it goes", []known{
		{"jemalloc-bg-thread", "", "yes", yesNo, anytime},
		{"activedefrag", "", "no", yesNo, anytime},
		{"active-defrag-ignore-bytes", "", "100mb", size(1, math.MaxInt64), anytime},
		{"active-defrag-threshold-lower", "", "10", number(0, 1000), anytime},
		{"active-defrag-threshold-upper", "", "100", number(0, 1000), anytime},
		{"active-defrag-cycle-min", "", "1", number(1, 99), anytime},
		{"active-defrag-cycle-max", "", "25", number(1, 99), anytime},
		{"active-defrag-cycle-us", "", "500", number(0, 100000), anytime},
		{"active-defrag-max-scan-fields", "", "1000", number(1, math.MaxInt64), anytime},
		{"disable-thp", "", "yes", yesNo, atStart},
		{"activerehashing", "", "yes", yesNo, anytime},
	}},
	{"large values are always freed in the background", []known{
		{"lazyfree-lazy-eviction", "", "no", yesNo, anytime},
		{"lazyfree-lazy-expire", "", "no", yesNo, anytime},
		{"lazyfree-lazy-server-del", "", "no", yesNo, anytime},
		{"lazyfree-lazy-user-del", "", "no", yesNo, anytime},
		{"lazyfree-lazy-user-flush", "", "no", yesNo, anytime},
		{"replica-lazy-flush", "slave-lazy-flush", "no", yesNo, anytime},
	}},
	{"lists are not compressed", []known{
		{"list-compress-depth", "", "0", number(0, math.MaxInt32), anytime},
	}},
	{"the periodic work has a pace of its own", []known{
		{"hz", "", "10", checked(hertz, "a number from 0, kept between 1 and 500"), anytime},
		{"dynamic-hz", "", "yes", yesNo, anytime},
		{"active-expire-effort", "", "1", number(1, 10), anytime},
	}},
	{"the process runs in the foreground, under a name of its own; a service manager does the rest", []known{
		{"daemonize", "", "no", yesNo, atStart},
		{"supervised", "", "no", oneOf("upstart", "systemd", "auto", "no"), atStart},
		{"pidfile", "", "", text, atStart},
		{"set-proc-title", "", "yes", yesNo, atStart},
		{"proc-title-template", "", "{title} {listen-addr} {server-mode}", checked(titleTemplate, "a text in which only known words stand in braces"), anytime},
		{"oom-score-adj", "", "no", checked(oomScoreAdj, "no, yes, relative or absolute"), anytime},
		{"oom-score-adj-values", "", "0 200 800", checked(oomScores, "three numbers between -2000 and 2000"), anytime},
		{"crash-log-enabled", "", "yes", yesNo, anytime},
		{"crash-memcheck-enabled", "", "yes", yesNo, anytime},
		{"ignore-warnings", "", "", text, anytime},
	}},
	{"the log goes to standard error or to logfile, in one format, without user data", []known{
		{"syslog-enabled", "", "no", yesNo, atStart},
		{"syslog-ident", "", "redis", text, atStart},
		{"syslog-facility", "", "local0", oneOf("user", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7"), atStart},
		{"always-show-logo", "", "no", yesNo, atStart},
		{"log-format", "", "legacy", oneOf("legacy", "logfmt"), anytime},
		{"log-timestamp-format", "", "legacy", oneOf("legacy", "iso8601", "milliseconds"), anytime},
		{"hide-user-data-from-log", "", "yes", yesNo, anytime},
	}},
	{"texts are compared byte by byte", []known{
		{"locale-collate", "", "", text, anytime},
	}},
	{"clients are told that this is Redis in any case", []known{
		{"extended-redis-compatibility", "", "no", yesNo, anytime},
	}},
	{"sockets are not marked", []known{
		{"socket-mark-id", "", "0", number(0, math.MaxUint32), atStart},
	}},
	{"Go's TLS keeps no sessions on the server and chooses by itself", []known{
		{"tls-session-caching", "", "yes", yesNo, anytime},
		{"tls-session-cache-size", "", "20480", number(0, math.MaxInt32), anytime},
		{"tls-session-cache-timeout", "", "300", number(0, math.MaxInt32), anytime},
		{"tls-prefer-server-ciphers", "", "no", yesNo, anytime},
		{"tls-dh-params-file", "", "", text, anytime},
	}},
	{"payloads of RESTORE are always checked in full, and those of later formats refused", []known{
		{"sanitize-dump-payload", "", "no", oneOf("no", "yes", "clients"), anytime},
		{"rdb-version-check", "", "strict", oneOf("strict", "relaxed"), anytime},
	}},
	{"there is no RDMA", []known{
		{"rdma-bind", "", "", text, atStart},
		{"rdma-rx-size", "", "1mb", size(64<<10, 16<<20), atStart},
		{"rdma-completion-vector", "", "-1", number(-1, 1024), atStart},
	}},
	{"there are no modules", []known{
		{"enable-module-command", "", "no", oneOf("no", "yes", "local"), atStart},
	}},
	{"scripts have no deprecated functions", []known{
		{"lua-enable-insecure-api", "lua-enable-deprecated-api", "no", yesNo, anytime},
	}},
	{"there is no persistence yet", []known{
		{"dbfilename", "", "dump.rdb", checked(fileNameOf("dbfilename"), "a file name without a path"), guarded},
		{"rdbcompression", "", "yes", yesNo, anytime},
		{"rdbchecksum", "", "yes", yesNo, atStart},
		{"rdb-del-sync-files", "", "no", yesNo, anytime},
		{"rdb-save-incremental-fsync", "", "yes", yesNo, anytime},
		{"stop-writes-on-bgsave-error", "", "yes", yesNo, anytime},
		{"appendfilename", "", "appendonly.aof", checked(fileNameOf("appendfilename"), "a file name without a path"), atStart},
		{"appenddirname", "", "appendonlydir", checked(fileNameOf("appenddirname"), "a directory name without a path"), atStart},
		{"appendfsync", "", "everysec", oneOf("everysec", "always", "no"), anytime},
		{"no-appendfsync-on-rewrite", "", "no", yesNo, anytime},
		{"auto-aof-rewrite-percentage", "", "100", number(0, math.MaxInt32), anytime},
		{"auto-aof-rewrite-min-size", "", "64mb", size(0, math.MaxInt64), anytime},
		{"aof-load-truncated", "", "yes", yesNo, anytime},
		{"aof-use-rdb-preamble", "", "yes", yesNo, anytime},
		{"aof-timestamp-enabled", "", "no", yesNo, anytime},
		{"aof-rewrite-incremental-fsync", "", "yes", yesNo, anytime},
		{"aof-disable-auto-gc", "", "no", yesNo, anytime},
		{"aof_rewrite_cpulist", "aof-rewrite-cpulist", "", text, atStart},
		{"bgsave_cpulist", "bgsave-cpulist", "", text, atStart},
		{"shutdown-on-sigint", "", "default", checked(shutdownOptions, "default, or some of nosave, now, force"), anytime},
		{"shutdown-on-sigterm", "", "default", checked(shutdownOptions, "default, or some of nosave, now, force"), anytime},
	}},
	{"there is no replication yet", []known{
		{"masterauth", "primaryauth", "", text, secret},
		{"masteruser", "primaryuser", "", text, secret},
		{"replica-serve-stale-data", "slave-serve-stale-data", "yes", yesNo, anytime},
		{"replica-read-only", "slave-read-only", "yes", yesNo, anytime},
		{"replica-priority", "slave-priority", "100", number(0, math.MaxInt32), anytime},
		{"replica-announced", "", "yes", yesNo, anytime},
		{"replica-announce-ip", "slave-announce-ip", "", text, anytime},
		{"replica-announce-port", "slave-announce-port", "0", number(0, 65535), anytime},
		{"replica-ignore-maxmemory", "slave-ignore-maxmemory", "yes", yesNo, anytime},
		{"replica-ignore-disk-write-errors", "", "no", yesNo, anytime},
		{"repl-diskless-sync", "", "yes", yesNo, anytime},
		{"repl-diskless-sync-delay", "", "5", number(0, math.MaxInt32), anytime},
		{"repl-diskless-sync-max-replicas", "", "0", number(0, math.MaxInt32), anytime},
		{"repl-diskless-load", "", "disabled", oneOf("disabled", "on-empty-db", "swapdb", "flush-before-load"), anytime},
		{"dual-channel-replication-enabled", "", "no", yesNo, anytime},
		{"repl-ping-replica-period", "repl-ping-slave-period", "10", number(1, math.MaxInt32), anytime},
		{"repl-timeout", "", "60", number(1, math.MaxInt32), anytime},
		{"repl-disable-tcp-nodelay", "", "no", yesNo, anytime},
		{"repl-backlog-size", "", "1mb", size(1, math.MaxInt64), anytime},
		{"repl-backlog-ttl", "", "3600", number(0, math.MaxInt64), anytime},
		{"min-replicas-max-lag", "min-slaves-max-lag", "10", number(0, math.MaxInt32), anytime},
		{"propagation-error-behavior", "", "ignore", oneOf("ignore", "panic", "panic-on-replicas"), anytime},
		{"shutdown-timeout", "", "10", number(0, math.MaxInt32), anytime},
		{"bind-source-addr", "", "", text, anytime},
		{"tls-replication", "", "no", yesNo, anytime},
		{"tls-client-cert-file", "", "", text, anytime},
		{"tls-client-key-file", "", "", text, anytime},
		{"tls-client-key-file-pass", "", "", text, secret},
	}},
	{"there is no cluster yet", []known{
		{"cluster-config-file", "", "nodes.conf", text, atStart},
		{"cluster-port", "", "0", number(0, 65535), atStart},
		{"cluster-node-timeout", "", "15000", number(0, math.MaxInt64), anytime},
		{"cluster-replica-validity-factor", "cluster-slave-validity-factor", "10", number(0, math.MaxInt32), anytime},
		{"cluster-replica-no-failover", "cluster-slave-no-failover", "no", yesNo, anytime},
		{"cluster-manual-failover-timeout", "", "5000", number(1, math.MaxInt32), anytime},
		{"cluster-migration-barrier", "", "1", number(0, math.MaxInt32), anytime},
		{"cluster-allow-replica-migration", "", "yes", yesNo, anytime},
		{"cluster-require-full-coverage", "", "yes", yesNo, anytime},
		{"cluster-allow-reads-when-down", "", "no", yesNo, anytime},
		{"cluster-allow-pubsubshard-when-down", "", "yes", yesNo, anytime},
		{"cluster-link-sendbuf-limit", "", "0", size(0, math.MaxInt64), anytime},
		{"cluster-blacklist-ttl", "", "60", number(0, math.MaxInt64), anytime},
		{"cluster-slot-stats-enabled", "", "no", yesNo, anytime},
		{"cluster-announce-ip", "", "", text, anytime},
		{"cluster-announce-client-ipv4", "", "", text, anytime},
		{"cluster-announce-client-ipv6", "", "", text, anytime},
		{"cluster-announce-port", "", "0", number(0, 65535), anytime},
		{"cluster-announce-tls-port", "", "0", number(0, 65535), anytime},
		{"cluster-announce-bus-port", "", "0", number(0, 65535), anytime},
		{"cluster-announce-hostname", "", "", checked(hostName, "a host name of letters, digits, hyphens and dots"), anytime},
		{"cluster-announce-human-nodename", "", "", text, anytime},
		{"cluster-preferred-endpoint-type", "", "ip", oneOf("ip", "hostname", "unknown-endpoint"), anytime},
		{"tls-cluster", "", "no", yesNo, anytime},
	}},
}

// refusedParameters keep their default, for the reason given.
var refusedParameters = []struct {
	why    string
	params []known
}{
	{"there is no persistence yet", []known{
		{"appendonly", "", "no", yesNo, anytime},
	}},
	{"there is no replication yet", []known{
		{"replicaof", "slaveof", "", checked(noMaster, "no one"), atStart},
		{"min-replicas-to-write", "min-slaves-to-write", "0", number(0, math.MaxInt32), anytime},
	}},
	{"there is no cluster yet", []known{
		{"cluster-enabled", "", "no", yesNo, atStart},
	}},
	{"there is no RDMA", []known{
		{"rdma-port", "", "0", number(0, 65535), atStart},
	}},
	{"TLS uses the ciphers that Go holds safe", []known{
		{"tls-ciphers", "", "", text, anytime},
		{"tls-ciphersuites", "", "", text, anytime},
	}},
}

// registerKnown registers what nothing reads. It comes last.
func registerKnown(r *config.Registry) {
	for _, group := range acceptedParameters {
		for _, p := range group.params {
			p.register(r, config.Inert(group.why))
		}
	}
	for _, group := range refusedParameters {
		for _, p := range group.params {
			p.register(r, config.Fixed(group.why))
		}
	}
	refuse := func(why string) func([]string) error {
		return func([]string) error { return errors.New(why) }
	}
	r.Directive("loadmodule", refuse("there are no modules"))
	r.Directive("rename-command", refuse("commands cannot be renamed yet"))
	for _, name := range []string{"list-max-ziplist-entries", "list-max-ziplist-value", "lua-replicate-commands"} {
		r.Directive(name, obsolete)
	}
}

// obsolete accepts a directive of old files that Redis accepts and forgets as well.
func obsolete(args []string) error {
	if len(args) != 1 {
		return errors.New("takes exactly one value")
	}
	return nil
}

func (p known) register(r *config.Registry, effect config.Option) {
	opts := []config.Option{effect}
	if p.other != "" {
		opts = append(opts, config.Alias(p.other))
	}
	if p.manner&atStart != 0 {
		opts = append(opts, config.Immutable())
	}
	if p.manner&guarded != 0 {
		opts = append(opts, config.Guarded())
	}
	if p.manner&secret != 0 {
		opts = append(opts, config.Secret())
	}
	p.form(r, p.name, p.def, opts)
}

// tellIneffective logs, in one line, which parameters were given a value that changes nothing.
func (s *Server) tellIneffective() {
	if names := s.params.registry.Ineffective(); len(names) > 0 {
		s.log.Warn("parameters are set that have no effect here", "names", names)
	}
}
