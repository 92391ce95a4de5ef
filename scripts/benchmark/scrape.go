//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

const (
	scrapedKeys  = 1000
	scrapeMaxMs  = 5
	scrapesQuick = 5
	scrapes      = 20
	scrapeEvery  = 700 * time.Millisecond // the server keeps what it tells for half a second
)

// scrapes measures how long it takes to get the metrics with a thousand hot keys among them.
func (b *bench) scrapes(s *server, url string) error {
	count := scrapes
	if b.quick {
		count = scrapesQuick
	}
	w := workload{command: "GET", keys: throughputKeys, nameBytes: nameBytesMin, clients: loadClients, depth: 1}
	g, err := newGenerator(s.address, w, 1)
	if err != nil {
		return err
	}
	defer g.close()
	tracked := settings{"hotkeys-top-k", strconv.Itoa(scrapedKeys), "hotkeys-sampling-percentage", "100",
		"hotkeys-window-seconds", "1", "hotkeys-measures", "yes"}
	if err := s.apply(tracked); err != nil {
		return err
	}
	const untilReported = 2500 * time.Millisecond
	if _, err := g.run(untilReported); err != nil {
		return err
	}
	ended := make(chan error)
	go func() {
		_, err := g.run(time.Duration(count) * scrapeEvery)
		ended <- err
	}()
	busy, err := scrapeTimes(url, count)
	if err := errors.Join(<-ended, err); err != nil {
		return err
	}
	// The window last completed stays the last while the next is this long.
	if err := s.configure("hotkeys-window-seconds", "300"); err != nil {
		return err
	}
	before, err := s.cpuTime()
	if err != nil {
		return err
	}
	quiet, err := scrapeTimes(url, count)
	if err != nil {
		return err
	}
	after, err := s.cpuTime()
	if err != nil {
		return err
	}
	cpuMs := (after - before).Seconds() * 1000 / float64(count)
	b.report.add(table{
		title:  fmt.Sprintf("A scrape of /metrics with %d hot keys: %d scrapes, %v apart", scrapedKeys, count, scrapeEvery),
		header: []string{"", "ms: median (lowest–highest)", "ms of the server's processor", "target", ""},
		rows: [][]string{
			{"quiet server", withRange(spreadOf(quiet), "%.2f"), fmt.Sprintf("%.2f", cpuMs), fmt.Sprintf("≤ %d", scrapeMaxMs), verdict(median(quiet), scrapeMaxMs)},
			{"its core busy with GET", withRange(spreadOf(busy), "%.2f"), "", "", ""},
		},
		remarks: []string{"Each looks at the server's data anew."},
	})
	for i := range quiet {
		b.report.figure("evidence", "scrape", "quiet", i, "ms", quiet[i])
		b.report.figure("evidence", "scrape", "busy", i, "ms", busy[i])
	}
	return nil
}

var keyLabel = regexp.MustCompile(`[{,]key="((?:[^"\\]|\\.)*)"`)

// scrapeTimes gets the metrics several times over one connection and returns the milliseconds that each took.
func scrapeTimes(url string, count int) ([]float64, error) {
	var took []float64
	for range count {
		begin := time.Now()
		answer, err := http.Get(url)
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			return nil, err
		}
		if answer.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("get %s: %s", url, answer.Status)
		}
		took = append(took, float64(time.Since(begin).Microseconds())/1000)
		named := map[string]bool{}
		for _, match := range keyLabel.FindAllSubmatch(text, -1) {
			named[string(match[1])] = true
		}
		if len(named) != scrapedKeys {
			return nil, fmt.Errorf("%s names %d hot keys, not %d", url, len(named), scrapedKeys)
		}
		time.Sleep(scrapeEvery - time.Since(begin))
	}
	return took, nil
}
