package control

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// after plays a trace and returns the controller at its end.
func after(t *testing.T, s Settings, words string) *player {
	t.Helper()
	p := &player{t: t, s: s}
	p.keep(p.c.Configure(s, 0))
	for _, word := range strings.Fields(words) {
		p.word(word)
	}
	return p
}

func TestTotals(t *testing.T) {
	low := strings.Repeat(" 1000", 9)
	for _, c := range []struct {
		name, words string
		want        Totals
	}{
		{"warming", "5000", Totals{Warming: 1}},
		{"aborted", "5000 1000", Totals{Aborted: 1}},
		{"hot", "5000 5000 5000 5000", Totals{Hot: 1, Promotions: 1, HotNs: 20 * second}},
		{"the hold was in vain", "5000 5000" + low, Totals{Promotions: 1, Demotions: 1, FalsePromotions: 1, HotNs: 90 * second}},
		{"hot throughout the hold, and no longer", "5000 5000" + strings.Repeat(" 5000", 6) + low,
			Totals{Promotions: 1, Demotions: 1, FalsePromotions: 1, HotNs: 90 * second}},
		{"hot after the hold", "5000 5000" + strings.Repeat(" 5000", 7) + low,
			Totals{Promotions: 1, Demotions: 1, HotNs: 100 * second}},
		{"in the band after two low windows", "5000 5000" + strings.Repeat(" 1000", 8) + " 3501" + low,
			Totals{Promotions: 1, Demotions: 1, HotNs: 120 * second}},
		{"a floor above L after the hold", "5000 5000" + strings.Repeat(" 1000", 6) + " -4000" + low,
			Totals{Promotions: 1, Demotions: 1, FalsePromotions: 1, HotNs: 100 * second}},
		{"an unknown window after the hold", "5000 5000" + strings.Repeat(" 1000", 6) + " ?" + low,
			Totals{Promotions: 1, Demotions: 1, FalsePromotions: 1, HotNs: 100 * second}},
		{"by the operator", "5000 5000 demote", Totals{Promotions: 1, Demotions: 1}},
		{"pinned", "pin 1000", Totals{Hot: 1, Pinned: 1, Promotions: 1, HotNs: 10 * second}},
		{"once pinned", "pin 1000 unpin" + low, Totals{Promotions: 1, Demotions: 1, HotNs: 90 * second}},
		{"emergency", "trip=50", Totals{Hot: 1, Promotions: 1, Emergencies: 1}},
		{"muted", "5000 1000 5000 1000", Totals{Aborted: 2, Muted: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := after(t, worked(), c.words)
			if got := p.c.Totals(p.now * second); got != c.want {
				t.Errorf("%s\n got %+v\nwant %+v", c.words, got, c.want)
			}
		})
	}
}

func TestStates(t *testing.T) {
	key := Key{Name: "k"}
	acknowledged := worked()
	acknowledged.WarmupAck = true
	acknowledged.Emergency = 20000
	for _, c := range []struct {
		s     Settings
		words string
		want  Status
	}{
		{worked(), "3000", Status{Key: key}},
		{worked(), "5000", Status{Key: key, State: Warming, SinceNs: 10 * second, Demand: 5000, Evidence: 1}},
		{worked(), "5000 ?", Status{Key: key, State: Warming, SinceNs: 10 * second, Demand: 5000}},
		{acknowledged, "5000 5000 6000", Status{Key: key, State: Warming, SinceNs: 10 * second, Demand: 6000, Evidence: 3}},
		{acknowledged, "20000", Status{Key: key, State: Warming, SinceNs: 10 * second, Demand: 20000, Evidence: 2}},
		{acknowledged, "5000 ready", Status{Key: key, State: Warming, SinceNs: 10 * second, Demand: 5000, Evidence: 1, Ready: true}},
		{worked(), "5000 5000", Status{Key: key, State: Hot, SinceNs: 20 * second, Demand: 5000, HoldNs: 60 * second}},
		{worked(), "5000 5000 -70", Status{Key: key, State: Hot, SinceNs: 20 * second, Demand: 70, HoldNs: 50 * second}},
		{worked(), "5000 5000 ? ? ? ? ? ? 9 8", Status{Key: key, State: Hot, SinceNs: 20 * second, Demand: 8, Evidence: 2}},
		{worked(), "pin", Status{Key: key, State: Hot, HoldNs: 60 * second, Pinned: true}},
	} {
		p := after(t, c.s, c.words)
		if got := p.c.State(key, p.now*second); got != c.want {
			t.Errorf("%s\n got %+v\nwant %+v", c.words, got, c.want)
		}
		want := 1
		if c.want.State == Normal {
			want = 0
		}
		if list := p.c.States(p.now * second); len(list) != want || want == 1 && list[0] != c.want {
			t.Errorf("%s: states %+v", c.words, list)
		}
	}
}

// list yields keys in the order given, which may hold a key twice.
type list []rise

func (l list) all(yield func(Key, float64) bool) {
	for _, r := range l {
		if !yield(r.key, r.demand) {
			return
		}
	}
}

// TestOrder has the transitions of one window in the order of demand, then of
// name and database, whatever the order in which the keys are listed.
func TestOrder(t *testing.T) {
	keys := list{
		{Key{Name: "b"}, 5000}, {Key{Name: "a", DB: 1}, 5000}, {Key{Name: "a"}, 5000},
		{Key{Name: "z"}, 6000}, {Key{Name: "cold"}, 4000}, {Key{Name: "z"}, 6000},
	}
	for range 3 {
		var c Controller
		if _, err := c.Configure(worked(), 0); err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range int64(2) {
			for _, tr := range c.Window(Window{BeginNs: i, EndNs: i + 1, Known: true, Demands: keys.all}) {
				got = append(got, fmt.Sprintf("%s %s/%d", tr.Event, tr.Key.Name, tr.Key.DB))
			}
		}
		want := "warming z/0, warming a/0, warming a/1, warming b/0, hot z/0, hot a/0, hot a/1, hot b/0"
		if strings.Join(got, ", ") != want {
			t.Errorf("got %s\nwant %s", strings.Join(got, ", "), want)
		}
		slices.Reverse(keys)
	}
}

// TestNames has the controller keep copies of names.
func TestNames(t *testing.T) {
	var c Controller
	if _, err := c.Configure(worked(), 0); err != nil {
		t.Fatal(err)
	}
	name := []byte("\x00\xff key\r\n")
	want := string(name)
	alias := func(yield func(Key, float64) bool) { yield(Key{Name: unsafe.String(&name[0], len(name))}, 5000) }
	c.Window(Window{BeginNs: 0, EndNs: 1, Known: true, Demands: alias})
	clear(name)
	if list := c.States(1); len(list) != 1 || list[0].Key.Name != want {
		t.Errorf("states %+v", list)
	}
}

func TestLimits(t *testing.T) {
	s := worked()
	s.CooldownNs = second
	var c Controller
	if _, err := c.Configure(s, 0); err != nil {
		t.Fatal(err)
	}
	var keys list
	for i := range KeysMax + 100 {
		keys = append(keys, rise{Key{Name: fmt.Sprint(i)}, float64(5000 + i)})
	}
	window := func(n int64, l list) []Transition {
		return c.Window(Window{BeginNs: n, EndNs: n + 1, Known: true, Demands: l.all})
	}
	if got := window(0, keys); len(got) != KeysMax || got[KeysMax-1].Key.Name != "100" {
		t.Errorf("%d transitions", len(got))
	}
	if got := c.Totals(1); got.Warming != KeysMax || got.Refused != 100 {
		t.Errorf("totals %+v", got)
	}
	if _, err := c.Pin(Key{Name: "pinned"}, 1); err != ErrFull {
		t.Errorf("pin: %v", err)
	}
	if _, err := c.Pin(Key{Name: "200"}, 1); err != nil {
		t.Errorf("pin of a key that is warming: %v", err)
	}
	if got := c.Emergency(Key{Name: "new"}, 9000, 100, 1); got != nil || c.Totals(1).Refused != 101 {
		t.Errorf("emergency: %v", got)
	}
	// All are normal again, and remembered; then others, which are not.
	window(1, nil)
	if len(c.keys) != 1 || len(c.quiet) != KeysMax-1 {
		t.Fatalf("%d keys, %d quiet", len(c.keys), len(c.quiet))
	}
	for i := range keys {
		keys[i].key.DB = 1
	}
	window(2, keys)
	window(3, nil)
	if len(c.quiet) != KeysMax {
		t.Errorf("%d quiet", len(c.quiet))
	}
	window(2*second, nil)
	if len(c.quiet) != 0 || c.quietBytes != 0 || c.keysBytes != len("200") {
		t.Errorf("%d quiet with %d bytes, %d bytes", len(c.quiet), c.quietBytes, c.keysBytes)
	}
	long := Key{Name: strings.Repeat("x", NameBytesMax)}
	if _, err := c.Pin(long, 2*second); err != ErrFull {
		t.Errorf("pin of a long name: %v", err)
	}
	long.Name = long.Name[len("200"):]
	if _, err := c.Pin(long, 2*second); err != nil {
		t.Errorf("pin of a name that fits: %v", err)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Settings)
		want   error
	}{
		{"worked", func(*Settings) {}, nil},
		{"off", func(s *Settings) { *s = Settings{} }, nil},
		{"off, with L", func(s *Settings) { s.Promote = 0 }, nil},
		{"L = H", func(s *Settings) { s.Demote = s.Promote }, ErrThresholds},
		{"L > H", func(s *Settings) { s.Demote = s.Promote + 1 }, ErrThresholds},
		{"L = H - 1", func(s *Settings) { s.Demote = s.Promote - 1 }, nil},
		{"no L", func(s *Settings) { s.Demote = 0 }, ErrThresholds},
		{"no L is possible", func(s *Settings) { s.Promote, s.Demote = 1, 0 }, ErrThresholds},
		{"H negative", func(s *Settings) { s.Promote = -1 }, ErrRange},
		{"H too great", func(s *Settings) { s.Promote = ThresholdMax + 1 }, ErrRange},
		{"H at its greatest", func(s *Settings) { s.Promote = ThresholdMax }, nil},
		{"K = 0", func(s *Settings) { s.PromoteWindows = 0 }, ErrRange},
		{"M too great", func(s *Settings) { s.DemoteWindows = WindowsMax + 1 }, ErrRange},
		{"a hold of more than a day", func(s *Settings) { s.HoldNs = 86401 * second }, ErrRange},
		{"a cooldown of a day", func(s *Settings) { s.CooldownNs = 86400 * second }, nil},
		{"a share above all", func(s *Settings) { s.EmergencySharePercent = 101 }, ErrRange},
		{"no metric", func(s *Settings) { s.Metric = Bytes + 1 }, ErrRange},
	} {
		s := worked()
		c.change(&s)
		if got := s.Validate(); !errors.Is(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestExceeded(t *testing.T) {
	s := worked()
	if s.Watches() || s.Exceeded(math.Inf(1), math.Inf(1)) {
		t.Error("limits that are off are exceeded")
	}
	s.EmergencyCPUPercent, s.EmergencyLatencyMs = 90, 50
	for _, c := range []struct {
		cpu, latency float64
		want         bool
	}{{89.9, 49.9, false}, {90, 0, true}, {0, 50, true}, {math.NaN(), math.NaN(), false}} {
		if got := s.Exceeded(c.cpu, c.latency); got != c.want {
			t.Errorf("%v %%, %v ms: %v", c.cpu, c.latency, got)
		}
	}
	if s.Promote = 0; s.Watches() || s.Exceeded(100, 100) {
		t.Error("control is off, and limits are exceeded")
	}
}

// BenchmarkWindow is a window of a server at its ease: every counter of the
// default in use, a few keys hot.
func BenchmarkWindow(b *testing.B) {
	var keys list
	for i := range 1024 {
		keys = append(keys, rise{Key{Name: fmt.Sprintf("key:%08d", i)}, 3000})
	}
	for _, hot := range []int{0, 8} {
		b.Run(fmt.Sprintf("hot=%d", hot), func(b *testing.B) {
			var c Controller
			if _, err := c.Configure(worked(), 0); err != nil {
				b.Fatal(err)
			}
			for i := range hot {
				if _, err := c.Pin(keys[i].key, 0); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for i := int64(0); b.Loop(); i++ {
				c.Window(Window{BeginNs: i, EndNs: i + 1, Known: true, Floor: 10, Demands: keys.all})
			}
		})
	}
}
