package tests

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// typeGrammars are the commands of each data type. To each come those of
// anyTypeGrammar, which work on all of them.
var typeGrammars = map[string][]string{
	"list": grammarLines(`
6 LPUSH key {few}
6 RPUSH key {few}
3 LPUSH key {mem}
3 RPUSH key {mem}
2 LPUSH key {+ mem}
3 RPUSH key {+ few}
2 LPUSHX key {few}
2 RPUSHX key {few}
3 LPOP key
3 RPOP key
2 LPOP key small
2 RPOP key small
2 LLEN key
3 LRANGE key index index
2 LRANGE key 0 -1
3 LINDEX key index
3 LSET key position mem
2 LSET key index mem
5 LINSERT key (BEFORE|AFTER) few mem
4 LREM key index few
3 LTRIM key index index
4 LPOS key few [RANK index] [COUNT small] [MAXLEN small]
4 LMOVE key key (LEFT|RIGHT) (LEFT|RIGHT)
2 RPOPLPUSH key key
2 LMPOP 1 key (LEFT|RIGHT) [COUNT small]
2 LMPOP 2 key key (LEFT|RIGHT) [COUNT small]
1 LMPOP small {key} (LEFT|RIGHT|BOTH)
1 BLPOP {key} timeout
1 BRPOP {key} timeout
1 BLMOVE key key (LEFT|RIGHT) (LEFT|RIGHT) timeout
1 BRPOPLPUSH key key timeout
1 BLMPOP timeout 2 key key (LEFT|RIGHT) [COUNT small]
4 CONFIG SET list-max-listpack-size listsize
1 CONFIG SET list-compress-depth (0|1|2|-1|x)
`),
	"hash": grammarLines(`
8 HSET key {mem val}
3 HSET key {+ mem val}
5 HSET key few val
3 HSET key few int
2 HMSET key {few val}
3 HSETNX key mem val
4 HGET key few
3 HMGET key {few}
4 HGETALL key
5 HDEL key {mem}
1 HDEL key {+ mem}
2 HLEN key
3 HEXISTS key mem
2 HKEYS key
2 HVALS key
3 HSTRLEN key few
5 HINCRBY key few int
5 HINCRBYFLOAT key few float
3 HRANDFIELD key [count]
2 HRANDFIELD key count WITHVALUES
2 HSCAN key 0 COUNT 100000 [MATCH pattern]
1 HSCAN key cursor [COUNT small] [MATCH pattern]
4 CONFIG SET hash-max-listpack-entries entries
2 CONFIG SET hash-max-listpack-value length
1 CONFIG SET hash-max-ziplist-entries entries
1 CONFIG GET hash-max-*
`),
	"set": grammarLines(`
6 SADD key {num}
6 SADD key {mem}
2 SADD key {+ num}
2 SADD key {+ mem}
4 SADD key {few}
4 SREM key {num}
4 SREM key {mem}
1 SREM key {+ mem}
3 SMEMBERS key
3 SISMEMBER key few
2 SMISMEMBER key {few}
2 SCARD key
3 SPOP key [small]
1 SPOP key 10000
2 SRANDMEMBER key [count]
3 SMOVE key key few
3 SINTER {key}
2 SINTERCARD 1 key [LIMIT small]
2 SINTERCARD 2 key key [LIMIT small]
1 SINTERCARD small {key} [LIMIT small]
3 SUNION {key}
3 SDIFF {key}
3 SINTERSTORE key {key}
3 SUNIONSTORE key {key}
3 SDIFFSTORE key {key}
2 SSCAN key 0 COUNT 100000 [MATCH pattern]
1 SSCAN key cursor [COUNT small] [MATCH pattern]
4 CONFIG SET set-max-intset-entries entries
2 CONFIG SET set-max-listpack-entries entries
2 CONFIG SET set-max-listpack-value length
`),
	"zset": grammarLines(`
6 ZADD key {level mem}
2 ZADD key {score mem}
3 ZADD key {+ level mem}
4 ZADD key {level few}
4 ZADD key [NX|XX] [GT|LT] [CH] {level few}
3 ZADD key [NX|XX|GT|LT] [INCR] level few
3 ZADD lexkey {0 mem}
1 ZADD lexkey {+ 0 mem}
2 ZINCRBY key score few
2 ZINCRBY key level few
4 ZREM key {mem}
1 ZREM key {+ mem}
1 ZCARD key
2 ZCOUNT key smin smin
2 ZLEXCOUNT lexkey lex lex
2 ZSCORE key few
2 ZMSCORE key {few}
2 ZRANK key few
2 ZREVRANK key few
4 ZRANGE key index index [REV] [WITHSCORES]
3 ZRANGE key smin smin BYSCORE [REV] [LIMIT index index] [WITHSCORES]
3 ZRANGE lexkey lex lex BYLEX [REV] [LIMIT index index]
1 ZRANGE key index index [BYSCORE|BYLEX] [LIMIT index index] [REV] [WITHSCORES] [word]
1 ZRANGE key 0 -1 WITHSCORES
2 ZREVRANGE key index index [WITHSCORES]
2 ZRANGEBYSCORE key smin smin [WITHSCORES] [LIMIT index index]
2 ZREVRANGEBYSCORE key smin smin [WITHSCORES] [LIMIT index index]
2 ZRANGEBYLEX lexkey lex lex [LIMIT index index]
2 ZREVRANGEBYLEX lexkey lex lex [LIMIT index index]
2 ZRANGESTORE key key index index [REV]
2 ZRANGESTORE key key smin smin BYSCORE [REV] [LIMIT index index]
2 ZRANGESTORE key lexkey lex lex BYLEX [REV] [LIMIT index index]
1 ZREMRANGEBYRANK key index index
1 ZREMRANGEBYSCORE key smin smin
2 ZREMRANGEBYLEX lexkey lex lex
2 ZPOPMIN key [small]
2 ZPOPMAX key [small]
1 ZMPOP 1 key (MIN|MAX) [COUNT small]
1 ZMPOP 2 key key (MIN|MAX) [COUNT small]
1 ZMPOP small {key} (MIN|MAX|MID)
1 BZPOPMIN {key} timeout
1 BZPOPMAX {key} timeout
1 BZMPOP timeout 2 key key (MIN|MAX) [COUNT small]
2 ZRANDMEMBER key [count]
2 ZRANDMEMBER key count WITHSCORES
2 ZUNION 1 key [WITHSCORES]
3 ZUNION 2 key key [WEIGHTS factor factor] [AGGREGATE SUM|AGGREGATE MIN|AGGREGATE MAX|AGGREGATE word] [WITHSCORES]
3 ZINTER 2 key key [WEIGHTS factor factor] [AGGREGATE SUM|AGGREGATE MIN|AGGREGATE MAX] [WITHSCORES]
1 ZUNION small {key} [WEIGHTS weight] [WITHSCORES]
1 ZINTER small {key} [WITHSCORES]
2 ZDIFF 2 key key [WITHSCORES]
1 ZDIFF 3 key key key [WITHSCORES]
1 ZINTERCARD 1 key [LIMIT small]
2 ZINTERCARD 2 key key [LIMIT small]
3 ZUNIONSTORE key 2 key key [WEIGHTS factor factor] [AGGREGATE SUM|AGGREGATE MIN|AGGREGATE MAX]
3 ZINTERSTORE key 2 key key [WEIGHTS factor factor] [AGGREGATE SUM|AGGREGATE MIN|AGGREGATE MAX]
1 ZUNIONSTORE key 3 key key key [WEIGHTS factor factor factor]
1 ZINTERSTORE key 3 key key key [WEIGHTS factor factor factor]
2 ZDIFFSTORE key 2 key key
1 ZUNIONSTORE key small {key} [WEIGHTS factor factor] [word]
2 ZSCAN key 0 COUNT 100000 [MATCH pattern]
1 ZSCAN key cursor [COUNT small] [MATCH pattern]
3 CONFIG SET zset-max-listpack-entries entries
2 CONFIG SET zset-max-listpack-value length
1 CONFIG SET zset-max-ziplist-entries entries
`),
	"stream": grammarLines(`
12 XADD skey newid {few val}
3 XADD skey newid {+ few val}
3 XADD skey newid f val
3 XADD skey [NOMKSTREAM] [MAXLEN small|MAXLEN = small|MINID id] newid f val
3 XADD skey MAXLEN ~ small [LIMIT small] newid f val
1 XADD skey [NOMKSTREAM] [MINID ~ id|MINID = id] [LIMIT small] newid f val
2 XADD skey id few val
1 XADD skey newid {val}
2 XLEN skey
3 XRANGE skey idmin idmin [COUNT small]
1 XRANGE skey - +
3 XREVRANGE skey idmin idmin [COUNT small]
3 XREAD [COUNT small] STREAMS skey id
2 XREAD [COUNT small] [BLOCK block] STREAMS skey skey id (id|$)
4 XDEL skey {id}
2 XTRIM skey (MAXLEN|MINID|MAX) [=] small
2 XTRIM skey MINID [=] id
2 XTRIM skey MAXLEN ~ small [LIMIT small]
1 XTRIM skey MINID ~ id [LIMIT small]
1 XSETID skey newid
1 XSETID skey newid
1 XSETID skey newid ENTRIESADDED total MAXDELETEDID id
2 XINFO STREAM skey
2 XINFO STREAM skey FULL [COUNT small]
2 XINFO GROUPS skey
2 XINFO CONSUMERS skey group
8 XGROUP CREATE skey group 0 MKSTREAM
4 XGROUP CREATE skey group (id|0|$|0|$) [MKSTREAM] [ENTRIESREAD total]
2 XGROUP SETID skey group (id|0|$) [ENTRIESREAD total]
1 XGROUP DESTROY skey group
3 XGROUP CREATECONSUMER skey group consumer
1 XGROUP DELCONSUMER skey group consumer
1 XGROUP word skey group
8 XREADGROUP GROUP group consumer [COUNT small] [NOACK] STREAMS skey >
2 XREADGROUP GROUP group consumer [COUNT small] STREAMS skey id
2 XREADGROUP GROUP group consumer [BLOCK block] STREAMS skey skey > >
4 XACK skey group {id}
2 XPENDING skey group
3 XPENDING skey group [IDLE idle] idmin idmin small [consumer]
3 XCLAIM skey group consumer idle {id} [JUSTID]
2 XCLAIM skey group consumer idle {id} [IDLE 100000|TIME atms] [RETRYCOUNT small] [FORCE] [JUSTID] [LASTID id]
3 XAUTOCLAIM skey group consumer idle idmin [COUNT small] [JUSTID]
3 CONFIG SET stream-node-max-entries entries
1 DEL skey
1 RENAME skey skey
2 COPY skey skey [REPLACE]
2 RESTORE skey 0 payload [REPLACE]
`),
	"bitmap": grammarLines(`
4 SET key val
2 SET key bits
8 SETBIT key bit (0|1|1|small)
4 GETBIT key bit
2 BITCOUNT key
3 BITCOUNT key index index
3 BITCOUNT key bitindex bitindex (BIT|BYTE|word)
2 BITPOS key (0|1|small)
2 BITPOS key (0|1) index
2 BITPOS key (0|1) index index
3 BITPOS key (0|1) bitindex bitindex (BIT|BYTE)
3 BITOP (AND|OR|XOR) key {key}
2 BITOP NOT key key
1 BITOP (NOT|word) key {key}
2 BITFIELD key {GET width bitat}
1 BITFIELD key {GET field fieldat}
3 BITFIELD key {SET width bitat num}
1 BITFIELD key {SET field fieldat int}
3 BITFIELD key [OVERFLOW WRAP|OVERFLOW SAT|OVERFLOW FAIL|OVERFLOW word] {INCRBY width bitat num}
2 BITFIELD key OVERFLOW (WRAP|SAT|FAIL) INCRBY width bitat int GET width bitat SET width bitat num
1 BITFIELD key
1 BITFIELD_RO key {GET width bitat}
1 BITFIELD_RO key SET field fieldat int
2 GET key
1 STRLEN key
1 APPEND key val
1 SETRANGE key offset val
1 INCR key
`),
	"hyperloglog": grammarLines(`
8 PFADD pfkey {mem}
5 PFADD pfkey {+ uniq}
3 PFADD pfkey {uniq}
2 PFADD pfkey
6 PFCOUNT {pfkey}
5 PFMERGE pfkey {pfkey}
1 PFMERGE pfkey
3 GET pfkey
1 STRLEN pfkey
1 SET pfkey (hll|val)
1 LPUSH pfkey few
1 GETRANGE pfkey 0 (15|3|100)
2 PFDEBUG ENCODING pfkey
2 PFDEBUG DECODE pfkey
1 PFDEBUG TODENSE pfkey
1 PFDEBUG GETREG pfkey
1 PFDEBUG word pfkey
3 CONFIG SET hll-sparse-max-bytes (0|20|100|300|3000|16000|-1)
2 DEL {pfkey}
1 RENAME pfkey pfkey
2 COPY pfkey pfkey [REPLACE]
1 DUMP pfkey
2 RESTORE pfkey 0 payload [REPLACE]
1 OBJECT ENCODING pfkey
`),
	"geo": grammarLines(`
8 GEOADD geokey {x y few}
2 GEOADD geokey {lon lat few}
3 GEOADD geokey [NX|XX] [CH] {x y few}
1 GEOADD geokey {+ x y mem}
3 GEOPOS geokey {few}
3 GEOHASH geokey {few}
4 GEODIST geokey few few [unit]
4 GEOSEARCH geokey FROMMEMBER few BYRADIUS radius unit [ASC|DESC] [WITHCOORD] [WITHDIST] [WITHHASH]
4 GEOSEARCH geokey FROMLONLAT x y BYRADIUS near KM [ASC|DESC] [COUNT small] [WITHDIST]
3 GEOSEARCH geokey FROMLONLAT x y BYBOX near near KM [ASC|DESC] [COUNT small ANY] [WITHDIST]
2 GEOSEARCH geokey [FROMLONLAT lon lat] BYBOX radius radius unit [BYRADIUS radius unit] [word]
3 GEOSEARCHSTORE geokey geokey FROMLONLAT x y BYRADIUS near KM [ASC|DESC]
2 GEOSEARCHSTORE geokey geokey FROMMEMBER few BYBOX radius radius unit [STOREDIST]
3 GEORADIUS geokey x y near KM [WITHDIST] [WITHCOORD] [ASC|DESC] [COUNT small]
2 GEORADIUS geokey x y near KM (STORE|STOREDIST) geokey
2 GEORADIUSBYMEMBER geokey few radius unit [WITHDIST] [WITHHASH] [ASC|DESC]
1 GEORADIUSBYMEMBER geokey few radius unit (STORE|STOREDIST) geokey
1 GEORADIUS_RO geokey lon lat radius unit [WITHDIST] [ASC|DESC] [STORE geokey]
1 GEORADIUSBYMEMBER_RO geokey few radius unit [WITHDIST] [ASC|DESC]
2 ZRANGE geokey 0 -1 WITHSCORES
1 ZREM geokey few
1 ZSCORE geokey few
2 CONFIG SET zset-max-listpack-entries entries
1 LPUSH geokey few
2 DEL {geokey}
1 RENAME geokey geokey
1 COPY geokey geokey [REPLACE]
1 OBJECT ENCODING geokey
`),
	"sort": grammarLines(`
6 RPUSH key {num}
2 RPUSH key {few}
3 SADD key {num}
1 SADD key {few}
3 ZADD key {level num}
1 LTRIM key 0 5
5 SET weightkey sortval
3 HSET weighthash f sortval
4 SORT key [LIMIT index index] [ASC|DESC] [ALPHA]
4 SORT key [ASC|DESC] [ALPHA] [STORE key]
5 SORT key BY by [LIMIT index index] [ASC|DESC] [ALPHA]
3 SORT key BY by [GET get] [GET get] [DESC] [ALPHA]
3 SORT key GET get [GET get] [ALPHA] [LIMIT index index]
2 SORT key BY by GET get [STORE key]
3 SORT_RO key [BY by] [GET get] [ALPHA] [DESC]
1 SORT_RO key STORE key
1 SORT key {get}
2 LRANGE key 0 -1
1 DEL weightkey
1 DEL weighthash
`),
}

// anyTypeGrammar is what a key of any type may meet.
var anyTypeGrammar = grammarLines(`
2 DEL {key}
1 UNLINK {key}
1 EXISTS {key}
1 TYPE key
4 OBJECT ENCODING key
1 MEMORY USAGE key
1 EXPIRE key sec
1 PERSIST key
2 TTL key
2 RENAME key key
1 RENAMENX key key
3 COPY key key [REPLACE]
1 GET key
1 SET key val
1 LPUSH key few
1 SADD key few
1 HSET key few val
1 ZADD key level few
1 XADD key newid f val
2 DUMP key
3 RESTORE key 0 payload [REPLACE]
1 RESTORE key (0|1000000|4102444800000|int) payload [REPLACE] [ABSTTL] [IDLETIME small|FREQ small]
1 RESTORE key 0 val
1 SCAN 0 COUNT 100000 [TYPE type]
1 KEYS pattern
`)

// grammarOf returns the lines of one type with those for any, or everything if
// the type is "mixed".
func grammarOf(typ string) []string {
	switch typ {
	case "string":
		return generalGrammar
	case "mixed":
		lines := slices.Concat(generalGrammar, anyTypeGrammar)
		for _, name := range slices.Sorted(maps.Keys(typeGrammars)) {
			lines = append(lines, typeGrammars[name]...)
		}
		return lines
	default:
		return slices.Concat(typeGrammars[typ], anyTypeGrammar)
	}
}

// numbered makes the words prefix0, prefix1 ….
func numbered(prefix string, n int) []string {
	words := make([]string, n)
	for i := range words {
		words[i] = prefix + strconv.Itoa(i)
	}
	return words
}

// typeKinds are the kinds of words that only the grammars of the types have.
func typeKinds() map[string][]string {
	hostile := []string{"", "0", "-1", "-0", "007", " 1", "1.5", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
		"bin\x00\xff\r\n", strings.Repeat("x", 63), strings.Repeat("y", 64), strings.Repeat("z", 65), strings.Repeat("ab", 200),
		strings.Repeat("w", 4096), "32767", "32768", "-32769", "2147483648", "-2147483649"}
	return map[string][]string{
		"few":  {"a", "b", "c", "d", "e0", "e1", "1", "2", "-3", "40000", "", strings.Repeat("y", 65)},
		"mem":  slices.Concat(hostile, numbered("e", 120), numbered("", 60)),
		"num":  slices.Concat(numbered("", 80), numbered("-", 40), []string{"32767", "32768", "-32769", "2147483647", "2147483648", "-2147483649", "9223372036854775807", "-9223372036854775808"}),
		"uniq": numbered("u", 5000),
		// What divides evenly into halves, so that sums do not depend on their order.
		"score":  {"0", "1", "-1", "2", "3", "5", "10", "0.5", "-0.5", "2.25", "1e3", "100", "-100", "1e17", "inf", "-inf", "+inf", "-0", "nan", "abc", "", "0x10", " 1", "3.25", "17", "42", "4611686018427387904"},
		"level":  {"0", "1", "-1", "2", "3", "5", "10", "0.5", "-0.5", "2.25", "1e3", "100", "-100", "1e17", "inf", "-inf", "17", "42"},
		"factor": {"1", "2", "0", "-1", "0.5", "inf", "3", "10", "1", "nan"},
		"weight": {"1", "2", "0", "-1", "0.5", "inf", "-inf", "nan", "abc", "3", "10"},
		"smin":   {"-inf", "+inf", "inf", "0", "1", "(1", "5", "(5", "(0.5", "10", "100", "-1", "(-1", "(inf", "(-inf", "nan", "abc", "", "(", "(abc"},
		"lex":    {"-", "+", "[a", "(a", "[e1", "(e1", "[e50", "(e99", "[", "(", "[1", "(5", "", "a", "[\xff", "[c"},
		"lexkey": {"lex1", "lex2"},
		"count":  {"1", "2", "-1", "-5", "10", "1000", "10000", "-100", "0", "abc", "9223372036854775807", "-9223372036854775808"},
		// Which of two errors a time out of range is, differs from 7.0 to 7.2.
		"timeout": {"0.001", "0.002", "0.001", "0.0005", "0.003", "-1", "abc", "", "nan"},
		"block":   {"1", "2", "-1", "abc"},
		"entries": {"0", "1", "2", "4", "8", "16", "32", "128", "512", "512", "-1", "abc"},
		"length":  {"0", "1", "4", "64", "64", "65", "1000", "-1", "abc"},
		// 0 and sizes below -5 are left to the types' own tests.
		"listsize": {"-1", "-2", "-3", "-4", "-5", "1", "2", "4", "16", "128", "abc"},
		"skey":     {"s1", "s1", "s1", "s2", "s2", "s3", "a"},
		"group":    {"g1", "g1", "g1", "g1", "g1", "g2", "g2", "nogroup", ""},
		"total":    {"0", "1", "2", "5", "100", "-1", "-2", "abc"},
		"consumer": {"c1", "c2", "c3"},
		"idle":     {"0", "0", "0", "99999999999", "-1", "abc"},
		"bit":      slices.Concat(numbered("", 40), []string{"100", "1000", "8191", "4294967295", "4294967296", "-1", "abc", "", "1.5"}),
		"bits":     {"\xff\xff\xff", "\x00\x00\x01", "\x80", "\x00", strings.Repeat("\xff", 40), strings.Repeat("\x00", 40) + "\x01", "\x55\xaa"},
		"bitindex": append([]string{"8", "9", "15", "-9", "63", "64", "65", "-64"}, generalKinds["index"]...),
		"width":    {"u1", "u2", "u4", "u7", "u8", "u16", "u32", "u63", "i1", "i2", "i5", "i8", "i16", "i33", "i63", "i64"},
		"bitat":    {"0", "1", "3", "7", "8", "15", "64", "100", "#0", "#1", "#2", "#5"},
		"position": {"0", "1", "-1", "2", "-2"},
		"field":    {"u1", "u2", "u4", "u7", "u8", "u16", "u32", "u63", "u64", "i1", "i2", "i5", "i8", "i16", "i33", "i63", "i64", "i65", "u0", "i0", "x8", "8", "", "u", "i-1"},
		"fieldat":  {"0", "1", "3", "7", "8", "15", "64", "100", "#0", "#1", "#2", "#5", "#", "-1", "#-1", "abc", "", "4294967296", "9223372036854775807", "#9223372036854775807"},
		// What is in these keys is never edited: Redis finds out that a sparse one is
		// corrupt when it gets there, we do at once.
		"pfkey": {"pf1", "pf2", "pf3"},
		"hll": {"HYLL", "HYLL\x00\x00\x00\x00", "HYLL\x00" + strings.Repeat("\x00", 11), "HYLL\x02" + strings.Repeat("\x00", 11) + "\x7f\xff",
			"HYLM\x01" + strings.Repeat("\x00", 11) + "\x7f\xff", "HYLL\x01" + strings.Repeat("\x00", 10) + "\x80\x7f\xff"},
		// Scores that are no places are as undefined as what is near the poles and the date
		// line in Redis.
		"geokey":     {"geo1", "geo2", "geo3"},
		"x":          {"13.361389", "15.087269", "2.349014", "-122.4194", "0", "150", "-150", "45.5", "13.5", "-0.1", "100.25", "-70", "14"},
		"y":          {"38.115556", "37.502669", "48.864716", "37.7749", "0", "60", "-60", "45.5", "-0.1", "12.75", "-30", "37.9", "37"},
		"near":       {"1", "100", "200", "1000", "2000", "300.5"},
		"lon":        {"13.361389", "15.087269", "2.349014", "-122.4194", "0", "150", "-150", "180.1", "-181", "45.5", "13.5", "-0.1", "abc", "nan", "100.25", "-70", "14"},
		"lat":        {"38.115556", "37.502669", "48.864716", "37.7749", "0", "60", "-60", "85.06", "-86", "45.5", "-0.1", "abc", "12.75", "-30", "37.9", "37"},
		"radius":     {"1", "100", "200", "1000", "1500", "0", "0.5", "-1", "abc", "500.5", "2000"},
		"unit":       {"m", "km", "ft", "mi", "KM", "km", "km", "parsec"},
		"sortval":    {"1", "2", "3", "10", "-5", "0.5", "1e2", "abc", "", "inf"},
		"weightkey":  append(numbered("w_", 12), "w_-3", "w_a"),
		"by":         {"w_*", "h_*->f", "w_*", "h_*->f", "nosort", "w_1", "*", "h_*->", "h_*->g", "x->", "->f"},
		"get":        {"#", "w_*", "h_*->f", "h_*->g", "*", "w_1", "h_*->", "nokey_*"},
		"weighthash": append(numbered("h_", 12), "h_-3"),
	}
}

// made returns words that depend on what was made before.
func (s *commandStream) made(word string) (string, bool) {
	switch word {
	case "payload":
		if len(s.payloads) == 0 {
			return "", true
		}
		return s.payloads[s.r.IntN(len(s.payloads))], true
	case "newid":
		s.lastID += s.r.IntN(4)
		return s.entryID(s.lastID, "-*"), true
	case "id", "idmin":
		hostile := []string{"0", "0-0", "-", "+", "(0", "abc", "", "1-1-1", "1-", "18446744073709551615-18446744073709551615",
			"18446744073709551616-0", "-1", "18446744073709551615", "99999-0"}
		if word == "id" && s.r.IntN(8) == 0 || word == "idmin" && s.r.IntN(3) == 0 {
			return hostile[s.r.IntN(len(hostile))], true
		}
		id := s.entryID(max(0, s.lastID-s.r.IntN(30)), "")
		if word == "idmin" && s.r.IntN(4) == 0 {
			id = "(" + id
		}
		return id, true
	}
	return "", false
}

// entryID writes an ID of a stream entry: whole, or of the milliseconds alone,
// or with a sequence number that the server is to choose.
func (s *commandStream) entryID(ms int, chosen string) string {
	switch s.r.IntN(6) {
	case 0:
		return strconv.Itoa(ms)
	case 1:
		return strconv.Itoa(ms) + chosen
	default:
		return fmt.Sprintf("%d-%d", ms, s.r.IntN(5))
	}
}

// before returns what a command needs so that both servers agree on what
// follows. In Redis 7.0 a consumer that gets nothing is not made, in 7.2 it is. Most
// consumers find their group.
func (s *commandStream) before(args []string) [][]string {
	var keys []string
	group := 2
	switch commandName(args, 1) {
	case "SORT", "SORT_RO":
		// Redis 7.0 takes numbers for wrong if errno still says so of another command's.
		return [][]string{{"ZADD", "no such key", "XX", "0.5", "clears errno"}}
	case "XCLAIM", "XAUTOCLAIM":
		if len(args) > 3 {
			keys = args[1:2]
		}
	case "XREADGROUP":
		if at := slices.IndexFunc(args, func(a string) bool { return strings.EqualFold(a, "STREAMS") }); at > 3 {
			keys = args[at+1 : at+1+(len(args)-at-1)/2]
		}
	}
	var commands [][]string
	for _, key := range keys {
		if s.r.IntN(3) > 0 {
			commands = append(commands, []string{"XGROUP", "CREATE", key, args[group], "0", "MKSTREAM"})
		}
		commands = append(commands, []string{"XGROUP", "CREATECONSUMER", key, args[group], args[group+1]})
	}
	return commands
}

// blocksLong finds commands that might wait, and not just for a moment.
func blocksLong(args []string) bool {
	timeout := len(args) - 1
	switch commandName(args, 1) {
	case "BLPOP", "BRPOP", "BLMOVE", "BRPOPLPUSH", "BZPOPMIN", "BZPOPMAX":
	case "BLMPOP", "BZMPOP":
		timeout = min(1, timeout)
	case "XREAD", "XREADGROUP":
		for i, a := range args[:timeout] {
			if strings.EqualFold(a, "BLOCK") && !slices.Contains(kinds["block"], args[i+1]) {
				return true
			}
		}
		return false
	default:
		return false
	}
	return !slices.Contains(kinds["timeout"], args[timeout])
}

// idlesShort finds claims of entries whose time without an answer decides, and is
// neither nothing nor long.
func idlesShort(args []string) bool {
	at := 4
	switch commandName(args, 1) {
	case "XPENDING":
		if len(args) < 4 || !strings.EqualFold(args[3], "IDLE") {
			return false
		}
	case "XCLAIM", "XAUTOCLAIM":
	default:
		return false
	}
	if len(args) <= at {
		return false
	}
	n, err := strconv.ParseInt(args[at], 10, 64)
	return err == nil && n > 0 && n < 1_000_000_000
}

// typeOutOfScope finds commands on collections whose answer is random or decided
// by the clock, and those whose form is newer than the peer.
func typeOutOfScope(args []string) bool {
	switch commandName(args, 1) {
	case "CONFIG": // of no bytes Redis makes 0 bytes
		return hasWord(args, "SET") && slices.Contains(args, "")
	case "LREM", "LPOS": // refused since 7.2
		return slices.Contains(args, "-9223372036854775808")
	case "HRANDFIELD", "SRANDMEMBER", "ZRANDMEMBER": // Redis never comes back from very many
		return slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") && len(a) > 6 })
	case "XADD":
		return slices.Contains(args, "*")
	case "XREAD", "XREADGROUP": // the last entry, since 7.4
		return slices.Contains(args, "+")
	case "ZRANK", "ZREVRANK": // with WITHSCORE since 7.2
		return len(args) > 3
	case "ZADD", "ZINCRBY":
		return spoilsLexicalOrder(args)
	case "SORT":
		return storesAnyOrder(args)
	case "GEOSEARCHSTORE", "GEORADIUS", "GEORADIUSBYMEMBER": // of equal distances, any
		return hasWord(args, "COUNT") && (strings.HasSuffix(commandName(args, 1), "STORE") || hasWord(args, "STORE") || hasWord(args, "STOREDIST"))
	case "PFSELFTEST":
		return true
	}
	return false
}

// spoilsLexicalOrder finds scores other than 0 in the keys that are asked for
// ranges of names: what such a range is with different scores, nobody promises.
func spoilsLexicalOrder(args []string) bool {
	if len(args) < 3 || !slices.Contains(kinds["lexkey"], args[1]) {
		return false
	}
	for i := 2; i < len(args); i += 2 {
		if args[i] != "0" {
			return true
		}
	}
	return false
}

// storesAnyOrder finds a SORT that keeps a result in which the order of some
// elements is left open.
func storesAnyOrder(args []string) bool {
	return hasWord(args, "BY") && hasWord(args, "STORE") && (hasWord(args, "ALPHA") || hasWord(args, "LIMIT"))
}

// hasWord reports whether an option was given, in any case of letters.
func hasWord(args []string, word string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return strings.EqualFold(a, word) })
}
