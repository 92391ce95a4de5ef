package tests

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// conn is a raw connection that hides nothing: it sends what it is told and
// hands out the bytes of exactly one reply. Methods in lower case that take a
// command fail the test when the connection fails, so they belong to the test's
// own goroutine; try may be used from any.
type conn struct {
	t  testing.TB
	nc net.Conn
	r  *bufio.Reader
}

func dialTo(t testing.TB, network, addr string) *conn {
	t.Helper()
	nc, err := net.DialTimeout(network, addr, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	return newConn(t, nc)
}

func newConn(t testing.TB, nc net.Conn) *conn {
	return &conn{t: t, nc: nc, r: bufio.NewReader(nc)}
}

// encode makes one command in the multibulk form.
func encode(args ...string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}

// try sends a command and returns the bytes of its reply.
func (c *conn) try(args ...string) ([]byte, error) {
	c.nc.SetDeadline(time.Now().Add(patience))
	if _, err := c.nc.Write(encode(args...)); err != nil {
		return nil, err
	}
	return readReply(c.r)
}

// do sends a command and returns the bytes of its reply.
func (c *conn) do(args ...string) string {
	c.t.Helper()
	reply, err := c.try(args...)
	if err != nil {
		c.t.Fatalf("%s: %v (after %q)", quoteArgs(args), err, reply)
	}
	return string(reply)
}

// value is do with the reply taken apart.
func (c *conn) value(args ...string) value {
	c.t.Helper()
	return parseReply(c.do(args...))
}

// ok sends a command that must be answered with OK.
func (c *conn) ok(args ...string) {
	c.t.Helper()
	c.want("+OK\r\n", args...)
}

// want sends a command and compares the bytes of the reply.
func (c *conn) want(want string, args ...string) {
	c.t.Helper()
	if got := c.do(args...); got != want {
		c.t.Errorf("%s:\n got %q\nwant %q", quoteArgs(args), got, want)
	}
}

// send writes bytes as they are.
func (c *conn) send(raw string) {
	c.t.Helper()
	c.nc.SetWriteDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c.nc, raw); err != nil {
		c.t.Fatalf("send: %v", err)
	}
}

// reply reads exactly one reply.
func (c *conn) reply() string {
	c.t.Helper()
	c.nc.SetReadDeadline(time.Now().Add(patience))
	b, err := readReply(c.r)
	if err != nil {
		c.t.Fatalf("read a reply: %v (after %q)", err, b)
	}
	return string(b)
}

// pipeline sends commands in one go and returns their replies. It writes and
// reads at the same time: a server may stop reading a client that does not.
func (c *conn) pipeline(commands [][]string) []string {
	c.t.Helper()
	var raw []byte
	for _, args := range commands {
		raw = append(raw, encode(args...)...)
	}
	c.nc.SetDeadline(time.Now().Add(patience))
	written := make(chan error, 1)
	go func() {
		_, err := c.nc.Write(raw)
		written <- err
	}()
	replies := make([]string, len(commands))
	for i := range replies {
		b, err := readReply(c.r)
		if err != nil {
			c.t.Fatalf("reply %d of %d, to %s: %v", i+1, len(commands), quoteArgs(commands[i]), err)
		}
		replies[i] = string(b)
	}
	if err := <-written; err != nil {
		c.t.Fatal(err)
	}
	return replies
}

// wantClosed reads to the end of the connection and compares what came before
// it.
func (c *conn) wantClosed(want string) {
	c.t.Helper()
	got, err := c.readAll()
	if got != want {
		c.t.Errorf("before the connection closed:\n got %q\nwant %q", got, want)
	}
	if err != nil {
		c.t.Errorf("the connection was not closed: %v", err)
	}
}

// readAll returns everything up to the end of the connection. A connection that
// was reset has ended too: that is how the kernel closes one with unread input.
func (c *conn) readAll() (string, error) {
	c.nc.SetReadDeadline(time.Now().Add(patience))
	b, err := io.ReadAll(c.r)
	var netErr net.Error
	if err != nil && !(errors.As(err, &netErr) && netErr.Timeout()) {
		err = nil
	}
	return string(b), err
}

// readReply reads one reply of RESP2 or RESP3, with all that is nested in it,
// and returns its bytes unchanged.
func readReply(r *bufio.Reader) ([]byte, error) { return appendReply(nil, r) }

func appendReply(b []byte, r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	b = append(b, line...)
	if err != nil {
		return b, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return b, fmt.Errorf("malformed header line %q", line)
	}
	kind, body := line[0], string(line[1:len(line)-2])
	if strings.IndexByte("+-:,#_(", kind) >= 0 {
		return b, nil
	}
	n, err := strconv.Atoi(body)
	if err != nil {
		return b, fmt.Errorf("malformed length in %q", line)
	}
	switch kind {
	case '$', '=', '!':
		if n < 0 {
			return b, nil
		}
		at := len(b)
		b = append(b, make([]byte, n+2)...)
		_, err := io.ReadFull(r, b[at:])
		return b, err
	case '*', '~', '>':
	case '%':
		n *= 2
	case '|':
		n = 2*n + 1 // the attributes, and the reply they belong to
	default:
		return b, fmt.Errorf("unknown type in %q", line)
	}
	for range n {
		if b, err = appendReply(b, r); err != nil {
			return b, err
		}
	}
	return b, nil
}
