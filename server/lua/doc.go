// Package lua runs scripts as Redis does: Lua 5.1, by gopher-lua, in an environment that scripts cannot leave, change or
// exhaust, with the functions through which they reach the server. It knows the server only as a [Host].
//
// # The watch
//
// Scripts are strangers' code. gopher-lua asks the context of a state before each instruction whether it is done; that question
// is our hook (watch.go). It looks at the instruction that comes next and refuses what must not happen: writes to a read-only
// table, a string or a table that would take too much memory, anything at all once the script was killed. This costs some
// nanoseconds per instruction and needs to know how gopher-lua lays out its frames, which it does not tell: internals.go mirrors
// it and checks the mirror when the program starts. The other ways were worse. A proxy in place of each read-only table makes
// each use of redis.call three look-ups and pairs(string) empty; rewriting the syntax tree makes each t[i] = v a call; a
// goroutine that polls the use of memory comes too late, since one instruction can ask for gigabytes.
//
// # Memory
//
// What instructions and library functions may allocate is added up, roughly and generously; each 32 MiB the heap is
// measured (memory.go), and a script that really holds more than [BytesMax] gets the error "not enough memory". Strings and
// arrays are held against what is left before they are made. Calls nest up to 16,000 deep.
//
// # The rest
//
// The libraries are our own where those of gopher-lua differ from the C ones in what they accept, answer or cost: base.go,
// strings.go (patterns.go matches, counting steps), tables.go, maths.go (with Redis's random numbers), coroutines.go. Errors of
// the machine get the words of the C machine in messages.go, which reads the variable's name out of the code. convert.go turns
// replies into values and back, api.go has redis.call and its kin, source.go bounds what the compiler is given.
package lua
