package web

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// What /api/hotkeys answers. Numbers are rounded to what can be told apart; names of keys are text to be shown, with the bytes
// beside it.

type answer struct {
	TakenMs    int64          `json:"taken_ms"`
	NextMs     int64          `json:"next_window_in_ms"` // until what is told here has changed
	Server     answerServer   `json:"server"`
	Tracking   answerTracking `json:"tracking"`
	Window     *answerWindow  `json:"window"` // null: none is completed
	Type       string         `json:"type"`
	Keys       []answerKey    `json:"keys"`
	History    []answerPast   `json:"history"` // oldest first
	Controller answerControl  `json:"controller"`
}

type answerServer struct {
	Version     string `json:"version"`
	StartedMs   int64  `json:"started_ms"`
	Clients     int64  `json:"connected_clients"`
	MemoryBytes int64  `json:"memory_used_bytes"`
}

type answerTracking struct {
	On          bool   `json:"on"`
	TopK        int    `json:"top_k"`
	Percentage  int    `json:"sampling_percentage"`
	WindowMs    int64  `json:"window_ms"`
	Hold        bool   `json:"sample_and_hold"`
	Counters    int64  `json:"tracked_counters"`
	MemoryBytes int64  `json:"memory_bytes"`
	Completed   uint64 `json:"windows_completed"`
	Discarded   uint64 `json:"windows_discarded"`
	Session     bool   `json:"session"`
}

type answerWindow struct {
	BeginMs    int64   `json:"begin_ms"`
	DurationMs int64   `json:"duration_ms"`
	Samples    uint64  `json:"samples"`
	QPS        float64 `json:"qps"`
	FloorQPS   float64 `json:"detection_floor_qps"`
}

type answerName struct {
	Key    string `json:"key"`        // displayed
	Bytes  []byte `json:"key_base64"` // at most NameBytesMax
	Length int    `json:"key_bytes"`
	Digest uint32 `json:"key_crc32c,omitempty"` // if Bytes are not all
	DB     int    `json:"db"`
}

type answerKey struct {
	answerName
	Type        string     `json:"value_type"`
	State       string     `json:"state"` // normal, warming or hot
	Samples     uint64     `json:"samples"`
	QPS         float64    `json:"qps"`
	Low         float64    `json:"qps_low"`
	High        float64    `json:"qps_high"`
	Reads       float64    `json:"read_qps"`
	Writes      float64    `json:"write_qps"`
	Share       float64    `json:"share"`
	Certain     bool       `json:"certain"`
	ReportedQPS float64    `json:"reported_qps"`
	Misses      *float64   `json:"miss_qps"` // null, like the three that follow: not measured
	InBytes     *float64   `json:"in_bytes"`
	OutBytes    *float64   `json:"out_bytes"`
	CPUMicros   *float64   `json:"cpu_usec"`
	History     []*float64 `json:"history"` // qps in the windows of the history; null: not among its hottest, or not known
}

type answerPast struct {
	BeginMs    int64   `json:"begin_ms"`
	DurationMs int64   `json:"duration_ms"`
	Samples    uint64  `json:"samples"`
	QPS        float64 `json:"qps"`
	Known      bool    `json:"known"`
}

type answerControl struct {
	On             bool          `json:"on"`
	Metric         string        `json:"metric"`
	Promote        float64       `json:"promote"`
	Demote         float64       `json:"demote"`
	PromoteWindows int           `json:"promote_windows"`
	DemoteWindows  int           `json:"demote_windows"`
	HoldMs         int64         `json:"min_hold_ms"`
	States         []answerState `json:"states"`
	Warming        int           `json:"warming_keys"`
	Hot            int           `json:"hot_keys"`

	Promotions      uint64 `json:"promotions"`
	Aborted         uint64 `json:"aborted_warmups"`
	Demotions       uint64 `json:"demotions"`
	Emergencies     uint64 `json:"emergency_trips"`
	FalsePromotions uint64 `json:"false_promotions"`
	HotMs           int64  `json:"time_in_hot_ms"`
}

type answerState struct {
	answerName
	State      string  `json:"state"`
	Pinned     bool    `json:"pinned"`
	SinceMs    int64   `json:"since_ms"`
	Demand     float64 `json:"demand"`
	Evidence   int     `json:"evidence_windows"`
	HoldLeftMs int64   `json:"hold_remaining_ms"`
}

// What may be asked for.
const (
	keysDefault   = 50
	keysMax       = 1000
	typeParameter = "type"
)

var rankingNames = [rankings]string{"all", "read", "write"}

// question is what a request asks for.
type question struct {
	ranking Ranking
	count   int
}

func parseQuestion(r *http.Request) (q question, err error) {
	q.count = keysDefault
	parameters, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return q, errors.New("the query is malformed")
	}
	for name, values := range parameters {
		value := values[len(values)-1]
		switch name {
		case "count":
			if q.count, err = strconv.Atoi(value); err != nil || q.count < 1 || q.count > keysMax {
				return q, errors.New("count must be between 1 and " + strconv.Itoa(keysMax))
			}
		case typeParameter:
			i := 0
			for i < len(rankingNames) && !strings.EqualFold(value, rankingNames[i]) {
				i++
			}
			if i == len(rankingNames) {
				return q, errors.New("type must be all, read or write")
			}
			q.ranking = Ranking(i)
		default:
			return q, errors.New("parameters are count and type")
		}
	}
	return q, nil
}

// hotkeys is /api/hotkeys.
func (s *Server) hotkeys(w http.ResponseWriter, r *http.Request) {
	q, err := parseQuestion(r)
	if err != nil {
		sendJSON(w, http.StatusBadRequest, failure{err.Error()})
		return
	}
	snap, err := s.snapshot(true)
	if err != nil {
		sendJSON(w, http.StatusServiceUnavailable, failure{err.Error()})
		return
	}
	sendJSON(w, http.StatusOK, answerOf(snap, q, time.Since(snap.Taken)))
}

type failure struct {
	Error string `json:"error"`
}

func sendJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // to a client that may be gone
}

// answerOf answers with a snapshot of some age.
func answerOf(snap *Snapshot, q question, age time.Duration) answer {
	t := snap.Tracking
	a := answer{
		TakenMs: snap.Taken.UnixMilli(),
		NextMs:  max(0, t.Next-age).Milliseconds(),
		Server:  answerServer{snap.Node.Version, snap.Node.Started.UnixMilli(), snap.Node.Clients, snap.Node.MemoryUsed},
		Tracking: answerTracking{t.On, t.TopK, t.Percentage, t.Length.Milliseconds(), t.Hold, t.Counters, t.MemoryBytes,
			t.Completed, t.Discarded, t.Session},
		Type:       rankingNames[q.ranking],
		History:    []answerPast{},
		Controller: controlOf(snap.Control),
	}
	if v := snap.Window; v.Length > 0 {
		a.Window = &answerWindow{v.Begin.UnixMilli(), v.Length.Milliseconds(), v.Samples, rounded(v.Rate), rounded(v.Floor)}
	}
	for _, p := range snap.History {
		a.History = append(a.History, answerPast{p.Begin.UnixMilli(), p.Length.Milliseconds(), p.Samples, rounded(p.Rate), p.Known})
	}
	keys := snap.Keys[q.ranking]
	a.Keys = answerKeys(keys[:min(len(keys), q.count)], len(snap.History))
	return a
}

func answerKeys(keys []Key, windows int) []answerKey {
	list := make([]answerKey, len(keys))
	for i, k := range keys {
		a := answerKey{
			answerName:  answerName{displayed(k.Name), []byte(k.Name), k.Length, k.Digest, k.DB},
			Type:        k.Type,
			State:       k.State,
			Samples:     k.Samples,
			QPS:         rounded(k.Rate),
			Low:         rounded(k.Low),
			High:        rounded(k.High),
			Reads:       rounded(k.Reads),
			Writes:      rounded(k.Writes),
			Share:       math.Round(k.Share*1e5) / 1e5,
			Certain:     k.Certain,
			ReportedQPS: rounded(k.Reported),
			History:     make([]*float64, windows),
		}
		if k.Measured {
			a.Misses, a.InBytes = new(rounded(k.Misses)), new(rounded(k.InBytes))
			a.OutBytes, a.CPUMicros = new(rounded(k.OutBytes)), new(rounded(k.CPU))
		}
		for w, rate := range k.Past {
			if !math.IsNaN(rate) {
				a.History[w] = new(rounded(rate))
			}
		}
		list[i] = a
	}
	return list
}

func controlOf(c Control) answerControl {
	a := answerControl{
		On: c.On, Metric: c.Metric, Promote: c.Promote, Demote: c.Demote,
		PromoteWindows: c.PromoteWindows, DemoteWindows: c.DemoteWindows, HoldMs: c.Hold.Milliseconds(),
		States: []answerState{}, Warming: c.Warming, Hot: c.Hot,
		Promotions: c.Promotions, Aborted: c.Aborted, Demotions: c.Demotions,
		Emergencies: c.Emergencies, FalsePromotions: c.FalsePromotions, HotMs: c.HotTime.Milliseconds(),
	}
	for _, st := range c.States {
		a.States = append(a.States, answerState{
			answerName: answerName{displayed(st.Name), []byte(st.Name), st.Length, st.Digest, st.DB},
			State:      st.State, Pinned: st.Pinned, SinceMs: st.Since.UnixMilli(),
			Demand: rounded(st.Demand), Evidence: st.Evidence, HoldLeftMs: roundedUp(st.HoldLeft),
		})
	}
	return a
}

// rounded keeps a tenth of small numbers and nothing of what stands after the point of others. JSON has no infinity.
func rounded(v float64) float64 {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0
	case math.Abs(v) < 1000:
		return math.Round(v*10) / 10
	}
	return math.Round(v)
}

func roundedUp(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }
