package transport

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// segments returns how many TCP segments with data the client has got: on the loopback each small write is one.
func (c *client) segments() int {
	rc, err := c.raw.(*net.TCPConn).SyscallConn()
	if err != nil {
		c.t.Fatal(err)
	}
	var info *unix.TCPInfo
	rc.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
	if err != nil {
		c.t.Fatal(err)
	}
	return int(info.Data_segs_in)
}

func TestOneWritePerBatch(t *testing.T) {
	for _, kind := range []string{"plain", "stream"} {
		t.Run(kind, func(t *testing.T) {
			c, _ := start(t, kind, 1).dial()
			for i := range 10 {
				c.send("%s", strings.Repeat("echo a\n", 500))
				c.expect(strings.Repeat("a\n", 500))
				if n := c.segments(); n != i+1 {
					t.Fatalf("%d segments after %d batches", n, i+1)
				}
			}
		})
	}
}

// held returns the size of the buffers of a session's connection, at a moment when its loop sleeps.
func (s *lineSession) held(t *testing.T) int {
	t.Helper()
	c := s.c.(*conn)
	c.loop.quiet(t)
	c.loop.mu.Lock() // which the loop takes before it changes the buffers of a connection that is closed
	defer c.loop.mu.Unlock()
	return cap(c.in) + cap(c.out)
}

func TestCompleteBatchesAreNotCopied(t *testing.T) {
	c, s := start(t, "plain", 1).dial()
	for range 100 {
		c.send("echo a\necho b\n")
		c.expect("a\nb\n")
	}
	if n := s.held(t); n > 0 {
		t.Errorf("%d bytes of its own", n)
	}
}

// A connection that has nothing in flight does not keep the buffers it needed.
func TestBuffersAreReleased(t *testing.T) {
	h := start(t, "plain", 1)
	var sessions []*lineSession
	for range 3 {
		c, s := h.dial()
		c.send("bulk 1000000\n%sbulk 100\nxxx", strings.Repeat("x", 1000000))
		c.expect("1000000\n")
		c.send("%sbig %d\n", strings.Repeat("x", 97), stuckBytes)
		eventually(t, "output pending", func() bool { return s.c.OutputBytes() > 0 })
		c.expect("100\n")
		c.expectX(stuckBytes)
		c.send("echo a\n")
		c.expect("a\n")
		sessions = append(sessions, s)
	}
	for _, s := range sessions {
		if n := s.held(t); n > 2*keepBytes {
			t.Errorf("%d bytes kept", n)
		}
	}
	if n := h.tr.ReleasedBytes(); n < 3*1000000 {
		t.Errorf("%d bytes released", n)
	}
}

// quiet waits until the loop sleeps: it has nothing to do, and nothing is reported to it again and again.
func (l *loop) quiet(t *testing.T) {
	t.Helper()
	eventually(t, "the loop sleeps", l.asleep.Load)
}

func TestHangUpDoesNotSpin(t *testing.T) {
	for _, kind := range []string{"plain", "unix"} {
		t.Run(kind, func(t *testing.T) {
			h := start(t, kind, 1)
			l := h.tr.loops.all[0]
			stuck, s := h.dial()
			stuck.send("%s", strings.Repeat("big 1000000\n", 50))
			eventually(t, "output pending", func() bool { return s.c.OutputBytes() > 0 })
			stuck.halfClose()
			l.quiet(t)
			c, s := h.dial()
			c.send("close\n")
			c.expect("bye\n")
			s.expectClosed(t)
			c.halfClose()
			l.quiet(t)
		})
	}
}

// A session that never comes to an end does not keep the others of its loop from theirs.
func TestFairness(t *testing.T) {
	h := start(t, "plain", 1)
	busy, s := h.dial()
	other, _ := h.dial()
	s.spin.Store(true)
	busy.send("spin\necho end\n")
	for range 100 {
		other.send("echo a\n")
		other.expect("a\n")
	}
	third, _ := h.dial()
	third.send("echo b\n")
	third.expect("b\n")
	s.spin.Store(false)
	busy.expect("end\n")
}

func TestConnectionsSpreadOverLoops(t *testing.T) {
	for _, kind := range []string{"plain", "stream"} {
		t.Run(kind, func(t *testing.T) {
			h := start(t, kind, 4)
			per := [4]int{}
			for range 12 {
				c, s := h.dial()
				c.send("echo a\n")
				c.expect("a\n")
				per[s.c.Loop()]++
			}
			if per != [4]int{3, 3, 3, 3} {
				t.Errorf("got %v", per)
			}
		})
	}
}

// A new connection goes to the loop that has the fewest.
func TestConnectionsFillGaps(t *testing.T) {
	h := start(t, "plain", 3)
	var clients []*client
	var sessions []*lineSession
	for range 9 {
		c, s := h.dial()
		clients, sessions = append(clients, c), append(sessions, s)
	}
	for i, c := range clients {
		if sessions[i].c.Loop() == 1 {
			c.Close()
			sessions[i].expectClosed(t)
		}
	}
	eventually(t, "connections gone", func() bool { return h.tr.loops.all[1].load.Load() == 0 })
	for range 3 {
		if _, s := h.dial(); s.c.Loop() != 1 {
			t.Errorf("on loop %d", s.c.Loop())
		}
	}
}

func TestSocketOptions(t *testing.T) {
	for _, kind := range []string{"plain", "stream"} {
		_, s := start(t, kind, 1).dial()
		for _, o := range [][3]int{{unix.IPPROTO_TCP, unix.TCP_NODELAY, 1}, {unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
			{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 300}, {unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 100},
			{unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 3}} {
			if v, err := unix.GetsockoptInt(s.c.FD(), o[0], o[1]); v != o[2] || err != nil {
				t.Errorf("%s: option %v: %d, %v", kind, o, v, err)
			}
		}
	}
}

// A listener for IPv6 leaves IPv4 alone, so that both can have the same port.
func TestIPv6Only(t *testing.T) {
	h := start(t, "plain", 1)
	if _, err := h.tr.Listen("tcp", "[::]:0", ListenOptions{}); err != nil {
		t.Skipf("no IPv6: %v", err)
	}
	if _, err := h.tr.listenStream("tcp", "[::]:0", ListenOptions{}); err != nil {
		t.Fatal(err)
	}
	rc, err := h.tr.mu.listeners[0].(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	fds := []int{h.tr.loops.mu.listeners[1].fd}
	rc.Control(func(fd uintptr) { fds = append(fds, int(fd)) })
	for _, fd := range fds {
		if v, err := unix.GetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY); v != 1 || err != nil {
			t.Errorf("IPV6_V6ONLY is %d, %v", v, err)
		}
	}
}

const descriptorChild = "TRANSPORT_TEST_DESCRIPTORS"

// serveWithFewDescriptors is what TestOutOfDescriptors does in the process it starts.
func serveWithFewDescriptors() {
	h := &harness{sessions: make(chan *lineSession, 1000)}
	tr, err := New(Options{Loops: 1, Accept: h.accept, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		panic(err)
	}
	var a net.Addr
	if os.Getenv(descriptorChild) == "stream" {
		a, err = tr.listenStream("tcp", "127.0.0.1:0", ListenOptions{})
	} else {
		a, err = tr.Listen("tcp", "127.0.0.1:0", ListenOptions{})
	}
	if err != nil {
		panic(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 40, Max: 40}); err != nil {
		panic(err)
	}
	fmt.Println(a)
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

func TestOutOfDescriptors(t *testing.T) {
	if os.Getenv(descriptorChild) != "" {
		serveWithFewDescriptors()
	}
	for _, kind := range []string{"plain", "stream"} {
		t.Run(kind, func(t *testing.T) {
			child := exec.Command(os.Args[0], "-test.run=^TestOutOfDescriptors$")
			child.Env = append(os.Environ(), descriptorChild+"="+kind)
			stdin, _ := child.StdinPipe()
			stdout, _ := child.StdoutPipe()
			stderr, _ := child.StderrPipe()
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			defer child.Wait()
			defer stdin.Close()
			addr, err := bufio.NewReader(stdout).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			h := &harness{t: t, network: "tcp", addr: strings.TrimSpace(addr)}
			var clients []*client
			for range 60 {
				c := h.connect()
				defer c.Close()
				clients = append(clients, c)
			}
			logged := bufio.NewScanner(stderr)
			for logged.Scan() && !strings.Contains(logged.Text(), "too many open files") {
			}
			go io.Copy(io.Discard, stderr)
			clients[0].send("echo a\n")
			clients[0].expect("a\n")
			clients[59].send("echo b\n")
			for _, c := range clients[:45] {
				c.Close()
			}
			clients[59].expect("b\n")
		})
	}
}

// TestMailBuffersAreKeptWithinBounds: those of one delivery serve the next, up to a size each and together.
func TestMailBuffersAreKeptWithinBounds(t *testing.T) {
	h := start(t, "plain", 1)
	h.posts.Store(true)
	var l *loop
	for i := range 40 {
		c, s := h.dial()
		l = s.c.(*conn).loop
		size := mailBytesMax/2 + i%2*mailBytesMax // below and beyond the largest that is kept
		s.c.Post(bytes.Repeat([]byte("x"), size))
		c.expectX(size)
		s.c.Post([]byte("x"))
		c.expectX(1)
	}
	l.quiet(t)
	l.mu.Lock()
	defer l.mu.Unlock()
	total := 0
	for _, buf := range l.mu.spare {
		if cap(buf) > mailBytesMax {
			t.Errorf("a buffer of %d bytes is kept", cap(buf))
		}
		total += cap(buf)
	}
	if total != l.mu.spareBytes || total == 0 || total > spareBytesMax {
		t.Errorf("%d bytes are kept, %d counted", total, l.mu.spareBytes)
	}
}
