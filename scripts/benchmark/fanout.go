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
	fanoutPublishers = 50
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
		remarks: []string{speedRemark, "Publishers wait for their replies, and for subscribers that are behind; a round ends when " +
			"everything that was published has arrived."},
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
// bytes tells what has arrived.
type crowd struct {
	epoll      int
	sockets    []int // the publishers, then the subscribers
	batch      []byte
	depth      int
	replyBytes int
	groupBytes int // of one message to all subscribers
	buffer     []byte
	events     []unix.EpollEvent

	waiting     [fanoutPublishers]int // bytes of replies still to come
	sentAt      [fanoutPublishers]time.Time
	idle        []int // publishers that wait for the subscribers
	published   int   // messages
	undelivered int   // bytes of messages still to come
	latency     *hdrhistogram.Histogram
}

// newCrowd connects and subscribes.
func newCrowd(address string, subscribers, depth int) (c *crowd, err error) {
	text := bytes.Repeat([]byte("m"), valueBytes)
	one := fmt.Appendf(nil, "*3\r\n$7\r\nPUBLISH\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(fanoutChannel), fanoutChannel, len(text), text)
	c = &crowd{batch: bytes.Repeat(one, depth), depth: depth, buffer: make([]byte, readBufferBytes),
		events: make([]unix.EpollEvent, 256), replyBytes: len(":\r\n") + len(strconv.Itoa(subscribers))}
	message := fmt.Appendf(nil, "*3\r\n$7\r\nmessage\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(fanoutChannel), fanoutChannel, len(text), text)
	c.groupBytes = subscribers * len(message)
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
			unix.EpollCtl(c.epoll, unix.EPOLL_CTL_ADD, socket, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)}))
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

// run publishes for the time given, and then waits until everything has arrived.
func (c *crowd) run(d time.Duration) (outcome, error) {
	c.published, c.latency = 0, hdrhistogram.New(1000, int64(time.Minute), 3)
	end := time.Now().Add(d)
	c.idle = c.idle[:0]
	for publisher := range fanoutPublishers {
		c.idle = append(c.idle, publisher)
	}
	for {
		if ended := time.Now().After(end); !ended && c.undelivered <= 2*fanoutPublishers*c.depth*c.groupBytes {
			for _, publisher := range c.idle {
				if err := c.publish(publisher); err != nil {
					return outcome{}, err
				}
			}
			c.idle = c.idle[:0]
		} else if ended && c.undelivered == 0 && len(c.idle) == fanoutPublishers {
			return outcome{commands: c.published, latency: c.latency}, nil
		}
		if err := c.receive(); err != nil {
			return outcome{}, err
		}
	}
}

// publish sends a batch.
func (c *crowd) publish(publisher int) error {
	if n, err := unix.Write(c.sockets[publisher], c.batch); n < len(c.batch) {
		return fmt.Errorf("publish: %d of %d bytes sent: %w", n, len(c.batch), errors.Join(err, io.ErrShortWrite))
	}
	c.sentAt[publisher] = time.Now()
	c.published += c.depth
	c.waiting[publisher] = c.depth * c.replyBytes
	c.undelivered += c.depth * c.groupBytes
	return nil
}

// receive waits for replies and messages, and reads once what each client has.
func (c *crowd) receive() error {
	const waitMs = 5000
	n, err := unix.EpollWait(c.epoll, c.events, waitMs)
	if err == unix.EINTR {
		return nil
	}
	if err != nil || n == 0 {
		return fmt.Errorf("%d bytes of messages have not come: %w", c.undelivered, errors.Join(err, unix.ETIMEDOUT))
	}
	for _, event := range c.events[:n] {
		index := int(event.Fd)
		n, err := unix.Read(c.sockets[index], c.buffer)
		if err == unix.EAGAIN || err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return fmt.Errorf("read: %w", errors.Join(err, io.ErrUnexpectedEOF))
		}
		left := &c.undelivered
		if index < fanoutPublishers {
			left = &c.waiting[index]
		}
		if *left -= n; *left < 0 {
			return errors.New("the server sent more than was published")
		}
		if index < fanoutPublishers && *left == 0 {
			c.latency.RecordValue(time.Since(c.sentAt[index]).Nanoseconds())
			c.idle = append(c.idle, index)
		}
	}
	return nil
}
