// Package store is the keyspace: the keys of all logical databases, their values and deadlines. It knows nothing of the
// protocol: methods take and return Go values, and say what they refuse with the errors of errors.go.
//
// # Layout
//
// The hash of a key is its position, 64 bits, and everything is kept in the order of positions:
//
//	position   shard 8 │ segment 0…30 │ bucket 0…6 │                … │ tag 16
//
//	Store ── 256 shards, each with a lock
//	           └─ a table per database (table.go): extendible hashing, a directory of segments
//	                └─ segments (segment.go), each of up to 576 entries in one arena (arena.go) of up to 512 KiB:
//
//	  arena  │bucket│bucket│…│entry│entry│overflow bucket│entry│ dead │entry│…             free             │
//	  bucket │tag,ref│tag,ref│… 15 slots …│count, overflow│     one cache line
//	  entry  │access│lengths│capacity│kind│flags│key│deadline, if any│value│     (entry.go)
//
// A lookup reads one bucket and one entry: 100 ns when both are in the cache, otherwise the two misses decide. One order
// carries whatever walks the keyspace. A SCAN cursor is a position at the edge of a bucket (scan.go): since splitting,
// merging and growing never reorder, it stays good while the tables change.
//
// Keys and values over 1 KiB do not lie in the arena. They are objects on the Go heap (objects.go), numbered in a table of
// their segment; the entry holds the number.
//
// # Memory
//
// Arenas are runs of pages outside the Go heap (package pages), those below one page apart. They hold no pointers, so the
// collector has a few objects per segment to look at and none per key: a full collection with 5 million keys takes a few
// milliseconds. Freed runs go back to the system.
//
// A value is overwritten in place if it fits into the capacity of its entry. Otherwise the old entry is dead and a new one
// is appended. When an arena is full it is compacted if an eighth of it is dead, else enlarged by an eighth, and split if
// it would pass 512 KiB or 576 entries; it is compacted, too, when that frees a fifth of it. Each such step copies one
// arena (rebuild.go), some 10 µs. For 16-byte names and 64-byte values that makes 117 bytes per key resident at 2 million
// keys, 130 after they were overwritten with random sizes (go test -bench Memory -benchtime 1x). With power-of-two
// splits the index costs 8 to 16 bytes per key, depending on how full the segments are.
//
// # Views and locks
//
// A goroutine works through its View (view.go): Bind says for which database, at what time and on whose behalf, LockKey
// or LockKeys lock the shards of a command's keys, Unlock releases them. What counts as an access for hot keys is decided
// by Lookup, LookupUntouched, LookupWrite and Remove (lookup.go) and nowhere else; Peek leaves no trace.
//
// Order of locks, outermost first:
//
//  1. the server's gate, which View.Exclusive relies on;
//  2. shards, in ascending order. A view that holds some takes no others: what finds its shards by itself (ScanBucket,
//     RandomKey, Unwatch, ExpireCycle) wants a view without locks, or with the whole store;
//  3. the lock of the page pool, a leaf.
//
// Under a read lock nothing changes but the access word of an entry, atomically, and the reader's own view. An expired
// key therefore reads as missing, and Unlock removes it under a write lock if it is still expired. Counts of keys and the
// shard's earliest deadline are written under the write lock and read atomically from
// anywhere.
//
// # Whose bytes
//
// Arguments belong to the caller; the store copies what it keeps. Bytes returned alias arenas or objects: they are valid
// until the view unlocks or until its next write. To make that hold, an arena that a write replaces is freed only when the
// write after it has ended. An operand may alias what was returned since the last write, even a value of the entry that is
// being overwritten. Under the race detector arenas lie on the Go heap and are overwritten when freed, so that bytes kept
// too long show in tests.
//
// # To add
//
// A command on strings: a method on View in string.go, from LookupWrite, put and delete. A data type: kinds in entry.go, a
// file of its own for the methods (hash.go is the shortest to learn from), a collection if it can be large
// (collection.go), a case each in dump.go and restore.go.
package store
