package tests

import (
	"fmt"
	"strings"
	"testing"
)

// functionLibraries are libraries of various sizes, by what else than functions
// they have.
var functionLibraries = map[string]string{
	"short":      "#!lua name=short\nredis.register_function('f', function() return 'short' end)",
	"blanks":     "#!lua   name=blanks  \n\n\nredis.register_function('f', function() return 'blanks' end)",
	"quoted":     "#!lua \"name=quo\\x74ed\"\nredis.register_function('f', function() return 'quoted' end)",
	"repetitive": "#!lua name=repetitive\n" + strings.Repeat("-- the same line over and over\n", 500) + "redis.register_function('f', function() return 'repetitive' end)",
	"bytes":      "#!lua name=bytes\nlocal s = '\xff\xfe'\nredis.register_function('f', function() return s end)",
}

// TestFunctionDumpTravels dumps libraries on each server and restores them on the
// other, and on the same one.
func TestFunctionDumpTravels(t *testing.T) {
	ours, theirs := startServer(t).dial(), startPeer(t).dial()
	for name, code := range functionLibraries {
		t.Run(name, func(t *testing.T) {
			for _, from := range []*conn{ours, theirs} {
				from.ok("FUNCTION", "FLUSH")
				from.do("FUNCTION", "LOAD", code)
				payload := from.value("FUNCTION", "DUMP").text
				list := from.do("FUNCTION", "LIST", "WITHCODE")
				answer := from.do("FCALL", "f", "0")
				for _, to := range []*conn{ours, theirs} {
					to.ok("FUNCTION", "RESTORE", payload, "FLUSH")
					to.want(list, "FUNCTION", "LIST", "WITHCODE")
					to.want(answer, "FCALL", "f", "0")
					if back := to.value("FUNCTION", "DUMP").text; to == from && back != payload { // compressors differ
						t.Errorf("dumped again: %q, not %q", back, payload)
					}
				}
			}
		})
	}
}

// TestFunctionRestorePolicies restores libraries among others.
func TestFunctionRestorePolicies(t *testing.T) {
	library := func(name, function string) string {
		return fmt.Sprintf("#!lua name=%s\nredis.register_function('%s', function() return '%s of %s' end)", name, function, function, name)
	}
	commands := func(payloads map[string]string) [][]string {
		return [][]string{
			{"FUNCTION", "FLUSH"}, {"FUNCTION", "LOAD", library("a", "f")},
			{"FUNCTION", "RESTORE", payloads["bf"]}, {"FUNCTION", "RESTORE", payloads["bf"], "REPLACE"},
			{"FUNCTION", "RESTORE", payloads["af"]}, {"FUNCTION", "RESTORE", payloads["bg"], "append"}, {"FCALL", "G", "0"},
			{"FUNCTION", "RESTORE", payloads["ag"], "REPLACE"}, {"FUNCTION", "RESTORE", payloads["ah"], "replace"},
			{"FCALL", "h", "0"}, {"FCALL", "f", "0"},
			{"FUNCTION", "RESTORE", payloads["af bg"], "REPLACE"}, {"FCALL", "f", "0"}, {"FCALL", "h", "0"},
			{"FUNCTION", "RESTORE", payloads["ah"], "FLUSH"}, {"FCALL", "g", "0"}, {"FUNCTION", "LIST", "WITHCODE"},
			{"FUNCTION", "RESTORE", payloads["none"], "FLUSH"}, {"FUNCTION", "LIST"},
			{"FUNCTION", "RESTORE", payloads["af"] + "x", "FLUSH"}, {"FUNCTION", "RESTORE", payloads["af"][1:], "FLUSH"},
		}
	}
	ours, theirs := startServer(t).dial(), startPeer(t).dial()
	payloads := map[string]string{}
	for _, set := range []string{"none", "af", "ag", "ah", "bf", "bg", "af bg"} {
		theirs.ok("FUNCTION", "FLUSH")
		for _, l := range strings.Fields(set) {
			if l != "none" {
				theirs.do("FUNCTION", "LOAD", library(l[:1], l[1:]))
			}
		}
		payloads[set] = theirs.value("FUNCTION", "DUMP").text
	}
	for _, command := range commands(payloads) {
		if got, want := ours.do(command...), theirs.do(command...); got != want {
			t.Errorf("%s:\n got %q\nwant %q", quoteArgs(command), got, want)
		}
	}
}
