package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const includeDirective = "include"

// Limits of configuration files. All are far above what a sensible file needs, and small enough that a wrong path (a
// device, a dump, files that include each other) ends in an error at once.
const (
	lineBytesMax    = 128 << 10 // a value of valueBytesMax with every byte escaped, and its name
	readBytesMax    = 16 << 20  // of all files together
	readFilesMax    = 1024      // so that files included many times over do not multiply
	includeDepthMax = 16
	shownBytesMax   = 100 // of a value in an error
)

// fault is an error of Load: one line that says where, which parameter, which value, and what it must be.
type fault struct{ text string }

func (e *fault) Error() string { return e.text }

// place is where a value was given: on a line of a file, or by a flag.
type place struct {
	file      string // as shown in errors; "" for a flag
	line      int    // counted from 1
	directive string // as written, with the dashes of a flag
	args      []string
}

func (at place) String() string {
	if at.file == "" {
		return ""
	}
	return at.file + ":" + strconv.Itoa(at.line) + ": "
}

// fault describes a value that p refused.
func (at place) fault(p *param, err error) error {
	subject := strings.ToLower(at.directive)
	switch {
	case p.secret:
		subject += " (value not shown)"
	case len(at.args) > 0:
		subject += " " + shown(strings.Join(at.args, " "))
	}
	reason := err.Error()
	if _, ok := errors.AsType[invalid](err); ok {
		reason = "must be " + p.allowed
	} else if errors.Is(err, errWordCount) && p.allowed != "" {
		reason += ", which must be " + p.allowed
	}
	return &fault{at.String() + subject + ": " + reason}
}

// shown quotes text for an error: on one line and not too long.
func shown(text string) string {
	if len(text) > shownBytesMax {
		return strconv.Quote(text[:shownBytesMax]) + "…"
	}
	return strconv.Quote(text)
}

var (
	errWordCount = errors.New("takes exactly one value")
	errNoValue   = errors.New("takes a value")
)

// given is what a loader has read for one parameter so far.
type given struct {
	text  string // canonical
	at    place  // of the last line or flag that gave it
	order int    // of at among everything read
	lines []line // of files, in the order read
}

// line says where a file gave a value.
type line struct {
	number int  // counted from 1
	main   bool // in the file that Load was called with; else in one that it includes
}

// loader reads files and flags into candidate values. Nothing is in force before all of it has been accepted.
type loader struct {
	r         *Registry
	dir       string // to which include is relative
	given     map[*param]*given
	order     int
	bytesLeft int
	filesLeft int
	open      []fs.FileInfo // the files being read, outermost first
	states    map[string][]stateLine
	rewrites  bool // what is read has been in force since the start
}

// stateLine is a line of a State.
type stateLine struct {
	line
	words []string // without the name
}

func newLoader(r *Registry, dir string) *loader {
	return &loader{r: r, dir: dir, given: make(map[*param]*given), states: make(map[string][]stateLine), bytesLeft: readBytesMax, filesLeft: readFilesMax}
}

// text returns the value of p by what has been read.
func (l *loader) text(p *param) string {
	if g := l.given[p]; g != nil {
		return g.text
	}
	return p.def
}

// assign takes one value for p from at. It returns what is known about p now.
func (l *loader) assign(p *param, at place) (*given, error) {
	text, err := joinArgs(p, at.args)
	if err != nil {
		return nil, at.fault(p, err)
	}
	old := l.given[p]
	// Flags do not add to what files said, they replace it.
	addsUp := p.lineWords > 0 && !p.partial && text != "" && old != nil && (old.at.file == "") == (at.file == "")
	if addsUp {
		text = strings.TrimSpace(old.text + " " + text)
	}
	canonical, err := p.accept(l.text(p), text)
	if err != nil {
		return nil, at.fault(p, err)
	}
	l.order++
	g := &given{text: canonical, at: at, order: l.order}
	if old != nil {
		g.lines = old.lines
	}
	l.given[p] = g
	return g, nil
}

// joinArgs makes one text of the words after a directive.
func joinArgs(p *param, args []string) (string, error) {
	switch {
	case p.many && len(args) == 0:
		return "", errNoValue
	case !p.many && len(args) != 1:
		return "", errWordCount
	}
	return strings.Join(args, " "), nil
}

// readFile reads the configuration file at path. Errors of the file system have no prefix: the caller knows who named it.
func (l *loader) readFile(path string) ([]byte, fs.FileInfo, error) {
	if l.filesLeft--; l.filesLeft < 0 {
		return nil, nil, fmt.Errorf("more than %d files included", readFilesMax)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, bareError(err)
	}
	defer f.Close() // read only: nothing to lose
	info, err := f.Stat()
	if err != nil {
		return nil, nil, bareError(err)
	}
	data, err := l.readAll(f)
	return data, info, err
}

func (l *loader) readAll(in io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, int64(l.bytesLeft)+1))
	if err != nil {
		return nil, bareError(err)
	}
	if l.bytesLeft -= len(data); l.bytesLeft < 0 {
		return nil, fmt.Errorf("configuration is longer than %d bytes", readBytesMax)
	}
	return data, nil
}

// bareError drops operation and path from an error of the file system.
func bareError(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

// parse reads the lines of a file. file is its name in errors.
func (l *loader) parse(data []byte, file string, main bool) error {
	for number := 1; len(data) > 0; number++ {
		var raw []byte
		raw, data, _ = bytes.Cut(data, []byte("\n"))
		at := place{file: file, line: number}
		if len(raw) > lineBytesMax {
			return &fault{fmt.Sprintf("%sline is longer than %d bytes", at, lineBytesMax)}
		}
		words, err := parseLine(string(raw))
		if err != nil {
			// The line may hold a secret; its first word does not.
			return &fault{fmt.Sprintf("%s%s: %v", at, shown(strings.Fields(string(raw))[0]), err)}
		}
		if len(words) == 0 {
			continue
		}
		at.directive, at.args = words[0], words[1:]
		if err := l.directive(at, main); err != nil {
			return err
		}
		if name := strings.ToLower(at.directive); l.r.states[name] != nil {
			l.states[name] = append(l.states[name], stateLine{line{number, main}, at.args})
		}
	}
	return nil
}

// parseLine returns the words of a line, none if it is blank or a comment.
func parseLine(raw string) ([]string, error) {
	raw = strings.TrimFunc(raw, func(c rune) bool { return c < 0x80 && isBlank(byte(c)) })
	if strings.HasPrefix(raw, "#") {
		return nil, nil
	}
	return splitWords(raw)
}

func (l *loader) directive(at place, main bool) error {
	if strings.EqualFold(at.directive, includeDirective) {
		return l.include(at)
	}
	p := l.r.find(at.directive)
	if p == nil {
		return l.special(at, "unknown directive "+shown(at.directive))
	}
	g, err := l.assign(p, at)
	if err != nil {
		return err
	}
	g.lines = append(g.lines, line{at.line, main})
	return nil
}

// special handles a directive that is no parameter. unknown is the fault if there is none of that name either.
func (l *loader) special(at place, unknown string) error {
	name := strings.ToLower(strings.TrimPrefix(at.directive, "--"))
	accept := l.r.directives[name]
	if accept == nil {
		return &fault{at.String() + unknown}
	}
	if l.rewrites && l.r.states[name] != nil {
		return nil
	}
	if err := accept(at.args); err != nil {
		// Its words are not shown: they may hold a password (user).
		return &fault{at.String() + strings.ToLower(at.directive) + ": " + err.Error()}
	}
	return nil
}

// include reads the files that a directive names, in order of their names. As in Redis, a glob may match no file, while a
// plain name must exist.
func (l *loader) include(at place) error {
	fail := func(format string, args ...any) error {
		return &fault{fmt.Sprintf("%s%s %s: %s", at, includeDirective, shown(strings.Join(at.args, " ")), fmt.Sprintf(format, args...))}
	}
	if len(at.args) != 1 || at.args[0] == "" {
		return fail("takes exactly one path")
	}
	if len(l.open) >= includeDepthMax {
		return fail("files include each other more than %d deep", includeDepthMax)
	}
	paths := []string{l.resolve(at.args[0])}
	if strings.ContainsAny(at.args[0], "*?[") {
		var err error
		if paths, err = filepath.Glob(paths[0]); err != nil {
			return fail("%v", err)
		}
	}
	for _, path := range paths {
		data, info, err := l.readFile(path)
		if err != nil {
			return fail("%v", err)
		}
		for _, open := range l.open {
			if os.SameFile(open, info) {
				return fail("file includes itself")
			}
		}
		l.open = append(l.open, info)
		if err := l.parse(data, path, false); err != nil {
			return err
		}
		l.open = l.open[:len(l.open)-1]
	}
	return nil
}

// resolve makes a path absolute, so that it means the same file after the server changed its directory.
func (l *loader) resolve(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(l.dir, path)
}

// check tests the rules between parameters, and blames what was read last.
func (l *loader) check() error {
	next := make(map[*param]string, len(l.given))
	for p, g := range l.given {
		next[p] = g.text
	}
	for _, rule := range l.r.rules {
		err := rule.check(Values{l.r, next})
		if err == nil {
			continue
		}
		blamed, last := rule.params[0], &given{at: place{directive: rule.params[0].name}}
		for _, p := range rule.params {
			if g := l.given[p]; g != nil && g.order > last.order {
				blamed, last = p, g
			}
		}
		return last.at.fault(blamed, err)
	}
	return nil
}
