package rdb

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const bytesMax = 1 << 20

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestChecksum(t *testing.T) {
	if crc := Checksum(0, []byte("123456789")); crc != 0xe9c6d914c4b8d9ca {
		t.Errorf("Checksum is %x", crc)
	}
	if crc := Checksum(Checksum(0, []byte("1234")), []byte("56789")); crc != 0xe9c6d914c4b8d9ca {
		t.Errorf("Checksum in two parts is %x", crc)
	}
}

// stringPayloads are what DUMP of redis-server 7.0.15 gave for strings.
var stringPayloads = []struct{ text, payload string }{
	{"12", "00c00c 0a00 3c2af8515c04bcd5"},
	{"-3000", "00c148f4 0a00 6ec0b42314cd69f7"},
	{"100000", "00c2a0860100 0a00 f12403506f2fa674"},
	{"12345678901", "000b3132333435363738393031 0a00 304e52d727176510"},
	{"hi", "00026869 0a00 af6b9fe88e311b14"},
	{strings.Repeat("a", 40), "00c30928016161e01b00016161 0a00 cf092faaae25831d"},
}

func TestPayloads(t *testing.T) {
	for _, c := range stringPayloads {
		payload := unhex(t, c.payload)
		body, version, err := Open(payload)
		if err != nil || version != Version {
			t.Fatalf("%q: version %d, %v", c.text, version, err)
		}
		r := NewReader(body, bytesMax)
		if typ := r.Type(); typ != String {
			t.Errorf("%q: type %d", c.text, typ)
		}
		if s := r.String(); string(s) != c.text || r.Err() != nil || r.Rest() != 0 {
			t.Errorf("got %q, want %q; %v, %d bytes left", s, c.text, r.Err(), r.Rest())
		}
		// The compressor is another one, so only what is not compressed is the same.
		if sealed := Seal(AppendString([]byte{byte(String)}, []byte(c.text)), Version); len(c.text) < compressFrom && !bytes.Equal(sealed, payload) {
			t.Errorf("%q is written as %x", c.text, sealed)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	good := unhex(t, stringPayloads[0].payload)
	for n := range good {
		if _, _, err := Open(good[:n]); err != ErrFooter {
			t.Errorf("the first %d bytes: %v", n, err)
		}
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 4
		if _, _, err := Open(bad); err != ErrFooter {
			t.Errorf("byte %d changed: %v", i, err)
		}
	}
	for version, want := range map[uint16]error{0: nil, 1: nil, 12: nil, 13: ErrFooter, 79: ErrFooter, 80: nil, 81: ErrFooter, 65535: ErrFooter} {
		if _, _, err := Open(Seal([]byte{0, 0}, version)); err != want {
			t.Errorf("version %d: %v", version, err)
		}
	}
}

func TestLengths(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "00", 63: "3f", 64: "4040", 16383: "7fff", 16384: "8000004000", math.MaxUint32: "80ffffffff",
		math.MaxUint32 + 1: "810000000100000000", math.MaxUint64: "81ffffffffffffffff",
	} {
		b := AppendLength(nil, n)
		if hex.EncodeToString(b) != want {
			t.Errorf("%d is written as %x, want %s", n, b, want)
		}
		if r := NewReader(b, bytesMax); r.Length() != n || r.Err() != nil {
			t.Errorf("%x is not read as %d", b, n)
		}
		for cut := range b {
			if r := NewReader(b[:cut], bytesMax); r.Length() != 0 || r.Err() == nil {
				t.Errorf("%x is read as a length", b[:cut])
			}
		}
	}
	for _, bad := range []string{"82", "90", "c0", "c3", "ff"} {
		if r := NewReader(unhex(t, bad+"0000000000000000"), bytesMax); r.Length() != 0 || r.Err() == nil {
			t.Errorf("%s is read as a length", bad)
		}
	}
}

func TestReaderRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		bytes string
		read  func(r *Reader)
	}{
		"string cut":                  {"0568656c6c", func(r *Reader) { r.String() }},
		"string longer than allowed":  {"801000000000", func(r *Reader) { r.String() }},
		"string of 2^64-1":            {"81ffffffffffffffff00", func(r *Reader) { r.String() }},
		"integer cut":                 {"c201", func(r *Reader) { r.String() }},
		"unknown encoding":            {"c400", func(r *Reader) { r.String() }},
		"compressed, cut":             {"c309280161", func(r *Reader) { r.String() }},
		"compressed, too long":        {"c3058040000000" + "0061e01e00", func(r *Reader) { r.String() }},
		"compressed, too short":       {"c30527" + "0061e01e00", func(r *Reader) { r.String() }},
		"compressed, beyond the end":  {"c30529" + "0061e01e00", func(r *Reader) { r.String() }},
		"compressed, implausible":     {"c3008000040000", func(r *Reader) { r.String() }},
		"compressed, before the text": {"c3032a" + "e01e00", func(r *Reader) { r.String() }},
		"more elements than bytes":    {"050000", func(r *Reader) { r.Count(1) }},
		"2^64-1 elements":             {"81ffffffffffffffff", func(r *Reader) { r.Count(1) }},
		"double cut":                  {"00000000000000", func(r *Reader) { r.Double() }},
		"time cut":                    {"00000000000000", func(r *Reader) { r.Time() }},
		"score NaN":                   {"fd", func(r *Reader) { r.TextDouble() }},
		"score nan":                   {"036e616e", func(r *Reader) { r.TextDouble() }},
		"score empty":                 {"00", func(r *Reader) { r.TextDouble() }},
		"score cut":                   {"0531", func(r *Reader) { r.TextDouble() }},
		"node of unknown kind":        {"030161", func(r *Reader) { r.Node() }},
		"negative number of bytes":    {"00", func(r *Reader) { r.Bytes(-1) }},
	} {
		r := NewReader(unhex(t, c.bytes), bytesMax)
		if c.read(r); r.Err() == nil {
			t.Errorf("%s: not refused", name)
		}
		if r.Length() != 0 || r.String() != nil || r.Double() != 0 || r.Time() != 0 || r.Count(1) != 0 || r.TextDouble() != 0 {
			t.Errorf("%s: something is read after that", name)
		}
	}
}

func TestNumbers(t *testing.T) {
	b := AppendTime(AppendDouble(AppendDouble(nil, 1.5), math.Inf(-1)), -1)
	if hex.EncodeToString(b) != "000000000000f83f"+"000000000000f0ff"+"ffffffffffffffff" {
		t.Errorf("written as %x", b)
	}
	r := NewReader(b, bytesMax)
	if a, b, c := r.Double(), r.Double(), r.Time(); a != 1.5 || !math.IsInf(b, -1) || c != -1 || r.Err() != nil {
		t.Errorf("read as %v %v %v, %v", a, b, c, r.Err())
	}
	r = NewReader(unhex(t, "0433 2e35 30 fe ff 04 2d316533"), bytesMax)
	if a, b, c, d := r.TextDouble(), r.TextDouble(), r.TextDouble(), r.TextDouble(); a != 3.5 || !math.IsInf(b, 1) || !math.IsInf(c, -1) || d != -1000 || r.Err() != nil {
		t.Errorf("read as %v %v %v %v, %v", a, b, c, d, r.Err())
	}
	for _, n := range []int64{0, -128, 127, 128, -32768, 40000, math.MinInt32, math.MaxInt32, math.MaxInt32 + 1, math.MinInt64} {
		b, text := AppendInteger(nil, n), fmt.Append(nil, n)
		if !bytes.Equal(b, AppendString(nil, text)) {
			t.Errorf("%d: AppendInteger gives %x, AppendString %x", n, b, AppendString(nil, text))
		}
		if s := NewReader(b, bytesMax).String(); !bytes.Equal(s, text) {
			t.Errorf("%d is read as %q", n, s)
		}
	}
}

// TestIntegersStay: strings that were read stay as they are while others are read.
func TestIntegersStay(t *testing.T) {
	var b []byte
	for i := range 1000 {
		b = AppendInteger(b, int64(i)*1000)
	}
	r := NewReader(b, bytesMax)
	var read [][]byte
	for range 1000 {
		read = append(read, r.String())
	}
	for i, s := range read {
		if string(s) != fmt.Sprint(i*1000) {
			t.Fatalf("string %d is %q", i, s)
		}
	}
}

func TestStringsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := texts().Draw(t, "text")
		b := AppendString(nil, s)
		if len(b) > len(s)+5 {
			t.Fatalf("%d bytes take %d", len(s), len(b))
		}
		r := NewReader(b, bytesMax)
		if got := r.String(); !bytes.Equal(got, s) || r.Err() != nil || r.Rest() != 0 {
			t.Fatalf("%q is read as %q, %v, %d bytes left", s, got, r.Err(), r.Rest())
		}
	})
}

// texts draws strings with and without repetitions near and far.
func texts() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		var s []byte
		for range rapid.IntRange(0, 8).Draw(t, "parts") {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				s = append(s, rapid.SliceOfN(rapid.Byte(), 0, 70).Draw(t, "bytes")...)
			case 1:
				s = append(s, bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, rapid.IntRange(0, 9000).Draw(t, "n"))...)
			case 2:
				if len(s) > 0 {
					from := rapid.IntRange(0, len(s)-1).Draw(t, "from")
					s = append(s, s[from:rapid.IntRange(from, len(s)).Draw(t, "to")]...)
				}
			default:
				s = fmt.Append(s, rapid.Int64().Draw(t, "integer"))
			}
		}
		return s
	})
}

func TestCompressedIsSmall(t *testing.T) {
	text := []byte(strings.Repeat("the quick brown fox ", 50))
	b := AppendString(nil, text)
	if b[0] != encoded|encLZF || len(b) > 60 {
		t.Errorf("%d bytes take %d", len(text), len(b))
	}
	if b := AppendString(nil, []byte("no byte of this comes twi\x01")); b[0] == encoded|encLZF {
		t.Errorf("compressed to %x", b)
	}
}

// FuzzReader: nothing that is read goes beyond the bytes there are, nor is anything large made of a few.
func FuzzReader(f *testing.F) {
	for _, c := range stringPayloads {
		f.Add(unhex(f, c.payload)[1:])
	}
	f.Add(unhex(f, "c3058040000000"+"0061e01e00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(b, bytesMax)
		for r.Err() == nil && r.Rest() > 0 {
			before := r.Rest()
			if s := r.String(); len(s) > max(lzfRatioMax*before+lzfRatioMax, decimalLenMax) {
				t.Fatalf("%d bytes became %d", before, len(s))
			}
			if r.Rest() > 0 && r.Count(2) > r.Rest()/2 {
				t.Fatal("a count beyond the bytes that are left")
			}
			r.Node()
			r.TextDouble()
		}
		for _, each := range []func([]byte) (int, int, error){countZiplist, countZipmap} {
			if said, seen, err := each(b); err == nil && said != seen {
				t.Fatalf("%d elements, and %d were counted", seen, said)
			}
		}
	})
}

func countZiplist(b []byte) (said, seen int, err error) {
	elements, said, err := Ziplist(b)
	if err != nil {
		return 0, 0, err
	}
	for range elements {
		seen++
	}
	return said, seen, nil
}

func countZipmap(b []byte) (said, seen int, err error) {
	elements, said, err := Zipmap(b)
	if err != nil {
		return 0, 0, err
	}
	for range elements {
		seen++
	}
	return said, seen, nil
}

// FuzzStrings: what is written reads back the same.
func FuzzStrings(f *testing.F) {
	for _, c := range stringPayloads {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, s []byte) {
		if got := NewReader(AppendString(nil, s), len(s)).String(); !bytes.Equal(got, s) {
			t.Fatalf("%q is read as %q", s, got)
		}
	})
}

// TestCompressorIsReused: a compressor that has seen other texts makes the same of one as a new one does.
func TestCompressorIsReused(t *testing.T) {
	var used compressor
	rapid.Check(t, func(t *rapid.T) {
		s := append(texts().Draw(t, "text"), "01234567"...)
		if rapid.IntRange(0, 9).Draw(t, "turn") == 0 {
			left := uint32(rapid.IntRange(0, 2*len(s)).Draw(t, "left"))
			used.base = max(used.base, math.MaxUint32-left) // it only grows
		}
		want, wantOK := new(compressor).compress(s)
		got, ok := used.compress(s)
		if ok != wantOK || ok && !bytes.Equal(got, want) {
			t.Fatalf("%q: %x, %v; new: %x, %v", s, got, ok, want, wantOK)
		}
	})
}
