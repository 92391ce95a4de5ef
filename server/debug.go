package server

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"kvserver/config"
	"kvserver/glob"
)

// mayUseProtected tells whether enable-debug-command lets this client use a protected command, and refuses it if
// not.
func (c *client) mayUseProtected(cmd *command) bool {
	if c.isLetBy(c.s.params.enableDebugCommand.Get()) {
		return true
	}
	c.reject(cmd, fmt.Sprintf("ERR %s command not allowed. If the enable-debug-command option is set to \"local\", "+
		"you can run it from a local connection, otherwise you need to set this option in the configuration file, "+
		"and then restart the server.", strings.ToUpper(cmd.name)))
	return false
}

// isLetBy tells whether an enable-… parameter with this value lets the client through. What "local" means is where the
// connection comes from, not who speaks through it: a proxy on this machine is local.
func (c *client) isLetBy(value string) bool {
	return value == "yes" || value == "local" && (c.conn.Loopback() || c.conn.Unix())
}

// debugSubs have no rows of their own, as in Redis: arity counts DEBUG and the subcommand; negative, it is the least.
var debugSubs = map[string]struct {
	arity  int
	handle handler
}{
	"change-repl-id":             {2, debugNoEffect},
	"dict-resizing":              {3, debugNoEffect},
	"digest":                     {2, debugDigest},
	"digest-value":               {-2, debugDigestValue},
	"help":                       {2, debugHelp},
	"htstats":                    {-3, debugHTStats},
	"htstats-key":                {-3, debugHTStatsKey},
	"jmap":                       {2, debugNoEffect},
	"log":                        {3, debugLog},
	"object":                     {3, debugObject},
	"panic":                      {2, debugPanic},
	"pause-cron":                 {3, debugPauseCron},
	"protocol":                   {3, debugProtocol},
	"quicklist-packed-threshold": {3, debugPackedThreshold},
	"replybuffer":                {4, debugReplyBuffer},
	"set-active-expire":          {3, debugSetActiveExpire},
	"set-disable-deny-scripts":   {3, debugAllowInScripts},
	"sleep":                      {3, debugSleep},
	"stringmatch-len":            {4, debugStringMatch},
}

func debugCommand(c *client, args [][]byte) {
	sub, known := debugSubs[strings.ToLower(string(clip(args[1], nameBytesMax)))]
	if !known || len(args) != sub.arity && (sub.arity > 0 || len(args) < -sub.arity) {
		c.fail(subcommandSyntax(c.cmd, args[1]))
		return
	}
	sub.handle(c, args)
}

// debugNoEffect accepts what test suites say to servers that are made otherwise; HELP tells why it does nothing here. JMAP
// writes a heap histogram on servers on the JVM.
func debugNoEffect(c *client, _ [][]byte) { c.ok() }

func debugLog(c *client, args [][]byte) {
	c.s.log.Warn("DEBUG LOG", "message", string(args[2]))
	c.ok()
}

func debugAllowInScripts(c *client, args [][]byte) {
	n, _ := parseInt(args[2]) // not a number: 0
	c.s.scripts.letAll.Store(n != 0)
	c.ok()
}

func debugPauseCron(c *client, args [][]byte) {
	n, _ := parseInt(args[2]) // not a number: 0
	c.s.cronPaused.Store(n != 0)
	c.ok()
}

// packedThresholdMax is the greatest size that QUICKLIST-PACKED-THRESHOLD takes: 1 MiB less than 4 GiB.
const packedThresholdMax = 1<<32 - 1<<20

// debugPackedThreshold has no effect: elements beyond 1 KiB always have a node of their own here.
func debugPackedThreshold(c *client, args [][]byte) {
	if n, err := config.ParseSize(string(args[2])); err != nil || n < 0 || n > packedThresholdMax {
		c.fail("ERR argument must be a memory value bigger than 1 and smaller than 4gb")
		return
	}
	c.ok()
}

// debugReplyBuffer has no effect: buffers for replies belong to no client here.
func debugReplyBuffer(c *client, args [][]byte) {
	switch strings.ToLower(string(clip(args[2], nameBytesMax))) {
	case "resizing":
		c.ok()
	case "peak-reset-time":
		_, isTime := parseInt(args[3])
		if word := strings.ToLower(string(clip(args[3], nameBytesMax))); !isTime && word != "never" && word != "reset" {
			c.fail(errNotInteger)
			return
		}
		c.ok()
	default:
		c.fail(subcommandSyntax(c.cmd, args[1]))
	}
}

func debugStringMatch(c *client, args [][]byte) { c.flag(glob.Match(args[2], args[3])) }

// debugSleep keeps the gate closed meanwhile: nothing else runs, which is what it is for. It ends early when the
// server shuts down.
func debugSleep(c *client, args [][]byte) {
	seconds, err := strconv.ParseFloat(string(args[2]), 64)
	if err != nil || !(seconds > 0) {
		seconds = 0 // what strtod, which Redis reads it with, makes of it
	}
	timer := time.NewTimer(time.Duration(min(seconds*float64(time.Second), math.MaxInt64/2)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.s.stop:
	}
	c.ok()
}

func debugSetActiveExpire(c *client, args [][]byte) {
	n, _ := parseInt(args[2]) // not a number: 0
	c.s.activeExpire.Store(n != 0)
	c.ok()
}

// debugPanic is a fault on purpose: it shows that one is answered, logged and counted, and that the server goes on.
func debugPanic(*client, [][]byte) { panic("server: DEBUG PANIC") }

// protocolSamples answer with one reply of each type, so that a client library can be tested with all of them.
var protocolSamples = map[string]func(c *client){
	"string":  func(c *client) { c.bulkString("Hello World") },
	"integer": func(c *client) { c.int(12345) },
	"double":  func(c *client) { c.double(3.141) },
	"null":    func(c *client) { c.null() },
	"bignum": func(c *client) {
		n, _ := new(big.Int).SetString("1234567999999999999999999999999999999", 10)
		c.bigNumber(n)
	},
	"attrib": func(c *client) {
		if c.resp3 { // RESP2 has nothing like it
			c.attribute(1)
			c.bulkString("key-popularity")
			c.array(2)
			c.bulkString("key:123")
			c.int(90)
		}
		c.bulkString("Some real reply following the attribute")
	},
	"true":  func(c *client) { c.bool(true) },
	"false": func(c *client) { c.bool(false) },
	"verbatim": func(c *client) {
		c.verbatim("txt", "This is a verbatim\nstring")
	},
	"array": func(c *client) {
		c.array(3)
		c.countUpTo(3)
	},
	"set": func(c *client) {
		c.set(3)
		c.countUpTo(3)
	},
	"map": func(c *client) {
		c.mapping(3)
		for i := range int64(3) {
			c.int(i)
			c.bool(i == 1)
		}
	},
	"push": func(c *client) {
		c.push(2)
		c.bulkString("server-cpu-usage")
		c.int(42)
		c.bulkString("Some real reply following the push reply")
	},
}

func (c *client) countUpTo(n int64) {
	for i := range n {
		c.int(i)
	}
}

// debugProtocol refuses push messages in RESP2, which has no type to tell them from replies.
func debugProtocol(c *client, args [][]byte) {
	kind := strings.ToLower(string(args[2]))
	sample, known := protocolSamples[kind]
	switch {
	case !known:
		c.fail("ERR Wrong protocol type name. Please use one of the following: string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false")
	case kind == "push" && !c.resp3:
		c.fail("ERR RESP2 is not supported by this command")
	default:
		sample(c)
	}
}

// lruClockMask is the width of Redis's LRU clock, in seconds.
const lruClockMask = 1<<24 - 1

// debugObject names as the place of the value that of a copy: no client can do anything with it.
func debugObject(c *client, args [][]byte) {
	e := c.view.Peek(args[2])
	if !e.Exists() {
		c.fail(errNoKey)
		return
	}
	serialized := c.view.Serialized(e)
	c.simple(fmt.Sprintf("Value at:%p refcount:%d encoding:%s serializedlength:%d lru:%d lru_seconds_idle:%d", serialized,
		c.refCount(args[2]), e.Encoding(), len(serialized), e.AccessWord()&lruClockMask, c.view.IdleSeconds(e)))
}

func debugHelp(c *client, _ [][]byte) {
	c.help("debug",
		"CHANGE-REPL-ID",
		"    Do nothing: there is no replication, and so no id of it.",
		"DICT-RESIZING <0|1>",
		"    Do nothing: tables grow and shrink by small segments, which cannot be put off.",
		"DIGEST",
		"    Show the signature of all data, the same as Redis has for them.",
		"DIGEST-VALUE <key> [<key> ...]",
		"    Show the signatures of the values of the keys. This does not count as a use of them.",
		"HTSTATS <dbid> [full]",
		"    Describe the hash table of a database.",
		"HTSTATS-KEY <key> [full]",
		"    Describe the hash table of the value of <key>. This does not count as a use of it.",
		"JMAP",
		"    Do nothing.",
		"LOG <message>",
		"    Write <message> to the log.",
		"OBJECT <key>",
		"    Show how the value of <key> is kept. This does not count as a use of it.",
		"PANIC",
		"    Fail inside the server, to see that it goes on.",
		"PAUSE-CRON <0|1>",
		"    Stop, or begin again, the housekeeping: expiry of keys that nobody asks for, timeouts of clients, sampling, giving back memory.",
		"PROTOCOL <type>",
		"    Answer with a test value of the type: string, integer, double, bignum, null, array, set, map, attrib, push, verbatim, true, false.",
		"QUICKLIST-PACKED-THRESHOLD <size>",
		"    Do nothing: elements of lists longer than 1 KiB always have a node of their own.",
		"REPLYBUFFER PEAK-RESET-TIME <NEVER|RESET|time>",
		"    Do nothing: no client keeps a buffer for its replies.",
		"REPLYBUFFER RESIZING <0|1>",
		"    Do nothing, likewise.",
		"SET-ACTIVE-EXPIRE <0|1>",
		"    Stop, or begin again, to remove expired keys that nobody asks for.",
		"SET-DISABLE-DENY-SCRIPTS <0|1>",
		"    Let scripts call, or not, commands that they may not call. Those that belong to a connection stay out of reach.",
		"SLEEP <seconds>",
		"    Stop the server for <seconds>. Decimals allowed.",
		"STRINGMATCH-LEN <pattern> <string>",
		"    Tell whether <string> matches <pattern>, as KEYS does it.")
}
