package transport

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A stream is a connection with a goroutine of its own, its owner, which reads, feeds and writes in turn; the
// goroutine that blocks in a write does not read, which is all the backpressure needs. What others post while the
// owner waits in a read is written by a goroutine that lives as long as there is something to write. Whoever writes
// holds the writing side (mu.writing); the owner holds it from before a Feed until after the write of its reply, so
// what is posted during a Feed follows the reply.

const (
	// parkBytesMax is how much is read from a parked peer, only to learn of its end: a TLS connection shows it in no
	// other way. A peer that sent more and then went away is noticed when it is resumed.
	parkBytesMax = 64 << 10
	// streamReadBytesMax is the largest buffer for a read that does not belong to a large frame.
	streamReadBytesMax = 64 << 10
)

// errWoken ends a read because there is something else to do.
var errWoken = errors.New("transport: woken")

// stream implements Conn. What is not marked otherwise belongs to the owner.
type stream struct {
	endpoints
	t       *Transport
	raw     net.Conn // the socket
	nc      net.Conn // raw, or TLS over it
	isTLS   bool
	fd      int
	loop    int
	session Session

	in   []byte // input kept: in[head:]
	head int
	need int // bytes without which the frame in in cannot be complete
	room int // bytes to read at once

	inBytes  atomic.Int64
	outBytes atomic.Int64

	changed *sync.Cond // the owner waits for a change of mu
	mu      struct {
		sync.Mutex
		posted  []byte
		spare   []byte // a buffer in exchange for posted
		writing bool
		reading bool // the owner waits in a read, or is about to
		kicked  bool // that read was ended by a deadline in the past
		resumed bool
		flush   bool // close after flushing
		kill    bool // raw is closed
		gone    bool // there is no session: none yet, or no more
	}
}

func newStream(t *Transport, raw net.Conn, at endpoints) *stream {
	s := &stream{endpoints: at, t: t, raw: raw, nc: raw, room: keepBytes}
	s.changed = sync.NewCond(&s.mu.Mutex)
	s.mu.gone = true
	s.loop = int((t.streamed.Add(1) - 1) % uint64(t.options.Loops))
	if sc, ok := raw.(syscall.Conn); ok {
		if rc, err := sc.SyscallConn(); err == nil {
			rc.Control(func(fd uintptr) { s.fd = int(fd) })
		}
	}
	return s
}

func (s *stream) Post(b []byte) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.gone || s.mu.kill || len(b) == 0 {
		return s.OutputBytes()
	}
	s.mu.posted = append(s.mu.posted, b...)
	waiting := s.outBytes.Add(int64(len(b)))
	if !s.mu.writing {
		s.mu.writing = true
		s.t.streamWG.Go(s.yield)
	}
	return int(waiting)
}

func (s *stream) Claim(dst []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	dst = append(dst, s.mu.posted...)
	s.outBytes.Add(-int64(len(s.mu.posted)))
	s.mu.posted = s.t.release(s.mu.posted, keepBytes)
	return dst
}

func (s *stream) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.resumed = true
	s.kickLocked()
}

func (s *stream) Close(flush bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.mu.gone && !s.t.stopping.Load(): // it is closing already
	case !flush || s.mu.gone:
		s.killLocked()
	default:
		s.mu.flush = true
		s.kickLocked()
	}
}

func (s *stream) FD() int          { return s.fd }
func (s *stream) Loop() int        { return s.loop }
func (s *stream) OutputBytes() int { return int(s.outBytes.Load()) }
func (s *stream) InputBytes() int  { return int(s.inBytes.Load()) }
func (s *stream) TLS() bool        { return s.isTLS }

// kickLocked makes the owner look about. s.mu must be held.
func (s *stream) kickLocked() {
	if s.mu.reading && !s.mu.kicked {
		s.mu.kicked = true
		s.raw.SetReadDeadline(time.Unix(1, 0))
	}
	s.changed.Broadcast()
}

// killLocked closes the socket, which ends every read and write. s.mu must be held.
func (s *stream) killLocked() {
	s.mu.kill = true
	s.raw.Close()
	s.changed.Broadcast()
}

// serve is the owner.
func (s *stream) serve(config *tls.Config) {
	defer s.t.forget(s)
	if config != nil && !s.handshake(config) {
		s.raw.Close()
		return
	}
	s.setGone(false)
	var refusal []byte
	if s.session, refusal = s.t.options.Accept(s); s.session == nil {
		s.setGone(true)
		s.raw.SetDeadline(time.Now().Add(lingerTime))
		s.nc.Write(refusal)
		s.nc.Close()
		return
	}
	orderly := s.fill()
	for orderly {
		switch s.run() {
		case More:
			orderly = s.fill()
		case Park:
			orderly = s.park()
		case Close:
			s.close(true)
			return
		default:
			orderly = false
		}
	}
	s.mu.Lock()
	flush := s.mu.flush && !s.mu.kill
	s.mu.Unlock()
	s.close(flush)
}

func (s *stream) handshake(config *tls.Config) bool {
	s.raw.SetDeadline(time.Now().Add(s.t.handshakeTime))
	conn := tls.Server(s.raw, config)
	if err := conn.Handshake(); err != nil {
		s.t.options.Logger.Debug("TLS handshake failed", "peer", s.RemoteAddr(), "err", err)
		return false
	}
	s.raw.SetDeadline(time.Time{})
	s.nc, s.isTLS = conn, true
	return true
}

func (s *stream) setGone(gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.gone = gone
	if gone {
		s.mu.posted, s.mu.spare = nil, nil
		s.outBytes.Store(0)
	}
}

// run feeds until the session wants something else than to be fed again.
func (s *stream) run() Verdict {
	for s.claim() {
		buffer := s.t.replies.Get().(*[]byte)
		beganNs := int64(0)
		if s.t.timed.Load() {
			beganNs = s.t.nowNs()
		}
		used, need, reply, verdict := s.session.Feed(s.in[s.head:], (*buffer)[:0])
		if beganNs != 0 {
			s.t.noteIteration(s.t.nowNs() - beganNs)
		}
		s.head += used
		s.need = 0
		if s.head < len(s.in) {
			s.need = need
		}
		s.inBytes.Store(int64(len(s.in) - s.head))
		if verdict != Abort && len(reply) > 0 {
			s.outBytes.Add(int64(len(reply)))
			s.write(reply)
		}
		if cap(reply) <= replyBytesMax {
			*buffer = reply
			s.t.replies.Put(buffer)
		}
		if verdict != Abort {
			s.yield()
		}
		if verdict != Flush {
			return verdict
		}
	}
	return Abort
}

// claim takes the writing side for the owner. It reports false if the connection is to be closed.
func (s *stream) claim() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.mu.writing && !s.mu.kill {
		s.changed.Wait()
	}
	if s.mu.kill || s.mu.flush {
		return false
	}
	s.mu.writing = true
	return true
}

// yield writes what is posted and gives the writing side up. The caller must hold it.
func (s *stream) yield() {
	for {
		s.mu.Lock()
		if s.mu.kill || len(s.mu.posted) == 0 {
			s.mu.writing = false
			s.changed.Broadcast()
			s.mu.Unlock()
			return
		}
		b := s.mu.posted
		s.mu.posted = s.mu.spare[:0]
		s.mu.spare = nil
		s.mu.Unlock()
		s.write(b)
		b = s.t.release(b, keepBytes)
		s.mu.Lock()
		s.mu.spare = b
		s.mu.Unlock()
	}
}

// write blocks until b, which outBytes counts already, is written or the connection is broken, which kills it.
func (s *stream) write(b []byte) {
	_, err := s.nc.Write(b)
	s.outBytes.Add(-int64(len(b)))
	if err != nil {
		s.mu.Lock()
		s.killLocked()
		s.mu.Unlock()
	}
}

// fill reads until the frame at the head of the input can be complete. It reports false at the end of the input and
// if the connection is to be closed.
func (s *stream) fill() bool {
	s.in = s.t.compact(s.in, s.in[s.head:], max(keepBytes, s.room))
	s.head = 0
	for missing := max(1, s.need); missing > 0; {
		n, err := s.read(false)
		s.need = max(0, s.need-n)
		if n == 0 && err != nil && err != errWoken {
			return false
		}
		if err == errWoken && s.closing() {
			return false
		}
		missing -= n
	}
	return true
}

func (s *stream) closing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.kill || s.mu.flush
}

// read reads once into the input. It returns errWoken if it was, or was to be, ended by a Close or, if parked, a
// Resume.
func (s *stream) read(parked bool) (int, error) {
	s.in = grow(s.in, s.room, s.need)
	s.mu.Lock()
	if s.mu.kill || s.mu.flush || parked && s.mu.resumed {
		s.mu.Unlock()
		return 0, errWoken
	}
	s.mu.reading = true
	s.mu.Unlock()
	free := s.in[len(s.in):cap(s.in)]
	n, err := s.nc.Read(free)
	s.in = s.in[:len(s.in)+n]
	switch {
	case n == len(free):
		s.room = min(2*s.room, streamReadBytesMax)
	case n < keepBytes:
		s.room = keepBytes
	}
	s.inBytes.Store(int64(len(s.in) - s.head))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.reading = false
	if s.mu.kicked {
		s.mu.kicked = false
		s.raw.SetReadDeadline(time.Time{})
		if n == 0 {
			err = errWoken
		}
	}
	return n, err
}

// park waits for Resume. It reports false if the connection is to be closed.
func (s *stream) park() bool {
	for {
		s.mu.Lock()
		for !s.mu.resumed && !s.mu.kill && !s.mu.flush && len(s.in)-s.head >= parkBytesMax {
			s.changed.Wait()
		}
		resumed, closing := s.mu.resumed, s.mu.kill || s.mu.flush
		s.mu.resumed = false
		s.mu.Unlock()
		if resumed || closing {
			return !closing
		}
		if n, err := s.read(true); n == 0 && err != nil && err != errWoken {
			return false
		}
	}
}

// close takes leave of the session and closes the socket, with flush after what is posted has been written and the
// peer has closed.
func (s *stream) close(flush bool) {
	if flush {
		s.mu.Lock()
		for s.mu.writing && !s.mu.kill {
			s.changed.Wait()
		}
		s.mu.writing = true
		s.mu.Unlock()
		s.yield()
	}
	s.setGone(true)
	s.t.release(s.in, keepBytes)
	s.in, s.head = nil, 0
	s.inBytes.Store(0)
	s.session.Closed()
	if flush && !s.t.stopping.Load() {
		s.linger()
	}
	s.nc.Close()
}

// linger tells the peer that nothing follows and takes what it still sends until it closes too.
func (s *stream) linger() {
	half, ok := s.nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	s.raw.SetReadDeadline(time.Now().Add(lingerTime))
	io.CopyN(io.Discard, s.raw, lingerBytesMax)
}
