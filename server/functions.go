package server

import "bytes"

// There are no functions yet. FUNCTION FLUSH, which leaves a server without any, is here because test suites of Redis and
// Valkey begin with it.
var functionRows = []row{
	{"function", -2, 0, nil, "7.0.0", "A container for function commands.", nil},
}

var functionSubRows = []row{
	{"flush", -2, write | noscript, nil, "7.0.0", "Deletes all libraries and functions.", functionFlush},
	{"help", 2, loading | stale, nil, "7.0.0", "Returns helpful text about the different subcommands.", functionHelp},
}

func functionFlush(c *client, args [][]byte) {
	switch {
	case len(args) > 3:
		c.fail(subcommandSyntax(c.cmd.parent, args[1]))
	case len(args) == 3 && !bytes.EqualFold(args[2], []byte("ASYNC")) && !bytes.EqualFold(args[2], []byte("SYNC")):
		c.fail("ERR FUNCTION FLUSH only supports SYNC|ASYNC option")
	default:
		c.ok()
	}
}

func functionHelp(c *client, _ [][]byte) {
	c.help("function",
		"FLUSH [ASYNC|SYNC]",
		"    Delete all libraries. There are none yet.")
}
