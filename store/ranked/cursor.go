package ranked

// Cursor stands at an element of a tree, or at none. It is good until the tree changes.
type Cursor struct {
	t    *Tree
	l    leaf
	i, n int // record, of how many of the leaf
	rank int
}

// At returns a cursor at the element of a rank, counted from 0; at none if there is no such rank.
func (t *Tree) At(rank int) Cursor {
	c := Cursor{t: t, rank: rank}
	if rank < 0 || rank >= t.length {
		return c
	}
	left := rank
	for n := t.root; ; {
		i := 0
		for left >= n.counts[i] {
			left -= n.counts[i]
			i++
		}
		if n.nodes == nil {
			c.l, c.i, c.n = n.leaves[i], left, n.counts[i]
			return c
		}
		n = n.nodes[i]
	}
}

// Valid reports whether the cursor stands at an element.
func (c *Cursor) Valid() bool { return uint(c.i) < uint(c.n) }

// Rank returns the rank of the element.
func (c *Cursor) Rank() int { return c.rank }

// Score returns the element's score.
func (c *Cursor) Score() float64 { return c.l.score(c.i) }

// Member returns the element's member. It aliases the tree.
func (c *Cursor) Member() []byte { return c.t.member(c.l, c.i) }

// Next moves to the element after this one. Going on to another leaf takes O(log n).
func (c *Cursor) Next() {
	c.rank++
	if c.i++; c.i == c.n {
		*c = c.t.At(c.rank)
	}
}

// Prev moves to the element before this one.
func (c *Cursor) Prev() {
	c.rank--
	if c.i--; c.i < 0 {
		*c = c.t.At(c.rank)
	}
}
