//go:build !race

package store

// invariants turns costly checks off.
const invariants = false
