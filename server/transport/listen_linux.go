package transport

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// loops are the event loops of a Transport and their listeners. The first loop accepts for all.
type loops struct {
	all  []*loop
	next int // the loop to look at first for the next connection; the first loop's own

	mu struct {
		sync.Mutex
		listeners []*listener // those closed stay, so that indexes stay
	}
}

// listener is a listening socket.
type listener struct {
	index int
	path  string // of a Unix socket, else empty
	tcp   bool
	until time.Time // rests until then; the first loop's own

	// mu guards fd: while a thread accepts from it no other may close it, and let the number become another socket.
	mu sync.Mutex
	fd int // -1: closed
}

func newLoops(t *Transport) (*loops, error) {
	ls := &loops{}
	for i := range t.options.Loops {
		l, err := newLoop(t, i)
		if err != nil {
			for _, l := range ls.all {
				l.stop()
			}
			return nil, err
		}
		ls.all = append(ls.all, l)
	}
	return ls, nil
}

func (ls *loops) start() {
	for _, l := range ls.all {
		go l.run()
	}
}

// time says whether iterations are measured.
func (ls *loops) time(on bool) {
	for _, l := range ls.all {
		l.timed.Store(on)
	}
}

// runningNs is how long the longest of the iterations under way has taken so far.
func (ls *loops) runningNs(nowNs int64) (longest int64) {
	for _, l := range ls.all {
		if began := l.beganNs.Load(); began != 0 {
			longest = max(longest, nowNs-began)
		}
	}
	return longest
}

func (ls *loops) drain() { ls.tell(loopDrains) }
func (ls *loops) abort() { ls.tell(loopAborts) }

func (ls *loops) tell(state int32) {
	for _, l := range ls.all {
		l.mu.Lock()
		l.state.Store(state)
		l.posted.Store(true)
		l.wakeLocked()
		l.mu.Unlock()
	}
}

func (ls *loops) wait() {
	for _, l := range ls.all {
		<-l.done
	}
}

func (ls *loops) listener(i int) *listener {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.mu.listeners[i]
}

func (ls *loops) closeListeners() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, ln := range ls.mu.listeners {
		ln.close()
	}
}

func (ln *listener) close() {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if ln.fd < 0 {
		return
	}
	if ln.path != "" {
		os.Remove(ln.path)
	}
	unix.Close(ln.fd)
	ln.fd = -1
}

// listenPlain listens for connections without TLS.
func (t *Transport) listenPlain(network, addr string, o ListenOptions) (net.Addr, error) {
	ln := &listener{tcp: network == "tcp"}
	var err error
	switch network {
	case "tcp":
		ln.fd, err = listenTCP(addr, t.options.Backlog)
	case "unix":
		ln.path = addr
		ln.fd, err = listenUnix(addr, &o, t.options.Backlog)
	default:
		err = net.UnknownNetworkError(network)
	}
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", addr, err)
	}
	bound, err := boundTo(ln)
	if err == nil {
		err = t.register(ln)
	}
	if err != nil {
		ln.close()
		return nil, fmt.Errorf("listen at %s: %w", addr, err)
	}
	return bound, nil
}

// register hands a listener to the first loop.
func (t *Transport) register(ln *listener) error {
	ls := t.loops
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if t.stopping.Load() {
		return errShutdown
	}
	ln.index = len(ls.mu.listeners)
	ls.mu.listeners = append(ls.mu.listeners, ln)
	return ln.watch(ls.all[0].epfd)
}

func listenTCP(addr string, backlog int) (int, error) {
	a, err := resolve(addr)
	if err != nil {
		return -1, err
	}
	family, sa := unix.AF_INET, unix.Sockaddr(&unix.SockaddrInet4{Port: int(a.Port())})
	if a.Addr().Is4() {
		sa.(*unix.SockaddrInet4).Addr = a.Addr().As4()
	} else {
		v6 := &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
		if zone := a.Addr().Zone(); zone != "" {
			link, err := net.InterfaceByName(zone)
			if err != nil {
				return -1, err
			}
			v6.ZoneId = uint32(link.Index)
		}
		family, sa = unix.AF_INET6, v6
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	if family == unix.AF_INET6 {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1)
	}
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if err != nil {
		unix.Close(fd)
		return -1, os.NewSyscallError("setsockopt", err)
	}
	return bindAndListen(fd, sa, backlog)
}

func listenUnix(path string, o *ListenOptions, backlog int) (int, error) {
	if err := removeSocket(path); err != nil {
		return -1, err
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	if fd, err = bindAndListen(fd, &unix.SockaddrUnix{Name: path}, backlog); err != nil {
		return fd, err
	}
	if err := o.admit(path); err != nil {
		unix.Close(fd)
		os.Remove(path)
		return -1, err
	}
	return fd, nil
}

// bindAndListen closes fd if it fails.
func bindAndListen(fd int, sa unix.Sockaddr, backlog int) (int, error) {
	if err := unix.Bind(fd, sa); err != nil {
		unix.Close(fd)
		return -1, os.NewSyscallError("bind", err)
	}
	if err := unix.Listen(fd, backlog); err != nil {
		unix.Close(fd)
		return -1, os.NewSyscallError("listen", err)
	}
	return fd, nil
}

func boundTo(ln *listener) (net.Addr, error) {
	if ln.path != "" {
		return &net.UnixAddr{Name: ln.path, Net: "unix"}, nil
	}
	sa, err := unix.Getsockname(ln.fd)
	if err != nil {
		return nil, os.NewSyscallError("getsockname", err)
	}
	return net.TCPAddrFromAddrPort(addrPort(sa)), nil
}

func addrPort(sa unix.Sockaddr) netip.AddrPort {
	switch a := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port))
	}
	return netip.AddrPort{}
}

// watch puts the listener into the epoll set.
func (ln *listener) watch(epfd int) error {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if ln.fd < 0 {
		return nil
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(ln.index), Pad: padListener}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(epfd, unix.EPOLL_CTL_ADD, ln.fd, &event))
}

// accept4 returns -1 with no error if the listener is closed.
func (ln *listener) accept4() (int, unix.Sockaddr, error) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if ln.fd < 0 {
		return -1, nil, nil
	}
	return unix.Accept4(ln.fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
}

// accept takes new connections and spreads them over the loops.
func (l *loop) accept(ln *listener) {
	for range acceptsMax {
		fd, peer, err := ln.accept4()
		switch err {
		case nil:
			if fd < 0 {
				return
			}
		case unix.EAGAIN:
			return
		case unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM:
			l.rest(ln, err)
			return
		default: // that connection broke before it was accepted
			continue
		}
		a := arrival{fd: fd, endpoints: endpoints{path: ln.path}}
		if ln.tcp {
			a.remote = addrPort(peer)
			if sa, err := unix.Getsockname(fd); err == nil {
				a.local = addrPort(sa)
			}
			l.t.tune(fd)
		}
		l.t.loops.place(l, a)
	}
}

// rest takes the listener out of the epoll set for a while, which would else report it all the time.
func (l *loop) rest(ln *listener, cause error) {
	l.t.options.Logger.Warn("accepting no connections for a moment", "err", cause, "pause", acceptBackoff)
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if ln.fd < 0 || unix.EpollCtl(l.epfd, unix.EPOLL_CTL_DEL, ln.fd, nil) != nil {
		return
	}
	ln.until = time.Now().Add(acceptBackoff)
	l.resting = append(l.resting, ln)
}

// tune sets the options of a new TCP connection. A failure leaves the system's default.
func (t *Transport) tune(fd int) {
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	seconds := t.options.KeepAliveSeconds()
	if seconds <= 0 {
		return
	}
	unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, seconds)
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, max(1, seconds/keepAliveProbes))
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPCNT, keepAliveProbes)
}

// place gives a connection to the loop that has the fewest, in turn among equals. from is the first loop.
func (ls *loops) place(from *loop, a arrival) {
	best := ls.all[ls.next%len(ls.all)]
	for i := range ls.all {
		if l := ls.all[(ls.next+i)%len(ls.all)]; l.load.Load() < best.load.Load() {
			best = l
		}
	}
	ls.next = best.index + 1
	best.load.Add(1)
	if best == from {
		best.admit(a)
		return
	}
	best.mu.Lock()
	defer best.mu.Unlock()
	if best.mu.stopped {
		unix.Close(a.fd)
		return
	}
	best.mu.arrived = append(best.mu.arrived, a)
	best.posted.Store(true)
	best.wakeLocked()
}

// admit makes a connection a client of the loop, unless it is refused.
func (l *loop) admit(a arrival) {
	c := &conn{endpoints: a.endpoints, loop: l, fd: a.fd, events: unix.EPOLLIN}
	if l.state.Load() == loopRuns {
		var refusal []byte
		if c.session, refusal = l.t.options.Accept(c); c.session == nil {
			// What the client has sent already would turn the close into a reset that may overtake the refusal.
			recv(c.fd, l.in)
			send(c.fd, refusal)
		}
	}
	if c.session == nil {
		l.mu.Lock()
		c.mail = mail{waiting: c.mail.waiting, gone: true}
		l.mu.Unlock()
		c.mode = modeGone
		l.load.Add(-1)
		unix.Close(c.fd)
		return
	}
	l.lastGen = max(1, l.lastGen+1)
	c.gen = l.lastGen
	for len(l.conns) <= c.fd {
		l.conns = append(l.conns, nil)
	}
	l.conns[c.fd] = c
	l.open++
	event := unix.EpollEvent{Events: c.events, Fd: int32(c.fd), Pad: c.gen}
	if err := unix.EpollCtl(l.epfd, unix.EPOLL_CTL_ADD, c.fd, &event); err != nil {
		l.t.options.Logger.Warn("connection closed: epoll_ctl failed", "err", err)
		l.kill(c)
	}
}
