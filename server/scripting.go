package server

import (
	"bytes"
	"math"
	"math/big"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	glua "github.com/yuin/gopher-lua"

	"kvserver/config"
	"kvserver/info"
	"kvserver/server/lua"
)

// Scripts run aside (aside.go), under the gate, so that to others each is one step and its keys need not be declared. What a
// script calls runs as the commands of a client of its own, the script client, which has the database, the user and the
// connection of the caller but not its transaction or its protocol version. One Lua state serves all scripts.

// scriptingRows follow the order of Redis's documentation.
var scriptingRows = []row{
	{"eval", -3, noscript | stale | skipMonitor | noMandatoryKeys | mayReplicate | runsScripts, specs{keysNum(kRW|kAccess|kUpdate, 2)}, "2.6.0", "Executes a server-side Lua script.", eval},
	{"evalsha", -3, noscript | stale | skipMonitor | noMandatoryKeys | mayReplicate | runsScripts, specs{keysNum(kRW|kAccess|kUpdate, 2)}, "2.6.0", "Executes a server-side Lua script by SHA1 digest.", evalSHA},
	{"evalsha_ro", -3, readonly | noscript | stale | skipMonitor | noMandatoryKeys | runsScripts, specs{keysNum(kRO|kAccess, 2)}, "7.0.0", "Executes a read-only server-side Lua script by SHA1 digest.", evalSHA},
	{"eval_ro", -3, readonly | noscript | stale | skipMonitor | noMandatoryKeys | runsScripts, specs{keysNum(kRO|kAccess, 2)}, "7.0.0", "Executes a read-only server-side Lua script.", eval},
	{"script", -2, 0, nil, "2.6.0", "A container for Lua scripts management commands.", nil},
}

var scriptSubRows = []row{
	{"debug", 3, noscript, nil, "3.2.0", "Sets the debug mode of server-side Lua scripts.", scriptDebug},
	{"exists", -3, noscript | exclusive, nil, "2.6.0", "Determines whether server-side Lua scripts exist in the script cache.", scriptExists},
	{"flush", -2, noscript | exclusive, nil, "2.6.0", "Removes all server-side Lua scripts from the script cache.", scriptFlush},
	{"help", 2, loading | stale, nil, "5.0.0", "Returns helpful text about the different subcommands.", scriptHelp},
	{"kill", 2, noscript | allowBusy, nil, "2.6.0", "Terminates a server-side Lua script during execution.", scriptKill},
	{"load", 3, noscript | stale | runsScripts, nil, "2.6.0", "Loads a server-side Lua script to the script cache.", scriptLoad},
	{"show", 3, noscript | exclusive, nil, "8.0.0", "Shows a server-side Lua script in the script cache.", scriptShow},
}

// evalScriptsMax is how many scripts are kept that came with EVAL and were not loaded with SCRIPT LOAD: the one unused for
// longest goes, as in Redis 7.4, lest clients that write values into their scripts fill the memory.
const evalScriptsMax = 500

// scripting is the state of scripts and functions. But for running it is touched under the gate only.
type scripting struct {
	runtime *lua.Runtime // nil before the first use
	client  *client      // runs what scripts call
	byName  map[string]*script
	kept    scriptList // of those that came with EVAL
	latest  *script    // that came with EVAL: clients mostly repeat themselves, and this spares the digest
	bytes   int64      // of the texts
	evicted int64

	letAll atomic.Bool // DEBUG SET-DISABLE-DENY-SCRIPTS

	mu sync.Mutex
	// mu guards the following, which is asked for while a script runs.
	running  *scriptRun
	stopping bool
}

// script is a script in the cache, named by its SHA1.
type script struct {
	name       string
	body       []byte
	flags      lua.Flags
	declared   bool // it begins with a line of flags: without one all is allowed
	fn         *glua.LFunction
	newer, old *script // in the list of those that came with EVAL, nil both if it was loaded
	listed     bool
}

// scriptRun is what runs.
type scriptRun struct {
	name     string // the script's SHA1, or the function's name
	function bool
	command  [][]byte // as the client sent it
	began    time.Time
	wrote    atomic.Bool
	killed   bool

	fn         *glua.LFunction
	flags      lua.Flags
	compatible bool // a script without a line of flags
	readOnly   bool // it must not write
	allowsOOM  bool
	keys, args [][]byte
	caller     *client
}

func (p *Parameters) registerScripting(r *config.Registry) {
	p.busyReplyMs = r.Int("busy-reply-threshold", 5000, 0, math.MaxInt64, config.Alias("lua-time-limit"),
		config.Doc("milliseconds after which other clients hear that a script is running; 0: never"))
}

// sha1Len is the length of a script's name.
const sha1Len = 40

// errNoScript answers for a script that is not in the cache.
const errNoScript = "NOSCRIPT No matching script. Please use EVAL."

func eval(c *client, args [][]byte) {
	c.feedMonitors(args)
	keys, rest, ok := c.keysAndArgs(args)
	if !ok {
		return
	}
	st := &c.s.scripts
	s := st.latest
	if s == nil || !bytes.Equal(s.body, args[1]) {
		name := lua.SHA1(args[1])
		if s = st.byName[name]; s == nil {
			if s = c.compile(name, args[1]); s == nil {
				return
			}
			st.keep(s)
		}
		st.latest = s
	}
	c.runScriptNamed(s, args, keys, rest)
}

func evalSHA(c *client, args [][]byte) {
	c.feedMonitors(args)
	if len(args[1]) != sha1Len {
		c.fail(errNoScript)
		return
	}
	keys, rest, ok := c.keysAndArgs(args)
	if !ok {
		return
	}
	s := c.s.scripts.byName[string(bytes.ToLower(args[1]))]
	if s == nil {
		c.fail(errNoScript)
		return
	}
	c.runScriptNamed(s, args, keys, rest)
}

// mayWrite tells whether a command may write, or publish. The caller holds its slot, so that no script comes or goes.
func (s *Server) mayWrite(cmd *command, args [][]byte) bool {
	return cmd.flags&(write|mayReplicate) != 0 && (cmd.flags&runsScripts == 0 || s.flagsOfScript(cmd, args)&lua.NoWrites == 0)
}

// flagsOfScript are those that the script or function which a command would run was declared with.
func (s *Server) flagsOfScript(cmd *command, args [][]byte) lua.Flags {
	switch cmd.name {
	case "eval":
		declared := script{body: args[1]}
		if declared.readFlags() == "" {
			return declared.flags
		}
	case "evalsha":
		if known := s.scripts.byName[string(bytes.ToLower(args[1]))]; known != nil {
			return known.flags
		}
	case "fcall":
		if f := s.functions.libraries.Function(string(args[1])); f != nil {
			return f.Flags
		}
	}
	return 0
}

// feedMonitors shows a command that runs scripts before what the script calls.
func (c *client) feedMonitors(args [][]byte) {
	if c.s.observe.monitors.any() {
		c.show(args, nil)
	}
}

// keysAndArgs reads numkeys and what follows it.
func (c *client) keysAndArgs(args [][]byte) (keys, rest [][]byte, ok bool) {
	n, isInt := parseInt(args[2])
	switch {
	case !isInt:
		c.fail(errNotInteger)
	case n > int64(len(args)-3):
		c.fail("ERR Number of keys can't be greater than number of args")
	case n < 0:
		c.fail("ERR Number of keys can't be negative")
	default:
		return args[3 : 3+n], args[3+n:], true
	}
	return nil, nil, false
}

func (c *client) runScriptNamed(s *script, command, keys, args [][]byte) {
	c.s.scripts.used(s)
	c.runScript(&scriptRun{
		name: s.name, command: command, fn: s.fn, flags: s.flags, compatible: !s.declared,
		readOnly: c.cmd.flags&readonly != 0, keys: keys, args: args,
	})
}

// runScript runs a script or a function and answers with what it returns. The handler of a row with runsScripts calls it last.
func (c *client) runScript(r *scriptRun) {
	st := &c.s.scripts
	if !r.compatible {
		if problem := c.mayRunScript(r); problem != "" {
			c.fail(problem)
			return
		}
		r.readOnly = r.readOnly || r.flags&lua.NoWrites != 0
		r.allowsOOM = r.flags&lua.AllowOOM != 0
	}
	r.caller, r.began = c, time.Now()
	if !st.begin(r) {
		c.fail(errScriptKilled)
		return
	}
	st.lend(c)
	defer st.end()
	from, over := len(c.buf), c.over
	var fault *lua.Error
	before := c.slot.clock.hold()
	c.aside.takes(time.Duration(min(c.s.params.busyReplyMs.Get(), timeoutMsMax))*time.Millisecond, func() {
		fault = st.runtime.Run(r.fn, lua.Call{Keys: r.keys, Args: r.args, AsParameters: r.function}, scriptReply{c})
	})
	c.slot.clock.heldUs = before
	c.resumeView()
	if fault == nil {
		return
	}
	c.buf, c.over = c.buf[:from], over
	scriptReply{c}.Error(fault.Reply(r.name), fault.Counted)
}

// resumeView makes the view work for the caller again.
func (c *client) resumeView() {
	c.bindView()
	c.view.Exclusive()
}

// mayRunScript refuses a script or function whose flags do not fit.
func (c *client) mayRunScript(r *scriptRun) (problem string) {
	if r.flags&lua.NoWrites == 0 && r.readOnly {
		return "ERR Can not execute a script with write flag using *_ro command."
	}
	if r.flags&(lua.AllowOOM|lua.NoWrites) == 0 && c.s.memory.limit != 0 && c.memoryFull {
		if !c.inExec { // Redis says so when it dispatches the command
			return errOutOfMemory
		}
		return "OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'"
	}
	return ""
}

const errScriptKilled = "ERR Script killed by user with SCRIPT KILL..."

// begin reports false if the server is shutting down.
func (st *scripting) begin(r *scriptRun) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.stopping {
		return false
	}
	st.runtime.Revive()
	st.running = r
	return true
}

func (st *scripting) end() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.running = nil
}

// kill ends what runs, for SCRIPT KILL or FUNCTION KILL. It needs no gate.
func (st *scripting) kill(function bool) (problem string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	r := st.running
	switch {
	case r == nil:
		return "NOTBUSY No scripts in execution right now."
	case r.wrote.Load():
		return "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the script " +
			"termination or kill the server in a hard way using the SHUTDOWN NOSAVE command."
	case r.function && !function:
		return errBusyFunction
	case function && !r.function:
		return errBusyScript
	}
	r.killed = true
	st.runtime.Kill(errScriptKilled)
	return ""
}

// stop ends what runs, and whatever would begin, since the server shuts down.
func (st *scripting) stop() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.stopping = true
	if st.running != nil {
		st.runtime.Kill("ERR Script ended: the server is shutting down.")
	}
}

// busyText answers commands that come while a script is past its time.
func (s *Server) busyText() string {
	s.scripts.mu.Lock()
	defer s.scripts.mu.Unlock()
	if r := s.scripts.running; r != nil && r.function {
		return errBusyFunction
	}
	return errBusyScript
}

// scriptRuntime makes the runtime at its first use.
func (s *Server) scriptRuntime() *lua.Runtime {
	st := &s.scripts
	if st.runtime == nil {
		st.runtime = lua.New(&scriptHost{s})
		st.byName = map[string]*script{}
		st.client = &client{s: s, home: s.scriptSlot, slot: s.scriptSlot, view: s.scriptSlot.view, authed: true, inExec: true, inScript: true}
	}
	return st.runtime
}

// lend gives the script client what it has of the caller.
func (st *scripting) lend(c *client) {
	sc := st.client
	sc.conn, sc.id, sc.user, sc.db, sc.aside, sc.noTouch = c.conn, c.id, c.user, c.db, c.aside, c.noTouch
	sc.importSource = c.importSource
}

// compile makes a script of its text, or answers with what is wrong with it.
func (c *client) compile(name string, body []byte) *script {
	rt := c.s.scriptRuntime()
	s := &script{name: name, body: bytes.Clone(body)}
	problem := s.readFlags()
	if problem != "" {
		c.fail("ERR " + problem)
		return nil
	}
	fn, err := rt.Load("user_script", s.code(), nil)
	if err != nil {
		c.fail("ERR Error compiling script (new function): " + err.Error())
		return nil
	}
	s.fn = fn
	return s
}

// code is the text without the line of flags, whose end stays, so that lines keep their numbers.
func (s *script) code() []byte {
	if s.declared {
		return s.body[bytes.IndexByte(s.body, '\n'):]
	}
	return s.body
}

// readFlags reads a first line such as "#!lua flags=no-writes,allow-oom".
func (s *script) readFlags() (problem string) {
	if !bytes.HasPrefix(s.body, []byte("#!")) {
		return ""
	}
	line, _, ended := strings.Cut(string(s.body), "\n")
	if !ended {
		return "Invalid script shebang"
	}
	words := strings.Fields(line)
	if words[0] != "#!lua" {
		return "Unexpected engine in script shebang: " + words[0]
	}
	s.declared = true
	for _, word := range words[1:] {
		list, isFlags := strings.CutPrefix(word, "flags=")
		if !isFlags {
			return "Unknown lua shebang option: " + word
		}
		for name := range strings.SplitSeq(list, ",") {
			flag, known := lua.ParseFlag(name)
			if !known && list != "" {
				return "Unexpected flag in script shebang: " + name
			}
			s.flags |= flag
		}
	}
	return ""
}

func scriptLoad(c *client, args [][]byte) {
	name := lua.SHA1(args[2])
	st := &c.s.scripts
	s := st.byName[name]
	if s == nil {
		if s = c.compile(name, args[2]); s == nil {
			return
		}
		st.add(s)
	}
	if s.listed {
		st.kept.remove(s)
	}
	c.bulkString(name)
}

func scriptExists(c *client, args [][]byte) {
	c.array(len(args) - 2)
	for _, name := range args[2:] {
		c.flag(c.s.scripts.byName[string(bytes.ToLower(name))] != nil)
	}
}

func scriptShow(c *client, args [][]byte) {
	s := c.s.scripts.byName[string(bytes.ToLower(args[2]))]
	if s == nil {
		c.fail(errNoScript)
		return
	}
	c.bulk(s.body)
}

func scriptFlush(c *client, args [][]byte) {
	if len(args) > 3 || len(args) == 3 && !isFlushMode(args[2]) {
		c.fail("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
		return
	}
	st := &c.s.scripts
	clear(st.byName)
	st.kept, st.latest, st.bytes = scriptList{}, nil, 0
	c.ok()
}

func scriptKill(c *client, _ [][]byte) {
	if problem := c.s.scripts.kill(false); problem != "" {
		c.fail(problem)
		return
	}
	c.ok()
}

// scriptDebug has nothing to switch on: there is no debugger.
func scriptDebug(c *client, args [][]byte) {
	switch strings.ToLower(string(clip(args[2], nameBytesMax))) {
	case "no":
		c.ok()
	case "yes", "sync":
		c.fail("ERR there is no debugger for scripts")
	default:
		c.fail("ERR Use SCRIPT DEBUG YES/SYNC/NO")
	}
}

func scriptHelp(c *client, _ [][]byte) {
	c.help("script",
		"DEBUG (YES|SYNC|NO)",
		"    Switch the debugger, which there is not: only NO is accepted.",
		"EXISTS <sha1> [<sha1> ...]",
		"    Return for each digest whether the cache has its script.",
		"FLUSH [ASYNC|SYNC]",
		"    Empty the cache. Both modes do the same.",
		"KILL",
		"    End the script that is running, unless it has written.",
		"LOAD <script>",
		"    Put a script into the cache, without running it, and return its digest.",
		"SHOW <sha1>",
		"    Return the text of a script in the cache.")
}

// add puts a script into the cache, keep does so for one that came with EVAL.
func (st *scripting) add(s *script) {
	st.byName[s.name] = s
	st.bytes += int64(len(s.body))
}

func (st *scripting) keep(s *script) {
	st.add(s)
	st.kept.push(s)
	if st.kept.n > evalScriptsMax {
		oldest := st.kept.oldest
		st.kept.remove(oldest)
		delete(st.byName, oldest.name)
		st.bytes -= int64(len(oldest.body))
		st.evicted++
		if st.latest == oldest {
			st.latest = nil
		}
	}
}

// used makes a script that came with EVAL the last to go.
func (st *scripting) used(s *script) {
	if s.listed && st.kept.newest != s {
		st.kept.remove(s)
		st.kept.push(s)
	}
}

// memoryInfo tells what the texts of scripts take. What the Lua state holds lies on the Go heap with all else.
func (st *scripting) memoryInfo(w *info.Writer) {
	w.Int("used_memory_scripts_eval", st.bytes)
	w.Int("number_of_cached_scripts", int64(len(st.byName)))
}

// scriptList is a list of scripts in the order of their latest use.
type scriptList struct {
	newest, oldest *script
	n              int
}

func (l *scriptList) push(s *script) {
	s.old, s.newer, s.listed = l.newest, nil, true
	if l.newest != nil {
		l.newest.newer = s
	} else {
		l.oldest = s
	}
	l.newest = s
	l.n++
}

func (l *scriptList) remove(s *script) {
	if s.newer != nil {
		s.newer.old = s.old
	} else {
		l.newest = s.old
	}
	if s.old != nil {
		s.old.newer = s.newer
	} else {
		l.oldest = s.newer
	}
	s.old, s.newer, s.listed = nil, nil, false
	l.n--
}

// scriptReply writes what a script returns to its caller.
type scriptReply struct{ c *client }

func (r scriptReply) Bulk(s string) {
	if c := r.c; c.bytesMax > 0 && len(c.buf)+len(s) > c.bytesMax {
		c.over = true
		return
	}
	r.c.bulkString(s)
}

func (r scriptReply) Int(n int64)      { r.c.int(n) }
func (r scriptReply) Null()            { r.c.null() }
func (r scriptReply) Bool(yes bool)    { r.c.bool(yes) }
func (r scriptReply) Status(s string)  { r.c.simple(s) }
func (r scriptReply) Double(f float64) { r.c.double(f) }
func (r scriptReply) Array(n int)      { r.c.array(n) }
func (r scriptReply) Map(n int)        { r.c.mapping(n) }
func (r scriptReply) Set(n int)        { r.c.set(n) }

// Error counts an error that no command has answered with before.
func (r scriptReply) Error(text string, counted bool) {
	if r.c.failed = true; !counted {
		r.c.slot.stats.countError(text)
	}
	r.c.errorLine(text)
}

// BigNumber takes what a script says is one. RESP3 clients get only what they can read.
func (r scriptReply) BigNumber(digits string) {
	if n, ok := new(big.Int).SetString(digits, 10); ok && len(digits) <= bigNumberDigitsMax {
		r.c.bigNumber(n)
		return
	}
	r.c.bulkString(digits)
}

// bigNumberDigitsMax bounds what is taken for a number: reading one takes time with the square of its length.
const bigNumberDigitsMax = 1 << 12

// Verbatim has room for a format of three characters.
func (r scriptReply) Verbatim(format, s string) {
	r.c.verbatim((format + "   ")[:3], s)
}
