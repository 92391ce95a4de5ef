// Package tracking knows which clients keep copies of which keys, so that they can be told when a key changes.
//
// Clients that name the keys they read are in a Table: key by key, the ids of those who have read it since it was last
// changed. Clients that want to hear of all keys with a prefix are in Prefixes. Neither knows what a client is.
//
// # The table
//
// Every read of a client that tracks looks its key up here, and every write of anybody while there is such a client, so the
// table is made of shards with a mutex each, which are held for one look-up. A shard is a hash table with linear probing
// whose slots are numbers of entries; entries lie one after the other, so that one can be chosen at random; names lie one
// after the other in one buffer, which is rebuilt when more than half of it is names that are gone. None of this holds
// pointers: the garbage collector does not look into a table of a million keys. A key costs 32 bytes, its name, and 4 to 8
// bytes of slots; the clients of a key, from the second on, a list of their own, in order, 8 bytes each.
//
// A client that is gone is not looked for in a table of a million keys. Its id stays until the key changes, or until the list
// that it is in would have to grow.
package tracking

import (
	"bytes"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

const (
	shardBits = 6
	// slotsMin is the size of a small shard's hash table.
	slotsMin = 8
	// deadBytesMin is the least garbage among names that is worth a rebuild.
	deadBytesMin = 4 << 10
)

// Table is the table of keys and of the clients that have read them. It is safe for concurrent use.
type Table struct {
	seed   maphash.Seed
	alive  func(id int64) bool
	keys   atomic.Int64
	items  atomic.Int64
	shards [1 << shardBits]shard
}

type shard struct {
	mu sync.Mutex
	// mu guards all of the following.
	slots     []uint32 // number of an entry + 1, or 0; a power of two of them, at most three quarters taken
	entries   []entry
	names     []byte
	deadBytes int       // of names, those of keys that are gone
	lists     [][]int64 // clients of a key but the first, ascending
	freeLists []uint32

	_ [64]byte // keeps the next shard's mutex off this one's cache line
}

type entry struct {
	hash  uint64
	at    uint64 // of its name
	owner int64  // one client that has read the key
	size  uint32 // of its name
	list  uint32 // the others: number of their list + 1, or 0
}

// NewTable makes a table. alive tells whether a client still wants to hear of keys; it is called with locks of the table held
// and must not use it.
func NewTable(alive func(id int64) bool) *Table {
	return &Table{seed: maphash.MakeSeed(), alive: alive}
}

// Keys is the number of keys in the table.
func (t *Table) Keys() int64 { return t.keys.Load() }

// Items is the number of pairs of a key and a client.
func (t *Table) Items() int64 { return t.items.Load() }

// Bytes is about the memory that the table holds.
func (t *Table) Bytes() int64 {
	n := int64(unsafe.Sizeof(*t)) + 8*max(t.Items()-t.Keys(), 0)
	for i := range t.shards {
		sh := &t.shards[i]
		sh.mu.Lock()
		n += 4*int64(cap(sh.slots)+cap(sh.freeLists)) + int64(cap(sh.entries))*int64(unsafe.Sizeof(entry{})) +
			int64(cap(sh.names)) + int64(cap(sh.lists))*int64(unsafe.Sizeof([]int64(nil)))
		sh.mu.Unlock()
	}
	return n
}

// Add notes that a client has read a key, and reports whether nobody else had. It takes O(log clients of the key) if it is
// noted already.
func (t *Table) Add(key []byte, id int64) (first bool) {
	hash := maphash.Bytes(t.seed, key)
	sh := t.shard(hash)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if slot := sh.find(hash, key); slot >= 0 {
		e := &sh.entries[sh.slots[slot]-1]
		if e.owner != id {
			t.addOwner(sh, e, id)
		}
		return false
	}
	if (len(sh.entries)+1)*4 > len(sh.slots)*3 {
		sh.resize(max(slotsMin, len(sh.slots)*2))
	}
	sh.entries = append(sh.entries, entry{hash: hash, at: uint64(len(sh.names)), owner: id, size: uint32(len(key))})
	sh.names = append(sh.names, key...)
	sh.occupy(hash, uint32(len(sh.entries)))
	t.keys.Add(1)
	t.items.Add(1)
	return true
}

// addOwner adds a client to those of a key that has at least one other.
func (t *Table) addOwner(sh *shard, e *entry, id int64) {
	if e.list == 0 {
		if !t.alive(e.owner) {
			e.owner = id
			return
		}
		if last := len(sh.freeLists) - 1; last >= 0 {
			e.list = sh.freeLists[last]
			sh.freeLists = sh.freeLists[:last]
		} else {
			sh.lists = append(sh.lists, nil)
			e.list = uint32(len(sh.lists))
		}
	}
	list := sh.lists[e.list-1]
	at, found := slices.BinarySearch(list, id)
	if found {
		return
	}
	if len(list) == cap(list) {
		before := len(list)
		list = slices.DeleteFunc(list, func(other int64) bool { return !t.alive(other) })
		t.items.Add(int64(len(list) - before))
		at, _ = slices.BinarySearch(list, id)
	}
	sh.lists[e.list-1] = slices.Insert(list, at, id)
	t.items.Add(1)
}

// Take removes a key and appends its clients to ids.
func (t *Table) Take(key []byte, ids []int64) []int64 {
	hash := maphash.Bytes(t.seed, key)
	sh := t.shard(hash)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if slot := sh.find(hash, key); slot >= 0 {
		return t.remove(sh, slot, ids)
	}
	return ids
}

// TakeAny removes a key chosen at random, and appends its name to name and its clients to ids. It reports false if the table
// is empty.
func (t *Table) TakeAny(name []byte, ids []int64) ([]byte, []int64, bool) {
	from := rand.IntN(len(t.shards))
	for i := range t.shards {
		sh := &t.shards[(from+i)%len(t.shards)]
		sh.mu.Lock()
		if n := len(sh.entries); n > 0 {
			number := rand.IntN(n)
			name = append(name, sh.name(&sh.entries[number])...)
			ids = t.remove(sh, sh.slotOf(number), ids)
			sh.mu.Unlock()
			return name, ids, true
		}
		sh.mu.Unlock()
	}
	return name, ids, false
}

// Clear removes all keys, and gives their memory up.
func (t *Table) Clear() {
	for i := range t.shards {
		sh := &t.shards[i]
		sh.mu.Lock()
		items := 0
		for j := range sh.entries {
			items += 1 + len(sh.others(&sh.entries[j]))
		}
		t.keys.Add(-int64(len(sh.entries)))
		t.items.Add(-int64(items))
		sh.slots, sh.entries, sh.names, sh.deadBytes, sh.lists, sh.freeLists = nil, nil, nil, 0, nil, nil
		sh.mu.Unlock()
	}
}

func (t *Table) shard(hash uint64) *shard { return &t.shards[hash>>(64-shardBits)] }

// remove removes the key of a slot and appends its clients to ids.
func (t *Table) remove(sh *shard, slot int, ids []int64) []int64 {
	number := int(sh.slots[slot] - 1)
	e := sh.entries[number]
	others := sh.others(&e)
	ids = append(append(ids, e.owner), others...)
	t.keys.Add(-1)
	t.items.Add(-int64(1 + len(others)))
	if e.list != 0 {
		sh.lists[e.list-1] = nil
		sh.freeLists = append(sh.freeLists, e.list)
	}
	sh.deadBytes += int(e.size)
	sh.vacate(slot)
	if last := len(sh.entries) - 1; number != last {
		sh.slots[sh.slotOf(last)] = uint32(number + 1)
		sh.entries[number] = sh.entries[last]
	}
	sh.entries = sh.entries[:len(sh.entries)-1]
	sh.tidy()
	return ids
}

// name is the name of an entry.
func (sh *shard) name(e *entry) []byte { return sh.names[e.at : e.at+uint64(e.size)] }

// others are the clients of an entry but its owner.
func (sh *shard) others(e *entry) []int64 {
	if e.list == 0 {
		return nil
	}
	return sh.lists[e.list-1]
}

// find returns the slot of a key, or -1.
func (sh *shard) find(hash uint64, key []byte) int {
	mask := len(sh.slots) - 1
	if mask < 0 {
		return -1
	}
	for i := int(hash) & mask; sh.slots[i] != 0; i = (i + 1) & mask {
		if e := &sh.entries[sh.slots[i]-1]; e.hash == hash && bytes.Equal(sh.name(e), key) {
			return i
		}
	}
	return -1
}

// slotOf returns the slot of an entry by its number.
func (sh *shard) slotOf(number int) int {
	mask := len(sh.slots) - 1
	i := int(sh.entries[number].hash) & mask
	for sh.slots[i] != uint32(number+1) {
		i = (i + 1) & mask
	}
	return i
}

// occupy puts a value into the first free slot for a hash.
func (sh *shard) occupy(hash uint64, value uint32) {
	mask := len(sh.slots) - 1
	i := int(hash) & mask
	for sh.slots[i] != 0 {
		i = (i + 1) & mask
	}
	sh.slots[i] = value
}

// vacate empties a slot and moves those behind it that could not lie nearer to where their hash wants them.
func (sh *shard) vacate(i int) {
	mask := len(sh.slots) - 1
	for j := (i + 1) & mask; sh.slots[j] != 0; j = (j + 1) & mask {
		home := int(sh.entries[sh.slots[j]-1].hash) & mask
		if (j-home)&mask >= (j-i)&mask {
			sh.slots[i] = sh.slots[j]
			i = j
		}
	}
	sh.slots[i] = 0
}

func (sh *shard) resize(slots int) {
	sh.slots = make([]uint32, slots)
	for i := range sh.entries {
		sh.occupy(sh.entries[i].hash, uint32(i+1))
	}
}

// tidy gives memory up that keys which are gone have left.
func (sh *shard) tidy() {
	if len(sh.slots) > slotsMin && len(sh.entries)*8 < len(sh.slots) {
		sh.resize(len(sh.slots) / 2)
		sh.entries = append(make([]entry, 0, len(sh.slots)/2), sh.entries...)
	}
	if sh.deadBytes < deadBytesMin || sh.deadBytes*2 < len(sh.names) {
		return
	}
	names := make([]byte, 0, len(sh.names)-sh.deadBytes)
	for i := range sh.entries {
		e := &sh.entries[i]
		at := len(names)
		names = append(names, sh.name(e)...)
		e.at = uint64(at)
	}
	sh.names, sh.deadBytes = names, 0
}
