package server

import "slices"

// Commands on one key that follow each other in a pipeline run as a row: their shards are locked once, and what they
// will read is fetched from memory together. A single lookup spends most of its time waiting for two reads that miss
// the caches, and the waits of a row overlap. To others a row is one step, which is more than a pipeline promises.

// rowMax bounds a row, and so the time for which others wait for its shards, to some microseconds.
const rowMax = 16

// frame is a parsed command.
type frame struct {
	cmd   *command // of a row's frames only
	args  [][]byte // alias the input
	bytes int      // length in the input
}

// ahead is what parsing ahead found at the head of the input.
type ahead struct {
	row  []frame // may run together
	next frame   // ended the row; without arguments if it is nothing to run, or nothing
	err  error   // why there is no next frame: errNeedMore or a protocol error
	need int     // with errNeedMore: see parser.next
}

// parseAhead parses frames as long as they can join the row. All belongs to the slot's scratch memory.
func (c *client) parseAhead(in []byte) (a ahead) {
	sl := c.slot
	a.row = sl.row[:0]
	args, at, lim := sl.args[:0], 0, c.limits()
	joins := c.multi == nil && !sl.busy && !lim.unauth && c.s.pause.untilMs == 0 && !c.silent() && !c.skipNext && !c.inSubscribeMode() && !c.monitoring && !c.cachingGiven
	for len(a.row) < rowMax {
		from := len(args)
		var n int
		args, n, a.need, a.err = c.parser.next(in[at:], args, lim)
		if a.err != nil {
			break
		}
		own := args[from:len(args):len(args)]
		var cmd *command
		if joins && len(own) > 0 {
			cmd, _ = c.findCommand(own)
		}
		if cmd == nil || !cmd.joins || !cmd.arityOK(len(own)) || !c.mayRun(cmd, own) {
			a.next = frame{args: own, bytes: n}
			break
		}
		a.row = append(a.row, frame{cmd, own, n})
		at += n
	}
	sl.args, sl.row, sl.argsUsed = args, a.row, max(sl.argsUsed, len(args))
	return a
}

// runRow runs the row and returns the bytes of what was run. full tells that it stopped because the output is worth a
// write.
func (c *client) runRow(row []frame) (used int, full bool) {
	if len(row) == 0 {
		return 0, false
	}
	if c.s.memory.limit != 0 && c.rowLacksMemory(row) {
		return c.runApart(row, denyoom)
	}
	if len(row) == 1 {
		c.begin()
		c.run(row[0].cmd, row[0].args)
		c.appendPushes()
		return row[0].bytes, c.outputFull()
	}
	c.bindView()
	if c.lockRow(row) && c.view.Awaited() {
		c.view.Unlock()
		return c.runApart(row, 0)
	}
	for i := range row {
		c.begin()
		if i > 0 {
			c.bindView()
		}
		c.call(row[i].cmd, row[i].args)
		c.appendPushes()
		used += row[i].bytes
		if full = c.outputFull(); full {
			break
		}
	}
	c.view.Unlock()
	c.appendPushes() // of keys that had expired
	return used, full
}

// rowLacksMemory reports whether memory is full for those commands of a row that may need some.
func (c *client) rowLacksMemory(row []frame) bool {
	for i := range row {
		if row[i].cmd.flags&denyoom != 0 {
			return c.lacksMemory(row[i].cmd)
		}
	}
	return false
}

// runApart runs the commands of a row one by one, but for those with one of the flags refused, since memory is full: or
// somebody waits for one of their keys. Between them the slot may be let go, and permissions change.
func (c *client) runApart(row []frame, refused flags) (used int, full bool) {
	row = slices.Clone(row)
	for i := range row {
		row[i].args = slices.Clone(row[i].args)
	}
	for i := range row {
		c.begin()
		switch cmd, args := row[i].cmd, row[i].args; {
		case !c.user.Unrestricted && c.refused(cmd, args):
		case cmd.flags&refused != 0:
			c.reject(cmd, errOutOfMemory)
		default:
			c.run(cmd, args)
		}
		c.appendPushes()
		used += row[i].bytes
		if c.outputFull() {
			return used, true
		}
	}
	return used, false
}

// lockRow reports whether the row writes.
func (c *client) lockRow(row []frame) (forWriting bool) {
	keys := c.slot.keys[:0]
	for i := range row {
		keys = append(keys, row[i].args[1])
		forWriting = forWriting || row[i].cmd.lockWrite
	}
	c.view.LockKeys(keys, forWriting)
	clear(keys)
	c.slot.keys = keys
	c.view.Fetch()
	return forWriting
}
