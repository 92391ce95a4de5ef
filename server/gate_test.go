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

// TestGateTurnsLoopsAway: a loop that waits for the gate finds its slot busy when what has the gate is past its time, while all
// else waits until that is over.
func TestGateTurnsLoopsAway(t *testing.T) {
	g := gate{slots: []*slot{{}, {}, {}}}
	home, other, keep := g.slots[0], g.slots[1], g.slots[2]
	for range 100 {
		other.mu.Lock() // the loop begins a batch
		g.turn.take(false)
		turnedAway, closed := make(chan bool), make(chan bool)
		go func() {
			ran := g.exclusive(other, func() {})
			busy := other.busy
			other.mu.Unlock()
			turnedAway <- !ran && busy
		}()
		go func() { closed <- g.exclusive(nil, func() {}) }()
		for _, sl := range g.slots { // as close does
			sl.mu.Lock()
		}
		g.yield(keep, home, false)
		if !<-turnedAway {
			t.Fatal("the loop was not turned away")
		}
		select {
		case <-closed:
			t.Fatal("the gate was closed twice")
		default:
		}
		g.takeBack(keep)
		g.open(nil)
		if !<-closed {
			t.Fatal("what can wait was turned away")
		}
	}
}

// TestTurnIsFair: nobody waits for ever for those who take the turn again and again.
func TestTurnIsFair(t *testing.T) {
	var g turn
	var over atomic.Bool
	var greedy sync.WaitGroup
	for range 4 {
		greedy.Go(func() {
			for !over.Load() {
				g.take(true)
				g.give()
			}
		})
	}
	for range 100 {
		g.take(false)
		g.give()
	}
	over.Store(true)
	greedy.Wait()
}
