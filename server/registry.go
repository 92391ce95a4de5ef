package server

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"kvserver/config"
	"kvserver/server/transport"
)

// registry knows every connected client. Sessions enter and leave it from their loops; what it hands out is
// read under the gate.
type registry struct {
	mu sync.Mutex
	// mu guards all of the following.
	clients map[int64]*client
	lastID  int64
}

// add gives c its id. It refuses when limit clients are connected already.
func (r *registry) add(c *client, limit int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if int64(len(r.clients)) >= limit {
		return false
	}
	r.lastID++
	c.id = r.lastID
	r.clients[c.id] = c
	return true
}

func (r *registry) remove(c *client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.clients, c.id)
}

// find returns the client with an id, or nil.
func (r *registry) find(id int64) *client {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clients[id]
}

func (r *registry) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.clients)
}

// unordered returns the clients in no order.
func (r *registry) unordered() []*client {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*client, 0, len(r.clients))
	for _, c := range r.clients {
		list = append(list, c)
	}
	return list
}

// all returns the clients in the order in which they connected.
func (r *registry) all() []*client {
	list := r.unordered()
	slices.SortFunc(list, func(a, b *client) int { return cmp.Compare(a.id, b.id) })
	return list
}

// accept is called by the transport for each new connection, on the loop that will own it.
func (s *Server) accept(conn transport.Conn) (transport.Session, []byte) {
	if refusal := s.protectedMode(conn); refusal != nil {
		s.counters.rejectedConnections.Add(1)
		return nil, refusal
	}
	sl := s.gate.slots[conn.Loop()]
	now := time.Now()
	c := &client{
		s: s, conn: conn, home: sl, slot: sl, view: sl.view, user: s.accounts.initial,
		authed: !s.authRequired(), created: now, activeNs: now.UnixNano(),
	}
	c.parser.reset()
	if !s.clients.add(c, s.params.maxClients.Get()) {
		s.counters.rejectedConnections.Add(1)
		return nil, []byte("-" + errMaxClients + "\r\n")
	}
	s.counters.connections.Add(1)
	return c, nil
}

// reservedDescriptors are kept for what is not a client: listeners, epoll instances, the log.
const reservedDescriptors = 32

// fitMaxClients lowers maxclients to what the limit on open files allows, as Redis does, so that the client too many
// is told so instead of waiting in the queue of connections. From then on no more can be asked for.
func (s *Server) fitMaxClients() error {
	fits, err := clientsThatFit()
	if err != nil {
		return err
	}
	if wanted := s.params.maxClients.Get(); wanted > fits {
		s.log.Warn("maxclients lowered: the limit on open files allows no more", "wanted", wanted, "maxclients", fits)
		if err := s.params.registry.Set([2]string{"maxclients", strconv.FormatInt(fits, 10)}); err != nil {
			return err
		}
	}
	s.params.registry.Rule([]string{"maxclients"}, func(v config.Values) error {
		if v.Int("maxclients") > fits {
			return fmt.Errorf("The operating system is not able to handle the specified number of clients, try with %d", fits)
		}
		return nil
	})
	return nil
}

// clientsThatFit is the number of connections that the limit on open files allows.
func clientsThatFit() (int64, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("read the limit on open files: %w", err)
	}
	if limit.Cur <= reservedDescriptors {
		return 0, fmt.Errorf("the limit on open files is %d: too few to serve even one client", limit.Cur)
	}
	return int64(min(limit.Cur, math.MaxInt64)) - reservedDescriptors, nil
}

// protectedMode refuses clients from other machines while nothing protects the data: a server that someone
// started to try it out should not be open to the network.
func (s *Server) protectedMode(conn transport.Conn) []byte {
	if !s.params.protectedMode.Get() || !s.accounts.unprotected.Load() || conn.Loopback() || conn.Unix() {
		return nil
	}
	return []byte("-DENIED kvserver is running in protected mode: no password is set for the default user, so only clients on " +
		"this machine may connect. To let others in, set a password (requirepass), or, if the network is closed to " +
		"strangers, say CONFIG SET protected-mode no from this machine or start the server with --protected-mode no.\r\n")
}
