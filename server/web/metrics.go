package web

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"
)

// What Prometheus is told, in its text format, which every scraper reads. Names and units follow its conventions: base units,
// _total for what only grows.
//
// Hot keys are labels only if metrics-hotkeys is set, since a scraper keeps a series for every key that was ever hot. Then there
// are at most as many as hotkeys-top-k at a time. They pass neither through client_golang's registry nor through its encoder,
// which cost 2 µs a series, 12 ms of a scrape of a thousand keys: appendKeys writes the same in a tenth of that. That no two
// series have the same labels follows from label. Nothing is compressed, for the same reason.

// figure is a metric without labels: its name, whether it only grows, and what it is of a snapshot.
type figure struct {
	name  string
	kind  prometheus.ValueType
	help  string
	value func(*Snapshot) float64
}

const (
	gauge   = prometheus.GaugeValue
	counter = prometheus.CounterValue
)

var nodeFigures = []figure{
	{"connected_clients", gauge, "Connections of clients.", func(s *Snapshot) float64 { return float64(s.Node.Clients) }},
	{"blocked_clients", gauge, "Clients that wait in a blocking command or in a pause.", func(s *Snapshot) float64 { return float64(s.Node.BlockedClients) }},
	{"connections_received_total", counter, "Connections accepted.", func(s *Snapshot) float64 { return float64(s.Node.Connections) }},
	{"connections_rejected_total", counter, "Connections refused because of maxclients.", func(s *Snapshot) float64 { return float64(s.Node.Rejected) }},
	{"received_bytes_total", counter, "Bytes of the requests that were run.", func(s *Snapshot) float64 { return float64(s.Node.InBytes) }},
	{"sent_bytes_total", counter, "Bytes of the replies.", func(s *Snapshot) float64 { return float64(s.Node.OutBytes) }},
	{"keyspace_hits_total", counter, "Lookups of keys that were there.", func(s *Snapshot) float64 { return float64(s.Node.Hits) }},
	{"keyspace_misses_total", counter, "Lookups of keys that were not there.", func(s *Snapshot) float64 { return float64(s.Node.Misses) }},
	{"expired_keys_total", counter, "Keys removed because their time was over.", func(s *Snapshot) float64 { return float64(s.Node.Expired) }},
	{"evicted_keys_total", counter, "Keys removed to keep within maxmemory.", func(s *Snapshot) float64 { return float64(s.Node.Evicted) }},
	{"error_replies_total", counter, "Replies that were errors.", func(s *Snapshot) float64 { return float64(s.Node.Errors) }},
	{"memory_used_bytes", gauge, "Memory in use, used_memory of INFO.", func(s *Snapshot) float64 { return float64(s.Node.MemoryUsed) }},
	{"memory_max_bytes", gauge, "The limit maxmemory, 0 if there is none.", func(s *Snapshot) float64 { return float64(s.Node.MemoryMax) }},
	{"start_time_seconds", gauge, "When the server started, Unix time.", func(s *Snapshot) float64 { return float64(s.Node.Started.UnixMilli()) / 1e3 }},
}

var hotkeysFigures = []figure{
	{"hotkeys_sampling_ratio", gauge, "Share of accesses that is recorded, 0 while tracking is off.", func(s *Snapshot) float64 {
		if !s.Tracking.On {
			return 0
		}
		return float64(s.Tracking.Percentage) / 100
	}},
	{"hotkeys_tracked_counters", gauge, "Keys that have a counter in the live window.", func(s *Snapshot) float64 { return float64(s.Tracking.Counters) }},
	{"hotkeys_memory_bytes", gauge, "Memory that tracking holds.", func(s *Snapshot) float64 { return float64(s.Tracking.MemoryBytes) }},
	{"hotkeys_window_duration_seconds", gauge, "Length of the last completed window, 0 if there is none.", func(s *Snapshot) float64 { return s.Window.Length.Seconds() }},
	{"hotkeys_window_samples", gauge, "Accesses recorded in the last completed window.", func(s *Snapshot) float64 { return float64(s.Window.Samples) }},
	{"hotkeys_window_accesses_per_second", gauge, "Estimated accesses per second of all keys in the last completed window.", func(s *Snapshot) float64 { return s.Window.Rate }},
	{"hotkeys_detection_floor_accesses_per_second", gauge, "Accesses per second above which a key is tracked for certain.", func(s *Snapshot) float64 { return s.Window.Floor }},
	{"hotkeys_windows_completed_total", counter, "Windows completed.", func(s *Snapshot) float64 { return float64(s.Tracking.Completed) }},
	{"hotkeys_windows_discarded_total", counter, "Windows discarded: what happened in them is not known.", func(s *Snapshot) float64 { return float64(s.Tracking.Discarded) }},
	{"hotkeys_promotions_total", counter, "Keys that became hot.", func(s *Snapshot) float64 { return float64(s.Control.Promotions) }},
	{"hotkeys_aborted_warmups_total", counter, "Keys that were warming and did not become hot.", func(s *Snapshot) float64 { return float64(s.Control.Aborted) }},
	{"hotkeys_demotions_total", counter, "Keys that ceased to be hot.", func(s *Snapshot) float64 { return float64(s.Control.Demotions) }},
	{"hotkeys_emergency_trips_total", counter, "Promotions by a safety limit.", func(s *Snapshot) float64 { return float64(s.Control.Emergencies) }},
	{"hotkeys_false_promotions_total", counter, "Keys demoted at the first opportunity.", func(s *Snapshot) float64 { return float64(s.Control.FalsePromotions) }},
	{"hotkeys_hot_seconds_total", counter, "Time that keys were hot, of all keys together.", func(s *Snapshot) float64 { return s.Control.HotTime.Seconds() }},
}

var (
	buildDesc    = prometheus.NewDesc("kvserver_build_info", "The server's version; the value is 1.", []string{"version"}, nil)
	statesDesc   = prometheus.NewDesc("kvserver_hotkeys_state_keys", "Keys that the controller has in a state.", []string{"state"}, nil)
	keysDesc     = prometheus.NewDesc("kvserver_database_keys", "Keys of a database.", []string{"db"}, nil)
	volatileDesc = prometheus.NewDesc("kvserver_database_expiring_keys", "Keys of a database that expire.", []string{"db"}, nil)
	callsDesc    = prometheus.NewDesc("kvserver_commands_total", "Calls of a command.", []string{"command"}, nil)
	tookDesc     = prometheus.NewDesc("kvserver_commands_duration_seconds_total", "Time that calls of a command took.", []string{"command"}, nil)
	rejectedDesc = prometheus.NewDesc("kvserver_commands_rejected_total", "Calls of a command that were refused before they ran.", []string{"command"}, nil)
	failedDesc   = prometheus.NewDesc("kvserver_commands_failed_total", "Calls of a command that ran and were answered with an error.", []string{"command"}, nil)
)

// fixed collects all but hot keys from one snapshot.
type fixed struct {
	snapshot func() (*Snapshot, error)
	descs    map[string]*prometheus.Desc // of figures, by name
}

func newFixed(snapshot func() (*Snapshot, error)) *fixed {
	f := &fixed{snapshot: snapshot, descs: make(map[string]*prometheus.Desc)}
	for _, list := range [][]figure{nodeFigures, hotkeysFigures} {
		for _, fig := range list {
			f.descs[fig.name] = prometheus.NewDesc("kvserver_"+fig.name, fig.help, nil, nil)
		}
	}
	return f
}

// Describe is of prometheus.Collector.
func (f *fixed) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range f.descs {
		ch <- d
	}
	for _, d := range []*prometheus.Desc{buildDesc, statesDesc, keysDesc, volatileDesc, callsDesc, tookDesc, rejectedDesc, failedDesc} {
		ch <- d
	}
}

// Collect is of prometheus.Collector. Without a snapshot the scrape fails: zeros would be wrong.
func (f *fixed) Collect(ch chan<- prometheus.Metric) {
	snap, err := f.snapshot()
	if err != nil {
		ch <- prometheus.NewInvalidMetric(buildDesc, err)
		return
	}
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	for _, list := range [][]figure{nodeFigures, hotkeysFigures} {
		for _, fig := range list {
			send(f.descs[fig.name], fig.kind, fig.value(snap))
		}
	}
	send(buildDesc, gauge, 1, snap.Node.Version)
	send(statesDesc, gauge, float64(snap.Control.Warming), "warming")
	send(statesDesc, gauge, float64(snap.Control.Hot), "hot")
	for _, db := range snap.Node.Databases {
		index := strconv.Itoa(db.Index)
		send(keysDesc, gauge, float64(db.Keys), index)
		send(volatileDesc, gauge, float64(db.Volatile), index)
	}
	for _, c := range snap.Commands {
		send(callsDesc, counter, float64(c.Calls), c.Name)
		send(tookDesc, counter, c.Took.Seconds(), c.Name)
		send(rejectedDesc, counter, float64(c.Rejected), c.Name)
		send(failedDesc, counter, float64(c.Failed), c.Name)
	}
}

// keyFigures are the gauges that each hot key has, those that are measured only if they were, in the order of their names.
var keyFigures = []struct {
	name     string
	measured bool
	help     string
	value    func(*Key) float64
}{
	{"kvserver_hotkey_accesses_high_per_second", false, "Upper bound of the accesses per second of a hot key.", func(k *Key) float64 { return k.High }},
	{"kvserver_hotkey_accesses_low_per_second", false, "Lower bound of the accesses per second of a hot key.", func(k *Key) float64 { return k.Low }},
	{"kvserver_hotkey_accesses_per_second", false, "Estimated accesses per second of a hot key in the last completed window.", func(k *Key) float64 { return k.Rate }},
	{"kvserver_hotkey_cpu_seconds_per_second", true, "Processor time that a hot key costs, in seconds per second.", func(k *Key) float64 { return k.CPU / 1e6 }},
	{"kvserver_hotkey_network_bytes_per_second", true, "Bytes per second of requests and replies about a hot key.", func(k *Key) float64 { return k.InBytes + k.OutBytes }},
	{"kvserver_hotkey_writes_per_second", false, "Estimated accesses per second of a hot key that may change it.", func(k *Key) float64 { return k.Writes }},
}

// appendKeys appends the metrics of hot keys in Prometheus's text format.
func appendKeys(text []byte, keys []Key) []byte {
	var labels []byte // of all keys, one after the other
	ends := make([]int, len(keys))
	for i := range keys {
		labels = append(labels, `{db="`...)
		labels = strconv.AppendInt(labels, int64(keys[i].DB), 10)
		labels = append(labels, `",key="`...)
		labels = append(labels, labelEscapes.Replace(label(&keys[i]))...)
		labels = append(labels, `"} `...)
		ends[i] = len(labels)
	}
	for _, fig := range keyFigures {
		told := false
		for i, begin := 0, 0; i < len(keys); i, begin = i+1, ends[i] {
			if fig.measured && !keys[i].Measured {
				continue
			}
			if !told {
				told = true
				text = fmt.Appendf(text, "# HELP %s %s\n# TYPE %s gauge\n", fig.name, fig.help, fig.name)
			}
			text = append(text, fig.name...)
			text = append(text, labels[begin:ends[i]]...)
			text = strconv.AppendFloat(text, fig.value(&keys[i]), 'g', -1, 64)
			text = append(text, '\n')
		}
	}
	return text
}

// labelEscapes are those of values of labels. There is no end of line in what is displayed.
var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// metrics is /metrics.
func (s *Server) metrics() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newFixed(func() (*Snapshot, error) { return s.snapshot(false) }),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	buffers := sync.Pool{New: func() any { return new(bytes.Buffer) }}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		buffer := buffers.Get().(*bytes.Buffer)
		defer buffers.Put(buffer)
		buffer.Reset()
		if err := s.writeMetrics(buffer, registry); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", string(metricsFormat))
		_, _ = w.Write(buffer.Bytes()) // to a client that may be gone
	})
}

var metricsFormat = expfmt.NewFormat(expfmt.TypeTextPlain)

func (s *Server) writeMetrics(buffer *bytes.Buffer, registry *prometheus.Registry) error {
	families, err := registry.Gather()
	if err != nil {
		return err
	}
	encoder := expfmt.NewEncoder(buffer, metricsFormat)
	for _, family := range families {
		if err := encoder.Encode(family); err != nil {
			return err
		}
	}
	if !s.options.LabelKeys() {
		return nil
	}
	snap, err := s.snapshot(false)
	if err != nil {
		return err
	}
	buffer.Write(appendKeys(buffer.AvailableBuffer(), snap.Keys[ByAccesses]))
	return nil
}
