package transport

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// An event loop is a goroutine, an epoll instance and the connections registered there. Its life is: fetch events;
// for each connection that has input read once, feed, write once; then see to what others posted. Reads go into one
// buffer that all connections of the loop share, and so do replies; a connection has buffers of its own only for a
// frame that is not complete and for output that its peer has not taken. Epoll is level-triggered, so what one read
// did not fetch is reported again when the others have had their turn, and a read that did not fill the buffer needs
// no second one to learn that there is no more. A batch costs one read and one write, and the wait for events is shared
// by all connections that are ready.

const (
	readBytes  = 64 << 10 // the shared read buffer
	eventsMax  = 256      // events fetched at once
	acceptsMax = 64       // connections accepted before clients get their turn
	// sharedRestMax is the largest kept input that is copied before the next read's bytes in the shared buffer, rather
	// than read on in a buffer of its own: a copy this size costs less than the batch that a read of just the missing
	// bytes would split.
	sharedRestMax = 16 << 10
	// handOverBytes is the rest of a reply from which the loop gives its buffer to the connection and takes another,
	// if the rest fills a fourth of it.
	handOverBytes = 16 << 10
	mailBytesMax  = 256 << 10 // the largest buffer of mail that is used again
	// spareBytesMax of such buffers wait for that: a thousand subscribers who get fifty messages each in a round need
	// some 6 MiB. spareBytesKept are what a loop keeps that needed less in its last round.
	spareBytesMax  = 8 << 20
	spareBytesKept = 1 << 20
)

// In an event, Pad is the generation of the connection whose descriptor Fd is, or one of these.
const (
	padWake     = -1
	padListener = -2 // Fd is the listener's index
)

// What a loop has been told.
const (
	loopRuns int32 = iota
	loopDrains
	loopAborts
)

// loop is one event loop. What is not marked otherwise belongs to its goroutine.
type loop struct {
	t      *Transport
	index  int
	epfd   int
	wakefd int
	done   chan struct{}

	conns   []*conn // by descriptor
	open    int     // of these
	lastGen int32
	events  []unix.EpollEvent
	in, out []byte
	ready   []*conn // modeFeed, in the order of their turns
	turn    []*conn // the ready of the running turn
	linger  []lingering
	resting []*listener // out of descriptors

	mailed  []*conn // the mail being delivered: to whom
	letters []mail  // and what

	wound bool // every conn was told of the end

	load   atomic.Int64 // connections, with those on their way here
	state  atomic.Int32
	asleep atomic.Bool // the loop waits, or is about to: who has something for it must wake it
	posted atomic.Bool // mu.mail or mu.arrived is not empty, or state changed
	timed  atomic.Bool // iterations are measured

	beganNs atomic.Int64 // when the running iteration began, by Transport.nowNs; 0: the loop waits, or is not timed

	mu struct {
		sync.Mutex
		mail       []*conn
		arrived    []arrival
		stopped    bool     // wakefd is closed
		spare      [][]byte // empty buffers for mail
		spareBytes int      // their capacity
	}
}

// lingering is a closed connection and when it ends at the latest.
type lingering struct {
	c     *conn
	until time.Time
}

// arrival is a connection that another loop accepted.
type arrival struct {
	fd int
	endpoints
}

func newLoop(t *Transport, index int) (*loop, error) {
	l := &loop{t: t, index: index, done: make(chan struct{}),
		events: make([]unix.EpollEvent, eventsMax), in: make([]byte, readBytes)}
	var err error
	if l.epfd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if l.wakefd, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		unix.Close(l.epfd)
		return nil, os.NewSyscallError("eventfd", err)
	}
	// Edge-triggered, so that the counter need not be read.
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(l.wakefd), Pad: padWake}
	if err := unix.EpollCtl(l.epfd, unix.EPOLL_CTL_ADD, l.wakefd, &event); err != nil {
		unix.Close(l.epfd)
		unix.Close(l.wakefd)
		return nil, os.NewSyscallError("epoll_ctl", err)
	}
	return l, nil
}

func (l *loop) run() {
	defer l.stop()
	for {
		n := l.wait()
		timed := l.timed.Load()
		if timed {
			l.beganNs.Store(l.t.nowNs())
		}
		for i := range l.events[:n] {
			l.dispatch(&l.events[i])
		}
		if len(l.ready) > 0 {
			l.takeTurns()
		}
		if l.posted.Load() {
			l.deliver()
		}
		if len(l.linger)+len(l.resting) > 0 {
			l.expire(time.Now())
		}
		if l.state.Load() != loopRuns && l.wind() {
			return
		}
		if timed {
			l.t.noteIteration(l.t.nowNs() - l.beganNs.Swap(0))
		}
	}
}

// wait fetches events into l.events, and sleeps only if there is nothing else to do.
func (l *loop) wait() int {
	n, errno := poll(l.epfd, l.events)
	if n == 0 && errno == 0 && len(l.ready) == 0 {
		l.asleep.Store(true)
		if l.posted.Load() {
			l.asleep.Store(false)
			return 0
		}
		n, errno = await(l.epfd, l.events, l.patience())
		l.asleep.Store(false)
	}
	if errno != 0 && errno != unix.EINTR {
		panic(fmt.Sprintf("transport: epoll_wait: %v", errno)) // a descriptor or buffer of ours is wrong
	}
	return max(n, 0)
}

// patience is how long the loop may sleep, in milliseconds; -1: for ever.
func (l *loop) patience() int {
	if len(l.linger)+len(l.resting) == 0 {
		return -1
	}
	var next time.Time
	if len(l.linger) > 0 {
		next = l.linger[0].until
	}
	if len(l.resting) > 0 && (next.IsZero() || l.resting[0].until.Before(next)) {
		next = l.resting[0].until
	}
	return int(max(0, time.Until(next)+time.Millisecond-1) / time.Millisecond)
}

func (l *loop) dispatch(event *unix.EpollEvent) {
	switch event.Pad {
	case padWake:
	case padListener:
		l.accept(l.t.loops.listener(int(event.Fd)))
	default:
		if c := l.conns[event.Fd]; c != nil && c.gen == event.Pad {
			l.handle(c, event.Events)
		}
	}
}

func (l *loop) handle(c *conn, events uint32) {
	gone := events&(unix.EPOLLHUP|unix.EPOLLERR) != 0
	switch {
	case c.blocked():
		if gone || c.mode == modePark && events&unix.EPOLLRDHUP != 0 {
			l.kill(c)
		} else {
			l.drained(c)
		}
	case c.mode == modeRead:
		l.read(c) // which meets the end of the peer after its last input
	case c.mode == modeLinger:
		l.discard(c)
	case c.mode == modePark:
		if gone || events&unix.EPOLLRDHUP != 0 {
			l.kill(c)
		}
	case c.mode == modeFeed: // the end of the peer comes after the kept input
	}
}

// read reads once and feeds.
func (l *loop) read(c *conn) {
	kept := len(c.in)
	if kept > sharedRestMax {
		l.readOwn(c)
		return
	}
	n, errno := recv(c.fd, l.in[kept:])
	if errno != 0 || n == 0 {
		if errno != unix.EAGAIN {
			l.kill(c)
		}
		return
	}
	if n < c.need {
		c.in = grow(c.in, n, c.need)
		c.in = append(c.in, l.in[kept:kept+n]...)
		c.need -= n
		c.inBytes.Store(int64(len(c.in)))
		return
	}
	copy(l.in, c.in)
	l.feed(c, l.in[:kept+n], false)
}

// readOwn reads on in the buffer of the connection, which holds a large incomplete frame.
func (l *loop) readOwn(c *conn) {
	c.in = grow(c.in, 1, c.need)
	n, errno := recv(c.fd, c.in[len(c.in):cap(c.in)])
	if errno != 0 || n == 0 {
		if errno != unix.EAGAIN {
			l.kill(c)
		}
		return
	}
	c.in = c.in[:len(c.in)+n]
	if n < c.need {
		c.need -= n
		c.inBytes.Store(int64(len(c.in)))
		return
	}
	l.feed(c, c.in, true)
}

// feed lets the session run its input, in rounds of one write each. own tells that in lies in c.in.
func (l *loop) feed(c *conn, in []byte, own bool) {
	for range roundsMax {
		used, need, reply, verdict := c.session.Feed(in, l.replyBuffer())
		in = in[used:]
		c.need = 0
		if len(in) > 0 {
			c.need = need
		}
		if verdict == Abort || !l.reply(c, reply) {
			l.kill(c)
			return
		}
		c.judge(verdict)
		if c.mode == modeClose {
			in = nil
		}
		if c.mode != modeFeed || c.blocked() {
			c.keep(in, own)
			l.settle(c)
			return
		}
	}
	c.keep(in, own)
	l.enqueue(c)
}

// judge turns a verdict into the mode it asks for.
func (c *conn) judge(v Verdict) {
	switch v {
	case More:
		c.mode = modeRead
	case Flush:
		c.mode = modeFeed
	case Park:
		c.mode = modePark
		if c.resumed {
			c.resumed = false
			c.mode = modeFeed
		}
	default:
		c.mode = modeClose
	}
}

func (l *loop) replyBuffer() []byte {
	if l.out == nil {
		l.out = make([]byte, 0, replyBytes)
	}
	return l.out[:0]
}

// reply writes what a Feed appended to the loop's buffer. It reports false if the connection broke.
func (l *loop) reply(c *conn, reply []byte) bool {
	if cap(reply) <= replyBytesMax {
		l.out = reply
	}
	if len(reply) == 0 {
		return true
	}
	n, errno := send(c.fd, reply)
	if n == len(reply) {
		return true
	}
	if errno != 0 && errno != unix.EAGAIN {
		return false
	}
	rest := len(reply) - n
	if rest >= max(handOverBytes, cap(reply)/4) {
		c.out, c.sent = reply, n
		if cap(reply) <= replyBytesMax {
			l.out = nil
		}
	} else {
		c.queue(reply[n:])
	}
	c.outBytes.Add(int64(rest))
	return true
}

// settle acts on a mode that was just set: closes, or waits for what the mode waits for.
func (l *loop) settle(c *conn) {
	switch {
	case c.blocked():
		l.watch(c)
	case c.mode == modeFeed:
		l.enqueue(c)
	case c.mode == modeClose:
		l.finish(c)
	default:
		l.watch(c)
	}
}

// watch makes epoll report what the conn waits for.
func (l *loop) watch(c *conn) {
	events := c.interest()
	if events == c.events {
		return
	}
	event := unix.EpollEvent{Events: events, Fd: int32(c.fd), Pad: c.gen}
	if err := unix.EpollCtl(l.epfd, unix.EPOLL_CTL_MOD, c.fd, &event); err != nil {
		l.t.options.Logger.Warn("connection closed: epoll_ctl failed", "err", err)
		l.kill(c)
		return
	}
	c.events = events
}

// drained writes queued output and, once it is all gone, goes on with what the conn was about.
func (l *loop) drained(c *conn) {
	if !c.drain() {
		l.kill(c)
		return
	}
	if c.blocked() {
		return
	}
	if c.mode == modeFeed && !c.queued {
		l.feed(c, c.in[c.head:], true)
		return
	}
	l.settle(c)
}

// enqueue gives a conn in modeFeed a turn.
func (l *loop) enqueue(c *conn) {
	if !c.queued {
		c.queued = true
		l.ready = append(l.ready, c)
	}
}

// takeTurns feeds the conns that were ready when it began.
func (l *loop) takeTurns() {
	l.turn, l.ready = l.ready, l.turn[:0]
	for i, c := range l.turn {
		l.turn[i] = nil
		c.queued = false
		if c.mode == modeFeed && !c.blocked() {
			l.feed(c, c.in[c.head:], true)
		}
	}
}

// deliver sees to the mail.
func (l *loop) deliver() {
	l.mu.Lock()
	mailed, arrived := l.mu.mail, l.mu.arrived
	l.mu.mail, l.mu.arrived = l.mailed[:0], nil
	l.posted.Store(false)
	for _, c := range mailed {
		l.letters = append(l.letters, c.mail)
		c.mail = mail{gone: c.mail.gone}
	}
	l.mu.Unlock()
	for _, a := range arrived {
		l.admit(a)
	}
	for i, c := range mailed {
		l.obey(c, &l.letters[i])
	}
	l.mu.Lock()
	used := 0
	for i := range l.letters {
		used += cap(l.letters[i].out)
		l.recycleLocked(l.letters[i].out)
	}
	l.trimLocked(max(spareBytesKept, 2*used))
	l.mu.Unlock()
	clear(mailed)
	clear(l.letters)
	l.mailed, l.letters = mailed, l.letters[:0]
}

// recycleLocked keeps a buffer of mail that is delivered for the next mail, whoever's it is: a busy channel's messages to a
// client fill in each round a buffer that an idle connection may not keep. l.mu must be held.
func (l *loop) recycleLocked(buf []byte) {
	switch {
	case cap(buf) == 0:
	case cap(buf) <= mailBytesMax && l.mu.spareBytes+cap(buf) <= spareBytesMax:
		l.mu.spare = append(l.mu.spare, buf[:0])
		l.mu.spareBytes += cap(buf)
	default:
		l.t.release(buf, keepBytes)
	}
}

// mailBufferLocked returns a buffer for mail, or nil if none is spare. l.mu must be held.
func (l *loop) mailBufferLocked() []byte {
	last := len(l.mu.spare) - 1
	if last < 0 {
		return nil
	}
	buf := l.mu.spare[last]
	l.mu.spare[last] = nil
	l.mu.spare = l.mu.spare[:last]
	l.mu.spareBytes -= cap(buf)
	return buf
}

// trimLocked lets go of spare buffers until they have no more than the given number of bytes. l.mu must be held.
func (l *loop) trimLocked(bytesMax int) {
	for l.mu.spareBytes > bytesMax {
		l.t.release(l.mailBufferLocked(), keepBytes)
	}
}

// obey does what a mail says.
func (l *loop) obey(c *conn, m *mail) {
	if c.mode == modeGone || c.mode == modeLinger {
		return
	}
	if m.kill {
		l.kill(c)
		return
	}
	if len(m.out) > 0 {
		n, ok := c.write(m.out)
		if !ok {
			l.kill(c)
			return
		}
		c.outBytes.Add(-int64(n))
	}
	switch {
	case m.flush:
		c.mode = modeClose
	case m.resume && c.mode == modePark:
		c.mode = modeFeed
	case m.resume:
		c.resumed = true
	}
	l.settle(c)
}

// notifyLocked tells the loop that c has mail. l.mu must be held.
func (l *loop) notifyLocked(c *conn) {
	if c.mail.waiting || c.mail.gone {
		return
	}
	c.mail.waiting = true
	l.mu.mail = append(l.mu.mail, c)
	l.posted.Store(true)
	l.wakeLocked()
}

// wakeLocked makes the loop look about. l.mu must be held.
func (l *loop) wakeLocked() {
	if l.asleep.CompareAndSwap(true, false) && !l.mu.stopped {
		// It can fail only if the counter is full, and then the loop has been woken often enough.
		var one [8]byte
		binary.NativeEndian.PutUint64(one[:], 1)
		unix.Write(l.wakefd, one[:])
	}
}
