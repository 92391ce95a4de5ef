package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// UnknownError is the error of Set for a name that no parameter has. Its text is Redis's, without the error code.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("Unknown option or number of arguments for CONFIG SET - '%s'", e.Name)
}

// SetError is the error of Set for a value that was refused or could not be put into force. Its text is Redis's, without
// the error code. The value is in it only if the reason, which for most types is ours, quotes it.
type SetError struct {
	Name   string // of the parameter at fault, as the caller named it
	Reason error  // from the type, a Check, a Rule or an OnChange hook
}

func (e *SetError) Error() string {
	return fmt.Sprintf("CONFIG SET failed (possibly related to argument '%s') - %v", e.Name, e.Reason)
}

// Unwrap returns the reason.
func (e *SetError) Unwrap() error { return e.Reason }

var (
	errImmutable = errors.New("can't set immutable config")
	errGuarded   = errors.New("can't set protected config")
	errDuplicate = errors.New("duplicate parameter")
)

// Values are the values that would be in force if a change were accepted; a Rule judges them.
type Values struct {
	r    *Registry
	next map[*param]string
}

// Text returns the canonical text of a parameter.
func (v Values) Text(name string) string {
	p := v.r.mustFind(name)
	if text, ok := v.next[p]; ok {
		return text
	}
	return p.value()
}

// Int returns the value of an Int or Memory parameter.
func (v Values) Int(name string) int64 { return mustInt(v.Text(name)) }

// Bool returns the value of a Bool parameter.
func (v Values) Bool(name string) bool { return v.Text(name) == "yes" }

type rule struct {
	params []*param
	check  func(v Values) error
}

type hook struct {
	params []*param
	apply  func() error
}

// Rule adds a condition between the parameters named, which must be registered. It is tested when everything at start has
// been read, and by Set when one of the names changes; in both cases before anything is in force. The text of its error
// is what a client reads.
func (r *Registry) Rule(names []string, check func(v Values) error) {
	r.rules = append(r.rules, rule{r.mustFindAll(names), check})
}

// OnChange adds a hook that puts new values into force. Set runs it once if one of the names changed, after all new
// values are stored; hooks run in the order in which they were added. If apply fails it must have left things as they
// were: Set then puts back every value, runs the hooks before it once more, and fails. Load runs no hooks. A hook may
// call Get, but none of Set, Rewrite and Load.
func (r *Registry) OnChange(names []string, apply func() error) {
	r.hooks = append(r.hooks, hook{r.mustFindAll(names), apply})
}

func (r *Registry) mustFindAll(names []string) []*param {
	params := make([]*param, len(names))
	for i, name := range names {
		params[i] = r.mustFind(name)
	}
	return params
}

// change is one parameter that a Set gives another value.
type change struct {
	p        *param
	name     string // by which the caller knows it: it may be an alias
	old, new string
}

// changes keep the order in which the caller of Set named them: errors blame the first that fits.
type changes []change

// firstOf returns the name of the first changed parameter among params, or "".
func (c changes) firstOf(params []*param) string {
	for _, change := range c {
		if slices.Contains(params, change.p) {
			return change.name
		}
	}
	return ""
}

// Set changes the parameters named in (name, value) pairs: all of them, or none and an error. The error is an
// *UnknownError or a *SetError. Readers of several handles may see some of the new values before the others; callers
// that must not, read under the same lock under which Set is called.
func (r *Registry) Set(pairs ...[2]string) error { return r.set(pairs, false) }

// SetGuarded is Set for a caller who may change guarded parameters too.
func (r *Registry) SetGuarded(pairs ...[2]string) error { return r.set(pairs, true) }

func (r *Registry) set(pairs [][2]string, guarded bool) error {
	r.changing.Lock()
	defer r.changing.Unlock()
	params, err := r.resolve(pairs, guarded)
	if err != nil {
		return err
	}
	var changed changes
	next := make(map[*param]string)
	for i, p := range params {
		name, old := strings.ToLower(pairs[i][0]), p.value()
		text, err := p.accept(old, pairs[i][1])
		if err != nil {
			return &SetError{name, err}
		}
		if text != old {
			if p.pinned {
				return &SetError{name, errImmutable}
			}
			changed = append(changed, change{p, name, old, text})
			next[p] = text
		}
	}
	for _, rule := range r.rules {
		if name := changed.firstOf(rule.params); name != "" {
			if err := rule.check(Values{r, next}); err != nil {
				return &SetError{name, err}
			}
		}
	}
	return r.apply(changed)
}

// resolve finds the parameters of the pairs. As in Redis, an unknown name is reported before any other fault unless that
// fault stands before it, and all names are judged before any value.
func (r *Registry) resolve(pairs [][2]string, guarded bool) ([]*param, error) {
	params := make([]*param, 0, len(pairs))
	seen := make(map[*param]bool, len(pairs))
	for _, pair := range pairs {
		p := r.find(pair[0])
		switch {
		case p == nil:
			return nil, &UnknownError{pair[0]}
		case p.immutable:
			return nil, &SetError{pair[0], errImmutable}
		case p.guarded && !guarded:
			return nil, &SetError{pair[0], errGuarded}
		case seen[p]:
			return nil, &SetError{pair[0], errDuplicate}
		}
		seen[p] = true
		params = append(params, p)
	}
	return params, nil
}

// apply puts accepted changes into force, or undoes them.
func (r *Registry) apply(changed changes) error {
	for _, c := range changed {
		c.p.publish(c.new)
	}
	for i, hook := range r.hooks {
		name := changed.firstOf(hook.params)
		if name == "" {
			continue
		}
		if err := hook.apply(); err != nil {
			if undone := r.undo(changed, r.hooks[:i]); undone != nil {
				err = fmt.Errorf("%w; %w", err, undone)
			}
			return &SetError{name, err}
		}
	}
	return nil
}

// undo puts back the values and runs again the hooks that had seen the new ones. It returns the first failure, after
// trying them all.
func (r *Registry) undo(changed changes, applied []hook) error {
	for _, c := range changed {
		c.p.publish(c.old)
	}
	var failed error
	for _, hook := range applied {
		name := changed.firstOf(hook.params)
		if name == "" {
			continue
		}
		if err := hook.apply(); err != nil && failed == nil {
			failed = fmt.Errorf("restoring '%s' failed: %w", name, err)
		}
	}
	return failed
}
