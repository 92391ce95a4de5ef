package tests

import (
	"net"
	"strings"
	"testing"
)

// cliInTerminal starts redis-cli in a terminal.
func cliInTerminal(t *testing.T, s *server, args ...string) *terminal {
	t.Helper()
	host, port, _ := net.SplitHostPort(s.addr)
	return startInTerminal(t, findRedisCLI(t), append([]string{"-h", host, "-p", port}, args...)...)
}

// prompt is where redis-cli waits for a command. What is typed before that is lost.
const prompt = `> $`

// TestRedisCLITerminal uses redis-cli by hand. What it shows as hints it has from COMMAND DOCS.
func TestRedisCLITerminal(t *testing.T) {
	s := startServer(t)
	t.Run("session", func(t *testing.T) {
		term := cliInTerminal(t, s)
		for _, step := range []struct{ typed, seen string }{
			{"", ``},
			{"set k v\r", `\nOK\n`},
			{"get k\r", `\n"v"\n`},
			{"multi\r", `\(TX\)`},
			{"incr n\r", `\nQUEUED\n`},
			{"exec\r", `\n1\) \(integer\) 1\n`},
			{"select 3\r", `\[3\]`},
			{"hello 3\r", `\n1# "server" => "redis"\n`},
			{"nosuch\r", `\n\(error\) ERR unknown command 'nosuch'`},
			{"3 ping\r", `(PONG\n){3}`},
		} {
			term.enter(step.typed)
			term.see(`(?s)` + step.seen + `.*` + prompt)
		}
	})
	t.Run("hints", func(t *testing.T) {
		for typed, hint := range map[string]string{
			"set k ":          `set k value \[NX\|XX`,
			"zadd ":           `zadd +key \[NX\|XX\] \[GT\|LT\] \[CH\] \[INCR\] score member`,
			"xadd s ":         `xadd s +\[NOMKSTREAM\]`,
			"config get ":     `config get +parameter \[parameter \.\.\.\]`,
			"hotkeys get ":    `hotkeys get`,
			"commandlog get ": `commandlog get +count type`,
		} {
			term := cliInTerminal(t, s)
			term.see(prompt)
			term.enter(typed)
			term.see(hint)
		}
	})
	t.Run("help", func(t *testing.T) {
		term := cliInTerminal(t, s)
		term.see(prompt)
		term.enter("help zrank\r")
		term.see(`ZRANK key member.*\n +summary: .+\n +since: 2\.0\.0\n +group: sorted-set\n(?s:.*)` + prompt)
		term.enter("help @scripting\r")
		term.see(`\n +EVALSHA_RO sha1 numkeys(?s:.*)` + prompt)
		term.enter("help commandlog get\r")
		term.see(`\n +COMMANDLOG GET count type\n`)
	})
}

// TestRedisCLIWatches runs the modes that show figures again and again.
func TestRedisCLIWatches(t *testing.T) {
	s := startServer(t)
	s.dial().ok("SET", "k", "v")
	for _, test := range []struct{ args, seen string }{
		{"--stat -i 0.01", `keys +mem +clients blocked requests +connections +\n(1 +\d+\.\d+[KM] +\d+ +0 +\d+ \(\+\d+\) +\d+ +\n){5}`},
		{"--latency", `min: \d+, max: \d+, avg: \d+\.\d\d \(\d{2,} samples\)`},
		{"--latency-history -i 0.05", `(?s)(min: \d+, max: \d+, avg: \d+\.\d\d \(\d+ samples\) -- 0\.\d\d seconds range\n.*){2}`},
		{"--latency-dist -i 0.05", `From 0 to 100%:`},
	} {
		t.Run(test.args, func(t *testing.T) {
			cliInTerminal(t, s, strings.Fields(test.args)...).see(test.seen)
		})
	}
}
