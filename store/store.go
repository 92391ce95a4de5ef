package store

import (
	fifo "container/list"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"unsafe"

	"kvserver/store/pages"
)

const (
	shardBits  = 8
	shardCount = 1 << shardBits
)

// Store is a keyspace of several logical databases. Commands work on it through views.
type Store struct {
	seed   maphash.Seed
	pool   *pages.Pool
	shards [shardCount]shard

	heapBytes   atomic.Int64 // tables, segments and small arenas
	objectBytes atomic.Int64
	databases   int
	encodings   Encodings
	eviction    eviction
	waiting     atomic.Int64   // registrations in the shards' waiters
	freeing     atomic.Int64   // collections that are being freed in the background
	freed       atomic.Int64   // collections that were
	doomedBytes atomic.Int64   // what those hold that are being freed
	releasing   sync.WaitGroup // goroutines that free the memory of flushed tables and of large collections
}

// A shard is the part of all databases whose positions begin with the same bits. It is padded to two pairs of cache
// lines, since neighbours are locked by different cores.
type shard struct {
	mu sync.RWMutex // guards everything below and in the tables, their atomic counts apart

	tables   []atomic.Pointer[table] // by database; nil until its first key
	watchers map[watchedKey][]*Watcher
	waiters  map[string]*fifo.List // of Waiter, by name of the key, in the order in which they began to wait

	// earliest is a lower bound of the deadlines in all tables, in ms; written under mu, read from anywhere.
	earliest atomic.Int64
	_        [256 - unsafe.Sizeof(shardFields{})]byte
}

// shardFields repeats the fields of a shard to compute its padding.
type shardFields struct {
	_ sync.RWMutex
	_ []atomic.Pointer[table]
	_ map[watchedKey][]*Watcher
	_ map[string]*fifo.List
	_ atomic.Int64
}

// Options are what a Store is made with.
type Options struct {
	Databases int // number of logical databases, at least 1
}

// New makes an empty Store. Its memory lies outside the Go heap, so that one no longer needed must be closed.
func New(o Options) *Store {
	if o.Databases < 1 {
		panic("store: a store has at least one database")
	}
	s := &Store{seed: maphash.MakeSeed(), pool: pages.New(), databases: o.Databases, encodings: DefaultEncodings}
	s.SetEviction(Eviction{})
	for i := range s.shards {
		s.shards[i].tables = make([]atomic.Pointer[table], o.Databases)
		s.shards[i].earliest.Store(never)
	}
	return s
}

// Close frees all memory. Nothing may use the store or its views afterwards.
func (s *Store) Close() {
	s.releasing.Wait()
	s.pool.Close()
}

// position returns the place of a key in the order of the keyspace: shard, segment and bucket come from its leading
// bits, the tag from its last. It is the only place that knows how keys are hashed.
func (s *Store) position(key []byte) uint64 { return maphash.Bytes(s.seed, key) }

// Databases returns the number of logical databases.
func (s *Store) Databases() int { return s.databases }

// Keys returns the number of keys of a database, and how many of them have a deadline. Expired keys count until they
// are removed. It may be called from any goroutine; the shards are read one after the other.
func (s *Store) Keys(db int) (keys, volatile int64) {
	for i := range s.shards {
		if t := s.shards[i].tables[db].Load(); t != nil {
			keys += t.keys.Load()
			volatile += t.volatile.Load()
		}
	}
	return keys, volatile
}

// UsedBytes returns the memory that keys and values take, with the slack and the index of their segments, without what is
// being freed in the background. It may be called from any goroutine.
func (s *Store) UsedBytes() int64 {
	return s.pool.InUse() + s.HeapBytes() - s.doomedBytes.Load()
}

// HeapBytes returns the part of it that lies on the Go heap, with what is being freed. It may be called from any goroutine.
func (s *Store) HeapBytes() int64 { return s.heapBytes.Load() + s.objectBytes.Load() }

// PageBytes returns what lies outside the Go heap, with what is being freed. It may be called from any goroutine.
func (s *Store) PageBytes() int64 { return s.pool.InUse() }

// table returns the shard's table of a database, making it if need be.
func (s *Store) table(sh *shard, db int) *table {
	if t := sh.tables[db].Load(); t != nil {
		return t
	}
	t := s.newTable()
	sh.tables[db].Store(t)
	return t
}
