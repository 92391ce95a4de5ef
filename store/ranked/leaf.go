package ranked

import (
	"bytes"
	"encoding/binary"
	"math"
	"unsafe"

	"kvserver/store/pages"
)

// A leaf is a slotted block: records in order from the front, the bytes of members from the back.
//
//	offset  size
//	0       2     number of records
//	2       2     where the bytes of members begin
//	4       2     of those, bytes that belong to no record any more
//	8       12×n  records: score 8, offset of the member 2, its length 2
//	…             free
//	…             members, in the order in which they came
//
// A member longer than inlineMax is kept apart: its length is outside and its 4 bytes are a number in Tree.long.
type leaf struct {
	mem []byte
	run pages.Run // none: mem lies on the Go heap
}

const (
	headerSize = 8
	recordSize = 12

	// inlineMax is the longest member inside a leaf, in bytes: an eighth of a page, so that either half of a full leaf
	// has room for another.
	inlineMax  = 512
	outside    = math.MaxUint16
	numberSize = 4

	// leafMin is the size of the first leaf of a tree, which doubles up to leafMax: a tree of a few elements (Redis wants
	// one as soon as a member is longer than 64 bytes) shall not take a page.
	leafMin = 512
	leafMax = pages.Size
)

func (l leaf) word(at int) int       { return int(binary.LittleEndian.Uint16(l.mem[at:])) }
func (l leaf) setWord(at, value int) { binary.LittleEndian.PutUint16(l.mem[at:], uint16(value)) }

func (l leaf) len() int           { return l.word(0) }
func (l leaf) membersAt() int     { return l.word(2) }
func (l leaf) dead() int          { return l.word(4) }
func (l leaf) setLen(n int)       { l.setWord(0, n) }
func (l leaf) setMembersAt(n int) { l.setWord(2, n) }
func (l leaf) setDead(n int)      { l.setWord(4, n) }

func (l leaf) clear() {
	l.setLen(0)
	l.setMembersAt(len(l.mem))
	l.setDead(0)
}

// free returns the bytes between records and members.
func (l leaf) free() int { return l.membersAt() - headerSize - recordSize*l.len() }

// live returns the bytes that records and their members take.
func (l leaf) live() int { return len(l.mem) - headerSize - l.free() - l.dead() }

// room returns the bytes there would be for live ones.
func (l leaf) room() int { return len(l.mem) - headerSize }

func (l leaf) score(i int) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(l.mem[headerSize+recordSize*i:]))
}

// field returns the bytes of record i among the members: the member, or the number of one kept outside.
func (l leaf) field(i int) (field []byte, long bool) {
	at := headerSize + recordSize*i + 8
	off, n := l.word(at), l.word(at+2)
	if n == outside {
		return l.mem[off : off+numberSize], true
	}
	return l.mem[off : off+n], false
}

func (t *Tree) member(l leaf, i int) []byte {
	field, long := l.field(i)
	if long {
		return t.long[binary.LittleEndian.Uint32(field)]
	}
	return field
}

// search returns the first record of l that is not before (score, member).
func (t *Tree) search(l leaf, score float64, member []byte) int {
	low, high := 0, l.len()
	for low < high {
		mid := int(uint(low+high) / 2)
		if s := l.score(mid); s < score || s == score && bytes.Compare(t.member(l, mid), member) < 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// has reports whether record i of l is member, given that search led there.
func (t *Tree) has(l leaf, i int, score float64, member []byte) bool {
	return i < l.len() && l.score(i) == score && string(t.member(l, i)) == string(member)
}

// put makes (score, field) record i of l, which has room for it between records and members.
func (l leaf) put(i int, score float64, field []byte, long bool) {
	n := l.len()
	at := headerSize + recordSize*i
	copy(l.mem[at+recordSize:], l.mem[at:headerSize+recordSize*n])
	off := l.membersAt() - len(field)
	copy(l.mem[off:], field)
	binary.LittleEndian.PutUint64(l.mem[at:], math.Float64bits(score))
	l.setWord(at+8, off)
	if long {
		l.setWord(at+10, outside)
	} else {
		l.setWord(at+10, len(field))
	}
	l.setLen(n + 1)
	l.setMembersAt(off)
}

// cut takes records i to j, excluding j, out of l. Their members stay readable until the next change of l.
func (l leaf) cut(i, j int) {
	dead := l.dead()
	for k := i; k < j; k++ {
		field, _ := l.field(k)
		dead += len(field)
	}
	n := l.len()
	copy(l.mem[headerSize+recordSize*i:], l.mem[headerSize+recordSize*j:headerSize+recordSize*n])
	l.setLen(n - (j - i))
	l.setDead(dead)
}

// fill appends records i to j, excluding j, of another leaf.
func (l leaf) fill(from leaf, i, j int) {
	for n := l.len(); i < j; i, n = i+1, n+1 {
		field, long := from.field(i)
		l.put(n, from.score(i), field, long)
	}
}

// compact closes the gaps among the members.
func (l leaf) compact() {
	var room [leafMax]byte
	from := leaf{mem: room[:len(l.mem)]}
	copy(from.mem, l.mem)
	l.clear()
	l.fill(from, 0, from.len())
}

// middle returns the record at which l is divided into halves of like size in bytes, neither of them empty.
func (l leaf) middle() int {
	n, half, sum := l.len(), l.live()/2, 0
	for i := range n - 1 {
		field, _ := l.field(i)
		if sum += recordSize + len(field); sum >= half {
			return i + 1
		}
	}
	return n - 1
}

// leafShare is what a leaf takes in its node, in bytes.
const leafShare = int64(unsafe.Sizeof(leaf{})+unsafe.Sizeof(key{})) + 8

func (t *Tree) newLeaf(size int) leaf {
	var l leaf
	t.heap.Add(leafShare)
	if size < leafMax {
		l.mem = make([]byte, size)
		t.heap.Add(int64(size))
	} else {
		l.mem, l.run = t.pool.Alloc(leafMax / pages.Size)
	}
	l.clear()
	return l
}

func (t *Tree) freeLeaf(l leaf) {
	t.heap.Add(-leafShare)
	if l.run != 0 {
		t.pool.Free(l.run)
	} else {
		t.heap.Add(-int64(len(l.mem)))
	}
}

// keep returns the field for a member, which goes outside if it is long.
func (t *Tree) keep(member []byte) (field []byte, long bool) {
	if len(member) <= inlineMax {
		return member, false
	}
	number := uint32(len(t.long))
	own := append([]byte(nil), member...)
	if n := len(t.longFree); n > 0 {
		number = t.longFree[n-1]
		t.longFree = t.longFree[:n-1]
		t.long[number] = own
	} else {
		t.long = append(t.long, own)
	}
	t.addLong(len(member))
	return binary.LittleEndian.AppendUint32(nil, number), true
}

// addLong notes that n bytes of long members came, or went.
func (t *Tree) addLong(n int) {
	t.longBytes += int64(n)
	t.heap.Add(int64(n))
}

// drop forgets what records i to j, excluding j, of l keep outside.
func (t *Tree) drop(l leaf, i, j int) {
	if t.longBytes == 0 {
		return
	}
	for ; i < j; i++ {
		field, long := l.field(i)
		if !long {
			continue
		}
		number := binary.LittleEndian.Uint32(field)
		t.addLong(-len(t.long[number]))
		t.long[number] = nil
		t.longFree = append(t.longFree, number)
	}
	if t.longBytes == 0 {
		t.long, t.longFree = nil, nil
	}
}
