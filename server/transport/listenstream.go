package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"
)

// listenStream listens for connections that get goroutines of their own.
func (t *Transport) listenStream(network, addr string, o ListenOptions) (net.Addr, error) {
	ln, err := t.openListener(network, addr, &o)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", addr, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopping.Load() {
		ln.Close()
		return nil, errShutdown
	}
	t.mu.listeners = append(t.mu.listeners, ln)
	t.streamWG.Go(func() { t.acceptStreams(ln, o.TLS) })
	return ln.Addr(), nil
}

func (t *Transport) openListener(network, addr string, o *ListenOptions) (net.Listener, error) {
	config := net.ListenConfig{KeepAlive: -1}
	switch network {
	case "tcp":
		a, err := resolve(addr)
		if err != nil {
			return nil, err
		}
		family := "tcp6" // alone: not for IPv4 as well
		if a.Addr().Is4() {
			family = "tcp4"
		}
		return config.Listen(context.Background(), family, a.String())
	case "unix":
		if err := removeSocket(addr); err != nil {
			return nil, err
		}
		ln, err := config.Listen(context.Background(), "unix", addr)
		if err != nil {
			return nil, err
		}
		if err := o.admit(addr); err != nil {
			ln.Close()
			return nil, err
		}
		return ln, nil
	}
	return nil, net.UnknownNetworkError(network)
}

// acceptStreams accepts until the listener is closed.
func (t *Transport) acceptStreams(ln net.Listener, config func() *tls.Config) {
	for {
		raw, err := ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			t.options.Logger.Warn("accepting no connections for a moment", "err", err, "pause", acceptBackoff)
			time.Sleep(acceptBackoff)
			continue
		}
		var at endpoints
		if a, ok := ln.Addr().(*net.UnixAddr); ok {
			at.path = a.Name
		}
		if tcp, ok := raw.(*net.TCPConn); ok {
			at.remote = tcp.RemoteAddr().(*net.TCPAddr).AddrPort()
			at.local = tcp.LocalAddr().(*net.TCPAddr).AddrPort()
			t.keepAlive(tcp)
		}
		s := newStream(t, raw, at)
		if config == nil {
			t.start(s, nil)
		} else if c := config(); c != nil {
			t.start(s, c)
		} else { // never plain text where TLS was asked for
			t.options.Logger.Warn("connection closed: no TLS configuration")
			raw.Close()
		}
	}
}

func (t *Transport) keepAlive(c *net.TCPConn) {
	seconds := t.options.KeepAliveSeconds()
	if seconds <= 0 {
		return
	}
	idle := time.Duration(seconds) * time.Second
	c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: idle,
		Interval: max(time.Second, idle/keepAliveProbes), Count: keepAliveProbes})
}

// start serves s, over TLS if config is set.
func (t *Transport) start(s *stream, config *tls.Config) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopping.Load() {
		s.raw.Close()
		return
	}
	t.mu.streams[s] = struct{}{}
	t.streamWG.Go(func() { s.serve(config) })
}

func (t *Transport) forget(s *stream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.mu.streams, s)
}

// closeStreams ends the connections that have goroutines.
func (t *Transport) closeStreams(flush bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for s := range t.mu.streams {
		s.Close(flush)
	}
}

// removeSocket makes way for a socket at path. It removes nothing but a socket.
func removeSocket(path string) error {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != fs.ModeSocket {
		return nil // if there is something, bind says so
	}
	return os.Remove(path)
}
