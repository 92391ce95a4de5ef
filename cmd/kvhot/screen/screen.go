// Package screen shows merged views in a terminal, anew at every refresh, until the user quits.
//
// One goroutine owns everything that is shown; asking the servers runs beside it, one refresh at a time, so that a server
// that does not answer never keeps a key press waiting.
package screen

import (
	"context"
	"time"

	"github.com/gdamore/tcell/v2"

	"kvserver/cmd/kvhot/merge"
	"kvserver/cmd/kvhot/node"
)

// trendLength is how many refreshes a trend shows.
const trendLength = 24

// Ask gets the next view. It returns soon after ctx ends.
type Ask func(ctx context.Context, by node.Ranking) merge.View

// identity is what makes a key one.
type identity struct {
	key string
	db  int
}

// screen is what is shown, and what the user chose.
type screen struct {
	tcell.Screen
	interval time.Duration

	view   merge.View
	asked  bool // there is a view
	by     node.Ranking
	paused bool
	help   bool

	// trends are the rates of the keys in the last refreshes, oldest first; keys that left the list are forgotten.
	trends map[identity][]float64

	// The selected row follows its key, as long as it is listed.
	selected identity
	row      int
	top      int // first row shown
}

// Run shows views until the user quits or ctx ends. It initializes the terminal and gives it back as it was.
func Run(ctx context.Context, terminal tcell.Screen, ask Ask, by node.Ranking, interval time.Duration) error {
	if err := terminal.Init(); err != nil {
		return err
	}
	defer terminal.Fini()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &screen{Screen: terminal, by: by, interval: interval, trends: map[identity][]float64{}}

	events := make(chan tcell.Event)
	go terminal.ChannelEvents(events, ctx.Done())
	views := make(chan merge.View, 1)
	refresh := func() { go func(by node.Ranking) { views <- ask(ctx, by) }(s.by) }
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	refresh()
	asking := true
	defer func() {
		if asking {
			cancel()
			<-views
		}
	}()
	s.draw()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, ok := <-events:
			if !ok || s.handle(event) {
				return nil
			}
			if s.asked && s.by != s.view.By && !asking {
				refresh()
				asking = true
			}
		case v := <-views:
			asking = false
			if v.By == s.by {
				s.take(v)
			}
		case <-ticker.C:
			if !asking && !s.paused {
				refresh()
				asking = true
			}
		}
		s.draw()
	}
}

// take makes a view the one that is shown.
func (s *screen) take(v merge.View) {
	if s.view.By != v.By { // another ranking is looked at from its top
		clear(s.trends)
		s.selected, s.row = identity{}, 0
	}
	s.view, s.asked = v, true
	trends := make(map[identity][]float64, len(v.Rows))
	for i, r := range v.Rows {
		id := identity{r.Key, r.DB}
		past := append(s.trends[id], merge.Rate(r.Entry, v.By))
		trends[id] = past[max(len(past)-trendLength, 0):]
		if id == s.selected {
			s.row = i
		}
	}
	s.trends = trends
	s.choose(s.row)
}

// choose selects a row.
func (s *screen) choose(row int) {
	s.row = max(min(row, len(s.view.Rows)-1), 0)
	if s.row < len(s.view.Rows) {
		s.selected = identity{s.view.Rows[s.row].Key, s.view.Rows[s.row].DB}
	}
}

// handle does what the user or the terminal wants; true is to quit.
func (s *screen) handle(event tcell.Event) bool {
	switch event := event.(type) {
	case *tcell.EventResize:
		s.Sync()
	case *tcell.EventKey:
		return s.key(event)
	}
	return false
}

func (s *screen) key(event *tcell.EventKey) bool {
	page := max(s.keyLines()-1, 1)
	switch event.Key() {
	case tcell.KeyCtrlC:
		return true
	case tcell.KeyEscape:
		if !s.help {
			return true
		}
		s.help = false
	case tcell.KeyCtrlL:
		s.Sync()
	case tcell.KeyUp:
		s.choose(s.row - 1)
	case tcell.KeyDown:
		s.choose(s.row + 1)
	case tcell.KeyPgUp:
		s.choose(s.row - page)
	case tcell.KeyPgDn:
		s.choose(s.row + page)
	case tcell.KeyHome:
		s.choose(0)
	case tcell.KeyEnd:
		s.choose(len(s.view.Rows) - 1)
	case tcell.KeyRune:
		return s.letter(event.Rune())
	}
	return false
}

func (s *screen) letter(r rune) bool {
	switch r {
	case 'q':
		return true
	case ' ', 'p':
		s.paused = !s.paused
	case '?', 'h':
		s.help = !s.help
	case 'k':
		s.choose(s.row - 1)
	case 'j':
		s.choose(s.row + 1)
	case 'a':
		s.by = node.ByAll
	case 'r':
		s.by = node.ByReads
	case 'w':
		s.by = node.ByWrites
	}
	return false
}
