package tests

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// collectionTable is the part of docs/hotkeys.md, "What is an access", on data
// types, by type. Each row is as in accessTable.
var collectionTable = map[string][]accessRow{
	"list":        listAccesses,
	"hash":        hashAccesses,
	"set":         setAccesses,
	"zset":        zsetAccesses,
	"stream":      streamAccesses,
	"bitmap":      bitmapAccesses,
	"hyperloglog": hyperloglogAccesses,
	"geo":         geoAccesses,
	"sort":        sortAccesses,
	"dump":        dumpAccesses,
}

// after makes a row of each command, run after the same setup.
func after(setup, want string, commands ...string) []accessRow {
	var rows []accessRow
	for _, c := range commands {
		rows = append(rows, accessRow{setup, c, want})
	}
	return rows
}

// readsOf makes rows of commands that look %a up once: where it is what the setup
// makes of it, and where it is missing.
func readsOf(setup string, commands ...string) []accessRow {
	return slices.Concat(after(setup, "%a=1", commands...), after("", "%a=1", commands...))
}

// wrongType makes rows of commands that find a string.
func wrongType(commands ...string) []accessRow {
	return after("SET %a v; SET %b v", "%a=1", commands...)
}

// refused makes rows of commands whose arguments are refused before any key is
// looked at.
func refused(commands ...string) []accessRow { return after("", "", commands...) }

var listAccesses = slices.Concat(
	readsOf("RPUSH %a x y z", "LLEN %a", "LRANGE %a 0 -1", "LINDEX %a 0", "LPOS %a y", "LPOS %a y COUNT 0", "LINSERT %a BEFORE nothing v",
		"LREM %a 0 nothing", "LTRIM %a 0 -1", "LSET %a 0 x"),
	wrongType("LPUSH %a x", "RPUSHX %a x", "LPOP %a", "LRANGE %a 0 -1", "LMOVE %a %b LEFT LEFT", "LMPOP 2 %a %b LEFT", "BLPOP %a 0.01"),
	refused("LPOP %a -1", "LPOP %a x", "LINSERT %a BESIDE x y", "LMPOP 0 %a LEFT", "LMPOP 1 %a UP", "LMPOP 1 %a LEFT COUNT 0", "LMOVE %a %b UP LEFT",
		"LPOS %a x RANK 0", "BLPOP %a -1", "BLMPOP x 1 %a LEFT"),
	[]accessRow{
		{"", "LPUSH %a x; DEL %a", "%a=2"},
		{"", "RPUSH %a x y z; DEL %a", "%a=2"},
		{"RPUSH %a x y", "RPUSHX %a x; RPOP %a", "%a=2"},
		{"", "RPUSHX %a x", "%a=1"},
		{"RPUSH %a x y", "LPUSH %a x; LPOP %a; RPUSH %a y; RPOP %a", "%a=4"},
		{"RPUSH %a x", "LPOP %a 0", "%a=1"},
		{"", "LPOP %a; RPOP %a 3", "%a=2"},
		// A pop that empties: lookup and removal.
		{"", "RPUSH %a x; LPOP %a", "%a=3"},
		{"", "RPUSH %a x y; RPOP %a 2", "%a=3"},
		{"", "RPUSH %a x y; LPOP %a 100", "%a=3"},
		{"", "RPUSH %a x x; LREM %a 0 x", "%a=3"},
		{"", "RPUSH %a x; LTRIM %a 5 6", "%a=3"},

		{"RPUSH %a x y; RPUSH %b z", "LMOVE %a %b LEFT LEFT; LMOVE %b %a LEFT LEFT", "%a=2 %b=2"},
		{"RPUSH %a x y; RPUSH %b z", "RPOPLPUSH %a %b; LMOVE %b %a LEFT RIGHT", "%a=2 %b=2"},
		{"", "RPUSH %a x; LMOVE %a %b RIGHT LEFT; DEL %b", "%a=3 %b=2"},
		{"RPUSH %a x y", "LMOVE %a %a LEFT RIGHT", "%a=2"},
		{"RPUSH %b z", "LMOVE %a %b LEFT LEFT", "%a=1"},
		{"RPUSH %b z", "RPOPLPUSH %a %b", "%a=1"},
		{"RPUSH %a x; SET %b v", "LMOVE %a %b LEFT LEFT", "%a=1 %b=1"},

		{"RPUSH %b x y; RPUSH %c z", "LMPOP 3 %a %b %c LEFT; LPUSH %b x", "%a=1 %b=2"},
		{"", "RPUSH %b x y; LMPOP 2 %a %b LEFT COUNT 5", "%a=1 %b=3"},
		{"", "LMPOP 2 %a %b LEFT", "%a=1 %b=1"},

		// In a transaction they do not block.
		{"", "BLPOP %a %b 0", "%a=1 %b=1"},
		{"", "BRPOP %a 0.01", "%a=1"},
		{"RPUSH %b x y", "BLPOP %a %b %c 0; LPUSH %b x", "%a=1 %b=2"},
		{"", "RPUSH %a x; BRPOP %a 0", "%a=3"},
		{"", "BLMOVE %a %b LEFT LEFT 0", "%a=1"},
		{"", "BRPOPLPUSH %a %b 0", "%a=1"},
		{"", "BLMPOP 0 2 %a %b LEFT", "%a=1 %b=1"},
		{"", "RPUSH %a x; BLMPOP 0 2 %a %b LEFT", "%a=3"},
		{"RPUSH %a x y", "BLMOVE %a %a LEFT RIGHT 0", "%a=2"},
		{"RPUSH %a x y; RPUSH %b z", "BRPOPLPUSH %a %b 0; LMOVE %b %a LEFT RIGHT", "%a=2 %b=2"},
		{"RPUSH %a x", "OBJECT ENCODING %a; MEMORY USAGE %a", ""},
	},
)

var hashAccesses = slices.Concat(
	readsOf("HSET %a f v n 1", "HGET %a f", "HMGET %a f g", "HGETALL %a", "HLEN %a", "HEXISTS %a f", "HKEYS %a", "HVALS %a", "HSTRLEN %a f",
		"HRANDFIELD %a", "HRANDFIELD %a 5 WITHVALUES", "HRANDFIELD %a -5", "HSCAN %a 0", "HSCAN %a 0 NOVALUES", "HDEL %a nothing",
		"HTTL %a FIELDS 1 f", "HPTTL %a FIELDS 1 f", "HEXPIRETIME %a FIELDS 1 f", "HPEXPIRETIME %a FIELDS 1 f", "HPERSIST %a FIELDS 1 f",
		"HEXPIRE %a 1000 FIELDS 1 f", "HPEXPIREAT %a 4102444800000 FIELDS 2 f g", "HGETEX %a EX 1000 FIELDS 1 f", "HGETDEL %a FIELDS 1 nothing"),
	wrongType("HSET %a f v", "HGET %a f", "HGETALL %a", "HDEL %a f", "HINCRBY %a f 1", "HSCAN %a 0", "HEXPIRE %a 100 FIELDS 1 f"),
	refused("HSET %a f v g", "HINCRBY %a f x", "HINCRBYFLOAT %a f x", "HRANDFIELD %a x", "HEXPIRE %a x FIELDS 1 f", "HGETEX %a FIELDS 2 f"),
	[]accessRow{
		{"", "HSET %a f v; DEL %a", "%a=2"},
		{"HSET %a f v", "HSET %a f w g x h y", "%a=1"},
		{"", "HMSET %a f v; DEL %a", "%a=2"},
		{"", "HSETNX %a f v; DEL %a", "%a=2"},
		{"HSET %a f v", "HSETNX %a f w", "%a=1"},
		{"HSET %a n 1", "HINCRBY %a n 1", "%a=1"},
		{"HSET %a n 1", "HINCRBYFLOAT %a n 0.5", "%a=1"},
		{"HSET %a n word", "HINCRBY %a n 1", "%a=1"},
		{"", "HINCRBY %a n 1; DEL %a", "%a=2"},
		{"HSET %a f v", "HSET %a g w; HDEL %a g", "%a=2"},
		{"", "HSET %a f v; HDEL %a f g", "%a=3"},
		{"", "HSET %a f v g w; HGETDEL %a FIELDS 2 f g", "%a=3"},
		{"HSET %a f v", "HSET %a g w; HEXPIREAT %a 1 FIELDS 1 g", "%a=2"},
		{"", "HSET %a f v; HEXPIREAT %a 1 FIELDS 1 f", "%a=3"},
		{"", "HSET %a f v; HGETEX %a EXAT 1 FIELDS 1 f", "%a=3"},
		{"", "HSETEX %a EX 1000 FIELDS 1 f v; DEL %a", "%a=2"},
		{"HSET %a f v", "HSETEX %a FNX FIELDS 1 f v", "%a=1"},
		{"HSET %a f v", "OBJECT ENCODING %a; MEMORY USAGE %a", ""},
	},
)

var setAccesses = slices.Concat(
	readsOf("SADD %a x y 1", "SMEMBERS %a", "SISMEMBER %a x", "SMISMEMBER %a x z", "SCARD %a", "SRANDMEMBER %a", "SRANDMEMBER %a 10", "SRANDMEMBER %a -5",
		"SSCAN %a 0", "SREM %a nothing", "SPOP %a 0", "SINTER %a", "SUNION %a", "SDIFF %a", "SINTERCARD 1 %a"),
	after("SADD %a x y; SADD %b y z", "%a=1 %b=1", "SINTER %a %b", "SINTERCARD 2 %a %b LIMIT 1", "SUNION %a %b", "SDIFF %a %b"),
	after("SADD %b y z", "%a=1 %b=1", "SINTER %a %b", "SINTER %b %a", "SINTERCARD 2 %a %b", "SUNION %a %b", "SDIFF %a %b"),
	after("SADD %b y", "%a=2 %b=1", "SUNION %a %a %b"),
	wrongType("SADD %a x", "SREM %a x", "SPOP %a", "SMEMBERS %a", "SISMEMBER %a x", "SINTER %a %a"),
	refused("SPOP %a -1", "SPOP %a x", "SRANDMEMBER %a x", "SINTERCARD 0 %a", "SINTERCARD 1 %a LIMIT -1"),
	// The STORE forms: one lookup per source, then the destination once if there is
	// something to store, else only its removal.
	after("SADD %a x y; SADD %b y z", "%a=1 %b=1 %c=2", "SINTERSTORE %c %a %b; DEL %c", "SUNIONSTORE %c %a %b; DEL %c", "SDIFFSTORE %c %a %b; DEL %c"),
	after("SADD %a x y; SADD %b y z; SADD %c x", "%a=1 %b=1 %c=1", "SINTERSTORE %c %a %b", "SUNIONSTORE %c %a %b", "SDIFFSTORE %c %a %b"),
	after("SADD %a x y; SADD %b y z; SET %c v", "%a=1 %b=1 %c=1", "SUNIONSTORE %c %a %b"),
	after("SADD %a x; SADD %b z", "%a=1 %b=1", "SINTERSTORE %c %a %b"),
	after("SADD %a x; SADD %b x z", "%a=1 %b=1", "SDIFFSTORE %c %a %b"),
	after("", "%a=1 %b=1", "SINTERSTORE %c %a %b", "SUNIONSTORE %c %a %b", "SDIFFSTORE %c %a %b"),
	after("SADD %b z", "%a=1 %b=1 %c=2", "SET %c v; SINTERSTORE %c %a %b", "SADD %c v; SDIFFSTORE %c %a %b"),
	[]accessRow{
		{"", "SADD %a x; DEL %a", "%a=2"},
		{"SADD %a 1", "SADD %a 2 3; SREM %a 2 3", "%a=2"},
		{"SADD %a x y", "SPOP %a; SADD %a x y", "%a=2"},
		{"", "SPOP %a; SPOP %a 5", "%a=2"},
		{"", "SADD %a x; SPOP %a", "%a=3"},
		{"", "SADD %a x y; SPOP %a 2", "%a=3"},
		{"", "SADD %a 1 2; SPOP %a 10", "%a=3"},
		{"", "SADD %a x y; SREM %a y x", "%a=3"},
		// SMOVE looks at both, also in vain.
		{"SADD %a x y; SADD %b z", "SMOVE %a %b x; SMOVE %b %a x", "%a=2 %b=2"},
		{"SADD %a x; SADD %b z", "SMOVE %a %b nothing", "%a=1 %b=1"},
		{"SADD %b z", "SMOVE %a %b x", "%a=1 %b=1"},
		{"", "SMOVE %a %b x", "%a=1 %b=1"},
		{"", "SADD %a x; SMOVE %a %b x; DEL %b", "%a=3 %b=2"},
		{"SADD %a x", "SMOVE %a %a x", "%a=2"},
		{"SADD %a x; SADD %b x", "SADD %a y; SMOVE %a %b y; SREM %b y", "%a=2 %b=2"},
		// A destination that is a source is both.
		{"SADD %a x; SADD %b z", "SUNIONSTORE %a %a %b", "%a=2 %b=1"},
		{"", "SADD %a x; SDIFFSTORE %a %a %a", "%a=4"},
		{"SADD %a x", "OBJECT ENCODING %a; MEMORY USAGE %a", ""},
	},
)

var zsetAccesses = slices.Concat(
	readsOf("ZADD %a 1 x 2 y", "ZCARD %a", "ZCOUNT %a -inf +inf", "ZLEXCOUNT %a - +", "ZSCORE %a x", "ZMSCORE %a x z", "ZRANK %a x", "ZREVRANK %a x",
		"ZRANK %a x WITHSCORE", "ZRANGE %a 0 -1", "ZRANGE %a 0 5 BYSCORE REV", "ZRANGE %a - + BYLEX", "ZREVRANGE %a 0 -1 WITHSCORES", "ZRANGEBYSCORE %a 0 5",
		"ZREVRANGEBYSCORE %a 5 0", "ZRANGEBYLEX %a - +", "ZREVRANGEBYLEX %a + -", "ZRANDMEMBER %a", "ZRANDMEMBER %a 10 WITHSCORES", "ZSCAN %a 0",
		"ZREM %a nothing", "ZREMRANGEBYRANK %a 7 9", "ZREMRANGEBYSCORE %a 7 9", "ZREMRANGEBYLEX %a [zz [zzz", "ZADD %a XX 1 nothing",
		"ZUNION 1 %a", "ZINTER 1 %a", "ZDIFF 1 %a", "ZINTERCARD 1 %a"),
	after("ZADD %a 1 x 2 y; ZADD %b 1 y 2 z", "%a=1 %b=1", "ZUNION 2 %a %b", "ZINTER 2 %a %b WITHSCORES", "ZDIFF 2 %a %b", "ZINTERCARD 2 %a %b LIMIT 1"),
	after("ZADD %b 1 y 2 z", "%a=1 %b=1", "ZUNION 2 %a %b", "ZINTER 2 %a %b", "ZDIFF 2 %a %b", "ZINTERCARD 2 %b %a"),
	wrongType("ZADD %a 1 x", "ZINCRBY %a 1 x", "ZREM %a x", "ZPOPMIN %a", "ZSCORE %a x", "ZRANGE %a 0 -1", "ZMPOP 2 %a %b MIN", "BZPOPMIN %a 0"),
	refused("ZADD %a x m", "ZADD %a NX XX 1 m", "ZINCRBY %a x m", "ZRANGE %a x y", "ZRANGEBYSCORE %a x y", "ZPOPMIN %a -1", "ZUNION 0 %a",
		"ZMPOP 1 %a MID", "BZPOPMIN %a x", "ZRANDMEMBER %a x", "ZRANGESTORE %c %a 0 1 WITHSCORES"),
	after("ZADD %a 1 x 2 y; ZADD %b 1 y 2 z", "%a=1 %b=1 %c=2", "ZUNIONSTORE %c 2 %a %b; DEL %c", "ZINTERSTORE %c 2 %a %b; DEL %c", "ZDIFFSTORE %c 2 %a %b; DEL %c"),
	after("ZADD %a 1 x 2 y; ZADD %b 1 y; ZADD %c 1 m", "%a=1 %b=1 %c=1", "ZUNIONSTORE %c 2 %a %b", "ZINTERSTORE %c 2 %a %b", "ZDIFFSTORE %c 2 %a %b"),
	after("", "%a=1 %b=1", "ZUNIONSTORE %c 2 %a %b", "ZINTERSTORE %c 2 %a %b", "ZDIFFSTORE %c 2 %a %b"),
	after("ZADD %b 1 y", "%a=1 %b=1 %c=2", "SET %c v; ZINTERSTORE %c 2 %a %b", "ZADD %c 1 v; ZDIFFSTORE %c 2 %a %b"),
	[]accessRow{
		{"", "ZADD %a 1 x; DEL %a", "%a=2"},
		{"ZADD %a 1 x", "ZADD %a NX 2 x", "%a=1"},
		{"ZADD %a 1 x", "ZADD %a INCR 2 x; ZINCRBY %a -2 x", "%a=2"},
		{"", "ZINCRBY %a 1 x; DEL %a", "%a=2"},
		{"ZADD %a 1 x", "ZADD %a 2 y; ZREM %a y", "%a=2"},
		{"ZADD %a 1 x 2 y", "ZPOPMIN %a; ZADD %a 1 x; ZPOPMAX %a; ZADD %a 2 y", "%a=4"},
		{"", "ZPOPMIN %a; ZPOPMAX %a 3", "%a=2"},
		{"", "ZADD %a 1 x; ZPOPMIN %a", "%a=3"},
		{"", "ZADD %a 1 x 2 y; ZPOPMAX %a 9", "%a=3"},
		{"", "ZADD %a 1 x; ZREM %a x", "%a=3"},
		{"", "ZADD %a 1 x; ZREMRANGEBYRANK %a 0 -1", "%a=3"},
		{"", "ZADD %a 1 x; ZREMRANGEBYSCORE %a 0 5", "%a=3"},
		{"", "ZADD %a 1 x; ZREMRANGEBYLEX %a - +", "%a=3"},
		{"ZADD %b 1 x 2 y; ZADD %c 1 z", "ZMPOP 3 %a %b %c MIN; ZADD %b 1 x", "%a=1 %b=2"},
		{"", "ZADD %b 1 x 2 y; ZMPOP 2 %a %b MAX COUNT 5", "%a=1 %b=3"},
		{"", "ZMPOP 2 %a %b MIN", "%a=1 %b=1"},
		{"", "BZPOPMIN %a %b 0", "%a=1 %b=1"},
		{"ZADD %b 1 x 2 y", "BZPOPMAX %a %b %c 0; ZADD %b 2 y", "%a=1 %b=2"},
		{"", "ZADD %a 1 x; BZPOPMIN %a 0", "%a=3"},
		{"", "BZMPOP 0 2 %a %b MIN", "%a=1 %b=1"},
		{"", "ZADD %a 1 x; BZMPOP 0 2 %a %b MIN", "%a=3"},

		{"ZADD %a 1 x", "ZRANGESTORE %b %a 0 -1; DEL %b", "%a=1 %b=2"},
		{"ZADD %a 1 x; ZADD %b 1 y", "ZRANGESTORE %b %a 0 -1", "%a=1 %b=1"},
		{"ZADD %a 1 x", "ZRANGESTORE %b %a 5 6", "%a=1"},
		{"ZADD %a 1 x", "SET %b v; ZRANGESTORE %b %a 5 6", "%a=1 %b=2"},
		{"", "SET %b v; ZRANGESTORE %b %a 0 -1", "%a=1 %b=2"},
		{"SADD %a x; ZADD %b 1 x", "ZUNION 2 %a %b", "%a=1 %b=1"},
		{"ZADD %a 1 x; ZADD %b 1 z", "ZUNIONSTORE %a 2 %a %b", "%a=2 %b=1"},
		{"ZADD %a 1 x", "OBJECT ENCODING %a; MEMORY USAGE %a", ""},
	},
)

var streamAccesses = slices.Concat(
	readsOf("XADD %a 1-1 f v; XADD %a 2-1 f v; XGROUP CREATE %a g 0", "XLEN %a", "XRANGE %a - +", "XREVRANGE %a + -", "XDEL %a 9-9", "XTRIM %a MAXLEN 100",
		"XINFO STREAM %a", "XINFO STREAM %a FULL", "XINFO GROUPS %a", "XINFO CONSUMERS %a g", "XPENDING %a g", "XPENDING %a g - + 5", "XACK %a g 1-1",
		"XCLAIM %a g c 0 1-1", "XAUTOCLAIM %a g c 0 0", "XGROUP SETID %a g 0", "XGROUP CREATECONSUMER %a g c", "XGROUP DELCONSUMER %a g c",
		"XGROUP DESTROY %a nogroup", "XADD %a NOMKSTREAM 1-1 f v"),
	wrongType("XADD %a 1-1 f v", "XLEN %a", "XRANGE %a - +", "XGROUP CREATE %a g 0", "XINFO STREAM %a"),
	refused("XADD %a bad f v", "XADD %a MAXLEN x 1-1 f v", "XTRIM %a MAXLEN -1", "XRANGE %a x y", "XREAD STREAMS %a %b 0", "XREAD BLOCK x STREAMS %a 0"),
	[]accessRow{
		{"", "XADD %a 1-1 f v; DEL %a", "%a=2"},
		{"XADD %a 1-1 f v", "XADD %a 1-1 f v", "%a=1"},
		{"XADD %a 1-1 f v", "XADD %a MAXLEN 1 * f v", "%a=1"},
		{"", "XGROUP CREATE %a g $", "%a=1"},
		{"", "XGROUP CREATE %a g $ MKSTREAM; XGROUP DESTROY %a g; DEL %a", "%a=3"},
		{"XADD %a 1-1 f v", "XSETID %a 5-5", "%a=1"},
		{"XADD %a 1-1 f v; XADD %b 1-1 f v", "XREAD STREAMS %a %b 0 $", "%a=1 %b=1"},
		{"XADD %a 1-1 f v", "XREAD BLOCK 0 STREAMS %a %b $ 0", "%a=1 %b=1"},
		{"XADD %a 1-1 f v; XGROUP CREATE %a g 0", "XREADGROUP GROUP g c STREAMS %a >; XREADGROUP GROUP g c STREAMS %a 0", "%a=2"},
		{"", "XREADGROUP GROUP g c STREAMS %a >", "%a=1"},
		// A stream may be empty: nothing is removed with its last entry.
		{"XADD %a 1-1 f v", "XADD %a * f v; XTRIM %a MAXLEN 0", "%a=2"},
		{"XADD %a 1-1 f v", "OBJECT ENCODING %a; MEMORY USAGE %a", ""},
	},
)

var bitmapAccesses = slices.Concat(
	readsOf(`SET %a "a\x00\xff"`, "GETBIT %a 1", "BITCOUNT %a", "BITCOUNT %a 0 5 BIT", "BITPOS %a 1", "BITPOS %a 0 1 -1 BIT", "BITFIELD %a GET u8 0",
		"BITFIELD_RO %a GET u8 0 GET i3 #1", "BITFIELD %a"),
	after("RPUSH %a x", "%a=1", "SETBIT %a 0 1", "GETBIT %a 1", "BITCOUNT %a", "BITPOS %a 1", "BITFIELD %a GET u8 0"),
	refused("SETBIT %a -1 1", "SETBIT %a 0 2", "SETBIT %a 4294967296 1", "GETBIT %a x", "BITPOS %a 2", "BITFIELD %a GET u64 0", "BITFIELD %a SET u8 0 x",
		"BITOP NOT %c %a %b", "BITOP BOTH %c %a", "BITFIELD_RO %a SET u8 0 1"),
	after("SET %a abc; SET %b abd", "%a=1 %b=1 %c=2", "BITOP AND %c %a %b; DEL %c", "BITOP OR %c %a %b; DEL %c", "BITOP XOR %c %a %b; DEL %c"),
	[]accessRow{
		{"", "SETBIT %a 7 1; DEL %a", "%a=2"},
		{"SET %a abc", "SETBIT %a 7 1", "%a=1"},
		{"", "BITFIELD %a SET u8 0 1 INCRBY u8 8 1 GET u4 0; DEL %a", "%a=2"},
		{"SET %a abc", "BITOP NOT %b %a; DEL %b", "%a=1 %b=2"},
		{"SET %a abc; SET %b x", "BITOP NOT %b %a", "%a=1 %b=1"},
		{"SET %a abc; RPUSH %b x", "BITOP OR %b %a %c", "%a=1 %b=1 %c=1"},
		{"", "BITOP OR %c %a %b", "%a=1 %b=1"},
		{"", "SET %c x; BITOP AND %c %a %b", "%a=1 %b=1 %c=2"},
		{"SET %a abc", "BITOP OR %a %a %b", "%a=2 %b=1"},
	},
)

var hyperloglogAccesses = slices.Concat(
	readsOf("PFADD %a x y", "PFCOUNT %a"),
	after("RPUSH %a x", "%a=1", "PFADD %a x", "PFCOUNT %a"),
	after("PFADD %a x; PFADD %b y", "%a=1 %b=1", "PFCOUNT %a %b"),
	[]accessRow{
		{"", "PFADD %a x; DEL %a", "%a=2"},
		{"", "PFADD %a; DEL %a", "%a=2"},
		{"PFADD %a x", "PFADD %a x", "%a=1"},
		{"PFADD %a x", "PFCOUNT %a %b %a", "%a=2 %b=1"},
		// The destination is a source, too.
		{"PFADD %a x; PFADD %b y; PFADD %c z", "PFMERGE %a %b %c", "%a=2 %b=1 %c=1"},
		{"PFADD %b y", "PFMERGE %a %b; DEL %a", "%a=3 %b=1"},
		{"", "PFMERGE %a %b; DEL %a", "%a=3 %b=1"},
		{"PFADD %a x", "PFMERGE %a", "%a=2"},
	},
)

var geoAccesses = slices.Concat(
	readsOf("GEOADD %a 13.36 38.11 p 15.08 37.5 c", "GEOPOS %a p x", "GEOHASH %a p", "GEODIST %a p c", "GEOADD %a XX 13 38 nothing",
		"GEOSEARCH %a FROMLONLAT 15 37 BYRADIUS 200 km ASC", "GEORADIUS %a 15 37 200 km", "GEORADIUS_RO %a 15 37 200 km", "GEORADIUSBYMEMBER %a p 200 km",
		"GEORADIUSBYMEMBER_RO %a p 200 km"),
	wrongType("GEOADD %a 13 38 p", "GEOPOS %a p", "GEODIST %a p c", "GEOSEARCH %a FROMLONLAT 15 37 BYRADIUS 200 km"),
	refused("GEOADD %a 181 38 p", "GEOADD %a NX XX 13 38 p"),
	[]accessRow{
		{"", "GEOADD %a 13 38 p; DEL %a", "%a=2"},
		{"GEOADD %a 13 38 p", "GEOSEARCHSTORE %b %a FROMMEMBER p BYRADIUS 1 km; DEL %b", "%a=1 %b=2"},
		{"GEOADD %a 13 38 p; SET %b v", "GEOSEARCHSTORE %b %a FROMMEMBER p BYRADIUS 1 km", "%a=1 %b=1"},
		{"GEOADD %a 13 38 p", "GEOSEARCHSTORE %b %a FROMLONLAT 0 0 BYRADIUS 1 km", "%a=1"},
		{"GEOADD %a 13 38 p", "SET %b v; GEOSEARCHSTORE %b %a FROMLONLAT 0 0 BYRADIUS 1 km", "%a=1 %b=2"},
		{"", "SET %b v; GEOSEARCHSTORE %b %a FROMLONLAT 0 0 BYRADIUS 1 km", "%a=1 %b=2"},
		{"GEOADD %a 13 38 p", "GEORADIUS %a 13 38 1 km STORE %b; DEL %b", "%a=1 %b=2"},
		{"GEOADD %a 13 38 p; SET %b v", "GEORADIUSBYMEMBER %a p 1 km STOREDIST %b", "%a=1 %b=1"},
		{"", "SET %b v; GEORADIUS %a 13 38 1 km STORE %b", "%a=1 %b=2"},
	},
)

var sortAccesses = slices.Concat(
	readsOf("RPUSH %a 3 1 2", "SORT %a", "SORT_RO %a DESC", "SORT %a BY nosort", "SORT %a ALPHA LIMIT 0 1", "SORT %a GET #", "SORT %a BY nosort GET #"),
	wrongType("SORT %a", "SORT_RO %a"),
	refused("SORT %a LIMIT x 1", "SORT %a STORE", "SORT_RO %a STORE %b", "SORT %a bogus"),
	[]accessRow{
		// One lookup for each element and pattern, existing or not.
		{"RPUSH %a 2 1; SET %w1 5", "SORT %a BY %w*", "%a=1 %w1=1 %w2=1"},
		{"RPUSH %a 2 1; HSET %h1 f 5", "SORT_RO %a BY %h*->f", "%a=1 %h1=1 %h2=1"},
		{"RPUSH %a 2 1", "SORT %a GET %v* GET # GET %h*->f", "%a=1 %v1=1 %v2=1 %h1=1 %h2=1"},
		{"RPUSH %a 2 1", "SORT %a BY %w* GET %w*", "%a=1 %w1=2 %w2=2"},
		{"RPUSH %a 1 1 1", "SORT %a BY nosort GET %v*", "%a=1 %v1=3"},
		{"RPUSH %a 2 1", "SORT %a LIMIT 0 1 GET %v*", "%a=1 %v1=1"},
		{"RPUSH %a 2 1", "SORT %a STORE %b; DEL %b", "%a=1 %b=2"},
		{"RPUSH %a 2 1; SET %b v", "SORT %a STORE %b", "%a=1 %b=1"},
		{"RPUSH %a 2 1", "SORT %a LIMIT 5 6 STORE %b", "%a=1"},
		{"RPUSH %a 2 1", "SET %b v; SORT %a LIMIT 5 6 STORE %b", "%a=1 %b=2"},
		{"", "SET %b v; SORT %a STORE %b", "%a=1 %b=2"},
		{"RPUSH %a 2 1", "SORT %a STORE %a", "%a=2"},
		{"RPUSH %a 2 1", "SORT %a GET %v* STORE %b; DEL %b", "%a=1 %b=2 %v1=1 %v2=1"},
	},
)

// onePayload is what redis-server 7.0 dumps of the string "v".
const onePayload = `"\x00\x01v\n\x00\x91\b\xce\xb2\x198\x8a\xce"`

var dumpAccesses = slices.Concat(
	readsOf("RPUSH %a x y", "DUMP %a"),
	[]accessRow{
		{"", "RESTORE %a 0 " + onePayload + "; DEL %a", "%a=2"},
		{"SET %a v", "RESTORE %a 0 " + onePayload, "%a=1"},
		{"", "RESTORE %a 0 " + onePayload + " REPLACE; DEL %a", "%a=1"},
		{"SET %a v", "RESTORE %a 0 " + onePayload + " REPLACE", "%a=1"},
		{"RPUSH %a x y", "RESTORE %a 1000000 " + onePayload + " REPLACE", "%a=1"},
	},
)

// TestHotKeysOfCollections is TestHotKeysAccesses for the table by type.
func TestHotKeysOfCollections(t *testing.T) {
	t.Parallel() // it waits for windows
	s := startHot(t)
	for _, typ := range slices.Sorted(maps.Keys(collectionTable)) {
		t.Run(typ, func(t *testing.T) {
			s.checkAccesses(t, collectionTable[typ], 1, func(commands [][]string) { s.transaction(commands...) })
		})
	}
}

// TestHotKeysOfBlockedClients: a client that blocks looks at its keys when it
// blocks and again when it is served, not when others are.
func TestHotKeysOfBlockedClients(t *testing.T) {
	t.Parallel() // it waits for windows
	s := startHot(t)
	const clients = 20
	for _, test := range []struct {
		block, push string
		want        int
	}{
		// Each client, the push, two that are served, the removal.
		{"BLPOP k missing 0", "RPUSH k x y", clients + 1 + 2 + 1},
		{"BRPOP missing k 0", "RPUSH k x y", clients + 1 + 2 + 1},
		{"BLMPOP 0 2 k missing LEFT", "RPUSH k x y", clients + 1 + 2 + 1},
		{"BZPOPMIN k missing 0", "ZADD k 1 x 2 y", clients + 1 + 2 + 1},
		{"BZMPOP 0 2 k missing MAX", "ZADD k 1 x 2 y", clients + 1 + 2 + 1},
	} {
		t.Run(test.block, func(t *testing.T) {
			r := s.record(2, func() {
				s.park()
				s.c.ok("FLUSHALL")
				s.c.ok("CONFIG", "SET", "hotkeys-window-seconds", "2")
				blocked := s.block(clients, test.block)
				s.transaction(times(1, test.push)...)
				for _, c := range blocked[:2] {
					c.reply()
				}
				for _, c := range blocked {
					c.nc.Close()
				}
			})
			if !r.is(identity{"k", 0}, float64(test.want)) {
				t.Errorf("%d accesses in %d ms: %v, want %d of k", r.samples, r.durationMs, r.entries, test.want)
			}
		})
	}
}

// block makes so many clients wait, one after the other.
func (s *hotServer) block(clients int, command string) []*conn {
	s.t.Helper()
	blocked := func(n int) {
		s.t.Helper()
		eventually(s.t, fmt.Sprintf("%d clients are blocked", n), func() bool {
			return infoInt(s.c, "clients", "blocked_clients") == int64(n)
		})
	}
	blocked(0)
	args, err := splitArgs(command)
	if err != nil {
		s.t.Fatal(err)
	}
	var waiting []*conn
	for i := range clients {
		c := s.dial()
		c.send(string(encode(args...)))
		waiting = append(waiting, c)
		blocked(i + 1)
	}
	return waiting
}
