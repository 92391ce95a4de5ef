package tracking

import (
	"strconv"
	"testing"
)

// TestBytes: the memory grows with keys and their clients, by what the package comment says, and is given up.
func TestBytes(t *testing.T) {
	const keys = 100_000
	table := NewTable(func(int64) bool { return true })
	empty := table.Bytes()
	for i := range keys {
		table.Add([]byte("key:"+strconv.Itoa(i)), 1)
	}
	one := table.Bytes() - empty
	if one < keys*(32+9+4) || one > 2*keys*(32+9+8) {
		t.Errorf("%d keys of one client take %d bytes", keys, one)
	}
	for i := range keys {
		table.Add([]byte("key:"+strconv.Itoa(i)), 2)
	}
	if two := table.Bytes() - empty; two < one+8*keys {
		t.Errorf("%d bytes with one client, %d with two", one, two)
	}
	if table.Clear(); table.Bytes() != empty {
		t.Errorf("%d bytes when empty, %d before", table.Bytes(), empty)
	}
}
