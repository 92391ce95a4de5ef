package server

import (
	"encoding/hex"
	"strings"
	"testing"

	"kvserver/store/rdb"
)

// ofType are commands that read a key k of a type and then commands that change it: together they pass through everything
// that a value is made of.
var ofType = map[string][]string{
	"string": {"GET k", "STRLEN k", "GETRANGE k 0 -1", "GETBIT k 7", "BITCOUNT k", "BITPOS k 1", "LCS k k LEN", "PFCOUNT k",
		"PFADD k a b c", "PFCOUNT k", "PFMERGE k other k", "SETBIT k 9 1", "APPEND k x", "SETRANGE k 3 y", "INCR k", "INCRBYFLOAT k 1"},
	"list": {"LLEN k", "LRANGE k 0 -1", "LRANGE k -3 -2", "LINDEX k 0", "LINDEX k -1", "LPOS k a", "LPOS k 5 RANK -1 COUNT 0", "SORT k ALPHA",
		"LPUSH k x", "RPUSH k y 7", "LSET k 0 5", "LINSERT k BEFORE y z", "LREM k 1 a", "LREM k -1 5", "LMOVE k k LEFT RIGHT", "LTRIM k 1 -2", "LPOP k 2", "RPOP k"},
	"set": {"SCARD k", "SMEMBERS k", "SISMEMBER k a", "SMISMEMBER k 5 a", "SRANDMEMBER k -5", "SRANDMEMBER k 3", "SSCAN k 0 COUNT 1000", "SINTER k k",
		"SUNION k k", "SDIFF k other", "SINTERCARD 2 k k", "SORT k ALPHA", "SADD k new 12345678901", "SREM k a 5", "SPOP k", "SPOP k 3", "SUNIONSTORE k k"},
	"zset": {"ZCARD k", "ZRANGE k 0 -1 WITHSCORES", "ZRANGE k 0 -1 REV", "ZRANGEBYSCORE k -inf +inf", "ZRANGE k - + BYLEX", "ZCOUNT k (0 5", "ZLEXCOUNT k - +",
		"ZSCORE k a", "ZRANK k a WITHSCORE", "ZREVRANK k b", "ZMSCORE k a 5", "ZRANDMEMBER k -5 WITHSCORES", "ZSCAN k 0 COUNT 1000", "ZUNION 2 k k WITHSCORES",
		"ZINTER 2 k k", "ZDIFF 2 k other", "GEOPOS k a", "GEOSEARCH k FROMLONLAT 0 0 BYRADIUS 20000 km", "ZADD k 1.5 new", "ZADD k XX GT 9 a", "ZINCRBY k 2 b",
		"ZREM k c", "ZPOPMIN k", "ZPOPMAX k 2", "ZREMRANGEBYSCORE k 0 0", "ZREMRANGEBYRANK k 0 0", "ZRANGESTORE other k 0 -1", "ZUNIONSTORE k 1 k"},
	"hash": {"HLEN k", "HGETALL k", "HKEYS k", "HVALS k", "HGET k f", "HMGET k f 5", "HEXISTS k g", "HSTRLEN k f", "HRANDFIELD k -5 WITHVALUES", "HRANDFIELD k 3",
		"HSCAN k 0 COUNT 1000", "HPEXPIRETIME k FIELDS 2 f g", "HSET k new v f w", "HINCRBY k n 1", "HINCRBYFLOAT k n 0.5", "HDEL k g", "HEXPIRE k 100 FIELDS 1 f",
		"HPERSIST k FIELDS 1 f", "HGETDEL k FIELDS 1 new", "HDEL k f"},
	"stream": {"XLEN k", "XRANGE k - +", "XREVRANGE k + -", "XRANGE k 5-1 (7-0", "XINFO STREAM k", "XINFO STREAM k FULL COUNT 0", "XINFO GROUPS k", "XINFO CONSUMERS k g",
		"XPENDING k g", "XPENDING k g - + 100", "XREAD COUNT 5 STREAMS k 0", "XREADGROUP GROUP g c COUNT 2 STREAMS k >", "XREADGROUP GROUP g c STREAMS k 0",
		"XAUTOCLAIM k g d 0 0", "XCLAIM k g d 0 5-1 FORCE", "XACK k g 5-1 1-1", "XGROUP DELCONSUMER k g c", "XGROUP SETID k g 0", "XADD k * f v", "XDEL k 5-1 1-1",
		"XTRIM k MAXLEN 1", "XSETID k 18446744073709551615-1", "XGROUP DESTROY k g", "XTRIM k MAXLEN 0"},
}

// orderless are the types whose elements have no order.
var orderless = map[string]bool{"set": true, "hash": true}

// restoreSeeds are commands that make a key whose payloads the fuzzer begins with.
var restoreSeeds = []string{
	"SET k hello", "SET k 12345", "SETRANGE k 100 x", "PFADD k a b c", "RPUSH k a 5 bc", "SADD k 1 5 70000", "SADD k a 5", "ZADD k 1 a 2.5 b -inf c", "HSET k f v g 12",
	"ZADD k 3665470748019563 a", "XADD k 5-1 f v",
}

// FuzzRestore: whatever a payload says, with a right checksum, it is refused or makes a value that every command can work
// on, and that is what it was after being dumped and restored once more.
func FuzzRestore(f *testing.F) {
	s := newTestServer(f, "--proto-max-bulk-len", "1mb", "--set-max-listpack-entries", "8", "--hash-max-listpack-entries", "8",
		"--zset-max-listpack-entries", "8", "--list-max-listpack-size", "8")
	c := newTestClient(f, s)
	dumped := func() []byte {
		payload := decoded(f, do(c, "DUMP", "k")).text
		do(c, "DEL", "k")
		body, _, err := rdb.Open([]byte(payload))
		if err != nil {
			f.Fatal(err)
		}
		return body
	}
	for _, seed := range restoreSeeds {
		do(c, strings.Fields(seed)...)
		f.Add(dumped(), uint8(rdb.Version))
	}
	for _, command := range []string{"XADD k 5-1 f v", "XADD k 6-0 f w g x", "XADD k 7-0 f y", "XDEL k 6-0", "XGROUP CREATE k g 0",
		"XREADGROUP GROUP g c COUNT 1 STREAMS k >"} {
		do(c, strings.Fields(command)...)
	}
	f.Add(dumped(), uint8(rdb.Version))
	do(c, "HSET", "k", "f", "v", "g", "w")
	do(c, "HEXPIRE", "k", "1000000", "FIELDS", "1", "f")
	f.Add(dumped(), uint8(rdb.DeadlinesVersion))
	for _, body := range []string{
		"0a1818000000130000000400000161" + "03f602026263" + "04c0e803ff", "0d1818000000130000000400000161" + "03f602026263" + "04c0e803ff",
		"090b0103666f6f0300626172ff", "03030161" + "03312e350162fe0163ff", "140d0d00000002008161020501ff",
	} {
		b, err := hex.DecodeString(body)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint8(rdb.Version))
	}
	f.Fuzz(func(t *testing.T, body []byte, version uint8) {
		do(c, "FLUSHALL")
		payload := string(rdb.Seal(body, uint16(version)))
		switch reply := do(c, "RESTORE", "k", "0", payload); reply {
		case "+OK\r\n":
		case "-ERR Bad data format\r\n", "-ERR DUMP payload version or checksum are wrong\r\n":
			if do(c, "EXISTS", "k") != ":0\r\n" {
				t.Fatal("refused, and the key is there")
			}
			return
		default:
			t.Fatalf("RESTORE: %q", reply)
		}
		typ := decoded(t, do(c, "TYPE", "k")).text
		if typ == "none" { // all its fields have expired
			return
		}
		again := decoded(t, do(c, "DUMP", "k")).text
		if reply := do(c, "RESTORE", "copy", "0", again); reply != "+OK\r\n" {
			t.Fatalf("what was restored is dumped as %x, which is answered with %q", again, reply)
		}
		if !orderless[typ] && decoded(t, do(c, "DUMP", "copy")).text != again {
			t.Fatalf("dumped as %x, and then otherwise", again)
		}
		do(c, "DEL", "copy")
		for _, command := range ofType[typ] {
			reply := do(c, strings.Fields(command)...)
			if reply == "" || strings.Contains(reply, errInternal) || strings.HasPrefix(reply, "-WRONGTYPE Op") || strings.HasPrefix(reply, "-ERR unknown") {
				t.Fatalf("%s of %x: %q", command, body, reply)
			}
		}
	})
}
