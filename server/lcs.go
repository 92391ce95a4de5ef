package server

import (
	"bytes"
	"errors"
)

// lcsOptions are the options of LCS.
type lcsOptions struct {
	length     bool  // LEN
	indexes    bool  // IDX
	withLength bool  // WITHMATCHLEN
	minMatch   int64 // MINMATCHLEN
}

func (o *lcsOptions) parse(args [][]byte) error {
	for i := 3; i < len(args); i++ {
		switch opt := args[i]; {
		case bytes.EqualFold(opt, []byte("LEN")):
			o.length = true
		case bytes.EqualFold(opt, []byte("IDX")):
			o.indexes = true
		case bytes.EqualFold(opt, []byte("WITHMATCHLEN")):
			o.withLength = true
		case bytes.EqualFold(opt, []byte("MINMATCHLEN")) && i+1 < len(args):
			n, ok := parseInt(args[i+1])
			if !ok {
				return errors.New(errNotInteger)
			}
			o.minMatch = max(n, 0)
			i++
		default:
			return errors.New(errSyntax)
		}
	}
	if o.indexes && o.length {
		return errors.New("ERR If you want both the length and indexes, please just use IDX.")
	}
	return nil
}

// lcsCellsMax bounds the dynamic programming table, whose cells have four bytes: beyond it the server would be
// asked for gigabytes by one command of two arguments.
const lcsCellsMax = 1 << 28

// lcs finds the longest common subsequence of two strings in O(n*m) time and memory, as Redis does, so that
// equally long ones are chosen alike.
func lcs(c *client, args [][]byte) {
	a, _, errA := c.view.Get(args[1])
	a = bytes.Clone(a) // the view has one buffer for printed numbers
	b, _, errB := c.view.Get(args[2])
	if errA != nil || errB != nil {
		c.fail("ERR The specified keys must contain string values")
		return
	}
	var o lcsOptions
	if err := o.parse(args); err != nil {
		c.fail(err.Error())
		return
	}
	if uint64(len(a)+1)*uint64(len(b)+1) > lcsCellsMax {
		c.fail("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len")
		return
	}
	t := newLCSTable(a, b)
	switch {
	case o.length:
		c.int(int64(t.at(len(a), len(b))))
	case o.indexes:
		c.lcsIndexes(t, o)
	default:
		c.bulk(t.subsequence())
	}
}

// lcsTable holds the length of the longest common subsequence for every pair of prefixes.
type lcsTable struct {
	a, b  []byte
	cells []uint32
}

func newLCSTable(a, b []byte) *lcsTable {
	t := &lcsTable{a: a, b: b, cells: make([]uint32, (len(a)+1)*(len(b)+1))}
	width := len(b) + 1
	for i := 1; i <= len(a); i++ {
		above, line := t.cells[(i-1)*width:i*width], t.cells[i*width:(i+1)*width]
		for j := 1; j <= len(b); j++ {
			if a[i-1] == b[j-1] {
				line[j] = above[j-1] + 1
			} else {
				line[j] = max(above[j], line[j-1])
			}
		}
	}
	return t
}

func (t *lcsTable) at(i, j int) uint32 { return t.cells[i*(len(t.b)+1)+j] }

// back walks from the end of both strings to their beginning and calls match for each common byte's indexes.
func (t *lcsTable) back(match func(i, j int)) {
	for i, j := len(t.a), len(t.b); i > 0 && j > 0; {
		switch {
		case t.a[i-1] == t.b[j-1]:
			match(i-1, j-1)
			i, j = i-1, j-1
		case t.at(i-1, j) > t.at(i, j-1):
			i--
		default:
			j--
		}
	}
}

func (t *lcsTable) subsequence() []byte {
	n := int(t.at(len(t.a), len(t.b)))
	out := make([]byte, n)
	t.back(func(i, _ int) {
		n--
		out[n] = t.a[i]
	})
	return out
}

// lcsRange is a run of common bytes: [a, a+n) in the first string and [b, b+n) in the second.
type lcsRange struct{ a, b, n int }

// ranges lists the runs, the last one first, as Redis prints them.
func (t *lcsTable) ranges() []lcsRange {
	var list []lcsRange
	t.back(func(i, j int) {
		if last := len(list) - 1; last >= 0 && list[last].a == i+1 && list[last].b == j+1 {
			list[last] = lcsRange{i, j, list[last].n + 1}
			return
		}
		list = append(list, lcsRange{i, j, 1})
	})
	return list
}

func (c *client) lcsIndexes(t *lcsTable, o lcsOptions) {
	var shown []lcsRange
	for _, r := range t.ranges() {
		if int64(r.n) >= o.minMatch {
			shown = append(shown, r)
		}
	}
	c.mapping(2)
	c.bulkString("matches")
	c.array(len(shown))
	for _, r := range shown {
		if o.withLength {
			c.array(3)
		} else {
			c.array(2)
		}
		c.intPair(r.a, r.a+r.n-1)
		c.intPair(r.b, r.b+r.n-1)
		if o.withLength {
			c.int(int64(r.n))
		}
	}
	c.bulkString("len")
	c.int(int64(t.at(len(t.a), len(t.b))))
}

func (c *client) intPair(a, b int) {
	c.array(2)
	c.int(int64(a))
	c.int(int64(b))
}
