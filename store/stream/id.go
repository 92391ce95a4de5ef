package stream

import (
	"math"
	"strconv"
)

// ID names an entry: the Unix time in milliseconds at which it was added, and a number among those of one millisecond. IDs
// only ever grow within a stream. The zero ID comes before all that an entry may have.
type ID struct{ Ms, Seq uint64 }

// Max is the greatest ID.
var Max = ID{math.MaxUint64, math.MaxUint64}

// IDLenMax is the length of the longest ID in decimal.
const IDLenMax = 20 + 1 + 20

// Less reports whether id comes before other.
func (id ID) Less(other ID) bool { return id.Ms < other.Ms || id.Ms == other.Ms && id.Seq < other.Seq }

// Next returns the ID after id; ok is false if id is the greatest.
func (id ID) Next() (next ID, ok bool) {
	switch {
	case id.Seq != math.MaxUint64:
		return ID{id.Ms, id.Seq + 1}, true
	case id.Ms != math.MaxUint64:
		return ID{id.Ms + 1, 0}, true
	}
	return ID{}, false
}

// Prev returns the ID before id; ok is false if id is the zero ID.
func (id ID) Prev() (prev ID, ok bool) {
	switch {
	case id.Seq != 0:
		return ID{id.Ms, id.Seq - 1}, true
	case id.Ms != 0:
		return ID{id.Ms - 1, math.MaxUint64}, true
	}
	return ID{}, false
}

// AppendTo appends "ms-seq" to dst.
func (id ID) AppendTo(dst []byte) []byte {
	dst = strconv.AppendUint(dst, id.Ms, 10)
	dst = append(dst, '-')
	return strconv.AppendUint(dst, id.Seq, 10)
}

func (id ID) String() string { return string(id.AppendTo(nil)) }

// since returns the difference to a block's first ID as a block keeps it. It wraps around, and plus undoes that.
func (id ID) since(first ID) (ms, seq int64) {
	return int64(id.Ms - first.Ms), int64(id.Seq - first.Seq)
}

func (id ID) plus(ms, seq int64) ID { return ID{id.Ms + uint64(ms), id.Seq + uint64(seq)} }
