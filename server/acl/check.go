package acl

import (
	"slices"
	"strings"

	"kvserver/glob"
)

// Access is what a call does to a key.
type Access uint8

// Kinds of access. A key may be looked at without either (its existence, its type); any pattern allows that.
const (
	Read Access = 1 << iota
	Write
)

// Key is one key that a call names.
type Key struct {
	Name   []byte
	Access Access
}

// Call is a command with its arguments, as far as permissions depend on them.
type Call struct {
	Command  int    // index in the catalog
	FirstArg []byte // what follows the command's name; nil: nothing
	Always   bool   // the command itself needs no permission
	Keys     []Key
	Channels [][]byte
	Patterns bool // the channels are patterns: a rule allows exactly its own text
}

// Verdict is the answer to a call. Of several reasons against it the greatest is given.
type Verdict uint8

// Verdicts.
const (
	Allowed Verdict = iota
	DeniedCommand
	DeniedKey
	DeniedChannel
)

// pattern is a glob, prepared for the usual forms.
type pattern struct {
	text string
	kind patternKind
}

type patternKind uint8

const (
	globKind   patternKind = iota
	exactKind              // no special characters
	prefixKind             // none but one star, at the end
)

type keyPattern struct {
	pattern
	access Access
}

func newPattern(text string) pattern {
	switch i := strings.IndexAny(text, `*?[\`); {
	case i < 0:
		return pattern{text, exactKind}
	case i == len(text)-1 && text[i] == '*':
		return pattern{text, prefixKind}
	}
	return pattern{text, globKind}
}

func (p *pattern) matches(name []byte) bool {
	switch p.kind {
	case exactKind:
		return string(name) == p.text
	case prefixKind:
		n := len(p.text) - 1
		return len(name) >= n && string(name[:n]) == p.text[:n]
	}
	return glob.Match([]byte(p.text), name)
}

// Check tells whether the user may make a call. If not because of a key or channel, it returns the index of the one that is
// to be named.
func (u *User) Check(call *Call) (v Verdict, at int) {
	if u.Unrestricted {
		return Allowed, 0
	}
	v = DeniedCommand
	for _, s := range u.selectors {
		sv, i := s.check(call)
		if sv == Allowed {
			return Allowed, 0
		}
		if sv > v || sv == v && i > at {
			v, at = sv, i
		}
	}
	return v, at
}

// Allows is Check for a call that names one key and no channel, which is most of them.
func (u *User) Allows(command int, firstArg []byte, key Key) bool {
	for _, s := range u.selectors {
		if s.allowsCommand(command, firstArg) && (s.allKeys || s.allowsKey(&key)) {
			return true
		}
	}
	return false
}

func (s *selector) check(call *Call) (v Verdict, at int) {
	if !call.Always && !s.allowsCommand(call.Command, call.FirstArg) {
		return DeniedCommand, 0
	}
	if !s.allKeys {
		for i := range call.Keys {
			if !s.allowsKey(&call.Keys[i]) {
				return DeniedKey, i
			}
		}
	}
	for i, name := range call.Channels {
		if !s.allowsChannel(name, call.Patterns) {
			return DeniedChannel, i
		}
	}
	return Allowed, 0
}

func (s *selector) allowsCommand(id int, firstArg []byte) bool {
	if s.allCommands || s.commands[id/64]&(1<<(id%64)) != 0 {
		return true
	}
	args := s.firstArgs[id]
	return args != nil && firstArg != nil && slices.Contains(args, lower(string(firstArg)))
}

func (s *selector) allowsKey(key *Key) bool {
	for i := range s.keys {
		if p := &s.keys[i]; p.access&key.Access == key.Access && p.matches(key.Name) {
			return true
		}
	}
	return false
}

func (s *selector) allowsChannel(name []byte, isPattern bool) bool {
	if s.allChannels {
		return true
	}
	for i := range s.channels {
		p := &s.channels[i]
		if isPattern && string(name) == p.text || !isPattern && p.matches(name) {
			return true
		}
	}
	return false
}

// AllowsAnyKey tells whether the user may make a call and would do so with any other keys, too, for a kind of access.
func (u *User) AllowsAnyKey(call *Call, access Access) bool {
	for _, s := range u.selectors {
		if v, _ := s.check(call); v == Allowed && s.anyKey(access) {
			return true
		}
	}
	return false
}

func (s *selector) anyKey(access Access) bool {
	return s.allKeys || slices.ContainsFunc(s.keys, func(p keyPattern) bool {
		return p.text == "*" && p.access&access == access
	})
}

// AllowsChannel tells whether the user may subscribe to a channel, or with isPattern to a pattern, by any selector.
func (u *User) AllowsChannel(name []byte, isPattern bool) bool {
	return slices.ContainsFunc(u.selectors, func(s *selector) bool { return s.allowsChannel(name, isPattern) })
}

// ExtendsChannelsOf tells whether the user may use all channels that another may use. It may err to the safe side.
func (u *User) ExtendsChannelsOf(other *User) bool {
	if slices.ContainsFunc(u.selectors, func(s *selector) bool { return s.allChannels }) {
		return true
	}
	for _, s := range other.selectors {
		if s.allChannels {
			return false
		}
		for _, p := range s.channels {
			if !u.AllowsChannel([]byte(p.text), true) {
				return false
			}
		}
	}
	return true
}
