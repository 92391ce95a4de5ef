package resp

import (
	"net"
	"testing"
	"time"
)

// answer serves one connection: it reads until it has seen the request, then writes the reply.
func answer(t *testing.T, request, reply string) *Client {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			served <- err.Error()
			return
		}
		defer conn.Close()
		got := make([]byte, len(request))
		for filled := 0; filled < len(got); {
			n, err := conn.Read(got[filled:])
			if err != nil {
				break
			}
			filled += n
		}
		conn.Write([]byte(reply))
		served <- string(got)
	}()
	client, err := Dial(listener.Addr().String(), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		listener.Close()
		if got := <-served; got != request {
			t.Errorf("request %q, want %q", got, request)
		}
	})
	return client
}

func TestRepliesPrintAsRedisCliPrintsThem(t *testing.T) {
	client := answer(t, "*1\r\n$1\r\nX\r\n",
		"*9\r\n+OK\r\n:7\r\n$3\r\na\"\x01\r\n$-1\r\n*0\r\n*-1\r\n*2\r\n$1\r\na\r\n*1\r\n:1\r\n-ERR no\r\n$0\r\n\r\n")
	reply, err := client.Do("X")
	if err != nil {
		t.Fatal(err)
	}
	want := `1) OK
2) (integer) 7
3) "a\"\x01"
4) (nil)
5) (empty array)
6) (nil)
7) 1) "a"
   2) 1) (integer) 1
8) (error) ERR no
9) ""
`
	if got := reply.Format(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestDoReturnsAnErrorReplyAsError(t *testing.T) {
	client := answer(t, "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", "-WRONGTYPE bad\r\n")
	if _, err := client.Do("GET", "k"); err == nil || err.Error() != "WRONGTYPE bad" {
		t.Errorf("got %v", err)
	}
}

func TestMalformedRepliesAreErrors(t *testing.T) {
	for _, reply := range []string{"\n", "?1\r\n", ":x\r\n", "$99999999999\r\n", "*99999999999\r\n", "+cut"} {
		client := answer(t, "*1\r\n$1\r\nX\r\n", reply)
		if got, err := client.Do("X"); err == nil {
			t.Errorf("%q: no error, got %+v", reply, got)
		}
	}
}
