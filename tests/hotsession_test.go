package tests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// sessionReport is the report of a tracking session in the form of either protocol.
type sessionReport struct {
	t      testing.TB
	fields value
}

func askSession(c *conn) sessionReport {
	c.t.Helper()
	v := c.value("HOTKEYS", "GET")
	if len(v.elems) != 1 {
		c.t.Fatalf("not the report of a session: %s", v)
	}
	return sessionReport{c.t, v.elems[0]}
}

func (r sessionReport) int(name string) int64 {
	r.t.Helper()
	v, there := r.fields.field(name)
	n, isInt := v.int()
	if !there || !isInt {
		r.t.Fatalf("no number %s in\n%s", name, r.fields)
	}
	return n
}

// ranking returns the keys in their order, and their figures.
func (r sessionReport) ranking(name string) (keys []string, figures map[string]int64) {
	r.t.Helper()
	v, there := r.fields.field(name)
	if !there || len(v.elems)%2 != 0 {
		r.t.Fatalf("no %s in\n%s", name, r.fields)
	}
	figures = map[string]int64{}
	for i := 0; i < len(v.elems); i += 2 {
		n, _ := v.elems[i+1].int()
		keys = append(keys, v.elems[i].text)
		figures[v.elems[i].text] = n
	}
	return keys, figures
}

func TestSessionByGoRedis(t *testing.T) {
	s := startServer(t)
	ctx := context.Background()
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			client := redis.NewClient(&redis.Options{Addr: s.addr, Protocol: protocol, ReadTimeout: patience, MaxRetries: -1})
			defer client.Close()
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			if r, err := client.HotKeysGet(ctx).Result(); r != nil || err != nil {
				t.Fatalf("before a session: %v, %v", r, err)
			}
			if err := client.HotKeysStop(ctx).Err(); !errors.Is(err, redis.Nil) {
				t.Errorf("STOP without a session: %v", err)
			}
			before := time.Now()
			must(client.HotKeysStart(ctx, &redis.HotKeysStartArgs{
				Metrics: []redis.HotKeysMetric{redis.HotKeysMetricCPU, redis.HotKeysMetricNET}, Count: 2, Duration: 1_000_000, Sample: 1,
			}).Err())
			for range 3 {
				must(client.Set(ctx, "large", strings.Repeat("x", 1000), 0).Err())
				must(client.Get(ctx, "large").Err())
			}
			must(client.Set(ctx, "small", "x", 0).Err())
			must(client.Set(ctx, "middle", strings.Repeat("x", 100), 0).Err())
			r, err := client.HotKeysGet(ctx).Result()
			must(err)
			if !r.TrackingActive {
				t.Error("it says that it does not run")
			}
			if err := client.HotKeysReset(ctx).Err(); err == nil || err.Error() != "ERR hotkey tracking session in progress, stop tracking first" {
				t.Errorf("RESET while it runs: %v", err)
			}
			must(client.HotKeysStop(ctx).Err())
			must(client.Set(ctx, "small", strings.Repeat("x", 100_000), 0).Err()) // which it does not see any more
			r, err = client.HotKeysGet(ctx).Result()
			must(err)
			checkGoRedisReport(t, r, before)
			must(client.HotKeysReset(ctx).Err())
			if r, err := client.HotKeysGet(ctx).Result(); r != nil || err != nil {
				t.Errorf("after RESET: %v, %v", r, err)
			}
		})
	}
}

// checkGoRedisReport holds a report against the load of TestSessionByGoRedis.
func checkGoRedisReport(t *testing.T, r *redis.HotKeysResult, before time.Time) {
	t.Helper()
	if r.TrackingActive || r.SampleRatio != 1 {
		t.Errorf("active %v, ratio %d", r.TrackingActive, r.SampleRatio)
	}
	if len(r.SelectedSlots) != 1 || !slices.Equal(r.SelectedSlots[0], redis.HotKeysSlotRange{0, 16383}) {
		t.Errorf("slots %v", r.SelectedSlots)
	}
	value := strings.Repeat("x", 1000)
	large := 3 * (len(encode("set", "large", value)) + len("+OK\r\n") + len(encode("get", "large")) + len("$1000\r\n\r\n") + len(value))
	middle := len(encode("set", "middle", value[:100])) + len("+OK\r\n")
	small := len(encode("set", "small", "x")) + len("+OK\r\n")
	want := []redis.HotKeysKeyEntry{{Key: "large", Value: int64(large)}, {Key: "middle", Value: int64(middle)}}
	if !slices.Equal(r.ByNetBytes, want) {
		t.Errorf("by bytes: %v, want %v", r.ByNetBytes, want)
	}
	if total := int64(large + middle + small); r.TotalNetBytes != total || r.NetBytesAllCommandsAllSlots != total {
		t.Errorf("%d and %d bytes, want %d", r.TotalNetBytes, r.NetBytesAllCommandsAllSlots, total)
	}
	var sum time.Duration
	for _, e := range r.ByCPUTime {
		us, ok := e.Value.(int64)
		if !ok || us < 1 {
			t.Errorf("%s took %v", e.Key, e.Value)
		}
		sum += time.Duration(us) * time.Microsecond
	}
	if len(r.ByCPUTime) != 2 || r.AllCommandsAllSlots < sum-2*time.Microsecond { // each rounded up
		t.Errorf("by time: %v of %v", r.ByCPUTime, r.AllCommandsAllSlots)
	}
	end := r.CollectionStartTime.Add(r.CollectionDuration)
	if r.CollectionStartTime.Before(before.Add(-time.Second)) || end.After(time.Now().Add(time.Second)) {
		t.Errorf("from %v to %v, but it began after %v", r.CollectionStartTime, end, before)
	}
}

func TestSessionByRueidis(t *testing.T) {
	s := startServer(t)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.addr}, ForceSingleClient: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()
	for _, cmd := range []rueidis.Completed{
		client.B().HotkeysStart().Metrics().Count(2).Cpu().Net().Count(5).Duration(600).Sample(1).Build(),
		client.B().Set().Key("k").Value("v").Build(),
		client.B().HotkeysStop().Build(),
	} {
		if err := client.Do(ctx, cmd).Error(); err != nil {
			t.Fatal(err)
		}
	}
	reports, err := client.Do(ctx, client.B().HotkeysGet().Build()).ToArray()
	if err != nil || len(reports) != 1 {
		t.Fatal(reports, err)
	}
	report, err := reports[0].AsMap()
	if err != nil {
		t.Fatal(err)
	}
	byNet := report["by-net-bytes"]
	list, err := byNet.ToArray()
	if err != nil || len(list) != 2 {
		t.Fatalf("by bytes: %v, %v", list, err)
	}
	key, _ := list[0].ToString()
	bytes, _ := list[1].AsInt64()
	if want := int64(len(encode("SET", "k", "v")) + len("+OK\r\n")); key != "k" || bytes != want {
		t.Errorf("%q has %d bytes, want %d", key, bytes, want)
	}
	if err := client.Do(ctx, client.B().HotkeysReset().Build()).Error(); err != nil {
		t.Error(err)
	}
}

// TestSessionCharges holds what each command is charged with, in bytes, against the bytes that went over the wire.
func TestSessionCharges(t *testing.T) {
	s := startServer(t)
	const script = "redis.call('SET', 'nested', string.rep('x', 1000)); return redis.call('GET', KEYS[1])"
	for _, test := range []struct {
		name     string
		before   [][]string
		commands [][]string
		keys     []string // that share what each command takes; of commands[i] if there are as many, else of all
	}{
		{"of one key", nil, [][]string{{"SET", "a", "value"}, {"GET", "b"}, {"INCRBY", "c", "10"}}, []string{"a", "b", "c"}},
		{"that fails", nil, [][]string{{"SET", "a", "value"}, {"INCR", "a"}, {"LPUSH", "a", "x"}}, []string{"a", "a", "a"}},
		{"of several keys", nil, [][]string{{"MSET", "a", "1", "b", "22", "c", "333"}}, []string{"a b c"}},
		{"of one key twice", nil, [][]string{{"EXISTS", "a", "b", "a"}}, []string{"a b a"}},
		{"after a number", nil, [][]string{{"ZUNIONSTORE", "dst", "2", "a", "b"}}, []string{"dst a b"}},
		{"in another database", [][]string{{"SELECT", "3"}}, [][]string{{"GET", "a"}, {"SELECT", "4"}, {"GET", "a"}}, []string{"a", "", "a"}},
		{"without keys", nil, [][]string{{"PING"}, {"TIME"}, {"KEYS", "*"}, {"EVAL", "return 1", "0"}, {"nosuch", "a"}, {"GET"}}, []string{"", "", "", "", "", ""}},
		{"of a script", nil, [][]string{{"EVAL", script, "1", "a"}}, []string{"a"}},
		{"with a binary name", nil, [][]string{{"SET", "\x00\xff\r\n", "v"}}, []string{"\x00\xff\r\n"}},
		{"with an empty name", nil, [][]string{{"SET", "", "v"}}, []string{"<empty>"}},
		{"that waits not at all", [][]string{{"RPUSH", "l", "x"}}, [][]string{{"BLPOP", "l", "0"}}, []string{"l"}},
	} {
		t.Run("A command "+test.name, func(t *testing.T) {
			c := s.dial()
			c.do("FLUSHALL")
			for _, args := range test.before {
				c.do(args...)
			}
			c.ok("HOTKEYS", "START", "METRICS", "1", "NET", "COUNT", "64")
			replies := c.pipeline(test.commands)
			c.ok("HOTKEYS", "STOP")
			want, total := map[string]int64{}, int64(0)
			for i, args := range test.commands {
				var keys []string
				for _, key := range strings.Split(test.keys[i], " ") {
					if key != "" {
						keys = append(keys, strings.ReplaceAll(key, "<empty>", ""))
					}
				}
				bytes := int64(len(encode(args...)) + len(replies[i]))
				for k, key := range keys {
					want[key] += bytes / int64(len(keys))
					if int64(k) < bytes%int64(len(keys)) {
						want[key]++
					}
				}
				if len(keys) > 0 {
					total += bytes
				}
			}
			r := askSession(c)
			_, got := r.ranking("by-net-bytes")
			if fmt.Sprint(got) != fmt.Sprint(want) || r.int("total-net-bytes") != total || r.int("net-bytes-all-commands-all-slots") != total {
				t.Errorf("charged %v of %d, want %v of %d", got, r.int("total-net-bytes"), want, total)
			}
			c.ok("HOTKEYS", "RESET")
		})
	}
}

// TestSessionInTransactions: the commands are charged, EXEC is not.
func TestSessionInTransactions(t *testing.T) {
	c := startServer(t).dial()
	c.ok("HOTKEYS", "START", "METRICS", "1", "NET")
	c.pipeline([][]string{{"WATCH", "w"}, {"MULTI"}, {"SET", "a", "1"}, {"GET", "a"}, {"EXEC"}})
	_, got := askSession(c).ranking("by-net-bytes")
	want := map[string]int64{
		"a": int64(len(encode("SET", "a", "1")) + len("+OK\r\n") + len(encode("GET", "a")) + len("$1\r\n1\r\n")),
		"w": int64(len(encode("WATCH", "w")) + len("+OK\r\n")),
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("charged %v, want %v", got, want)
	}
	c.ok("HOTKEYS", "STOP")
	c.ok("HOTKEYS", "RESET")
}

// TestSessionOfWaits: a command that waits is charged once, when it is over, with what it was answered.
func TestSessionOfWaits(t *testing.T) {
	s := startServer(t)
	c, served, late := s.dial(), s.dial(), s.dial()
	c.ok("HOTKEYS", "START", "METRICS", "2", "CPU", "NET")
	served.send(string(encode("BLPOP", "list", "0")))
	late.send(string(encode("BLPOP", "never", "0.05")))
	eventually(t, "one still waits", func() bool { return blockedClients(c) == 1 })
	if got, want := late.reply(), "*-1\r\n"; got != want {
		t.Errorf("at the end of the time: %q", got)
	}
	_, before := askSession(c).ranking("by-net-bytes")
	if _, charged := before["list"]; charged {
		t.Error("charged while it waits")
	}
	push := c.do("RPUSH", "list", "element")
	pop := served.reply()
	_, got := askSession(c).ranking("by-net-bytes")
	want := map[string]int64{
		"never": int64(len(encode("BLPOP", "never", "0.05")) + len("*-1\r\n")),
		"list":  int64(len(encode("RPUSH", "list", "element")) + len(push) + len(encode("BLPOP", "list", "0")) + len(pop)),
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("charged %v, want %v", got, want)
	}
	c.ok("HOTKEYS", "STOP")
	c.ok("HOTKEYS", "RESET")
}

// TestSessionOfSilence: a reply that the client does not want is none.
func TestSessionOfSilence(t *testing.T) {
	s := startServer(t)
	c, silent := s.dial(), s.dial()
	c.ok("SET", "k", strings.Repeat("x", 1000))
	c.ok("HOTKEYS", "START", "METRICS", "1", "NET")
	silent.send(string(encode("CLIENT", "REPLY", "OFF")) + string(encode("GET", "k")) + string(encode("CLIENT", "REPLY", "ON")))
	if got := silent.reply(); got != "+OK\r\n" {
		t.Errorf("REPLY ON: %q", got)
	}
	if _, got := askSession(c).ranking("by-net-bytes"); got["k"] != int64(len(encode("GET", "k"))) {
		t.Errorf("charged %v", got)
	}
	c.ok("HOTKEYS", "STOP")
	c.ok("HOTKEYS", "RESET")
}

// TestSessionRanksByTime: a key that a script spends its time on comes first, and is far from first by bytes.
func TestSessionRanksByTime(t *testing.T) {
	c := startServer(t).dial()
	c.ok("HOTKEYS", "START", "METRICS", "2", "CPU", "NET", "COUNT", "2")
	c.ok("SET", "large", strings.Repeat("x", 1<<20))
	eventually(t, "the busy key is first by time", func() bool {
		c.do("EVAL", "for i = 1, 100000 do end", "1", "busy")
		byTime, us := askSession(c).ranking("by-cpu-time-us")
		return byTime[0] == "busy" && us["busy"] > us["large"]
	})
	if byBytes, _ := askSession(c).ranking("by-net-bytes"); byBytes[0] != "large" {
		t.Errorf("by bytes: %v", byBytes)
	}
	c.ok("HOTKEYS", "STOP")
	c.ok("HOTKEYS", "RESET")
}

func TestSessionSamples(t *testing.T) {
	c := startServer(t).dial()
	c.ok("HOTKEYS", "START", "METRICS", "1", "NET", "SAMPLE", "100")
	const commands = 5000
	var load [][]string
	for range commands {
		load = append(load, []string{"GET", "k"})
	}
	c.pipeline(load)
	c.ok("HOTKEYS", "STOP")
	r := askSession(c)
	each := int64(len(encode("GET", "k")) + len("$-1\r\n"))
	if all := r.int("net-bytes-all-commands-all-slots"); all != commands*each {
		t.Errorf("%d bytes in all, want %d", all, commands*each)
	}
	// A deviation of six standard deviations, of about 7 each, is one in a billion.
	recorded := r.int("total-net-bytes")
	if n := recorded / each; recorded%each != 0 || n < 50-42 || n > 50+42 {
		t.Errorf("%d bytes recorded, want about %d", recorded, 50*each)
	}
	if _, got := r.ranking("by-net-bytes"); got["k"] != recorded {
		t.Errorf("charged %v of %d", got, recorded)
	}
	if r.int("sample-ratio") != 100 {
		t.Errorf("ratio %d", r.int("sample-ratio"))
	}
	c.ok("HOTKEYS", "RESET")
}

func TestSessionEndsByItself(t *testing.T) {
	s := startServer(t)
	c := s.dial()
	c.ok("HOTKEYS", "START", "METRICS", "1", "CPU", "DURATION", "1")
	if n := infoInt(c, "hotkeys", "hotkeys-tracking-active"); n != 1 {
		t.Errorf("INFO while it runs: %d", n)
	}
	eventually(t, "the session is over", func() bool { return askSession(c).int("tracking-active") == 0 })
	if ms := askSession(c).int("collection-duration-ms"); ms < 1000 {
		t.Errorf("it took %d ms", ms)
	}
	if n := infoInt(c, "hotkeys", "hotkeys-tracking-active"); n != 0 {
		t.Errorf("INFO when it is over: %d", n)
	}
	c.want("$-1\r\n", "HOTKEYS", "STOP")
	c.ok("HOTKEYS", "RESET")
	if v, there := infoField(c, "hotkeys", "hotkeys-tracking-active"); there {
		t.Errorf("INFO without a session: %s", v)
	}
}

// TestSessionsUnderLoad begins and ends sessions while clients work. What one session with a few keys says must add up,
// whichever loops the clients are on.
func TestSessionsUnderLoad(t *testing.T) {
	s := startServer(t)
	c := s.dial()
	done := make(chan struct{})
	var clients sync.WaitGroup
	for i := range 4 {
		other := s.dial()
		clients.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				key := fmt.Sprint("k", (n+i)%5)
				other.pipeline([][]string{{"SET", key, "v"}, {"MGET", key, "k0", "k1"}, {"EVAL", "return redis.call('GET', KEYS[1])", "1", key}, {"DEL", key}})
			}
		})
	}
	for round := range scaled(100) {
		c.ok("HOTKEYS", "START", "METRICS", "2", "CPU", "NET")
		if round%3 == 0 {
			c.do("MGET", "k0", "k1", "k2")
			askSession(c)
		}
		c.do("GET", "k0")
		c.ok("HOTKEYS", "STOP")
		r := askSession(c)
		sum := int64(0)
		_, figures := r.ranking("by-net-bytes")
		for _, bytes := range figures {
			sum += bytes
		}
		if total := r.int("total-net-bytes"); sum != total || sum != r.int("net-bytes-all-commands-all-slots") || sum == 0 {
			t.Fatalf("%d bytes by key, %d in all", sum, total)
		}
	}
	close(done)
	clients.Wait()
	c.ok("HOTKEYS", "RESET")
}

// TestSessionMemory: what a session holds is told, and given back.
func TestSessionMemory(t *testing.T) {
	c := startServer(t).dial()
	before := infoInt(c, "memory", "mem_hotkeys")
	c.ok("HOTKEYS", "START", "METRICS", "2", "CPU", "NET")
	var load [][]string
	for i := range 3000 {
		load = append(load, []string{"GET", fmt.Sprintf("key-%0300d", i)})
	}
	c.pipeline(load)
	// 1,024 counters of 300 bytes and more, twice.
	if held := infoInt(c, "memory", "mem_hotkeys") - before; held < 600<<10 || held > 4<<20 {
		t.Errorf("%d bytes held", held)
	}
	c.ok("HOTKEYS", "STOP")
	c.ok("HOTKEYS", "RESET")
	if after := infoInt(c, "memory", "mem_hotkeys"); after != before {
		t.Errorf("%d bytes held before, %d after", before, after)
	}
}
