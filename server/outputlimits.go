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

// outputLimits are those of the classes of clients that there are.
type outputLimits struct {
	normal, pubsub outputLimit
}

// Classes of clients in client-output-buffer-limit. There are no replicas yet; their limits are kept as given, so that a
// configuration written for later versions is not lost.
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
	class := &outputLimits{limits["normal"], limits["pubsub"]}
	for _, bytes := range []*int64{
		&class.normal.hardBytes, &class.normal.softBytes, &class.pubsub.hardBytes, &class.pubsub.softBytes,
	} {
		if *bytes != 0 {
			*bytes = max(*bytes, outputBytesMin)
		}
	}
	s.params.outputLimits.Store(class)
	return nil
}

// outputLimit is the one for the class of c.
func (c *client) outputLimit() *outputLimit {
	limits := c.s.params.outputLimits.Load()
	if c.subscribed() {
		return &limits.pubsub
	}
	return &limits.normal
}

// limitOutput makes the writer stop at the hard limit, so that it also bounds a reply while it is made: an MGET or an
// EXEC may be beyond it by gigabytes. What runs goes on without a reply.
func (c *client) limitOutput() {
	c.over, c.bytesMax = false, 0
	if hard := c.outputLimit().hardBytes; hard > 0 {
		c.bytesMax = int(max(hard-int64(c.conn.OutputBytes()), 1))
	}
}

// overHardLimit tells whether the replies waiting for c, with those of the batch just run, are beyond the limit.
func (c *client) overHardLimit() bool {
	hard := c.outputLimit().hardBytes
	return c.over || hard > 0 && int64(len(c.buf)+c.conn.OutputBytes()) > hard
}

// closeSlow closes clients whose waiting replies stayed above the soft limit for too long. It runs under the
// gate.
func (s *Server) closeSlow(now time.Time) {
	for _, c := range s.clients.all() {
		limit := c.outputLimit()
		if limit.softBytes == 0 || int64(c.conn.OutputBytes()) <= limit.softBytes {
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

// softLimited tells whether a client there may be that closeSlow has to look for.
func (s *Server) softLimited() bool {
	limits := s.params.outputLimits.Load()
	if limits.normal.softBytes != 0 {
		return true
	}
	_, subscribers := s.channels.counts()
	return limits.pubsub.softBytes != 0 && subscribers > 0
}

// cutOff closes a client that does not take its replies. Anybody may call it.
func (s *Server) cutOff(c *client) {
	s.log.Warn("closing client for overcoming of output buffer limits", "client", c.identify())
	s.counters.outputDisconnects.Add(1)
	c.conn.Close(false)
}
