package info

import (
	"math"
	"strings"
	"testing"
)

func sample() *Registry {
	r := new(Registry)
	r.Add("Server", Default, func(w *Writer) { w.Str("redis_version", "7.2.4") })
	r.Add("CPU", Default, func(w *Writer) { w.Float("used_cpu_sys", 1.5, 6) })
	r.Add("Commandstats", All, func(w *Writer) {
		w.Begin("cmdstat_", "config|get")
		w.PartInt("calls", 2)
		w.PartFloat("usec_per_call", 0.5, 2)
		w.End()
	})
	r.Add("Modules", Everything, func(*Writer) {})
	return r
}

const (
	server  = "# Server\r\nredis_version:7.2.4\r\n"
	cpu     = "# CPU\r\nused_cpu_sys:1.500000\r\n"
	stats   = "# Commandstats\r\ncmdstat_config|get:calls=2,usec_per_call=0.50\r\n"
	modules = "# Modules\r\n"
)

func TestRenderSelectsSections(t *testing.T) {
	for _, c := range []struct {
		ask  string
		want []string
	}{
		{"", []string{server, cpu}},
		{"default", []string{server, cpu}},
		{"ALL", []string{server, cpu, stats}},
		{"everything", []string{server, cpu, stats, modules}},
		{"modules", []string{modules}},
		{"Cpu server cpu", []string{server, cpu}},
		{"modules default", []string{server, cpu, modules}},
		{"default everything all", []string{server, cpu, stats, modules}},
		{"nosuch", nil},
		{"nosuch commandstats", []string{stats}},
	} {
		got := string(sample().Render(nil, strings.Fields(c.ask)))
		if want := strings.Join(c.want, "\r\n"); got != want {
			t.Errorf("INFO %s = %q, want %q", c.ask, got, want)
		}
	}
}

func TestRenderAppends(t *testing.T) {
	got := string(sample().Render([]byte("before"), []string{"modules"}))
	if want := "before" + modules; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRenderOfNothing(t *testing.T) {
	if got := new(Registry).Render(nil, nil); len(got) != 0 {
		t.Errorf("got %q", got)
	}
}

func TestAddRefusesMistakes(t *testing.T) {
	for _, name := range []string{"SERVER", "default", "All", "everything"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Add(%q) did not panic", name)
				}
			}()
			sample().Add(name, Default, func(*Writer) {})
		}()
	}
}

func TestFields(t *testing.T) {
	for _, c := range []struct {
		write func(w *Writer)
		want  string
	}{
		{func(w *Writer) { w.Int("a", math.MinInt64) }, "a:-9223372036854775808"},
		{func(w *Writer) { w.Uint("a", math.MaxUint64) }, "a:18446744073709551615"},
		{func(w *Writer) { w.Bool("a", true) }, "a:1"},
		{func(w *Writer) { w.Bool("a", false) }, "a:0"},
		{func(w *Writer) { w.Float("a", 2.0/3, 2) }, "a:0.67"},
		{func(w *Writer) { w.Percent("a", 12.5, 2) }, "a:12.50%"},
		{func(w *Writer) { w.Str("a", "") }, "a:"},
		{func(w *Writer) { w.Str("a", "x\r\n# Forged:1") }, "a:x  # Forged:1"},
		{func(w *Writer) { w.Human("a", 0) }, "a:0B"},
		{func(w *Writer) { w.Human("a", 1023) }, "a:1023B"},
		{func(w *Writer) { w.Human("a", 1024) }, "a:1.00K"},
		{func(w *Writer) { w.Human("a", 1<<20-1) }, "a:1024.00K"},
		{func(w *Writer) { w.Human("a", 1<<20) }, "a:1.00M"},
		{func(w *Writer) { w.Human("a", 3<<29) }, "a:1.50G"},
		{func(w *Writer) { w.Human("a", 5<<40) }, "a:5.00T"},
		{func(w *Writer) { w.Human("a", math.MaxInt64) }, "a:8192.00P"},
		{func(w *Writer) { w.Begin("errorstat_", "A:#\r\nB"); w.PartInt("count", 1); w.End() }, "errorstat_A____B:count=1"},
	} {
		var w Writer
		c.write(&w)
		if got := string(w.buf); got != c.want+"\r\n" {
			t.Errorf("got %q, want %q", got, c.want+"\r\n")
		}
	}
}

func TestRenderWithoutNamesAllocatesLittle(t *testing.T) {
	r := sample()
	dst := make([]byte, 0, 1024)
	got := testing.AllocsPerRun(100, func() { r.Render(dst, nil) })
	if got > 2 { // the marks of wanted sections and the Writer
		t.Errorf("%v allocations", got)
	}
}
