package transport

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for what must come.
const patience = time.Minute

// stuckBytes is more than the kernel takes for a client that does not read.
const stuckBytes = 12 << 20

// lineSession speaks a protocol of lines, whose commands try what a session can ask of a transport.
type lineSession struct {
	c      Conn
	h      *harness
	closed chan struct{}
	feeds  atomic.Int64
	ran    atomic.Int64
	spin   atomic.Bool
	fault  atomic.Pointer[string] // what the transport did wrong
}

func (s *lineSession) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.fault.CompareAndSwap(nil, &text)
}

func (s *lineSession) Closed() {
	select {
	case <-s.closed:
		s.fail("Closed twice")
	default:
		close(s.closed)
	}
}

func (s *lineSession) Feed(in, out []byte) (int, int, []byte, Verdict) {
	s.feeds.Add(1)
	if n := s.c.OutputBytes(); n > 0 && !s.h.posts.Load() {
		s.fail("fed with %d bytes of output pending", n)
	}
	if len(out) != 0 {
		s.fail("fed with %d bytes in the reply buffer", len(out))
	}
	used := 0
	for used < len(in) {
		line, rest, whole := bytes.Cut(in[used:], []byte("\n"))
		if !whole {
			break
		}
		name, arg, _ := strings.Cut(string(line), " ")
		if name == "bulk" {
			size, _ := strconv.Atoi(arg)
			if len(rest) < size {
				return used, size - len(rest), out, More
			}
			if bytes.Count(rest[:size], []byte("x")) != size {
				s.fail("bulk is damaged")
			}
			used += size
		}
		used += len(line) + 1
		s.ran.Add(1)
		var v Verdict
		if out, v = s.run(name, arg, out); v != More {
			if v == Flush && s.spin.Load() {
				used -= len(line) + 1
			}
			return used, 0, out, v
		}
		if len(out) >= HighWater {
			return used, 0, out, Flush
		}
	}
	return used, 0, out, More
}

func (s *lineSession) run(name, arg string, out []byte) ([]byte, Verdict) {
	switch name {
	case "echo", "bulk":
		return append(append(out, arg...), '\n'), More
	case "big":
		size, _ := strconv.Atoi(arg)
		return append(out, bytes.Repeat([]byte("x"), size)...), More
	case "flush":
		return append(out, "flushed\n"...), Flush
	case "spin":
		return out, Flush
	case "park":
		s.h.parked <- s
		return out, Park
	case "hold":
		s.h.parked <- s
		<-s.h.release
		return append(out, "held\n"...), More
	case "early":
		s.c.Resume()
		return append(out, "early\n"...), Park
	case "claim":
		return append(s.c.Claim(out), "claimed\n"...), More
	case "post":
		s.c.Post([]byte(arg + "\n"))
		return append(out, "first\n"...), More
	case "kill":
		s.c.Close(false)
		return out, More
	case "close":
		return append(out, "bye\n"...), Close
	case "abort":
		return append(out, "never seen\n"...), Abort
	}
	return append(out, "?\n"...), More
}

// harness is a transport with one listener.
type harness struct {
	t        *testing.T
	kind     string
	tr       *Transport
	network  string
	addr     string
	posts    atomic.Bool // output may be pending at a Feed
	refuses  atomic.Bool
	sessions chan *lineSession
	parked   chan *lineSession
	release  chan struct{} // ends a hold
}

// kinds are the ways a connection can be served.
var kinds = []string{"plain", "unix", "stream", "tls"}

// each runs a test against every kind of connection.
func each(t *testing.T, test func(t *testing.T, h *harness)) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) { test(t, start(t, kind, 1)) })
	}
}

func start(t *testing.T, kind string, loops int) *harness {
	t.Helper()
	h := &harness{t: t, kind: kind, network: "tcp", addr: "127.0.0.1:0",
		sessions: make(chan *lineSession, 1000), parked: make(chan *lineSession, 1000), release: make(chan struct{})}
	tr, err := New(Options{Loops: loops, Accept: h.accept, KeepAliveSeconds: func() int { return 300 }})
	if err != nil {
		t.Fatal(err)
	}
	h.tr = tr
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		tr.Shutdown(ctx)
	})
	var bound net.Addr
	switch kind {
	case "unix":
		h.network, h.addr = "unix", filepath.Join(t.TempDir(), "sock")
		bound, err = tr.Listen(h.network, h.addr, ListenOptions{})
	case "stream":
		bound, err = tr.listenStream(h.network, h.addr, ListenOptions{})
	case "tls":
		config := &tls.Config{Certificates: []tls.Certificate{certificate(t, "first")}}
		bound, err = tr.Listen(h.network, h.addr, ListenOptions{TLS: func() *tls.Config { return config }})
	default:
		bound, err = tr.Listen(h.network, h.addr, ListenOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	h.addr = bound.String()
	return h
}

func (h *harness) accept(c Conn) (Session, []byte) {
	if h.refuses.Load() {
		return nil, []byte("full\n")
	}
	s := &lineSession{c: c, h: h, closed: make(chan struct{})}
	h.sessions <- s
	return s, nil
}

// client is the other end of a session.
type client struct {
	net.Conn
	raw net.Conn // below TLS
	t   *testing.T
	r   *bufio.Reader
}

// dial returns a client and its session.
func (h *harness) dial() (*client, *lineSession) {
	h.t.Helper()
	c := h.connect()
	select {
	case s := <-h.sessions:
		h.t.Cleanup(func() {
			c.Close()
			if fault := s.fault.Load(); fault != nil {
				h.t.Error(*fault)
			}
		})
		return c, s
	case <-time.After(patience):
		h.t.Fatal("not accepted")
		return nil, nil
	}
}

// connect returns a client, accepted or not.
func (h *harness) connect() *client {
	h.t.Helper()
	raw, err := net.Dial(h.network, h.addr)
	if err != nil {
		h.t.Fatal(err)
	}
	raw.SetDeadline(time.Now().Add(patience))
	conn := raw
	if h.kind == "tls" {
		conn = tls.Client(raw, &tls.Config{InsecureSkipVerify: true})
		if err := conn.(*tls.Conn).Handshake(); err != nil {
			h.t.Fatal(err)
		}
	}
	return &client{Conn: conn, raw: raw, t: h.t, r: bufio.NewReader(conn)}
}

func (c *client) send(format string, args ...any) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c, format, args...); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) expect(text string) {
	c.t.Helper()
	got := make([]byte, len(text))
	if n, err := c.read(got); err != nil || string(got) != text {
		c.t.Fatalf("got %.100q, %v; want %.100q", got[:n], err, text)
	}
}

// expectX checks that the next n bytes are all x.
func (c *client) expectX(n int) {
	c.t.Helper()
	part := make([]byte, 1<<16)
	for n > 0 {
		m, err := c.r.Read(part[:min(n, len(part))])
		if bytes.Count(part[:m], []byte("x")) != m || err != nil && m < n {
			c.t.Fatalf("%v, with %d bytes missing, or others among them", err, n)
		}
		n -= m
	}
}

func (c *client) read(b []byte) (int, error) {
	n := 0
	for n < len(b) {
		m, err := c.r.Read(b[n:])
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// expectEnd checks that the server closes without sending more.
func (c *client) expectEnd() {
	c.t.Helper()
	b, err := c.r.ReadByte()
	if err == nil {
		c.t.Fatalf("got %q, want the end", b)
	}
	if e, ok := err.(net.Error); ok && e.Timeout() {
		c.t.Fatal("the server does not close")
	}
}

// halfClose says that the client will send no more.
func (c *client) halfClose() {
	c.t.Helper()
	if err := c.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		c.t.Fatal(err)
	}
}

func (s *lineSession) expectClosed(t *testing.T) {
	t.Helper()
	receive(t, "Closed", s.closed)
}

// receive waits for a channel.
func receive[T any](t *testing.T, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatalf("no %s", what)
	}
	return v
}

// eventually waits for a condition that nobody announces.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !holds(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func certificate(t *testing.T, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name},
		NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
