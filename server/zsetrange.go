package server

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"strings"

	"kvserver/store"
)

const (
	errScoreRange = "ERR min or max is not a float"
	errLexRange   = "ERR min or max not valid string range item"
)

// parseScoreRange reads two ends of a range of scores.
func parseScoreRange(low, high []byte) (r store.ScoreRange, ok bool) {
	var ok1, ok2 bool
	r.Min, r.MinOpen, ok1 = parseScoreEnd(low)
	r.Max, r.MaxOpen, ok2 = parseScoreEnd(high)
	return r, ok1 && ok2
}

// parseScoreEnd reads an end of a range of scores, with a parenthesis in front if it is open. Redis takes what strtod
// reads of it up to a zero byte: blanks may come first, nothing at all is 0, and what is too large is infinite.
func parseScoreEnd(arg []byte) (score float64, open, ok bool) {
	text, _, _ := strings.Cut(string(arg), "\x00")
	text, open = strings.CutPrefix(text, "(")
	if text == "" {
		return 0, open, true
	}
	text = strings.TrimLeft(text, " \t\n\v\f\r")
	if score, ok = store.ParseDouble([]byte(text)); ok {
		return score, open, true
	}
	// Of what ParseDouble refuses, numbers out of its range are left.
	if text == "" || strings.ContainsAny(text, "_xX") {
		return 0, open, false
	}
	score, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(score) {
		return 0, open, false
	}
	return score, open, true
}

// parseLexRange reads two ends of a range of members.
func parseLexRange(low, high []byte) (r store.LexRange, ok bool) {
	var ok1, ok2 bool
	r.Min, ok1 = parseLexEnd(low)
	r.Max, ok2 = parseLexEnd(high)
	return r, ok1 && ok2
}

// parseLexEnd reads "-", "+", "[member" or "(member".
func parseLexEnd(arg []byte) (end store.LexEnd, ok bool) {
	if len(arg) == 0 {
		return end, false
	}
	// As to C, a zero byte ends the argument.
	alone := len(arg) == 1 || arg[1] == 0
	switch arg[0] {
	case '-':
		return store.LexEnd{Infinite: -1}, alone
	case '+':
		return store.LexEnd{Infinite: 1}, alone
	case '[':
		return store.LexEnd{Member: arg[1:]}, true
	case '(':
		return store.LexEnd{Member: arg[1:], Open: true}, true
	}
	return end, false
}

// What a range of a sorted set is given by.
type zrangeBy int

const (
	byAny zrangeBy = iota // ranks, unless an option says otherwise
	byRank
	byScore
	byLex
)

// zrangeArgs are the arguments of ZRANGE and its relatives.
type zrangeArgs struct {
	by         zrangeBy
	query      store.ZQuery
	directed   bool // REV is not an option
	storing    bool // WITHSCORES is not an option
	withScores bool
}

// parse reads a range and the options after it. problem is what is wrong, if anything is.
func (o *zrangeArgs) parse(args [][]byte) (problem string) {
	o.query.Limit = -1
	for i := 2; i < len(args); i++ {
		switch arg := args[i]; {
		case !o.storing && bytes.EqualFold(arg, []byte("WITHSCORES")):
			o.withScores = true
		case i+2 < len(args) && bytes.EqualFold(arg, []byte("LIMIT")):
			var ok bool
			if o.query.Offset, o.query.Limit, ok = parseInts(args[i+1], args[i+2]); !ok {
				return errNotInteger
			}
			i += 2
		case !o.directed && bytes.EqualFold(arg, []byte("REV")):
			o.query.Reverse, o.directed = true, true
		case o.by == byAny && bytes.EqualFold(arg, []byte("BYLEX")):
			o.by = byLex
		case o.by == byAny && bytes.EqualFold(arg, []byte("BYSCORE")):
			o.by = byScore
		default:
			return errSyntax
		}
	}
	ranks := o.by == byAny || o.by == byRank
	switch {
	case o.query.Limit != -1 && ranks:
		return "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"
	case o.withScores && o.by == byLex:
		return "ERR syntax error, WITHSCORES not supported in combination with BYLEX"
	}
	if ranks {
		o.query.Offset = 0
	}
	return o.parseRange(args[0], args[1])
}

// parseRange reads the two ends. Of scores and members the upper one comes first in reverse.
func (o *zrangeArgs) parseRange(first, second []byte) (problem string) {
	low, high := first, second
	if o.query.Reverse {
		low, high = second, first
	}
	switch o.by {
	case byScore:
		r, ok := parseScoreRange(low, high)
		if !ok {
			return errScoreRange
		}
		o.query.Range = r
	case byLex:
		r, ok := parseLexRange(low, high)
		if !ok {
			return errLexRange
		}
		o.query.Range = r
	default:
		r, ok := parseRankRange(first, second)
		if !ok {
			return errNotInteger
		}
		o.query.Range = r
	}
	return ""
}

func parseRankRange(first, second []byte) (r store.RankRange, ok bool) {
	r.Start, r.Stop, ok = parseInts(first, second)
	return r, ok
}

func zrange(c *client, args [][]byte) { c.rangeOf(args, zrangeArgs{}) }

func zrevrange(c *client, args [][]byte) {
	c.rangeOf(args, zrangeArgs{by: byRank, directed: true, query: store.ZQuery{Reverse: true}})
}

func zrangebyscore(c *client, args [][]byte) {
	c.rangeOf(args, zrangeArgs{by: byScore, directed: true})
}

func zrevrangebyscore(c *client, args [][]byte) {
	c.rangeOf(args, zrangeArgs{by: byScore, directed: true, query: store.ZQuery{Reverse: true}})
}

func zrangebylex(c *client, args [][]byte) { c.rangeOf(args, zrangeArgs{by: byLex, directed: true}) }

func zrevrangebylex(c *client, args [][]byte) {
	c.rangeOf(args, zrangeArgs{by: byLex, directed: true, query: store.ZQuery{Reverse: true}})
}

// rangeOf answers with the elements of a range.
func (c *client) rangeOf(args [][]byte, o zrangeArgs) {
	if problem := o.parse(args[2:]); problem != "" {
		c.fail(problem)
		return
	}
	s, ok := c.readSorted(args[1])
	if !ok {
		return
	}
	from, to := s.Select(o.query)
	c.elements(to-from, o.withScores, false)
	s.Each(from, to, o.query.Reverse, func(member []byte, score float64) bool {
		return c.element(member, score, o.withScores, false)
	})
}

func zrangestore(c *client, args [][]byte) {
	o := zrangeArgs{storing: true}
	if problem := o.parse(args[3:]); problem != "" {
		c.fail(problem)
		return
	}
	c.intOr(c.view.ZRangeStore(args[1], args[2], o.query))
}

func zcount(c *client, args [][]byte) {
	r, ok := parseScoreRange(args[2], args[3])
	c.countIn(args[1], r, ok, errScoreRange)
}

func zlexcount(c *client, args [][]byte) {
	r, ok := parseLexRange(args[2], args[3])
	c.countIn(args[1], r, ok, errLexRange)
}

// countIn answers with the number of elements in a range, or with the problem if the range is not ok.
func (c *client) countIn(key []byte, r store.ZRange, ok bool, problem string) {
	if !ok {
		c.fail(problem)
		return
	}
	if s, ok := c.readSorted(key); ok {
		c.int(s.Count(r))
	}
}

func zremrangebyrank(c *client, args [][]byte) {
	r, ok := parseRankRange(args[2], args[3])
	c.removeIn(args[1], r, ok, errNotInteger)
}

func zremrangebyscore(c *client, args [][]byte) {
	r, ok := parseScoreRange(args[2], args[3])
	c.removeIn(args[1], r, ok, errScoreRange)
}

func zremrangebylex(c *client, args [][]byte) {
	r, ok := parseLexRange(args[2], args[3])
	c.removeIn(args[1], r, ok, errLexRange)
}

// removeIn removes the elements in a range, or answers with the problem if the range is not ok.
func (c *client) removeIn(key []byte, r store.ZRange, ok bool, problem string) {
	if !ok {
		c.fail(problem)
		return
	}
	c.intOr(c.view.ZRemRange(key, r))
}
