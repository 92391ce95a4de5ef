package tests

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Stress tests look for what only numbers and bad timing show: clients that are lost, replies that are mixed up, what is
// left behind of those that are gone. They say nothing about speed.

// link is a connection that ends with a reset, so that a test with thousands leaves no ports behind that wait.
type link struct {
	net.Conn
	r *bufio.Reader
}

func (s *server) link() (*link, error) {
	nc, err := net.DialTimeout("tcp", s.addr, patience)
	if err != nil {
		return nil, err
	}
	nc.(*net.TCPConn).SetLinger(0)
	nc.SetDeadline(time.Now().Add(2 * patience))
	return &link{nc, bufio.NewReaderSize(nc, 512)}, nil
}

// expect reads as many bytes as want has and compares them.
func (l *link) expect(want string) error {
	got := make([]byte, len(want))
	n, err := io.ReadFull(l.r, got)
	if err != nil || string(got) != want {
		return fmt.Errorf("got %q, want %q, error %v", got[:n], want, err)
	}
	return nil
}

// inParallel runs fn with the numbers below n on a few goroutines and returns the first error.
func inParallel(n int, fn func(i int) error) error {
	const workers = 8
	var group sync.WaitGroup
	var next atomic.Int64
	failed := make(chan error, workers)
	for range workers {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := fn(i); err != nil {
					failed <- fmt.Errorf("%d: %w", i, err)
					return
				}
			}
		})
	}
	group.Wait()
	close(failed)
	return <-failed
}

// openFiles is the number of descriptors that the process has open.
func (s *server) openFiles() int {
	s.t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
	if err != nil {
		s.t.Skip("no /proc here to count a process's files in")
	}
	return len(list)
}

// filesWith is openFiles once the server has met c, which it may accept long after c is connected.
func (s *server) filesWith(c *conn) int {
	s.t.Helper()
	c.want("+PONG\r\n", "PING")
	return s.openFiles()
}

// leavesNothing waits until nothing is known any more of clients that have gone. c is the only one there, and files is what
// filesWith it was.
func (s *server) leavesNothing(c *conn, files int) {
	s.t.Helper()
	for _, f := range []struct{ section, name, want string }{
		{"clients", "connected_clients", "1"}, {"clients", "blocked_clients", "0"}, {"clients", "pubsub_clients", "0"},
		{"clients", "watching_clients", "0"}, {"clients", "total_blocking_keys", "0"}, {"clients", "clients_in_timeout_table", "0"},
		{"stats", "pubsub_channels", "0"}, {"stats", "pubsub_patterns", "0"}, {"stats", "pubsubshard_channels", "0"},
		{"stats", "handler_panics", "0"},
	} {
		got := ""
		if !poll(patience, func() bool {
			got, _ = infoField(c, f.section, f.name)
			return got == f.want
		}) {
			s.t.Errorf("%s:%s, want %s", f.name, got, f.want)
		}
	}
	eventually(s.t, "the descriptors are closed", func() bool { return s.openFiles() <= files })
}

// TestTenThousandConnections holds them open at the same time, and each gets its own answers.
func TestTenThousandConnections(t *testing.T) {
	const connections = 10_000
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Max < connections+1000 {
		t.Skipf("NOT TESTED: %d connections, since only %d files may be open (%v)", connections, limit.Max, err)
	}
	s := ownServer(t, "--maxclients", strconv.Itoa(connections+100), "--tcp-backlog", "4096")
	admin := s.dial()
	if got := configOf(admin)["maxclients"]; got != strconv.Itoa(connections+100) {
		t.Skipf("NOT TESTED: %d connections, since the server may have only %s", connections, got)
	}
	files := s.filesWith(admin)
	links := make([]*link, connections)
	closeAll := func() {
		for _, l := range links {
			if l != nil {
				l.Close()
			}
		}
	}
	defer closeAll()
	err := inParallel(connections, func(i int) (err error) {
		links[i], err = s.link()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		err := inParallel(connections, func(i int) error {
			name := fmt.Sprintf("key:%d:%d", round, i)
			_, err := links[i].Write([]byte(string(encode("SET", name, name)) + string(encode("GET", name)) + string(encode("ECHO", name))))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		err = inParallel(connections, func(i int) error {
			name := fmt.Sprintf("key:%d:%d", round, i)
			bulk := fmt.Sprintf("$%d\r\n%s\r\n", len(name), name)
			return links[i].expect("+OK\r\n" + bulk + bulk)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := infoInt(admin, "clients", "connected_clients"); n != connections+1 {
		t.Errorf("connected_clients:%d", n)
	}
	if lines := strings.Count(admin.value("CLIENT", "LIST").text, "\n"); lines != connections+1 {
		t.Errorf("CLIENT LIST has %d lines", lines)
	}
	if n := infoInt(admin, "memory", "mem_clients_normal"); n > connections*4096 {
		t.Errorf("idle connections take %d bytes each", n/connections)
	}
	closeAll()
	s.leavesNothing(admin, files)
}

// TestThousandSubscribersOneSlow: all others get all messages in order, whatever one of them that reads nothing makes the
// server hold for it.
func TestThousandSubscribersOneSlow(t *testing.T) {
	const subscribers, messages = 1000, 200
	const fillerBytes, fillers = 64 << 10, 400 // together more than what sockets hold
	s := ownServer(t, "--client-output-buffer-limit", "pubsub 1mb 0 0")
	admin := s.dial()
	files := s.filesWith(admin)
	links := make([]*link, subscribers)
	if err := inParallel(subscribers, func(i int) (err error) {
		if links[i], err = s.link(); err != nil {
			return err
		}
		if _, err = links[i].Write(encode("SUBSCRIBE", "ch")); err != nil {
			return err
		}
		return links[i].expect("*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n")
	}); err != nil {
		t.Fatal(err)
	}
	slow := links[0]
	slow.Conn.(*net.TCPConn).SetReadBuffer(4096)
	if _, err := slow.Write(encode("SUBSCRIBE", "filler")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the slow one is subscribed to both", func() bool { return admin.do("PUBSUB", "NUMSUB", "filler") == "*2\r\n$6\r\nfiller\r\n:1\r\n" })

	published := make(chan error, 1)
	go func() {
		published <- publishWithFiller(s, messages, strings.Repeat("x", fillerBytes), fillers/messages)
	}()
	var group sync.WaitGroup
	failed := make(chan error, subscribers)
	for i, l := range links[1:] {
		group.Go(func() {
			for n := range messages {
				text := fmt.Sprint("message ", n)
				if err := l.expect(fmt.Sprintf("*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$%d\r\n%s\r\n", len(text), text)); err != nil {
					failed <- fmt.Errorf("subscriber %d, message %d: %w", i+1, n, err)
					return
				}
			}
		})
	}
	group.Wait()
	close(failed)
	if err := errors.Join(<-published, <-failed); err != nil {
		t.Fatal(err)
	}
	if got := admin.do("PUBLISH", "filler", "x"); got != ":0\r\n" {
		t.Errorf("the slow subscriber is still there: %q", got)
	}
	if n := infoInt(admin, "stats", "client_output_buffer_limit_disconnections"); n != 1 {
		t.Errorf("client_output_buffer_limit_disconnections:%d", n)
	}
	for _, l := range links {
		l.Close()
	}
	s.leavesNothing(admin, files)
}

// publishWithFiller publishes numbered messages to ch, and after each some that only the slow subscriber gets.
func publishWithFiller(s *server, messages int, filler string, fillers int) error {
	l, err := s.link()
	if err != nil {
		return err
	}
	defer l.Close()
	for n := range messages {
		batch := encode("PUBLISH", "ch", fmt.Sprint("message ", n))
		for range fillers {
			batch = append(batch, encode("PUBLISH", "filler", filler)...)
		}
		if _, err := l.Write(batch); err != nil {
			return err
		}
		for i := range 1 + fillers {
			reply, err := readReply(l.r)
			if err != nil || reply[0] != ':' || i == 0 && string(reply) != ":1000\r\n" && string(reply) != ":999\r\n" {
				return fmt.Errorf("message %d: PUBLISH was answered %q, %v", n, reply, err)
			}
		}
	}
	return nil
}

// storm is a crowd of clients that are killed again and again.
type storm struct {
	s    *server
	stop atomic.Bool
	wg   sync.WaitGroup

	asked, done atomic.Int64 // INCR sent and answered
	odd         atomic.Pointer[string]
}

// again runs a client over and over, each time on a new connection, until the storm is over. What it meets is no matter, but
// for replies that are wrong.
func (st *storm) again(client func(l *link) error) {
	st.wg.Go(func() {
		for !st.stop.Load() {
			l, err := st.s.link()
			if err != nil {
				continue
			}
			for err == nil && !st.stop.Load() {
				err = client(l)
			}
			l.Close()
			if odd := new(oddReply); errors.As(err, odd) {
				text := string(*odd)
				st.odd.Store(&text)
			}
		}
	})
}

// oddReply is a reply that there should not be.
type oddReply string

func (o oddReply) Error() string { return "odd reply: " + string(o) }

// exchange sends commands in one write and returns their replies.
func (l *link) exchange(commands ...[]string) (replies []string, err error) {
	var batch []byte
	for _, args := range commands {
		batch = append(batch, encode(args...)...)
	}
	if _, err := l.Write(batch); err != nil {
		return nil, err
	}
	for range commands {
		reply, err := readReply(l.r)
		if err != nil {
			return replies, err
		}
		if reply[0] == '-' {
			return replies, oddReply(reply)
		}
		replies = append(replies, string(reply))
	}
	return replies, nil
}

// pipelines sends rows of commands.
func (st *storm) pipelines(l *link) error {
	const row = 50
	var commands [][]string
	for i := range row {
		commands = append(commands, []string{"INCR", "n"}, []string{"SET", fmt.Sprint("k", i), "v"})
	}
	st.asked.Add(row)
	replies, err := l.exchange(commands...)
	st.done.Add(int64(len(replies)+1) / 2)
	return err
}

// transacts changes two keys that must stay alike.
func (st *storm) transacts(l *link) error {
	_, err := l.exchange([]string{"WATCH", "left"}, []string{"MULTI"}, []string{"INCR", "left"}, []string{"INCR", "right"}, []string{"EXEC"})
	return err
}

// halfTransacts is killed, mostly, while a transaction waits for its EXEC.
func (st *storm) halfTransacts(l *link) error {
	_, err := l.exchange([]string{"WATCH", "left", "other"}, []string{"MULTI"}, []string{"INCR", "left"})
	if err == nil {
		_, err = readReply(l.r)
	}
	return err
}

// scripts changes the same two keys.
func (st *storm) scripts(l *link) error {
	_, err := l.exchange([]string{"EVAL", "redis.call('INCR', KEYS[1]) return redis.call('INCR', KEYS[2])", "2", "left", "right"})
	return err
}

func (st *storm) blocks(l *link) error {
	_, err := l.exchange([]string{"BLPOP", "list", "nolist", "0"})
	return err
}

func (st *storm) pushes(l *link) error {
	_, err := l.exchange([]string{"RPUSH", "list", "v"}, []string{"PUBLISH", "ch", "text"}, []string{"LTRIM", "list", "0", "10"})
	return err
}

func (st *storm) subscribes(l *link) error {
	if _, err := l.exchange([]string{"SUBSCRIBE", "ch"}, []string{"PSUBSCRIBE", "c*"}); err != nil {
		return err
	}
	for {
		if _, err := readReply(l.r); err != nil {
			return err
		}
	}
}

// TestKillStorm: clients of all kinds are killed in the middle of what they do. Nobody gets an answer that is not his,
// transactions stay whole, and nothing is left of who was killed.
func TestKillStorm(t *testing.T) {
	s := ownServer(t)
	killer := s.dial()
	files := s.filesWith(killer)
	st := &storm{s: s}
	for range 4 {
		st.again(st.pipelines)
		st.again(st.transacts)
		st.again(st.halfTransacts)
		st.again(st.scripts)
		st.again(st.blocks)
		st.again(st.subscribes)
		st.again(st.pushes)
	}
	var killed int64
	const rounds, killedMin = 200, 100
	for round := 0; round < rounds || killed < killedMin; round++ {
		filter := [][]string{
			{"SKIPME", "yes"}, {"TYPE", "normal"}, {"TYPE", "pubsub"}, {"FLAGS", "x"}, {"FLAGS", "b"}, {"NOT-FLAGS", "P"}, {"NOT-DB", "3"},
		}[round%7]
		n, ok := killer.value(append([]string{"CLIENT", "KILL"}, filter...)...).int()
		if !ok {
			t.Fatalf("CLIENT KILL %q failed", filter)
		}
		killed += n
		if round%10 == 0 {
			killer.ok("CLIENT", "PAUSE", "10", "WRITE") // some are killed while they wait for its end
		}
		// One by one as well, as they come.
		for line := range strings.SplitSeq(killer.value("CLIENT", "LIST", "SKIPME", "yes").text, "\n") {
			if id, ok := strings.CutPrefix(strings.SplitN(line, " ", 2)[0], "id="); ok && rand.IntN(4) == 0 {
				killer.do("CLIENT", "KILL", "ID", id)
				killed++
			}
		}
	}
	st.stop.Store(true)
	over := make(chan struct{})
	go func() {
		st.wg.Wait()
		close(over)
	}()
	eventually(t, "the storm is over", func() bool {
		killer.do("CLIENT", "KILL", "SKIPME", "yes") // those who wait, and those who come late
		select {
		case <-over:
			return true
		default:
			return false
		}
	})
	if odd := st.odd.Load(); odd != nil {
		t.Errorf("somebody was answered %q", *odd)
	}
	if left, right := killer.do("GET", "left"), killer.do("GET", "right"); left != right {
		t.Errorf("a transaction was run in half: %q and %q", left, right)
	}
	n, _ := strconv.ParseInt(killer.value("GET", "n").text, 10, 64)
	if n < st.done.Load() || n > st.asked.Load() {
		t.Errorf("%d INCR were run, %d were answered and %d sent", n, st.done.Load(), st.asked.Load())
	}
	s.leavesNothing(killer, files)
}

// TestComingAndGoing: clients come, begin something, and go without a word.
func TestComingAndGoing(t *testing.T) {
	s := ownServer(t)
	admin := s.dial()
	files := s.filesWith(admin)
	beginnings := [][]byte{
		nil, []byte("*"), []byte("*3\r\n$3\r\nSET\r\n$1000000\r\nxx"), []byte("GET"), encode("PING"), encode("SUBSCRIBE", "a", "b"),
		encode("PSUBSCRIBE", "*"), encode("SSUBSCRIBE", "s"), encode("BLPOP", "l", "0"), encode("BZPOPMIN", "z", "100"),
		encode("XREAD", "BLOCK", "0", "STREAMS", "s", "$"), append(encode("MULTI"), encode("SET", "k", "v")...), encode("WATCH", "k"),
		encode("MONITOR"), encode("QUIT"), []byte("nonsense\r\n"), []byte("*-5\r\n$\r\n"), encode("CLIENT", "REPLY", "OFF"),
	}
	const connections = 3000
	err := inParallel(connections, func(i int) error {
		l, err := s.link()
		if err != nil {
			return err
		}
		defer l.Close()
		begun := beginnings[i%len(beginnings)]
		if _, err := l.Write(begun); err != nil {
			return err
		}
		if i%3 == 0 && len(begun) > 0 && begun[0] == '*' {
			l.SetReadDeadline(time.Now().Add(time.Millisecond)) // whether an answer comes or not
			l.Read(make([]byte, 100))
		}
		if i%2 == 0 {
			l.Conn.(*net.TCPConn).CloseWrite()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.leavesNothing(admin, files)
	if n := infoInt(admin, "stats", "total_connections_received"); n < connections {
		t.Errorf("total_connections_received:%d", n)
	}
}
