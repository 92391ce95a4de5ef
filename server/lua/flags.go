package lua

import (
	"slices"
)

// Flags say what a script or function promises or wants.
type Flags uint

const (
	NoWrites       Flags = 1 << iota // it will not write
	AllowOOM                         // it runs when memory is full
	AllowStale                       // it runs on a replica without its master
	NoCluster                        // it does not run in a cluster
	AllowCrossSlot                   // it touches keys of several slots
)

// flagNames in the order of the bits.
var flagNames = []string{"no-writes", "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys"}

// ParseFlag returns the flag with a name.
func ParseFlag(name string) (flag Flags, ok bool) {
	i := slices.Index(flagNames, name)
	if i < 0 {
		return 0, false
	}
	return 1 << i, true
}

// Names are the names of the flags that are set.
func (f Flags) Names() (names []string) {
	for i, name := range flagNames {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}
