package lua

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// countedField marks an error that was counted when the command answered.
const countedField = "ignore_error_stats_update"

// Flags of redis.set_repl. There is nothing that they could change.
const (
	replAOF     = 1
	replReplica = 2
	replAll     = replAOF | replReplica
)

// newAPI makes the table that scripts know as redis or server.
func (rt *Runtime) newAPI() *lua.LTable {
	t := newModule(rt.state, map[string]lua.LGFunction{
		"call":  func(L *lua.LState) int { return rt.call(L, true) },
		"pcall": func(L *lua.LState) int { return rt.call(L, false) },
		"log":   rt.log, "setresp": rt.setResp, "acl_check_cmd": rt.mayRun,
		"error_reply": errorReply, "status_reply": statusReply, "sha1hex": sha1Hex, "set_repl": setRepl,
		"replicate_commands": func(L *lua.LState) int {
			L.Push(lua.LTrue)
			return 1
		},
		"breakpoint": func(L *lua.LState) int { // there is no debugger
			L.Push(lua.LFalse)
			return 1
		},
		"debug": func(*lua.LState) int { return 0 },
	})
	for name, n := range map[string]int{
		"LOG_DEBUG": 0, "LOG_VERBOSE": 1, "LOG_NOTICE": 2, "LOG_WARNING": 3,
		"REPL_NONE": 0, "REPL_AOF": replAOF, "REPL_SLAVE": replReplica, "REPL_REPLICA": replReplica, "REPL_ALL": replAll,
		"REDIS_VERSION_NUM": redisVersionNum,
	} {
		t.RawSetString(name, lua.LNumber(n))
	}
	t.RawSetString("REDIS_VERSION", lua.LString(redisVersion))
	return t
}

// refuse raises an error of the API.
func refuse(L *lua.LState, text string) { L.Error(errorTable(L, "ERR "+text), 0) }

// arguments reads the arguments of the running function as those of a command, or says what is wrong with them. They are
// valid until the next call.
func (rt *Runtime) arguments(L *lua.LState) (args [][]byte, problem string) {
	n := L.GetTop()
	if n == 0 {
		return nil, "Please specify at least one argument for this redis lib call"
	}
	rt.args, rt.argBytes = rt.args[:0], rt.argBytes[:0]
	for i := 1; i <= n; i++ {
		from := len(rt.argBytes)
		switch v := L.Get(i).(type) {
		case lua.LString:
			rt.argBytes = append(rt.argBytes, v...)
		case lua.LNumber:
			const exactDigits = 17
			rt.argBytes = appendNumber(rt.argBytes, float64(v), exactDigits)
		default:
			return nil, "Lua redis lib command arguments must be strings or integers"
		}
		rt.args = append(rt.args, rt.argBytes[from:len(rt.argBytes):len(rt.argBytes)])
	}
	return rt.args, ""
}

// keptBytes bounds the memory for arguments that is kept for the next call.
const keptBytes = 1 << 20

func (rt *Runtime) call(L *lua.LState, raises bool) int {
	var v lua.LValue
	if args, problem := rt.arguments(L); problem != "" {
		v = errorTable(L, "ERR "+problem)
	} else {
		v = rt.value(L, rt.hostCall(args))
	}
	if clear(rt.args); cap(rt.argBytes) > keptBytes {
		rt.argBytes = nil
	}
	if t, isTable := v.(*lua.LTable); raises && isTable && t.RawGetString("err") != lua.LNil {
		L.Error(t, 0)
	}
	L.Push(v)
	return 1
}

func (rt *Runtime) log(L *lua.LState) int {
	n := L.GetTop()
	level, isNumber := asNumber(L.Get(1))
	switch {
	case n < 2:
		refuse(L, "redis.log() requires two arguments or more.")
	case !isNumber:
		refuse(L, "First argument must be a number (log level).")
	case level < 0 || level >= 4:
		refuse(L, "Invalid debug level.")
	}
	words := make([]string, 0, n-1)
	for i := 2; i <= n; i++ {
		if s, isText := textOf(L.Get(i)); isText {
			words = append(words, s)
		}
	}
	rt.host.Log(int(level), strings.Join(words, " "))
	return 0
}

func (rt *Runtime) setResp(L *lua.LState) int {
	if L.GetTop() != 1 {
		refuse(L, "redis.setresp() requires one argument.")
	}
	version, _ := asNumber(L.Get(1))
	if version != 2 && version != 3 {
		refuse(L, "RESP version must be 2 or 3.")
	}
	rt.resp3 = version == 3
	return 0
}

func (rt *Runtime) mayRun(L *lua.LState) int {
	args, problem := rt.arguments(L)
	if problem != "" {
		refuse(L, problem)
	}
	known, allowed := rt.host.MayRun(args)
	if !known {
		refuse(L, "Invalid command passed to redis.acl_check_cmd()")
	}
	L.Push(lua.LBool(allowed))
	return 1
}

// single makes a table with one field of the argument, or answers with what is wrong with it.
func single(L *lua.LState, field string, use func(s string) string) int {
	s, isString := L.Get(1).(lua.LString)
	if L.GetTop() != 1 || !isString {
		L.Push(errorTable(L, "ERR wrong number or type of arguments"))
		return 1
	}
	t := L.CreateTable(0, 1)
	t.RawSetString(field, lua.LString(use(string(s))))
	L.Push(t)
	return 1
}

// errorReply gives an error without a code the code ERR.
func errorReply(L *lua.LState) int {
	return single(L, "err", func(s string) string {
		s = strings.Trim(strings.TrimPrefix(s, "-"), "\r\n")
		if strings.Contains(s, " ") {
			return s
		}
		return "ERR " + s
	})
}

func statusReply(L *lua.LState) int {
	return single(L, "ok", func(s string) string { return s })
}

func sha1Hex(L *lua.LState) int {
	if L.GetTop() != 1 {
		refuse(L, "wrong number of arguments")
	}
	text, _ := textOf(L.Get(1)) // of what is no text it is that of an empty one
	return pushString(L, SHA1([]byte(text)))
}

// SHA1 is the name of a script: the digest of its text in hexadecimal.
func SHA1(text []byte) string {
	sum := sha1.Sum(text)
	return hex.EncodeToString(sum[:])
}

func setRepl(L *lua.LState) int {
	if L.GetTop() != 1 {
		refuse(L, "redis.set_repl() requires two arguments.")
	}
	if flags, isNumber := asNumber(L.Get(1)); !isNumber || int(flags)&^replAll != 0 {
		refuse(L, "Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.")
	}
	return 0
}

// openOS has os.clock, the one function of that library that scripts may use.
func openOS(L *lua.LState) {
	started := time.Now()
	L.SetGlobal("os", newModule(L, map[string]lua.LGFunction{"clock": func(L *lua.LState) int {
		L.Push(lua.LNumber(time.Since(started).Seconds()))
		return 1
	}}))
}
