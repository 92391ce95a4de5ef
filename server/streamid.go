package server

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"kvserver/store/stream"
)

// The notations of stream IDs: "ms-seq", "ms" alone, "-" and "+" for the smallest and the greatest, "(" before one that a
// range leaves out.

const errStreamID = "ERR Invalid stream ID specified as stream command argument"

// streamIDMax is the longest ID that Redis looks at, in bytes.
const streamIDMax = 127

// parseStreamID reads "ms-seq", or "ms", with seq then being the given one.
func parseStreamID(arg []byte, missingSeq uint64) (id stream.ID, ok bool) {
	if len(arg) > streamIDMax {
		return id, false
	}
	if end := bytes.IndexByte(arg, 0); end >= 0 { // C ends the text there
		arg = arg[:end]
	}
	ms, seq, hasSeq := bytes.Cut(arg, []byte("-"))
	if id.Ms, ok = parseUnsigned(ms); !ok {
		return id, false
	}
	id.Seq = missingSeq
	if hasSeq {
		id.Seq, ok = parseUnsigned(seq)
	}
	return id, ok
}

// parseUnsigned reads a number as Redis reads the parts of an ID: with C's strtoull, which takes blanks and a sign before
// and leading zeros, and wraps around below zero; only the canonical form of a negative number is refused.
func parseUnsigned(arg []byte) (n uint64, ok bool) {
	if len(arg) > 0 && arg[0] >= '1' && arg[0] <= '9' { // no detours in the usual case
		n, err := strconv.ParseUint(string(arg), 10, 64)
		return n, err == nil
	}
	if n, ok := parseInt(arg); ok {
		return uint64(n), n >= 0
	}
	text := strings.TrimLeft(string(arg), " \t\n\v\f\r")
	negative := strings.HasPrefix(text, "-")
	if negative || strings.HasPrefix(text, "+") {
		text = text[1:]
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if negative {
		n = -n
	}
	return n, err == nil
}

// parseStreamIDOrEdge is parseStreamID that also takes "-" and "+".
func parseStreamIDOrEdge(arg []byte, missingSeq uint64) (id stream.ID, ok bool) {
	switch string(arg) {
	case "-":
		return stream.ID{}, true
	case "+":
		return stream.Max, true
	}
	return parseStreamID(arg, missingSeq)
}

// parseStart reads where a range begins, or says what is wrong.
func parseStart(arg []byte) (id stream.ID, problem string) {
	if len(arg) < 2 || arg[0] != '(' {
		id, ok := parseStreamIDOrEdge(arg, 0)
		return id, problemIf(!ok, errStreamID)
	}
	id, ok := parseStreamID(arg[1:], 0)
	if !ok {
		return id, errStreamID
	}
	id, ok = id.Next()
	return id, problemIf(!ok, "ERR invalid start ID for the interval")
}

// parseEnd reads where a range ends, or says what is wrong.
func parseEnd(arg []byte) (id stream.ID, problem string) {
	if len(arg) < 2 || arg[0] != '(' {
		id, ok := parseStreamIDOrEdge(arg, math.MaxUint64)
		return id, problemIf(!ok, errStreamID)
	}
	id, ok := parseStreamID(arg[1:], math.MaxUint64)
	if !ok {
		return id, errStreamID
	}
	id, ok = id.Prev()
	return id, problemIf(!ok, "ERR invalid end ID for the interval")
}

func problemIf(wrong bool, problem string) string {
	if wrong {
		return problem
	}
	return ""
}

// parseStreamIDs reads a list of IDs.
func parseStreamIDs(args [][]byte) (ids []stream.ID, problem string) {
	ids = make([]stream.ID, len(args))
	for i, arg := range args {
		id, ok := parseStreamID(arg, 0)
		if !ok {
			return nil, errStreamID
		}
		ids[i] = id
	}
	return ids, ""
}

// streamID appends an ID.
func (w *writer) streamID(id stream.ID) {
	var text [stream.IDLenMax]byte
	w.bulk(id.AppendTo(text[:0]))
}
