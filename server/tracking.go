package server

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/redcon"

	"kvserver/config"
	"kvserver/server/tracking"
)

// Client-side caching: clients keep what they have read, and are told when it changes. See docs/client-side-caching.md.
//
// A read is noted in the table while the shard of its key is locked, and a write tells of its key while that is locked for
// writing: a client that is noted has read the old value, and is told. Whose loop it is that tells, the message is posted, so
// it follows the replies that are being made at that moment, that of the read among them. Messages that a client causes
// itself follow the reply of its command. What those hear who track by prefix is gathered in the slot, and posted before the
// replies of the batch are written.

// caching is what the server knows of clients that cache.
type caching struct {
	on       bool // views tell of changes. It changes only under the gate.
	table    *tracking.Table
	prefixes tracking.Prefixes

	mu sync.Mutex
	// mu guards the following, and what sessions note for it (client.hearing, client.invalidatedBytes). While it is held
	// only connections are posted to and the registry is asked.
	byID    map[int64]*cacher
	message []byte // being sent
}

// cacher is a client that tracks keys. But for broken it changes only under the gate, or goes away with its client.
type cacher struct {
	client   *client
	bcast    bool
	optin    bool
	optout   bool
	noloop   bool
	redirect int64    // id of the client that is told instead; 0: none
	prefixes []string // with bcast, ascending
	bytes    int64    // that the prefixes take, about
	broken   bool     // guarded by caching.mu: the client that was to be told is gone
}

// prefixBytes is what a prefix of one client takes besides its text, about: its place in the client's list and in the table,
// and a map of the clients.
const prefixBytes = 176

// heldBytes is what the prefixes of a client take, about; it is nil unless the client tracks keys.
func (k *cacher) heldBytes() int64 {
	if k == nil {
		return 0
	}
	return k.bytes
}

// hearing is what kind of messages a client understands.
type hearing uint8

const (
	hearsReplies  hearing = iota // RESP2
	hearsMessages                // RESP2 in subscribe mode
	hearsPushes                  // RESP3
)

// invalidateChannel is the channel by which clients of RESP2 are told.
const invalidateChannel = "__redis__:invalidate"

func (p *Parameters) registerCaching(r *config.Registry) {
	p.trackingKeysMax = r.Int("tracking-table-max-keys", 1000000, 0, math.MaxInt64,
		config.Doc("keys that clients with CLIENT TRACKING are remembered to have read; beyond it clients are told to forget some; 0: no limit"))
}

func (s *Server) newCaching() {
	s.caching.byID = map[int64]*cacher{}
	s.caching.table = tracking.NewTable(s.caching.knows)
}

// knows tells whether a client tracks keys.
func (t *caching) knows(id int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id] != nil
}

// count is the number of clients that track keys.
func (t *caching) count() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return int64(len(t.byID))
}

// startTracking makes c, which may do so already, track keys as k says. The gate is closed.
func (c *client) startTracking(k *cacher) {
	t := &c.s.caching
	for _, prefix := range k.prefixes {
		t.prefixes.Add(prefix, c.id)
	}
	if old := c.cacher; old != nil && old.bcast {
		k.prefixes = append(k.prefixes, old.prefixes...)
	}
	slices.Sort(k.prefixes)
	k.prefixes = slices.Compact(k.prefixes)
	for _, prefix := range k.prefixes {
		k.bytes += prefixBytes + int64(len(prefix))
	}
	t.mu.Lock()
	t.byID[c.id] = k
	t.mu.Unlock()
	c.cacher = k
	if !t.on {
		t.on = true
		c.s.observeKeys()
	}
}

// stopTracking is for who holds the gate, or for a client that is gone. What the table says of the client stays.
func (c *client) stopTracking() {
	k, t := c.cacher, &c.s.caching
	if k == nil {
		return
	}
	for _, prefix := range k.prefixes {
		t.prefixes.Remove(prefix, c.id)
	}
	t.mu.Lock()
	delete(t.byID, c.id)
	t.mu.Unlock()
	c.cacher, c.cachingGiven = nil, false
}

// restCaching ends the cost of tracking when no client tracks any more, and brings the table back to its limit.
func (s *Server) restCaching(sl *slot) {
	t := &s.caching
	s.gate.enter(sl)
	idle := t.on && t.count() == 0
	if !idle {
		s.trimTracked(sl, trimmedPerBeat)
	}
	sl.mu.Unlock()
	if !idle {
		return
	}
	s.gate.exclusive(nil, func() {
		if t.on && t.count() == 0 {
			t.on = false
			s.observeKeys()
			t.table.Clear()
		}
	})
}

// noteHearing notes what kind of messages c understands, for those who send some.
func (c *client) noteHearing() {
	h := hearsReplies
	switch {
	case c.resp3:
		h = hearsPushes
	case c.subscribed():
		h = hearsMessages
	}
	c.s.caching.mu.Lock()
	defer c.s.caching.mu.Unlock()
	c.hearing = h
}

// heardBytes is how many bytes of messages about keys c was sent.
func (c *client) heardBytes() int64 {
	c.s.caching.mu.Lock()
	defer c.s.caching.mu.Unlock()
	return c.invalidatedBytes
}

const (
	// trimmedPerRead is how many keys a read may remove from a table that is too large, as in Redis. It is about 20 µs.
	trimmedPerRead = 100
	// trimmedPerBeat is the periodic work's share, should the limit have become smaller.
	trimmedPerBeat = 20000
)

// remember notes that c has read the keys of a command that was run. It is called under their locks.
func (c *client) remember(cmd *command, args [][]byte) {
	k := c.cacher
	if k.bcast || k.optin && !c.cachingGiven || k.optout && c.cachingGiven || cmd.flags&runsScripts != 0 {
		return
	}
	table, first := c.s.caching.table, false
	if cmd.oneKey {
		first = table.Add(args[1], c.id)
	} else if cmd.keys != nil {
		keys := cmd.appendKeys(c.slot.keys[:0], args)
		for _, key := range keys {
			first = table.Add(key, c.id) || first
		}
		clear(keys)
		c.slot.keys = keys[:0]
	}
	if first {
		c.s.trimTracked(c.slot, trimmedPerRead)
	}
}

// trimTracked removes keys from the table while it is too large, but not more than a number of them, and tells their clients.
func (s *Server) trimTracked(sl *slot, keysMax int) {
	limit, table := s.params.trackingKeysMax.Get(), s.caching.table
	if limit == 0 {
		return
	}
	var name []byte
	var ids []int64
	for ; keysMax > 0 && table.Keys() > limit; keysMax-- {
		name, ids, _ = table.TakeAny(name[:0], ids[:0])
		for _, id := range ids {
			sl.observer.invalidate(id, name, true)
		}
	}
}

// endCaching forgets CLIENT CACHING, which is for one command or one transaction. Only other commands of CLIENT may come in
// between.
func (c *client) endCaching() {
	if c.multi == nil && (c.cmd == nil || c.cmd.name != "client" && (c.cmd.parent == nil || c.cmd.parent.name != "client")) {
		c.cachingGiven = false
	}
}

// changed tells those who have read a key that it has changed. It is called under the lock of the key.
func (o *observer) changed(key []byte) {
	t := &o.s.caching
	if t.table.Keys() > 0 {
		o.ids = t.table.Take(key, o.ids[:0])
		for _, id := range o.ids {
			o.invalidate(id, key, false)
		}
	}
	if t.prefixes.Len() > 0 {
		o.gather(key)
	}
}

// invalidate tells a client that had a key noted, if it still wants to hear, that the key has changed, or that it is not
// noted any more, which NOLOOP does not keep from it.
func (o *observer) invalidate(id int64, key []byte, forgotten bool) {
	t := &o.s.caching
	t.mu.Lock()
	k := t.byID[id]
	if k == nil || k.bcast || k.noloop && !forgotten && k.client == o.slot.client {
		t.mu.Unlock()
		return
	}
	o.text = redcon.AppendBulk(redcon.AppendArray(o.text[:0], 1), key)
	slow := o.tellLocked(k, o.text)
	t.mu.Unlock()
	o.cutOff(slow)
	if cap(o.text) > keptMessageBytes {
		o.text = nil
	}
}

// invalidateAll tells all clients that track keys to forget everything.
func (o *observer) invalidateAll() {
	t := &o.s.caching
	var slow []*client
	t.mu.Lock()
	for _, k := range t.byID {
		slow = append(slow, o.tellLocked(k, nil))
	}
	t.mu.Unlock()
	for _, c := range slow {
		o.cutOff(c)
	}
	t.table.Clear()
}

// tellLocked sends keys, an array as it is encoded, to a client that tracks them, or to whom that redirects them; nil tells
// of all keys. It returns the client if that does not take what it is sent. caching.mu must be held.
func (o *observer) tellLocked(k *cacher, keys []byte) (slow *client) {
	t, to := &o.s.caching, k.client
	if k.redirect != 0 {
		if to = o.s.clients.find(k.redirect); to == nil {
			k.broken = true
			if k.client.hearing != hearsPushes {
				return nil
			}
			t.message = redcon.AppendBulkString(append(t.message[:0], ">2\r\n"...), "tracking-redir-broken")
			t.message = redcon.AppendInt(t.message, k.redirect)
			return o.postLocked(k.client, t.message)
		}
	}
	null := "$-1\r\n"
	switch {
	case to.hearing == hearsPushes:
		t.message = redcon.AppendBulkString(append(t.message[:0], ">2\r\n"...), "invalidate")
		null = "_\r\n"
	case k.redirect != 0 && to.hearing == hearsMessages:
		t.message = redcon.AppendBulkString(append(t.message[:0], "*3\r\n"...), "message")
		t.message = redcon.AppendBulkString(t.message, invalidateChannel)
	default: // it can be told nothing between its replies
		return nil
	}
	if keys == nil {
		t.message = append(t.message, null...)
	} else {
		t.message = append(t.message, keys...)
	}
	slow = o.postLocked(to, t.message)
	if cap(t.message) > keptMessageBytes {
		t.message = nil
	}
	return slow
}

// postLocked sends a message, after its reply to the client whose command is being run.
func (o *observer) postLocked(to *client, message []byte) (slow *client) {
	if to == o.slot.client {
		to.pushOwn(message)
		return nil
	}
	to.conn.Post(message)
	to.invalidatedBytes += int64(len(message))
	o.slot.stats.outBytes += int64(len(message))
	limits := o.s.params.outputLimits.Load()
	hardBytes := limits.normal.hardBytes
	if to.hearing == hearsMessages {
		hardBytes = limits.pubsub.hardBytes
	}
	if hardBytes > 0 && int64(to.conn.OutputBytes()) > hardBytes {
		return to
	}
	return nil
}

// cutOff closes a client, or nil, that does not take what it is sent.
func (o *observer) cutOff(slow *client) {
	if slow != nil {
		o.s.cutOff(slow)
	}
}

// gathered are the keys that a slot has changed, for those who track by prefix.
type gathered struct {
	names []byte
	keys  []gatheredKey
}

// gatheredKey is the end of a name in the names, and the id of the client that changed the key.
type gatheredKey struct {
	end int
	by  int64
}

// gatheredBytesMax is how much is gathered before it is told of, and the largest buffer that is kept.
const gatheredBytesMax = 32 << 10

func (o *observer) gather(key []byte) {
	g, by := &o.gathered, int64(0)
	if o.slot.client != nil {
		by = o.slot.client.id
	}
	g.names = append(g.names, key...)
	g.keys = append(g.keys, gatheredKey{len(g.names), by})
	if len(g.names)+len(g.keys)*16 >= gatheredBytesMax {
		o.broadcast()
	}
}

// broadcast tells of what was gathered.
func (o *observer) broadcast() {
	g, t := &o.gathered, &o.s.caching
	changes := make([]tracking.Change, len(g.keys))
	from := 0
	for i, k := range g.keys {
		changes[i] = tracking.Change{Key: g.names[from:k.end], By: k.by}
		from = k.end
	}
	for _, b := range t.prefixes.Match(changes) {
		all := appendChanged(nil, b.Changes, 0)
		for _, id := range b.Clients {
			t.mu.Lock()
			var slow *client
			if k := t.byID[id]; k != nil {
				keys := all
				if k.noloop {
					keys = appendChanged(nil, b.Changes, id)
				}
				if keys != nil {
					slow = o.tellLocked(k, keys)
				}
			}
			t.mu.Unlock()
			o.cutOff(slow)
		}
	}
	g.names, g.keys = g.names[:0], g.keys[:0]
	if cap(g.names) > gatheredBytesMax {
		g.names = nil
	}
}

// appendChanged encodes the keys of changes but those by a client, or returns nil if there is none.
func appendChanged(dst []byte, changes []tracking.Change, but int64) []byte {
	n := 0
	for _, c := range changes {
		if but == 0 || c.By != but {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	dst = redcon.AppendArray(dst, n)
	for _, c := range changes {
		if but == 0 || c.By != but {
			dst = redcon.AppendBulk(dst, c.Key)
		}
	}
	return dst
}

// tellChanges posts what the slot has gathered for those who track by prefix. The slot's own messages follow the replies.
func (sl *slot) tellChanges() {
	if len(sl.observer.gathered.keys) > 0 {
		sl.observer.broadcast()
	}
}

// parseTracking reads the options of CLIENT TRACKING; failure is what is wrong with them.
func (c *client) parseTracking(options [][]byte) (k *cacher, failure string) {
	k = &cacher{client: c}
	for i := 0; i < len(options); i++ {
		more := i+1 < len(options)
		switch opt := options[i]; {
		case bytes.EqualFold(opt, []byte("REDIRECT")) && more:
			i++
			if k.redirect != 0 {
				return nil, "ERR A client can only redirect to a single other client"
			}
			id, ok := parseInt(options[i])
			if !ok {
				return nil, errNotInteger
			}
			if c.s.clients.find(id) == nil {
				return nil, "ERR The client ID you want redirect to does not exist"
			}
			k.redirect = id
		case bytes.EqualFold(opt, []byte("BCAST")):
			k.bcast = true
		case bytes.EqualFold(opt, []byte("OPTIN")):
			k.optin = true
		case bytes.EqualFold(opt, []byte("OPTOUT")):
			k.optout = true
		case bytes.EqualFold(opt, []byte("NOLOOP")):
			k.noloop = true
		case bytes.EqualFold(opt, []byte("PREFIX")) && more:
			i++
			k.prefixes = append(k.prefixes, string(options[i]))
		default:
			return nil, errSyntax
		}
	}
	return k, ""
}

// refuse tells why options contradict each other, or the state of the client.
func (k *cacher) refuse() (failure string) {
	old := k.client.cacher
	switch {
	case !k.bcast && len(k.prefixes) > 0:
		return "ERR PREFIX option requires BCAST mode to be enabled"
	case old != nil && old.bcast != k.bcast:
		return "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode."
	case k.bcast && (k.optin || k.optout):
		return "ERR OPTIN and OPTOUT are not compatible with BCAST"
	case k.optin && k.optout:
		return "ERR You can't specify both OPTIN mode and OPTOUT mode"
	case old != nil && (k.optin && old.optout || k.optout && old.optin):
		return "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode."
	case !k.bcast:
		return ""
	}
	return k.overlap()
}

// overlap tells of the first new prefix by which the client would hear of a key twice. Which prefixes have such a partner is
// found in the order of all: there one follows the longest that it begins with, with none but others of that in between.
func (k *cacher) overlap() (failure string) {
	type named struct {
		prefix string
		place  int // among the new ones; -1: an old one
	}
	var all []named
	var old []string
	if k.client.cacher != nil {
		old = k.client.cacher.prefixes
	}
	for _, prefix := range old {
		all = append(all, named{prefix, -1})
	}
	for i, prefix := range k.prefixes {
		all = append(all, named{prefix, i})
	}
	slices.SortFunc(all, func(a, b named) int { return cmp.Compare(a.prefix, b.prefix) })
	first := len(k.prefixes)
	note := func(n named) {
		if n.place >= 0 {
			first = min(first, n.place)
		}
	}
	var open []named // each begins with the one before
	for _, n := range all {
		for len(open) > 0 && !strings.HasPrefix(n.prefix, open[len(open)-1].prefix) {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			note(n)
			note(open[len(open)-1])
		}
		open = append(open, n)
	}
	if first == len(k.prefixes) {
		return ""
	}
	overlaps := func(other string) bool {
		return strings.HasPrefix(other, k.prefixes[first]) || strings.HasPrefix(k.prefixes[first], other)
	}
	if i := slices.IndexFunc(old, overlaps); i >= 0 {
		return fmt.Sprintf(errPrefixOverlaps, k.prefixes[first], "an existing", old[i])
	}
	i := slices.IndexFunc(k.prefixes[first+1:], overlaps)
	return fmt.Sprintf(errPrefixOverlaps, k.prefixes[first], "another provided", k.prefixes[first+1+i])
}

const errPrefixOverlaps = "ERR Prefix '%s' overlaps with %s prefix '%s'. Prefixes for a single client must not overlap."

func clientTracking(c *client, args [][]byte) {
	k, failure := c.parseTracking(args[3:])
	if failure != "" {
		c.fail(failure)
		return
	}
	switch status := args[2]; {
	case bytes.EqualFold(status, []byte("OFF")):
		c.stopTracking()
	case !bytes.EqualFold(status, []byte("ON")):
		c.fail(errSyntax)
		return
	default:
		if failure := k.refuse(); failure != "" {
			c.fail(failure)
			return
		}
		if k.bcast && len(k.prefixes) == 0 {
			k.prefixes = []string{""}
		}
		c.startTracking(k)
	}
	c.ok()
}

func clientCaching(c *client, args [][]byte) {
	k := c.cacher
	if k == nil {
		c.fail("ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled")
		return
	}
	switch mode := args[2]; {
	case bytes.EqualFold(mode, []byte("YES")) && !k.optin:
		c.fail("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.")
		return
	case bytes.EqualFold(mode, []byte("NO")) && !k.optout:
		c.fail("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.")
		return
	case !bytes.EqualFold(mode, []byte("YES")) && !bytes.EqualFold(mode, []byte("NO")):
		c.fail(errSyntax)
		return
	}
	c.cachingGiven = true
	c.ok()
}

// redirection is the id of the client that is told instead of c, 0 if c is told, and -1 if it does not track keys.
func (c *client) redirection() int64 {
	if c.cacher == nil {
		return -1
	}
	return c.cacher.redirect
}

// redirectionBroken tells whether the client that was to be told instead of c was found to be gone.
func (c *client) redirectionBroken() bool {
	if c.cacher == nil {
		return false
	}
	c.s.caching.mu.Lock()
	defer c.s.caching.mu.Unlock()
	return c.cacher.broken
}

func clientGetRedir(c *client, _ [][]byte) { c.int(c.redirection()) }

func clientTrackingInfo(c *client, _ [][]byte) {
	flags, k := []string{"off"}, &cacher{}
	if c.cacher != nil {
		flags[0], k = "on", c.cacher
	}
	for _, f := range []struct {
		name string
		on   bool
	}{
		{"bcast", k.bcast},
		{"optin", k.optin},
		{"caching-yes", k.optin && c.cachingGiven},
		{"optout", k.optout},
		{"caching-no", k.optout && c.cachingGiven},
		{"noloop", k.noloop},
		{"broken_redirect", c.redirectionBroken()},
	} {
		if f.on {
			flags = append(flags, f.name)
		}
	}
	c.mapping(3)
	c.bulkString("flags")
	c.set(len(flags))
	for _, f := range flags {
		c.bulkString(f)
	}
	c.bulkString("redirect")
	c.int(c.redirection())
	c.bulkString("prefixes")
	c.array(len(k.prefixes))
	for _, prefix := range k.prefixes {
		c.bulkString(prefix)
	}
}
