//go:build !race

package tests

// raceEnabled says that this test binary has the race detector, so the server
// is built with it too.
const raceEnabled = false
