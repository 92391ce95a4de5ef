package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestBatch(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		c, s := h.dial()
		c.send("echo a\necho b\nflush\necho c\nec")
		c.expect("a\nb\nflushed\nc\n")
		c.send("ho d\n")
		c.expect("d\n")
		eventually(t, "input consumed", func() bool { return s.c.InputBytes() == 0 })
	})
}

// A random stream, cut anywhere, is answered like the same stream in one piece.
func TestCuts(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 0))
		var stream, want bytes.Buffer
		for i := range 2000 {
			switch r.IntN(8) {
			case 0:
				stream.WriteString("flush\n")
				want.WriteString("flushed\n")
			case 1:
				stream.WriteString("early\n")
				want.WriteString("early\n")
			case 2:
				n := r.IntN(1 << r.IntN(18))
				fmt.Fprintf(&stream, "bulk %d\n%s", n, strings.Repeat("x", n))
				fmt.Fprintf(&want, "%d\n", n)
			case 3:
				n := r.IntN(1 << r.IntN(18))
				fmt.Fprintf(&stream, "big %d\n", n)
				want.Write(bytes.Repeat([]byte("x"), n))
			default:
				fmt.Fprintf(&stream, "echo %d\n", i)
				fmt.Fprintf(&want, "%d\n", i)
			}
		}
		c, _ := h.dial()
		go func() {
			for b := stream.Bytes(); len(b) > 0; {
				n := min(len(b), 1+r.IntN(1<<r.IntN(17)))
				if _, err := c.Write(b[:n]); err != nil {
					return // the reader sees it too
				}
				b = b[n:]
			}
			c.Conn.(interface{ CloseWrite() error }).CloseWrite()
		}()
		c.expect(want.String())
		c.expectEnd()
	})
}

func TestLargeFrameInSmallPieces(t *testing.T) {
	const size, piece = 8 << 20, 1 << 10
	each(t, func(t *testing.T, h *harness) {
		c, s := h.dial()
		released := h.tr.ReleasedBytes()
		c.send("echo a\nbulk %d\n", size)
		c.expect("a\n")
		x := bytes.Repeat([]byte("x"), piece)
		for range size / piece {
			if _, err := c.Write(x); err != nil {
				t.Fatal(err)
			}
		}
		c.expect(fmt.Sprintf("%d\n", size))
		// At most: the first line with and without the header's end, then the whole.
		if n := s.feeds.Load(); n > 3 {
			t.Errorf("fed %d times", n)
		}
		c.send("echo b\n")
		c.expect("b\n")
		if h.tr.ReleasedBytes() < released+size {
			t.Error("the buffer was not released")
		}
	})
}

// A client that sends 64 KiB of commands with large replies and reads none of them makes the server hold one of them.
func TestBackpressure(t *testing.T) {
	const size = 1 << 20
	each(t, func(t *testing.T, h *harness) {
		c, s := h.dial()
		count := HighWater / len("big 1048576\n")
		c.send("%s", strings.Repeat(fmt.Sprintf("big %d\n", size), count))
		eventually(t, "output pending", func() bool { return s.c.OutputBytes() > 0 })
		const taken = 16
		part := make([]byte, size/64)
		for range taken * 64 {
			if n := s.c.OutputBytes(); n > size+HighWater {
				t.Fatalf("%d bytes of output held", n)
			}
			if _, err := c.read(part); err != nil {
				t.Fatal(err)
			}
		}
		// What kernel buffers hold, and one reply, may be ahead of the client.
		if n := s.ran.Load(); n > taken+48 {
			t.Errorf("%d commands run while the client took %d replies", n, taken)
		}
		c.raw.Close()
		s.expectClosed(t)
	})
}

// Pipelined input that was kept while the output was stuck is run when it moves again.
func TestKeptInputAfterBackpressure(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		c, s := h.dial()
		go func() {
			if _, err := fmt.Fprintf(c, "%secho end\n", strings.Repeat("big 1000000\n", 12)); err != nil {
				t.Error(err)
			}
		}()
		eventually(t, "output pending", func() bool { return s.c.OutputBytes() > 0 })
		c.expectX(12 * 1000000)
		c.expect("end\n")
	})
}

func TestHalfClose(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		c, s := h.dial()
		c.send("echo a\nbig 3000000\necho b\nbulk 10\nxxx")
		c.halfClose()
		c.expect("a\n")
		c.expectX(3000000)
		c.expect("b\n")
		c.expectEnd()
		s.expectClosed(t)
	})
}

func TestReset(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		c, s := h.dial()
		c.send("echo a\n")
		c.expect("a\n")
		c.reset()
		s.expectClosed(t)
	})
}

// reset makes the peer see an error rather than an end, where the network knows the difference.
func (c *client) reset() {
	if tcp, ok := c.raw.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.raw.Close()
}

func TestPeerLeavesWhileOutputIsStuck(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		c, s := h.dial()
		c.send("%s", strings.Repeat("big 1000000\n", 50))
		eventually(t, "output pending", func() bool { return s.c.OutputBytes() > 0 })
		c.reset()
		s.expectClosed(t)
	})
}

func TestPark(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		c, s := h.dial()
		c.send("echo a\npark\necho b\necho c\npa")
		c.expect("a\n")
		receive(t, "park", h.parked)
		ran := s.ran.Load()
		s.c.Post([]byte("posted\n"))
		c.expect("posted\n")
		if s.ran.Load() != ran {
			t.Error("fed while parked")
		}
		s.c.Resume()
		c.expect("b\nc\n")
		c.send("rk\n")
		receive(t, "park", h.parked)
		feeds := s.feeds.Load()
		s.c.Resume()
		eventually(t, "fed though nothing is kept", func() bool { return s.feeds.Load() > feeds })
		c.send("echo d\n")
		c.expect("d\n")
	})
}

func TestResumeBeforePark(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		c, _ := h.dial()
		c.send("early\necho a\n")
		c.expect("early\na\n")
		for range 100 {
			c.send("early\nearly\n")
			c.expect("early\nearly\n")
		}
	})
}

func TestResumeFromAnywhere(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		c, _ := h.dial()
		var resumer sync.WaitGroup
		resumer.Go(func() {
			for range 1000 {
				(<-h.parked).c.Resume()
			}
		})
		for i := range 1000 {
			c.send("park\necho %d\n", i)
			c.expect(fmt.Sprintf("%d\n", i))
		}
		resumer.Wait()
	})
}

func TestPeerLeavesWhileParked(t *testing.T) {
	leave := map[string]func(c *client){
		"end": func(c *client) { c.Close() }, "reset": (*client).reset, "half": (*client).halfClose}
	for how, leave := range leave {
		t.Run(how, func(t *testing.T) {
			each(t, func(t *testing.T, h *harness) {
				c, s := h.dial()
				c.send("park\necho a\n")
				receive(t, "park", h.parked)
				leave(c)
				s.expectClosed(t)
				if s.ran.Load() != 1 {
					t.Error("the kept command was run")
				}
			})
		})
	}
}

func TestPost(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		h.posts.Store(true)
		c, s := h.dial()
		c.send("post a\necho b\n")
		c.expect("first\nb\na\n")
		c.send("claim\npost a\npost b\nclaim\necho c\npost d\n")
		c.expect("claimed\nfirst\nfirst\na\nb\nclaimed\nc\nfirst\nd\n")
		b := []byte("copied\n")
		s.c.Post(b)
		copy(b, "xxxxxx")
		c.expect("copied\n")

		var posters sync.WaitGroup
		for p := range 4 {
			posters.Go(func() {
				for i := range 1000 {
					s.c.Post(fmt.Appendf(nil, "%d %d\n", p, i))
				}
			})
		}
		next := [4]int{}
		for range 4000 {
			line, err := c.r.ReadString('\n')
			var p, i int
			if _, scanErr := fmt.Sscanf(line, "%d %d\n", &p, &i); err != nil || scanErr != nil || next[p] != i {
				t.Fatalf("got %q, %v; next is %v", line, err, next)
			}
			next[p]++
		}
		posters.Wait()
		eventually(t, "output counted", func() bool { return s.c.OutputBytes() == 0 })
	})
}

// What is posted to a client that does not read is counted, and neither Post nor others wait for it.
func TestPostToStuckClient(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		h.posts.Store(true)
		c, s := h.dial()
		b := bytes.Repeat([]byte("x"), 1<<20)
		for range stuckBytes / len(b) {
			s.c.Post(b)
		}
		eventually(t, "output pending", func() bool { return s.c.OutputBytes() > 1<<20 })
		other, _ := h.dial()
		other.send("echo a\n")
		other.expect("a\n")
		c.expectX(stuckBytes)
		s.c.Post(b)
		s.c.Post(b)
		s.c.Close(false)
		s.expectClosed(t)
		s.c.Post(b)
		s.c.Resume()
		s.c.Close(true)
		if n := s.c.OutputBytes(); n != 0 {
			t.Errorf("%d bytes pending for a client that is gone", n)
		}
	})
}

func TestCloseDrains(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		h.posts.Store(true)
		c, s := h.dial()
		s.c.Post(bytes.Repeat([]byte("x"), stuckBytes))
		s.c.Close(true)
		c.expectX(stuckBytes)
		c.expectEnd()
		s.expectClosed(t)
	})
}

// A client that is still sending when it is closed reads everything that was written for it.
func TestCloseVerdict(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		c, s := h.dial()
		c.send("big 8000000\nclose\necho a\n")
		go func() {
			garbage := bytes.Repeat([]byte("garbage\n"), 1<<17)
			for range 4 {
				if _, err := c.Write(garbage); err != nil {
					return
				}
			}
		}()
		c.expectX(8000000)
		c.expect("bye\n")
		c.expectEnd()
		s.expectClosed(t)
	})
}

func TestCloseAtOnce(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		c, s := h.dial()
		c.send("abort\n")
		c.expectEnd()
		s.expectClosed(t)

		c, s = h.dial()
		c.send("kill\n")
		c.expectEnd()
		s.expectClosed(t)

		c, s = h.dial()
		c.send("%s", strings.Repeat("big 1000000\n", 50))
		eventually(t, "output pending", func() bool { return s.c.OutputBytes() > 0 })
		s.c.Close(true)
		s.c.Close(false)
		s.expectClosed(t)

		for _, flush := range []bool{true, false} {
			c, s = h.dial()
			c.send("park\n")
			receive(t, "park", h.parked)
			s.c.Close(flush)
			c.expectEnd()
			s.expectClosed(t)
		}
	})
}

func TestRefusal(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		h.refuses.Store(true)
		c := h.connect()
		defer c.Close()
		c.expect("full\n")
		c.expectEnd()
	})
}

// A client that never closes is closed in the end.
func TestLingerEnds(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		c, s := h.dial()
		c.send("close\n")
		c.expect("bye\n")
		c.expectEnd()
		s.expectClosed(t)
		eventually(t, "the server closes too", func() bool { _, err := c.raw.Write([]byte("x")); return err != nil })
	})
}

// Clients come and go, wait and do not read, while others post to them, resume and close them.
func TestChurn(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		h.posts.Store(true)
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		var all []*lineSession
		var clients sync.WaitGroup
		for i := range 100 {
			c, s := h.dial()
			all = append(all, s)
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			clients.Go(func() {
				defer c.Close()
				for range 20 {
					line := []string{"echo a\n", "park\n", "early\n", "post b\n", "big 100000\n", "bulk 3\nxxx", "close\n"}[r.IntN(7)]
					if _, err := c.Write([]byte(line)); err != nil {
						return // closed by the other end
					}
				}
			})
			clients.Go(func() {
				for range 20 {
					switch r := rand.IntN(10); {
					case r < 4:
						s.c.Post([]byte("x"))
					case r < 9:
						s.c.Resume()
					default:
						s.c.Close(r%2 == 0)
					}
				}
			})
		}
		clients.Wait()
		for _, s := range all {
			s.c.Close(false)
			s.expectClosed(t)
		}
	})
}

func TestAddresses(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		c, s := h.dial()
		remote, local := c.LocalAddr().String(), c.RemoteAddr().String()
		if h.kind == "unix" {
			remote, local = h.addr+":0", h.addr+":0"
		}
		if s.c.RemoteAddr() != remote || s.c.LocalAddr() != local {
			t.Errorf("got %s and %s, want %s and %s", s.c.RemoteAddr(), s.c.LocalAddr(), remote, local)
		}
		if s.c.Unix() != (h.kind == "unix") || s.c.TLS() != (h.kind == "tls") || s.c.Loopback() != (h.kind != "unix") {
			t.Errorf("Unix %v, TLS %v, Loopback %v", s.c.Unix(), s.c.TLS(), s.c.Loopback())
		}
		if s.c.FD() <= 0 || s.c.Loop() != 0 {
			t.Errorf("descriptor %d, loop %d", s.c.FD(), s.c.Loop())
		}
	})
}

func TestIPv6(t *testing.T) {
	h := start(t, "plain", 1)
	bound, err := h.tr.Listen("tcp", "[::1]:0", ListenOptions{})
	if err != nil {
		t.Skipf("no IPv6: %v", err)
	}
	h.addr = bound.String()
	c, s := h.dial()
	if got := s.c.RemoteAddr(); got != c.LocalAddr().String() || !strings.HasPrefix(got, "[::1]:") || !s.c.Loopback() {
		t.Errorf("got %s", got)
	}
}

func TestListenErrors(t *testing.T) {
	h := start(t, "plain", 1)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := func() *tls.Config { return nil }
	for _, o := range []ListenOptions{{}, {TLS: config}} {
		for _, at := range [][2]string{{"tcp", h.addr}, {"tcp", "127.0.0.1"}, {"tcp", "127.0.0.1:65536"}, {"tcp", "127.0.0.1:x"},
			{"tcp", "no.such.host.invalid:1"}, {"udp", "127.0.0.1:0"}, {"unix", file}, {"unix", file + "/sock"}} {
			if a, err := h.tr.Listen(at[0], at[1], o); err == nil {
				t.Errorf("listening at %v as %s", at, a)
			}
		}
	}
	if b, _ := os.ReadFile(file); string(b) != "precious" {
		t.Error("a file that is no socket was removed")
	}
}

func TestUnixSocketFile(t *testing.T) {
	h := start(t, "unix", 1)
	config := &tls.Config{Certificates: []tls.Certificate{certificate(t, "x")}}
	for _, o := range []ListenOptions{{UnixPerm: 0o600, UnixGroup: os.Getgid()}, {UnixPerm: 0o600, TLS: func() *tls.Config { return config }}} {
		stale, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
		if err != nil {
			t.Fatal(err)
		}
		stale.(*net.UnixListener).SetUnlinkOnClose(false)
		stale.Close()
		path := stale.Addr().String()
		if _, err := h.tr.Listen("unix", path, o); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
		h.tr.CloseListeners()
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket is still there: %v", err)
		}
	}
}

func TestCloseListeners(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		c, _ := h.dial()
		h.tr.CloseListeners()
		if conn, err := net.Dial(h.network, h.addr); err == nil {
			conn.Close()
			t.Error("still listening")
		}
		c.send("echo a\n")
		c.expect("a\n")
		bound, err := h.tr.Listen("tcp", "127.0.0.1:0", ListenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		h.kind, h.network, h.addr = "plain", "tcp", bound.String()
		c, _ = h.dial()
		c.send("echo b\n")
		c.expect("b\n")
	})
}

func TestShutdownWritesWhatIsPending(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		h.posts.Store(true)
		idle, idleSession := h.dial()
		parked, parkedSession := h.dial()
		parked.send("park\n")
		receive(t, "park", h.parked)
		slow, slowSession := h.dial()
		slowSession.c.Post(bytes.Repeat([]byte("x"), stuckBytes))
		done := make(chan error)
		go func() { done <- h.tr.Shutdown(context.Background()) }()
		idle.expectEnd()
		parked.expectEnd()
		slow.expectX(stuckBytes)
		slow.expectEnd()
		if err := receive(t, "end of Shutdown", done); err != nil {
			t.Error(err)
		}
		idleSession.expectClosed(t)
		parkedSession.expectClosed(t)
		slowSession.expectClosed(t)
		if _, err := h.tr.Listen("tcp", "127.0.0.1:0", ListenOptions{}); err == nil {
			t.Error("listening after Shutdown")
		}
		idleSession.c.Post([]byte("x"))
		idleSession.c.Close(true)
	})
}

func TestShutdownWithinTime(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		h.posts.Store(true)
		_, s := h.dial()
		s.c.Post(bytes.Repeat([]byte("x"), stuckBytes))
		eventually(t, "output pending", func() bool { return s.c.OutputBytes() > 0 })
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- h.tr.Shutdown(ctx) }()
		eventually(t, "listener closed", func() bool {
			conn, err := net.Dial(h.network, h.addr)
			if err == nil {
				conn.Close()
			}
			return err != nil
		})
		cancel()
		if err := receive(t, "end of Shutdown", done); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		s.expectClosed(t)
	})
}

// A connection that was closed but whose peer has not closed yet does not hold up a Shutdown.
func TestShutdownWithLingering(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		c, s := h.dial()
		c.send("close\n")
		c.expect("bye\n")
		s.expectClosed(t)
		begin := time.Now()
		if err := h.tr.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > patience/2 {
			t.Errorf("took %v", took)
		}
	})
}

func TestTLSHandshake(t *testing.T) {
	h := start(t, "plain", 1)
	var mu sync.Mutex
	current := &tls.Config{Certificates: []tls.Certificate{certificate(t, "first")}}
	bound, err := h.tr.Listen("tcp", "127.0.0.1:0", ListenOptions{TLS: func() *tls.Config {
		mu.Lock()
		defer mu.Unlock()
		return current
	}})
	if err != nil {
		t.Fatal(err)
	}
	h.kind, h.addr = "tls", bound.String()
	name := func() string {
		c, _ := h.dial()
		return c.Conn.(*tls.Conn).ConnectionState().PeerCertificates[0].DNSNames[0]
	}
	if got := name(); got != "first" {
		t.Errorf("got %s", got)
	}
	mu.Lock()
	current = &tls.Config{Certificates: []tls.Certificate{certificate(t, "second")}}
	mu.Unlock()
	if got := name(); got != "second" {
		t.Errorf("got %s", got)
	}

	// Neither who speaks another protocol nor who says nothing is in the way of others, or of a Shutdown.
	silent, err := net.Dial("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	garbage, err := net.Dial("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer garbage.Close()
	garbage.SetDeadline(time.Now().Add(patience))
	io.WriteString(garbage, strings.Repeat("PING\r\n", 1000))
	if _, err := io.Copy(io.Discard, garbage); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the server does not close")
	}
	name()
	if err := h.tr.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestTLSHandshakeTime(t *testing.T) {
	h := start(t, "tls", 1)
	h.tr.CloseListeners()
	h.tr.handshakeTime = time.Millisecond
	config := &tls.Config{Certificates: []tls.Certificate{certificate(t, "x")}}
	bound, err := h.tr.Listen("tcp", "127.0.0.1:0", ListenOptions{TLS: func() *tls.Config { return config }})
	if err != nil {
		t.Fatal(err)
	}
	h.kind, h.addr = "plain", bound.String()
	silent := h.connect()
	defer silent.Close()
	silent.expectEnd()
}

// A listener for TLS that has no configuration does not fall back to plain text.
func TestTLSWithoutConfiguration(t *testing.T) {
	h := start(t, "plain", 1)
	bound, err := h.tr.Listen("tcp", "127.0.0.1:0", ListenOptions{TLS: func() *tls.Config { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	h.addr = bound.String()
	c := h.connect()
	defer c.Close()
	c.expectEnd()
}

func TestLongestIteration(t *testing.T) {
	const longEnough = 10 * time.Millisecond
	each(t, func(t *testing.T, h *harness) {
		c, _ := h.dial()
		hold := func() {
			c.send("hold\n")
			<-h.parked
			began := time.Now()
			eventually(t, "a long iteration", func() bool { return time.Since(began) > longEnough })
		}
		hold()
		if d := h.tr.LongestIteration(); d != 0 {
			t.Errorf("%v, and nothing was to be measured", d)
		}
		h.release <- struct{}{}
		c.expect("held\n")
		h.tr.TimeIterations(true)
		c.send("echo a\n")
		c.expect("a\n")
		hold()
		if d := h.tr.LongestIteration(); h.kind != "stream" && h.kind != "tls" && d < longEnough {
			t.Errorf("under way for more than %v, and it is %v", longEnough, d)
		}
		h.release <- struct{}{}
		c.expect("held\n")
		eventually(t, "its end", func() bool { return h.tr.LongestIteration() >= longEnough })
		h.tr.TimeIterations(false)
		if d := h.tr.LongestIteration(); d != 0 {
			t.Errorf("%v after it was told not to measure", d)
		}
	})
}

func TestNewNeedsAccept(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("no error")
	}
}

func TestGrow(t *testing.T) {
	for _, c := range []struct{ length, capacity, room, need, want int }{
		{10, 20, 10, 0, 20},
		{20, 20, 1, 0, 40},
		{20, 20, 1, 5, 25},
		{20, 20, 9, 5, 29},
		{20, 20, 1, 100, 40},
		{20, 20, 1, math.MaxInt, 40},
		{0, 0, 7, 0, 7},
	} {
		buf := append(make([]byte, 0, c.capacity), bytes.Repeat([]byte("x"), c.length)...)
		got := grow(buf, c.room, c.need)
		if cap(got) != c.want || !bytes.Equal(got, buf) {
			t.Errorf("%+v: capacity %d", c, cap(got))
		}
	}
}
