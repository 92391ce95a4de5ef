package server

import (
	"math"

	"kvserver/config"
	"kvserver/store"
)

// encodingParams are the limits up to which collections are packed.
type encodingParams struct {
	listSize, hashEntries, hashValue, setInts, setEntries, setValue, zsetEntries, zsetValue *config.Int
	hllSparse, streamBytes, streamEntries                                                   *config.Int
}

// encodingNames are the parameters that make up store.Encodings.
var encodingNames = []string{
	"list-max-listpack-size", "hash-max-listpack-entries", "hash-max-listpack-value", "set-max-intset-entries",
	"set-max-listpack-entries", "set-max-listpack-value", "zset-max-listpack-entries", "zset-max-listpack-value",
	"hll-sparse-max-bytes", "stream-node-max-bytes", "stream-node-max-entries",
}

// registerEncodings registers the limits of packed values, under their old names too.
func (p *Parameters) registerEncodings(r *config.Registry) {
	e, d := &p.encodings, store.DefaultEncodings
	register := func(as func(string, int64, int64, int64, ...config.Option) *config.Int, name, old string, def int, doc string) *config.Int {
		options := []config.Option{config.Doc(doc)}
		if old != "" {
			options = append(options, config.Alias(old))
		}
		return as(name, int64(def), 0, math.MaxInt64, options...)
	}
	e.listSize = r.Int("list-max-listpack-size", int64(d.ListMaxSize), math.MinInt32, math.MaxInt32,
		config.Alias("list-max-ziplist-size"), config.Doc("elements of a list's node, or -1 … -5 for 4, 8, 16, 32, 64 KiB"))
	e.hashEntries = register(r.Int, "hash-max-listpack-entries", "hash-max-ziplist-entries", d.HashEntries, "fields up to which a hash is packed")
	e.hashValue = register(r.Memory, "hash-max-listpack-value", "hash-max-ziplist-value", d.HashValue, "bytes of a field or value up to which a hash is packed")
	e.setInts = register(r.Int, "set-max-intset-entries", "", d.SetInts, "integers up to which a set is packed")
	e.setEntries = register(r.Int, "set-max-listpack-entries", "", d.SetEntries, "members up to which a set is packed")
	e.setValue = register(r.Memory, "set-max-listpack-value", "", d.SetValue, "bytes of a member up to which a set is packed")
	e.zsetEntries = register(r.Int, "zset-max-listpack-entries", "zset-max-ziplist-entries", d.ZsetEntries, "members up to which a sorted set is packed")
	e.zsetValue = register(r.Memory, "zset-max-listpack-value", "zset-max-ziplist-value", d.ZsetValue, "bytes of a member up to which a sorted set is packed")
	e.hllSparse = r.Memory("hll-sparse-max-bytes", int64(d.HLLSparseBytes), 0, math.MaxInt64, config.Doc("bytes up to which a HyperLogLog is sparse"))
	e.streamBytes = r.Memory("stream-node-max-bytes", int64(d.StreamNodeBytes), 0, math.MaxInt64, config.Doc("bytes of a stream's block; 0: no limit"))
	e.streamEntries = r.Int("stream-node-max-entries", int64(d.StreamNodeEntries), 0, math.MaxInt64, config.Doc("entries of a stream's block; 0: no limit"))
}

// applyEncodings gives the store the limits; CONFIG SET runs under the gate.
func (s *Server) applyEncodings() error {
	e := &s.params.encodings
	get := func(p *config.Int) int { return int(p.Get()) }
	s.store.SetEncodings(store.Encodings{
		ListMaxSize: get(e.listSize), HashEntries: get(e.hashEntries), HashValue: get(e.hashValue),
		SetInts: get(e.setInts), SetEntries: get(e.setEntries), SetValue: get(e.setValue),
		ZsetEntries: get(e.zsetEntries), ZsetValue: get(e.zsetValue), HLLSparseBytes: get(e.hllSparse),
		StreamNodeBytes: get(e.streamBytes), StreamNodeEntries: get(e.streamEntries),
	})
	return nil
}
