package transport

import (
	"time"

	"golang.org/x/sys/unix"
)

// A connection ends in two steps: bury takes leave of its session, and the descriptor is closed. kill does both at
// once; finish, for a connection whose output has drained, waits between them for the peer to close.

// bury tells the session and gives up its buffers. What is posted from now on is dropped.
func (l *loop) bury(c *conn) {
	if c.session == nil {
		return
	}
	l.mu.Lock()
	c.mail = mail{waiting: c.mail.waiting, gone: true}
	l.mu.Unlock()
	session := c.session
	c.session = nil
	l.t.release(c.in, keepBytes)
	l.t.release(c.out, keepBytes)
	c.in, c.head, c.out, c.sent, c.need = nil, 0, nil, 0, 0
	c.inBytes.Store(0)
	c.outBytes.Store(0)
	session.Closed()
}

// kill closes c at once.
func (l *loop) kill(c *conn) {
	if c.mode == modeGone {
		return
	}
	l.bury(c)
	c.mode = modeGone
	l.conns[c.fd] = nil
	l.open--
	l.load.Add(-1)
	unix.Close(c.fd)
}

// finish closes c, whose output has drained, and lingers until the peer has closed too.
func (l *loop) finish(c *conn) {
	if l.state.Load() != loopRuns {
		l.kill(c)
		return
	}
	l.bury(c)
	if unix.Shutdown(c.fd, unix.SHUT_WR) != nil {
		l.kill(c)
		return
	}
	c.mode = modeLinger
	l.linger = append(l.linger, lingering{c, time.Now().Add(lingerTime)})
	l.watch(c)
}

// discard takes what the peer of a finished conn still sends.
func (l *loop) discard(c *conn) {
	n, errno := recv(c.fd, l.in)
	if errno == unix.EAGAIN {
		return
	}
	if errno == 0 {
		c.discarded += n
	}
	if errno != 0 || n == 0 || c.discarded > lingerBytesMax {
		l.kill(c)
	}
}

// expire ends what has lingered long enough and wakes listeners that have rested.
func (l *loop) expire(now time.Time) {
	for len(l.linger) > 0 && !now.Before(l.linger[0].until) {
		l.kill(l.linger[0].c)
		l.linger = l.linger[1:]
	}
	for len(l.resting) > 0 && !now.Before(l.resting[0].until) {
		if err := l.resting[0].watch(l.epfd); err != nil {
			l.t.options.Logger.Error("listener lost", "err", err)
		}
		l.resting = l.resting[1:]
	}
}

// wind brings the loop to its end, a step at each call, and reports whether it is reached.
func (l *loop) wind() bool {
	aborts := l.state.Load() == loopAborts
	if l.wound && !aborts {
		return l.open == 0
	}
	l.wound = true
	for _, c := range l.conns {
		switch {
		case c == nil:
		case aborts || c.mode == modeLinger || !c.blocked():
			l.kill(c)
		default:
			c.mode = modeClose
			l.watch(c)
		}
	}
	return l.open == 0
}

// stop gives up what the loop itself holds.
func (l *loop) stop() {
	l.mu.Lock()
	l.mu.stopped = true
	arrived := l.mu.arrived
	l.mu.arrived = nil
	l.mu.Unlock()
	for _, a := range arrived {
		unix.Close(a.fd)
	}
	unix.Close(l.wakefd)
	unix.Close(l.epfd)
	close(l.done)
}
