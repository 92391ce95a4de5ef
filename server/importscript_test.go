package server

import "testing"

// TestImportInScripts: a script of an import source sees what its caller sees.
func TestImportInScripts(t *testing.T) {
	s := newTestServer(t, "--import-mode", "yes")
	source, other := newTestClient(t, s), newTestClient(t, s)
	do(source, "CLIENT", "IMPORT-SOURCE", "ON")
	do(source, "SET", "k", "v", "PXAT", "1000")
	script := []string{"EVAL", "return redis.call('EXISTS', KEYS[1])", "1", "k"}
	if got := do(source, script...) + do(other, script...); got != ":1\r\n:0\r\n" {
		t.Errorf("EVAL: %q", got)
	}
}

// TestPauseHoldsScripts: a script may write, unless it says that it does not.
func TestPauseHoldsScripts(t *testing.T) {
	s := newTestServer(t)
	c, other := newTestClient(t, s), newTestClient(t, s)
	do(c, "CLIENT", "PAUSE", "100000", "WRITE")
	if got := do(other, "EVAL_RO", "return 1", "0"); got != ":1\r\n" {
		t.Errorf("EVAL_RO: %q", got)
	}
	if got := do(other, "EVAL", "return 1", "0"); got != "" {
		t.Errorf("EVAL: %q", got)
	}
	do(c, "CLIENT", "UNPAUSE")
	if connOf(other).resumed != 1 {
		t.Error("it does not go on")
	}
}
