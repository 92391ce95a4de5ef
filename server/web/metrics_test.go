package web

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// TestMetricsLint: Prometheus's own linter has nothing to say about the names.
func TestMetricsLint(t *testing.T) {
	f := sample(20)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(newFixed(func() (*Snapshot, error) { return f.options().Snapshot(false) }))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(append(families, keyFamilies(f.snap.Keys[ByAccesses])...)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestMetricsOfKeys: what does not pass through the registry is what would pass it. Every key has its own series.
func TestMetricsOfKeys(t *testing.T) {
	f := sample(40)
	keys := f.snap.Keys[ByAccesses]
	long := strings.Repeat("long", 200)
	for i := range 2 {
		keys[i].Name, keys[i].Length = long[:NameBytesMax], len(long)+i
	}
	keys[3].Measured = false
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
		for _, m := range family.Metric {
			if id := m.String()[:strings.Index(m.String(), "gauge")]; seen[id] {
				t.Errorf("%s: twice %s", fig.name, id)
			} else {
				seen[id] = true
			}
		}
	}
	names := regexp.MustCompile(`(?m)^# TYPE (\S+)`).FindAllStringSubmatch(body, -1)
	for i := range names[1:] {
		if names[i+1][1] <= names[i][1] {
			t.Errorf("%s stands after %s", names[i+1][1], names[i][1])
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
