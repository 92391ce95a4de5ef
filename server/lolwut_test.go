package server

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestLolwut(t *testing.T) {
	c := newTestClient(t, newTestServer(t))
	for _, test := range []struct {
		command    string
		cols, rows int
	}{
		{"LOLWUT", lolwutCols, lolwutRows},
		{"LOLWUT VERSION 5", lolwutCols, lolwutRows},
		{"LOLWUT version 6 10 3", 10, 3},
		{"LOLWUT 20", 20, lolwutRows},
		{"LOLWUT 0 -5", 1, 1},
		{"LOLWUT VERSION 5 99999999999 99999999999 9", lolwutColsMax, lolwutRowsMax},
	} {
		text := decoded(t, do(c, strings.Fields(test.command)...)).text
		lines := strings.Split(text, "\n")
		if len(lines) != test.rows+3 || len(lines[0]) != test.cols {
			t.Errorf("%s: %d lines, the first of %d characters", test.command, len(lines), len(lines[0]))
		}
		if !strings.HasSuffix(text, " Redis ver. "+compatVersion+"\n") {
			t.Errorf("%s does not end with the version: %q", test.command, lines[len(lines)-2])
		}
	}
	for _, command := range []string{"LOLWUT VERSION x", "LOLWUT VERSION 5 x", "LOLWUT 5 x"} {
		if got := do(c, strings.Fields(command)...); got != "-"+errNotInteger+"\r\n" {
			t.Errorf("%s: %q", command, got)
		}
	}
	do(c, "HELLO", "3")
	if got := do(c, "LOLWUT"); !strings.Contains(got, "\r\ntxt:") {
		t.Errorf("RESP3: %q", got)
	}
}

func TestHeatMapHasHotAndCold(t *testing.T) {
	for seed := range uint64(100) {
		picture := heatMap(rand.New(rand.NewPCG(seed, 1)), lolwutCols, lolwutRows)
		if !strings.Contains(picture, " ") || !strings.ContainsAny(picture, "*#%@") {
			t.Errorf("seed %d:\n%s", seed, picture)
		}
	}
}
