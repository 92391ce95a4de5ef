// Package resp is a small RESP2 client for the programs under scripts, and prints replies as redis-cli does.
//
// The programs need replies with their wire type (redis-cli shows the status OK and the string "OK" differently) and
// no reconnecting, pooling or retries that would hide what a server did, so no client library is used.
package resp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// Limits on what a server may send: far above any reply the scripts ask for.
const (
	bulkBytesMax = 64 << 20
	elementsMax  = 1 << 20
	nestingMax   = 8
)

// Kind is the first byte of a reply on the wire.
type Kind byte

// The kinds of RESP2.
const (
	Status  Kind = '+'
	Error   Kind = '-'
	Integer Kind = ':'
	Bulk    Kind = '$'
	Array   Kind = '*'
)

// Reply is one reply. Null marks the null bulk string and the null array.
type Reply struct {
	Kind     Kind
	Text     string // of a Status, an Error or a Bulk
	Integer  int64
	Elements []Reply
	Null     bool
}

// Client is a connection to a server, for one goroutine.
type Client struct {
	conn    net.Conn
	reader  *bufio.Reader
	queued  []byte
	pending int
	timeout time.Duration
}

// Dial connects to a TCP address. The timeout bounds the connect and then each Flush.
func Dial(address string, timeout time.Duration) (*Client, error) {
	conn, err := net.DialTimeout("tcp", address, timeout)
	if err != nil {
		return nil, err
	}
	return &Client{conn: conn, reader: bufio.NewReader(conn), timeout: timeout}, nil
}

// DialRetrying connects as Dial does and waits for PONG, for a server that has just been started: it tries again
// until the timeout is over or stop is closed.
func DialRetrying(address string, timeout time.Duration, stop <-chan struct{}) (*Client, error) {
	const pause = 20 * time.Millisecond
	deadline := time.Now().Add(timeout)
	for {
		client, err := Dial(address, timeout)
		if err == nil {
			if _, err = client.Do("PING"); err == nil {
				return client, nil
			}
			client.Close()
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("no answer to PING from %s in %v: %w", address, timeout, err)
		}
		select {
		case <-stop:
			return nil, fmt.Errorf("the server at %s ended before it answered PING", address)
		case <-time.After(pause):
		}
	}
}

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Do sends one command and returns its reply; an error reply is returned as an error.
func (c *Client) Do(args ...string) (Reply, error) {
	c.Queue(args...)
	replies, err := c.Flush()
	if err != nil {
		return Reply{}, err
	}
	if reply := replies[0]; reply.Kind == Error {
		return reply, errors.New(reply.Text)
	}
	return replies[0], nil
}

// Queue adds a command to the pipeline that Flush sends.
func (c *Client) Queue(args ...string) {
	c.queued = fmt.Appendf(c.queued, "*%d\r\n", len(args))
	for _, arg := range args {
		c.queued = fmt.Appendf(c.queued, "$%d\r\n%s\r\n", len(arg), arg)
	}
	c.pending++
}

// Flush sends the queued commands and returns their replies, one each, error replies among them.
func (c *Client) Flush() ([]Reply, error) {
	if err := c.conn.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return nil, err
	}
	_, err := c.conn.Write(c.queued)
	count := c.pending
	c.queued, c.pending = c.queued[:0], 0
	if err != nil {
		return nil, err
	}
	replies := make([]Reply, count)
	for i := range replies {
		if replies[i], err = c.read(0); err != nil {
			return nil, err
		}
	}
	return replies, nil
}

func (c *Client) read(depth int) (Reply, error) {
	line, err := c.reader.ReadString('\n')
	if err != nil {
		return Reply{}, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' || depth > nestingMax {
		return Reply{}, fmt.Errorf("malformed reply %q", line)
	}
	reply := Reply{Kind: Kind(line[0]), Text: line[1 : len(line)-2]}
	if reply.Kind == Status || reply.Kind == Error {
		return reply, nil
	}
	if reply.Integer, err = strconv.ParseInt(reply.Text, 10, 64); err != nil {
		return Reply{}, fmt.Errorf("malformed reply %q", line)
	}
	reply.Text = ""
	switch {
	case reply.Kind == Integer:
		return reply, nil
	case reply.Integer < 0:
		return Reply{Kind: reply.Kind, Null: true}, nil
	case reply.Kind == Bulk && reply.Integer <= bulkBytesMax:
		body := make([]byte, reply.Integer+2)
		_, err = io.ReadFull(c.reader, body)
		return Reply{Kind: Bulk, Text: string(body[:len(body)-2])}, err
	case reply.Kind == Array && reply.Integer <= elementsMax:
		elements := make([]Reply, reply.Integer)
		for i := range elements {
			if elements[i], err = c.read(depth + 1); err != nil {
				return Reply{}, err
			}
		}
		return Reply{Kind: Array, Elements: elements}, nil
	}
	return Reply{}, fmt.Errorf("reply of unknown type or over the limit: %q", line)
}
