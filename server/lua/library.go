package lua

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// The code of a library runs once, when it is loaded, and registers functions, which are kept with all that they refer to. As in
// Redis the global variables of the code are those of a table that is always empty, and what its __index refers to depends on
// the moment: the little that can be used while a library is loaded, and otherwise the globals of functions, which are those of
// scripts but for KEYS and ARGV.

// A Library is code that has registered functions.
type Library struct {
	Name      string
	Code      string      // as it was given, with its first line
	Functions []*Function // in the order in which they were registered
}

// A Function is called by its name, which has no case.
type Function struct {
	Name           string
	Description    string
	HasDescription bool
	Flags          Flags
	Library        *Library

	callback *lua.LFunction
}

// LoadTimeMax is how long the code of a library may run when it is loaded.
const LoadTimeMax = 500 * time.Millisecond

// LibraryLoader loads libraries into a runtime.
type LibraryLoader struct {
	rt      *Runtime
	env     *lua.LTable // the globals of libraries
	meta    *lua.LTable // the metatable of env
	globals *lua.LTable // what __index is
	atLoad  *lua.LTable // what it is while a library is loaded
	loading *Library    // nil: none is loaded at present
}

// NewLibraryLoader makes a loader.
func NewLibraryLoader(rt *Runtime) *LibraryLoader {
	ll := &LibraryLoader{rt: rt, env: rt.NewTable(), meta: rt.NewTable(), globals: rt.NewEnvironment(), atLoad: rt.NewTable()}
	api := ll.globals.RawGetString("redis").(*lua.LTable)
	few := rt.NewTable()
	for name, value := api.Next(lua.LNil); name != lua.LNil; name, value = api.Next(name) {
		if s := name.String(); s == "log" || strings.HasPrefix(s, "LOG_") || strings.HasPrefix(s, "REDIS_VERSION") {
			few.RawSetString(s, value)
		}
	}
	few.RawSetString("register_function", rt.state.NewFunction(ll.register))
	rt.seal(few)
	ll.atLoad.RawSetString("redis", few)
	ll.atLoad.RawSetString("server", few)
	rt.seal(ll.atLoad)

	for _, name := range []string{"breakpoint", "debug", "replicate_commands"} { // which only scripts have
		api.RawSetString(name, lua.LNil)
	}
	Freeze(api)
	rt.seal(ll.globals)
	ll.meta.RawSetString("__index", ll.globals)
	ll.env.Metatable = ll.meta
	Freeze(ll.env)
	return ll
}

// Load runs the code of a library, whose first line is not Lua, and returns the library. Errors are worded as Redis's.
func (ll *LibraryLoader) Load(name, code string) (*Library, error) {
	rt := ll.rt
	_, body, _ := strings.Cut(code, "\n")
	fn, err := rt.Load("user_function", []byte("\n"+body), ll.env)
	if err != nil {
		return nil, fmt.Errorf("Error compiling function: %s", oneLine(err.Error()))
	}
	ll.loading = &Library{Name: name, Code: code}
	ll.meta.RawSetString("__index", ll.atLoad)
	defer func() {
		ll.loading = nil
		ll.meta.RawSetString("__index", ll.globals)
	}()
	fault, ok := rt.runFor(LoadTimeMax, fn, "ERR FUNCTION LOAD timeout")
	switch {
	case !ok:
		return nil, fmt.Errorf("Error registering functions: %s", errorOf(fault).Text)
	case len(ll.loading.Functions) == 0:
		return nil, errors.New("No functions registered")
	}
	return ll.loading, nil
}

// runFor calls a function that may take only so long.
func (rt *Runtime) runFor(limit time.Duration, fn *lua.LFunction, reason string) (fault lua.LValue, ok bool) {
	rt.reset()
	rt.Revive()
	var mu sync.Mutex
	over := false // mu guards it: who runs next must not be killed
	timer := time.AfterFunc(limit, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			rt.Kill(reason)
		}
	})
	_, fault = rt.enter(fn)
	timer.Stop()
	mu.Lock()
	over = true
	mu.Unlock()
	return fault, fault == nil
}

// Callback is what is called with the keys and the arguments.
func (f *Function) Callback() *lua.LFunction { return f.callback }

// register is redis.register_function(name, callback) or (table of named arguments).
func (ll *LibraryLoader) register(L *lua.LState) int {
	if ll.loading == nil {
		refuse(L, "redis.register_function can only be called on FUNCTION LOAD command")
	}
	f := &Function{Library: ll.loading}
	problem := ""
	switch L.GetTop() {
	case 1:
		problem = f.readNamed(L.Get(1))
	case 2:
		problem = f.readTwo(L.Get(1), L.Get(2))
	default:
		problem = "wrong number of arguments to redis.register_function"
	}
	switch {
	case problem != "":
	case !IsName(f.Name):
		problem = ErrName
	case slices.ContainsFunc(ll.loading.Functions, func(other *Function) bool { return strings.EqualFold(other.Name, f.Name) }):
		problem = "Function already exists in the library"
	}
	if problem != "" {
		refuse(L, problem)
	}
	ll.loading.Functions = append(ll.loading.Functions, f)
	return 0
}

func (f *Function) readTwo(name, callback lua.LValue) (problem string) {
	var ok bool
	if f.Name, ok = textOf(name); !ok {
		return "first argument to redis.register_function must be a string"
	}
	if f.callback, ok = callback.(*lua.LFunction); !ok {
		return "second argument to redis.register_function must be a function"
	}
	return ""
}

func (f *Function) readNamed(v lua.LValue) (problem string) {
	t, isTable := v.(*lua.LTable)
	if !isTable {
		return "calling redis.register_function with a single argument is only applicable to Lua table (representing named arguments)."
	}
	hasName := false
	for key, value := t.Next(lua.LNil); key != lua.LNil; key, value = t.Next(key) {
		name, isText := textOf(key)
		if !isText {
			return "named argument key given to redis.register_function is not a string"
		}
		switch strings.ToLower(name) {
		case "function_name":
			if f.Name, hasName = textOf(value); !hasName {
				return "function_name argument given to redis.register_function must be a string"
			}
		case "description":
			if f.Description, f.HasDescription = textOf(value); !f.HasDescription {
				return "description argument given to redis.register_function must be a string"
			}
		case "callback":
			if f.callback, isText = value.(*lua.LFunction); !isText {
				return "callback argument given to redis.register_function must be a function"
			}
		case "flags":
			if problem := f.readFlags(value); problem != "" {
				return problem
			}
		default:
			return "unknown argument given to redis.register_function"
		}
	}
	switch {
	case !hasName:
		return "redis.register_function must get a function name argument"
	case f.callback == nil:
		return "redis.register_function must get a callback argument"
	}
	return ""
}

func (f *Function) readFlags(v lua.LValue) (problem string) {
	t, isTable := v.(*lua.LTable)
	if !isTable {
		return "flags argument to redis.register_function must be a table representing function flags"
	}
	for i := 1; t.RawGetInt(i) != lua.LNil; i++ {
		name, _ := textOf(t.RawGetInt(i))
		flag, known := ParseFlag(strings.ToLower(name))
		if !known {
			return "unknown flag given"
		}
		f.Flags |= flag
	}
	return ""
}

// IsName tells whether a library or a function may be called so.
func IsName(name string) bool {
	for _, c := range []byte(name) {
		if c != '_' && !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return name != ""
}

// ErrName is what there is to say about other names, also those of functions.
const ErrName = "Library names can only contain letters, numbers, or underscores(_) and must be at least one character long"

// Libraries are a set of libraries whose functions all have different names. The zero value is empty.
type Libraries struct {
	byName    map[string]*Library
	functions map[string]*Function // by their names in small letters
}

// Len returns how many libraries and functions there are.
func (ls *Libraries) Len() (libraries, functions int) { return len(ls.byName), len(ls.functions) }

// Bytes returns how long the code and the names are; what the functions refer to is not known.
func (ls *Libraries) Bytes() (n int64) {
	for _, l := range ls.byName {
		n += int64(len(l.Name) + len(l.Code))
		for _, f := range l.Functions {
			n += int64(len(f.Name) + len(f.Description))
		}
	}
	return n
}

// All returns the libraries in the order of their names.
func (ls *Libraries) All() []*Library {
	all := make([]*Library, 0, len(ls.byName))
	for _, l := range ls.byName {
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b *Library) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Has tells whether there is a library of that name.
func (ls *Libraries) Has(name string) bool { return ls.byName[name] != nil }

// Function returns the function of that name, or nil.
func (ls *Libraries) Function(name string) *Function { return ls.functions[strings.ToLower(name)] }

// Delete removes a library, and tells whether there was one.
func (ls *Libraries) Delete(name string) bool {
	l := ls.byName[name]
	if l == nil {
		return false
	}
	delete(ls.byName, name)
	for _, f := range l.Functions {
		delete(ls.functions, strings.ToLower(f.Name))
	}
	return true
}

// Add puts other libraries in, in place of those with their names if replace is set. If that cannot be nothing changes, and
// the error says why in Redis's words. The functions of the other libraries all have different names.
func (ls *Libraries) Add(replace bool, libraries ...*Library) error {
	replaced := make(map[string]bool, len(libraries))
	for _, l := range libraries {
		if !replace && ls.Has(l.Name) {
			return fmt.Errorf("Library %s already exists", l.Name)
		}
		replaced[l.Name] = true
	}
	for _, l := range libraries {
		for _, f := range l.Functions {
			if there := ls.Function(f.Name); there != nil && !replaced[there.Library.Name] {
				return fmt.Errorf("Function %s already exists", f.Name)
			}
		}
	}
	if ls.byName == nil {
		ls.byName, ls.functions = map[string]*Library{}, map[string]*Function{}
	}
	for _, l := range libraries {
		ls.Delete(l.Name)
	}
	for _, l := range libraries {
		ls.byName[l.Name] = l
		for _, f := range l.Functions {
			ls.functions[strings.ToLower(f.Name)] = f
		}
	}
	return nil
}
