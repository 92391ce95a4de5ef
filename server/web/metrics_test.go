package web

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// TestMetricsLint: Prometheus's own linter has nothing to say about the names.
func TestMetricsLint(t *testing.T) {
	f := sample(20)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(newFixed(func() (*Snapshot, error) { return f.snap, nil }))
	var text bytes.Buffer
	if err := New(f.options()).writeMetrics(&text, registry); err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.New(&text).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestMetricsOfKeys: what does not pass through client_golang's encoder is read by its parser. Every key has its own series.
func TestMetricsOfKeys(t *testing.T) {
	f := sample(40)
	keys := f.snap.Keys[ByAccesses]
	long := strings.Repeat("long", 200)
	for i := range 2 {
		keys[i].Name, keys[i].Length = long[:NameBytesMax], len(long)+i
	}
	keys[3].Measured = false
	const hostile = "\\ \"quoted\" \n\x00 } 1\n# TYPE x gauge"
	keys[7].Name, keys[7].Length = hostile, len(hostile)
	_, address := f.serve(t)
	_, body, h := get(t, address, "/metrics", nil)
	if !strings.HasPrefix(h.Get("Content-Type"), "text/plain") {
		t.Errorf("Content-Type %q", h.Get("Content-Type"))
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, fig := range keyFigures {
		family := families[fig.name]
		want := len(keys)
		if fig.measured {
			want--
		}
		if family == nil || len(family.Metric) != want {
			t.Errorf("%s: %v", fig.name, family)
			continue
		}
		seen := map[string]bool{}
		if at := slices.IndexFunc(family.Metric, func(m *dto.Metric) bool { return m.Label[1].GetValue() == displayed(hostile) }); at < 0 {
			t.Errorf("%s: no %q", fig.name, hostile)
		} else if got, want := family.Metric[at].Gauge.GetValue(), fig.value(&keys[7]); got != want {
			t.Errorf("%s: %v, want %v", fig.name, got, want)
		}
		for _, m := range family.Metric {
			if id := m.String()[:strings.Index(m.String(), "gauge")]; seen[id] {
				t.Errorf("%s: twice %s", fig.name, id)
			} else {
				seen[id] = true
			}
		}
	}
	f.set(func(f *fake) { f.labels = false })
	if _, body, _ := get(t, address, "/metrics", nil); strings.Contains(body, "kvserver_hotkey_") {
		t.Error("names of keys are told though nobody asked for them")
	}
}

// TestGrafana: the dashboard asks for metrics that there are.
func TestGrafana(t *testing.T) {
	text, err := os.ReadFile("../../docs/grafana/kvserver.json")
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(text) {
		t.Fatal("not JSON")
	}
	_, address := sample(9).serve(t)
	_, metrics, _ := get(t, address, "/metrics", nil)
	names := regexp.MustCompile(`\b(kvserver|process)_[a-z_]+`).FindAllString(string(text), -1)
	if len(names) < 20 {
		t.Errorf("%d names of metrics", len(names))
	}
	for _, name := range names {
		if !strings.Contains(metrics, "\n# TYPE "+name+" ") {
			t.Errorf("there is no %s", name)
		}
	}
}
