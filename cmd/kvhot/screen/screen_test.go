package screen

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"

	"kvserver/cmd/kvhot/merge"
	"kvserver/cmd/kvhot/node"
)

// patience bounds every wait for something that must happen.
const patience = 20 * time.Second

// shown runs a screen of a size over what ask returns, until the test ends it.
type shown struct {
	t       *testing.T
	screen  *watched
	done    chan error
	stopped bool
}

func show(t *testing.T, width, height int, ask Ask) *shown {
	t.Helper()
	s := &shown{t: t, done: make(chan error, 1), screen: &watched{
		SimulationScreen: tcell.NewSimulationScreen("UTF-8"), width: width, height: height, ready: make(chan struct{})}}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { s.done <- Run(ctx, s.screen, ask, node.ByAll, time.Millisecond) }()
	<-s.screen.ready
	t.Cleanup(func() {
		cancel()
		if !s.stopped {
			<-s.done
		}
	})
	return s
}

// watched gives a simulated terminal its size as soon as it is there, and keeps what it shows as text.
type watched struct {
	tcell.SimulationScreen
	width, height int
	ready         chan struct{}

	mu   sync.Mutex
	text string
}

func (s *watched) Init() error {
	err := s.SimulationScreen.Init()
	s.SetSize(s.width, s.height)
	close(s.ready)
	return err
}

func (s *watched) Show() {
	s.SimulationScreen.Show()
	cells, width, height := s.GetContents()
	var b strings.Builder
	for y := range height {
		var line strings.Builder
		for x := range width {
			line.WriteString(string(cells[y*width+x].Runes))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = b.String()
}

func (s *shown) text() string {
	s.screen.mu.Lock()
	defer s.screen.mu.Unlock()
	return s.screen.text
}

// until waits for the screen to hold all the texts.
func (s *shown) until(texts ...string) {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		screen := s.text()
		missing := ""
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				missing = text
			}
		}
		if missing == "" {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("no %q on the screen:\n%s", missing, screen)
		}
		time.Sleep(time.Millisecond)
	}
}

func (s *shown) key(key tcell.Key, r rune) { s.screen.InjectKey(key, r, tcell.ModNone) }

// keys are n hot keys, the first the hottest.
func keys(n int) []node.Entry {
	entries := make([]node.Entry, n)
	for i := range entries {
		qps := float64(1000 * (n - i))
		entries[i] = node.Entry{Key: fmt.Sprintf("user:%d", i+1), QPS: qps, Samples: 10, Low: qps - 1, High: qps + 1, Reads: float64(i), Writes: float64(n - i),
			Misses: math.NaN(), InBytes: math.NaN(), OutBytes: 1e6, CPUMicros: 5, Share: 0.1, Certain: 1, Reported: math.NaN(), Type: "string"}
	}
	return entries
}

func viewOf(by node.Ranking, reports ...node.Report) merge.View {
	var results []merge.Result
	for i, r := range reports {
		results = append(results, merge.Result{Address: fmt.Sprintf("node%d:6379", i+1), Report: r})
	}
	return merge.Of(time.Now(), by, results, 0)
}

func TestShowsAndUpdates(t *testing.T) {
	var mu struct {
		sync.Mutex
		entries []node.Entry
	}
	mu.entries = keys(3)
	s := show(t, 120, 30, func(_ context.Context, by node.Ranking) merge.View {
		mu.Lock()
		defer mu.Unlock()
		return viewOf(by, node.Report{TopK: 16, WindowMs: 1000, Samples: 30, Accesses: 6000, Commands: 6000, CPU: 50, Floor: 3, Entries: mu.entries,
			States: []node.State{{Key: "user:1", State: "hot"}}})
	})
	s.until("kvhot", "node1:6379", "user:1", "3000", "hot", "████████████", "▃▃", "all", "user:1  db 0  6 bytes")
	s.key(tcell.KeyDown, 0)
	s.until("user:2  db 0")
	mu.Lock()
	mu.entries = keys(3)
	mu.entries[1].QPS = 7000
	mu.Unlock()
	s.until("1  user:2", "user:2  db 0") // the selection follows its key
	mu.Lock()
	mu.entries = []node.Entry{node.Unknown("evil\x1b[2J\u202e", 7, 12)}
	mu.Unlock()
	s.until(`evil\x1b[2J\xe2\x80\xae`, "db 7", "12")
}

// TestKeys presses every key that does something.
func TestKeys(t *testing.T) {
	s := show(t, 100, 20, func(_ context.Context, by node.Ranking) merge.View {
		return viewOf(by, node.Report{TopK: 50, WindowMs: 1000, Samples: 1, Accesses: 1, Commands: 1, CPU: 1, Floor: 1, Entries: keys(50)})
	})
	s.until("user:1 ", "user:1  db 0")
	s.key(tcell.KeyDown, 0)
	s.until("user:2  db 0")
	s.key(tcell.KeyRune, 'j')
	s.until("user:3  db 0")
	s.key(tcell.KeyUp, 0)
	s.key(tcell.KeyRune, 'k')
	s.until("user:1  db 0")
	s.key(tcell.KeyEnd, 0)
	s.until("user:50  db 0", "50  user:50")
	s.key(tcell.KeyPgUp, 0)
	s.key(tcell.KeyHome, 0)
	s.until("user:1  db 0", " 1  user:1")
	s.key(tcell.KeyPgDn, 0)
	s.until("user:11  db 0")
	s.key(tcell.KeyRune, 'w')
	s.until("writes/s", "write  every")
	s.key(tcell.KeyRune, 'r')
	s.until("reads/s", "read  every", " 1  user:50", "user:50  db 0")
	s.key(tcell.KeyRune, 'a')
	s.until("qps", "all  every", "user:1  db 0")
	s.key(tcell.KeyRune, ' ')
	s.until("paused")
	s.key(tcell.KeyRune, '?')
	s.until("the first and the last key")
	s.key(tcell.KeyEscape, 0)
	s.until("50.0k")
	s.screen.SetSize(40, 10)
	s.key(tcell.KeyCtrlL, 0)
	s.until("user:1")
	s.key(tcell.KeyRune, 'q')
	s.stopped = true
	if err := <-s.done; err != nil {
		t.Error(err)
	}
}

// TestManyNodes: a screen shows the nodes with most load and says that there are others.
func TestManyNodes(t *testing.T) {
	s := show(t, 120, 18, func(_ context.Context, by node.Ranking) merge.View {
		var reports []node.Report
		for i := range 30 {
			reports = append(reports, node.Report{TopK: 1, WindowMs: 1000, Samples: 1, Accesses: float64(100 + i), Commands: 1, CPU: 1, Floor: 1})
		}
		reports[11].Accesses = 5000
		reports[11].Entries = keys(1)
		v := viewOf(by, reports...)
		v.Nodes[3].Err = errors.New("connection refused")
		return v
	})
	s.until("node12:6379", "▲", "node4:6379: connection refused", "24 nodes with less load are not shown", "user:1")
}

// TestSlowServers: while the servers do not answer the screen obeys.
func TestSlowServers(t *testing.T) {
	asked := make(chan struct{}, 1)
	s := show(t, 80, 24, func(ctx context.Context, by node.Ranking) merge.View {
		asked <- struct{}{}
		<-ctx.Done()
		return merge.View{}
	})
	<-asked
	s.until("asking …")
	s.key(tcell.KeyRune, '?')
	s.until("this help and back")
	s.key(tcell.KeyCtrlC, 0)
	s.stopped = true
	if err := <-s.done; err != nil {
		t.Error(err)
	}
}

// TestAnySize draws on every size a terminal may have while it is dragged.
func TestAnySize(t *testing.T) {
	terminal := tcell.NewSimulationScreen("UTF-8")
	if err := terminal.Init(); err != nil {
		t.Fatal(err)
	}
	defer terminal.Fini()
	s := &screen{Screen: terminal, by: node.ByAll, trends: map[identity][]float64{}}
	s.take(viewOf(node.ByAll, node.Report{Entries: keys(30)}, node.Report{Entries: keys(3)}))
	for _, help := range []bool{false, true} {
		s.help = help
		for width := 0; width < 120; width += 7 {
			for height := 0; height < 30; height += 3 {
				terminal.SetSize(width, height)
				s.key(tcell.NewEventKey(tcell.KeyPgDn, 0, tcell.ModNone))
				s.draw()
				s.key(tcell.NewEventKey(tcell.KeyUp, 0, tcell.ModNone))
				s.draw()
			}
		}
	}
}
