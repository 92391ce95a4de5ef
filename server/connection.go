package server

import (
	"bytes"

	"kvserver/server/acl"
)

// connectionRows follow the order of Redis's documentation; CLIENT's subcommands stand in clients.go.
var connectionRows = []row{
	{"auth", -2, noscript | loading | stale | fast | noAuth | allowBusy, nil, "1.0.0", "Authenticates the connection.", auth},
	{"client", -2, 0, nil, "2.4.0", "A container for client connection commands.", nil},
	{"echo", 2, fast | loading | stale, nil, "1.0.0", "Returns the given string.", echo},
	{"hello", -1, noscript | loading | stale | fast | noAuth | allowBusy, nil, "6.0.0", "Handshakes with the Redis server.", hello},
	{"ping", -1, fast | whileSubscribed, nil, "1.0.0", "Returns the server's liveliness response.", ping},
	{"quit", -1, noscript | loading | stale | fast | noAuth | allowBusy | notQueued | whileSubscribed, nil, "1.0.0", "Closes the connection.", quit},
	{"reset", 1, noscript | loading | stale | fast | noAuth | allowBusy | notQueued | whileSubscribed, nil, "6.2.0", "Resets the connection.", reset},
	{"select", 2, loading | stale | fast, nil, "1.0.0", "Changes the selected database.", selectDB},
}

// ping answers in subscribe mode like a message, which is what clients read there.
func ping(c *client, args [][]byte) {
	switch {
	case len(args) > 2:
		c.fail(arityError(c.cmd))
	case c.inSubscribeMode():
		c.array(2)
		c.bulkString("pong")
		if len(args) == 2 {
			c.bulk(args[1])
		} else {
			c.bulk(nil)
		}
	case len(args) == 2:
		c.bulk(args[1])
	default:
		c.simple("PONG")
	}
}

func echo(c *client, args [][]byte) { c.bulk(args[1]) }

func quit(c *client, _ [][]byte) {
	c.stopMonitoring()
	c.ok()
	c.closeAfterReply()
}

// reset takes the connection back to how it began, MULTI, subscriptions, name, database and authentication included.
func reset(c *client, _ [][]byte) {
	c.discardMulti()
	c.stopMonitoring()
	if c.cacher != nil {
		c.underGate(c.stopTracking)
	}
	c.leaveChannels()
	c.claimMessages()
	c.speak(false)
	c.name, c.db = "", 0
	c.noTouch, c.noEvict, c.replyOff, c.skipNext = false, false, false, false
	c.importSource, c.redirects = false, false
	c.authed = !c.s.authRequired()
	c.user = c.s.accounts.initial
	c.simple("RESET")
}

func selectDB(c *client, args [][]byte) {
	if db, ok := c.dbIndex(args[1]); ok {
		c.db = db
		c.ok()
	}
}

func auth(c *client, args [][]byte) {
	for i := range args[1:] {
		c.redact(i + 1)
	}
	switch len(args) {
	case 2:
		if c.s.accounts.initial.AnyPassword() {
			c.fail("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
			return
		}
		c.authenticate(args, []byte(acl.DefaultName), args[1])
	case 3:
		c.authenticate(args, args[1], args[2])
	default:
		c.fail(errSyntax)
		return
	}
	if !c.failed {
		c.ok()
	}
}

// authenticate makes the client the user of a name, and answers only if the password is wrong, or there is no such user,
// which takes as long to find out. args are the command's.
func (c *client) authenticate(args [][]byte, name, password []byte) {
	u := c.s.accounts.users[string(name)]
	if u == nil {
		u = c.s.accounts.nobody
	}
	if !u.Authenticate(password) {
		c.noteDenied(deniedAuth, c.aclContext(), string(args[0]), string(name), args)
		c.fail(errWrongPass)
		return
	}
	c.authed = true
	c.user = u
}

// hello parses everything first: a handshake that fails half way changes nothing but, as in Redis, a
// successful AUTH.
func hello(c *client, args [][]byte) {
	c.redactCredentials(args)
	proto, i := int64(0), 1
	if len(args) > 1 {
		n, ok := parseInt(args[1])
		if !ok {
			c.fail("ERR Protocol version is not an integer or out of range")
			return
		}
		if n < 2 || n > 3 {
			c.fail("NOPROTO unsupported protocol version")
			return
		}
		proto, i = n, 2
	}
	var user, password, name []byte
	for ; i < len(args); i++ {
		more := len(args) - 1 - i
		switch opt := args[i]; {
		case bytes.EqualFold(opt, []byte("AUTH")) && more >= 2:
			user, password = args[i+1], args[i+2]
			i += 2
		case bytes.EqualFold(opt, []byte("SETNAME")) && more >= 1:
			name = args[i+1]
			if !validClientName(name) {
				c.fail(errClientName)
				return
			}
			i++
		default:
			c.failf("ERR Syntax error in HELLO option '%s'", opt)
			return
		}
	}
	if user != nil {
		if c.authenticate(args, user, password); c.failed {
			return
		}
	}
	if !c.authed && c.s.authRequired() {
		c.fail("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time")
		return
	}
	if name != nil {
		c.name = string(name)
	}
	if proto != 0 {
		c.speak(proto == 3)
	}
	c.helloReply()
}

// redactCredentials keeps what follows AUTH from being shown, also if HELLO is refused for something else.
func (c *client) redactCredentials(args [][]byte) {
	next := 0
	for i, opt := range args {
		if bytes.EqualFold(opt, []byte("AUTH")) {
			for next = max(next, i+1); next <= i+2 && next < len(args); next++ {
				c.redact(next)
			}
		}
	}
}

func (c *client) helloReply() {
	zone := c.s.params.availabilityZone.Get()
	if zone == "" {
		c.mapping(7)
	} else {
		c.mapping(8)
	}
	c.bulkString("server")
	c.bulkString("redis") // clients test for this name
	c.bulkString("version")
	c.bulkString(compatVersion)
	c.bulkString("proto")
	c.int(c.protocol())
	c.bulkString("id")
	c.int(c.id)
	c.bulkString("mode")
	c.bulkString("standalone")
	c.bulkString("role")
	c.bulkString("master")
	c.bulkString("modules")
	c.array(0)
	if zone != "" { // as in Valkey
		c.textField("availability_zone", zone)
	}
}

// protocol is the RESP version the client speaks.
func (c *client) protocol() int64 {
	if c.resp3 {
		return 3
	}
	return 2
}
