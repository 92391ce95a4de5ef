package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"kvserver/config"
)

// TestNoGoroutineIsLeft: a server that has had clients of all kinds, some of whom were killed while they did things, leaves
// no goroutine behind when it ends.
func TestNoGoroutineIsLeft(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	socket := filepath.Join(t.TempDir(), "s")
	registry := config.New()
	params := RegisterParameters(registry)
	if err := registry.Load([]string{"--port", "0", "--unixsocket", socket, "--maxmemory-clients", "10mb", "--hotkeys-top-k", "10"}, nil); err != nil {
		t.Fatal(err)
	}
	s, err := New(params, NewLogger(io.Discard, params))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	kinds := []string{
		request("PING"), request("BLPOP", "l", "100"), request("BLPOP", "l", "0"), request("SUBSCRIBE", "ch") + request("PSUBSCRIBE", "*"),
		request("MULTI") + request("SET", "k", "v"), request("WATCH", "k"), request("MONITOR"), request("SET", "k", "v", "PX", "1"), "*3\r\n$3\r\nSET",
		request("XREAD", "BLOCK", "0", "STREAMS", "s", "$"), request("CLIENT", "PAUSE", "1"),
		request("EVAL", "return redis.call('INCR', KEYS[1])", "1", "n"),
	}
	var conns []net.Conn
	dial := func(first string) {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		io.WriteString(conn, first)
	}
	for range 5 {
		for _, kind := range kinds {
			dial(kind)
		}
	}
	admin, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(func() { io.Copy(io.Discard, admin) })
	for i := range 20 {
		io.WriteString(admin, request("CLIENT", "KILL", "ID", fmt.Sprint(3*i+1))+request("RPUSH", "l", "v")+request("PUBLISH", "ch", "text"))
		dial(kinds[i%len(kinds)])
	}
	for _, conn := range conns[:len(conns)/2] {
		conn.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	admin.Close()
	reading.Wait()
	for _, conn := range conns {
		conn.Close()
	}
}
