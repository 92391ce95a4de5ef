package rdb

import (
	"bytes"
	"iter"
	"slices"
	"strings"
	"testing"
)

func collect(elements iter.Seq[[]byte]) (texts []string) {
	for e := range elements {
		texts = append(texts, string(e))
	}
	return texts
}

// sample is a ziplist with an entry of every form: strings of the three lengths, integers of all widths. Redis 7.0 loads
// it as a list of these elements (TestRestoreZiplists of package store).
func sample(t testing.TB) ([]byte, []string) {
	long, longer := strings.Repeat("x", 300), strings.Repeat("y", 16384)
	entries := [][]byte{
		unhex(t, "00f1"), // 0
		unhex(t, "02fd"), // 12
		unhex(t, "02feff"),
		unhex(t, "03c0e803"),
		unhex(t, "04f0ffff7f"),
		unhex(t, "05d0000000 80"),
		unhex(t, "06e0ffffffffffffff7f"),
		unhex(t, "0a00"),
		unhex(t, "02026869"),
		append(unhex(t, "04412c"), long...),
		append(unhex(t, "fe2f010000 8000004000"), longer...),
		unhex(t, "fe0a400000 0161"),
	}
	want := []string{"0", "12", "-1", "1000", "8388607", "-2147483648", "9223372036854775807", "", "hi", long, longer, "a"}
	return ziplistOf(entries), want
}

func ziplistOf(entries [][]byte) []byte {
	last, size := ziplistHeader, ziplistHeader+1
	for i, e := range entries {
		if i < len(entries)-1 {
			last += len(e)
		}
		size += len(e)
	}
	b := []byte{byte(size), byte(size >> 8), byte(size >> 16), 0, byte(last), byte(last >> 8), byte(last >> 16), 0, byte(len(entries)), byte(len(entries) >> 8)}
	return append(append(b, bytes.Join(entries, nil)...), ziplistEnd)
}

func TestZiplist(t *testing.T) {
	b, want := sample(t)
	elements, n, err := Ziplist(b)
	if err != nil || n != len(want) || !slices.Equal(collect(elements), want) {
		t.Fatalf("%d elements, %v: %.60q", n, err, collect(elements))
	}
	for range elements {
		break // stops when it is told to
	}
	if elements, n, err := Ziplist(ziplistOf(nil)); err != nil || n != 0 || collect(elements) != nil {
		t.Errorf("an empty one: %d, %v", n, err)
	}
	many := bytes.Clone(b)
	many[8], many[9] = 0xff, 0xff
	if _, n, err := Ziplist(many); err != nil || n != len(want) {
		t.Errorf("uncounted: %d, %v", n, err)
	}
}

func TestZiplistRefuses(t *testing.T) {
	good := ziplistOf([][]byte{unhex(t, "00f3"), unhex(t, "02026869"), unhex(t, "04f3")})
	if _, _, err := Ziplist(good); err != nil {
		t.Fatal(err)
	}
	for n := range good {
		if _, _, err := Ziplist(good[:n]); err == nil {
			t.Errorf("its first %d bytes are taken", n)
		}
	}
	// Every byte but those of the texts decides about the form.
	for i := range good {
		bad := bytes.Clone(good)
		if bad[i] ^= 0x40; i != 14 && i != 15 {
			if _, _, err := Ziplist(bad); err == nil {
				t.Errorf("taken with byte %d changed", i)
			}
		}
	}
	for _, entry := range []string{"00ff", "00fff1", "00c1", "00f0", "003f61", "00c000", "0080ffffffff", "00407f", "00", "fe00000000"} {
		if elements, _, err := Ziplist(ziplistOf([][]byte{unhex(t, entry)})); err == nil {
			t.Errorf("entry %s is taken as %q", entry, collect(elements))
		}
	}
}

func TestZipmap(t *testing.T) {
	long := strings.Repeat("v", 300)
	b := unhex(t, "02 03666f6f 0300626172 0568656c6c6f fe2c010000 02")
	b = append(append(b, long...), 'x', 'x', zipmapEnd)
	want := []string{"foo", "bar", "hello", long}
	elements, n, err := Zipmap(b)
	if err != nil || n != 4 || !slices.Equal(collect(elements), want) {
		t.Fatalf("%d elements, %v", n, err)
	}
	for n := range b {
		if _, _, err := Zipmap(b[:n]); err == nil {
			t.Errorf("its first %d bytes are taken", n)
		}
	}
	for _, bad := range []string{"01ff", "00 0161 ff", "02 0161 010062 ff", "01 0161 050062 ff", "01 0161 ff0062 ff", "01 0161 010162 ff", "01 0161 ff"} {
		if _, _, err := Zipmap(unhex(t, bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
	if _, n, err := Zipmap(unhex(t, "fe 0161 010062 ff")); err != nil || n != 2 {
		t.Errorf("uncounted: %d, %v", n, err)
	}
}
