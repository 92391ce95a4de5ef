package server

import (
	"bytes"

	"kvserver/store"
)

// sortRows belong to the generic commands. They run under the gate because BY and GET reach keys that are known only when
// the elements are read; a row cannot tell whether there are such patterns.
var sortRows = []row{
	{"sort", -2, write | denyoom | exclusive, specs{keysAt(kRO|kAccess, 1, 1, 1), keysFound(kRO|kAccess, noKeys), keysFound(kOW|kUpdate, sortDestination)}, "1.0.0", "Sorts the elements in a list, a set, or a sorted set, optionally storing the result.", sortCommand},
	{"sort_ro", -2, readonly | exclusive, specs{keysAt(kRO|kAccess, 1, 1, 1), keysFound(kRO|kAccess, noKeys)}, "7.0.0", "Returns the sorted elements of a list, a set, or a sorted set.", sortReadOnly},
}

// noKeys stands for keys whose names derive from elements.
func noKeys([][]byte) [][]byte { return nil }

// sortDestination finds the key of STORE, the last one if there are several.
func sortDestination(args [][]byte) (keys [][]byte) {
	for i := 2; i < len(args); i++ {
		switch {
		case bytes.EqualFold(args[i], []byte("LIMIT")):
			i += 2
		case bytes.EqualFold(args[i], []byte("GET")) || bytes.EqualFold(args[i], []byte("BY")):
			i++
		case bytes.EqualFold(args[i], []byte("STORE")) && i+1 < len(args):
			keys = args[i+1 : i+2]
			i++
		}
	}
	return keys
}

func sortCommand(c *client, args [][]byte) { c.sort(args, true) }

func sortReadOnly(c *client, args [][]byte) { c.sort(args, false) }

// sort answers SORT and, if nothing may be stored, SORT_RO.
func (c *client) sort(args [][]byte, mayStore bool) {
	var s sortArgs
	s.anyKey = c.mayReachAnyKey(c.cmd, args)
	if problem := s.parse(args, mayStore); problem != "" {
		c.fail(problem)
		return
	}
	s.Repeatable = c.inScript
	if s.store != nil {
		n, err := c.view.SortStore(s.store, args[1], s.SortOptions)
		if err != nil {
			c.failWith(err)
			return
		}
		c.int(n)
		return
	}
	sorted, err := c.view.Sort(args[1], s.SortOptions)
	if err != nil {
		c.failWith(err)
		return
	}
	c.array(sorted.Len())
	sorted.Each(func(val []byte, ok bool) bool {
		c.bulkOrNull(val, ok, nil)
		return !c.over
	})
}

// sortArgs are the options of SORT.
type sortArgs struct {
	store.SortOptions
	store  []byte // destination; nil: none
	anyKey bool   // patterns may lead to any key
}

// parse reads the options after the key and returns what is wrong with them. Each may be given several times: of GET all
// count, of others the last.
func (s *sortArgs) parse(args [][]byte, mayStore bool) (problem string) {
	s.Count = -1
	for i := 2; i < len(args); i++ {
		is := func(word string, operands int) bool {
			return bytes.EqualFold(args[i], []byte(word)) && i+operands < len(args)
		}
		switch {
		case is("ASC", 0):
			s.Desc = false
		case is("DESC", 0):
			s.Desc = true
		case is("ALPHA", 0):
			s.Alpha = true
		case is("LIMIT", 2):
			var ok bool
			if s.Offset, s.Count, ok = parseInts(args[i+1], args[i+2]); !ok {
				return errNotInteger
			}
			i += 2
		case mayStore && is("STORE", 1):
			s.store = args[i+1]
			i++
		case is("BY", 1):
			if store.SortsBy(args[i+1]) && !s.anyKey {
				return "ERR BY option of SORT denied due to insufficient ACL permissions."
			}
			s.By = args[i+1]
			s.Unsorted = s.Unsorted || !store.SortsBy(s.By) // once said it stays so, as in Redis
			i++
		case is("GET", 1):
			if !s.anyKey {
				return "ERR GET option of SORT denied due to insufficient ACL permissions."
			}
			s.Get = append(s.Get, args[i+1])
			i++
		default:
			return errSyntax
		}
	}
	return ""
}
