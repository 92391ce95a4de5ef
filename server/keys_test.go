package server

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kvserver/hotkeys"
	"kvserver/store"
)

// keyReplies are what Redis 7.0 answers to these commands, one after the other.
var keyReplies = []struct{ command, want string }{
	{"COPY a b DB 9999999999", "-ERR value is out of range, value must between -2147483648 and 2147483647\r\n"},
	{"COPY a a DB 16 x", "-ERR DB index is out of range\r\n"},
	{"COPY a a x", "-ERR syntax error\r\n"},
	{"MOVE a -1", "-ERR DB index is out of range\r\n"},
	{"MOVE a 2147483648", "-ERR value is out of range, value must between -2147483648 and 2147483647\r\n"},
	{"MOVE a 01", "-ERR value is not an integer or out of range\r\n"},
	{"MOVE a 0", "-ERR source and destination objects are the same\r\n"},
	{"RENAME a a", "-ERR no such key\r\n"},
	{"RENAMENX a b", "-ERR no such key\r\n"},
	{"SET a v EXAT 4102444800", "+OK\r\n"},
	{"TYPE a", "+string\r\n"},
	{"MOVE a 1", ":1\r\n"},
	{"EXISTS a", ":0\r\n"},
	{"SELECT 1", "+OK\r\n"},
	{"EXISTS a a nosuch", ":2\r\n"},
	{"PEXPIRETIME a", ":4102444800000\r\n"},
	{"COPY a a DB 0", ":1\r\n"},
	{"COPY a a DB 0", ":0\r\n"},
	{"UNLINK a a", ":1\r\n"},
	{"SELECT 0", "+OK\r\n"},
	{"EXPIRETIME a", ":4102444800\r\n"},
	{"RENAME a b", "+OK\r\n"},
	{"RENAME b b", "+OK\r\n"},
	{"RENAMENX b b", ":0\r\n"},
	{"EXPIRETIME b", ":4102444800\r\n"},
	{"PERSIST b", ":1\r\n"},
	{"PERSIST b", ":0\r\n"},
	{"TTL b", ":-1\r\n"},
	{"PTTL a", ":-2\r\n"},
	{"TYPE a", "+none\r\n"},
	{"RANDOMKEY", "$1\r\nb\r\n"},
	{"KEYS [a-b]", "*1\r\n$1\r\nb\r\n"},
	{"KEYS [^b]", "*0\r\n"},
	{"SCAN 0 MATCH b COUNT 100 TYPE String", "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nb\r\n"},
	{"SCAN 0 TYPE nosuch COUNT 100", "*2\r\n$1\r\n0\r\n*0\r\n"},
	{"SCAN 0 COUNT 9223372036854775807", "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nb\r\n"},
	{"SCAN 18446744073709551616", "-ERR invalid cursor\r\n"},
	{"SCAN x COUNT 0", "-ERR invalid cursor\r\n"},
	{"SCAN 0 COUNT 0", "-ERR syntax error\r\n"},
	{"SCAN 0 COUNT x", "-ERR value is not an integer or out of range\r\n"},
	{"SCAN 0 COUNT", "-ERR syntax error\r\n"},
	{"OBJECT ENCODING b", "$6\r\nembstr\r\n"},
	{"OBJECT REFCOUNT b", ":1\r\n"},
	{"MSET small 0 large 10000 minus -1", "+OK\r\n"},
	{"OBJECT REFCOUNT small", ":2147483647\r\n"},
	{"OBJECT REFCOUNT large", ":1\r\n"},
	{"OBJECT REFCOUNT minus", ":1\r\n"},
	{"INCRBY small 9999", ":9999\r\n"},
	{"OBJECT REFCOUNT small", ":2147483647\r\n"},
	{"DEL small large minus", ":3\r\n"},
	{"OBJECT FREQ nosuch", "$-1\r\n"},
	{"EXPIRE b 9223372036854775807", "-ERR invalid expire time in 'expire' command\r\n"},
	{"EXPIRE b -9223372036854775808", "-ERR invalid expire time in 'expire' command\r\n"},
	{"PEXPIRE b 9223372036854775807", "-ERR invalid expire time in 'pexpire' command\r\n"},
	{"EXPIREAT b 9223372036854776", "-ERR invalid expire time in 'expireat' command\r\n"},
	{"EXPIRE b x NX GT", "-ERR NX and XX, GT or LT options at the same time are not compatible\r\n"},
	{"EXPIRE b x LT GT XX", "-ERR GT and LT options at the same time are not compatible\r\n"},
	{"EXPIRE b 1 NX x", "-ERR Unsupported option x\r\n"},
	{"EXPIRE b x", "-ERR value is not an integer or out of range\r\n"},
	{"EXPIRE b 200 GT", ":0\r\n"},
	{"EXPIRE b 200 XX LT", ":0\r\n"},
	{"TTL b", ":-1\r\n"},
	{"EXPIRE b 300 LT", ":1\r\n"},
	{"EXPIRE b -1 GT", ":0\r\n"},
	{"EXPIRE b -1", ":1\r\n"},
	{"EXPIRE b -1", ":0\r\n"},
	{"RANDOMKEY", "$-1\r\n"},
	{"KEYS *", "*0\r\n"},
}

func TestKeyReplies(t *testing.T) {
	c := newTestClient(t, newTestServer(t))
	for _, test := range keyReplies {
		if got := do(c, strings.Fields(test.command)...); got != test.want {
			t.Errorf("%s\n got  %q\n want %q", test.command, got, test.want)
		}
	}
	p := startPeer(t)
	for _, test := range keyReplies {
		want := decoded(t, test.want)
		if got := p.do(strings.Fields(test.command)...); got.String() != want.String() {
			t.Errorf("%s: Redis answers %v, the table says %v", test.command, got, want)
		}
	}
}

// storeAt sets a key of database 0 as if it were nowMs, Unix time, with a deadline if that is not 0.
func storeAt(s *Server, nowMs int64, name string, expireAtMs int64) {
	key := []byte(name)
	v := s.store.NewView()
	v.Bind(0, nowMs, nil)
	v.LockKey(key, true)
	defer v.Unlock()
	v.Set(key, []byte("v"), store.SetOptions{ExpireAtMs: expireAtMs})
}

// trackAll records every access of the clients of s. The function that it returns ends a window and tells what was
// accessed in it, as "a=1 b@1=2", where @1 is a database other than 0.
func trackAll(t *testing.T, s *Server) (window func() string) {
	t.Helper()
	ns := int64(0)
	s.tracker = hotkeys.New(len(s.gate.slots), func() int64 { return ns }, 1)
	err := s.tracker.Configure(hotkeys.Options{TopK: 1000, Percentage: 100, Window: hotkeys.WindowMin})
	if err != nil {
		t.Fatal(err)
	}
	for i, sl := range s.gate.slots {
		sl.rec = s.tracker.Recorder(i)
	}
	return func() string {
		ns += int64(hotkeys.WindowMin)
		s.tracker.Rotate()
		list := []string{}
		for _, e := range s.tracker.Report(hotkeys.Query{DB: hotkeys.AllDBs}).Entries {
			at := ""
			if e.DB != 0 {
				at = "@" + strconv.Itoa(e.DB)
			}
			list = append(list, fmt.Sprintf("%s%s=%d", e.Key, at, e.Count))
		}
		slices.Sort(list)
		return strings.Join(list, " ")
	}
}

// TestKeyAccesses has every row starting with the key e expired, a and b stored.
func TestKeyAccesses(t *testing.T) {
	s := newTestServer(t)
	c := newTestClient(t, s)
	window := trackAll(t, s)
	for _, test := range []struct{ commands, want string }{
		{"EXISTS a a n", "a=2 n=1"},
		{"TOUCH a n", "a=1 n=1"},
		{"TYPE a; TTL a; PTTL n; EXPIRETIME a; PEXPIRETIME n; PERSIST a; PERSIST n", "a=4 n=3"},
		{"TYPE e; TTL e", "e=2"},
		{"DEL a n a", "a=1"},
		{"UNLINK n b", "b=1"},
		{"DEL e", ""},
		{"RENAME a n", "a=2 n=1"},
		{"RENAME a b", "a=2 b=2"},
		{"RENAME a e", "a=2 e=1"},
		{"RENAME a a", "a=1"},
		{"RENAME n a", "n=1"},
		{"RENAME e a", "e=1"},
		{"RENAMENX a n", "a=2 n=1"},
		{"RENAMENX a b", "a=1 b=1"},
		{"RENAMENX a a", "a=1"},
		{"COPY a n", "a=1 n=1"},
		{"COPY a b", "a=1 b=1"},
		{"COPY a b REPLACE", "a=1 b=2"},
		{"COPY a n REPLACE", "a=1 n=1"},
		{"COPY a e REPLACE", "a=1 e=1"},
		{"COPY n a", "n=1"},
		{"COPY a b DB 1", "a=1 b@1=1"},
		{"COPY a a DB 1 REPLACE", "a=1 a@1=1"},
		{"COPY a a", ""},
		{"COPY a b DB 16", ""},
		{"MOVE a 1", "a=2 a@1=1"},
		{"MOVE a 1; SET a v; MOVE a 1", "a=4 a@1=2"},
		{"MOVE n 1", "n=1"},
		{"MOVE e 1", "e=1"},
		{"MOVE a 0", ""},
		{"EXPIRE a 100; PEXPIRE a 100000 NX; EXPIREAT n 1; PEXPIREAT a 4102444800000 GT", "a=3 n=1"},
		{"EXPIRE a -1", "a=1"},
		{"EXPIRE a 100 x", ""},
		{"EXPIRE a x", ""},
		{"OBJECT ENCODING a; OBJECT FREQ a; OBJECT IDLETIME n; OBJECT REFCOUNT e", ""},
		{"KEYS *; SCAN 0 MATCH a; RANDOMKEY; DBSIZE", ""},
		{"MULTI; RENAME a n; EXISTS n; DEL a n; KEYS *; EXEC", "a=2 n=3"},
	} {
		do(c, "FLUSHALL")
		storeAt(s, 500, "e", 1000)
		do(c, "SET", "a", "1")
		do(c, "SET", "b", "1")
		window()
		for command := range strings.SplitSeq(test.commands, "; ") {
			do(c, strings.Fields(command)...)
		}
		if got := window(); got != test.want {
			t.Errorf("%s\n got  %s\n want %s", test.commands, got, test.want)
		}
	}
}

func TestExpiredKeyIsMissing(t *testing.T) {
	s := newTestServer(t)
	c := newTestClient(t, s)
	for command, want := range map[string]string{
		"EXISTS e": ":0\r\n", "TOUCH e": ":0\r\n", "TYPE e": "+none\r\n", "TTL e": ":-2\r\n", "DEL e": ":0\r\n",
		"PERSIST e": ":0\r\n", "EXPIRE e 100": ":0\r\n", "RENAME e n": "-ERR no such key\r\n", "COPY e n": ":0\r\n",
		"MOVE e 1": ":0\r\n", "RANDOMKEY": "$1\r\na\r\n", "KEYS *": "*1\r\n$1\r\na\r\n", "RENAMENX a e": ":1\r\n",
		"COPY a e": ":1\r\n", "OBJECT ENCODING e": "$-1\r\n", "SCAN 0": "*2\r\n$1\r\n0\r\n*1\r\n$1\r\na\r\n",
	} {
		do(c, "FLUSHALL")
		storeAt(s, 500, "e", 1000)
		do(c, "SET", "a", "1")
		if got := do(c, strings.Fields(command)...); got != want {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
	}
}

// What asks about a key is no use of it, and CLIENT NO-TOUCH makes GET one of those, but not TOUCH.
func TestIdleTime(t *testing.T) {
	const idleSeconds = 1000
	s := newTestServer(t)
	c := newTestClient(t, s)
	idle := func() bool {
		n, err := strconv.Atoi(strings.Trim(do(c, "OBJECT", "IDLETIME", "a"), ":\r\n"))
		if err != nil {
			t.Fatal(err)
		}
		return n >= idleSeconds
	}
	for _, test := range []struct {
		commands string
		idle     bool
	}{
		{"TTL a; TYPE a; EXISTS a; OBJECT ENCODING a; SCAN 0; KEYS *; RANDOMKEY; COMMAND GETKEYS GET a", true},
		{"GET a", false},
		{"TOUCH a", false},
		{"COPY a b", false},
		{"CLIENT NO-TOUCH ON; GET a; COPY a b; RENAME a b; RENAME b a", true},
		{"CLIENT NO-TOUCH ON; TOUCH a", false},
	} {
		storeAt(s, time.Now().Add(-idleSeconds*time.Second).UnixMilli(), "a", 0)
		do(c, "CLIENT", "NO-TOUCH", "OFF")
		for command := range strings.SplitSeq(test.commands, "; ") {
			do(c, strings.Fields(command)...)
		}
		if got := idle(); got != test.idle {
			t.Errorf("%s: idle is %v", test.commands, got)
		}
		do(c, "FLUSHALL")
	}
}

// scanned returns the keys that a whole scan returns, and its calls. It fails if one comes twice.
func scanned(t *testing.T, c *client, options ...string) (keys map[string]bool, calls int) {
	t.Helper()
	keys = map[string]bool{}
	cursor := "0"
	for calls == 0 || cursor != "0" {
		r := decoded(t, do(c, append([]string{"SCAN", cursor}, options...)...))
		cursor = r.items[0].text
		for _, key := range r.items[1].items {
			if keys[key.text] {
				t.Fatalf("%s was returned twice", key.text)
			}
			keys[key.text] = true
		}
		calls++
	}
	return keys, calls
}

func TestScanReturnsAll(t *testing.T) {
	const keys = 3000
	s := newTestServer(t)
	c := newTestClient(t, s)
	all := map[string]bool{}
	for i := range keys {
		key := fmt.Sprintf("key:%d", i)
		do(c, "SET", key, "v")
		all[key] = true
	}
	// How many buckets hold the keys depends on the seed of their hashes, but a bucket returns no more than some twenty.
	const bucketKeysMax = 25
	for _, test := range []struct {
		options  []string
		callsMin int
		callsMax int
	}{
		{nil, keys / (scanCountDefault + bucketKeysMax), keys/scanCountDefault + 1},
		{[]string{"COUNT", "1"}, keys / bucketKeysMax, keys + 1},
		{[]string{"COUNT", "1000"}, 3, 4},
		{[]string{"COUNT", "9223372036854775807", "TYPE", "string"}, 1, 1},
		{[]string{"MATCH", "key:*"}, keys / (scanCountDefault + bucketKeysMax), keys/scanCountDefault + 1},
	} {
		got, calls := scanned(t, c, test.options...)
		if !maps.Equal(got, all) {
			t.Errorf("SCAN %q returns %d keys of %d", test.options, len(got), keys)
		}
		if calls < test.callsMin || calls > test.callsMax {
			t.Errorf("SCAN %q takes %d calls", test.options, calls)
		}
	}
	// Where nothing is found a call ends after ten times its COUNT, and a bucket.
	for _, options := range [][]string{{"MATCH", "nosuch*"}, {"TYPE", "list"}} {
		got, calls := scanned(t, c, options...)
		if len(got) != 0 || calls < keys/200 || calls > keys/100+1 {
			t.Errorf("SCAN %q returns %d keys in %d calls", options, len(got), calls)
		}
	}
	if got := decoded(t, do(c, "KEYS", "*")); len(got.items) != keys {
		t.Errorf("KEYS returns %d keys", len(got.items))
	}
	if got := decoded(t, do(c, "KEYS", "key:?[0-3]")); len(got.items) != 36 {
		t.Errorf("KEYS with a pattern returns %d keys, want 36", len(got.items))
	}
}

// Walks of the keyspace lock shard after shard, which must not meet the locks that EXEC holds.
func TestWalksInsideExec(t *testing.T) {
	c := newTestClient(t, newTestServer(t))
	const queued = "+QUEUED\r\n"
	for _, test := range []struct{ command, want string }{
		{"SET a 1", "+OK\r\n"},
		{"MULTI", "+OK\r\n"},
		{"RENAME a b", queued},
		{"SCAN 0", queued},
		{"RANDOMKEY", queued},
		{"KEYS *", queued},
		{"DBSIZE", queued},
		{"DEL b", queued},
		{"SCAN 0", queued},
		{"EXEC", "*7\r\n+OK\r\n*2\r\n$1\r\n0\r\n*1\r\n$1\r\nb\r\n$1\r\nb\r\n*1\r\n$1\r\nb\r\n:1\r\n:1\r\n*2\r\n$1\r\n0\r\n*0\r\n"},
	} {
		if got := do(c, strings.Fields(test.command)...); got != test.want {
			t.Fatalf("%s: got %q, want %q", test.command, got, test.want)
		}
	}
}

// The pattern would keep a matcher that tries all ways busy for longer than anyone waits.
func TestKeysWithManyStars(t *testing.T) {
	c := newTestClient(t, newTestServer(t))
	do(c, "SET", strings.Repeat("a", 1000), "v")
	if got := do(c, "KEYS", strings.Repeat("a*", 100)+"b"); got != "*0\r\n" {
		t.Errorf("got %q", got)
	}
}

func TestParseCursor(t *testing.T) {
	for text, want := range map[string]uint64{
		"": 0, "0": 0, "00": 0, "+0": 0, "-0": 0, "007": 7, "12": 12, "+5": 5, "-1": 1<<64 - 1, "-18446744073709551615": 1,
		"18446744073709551615": 1<<64 - 1, "12\x00x": 12, "\x00": 0,
	} {
		if got, ok := parseCursor([]byte(text)); !ok || got != want {
			t.Errorf("%q is read as %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{
		"-", "+", "+-1", "--1", "a", "1a", " 0", "0 ", "\t0", "0x0", "1_0", "1.0", "18446744073709551616", "-18446744073709551616",
		"1 \x00", "٣",
	} {
		if got, ok := parseCursor([]byte(text)); ok {
			t.Errorf("%q is read as %d", text, got)
		}
	}
}

func FuzzScanCursor(f *testing.F) {
	for _, seed := range []string{"0", "-1", "9007199254740991", "9007199254740992", "18446744073709551615", "12\x00x", "x"} {
		f.Add(seed)
	}
	c := newTestClient(f, newTestServer(f))
	for i := range 1000 {
		do(c, "SET", strconv.Itoa(i), "v")
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		raw := do(c, "SCAN", cursor)
		if raw == "-"+errInvalidCursor+"\r\n" {
			return
		}
		next, err := strconv.ParseUint(decoded(t, raw).items[0].text, 10, 64)
		if err != nil || next >= store.CursorEnd {
			t.Errorf("SCAN %q is followed by %d, %v", cursor, next, err)
		}
	})
}
