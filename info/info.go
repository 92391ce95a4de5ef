// Package info renders the reply of INFO from a registry of sections.
//
// A section is a name and a function that writes its fields. The order in which sections are added is the order in
// which they are printed, whatever the order in which a client asks for them, as in Redis:
//
//	# Server\r\n
//	redis_version:7.2.4\r\n
//	\r\n
//	# Keyspace\r\n
//	db0:keys=1,expires=0,avg_ttl=0\r\n
//
// A section without fields prints its header alone. The package has no locks: the caller adds sections before it serves,
// and whatever a fill function reads must hold still while Render runs.
package info

import "strings"

// Set says which of the collective names ("default", "all", "everything") include a section.
type Set int

// A section of one set is also part of the sets that follow it here.
const (
	Default    Set = iota // INFO without names, "default", "all", "everything"
	All                   // "all", "everything"
	Everything            // "everything" only
)

// Registry holds the sections of INFO. The zero value is empty and ready to use.
type Registry struct {
	sections []section
	byName   map[string]int // index in sections by lower-case name
}

type section struct {
	name string
	in   Set
	fill func(w *Writer)
}

// Add appends a section. name is as the header prints it ("Server", "CPU"); clients may ask for it in any case. Every
// section can be asked for by name, whatever its set. A name added twice is a mistake of the program and panics.
func (r *Registry) Add(name string, in Set, fill func(w *Writer)) {
	key := strings.ToLower(name)
	switch _, taken := r.byName[key]; {
	case taken:
		panic("info: section added twice: " + name)
	case key == "default" || key == "all" || key == "everything":
		panic("info: section has a collective name: " + name)
	case r.byName == nil:
		r.byName = make(map[string]int)
	}
	r.byName[key] = len(r.sections)
	r.sections = append(r.sections, section{name, in, fill})
}

// Render appends to dst the sections asked for and returns the extended slice. No names means "default"; names that
// nobody added are ignored; each section is printed at most once.
func (r *Registry) Render(dst []byte, sections []string) []byte {
	w := Writer{buf: dst}
	wanted := r.wanted(sections)
	printed := false
	for i, s := range r.sections {
		if !wanted[i] {
			continue
		}
		if printed {
			w.buf = append(w.buf, "\r\n"...)
		}
		printed = true
		w.buf = append(w.buf, "# "...)
		w.buf = append(w.buf, s.name...)
		w.buf = append(w.buf, "\r\n"...)
		s.fill(&w)
	}
	return w.buf
}

// wanted marks the sections that the names select.
func (r *Registry) wanted(names []string) []bool {
	wanted := make([]bool, len(r.sections))
	widest := Set(-1)
	if len(names) == 0 {
		widest = Default
	}
	for _, name := range names {
		switch name = strings.ToLower(name); name {
		case "default":
			widest = max(widest, Default)
		case "all":
			widest = max(widest, All)
		case "everything":
			widest = max(widest, Everything)
		default:
			if i, ok := r.byName[name]; ok {
				wanted[i] = true
			}
		}
	}
	for i, s := range r.sections {
		wanted[i] = wanted[i] || s.in <= widest
	}
	return wanted
}
