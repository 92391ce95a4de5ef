package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"kvserver/config"
)

// stockCommon, stockRedis and stockValkey are the directives of the configuration files that come with Redis 7.2 and
// Valkey 8.1, as far as they are not comments there.
const (
	stockCommon = `
bind 127.0.0.1 -::1
protected-mode yes
port 6379
tcp-backlog 511
timeout 0
tcp-keepalive 300
daemonize no
loglevel notice
logfile ""
databases 16
always-show-logo no
set-proc-title yes
proc-title-template "{title} {listen-addr} {server-mode}"
locale-collate ""
stop-writes-on-bgsave-error yes
rdbcompression yes
rdbchecksum yes
dbfilename dump.rdb
rdb-del-sync-files no
dir ./
replica-serve-stale-data yes
replica-read-only yes
repl-diskless-sync yes
repl-diskless-sync-delay 5
repl-diskless-sync-max-replicas 0
repl-diskless-load disabled
repl-disable-tcp-nodelay no
replica-priority 100
acllog-max-len 128
oom-score-adj no
oom-score-adj-values 0 200 800
disable-thp yes
appendonly no
appendfilename "appendonly.aof"
appenddirname "appendonlydir"
appendfsync everysec
no-appendfsync-on-rewrite no
auto-aof-rewrite-percentage 100
auto-aof-rewrite-min-size 64mb
aof-load-truncated yes
aof-use-rdb-preamble yes
aof-timestamp-enabled no
latency-monitor-threshold 0
notify-keyspace-events ""
hash-max-listpack-entries 512
hash-max-listpack-value 64
list-max-listpack-size -2
list-compress-depth 0
set-max-intset-entries 512
set-max-listpack-entries 128
set-max-listpack-value 64
zset-max-listpack-entries 128
zset-max-listpack-value 64
hll-sparse-max-bytes 3000
stream-node-max-bytes 4096
stream-node-max-entries 100
activerehashing yes
client-output-buffer-limit normal 0 0 0
client-output-buffer-limit replica 256mb 64mb 60
client-output-buffer-limit pubsub 32mb 8mb 60
hz 10
aof-rewrite-incremental-fsync yes
rdb-save-incremental-fsync yes
jemalloc-bg-thread yes
`
	stockRedis = stockCommon + `
pidfile /var/run/redis_6379.pid
lazyfree-lazy-eviction no
lazyfree-lazy-expire no
lazyfree-lazy-server-del no
replica-lazy-flush no
lazyfree-lazy-user-del no
lazyfree-lazy-user-flush no
slowlog-log-slower-than 10000
slowlog-max-len 128
dynamic-hz yes
`
	stockValkey = stockCommon + `
pidfile /var/run/valkey_6379.pid
hide-user-data-from-log yes
rdb-version-check strict
dual-channel-replication-enabled no
lazyfree-lazy-eviction yes
lazyfree-lazy-expire yes
lazyfree-lazy-server-del yes
replica-lazy-flush yes
lazyfree-lazy-user-del yes
lazyfree-lazy-user-flush yes
commandlog-execution-slower-than 10000
commandlog-slow-execution-max-len 128
commandlog-request-larger-than 1048576
commandlog-large-request-max-len 128
commandlog-reply-larger-than 1048576
commandlog-large-reply-max-len 128
`
)

// stockComments are the parameters that only comments of those files name.
const stockComments = `
acl-pubsub-default aclfile active-defrag-cycle-max active-defrag-cycle-min active-defrag-cycle-us active-defrag-ignore-bytes
active-defrag-max-scan-fields active-defrag-threshold-lower active-defrag-threshold-upper active-expire-effort activedefrag
aof-rewrite-cpulist aof_rewrite_cpulist availability-zone bgsave-cpulist bgsave_cpulist bind-source-addr bio-cpulist bio_cpulist
busy-reply-threshold client-query-buffer-limit cluster-allow-pubsubshard-when-down cluster-allow-reads-when-down
cluster-allow-replica-migration cluster-announce-bus-port cluster-announce-client-ipv4 cluster-announce-client-ipv6
cluster-announce-hostname cluster-announce-human-nodename cluster-announce-ip cluster-announce-port cluster-announce-tls-port
cluster-blacklist-ttl cluster-config-file cluster-enabled cluster-link-sendbuf-limit cluster-manual-failover-timeout
cluster-migration-barrier cluster-node-timeout cluster-port cluster-preferred-endpoint-type cluster-replica-no-failover
cluster-replica-validity-factor cluster-require-full-coverage cluster-slot-stats-enabled crash-log-enabled crash-memcheck-enabled
enable-debug-command enable-module-command enable-protected-configs extended-redis-compatibility ignore-warnings import-mode
io-threads io-threads-do-reads latency-tracking latency-tracking-info-percentiles lfu-decay-time lfu-log-factor log-format
log-timestamp-format lua-time-limit masterauth masteruser max-new-connections-per-cycle max-new-tls-connections-per-cycle
maxclients maxmemory maxmemory-clients maxmemory-eviction-tenacity maxmemory-policy maxmemory-samples min-replicas-max-lag
min-replicas-to-write prefetch-batch-max-size primaryauth primaryuser propagation-error-behavior proto-max-bulk-len rdma-bind
rdma-completion-vector rdma-port rdma-rx-size repl-backlog-size repl-backlog-ttl repl-ping-replica-period repl-timeout
replica-announce-ip replica-announce-port replica-announced replica-ignore-disk-write-errors replica-ignore-maxmemory replicaof
requirepass sanitize-dump-payload save server-cpulist server_cpulist shutdown-on-sigint shutdown-on-sigterm shutdown-timeout
socket-mark-id supervised syslog-enabled syslog-facility syslog-ident tls-auth-clients tls-ca-cert-dir tls-ca-cert-file
tls-cert-file tls-ciphers tls-ciphersuites tls-client-cert-file tls-client-key-file tls-client-key-file-pass tls-cluster
tls-dh-params-file tls-key-file tls-key-file-pass tls-port tls-prefer-server-ciphers tls-protocols tls-replication
tls-session-cache-size tls-session-cache-timeout tls-session-caching tracking-table-max-keys unixsocket unixsocketgroup
unixsocketperm`

// TestStockConfigurations: the files that come with Redis and Valkey start the server, their values are in force, and
// one line of the log names what has no effect.
func TestStockConfigurations(t *testing.T) {
	const lazy = " lazyfree-lazy-eviction lazyfree-lazy-expire lazyfree-lazy-server-del lazyfree-lazy-user-del lazyfree-lazy-user-flush replica-lazy-flush"
	for _, stock := range []struct{ name, text, told string }{
		{"redis.conf", stockRedis, "pidfile"},
		{"valkey.conf", stockValkey, "pidfile" + lazy},
	} {
		t.Run(stock.name, func(t *testing.T) {
			s := ownServer(t, writeConf(t, t.TempDir(), stock.name, stock.text))
			c := s.dial()
			for _, line := range strings.Split(strings.TrimSpace(stock.text), "\n") {
				name, want, _ := strings.Cut(line, " ")
				switch name {
				case "": // between the parts
				case "bind", "port", "dir": // other values are given by flags, or depend on the directory
				case "client-output-buffer-limit":
					wantConfig(t, c, map[string]string{name: "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60"})
				case "auto-aof-rewrite-min-size":
					wantConfig(t, c, map[string]string{name: "67108864"})
				default:
					wantConfig(t, c, map[string]string{name: strings.Trim(want, `"`)})
				}
			}
			wantNoEffect(t, s, stock.told)
		})
	}
}

// wantNoEffect looks for the one line that names parameters without effect; no names, no line.
func wantNoEffect(t *testing.T, s *server, names string) {
	t.Helper()
	told := regexp.MustCompile(`(?m)^.*have no effect here" names=("\[.*\]"|\[\S*\])$`).FindAllStringSubmatch(s.log.String(), -1)
	switch {
	case names == "" && len(told) != 0, names != "" && len(told) != 1:
		t.Errorf("%d lines of the log name parameters without effect:\n%s", len(told), s.log)
	case names != "":
		got := strings.Fields(strings.Trim(told[0][1], `"[]`))
		if !sameWords(got, strings.Fields(names)) {
			t.Errorf("the log names %v, want %s", got, names)
		}
	}
}

func sameWords(a, b []string) bool {
	count := map[string]int{}
	for _, w := range a {
		count[w]++
	}
	for _, w := range b {
		count[w]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// TestEveryStockParameterIsKnown: CONFIG GET knows what the comments of the stock files name, and CONFIG SET takes back
// what CONFIG GET gives, of every parameter that can be changed at all.
func TestEveryStockParameterIsKnown(t *testing.T) {
	s := ownServer(t)
	c := s.dial()
	for _, name := range strings.Fields(stockComments) {
		configValue(c, name)
	}
	all := c.value("CONFIG", "GET", "*")
	for i := 0; i+1 < len(all.elems); i += 2 {
		name, v := all.elems[i].text, all.elems[i+1].text
		switch got := c.do("CONFIG", "SET", name, v); {
		case got == "+OK\r\n", strings.HasSuffix(got, "can't set immutable config\r\n"), strings.HasSuffix(got, "can't set protected config\r\n"):
		default:
			t.Errorf("CONFIG SET %s %q: %s", name, v, got)
		}
	}
	wantNoEffect(t, s, "")
}

// TestBothSpellings: old and new names, those of Redis and those of Valkey, are the same parameter.
func TestBothSpellings(t *testing.T) {
	conf := writeConf(t, t.TempDir(), "old.conf", `list-max-ziplist-size -3
hash-max-ziplist-entries 11
hash-max-ziplist-value 12
zset-max-ziplist-entries 13
zset-max-ziplist-value 14
slave-priority 15
lua-time-limit 16
min-slaves-max-lag 17
primaryauth secret
commandlog-execution-slower-than 18
slowlog-max-len 19
server-cpulist 0-1
list-max-ziplist-entries 512
lua-replicate-commands yes
slaveof no one
`)
	s := ownServer(t, conf)
	c := s.dial()
	wantConfig(t, c, map[string]string{
		"list-max-listpack-size": "-3", "hash-max-listpack-entries": "11", "hash-max-listpack-value": "12",
		"zset-max-listpack-entries": "13", "zset-max-listpack-value": "14", "replica-priority": "15", "busy-reply-threshold": "16",
		"min-replicas-max-lag": "17", "masterauth": "secret", "slowlog-log-slower-than": "18",
		"commandlog-slow-execution-max-len": "19", "server_cpulist": "0-1", "replicaof": "",
	})
	wantNoEffect(t, s, "replica-priority min-replicas-max-lag masterauth server_cpulist")
	c.ok("CONFIG", "SET", "hash-max-ziplist-entries", "21", "slave-lazy-flush", "yes")
	wantConfig(t, c, map[string]string{"hash-max-listpack-entries": "21", "replica-lazy-flush": "yes"})
	c.ok("CONFIG", "REWRITE")
	text := readFile(t, conf)
	for _, line := range []string{"hash-max-listpack-entries 21\n", "replica-lazy-flush yes\n", "slave-priority 15\n", "lua-replicate-commands yes\n", "slaveof no one\n"} {
		if !strings.Contains(text, line) {
			t.Errorf("CONFIG REWRITE lost %q:\n%s", line, text)
		}
	}
}

// TestPromisesAreRefused: a configuration that asks for what there is not stops the start with one line, and CONFIG SET
// refuses it.
func TestPromisesAreRefused(t *testing.T) {
	for _, bad := range []struct{ line, why string }{
		{"save 3600 1", "no persistence"}, {"appendonly yes", "no persistence"}, {"shutdown-on-sigterm save", "no persistence"},
		{"replicaof 10.0.0.1 6379", "no replication"}, {"slaveof 10.0.0.1 6379", "no replication"}, {"min-replicas-to-write 1", "no replication"},
		{"cluster-enabled yes", "no cluster"}, {"user alice on >hunter2 ~* +nosuch", "rule 4: Unknown command"},
		{"rename-command CONFIG \"\"", "cannot be renamed"}, {"loadmodule /lib/x.so", "no modules"},
		{"rdma-port 6379", "no RDMA"},
		{"tls-protocols TLSv1.1", "older versions"}, {"tls-ciphers DEFAULT", "ciphers"},
		{"lua-replicate-commands", "one value"},
	} {
		name, rest, _ := strings.Cut(bad.line, " ")
		t.Run(name, func(t *testing.T) {
			code, out := runToEnd(t, "", writeConf(t, t.TempDir(), "bad.conf", "timeout 0\n"+bad.line+"\n"), "--port", freePort(t))
			checkRefusal(t, code, out, []string{"bad.conf:2: " + name, bad.why})
			if strings.Contains(out, "hunter2") {
				t.Errorf("a secret is shown: %s", out)
			}
			code, out = runToEnd(t, "", append([]string{"--port", freePort(t), "--" + name}, strings.Fields(rest)...)...)
			checkRefusal(t, code, out, []string{"--", bad.why})
		})
	}
	c := ownServer(t).dial()
	for _, args := range [][]string{
		{"save", "3600 1"}, {"appendonly", "yes"}, {"min-slaves-to-write", "1"}, {"shutdown-on-sigint", "save now"},
	} {
		before := configValue(c, args[0])
		if got := c.do("CONFIG", "SET", args[0], args[1]); !strings.Contains(got, args[0]) || !strings.Contains(got, "yet") || got[0] != '-' {
			t.Errorf("CONFIG SET %q: %q", args, got)
		}
		wantConfig(t, c, map[string]string{args[0]: before})
	}
}

// TestGuardedParameters: dir and dbfilename can be changed at run time only where enable-protected-configs lets them.
func TestGuardedParameters(t *testing.T) {
	dir := t.TempDir()
	for value, allowed := range map[string]bool{"no": false, "local": true, "yes": true} {
		c := ownServer(t, "--enable-protected-configs", value).dial()
		for name, v := range map[string]string{"dir": dir, "dbfilename": "other.rdb"} {
			want := "-ERR CONFIG SET failed (possibly related to argument '" + name + "') - can't set protected config\r\n"
			if allowed {
				want = "+OK\r\n"
			}
			c.want(want, "CONFIG", "SET", name, v)
		}
	}
}

// TestHelpIsReadable: --help explains what has an effect, and lists the rest by name.
func TestHelpIsReadable(t *testing.T) {
	code, out := runToEnd(t, "", "--help")
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	if lines := strings.Count(out, "\n"); lines > 260 {
		t.Errorf("%d lines", lines)
	}
	for line := range strings.Lines(out) {
		if len(line) > 101 {
			t.Errorf("a line of %d bytes: %s", len(line), line)
		}
	}
	for _, want := range []string{"--maxclients int", "\nAccepted, and without effect:\n", " io-threads ", "\nKnown, and refused with any value but the default:\n", " cluster-enabled "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "--io-threads") {
		t.Error("io-threads, which has no effect, is among the others")
	}
}

// TestConfigurationInstalled: the configuration that the distribution's package of Redis installs starts the server, if
// it is there; what it says about files is not ours to touch.
func TestConfigurationInstalled(t *testing.T) {
	text, err := os.ReadFile("/etc/redis/redis.conf")
	if err != nil {
		t.Skip("no redis.conf is installed:", err)
	}
	dir := t.TempDir()
	ours := regexp.MustCompile(`(?m)^(dir|logfile|unixsocket|pidfile) .*$`).ReplaceAllString(string(text), "")
	c := ownServer(t, writeConf(t, dir, "redis.conf", ours)).dial()
	for _, line := range regexp.MustCompile(`(?m)^[a-z_-]+ [a-z0-9.-]+$`).FindAllString(ours, -1) {
		name, want, _ := strings.Cut(line, " ")
		if size, err := config.ParseSize(want); err == nil && strings.HasSuffix(want, "mb") {
			want = strconv.FormatInt(size, 10)
		}
		if got := configValue(c, name); got != want && name != "port" {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if entries, _ := filepath.Glob(filepath.Join(dir, "*")); len(entries) != 1 {
		t.Errorf("files appeared: %v", entries)
	}
}
