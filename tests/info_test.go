package tests

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// infoSections splits the text of INFO into its sections, in order, each with
// its lines.
func infoSections(text string) (names []string, fields map[string][]string) {
	fields = map[string][]string{}
	for line := range strings.SplitSeq(text, "\r\n") {
		switch {
		case strings.HasPrefix(line, "# "):
			names = append(names, line[2:])
		case line != "" && len(names) > 0:
			last := names[len(names)-1]
			fields[last] = append(fields[last], line)
		}
	}
	return names, fields
}

// infoOnlyOurs are the fields that Redis 7.0 has not.
var infoOnlyOurs = map[string]string{
	"hotkeys_last_window_samples":               "hot keys",
	"hotkeys_last_window_duration_ms":           "hot keys",
	"hotkeys_windows_completed":                 "hot keys",
	"hotkeys_windows_discarded":                 "hot keys",
	"hotkeys_tracked_counters":                  "hot keys",
	"hotkeys_memory_bytes":                      "hot keys",
	"hotkeys_detection_floor_qps":               "hot keys",
	"hotkeys_warming_keys":                      "hot keys",
	"hotkeys_hot_keys":                          "hot keys",
	"hotkeys_pinned_keys":                       "hot keys",
	"hotkeys_promotions":                        "hot keys",
	"hotkeys_aborted_warmups":                   "hot keys",
	"hotkeys_demotions":                         "hot keys",
	"hotkeys_emergency_trips":                   "hot keys",
	"hotkeys_time_in_hot_ms":                    "hot keys",
	"hotkeys_false_promotions":                  "hot keys",
	"hotkeys_refused_promotions":                "hot keys",
	"hotkeys_muted_alerts":                      "hot keys",
	"mem_hotkeys":                               "hot keys",
	"kvserver_version":                          "redis_version is the version whose commands we have",
	"go_version":                                "where Redis has gcc_version",
	"acl_access_denied_auth":                    "Redis 7.2",
	"acl_access_denied_cmd":                     "Redis 7.2",
	"acl_access_denied_key":                     "Redis 7.2",
	"acl_access_denied_channel":                 "Redis 7.2",
	"availability_zone":                         "Valkey 8.0",
	"handler_panics":                            "a panic answers one client and is counted",
	"pubsub_clients":                            "Redis 7.4",
	"watching_clients":                          "Redis 7.4",
	"evicted_scripts":                           "Redis 7.4",
	"total_watched_keys":                        "Redis 7.4",
	"expired_subkeys":                           "Redis 7.4",
	"total_blocking_keys":                       "Redis 7.2",
	"total_blocking_keys_on_nokey":              "Redis 7.2",
	"client_query_buffer_limit_disconnections":  "Redis 7.2",
	"client_output_buffer_limit_disconnections": "Redis 7.2",
}

// infoNames are names of fields that have a command, an error or a number in
// them.
var infoNames = regexp.MustCompile(`^(cmdstat_|errorstat_|latency_percentiles_usec_|db\d+$).*`)

// TestInfoFieldNames: a field that Redis has too is called as it is called
// there, and no field is made up.
func TestInfoFieldNames(t *testing.T) {
	ours, theirs := startServer(t).dial(), startPeer(t).dial()
	for _, c := range []*conn{ours, theirs} {
		c.do("SET", "k", "v", "EX", "100")
		c.do("GET", "missing")
		c.do("nosuch")
	}
	_, a := infoSections(ours.value("INFO", "everything").text)
	_, b := infoSections(theirs.value("INFO", "everything").text)
	known := map[string]bool{}
	for _, lines := range b {
		for _, line := range lines {
			name, _, _ := strings.Cut(line, ":")
			known[name] = true
		}
	}
	for section, lines := range a {
		for _, line := range lines {
			name, _, ok := strings.Cut(line, ":")
			if !ok {
				t.Errorf("%s: a line without a colon: %q", section, line)
			}
			if !known[name] && infoOnlyOurs[name] == "" && !infoNames.MatchString(name) {
				t.Errorf("%s: Redis has no field %s, and it is not among infoOnlyOurs", section, name)
			}
		}
	}
	for _, field := range strings.Fields(`redis_version redis_mode os arch_bits process_id run_id tcp_port uptime_in_seconds
		connected_clients maxclients blocked_clients used_memory used_memory_human used_memory_rss used_memory_peak maxmemory
		maxmemory_policy loading aof_enabled total_connections_received total_commands_processed
		instantaneous_ops_per_sec total_net_input_bytes total_net_output_bytes rejected_connections expired_keys evicted_keys
		keyspace_hits keyspace_misses role connected_slaves used_cpu_sys used_cpu_user cluster_enabled`) {
		if _, ok := infoLine(ours.value("INFO", "everything").text, field); !ok {
			t.Errorf("INFO lacks %s", field)
		}
	}
}

// TestInfoSections: which sections come for which words, and in which order.
func TestInfoSections(t *testing.T) {
	ours, theirs := startServer(t).dial(), startPeer(t).dial()
	for _, words := range [][]string{
		nil, {"default"}, {"all"}, {"everything"}, {"server"}, {"SERVER"}, {"clients", "memory"}, {"memory", "clients"},
		{"commandstats"}, {"server", "all"}, {"default", "commandstats"}, {"nosuch"}, {"server", "server"}, {"keyspace", "nosuch"},
		{"errorstats"}, {"latencystats"}, {"cpu"}, {"modules"}, {"cluster"}, {"replication"}, {"persistence"}, {"stats"},
	} {
		a, _ := infoSections(ours.value(append([]string{"INFO"}, words...)...).text)
		b, _ := infoSections(theirs.value(append([]string{"INFO"}, words...)...).text)
		a = slices.DeleteFunc(a, func(name string) bool { return name == "Hotkeys" })
		if !slices.Equal(a, b) {
			t.Errorf("INFO %q has the sections %q, Redis has %q", words, a, b)
		}
	}
}

// TestInfoCounts: the numbers are true.
func TestInfoCounts(t *testing.T) {
	s := ownServer(t)
	c := s.dial()
	c.ok("CONFIG", "RESETSTAT")
	c.pipeline(times(10, "SET k v"))
	c.pipeline(times(20, "GET k"))
	c.pipeline(times(5, "GET missing"))
	c.pipeline(times(3, "INCR k"))
	c.pipeline(times(2, "GET"))
	c.pipeline(times(4, "nosuch"))
	c.pipeline(times(1, "SELECT 3", "SET a 1 EX 1000", "SET b 2", "SELECT 0"))
	info := c.value("INFO", "everything").text
	for name, want := range map[string]int64{
		"keyspace_hits": 20, "keyspace_misses": 5, "connected_clients": 1, "total_error_replies": 9,
		// All of the above but what was refused, and not yet this INFO.
		"total_commands_processed": 10 + 20 + 5 + 3 + 4 + 1,
	} {
		if got := infoNumber(t, info, name); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
	for name, pattern := range map[string]string{
		"cmdstat_get":                  `^calls=25,usec=\d+,usec_per_call=\d+\.\d\d,rejected_calls=2,failed_calls=0$`,
		"cmdstat_incr":                 `^calls=3,usec=\d+,usec_per_call=\d+\.\d\d,rejected_calls=0,failed_calls=3$`,
		"cmdstat_config|resetstat":     `^calls=1,usec=\d+,usec_per_call=\d+\.\d\d,rejected_calls=0,failed_calls=0$`,
		"errorstat_ERR":                `^count=9$`,
		"latency_percentiles_usec_get": `^p50=\d+\.\d{3},p99=\d+\.\d{3},p99\.9=\d+\.\d{3}$`,
		"db0":                          `^keys=1,expires=0,avg_ttl=0$`,
		"db3":                          `^keys=2,expires=1,avg_ttl=\d+$`,
		"redis_version":                `^\d+\.\d+\.\d+$`,
		"run_id":                       `^[0-9a-f]{40}$`,
		"used_memory_human":            `^\d+\.\d\d[BKMG]$`,
		"role":                         `^master$`,
	} {
		if got, ok := infoLine(info, name); !ok || !regexp.MustCompile(pattern).MatchString(got) {
			t.Errorf("%s is %q, want it to match %s", name, got, pattern)
		}
	}
	if pid := infoNumber(t, info, "process_id"); pid != int64(s.cmd.Process.Pid) {
		t.Errorf("process_id is %d, want %d", pid, s.cmd.Process.Pid)
	}
	c.ok("CONFIG", "RESETSTAT")
	info = c.value("INFO", "everything").text
	for _, name := range []string{"keyspace_hits", "keyspace_misses", "total_error_replies"} {
		if got := infoNumber(t, info, name); got != 0 {
			t.Errorf("after CONFIG RESETSTAT %s is %d", name, got)
		}
	}
	if got, ok := infoLine(info, "cmdstat_get"); ok {
		t.Errorf("after CONFIG RESETSTAT cmdstat_get is %s", got)
	}
}

// TestInfoCountsMatchThePeer keeps the expectations above those of Redis. OBJECT
// is left out: Redis counts its lookups as hits and misses, and we do not, since
// it only looks from outside.
func TestInfoCountsMatchThePeer(t *testing.T) {
	fields := []string{"keyspace_hits", "keyspace_misses", "total_error_replies", "total_commands_processed", "errorstat_ERR", "db0", "db3",
		"expired_keys", "connected_clients", "evicted_keys", "tracking_clients", "blocked_clients", "total_connections_received"}
	load := slices.Concat(times(1, "CONFIG RESETSTAT"), times(10, "SET k v"), times(20, "GET k"), times(5, "MGET k missing"),
		times(3, "INCR k", "EXISTS k missing", "TTL missing", "TYPE k", "TOUCH k", "STRLEN missing"), times(2, "GET", "nosuch"),
		times(2, "GETDEL k", "SET k v", "GETEX k", "SET k w GET", "APPEND k x", "SETRANGE k 0 y",
			"GETRANGE k 0 1", "DEL k missing", "RENAME missing x", "COPY missing x", "SETNX k v",
			"EXPIRE k -1", "PERSIST missing", "MSETNX a 1 b 2", "LCS a missing", "GETSET a 1", "UNLINK a b", "EXPIRE missing 1"),
		times(1, "MULTI", "GET missing", "INCR n", "EXEC", "MULTI", "GET", "EXEC", "EXEC"))
	ask := func(c *conn) map[string]string {
		c.pipeline(load)
		got := map[string]string{}
		info := c.value("INFO", "everything").text
		for _, f := range fields {
			got[f], _ = infoLine(info, f)
		}
		return got
	}
	ours, theirs := ask(ownServer(t).dial()), ask(startPeer(t).dial())
	for _, f := range fields {
		if ours[f] != theirs[f] {
			t.Errorf("%s is %q, and %q in Redis", f, ours[f], theirs[f])
		}
	}
}

// TestClientList: one line per connection, with the fields Redis has.
func TestClientList(t *testing.T) {
	s := ownServer(t)
	c, other := s.dial(), s.dial()
	c.ok("CLIENT", "SETNAME", "me")
	c.ok("CLIENT", "SETINFO", "LIB-NAME", "lib")
	c.ok("CLIENT", "SETINFO", "LIB-VER", "1.2")
	other.ok("SELECT", "7")
	other.ok("MULTI")
	other.do("PING")
	list := c.value("CLIENT", "LIST").text
	lines := strings.Split(strings.TrimSuffix(list, "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("two clients:\n%s", list)
	}
	pattern := regexp.MustCompile(`^id=\d+ addr=127\.0\.0\.1:\d+ laddr=127\.0\.0\.1:\d+ fd=-?\d+ name=\S* age=\d+ idle=\d+ flags=\w+ db=\d+ ` +
		`sub=0 psub=0 ssub=0 multi=-?\d+ .*events=\w* cmd=\S+ user=default redir=-1 resp=[23]( |$)`)
	for _, line := range lines {
		if !pattern.MatchString(line) {
			t.Errorf("not like a line of Redis: %s", line)
		}
	}
	if !strings.Contains(list, " name=me ") || !strings.Contains(list, " lib-name=lib ") || !strings.Contains(list, " lib-ver=1.2") {
		t.Errorf("name and library are not in:\n%s", list)
	}
	if !regexp.MustCompile(`flags=x db=7 .* multi=1 .* cmd=ping `).MatchString(list) {
		t.Errorf("the open transaction is not in:\n%s", list)
	}
	other.ok("DISCARD")
	id := other.value("CLIENT", "ID").text
	if got := c.value("CLIENT", "LIST", "ID", id).text; !strings.HasPrefix(got, "id="+id+" ") || strings.Count(got, "\n") != 1 {
		t.Errorf("CLIENT LIST ID %s:\n%s", id, got)
	}
}

// TestClientKill closes exactly those it is asked to.
func TestClientKill(t *testing.T) {
	s := ownServer(t)
	c := s.dial()
	open := func() (*conn, string, string) {
		t.Helper()
		v := s.dial()
		id := v.value("CLIENT", "ID").text
		return v, id, v.nc.LocalAddr().String()
	}
	victim, id, _ := open()
	c.want(":1\r\n", "CLIENT", "KILL", "ID", id)
	victim.wantClosed("")
	victim, _, addr := open()
	c.want(":1\r\n", "CLIENT", "KILL", "ADDR", addr)
	victim.wantClosed("")
	victim, _, addr = open()
	c.ok("CLIENT", "KILL", addr)
	victim.wantClosed("")
	victim, _, _ = open()
	second, _, _ := open()
	c.want(":2\r\n", "CLIENT", "KILL", "LADDR", s.addr)
	victim.wantClosed("")
	second.wantClosed("")
	// A client that waits in the middle of a command, and one that does not read.
	half := s.dial()
	halfID := half.value("CLIENT", "ID").text
	half.send("*2\r\n$3\r\nGET\r\n$5\r\nab")
	c.want(":1\r\n", "CLIENT", "KILL", "ID", halfID)
	half.wantClosed("")
	c.want("+PONG\r\n", "PING")
	me := c.value("CLIENT", "ID").text
	c.want(":1\r\n", "CLIENT", "KILL", "ID", me, "SKIPME", "no")
	c.wantClosed("")
}

// TestClientReply: OFF and SKIP are quiet, and the rest of a pipeline is not
// displaced.
func TestClientReply(t *testing.T) {
	check := func(t *testing.T, c *conn) {
		c.send(string(encode("CLIENT", "REPLY", "SKIP")) + string(encode("ECHO", "skipped")) + string(encode("ECHO", "one")))
		if got := c.reply(); got != "$3\r\none\r\n" {
			t.Errorf("after SKIP: %q", got)
		}
		c.send(string(encode("CLIENT", "REPLY", "OFF")) + string(encode("ECHO", "off")) + string(encode("GET")) + string(encode("nosuch")))
		c.send(string(encode("CLIENT", "REPLY", "SKIP")) + string(encode("SET", "k", "v")))
		c.send(string(encode("CLIENT", "REPLY", "ON")) + string(encode("GET", "k")))
		if got := c.reply(); got != "+OK\r\n" {
			t.Errorf("CLIENT REPLY ON: %q", got)
		}
		if got := c.reply(); got != "$1\r\nv\r\n" {
			t.Errorf("after ON: %q", got)
		}
	}
	t.Run("ours", func(t *testing.T) { check(t, startServer(t).dial()) })
	t.Run("the peer", func(t *testing.T) { check(t, startPeer(t).dial()) })
}

// TestClientPause: WRITE holds up writes and lets reads pass, ALL holds up both,
// UNPAUSE ends either, and so does time.
func TestClientPause(t *testing.T) {
	check := func(t *testing.T, s *server) {
		admin := s.dial()
		paused := func(args ...string) (*conn, chan string) {
			c := s.dial()
			got := make(chan string, 1)
			go func() {
				b, err := c.try(args...)
				got <- fmt.Sprintf("%s%v", b, err)
			}()
			return c, got
		}
		admin.ok("CLIENT", "PAUSE", "100000", "WRITE")
		admin.want("$-1\r\n", "GET", "k")
		_, write := paused("SET", "k", "v")
		_, exec := paused("INCR", "n")
		// The read that follows them shows that they were not run.
		eventually(t, "the writers have arrived", func() bool {
			return strings.Count(admin.value("CLIENT", "LIST").text, "\n") >= 3
		})
		for range 20 {
			admin.want(":0\r\n", "EXISTS", "k", "n")
		}
		admin.ok("CLIENT", "UNPAUSE")
		if got := <-write; got != "+OK\r\n<nil>" {
			t.Errorf("the paused SET: %q", got)
		}
		if got := <-exec; got != ":1\r\n<nil>" {
			t.Errorf("the paused INCR: %q", got)
		}
		admin.ok("CLIENT", "PAUSE", "300", "ALL")
		_, read := paused("GET", "k")
		if got := <-read; got != "$1\r\nv\r\n<nil>" {
			t.Errorf("a GET paused for 300 ms: %q", got)
		}
	}
	t.Run("ours", func(t *testing.T) { check(t, startServer(t)) })
	t.Run("the peer", func(t *testing.T) { check(t, startPeer(t)) })
}

// TestTimeCommand: two strings, seconds and microseconds, that move forward.
func TestTimeCommand(t *testing.T) {
	c := startServer(t).dial()
	last := ""
	for range 100 {
		v := c.value("TIME").texts()
		if len(v) != 2 || len(v[0]) != 10 || len(v[1]) > 6 {
			t.Fatalf("TIME: %q", v)
		}
		now := v[0] + fmt.Sprintf("%06s", v[1])
		if now < last {
			t.Errorf("TIME went from %s to %s", last, now)
		}
		last = now
	}
}

// TestResetStatForgetsWhatWasDropped: scripts and large collections count anew, too.
func TestResetStatForgetsWhatWasDropped(t *testing.T) {
	c := startServer(t).dial()
	commands := make([][]string, 510)
	for i := range commands {
		commands[i] = []string{"EVAL", "return " + strconv.Itoa(i), "0"}
	}
	c.pipeline(commands)
	members := make([]string, 20000)
	for i := range members {
		members[i] = strings.Repeat("x", 100) + strconv.Itoa(i)
	}
	c.want(":20000\r\n", append([]string{"SADD", "s"}, members...)...)
	c.want(":1\r\n", "UNLINK", "s")
	eventually(t, "the set is freed", func() bool { return infoInt(c, "memory", "lazyfreed_objects") == 1 })
	if n := infoInt(c, "stats", "evicted_scripts"); n != 10 {
		t.Errorf("%d scripts are evicted", n)
	}
	c.ok("CONFIG", "RESETSTAT")
	for section, field := range map[string]string{"memory": "lazyfreed_objects", "stats": "evicted_scripts"} {
		if n := infoInt(c, section, field); n != 0 {
			t.Errorf("after CONFIG RESETSTAT %s is %d", field, n)
		}
	}
}
