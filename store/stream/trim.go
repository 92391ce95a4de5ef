package stream

// Trim says what to remove from the beginning of a stream.
type Trim struct {
	ByID   bool
	MaxLen int64 // how many entries to leave
	MinID  ID    // with ByID: the first ID to leave
	Approx bool  // remove whole blocks only
	Limit  int64 // remove no more than so many; 0: no limit
}

// Trim removes entries from the beginning and returns how many. It costs a few operations per block and, unless it is
// approximate, a walk of one block.
func (s *Stream) Trim(t Trim) (removed int64) {
	for s.length > 0 {
		if !t.ByID && s.length <= t.MaxLen {
			break
		}
		at, b, isOpen := s.firstBlock()
		n := live(b)
		if t.Limit > 0 && removed+n > t.Limit {
			break
		}
		whole := s.length-n >= t.MaxLen
		if t.ByID {
			whole = lastID(at.first, b).Less(t.MinID)
		}
		if !whole {
			if !t.Approx {
				removed += s.trimBlock(at, b, isOpen, t)
			}
			break
		}
		removed += n
		s.length -= n
		if isOpen {
			s.open = s.open[:0]
		} else {
			s.remove(at)
		}
	}
	if removed > 0 {
		s.findFirst()
	}
	return removed
}

// firstBlock returns the first block; there must be one. If it is the open one, at has its ID only.
func (s *Stream) firstBlock() (at sealed, b []byte, isOpen bool) {
	if s.blocks != nil {
		if at, ok := s.blocks.Min(); ok {
			return at, s.block(at), false
		}
	}
	return sealed{first: s.openFirst}, s.open, true
}

// trimBlock removes entries from the beginning of the first block.
func (s *Stream) trimBlock(at sealed, b []byte, isOpen bool, t Trim) (removed int64) {
	excess := s.length - t.MaxLen
	var c cursor
	s.begin(&c, at.first, b)
	for c.next() {
		if t.ByID && !c.id.Less(t.MinID) || !t.ByID && removed >= excess {
			break
		}
		if !c.deleted() {
			c.delete()
			removed++
		}
	}
	switch {
	case removed == 0:
	case isOpen:
		s.countOpen(removed)
	default:
		s.count(at, removed)
	}
	return removed
}
