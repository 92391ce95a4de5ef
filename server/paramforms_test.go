package server

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParameterForms(t *testing.T) {
	const refused = "\x00"
	for name, test := range map[string]struct {
		check  func(string) (string, error)
		values [][2]string // given, canonical
	}{
		"hertz": {hertz, [][2]string{{"10", "10"}, {"0", "1"}, {"1000", "500"}, {"-1", refused}, {"x", refused}, {"07", refused}, {"2147483648", refused}}},
		"title": {titleTemplate, [][2]string{{"{title} x {port}", "{title} x {port}"}, {"plain", "plain"}, {"{bad}", refused}, {"{title", refused}, {"", refused}}},
		"adj":   {oomScoreAdj, [][2]string{{"NO", "no"}, {"relative", "yes"}, {"absolute", "absolute"}, {"maybe", refused}, {"", refused}}},
		"scores": {oomScores, [][2]string{{"0 200 800", "0 200 800"}, {" -2000  0 2000 ", "-2000 0 2000"}, {"1 2", refused}, {"0 0 2001", refused},
			{"a b c", refused}}},
		"events": {eventClasses, [][2]string{{"", ""}, {"Kg", "gK"}, {"AKE", "AKE"}, {"xK$E$", "$xKE"}, {"KxeEtdghszl$", "AKE"}, {"KnmA", "AnKm"}, {"q", refused}}},
		"shutdown": {shutdownOptions, [][2]string{{"default", "default"}, {"FORCE now now", "now force"}, {"nosave default", "nosave"}, {"save", refused},
			{"save nosave", refused}, {"", refused}, {"later", refused}}},
		"file": {fileNameOf("x"), [][2]string{{"dump.rdb", "dump.rdb"}, {"", ""}, {"a/b", refused}}},
		"host": {hostName, [][2]string{{"a-b.Z9", "a-b.Z9"}, {"", ""}, {"a_b", refused}, {strings.Repeat("a", 255), strings.Repeat("a", 255)},
			{strings.Repeat("a", 256), refused}}},
		"master":  {noMaster, [][2]string{{"", ""}, {"No  ONE", ""}, {"10.0.0.1 6379", "10.0.0.1 6379"}}},
		"percent": {sizeOrPercent, [][2]string{{"5%", "5%"}, {"1mb", "1048576"}, {"101%", refused}, {"-5", refused}, {"%", refused}, {"", refused}}},
		"tls":     {canonicalTLSProtocols, [][2]string{{"", ""}, {"tlsv1.3  TLSv1.2", "TLSv1.2 TLSv1.3"}, {"TLSv1.3", "TLSv1.3"}, {"TLSv1.1", refused}}},
	} {
		for _, v := range test.values {
			got, err := test.check(v[0])
			switch {
			case v[1] == refused && err == nil:
				t.Errorf("%s: %q was taken as %q", name, v[0], got)
			case v[1] != refused && (err != nil || got != v[1]):
				t.Errorf("%s: %q gave %q, %v, want %q", name, v[0], got, err, v[1])
			}
		}
	}
}

// FuzzParameterForms: what a form makes of a value it takes again, unchanged: CONFIG REWRITE writes it.
func FuzzParameterForms(f *testing.F) {
	for _, seed := range []string{"", "10", "{title}", "{title", "relative", "0 200 800", "AKE", "now force", "a/b", "a.b", "no one", "5%", "1gb", "TLSv1.3"} {
		f.Add(seed)
	}
	forms := []func(string) (string, error){hertz, titleTemplate, oomScoreAdj, oomScores, eventClasses, shutdownOptions, fileNameOf("x"),
		hostName, noMaster, sizeOrPercent, canonicalTLSProtocols, canonicalOutputLimits, canonicalPercentiles}
	f.Fuzz(func(t *testing.T, v string) {
		for i, form := range forms {
			once, err := form(v)
			if err != nil {
				if !utf8.ValidString(err.Error()) && utf8.ValidString(v) {
					t.Errorf("form %d: %q", i, err)
				}
				continue
			}
			if again, err := form(once); err != nil || again != once {
				t.Errorf("form %d: %q gave %q, and that %q, %v", i, v, once, again, err)
			}
		}
	})
}
