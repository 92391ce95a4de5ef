package node

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Ranking is what keys are ordered by.
type Ranking string

// The rankings, as HOTKEYS GET TYPE names them.
const (
	ByAll    Ranking = "ALL"
	ByReads  Ranking = "READ"
	ByWrites Ranking = "WRITE"
)

// Query says which hot keys to report.
type Query struct {
	By    Ranking
	DB    int // -1: all
	Count int // 0: as many as the server is configured to report
}

// Entry is one hot key. Rates are per second of the completed window.
type Entry struct {
	Key string
	DB  int
	QPS float64

	// The rest is NaN or empty where the server does not tell it.

	Samples           float64
	Low, High         float64 // what qps is between, with 95 % confidence
	Reads, Writes     float64
	Misses            float64 // lookups that found nothing
	InBytes, OutBytes float64
	CPUMicros         float64
	Share             float64 // of the server's accesses, 0 to 1
	Certain           float64 // 1: among the hottest for sure; 0: may be noise
	Reported          float64 // accesses that clients served themselves, per second
	Type              string
}

// Unknown is an entry of which nothing but its rate is known.
func Unknown(key string, db int, qps float64) Entry {
	nan := math.NaN()
	return Entry{Key: key, DB: db, QPS: qps, Samples: nan, Low: nan, High: nan, Reads: nan, Writes: nan, Misses: nan,
		InBytes: nan, OutBytes: nan, CPUMicros: nan, Share: nan, Certain: nan, Reported: nan}
}

// entryOf reads one entry of HOTKEYS GET or HISTORY.
func entryOf(v any) (Entry, error) {
	f, err := fieldsOf(v)
	if err != nil {
		return Entry{}, err
	}
	if _, ok := f["tracking-active"]; ok {
		return Entry{}, ErrSession
	}
	key, db, err := f.identity()
	if err != nil {
		return Entry{}, err
	}
	e := Unknown(key, db, f.number("qps"))
	if math.IsNaN(e.QPS) {
		return Entry{}, fmt.Errorf("an entry without qps")
	}
	e.Samples, e.Low, e.High = f.number("samples"), f.number("qps-low"), f.number("qps-high")
	e.Reads, e.Writes, e.Misses = f.number("read-qps"), f.number("write-qps"), f.number("miss-qps")
	e.InBytes, e.OutBytes, e.CPUMicros = f.number("in-bytes"), f.number("out-bytes"), f.number("cpu-usec")
	e.Share, e.Certain, e.Reported = f.number("share"), f.number("certain"), f.number("reported-qps")
	e.Type, _ = f.text("type")
	return e, nil
}

func entriesOf(list []any) ([]Entry, error) {
	entries := make([]Entry, 0, len(list))
	for _, v := range list {
		e, err := entryOf(v)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// Report is what a server says of its last completed window. Numbers it does not tell are NaN.
type Report struct {
	At      time.Time
	Entries []Entry
	// Stats: the server told more than key, db and qps.
	Stats bool

	TopK       float64 // 0: tracking is off
	Samples    float64 // accesses recorded in the window
	WindowMs   float64 // 0: no window was completed
	LengthMs   float64 // of windows, as configured
	Completed  float64 // windows since the server started
	Percentage float64 // of the accesses that are recorded
	Floor      float64 // accesses per second above which a key is tracked
	Accesses   float64 // per second
	Commands   float64 // per second
	CPU        float64 // percent of one core since the report before
	States     []State // of the controller; nil where there is none
}

// Hot asks for the hot keys of the last completed window, in one round trip once it is known what the server can do.
func (n *Node) Hot(ctx context.Context, q Query) (_ Report, err error) {
	defer n.malformed(&err)
	pipe := n.client.Pipeline()
	hot := pipe.Do(ctx, n.hotArgs(q)...)
	info := n.optional(ctx, pipe, "INFO", "hotkeys", "stats", "cpu")
	conf := n.optional(ctx, pipe, "CONFIG", "GET", "hotkeys-*")
	states := n.optional(ctx, pipe, "HOTKEYS", "STATES")
	_, failed := pipe.Exec(ctx)
	list, err := hot.Result()
	if list == nil && err == nil { // the greeting failed: the commands do not know
		err = failed
	}
	switch {
	case err == nil:
	case errors.Is(err, redis.Nil):
		return Report{}, ErrSession
	case !answered(err):
		n.lost()
		return Report{}, err
	case n.refused[withStats] || !strings.HasPrefix(err.Error(), "ERR"):
		return Report{}, refusal(err)
	default:
		n.refused[withStats] = true
		return n.Hot(ctx, q)
	}
	r := Report{At: time.Now(), Stats: !n.refused[withStats]}
	if r.Entries, err = hotEntries(list); err != nil {
		return Report{}, err
	}
	if !r.Stats {
		if r.Entries, err = q.reduce(r.Entries); err != nil {
			return Report{}, err
		}
	}
	n.tell(&r, n.reply(info), n.reply(conf))
	r.States = statesOf(n.reply(states))
	return r, nil
}

// withStats stands for HOTKEYS GET with arguments among the refused commands.
const withStats = "GET WITHSTATS"

// hotArgs asks for all that the server is thought to tell.
func (n *Node) hotArgs(q Query) []any {
	args := []any{"HOTKEYS", "GET"}
	if n.refused[withStats] {
		return args
	}
	if q.Count > 0 {
		args = append(args, "COUNT", q.Count)
	}
	if q.DB >= 0 {
		args = append(args, "DB", q.DB)
	}
	return append(args, "TYPE", string(q.By), "WITHSTATS")
}

// refusal explains the error reply to HOTKEYS GET.
func refusal(err error) error {
	if strings.HasPrefix(strings.ToLower(err.Error()), "err unknown command") {
		return ErrNoHotKeys
	}
	return err
}

// hotEntries reads the reply to HOTKEYS GET and recognizes that of a tracking session, which is a map (in RESP2 a flat
// array), perhaps within an array.
func hotEntries(v any) ([]Entry, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, ErrSession
	}
	if len(list) > 0 {
		if _, flat := list[0].(string); flat {
			return nil, ErrSession
		}
	}
	return entriesOf(list)
}

// reduce does to a full list what the server's options would have done.
func (q Query) reduce(entries []Entry) ([]Entry, error) {
	if q.By != ByAll {
		return nil, ErrNoStats
	}
	kept := entries[:0]
	for _, e := range entries {
		if (q.DB < 0 || e.DB == q.DB) && (q.Count == 0 || len(kept) < q.Count) {
			kept = append(kept, e)
		}
	}
	return kept, nil
}

// tell fills in what INFO and CONFIG GET say about the window and the server.
func (n *Node) tell(r *Report, info, conf any) {
	text, _ := info.(string)
	i := infoFields(text)
	c, err := fieldsOf(conf)
	if err != nil {
		c = fields{}
	}
	r.TopK, r.Percentage = c.number("hotkeys-top-k"), c.number("hotkeys-sampling-percentage")
	r.Samples, r.WindowMs = i.number("hotkeys_last_window_samples"), i.number("hotkeys_last_window_duration_ms")
	r.LengthMs = 1000 * c.number("hotkeys-window-seconds")
	r.Completed, r.Floor = i.number("hotkeys_windows_completed"), i.number("hotkeys_detection_floor_qps")
	r.Commands = i.number("instantaneous_ops_per_sec")
	r.CPU = n.cpuPercent(r.At, i)
	r.Accesses = math.NaN()
	hold, _ := c.text("hotkeys-sample-and-hold")
	switch {
	case r.WindowMs == 0:
		r.Accesses = 0
	case hold == "yes" && len(r.Entries) > 0 && r.Entries[0].Share > 0:
		// With sample and hold more than the percentage was recorded, of held keys everything: a share tells the sum.
		r.Accesses = r.Entries[0].QPS / r.Entries[0].Share
	case hold != "yes" && r.Percentage > 0:
		r.Accesses = r.Samples * 100 / r.Percentage * 1000 / r.WindowMs
	}
}
