//go:build linux

package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// report collects the tables and the raw figures of a run. Tables go to standard output as soon as a part is done and
// to the Markdown file; every single figure goes to the CSV, one a line, so that a table can be checked from it.
type report struct {
	echo     io.Writer
	markdown strings.Builder
	figures  [][]string
}

// table is one Markdown table: what it shows, the columns, the rows, and remarks below it.
type table struct {
	title   string
	header  []string
	rows    [][]string
	remarks []string
}

func (r *report) add(t table) {
	var text strings.Builder
	fmt.Fprintf(&text, "\n### %s\n\n| %s |\n|%s\n", t.title, strings.Join(t.header, " | "),
		strings.Repeat(" --- |", len(t.header)))
	for _, row := range t.rows {
		fmt.Fprintf(&text, "| %s |\n", strings.Join(row, " | "))
	}
	for _, remark := range t.remarks {
		fmt.Fprintf(&text, "\n%s\n", remark)
	}
	r.write(text.String())
}

// verbatim adds the output of another program.
func (r *report) verbatim(title, command, output string) {
	r.write(fmt.Sprintf("\n### %s\n\n`%s`\n\n```\n%s\n```\n", title, command, strings.TrimRight(output, "\n")))
}

func (r *report) write(text string) {
	r.markdown.WriteString(text)
	io.WriteString(r.echo, text)
}

// figure records one measured value. Round counts from 0; -1: not of a round.
func (r *report) figure(part, name, server string, round int, metric string, value float64) {
	r.figures = append(r.figures, []string{part, name, server, strconv.Itoa(round), metric,
		strconv.FormatFloat(value, 'g', -1, 64)})
}

// save writes <dir>/<stem>.md and .csv.
func (r *report) save(dir, stem string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	base := filepath.Join(dir, stem)
	if err := os.WriteFile(base+".md", []byte(r.markdown.String()), 0o644); err != nil {
		return err
	}
	file, err := os.Create(base + ".csv")
	if err != nil {
		return err
	}
	writer := csv.NewWriter(file)
	writer.Write([]string{"part", "case", "server", "round", "metric", "value"})
	if err := writer.WriteAll(r.figures); err != nil {
		file.Close()
		return err
	}
	fmt.Fprintf(r.echo, "\nWritten: %s.md, %s.csv\n", base, base)
	return file.Close()
}

// verdict says how a measured value stands to its target, where less is better.
func verdict(value, target float64) string {
	if value <= target {
		return "met"
	}
	return "missed"
}

// verdictOn is verdict for a value with an interval that it may as well have.
func verdictOn(value spread, target float64) string {
	judged := verdict(value.median, target)
	if value.low <= target && target < value.high {
		judged += ", not certain"
	}
	return judged
}

func withRange(s spread, format string) string {
	return fmt.Sprintf(format+" ("+format+"–"+format+")", s.median, s.low, s.high)
}
