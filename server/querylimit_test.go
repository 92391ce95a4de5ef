package server

import (
	"strings"
	"testing"

	"kvserver/server/transport"
)

// What waits to be run is bounded, whether it is a half-sent frame, one that will be too large, or queued in MULTI.
func TestQueryBufferLimit(t *testing.T) {
	big := strings.Repeat("x", 700<<10)
	for name, input := range map[string]string{
		"half-sent":  "*2\r\n$4\r\nECHO\r\n$2000000\r\n" + strings.Repeat("x", 1<<20),
		"announced":  "*2\r\n$4\r\nECHO\r\n$2000000\r\n",
		"many parts": "*30\r\n$1\r\nX\r\n" + strings.Repeat("$65536\r\n"+strings.Repeat("x", 65536)+"\r\n", 17),
		"queued":     request("MULTI") + request("SET", "a", big) + request("SET", "b", big),
	} {
		s := newTestServer(t, "--client-query-buffer-limit", "1mb")
		c := newTestClient(t, s)
		if _, v := feed(c, input); v != transport.Abort {
			t.Errorf("%s: verdict %v, want Abort", name, v)
		}
		if n := s.counters.queryBufferDisconnects.Load(); n != 1 {
			t.Errorf("%s: counted %d", name, n)
		}
	}
	c := newTestClient(t, newTestServer(t, "--client-query-buffer-limit", "1mb"))
	if got, v := feed(c, request("SET", "a", big)+request("STRLEN", "a")); got != "+OK\r\n:716800\r\n" || v != transport.More {
		t.Errorf("below the limit: %q, %v", got, v)
	}
}
