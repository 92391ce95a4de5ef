package tests

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal is a program that runs in a terminal, where it shows what it keeps to itself before a pipe.
type terminal struct {
	t      *testing.T
	master *os.File
	shown  *output
	seen   int // bytes of shown when something was last typed
}

// startInTerminal starts a program in a terminal of 200 columns. It is killed at the end of the test.
func startInTerminal(t *testing.T, name string, args ...string) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			master.Close()
			t.Fatal(err)
		}
	}
	must(unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	must(err)
	must(unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 200}))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	must(err)
	defer slave.Close()
	cmd := exec.Command(name, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "TERM=xterm", "HOME="+cmd.Dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must(cmd.Start())
	term := &terminal{t: t, master: master, shown: new(output)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buffer := make([]byte, 4096)
		for {
			n, err := master.Read(buffer)
			term.shown.Write(buffer[:n])
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		<-read // nobody has the other side open any more
		master.Close()
	})
	return term
}

// enter types; a line ends with \r, as the key for it sends.
func (term *terminal) enter(text string) {
	term.t.Helper()
	term.seen = len(term.shown.String())
	if _, err := term.master.WriteString(text); err != nil {
		term.t.Fatal(err)
	}
}

// escapes are what moves the cursor and changes colours; lineEnds are those of programs that know of terminals and of those
// that do not.
var (
	escapes  = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")
	lineEnds = regexp.MustCompile("[\r\n]+")
)

// see waits until the terminal has shown, since something was last typed, what matches, without colours and empty lines.
func (term *terminal) see(pattern string) {
	term.t.Helper()
	wanted := regexp.MustCompile(pattern)
	plain := func() string {
		return lineEnds.ReplaceAllString(escapes.ReplaceAllString(term.shown.String()[term.seen:], ""), "\n")
	}
	if !poll(patience, func() bool { return wanted.MatchString(plain()) }) {
		term.t.Fatalf("the terminal does not show %s but\n%s", pattern, bytes.ToValidUTF8([]byte(plain()), nil))
	}
}
