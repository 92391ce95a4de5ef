package tests

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// malformed are inputs that end a connection, each with everything that is
// answered before. The texts are those of Redis; TestMalformedInputOnThePeer
// keeps them so.
var malformed = []struct {
	name, input, want string
}{
	{"a count that is no number", "*abc\r\n", "-ERR Protocol error: invalid multibulk length\r\n"},
	{"an empty count", "*\r\n", "-ERR Protocol error: invalid multibulk length\r\n"},
	{"a count with a sign and nothing else", "*-\r\n", "-ERR Protocol error: invalid multibulk length\r\n"},
	{"a count beyond 31 bits", "*2147483648\r\n", "-ERR Protocol error: invalid multibulk length\r\n"},
	{"a huge count", "*4000000000\r\n", "-ERR Protocol error: invalid multibulk length\r\n"},
	{"a count beyond 64 bits", "*99999999999999999999\r\n", "-ERR Protocol error: invalid multibulk length\r\n"},
	{"a count with a blank", "* 1\r\n", "-ERR Protocol error: invalid multibulk length\r\n"},
	{"another type than a bulk", "*1\r\n:5\r\n", "-ERR Protocol error: expected '$', got ':'\r\n"},
	{"an inline command inside", "*2\r\n$4\r\nECHO\r\nhello\r\n", "-ERR Protocol error: expected '$', got 'h'\r\n"},
	{"an array inside", "*1\r\n*1\r\n$4\r\nPING\r\n", "-ERR Protocol error: expected '$', got '*'\r\n"},
	{"a length that is no number", "*1\r\n$abc\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
	{"an empty length", "*1\r\n$\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
	{"a null argument", "*1\r\n$-1\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
	{"a negative length", "*1\r\n$-2\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
	{"a very negative length", "*1\r\n$-1000000\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
	{"a length whose sum overflows", "*1\r\n$9223372036854775806\r\nAB", "-ERR Protocol error: invalid bulk length\r\n"},
	{"the largest length", "*1\r\n$9223372036854775807\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
	{"a length beyond 64 bits", "*1\r\n$99999999999999999999\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
	{"512 MiB and a byte", "*2\r\n$3\r\nGET\r\n$536870913\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
	{"a good command before", "*1\r\n$4\r\nPING\r\n*1\r\n$x\r\n", "+PONG\r\n-ERR Protocol error: invalid bulk length\r\n"},
	{"an error before", "*1\r\n$3\r\nGET\r\n*x\r\n", "-ERR wrong number of arguments for 'get' command\r\n-ERR Protocol error: invalid multibulk length\r\n"},
	{"a good command after", "*1\r\n$x\r\n*1\r\n$4\r\nPING\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
	{"an open double quote", "GET \"a\r\n", "-ERR Protocol error: unbalanced quotes in request\r\n"},
	{"an open single quote", "GET 'a\r\n", "-ERR Protocol error: unbalanced quotes in request\r\n"},
	{"text right after a quote", "GET \"a\"b\r\n", "-ERR Protocol error: unbalanced quotes in request\r\n"},
	{"an inline command too long", strings.Repeat("a", 65537), "-ERR Protocol error: too big inline request\r\n"},
	{"an inline command far too long", strings.Repeat("ab ", 300_000), "-ERR Protocol error: too big inline request\r\n"},
	{"a count of 70,000 digits", "*" + strings.Repeat("1", 70_000), "-ERR Protocol error: too big mbulk count string\r\n"},
	{"a length of 70,000 digits", "*1\r\n$" + strings.Repeat("1", 70_000), "-ERR Protocol error: too big bulk count string\r\n"},
}

func TestMalformedInput(t *testing.T) { checkMalformed(t, startServer(t)) }

func TestMalformedInputOnThePeer(t *testing.T) { checkMalformed(t, startPeer(t)) }

func checkMalformed(t *testing.T, s *server) {
	witness := s.dial()
	for _, m := range malformed {
		t.Run(m.name, func(t *testing.T) {
			c := s.dial()
			c.t = t
			c.nc.SetWriteDeadline(time.Now().Add(patience))
			// The server may close before it has read all of a long input.
			io.WriteString(c.nc, m.input)
			c.wantClosed(m.want)
			witness.want("+PONG\r\n", "PING")
		})
	}
}

// TestMalformedInputAByteAtATime: how the bytes are cut changes nothing.
func TestMalformedInputAByteAtATime(t *testing.T) {
	s := startServer(t)
	for _, m := range malformed {
		if len(m.input) > 1000 {
			continue
		}
		c := s.dial()
		for i := range len(m.input) {
			if _, err := io.WriteString(c.nc, m.input[i:i+1]); err != nil {
				break // closed after it has seen enough
			}
		}
		got, err := c.readAll()
		if got != m.want || err != nil {
			t.Errorf("%s: %q (%v), want %q", m.name, got, err, m.want)
		}
	}
	s.dial().want("+PONG\r\n", "PING")
}

// odd are inputs that look wrong and are not.
var odd = []struct {
	name, input, want string
}{
	{"an empty array", "*0\r\nPING\r\n", "+PONG\r\n"},
	{"a null array", "*-1\r\nPING\r\n", "+PONG\r\n"},
	{"a negative count", "*-5\r\nPING\r\n", "+PONG\r\n"},
	{"empty lines", "\r\n\r\n\r\nPING\r\n", "+PONG\r\n"},
	{"a line feed alone", "PING\nPING\n", "+PONG\r\n+PONG\r\n"},
	{"blanks", "   PING   \r\n", "+PONG\r\n"},
	{"tabs", "\tECHO\thi\t\r\n", "$2\r\nhi\r\n"},
	{"inline quotes", "ECHO \"a b\\x00\\n\"\r\n", "$5\r\na b\x00\n\r\n"},
	{"inline single quotes", "ECHO 'a \"b\\''\r\n", "$5\r\na \"b'\r\n"},
	{"inline empty argument", "ECHO \"\"\r\n", "$0\r\n\r\n"},
	{"a bulk header inline", "$5 hello\r\n", "-ERR unknown command '$5', with args beginning with: 'hello' \r\n"},
	{"blanks only", "   \r\nPING\r\n", "+PONG\r\n"},
	{"small letters", "*1\r\n$4\r\nping\r\n", "+PONG\r\n"},
	{"inline and multibulk in turn", "PING\r\n*1\r\n$4\r\nPING\r\nPING\r\n", "+PONG\r\n+PONG\r\n+PONG\r\n"},
	{"an empty command name", "*1\r\n$0\r\n\r\n", "-ERR unknown command '', with args beginning with: \r\n"},
	{"a zero in the name", "*1\r\n$5\r\nPI\x00NG\r\n", "-ERR unknown command 'PI', with args beginning with: \r\n"},
	{"line ends in an argument", "*2\r\n$4\r\nECHO\r\n$4\r\n\r\n\r\n\r\n", "$4\r\n\r\n\r\n\r\n"},
	{"an inline command of 64,000 bytes", "ECHO " + strings.Repeat("x", 64_000) + "\r\n", "$64000\r\n" + strings.Repeat("x", 64_000) + "\r\n"},
	{"QUIT with more behind it", "PING\r\nQUIT\r\n", "+PONG\r\n+OK\r\n"},
}

func TestOddInput(t *testing.T)          { checkOdd(t, startServer(t)) }
func TestOddInputOnThePeer(t *testing.T) { checkOdd(t, startPeer(t)) }

func checkOdd(t *testing.T, s *server) {
	for _, o := range odd {
		t.Run(o.name, func(t *testing.T) {
			c := s.dial()
			c.t = t
			c.send(o.input)
			c.send("QUIT\r\n")
			got, err := c.readAll()
			if got = strings.TrimSuffix(got, "+OK\r\n"); got != strings.TrimSuffix(o.want, "+OK\r\n") || err != nil {
				t.Errorf("%q: %q (%v), want %q", tail(o.input, 100), tail(got, 200), err, tail(o.want, 200))
			}
		})
	}
}

// TestUnauthenticatedLimits: before AUTH a client may send little.
func TestUnauthenticatedLimits(t *testing.T) {
	check := func(t *testing.T, s *server) {
		for _, m := range []struct{ input, want string }{
			{"*11\r\n", "-ERR Protocol error: unauthenticated multibulk length\r\n"},
			{"*1\r\n$16385\r\n", "-ERR Protocol error: unauthenticated bulk length\r\n"},
		} {
			c := s.dial()
			c.send(m.input)
			c.wantClosed(m.want)
		}
		c := s.dial()
		c.want("-NOAUTH Authentication required.\r\n", "GET", strings.Repeat("k", 16384))
		c.ok("AUTH", "secret")
		c.want("$-1\r\n", "GET", strings.Repeat("k", 16385))
		c.want("*11\r\n"+strings.Repeat("$-1\r\n", 11), append([]string{"MGET"}, strings.Fields("a b c d e f g h i j k")...)...)
	}
	t.Run("ours", func(t *testing.T) { check(t, startServer(t, "--requirepass", "secret")) })
	t.Run("the peer", func(t *testing.T) { check(t, startPeer(t, "--requirepass", "secret")) })
}

// TestSplitAtEveryByte cuts good and bad commands at every position.
func TestSplitAtEveryByte(t *testing.T) {
	s := startServer(t)
	for _, p := range []struct{ input, want string }{
		{string(encode("SET", "k", "hello")) + string(encode("GET", "k")), "+OK\r\n$5\r\nhello\r\n"},
		{string(encode("SET", "k", "a\r\n$3\r\nb")) + string(encode("GET", "k")), "+OK\r\n$8\r\na\r\n$3\r\nb\r\n"},
		{string(encode("GET")) + string(encode("PING")), "-ERR wrong number of arguments for 'get' command\r\n+PONG\r\n"},
		{string(encode("nosuch", "x")), "-ERR unknown command 'nosuch', with args beginning with: 'x' \r\n"},
		{"SET k \"a b\"\r\nGET k\r\n", "+OK\r\n$3\r\na b\r\n"},
	} {
		for cut := 1; cut < len(p.input); cut++ {
			c := s.dial()
			c.send(p.input[:cut])
			// The first part must have arrived alone for the cut to be one. A round
			// trip on another connection gives the server the time to read it.
			s.dial().do("PING")
			c.send(p.input[cut:])
			c.send("QUIT\r\n")
			if got, err := c.readAll(); got != p.want+"+OK\r\n" || err != nil {
				t.Fatalf("%q cut at %d: %q (%v), want %q", p.input, cut, got, err, p.want)
			}
		}
	}
}

// TestManyArguments sends 100,000 of them in small pieces. A parser that begins
// again at every read would take minutes of processor time.
func TestManyArguments(t *testing.T) {
	const pieceBytes = 100
	arguments := scaled(100_000)
	s := ownServer(t)
	c, witness := s.dial(), s.dial()
	args := []string{"MSET"}
	for i := range arguments / 2 {
		args = append(args, fmt.Sprintf("key:%d", i), "v")
	}
	before := s.cpuTime()
	for rest := encode(args...); len(rest) > 0; {
		n := min(pieceBytes, len(rest))
		c.send(string(rest[:n]))
		rest = rest[n:]
	}
	if got := c.reply(); got != "+OK\r\n" {
		t.Fatal(got)
	}
	c.want(fmt.Sprintf(":%d\r\n", arguments/2), "DBSIZE")
	used := s.cpuTime() - before
	t.Logf("%v of processor time", used)
	if used > 10*time.Second {
		t.Errorf("%d arguments in pieces of 100 bytes took %v of processor time", arguments, used)
	}
	c.want(fmt.Sprintf(":%d\r\n", arguments/2), append([]string{"DEL"}, evens(args[1:])...)...)
	witness.want("+PONG\r\n", "PING")
}

func evens(s []string) []string {
	var out []string
	for i := 0; i < len(s); i += 2 {
		out = append(out, s[i])
	}
	return out
}

// TestLargeValueInPieces: a value of many megabytes in small pieces takes
// linear time, and others are served meanwhile.
func TestLargeValueInPieces(t *testing.T) {
	valueBytes, pieceBytes := scaled(160<<20), 4<<10
	s := ownServer(t)
	c, witness := s.dial(), s.dial()
	c.send(fmt.Sprintf("*3\r\n$3\r\nSET\r\n$3\r\nbig\r\n$%d\r\n", valueBytes))
	piece := strings.Repeat("0123456789abcdef", pieceBytes/16)
	for i := 0; i < valueBytes; i += pieceBytes {
		c.send(piece)
		if i%(valueBytes/8) == 0 {
			witness.want("+PONG\r\n", "PING")
		}
	}
	c.send("\r\n")
	if got := c.reply(); got != "+OK\r\n" {
		t.Fatal(got)
	}
	c.want(fmt.Sprintf(":%d\r\n", valueBytes), "STRLEN", "big")
	c.want("$32\r\n0123456789abcdef0123456789abcdef\r\n", "GETRANGE", "big", fmt.Sprint(valueBytes-32), "-1")
	if rss := s.residentBytes(); !raceEnabled && rss > int64(4*valueBytes)+(100<<20) {
		t.Errorf("a value of %d MB left %d MB resident", valueBytes>>20, rss>>20)
	}
}

// TestPromisedArguments: a count costs nothing until arguments come.
func TestPromisedArguments(t *testing.T) {
	s := ownServer(t)
	witness := s.dial()
	before, cpu := s.residentBytes(), s.cpuTime()
	for range 20 {
		s.dial().send("*2147483647\r\n")
		s.dial().send("*2\r\n$3\r\nGET\r\n$536870912\r\n")
	}
	for range 50 {
		witness.want("+PONG\r\n", "PING")
	}
	if grown := s.residentBytes() - before; grown > 64<<20 {
		t.Errorf("40 promises of large commands took %d MB", grown>>20)
	}
	elapse(500 * time.Millisecond)
	if used := s.cpuTime() - cpu; used > 2*time.Second {
		t.Errorf("40 idle promises took %v of processor time", used)
	}
}

// TestGarbage sends a MiB of it, of several kinds.
func TestGarbage(t *testing.T) {
	s := startServer(t)
	witness := s.dial()
	kinds := map[string]func(i int) byte{
		"zeros":       func(int) byte { return 0 },
		"stars":       func(int) byte { return '*' },
		"dollars":     func(int) byte { return '$' },
		"bytes":       func(i int) byte { return byte(i * 2654435761 >> 7) },
		"line feeds":  func(int) byte { return '\n' },
		"empty lines": func(i int) byte { return "\r\n"[i%2] },
		"quotes":      func(i int) byte { return "\" "[i%2] },
	}
	for name, kind := range kinds {
		b := make([]byte, 1<<20)
		for i := range b {
			b[i] = kind(i)
		}
		nc, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		nc.SetDeadline(time.Now().Add(patience))
		go io.Copy(io.Discard, nc)
		nc.Write(b)
		if got := witness.do("PING"); got != "+PONG\r\n" {
			t.Errorf("after %s: %q", name, got)
		}
		nc.Close()
	}
	witness.want("+PONG\r\n", "PING")
}

// TestHalfSentCommands: connections that end in the middle of a command leave
// nothing behind.
func TestHalfSentCommands(t *testing.T) {
	s := ownServer(t)
	whole := string(encode("SET", "half", "sent"))
	for cut := 1; cut < len(whole); cut++ {
		nc, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(nc, whole[:cut])
		nc.Close()
	}
	c := s.dial()
	c.want(":0\r\n", "EXISTS", "half")
	eventually(t, "the server has only one client", func() bool { return infoInt(c, "clients", "connected_clients") == 1 })
}

// TestDeepPipeline sends tens of thousands of commands in one write and reads
// the replies only afterwards.
func TestDeepPipeline(t *testing.T) {
	n := scaled(20_000)
	s := startServer(t)
	c := s.dial()
	var commands [][]string
	for i := range n {
		commands = append(commands, []string{"SET", fmt.Sprint("k", i), fmt.Sprint(i)}, []string{"GET", fmt.Sprint("k", i)})
	}
	for i, got := range c.pipeline(commands) {
		want := "+OK\r\n"
		if i%2 == 1 {
			v := fmt.Sprint(i / 2)
			want = fmt.Sprintf("$%d\r\n%s\r\n", len(v), v)
		}
		if got != want {
			t.Fatalf("reply %d: %q, want %q", i, got, want)
		}
	}
}

// TestClientThatNeverReads asks for gigabytes with 64 KiB of commands and reads
// nothing: the server stops executing, holds little and serves others.
func TestClientThatNeverReads(t *testing.T) {
	s := ownServer(t)
	witness := s.dial()
	witness.ok("SET", "big", strings.Repeat("x", 1<<20))
	before := s.residentBytes()
	request := encode("GET", "big")
	greedy := s.dial()
	greedy.send(strings.Repeat(string(request), 64<<10/len(request)))
	// And one that keeps asking for as long as the server takes it.
	endless := s.dial()
	endless.nc.SetWriteDeadline(time.Now().Add(3 * time.Second))
	for s.residentBytes()-before < 500<<20 {
		if _, err := endless.nc.Write([]byte(strings.Repeat(string(request), 100))); err != nil {
			break
		}
	}
	for range 20 {
		witness.want("+PONG\r\n", "PING")
		witness.do("GET", "big")
	}
	if grown := s.residentBytes() - before; grown > 100<<20 {
		t.Errorf("two clients that do not read took %d MB", grown>>20)
	}
	t.Run("and reads after all", func(t *testing.T) {
		want := fmt.Sprintf("$%d\r\n%s\r\n", 1<<20, strings.Repeat("x", 1<<20))
		for i := range scaled(200) {
			if got := greedy.reply(); got != want {
				t.Fatalf("reply %d has %d bytes, want %d", i, len(got), len(want))
			}
		}
	})
}

// TestQueryBufferLimit: a client that sends a command without end is cut off.
func TestQueryBufferLimit(t *testing.T) {
	s := ownServer(t)
	witness := s.dial()
	witness.ok("CONFIG", "SET", "client-query-buffer-limit", "1mb")
	c := s.dial()
	c.nc.SetDeadline(time.Now().Add(patience))
	piece := []byte(strings.Repeat("x", 64<<10))
	if _, err := io.WriteString(c.nc, "*2\r\n$4\r\nECHO\r\n$67108864\r\n"); err != nil {
		t.Fatal(err)
	}
	cut := false
	for range 64 << 20 / len(piece) {
		if _, err := c.nc.Write(piece); err != nil {
			cut = true
			break
		}
	}
	if !cut {
		t.Error("64 MB were taken for one command under a limit of 1 MB")
	}
	witness.want("+PONG\r\n", "PING")
	witness.ok("SET", "k", strings.Repeat("x", 512<<10))
}

// TestMaxClients: one client too many is told so.
func TestMaxClients(t *testing.T) {
	s := startServer(t, "--maxclients", "5")
	conns := make([]*conn, 5)
	for i := range conns {
		conns[i] = s.dial()
		eventually(t, "a connection within the limit is served", func() bool {
			b, err := conns[i].try("PING")
			if err != nil {
				conns[i] = s.dial() // the probe of the start may still have had its place
			}
			return string(b) == "+PONG\r\n"
		})
	}
	for range 3 {
		s.dial().wantClosed("-ERR max number of clients reached\r\n")
	}
	conns[0].nc.Close()
	eventually(t, "a place that was left can be taken", func() bool {
		b, _ := s.dial().try("PING")
		return string(b) == "+PONG\r\n"
	})
	if n := infoInt(conns[1], "stats", "rejected_connections"); n < 3 {
		t.Errorf("rejected_connections is %d", n)
	}
}

// TestTimeout: a client that is silent for long enough is closed, one that
// speaks is not.
func TestTimeout(t *testing.T) {
	s := startServer(t, "--timeout", "1")
	silent, speaking := s.dial(), s.dial()
	silent.want("+PONG\r\n", "PING")
	closed := make(chan error, 1)
	go func() {
		got, err := silent.readAll()
		if err == nil && got != "" {
			err = fmt.Errorf("got %q", got)
		}
		closed <- err
	}()
	eventually(t, "the silent connection is closed", func() bool {
		speaking.want("+PONG\r\n", "PING")
		select {
		case err := <-closed:
			if err != nil {
				t.Error(err)
			}
			return true
		default:
			return false
		}
	})
	speaking.want("+PONG\r\n", "PING")
	speaking.ok("CONFIG", "SET", "timeout", "0")
}

// TestIdleConnections: ten thousand of them take at most 100 MB.
func TestIdleConnections(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector's memory is not the server's")
	}
	const connections, residentBytesMax = 10_000, 100 << 20
	s := ownServer(t, "--maxclients", "12000")
	c := s.dial()
	ping := encode("PING")
	for i := range connections {
		nc, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Skipf("only %d connections can be opened here: %v", i, err)
		}
		defer nc.Close()
		nc.SetDeadline(time.Now().Add(patience))
		nc.Write(ping)
		reply := make([]byte, 7)
		if _, err := io.ReadFull(nc, reply); err != nil || string(reply) != "+PONG\r\n" {
			t.Fatalf("connection %d: %q, %v", i, reply, err)
		}
	}
	if n := infoInt(c, "clients", "connected_clients"); n != connections+1 {
		t.Errorf("connected_clients is %d", n)
	}
	rss := s.residentBytes()
	t.Logf("%d MB resident with %d connections", rss>>20, connections)
	if rss > residentBytesMax {
		t.Errorf("%d idle connections take %d MB", connections, rss>>20)
	}
	c.want("+PONG\r\n", "PING")
}

// TestBuffersOfIdleClients: clients that once sent or received a large value do
// not keep its memory.
func TestBuffersOfIdleClients(t *testing.T) {
	clients := scaled(200)
	s := ownServer(t)
	c := s.dial()
	value := strings.Repeat("v", 1<<20)
	before := s.residentBytes()
	for range clients {
		idle := s.dial()
		idle.ok("SET", "same", value)
		idle.do("GET", "same")
	}
	eventually(t, "the memory of idle clients with past values of 1 MB is given back", func() bool {
		c.want("+PONG\r\n", "PING")
		return s.residentBytes()-before < 100<<20
	})
}

// TestConnectionChurn: connections that come and go, many in the middle of a
// command, leave no descriptor behind.
func TestConnectionChurn(t *testing.T) {
	s := ownServer(t)
	c := s.dial()
	descriptors := func() int {
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
		if err != nil {
			t.Skip("no /proc here to read a process's descriptors from")
		}
		return len(entries)
	}
	c.want("+PONG\r\n", "PING") // its descriptor is there from now on
	before := descriptors()
	for i := range scaled(3000) {
		nc, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		switch i % 4 {
		case 0:
			nc.Write(encode("PING"))
		case 1:
			nc.Write([]byte("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100\r\nhalf"))
		case 2:
			nc.Write([]byte("*1\r\n$x\r\n"))
		}
		if i%8 >= 4 {
			nc.(*net.TCPConn).SetLinger(0) // ends with a reset
		}
		nc.Close()
	}
	eventually(t, "all of them are gone", func() bool {
		return infoInt(c, "clients", "connected_clients") == 1 && descriptors() <= before
	})
	c.want(":0\r\n", "EXISTS", "k")
}

// TestNoDescriptorsLeft: out of descriptors, those who are connected are served,
// and newcomers as soon as there is room.
func TestNoDescriptorsLeft(t *testing.T) {
	s := startLimited(t, "ulimit -n 64")
	first := s.dial()
	first.want("+PONG\r\n", "PING")
	var others []net.Conn
	for range 100 {
		if nc, err := net.DialTimeout("tcp", s.addr, time.Second); err == nil {
			others = append(others, nc)
		}
	}
	cpu := s.cpuTime()
	for range 100 {
		first.want("+PONG\r\n", "PING")
	}
	elapse(time.Second)
	if used := s.cpuTime() - cpu; used > 900*time.Millisecond {
		t.Errorf("accepting without descriptors took %v of processor time in about a second", used)
	}
	for _, nc := range others {
		nc.Close()
	}
	eventually(t, "a new connection is served", func() bool { return answers("tcp", s.addr) })
	first.want("+PONG\r\n", "PING")
}

// startLimited starts the server under a limit set by the shell.
func startLimited(t *testing.T, limit string) *server {
	t.Helper()
	if os.Getenv("KVSERVER_ADDR") != "" {
		t.Skip("needs the process of the server, and KVSERVER_ADDR gives only an address")
	}
	bin, err := serverBinary()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, dir: t.TempDir(), log: new(output), done: make(chan struct{})}
	port := freePort(t)
	s.addr = net.JoinHostPort("127.0.0.1", port)
	s.launch("/bin/sh", []string{"-c", limit + ` && exec "$0" "$@"`, bin, "--port", port, "--bind", "127.0.0.1", "--save", ""})
	t.Cleanup(s.cleanup)
	if !poll(patience, func() bool { return s.ended() || s.answersTCP() }) || s.ended() {
		t.Fatal("the server does not answer under " + limit)
	}
	return s
}
