package tests

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSignals: both ask for an orderly end, with exit code 0.
func TestSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			s := ownServer(t)
			c := s.dial()
			c.ok("SET", "k", "v")
			s.signal(sig)
			if code := s.waitExit(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			c.wantClosed("")
			if _, err := net.DialTimeout("tcp", s.addr, time.Second); err == nil {
				t.Error("the port is still open")
			}
		})
	}
}

// TestSignalWaitsForTheCommandInFlight: a command that runs when the signal comes
// is finished and answered.
func TestSignalWaitsForTheCommandInFlight(t *testing.T) {
	s := ownServer(t, "--enable-debug-command", "yes")
	c, witness := s.dial(), s.dial()
	witness.want("+PONG\r\n", "PING")
	c.send(string(encode("DEBUG", "SLEEP", "1.5")))
	// The sleeping server answers nobody, which is how one sees that it sleeps.
	eventually(t, "the server sleeps", func() bool {
		witness.nc.SetDeadline(time.Now().Add(200 * time.Millisecond))
		witness.nc.Write(encode("PING"))
		_, err := witness.nc.Read(make([]byte, 64))
		return err != nil
	})
	s.signal(syscall.SIGTERM)
	if got := c.reply(); got != "+OK\r\n" {
		t.Errorf("the command in flight was answered with %q", got)
	}
	if code := s.waitExit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestSignalWithManyClients: idle, half-sent and non-reading clients do not
// hold up the end.
func TestSignalWithManyClients(t *testing.T) {
	s := ownServer(t)
	s.dial().ok("SET", "big", strings.Repeat("x", 1<<20))
	for range 50 {
		s.dial()
		s.dial().send("*3\r\n$3\r\nSET\r\n$1\r\nk")
	}
	for range 5 {
		s.dial().send(strings.Repeat(string(encode("GET", "big")), 100))
	}
	s.signal(syscall.SIGTERM)
	if code := s.waitExit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestShutdown(t *testing.T) {
	for _, args := range [][]string{{"SHUTDOWN"}, {"SHUTDOWN", "NOSAVE"}, {"shutdown", "nosave", "now", "force"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			s := ownServer(t)
			c, other := s.dial(), s.dial()
			c.send(string(encode(args...)))
			c.wantClosed("")
			other.wantClosed("")
			if code := s.waitExit(); code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

func TestLogFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kv.log")
	s := ownServer(t, "--logfile", path, "--loglevel", "debug")
	s.dial().want("+PONG\r\n", "PING")
	s.signal(syscall.SIGTERM)
	s.waitExit()
	text := readFile(t, path)
	if text == "" {
		t.Error("nothing was logged")
	}
	if out := s.log.String(); out != "" {
		t.Errorf("with a log file, this still went to the standard streams:\n%s", out)
	}
}

// TestLogLevels: a higher level says less, and no level but debug much.
func TestLogLevels(t *testing.T) {
	size := map[string]int{}
	for _, level := range []string{"debug", "verbose", "notice", "warning"} {
		s := ownServer(t, "--loglevel", level)
		wantConfig(t, s.dial(), map[string]string{"loglevel": level})
		s.dial().do("GET", "k")
		s.signal(syscall.SIGTERM)
		s.waitExit()
		size[level] = len(s.log.String())
	}
	if size["debug"] < size["verbose"] || size["verbose"] < size["notice"] || size["notice"] <= size["warning"] {
		t.Errorf("bytes logged by level: %v", size)
	}
	if size["warning"] != 0 {
		t.Errorf("an ordinary run logged %d bytes of warnings", size["warning"])
	}
}

// TestUnixSocket serves a socket in the file system, with its permissions, and
// removes it at the end.
func TestUnixSocket(t *testing.T) {
	s := ownServer(t, "-unixonly", "--unixsocketperm", "700")
	c := s.dial()
	c.ok("SET", "k", "v")
	c.want("$1\r\nv\r\n", "GET", "k")
	info, err := os.Stat(s.socketPath())
	if err != nil || info.Mode().Perm() != 0o700 || info.Mode().Type() != os.ModeSocket {
		t.Errorf("the socket: %v, %v", info.Mode(), err)
	}
	if v := c.value("CLIENT", "INFO").text; !strings.Contains(v, "addr="+s.socketPath()+":0 ") {
		t.Errorf("CLIENT INFO: %s", v)
	}
	s.signal(syscall.SIGTERM)
	s.waitExit()
	if _, err := os.Stat(s.socketPath()); !os.IsNotExist(err) {
		t.Errorf("the socket was left behind: %v", err)
	}
}

// TestUnixSocketLeftBehind: a socket file of a killed server does not keep the
// next one from starting.
func TestUnixSocketLeftBehind(t *testing.T) {
	first := ownServer(t, "-unixonly")
	first.signal(syscall.SIGKILL)
	first.waitExit()
	bin, err := serverBinary()
	if err != nil {
		t.Fatal(err)
	}
	second := &server{t: t, dir: first.dir, log: new(output), done: make(chan struct{})}
	second.launch(bin, []string{"--port", "0", "--unixsocket", first.socketPath(), "--save", ""})
	t.Cleanup(second.cleanup)
	eventually(t, "the second server answers", func() bool { return second.ended() || second.answersUnix() })
	second.dial().want("+PONG\r\n", "PING")
}

// TestBindSeveralAddresses listens on all that are named.
func TestBindSeveralAddresses(t *testing.T) {
	s := ownServer(t, "--bind", "127.0.0.1 127.0.0.2 -::1")
	_, port, _ := net.SplitHostPort(s.addr)
	for _, host := range []string{"127.0.0.1", "127.0.0.2"} {
		dialTo(t, "tcp", net.JoinHostPort(host, port)).want("+PONG\r\n", "PING")
	}
}

// TestDatabases: their number is a parameter.
func TestDatabases(t *testing.T) {
	c := ownServer(t, "--databases", "3").dial()
	c.ok("SELECT", "2")
	c.want("-ERR DB index is out of range\r\n", "SELECT", "3")
	c.want("-ERR DB index is out of range\r\n", "SWAPDB", "0", "3")
	c.want("-ERR DB index is out of range\r\n", "MOVE", "k", "3")
}

// TestRestart: nothing is kept, and nothing is left in the way.
func TestRestart(t *testing.T) {
	s := ownServer(t)
	c := s.dial()
	for i := range 100 {
		c.ok("SET", fmt.Sprint(i), "v")
	}
	s.signal(syscall.SIGTERM)
	s.waitExit()
	bin, _ := serverBinary()
	again := &server{t: t, addr: s.addr, dir: s.dir, log: new(output), done: make(chan struct{})}
	_, port, _ := net.SplitHostPort(s.addr)
	again.launch(bin, []string{"--port", port, "--bind", "127.0.0.1", "--save", ""})
	t.Cleanup(again.cleanup)
	eventually(t, "the server answers on the same port", func() bool { return again.ended() || again.answersTCP() })
	again.dial().want(":0\r\n", "DBSIZE")
}
