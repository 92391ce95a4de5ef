package tracking

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// Prefixes are the prefixes of keys that clients want to hear of. It is safe for concurrent use.
type Prefixes struct {
	count atomic.Int64

	mu sync.Mutex
	// mu guards all of the following.
	byName  map[string]map[int64]struct{} // clients
	lengths []length                      // ascending: what must be cut off a key to look it up
}

// length counts the prefixes of a length.
type length struct{ bytes, prefixes int }

// Change is a key that was changed, and by which client: 0 is none.
type Change struct {
	Key []byte
	By  int64
}

// Broadcast is what the clients of one prefix are to hear.
type Broadcast struct {
	Prefix  string
	Clients []int64  // ascending
	Changes []Change // in the order of the keys, each key once, with who changed it last
}

// Len is the number of prefixes. It takes no lock.
func (p *Prefixes) Len() int64 { return p.count.Load() }

// Add makes a client one of those of a prefix.
func (p *Prefixes) Add(prefix string, id int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	clients := p.byName[prefix]
	if clients == nil {
		clients = map[int64]struct{}{}
		if p.byName == nil {
			p.byName = map[string]map[int64]struct{}{}
		}
		p.byName[prefix] = clients
		p.countLocked(len(prefix), 1)
	}
	clients[id] = struct{}{}
}

// Remove takes a client from those of a prefix.
func (p *Prefixes) Remove(prefix string, id int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	clients := p.byName[prefix]
	delete(clients, id)
	if clients != nil && len(clients) == 0 {
		delete(p.byName, prefix)
		p.countLocked(len(prefix), -1)
	}
}

// countLocked changes the number of prefixes of a length. p.mu must be held.
func (p *Prefixes) countLocked(n, by int) {
	p.count.Add(int64(by))
	at, found := slices.BinarySearchFunc(p.lengths, n, func(l length, n int) int { return cmp.Compare(l.bytes, n) })
	if !found {
		p.lengths = slices.Insert(p.lengths, at, length{bytes: n})
	}
	if p.lengths[at].prefixes += by; p.lengths[at].prefixes == 0 {
		p.lengths = slices.Delete(p.lengths, at, at+1)
	}
}

// Match tells who is to hear of changes, which are in the order in which they happened, in the order of the prefixes. It
// looks a key up once per length of a prefix.
func (p *Prefixes) Match(changes []Change) []Broadcast {
	changes = latest(changes)
	byPrefix := map[string]*Broadcast{}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range changes {
		for _, l := range p.lengths {
			if l.bytes > len(c.Key) {
				break
			}
			prefix := c.Key[:l.bytes]
			clients := p.byName[string(prefix)]
			if clients == nil {
				continue
			}
			b := byPrefix[string(prefix)]
			if b == nil {
				b = &Broadcast{Prefix: string(prefix)}
				for id := range clients {
					b.Clients = append(b.Clients, id)
				}
				slices.Sort(b.Clients)
				byPrefix[b.Prefix] = b
			}
			b.Changes = append(b.Changes, c)
		}
	}
	list := make([]Broadcast, 0, len(byPrefix))
	for _, b := range byPrefix {
		list = append(list, *b)
	}
	slices.SortFunc(list, func(a, b Broadcast) int { return cmp.Compare(a.Prefix, b.Prefix) })
	return list
}

// latest returns the latest change of each key, in the order of the keys.
func latest(changes []Change) []Change {
	sorted := slices.Clone(changes)
	slices.SortStableFunc(sorted, func(a, b Change) int { return bytes.Compare(a.Key, b.Key) })
	kept := sorted[:0]
	for i, c := range sorted {
		if i+1 == len(sorted) || !bytes.Equal(c.Key, sorted[i+1].Key) {
			kept = append(kept, c)
		}
	}
	return kept
}
