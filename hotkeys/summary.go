package hotkeys

import (
	"bytes"
	"math/bits"
	"slices"
	"unsafe"
)

// summary finds the frequent keys of a stream in fixed memory. It is the
// Space-Saving algorithm over the Stream-Summary structure:
//
//	A. Metwally, D. Agrawal, A. El Abbadi: Efficient Computation of Frequent
//	and Top-k Elements in Data Streams. ICDT 2005.
//
// There are m counters. An access to a key that has one adds 1 to it. An
// access to any other key takes a free counter, or when there is none the
// counter with the smallest count: the newcomer inherits that count, adds its
// own 1, and remembers what it inherited as its error. With m = 2:
//
//	A A A A A B B B   A 5/0   B 3/0      (count/error)
//	C                 A 5/0   C 4/3      C displaced B and may be B's equal
//
// With N accesses seen, f the true count of a key and min the smallest count:
//
//	count - error <= f <= count     for every key that has a counter
//	f <= min <= N/m                 for every key that has none
//	sum of counts = N
//
// so every key above N/m has a counter, whatever the order of the stream. The
// estimate reported is the middle of [count-error, count]: off by error/2 at
// most.
//
// # Structure
//
// order lists the counters from the hottest to the coldest. Counters of equal
// count stand together, and a bucket knows where they begin; buckets form a
// ring. A hash index finds a key's counter:
//
//	order     A  B  D  C          [ free counters ]
//	          ^  ^     ^          ^
//	buckets   17 4     3          (root)
//	index     linear probing, [tag|ref] [ empty ] [tag|ref] ...
//
// To add 1, a counter changes places with the first of its bucket, and the
// border between that bucket and the next hotter moves by one, past it. If
// there is no bucket of that count one is put in between. The coldest bucket
// precedes the root. No step depends on m, where a scan for the minimum costs
// as many steps as there are counters.
//
// Ties at the minimum fall on the first of the coldest bucket: the one that
// has stood there longest, but for changes of places. So a newcomer has the
// time of a whole round to show that it is no stray.
//
// # Memory
//
// A counter is 64 bytes, one cache line, and 8 more in order and position; a
// bucket is 24, one a counter at worst; costs, if they are wanted, are 40; 16 tell which keys were seen; index slots are 8 bytes, four to eight a
// counter; a name of up to 30 bytes is in its counter, a longer one in a buffer
// of the length of the longest so far, rounded up to what the allocator hands
// out, and 24 bytes. With names of 16 bytes that makes 160 bytes a counter where
// the number of counters is at or just below a power of two: 1,024 counters 160
// KiB, 8,000 counters 1.2 MiB. With names of 512 bytes: 696 KiB and 5.3 MiB. Everything grows by doubling as keys arrive,
// and is kept when the summary starts over.
//
// # Measured
//
// One recorded access in nanoseconds, in batches of 16, nothing allocated, 3 of
// them for making the name and its hash (go test -bench Recorded -cpu 1
// ./hotkeys, AMD EPYC of the Zen 4 generation at 2.6 GHz):
//
//	                  has a counter            displaces
//	name bytes      16   128   512         16   128   512
//	1,024 counters  33    38    52         53    60    71
//	8,000 counters  36    50    81         54    73    88
//
// "Has a counter" takes keys in random order from as many as there are counters,
// so that with 8,000 of 512 bytes the names alone are 4 MB, to be compared in
// full. One key over and over takes 27 to 39 ns. A batch costs some of these
// nanoseconds here, where the summary never leaves the cache, and saves more in a
// server, where a keyspace contends for it.
//
// Accuracy: go run ./hotkeys/accuracy. Windows of 200,000 accesses over a million
// keys, 16 keys reported, recall of the true top 16 and mean error of the top 10
// rates, by Zipf exponent:
//
//	                         0.80              0.99              1.20
//	100 %  1,024 counters    1.000    0.0 %    1.000    0.0 %    1.000    0.0 %
//	100 %     16 counters    0.044  126.3 %    0.188   93.6 %    0.400   55.7 %
//	  1 %  1,024 counters    0.733   33.8 %    0.873   15.8 %    0.910   10.4 %
//	  1 %     16 counters    0.061  139.7 %    0.233   95.5 %    0.412   58.8 %
//
// # Departures from the paper
//
//   - A counter owns the bytes of its name, and a newcomer is copied over whom it
//     displaces. An allocation of 512 bytes would cost more than the whole access.
//     Short names lie in the counter itself, which spares a cache line.
//   - Accesses come in batches, and what they will need is fetched first (touch).
//   - A slot of the index holds 32 bits of the hash beside the reference. A
//     miss, and the closing of a gap after a deletion, then stay inside the
//     index. References alone would be half the size, but each step of a probe
//     would fetch a counter's cache line, most of them for nothing. Three
//     quarters of the slots stay empty: with half of them, a displacement takes
//     a third longer, most of it for branches predicted wrongly.
//   - Counters of a bucket are a range of an array and not a linked list: moving
//     a counter between lists writes to three or four others, each in a cache
//     line of its own, where changing places writes to two short arrays.
//   - Counters can be taken away (removeDB). What an untracked key may have had
//     is then kept in floor, and counters filled later start from it.
type summary struct {
	samples  uint64 // accesses added
	capacity int    // most counters there may be: m
	used     int    // counters that hold a key

	counters []counter
	costs    []costs // of each counter; nil: nobody wants them
	measures bool    // somebody does
	order    []int32 // all counters: first those used, the hottest first
	position []int32 // of each counter in order

	slots      []slot
	slotsShift uint8 // 32 - log2(len(slots))

	seen []uint64 // a bit for each key that has had a counter: see saw

	buckets     []bucket // buckets[root] is where the ring begins and ends
	freeBuckets int32    // buckets given back, linked by colder; root: no more

	floor     uint64 // no untracked key was accessed more often, unless full
	nameBytes int64  // size of all name buffers
}

// counter is a key and what is known of it. Its count stands in its bucket. It
// fills a cache line, and a short name is in it.
type counter struct {
	hash   uint64  // hashOf the name and database
	err    uint64  // part of the count that may belong to displaced keys
	long   *[]byte // buffer for names that are not short, reused; nil before the first
	bucket int32
	db     int32
	length int16 // of a short name; isLong: the name is in long
	short  [shortMax]byte
}

const (
	shortMax = 30
	isLong   = -1
)

// name returns the name of the counter's key. It is overwritten when another
// key takes the counter.
func (k *counter) name() []byte {
	if k.length == isLong {
		return *k.long
	}
	return k.short[:k.length]
}

// setName copies a name and returns by how much the buffer grew, in bytes.
func (k *counter) setName(name []byte) (grown int64) {
	if len(name) <= shortMax {
		k.length = int16(len(name))
		copy(k.short[:], name)
		return 0
	}
	k.length = isLong
	if k.long == nil {
		k.long = new([]byte)
		grown = int64(unsafe.Sizeof(*k.long))
	}
	if cap(*k.long) < len(name) {
		grown -= int64(cap(*k.long))
		*k.long = slices.Grow([]byte(nil), len(name))
		grown += int64(cap(*k.long))
	}
	*k.long = append((*k.long)[:0], name...)
	return grown
}

// bucket is the range of order whose counters have one count. It ends where
// the next colder bucket begins.
type bucket struct {
	count          uint64
	hotter, colder int32 // neighbours in the ring
	begin          int32
	_              int32
}

// slot is a place in the index.
type slot struct {
	tag uint32 // high half of the counter's hash; its top bits are the home slot
	ref int32  // the counter's index plus 1; 0: empty
}

const (
	none = -1 // no counter
	root = 0  // the bucket of no counter: its count is 0 and it begins at used

	countersMin = 32  // counters made at first
	seenBits    = 128 // of seen for each counter, at least

	counterBytes = int64(unsafe.Sizeof(counter{})) + 2*int64(unsafe.Sizeof(int32(0)))
	costsBytes   = int64(unsafe.Sizeof(costs{}))
	bucketBytes  = int64(unsafe.Sizeof(bucket{}))
	slotBytes    = int64(unsafe.Sizeof(slot{}))
)

// hashOf joins the hash of a name with its database. The multiplication
// carries every bit into the high ones, which the index uses: callers may
// order their keyspace by the high bits of the hash, as a cluster node does by
// slot, and then those differ little.
func hashOf(hash uint64, db int) uint64 {
	return (hash ^ uint64(db)*0xd6e8feb86659fd93) * 0x9e3779b97f4a7c15
}

// reset forgets all keys and sets the number of counters. Memory is kept for
// the keys to come, unless the number changed or nothing was added since the
// last reset: a key length or a server that has gone quiet holds nothing.
func (s *summary) reset(capacity int, measures bool) {
	if capacity != s.capacity || measures != s.measures || s.samples == 0 {
		*s = summary{capacity: capacity, measures: measures}
		return
	}
	s.samples, s.used, s.floor = 0, 0, 0
	for c := range s.order {
		// Counters that follow each other in use then do so in memory.
		s.order[c], s.position[c] = int32(c), int32(c)
	}
	clear(s.slots)
	clear(s.seen)
	s.buckets = s.buckets[:1]
	s.buckets[root] = bucket{}
	s.freeBuckets = root
}

// add counts one access and returns the counter. hash is hashOf the name and
// database; name is copied if it is kept. O(1), but for the copy, and for growth
// while keys arrive.
func (s *summary) add(hash uint64, name []byte, db int) int32 {
	s.samples++
	at, c := s.find(hash, name, db)
	if c == none {
		if s.used < s.capacity {
			c = s.admit(hash, name, db)
		} else {
			c = s.displace(at, hash, name, db)
		}
	}
	s.increment(c)
	return c
}

// touch reads what add will need for the accesses of a batch on its side: their home slots, the
// counters they will displace if none of them has one, and the home slots of
// those. The reads do not depend on each other, so the processor has many of
// them under way at once, where add would wait for one after the other. What it
// returns means nothing.
func (s *summary) touch(batch []access, side side) (sum uint64) {
	if len(s.slots) == 0 {
		return 0
	}
	mine := 0
	for i := range batch {
		if batch[i].op.side() == side {
			sum += uint64(s.slots[uint32(batch[i].hash>>32)>>s.slotsShift].tag)
			mine++
		}
	}
	if s.used < s.capacity {
		return sum
	}
	begin := int(s.buckets[s.buckets[root].hotter].begin)
	victims := s.order[begin:min(begin+mine, s.used)]
	for _, c := range victims {
		sum += s.counters[c].hash
	}
	for _, c := range victims {
		sum += uint64(s.slots[uint32(s.counters[c].hash>>32)>>s.slotsShift].tag)
	}
	return sum
}

// find returns the counter of a key, or none and the slot where the index
// would have it (-1 while there is no index).
func (s *summary) find(hash uint64, name []byte, db int) (at int, c int32) {
	if len(s.slots) == 0 {
		return -1, none
	}
	tag := uint32(hash >> 32)
	mask := len(s.slots) - 1
	for at = int(tag >> s.slotsShift); ; at = (at + 1) & mask {
		sl := s.slots[at&mask]
		if sl.ref == 0 {
			return at, none
		}
		if sl.tag != tag {
			continue
		}
		k := &s.counters[sl.ref-1]
		if k.hash == hash && k.db == int32(db) && bytes.Equal(k.name(), name) {
			return at, sl.ref - 1
		}
	}
}

// saw tells whether a key may have been added at all: if not, what is known of an untracked key is that it was not. Of
// summaries that are merged one often lacks a key that the other has, because it is never written, say; its least count, added
// for nothing, was the greater part of the error of all accesses where reads and writes are mixed. It is a Bloom filter
// with one hash function, 128 to 256 bits a counter.
func (s *summary) saw(hash uint64) bool {
	if len(s.seen) == 0 {
		return false
	}
	return s.seen[hash>>6&uint64(len(s.seen)-1)]>>(hash&63)&1 != 0
}

func (s *summary) see(hash uint64) { s.seen[hash>>6&uint64(len(s.seen)-1)] |= 1 << (hash & 63) }

// bound returns the most accesses that a key without a counter can have had.
func (s *summary) bound() uint64 {
	if s.used == s.capacity && s.used > 0 {
		return s.buckets[s.buckets[root].hotter].count
	}
	return s.floor
}

// admit gives a free counter to a key that has none. The access that brought
// it is not counted yet.
func (s *summary) admit(hash uint64, name []byte, db int) int32 {
	if s.used == len(s.counters) {
		s.grow()
	}
	c := s.order[s.used]
	at, _ := s.find(hash, name, db)
	s.occupy(c, at, hash, name, db, s.floor)

	// Nobody has less than floor, so that the end of order is the place.
	b := s.buckets[root].hotter
	if b == root || s.buckets[b].count != s.floor {
		b = s.insertBucket(root, s.floor, int32(s.used))
	}
	s.counters[c].bucket = b
	s.used++
	s.buckets[root].begin = int32(s.used)
	return c
}

// displace gives a key the counter of the key with the smallest count. at is
// the empty slot where the newcomer belongs. The access that brought it is not
// counted yet.
func (s *summary) displace(at int, hash uint64, name []byte, db int) int32 {
	coldest := &s.buckets[s.buckets[root].hotter]
	c := s.order[coldest.begin]
	gone := s.counters[c].hash
	s.occupy(c, at, hash, name, db, coldest.count)
	// The newcomer went in first, since a deletion can move what follows it.
	s.unindex(gone, c)
	return c
}

// occupy writes a key into a counter and the counter into the index.
func (s *summary) occupy(c int32, at int, hash uint64, name []byte, db int, err uint64) {
	k := &s.counters[c]
	k.hash, k.db, k.err = hash, int32(db), err
	s.nameBytes += k.setName(name)
	s.see(hash)
	if s.costs != nil {
		s.costs[c] = costs{}
	}
	s.slots[at] = slot{tag: uint32(hash >> 32), ref: c + 1}
}

// unindex deletes a counter from the index and closes the gap: what follows
// moves up until a slot is empty, except what would land before its home.
func (s *summary) unindex(hash uint64, c int32) {
	mask := len(s.slots) - 1
	gap := int(uint32(hash>>32) >> s.slotsShift)
	for s.slots[gap].ref != c+1 || s.slots[gap].tag != uint32(hash>>32) {
		gap = (gap + 1) & mask
	}
	for at := (gap + 1) & mask; s.slots[at].ref != 0; at = (at + 1) & mask {
		home := int(s.slots[at].tag >> s.slotsShift)
		if (at-home)&mask >= (at-gap)&mask {
			s.slots[gap] = s.slots[at]
			gap = at
		}
	}
	s.slots[gap] = slot{}
}

// increment adds 1 to a counter.
func (s *summary) increment(c int32) {
	k := &s.counters[c]
	old := k.bucket
	b := &s.buckets[old]
	count, first := b.count+1, b.begin
	alone := s.buckets[b.colder].begin == first+1
	next := b.hotter
	if s.buckets[next].count != count {
		if alone {
			// With room up to the next hotter: as is the rule for hot keys.
			b.count = count
			return
		}
		next = s.insertBucket(old, count, first)
	}
	k.bucket = next
	if alone {
		s.removeBucket(old)
		return
	}
	s.buckets[old].begin++
	if at := s.position[c]; at != first {
		other := s.order[first]
		s.order[at], s.position[other] = other, at
		s.order[first], s.position[c] = c, first
	}
}

// insertBucket makes an empty bucket, next hotter than another.
func (s *summary) insertBucket(colder int32, count uint64, begin int32) int32 {
	b := s.freeBuckets
	if b != root {
		s.freeBuckets = s.buckets[b].colder
	} else {
		b = int32(len(s.buckets))
		s.buckets = append(s.buckets, bucket{})
	}
	hotter := s.buckets[colder].hotter
	s.buckets[b] = bucket{count: count, hotter: hotter, colder: colder, begin: begin}
	s.buckets[hotter].colder = b
	s.buckets[colder].hotter = b
	return b
}

// removeBucket takes an empty bucket out of the ring.
func (s *summary) removeBucket(b int32) {
	hotter, colder := s.buckets[b].hotter, s.buckets[b].colder
	s.buckets[hotter].colder = colder
	s.buckets[colder].hotter = hotter
	s.buckets[b].colder = s.freeBuckets
	s.freeBuckets = b
}

// grow doubles the number of counters, within the capacity, and remakes the
// index so that three quarters of it stay empty.
func (s *summary) grow() {
	size := min(max(2*len(s.counters), countersMin), s.capacity)
	counters, order, position := make([]counter, size), make([]int32, size), make([]int32, size)
	copy(counters, s.counters)
	copy(order, s.order)
	copy(position, s.position)
	if s.measures {
		s.costs = append(make([]costs, 0, size), s.costs...)[:size]
	}
	for c := len(s.counters); c < size; c++ {
		order[c], position[c] = int32(c), int32(c)
	}
	s.counters, s.order, s.position = counters, order, position
	if s.buckets == nil {
		s.buckets = make([]bucket, 1, countersMin)
	}

	// While counters are free no key has lost its own, so that those seen are those there.
	s.seen = make([]uint64, 1<<bits.Len(uint(seenBits*size/64-1)))
	for _, c := range s.order[:s.used] {
		s.see(s.counters[c].hash)
	}

	log2 := bits.Len(uint(4*size - 1))
	s.slots = make([]slot, 1<<log2)
	s.slotsShift = uint8(32 - log2)
	mask := len(s.slots) - 1
	for _, c := range s.order[:s.used] {
		tag := uint32(s.counters[c].hash >> 32)
		at := int(tag >> s.slotsShift)
		for s.slots[at].ref != 0 {
			at = (at + 1) & mask
		}
		s.slots[at] = slot{tag: tag, ref: c + 1}
	}
}

// removeDB forgets the keys of one database. The bound on untracked keys of
// the others stays what it was: counters filled from now on start from it.
// O(m).
func (s *summary) removeDB(db int) {
	if s.used == 0 {
		return
	}
	s.floor = s.bound()
	kept := int32(0)
	for b := s.buckets[root].colder; b != root; {
		begin, colder := kept, s.buckets[b].colder
		for at := s.buckets[b].begin; at < s.buckets[colder].begin; at++ {
			c := s.order[at]
			if s.counters[c].db == int32(db) {
				s.unindex(s.counters[c].hash, c)
				continue
			}
			// Counters given up change places with those kept, and so end
			// up behind them.
			other := s.order[kept]
			s.order[at], s.position[other] = other, at
			s.order[kept], s.position[c] = c, kept
			kept++
		}
		s.buckets[b].begin = begin
		if kept == begin {
			s.removeBucket(b)
		}
		b = colder
	}
	s.used = int(kept)
	s.buckets[root].begin = kept
}

// memoryBytes returns the size of all that the summary holds.
func (s *summary) memoryBytes() int64 {
	return int64(len(s.counters))*counterBytes + int64(len(s.costs))*costsBytes + int64(cap(s.buckets))*bucketBytes +
		int64(len(s.slots))*slotBytes + int64(len(s.seen))*8 + s.nameBytes
}
