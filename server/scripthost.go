package server

import (
	"log/slog"
)

// scriptHost is what scripts reach of the server.
type scriptHost struct{ s *Server }

// Call runs a command of a script.
func (h *scriptHost) Call(args [][]byte, resp3 bool) []byte {
	st := &h.s.scripts
	c, r := st.client, st.running // which changes only when the script ends
	c.buf, c.resp3, c.mark = c.buf[:0], resp3, 0
	if cap(c.buf) > keptReplyBytes {
		c.buf = nil
	}
	cmd, known := h.s.table.find(args)
	if problem := h.refuses(r, cmd, known, args); problem != "" {
		if cmd != nil && known {
			c.slot.stats.commands[cmd.id].rejected++
		}
		c.fail(problem)
		return c.buf
	}
	if cmd.flags&write != 0 {
		r.wrote.Store(true)
	}
	c.callInScript(cmd, args)
	c.slot.countAccesses() // their names lie in the arguments
	return c.buf
}

// keptReplyBytes bounds the buffer for replies to scripts that is kept for the next.
const keptReplyBytes = 64 << 10

// refuses says what scripts must not call, in Redis's order.
func (h *scriptHost) refuses(r *scriptRun, cmd *command, known bool, args [][]byte) string {
	c := h.s.scripts.client
	switch {
	case !known || cmd.handle == nil:
		return "ERR Unknown Redis command called from script"
	case !cmd.arityOK(len(args)):
		return "ERR Wrong number of args calling Redis command from script"
	case cmd.flags&(noscript|noMulti) != 0 && !h.s.scripts.letAll.Load():
		return "ERR This Redis command is not allowed from script"
	case cmd.flags&(noscript|noMulti) != 0 && cmd.flags&(runsScripts|subscribes|notQueued|noMulti|noAuth) != 0:
		return "ERR This Redis command is not allowed from script"
	}
	if refusal := c.permits(cmd, args, fromScript); refusal != "" {
		return "ERR ACL failure in script: " + refusal
	}
	if r.readOnly && cmd.flags&(write|mayReplicate) != 0 {
		return "ERR Write commands are not allowed from read-only scripts."
	}
	if !r.allowsOOM && !r.wrote.Load() && r.caller.outOfMemory(cmd) {
		return errOutOfMemory
	}
	return ""
}

// callInScript runs the handler and accounts for it, as call does for commands of clients.
func (c *client) callInScript(cmd *command, args [][]byte) {
	clock := &c.slot.clock
	c.cmd, c.failed = cmd, false
	c.bindView()
	caller := c.s.scripts.running.caller
	c.slot.client = caller
	c.view.Exclusive()
	began := clock.atNs
	cmd.handle(c, args)
	clock.advance()
	if caller.cacher != nil && cmd.flags&readonly != 0 {
		caller.remember(cmd, args)
	}
	if c.s.observe.monitors.any() && cmd.flags&(skipMonitor|admin) == 0 {
		c.show(args, c.secret)
	}
	ns := clock.atNs - began
	if o := &c.s.observe; ns >= o.tookNs && cmd.flags&skipSlowlog == 0 {
		o.logs[slowLog].note(caller, args, c.secret, ns/nsPerUs)
	}
	c.secret, c.pushes = c.secret[:0], nil
	c.record(cmd, ns)
	caller.commandTotal++
}

// Log writes a line to the server's log.
func (h *scriptHost) Log(level int, text string) {
	levels := [...]slog.Level{slog.LevelDebug, levelVerbose, slog.LevelInfo, slog.LevelWarn}
	h.s.log.Log(ctx, levels[level], text, "from", "script")
}

// MayRun tells whether the caller may run a command.
func (h *scriptHost) MayRun(args [][]byte) (known, allowed bool) {
	c := h.s.scripts.client
	cmd, known := h.s.table.find(args)
	if !known || cmd.handle == nil || !cmd.arityOK(len(args)) {
		return known && cmd.handle != nil, known && cmd.handle != nil && c.mayRun(cmd, args)
	}
	return true, c.mayRun(cmd, args)
}
