package tests

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// typed is go-redis in one version of the protocol, used as its documentation
// shows it for each data type.
type typed struct {
	*redis.Client
	t   *testing.T
	ctx context.Context
}

// withGoRedis runs a test in both versions of the protocol, on an empty server.
func withGoRedis(t *testing.T, use func(c typed)) {
	s := startServer(t)
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			client := redis.NewClient(&redis.Options{Addr: s.addr, Protocol: protocol, ReadTimeout: patience, MaxRetries: -1})
			defer client.Close()
			c := typed{client, t, context.Background()}
			c.is("OK")(c.FlushAll(c.ctx).Result())
			use(c)
		})
	}
}

// is returns a function that compares what a typed method returned: c.is(3)(c.LLen(…).Result()).
func (c typed) is(want any) func(got any, err error) {
	c.t.Helper()
	return func(got any, err error) {
		c.t.Helper()
		if n, ok := got.(int64); ok {
			got = int(n)
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			c.t.Errorf("got %#v, %v; want %#v", got, err, want)
		}
	}
}

// fails returns a function that wants an error, by its beginning.
func (c typed) fails(want string) func(got any, err error) {
	c.t.Helper()
	return func(got any, err error) {
		c.t.Helper()
		if err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
			c.t.Errorf("got %#v, %v; want the error %q", got, err, want)
		}
	}
}

// isNil returns a function that wants nothing to be there.
func (c typed) isNil() func(got any, err error) {
	c.t.Helper()
	return func(got any, err error) {
		c.t.Helper()
		if !errors.Is(err, redis.Nil) {
			c.t.Errorf("got %#v, %v; want nil", got, err)
		}
	}
}

// isSet is is for what comes in any order.
func (c typed) isSet(want ...string) func(got []string, err error) {
	c.t.Helper()
	return func(got []string, err error) {
		c.t.Helper()
		got = slices.Sorted(slices.Values(got))
		if err != nil || !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			c.t.Errorf("got %q, %v; want %q in any order", got, err, want)
		}
	}
}

const wrongTypeText = "WRONGTYPE Operation against a key holding the wrong kind of value"

func TestGoRedisLists(t *testing.T) {
	withGoRedis(t, func(c typed) {
		ctx := c.ctx
		// A queue, a stack.
		c.is(1)(c.LPush(ctx, "jobs", "first").Result())
		c.is(3)(c.LPush(ctx, "jobs", "second", "third").Result())
		c.is("first")(c.RPop(ctx, "jobs").Result())
		c.is("third")(c.LPop(ctx, "jobs").Result())
		c.is(1)(c.LLen(ctx, "jobs").Result())
		c.is(4)(c.RPush(ctx, "jobs", 1, 2.5, true).Result())
		c.is([]string{"second", "1", "2.5", "1"})(c.LRange(ctx, "jobs", 0, -1).Result())
		c.is([]string{"second", "1"})(c.LPopCount(ctx, "jobs", 2).Result())
		c.is([]string{"1", "2.5"})(c.RPopCount(ctx, "jobs", 9).Result())
		c.isNil()(c.LPop(ctx, "jobs").Result())
		c.is(int(0))(c.Exists(ctx, "jobs").Result())

		c.is(0)(c.RPushX(ctx, "absent", "x").Result())
		c.is(5)(c.RPush(ctx, "l", "a", "b", "c", "b", "a").Result())
		c.is(6)(c.LInsertBefore(ctx, "l", "c", "x").Result())
		c.is(7)(c.LInsertAfter(ctx, "l", "c", "y").Result())
		c.is(-1)(c.LInsert(ctx, "l", "BEFORE", "nothing", "z").Result())
		c.is("y")(c.LIndex(ctx, "l", 4).Result())
		c.isNil()(c.LIndex(ctx, "l", 99).Result())
		c.is(1)(c.LPos(ctx, "l", "b", redis.LPosArgs{}).Result())
		c.is([]int64{5, 1})(c.LPosCount(ctx, "l", "b", 0, redis.LPosArgs{Rank: -1}).Result())
		c.is("OK")(c.LSet(ctx, "l", -1, "end").Result())
		c.fails("ERR index out of range")(c.LSet(ctx, "l", 99, "x").Result())
		c.is(2)(c.LRem(ctx, "l", 0, "b").Result())
		c.is("OK")(c.LTrim(ctx, "l", 1, -2).Result())
		c.is([]string{"x", "c", "y"})(c.LRange(ctx, "l", 0, -1).Result())

		c.is("x")(c.LMove(ctx, "l", "m", "LEFT", "RIGHT").Result())
		//lint:ignore SA1019 clients still send it
		c.is("y")(c.RPopLPush(ctx, "l", "m").Result())
		c.is("y")(c.BLMove(ctx, "m", "l", "LEFT", "LEFT", time.Second).Result())
		key, popped, err := c.LMPop(ctx, "left", 5, "absent", "l", "m").Result()
		c.is("l")(key, err)
		c.is([]string{"y", "c"})(popped, err)
		c.is([]string{"m", "x"})(c.BLPop(ctx, time.Second, "absent", "m").Result())
		c.fails(wrongTypeText)(c.LPush(ctx, c.string(), "x").Result())
		c.waits()
	})
}

// string makes a key of another type.
func (c typed) string() string {
	c.Set(c.ctx, "a string", "v", 0)
	return "a string"
}

// waits lets one client block until another one pushes.
func (c typed) waits() {
	c.t.Helper()
	c.isNil()(c.Do(c.ctx, "BRPOP", "mailbox", 0.01).Result())
	got := make(chan []string, 1)
	go func() { got <- c.BRPop(c.ctx, 0, "mailbox").Val() }()
	eventually(c.t, "a client waits", func() bool {
		n, _ := infoLine(c.Info(c.ctx, "clients").Val(), "blocked_clients")
		return n == "1"
	})
	c.is(1)(c.LPush(c.ctx, "mailbox", "hello").Result())
	c.is([]string{"mailbox", "hello"})(<-got, nil)
	c.is(0)(c.LLen(c.ctx, "mailbox").Result())
}

func TestGoRedisHashes(t *testing.T) {
	withGoRedis(t, func(c typed) {
		ctx := c.ctx
		c.is(3)(c.HSet(ctx, "bike", "model", "Deimos", "price", 4972, "stock", 0).Result())
		c.is(1)(c.HSet(ctx, "bike", map[string]any{"brand": "Ergonom", "price": 4000}).Result())
		c.is("4000")(c.HGet(ctx, "bike", "price").Result())
		c.isNil()(c.HGet(ctx, "bike", "color").Result())
		c.is([]any{"Deimos", nil})(c.HMGet(ctx, "bike", "model", "color").Result())
		c.is(map[string]string{"model": "Deimos", "price": "4000", "stock": "0", "brand": "Ergonom"})(c.HGetAll(ctx, "bike").Result())
		var bike struct {
			Model string `redis:"model"`
			Price int    `redis:"price"`
		}
		if err := c.HMGet(ctx, "bike", "model", "price").Scan(&bike); err != nil || bike.Model != "Deimos" || bike.Price != 4000 {
			c.t.Errorf("Scan: %+v, %v", bike, err)
		}
		c.is(4100)(c.HIncrBy(ctx, "bike", "price", 100).Result())
		c.is(4100.5)(c.HIncrByFloat(ctx, "bike", "price", 0.5).Result())
		c.fails("ERR hash value is not an integer")(c.HIncrBy(ctx, "bike", "price", 1).Result())
		c.is(false)(c.HSetNX(ctx, "bike", "model", "other").Result())
		c.is(true)(c.HExists(ctx, "bike", "stock").Result())
		c.is(4)(c.HLen(ctx, "bike").Result())
		c.is(6)(c.HStrLen(ctx, "bike", "model").Result())
		c.isSet("model", "price", "stock", "brand")(c.HKeys(ctx, "bike").Result())
		c.isSet("Deimos", "4100.5", "0", "Ergonom")(c.HVals(ctx, "bike").Result())
		c.isSet("model", "price", "stock", "brand")(c.HRandField(ctx, "bike", 10).Result())
		pairs, err := c.HRandFieldWithValues(ctx, "bike", -7).Result()
		c.is(7)(len(pairs), err)
		c.is(1)(c.HDel(ctx, "bike", "stock", "color").Result())
		c.fails(wrongTypeText)(c.HSet(ctx, c.string(), "f", "v").Result())

		for i := range 1000 {
			c.HSet(ctx, "big", fmt.Sprint("f", i), i)
		}
		found := map[string]string{}
		for iter := c.HScan(ctx, "big", 0, "f*", 50).Iterator(); iter.Next(ctx); {
			field := iter.Val()
			iter.Next(ctx)
			found[field] = iter.Val()
		}
		c.is(1000)(len(found), nil)
		c.is("999")(found["f999"], nil)
	})
}

// TestGoRedisFieldExpiry: fields of a hash with times to live of their own, which
// came with Redis 7.4 and Valkey 9.
func TestGoRedisFieldExpiry(t *testing.T) {
	withGoRedis(t, func(c typed) {
		ctx := c.ctx
		c.HSet(ctx, "session", "user", "ann", "token", "t", "theme", "dark")
		c.is([]int64{1, -2})(c.HExpire(ctx, "session", time.Hour, "token", "nothing").Result())
		c.is([]int64{3600, -1, -2})(c.HTTL(ctx, "session", "token", "user", "nothing").Result())
		c.is([]int64{0})(c.HExpireWithArgs(ctx, "session", time.Minute, redis.HExpireArgs{NX: true}, "token").Result())
		c.is([]int64{1})(c.HPersist(ctx, "session", "token").Result())
		c.is([]int64{-1})(c.HTTL(ctx, "session", "token").Result())
		at := time.Unix(4102444800, 0)
		c.is([]int64{1})(c.HExpireAt(ctx, "session", at, "token").Result())
		c.is([]int64{at.Unix()})(c.HExpireTime(ctx, "session", "token").Result())
		c.is([]int64{at.UnixMilli()})(c.HPExpireTime(ctx, "session", "token").Result())
		c.is([]int64{2})(c.HExpireAt(ctx, "session", time.Unix(1, 0), "token").Result())
		c.is(false)(c.HExists(ctx, "session", "token").Result())
		c.is([]string{"dark"})(c.HGetDel(ctx, "session", "theme").Result())
		c.is([]string{"ann"})(c.HGetEX(ctx, "session", "user").Result())
		c.is(1)(c.HSetEX(ctx, "session", "a", "1", "b", "2").Result())
		c.is(3)(c.HLen(ctx, "session").Result())

		c.is([]int64{1})(c.HPExpire(ctx, "session", time.Millisecond, "a").Result())
		eventually(c.t, "the field is gone", func() bool { return !c.HExists(ctx, "session", "a").Val() })
		c.isSet("user", "b")(c.HKeys(ctx, "session").Result())
	})
}

func TestGoRedisSets(t *testing.T) {
	withGoRedis(t, func(c typed) {
		ctx := c.ctx
		c.is(3)(c.SAdd(ctx, "france", "anna", "ben", "carl").Result())
		c.is(0)(c.SAdd(ctx, "france", "ben").Result())
		c.is(2)(c.SAdd(ctx, "usa", "anna", "dora").Result())
		c.is(true)(c.SIsMember(ctx, "usa", "anna").Result())
		c.is([]bool{true, false})(c.SMIsMember(ctx, "usa", "dora", "ben").Result())
		c.isSet("anna")(c.SInter(ctx, "france", "usa").Result())
		c.isSet("anna", "ben", "carl", "dora")(c.SUnion(ctx, "france", "usa").Result())
		c.isSet("ben", "carl")(c.SDiff(ctx, "france", "usa", "absent").Result())
		c.is(1)(c.SInterCard(ctx, 0, "france", "usa").Result())
		c.is(1)(c.SInterStore(ctx, "both", "france", "usa").Result())
		c.is(4)(c.SUnionStore(ctx, "all", "france", "usa").Result())
		c.is(2)(c.SDiffStore(ctx, "all", "all", "usa").Result())
		c.is(map[string]struct{}{"ben": {}, "carl": {}})(c.SMembersMap(ctx, "all").Result())
		c.is(true)(c.SMove(ctx, "france", "usa", "carl").Result())
		c.is(false)(c.SMove(ctx, "france", "usa", "carl").Result())
		c.is(3)(c.SCard(ctx, "usa").Result())
		c.is(1)(c.SRem(ctx, "usa", "carl", "nobody").Result())
		random, err := c.SRandMember(ctx, "france").Result()
		c.is(true)(random == "anna" || random == "ben", err)
		c.isSet("anna", "ben")(c.SRandMemberN(ctx, "france", 9).Result())
		c.isSet("anna", "ben")(c.SPopN(ctx, "france", 2).Result())
		c.isNil()(c.SPop(ctx, "france").Result())
		c.is(0)(c.Exists(ctx, "france").Result())
		c.fails(wrongTypeText)(c.SAdd(ctx, c.string(), "x").Result())

		for i := range 2000 {
			c.SAdd(ctx, "big", i)
		}
		found := map[string]bool{}
		for iter := c.SScan(ctx, "big", 0, "*", 100).Iterator(); iter.Next(ctx); {
			found[iter.Val()] = true
		}
		c.is(2000)(len(found), nil)
	})
}

func TestGoRedisSortedSets(t *testing.T) {
	withGoRedis(t, func(c typed) {
		ctx := c.ctx
		z := func(pairs ...any) (list []redis.Z) {
			for i := 0; i < len(pairs); i += 2 {
				list = append(list, redis.Z{Score: pairs[i].(float64), Member: pairs[i+1]})
			}
			return list
		}
		c.is(5)(c.ZAdd(ctx, "racers", z(10.0, "Norem", 12.0, "Castilla", 8.0, "Sam-Bodden", 10.0, "Royce", 6.0, "Ford")...).Result())
		c.is([]string{"Ford", "Sam-Bodden", "Norem", "Royce", "Castilla"})(c.ZRange(ctx, "racers", 0, -1).Result())
		c.is(z(12.0, "Castilla", 10.0, "Royce"))(c.ZRevRangeWithScores(ctx, "racers", 0, 1).Result())
		//lint:ignore SA1019 clients still send it
		c.is([]string{"Ford", "Sam-Bodden"})(c.ZRangeByScore(ctx, "racers", &redis.ZRangeBy{Min: "-inf", Max: "(10"}).Result())
		c.is([]string{"Royce"})(c.ZRangeArgs(ctx, redis.ZRangeArgs{Key: "racers", Start: 11, Stop: 10, ByScore: true, Rev: true, Count: 1}).Result())
		c.is(2)(c.ZRank(ctx, "racers", "Norem").Result())
		c.is(redis.RankScore{Rank: 0, Score: 12})(c.ZRevRankWithScore(ctx, "racers", "Castilla").Result())
		c.isNil()(c.ZRank(ctx, "racers", "nobody").Result())
		c.is(10.0)(c.ZScore(ctx, "racers", "Royce").Result())
		c.is([]float64{6, 0})(c.ZMScore(ctx, "racers", "Ford", "nobody").Result())
		c.is(16.5)(c.ZIncrBy(ctx, "racers", 4.5, "Castilla").Result())
		c.is(1)(c.ZAddArgs(ctx, "racers", redis.ZAddArgs{GT: true, Ch: true, Members: z(9.0, "Ford", 1.0, "Royce")}).Result())
		c.is(0)(c.ZAddNX(ctx, "racers", z(1.0, "Ford")...).Result())
		c.is(20.0)(c.ZAddArgsIncr(ctx, "racers", redis.ZAddArgs{XX: true, Members: z(10.0, "Royce")}).Result())
		c.is(2)(c.ZCount(ctx, "racers", "16", "+inf").Result())
		c.is(5)(c.ZCard(ctx, "racers").Result())
		c.is(z(8.0, "Sam-Bodden"))(c.ZPopMin(ctx, "racers").Result())
		c.is(z(20.0, "Royce", 16.5, "Castilla"))(c.ZPopMax(ctx, "racers", 2).Result())
		c.is(1)(c.ZRemRangeByScore(ctx, "racers", "-inf", "9").Result())
		c.is(1)(c.ZRem(ctx, "racers", "Norem").Result())
		c.is(0)(c.Exists(ctx, "racers").Result())

		c.ZAdd(ctx, "names", z(0.0, "Norem", 0.0, "Castilla", 0.0, "Ford", 0.0, "Royce")...)
		//lint:ignore SA1019 clients still send it
		c.is([]string{"Castilla", "Ford"})(c.ZRangeByLex(ctx, "names", &redis.ZRangeBy{Min: "[A", Max: "[L"}).Result())
		c.is(2)(c.ZLexCount(ctx, "names", "(Ford", "+").Result())
		c.is(1)(c.ZRemRangeByLex(ctx, "names", "-", "(Ford").Result())
		c.is(1)(c.ZRemRangeByRank(ctx, "names", -1, -1).Result())

		c.ZAdd(ctx, "a", z(1.0, "x", 2.0, "y", math.Inf(1), "z")...)
		c.ZAdd(ctx, "b", z(3.0, "y", 4.0, "w")...)
		c.is(z(1.0, "x", 4.0, "w", 5.0, "y", math.Inf(1), "z"))(c.ZUnionWithScores(ctx, redis.ZStore{Keys: []string{"a", "b"}}).Result())
		c.is(z(7.0, "y"))(c.ZInterWithScores(ctx, &redis.ZStore{Keys: []string{"a", "b"}, Weights: []float64{2, 1}}).Result())
		c.is(z(1.0, "x", math.Inf(1), "z"))(c.ZDiffWithScores(ctx, "a", "b").Result())
		c.is(4)(c.ZUnionStore(ctx, "u", &redis.ZStore{Keys: []string{"a", "b"}, Aggregate: "MAX"}).Result())
		c.is(1)(c.ZInterStore(ctx, "i", &redis.ZStore{Keys: []string{"a", "b"}}).Result())
		c.is(2)(c.ZDiffStore(ctx, "d", "a", "b").Result())
		c.is(1)(c.ZInterCard(ctx, 0, "a", "b").Result())
		c.is(2)(c.ZRangeStore(ctx, "r", redis.ZRangeArgs{Key: "u", Start: 0, Stop: 1}).Result())
		c.isSet("x", "y", "z")(c.ZRandMember(ctx, "a", 5).Result())
		key, popped, err := c.ZMPop(ctx, "min", 1, "absent", "a").Result()
		c.is("a")(key, err)
		c.is(z(1.0, "x"))(popped, err)
		c.is(&redis.ZWithKey{Z: redis.Z{Score: 2, Member: "y"}, Key: "a"})(c.BZPopMin(ctx, time.Second, "absent", "a").Result())
		c.isNil()(c.Do(ctx, "BZPOPMAX", "absent", 0.01).Result())
		c.fails(wrongTypeText)(c.ZAdd(ctx, c.string(), z(1.0, "x")...).Result())

		for i := range 1500 {
			c.ZAdd(ctx, "big", redis.Z{Score: float64(i), Member: fmt.Sprint("m", i)})
		}
		found := 0
		for iter := c.ZScan(ctx, "big", 0, "m*", 100).Iterator(); iter.Next(ctx); {
			found++
		}
		c.is(3000)(found, nil)
	})
}

func TestGoRedisStreams(t *testing.T) {
	withGoRedis(t, func(c typed) {
		ctx := c.ctx
		add := func(id string, values ...any) {
			c.t.Helper()
			c.is(id)(c.XAdd(ctx, &redis.XAddArgs{Stream: "race", ID: id, Values: values}).Result())
		}
		add("1-0", "rider", "Castilla", "speed", 30.2)
		add("2-0", "rider", "Norem", "speed", 28.8)
		add("3-0", "rider", "Prickett", "speed", 29.7)
		c.is("3-1")(c.XAdd(ctx, &redis.XAddArgs{Stream: "race", ID: "3-*", Values: map[string]any{"rider": "Royce"}}).Result())
		c.fails("ERR The ID specified in XADD is equal or smaller")(c.XAdd(ctx, &redis.XAddArgs{Stream: "race", ID: "1-5", Values: []string{"a", "b"}}).Result())
		c.isNil()(c.XAdd(ctx, &redis.XAddArgs{Stream: "absent", NoMkStream: true, Values: []string{"a", "b"}}).Result())
		c.is(4)(c.XLen(ctx, "race").Result())
		message := func(id string, pairs ...string) redis.XMessage {
			m := redis.XMessage{ID: id, Values: map[string]any{}}
			for i := 0; i < len(pairs); i += 2 {
				m.Values[pairs[i]] = pairs[i+1]
			}
			return m
		}
		first := message("1-0", "rider", "Castilla", "speed", "30.2")
		royce := message("3-1", "rider", "Royce")
		c.is([]redis.XMessage{first})(c.XRange(ctx, "race", "-", "(2-0").Result())
		c.is([]redis.XMessage{royce})(c.XRevRangeN(ctx, "race", "+", "-", 1).Result())
		c.is([]redis.XStream{{Stream: "race", Messages: []redis.XMessage{royce}}})(c.XRead(ctx, &redis.XReadArgs{Streams: []string{"race", "3-0"}, Count: 5, Block: time.Second}).Result())
		c.isNil()(c.XRead(ctx, &redis.XReadArgs{Streams: []string{"race", "$"}, Block: 10 * time.Millisecond}).Result())

		c.is("OK")(c.XGroupCreate(ctx, "race", "italy", "0").Result())
		c.fails("BUSYGROUP")(c.XGroupCreate(ctx, "race", "italy", "$").Result())
		c.is("OK")(c.XGroupCreateMkStream(ctx, "empty", "g", "$").Result())
		c.is(1)(c.XGroupCreateConsumer(ctx, "race", "italy", "zoe").Result())
		read := func(consumer, id string, count int64) []redis.XMessage {
			c.t.Helper()
			streams, err := c.XReadGroup(ctx, &redis.XReadGroupArgs{Group: "italy", Consumer: consumer, Streams: []string{"race", id}, Count: count, Block: -1}).Result()
			if err != nil || len(streams) != 1 {
				c.t.Fatalf("XReadGroup: %v, %v", streams, err)
			}
			return streams[0].Messages
		}
		c.is([]redis.XMessage{first})(read("alice", ">", 1), nil)
		c.is(2)(len(read("bob", ">", 2)), nil)
		c.is([]redis.XMessage{first})(read("alice", "0", 10), nil)
		c.is(1)(c.XAck(ctx, "race", "italy", "1-0", "9-9").Result())
		c.is([]redis.XMessage{})(read("alice", "0", 10), nil)
		c.is(&redis.XPending{Count: 2, Lower: "2-0", Higher: "3-0", Consumers: map[string]int64{"bob": 2}})(c.XPending(ctx, "race", "italy").Result())
		pending, err := c.XPendingExt(ctx, &redis.XPendingExtArgs{Stream: "race", Group: "italy", Start: "-", End: "+", Count: 10}).Result()
		c.is(true)(len(pending) == 2 && pending[0].ID == "2-0" && pending[0].Consumer == "bob" && pending[0].RetryCount == 1, err)
		claimed, err := c.XClaim(ctx, &redis.XClaimArgs{Stream: "race", Group: "italy", Consumer: "alice", Messages: []string{"2-0"}}).Result()
		c.is(true)(len(claimed) == 1 && claimed[0].ID == "2-0", err)
		ids, next, err := c.XAutoClaimJustID(ctx, &redis.XAutoClaimArgs{Stream: "race", Group: "italy", Consumer: "alice", Start: "0", Count: 10}).Result()
		c.is([]string{"2-0", "3-0"})(ids, err)
		c.is("0-0")(next, err)
		c.describeStream()
		c.is(2)(c.XGroupDelConsumer(ctx, "race", "italy", "alice").Result())
		c.is("OK")(c.XGroupSetID(ctx, "race", "italy", "0").Result())
		c.is(1)(c.XGroupDestroy(ctx, "race", "italy").Result())

		c.is(1)(c.XDel(ctx, "race", "2-0").Result())
		c.is(1)(c.XTrimMaxLen(ctx, "race", 2).Result())
		c.is(1)(c.XTrimMinID(ctx, "race", "3-1").Result())
		c.is([]redis.XMessage{royce})(c.XRange(ctx, "race", "-", "+").Result())
		c.fails(wrongTypeText)(c.XLen(ctx, c.string()).Result())
	})
}

// describeStream reads what XINFO says of the stream in TestGoRedisStreams.
func (c typed) describeStream() {
	c.t.Helper()
	info, err := c.XInfoStream(c.ctx, "race").Result()
	if err != nil || info.Length != 4 || info.LastGeneratedID != "3-1" || info.Groups != 1 || info.EntriesAdded != 4 || info.FirstEntry.ID != "1-0" {
		c.t.Errorf("XInfoStream: %+v, %v", info, err)
	}
	full, err := c.XInfoStreamFull(c.ctx, "race", 2).Result()
	if err != nil || len(full.Entries) != 2 || len(full.Groups) != 1 || len(full.Groups[0].Consumers) != 3 || full.Groups[0].PelCount != 2 {
		c.t.Errorf("XInfoStreamFull: %+v, %v", full, err)
	}
	groups, err := c.XInfoGroups(c.ctx, "race").Result()
	if err != nil || len(groups) != 1 || groups[0].Name != "italy" || groups[0].Consumers != 3 || groups[0].Pending != 2 || groups[0].LastDeliveredID != "3-0" || groups[0].Lag != 1 {
		c.t.Errorf("XInfoGroups: %+v, %v", groups, err)
	}
	consumers, err := c.XInfoConsumers(c.ctx, "race", "italy").Result()
	slices.SortFunc(consumers, func(a, b redis.XInfoConsumer) int { return cmp.Compare(a.Name, b.Name) })
	if err != nil || len(consumers) != 3 || consumers[0].Name != "alice" || consumers[0].Pending != 2 || consumers[1].Pending != 0 {
		c.t.Errorf("XInfoConsumers: %+v, %v", consumers, err)
	}
}

func TestGoRedisBitmaps(t *testing.T) {
	withGoRedis(t, func(c typed) {
		ctx := c.ctx
		c.is(0)(c.SetBit(ctx, "pings", 123, 1).Result())
		c.is(1)(c.GetBit(ctx, "pings", 123).Result())
		c.is(0)(c.GetBit(ctx, "pings", 456).Result())
		c.is(1)(c.SetBit(ctx, "pings", 123, 1).Result())
		c.is(1)(c.BitCount(ctx, "pings", nil).Result())
		c.is(1)(c.BitCount(ctx, "pings", &redis.BitCount{Start: 120, End: 125, Unit: redis.BitCountIndexBit}).Result())
		c.is(123)(c.BitPos(ctx, "pings", 1).Result())
		c.is(123)(c.BitPosSpan(ctx, "pings", 1, 8, -1, "bit").Result())
		c.Set(ctx, "a", "foobar", 0)
		c.Set(ctx, "b", "abcdef", 0)
		c.is(6)(c.BitOpAnd(ctx, "and", "a", "b").Result())
		c.is("`bc`ab")(c.Get(ctx, "and").Result())
		c.is(6)(c.BitOpNot(ctx, "not", "a").Result())
		c.is(6)(c.BitOpXor(ctx, "xor", "a", "b", "absent").Result())
		c.is([]int64{1, 0})(c.BitField(ctx, "stats", "INCRBY", "i5", 100, 1, "GET", "u4", 0).Result())
		c.is([]int64{3})(c.BitField(ctx, "stats", "OVERFLOW", "SAT", "INCRBY", "u2", 102, 9).Result())
		c.is([]int64{100})(c.BitFieldRO(ctx, "b", "u8", 24).Result())
		c.fails("ERR bit offset is not an integer or out of range")(c.SetBit(ctx, "pings", 1<<32, 1).Result())
	})
}

func TestGoRedisHyperLogLog(t *testing.T) {
	withGoRedis(t, func(c typed) {
		ctx := c.ctx
		c.is(1)(c.PFAdd(ctx, "visitors", "ann", "bob", "cid").Result())
		c.is(0)(c.PFAdd(ctx, "visitors", "ann").Result())
		c.is(3)(c.PFCount(ctx, "visitors").Result())
		c.PFAdd(ctx, "others", "cid", "dan")
		c.is(4)(c.PFCount(ctx, "visitors", "others").Result())
		c.is("OK")(c.PFMerge(ctx, "all", "visitors", "others").Result())
		c.is(4)(c.PFCount(ctx, "all").Result())
		for i := range 200 {
			var many []any
			for k := range 100 {
				many = append(many, fmt.Sprint(i, ".", k))
			}
			c.PFAdd(ctx, "many", many...)
		}
		n, err := c.PFCount(ctx, "many").Result()
		// The standard error is 0.81 %; the elements, and so the estimate, are always the same.
		c.is(true)(n > 19_500 && n < 20_500, err)
		c.fails(wrongTypeText)(c.PFAdd(ctx, c.list(), "x").Result())
		c.fails("WRONGTYPE Key is not a valid HyperLogLog string value.")(c.PFAdd(ctx, c.string(), "x").Result())
	})
}

// list makes a key of another type, for commands on strings.
func (c typed) list() string {
	c.RPush(c.ctx, "a list", "v")
	return "a list"
}

func TestGoRedisGeo(t *testing.T) {
	withGoRedis(t, func(c typed) {
		ctx := c.ctx
		c.is(2)(c.GeoAdd(ctx, "Sicily", &redis.GeoLocation{Name: "Palermo", Longitude: 13.361389, Latitude: 38.115556},
			&redis.GeoLocation{Name: "Catania", Longitude: 15.087269, Latitude: 37.502669}).Result())
		c.is(166.2742)(c.GeoDist(ctx, "Sicily", "Palermo", "Catania", "km").Result())
		c.is([]string{"sqc8b49rny0", "sqdtr74hyu0"})(c.GeoHash(ctx, "Sicily", "Palermo", "Catania").Result())
		pos, err := c.GeoPos(ctx, "Sicily", "Palermo", "nowhere").Result()
		c.is(true)(len(pos) == 2 && math.Abs(pos[0].Longitude-13.361389) < 1e-5 && math.Abs(pos[0].Latitude-38.115556) < 1e-5 && pos[1] == nil, err)
		near := redis.GeoSearchQuery{Longitude: 15, Latitude: 37, Radius: 200, RadiusUnit: "km", Sort: "ASC"}
		c.is([]string{"Catania", "Palermo"})(c.GeoSearch(ctx, "Sicily", &near).Result())
		box := redis.GeoSearchQuery{Member: "Palermo", BoxWidth: 20, BoxHeight: 20, BoxUnit: "km"}
		c.is([]string{"Palermo"})(c.GeoSearch(ctx, "Sicily", &box).Result())
		found, err := c.GeoSearchLocation(ctx, "Sicily", &redis.GeoSearchLocationQuery{GeoSearchQuery: near, WithCoord: true, WithDist: true, WithHash: true}).Result()
		c.is(true)(len(found) == 2 && found[0].Name == "Catania" && found[0].Dist == 56.4413 && found[0].GeoHash == 3479447370796909 && found[1].Dist == 190.4424, err)
		c.is(1)(c.GeoSearchStore(ctx, "Sicily", "near", &redis.GeoSearchStoreQuery{GeoSearchQuery: box, StoreDist: true}).Result())
		c.is(0.0)(c.ZScore(ctx, "near", "Palermo").Result())
		//lint:ignore SA1019 clients still send it
		radius, err := c.GeoRadius(ctx, "Sicily", 15, 37, &redis.GeoRadiusQuery{Radius: 100, Unit: "km", WithDist: true}).Result()
		c.is(true)(len(radius) == 1 && radius[0].Name == "Catania" && radius[0].Dist == 56.4413, err)
		c.is(2)(c.GeoRadiusByMemberStore(ctx, "Sicily", "Palermo", &redis.GeoRadiusQuery{Radius: 200, Unit: "km", Store: "copy"}).Result())
		c.fails(wrongTypeText)(c.GeoAdd(ctx, c.string(), &redis.GeoLocation{Name: "x", Longitude: 1, Latitude: 1}).Result())
	})
}

func TestGoRedisSort(t *testing.T) {
	withGoRedis(t, func(c typed) {
		ctx := c.ctx
		c.RPush(ctx, "ids", 3, 1, 2)
		c.MSet(ctx, "weight_1", 30, "weight_2", 20, "weight_3", 10)
		c.HSet(ctx, "object_1", "name", "one")
		c.is([]string{"1", "2", "3"})(c.Sort(ctx, "ids", &redis.Sort{}).Result())
		c.is([]string{"3", "2"})(c.SortRO(ctx, "ids", &redis.Sort{By: "weight_*", Count: 2}).Result())
		c.is([]any{"one", "1"})(c.SortInterfaces(ctx, "ids", &redis.Sort{Get: []string{"object_*->name", "#"}, Count: 1}).Result())
		c.is(3)(c.SortStore(ctx, "ids", "sorted", &redis.Sort{Order: "DESC"}).Result())
		c.is([]string{"3", "2", "1"})(c.LRange(ctx, "sorted", 0, -1).Result())

		payload := c.Dump(ctx, "sorted").Val()
		c.is("OK")(c.Restore(ctx, "restored", time.Hour, payload).Result())
		c.is([]string{"3", "2", "1"})(c.LRange(ctx, "restored", 0, -1).Result())
		c.fails("BUSYKEY")(c.Restore(ctx, "restored", 0, payload).Result())
		c.is("OK")(c.RestoreReplace(ctx, "restored", 0, payload).Result())
		c.is(time.Duration(-1))(c.TTL(ctx, "restored").Result())
		c.fails("ERR DUMP payload version or checksum are wrong")(c.Restore(ctx, "broken", 0, payload+"x").Result())
	})
}
