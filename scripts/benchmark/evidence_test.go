//go:build linux

package main

import (
	"slices"
	"testing"
)

// CONFIG SET refuses a parameter that is named twice.
func TestALaterSettingTakesThePlaceOfAnEarlierOne(t *testing.T) {
	base := settings{"a", "1", "b", "2", "c", "3"}
	if got := base.with("b", "4", "d", "5"); !slices.Equal(got, settings{"a", "1", "c", "3", "b", "4", "d", "5"}) {
		t.Errorf("got %q", []string(got))
	}
	if !slices.Equal(base, settings{"a", "1", "b", "2", "c", "3"}) {
		t.Errorf("the base is now %q", []string(base))
	}
}

// Both phases of a case set the same parameters, or one would leave what the other set, and no list names one twice.
func TestPhasesSetTheSameParameters(t *testing.T) {
	names := func(s settings) map[string]bool {
		named := map[string]bool{}
		for i := 0; i < len(s); i += 2 {
			if named[s[i]] {
				t.Errorf("%q names %s twice", []string(s), s[i])
			}
			named[s[i]] = true
		}
		return named
	}
	for _, c := range evidenceCases {
		base, off := names(c.base), names(c.off)
		for name := range names(c.on) {
			if !off[name] && base[name] {
				t.Errorf("%s: %s stays on", c.name, name)
			}
		}
	}
}
