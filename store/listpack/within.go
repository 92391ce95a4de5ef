package listpack

import "encoding/binary"

// What a list of many listpacks wants of one that lies in a larger block: to grow into the free bytes at either end without
// being moved, and to lose its first elements without moving the others.

// AppendWithin is Append for a listpack that must stay where it is: ok is false, and nothing was done, if its capacity is
// too small. lp has a header.
func AppendWithin(lp, elem []byte) (grown []byte, ok bool) {
	e := textElement(elem)
	off := len(lp) - 1
	to := off + e.size + backlenSize(e.size)
	if to+1 > cap(lp) {
		return lp, false
	}
	lp = lp[:to+1]
	e.put(lp[off:to])
	lp[to] = end
	return finish(lp, 1), true
}

// PrependWithin is Prepend for the listpack block[from:to], which grows into the bytes in front of it. It returns where the
// listpack then begins; ok is false, and nothing was done, if there are too few. elem must not alias the block.
func PrependWithin(block []byte, from, to int, elem []byte) (begin int, ok bool) {
	e := textElement(elem)
	n := e.size + backlenSize(e.size)
	if n > from {
		return from, false
	}
	begin = from - n
	*(*[headerSize]byte)(block[begin:]) = [headerSize]byte(block[from:])
	e.put(block[begin+headerSize : from+headerSize])
	finish(block[begin:to], 1)
	return begin, true
}

// DeleteFront takes out the n elements before the one at off, or all if off is the end. The rest stays where it is and gets
// a header in front: the result is lp without its first bytes.
func DeleteFront(lp []byte, off, n int) []byte {
	rest := lp[off-headerSize:]
	*(*[headerSize]byte)(rest) = [headerSize]byte(lp)
	return finish(rest, -n)
}

// DeleteBack takes out the element at off and all that follow, n in number.
func DeleteBack(lp []byte, off, n int) []byte {
	lp = lp[:off+1]
	lp[off] = end
	return finish(lp, -n)
}

// Split returns a copy of the elements from the one at off on, n in number, appended to dst, which has no bytes, and lp
// without them.
func Split(lp []byte, off, n int, dst []byte) (front, back []byte) {
	back = append(dst, lp[:headerSize]...)
	back = append(back, lp[off:]...)
	binary.LittleEndian.PutUint16(back[countAt:], uint16(min(n, uncounted)))
	return DeleteBack(lp, off, n), finish(back, 0)
}

// Each calls fn with the bytes of up to count elements, beginning with the one at off, and returns their number. What it
// passes aliases lp or, if it is an integer, buf.
func Each(lp []byte, off, count int, buf *[IntegerLenMax]byte, fn func(elem []byte)) (n int) {
	for ; n < count && lp[off] != end; n++ {
		if c := lp[off]; c&0xc0 == 0x80 { // a short string, the usual case
			from, to := off+1, off+1+int(c&0x3f)
			fn(lp[from:to:to])
			off = to + 1
		} else {
			fn(Text(lp, off, buf))
			off = After(lp, off)
		}
	}
	return n
}

// DeleteEqual takes out elements equal to elem, which must not alias lp: of those it finds it spares the first skip and
// then deletes up to countMax. It returns the number of those deleted. One pass, whatever their number.
func DeleteEqual(lp, elem []byte, skip, countMax int) (rest []byte, deleted int) {
	off := First(lp)
	for ; skip > 0 && off != None; skip-- {
		if off = Find(lp, off, elem, 0); off != None {
			off = After(lp, off)
		}
	}
	if off == None || lp[off] == end || countMax == 0 {
		return lp, 0
	}
	to := Find(lp, off, elem, 0)
	if to == None {
		return lp, 0
	}
	for from := to; ; {
		from = After(lp, from) // the one before is deleted
		deleted++
		next := None
		if deleted < countMax && lp[from] != end {
			next = Find(lp, from, elem, 0)
		}
		if next == None {
			to += copy(lp[to:], lp[from:])
			return finish(lp[:to], -deleted), deleted
		}
		to += copy(lp[to:], lp[from:next])
		from = next
	}
}

// CountEqual returns the number of elements equal to elem.
func CountEqual(lp, elem []byte) (n int) {
	off := First(lp)
	for off != None && lp[off] != end {
		if off = Find(lp, off, elem, 0); off == None {
			break
		}
		n++
		off = After(lp, off)
	}
	return n
}
