package tests

import (
	"context"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// redisCLI runs redis-cli against s and returns what it prints.
func redisCLI(t *testing.T, s *server, args ...string) string {
	t.Helper()
	cli, err := exec.LookPath("redis-cli")
	if err != nil {
		t.Skip("there is no redis-cli here")
	}
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
	s := ownServer(t, "--slowlog-log-slower-than", "5000", "--latency-monitor-threshold", "5", "--enable-debug-command", "yes")
	s.dial().ok("DEBUG", "SLEEP", "0.01")
	for _, test := range []struct{ command, want string }{
		{"SLOWLOG GET", `^1\) 1\) \(integer\) 0\n   2\) \(integer\) \d{10}\n   3\) \(integer\) \d{5,}\n   4\) 1\) "DEBUG"\n      2\) "SLEEP"\n      3\) "0.01"\n   5\) "127.0.0.1:\d+"\n   6\) ""\n$`},
		{"COMMANDLOG LEN slow", `^\(integer\) 1\n$`},
		{"LATENCY LATEST", `^1\) 1\) "command"\n   2\) \(integer\) \d{10}\n   3\) \(integer\) \d+\n   4\) \(integer\) \d+\n2\) 1\) "gate"\n`},
		{"LATENCY HISTORY command", `^1\) 1\) \(integer\) \d{10}\n   2\) \(integer\) \d+\n$`},
		{"LATENCY GRAPH command", `^command - high \d+ ms, low \d+ ms \(all time high \d+ ms\)\n-{80}\n`},
		{"LATENCY DOCTOR", `command: 1 samples, \d+ ms on average`},
		{"LATENCY HISTOGRAM debug", `^1\) "debug"\n2\) 1\) "calls"\n   2\) \(integer\) 1\n   3\) "histogram_usec"\n   4\) 1\) \(integer\) \d+\n      2\) \(integer\) 1\n$`},
	} {
		if got := redisCLI(t, s, append([]string{"--no-raw"}, strings.Fields(test.command)...)...); !regexp.MustCompile(test.want).MatchString(got) {
			t.Errorf("redis-cli %s:\n%s\nwant %s", test.command, got, test.want)
		}
	}
}
