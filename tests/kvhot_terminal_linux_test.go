package tests

import (
	"strings"
	"testing"
)

// TestKvhotInATerminal: top draws in a terminal, obeys keys and gives the terminal back.
func TestKvhotInATerminal(t *testing.T) {
	bin, err := kvhotBinary()
	if err != nil {
		t.Fatalf("building kvhot: %v", err)
	}
	s := startServer(t, "--hotkeys-top-k", "16", "--hotkeys-sampling-percentage", "100")
	term := startInTerminal(t, bin, "top", "-a", s.addr, "-i", "0.1")
	term.see("accesses/s")
	c := s.dial()
	eventually(t, "the hot key is on the screen", func() bool {
		for range 100 {
			c.do("GET", "hot:key")
		}
		return strings.Contains(term.shown.String(), "hot:key")
	})
	term.enter("?")
	term.see("PgUp") // blanks may be movements
	term.enter("q")
	term.see(`\?1049l`) // back from the screen that programs draw on

	s.dial().ok("CONFIG", "SET", "requirepass", "hunter2")
	term = startInTerminal(t, bin, "top", "--once", "--askpass", "-a", s.addr)
	term.see("Please input password: ")
	term.enter("hunter2\r")
	term.see("no window is complete yet|no key was accessed|hot:key")
	if strings.Contains(term.shown.String(), "hunter2") {
		t.Error("the terminal shows the password")
	}

	term = startInTerminal(t, "/bin/sh", "-c", `trap : INT; "$0" "$@"; echo "status $?"; stty -a`, bin, "top", "--once", "--askpass", "-a", s.addr)
	term.see("Please input password: ")
	term.enter("\x03") // Ctrl-C
	term.see("status 0")
	term.see(` echo `) // is on again
}
