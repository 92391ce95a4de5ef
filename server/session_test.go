package server

import (
	"context"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"kvserver/config"
	"kvserver/server/transport"
)

// fakeConn is a connection without a socket. It remembers what others did to it.
type fakeConn struct {
	remote, local string
	unix          bool
	posted        []byte
	resumed       int
	closed        bool // by Close(false)
	finished      bool // by Close(true)
}

func (f *fakeConn) Post(b []byte) int {
	f.posted = append(f.posted, b...)
	return len(f.posted)
}

func (f *fakeConn) Resume() { f.resumed++ }

func (f *fakeConn) Claim(dst []byte) []byte { return dst }

func (f *fakeConn) Close(flush bool) {
	f.finished = f.finished || flush
	f.closed = f.closed || !flush
}

func (f *fakeConn) RemoteAddr() string { return f.remote }
func (f *fakeConn) LocalAddr() string  { return f.local }
func (f *fakeConn) FD() int            { return 7 }
func (f *fakeConn) Loop() int          { return 0 }
func (f *fakeConn) OutputBytes() int   { return 0 }
func (f *fakeConn) InputBytes() int    { return 0 }
func (f *fakeConn) Unix() bool         { return f.unix }
func (f *fakeConn) TLS() bool          { return false }

func (f *fakeConn) Loopback() bool { return !f.unix && strings.HasPrefix(f.remote, "127.") }

// newTestServer makes a server that listens nowhere and does no periodic work. args are parameters as on the
// command line.
func newTestServer(t testing.TB, args ...string) *Server {
	t.Helper()
	registry := config.New()
	params := RegisterParameters(registry)
	if err := registry.Load(args, nil); err != nil {
		t.Fatal(err)
	}
	s, err := New(params, NewLogger(io.Discard, params))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}

// newTestClient connects a session of its own to s, from a port of its own.
func newTestClient(t testing.TB, s *Server) *client {
	t.Helper()
	return connect(t, s, &fakeConn{remote: "127.0.0.1:" + strconv.Itoa(40001+s.clients.len()), local: "127.0.0.1:6379"})
}

func connect(t testing.TB, s *Server, conn *fakeConn) *client {
	t.Helper()
	session, refusal := s.accept(conn)
	if session == nil {
		t.Fatalf("refused: %q", refusal)
	}
	return session.(*client)
}

func connOf(c *client) *fakeConn { return c.conn.(*fakeConn) }

// do runs one command and returns the bytes of its reply.
func do(c *client, args ...string) string {
	reply, _ := feed(c, request(args...))
	return reply
}

// request is a command as clients send it.
func request(args ...string) string {
	var b strings.Builder
	b.WriteString("*" + strconv.Itoa(len(args)) + "\r\n")
	for _, a := range args {
		b.WriteString("$" + strconv.Itoa(len(a)) + "\r\n" + a + "\r\n")
	}
	return b.String()
}

// feed gives c input as the transport does and returns everything it answered, and its last verdict.
func feed(c *client, input string) (reply string, v transport.Verdict) {
	in := []byte(input)
	for {
		used, _, out, verdict := c.Feed(in, nil)
		reply += string(out)
		in = in[used:]
		if verdict != transport.Flush {
			return reply, verdict
		}
	}
}
