package store

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestParseDouble(t *testing.T) {
	for text, want := range map[string]float64{
		"0": 0, "-0": math.Copysign(0, -1), "1": 1, "+1": 1, "1.5": 1.5, ".5": .5, "5.": 5, "1e3": 1000, "-1E-3": -0.001,
		"0x10": 16, "0x1p4": 16, "-0X.8": -0.5, "inf": math.Inf(1), "-Infinity": math.Inf(-1), "+iNf": math.Inf(1),
		"9223372036854775807": math.MaxInt64, "0.30000000000000004": 0.30000000000000004, "0e99999": 0,
	} {
		if got, ok := ParseDouble([]byte(text)); !ok || got != want || math.Signbit(got) != math.Signbit(want) {
			t.Errorf("%q is read as %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", " 1", "1 ", "nan", "-nan", "1e", "e1", "--1", "+-1", "0x", "1_0", "1e999", "-1e999", "1e-999", "1\x00", "one"} {
		if got, ok := ParseDouble([]byte(text)); ok {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

func TestAppendDouble(t *testing.T) {
	for want, f := range map[string]float64{
		"0": 0, "-0": math.Copysign(0, -1), "1": 1, "-1": -1, "1.5": 1.5, "0.1": 0.1, "-0.001": -0.001, "inf": math.Inf(1), "-inf": math.Inf(-1),
		"3.0000000000000004": 3.0000000000000004, "100000000000000000": 1e17, "1e+19": 1e19, "1.2345e+30": 1.2345e30, "1e-7": 1e-7, "0.000001": 1e-6,
		"1.2345e-4": 0.00012345, "0.0012345": 0.0012345, "1.2345e-9": 1.2345e-9, "5e-324": 5e-324, "1.7976931348623157e+308": math.MaxFloat64, "123456.789": 123456.789,
	} {
		if got := string(AppendDouble(nil, f)); got != want {
			t.Errorf("%g is printed as %s, want %s", f, got, want)
		}
	}
	for range 10_000 {
		f := math.Float64frombits(rand.Uint64())
		if math.IsNaN(f) {
			continue
		}
		text := string(AppendDouble(nil, f))
		if back, err := strconv.ParseFloat(text, 64); err != nil || back != f {
			t.Fatalf("%g is printed as %s, which reads back as %g", f, text, back)
		}
	}
}
