package server

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kvserver/config"
)

var rewrite = flag.Bool("rewrite", false, "write the tables of docs/configuration.md anew")

const (
	configPage = "../docs/configuration.md"
	tablesFrom = "<!-- The tables below are written by: go test ./server -run ConfigurationPage -rewrite -->\n"
)

var openRange = regexp.MustCompile(`between (\S+) and 9223372036854775807`)

// TestConfigurationPage: the tables of the manual say what is registered.
func TestConfigurationPage(t *testing.T) {
	r := config.New()
	RegisterParameters(r)
	page, err := os.ReadFile(configPage)
	if err != nil {
		t.Fatal(err)
	}
	text, tables, found := strings.Cut(string(page), tablesFrom)
	if !found {
		t.Fatalf("%s lacks the line %q", configPage, tablesFrom)
	}
	want := configTables(r.Describe())
	if *rewrite {
		if err := os.WriteFile(configPage, []byte(text+tablesFrom+want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if tables != want {
		t.Errorf("%s is not what is registered; run: go test ./server -run ConfigurationPage -rewrite", configPage)
	}
}

func configTables(all []config.Description) string {
	slices.SortFunc(all, func(a, b config.Description) int { return strings.Compare(a.Name, b.Name) })
	var b strings.Builder
	table := func(title, intro string, effect func(d config.Description) string) {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| parameter | type | range | default | at run time | effect here |\n| --- | --- | --- | --- | --- | --- |\n", title, intro)
		for _, d := range all {
			if text := effect(d); text != "" {
				b.WriteString(configRow(d, text))
			}
		}
	}
	table("With an effect", "The name in brackets means the same.", func(d config.Description) string {
		if d.Inert != "" || d.Fixed != "" {
			return ""
		}
		return d.Doc
	})
	table("Refused with any value but the default", "They would promise what there is not.",
		func(d config.Description) string {
			if d.Fixed == "" {
				return ""
			}
			return "only the default: " + d.Fixed
		})
	table("Accepted, without effect", "They make no difference, for the reason given.", func(d config.Description) string {
		if d.Inert == "" {
			return ""
		}
		return "none: " + d.Inert
	})
	return b.String()
}

func configRow(d config.Description, effect string) string {
	name := "`" + d.Name + "`"
	if len(d.Aliases) > 0 {
		name += " (`" + strings.Join(d.Aliases, "`, `") + "`)"
	}
	def := "`" + d.Default + "`"
	switch {
	case d.Name == "dir": // it depends on where the process was started
		def = "where it was started"
	case d.Default == "":
		def = "empty"
	}
	when := "yes"
	switch {
	case d.AtStart:
		when = "no"
	case d.Guarded:
		when = "as `enable-protected-configs` says"
	}
	// An upper limit that is only that of the type says nothing.
	allowed := openRange.ReplaceAllString(d.Allowed, "from $1")
	allowed = strings.TrimSuffix(allowed, ", such as 64mb")
	if strings.Contains(d.Type, "|") {
		allowed = ""
	}
	cell := func(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n", name, cell(d.Type), cell(allowed), cell(def), when, cell(effect))
}
