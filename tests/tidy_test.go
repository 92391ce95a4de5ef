package tests

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// root is the repository, seen from this package.
const root = ".."

// trackedFiles lists the files of the repository as git knows them, or all that
// are there where this is no work tree.
func trackedFiles() ([]string, error) {
	out, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err == nil {
		files := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		return slices.DeleteFunc(files, func(f string) bool {
			_, err := os.Stat(filepath.Join(root, f))
			return err != nil
		}), nil
	}
	var files []string
	err = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(root, path)
			files = append(files, rel)
		}
		return err
	})
	return files, err
}

// goFile is one parsed source file.
type goFile struct {
	path string
	src  []byte
	fset *token.FileSet
	ast  *ast.File
}

func (f goFile) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// parsedFiles parses the repository once for all tests.
var parsedFiles = sync.OnceValues(func() ([]goFile, error) {
	paths, err := trackedFiles()
	if err != nil {
		return nil, err
	}
	var files []goFile
	for _, path := range paths {
		if !strings.HasSuffix(path, ".go") {
			continue
		}
		src, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return nil, err
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, path, src, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, goFile{path, src, fset, parsed})
	}
	return files, nil
})

func goFiles(t *testing.T) []goFile {
	t.Helper()
	files, err := parsedFiles()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestTidyFormat(t *testing.T) {
	for _, f := range goFiles(t) {
		if formatted, err := format.Source(f.src); err != nil || !bytes.Equal(formatted, f.src) {
			t.Errorf("%s is not as gofmt leaves it (%v)", f.path, err)
		}
	}
}

// TestTidyPackages: every package says once what it is, and is named for what it
// holds.
func TestTidyPackages(t *testing.T) {
	docs := map[string][]string{} // by directory
	for _, f := range goFiles(t) {
		dir, name := filepath.Dir(f.path), f.ast.Name.Name
		if banned := []string{"util", "utils", "helper", "helpers", "common", "misc", "base", "types", "manager", "impl"}; slices.Contains(banned, name) {
			t.Errorf("%s: a package called %s", f.path, name)
		}
		if f.isTest() {
			continue
		}
		if docs[dir] == nil {
			docs[dir] = []string{}
		}
		if f.ast.Doc != nil {
			docs[dir] = append(docs[dir], f.path)
			want := "Package " + name
			if name == "main" {
				want = "Command " + filepath.Base(dir)
			}
			if text := f.ast.Doc.Text(); !strings.HasPrefix(text, want) && !(name == "main" && strings.HasPrefix(text, strings.ToUpper(filepath.Base(dir)[:1])+filepath.Base(dir)[1:])) {
				t.Errorf("%s: the package comment does not begin with %q", f.path, want)
			}
		}
	}
	for dir, files := range docs {
		if len(files) != 1 {
			t.Errorf("%s: %d files have a package comment, want one: %q", dir, len(files), files)
		}
	}
}

// functionLinesMax is what fits a screen.
const functionLinesMax = 70

// longFunctions are allowed to be longer. The list may only shrink.
var longFunctions = map[string]string{}

func TestTidyFunctionLength(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.isTest() {
			continue
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			lines := f.fset.Position(fn.End()).Line - f.fset.Position(fn.Pos()).Line + 1
			name := filepath.Dir(f.path) + "." + fn.Name.Name
			if lines > functionLinesMax && longFunctions[name] == "" {
				t.Errorf("%s: %s has %d lines, more than %d", f.path, name, lines, functionLinesMax)
			}
		}
	}
}

// TestTidyPrint: only commands write to the standard output; a server logs.
func TestTidyPrint(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.isTest() || f.ast.Name.Name == "main" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			switch fn := call.Fun.(type) {
			case *ast.SelectorExpr:
				if pkg, ok := fn.X.(*ast.Ident); ok && pkg.Name == "fmt" && strings.HasPrefix(fn.Sel.Name, "Print") {
					t.Errorf("%s: fmt.%s", f.fset.Position(call.Pos()), fn.Sel.Name)
				}
			case *ast.Ident:
				if fn.Name == "println" || fn.Name == "print" {
					t.Errorf("%s: %s", f.fset.Position(call.Pos()), fn.Name)
				}
			}
			return true
		})
	}
}

// importRules say which of our packages, or which libraries, a package must not
// depend on, even indirectly.
var importRules = []struct {
	pkg, why  string
	forbidden []string
}{
	{"kvserver/hotkeys", "it is a library of its own, for other servers too", []string{"kvserver/", "github.com/tidwall/redcon"}},
	{"kvserver/config", "parameters know nothing of who reads them", []string{"kvserver/", "github.com/tidwall/redcon"}},
	{"kvserver/info", "sections are registered by those who know the numbers", []string{"kvserver/", "github.com/tidwall/redcon"}},
	{"kvserver/store", "the keyspace knows neither clients nor their protocol", []string{"kvserver/server", "kvserver/config", "kvserver/info", "github.com/tidwall/redcon", "net"}},
	{"kvserver/server/transport", "it knows bytes and nothing else", []string{"kvserver/", "github.com/tidwall/redcon"}},
	{"kvserver/cmd/kvhot", "it knows servers by what they answer, so that it works with others too", []string{"kvserver/server", "kvserver/store", "kvserver/config", "kvserver/info"}},
	{"kvserver/server/web", "it shows what it is given", []string{"kvserver/", "github.com/tidwall/redcon"}},
	{"kvserver/server", "imports point from cmd to server, not back", []string{"kvserver/cmd", "kvserver/tests"}},
}

func TestTidyImports(t *testing.T) {
	for _, rule := range importRules {
		cmd := exec.Command("go", "list", "-deps", rule.pkg)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("go list -deps %s: %v\n%s", rule.pkg, err, out)
			continue
		}
		for dep := range strings.FieldsSeq(string(out)) {
			if dep == rule.pkg || strings.HasPrefix(dep, rule.pkg+"/") {
				continue
			}
			for _, f := range rule.forbidden {
				if dep == f || strings.HasSuffix(f, "/") && strings.HasPrefix(dep, f) || strings.HasPrefix(dep, f+"/") && strings.HasPrefix(f, "kvserver") {
					t.Errorf("%s depends on %s: %s", rule.pkg, dep, rule.why)
				}
			}
		}
	}
}

// unwanted are texts that no file may have. They are spelt here so that this
// file does not have them either.
var unwanted = []struct {
	why     string
	pattern *regexp.Regexp
}{
	{"finish it, or open an issue", regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)},
	{"a path of somebody's machine", regexp.MustCompile(`(^|[\s"'=(:` + "`" + `])/(wo` + `rk|ro` + `ot|ho` + `me|Us` + `ers)/`)},
	{"the name of a registry", regexp.MustCompile(`\b(proxy\.gol` + `ang\.org|sum\.gol` + `ang\.org|registry\.npm` + `js\.org|deb\.deb` + `ian\.org|pypi\.o` + `rg)\b`)},
}

func TestTidyTexts(t *testing.T) {
	paths, err := trackedFiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(filepath.Join(root, path))
		if err != nil || bytes.IndexByte(b, 0) >= 0 {
			continue
		}
		for i, line := range strings.Split(string(b), "\n") {
			for _, u := range unwanted {
				if found := u.pattern.FindString(line); found != "" {
					t.Errorf("%s:%d: %q: %s", path, i+1, found, u.why)
				}
			}
		}
	}
}

// selfExplaining are methods that fulfil interfaces everybody knows.
var selfExplaining = []string{"Error", "Unwrap", "String", "Write"}

// TestTidyDocComments: what a package offers, it explains.
func TestTidyDocComments(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.isTest() || f.ast.Name.Name == "main" {
			continue
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedReceiver(d) && d.Doc == nil && !slices.Contains(selfExplaining, d.Name.Name) {
					t.Errorf("%s: %s has no comment", f.fset.Position(d.Pos()), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if ts, ok := spec.(*ast.TypeSpec); ok && ts.Name.IsExported() && d.Doc == nil && ts.Doc == nil {
						t.Errorf("%s: %s has no comment", f.fset.Position(ts.Pos()), ts.Name.Name)
					}
				}
			}
		}
	}
}

// exportedReceiver reports whether a function is one, or a method of an
// exported type.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	recv := d.Recv.List[0].Type
	if star, ok := recv.(*ast.StarExpr); ok {
		recv = star.X
	}
	name, ok := recv.(*ast.Ident)
	return ok && name.IsExported()
}
