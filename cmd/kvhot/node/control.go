package node

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// State is what a server's controller says of a key that is not normal.
type State struct {
	Key     string
	DB      int
	State   string    // warming or hot
	Since   time.Time // zero: not told
	Demand  float64   // in the server's control metric, per second
	Windows float64   // of evidence so far
	Hold    time.Duration
	Pinned  bool
}

// States asks which keys are not in the normal state.
func (n *Node) States(ctx context.Context) (_ []State, err error) {
	defer n.malformed(&err)
	v, err := n.client.Do(ctx, "HOTKEYS", "STATES").Result()
	if err != nil {
		if !answered(err) {
			n.lost()
			return nil, err
		}
		if strings.HasPrefix(err.Error(), "ERR") {
			return nil, ErrNoControl
		}
		return nil, err
	}
	return statesOf(v), nil
}

// Controlled reports whether the server's controller is on. One that does not say counts as on.
func (n *Node) Controlled(ctx context.Context) bool {
	v, err := n.client.ConfigGet(ctx, "hotkeys-promote-qps").Result()
	return err != nil || v["hotkeys-promote-qps"] != "0"
}

// statesOf reads the reply to HOTKEYS STATES. What is no state is left out: the table of hot keys is of use without it.
func statesOf(v any) []State {
	list, _ := v.([]any)
	var states []State
	for _, v := range list {
		f, err := fieldsOf(v)
		if err != nil {
			continue
		}
		key, db, err := f.identity()
		state, ok := f.text("state")
		if err != nil || !ok {
			continue
		}
		s := State{Key: key, DB: db, State: state, Demand: f.number("demand"), Windows: f.number("windows"),
			Pinned: f.number("pinned") == 1}
		if ms := f.number("since"); !math.IsNaN(ms) {
			s.Since = time.UnixMilli(int64(ms))
		}
		s.Hold, _ = f.millis("hold-remaining-ms")
		states = append(states, s)
	}
	return states
}

// Event is a transition that a server's controller published.
type Event struct {
	At     time.Time
	Name   string // warming, hot, normal, aborted or emergency
	Key    string
	DB     int
	Demand float64
}

// eventChannels is what transitions are published on, before their name.
const eventChannels = "__hotkeys__:"

// eventOf reads a message: the payload is "<db> <demand> <key>".
func eventOf(channel, payload string, at time.Time) (Event, error) {
	name, ok := strings.CutPrefix(channel, eventChannels)
	parts := strings.SplitN(payload, " ", 3)
	if !ok || len(parts) != 3 {
		return Event{}, fmt.Errorf("a message %q on %q", payload, channel)
	}
	db, err := strconv.Atoi(parts[0])
	if err != nil || db < 0 {
		return Event{}, fmt.Errorf("a message of database %q", parts[0])
	}
	demand, err := strconv.ParseFloat(parts[1], 64)
	if err != nil || math.IsNaN(counted(demand)) {
		return Event{}, fmt.Errorf("a message of demand %q", parts[1])
	}
	return Event{At: at, Name: name, Key: parts[2], DB: db, Demand: demand}, nil
}

// Listen subscribes to the transitions and calls subscribed once it is, then event for each, until the connection fails
// or ctx ends. What is published is seen from before the call of subscribed.
func (n *Node) Listen(ctx context.Context, subscribed func() error, event func(Event)) (err error) {
	defer n.malformed(&err)
	sub := n.client.PSubscribe(ctx, eventChannels+"*")
	defer sub.Close()
	// A connection that is read from does not look at ctx.
	defer context.AfterFunc(ctx, func() { sub.Close() })()
	// Receive reconnects by itself after an error, without a word: here an error is the end, so that the caller asks for the
	// states anew.
	quiet := 0
	for {
		message, err := sub.ReceiveTimeout(ctx, n.timeout)
		switch message := message.(type) {
		case *redis.Subscription:
			if err := subscribed(); err != nil {
				return err
			}
		case *redis.Message:
			e, err := eventOf(message.Channel, message.Payload, time.Now())
			if err != nil {
				return err
			}
			event(e)
		}
		if err == nil {
			quiet = 0
			continue
		}
		// No message within the time-out is nothing; no answer to a PING after it is the end.
		if quiet++; !IsTimeout(err) || quiet > 1 || ctx.Err() != nil {
			return err
		}
		if err := sub.Ping(ctx); err != nil {
			return err
		}
	}
}
