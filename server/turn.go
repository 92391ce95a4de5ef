package server

import (
	"sync"
	"time"
)

// turn is the right to close the gate: one exclusive work at a time, so that two closers cannot each hold half of the slots.
// It is a mutex but for one thing: loops that wait for it give up when it turns out that who has it is past its time
// (aside.go), since they must go on and tell their clients so.
//
// As with sync.Mutex, who comes may be ahead of those who were woken, which spares a change of goroutines per work, until one
// of them has waited for hungryAfter.
type turn struct {
	mu sync.Mutex
	// mu guards the following.
	freed  *sync.Cond // nil before the first that has to wait
	taken  bool
	past   bool // who has it is past its time
	hungry int  // how many have waited for too long
}

const hungryAfter = time.Millisecond

// take waits for the turn. Loops say so, and get false if they may not wait any longer.
func (t *turn) take(loop bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	var since time.Time
	hungry := false
	for t.taken || t.hungry > 0 && !hungry {
		if loop && t.past {
			break
		}
		switch now := time.Now(); {
		case since.IsZero():
			since = now
		case !hungry && now.Sub(since) > hungryAfter:
			hungry = true
			t.hungry++
		}
		if t.freed == nil {
			t.freed = sync.NewCond(&t.mu)
		}
		t.freed.Wait()
	}
	if hungry {
		t.hungry--
	}
	if t.taken {
		return false
	}
	t.taken = true
	return true
}

// give lets the next one have the turn.
func (t *turn) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken = false
	switch {
	case t.freed == nil:
	case t.hungry > 0:
		t.freed.Broadcast()
	default:
		t.freed.Signal()
	}
}

// setPast says that who has the turn is past its time, or not any more.
func (t *turn) setPast(past bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.past = past; past && t.freed != nil {
		t.freed.Broadcast()
	}
}
