package transport

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// mode is what a connection waits for. Independently of it, a connection whose out is not empty waits for its peer to
// take that.
type mode uint8

const (
	modeRead   mode = iota // more input
	modeFeed               // its turn: the kept input is to be fed
	modePark               // Resume, or the end of the peer
	modeClose              // its output to drain, to close then
	modeLinger             // the end of the peer; the session is gone
	modeGone               // nothing; the descriptor is closed
)

// conn is a client of an event loop. What is not marked otherwise belongs to the loop.
type conn struct {
	endpoints
	loop    *loop
	session Session
	fd      int
	gen     int32  // tells the conn from others that had its descriptor, in events already fetched
	events  uint32 // what epoll was asked for
	mode    mode
	resumed bool // a Resume came before its Park
	queued  bool // in loop.ready

	in   []byte // input kept: in[head:]
	head int    // 0 while modeRead
	need int    // bytes without which the frame in in cannot be complete
	out  []byte // output not yet written: out[sent:]
	sent int

	discarded int // input dropped in modeLinger

	inBytes  atomic.Int64
	outBytes atomic.Int64

	mail mail // guarded by loop.mu
}

// mail is what others want of a connection and its loop has not seen yet.
type mail struct {
	out     []byte
	resume  bool
	flush   bool // close after flushing
	kill    bool // close at once
	waiting bool // in loop.mu.mail
	gone    bool // the conn takes none any more
}

func (c *conn) Post(b []byte) int {
	l := c.loop
	l.mu.Lock()
	if c.mail.gone || len(b) == 0 {
		l.mu.Unlock()
		return c.OutputBytes()
	}
	if c.mail.out == nil {
		c.mail.out = l.mailBufferLocked()
	}
	c.mail.out = append(c.mail.out, b...)
	waiting := c.outBytes.Add(int64(len(b)))
	l.notifyLocked(c)
	l.mu.Unlock()
	return int(waiting)
}

func (c *conn) Claim(dst []byte) []byte {
	c.loop.mu.Lock()
	defer c.loop.mu.Unlock()
	dst = append(dst, c.mail.out...)
	c.outBytes.Add(-int64(len(c.mail.out)))
	c.loop.recycleLocked(c.mail.out)
	c.mail.out = nil
	return dst
}

func (c *conn) Resume() {
	c.loop.mu.Lock()
	defer c.loop.mu.Unlock()
	c.mail.resume = true
	c.loop.notifyLocked(c)
}

func (c *conn) Close(flush bool) {
	c.loop.mu.Lock()
	defer c.loop.mu.Unlock()
	c.mail.flush = c.mail.flush || flush
	c.mail.kill = c.mail.kill || !flush
	c.loop.notifyLocked(c)
}

func (c *conn) FD() int          { return c.fd }
func (c *conn) Loop() int        { return c.loop.index }
func (c *conn) OutputBytes() int { return int(c.outBytes.Load()) }
func (c *conn) InputBytes() int  { return int(c.inBytes.Load()) }
func (c *conn) TLS() bool        { return false }

// blocked reports whether output waits for the peer.
func (c *conn) blocked() bool { return c.sent < len(c.out) }

// interest is the set of events the conn waits for. Hang-up and errors are reported without being asked for.
func (c *conn) interest() uint32 {
	var events uint32
	if c.blocked() {
		events = unix.EPOLLOUT
	} else if c.mode == modeRead || c.mode == modeLinger {
		events = unix.EPOLLIN
	}
	if c.mode == modePark {
		events |= unix.EPOLLRDHUP
	}
	return events
}

// keep makes rest, the input a Feed left, the kept input. own tells that it lies in c.in already.
func (c *conn) keep(rest []byte, own bool) {
	switch {
	case !own && len(rest) > 0:
		c.in, c.head = append(c.in[:0], rest...), 0
	case own && len(rest) > 0 && c.mode != modeRead:
		c.head = len(c.in) - len(rest) // moved once, when it is to be read on
	case c.in != nil:
		c.in, c.head = c.loop.t.compact(c.in, rest, keepBytes), 0
	}
	if n := int64(len(rest)); c.inBytes.Load() != n {
		c.inBytes.Store(n)
	}
}

// write sends b or queues what the socket does not take. It returns how much it sent, and false if the connection
// broke.
func (c *conn) write(b []byte) (int, bool) {
	if c.blocked() {
		c.queue(b)
		return 0, true
	}
	n, errno := send(c.fd, b)
	if errno != 0 && errno != unix.EAGAIN {
		return 0, false
	}
	if n < len(b) {
		c.queue(b[n:])
	}
	return n, true
}

func (c *conn) queue(b []byte) {
	if c.sent > len(c.out)/2 {
		c.out = c.out[:copy(c.out, c.out[c.sent:])]
		c.sent = 0
	}
	c.out = append(c.out, b...)
}

// drain writes queued output. It reports false if the connection broke.
func (c *conn) drain() bool {
	n, errno := send(c.fd, c.out[c.sent:])
	if errno != 0 {
		return errno == unix.EAGAIN
	}
	c.sent += n
	c.outBytes.Add(-int64(n))
	if !c.blocked() {
		c.out = c.loop.t.release(c.out, keepBytes)
		c.sent = 0
	}
	return true
}
