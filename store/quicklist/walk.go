package quicklist

import "kvserver/store/listpack"

// An Element is an element where it lies. It is valid until its list changes.
type Element struct {
	bytes []byte // the listpack, or the element itself
	off   int    // in the listpack; listpack.None without one
}

// Text returns the element as bytes. They alias the list or, if it is kept as an integer, buf.
func (e Element) Text(buf *[listpack.IntegerLenMax]byte) []byte {
	if e.off == listpack.None {
		return e.bytes
	}
	return listpack.Text(e.bytes, e.off, buf)
}

// Get returns the element's bytes, which alias the list, or the integer that it is kept as.
func (e Element) Get() (text []byte, n int64, isInt bool) {
	if e.off == listpack.None {
		return e.bytes, 0, false
	}
	return listpack.Get(e.bytes, e.off)
}

// Equal reports whether the element is elem.
func (e Element) Equal(elem []byte) bool {
	if e.off == listpack.None {
		return string(e.bytes) == string(elem)
	}
	return listpack.Equal(e.bytes, e.off, elem)
}

// Walk calls fn with elements from the one with this index on, which must exist or be next to one that does, until it
// returns false: from the Head in order, from the Tail backwards. The list must not change meanwhile.
func (l *List) Walk(index int, from End, fn func(Element) bool) {
	if index < 0 || index >= l.count {
		return
	}
	i, rest := l.seek(index)
	for step := 1 - 2*int(from); ; {
		n := l.at(i)
		if n.plain() {
			if !fn(Element{n.block, listpack.None}) {
				return
			}
		} else if !WalkPacked(n.listpack(), rest, from, fn) {
			return
		}
		if i += step; i < 0 || i == l.used {
			return
		}
		if rest = 0; from == Tail {
			rest = int(l.at(i).count) - 1
		}
	}
}

// WalkPacked is Walk for the elements of one listpack. It reports whether fn asked for more at the end.
func WalkPacked(lp []byte, index int, from End, fn func(Element) bool) bool {
	if index < 0 {
		return true
	}
	for off := listpack.Seek(lp, index); off != listpack.None; {
		if !fn(Element{lp, off}) {
			return false
		}
		if from == Head {
			off = listpack.Next(lp, off)
		} else {
			off = listpack.Prev(lp, off)
		}
	}
	return true
}

// Each calls fn with the bytes of count elements that exist, in order from the one with this index on. It is the fast way
// to read many. The list must not change meanwhile; an integer lies in memory that the next one overwrites.
func (l *List) Each(index, count int, fn func(elem []byte)) {
	if count == 0 {
		return
	}
	var buf [listpack.IntegerLenMax]byte
	for i, rest := l.seek(index); count > 0; i, rest = i+1, 0 {
		if n := l.at(i); n.plain() {
			fn(n.block)
			count--
		} else {
			lp := n.listpack()
			count -= listpack.Each(lp, listpack.Seek(lp, rest), count, &buf, fn)
		}
	}
}
