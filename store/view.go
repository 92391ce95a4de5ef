package store

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"unsafe"

	"kvserver/hotkeys"
)

// View is a goroutine's access to a Store: it remembers which shards it has locked, the database, the time, and on whose
// behalf it works. Every method that names a key wants that key's shard locked, in write mode if it changes something.
//
// Bytes that a method returns alias the store. They are valid until the view unlocks or until its next write; a write may
// take such bytes as an operand, but not bytes that were returned before another write.
type View struct {
	store   *Store
	db      int
	nowMs   int64
	deadMs  int64 // a deadline before it is over: nowMs, unless expired keys are shown
	rec     *hotkeys.Recorder
	noTouch bool
	keeping bool // expired keys stay where they are

	observer Observer // hears of the classes below, and of changes if that is set
	classes  Class
	changes  bool

	exclusive bool
	writable  bool
	single    bool // the one shard locked is keys[0]'s
	locked    [4]uint64
	keys      []lockedKey
	keyAt     int // where the last key asked for was found in keys

	fetched uint32 // keeps the reads of Fetch

	expired []expiredKey // met under a read lock
	text    []byte       // copies handed out; grows by new blocks, so that they stay where they are
	cycleAt uint8        // the shard where ExpireCycle goes on
	scratch []byte       // of edit
	random  *rand.Rand
	work    workspace
	evictor *evictor // nil before the first key is evicted
	stats   Stats
}

// Stats are what a view has counted. Others may read them only while the view is not in use.
type Stats struct {
	Hits    int64 // lookups for reading that found a key
	Misses  int64 // lookups for reading that found none
	Expired int64 // keys removed because their time was over
	Fields  int64 // fields of hashes removed because their time was over
	Evicted int64 // keys removed to make room
}

// A lockedKey remembers the position of a key that was locked. The key is recognised by where its bytes are.
type lockedKey struct {
	bytes *byte
	len   int
	pos   uint64
}

type expiredKey struct {
	db  int
	pos uint64
	key []byte
}

const (
	// expiredMax bounds the expired keys that one command under a read lock leaves to be removed at its end; the cycle
	// finds the others. Longer keys than expiredKeyMax, in bytes, are also left to it.
	expiredMax    = 16
	expiredKeyMax = inlineMax
	// lockedKeysMax and textMax bound what a view keeps for later commands, in keys and bytes.
	lockedKeysMax = 1024
	textMax       = 4096
	// scratchMax bounds the scratch memory that is kept, in bytes: enough for packed values of the usual sizes.
	scratchMax = 64 << 10
)

// NewView makes a view. One goroutine at a time may use it.
func (s *Store) NewView() *View {
	return &View{store: s, random: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))}
}

// Bind prepares the view for a command: it works on database db at Unix time nowMs. rec counts accesses to keys; nil if
// nothing is to be counted, because tracking is off or because it is the server's own work.
func (v *View) Bind(db int, nowMs int64, rec *hotkeys.Recorder) {
	v.db, v.nowMs, v.deadMs, v.rec = db, nowMs, nowMs, rec
}

// SetNoTouch says whether lookups leave the time of a key's last use alone. Accesses are counted all the same.
func (v *View) SetNoTouch(on bool) { v.noTouch = on }

// KeepExpired says whether expired keys stay where they are, missing for everybody, until it is said otherwise.
func (v *View) KeepExpired(on bool) { v.keeping = on }

// ShowExpired makes expired keys, and expired fields of hashes, as good as others, until the next Bind.
func (v *View) ShowExpired() { v.deadMs = math.MinInt64 }

// over reports whether a deadline that is being set is over already, so that what it is set for goes at once. Expired keys
// that are kept include these.
func (v *View) over(deadline int64) bool { return deadline <= v.nowMs && !v.keeping }

// Select changes the database for the rest of the command.
func (v *View) Select(db int) { v.db = db }

// DB returns the database that the view works on.
func (v *View) DB() int { return v.db }

// Stats returns what the view has counted; ResetStats begins anew.
func (v *View) Stats() Stats { return v.stats }

// ResetStats sets the counters to zero.
func (v *View) ResetStats() { v.stats = Stats{} }

// LockKey locks the shard of one key. The view must not hold locks.
func (v *View) LockKey(key []byte, write bool) {
	v.checkUnlocked()
	write = write || v.tellsMisses()
	pos := v.store.position(key)
	v.keys = append(v.keys[:0], lockedKey{unsafe.SliceData(key), len(key), pos})
	v.keyAt, v.single, v.writable = 0, true, write
	sh := v.shard(pos)
	if write {
		sh.mu.Lock()
	} else {
		sh.mu.RLock()
	}
}

// LockKeys locks the shards of all keys, in ascending order. Keys may repeat. The view must not hold locks.
func (v *View) LockKeys(keys [][]byte, write bool) {
	v.checkUnlocked()
	write = write || v.tellsMisses()
	v.keys, v.keyAt, v.writable = v.keys[:0], 0, write
	for _, key := range keys {
		pos := v.store.position(key)
		v.keys = append(v.keys, lockedKey{unsafe.SliceData(key), len(key), pos})
		v.locked[pos>>62] |= 1 << (pos >> (64 - shardBits) % 64)
	}
	for w, word := range v.locked {
		for ; word != 0; word &= word - 1 {
			sh := &v.store.shards[w*64+bits.TrailingZeros64(word)]
			if write {
				sh.mu.Lock()
			} else {
				sh.mu.RLock()
			}
		}
	}
}

// Exclusive gives the view the whole store without locks, until Unlock: nobody else may use the store meanwhile.
func (v *View) Exclusive() { v.exclusive, v.writable = true, true }

// Unlock releases what the view has locked. Expired keys that were met under a read lock are then removed, under a write
// lock, if they are still expired. It does nothing if the view holds no locks.
func (v *View) Unlock() {
	switch {
	case v.exclusive:
		v.exclusive = false
	case v.single:
		v.single = false
		v.unlockShard(v.shard(v.keys[0].pos))
	default:
		for w, word := range v.locked {
			for ; word != 0; word &= word - 1 {
				v.unlockShard(&v.store.shards[w*64+bits.TrailingZeros64(word)])
			}
			v.locked[w] = 0
		}
	}
	v.forget()
	v.freeAll()
	if len(v.expired) > 0 {
		v.removeExpired()
	}
}

func (v *View) unlockShard(sh *shard) {
	if v.writable {
		sh.mu.Unlock()
	} else {
		sh.mu.RUnlock()
	}
}

// forget drops what belongs to the command that has ended.
func (v *View) forget() {
	if cap(v.keys) > lockedKeysMax {
		v.keys = nil
	} else if len(v.keys) > 0 {
		clear(v.keys)
		v.keys = v.keys[:0]
	}
	v.text = v.text[:0]
	if cap(v.scratch) > scratchMax {
		v.scratch = nil
	}
}

func (v *View) shard(pos uint64) *shard { return &v.store.shards[pos>>(64-shardBits)] }

// position returns the position of a key, computed once for a key that was locked: handlers ask for the keys in the
// order in which they were locked, so the last one found and the next are tried.
func (v *View) position(key []byte) uint64 {
	bytes := unsafe.SliceData(key)
	for i := v.keyAt; i < len(v.keys) && i <= v.keyAt+1; i++ {
		if k := &v.keys[i]; k.bytes == bytes && k.len == len(key) {
			v.keyAt = i
			return k.pos
		}
	}
	return v.store.position(key)
}

// holds reports whether the view may read, or write, the shard of a position.
func (v *View) holds(pos uint64, write bool) bool {
	switch {
	case write && !v.writable:
		return false
	case v.exclusive:
		return true
	case v.single:
		return v.shard(v.keys[0].pos) == v.shard(pos)
	}
	return v.locked[pos>>62]&(1<<(pos>>(64-shardBits)%64)) != 0
}

// check panics if a handler reached for a key that was not locked. It is compiled in with the race detector only.
func (v *View) check(pos uint64, write bool) {
	if invariants && !v.holds(pos, write) {
		panic("store: key used without its lock")
	}
}

// checkUnlocked panics if the view holds locks of shards though it is about to take others. It, too, is compiled in with
// the race detector only.
func (v *View) checkUnlocked() {
	if invariants && (v.single || v.locked != [4]uint64{}) {
		panic("store: takes locks while it holds some")
	}
}
