package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
)

// valueBytesMax bounds the text of one value, so that a line that Rewrite writes, in which a byte may take four, is
// always one that Load reads (lineBytesMax).
const valueBytesMax = 16 << 10

var errTooLong = fmt.Errorf("argument must be at most %d bytes long", valueBytesMax)

// invalid is the error of a value of the wrong form or out of range, in the words of Redis's CONFIG SET. Load says the
// same in its own words from param.allowed.
type invalid string

func (e invalid) Error() string { return string(e) }

// Int is the handle of a whole number or of a size in bytes.
type Int struct{ v atomic.Int64 }

// Get returns the value in force.
func (h *Int) Get() int64 { return h.v.Load() }

// Bool is the handle of a yes/no parameter.
type Bool struct{ v atomic.Bool }

// Get returns the value in force.
func (h *Bool) Get() bool { return h.v.Load() }

// String is the handle of a text, of one of several words, or of a value in a form of its own.
type String struct{ v atomic.Pointer[string] }

// Get returns the value in force.
func (h *String) Get() string { return *h.v.Load() }

// Strings is the handle of a list of words.
type Strings struct{ v atomic.Pointer[[]string] }

// Get returns the value in force. The caller must not change it.
func (h *Strings) Get() []string { return *h.v.Load() }

// Int registers a whole number from min to max, both included.
func (r *Registry) Int(name string, def, min, max int64, opts ...Option) *Int {
	h := new(Int)
	r.add(&param{
		name:    name,
		kind:    "int",
		allowed: fmt.Sprintf("between %d and %d", min, max),
		def:     strconv.FormatInt(def, 10),
		parse: func(text string) (string, error) {
			n, err := strconv.ParseInt(text, 10, 64)
			// Redis takes a number in exactly one way of writing it: no plus sign, no leading zeros.
			if err != nil || strconv.FormatInt(n, 10) != text {
				return "", invalid("argument couldn't be parsed into an integer")
			}
			return text, inRange(n, min, max)
		},
		store: func(canonical string) { h.v.Store(mustInt(canonical)) },
	}, opts)
	return h
}

// Bool registers a parameter that is yes or no.
func (r *Registry) Bool(name string, def bool, opts ...Option) *Bool {
	h := new(Bool)
	text := "no"
	if def {
		text = "yes"
	}
	r.add(&param{
		name:    name,
		kind:    boolKind,
		allowed: "yes or no",
		def:     text,
		parse: func(text string) (string, error) {
			text = strings.ToLower(text)
			if text != "yes" && text != "no" {
				return "", invalid("argument must be 'yes' or 'no'")
			}
			return text, nil
		},
		store: func(canonical string) { h.v.Store(canonical == "yes") },
	}, opts)
	return h
}

const boolKind = "yes|no"

// String registers a text, which may be empty.
func (r *Registry) String(name, def string, opts ...Option) *String {
	h := new(String)
	r.add(&param{
		name:  name,
		kind:  "text",
		def:   def,
		parse: func(text string) (string, error) { return text, nil },
		store: func(canonical string) { h.v.Store(&canonical) },
	}, opts)
	return h
}

// Enum registers a parameter that is one of values, given in any case and kept as written there.
func (r *Registry) Enum(name, def string, values []string, opts ...Option) *String {
	h := new(String)
	list := strings.Join(values, ", ")
	r.add(&param{
		name:    name,
		kind:    strings.Join(values, "|"),
		allowed: "one of " + list,
		def:     def,
		parse: func(text string) (string, error) {
			for _, value := range values {
				if strings.EqualFold(value, text) {
					return value, nil
				}
			}
			return "", invalid("argument(s) must be one of the following: " + list)
		},
		store: func(canonical string) { h.v.Store(&canonical) },
	}, opts)
	return h
}

// Memory registers a size in bytes from min to max, both included. It is given with or without a unit, in any case: k, m
// and g are powers of 1000, kb, mb and gb powers of 1024. CONFIG GET prints bytes.
func (r *Registry) Memory(name string, def, min, max int64, opts ...Option) *Int {
	h := new(Int)
	r.add(&param{
		name:    name,
		kind:    "size",
		allowed: fmt.Sprintf("a size between %d and %d bytes, such as 64mb", min, max),
		def:     strconv.FormatInt(def, 10),
		parse: func(text string) (string, error) {
			n, err := ParseSize(text)
			if err != nil {
				return "", invalid("argument must be a memory value")
			}
			return strconv.FormatInt(n, 10), inRange(n, min, max)
		},
		store: func(canonical string) { h.v.Store(mustInt(canonical)) },
		print: func(canonical string) string { return printSize(mustInt(canonical)) },
	}, opts)
	return h
}

// Strings registers a list of words, for CONFIG GET and SET one value separated by blanks.
func (r *Registry) Strings(name string, def []string, opts ...Option) *Strings {
	h := new(Strings)
	r.add(&param{
		name:  name,
		kind:  "words",
		many:  true,
		def:   strings.Join(def, " "),
		parse: func(text string) (string, error) { return strings.Join(strings.Fields(text), " "), nil },
		store: func(canonical string) {
			words := strings.Fields(canonical)
			h.v.Store(&words)
		},
	}, opts)
	return h
}

// Custom registers a parameter with a form of its own. check turns a value into its canonical text, which it must accept
// again unchanged, or says in its error what is wrong; that text is what a client reads. In a file and on the command
// line all words of a line, joined by blanks, are the value.
func (r *Registry) Custom(name, def string, check func(value string) (canonical string, err error), opts ...Option) *String {
	h := new(String)
	r.add(&param{
		name:  name,
		kind:  "value",
		many:  true,
		def:   def,
		parse: check,
		store: func(canonical string) { h.v.Store(&canonical) },
	}, opts)
	return h
}

func inRange(n, min, max int64) error {
	if n < min || n > max {
		return invalid(fmt.Sprintf("argument must be between %d and %d inclusive", min, max))
	}
	return nil
}

// mustInt reads a canonical number.
func mustInt(canonical string) int64 {
	n, err := strconv.ParseInt(canonical, 10, 64)
	if err != nil {
		panic("config: not a canonical number: " + canonical)
	}
	return n
}

// sizeUnits lists larger units first, as printSize needs them.
var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"gb", 1 << 30}, {"mb", 1 << 20}, {"kb", 1 << 10},
	{"g", 1e9}, {"m", 1e6}, {"k", 1e3}, {"b", 1}, {"", 1},
}

var errSize = errors.New("not a size in bytes")

// ParseSize reads a size in bytes as the configuration file has it: digits and an optional unit, k, m and g for powers of
// 1000, kb, mb and gb for powers of 1024, in any case.
func ParseSize(text string) (int64, error) {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	n, err := strconv.ParseInt(text[:digits], 10, 64)
	if err != nil {
		return 0, errSize
	}
	for _, unit := range sizeUnits {
		if strings.EqualFold(unit.name, text[digits:]) {
			if n > math.MaxInt64/unit.bytes {
				return 0, errSize
			}
			return n * unit.bytes, nil
		}
	}
	return 0, errSize
}

// printSize writes n with the largest binary unit that divides it, as Redis does when it rewrites its file.
func printSize(n int64) string {
	for _, unit := range sizeUnits[:3] {
		if n != 0 && n%unit.bytes == 0 {
			return strconv.FormatInt(n/unit.bytes, 10) + unit.name
		}
	}
	return strconv.FormatInt(n, 10)
}
