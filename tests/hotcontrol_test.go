package tests

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// events are messages of the controller of hot keys as they come in.
type events struct {
	t        *testing.T
	c        *conn
	protocol string
}

// hotEvents subscribes to all events.
func hotEvents(t *testing.T, s *server, protocol string) *events {
	t.Helper()
	c := s.dial()
	c.do("HELLO", protocol)
	c.send(string(encode("PSUBSCRIBE", "__hotkeys__:*")))
	c.reply()
	return &events{t, c, protocol}
}

// next is the next event and the payload without the demand, which depends on the speed of the machine.
func (e *events) next() string {
	e.t.Helper()
	raw := e.c.reply()
	kind := map[string]byte{"2": '*', "3": '>'}[e.protocol]
	v := parseReply(raw)
	if raw[0] != kind || len(v.elems) != 4 || v.elems[0].text != "pmessage" || v.elems[1].text != "__hotkeys__:*" {
		e.t.Fatalf("not an event: %q", raw)
	}
	name, ok := strings.CutPrefix(v.elems[2].text, "__hotkeys__:")
	parts := strings.SplitN(v.elems[3].text, " ", 3)
	if !ok || len(parts) != 3 || strings.Trim(parts[1], "0123456789") != "" || parts[1] == "" {
		e.t.Fatalf("not an event: %q", raw)
	}
	return fmt.Sprintf("%s %s %s", name, parts[0], parts[2])
}

// want is the next event.
func (e *events) want(want string) {
	e.t.Helper()
	if got := e.next(); got != want {
		e.t.Errorf("event %q, want %q", got, want)
	}
}

// loadWhile sends commands until what it waits for is over.
func (s *server) loadWhile(wait func(), commands ...[]string) {
	s.t.Helper()
	over := make(chan struct{})
	ended := make(chan error, 1)
	c := s.dial()
	go func() {
		for {
			for _, args := range commands {
				if _, err := c.try(args...); err != nil {
					ended <- err
					return
				}
			}
			select {
			case <-over:
				ended <- nil
				return
			default:
			}
		}
	}()
	wait()
	close(over)
	if err := <-ended; err != nil {
		s.t.Errorf("the load: %v", err)
	}
}

// TestHotControl: a load makes a key hot, and its end makes it normal again.
func TestHotControl(t *testing.T) {
	for _, protocol := range []string{"2", "3"} {
		t.Run("RESP"+protocol, func(t *testing.T) {
			s := startHot(t, "--hotkeys-promote-qps", "3", "--hotkeys-demote-qps", "1", "--hotkeys-promote-windows", "1",
				"--hotkeys-demote-windows", "1", "--hotkeys-min-hold-seconds", "0", "--hotkeys-warmup-ack", "yes")
			e := hotEvents(t, s.server, protocol)
			const name = "\x00a b\r\n\xff"
			s.loadWhile(func() {
				// A machine that stalls for the length of a window may cancel a warm-up.
				for event := ""; event != "hot 3 "+name; event = e.next() {
					s.c.do("HOTKEYS", "READY", name, "DB", "3")
				}
				states := s.c.value("HOTKEYS", "STATES", "STATE", "hot")
				if len(states.elems) != 1 {
					t.Fatalf("STATES: %s", states)
				}
				for field, want := range map[string]string{"key": name, "state": "hot"} {
					if v, _ := states.elems[0].field(field); v.text != want {
						t.Errorf("%s is %s", field, v)
					}
				}
			}, []string{"SELECT", "3"}, []string{"GET", name})
			e.want("normal 3 " + name)
			for field, want := range map[string]int64{"hotkeys_promotions": 1, "hotkeys_demotions": 1, "hotkeys_hot_keys": 0} {
				if n := infoInt(s.c, "hotkeys", field); n != want {
					t.Errorf("%s is %d, want %d", field, n, want)
				}
			}
			if log := s.log.String(); !strings.Contains(log, "event=hot") || !strings.Contains(log, `key="\x00a b\r\n\xff"`) || !strings.Contains(log, "db=3") {
				t.Errorf("the log does not tell: %s", log)
			}
		})
	}
}

// TestGoRedisHearsOfHotKeys uses the subscriptions of a client library.
func TestGoRedisHearsOfHotKeys(t *testing.T) {
	s := ownServer(t, "--hotkeys-promote-qps", "100", "--hotkeys-demote-qps", "50")
	for _, protocol := range []int{2, 3} {
		client := redis.NewClient(&redis.Options{Addr: s.addr, Protocol: protocol})
		defer client.Close()
		ctx := context.Background()
		sub := client.Subscribe(ctx, "__hotkeys__:hot", "__hotkeys__:normal")
		defer sub.Close()
		for range 2 {
			if _, err := sub.Receive(ctx); err != nil {
				t.Fatal(err)
			}
		}
		for _, args := range [][]any{{"HOTKEYS", "PIN", "k", "DB", 7}, {"HOTKEYS", "DEMOTE", "k", "DB", 7}} {
			if err := client.Do(ctx, args...).Err(); err != nil {
				t.Fatal(err)
			}
		}
		for _, event := range []string{"hot", "normal"} {
			if m, err := sub.ReceiveMessage(ctx); err != nil || m.Channel != "__hotkeys__:"+event || m.Payload != "7 0 k" {
				t.Errorf("RESP%d: %v, %v", protocol, m, err)
			}
		}
	}
}

// TestEmergencyByLoad: a limit of the whole server promotes the key that has most of the accesses.
func TestEmergencyByLoad(t *testing.T) {
	for _, limit := range [][2]string{{"hotkeys-emergency-cpu-percent", "1"}, {"hotkeys-emergency-latency-ms", "20"}} {
		t.Run(limit[0], func(t *testing.T) {
			s := startHot(t, "--hotkeys-window-seconds", "300", "--hotkeys-promote-qps", "1000000000", "--hotkeys-demote-qps", "1",
				"--"+limit[0], limit[1])
			e := hotEvents(t, s.server, "2")
			s.loadWhile(func() {
				e.want("emergency 0 k")
				e.want("warming 0 k")
				e.want("hot 0 k")
			}, append(times(20, "GET k", "GET k", "GET other"), []string{"DEBUG", "SLEEP", "0.05"})...)
			s.c.ok("CONFIG", "SET", limit[0], "0")
			if n := infoInt(s.c, "hotkeys", "hotkeys_emergency_trips"); n != 1 {
				t.Errorf("%d emergencies", n)
			}
		})
	}
}

// TestReportsOfOrdinaryClients: REPORT takes no more than the permission to read the key, all else that changes states does.
func TestReportsOfOrdinaryClients(t *testing.T) {
	s := startHot(t, "--hotkeys-promote-qps", "100", "--hotkeys-demote-qps", "50")
	s.c.ok("ACL", "SETUSER", "app", "on", ">secret", "~app:*", "%R~shared:*", "+@all", "-@dangerous")
	app := s.dial()
	app.ok("AUTH", "app", "secret")
	app.ok("HOTKEYS", "REPORT", "app:k", "1000")
	app.ok("HOTKEYS", "REPORT", "shared:k", "1000", "DB", "2")
	for _, args := range [][]string{{"HOTKEYS", "REPORT", "other", "1000"}, {"HOTKEYS", "PIN", "app:k"}, {"HOTKEYS", "READY", "app:k"},
		{"HOTKEYS", "DEMOTE", "app:k"}, {"HOTKEYS", "UNPIN", "app:k"}, {"HOTKEYS", "STATES"}} {
		if reply := app.do(args...); !strings.HasPrefix(reply, "-NOPERM ") {
			t.Errorf("%s: %q", quoteArgs(args), reply)
		}
	}
}
