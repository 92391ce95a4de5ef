package tests

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// server is one running server, ours or a peer, or an address we were given.
type server struct {
	t    testing.TB
	addr string // host:port; empty if it has no TCP port
	dir  string // its working directory
	log  *output
	cmd  *exec.Cmd     // nil if we did not start it
	done chan struct{} // closed when the process has ended

	stdin   string
	stopped bool // the test ended the process itself, and has judged its end
}

// output collects what a process writes. Reading while it writes is fine.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// startServer starts the server under test on a free port of the loopback
// interface and returns when it answers. Without arguments, a server named by
// KVSERVER_ADDR is taken instead, flushed.
func startServer(t testing.TB, args ...string) *server {
	t.Helper()
	if addr := os.Getenv("KVSERVER_ADDR"); addr != "" {
		if len(args) > 0 {
			t.Skipf("needs a server of its own with %q, and KVSERVER_ADDR names one", args)
		}
		s := &server{t: t, addr: addr}
		c := s.dial()
		c.do("FLUSHALL")
		c.nc.Close()
		return s
	}
	bin, err := serverBinary()
	if err != nil {
		t.Fatalf("building the server: %v", err)
	}
	return startBinary(t, bin, args)
}

// ownServer is startServer for tests that need a process, not just an address.
func ownServer(t testing.TB, args ...string) *server {
	t.Helper()
	if os.Getenv("KVSERVER_ADDR") != "" {
		t.Skip("needs the process of the server, and KVSERVER_ADDR gives only an address")
	}
	return startServer(t, args...)
}

// startPeer starts redis-server the way startServer starts ours.
func startPeer(t testing.TB, args ...string) *server {
	t.Helper()
	return startBinary(t, peerBinary(t), args)
}

// peerBinary finds redis-server. It skips the test, or fails it if PEER_REQUIRED
// is set, where there is none.
func peerBinary(t testing.TB) string {
	t.Helper()
	name := os.Getenv("PEER")
	if name == "" {
		name = "redis-server"
	}
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	const message = "NOT COMPARED with a real server: there is no %q here (%v). Install redis-server 7.0 or set PEER."
	if os.Getenv("PEER_REQUIRED") != "" {
		t.Fatalf(message, name, err)
	}
	fmt.Fprintf(os.Stderr, t.Name()+": "+message+"\n", name, err)
	t.Skipf(message, name, err)
	return ""
}

// portTries bounds how often a port that somebody else took first is replaced.
const portTries = 5

func startBinary(t testing.TB, bin string, args []string) *server {
	t.Helper()
	for range portTries {
		if s := tryStart(t, bin, args); s != nil {
			return s
		}
	}
	t.Fatalf("%s found no free port in %d tries", bin, portTries)
	return nil
}

// tryStart returns nil if another process took the port in between.
func tryStart(t testing.TB, bin string, args []string) *server {
	t.Helper()
	s := &server{t: t, dir: t.TempDir(), log: new(output), done: make(chan struct{})}
	port, ready := freePort(t), s.answersTCP
	s.addr = net.JoinHostPort("127.0.0.1", port)
	full := append([]string{}, args...)
	switch {
	case len(args) > 0 && args[0] == "-unixonly":
		full = append(full[1:], "--port", "0", "--unixsocket", s.socketPath())
		s.addr, ready = "", s.answersUnix
	case !hasFlag(args, "--port"):
		full = append(full, "--port", port)
	default:
		s.addr, ready = "", s.running
	}
	if !hasFlag(args, "--bind") {
		full = append(full, "--bind", "127.0.0.1")
	}
	s.launch(bin, append(full, "--save", ""))
	t.Cleanup(s.cleanup)
	if poll(patience, func() bool { return s.ended() || ready() }) && !s.ended() {
		return s
	}
	if regexp.MustCompile(`(?i)address already in use`).MatchString(s.log.String()) {
		s.stopped = true
		return nil
	}
	t.Fatalf("%s %q does not answer", bin, full)
	return nil
}

// launch starts the process and watches for its end.
func (s *server) launch(bin string, args []string) {
	s.t.Helper()
	s.cmd = exec.Command(bin, args...)
	s.cmd.Dir = s.dir
	s.cmd.Stdin = strings.NewReader(s.stdin)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatalf("start %s: %v", bin, err)
	}
	go func() {
		s.cmd.Wait()
		close(s.done)
	}()
}

func (s *server) socketPath() string { return filepath.Join(s.dir, "s") }

func (s *server) running() bool { return !s.ended() }

func (s *server) answersTCP() bool  { return answers("tcp", s.addr) }
func (s *server) answersUnix() bool { return answers("unix", s.socketPath()) }

// answers reports whether somebody answers a PING, with whatever reply: a
// server that wants a password is up too.
func answers(network, addr string) bool {
	nc, err := net.DialTimeout(network, addr, time.Second)
	if err != nil {
		return false
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(time.Second))
	if _, err := nc.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	one := make([]byte, 1)
	n, _ := nc.Read(one)
	return n == 1
}

func hasFlag(args []string, name string) bool {
	for _, a := range args {
		if a == name || strings.HasPrefix(a, name+"=") {
			return true
		}
	}
	return false
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func (s *server) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// signal sends a signal to the server's process.
func (s *server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("send %v: %v", sig, err)
	}
}

// stop halts the process as SIGSTOP does and returns when every thread of it has
// halted, which takes a moment after the signal was sent.
func (s *server) stop() {
	s.t.Helper()
	s.signal(syscall.SIGSTOP)
	tasks := fmt.Sprintf("/proc/%d/task", s.cmd.Process.Pid)
	if _, err := os.Stat(tasks); err != nil {
		s.t.Skip("no /proc here to see a process halt in")
	}
	eventually(s.t, "the process has halted", func() bool {
		threads, _ := os.ReadDir(tasks)
		for _, thread := range threads {
			stat, err := os.ReadFile(filepath.Join(tasks, thread.Name(), "stat"))
			if err == nil && !bytes.HasPrefix(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" T")) {
				return false
			}
		}
		return true
	})
}

// waitExit returns the exit code of a server that is expected to end.
func (s *server) waitExit() int {
	s.t.Helper()
	s.stopped = true
	select {
	case <-s.done:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		s.t.Fatal("the server did not end")
		return -1
	}
}

// brokenLog finds what no server may ever print.
var brokenLog = regexp.MustCompile(`(?m)WARNING: DATA RACE|^panic: |^fatal error: |goroutine \d+ \[`)

// cleanup ends the process and fails the test if it had ended by itself, does
// not end when asked to, or printed a race or a panic.
func (s *server) cleanup() {
	if s.cmd.Process == nil {
		return
	}
	if s.ended() && !s.stopped {
		s.t.Errorf("the server ended by itself: %v", s.cmd.ProcessState)
	}
	if !s.ended() {
		s.cmd.Process.Signal(syscall.SIGCONT)
		s.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-s.done:
		case <-time.After(patience):
			s.t.Error("the server did not end on SIGTERM")
			s.cmd.Process.Kill()
			<-s.done
		}
	}
	log := s.log.String()
	if found := brokenLog.FindString(log); found != "" {
		s.t.Errorf("the server's log has %q", found)
	}
	if s.t.Failed() && log != "" {
		s.t.Logf("log of %s:\n%s", filepath.Base(s.cmd.Path), tail(log, logBytesMax))
	}
}

// logBytesMax bounds how much of a log is printed with a failure.
const logBytesMax = 8 << 10

func tail(s string, bytesMax int) string {
	if len(s) <= bytesMax {
		return s
	}
	return "…" + s[len(s)-bytesMax:]
}

// dial opens a raw connection that is closed at the end of the test.
func (s *server) dial() *conn {
	s.t.Helper()
	if s.addr == "" {
		return dialTo(s.t, "unix", s.socketPath())
	}
	return dialTo(s.t, "tcp", s.addr)
}

// residentBytes is the resident memory of the process as the kernel counts it.
func (s *server) residentBytes() int64 {
	s.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if errors.Is(err, os.ErrNotExist) {
		s.t.Skip("no /proc here to read a process's memory from")
	}
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		s.t.Fatalf("no VmRSS in the status of the server: %v", err)
	}
	kib, _ := strconv.ParseInt(string(m[1]), 10, 64)
	return kib << 10
}

// cpuTime is the processor time the process has used, to some 10 ms.
func (s *server) cpuTime() time.Duration {
	s.t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		s.t.Skip("no /proc here to read a process's processor time from")
	}
	// The name in parentheses may hold spaces; the 14th and 15th fields of the
	// line are user and system time in hundredths of a second.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// infoLine finds a field in the text of INFO.
func infoLine(info, name string) (string, bool) {
	for line := range strings.SplitSeq(info, "\r\n") {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			return v, true
		}
	}
	return "", false
}

// infoNumber finds a whole number in the text of INFO.
func infoNumber(t testing.TB, info, name string) int64 {
	t.Helper()
	s, ok := infoLine(info, name)
	n, err := strconv.ParseInt(s, 10, 64)
	if !ok || err != nil {
		t.Fatalf("%s is %q in %q", name, s, info)
	}
	return n
}

// infoField asks for one field of one INFO section, and whether it is there.
func infoField(c *conn, section, name string) (string, bool) {
	c.t.Helper()
	return infoLine(c.value("INFO", section).text, name)
}

// infoInt asks for a whole number in INFO.
func infoInt(c *conn, section, name string) int64 {
	c.t.Helper()
	return infoNumber(c.t, c.value("INFO", section).text, name)
}
