package store

import "sync/atomic"

// The access word of an entry says when the key was last used or, while the policy of eviction asks for it, how often.
// It tells by itself which of the two it is, so that a change of policy leaves nothing to convert:
//
//	used last   │ held │      seconds, 31 bits         │    at least 2^24
//	how often   │ held │  0   │ minutes, 16 │ counter 8 │    below 2^24
//
// Seconds count from clockEpoch, so that they last until 2067. The highest bit is the mark of keys that are held: the hot
// key tracker counts every access to them (see hotkeys.Recorder).
//
// The counter is Redis's: one use adds one with a probability that falls as it rises, 1/((counter-5) × log factor + 1), so
// that with the factor of 10 it is full after some million uses; and it loses one for each decay time that has passed since
// the minutes that stand beside it. A new key has five, lest it be evicted before it is used at all.

// Frequency is how uses of keys are counted.
type Frequency struct {
	LogFactor    int64 // lfu-log-factor: the greater, the more uses it takes
	DecayMinutes int64 // lfu-decay-time; 0: nothing decays
}

const (
	frequencyMax = 255
	// frequencyNew is the counter of a key that is new.
	frequencyNew = 5
	// secondsMin is the first word that is a time of last use, half a year after clockEpoch.
	secondsMin = 1 << 24
	// clockEpoch is in October 1999, in seconds since 1970: a multiple of 2^24, since DEBUG OBJECT shows as many bits.
	clockEpoch = 56 << 24
	// heldMark is the bit of keys that are held.
	heldMark   = 1 << 31
	minuteMask = 1<<16 - 1
)

// counterWord returns the word for a counter as of now, in seconds.
func counterWord(counter uint8, now uint32) uint32 { return now/60&minuteMask<<8 | uint32(counter) }

// minutesSince returns the minutes from those of a word with a counter to now; they wrap around after 45 days.
func minutesSince(word, now uint32) uint32 { return (now/60 - word>>8) & minuteMask }

// idleSeconds returns how long a key with this word has not been used. Of one whose uses are counted the minute is known.
func idleSeconds(word, now uint32) int64 {
	if word < secondsMin {
		return int64(minutesSince(word, now)) * 60
	}
	return max(int64(now)-int64(word), 0)
}

// decayed returns the counter of a word as of now. A key whose uses were not counted before is as a new one since it was
// used last.
func (f Frequency) decayed(word, now uint32) uint8 {
	if word >= secondsMin {
		word = counterWord(frequencyNew, word)
	}
	counter := uint8(word)
	if f.DecayMinutes == 0 {
		return counter
	}
	if lost := int64(minutesSince(word, now)) / f.DecayMinutes; lost < int64(counter) {
		return counter - uint8(lost)
	}
	return 0
}

// used returns the word after a use. random is between 0 and 1.
func (f Frequency) used(word, now uint32, random float64) uint32 {
	counter := f.decayed(word, now)
	if counter < frequencyMax {
		above := max(int64(counter)-frequencyNew, 0)
		if random < 1/(float64(above)*float64(f.LogFactor)+1) {
			counter++
		}
	}
	return counterWord(counter, now)
}

// clock returns the time as entries keep it: seconds since clockEpoch.
func (v *View) clock() uint32 { return uint32(v.nowMs/1000-clockEpoch) &^ heldMark }

// noteUse changes the access word of a key that is used now, which does not say so yet. Another reader may do the same at
// the same time: one of the uses is then not counted, or a mark is lost.
func (v *View) noteUse(access *uint32, word, now uint32) {
	set, mark := &v.store.eviction, word&heldMark
	if !set.counting {
		atomic.StoreUint32(access, now|mark)
		return
	}
	if next := set.Frequency.used(word&^heldMark, now, v.random.Float64()) | mark; next != word {
		atomic.CompareAndSwapUint32(access, word, next)
	}
}

// newWord returns the access word of a key that is new.
func (v *View) newWord() uint32 {
	if v.store.eviction.counting {
		return counterWord(frequencyNew, v.clock())
	}
	return v.clock()
}

// IdleSeconds returns how long a key has not been used, by its view's time. It must exist.
func (v *View) IdleSeconds(e Entry) int64 { return idleSeconds(e.AccessWord(), v.clock()) }

// Uses returns the counter of the uses of a key, 0 to 255. It must exist.
func (v *View) Uses(e Entry) int64 {
	return int64(v.store.eviction.Frequency.decayed(e.AccessWord(), v.clock()))
}
