package stream

import (
	"unsafe"

	"github.com/tidwall/btree"
)

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
		c.groups = append(c.groups, g.clone())
	}
	return &c
}

func (g *Group) clone() *Group {
	c := &Group{Name: g.Name, Last: g.Last, Read: g.Read, pending: g.pending.Copy(), unused: append([]uint32(nil), g.unused...)}
	c.numbered = make([]*Consumer, len(g.numbered))
	for _, old := range g.consumers {
		copied := *old
		copied.pending = old.pending.Copy()
		c.consumers = append(c.consumers, &copied)
		c.numbered[copied.number] = &copied
	}
	return c
}

// itemShare is how much of the memory of a tree's nodes items take when they come in order: nodes stay half full.
const itemShare = 2

// Footprint returns the bytes that the stream holds, with its share of tree nodes estimated.
func (s *Stream) Footprint() int64 {
	n := int64(unsafe.Sizeof(*s)) + s.bytes + s.overhead() + int64(cap(s.open))
	if s.blocks != nil {
		n += int64(unsafe.Sizeof(*s.blocks)) + int64(s.blocks.Len())*itemShare*int64(unsafe.Sizeof(sealed{}))
	}
	for _, g := range s.groups {
		n += g.footprint()
	}
	return n
}

func (g *Group) footprint() int64 {
	const treeSize = int64(unsafe.Sizeof(btree.BTreeG[ID]{}))
	n := int64(unsafe.Sizeof(*g)) + int64(len(g.Name)) + treeSize
	n += int64(g.pending.Len()) * itemShare * int64(unsafe.Sizeof(Pending{})+unsafe.Sizeof(ID{}))
	for _, c := range g.consumers {
		n += int64(unsafe.Sizeof(*c)) + int64(len(c.Name)) + treeSize
	}
	return n
}
