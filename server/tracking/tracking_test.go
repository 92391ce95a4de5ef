package tracking

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// check walks a table and compares its counters with what it holds.
func (t *Table) check() error {
	keys, items := 0, 0
	for i := range t.shards {
		sh := &t.shards[i]
		taken, names := 0, 0
		for slot, value := range sh.slots {
			if value == 0 {
				continue
			}
			taken++
			if int(value) > len(sh.entries) || sh.slotOf(int(value-1)) != slot {
				return fmt.Errorf("shard %d: slot %d is not that of its entry", i, slot)
			}
		}
		if taken != len(sh.entries) {
			return fmt.Errorf("shard %d: %d slots of %d entries", i, taken, len(sh.entries))
		}
		lists := len(sh.freeLists)
		for j := range sh.entries {
			e := &sh.entries[j]
			names += int(e.size)
			others := sh.others(e)
			if e.list != 0 {
				lists++
			}
			if !slices.IsSorted(others) || slices.Contains(others, e.owner) {
				return fmt.Errorf("shard %d: clients %d and %v", i, e.owner, others)
			}
			items += 1 + len(others)
		}
		if lists != len(sh.lists) || names+sh.deadBytes != len(sh.names) {
			return fmt.Errorf("shard %d: %d of %d lists, %d of %d bytes", i, lists, len(sh.lists), names+sh.deadBytes, len(sh.names))
		}
		keys += len(sh.entries)
	}
	if int64(keys) != t.Keys() || int64(items) != t.Items() {
		return fmt.Errorf("%d keys and %d items, counted %d and %d", keys, items, t.Keys(), t.Items())
	}
	return nil
}

// TestTable compares the table with maps after random operations.
func TestTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gone := map[int64]bool{}
		table := NewTable(func(id int64) bool { return !gone[id] })
		model := map[string]map[int64]bool{}
		names := rapid.IntRange(1, 600).Draw(t, "names")
		name := rapid.Custom(func(t *rapid.T) string {
			n := rapid.IntRange(0, names).Draw(t, "name")
			return strings.Repeat("k", n%40) + fmt.Sprint(n)
		})
		id := rapid.Int64Range(1, 12)
		// Clients that are gone may be left out, others not.
		same := func(key string, ids []int64) {
			got := map[int64]bool{}
			for _, id := range ids {
				if got[id] || !model[key][id] {
					t.Fatalf("%q: client %d twice, or unknown: %v", key, id, ids)
				}
				got[id] = true
			}
			for id := range model[key] {
				if !got[id] && !gone[id] {
					t.Fatalf("%q: client %d is forgotten: %v", key, id, ids)
				}
			}
		}
		add := func(t *rapid.T) {
			key, id := name.Draw(t, "key"), id.Draw(t, "id")
			if gone[id] {
				return
			}
			if first := table.Add([]byte(key), id); first != (model[key] == nil) {
				t.Fatalf("add %q: first is %v", key, first)
			}
			if model[key] == nil {
				model[key] = map[int64]bool{}
			}
			model[key][id] = true
		}
		t.Repeat(map[string]func(*rapid.T){
			"add":  add,
			"more": func(t *rapid.T) { add(t); add(t); add(t) },
			"take": func(t *rapid.T) {
				key := name.Draw(t, "key")
				same(key, table.Take([]byte(key), nil))
				delete(model, key)
			},
			"take any": func(t *rapid.T) {
				key, ids, ok := table.TakeAny(nil, nil)
				if ok != (len(model) > 0) {
					t.Fatalf("took one of %d keys: %v", len(model), ok)
				}
				if ok {
					same(string(key), ids)
					delete(model, string(key))
				}
			},
			"leave": func(t *rapid.T) {
				if len(gone) < 6 {
					gone[id.Draw(t, "id")] = true
				}
			},
			"clear": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
					table.Clear()
					clear(model)
				}
			},
			"": func(t *rapid.T) {
				if err := table.check(); err != nil {
					t.Fatal(err)
				}
				if table.Keys() != int64(len(model)) {
					t.Fatalf("%d keys, want %d", table.Keys(), len(model))
				}
			},
		})
		for key := range maps.Clone(model) {
			same(key, table.Take([]byte(key), nil))
		}
		if table.Items() != 0 || table.Keys() != 0 {
			t.Fatalf("%d items of %d keys are left", table.Items(), table.Keys())
		}
	})
}

// TestTableGrowsAndShrinks: many keys come and go, and little is kept of them.
func TestTableGrowsAndShrinks(t *testing.T) {
	const keys = 20000
	table := NewTable(func(int64) bool { return true })
	for i := range keys {
		table.Add(fmt.Appendf(nil, "key:%d", i), int64(i%3))
	}
	if err := table.check(); err != nil {
		t.Fatal(err)
	}
	for range keys - 100 {
		if _, ids, ok := table.TakeAny(nil, nil); !ok || len(ids) != 1 {
			t.Fatalf("took %v, %v", ids, ok)
		}
	}
	if err := table.check(); err != nil {
		t.Fatal(err)
	}
	for i := range table.shards {
		sh := &table.shards[i]
		n := len(sh.entries)
		if room := max(slotsMin, 8*n); cap(sh.slots) > room || cap(sh.entries) > room || len(sh.names) > 2*deadBytesMin {
			t.Errorf("shard %d with %d keys keeps %d slots, %d entries, %d bytes", i, n, cap(sh.slots), cap(sh.entries), len(sh.names))
		}
	}
}

// TestTableForgetsTheGone: clients that come, read the same key and go do not add up.
func TestTableForgetsTheGone(t *testing.T) {
	var now int64
	table := NewTable(func(id int64) bool { return id > now-10 })
	for now = 1; now < 10000; now++ {
		table.Add([]byte("key"), now)
	}
	if n := table.Items(); n > 64 {
		t.Errorf("%d clients are remembered, 10 are there", n)
	}
}

// TestTableConcurrently: what several goroutines add and take is taken once at most, and the table is as it should be.
func TestTableConcurrently(t *testing.T) {
	const goroutines, keys = 4, 500
	table := NewTable(func(int64) bool { return true })
	var taken [goroutines]int
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for i := range keys {
				key := fmt.Appendf(nil, "%d", i)
				table.Add(key, int64(g))
				taken[g] += len(table.Take(fmt.Appendf(nil, "%d", i*7%keys), nil))
			}
		})
	}
	all.Wait()
	if err := table.check(); err != nil {
		t.Fatal(err)
	}
	sum := int(table.Items())
	for _, n := range taken {
		sum += n
	}
	if sum > goroutines*keys {
		t.Errorf("%d items are left or were taken, %d were added", sum, goroutines*keys)
	}
}

// TestAddAgainAllocatesNothing: it is what each read of a cached key does.
func TestAddAgainAllocatesNothing(t *testing.T) {
	table := NewTable(func(int64) bool { return true })
	key := []byte("key")
	table.Add(key, 1)
	table.Add(key, 2)
	if n := testing.AllocsPerRun(100, func() { table.Add(key, 1); table.Add(key, 2) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestPrefixes compares Match with trying each prefix on each key.
func TestPrefixes(t *testing.T) {
	word := rapid.StringMatching(`[ab]{0,4}`)
	rapid.Check(t, func(t *rapid.T) {
		var prefixes Prefixes
		model := map[string]map[int64]bool{}
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			prefix, id := word.Draw(t, "prefix"), rapid.Int64Range(1, 3).Draw(t, "id")
			if rapid.Bool().Draw(t, "add") {
				prefixes.Add(prefix, id)
				if model[prefix] == nil {
					model[prefix] = map[int64]bool{}
				}
				model[prefix][id] = true
			} else {
				prefixes.Remove(prefix, id)
				if delete(model[prefix], id); len(model[prefix]) == 0 {
					delete(model, prefix)
				}
			}
		}
		if prefixes.Len() != int64(len(model)) {
			t.Fatalf("%d prefixes, want %d", prefixes.Len(), len(model))
		}
		var changes []Change
		last := map[string]int64{}
		for range rapid.IntRange(0, 10).Draw(t, "changes") {
			c := Change{[]byte(word.Draw(t, "key")), rapid.Int64Range(0, 3).Draw(t, "by")}
			changes = append(changes, c)
			last[string(c.Key)] = c.By
		}
		want := []Broadcast{}
		for _, prefix := range slices.Sorted(maps.Keys(model)) {
			b := Broadcast{Prefix: prefix, Clients: slices.Sorted(maps.Keys(model[prefix]))}
			for _, key := range slices.Sorted(maps.Keys(last)) {
				if strings.HasPrefix(key, prefix) {
					b.Changes = append(b.Changes, Change{[]byte(key), last[key]})
				}
			}
			if b.Changes != nil {
				want = append(want, b)
			}
		}
		if got := prefixes.Match(changes); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func BenchmarkAddAgain(b *testing.B) {
	const keys = 1 << 20
	table := NewTable(func(int64) bool { return true })
	names := make([][]byte, keys)
	for i := range names {
		names[i] = fmt.Appendf(nil, "key:%012d", i*7919%keys)
		table.Add(names[i], 1)
	}
	b.ResetTimer()
	for i := range b.N {
		table.Add(names[i%keys], 1)
	}
}
