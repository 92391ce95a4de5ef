package server

import (
	"cmp"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"kvserver/info"
	"kvserver/store"
)

// addInfoSections registers the sections of INFO in Redis's order. They are rendered under the gate.
func (s *Server) addInfoSections() {
	s.info.Add("Server", info.Default, s.serverInfo)
	s.info.Add("Clients", info.Default, s.clientsInfo)
	s.info.Add("Memory", info.Default, s.memoryInfo)
	s.info.Add("Persistence", info.Default, persistenceInfo)
	s.info.Add("Stats", info.Default, s.statsInfo)
	s.info.Add("Replication", info.Default, replicationInfo)
	s.info.Add("CPU", info.Default, cpuInfo)
	s.info.Add("Modules", info.Default, func(*info.Writer) {})
	s.info.Add("Commandstats", info.All, s.commandStatsInfo)
	s.info.Add("Errorstats", info.Default, s.errorStatsInfo)
	s.info.Add("Latencystats", info.All, s.latencyStatsInfo)
	s.info.Add("Cluster", info.Default, func(w *info.Writer) { w.Int("cluster_enabled", 0) })
	s.info.Add("Keyspace", info.Default, s.keyspaceInfo)
	s.info.Add("Hotkeys", info.All, s.hotkeysInfo)
}

func (s *Server) serverInfo(w *info.Writer) {
	now := time.Now()
	uptime := int64(now.Sub(s.started) / time.Second)
	w.Str("redis_version", compatVersion)
	w.Str("kvserver_version", Version)
	revision, dirty := buildRevision()
	w.Str("redis_git_sha1", revision)
	w.Int("redis_git_dirty", dirty)
	w.Str("redis_mode", "standalone")
	w.Str("os", osName())
	w.Int("arch_bits", strconv.IntSize)
	w.Str("go_version", runtime.Version())
	w.Int("process_id", int64(os.Getpid()))
	w.Str("run_id", s.runID)
	w.Int("tcp_port", s.params.port.Get())
	w.Int("server_time_usec", now.UnixMicro())
	w.Int("uptime_in_seconds", uptime)
	w.Int("uptime_in_days", uptime/86400)
	w.Int("hz", int64(time.Second/periodicEvery))
	w.Int("lru_clock", now.Unix()&(1<<24-1))
	w.Str("executable", executable())
	w.Str("config_file", s.params.registry.ConfigFile())
	w.Str("availability_zone", s.params.availabilityZone.Get())
}

// buildRevision returns the first digits of the commit that this program was built from, and 1 if the sources had other
// changes. A build that does not know has zeros, as Redis's from an archive.
func buildRevision() (revision string, dirty int64) {
	revision = "00000000"
	build, _ := debug.ReadBuildInfo()
	if build == nil {
		return revision, 0
	}
	for _, setting := range build.Settings {
		switch {
		case setting.Key == "vcs.revision" && len(setting.Value) > len(revision):
			revision = setting.Value[:len(revision)]
		case setting.Key == "vcs.modified" && setting.Value == "true":
			dirty = 1
		}
	}
	return revision, dirty
}

// osName is the system as uname prints it, without the host's name.
func osName() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return runtime.GOOS + " " + runtime.GOARCH
	}
	return unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:]) + " " +
		unix.ByteSliceToString(name.Machine[:])
}

func (s *Server) clientsInfo(w *info.Writer) {
	list := s.clients.unordered()
	var maxInput, maxOutput, watching, watched, timed int64
	for _, c := range list {
		maxInput = max(maxInput, int64(c.conn.InputBytes()))
		maxOutput = max(maxOutput, int64(c.conn.OutputBytes()))
		if c.watcher.Watching() {
			watching, watched = watching+1, watched+int64(c.watcher.Len())
		}
		if c.waiting != nil && c.waiting.timer != nil {
			timed++
		}
	}
	w.Int("connected_clients", int64(len(list)))
	w.Int("cluster_connections", 0)
	w.Int("maxclients", s.params.maxClients.Get())
	w.Int("client_recent_max_input_buffer", maxInput)
	w.Int("client_recent_max_output_buffer", maxOutput)
	w.Int("blocked_clients", int64(s.pause.waiting())+s.blocked.Load())
	w.Int("tracking_clients", s.caching.count())
	_, subscribers := s.channels.counts()
	w.Int("pubsub_clients", subscribers)
	w.Int("watching_clients", watching)
	w.Int("clients_in_timeout_table", timed)
	w.Int("total_watched_keys", watched)
	blocking, onNoKey := s.blockingKeys()
	w.Int("total_blocking_keys", blocking)
	w.Int("total_blocking_keys_on_nokey", onNoKey)
}

func persistenceInfo(w *info.Writer) {
	w.Int("loading", 0)
	w.Int("async_loading", 0)
	w.Int("rdb_bgsave_in_progress", 0)
	w.Int("aof_enabled", 0)
	w.Int("aof_rewrite_in_progress", 0)
}

func replicationInfo(w *info.Writer) {
	w.Str("role", "master")
	w.Int("connected_slaves", 0)
	w.Int("master_repl_offset", 0)
}

// slotTotals sums what the slots' views have counted, and the bytes of requests and replies.
func (s *Server) slotTotals() (views store.Stats, inBytes, outBytes int64) {
	for _, sl := range s.gate.slots {
		st := sl.view.Stats()
		views.Hits += st.Hits
		views.Misses += st.Misses
		views.Expired += st.Expired
		views.Fields += st.Fields
		views.Evicted += st.Evicted
		inBytes += sl.stats.inBytes
		outBytes += sl.stats.outBytes
	}
	return views, inBytes, outBytes
}

func (s *Server) statsInfo(w *info.Writer) {
	commands := int64(0)
	for _, cmd := range s.table.all {
		commands += s.commandTotal(cmd).calls
	}
	views, inBytes, outBytes := s.slotTotals()
	w.Int("total_connections_received", s.counters.connections.Load())
	w.Int("total_commands_processed", commands)
	w.Int("instantaneous_ops_per_sec", int64(s.rates.of(rateCommands)))
	w.Int("total_net_input_bytes", inBytes)
	w.Int("total_net_output_bytes", outBytes)
	w.Float("instantaneous_input_kbps", s.rates.of(rateInBytes)/1024, 2)
	w.Float("instantaneous_output_kbps", s.rates.of(rateOutBytes)/1024, 2)
	w.Int("rejected_connections", s.counters.rejectedConnections.Load())
	w.Int("expired_keys", views.Expired)
	w.Int("expired_subkeys", views.Fields)
	w.Int("expired_time_cap_reached_count", s.counters.expireCapped.Load())
	w.Int("expire_cycle_cpu_milliseconds", s.counters.expireNs.Load()/1e6)
	w.Int("evicted_keys", views.Evicted)
	w.Int("evicted_scripts", s.scripts.evicted)
	w.Int("evicted_clients", s.counters.evictedClients.Load())
	fullMs, fullMsTotal := s.fullMs()
	w.Int("total_eviction_exceeded_time", fullMsTotal)
	w.Int("current_eviction_exceeded_time", fullMs)
	w.Int("keyspace_hits", views.Hits)
	w.Int("keyspace_misses", views.Misses)
	names, _ := s.channels.counts()
	w.Int("pubsub_channels", names[plainChannel])
	w.Int("pubsub_patterns", names[channelPattern])
	w.Int("pubsubshard_channels", names[shardChannel])
	w.Int("tracking_total_keys", s.caching.table.Keys())
	w.Int("tracking_total_items", s.caching.table.Items())
	w.Int("tracking_total_prefixes", s.caching.prefixes.Len())
	w.Int("total_error_replies", s.errorReplies())
	w.Int("client_query_buffer_limit_disconnections", s.counters.queryBufferDisconnects.Load())
	w.Int("client_output_buffer_limit_disconnections", s.counters.outputDisconnects.Load())
	for why, name := range aclDeniedFields {
		w.Int(name, s.accounts.denied[why].Load())
	}
	w.Int("handler_panics", s.counters.panics.Load())
}

func cpuInfo(w *info.Writer) {
	user, sys := processorTime(syscall.RUSAGE_SELF)
	userChildren, sysChildren := processorTime(syscall.RUSAGE_CHILDREN)
	w.Float("used_cpu_sys", sys.Seconds(), 6)
	w.Float("used_cpu_user", user.Seconds(), 6)
	w.Float("used_cpu_sys_children", sysChildren.Seconds(), 6)
	w.Float("used_cpu_user_children", userChildren.Seconds(), 6)
}

// commandTotal is a command's counters over all slots.
type commandTotal struct {
	cmd *command
	commandStat
}

// commandTotals sums the slots, for commands that were called or refused, in alphabetical order.
func (s *Server) commandTotals() []commandTotal {
	var list []commandTotal
	for _, cmd := range s.table.all {
		t := s.commandTotal(cmd)
		if t.calls+t.rejected == 0 {
			continue
		}
		for _, sl := range s.gate.slots {
			t.latency = merged(t.latency, sl.stats.commands[cmd.id].latency)
		}
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b commandTotal) int { return cmp.Compare(a.cmd.fullName, b.cmd.fullName) })
	return list
}

// commandTotal sums the slots' counters of a command, without their histograms, which take long.
func (s *Server) commandTotal(cmd *command) commandTotal {
	t := commandTotal{cmd: cmd}
	for _, sl := range s.gate.slots {
		st := &sl.stats.commands[cmd.id]
		t.calls, t.ns = t.calls+st.calls, t.ns+st.ns
		t.rejected, t.failed = t.rejected+st.rejected, t.failed+st.failed
	}
	return t
}

func (s *Server) commandStatsInfo(w *info.Writer) {
	for _, t := range s.commandTotals() {
		us, perCall := t.ns/1e3, 0.0
		if t.calls > 0 {
			perCall = float64(t.ns) / 1e3 / float64(t.calls)
		}
		w.Begin("cmdstat_", t.cmd.fullName)
		w.PartInt("calls", t.calls)
		w.PartInt("usec", us)
		w.PartFloat("usec_per_call", perCall, 2)
		w.PartInt("rejected_calls", t.rejected)
		w.PartInt("failed_calls", t.failed)
		w.End()
	}
}

func (s *Server) latencyStatsInfo(w *info.Writer) {
	list := percentiles(s.params.latencyPercentiles.Get())
	for _, t := range s.commandTotals() {
		if t.latency == nil || t.latency.TotalCount() == 0 {
			continue
		}
		w.Begin("latency_percentiles_usec_", t.cmd.fullName)
		for _, p := range list {
			w.PartFloat("p"+strconv.FormatFloat(p, 'f', -1, 64), float64(t.latency.ValueAtPercentile(p))/1e3, 3)
		}
		w.End()
	}
}

// errorTotals sums the slots' error counters by code.
func (s *Server) errorTotals() map[string]int64 {
	total := make(map[string]int64)
	for _, sl := range s.gate.slots {
		for code, n := range sl.stats.errors {
			total[code] += n
		}
	}
	return total
}

func (s *Server) errorReplies() (n int64) {
	for _, count := range s.errorTotals() {
		n += count
	}
	return n
}

func (s *Server) errorStatsInfo(w *info.Writer) {
	totals := s.errorTotals()
	for _, code := range slices.Sorted(maps.Keys(totals)) {
		w.Begin("errorstat_", code)
		w.PartInt("count", totals[code])
		w.End()
	}
}

func (s *Server) keyspaceInfo(w *info.Writer) {
	for db := range int(s.params.databases.Get()) {
		keys, volatile := s.store.Keys(db)
		if keys == 0 {
			continue
		}
		w.Begin("db", strconv.Itoa(db))
		w.PartInt("keys", keys)
		w.PartInt("expires", volatile)
		w.PartInt("avg_ttl", s.store.AverageTTL(db, time.Now().UnixMilli()))
		w.End()
	}
}

// resetStats is CONFIG RESETSTAT. The caller holds the gate.
func (s *Server) resetStats() {
	for _, sl := range s.gate.slots {
		clear(sl.stats.commands)
		clear(sl.stats.errors)
		sl.stats.inBytes, sl.stats.outBytes = 0, 0
		sl.view.ResetStats()
	}
	s.counters.connections.Store(0)
	s.counters.rejectedConnections.Store(0)
	s.counters.queryBufferDisconnects.Store(0)
	s.counters.outputDisconnects.Store(0)
	for i := range s.accounts.denied {
		s.accounts.denied[i].Store(0)
	}
	s.counters.evictedClients.Store(0)
	s.counters.expireCapped.Store(0)
	s.counters.expireNs.Store(0)
	s.memory.fullNs.Store(0)
	s.scripts.evicted = 0
	s.store.ResetFreed()
	s.rates.reset()
}
