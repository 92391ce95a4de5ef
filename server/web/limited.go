package web

import (
	"net"
	"sync"
)

// limited is a listener that accepts no more connections than there are slots; who comes after waits in the queue of the
// system until one has ended.
type limited struct {
	net.Listener
	slots chan struct{}
}

// Accept waits for a slot, then for a connection.
func (l *limited) Accept() (net.Conn, error) {
	l.slots <- struct{}{}
	leave := sync.OnceFunc(func() { <-l.slots })
	c, err := l.Listener.Accept()
	if err != nil {
		leave()
		return nil, err
	}
	return &counted{c, leave}, nil
}

// counted gives its slot back when it is closed.
type counted struct {
	net.Conn
	leave func()
}

// Close may be called more than once.
func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
