package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A golden script is a text file of commands and the replies expected.
//
//	# A comment.
//	=== section name --flag value
//
//	SET k v
//	two: GET k
//	----
//	OK
//	"v"
//
// Each section runs on a flushed server with fresh connections; flags after its
// name start a server of its own with them. A block is any number of commands,
// a line "----", and their replies, and ends at an empty line. Commands are
// quoted as redis-cli does it; a name with a colon in front sends one over
// another connection. Words with an @ say how to print a reply of which not
// everything is certain:
//
//	@sorted      an array, in order of its elements
//	@near N      an integer that time makes smaller: "~N" if it is at most 5 % and 2 below N
//	@shape       types only, and the keys of maps
//
// Files whose names end in _valkey.txt have commands that Redis 7.0 lacks or
// answers otherwise. Their replies are written by hand from the documentation;
// all other replies are recordings of redis-server 7.0 (go test ./tests -run
// Golden -rewrite).
const handWritten = "_valkey.txt"

type script struct {
	path     string
	sections []*section
	lines    []string // the file, for -rewrite
}

type section struct {
	name   string
	flags  []string
	blocks []*block
}

// block is some commands and their replies, with the lines they stand on: those
// of the replies are [wantFrom, wantTo).
type block struct {
	commands         []string
	want             string
	line             int
	wantFrom, wantTo int
}

func TestGolden(t *testing.T) {
	for _, s := range readScripts(t) {
		t.Run(s.name(), func(t *testing.T) {
			if *rewrite {
				s.rewrite(t)
				return
			}
			s.run(t, func(t testing.TB, flags []string) *server { return startServer(t, flags...) })
		})
	}
}

// TestGoldenIsWhatThePeerAnswers keeps the recordings honest: an answer that was
// edited by hand in a recorded file fails here.
func TestGoldenIsWhatThePeerAnswers(t *testing.T) {
	if *rewrite {
		t.Skip("just recorded")
	}
	peer := startPeer(t)
	if v, _ := infoField(peer.dial(), "server", "redis_version"); !strings.HasPrefix(v, "7.0.") {
		t.Skipf("the recordings are of Redis 7.0, and this peer is %s", v)
	}
	for _, s := range readScripts(t) {
		if strings.HasSuffix(s.path, handWritten) {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			s.run(t, func(t testing.TB, flags []string) *server { return startPeer(t, flags...) })
		})
	}
}

func readScripts(t testing.TB) []*script {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden scripts: %v", err)
	}
	var scripts []*script
	for _, p := range paths {
		raw, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		s, err := parseScript(p, string(raw))
		if err != nil {
			t.Fatal(err)
		}
		scripts = append(scripts, s)
	}
	return scripts
}

func (s *script) name() string { return strings.TrimSuffix(filepath.Base(s.path), ".txt") }

func parseScript(path, text string) (*script, error) {
	s := &script{path: path, lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n")}
	for i := 0; i < len(s.lines); {
		line := s.lines[i]
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			i++
		case strings.HasPrefix(line, "=== "):
			words, err := splitArgs(line[4:])
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
			}
			flags := len(words)
			for k, w := range words {
				if strings.HasPrefix(w, "--") {
					flags = k
					break
				}
			}
			s.sections = append(s.sections, &section{name: strings.Join(words[:flags], " "), flags: words[flags:]})
			i++
		case len(s.sections) == 0:
			return nil, fmt.Errorf("%s:%d: a command before the first section", path, i+1)
		default:
			b := s.parseBlock(i)
			if b.wantFrom == 0 {
				return nil, fmt.Errorf("%s:%d: no ---- after the commands", path, i+1)
			}
			last := s.sections[len(s.sections)-1]
			last.blocks = append(last.blocks, b)
			i = b.wantTo
		}
	}
	return s, nil
}

// parseBlock reads the block that begins at a line. Its wantFrom stays 0 if it
// has no "----".
func (s *script) parseBlock(i int) *block {
	b := &block{line: i + 1}
	for ; i < len(s.lines) && s.lines[i] != "----"; i++ {
		if s.lines[i] == "" {
			return b
		}
		b.commands = append(b.commands, s.lines[i])
	}
	if i == len(s.lines) {
		return b
	}
	i++
	b.wantFrom = i
	for i < len(s.lines) && s.lines[i] != "" {
		i++
	}
	b.wantTo = i
	b.want = strings.Join(s.lines[b.wantFrom:b.wantTo], "\n")
	return b
}

// starter starts a server with flags.
type starter func(t testing.TB, flags []string) *server

func (s *script) run(t *testing.T, start starter) {
	shared := start(t, nil)
	for _, sec := range s.sections {
		t.Run(sec.name, func(t *testing.T) {
			p := newPlayer(t, sec, shared, start)
			defer p.close()
			for _, b := range sec.blocks {
				if got := p.play(b); got != b.want {
					t.Errorf("%s:%d:\n%s\n---- got\n%s\n---- want\n%s", s.path, b.line, strings.Join(b.commands, "\n"), got, b.want)
				}
			}
		})
	}
}

// rewrite replaces the replies in the file with those of the peer.
func (s *script) rewrite(t *testing.T) {
	if strings.HasSuffix(s.path, handWritten) {
		t.Skip("its replies are written by hand")
	}
	start := func(t testing.TB, flags []string) *server { return startPeer(t, flags...) }
	shared := start(t, nil)
	var out []string
	copied := 0
	for _, sec := range s.sections {
		p := newPlayer(t, sec, shared, start)
		for _, b := range sec.blocks {
			out = append(out, s.lines[copied:b.wantFrom]...)
			out = append(out, strings.Split(p.play(b), "\n")...)
			copied = b.wantTo
		}
		p.close()
	}
	out = append(out, s.lines[copied:]...)
	if err := os.WriteFile(s.path, []byte(strings.Join(out, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// player sends the commands of one section.
type player struct {
	t     testing.TB
	on    *server
	conns map[string]*conn
}

func newPlayer(t testing.TB, sec *section, shared *server, start starter) *player {
	t.Helper()
	p := &player{t: t, on: shared, conns: map[string]*conn{}}
	if len(sec.flags) > 0 {
		p.on = start(t, sec.flags)
		return p
	}
	p.conn("").do("FLUSHALL")
	return p
}

// conn returns the connection of a name, opening it at its first use.
func (p *player) conn(name string) *conn {
	p.t.Helper()
	c := p.conns[name]
	if c == nil {
		c = p.on.dial()
		p.conns[name] = c
	}
	return c
}

// close ends the section's connections, so that the next one is alone.
func (p *player) close() {
	for _, c := range p.conns {
		c.nc.Close()
	}
}

// play sends the commands of a block and returns their printed replies.
func (p *player) play(b *block) string {
	p.t.Helper()
	var replies []string
	for i, line := range b.commands {
		args, err := splitArgs(line)
		if err != nil {
			p.t.Fatalf("line %d: %v", b.line+i, err)
		}
		replies = append(replies, p.playOne(args, b.line+i))
	}
	return strings.Join(replies, "\n")
}

func (p *player) playOne(args []string, line int) string {
	p.t.Helper()
	var filters []string
	name := ""
	for len(args) > 0 {
		if n, ok := strings.CutSuffix(args[0], ":"); ok {
			name, args = n, args[1:]
			continue
		}
		if !strings.HasPrefix(args[0], "@") {
			break
		}
		filters = append(filters, args[0])
		if args = args[1:]; filters[len(filters)-1] == "@near" {
			filters = append(filters, args[0])
			args = args[1:]
		}
	}
	reply, err := p.conn(name).try(args...)
	if err != nil {
		return "(closed)"
	}
	text, err := printFiltered(parseReply(string(reply)), filters)
	if err != nil {
		p.t.Fatalf("line %d: %v", line, err)
	}
	return text
}

func printFiltered(v value, filters []string) (string, error) {
	for i, f := range filters {
		switch f {
		case "@sorted":
			return v.sorted().String(), nil
		case "@shape":
			return v.shape().String(), nil
		case "@near":
			near, err := strconv.ParseInt(filters[i+1], 10, 64)
			if err != nil {
				return "", err
			}
			n, isInt := v.int()
			if isInt && n <= near && n >= near-near/20-2 {
				return fmt.Sprintf("(integer) ~%d", near), nil
			}
			return v.String(), nil
		default:
			return "", fmt.Errorf("unknown filter %s", f)
		}
	}
	return v.String(), nil
}

// shape keeps the types of a reply and the keys of its maps.
func (v value) shape() value {
	if v.null {
		return v
	}
	if v.elems == nil {
		if v.kind == '#' || v.kind == '_' || v.kind == '-' {
			return v
		}
		return value{kind: '+', text: "(" + string(v.kind) + ")"}
	}
	v.elems = slices.Clone(v.elems)
	for i := range v.elems {
		if v.kind == '%' && i%2 == 0 {
			continue
		}
		v.elems[i] = v.elems[i].shape()
	}
	return v
}
