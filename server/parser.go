package server

import (
	"bytes"
	"errors"
	"fmt"
	"unsafe"

	"kvserver/store"
)

// Limits of the request protocol. They are Redis's, so that a client that works there works here.
const (
	inlineBytesMax     = 64 << 10  // a line without its end: inline requests and headers
	argsMax            = 1<<31 - 1 // arguments of one command
	bulkBytesMax       = 1 << 48   // of one argument, whatever proto-max-bulk-len allows: sums of lengths must not overflow
	unauthArgsMax      = 10        // before authentication
	unauthBulkBytesMax = 16 << 10  // before authentication
	keptSpans          = 16        // argument positions a session keeps between commands: 16 bytes each
)

// span is an argument's place in the frame: frame[from:to].
type span struct{ from, to int }

// parser cuts frames out of the bytes of one client. It remembers how far it got in a half-sent frame, so that
// a frame is walked once however its bytes arrive. redcon's codec is not used for requests: on v1.6.4 a
// negative or huge bulk length panics, a huge count spins, inline requests have no limit and a partial frame is
// walked from its start at every read. Checking a frame before redcon sees it is itself a full parse; the second
// one would only cost.
type parser struct {
	spans []span // arguments found so far in the frame
	left  int    // arguments still to come; 0: at the start of a frame
	at    int    // bytes of the frame that were walked
	bulk  int    // length of the argument whose header was read; -1: none
}

// limits are what the parser checks lengths against; they change when the client authenticates and with
// CONFIG SET.
type limits struct {
	bulkBytesMax int
	argsMax      int
	unauth       bool
}

// errNeedMore says that the frame is not complete yet.
var errNeedMore = errors.New("need more bytes")

// next reads one frame from the head of in and appends its arguments, which alias in, to args. used is the
// frame's length; it may carry no arguments (an empty line, *0): there is nothing to run then. err is
// errNeedMore if the frame is not complete, and need then the least number of bytes that can complete it;
// any other err is a protocol error in Redis's words, after which the stream cannot be read further.
func (p *parser) next(in []byte, args [][]byte, lim limits) (_ [][]byte, used, need int, err error) {
	if p.left == 0 {
		if len(in) == 0 {
			return args, 0, 0, errNeedMore
		}
		if in[0] != '*' {
			return p.inline(in, args)
		}
		if err := p.header(in, lim); err != nil {
			return args, 0, 0, err
		}
		if p.left == 0 { // *0 and negative counts: nothing to do, as Redis has it
			used = p.at
			p.reset()
			return args, used, 0, nil
		}
	}
	for p.left > 0 {
		if p.bulk < 0 {
			if err := p.bulkHeader(in, lim); err != nil {
				return args, 0, 0, err
			}
		}
		// Redis does not look at the two bytes after an argument; neither do we.
		if missing := p.at + p.bulk + 2 - len(in); missing > 0 {
			return args, 0, missing, errNeedMore
		}
		p.spans = append(p.spans, span{p.at, p.at + p.bulk})
		p.at += p.bulk + 2
		p.bulk = -1
		p.left--
	}
	for _, s := range p.spans {
		args = append(args, in[s.from:s.to:s.to])
	}
	used = p.at
	p.reset()
	return args, used, 0, nil
}

// heldBytes is what the parser holds about a half-sent frame. Empty arguments take more of it than they have bytes.
func (p *parser) heldBytes() int64 { return int64(cap(p.spans)) * int64(unsafe.Sizeof(span{})) }

func (p *parser) reset() {
	if cap(p.spans) > keptSpans {
		p.spans = nil
	}
	*p = parser{spans: p.spans[:0], bulk: -1}
}

// header reads "*<count>\r\n".
func (p *parser) header(in []byte, lim limits) error {
	line, n, err := headerLine(in, "too big mbulk count string")
	if err != nil {
		return err
	}
	count, ok := parseInt(line[1:])
	if !ok || count > int64(lim.argsMax) {
		return errors.New("invalid multibulk length")
	}
	if lim.unauth && count > unauthArgsMax {
		return errors.New("unauthenticated multibulk length")
	}
	p.left, p.at, p.bulk = int(max(count, 0)), n, -1
	return nil
}

// bulkHeader reads "$<length>\r\n" at p.at.
func (p *parser) bulkHeader(in []byte, lim limits) error {
	line, n, err := headerLine(in[p.at:], "too big bulk count string")
	if err != nil {
		return err
	}
	if len(line) == 0 || line[0] != '$' {
		var got byte
		if p.at < len(in) {
			got = in[p.at]
		}
		return fmt.Errorf("expected '$', got '%c'", got)
	}
	length, ok := parseInt(line[1:])
	if !ok || length < 0 || length > int64(lim.bulkBytesMax) {
		return errors.New("invalid bulk length")
	}
	if lim.unauth && length > unauthBulkBytesMax {
		return errors.New("unauthenticated bulk length")
	}
	p.at += n
	p.bulk = int(length)
	return nil
}

// headerLine returns the bytes before the first \r and the length of the line with its two end bytes.
func headerLine(in []byte, tooBig string) (line []byte, n int, err error) {
	end := bytes.IndexByte(in[:min(len(in), inlineBytesMax+2)], '\r')
	if end < 0 {
		if len(in) > inlineBytesMax {
			return nil, 0, errors.New(tooBig)
		}
		return nil, 0, errNeedMore
	}
	if end+2 > len(in) {
		return nil, 0, errNeedMore
	}
	return in[:end], end + 2, nil
}

// inline reads a request typed by a person: one line of words, quoted as in redis-cli.
func (p *parser) inline(in []byte, args [][]byte) (_ [][]byte, used, need int, err error) {
	end := bytes.IndexByte(in[min(p.at, len(in)):], '\n')
	if end < 0 {
		if len(in) > inlineBytesMax {
			return args, 0, 0, errors.New("too big inline request")
		}
		p.at = len(in)
		return args, 0, 0, errNeedMore
	}
	end += p.at
	p.at = 0
	if end > inlineBytesMax {
		return args, 0, 0, errors.New("too big inline request")
	}
	args, err = splitWords(bytes.TrimSuffix(in[:end], []byte{'\r'}), args)
	if err != nil {
		return args, 0, 0, err
	}
	return args, end + 1, 0, nil
}

var errUnbalancedQuotes = errors.New("unbalanced quotes in request")

// splitWords splits an inline request. Words without quotes alias line.
func splitWords(line []byte, args [][]byte) ([][]byte, error) {
	for i := 0; ; {
		for i < len(line) && isSpace(line[i]) {
			i++
		}
		if i == len(line) {
			return args, nil
		}
		from := i
		for i < len(line) && !isSpace(line[i]) && line[i] != '"' && line[i] != '\'' {
			i++
		}
		if i == len(line) || isSpace(line[i]) {
			args = append(args, line[from:i:i])
			continue
		}
		word, next, err := quotedWord(line, from)
		if err != nil {
			return args, err
		}
		args = append(args, word)
		i = next
	}
}

// quotedWord reads the word at line[i:], which has a quoted part. A closing quote must be followed by a blank.
func quotedWord(line []byte, i int) (word []byte, next int, err error) {
	var quote byte
	word = []byte{}
	for ; i < len(line); i++ {
		b := line[i]
		switch {
		case quote == 0 && isSpace(b):
			return word, i, nil
		case quote == 0 && (b == '"' || b == '\''):
			quote = b
		case quote != 0 && b == quote:
			if i+1 < len(line) && !isSpace(line[i+1]) {
				return nil, 0, errUnbalancedQuotes
			}
			return word, i + 1, nil
		case quote == '"' && b == '\\' && i+1 < len(line):
			var c byte
			c, i = unescape(line, i)
			word = append(word, c)
		case quote == '\'' && b == '\\' && i+1 < len(line) && line[i+1] == '\'':
			i++
			word = append(word, '\'')
		default:
			word = append(word, b)
		}
	}
	if quote != 0 {
		return nil, 0, errUnbalancedQuotes
	}
	return word, i, nil
}

// unescape reads the escape sequence whose backslash is line[i]; last is the index of its last byte.
func unescape(line []byte, i int) (c byte, last int) {
	if line[i+1] == 'x' && i+3 < len(line) {
		hi, ok1 := hexDigit(line[i+2])
		lo, ok2 := hexDigit(line[i+3])
		if ok1 && ok2 {
			return hi<<4 | lo, i + 3
		}
	}
	switch line[i+1] {
	case 'n':
		return '\n', i + 1
	case 'r':
		return '\r', i + 1
	case 't':
		return '\t', i + 1
	case 'b':
		return '\b', i + 1
	case 'a':
		return '\a', i + 1
	}
	return line[i+1], i + 1
}

func hexDigit(b byte) (byte, bool) {
	switch {
	case b >= '0' && b <= '9':
		return b - '0', true
	case b|0x20 >= 'a' && b|0x20 <= 'f':
		return b | 0x20 - 'a' + 10, true
	}
	return 0, false
}

func isSpace(b byte) bool { return b == ' ' || b >= '\t' && b <= '\r' }

// parseInt reads a decimal int64 of the protocol or of an argument: false is "not an integer or out of range".
func parseInt(b []byte) (int64, bool) { return store.ParseInteger(b) }

// parseInts is parseInt for the two numbers of a range or a limit.
func parseInts(first, second []byte) (a, b int64, ok bool) {
	a, okA := parseInt(first)
	b, okB := parseInt(second)
	return a, b, okA && okB
}
