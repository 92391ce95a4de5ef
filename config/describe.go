package config

import "slices"

// Description is what a manual says about a parameter.
type Description struct {
	Name    string
	Aliases []string
	Type    string // int, size, text, a|b|c, …
	Allowed string // what a value must be, to complete "must be …"; may be empty
	Default string // as a file shows it
	Doc     string
	AtStart bool   // not changeable at run time
	Guarded bool   // changeable at run time by SetGuarded only
	Inert   string // why it has no effect; empty: it has
	Fixed   string // why only the default is accepted; empty: more is
}

// Describe returns every parameter, in the order of registration.
func (r *Registry) Describe() []Description {
	var all []Description
	for _, p := range r.params {
		all = append(all, Description{
			Name: p.name, Aliases: slices.Clone(p.aliases), Type: p.kind, Allowed: p.allowed, Default: p.fileText(p.def), Doc: p.doc,
			AtStart: p.immutable || p.pinned, Guarded: p.guarded, Inert: p.inert, Fixed: p.fixed,
		})
	}
	return all
}

// Ineffective returns the names of the parameters that are set to another value than their default, although nothing
// depends on it, in the order of registration.
func (r *Registry) Ineffective() []string {
	var names []string
	for _, p := range r.params {
		if p.inert != "" && p.value() != p.def {
			names = append(names, p.name)
		}
	}
	return names
}

// WhyInert returns why a parameter has no effect, and "" if it has, or if there is none of that name.
func (r *Registry) WhyInert(name string) string {
	if p := r.find(name); p != nil {
		return p.inert
	}
	return ""
}
