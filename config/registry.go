// Package config is the registry of parameters: their names, types, defaults and ranges, the file and the command line
// they are read from, and CONFIG GET, SET and REWRITE.
//
// The package registers nothing itself. The server registers each parameter once and keeps the handle it gets, whose Get
// is one atomic load and may be called from anywhere:
//
//	r := config.New()
//	topK := r.Int("hotkeys-top-k", 0, 0, 1000, config.Doc("number of hot keys reported; 0 turns tracking off"))
//	r.OnChange([]string{"hotkeys-top-k"}, func() error { return tracker.Resize(topK.Get()) })
//	err := r.Load(os.Args[1:], os.Stdin)
//
// Registration comes first and from one goroutine; after that every method may be called from any goroutine. A value
// exists in two forms: its canonical text, which CONFIG GET prints, and what the handle returns. A change always makes
// the text first, so there is one parser for each type, whether a value comes from a file, a flag or a client.
package config

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Registry holds the parameters of one server.
type Registry struct {
	params []*param          // in the order of registration
	byName map[string]*param // by name and by alias
	rules  []rule
	hooks  []hook

	directives map[string]func(args []string) error // by name, in small letters
	states     map[string]func() [][]string         // of those that are more than a word of the file

	changing struct {
		sync.Mutex        // held by Load, Set and Rewrite: one change at a time
		dir        string // working directory at start, to which include is relative
	}
	file atomic.Pointer[string] // absolute path of the file read at start; nil: none
}

// New returns a registry without parameters.
func New() *Registry {
	return &Registry{byName: make(map[string]*param), directives: make(map[string]func([]string) error), states: make(map[string]func() [][]string)}
}

// param is one parameter, whatever its type.
type param struct {
	name      string
	aliases   []string
	doc       string
	kind      string // of value, for --help: int, size, text, …
	allowed   string // what a value must be, to complete "must be …"; empty where the error of parse says it
	immutable bool
	pinned    bool
	secret    bool
	guarded   bool   // SetGuarded changes it, Set does not
	inert     string // why it has no effect; empty: it has
	fixed     string // why nothing but the default is accepted; empty: more is
	many      bool   // the value is all words of its line, joined by blanks
	partial   bool   // a value changes the parts it names and leaves the rest
	lineWords int    // > 0: lines of the file add up, and Rewrite writes this many words on each

	def   string
	parse func(text string) (canonical string, err error)
	store func(canonical string)        // publishes through the handle
	print func(canonical string) string // form in the file; nil: the canonical text itself
	text  atomic.Pointer[string]        // canonical text of the value in force
}

// value returns the canonical text of the value in force.
func (p *param) value() string { return *p.text.Load() }

// accept turns a value as given into canonical text, or refuses it. old is the value it would replace.
func (p *param) accept(old, given string) (string, error) {
	if len(given) > valueBytesMax {
		return "", errTooLong
	}
	if p.partial {
		given = strings.TrimSpace(old + " " + given)
	}
	canonical, err := p.parse(given)
	if err != nil {
		return "", err
	}
	if len(canonical) > valueBytesMax {
		return "", errTooLong
	}
	if p.fixed != "" && canonical != p.def {
		return "", fmt.Errorf("%s: only %q is accepted", p.fixed, p.fileText(p.def))
	}
	return canonical, nil
}

// publish makes canonical, which accept returned, the value in force.
func (p *param) publish(canonical string) {
	p.store(canonical)
	p.text.Store(&canonical)
}

// Option changes how a parameter behaves.
type Option func(p *param)

// Immutable makes a parameter settable at start only.
func Immutable() Option { return func(p *param) { p.immutable = true } }

// Pinned makes a parameter settable at start only, too, but Set accepts the value that it has: clients that write back all
// they have read do so with parameters that are immutable here and not in Redis.
func Pinned() Option { return func(p *param) { p.pinned = true } }

// Alias adds another name, under which the parameter can be set and read. Rewrite writes the first name.
func Alias(name string) Option { return func(p *param) { p.aliases = append(p.aliases, name) } }

// Secret keeps the values of a parameter out of error texts and --help. CONFIG GET shows them, as in Redis.
func Secret() Option { return func(p *param) { p.secret = true } }

// Guarded keeps a parameter from Set: it takes SetGuarded to change it at run time.
func Guarded() Option { return func(p *param) { p.guarded = true } }

// Inert says that a parameter is kept and shown, and that nothing depends on it, for the reason given. --help lists it
// by name only, and Ineffective finds it.
func Inert(reason string) Option { return func(p *param) { p.inert = reason } }

// Fixed refuses every value but the default, with the reason given. It is for what would be a promise that the program
// cannot keep. --help lists the parameter by name only.
func Fixed(reason string) Option { return func(p *param) { p.fixed = reason } }

// Allowed says what a value must be, to complete "must be …", for parameters that are more than their type.
func Allowed(text string) Option { return func(p *param) { p.allowed = text } }

// Doc sets the line that --help prints.
func Doc(line string) Option { return func(p *param) { p.doc = line } }

// Repeats lets lines of the configuration file add up instead of the last one winning: their words are joined to one
// value. An empty value forgets the lines before it. Rewrite writes lineWords words on a line (save: 2). It is for
// Custom and Strings parameters.
func Repeats(lineWords int) Option { return func(p *param) { p.lineWords = lineWords } }

// Partial says that a value may name some parts only and leaves the others as they are: what is parsed is the value in
// force followed by the one given, so the parser must let later parts win over earlier ones and put all in a fixed order
// (client-output-buffer-limit). It is for Custom parameters that repeat.
func Partial() Option { return func(p *param) { p.partial = true } }

// add completes and enters a parameter. Mistakes in a registration are faults of the program and panic.
func (r *Registry) add(p *param, opts []Option) {
	for _, opt := range opts {
		opt(p)
	}
	for _, name := range append([]string{p.name}, p.aliases...) {
		r.claim(name)
		r.byName[name] = p
	}
	canonical, err := p.accept("", p.def)
	if err != nil {
		panic(fmt.Sprintf("config: default of %s: %v", p.name, err))
	}
	p.def = canonical
	p.publish(canonical)
	r.params = append(r.params, p)
}

// claim panics if name cannot be one more name of a parameter or directive.
func (r *Registry) claim(name string) {
	if !validName(name) {
		panic(fmt.Sprintf("config: parameter name %q is not of small letters, digits, hyphens and underscores", name))
	}
	if r.byName[name] != nil || r.directives[name] != nil {
		panic("config: parameter registered twice: " + name)
	}
}

// Directive makes a word known that is no parameter, but may begin a line of the file or be a flag. accept judges the
// words after it, and does what they ask for if that is anything; the text of its error is what the user reads. Rewrite
// keeps such lines.
func (r *Registry) Directive(name string, accept func(args []string) error) {
	r.claim(name)
	r.directives[name] = accept
}

// State is Directive for lines that describe, one after the other, something that changes at run time. accept hears of them
// once, from Load. Rewrite replaces them by what current returns, the words of each line but for its name.
func (r *Registry) State(name string, accept func(args []string) error, current func() [][]string) {
	r.Directive(name, accept)
	r.states[name] = current
}

// validName keeps names apart from what has a meaning of its own in files and on the command line.
func validName(name string) bool {
	if name == "" || name[0] == '-' || name == includeDirective || name == helpFlag || name == versionFlag {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// find returns the parameter of that name or alias, in any case, or nil.
func (r *Registry) find(name string) *param {
	return r.byName[strings.ToLower(name)]
}

// Secret reports whether the values of a parameter are nothing to be shown to others.
func (r *Registry) Secret(name string) bool {
	p := r.find(name)
	return p != nil && p.secret
}

// mustFind is find for names that the program itself uses.
func (r *Registry) mustFind(name string) *param {
	p := r.byName[name]
	if p == nil {
		panic("config: no such parameter: " + name)
	}
	return p
}

// Get returns (name, value) pairs of the parameters that the patterns name, as CONFIG GET does: a pattern without glob
// characters is a name or an alias, in any case, and is returned as written; a glob finds names and aliases. No name is
// returned twice, and they are in the order of the alphabet. Unknown names give nothing.
func (r *Registry) Get(patterns ...string) [][2]string {
	var found [][2]string
	seen := make(map[string]bool)
	add := func(key, shown string, p *param) {
		if !seen[key] {
			seen[key] = true
			found = append(found, [2]string{shown, p.value()})
		}
	}
	for _, pattern := range patterns {
		key := strings.ToLower(pattern)
		if !strings.ContainsAny(key, "*?[") {
			if p := r.byName[key]; p != nil {
				add(key, pattern, p)
			}
			continue
		}
		for _, p := range r.params {
			if globs(key, p.name) {
				add(p.name, p.name, p)
			}
			for _, alias := range p.aliases {
				if globs(key, alias) {
					add(alias, alias, p)
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return found
}

// globs reports whether pattern, in small letters, matches name. Names are of letters, digits, - and _, and over those
// path.Match has the meaning of Redis's globs; a malformed pattern finds nothing.
func globs(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// ConfigFile returns the absolute path of the file that Load read, or "" if there was none or it was standard input.
func (r *Registry) ConfigFile() string {
	if file := r.file.Load(); file != nil {
		return *file
	}
	return ""
}
