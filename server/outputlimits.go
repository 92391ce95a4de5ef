package server

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"kvserver/config"
)

// outputLimit bounds the replies that wait for a slow client: hard at any moment, soft for longer than a time.
// 0 means no limit.
type outputLimit struct {
	hardBytes, softBytes int64
	softSeconds          int64
}

// Classes of clients in client-output-buffer-limit. Only ordinary clients exist yet; the others are kept as
// given, so that a configuration written for later versions is not lost.
var outputClasses = []string{"normal", "slave", "pubsub"}

const defaultOutputLimits = "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60"

// outputBytesMin is what smaller limits, except 0, are taken for: whatever a limit is, a client can be answered that it has
// changed it. In Redis so much has room in a buffer that counts for no limit.
const outputBytesMin = 16 << 10

// canonicalOutputLimits reads "class hard soft seconds" groups; later groups win.
func canonicalOutputLimits(v string) (string, error) {
	limits, err := parseOutputLimits(v)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, class := range outputClasses {
		if l, given := limits[class]; given {
			fmt.Fprintf(&b, " %s %d %d %d", class, l.hardBytes, l.softBytes, l.softSeconds)
		}
	}
	return strings.TrimSpace(b.String()), nil
}

func parseOutputLimits(v string) (map[string]outputLimit, error) {
	words := strings.Fields(v)
	if len(words)%4 != 0 {
		return nil, errors.New("Wrong number of arguments in buffer limit configuration.")
	}
	limits := make(map[string]outputLimit)
	for ; len(words) > 0; words = words[4:] {
		class := strings.ToLower(words[0])
		if class == "replica" {
			class = "slave"
		}
		hard, hardErr := config.ParseSize(words[1])
		soft, softErr := config.ParseSize(words[2])
		seconds, err := strconv.ParseInt(words[3], 10, 32)
		switch {
		case class != "normal" && class != "slave" && class != "pubsub":
			return nil, errors.New("Invalid client class specified in buffer limit configuration.")
		case hardErr != nil || softErr != nil || err != nil || seconds < 0:
			return nil, errors.New("Error in hard, soft or soft_seconds setting in buffer limit configuration.")
		}
		limits[class] = outputLimit{hard, soft, seconds}
	}
	return limits, nil
}

func (s *Server) applyOutputLimits() error {
	limits, err := parseOutputLimits(s.params.outputBufferLimit.Get())
	if err != nil {
		return err
	}
	normal := limits["normal"]
	for _, bytes := range []*int64{&normal.hardBytes, &normal.softBytes} {
		if *bytes != 0 {
			*bytes = max(*bytes, outputBytesMin)
		}
	}
	s.params.normalOutput.Store(&normal)
	return nil
}

// limitOutput makes the writer stop at the hard limit, so that it also bounds a reply while it is made: an MGET or an
// EXEC may be beyond it by gigabytes. What runs goes on without a reply.
func (c *client) limitOutput() {
	c.over, c.bytesMax = false, 0
	if hard := c.s.params.normalOutput.Load().hardBytes; hard > 0 {
		c.bytesMax = int(max(hard-int64(c.conn.OutputBytes()), 1))
	}
}

// overHardLimit tells whether the replies waiting for c, with those of the batch just run, are beyond the limit.
func (c *client) overHardLimit() bool {
	hard := c.s.params.normalOutput.Load().hardBytes
	return c.over || hard > 0 && int64(len(c.buf)+c.conn.OutputBytes()) > hard
}

// closeSlow closes clients whose waiting replies stayed above the soft limit for too long. It runs under the
// gate.
func (s *Server) closeSlow(now time.Time) {
	limit := s.params.normalOutput.Load()
	if limit.softBytes == 0 {
		return
	}
	for _, c := range s.clients.all() {
		if int64(c.conn.OutputBytes()) <= limit.softBytes {
			c.slowSince = time.Time{}
			continue
		}
		if c.slowSince.IsZero() {
			c.slowSince = now
		}
		if now.Sub(c.slowSince) > time.Duration(limit.softSeconds)*time.Second {
			s.cutOff(c)
		}
	}
}

// cutOff closes a client that does not take its replies.
func (s *Server) cutOff(c *client) {
	s.log.Warn("closing client for overcoming of output buffer limits", "client", c.describe())
	s.counters.outputDisconnects.Add(1)
	c.conn.Close(false)
}
