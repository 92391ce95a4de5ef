//go:build linux

package main

import (
	"bytes"
	"strings"
	"testing"
)

// Replies must be counted alike however the stream is cut, or a cut would lose or invent operations.
func TestCountIsIndependentOfCuts(t *testing.T) {
	stream := []byte("+OK\r\n$5\r\nab\r\nc\r\n$0\r\n\r\n:12\r\n*3\r\n$2\r\nab\r\n:1\r\n$0\r\n\r\n+OK\r\n")
	for first := range len(stream) {
		for second := first; second <= len(stream); second++ {
			c := &client{}
			total := 0
			var rest []byte
			for _, piece := range [][]byte{stream[:first], stream[first:second], stream[second:]} {
				data := append(bytes.Clone(rest), piece...)
				replies, partial, err := c.count(data)
				if err != nil {
					t.Fatal(err)
				}
				total += replies
				rest = bytes.Clone(partial)
			}
			if total != 6 || len(rest) != 0 || c.skip != 0 {
				t.Fatalf("cut at %d and %d: %d replies, rest %q, skip %d", first, second, total, rest, c.skip)
			}
		}
	}
}

func TestCountRefusesWhatIsNoResult(t *testing.T) {
	for _, stream := range []string{"-ERR no\r\n", "$-1\r\n", "*0\r\n", "*-1\r\n", "*1\r\n*1\r\n", "_\r\n", "\n", strings.Repeat("x", lineBytesMax)} {
		if replies, _, err := (&client{}).count([]byte(stream)); err == nil {
			t.Errorf("%q counted as %d replies", stream, replies)
		}
	}
}

func TestEncoderWritesTheCommand(t *testing.T) {
	e := newEncoder(workload{command: "SET", keys: 123457, sequential: true, nameBytes: 20, valueBytes: 3}, 0, 1)
	e.next = 123456
	want := "*3\r\n$3\r\nSET\r\n$20\r\nkey:0000000000123456\r\n$3\r\nvvv\r\n"
	if got := string(e.append(nil)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !e.exhausted() {
		t.Error("more names than there are")
	}
}

func TestEncoderFillsHoles(t *testing.T) {
	e := newEncoder(workload{words: "HSET $key $name $value end", keys: 30, collection: 7, sequential: true,
		nameBytes: nameBytesMin, valueBytes: 2}, 0, 1)
	e.next = 23
	want := "*5\r\n$4\r\nHSET\r\n$23\r\ncollection:000000000002\r\n$16\r\nkey:000000000023\r\n$2\r\nvv\r\n$3\r\nend\r\n"
	if got := string(e.append(nil)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestThreadsShareTheNames(t *testing.T) {
	seen := map[string]bool{}
	for thread := range 3 {
		e := newEncoder(workload{command: "GET", keys: 100, sequential: true, nameBytes: nameBytesMin}, thread, 3)
		for !e.exhausted() {
			seen[string(e.append(nil))] = true
		}
	}
	if len(seen) != 100 {
		t.Errorf("%d names, want 100", len(seen))
	}
}
