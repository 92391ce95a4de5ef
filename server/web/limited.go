package web

import (
	"net"
	"net/http"
	"slices"
	"sync"
)

// places are the connections that there may be. Who comes when all are taken gets that of the connection which has waited
// longest for its next request, else waits in the queue of the system until one ends or has been answered: browsers that leave
// a page open keep theirs for ever, and must not keep out whoever asks whether the server is well. The client of a connection
// that is closed so sends its request again on a new one, should it just have sent it.
type places struct {
	taken chan struct{} // has an element for each

	mu sync.Mutex
	// mu guards the following.
	wanted int        // calls of take that wait
	idle   []net.Conn // between two requests, the one that has been so for longest first
}

func newPlaces(n int) *places { return &places{taken: make(chan struct{}, n)} }

// take waits for a place.
func (p *places) take() {
	select {
	case p.taken <- struct{}{}:
		return
	default:
	}
	p.mu.Lock()
	p.wanted++
	p.closeIdle()
	p.mu.Unlock()
	p.taken <- struct{}{}
	p.mu.Lock()
	p.wanted--
	p.mu.Unlock()
}

// leave gives a place back.
func (p *places) leave() { <-p.taken }

// changed is http.Server.ConnState.
func (p *places) changed(c net.Conn, state http.ConnState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := slices.Index(p.idle, c); at >= 0 {
		p.idle = slices.Delete(p.idle, at, at+1)
	}
	if state != http.StateIdle {
		return
	}
	p.idle = append(p.idle, c)
	if p.wanted > 0 {
		p.closeIdle()
	}
}

// closeIdle makes a place free if a connection is idle; p.mu must be held.
func (p *places) closeIdle() {
	if len(p.idle) == 0 {
		return
	}
	c := p.idle[0]
	p.idle = slices.Delete(p.idle, 0, 1)
	_ = c.Close() // nothing that could be done about it
}

// limited is a listener that accepts connections for which there is a place.
type limited struct {
	net.Listener
	places *places
}

// Accept waits for a place, then for a connection.
func (l *limited) Accept() (net.Conn, error) {
	l.places.take()
	leave := sync.OnceFunc(l.places.leave)
	c, err := l.Listener.Accept()
	if err != nil {
		leave()
		return nil, err
	}
	return &counted{c, leave}, nil
}

// counted gives its place back when it is closed.
type counted struct {
	net.Conn
	leave func()
}

// Close may be called more than once.
func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
