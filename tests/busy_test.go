package tests

import (
	"strings"
	"testing"
)

// TestBusyReachesAllLoops: commands that wait for a script to end when it turns out to be past its time, on whatever loop, are
// answered then, and so is all that comes after them.
func TestBusyReachesAllLoops(t *testing.T) {
	s := ownServer(t, "--busy-reply-threshold", "200")
	waiting := [][]string{
		{"EVAL", "while true do end", "0"}, {"EVAL", "while true do end", "0"}, {"EVAL", "while true do end", "0"}, {"FLUSHALL"},
		{"CLIENT", "LIST"}, {"KEYS", "*"}, {"INFO"}, {"EVAL", "while true do end", "0"}, {"EVAL", "while true do end", "0"},
	}
	type answer struct {
		c     *conn
		reply string
		err   error
	}
	answers := make(chan answer)
	runs := s.dial()
	runs.send(string(encode("EVAL", "while true do end", "0")))
	for _, command := range waiting {
		c := s.dial()
		go func() {
			reply, err := c.try(command...)
			answers <- answer{c, string(reply), err}
		}()
	}
	const busy = "-BUSY "
	for range waiting { // none of them ends before, but what was there before the first script
		a := <-answers
		if a.err != nil {
			t.Fatal(a.err)
		}
		if strings.HasPrefix(a.reply, busy) {
			a.c.want("-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n", "PING")
		}
	}
	killer := s.dial()
	killer.ok("SCRIPT", "KILL")
	if got := runs.reply(); !strings.HasPrefix(got, "-ERR Script killed by user") {
		t.Errorf("the script that ran: %s", got)
	}
	eventually(t, "the server is no longer busy", func() bool { return killer.do("PING") == "+PONG\r\n" })
}
