package lua

import (
	"fmt"
	"runtime/debug"
	"strings"
	"sync/atomic"

	lua "github.com/yuin/gopher-lua"
)

// Host is what scripts reach of the server.
type Host interface {
	// Call runs a command and returns its reply in RESP2 or RESP3, valid until the next Call. It refuses with an error reply
	// what scripts must not do.
	Call(args [][]byte, resp3 bool) []byte
	// Log writes a line to the server's log; level is 0 (debug) to 3 (warning).
	Log(level int, text string)
	// MayRun tells whether there is such a command, and whether the client of the script may run it.
	MayRun(args [][]byte) (known, allowed bool)
}

// Versions that scripts read in REDIS_VERSION and REDIS_VERSION_NUM.
const (
	redisVersion    = "7.2.4"
	redisVersionNum = 7<<16 | 2<<8 | 4
)

// Sizes of the stacks, in frames and in values. Some frames are kept for those who handle a stack that is full.
const (
	spareFrames  = 64
	spareValues  = 1 << 15 // more than a function returns or is given
	frames       = 16000 + spareFrames
	stackValues  = 4096
	stackMax     = 1 << 18
	stackGrowsBy = 4096
)

// Runtime is a Lua state with the environment of scripts. One goroutine at a time may use it; only Kill may come from others.
type Runtime struct {
	memory
	state    *lua.LState
	host     Host
	globals  *lua.LTable
	random   random
	ended    atomic.Pointer[string] // why the script is to end
	nested   int                    // protected calls and coroutines that run
	resuming []*lua.LState          // the coroutines among them
	resp3    bool                   // redis.setresp(3)
	fault    any                    // a panic of the host
	passOn   *lua.LFunction         // the handler of pcall
	entry    *lua.LFunction         // what enter calls: it protects the function
	raised   lua.LValue             // what ended the function, if it did not return

	args     [][]byte // of a call
	argBytes []byte
}

// New makes a runtime.
func New(host Host) *Runtime {
	rt := &Runtime{host: host, random: randomAtFirst, memory: memory{bytesMax: BytesMax, every: measureEvery}}
	rt.state = lua.NewState(lua.Options{
		SkipOpenLibs: true, CallStackSize: frames, RegistrySize: stackValues, RegistryMaxSize: stackMax, RegistryGrowStep: stackGrowsBy,
	})
	rt.globals = rt.state.Get(lua.GlobalsIndex).(*lua.LTable)
	rt.reset()
	rt.watchState(rt.state)
	rt.open(rt.state)
	rt.seal(rt.globals)
	rt.passOn = newHandler(rt.state, func(_ *lua.LState, _ *frame, v lua.LValue) lua.LValue { return v })
	locate := newHandler(rt.state, located)
	rt.entry = rt.state.NewFunction(func(L *lua.LState) int {
		v, ok := protect(L, L.GetTop()-1, locate)
		if !ok {
			rt.raised = v
			return 0
		}
		return L.GetTop()
	})
	return rt
}

// State is the Lua state.
func (rt *Runtime) State() *lua.LState { return rt.state }

// Globals are the global variables of scripts. They are read-only for them.
func (rt *Runtime) Globals() *lua.LTable { return rt.globals }

// open fills the globals with the libraries and freezes those.
func (rt *Runtime) open(L *lua.LState) {
	for _, open := range []func(*lua.LState){
		openBase, openString, openTable, openMath, openCoroutine, openOS, openBit, openCJSON, openCMsgpack, openStruct,
	} {
		open(L)
		L.SetTop(0)
	}
	rt.globals.RawSetString("_G", rt.globals)
	api := rt.newAPI()
	rt.globals.RawSetString("redis", api)
	rt.globals.RawSetString("server", api)
	rt.globals.ForEach(func(_, v lua.LValue) {
		if t, isTable := v.(*lua.LTable); isTable && t != rt.globals {
			Freeze(t)
		}
	})
}

// seal makes a table of globals read-only, and the use of one that is not there an error.
func (rt *Runtime) seal(globals *lua.LTable) {
	meta := rt.state.CreateTable(0, 1)
	meta.RawSetString("__index", rt.state.NewFunction(func(L *lua.LState) int {
		name, _ := textOf(L.Get(2))
		raise(L, "Script attempted to access nonexistent global variable '%s'", name)
		return 0
	}))
	globals.Metatable = meta
	Freeze(globals)
}

// NewEnvironment returns a copy of the globals, which is not sealed, with an API table of its own that can be changed under
// the names redis and server.
func (rt *Runtime) NewEnvironment() *lua.LTable {
	env := rt.state.CreateTable(0, 64)
	for key, value := rt.globals.Next(lua.LNil); key != lua.LNil; key, value = rt.globals.Next(key) {
		if name, isString := key.(lua.LString); isString && name != "KEYS" && name != "ARGV" {
			env.RawSetString(string(name), value)
		}
	}
	env.RawSetString("_G", env)
	api := rt.newAPI()
	env.RawSetString("redis", api)
	env.RawSetString("server", api)
	return env
}

// Seal makes an environment read-only and the use of globals that are not there an error.
func (rt *Runtime) Seal(env *lua.LTable) { rt.seal(env) }

// NewTable returns an empty table.
func (rt *Runtime) NewTable() *lua.LTable { return rt.state.CreateTable(0, 0) }

// Load compiles a chunk, which is called name in errors. Its global variables, and those of functions made in it, are those of
// env, or of scripts if that is nil. Errors are worded as those of the C compiler, as far as they say the same.
func (rt *Runtime) Load(name string, code []byte, env *lua.LTable) (*lua.LFunction, error) {
	if env == nil {
		env = rt.globals
	}
	return rt.load(name, string(code), env)
}

// Kill ends what runs with an error: each of its instructions raises it. It may come from any goroutine.
func (rt *Runtime) Kill(reason string) { rt.ended.Store(&reason) }

// Revive takes back what Kill said, before the next run.
func (rt *Runtime) Revive() { rt.ended.Store(nil) }

// Call is one run of a function.
type Call struct {
	Keys, Args   [][]byte
	AsParameters bool // the function gets the keys and the arguments as parameters: otherwise they are globals, KEYS and ARGV
}

// Error is why a run failed.
type Error struct {
	Text    string // begins with an error code
	Source  string // where, "@user_script"; empty if that is not known
	Line    int
	Counted bool // the error was counted when a command answered with it
}

// Reply is the text of the reply to a caller who knows what ran under a name.
func (e *Error) Reply(name string) string {
	if e.Source == "" || e.Line == 0 {
		return e.Text
	}
	return fmt.Sprintf("%s script: %s, on %s:%d.", e.Text, name, e.Source, e.Line)
}

// Run calls a function and gives what it returns to reply. It panics when the host did.
func (rt *Runtime) Run(fn *lua.LFunction, call Call, reply Reply) *Error {
	rt.reset()
	rt.resp3 = false
	keys, args := rt.strings(call.Keys), rt.strings(call.Args)
	var v, raised lua.LValue
	if call.AsParameters {
		v, raised = rt.enter(fn, keys, args)
	} else {
		rt.globals.RawSetString("KEYS", keys)
		rt.globals.RawSetString("ARGV", args)
		v, raised = rt.enter(fn)
	}
	if raised != nil {
		return errorOf(raised)
	}
	a := answer{rt: rt, reply: reply}
	if a.appendValue(v, 0); a.refused != "" {
		return &Error{Text: a.refused}
	}
	return nil
}

// enter calls a function and returns its first value, or the error, with its place, that it raised. What protects the function
// fails itself where no room is left on the stack, and is protected from that.
func (rt *Runtime) enter(fn *lua.LFunction, args ...lua.LValue) (v, raised lua.LValue) {
	L := rt.state
	L.Push(rt.entry)
	L.Push(fn)
	for _, arg := range args {
		L.Push(arg)
	}
	err := L.PCall(1+len(args), 1, nil)
	v = L.Get(-1)
	L.SetTop(0)
	fault, raised := rt.fault, rt.raised
	rt.fault, rt.raised = nil, nil
	switch {
	case fault != nil:
		panic(fault)
	case err != nil:
		w := watchOf(L)
		rt.nested, rt.resuming, w.protects, w.from = 0, nil, 0, 0
		L.G.CurrentThread = L
		return nil, lua.LString(errStack)
	}
	return v, raised
}

// strings makes a Lua array.
func (rt *Runtime) strings(list [][]byte) *lua.LTable {
	t := rt.state.CreateTable(len(list), 0)
	for _, b := range list {
		rt.spent += int64(len(b)) + 2*valueBytes
		t.Append(lua.LString(b))
	}
	return t
}

// errorTable is an error as the API raises and returns it.
func errorTable(L *lua.LState, text string) *lua.LTable {
	t := L.CreateTable(0, 4)
	t.RawSetString("err", lua.LString(text))
	return t
}

// located makes an error a table that says where it was raised, as Redis's error handler does.
func located(L *lua.LState, raised *frame, v lua.LValue) lua.LValue {
	t, isTable := v.(*lua.LTable)
	if !isTable {
		t = errorTable(L, "ERR "+display(v))
	}
	if raised != nil && raised.Fn.IsG {
		raised = raised.Parent
	}
	switch {
	case raised == nil:
	case raised.Fn.IsG:
		t.RawSetString("source", lua.LString("=[C]"))
		t.RawSetString("line", lua.LNumber(-1))
	default:
		t.RawSetString("source", lua.LString(sourceOf(raised.Fn.Proto.SourceName)))
		t.RawSetString("line", lua.LNumber(raised.Fn.Proto.DbgSourcePositions[raised.Pc-1]))
	}
	return t
}

// errorOf reads an error that located has made, or what came instead where the stack was too full for it.
func errorOf(v lua.LValue) *Error {
	t, isTable := v.(*lua.LTable)
	if !isTable {
		return &Error{Text: "ERR " + oneLine(display(v))}
	}
	e := &Error{Text: "ERR unknown error"}
	if text, isText := textOf(t.RawGetString("err")); isText {
		e.Text = oneLine(text)
	}
	if source, isText := textOf(t.RawGetString("source")); isText {
		e.Source = oneLine(source)
	}
	if line, isNumber := t.RawGetString("line").(lua.LNumber); isNumber {
		e.Line = int(line)
	}
	e.Counted = lua.LVAsBool(t.RawGetString(countedField))
	return e
}

// oneLine keeps a text from ending the line of a reply.
func oneLine(text string) string {
	if !strings.ContainsAny(text, "\r\n") {
		return text
	}
	return strings.Map(func(r rune) rune {
		if r == '\r' || r == '\n' {
			return ' '
		}
		return r
	}, text)
}

// hostCall runs a command on the host. A panic there ends the script first and is raised again when it is out.
func (rt *Runtime) hostCall(args [][]byte) (reply []byte) {
	defer func() {
		if fault := recover(); fault != nil {
			rt.fault = fmt.Sprintf("%v\n%s", fault, debug.Stack())
			rt.Kill("ERR internal error")
			rt.state.Error(errorTable(rt.state, "ERR internal error"), 0)
		}
	}()
	return rt.host.Call(args, rt.resp3)
}
