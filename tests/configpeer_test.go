package tests

import (
	"slices"
	"strings"
	"testing"
)

// intendedDefaults are the parameters whose default is not that of the peer, and why.
var intendedDefaults = map[string]string{
	"port": "each server has one of its own",
	"dir":  "each server has one of its own",
}

// configOf returns what CONFIG GET * says.
func configOf(c *conn) map[string]string {
	c.t.Helper()
	all := c.value("CONFIG", "GET", "*")
	values := make(map[string]string, len(all.elems)/2)
	for i := 0; i+1 < len(all.elems); i += 2 {
		values[all.elems[i].text] = all.elems[i+1].text
	}
	return values
}

// TestConfigDefaultsLikePeer: every parameter of redis-server is known here with the same default.
func TestConfigDefaultsLikePeer(t *testing.T) {
	peer := startPeer(t).dial()
	ours := configOf(ownServer(t).dial())
	for name, want := range configOf(peer) {
		got, known := ours[name]
		switch _, differs := intendedDefaults[name]; {
		case !known:
			t.Errorf("%s is not known", name)
		case differs:
		case got != want:
			t.Errorf("%s is %q by default, and %q in redis-server", name, got, want)
		}
	}
}

// notOffered are parameters that CONFIG SET treats otherwise than the peer, or that would break the comparison.
var notOffered = map[string]string{
	"port":        "at start only: there is no way to move the clients of a loop to other sockets",
	"tls-port":    "at start only",
	"bind":        "at start only",
	"requirepass": "would lock the connections out of the comparison",
	"maxclients":  "the limit on open files is the judge, and the peer tries for minutes to raise it",
	"dir":         "each server has one of its own",

	"save":                  "refused: there is no persistence yet",
	"appendonly":            "refused: there is no persistence yet",
	"min-replicas-to-write": "refused: there is no replication yet",
	"min-slaves-to-write":   "refused: there is no replication yet",
	"tls-ciphers":           "refused: Go chooses",
	"tls-ciphersuites":      "refused: Go chooses",
	"tls-protocols":         "checked at once, and versions before 1.2 are refused; the peer looks when TLS is in use",
	"tls-replication":       "the peer loads certificates for it",
	"tls-cluster":           "the peer loads certificates for it",

	"activedefrag":                      "the peer refuses it where it is built without its own jemalloc",
	"latency-tracking-info-percentiles": "the words of the refusal differ",
}

// intendedSets are single values that are treated otherwise than by the peer.
var intendedSets = map[[2]string]string{
	{"proc-title-template", "{title}"}:          "the peer judges what the template makes before it knows its own title",
	{"loglevel", "nothing"}:                     "Valkey's, and 7.2's",
	{"repl-diskless-load", "flush-before-load"}: "Valkey's",
}

// offeredValues are tried on every parameter: words of all types, and numbers around the limits of all types.
var offeredValues = strings.Split(strings.ReplaceAll(`|yes|no|YES|No|maybe|true|0|1|2|5|10|11|16|63|64|65|99|100|101|128|500|512|1000|1001|1024|65535|65536|
-1|-2|-5|-6|-100|-101|2147483647|2147483648|-2147483648|-2147483649|4294967295|4294967296|1048575|1048576|9223372036854775807|
9223372036854775808|99999999999999999999|007|+1| 1|1 |1.5|0x10|1k|1kb|1Kb|1MB|2mb|1g|1gb|1t|1kbx|kb|-1kb|5%|101%|
everysec|always|ALWAYS|volatile-lru|allkeys-lfu|Noeviction|disabled|on-empty-db|swapdb|allchannels|resetchannels|ip|hostname|
unknown-endpoint|ignore|panic|panic-on-replicas|clients|relative|absolute|optional|local|user|local7|debug|verbose|notice|warning|
default|nosave|now force|nosave now|later|AKE|Kg$|xE|KEm|q|0 200 800|-2000 0 2000|0 0 2001|1 2|{title}|{title} {port}|{bad}|{title|
normal 0 0 0|normal 1mb 1kb 10|replica 256mb 64mb 60|slave 1 2 3|pubsub 0 0|other 0 0 0|normal -1 0 0|normal 0 0 -1|a/b|a_b|a.b|a-b.example`, "\n", ""), "|")

// TestConfigSetLikePeer: CONFIG SET takes and refuses what redis-server takes and refuses, with the same words, and what
// it took it shows alike.
func TestConfigSetLikePeer(t *testing.T) {
	peer, ours := startPeer(t).dial(), ownServer(t).dial()
	defaults := configOf(peer)
	names := make([]string, 0, len(defaults))
	for name := range defaults {
		if _, skip := notOffered[name]; !skip {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		// Each value is set, read and taken back; what was refused leaves the default.
		var commands [][]string
		for _, v := range offeredValues {
			commands = append(commands, []string{"CONFIG", "SET", name, v}, []string{"CONFIG", "GET", name}, []string{"CONFIG", "SET", name, defaults[name]})
		}
		got, want := ours.pipeline(commands), peer.pipeline(commands)
		for i := 0; i < len(commands); i += 3 {
			v := commands[i][3]
			switch _, differs := intendedSets[[2]string{name, v}]; {
			case differs:
			case !sameAnswer(v, got[i], want[i]):
				t.Errorf("CONFIG SET %s %q:\nours %speer %s", name, v, got[i], want[i])
			case name == "repl-backlog-size" && strings.HasSuffix(want[i+1], "\r\n16384\r\n"): // the least that the peer would allocate
			case got[i][0] == want[i][0] && got[i+1] != want[i+1]:
				t.Errorf("after CONFIG SET %s %q it is %q here and %q there", name, v, got[i+1], want[i+1])
			}
		}
	}
}

// sameAnswer compares the replies to CONFIG SET of a value. The words of a choice may be more here, and what the peer
// takes for a size without looking at it is refused: no digits at all, and more than 63 bits.
func sameAnswer(v, got, want string) bool {
	const choice, size, part = "argument(s) must be one of the following: ", "argument must be a memory value", "argument must be a memory or percent value"
	switch {
	case got == want:
		return true
	case strings.Contains(got, choice) && strings.Contains(want, choice):
		return true
	case strings.Contains(got, size), strings.Contains(got, part):
		return v == "" || v == "kb" || strings.HasPrefix(v, "9")
	}
	return false
}
