package server

import (
	"testing"

	"kvserver/server/lua"
)

// TestFlushedScriptComesBack: the script that EVAL remembers is no longer in the cache after SCRIPT FLUSH, and is again after
// the next EVAL.
func TestFlushedScriptComesBack(t *testing.T) {
	c := newTestClient(t, newTestServer(t))
	name := lua.SHA1([]byte("return 1"))
	for _, step := range []struct {
		args []string
		want string
	}{
		{[]string{"EVAL", "return 1", "0"}, ":1\r\n"},
		{[]string{"SCRIPT", "FLUSH"}, "+OK\r\n"},
		{[]string{"EVALSHA", name, "0"}, "-" + errNoScript + "\r\n"},
		{[]string{"EVAL", "return 1", "0"}, ":1\r\n"},
		{[]string{"EVALSHA", name, "0"}, ":1\r\n"},
		{[]string{"EVAL", "return 2", "0"}, ":2\r\n"},
	} {
		if got := do(c, step.args...); got != step.want {
			t.Errorf("%v: %q, want %q", step.args, got, step.want)
		}
	}
}
