//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"kvserver/scripts/internal/resp"
)

const (
	startTimeout = 10 * time.Second
	stopTimeout  = 10 * time.Second
	// replyTimeout bounds a command of the harness itself; FLUSHALL of 5 million keys is the slowest.
	replyTimeout = 60 * time.Second
)

// binary is a server that can be started: ours or the peer.
type binary struct {
	name  string // as tables show it
	path  string
	flags []string // besides those that both servers take
}

// server is a running one that this process started.
type server struct {
	binary
	cpus    cpus
	shared  bool // the load of this process runs on them too
	address string
	control *resp.Client
	cmd     *exec.Cmd
	ended   chan struct{} // closed when the process has ended
	log     lockedBuffer
}

// lockedBuffer keeps what a server writes, while it runs.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// start runs the binary on a free port of the loopback, without persistence, on the given processors only, and waits
// until it answers. Both servers take the same flags. extra goes to the environment.
func (b binary) start(on cpus, extra ...string) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &server{binary: b, cpus: on, address: net.JoinHostPort("127.0.0.1", port), ended: make(chan struct{})}
	flags := append([]string{"--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no",
		"--maxclients", strconv.Itoa(idleConnections + 100)}, b.flags...)
	s.cmd = exec.Command(b.path, flags...)
	s.cmd.Env = append(os.Environ(), extra...)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	// The server must not outlive a harness that is killed.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := startPinned(s.cmd, on); err != nil {
		return nil, fmt.Errorf("start %s: %w", b.name, err)
	}
	go func() {
		s.cmd.Wait()
		close(s.ended)
	}()
	if s.control, err = resp.DialRetrying(s.address, startTimeout, s.ended); err != nil {
		s.kill()
		return nil, fmt.Errorf("start %s: %w\n%s", b.name, err, s.log.String())
	}
	s.control.Close()
	if s.control, err = resp.Dial(s.address, replyTimeout); err != nil {
		s.kill()
		return nil, err
	}
	return s, nil
}

// startBoth starts ours and the peer on the processors for servers. Only one of them is under load at a time.
func (b *bench) startBoth() (ours, peer *server, err error) {
	if ours, err = b.ours.start(b.serverCPUs); err != nil {
		return nil, nil, err
	}
	if peer, err = b.peer.start(b.serverCPUs); err != nil {
		ours.stop()
		return nil, nil, err
	}
	return ours, peer, nil
}

// stop ends the server as an operator would, and then by force.
func (s *server) stop() {
	s.control.Close()
	s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(stopTimeout):
		s.kill()
	}
}

func (s *server) kill() {
	s.cmd.Process.Kill()
	<-s.ended
}

func (s *server) configure(parameter, value string) error {
	if _, err := s.control.Do("CONFIG", "SET", parameter, value); err != nil {
		return fmt.Errorf("CONFIG SET %s %s on %s: %w", parameter, value, s.name, err)
	}
	return nil
}

// cpuTime is the processor time of all threads of the server, to the nanosecond; /proc/<pid>/stat counts in
// hundredths of a second, which is one percent of a round.
func (s *server) cpuTime() (time.Duration, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", s.cmd.Process.Pid))
	if err != nil || len(tasks) == 0 {
		return 0, fmt.Errorf("%s has ended: %s", s.name, s.log.String())
	}
	var sum time.Duration
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // a thread ended between the two calls
		}
		if err != nil {
			return 0, fmt.Errorf("processor time of %s: %w", s.name, err)
		}
		first, _, _ := strings.Cut(string(text), " ")
		ran, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("processor time of %s: %w", s.name, err)
		}
		sum += time.Duration(ran)
	}
	return sum, nil
}

// residentBytes is what the server holds of real memory.
func (s *server) residentBytes() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("memory of %s: %w", s.name, err)
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, fmt.Errorf("memory of %s: unexpected statm %q", s.name, text)
	}
	pages, err := strconv.ParseFloat(fields[1], 64)
	return pages * float64(os.Getpagesize()), err
}

// freePort asks the kernel for a port and gives it back; that another process takes it before the server binds is
// possible and then the start fails with the server's own message.
func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, err
}
