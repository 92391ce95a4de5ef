package server

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
)

// MONITOR shows a client every command that others run. The lines of a batch are gathered in the slot and posted together,
// before the replies of the batch are written, so that whoever saw the effect of a command finds its line before those of
// his own commands. A client that does not take its lines is cut off by client-output-buffer-limit normal, as in Redis,
// which has no limit by default.

var monitorRows = []row{
	{"monitor", 1, admin | noscript | loading | stale | exclusive, nil, "1.0.0", "Listens for all requests received by the server in real-time.", monitor},
}

var monitorDocs = map[string]doc{"monitor": {complexity: "O(1); each command costs O(N) more, where N is the number of monitoring clients."}}

// errKeysWhileMonitoring is what Redis says to replicas and, since it takes them for such, to monitors.
const errKeysWhileMonitoring = "ERR Replica can't interact with the keyspace"

// monitors are the clients that monitor.
type monitors struct {
	list atomic.Pointer[[]*client] // nil: none. What it points to is not changed.

	mu sync.Mutex // held while list is replaced
}

// any tells whether somebody monitors. It costs a load.
func (m *monitors) any() bool { return m.list.Load() != nil }

func (m *monitors) add(c *client) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []*client{c}
	if old := m.list.Load(); old != nil {
		list = append(list, *old...)
	}
	m.list.Store(&list)
}

// remove reports whether c was there.
func (m *monitors) remove(c *client) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.list.Load()
	if old == nil || !slices.Contains(*old, c) {
		return false
	}
	list := slices.DeleteFunc(slices.Clone(*old), func(other *client) bool { return other == c })
	if m.list.Store(&list); len(list) == 0 {
		m.list.Store(nil)
	}
	return true
}

// monitor runs under the gate, so that from its reply on nothing is missed.
func monitor(c *client, _ [][]byte) {
	switch {
	case c.inExec:
		c.fail("ERR MONITOR isn't allowed for DENY BLOCKING client")
	case c.monitoring: // which is no fault and has no reply
	default:
		c.monitoring = true
		c.s.observe.monitors.add(c)
		c.s.lookAtAll()
		c.ok()
	}
}

// stopMonitoring ends what MONITOR began. It closes the gate, and lines that are on their way come first, so that none
// follows the reply.
func (c *client) stopMonitoring() {
	if c.monitoring {
		c.underGate(c.leaveMonitors)
		c.claimMessages()
	}
}

// leaveMonitors is for a client that is gone, or for who holds the gate.
func (c *client) leaveMonitors() {
	if c.monitoring {
		c.monitoring = false
		c.s.observe.monitors.remove(c)
	}
}

// shownBytesMax is how much a slot gathers before it posts, and the largest buffer that it keeps.
const shownBytesMax = 32 << 10

// show adds the line of a command that was run to what monitors are told.
func (c *client) show(args [][]byte, secret []int) {
	b := c.slot.shown
	us := c.slot.clock.unixUs()
	b = strconv.AppendInt(append(b, '+'), us/1e6, 10)
	b = append(b, '.')
	for unit := int64(1e5); unit > 0; unit /= 10 {
		b = append(b, '0'+byte(us/unit%10))
	}
	b = strconv.AppendInt(append(b, " ["...), int64(c.db), 10)
	if b = append(b, ' '); c.inScript {
		b = append(b, "lua"...)
	} else if c.conn.Unix() {
		b = append(append(b, "unix:"...), c.s.params.unixSocket.Get()...)
	} else {
		b = append(b, c.conn.RemoteAddr()...)
	}
	b = append(b, ']')
	for i, a := range args {
		b = append(b, ' ')
		if slices.Contains(secret, i) {
			a = []byte(redacted)
		}
		b = appendQuoted(b, a)
	}
	c.slot.shown = append(b, "\r\n"...)
	if len(c.slot.shown) >= shownBytesMax {
		c.tellMonitors()
	}
}

// appendQuoted appends b as Redis quotes what may be anything.
func appendQuoted(dst, b []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, ch := range b {
		switch {
		case ch == '"' || ch == '\\':
			dst = append(dst, '\\', ch)
		case ch >= ' ' && ch <= '~':
			dst = append(dst, ch)
		case ch == '\n':
			dst = append(dst, `\n`...)
		case ch == '\r':
			dst = append(dst, `\r`...)
		case ch == '\t':
			dst = append(dst, `\t`...)
		case ch == '\a':
			dst = append(dst, `\a`...)
		case ch == '\b':
			dst = append(dst, `\b`...)
		default:
			dst = append(dst, '\\', 'x', hex[ch>>4], hex[ch&15])
		}
	}
	return append(dst, '"')
}

// tellMonitors posts what the slot has gathered.
func (c *client) tellMonitors() {
	shown, s := c.slot.shown, c.s
	if len(shown) == 0 {
		return
	}
	hardBytes := s.params.outputLimits.Load().normal.hardBytes
	if list := s.observe.monitors.list.Load(); list != nil {
		for _, m := range *list {
			m.conn.Post(shown)
			c.slot.stats.outBytes += int64(len(shown))
			if hardBytes > 0 && int64(m.conn.OutputBytes()) > hardBytes && s.observe.monitors.remove(m) {
				s.cutOff(m)
			}
		}
	}
	if c.slot.shown = shown[:0]; cap(shown) > 2*shownBytesMax {
		c.slot.shown = nil
	}
}
