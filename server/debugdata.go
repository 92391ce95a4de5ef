package server

import (
	"encoding/hex"
	"fmt"
	"strings"

	"kvserver/store"
)

// What DEBUG says of data. None of it counts as a use of a key.

func debugDigest(c *client, _ [][]byte) { c.simpleDigest(c.view.Digest()) }

// debugDigestValue answers with zeros for keys that are missing.
func debugDigestValue(c *client, args [][]byte) {
	c.array(len(args) - 2)
	for _, key := range args[2:] {
		c.simpleDigest(c.view.DigestValue(c.view.Peek(key)))
	}
}

func (c *client) simpleDigest(d store.Digest) { c.simple(hex.EncodeToString(d[:])) }

func debugHTStats(c *client, args [][]byte) {
	db, ok := parseInt(args[2])
	switch {
	case !ok:
		c.fail(errNotInteger)
		return
	case db < 0 || db >= c.s.params.databases.Get():
		c.fail("ERR Out of range database")
		return
	}
	s := c.view.TableStats(int(db))
	c.verbatim("txt", "[Dictionary HT]\n"+tableReport(s, isFull(args))+
		fmt.Sprintf("[Expires HT]\nThere is none: deadlines lie next to their keys.\n number of elements: %d\n", s.Volatile))
}

func debugHTStatsKey(c *client, args [][]byte) {
	e := c.view.Peek(args[2])
	if !e.Exists() {
		c.fail(errNoKey)
		return
	}
	s, ok := c.view.ValueTableStats(e)
	if !ok {
		c.fail("ERR The value stored at the specified key is not represented using an hash table")
		return
	}
	c.verbatim("txt", tableReport(s, isFull(args)))
}

func isFull(args [][]byte) bool { return len(args) > 3 && strings.EqualFold(string(args[3]), "full") }

// tableReport has the lines of Redis, whose readers look for some of them. A chain is what one bucket of a segment holds.
func tableReport(s store.TableStats, full bool) string {
	const title = "Hash table 0 stats (main hash table):\n"
	if s.Keys == 0 {
		return title + "No stats available for empty dictionaries\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, title+" table size: %d\n number of elements: %d\n segments: %d\n", s.Buckets, s.Keys, s.Segments)
	if !full {
		return b.String()
	}
	used := s.Buckets - s.Chains[0]
	average := float64(s.Keys) / float64(used)
	fmt.Fprintf(&b, " different slots: %d\n max chain length: %d\n avg chain length (counted): %.2f\n"+
		" avg chain length (computed): %.2f\n Chain length distribution:\n", used, len(s.Chains)-1, average, average)
	for length, buckets := range s.Chains {
		if buckets > 0 {
			fmt.Fprintf(&b, "   %d: %d (%.2f%%)\n", length, buckets, 100*float64(buckets)/float64(s.Buckets))
		}
	}
	return b.String()
}
