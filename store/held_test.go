package store

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"kvserver/hotkeys"
)

// tracked is a store with one view and a tracker of its own.
type tracked struct {
	v       *View
	tracker *hotkeys.Tracker
	nowNs   int64
}

func newTracked(t *testing.T, o hotkeys.Options) *tracked {
	tr := &tracked{v: alone(t)}
	tr.tracker = hotkeys.New(1, func() int64 { return tr.nowNs }, 1)
	o.TopK, o.Window = 100, time.Second
	if err := tr.tracker.Configure(o); err != nil {
		t.Fatal(err)
	}
	tr.v.Bind(0, testNow, tr.tracker.Recorder(0))
	return tr
}

// window ends the live window and returns what it counted.
func (tr *tracked) window() map[string]hotkeys.Entry {
	tr.tracker.Recorder(0).Flush()
	tr.nowNs += int64(time.Second)
	tr.tracker.Rotate()
	entries := map[string]hotkeys.Entry{}
	for _, e := range tr.tracker.Report(hotkeys.Query{DB: hotkeys.AllDBs}).Entries {
		entries[fmt.Sprintf("%d:%s", e.DB, e.Key)] = e
	}
	return entries
}

// commands do something to keys a and b without removing either, whatever they hold.
var commands = []func(v *View, a, b []byte, rng *rand.Rand){
	func(v *View, a, b []byte, _ *rand.Rand) { v.Get(a) },
	func(v *View, a, b []byte, _ *rand.Rand) { v.LookupUntouched(a) },
	func(v *View, a, b []byte, rng *rand.Rand) {
		v.Set(a, []byte(strings.Repeat("v", rng.IntN(300))), SetOptions{})
	},
	func(v *View, a, b []byte, rng *rand.Rand) {
		v.Set(a, []byte(strings.Repeat("v", rng.IntN(3000))), SetOptions{KeepTTL: true, WantOld: true})
	},
	func(v *View, a, b []byte, _ *rand.Rand) { v.Set(a, []byte("v"), SetOptions{Cond: IfMissing}) },
	func(v *View, a, b []byte, _ *rand.Rand) { v.GetSet(a, []byte("7")) },
	func(v *View, a, b []byte, _ *rand.Rand) { v.MSet([][]byte{a, []byte("1"), b, []byte("2")}) },
	func(v *View, a, b []byte, _ *rand.Rand) { v.MSetNX([][]byte{a, []byte("1"), b, []byte("2")}) },
	func(v *View, a, b []byte, _ *rand.Rand) { v.IncrBy(a, 1) },
	func(v *View, a, b []byte, _ *rand.Rand) { v.Append(a, []byte("tail"), 1<<20) },
	func(v *View, a, b []byte, rng *rand.Rand) { v.SetRange(a, rng.Int64N(2000), []byte("x"), 1<<20) },
	func(v *View, a, b []byte, _ *rand.Rand) { v.Expire(a, testNow+1e9, ExpireCond(0)) },
	func(v *View, a, b []byte, _ *rand.Rand) { v.Persist(a) },
	func(v *View, a, b []byte, _ *rand.Rand) { v.Copy(a, b, 1, true) },
	func(v *View, a, b []byte, _ *rand.Rand) { v.ListPush(a, Tail, [][]byte{[]byte("e")}, false) },
	func(v *View, a, b []byte, _ *rand.Rand) { v.ListRange(a, 0, -1) },
	func(v *View, a, b []byte, _ *rand.Rand) { v.SAdd(a, [][]byte{[]byte("12"), []byte("m")}) },
}

// Keys that were hot in one window are counted exactly in the next, whatever is done to them and wherever their entries
// move, under both meanings of the access word.
func TestHeldKeysStayHeld(t *testing.T) {
	for word, order := range map[string]Order{"last used": LeastRecent, "how often": LeastOften} {
		t.Run(word, func(t *testing.T) {
			exact := newTracked(t, hotkeys.Options{Percentage: 100})
			held := newTracked(t, hotkeys.Options{Percentage: 30, Hold: true})
			for _, tr := range []*tracked{exact, held} {
				tr.v.store.SetEviction(Eviction{Order: order, Samples: 5})
			}
			const keys = 12
			run := func(tr *tracked, seed uint64) {
				rng := rand.New(rand.NewPCG(seed, 0))
				for i := range 6000 {
					if i%1000 == 0 {
						tr.v.Bind(0, testNow+int64(i), tr.tracker.Recorder(0))
					}
					a, b := rng.IntN(keys), rng.IntN(keys)
					if a == b {
						continue
					}
					commands[rng.IntN(len(commands))](tr.v, []byte(name(a)), []byte(name(b)), rng)
				}
			}
			for seed := range uint64(3) {
				run(exact, seed)
				run(held, seed)
				want, got := exact.window(), held.window()
				if seed == 0 {
					continue // they are discovered
				}
				for i := range keys {
					k := "0:" + name(i)
					if got[k].Count != 0 || got[k].Held != want[k].Count {
						t.Errorf("window %d: %s held %d and recorded %d times, of %d", seed, k, got[k].Held, got[k].Count, want[k].Count)
					}
				}
			}
		})
	}
}

// A mark goes with its key, and does not pass to another.
func TestMarkBelongsToKey(t *testing.T) {
	tr := newTracked(t, hotkeys.Options{Percentage: 99, Hold: true})
	v := tr.v
	marked := func(k string) bool {
		e := v.Peek([]byte(k))
		return e.Exists() && *e.access()&heldMark != 0
	}
	v.mustSet("a", "1")
	for range 20 {
		v.Get([]byte("a"))
	}
	if !marked("a") {
		t.Fatal("a is not held after 20 reads at 99 %")
	}
	idle := v.IdleSeconds(v.Peek([]byte("a")))
	v.rec = nil
	v.Copy([]byte("a"), []byte("copy"), 0, false)
	v.Rename([]byte("a"), []byte("b"), false)
	if marked("copy") || marked("b") || idle != 0 {
		t.Errorf("copy is marked: %v, renamed: %v; idle %d s", marked("copy"), marked("b"), idle)
	}
	v.rec = tr.tracker.Recorder(0)
	v.mustSet("a", "1")
	if !v.Remove([]byte("a")) {
		t.Error("nothing removed")
	}
	tr.window()
	tr.window()
	v.mustSet("c", "1")
	*v.Peek([]byte("c")).access() |= heldMark
	for i := range 50 {
		if v.Get([]byte("c")); !marked("c") {
			return
		}
		tr.window()
		tr.window()
		*v.Peek([]byte("c")).access() |= heldMark
		if i == 49 {
			t.Error("a mark of a window that is over stays")
		}
	}
}

// A lock that is set and deleted over and over is held: each access counts, whether the key exists or not, and the other
// ways in which a key comes into being lose nothing either.
func TestHeldKeysThatComeAndGo(t *testing.T) {
	exact := newTracked(t, hotkeys.Options{Percentage: 100})
	held := newTracked(t, hotkeys.Options{Percentage: 50, Hold: true})
	run := func(tr *tracked) {
		v := tr.v
		payload := []byte(nil)
		for i := range 300 {
			v.Bind(0, testNow+int64(i)*10, tr.tracker.Recorder(0))
			v.mustSet("lock", "1")
			v.Remove([]byte("lock"))
			v.Get([]byte("lock"))
			v.Set([]byte("short"), []byte("v"), SetOptions{ExpireAtMs: testNow + int64(i)*10 + 5})
			v.Get([]byte("short"))
			v.mustSet("from", "1")
			v.Rename([]byte("from"), []byte("to"), false)
			v.Copy([]byte("to"), []byte("copy"), 0, true)
			v.Move([]byte("copy"), 1)
			v.Select(1)
			v.Remove([]byte("copy"))
			v.Select(0)
			v.Get([]byte("to"))
			v.ListPush([]byte("list"), Tail, [][]byte{[]byte("e")}, false)
			v.ListPop([]byte("list"), Tail)
			if payload == nil {
				payload, _ = v.Dump([]byte("to"))
			}
			v.Restore([]byte("restored"), payload, RestoreOptions{Replace: true, IdleSeconds: 100, StringBytesMax: 1 << 20})
			v.LookupUntouched([]byte("restored"))
		}
	}
	for window := range 3 {
		run(exact)
		run(held)
		want, got := exact.window(), held.window()
		if window == 0 {
			continue // they are discovered
		}
		for _, k := range []string{"0:lock", "0:short", "0:from", "0:to", "0:copy", "1:copy", "0:list", "0:restored"} {
			if got[k].Count != 0 || got[k].Held != want[k].Count || want[k].Count < 300 {
				t.Errorf("window %d: %s held %d and recorded %d times, of %d", window, k, got[k].Held, got[k].Count, want[k].Count)
			}
		}
	}
}
