package store

import (
	"crypto/sha1" // not for secrecy: the digest is Redis's
	"encoding/binary"
	"math"
	"strconv"
)

// Digest is the signature of data that DEBUG DIGEST and DEBUG DIGEST-VALUE print: Redis and this server have the same one
// for the same data, however it is encoded and in whatever order tables have it. What has an order (the elements of a list,
// a field and its value) is mixed in, what has none (keys, members) is added. The zero Digest is that of nothing.
type Digest [sha1.Size]byte

// add adds something whose place does not matter: bytes, or the digest of something that has parts.
func (d *Digest) add(b []byte) {
	sum := sha1.Sum(b)
	for i := range d {
		d[i] ^= sum[i]
	}
}

// mix adds something that comes after everything before.
func (d *Digest) mix(b []byte) {
	d.add(b)
	*d = sha1.Sum(d[:])
}

// mixNumber mixes in four bytes, the highest first.
func (d *Digest) mixNumber(n uint32) {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n)
	d.mix(b[:])
}

// digestTypes are Redis's numbers of the types. 5 is a module's.
var digestTypes = [...]uint32{
	typeString >> 4: 0, typeList >> 4: 1, typeSet >> 4: 2, typeZset >> 4: 3, typeHash >> 4: 4, typeStream >> 4: 6,
}

// Of deadlines only that there is one counts: two servers do not agree on the millisecond.
const (
	keyExpires   = "!!expire!!"
	fieldExpires = "!!hexpire!!"
)

// Digest returns the digest of all databases. The view must have the whole store. It leaves no trace.
func (v *View) Digest() (all Digest) {
	for db := range v.store.databases {
		empty := true
		for i := range v.store.shards {
			t := v.store.shards[i].tables[db].Load()
			if t == nil {
				continue
			}
			v.dictEach(&dict{t}, func(e Entry) bool {
				if e.kind() == kindHash && v.hashOf(e).Live() == 0 { // gone for those who ask for it
					return true
				}
				if empty {
					empty = false
					all.mixNumber(uint32(db))
				}
				var d Digest
				d.mix(e.Key())
				v.digest(&d, e)
				all.add(d[:])
				return true
			})
		}
	}
	return all
}

// DigestValue returns the digest of the value of an entry and of whether it expires, without its key. It leaves no trace.
func (v *View) DigestValue(e Entry) (d Digest) {
	if e.Exists() {
		v.digest(&d, e)
	}
	return d
}

func (v *View) digest(d *Digest, e Entry) {
	d.mixNumber(digestTypes[e.kind()>>4])
	switch e.kind() & typeMask {
	case typeString:
		if e.kind() == kindInt {
			d.mix(strconv.AppendInt(nil, e.integer(), 10))
		} else {
			d.mix(e.text())
		}
	case typeList:
		e.elements(0, Head, e.listLen()).Each(d.mix)
	case typeSet:
		m := membersOf(e)
		v.eachMember(&m, func(member []byte) bool {
			d.add(member)
			return true
		})
	case typeZset:
		s := v.sortedOf(e)
		s.Each(0, s.Len(), false, func(member []byte, score float64) bool {
			var element Digest
			element.mix(member)
			element.mix(digestScore(score))
			d.add(element[:])
			return true
		})
	case typeHash:
		v.digestHash(d, v.hashOf(e))
	case typeStream:
		digestStream(d, e.collection().(*largeStream))
	}
	if e.flags()&hasDeadline != 0 {
		d.add([]byte(keyExpires))
	}
}

// digestScore prints a score with 17 digits, whatever replies print.
func digestScore(score float64) []byte {
	switch {
	case math.IsInf(score, 1):
		return []byte("inf")
	case math.IsInf(score, -1):
		return []byte("-inf")
	}
	return strconv.AppendFloat(nil, score, 'g', 17, 64)
}

func (v *View) digestHash(d *Digest, h Hash) {
	pair := func(field, val []byte) (element Digest) {
		element.mix(field)
		element.mix(val)
		return element
	}
	if h.large == nil {
		h.Each(func(field, val []byte) bool {
			element := pair(field, val)
			d.add(element[:])
			return true
		})
		return
	}
	v.dictEach(&h.large.dict, func(e Entry) bool {
		element := pair(e.Key(), e.text())
		if e.flags()&hasDeadline != 0 {
			element.add([]byte(fieldExpires))
		}
		d.add(element[:])
		return true
	})
}

// digestStream mixes in IDs with a dot, unlike those that clients see.
func digestStream(d *Digest, s *largeStream) {
	var id []byte
	r := s.Range(s.First(), s.Last(), false)
	for r.Next() {
		id = strconv.AppendUint(id[:0], r.ID().Ms, 10)
		id = strconv.AppendUint(append(id, '.'), r.ID().Seq, 10)
		d.mix(id)
		for range r.Fields() {
			field, value := r.Pair()
			d.mix(field)
			d.mix(value)
		}
	}
}
