//go:build linux

package main

// The load generator: closed-loop clients, each with one batch of pipelined commands under way.
//
// redis-benchmark is what everyone knows, and --load redis-benchmark uses it, but at pipeline 64 it costs about as
// much per command as the servers measured here, so that one core of it cannot keep one core of server busy, and it
// offers neither 512-byte names, nor phases within one set of connections, nor percentiles beyond p99 in its CSV.
// This one builds a command by appending a few byte strings, and reads replies by skipping over bulk strings.
// Every read and every pop must find something and no reply may be an error, or the run fails: a fast wrong answer is
// not a result.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"

	"kvserver/hotkeys/zipf"
)

// workload is what the clients of a generator send.
type workload struct {
	command    string    // GET, SET, or what the row of a table is called if there are words
	words      string    // of another command, divided by spaces; those that begin with $ are holes
	opening    string    // commands that each client sends first, a line each
	keys       int       // names are drawn from this many: uniformly, or
	law        *zipf.Law // by this
	sequential bool      // names in order instead, so that every key is met
	collection int       // if not 0, names are elements, in order: $key is one of so many collections, in turns
	nameBytes  int       // at least nameBytesMin
	valueBytes int       // of a value; negative: 0 to -valueBytes, uniformly
	depth      int       // commands in a batch
	clients    int
}

const (
	namePrefix      = "key:"
	nameBytesMin    = len(namePrefix) + nameDigits
	nameDigits      = 12 // redis-benchmark writes key:%012d: the same names
	readBufferBytes = 256 << 10
	lineBytesMax    = 512 // of a reply's first line; only an error's text can be longer
)

// outcome is what one run of a generator did.
type outcome struct {
	commands int
	latency  *hdrhistogram.Histogram // of whole batches, in nanoseconds
}

// generator drives one server. Its clients stay connected from run to run.
type generator struct{ workers []*worker }

// worker is one thread of a generator: an epoll loop over its share of the clients.
type worker struct {
	workload
	epoll    int
	clients  []*client
	buffer   []byte
	encoder  encoder
	commands int
	latency  *hdrhistogram.Histogram
	started  bool
}

type client struct {
	index   int // among the worker's clients; epoll events carry it
	socket  int
	out     []byte // the batch under way, and how much of it is sent
	sent    int
	waiting int // replies still to come for the batch
	skip    int // bytes of a bulk string still to come
	inside  int // elements still to come of an array
	partial []byte
	sentAt  time.Time
	blocked bool // the socket was full: epoll reports when it is not
}

// newGenerator connects the workload's clients, spread over the threads.
func newGenerator(address string, w workload, threads int) (*generator, error) {
	g := &generator{}
	for i := range threads {
		part := &worker{workload: w, epoll: -1, buffer: make([]byte, readBufferBytes)}
		part.encoder = newEncoder(w, i, threads)
		g.workers = append(g.workers, part)
		var err error
		if part.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
			g.close()
			return nil, fmt.Errorf("epoll_create: %w", err)
		}
		for range (w.clients + i) / threads {
			if err := part.connect(address); err != nil {
				g.close()
				return nil, fmt.Errorf("connect client %d of %d: %w", len(part.clients)+1, w.clients, err)
			}
		}
	}
	return g, nil
}

func (g *generator) close() {
	for _, w := range g.workers {
		for _, c := range w.clients {
			unix.Close(c.socket)
		}
		if w.epoll >= 0 {
			unix.Close(w.epoll)
		}
	}
}

// run sends for the given time, or in sequential order until every key was sent, if that is sooner. Batches under way
// at the end stay under way and are finished, uncounted in the latencies, by the next run.
func (g *generator) run(d time.Duration) (outcome, error) {
	begin := time.Now()
	errs := make(chan error)
	for _, w := range g.workers {
		w.commands = 0
		w.latency = hdrhistogram.New(1000, int64(time.Minute), 3)
		go func() { errs <- w.run(begin, begin.Add(d)) }()
	}
	var err error
	for range g.workers {
		err = errors.Join(err, <-errs)
	}
	total := outcome{latency: hdrhistogram.New(1000, int64(time.Minute), 3)}
	for _, w := range g.workers {
		total.commands += w.commands
		total.latency.Merge(w.latency)
	}
	return total, err
}

func (w *worker) connect(address string) error {
	socket, err := connectTo(address)
	if err != nil {
		return err
	}
	c := &client{index: len(w.clients), socket: socket}
	w.clients = append(w.clients, c)
	if err := open(socket, w.opening); err != nil {
		return err
	}
	if err := unix.SetNonblock(socket, true); err != nil {
		return err
	}
	return w.watch(c, unix.EPOLL_CTL_ADD, unix.EPOLLIN)
}

// connectTo returns a socket that waits, and sends at once.
func connectTo(address string) (int, error) {
	tcp, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return -1, err
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	peer := &unix.SockaddrInet4{Port: tcp.Port, Addr: [4]byte(tcp.IP.To4())}
	err = errors.Join(unix.Connect(socket, peer), unix.SetsockoptInt(socket, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1))
	if err != nil {
		unix.Close(socket)
		return -1, err
	}
	return socket, nil
}

// open sends commands, a line each, over a socket that waits, and reads their replies, none of which may be an error.
func open(socket int, commands string) error {
	if commands == "" {
		return nil
	}
	const end = "$7\r\nopened!\r\n"
	if _, err := unix.Write(socket, []byte(commands+"\nECHO opened!\n")); err != nil {
		return fmt.Errorf("send %q: %w", commands, err)
	}
	var replies []byte
	buffer := make([]byte, 4096)
	for !bytes.HasSuffix(replies, []byte(end)) {
		n, err := unix.Read(socket, buffer)
		if err != nil || n == 0 {
			return fmt.Errorf("after %q: %q, %w", commands, replies, errors.Join(err, io.ErrUnexpectedEOF))
		}
		replies = append(replies, buffer[:n]...)
		if replies[0] == '-' || bytes.Contains(replies, []byte("\n-")) {
			return fmt.Errorf("after %q: %q", commands, replies)
		}
	}
	return nil
}

// watch sets what epoll reports of a client.
func (w *worker) watch(c *client, operation int, events uint32) error {
	return unix.EpollCtl(w.epoll, operation, c.socket, &unix.EpollEvent{Events: events, Fd: int32(c.index)})
}

func (w *worker) run(begin, end time.Time) error {
	if !w.started {
		w.started = true
		for _, c := range w.clients {
			if err := w.send(c); err != nil {
				return err
			}
		}
	}
	events := make([]unix.EpollEvent, len(w.clients)+1)
	for time.Now().Before(end) && !w.exhausted() {
		const waitMs = 1000
		n, err := unix.EpollWait(w.epoll, events, waitMs)
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("epoll_wait: %w", err)
		}
		for _, event := range events[:max(n, 0)] {
			if err := w.serve(w.clients[event.Fd], begin); err != nil {
				return err
			}
		}
	}
	return nil
}

// exhausted reports that all names of a sequential workload were sent and answered.
func (w *worker) exhausted() bool {
	return w.sequential && w.encoder.exhausted() && !w.underWay()
}

func (w *worker) underWay() bool {
	for _, c := range w.clients {
		if c.waiting > 0 {
			return true
		}
	}
	return false
}

// serve reads what came for a client and, when its batch is answered, sends the next.
func (w *worker) serve(c *client, begin time.Time) error {
	if c.blocked {
		if err := w.flush(c); err != nil {
			return err
		}
	}
	for {
		kept := copy(w.buffer, c.partial)
		n, err := unix.Read(c.socket, w.buffer[kept:])
		if err == unix.EAGAIN || err == unix.EINTR {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		if n == 0 {
			return errors.New("the server closed a connection under load")
		}
		data := w.buffer[:kept+n]
		replies, rest, err := c.count(data)
		if err != nil {
			return err
		}
		c.partial = append(c.partial[:0], rest...)
		c.waiting -= replies
		w.commands += replies
		if c.waiting < 0 {
			return errors.New("the server sent more replies than it was sent commands")
		}
		if c.waiting == 0 {
			if c.sentAt.After(begin) {
				w.latency.RecordValue(time.Since(c.sentAt).Nanoseconds())
			}
			if w.sequential && w.encoder.exhausted() {
				return nil
			}
			return w.send(c)
		}
		if len(data) < len(w.buffer) {
			return nil // the socket is empty: saves the read that would say so
		}
	}
}

// count returns how many replies end in data, and the beginning of a reply's first line at its end.
func (c *client) count(data []byte) (replies int, rest []byte, err error) {
	ended := func() {
		if c.inside > 0 {
			c.inside--
		}
		if c.inside == 0 {
			replies++
		}
	}
	for {
		if c.skip > 0 {
			step := min(c.skip, len(data))
			data = data[step:]
			c.skip -= step
			if c.skip > 0 {
				return replies, nil, nil
			}
			ended()
		}
		end := bytes.IndexByte(data[:min(len(data), lineBytesMax)], '\n')
		if end < 0 {
			if len(data) >= lineBytesMax {
				return 0, nil, fmt.Errorf("a reply begins with a line that is too long: %q", data[:lineBytesMax])
			}
			return replies, data, nil
		}
		line := data[:end+1]
		data = data[end+1:]
		switch {
		case len(line) < 3:
			return 0, nil, fmt.Errorf("malformed reply %q", line)
		case line[0] == '+' || line[0] == ':':
			ended()
		case line[0] == '$' && line[1] != '-':
			size, err := strconv.Atoi(string(line[1 : len(line)-2]))
			if err != nil {
				return 0, nil, fmt.Errorf("malformed reply %q", line)
			}
			c.skip = size + len("\r\n")
		case line[0] == '*' && c.inside == 0 && line[1] >= '1' && line[1] <= '9':
			if c.inside, err = strconv.Atoi(string(line[1 : len(line)-2])); err != nil {
				return 0, nil, fmt.Errorf("malformed reply %q", line)
			}
		default: // an error, nothing where there should be something, or another type
			return 0, nil, fmt.Errorf("unexpected reply %q", line)
		}
	}
}

// send encodes and sends the next batch of a client.
func (w *worker) send(c *client) error {
	c.out, c.sent, c.waiting = c.out[:0], 0, w.depth
	for range w.depth {
		c.out = w.encoder.append(c.out)
	}
	c.sentAt = time.Now()
	return w.flush(c)
}

func (w *worker) flush(c *client) error {
	for c.sent < len(c.out) {
		n, err := unix.Write(c.socket, c.out[c.sent:])
		if err == unix.EAGAIN {
			if !c.blocked {
				c.blocked = true
				return w.watch(c, unix.EPOLL_CTL_MOD, unix.EPOLLIN|unix.EPOLLOUT)
			}
			return nil
		}
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("write: %w", err)
		}
		c.sent += max(n, 0)
	}
	if c.blocked {
		c.blocked = false
		return w.watch(c, unix.EPOLL_CTL_MOD, unix.EPOLLIN)
	}
	return nil
}

// piece is a part of an encoded command: fixed bytes, then what differs from command to command.
type piece struct {
	text []byte
	fill hole
}

// hole is what differs.
type hole byte

const (
	holeNone   hole = iota
	holeName        // the digits of a name
	holeKey         // the digits of the collection that the name is in
	holeNumber      // digits at random
	holeValue       // a bulk string of the workload's size, with its header
)

// holes are the words that stand for arguments that differ.
var holes = map[string]hole{"$name": holeName, "$key": holeKey, "$number": holeNumber, "$value": holeValue}

// prefixes of arguments that differ. redis-benchmark writes key:%012d: the same names.
var prefixes = map[hole]string{holeName: namePrefix, holeKey: "collection:"}

// encoder appends commands of a workload.
type encoder struct {
	workload
	pieces  []piece
	random  *rand.Rand
	next    int // name of a sequential workload
	last    int
	value   []byte
	numbers [10000][4]byte // decimal digits, four at a time
}

// newEncoder makes the encoder of one of several threads, each with its own part of a sequential workload's names.
func newEncoder(w workload, thread, threads int) encoder {
	e := encoder{workload: w, random: rand.New(rand.NewPCG(uint64(thread), 0x9e3779b97f4a7c15))}
	words := strings.Split(w.words, " ")
	if w.words == "" {
		words = []string{w.command, "$name"}
		if w.command == "SET" {
			words = append(words, "$value")
		}
	}
	text := fmt.Appendf(nil, "*%d\r\n", len(words))
	for _, word := range words {
		fill, found := holes[word]
		switch {
		case !found:
			text = fmt.Appendf(text, "$%d\r\n%s\r\n", len(word), word)
			continue
		case fill == holeName:
			text = fmt.Appendf(text, "$%d\r\n%s", w.nameBytes, prefixes[holeName])
			text = append(text, bytes.Repeat([]byte{'0'}, w.nameBytes-nameBytesMin)...)
		case fill != holeValue:
			text = fmt.Appendf(text, "$%d\r\n%s", len(prefixes[fill])+nameDigits, prefixes[fill])
		}
		e.pieces = append(e.pieces, piece{text, fill})
		text = nil
		if fill != holeValue {
			text = []byte("\r\n")
		}
	}
	e.pieces = append(e.pieces, piece{text, holeNone})
	e.next, e.last = w.keys*thread/threads, w.keys*(thread+1)/threads
	e.value = bytes.Repeat([]byte("v"), max(w.valueBytes, -w.valueBytes))
	for i := range e.numbers {
		copy(e.numbers[i][:], fmt.Sprintf("%04d", i))
	}
	return e
}

func (e *encoder) exhausted() bool { return e.next >= e.last }

// append adds one command. A sequential encoder that is exhausted repeats its last name, to fill up the last batch.
func (e *encoder) append(out []byte) []byte {
	drawn := 0
	if e.sequential {
		drawn = min(e.next, e.last-1)
		e.next++
	} else if e.law != nil {
		drawn = e.law.Draw(e.random)
	} else {
		drawn = e.random.IntN(e.keys)
	}
	for _, p := range e.pieces {
		out = append(out, p.text...)
		switch p.fill {
		case holeName:
			out = e.digits(out, drawn)
		case holeKey:
			out = e.digits(out, drawn%e.collection)
		case holeNumber:
			out = e.digits(out, e.random.IntN(1e9))
		case holeValue:
			out = e.bulk(out)
		}
	}
	return out
}

func (e *encoder) digits(out []byte, n int) []byte {
	out = append(out, e.numbers[n/10000_0000%10000][:]...)
	out = append(out, e.numbers[n/10000%10000][:]...)
	return append(out, e.numbers[n%10000][:]...)
}

func (e *encoder) bulk(out []byte) []byte {
	size := e.valueBytes
	if size < 0 {
		size = e.random.IntN(-size + 1)
	}
	out = append(out, '$')
	out = strconv.AppendInt(out, int64(size), 10)
	out = append(out, '\r', '\n')
	out = append(out, e.value[:size]...)
	return append(out, '\r', '\n')
}
