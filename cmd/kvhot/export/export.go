// Package export writes what kvhot learns for programs: a JSON object a line, or CSV with one head.
//
// Every field of JSON that is not known is left out, never null or zero; a cell of CSV is empty then. Names of keys are any
// bytes, which neither format can hold: docs/kvhot.md says how they are written.
package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"kvserver/cmd/kvhot/merge"
	"kvserver/cmd/kvhot/node"
	"kvserver/cmd/kvhot/quote"
)

// timeFormat is RFC 3339 in UTC with milliseconds, which sorts as text.
const timeFormat = "2006-01-02T15:04:05.000Z07:00"

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeFormat)
}

// number is a JSON number that may be unknown: nil then.
func number(n float64) *float64 {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return nil
	}
	return &n
}

// cell is a number in CSV.
func cell(n float64) string {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return ""
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

// jsonKey is the identity of a key.
type jsonKey struct {
	Key       string `json:"key"`
	KeyBase64 string `json:"key_base64,omitempty"`
	DB        int    `json:"db"`
}

func keyOf(name string, db int) jsonKey {
	text, raw := quote.JSON(name)
	return jsonKey{text, raw, db}
}

// jsonEntry is a hot key's numbers, per second unless the name says otherwise.
type jsonEntry struct {
	jsonKey
	QPS       float64    `json:"qps"`
	Low       *float64   `json:"qps_low,omitempty"`
	High      *float64   `json:"qps_high,omitempty"`
	Reads     *float64   `json:"read_qps,omitempty"`
	Writes    *float64   `json:"write_qps,omitempty"`
	Misses    *float64   `json:"miss_qps,omitempty"`
	Reported  *float64   `json:"reported_qps,omitempty"`
	InBytes   *float64   `json:"in_bytes,omitempty"`
	OutBytes  *float64   `json:"out_bytes,omitempty"`
	CPUMicros *float64   `json:"cpu_usec,omitempty"`
	Share     *float64   `json:"share,omitempty"`
	Samples   *float64   `json:"samples,omitempty"`
	Certain   *float64   `json:"certain,omitempty"`
	Type      string     `json:"type,omitempty"`
	State     string     `json:"state,omitempty"`
	Nodes     []jsonPart `json:"nodes,omitempty"`
}

// jsonPart is what one node has of a key.
type jsonPart struct {
	Node string  `json:"node"`
	QPS  float64 `json:"qps"`
}

func entryOf(e node.Entry) jsonEntry {
	return jsonEntry{jsonKey: keyOf(e.Key, e.DB), QPS: e.QPS, Low: number(e.Low), High: number(e.High), Reads: number(e.Reads),
		Writes: number(e.Writes), Misses: number(e.Misses), Reported: number(e.Reported), InBytes: number(e.InBytes),
		OutBytes: number(e.OutBytes), CPUMicros: number(e.CPUMicros), Share: number(e.Share), Samples: number(e.Samples),
		Certain: number(e.Certain), Type: e.Type}
}

type jsonNode struct {
	Node         string   `json:"node"`
	Error        string   `json:"error,omitempty"`
	Tracking     *bool    `json:"tracking,omitempty"`
	Accesses     *float64 `json:"accesses_per_second,omitempty"`
	Commands     *float64 `json:"commands_per_second,omitempty"`
	Share        *float64 `json:"share,omitempty"`
	TimesAverage *float64 `json:"times_average,omitempty"`
	CPUPercent   *float64 `json:"cpu_percent,omitempty"`
	Samples      *float64 `json:"samples,omitempty"`
	WindowMs     *float64 `json:"window_ms,omitempty"`
	Percentage   *float64 `json:"sampling_percentage,omitempty"`
	Floor        *float64 `json:"floor_qps,omitempty"`
}

type jsonView struct {
	Time     string      `json:"time"`
	Ranking  string      `json:"ranking"`
	Compared string      `json:"nodes_compared_by,omitempty"`
	Nodes    []jsonNode  `json:"nodes"`
	Keys     []jsonEntry `json:"keys"`
}

func nodeOf(n merge.Load) jsonNode {
	if n.Err != nil {
		return jsonNode{Node: n.Address, Error: n.Err.Error()}
	}
	r := n.Report
	j := jsonNode{Node: n.Address, Accesses: number(r.Accesses), Commands: number(r.Commands), Share: number(n.Share),
		TimesAverage: number(n.Times), CPUPercent: number(r.CPU), Samples: number(r.Samples), WindowMs: number(r.WindowMs),
		Percentage: number(r.Percentage), Floor: number(r.Floor)}
	if !math.IsNaN(r.TopK) {
		on := r.TopK > 0
		j.Tracking = &on
	}
	return j
}

// Writer writes one format to one place.
type Writer struct {
	out io.Writer
	csv *csv.Writer // nil: it is JSON
}

// NewJSON returns a writer of JSON lines.
func NewJSON(w io.Writer) *Writer {
	return &Writer{out: w}
}

// object writes a line of JSON. What a terminal would not just show it writes as \uXXXX, which means the same.
func (w *Writer) object(v any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	var line bytes.Buffer
	for _, r := range text.String() {
		if r == '\n' || quote.Printable(r) {
			line.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&line, `\u%04x`, unit)
		}
	}
	_, err := w.out.Write(line.Bytes())
	return err
}

// NewCSV returns a writer of CSV with a head.
func NewCSV(w io.Writer, head []string) *Writer {
	c := csv.NewWriter(w)
	_ = c.Write(head) // an error stays with the writer until Flush
	return &Writer{csv: c}
}

// ViewHead is the head of CSV of views.
var ViewHead = strings.Fields("time rank key db qps qps_low qps_high read_qps write_qps miss_qps reported_qps in_bytes out_bytes cpu_usec share samples certain type state nodes")

// View writes one refresh: an object, or a row for each key.
func (w *Writer) View(v merge.View) error {
	if w.csv == nil {
		j := jsonView{Time: timeText(v.At), Ranking: strings.ToLower(string(v.By)), Compared: string(v.Compared), Nodes: []jsonNode{}, Keys: []jsonEntry{}}
		for _, n := range v.Nodes {
			j.Nodes = append(j.Nodes, nodeOf(n))
		}
		for _, r := range v.Rows {
			e := entryOf(r.Entry)
			e.State = r.State
			for _, p := range r.Parts {
				e.Nodes = append(e.Nodes, jsonPart{v.Nodes[p.Node].Address, p.QPS})
			}
			j.Keys = append(j.Keys, e)
		}
		return w.object(j)
	}
	for i, r := range v.Rows {
		var parts []string
		for _, p := range r.Parts {
			parts = append(parts, fmt.Sprintf("%s=%s", v.Nodes[p.Node].Address, cell(p.QPS)))
		}
		_ = w.csv.Write([]string{timeText(v.At), strconv.Itoa(i + 1), quote.Cell(r.Key), strconv.Itoa(r.DB), cell(r.QPS), cell(r.Low),
			cell(r.High), cell(r.Reads), cell(r.Writes), cell(r.Misses), cell(r.Reported), cell(r.InBytes), cell(r.OutBytes),
			cell(r.CPUMicros), cell(r.Share), cell(r.Samples), cell(r.Certain), quote.Cell(r.Type), quote.Cell(r.State), strings.Join(parts, " ")})
	}
	return w.flush()
}

func (w *Writer) flush() error {
	w.csv.Flush()
	return w.csv.Error()
}

// EventHead is the head of CSV of transitions.
var EventHead = strings.Fields("time node event db demand key current")

type jsonEvent struct {
	Time  string `json:"time,omitempty"`
	Node  string `json:"node"`
	Event string `json:"event"`
	jsonKey
	Demand  *float64 `json:"demand,omitempty"`
	Current bool     `json:"current,omitempty"`
}

// Event writes one transition of a node's controller. current: it was found as it is, not seen as it happened.
func (w *Writer) Event(address string, e node.Event, current bool) error {
	if w.csv == nil {
		return w.object(jsonEvent{timeText(e.At), address, e.Name, keyOf(e.Key, e.DB), number(e.Demand), current})
	}
	_ = w.csv.Write([]string{timeText(e.At), address, quote.Cell(e.Name), strconv.Itoa(e.DB), cell(e.Demand), quote.Cell(e.Key), strconv.FormatBool(current)})
	return w.flush()
}

// WindowHead is the head of CSV of past windows.
var WindowHead = strings.Fields("node begin duration_ms known samples rank key db qps qps_low qps_high read_qps write_qps")

type jsonWindow struct {
	Node       string      `json:"node"`
	Begin      string      `json:"begin"`
	DurationMs float64     `json:"duration_ms"`
	Known      bool        `json:"known"`
	Samples    *float64    `json:"samples,omitempty"`
	Keys       []jsonEntry `json:"keys,omitempty"`
}

// Window writes one past window of a node: an object, or a row for each key. A window without keys, or that is unknown, has
// a row too, since it says something.
func (w *Writer) Window(address string, past node.Window) error {
	ms := float64(past.Duration) / float64(time.Millisecond)
	if w.csv == nil {
		j := jsonWindow{Node: address, Begin: timeText(past.Begin), DurationMs: ms, Known: !past.Discarded, Samples: number(past.Samples)}
		for _, e := range past.Entries {
			j.Keys = append(j.Keys, entryOf(e))
		}
		return w.object(j)
	}
	row := []string{address, timeText(past.Begin), cell(ms), strconv.FormatBool(!past.Discarded), cell(past.Samples)}
	if len(past.Entries) == 0 {
		_ = w.csv.Write(append(row, make([]string, len(WindowHead)-len(row))...))
	}
	for i, e := range past.Entries {
		_ = w.csv.Write(append(row[:len(row):len(row)], strconv.Itoa(i+1), quote.Cell(e.Key), strconv.Itoa(e.DB), cell(e.QPS), cell(e.Low),
			cell(e.High), cell(e.Reads), cell(e.Writes)))
	}
	return w.flush()
}
