// Package hotkeys finds the keys that are accessed most, while it happens, in
// fixed memory and at a cost of some tens of nanoseconds for each access it
// records. It knows nothing of servers or protocols; the example embeds it in
// one of forty lines.
//
// # Windows
//
// A [Tracker] has two windows. Accesses are counted in the live one. When its
// time is over, [Tracker.Rotate] makes it the frozen one, which
// [Tracker.Report] describes until the next rotation, and begins another. A
// window is as long as the clock says it was, never shorter than set, and rates
// divide by that. If nobody rotated for twice the length that was set or more,
// the window is an average over an unknown pause and not what happened lately:
// it is discarded, and the frozen one, which is out of date by then, with it.
// A [History] keeps what reports said of the windows before, if it is told.
//
// # Recorders
//
// Each goroutine that serves clients records in a [Recorder] of its own, at the
// sampling percentage: a hot key is no place where cores meet. What the
// recorders have is put together when the first report of a window asks for it.
//
// Methods of a Tracker may be called only while no goroutine is in
// [Recorder.Access] or [Recorder.Flush], and while what waits for a flush is
// the caller's own: they count it first. A server does so under whatever stops
// its goroutines between two batches of commands; one with a mutex around every
// command flushes before it lets go. Nothing here takes a lock.
//
// # What is counted
//
// A recorder counts in Space-Saving summaries, one of reads and one of writes:
// see the type summary for the algorithm, its bounds, its memory and its speed.
// An [Entry] says that a key was recorded at least Count - Error and at most
// Count times. A report ranks by all accesses, or by those of one kind.
//
// Beside the number of a key's recorded accesses their costs are summed up, if
// [Options] want that: who records says at the end of each command whether it is
// worth telling ([Recorder.Recorded]) and what it was ([Recorder.Charge]).
// [Report.Measure] puts them together with the bounds of the numbers.
//
// With [Options].Hold sampling only discovers keys; those discovered are counted
// access by access: see the type holds for the estimate and its bounds.
//
// A key is a name in a database. Names up to 1 KiB share the counters that the
// options ask for; those up to 16 KiB have 1,024 counters at most of their own,
// and those up to 1 MiB have 16. Longer names are counted in the samples, and
// are never reported.
//
// # Merging
//
// What is known of all accesses is merged from the summaries of all recorders,
// reads and writes alike. With m counters in each summary i, Ni accesses recorded
// there and mini its smallest count if it is full (0 if it is not), the merged
// count of a key is the sum of its counts, and its error the sum of its errors; a
// summary that has no counter for it adds mini to both, the most it can have seen,
// unless it remembers that it has never seen the key. Of the keys in the union the
// m with the largest counts stay. With N = N1 + N2 + …, and f a key's true count:
//
//	count - error <= f <= count
//	error         <= min1 + min2 + … <= N1/m + N2/m + … = N/m
//	f > N/m       =>  the key is among those that stay
//
// These are the bounds of one summary that saw everything. The first two are
// sums of the summaries' own. For the third: let M be the sum of mini, and
// write each merged count as C + M, where C sums count - mini over those
// that track the key. The counts of a full summary add up to Ni, so
// all C together are at most N - mM. A key with f > N/m has C >= f - M >
// (N - mM)/m, and fewer than m keys can have that. (P. Agarwal, G. Cormode,
// Z. Huang, J. Phillips, Z. Wei, K. Yi: Mergeable Summaries. PODS 2012, which
// merges in two steps where this takes all summaries at once.) A ranking by reads or
// writes merges those of its kind, and leaves no key out.
//
// If one recorder had all the traffic, and all of it reads, the result is its summary.
//
// Merging n keys in all summaries together costs O(n), once a window and only
// if somebody asks, or keys are held: with three recorders 0.14 ms for 1,024 counters in each, and
// 3 ms for 8,000 with the choice of the hottest 1,000 (go test -bench Report).
// Rotation merges nothing. It exchanges each recorder's summaries for spare ones
// and clears those: 1 µs a recorder for 1,024 counters, 8 µs for 8,000.
//
// # Memory
//
// Each recorder counts twice, in the live and in the frozen window. Memory grows
// as keys arrive, is reused window after window, and is given back when a window
// passes without traffic. With the 1,024 counters of the default and names of 16
// bytes that is 320 KiB a recorder at most for reads and as much for writes; 240 KiB
// without costs. All names together take, in each of
// both windows, at most 1 KiB a counter and, for names above 1 KiB, 32 MiB, for reads and writes each. The
// merged report takes 120 bytes a key until tracking is turned off. Places for 4,096 held keys
// are 384 KiB in each window, and for each recorder up to 288 KiB.
// [Tracker.MemoryBytes] has the sum. While tracking is off nothing is held, and
// the caller, whose [Tracker.Recorder] is nil then, does nothing.
package hotkeys
