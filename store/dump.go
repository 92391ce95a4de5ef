package store

import (
	"encoding/binary"

	"kvserver/store/listpack"
	"kvserver/store/quicklist"
	"kvserver/store/rdb"
	"kvserver/store/stream"
)

// DUMP writes values in the types of Redis 7.0, the oldest server that has listpacks, so that all later ones read them:
// packed values as they are, large ones element by element. Only a hash with deadlines of fields needs a later version.

// Dump returns the value at a key as a payload for Restore, of this server or a Redis; ok is false if there is none, or if
// it is a hash all of whose fields have expired.
func (v *View) Dump(key []byte) (payload []byte, ok bool) {
	e := v.Lookup(key)
	if !e.Exists() || e.kind() == kindHash && v.hashOf(e).Live() == 0 {
		return nil, false
	}
	payload, version := v.appendValue(nil, e)
	return rdb.Seal(payload, version), true
}

// Serialized returns the value of an entry as Dump writes it, without type and footer. It leaves no trace.
func (v *View) Serialized(e Entry) []byte {
	b, _ := v.appendValue(nil, e)
	return b[1:]
}

// appendValue appends the type and the value of an entry, and returns the version of the format that they need.
func (v *View) appendValue(dst []byte, e Entry) ([]byte, uint16) {
	switch e.kind() {
	case kindInt:
		return rdb.AppendInteger(append(dst, byte(rdb.String)), e.integer()), rdb.Version
	case kindEmbstr, kindRaw:
		return rdb.AppendString(append(dst, byte(rdb.String)), e.text()), rdb.Version
	case kindListPacked:
		dst = rdb.AppendLength(append(dst, byte(rdb.ListQuicklist)), 1)
		return rdb.AppendPacked(dst, e.packed()), rdb.Version
	case kindList:
		return appendList(append(dst, byte(rdb.ListQuicklist)), e.quicklist()), rdb.Version
	case kindSetInts:
		return rdb.AppendString(append(dst, byte(rdb.SetIntset)), e.packed()), rdb.Version
	case kindSetPacked, kindSet: // Redis 7.0 has no listpacks of members
		return v.appendSet(append(dst, byte(rdb.Set)), membersOf(e)), rdb.Version
	case kindZsetPacked:
		return rdb.AppendString(append(dst, byte(rdb.ZsetListpack)), e.packed()), rdb.Version
	case kindZset:
		return appendZset(append(dst, byte(rdb.Zset)), e.collection().(*zset)), rdb.Version
	case kindHashPacked:
		return rdb.AppendString(append(dst, byte(rdb.HashListpack)), e.packed()), rdb.Version
	case kindHash:
		return v.appendHash(dst, e.collection().(*hash))
	case kindStream:
		return appendStream(append(dst, byte(rdb.Stream2)), e.collection().(*largeStream).Stream), rdb.Version
	}
	panic("store: a value of this kind cannot be written")
}

func appendList(dst []byte, l *quicklist.List) []byte {
	nodes := 0
	l.Nodes(func(bool, []byte) bool {
		nodes++
		return true
	})
	dst = rdb.AppendLength(dst, uint64(nodes))
	l.Nodes(func(plain bool, b []byte) bool {
		switch {
		case !plain:
			dst = rdb.AppendPacked(dst, b)
		case listpack.Fits(nil, listpack.Size(b)): // as Redis has it
			dst = rdb.AppendPacked(dst, listpack.Append(nil, b))
		default:
			dst = rdb.AppendPlain(dst, b)
		}
		return true
	})
	return dst
}

func (v *View) appendSet(dst []byte, m members) []byte {
	dst = rdb.AppendLength(dst, uint64(m.len()))
	v.eachMember(&m, func(member []byte) bool {
		dst = rdb.AppendString(dst, member)
		return true
	})
	return dst
}

// appendZset writes the greatest element first, as Redis does: there, adding one that comes before all others is faster.
func appendZset(dst []byte, z *zset) []byte {
	n := z.order.Len()
	dst = rdb.AppendLength(dst, uint64(n))
	for c := z.order.At(n - 1); n > 0; n-- {
		dst = rdb.AppendDouble(rdb.AppendString(dst, c.Member()), c.Score())
		c.Prev()
	}
	return dst
}

// appendHash writes the fields that have not expired, with their deadlines if there are any.
func (v *View) appendHash(dst []byte, h *hash) ([]byte, uint16) {
	n, earliest := 0, int64(never)
	v.dictEach(&h.dict, func(e Entry) bool {
		if n++; deadlineOf(e) != noDeadline {
			earliest = min(earliest, e.deadline())
		}
		return true
	})
	if earliest == never {
		dst = rdb.AppendLength(append(dst, byte(rdb.Hash)), uint64(n))
		v.dictEach(&h.dict, func(e Entry) bool {
			dst = rdb.AppendString(rdb.AppendString(dst, e.Key()), e.text())
			return true
		})
		return dst, rdb.Version
	}
	dst = rdb.AppendTime(append(dst, byte(rdb.HashDeadlines)), earliest)
	dst = rdb.AppendLength(dst, uint64(n))
	v.dictEach(&h.dict, func(e Entry) bool {
		after := uint64(0) // none; otherwise one more than the ms after the earliest
		if at := deadlineOf(e); at != noDeadline {
			after = uint64(at-earliest) + 1
		}
		dst = rdb.AppendString(rdb.AppendString(rdb.AppendLength(dst, after), e.Key()), e.text())
		return true
	})
	return dst, rdb.DeadlinesVersion
}

// appendStream writes blocks as they are, and then what a stream knows besides.
func appendStream(dst []byte, s *stream.Stream) []byte {
	dst = rdb.AppendLength(dst, uint64(s.Blocks()))
	s.EachBlock(func(first stream.ID, b []byte) {
		dst = rdb.AppendString(rdb.AppendString(dst, appendRawID(nil, first)), b)
	})
	dst = rdb.AppendLength(dst, uint64(s.Len()))
	for _, id := range []stream.ID{s.Last(), s.First(), s.MaxDeleted()} {
		dst = appendID(dst, id)
	}
	dst = rdb.AppendLength(dst, uint64(s.Added()))
	dst = rdb.AppendLength(dst, uint64(len(s.Groups())))
	for _, g := range s.Groups() {
		dst = appendGroup(dst, g)
	}
	return dst
}

// appendID appends an ID as two numbers, appendRawID as 16 bytes that sort as IDs do.
func appendID(dst []byte, id stream.ID) []byte {
	return rdb.AppendLength(rdb.AppendLength(dst, id.Ms), id.Seq)
}

func appendRawID(dst []byte, id stream.ID) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, id.Ms), id.Seq)
}

func appendGroup(dst []byte, g *stream.Group) []byte {
	dst = appendID(rdb.AppendString(dst, []byte(g.Name)), g.Last)
	dst = rdb.AppendLength(dst, uint64(g.Read)) // Unknown is 2^64-1 there
	dst = rdb.AppendLength(dst, uint64(g.Pending()))
	g.EachPending(stream.ID{}, func(p stream.Pending) bool {
		dst = rdb.AppendTime(appendRawID(dst, p.ID), p.DeliveredMs)
		dst = rdb.AppendLength(dst, uint64(p.Deliveries))
		return true
	})
	dst = rdb.AppendLength(dst, uint64(len(g.Consumers())))
	for _, c := range g.Consumers() {
		dst = rdb.AppendTime(rdb.AppendString(dst, []byte(c.Name)), c.SeenMs)
		dst = rdb.AppendLength(dst, uint64(c.Pending()))
		g.EachPendingOf(c, stream.ID{}, func(p stream.Pending) bool {
			dst = appendRawID(dst, p.ID)
			return true
		})
	}
	return dst
}
