package server

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// clientTypes are the words for kinds of clients. No session is of those in between as yet.
var clientTypes = []string{typeNormal, "master", "slave", "replica", typePubsub}

const (
	typeNormal = "normal"
	typePubsub = "pubsub"
)

// isOfType tells whether c is of the kind that a valid word names.
func (c *client) isOfType(word string) bool {
	if c.subscribed() {
		return strings.EqualFold(word, typePubsub)
	}
	return strings.EqualFold(word, typeNormal)
}

// clientTest is one condition on a client.
type clientTest func(c *client, now time.Time) bool

// clientFilter is what CLIENT LIST and CLIENT KILL select by. Redis has options for KILL, and TYPE or ID alone for LIST;
// Valkey has the same ones for both, with more of them, and the opposites of most. All are taken here.
type clientFilter struct {
	ids   []int64               // candidates, in the order given; nil: everybody
	tests map[string]clientTest // by option, of which the last of a kind wins; all must hold
	skip  *client
}

// selected returns the clients that pass. The caller holds the gate.
func (f *clientFilter) selected(s *Server, now time.Time) (list []*client) {
	if f.ids == nil {
		list = s.clients.all()
	}
	for _, id := range f.ids {
		if c := s.clients.find(id); c != nil {
			list = append(list, c)
		}
	}
	return slices.DeleteFunc(list, func(c *client) bool { return c == f.skip || !f.passes(c, now) })
}

func (f *clientFilter) passes(c *client, now time.Time) bool {
	for _, test := range f.tests {
		if !test(c, now) {
			return false
		}
	}
	return true
}

// filterOption makes the test of an option of its value, or returns the error to answer with.
type filterOption func(s *Server, value []byte) (test clientTest, failure string)

// filterOptions are those with one value that can be turned around by NOT-.
var filterOptions = map[string]filterOption{
	"type":     typeFilter,
	"user":     userFilter,
	"flags":    flagsFilter,
	"capa":     capaFilter,
	"db":       dbFilter,
	"addr":     textFilter(func(c *client) string { return c.conn.RemoteAddr() }),
	"laddr":    textFilter(func(c *client) string { return c.conn.LocalAddr() }),
	"ip":       textFilter(func(c *client) string { return ipOf(c.conn.RemoteAddr()) }),
	"name":     textFilter(func(c *client) string { return c.name }),
	"lib-name": textFilter(func(c *client) string { return c.libName }),
	"lib-ver":  textFilter(func(c *client) string { return c.libVersion }),
}

// onlyOptions are those with one value that cannot.
var onlyOptions = map[string]filterOption{
	"maxage": secondsFilter("maxage", func(c *client, now time.Time) int64 { return c.ageSec(now) }),
	"idle":   secondsFilter("idle", func(c *client, now time.Time) int64 { return c.idleSec(now) }),
}

// optionOf finds an option by its name in small letters.
func optionOf(name string) (option filterOption, opposite bool) {
	if option = onlyOptions[name]; option != nil {
		return option, false
	}
	name, opposite = strings.CutPrefix(name, "not-")
	return filterOptions[name], opposite
}

// isFilterWord tells whether a word is the name of an option.
func isFilterWord(name string) bool {
	option, _ := optionOf(name)
	return option != nil || name == "id" || name == "not-id" || name == "skipme"
}

func optionName(arg []byte) string { return strings.ToLower(string(clip(arg, nameBytesMax))) }

// clientFilter reads the options in args. It returns the error to answer with, if any. What should be an id and is none is
// answered as Redis does, which takes any number for one in LIST and not in KILL.
func (c *client) clientFilter(args [][]byte, kills bool) (f *clientFilter, failure string) {
	f = &clientFilter{tests: make(map[string]clientTest)}
	if kills {
		f.skip = c
	}
	for len(args) > 0 && failure == "" {
		name := optionName(args[0])
		if len(args) == 1 {
			return nil, errSyntax
		}
		if name == "id" || name == "not-id" {
			args, failure = f.readIDs(name, args[1:], kills)
			continue
		}
		failure = f.read(c, name, args[1])
		args = args[2:]
	}
	return f, failure
}

// read reads an option with one value.
func (f *clientFilter) read(c *client, name string, value []byte) (failure string) {
	if name == "skipme" {
		switch optionName(value) {
		case "yes":
			f.skip = c
		case "no":
			f.skip = nil
		default:
			return errSyntax
		}
		return ""
	}
	option, opposite := optionOf(name)
	if option == nil {
		return errSyntax
	}
	test, failure := option(c.s, value)
	if failure != "" {
		return failure
	}
	if opposite {
		f.tests[name] = func(c *client, now time.Time) bool { return !test(c, now) }
	} else {
		f.tests[name] = test
	}
	return ""
}

// readIDs reads the ids after ID or NOT-ID, at least one, and returns what follows them.
func (f *clientFilter) readIDs(name string, args [][]byte, kills bool) (rest [][]byte, failure string) {
	bad := "ERR Invalid client ID"
	if kills {
		bad = "ERR client-id should be greater than 0"
	}
	var ids []int64
	for ; len(args) > 0; args = args[1:] {
		id, ok := parseInt(args[0])
		if !ok {
			break
		}
		if kills && id < 1 {
			return nil, bad
		}
		ids = append(ids, id)
	}
	if ids == nil || !kills && len(args) > 0 && !isFilterWord(optionName(args[0])) {
		return nil, bad
	}
	if name == "id" {
		f.ids = ids
	} else {
		f.tests[name] = func(c *client, _ time.Time) bool { return !slices.Contains(ids, c.id) }
	}
	return args, ""
}

func typeFilter(_ *Server, value []byte) (clientTest, string) {
	word := string(value)
	if !slices.Contains(clientTypes, strings.ToLower(word)) {
		return nil, fmt.Sprintf("ERR Unknown client type '%s'", clip(value, 128))
	}
	return func(c *client, _ time.Time) bool { return c.isOfType(word) }, ""
}

func userFilter(s *Server, value []byte) (clientTest, string) {
	u := s.accounts.users[string(value)]
	if u == nil {
		return nil, fmt.Sprintf("ERR No such user '%s'", clip(value, 128))
	}
	return func(c *client, _ time.Time) bool { return c.user == u }, ""
}

// flagsFilter wants all of the letters that CLIENT LIST shows.
func flagsFilter(_ *Server, value []byte) (clientTest, string) {
	for _, letter := range value {
		if !strings.ContainsRune(allFlagLetters, rune(letter)) {
			return nil, fmt.Sprintf("ERR Unknown flags found in the provided filter: %s", clip(value, 128))
		}
	}
	letters := string(value)
	return func(c *client, _ time.Time) bool { return hasAll(c.flagLetters(), letters) }, ""
}

func capaFilter(_ *Server, value []byte) (clientTest, string) {
	if strings.Trim(string(value), "r") != "" {
		return nil, fmt.Sprintf("ERR Unknown capa found in the provided filter: %s", clip(value, 128))
	}
	letters := string(value)
	return func(c *client, _ time.Time) bool { return hasAll(c.capaLetters(), letters) }, ""
}

func hasAll(have, letters string) bool {
	for _, letter := range letters {
		if !strings.ContainsRune(have, letter) {
			return false
		}
	}
	return true
}

func dbFilter(s *Server, value []byte) (clientTest, string) {
	last := s.params.databases.Get() - 1
	switch db, ok := parseInt(value); {
	case !ok:
		return nil, "ERR DB is not an integer or out of range"
	case db < 0 || db > last:
		return nil, "ERR DB number should be between 0 and " + strconv.FormatInt(last, 10)
	default:
		return func(c *client, _ time.Time) bool { return int64(c.db) == db }, ""
	}
}

func textFilter(of func(c *client) string) filterOption {
	return func(_ *Server, value []byte) (clientTest, string) {
		text := string(value)
		return func(c *client, _ time.Time) bool { return of(c) == text }, ""
	}
}

// secondsFilter selects those of whom a number of seconds is at least the value.
func secondsFilter(name string, of func(c *client, now time.Time) int64) filterOption {
	return func(_ *Server, value []byte) (clientTest, string) {
		switch seconds, ok := parseInt(value); {
		case !ok:
			return nil, "ERR " + name + " is not an integer or out of range"
		case seconds < 1:
			return nil, "ERR " + name + " should be greater than 0"
		default:
			return func(c *client, now time.Time) bool { return of(c, now) >= seconds }, ""
		}
	}
}

// ipOf is an address without its port and without the brackets of IPv6; what is before ":0" of a Unix socket's.
func ipOf(addr string) string {
	return strings.Trim(addr[:max(strings.LastIndexByte(addr, ':'), 0)], "[]")
}

// clientKill has an old form, with one address, and a new one, with options.
func clientKill(c *client, args [][]byte) {
	if len(args) == 3 {
		addr, _ := filterOptions["addr"](c.s, args[2])
		if c.killSelected(&clientFilter{tests: map[string]clientTest{"addr": addr}}) == 0 {
			c.fail("ERR No such client")
			return
		}
		c.ok()
		return
	}
	f, failure := c.clientFilter(args[2:], true)
	if failure != "" {
		c.fail(failure)
		return
	}
	slices.Sort(f.ids)
	f.ids = slices.Compact(f.ids)
	c.int(c.killSelected(f))
}

// killSelected closes the clients that f selects and returns their number; c itself, if it is one of them, after
// it has its reply. The caller holds the gate.
func (c *client) killSelected(f *clientFilter) (killed int64) {
	for _, other := range f.selected(c.s, c.slot.clock.now()) {
		killed++
		if other == c {
			c.closeAfterReply()
		} else {
			other.kill()
		}
	}
	return killed
}

// kill ends c from another session: it is gone from the registry at once and runs nothing more, also of what it
// has sent already. The caller holds the gate.
func (c *client) kill() {
	c.closed = true
	c.leaveChannels()
	c.leaveMonitors()
	c.s.clients.remove(c)
	c.conn.Close(false)
}
