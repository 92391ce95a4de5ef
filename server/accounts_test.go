package server

import (
	"strings"
	"testing"

	"kvserver/server/transport"
)

// BenchmarkGetAs measures a GET in a pipeline of 32 for users with more and more to test.
func BenchmarkGetAs(b *testing.B) {
	for _, user := range []struct{ name, rules string }{
		{"unrestricted", "+@all ~* &*"},
		{"command", "+get ~*"},
		{"prefix", "+@all -@dangerous ~key:*"},
		{"glob", "+get ~k?y:[0-9]*"},
		{"tenth", "+get ~a:* ~b:* ~c:* ~d:* ~e:* ~f:* ~g:* ~h:* ~i:* ~key:*"},
		{"second selector", "+get ~other (+get ~key:*)"},
	} {
		b.Run(user.name, func(b *testing.B) {
			s := newTestServer(b)
			c := newTestClient(b, s)
			do(c, append([]string{"ACL", "SETUSER", "bob", "on", "nopass"}, strings.Fields(user.rules)...)...)
			do(c, "SET", "key:12345", "value")
			do(c, "AUTH", "bob", "x")
			var in []byte
			for range 32 {
				in = append(in, request("GET", "key:12345")...)
			}
			out := make([]byte, 0, 64<<10)
			b.ReportAllocs()
			for b.Loop() {
				if used, _, _, v := c.Feed(in, out); used != len(in) || v != transport.More {
					b.Fatal(used, v)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/32, "ns/get")
		})
	}
}
