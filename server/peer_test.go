package server

import (
	"bufio"
	"fmt"
	"net"
	osexec "os/exec" // exec is the command
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// peer is a real redis-server that answers of ours are compared with.
type peer struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

// startPeer starts the redis-server that is installed and skips the test if none is.
func startPeer(t *testing.T) *peer {
	t.Helper()
	binary, err := osexec.LookPath("redis-server")
	if err != nil {
		t.Skip("no redis-server is installed: the comparison with a real server is left out")
	}
	socket := filepath.Join(t.TempDir(), "s")
	cmd := osexec.Command(binary, "--port", "0", "--unixsocket", socket, "--save", "", "--enable-debug-command", "yes")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	log := bufio.NewScanner(out)
	for log.Scan() && !strings.Contains(log.Text(), "ready to accept connections") {
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(time.Minute))
	return &peer{t, conn, bufio.NewReader(conn)}
}

// do runs one command.
func (p *peer) do(args ...string) reply {
	p.t.Helper()
	if _, err := p.conn.Write([]byte(request(args...))); err != nil {
		p.t.Fatal(err)
	}
	return readReply(p.t, p.in)
}

// reply is a decoded reply. items are the elements of an aggregate, the keys and values of a map in turn.
type reply struct {
	kind  byte
	text  string
	items []reply
}

// decoded reads the bytes of one of our replies.
func decoded(t testing.TB, raw string) reply {
	t.Helper()
	in := bufio.NewReader(strings.NewReader(raw))
	r := readReply(t, in)
	if rest, _ := in.Peek(1); len(rest) > 0 {
		t.Fatalf("more than one reply: %q", raw)
	}
	return r
}

func readReply(t testing.TB, in *bufio.Reader) reply {
	t.Helper()
	line, err := in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	r := reply{kind: line[0], text: strings.TrimSuffix(line[1:], "\r\n")}
	if !strings.ContainsRune("$=*~>%", rune(r.kind)) {
		return r
	}
	n, err := strconv.Atoi(r.text)
	if err != nil {
		t.Fatalf("length in %q: %v", line, err)
	}
	r.text = ""
	switch {
	case n < 0:
		r.text = "null"
	case r.kind == '$' || r.kind == '=':
		text := make([]byte, n+2)
		for read := 0; read < len(text); {
			got, err := in.Read(text[read:])
			if err != nil {
				t.Fatal(err)
			}
			read += got
		}
		r.text = string(text[:n])
	case r.kind == '%':
		n *= 2
		fallthrough
	default:
		for range n {
			r.items = append(r.items, readReply(t, in))
		}
	}
	return r
}

// without drops the named fields of a map, also where RESP2 wrote it as an array.
func (r reply) without(names ...string) reply {
	kept := reply{kind: r.kind, text: r.text}
	for i := 0; i+1 < len(r.items); i += 2 {
		drop := false
		for _, name := range names {
			drop = drop || r.items[i].text == name
		}
		if !drop {
			kept.items = append(kept.items, r.items[i], r.items[i+1])
		}
	}
	return kept
}

// field is the value of a map under a name.
func (r reply) field(name string) (value reply, ok bool) {
	for i := 0; i+1 < len(r.items); i += 2 {
		if r.items[i].text == name {
			return r.items[i+1], true
		}
	}
	return reply{}, false
}

func (r reply) String() string {
	if r.items == nil {
		return string(r.kind) + r.text
	}
	parts := make([]string, 0, len(r.items))
	for _, item := range r.items {
		parts = append(parts, item.String())
	}
	return fmt.Sprintf("%c%v", r.kind, parts)
}

// replyCase is a command and the bytes of its reply.
type replyCase struct{ command, want string }

// checkReplies wants every reply of the table from c, and the same from a real server.
func checkReplies(t *testing.T, c *client, tests []replyCase) {
	t.Helper()
	for _, test := range tests {
		if got := do(c, strings.Fields(test.command)...); got != test.want {
			t.Errorf("%s\n got  %q\n want %q", test.command, got, test.want)
		}
	}
	p := startPeer(t)
	for _, test := range tests {
		want := decoded(t, test.want)
		if got := p.do(strings.Fields(test.command)...); got.String() != want.String() {
			t.Errorf("%s: Redis answers %v, the table says %v", test.command, got, want)
		}
	}
}
