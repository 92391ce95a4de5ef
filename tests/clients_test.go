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

// TestGoRedis connects with the defaults of the library, whose first commands
// (HELLO, CLIENT SETINFO, whatever it asks next) decide whether a server is
// tried at all, and uses it as programs do.
func TestGoRedis(t *testing.T) {
	s := startServer(t)
	for _, protocol := range []int{0, 2, 3} {
		t.Run(fmt.Sprintf("protocol %d", protocol), func(t *testing.T) {
			s.dial().do("FLUSHALL")
			client := redis.NewClient(&redis.Options{Addr: s.addr, Protocol: protocol, ClientName: "the-test"})
			defer client.Close()
			useGoRedis(t, client)
		})
	}
}

func useGoRedis(t *testing.T, client *redis.Client) {
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(client.Ping(ctx).Err())
	must(client.Set(ctx, "k", "v", time.Minute).Err())
	if v, err := client.Get(ctx, "k").Result(); v != "v" || err != nil {
		t.Errorf("Get: %q, %v", v, err)
	}
	if _, err := client.Get(ctx, "missing").Result(); err != redis.Nil {
		t.Errorf("Get of a missing key: %v", err)
	}
	if d, err := client.TTL(ctx, "k").Result(); d <= 50*time.Second || d > time.Minute || err != nil {
		t.Errorf("TTL: %v, %v", d, err)
	}
	if set, err := client.SetNX(ctx, "k", "w", 0).Result(); set || err != nil {
		t.Errorf("SetNX: %v, %v", set, err)
	}
	if n, err := client.IncrBy(ctx, "n", 41).Result(); n != 41 || err != nil {
		t.Errorf("IncrBy: %d, %v", n, err)
	}
	if f, err := client.IncrByFloat(ctx, "f", 1.5).Result(); f != 1.5 || err != nil {
		t.Errorf("IncrByFloat: %v, %v", f, err)
	}
	if v, err := client.MGet(ctx, "k", "missing", "n").Result(); err != nil || !slices.Equal(v, []any{"v", nil, "41"}) {
		t.Errorf("MGet: %v, %v", v, err)
	}
	if _, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range 100 {
			p.Set(ctx, fmt.Sprint("p", i), i, 0)
		}
		return nil
	}); err != nil {
		t.Errorf("Pipelined: %v", err)
	}
	err := client.Watch(ctx, func(tx *redis.Tx) error {
		n, err := tx.Get(ctx, "n").Int()
		if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, "n", n+1, 0)
			return nil
		})
		return err
	}, "n")
	if v := client.Get(ctx, "n").Val(); err != nil || v != "42" {
		t.Errorf("Watch: %v, n is %s", err, v)
	}
	var found int
	for iter := client.Scan(ctx, 0, "p*", 7).Iterator(); iter.Next(ctx); {
		found++
	}
	if found != 100 {
		t.Errorf("Scan found %d of 100 keys", found)
	}
	if m, err := client.ConfigGet(ctx, "hotkeys-*").Result(); m["hotkeys-top-k"] != "0" || len(m) < 4 || err != nil {
		t.Errorf("ConfigGet: %v, %v", m, err)
	}
	if info, err := client.ClientInfo(ctx).Result(); err != nil || info.Name != "the-test" || info.LibName == "" {
		t.Errorf("ClientInfo: %+v, %v", info, err)
	}
	if commands, err := client.Command(ctx).Result(); err != nil || commands["get"] == nil || commands["get"].Arity != 2 {
		t.Errorf("Command: %d commands, %v", len(commands), err)
	}
	var redisErr redis.Error
	if err := client.Do(ctx, "NOSUCH").Err(); !errors.As(err, &redisErr) {
		t.Errorf("an unknown command: %v", err)
	}
}

// TestGoRedisPassword sends the password the way the library does it, in HELLO.
func TestGoRedisPassword(t *testing.T) {
	s := startServer(t, "--requirepass", "secret")
	ctx := context.Background()
	for _, protocol := range []int{2, 3} {
		good := redis.NewClient(&redis.Options{Addr: s.addr, Protocol: protocol, Password: "secret", DB: 3})
		if err := good.Set(ctx, "k", "v", 0).Err(); err != nil {
			t.Errorf("protocol %d: %v", protocol, err)
		}
		good.Close()
		bad := redis.NewClient(&redis.Options{Addr: s.addr, Protocol: protocol, Password: "wrong", MaxRetries: -1})
		if err := bad.Ping(ctx).Err(); err == nil || !strings.HasPrefix(err.Error(), "WRONGPASS ") {
			t.Errorf("protocol %d with a wrong password: %v", protocol, err)
		}
		bad.Close()
	}
	c := s.dial()
	c.ok("AUTH", "secret")
	c.ok("SELECT", "3")
	c.want("$1\r\nv\r\n", "GET", "k")
}

// TestRueidis is TestGoRedis for rueidis.
func TestRueidis(t *testing.T) {
	s := startServer(t)
	for _, resp2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("RESP2 %v", resp2), func(t *testing.T) {
			s.dial().do("FLUSHALL")
			client, err := rueidis.NewClient(rueidis.ClientOption{
				InitAddress: []string{s.addr}, DisableCache: true, AlwaysRESP2: resp2, ClientName: "the-test", SelectDB: 2,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			useRueidis(t, client)
			c := s.dial()
			c.ok("SELECT", "2")
			c.want("$1\r\nv\r\n", "GET", "k")
		})
	}
}

func useRueidis(t *testing.T, client rueidis.Client) {
	ctx := context.Background()
	b := client.B
	if err := client.Do(ctx, b().Set().Key("k").Value("v").ExSeconds(60).Build()).Error(); err != nil {
		t.Fatal(err)
	}
	if v, err := client.Do(ctx, b().Get().Key("k").Build()).ToString(); v != "v" || err != nil {
		t.Errorf("GET: %q, %v", v, err)
	}
	if err := client.Do(ctx, b().Get().Key("missing").Build()).Error(); !rueidis.IsRedisNil(err) {
		t.Errorf("GET of a missing key: %v", err)
	}
	if v, err := client.Do(ctx, b().Mget().Key("k", "missing").Build()).ToArray(); err != nil || len(v) != 2 || !v[1].IsNil() {
		t.Errorf("MGET: %v, %v", v, err)
	}
	var batch []rueidis.Completed
	for i := range 200 {
		batch = append(batch, b().Incr().Key(fmt.Sprint("n", i%10)).Build())
	}
	for i, r := range client.DoMulti(ctx, batch...) {
		if n, err := r.AsInt64(); n != int64(i/10+1) || err != nil {
			t.Fatalf("INCR %d: %d, %v", i, n, err)
		}
	}
	if m, err := client.Do(ctx, b().ConfigGet().Parameter("hotkeys-*").Build()).AsStrMap(); m["hotkeys-top-k"] != "0" || len(m) < 4 || err != nil {
		t.Errorf("CONFIG GET: %v, %v", m, err)
	}
	info, err := client.Do(ctx, b().ClientInfo().Build()).ToString()
	if err != nil || !strings.Contains(info, " name=the-test ") || !strings.Contains(info, " lib-name=rueidis ") {
		t.Errorf("CLIENT INFO: %q, %v", info, err)
	}
	var found int
	for cursor, first := uint64(0), true; cursor != 0 || first; first = false {
		e, err := client.Do(ctx, b().Scan().Cursor(cursor).Match("n*").Count(5).Build()).AsScanEntry()
		if err != nil {
			t.Fatal(err)
		}
		cursor, found = e.Cursor, found+len(e.Elements)
	}
	if found != 10 {
		t.Errorf("SCAN found %d of 10 keys", found)
	}
}
