//go:build race

package store

// invariants turns costly checks on.
const invariants = true
