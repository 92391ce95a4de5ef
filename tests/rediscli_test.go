package tests

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// findRedisCLI returns the path of redis-cli, or skips the test.
func findRedisCLI(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("redis-cli")
	if err != nil {
		t.Skip("there is no redis-cli here")
	}
	return path
}

// cli is a way to run redis-cli: against which server, with what on its standard input and in its environment.
type cli struct {
	*server
	stdin string
	env   []string
}

// run runs redis-cli, which must end well, and returns what it prints.
func (c cli) run(t *testing.T, args ...string) string {
	t.Helper()
	host, port, _ := strings.Cut(c.addr, ":")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, findRedisCLI(t), append([]string{"-h", host, "-p", port}, args...)...)
	cmd.Stdin = strings.NewReader(c.stdin)
	cmd.Env = append(os.Environ(), c.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("redis-cli %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestRedisCLI runs the program that everybody tries first, in each of its modes that ends by itself.
func TestRedisCLI(t *testing.T) {
	s := startServer(t)
	plain := cli{server: s}
	for _, args := range []string{"RPUSH list a b c", "HSET hash f v", "SADD set a b c d", "ZADD zset 1.5 a 2 b", "XADD stream 1-1 f v", "SET k v"} {
		plain.run(t, strings.Fields(args)...)
	}
	for _, test := range []struct{ args, want string }{
		{"PING", "PONG\n"},
		{"SET k v", "OK\n"},
		{"--no-raw GET missing", "(nil)\n"},
		{"--no-raw HOTKEYS GET", "(empty array)\n"},
		{"-n 5 DBSIZE", "0\n"},
		{"GET", "ERR wrong number of arguments for 'get' command\n\n"},
		{"-3 --no-raw CONFIG GET hotkeys-top-k", "1# \"hotkeys-top-k\" => \"0\"\n"},
		{"-3 --no-raw HGETALL hash", "1# \"f\" => \"v\"\n"},
		{"-3 --no-raw SMEMBERS nosuch", "(empty set)\n"},
		{"-3 --no-raw ZSCORE zset a", "(double) 1.5\n"},
		{"-2 --no-raw ZSCORE zset a", "\"1.5\"\n"},
		{"--csv LRANGE list 0 -1", "\"a\",\"b\",\"c\"\n"},
		{"-3 --csv HGETALL hash", "\"f\",\"v\"\n"},
		{"--csv INCR n", "1\n"},
		{"--json HGETALL hash", "{\"f\":\"v\"}\n"},
		{"-2 --json HGETALL hash", "[\"f\",\"v\"]\n"},
		{"--json ZRANGE zset 0 -1 WITHSCORES", "[[\"a\",1.5],[\"b\",2]]\n"},
		{"--quoted-json XRANGE stream - +", "[[\"1-1\",[\"f\",\"v\"]]]\n"},
		{"-d , LRANGE list 0 -1", "a,b,c\n"},
		{"-D ; PING", "PONG;"},
		{"-r 3 -i 0.001 INCR repeated", "1\n2\n3\n"},
		{`--quoted-input SET "bin\x00ary" "\xff"`, "OK\n"},
		{`--quoted-input STRLEN "bin\x00ary"`, "1\n"},
		{"--scan --pattern l?st", "list\n"},
		{`--no-raw --scan --quoted-pattern "bin\x00*"`, "\"bin\\x00ary\"\n"},
		{"OBJECT ENCODING list", "listpack\n"},
	} {
		if got := plain.run(t, strings.Fields(test.args)...); got != test.want {
			t.Errorf("redis-cli %s: %q, want %q", test.args, got, test.want)
		}
	}
	uri := "redis://" + s.addr + "/5"
	if got := plain.run(t, "-u", uri, "SET", "k", "in 5") + plain.run(t, "-n", "5", "GET", "k"); got != "OK\nin 5\n" {
		t.Errorf("redis-cli -u: %q", got)
	}
	if got := plain.run(t, "INFO", "server"); !regexp.MustCompile(`(?m)^redis_version:\d+\.\d+\.\d+\r?$`).MatchString(got) {
		t.Errorf("redis-cli INFO server: %q", got)
	}
}

// TestRedisCLIInput gives redis-cli commands, arguments and traffic on its standard input.
func TestRedisCLIInput(t *testing.T) {
	s := startServer(t)
	for _, test := range []struct{ args, stdin, want string }{
		{"", "SET a 1\nINCR a\nGET a\n", "^OK\n2\n2\n$"},
		{"", "MULTI\nINCR a\nEXEC\nSELECT 2\nDBSIZE\n", "^OK\nQUEUED\n3\nOK\n0\n$"},
		{"-x SET last", "the last\nargument\n", "^OK\n$"},
		{"GET last", "", "^the last\nargument\n\n$"},
		{"-X here SET tagged here EX 100", "somewhere", "^OK\n$"},
		{"GET tagged", "", "^somewhere\n$"},
		{"--pipe", string(encode("SET", "piped", "1")) + string(encode("GET", "piped")), `(?s)errors: 0, replies: 2\n$`},
		{"--pipe", strings.Repeat("INCR counter\r\n", 5000), `(?s)errors: 0, replies: 5000\n$`},
		{"GET counter", "", "^5000\n$"},
	} {
		if got := (cli{server: s, stdin: test.stdin}).run(t, strings.Fields(test.args)...); !regexp.MustCompile(test.want).MatchString(got) {
			t.Errorf("redis-cli %s: %q, want %q", test.args, got, test.want)
		}
	}
	host, port, _ := strings.Cut(s.addr, ":")
	pipe := exec.Command(findRedisCLI(t), "-h", host, "-p", port, "--pipe")
	pipe.Stdin = strings.NewReader("INCR piped\r\nINCR piped extra\r\n")
	if out, err := pipe.CombinedOutput(); err == nil || !strings.Contains(string(out), "errors: 1, replies: 2") {
		t.Errorf("redis-cli --pipe with an error: %v, %q", err, out)
	}
}

// TestRedisCLIBigKeys runs the modes that go through the whole keyspace.
func TestRedisCLIBigKeys(t *testing.T) {
	s := startServer(t)
	plain := cli{server: s, stdin: strings.Repeat("RPUSH list element\n", 300) + "SET big " + strings.Repeat("x", 5000) + "\nSET small x\nSADD set a b c\nXADD stream * f v\n"}
	plain.run(t)
	for _, test := range []struct{ args, want string }{
		{"--bigkeys", `(?s)Sampled 5 keys in the keyspace!\n.*Biggest +list found '"list"' has 300 items\n.*Biggest +string found '"big"' has 5000 bytes\n.*2 strings with 5001 bytes \(40\.00% of keys, avg size 2500\.50\)`},
		{"--bigkeys -i 0.001", `Sampled 5 keys`},
		{"--memkeys", `(?s)Sampled 5 keys in the keyspace!\n.*Biggest +string found '"big"' has \d{4} bytes\n.*Biggest stream found '"stream"' has \d+ bytes\n`},
		{"--memkeys-samples 2", `Biggest +list found '"list"' has \d{4} bytes\n`},
		{"--latency -i 0.05", `^\d+ \d+ \d+\.\d\d \d+\n$`},
		{"--csv --latency -i 0.05", `^\d+,\d+,\d+\.\d\d,\d+\n$`},
	} {
		if got := (cli{server: s}).run(t, strings.Fields(test.args)...); !regexp.MustCompile(test.want).MatchString(got) {
			t.Errorf("redis-cli %s: %s\nwant %s", test.args, got, test.want)
		}
	}
}

// TestRedisCLIHotKeys finds the key that was asked for most, by the counters of allkeys-lfu.
func TestRedisCLIHotKeys(t *testing.T) {
	s := startServer(t, "--maxmemory-policy", "allkeys-lfu", "--maxmemory", "100mb")
	(cli{server: s, stdin: "MSET cold 1 hot 2 lukewarm 3\n" + strings.Repeat("GET hot\n", 3000) + strings.Repeat("GET lukewarm\n", 60)}).run(t)
	got := (cli{server: s}).run(t, "--hotkeys")
	found := regexp.MustCompile(`(?s)Sampled 3 keys in the keyspace!\nhot key found with counter: (\d+)\tkeyname: "hot"\nhot key found with counter: (\d+)\tkeyname: "lukewarm"\n`)
	if !found.MatchString(got) {
		t.Errorf("redis-cli --hotkeys: %s", got)
	}
}

// TestRedisCLIEval runs a script from a file.
func TestRedisCLIEval(t *testing.T) {
	s := startServer(t)
	script := filepath.Join(t.TempDir(), "script.lua")
	if err := os.WriteFile(script, []byte("redis.call('SET', KEYS[1], ARGV[1])\nreturn {KEYS, redis.call('GET', KEYS[1])}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := (cli{server: s}).run(t, "--no-raw", "--eval", script, "k", "other", ",", "v"); got != "1) 1) \"k\"\n   2) \"other\"\n2) \"v\"\n" {
		t.Errorf("redis-cli --eval: %q", got)
	}
}

// TestRedisCLIPassword tells redis-cli a password in each way that it knows.
func TestRedisCLIPassword(t *testing.T) {
	s := startServer(t, "--requirepass", "secret")
	s2 := cli{server: s}
	for _, args := range []string{
		"-a secret --no-auth-warning GET k", "--pass secret --no-auth-warning GET k", "--user default --pass secret --no-auth-warning GET k",
		"-3 -a secret --no-auth-warning GET k", "--no-auth-warning -u redis://default:secret@" + s.addr + " GET k",
	} {
		if got := s2.run(t, strings.Fields(args)...); got != "\n" {
			t.Errorf("redis-cli %s: %q", args, got)
		}
	}
	if got := (cli{server: s, env: []string{"REDISCLI_AUTH=secret"}}).run(t, "GET", "k"); got != "\n" {
		t.Errorf("redis-cli with REDISCLI_AUTH: %q", got)
	}
	if got := (cli{server: s, stdin: "GET k\nAUTH secret\nGET k\n"}).run(t); got != "NOAUTH Authentication required.\n\nOK\n\n" {
		t.Errorf("redis-cli with AUTH: %q", got)
	}
	if got := s2.run(t, "-a", "wrong", "--no-auth-warning", "GET", "k"); !strings.Contains(got, "WRONGPASS ") {
		t.Errorf("redis-cli with a wrong password: %q", got)
	}
}

// TestRedisCLIUsers is TestRedisCLIPassword for a user who may not do everything.
func TestRedisCLIUsers(t *testing.T) {
	s := startServer(t)
	admin := cli{server: s}
	if got := admin.run(t, "ACL", "SETUSER", "alice", "on", ">secret", "~a*", "+get", "+ping", "+acl|whoami"); got != "OK\n" {
		t.Fatal(got)
	}
	t.Cleanup(func() { s.dial().do("ACL", "DELUSER", "alice") })
	for args, want := range map[string]string{
		"--user alice --pass secret --no-auth-warning ACL WHOAMI":        "alice\n",
		"-u redis://alice:secret@" + s.addr + " --no-auth-warning GET a": "\n",
		"--user alice --pass secret --no-auth-warning GET b":             "NOPERM No permissions to access a key\n\n",
		"-3 --user alice --pass secret --no-auth-warning SET a 1":        "NOPERM User alice has no permissions to run the 'set' command\n\n",
	} {
		if got := admin.run(t, strings.Fields(args)...); got != want {
			t.Errorf("redis-cli %s: %q, want %q", args, got, want)
		}
	}
}

// TestRedisCLIListens runs the modes that print what others do until they are ended.
func TestRedisCLIListens(t *testing.T) {
	path := findRedisCLI(t)
	for _, test := range []struct {
		args     string
		commands [][]string
		want     string
	}{
		{"MONITOR", [][]string{{"SET", "k", "v"}}, `^OK\n\d{10}\.\d{6} \[0 127\.0\.0\.1:\d+\] "SET" "k" "v"\n`},
		{"SUBSCRIBE ch", [][]string{{"PUBLISH", "ch", "text"}}, `^subscribe\nch\n1\nmessage\nch\ntext\n`},
		{"-3 --no-raw SUBSCRIBE ch", [][]string{{"PUBLISH", "ch", "text"}}, `(?s)1\) "subscribe"\n2\) "ch"\n3\) \(integer\) 1\n.*1\) "message"\n2\) "ch"\n3\) "text"\n`},
		{"--csv PSUBSCRIBE c*", [][]string{{"PUBLISH", "ch", "text"}}, `"psubscribe","c\*",1\n"pmessage","c\*","ch","text"\n`},
		{"SSUBSCRIBE ch", [][]string{{"SPUBLISH", "ch", "text"}}, `^ssubscribe\nch\n1\nsmessage\nch\ntext\n`},
	} {
		t.Run(test.args, func(t *testing.T) {
			s := startServer(t)
			host, port, _ := strings.Cut(s.addr, ":")
			cmd := exec.Command(path, append([]string{"-h", host, "-p", port}, strings.Fields(test.args)...)...)
			pipe, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			printed := new(output)
			read := make(chan struct{})
			go func() {
				defer close(read)
				bufio.NewReader(pipe).WriteTo(printed)
			}()
			c := s.dial()
			eventually(t, "it listens", func() bool { return printed.String() != "" })
			for _, args := range test.commands {
				c.do(args...)
			}
			wanted := regexp.MustCompile(test.want)
			if !poll(patience, func() bool { return wanted.MatchString(printed.String()) }) {
				t.Errorf("redis-cli %s prints %q, want %s", test.args, printed, test.want)
			}
			cmd.Process.Kill()
			<-read
			cmd.Wait()
		})
	}
}
