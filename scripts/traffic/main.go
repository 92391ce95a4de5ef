// Command traffic shows hot key tracking at work: it sends Zipf traffic with one hot key and one hot missing key to a
// server, and prints, in redis-cli's words, what the server then reports. scripts/demo runs it.
package main

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"kvserver/scripts/internal/resp"
)

const (
	hotKey      = "session:popular"
	missingKey  = "user:deleted"
	productKeys = 10_000
	shown       = 10 // keys asked of the server

	// Of 100 accesses, so many go to the hot key and to the missing one; the rest is Zipf over the products.
	hotPercent     = 15
	missingPercent = 10
	setPercent     = 10 // of those to products
	zipfExponent   = 1.1

	connections = 4
	batch       = 50
	batchPause  = 10 * time.Millisecond // 4 × 50 accesses every 10 ms: 20,000 a second

	dialTimeout = 10 * time.Second
)

func main() {
	address := pflag.String("address", "127.0.0.1:6379", "address of the server")
	pflag.Parse()
	if err := run(*address); err != nil {
		fmt.Fprintf(os.Stderr, "traffic: %v\n", err)
		os.Exit(1)
	}
}

func run(address string) error {
	control, err := resp.DialRetrying(address, dialTimeout, nil)
	if err != nil {
		return err
	}
	defer control.Close()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	show := func(args ...string) error { return show(control, port, args...) }
	for product := range productKeys {
		control.Queue("SET", productName(uint64(product)), "in stock")
	}
	control.Queue("SET", hotKey, "everyone reads this")
	if _, err := control.Flush(); err != nil {
		return err
	}
	err = show("CONFIG", "SET", "hotkeys-top-k", fmt.Sprint(shown), "hotkeys-sampling-percentage", "100")
	if err != nil {
		return err
	}

	fmt.Printf("\n# %d clients now send up to 20,000 GET and SET a second: %d %% to %s, %d %% to %s, which does not\n"+
		"# exist, the rest to %d products by a Zipf law. After two and a half windows:\n\n",
		connections, hotPercent, hotKey, missingPercent, missingKey, productKeys)
	const run = 2500 * time.Millisecond
	stop := make(chan struct{})
	clients := make([]*client, connections)
	var wait sync.WaitGroup
	for i := range clients {
		clients[i] = &client{sent: map[string]int{}, random: rand.New(rand.NewPCG(uint64(i), 1))}
		wait.Go(func() { clients[i].err = clients[i].drive(address, stop) })
	}
	begin := time.Now()
	time.Sleep(run)
	// Under way still: a report says what the last full window saw, and the one after the traffic would be empty.
	err = errors.Join(show("HOTKEYS", "GET"), show("INFO", "hotkeys"), show("GET", missingKey))
	close(stop)
	wait.Wait()
	for _, c := range clients {
		err = errors.Join(err, c.err)
	}
	if err != nil {
		return err
	}
	printSent(clients, time.Since(begin))
	return nil
}

// client is one connection that sends traffic and counts what it sent.
type client struct {
	random *rand.Rand
	sent   map[string]int
	err    error
}

func (c *client) drive(address string, stop <-chan struct{}) error {
	connection, err := resp.Dial(address, dialTimeout)
	if err != nil {
		return err
	}
	defer connection.Close()
	products := rand.NewZipf(c.random, zipfExponent, 1, productKeys-1)
	pause := time.NewTicker(batchPause)
	defer pause.Stop()
	for {
		for range batch {
			c.queueAccess(connection, products)
		}
		replies, err := connection.Flush()
		if err != nil {
			return err
		}
		for _, reply := range replies {
			if reply.Kind == resp.Error {
				return errors.New(reply.Text)
			}
		}
		select {
		case <-stop:
			return nil
		case <-pause.C:
		}
	}
}

func (c *client) queueAccess(connection *resp.Client, products *rand.Zipf) {
	name := missingKey
	switch draw := c.random.IntN(100); {
	case draw < hotPercent:
		name = hotKey
	case draw >= hotPercent+missingPercent:
		name = productName(products.Uint64())
	}
	c.sent[name]++
	if name != missingKey && name != hotKey && c.random.IntN(100) < setPercent {
		connection.Queue("SET", name, "in stock")
		return
	}
	connection.Queue("GET", name)
}

func productName(number uint64) string { return fmt.Sprintf("product:%d", number) }

// show sends a command and prints it with its reply as a terminal with redis-cli shows them. redis-cli prints the
// text of INFO as it is.
func show(control *resp.Client, port string, args ...string) error {
	fmt.Printf("$ redis-cli -p %s", port)
	for _, arg := range args {
		fmt.Printf(" %s", arg)
	}
	reply, err := control.Do(args...)
	if err != nil {
		return fmt.Errorf("%v: %w", args, err)
	}
	if args[0] == "INFO" {
		fmt.Printf("\n%s", reply.Text)
		return nil
	}
	fmt.Printf("\n%s", reply.Format())
	return nil
}

// printSent shows the truth to compare the report with.
func printSent(clients []*client, elapsed time.Duration) {
	sent := map[string]int{}
	for _, c := range clients {
		for name, count := range c.sent {
			sent[name] += count
		}
	}
	names := slices.SortedFunc(maps.Keys(sent), func(a, b string) int { return sent[b] - sent[a] })
	fmt.Printf("\n# Really sent, per second on average:\n")
	for _, name := range names[:min(shown, len(names))] {
		fmt.Printf("#   %-16s %6.0f\n", name, float64(sent[name])/elapsed.Seconds())
	}
}
