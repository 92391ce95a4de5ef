//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"
)

const (
	fanoutPublishers = 10
	fanoutChannel    = "channel"
)

// fanoutSizes are the numbers of subscribers.
var fanoutSizes = []int{1, 10, 1000}

// fanout compares PUBLISH to several subscribers with the peer's.
func (b *bench) fanout() error {
	ours, peer, err := b.startBoth()
	if err != nil {
		return err
	}
	defer ours.stop()
	defer peer.stop()
	speed := table{
		title: fmt.Sprintf("PUBLISH per core: %d publishers, %d-byte messages, %d rounds of %v in turns", fanoutPublishers, valueBytes,
			b.rounds, b.roundTime),
		header: speedHeader,
		remarks: []string{speedRemark, "A publisher sends its next batch when all subscribers have what all publishers have sent: nothing " +
			"is counted that was not delivered."},
	}
	servers := [2]*server{ours, peer}
	for _, subscribers := range fanoutSizes {
		for _, depth := range b.featureDepths() {
			var crowds [2]*crowd
			for side, s := range servers {
				if crowds[side], err = newCrowd(s.address, subscribers, depth); err != nil {
					return fmt.Errorf("%d subscribers of %s: %w", subscribers, s.name, err)
				}
				defer crowds[side].close()
			}
			w := workload{command: fmt.Sprintf("PUBLISH to %d", subscribers), depth: depth}
			rounds, err := b.inTurns(b.rounds, "fanout", w.label(), [2]string{ours.name, peer.name}, func(side int) (round, error) {
				return crowds[side].measure(servers[side], b.roundTime)
			})
			if err != nil {
				return err
			}
			for _, c := range crowds {
				c.close()
			}
			speed.rows = append(speed.rows, speedRow(w, rounds[0], rounds[1], map[int]float64{depth: 1}))
		}
	}
	speed.remarks = append(speed.remarks, b.disturbance())
	b.report.add(speed)
	return nil
}

// crowd are publishers and subscribers of one channel. All messages have the same length, and all replies, so that counting
// bytes tells when everything has arrived.
type crowd struct {
	epoll     int
	sockets   []int // the publishers, then the subscribers
	batch     []byte
	turnBytes int // that come back when each publisher has sent a batch
	turnCount int // commands of a turn
	buffer    []byte
}

// newCrowd connects and subscribes.
func newCrowd(address string, subscribers, depth int) (c *crowd, err error) {
	text := bytes.Repeat([]byte("m"), valueBytes)
	one := fmt.Appendf(nil, "*3\r\n$7\r\nPUBLISH\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(fanoutChannel), fanoutChannel, len(text), text)
	c = &crowd{batch: bytes.Repeat(one, depth), buffer: make([]byte, readBufferBytes), turnCount: fanoutPublishers * depth}
	message := fmt.Appendf(nil, "*3\r\n$7\r\nmessage\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(fanoutChannel), fanoutChannel, len(text), text)
	c.turnBytes = c.turnCount * (len(":\r\n") + len(strconv.Itoa(subscribers)) + subscribers*len(message))
	if c.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	for i := range fanoutPublishers + subscribers {
		socket, err := connectTo(address)
		if err != nil {
			c.close()
			return nil, fmt.Errorf("connect client %d: %w", i, err)
		}
		c.sockets = append(c.sockets, socket)
		if i >= fanoutPublishers {
			err = subscribe(socket)
		}
		err = errors.Join(err, unix.SetNonblock(socket, true),
			unix.EpollCtl(c.epoll, unix.EPOLL_CTL_ADD, socket, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(socket)}))
		if err != nil {
			c.close()
			return nil, err
		}
	}
	return c, nil
}

// subscribe subscribes a socket that waits to the channel.
func subscribe(socket int) error {
	want := fmt.Appendf(nil, "*3\r\n$9\r\nsubscribe\r\n$%d\r\n%s\r\n:1\r\n", len(fanoutChannel), fanoutChannel)
	if _, err := unix.Write(socket, []byte("SUBSCRIBE "+fanoutChannel+"\r\n")); err != nil {
		return err
	}
	got := make([]byte, 0, len(want))
	for len(got) < len(want) {
		n, err := unix.Read(socket, got[len(got):cap(got)])
		if err != nil || n == 0 {
			return fmt.Errorf("subscribe: %q, %w", got, errors.Join(err, io.ErrUnexpectedEOF))
		}
		got = got[:len(got)+n]
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("subscribe: %q", got)
	}
	return nil
}

func (c *crowd) close() {
	for _, socket := range c.sockets {
		unix.Close(socket)
	}
	c.sockets = nil
	if c.epoll > 0 {
		unix.Close(c.epoll)
		c.epoll = 0
	}
}

// measure publishes for the time given, after settling, and accounts for it.
func (c *crowd) measure(s *server, d time.Duration) (round, error) {
	if _, err := c.run(settleTime); err != nil {
		return round{}, fmt.Errorf("load on %s: %w", s.name, err)
	}
	return account(s, func() (int, round, error) {
		done, err := c.run(d)
		return done.commands, percentiles(done), err
	})
}

// run publishes turn after turn.
func (c *crowd) run(d time.Duration) (outcome, error) {
	done := outcome{latency: hdrhistogram.New(1000, int64(time.Minute), 3)}
	for begin := time.Now(); time.Since(begin) < d; {
		turn := time.Now()
		if err := c.turn(); err != nil {
			return done, err
		}
		done.latency.RecordValue(time.Since(turn).Nanoseconds())
		done.commands += c.turnCount
	}
	return done, nil
}

// turn has each publisher send a batch, and returns when all replies and messages have arrived.
func (c *crowd) turn() error {
	for _, socket := range c.sockets[:fanoutPublishers] {
		if n, err := unix.Write(socket, c.batch); n < len(c.batch) {
			return fmt.Errorf("publish: %d of %d bytes sent: %w", n, len(c.batch), errors.Join(err, io.ErrShortWrite))
		}
	}
	var events [256]unix.EpollEvent
	const waitMs = 5000
	for waiting := c.turnBytes; waiting > 0; {
		n, err := unix.EpollWait(c.epoll, events[:], waitMs)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return fmt.Errorf("%d of %d bytes of replies and messages have not come: %w", waiting, c.turnBytes, errors.Join(err, unix.ETIMEDOUT))
		}
		for _, event := range events[:n] {
			n, err := unix.Read(int(event.Fd), c.buffer)
			if err != nil && err != unix.EAGAIN && err != unix.EINTR {
				return fmt.Errorf("read: %w", err)
			}
			if n == 0 {
				return errors.New("the server closed a connection under load")
			}
			waiting -= max(n, 0)
			if waiting < 0 {
				return errors.New("the server sent more than was published")
			}
		}
	}
	return nil
}
