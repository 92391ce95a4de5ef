package web

import (
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// fake stands for the server: what it tells, and what it is asked.
type fake struct {
	mu sync.Mutex
	// mu guards the following.
	snap    *Snapshot
	err     error
	taken   int
	verdict func(Login) Verdict
	labels  bool
	hosts   []string
}

func (f *fake) set(change func(f *fake)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *fake) options() Options {
	return Options{
		Snapshot: func(bool) (*Snapshot, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.taken++
			if f.err != nil {
				return nil, f.err
			}
			snap := *f.snap
			snap.Taken = time.Now()
			return &snap, nil
		},
		Authorize: func(l Login) Verdict {
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.verdict == nil {
				return Open
			}
			return f.verdict(l)
		},
		Hosts:     func() []string { return f.hosts },
		LabelKeys: func() bool { return f.labels },
		Logger:    slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

// serve starts a server of the fake on a port of the system's choice, and returns its address.
func (f *fake) serve(t testing.TB) (s *Server, address string) {
	t.Helper()
	s = New(f.options())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Serve([]net.Listener{l})
	t.Cleanup(func() {
		s.Serve(nil)
		s.Wait()
	})
	return s, l.Addr().String()
}

// hostileNames try to be more than names.
var hostileNames = []string{
	`<script>document.title="stolen"</script>`, `<img src=x onerror=document.title="stolen">`, `"onmouseover="document.title='stolen'`,
	"javascript:document.title='stolen'", "</bdi></button></td></tr></table><h1>stolen</h1>", "&lt;b&gt;&amp;", "a\x00b\x1b[31mred\r\n", "\xff\xfe\x80",
	"user:\u202e4321:eliforp", "zero\u200bwidth", "", `back\slash "quoted"`, "ключ:☃:🔥",
}

// sampleSnapshot is a server under a load of keys that follow Zipf's law, with everything there is to show.
func sampleSnapshot(keys int, random *rand.Rand) *Snapshot {
	begin := time.Now().Add(-time.Second)
	snap := &Snapshot{
		Taken: time.Now(),
		Node: Node{Version: "0.1.0", Started: begin.Add(-75 * time.Minute), Clients: 48, MemoryUsed: 193 << 20, MemoryMax: 1 << 30, Hits: 812345, Misses: 3210,
			Databases: []Database{{0, 120345, 300}, {3, 12, 0}}},
		Tracking: Tracking{On: true, TopK: keys, Percentage: 1, Length: time.Second, Counters: 1330, MemoryBytes: 431000, Completed: 4503, Discarded: 2,
			Next: 700 * time.Millisecond},
		Window:   Window{Begin: begin, Length: 1003 * time.Millisecond, Samples: 1284, Rate: 128400, Floor: 310},
		Commands: []CommandUse{{"get", 9000000, 0, 12, 40 * time.Second}, {"set", 410000, 3, 0, 2 * time.Second}},
		Control: Control{On: true, Metric: "qps", Promote: 4600, Demote: 3500, PromoteWindows: 2, DemoteWindows: 3, Hold: time.Minute,
			Promotions: 14, Aborted: 3, Demotions: 11, FalsePromotions: 1, HotTime: 47 * time.Minute},
	}
	kinds := []string{"string", "hash", "zset", "list", "none"}
	prefixes := []string{"user:%d:profile", "session:%08x", "feed:home:%d", "lock:checkout:%d", "rate:{10.0.%d.7}"}
	for i := range keys {
		rate := 24000 / math.Pow(float64(i+1), 0.9)
		writes := random.Float64() * random.Float64()
		name := fmt.Sprintf(prefixes[i%len(prefixes)], 1000+i*37)
		if i >= 9 && i-9 < len(hostileNames) {
			name = hostileNames[i-9]
		}
		spread := 196 * math.Sqrt(rate/100)
		k := Key{Name: name, Length: len(name), Type: kinds[i%len(kinds)], Samples: uint64(rate / 100), Rate: rate, Low: max(0, rate-spread), High: rate + spread,
			Reads: rate * (1 - writes), Writes: rate * writes, Misses: rate * 0.01, InBytes: rate * 38, OutBytes: rate * 310, CPU: rate * 1.4,
			Share: rate / 128400, Certain: i < 30, Measured: true, State: "normal"}
		if i == 4 {
			k.DB = 3
		}
		if i < 2 {
			k.State = []string{"hot", "warming"}[i]
		}
		k.Past = make([]float64, 46)
		for w := range k.Past {
			k.Past[w] = rate * (0.85 + 0.3*random.Float64())
			if w == 20 || w == 21 || i == 1 && w < 30 || i > 16 && random.IntN(4) == 0 {
				k.Past[w] = math.NaN()
			}
		}
		snap.Keys[ByAccesses] = append(snap.Keys[ByAccesses], k)
	}
	snap.Keys[ByReads] = snap.Keys[ByAccesses]
	for i := range 46 {
		snap.History = append(snap.History, Past{Begin: begin.Add(-time.Duration(46-i) * time.Second), Length: time.Second, Samples: 1200, Known: i != 20 && i != 21,
			Rate: 118000 + 14000*math.Sin(float64(i)/6) + 4000*random.Float64()})
	}
	if keys > 2 {
		first, second := snap.Keys[ByAccesses][0], snap.Keys[ByAccesses][1]
		snap.Keys[ByWrites] = []Key{second, first}
		snap.Control.Hot, snap.Control.Warming = 2, 1
		snap.Control.States = []KeyState{
			{first.Name, 0, first.Length, 0, "hot", false, begin.Add(-40 * time.Second), first.Rate, 0, 21 * time.Second},
			{second.Name, 0, second.Length, 0, "warming", false, begin.Add(-time.Second), second.Rate, 1, 0},
			{"launch:2027", 0, 11, 0, "hot", true, begin.Add(-9 * time.Minute), 120, 0, 0},
		}
	}
	return snap
}
