package server

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var listedID = regexp.MustCompile(`(?m)^id=(\d+) `)

// listed returns the ids that CLIENT LIST prints for options.
func listed(t *testing.T, c *client, options ...string) (ids []string) {
	t.Helper()
	r := decoded(t, do(c, append([]string{"CLIENT", "LIST"}, options...)...))
	if strings.HasPrefix(r.text, "ERR ") {
		t.Errorf("%q: %s", options, r.text)
	}
	for _, m := range listedID.FindAllStringSubmatch(r.text, -1) {
		ids = append(ids, m[1])
	}
	return ids
}

// TestClientFilters: each option of LIST and KILL selects whom it should, and its opposite the others.
func TestClientFilters(t *testing.T) {
	s := newTestServer(t, "--protected-mode", "no")
	me := newTestClient(t, s)
	web := connect(t, s, &fakeConn{remote: "[::1]:5000", local: "[::1]:6379"})
	local := connect(t, s, &fakeConn{remote: "/tmp/s:0", local: "/tmp/s:0", unix: true})
	sub := connect(t, s, &fakeConn{remote: "10.0.0.9:7", local: "10.0.0.1:6379"})
	do(web, "CLIENT", "SETNAME", "web")
	do(web, "CLIENT", "SETINFO", "LIB-NAME", "lib")
	do(web, "CLIENT", "SETINFO", "LIB-VER", "1.2")
	do(web, "CLIENT", "CAPA", "redirect")
	do(local, "SELECT", "3")
	do(local, "CLIENT", "NO-TOUCH", "ON")
	do(sub, "SUBSCRIBE", "ch")
	for _, c := range []*client{web, sub} {
		c.created = c.created.Add(-time.Hour)
		c.activeNs -= int64(time.Minute)
	}
	all := []string{"1", "2", "3", "4"}
	for _, test := range []struct{ option, value, want string }{
		{"id", "3 1", "3 1"}, {"type", "pubsub", "4"}, {"type", "NORMAL", "1 2 3"}, {"user", "default", "1 2 3 4"},
		{"addr", "[::1]:5000", "2"}, {"laddr", "127.0.0.1:6379", "1"}, {"ip", "::1", "2"}, {"ip", "10.0.0.9", "4"}, {"ip", "/tmp/s", "3"},
		{"name", "web", "2"}, {"lib-name", "lib", "2"}, {"lib-ver", "1.2", "2"}, {"db", "3", "3"}, {"capa", "r", "2"},
		{"flags", "U", "3"}, {"flags", "TU", "3"}, {"flags", "UP", ""}, {"flags", "P", "4"}, {"flags", "N", "1 2"},
		{"maxage", "3000", "2 4"}, {"idle", "30", "2 4"}, {"skipme", "yes", "2 3 4"}, {"skipme", "NO", "1 2 3 4"},
	} {
		want := strings.Fields(test.want)
		options := append([]string{test.option}, strings.Fields(test.value)...)
		if got := listed(t, me, options...); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", options, got, want)
		}
		if onlyOptions[test.option] != nil || test.option == "skipme" {
			continue
		}
		options[0] = "NOT-" + strings.ToUpper(test.option)
		others := slices.DeleteFunc(slices.Clone(all), func(id string) bool { return slices.Contains(want, id) })
		if got := listed(t, me, options...); !slices.Equal(got, others) {
			t.Errorf("%q: %q, want %q", options, got, others)
		}
	}
	for _, test := range []struct{ options, want string }{
		{"TYPE normal NOT-DB 3", "1 2"}, {"ID 4 3 2 TYPE normal", "3 2"}, {"NAME x NAME web", "2"}, {"ID 2 SKIPME yes NOT-NAME web", ""},
	} {
		if got := listed(t, me, strings.Fields(test.options)...); !slices.Equal(got, strings.Fields(test.want)) {
			t.Errorf("%s: %q, want %q", test.options, got, test.want)
		}
	}
	if got := do(me, "CLIENT", "KILL", "ID", "1", "2", "2", "4", "NOT-TYPE", "pubsub"); got != ":1\r\n" || !connOf(web).closed {
		t.Errorf("KILL: %q", got)
	}
	if connOf(sub).closed || connOf(local).closed {
		t.Error("KILL closed others")
	}
}

// TestClientTraffic: the totals of a client are of what it has sent, been sent, and run.
func TestClientTraffic(t *testing.T) {
	s := newTestServer(t)
	c, other := newTestClient(t, s), newTestClient(t, s)
	in := request("PING") + request("EVAL", "return redis.call('GET', 'k')", "0") + request("SUBSCRIBE", "ch")
	out, _ := feed(c, in)
	do(other, "PUBLISH", "ch", "hello")
	line, _, _ := strings.Cut(decoded(t, do(other, "CLIENT", "LIST", "ID", "1")).text, "\n")
	got := fieldsOf(t, line)
	for name, want := range map[string]int{"tot-net-in": len(in), "tot-net-out": len(out) + len(connOf(c).posted), "tot-cmds": 4} {
		if got[name] != strconv.Itoa(want) {
			t.Errorf("%s=%s, want %d", name, got[name], want)
		}
	}
}

func TestClientWatchCount(t *testing.T) {
	s := newTestServer(t)
	c, other := newTestClient(t, s), newTestClient(t, s)
	before := c.memoryBytes()
	do(c, "WATCH", "a", "b", strings.Repeat("long", 1000))
	if got := infoOf(t, c)["watch"]; got != "3" {
		t.Errorf("watch=%s", got)
	}
	if grown := c.memoryBytes() - before; grown < 4000 {
		t.Errorf("keys watched take %d bytes", grown)
	}
	if clients, keys := infoField(t, other, "clients", "watching_clients"), infoField(t, other, "clients", "total_watched_keys"); clients != "1" || keys != "3" {
		t.Errorf("watching_clients:%s total_watched_keys:%s", clients, keys)
	}
	do(c, "UNWATCH")
	if keys := infoField(t, other, "clients", "total_watched_keys"); keys != "0" {
		t.Errorf("after UNWATCH total_watched_keys:%s", keys)
	}
}
