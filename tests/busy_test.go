package tests

import (
	"strings"
	"testing"
)

// TestBusyReachesAllLoops: of scripts that never end and come at the same time one runs, and whatever waits for the end of that, on
// any loop, is answered when it turns out to be past its time, as is all that comes after it.
func TestBusyReachesAllLoops(t *testing.T) {
	s := ownServer(t, "--busy-reply-threshold", "200")
	endless := []string{"EVAL", "while true do end", "0"}
	commands := [][]string{endless, endless, endless, endless, endless, endless, {"FLUSHALL"}, {"CLIENT", "LIST"}, {"KEYS", "*"}, {"INFO"}}
	type answer struct {
		c     *conn
		reply string
		err   error
	}
	answers := make(chan answer, len(commands))
	for _, command := range commands {
		c := s.dial()
		go func() {
			reply, err := c.try(command...)
			answers <- answer{c, string(reply), err}
		}()
	}
	busy := 0
	for range len(commands) - 1 {
		a := <-answers
		if a.err != nil {
			t.Fatal(a.err)
		}
		if strings.HasPrefix(a.reply, "-BUSY ") {
			busy++
			a.c.want("-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n", "PING")
		}
	}
	if busy < 5 {
		t.Errorf("%d commands were told that a script runs, at least the other scripts should be", busy)
	}
	killer := s.dial()
	killer.ok("SCRIPT", "KILL")
	if a := <-answers; !strings.HasPrefix(a.reply, "-ERR Script killed by user") {
		t.Errorf("the script that ran: %s, %v", a.reply, a.err)
	}
	eventually(t, "the server is no longer busy", func() bool { return killer.do("PING") == "+PONG\r\n" })
}
