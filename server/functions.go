package server

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"kvserver/glob"
	"kvserver/info"
	"kvserver/server/lua"
	"kvserver/store/rdb"
)

// functionRows belong to the scripting commands.
var functionRows = []row{
	{"fcall", -3, noscript | stale | skipMonitor | noMandatoryKeys | mayReplicate | runsScripts, specs{keysNum(kRW|kAccess|kUpdate, 2)}, "7.0.0", "Invokes a function.", fcall},
	{"fcall_ro", -3, readonly | noscript | stale | skipMonitor | noMandatoryKeys | runsScripts, specs{keysNum(kRO|kAccess, 2)}, "7.0.0", "Invokes a read-only function.", fcall},
	{"function", -2, 0, nil, "7.0.0", "A container for function commands.", nil},
}

var functionSubRows = []row{
	{"delete", 3, write | noscript | exclusive, nil, "7.0.0", "Deletes a library and its functions.", functionDelete},
	{"dump", 2, noscript, nil, "7.0.0", "Dumps all libraries into a serialized binary payload.", functionDump},
	{"flush", -2, write | noscript | exclusive, nil, "7.0.0", "Deletes all libraries and functions.", functionFlush},
	{"help", 2, loading | stale, nil, "7.0.0", "Returns helpful text about the different subcommands.", functionHelp},
	{"kill", 2, noscript | allowBusy, nil, "7.0.0", "Terminates a function during execution.", functionKill},
	{"list", -2, noscript, nil, "7.0.0", "Returns information about all libraries.", functionList},
	{"load", -3, write | denyoom | noscript | runsScripts, nil, "7.0.0", "Creates a library.", functionLoad},
	{"restore", -3, write | denyoom | noscript | runsScripts, nil, "7.0.0", "Restores all libraries from a payload.", functionRestore},
	{"stats", 2, noscript | allowBusy, nil, "7.0.0", "Returns information about a function during execution.", functionStats},
}

// functions is the state of functions. It changes under the gate only, and only by commands that are never past their time:
// so whoever holds a slot may read it.
type functions struct {
	loader    *lua.LibraryLoader // nil before the first use
	libraries lua.Libraries
}

// memoryInfo is the part of INFO memory for functions.
func (fs *functions) memoryInfo(w *info.Writer) {
	libraries, functions := fs.libraries.Len()
	w.Int("number_of_functions", int64(functions))
	w.Int("number_of_libraries", int64(libraries))
	w.Int("used_memory_functions", fs.libraries.Bytes())
}

// functionEngine is the one engine there is, as the first line of a library names it in any case.
const functionEngine = "LUA"

func fcall(c *client, args [][]byte) {
	c.feedMonitors(args)
	f := c.s.functions.libraries.Function(string(args[1]))
	if f == nil {
		c.fail("ERR Function not found")
		return
	}
	if _, isInt := parseInt(args[2]); !isInt {
		c.fail("ERR Bad number of keys provided")
		return
	}
	keys, rest, ok := c.keysAndArgs(args)
	if !ok {
		return
	}
	c.runScript(&scriptRun{
		name: f.Name, function: true, command: args, fn: f.Callback(), flags: f.Flags,
		readOnly: c.cmd.flags&readonly != 0, keys: keys, args: rest,
	})
}

// loadLibrary makes a library of its code. into is where it shall come: its name must be free there, unless it may replace
// one. Errors are worded as Redis's.
func (s *Server) loadLibrary(into *lua.Libraries, code []byte, replace bool) (*lua.Library, error) {
	engine, name, err := readLibraryLine(code)
	switch {
	case err != nil:
		return nil, err
	case !lua.IsName(name):
		return nil, errors.New(lua.ErrName)
	case !strings.EqualFold(engine, functionEngine):
		return nil, fmt.Errorf("Engine '%s' not found", engine)
	case into.Has(name) && !replace:
		return nil, fmt.Errorf("Library '%s' already exists", name)
	}
	if s.functions.loader == nil {
		s.functions.loader = lua.NewLibraryLoader(s.scriptRuntime())
	}
	return s.functions.loader.Load(name, string(code))
}

// readLibraryLine reads the first line of a library, such as "#!lua name=counters".
func readLibraryLine(code []byte) (engine, name string, err error) {
	if !bytes.HasPrefix(code, []byte("#!")) {
		return "", "", errors.New("Missing library metadata")
	}
	line, _, ended := bytes.Cut(code, []byte{'\n'})
	words, err := splitWords(line, nil)
	if !ended || err != nil {
		return "", "", errors.New("Invalid library metadata")
	}
	named := false
	for _, word := range words[1:] {
		if len(word) < len("name=") || !bytes.EqualFold(word[:len("name=")], []byte("name=")) {
			return "", "", fmt.Errorf("Invalid metadata value given: %s", word)
		}
		if named {
			return "", "", errors.New("Invalid metadata value, name argument was given multiple times")
		}
		named, name = true, string(word[len("name="):])
	}
	if !named {
		return "", "", errors.New("Library name was not given")
	}
	return string(words[0][len("#!"):]), name, nil
}

func functionLoad(c *client, args [][]byte) {
	replace := false
	for _, option := range args[2 : len(args)-1] {
		if !bytes.EqualFold(option, []byte("REPLACE")) {
			c.failf("ERR Unknown option given: %s", clip(option, nameBytesMax))
			return
		}
		replace = true
	}
	libraries := &c.s.functions.libraries
	l, err := c.s.loadLibrary(libraries, args[len(args)-1], replace)
	if err == nil {
		err = libraries.Add(replace, l)
	}
	if err != nil {
		c.fail("ERR " + err.Error())
		return
	}
	c.bulkString(l.Name)
}

func functionDelete(c *client, args [][]byte) {
	if !c.s.functions.libraries.Delete(string(args[2])) {
		c.fail("ERR Library not found")
		return
	}
	c.ok()
}

func functionFlush(c *client, args [][]byte) {
	switch {
	case len(args) > 3:
		c.fail(subcommandSyntax(c.cmd.parent, args[1]))
	case len(args) == 3 && !isFlushMode(args[2]):
		c.fail("ERR FUNCTION FLUSH only supports SYNC|ASYNC option")
	default:
		c.s.functions.libraries = lua.Libraries{}
		c.ok()
	}
}

func functionList(c *client, args [][]byte) {
	var pattern []byte // in small letters: names are matched without regard to case
	withCode := false
	for i := 2; i < len(args); i++ {
		switch option := args[i]; {
		case !withCode && bytes.EqualFold(option, []byte("WITHCODE")):
			withCode = true
		case pattern == nil && bytes.EqualFold(option, []byte("LIBRARYNAME")):
			if i++; i == len(args) {
				c.fail("ERR library name argument was not given")
				return
			}
			pattern = append([]byte{}, bytes.ToLower(args[i])...)
		default:
			c.failf("ERR Unknown argument %s", clip(option, nameBytesMax))
			return
		}
	}
	var shown []*lua.Library
	for _, l := range c.s.functions.libraries.All() {
		if pattern == nil || glob.Match(pattern, bytes.ToLower([]byte(l.Name))) {
			shown = append(shown, l)
		}
	}
	c.array(len(shown))
	for _, l := range shown {
		c.library(l, withCode)
	}
}

// library describes a library.
func (c *client) library(l *lua.Library, withCode bool) {
	fields := 3
	if withCode {
		fields++
	}
	c.mapping(fields)
	c.bulkString("library_name")
	c.bulkString(l.Name)
	c.bulkString("engine")
	c.bulkString(functionEngine)
	c.bulkString("functions")
	c.array(len(l.Functions))
	for _, f := range l.Functions {
		c.mapping(3)
		c.bulkString("name")
		c.bulkString(f.Name)
		c.bulkString("description")
		if f.HasDescription {
			c.bulkString(f.Description)
		} else {
			c.null()
		}
		c.bulkString("flags")
		names := f.Flags.Names()
		c.set(len(names))
		for _, name := range names {
			c.simple(name)
		}
	}
	if withCode {
		c.bulkString("library_code")
		c.bulkString(l.Code)
	}
}

// opFunction begins a library in a payload and in an RDB file: a string, the code, follows. (RDB_OPCODE_FUNCTION2 of rdb.h.)
// Release candidates of Redis 7.0 wrote opFunctionOld.
const (
	opFunction    rdb.Type = 245
	opFunctionOld rdb.Type = 246
)

func functionDump(c *client, _ [][]byte) {
	var payload []byte
	for _, l := range c.s.functions.libraries.All() {
		payload = rdb.AppendString(append(payload, byte(opFunction)), []byte(l.Code))
	}
	c.bulk(rdb.Seal(payload, rdb.Version))
}

func functionRestore(c *client, args [][]byte) {
	policy := []byte("APPEND")
	if len(args) > 4 {
		c.fail(subcommandSyntax(c.cmd.parent, args[1]))
		return
	}
	if len(args) == 4 {
		policy = args[3]
	}
	flush, replace := bytes.EqualFold(policy, []byte("FLUSH")), bytes.EqualFold(policy, []byte("REPLACE"))
	if !flush && !replace && !bytes.EqualFold(policy, []byte("APPEND")) {
		c.fail("ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.")
		return
	}
	restored, err := c.s.readLibraries(args[2])
	switch {
	case err != nil:
	case flush:
		c.s.functions.libraries = *restored
	default:
		err = c.s.functions.libraries.Add(replace, restored.All()...)
	}
	if err != nil {
		c.fail("ERR " + err.Error())
		return
	}
	c.ok()
}

// readLibraries loads the libraries of a payload.
func (s *Server) readLibraries(payload []byte) (*lua.Libraries, error) {
	body, _, err := rdb.Open(payload)
	if err != nil {
		return nil, errors.New("DUMP payload version or checksum are wrong")
	}
	r := rdb.NewReader(body, int(s.params.protoMaxBulkLen.Get()))
	var libraries lua.Libraries
	for r.Rest() > 0 {
		switch r.Type() {
		case opFunction:
		case opFunctionOld:
			return nil, errors.New("Pre-GA function format not supported")
		default:
			return nil, errors.New("given type is not a function")
		}
		code := r.String()
		if r.Err() != nil {
			return nil, errors.New("Failed loading library payload")
		}
		l, err := s.loadLibrary(&libraries, code, false)
		if err == nil {
			err = libraries.Add(false, l)
		}
		if err != nil {
			return nil, err
		}
	}
	return &libraries, nil
}

func functionKill(c *client, _ [][]byte) {
	if problem := c.s.scripts.kill(true); problem != "" {
		c.fail(problem)
		return
	}
	c.ok()
}

func functionStats(c *client, _ [][]byte) {
	st := &c.s.scripts
	st.mu.Lock()
	defer st.mu.Unlock()
	r := st.running
	if r != nil && !r.function {
		c.fail(errBusyScript)
		return
	}
	c.mapping(2)
	c.bulkString("running_script")
	if r == nil {
		c.null()
	} else {
		c.mapping(3)
		c.bulkString("name")
		c.bulkString(r.name)
		c.bulkString("command")
		c.array(len(r.command))
		for _, arg := range r.command {
			c.bulk(arg)
		}
		c.bulkString("duration_ms")
		c.int(time.Since(r.began).Milliseconds())
	}
	c.bulkString("engines")
	c.mapping(1)
	c.bulkString(functionEngine)
	libraries, functions := c.s.functions.libraries.Len()
	c.mapping(2)
	c.bulkString("libraries_count")
	c.int(int64(libraries))
	c.bulkString("functions_count")
	c.int(int64(functions))
}

func functionHelp(c *client, _ [][]byte) {
	c.help("function",
		"DELETE <library-name>",
		"    Delete a library with its functions.",
		"DUMP",
		"    Return all libraries as one string, for RESTORE.",
		"FLUSH [ASYNC|SYNC]",
		"    Delete all libraries. Both modes do the same.",
		"KILL",
		"    End the function that is running, unless it has written.",
		"LIST [LIBRARYNAME <pattern>] [WITHCODE]",
		"    Return the libraries, or those that match <pattern>, with their functions, and with their code if WITHCODE is given.",
		"LOAD [REPLACE] <code>",
		"    Create the library that <code> describes, in place of one of the same name if REPLACE is given.",
		"RESTORE <payload> [FLUSH|APPEND|REPLACE]",
		"    Create the libraries of a DUMP. What happens to those that there are:",
		"    * APPEND: they stay. Nothing is restored if one has the name of one of the DUMP. This is the default.",
		"    * REPLACE: those whose names are in the DUMP are replaced.",
		"    * FLUSH: all are deleted.",
		"    Nothing is restored either if two libraries would have a function of the same name.",
		"STATS",
		"    Return the function that is running, its command and for how many milliseconds; and what engines there are.")
}
