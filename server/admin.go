package server

import (
	"bytes"
	"errors"
	"strings"

	"kvserver/config"
)

var serverRows = []row{
	{"command", -1, loading | stale | catConnection, nil, "2.8.13", "Returns detailed information about all commands.", commandAll},
	{"config", -2, 0, nil, "2.0.0", "A container for server configuration commands.", nil},
	{"dbsize", 1, readonly | fast | catKeyspace, nil, "1.0.0", "Returns the number of keys in the database.", dbsize},
	{"debug", -2, admin | noscript | loading | stale | protected | exclusive, nil, "1.0.0", "A container for debugging commands.", debugCommand},
	{"flushall", -1, write | exclusive | catKeyspace | catDangerous, nil, "1.0.0", "Removes all keys from all databases.", flushAll},
	{"flushdb", -1, write | exclusive | catKeyspace | catDangerous, nil, "1.0.0", "Remove all keys from the current database.", flushDB},
	{"info", -1, loading | stale | exclusive | catDangerous, nil, "1.0.0", "Returns information and statistics about the server.", infoCommand},
	{"lolwut", -1, readonly | fast, nil, "5.0.0", "Displays computer art and the Redis version", lolwut},
	{"memory", -2, 0, nil, "4.0.0", "A container for memory diagnostics commands.", nil},
	{"shutdown", -1, admin | noscript | loading | stale | noMulti | allowBusy, nil, "1.0.0", "Synchronously saves the database(s) to disk and shuts down the Redis server.", shutdown},
	{"swapdb", 3, write | fast | exclusive | catKeyspace | catDangerous, nil, "4.0.0", "Swaps two Redis databases.", swapDB},
	{"time", 1, loading | stale | fast, nil, "2.6.0", "Returns the server time.", timeCommand},
}

var configSubRows = []row{
	{"get", -3, admin | noscript | loading | stale, nil, "2.0.0", "Returns the effective values of configuration parameters.", configGet},
	{"help", 2, loading | stale, nil, "5.0.0", "Returns helpful text about the different subcommands.", configHelp},
	{"resetstat", 2, admin | noscript | loading | stale | exclusive, nil, "2.0.0", "Resets the server's statistics.", configResetStat},
	{"rewrite", 2, admin | noscript | loading | stale, nil, "2.8.0", "Persists the effective configuration to file.", configRewrite},
	{"set", -4, admin | noscript | loading | stale | exclusive, nil, "2.0.0", "Sets configuration parameters in-flight.", configSet},
}

func configGet(c *client, args [][]byte) {
	patterns := make([]string, 0, len(args)-2)
	for _, a := range args[2:] {
		patterns = append(patterns, string(a))
	}
	pairs := c.s.params.registry.Get(patterns...)
	c.mapping(len(pairs))
	for _, p := range pairs {
		c.bulkString(p[0])
		c.bulkString(p[1])
	}
}

// configSet runs under the gate, and with it every hook of a parameter.
func configSet(c *client, args [][]byte) {
	for i := 2; i+1 < len(args); i += 2 {
		if c.s.params.registry.Secret(string(args[i])) {
			c.redact(i + 1)
		}
	}
	if len(args)%2 != 0 {
		c.fail(errSyntax)
		return
	}
	pairs := make([][2]string, 0, len(args)/2-1)
	for i := 2; i < len(args); i += 2 {
		pairs = append(pairs, [2]string{string(args[i]), string(args[i+1])})
	}
	set := c.s.params.registry.Set
	if c.isLetBy(c.s.params.enableProtected.Get()) {
		set = c.s.params.registry.SetGuarded
	}
	if err := set(pairs...); err != nil {
		c.fail("ERR " + err.Error())
		return
	}
	for _, p := range pairs {
		name := strings.ToLower(p[0])
		c.s.log.Debug("parameter set", "name", name, "client", c.id)
		if why := c.s.params.registry.WhyInert(name); why != "" {
			c.s.log.Log(ctx, levelVerbose, "a parameter was set that has no effect here", "name", name, "why", why)
		}
	}
	c.ok()
}

func configRewrite(c *client, _ [][]byte) {
	err := c.s.params.registry.Rewrite()
	switch {
	case errors.Is(err, config.ErrNoFile):
		c.fail("ERR " + err.Error())
	case err != nil:
		c.s.log.Warn("CONFIG REWRITE failed", "error", err)
		c.fail("ERR Rewriting config file: " + err.Error())
	default:
		c.ok()
	}
}

func configResetStat(c *client, _ [][]byte) {
	c.s.resetStats()
	c.ok()
}

func configHelp(c *client, _ [][]byte) {
	c.help("config",
		"GET <pattern> [<pattern> ...]",
		"    Return parameters matching the glob-like <pattern>s and their values.",
		"SET <directive> <value> [<directive> <value> ...]",
		"    Set the configuration <directive>s to <value>s, all or none.",
		"RESETSTAT",
		"    Reset statistics reported by the INFO command.",
		"REWRITE",
		"    Rewrite the configuration file.")
}

func infoCommand(c *client, args [][]byte) {
	sections := make([]string, 0, len(args)-1)
	for _, a := range args[1:] {
		sections = append(sections, string(a))
	}
	if !c.inExec {
		c.s.tracker.Rotate()
	}
	c.verbatim("txt", string(c.s.info.Render(nil, sections)))
}

func timeCommand(c *client, _ [][]byte) {
	us := c.slot.clock.unixUs()
	var digits [20]byte
	c.array(2)
	c.bulk(appendInt(digits[:0], us/1e6))
	c.bulk(appendInt(digits[:0], us%1e6))
}

func dbsize(c *client, _ [][]byte) {
	keys, _ := c.s.store.Keys(c.db)
	c.int(keys)
}

// isFlushMode tells whether an argument is one of the modes that all commands know that empty something.
func isFlushMode(arg []byte) bool {
	return bytes.EqualFold(arg, []byte("ASYNC")) || bytes.EqualFold(arg, []byte("SYNC"))
}

// flushMode reads the optional ASYNC or SYNC. Both free in the background: nothing waits for memory to be freed.
func (c *client) flushMode(args [][]byte) bool {
	switch {
	case len(args) == 1:
		return true
	case len(args) == 2 && isFlushMode(args[1]):
		return true
	}
	c.fail(errSyntax)
	return false
}

func flushDB(c *client, args [][]byte) {
	if !c.flushMode(args) {
		return
	}
	c.view.FlushDB(c.db)
	c.s.forgetHotKeys(c.db)
	c.s.history.FlushDB(c.db)
	c.ok()
}

func flushAll(c *client, args [][]byte) {
	if !c.flushMode(args) {
		return
	}
	c.view.FlushAll()
	c.s.forgetWindows()
	c.ok()
}

func swapDB(c *client, args [][]byte) {
	a, okA := parseInt(args[1])
	b, okB := parseInt(args[2])
	switch n := c.s.params.databases.Get(); {
	case !okA || a != int64(int32(a)):
		c.fail("ERR invalid first DB index")
	case !okB || b != int64(int32(b)):
		c.fail("ERR invalid second DB index")
	case a < 0 || a >= n || b < 0 || b >= n:
		c.fail(errDBIndexRange)
	default:
		c.view.SwapDB(int(a), int(b))
		c.ok()
	}
}

// shutdown ends the process through whoever started the server; until there is persistence, SAVE has nothing to
// do and NOW nothing to wait for.
func shutdown(c *client, args [][]byte) {
	save, noSave, abort := false, false, false
	for _, a := range args[1:] {
		switch strings.ToLower(string(a)) {
		case "save":
			save = true
		case "nosave":
			noSave = true
		case "now", "force":
		case "abort":
			abort = true
		default:
			c.fail(errSyntax)
			return
		}
	}
	if save && noSave || abort && len(args) > 2 {
		c.fail(errSyntax)
		return
	}
	if abort {
		c.fail("ERR No shutdown in progress.")
		return
	}
	if c.slot.busy && !noSave { // a script runs, and may have written
		c.fail(c.s.busyText())
		return
	}
	c.s.log.Info("shutdown requested by a client", "client", c.describe())
	select {
	case c.s.asked <- nil:
	default: // it was asked for already
	}
	c.closeAfterReply()
}
