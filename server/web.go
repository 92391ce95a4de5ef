package server

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"kvserver/config"
	"kvserver/server/acl"
	"kvserver/server/web"
)

// The HTTP side of the server: where it listens and who may look. Package web has the pages, webview.go what they show.

// webParams are its parameters, all of which may change at any time.
type webParams struct {
	port          *config.Int
	bind          *config.String
	hosts         *config.Strings
	metricHotkeys *config.Bool
}

func (p *Parameters) registerWeb(r *config.Registry) {
	w := &p.web
	w.port = r.Int("http-port", 0, 0, 65535, config.Doc("port of the page of hot keys, /metrics and /healthz; 0 serves none"))
	w.bind = r.Custom("http-bind", "127.0.0.1", canonicalHTTPBind, config.Allowed("IP addresses, * and ::* for all of a kind"),
		config.Doc("addresses to serve them on; one that begins with - may be unavailable"))
	w.hosts = r.Strings("http-hosts", nil,
		config.Doc("names, besides localhost and the machine's own, under which browsers may find them while no password is needed"))
	w.metricHotkeys = r.Bool("metrics-hotkeys", false, config.Doc("/metrics has series for each of the hottest keys, with their names as labels"))
}

// canonicalHTTPBind takes addresses only: to look up a name takes time, and everything stands still meanwhile.
func canonicalHTTPBind(v string) (string, error) {
	words := strings.Fields(v)
	for _, word := range words {
		host := strings.TrimPrefix(word, "-")
		if _, err := netip.ParseAddr(host); err != nil && host != "*" && host != "::*" {
			return "", errors.New("must be IP addresses, * or ::*, separated by blanks")
		}
	}
	return strings.Join(words, " "), nil
}

// webSide is what the server keeps for its HTTP side.
type webSide struct {
	server *web.Server
	get    *command // HOTKEYS GET, whose permission is asked for

	mu sync.Mutex
	// mu guards the following.
	isOpen bool     // between Start and Shutdown
	bind   []string // where it listens: the words of http-bind
	port   int64
}

func (s *Server) newWeb() {
	s.web.server = web.New(web.Options{
		Snapshot:  s.webSnapshot,
		Authorize: s.mayLook,
		Hosts:     s.params.web.hosts.Get,
		LabelKeys: s.params.web.metricHotkeys.Get,
		Logger:    s.log,
	})
	s.web.get, _ = s.table.find(hotkeysGetArgs)
}

var hotkeysGetArgs = [][]byte{[]byte("hotkeys"), []byte("get")}

// openWeb begins to serve, as part of Start.
func (s *Server) openWeb() error {
	s.web.mu.Lock()
	s.web.isOpen = true
	s.web.mu.Unlock()
	return s.applyWeb()
}

// closeWeb ends it, as part of Shutdown. What is being answered ends by itself: see web.Server.Wait.
func (s *Server) closeWeb() {
	s.web.mu.Lock()
	defer s.web.mu.Unlock()
	s.web.isOpen = false
	s.web.server.Serve(nil)
}

// applyWeb listens where the parameters say, and where it did before if that is not possible.
func (s *Server) applyWeb() error {
	w := &s.web
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.isOpen {
		return nil
	}
	w.server.Serve(nil) // its addresses may be among the new ones
	bind, port := strings.Fields(s.params.web.bind.Get()), s.params.web.port.Get()
	listeners, err := listenWeb(bind, port)
	if err != nil {
		before, failed := listenWeb(w.bind, w.port)
		if failed != nil {
			s.log.Warn("the page of hot keys is not served any more", "error", failed)
		}
		w.server.Serve(before)
		return err
	}
	w.bind, w.port = bind, port
	w.server.Serve(listeners)
	for _, l := range listeners {
		s.log.Info("serving the page of hot keys and metrics", "url", "http://"+l.Addr().String()+"/")
	}
	return nil
}

// listenWeb listens on all of the addresses, or none.
func listenWeb(bind []string, port int64) (listeners []net.Listener, err error) {
	if port == 0 {
		return nil, nil
	}
	for _, word := range bind {
		host, optional := strings.CutPrefix(word, "-")
		network := "tcp4"
		switch {
		case host == "*":
			host = "0.0.0.0"
		case host == "::*":
			host, network = "::", "tcp6"
		case strings.Contains(host, ":"):
			network = "tcp6"
		}
		l, err := net.Listen(network, net.JoinHostPort(host, strconv.FormatInt(port, 10)))
		switch {
		case err == nil:
			listeners = append(listeners, l)
		case !optional:
			for _, l := range listeners {
				_ = l.Close()
			}
			return nil, fmt.Errorf("http-port: %w", err)
		}
	}
	return listeners, nil
}

// mayLook judges who asks over HTTP as AUTH and HOTKEYS GET would.
func (s *Server) mayLook(l web.Login) web.Verdict {
	sl, a := s.houseSlot, &s.accounts
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if sl.busy {
		return web.Busy
	}
	u := a.initial
	switch {
	case l.Given:
		name := l.User
		if name == "" {
			name = acl.DefaultName
		}
		if u = a.users[name]; u == nil {
			u = a.nobody
		}
		if !u.Authenticate([]byte(l.Password)) {
			s.noteRefused(deniedAuth, name, l.Remote)
			return web.Unknown
		}
	case s.authRequired():
		return web.Unknown
	}
	if s.params.protectedMode.Get() && a.unprotected.Load() && !l.Remote.IsLoopback() {
		return web.Protected
	}
	if !u.Unrestricted {
		if v, _ := sl.check(u, s.web.get, hotkeysGetArgs); v != acl.Allowed {
			s.noteRefused(reasonOf[v], u.Name, l.Remote)
			return web.Forbidden
		}
	}
	if u.AnyPassword() {
		return web.Open
	}
	return web.Admitted
}

// noteRefused counts and logs, for ACL LOG, that somebody was not let in over HTTP.
func (s *Server) noteRefused(why aclReason, user string, from netip.Addr) {
	s.accounts.denied[why].Add(1)
	object := s.web.get.fullName
	if why == deniedAuth {
		object = "http"
	}
	user = user[:min(len(user), aclObjectMax)]
	s.accounts.log.add(aclEvent{why, fromClient, object, user}, "addr="+from.String()+" name= cmd=http", time.Now().UnixMilli())
}
