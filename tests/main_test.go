package tests

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

var (
	rewrite      = flag.Bool("rewrite", false, "replace the replies in testdata with those of redis-server")
	seed         = flag.Uint64("seed", 1, "seed of the random command streams")
	commandCount = flag.Int("commands", 4000, "random commands to send in the differential test")
)

// scratch holds what lives as long as the test binary: the server that was
// built, the certificates.
var scratch string

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "kvserver-tests-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scratch = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// serverBinary returns the path of the server under test, building it at the
// first call. A test run that starts no server does not pay for a build.
var serverBinary = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("KVSERVER_BIN"); bin != "" {
		return bin, nil
	}
	return build("kvserver")
})

// build builds a command of ours and returns its path.
func build(name string) (string, error) {
	bin := filepath.Join(scratch, name)
	args := []string{"build", "-o", bin}
	if raceEnabled {
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, "kvserver/cmd/"+name)...)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w\n%s", build, err, out)
	}
	return bin, nil
}

// patience bounds every wait for something that must happen. It is long since a
// wait that ends well costs only what it takes.
const patience = 20 * time.Second

// eventually polls until ok holds and fails the test if it does not within
// patience.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	if !poll(patience, ok) {
		t.Fatalf("still not so after %v: %s", patience, what)
	}
}

// poll calls ok every few milliseconds until it holds or the time is over.
func poll(limit time.Duration, ok func() bool) bool {
	deadline := time.Now().Add(limit)
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		if ok() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(pause)
	}
}

// scaled makes a load a tenth as large where the race detector makes everything
// slower; what is tested is then order, not size.
func scaled(n int) int {
	if raceEnabled {
		return n / 10
	}
	return n
}

// elapse lets real time go by. It is for tests whose subject is what a server
// does, or does not do, while nobody talks to it; never for waiting until
// something is ready.
func elapse(d time.Duration) { <-time.After(d) }
