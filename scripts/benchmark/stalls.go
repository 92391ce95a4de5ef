//go:build linux

package main

import (
	"fmt"
	"strconv"
	"time"

	"kvserver/scripts/internal/resp"
)

const (
	stallElements      = 10_000_000
	stallElementsQuick = 200_000
	stallBatch         = 100 // elements of a command that fills
	// stallWatch is how long the other client goes on asking after a removal: servers free memory in the background, and
	// an expired key is looked for ten times a second.
	stallWatch      = 2 * time.Second
	stallWatchQuick = 500 * time.Millisecond
)

// stallTypes are the collections removed. The element of the fill is written %d.
var stallTypes = []struct {
	name, command string
	words         []string // of each element
}{
	{"list", "RPUSH", []string{"element:%d"}},
	{"hash", "HSET", []string{"field:%d", "%d"}},
	{"set", "SADD", []string{"element:%d"}},
	{"sorted set", "ZADD", []string{"%d", "element:%d"}},
	{"stream", "XADD", nil},
}

// removals are the ways in which a collection goes, in the order they are tried. FLUSHALL is the last: it takes the
// original, too.
var removals = []struct {
	name    string
	command []string
}{
	{"nothing (control)", []string{"EXISTS", "victim"}},
	{"DEL", []string{"DEL", "victim"}},
	{"UNLINK", []string{"UNLINK", "victim"}},
	{"SET over it", []string{"SET", "victim", "v"}},
	{"expiry", []string{"PEXPIRE", "victim", "100"}},
	{"FLUSHALL", []string{"FLUSHALL"}},
}

// stalls measures how long another client waits at worst while a collection is removed.
func (b *bench) stalls() error {
	elements, watch := stallElements, stallWatch
	if b.quick {
		elements, watch = stallElementsQuick, stallWatchQuick
	}
	result := table{
		title: fmt.Sprintf("Longest wait of another client, which sends GET after GET, while a collection of %d elements is "+
			"removed, ms", elements),
		header: []string{""},
		remarks: []string{fmt.Sprintf("ours / peer, each on one core with its default parameters; watched for %v after the "+
			"removal. In brackets: how long the removing command itself took.", watch)},
	}
	for _, removal := range removals {
		result.header = append(result.header, removal.name)
	}
	for _, typ := range stallTypes {
		row := []string{typ.name}
		var cells [2][]string
		for side, of := range []binary{b.ours, b.peer} {
			var err error
			if cells[side], err = b.stallsOf(of, typ.name, typ.command, typ.words, elements, watch); err != nil {
				return fmt.Errorf("%s on %s: %w", typ.name, of.name, err)
			}
		}
		for i := range removals {
			row = append(row, cells[0][i]+" / "+cells[1][i])
		}
		result.rows = append(result.rows, row)
	}
	b.report.add(result)
	return nil
}

// stallsOf fills one collection on a fresh server and removes copies of it.
func (b *bench) stallsOf(of binary, name, command string, words []string, elements int, watch time.Duration) ([]string, error) {
	s, err := of.start(b.serverCPUs)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	if err := fillOne(s, command, words, elements); err != nil {
		return nil, err
	}
	if _, err := s.control.Do("SET", "other", "v"); err != nil {
		return nil, err
	}
	var cells []string
	for _, removal := range removals {
		if _, err := s.control.Do("COPY", "original", "victim", "REPLACE"); err != nil {
			return nil, err
		}
		took, longest, err := watched(s, removal.command, watch)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", removal.name, err)
		}
		b.report.figure("stalls", name+", "+removal.name, of.name, -1, "longest wait, ms", milliseconds(longest))
		b.report.figure("stalls", name+", "+removal.name, of.name, -1, "command, ms", milliseconds(took))
		cells = append(cells, fmt.Sprintf("%.1f (%.1f)", milliseconds(longest), milliseconds(took)))
	}
	return cells, nil
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }

// fillOne makes the collection "original", with many elements in each command.
func fillOne(s *server, command string, words []string, elements int) error {
	const pipelined = 20
	for i := 0; i < elements; {
		for range pipelined {
			if words == nil { // a stream takes one entry a command
				for range stallBatch {
					s.control.Queue(command, "original", "*", "field", "element:"+strconv.Itoa(i))
					i++
				}
				continue
			}
			args := []string{command, "original"}
			for range stallBatch {
				for _, word := range words {
					args = append(args, fmt.Sprintf(word, i))
				}
				i++
			}
			s.control.Queue(args...)
		}
		replies, err := s.control.Flush()
		if err != nil {
			return err
		}
		for _, reply := range replies {
			if reply.Kind == resp.Error {
				return fmt.Errorf("fill: %s", reply.Text)
			}
		}
	}
	return nil
}

// watched sends a command while another client asks for another key again and again, and returns how long the command
// took and the longest that the other one waited.
func watched(s *server, command []string, watch time.Duration) (took, longest time.Duration, err error) {
	other, err := resp.Dial(s.address, replyTimeout)
	if err != nil {
		return 0, 0, err
	}
	defer other.Close()
	const before = 100 * time.Millisecond
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			begin := time.Now()
			if _, err := other.Do("GET", "other"); err != nil {
				stopped <- err
				return
			}
			longest = max(longest, time.Since(begin))
		}
	}()
	time.Sleep(before)
	begin := time.Now()
	_, err = s.control.Do(command...)
	took = time.Since(begin)
	time.Sleep(watch)
	close(stop)
	if watchErr := <-stopped; err == nil {
		err = watchErr
	}
	return took, longest, err
}
