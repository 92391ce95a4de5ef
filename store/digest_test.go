package store

import (
	"encoding/hex"
	"strconv"
	"testing"
)

// TestDigest has digests of redis-server 7.0.15.
func TestDigest(t *testing.T) {
	s := New(Options{Databases: 4})
	defer s.Close()
	v := s.NewView()
	v.Bind(0, 1000, nil)
	v.Exclusive()
	defer v.Unlock()
	want := func(what, want string, d Digest) {
		t.Helper()
		if got := hex.EncodeToString(d[:]); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	const zeros = "0000000000000000000000000000000000000000"
	want("nothing", zeros, v.Digest())
	want("a missing key", zeros, v.DigestValue(v.Peek([]byte("a"))))
	v.SAdd([]byte("a"), [][]byte{[]byte("1")})
	ints := v.DigestValue(v.Peek([]byte("a")))
	want("a set", "87d3d0d207b535c2543c55ff5be4ac9e9e36c14d", ints)
	want("a key", "92d11048e296737fa504a347db0cd57f829bc716", v.Digest())
	v.SAdd([]byte("a"), [][]byte{[]byte("x")})
	v.SRem([]byte("a"), [][]byte{[]byte("x")})
	if got := v.DigestValue(v.Peek([]byte("a"))); got != ints {
		t.Errorf("the encoding counts: %x and %x", got, ints)
	}
	for i := range 1000 {
		v.SAdd([]byte("a"), [][]byte{[]byte("m" + strconv.Itoa(i))})
	}
	for i := range 1000 {
		v.SRem([]byte("a"), [][]byte{[]byte("m" + strconv.Itoa(999-i))})
	}
	if got := v.DigestValue(v.Peek([]byte("a"))); got != ints {
		t.Errorf("the table counts: %x and %x", got, ints)
	}
	v.Select(2)
	v.SAdd([]byte("a"), [][]byte{[]byte("1")})
	want("keys in two databases", "aaf166b6d290d40cb2274f91d9242fd1c7293ec8", v.Digest())
}

func TestDigestScore(t *testing.T) {
	for text, score := range map[string]float64{
		"1": 1, "100": 100, "0.10000000000000001": 0.1, "1e+17": 1e17, "10000000000000000": 1e16, "1.0000000000000001e-05": 1e-5,
	} {
		if got := string(digestScore(score)); got != text {
			t.Errorf("%s, want %s", got, text)
		}
	}
}
