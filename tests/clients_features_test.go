package tests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

const (
	// addTwice is a script that answers a number, and library is one of functions.
	addTwice = "redis.call('INCRBY', KEYS[1], ARGV[1]) return redis.call('INCRBY', KEYS[1], ARGV[1])"
	library  = "#!lua name=mylib\n" +
		"redis.register_function('hello', function(keys, args) return {keys[1], args[1]} end)\n" +
		"redis.register_function{function_name='look', callback=function(keys) return redis.call('GET', keys[1]) end, flags={'no-writes'}}"
)

func TestGoRedisScripts(t *testing.T) {
	withGoRedis(t, func(c typed) {
		ctx := c.ctx
		c.is("OK")(c.ScriptFlush(ctx).Result())
		script := redis.NewScript(addTwice)
		c.is([]bool{false})(script.Exists(ctx, c).Result())
		c.is(10)(script.Run(ctx, c, []string{"n"}, 5).Result()) // NOSCRIPT, then EVAL
		c.is(20)(script.Run(ctx, c, []string{"n"}, 5).Result())
		c.is([]bool{true})(script.Exists(ctx, c).Result())
		c.is("OK")(c.ScriptFlush(ctx).Result())
		c.fails("NOSCRIPT No matching script")(script.EvalSha(ctx, c, []string{"n"}, 5).Result())
		c.is(script.Hash())(script.Load(ctx, c).Result())
		replies, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			script.EvalSha(ctx, p, []string{"n"}, 1)
			script.Run(ctx, p, []string{"n"}, 1)
			return nil
		})
		if err != nil || fmt.Sprint(replies[1].(*redis.Cmd).Val()) != "24" {
			c.t.Errorf("in a pipeline: %v, %v", replies, err)
		}
		replies, err = c.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Eval(ctx, addTwice, []string{"n"}, 1)
			return nil
		})
		if err != nil || fmt.Sprint(replies[0].(*redis.Cmd).Val()) != "26" {
			c.t.Errorf("in a transaction: %v, %v", replies, err)
		}
		c.is("26")(redis.NewScript("return redis.call('GET', KEYS[1])").RunRO(ctx, c, []string{"n"}).Result())
		c.fails("ERR Write commands are not allowed from read-only scripts")(redis.NewScript(addTwice).RunRO(ctx, c, []string{"n"}, 1).Result())
		c.is([]any{"k", int64(3), nil, "é"})(c.Eval(ctx, "return {KEYS[1], 3.99, false, ARGV[1]}", []string{"k"}, "é").Result())
		c.fails("WRONGTYPE")(c.Eval(ctx, "return redis.call('LPUSH', KEYS[1], 1)", []string{"n"}).Result())
		c.isNil()(c.Eval(ctx, "return nil", nil).Result())
	})
}

func TestGoRedisFunctions(t *testing.T) {
	withGoRedis(t, func(c typed) {
		ctx := c.ctx
		c.is("OK")(c.FunctionFlush(ctx).Result())
		c.is("mylib")(c.FunctionLoad(ctx, library).Result())
		c.fails("ERR Library 'mylib' already exists")(c.FunctionLoad(ctx, library).Result())
		c.is("mylib")(c.FunctionLoadReplace(ctx, library).Result())
		c.is([]any{"k", "a"})(c.FCall(ctx, "hello", []string{"k"}, "a").Result())
		c.is("OK")(c.Set(ctx, "k", "seen", 0).Result())
		c.is("seen")(c.FCallRo(ctx, "look", []string{"k"}).Result())
		c.fails("ERR Can not execute a script with write flag using *_ro command")(c.FCallRo(ctx, "hello", []string{"k"}, "a").Result())
		libraries, err := c.FunctionList(ctx, redis.FunctionListQuery{LibraryNamePattern: "my*", WithCode: true}).Result()
		if err != nil || len(libraries) != 1 || libraries[0].Code != library || len(libraries[0].Functions) != 2 {
			c.t.Errorf("FunctionList: %+v, %v", libraries, err)
		}
		stats, err := c.FunctionStats(ctx).Result()
		if err != nil || stats.Running() || len(stats.Engines) != 1 || stats.Engines[0].LibrariesCount != 1 || stats.Engines[0].FunctionsCount != 2 {
			c.t.Errorf("FunctionStats: %+v, %v", stats, err)
		}
		dump, err := c.FunctionDump(ctx).Result()
		if err != nil {
			c.t.Fatal(err)
		}
		c.is("OK")(c.FunctionDelete(ctx, "mylib").Result())
		c.fails("ERR Function not found")(c.FCall(ctx, "hello", []string{"k"}, "a").Result())
		c.is("OK")(c.FunctionRestore(ctx, dump).Result())
		c.is([]any{"k", "b"})(c.FCall(ctx, "hello", []string{"k"}, "b").Result())
		c.fails("NOTBUSY")(c.FunctionKill(ctx).Result())
		c.is("OK")(c.FunctionFlush(ctx).Result())
	})
}

func TestGoRedisUsers(t *testing.T) {
	withGoRedis(t, func(c typed) {
		ctx := c.ctx
		defer c.ACLDelUser(ctx, "alice")
		c.is("OK")(c.ACLSetUser(ctx, "alice", "on", ">secret", "~app:*", "&app:*", "+@read", "+set", "+subscribe", "+acl|whoami", "+multi", "+exec").Result())
		options := *c.Options()
		options.Username, options.Password = "alice", "secret"
		alice := typed{redis.NewClient(&options), c.t, ctx}
		defer alice.Close()
		alice.is("alice")(alice.ACLWhoAmI(ctx).Result())
		alice.is("OK")(alice.Set(ctx, "app:k", "v", 0).Result())
		alice.is("v")(alice.Get(ctx, "app:k").Result())
		alice.fails("NOPERM")(alice.Get(ctx, "other").Result())
		alice.fails("NOPERM")(alice.Del(ctx, "app:k").Result())
		if _, err := alice.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, "app:k", "w", 0)
			p.Del(ctx, "app:k")
			return nil
		}); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") && !strings.HasPrefix(err.Error(), "EXECABORT") {
			c.t.Errorf("in a transaction: %v", err)
		}
		alice.is("v")(alice.Get(ctx, "app:k").Result())
		sub := alice.Subscribe(ctx, "app:news")
		defer sub.Close()
		if _, err := sub.Receive(ctx); err != nil {
			c.t.Error(err)
		}
		log, err := c.ACLLog(ctx, 100).Result()
		if err != nil || !slices.ContainsFunc(log, func(e *redis.ACLLogEntry) bool {
			return e.Username == "alice" && e.Reason == "command" && e.Object == "del" && e.Context == "multi"
		}) {
			c.t.Errorf("ACLLog: %d entries, %v", len(log), err)
		}
		c.is("OK")(c.ACLDryRun(ctx, "alice", "GET", "app:k").Result())
		c.isSet("alice", "default")(c.ACLUsers(ctx).Result())
		categories, err := c.ACLCat(ctx).Result()
		if err != nil || !slices.Contains(categories, "read") {
			c.t.Errorf("ACLCat: %q, %v", categories, err)
		}
		c.is(1)(c.ACLDelUser(ctx, "alice").Result())
		options.Password, options.MaxRetries = "wrong", -1
		stranger := typed{redis.NewClient(&options), c.t, ctx}
		defer stranger.Close()
		stranger.fails("WRONGPASS")(stranger.Ping(ctx).Result())
	})
}

// TestGoRedisCaches uses the cache of go-redis itself, with its default settings.
func TestGoRedisCaches(t *testing.T) {
	s := startServer(t)
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: s.addr, ClientSideCacheConfig: &redis.ClientSideCacheConfig{}})
	defer client.Close()
	writer := s.dial()
	writer.ok("SET", "k", "0")
	get := func() string { return client.Get(ctx, "k").Val() }
	for i := range 20 {
		want := fmt.Sprint(i)
		eventually(t, "what was written is seen", func() bool { return get() == want })
		before := client.CSCStats()
		eventually(t, "it comes from the cache", func() bool { return get() == want && client.CSCStats().Hits > before.Hits })
		writer.ok("SET", "k", fmt.Sprint(i+1))
	}
	eventually(t, "the last is seen", func() bool { return get() == "20" })
	writer.ok("FLUSHALL")
	eventually(t, "a flush is seen", func() bool { return errors.Is(client.Get(ctx, "k").Err(), redis.Nil) })
}

// TestGoRedisReconnects kills the connections of a client, which goes on.
func TestGoRedisReconnects(t *testing.T) {
	s := startServer(t)
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: s.addr})
	defer client.Close()
	sub := client.Subscribe(ctx, "ch")
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	messages := sub.Channel()
	admin := s.dial()
	for i := range 5 {
		if err := client.Set(ctx, "k", i, 0).Err(); err != nil {
			t.Fatal(err)
		}
		admin.do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		admin.do("CLIENT", "KILL", "TYPE", "pubsub")
		if v, err := client.Get(ctx, "k").Int(); v != i || err != nil {
			t.Fatalf("after it was killed: %d, %v", v, err)
		}
		eventually(t, "it is subscribed again", func() bool { return admin.do("PUBLISH", "ch", fmt.Sprint(i)) == ":1\r\n" })
		if m := <-messages; m.Payload != fmt.Sprint(i) {
			t.Errorf("message %d: %v", i, m)
		}
	}
}

// TestGoRedisPipelinesByItself uses the automatic pipelining of go-redis.
func TestGoRedisPipelinesByItself(t *testing.T) {
	s := startServer(t)
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: s.addr})
	defer client.Close()
	auto, err := client.AutoPipeline()
	if err != nil {
		t.Fatal(err)
	}
	defer auto.Close()
	const n = 200
	failed := make(chan error, n)
	for i := range n {
		go func() {
			key := fmt.Sprint("k", i)
			if err := auto.Set(ctx, key, i, 0).Err(); err != nil {
				failed <- err
				return
			}
			v, err := auto.Get(ctx, key).Int()
			if err == nil && v != i {
				err = fmt.Errorf("%s: %d", key, v)
			}
			failed <- err
		}()
	}
	for range n {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}

// withRueidis runs a test with the default settings of rueidis, which include its cache, on an empty server.
func withRueidis(t *testing.T, use func(ctx context.Context, client rueidis.Client, s *server), change ...func(*rueidis.ClientOption)) {
	t.Helper()
	s := startServer(t)
	options := rueidis.ClientOption{InitAddress: []string{s.addr}}
	for _, f := range change {
		f(&options)
	}
	client, err := rueidis.NewClient(options)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	use(ctx, client, s)
}

func TestRueidisScripts(t *testing.T) {
	withRueidis(t, func(ctx context.Context, client rueidis.Client, s *server) {
		admin := s.dial()
		admin.ok("SCRIPT", "FLUSH")
		script := rueidis.NewLuaScript(addTwice)
		want := func(n int64) {
			t.Helper()
			if got, err := script.Exec(ctx, client, []string{"n"}, []string{"5"}).AsInt64(); got != n || err != nil {
				t.Errorf("%d, %v; want %d", got, err, n)
			}
		}
		want(10)
		want(20)
		admin.ok("SCRIPT", "FLUSH")
		want(30)
		for i, r := range script.ExecMulti(ctx, client, rueidis.LuaExec{Keys: []string{"n"}, Args: []string{"1"}}, rueidis.LuaExec{Keys: []string{"n"}, Args: []string{"1"}}) {
			if got, err := r.AsInt64(); got != int64(32+2*i) || err != nil {
				t.Errorf("ExecMulti: %d, %v", got, err)
			}
		}
		look := rueidis.NewLuaScriptReadOnly("return redis.call('GET', KEYS[1])")
		if got, err := look.Exec(ctx, client, []string{"n"}, nil).ToString(); got != "34" || err != nil {
			t.Errorf("read-only: %q, %v", got, err)
		}
		b := client.B()
		if got, err := client.Do(ctx, b.FunctionLoad().Replace().FunctionCode(library).Build()).ToString(); got != "mylib" || err != nil {
			t.Errorf("FUNCTION LOAD: %q, %v", got, err)
		}
		if got, err := client.Do(ctx, b.Fcall().Function("hello").Numkeys(1).Key("k").Arg("a").Build()).AsStrSlice(); err != nil || !slices.Equal(got, []string{"k", "a"}) {
			t.Errorf("FCALL: %q, %v", got, err)
		}
		admin.ok("FUNCTION", "FLUSH")
	})
}

func TestRueidisUsers(t *testing.T) {
	s := startServer(t)
	admin := s.dial()
	admin.ok("ACL", "SETUSER", "alice", "on", ">secret", "~app:*", "+@read", "+set", "+multi", "+exec", "+client|tracking", "+client|caching")
	defer admin.do("ACL", "DELUSER", "alice")
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.addr}, Username: "alice", Password: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()
	if err := client.Do(ctx, client.B().Set().Key("app:k").Value("v").Build()).Error(); err != nil {
		t.Error(err)
	}
	if v, err := client.DoCache(ctx, client.B().Get().Key("app:k").Cache(), time.Minute).ToString(); v != "v" || err != nil {
		t.Errorf("GET: %q, %v", v, err)
	}
	for _, command := range []rueidis.Completed{client.B().Get().Key("other").Build(), client.B().Del().Key("app:k").Build()} {
		if err := client.Do(ctx, command).Error(); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
			t.Errorf("%q: %v", command.Commands(), err)
		}
	}
	if _, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.addr}, Username: "alice", Password: "wrong"}); err == nil || !strings.Contains(err.Error(), "WRONGPASS") {
		t.Errorf("with a wrong password: %v", err)
	}
}

// TestRueidisCaches reads through the cache that rueidis has by default (CLIENT TRACKING ON OPTIN), and one that is told of
// all keys with a prefix.
func TestRueidisCaches(t *testing.T) {
	invalidated := make(chan []rueidis.RedisMessage, 100)
	for name, change := range map[string]func(*rueidis.ClientOption){
		"default":   func(o *rueidis.ClientOption) {},
		"broadcast": func(o *rueidis.ClientOption) { o.ClientTrackingOptions = []string{"PREFIX", "k", "BCAST"} },
		"told":      func(o *rueidis.ClientOption) { o.OnInvalidations = func(m []rueidis.RedisMessage) { invalidated <- m } },
	} {
		t.Run(name, func(t *testing.T) {
			withRueidis(t, func(ctx context.Context, client rueidis.Client, s *server) { useRueidisCache(ctx, t, client, s) }, change)
		})
	}
	var keys int
	for len(invalidated) > 0 {
		keys += len(<-invalidated)
	}
	if keys < 20 {
		t.Errorf("it was told of %d invalid keys", keys)
	}
}

func useRueidisCache(ctx context.Context, t *testing.T, client rueidis.Client, s *server) {
	writer := s.dial()
	get := func(key string) (string, bool) {
		t.Helper()
		r := client.DoCache(ctx, client.B().Get().Key(key).Cache(), time.Minute)
		v, err := r.ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			t.Fatal(err)
		}
		return v, r.IsCacheHit()
	}
	for i := range 20 {
		want := fmt.Sprint(i)
		writer.ok("SET", "k", want)
		eventually(t, "what was written is seen", func() bool { v, _ := get("k"); return v == want })
		if v, hit := get("k"); v != want || !hit {
			t.Fatalf("%q, from the cache: %v; want %q", v, hit, want)
		}
	}
	writer.ok("MSET", "ka", "1", "kb", "2")
	multi := func() []rueidis.RedisResult {
		return client.DoMultiCache(ctx, rueidis.CT(client.B().Get().Key("ka").Cache(), time.Minute), rueidis.CT(client.B().Get().Key("kb").Cache(), time.Minute))
	}
	multi()
	for i, r := range multi() {
		if v, err := r.ToString(); v != fmt.Sprint(i+1) || err != nil || !r.IsCacheHit() {
			t.Errorf("DoMultiCache: %q, %v", v, err)
		}
	}
	writer.ok("SET", "kshort", "v", "PX", "30")
	eventually(t, "an expired key is gone", func() bool { v, _ := get("kshort"); return v == "" })
	writer.ok("FLUSHALL")
	eventually(t, "a flush is seen", func() bool { v, _ := get("k"); return v == "" })
}
