package tests

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// redisCLI runs redis-cli against s and returns what it prints.
func redisCLI(t *testing.T, s *server, args ...string) string {
	t.Helper()
	cli := findRedisCLI(t)
	host, port, _ := strings.Cut(s.addr, ":")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, cli, append([]string{"-h", host, "-p", port}, args...)...).CombinedOutput()
	if err != nil {
		t.Errorf("redis-cli %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestOperatorsView asks what an operator would ask, with redis-cli, after a slow command.
func TestOperatorsView(t *testing.T) {
	// On a busy machine any command may take milliseconds: only what takes half a second is slow here.
	s := ownServer(t, "--slowlog-log-slower-than", "500000", "--latency-monitor-threshold", "500", "--enable-debug-command", "yes")
	s.dial().ok("DEBUG", "SLEEP", "1")
	for _, test := range []struct{ command, want string }{
		{"SLOWLOG GET", `^1\) 1\) \(integer\) 0\n   2\) \(integer\) \d{10}\n   3\) \(integer\) \d{5,}\n   4\) 1\) "DEBUG"\n      2\) "SLEEP"\n      3\) "1"\n   5\) "127.0.0.1:\d+"\n   6\) ""\n$`},
		{"COMMANDLOG LEN slow", `^\(integer\) 1\n$`},
		{"LATENCY LATEST", `^1\) 1\) "command"\n   2\) \(integer\) \d{10}\n   3\) \(integer\) \d+\n   4\) \(integer\) \d+\n2\) 1\) "gate"\n`},
		{"LATENCY HISTORY command", `^1\) 1\) \(integer\) \d{10}\n   2\) \(integer\) \d+\n$`},
		{"LATENCY GRAPH command", `^command - high \d+ ms, low \d+ ms \(all time high \d+ ms\)\n-{80}\n`},
		{"LATENCY DOCTOR", `command: \d+ ms on average \(mean deviation 0 ms, samples: 1, `},
		{"LATENCY HISTOGRAM debug", `^1\) "debug"\n2\) 1\) "calls"\n   2\) \(integer\) 1\n   3\) "histogram_usec"\n   4\) 1\) \(integer\) \d+\n      2\) \(integer\) 1\n$`},
	} {
		if got := redisCLI(t, s, append([]string{"--no-raw"}, strings.Fields(test.command)...)...); !regexp.MustCompile(test.want).MatchString(got) {
			t.Errorf("redis-cli %s:\n%s\nwant %s", test.command, got, test.want)
		}
	}
}

// TestMonitorShowsWhatOthersRun compares with redis-server, line by line but for times and ports.
func TestMonitorShowsWhatOthersRun(t *testing.T) {
	script := func(s *server) (lines []string) {
		m, c := s.dial(), s.dial()
		m.ok("MONITOR")
		c.do("CLIENT", "SETNAME", "x") // not shown to anybody by 7.0, nor by us
		for _, args := range [][]string{
			{"set", "a", "\x00\"\\\n é"}, {"GET", "a"}, {"SELECT", "7"}, {"MULTI"}, {"INCR", "n"}, {"INCR", "a"}, {"EXEC"}, {"DISCARD"},
			{"AUTH", "x", "y"}, {"HELLO", "2", "AUTH", "default", "nosuch"}, {"CONFIG", "GET", "maxclients"}, {"DBSIZE"}, {"LATENCY", "LATEST"},
			{"BLPOP", "nolist", "0.01"}, {"ECHO", strings.Repeat("long ", 50)}, {"PUBLISH", "a", "b"}, {"INFO", "server"}, {"SLOWLOG", "LEN"},
		} {
			c.do(args...)
		}
		c.do("ECHO", "the end")
		for len(lines) == 0 || !strings.Contains(lines[len(lines)-1], "the end") {
			lines = append(lines, regexp.MustCompile(`^\+\d{10}\.\d{6} \[(\d) 127\.0\.0\.1:\d+\]`).ReplaceAllString(m.reply(), "[$1]"))
		}
		m.send(string(encode("PING")) + string(encode("RESET")) + string(encode("GET", "b")))
		for range 4 {
			lines = append(lines, regexp.MustCompile(`^\+\d{10}\.\d{6} \[(\d) 127\.0\.0\.1:\d+\]`).ReplaceAllString(m.reply(), "[$1]"))
		}
		return lines
	}
	ours, theirs := script(startServer(t)), script(startPeer(t))
	if a, b := strings.Join(ours, ""), strings.Join(theirs, ""); a != b {
		t.Errorf("ours\n%s\ntheirs\n%s", a, b)
	}
}

// TestMonitorOfManyClients: every command of every client is shown, and those of each in their order.
func TestMonitorOfManyClients(t *testing.T) {
	const clients, commands = 8, 200
	s := startServer(t)
	m, passer := s.dial(), s.dial()
	m.ok("MONITOR")
	done := make(chan error, clients)
	for id := range clients {
		c := s.dial()
		go func() {
			var err error
			for n := 0; n < commands && err == nil; n++ {
				_, err = c.try("INCRBY", fmt.Sprint("counter:", id), fmt.Sprint(n))
			}
			done <- err
		}()
	}
	for range 20 { // one that comes and goes
		passer.ok("MONITOR")
		for passer.send(string(encode("RESET"))); passer.reply() != "+RESET\r\n"; {
		}
	}
	next := map[string]int{}
	line := regexp.MustCompile(`"INCRBY" "(counter:\d+)" "(\d+)"`)
	for n := 0; n < clients*commands; {
		found := line.FindStringSubmatch(m.reply())
		if found == nil {
			continue
		}
		if found[2] != fmt.Sprint(next[found[1]]) {
			t.Fatalf("%s: %s after %d", found[1], found[2], next[found[1]]-1)
		}
		next[found[1]]++
		n++
	}
	for range clients {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestSlowMonitorIsCutOff: it is a client like others, and nobody waits for it.
func TestSlowMonitorIsCutOff(t *testing.T) {
	s := ownServer(t, "--client-output-buffer-limit", "normal 1mb 0 0")
	m, c := s.dial(), s.dial()
	m.ok("MONITOR")
	value := strings.Repeat("x", 64<<10)
	for range 1000 { // more than the buffers of two sockets hold, by far
		c.ok("SET", "k", value)
		if n, _ := infoField(c, "stats", "client_output_buffer_limit_disconnections"); n == "1" {
			return
		}
	}
	t.Error("a monitor that does not read was not cut off")
}

// TestMonitorWithRedisCLI reads what redis-cli prints until it has seen a command.
func TestMonitorWithRedisCLI(t *testing.T) {
	cli := findRedisCLI(t)
	s := startServer(t)
	host, port, _ := strings.Cut(s.addr, ":")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, cli, "-h", host, "-p", port, "MONITOR")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	read := func() string {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	if got := read(); got != "OK\n" {
		t.Errorf("first %q", got)
	}
	s.dial().ok("SET", "k", "v")
	if got := read(); !regexp.MustCompile(`^\d{10}\.\d{6} \[0 127\.0\.0\.1:\d+\] "SET" "k" "v"\n$`).MatchString(got) {
		t.Errorf("then %q", got)
	}
	cancel()
	if err := cmd.Wait(); err == nil {
		t.Error("it ended by itself")
	}
}
