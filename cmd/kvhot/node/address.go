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

// address fills in where a server is: "host", "host:port", "[v6]:port", the path of a Unix socket, or a redis://, rediss://
// or unix:// URI, whose user and password win over those of the options, and whose database does not matter. It reports
// whether the address asks for TLS.
func address(text string, opts *redis.Options) (secure bool, err error) {
	switch {
	case strings.Contains(text, "://"):
		parsed, err := redis.ParseURL(text)
		if err != nil {
			return false, fmt.Errorf("address %q is no redis://, rediss:// or unix:// URI", withoutPassword(text))
		}
		opts.Network, opts.Addr = parsed.Network, parsed.Addr
		if parsed.Password != "" {
			opts.Username, opts.Password = parsed.Username, parsed.Password
		}
		return parsed.TLSConfig != nil, nil
	case strings.HasPrefix(text, "/"):
		opts.Network, opts.Addr = "unix", text
		return false, nil
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil { // no port: a name, or an IPv6 address with or without brackets
		host, port = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"), defaultPort
		if strings.Contains(host, ":") && net.ParseIP(host) == nil {
			return false, fmt.Errorf("address %q: want host:port, [v6]:port, a socket's path or a redis:// URI", text)
		}
	}
	if host == "" {
		host = "127.0.0.1"
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return false, fmt.Errorf("address %q: port %q is not from 1 to 65535", text, port)
	}
	opts.Network, opts.Addr = "tcp", net.JoinHostPort(host, port)
	return false, nil
}

// withoutPassword is a URI as it may be shown.
func withoutPassword(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return "redis://…"
	}
	return u.Redacted()
}
