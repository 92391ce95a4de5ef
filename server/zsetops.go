package server

import (
	"bytes"
	"fmt"

	"kvserver/store"
)

// zopArgs are the arguments of ZUNION, ZINTER, ZDIFF and their relatives.
type zopArgs struct {
	store.ZOperation
	storing    bool // WITHSCORES is not an option
	counting   bool // LIMIT is the only option
	withScores bool
	limit      int64 // 0: none
}

// parse reads the number of keys and what follows it. A problem with the options is not answered before the keys were
// looked at: that one of them holds something else comes first, as in Redis. ok says whether there is none.
func (o *zopArgs) parse(c *client, args [][]byte) (ok bool) {
	n, isInt := parseInt(args[0])
	switch {
	case !isInt:
		c.fail(errNotInteger)
		return false
	case n < 1:
		c.fail(fmt.Sprintf("ERR at least 1 input key is needed for '%s' command", c.cmd.fullName))
		return false
	case n > int64(len(args)-1):
		c.fail(errSyntax)
		return false
	}
	o.Keys = args[1 : 1+n]
	problem := o.parseOptions(args[1+n:])
	if problem == "" {
		return true
	}
	if err := c.view.ZCheck(o.Keys); err != nil {
		c.failWith(err)
	} else {
		c.fail(problem)
	}
	return false
}

func (o *zopArgs) parseOptions(args [][]byte) (problem string) {
	for len(args) > 0 {
		used := 0
		switch name := args[0]; {
		case o.counting:
			if len(args) > 1 && bytes.EqualFold(name, []byte("LIMIT")) {
				var ok bool
				if o.limit, ok = parseInt(args[1]); !ok || o.limit < 0 {
					return "ERR LIMIT can't be negative"
				}
				used = 2
			}
		case !o.storing && bytes.EqualFold(name, []byte("WITHSCORES")):
			o.withScores, used = true, 1
		case o.Op == store.Difference:
		case bytes.EqualFold(name, []byte("WEIGHTS")) && len(args) > len(o.Keys):
			if o.Weights, problem = parseWeights(args[1 : 1+len(o.Keys)]); problem != "" {
				return problem
			}
			used = 1 + len(o.Keys)
		case bytes.EqualFold(name, []byte("AGGREGATE")) && len(args) > 1:
			if o.Aggregate, problem = parseAggregate(args[1]); problem != "" {
				return problem
			}
			used = 2
		}
		if used == 0 {
			return errSyntax
		}
		args = args[used:]
	}
	return ""
}

func parseWeights(args [][]byte) (weights []float64, problem string) {
	for _, arg := range args {
		weight, ok := store.ParseDouble(arg)
		if !ok {
			return nil, "ERR weight value is not a float"
		}
		weights = append(weights, weight)
	}
	return weights, ""
}

func parseAggregate(arg []byte) (aggregate store.ZAggregate, problem string) {
	switch {
	case bytes.EqualFold(arg, []byte("SUM")):
		return store.ZSum, ""
	case bytes.EqualFold(arg, []byte("MIN")):
		return store.ZMin, ""
	case bytes.EqualFold(arg, []byte("MAX")):
		return store.ZMax, ""
	}
	return store.ZSum, errSyntax
}

func zunion(c *client, args [][]byte) { c.combineScored(store.Union, args) }

func zinter(c *client, args [][]byte) { c.combineScored(store.Intersection, args) }

func zdiff(c *client, args [][]byte) { c.combineScored(store.Difference, args) }

// combineScored answers with a combination of sorted sets.
func (c *client) combineScored(op store.SetOp, args [][]byte) {
	o := zopArgs{ZOperation: store.ZOperation{Op: op}}
	if !o.parse(c, args[1:]) {
		return
	}
	elements, err := c.view.ZCombine(o.ZOperation)
	if err != nil {
		c.failWith(err)
		return
	}
	c.elements(len(elements), o.withScores, false)
	for i := range elements {
		if !c.element(elements[i].Member, elements[i].Score, o.withScores, false) {
			return
		}
	}
}

func zunionstore(c *client, args [][]byte) { c.storeScored(store.Union, args) }

func zinterstore(c *client, args [][]byte) { c.storeScored(store.Intersection, args) }

func zdiffstore(c *client, args [][]byte) { c.storeScored(store.Difference, args) }

// storeScored stores a combination of sorted sets.
func (c *client) storeScored(op store.SetOp, args [][]byte) {
	o := zopArgs{ZOperation: store.ZOperation{Op: op}, storing: true}
	if o.parse(c, args[2:]) {
		c.intOr(c.view.ZCombineStore(args[1], o.ZOperation))
	}
}

func zintercard(c *client, args [][]byte) {
	o := zopArgs{ZOperation: store.ZOperation{Op: store.Intersection}, counting: true}
	if o.parse(c, args[1:]) {
		c.intOr(c.view.ZInterCard(o.Keys, o.limit))
	}
}
