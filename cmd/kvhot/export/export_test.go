package export

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kvserver/cmd/kvhot/merge"
	"kvserver/cmd/kvhot/node"
	"kvserver/cmd/kvhot/quote"
)

var at = time.Date(2026, 5, 1, 12, 0, 0, 250e6, time.UTC)

func view() merge.View {
	nan := math.NaN()
	full := node.Entry{Key: "user:\xff", DB: 1, QPS: 100, Low: 90, High: 110, Reads: 75, Writes: 25, Misses: 0, InBytes: 1000, OutBytes: 2000,
		CPUMicros: 300, Share: 0.5, Samples: 10, Certain: 1, Reported: 0, Type: "hash"}
	return merge.Of(at, node.ByAll, []merge.Result{
		{Address: "a:1", Report: node.Report{TopK: 16, Accesses: 200, Commands: 190, CPU: 12.5, Samples: 20, WindowMs: 1000, Percentage: 10, Floor: 30,
			Entries: []node.Entry{full, node.Unknown("=1+1", 0, 2)}, States: []node.State{{Key: "user:\xff", DB: 1, State: "hot"}}}},
		{Address: "b:1", Report: node.Report{TopK: nan, Accesses: nan, Commands: 10, CPU: nan, Samples: nan, WindowMs: nan, Percentage: nan, Floor: nan}},
		{Address: "c:1", Err: errors.New("connection refused")},
	}, 0)
}

func TestJSON(t *testing.T) {
	var b strings.Builder
	w := NewJSON(&b)
	if err := errors.Join(w.View(view()),
		w.Event("a:1", node.Event{At: at, Name: "hot", Key: "k<1>", DB: 2, Demand: 4600.5}, false),
		w.Event("a:1", node.Event{Name: "normal", Key: "k", Demand: math.NaN()}, true),
		w.Window("a:1", node.Window{Begin: at, Duration: time.Second, Samples: 20, Entries: []node.Entry{node.Unknown("k", 0, 7)}}),
		w.Window("a:1", node.Window{Begin: at, Duration: 3 * time.Second, Samples: math.NaN(), Discarded: true}),
	); err != nil {
		t.Fatal(err)
	}
	want := `{"time":"2026-05-01T12:00:00.250Z","ranking":"all","nodes_compared_by":"commands","nodes":[` +
		`{"node":"a:1","tracking":true,"accesses_per_second":200,"commands_per_second":190,"share":0.95,"times_average":1.9,"cpu_percent":12.5,` +
		`"samples":20,"window_ms":1000,"sampling_percentage":10,"floor_qps":30},` +
		`{"node":"b:1","commands_per_second":10,"share":0.05,"times_average":0.1},{"node":"c:1","error":"connection refused"}],"keys":[` +
		`{"key":"user:\\xff","key_base64":"dXNlcjr/","db":1,"qps":100,"qps_low":90,"qps_high":110,"read_qps":75,"write_qps":25,"miss_qps":0,` +
		`"reported_qps":0,"in_bytes":1000,"out_bytes":2000,"cpu_usec":300,"samples":10,"certain":1,"type":"hash","state":"hot","nodes":[{"node":"a:1","qps":100}]},` +
		`{"key":"=1+1","db":0,"qps":2,"nodes":[{"node":"a:1","qps":2}]}]}
{"time":"2026-05-01T12:00:00.250Z","node":"a:1","event":"hot","key":"k<1>","db":2,"demand":4600.5}
{"node":"a:1","event":"normal","key":"k","db":0,"current":true}
{"node":"a:1","begin":"2026-05-01T12:00:00.250Z","duration_ms":1000,"known":true,"samples":20,"keys":[{"key":"k","db":0,"qps":7}]}
{"node":"a:1","begin":"2026-05-01T12:00:00.250Z","duration_ms":3000,"known":false}
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// TestWhatIsSeen: text from servers does nothing to a terminal in either format, and JSON still means the same.
func TestWhatIsSeen(t *testing.T) {
	for _, c := range []string{"\u009b31m", "\u202e", "\x7f", "\ufe0f", "\U000e0101", "\x1b[2J"} {
		v := merge.Of(at, node.ByAll, []merge.Result{{Address: "a:1", Report: node.Report{
			Entries: []node.Entry{node.Unknown("k"+c, 0, 1)}, States: []node.State{{Key: "k" + c, State: "=hot" + c}}}}}, 0)
		var asJSON, asCSV strings.Builder
		if err := errors.Join(NewJSON(&asJSON).View(v), NewCSV(&asCSV, ViewHead).View(v)); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{asJSON.String(), asCSV.String()} {
			if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !quote.Printable(r) }); i >= 0 || strings.Contains(text, ",=") {
				t.Errorf("%q", text)
			}
		}
		var read jsonView
		if err := json.Unmarshal([]byte(asJSON.String()), &read); err != nil || read.Keys[0].Key != "k"+c || read.Keys[0].State != "=hot"+c {
			t.Errorf("%s is read as %+v, %v", asJSON.String(), read, err)
		}
	}
}

func TestCSV(t *testing.T) {
	var b strings.Builder
	if err := NewCSV(&b, ViewHead).View(view()); err != nil {
		t.Fatal(err)
	}
	w := NewCSV(&b, EventHead)
	if err := w.Event("a:1", node.Event{At: at, Name: "hot", Key: "a,\"b\"\n", DB: 2, Demand: 4600.5}, false); err != nil {
		t.Fatal(err)
	}
	w = NewCSV(&b, WindowHead)
	if err := errors.Join(
		w.Window("a:1", node.Window{Begin: at, Duration: time.Second, Samples: 20, Entries: []node.Entry{node.Unknown("k", 0, 7)}}),
		w.Window("a:1", node.Window{Begin: at, Duration: 1500 * time.Microsecond, Samples: 0}),
		w.Window("a:1", node.Window{Begin: at, Duration: 3 * time.Second, Samples: math.NaN(), Discarded: true}),
	); err != nil {
		t.Fatal(err)
	}
	want := `time,rank,key,db,qps,qps_low,qps_high,read_qps,write_qps,miss_qps,reported_qps,in_bytes,out_bytes,cpu_usec,share,samples,certain,type,state,nodes
2026-05-01T12:00:00.250Z,1,user:\xff,1,100,90,110,75,25,0,0,1000,2000,300,,10,1,hash,hot,a:1=100
2026-05-01T12:00:00.250Z,2,\x3d1+1,0,2,,,,,,,,,,,,,,,a:1=2
time,node,event,db,demand,key,current
2026-05-01T12:00:00.250Z,a:1,hot,2,4600.5,"a,\""b\""\n",false
node,begin,duration_ms,known,samples,rank,key,db,qps,qps_low,qps_high,read_qps,write_qps
a:1,2026-05-01T12:00:00.250Z,1000,true,20,1,k,0,7,,,,
a:1,2026-05-01T12:00:00.250Z,1.5,true,0,,,,,,,,
a:1,2026-05-01T12:00:00.250Z,3000,false,,,,,,,,,
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// TestAnyKey: whatever a key and its numbers are, what is written can be read.
func TestAnyKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := node.Unknown(string(rapid.SliceOf(rapid.Byte()).Draw(t, "key")), 0, rapid.Float64().Draw(t, "qps"))
		e.Low = rapid.Float64().Draw(t, "low")
		v := merge.Of(at, node.ByAll, []merge.Result{{Address: "a:1", Report: node.Report{Entries: []node.Entry{e}}}}, 0)
		var lines, cells strings.Builder
		if err := NewJSON(&lines).View(v); err != nil {
			t.Fatal(err)
		}
		if !json.Valid([]byte(lines.String())) || strings.Count(lines.String(), "\n") != 1 {
			t.Fatalf("no line of JSON: %q", lines.String())
		}
		if err := NewCSV(&cells, ViewHead).View(v); err != nil {
			t.Fatal(err)
		}
		if rows, err := csv.NewReader(strings.NewReader(cells.String())).ReadAll(); err != nil || len(rows) != 2 {
			t.Fatalf("%d rows of CSV (%v): %q", len(rows), err, cells.String())
		}
	})
}
