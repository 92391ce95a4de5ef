package acl

import (
	"errors"
	"slices"
	"strings"
)

// What is wrong with a rule. The texts are Redis's, which clients get to read.
var (
	ErrUnknown         = errors.New("Unknown command or category name in ACL")
	ErrSyntax          = errors.New("Syntax error")
	ErrAfterAllKeys    = errors.New("Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns")
	ErrAfterAllChannel = errors.New("Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels")
	ErrNoPassword      = errors.New("The password you are trying to remove from the user does not exist")
	ErrDigest          = errors.New("The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters")
	ErrFirstArg        = errors.New("Allowing first-arg of a subcommand is not supported")
	// ErrTooMany is not Redis's, which has no limits.
	ErrTooMany = errors.New("Too many rules of one kind")
)

// Limits of what one user may have. Adding to the lists looks at all that is there, to keep it once, and a list of this
// length makes that less than a second for all of it; so does looking through a list of patterns for a call.
const (
	patternsMax  = 1 << 14 // of keys, of channels, and rules about commands, per selector
	selectorsMax = 1 << 10
	passwordsMax = 1 << 10
)

// RuleError is the rule that was wrong, and why.
type RuleError struct {
	Rule  string // may hold a password
	Index int    // in the list given
	Err   error
}

// Error does not show the rule.
func (e *RuleError) Error() string { return e.Err.Error() }

// Unwrap returns what was wrong.
func (e *RuleError) Unwrap() error { return e.Err }

// Apply changes the user by rules in order. When a rule is wrong, a *RuleError, those before it stay applied: who wants all
// or nothing changes a clone.
func (u *User) Apply(rules ...string) error {
	defer u.derive()
	for i, rule := range rules {
		if err := u.apply(rule); err != nil {
			return &RuleError{rule, i, err}
		}
	}
	return nil
}

func (u *User) apply(rule string) error {
	if rule == "" {
		return nil
	}
	switch lower(rule) {
	case "on":
		u.enabled = true
	case "off":
		u.enabled = false
	case "skip-sanitize-payload":
		u.unsanitized = true
	case "sanitize-payload":
		u.unsanitized = false
	case "nopass":
		u.anyPassword, u.passwords = true, nil
	case "resetpass":
		u.anyPassword, u.passwords = false, nil
	case "clearselectors":
		u.selectors = u.selectors[:1]
	case "reset":
		fresh := u.catalog.NewUser(u.Name)
		*u = *fresh
	default:
		switch first, last := rule[0], rule[len(rule)-1]; {
		case first == '>' || first == '<' || first == '#' || first == '!':
			return u.changePassword(rule)
		case first == '(' && last == ')' && len(rule) > 1:
			return u.addSelector(rule[1 : len(rule)-1])
		}
		return u.selectors[0].apply(u.catalog, rule)
	}
	return nil
}

// addSelector adds a selector by its rules, which are words as in a configuration file. As in Redis, rules that are no
// words, since a quote does not end, are none.
func (u *User) addSelector(text string) error {
	if len(u.selectors) >= selectorsMax {
		return ErrTooMany
	}
	s := u.catalog.newSelector()
	words, _ := splitWords(text)
	for _, rule := range words {
		if err := s.apply(u.catalog, rule); err != nil {
			return err
		}
	}
	u.selectors = append(u.selectors, s)
	return nil
}

// apply changes the selector by a rule. An empty one, which only quotes can spell, is none.
func (s *selector) apply(k *Catalog, rule string) error {
	if rule == "" {
		return ErrSyntax
	}
	switch lower(rule) {
	case "allkeys", "~*":
		s.allKeys, s.keys = true, nil
		return nil
	case "resetkeys":
		s.allKeys, s.keys = false, nil
		return nil
	case "allchannels", "&*":
		s.allChannels, s.channels = true, nil
		return nil
	case "resetchannels":
		s.allChannels, s.channels = false, nil
		return nil
	case "allcommands", "+@all":
		s.resetCommands(true)
		return nil
	case "nocommands", "-@all":
		s.resetCommands(false)
		return nil
	}
	switch rule[0] {
	case '~', '%':
		return s.addKeys(rule)
	case '&':
		return s.addChannels(rule[1:])
	case '+', '-':
		return s.changeCommands(k, rule[0] == '+', rule[1:])
	}
	return ErrSyntax
}

func (s *selector) resetCommands(allowed bool) {
	s.allCommands, s.fromAll = allowed, allowed
	s.firstArgs, s.rules = nil, nil
	for i := range s.commands {
		s.commands[i] = 0
		if allowed {
			s.commands[i] = ^uint64(0)
		}
	}
}

// addKeys adds a pattern for keys: "~pattern", "%R~pattern", "%W~pattern" or "%RW~pattern". A pattern that is there
// already gains what it is allowed for.
func (s *selector) addKeys(rule string) error {
	if s.allKeys {
		return ErrAfterAllKeys
	}
	access, text := Read|Write, rule[1:]
	if rule[0] == '%' {
		letters, rest, _ := strings.Cut(text, "~")
		access, text = 0, rest
		for i := range len(letters) {
			a := map[byte]Access{'r': Read, 'w': Write}[letters[i]|0x20]
			if a == 0 || access&a != 0 {
				return ErrSyntax
			}
			access |= a
		}
		if access == 0 {
			return ErrSyntax
		}
	}
	if hasBlanks(text) {
		return ErrSyntax
	}
	if i := slices.IndexFunc(s.keys, func(p keyPattern) bool { return p.text == text }); i >= 0 {
		s.keys[i].access |= access
		return nil
	}
	if len(s.keys) >= patternsMax {
		return ErrTooMany
	}
	s.keys = append(s.keys, keyPattern{newPattern(text), access})
	return nil
}

func (s *selector) addChannels(text string) error {
	switch {
	case s.allChannels:
		return ErrAfterAllChannel
	case hasBlanks(text):
		return ErrSyntax
	case slices.ContainsFunc(s.channels, func(p pattern) bool { return p.text == text }):
		return nil
	case len(s.channels) >= patternsMax:
		return ErrTooMany
	}
	s.channels = append(s.channels, newPattern(text))
	return nil
}

// changeCommands allows or denies what follows + or -: "@category", "command", "command|subcommand" or, only to allow,
// "command|first-argument".
func (s *selector) changeCommands(k *Catalog, allowed bool, what string) error {
	if len(s.rules) >= patternsMax {
		return ErrTooMany
	}
	name := lower(what)
	if category, ok := strings.CutPrefix(name, "@"); ok {
		i := slices.Index(k.categories, category)
		if i < 0 {
			return ErrUnknown
		}
		for _, id := range k.inCategory[i] {
			s.setCommand(k, id, allowed)
		}
		s.addRule(allowed, name)
		return nil
	}
	id, known := k.byName[name]
	if cut := strings.LastIndexByte(name, '|'); cut >= 0 && allowed {
		parent, knownParent := k.byName[name[:cut]]
		sub := name[cut+1:]
		switch {
		case !knownParent:
			return ErrUnknown
		case k.commands[parent].Parent >= 0:
			return ErrFirstArg
		case sub == "":
			return ErrSyntax
		case k.subs[parent] == nil && hasBlanks(sub):
			return ErrSyntax // Redis accepts it, and prints a text that means something else
		case k.subs[parent] == nil:
			s.addFirstArgs(parent, sub)
			s.addRule(true, name)
			return nil
		}
	}
	if !known {
		return ErrUnknown
	}
	s.setCommand(k, id, allowed)
	s.addRule(allowed, name)
	return nil
}

// setCommand sets the bits of a command and its subcommands.
func (s *selector) setCommand(k *Catalog, id int, allowed bool) {
	s.setBit(id, allowed)
	delete(s.firstArgs, id)
	for _, sub := range k.subs[id] {
		s.setBit(sub, allowed)
	}
}

func (s *selector) setBit(id int, allowed bool) {
	if allowed {
		s.commands[id/64] |= 1 << (id % 64)
		return
	}
	s.commands[id/64] &^= 1 << (id % 64)
	s.allCommands = false
}

func (s *selector) addFirstArgs(id int, args ...string) {
	if s.firstArgs == nil {
		s.firstArgs = make(map[int][]string)
	}
	for _, arg := range args {
		if !slices.Contains(s.firstArgs[id], arg) {
			s.firstArgs[id] = append(s.firstArgs[id], arg)
		}
	}
}

// addRule keeps a rule and drops those that it makes void: the same, and those about the subcommands or first arguments of
// the same command.
func (s *selector) addRule(allowed bool, what string) {
	s.rules = slices.DeleteFunc(s.rules, func(rule string) bool {
		return rule[1:] == what || strings.HasPrefix(rule[1:], what+"|")
	})
	sign := "-"
	if allowed {
		sign = "+"
	}
	s.rules = append(s.rules, sign+what)
}

// hasBlanks tells whether text has what cannot be in a pattern or a name: the blanks of C, or NUL.
func hasBlanks(text string) bool { return strings.ContainsAny(text, " \t\n\v\f\r\x00") }

// ValidName tells whether a user can have a name.
func ValidName(name string) bool { return !hasBlanks(name) }

// MergeSelectors joins the words of each selector that is spread over several, as in ("(~a", "+get)"), to one rule. It
// returns the index of the word that begins one which does not end, or -1.
func MergeSelectors(words []string) (rules []string, unmatched int) {
	open := -1
	for i, word := range words {
		switch {
		case strings.HasPrefix(word, "(") && !strings.HasSuffix(word, ")"):
			open = i // in a selector, too: Redis forgets the words since the first parenthesis
		case open < 0:
			rules = append(rules, word)
		case strings.HasSuffix(word, ")"):
			rules = append(rules, strings.Join(words[open:i+1], " "))
			open = -1
		}
	}
	if open >= 0 {
		return nil, open
	}
	return rules, -1
}
