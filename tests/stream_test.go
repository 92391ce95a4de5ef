package tests

import (
	"fmt"
	"testing"
)

// streamReaders are clients that wait, and one that writes.
type streamReaders struct {
	t  *testing.T
	on *server
	c  *conn
}

func startStreams(t *testing.T) *streamReaders {
	s := startServer(t)
	return &streamReaders{t, s, s.dial()}
}

// wait has a new client send a blocking command, and returns when it waits.
func (s *streamReaders) wait(args ...string) *conn {
	s.t.Helper()
	before := s.waiting()
	c := s.on.dial()
	c.send(string(encode(args...)))
	eventually(s.t, quoteArgs(args)+" waits", func() bool { return s.waiting() == before+1 })
	return c
}

func (s *streamReaders) waiting() int64 { return infoInt(s.c, "clients", "blocked_clients") }

// wantReply reads the reply that a client waits for.
func (c *conn) wantReply(want string) {
	c.t.Helper()
	if got := c.reply(); got != want {
		c.t.Errorf("served with %q\nwant %q", got, want)
	}
}

// entryReply is the reply to XREAD with one entry of one stream, which has one field.
func entryReply(key, id, field, value string) string {
	bulk := func(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }
	return "*1\r\n*2\r\n" + bulk(key) + "*1\r\n*2\r\n" + bulk(id) + "*2\r\n" + bulk(field) + bulk(value)
}

const nilArray = "*-1\r\n"

func TestStreamReadersAreAllServed(t *testing.T) {
	s := startStreams(t)
	s.c.do("XADD", "s", "1-0", "f", "old")
	var readers []*conn
	for range 5 {
		readers = append(readers, s.wait("XREAD", "BLOCK", "0", "STREAMS", "none", "s", "$", "$"))
	}
	s.c.do("XADD", "s", "2-0", "f", "new")
	for _, c := range readers {
		c.wantReply(entryReply("s", "2-0", "f", "new"))
		c.want("+PONG\r\n", "PING")
	}
	if n := s.waiting(); n != 0 {
		t.Errorf("%d clients still wait", n)
	}
}

func TestStreamReaderWaitsForWhatComes(t *testing.T) {
	s := startStreams(t)
	// What was there before, what is no stream and what is trimmed at once does not serve.
	c := s.wait("XREAD", "COUNT", "1", "BLOCK", "0", "STREAMS", "s", "$")
	s.c.ok("SET", "s", "x")
	s.c.do("DEL", "s")
	s.c.do("XADD", "s", "MAXLEN", "0", "1-0", "f", "trimmed")
	s.c.do("XGROUP", "CREATE", "s", "g", "$")
	if n := s.waiting(); n != 1 {
		t.Fatalf("%d clients wait", n)
	}
	s.c.pipeline([][]string{{"MULTI"}, {"XADD", "s", "2-0", "f", "a"}, {"XADD", "s", "3-0", "f", "b"}, {"XDEL", "s", "2-0"}, {"EXEC"}})
	c.wantReply(entryReply("s", "3-0", "f", "b"))

	c = s.wait("XREAD", "BLOCK", "0", "STREAMS", "s", "5-5")
	s.c.do("XADD", "s", "5-5", "f", "not after it")
	s.c.do("XADD", "s", "5-6", "f", "after it")
	c.wantReply(entryReply("s", "5-6", "f", "after it"))

	s.c.do("XTRIM", "s", "MAXLEN", "0")
	c = s.wait("XREAD", "BLOCK", "0", "STREAMS", "s", "+")
	s.c.do("XADD", "s", "6-0", "f", "the last one")
	c.wantReply(entryReply("s", "6-0", "f", "the last one"))

	c = s.on.dial()
	c.do("HELLO", "3")
	c.send(string(encode("XREAD", "BLOCK", "0", "STREAMS", "s", "$")))
	eventually(t, "it waits", func() bool { return s.waiting() == 1 })
	s.c.do("XADD", "s", "7-0", "f", "v")
	c.wantReply("%1\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n7-0\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n")
}

func TestStreamReaderGivesUp(t *testing.T) {
	s := startStreams(t)
	s.c.do("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
	s.c.want(nilArray, "XREAD", "BLOCK", "1", "STREAMS", "s", "$")
	s.c.want(nilArray, "XREADGROUP", "GROUP", "g", "c", "BLOCK", "1", "STREAMS", "s", ">")
	c := s.on.dial()
	id := c.value("CLIENT", "ID").text
	c.send(string(encode("XREAD", "BLOCK", "0", "STREAMS", "s", "$")))
	eventually(t, "it waits", func() bool { return s.waiting() == 1 })
	s.c.want(":1\r\n", "CLIENT", "UNBLOCK", id)
	c.wantReply(nilArray)
	c = s.wait("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
	c.nc.Close()
	eventually(t, "nobody waits", func() bool { return s.waiting() == 0 })
}

func TestGroupReadersAreServedInTurn(t *testing.T) {
	s := startStreams(t)
	s.c.do("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
	var readers []*conn
	for i := range 4 {
		readers = append(readers, s.wait("XREADGROUP", "GROUP", "g", fmt.Sprint("c", i), "COUNT", "1", "BLOCK", "0", "STREAMS", "s", ">"))
	}
	for i, c := range readers[:2] {
		id := fmt.Sprintf("%d-0", i+1)
		s.c.do("XADD", "s", id, "f", "v")
		c.wantReply(entryReply("s", id, "f", "v"))
		if n := s.waiting(); n != int64(3-i) {
			t.Errorf("%d clients wait", n)
		}
	}
	// Two entries at once serve two.
	s.c.pipeline([][]string{{"MULTI"}, {"XADD", "s", "8-0", "f", "v"}, {"XADD", "s", "9-0", "f", "v"}, {"EXEC"}})
	readers[2].wantReply(entryReply("s", "8-0", "f", "v"))
	readers[3].wantReply(entryReply("s", "9-0", "f", "v"))
	s.c.want("*4\r\n:4\r\n$3\r\n1-0\r\n$3\r\n9-0\r\n*4\r\n*2\r\n$2\r\nc0\r\n$1\r\n1\r\n*2\r\n$2\r\nc1\r\n$1\r\n1\r\n*2\r\n$2\r\nc2\r\n$1\r\n1\r\n*2\r\n$2\r\nc3\r\n$1\r\n1\r\n",
		"XPENDING", "s", "g")
}

// TestGroupReadersHearOfTheEnd: what a client waits for can vanish.
func TestGroupReadersHearOfTheEnd(t *testing.T) {
	const noGroup = "-NOGROUP No such key 's' or consumer group 'g' in XREADGROUP with GROUP option\r\n"
	for _, test := range []struct {
		command []string
		want    string
	}{
		{[]string{"XGROUP", "DESTROY", "s", "g"}, noGroup},
		{[]string{"DEL", "s"}, noGroup},
		{[]string{"UNLINK", "s"}, noGroup},
		{[]string{"RENAME", "s", "t"}, noGroup},
		{[]string{"FLUSHDB"}, noGroup},
		{[]string{"FLUSHALL"}, noGroup},
		{[]string{"SWAPDB", "0", "1"}, noGroup},
		{[]string{"SET", "s", "x"}, "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"},
		{[]string{"COPY", "other", "s", "REPLACE"}, noGroup},
	} {
		t.Run(test.command[0], func(t *testing.T) {
			s := startStreams(t)
			s.c.do("XADD", "other", "1-0", "f", "v")
			s.c.do("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
			s.c.do("XGROUP", "CREATE", "s", "h", "$")
			c := s.wait("XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", "s", ">")
			s.c.do("XGROUP", "DESTROY", "s", "h")
			s.c.do("XADD", "other", "2-0", "f", "v")
			if n := s.waiting(); n != 1 {
				t.Fatalf("%d clients wait", n)
			}
			s.c.do(test.command...)
			c.wantReply(test.want)
		})
	}
}

// TestStreamExpiresUnderReaders: the end of its time is the end of a stream like any other.
func TestStreamExpiresUnderReaders(t *testing.T) {
	s := startStreams(t)
	s.c.do("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
	c := s.wait("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
	member := s.wait("XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", "s", ">")
	s.c.want(":1\r\n", "PEXPIRE", "s", "1")
	member.wantReply("-NOGROUP No such key 's' or consumer group 'g' in XREADGROUP with GROUP option\r\n")
	s.c.want(":0\r\n", "EXISTS", "s")
	s.c.do("XADD", "s", "1-0", "f", "v")
	c.wantReply(entryReply("s", "1-0", "f", "v"))
}
