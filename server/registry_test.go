package server

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// TestMaxClientsStaysWithinDescriptors: a maxclients beyond the limit on open files would let clients wait in the queue
// of connections, where nobody tells them that there are too many.
func TestMaxClientsStaysWithinDescriptors(t *testing.T) {
	fits, err := clientsThatFit()
	if err != nil {
		t.Fatal(err)
	}
	if fits >= math.MaxUint32 {
		t.Skipf("%d open files are allowed: every maxclients fits", fits)
	}
	s := newTestServer(t)
	if err := s.fitMaxClients(); err != nil {
		t.Fatal(err)
	}
	c := newTestClient(t, s)
	set := func(n int64) string { return do(c, "CONFIG", "SET", "maxclients", strconv.FormatInt(n, 10)) }
	if got := set(fits); got != "+OK\r\n" {
		t.Errorf("all that fit: %q", got)
	}
	if got := set(fits + 1); !strings.HasSuffix(got, "try with "+strconv.FormatInt(fits, 10)+"\r\n") {
		t.Errorf("one more: %q", got)
	}
	if got := s.params.maxClients.Get(); got != fits {
		t.Errorf("after the refusal it is %d, want %d", got, fits)
	}
}
