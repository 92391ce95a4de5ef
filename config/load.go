package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

const (
	helpFlag    = "help"
	versionFlag = "version"
)

// ErrHelp and ErrVersion are what Load returns when the command line asks for help (--help, or -h alone) or for the
// version (--version, or -v alone). Nothing has been read then.
var (
	ErrHelp    = errors.New("help requested")
	ErrVersion = errors.New("version requested")
)

// stdinName is what stands for standard input on the command line; in errors it is called <stdin>.
const stdinName = "-"

// Load reads the command line, args, as it follows the program's name: first, if wanted, the path of a configuration
// file or "-" for stdin; then flags: --name value, --name value value …, --name=value, or a flag and its values in one
// argument, which is then a line of the file. A value that begins with two dashes needs the form with "=", or that line.
// Flags win over the file whatever their order.
//
// Either all parameters get their values or none, and the error is one line that names the place, the parameter, its
// value and what it must be. Load is called once, before the handles are used; it runs no OnChange hooks.
func (r *Registry) Load(args []string, stdin io.Reader) error {
	r.changing.Lock()
	defer r.changing.Unlock()
	source, flags, err := splitArgs(args)
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("working directory: %w", err)
	}
	l := newLoader(r, dir)
	switch source {
	case "":
	case stdinName:
		err = l.main(stdin)
	default:
		err = l.mainFile(source)
	}
	if err != nil {
		return err
	}
	if err := l.flags(flags); err != nil {
		return err
	}
	if err := l.check(); err != nil {
		return err
	}
	for p, g := range l.given {
		p.publish(g.text)
	}
	r.changing.dir = dir
	if source != "" && source != stdinName {
		file := l.resolve(source)
		r.file.Store(&file)
	}
	return nil
}

// main reads the configuration from stdin.
func (l *loader) main(stdin io.Reader) error {
	const name = "<stdin>"
	data, err := l.readAll(stdin)
	if err != nil {
		return &fault{name + ": " + err.Error()}
	}
	return l.parse(data, name, true)
}

// mainFile reads the configuration file named on the command line.
func (l *loader) mainFile(path string) error {
	data, info, err := l.readFile(path)
	if err != nil {
		return &fault{path + ": " + err.Error()}
	}
	l.open = append(l.open, info)
	return l.parse(data, path, true)
}

// flagArgs is a flag and the values after it.
type flagArgs struct {
	name   string // without dashes
	values []string
}

// splitArgs cuts the command line into the file and the flags with their values. pflag gives a flag one value, while a
// parameter such as save or bind takes several, hence the cut before pflag sees them.
func splitArgs(args []string) (source string, flags []flagArgs, err error) {
	if len(args) > 0 && !strings.HasPrefix(args[0], "--") {
		source, args = args[0], args[1:]
		switch {
		case source == "-h":
			return "", nil, ErrHelp
		case source == "-v":
			return "", nil, ErrVersion
		case source == "":
			return "", nil, &fault{"the path of the configuration file is empty"}
		case source[0] == '-' && source != stdinName:
			return "", nil, &fault{"unknown option " + shown(source)}
		}
	}
	for _, arg := range args {
		name, isFlag := strings.CutPrefix(arg, "--")
		if !isFlag {
			if len(flags) == 0 {
				return "", nil, &fault{"unexpected argument " + shown(arg)}
			}
			last := &flags[len(flags)-1]
			last.values = append(last.values, arg)
			continue
		}
		f, err := splitFlag(name)
		if err != nil {
			return "", nil, err
		}
		switch strings.ToLower(f.name) {
		case helpFlag:
			return "", nil, ErrHelp
		case versionFlag:
			return "", nil, ErrVersion
		}
		flags = append(flags, f)
	}
	return source, flags, nil
}

// splitFlag takes apart what follows the dashes of a flag: its name, name=value, or a line of the file.
func splitFlag(arg string) (f flagArgs, err error) {
	end := strings.IndexAny(arg, "= \t")
	switch {
	case end < 0:
		return flagArgs{name: arg}, nil
	case arg[end] == '=':
		return flagArgs{arg[:end], []string{arg[end+1:]}}, nil
	}
	f.name = arg[:end]
	if f.values, err = splitWords(arg[end:]); err != nil {
		return f, &fault{"--" + f.name + ": " + err.Error()}
	}
	return f, nil
}

// flags reads the flags of the command line.
func (l *loader) flags(flags []flagArgs) error {
	set := l.r.flagSet(l)
	for _, f := range flags {
		p, arg := l.r.find(f.name), "--"+f.name
		if p == nil {
			if err := l.special(place{directive: arg, args: f.values}, "unknown option "+shown(arg)); err != nil {
				return err
			}
			continue
		}
		if len(f.values) > 0 {
			arg += "=" + quoteWords(f.values)
		}
		err := set.Parse([]string{arg})
		if _, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
			err = (&flagValue{l, p}).assign(nil)
		}
		if refused, ok := errors.AsType[*fault](err); ok {
			return refused // without the words that pflag puts around it
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// flagSet returns a flag for every parameter. The flags assign to l, which may be nil if the set is only to be printed.
func (r *Registry) flagSet(l *loader) *pflag.FlagSet {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if p := r.find(name); p != nil {
			return pflag.NormalizedName(p.name)
		}
		return pflag.NormalizedName(name)
	})
	for _, p := range r.params {
		flag := set.VarPF(&flagValue{l, p}, p.name, "", p.usage())
		flag.Hidden = p.inert != "" || p.fixed != ""
		if p.kind == boolKind && l != nil {
			flag.NoOptDefVal = "yes"
		}
	}
	return set
}

// flagValue is a parameter as pflag wants it.
type flagValue struct {
	l *loader
	p *param
}

// Set implements pflag.Value. text is the quoted words that loader.flags made.
func (v *flagValue) Set(text string) error {
	words, err := splitWords(text)
	if err != nil {
		return err
	}
	return v.assign(words)
}

func (v *flagValue) assign(words []string) error {
	_, err := v.l.assign(v.p, place{directive: "--" + v.p.name, args: words})
	return err
}

// String implements pflag.Value. It is empty, which keeps pflag from printing a default of its own beside usage's.
func (v *flagValue) String() string { return "" }

// Type implements pflag.Value.
func (v *flagValue) Type() string { return v.p.kind }

// openRange is a range that ends where the type of the number does, which tells nobody anything.
var openRange = regexp.MustCompile(`between (-?\d+) and 9223372036854775807`)

// usage is the help of a parameter: what it is, its default, its range.
func (p *param) usage() string {
	var notes []string
	switch {
	case p.secret:
	case p.def == "":
		notes = append(notes, "default empty")
	default:
		notes = append(notes, "default "+p.fileText(p.def))
	}
	if p.allowed != "" && p.kind != boolKind && !strings.Contains(p.kind, "|") {
		notes = append(notes, openRange.ReplaceAllString(p.allowed, "from $1"))
	}
	if p.immutable || p.pinned {
		notes = append(notes, "only at start")
	}
	if len(notes) == 0 {
		return p.doc
	}
	return strings.TrimSpace(p.doc + " (" + strings.Join(notes, "; ") + ")")
}

// usageWidth is where lines of --help end.
const usageWidth = 100

// Usage writes the body of --help: every parameter in the order of the alphabet, with what it is below its name, those
// that nothing depends on by name only.
func (r *Registry) Usage(w io.Writer) {
	for _, p := range slices.SortedFunc(slices.Values(r.params), func(a, b *param) int { return strings.Compare(a.name, b.name) }) {
		if p.inert == "" && p.fixed == "" {
			head := "  --" + p.name + " " + p.kind
			if len(head) > usageWidth {
				fmt.Fprintf(w, "  --%s\n", p.name)
				writeWords(w, "      ", strings.Fields(strings.ReplaceAll(p.kind, "|", " | ")))
			} else {
				fmt.Fprintln(w, head)
			}
			writeWords(w, "      ", strings.Fields(p.usage()))
		}
	}
	var inert, fixed []string
	for _, p := range r.params {
		switch {
		case p.fixed != "":
			fixed = append(fixed, p.name)
		case p.inert != "":
			inert = append(inert, p.name)
		}
	}
	listNames(w, "Known, and refused with any value but the default:", fixed)
	listNames(w, "Accepted, and without effect:", inert)
}

// listNames writes names in the order of the alphabet below a title.
func listNames(w io.Writer, title string, names []string) {
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	fmt.Fprintf(w, "\n%s\n", title)
	writeWords(w, "  ", names)
}

// writeWords writes words behind an indentation, as many on a line as fit.
func writeWords(w io.Writer, indent string, words []string) {
	line := ""
	for _, word := range words {
		if line != "" && len(indent)+len(line)+1+len(word) > usageWidth {
			fmt.Fprintf(w, "%s%s\n", indent, line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	fmt.Fprintf(w, "%s%s\n", indent, line)
}
