package tests

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// nodeClients are the client libraries of npm/package.json: the current versions of the two that most programs in Node use,
// and those before, whose default is RESP2.
var nodeClients = []struct {
	module, script string
	nodeMin        int // the oldest major version of Node that the library runs on
}{
	{"ioredis", "ioredis.js", 20},
	{"ioredis5", "ioredis.js", 18},
	{"redis", "redis.js", 20},
	{"redis5", "redis.js", 18},
}

// errNoNode is why the tests of npm's libraries cannot run here.
var errNoNode = errors.New("NOT TRIED with ioredis and node-redis")

// installNode copies the scripts of the directory npm to a scratch directory and installs there what they need, as locked.
// It is done once for all tests.
var installNode = sync.OnceValues(func() (string, error) {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return "", fmt.Errorf("%w: %v. Install Node and npm.", errNoNode, err)
		}
	}
	dir := filepath.Join(scratch, "npm")
	if err := os.CopyFS(dir, os.DirFS("npm")); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	ci := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
	ci.Dir = dir
	out, err := ci.CombinedOutput()
	switch {
	case err == nil:
		return dir, nil
	case unreachable.Match(out):
		return "", fmt.Errorf("%w: npm reaches no registry from here:\n%s", errNoNode, out)
	default:
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
})

// unreachable finds in the output of npm that it has no way to a registry.
var unreachable = regexp.MustCompile(`\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ENOTCACHED)\b`)

// nodeModules returns the directory with the scripts and the libraries and the major version of Node. It skips the test, or
// fails it if PEER_REQUIRED is set, where there cannot be any.
func nodeModules(t *testing.T) (dir string, major int) {
	t.Helper()
	dir, err := installNode()
	if errors.Is(err, errNoNode) && os.Getenv("PEER_REQUIRED") == "" {
		fmt.Fprintf(os.Stderr, "%s: %v\n", t.Name(), err)
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("node", "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
	if major, err = strconv.Atoi(first); err != nil {
		t.Fatalf("node --version: %q", out)
	}
	return dir, major
}

// TestNodeClients uses the libraries with their default settings, in a process each, which tells what became of each case.
func TestNodeClients(t *testing.T) {
	dir, major := nodeModules(t)
	for _, client := range nodeClients {
		t.Run(client.module, func(t *testing.T) {
			if major < client.nodeMin {
				fmt.Fprintf(os.Stderr, "%s: NOT TRIED: needs Node %d, and this is %d\n", t.Name(), client.nodeMin, major)
				t.Skip("Node is too old")
			}
			s := startServer(t)
			_, port, _ := net.SplitHostPort(s.addr)
			ctx, cancel := context.WithTimeout(context.Background(), 10*patience)
			defer cancel()
			node := exec.CommandContext(ctx, "node", client.script, client.module, port)
			node.Dir = dir
			var out, complaints bytes.Buffer
			node.Stdout, node.Stderr = &out, &complaints
			err := node.Run()
			cases := 0
			for decoder := json.NewDecoder(&out); decoder.More(); cases++ {
				var result struct{ Name, Error string }
				if err := decoder.Decode(&result); err != nil {
					t.Fatal(err)
				}
				t.Run(result.Name, func(t *testing.T) {
					if result.Error != "" {
						t.Error(result.Error)
					}
				})
			}
			if err != nil || cases == 0 {
				t.Errorf("%v after %d cases: %v\n%s", node, cases, err, &complaints)
			}
		})
	}
}
