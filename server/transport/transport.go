// Package transport carries bytes between sockets and sessions and knows nothing else about them.
//
// A Session is a state machine: it is fed input and appends output. Two implementations drive it behind the same
// interfaces. On Linux plain connections belong to event loops of our own, one per core, each an epoll instance and
// a goroutine (loop_linux.go); TLS connections, and every connection on other systems, have a goroutine each
// (stream.go). What holds for both:
//
//   - one write per batch: everything complete in one read is run before its replies are written;
//   - backpressure: while a client does not take its output, nothing more is read from it and none of its input is
//     run, so what the server holds for it is at most HighWater and the last reply;
//   - a connection that is closed orderly closes after its output has drained;
//   - an idle connection holds no buffer of more than a few KiB.
package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Verdict is what a session wants done after a Feed.
type Verdict uint8

const (
	// More: everything complete was run; wait for more input.
	More Verdict = iota
	// Flush: the output reached HighWater, or the session wants it written: write it, then feed again with what is
	// left of the input, even if that is nothing.
	Flush
	// Park: keep the rest of the input, stop reading and feeding until Conn.Resume. A peer that closes its side
	// meanwhile ends the connection: whoever waits for a key and is gone must not be given it.
	Park
	// Close: write the output, then close the connection once all of it has drained.
	Close
	// Abort: close at once and drop the output.
	Abort
)

// HighWater is the output, in bytes, at which a session should answer Flush.
const HighWater = 64 << 10

// Session is one client's protocol state. Feed and Closed are never called concurrently for one session.
type Session interface {
	// Feed runs the complete commands at the head of in and appends their replies to out, which it returns as reply.
	// used is the number of bytes of in it is done with; the rest is given again, longer, at the next Feed. need is
	// the least number of further bytes that can complete the frame at in[used:] (0: unknown); Feed is not called
	// before they have come. Neither in nor out may be kept. After a Flush or a Resume in may be empty. A session
	// that was resumed without cause answers Park again.
	Feed(in, out []byte) (used, need int, reply []byte, v Verdict)
	// Closed is called exactly once, after the last Feed, when the connection is gone.
	Closed()
}

// Conn is what others may do with a client. Every method may be called from any goroutine, also from within Feed,
// where the effect comes after Feed has returned; none of them blocks. After the connection is gone they do nothing.
type Conn interface {
	// Post sends a copy of b after what is already queued, and returns OutputBytes.
	Post(b []byte) int
	// Claim moves what was posted and is not being written yet to the end of dst, for a session that wants it before, or
	// among, its own output. It may be called from within Feed only. OutputBytes tells there whether it finds anything.
	Claim(dst []byte) []byte
	// Resume ends a Park: the session is fed its kept input again. A Resume that comes before the Park takes effect
	// ends that Park.
	Resume()
	// Close closes the connection: after its output has drained if flush is set, else at once.
	Close(flush bool)
	// RemoteAddr and LocalAddr are written as Redis writes them: "127.0.0.1:6379", "[::1]:6379", "/tmp/sock:0".
	RemoteAddr() string
	LocalAddr() string
	// FD is the descriptor's number, for display only.
	FD() int
	// Loop is the index of the event loop that runs the session, below the number of loops. Connections with a
	// goroutine of their own are spread over the indexes.
	Loop() int
	// OutputBytes is what is queued and not yet written.
	OutputBytes() int
	// InputBytes is what is buffered and not yet consumed.
	InputBytes() int
	// Loopback reports whether the peer has a loopback address; false for Unix sockets.
	Loopback() bool
	Unix() bool
	TLS() bool
}

// Accept is called for each new connection, on the loop that will own it, for TLS after the handshake. It returns
// the session, or nil and a refusal that is written before the connection is closed.
type Accept func(c Conn) (s Session, refusal []byte)

// Options configure a Transport. Accept must be set.
type Options struct {
	// Loops is the number of event loops; 0: one per processor that Go may use.
	Loops  int
	Accept Accept
	// Logger gets what an operator should know; nil: nothing is logged.
	Logger *slog.Logger
	// KeepAliveSeconds is asked for each new TCP connection: idle time before the first keepalive probe. Nil or a
	// result of 0: no keepalive.
	KeepAliveSeconds func() int
	// Backlog of each listener; 0: 511, as Redis has it. Listeners for TLS use the system's maximum.
	Backlog int
}

// ListenOptions configure one listener.
type ListenOptions struct {
	// TLS, if set, is asked for the configuration of each new connection, so that certificates can be replaced.
	TLS func() *tls.Config
	// UnixPerm are the permissions of a Unix socket; 0: what the umask leaves.
	UnixPerm fs.FileMode
	// UnixGroup is the number of the group that a Unix socket is given to; 0: it stays that of the process.
	UnixGroup int
}

// admit gives a Unix socket to its group, and then its permissions.
func (o *ListenOptions) admit(path string) error {
	if o.UnixGroup != 0 {
		if err := os.Chown(path, -1, o.UnixGroup); err != nil {
			return err
		}
	}
	if o.UnixPerm != 0 {
		return os.Chmod(path, o.UnixPerm)
	}
	return nil
}

const (
	backlogDefault = 511
	// acceptBackoff is how long a listener rests when the process or the system has run out of descriptors.
	acceptBackoff = 100 * time.Millisecond
	// keepAliveProbes go unanswered, spread over the keepalive time, before a connection is given up.
	keepAliveProbes = 3
	// lingerTime and lingerBytesMax bound how long a closed connection is kept to take, unread, what its peer is
	// still sending. Closing at once would make the kernel answer that with a reset, which destroys the replies still
	// on their way.
	lingerTime     = time.Second
	lingerBytesMax = 16 << 20
	// keepBytes is the largest buffer an idle connection keeps.
	keepBytes = 4 << 10
	// replyBytes is the size of a buffer for replies: a session overshoots HighWater by its last reply.
	replyBytes = HighWater + HighWater/2
	// replyBytesMax is the largest such buffer that is used again after a large reply.
	replyBytesMax = 1 << 20
	handshakeTime = 10 * time.Second
	// roundsMax is how many times a session may fill HighWater before the other connections get their turn.
	roundsMax = 4
)

// errShutdown answers what is asked of a transport that was shut down.
var errShutdown = errors.New("transport: shut down")

// Transport owns listeners and connections.
type Transport struct {
	options  Options
	loops    *loops
	released atomic.Int64

	started   time.Time    // nowNs counts from here
	timed     atomic.Bool  // iterations are measured
	longestNs atomic.Int64 // of those that ended since the latest LongestIteration

	// handshakeTime is how long a client may take for the TLS handshake.
	handshakeTime time.Duration

	streamed atomic.Uint64 // connections with goroutines so far: spreads them over the loop indexes
	stopping atomic.Bool
	streamWG sync.WaitGroup // goroutines of streams and of their listeners
	replies  sync.Pool      // of *[]byte: buffers for the replies of streams

	mu struct {
		sync.Mutex
		listeners []net.Listener // those whose connections get goroutines
		streams   map[*stream]struct{}
	}
}

// New starts a transport that listens nowhere yet.
func New(o Options) (*Transport, error) {
	if o.Accept == nil {
		return nil, errors.New("transport: no Accept")
	}
	if o.Loops <= 0 {
		o.Loops = runtime.GOMAXPROCS(0)
	}
	if o.Backlog <= 0 {
		o.Backlog = backlogDefault
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.KeepAliveSeconds == nil {
		o.KeepAliveSeconds = func() int { return 0 }
	}
	t := &Transport{options: o, handshakeTime: handshakeTime, started: time.Now()}
	t.replies.New = func() any {
		b := make([]byte, 0, replyBytes)
		return &b
	}
	t.mu.streams = make(map[*stream]struct{})
	var err error
	if t.loops, err = newLoops(t); err != nil {
		return nil, fmt.Errorf("start event loops: %w", err)
	}
	t.loops.start()
	return t, nil
}

// Listen accepts connections at addr. network is "tcp", where port 0 takes a free one and IPv6 addresses take IPv6
// only, or "unix", where addr is a path and a socket that is already there is replaced.
func (t *Transport) Listen(network, addr string, o ListenOptions) (net.Addr, error) {
	if t.stopping.Load() {
		return nil, errShutdown
	}
	if o.TLS != nil {
		return t.listenStream(network, addr, o)
	}
	return t.listenPlain(network, addr, o)
}

// CloseListeners stops accepting. Connections live on.
func (t *Transport) CloseListeners() {
	t.loops.closeListeners()
	t.mu.Lock()
	listeners := t.mu.listeners
	t.mu.listeners = nil
	t.mu.Unlock()
	for _, l := range listeners {
		l.Close()
	}
}

// Shutdown stops accepting, lets each Feed in flight finish, writes what is pending and closes every connection.
// When ctx ends first, the connections are closed with what they have, and its error is returned. No goroutine of the
// transport is left afterwards. It must not be called from a session.
func (t *Transport) Shutdown(ctx context.Context) error {
	t.stopping.Store(true)
	t.CloseListeners()
	drained := make(chan struct{})
	go func() {
		t.loops.wait()
		t.streamWG.Wait()
		close(drained)
	}()
	t.loops.drain()
	t.closeStreams(true)
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
	}
	t.loops.abort()
	t.closeStreams(false)
	<-drained
	return ctx.Err()
}

// ReleasedBytes counts the buffers of more than a few KiB that connections have given up since the start. A
// housekeeper that sees it grow by much may return memory to the system (debug.FreeOSMemory).
func (t *Transport) ReleasedBytes() int64 { return t.released.Load() }

// TimeIterations says whether it is measured how long an event loop keeps its other connections waiting. That costs two
// looks at the clock an iteration.
func (t *Transport) TimeIterations(on bool) {
	t.timed.Store(on)
	t.loops.time(on)
	t.longestNs.Store(0)
}

// LongestIteration returns how long, at most, an event loop was away from its sockets since the latest call: over all
// iterations that have ended since, and those that have not ended yet. Where a connection has a goroutine of its own it is
// the longest Feed that has ended. 0 unless TimeIterations says that it is measured.
func (t *Transport) LongestIteration() time.Duration {
	return time.Duration(max(t.longestNs.Swap(0), t.loops.runningNs(t.nowNs())))
}

// nowNs is never 0.
func (t *Transport) nowNs() int64 { return int64(time.Since(t.started)) + 1 }

func (t *Transport) noteIteration(ns int64) {
	for {
		longest := t.longestNs.Load()
		if ns <= longest || t.longestNs.CompareAndSwap(longest, ns) {
			return
		}
	}
}

// release drops buf, of which nothing is needed any more, or hands it back emptied if it has at most keep bytes.
func (t *Transport) release(buf []byte, keep int) []byte {
	if cap(buf) <= keep {
		return buf[:0]
	}
	t.released.Add(int64(cap(buf)))
	return nil
}

// compact returns a buffer with rest, the tail of buf, at its front. It does not keep the buffer of a large frame for a
// small rest.
func (t *Transport) compact(buf, rest []byte, keep int) []byte {
	if len(rest) == 0 {
		return t.release(buf, keep)
	}
	if cap(buf) > keep && len(rest) < cap(buf)/4 {
		small := append([]byte(nil), rest...)
		t.release(buf, keep)
		return small
	}
	return buf[:copy(buf, rest)]
}

// grow returns buf with room for at least room more bytes. It doubles, so that the copying stays linear, but does not
// overshoot the end of a frame that is known to end need bytes from here. What a client announced is never allocated
// before it arrives.
func grow(buf []byte, room, need int) []byte {
	if cap(buf)-len(buf) >= room {
		return buf
	}
	size := max(2*cap(buf), len(buf)+room)
	if need > 0 && need < size-len(buf) {
		size = len(buf) + max(need, room)
	}
	grown := make([]byte, len(buf), size)
	copy(grown, buf)
	return grown
}
