//go:build linux

package main

import (
	"fmt"
	"net"
	"regexp"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	memoryKeys          = 2_000_000
	memoryKeysQuick     = 200_000
	collectionKeys      = 5_000_000
	collectionKeysQuick = 500_000
	otherValueBytesMax  = 256 // of the burst of overwrites
	idleConnections     = 10_000
	// memoryRest goes between work and a reading of resident memory: allocators give memory back in the background.
	memoryRest = 5 * time.Second
	// A Go process collects at least every two minutes, traffic or not.
	collectionWait = 130 * time.Second

	bytesPerKeyTarget = 150
	idleTarget        = 100e6
	collectionTarget  = 150 * time.Millisecond
)

// footprint is what one server held, in bytes.
type footprint struct {
	perKey, perKeyOverwritten float64
	flushed, idle             float64 // more than after the start
}

// memory reads the resident memory of both servers at the same content, and the length of our full collections.
func (b *bench) memory() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if limit.Max < idleConnections+200 {
		return fmt.Errorf("%d idle connections need as many open files, but the hard limit is %d (ulimit -Hn)",
			idleConnections, limit.Max)
	}
	keys := memoryKeys
	if b.quick {
		keys = memoryKeysQuick
	}
	ours, err := b.footprintOf(b.ours, keys)
	if err != nil {
		return err
	}
	peer, err := b.footprintOf(b.peer, keys)
	if err != nil {
		return err
	}
	const megabyte = 1e6
	row := func(what string, format string, unit, ours, peer, target float64) []string {
		targetText, judged := "", ""
		if target > 0 {
			targetText, judged = fmt.Sprintf("≤ %.0f", target/unit), verdict(ours, target)
		}
		return []string{what, fmt.Sprintf(format, ours/unit), fmt.Sprintf(format, peer/unit), targetText, judged}
	}
	b.report.add(table{
		title:  fmt.Sprintf("Resident memory: %d keys, 16-byte names, 64-byte values", keys),
		header: []string{"", "ours", "peer", "target", ""},
		rows: [][]string{
			row("bytes per key after the fill", "%.1f", 1, ours.perKey, peer.perKey, bytesPerKeyTarget),
			row(fmt.Sprintf("bytes per key after overwrites of 0–%d bytes and back to 64", otherValueBytesMax), "%.1f", 1,
				ours.perKeyOverwritten, peer.perKeyOverwritten, bytesPerKeyTarget),
			row("MB more than at the start after FLUSHALL", "%.1f", megabyte, ours.flushed, peer.flushed, 0),
			row(fmt.Sprintf("MB for %d idle connections, each after a PING", idleConnections), "%.1f", megabyte,
				ours.idle, peer.idle, idleTarget),
		},
		remarks: []string{fmt.Sprintf("Each read %v after the work.", b.rest())},
	})
	return b.collections()
}

func (b *bench) footprintOf(of binary, keys int) (footprint, error) {
	var f footprint
	s, err := of.start(b.serverCPUs)
	if err != nil {
		return f, err
	}
	defer s.stop()
	base, err := s.residentBytes()
	if err != nil {
		return f, err
	}
	fillOf := func(valueBytes int) func() error {
		return func() error { return fill(s, keys, nameBytesMin, valueBytes) }
	}
	if f.perKey, err = b.grown(s, base, fillOf(valueBytes)); err != nil {
		return f, err
	}
	if err := fillOf(-otherValueBytesMax)(); err != nil {
		return f, err
	}
	if f.perKeyOverwritten, err = b.grown(s, base, fillOf(valueBytes)); err != nil {
		return f, err
	}
	f.perKey /= float64(keys)
	f.perKeyOverwritten /= float64(keys)
	flushed, err := b.grown(s, base, func() error {
		_, err := s.control.Do("FLUSHALL")
		return err
	})
	if err != nil {
		return f, err
	}
	f.flushed = flushed
	f.idle, err = b.idleBytes(of)
	for metric, value := range map[string]float64{"bytes per key": f.perKey, "bytes per key, overwritten": f.perKeyOverwritten,
		"bytes after FLUSHALL": f.flushed, "bytes of idle connections": f.idle} {
		b.report.figure("memory", strconv.Itoa(keys)+" keys", of.name, -1, metric, value)
	}
	return f, err
}

// grown does the work, rests, and returns by how much the server's memory exceeds base.
func (b *bench) grown(s *server, base float64, work func() error) (float64, error) {
	if err := work(); err != nil {
		return 0, fmt.Errorf("memory of %s: %w", s.name, err)
	}
	time.Sleep(b.rest())
	now, err := s.residentBytes()
	return now - base, err
}

// rest is memoryRest, or a moment where it is only to be seen that all works.
func (b *bench) rest() time.Duration {
	if b.quick {
		return time.Second
	}
	return memoryRest
}

// idleBytes is what a fresh server needs for clients that have said PING once and then nothing.
func (b *bench) idleBytes(of binary) (float64, error) {
	s, err := of.start(b.serverCPUs)
	if err != nil {
		return 0, err
	}
	defer s.stop()
	base, err := s.residentBytes()
	if err != nil {
		return 0, err
	}
	connections := make([]net.Conn, 0, idleConnections)
	defer func() {
		for _, connection := range connections {
			connection.Close()
		}
	}()
	return b.grown(s, base, func() error {
		answer := make([]byte, len("+PONG\r\n"))
		for range idleConnections {
			connection, err := net.DialTimeout("tcp", s.address, startTimeout)
			if err != nil {
				return fmt.Errorf("connection %d: %w", len(connections)+1, err)
			}
			connections = append(connections, connection)
			connection.SetDeadline(time.Now().Add(startTimeout))
			if _, err := connection.Write([]byte("PING\r\n")); err != nil {
				return err
			}
			if _, err := connection.Read(answer); err != nil {
				return fmt.Errorf("connection %d: no answer to PING: %w", len(connections), err)
			}
		}
		return nil
	})
}

// collections fills our server and reads from the Go runtime's own trace how long its collections took, from the
// first pause to the last: first under overwrites, then the one that the runtime starts on an idle process.
func (b *bench) collections() error {
	keys := collectionKeys
	if b.quick {
		keys = collectionKeysQuick
	}
	all := append(append(cpus{}, b.serverCPUs...), b.loadCPUs...)
	s, err := b.ours.start(all, "GODEBUG=gctrace=1")
	if err != nil {
		return err
	}
	defer s.stop()
	if err := fill(s, keys, nameBytesMin, valueBytes); err != nil {
		return err
	}
	filled := len(parseCollections(s.log.String()))
	if err := fill(s, keys, nameBytesMin, valueBytes); err != nil {
		return err
	}
	loaded := len(parseCollections(s.log.String()))
	for deadline := time.Now().Add(collectionWait); !b.quick && time.Now().Before(deadline); {
		if len(parseCollections(s.log.String())) > loaded {
			break
		}
		time.Sleep(time.Second)
	}
	collected := parseCollections(s.log.String())
	result := table{title: fmt.Sprintf("Full collections of our server at %d keys, on %d cores", keys, len(all)),
		header: []string{"", "collections", "median, ms", "longest, ms", "target", ""}}
	for _, phase := range []struct {
		name  string
		times []float64
	}{
		{"while it was filled, the last", collected[max(0, filled-1):filled]},
		{"under overwrites", collected[filled:loaded]},
		{"idle", collected[loaded:]},
	} {
		if len(phase.times) == 0 {
			result.rows = append(result.rows, []string{phase.name, "0", "", "", "", ""})
			continue
		}
		times := spreadOf(phase.times)
		result.rows = append(result.rows, []string{phase.name, strconv.Itoa(len(phase.times)),
			fmt.Sprintf("%.2f", times.median), fmt.Sprintf("%.2f", times.high),
			fmt.Sprintf("≤ %d", collectionTarget.Milliseconds()),
			verdict(times.median, float64(collectionTarget.Milliseconds()))})
		for i, value := range phase.times {
			b.report.figure("memory", phase.name, s.name, i, "collection, ms", value)
		}
	}
	b.report.add(result)
	return nil
}

// collectionLine is a line of GODEBUG=gctrace=1: the wall-clock times of sweep termination, concurrent mark and mark
// termination.
var collectionLine = regexp.MustCompile(`(?m)^gc \d+ @[\d.]+s \d+%: ([\d.]+)\+([\d.]+)\+([\d.]+) ms clock`)

// parseCollections returns the length of each collection in a trace, in milliseconds.
func parseCollections(trace string) []float64 {
	var lengths []float64
	for _, match := range collectionLine.FindAllStringSubmatch(trace, -1) {
		length := 0.0
		for _, phase := range match[1:] {
			part, err := strconv.ParseFloat(phase, 64)
			if err != nil {
				continue // the expression admits only numbers
			}
			length += part
		}
		lengths = append(lengths, length)
	}
	return lengths
}
