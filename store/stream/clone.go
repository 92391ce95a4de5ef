package stream

import "github.com/tidwall/btree"

// Clone returns an independent copy of a stream with all its groups. What is pending is shared until either changes it;
// blocks are copied.
func (s *Stream) Clone() *Stream {
	c := *s
	c.chunks = chunks{pool: s.pool}
	c.open = append([]byte(nil), s.open...)
	if s.blocks != nil {
		c.blocks = btree.NewBTreeGOptions(sealedLess, unlocked)
		s.blocks.Scan(func(at sealed) bool {
			copied := c.put(s.block(at))
			copied.first = at.first
			c.blocks.Load(copied)
			return true
		})
	}
	c.groups = nil
	for _, g := range s.groups {
		c.groups = append(c.groups, g.clone(&c))
	}
	return &c
}

func (g *Group) clone(of *Stream) *Group {
	c := &Group{Name: g.Name, Last: g.Last, Read: g.Read, pending: g.pending.Copy(), of: of}
	c.unused = append(c.unused, g.unused...)
	c.numbered = make([]*Consumer, len(g.numbered))
	for _, old := range g.consumers {
		copied := *old
		copied.pending = old.pending.Copy()
		c.consumers = append(c.consumers, &copied)
		c.numbered[copied.number] = &copied
	}
	return c
}
