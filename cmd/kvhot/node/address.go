package node

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// defaultPort is where Redis, Valkey and kvserver listen.
const defaultPort = "6379"

// address returns where a server is: "host", "host:port", "[v6]:port", the path of a Unix socket, or a redis://, rediss://
// or unix:// URI, whose user, password and database win over those of the options.
func address(text string, opts *redis.Options) error {
	switch {
	case strings.Contains(text, "://"):
		parsed, err := redis.ParseURL(text)
		if err != nil {
			return fmt.Errorf("address %q: %w", withoutPassword(text), err)
		}
		opts.Network, opts.Addr = parsed.Network, parsed.Addr
		if parsed.Password != "" || parsed.Username != "" {
			opts.Username, opts.Password = parsed.Username, parsed.Password
		}
		if parsed.TLSConfig == nil {
			opts.TLSConfig = nil
		} else if opts.TLSConfig == nil {
			opts.TLSConfig = parsed.TLSConfig
		}
		return nil
	case strings.HasPrefix(text, "/"):
		opts.Network, opts.Addr = "unix", text
		return nil
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil { // no port: a name, or an IPv6 address with or without brackets
		host, port = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"), defaultPort
		if strings.Contains(host, ":") && net.ParseIP(host) == nil {
			return fmt.Errorf("address %q: want host:port, [v6]:port, a socket's path or a redis:// URI", text)
		}
	}
	if host == "" {
		host = "127.0.0.1"
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("address %q: port %q is not from 1 to 65535", text, port)
	}
	opts.Network, opts.Addr = "tcp", net.JoinHostPort(host, port)
	return nil
}

// withoutPassword is a URI as it may be shown.
func withoutPassword(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return "redis://…"
	}
	return u.Redacted()
}
