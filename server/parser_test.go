package server

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

var testLimits = limits{bulkBytesMax: 512 << 20, argsMax: argsMax}

// feedAll gives in to a parser in pieces that end at the cuts, keeping what was not used as a transport does, and
// returns a line per frame, ending with the protocol error if there was one.
func feedAll(in []byte, cuts []int, lim limits) []string {
	var p parser
	p.reset()
	var frames []string
	var pending []byte
	from := 0
	for _, to := range append(slices.Clone(cuts), len(in)) {
		pending = append(pending, in[from:to]...)
		from = to
		for {
			args, used, _, err := p.next(pending, nil, lim)
			if err == errNeedMore {
				break
			}
			if err != nil {
				return append(frames, "error: "+err.Error())
			}
			if len(args) > 0 {
				frames = append(frames, fmt.Sprintf("%q", args))
			}
			// A copy with no room behind it: reading past the end would panic.
			pending = slices.Clip(bytes.Clone(pending[used:]))
		}
	}
	return frames
}

func TestParserFrames(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"*1\r\n$4\r\nPING\r\n", `["PING"]`},
		{"*2\r\n$3\r\nGET\r\n$0\r\n\r\n", `["GET" ""]`},
		{"*0\r\nPING\r\n", `["PING"]`},
		{"*-1\r\n*1\r\n$1\r\nX\r\n", `["X"]`},
		{"\r\n\nPING\n", `["PING"]`},
		{"SET k \"a\\x41\\n\\\"b\" 'it\\'s'\r\n", `["SET" "k" "aA\n\"b" "it's"]`},
		{"  GET\t k  \r\n", `["GET" "k"]`},
		{"GET \"\"\r\n", `["GET" ""]`},
		{"GET \"open\r\n", "error: unbalanced quotes in request"},
		{"GET \"a\"b\r\n", "error: unbalanced quotes in request"},
		{"*1\r\n$-1000000\r\n", "error: invalid bulk length"},
		{"*1\r\n$-2\r\n", "error: invalid bulk length"},
		{"*1\r\n$9223372036854775806\r\nAB", "error: invalid bulk length"},
		{"*1\r\n$99999999999999999999\r\n", "error: invalid bulk length"},
		{"*1\r\n$536870913\r\n", "error: invalid bulk length"},
		{"*1\r\n$01\r\n", "error: invalid bulk length"},
		{"*1\r\n$+1\r\n", "error: invalid bulk length"},
		{"*4000000000\r\n", "error: invalid multibulk length"},
		{"*x\r\n", "error: invalid multibulk length"},
		{"*\r\n", "error: invalid multibulk length"},
		{"*1\r\nPING\r\n", "error: expected '$', got 'P'"},
		{"*1\r\n\r\n", "error: expected '$', got '\r'"},
		{strings.Repeat("a", 65537), "error: too big inline request"},
		{"*" + strings.Repeat("1", 70000), "error: too big mbulk count string"},
		{"*1\r\n$" + strings.Repeat("1", 70000), "error: too big bulk count string"},
		{"*2147483647\r\n", ""},
		{"*3\r\n$3\r\nSET\r\n$1\r\n", ""},
	} {
		if got := strings.Join(feedAll([]byte(tc.in), nil, testLimits), " "); got != tc.want {
			t.Errorf("%.60q: got %s, want %s", tc.in, got, tc.want)
		}
	}
}

func TestParserUnauthenticatedLimits(t *testing.T) {
	lim := testLimits
	lim.unauth = true
	for _, tc := range []struct{ in, want string }{
		{"*11\r\n", "error: unauthenticated multibulk length"},
		{"*2\r\n$4\r\nAUTH\r\n$16385\r\n", "error: unauthenticated bulk length"},
		{"*2\r\n$4\r\nAUTH\r\n$1\r\nx\r\n", `["AUTH" "x"]`},
	} {
		if got := strings.Join(feedAll([]byte(tc.in), nil, lim), " "); got != tc.want {
			t.Errorf("%q: got %s, want %s", tc.in, got, tc.want)
		}
	}
}

// A frame means the same however its bytes arrive.
func TestParserEveryCut(t *testing.T) {
	in := []byte("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nhello\r\nGET 'k'\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n$-1\r\n")
	want := feedAll(in, nil, testLimits)
	for cut := range in {
		if got := feedAll(in, []int{cut}, testLimits); !slices.Equal(got, want) {
			t.Fatalf("cut at %d: got %v, want %v", cut, got, want)
		}
	}
	each := make([]int, len(in))
	for i := range each {
		each[i] = i
	}
	if got := feedAll(in, each, testLimits); !slices.Equal(got, want) {
		t.Fatalf("byte by byte: got %v, want %v", got, want)
	}
}

// need lets the transport wait for a whole argument: it must be what is missing, never more.
func TestParserNeed(t *testing.T) {
	var p parser
	p.reset()
	_, _, need, err := p.next([]byte("*2\r\n$3\r\nGET\r\n$1000\r\nabc"), nil, testLimits)
	if err != errNeedMore || need != 1000-3+2 {
		t.Fatalf("need = %d, err = %v; want %d and errNeedMore", need, err, 999)
	}
}

// A huge count must not make the parser allocate for arguments that have not come.
func TestParserHugeCountAllocatesNothing(t *testing.T) {
	var p parser
	in := []byte("*2147483647\r\n")
	n := testing.AllocsPerRun(100, func() {
		p.reset()
		if _, _, _, err := p.next(in, nil, testLimits); err != errNeedMore {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

// parseInt takes exactly the decimal form that prints back the same.
func TestParseInt(t *testing.T) {
	for _, tc := range []struct {
		in string
		n  int64
		ok bool
	}{
		{"0", 0, true}, {"-0", 0, false}, {"00", 0, false}, {"1", 1, true}, {"-1", -1, true}, {"+1", 0, false},
		{"9223372036854775807", 1<<63 - 1, true}, {"9223372036854775808", 0, false},
		{"-9223372036854775808", -1 << 63, true}, {"-9223372036854775809", 0, false},
		{"18446744073709551616", 0, false}, {"99999999999999999999", 0, false}, {"-99999999999999999999", 0, false},
		{"", 0, false}, {"-", 0, false}, {" 1", 0, false}, {"1 ", 0, false}, {"1a", 0, false}, {"0x1", 0, false},
	} {
		if n, ok := parseInt([]byte(tc.in)); ok != tc.ok || ok && n != tc.n {
			t.Errorf("%q: got %d, %v", tc.in, n, ok)
		}
	}
}

func FuzzParser(f *testing.F) {
	for _, s := range []string{
		"*1\r\n$4\r\nPING\r\n", "*1\r\n$9223372036854775806\r\nAB", "*1\r\n$-1000000\r\n", "*4000000000\r\n",
		"*2147483647\r\n", "SET k \"a\\x\"\r\n", "*0\r\n", "$5 hello\r\n", "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nhello\r\n",
	} {
		f.Add([]byte(s), uint16(3), uint16(7))
	}
	f.Fuzz(func(t *testing.T, in []byte, a, b uint16) {
		want := feedAll(in, nil, testLimits)
		cuts := []int{int(a) % (len(in) + 1), int(b) % (len(in) + 1)}
		slices.Sort(cuts)
		if got := feedAll(in, cuts, testLimits); !slices.Equal(got, want) {
			t.Fatalf("%q cut at %v: got %q, want %q", in, cuts, got, want)
		}
	})
}

func BenchmarkParser(b *testing.B) {
	in := bytes.Repeat([]byte("*3\r\n$3\r\nSET\r\n$16\r\nkey:000000000001\r\n$64\r\n"+strings.Repeat("x", 64)+"\r\n"), 16)
	var p parser
	p.reset()
	args := make([][]byte, 0, 8)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		for rest := in; len(rest) > 0; {
			_, used, _, err := p.next(rest, args[:0], testLimits)
			if err != nil && !errors.Is(err, errNeedMore) {
				b.Fatal(err)
			}
			rest = rest[used:]
		}
	}
}
