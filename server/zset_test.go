package server

import (
	"bytes"
	"math"
	"testing"

	"kvserver/store"
)

// TestParseScoreEnd: what redis-server 7.0 takes for an end of a range of scores, tried by hand.
func TestParseScoreEnd(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		arg   string
		score float64
		open  bool
	}{
		{"1", 1, false}, {"(1", 1, true}, {"-1.5e2", -150, false}, {"inf", inf, false}, {"(-inf", -inf, true}, {"+inf", inf, false},
		{"INFINITY", inf, false}, {"", 0, false}, {"(", 0, true}, {" 1", 1, false}, {"( 1", 1, true}, {"\t\n1", 1, false},
		{"1e400", inf, false}, {"(-1e400", -inf, true}, {"1e-400", 0, false}, {"0x10", 16, false}, {"1\x00rest", 1, false}, {"\x00", 0, false},
		{".5", .5, false}, {"5.", 5, false},
	} {
		score, open, ok := parseScoreEnd([]byte(c.arg))
		if score != c.score || open != c.open || !ok {
			t.Errorf("%q: %v, %v, %v", c.arg, score, open, ok)
		}
	}
	for _, arg := range []string{"x", "(x", "nan", "(nan", "1 ", " ", "((1", "[1", "1_0", "0x", "1e", "--1", ".", "1y"} {
		if score, _, ok := parseScoreEnd([]byte(arg)); ok {
			t.Errorf("%q is taken for %v", arg, score)
		}
	}
}

func FuzzParseScoreEnd(f *testing.F) {
	for _, seed := range []string{"", "(", "1", "(1.5", "-inf", "1e400", "0x1p3", " 7", "1\x00", "nan"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, arg []byte) {
		score, _, ok := parseScoreEnd(arg)
		if math.IsNaN(score) {
			t.Fatalf("%q is not a number", arg)
		}
		if want, whole := store.ParseDouble(arg); whole && (!ok || score != want) {
			t.Fatalf("%q: %v, %v, want %v", arg, score, ok, want)
		}
	})
}

func FuzzParseLexEnd(f *testing.F) {
	for _, seed := range []string{"", "-", "+", "[", "(", "[a", "(a", "+x", "-\x00x", "a"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, arg []byte) {
		end, ok := parseLexEnd(arg)
		if !ok {
			return
		}
		if end.Infinite == 0 && !bytes.Equal(end.Member, arg[1:]) || end.Infinite != 0 && end.Member != nil {
			t.Fatalf("%q: %+v", arg, end)
		}
	})
}

// FuzzSortedSets runs any arguments through the commands on sorted sets, in both encodings; whatever is refused must have
// changed nothing.
func FuzzSortedSets(f *testing.F) {
	s := newTestServer(f, "--zset-max-listpack-entries", "4")
	c := newTestClient(f, s)
	f.Add(uint8(3), []byte("z 1 a 2 b 3 c"))
	f.Add(uint8(18), []byte("z 0 -1 WITHSCORES"))
	f.Add(uint8(18), []byte("z (1 +inf BYSCORE LIMIT 0 1"))
	f.Add(uint8(13), []byte("2 z y MIN COUNT 3"))
	f.Add(uint8(33), []byte("2 z y WEIGHTS 1 2 AGGREGATE MAX"))
	f.Fuzz(func(t *testing.T, row uint8, text []byte) {
		do(c, "FLUSHALL")
		do(c, "ZADD", "z", "1", "a", "2", "b")
		do(c, "ZADD", "y", "1", "a", "2", "b", "3", "c", "4", "d", "5", "e")
		before := do(c, "ZRANGE", "z", "0", "-1", "WITHSCORES") + do(c, "ZRANGE", "y", "0", "-1", "WITHSCORES") + do(c, "DBSIZE")
		name := zsetRows[int(row)%len(zsetRows)].name
		if name[0] == 'b' {
			return // it might wait
		}
		args := []string{name}
		for _, arg := range bytes.Split(text, []byte{' '}) {
			args = append(args, string(arg))
		}
		reply := do(c, args...)
		after := do(c, "ZRANGE", "z", "0", "-1", "WITHSCORES") + do(c, "ZRANGE", "y", "0", "-1", "WITHSCORES") + do(c, "DBSIZE")
		if reply == "" {
			t.Fatalf("%q: no reply", args)
		}
		if reply[0] == '-' && after != before {
			t.Fatalf("%q was refused with %q and changed something: %q, before %q", args, reply, after, before)
		}
	})
}
