package server

import (
	"math"
	"strings"

	"kvserver/hotkeys"
)

// hotkeysOptions are the options of HOTKEYS GET and of HOTKEYS HISTORY.
type hotkeysOptions struct {
	count    int // 0: as many as there are
	db       int // hotkeys.AllDBs: of all databases
	by       hotkeys.Ranking
	measured bool   // WITHSTATS
	key      []byte // nil: all
}

// hotkeysOptions reads the options, which may come in any order; of two that say the same the last counts. It answers itself if
// something is wrong.
func (c *client) hotkeysOptions(args [][]byte) (o hotkeysOptions, ok bool) {
	get := c.cmd.name == "get"
	o.db = hotkeys.AllDBs
	for i := 0; i < len(args); i++ {
		option := strings.ToUpper(string(args[i]))
		if get && option == "WITHSTATS" {
			o.measured = true
			continue
		}
		if i++; i == len(args) {
			c.fail(errSyntax)
			return o, false
		}
		ok := false
		switch {
		case option == "COUNT":
			o.count, ok = c.positiveCount(args[i])
		case option == "DB":
			o.db, ok = c.dbIndex(args[i])
		case option == "TYPE" && get:
			o.by, ok = c.rankedBy(args[i])
		case option == "KEY" && !get:
			o.key, ok = args[i], true
		default:
			c.fail(errSyntax)
		}
		if !ok {
			return o, false
		}
	}
	return o, true
}

// positiveCount reads how much is to be answered at most.
func (c *client) positiveCount(arg []byte) (n int, ok bool) {
	count, ok := parseInt(arg)
	if !ok || count < 1 {
		c.fail("ERR count should be greater than 0")
		return 0, false
	}
	return int(min(count, math.MaxInt32)), true
}

func (c *client) rankedBy(arg []byte) (by hotkeys.Ranking, ok bool) {
	switch strings.ToUpper(string(arg)) {
	case "ALL":
		return hotkeys.All, true
	case "READ":
		return hotkeys.Reads, true
	case "WRITE":
		return hotkeys.Writes, true
	}
	c.fail("ERR TYPE must be ALL, READ or WRITE")
	return hotkeys.All, false
}

// evidenceFields is how many fields WITHSTATS adds to an entry.
const evidenceFields = 13

// evidence answers with them. All rates are rounded to nearest, except that the band must contain what it did before.
func (c *client) evidence(r *hotkeys.Report, e hotkeys.Entry) {
	m := r.Measure(e)
	c.bulkString("samples")
	c.int(int64(m.Samples))
	c.rate("qps-low", math.Floor(m.Low))
	c.rate("qps-high", math.Ceil(m.High))
	c.bulkString("certain")
	c.flag(m.Certain)
	c.rate("read-qps", m.Reads)
	c.rate("write-qps", m.Writes)
	c.costs(m)
	c.bulkString("share")
	c.double(math.Round(m.Share*shareParts) / shareParts)
	c.rate("reported-qps", c.s.reportedQPS(r, e))
	c.bulkString("type")
	c.bulkString(c.typeIn(e.DB, e.Key))
}

// costs are known where they were measured.
func (c *client) costs(m hotkeys.Measures) {
	for _, cost := range []struct {
		name      string
		perSecond float64
	}{{"miss-qps", m.Misses}, {"in-bytes", m.InBytes}, {"out-bytes", m.OutBytes}, {"cpu-usec", m.CPU}} {
		c.bulkString(cost.name)
		if m.Known {
			c.int(int64(math.Round(cost.perSecond)))
		} else {
			c.null()
		}
	}
}

// shareParts is the resolution of a share: more digits would be those of the division.
const shareParts = 1e6

// rate answers with a field that is a number per second.
func (c *client) rate(name string, perSecond float64) {
	c.bulkString(name)
	c.int(int64(math.Round(min(perSecond, math.MaxInt64/2))))
}

// typeIn is the type of a key of any database, without a trace.
func (c *client) typeIn(db int, key []byte) string {
	defer c.view.Select(c.view.DB())
	c.view.Select(db)
	return c.view.Peek(key).Type()
}
