package server

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestGateKeepsTheCallersSlot: from the closing of the gate on, nobody gets between the caller and its session. A wait that
// was ended there took the replies to what came before it in the pipeline with it. So many slots make that moment long
// enough to be met.
func TestGateKeepsTheCallersSlot(t *testing.T) {
	const slots, rounds = 3_000, 60
	g := gate{slots: make([]*slot, slots)}
	for i := range g.slots {
		g.slots[i] = &slot{}
	}
	own := g.slots[0]
	var done, over, intruded atomic.Bool
	var intruder sync.WaitGroup
	intruder.Go(func() {
		for !over.Load() {
			if own.mu.TryLock() {
				if done.Load() {
					intruded.Store(true)
				}
				own.mu.Unlock()
			}
		}
	})
	own.mu.Lock()
	for range rounds {
		g.exclusive(own, func() { done.Store(true) })
		done.Store(false)
	}
	own.mu.Unlock()
	over.Store(true)
	intruder.Wait()
	if intruded.Load() {
		t.Error("the slot was free between the gate's work and the caller")
	}
}
