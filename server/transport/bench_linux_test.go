package transport

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// pingSession answers each 14-byte frame with 7 bytes.
type pingSession struct{}

const (
	pingFrame = "*1\r\n$4\r\nPING\r\n"
	pingReply = "+PONG\r\n"
)

func (pingSession) Feed(in, out []byte) (int, int, []byte, Verdict) {
	used := 0
	for ; len(in)-used >= len(pingFrame); used += len(pingFrame) {
		out = append(out, pingReply...)
	}
	if used == len(in) {
		return used, 0, out, More
	}
	return used, len(pingFrame) - (len(in) - used), out, More
}

func (pingSession) Closed() {}

// pinger is a client that allocates nothing.
type pinger struct {
	fd      int
	request []byte
	reply   []byte
}

func newPinger(tb testing.TB, depth int) *pinger {
	tb.Helper()
	tr, err := New(Options{Loops: 1, Accept: func(Conn) (Session, []byte) { return pingSession{}, nil }})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { tr.Shutdown(context.Background()) })
	a, err := tr.Listen("tcp", "127.0.0.1:0", ListenOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { unix.Close(fd) })
	sa := &unix.SockaddrInet4{Port: a.(*net.TCPAddr).Port, Addr: [4]byte{127, 0, 0, 1}}
	if err := unix.Connect(fd, sa); err != nil {
		tb.Fatal(err)
	}
	return &pinger{fd: fd, request: bytes.Repeat([]byte(pingFrame), depth), reply: make([]byte, depth*len(pingReply))}
}

// ping sends a batch, cut in two after cut bytes, and takes its replies.
func (p *pinger) ping(tb testing.TB, cut int) {
	for _, b := range [][]byte{p.request[:cut], p.request[cut:]} {
		if len(b) > 0 {
			if n, err := unix.Write(p.fd, b); n != len(b) || err != nil {
				tb.Fatal(n, err)
			}
		}
	}
	for n := 0; n < len(p.reply); {
		m, err := unix.Read(p.fd, p.reply[n:])
		if m <= 0 || err != nil {
			tb.Fatal(m, err)
		}
		n += m
	}
}

func BenchmarkBatch(b *testing.B) {
	for _, depth := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(depth), func(b *testing.B) {
			p := newPinger(b, depth)
			b.ReportAllocs()
			for b.Loop() {
				p.ping(b, 0)
			}
		})
	}
}

func TestBatchesAllocateNothing(t *testing.T) {
	p := newPinger(t, 16)
	for _, cut := range []int{0, 100} { // whole, and with a partial frame at the end of the first read
		if n := testing.AllocsPerRun(1000, func() { p.ping(t, cut) }); n > 0 {
			t.Errorf("cut at %d: %v allocations for each batch", cut, n)
		}
	}
}
