package server

import (
	"errors"
	"strings"

	"kvserver/store"
)

// hyperloglogRows follow the order of Redis's documentation. PFCOUNT keeps its result in the value, so it wants it locked
// for writing.
var hyperloglogRows = []row{
	{"pfadd", -2, write | denyoom | fast, specs{keysAt(kRW|kInsert, 1, 1, 1)}, "2.8.9", "Adds elements to a HyperLogLog. Creates the key if it doesn't exist.", pfAdd},
	{"pfcount", -2, readonly | mayReplicate | locksForWriting, specs{keysAt(kRW|kAccess, 1, -1, 1)}, "2.8.9", "Returns about how many distinct elements were added to the HyperLogLogs.", pfCount},
	{"pfdebug", 3, write | denyoom | admin, specs{keysAt(kRW|kAccess, 2, 2, 1)}, "2.8.9", "Shows the inside of a HyperLogLog.", pfDebug},
	{"pfmerge", -2, write | denyoom, specs{keysAt(kRW|kAccess|kInsert, 1, 1, 1), keysAt(kRO|kAccess, 2, -1, 1)}, "2.8.9", "Merges HyperLogLogs into one.", pfMerge},
	{"pfselftest", 1, admin, nil, "2.8.9", "Tests the arithmetic of HyperLogLogs.", pfSelfTest},
}

func pfAdd(c *client, args [][]byte) {
	changed, err := c.view.PFAdd(args[1], args[2:])
	c.flagOr(changed, err)
}

func pfCount(c *client, args [][]byte) { c.intOr(c.view.PFCount(args[1:])) }

func pfMerge(c *client, args [][]byte) {
	if err := c.view.PFMerge(args[1:]); err != nil {
		c.failWith(err)
		return
	}
	c.ok()
}

func pfDebug(c *client, args [][]byte) {
	err := c.pfDebugReply(args)
	switch {
	case errors.Is(err, store.ErrNoKey):
		c.fail("ERR The specified key does not exist")
	case err != nil:
		c.failWith(err)
	}
}

// pfDebugReply answers PFDEBUG, or returns why not.
func (c *client) pfDebugReply(args [][]byte) error {
	switch strings.ToUpper(string(clip(args[1], 9))) {
	case "GETREG":
		registers, err := c.view.PFRegisters(args[2])
		if err != nil {
			return err
		}
		c.array(len(registers))
		for _, rank := range registers {
			c.int(int64(rank))
		}
	case "DECODE":
		text, err := c.view.PFRuns(args[2])
		if err != nil {
			return err
		}
		c.bulk(text)
	case "ENCODING":
		dense, err := c.view.PFDense(args[2])
		if err != nil {
			return err
		}
		if dense {
			c.simple("dense")
		} else {
			c.simple("sparse")
		}
	case "TODENSE":
		converted, err := c.view.PFToDense(args[2])
		if err != nil {
			return err
		}
		c.flag(converted)
	default:
		if _, err := c.view.PFDense(args[2]); err != nil {
			return err
		}
		c.failf("ERR Unknown PFDEBUG subcommand '%s'", clip(args[1], 128))
	}
	return nil
}

func pfSelfTest(c *client, _ [][]byte) {
	if err := store.PFSelfTest(); err != nil {
		c.fail("TESTFAILED " + err.Error())
		return
	}
	c.ok()
}
