package web

import (
	"sync"
	"time"
)

// Snapshots are taken at least this far apart, and kept no longer than keptFor when nobody asks any more: with a thousand
// keys and an hour of history they are large.
const (
	takenEvery = 500 * time.Millisecond
	keptFor    = 10 * time.Second
)

// recent is the latest snapshot, or why there was none.
type recent struct {
	take func(all bool) (*Snapshot, error)
	now  func() time.Time

	mu sync.Mutex
	// mu guards the following. Who waits for it while a snapshot is being taken gets that one.
	latest *Snapshot
	err    error
	at     time.Time // when it had been taken; zero: there is none
	all    bool      // that it has all, or would have
	viewed time.Time // when all was last asked for
	forget *time.Timer
}

// get returns a snapshot that is younger than takenEvery. As long as pages are being looked at all snapshots have all, so that
// it is one for them and for scrapes; only who opens a page right after a scrape makes one more necessary.
func (r *recent) get(all bool) (*Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if all {
		r.viewed = now
	}
	if !r.at.IsZero() && now.Sub(r.at) < takenEvery && (r.all || !all) {
		return r.latest, r.err
	}
	r.all = now.Sub(r.viewed) < keptFor
	r.latest, r.err = r.take(r.all)
	r.at = r.now()
	if r.forget == nil {
		r.forget = time.AfterFunc(keptFor, r.drop)
	} else {
		r.forget.Reset(keptFor)
	}
	return r.latest, r.err
}

func (r *recent) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latest, r.at = nil, time.Time{}
}
