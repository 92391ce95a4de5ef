package hotkeys_test

import (
	"bufio"
	"fmt"
	"hash/maphash"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/redcon"

	"kvserver/hotkeys"
)

// server is a whole cache server: GET, SET and HOTKEYS. redcon runs a goroutine
// for each connection; one mutex lets one of them at a time to the data and
// the tracker.
type server struct {
	mu     sync.Mutex
	values map[string]string
	seed   maphash.Seed
	keys   *hotkeys.Tracker
}

func (s *server) serve(conn redcon.Conn, cmd redcon.Command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys.Rotate()
	args := cmd.Args
	switch name := strings.ToLower(string(args[0])); {
	case name == "get" && len(args) == 2:
		s.access(args[1])
		if value, isSet := s.values[string(args[1])]; isSet {
			conn.WriteBulkString(value)
		} else {
			conn.WriteNull()
		}
	case name == "set" && len(args) == 3:
		s.access(args[1])
		s.values[string(args[1])] = string(args[2])
		conn.WriteString("OK")
	case name == "hotkeys" && len(args) == 1:
		report := s.keys.Report(hotkeys.Query{DB: hotkeys.AllDBs})
		conn.WriteArray(len(report.Entries))
		for _, e := range report.Entries {
			conn.WriteBulkString(fmt.Sprintf("%s %d/s", e.Key, report.QPS(e)))
		}
	default:
		conn.WriteError("ERR unknown command or wrong number of arguments")
	}
}

func (s *server) access(key []byte) {
	if r := s.keys.Recorder(0); r != nil {
		r.Access(maphash.Bytes(s.seed, key), key, 0, hotkeys.Read)
		r.Flush() // redcon will use the bytes of key again
	}
}

// A server on redcon that knows its hot keys. The clock is set by hand so that
// the output is always the same; a real one reads monotonic time.
func Example() {
	var clock atomic.Int64
	s := &server{
		values: make(map[string]string),
		seed:   maphash.MakeSeed(),
		keys:   hotkeys.New(1, clock.Load, 1),
	}
	if err := s.keys.Configure(hotkeys.Options{TopK: 3, Percentage: 100, Window: time.Second}); err != nil {
		panic(err)
	}
	srv := redcon.NewServer("127.0.0.1:0", s.serve, nil, nil)
	listening, done := make(chan error, 1), make(chan error, 1)
	go func() { done <- srv.ListenServeAndSignal(listening) }()
	if err := <-listening; err != nil {
		panic(err)
	}

	client, err := net.Dial("tcp", srv.Addr().String())
	if err != nil {
		panic(err)
	}
	replies := bufio.NewScanner(client)
	send := func(command string, times int) {
		for range times {
			fmt.Fprint(client, command, "\r\n")
			replies.Scan()
		}
	}
	send("SET user:7 Ada", 1)
	send("GET lock:checkout", 200) // there is no such key: hot all the same
	send("SET lock:checkout 1", 1)
	send("GET nothing:at:all", 2)
	clock.Add(int64(time.Second))

	send("HOTKEYS", 1)
	fmt.Println(replies.Text())
	for range 2 * 3 {
		replies.Scan()
		fmt.Println(replies.Text())
	}

	client.Close()
	srv.Close()
	<-done
	// Output:
	// *3
	// $19
	// lock:checkout 201/s
	// $18
	// nothing:at:all 2/s
	// $10
	// user:7 1/s
}
