package tests

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// scanAll walks the keyspace to its end and returns how often each key came,
// and the number of calls. It fails when the walk is longer than it may be.
func scanAll(t *testing.T, c *conn, callsMax int, options ...string) (seen map[string]int, calls int) {
	t.Helper()
	seen = map[string]int{}
	for cursor := "0"; ; {
		v := c.value(append([]string{"SCAN", cursor}, options...)...)
		if len(v.elems) != 2 || v.elems[0].kind != '$' || v.elems[1].kind != '*' {
			t.Fatalf("SCAN %s: %s", cursor, v)
		}
		for _, k := range v.elems[1].texts() {
			seen[k]++
		}
		cursor = v.elems[0].text
		if calls++; cursor == "0" {
			return seen, calls
		}
		if calls > callsMax {
			t.Fatalf("no end after %d calls of SCAN %q", calls, options)
		}
		// JavaScript clients read a cursor as a double.
		if n, err := strconv.ParseUint(cursor, 10, 64); err != nil || n >= 1<<53 {
			t.Fatalf("SCAN gave the cursor %s", cursor)
		}
	}
}

// fill sets n keys with one prefix.
func fill(c *conn, prefix string, n int) {
	c.t.Helper()
	const batch = 1000
	for from := 0; from < n; from += batch {
		args := []string{"MSET"}
		for i := from; i < min(from+batch, n); i++ {
			args = append(args, fmt.Sprintf("%s%d", prefix, i), "v")
		}
		c.ok(args...)
	}
}

// TestScanUnderWrites: whatever is added, deleted and resized meanwhile, every
// key that stayed from begin to end is returned, for every COUNT, with MATCH and
// TYPE too, and the walk ends.
func TestScanUnderWrites(t *testing.T) {
	stable := scaled(10_000)
	for _, options := range []string{"COUNT 1", "COUNT 10", "COUNT 1000", "COUNT 10 MATCH stable:*", "COUNT 10 TYPE string"} {
		t.Run(options, func(t *testing.T) {
			s := startServer(t)
			c, writer := s.dial(), s.dial()
			fill(c, "stable:", stable)
			var stop atomic.Bool
			var churned int
			finished := make(chan error, 1)
			go func() {
				var err error
				churned, err = churn(writer, &stop)
				finished <- err
			}()
			seen, _ := scanAll(t, c, 40*stable, strings.Fields(options)...)
			stop.Store(true)
			if err := <-finished; err != nil {
				t.Fatal(err)
			}
			missing := 0
			for i := range stable {
				if seen[fmt.Sprintf("stable:%d", i)] == 0 {
					missing++
				}
			}
			if missing > 0 {
				t.Errorf("%d of %d keys that were always there did not come", missing, stable)
			}
			for k := range seen {
				if strings.Contains(options, "MATCH") && !strings.HasPrefix(k, "stable:") {
					t.Errorf("%s does not match", k)
				}
			}
			t.Logf("%d keys came and went meanwhile", churned)
		})
	}
}

// churn makes the keyspace grow and shrink: thousands of keys come in one
// command and go in another.
func churn(c *conn, stop *atomic.Bool) (keys int, err error) {
	const batch, batches = 500, 20
	for round := 0; !stop.Load(); round++ {
		var names []string
		mset := []string{"MSET"}
		for i := range batch {
			name := fmt.Sprintf("passing:%d:%d", round, i)
			names = append(names, name)
			mset = append(mset, name, strings.Repeat("v", i%100))
		}
		if _, err := c.try(mset...); err != nil {
			return keys, err
		}
		keys += batch
		if round >= batches {
			for i := range names {
				names[i] = fmt.Sprintf("passing:%d:%d", round-batches, i)
			}
			if _, err := c.try(append([]string{"UNLINK"}, names...)...); err != nil {
				return keys, err
			}
		}
	}
	return keys, nil
}

// TestScanOfAQuietKeyspace: without writes every key comes exactly once, and a
// walk takes a number of calls in proportion to the keys.
func TestScanOfAQuietKeyspace(t *testing.T) {
	keys := scaled(5000)
	s := startServer(t)
	c := s.dial()
	fill(c, "k:", keys)
	for _, count := range []int{1, 10, 100, 1000, 100_000} {
		seen, calls := scanAll(t, c, 20*keys, "COUNT", strconv.Itoa(count))
		if len(seen) != keys {
			t.Errorf("COUNT %d: %d of %d keys", count, len(seen), keys)
		}
		if most := 10*keys/count + 1000; calls > most {
			t.Errorf("COUNT %d took %d calls for %d keys, want at most %d", count, calls, keys, most)
		}
	}
	if seen, _ := scanAll(t, c, 10, "COUNT", "9223372036854775807"); len(seen) != keys {
		t.Errorf("the largest COUNT gave %d of %d keys", len(seen), keys)
	}
	if seen, _ := scanAll(t, c, 20*keys, "MATCH", "k:12[3]", "COUNT", "50"); len(seen) != 1 || seen["k:123"] != 1 {
		t.Errorf("MATCH of one key gave %v", seen)
	}
	if seen, _ := scanAll(t, c, 20*keys, "TYPE", "list", "COUNT", "50"); len(seen) != 0 {
		t.Errorf("TYPE list gave %v", seen)
	}
}

// TestScanWhileTheKeyspaceGrows: keys that were there at the beginning come
// although the tables grow a hundredfold during the walk.
func TestScanWhileTheKeyspaceGrows(t *testing.T) {
	before, added := 1000, scaled(100_000)
	s := startServer(t)
	c := s.dial()
	fill(c, "old:", before)
	seen := map[string]bool{}
	grown := 0
	for cursor, calls := "0", 0; ; calls++ {
		v := c.value("SCAN", cursor, "COUNT", "100")
		for _, k := range v.elems[1].texts() {
			seen[k] = true
		}
		if cursor = v.elems[0].text; cursor == "0" {
			break
		}
		if grown < added {
			fill(c, fmt.Sprintf("new:%d:", calls), added/10)
			grown += added / 10
		}
		if calls > 20*(before+added)/100 {
			t.Fatal("the walk does not end")
		}
	}
	for i := range before {
		if !seen[fmt.Sprintf("old:%d", i)] {
			t.Errorf("old:%d did not come", i)
		}
	}
}

// TestScanWhileTheKeyspaceShrinks: the same with nearly everything deleted.
func TestScanWhileTheKeyspaceShrinks(t *testing.T) {
	const kept = 500
	deleted := scaled(50_000)
	s := startServer(t)
	c := s.dial()
	fill(c, "kept:", kept)
	fill(c, "gone:", deleted)
	seen := map[string]bool{}
	removed := 0
	for cursor, calls := "0", 0; ; calls++ {
		v := c.value("SCAN", cursor, "COUNT", "200")
		for _, k := range v.elems[1].texts() {
			seen[k] = true
		}
		if cursor = v.elems[0].text; cursor == "0" {
			break
		}
		if removed < deleted {
			args := []string{"DEL"}
			for i := removed; i < removed+deleted/10; i++ {
				args = append(args, fmt.Sprintf("gone:%d", i))
			}
			c.do(args...)
			removed += deleted / 10
		}
		if calls > kept+deleted {
			t.Fatal("the walk does not end")
		}
	}
	for i := range kept {
		if !seen[fmt.Sprintf("kept:%d", i)] {
			t.Errorf("kept:%d did not come", i)
		}
	}
}

// TestScanLeavesOutExpiredKeys: a key whose time has passed does not come, even
// if nothing has removed it yet.
func TestScanLeavesOutExpiredKeys(t *testing.T) {
	s := startServer(t, "--enable-debug-command", "yes")
	c := s.dial()
	c.ok("DEBUG", "SET-ACTIVE-EXPIRE", "0")
	c.ok("SET", "stays", "v")
	for i := range 100 {
		c.ok("SET", fmt.Sprintf("goes%d", i), "v", "PX", "1")
	}
	c.ok("SET", "last", "v", "PX", "1")
	eventually(t, "the keys are expired", func() bool { return c.do("EXISTS", "last") == ":0\r\n" })
	if seen, _ := scanAll(t, c, 1000); len(seen) != 1 || seen["stays"] != 1 {
		t.Errorf("SCAN gave %d keys", len(seen))
	}
	c.want("*1\r\n$5\r\nstays\r\n", "KEYS", "*")
}

// TestScanOfADatabase sees only its own.
func TestScanOfADatabase(t *testing.T) {
	s := startServer(t)
	c := s.dial()
	fill(c, "zero:", 500)
	c.ok("SELECT", "3")
	fill(c, "three:", 300)
	seen, _ := scanAll(t, c, 2000)
	if len(seen) != 300 {
		t.Errorf("SCAN in database 3 gave %d keys, want 300", len(seen))
	}
	for k := range seen {
		if !strings.HasPrefix(k, "three:") {
			t.Errorf("%s is of another database", k)
		}
	}
}
