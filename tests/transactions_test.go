package tests

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// together runs body in n goroutines and reports the first error of each.
func together(t *testing.T, n int, body func(worker int) error) {
	t.Helper()
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() { errs[i] = body(i) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("worker %d: %v", i, err)
		}
	}
}

// tryAll sends commands one after the other and returns the last reply.
func (c *conn) tryAll(commands ...[]string) (string, error) {
	var last string
	for _, args := range commands {
		b, err := c.try(args...)
		if err != nil {
			return "", err
		}
		last = string(b)
	}
	return last, nil
}

// TestWatchLosesNoIncrement: clients that read, add one and write under WATCH
// must not overwrite each other. Each key is fought over by all of them.
func TestWatchLosesNoIncrement(t *testing.T) {
	const clients, increments, keys = 8, 60, 3
	s := startServer(t)
	var conflicts atomic.Int64
	conns := make([]*conn, clients)
	for i := range conns {
		conns[i] = s.dial()
	}
	together(t, clients, func(worker int) error {
		c := conns[worker]
		for i := range increments {
			key := fmt.Sprintf("counter%d", i%keys)
			for {
				if _, err := c.tryAll([]string{"WATCH", key}); err != nil {
					return err
				}
				b, err := c.try("GET", key)
				if err != nil {
					return err
				}
				n, _ := strconv.Atoi(parseReply(string(b)).text)
				exec, err := c.tryAll([]string{"MULTI"}, []string{"SET", key, strconv.Itoa(n + 1)}, []string{"EXEC"})
				if err != nil {
					return err
				}
				if exec == "*1\r\n+OK\r\n" {
					break
				}
				if exec != "*-1\r\n" {
					return fmt.Errorf("EXEC: %q", exec)
				}
				conflicts.Add(1)
			}
		}
		return nil
	})
	for k := range keys {
		key := fmt.Sprintf("counter%d", k)
		if got, want := s.dial().value("GET", key).text, strconv.Itoa(clients*increments/keys); got != want {
			t.Errorf("%s is %s after %s increments", key, got, want)
		}
	}
	t.Logf("%d transactions met a conflict", conflicts.Load())
}

// TestIncrementsAreNotLost is the same without WATCH: INCR alone, in pipelines
// and in transactions, on one hot key.
func TestIncrementsAreNotLost(t *testing.T) {
	const clients, each = 8, 500
	s := startServer(t)
	conns := make([]*conn, clients)
	for i := range conns {
		conns[i] = s.dial()
	}
	together(t, clients, func(worker int) error {
		for range each {
			if _, err := conns[worker].tryAll([]string{"INCR", "n"}, []string{"MULTI"}, []string{"INCR", "n"}, []string{"INCRBY", "n", "2"}, []string{"EXEC"}); err != nil {
				return err
			}
		}
		return nil
	})
	s.dial().want(fmt.Sprintf("$5\r\n%d\r\n", clients*each*4), "GET", "n")
}

// TestTransactionsAreAtomic: writers set several keys, far apart in the
// keyspace, to one value in one step; no reader may see two different values,
// however it reads and however the writers write.
func TestTransactionsAreAtomic(t *testing.T) {
	const writers, readers, writes, keys = 3, 3, 300, 6
	s := startServer(t)
	names := make([]string, keys)
	var mset []string
	for i := range names {
		names[i] = fmt.Sprintf("part-%d-of-the-whole", i)
		mset = append(mset, names[i], "0")
	}
	s.dial().ok(append([]string{"MSET"}, mset...)...)
	conns := make([]*conn, writers+readers)
	for i := range conns {
		conns[i] = s.dial()
	}
	var writing atomic.Int64
	writing.Store(writers)
	together(t, writers+readers, func(worker int) error {
		c := conns[worker]
		if worker < writers {
			defer writing.Add(-1)
			return writeTogether(c, worker, names, writes)
		}
		for writing.Load() > 0 {
			if err := readTogether(c, worker, names); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeTogether gives all keys the same new value again and again: in MSET, in
// a transaction of SETs, or by renaming over them.
func writeTogether(c *conn, worker int, names []string, writes int) error {
	for i := range writes {
		v := fmt.Sprintf("%d-%d", worker, i)
		var err error
		switch i % 3 {
		case 0:
			args := []string{"MSET"}
			for _, n := range names {
				args = append(args, n, v)
			}
			_, err = c.tryAll(args)
		case 1:
			commands := [][]string{{"MULTI"}}
			for _, n := range names {
				commands = append(commands, []string{"SET", n, v})
			}
			_, err = c.tryAll(append(commands, []string{"EXEC"})...)
		default:
			commands := [][]string{{"MULTI"}}
			for _, n := range names {
				commands = append(commands, []string{"SET", "tmp" + v, v}, []string{"RENAME", "tmp" + v, n})
			}
			_, err = c.tryAll(append(commands, []string{"EXEC"})...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func readTogether(c *conn, worker int, names []string) error {
	commands := [][]string{append([]string{"MGET"}, names...)}
	if worker%2 == 0 {
		commands = [][]string{{"MULTI"}}
		for _, n := range names {
			commands = append(commands, []string{"GET", n})
		}
		commands = append(commands, []string{"EXEC"})
	}
	reply, err := c.tryAll(commands...)
	if err != nil {
		return err
	}
	values := parseReply(reply).texts()
	for _, v := range values {
		if v != values[0] || v == "" {
			return fmt.Errorf("one read saw %q", values)
		}
	}
	return nil
}

// TestRenameNeverHidesAKey: while a value moves back and forth between two
// names, a reader of both in one command finds it under exactly one.
func TestRenameNeverHidesAKey(t *testing.T) {
	const moves = 1000
	s := startServer(t)
	mover, reader := s.dial(), s.dial()
	mover.ok("SET", "here", "v")
	var done atomic.Bool
	together(t, 2, func(worker int) error {
		if worker == 0 {
			defer done.Store(true)
			for range moves {
				if _, err := mover.tryAll([]string{"RENAME", "here", "there"}, []string{"RENAME", "there", "here"}); err != nil {
					return err
				}
			}
			return nil
		}
		for !done.Load() {
			b, err := reader.try("EXISTS", "here", "there")
			if err != nil {
				return err
			}
			if string(b) != ":1\r\n" {
				return fmt.Errorf("EXISTS here there: %q", b)
			}
		}
		return nil
	})
}

// TestSwapDBIsAtomic: a reader in a transaction sees one side of a swap.
func TestSwapDBIsAtomic(t *testing.T) {
	s := startServer(t)
	swapper, reader := s.dial(), s.dial()
	swapper.ok("SET", "db", "zero")
	swapper.ok("SELECT", "1")
	swapper.ok("SET", "db", "one")
	var done atomic.Bool
	together(t, 2, func(worker int) error {
		if worker == 0 {
			defer done.Store(true)
			for range 300 {
				if _, err := swapper.tryAll([]string{"SWAPDB", "0", "1"}); err != nil {
					return err
				}
			}
			return nil
		}
		for !done.Load() {
			exec, err := reader.tryAll([]string{"MULTI"}, []string{"SELECT", "0"}, []string{"GET", "db"}, []string{"SELECT", "1"},
				[]string{"GET", "db"}, []string{"EXEC"})
			if err != nil {
				return err
			}
			v := parseReply(exec).texts()
			if len(v) != 4 || v[1] == v[3] || v[1] == "" || v[3] == "" {
				return fmt.Errorf("one transaction saw %q", v)
			}
		}
		return nil
	})
}

// TestExclusiveCommandsUnderLoad runs what needs the whole server to itself
// beside ordinary traffic: nothing may hang, and counters must add up.
func TestExclusiveCommandsUnderLoad(t *testing.T) {
	const workers, each = 4, 200
	s := startServer(t)
	exclusive := [][]string{
		{"KEYS", "none*"}, {"DBSIZE"}, {"INFO"}, {"CLIENT", "LIST"}, {"CONFIG", "SET", "timeout", "0"}, {"CONFIG", "GET", "*"},
		{"SWAPDB", "8", "9"}, {"HOTKEYS", "GET"}, {"HOTKEYS", "RESET"}, {"RANDOMKEY"}, {"SCAN", "0"}, {"CONFIG", "RESETSTAT"},
	}
	conns := make([]*conn, 2*workers)
	for i := range conns {
		conns[i] = s.dial()
	}
	together(t, 2*workers, func(worker int) error {
		c := conns[worker]
		for i := range each {
			var err error
			switch {
			case worker < workers:
				_, err = c.tryAll([]string{"INCR", "total"}, []string{"MSET", "a", "1", "b", "2"}, []string{"GET", "a"})
			case i%10 == 0:
				_, err = c.tryAll([]string{"MULTI"}, exclusive[i%len(exclusive)], []string{"INCR", "total"}, []string{"EXEC"})
			default:
				_, err = c.tryAll(exclusive[i%len(exclusive)])
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	want := workers*each + workers*each/10
	s.dial().want(fmt.Sprintf("$3\r\n%d\r\n", want), "GET", "total")
}
