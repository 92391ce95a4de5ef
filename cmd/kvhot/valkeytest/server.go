// Package valkeytest is a server for tests that speaks HOTKEYS as Valkey 9.2 does and nothing more: GET without arguments,
// whose entries have key, db and qps. It listens on the loopback interface and knows the commands with which clients greet.
package valkeytest

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/redcon"
)

// Entry is a hot key.
type Entry struct {
	Key string
	DB  int
	QPS int
}

// Server is one running server.
type Server struct {
	Addr     string
	listener net.Listener
	running  sync.WaitGroup

	mu       sync.Mutex
	entries  []Entry
	info     string
	config   map[string]string
	replies  map[string]string
	commands []string
	conns    map[net.Conn]int // their protocols
}

// New starts a server that ends with the test. It tracks 16 keys at 10 %, in windows of a second.
func New(tb testing.TB) *Server {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{
		Addr: listener.Addr().String(), listener: listener, replies: map[string]string{}, conns: map[net.Conn]int{},
		config: map[string]string{"hotkeys-top-k": "16", "hotkeys-sampling-percentage": "10", "hotkeys-window-seconds": "1"},
	}
	s.Window(0, 0)
	s.running.Go(s.accept)
	tb.Cleanup(func() {
		listener.Close()
		s.Drop()
		s.running.Wait()
	})
	return s
}

// Window sets what INFO says of the last completed window, and the hot keys of it.
func (s *Server) Window(samples, ms int, entries ...Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = entries
	s.info = fmt.Sprintf("# Hotkeys\r\nhotkeys_last_window_samples:%d\r\nhotkeys_last_window_duration_ms:%d\r\n"+
		"# Stats\r\ninstantaneous_ops_per_sec:77\r\n# CPU\r\nused_cpu_sys:1.5\r\nused_cpu_user:2.5\r\n", samples, ms)
}

// Reply makes a command, in capitals with its arguments, answer with these bytes.
func (s *Server) Reply(command, raw string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies[command] = raw
}

// Commands returns those that came since the last call, in capitals, but for greetings.
func (s *Server) Commands() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.commands
	s.commands = nil
	return list
}

// Drop closes all connections.
func (s *Server) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		conn.Close()
	}
}

// Send writes bytes to all connections, such as messages.
func (s *Server) Send(raw string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		fmt.Fprint(conn, raw)
	}
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[conn] = 2
		s.mu.Unlock()
		s.running.Go(func() { s.serve(conn) })
	}
}

func (s *Server) serve(conn net.Conn) {
	defer func() {
		conn.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.conns, conn)
	}()
	reader := redcon.NewReader(conn)
	for {
		command, err := reader.ReadCommand()
		if err != nil || len(command.Args) == 0 {
			return
		}
		words := make([]string, len(command.Args))
		for i, arg := range command.Args {
			words[i] = string(arg)
		}
		if _, err := fmt.Fprint(conn, s.answer(conn, words)); err != nil {
			return
		}
	}
}

// answer returns the bytes of the reply to a command.
func (s *Server) answer(conn net.Conn, words []string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.ToUpper(strings.Join(words, " "))
	name := strings.ToUpper(words[0])
	if raw, ok := s.replies[text]; ok {
		s.commands = append(s.commands, text)
		return raw
	}
	switch name {
	case "HELLO":
		if len(words) > 1 {
			s.conns[conn], _ = strconv.Atoi(words[1])
		}
		return s.pairs(conn, []string{bulk("server"), bulk("valkey"), bulk("proto"), fmt.Sprintf(":%d\r\n", s.conns[conn])})
	case "CLIENT", "AUTH", "SELECT":
		return "+OK\r\n"
	}
	s.commands = append(s.commands, text)
	switch {
	case name == "PING":
		return "+PONG\r\n"
	case name == "INFO":
		return bulk(s.info)
	case strings.HasPrefix(text, "CONFIG GET "):
		var pairs []string
		for name, value := range s.config {
			pairs = append(pairs, bulk(name), bulk(value))
		}
		return s.pairs(conn, pairs)
	case text == "HOTKEYS GET":
		reply := fmt.Sprintf("*%d\r\n", len(s.entries))
		for _, e := range s.entries {
			reply += s.pairs(conn, []string{bulk("key"), bulk(e.Key), bulk("db"), fmt.Sprintf(":%d\r\n", e.DB), bulk("qps"), fmt.Sprintf(":%d\r\n", e.QPS)})
		}
		return reply
	case strings.HasPrefix(text, "HOTKEYS GET "):
		return "-ERR wrong number of arguments for 'hotkeys|get' command\r\n"
	case name == "HOTKEYS" && len(words) > 1:
		return "-ERR unknown subcommand '" + words[1] + "'. Try HOTKEYS HELP.\r\n"
	case name == "PSUBSCRIBE":
		kind := "*"
		if s.conns[conn] == 3 {
			kind = ">"
		}
		return kind + "3\r\n" + bulk("psubscribe") + bulk(words[1]) + ":1\r\n"
	}
	return "-ERR unknown command '" + words[0] + "', with args beginning with: \r\n"
}

// pairs is a map in the connection's protocol.
func (s *Server) pairs(conn net.Conn, parts []string) string {
	head := fmt.Sprintf("*%d\r\n", len(parts))
	if s.conns[conn] == 3 {
		head = fmt.Sprintf("%%%d\r\n", len(parts)/2)
	}
	return head + strings.Join(parts, "")
}

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }
