package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Options say how to reach servers; they are the same for all.
type Options struct {
	Username, Password string
	Secure             bool // use TLS also where the address does not ask for it
	TLS                *tls.Config
	Protocol           int           // 2 or 3
	Timeout            time.Duration // of connecting, and of each reply
}

// Node is one server. Its methods are for one goroutine at a time.
type Node struct {
	// Address is how the user called the server, without a password.
	Address string

	client  *redis.Client
	timeout time.Duration
	// refused has the optional commands that the server does not know or does not let us use.
	refused map[string]bool // by their first two words
	// cpu is the processor time the server had used at a moment of our clock, from which its use since then is told.
	cpu struct {
		at      time.Time
		seconds float64
	}
}

// The errors of a server that answers, but not with hot keys.
var (
	ErrNoHotKeys = errors.New("the server has no HOTKEYS: kvserver and Valkey 9.2 have it")
	ErrSession   = errors.New("HOTKEYS GET answers with the report of a tracking session (HOTKEYS START), which is not a list of hot keys by access rate")
	ErrNoStats   = errors.New("the server's HOTKEYS GET only tells key, db and qps: it cannot rank by reads or writes")
	ErrNoHistory = errors.New("the server keeps no history of hot keys (HOTKEYS HISTORY)")
	ErrNoControl = errors.New("the server has no controller of hot keys (HOTKEYS STATES)")
)

// New returns the server at an address, which docs/kvhot.md describes. It does not connect yet.
func New(text string, o Options) (*Node, error) {
	opts := &redis.Options{
		Username: o.Username, Password: o.Password, Protocol: o.Protocol, ClientName: "kvhot",
		DialTimeout: o.Timeout, ReadTimeout: o.Timeout, WriteTimeout: o.Timeout, ContextTimeoutEnabled: true,
		// A failure is shown and the next refresh tries again: nothing waits meanwhile.
		MaxRetries: -1, DialerRetries: 1, PoolSize: 2,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	secure, err := address(text, opts)
	if err != nil {
		return nil, err
	}
	if secure || o.Secure {
		opts.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		if o.TLS != nil {
			opts.TLSConfig = o.TLS.Clone()
		}
		if opts.TLSConfig.ServerName == "" {
			opts.TLSConfig.ServerName = serverName(opts.Addr)
		}
	}
	return &Node{Address: opts.Addr, client: redis.NewClient(opts), timeout: o.Timeout, refused: map[string]bool{}}, nil
}

// serverName is the host of an address, against which its certificate is checked.
func serverName(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil { // a Unix socket
		return "localhost"
	}
	return host
}

// Close ends the connections.
func (n *Node) Close() error { return n.client.Close() }

// answered reports whether an error is the server's answer, not a connection that failed.
func answered(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// malformed makes an error of a panic, and belongs deferred: go-redis makes room for as many elements as a server announces, and
// panics if that is more than there can be.
func (n *Node) malformed(err *error) {
	if fault := recover(); fault != nil {
		n.lost()
		*err = fmt.Errorf("malformed reply: %v", fault)
	}
}

// lost forgets what the server refused and used: after a failure of the connection another one may answer.
func (n *Node) lost() {
	clear(n.refused)
	n.cpu.at = time.Time{}
}

// optional adds a command of two words or more to a pipeline, unless the server refused it before; nil then.
func (n *Node) optional(ctx context.Context, pipe redis.Pipeliner, args ...any) *redis.Cmd {
	if n.refused[words(args)] {
		return nil
	}
	return pipe.Do(ctx, args...)
}

// words are the first two of a command, which say what it is.
func words(args []any) string { return fmt.Sprint(args[0], " ", args[1]) }

// reply returns the reply to an optional command, nil where there is none.
func (n *Node) reply(cmd *redis.Cmd) any {
	if cmd == nil {
		return nil
	}
	v, err := cmd.Result()
	if err != nil {
		if answered(err) && !errors.Is(err, redis.Nil) {
			n.refused[words(cmd.Args())] = true
		}
		return nil
	}
	return v
}

// cpuPercent tells the use of processors between two readings of a server's clock, in percent of one core: NaN at the first.
func (n *Node) cpuPercent(at time.Time, info fields) float64 {
	seconds := info.number("used_cpu_sys") + info.number("used_cpu_user")
	before := n.cpu
	n.cpu.at, n.cpu.seconds = at, seconds
	elapsed := at.Sub(before.at).Seconds()
	if before.at.IsZero() || elapsed <= 0 || seconds < before.seconds {
		return math.NaN()
	}
	return 100 * (seconds - before.seconds) / elapsed
}

// IsTimeout reports whether an error is that nothing came in time, whoever noticed: the connection or the context.
func IsTimeout(err error) bool {
	var failed net.Error
	return errors.As(err, &failed) && failed.Timeout()
}
